# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# net.smc.*: each name with its default and its limits, and the effect of the settings that no other
# script tests. For --topology lo.

CASES="values names no_programs machine inherit pod kinds buffers depth conns ceiling ceiling_send share host_groups corking unload:60"
export CASES

# name, default, least, most
SETTINGS="enabled 1 0 1
autocorking_size 65536 0 4294967295
autosmc_bytes 0 0 4294967295
autosmc_time 10 1 3600
upgrade_bytes 0 0 4294967295
carrier_keepalive_time 200 0 86400
hs_max 256 1 448
limit_smc_hs 0 0 1
rmem 65536 16384 1073741823
send_hostname 1 0 1
smcr_balance 0 0 1
smcr_buf_idle_time 120 0 86400
smcr_buf_type 0 0 2
smcr_idle_time_client 610 0 2147483647
smcr_idle_time_server 600 0 2147483647
smcr_link_policy 0 0 4
smcr_max_conns_per_lgr 255 16 255
smcr_max_host_groups 64 0 4294967295
smcr_max_host_kb 0 0 4294967295
smcr_max_links_per_lgr 2 1 8
smcr_max_recv_wr 48 2 2048
smcr_max_rmb_kb 0 0 4294967295
smcr_max_send_wr 16 2 2048
smcr_max_snd_kb 0 0 4294967295
smcr_stall_time 30 0 86400
smcr_testlink_time 30 0 2147483647
smcr_testlink_timeout 8 1 3600
smcr_write_imm 1 0 1
wmem 65536 16384 1073741823"

sys=/proc/sys/net/smc

setup()
{
	# a new namespace has the defaults, not the settings of the initial namespace
	export MEM_LIMIT=kept
	setup_net && setup_rxe && load_smc && ip netns add other || return 1
	cat $sys/smcr_max_mem_kb > /run/mem_kb
	# too little for what follows
	echo 0 > $sys/smcr_max_mem_kb
}

# set_value NAME VALUE: sets it and reads it back
set_value()
{
	echo "$2" > "$sys/$1" || fail "$1: $2 was refused"
	[ "$(cat "$sys/$1")" = "$2" ] || fail "$1: $2 became $(cat "$sys/$1")"
}

# expect_refused NAME VALUE: EINVAL, and the setting is unchanged
expect_refused()
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
		set_value "$name" "$least"
		set_value "$name" "$most"
		expect "$name elsewhere" "$(in_other "$name")" -eq "$default"
		expect_refused "$name" $((most + 1))
		expect_refused "$name" $((least - 1))
		expect_refused "$name" -1
		expect_refused "$name" ""
		expect_refused "$name" many
		expect_refused "$name" 1x
		set_value "$name" "$default"
	done || exit 1
}

# The table above has all files, but three.
case_names()
{
	expect "files" "$(ls "$sys")" = \
		"$({ echo "$SETTINGS" | cut -d ' ' -f 1; echo smcr_max_mem_kb; echo netns_inherit; echo hs_ctrl; } | sort)"
}

# User Mode Linux cannot call BPF programs (hs_ctrl.sh is for kernels that can): a name is refused, smcctl says
# what to use instead, and none is taken.
case_no_programs()
{
	expect "hs_ctrl" "$(cat $sys/hs_ctrl)" = ""
	! (echo linkcheck > $sys/hs_ctrl) 2> /run/error || fail "hs_ctrl: a name was taken"
	grep -q 'not supported' /run/error || fail "hs_ctrl: $(cat /run/error)"
	! /t/smcctl setting set hs_ctrl linkcheck 2> /run/error || fail "smcctl: a name was taken"
	grep -q 'take no BPF programs: use smcctl policy' /run/error || fail "smcctl: $(cat /run/error)"
	! dmesg | grep 'smc: hs_ctrl: ' || fail "hs_ctrl: each write logs a line"
	expect "hs_ctrl then" "$(cat $sys/hs_ctrl)" = ""
	echo > $sys/hs_ctrl || fail "hs_ctrl: no name was refused"
	/t/smcctl setting set hs_ctrl - || fail "smcctl: no name was refused"
}

