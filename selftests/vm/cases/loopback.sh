# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Connections within a host over smc_lo, without any RNIC. Every byte is proved by two counters:
# what smc.ko has written by RDMA, and what the device has copied. For --topology lo, one host.

: "${TRAFFIC:=stream:16 random:4 pingpong:100 urgent:20 connects:100 burst:50 parallel:32 halfclose:256 reset:8192}"

CASES="traffic:240 refused other_address namespaces:60 down rule memory:60 peers:240 peers_rule one_side:120
	own_address:60 other_owner:60 beside_rnic:120 upgraded:180 flips:60 withdrawn:120 consents removed:60 in_use:60 exclusive:90"
export CASES

CGROUPS=/sys/fs/cgroup
RULE=0x03008001
NOT_INNER=0x03038003
NO_MEMORY=0x01010000

setup()
{
	setup_net && modprobe ib_uverbs || return 1
	ip link add other0 type dummy && ip addr add 10.9.0.1/24 dev other0 &&
		ip link set other0 up || return 1
	setup_smc_lo && load_smc
}

# lo_counter NAME [DEVICE]
lo_counter()
{
	cat "/sys/class/infiniband/${2:-lo0}/ports/1/hw_counters/$1"
}

# run_in NAMESPACE|- COMMAND...: -: in this one
run_in()
{
	ns_=$1
	shift
	if [ "$ns_" = - ]; then "$@"; else ip netns exec "$ns_" "$@"; fi
}

# talk_over smc|tcp SERVER-NAMESPACE CLIENT-NAMESPACE ADDRESS SUBTEST...: between two programs
talk_over()
{
	mode_=$1 from_=$3 to_=$4
	run_in "$2" /t/smc_traffic server --family "${FAMILY:-smc}" --require "$mode_" &
	server=$!
	shift 4
	run_in "$from_" /t/smc_traffic client --connect "$to_" --family "${FAMILY:-smc}" --require "$mode_" \
		--wait 10 --quit "$@" || fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
}

# talk ADDRESS SUBTEST...: in this namespace, all over SMC
talk()
{
	talk_over smc - - "$@"
}

case_traffic()
{
	bytes=$(lo_counter bytes)
	written=$(stat_of tx_write_bytes)
	# shellcheck disable=SC2086 # a list of subtests
	talk "$(own_addr)" $TRAFFIC
	written=$(($(stat_of tx_write_bytes) - written))
	expect "bytes written by RDMA" "$written" -gt 16777216
	# ... and the messages
	expect "bytes that the device has copied" "$(($(lo_counter bytes) - bytes))" -ge "$written"
	for s in clnt_fback srv_fback clnt_hs_err srv_hs_err clc_bad link_fail; do
		expect "$s" "$(stat_of "$s")" -eq 0
	done
	expect "connections as server" "$(stat_of srv_smc)" -eq "$(stat_of clnt_smc)"
	# smcctl knows the device from an RNIC and from Soft-RoCE
	/t/smcctl -j check "$(own_addr)" > /run/check || fail "smcctl check: $(cat /run/check)"
	expect "faster" "$(grep -c '"faster": *true' /run/check)" -eq 1
	expect "why" "$(grep -c '"detail": *".* lo0 is smc_lo"' /run/check)" -eq 1
}

# Only a netdev of its own that has addresses of Ethernet, or lo, and only once.
case_refused()
{
	modprobe -q 8021q
	ip link add link other0 name other0.5 type vlan id 5 || fail "no VLAN device"
	/usr/sbin/rdma link add lo9 type smc_lo netdev other0.5 2> /dev/null && fail "made on other0.5"
	expect "reason" "$(dmesg | grep -c 'smc_lo: other0.5 is neither a loopback nor an Ethernet device, or is a VLAN device')" -eq 1
	ip link del other0.5
	/usr/sbin/rdma link add lo9 type smc_lo netdev lo 2> /dev/null && fail "made twice"
	expect "reason" "$(dmesg | grep -c 'smc_lo: lo has a device already')" -eq 1
	expect "devices" "$(find /sys/class/infiniband -mindepth 1 -maxdepth 1 | wc -l)" -eq 1
}

