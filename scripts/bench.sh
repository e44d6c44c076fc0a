#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# TCP, the in-tree SMC, ours, ours with connections that begin as TCP (upgrade: rows
# of short connections) and raw verbs on one pair of virtual hosts, in turns; prints
# a table of medians with ratios, writes build/bench.json.
#
# Usage: bench.sh [--profile|--budget|--figures|--sizes|--foreign|--peers] [--bed BED]
#                 [--kernel SERIES] [--ours DIR] [--before DIR] [--without LABEL]...
#
#   --bed insn        instructions instead of times, on one host, both ends and RNIC together. The
#                     figures do not depend on the load of the machine. Without
#                     raw and upgrade
#   --bed uml         in User Mode Linux, near native speed, each host on a processor of its own:
#                     without raw, whose programs want the CPU's clock, and with an MTU of 1500, as
#                     TCP there panics with 9000
#   --ours DIR        the modules are there, build none
#   --before DIR      insn: another build of the module, measured in the same run
#   --profile         insn: in which functions the instructions are, and who calls these; with
#                     --before for both builds. BENCH_FUNCTIONS=N: how many functions
#   --budget          insn: hold what some rows cost against selftests/bench/budget.txt; prints KTAP
#   --figures         insn: the figures of these rows, of both families, as lines for that file
#   --sizes           insn: only writes of 2^k - 1, 2^k and 2^k + 1 bytes, k = 12 .. 20; fails if
#                     neighbours of ours differ by more than 10 % per byte
#   --foreign         insn: ours once more, without immediate values, as with an in-tree peer;
#                     rows of ping-pongs and streams, unless BENCH_ROWS names others
#   --peers           ours with an in-tree peer, as client and as server, beside two in-tree hosts;
#                     not on the bed insn
#   --without LABEL   leave out tcp, intree, ours, upgrade or raw
#   --autosmc         insn: only short connections: connect_rate, connect_autosmc, where AUTOSMC
#                     makes those of ours TCP, beside a stream that stays SMC, and
#                     connect_autosmc_served, where the server declines them
#   --upgrade         insn: ours once more, where connections between hosts of this module begin as
#                     TCP (net.smc.upgrade_bytes); only connect_rate, connect_latency and
#                     requests, unless BENCH_ROWS names others. BENCH_UPGRADE_BYTES=N: they
#                     change over after N bytes
#                     (default 100000: these rows stay TCP)
#   --loopback        insn: connections within one host, over smc_lo; the MTU is that of lo. With
#                     --budget: hold what three rows cost against TCP's; prints KTAP
#   BENCH_ROWS=A,B    insn: only these rows of smc_bench; scale: what a round trip, 64 KB and a
#                     connect cost, and a connection takes of memory, with many connections open:
#                     scale_*, and spread_* with 16 of them in a group at most, where it can be 255
#   BENCH_CONNS=A,B   with BENCH_ROWS=scale: how many (default 1,16,256,2048; up to 10000)
#   BENCH_ROUNDS=N    rounds (default 5; fewer give a table that says so)
#   BENCH_COUNT=N     not insn: round trips of a row, and four times the connections (default 200)
#   BENCH_MS=N        length of one stream measurement (default 1000)
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
vm=$top/selftests/vm
cache=$("$top/scripts/cache-dir.sh")
kernel=6.12
bed=qemu
mtu=9000
rounds=${BENCH_ROUNDS:-5}
ours=
before=
profile=
budget=
loopback=
sizes=
as_tcp=
labels=' tcp intree ours upgrade raw '
ratios='--ratio ours/intree --ratio ours/tcp'
floors='--floor ours/intree:0.9'
ceilings=
peers=

die()
{
	echo "bench: $*" >&2
	exit 1
}

# drop LABEL...: measure without them
drop()
{
	for l_ in "$@"; do
		case $labels in
		*" $l_ "*)	labels="${labels%%" $l_ "*} ${labels#*" $l_ "}" ;;
		esac
	done
}

