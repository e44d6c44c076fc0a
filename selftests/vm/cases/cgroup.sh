# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# smc_cgroup: programs that do not work with LD_PRELOAD, the statically linked httpd and nc of busybox,
# use SMC in the named cgroup, network namespace or process and nowhere else, only while smc_cgroup is
# started and a module is loaded. Host 1 serves. And what smcctl says of the memory of a cgroup.
# Entry points: ipproto

CASES="no_module static in_cgroup:120 outside:120 stopped:120 whole_host:120 below:120
	netns:180 process:120 module_goes:120 uring memory:180 removed broken_off at_once:120 words unload"
export CASES

ROOT=/sys/fs/cgroup
PINS=/sys/fs/bpf/smc_cgroup
SIZE=1048576

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	mount -t bpf bpf /sys/fs/bpf || return 1
	mkdir -p "$ROOT/chosen/below" "$ROOT/other" /run/www &&
		dd if=/dev/urandom of=/run/www/file bs=4096 count=$((SIZE / 4096)) 2> /run/dd
}

# smc_cgroup ARGUMENT...: its output is in /run/said, its exit code in $said_rc
smc_cgroup()
{
	/t/smc_cgroup "$@" > /run/said 2>&1
	said_rc=$?
	echo "smc_cgroup $*: $said_rc: $(cat /run/said)"
	return "$said_rc"
}

# exec_in GROUP COMMAND...: executes it in this process, in that cgroup
exec_in()
{
	group_=$1
	shift
	exec sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$ROOT/$group_" "$@"
}

# serve GROUP: until stop_serving
serve()
{
	(exec_in "$1" /bin/busybox httpd -f -p 5000 -h /run/www) &
	server=$!
	await_server 5000
}

stop_serving()
{
	kill_all "$server"
}

# get GROUP ADDRESS SUM: downloads the file and checks its sum
get()
{
	printf 'GET /file HTTP/1.0\r\n\r\n' > /run/request
	(exec_in "$1" /bin/busybox nc -w 60 "$2" 5000) < /run/request > /run/answer ||
		fail "nc in $1 failed"
	tail -c "$SIZE" /run/answer > /run/got
	expect "sum" "$(md5sum < /run/got)" = "$3"
}

# expect_rdma N, expect_tcp: the connections of the case used RDMA or TCP
expect_rdma()
{
	if [ "$HOST" = 1 ]; then
		expect "SMC connections" "$(grown srv_smc)" -eq "$1"
		expect "bytes by RDMA" "$(grown tx_write_bytes)" -ge $(($1 * SIZE))
		expect_packets $(($1 * SIZE / 4096))
	else
		expect "SMC connections" "$(grown clnt_smc)" -eq "$1"
		expect "bytes by RDMA" "$(grown rx_bytes)" -ge $(($1 * SIZE))
	fi
	expect "fallen back" "$(($(grown clnt_fback) + $(grown srv_fback)))" -eq 0
}

expect_tcp()
{
	for c_ in clnt_smc srv_smc tx_bytes rx_bytes tx_write_bytes; do
		expect "$c_" "$(grown $c_)" -eq 0
	done
	# the count would include RDMA, but there was none
	[ "$HOST" = 1 ] ||
		expect "bytes by TCP" $(($(if_bytes rx) - $(cat /run/if_bytes))) -ge "$SIZE"
}

