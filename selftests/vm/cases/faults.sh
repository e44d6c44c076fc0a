# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Every call that may fail is made to fail, at each of its first arrivals: one host, a server and a
# client on it, a module with fault sites. Server and client may fall back or fail in a way that
# applications know, within a time limit; the next connection runs over SMC again; after unloading
# no verbs object is left. A site that no test comes by is a failure too.
# A module with our own TCP option has sites of its own, which others cannot come by.
#
#   FAULTS      only sites whose names match this pattern of grep -E
#   FAULT_NTH   up to which arrival each site is walked (default 3)
#   FAULT_FEW   not also one arrival in the middle of the data, and all of them

# shellcheck source=selftests/vm/guest/ends.sh
. /h/ends.sh

CASES="baseline:60 start:300 namespaces:120 devices:300 admin:60 sockets:500 groups:500
	links:1500 rest:1500 silence:300 door:300
	option:300 every_site:60"
export CASES

HIT=/run/faults.hit		# names of sites that have fired
COUNTS=/run/faults.counts	# lines of the table as the baseline left them
: "${FAULT_NTH:=3}"

# sites by name
SOCKETS='^(SOCK|CARRIER|LISTENER|HS_|CLC_|IB_|PNET_|SPLICE)'
GROUPS_='^(CONTACT|LGR|CONN|REGION|MAPPING|SG_|DMA_|MR)'
LINKS_='^(LINK|QP|MEM|POST|WC)'
OPTION_LOAD='^OPTION_PERNET$'
OPTION_RUN='^OPTION_(HOOKS|MARK|ROOM)$'

setup()
{
	: > "$HIT"
	setup_ends
}

# sites WHEN [PATTERN]: names, as the baseline saw them
sites()
{
	awk -v w="$1" '$2 == w { print $1 }' "$COUNTS" | grep -E "${2:-.}" |
		grep -E "${FAULTS:-.}"
}

arrivals()
{
	awk -v s="$1" '$1 == s { print $3 }' "$COUNTS"
}

# on_the_way SITE: this bed comes by it
on_the_way()
{
	[ -n "$TWO" ] || case $1 in
	PNET_*)	return 1 ;;
	esac
}

# The module puts the TCP option into SYN and SYN-ACK itself.
own_option()
{
	[ "$(modinfo -F tcp_option /ours/smc.ko)" = own ]
}

# How often a good run comes by each site, its end included.
case_baseline()
{
	at baseline
	[ -e /ours/smc.ko ] || fail "no module"
	load || fail "the module does not load"
	[ -e "$ARM" ] || fail "the module has no fault sites: build it with -f"
	# with what the end of the group comes by
	echo "none report" > "$ARM"
	good_round
	echo "$how_"
	unload
	dmesg | sed -n 's/.*smc: fault site: //p' > "$COUNTS"
	cat "$COUNTS"
	expect "sites" "$(grep -c . "$COUNTS")" -gt 50
}

# Loading fails, or goes on without what was missing; afterwards it works.
case_start()
{
	for s in $(sites load) $(sites netns) $(own_option && sites option "$OPTION_LOAD"); do
		at "$s at load"
		if insmod /ours/smc.ko fault="$s:1" 2> /run/insmod; then
			rmmod smc
			fail "$AT: the module loads all the same"
		fi
		log_has "$s" || fail "$AT: did not fire: $(cat /run/insmod)"
		echo "$s" >> "$HIT"
		[ ! -e /proc/net/smc_stat ] || fail "$AT: /proc/net/smc_stat is left"
		load || fail "$AT: the module does not load afterwards"
		unload
	done
	at "start again"
	load || fail "the module does not load any more"
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
		ip netns add faulty 2> /dev/null && fail "$AT: made all the same"
		fired "$s" || fail "$AT: did not fire"
		ip netns add faulty || fail "$AT: none can be made afterwards"
		ip netns del faulty
	done
	good_round
	unload
}

# A device that fails while it is taken in is not used, or used without what is missing.
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
	load || fail "the module does not load any more"
	good_round
	unload
}

# An administrator's order is refused, the next one is not.
case_admin()
{
	at admin
	load || fail "the module does not load"
	for s in $(sites admin); do
		for n in 1 2; do
			# one message has the whole answer, one order one rule, an event is one message
			case $s:$n in
			PNETID_ANSWER:2 | RULE:2 | NOTIFY_MSG:2) break ;;
			esac
			at "$s:$n"
			echo "none $s:$n" > "$ARM" || fail "$AT: cannot be armed"
			case $s in
			PNETID_ENTRY)	no_entry ;;
			RULE)		no_rule ;;
			PNETID_ANSWER)	no_answer ;;
			NOTIFY_MSG)	no_event ;;
			*)		fail "$s: nobody knows what to do" ;;
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
	/t/smcctl pnet add NET1 netdev lo ibdev rxe9 2> /run/admin && fail "$AT: done all the same"
	fired "$s" || fail "$AT: did not fire"
	/t/smcctl pnet | grep -q NET1 && fail "$AT: done by half"
}

