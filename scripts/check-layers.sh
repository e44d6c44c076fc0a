#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Proves the layering from the object files: every symbol that an object needs and
# another object of the module defines must come from a lower rank (layers.txt),
# and proto/ needs nothing of the kernel but memory functions.
# Prints KTAP. Usage: check-layers.sh [BUILD FOLDER]
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-}
if [ -z "$dir" ]; then
	for d in "$top"/build/*/; do
		[ -e "$d/smc.ko" ] && dir=${d%/}
	done
fi
if [ ! -e "${dir:-.}/smc.ko" ]; then
	echo "no built module below $top/build: run scripts/build-modules.sh" >&2
	exit 1
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

grep -v '^#' "$top/scripts/layers.txt" | while read -r rank objs; do
	for o in $objs; do
		echo "$rank $o"
	done
done > "$tmp/ranks"

# every object of the module has a rank
sed -n 's/^smc-\(y\|.(SMC_FAULT)\) *[+:]= *//p' "$dir/Kbuild" | tr ' ' '\n' | sed 's/\.o$//' | sed '/^$/d' |
	sort > "$tmp/built"
awk '{ print $2 }' "$tmp/ranks" | sort > "$tmp/ranked"

while read -r rank o; do
	[ -e "$dir/$o.o" ] || continue
	nm --defined-only "$dir/$o.o" | awk -v o="$o" -v r="$rank" \
		'$2 ~ /^[TDRBGS]$/ { print $3, o, r }' >> "$tmp/defs"
	nm -u "$dir/$o.o" | awk -v o="$o" -v r="$rank" '{ print $2, o, r }' >> "$tmp/needs"
done < "$tmp/ranks"

rc=0
report()
{
	if [ -s "$1" ]; then
		echo "not ok $2 layers: $3"
		sed 's/^/# /' "$1"
		rc=1
	else
		echo "ok $2 layers: $3"
	fi
}

echo "1..3"
comm -3 "$tmp/built" "$tmp/ranked" > "$tmp/unranked"
report "$tmp/unranked" 1 "every object has a rank"

awk 'NR == FNR { obj[$1] = $2; rank[$1] = $3; next }
	$1 in obj && obj[$1] != $2 && rank[$1] >= $3 {
		print $2 " (" $3 ") needs " $1 " of " obj[$1] " (" rank[$1] ")"
	}' "$tmp/defs" "$tmp/needs" > "$tmp/upward"
report "$tmp/upward" 2 "calls go downward only"

awk 'NR == FNR { own[$1]; next }
	$2 ~ /^proto\// && !($1 in own) &&
	$1 !~ /^(mem(cpy|set|cmp|move)|__(x86_|fentry|stack_chk|fortify|warn_printk|ubsan|popc|ctz|sw_hweight)|fortify_panic|__fortify_panic|str(len|nlen))/ {
		print $2 " needs " $1
	}' "$tmp/defs" "$tmp/needs" > "$tmp/impure"
report "$tmp/impure" 3 "proto/ needs no kernel services"
exit $rc