# The one setting of the machine: a sixteenth of its memory. Other namespaces see it, and cannot
# change it.
case_machine()
{
	name=smcr_max_mem_kb
	expect "default of $name" "$(cat /run/mem_kb)" -eq \
		$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 16))
	for value in 16 4294967295 0; do
		set_value "$name" "$value"
		expect "$name elsewhere" "$(in_other "$name")" -eq "$value"
	done
	expect_refused "$name" 4294967296
	! ip netns exec other sh -c "echo 16 > $sys/$name" 2> /run/error ||
		fail "$name was changed by another namespace"
	grep -q 'Permission denied' /run/error || fail "$name: $(cat /run/error)"
	expect "$name then" "$(cat "$sys/$name")" -eq 0
}

# as_heir COMMAND...: the output in a new namespace
as_heir()
{
	ip netns add heir || fail "no namespace"
	ip netns exec heir "$@"
	ip netns del heir
}

# New namespaces begin as the initial one is, if that says so; then each goes its own way.
case_inherit()
{
	expect "default of netns_inherit" "$(cat $sys/netns_inherit)" -eq 0
	expect_refused netns_inherit 2
	set_value wmem 131072
	set_value smcr_link_policy 2
	set_value enabled 0
	/t/smcctl ueid add HEIRLOOM || fail "no UEID"
	/t/smcctl policy add deny local-port 22 || fail "no rule"
	/t/smcctl policy add allow number 50 remote 10.0.0.0/8 || fail "no rule"
	fresh=$(as_heir cat $sys/wmem $sys/smcr_link_policy $sys/enabled | xargs)
	expect "settings without it" "$fresh" = "65536 0 1"
	expect "rules without it" "$(as_heir /t/smcctl policy | sed 1d)" = ""
	set_value netns_inherit 1
	expect "settings" "$(as_heir /t/smcctl setting)" = "$(/t/smcctl setting)"
	expect "user EIDs" "$(as_heir /t/smcctl ueid)" = "HEIRLOOM"
	expect "rules" "$(as_heir /t/smcctl policy)" = "$(/t/smcctl policy)"
	expect "an older namespace" "$(in_other wmem)" -eq 65536
	expect "netns_inherit elsewhere" "$(in_other netns_inherit)" -eq 1
	! ip netns exec other sh -c "echo 0 > $sys/netns_inherit" 2> /run/error ||
		fail "netns_inherit was changed by another namespace"
	as_heir sh -c "echo 3 > $sys/smcr_link_policy; /t/smcctl ueid flush; /t/smcctl policy flush"
	expect "the initial one then" "$(cat $sys/smcr_link_policy)" -eq 2
	expect "its user EIDs" "$(/t/smcctl ueid)" = "HEIRLOOM"
	expect "its rules" "$(/t/smcctl policy | sed 1d | wc -l)" -eq 2
	set_value netns_inherit 0
	set_value wmem 65536
	set_value smcr_link_policy 0
	set_value enabled 1
	/t/smcctl policy flush
	/t/smcctl ueid del HEIRLOOM
	/t/smcctl ueid add SMCV2-DEFAULT-UEID
}

# by_nobody COMMAND...: as a user without rights
by_nobody()
{
	# start-stop-daemon takes a user that has a name
	grep -qs ^nobody: /etc/passwd || echo 'nobody:x:65534:65534::/:/bin/sh' >> /etc/passwd
	start-stop-daemon -S -n none_has_this_name -c nobody -a /bin/busybox -- "$@"
}

# A pod with a user namespace of its own, as "unshare -Urn" of a user without rights: that user may change
# the settings of the pod's network namespace, but those of the machine and upgrade_bytes.
case_pod()
{
	! by_nobody sh -c "echo 0 > $sys/enabled" 2> /run/error || fail "a user has changed the host's"
	grep -q 'Permission denied' /run/error || fail "$(cat /run/error)"
	expect "enabled in the pod" "$(by_nobody unshare -Urn sh -c \
		"cat $sys/enabled; echo 0 > $sys/enabled; cat $sys/enabled" | xargs)" = "1 0"
	expect "enabled elsewhere" "$(cat $sys/enabled) $(in_other enabled)" = "1 1"
	# shellcheck disable=SC2016 # for the shell in the pod
	by_nobody unshare -Urn sh -c 'cd "$0" && for name in *; do
		value=$(cat "$name")
		(echo "$value" > "$name") 2> /dev/null || echo "$name"
	done' "$sys" > /run/refused
	expect "refused in the pod" "$(xargs < /run/refused)" = "netns_inherit smcr_max_mem_kb upgrade_bytes"
}

