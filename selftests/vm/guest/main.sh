# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Runs the test script of this host: setup(), each of $CASES as function
# case_NAME in a process group of its own, teardown(). The hosts run each case
# at the same time; a case passes if it passes on every host.

# shellcheck disable=SC1091 # these exist in the guest only
. /h/lib.sh
[ ! -e /t/env.sh ] || . /t/env.sh

SCRIPT=/t/script$HOST.sh
export SCRIPT
CASE_TIMEOUT=60

setup()
{
	:
}

teardown()
{
	:
}

# run_case NUMBER NAME[:TIMEOUT]
run_case()
{
	name=${2%%:*}
	limit=$CASE_TIMEOUT
	[ "$name" = "$2" ] || limit=${2#*:}

	CASE=c$1.$name
	export CASE
	sync_barrier start "$((limit + 30))" || return 1
	echo "==== case $name"
	begun=$(uptime_s)
	setsid ash /h/case.sh "$name" &
	pid=$!
	setsid ash -c "sleep $((limit * HANG)); : > /run/timeout.$CASE; kill -KILL -$pid" &
	watchdog=$!
	wait "$pid"
	rc=$?
	# First by its process number: it may not have its own group yet.
	kill -KILL "$watchdog" 2>/dev/null
	kill -KILL "-$watchdog" 2>/dev/null
	wait "$watchdog" 2>/dev/null
	# programs that the case has not ended
	kill -KILL "-$pid" 2>/dev/null
	echo "==== took $(($(uptime_s) - begun)) of $((limit * HANG)) s"
	if [ -e "/run/timeout.$CASE" ]; then
		diag "$name: time limit of $((limit * HANG)) s"
		[ "$rc" != 0 ] || rc=1
	fi

	case $rc in
	0|4)	;;
	*)	sync_raw "$CASE.failed" "$HOST" ;;
	esac
	sync_barrier stop "$((limit + 30))" || rc=1
	check_dmesg || rc=1
	CASE=
	case $rc in
	0)	ktap "ok $1 $name" ;;
	4)	ktap "ok $1 $name # SKIP $(cat "/run/skip.$name" 2>/dev/null)" ;;
	*)	ktap "not ok $1 $name # exit code $rc" ;;
	esac
	[ "$rc" = 0 ] || [ "$rc" = 4 ]
}

# shellcheck disable=SC1090 # the test chooses
. "$SCRIPT" || exit 1

# Wait for the forwarding host, so that no packet is lost.
if [ -n "$ROUTER" ] && ! sync_wait_raw top.router 60 > /dev/null; then
	diag "the forwarding host does not come up"
	exit 1
fi

failed=0
# shellcheck disable=SC2086,SC2153 # a list of words, set by the script
set -- $CASES
ctl "plan $#"
for c in "$@"; do
	ctl "case ${c%%:*}"
done
if ! setup; then
	diag "setup failed"
	exit 1
fi
i=0
for c in "$@"; do
	i=$((i + 1))
	run_case "$i" "$c" || failed=$((failed + 1))
done
teardown || { diag "teardown failed"; failed=$((failed + 1)); }
case $BED in
uml*)
	# shellcheck disable=SC1091 # exists in the guest only
	. /h/left.sh
	left_behind || { diag "something is left behind"; failed=$((failed + 1)); }
	save_coverage || { diag "coverage is not saved"; failed=$((failed + 1)); }
	;;
esac
# No report means something only if KCSAN was on and has delayed accesses.
if [ -e /sys/kernel/debug/kcsan ]; then
	cat /sys/kernel/debug/kcsan
	diag "KCSAN: $(awk '/^(setup_watchpoints|data_races):/ { printf "%s %s ", $1, $2 }' /sys/kernel/debug/kcsan)"
	awk '/^enabled: 1/ { on = 1 } /^setup_watchpoints:/ { n = $2 } END { exit !on || n < 1000 }' \
		/sys/kernel/debug/kcsan || { diag "KCSAN did not look"; failed=$((failed + 1)); }
fi
sync_barrier end || failed=$((failed + 1))
check_dmesg || failed=$((failed + 1))
[ "$failed" = 0 ]
