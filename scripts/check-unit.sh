#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Unit, model and short fuzz tests of proto/, natively with sanitizers and as
# s390x and i386 programs. KTAP. The random choices are those of SEED, which is another one each time and
# printed; UNIT_SEED is that of the unit and model tests alone, SEED in decimal.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
rc=0
: "${SEED:=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}" "${UNIT_SEED:=$SEED}"
export SEED UNIT_SEED
echo "# SEED=$SEED UNIT_SEED=$UNIT_SEED"
"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" || exit 1
# the programs of one folder run one after the other, so two at the same time
log=$(mktemp)
trap 'rm -f "$log"' EXIT
make -C "$top/selftests/unit" --no-print-directory check > "$log" 2>&1 &
native=$!
make -C "$top/selftests/unit" --no-print-directory cross || rc=1
make -C "$top/selftests/fuzz" --no-print-directory short || rc=1
wait "$native" || rc=1
cat "$log"
"$top/scripts/coverage.py" --selfcheck || rc=1
"$top/selftests/bench/budget.py" --selfcheck || rc=1
"$top/selftests/bench/report.py" --selfcheck || rc=1
exit $rc
