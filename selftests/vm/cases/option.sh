# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The SMC option in SYN and SYN-ACK. Host 1 serves, host 2 connects; each case has a
# port of its own, by which option.py finds its packets in the capture. The scripts check
# the mode of the connection at each end (--require) and the counters of connections.
#
#   OPTION   cases to run, "NAME[:TIMEOUT]" (default: all that work with our module on both hosts)
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
	# nft starts before the kernel's on-demand loading is complete
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

# The build decides whether the kernel's TCP or the module adds the option.
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

# Native IPv6 (SMC only between two native peers).
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

# drop NAME CHAIN LIMIT MATCH...: drops the first LIMIT matching packets
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

# A retransmitted SYN has the option, too.
case_lost_syn()
{
	[ "$HOST" = 2 ] || drop lost input 2 tcp dport $P_LOST_SYN tcp flags syn / syn,ack
	sync_barrier armed
	both $P_LOST_SYN stream:1 smc
	[ "$HOST" = 2 ] || expect "SYNs dropped" "$(dropped lost)" -eq 2
	nft flush ruleset
}

# (Only two: on a slow host each may answer a SYN of its own, and the fourth SYN has no option.)
case_lost_synack()
{
	[ "$HOST" = 1 ] || drop lost input 2 tcp sport $P_LOST_SYNACK \
		'tcp flags syn,ack / syn,ack'
	sync_barrier armed
	both $P_LOST_SYNACK stream:1 smc
	[ "$HOST" = 1 ] || expect "SYN-ACKs dropped" "$(dropped lost)" -eq 2
	nft flush ruleset
}

# Each packet is duplicated.
case_repeated()
{
	modprobe sch_netem || fail "no netem"
	tc qdisc add dev eth0 root netem duplicate 100% || fail "no netem"
	sync_barrier armed
	both $P_REPEATED connects:5 smc
	sync_barrier over
	tc qdisc del dev eth0 root
}

# A firewall drops packets with the option. The kernel's TCP keeps sending it until the user
# aborts; the module's own option is omitted after some SYNs.
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

# Every listener accepts data in a SYN, without a cookie.
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

# The option would not fit into a packet on this route.
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

# count_options [NAMESPACE]: counts sent packets with the option
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

# counted TABLE NAME [NAMESPACE]: packets of an nft counter
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

# run_local SERVER_PREFIX CLIENT_PREFIX ADDRESS: connections within this host; without an RNIC, so
# they fall back
run_local()
{
	# shellcheck disable=SC2086 # a command and its arguments
	$1 /t/smc_traffic server --family smc --port 4520 &
	server=$!
	# shellcheck disable=SC2086
	$2 /t/smc_traffic client --connect "$3" --port 4520 --family smc --wait 10 --quit \
		connects:3 || fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
}

# Each namespace has its own hooks; none is left when the namespace ends.
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
	run_local "ip netns exec left" "ip netns exec right" 10.77.0.1
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
	run_local "ip netns exec far" "ip vrf exec red" 10.78.0.2
	# each passes the filter twice, once per hook, with one option
	expect "SYNs with the option" "$(counted seen syn)" -ge 6
	expect "SYN-ACKs with the option" "$(counted seen synack far)" -ge 3
	nft flush ruleset
	ip link del va
	ip link del red
	ip netns del far
}

# Connection tracking accepts the changed packets.
case_conntrack()
{
	nft -f - <<-RULES || fail "nft"
	table inet track {
		counter bad { }
		counter good { }
		chain in {
			type filter hook input priority 0;
			tcp dport $P_CONNTRACK jump inspect
			tcp sport $P_CONNTRACK jump inspect
		}
		chain out {
			type filter hook output priority 0;
			tcp dport $P_CONNTRACK jump inspect
			tcp sport $P_CONNTRACK jump inspect
		}
		chain inspect {
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

# DNAT and masquerading: the client connects to another address and port, and the server sees another
# source port.
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
	tx=$(rxe_counter sent_pkts)
	sync_barrier armed
	if [ "$HOST" = 1 ]; then
		serve $P_NAT --family smc --require smc
	else
		use 4599 10.99.0.1 stream:1 --family smc --require smc
		expect "connections through NAT" \
			"$(nft list counter ip nat hits | sed -n 's/.*packets \([0-9]*\).*/\1/p')" -ge 1
		ip route del 10.99.0.1/32
	fi
	expect "RDMA packets sent" "$(($(rxe_counter sent_pkts) - tx))" -ge 256
	nft flush ruleset
}

# TCP_SAVE_SYN works as on TCP sockets.
case_saved_syn()
{
	ours || return 0
	/t/smc_api --family smc --only saved_syn --strict || fail "smc_api: $?"
}

case_unload()
{
	sync_barrier idle || exit 1
	ours || return 0
	unload_smc || fail "the module cannot be unloaded"
	# and can be loaded again, with all modules it needs
	load_smc || fail "the module cannot be loaded again"
	unload_smc || fail "the module cannot be unloaded again"
}
