# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# smcctl policy: rules of the client and of the server that decide which connections may use SMC,
# over IPv4, v4-mapped addresses and IPv6. Host 2 connects, host 1 serves. Checked by the bytes
# sent by RDMA, the reasons of both hosts and the counters of the rules.

CASES="none:60 client:100 server:100 order:60 late:60 unload:60"
export CASES

RULE=0x03008001
PEER_NO_SMC=0x03010000

setup()
{
	setup_net && setup_rxe && load_smc
}

policy()
{
	/t/smcctl policy "$@" || fail "policy $*: status $?"
}

# conditions: the list of rules without the counters
conditions()
{
	/t/smcctl policy | awk '{ print $1, $2, $3, $4, $5, $6 }'
}

# hits NUMBER: connections that matched the rule
hits()
{
	/t/smcctl -j policy | tr -d ' \n' |
		sed -n "s/.*\"number\":$1,[^}]*\"connections\":\([0-9]*\).*/\1/p"
}

# reason CODE: connections that fell back for that reason on this host
reason()
{
	/t/smcctl -j stats | tr -d ' \n' | tr '{' '\n' |
		sed -n "s/.*\"reason\":\"$1\".*\"count\":\([0-9]*\).*/\1/p" | awk '{ n += $1 } END { print n + 0 }'
}

# connection MODE FAMILY ADDRESS: one verified connection of 2 MiB, in that mode on both hosts
connection()
{
	n_=$((${n_:-0} + 1))
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family "$2" --require "$1" > /run/server 2>&1 &
		server=$!
		await_server
		before
		sync_signal "ready.$n_"
		sync_wait "done.$n_" 60 > /dev/null || exit 1
		kill_all "$server"
		! grep '^not ok' /run/server || fail "the server complains"
	else
		sync_wait "ready.$n_" > /dev/null || exit 1
		before
		/t/smc_traffic client --connect "$3" --family "$2" --require "$1" \
			stream:2 > /run/client 2>&1 ||
			{ cat /run/client; fail "no connection of $2 in mode $1"; }
		sync_signal "done.$n_"
	fi
	bytes_=$(grown tx_write_bytes)
	if [ "$1" = smc ]; then
		expect "bytes of $2 by RDMA" "$bytes_" -ge 2097152
	else
		expect "bytes of $2 by RDMA" "$bytes_" -eq 0
	fi
}

# all_families MODE4 MODE_MAPPED MODE6
all_families()
{
	connection "$1" smc "$(peer_addr)"
	# an IPv6 socket turns it into a v4-mapped address
	connection "$2" smc6 "$(peer_addr)"
	connection "$3" smc6 fd00:0::1
}

case_none()
{
	expect "rules" "$(/t/smcctl -j policy | grep -c number)" -eq 0
	all_families smc smc smc
	expect "fallbacks by rule" "$(reason $RULE)" -eq 0
}

# The client applies its rules before its SYN: the SYN has no SMC option.
case_client()
{
	was=$(reason $PEER_NO_SMC)
	if [ "$HOST" = 2 ]; then
		policy add deny number 5 remote 10.0.0.0/24 remote-port 4430
		policy add deny number 6 remote 10.0.0.0/24 remote-port 4431-65535
	fi
	sync_barrier ipv4 || exit 1
	all_families tcp tcp smc
	if [ "$HOST" = 2 ]; then
		expect "connections of the rule" "$(hits 5)" -eq 2
		expect "connections of the other rule" "$(hits 6)" -eq 0
		expect "fallbacks by rule" "$(reason $RULE)" -eq 2
		policy flush
		policy add deny remote fd00::/16
	else
		expect "clients without the option" $(($(reason $PEER_NO_SMC) - was)) -eq 2
	fi
	sync_barrier ipv6 || exit 1
	all_families smc smc tcp
	if [ "$HOST" = 2 ]; then
		expect "connections of the IPv6 rule" "$(hits 10)" -eq 1
		policy flush
		# its own port is known only after TCP has connected: the client declines then
		policy add deny local-port 1024-65535 remote 10.0.0.1
	fi
	sync_barrier own_port || exit 1
	all_families tcp tcp smc
	if [ "$HOST" = 2 ]; then
		expect "connections of the rule for its port" "$(hits 10)" -eq 2
		policy flush
		expect "fallbacks by rule in all" "$(reason $RULE)" -eq 5
	else
		expect "clients without the option" $(($(reason $PEER_NO_SMC) - was)) -eq 3
	fi
}