# The address of another netdev, which is no GID: the route to it is lo, too. And the host's name
# for itself.
case_other_address()
{
	bytes=$(lo_counter bytes)
	talk 10.9.0.1 stream:1 pingpong:5
	talk 127.0.0.1 stream:1
	expect "bytes that the device has copied" "$(($(lo_counter bytes) - bytes))" -ge 2097152
}

# Another namespace has a device of its own, and none of them leads to another namespace: 1 MiB each
# way goes over neither. (Idle groups send messages of their own.)
case_namespaces()
{
	ip netns add two && ip link add veth0 type veth peer name veth1 netns two || exit 1
	ip addr add 10.8.0.1/24 dev veth0
	ip link set veth0 up
	ip -n two addr add 10.8.0.2/24 dev veth1
	ip -n two link set veth1 up
	ip -n two link set lo up
	ip netns exec two /usr/sbin/rdma link add lo2 type smc_lo netdev lo || exit 1
	wait_for 10 port_active lo2 || fail "lo2 is not active"
	zero=$(lo_counter bytes)
	talk_over smc two two 10.8.0.2 stream:1
	expect "bytes of lo2" "$(lo_counter bytes lo2)" -ge 1048576
	expect "bytes of lo0" "$(($(lo_counter bytes) - zero))" -lt 65536
	two=$(lo_counter bytes lo2)
	talk_over tcp - two 10.8.0.1 stream:1
	expect "bytes of lo0 and lo2" \
		"$(($(lo_counter bytes) - zero + $(lo_counter bytes lo2) - two))" -lt 65536
	ip netns del two
	wait_for 20 test ! -e /sys/class/infiniband/lo2 || fail "lo2 survives its namespace"
}

case_down()
{
	ip link set lo down
	grep -q DOWN /sys/class/infiniband/lo0/ports/1/state || fail "the port is not down"
	ip link set lo up
	wait_for 10 port_active lo0 || fail "the port does not come up again"
	talk 10.9.0.1 stream:1
}

# is_reason CODE: a connection was TCP for this reason
is_reason()
{
	/t/smcctl -j stats | grep -q "$1"
}

# only_tcp: the device has copied less than the connection had bytes since $bytes (idle groups send messages)
only_tcp()
{
	expect "bytes that the device has copied" "$(($(lo_counter bytes) - bytes))" -lt 65536
}

# The administrator's rules are about these connections, too.
case_rule()
{
	! is_reason $RULE || fail "$RULE was there before"
	/t/smcctl policy add deny local-port 4430 || fail "no rule"
	bytes=$(lo_counter bytes)
	talk_over tcp - - 10.9.0.1 stream:1
	only_tcp
	is_reason $RULE || fail "not $RULE: $(/t/smcctl stats)"
	/t/smcctl policy flush
	talk 10.9.0.1 stream:1
}

# A server whose cgroup has no room for an RMB: TCP, and nobody is killed.
case_memory()
{
	! is_reason $NO_MEMORY || fail "$NO_MEMORY was there before"
	{ mkdir "$CGROUPS/small" && echo +memory > "$CGROUPS/cgroup.subtree_control"; } || fail "no memory cgroup"
	# of a size that no idle RMB has
	sysctl -q -w net.smc.rmem=524288
	# shellcheck disable=SC2016 # for that shell
	sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$CGROUPS/small" \
		/t/smc_traffic server --family smc &
	server=$!
	await_server
	# from now on the server needs no more memory of its own
	/t/smc_traffic client --connect 10.9.0.1 --family inet parallel:4 || fail "client ended with $?"
	# less than an RMB with an element of that size, beside what is used; memory.current also counts
	# what the processors have charged ahead
	limit=$(($(awk '/^(anon|file|kernel|sock) / { n += $2 } END { print n }' "$CGROUPS/small/memory.stat") + 458752))
	echo "$limit" > "$CGROUPS/small/memory.max"
	bytes=$(lo_counter bytes)
	/t/smc_traffic client --connect 10.9.0.1 --family smc --require tcp connects:2 ||
		fail "client ended with $?"
	only_tcp
	is_reason $NO_MEMORY || fail "not $NO_MEMORY: $(/t/smcctl stats)"
	expect "killed" "$(sed -n 's/^oom_kill //p' "$CGROUPS/small/memory.events")" -eq 0
	# Two connections ask for eight, four, two and one element, or for fewer. The kernel counts each
	# refusal twice: before and after it looked for memory. Page by page it is more than 100 times.
	expect "refusals by the cgroup" "$(sed -n 's/^max //p' "$CGROUPS/small/memory.events")" -le 16
	echo max > "$CGROUPS/small/memory.max"
	/t/smc_traffic client --connect 10.9.0.1 --family smc --require smc --quit stream:1 ||
		fail "client ended with $?"
	wait "$server" || fail "server ended with $?"
	expect "bytes that the device has copied" "$(($(lo_counter bytes) - bytes))" -ge 2097152
	sysctl -q -w net.smc.rmem=65536
	rmdir "$CGROUPS/small"
}