# open_conns N [OPTION...]: opens N connections; close_conns: closes them, and waits for the end of
# their groups
open_conns()
{
	n=$1
	shift
	set_value smcr_idle_time_client 1
	set_value smcr_idle_time_server 1
	/t/smc_traffic server --family smc --require smc > /run/server 2>&1 &
	server=$!
	await_server
	hold_conns "$n" "$@"
	wait_for 30 conns_are $((2 * n)) || fail "$(conns) ends of connections"
}

# hold_conns N OPTION...: N connections at the same time; $client is their process
hold_conns()
{
	held=$1
	shift
	# the last round's words would end the wait below at once
	: > /run/client
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc "$@" \
		"hold:$held" > /run/client 2>&1 &
	client=$!
	# each of them has sent its first bytes: they would count later
	wait_for 30 grep -q "^# holding $held\$" /run/client ||
		fail "no $held connections: $(cat /run/client)"
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

close_conns()
{
	kill_all "$client" "$server"
	wait_for 30 no_groups || fail "$(groups) groups do not end"
}

# values FIELD COMMAND...: the values of the field, each once
values()
{
	field=$1
	shift
	/t/smcctl -j "$@" | sed -n "s/.*\"$field\": *\([0-9]*\).*/\1/p" | sort -nu | tr '\n' ' '
}

# single_regions N: N regions consist of single pages
single_regions()
{
	[ "$(grep -c 'region_alloc' /proc/vmallocinfo)" -eq "$1" ]
}

# smcr_buf_type sets the kind of memory of new groups.
case_kinds()
{
	for kind in 0 1 2; do
		set_value smcr_buf_type "$kind"
		open_conns 1
		name=$(echo physical virtual mixed | cut -d ' ' -f $((kind + 1)))
		expect "groups of $name memory" \
			"$(/t/smcctl -j linkgroup | grep -c "\"buffer_type\": *\"$name\"")" -eq 2
		# each group has two RMBs, and send rings of two sizes; ended groups may still have theirs
		[ "$kind" = 1 ] && single=8 || single=0
		wait_for 30 single_regions "$single" ||
			fail "$(grep -c 'region_alloc' /proc/vmallocinfo) regions of single pages, not $single"
		close_conns
	done
	set_value smcr_buf_type 0
}

case_buffers()
{
	set_value wmem 30000
	set_value rmem 262144
	open_conns 1
	expect "send rings" "$(values sndbuf_size -v sock)" = "32768 "
	expect "RMBEs" "$(values rmbe_size -v sock)" = "262144 "
	close_conns
	# more than the maximum
	set_value wmem 1073741823
	set_value rmem 1073741823
	open_conns 1
	expect "largest send rings" "$(values sndbuf_size -v sock)" = "524288 "
	expect "largest RMBEs" "$(values rmbe_size -v sock)" = "524288 "
	close_conns
	set_value wmem 65536
	set_value rmem 65536
}

# check_depth SEND RECV SENDS RECVS: a link with these settings works, and has SENDS send slots and
# RECVS receives (four times as many requests, four for LLC, three probes, one that programs cause)
check_depth()
{
	set_value smcr_max_send_wr "$1"
	set_value smcr_max_recv_wr "$2"
	open_conns 1
	expect "send slots" "$(values send_slots link)" = "$3 "
	expect "receives" "$(values receives link)" = "$4 "
	before
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc \
		stream:2 parallel:16 || fail "client ended with $?"
	expect "bytes by RDMA" "$(grown tx_write_bytes)" -ge 4194304
	noslot=$(grown tx_noslot)
	close_conns
}

