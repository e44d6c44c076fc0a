#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Static checks: checkpatch --strict, SPDX lines, shellcheck, headers that compile
# alone, fault sites, builds for the kernels of the virtual hosts with gcc and sparse, clang's
# diagnostics, layers, names of functions, words. KTAP.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
cd "$top" || exit 1
n=0
rc=0

# result NAME STATUS [FILE WITH DETAILS]
result()
{
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $n static: $1"
	else
		echo "not ok $n static: $1"
		[ $# -lt 3 ] || sed 's/^/# /' "$3" | head -120
		rc=1
	fi
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" || exit 1
"$top/selftests/vm/fetch.sh" --headers-only 6.12 6.1 7 || exit 1

git ls-files '*.c' '*.h' > "$tmp/c"
git ls-files '*.sh' tools/smc_run tools/smc_trace tools/completion 'packaging/debian/smc-dkms.p*' packaging/debian/tests/installed .ci/run > "$tmp/sh"
if [ ! -s "$tmp/c" ] || [ ! -s "$tmp/sh" ]; then
	echo "not ok 1 static: git lists no files in $top: a clone is needed"
	exit 1
fi

# --- style
"$top/scripts/fetch-checkpatch.sh" "$cache/checkpatch" > "$tmp/log" 2>&1
result "checkpatch is at hand" $? "$tmp/log"
xargs -a "$tmp/c" -n 40 -P "$(nproc)" perl "$cache/checkpatch/checkpatch.pl" --no-tree --strict --terse --quiet \
	--show-types --max-line-length=100 --no-summary \
	--ignore SPDX_LICENSE_TAG,FILE_PATH_CHANGES,UNCOMMENTED_DEFINITION,FUNCTION_ARGUMENTS \
	-f > "$tmp/log" 2>&1
result "checkpatch --strict" $? "$tmp/log"

xargs -a "$tmp/c" grep -L SPDX-License-Identifier > "$tmp/log"
xargs -a "$tmp/sh" grep -L SPDX-License-Identifier >> "$tmp/log"
test ! -s "$tmp/log"
result "SPDX lines" $? "$tmp/log"

xargs -a "$tmp/sh" shellcheck -x -P SCRIPTDIR -P tools > "$tmp/log" 2>&1
result "shellcheck" $? "$tmp/log"

# --- kernel-doc of the files that belong to the module
kdoc=$cache/checkpatch/kernel-doc
scripts/sources.sh > "$tmp/sources" 2> "$tmp/log"
result "Kbuild lists every source file" $? "$tmp/log"
xargs -a "$tmp/sources" perl "$kdoc" -none -Werror > "$tmp/log" 2>&1
result "kernel-doc" $? "$tmp/log"

# --- builds
# Each file once for each kernel, as the virtual hosts take it; once by sparse. 7 has our own TCP option.
scripts/build-modules.sh -s 6.12 > "$tmp/log" 2>&1
result "build for 6.12, gcc W=1 and sparse" $? "$tmp/log"
scripts/build-modules.sh -n 6.1 > "$tmp/log" 2>&1
result "build for 6.1 without BTF, gcc W=1" $? "$tmp/log"
scripts/build-modules.sh 7 > "$tmp/log" 2>&1
result "build for 7 with our own TCP option, gcc W=1" $? "$tmp/log"
release=$(basename "$(readlink -f "$cache/kernels/6.12")")
newest=$(basename "$(readlink -f "$cache/kernels/7")")
scripts/clang-syntax.py "build/$release" > "$tmp/log" 2>&1
result "clang has no complaint" $? "$tmp/log"

# ... what these builds lack, also for sparse: fault sites
make -C "build/$release/kdir" M="$top/build/$release" W=1 C=2 CF=-D__CHECK_ENDIAN__ SMC_FAULT=y \
	base/fault.o > "$tmp/log" 2>&1 && ! grep -q 'fault.*warning' "$tmp/log"
result "fault sites, gcc W=1 and sparse" $? "$tmp/log"

# ... and headers of a release before the stable update that added a parameter
headers=$cache/kernels/6.12/tree/usr/src
header=$(cd "$headers" && ls -d "$PWD"/*-common/include/net/inet_connection_sock.h)
perl -0pe 's/,\s*void \(\*opt_child_init\)\(.*?\)\);/);/s' "$header" > "$tmp/header.h"
# shellcheck disable=SC2016 # for the other shell
! cmp -s "$header" "$tmp/header.h" &&
	unshare --mount sh -c 'mount --bind "$1" "$2" && make -C "$3/kdir" M="$3" W=1 C=2 \
		CF=-D__CHECK_ENDIAN__ SMC_OPTION=own \
		tcp/option_own.o' sh "$tmp/header.h" "$header" "$top/build/$release" \
		> "$tmp/log" 2>&1 &&
	! grep -q 'option_own.*warning' "$tmp/log" &&
	! grep -q HAVE_OPT_CHILD_INIT "build/$release/tcp/.option_own.o.cmd"
result "our own TCP option builds for 6.12 before syn_recv_sock() got opt_child_init" $? "$tmp/log"

# stops NAME KDIR WORDS: the build, with one sentence that contains these
stops()
{
	scripts/kernel-supported.sh "$2" > "$tmp/log" 2>&1
	test $? -eq 1 && test "$(wc -l < "$tmp/log")" -eq 1 && grep -qF "$3" "$tmp/log"
	result "$1 stops the build with one sentence" $? "$tmp/log"
}

# taken NAME KDIR
taken()
{
	scripts/kernel-supported.sh "$2" > "$tmp/log" 2>&1 && test ! -s "$tmp/log"
	result "$1 is taken" $? "$tmp/log"
}

# Each folder differs from one that is taken in one thing, so that no other sentence can be meant.
stops "a folder without headers" /nonexistent "no kernel headers"
old=$tmp/old
mkdir -p "$old/include/net"
: > "$old/Makefile"
echo 'unsigned int resv_start_op;' > "$old/include/net/genetlink.h"
stops "a tree without a configuration" "$old" "is not configured"
printf 'CONFIG_INFINIBAND=m\nCONFIG_SMC=m\n' > "$old/.config"
taken "a kernel with the feature, whatever its version," "$old"
printf 'CONFIG_INFINIBAND=m\nCONFIG_NETFILTER=y\n' > "$old/.config"
taken "a kernel with netfilter instead of SMC" "$old"
printf 'CONFIG_INFINIBAND=m\n# CONFIG_SMC is not set\n# CONFIG_NETFILTER is not set\n' > "$old/.config"
stops "a kernel with neither SMC nor netfilter" "$old" "neither CONFIG_SMC nor CONFIG_NETFILTER"
printf 'CONFIG_INFINIBAND=m\nCONFIG_SMC=y\nCONFIG_NETFILTER=y\n' > "$old/.config"
stops "a kernel with SMC built in" "$old" "CONFIG_SMC=y"
printf '# CONFIG_INFINIBAND is not set\nCONFIG_SMC=m\n' > "$old/.config"
stops "a kernel without RDMA" "$old" "has no RDMA"
printf 'CONFIG_INFINIBAND=m\nCONFIG_SMC=m\n' > "$old/.config"
: > "$old/include/net/genetlink.h"
stops "a kernel that lacks a feature" "$old" "resv_start_op"

# --- fault sites
scripts/check-faults.py > "$tmp/log" 2>&1
result "every call that may fail has a fault site" $? "$tmp/log"

# --- layers, names of functions, words
scripts/check-layers.py "$top/build/$release" > "$tmp/log" 2>&1
result "layers" $? "$tmp/log"
scripts/check-layers.py "$top/build/$newest" > "$tmp/log" 2>&1
result "layers, with our own TCP option" $? "$tmp/log"
scripts/check-names.py > "$tmp/log" 2>&1
result "names of functions" $? "$tmp/log"
scripts/check-words.py > "$tmp/log" 2>&1
result "words that the tree has given up" $? "$tmp/log"

echo "1..$n"
exit $rc
