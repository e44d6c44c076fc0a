# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Upgrade in place (net.smc.upgrade_bytes): connections begin as TCP and change over to RDMA in
# mid-stream, while programs at both ends write, read, peek, wait and close, and compare every byte.
# Host 2 connects, host 1 serves. Which connections changed is counted by the modules of both hosts.
#
#   BYTES     threshold (default: 20000)
#   SEED      of the moments of "killed" (printed)
#   RATE      rate of the network, for virtual time: there a transfer over a network without one ends in
#             the moment in which it begins, before a request is answered (default: none)
#   PATIENCE  ms in which a transfer must make progress
#   UPGRADE_OF  names of cases, all by default; the first ones teach which server can. "failover" is by
#             name only, and needs two links

: "${BYTES:=20000}"
: "${PATIENCE:=30000}"
: "${RATE:=}"

all="off:60 plain:60 taught:60 tcp:60 stream:240 random:240 pingpong:240 urgent:240 parallel:240 first:240 peek:240 pages:240
	halfclose:120 reset:120 connects:120 idle:60 charged:120 linkdown:120 killed:300 denied:120
	counted:120 limited:240 experience:120
	device:120 linklocal:120 reported:240 userns:30 unload:60"
CASES=${UPGRADE_OF:-$all}
export CASES

setup()
{
	if [ "$LINKS" -gt 1 ]; then
		setup_net_same && setup_rxe && load_smc || return 1
		for l in 0 1; do
			/t/smcctl pnet add NET1 netdev "eth$l" ibdev "rxe$l" || return 1
		done
	else
		setup_net && setup_rxe && load_smc || return 1
	fi
	[ -n "$RATE" ] || return 0
	modprobe sch_netem || return 1
	for l in $(seq 0 $((LINKS - 1))); do
		tc qdisc add dev "eth$l" root netem rate "$RATE" limit 10000 || return 1
	done
}

# threshold BYTES: on both hosts
threshold()
{
	echo "$1" > /proc/sys/net/smc/upgrade_bytes || fail "upgrade_bytes"
}

family=smc	# of the client
served=smc	# of the server
bound=		# options of the server
within=		# command that runs the client
to=$(peer_addr 0)

# traffic [OPTION...] SUBTEST...: verified connections, whatever carries them
# shellcheck disable=SC2153 # CASE is set by main.sh
traffic()
{
	turn=$((${turn:-0} + 1))
	if [ "$HOST" = 1 ]; then
		# shellcheck disable=SC2086 # several words, or none
		/t/smc_traffic server --family "$served" $bound --timeout "$PATIENCE" &
		server=$!
		await_server 4430
		sync_signal "up.$CASE.$turn"
		wait "$server" || fail "server ended with $?"
	else
		sync_wait "up.$CASE.$turn" > /dev/null || exit 1
		$within /t/smc_traffic client --connect "$to" --family "$family" --wait 30 --quit \
			--timeout "$PATIENCE" "$@" || fail "client ended with $?"
	fi
}

# all_deferred: no connection had a handshake, or is a fallback: what RDMA carried came by upgrades.
# A server is forgotten, and the next connection to it has a handshake, when it did not know three in a
# row, which were over when it was asked. Two of them may be of the case before.
all_deferred()
{
	expect "handshakes" "$(($(grown clnt_smc) + $(grown srv_smc)))" -le $((($(grown upgrade_unknown) + 2) / 3))
	expect "fallbacks" "$(($(grown clnt_fback) + $(grown srv_fback)))" -eq 0
}

# Each request has one end.
balanced()
{
	[ "$(grown upgrade_asked)" -eq \
		"$(($(grown upgraded) + $(grown upgrade_refused) + $(grown upgrade_withdrawn)))" ] &&
	[ "$(grown upgrade_refused)" -eq "$(($(grown upgrade_unknown) + $(grown upgrade_later) +
		$(grown upgrade_excluded) + $(grown upgrade_memory)))" ]
}

# show: the counters of the case
show()
{
	shown=
	for s in deferred upgrade_asked upgrade_unknown upgrade_later upgrade_excluded upgrade_memory \
		upgrade_withdrawn upgraded upgrade_tcp_bytes tx_write_bytes; do
		shown="$shown $s=$(grown $s)"
	done
	diag "$shown"
}

