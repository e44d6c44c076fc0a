# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Injects a fault at every call that may fail, at each of its first passes: one host with a server and
# a client, a module with fault sites. Server and client may fall back or fail with an error that
# applications handle, within a time limit; the next connection must use SMC again; after unloading
# no verbs object may be left. A site that no test passes is a failure too.
# A module with our own TCP option has additional sites.
#
#   FAULTS      only sites whose names match this pattern of grep -E
#   FAULT_NTH   last pass of each site at which a fault is injected (default 3)
#   FAULT_FEW   not empty: without faults in the middle of the data, and at all passes
# Entry points: smc ipproto

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

CASES="baseline:60 start:300 namespaces:120 devices:300 admin:60 sockets:500 groups:500
	links:1500 rest:1500 two_ports:60 silence:300 ipproto:300
	option:300 every_site:60"
export CASES

HIT=/run/faults.hit		# names of sites with an injected fault
COUNTS=/run/faults.counts	# table of sites and their passes in the baseline
: "${FAULT_NTH:=3}"

# sites by name
SOCKETS='^(SOCK|CLCSOCK|LISTENER|HS_|CLC_|IB_|PNET_|SPLICE)'
GROUPS_='^(CONTACT|LGR|CONN|REGION|MAPPING|SG_|DMA_|MR)'
LINKS_='^(LINK|QP|MEM|POST|WC)'
OPTION_LOAD='^OPTION_PERNET$'
OPTION_RUN='^OPTION_(HOOKS|MARK|ROOM)$'

setup()
{
	: > "$HIT"
	setup_ends
}

# sites WHEN [PATTERN]: names of the sites of that part, from the baseline
sites()
{
	awk -v w="$1" '$2 == w { print $1 }' "$COUNTS" | grep -E "${2:-.}" |
		grep -E "${FAULTS:-.}"
}

# passes SITE: number of its passes in the baseline
passes()
{
	awk -v s="$1" '$1 == s { print $3 }' "$COUNTS"
}

# reachable SITE: connections on this test bed pass it
reachable()
{
	[ -n "$TWO" ] || case $1 in
	PNET_* | LLC_RTOKENS)	return 1 ;;
	esac
}

# own_option: the module itself adds the TCP option to SYN and SYN-ACK
own_option()
{
	[ "$(modinfo -F tcp_option /ours/smc.ko)" = own ]
}

# Counts the passes of each site in a good run, including its end.
case_baseline()
{
	at baseline
	[ -e /ours/smc.ko ] || fail "no module"
	load || fail "the module does not load"
	[ -e "$ARM" ] || fail "the module has no fault sites: build it with -f"
	# report at unloading, so that the end of the group is included
	echo "none report" > "$ARM"
	good_round
	echo "$how_"
	unload
	dmesg | sed -n 's/.*smc: fault site: //p' > "$COUNTS"
	cat "$COUNTS"
	expect "sites" "$(grep -c . "$COUNTS")" -gt 50
}

# Loading fails; afterwards it works.
case_start()
{
	for s in $(sites load) $(sites netns) $(own_option && sites option "$OPTION_LOAD"); do
		at "$s at load"
		if insmod /ours/smc.ko fault="$s:1" 2> /run/insmod; then
			rmmod smc
			fail "$AT: the module loads despite the fault"
		fi
		log_has "$s" || fail "$AT: did not fire: $(cat /run/insmod)"
		echo "$s" >> "$HIT"
		[ ! -e /proc/net/smc_stat ] || fail "$AT: /proc/net/smc_stat is left"
		load || fail "$AT: the module does not load afterwards"
		unload
	done
	at "start again"
	load || fail "the module cannot be loaded any more"
	good_round
	unload
}

case_namespaces()
{
	at namespaces
	load || fail "the module does not load"
	for s in $(sites netns); do
		at "$s in a new namespace"
		echo "none $s:1" > "$ARM" || fail "$AT: cannot be armed"
		ip netns add faulty 2> /dev/null && fail "$AT: made despite the fault"
		fired "$s" || fail "$AT: did not fire"
		ip netns add faulty || fail "$AT: none can be made afterwards"
		ip netns del faulty
	done
	good_round
	unload
}

# A device with a fault when it is added is not used, or used without the missing part.
case_devices()
{
	for s in $(sites device); do
		for n in 1 2; do
			at "$s:$n at load"
			load "$s:$n" || fail "$AT: the module does not load"
			how=$(round) || fail "$AT: $how"
			echo "$AT:$how"
			if fired "$s"; then
				echo "$s" >> "$HIT"
			elif [ "$n" = 1 ]; then
				fail "$AT: did not fire"
			fi
			unload
		done
	done
	at "devices again"
	load || fail "the module cannot be loaded any more"
	good_round
	unload
}

