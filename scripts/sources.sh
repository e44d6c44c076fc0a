#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Lists the module's source files, one per line, relative to the top folder. Kbuild is the only
# place that names them, so a check that reads this list covers every file that is built.
#
# Usage: sources.sh [-c|-h] [FOLDER]
#   -c       only .c files
#   -h       only headers: include/smc/ and the private ones beside the .c files
#   FOLDER   a copy of the tree (default: this one)
set -eu

what=both
case ${1:-} in
-c|-h)	what=${1#-}; shift ;;
esac
cd "${1:-$(dirname "$0")/..}"

# objects of Kbuild but for the modules themselves; KUnit suites stand there without .o
sources=$(sed 's/#.*//; /^CFLAGS_/d; /^obj-m/d' Kbuild | grep -o '[a-z0-9_/]*[a-z0-9_]\.o\>' | sort -u |
	sed 's/\.o$/.c/')
# what is built must exist, and what exists must be built
for f in $sources; do
	[ -e "$f" ] || { echo "sources.sh: Kbuild names $f, which does not exist" >&2; exit 1; }
done
folders=$(for f in $sources; do dirname "$f"; done | sort -u)
for dir in $folders; do
	for f in "$dir"/*.c; do
		f=${f#./}
		case $f in
		*.mod.c) continue ;;
		esac
		echo "$sources" | grep -qxF "$f" || {
			echo "sources.sh: Kbuild does not build $f" >&2
			exit 1
		}
	done
done

[ "$what" = h ] || echo "$sources"
[ "$what" = c ] || {
	find include/smc -name '*.h' | sort
	for dir in $folders; do
		[ "$dir" != . ] || continue
		find "$dir" -maxdepth 1 -name '*.h' | sort
	done
}