# changed MIN [BYTES]: all connections began as TCP, at least so many have changed over, and RDMA
# carried so many bytes from here
changed()
{
	wait_for 10 balanced || fail "asked is not refused + withdrawn + upgraded"
	show
	all_deferred
	expect "upgraded" "$(grown upgraded)" -ge "$1"
	expect "bytes by RDMA WRITE" "$(grown tx_write_bytes)" -ge "${2:-1}"
	expect "malformed CDC" "$(grown rx_cdc_bad)" -eq 0
}

# Nobody is asked, and nothing is announced.
case_off()
{
	before
	traffic connects:3
	expect "deferred" "$(grown deferred)" -eq 0
	expect "UPGRADE messages" "$(($(grown tx_upgrade) + $(grown rx_upgrade)))" -eq 0
}

# A client without SMC stays a fallback for the server, whatever the setting says.
case_plain()
{
	threshold "$BYTES"
	# the old group has not announced it
	forget_groups
	before
	family=inet
	traffic connects:3
	family=smc
	expect "deferred" "$(grown deferred)" -eq 0
	# those of the client that waits and that ends the server are two more
	[ "$HOST" = 2 ] || expect "fallbacks" "$(grown srv_fback)" -eq 5
}

# After a rendezvous with a peer that can, the next connections begin as TCP, and none is a fallback.
case_taught()
{
	before
	traffic connects:8
	show
	expect "handshakes" "$(($(grown clnt_smc) + $(grown srv_smc)))" -eq 1
	expect "deferred" "$(grown deferred)" -eq 9
	expect "fallbacks" "$(($(grown clnt_fback) + $(grown srv_fback)))" -eq 0
}

# forget_groups: the next connection is a first contact
forget_groups()
{
	forgets=$((${forgets:-0} + 1))
	sync_barrier "forget.$CASE.$forgets" || exit 1
	if ! unload_smc || ! load_smc; then
		fail "the module cannot be loaded again"
	fi
	threshold "$BYTES"
	sync_barrier "forgot.$CASE.$forgets" || exit 1
}

# Below the threshold all stay TCP.
case_tcp()
{
	threshold 4000000000
	before
	traffic stream:2 random:1 pingpong:10
	expect "deferred" "$(grown deferred)" -ge 3
	expect "upgraded" "$(grown upgraded)" -eq 0
	threshold "$BYTES"
}

# watch_tcp_bytes: until /run/stream.end notes what a connection shows that has changed over both ways
watch_tcp_bytes()
{
	while [ ! -e /run/stream.end ]; do
		# (the line has to end: read fails otherwise)
		{ /t/smcctl -j sock --stats | tr -d ' \n'; echo; } |
			sed -n 's/.*"tcp_tx_bytes":\([0-9]*\),"tcp_rx_bytes":\([0-9]*\).*/\1 \2/p' \
			> /run/stream.now
		[ ! -s /run/stream.now ] || mv /run/stream.now /run/stream.bytes
		sleep 0.05
	done
}

case_stream()
{
	before
	rm -f /run/stream.end /run/stream.bytes
	watch_tcp_bytes &
	watcher=$!
	traffic stream:16
	touch /run/stream.end
	wait "$watcher"
	changed 1 8388608
	# it alone has changed over: the others carry less than the threshold
	read -r sent got < /run/stream.bytes || fail "no connection shows what TCP has carried"
	expect "bytes over TCP, $sent sent and $got received" "$((sent + got))" -eq \
		"$(grown upgrade_tcp_bytes)"
}

case_random()
{
	before
	traffic random:4
	changed 1 1048576
}

case_pingpong()
{
	before
	traffic pingpong:100
	changed 1
}

case_urgent()
{
	before
	traffic urgent:20
	changed 1
}

case_parallel()
{
	before
	traffic parallel:32
	changed 8
}

# A request after the first byte, with each style of waiting: non-blocking ones have edges, too.
case_first()
{
	threshold 1
	before
	traffic --io all stream:2 random:1
	changed 3
	threshold "$BYTES"
}

case_peek()
{
	threshold 1
	before
	traffic --peek --io all stream:2 random:1
	traffic --peek parallel:32
	changed 8
	threshold "$BYTES"
}

