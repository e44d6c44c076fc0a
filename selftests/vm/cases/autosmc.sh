# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# AUTOSMC: after some short connections the next ones are TCP, until one that is not short, or a
# time, makes them SMC again; on a client, and on a server, which declines. Host 2 connects, host 1
# serves.
#
#   INTREE    set: host 2 has the in-tree family, and where it is the client that learns, it serves

CASES="off:60 client:60 port:60 heavy:60 netns:60 probe:300 old:300 server:60 heavy_served:60 resets:60"
CASES="$CASES declined:60 both:120 refused:120 flushed:60 unload:60"
[ -z "$INTREE" ] || CASES="client:60 heavy:60 aged:60 server:60 heavy_served:60 unload:60"
export CASES

table=/proc/net/smc_autosmc
# a connection of smc_traffic with one byte each way moves less, "idle" moves more
BYTES=100000

setup()
{
	setup_net && setup_rxe && load_smc
}

client=2	# the host that connects; the other one serves
connecting() { [ "$HOST" = "$client" ]; }

# with an in-tree host: ours, which is host 1, connects
ours_connects() { [ -z "$INTREE" ] || client=1; }

# serve [PORT], then serve_end: one host serves for the steps of the other one in between
# shellcheck disable=SC2153 # CASE is set by main.sh
serve()
{
	turn=$((${turn:-0} + 1))
	port=${1:-4430}
	if connecting; then
		sync_wait "ready.$CASE.$turn" > /dev/null || exit 1
		return
	fi
	/t/smc_traffic server --family smc --port "$port" &
	server=$!
	await_server "$port"
	sync_signal "ready.$CASE.$turn"
}

serve_end()
{
	if connecting; then
		sync_signal "done.$CASE.$turn"
		return
	fi
	sync_wait "done.$CASE.$turn" 400 > /dev/null || exit 1
	kill "$server"
	wait "$server" || :
}

# connects MODE N [WHAT]: the client: so many verified connections one after another in that mode;
# their words are in /run/client
connects()
{
	connecting || return 0
	i=0
	while [ $i -lt "$2" ]; do
		/t/smc_traffic client --connect "$(peer_addr)" --port "$port" --family smc \
			--require "$1" "${3:-connects:1}" > /run/client ||
			fail "connection $((i + 1)) of $2 is not $1: $(cat /run/client)"
		i=$((i + 1))
	done
}

# because OWN/PEER: the client: the last connection was TCP for these reasons
because()
{
	! connecting || grep -q "reasons $1" /run/client || fail "not $1: $(cat /run/client)"
}

# short_below client|server BYTES: that host takes connections of less than 10 s and BYTES for short
short_below()
{
	case $1 in
	client)	connecting ;;
	server)	! connecting ;;
	esac || return 0
	echo "$2" > /proc/sys/net/smc/autosmc_bytes || fail "autosmc_bytes"
}

# tries CLIENT-TCP CLIENT-PROBES SERVER-TCP SERVER-PROBES: what AUTOSMC has decided since before(),
# on each host that counts it
tries()
{
	ours || return 0
	connecting || shift 2
	expect "connections that AUTOSMC made TCP" "$(grown autosmc_tcp)" -eq "$1"
	expect "probes" "$(grown autosmc_probe)" -eq "$2"
}

forget() { ! ours || echo 0 > $table; }

# known SIDE: number of entries of that side for port 4430
known()
{
	awk -v s="$1" '$2 == 4430 && $3 == s' $table | wc -l
}

# counted N: this host has counted so many short connections of that server, or client, in a row
counted()
{
	awk -v n="$1" '$2 == 4430 && $5 == n { found = 1 } END { exit !found }' $table
}

forgotten() { [ "$(known server)" = 0 ]; }

# await_server_has TEST...: both hosts wait for the server, whose end of a connection may be later
# than the client's
await_server_has()
{
	if connecting; then
		sync_wait "learned.$CASE" > /dev/null || exit 1
		return
	fi
	wait_for 10 "$@" || fail "not $*: $(cat $table)"
	sync_signal "learned.$CASE"
}

case_off()
{
	serve
	connects smc 10
	serve_end
	expect "entries" "$(tail -n +2 $table | wc -l)" -eq 0
}

# Eight are SMC, the next ones TCP, without a Decline.
case_client()
{
	ours_connects
	short_below client $BYTES
	! ours || before
	serve
	connects smc 8
	connects tcp 3
	because 03008002/00000000
	serve_end
	tries 3 0 0 0
	ours || return 0
	cat $table
	expect "entries of the server, which is off" "$(known server)" -eq 0
	expect "entries of the client" "$(known client)" -eq "$(connecting && echo 1 || echo 0)"
	# TCP from the SYN on: not even the server of a handshake
	connecting || expect "fallbacks of the server" "$(grown srv_fback)" -eq 3
}

case_port()
{
	serve 4431
	connects smc 1
	serve_end
}

# A connection over TCP that carries many bytes is noticed, too.
case_heavy()
{
	ours_connects
	! ours || before
	serve
	connects tcp 1 idle:1
	connects smc 1
	serve_end
	# the second one did not ask: all is forgotten
	tries 1 0 0 0
}

# A connection over TCP that lives long is noticed, too. Times are real ones here.
case_aged()
{
	ours_connects
	forget
	! connecting || echo 2 > /proc/sys/net/smc/autosmc_time
	short_below client 4000000000
	serve
	connects smc 8
	connects tcp 1
	because 03008002/00000000
	connects tcp 1 idle:3
	connects smc 1
	serve_end
	! connecting || echo 10 > /proc/sys/net/smc/autosmc_time
	short_below client 0
}

