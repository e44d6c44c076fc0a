#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Fails if a round trip, 64 KB of a stream, a connection or a first contact cost more instructions
# than selftests/bench/budget.txt allows, or 64 KB or a round trip over smc_lo than TCP within a host.
# Takes three minutes. KTAP.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
# The bed is a PC with the CRC instruction of its processor; the kernel is Debian's for it.
if [ "$(uname -m)" != x86_64 ]; then
	echo "ok 1 budget # SKIP the modules for the instruction bed are built on x86-64 only"
	echo "1..1"
	exit
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
rc=0
"$top/scripts/bench.sh" --budget "$@" > "$log" || rc=$?
"$top/scripts/bench.sh" --loopback --budget "$@" >> "$log" || rc=$?
# one list of both
awk '/^1\.\.[0-9]+$/ { next }
	/^(not )?ok [0-9]+ / { sub(/ok [0-9]+ /, "ok " ++n " ") }
	{ print }
	END { print "1.." n + 0 }' "$log"
exit $rc
