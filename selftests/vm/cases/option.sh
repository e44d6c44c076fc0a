# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The SMC option in SYN and SYN-ACK. Host 1 serves, host 2 connects; each case has a
# port of its own, so that option.py can judge the capture by it. What each end believes
# is proven by the mode of the connection (--require) and by who is counted as what.
#
#   OPTION   cases to run, "NAME[:TIMEOUT]" (default: all that both hosts of ours can)
#   INTREE   client or server: that host has the in-tree family

: "${OPTION:=which agree mapped v6 plain_server plain_client many lost_syn lost_synack
	repeated filtered cookies fastopen no_room netns vrf conntrack nat saved_syn}"
CASES="$OPTION unload"
export CASES

SIDE=${INTREE:+--intree $INTREE}

# ports, as in option.py
P_AGREE=4501
P_MAPPED=4502
P_V6=4503
P_PLAIN_SERVER=4504
P_PLAIN_CLIENT=4505
P_MANY=4506
P_LOST_SYN=4507
P_LOST_SYNACK=4508
P_REPEATED=4509
P_FILTERED=4510
P_COOKIES=4511
P_FASTOPEN=4512
P_NO_ROOM=4513
P_CONNTRACK=4514
P_NAT=4515

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	# nft itself comes too early for the kernel's on-demand loading
	modprobe nf_tables
}

# serve PORT ARGUMENT...
serve()
{
	# shellcheck disable=SC2086 # an option or nothing
	/t/smc_traffic server --port "$@" $SIDE &
	server=$!
	await_server "$1"
	sync_signal ready
	wait "$server" || fail "server ended with $?"
}

# use PORT ADDRESS SUBTEST ARGUMENT...
use()
{
	port=$1
	addr=$2
	sub=$3
	shift 3
	sync_wait ready > /dev/null || exit 1
	# shellcheck disable=SC2086
	/t/smc_traffic client --connect "$addr" --port "$port" --wait 20 --quit "$@" \
		$SIDE "$sub" || fail "client ended with $?"
}

# both PORT SUBTEST MODE [SERVER_FAMILY [CLIENT_FAMILY]]
both()
{
	if [ "$HOST" = 1 ]; then
		serve "$1" --family "${4:-smc}" --require "$3"
	else
		use "$1" "$(peer_addr)" "$2" --family "${5:-smc}" --require "$3"
	fi
}

# Who puts the option into the SYN is a property of the build.
case_which()
{
	ours || return 0
	option=$(modinfo -F tcp_option /ours/smc.ko)
	diag "$(uname -r): the TCP option is $option"
	[ -z "$WANT_OPTION" ] || [ "$option" = "$WANT_OPTION" ] ||
		fail "the option is $option, not $WANT_OPTION"
}

case_agree()
{
	tx=$(rxe_counter sent_pkts)
	both $P_AGREE stream:2 smc
	expect "RDMA packets sent" "$(($(rxe_counter sent_pkts) - tx))" -ge 512
}

# An IPv6 socket with a v4-mapped peer, a dual-stack listener.
case_mapped() { both $P_MAPPED stream:1 smc smc6 smc6; }

# Native IPv6 (SMC between two of ours).
case_v6()
{
	if [ "$HOST" = 1 ]; then
		serve $P_V6 --family smc6 --require smc
	else
		use $P_V6 fd00:0::1 stream:1 --family smc6 --require smc
	fi
}

case_plain_server() { both $P_PLAIN_SERVER stream:1 tcp inet smc; }

case_plain_client() { both $P_PLAIN_CLIENT stream:1 tcp smc inet; }

case_many() { both $P_MANY connects:40 smc; }

# drop NAME CHAIN LIMIT MATCH...: the first LIMIT packets that match
drop()
{
	name=$1
	chain=$2
	limit=$3
	shift 3
	nft -f - <<-RULES || fail "nft $name"
	table inet $name {
		chain c {
			type filter hook $chain priority 0;
			$* limit rate 1/day burst $limit packets counter drop
		}
	}
	RULES
}

dropped()
{
	nft list table inet "$1" | sed -n 's/.*counter packets \([0-9]*\).*/\1/p'
}

