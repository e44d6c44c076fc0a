# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# smc_run and smcctl on two hosts with a real SMC module, a script for selftests/vm/vm.py:
#   vm.py --script tools/test/vm_tools.sh --add tools/smc_run --add tools/libsmc_preload.so
#         --add tools/libsmc_verify.so --add tools/smcctl --add tools/test/sockprobe
#         --add selftests/smc_traffic [--module ours --ours DIR]
# Entry points: ipproto

CASES="module identity transfer kill verify rules replaced sizes zerocopy dumps check switch applicability rates:120 report:120 config ueid"
export CASES

PORT=7000
AS_TCP4='domain=2 protocol=6'

setup()
{
	setup_net && setup_rxe && load_smc
}

# json_values KEY ARGUMENT...: print the values of a key in JSON output of smcctl, without quotes
json_values()
{
	key_=$1
	shift
	/t/smcctl -j "$@" | sed -n "s/^ *\"$key_\": *\"*\([^\",]*\)\"*,*\$/\1/p"
}

listening()
{
	/t/smcctl sock -l port "$1" | grep -q LISTEN
}

# same NAME VALUE EXPECTED
same()
{
	[ "$2" = "$3" ] || fail "$1: expected '$3', got '$2'"
	echo "$1: $2"
}

case_module()
{
	/t/smcctl info || fail "smcctl info"
	same 'SMC-R version 2' "$(json_values smcr_v2 info)" true
	same 'name' "$(json_values name info)" AF_SMC
	same 'source version' "$(json_values srcversion info)" "$(cat /sys/module/smc/srcversion)"
	same 'versions of protocol and module' "$(json_values version info | tr '\n' ' ')" \
		"2 $(cat /sys/module/smc/version) "
	/t/smcctl device || fail "smcctl device"
	same 'device' "$(json_values device device)" rxe0
}

case_identity()
{
	same 'IPv4 socket' "$(/t/smc_run /t/sockprobe new,4,nonblock show)" \
		"ipproto $AS_TCP4 nonblock=1 cloexec=0"
	same 'IPv6 socket' "$(/t/smc_run /t/sockprobe new,6,cloexec show)" \
		"ipproto6 domain=10 protocol=6 nonblock=0 cloexec=1"
	same 'no library' "$(/t/sockprobe new,4 show)" "tcp $AS_TCP4 nonblock=0 cloexec=0"
	same 'nothing on stderr' "$(/t/smc_run /t/sockprobe new,4 new,6 2>&1)" ''
}

# check_smcss SIDE ROLE SHORT: the connection whose SIDE (local-port, peer-port) is PORT, in the output of
# smcss, and its TCP connection in INET_DIAG, by the same addresses
check_smcss()
{
	ln -sf /t/smcctl /tmp/smcss
	# awk of busybox takes numbers with leading zeros for octal
	same 'smcss -R' "$(/tmp/smcss -RW | sed '1d; s/ 0*\([1-9]\)/ \1/g' |
		awk '{ print $1, $3, $4, $5, $7, $8, $9, $10, $11 }')" \
		"ACTIVE $(json_values inode sock "$1" "$PORT") $(json_values local sock "$1" "$PORT") $(
		json_values peer sock "$1" "$PORT") SMCR $3 rxe0 $(json_values port sock "$1" "$PORT") $(
		json_values id sock "$1" "$PORT")"
	same 'smcss -d: token' "$(/tmp/smcss -d | awk 'NR > 1 { print "0x" $9 }')" \
		"$(json_values token sock "$1" "$PORT")"
	same 'smcss -D' "$(/tmp/smcss -D | sed 1d)" ''
	same 'smcss -l' "$(/tmp/smcss -l | awk 'NR > 1 { print $1, $4 }')" \
		"$([ "$2" = client ] || echo "LISTEN 0.0.0.0:$PORT")"
	same 'smcss -a' "$(/tmp/smcss -a | sed 1d | wc -l)" \
		$(($(/tmp/smcss | sed 1d | wc -l) + $(/tmp/smcss -l | sed 1d | wc -l)))
	same 'its TCP connection' "$(/t/smcctl applicability |
		awk -v port="$PORT" '$2 == port { print $3, $4, $7 }')" \
		"$2 1 smc"
}