# 114E is port 4430
listens_there() { ip netns exec other grep -q ':114E 0*:0000 0A ' /proc/net/tcp; }

# What one namespace of this host has learned is nothing to another one that connects to the same
# address and port as the same user: its connections are TCP only for want of an RNIC.
case_netns()
{
	sync_barrier begin || exit 1
	forget
	serve
	connects smc 8
	connects tcp 1
	because 03008002/00000000
	serve_end
	connecting || return 0
	setting=/proc/sys/net/smc/autosmc_bytes
	ip netns add other || fail "no namespace"
	ip -n other link set lo up || fail "no lo"
	ip -n other addr add "$(peer_addr)/32" dev lo || fail "no address"
	expect "setting in a new namespace" "$(ip netns exec other cat $setting)" -eq 0
	ip netns exec other sh -c "echo $BYTES > $setting" || fail "autosmc_bytes"
	ip netns exec other /t/smc_traffic server --family smc --port 4430 &
	wait_for 20 listens_there || fail "no server listens in the namespace"
	ip netns exec other /t/smc_traffic client --connect "$(peer_addr)" --port 4430 \
		--family smc --require tcp --quit connects:10 > /run/client || fail "$(cat /run/client)"
	wait $! || fail "the server ended with $?"
	because 03030000/00000000
	expect "entries there" "$(ip netns exec other sed 1d $table | wc -l)" -eq 0
	expect "TCP by experience there" "$(ip netns exec other cat /proc/net/smc_stat |
		awk '$1 == "autosmc_tcp" { print $2 }')" -eq 0
	# nor does forgetting all there reach this one
	ip netns exec other sh -c "echo 0 > $table" || fail "nothing is forgotten there"
	ip netns del other || fail "the namespace is left"
	expect "entries here" "$(known client)" -eq 1
}

# The probe is short: the next one comes after twice the time.
case_probe()
{
	sync_barrier begin || exit 1
	forget
	before
	serve
	connects smc 8
	connects tcp 1
	! connecting || sleep 31
	connects smc 1
	connects tcp 1
	! connecting || sleep 31
	connects tcp 1
	! connecting || sleep 31
	connects smc 1
	connects tcp 1
	serve_end
	tries 4 2 0 0
}

# The probe lives on: while it is young the others are TCP, then they are SMC.
case_old()
{
	serve
	if connecting; then
		sleep 121
		/t/smc_traffic client --connect "$(peer_addr)" --port "$port" --family smc \
			--require smc idle:30 > /run/probe &
		probe=$!
		wait_for 5 grep -q ' 1$' $table || fail "no probe: $(cat $table)"
		connects tcp 1
		sleep 11
		connects smc 1
		expect "entries" "$(known client)" -eq 1
		wait $probe || fail "the probe: $(cat /run/probe)"
		expect "entries afterwards" "$(known client)" -eq 0
	fi
	serve_end
}

# The server declines, and learns from the connections of that client.
case_server()
{
	[ -n "$INTREE" ] || short_below client 0
	sync_barrier begin || exit 1
	forget
	short_below server $BYTES
	! ours || before
	serve
	connects smc 8
	await_server_has counted 8
	connects tcp 2
	because 05000000/03008002
	serve_end
	tries 0 0 2 0
	ours || return 0
	expect "entries of the client, which is off" "$(known client)" -eq 0
	expect "entries of the server" "$(known server)" -eq $((2 - HOST))
}

# ... and learns from one that it has declined.
case_heavy_served()
{
	! ours || before
	serve
	connects tcp 1 idle:1
	await_server_has forgotten
	connects smc 1
	serve_end
	tries 0 0 1 0
}

# A client that resets its connections counts, too: four of them, and four that ask for the results.
case_resets()
{
	sync_barrier begin || exit 1
	forget
	serve
	connects smc 1 reset:8
	await_server_has counted 8
	connects tcp 1
	because 05000000/03008002
	serve_end
}

# What the server declines is not long because of the messages of the handshake.
case_declined()
{
	sync_barrier begin || exit 1
	forget
	short_below server 2000
	serve
	connects smc 8
	await_server_has counted 8
	connects tcp 20
	because 05000000/03008002
	serve_end
}

# Both hosts learn from the same connections, and both try again after the same time.
case_both()
{
	sync_barrier begin || exit 1
	forget
	short_below server $BYTES
	short_below client $BYTES
	serve
	connects smc 8
	connects tcp 1
	because 03008002/00000000
	! connecting || sleep 31
	connects smc 1
	connects tcp 1
	because 03008002/00000000
	serve_end
	short_below server 0
	short_below client 0
}

# A probe that finds no server says nothing: another one may try after autosmc_time.
case_refused()
{
	sync_barrier begin || exit 1
	forget
	short_below client $BYTES
	serve
	connects smc 8
	connects tcp 1
	serve_end
	if connecting; then
		sleep 31
		! /t/smc_traffic client --connect "$(peer_addr)" --port 4430 --family smc connects:1 \
			> /run/client 2>&1 || fail "there is no server"
		expect "entries" "$(known client)" -eq 1
	fi
	sync_barrier refused || exit 1
	serve
	connects tcp 1
	! connecting || sleep 11
	connects smc 1
	connects tcp 1
	serve_end
}

case_flushed()
{
	sync_barrier begin || exit 1
	forget
	expect "entries" "$(tail -n +2 $table | wc -l)" -eq 0
	serve
	connects smc 1
	serve_end
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	[ ! -e $table ] || fail "$table is left"
}