case_depth()
{
	check_depth 16 48 56 192
	check_depth 2 2 14 8
	expect "times without a free slot" "$noslot" -gt 0
	check_depth 300 200 908 800
	set_value smcr_max_send_wr 16
	set_value smcr_max_recv_wr 48
}

case_conns()
{
	set_value smcr_max_conns_per_lgr 16
	open_conns 17
	expect "groups, of two ends each" "$(groups)" -eq 4
	close_conns
	set_value smcr_max_conns_per_lgr 255
	open_conns 17
	expect "groups with room for all" "$(groups)" -eq 2
	close_conns
}

# tcp_server: a server whose connections must fall back
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

# Both ends are on this host, with one port. The first two RMBs of each group have one element of 64 KiB each;
# a third connection gets none. Then the server's group gets memory first, two elements, and the
# client's the rest, one.
case_ceiling()
{
	# ended groups may still have memory
	wait_for 30 charged 0 || fail "$(charge) bytes of RMBs are not freed"
	set_value smcr_max_rmb_kb 256
	open_conns 2
	tcp_server
	expect "memory of RMBs" "$(rmb_bytes)" -eq 262144
	one_by_tcp
	expect_reason 0x01018001
	expect "memory of RMBs then" "$(rmb_bytes)" -eq 262144
	# a new limit applies at once
	set_value smcr_max_rmb_kb 448
	one_by_smc
	expect "memory of RMBs with more" "$(rmb_bytes)" -eq 458752
	expect "charged bytes" "$(charge)" -eq 458752
	close_conns
	wait_for 30 charged 0 || fail "$(charge) bytes of RMBs are not freed"
	# not enough for one RMB; a failed attempt must not stay charged
	set_value smcr_max_rmb_kb 63
	one_by_tcp
	kill_all "$tcp"
	wait_for 30 no_groups || fail "$(groups) groups do not end"
	expect "charged bytes" "$(charge)" -eq 0
	set_value smcr_max_rmb_kb 1280
	open_conns 8
	expect "memory of RMBs of both" "$(rmb_bytes)" -eq 1310720
	set_value smcr_max_rmb_kb 0
	close_conns
}

# send_bytes: bytes of send rings of all groups, including ended ones
send_bytes()
{
	/t/smcctl -j stats | tr -d ' \n' | sed 's/.*"memory":{"send_bytes":\([0-9]*\).*/\1/'
}

no_rings()
{
	[ "$(send_bytes)" = 0 ]
}

# A stream over a connection beside those that stand. $rings: how many rings both ends have got, but for
# first ones
one_stream()
{
	before
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc stream:16 ||
		fail "no connection in mode smc"
	rings=$(($(grown tx_buf_alloc) + $(grown tx_buf_reuse)))
}

# Both ends are on this host. Each group has a page of first rings, and a ring of 64 KiB, which its
# connection takes with its first bytes. Then half of the limit is not free any more, so both ends of
# the second connection begin with a ring of full size, one more in each group. The limit lacks 62 KiB
# for another one.
case_ceiling_send()
{
	wait_for 30 no_rings || fail "$(send_bytes) bytes of send rings are not freed"
	set_value smcr_max_snd_kb 266
	open_conns 1
	alone=$client
	hold_conns 1
	wait_for 30 conns_are 4 || fail "$(conns) ends of connections"
	tcp_server
	expect "memory of send rings" "$(send_bytes)" -eq 270336
	was=$(stat_of mem_limited)
	one_by_tcp
	expect_reason 0x01018001
	expect "refused regions" "$(($(stat_of mem_limited) - was))" -ge 1
	expect "memory of send rings then" "$(send_bytes)" -eq 270336
	# a new limit applies at once: each group would like to have two rings more, and one gets one
	set_value smcr_max_snd_kb 458
	one_stream
	expect "memory of send rings with more" "$(send_bytes)" -eq 466944
	# no end gets a bigger one, and that is no refusal
	expect "rings at the limit" "$rings" -eq 2
	expect "refused regions at the limit" "$(grown mem_limited)" -eq 0
	set_value smcr_max_snd_kb 0
	one_stream
	expect "rings without a limit" "$rings" -gt 2
	kill_all "$tcp" "$alone"
	close_conns
}