# The server can apply a rule for its own port to the SYN, and a rule for the client's address only
# after TCP has connected.
case_server()
{
	was=$(reason $RULE)
	no_smc=$(reason $PEER_NO_SMC)
	[ "$HOST" = 2 ] || policy add deny local-port 4430
	sync_barrier port || exit 1
	all_families tcp tcp tcp
	if [ "$HOST" = 1 ]; then
		expect "connections of the port's rule" "$(hits 10)" -eq 3
		expect "fallbacks by rule" $(($(reason $RULE) - was)) -eq 3
		policy flush
		policy add deny remote 10.0.0.2
	else
		expect "servers without the option" $(($(reason $PEER_NO_SMC) - no_smc)) -eq 3
	fi
	sync_barrier peer || exit 1
	all_families tcp tcp smc
	if [ "$HOST" = 1 ]; then
		expect "connections of the client's rule" "$(hits 10)" -eq 2
		expect "fallbacks by rule" $(($(reason $RULE) - was)) -eq 5
		policy flush
	else
		expect "servers that sent the option, and declined" \
			$(($(reason $PEER_NO_SMC) - no_smc)) -eq 3
	fi
}

# The rules apply in the order of their numbers, not in the order in which they were added.
case_order()
{
	if [ "$HOST" = 2 ]; then
		policy add deny number 100
		policy add allow number 50 remote 10.0.0.1
		policy add deny number 60 remote 10.0.0.1
		policy add allow number 40 remote 10.9.0.0/16
		! /t/smcctl policy add deny number 50 2> /run/error || fail "two rules with the same number"
		grep -q 'there is a rule with this number' /run/error || fail "$(cat /run/error)"
	fi
	sync_barrier rules || exit 1
	all_families smc smc tcp
	[ "$HOST" = 2 ] || return 0
	expect "order" "$(/t/smcctl policy | awk 'NR > 1 { print $1 }' | tr '\n' ' ')" = "40 50 60 100 "
	expect "rule 40" "$(hits 40)" -eq 0
	expect "rule 50" "$(hits 50)" -eq 2
	expect "rule 60" "$(hits 60)" -eq 0
	expect "rule 100" "$(hits 100)" -eq 1
	conditions > /run/conditions
	/t/smcctl save /run/conf || fail "save: status $?"
	policy flush
	/t/smcctl restore /run/conf || fail "restore: status $?"
	expect "rules restored" "$(conditions)" = "$(cat /run/conditions)"
	expect "prefix" "$(/t/smcctl policy | awk '$1 == 40 { print $5 }')" = 10.9.0.0/16
	policy del 50
	! /t/smcctl policy del 50 2> /run/error || fail "a deleted rule was deleted again"
	grep -q 'there is no rule with this number' /run/error || fail "$(cat /run/error)"
	expect "rules left" "$(/t/smcctl -j policy | grep -c number)" -eq 3
	policy flush
}

# A new rule does not affect existing SMC connections; each namespace has its own rules.
case_late()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
		server=$!
		await_server
		sync_signal ready
		sync_wait over 60 > /dev/null || exit 1
		kill_all "$server"
		expect "rules of the other host" "$(/t/smcctl -j policy | grep -c number)" -eq 0
		return
	fi
	sync_wait ready > /dev/null || exit 1
	/t/smc_traffic client --connect "$(peer_addr)" --family smc --require smc \
		idle:4 > /run/client 2>&1 &
	client=$!
	wait_for 10 has_connection || fail "no connection"
	policy add deny
	before
	wait "$client" || { cat /run/client; fail "client ended with $?"; }
	expect "bytes by RDMA under the rule" "$(grown tx_write_bytes)" -ge 262144
	policy flush
	sync_signal over
}

has_connection()
{
	/t/smcctl -j sock | grep -q '"SMCR"'
}

case_unload()
{
	policy add deny
	unload_smc || fail "the module cannot be unloaded"
}