case_transfer()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_run /t/sockprobe new,4 "bind,0.0.0.0,$PORT" listen accept show recv \
			send,pong file,/tmp/go > /tmp/server &
		server=$!
		wait_for 10 listening "$PORT" || fail "not listening"
		sync_signal ready
		sync_wait sent || fail "client"
		wait_for 10 grep -q ping /tmp/server || fail "no ping"
		/t/smcctl sock
		same 'mode at the server' "$(json_values mode sock local-port "$PORT")" SMCR
		same 'role at the server' "$(json_values role sock local-port "$PORT")" server
		same 'device' "$(json_values device sock local-port "$PORT")" rxe0
		check_smcss local-port server SERV
		touch /tmp/go
		wait "$server" || fail "server: $(cat /tmp/server)"
		same 'server' "$(cat /tmp/server)" "ipproto $AS_TCP4 nonblock=0 cloexec=1
ping"
	else
		sync_wait ready || fail "server"
		/t/smc_run /t/sockprobe new,4 "connect,$(peer_addr),$PORT" show send,ping recv \
			file,/tmp/go > /tmp/client &
		client=$!
		wait_for 20 grep -q pong /tmp/client & wait_pong=$!
		wait_for 20 established || fail "not connected"
		sync_signal sent
		wait "$wait_pong" || fail "no pong: $(cat /tmp/client)"
		/t/smcctl sock -v
		same 'mode at the client' "$(json_values mode sock peer-port "$PORT")" SMCR
		same 'role at the client' "$(json_values role sock peer-port "$PORT")" client
		check_smcss peer-port client CLNT
		touch /tmp/go
		wait "$client" || fail "client: $(cat /tmp/client)"
		same 'client' "$(cat /tmp/client)" "ipproto $AS_TCP4 nonblock=0 cloexec=0
pong"
	fi
	sync_barrier end
}

# Two connections, of which the host of the client ends one, and a listener. "file,/" does not wait,
# but flushes the output.
case_kill()
{
	killed=$((PORT + 6)) kept=$((PORT + 7)) alone=$((PORT + 8))
	if [ "$HOST" = 1 ]; then
		for port in $killed $kept; do
			/t/smc_run /t/sockprobe new,4 "bind,0.0.0.0,$port" listen accept send,hello \
				try,recv file,/ > "/tmp/server.$port" &
		done
		/t/smc_run /t/sockprobe new,4 "bind,0.0.0.0,$alone" listen try,accept \
			> "/tmp/server.$alone" &
		for port in $killed $kept $alone; do
			wait_for 10 listening "$port" || fail "not listening"
		done
		sync_signal ready
		sync_wait killed || fail "client"
		wait_for 10 grep -q . "/tmp/server.$killed" || fail "the killed one goes on"
		same 'server' "$(cat "/tmp/server.$killed")" 'recv: Connection reset by peer'
		same 'the other one is there' "$(json_values mode sock local-port "$kept")" SMCR
		same 'no listener without -a' "$(/t/smcctl -j sock kill local-port "$alone")" '[]'
		status 0 /t/smcctl -e -a sock kill inode "$(json_values inode -a sock local-port "$alone")"
		sync_signal seen
		wait
		same 'the other one' "$(cat "/tmp/server.$kept")" 'still here'
		same 'listener' "$(cat "/tmp/server.$alone")" 'accept: Invalid argument'
	else
		sync_wait ready || fail "server"
		/t/smc_run /t/sockprobe new,4 "connect,$(peer_addr),$killed" recv file,/ try,recv file,/ \
			> "/tmp/client.$killed" &
		/t/smc_run /t/sockprobe new,4 "connect,$(peer_addr),$kept" recv file,/tmp/kill \
			'send,still here' > "/tmp/client.$kept" &
		for port in $killed $kept; do
			wait_for 20 grep -q hello "/tmp/client.$port" || fail "no hello"
		done
		same 'modes' "$(json_values mode sock | tr '\n' ' ')" 'SMCR SMCR '
		status 3 /t/smcctl -e sock kill peer-port "$killed" local "$(peer_addr)"
		same 'not by another address' "$(json_values mode sock peer-port "$killed")" SMCR
		same 'ended' "$(json_values peer_port sock kill peer-port "$killed" peer "$(peer_addr)")" "$killed"
		wait_for 10 grep -q recv "/tmp/client.$killed" || fail "the killed one goes on"
		# ECONNABORTED, even if the peer's abort (ECONNRESET) comes first
		same 'client' "$(cat "/tmp/client.$killed")" 'hello
recv: Software caused connection abort'
		sync_signal killed
		sync_wait seen || fail "server"
		touch /tmp/kill
		wait
	fi
	sync_barrier end
}

