# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# One service with clients of both families at the same time. Each host has a network namespace "pod"
# behind a bridge, with an RNIC of its own, whose programs use the family of their host: this module on
# host 1, the in-tree one on host 2. The server is on one host; one client is in the pod of that host, the
# other one is the other host. Each client has two connections, one of which is there all the time. Proved
# by the counters of each namespace, the mode of each connection at both ends, and every byte (smc_traffic).

CASES="ours:150 intree:150 unload:60"
export CASES

MIB=16
# the stream, and what "idle" sends
BYTES=$((MIB * 1048576 + 524288))
IN_POD="/usr/sbin/ip netns exec pod"

setup()
{
	for m_ in bridge veth; do
		modprobe -q "$m_"
	done
	ip link set lo up
	ip link add br0 type bridge && ip link set eth0 master br0 || return 1
	ip link set br0 mtu "$(cat /sys/class/net/eth0/mtu)"
	ip link set eth0 up
	ip addr add "$(own_addr)/24" dev br0 && ip link set br0 up || return 1
	ip netns add pod &&
		ip link add host0 type veth peer name pod0 netns pod || return 1
	ip link set host0 mtu "$(cat /sys/class/net/eth0/mtu)"
	ip link set host0 master br0
	ip link set host0 up
	ip -n pod link set pod0 mtu "$(cat /sys/class/net/eth0/mtu)"
	ip -n pod link set lo up
	ip -n pod addr add "$(pod_addr)/24" dev pod0 && ip -n pod link set pod0 up || return 1
	modprobe -q crc32_generic
	modprobe rdma_rxe && add_rxe 0 br0 && wait_for 10 port_active rxe0 || return 1
	$IN_POD /usr/sbin/rdma link add rxep type rxe netdev pod0 &&
		wait_for 10 port_active rxep && load_smc || return 1
	# the in-tree family looks for an RNIC of eth0, which is below the bridge
	ours || /t/smcctl pnet add NET1 netdev eth0 ibdev rxe0
}

pod_addr()
{
	echo "10.0.0.1$HOST"
}

# here COMMAND...: in the namespace of this host's client: the pod, if the server is on this host
here()
{
	if [ "$HOST" = "$SERVER" ]; then
		$IN_POD "$@"
	else
		"$@"
	fi
}

# client_bytes tx|rx: over SMC-R, of this host's client
client_bytes()
{
	# shellcheck disable=SC2016 # for that shell
	here ash -c '. /h/lib.sh; rdma_bytes "$0"' "$1"
}

# start_client NAME SUBTEST: in the background; its process is $client
start_client()
{
	in_=
	[ "$HOST" != "$SERVER" ] || in_=$IN_POD
	# shellcheck disable=SC2086 # options or nothing
	$in_ /t/smc_traffic client --connect "10.0.0.$SERVER" --family smc --require smc $INTREE "$2" \
		> "/run/client.$1" 2>&1 &
	client=$!
}

# end_client NAME PROCESS
end_client()
{
	wait "$2" || { cat "/run/client.$1"; fail "client $1: $?"; }
	cat "/run/client.$1"
}

# has_paused: the first 256 KiB of "idle" have passed in both directions
has_paused()
{
	[ "$(($(client_bytes tx) - tx))" -ge 262144 ] && [ "$(($(client_bytes rx) - rx))" -ge 262144 ]
}

# peers_of_server: the addresses of its clients over SMC-R
peers_of_server()
{
	/t/smcctl -j sock local-port 4430 | tr -d ' \n' | sed 's/"state"/\n&/g' | grep '"mode":"SMCR"' |
		sed -n 's/.*"peer_addr":"\([^"]*\)".*/\1/p' | sort -u
}

# intree_group: a group between both namespaces of the in-tree host, where this module takes no part. An
# in-tree client that gets no processor in time ignores CONFIRM LINK, which an in-tree server sends
# once: the connection is TCP, and the next one makes a group.
intree_group()
{
	/t/smc_traffic server --family smc --intree both --port 4431 > /run/server.first 2>&1 &
	first=$!
	await_server 4431
	$IN_POD /t/smc_traffic client --connect 10.0.0.2 --port 4431 --family smc --require smc \
		--intree both stream:1 > /run/client.first 2>&1
	made=$?
	kill_all "$first"
	return "$made"
}

# serve_both SERVER: the host with the server
serve_both()
{
	SERVER=$1
	# families of this host's client and of the server
	case $SERVER.$HOST in
	1.2) INTREE="--intree client" ;;
	2.1) INTREE="--intree server" ;;
	2.2) INTREE="--intree both" ;;
	*) INTREE= ;;
	esac
	if [ "$HOST" = "$SERVER" ]; then
		served_tx=$(rdma_bytes tx)
		served_rx=$(rdma_bytes rx)
		! ours || { accepted=$(stat_of srv_smc); fallen=$(stat_of srv_fback); }
		/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
		server=$!
		await_server
	fi
	tx=$(client_bytes tx)
	rx=$(client_bytes rx)
	connected=$(here cat /proc/net/smc_stat 2> /dev/null | sed -n 's/^clnt_smc //p')
	sync_barrier up || exit 1
	[ "$SERVER.$HOST" != 2.2 ] || wait_for 60 intree_group || fail "no in-tree group"
	start_client idle idle:300
	idle=$client
	wait_for 60 has_paused || { cat /run/client.idle; fail "the client does not begin"; }
	sync_barrier both || exit 1
	if [ "$HOST" = "$SERVER" ]; then
		expect "clients at the same time" "$(peers_of_server)" = "$(printf '%s\n' "$(pod_addr)" "$(peer_addr)" | sort)"
	fi
	start_client stream "stream:$MIB"
	end_client stream "$client"
	sync_barrier streamed || exit 1
	kill -TERM "$idle"
	end_client idle "$idle"
	sync_barrier over || exit 1

	expect "bytes that the client sent" $(($(client_bytes tx) - tx)) -ge "$BYTES"
	expect "bytes that it received" $(($(client_bytes rx) - rx)) -ge "$BYTES"
	if ours; then
		expect "connections of the client" \
			$(($(here cat /proc/net/smc_stat | sed -n 's/^clnt_smc //p') - connected)) -eq 2
	fi
	[ "$HOST" = "$SERVER" ] || return 0
	expect "bytes that the server sent" $(($(rdma_bytes tx) - served_tx)) -ge $((2 * BYTES))
	expect "bytes that it received" $(($(rdma_bytes rx) - served_rx)) -ge $((2 * BYTES))
	if ours; then
		expect "connections of the server" $(($(stat_of srv_smc) - accepted)) -eq 4
		expect "of these fallen back" $(($(stat_of srv_fback) - fallen)) -eq 0
	fi
	kill_all "$server"
	! grep '^not ok' /run/server || fail "the server complains"
}

case_ours()
{
	serve_both 1
}

case_intree()
{
	serve_both 2
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
}
