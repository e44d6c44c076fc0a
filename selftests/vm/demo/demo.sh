# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest side of the demo: host 1 runs the servers, host 2 the clients, all of
# them unmodified Debian programs started by smc_run. The modules' counters and
# the output of sock_diag are sent to the runner; report.py checks them.

CASES="redis:100 nginx:100 iperf3:100"
export CASES

ROOT=/d

setup()
{
	diag "network, Soft-RoCE device, SMC module ($MODULE)"
	setup_net && setup_rxe && load_smc && mount_debian || return 1
	# resolves the neighbour, before anything is counted
	ping -c 1 -W 5 "$(peer_addr)" > /dev/null
}

# Mounts a Debian tree of the machine that runs the guests: an overlay with the
# tree as lower layer (read-only) and a tmpfs as upper layer.
mount_debian()
{
	modprobe 9pnet_virtio && modprobe 9p && modprobe overlay || return 1
	mkdir -p /m/lower /m/top "$ROOT"
	mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 \
		debian /m/lower || return 1
	mount -t tmpfs tmpfs /m/top && mkdir /m/top/upper /m/top/work || return 1
	mount -t overlay -o lowerdir=/m/lower,upperdir=/m/top/upper,workdir=/m/top/work \
		overlay "$ROOT" || return 1
	for d in dev proc sys t; do
		mount -o bind "/$d" "$ROOT/$d" || return 1
	done
}

# smc PROGRAM...: start it with smc_run, in the Debian tree
smc()
{
	chroot "$ROOT" /t/smc_run "$@"
}

