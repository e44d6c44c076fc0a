#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl sock with conditions, and smcctl sock kill, with the fake module of test/fake_netlink.so.
# test/vm_tools.sh tests it with real sockets.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
export FAKE_NL_KILLED="$tmp/killed"

# killed KIND ARGUMENT...: print the sockets that the module ended (local port-peer port), the
# status and the messages of smcctl
killed()
{
	kind=$1
	shift
	: >"$FAKE_NL_KILLED"
	ctl "$kind" -j "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	tr '\n' ' ' <"$FAKE_NL_KILLED"
	echo "status $status"
	cat "$tmp/err"
}

# listed ARGUMENT...: print the ports of the peers in the JSON output
listed()
{
	ctl normal -j "$@" 2>/dev/null | sed -n 's/^ *"peer_port": *\([0-9]*\),*$/\1/p' | tr '\n' ' '
}

echo "KTAP version 1"

# --- which sockets ---
expect 'peer: an address' '40001 82 ' listed sock peer 10.0.0.2/32
expect 'peer: an address, mapped' '40001 82 ' listed sock peer ::ffff:10.0.0.2
expect 'peer: one of a socket of IPv6, as IPv4' '50001 ' listed sock peer 10.0.0.3
expect 'peer: a prefix of IPv4' '40001 50001 82 ' listed sock peer 10.0.0.0/30
expect 'peer: all of IPv4' '40001 50001 82 ' listed sock show peer 0.0.0.0/0
expect 'peer: a prefix of IPv6' '50000 ' listed sock peer fd00::/9
expect 'peer: the bit behind a prefix does not count' '50000 ' listed sock peer fd80::/8
expect 'peer: it does within' '' listed sock peer fd80::/9
expect 'local' '50000 ' listed sock local fd00::1
expect 'local: not the peer' '' listed sock local fd00::2
expect 'local and peer' '50001 ' listed sock local 10.0.0.1 peer 10.0.0.3
expect 'local and port' '82 ' listed sock local-port 81 local 10.0.0.1
expect 'inode' '50000 ' listed sock inode 54711
expect 'inode of none' '[]' ctl normal -j sock inode 1
expect 'inode of a listener' '[]' ctl normal -j sock inode 4711
expect 'inode of a listener, -a' '0 ' listed -a sock inode 4711
for words in 'inode' 'inode 0' 'inode x' 'inode 4294967296' 'inode 1 inode 1' 'peer' 'peer x' \
	'peer ::/0' 'peer 10.0.0.0/33' 'peer 10.0.0.0/' 'peer ::1 peer ::1' 'local ::1/129' \
	'local ::1 local ::2' 'port 80 port 80' 'port' 'foo' 'kill x' 'show kill' 'kill inode'; do
	# shellcheck disable=SC2086 # words
	expect_usage "sock $words" 'smcctl: sock is followed by: *' ctl normal sock $words
done

# --- sockets are ended ---
expect 'by inode' '443-50000 status 0' killed normal sock kill inode 54711
expect 'the answer has those' '50000 ' listed sock kill inode 54711
expect 'by port of either side: no listener' '6379-40001 status 0' killed normal sock kill port 6379
expect 'by port of either side: with listener' '6379-40001 6379-0 status 0' \
	killed normal -a sock kill port 6379
expect 'by own port' '443-50000 status 0' killed normal sock kill local-port 443
expect 'by port of the peer' '443-50000 status 0' killed normal sock kill peer-port 50000
expect 'by address' '6379-40001 status 0' killed normal sock kill local-port 6379 peer 10.0.0.2
expect 'no socket' 'status 0' killed normal sock kill peer 10.7.7.7
expect_rc 'no socket, -e: status 3' 3 ctl normal -e sock kill peer 10.7.7.7
expect 'it has ended by itself' 'status 0' killed normal sock kill peer-port 50001
expect 'it has ended by itself: it is not listed' '[]' ctl normal -j sock kill peer-port 50001
expect 'one cannot be ended: those before are' '6379-40001 status 1
smcctl: ending the socket 4793: Device or resource busy' killed normal sock kill local 10.0.0.1
expect 'one cannot be ended: those before are listed' '40001 ' \
	listed sock kill local 10.0.0.1
: >"$FAKE_NL_KILLED"
expect_usage 'all' 'smcctl: sock kill needs a condition: *' ctl normal -a sock kill
expect 'all: none is ended' '' cat "$FAKE_NL_KILLED"
expect 'without right' 'status 1
smcctl: ending sockets needs the right CAP_NET_ADMIN (root)' killed denied sock kill peer-port 40001
expect 'a module that cannot' 'status 1
smcctl: the loaded smc_diag module does not support ending sockets' \
	killed old sock kill peer-port 40001
expect 'without module' 'status 1
smcctl: this kernel cannot list SMC sockets: load smc_diag (modprobe smc_diag)' \
	killed nofamily sock kill peer-port 40001
expect 'a list that breaks off: none is ended' 'status 1
smcctl: the list of sockets: Message too long' killed doneerror sock kill peer-port 40001
ktap_done
