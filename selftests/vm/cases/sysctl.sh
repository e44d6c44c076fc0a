# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# net.smc.*: each name with its default and its limits, and what those do that no other script
# shows. For --topology lo.

CASES="values names kinds buffers depth conns ceiling corking unload:60"
export CASES

# name, default, least, most
SETTINGS="enabled 1 0 1
autocorking_size 65536 0 4294967295
carrier_keepalive_time 200 0 86400
hs_max 256 1 448
limit_smc_hs 0 0 1
rmem 65536 16384 1073741823
smcr_balance 0 0 1
smcr_buf_idle_time 120 0 86400
smcr_buf_type 0 0 2
smcr_idle_time_client 610 0 2147483647
smcr_idle_time_server 600 0 2147483647
smcr_link_policy 0 0 3
smcr_max_conns_per_lgr 255 16 255
smcr_max_links_per_lgr 2 1 8
smcr_max_recv_wr 48 2 2048
smcr_max_rmb_kb 0 0 4294967295
smcr_max_send_wr 16 2 2048
smcr_stall_time 30 0 86400
smcr_testlink_time 30 0 2147483647
smcr_testlink_timeout 8 1 3600
wmem 65536 16384 1073741823"

sys=/proc/sys/net/smc

setup()
{
	# its settings are made with it, whatever those of the first one are by then
	setup_net && setup_rxe && load_smc && ip netns add other
}

# takes NAME VALUE
takes()
{
	echo "$2" > "$sys/$1" || fail "$1: $2 was refused"
	[ "$(cat "$sys/$1")" = "$2" ] || fail "$1: $2 became $(cat "$sys/$1")"
}

# refuses NAME VALUE: with EINVAL, and nothing changes
refuses()
{
	was=$(cat "$sys/$1")
	! (echo "$2" > "$sys/$1") 2> /run/error || fail "$1: $2 was taken"
	grep -q 'Invalid argument' /run/error || fail "$1: $2: $(cat /run/error)"
	[ "$(cat "$sys/$1")" = "$was" ] || fail "$1: refused, and now $(cat "$sys/$1")"
}

in_other()
{
	ip netns exec other cat "$sys/$1"
}

case_values()
{
	echo "$SETTINGS" | while read -r name default least most; do
		expect "default of $name" "$(cat "$sys/$name")" -eq "$default"
		takes "$name" "$least"
		takes "$name" "$most"
		expect "$name elsewhere" "$(in_other "$name")" -eq "$default"
		refuses "$name" $((most + 1))
		refuses "$name" $((least - 1))
		refuses "$name" -1
		refuses "$name" ""
		refuses "$name" many
		refuses "$name" 1x
		takes "$name" "$default"
	done || exit 1
}

# No file is there that the table above does not have.
case_names()
{
	expect "files" "$(ls "$sys")" = "$(echo "$SETTINGS" | cut -d ' ' -f 1 | sort)"
}

# hold N [OPTION...]: that many connections; drop: they end, and so do their groups
hold()
{
	n=$1
	shift
	takes smcr_idle_time_client 1
	takes smcr_idle_time_server 1
	/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
	server=$!
	await_server
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc "$@" \
		"hold:$n" > /run/client 2>&1 &
	client=$!
	wait_for 30 conns_are $((2 * n)) || fail "$(conns) ends of connections: $(cat /run/client)"
}

conns()
{
	/t/smcctl -v -j sock | grep -c '"rmbe_size"'
}

conns_are()
{
	[ "$(conns)" = "$1" ]
}

no_groups()
{
	[ "$(groups)" = 0 ]
}

groups()
{
	/t/smcctl -j linkgroup | grep -c '"role"'
}

drop()
{
	kill_all "$client" "$server"
	wait_for 30 no_groups || fail "$(groups) groups stay"
}

# values FIELD COMMAND...: all different ones
values()
{
	field=$1
	shift
	/t/smcctl -j "$@" | sed -n "s/.*\"$field\": *\([0-9]*\).*/\1/p" | sort -nu | tr '\n' ' '
}

# It has no effect, and says so: every kind of buffers is told as what it is.
# single_regions N: so many are of pages that lie anywhere
single_regions()
{
	[ "$(grep -c 'smc_buf_region_alloc' /proc/vmallocinfo)" -eq "$1" ]
}

case_kinds()
{
	for kind in 0 1 2; do
		takes smcr_buf_type "$kind"
		hold 1
		name=$(echo physical virtual mixed | cut -d ' ' -f $((kind + 1)))
		expect "groups of $name memory" \
			"$(/t/smcctl -j linkgroup | grep -c "\"buffer_type\": *\"$name\"")" -eq 2
		# each has send rings and RMBs; groups that are not shown any more may still have theirs
		[ "$kind" = 1 ] && single=4 || single=0
		wait_for 30 single_regions "$single" ||
			fail "$(grep -c 'smc_buf_region_alloc' /proc/vmallocinfo) regions of single pages, not $single"
		drop
	done
	takes smcr_buf_type 0
}

