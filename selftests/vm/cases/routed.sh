# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Two hosts in different subnets, a third one (vm.py --router) as IP router between them:
# version 2 works through it, version 1 does not; if the RoCE address is unreachable or a
# NAT changes it, a connection falls back within a time limit. Host 2 connects.
#
#   INTREE    set: host 2 has the in-tree family

if [ -n "$INTREE" ]; then
	CASES="intree_client:60 intree_server:60"
else
	CASES="v4:90 v6:90 dnat:60 no_route:60 no_neighbour:90 masquerade:120 other_router:120
		filter:60 ipsec:90 unload:60"
fi
export CASES

SERVER=10.1.0.1		# host 1, in 10.1.0.0/24 and fd01::/64
CLIENT=10.2.0.1		# host 2, in 10.2.0.0/24 and fd02::/64
PORT=4430

setup()
{
	ip link set lo up
	ip addr add "10.$HOST.0.1/24" dev eth0
	ip addr add "fd0$HOST::1/64" dev eth0 nodad
	ip link set eth0 up
	ip route add default via "10.$HOST.0.254"
	ip -6 route add default via "fd0$HOST::fe"
	if [ "$HOST" = 1 ]; then
		on_host 3 'sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1' &&
			router_port 1 eth0 && router_port 2 eth1 || return 1
	fi
	sync_barrier router || return 1
	wait_for 20 ping -c 1 -W 1 "10.$(peer).0.1" || return 1
	setup_rxe && load_smc
}

# router_port HOST DEVICE: of the third host, no longer in a bridge
router_port()
{
	on_host 3 "ip link set $2 nomaster; ip addr add 10.$1.0.254/24 dev $2" &&
		on_host 3 "ip addr add fd0$1::fe/64 dev $2 nodad"
}

# router_nat HOOK RULE: on the third host (a command for it is one line)
router_nat()
{
	on_host 3 "modprobe nft_chain_nat; modprobe nft_nat; modprobe nft_masq; nft add table ip nat"
	on_host 3 "nft 'add chain ip nat n { type nat hook $1 priority 0; }'"
	on_host 3 "nft add rule ip nat n $2" || fail "no NAT on host 3"
}

# serve NAME: until the other host signals that the client NAME has ended
serve()
{
	/t/smc_traffic server --family smc6 --port "$PORT" > "/run/server.$1" 2>&1 &
	server=$!
	await_server "$PORT"
	sync_signal "up.$1"
	sync_wait "through.$1" 100 > /dev/null
	rc=$?
	kill "$server"
	wait "$server" 2> /dev/null
	[ "$rc" = 0 ] || exit 1
}

# client NAME MODE FAMILY ADDRESS SUBTEST...: its output is in /run/client
client()
{
	name=$1 mode=$2 family=$3 to=$4
	shift 4
	sync_wait "up.$name" > /dev/null || exit 1
	/t/smc_traffic client --connect "$to" --port "$PORT" --family "$family" \
		--require "$mode" --mode "$@" > /run/client 2>&1
	rc=$?
	cat /run/client
	[ "$rc" = 0 ] || fail "$name: client over $family to $to ended with $rc"
	sync_signal "through.$name"
}

# reasons OWN/PEER: expects these reasons of the last client's connections
reasons()
{
	grep -q "reasons $1" /run/client || fail "reasons $1 not in: $(grep reasons /run/client)"
}

# Megabytes were sent by RDMA, through the router.
expect_routed()
{
	expect_packets 1024
	expect "fallbacks" "$(grown clnt_fback)" -eq 0
	/t/smcctl --json linkgroup > /run/groups
	expect "groups through a gateway" "$(grep -c '"direct": *false' /run/groups)" -ge 1
	expect "direct groups" "$(grep -c '"direct": *true' /run/groups)" -eq 0
}

case_v4()
{
	if [ "$HOST" = 1 ]; then
		serve smc
		serve v1
	else
		before
		client smc smc smc "$SERVER" stream:4 connects:20 burst:20
		expect_routed
		# version 1 needs both hosts in one subnet
		/t/smcctl ueid flush
		client v1 tcp smc "$SERVER" connects:2
		reasons 05000000/03070000
		/t/smcctl ueid add SMCV2-DEFAULT-UEID
	fi
}

case_v6()
{
	if [ "$HOST" = 1 ]; then
		serve smc
	else
		before
		client smc smc smc6 fd01::1 stream:4 connects:20
		expect_routed
	fi
}

# A load balancer's address on the TCP path, the server's own address for RoCE.
case_dnat()
{
	if [ "$HOST" = 1 ]; then
		router_nat prerouting "ip daddr 10.2.0.254 tcp dport $PORT dnat to $SERVER"
		serve smc
	else
		before
		client smc smc smc 10.2.0.254 stream:4 connects:5
		expect_routed
		expect "first contacts" "$(grown first_contact)" -eq 0
	fi
}

# The TCP path reaches a server whose RoCE address has no route, or no neighbour entry.
case_no_route()
{
	if [ "$HOST" = 1 ]; then
		end_groups
		serve tcp
	else
		end_groups
		ip route add blackhole "$SERVER/32"
		before
		client tcp tcp smc 10.2.0.254 stream:1 connects:2
		reasons 030e0000/00000000
		ip route del blackhole "$SERVER/32"
	fi
}

