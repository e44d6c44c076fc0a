# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Programs of Debian, unmodified, over SMC by smc_run or smc_cgroup; host 1 serves. In each case the
# program's own checks must pass, all TCP connections of the case must be clcsocks of SMC
# connections without fallback, and the bytes must go by RDMA. See Documentation/programs.rst.
#
# PROGRAMS names the cases to run, by default all but go, which does not work on User Mode Linux.
# Entry points: ipproto

: "${PROGRAMS:=redis redis_replica memcached restricted nginx nginx_reuseport https postgresql ssh iperf3
	sockperf netcat rsync node java haproxy}"
CASES="notices"
for p_ in $PROGRAMS; do
	case $p_ in
	java|postgresql|go)	CASES="$CASES $p_:240" ;;
	*)			CASES="$CASES $p_:120" ;;
	esac
done
export CASES PROGRAMS

# shellcheck disable=SC1091 # exists in the guest only
. /h/tree.sh

TMP=$TREE/tmp
FILE_MIB=8
FILE=$((FILE_MIB * 1048576))
PG=/usr/lib/postgresql/15/bin
PG_DATA=/var/lib/postgresql/15/main

setup()
{
	setup_net && setup_rxe && load_smc && mount_tree || return 1
	# random bytes, the same ones on both hosts
	in_tree openssl enc -aes-128-ctr -K 00 -iv 00 -in /dev/zero 2> /run/openssl |
		head -c $FILE > "$TMP/file"
	expect "size of the file" "$(stat -c %s "$TMP/file")" -eq $FILE
}

# --- synchronization of the hosts, counters ---

# tcp_opens: number of established TCP connections of this host so far
tcp_opens()
{
	echo $(($(tcp_counter TcpActiveOpens) + $(tcp_counter TcpPassiveOpens) -
		$(tcp_counter TcpAttemptFails)))
}

begin()
{
	before
	tcp_opens > /run/opens
}

# expect_smc CONNECTIONS BYTES: at least so many since begin(), and no other connections
expect_smc()
{
	smc_=$(($(grown clnt_smc) + $(grown srv_smc)))
	expect "SMC connections" "$smc_" -ge "$1"
	expect "fallen back" $(($(grown clnt_fback) + $(grown srv_fback))) -eq 0
	expect "TCP connections" $(($(tcp_opens) - $(cat /run/opens))) -eq "$smc_"
	expect "bytes by RDMA" $(($(grown tx_write_bytes) + $(grown rx_bytes))) -ge "$2"
	expect_packets 2
	echo "connections: $smc_, bytes sent: $(grown tx_write_bytes), received: $(grown rx_bytes)"
}

# smc COMMAND...: in the tree, by smc_run
smc()
{
	in_tree /t/smc_run "$@"
}

# await_listener PORT: of this host; Java and Go start slowly
await_listener()
{
	wait_for 60 tcp_listens "$1" || { cat /run/server.log; fail "no server listens on port $1"; }
}

# serve PORT COMMAND...: by smc_run, until the case ends
serve()
{
	port_=$1
	shift
	(exec chroot "$TREE" /t/smc_run "$@") > /run/server.log 2>&1 &
	server=$!
	await_listener "$port_"
}

# served CONNECTIONS BYTES: host 1 has started its servers; waits for host 2 and checks
served()
{
	sync_barrier up || exit 1
	sync_barrier through 200 || { cat /run/server.log; exit 1; }
	expect_smc "$@"
	kill "$server"
	wait "$server"
	tail -n 20 /run/server.log
}

# through CONNECTIONS BYTES: host 2 has finished its part; checks
through()
{
	expect_smc "$@"
	sync_barrier through || exit 1
}

# each_address COMMAND...: runs it for each address of host 1
each_address()
{
	"$@" 10.0.0.1
	"$@" fd00:0::1
}

# same FILE FILE: the files are equal
same()
{
	cmp "$1" "$2" || fail "$2 and $1 differ"
}

# --- test of expect_smc() ---

# The program also succeeds over TCP: expect_smc() must detect that by the counters.
case_notices()
{
	begin
	if [ "$HOST" = 1 ]; then
		/t/smcctl pnet add ELSEWHERE ibdev rxe0 || fail "no PNET ID"
		/t/smcctl pnet add HERE netdev eth0 || fail "no PNET ID"
		serve 5000 nc -lN 5000
		sync_barrier up || exit 1
		sync_barrier through || exit 1
	else
		sync_barrier up || exit 1
		smc nc -N 10.0.0.1 5000 < "$TMP/file" || fail "nc: status $?"
		sync_barrier through || exit 1
	fi
	# shellcheck disable=SC2317 # it is reached
	! (ctl() { :; }; expect_smc 1 $FILE) || fail "a connection by TCP passed"
	expect "fallen back" $(($(grown clnt_fback) + $(grown srv_fback))) -eq 1
	[ "$HOST" != 1 ] || /t/smcctl pnet flush
}

