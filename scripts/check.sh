#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# All tests, floor by floor. KTAP lines come from the floors; the last line is
# "N passed, N failed". Exit status 0 only if nothing failed.
#
# Usage: check.sh [FLOOR...]	(default: static docs unit tools vm uml)
#   uml, debug and debug-short (a part of debug) are the floors in User Mode Linux; their
#   kernels are built while the floors before them run. debug's takes too long for a gate.
# REPEATS=0: no run is done twice.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
out=$top/build/check
passed=0
failed=0
skipped=0

mkdir -p "$out"
[ $# -gt 0 ] || set -- static docs unit tools vm uml

"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" "$top/selftests/vm/packages.txt" || {
	echo "0 passed, 1 failed"
	exit 1
}

# Takes minutes on all cores, which the virtual hosts leave idle for half of the time.
case " $* " in
*" debug"*" uml "*|*" uml "*" debug"*) flavours="plain debug" ;;
*" uml "*) flavours=plain ;;
*" debug"*) flavours=debug ;;
*) flavours= ;;
esac
builder=
if [ -n "$flavours" ]; then
	# shellcheck disable=SC2086 # a list of words
	nice -n 19 "$top/selftests/uml/build-kernel.sh" $flavours > "$out/uml-kernels.log" 2>&1 &
	builder=$!
fi
trap '[ -z "$builder" ] || kill "$builder" 2>/dev/null' EXIT

for floor in "$@"; do
	start=$(date +%s)
	echo "# ---- $floor"
	case $floor in
	uml) cmd="$top/scripts/check-uml.sh plain" ;;
	debug|debug-short) cmd="$top/scripts/check-uml.sh $floor" ;;
	tools) cmd="make -C $top/tools --no-print-directory check" ;;
	*) cmd=$top/scripts/check-$floor.sh ;;
	esac
	{ $cmd 2>&1; echo $? > "$out/$floor.rc"; } | tee "$out/$floor.log"
	rc=$(cat "$out/$floor.rc")
	# leaf results only: a line that sums up subtests is followed by none of its own
	ok=$(grep -Ec '^([a-z0-9]+: )?ok ' "$out/$floor.log")
	bad=$(grep -Ec '^([a-z0-9]+: )?not ok ' "$out/$floor.log")
	skip=$(grep -Ec '^([a-z0-9]+: )?ok .*# SKIP' "$out/$floor.log")
	if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok floor $floor: exit status $rc without a failed test"
		bad=1
	fi
	if [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok floor $floor: no test ran"
		bad=1
	fi
	passed=$((passed + ok - skip))
	failed=$((failed + bad))
	skipped=$((skipped + skip))
	echo "# ---- $floor: $((ok - skip)) passed, $bad failed, $skip skipped, $(($(date +%s) - start)) s"
done

[ "$skipped" -eq 0 ] || echo "# $skipped skipped"
# runs that were done twice (see runs.sh): a defect each, of a test or of the module
for floor in "$@"; do
	grep -h '^# flaky ' "$out/$floor.log"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
