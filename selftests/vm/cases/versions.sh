# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Versions and address families of the handshake: version 2 is preferred to version 1, both
# over IPv4 and IPv6, and with an in-tree peer on host 2. RDMA is checked by the mode of
# every connection (sock_diag on both sides, --require), the RNIC's counters and our
# own; the version by our counters and the groups. And the host names in version 2.
#
#   INTREE    set: host 2 has the in-tree family

if [ -n "$INTREE" ]; then
	CASES="intree_server:60 intree_client:60 intree_again:60"
else
	CASES="host_name:90 prefer:90 dual:120 vlan:90 only_v1:120 no_common_eid:60 prefix:60 prefix_own:60 prefix6:60 unload:60"
fi
export CASES

setup()
{
	setup_net && setup_rxe && load_smc
}

# serve NAME: a dual-stack listener on this host, until the other host signals that the client NAME
# has ended
serve()
{
	serve_named smc6 "$1"
}

# client NAME MODE FAMILY ADDRESS SUBTEST...: its output is in /run/client
client()
{
	name=$1 mode=$2 family=$3 to=$4
	shift 4
	/t/smc_traffic client --connect "$to" --family "$family" --require "$mode" --mode \
		--wait 10 "$@" > /run/client 2>&1
	rc=$?
	cat /run/client
	[ "$rc" = 0 ] || fail "$name: client over $family to $to ended with $rc"
}

through()
{
	sync_signal "through.$1"
}

# versions: versions of the groups, each once
versions()
{
	/t/smcctl --json linkgroup | grep -o '"version": *[0-9]*' | tr -dc '0-9\n' | sort -u |
		tr '\n' ' '
}

# reasons OWN/PEER: expects these reasons of the last client's connections
reasons()
{
	grep -q "reasons $1" /run/client || fail "reasons $1 not in: $(grep reasons /run/client)"
}

# expect_v1 SIDE: all connections since before() used version 1 and RDMA
expect_v1()
{
	expect "$1: connections" "$(grown "$1_smc")" -gt 0
	expect "$1: of version 1" "$(grown "$1_smc_v1")" -eq "$(grown "$1_smc")"
	expect "$1: fallbacks" "$(grown "$1_fback")" -eq 0
	expect "$1: handshake errors" "$(grown "$1_hs_err")" -eq 0
	expect "written by RDMA" "$(grown tx_write_bytes)" -ge 1048576
	expect_packets 256
}

# end_groups: ends all groups of this host
end_groups()
{
	for id in $(/t/smcctl --json linkgroup | sed -n 's/.*"id": *"\(0x[0-9a-f]*\)".*/\1/p'); do
		/t/smcctl linkgroup del "$id" now
	done
	wait_for 20 no_groups || fail "groups are left"
}

no_groups()
{
	[ -z "$(versions)" ]
}

# peer_names: host names of the peers of all groups, in brackets
peer_names()
{
	/t/smcctl --json linkgroup | sed -n 's/.*"peer_host": *"\([^"]*\)".*/[\1]/p' | tr -d ' \n'
}

# as_host NAME ARGUMENT...: becomes smc_traffic in a UTS namespace with this host name
as_host()
{
	# shellcheck disable=SC2016 # for the other shell
	exec unshare -u sh -c 'hostname "$0"; exec /t/smc_traffic "$@"' "$@"
}

# The peer learns the host name of the UTS namespace of connect() and listen(), or none.
case_host_name()
{
	for send in 1 0; do
		echo "$send" > /proc/sys/net/smc/send_hostname || fail "no such switch"
		if [ "$HOST" = 1 ]; then
			as_host listens server --family smc &
			server=$!
			await_server
			sync_signal "up.$send"
			sync_wait "connected.$send" > /dev/null || exit 1
			name=connects
		else
			sync_wait "up.$send" > /dev/null || exit 1
			(as_host connects client --connect 10.0.0.1 --family smc --require smc \
				--wait 10 stream:1) || fail "client ended with $?"
			sync_signal "connected.$send"
			name=listens
		fi
		[ "$send" = 1 ] || name=
		expect "the peer's name" "$(peer_names)" = "[$name]"
		[ "$HOST" != 1 ] || kill_all "$server"
		sync_barrier "names.$send" || exit 1
		end_groups
	done
	echo 1 > /proc/sys/net/smc/send_hostname
}

