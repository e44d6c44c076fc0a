#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Two virtual hosts, our modules on both, Debian's redis, nginx, curl and
# iperf3 through smc_run, and a table that shows how their bytes travelled.
#
# Usage: demo.sh [--module ours|intree] [--kernel SERIES] [--ours DIR]
#
#   --ours DIR   the modules are there, build none
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
vm=$top/selftests/vm
module=ours
kernel=6.12
ours=
started=$(date +%s)

say()
{
	echo "[$(($(date +%s) - started)) s] $*"
}

die()
{
	echo "demo: $*" >&2
	exit 1
}

# quietly NAME COMMAND...: its output only if it fails
quietly()
{
	log=$top/build/demo-$1.log
	shift
	"$@" > "$log" 2>&1 || { cat "$log" >&2; die "failed: $*"; }
}

while [ $# -gt 0 ]; do
	case $1 in
	--module)	module=${2-}; shift ;;
	--kernel)	kernel=${2-}; shift ;;
	--ours)		ours=${2-}; shift ;;
	-h|--help)	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
	*)		die "unknown option $1 (see --help)" ;;
	esac
	[ $# -gt 0 ] || die "a value is missing (see --help)"
	shift
done
case $module in
ours|intree)	;;
*)		die "--module is ours or intree" ;;
esac

mkdir -p "$top/build"
say "packages of this machine"
"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" "$vm/packages.txt"
say "kernel $kernel"
"$vm/fetch.sh" "$kernel"
say "programs for the virtual hosts"
"$vm/demo/mktree.sh" > "$top/build/demo-tree"
tree=$(tail -n 1 "$top/build/demo-tree")
if [ -z "$ours" ] && [ "$module" = ours ]; then
	say "building the modules"
	"$top/scripts/build-modules.sh" "$kernel"
fi
say "building smc_run and smcctl"
quietly tools make -C "$top/tools"

say "two virtual hosts with Soft-RoCE and the SMC module ($module)"
out=$("$top/scripts/cache-dir.sh" here)/out/demo
rc=0
"$vm/vm.py" --name demo --kernel "$kernel" --module "$module" ${ours:+--ours "$ours"} --mtu 9000 --mem 768 \
	--script "$vm/demo/demo.sh" --add "$top/tools/smc_run" \
	--add "$top/tools/libsmc_preload.so" --add "$top/tools/smcctl" --out "$out" \
	--qemu "-virtfs 'local,path=$tree,mount_tag=debian,security_model=none,readonly=on,multidevs=remap'" ||
	rc=$?
echo
"$vm/demo/report.py" "$out" || rc=1
echo
[ "$rc" = 0 ] || die "FAILED, the hosts' logs are in $out"
say "every connection used SMC-R, every byte arrived as it was sent: no fallback"