# --- redis ---

redis_cli()
{
	smc redis-cli -h "$@"
}

redis_file()
{
	expect "reply" "$(redis_cli "$1" -x set "file.$1" < "$TMP/file")" = OK
	redis_cli "$1" --raw get "file.$1" > /run/got || fail "redis-cli: status $?"
	# redis-cli adds a newline
	head -c $FILE /run/got > /run/got.file
	same "$TMP/file" /run/got.file
}

redis_pipe()
{
	in_tree seq 1 5000 | sed 's/.*/SET key:& value:&\r/' > /run/pipe
	redis_cli "$1" --pipe < /run/pipe > /run/said || fail "redis-cli --pipe: status $?"
	cat /run/said
	grep -q '^errors: 0, replies: 5000$' /run/said || fail "redis-cli --pipe"
}

serve_redis()
{
	serve 6379 redis-server --save '' --protected-mode no --bind '*' '-::*' \
		--enable-debug-command yes
}

case_redis()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve_redis
		served 60 $((FILE * 4))
	else
		sync_barrier up || exit 1
		each_address redis_file
		redis_pipe 10.0.0.1
		smc redis-benchmark -h 10.0.0.1 --csv -n 1500 -c 50 -d 512 -t ping,set,get,lpush,mset \
			> /run/said 2>&1 || { cat /run/said; fail "redis-benchmark failed"; }
		cat /run/said
		! grep -qi error /run/said || fail "redis-benchmark met errors"
		expect "tests of redis-benchmark" "$(grep -c '^"' /run/said)" -ge 6
		through 60 $((FILE * 4))
	fi
}

redis_digest()
{
	in_tree redis-cli -s /tmp/redis.sock debug digest
}

redis_in_step()
{
	in_tree redis-cli -s /tmp/redis.sock info replication | grep -q '^master_link_status:up'
}

# Host 2's server replicates that of host 1, over a lasting connection.
case_redis_replica()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve 6379 redis-server --save '' --protected-mode no --unixsocket /tmp/redis.sock \
			--enable-debug-command yes
		in_tree redis-cli -s /tmp/redis.sock debug populate 20000 key 100 ||
			fail "nothing to copy"
		sync_signal digest "$(redis_digest)"
		served 1 500000
	else
		sync_barrier up || exit 1
		serve 6380 redis-server --save '' --port 6380 --unixsocket /tmp/redis.sock \
			--replicaof 10.0.0.1 6379 --enable-debug-command yes
		wait_for 60 redis_in_step || { cat /run/server.log; fail "no copy"; }
		expect "digest" "$(redis_digest)" = "$(sync_wait digest)"
		through 1 500000
	fi
}

# --- memcached ---

memcached_file()
{
	head -c 1000000 "$TMP/file" > "$TMP/slab"
	smc memccp --servers="$1" /tmp/slab || fail "memccp: status $?"
	smc memccat --servers="$1" --file=/tmp/got slab || fail "memccat: status $?"
	# memccat may add a newline
	head -c 1000000 "$TMP/got" > /run/got
	same "$TMP/slab" /run/got
}

case_memcached()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve 11211 memcached -u nobody -l 0.0.0.0
		served 16 4000000
	else
		sync_barrier up || exit 1
		memcached_file 10.0.0.1
		smc memccapable -h 10.0.0.1 > /run/said 2>&1
		cat /run/said
		grep -q 'All tests passed' /run/said || fail "memccapable"
		smc memcslap --servers=10.0.0.1 --concurrency=8 --execute-number=500 --test=get \
			> /run/said 2>&1 || { cat /run/said; fail "memcslap failed"; }
		cat /run/said
		through 16 4000000
	fi
}

# --- the sandboxes of systemd units ---

UNITS=/lib/systemd/system

open_smc()
{
	in_tree "$@" python3 -c 'import socket; socket.socket(43, socket.SOCK_STREAM)' 2>&1
}

