# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The only link of a group fails while streams run on it: every connection must end soon with
# ECONNABORTED or ECONNRESET on both sides, the group must end and free all of its resources,
# and when the link works again a new connection must succeed. Our module on both hosts.
# In the last case pages lent by a connection exist longer than the connection, the link, the group
# and the module.

CASES="netdev_down:150 after_down:90 device_removed:150 after_removal:90 unload:120"
export CASES

STREAMS=4
NEAR=5		# seconds until the host with the fault must detect it
FAR=30		# and until the other one must, by retries and TEST LINK
ERRORS='ECONNABORTED|ECONNRESET'

setup()
{
	setup_net && setup_rxe && load_smc && sysctl -q -w net.smc.smcr_testlink_time=2
}

resources()
{
	/usr/sbin/rdma resource show "$1" 2>/dev/null | grep -c 'comm \[smc\]'
}

# --- the steps of a case ---

# shellcheck disable=SC2153 # CASE is set by main.sh
start_server()
{
	/t/smc_traffic server --family smc --require smc --verbose --timeout 60000 \
		> "/run/server.$CASE" 2>&1 &
	echo $! > "/run/server.$CASE.pid"
	await_server
	sync_signal ready
}

# Starts streams that last longer than the case, and a silent connection.
start_clients()
{
	sync_wait ready > /dev/null || exit 1
	client_pids=
	i=0
	while [ "$i" -lt "$STREAMS" ]; do
		start_client "$i" stream:4000
		i=$((i + 1))
	done
	start_client idle idle:600
	wait_for 60 flowing || fail "no traffic"
}

# start_client TAG SUBTEST
start_client()
{
	/t/smc_traffic client --connect "$(peer_addr)" --family smc --require smc \
		--timeout 60000 "$2" > "/run/client.$CASE.$1" 2>&1 &
	[ "$1" = idle ] || client_pids="$client_pids $!"
}

flowing()
{
	[ "$(($(stat_of clnt_smc) - conns0))" -ge $((STREAMS + 1)) ] &&
		[ "$(($(stat_of rx_bytes) - bytes0))" -ge $((STREAMS << 20)) ]
}

# The transfer before the silence of the silent connection is over, at the server: until then the
# loss would end five transfers.
is_silent()
{
	grep -q 'server: op .*: 0$' "/run/server.$CASE"
}

clients_gone()
{
	for p_ in $client_pids; do
		[ ! -d "/proc/$p_" ] || grep -q '^State:.Z' "/proc/$p_/status" || return 1
	done
}

server_has_errors()
{
	# the silent connection has a line as well, without an error (see is_silent())
	[ "$(grep 'server: op ' "/run/server.$CASE" | grep -vc ': 0$')" -ge "$STREAMS" ]
}

# All ends of the connections have detected the loss: streams by the errors of their programs, the
# silent one by the counter of aborted connections.
loss_detected()
{
	if [ "$HOST" = 1 ]; then
		server_has_errors || return 1
	else
		clients_gone || return 1
	fi
	[ "$(($(stat_of conn_abort) - aborts0))" -ge $((STREAMS + 1)) ]
}

# break_link HOST COMMAND...: host HOST runs the command while the streams run
break_link()
{
	where=$1
	shift
	conns0=$(stat_of clnt_smc)
	bytes0=$(stat_of rx_bytes)
	aborts0=$(stat_of conn_abort)
	terms0=$(stat_of lgr_term)

	if [ "$HOST" = 1 ]; then
		start_server
		sync_wait flowing 90 > /dev/null || exit 1
		wait_for 60 is_silent || fail "the silent connection does not become silent"
		sync_signal silent
	else
		start_clients
		sync_signal flowing
		sync_wait silent 90 > /dev/null || exit 1
	fi
	limit=$FAR
	if [ "$HOST" = "$where" ]; then
		limit=$NEAR
		"$@" || fail "cannot break the link"
	fi
	t0=$(uptime_s)
	wait_for "$limit" loss_detected || {
		show_outputs
		fail "not all connections have ended within $limit s"
	}
	diag "host $HOST: all connections ended within $(($(uptime_s) - t0)) s"
	show_outputs
	check_errors
	wait_for 15 group_gone || fail "the group does not end: $(/usr/sbin/rdma resource show qp)"
	expect "groups ended" "$(($(stat_of lgr_term) - terms0))" -eq 1
	sync_barrier noticed 60 || exit 1
}

show_outputs()
{
	cat "/run/server.$CASE" "/run/client.$CASE".* 2>/dev/null
	dmesg | grep 'smc: ' | tail -n 5
}

check_errors()
{
	if [ "$HOST" = 1 ]; then
		n_=$(grep 'server: op ' "/run/server.$CASE" | grep -cE "$ERRORS")
		expect "streams that failed at the server" "$n_" -eq "$STREAMS"
		return
	fi
	i=0
	while [ "$i" -lt "$STREAMS" ]; do
		grep -qE "stream: ($ERRORS)" "/run/client.$CASE.$i" ||
			fail "client $i: $(grep '^# stream' "/run/client.$CASE.$i")"
		i=$((i + 1))
	done
}

group_gone()
{
	[ "$(resources qp)" -eq 0 ] && [ "$(resources mr)" -eq 0 ] || return 1
	! /t/smcctl linkgroup | grep -q '^0x'
}

# Connects again, with a new server: the end of the case before has killed the old one.
connect_again()
{
	wait_for 20 port_active rxe0 || fail "the port stays down"
	smc0=$(($(stat_of clnt_smc) + $(stat_of srv_smc)))
	sync_barrier up 30 || exit 1
	exchange 1 smc smc connects:5 stream:1
	expect "new connections" "$(($(stat_of clnt_smc) + $(stat_of srv_smc) - smc0))" -ge 6
}

# --- the cases ---

case_netdev_down()
{
	break_link 1 ip link set eth0 down
}

case_after_down()
{
	[ "$HOST" != 1 ] || ip link set eth0 up || fail "cannot bring the link up"
	connect_again
}

case_device_removed()
{
	break_link 2 /usr/sbin/rdma link delete rxe0
}

case_after_removal()
{
	if [ "$HOST" = 2 ]; then
		add_rxe 0 eth0 || fail "cannot add rxe0"
	fi
	connect_again
}

pages_lent()
{
	[ "$(($(stat_of rx_lend_pages) - lent0))" -ge 8 ]
}

# Host 2 splices received pages into a pipe, whose reader waits for the end of the module. The
# connection loses its link and its group, and is closed.
lend_pages()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_lend serve "$(own_addr)" || fail "smc_lend serve ended with $?"
		return
	fi
	lent0=$(stat_of rx_lend_pages)
	rm -f /run/closed /run/unloaded /run/lent
	{
		/t/smc_lend lend "$(peer_addr)"
		touch /run/closed
	} | {
		wait_for 60 test -e /run/unloaded
		/t/smc_lend check
		echo $? > /run/lent
	} &
	wait_for 30 pages_lent || fail "no pages are lent"
	/usr/sbin/rdma link delete rxe0 || fail "cannot break the link"
	wait_for 30 test -e /run/closed || fail "the connection does not end"
}

case_unload()
{
	lend_pages
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	for k_ in qp mr pd cq; do
		expect "$k_ left" "$(resources "$k_")" -eq 0
	done
	[ "$HOST" != 1 ] || return 0
	touch /run/unloaded
	wait_for 20 test -s /run/lent || fail "the pipe is not read"
	expect "errors in the lent pages" "$(cat /run/lent)" -eq 0
}
