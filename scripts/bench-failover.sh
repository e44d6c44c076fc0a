#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# How long connections stand still when a link is lost that somebody reports: RNICs removed,
# netdevs down, on either host. Prints the distribution, measured by trace points.
#
# Usage: bench-failover.sh [--kernel SERIES] [--ours DIR]
#
#   --kernel SERIES    of both hosts (default 6.12)
#   --ours DIR         the modules are there, build none
#   FAILOVER_ROUNDS=N  each of the four ways so often (default 3)
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
vm=$top/selftests/vm
cache=$("$top/scripts/cache-dir.sh")
kernel=6.12
rounds=${FAILOVER_ROUNDS:-3}
ours=

while [ $# -gt 0 ]; do
	case $1 in
	--kernel)	kernel=${2-} ;;
	--ours)		ours=${2-} ;;
	-h|--help)	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
	*)		echo "bench-failover: unknown option $1 (see --help)" >&2; exit 1 ;;
	esac
	shift 2
done
case $rounds in
''|*[!0-9]*|0)	echo "bench-failover: FAILOVER_ROUNDS must be a number above 0" >&2; exit 1 ;;
esac

"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" "$vm/packages.txt"
"$vm/fetch.sh" "$kernel"
make -s -C "$top/tools" smcctl
make -s -C "$top/selftests" smc_traffic
if [ -z "$ours" ]; then
	"$top/scripts/build-modules.sh" "$kernel"
	ours=$top/build/$(basename "$(readlink -f "$cache/kernels/$kernel")")
fi

ways=
left=$rounds
while [ "$left" -gt 0 ]; do
	left=$((left - 1))
	ways="$ways removed_2 removed_1 down_2 down_1"
done
out=$("$top/scripts/cache-dir.sh" here)/out/bench-failover
"$vm/vm.py" --name bench-failover --kernel "$kernel" --links 2 --mtu 9000 --pcap off \
	--module ours --ours "$ours" --script "$vm/cases/failover.sh" --env "WAYS=$ways" \
	--env TRACE=y --env STREAMS=2 --env PINGPONGS=2 --env LIMIT=600 \
	--add "$top/selftests/smc_traffic" --add "$top/tools/smcctl" \
	--timeout $((600 + rounds * 1200)) --out "$out" || {
	echo "bench-failover: the run failed, the hosts' logs are in $out" >&2
	exit 1
}
echo
"$top/selftests/bench/failover.py" "$out/h1.log" "$out/h2.log"