# The report of --verify for an SMC-R connection, at both ends, and for one to a TCP server
case_verify()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_run --verify /t/sockprobe new,4 "bind,0.0.0.0,$((PORT + 4))" listen accept \
			recv send,pong > /tmp/server 2> /tmp/verdict &
		server=$!
		wait_for 10 listening $((PORT + 4)) || fail "not listening"
		sync_signal ready
		wait "$server" || fail "server: $(cat /tmp/server)"
		/t/sockprobe new,4 "bind,0.0.0.0,$((PORT + 5))" listen accept recv send,pong > /tmp/server &
		server=$!
		wait_for 10 tcp_listening $((PORT + 5)) || fail "not listening"
		sync_signal plain
		wait "$server" || fail "TCP server: $(cat /tmp/server)"
		grep -q ': SMC-R, server, on rxe0$' /tmp/verdict || fail "server: $(cat /tmp/verdict)"
		/t/smc_run --verify -j /t/sockprobe new,4 "bind,0.0.0.0,$((PORT + 6))" listen accept \
			recv send,pong > /tmp/server 2> /tmp/verdict.json &
		server=$!
		wait_for 10 listening $((PORT + 6)) || fail "not listening"
		sync_signal json
		wait "$server" || fail "server: $(cat /tmp/server)"
		grep -q '"mode":"SMCR","link":{"role":"server","device":"rxe0"}.*"smc":1}$' /tmp/verdict.json ||
			fail "server: $(cat /tmp/verdict.json)"
	else
		sync_wait ready || fail "server"
		/t/smc_run --verify /t/sockprobe new,4 "connect,$(peer_addr),$((PORT + 4))" send,ping \
			recv 2> /tmp/verdict > /dev/null
		grep -q ': SMC-R, client, on rxe0$' /tmp/verdict || fail "client: $(cat /tmp/verdict)"
		grep -q ': 1 of 1 connections by SMC-R$' /tmp/verdict || fail "client: $(cat /tmp/verdict)"
		sync_wait plain || fail "TCP server"
		/t/smc_run --verify /t/sockprobe new,4 "connect,$(peer_addr),$((PORT + 5))" send,ping \
			recv 2> /tmp/verdict > /dev/null
		grep -q ': TCP: .* (03010000)$' /tmp/verdict || fail "fallback: $(cat /tmp/verdict)"
		grep -q ': 0 of 1 connections by SMC-R$' /tmp/verdict || fail "client: $(cat /tmp/verdict)"
		sync_wait json || fail "server"
		/t/smc_run --verify -j /t/sockprobe new,4 "connect,$(peer_addr),$((PORT + 6))" send,ping \
			recv 2> /tmp/verdict.json > /dev/null
		grep -q '"mode":"SMCR","link":{"role":"client","device":"rxe0"}.*"smc":1}$' /tmp/verdict.json ||
			fail "client: $(cat /tmp/verdict.json)"
	fi
	cat /tmp/verdict
	sync_barrier end
}