# Both hosts offer both versions: version 2 is used.
case_prefer()
{
	before
	if [ "$HOST" = 1 ]; then
		serve x
		expect "as server" "$(grown srv_smc)" -gt 0
		expect "of version 1" "$(grown srv_smc_v1)" -eq 0
	else
		sync_wait up.x > /dev/null || exit 1
		client x smc smc 10.0.0.1 stream:2 connects:10
		through x
		expect "as client" "$(grown clnt_smc)" -ge 11
		expect "of version 1" "$(grown clnt_smc_v1)" -eq 0
		expect "versions of groups" "$(versions)" = "2 "
	fi
}

# One listener, reached by IPv4, by a v4-mapped address and by IPv6; IPv6 has a group of its own.
case_dual()
{
	before
	if [ "$HOST" = 1 ]; then
		serve x
		expect "fallbacks" "$(grown srv_fback)" -eq 0
	else
		sync_wait up.x > /dev/null || exit 1
		client inet smc smc 10.0.0.1 stream:1
		client mapped smc smc6 ::ffff:10.0.0.1 stream:1 reset:512
		first=$(grown first_contact)
		client inet6 smc smc6 fd00::1 stream:8 connects:20 burst:20 halfclose:64 reset:512
		expect "groups for IPv6" "$(($(grown first_contact) - first))" -eq 1
		# EUI-64 of host 1's MAC
		client link_local smc smc6 fe80::5054:ff:fe00:1%eth0 stream:1 connects:5
		through x
		expect "groups with link-local" "$(($(grown first_contact) - first))" -eq 2
		expect "of version 1" "$(grown clnt_smc_v1)" -eq 0
		expect_packets 2048
		expect "versions of groups" "$(versions)" = "2 "
	fi
}

# vlan_of_groups: VLANs of the groups, each once
vlan_of_groups()
{
	/t/smcctl --json linkgroup | grep -o '"vlan": *[0-9]*' | tr -dc '0-9\n' | sort -u | tr '\n' ' '
}

# Over a VLAN, with either version: separate groups. Skipped without 802.1Q.
case_vlan()
{
	modprobe -q 8021q
	ip link add link eth0 name eth0.5 type vlan id 5 || skip "no VLAN device"
	ip addr add "10.5.0.$HOST/24" dev eth0.5
	ip addr add "fd05::$HOST/64" dev eth0.5 nodad
	ip link set eth0.5 up
	before
	if [ "$HOST" = 1 ]; then
		serve x
		expect "of version 1" "$(grown srv_smc_v1)" -gt 0
	else
		sync_wait up.x > /dev/null || exit 1
		client v2 smc smc 10.5.0.1 stream:1 connects:3
		client v2_inet6 smc smc6 fd05::1 stream:1 connects:3
		/t/smcctl ueid flush
		client v1 smc smc 10.5.0.1 stream:1 connects:3
		client v1_inet6 smc smc6 fd05::1 stream:1 connects:3
		/t/smcctl ueid add SMCV2-DEFAULT-UEID
		through x
		expect "groups" "$(grown first_contact)" -eq 4
		expect "of version 1" "$(grown clnt_smc_v1)" -gt 0
	fi
	expect "VLANs of groups" "$(vlan_of_groups)" = "0 5 "
	ip link del eth0.5
}

# A client without an EID offers only version 1.
case_only_v1()
{
	before
	if [ "$HOST" = 1 ]; then
		serve x
		expect_v1 srv
	else
		sync_wait up.x > /dev/null || exit 1
		/t/smcctl ueid flush || fail "the EIDs cannot be removed"
		client inet smc smc 10.0.0.1 stream:4 connects:20 burst:20 halfclose:64 reset:512
		client mapped smc smc6 ::ffff:10.0.0.1 stream:1
		client inet6 smc smc6 fd00::1 stream:4 connects:20
		through x
		expect_v1 clnt
		expect "groups" "$(grown first_contact)" -eq 2
		expect "versions of groups" "$(versions)" = "1 2 "
	fi
}

# EIDs on both hosts, but no common one: both versions are offered, and version 1 is used.
case_no_common_eid()
{
	before
	if [ "$HOST" = 1 ]; then
		serve x
		expect_v1 srv
	else
		sync_wait up.x > /dev/null || exit 1
		/t/smcctl ueid add ANOTHER-EID || fail "no EID"
		client x smc smc 10.0.0.1 stream:1
		through x
		expect_v1 clnt
	fi
}

