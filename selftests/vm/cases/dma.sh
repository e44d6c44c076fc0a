# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Checks that all transfers between CPU and RNIC follow the rules of the DMA API. Soft-RoCE
# cannot check this. Here two RNICs that access only DMA addresses (dma_rnic.ko) are in
# two namespaces of one host. Booted with swiotlb=force they use bounce buffers: a missing
# sync causes a wrong byte, a missing unmap leaves a bounce buffer in use.
# If the kernel has DMA_API_DEBUG, it counts mappings and checks every call as well.
#
# Then the same with smc.ko built without one of these calls (plant-dma.sh): the test must
# detect each of these faults.
#
#   CLEAN	cases with the unchanged module (default: all)
#   PLANTS	faults to plant (default: all). After one of the *_unmap only a reboot frees the
#		lost bounce buffers, and DMA_API_DEBUG may confuse the next mapping of the same
#		page with the lost one: only one of them per run there. DMA_API_DEBUG finds no
#		missing sync, as it cannot observe the device
#   PATIENCE	ms in which a transfer must make progress (default: smc_traffic's own)

: "${CLEAN=bounces stream:120 pages:120 random:120 pingpong:120 connects:120 parallel:120 counters unload:60}"
: "${PLANTS=buf_sync_for_device buf_sync_for_cpu wr_sync_for_device wr_sync_for_cpu buf_unmap wr_unmap}"

CASES=$CLEAN
for p in $PLANTS; do
	CASES="$CASES $p:120"
done
export CASES

NEAR=10.77.0.1
FAR=10.77.0.2

# far COMMAND...: runs it in the namespace of the second RNIC
far()
{
	ip netns exec far "$@"
}

setup()
{
	ip link set lo up
	ip netns add far || return 1
	ip link add near0 mtu 9000 type veth peer name far0 mtu 9000 netns far || return 1
	ip addr add "$NEAR/24" dev near0 && ip link set near0 up || return 1
	far /usr/sbin/ip addr add "$FAR/24" dev far0 &&
		far /usr/sbin/ip link set far0 up && far /usr/sbin/ip link set lo up || return 1
	modprobe ib_core && insmod /t/dma_rnic.ko || return 1
	/usr/sbin/rdma link add dma0 type dma_rnic netdev near0 &&
		far /usr/sbin/rdma link add dma1 type dma_rnic netdev far0 || return 1
	wait_for 10 port_active dma0 && wait_for 10 port_active dma1 || return 1
	mapped > /run/mapped.before
	case $CLEAN in
	*stream*)	load_smc ;;
	esac
}

# mapped: number of mappings, or slots of bounce buffers, in use
mapped()
{
	if [ -e /sys/kernel/debug/dma-api/dump ]; then
		grep -c 'dma_rnic\.' /sys/kernel/debug/dma-api/dump
	else
		cat /sys/kernel/debug/swiotlb/io_tlb_used || echo 0
	fi
}

show_mapped()
{
	[ ! -e /sys/kernel/debug/dma-api/dump ] ||
		grep 'dma_rnic\.' /sys/kernel/debug/dma-api/dump | head -n 20
}

# traffic SUBTEST...: exit code of the client
traffic()
{
	# shellcheck disable=SC2086 # an option or nothing
	far /t/smc_traffic server --family smc --require smc ${PATIENCE:+--timeout $PATIENCE} &
	server=$!
	# shellcheck disable=SC2086 # an option or nothing
	/t/smc_traffic client --connect "$FAR" --family smc --require smc --wait 10 --quit \
		${PATIENCE:+--timeout $PATIENCE} "$@"
	rc_=$?
	[ "$rc_" = 0 ] || kill "$server" 2> /dev/null
	wait "$server" || [ "$rc_" != 0 ] || rc_=1
	return "$rc_"
}

# DMA_API_DEBUG disables itself when it runs out of memory. It also warns of each wrong call.
check_dma_debug()
{
	expect "DMA debugging off" "$(cat /sys/kernel/debug/dma-api/disabled)" = N
	expect "wrong calls" "$(cat /sys/kernel/debug/dma-api/error_count)" -eq 0
}

case_bounces()
{
	if [ -e /sys/kernel/debug/dma-api/dump ]; then
		check_dma_debug
		return
	fi
	expect "bounce buffers for near" "$(rxe_counter bounces dma0)" -eq 1
	expect "bounce buffers for far" "$(rxe_counter bounces dma1)" -eq 1
}

case_stream()
{
	near=$(rxe_counter write_bytes dma0)
	far=$(rxe_counter write_bytes dma1)
	traffic stream:16 || fail "client ended with $?"
	usleep 50000	# a counter may be 10 ms old
	# each way
	expect "written by near" "$(($(rxe_counter write_bytes dma0) - near))" -ge 16777216
	expect "written by far" "$(($(rxe_counter write_bytes dma1) - far))" -ge 16777216
	expect "in use" "$(mapped)" -gt "$(cat /run/mapped.before)"
}

