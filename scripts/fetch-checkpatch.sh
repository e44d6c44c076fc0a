#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Brings checkpatch.pl, its word lists and kernel-doc out of Debian's
# linux-source package into a folder: fetch-checkpatch.sh DIRECTORY
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:?usage: fetch-checkpatch.sh DIRECTORY}
[ ! -e "$dir/done" ] || exit 0

cache=$("$top/scripts/cache-dir.sh")
mkdir -p "$dir"
"$top/scripts/apt-private.sh" "$cache/apt" files linux-source-6.12 |
	tar -xOf - ./usr/src/linux-source-6.12.tar.xz |
	tar -xJf - -C "$dir" --strip-components=2 \
		linux-source-6.12/scripts/checkpatch.pl \
		linux-source-6.12/scripts/spelling.txt \
		linux-source-6.12/scripts/const_structs.checkpatch \
		linux-source-6.12/scripts/kernel-doc
touch "$dir/done"
