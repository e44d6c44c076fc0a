#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests traffic and the socket API on one host, by hand or in a kselftest run: over
# SMC-R if lo has an RDMA device, else by fallback to TCP.
#
# Usage: smc_loopback.sh [FAMILY]		smc (default), smc6, inet, inet6

KSFT_SKIP=4
family=${1:-smc}
port=4431
here=$(cd "$(dirname "$0")" && pwd)

case $family in
*6)	addr=::1 ;;
*)	addr=127.0.0.1 ;;
esac

"$here/smc_traffic" server --family "$family" --bind "$addr" --port "$port" &
server=$!
trap 'kill "$server" 2>/dev/null' EXIT

"$here/smc_traffic" client --family "$family" --connect "$addr" --port "$port" --wait 5 \
	--mode --io all --quit stream:4 random:2 pingpong:20 connects:50 burst:20 parallel:8 \
	halfclose reset idle:1
traffic=$?
[ "$traffic" -ne "$KSFT_SKIP" ] || exit "$KSFT_SKIP"
wait "$server"
served=$?
"$here/smc_api" --family "$family"
api=$?
echo "# $family: client $traffic, server $served, api $api"
[ "$traffic$served$api" = 000 ]