case_pages()
{
	before
	traffic --pages stream:8
	changed 1 1048576
}

case_halfclose()
{
	threshold 1
	before
	traffic halfclose:1024
	changed 1 262144
	threshold "$BYTES"
}

case_reset()
{
	threshold 1
	before
	# else the reset comes before the answer
	traffic --pause 200 reset:2097152
	# the client has written its requests alone, over TCP
	changed 2 $((2 - HOST))
	threshold "$BYTES"
}

case_connects()
{
	threshold 1
	before
	traffic connects:200
	wait_for 10 balanced || fail "asked is not refused + withdrawn + upgraded"
	show
	expect "connections" "$(($(grown deferred) + $(grown clnt_smc) + $(grown srv_smc)))" -eq 202
	expect "deferred" "$(grown deferred)" -ge 100
	expect "fallbacks" "$(($(grown clnt_fback) + $(grown srv_fback)))" -eq 0
	expect "malformed CDC" "$(grown rx_cdc_bad)" -eq 0
	threshold "$BYTES"
}

# Both programs are silent when the client asks, so no call of theirs shuts the gate.
case_idle()
{
	local total=524288	# bytes of either of the two transfers around the pause

	threshold "$total"
	before
	traffic idle:2
	# the second transfer goes by RDMA, all of it
	changed 1 $((total / 2))
	expect "bytes before the change" "$(grown upgrade_tcp_bytes)" -ge "$total"
	threshold "$BYTES"
}

# in_group COMMAND...: executes it in a cgroup of its own
in_group()
{
	mkdir -p /sys/fs/cgroup/upgraded
	# shellcheck disable=SC2016 # $0 and $@ are those of the inner shell
	sh -c 'echo 0 > /sys/fs/cgroup/upgraded/cgroup.procs && exec "$@"' sh "$@"
}

# kernel_kib: memory of the kernel that the cgroup is charged for
kernel_kib() { awk '$1 == "kernel" { print int($2 / 1024) }' /sys/fs/cgroup/upgraded/memory.stat; }

# The rings of upgraded connections are charged to the client's cgroup, those of a first contact aside.
case_charged()
{
	forget_groups
	traffic connects:2
	before
	if [ "$HOST" = 2 ]; then
		echo +memory > /sys/fs/cgroup/cgroup.subtree_control || fail "no memory controller"
		mkdir -p /sys/fs/cgroup/upgraded
		(
			most=0
			while [ ! -e /run/charged.end ]; do
				now=$(kernel_kib)
				[ "$now" -le "$most" ] || most=$now
				echo "$most" > /run/charged.kib
				sleep 0.1
			done
		) &
		sampler=$!
	fi
	within=in_group
	traffic parallel:32
	within=
	if [ "$HOST" = 2 ]; then
		touch /run/charged.end
		wait "$sampler"
		diag "$(cat /run/charged.kib) KiB charged"
		# an RMBE and a ring of 64 KiB each, at least, for those that had changed over at a time
		expect "KiB charged" "$(cat /run/charged.kib)" -ge 4096
	fi
	# as many as a group's requests at a time, at least
	changed 8
}

# The link is lost in the middle of streams: upgraded connections end, and none hangs.
case_linkdown()
{
	before
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --timeout "$PATIENCE" > /run/server 2>&1 &
		server=$!
		await_server 4430
		sync_signal "up.$CASE"
		sync_wait "done.$CASE" 100 > /dev/null || exit 1
		# not hung, nor dead: it serves the next one
		kill -0 "$server" || fail "the server has ended: $(tail -2 /run/server)"
		kill "$server"
		wait "$server" 2> /dev/null
		grep -i "bad\|EILSEQ" /run/server && fail "bytes"
		return 0
	fi
	sync_wait "up.$CASE" > /dev/null || exit 1
	/t/smc_traffic client --connect "$(peer_addr 0)" --family smc --wait 30 \
		--timeout "$PATIENCE" stream:512 > /run/client 2>&1 &
	client=$!
	wait_for 20 has_upgraded || fail "not upgraded"
	for id in $(/t/smcctl linkgroup | awk 'NR > 1 { print $1 }'); do
		/t/smcctl linkgroup del "$id" now
	done
	began=$(uptime_s)
	! wait "$client" || fail "the stream went on without its group"
	diag "$(grep -v "^ok" /run/client | tail -4 | tr "\n" " ")"
	# the operator of this host has ended it: not for want of progress, and not with an end of file
	grep -q ECONNABORTED /run/client || fail "no ECONNABORTED"
	expect "seconds until the end" "$(($(uptime_s) - began))" -lt 20
	sync_signal "done.$CASE"
}

