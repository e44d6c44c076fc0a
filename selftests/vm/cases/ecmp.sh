# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Service addresses on lo, as BGP announces them, and two equal routes to the other host's, over an
# RNIC each: both hosts choose anew for each connection, by its ports, and need not choose alike.
# Each host has a router of its own, a namespace: nic0 and nic1 lead to it, eth0 joins the two.
# Host 2 connects.

CASES="joined:120 divided:180 named:120 unload:60"
export CASES

setup()
{
	modprobe -q crc32_generic
	modprobe rdma_rxe && modprobe ib_uverbs || return 1
	ip link set lo up
	ip -6 addr add "2001:db8::$HOST/128" dev lo
	# without DAD: a tentative link-local address cannot be a source
	echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
	mkdir -p /run/netns
	ip netns add leaf && router sysctl -q -w net.ipv6.conf.default.accept_dad=0 || return 1
	router sysctl -q -w net.ipv6.conf.all.forwarding=1 net.ipv6.fib_multipath_hash_policy=1
	ip link set eth0 netns leaf && router_port eth0 "fd00:9::$HOST/64" || return 1
	for l in 0 1; do
		ip link add "nic$l" type veth peer name "port$l" netns leaf || return 1
		ip addr add "fd00:$HOST:$l::1/64" dev "nic$l" nodad
		ip link set "nic$l" up
		router_port "port$l" "fd00:$HOST:$l::fe/64" || return 1
		add_rxe "$l" "nic$l" && wait_for 10 port_active "rxe$l" || return 1
	done
	# by the ports, not by the addresses alone
	sysctl -q -w net.ipv6.fib_multipath_hash_policy=1
	ip -6 route add default src "2001:db8::$HOST" \
		nexthop via "fd00:$HOST:0::fe" dev nic0 \
		nexthop via "fd00:$HOST:1::fe" dev nic1 || return 1
	# a gateway that is not known yet is not chosen
	for l in 0 1; do
		wait_for 20 ping -6 -c 1 -W 1 "fd00:$HOST:$l::fe" > /dev/null || return 1
	done
	router ip -6 route add "2001:db8::$HOST/128" \
		nexthop via "fd00:$HOST:0::1" dev port0 \
		nexthop via "fd00:$HOST:1::1" dev port1 || return 1
	router ip -6 route add default via "fd00:9::$(peer)" || return 1
	wait_for 20 ping -6 -c 1 -W 1 "2001:db8::$(peer)" > /dev/null || return 1
	load_smc
}

# router COMMAND...: in the router of this host
router()
{
	ip netns exec leaf "$@"
}

router_port()
{
	router ip addr add "$2" dev "$1" nodad && router ip link set "$1" up
}

# use RNIC: host 2 has the one route only. Linux chooses among IPv6 routes before it chooses the port
# of a client, so all its connections to one port of a server leave over one RNIC in any case.
use()
{
	[ "$HOST" = 1 ] || ip -6 route replace default src 2001:db8::2 via "fd00:2:$1::fe" dev "nic$1" ||
		fail "no route"
}

# round NAME COMMAND...: both hosts; host 1 serves while host 2 runs the command
round()
{
	name=$1
	shift
	sync_barrier "begin.$name" || exit 1
	for l in 0 1; do
		rxe_counter sent_pkts "rxe$l" > "/run/sent.$l"
	done
	cp /proc/net/smc_stat /run/stat
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc6 > "/run/server.$name" 2>&1 &
		server=$!
		await_server
		sync_signal "up.$name"
		sync_wait "through.$name" 170 > /dev/null || exit 1
		kill "$server"
		wait "$server" 2> /dev/null
	else
		sync_wait "up.$name" > /dev/null || exit 1
		"$@"
		sync_signal "through.$name"
	fi
	# the RDMA core keeps counters for a moment
	usleep 50000
}

# client SUBTEST...: its output is in /run/client
client()
{
	/t/smc_traffic client --connect 2001:db8::1 --family smc6 --mode "$@" > /run/client 2>&1
	rc=$?
	cat /run/client
	[ "$rc" = 0 ] || fail "client ended with $rc: $(tail -n 1 /run/client)"
}

# sent N: packets of rxe<N> since the round began
sent()
{
	echo "$(($(rxe_counter sent_pkts "rxe$1") - $(cat "/run/sent.$1")))"
}

again()
{
	unload_smc || fail "the module cannot be unloaded"
	load_smc || fail "the module cannot be loaded again"
}

# Every RNIC reaches every other: all connections are SMC, over each pair of RNICs.
case_joined()
{
	for own in 0 1; do
		use $own
		round "joined$own" client --require smc connects:64
		for l in 0 1; do
			[ "$HOST" = 1 ] || [ "$l" = "$own" ] || continue
			expect "packets of rxe$l" "$(sent "$l")" -ge 64
		done
		expect "first contacts" "$(grown first_contact)" -eq 2
	done
}

# divide: the routers forward RoCE only between RNICs with the same number
divide()
{
	router /usr/sbin/nft -f - << EOF || fail "no filter"
table ip6 planes {
	chain planes {
		type filter hook forward priority 0;
		ip6 saddr fd00:$HOST:0::/64 ip6 daddr fd00:$(peer):1::/64 drop
		ip6 saddr fd00:$HOST:1::/64 ip6 daddr fd00:$(peer):0::/64 drop
	}
}
EOF
}

# cached: entries of the negative cache, their reasons and ports
cached()
{
	awk 'NR > 1 { print $2, $6 }' /proc/net/smc_negcache
}

# An RNIC reaches only one of the other host: the first connection for which the hosts choose RNICs of
# different networks becomes TCP after the time of a first contact, the others without an attempt.
# What is learned is about the server's port if a group works, about the host if none does yet.
case_divided()
{
	again
	divide
	use 0
	t0=$(uptime_s)
	round divided client connects:64
	expect "failed handshakes" "$(($(grown clnt_hs_err) + $(grown srv_hs_err)))" -eq 0
	[ "$HOST" = 2 ] || return 0
	diag "$(grown clnt_smc) SMC, $(grown clnt_fback) TCP, learned: $(cached)"
	expect "fallbacks" "$(grown clnt_fback)" -ge 1
	expect "seconds" "$(($(uptime_s) - t0))" -le 8
	case $(cached) in
	"0x02010000 4430")	expect "SMC" "$(grown clnt_smc)" -ge 1 ;;
	"0x02010000 0")		expect "SMC" "$(grown clnt_smc)" -eq 0 ;;
	*)			fail "negative cache: $(cached)" ;;
	esac
}

# The remedy: one PNET ID for all RNICs. Both hosts choose the same one, whatever the routes are; the
# group gets a second link, over the other network.
case_named()
{
	again
	for l in 0 1; do
		/t/smcctl pnet add NET1 netdev "nic$l" ibdev "rxe$l" || fail "no PNET ID"
	done
	for own in 0 1; do
		use $own
		round "named$own" client --require smc connects:64
		expect "first contacts" "$(grown first_contact)" -eq $((1 - own))
	done
	expect "links" "$(/t/smcctl --json link | grep -c '"device"')" -eq 2
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