# A command of the administrator fails, the next one succeeds.
case_admin()
{
	at admin
	load || fail "the module does not load"
	for s in $(sites admin); do
		for n in 1 2; do
			# there is only one pass: one message for the whole answer, one rule per command, one
			# message per event, one connection at a time, one namespace at a time
			case $s:$n in
			PNETID_ANSWER:2 | RULE:2 | RULES_COPY:2 | NOTIFY_MSG:2 | AUTOSMC_TABLE:2) break ;;
			esac
			at "$s:$n"
			echo "none $s:$n" > "$ARM" || fail "$AT: cannot be armed"
			case $s in
			PNETID_ENTRY)	no_entry ;;
			RULE)		no_rule ;;
			RULES_COPY)	no_heir ;;
			PNETID_ANSWER)	no_answer ;;
			NOTIFY_MSG)	no_event ;;
			AUTOSMC_TABLE)	no_table ;;
			*)		fail "$s: there is no test for this site" ;;
			esac
		done
		echo "$s" >> "$HIT"
		/t/smcctl pnet add NET1 netdev lo ibdev rxe9 || fail "$AT: not done afterwards"
		expect "entries of NET1" "$(/t/smc_netlink pnet NET1)" -eq 2
		/t/smcctl pnet flush
	done
	good_round
	unload
}

no_entry()
{
	/t/smcctl pnet add NET1 netdev lo ibdev rxe9 2> /run/admin && fail "$AT: done despite the fault"
	fired "$s" || fail "$AT: did not fire"
	/t/smcctl pnet | grep -q NET1 && fail "$AT: half done"
}

no_rule()
{
	/t/smcctl policy add deny 2> /run/admin && fail "$AT: done despite the fault"
	fired "$s" || fail "$AT: did not fire"
	expect "rules" "$(/t/smcctl -j policy | grep -c number)" -eq 0
	/t/smcctl policy add allow || fail "$AT: not done afterwards"
	/t/smcctl policy flush
}

# a namespace that would get the rules of the first one
no_heir()
{
	/t/smcctl policy add allow || fail "$AT: no rule"
	sysctl -q -w net.smc.netns_inherit=1
	ip netns add faulty 2> /dev/null && fail "$AT: made despite the fault"
	fired "$s" || fail "$AT: did not fire"
	ip netns add faulty || fail "$AT: none can be made afterwards"
	expect "inherited rules" "$(ip netns exec faulty /t/smcctl -j policy | grep -c number)" -eq 1
	ip netns del faulty
	sysctl -q -w net.smc.netns_inherit=0
	/t/smcctl policy flush
}

no_answer()
{
	[ "$(/t/smc_netlink pnet NET1)" = ENOMEM ] || fail "$AT: answered despite the fault"
	fired "$s" || fail "$AT: did not fire"
}

# Without a listener no memory is allocated. A listener is notified of the lost event, and receives
# the next one.
no_event()
{
	lost0=$(stat_of event_lost)
	/t/smc_netlink fallback || fail "$AT: no fallback"
	fired "$s" && fail "$AT: fired without a listener"
	/t/smcctl -j monitor 1 > /run/admin &
	listener=$!
	wait_for 10 event_listens || fail "$AT: there is no listener"
	/t/smc_netlink fallback || fail "$AT: no fallback"
	fired "$s" || fail "$AT: did not fire"
	wait_for 10 grep -q '"event":"lost"' /run/admin || fail "$AT: no event of the loss"
	/t/smc_netlink fallback || fail "$AT: no fallback"
	wait "$listener" || fail "$AT: the listener ended with $?"
	grep -q '"event":"fallback"' /run/admin || fail "$AT: $(cat /run/admin)"
	expect "events lost" "$(($(stat_of event_lost) - lost0))" -eq 1
}

# in_client COMMAND...: runs it where the client is
in_client()
{
	${TWO:+ip netns exec c} "$@"
}

# Nothing is learned from a connection without memory; the next ones are learned from.
no_table()
{
	in_client sh -c 'echo 4000000000 > /proc/sys/net/smc/autosmc_bytes'
	how=$(round) || fail "$AT: $how"
	fired "$s" || fail "$AT: did not fire"
	how=$(round) || fail "$AT: $how"
	in_client grep -q client /proc/net/smc_autosmc || fail "$AT: nothing is learned afterwards"
	in_client sh -c 'echo 0 > /proc/sys/net/smc/autosmc_bytes'
}