# A retransmitted SYN carries it too.
case_lost_syn()
{
	[ "$HOST" = 2 ] || drop lost input 2 tcp dport $P_LOST_SYN tcp flags syn / syn,ack
	sync_barrier armed
	both $P_LOST_SYN stream:1 smc
	[ "$HOST" = 2 ] || expect "SYNs dropped" "$(dropped lost)" -eq 2
	nft flush ruleset
}

# (Two: on a slow host each may be the answer to a SYN of its own, and the fourth of those is without.)
case_lost_synack()
{
	[ "$HOST" = 1 ] || drop lost input 2 tcp sport $P_LOST_SYNACK \
		'tcp flags syn,ack / syn,ack'
	sync_barrier armed
	both $P_LOST_SYNACK stream:1 smc
	[ "$HOST" = 1 ] || expect "SYN-ACKs dropped" "$(dropped lost)" -eq 2
	nft flush ruleset
}

# Each packet comes twice.
case_repeated()
{
	modprobe sch_netem || fail "no netem"
	tc qdisc add dev eth0 root netem duplicate 100% || fail "no netem"
	sync_barrier armed
	both $P_REPEATED connects:5 smc
	sync_barrier over
	tc qdisc del dev eth0 root
}

# A firewall swallows what carries the option. Core goes on until the user gives up;
# our own option is left out in the end.
case_filtered()
{
	nft -f - <<-RULES || fail "nft"
	table inet filtered {
		chain c {
			type filter hook input priority 0;
			tcp option 254 exists counter drop
		}
	}
	RULES
	sync_barrier armed
	both $P_FILTERED stream:1 tcp
	[ "$HOST" = 2 ] || expect "SYNs dropped" "$(dropped filtered)" -ge 1
	nft flush ruleset
}

case_cookies()
{
	[ "$HOST" = 2 ] || sysctl -q -w net.ipv4.tcp_syncookies=2
	sync_barrier armed
	both $P_COOKIES connects:5 tcp
	sync_barrier over
	sysctl -q -w net.ipv4.tcp_syncookies=1
}

# Every listener takes data in a SYN, without a cookie.
case_fastopen()
{
	sysctl -q -w net.ipv4.tcp_fastopen=1543
	sync_barrier armed
	before=$(tcp_counter TcpExtTCPFastOpenPassive)
	if [ "$HOST" = 1 ]; then
		serve $P_FASTOPEN --family smc --require tcp
		expect "SYNs with data taken" \
			"$(($(tcp_counter TcpExtTCPFastOpenPassive) - before))" -ge 1
	else
		use $P_FASTOPEN "$(peer_addr)" stream:1 --family inet --fastopen
	fi
	sync_barrier over
	sysctl -q -w net.ipv4.tcp_fastopen=1
}

# Eight bytes more would not fit into a packet on this route.
case_no_room()
{
	if [ "$HOST" = 2 ]; then
		ip route add "$(peer_addr)/32" dev eth0 mtu lock 66 || fail "no route"
	fi
	sync_barrier armed
	both $P_NO_ROOM connects:1 tcp
	sync_barrier over
	[ "$HOST" = 1 ] || ip route del "$(peer_addr)/32" dev eth0
}

# in_ns NAMESPACE COMMAND...: an empty name is the initial one
in_ns()
{
	ns_=$1
	shift
	if [ -n "$ns_" ]; then
		ip netns exec "$ns_" "$@"
	else
		"$@"
	fi
}

# count_options [NAMESPACE]: what leaves with the option
count_options()
{
	in_ns "$1" nft -f - <<-RULES || fail "nft $1"
	table inet seen {
		counter syn { }
		counter synack { }
		chain out {
			type filter hook output priority 0;
			tcp flags syn / syn,ack tcp option 254 exists counter name syn
			tcp flags syn,ack / syn,ack tcp option 254 exists counter name synack
		}
	}
	RULES
}

# counted TABLE NAME [NAMESPACE]
counted()
{
	in_ns "$3" nft list counter inet "$1" "$2" | sed -n 's/.*packets \([0-9]*\).*/\1/p'
}

new_ns()
{
	mkdir -p /var/run
	ip netns add "$1" || fail "no namespace"
	ip -n "$1" link set lo up
}

