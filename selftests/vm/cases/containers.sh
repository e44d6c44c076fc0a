# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Network set-ups of containers, the table of Documentation/containers.rst: host 2 has a network
# namespace "pod" (or of another name, $POD) and connects from it to host 1. RDMA_NETNS is the mode of the RDMA core: shared or
# exclusive. MORE: further cases; the kernels of User Mode Linux have no ipvlan.

CASES="host_net:90 veth:180 bond:180 macvlan:180 vlan:180 same_address:90 $MORE unload:60"
export CASES

POD=pod
NO_RNIC=03030000
BELOW=03038002
NOT_INNER=03038003

setup()
{
	mode=1	# shared
	! exclusive || mode=0
	modprobe ib_core netns_mode=$mode
	for m_ in 8021q bridge macvlan ipvlan veth dummy; do
		modprobe -q "$m_"
	done
	modprobe -q bonding max_bonds=0
	setup_net && setup_rxe && load_smc || return 1
	/usr/sbin/rdma system | grep -q "netns $RDMA_NETNS " || fail "$(/usr/sbin/rdma system)"
}

exclusive()
{
	[ "$RDMA_NETNS" = exclusive ]
}

# --- the pod, on host 2 ---

pod()
{
	ip netns add "$POD" || fail "no namespace"
	ip -n "$POD" link set lo up
}

in_pod()
{
	ip netns exec "$POD" "$@"
}

# give DEVICE ADDRESS: puts it into the pod. Each set-up has an address of its own: host 1 may still have
# groups with an RNIC of the last one, which has gone without a message.
give()
{
	[ ! -e "/proc/sys/net/ipv4/conf/$1" ] || ip link set "$1" netns "$POD" || fail "$1 stays"
	ip -n "$POD" addr add "$2/24" dev "$1"
	ip -n "$POD" link set "$1" up || fail "$1 stays down"
}

# add_pod_rxe NETDEV: a Soft-RoCE device of the pod's own
add_pod_rxe()
{
	in_pod /usr/sbin/rdma link add rxep type rxe netdev "$1" || fail "no rxep"
	! exclusive || /usr/sbin/rdma dev set rxep netns pod || fail "rxep stays"
	wait_for 10 in_pod grep -q ACTIVE /sys/class/infiniband/rxep/ports/1/state || fail "rxep is down"
}

del_pod_rxe()
{
	in_pod /usr/sbin/rdma link delete rxep || fail "rxep stays"
}

del_pod()
{
	del_pod_rxe
	ip netns del pod
}

# --- connections ---

# exec_here COMMAND...: replaces this shell; on host 2 in the pod, or with IN_POD=n in the host's namespace
exec_here()
{
	[ "$HOST" = 1 ] || [ "$IN_POD" = n ] || exec /usr/sbin/ip netns exec "$POD" "$@"
	exec "$@"
}

# connect SERVER MODE ADDRESS: from the other host to one on host SERVER; on host 1 $bytes is what it sent by
# RDMA
connect()
{
	n_=$((${n_:-0} + 1))
	[ "$HOST" = 2 ] || before
	if [ "$HOST" = "$1" ]; then
		(exec_here /t/smc_traffic server --family smc) > /run/server 2>&1 &
		server=$!
		(exec_here ash -c '. /h/lib.sh; await_server') || fail "$(cat /run/server)"
		sync_signal "up.$n_"
		sync_wait "through.$n_" 100 > /dev/null
		rc=$?
		kill_all "$server"
		[ "$rc" = 0 ] || exit 1
	else
		sync_wait "up.$n_" > /dev/null || exit 1
		(exec_here /t/smc_traffic client --connect "$3" --family smc --require "$2" --mode \
			--wait 10 stream:1) > /run/client 2>&1
		rc=$?
		cat /run/client
		[ "$rc" = 0 ] || fail "client to $3 in mode $2: $rc: $(tail -n 1 /run/client)"
		sync_signal "through.$n_"
	fi
	[ "$HOST" = 2 ] || bytes=$(grown tx_write_bytes)
}