# redis and memcached with only the families that their units allow, without AF_SMC.
case_restricted()
{
	begin
	if [ "$HOST" = 1 ]; then
		open_smc || fail "no socket of AF_SMC"
		for unit in redis-server memcached; do
			open_smc /t/restrict.py $UNITS/$unit.service > /run/said &&
				fail "$unit.service: AF_SMC passes"
			cat /run/said
			grep -q 'Errno 97' /run/said || fail "$unit.service: not EAFNOSUPPORT"
		done
		serve 11211 /t/restrict.py $UNITS/memcached.service memcached -u nobody -l 0.0.0.0
		serve 6379 /t/restrict.py $UNITS/redis-server.service redis-server --save '' \
			--protected-mode no
		served 6 $((FILE * 4))
		export SMC_SOCK_FAMILY=smc
		serve 6380 /t/restrict.py $UNITS/redis-server.service \
			redis-server --save '' --port 6380
		cat /run/server.log
		grep -q "no SMC, using TCP: .*RestrictAddressFamilies= must allow AF_SMC" \
			/run/server.log || fail "smc_run does not name the setting of the unit"
	else
		sync_barrier up || exit 1
		each_address redis_file
		memcached_file 10.0.0.1
		through 6 $((FILE * 4))
	fi
}

# --- nginx and clients of HTTP ---

# nginx_conf LISTEN...: a server for each, serving the file
nginx_conf()
{
	mkdir -p "$TREE/srv/www"
	cp "$TMP/file" "$TREE/srv/www/"
	head -c 65536 "$TMP/file" > "$TREE/srv/www/part"
	echo small > "$TREE/srv/www/small"
	cat <<-END
	daemon off;
	worker_processes 2;
	error_log stderr warn;
	events { worker_connections 256; }
	http {
		access_log off;
		default_type application/octet-stream;
		sendfile on;
		tcp_nopush on;
		keepalive_requests 500;
		ssl_certificate /tmp/cert.pem;
		ssl_certificate_key /tmp/key.pem;
		server {
			root /srv/www;
			location = /worker { return 200 "\$pid\n"; }
	$(printf 'listen %s;\n' "$@")
		}
	}
	END
}

# serve_nginx PORT LISTEN...
serve_nginx()
{
	port_of=$1
	shift
	mkdir -p "$TREE/run/nginx"
	in_tree openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
		-subj /CN=server -addext subjectAltName=IP:10.0.0.1,IP:fd00:0::1 \
		-keyout /tmp/key.pem -out /tmp/cert.pem 2> /run/openssl ||
		{ cat /run/openssl; fail "no certificate"; }
	nginx_conf "$@" > "$TMP/nginx.conf"
	serve "$port_of" nginx -c /tmp/nginx.conf
}

# curl_file URL [CURL_OPTION...]
curl_file()
{
	url=$1
	shift
	smc curl -sS --fail -g --max-time 60 -o /tmp/got "$@" "$url/file" || fail "curl $url: status $?"
	same "$TMP/file" "$TMP/got"
	rm "$TMP/got"
}

# load URL: runs wrk, and checks its report of errors
load()
{
	smc wrk -t 2 -c 16 -d 3s "$1" > /run/said 2>&1 || { cat /run/said; fail "wrk failed"; }
	cat /run/said
	! grep -E 'Socket errors|Non-2xx' /run/said || fail "wrk met errors"
	expect "requests" "$(awk '$2 == "requests" { print $1 }' /run/said)" -ge 100
}

case_nginx()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve_nginx 80 80 '[::]:80' '[::]:81 ipv6only=off'
		served 50 $((FILE * 4))
	else
		sync_barrier up || exit 1
		curl_file http://10.0.0.1
		curl_file "http://[fd00:0::1]"
		curl_file http://10.0.0.1:81
		curl_file "http://[fd00:0::1]:81" --http1.0
		load http://10.0.0.1/small
		load "http://[fd00:0::1]/small"
		load http://10.0.0.1:81/part
		through 50 $((FILE * 4))
	fi
}

both_workers()
{
	smc curl -sS --fail -H 'Connection: close' "http://$1/worker?n=[1-16]" > /run/said ||
		fail "curl: status $?"
	expect "workers that answered" "$(sort -u /run/said | wc -l)" -eq 2
}

# Each worker has its own listeners.
case_nginx_reuseport()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve_nginx 80 '80 reuseport' '[::]:80 reuseport'
		listeners=$(in_tree cat /proc/net/tcp | grep -c ' 00000000:0050 00000000:0000 0A ')
		expect "listeners" "$listeners" -eq 2
		served 66 $((FILE * 2))
	else
		sync_barrier up || exit 1
		curl_file http://10.0.0.1
		curl_file "http://[fd00:0::1]"
		load http://10.0.0.1/small
		load "http://[fd00:0::1]/small"
		both_workers 10.0.0.1
		both_workers '\[fd00:0::1\]'
		through 66 $((FILE * 2))
	fi
}