# Zero copy from pages of files and lending of received pages work with bounce buffers as well.
case_pages()
{
	cp /proc/net/smc_stat /run/stat
	traffic --pages stream:4 || fail "client ended with $?"
	expect "bytes out of files' pages" "$(grown tx_zc_bytes)" -ge 2097152
	expect "pages lent" "$(grown rx_lend_pages)" -ge 512
}

case_random() { traffic random:2 || fail "client ended with $?"; }
case_pingpong() { traffic pingpong:200 || fail "client ended with $?"; }
case_connects() { traffic connects:50 || fail "client ended with $?"; }
case_parallel() { traffic parallel:16 || fail "client ended with $?"; }

# The devices refused no request: no key, length or queue was wrong.
case_counters()
{
	expect "refused by near" "$(rxe_counter refused dma0)" -eq 0
	expect "refused by far" "$(rxe_counter refused dma1)" -eq 0
	expect "fallbacks" "$(awk '/fback/ { n += $2 } END { print n }' /proc/net/smc_stat)" -eq 0
}

# count_rnr RECEIVES: many connections at once, with so many receives for each link. The RNICs delay
# completions of received messages, as with interrupt moderation. Sets $rnr to the number of messages
# for which the peer had no receive.
count_rnr()
{
	# the setting applies to new groups
	[ ! -d /sys/module/smc ] || unload_smc || fail "the module cannot be unloaded"
	load_smc || fail "the module does not load"
	echo "$1" > /proc/sys/net/smc/smcr_max_recv_wr
	far sh -c "echo $1 > /proc/sys/net/smc/smcr_max_recv_wr"
	usleep 50000
	rnr=$(rnrs)
	sends=$(($(rxe_counter sends dma0) + $(rxe_counter sends dma1)))
	echo 20 > /sys/module/dma_rnic/parameters/moderation
	traffic parallel:64 random:1
	rc=$?
	echo 0 > /sys/module/dma_rnic/parameters/moderation
	usleep 50000
	rnr=$(($(rnrs) - rnr))
	sends=$(($(rxe_counter sends dma0) + $(rxe_counter sends dma1) - sends))
	diag "smcr_max_recv_wr $1: $sends messages, no receive for them $rnr times"
	expect "exit code of the client" "$rc" -eq 0
	for name_ in link_fail link_stall lgr_term; do
		expect "near: $name_" "$(stat_of "$name_")" -eq 0
		expect "far: $name_" "$(far cat /proc/net/smc_stat |
			awk -v n="$name_" '$1 == n { print $2 }')" -eq 0
	done
}

rnrs()
{
	echo "$(($(rxe_counter rnr dma0) + $(rxe_counter rnr dma1)))"
}

# Messages to a peer without receives are retried until it has some.
case_not_ready()
{
	count_rnr 2
	expect "times without a receive" "$rnr" -gt 10
	# with the default there are more receives than messages of a link in flight
	count_rnr 48
	expect "times without a receive, usually" "$rnr" -eq 0
}

case_unload()
{
	unload_smc || fail "the module cannot be unloaded"
	show_mapped
	expect "mappings left" "$(mapped)" -eq "$(cat /run/mapped.before)"
	[ ! -e /sys/kernel/debug/dma-api/dump ] || check_dma_debug
	expect "objects left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}

# run_planted NAME: runs a stream with a module without one kind of DMA call; sets $rc
run_planted()
{
	mapped > /run/mapped.before
	insmod "/t/smc-$1.ko" || fail "the planted module does not load"
	insmod /ours/smc_diag.ko || fail "smc_diag does not load"
	traffic stream:2 > /run/planted.log 2>&1
	rc=$?
	cat /run/planted.log
	unload_smc || fail "the module cannot be unloaded"
	echo "client: $rc"
}

# Bytes of the stream are wrong.
bytes_planted()
{
	run_planted "$1"
	expect "exit code of the client" "$rc" -ne 0
	grep -q EBADMSG /run/planted.log || fail "no wrong byte was found"
}

# Messages are garbage: no link comes up, the connection falls back.
messages_planted()
{
	run_planted "$1"
	expect "exit code of the client" "$rc" -ne 0
	grep -q 'mode is tcp' /run/planted.log || fail "a link came up"
}

# Data is right, but mappings are lost.
unmap_planted()
{
	run_planted "$1"
	expect "exit code of the client" "$rc" -eq 0
	show_mapped
	expect "mappings left" "$(mapped)" -gt "$(cat /run/mapped.before)"
}

case_buf_sync_for_device() { bytes_planted buf_sync_for_device; }
case_buf_sync_for_cpu() { bytes_planted buf_sync_for_cpu; }
case_buf_unmap() { unmap_planted buf_unmap; }
case_wr_sync_for_device() { messages_planted wr_sync_for_device; }
case_wr_sync_for_cpu() { messages_planted wr_sync_for_cpu; }
case_wr_unmap() { unmap_planted wr_unmap; }