# expect_smc ADDRESS POD_ADDRESS: from the pod to host 1, and back
expect_smc()
{
	for server_on in "1 $1" "2 $2"; do
		connect "${server_on% *}" smc "${server_on#* }"
		[ "$HOST" = 2 ] || expect "bytes by RDMA" "$bytes" -ge 1048576
	done
}

# expect_tcp ADDRESS REASON: from the pod, which has the reason
expect_tcp()
{
	connect 1 tcp "$1"
	if [ "$HOST" = 1 ]; then
		expect "bytes by RDMA" "$bytes" -eq 0
	else
		grep -q "reasons $2" /run/client || fail "not $2: $(grep reasons /run/client)"
	fi
}

# host2 COMMAND...: host 1 goes on to the next connection
host2()
{
	[ "$HOST" = 1 ] || "$@"
}

# --- the set-ups ---

case_host_net()
{
	IN_POD=n
	expect_smc 10.0.0.1 10.0.0.2
}

# bridged: a veth pair whose one end is in the pod, and the other one in a bridge with eth0
bridged()
{
	pod
	ip link add br0 type bridge
	ip link set eth0 master br0
	ip link set br0 up
	ip link add host0 type veth peer name pod0 netns pod || fail "no veth pair"
	ip link set host0 master br0
	ip link set host0 up
}

del_bridged()
{
	del_pod
	ip link del br0
}

veth()
{
	bridged
	give pod0 10.0.0.12
}

# ... and then with an RDMA device for the end in the pod, as a virtual function of SR-IOV has one
case_veth()
{
	host2 veth
	expect_tcp 10.0.0.1 "$NO_RNIC"
	host2 add_pod_rxe pod0
	expect_smc 10.0.0.1 10.0.0.12
	host2 del_bridged
}

bond()
{
	bridged
	ip -n pod link add bond0 type bond mode active-backup miimon 100 || fail "no bond"
	ip -n pod link set pod0 master bond0
	ip -n pod link set pod0 up
	give bond0 10.0.0.22
	add_pod_rxe pod0
}

# The RDMA device of a port below the bond, then one of the bond itself
case_bond()
{
	host2 bond
	expect_tcp 10.0.0.1 "$BELOW"
	host2 del_pod_rxe
	host2 add_pod_rxe bond0
	expect_smc 10.0.0.1 10.0.0.22
	host2 del_bridged
}

upper()
{
	pod
	ip link add link eth0 name up0 type "$@" || fail "no device of type $1"
	give up0 "$addr"
}

# over_eth0 ADDRESS TYPE OPTION...: a device over eth0 in the pod, then with an RDMA device of its own
over_eth0()
{
	addr=$1
	shift
	host2 upper "$@"
	if exclusive; then
		expect_tcp 10.0.0.1 "$NO_RNIC"
	else
		expect_tcp 10.0.0.1 "$BELOW"
	fi
	host2 add_pod_rxe up0
	expect_smc 10.0.0.1 "$addr"
	host2 del_pod
}

case_macvlan()
{
	over_eth0 10.0.0.32 macvlan mode bridge
}

case_ipvlan()
{
	over_eth0 10.0.0.42 ipvlan mode l2
}

vlan()
{
	pod
	ip link add link eth0 name eth0.5 type vlan id 5 || fail "no VLAN device"
	give eth0.5 10.5.0.2
	# of another pod, over the same RNIC
	ip netns add second || fail "no namespace"
	ip link add link eth0 name eth0.6 type vlan id 6 || fail "no VLAN device"
	ip link set eth0.6 netns second
	ip -n second addr add 10.6.0.2/24 dev eth0.6
	ip -n second link set eth0.6 up
	# Soft-RoCE listens in the namespaces of the netdevs of its devices alone
	in_pod ip link add dummy0 type dummy
	in_pod ip link set dummy0 up
	add_pod_rxe dummy0
}

