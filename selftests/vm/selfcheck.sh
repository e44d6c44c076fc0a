#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Does the harness notice what it must notice? Commits faults in a guest and
# wants each run to fail for the right reason. KTAP.
#
# Usage: selfcheck.sh [uml|uml-debug]	(the bed; default: virtual machines). On uml-debug
# the faults are those that only a kernel with its own checks sees.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${SMC_VM_CACHE:-$top/.cache/vm}
bed=${1:-qemu}
case $bed in
qemu)	kernel=6.12 ;;
uml)	kernel=uml-plain ;;
*)	kernel=$bed ;;
esac
build=$cache/planted-$bed
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

# planted NAME WANTED_REGEX [VM_ARGUMENT...]: the run fails and says why
planted()
{
	name=$1
	want=$2
	shift 2
	out=$cache/out/planted-$bed-$name
	rc=0
	"$here/vm.py" --bed "$bed" --name "planted-$bed-$name" --module none --mem "$mem" \
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

line()
{
	if grep -qE "$2" "$cache/out/planted-$bed-cases/ktap.txt"; then
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

# A fault that can be QEMU's own is looked at twice, and no oftener.
patched()
{
	name=planted-qemu-int3
	top=$top SMC_VM_ACCEL=tcg bash -c 'runs=(); . "$top/scripts/runs.sh"; run "$@"' runs.sh "$name" \
		--module none --mem "$mem" --hosts 1 --pcap off --cpus 2 --timeout 200 \
		--script "$here/cases/planted.sh" --add "$build/planted.ko" --env PLANT=int3 \
		> "$build/log" 2>&1 || true
	if [ "$(grep -c "^# $name: .*once more" "$build/log")" = 1 ] &&
	   grep -qE "^not ok 2 $name: clean_end # .*int3: 0000" "$build/log"; then
		result 0 patched
	else
		sed 's/^/# /' "$build/log"
		result 1 patched
	fi
}

harness_faults()
{
	[ "$bed" = qemu ] && echo "1..16" || echo "1..15"
	planted cases '^not ok 6 clean_end # h1 script ended with 1$'
	line cases.good '^ok 1 good$'
	line cases.bad '^not ok 2 bad # h1: exit code 1$'
	line cases.hang '^not ok 3 hang # h1: exit code 137$'
	line cases.hang_says_why '^# h1: hang: time limit of 4 s$'
	line cases.skipped '^ok 4 skipped # SKIP on purpose$'
	line cases.after_hang '^ok 5 after$'
	planted skipped '^not ok 1 skipped # .*skips count' --no-skip
	planted warn '^not ok 2 clean_end # .*gave no sign of success'
	planted oops '^not ok 2 clean_end # .*gave no sign of success'
	planted message '^not ok 2 clean_end # h1 console: .*unregister_netdevice'
	planted forged '^not ok 2 clean_end # .*h1 gave no sign of success'
	planted stuck '^not ok 2 clean_end # h1 was still running at the time limit' --timeout 45
	planted peerdead 'gave up waiting for c1.peerdead.never: host 2 is gone' --hosts 2
	planted peerfail 'gave up waiting for c1.peerfail.never: the case failed elsewhere' --hosts 2
	[ "$bed" != qemu ] || patched
}

# The verdict needs the kernel's words, not just a run that ended badly.
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
*)		harness_faults ;;
esac
exit $failed
