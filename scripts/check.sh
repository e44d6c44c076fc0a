#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs all tests, one test level after the other. The levels print KTAP; the last line is
# "N passed, N failed". Exits with 0 only if nothing failed.
#
# Usage: check.sh [LEVEL...]	(default: static matrix docs unit tools packages vm uml debug-short)
#   uml, debug and debug-short (a part of debug) run in User Mode Linux. debug takes too long for
#   a gate; debug-short takes 7 minutes, and its kernel 12 to 25 where there is none yet.
#   Kernels are fetched and built while the levels before run.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
out=$top/build/check
passed=0
failed=0
skipped=0
seconds=0

mkdir -p "$out"
prepare=
[ "${1:-}" != --prepare ] || { prepare=y; shift; }
[ $# -gt 0 ] || set -- static matrix docs unit tools packages vm uml debug-short

[ -n "$prepare" ] || "$top/scripts/install-packages.sh" "$top/scripts/packages.txt" \
	"$top/selftests/vm/packages.txt" || {
	echo "0 passed, 1 failed"
	exit 1
}

flavours=
for level in "$@"; do
	case $level in
	uml) flavours="$flavours plain" ;;
	debug*) flavours="$flavours debug" ;;
	esac
done

leads_session()
{
	read -r _ _ _ _ _ session _ < /proc/$$/stat && [ "$session" = $$ ]
}

# Fetches and builds what later levels need. The build takes minutes on all cores; the virtual
# hosts leave them idle half of the time. In a session of its own: where sessions are what the
# scheduler divides the cores among, nice counts within one of them.
prepare()
{
	renice -n 19 -p $$ > /dev/null
	[ ! -w /proc/$$/autogroup ] || ! leads_session || echo 19 2> /dev/null > /proc/$$/autogroup
	case " $* " in
	*" vm "*) "$top/selftests/vm/fetch.sh" 6.12 6.1 7 > "$out/vm-kernels.log" 2>&1 ;;
	esac
	case " $* " in
	*" packages "*) "$top/selftests/vm/tree.sh" packaging < "$top/packaging/packages.txt" > /dev/null 2> "$out/tree.log" ;;
	esac
	# shellcheck disable=SC2086 # a list of words
	exec "$top/selftests/uml/build-kernel.sh" $flavours > "$out/uml-kernels.log" 2>&1
}

# called by this script, see below
[ -z "$prepare" ] || prepare "$@"
builder=
if [ -n "$flavours" ]; then
	"$top/selftests/vm/fetch.sh" --headers-only || exit 1
	setsid "$top/scripts/check.sh" --prepare "$@" &
	builder=$!
fi
trap '[ -z "$builder" ] || kill -- "-$builder" 2>/dev/null' EXIT
# the terminal sends the builder no signal
trap 'exit 1' HUP INT

for level in "$@"; do
	start=$(date +%s)
	echo "# ---- $level"
	case $level in
	uml|debug|debug-short)
		flavour=$level
		[ "$level" != uml ] || flavour=plain
		cmd="$top/scripts/check-uml.sh $flavour"
		# seconds of these runs are real; they say themselves if there is no kernel
		[ -z "$builder" ] || wait "$builder"
		builder=
		;;
	tools)
		# without a network: the tests that need it are skipped, and say so
		"$top/scripts/fetch-promtool.sh" "$("$top/scripts/cache-dir.sh")/promtool" \
			> "$out/promtool.log" 2>&1
		cmd="make -C $top/tools --no-print-directory check"
		;;
	*) cmd=$top/scripts/check-$level.sh ;;
	esac
	{ $cmd 2>&1; echo $? > "$out/$level.rc"; } | tee "$out/$level.log"
	rc=$(cat "$out/$level.rc")
	# subtests are indented or comments: each result counts once
	ok=$(grep -Ec '^([a-z0-9]+: )?ok ' "$out/$level.log")
	bad=$(grep -Ec '^([a-z0-9]+: )?not ok ' "$out/$level.log")
	skip=$(grep -Ec '^([a-z0-9]+: )?ok .*# SKIP' "$out/$level.log")
	if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok level $level: exit status $rc without a failed test"
		bad=1
	fi
	if [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then
		echo "not ok level $level: no test ran"
		bad=1
	fi
	passed=$((passed + ok - skip))
	failed=$((failed + bad))
	skipped=$((skipped + skip))
	took=$(($(date +%s) - start))
	seconds=$((seconds + took))
	echo "# ---- $level: $((ok - skip)) passed, $bad failed, $skip skipped, $took s"
done

echo "# all levels: $(((seconds + 30) / 60)) min"
[ "$skipped" -eq 0 ] || echo "# $skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