# expect_reason CODE: a connection was TCP for this reason
expect_reason()
{
	/t/smcctl -j stats > /run/stats
	grep -q "$1" /run/stats || fail "no such reason: $(cat /run/stats)"
}

# one_by_smc: a connection beside those that stand uses SMC
one_by_smc()
{
	before
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc stream:1 ||
		fail "no connection in mode smc"
	expect "bytes by RDMA" "$(grown tx_write_bytes)" -ge 2097152
}

# This host is its own peer. Ten connections need three RMBs at each end, of 64, 64 and 512 KiB, and use
# all of these: 1280 KiB, and less than 300 KiB of send rings.
case_share()
{
	# ended groups may still have memory
	wait_for 30 charged 0 || fail "$(charge) bytes of RMBs are not freed"
	tcp_server
	for limit in host_kb:0x01018003 mem_kb:0x01018002; do
		set_value smcr_max_mem_kb 0
		set_value smcr_max_host_kb 0
		open_conns 10
		# a namespace gets three quarters of the machine's limit
		case $limit in
		host_kb:*)	few=1280 more=4096 ;;
		*)		few=1706 more=8192; set_value smcr_max_host_kb 65536 ;;
		esac
		set_value "smcr_max_${limit%:*}" "$few"
		was=$(stat_of mem_limited)
		one_by_tcp
		expect_reason "${limit#*:}"
		expect "connections that stand" "$(conns)" -eq 20
		expect "refused regions" "$(($(stat_of mem_limited) - was))" -ge 1
		set_value "smcr_max_${limit%:*}" "$more"
		one_by_smc
		close_conns
		wait_for 30 charged 0 || fail "$(charge) bytes of RMBs are not freed"
	done
	set_value smcr_max_mem_kb 0
	set_value smcr_max_host_kb 0
	kill_all "$tcp"
}

case_host_groups()
{
	tcp_server
	set_value smcr_max_conns_per_lgr 16
	set_value smcr_max_host_groups 2
	open_conns 16
	expect "groups, of two ends each" "$(groups)" -eq 2
	was=$(stat_of lgr_limited)
	one_by_tcp
	expect_reason 0x01018004
	expect "refused groups" "$(($(stat_of lgr_limited) - was))" -ge 1
	expect "connections that stand" "$(conns)" -eq 32
	set_value smcr_max_host_groups 64
	one_by_smc
	close_conns
	set_value smcr_max_conns_per_lgr 255
	kill_all "$tcp"
}

# charge: bytes of RMBs of all groups, including ended ones
charge()
{
	echo $(($(stat_of rmb_bytes) - $(stat_of rmb_freed)))
}

charged()
{
	[ "$(charge)" = "$1" ]
}

# rmb_bytes: bytes of RMBs of all groups that smcctl lists
rmb_bytes()
{
	/t/smcctl -j linkgroup | sed -n 's/.*"rmb_bytes": *\([0-9]*\).*/\1/p' |
		awk '{ n += $1 } END { print n + 0 }'
}

# writes_of SIZE: RDMA WRITEs for 1 MiB in pieces of 1000 bytes each way, with the largest windows and
# most send slots: data that waits for either is merged, too
writes_of()
{
	set_value autocorking_size "$1"
	set_value smcr_max_send_wr 1024
	set_value wmem 524288
	set_value rmem 524288
	open_conns 1
	before
	/t/smc_traffic client --connect "$(own_addr)" --family smc --require smc --wsize 1000 \
		stream:1 > /run/stream || fail "client ended with $?"
	writes=$(grown tx_writes)
	calls=$(grown tx_cnt)
	diag "autocorking_size $1: $calls calls, $writes WRITEs"
	close_conns
	set_value smcr_max_send_wr 16
	set_value wmem 65536
	set_value rmem 65536
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
	unload_smc || fail "the module cannot be unloaded"
	[ ! -e "$sys" ] || fail "$sys is left"
}
