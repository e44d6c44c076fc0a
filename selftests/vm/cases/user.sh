# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A user of host 1 whose memory never arrives: 300 calls sleep with the locks of their sockets, and the
# module has work for these sockets (/t/smc_user, which needs a kernel with userfaultfd). Others
# notice nothing: 100 connections in each direction are SMC, and a namespace can be deleted. Our
# module on both hosts. late: the memory arrives when the peer has closed.

CASES="accept:240 conn:240 fallen:240 late:60 unload:60"
export CASES

# more than a work queue has workers: 256 for each CPU at most, 512 in older kernels
N=300
PORT=4431

setup()
{
	setup_net && setup_rxe && load_smc && modprobe veth
}

is_stuck()
{
	grep -q '^stuck$' /run/user || ! kill -0 "$user" 2> /dev/null
}

# attack PLACE ARGUMENT...: on host 1, in the background
attack()
{
	place=$1
	shift
	: > /run/user	# of the last attack
	/t/smc_user "$place" "$N" "$@" > /run/user 2>&1 &
	user=$!
	wait_for 150 is_stuck
	grep -q '^stuck$' /run/user || fail "no attack: $(cat /run/user)"
}

no_veth()
{
	! ip link show v0 > /dev/null 2>&1
}

# A namespace with a listener, whose end is seen by that of its veth pair.
delete_netns()
{
	ip netns add other || fail "no namespace"
	ip link add v0 type veth peer name v1 netns other || fail "no veth"
	ip netns exec other ip link set lo up
	# exec: the process to kill is the server itself
	( exec /usr/sbin/ip netns exec other /t/smc_traffic server --family smc ) > /dev/null 2>&1 &
	listener=$!
	sleep 1
	kill_all "$listener"
	ip netns del other
	wait_for 20 no_veth || fail "the namespace does not end"
}

# others PLACE ARGUMENT...: an attack, and what others see of it
others()
{
	[ "$HOST" = 2 ] || attack "$@"
	sync_barrier stuck 200 || exit 1
	before
	exchange 1 smc smc connects:100
	exchange 2 smc smc connects:100
	sync_barrier exchanged || exit 1
	if [ "$HOST" = 1 ]; then
		expect "SMC connections accepted" "$(grown srv_smc)" -ge 100
		expect "SMC connections made" "$(grown clnt_smc)" -ge 100
		for s in srv_hs_err clnt_hs_err hs_congested; do
			expect "$s" "$(grown "$s")" -eq 0
		done
		delete_netns
		# still
		kill -0 "$user" || fail "the attack has ended: $(cat /run/user)"
		! grep -q returns /run/user || fail "calls have returned: $(cat /run/user)"
		kill_all "$user"
	fi
	sync_barrier over || exit 1
}

case_accept()
{
	others accept
}

# Works of connections use the clcsock once a second.
case_conn()
{
	sysctl -q -w net.smc.carrier_keepalive_time=1
	if [ "$HOST" = 2 ]; then
		/t/smc_traffic server --family smc --port "$PORT" --timeout 600000 > /run/server 2>&1 &
		server_of_user=$!
		await_server "$PORT"
	fi
	sync_barrier serves || exit 1
	others conn "$(peer_addr)" "$PORT"
	[ "$HOST" = 1 ] || kill_all "$server_of_user"
	sysctl -q -w net.smc.carrier_keepalive_time=0
}

case_fallen()
{
	others fallen
}

case_late()
{
	if [ "$HOST" = 1 ]; then
		N=4
		# both ends are in the program
		setup_smc_lo || fail "no smc_lo"
		attack late 127.0.0.1 "$PORT"
		kill_all "$user"
		rmmod smc_lo || fail "smc_lo stays"
	fi
	sync_barrier late || exit 1
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
}
