#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks that the harness detects failures: causes faults in a guest, and expects each
# run to fail for the right reason. Prints KTAP.
#
# Usage: selfcheck.sh [uml|uml-debug|kcsan]	(the test bed; default: virtual machines; kcsan: those with
# that kernel). On uml-debug and kcsan only with faults that need such a kernel to be detected.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
bed=${1:-qemu}
case $bed in
qemu)	kernel=6.12 ;;
uml)	kernel=uml-plain ;;
*)	kernel=$bed ;;
esac
harness=$bed
[ "$bed" != kcsan ] || harness=qemu
results=$("$top/scripts/cache-dir.sh" here)
build=$results/planted-$bed
n=0
failed=0

result()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		failed=1
	fi
}

# planted NAME WANTED_REGEX [VM_ARGUMENT...]: the run fails and its report matches
planted()
{
	name=$1
	want=$2
	shift 2
	out=$results/out/planted-$bed-$name
	rc=0
	"$here/vm.py" --bed "$harness" --name "planted-$bed-$name" --module none --mem "$mem" \
		--hosts 1 --pcap off \
		--script "$here/cases/planted.sh" --add "$build/planted.ko" \
		--env "PLANT=$name" --timeout 200 "$@" > "$build/log" 2>&1 || rc=$?
	if [ "$rc" = 1 ] && grep -qE "$want" "$out/ktap.txt"; then
		result 0 "$name"
	else
		echo "# exit code $rc, wanted: $want"
		sed 's/^/# /' "$build/log"
		result 1 "$name"
	fi
}

# line NAME REGEX: the report of the run "cases" has such a line
line()
{
	if grep -qE "$2" "$results/out/planted-$bed-cases/ktap.txt"; then
		result 0 "$1"
	else
		result 1 "$1"
	fi
}

mkdir -p "$build"
cp "$here/planted/Kbuild" "$here/planted/planted.c" "$build/"
arch=
mem=384
case $bed in
uml*)	arch=um ;;
esac
make -s -C "$cache/kernels/$kernel/headers" M="$build" ${arch:+ARCH=$arch} \
	CONFIG_DEBUG_INFO_BTF_MODULES= modules

# A failed run fails the level, and is not run again: a second attempt would pass here.
once()
{
	rm -rf "$build/fake"
	mkdir -p "$build/fake/selftests/vm"
	cat > "$build/fake/selftests/vm/vm.py" <<- 'END'
	#!/bin/sh
	cd "${0%/*}"
	[ -e again ] && echo "ok 1 x" && exit
	: > again
	echo "not ok 1 x # h1"
	exit 1
	END
	chmod +x "$build/fake/selftests/vm/vm.py"
	# shellcheck disable=SC2016 # they are that shell's
	said=$(env top="$build/fake" bash -c 'runs=(); list=; . "$1"; run a; run b; echo "exit $rc"' bash \
		"$top/scripts/runs.sh" 2>&1 | grep -E '^(ok|not ok|exit)' | tr '\n' ';')
	if [ "$said" = "not ok 1 a: x # h1;ok 2 b: x;exit 1;" ]; then
		result 0 once
	else
		echo "# $said"
		result 1 once
	fi
}

# Effort measures that two processes on one processor wait, and that a sleeping one does not.
starved()
{
	if python3 - "$here" > "$build/log" 2>&1 <<- 'END'
	import os, subprocess, sys, time
	sys.path.insert(0, sys.argv[1])
	from effort import Effort

	def start(what):
	    return subprocess.Popen([sys.executable, "-c", what], start_new_session=True,
	                            preexec_fn=lambda: os.sched_setaffinity(0, {core}))

	core = min(os.sched_getaffinity(0))
	spin = "import time; end = time.time() + 30\nwhile time.time() < end: pass"
	both = [start(spin), start(spin), start("import time; time.sleep(30)")]
	efforts = [Effort(p.pid) for p in both]
	end = time.time() + 20
	while time.time() < end and not all(e.ran > 1 and e.waited > 0.5 for e in efforts[:2]):
	    time.sleep(0.2)
	    for e in efforts:
	        e.sample(time.monotonic())
	for p in both:
	    p.kill()
	print(*efforts, sep="\n")
	sys.exit(not (all(e.ran > 1 and e.waited > 0.5 for e in efforts[:2]) and
	              efforts[2].threads and efforts[2].ran < 1))
	END
	then
		result 0 starved
	else
		sed 's/^/# /' "$build/log"
		result 1 starved
	fi
}

