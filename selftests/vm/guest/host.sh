# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# host.sh HOST LINE NONCE: the scripts of one host of a User Mode Linux instance.
# Serial line LINE is its control channel, the next one its log.

HOST=$1
export HOST
for l in "$2" $(($2 + 1)); do
	stty -F "/dev/ttyS$l" raw -echo
done
exec 7<> "/dev/ttyS$2" 8> "/dev/ttyS$(($2 + 1))"
exec < /dev/null >&8 2>&1
echo "hello $HOST" >&7
ash /h/reader.sh &
reader=$!
ash /h/main.sh
rc=$?
echo "end $3 $rc" >&7
kill "$reader"
