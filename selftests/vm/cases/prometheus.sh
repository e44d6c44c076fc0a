# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# smcctl prometheus --netns all of host 1, compared with the counters of each namespace. For topology
# netns: host 1 has a name below its /run/netns, host 2 has none there; the namespace "lonely" has
# connections over lo that are TCP, and the first one of the machine has no connections.

CASES="report labels figures groups promtool unload"
export CASES

METRICS=/run/smc.prom

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	[ "$HOST" = 2 ] || { ip netns add lonely && ip -n lonely link set lo up; }
}

# client: the label of host 2
client()
{
	readlink "/proc/$(cat /shared/pid.2)/ns/net"
}

labels()
{
	echo "host h1 lonely $(client)"
}

# in_netns LABEL COMMAND...
in_netns()
{
	label_=$1
	shift
	case $label_ in
	host)	nsenter -t 1 -n "$@" ;;
	net:*)	nsenter -t "$(cat /shared/pid.2)" -n "$@" ;;
	*)	ip netns exec "$label_" "$@" ;;
	esac
}

# sum METRIC [LABEL=VALUE]...: of its samples with these labels
sum()
{
	grep "^$1[{]" "$METRICS" > /run/samples
	shift
	for l_ in "$@"; do
		grep -F "${l_%%=*}=\"${l_#*=}\"" /run/samples > /run/samples.some
		mv /run/samples.some /run/samples
	done
	awk '{ n += $NF } END { printf "%d\n", n }' /run/samples
}

# counter LABEL NAME...: the sum of these counters of the namespace
counter()
{
	in_netns "$1" cat /proc/net/smc_stat > /run/stat
	shift
	for c_ in "$@"; do
		awk -v n="$c_" '$1 == n { print $2 }' /run/stat
	done | awk '{ n += $1 } END { printf "%d\n", n }'
}

# same METRIC LABEL COUNTER...: the metric of the namespace is the sum of the counters
same()
{
	m_=$1 of_=$2
	shift 2
	expect "$m_ of $of_" "$(sum "$m_" "netns=$of_")" -eq "$(counter "$of_" "$@")"
}

# The other cases check what it printed; nothing is sent meanwhile.
case_report()
{
	exchange 1 smc smc connects:3 stream:2
	sync_barrier sent || exit 1
	[ "$HOST" = 1 ] || return 0
	ip netns exec lonely /t/smc_traffic server --family smc --require tcp > /run/lonely &
	server=$!
	ip netns exec lonely /t/smc_traffic client --connect 127.0.0.1 --family smc --require tcp \
		--wait 10 --quit connects:2 || fail "client ended with $?"
	wait "$server" || fail "server: $(cat /run/lonely)"
	/t/smcctl -n all -o "$METRICS" prometheus || fail "smcctl ended with $?"
	cat "$METRICS"
}

case_labels()
{
	[ "$HOST" = 1 ] || return 0
	expect "namespaces" "$(sed -n 's/^smc_up{netns="\(.*\)"} 1$/\1/p' "$METRICS" | sort | xargs)" = \
		"$(labels | tr ' ' '\n' | sort | xargs)"
	expect "number of namespaces" "$(sed -n 's/^smc_netns //p' "$METRICS")" -eq 4
	expect "there are more" "$(sed -n 's/^smc_netns_incomplete //p' "$METRICS")" -eq 0
	expect "samples without the label" \
		"$(grep -v '^#\|^smc_netns\|^smc_[a-z_]*{netns="' "$METRICS")" = ""
}

case_figures()
{
	[ "$HOST" = 1 ] || return 0
	for of in $(labels); do
		same smc_transmit_bytes_total "$of" tx_bytes
		same smc_receive_bytes_total "$of" rx_bytes
		same smc_connections_total "$of" clnt_smc srv_smc
		same smc_fallbacks_total "$of" clnt_fback srv_fback
		same smc_linkgroups_created_total "$of" first_contact
		same smc_memory_registrations_total "$of" mr_reg
	done
	for of in h1 "$(client)"; do
		expect "bytes sent, $of" "$(sum smc_transmit_bytes_total "netns=$of")" -ge 2097152
		expect "fallbacks, $of" "$(sum smc_fallbacks_total "netns=$of")" -eq 0
	done
	expect "connections of the server" "$(sum smc_connections_total netns=h1 role=server)" -ge 4
	expect "connections of the client" "$(sum smc_connections_total "netns=$(client)" role=client)" -eq \
		"$(sum smc_connections_total netns=h1 role=server)"
	expect "of all" "$(sum smc_connections_total)" -eq \
		$((2 * $(sum smc_connections_total netns=h1 role=server)))
	expect "fallbacks of lonely" "$(sum smc_fallbacks_total netns=lonely role=client)" -ge 2
	expect "of all" "$(sum smc_fallbacks_total role=client)" -eq \
		"$(sum smc_fallbacks_total netns=lonely role=client)"
}

# The first namespace lists the groups of all; each counts once, where it is.
case_groups()
{
	[ "$HOST" = 1 ] || return 0
	in_netns host /t/smcctl -j linkgroup > /run/groups || fail "smcctl linkgroup"
	in_netns host /t/smcctl -j link > /run/links || fail "smcctl link"
	expect "groups that the first namespace lists" "$(grep -c '"role"' /run/groups)" -eq 2
	expect "groups" "$(sum smc_linkgroups)" -eq 2
	expect "groups of the server" "$(sum smc_linkgroups netns=h1 role=server)" -eq 1
	expect "groups of the first namespace" "$(sum smc_linkgroups netns=host)" -eq 0
	expect "links" "$(sum smc_links)" -eq "$(grep -c '"state"' /run/links)"
	expect "links of the first namespace" "$(sum smc_links netns=host)" -eq 0
	expect "links of the server" "$(sum smc_links netns=h1 state=active device=rxe0)" -eq 1
}

case_promtool()
{
	[ "$HOST" = 1 ] || return 0
	[ -x /t/promtool ] || skip "scripts/fetch-promtool.sh has not brought promtool"
	/t/promtool check metrics < "$METRICS" || fail "promtool ended with $?"
}

case_unload()
{
	[ "$HOST" = 2 ] || ip netns del lonely
	unload_smc || fail "the module cannot be unloaded"
}