two_links() { [ "$(/t/smcctl link | awk 'NR > 1 && $3 == "active"' | wc -l)" -eq 2 ]; }

# lose_rxe1 N: when N connections have changed over, so that others are about to
lose_rxe1()
{
	until [ "$(grown upgraded)" -ge "$1" ]; do
		sleep 0.01
	done
	/usr/sbin/rdma link delete rxe1
}

# Host 2 loses the RNIC of one of two links, three times, while connections change over: GO, S, S_ACK and
# requests may be lost with it, and none of the connections ends. TCP runs over the other network.
case_failover()
{
	threshold "$BYTES"
	sync_barrier "threshold.$CASE" || exit 1
	traffic connects:2
	before
	for round in 1 2 3; do
		wait_for 60 two_links || fail "round $round: not two links: $(/t/smcctl link)"
		sync_barrier "links.$CASE.$round" 100 || exit 1
		if [ "$HOST" = 2 ]; then
			lose_rxe1 $(($(grown upgraded) + 8)) &
			loser=$!
		fi
		traffic parallel:32
		[ "$HOST" = 1 ] || {
			wait "$loser" || fail "round $round: rxe1 was not lost"
			add_rxe 1 eth1 || fail "no rxe1"
			wait_for 20 port_active rxe1 || fail "rxe1 stays down"
		}
	done
	changed 32
	# the other host may have removed its end by DELETE LINK before it failed
	expect "links lost" "$(($(grown link_fail) + $(grown link_del)))" -ge 3
	expect "connections that left them" "$(grown conn_move)" -ge 3
}

has_upgraded() { [ "$(grown upgraded)" -gt 0 ]; }

# named FILE COMMAND...: its PID is in FILE.pid, at its end its exit code in FILE.rc
named()
{
	named_=$1
	shift
	rm -f "$named_.rc"
	# shellcheck disable=SC2016 # of the inner shell
	sh -c 'echo $$ > "$0.pid"; exec "$@"' "$named_" "$@" > "$named_.out" 2>&1
	echo $? > "$named_.rc"
}

# pick N: $picked is a random number below N
pick()
{
	SEED=$(((SEED * 1103515245 + 12345) & 0x7fffffff))
	picked=$((SEED / 65536 % $1))
}

# Listeners are no sockets here. TCP connections in TIME_WAIT are over.
no_sockets()
{
	[ "$(/t/smcctl sock | wc -l)" -le 1 ] &&
	! awk '$2 ~ /:114E$/ || $3 ~ /:114E$/ { print $4 }' /proc/net/tcp | grep -qv '0A\|06'
}

# strike kill|destroy FILE: at a random moment behind one of the first requests
strike()
{
	pick 8
	until [ "$(grown upgrade_asked)" -gt "$picked" ]; do
		usleep 500
	done
	pick 3000
	usleep "$picked"
	under_way=$(($(grown upgrade_asked) - $(grown upgraded) - $(grown upgrade_refused) -
		$(grown upgrade_withdrawn)))
	if [ "$1" = kill ]; then
		kill -KILL "$(cat "$2.pid")"
	else
		/t/smcctl sock kill port 4430 > /dev/null || fail "smcctl sock kill"
	fi
	diag "$1: $(grown upgraded) had changed over, $under_way requests were under way"
}