tcp_listening()
{
	grep -q "^ *[0-9]*: 00000000:$(printf %04X "$1") .* 0A " /proc/net/tcp
}

established()
{
	[ "$(json_values peer_port sock peer-port "$PORT")" = "$PORT" ]
}

# A server with SMC, and a client that must not use SMC
case_rules()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_run /t/sockprobe new,4 "bind,0.0.0.0,$((PORT + 1))" listen accept recv \
			send,pong > /tmp/server &
		server=$!
		wait_for 10 listening $((PORT + 1)) || fail "not listening"
		sync_signal ready
		wait "$server" || fail "server: $(cat /tmp/server)"
		same 'server' "$(cat /tmp/server)" ping
	else
		sync_wait ready || fail "server"
		same 'excluded client' "$(/t/smc_run -x "addr=$(peer_addr)" /t/sockprobe new,4 \
			"connect,$(peer_addr),$((PORT + 1))" show send,ping recv)" \
			"tcp $AS_TCP4 nonblock=0 cloexec=0
pong"
	fi
	sync_barrier end
}

# A real SMC socket is replaced: options, epoll set, local port (within one host)
case_replaced()
{
	excluded="/t/smc_run -x port=9 -x on=listen /t/sockprobe"
	same 'options' "$($excluded new,4,nonblock set,6,1,1 set,1,9,1 set,6,4,77 set,0,1,16 \
		timeout,33 try,connect,127.0.0.1,9 show get,6,1 get,1,9 get,6,4 get,0,1 \
		gettimeout)" "tcp $AS_TCP4 nonblock=1 cloexec=0
1
1
77
16
33"
	same 'buffer size that the program set' "$($excluded new,4 set,1,8,20000 \
		try,connect,127.0.0.1,9 get,1,8)" 40000
	same 'buffer size that it did not set' "$($excluded new,4 try,connect,127.0.0.1,9 \
		get,1,8)" "$(/t/sockprobe new,4 get,1,8)"
	same 'local port' "$($excluded new,4 bind,127.0.0.1,0 mode keepport listen mode \
		keepport,check)" "smc
tcp
same port"
	same 'epoll set' "$(/t/smc_run -x on=connect /t/sockprobe new,4 listen other \
		new,4,nonblock epoll try,connect,127.0.0.1,@ mode wait)" "tcp
1 writable=1 cookie=1"
	same 'connected socket stays' "$(/t/smc_run -x addr=127.0.0.9 /t/sockprobe new,4 listen \
		other new,4 connect,127.0.0.1,@ try,connect,127.0.0.9,9 send,same other accept \
		recv)" "connect: Transport endpoint is already connected
same"
	same 'listening socket stays' "$(/t/smc_run -x addr=127.0.0.9 /t/sockprobe new,4 listen \
		try,connect,127.0.0.9,9 mode | tail -n 1)" smc
}

case_sizes()
{
	same '-r' "$(/t/smc_run -r 300k /t/sockprobe new,4 get,1,8 2>&1)" 614400
	same '-t' "$(/t/smc_run -t 100k /t/sockprobe new,4 get,1,7 2>&1)" 204800
}

# SO_ZEROCOPY: also where the kernel refuses it to SMC sockets
case_zerocopy()
{
	for entry in inet smc; do
		same "$entry" "$(/t/smc_run -f "$entry" /t/sockprobe new,6 get,1,60 set,1,60,1 get,1,60 \
			show 2>&1)" "0
1
$(/t/smc_run -f "$entry" /t/sockprobe new,6 show)"
	done
}

