# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Every allocation that a client or a server makes by itself in calls of ours, in sockets, TCP and
# the RDMA core as well, fails in turn: failslab, fail_page_alloc and fail_usercopy of a kernel made
# for it. faults.sh does the same for what runs in work queues. One host, a server and a client
# on it.
#
#   CALLS        whose (default "client server")
#   CALLS_STEP   only each so many-th allocation (default 1)

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

CASES=
for c_ in ${CALLS:-client server}; do
	CASES="$CASES $c_:900"
done
export CASES

FAR=100000	# more allocations than there are
: "${CALLS_STEP:=1}"

setup()
{
	[ -e /proc/self/fail-nth ] || { diag "this kernel has no failslab"; return 1; }
	for d in failslab fail_page_alloc fail_usercopy; do
		echo 0 > "/sys/kernel/debug/$d/verbose" || return 1
	done
	for d in failslab fail_page_alloc; do
		echo N > "/sys/kernel/debug/$d/ignore-gfp-wait" || return 1
	done
	echo 0 > /sys/kernel/debug/fail_page_alloc/min-order
	setup_ends
}

# failing N OPTION...: a short round in which the Nth allocation fails; sets $how
failing()
{
	nth=$1
	shift
	how=$(round --bytes 32768 --fail-nth "$nth" "$@") || fail "$AT: $how"
}

# how_many OPTION...: sets $many
how_many()
{
	failing "$FAR" "$@"
	many=$(echo "$how" | sed -n 's/.* allocations=\([0-9]*\).*/\1/p')
	[ "${many:-0}" -gt 10 ] || fail "$AT: $how"
}

# walk_calls NAME OPTION...: up to a number that a good round does not reach
walk_calls()
{
	name=$1
	shift
	load "" || fail "the module does not load"
	at "allocations of the $name"
	good_round
	how_many "$@"
	n=1
	while :; do
		at "allocation $n of the $name"
		failing "$n" "$@"
		case $how in
		*" allocations="*)
			# the number is not always the same
			[ "$n" -le "$many" ] || break
			;;
		*"first=smc second=smc third=tcp") ;;
		*)	echo "$AT:$how" ;;
		esac
		n=$((n + CALLS_STEP))
	done
	data "$name" "$n"
	good_round
	unload
}

case_client()
{
	walk_calls client
}

case_server()
{
	walk_calls server --fail-server
}
