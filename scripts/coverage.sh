#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Coverage of the module's code by all tests: the unit tests of proto/ in user space, the
# KUnit suites and all runs of check-uml.sh, the module built with counters. One report
# in build/coverage/report.txt. Fails for a function that no test reaches and that has no
# reason in selftests/coverage-unreached.txt.
#
# Usage: coverage.sh [-r] [RUN...]	(runs as in check-uml.sh; default: all)
#   -r   report again what is there, without running anything
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
out=$top/build/coverage
cd "$top" || exit 1
run=y
if [ "${1:-}" = -r ]; then
	run=
	shift
fi

rc=0
if [ -n "$run" ]; then
	scripts/install-packages.sh scripts/packages.txt || exit 1
	rm -rf "$out"
	mkdir -p "$out/runs"
	# objects with counters: not those of "make check"
	make -C selftests/unit --no-print-directory BUILD="$out/unit" CFLAGS="-O0 -g" \
		SANITIZE=--coverage check > "$out/unit.log" 2>&1 || rc=1
	tail -n 1 "$out/unit.log"
	# a failure counts, but a report of the reached code is still useful
	scripts/check-uml.sh coverage "$@" || rc=1
fi

release=$(basename "$(readlink -f "$cache/kernels/uml-plain")")
builds=()
for b in "$top/build/$release-cov"*; do
	builds+=(--build "$b")
done
scripts/coverage.py --programs "$out/unit" --kernel "$out/runs" "${builds[@]}" \
	--trace "$out/smc.info" > "$out/report.txt" 2>&1 || rc=1
cat "$out/report.txt"
exit $rc