# Runs after case_transfer: there was traffic, and the group still exists.
case_dumps()
{
	/t/smcctl linkgroup || fail "smcctl linkgroup"
	/t/smcctl link || fail "smcctl link"
	/t/smcctl stats || fail "smcctl stats"
	[ "$HOST" = 1 ] && role=server || role=client
	same 'role of the group' "$(json_values role linkgroup)" "$role"
	same 'device of the link' "$(json_values device link | head -n 1)" rxe0
	same 'state of the link' "$(json_values state link | head -n 1)" active
	expect 'bytes sent' "$(json_values tx_bytes stats | head -n 1)" -ge 4
	expect 'bytes received' "$(json_values rx_bytes stats | head -n 1)" -ge 4
	[ -n "$(json_values reason_text stats)" ] || fail "no reason, but a fallback in case_rules"
}

# status EXPECTED COMMAND...: check the exit status, print the output
status()
{
	want_=$1
	shift
	"$@"
	got_=$?
	[ "$got_" = "$want_" ] || fail "$*: status $got_, not $want_"
}

# A server with SMC and one without; smcctl check on the other host
case_check()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_run /t/sockprobe new,4 "bind,0.0.0.0,$((PORT + 2))" listen accept \
			file,/tmp/checked &
		/t/sockprobe new,4 "bind,0.0.0.0,$((PORT + 3))" listen accept file,/tmp/checked &
		wait_for 10 listening $((PORT + 2)) || fail "not listening"
		wait_for 10 tcp_listens $((PORT + 3)) || fail "not listening with TCP"
		sync_signal ready
		sync_wait checked || fail "client"
		touch /tmp/checked
		wait
	else
		sync_wait ready || fail "server"
		status 0 /t/smcctl check "$(peer_addr)"
		same 'Soft-RoCE' "$(json_values faster check "$(peer_addr)")" false
		same 'without a connection' "$(json_values verdict check "$(peer_addr)")" possible
		same 'with SMC' "$(json_values verdict check "$(peer_addr)" $((PORT + 2)))" smc
		status 3 /t/smcctl check "$(peer_addr)" $((PORT + 3))
		status 1 /t/smcctl check "$(peer_addr)" $((PORT + 9))
		echo 0 > /proc/sys/net/smc/enabled
		same 'switched off' "$(json_values reason check "$(peer_addr)")" 0x03000000
		echo 1 > /proc/sys/net/smc/enabled
		sync_signal checked
	fi
	sync_barrier end
}

# serve PORT, hold NAME PORT MODE: the two ends of a connection with this mode, which says hello at
# once, and ping and pong when /tmp/switched exists at the client
serve()
{
	/t/smc_run /t/sockprobe new,4 "bind,0.0.0.0,$1" listen accept send,hello recv send,pong \
		> "/tmp/server.$1" &
	wait_for 10 listening "$1" || fail "not listening"
}

hold()
{
	: > "/tmp/client.$2"
	/t/smc_run /t/sockprobe new,4 "connect,$(peer_addr),$2" recv file,/tmp/switched send,ping \
		recv > "/tmp/client.$2" &
	wait_for 20 grep -q hello "/tmp/client.$2" || fail "no hello from $2"
	same "$1" "$(json_values mode sock peer-port "$2")" "$3"
}