while [ $# -gt 0 ]; do
	case $1 in
	--profile)
		profile=y
		shift
		continue
		;;
	--budget|--figures)
		[ "$1" = --budget ] && budget=check || budget=figures
		profile=y bed=insn labels=' intree ours '
		BENCH_ROWS=first_contact,stream_64k,pingpong_1,sendfile_64k,zerocopy_64k,splice_64k
		BENCH_ROWS=$BENCH_ROWS,splice_lend_64k,connect_rate,connect_autosmc,connect_upgrade
		shift
		continue
		;;
	--autosmc)
		bed=insn BENCH_ROWS=connect_rate,connect_autosmc,connect_autosmc_served
		drop upgrade raw
		shift
		continue
		;;
	--upgrade)
		as_tcp=upgrade bed=insn
		: "${BENCH_ROWS:=connect_rate,connect_latency,requests}"
		drop upgrade raw
		shift
		continue
		;;
	--foreign)
		bed=insn labels=' intree ours foreign '
		ratios='--ratio ours/intree --ratio foreign/intree'
		: "${BENCH_ROWS:=stream_1k,stream_64k,pingpong_1,pingpong_1k,parallel_16}"
		shift
		continue
		;;
	--peers)
		peers=y labels=' intree client server '
		ratios='--ratio client/intree --ratio server/intree'
		# lists all that is slower, by however little: the goal is that nothing is
		floors='--floor client/intree:1 --floor server/intree:1'
		shift
		continue
		;;
	--loopback)
		loopback=y bed=insn labels=' tcp loopback ' mtu=65536 ratios='--ratio loopback/tcp'
		shift
		continue
		;;
	--sizes)
		sizes=y bed=insn BENCH_ROWS=sizes
		drop upgrade raw
		shift
		continue
		;;
	--kernel)	kernel=${2-} ;;
	--ours)		ours=${2-} ;;
	--before)	before=${2-} ;;
	--bed)
		bed=${2-}
		case $bed in
		qemu)	;;
		insn)	drop upgrade raw ;;
		uml)	kernel=uml-plain mtu=1500; drop raw ;;
		*)	die "there is no bed '$bed' (see --help)" ;;
		esac
		;;
	--without)
		case $labels in
		*" ${2-} "*)	drop "$2" ;;
		*)		die "there is no '${2-}' (see --help)" ;;
		esac
		;;
	-h|--help)	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
	*)		die "unknown option $1 (see --help)" ;;
	esac
	shift 2
done
case $rounds in
''|*[!0-9]*|0)	die "BENCH_ROUNDS must be a number above 0" ;;
esac
if [ "$loopback$budget" = ycheck ]; then
	# beside TCP, and not by function
	budget='' profile='' labels=' tcp loopback ' BENCH_ROWS=stream_64k,stream_1m,pingpong_1
	ceilings='--ceiling loopback/tcp:stream_64k:0.76 --ceiling loopback/tcp:stream_1m:0.76'
	ceilings="$ceilings --ceiling loopback/tcp:pingpong_1:1"
fi
mem=1024
conns=${BENCH_CONNS:-1,16,256,2048}
if [ "${BENCH_ROWS:-}" = scale ]; then
	[ "$bed" = insn ] || die "BENCH_ROWS=scale needs --bed insn"
	most=${conns##*,}
	case $most in
	''|*[!0-9]*)	die "BENCH_CONNS must be numbers, which grow" ;;
	esac
	# both ends of a connection, in-tree: 350 KB, and 64 KB of the test program
	mem=$((mem + most * 3 / 4))
fi
[ -z "$peers" ] || [ "$bed" != insn ] || die "--peers needs two hosts: --bed uml or qemu"

mkdir -p "$top/build"
"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" "$vm/packages.txt"
case $bed in
uml)	"$top/selftests/uml/build-kernel.sh" plain ;;
*)	"$vm/fetch.sh" "$kernel" ;;
esac
make -s -C "$top/tools" smcctl
make -s -C "$top/selftests" smc_traffic bench/smc_bench bench/smc_hold bench/smc_knock

if [ -n "$budget" ]; then
	release=$(basename "$(readlink -f "$cache/kernels/$kernel")")
	compiler=gcc-$(gcc -dumpfullversion)
	[ "$budget" = figures ] ||
		! "$top/selftests/bench/budget.py" known "$release" "$compiler" || labels=' ours '
fi

stage=$(mktemp -d "${TMPDIR:-/tmp}/bench.XXXXXX")
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/ours"
case "$labels$as_tcp " in
*" ours "*|*" upgrade "*|*" loopback "*|*" client "*|*" server "*)
	if [ -z "$ours" ]; then
		"$top/scripts/build-modules.sh" "$kernel"
		ours=$top/build/$(basename "$(readlink -f "$cache/kernels/$kernel")")
	fi
	cp "$ours/smc.ko" "$ours/smc_diag.ko" "$ours/smc_lo.ko" "$stage/ours/"
	;;
esac
if [ -n "$before" ]; then
	[ "$bed" = insn ] || die "--before needs --bed insn"
	mkdir "$stage/before"
	cp "$before/smc.ko" "$before/smc_diag.ko" "$stage/before/"
	# profile.py compares the last one with the one before
	labels="${labels%ours *}before ours "
fi
[ -z "$as_tcp" ] || labels="$labels$as_tcp "
[ -z "$profile" ] || [ "$bed" = insn ] || die "--profile needs --bed insn"
# They are loaded again and again: without what only a debugger needs.
find "$stage" -name '*.ko' -exec strip --strip-debug {} +

name=${budget:+budget}
name=${name:-${ceilings:+budget-loopback}}
name=${name:-bench-$bed}
out=$("$top/scripts/cache-dir.sh" here)/out/$name
rc=0
if [ -n "$profile" ]; then
	make -s -C "$top/selftests" bench/insn_plugin.so
	set -- --qemu "-plugin $top/selftests/bench/insn_plugin.so,out=$stage/counts" --env PROFILE=y