# A packet with a wrong checksum is reported by its number (frames 2 and 4). Not reported are data in
# RDMA WRITEs that look like one (frame 1), and ffff where the sum is 0 (frame 3).
checksums()
{
	python3 - "$build/capture.pcap" <<- 'END'
	import struct, sys

	def ip(kind, body, check):
	    head = struct.pack(">BBHIBBH8s", 0x45, 0, 20 + len(body), 0, 64, kind, 0, bytes(8))
	    if check is None:
	        check = sum(struct.unpack(">10H", head))
	        check = ~(check + (check >> 16)) & 0xffff
	    return head[:10] + struct.pack(">H", check) + head[12:] + body

	def segment(window, check):
	    return struct.pack(">HHIIBBHHH", 4501, 4000, 0, 0, 0x50, 0x10, window, check, 0)

	def folded(data):
	    total = sum(struct.unpack(f">{len(data) // 2}H", data))
	    return (total & 0xffff) + (total >> 16)

	tcp = segment(0, 0xbad)
	# With this window all else adds up to ffff (the pseudo header: addresses of 0, protocol, length).
	window = 0xffff - folded(segment(0, 0) + struct.pack(">HH", 6, 20))
	write = struct.pack(">BxHII", 7, 0xffff, 17, 0) + b"\x08\0\0\0" + ip(6, tcp, 0xbad) + bytes(4)
	udp = struct.pack(">HHHH", 0xc000, 4791, 8 + len(write), 0) + write
	with open(sys.argv[1], "wb") as f:
	    f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 512, 1))
	    for packet in (ip(17, udp, None), ip(6, tcp, None),
	                   ip(6, segment(window, 0xffff), None), ip(6, segment(0, 0xffff), None)):
	        frame = bytes(12) + b"\x08\0" + packet
	        f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
	END
	"$here/option.py" "$build/capture.pcap" agree > "$build/log" 2>&1 || true
	if grep -A1 '^not ok 3 wire: no bad checksum$' "$build/log" |
	   grep -qE '^# frame 2 \([a-z:]*ip:tcp\): [0-9a-f]+; frame 4 \([a-z:]*ip:tcp\): [0-9a-f]+$'
	then
		result 0 checksums
	else
		sed 's/^/# /' "$build/log"
		result 1 checksums
	fi
}

# What the beds share is looked at in User Mode Linux, which boots in a moment. Virtual machines show
# that their bed sees the ends of a kernel, and what belongs to them alone or to no bed.
harness_faults()
{
	[ "$bed" = qemu ] && echo "1..16" || echo "1..18"
	planted cases '^not ok 7 clean_end # h1 script ended with 1$'
	line cases.good '^ok 1 good$'
	line cases.bad '^not ok 2 bad # h1: exit code 1$'
	line cases.parts_say_why '^#   h1\| # why: the reason$'
	line cases.parts_of_parts '^#   h1\|     # inner: the reason$'
	line cases.parts_end '^#   h1\| the last words$'
	line cases.hang '^not ok 4 hang # h1: exit code 137$'
	line cases.hang_says_why '^# h1: hang: time limit of 12 s$'
	line cases.skipped '^ok 5 skipped # SKIP on purpose$'
	line cases.after_hang '^ok 6 after$'
	planted oops '^not ok 2 clean_end # .*gave no sign of success'
	planted stuck '^not ok 2 clean_end # h1 was still running at the time limit' --timeout 15
	planted peerdead 'gave up waiting for c1.peerdead.never: host 2 is gone' --hosts 2
	if [ "$bed" = qemu ]; then
		once
		starved
		checksums
		return 0
	fi
	planted skipped '^not ok 1 skipped # .*skips count' --no-skip
	planted warn '^not ok 2 clean_end # .*gave no sign of success'
	planted message '^not ok 2 clean_end # h1 console: .*unregister_netdevice'
	planted forged '^not ok 2 clean_end # .*h1 gave no sign of success'
	planted peerfail 'gave up waiting for c1.peerfail.never: the case failed elsewhere' --hosts 2
}

# KCSAN reports a race, which fails the run. It fails no run if nothing of ours takes part.
races()
{
	echo "1..3"
	planted race '^not ok 2 clean_end # h1 console: .*BUG: KCSAN: data-race in race_run' \
		--kernel kcsan --cpus 2 --append panic_on_warn=0
	if grep -q "^# h1: race: data-race in race_run" "$results/out/planted-kcsan-race/ktap.txt"; then
		result 0 race_is_listed
	else
		result 1 race_is_listed
	fi
	foreign_race
}

# A report without an access of ours is listed. One that has one is not hidden by it.
foreign_race()
{
	if python3 - "$here" > "$build/log" 2>&1 <<- 'END'
	import sys
	sys.path.insert(0, sys.argv[1])
	import kcsan

	def report(*stacks):
	    lines = ["[    1.000000] " + "=" * 66, "[    1.000000] BUG: KCSAN: data-race in a / b"]
	    for stack in stacks:
	        lines += ["", "read to 0xffff888003a0e010 of 4 bytes by task 7 on cpu 1:"]
	        lines += [f" {f}+0x1/0x20" + (f" [{m}]" if m else "") for f, m in stack]
	    return lines + ["", "value changed: 0x1 -> 0x2", "=" * 66]

	syscall = ("__x64_sys_sendto", None)
	ours = report([("memcpy", None), ("smc_tx_fill", "smc"), syscall], [("rxe_a", "rdma_rxe")])
	theirs = report([("rxe_post", "rdma_rxe"), ("smc_wr_post", "smc"), syscall],
	                [("rxe_run", "rdma_rxe")])
	core = report([("tcp_poll", None), syscall],
	              [("tcp_ack", None), ("handle_softirqs", None), ("smc_tx_fill", "smc"), syscall])
	said = [r.ours for r in kcsan.reports(ours + theirs + core + ours)]
	print(said)
	sys.exit(said != [True, False, False, True])
	END
	then
		result 0 foreign_race
	else
		sed 's/^/# /' "$build/log"
		result 1 foreign_race
	fi
}

# The report must have the message of the kernel; a run that only fails is not enough.
kernel_faults()
{
	mem=768
	echo "1..6"
	planted freed 'BUG: KASAN: slab-use-after-free in plant_freed'
	planted asleep 'BUG: sleeping function called|BUG: scheduling while atomic'
	planted inverted 'WARNING: possible circular locking dependency'
	planted lost 'leaks on purpose: [1-9]'
	planted shift 'UBSAN: shift-out-of-bounds'
	planted late 'ODEBUG: free active'
}

echo "KTAP version 1"
case $bed in
uml-debug)	kernel_faults ;;
kcsan)		races ;;
*)		harness_faults ;;
esac
exit $failed