# A process dies by SIGKILL, or all its sockets by SOCK_DESTROY, while connections change over. Both ends get to know it in
# time, nothing is left of the connections, and the group stays. The programs themselves would wait longer.
case_killed()
{
	: "${SEED:=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}"
	if [ "$HOST" = 1 ]; then
		sync_signal seed "$SEED"
	else
		SEED=$(sync_wait seed) || exit 1
	fi
	diag "SEED=$SEED"
	threshold "$BYTES"
	# the group of the case before may be gone
	traffic connects:2
	cp /proc/net/smc_stat /run/stat.killed
	for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
		act=destroy
		[ $((round % 4)) -ge 2 ] || act="kill"
		actor=$((round % 2 + 1))
		before
		if [ "$HOST" = 1 ]; then
			program=/run/server
			named $program /t/smc_traffic server --family smc --timeout 60000 &
			await_server
			sync_signal "up.$round"
		else
			program=/run/client
			sync_wait "up.$round" > /dev/null || exit 1
			named $program /t/smc_traffic client --connect "$to" --family smc --wait 30 \
				--timeout 60000 parallel:32 &
		fi
		[ "$HOST" != "$actor" ] || strike $act $program
		sync_barrier "struck.$round" || exit 1
		[ "$HOST" = 1 ] || wait_for 20 test -e /run/client.rc || fail "round $round: the client hangs"
		# C of a killed client counts as D for 20 s (decision 0021), what it still sends for 60 s
		wait_for 40 no_sockets || fail "round $round: $(/t/smcctl sock)"
		began=$(uptime_s)
		wait_for 100 no_conns_in_groups || fail "round $round: $(/t/smcctl linkgroup)"
		diag "round $round: connections were left for $(($(uptime_s) - began)) s"
		if [ "$HOST" = 2 ]; then
			expect "round $round: exit code" "$(cat /run/client.rc)" -ne 0
		elif [ "$act$actor" != kill1 ]; then
			[ ! -e /run/server.rc ] || fail "round $round: the server has ended"
			kill "$(cat /run/server.pid)"
		fi
		wait
		grep -i "bad\|EILSEQ" "$program.out" && fail "round $round: bytes"
		wait_for 10 balanced || fail "round $round: asked is not refused + withdrawn + upgraded"
		sync_barrier "over.$round" || exit 1
	done
	mv /run/stat.killed /run/stat
	show
	expect "malformed CDC" "$(grown rx_cdc_bad)" -eq 0
	expect "groups that have ended" "$(grown lgr_term)" -eq 0
	before
	traffic stream:8
	changed 1 1048576
}

# A rule of one end, which comes after the first contact, forbids it: the stream goes on over TCP.
case_denied()
{
	# the group of the case before may be gone
	traffic connects:2
	before
	[ "$HOST" = 2 ] || /t/smcctl policy add deny local-port 4430 || fail "no rule"
	sync_barrier "rule.$CASE" || exit 1
	traffic stream:4
	show
	[ "$HOST" = 2 ] || /t/smcctl policy flush
	expect "upgraded" "$(grown upgraded)" -eq 0
	# else there was no group, and the server has refused the handshake
	[ "$HOST" = 1 ] || expect "deferred" "$(grown deferred)" -eq 3
	# for the server they are fallbacks, which it does not know for others
	expect "refused" "$(grown upgrade_refused)" -ge 1
	[ "$HOST" = 2 ] || expect "fallbacks" "$(grown srv_fback)" -eq 3
	sync_barrier "no_rule.$CASE" || exit 1
	traffic connects:2
	before
	[ "$HOST" = 1 ] || /t/smcctl policy add deny remote-port 4430 || fail "no rule"
	traffic stream:4
	[ "$HOST" = 1 ] || /t/smcctl policy flush
	expect "deferred with a rule of the client" "$(($(grown deferred) * (HOST - 1)))" -eq 0
	expect "upgraded" "$(grown upgraded)" -eq 0
	expect "asked" "$(grown upgrade_asked)" -eq 0
}

# A rule counts each connection once: that of a server when it is accepted, that of a client when it
# asks for the first time. The two that wait for the server, and end it, do not ask.
case_counted()
{
	traffic connects:2
	/t/smcctl policy add allow number 7 || fail "no rule"
	before
	traffic parallel:32
	wait_for 10 balanced || fail "asked is not refused + withdrawn + upgraded"
	show
	hits=$(/t/smcctl -j policy | tr -d ' \n' |
		sed -n 's/.*"number":7,[^}]*"connections":\([0-9]*\).*/\1/p')
	wanted=$((32 + $(grown clnt_smc)))
	[ "$HOST" = 2 ] || wanted=$(($(grown deferred) + $(grown srv_smc)))
	expect "connections of the rule" "$hits" -eq "$wanted"
	/t/smcctl policy flush
}