# exchange SERVER_GROUP CLIENT_GROUP [ADDRESS...]: host 2 gets the file once from each address
exchange()
{
	serving=$1
	asking=$2
	shift 2
	[ $# -gt 0 ] || set -- 10.0.0.1
	before
	if_bytes rx > /run/if_bytes
	if [ "$HOST" = 1 ]; then
		serve "$serving"
		sync_signal sum "$(md5sum < /run/www/file)"
		sync_barrier serving || exit 1
		sync_barrier served || exit 1
		stop_serving
	else
		sync_barrier serving || exit 1
		sum=$(sync_wait sum)
		for a in "$@"; do
			get "$asking" "$a" "$sum"
		done
		sync_barrier served || exit 1
	fi
}

case_no_module()
{
	unload_smc || fail "the module cannot be unloaded"
	! smc_cgroup start || fail "started without a module"
	expect "exit code" "$said_rc" -eq 1
	expect "reason" "$(cat /run/said)" = \
		"smc_cgroup: no module serves IPPROTO_SMC: load smc.ko first"
	[ ! -e "$PINS" ] || fail "left behind: $(find "$PINS")"
	load_smc || fail "the module cannot be loaded again"
}

# The test is valid only with programs that smc_run does not support.
case_static()
{
	! /bin/busybox grep -q 'ld-linux' /proc/self/maps || fail "busybox is not static"
	/bin/busybox grep -q 'busybox' /proc/self/maps || fail "that was not busybox"
}

case_in_cgroup()
{
	smc_cgroup start chosen || fail "$(cat /run/said)"
	exchange chosen chosen 10.0.0.1 fd00:0::1
	expect_rdma 2
	smc_cgroup stop "$ROOT/chosen" || fail "$(cat /run/said)"
}

case_outside()
{
	smc_cgroup start chosen || fail "$(cat /run/said)"
	exchange other other
	expect_tcp
	smc_cgroup stop chosen || fail "$(cat /run/said)"
}

case_stopped()
{
	smc_cgroup start chosen || fail "$(cat /run/said)"
	smc_cgroup stop chosen || fail "$(cat /run/said)"
	[ ! -e "$PINS" ] || fail "left behind: $(find "$PINS")"
	exchange chosen chosen
	expect_tcp
}

# Sockets of the kernel, such as clcsocks, are not replaced; otherwise no connection would work.
case_whole_host()
{
	smc_cgroup start || fail "$(cat /run/said)"
	exchange other chosen
	expect_rdma 1
	smc_cgroup stop || fail "$(cat /run/said)"
}

# A child cgroup is included.
case_below()
{
	smc_cgroup start chosen || fail "$(cat /run/said)"
	exchange chosen/below chosen/below
	expect_rdma 1
	smc_cgroup stop chosen || fail "$(cat /run/said)"
}

HTTPD="/bin/busybox httpd -f -p 5001 -h /run/www"

# is_smc COMMAND...: is the socket of the server on port 5001 an SMC socket? The command runs programs in
# its namespace.
is_smc()
{
	wait_for 20 "$@" sh -c '. /h/lib.sh; tcp_listens 5001' || fail "no server"
	"$@" /t/smcctl sock -l port 5001 > /run/listening || fail "smcctl: $(cat /run/listening)"
	cat /run/listening
	grep -q LISTEN /run/listening
}

# expect_server smc|tcp COMMAND...: what a server gets that the command runs in its namespace
expect_server()
{
	want=$1
	shift
	# shellcheck disable=SC2086 # words
	(exec "$@" $HTTPD) &
	server=$!
	got=tcp
	! is_smc "$@" || got=smc
	stop_serving
	expect "server by $*" "$got" = "$want"
}

# The namespace of the test has no name: a process in it stands for it.
case_netns()
{
	pod="/usr/sbin/ip netns exec pod"
	ip netns add pod || fail "no namespace"
	smc_cgroup --netns $$ start || fail "$(cat /run/said)"
	smc_cgroup status
	expect "status" "$(cat /run/said)" = \
		"netns $(readlink /proc/$$/ns/net): new TCP sockets become SMC sockets"
	exchange other other
	expect_rdma 1
	# shellcheck disable=SC2086 # words
	expect_server tcp $pod
	smc_cgroup -n /proc/$$/ns/net stop || fail "$(cat /run/said)"
	smc_cgroup --netns pod start || fail "$(cat /run/said)"
	# shellcheck disable=SC2086
	expect_server smc $pod
	expect_server tcp env
	ip netns del pod
	# may get the inode number of pod, but is another namespace
	ip netns add again || fail "no namespace"
	smc_cgroup status
	grep -q '^netns net:.*, removed: ' /run/said || fail "status: $(cat /run/said)"
	smc_cgroup stop
	[ ! -e "$PINS" ] || fail "left behind: $(find "$PINS")"
	ip netns del again
}

wait_go()
{
	until [ -e /run/go ]; do
		usleep 50000
	done
}

# The program that the process becomes is the same process; a child is not.
case_process()
{
	for who in itself child; do
		rm -f /run/go /run/child
		(
			wait_go
			[ "$who" = child ] || exec $HTTPD
			$HTTPD &
			echo $! > /run/child
			wait
		) &
		process=$!
		smc_cgroup --pid "$process" start || fail "$(cat /run/said)"
		smc_cgroup --pid "$process" status
		expect "status" "$(cat /run/said)" = "process $process: new TCP sockets become SMC sockets"
		touch /run/go
		got=tcp
		! is_smc env || got=smc
		kill_all "$process" "$(cat /run/child 2> /dev/null)"
		expect "socket of $who" "$got" = "$([ "$who" = child ] && echo tcp || echo smc)"
		smc_cgroup status
		grep -q "^process $process, removed: " /run/said || fail "status: $(cat /run/said)"
		smc_cgroup stop
		[ ! -e "$PINS" ] || fail "left behind: $(find "$PINS")"
	done
}

# Without the module sockets use TCP and are not refused; after loading it again they use SMC.
case_module_goes()
{
	smc_cgroup start chosen || fail "$(cat /run/said)"
	unload_smc || fail "the module cannot be unloaded"
	smc_cgroup status chosen
	expect "status" "$(cat /run/said)" = \
		"/chosen: new TCP sockets stay TCP, no module serves IPPROTO_SMC"
	if [ "$HOST" = 1 ]; then
		serve chosen
		get chosen 10.0.0.1 "$(md5sum < /run/www/file)"
		stop_serving
	fi
	load_smc || fail "the module cannot be loaded again"
	smc_cgroup status
	expect "status" "$(cat /run/said)" = "/chosen: new TCP sockets become SMC sockets"
	smc_cgroup -j status
	tr -d ' \n' < /run/said |
		grep -qx '\[{"format":1,"id":[0-9]*,"target":"/chosen","started":true,"inet":true,"inet6":true}\]' ||
		fail "status: $(cat /run/said)"
	exchange chosen chosen
	expect_rdma 1
	smc_cgroup stop chosen || fail "$(cat /run/said)"
}

# What smc_cgroup(8) and status.rst say: up to Linux 7.3 IORING_OP_SOCKET does not call
# update_socket_protocol(), the hook of smc_cgroup, as socket(2) does. A kernel that calls it, or another hook for
# it, fails this test: then smc_cgroup has to serve these sockets, and the pages change.
case_uring()
{
	smc_cgroup start chosen || fail "$(cat /run/said)"
	(exec_in other /t/smc_uring) > /run/uring.other || fail "outside"
	(exec_in chosen /t/smc_uring) > /run/uring.chosen || fail "in the cgroup"
	smc_cgroup stop chosen || fail "$(cat /run/said)"
	expect "outside" "$(xargs < /run/uring.other)" = "socket 6 io_uring 6"
	expect "in the cgroup" "$(xargs < /run/uring.chosen)" = "socket 256 io_uring 6"
}

# hold_in GROUP USER N: N connections of that user in that cgroup, until $clients are killed
hold_in()
{
	(exec_in "$1" start-stop-daemon -S -n none_has_this_name -c "$2" -a /t/smc_traffic -- client \
		--connect 10.0.0.1 --family smc --require smc "hold:$3") > "/run/client.$1" 2>&1 &
	clients="$clients $!"
	wait_for 30 grep -q "^# holding $3\$" "/run/client.$1" || fail "$1: $(cat "/run/client.$1")"
}

# memory_of SUM NAME MEMBER: a member of the sum with that name
memory_of()
{
	/t/smcctl -j memory by "$1" | tr -d ' \n' | tr '{' '\n' | grep "\"$1\":\"$2\"" |
		sed -n "s/.*\"$3\":\([0-9]*\).*/\1/p"
}

# sock_sum MEMBER [UID]: of all connections, or those of a user
sock_sum()
{
	/t/smcctl -j sock | tr -d ' \n' | sed 's/"state"/\n&/g' | grep "\"uid\":${2:-}" |
		sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" | awk '{ n += $1 } END { print n + 0 }'
}

memory_charged()
{
	cat "$ROOT/chosen/memory.current"
}

# Host 2 has connections of two cgroups and two users. A new module: no region of an earlier group, which
# was charged to somebody else, is used again.
case_memory()
{
	unload_smc || fail "the module cannot be unloaded"
	load_smc || fail "the module cannot be loaded again"
	echo +memory > "$ROOT/cgroup.subtree_control" || fail "no memory cgroups"
	sysctl -q -w net.smc.rmem=524288 net.smc.wmem=524288
	sync_barrier loaded || exit 1
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
		server=$!
		await_server
		sync_signal up
		sync_wait seen 120 > /dev/null || exit 1
		kill_all "$server"
		return
	fi
	sync_wait up > /dev/null || exit 1
	clients=
	# start-stop-daemon takes users that have a name
	for u_ in root:0 nobody:65534; do
		grep -qs "^${u_%:*}:" /etc/passwd || echo "${u_%:*}:x:${u_#*:}:${u_#*:}::/:/bin/sh" >> /etc/passwd
	done
	charged=$(memory_charged)
	hold_in chosen nobody 3
	charged=$(($(memory_charged) - charged))
	hold_in other root 2
	/t/smcctl memory by cgroup
	/t/smcctl memory by user
	expect "connections of /chosen" "$(memory_of cgroup /chosen connections)" -eq 3
	expect "connections of /other" "$(memory_of cgroup /other connections)" -eq 2
	expect "RMBEs of /chosen" "$(memory_of cgroup /chosen rmbe_bytes)" -eq $((3 * 524288))
	expect "charged to /chosen" "$charged" -ge "$(memory_of cgroup /chosen rmbe_bytes)"
	for u_ in 0:2 65534:3; do
		uid=${u_%:*}
		expect "connections of $uid" "$(memory_of user "$uid" connections)" -eq "${u_#*:}"
		expect "RMBEs of $uid" "$(memory_of user "$uid" rmbe_bytes)" -eq "$(sock_sum rmbe_size "$uid,")"
		expect "rings of $uid" "$(memory_of user "$uid" send_ring_bytes)" -eq \
			"$(sock_sum sndbuf_size "$uid,")"
		expect "both" "$(memory_of user "$uid" bytes)" -eq \
			$(($(sock_sum rmbe_size "$uid,") + $(sock_sum sndbuf_size "$uid,")))
	done
	kill_all "$clients"
	sync_signal seen
	sysctl -q -w net.smc.rmem=65536 net.smc.wmem=65536
}

case_removed()
{
	mkdir "$ROOT/brief" || fail "no cgroup"
	smc_cgroup start brief || fail "$(cat /run/said)"
	rmdir "$ROOT/brief" || fail "the cgroup cannot be removed"
	smc_cgroup status
	grep -q '^cgroup [1-9][0-9]*, removed: ' /run/said || fail "status: $(cat /run/said)"
	smc_cgroup start chosen || fail "$(cat /run/said)"
	smc_cgroup status
	expect "status without the removed one" "$(cat /run/said)" = "/chosen: new TCP sockets become SMC sockets"
	smc_cgroup stop chosen || fail "$(cat /run/said)"
}

# The state after the loader was killed before it attached the program that switches the protocol.
case_broken_off()
{
	smc_cgroup start chosen || fail "$(cat /run/said)"
	rm "$PINS"/*/switch_protocol || fail "no such program"
	smc_cgroup status
	expect "status" "$said_rc" -eq 3
	expect "status" "$(cat /run/said)" = \
		"/chosen: a start was broken off, new TCP sockets stay TCP"
	smc_cgroup start chosen || fail "again: $(cat /run/said)"
	smc_cgroup status
	expect "status" "$(cat /run/said)" = "/chosen: new TCP sockets become SMC sockets"
	rm "$PINS"/*/switch_protocol || fail "no such program"
	smc_cgroup stop chosen
	expect "stop" "$said_rc" -eq 3
	[ ! -e "$PINS" ] || fail "left behind: $(find "$PINS")"
}

# Services of one slice that start at the same time, each with its own "smc_cgroup start".
case_at_once()
{
	for round_ in first second; do
		echo "$round_"
		pids_=
		for j_ in 1 2 3; do
			/t/smc_cgroup start chosen > /run/said.$j_ 2>&1 &
			pids_="$pids_ $!"
		done
		for p_ in $pids_; do
			wait "$p_" || fail "$(cat /run/said.1 /run/said.2 /run/said.3)"
		done
		smc_cgroup status
		expect "status" "$(cat /run/said)" = "/chosen: new TCP sockets become SMC sockets"
		smc_cgroup stop chosen || fail "$(cat /run/said)"
		[ ! -e "$PINS" ] || fail "left behind: $(find "$PINS")"
	done
}

case_words()
{
	smc_cgroup start chosen || fail "$(cat /run/said)"
	smc_cgroup start chosen || fail "twice: $(cat /run/said)"
	expect "twice" "$(cat /run/said)" = "/chosen: already started"
	smc_cgroup status other
	expect "status of another" "$said_rc" -eq 3
	smc_cgroup stop chosen || fail "$(cat /run/said)"
	smc_cgroup stop chosen
	expect "stopped twice" "$said_rc" -eq 3
	smc_cgroup status
	expect "status" "$said_rc" -eq 3
	smc_cgroup start absent
	expect "no such cgroup" "$said_rc" -eq 1
	expect "no such cgroup" "$(cat /run/said)" = \
		"smc_cgroup: cgroup $ROOT/absent: No such file or directory"
}

case_unload()
{
	unload_smc || fail "the module cannot be unloaded"
}