# The hosts are in different subnets: version 1 declines; version 2 works.
case_prefix()
{
	if [ "$HOST" = 1 ]; then
		ip addr del 10.0.0.1/24 dev eth0
		ip addr add 10.0.0.1/25 dev eth0
		serve x
		serve y
		ip addr del 10.0.0.1/25 dev eth0
		ip addr add 10.0.0.1/24 dev eth0
	else
		/t/smcctl ueid flush
		sync_wait up.x > /dev/null || exit 1
		client v1 tcp smc 10.0.0.1 stream:1
		reasons 05000000/03070000
		through x
		/t/smcctl ueid add SMCV2-DEFAULT-UEID
		sync_wait up.y > /dev/null || exit 1
		before
		client v2 smc smc 10.0.0.1 stream:1
		through y
		expect "of version 1" "$(grown clnt_smc_v1)" -eq 0
	fi
}

# Of the client's IPv4 prefixes the Proposal has the one with the connection's address.
case_prefix_own()
{
	ip addr add "10.77.0.$HOST/24" dev eth0
	if [ "$HOST" = 1 ]; then
		# the hosts have this one in common only
		ip addr del 10.0.0.1/24 dev eth0
		serve x
		ip addr add 10.0.0.1/24 dev eth0
	else
		/t/smcctl ueid flush
		sync_wait up.x > /dev/null || exit 1
		before
		client own smc smc 10.77.0.1 stream:1
		through x
		expect_v1 clnt
	fi
	ip addr del "10.77.0.$HOST/24" dev eth0
}

# One common prefix among several is enough.
case_prefix6()
{
	if [ "$HOST" = 1 ]; then
		ip addr add fd00:77::1/56 dev eth0 nodad
		ip addr del fd00:0::1/64 dev eth0
		ip addr add fd00:0::1/128 dev eth0 nodad
		ip -6 route add fd00:0::/64 dev eth0
		serve x
		ip addr add fd00:77::11/64 dev eth0 nodad
		serve y
	else
		/t/smcctl ueid flush
		# the common prefix is neither the first nor the last one
		ip addr add fd00:77::2/64 dev eth0 nodad
		ip addr add fd00:78::2/64 dev eth0 nodad
		sync_wait up.x > /dev/null || exit 1
		client none tcp smc6 fd00::1 stream:1
		reasons 05000000/03070000
		through x
		sync_wait up.y > /dev/null || exit 1
		before
		client one smc smc6 fd00::1 stream:1
		through y
		expect_v1 clnt
	fi
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}

# The in-tree server has only RoCE v2 on this RNIC, so it declines version 1, and
# IPv6 with version 2: fallback, and the reason must name the side that declined.
case_intree_server()
{
	if [ "$HOST" = 2 ]; then
		serve x
		return
	fi
	sync_wait up.x > /dev/null || exit 1
	before
	client inet6 tcp smc6 fd00::2 stream:1 connects:5
	reasons 05000000/0303000
	/t/smcctl ueid flush
	client v1 tcp smc 10.0.0.2 stream:1 connects:5
	reasons 05000000/0303000
	expect "fallbacks" "$(grown clnt_fback)" -ge 12
	expect "handshake errors" "$(grown clnt_hs_err)" -eq 0
	/t/smcctl ueid add SMCV2-DEFAULT-UEID
	client v2 smc smc 10.0.0.2 stream:1
	through x
}

# The in-tree client does not offer SMC over IPv6, nor without an EID.
case_intree_client()
{
	if [ "$HOST" = 1 ]; then
		before
		serve x
		expect "fallbacks" "$(grown srv_fback)" -ge 12
		expect "handshake errors" "$(grown srv_hs_err)" -eq 0
		expect "of version 1" "$(grown srv_smc_v1)" -eq 0
		return
	fi
	sync_wait up.x > /dev/null || exit 1
	client inet6 tcp smc6 fd00::1 stream:1 connects:5
	/t/smcctl ueid flush
	client v1 tcp smc 10.0.0.1 stream:1 connects:5
	/t/smcctl ueid add SMCV2-DEFAULT-UEID
	client v2 smc smc 10.0.0.1 stream:1
	through x
}

# Both support version 2 over IPv4; the fallbacks before have no effect on it.
case_intree_again()
{
	if [ "$HOST" = 1 ]; then
		before
		serve x
		expect "as server" "$(grown srv_smc)" -gt 0
		expect "fallbacks" "$(grown srv_fback)" -eq 0
	else
		sync_wait up.x > /dev/null || exit 1
		client x smc smc 10.0.0.1 stream:1 connects:5
		through x
	fi
}