case_buffers()
{
	takes wmem 30000
	takes rmem 262144
	hold 1
	expect "send rings" "$(values sndbuf_size -v sock)" = "32768 "
	expect "RMBEs" "$(values rmbe_size -v sock)" = "262144 "
	drop
	# more than the largest there is
	takes wmem 1073741823
	takes rmem 1073741823
	hold 1
	expect "largest send rings" "$(values sndbuf_size -v sock)" = "524288 "
	expect "largest RMBEs" "$(values rmbe_size -v sock)" = "524288 "
	drop
	takes wmem 65536
	takes rmem 65536
}

# depth SEND RECV SENDS RECVS: a link that is made with these settings, and works
# (of requests there are four times as many, four for LLC, and three probes)
depth()
{
	takes smcr_max_send_wr "$1"
	takes smcr_max_recv_wr "$2"
	hold 1
	expect "room for messages" "$(values send_slots link)" = "$3 "
	expect "receives" "$(values receives link)" = "$4 "
	before
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc \
		stream:2 parallel:16 || fail "client ended with $?"
	expect "bytes by RDMA" "$(grown tx_write_bytes)" -ge 4194304
	noslot=$(grown tx_noslot)
	drop
}

case_depth()
{
	depth 16 48 71 192
	depth 2 2 15 8
	expect "times a slot was missing" "$noslot" -gt 0
	depth 300 200 1207 800
	takes smcr_max_send_wr 16
	takes smcr_max_recv_wr 48
}

case_conns()
{
	takes smcr_max_conns_per_lgr 16
	hold 17
	expect "groups, of two ends each" "$(groups)" -eq 4
	drop
	takes smcr_max_conns_per_lgr 255
	hold 17
	expect "groups with room for all" "$(groups)" -eq 2
	drop
}

# tcp_server: whose connections are to be TCP
tcp_server()
{
	/t/smc_traffic server --family smc --require tcp --port 4431 > /run/tcp 2>&1 &
	tcp=$!
	await_server 4431
}

one_by_tcp()
{
	before
	/t/smc_traffic client --connect "$(own_addr)" --port 4431 --family smc --require tcp \
		stream:1 || fail "no connection in mode tcp"
	expect "bytes by RDMA" "$(grown tx_write_bytes)" -eq 0
}

# Both ends are here. The server's group is the first to get memory, 8 elements of 64 KiB; the
# client's gets what is left, two, and a third connection none.
case_ceiling()
{
	# groups that are not shown any more may still have theirs
	wait_for 30 charged 0 || fail "$(charge) bytes of RMBs stay"
	takes smcr_max_rmb_kb 640
	hold 2
	tcp_server
	expect "memory of RMBs" "$(rmb_bytes)" -eq 655360
	one_by_tcp
	/t/smcctl -j stats > /run/stats
	grep -q 0x01018001 /run/stats || fail "no such reason: $(cat /run/stats)"
	expect "memory of RMBs then" "$(rmb_bytes)" -eq 655360
	# it holds at once
	takes smcr_max_rmb_kb 768
	before
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc stream:1 ||
		fail "no connection in mode smc"
	expect "bytes by RDMA with more" "$(grown tx_write_bytes)" -ge 2097152
	expect "memory of RMBs with more" "$(rmb_bytes)" -eq 786432
	expect "what counts of them" "$(charge)" -eq 786432
	drop
	wait_for 30 charged 0 || fail "$(charge) bytes of RMBs stay"
	# not even one, and what was counted has been given back
	takes smcr_max_rmb_kb 63
	one_by_tcp
	kill_all "$tcp"
	wait_for 30 no_groups || fail "$(groups) groups stay"
	expect "bytes that count" "$(charge)" -eq 0
	takes smcr_max_rmb_kb 1024
	hold 8
	expect "memory of RMBs of both" "$(rmb_bytes)" -eq 1048576
	takes smcr_max_rmb_kb 0
	drop
}

# What counts: of all groups, those that end as well.
charge()
{
	echo $(($(stat_of rmb_bytes) - $(stat_of rmb_freed)))
}

charged()
{
	[ "$(charge)" = "$1" ]
}

# Of all groups that are shown.
rmb_bytes()
{
	/t/smcctl -j linkgroup | sed -n 's/.*"rmb_bytes": *\([0-9]*\).*/\1/p' |
		awk '{ n += $1 } END { print n + 0 }'
}

# writes_of SIZE: RDMA WRITEs for a mebibyte in pieces of 1000 bytes each way, with as much room
# as there can be: what has to wait for that goes together, too
writes_of()
{
	takes autocorking_size "$1"
	takes smcr_max_send_wr 1024
	takes wmem 524288
	takes rmem 524288
	hold 1
	before
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc --wsize 1000 \
		stream:1 > /run/stream || fail "client ended with $?"
	writes=$(grown tx_writes)
	calls=$(grown tx_cnt)
	diag "autocorking_size $1: $calls calls, $writes WRITEs"
	drop
	takes smcr_max_send_wr 16
	takes wmem 65536
	takes rmem 65536
}

case_corking()
{
	writes_of 0
	expect "WRITEs without corking" $((writes * 2)) -ge "$calls"
	alone=$writes
	writes_of 65536
	expect "WRITEs with corking" $((writes * 2)) -lt "$alone"
}

case_unload()
{
	ip netns del other
	unload_smc || fail "the module does not go"
	[ ! -e "$sys" ] || fail "$sys is left"
}