# The client's host is switched off and on again, then the server's. The first connection outlives it
# all.
case_switch()
{
	first=$((PORT + 10))
	if [ "$HOST" = 1 ]; then
		for port in 0 1 2 3 4; do
			serve $((first + port))
		done
		sync_signal ready
		sync_wait client_done || fail "client"
		same 'disable' "$(/t/smcctl disable)" \
			'New connections use TCP; 2 stay on SMC until they are closed.'
		sync_signal off
		sync_wait server_off_done || fail "client"
		status 0 /t/smcctl enable
		sync_signal on
		wait
		same 'all of them ended well' "$(cat /tmp/server.701[0-4] | tr '\n' ' ')" \
			'ping ping ping ping ping '
	else
		sync_wait ready || fail "server"
		rm -f /tmp/switched
		hold 'before' "$first" SMCR
		same 'disable' "$(/t/smcctl disable)" \
			'New connections use TCP; 1 stay on SMC until they are closed.'
		hold 'switched off here' $((first + 1)) TCP
		same 'the reason' "$(json_values reason sock peer-port $((first + 1)))" 0x03000000
		same 'enable' "$(/t/smcctl enable)" 'New connections may use SMC; 1 use it.'
		hold 'switched on again' $((first + 2)) SMCR
		sync_signal client_done
		sync_wait off || fail "server"
		hold 'switched off there' $((first + 3)) TCP
		sync_signal server_off_done
		sync_wait on || fail "server"
		hold 'switched on there' $((first + 4)) SMCR
		same 'the first one' "$(json_values mode sock peer-port "$first")" SMCR
		touch /tmp/switched
		wait
		same 'pongs' "$(cat /tmp/client.701* | grep -c pong)" 5
	fi
	sync_barrier end
}

# A TCP connection of a program that does not use SMC, between hosts that support SMC
case_applicability()
{
	if [ "$HOST" = 1 ]; then
		/t/sockprobe new,4 "bind,0.0.0.0,$((PORT + 9))" listen accept recv \
			file,/tmp/applied > /dev/null &
		wait_for 10 tcp_listens $((PORT + 9)) || fail "not listening"
		sync_signal ready
		sync_wait applied || fail "client"
		touch /tmp/applied
		wait
	else
		sync_wait ready || fail "server"
		/t/sockprobe new,4 "connect,$(peer_addr),$((PORT + 9))" send,12345678 \
			file,/tmp/applied &
		wait_for 10 sent_eight || fail "$(/t/smcctl applicability)"
		/t/smcctl applicability
		touch /tmp/applied
		sync_signal applied
		wait
	fi
	sync_barrier end
}

tcp_listens()
{
	netstat -ltn | grep -q ":$1 "
}

sent_eight()
{
	/t/smcctl applicability | grep -q "^[0-9.]*/24 *$((PORT + 9)) *client *1 *8 *0 *possible "
}

# talk SUBTEST: a server on host 1 and a client on host 2, which end with untalk
talk()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc > /tmp/talk 2>&1 &
		talkers=$!
		wait_for 10 tcp_listens 4430 || fail "no server"
		sync_signal up
	else
		sync_wait up || exit 1
		talk_more "$1"
	fi
}

# talk_more SUBTEST: another client
talk_more()
{
	/t/smc_traffic client --connect "$(peer_addr)" --family smc --require smc "$1" \
		>> /tmp/talk 2>&1 &
	talkers="$talkers $!"
}

untalk()
{
	kill_all "$talkers"
	talkers=
}

sum()
{
	awk '{ n += $1 } END { print n + 0 }'
}

# has_paused: "idle" has its first 256 KiB in each direction, and all is read and acknowledged
has_paused()
{
	[ "$(json_values rx_bytes sock -s | sum)" -ge 262144 ] &&
		[ "$(json_values tx_bytes sock -s | sum)" -ge 262144 ] &&
		[ "$(json_values tx_queue sock -s | sum)" = 0 ] &&
		[ "$(json_values rx_queue sock -s | sum)" = 0 ]
}

# rates_by SUM NAMES CONNECTIONS: one reading of "watch by SUM"; the sums have these names (one a line) and
# numbers of connections, and bytes flow
rates_by()
{
	/t/smcctl -j watch by "$1" 1 1 > /tmp/watch || fail "watch by $1"
	cat /tmp/watch
	same "lines by $1" "$(wc -l < /tmp/watch)" 1
	sed 's/[{}]/\n/g' /tmp/watch | grep '"connections"' > /tmp/rates
	same "names by $1" "$(sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" /tmp/rates | sort)" "$2"
	same "connections by $1" "$(sed -n 's/.*"connections": *\([0-9]*\).*/\1/p' /tmp/rates | xargs)" "$3"
	for d in tx rx; do
		expect "$d bytes by $1" "$(sed -n "s/.*\"${d}_bytes_per_second\": *\([0-9]*\).*/\1/p" /tmp/rates |
			sum)" -gt 0
	done
}

