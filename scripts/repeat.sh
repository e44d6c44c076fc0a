#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Repeats test runs until each has passed so many times in a row on the present code, and writes down each
# time: when, which commit, which seed, how long, and how it ended. A failure ends the row. It can be
# interrupted at any time, the next call goes on where it was: results of the same code count, whatever has
# changed in Documentation/ meanwhile.
#
# Usage: repeat.sh [-n N] [-s] RUN...
#   RUN   as the levels print it: uml-stress, debug-flaps, failover
#   -n N  so often (default 50)
#   -s    only show how often each has passed
#
# The results are in repeat/RUN of the cache, with the output of each failure beside them. SEED=... and the
# name of the run repeat the random choices of a result, where a run has some:
# SEED=123 scripts/check-uml.sh plain uml-stress
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
results=$("$top/scripts/cache-dir.sh" here)/repeat
wanted=50
show=

die()
{
	echo "repeat: $*" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	-n)		wanted=${2-}; shift 2 || die "-n needs a number" ;;
	-s)		show=y; shift ;;
	-h|--help)	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
	-*)		die "unknown option $1 (see --help)" ;;
	*)		break ;;
	esac
done
[ $# -gt 0 ] || die "name the runs (see --help)"
case $wanted in
''|*[!0-9]*|0)	die "'$wanted' is no number above 0" ;;
esac
cd "$top"
[ -n "$show" ] || [ -z "$(git status --porcelain)" ] || die "a result needs a commit: commit your changes first"
commit=$(git rev-parse --short HEAD)
# what the runs depend on
code=$(git ls-tree -r HEAD | grep -v "	Documentation/\|\.md$" | git hash-object --stdin | cut -c1-12)

# level_of RUN: print the program of its level and the level's argument
level_of()
{
	case $1 in
	uml-*)		echo scripts/check-uml.sh plain ;;
	debug-*)	echo scripts/check-uml.sh debug ;;
	*)		echo scripts/check-vm.sh ;;
	esac
}

# row RUN: print how often it has passed in a row on this code
row()
{
	awk -v code="$code" '
		$3 != code { next }
		{ n = $6 == "passed" ? n + 1 : 0 }
		END { print n + 0 }' "$results/$1" 2> /dev/null || echo 0
}

# once RUN: run it and write down the result
once()
{
	local level seed log began before verdict=passed

	before=$(row "$1")
	read -ra level <<< "$(level_of "$1")"
	seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
	log=$results/$1.$seed.log
	began=$(date +%s)
	SEED=$seed "${level[0]}" "${level[@]:1}" "$1" > "$log" 2>&1 || verdict=failed
	echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $commit $code $seed $(($(date +%s) - began)) $verdict" >> "$results/$1"
	if [ $verdict = failed ]; then
		echo "$1: failed after $before in a row, seed $seed: $log"
		return 1
	fi
	rm -f "$log"
	echo "$1: $((before + 1)) of $wanted, seed $seed"
}

for run in "$@"; do
	# shellcheck disable=SC2046 # a program and its argument
	$(level_of "$run" | sed 's/\.sh/& --list/') "$run" | cut -f2 | grep -Fqx -- "$run" ||
		die "there is no run '$run'"
done
mkdir -p "$results"
rc=0
for run in "$@"; do
	while [ -z "$show" ] && [ "$(row "$run")" -lt "$wanted" ]; do
		once "$run" || {
			rc=1
			break
		}
	done
	[ "$(row "$run")" -ge "$wanted" ] || rc=1
	echo "$run: passed $(row "$run") of $wanted in a row on the code of $commit"
done
exit $rc