# A client without memory for the address of a peer with a silent RNIC tries SMC again each time.
case_silence()
{
	[ -n "$(sites silence)" ] || return 0
	for s in none $(sites silence); do
		at "silence, $s"
		load || fail "the module does not load"
		echo "none LOSE_LLC:1+" > "$ARM"
		[ "$s" = none ] || echo "$s:1+" > "$ARM" || fail "$AT: cannot be armed"
		how=$(round) || fail "$AT: $how"
		echo "$AT:$how"
		if [ "$s" = none ]; then
			expect "peers cached, $AT" "$(bad_peers)" -eq 1
		else
			fired "$s" || fail "$AT: did not fire"
			expect "peers cached, $AT" "$(bad_peers)" -eq 0
			echo "$s" >> "$HIT"
		fi
		echo none > "$ARM"
		good_round
		unload
	done
}

# walk_one SITE N[+]: a fault at the Nth pass of the site (+: and at all later ones)
walk_one()
{
	at "$1:$2"
	load || fail "$AT: the module does not load"
	echo "$1:$2" > "$ARM" || fail "$AT: cannot be armed"
	how=$(round) || fail "$AT: $how"
	if fired "$1"; then
		echo none > "$ARM"
		good_round
		# A closed socket whose peer ended with its queue pair, and whose end of the stream was
		# lost with that, holds the module until the RNIC has repeated its last message often
		# enough, here for 9 s.
		unload_within 20
	else
		# only the end of the group passes the site so often
		unload
		log_has "$1" || fail "$AT: did not fire: $how"
		load || fail "$AT: the module does not load afterwards"
		good_round
		unload
	fi
	echo "$1" >> "$HIT"
	echo "$AT:$how"
}

# walk PATTERN [WHEN]: faults at all matching sites of that part (default: "run")
walk()
{
	for s in $(sites "${2:-run}" "$1"); do
		reachable "$s" || continue
		max=$(passes "$s")
		[ "$max" -gt 0 ] || continue	# case every_site reports it
		n=1
		while [ "$n" -le "$max" ] && [ "$n" -le "$FAULT_NTH" ]; do
			walk_one "$s" "$n"
			n=$((n + 1))
		done
		[ -z "$FAULT_FEW" ] || continue
		# and in the middle of the data
		[ "$max" -lt 20 ] || walk_one "$s" $((max / 2))
		# if a server never accepts, its clients wait, as with TCP
		case " CLCSOCK_ACCEPT $CHILDREN " in
		*" $s "*) continue ;;
		esac
		[ "$max" -lt 2 ] || walk_one "$s" 1+
	done
}

case_sockets()
{
	walk "$SOCKETS"
}

# Entry point IPPROTO_SMC: the kernel creates the socket, and frees it if it gets no clcsock.
case_ipproto()
{
	ENDS="$ENDS --family ipproto"
	CHILDREN=SOCK	# here only accepted sockets pass this site
	walk '^(SOCK|CLCSOCK|CLCSOCK_CHILD|CLCSOCK_ACCEPT|LISTENER)$'
}

case_groups()
{
	walk "$GROUPS_"
}

case_links()
{
	walk "$LINKS_"
}

case_rest()
{
	for s in $(sites run); do
		echo "$s" | grep -qE "$SOCKETS|$GROUPS_|$LINKS_" || walk "^$s\$"
	done
}

second_port()
{
	ip -n c link add vethd type veth peer name vethe && ip -n c link set vethd up &&
		ip -n c link set vethe up && add_end c d && wait_for 10 port_up c d
}

# The client has a second port, on another network: the server offers a link, with its RMBs, which
# the client refuses.
case_two_ports()
{
	reachable LLC_RTOKENS && echo LLC_RTOKENS | grep -qE "${FAULTS:-.}" || return 0
	second_port || fail "no second port"
	resources > /run/resources
	walk_one LLC_RTOKENS 1
	ip netns exec c /usr/sbin/rdma link delete rxed || fail "the second port stays"
	ip -n c link del vethd
	resources > /run/resources
}

# Without the option connections use TCP from the SYN on.
case_option()
{
	own_option || return 0
	walk "$OPTION_RUN" option
}

case_every_site()
{
	missed=
	# "lose" is for timers.sh
	awk '$2 != "lose" { print $1, $2 }' "$COUNTS" > /run/faults.all
	while read -r s when; do
		reachable "$s" || continue
		[ "$when" != option ] || own_option || continue
		echo "$s" | grep -qE "${FAULTS:-.}" || continue
		grep -qx "$s" "$HIT" || missed="$missed $s"
	done < /run/faults.all
	data sites "$(sort -u "$HIT" | grep -c .)"
	[ -z "$missed" ] || fail "no test passes:$missed"
}
