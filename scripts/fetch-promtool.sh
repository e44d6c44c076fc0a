#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Brings promtool alone out of Debian's package prometheus into a folder: fetch-promtool.sh DIRECTORY
# The package itself would bring a running server and eleven packages for its pages.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:?usage: fetch-promtool.sh DIRECTORY}
[ ! -e "$dir/done" ] || exit 0

cache=$("$top/scripts/cache-dir.sh")
mkdir -p "$dir"
"$top/scripts/apt-private.sh" "$cache/apt" files prometheus |
	tar -xOf - ./usr/bin/promtool > "$dir/promtool"
chmod +x "$dir/promtool"
touch "$dir/done"
