# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Set-up for tests of smcctl on a fake host: fake_netlink.so is the module, fake_host.so the rest,
# with $FAKE_PROC for /proc/net and modinfo from $tmp/modinfo. $tmp is removed at the end of the test.

fake="$(pwd)/test/fake_netlink.so $(pwd)/test/fake_host.so"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export FAKE_NL_UEIDS="$tmp/ueids" FAKE_PROC="$tmp/proc"
mkdir -p "$FAKE_PROC/net/smc" "$tmp/bin"
: >"$FAKE_NL_UEIDS"
# modinfo of the module that is installed: prints $tmp/modinfo, and fails without that file
printf '#!/bin/sh\nexec cat "%s/modinfo"\n' "$tmp" >"$tmp/bin/modinfo"
chmod +x "$tmp/bin/modinfo"
PATH=$tmp/bin:$PATH

# ctl KIND ARGUMENT...: run smcctl with a kind of module
ctl()
{
	kind=$1
	shift
	FAKE_NL=$kind LD_PRELOAD=$fake ./smcctl "$@"
}
