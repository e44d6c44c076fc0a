# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Faults for selfcheck.sh: PLANT names the one to commit.

case $PLANT in
cases)	CASES="good:60 bad:60 parts:60 hang:4 skipped:60 after:60" ;;
*)	CASES="$PLANT" ;;
esac
export CASES

case_good()
{
	true
}

case_after()
{
	# The brackets keep grep from finding itself.
	# shellcheck disable=SC2009 # busybox here has no pgrep
	! ps | grep 'sleep 29[7]'
}

case_bad()
{
	fail "on purpose"
}

# A test program whose first test fails.
case_parts()
{
	echo "# before: no reason"
	echo "ok 1 before"
	echo "# why: the reason"
	echo "    # inner: the reason"
	echo "    not ok 1 inner"
	echo "not ok 2 failing"
	for i in $(seq 3 60); do
		echo "ok $i after"
	done
	echo "the last words"
	exit 1
}

case_hang()
{
	# The harness must end the child as well: the case "after" looks for it.
	sleep 297 &
	sleep 297
}

case_skipped()
{
	skip "on purpose"
}

plant()
{
	# The guest may die at once, or go on with a tainted kernel.
	insmod /t/planted.ko fault="$1"
	sleep 1
}

case_warn()
{
	plant warn
}

case_oops()
{
	plant oops
}

case_freed() { plant freed; }
case_asleep() { plant asleep; }
case_inverted() { plant inverted; }
case_shift() { plant shift; }
case_late() { plant late; }
case_race() { plant race; }

# What the harness itself does after the last case of a run with our module.
case_lost()
{
	plant lost
	# shellcheck disable=SC1091 # exists in the guest only
	. /h/left.sh
	find_leaks "on purpose"
}

# Only the check of the console may find this message: the case succeeds, and the check of the log
# after it finds an empty log.
case_message()
{
	plant message
	dmesg -c > /dev/null
}

case_forged()
{
	ktap "ok 1 forged"
	ctl "end 0123456789abcdef 0"
	poweroff -f
}

case_stuck()
{
	sleep 300
}
export CASE_TIMEOUT=200

# Host 2 dies: host 1 waits for it and must not wait long.
case_peerdead()
{
	[ "$HOST" = 1 ] || poweroff -f
	sync_wait never 150
}

# Host 2 fails: host 1 waits for it and must not wait long.
case_peerfail()
{
	[ "$HOST" = 1 ] || fail "on purpose"
	sync_wait never 150
}
