# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# For tests of smcctl on a host that does not exist: fake_netlink.so plays the module, fake_host.so
# the rest of it, with $FAKE_PROC for /proc/net. $tmp goes with the test.

fake="$(pwd)/test/fake_netlink.so $(pwd)/test/fake_host.so"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export FAKE_NL_UEIDS="$tmp/ueids" FAKE_PROC="$tmp/proc"
mkdir "$FAKE_PROC"
: >"$FAKE_NL_UEIDS"

# ctl KIND ARGUMENT...
ctl()
{
	kind=$1
	shift
	FAKE_NL=$kind LD_PRELOAD=$fake ./smcctl "$@"
}
