#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What hosts with an arm64 kernel need besides that kernel: programs of Debian, unpacked in
# arm64 in the folder that scripts/cache-dir.sh names (mkinitramfs.sh takes them from there; nothing is installed), and
# programs of this tree, cross-compiled with the headers and libraries of that folder in build/arm64.
#
# Usage: arm64.sh PROGRAM...	their paths in this tree, as selftests/smc_traffic
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
mkdir -p "$cache"
root=$cache/arm64
# the last section of packages.txt as far as guests need it, and what our programs are linked with
packages="busybox-static kmod iproute2 nftables ethtool ibverbs-providers ibverbs-utils perftest strace util-linux
	libc6-dev libmnl-dev libjson-c-dev"

die()
{
	echo "arm64: $*" >&2
	exit 1
}

private()
{
	SMC_APT_ARCH=arm64 "$top/scripts/apt-private.sh" "$cache/apt-arm64" "$@"
}

# Links to absolute paths would lead out of the folder.
keep_links_inside()
{
	find "$root.new" -type l -lname '/*' | while read -r link; do
		ln -sfn "$root$(readlink "$link")" "$link"
	done
}

make_root()
{
	echo "arm64: unpacking programs of Debian in $root" >&2
	rm -rf "$root" "$root.new" "$root.debs"
	[ -e "$cache/apt-arm64/updated" ] || private update > "$root.log" 2>&1 ||
		{ tail "$root.log" >&2; die "apt-get update failed"; }
	# shellcheck disable=SC2046,SC2086 # lists of names
	private download "$root.debs" $(private needed $packages) > "$root.log" 2>&1 ||
		{ tail "$root.log" >&2; die "download failed"; }
	for deb in "$root.debs"/*.deb; do
		dpkg-deb -x "$deb" "$root.new"
	done
	rm -rf "$root.debs"
	keep_links_inside
	mv "$root.new" "$root"
	echo "$packages" > "$root.done"
}

# The build needs a copy: objects for this machine lie beside the sources.
copy_sources()
{
	(cd "$top" && find selftests tools include proto VERSION \( -name '*.[ch]' -o -name Makefile -o -name VERSION \) |
		cpio -pdmu --quiet "$top/build/arm64")
}

exec 9> "$cache/arm64.lock"
flock 9
[ "$(cat "$root.done" 2> /dev/null)" = "$packages" ] || make_root
exec 9>&-

mkdir -p "$top/build/arm64"
copy_sources
for program in "$@"; do
	make -s -C "$top/build/arm64/${program%/*}" CC="aarch64-linux-gnu-gcc --sysroot=$root" "${program##*/}"
done