# The server is at a limit of memory: it says so, and the next connection does a rendezvous.
case_limited()
{
	for limit in smcr_max_rmb_kb smcr_max_host_kb; do
		forget_groups
		# so large that a region has four of them
		rmem=$(cat /proc/sys/net/smc/rmem)
		[ "$HOST" = 2 ] || echo 524288 > /proc/sys/net/smc/rmem
		traffic connects:2
		before
		[ "$HOST" = 2 ] || echo 1 > "/proc/sys/net/smc/$limit" || fail "$limit"
		threshold 1
		sync_barrier "$limit.$CASE" || exit 1
		# more at a time than there are elements left
		traffic parallel:32
		wait_for 10 balanced || fail "asked is not refused + withdrawn + upgraded"
		show
		expect "refused for want of memory, $limit" "$(grown upgrade_memory)" -ge 1
		# the connection that ends the server is one
		decided=$(($(grown clnt_smc) + $(grown srv_smc) + $(grown clnt_fback) + $(grown srv_fback)))
		expect "handshakes" "$decided" -ge 1
		sync_barrier "$limit.done.$CASE" || exit 1
		[ "$HOST" = 2 ] || echo 0 > "/proc/sys/net/smc/$limit"
		echo "$rmem" > /proc/sys/net/smc/rmem
		threshold "$BYTES"
	done
}

# The children of a server that is bound to a device are, too.
case_device()
{
	bound="--device eth0"
	traffic connects:2
	before
	traffic stream:16
	changed 1 8388608
	bound=
}

# So are sockets of link-local addresses. The group is of such a connection: its addresses count.
case_linklocal()
{
	ip addr add "fe80::$HOST/64" dev eth0 nodad || fail "no address"
	forget_groups
	family=smc6 served=smc6 to="fe80::$((3 - HOST))%eth0"
	traffic connects:2
	before
	traffic stream:16
	changed 1 8388608
	family=smc served=smc to=$(peer_addr 0)
	ip addr del "fe80::$HOST/64" dev eth0
	forget_groups
}

# --- events ---

# values KEY EVENT [WHY]: the values of that key in the events that were received
values()
{
	grep "\"event\":\"$2\".*${3:+\"why\":\"$3\"}" /run/events |
		sed -n "s/.*\"$1\":\"*\([^\",}]*\).*/\1/p"
}

# as_counted: as many events as the counters have: a server has none of a connection that it does not know
as_counted()
{
	[ "$(values role 'connection upgraded' | wc -l)" -eq "$(grown upgraded)" ] || return 1
	for w_ in unknown later excluded memory withdrawn; do
		n_=$(grown "upgrade_$w_")
		[ "$HOST$w_" != 1unknown ] || n_=0
		[ "$(values role 'upgrade refused' "$w_" | wc -l)" -eq "$n_" ] || return 1
	done
}

# check_events: each event names a connection between the two hosts, by its role here
check_events()
{
	wait_for 10 balanced || fail "asked is not refused + withdrawn + upgraded"
	show
	wait_for 10 as_counted || {
		grep -v 'connection end' /run/events
		fail "other events than the counters have"
	}
	for e_ in 'connection upgraded' 'upgrade refused'; do
		[ -n "$(values role "$e_")" ] || continue
		expect "$e_: local address" "$(values local_addr "$e_" | sort -u)" = "$(own_addr 0)"
		expect "$e_: address of the peer" "$(values peer_addr "$e_" | sort -u)" = "$(peer_addr 0)"
		if [ "$HOST" = 1 ]; then
			expect "$e_: role" "$(values role "$e_" | sort -u)" = server
			expect "$e_: own port" "$(values local_port "$e_" | sort -u)" -eq 4430
		else
			expect "$e_: role" "$(values role "$e_" | sort -u)" = client
			expect "$e_: port of the peer" "$(values peer_port "$e_" | sort -u)" -eq 4430
		fi
	done
	! grep '"untold"' /run/events || fail "events were suppressed"
}

