#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Unit, model and short fuzz tests of proto/, natively with sanitizers and as
# s390x and i386 programs. KTAP.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
rc=0
"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" || exit 1
make -C "$top/selftests/unit" --no-print-directory check || rc=1
make -C "$top/selftests/unit" --no-print-directory cross || rc=1
make -C "$top/selftests/fuzz" --no-print-directory short || rc=1
"$top/scripts/coverage.py" --selfcheck || rc=1
exit $rc
