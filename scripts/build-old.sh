#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the modules of the last released version, as a peer for the tests (vm.py --module old): a host
# that is updated later than the other one. Each is in build/<release>-old. The sources come from the history.
#
# Usage: build-old.sh SERIES...	(as in build-modules.sh)
#
# A build is kept until the commit, the kernel or the compiler changes. After a release, its commit stands here.
# Until the first one it is that of 2026-11-23.
# Exit status 3: the history lacks that commit.
set -eu

commit=654748f35554b6827a21dc63731795150078fb41	# native, before CAPABILITIES
top=$(cd "$(dirname "$0")/.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
export PATH="/usr/lib/ccache:$PATH" CCACHE_BASEDIR="$top" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1

git -C "$top" cat-file -e "$commit^{commit}" 2> /dev/null || {
	echo "the test peer is commit $commit, which this tree's history lacks: git fetch --unshallow" >&2
	exit 3
}

for series in "$@"; do
	kdir=$(readlink -f "$cache/kernels/$series/headers")
	out=$top/build/$(basename "$(readlink -f "$cache/kernels/$series")")-old
	inputs="$commit $kdir $(gcc -dumpfullversion) $(sha256sum < "$kdir/.config")"
	if [ -e "$out/smc.ko" ] && [ "$(cat "$out/inputs")" = "$inputs" ]; then
		echo "kept $out/smc.ko and smc_diag.ko"
		continue
	fi
	rm -rf "$out"
	mkdir -p "$out"
	git -C "$top" archive "$commit" Kbuild include scripts proto selftests/kunit ':(glob)*.c' |
		tar -x -C "$out"
	arch=
	! grep -qs '^CONFIG_UML=y' "$kdir/.config" || arch=um
	# warnings were for that version to mend: a newer compiler may have others
	make -j"$(nproc)" -C "$kdir" M="$out" ${arch:+ARCH=$arch} CONFIG_DEBUG_INFO= \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules > "$out/build.log" 2>&1 || {
		grep -A6 error "$out/build.log" | head -40 >&2
		echo "the build of $commit for $series failed, see $out/build.log" >&2
		exit 1
	}
	echo "$inputs" > "$out/inputs"
	echo "built $out/smc.ko and smc_diag.ko"
done