# streams: the device $of (default: lo0) has copied a MiB since $bytes
streams()
{
	[ "$(lo_counter bytes "${of:-lo0}")" -gt "$((bytes + 1048576))" ]
}

# exec_in NAMESPACE|- COMMAND...: replaces this shell
exec_in()
{
	ns_=$1
	shift
	[ "$ns_" != - ] || exec "$@"
	exec /usr/sbin/ip netns exec "$ns_" "$@"
}

# start_stream [SERVER-NAMESPACE CLIENT-NAMESPACE ADDRESS]: a connection that does not end by itself; pids in
# $server and $client
start_stream()
{
	bytes=$(lo_counter bytes "${of:-lo0}")
	(exec_in "${1:--}" /t/smc_traffic server --family smc --require smc) > /run/server &
	server=$!
	(exec_in "${2:--}" /t/smc_traffic client --connect "${3:-10.9.0.1}" --family smc --require smc --wait 10 \
		--quit stream:1000000) > /run/client &
	client=$!
	wait_for 10 streams || fail "no stream"
}

# --- between namespaces: "left", "right" and "third" are on one bridge, each with a device of its eth0 ---

PODS="left:2 right:3 third:4"

# pods: none of them consents
pods()
{
	for m_ in bridge veth; do
		modprobe -q "$m_"
	done
	ip link add br7 type bridge || fail "no bridge"
	ip link set br7 up
	for p_ in $PODS; do
		n_=${p_%:*} i_=${p_#*:}
		ip netns add "$n_" || fail "no $n_"
		ip link add "v$i_" type veth peer name eth0 netns "$n_" || fail "no veth pair"
		ip link set "v$i_" master br7
		ip link set "v$i_" up
		ip -n "$n_" link set lo up
		ip netns exec "$n_" sysctl -q -w net.ipv6.conf.eth0.accept_dad=0
		ip -n "$n_" addr add "10.7.0.$i_/24" dev eth0
		ip -n "$n_" addr add "fd00:7::$i_/64" dev eth0 nodad
		ip -n "$n_" link set eth0 up
		make_lo "$n_"
	done
}

# make_lo NAMESPACE: a device of its eth0, with counters that are never old
make_lo()
{
	ip netns exec "$1" /usr/sbin/rdma link add "lo-$1" type smc_lo netdev eth0 || fail "no lo-$1"
	echo 0 > "/sys/class/infiniband/lo-$1/ports/1/hw_counters/lifespan" || fail "no lifespan"
}

del_pods()
{
	for p_ in $PODS; do
		ip netns del "${p_%:*}"
	done
	ip link del br7
	for p_ in $PODS; do
		wait_for 20 test ! -e "/sys/class/infiniband/lo-${p_%:*}" || fail "lo-${p_%:*} stays"
	done
}

port_down()
{
	grep -qs DOWN "/sys/class/infiniband/$1/ports/1/state"
}

# consent NAMESPACE 0|1: its administrator's; the port of its device says so
consent()
{
	ip netns exec "$1" sysctl -q -w "net.smc.lo_peers=$2" || fail "lo_peers of $1"
	if [ "$2" = 1 ]; then
		wait_for 10 port_active "lo-$1" || fail "lo-$1 is not active"
	else
		port_down "lo-$1" || fail "lo-$1 is not down"
	fi
}

copied()
{
	echo "$(($(lo_counter bytes lo-left) + $(lo_counter bytes lo-right) + $(lo_counter bytes lo-third)))"
}

# by_wire NAMESPACE: bytes that its eth0 has sent and received
by_wire()
{
	# shellcheck disable=SC2016 # fields of awk
	ip netns exec "$1" awk '$1 == "eth0:" { print $2 + $10 }' /proc/net/dev
}

# stat_in NAMESPACE NAME: a counter of the module
stat_in()
{
	# shellcheck disable=SC2016
	ip netns exec "$1" awk -v name="$2" '$1 == name { print $2 }' /proc/net/smc_stat
}

# between smc|tcp|rnic SERVER CLIENT ADDRESS SUBTEST...: 1 MiB or more is copied, and goes not over the wire; or
# the other way round
between()
{
	how_=$1 with_=$2
	shift
	c0_=$(copied) w0_=$(by_wire "$with_")
	talk_over "$([ "$how_" = tcp ] && echo tcp || echo smc)" "$@"
	c_=$(($(copied) - c0_)) w_=$(($(by_wire "$with_") - w0_))
	if [ "$how_" = smc ]; then
		expect "bytes that were copied" "$c_" -ge 1048576
		expect "bytes over eth0" "$w_" -lt 262144
	else
		expect "bytes that were copied" "$c_" -lt 65536
		expect "bytes over eth0" "$w_" -ge 1048576
	fi
}

# expect_reason NAMESPACE CODE: some connection of it became TCP for this reason
expect_reason()
{
	ip netns exec "$1" /t/smcctl -j stats > /run/stats
	grep -q "$2" /run/stats || fail "no $2 in $1: $(grep '"reason"' /run/stats)"
}

# Both consent: everything goes over the two devices, in both directions, and with either family.
case_peers()
{
	pods
	for p_ in left right third; do
		expect "lo_peers of $p_" "$(ip netns exec $p_ sysctl -n net.smc.lo_peers)" -eq 0
		port_down "lo-$p_" || fail "lo-$p_ is active"
	done
	consent left 1
	consent right 1
	expect "bytes by RDMA before" "$(stat_in left tx_write_bytes)" -eq 0
	# shellcheck disable=SC2086 # a list of subtests
	between smc right left 10.7.0.3 stream:16 random:4 pingpong:100 connects:20 parallel:16 halfclose:256 reset:8192
	between smc left right 10.7.0.2 stream:2
	FAMILY=smc6
	between smc right left fd00:7::3 stream:2
	FAMILY=
	expect "groups of left" "$(ip netns exec left /t/smcctl -j linkgroup | grep -c '"role"')" -ge 2
	expect "its devices" "$(ip netns exec left /t/smcctl -j link | sed -n 's/^ *"device": *"\(.*\)",*$/\1/p' | sort -u)" = \
		lo-left
	for s in clnt_fback srv_fback clnt_hs_err srv_hs_err clc_bad link_fail; do
		for p_ in left right; do
			expect "$s of $p_" "$(stat_in $p_ $s)" -eq 0
		done
	done
	# within a namespace it is what it was
	talk_over tcp left left 10.7.0.2 stream:1
	expect_reason left 0x03030000
}

# The administrator's rules are about these connections, too.
case_peers_rule()
{
	ip netns exec right /t/smcctl policy add deny local-port 4430 || fail "no rule"
	between tcp right left 10.7.0.3 stream:1
	expect_reason right $RULE
	ip netns exec right /t/smcctl policy flush
	between smc right left 10.7.0.3 stream:1
}

# "third" does not consent, and "right" withdraws: TCP, whoever connects, with the reason of the side that has
# no path.
case_one_side()
{
	between tcp third left 10.7.0.4 stream:1
	expect_reason left $NOT_INNER
	between tcp left third 10.7.0.2 stream:1
	expect_reason third $NOT_INNER
	consent right 0
	between tcp right left 10.7.0.3 stream:1
	between tcp left right 10.7.0.2 stream:1
	expect_reason right $NOT_INNER
	consent left 0
	between tcp right left 10.7.0.3 stream:1
	consent left 1
	consent right 1
	between smc right left 10.7.0.3 stream:1
}

has_gid() { grep -qs "$2" "/sys/class/infiniband/$1/ports/1/gids/"*; }

# An address of lo, which is no GID of eth0: TCP. A second one of eth0 is. One of IPv4 that several links may have is
# not looked up.
case_own_address()
{
	ip -n right addr add 10.8.8.3/32 dev lo
	ip -n left route add 10.8.8.3 via 10.7.0.3
	between tcp right left 10.8.8.3 stream:1
	ip -n right addr add 10.7.0.33/24 dev eth0
	wait_for 10 has_gid lo-right ffff:0a07:0021 || fail "no GID"
	between smc right left 10.7.0.33 stream:1
	for p_ in left:2 right:3; do
		ip -n "${p_%:*}" addr add "169.254.7.${p_#*:}/16" dev eth0
		wait_for 10 has_gid "lo-${p_%:*}" "ffff:a9fe:070${p_#*:}" || fail "no GID"
	done
	between tcp right left 169.254.7.3 stream:1
}

# A consent changes more often than it can be reported: in the end it is what it was last.
case_flips()
{
	# shellcheck disable=SC2016 # the shell in the namespace
	ip netns exec right ash -c 'i=0; while [ $i -lt 500 ]; do
		echo 0 > /proc/sys/net/smc/lo_peers; echo 1 > /proc/sys/net/smc/lo_peers; i=$((i + 1)); done'
	wait_for 10 port_active lo-right || fail "lo-right is not active"
	between smc right left 10.7.0.3 stream:1
	consent right 0
	between tcp right left 10.7.0.3 stream:1
	consent right 1
}

# declined_by NAMESPACE: how often a server of it has declined a Proposal because of the path
declined_by()
{
	ip netns exec "$1" /t/smcctl stats > /run/stats
	# shellcheck disable=SC2016
	awk -v reason=$NOT_INNER '$1 == "server" && $3 == reason { n = $2 } END { print n + 0 }' /run/stats
}

# The address of "third", which consents, is that of a server in "right", too, which does not have it as GID. The
# client takes it for third's; the server declines the Proposal, and does not take an RNIC instead.
other_owner()
{
	consent third 1
	ip -n third addr add 10.8.9.9/32 dev eth0
	wait_for 10 has_gid lo-third ffff:0a08:0909 || fail "no GID"
	ip -n right addr add 10.8.9.9/32 dev lo
	ip -n left route add 10.8.9.9 via 10.7.0.3
	declined=$(declined_by right)
	between tcp right left 10.8.9.9 stream:1
	expect "Proposals that were declined" "$(($(declined_by right) - declined))" -ge 1
	ip -n left route del 10.8.9.9
	ip -n right addr del 10.8.9.9/32 dev lo
	ip -n third addr del 10.8.9.9/32 dev eth0
	consent third 0
}

case_other_owner()
{
	other_owner
}

# With an RNIC on the same netdevs: peers that consent do not use it, others do. Whichever came first, both learn
# of the netdev's state.
case_beside_rnic()
{
	modprobe -q crc32_generic
	modprobe rdma_rxe || skip "no rdma_rxe"
	for p_ in left right; do
		ip netns exec "$p_" /usr/sbin/rdma link add "rxe-$p_" type rxe netdev eth0 || fail "no rxe-$p_"
		wait_for 10 port_active "rxe-$p_" || fail "rxe-$p_ is not active"
	done
	between smc right left 10.7.0.3 stream:1
	other_owner
	consent right 0
	between rnic right left 10.7.0.3 stream:1
	consent right 1
	between smc left right 10.7.0.2 stream:1
	/usr/sbin/rdma link delete lo-right || fail "lo-right stays"
	make_lo right
	for n_ in lo-right rxe-right; do
		wait_for 10 port_active $n_ || fail "$n_ is not active"
	done
	ip -n right link set eth0 down
	for n_ in lo-right rxe-right; do
		wait_for 10 port_down $n_ || fail "$n_ stays active"
	done
	ip -n right link set eth0 up
	for n_ in lo-right rxe-right; do
		wait_for 10 port_active $n_ || fail "$n_ is not active again"
	done
	between smc left right 10.7.0.2 stream:1
	for p_ in left right; do
		/usr/sbin/rdma link delete "rxe-$p_"
	done
	rmmod rdma_rxe
}

# upgrades SERVER CLIENT ADDRESS: a connection that begins as TCP changes over
upgrades()
{
	u1_=$(stat_in "$1" upgraded) u2_=$(stat_in "$2" upgraded)
	(exec_in "$1" /t/smc_traffic server --family smc) > /run/server &
	server=$!
	# with the first one a group begins, if there is none
	run_in "$2" /t/smc_traffic client --connect "$3" --family smc --wait 10 stream:1 || fail "client ended with $?"
	(exec_in "$2" /t/smc_traffic client --connect "$3" --family smc stream:1000000) > /run/client &
	client=$!
	wait_for 20 have_changed_over "$1" "$2" || fail "$(stat_in "$1" upgraded) and $(stat_in "$2" upgraded) upgrades"
	kill_all "$client $server"
}

have_changed_over()
{
	[ "$(stat_in "$1" upgraded)" -gt "$u1_" ] && [ "$(stat_in "$2" upgraded)" -gt "$u2_" ]
}

# Connections change over to smc_lo. Those over an RNIC still do so when a third namespace takes the address of the
# other end, which one of them then finds on this host.
case_upgraded()
{
	# before anything is changed
	modprobe -q crc32_generic
	modprobe rdma_rxe || skip "no rdma_rxe"
	for p_ in left right; do
		ip netns exec $p_ sysctl -q -w net.smc.upgrade_bytes=20000
	done
	# groups announce it when they begin
	consent right 0
	consent right 1
	c0_=$(copied)
	upgrades right left 10.7.0.3
	expect "bytes that were copied" "$(($(copied) - c0_))" -ge 1048576
	consent right 0
	for p_ in left right; do
		ip netns exec $p_ /usr/sbin/rdma link add rxe-$p_ type rxe netdev eth0 || fail "no rxe-$p_"
		wait_for 10 port_active rxe-$p_ || fail "rxe-$p_ is not active"
	done
	c0_=$(copied)
	upgrades right left 10.7.0.3
	upgrades left right 10.7.0.2
	modprobe -q dummy
	ip netns exec third sysctl -q -w net.ipv4.conf.all.arp_ignore=1 net.smc.lo_peers=1
	ip -n third link add in0 type dummy || fail "no in0"
	ip -n third addr add 10.7.0.3/32 dev in0
	ip -n third link set in0 up
	ip netns exec third /usr/sbin/rdma link add lo-in0 type smc_lo netdev in0 || fail "no lo-in0"
	wait_for 10 port_active lo-in0 || fail "lo-in0 is not active"
	wait_for 10 has_gid lo-in0 ffff:0a07:0003 || fail "no GID"
	upgrades right left 10.7.0.3
	upgrades left right 10.7.0.2
	expect "bytes that were copied" "$(($(copied) - c0_))" -lt 65536
	ip -n third link del in0
	for p_ in left right; do
		/usr/sbin/rdma link delete rxe-$p_
		ip netns exec $p_ sysctl -q -w net.smc.upgrade_bytes=0
	done
	rmmod rdma_rxe
	consent third 0
	consent right 1
}

ended_in() { [ "$(stat_in "$1" conn_abort)" -gt "$2" ]; }

# The kernel reports it within a second, and the port is down a moment before its connections are: the write waits
# for that, and changes nothing.
unplug()
{
	ip link set v3 down
	wait_for 10 port_down lo-right && ip netns exec right sysctl -q -w net.smc.lo_peers=1
}

# ends_with COMMAND...: a stream between left and right ends when this is done, and nothing more is copied
ends_with()
{
	left=$(stat_in left conn_abort) right=$(stat_in right conn_abort)
	of=lo-left
	start_stream right left 10.7.0.3
	"$@" || fail "$*"
	now=$(copied)
	sleep 1
	expect "bytes that are copied after $*" "$(($(copied) - now))" -eq 0
	wait_for 10 ended_in left "$left" || fail "the client's connection survives $*"
	wait_for 10 ended_in right "$right" || fail "the server's connection survives $*"
	kill_all "$server $client"
}

# No byte is copied any more when the administrator of either side has withdrawn the consent, or when the
# netdev of one is down: nothing but TCP is left.
case_withdrawn()
{
	ends_with consent right 0
	between tcp right left 10.7.0.3 stream:1
	consent right 1
	ends_with consent left 0
	consent left 1
	ends_with ip -n right link set eth0 down
	ip -n right link set eth0 up
	wait_for 10 port_active lo-right || fail "lo-right is not active again"
	# the other end of the veth pair, which is the host's
	ends_with unplug
	ip link set v3 up
	wait_for 10 port_active lo-right || fail "lo-right is not active again"
	between smc right left 10.7.0.3 stream:1
}

# What a new namespace has, whatever the first one has set for others.
case_consents()
{
	sysctl -q -w net.smc.netns_inherit=1 net.smc.lo_peers=1
	ip netns add later || fail "no namespace"
	expect "lo_peers of a new namespace" "$(ip netns exec later sysctl -n net.smc.lo_peers)" -eq 0
	! ip netns exec later sysctl -q -w net.smc.lo_peers=2 2> /dev/null || fail "2 is accepted"
	sysctl -q -w net.smc.netns_inherit=0 net.smc.lo_peers=0
	ip netns del later
	del_pods
}

# Connections over a device that is removed end with an error; later ones are TCP.
case_removed()
{
	start_stream
	/usr/sbin/rdma link del lo0 || fail "lo0 is not removed"
	wait "$client" && fail "the client's connection survives"
	kill "$server"
	wait "$server"
	expect "connections that ended abnormally" "$(stat_of conn_abort)" -gt 0
	talk_over tcp - - 10.9.0.1 stream:1
}

# smc_lo goes while a connection uses it, and nothing of it is left.
case_in_use()
{
	/usr/sbin/rdma link add lo0 type smc_lo netdev lo && wait_for 10 port_active lo0 || exit 1
	start_stream
	rmmod smc_lo || fail "smc_lo is not removed"
	wait "$client" && fail "the client's connection survives"
	kill "$server"
	wait "$server"
	expect "devices" "$(find /sys/class/infiniband -mindepth 1 -maxdepth 1 | wc -l)" -eq 0
	unload_smc || fail "the module cannot be unloaded"
}

# give_lo NAMESPACE: a device of its eth0, in the mode in which namespaces share none
give_lo()
{
	ip netns exec "$1" /usr/sbin/rdma link add "lo-$1" type smc_lo netdev eth0 || fail "no lo-$1"
	/usr/sbin/rdma dev set "lo-$1" netns "$1" || fail "lo-$1 stays"
	ip netns exec "$1" sysctl -q -w net.smc.lo_peers=1
	wait_for 10 ip netns exec "$1" grep -q ACTIVE "/sys/class/infiniband/lo-$1/ports/1/state" ||
		fail "lo-$1 is not active"
}

# lo_is NAMESPACE STATE
lo_is()
{
	ip netns exec "$1" grep -q "$2" "/sys/class/infiniband/lo-$1/ports/1/state"
}

# lo-own comes and goes, and does not miss a consent that is given or withdrawn while it is not there
consents_while_moving()
{
	for i_ in $(seq 10); do
		(ip netns exec own /usr/sbin/rdma dev set lo-own netns peer &&
			ip netns exec peer /usr/sbin/rdma dev set lo-own netns own) &
		mover=$!
		ip netns exec own sysctl -q -w "net.smc.lo_peers=$((i_ % 2))"
		wait "$mover" || fail "lo-own cannot be moved"
		if [ $((i_ % 2)) = 1 ]; then
			wait_for 10 lo_is own ACTIVE || fail "lo-own has missed a consent"
		else
			lo_is own DOWN || fail "lo-own is active without consent"
		fi
	done
	ip netns exec own sysctl -q -w net.smc.lo_peers=1
}

# Namespaces that share no devices: one that has got a device uses it, and so do two that consent.
case_exclusive()
{
	# namespaces of earlier cases end in the background, and exclude the change
	wait_for 20 /usr/sbin/rdma system set netns exclusive || fail "the mode stays"
	ip netns add own && ip -n own link set lo up &&
		setup_smc_lo own && /usr/sbin/rdma dev set lo0 netns own && load_smc || exit 1
	talk_over smc own own 127.0.0.1 stream:1
	ip netns add peer || fail "no namespace"
	ip -n own link add eth0 type veth peer name eth0 netns peer || fail "no veth pair"
	for p_ in own:1 peer:2; do
		ip -n "${p_%:*}" addr add "10.6.0.${p_#*:}/24" dev eth0
		ip -n "${p_%:*}" link set eth0 up
	done
	give_lo own
	give_lo peer
	talk_over smc own peer 10.6.0.1 stream:1
	consents_while_moving
	wait_for 10 lo_is own ACTIVE || fail "lo-own is not active"
	talk_over smc own peer 10.6.0.1 stream:1
	ip netns exec own sysctl -q -w net.smc.lo_peers=0
	talk_over tcp own peer 10.6.0.1 stream:1
	ip netns del peer
	ip netns del own
	unload_smc || fail "the module cannot be unloaded"
	rmmod smc_lo || fail "smc_lo is not removed"
}
