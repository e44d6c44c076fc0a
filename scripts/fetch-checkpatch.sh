#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Brings checkpatch.pl, its word lists and kernel-doc out of Debian's
# linux-source package into a folder: fetch-checkpatch.sh DIRECTORY
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:?usage: fetch-checkpatch.sh DIRECTORY}
[ ! -e "$dir/done" ] || exit 0

cache=${SMC_VM_CACHE:-$top/.cache/vm}
mkdir -p "$dir/deb"
[ -e "$cache/apt/updated" ] || "$top/scripts/apt-private.sh" "$cache/apt" update
"$top/scripts/apt-private.sh" "$cache/apt" download "$dir/deb" linux-source-6.12
deb=$(ls "$dir"/deb/linux-source-6.12_*.deb)
dpkg-deb --fsys-tarfile "$deb" |
	tar -xOf - ./usr/src/linux-source-6.12.tar.xz |
	tar -xJf - -C "$dir" --strip-components=2 \
		linux-source-6.12/scripts/checkpatch.pl \
		linux-source-6.12/scripts/spelling.txt \
		linux-source-6.12/scripts/const_structs.checkpatch \
		linux-source-6.12/scripts/kernel-doc
rm -rf "$dir/deb"
touch "$dir/done"