# inside SERVER_SIDE CLIENT_SIDE ADDRESS: a whole connection within this host; there is no RNIC, so TCP in the end
inside()
{
	# shellcheck disable=SC2086 # a command and its arguments
	$1 /t/smc_traffic server --family smc --port 4520 &
	server=$!
	# shellcheck disable=SC2086
	$2 /t/smc_traffic client --connect "$3" --port 4520 --family smc --wait 10 --quit \
		connects:3 || fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
}

# Namespaces have hooks of their own; none is left when they end.
case_netns()
{
	ours || return 0
	modprobe veth || fail "no veth"
	for ns in left right; do
		new_ns $ns
	done
	ip link add name va netns left type veth peer name vb netns right || fail "no veth"
	ip -n left addr add 10.77.0.1/24 dev va
	ip -n right addr add 10.77.0.2/24 dev vb
	ip -n left link set va up
	ip -n right link set vb up
	count_options left
	count_options right
	inside "ip netns exec left" "ip netns exec right" 10.77.0.1
	expect "SYNs with the option" "$(counted seen syn right)" -ge 3
	expect "SYN-ACKs with the option" "$(counted seen synack left)" -ge 3
	ip netns del left
	ip netns del right
}

# In a VRF each packet passes LOCAL_OUT twice.
case_vrf()
{
	ours || return 0
	modprobe vrf || fail "no vrf"
	modprobe veth
	ip link add red type vrf table 100 || fail "no VRF"
	ip link set red up
	new_ns far
	ip link add name va type veth peer name vb netns far || fail "no veth"
	ip link set va master red
	ip addr add 10.78.0.1/24 dev va
	ip link set va up
	ip -n far addr add 10.78.0.2/24 dev vb
	ip -n far link set vb up
	count_options far
	count_options
	inside "ip netns exec far" "ip vrf exec red" 10.78.0.2
	# twice through our filter, once with the option each
	expect "SYNs with the option" "$(counted seen syn)" -ge 6
	expect "SYN-ACKs with the option" "$(counted seen synack far)" -ge 3
	nft flush ruleset
	ip link del va
	ip link del red
	ip netns del far
}

# Connection tracking finds nothing wrong with what we changed.
case_conntrack()
{
	nft -f - <<-RULES || fail "nft"
	table inet track {
		counter bad { }
		counter good { }
		chain in {
			type filter hook input priority 0;
			tcp dport $P_CONNTRACK jump judge
			tcp sport $P_CONNTRACK jump judge
		}
		chain out {
			type filter hook output priority 0;
			tcp dport $P_CONNTRACK jump judge
			tcp sport $P_CONNTRACK jump judge
		}
		chain judge {
			ct state invalid counter name bad drop
			ct state established counter name good
		}
	}
	RULES
	sync_barrier armed
	both $P_CONNTRACK stream:1 smc
	expect "invalid packets" "$(counted track bad)" -eq 0
	expect "packets of an established connection" "$(counted track good)" -gt 2
	nft flush ruleset
}

# The client means another address and port; the server sees another source port.
case_nat()
{
	if [ "$HOST" = 2 ]; then
		ip route add 10.99.0.1/32 via "$(peer_addr)" || fail "no route"
		nft -f - <<-RULES || fail "nft"
		table ip nat {
			counter hits { }
			chain out {
				type nat hook output priority -100;
				ip daddr 10.99.0.1 tcp dport 4599 counter name hits dnat to $(peer_addr):$P_NAT
			}
			chain post {
				type nat hook postrouting priority 100;
				tcp dport $P_NAT masquerade to :30000-30999
			}
		}
		RULES
	fi
	sync_barrier armed
	if [ "$HOST" = 1 ]; then
		serve $P_NAT --family smc
	else
		use 4599 10.99.0.1 stream:1 --family smc
		expect "connections through NAT" \
			"$(nft list counter ip nat hits | sed -n 's/.*packets \([0-9]*\).*/\1/p')" -ge 1
		ip route del 10.99.0.1/32
	fi
	nft flush ruleset
}

# The user's own use of TCP_SAVE_SYN is as on TCP.
case_saved_syn()
{
	ours || return 0
	/t/smc_api --family smc --only saved_syn --strict || fail "smc_api: $?"
}

case_unload()
{
	sync_barrier idle || exit 1
	ours || return 0
	unload_smc || fail "the module does not go"
	# and comes again, with everything it needs
	load_smc || fail "the module does not come again"
	unload_smc || fail "the module does not go again"
}