# TLS in user space, by OpenSSL on both sides
case_https()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve_nginx 443 '443 ssl' '[::]:443 ssl'
		sync_signal cert "$(base64 -w 0 < "$TMP/cert.pem")"
		served 4 $((FILE * 4))
	else
		sync_barrier up || exit 1
		sync_wait cert | base64 -d > "$TMP/ca.pem"
		curl_file https://10.0.0.1 --cacert /tmp/ca.pem
		curl_file "https://[fd00:0::1]" --cacert /tmp/ca.pem
		curl_file https://10.0.0.1 --cacert /tmp/ca.pem --tls-max 1.2
		curl_file https://10.0.0.1 --cacert /tmp/ca.pem --http1.0
		through 4 $((FILE * 4))
	fi
}

# --- PostgreSQL ---

case_postgresql()
{
	begin
	if [ "$HOST" = 1 ]; then
		printf 'host all all %s trust\n' 10.0.0.0/24 fd00::/16 > "$TMP/hba"
		mkdir -p "$TREE/run/postgresql" && in_tree chown postgres /run/postgresql
		serve 5432 setpriv --reuid=postgres --regid=postgres --init-groups \
			$PG/postgres -D $PG_DATA -c listen_addresses='*' -c hba_file=/tmp/hba \
			-c config_file=/etc/postgresql/15/main/postgresql.conf
		served 110 2000000
	else
		sync_barrier up || exit 1
		export PGUSER=postgres PGDATABASE=postgres
		pgbench -i -s 1 -q
		pgbench -c 8 -j 2 -t 40
		pgbench -n -c 4 -t 25 -S -C
		pgbench -n -c 4 -t 100 -S -M prepared -h fd00:0::1
		# what the transactions added must be in all four tables
		sums=$(smc $PG/psql -h 10.0.0.1 -At -F ' ' -c "select (select sum(abalance) from
			pgbench_accounts), (select sum(tbalance) from pgbench_tellers), (select
			sum(bbalance) from pgbench_branches), (select sum(delta) from
			pgbench_history), (select count(*) from pgbench_history)")
		echo "sums: $sums"
		# shellcheck disable=SC2086 # words
		set -- $sums
		expect "sums" "$1 $1 $1 320" = "$2 $3 $4 $5"
		through 110 2000000
	fi
}

# pgbench OPTION...: and checks its count of failed transactions
pgbench()
{
	smc $PG/pgbench -h 10.0.0.1 "$@" > /run/said 2>&1 ||
		{ cat /run/said; fail "pgbench $* failed"; }
	cat /run/said
	[ "$1" = -i ] || grep -q '^number of failed transactions: 0 ' /run/said ||
		fail "pgbench $*: transactions failed"
}

# --- OpenSSH ---

ssh_to()
{
	program=$1
	shift
	smc "$program" -i /tmp/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "$@"
}

ssh_file()
{
	ssh_to ssh -p 2222 "root@$1" 'cat; echo end >&2' < "$TMP/file" > /run/got || fail "ssh: status $?"
	same "$TMP/file" /run/got
}

case_ssh()
{
	begin
	if [ "$HOST" = 1 ]; then
		mkdir -p "$TREE/run/sshd" "$TREE/root/.ssh"
		in_tree ssh-keygen -q -t ed25519 -N '' -f /tmp/host_key || fail "no host key"
		sync_wait key > "$TREE/root/.ssh/authorized_keys"
		chmod -R go= "$TREE/root/.ssh"
		serve 2222 /usr/sbin/sshd -D -e -p 2222 -h /tmp/host_key
		served 4 $((FILE * 4))
		same "$TMP/file" "$TMP/copy"
	else
		in_tree ssh-keygen -q -t ed25519 -N '' -f /tmp/id || fail "no key"
		sync_signal key "$(cat "$TMP/id.pub")"
		sync_barrier up || exit 1
		each_address ssh_file
		ssh_to scp -P 2222 /tmp/file root@10.0.0.1:/tmp/copy || fail "scp: status $?"
		ssh_to scp -P 2222 root@10.0.0.1:/tmp/copy /tmp/back || fail "scp: status $?"
		same "$TMP/file" "$TMP/back"
		through 4 $((FILE * 4))
	fi
}

