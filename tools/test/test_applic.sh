#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl applicability, on the fake host of test/fake_netlink.so and test/fake_host.so.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
export FAKE_CLOCK=y

# why KIND NETWORK PORT: print verdict and reason
why()
{
	ctl "$1" applicability | joined | tr -s ' ' | sed -n "s#^$2 $3 [a-z]* [0-9]* [0-9]* [0-9]* ##p"
}

# sum KIND VERDICT: print the sum in the JSON output, "CONNECTIONS BYTES"
sum()
{
	ctl "$1" -j applicability | tr -d ' \n' |
		sed -n "s/.*\"$2\":{\"connections\":\([0-9]*\),\"bytes\":\([0-9]*\)}.*/\1 \2/p"
}

# called KIND VERDICT: print role and verdict of the rows with this verdict
called()
{
	ctl "$1" applicability | joined | tr -s ' ' | cut -d' ' -f3,7 | grep " $2\$"
}

golden()
{
	ctl "$1" applicability | diff "test/golden/$2" - && echo same
}

echo "KTAP version 1"
expect 'applicability' same golden normal applicability.txt
expect 'TCP by experience, here or at the peer' same golden autosmc applicability-short.txt
expect 'TCP by experience: the word' "$(printf '%s\n%s' 'client short' 'client short')" \
	called autosmc short
expect 'TCP by experience: sums as JSON' '2 2003' sum autosmc short
expect 'TCP by experience: no fallbacks' '0 0' sum autosmc fallback
expect 'sums as JSON: possible' '3 6015' sum normal possible
expect 'sums as JSON: smc' '1 1000' sum normal smc
expect 'sums as JSON: fallback' '2 2003' sum normal fallback
expect 'sums as JSON: short' '0 0' sum normal short
expect 'sums as JSON: no' '2 302' sum normal no
expect 'sums as JSON: local' '1 110' sum normal local
expect 'a deferred connection is TCP so far' 'possible deferred: may change over to SMC
possible port 1 of rxe0, of netdev lo' why deferred 10.0.0.0/24 5432
expect 'a deferred connection: sums' '3 6015' sum deferred possible
expect 'a deferred connection does not use SMC' '1 1000' sum deferred smc
expect 'the RNIC is down' 'no port 1 of rxe0, of netdev lo, is not active' why lonely 10.0.0.0/24 5432
expect 'an older kernel reports no bytes' '3 0' sum old possible
expect_rc 'nothing: status 0' 0 ctl empty applicability
expect_rc 'nothing, -e: status 3' 3 ctl empty -e applicability
expect 'nothing: sums' '0 0' sum empty possible
# The bytes sent grow by 100 during the measurement; earlier bytes do not count.
expect 'during a second' '10.0.0.0/24 5432 client 2 200 0 possible' sh -c "FAKE_NL=growing \
	LD_PRELOAD='$fake' ./smcctl applicability 1 | tr -s ' ' | sed -n 's/\(.* 5432 .*\) port.*/\1/p'"
# --- without the module: RNICs from sysfs ---
expect 'no module, no RNIC' 'no no RoCE port of netdev lo' why nofamily 10.0.0.0/24 6379
port=$FAKE_PROC/infiniband/mlx5_0/ports/1
mkdir -p "$port/gid_attrs/ndevs"
echo '4: ACTIVE' >"$port/state"
echo eth7 >"$port/gid_attrs/ndevs/0"
echo eth7 >"$port/gid_attrs/ndevs/1"
expect 'no module: the RNIC of a netdev' 'possible port 1 of mlx5_0, of netdev eth7' \
	why nofamily 10.1.0.0/24 22
expect 'no module: another netdev' 'no no RoCE port of netdev lo' why nofamily 10.0.0.0/24 6379
echo '1: DOWN' >"$port/state"
expect 'no module: the port is down' 'no port 1 of mlx5_0, of netdev eth7, is not active' \
	why nofamily 10.1.0.0/24 22
# --- failures ---
expect 'a list that breaks off' 'smcctl: the list of devices: Message too long' \
	ctl doneerror applicability
expect_rc 'a list that breaks off: status 1' 1 ctl doneerror applicability
for words in 0 x '1 2' 86401 -1; do
	# shellcheck disable=SC2086 # words
	expect_usage "applicability $words" 'smcctl: applicability is followed by*' \
		ctl normal -- applicability $words
done
if command -v python3 >/dev/null; then
	valid_json()
	{
		ctl "$1" -j applicability | python3 -m json.tool >/dev/null && echo valid
	}
	expect 'JSON is valid' valid valid_json normal
	expect 'JSON is valid when there is nothing' valid valid_json empty
else
	ktap_skip 'JSON is valid' 'no python3'
fi
ktap_done