both_flow()
{
	[ "$(json_values tx_bytes sock -s | wc -l)" = 2 ] &&
		[ "$(json_values tx_bytes sock -s | sum)" -gt 1048576 ]
}

# A connection that pauses: its statistics are what the counters of the module have got. Then one more,
# a stream: rates by each sum.
case_rates()
{
	before
	talk idle:300
	wait_for 60 has_paused || fail "$(/t/smcctl sock -s)"
	sync_barrier paused || exit 1
	for c in tx_bytes rx_bytes; do
		same "$c" "$(json_values $c sock -s)" "$(grown $c)"
	done
	same 'repeated bytes' "$(json_values tx_again_bytes sock -s)" "$(grown tx_again_bytes)"
	sync_barrier compared || exit 1
	[ "$HOST" = 1 ] || talk_more stream:100000
	wait_for 60 both_flow || fail "$(/t/smcctl sock -s)"
	json_values local sock -s > /tmp/local
	json_values peer sock -s > /tmp/peer
	rates_by connection "$(paste -d ' ' /tmp/local /tmp/peer | sort)" '1 1'
	rates_by peer "$(peer_addr)" 2
	rates_by link "rxe0/1 $(json_values peer_gid link) link $(json_values id sock -s | sort -u)" 2
	sync_barrier rated || exit 1
	untalk
	status 0 /t/smcctl watch 1 2
	status 0 /t/smcctl -o /tmp/smc.prom prometheus
	same 'up' "$(sed -n 's/^smc_up //p' /tmp/smc.prom)" 1
	same 'bytes' "$(sed -n 's/^smc_transmit_bytes_total //p' /tmp/smc.prom)" \
		"$(sed -n 's/^tx_bytes //p' /proc/net/smc_stat)"
	same 'switches' "$(sed -n 's/^smc_link_switches_total //p' /tmp/smc.prom)" \
		"$(sed -n 's/^conn_move //p' /proc/net/smc_stat)"
}