# sees_rxe0 COMMAND...: in the namespace in which the command runs programs
sees_rxe0()
{
	"$@" /t/smcctl -j device > /run/device || fail "smcctl: $(cat /run/device)"
	grep -q '"device": *"rxe0"' /run/device
}

# The device goes to the pod, and is gone for the host and for another pod.
give_rxe0()
{
	sees_rxe0 env || fail "no rxe0 to give"
	! sees_rxe0 in_pod || fail "the pod has rxe0"
	/usr/sbin/rdma dev set rxe0 netns pod || fail "rxe0 stays"
	! sees_rxe0 env || fail "the host sees rxe0"
	sees_rxe0 in_pod || fail "the pod does not see rxe0"
	! sees_rxe0 ip netns exec second || fail "another pod sees rxe0"
}

case_vlan()
{
	if [ "$HOST" = 1 ]; then
		for id in 5 6; do
			ip link add link eth0 name "eth0.$id" type vlan id "$id" || fail "no VLAN device"
			ip addr add "10.$id.0.1/24" dev "eth0.$id"
			ip link set "eth0.$id" up
		done
	else
		vlan
	fi
	if exclusive; then
		expect_tcp 10.5.0.1 "$NO_RNIC"
		host2 give_rxe0
	fi
	expect_smc 10.5.0.1 10.5.0.2
	if exclusive; then
		POD=second
		expect_tcp 10.6.0.1 "$NO_RNIC"
		POD=pod
		# ... and the host, which had SMC in host_net
		IN_POD=n
		expect_tcp 10.0.0.1 "$NO_RNIC"
		IN_POD=
	fi
	host2 ip netns del second
	host2 del_pod
	[ "$HOST" = 2 ] || { ip link del eth0.5; ip link del eth0.6; }
}

# twins: the pod, and a namespace with the address of host 1 that the pod's packets do not get to. Each has a device
# of smc_lo, and consents.
twins()
{
	bridged
	give pod0 10.0.0.52
	ip netns add twin || fail "no namespace"
	ip link add host1 type veth peer name twin0 netns twin || fail "no veth pair"
	ip link set host1 up
	ip -n twin addr add 10.0.0.1/24 dev twin0
	ip -n twin link set twin0 up
	insmod /ours/smc_lo.ko || fail "no smc_lo"
	for n_ in pod twin; do
		ip netns exec $n_ /usr/sbin/rdma link add "lo-$n_" type smc_lo netdev "${n_}0" || fail "no lo-$n_"
		! exclusive || /usr/sbin/rdma dev set "lo-$n_" netns "$n_" || fail "lo-$n_ stays"
		ip netns exec $n_ sysctl -q -w net.smc.lo_peers=1
		wait_for 10 ip netns exec $n_ grep -q ACTIVE "/sys/class/infiniband/lo-$n_/ports/1/state" ||
			fail "lo-$n_ is down"
	done
}

del_twins()
{
	ip netns del pod
	ip netns del twin
	ip link del br0
	rmmod smc_lo || fail "smc_lo stays"
}

# A peer elsewhere that has the address of a namespace of this host is not taken for that: a server sees by
# the Proposal whether the client takes it for one, and that they are not on one host.
case_same_address()
{
	host2 twins
	expect_tcp 10.0.0.1 "[0-9a-f]*/$NOT_INNER"
	connect 2 tcp 10.0.0.52
	if [ "$HOST" = 1 ]; then
		expect "bytes by RDMA" "$bytes" -eq 0
		grep -q "reasons .*$NOT_INNER" /run/client || fail "not $NOT_INNER: $(grep reasons /run/client)"
	fi
	# an RNIC of the pod's serves the peer that is elsewhere
	host2 add_pod_rxe pod0
	connect 2 smc 10.0.0.52
	[ "$HOST" = 2 ] || expect "bytes by RDMA" "$bytes" -ge 1048576
	host2 del_pod_rxe
	host2 del_twins
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
}
