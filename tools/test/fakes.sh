# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Set-up for tests of smcctl on a fake host: fake_netlink.so is the module, fake_host.so the rest,
# with $FAKE_PROC for /proc/net. $tmp is removed at the end of the test.

fake="$(pwd)/test/fake_netlink.so $(pwd)/test/fake_host.so"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export FAKE_NL_UEIDS="$tmp/ueids" FAKE_PROC="$tmp/proc"
mkdir "$FAKE_PROC"
: >"$FAKE_NL_UEIDS"

# ctl KIND ARGUMENT...: run smcctl with a kind of module
ctl()
{
	kind=$1
	shift
	FAKE_NL=$kind LD_PRELOAD=$fake ./smcctl "$@"
}