# --- iperf3, sockperf, netcat ---

# iperf BYTES OPTION...: each side must report at least BYTES received
iperf()
{
	want=$1
	shift
	smc iperf3 -c 10.0.0.1 --json "$@" > "$TMP/iperf.json" ||
		{ cat "$TMP/iperf.json"; fail "iperf3 $* failed"; }
	# shellcheck disable=SC2016 # of another language
	in_tree node -e 'const j = JSON.parse(require("fs").readFileSync("/tmp/iperf.json")), e = j.end;
		if (j.error) throw j.error;
		console.log([e.sum_received, e.sum_received_bidir_reverse].filter((s) => s)
			.map((s) => s.bytes).join(" "))' > /run/said || fail "iperf3 $*: no JSON"
	echo "iperf3 $*: bytes received: $(cat /run/said)"
	read -r got more < /run/said
	for got in $got $more; do
		expect "bytes of iperf3 $*" "$got" -ge "$want"
	done
}

case_iperf3()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve 5201 iperf3 -s
		served 12 40000000
	else
		sync_barrier up || exit 1
		iperf 1000000 -t 3 --bidir
		expect "directions" "$(wc -w < /run/said)" -eq 2
		iperf 12000000 -n 16M -P 4
		iperf 16000000 -n 16M -R
		iperf 1000000 -t 2 -N -l 1000 -6 -B fd00:0::2 -c fd00:0::1
		through 12 40000000
	fi
}

sockperf()
{
	smc sockperf "$@" --tcp -i 10.0.0.1 -p 11111 -t 2 > /run/said 2>&1 ||
		{ cat /run/said; fail "sockperf $1 failed"; }
	cat /run/said
	! grep -q ERROR /run/said || fail "sockperf $1 met an error"
}

case_sockperf()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve 11111 sockperf server --tcp -i 10.0.0.1 -p 11111
		served 2 100000
	else
		sync_barrier up || exit 1
		sockperf ping-pong
		sed 's/\x1b[^m]*m//g' /run/said |
			grep -q 'dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0' ||
			fail "sockperf: messages are missing"
		sockperf throughput -m 1000
		through 2 100000
	fi
}

# nc_file ADDRESS: the file to host 1, then back. Not at once: netcat exits at the peer's end of
# stream without sending the rest of its data, over TCP as well.
nc_file()
{
	if [ "$HOST" = 1 ]; then
		serve 5000 sh -c "exec nc -ld $1 5000 > /tmp/got"
		sync_signal "up.$1"
		wait "$server" || fail "nc: status $?"
		same "$TMP/file" "$TMP/got"
		serve 5000 sh -c "exec nc -lN $1 5000 < /tmp/file"
		sync_signal "again.$1"
		wait "$server" || fail "nc: status $?"
	else
		sync_wait "up.$1" > /dev/null || exit 1
		smc nc -N "$1" 5000 < "$TMP/file" || fail "nc: status $?"
		sync_wait "again.$1" > /dev/null || exit 1
		smc nc -d "$1" 5000 > "$TMP/got" || fail "nc: status $?"
		same "$TMP/file" "$TMP/got"
	fi
	rm "$TMP/got"
}

case_netcat()
{
	begin
	each_address nc_file
	expect_smc 4 $((FILE * 4))
}

# --- rsync ---

RSYNC_OF=/usr/lib/x86_64-linux-gnu/perl-base

case_rsync()
{
	begin
	if [ "$HOST" = 1 ]; then
		mkdir "$TMP/pushed"
		cat > "$TMP/rsyncd.conf" <<-END
		uid = root
		gid = root
		use chroot = no
		[theirs]
			path = $RSYNC_OF
		[ours]
			path = /tmp/pushed
			read only = no
		END
		serve 873 rsync --daemon --no-detach --config=/tmp/rsyncd.conf --log-file=/dev/stderr
		served 4 $FILE
		same "$TMP/file" "$TMP/pushed/file"
		rm "$TMP/pushed/file"
		diff -r "$TREE$RSYNC_OF" "$TMP/pushed" || fail "the pushed files differ"
	else
		sync_barrier up || exit 1
		smc rsync -a rsync://10.0.0.1/theirs/ /tmp/pulled || fail "rsync: status $?"
		diff -r "$TREE$RSYNC_OF" "$TMP/pulled" || fail "the pulled files differ"
		smc rsync -az /tmp/pulled/ "rsync://[fd00:0::1]/ours/" || fail "rsync: status $?"
		smc rsync -a /tmp/file rsync://10.0.0.1/ours/file || fail "rsync: status $?"
		smc rsync -rci "rsync://[fd00:0::1]/ours/" /tmp/pulled > /run/said ||
			fail "rsync: status $?"
		expect "differences" "$(cat /run/said)" = ">f+++++++++ file"
		through 4 $FILE
	fi
}