# counter NAME: of the loaded module; the in-tree module has netlink instead of a file
counter()
{
	if [ -e /proc/net/smc_stat ]; then
		case $1 in
		accepted)	sum='srv_smc' ;;
		fallbacks)	sum='clnt_fback srv_fback' ;;
		errors)		sum='clnt_hs_err srv_hs_err' ;;
		bytes)		sum='tx_write_bytes' ;;
		esac
		awk -v names="$sum" '
			BEGIN { n = split(names, a); for (i = 1; i <= n; i++) want[a[i]] = 1 }
			$1 in want { sum += $2; found++ }
			END { if (found != n) exit 1; printf "%.0f\n", sum }' /proc/net/smc_stat
	else
		/t/smcctl -j stats | awk -v what="$1" -F '[:,]' '
			/"smcd"/ { exit }
			{ gsub(/[ "]/, "", $1) }
			what == "accepted" && $1 ~ /^server_v[12]_connections$/ { sum += $2 }
			what == "fallbacks" && ($1 == "client" || $1 == "server") { sum += $2 }
			what == "errors" && $1 ~ /^(client|server)_handshake_errors$/ { sum += $2 }
			what == "bytes" && $1 == "tx_bytes" { sum += $2 }
			END { printf "%.0f\n", sum }'
	fi
}

# case.sh sets it
: "${CASE:=}"

COUNTERS="accepted fallbacks errors bytes"

# Logs every socket that sock_diag shows while the case runs, with its mode.
sample()
{
	: > /tmp/socks
	while [ ! -e /tmp/stop ]; do
		/t/smcctl sock | awk '/^[A-Z]/ && $2 ~ /:/ && $3 !~ /:0$/ { print $2, $3, $4 }' >> /tmp/socks
		usleep 200000
	done
}

# mark SIZE: marks the capture of the link by a ping whose size is unique.
mark()
{
	[ "$HOST" = 1 ] || ping -c 1 -W 5 -s "$1" "$(peer_addr)" > /dev/null ||
		fail "the mark was not answered"
}

# begin NUMBER; end NUMBER: around the traffic of one case
begin()
{
	rm -f /tmp/stop
	for c in $COUNTERS; do
		counter "$c" > "/tmp/$c" || fail "no counter $c"
	done
	rxe_counter sent_pkts > /tmp/packets
	sync_barrier begin || exit 1
	mark $((1000 + 2 * $1))
	sample &
	sampler=$!
}

end()
{
	sync_barrier end || exit 1
	mark $((1001 + 2 * $1))
	: > /tmp/stop
	wait "$sampler"
	for c in $COUNTERS; do
		now=$(counter "$c") || fail "no counter $c"
		data "${CASE#*.}.$c" "$((now - $(cat "/tmp/$c")))"
	done
	data "${CASE#*.}.packets" "$(($(rxe_counter sent_pkts) - $(cat /tmp/packets)))"
	sort -u /tmp/socks > /tmp/socks.once
	while read -r local peer mode; do
		echo "socket $local $peer $mode"
		data "${CASE#*.}.socket" "$local $peer $mode"
	done < /tmp/socks.once
}

# wait_listening PORT LOG
wait_listening()
{
	wait_for 30 listening "$1" || fail "the server does not listen: $(tail -n 3 "$2")"
}

listening()
{
	/t/smcctl sock -l port "$1" | grep -q LISTEN
}

# payload TO_HOST BYTES: reports how much the application has transferred
payload()
{
	data "${CASE#*.}.to$1" "$2"
}

# --- redis ---

REQUESTS=2000
VALUE=4096

case_redis()
{
	if [ "$HOST" = 1 ]; then
		smc redis-server /etc/redis/redis.conf --daemonize no --bind 0.0.0.0 \
			--protected-mode no --save '' --logfile '' \
			--supervised no > /tmp/redis.log 2>&1 &
		wait_listening 6379 /tmp/redis.log
		begin 1
		sync_wait finished 90 || fail "$(tail -n 5 /tmp/redis.log)"
		end 1
		return
	fi
	begin 1
	diag "redis-benchmark: $REQUESTS SET and $REQUESTS GET of $VALUE bytes, 8 connections"
	smc redis-benchmark -h "$(peer_addr)" -c 8 -n $REQUESTS -d $VALUE -t set,get \
		--csv > /tmp/redis.csv 2> /tmp/redis.err ||
		fail "redis-benchmark: $(tail -n 3 /tmp/redis.err)"
	cat /tmp/redis.csv /tmp/redis.err
	for t in SET GET; do
		rate=$(sed -n "s/^\"$t\",\"\([0-9.]*\)\".*/\1/p" /tmp/redis.csv)
		[ -n "$rate" ] || fail "redis-benchmark reports nothing for $t"
		diag "redis-benchmark: $t $rate requests per second"
	done
	# Another client must see the value with its full length; so each GET had
	# the whole value in its answer.
	expect "value length" "$(smc redis-cli -h "$(peer_addr)" strlen key:__rand_int__)" \
		-eq $VALUE
	payload 1 $((REQUESTS * VALUE))
	payload 2 $((REQUESTS * VALUE))
	sync_signal finished
	end 1
}

# --- nginx ---

FILE_BYTES=$((50 * 1000 * 1000))

case_nginx()
{
	if [ "$HOST" = 1 ]; then
		head -c "$FILE_BYTES" /dev/urandom > "$ROOT/var/www/html/file"
		chroot "$ROOT" sha256sum /var/www/html/file > /tmp/sum
		smc nginx -g 'daemon off;' > /tmp/nginx.log 2>&1 &
		wait_listening 80 /tmp/nginx.log
		begin 2
		sync_signal sum "$(cut -d ' ' -f 1 /tmp/sum)"
		sync_wait finished 90 || fail "$(tail -n 5 /tmp/nginx.log)"
		end 2
		rm "$ROOT/var/www/html/file"
		return
	fi
	begin 2
	sum=$(sync_wait sum) || exit 1
	diag "curl: a file of $FILE_BYTES bytes from nginx"
	smc curl -sS --fail -o /tmp/file -w '%{size_download} %{speed_download}\n' \
		"http://$(peer_addr)/file" > /tmp/curl.out 2>&1 || fail "curl: $(cat /tmp/curl.out)"
	read -r size speed < /tmp/curl.out
	expect "size" "$size" -eq "$FILE_BYTES"
	got=$(chroot "$ROOT" sha256sum /tmp/file | cut -d ' ' -f 1)
	[ "$got" = "$sum" ] || fail "checksum $got, but the server's file has $sum"
	diag "curl: $((speed / 1000000)) MB/s, SHA-256 of both files is $got"
	payload 2 "$FILE_BYTES"
	payload 1 1
	sync_signal finished
	rm "$ROOT/tmp/file"
	end 2
}

# --- iperf3 ---

# json_sum NAME: prints the bytes of the sum NAME in iperf3's report
json_sum()
{
	awk -v name="\"$1\"" '
		/^\t"end"/ { end = 1 }
		end && index($1, name ":") == 1 { inside = 1 }
		inside && $1 == "\"bytes\":" { sub(/,/, "", $2); printf "%.0f\n", $2; exit }
		' /tmp/iperf3.json
}

case_iperf3()
{
	if [ "$HOST" = 1 ]; then
		smc iperf3 -s -1 > /tmp/iperf3.log 2>&1 &
		server=$!
		wait_listening 5201 /tmp/iperf3.log
		begin 3
		wait "$server" || fail "iperf3 -s: $(tail -n 5 /tmp/iperf3.log)"
		sync_wait finished 90 || fail "$(tail -n 5 /tmp/iperf3.log)"
		end 3
		return
	fi
	begin 3
	diag "iperf3: two streams in each direction at once, 4 seconds"
	smc iperf3 -c "$(peer_addr)" -t 4 -P 2 --bidir -J > /tmp/iperf3.json 2> /tmp/iperf3.err ||
		fail "iperf3: $(cat /tmp/iperf3.err; sed -n 's/.*"error"//p' /tmp/iperf3.json)"
	up=$(json_sum sum_received)
	down=$(json_sum sum_received_bidir_reverse)
	if [ "${up:-0}" = 0 ] || [ "${down:-0}" = 0 ]; then
		fail "iperf3 received nothing: $(tail -n 60 /tmp/iperf3.json)"
	fi
	diag "iperf3: $up bytes there, $down bytes back"
	payload 1 "$up"
	payload 2 "$down"
	sync_signal finished
	end 3
}