# json_valid FILE: strings, numbers and words become v, then each list and object of them, until one is left
json_valid()
{
	same "$1 as JSON" "$(tr -d '\n' < "$1" | sed -E 's/"([^"\\]|\\.)*"/s/g; s/[[:space:]]//g
		s/-?[0-9]+(\.[0-9]+)?|true|false|null/v/g
		:again
		s/\{(s:[sv](,s:[sv])*)?\}|\[([sv](,[sv])*)?\]/v/g
		t again')" v
}

REPORT="autosmc.txt conf.txt counters.txt device.json holders.json info.json kernel.txt link.json linkgroup.json
	log.txt module.txt negcache.txt netdev.txt pnet.json policy.json rdma.txt setting.json sock.json
	stats.json ueid.json"

# The archive of a host with a connection
case_report()
{
	talk idle:300
	wait_for 60 has_paused || fail "$(/t/smcctl sock -s)"
	rm -rf /tmp/report && mkdir /tmp/report || exit 1
	same 'report' "$(/t/smcctl report /tmp/report/tar)" \
		"/tmp/report/tar: 20 files. They name hosts, addresses and programs: look before you send it."
	same 'for its owner only' "$(stat -c %a /tmp/report/tar)" 600
	tar -xf /tmp/report/tar -C /tmp/report || fail "tar: $?"
	cd /tmp/report/smc-report || exit 1
	same 'files' "$(find . -type f | sed 's,^./,,' | sort | xargs)" "$(echo "$REPORT" | xargs)"
	for f in *.json; do
		json_valid "$f"
	done
	for f in counters.txt kernel.txt log.txt module.txt netdev.txt rdma.txt; do
		[ -s "$f" ] || fail "$f is empty"
	done
	grep -q 'smc: ' log.txt || fail "nothing of the module in log.txt: $(head -n 3 log.txt)"
	grep -q "^tx_bytes $(stat_of tx_bytes)\$" counters.txt || fail "no counters"
	token=$(json_values token sock)
	same 'a token' "$(echo "$token" | grep -c '^0x[0-9a-f]\{8\}$')" 1
	[ "$token" != 0x00000000 ] || fail "no token to look for"
	! grep -ri "${token#0x}" . || fail "the report has the token $token"
	# (stats.json has counters of requests about keys)
	! grep -Ei '"(token|[lr]?key|secret)": *"?(0x)?0*[1-9a-f]' ./*.json || fail "the report has a key"
	same 'the connection' "$(sed -n 's/^ *"rmbe_size": *\([0-9]*\),*$/\1/p' sock.json)" \
		"$(json_values rmbe_size sock)"
	cd /
	sync_barrier reported || exit 1
	untalk
	sync_barrier end
}

case_config()
{
	/t/smcctl ueid flush
	/t/smcctl ueid add SAVED.1 || fail "ueid add"
	/t/smcctl ueid add SAVED.2 || fail "ueid add"
	/t/smcctl pnet add NET1 netdev eth0 ibdev rxe0 || fail "pnet add"
	/t/smcctl pnet add NET2 netdev later || fail "pnet add"
	status 0 /t/smcctl setting set wmem 131072
	status 1 /t/smcctl setting set wmem 1
	/t/smcctl setting > /tmp/setting
	/t/smcctl ueid > /tmp/ueid
	/t/smcctl pnet > /tmp/pnet
	status 0 /t/smcctl save /tmp/smc.conf
	cat /tmp/smc.conf
	/t/smcctl ueid flush
	/t/smcctl pnet flush
	/t/smcctl setting set wmem 65536
	same 'nothing is left' "$(/t/smcctl -j pnet)" '[]'
	status 0 /t/smcctl restore /tmp/smc.conf
	same 'settings' "$(/t/smcctl setting)" "$(cat /tmp/setting)"
	same 'wmem' "$(cat /proc/sys/net/smc/wmem)" 131072
	same 'UEIDs' "$(/t/smcctl ueid)" "$(cat /tmp/ueid)"
	same 'PNET IDs' "$(/t/smcctl pnet)" "$(cat /tmp/pnet)"
	status 0 /t/smcctl restore /tmp/smc.conf
	same 'PNET IDs once more' "$(/t/smcctl pnet)" "$(cat /tmp/pnet)"
	echo 'pnet add NET3 netdev lo' > /tmp/smc.conf
	echo 'pnet add' >> /tmp/smc.conf
	status 2 /t/smcctl restore /tmp/smc.conf
	same 'a bad file does nothing' "$(/t/smcctl pnet)" "$(cat /tmp/pnet)"
	/t/smcctl pnet flush
}

case_ueid()
{
	/t/smcctl ueid add TEST.UEID-1 || fail "add"
	/t/smcctl ueid add TEST.UEID-1 2> /tmp/err && fail "added twice"
	grep -q 'there already' /tmp/err || fail "wrong text: $(cat /tmp/err)"
	same 'show' "$(/t/smcctl ueid | grep TEST)" TEST.UEID-1
	/t/smcctl ueid del TEST.UEID-1 || fail "del"
	/t/smcctl ueid del TEST.UEID-1 2> /tmp/err && fail "deleted twice"
	grep -q 'there is no' /tmp/err || fail "wrong text: $(cat /tmp/err)"
	for i in 1 2 3 4 5; do
		/t/smcctl ueid add "FILL$i" 2> /tmp/err || break
	done
	grep -q 'full' /tmp/err || fail "wrong text: $(cat /tmp/err)"
	/t/smcctl ueid flush || fail "flush"
	same 'empty' "$(/t/smcctl ueid)" ''
}