# Both ends report which connections have changed over, and why others have not: the server does
# not know those that were fallbacks for it from the beginning.
case_reported()
{
	traffic connects:2
	threshold 1
	/t/smcctl -j monitor connections > /run/events 2>&1 &
	listener=$!
	wait_for 10 event_listens || fail "nobody listens: $(cat /run/events)"
	before
	traffic parallel:32
	traffic stream:4
	check_events
	expect "upgraded" "$(grown upgraded)" -ge 8
	# the same connections at both ends
	if [ "$HOST" = 1 ]; then
		sync_signal "ports.$CASE" "$(values peer_port 'connection upgraded' | sort | tr '\n' ';')"
	else
		theirs=$(sync_wait "ports.$CASE") || exit 1
		expect "own ports" "$(values local_port 'connection upgraded' | sort | tr '\n' ';')" = "$theirs"
	fi
	expect "of them, with the time over TCP" "$(values msecs 'connection upgraded' | wc -l)" -eq \
		"$(grown upgraded)"
	[ "$HOST" = 2 ] || /t/smcctl policy add deny local-port 4430 || fail "no rule"
	sync_barrier "rule.$CASE" || exit 1
	traffic stream:4
	[ "$HOST" = 2 ] || /t/smcctl policy flush
	check_events
	[ "$HOST" = 1 ] || expect "refused, not known" "$(values role 'upgrade refused' unknown | wc -l)" -ge 1
	kill "$listener" || fail "the listener has ended: $(tail -n 1 /run/events)"
	wait "$listener" 2> /dev/null
	threshold "$BYTES"
	sync_barrier "reported.$CASE" || exit 1
}

# settings UPGRADE AUTOSMC UPGRADE AUTOSMC: net.smc.*_bytes of the client, and of the server
settings()
{
	[ "$HOST" = 2 ] || shift 2
	threshold "$1"
	echo "$2" > /proc/sys/net/smc/autosmc_bytes || fail "autosmc_bytes"
}

entries() { sed 1d /proc/net/smc_autosmc | wc -l; }

# Where connections may begin as TCP, AUTOSMC has no say (decision 0023): it learns nothing from them,
# nor from the rendezvous with such a peer, and what it knows from before does not count.
case_experience()
{
	every=4000000000
	forget_groups
	settings "$BYTES" $every "$BYTES" $every
	before
	traffic connects:20
	expect "handshakes" "$(($(grown clnt_smc) + $(grown srv_smc)))" -eq 1
	expect "deferred" "$(grown deferred)" -eq 21
	expect "fallbacks" "$(($(grown clnt_fback) + $(grown srv_fback)))" -eq 0
	expect "entries" "$(entries)" -eq 0

	# the client learns, as it does not want to upgrade; the server has a group for that
	settings 0 $every "$BYTES" $every
	before
	traffic connects:12
	expect "TCP by experience" "$(grown autosmc_tcp)" -eq $((6 * (HOST - 1)))
	expect "fallbacks" "$(($(grown clnt_fback) + $(grown srv_fback)))" -eq $((6 * (HOST - 1)))
	expect "entries" "$(entries)" -eq $((HOST - 1))
	settings "$BYTES" $every "$BYTES" $every
	before
	traffic connects:5
	all_deferred
	expect "deferred with a client that has learned" "$(grown deferred)" -eq 7
	expect "TCP by experience" "$(grown autosmc_tcp)" -eq 0

	# the server learns, as it does not want to upgrade
	settings 0 0 0 $every
	before
	traffic connects:12
	expect "TCP by experience" "$(grown autosmc_tcp)" -eq $((6 * (2 - HOST)))
	settings 0 0 "$BYTES" $every
	before
	traffic connects:5
	expect "handshakes" "$(($(grown clnt_smc) + $(grown srv_smc)))" -eq 7
	expect "TCP by experience" "$(grown autosmc_tcp)" -eq 0
	settings "$BYTES" 0 "$BYTES" 0
	echo 0 > /proc/net/smc_autosmc
}

# Not for namespaces of users.
case_userns()
{
	[ "$HOST" = 1 ] || return 0
	[ -e /proc/self/ns/user ] || skip "no user namespaces"
	unshare -Urn sh -c 'cat /proc/sys/net/smc/upgrade_bytes; ls -l /proc/sys/net/smc/upgrade_bytes' \
		> /run/userns 2>&1 || fail "$(cat /run/userns)"
	grep -q '^0$' /run/userns || fail "a namespace of a user has inherited it"
	grep -q '^-r--r--r--' /run/userns || fail "a user can turn it on"
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
}