else
	set --
fi
if [ "$bed" = insn ]; then
	"$vm/vm.py" --name "$name" --bed insn --kernel "$kernel" --module intree --mtu "$mtu" \
		--mem "$mem" --script "$vm/cases/insn.sh" --add "$stage" --add "$top/tools/smcctl" \
		--add "$top/selftests/smc_traffic" \
		--add "$top/selftests/bench/smc_bench" --add "$top/selftests/bench/smc_knock" \
		--env "LABELS=$labels" --env "ROWS=${BENCH_ROWS:-}" --env "MS=${BENCH_MS:-200}" \
		--env "UPGRADE_BYTES=${BENCH_UPGRADE_BYTES:-100000}" \
		--env "CONNS=$conns" --timeout 1200 --out "$out" "$@" ||
		die "the run failed, the host's log is in $out"
	if [ -n "$budget" ]; then
		"$top/selftests/bench/budget.py" "$budget" "$release" "$compiler" "$stage/counts" \
			"$out/h1.log"
		exit
	fi
	if [ -n "$ceilings" ]; then
		# shellcheck disable=SC2086 # a list of options
		"$top/selftests/bench/report.py" $ceilings --min-runs 1 "$out/h1.log"
		exit
	fi
	echo
	if [ -n "$profile" ]; then
		"$top/selftests/bench/profile.py" "$stage/counts" "$out/h1.log" \
			"${BENCH_FUNCTIONS:-40}"
		exit
	fi
	# shellcheck disable=SC2086 # a list of options
	"$top/selftests/bench/report.py" $ratios \
		${before:+--ratio ours/before} ${sizes:+--neighbours ours:10} --min-runs 1 --json "$top/build/bench.json" "$out/h1.log"
	cat <<END

Thousands of instructions (kinsn) of both ends, kernel and RNIC together: per 64 KB of a stream,
per round trip, per connection.  A ratio above 1 is in favour of ours.  Written to
build/bench.json.
END
	exit
fi
if [ "$bed" = uml ]; then
	set -- --apart
else
	set -- --kernel "$kernel"
fi
"$vm/vm.py" --name "$name" --bed "$bed" "$@" --module intree --mtu "$mtu" --mem 768 --pcap off \
	--script "$vm/cases/bench.sh" --add "$stage" --add "$top/tools/smcctl" \
	--add "$top/selftests/smc_traffic" --add "$top/selftests/bench/smc_bench" \
	--add "$top/selftests/bench/smc_hold" --add "$top/selftests/bench/smc_knock" \
	--env "LABELS=$labels" --env "ROUNDS=$rounds" --env "MEMORY=${peers:+n}" \
	--env "MS=${BENCH_MS:-1000}" --env "COUNT=${BENCH_COUNT:-200}" --timeout $((240 + rounds * 120)) --out "$out" || rc=$?
[ "$rc" = 0 ] || die "the run failed, the hosts' logs are in $out"

case $labels in
*" upgrade "*)	ratios="$ratios --ratio upgrade/tcp" ;;
esac
case $labels in
*" raw "*)	ratios="$ratios --ratio ours/raw" ;;
esac
once=
for n in 1 32 255; do
	for what in pd cq qp mr region_kb slab_kb used_kb; do
		once="$once --once mem_${n}_$what"
		[ "$n" = 1 ] || once="$once --once silent_${n}_$what"
	done
done
echo
[ "$rounds" -ge 5 ] || echo "Only $rounds round(s): take this for a try, not for a measurement."
# shellcheck disable=SC2086 # lists of options
"$top/selftests/bench/report.py" $ratios $floors --min-runs $((rounds < 5 ? rounds : 5)) $once \
	--json "$top/build/bench.json" "$out/h2.log"
if [ -n "$peers" ]; then
	cat <<END

Medians of $rounds rounds on $(nproc) CPUs; a ratio above 1 is in favour of ours.  client: ours is
the client, the in-tree family the server; server: the other way round.  Written to build/bench.json.
END
	exit
fi
cat <<END

Medians of $rounds rounds on $(nproc) CPUs; a ratio above 1 is in favour of ours.  raw: ib_write_bw
of that size, and both ways of ib_write_lat.  upgrade: ours with net.smc.upgrade_bytes set, whose
short connections stay TCP.  requests_beside: requests beside a stream over RDMA, to a TCP server too.
fallback_*: connect, a byte each way and close of what ends as TCP, for the server or the client has
no SMC socket, or its host has no RNIC.
mem_N_*: of the client with N connections open that have sent a byte (silent_N_*: none), more than before: protection domains, completion
queues, queue pairs, memory regions and their size; slab; memory no longer free (the test
program's share too).  Written to build/bench.json.
END
