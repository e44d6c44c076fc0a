# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Host 2 changes from the last released version to this one (in /t), by the commands of
# Documentation/upgrading.rst, which are read from that page, while connections exist in both
# directions. Host 1 keeps this version.

CASES="upgrade:240 unload"
export CASES

PATH=$PATH:/t
PAGE=/t/upgrading.rst
BYTES=2097152	# of stream:2, in one direction

setup()
{
	setup_net && setup_rxe && load_smc && sysctl -q -w net.smc.wmem=131072
}

# step N: execute the commands of that step of the page, until one fails
step()
{
	awk -v n="$1" '/^[0-9]+\. / { at = int($1) } /^[^ \t0-9]/ { at = 0 }
		/^\t/ && at == n { printf "%s%s", more, $0; more = " &&\n" }
		END { print "" }' "$PAGE" > "/run/step.$1"
	grep -q . "/run/step.$1" || fail "the page has no commands for step $1"
	cat "/run/step.$1"
	# shellcheck disable=SC1090 # made above
	. "/run/step.$1" || fail "step $1 ended with $?"
}

serve()
{
	/t/smc_traffic server --family "$1" > /run/server 2>&1 &
	server=$!
	await_server
}

# connect FAMILY MODE SUBTEST...: RUN=exec replaces the shell
connect()
{
	family=$1 mode=$2
	shift 2
	$RUN /t/smc_traffic client --connect "$(peer_addr)" --family "$family" --require "$mode" \
		--wait 10 "$@"
}

# both_ways WHEN MODE [FAMILY]: new connections in both directions; FAMILY is that of host 2's programs
both_ways()
{
	family=smc
	[ "$HOST" = 1 ] || family=${3:-smc}
	sync_barrier "$1" || exit 1
	[ "$HOST" = 2 ] || before
	sync_barrier "$1.counted" || exit 1
	connect "$family" "$2" connects:3 stream:2 > /run/client 2>&1 || {
		cat /run/client
		fail "$1: no connection of $family in mode $2"
	}
	sync_barrier "$1.done" || exit 1
	[ "$HOST" = 1 ] || return 0
	for way in tx rx; do
		if [ "$2" = smc ]; then
			expect "$1: bytes by RDMA, $way" "$(grown "${way}_bytes")" -ge $((2 * BYTES))
		else
			expect "$1: bytes by RDMA, $way" "$(grown "${way}_bytes")" -eq 0
		fi
	done
}

# the module that runs
srcversion()
{
	cat /sys/module/smc/srcversion
}

no_holders()
{
	smcctl -j holders | tr -d ' \n' | grep -qx '\[\]'
}

# Step 1: what the packages do
install()
{
	to=/lib/modules/$(uname -r)/updates
	mkdir -p "$to"
	cp /t/smc.ko /t/smc_diag.ko "$to"
	/usr/sbin/depmod -a || fail "depmod ended with $?"
}

wait_step4()
{
	step 4 &
	waits=$!
	# it looks every two seconds
	sleep 5
	kill -0 "$waits" || fail "step 4 has ended, with connections by RDMA"
}

# Step 5; a program that serves TCP begins in place of the one with SMC
stop_programs()
{
	step 5 > /run/holders
	cat /run/holders
	grep -qw "$server" /run/holders || fail "process $server is not listed"
	kill_all "$server"
	serve inet
	wait_for 20 no_holders || fail "$(smcctl holders)"
}

start_programs()
{
	expect "module" "$(srcversion)" = "$(modinfo -F srcversion /t/smc.ko)"
	expect "module of before" "$(srcversion)" != "$old"
	expect "wmem" "$(cat /proc/sys/net/smc/wmem)" -eq 131072
	kill_all "$server"
	serve smc
}

# host2 COMMAND...: host 1 goes on to the next barrier
host2()
{
	[ "$HOST" = 1 ] || "$@"
}

# both connections have begun, as host 1 sees it
begun()
{
	[ "$(stat_of tx_bytes)" -ge 524288 ] && [ "$(stat_of rx_bytes)" -ge 524288 ]
}

case_upgrade()
{
	serve smc
	sync_barrier up || exit 1
	RUN="exec" connect smc smc idle:200 > /run/idle 2>&1 &
	idle=$!
	[ "$HOST" = 2 ] || wait_for 30 begun || fail "no connections: $(cat /run/idle)"
	both_ways "before" smc
	old=$(srcversion)
	host2 install
	host2 step 2
	host2 step 3
	both_ways "disabled" tcp
	host2 wait_step4
	sync_barrier drain || exit 1
	kill "$idle" || fail "the connection has ended before"
	wait "$idle" || fail "the connection: $(cat /run/idle)"
	host2 wait "$waits" || fail "step 4 ended with $?"
	host2 stop_programs
	both_ways "stopped" tcp inet
	host2 step 6
	both_ways "unloaded" tcp inet
	host2 step 7
	host2 start_programs
	both_ways "after" smc
	[ "$HOST" = 2 ] || expect "aborted connections" "$(stat_of conn_abort)" -eq 0
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
}