# --- Node, Java ---

case_node()
{
	begin
	if [ "$HOST" = 1 ]; then
		serve 7000 node /t/echo.js server 7000
		served 40 20000000
		! grep server: /run/server.log || fail "the server reports an error"
	else
		sync_barrier up || exit 1
		smc node /t/echo.js client 10.0.0.1 7000 32 300000 || fail "client: status $?"
		smc node /t/echo.js client fd00:0::1 7000 8 1000000 || fail "client: status $?"
		through 40 20000000
	fi
}

echo_java()
{
	smc java -cp /tmp Echo "$@" || fail "java $*: status $?"
}

case_java()
{
	begin
	in_tree ecj -proc:none -17 -d /tmp /t/Echo.java || fail "Echo.java does not compile"
	if [ "$HOST" = 1 ]; then
		serve 7000 java -cp /tmp Echo server 7000 7001
		await_listener 7001
		served 18 16000000
		! grep server: /run/server.log || fail "the server reports an error"
	else
		sync_barrier up || exit 1
		echo_java client 10.0.0.1 7000 8 500000
		echo_java client fd00:0::1 7000 8 500000
		echo_java nio 10.0.0.1 7001 1000000
		echo_java nio fd00:0::1 7001 1000000
		through 18 16000000
	fi
}

# --- Go, by smc_cgroup ---

# in_group COMMAND...: runs it in the tree and in the cgroup
in_group()
{
	# shellcheck disable=SC2016 # of the other shell
	chroot "$TREE" sh -c 'echo $$ > /sys/fs/cgroup/go/cgroup.procs && exec "$@"' sh "$@"
}

# Go calls the kernel without libc. Caddy's listener is an IPv6 socket and serves IPv4, too.
case_go()
{
	mount -t bpf bpf /sys/fs/bpf || fail "no BPF file system"
	mkdir /sys/fs/cgroup/go || fail "no cgroup"
	/t/smc_cgroup start go || fail "smc_cgroup: status $?"
	begin
	if [ "$HOST" = 1 ]; then
		mkdir -p "$TREE/srv/www"
		cp "$TMP/file" "$TREE/srv/www/"
		head -c 65536 "$TMP/file" > "$TREE/srv/www/part"
		in_group caddy file-server --listen :9000 --root /srv/www > /run/server.log 2>&1 &
		server=$!
		await_listener 9000
		served 21 $((FILE * 2))
	else
		sync_barrier up || exit 1
		for url in http://10.0.0.1:9000/part "http://[fd00:0::1]:9000/part"; do
			in_group hey -n 200 -c 10 -t 60 "$url" > /run/said || fail "hey: status $?"
			cat /run/said
			grep -qE '\[200\][[:space:]]+200 responses' /run/said || fail "hey met errors"
		done
		in_group hey -n 1 -c 1 -t 60 http://10.0.0.1:9000/file > /run/said || fail "hey: status $?"
		grep -qE "Total data:[[:space:]]+$FILE bytes" /run/said || { cat /run/said; fail "hey: the file"; }
		through 21 $((FILE * 2))
	fi
	/t/smc_cgroup stop go || fail "smc_cgroup: status $?"
}

# --- HAProxy ---

# Client and server are on host 2; the proxy between them forwards bytes by splice().
case_haproxy()
{
	begin
	if [ "$HOST" = 1 ]; then
		cat > "$TMP/haproxy.cfg" <<-END
		defaults
			timeout connect 10s
			timeout client 60s
			timeout server 60s
			option splice-auto
		listen by_tcp
			mode tcp
			bind :::8000 v4v6
			server s 10.0.0.2:80
		listen by_http
			mode http
			bind :8001
			server s 10.0.0.2:80
		END
		serve 8000 haproxy -db -f /tmp/haproxy.cfg
		served 20 $((FILE * 6))
	else
		serve_nginx 80 80
		sync_barrier up || exit 1
		curl_file http://10.0.0.1:8000
		curl_file "http://[fd00:0::1]:8000"
		curl_file http://10.0.0.1:8001
		load http://10.0.0.1:8001/part
		through 20 $((FILE * 6))
	fi
}