no_rule()
{
	/t/smcctl policy add deny 2> /run/admin && fail "$AT: done all the same"
	fired "$s" || fail "$AT: did not fire"
	expect "rules" "$(/t/smcctl -j policy | grep -c number)" -eq 0
	/t/smcctl policy add allow || fail "$AT: not done afterwards"
	/t/smcctl policy flush
}

no_answer()
{
	[ "$(/t/smc_netlink pnet NET1)" = ENOMEM ] || fail "$AT: answered all the same"
	fired "$s" || fail "$AT: did not fire"
}

event_listens()
{
	# shellcheck disable=SC2016 # a program
	awk '$2 == 16 && $4 != "00000000" { found = 1 } END { exit !found }' /proc/net/netlink
}

# Who does not listen costs no memory; who does hears that there was none, and of the next event.
no_event()
{
	lost0=$(stat_of event_lost)
	/t/smc_netlink fallback || fail "$AT: no fallback"
	fired "$s" && fail "$AT: fired though nobody listens"
	/t/smcctl -j monitor 1 > /run/admin &
	listener=$!
	wait_for 10 event_listens || fail "$AT: nobody listens"
	/t/smc_netlink fallback || fail "$AT: no fallback"
	fired "$s" || fail "$AT: did not fire"
	wait_for 10 grep -q '"event":"lost"' /run/admin || fail "$AT: not told"
	/t/smc_netlink fallback || fail "$AT: no fallback"
	wait "$listener" || fail "$AT: the listener ended with $?"
	grep -q '"event":"fallback"' /run/admin || fail "$AT: $(cat /run/admin)"
	expect "events lost" "$(($(stat_of event_lost) - lost0))" -eq 1
}

# A client without memory for the name of a peer whose RNIC is silent tries it again each time.
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
			expect "peers remembered, $AT" "$(bad_peers)" -eq 1
		else
			fired "$s" || fail "$AT: did not fire"
			expect "peers remembered, $AT" "$(bad_peers)" -eq 0
			echo "$s" >> "$HIT"
		fi
		echo none > "$ARM"
		good_round
		unload
	done
}

# walk_one SITE N[+]
walk_one()
{
	at "$1:$2"
	load || fail "$AT: the module does not load"
	echo "$1:$2" > "$ARM" || fail "$AT: cannot be armed"
	how=$(round) || fail "$AT: $how"
	if fired "$1"; then
		echo none > "$ARM"
		good_round
		unload
	else
		# only the end of the group comes by so often
		unload
		log_has "$1" || fail "$AT: did not fire: $how"
		load || fail "$AT: the module does not load afterwards"
		good_round
		unload
	fi
	echo "$1" >> "$HIT"
	echo "$AT:$how"
}

# walk PATTERN [WHEN]: the sites of that part ("run") that match
walk()
{
	for s in $(sites "${2:-run}" "$1"); do
		on_the_way "$s" || continue
		max=$(arrivals "$s")
		[ "$max" -gt 0 ] || continue	# every_site tells
		n=1
		while [ "$n" -le "$max" ] && [ "$n" -le "$FAULT_NTH" ]; do
			walk_one "$s" "$n"
			n=$((n + 1))
		done
		[ -z "$FAULT_FEW" ] || continue
		# and in the middle of the data
		[ "$max" -lt 20 ] || walk_one "$s" $((max / 2))
		# a server that never accepts lets its clients wait, as with TCP
		case " CARRIER_ACCEPT $CHILDREN " in
		*" $s "*) continue ;;
		esac
		[ "$max" -lt 2 ] || walk_one "$s" 1+
	done
}

case_sockets()
{
	walk "$SOCKETS"
}

# By IPPROTO_SMC: core has made the socket, and takes it back if it gets no carrier.
case_door()
{
	ENDS="$ENDS --family ipproto"
	CHILDREN=SOCK	# nobody else's
	walk '^(SOCK|CARRIER|CARRIER_CHILD|CARRIER_ACCEPT|LISTENER)$'
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

# Without it connections are TCP, from the SYN on.
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
		on_the_way "$s" || continue
		[ "$when" != option ] || own_option || continue
		echo "$s" | grep -qE "${FAULTS:-.}" || continue
		grep -qx "$s" "$HIT" || missed="$missed $s"
	done < /run/faults.all
	data sites "$(sort -u "$HIT" | grep -c .)"
	[ -z "$missed" ] || fail "no test came by:$missed"
}