case_no_neighbour()
{
	if [ "$HOST" = 1 ]; then
		serve tcp
		serve smc
	else
		ip route add "$SERVER/32" dev eth0
		before
		client tcp tcp smc 10.2.0.254 stream:1 connects:2
		reasons 030e0000/00000000
		ip route del "$SERVER/32" dev eth0
		echo 0 > /proc/net/smc_negcache
		before
		client smc smc smc 10.2.0.254 stream:4
		expect_routed
	fi
}

# Ends all groups by reloading the module.
end_groups()
{
	unload_smc || fail "the module cannot be unloaded"
	load_smc || fail "the module cannot be loaded again"
}

# A NAT changes the source of RoCE packets: no queue pair accepts them.
case_masquerade()
{
	end_groups
	if [ "$HOST" = 1 ]; then
		on_host 3 'nft flush ruleset' || fail "the old NAT cannot be removed"
		router_nat postrouting "ip saddr 10.2.0.0/24 masquerade"
		serve tcp
		on_host 3 'nft flush ruleset' || fail "the NAT cannot be removed"
		serve smc
	else
		before
		client tcp tcp smc "$SERVER" stream:1 connects:5
		expect "first contacts tried" "$(grown first_contact)" -eq 1
		expect "handshakes that failed" "$(grown clnt_hs_err)" -eq 0
		echo 0 > /proc/net/smc_negcache
		before
		client smc smc smc "$SERVER" stream:4
		expect_routed
	fi
}

# The route to the peer of a group changes: the next connections use the new route.
case_other_router()
{
	if [ "$HOST" = 1 ]; then
		serve a
		on_host 3 'ip addr add 10.2.0.253/24 dev eth1' || fail "no second address"
		sync_signal moved
		serve b
	else
		before
		client a smc smc "$SERVER" stream:4
		sync_wait moved > /dev/null || exit 1
		ip route replace default via 10.2.0.253
		on_host 3 'ip addr del 10.2.0.254/24 dev eth1; ip addr add 10.2.0.253/24 dev eth1' ||
			fail "the old address cannot be removed"
		client b smc smc "$SERVER" stream:4 connects:5
		expect_routed
	fi
}

# A client that may not connect by TCP cannot connect at all, even if there is a group.
case_filter()
{
	if [ "$HOST" = 1 ]; then
		nft -f - << EOF || fail "no filter"
table inet guard {
	chain in {
		type filter hook input priority 0;
		ip saddr $CLIENT tcp dport $PORT reject with tcp reset
	}
}
EOF
		serve refused
		nft delete table inet guard
		serve smc
	else
		sync_wait up.refused > /dev/null || exit 1
		! /t/smc_traffic client --connect "$SERVER" --port "$PORT" --family smc \
			connects:1 > /run/client 2>&1 || fail "the filter was passed"
		cat /run/client
		grep -q ECONNREFUSED /run/client || fail "not refused"
		sync_signal through.refused
		client smc smc smc "$SERVER" stream:1
	fi
}

# A connection that an IPsec policy of either host covers stays on TCP.
case_ipsec()
{
	for direction in "$CLIENT $SERVER 0x201" "$SERVER $CLIENT 0x102"; do
		# shellcheck disable=SC2086 # three words
		protect $direction || fail "no security association"
	done
	if [ "$HOST" = 1 ]; then
		serve client
		policy add "$SERVER" "$CLIENT" sport
		serve server
		policy del "$SERVER" "$CLIENT" sport
		serve none
	else
		before
		policy add "$CLIENT" "$SERVER" dport
		client client tcp smc "$SERVER" stream:1 connects:2
		reasons 03020000/00000000
		policy del "$CLIENT" "$SERVER" dport
		client server tcp smc "$SERVER" stream:1 connects:2
		reasons 05000000/03020000
		expect "packets in a tunnel" "$(ip -s xfrm state | grep -c ' [1-9][0-9]*(packets)')" -ge 2
		client none smc smc "$SERVER" stream:1
	fi
	ip xfrm state flush
}

# protect FROM TO SPI: adds the security association for packets that a policy covers
protect()
{
	ip xfrm state add src "$1" dst "$2" proto esp spi "$3" mode transport reqid 1 \
		enc 'cbc(aes)' 0x000102030405060708090a0b0c0d0e0f \
		auth-trunc 'hmac(sha256)' 0x000102030405060708090a0b0c0d0e0f 128
}

# policy add|del FROM TO sport|dport
policy()
{
	if [ "$1" = add ]; then
		set -- "$@" tmpl src "$2" dst "$3" proto esp mode transport reqid 1
	fi
	verb=$1 from=$2 to=$3 side=$4
	shift 4
	ip xfrm policy "$verb" dir out src "$from/32" dst "$to/32" proto tcp "$side" "$PORT" "$@" ||
		fail "xfrm policy $verb"
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}

case_intree_client()
{
	if [ "$HOST" = 1 ]; then
		before
		serve x
		expect "as server" "$(grown srv_smc)" -gt 0
		expect_packets 1024
	else
		client x smc smc "$SERVER" stream:4 connects:5
	fi
}

case_intree_server()
{
	if [ "$HOST" = 2 ]; then
		serve x
		return
	fi
	before
	client x smc smc "$CLIENT" stream:4 connects:5
	expect_routed
}
