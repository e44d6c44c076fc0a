# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Each allocation of a client or a server in its system calls fails in turn, in our module and in
# sockets, TCP and the RDMA core: by failslab, fail_page_alloc and fail_usercopy of a debug kernel.
# faults.sh does the same for code in work queues. One host with a server and a client.
#
#   CALLS        programs whose allocations fail (default "client server")
#   CALLS_STEP   only every Nth allocation (default 1)

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

CASES=
for c_ in ${CALLS:-client server}; do
	CASES="$CASES $c_:900"
done
export CASES

FAR=100000	# more than the number of allocations
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

# failing_round N OPTION...: a short round in which the Nth allocation fails; sets $how to its output
failing_round()
{
	nth=$1
	shift
	how=$(round --bytes 32768 --fail-nth "$nth" "$@") || fail "$AT: $how"
}

# count_allocations OPTION...: sets $many to the number of allocations in a round
count_allocations()
{
	failing_round "$FAR" "$@"
	many=$(echo "$how" | sed -n 's/.* allocations=\([0-9]*\).*/\1/p')
	[ "${many:-0}" -gt 10 ] || fail "$AT: $how"
}

# walk_calls NAME OPTION...: lets each allocation fail, until a round has fewer allocations
walk_calls()
{
	name=$1
	shift
	load "" || fail "the module does not load"
	at "allocations of the $name"
	good_round
	count_allocations "$@"
	n=1
	while :; do
		at "allocation $n of the $name"
		failing_round "$n" "$@"
		case $how in
		*" allocations="*)
			# the number of allocations varies
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
