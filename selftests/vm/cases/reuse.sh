# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Many connections share one link group: after the first contact a connect needs no new
# registration, no queue pair and no CONFIRM RKEY. Checked by the counts of the RDMA core and of our
# module. Then many first contacts at once; no resource may be left after unloading. Our module on
# both hosts, or the old one on one of them.

CASES="first subsequent:120 unload:60 together:120 unload_again:60"
export CASES

CONNECTS=100
TOGETHER=20
SERVER_PORT=4430

setup()
{
	setup_net && setup_rxe && load_smc && set_write_imm
}

# resources KIND: number of the module's objects of that kind in the RDMA core
resources()
{
	/usr/sbin/rdma resource show "$1" | grep -c 'comm \[smc\]'
}

show_resources()
{
	for k_ in pd cq qp mr; do
		/usr/sbin/rdma resource show "$k_" | grep 'comm \[smc\]'
	done
}

# serve_or_run SUBTEST...: host 1 serves, host 2 connects
serve_or_run()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc --port "$SERVER_PORT" &
		server=$!
		await_server "$SERVER_PORT"
		sync_signal ready
		wait "$server" || fail "server ended with $?"
	else
		sync_wait ready || exit 1
		/t/smc_traffic client --connect "$(peer_addr)" --port "$SERVER_PORT" \
			--family smc --require smc --wait 10 --quit "$@" ||
			fail "client ended with $?"
	fi
}

# show_log: the end of a group is logged at a level that the console does not show
show_log()
{
	dmesg | grep 'smc: ' | tail -n 20
	grep -v ' 0$' /proc/net/smc_stat
}

connections()
{
	echo $(($(stat_of clnt_smc) + $(stat_of srv_smc)))
}

no_fallbacks()
{
	for s_ in clnt_fback srv_fback clnt_hs_err srv_hs_err; do
		expect "$s_" "$(stat_of "$s_")" -eq 0
	done
}

# a link has one queue pair, and, not so in the old module, one for its registrations
LINK_QPS=2
[ "$MODULE" != old ] || LINK_QPS=1

case_first()
{
	expect "MRs before" "$(resources mr)" -eq 0
	# the first region has two elements, and a connection that closes overlaps the next one
	serve_or_run connects:2 burst:8
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	expect "queue pairs" "$(resources qp)" -eq "$LINK_QPS"
	expect "MRs" "$(resources mr)" -ge 1
	no_fallbacks
}

case_subsequent()
{
	mr=$(resources mr)
	qp=$(resources qp)
	reg=$(stat_of mr_reg)
	rkey=$(stat_of rkey_confirm)
	conns=$(connections)
	reuse=$(stat_of rx_buf_reuse)

	serve_or_run "connects:$CONNECTS"

	diag "host $HOST: $mr MRs, $qp QPs, $reg registrations, $rkey CONFIRM RKEYs before"
	expect "connections" "$(($(connections) - conns))" -ge "$CONNECTS"
	expect "elements used again" "$(($(stat_of rx_buf_reuse) - reuse))" -gt 0
	expect "MRs" "$(resources mr)" -eq "$mr"
	expect "queue pairs" "$(resources qp)" -eq "$qp"
	expect "registrations" "$(stat_of mr_reg)" -eq "$reg"
	expect "CONFIRM RKEYs" "$(stat_of rkey_confirm)" -eq "$rkey"
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	no_fallbacks
}

unload()
{
	sync_barrier idle || exit 1
	imms_agreed || expect_imms stat_of	# too few bytes to need any
	expect "sockets left" "$(/t/smcctl -a sock 2>/dev/null | grep -c '10\.0\.')" -eq 0
	unload_smc || fail "the module cannot be unloaded"
	left=$(show_resources)
	[ -z "$left" ] || fail "left behind: $left"
	[ ! -e /proc/net/smc_stat ] || fail "/proc/net/smc_stat is left"
}

case_unload()
{
	unload
}

# Both modules are newly loaded and have no group. The simultaneous connects must create one group.
case_together()
{
	load_smc || fail "the module cannot be loaded again"
	set_write_imm || fail "no smcr_write_imm"
	sync_barrier loaded || exit 1
	serve_or_run "burst:$TOGETHER"
	show_log
	expect "connections" "$(connections)" -ge "$TOGETHER"
	expect "first contacts" "$(stat_of first_contact)" -eq 1
	expect "queue pairs" "$(resources qp)" -eq "$LINK_QPS"
	no_fallbacks
}

case_unload_again()
{
	unload
}
