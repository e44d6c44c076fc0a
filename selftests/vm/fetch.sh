#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Fetch what the VM harness needs: Debian kernels (downloaded and unpacked,
# never installed) and the host packages in packages.txt.
#
# Usage: fetch.sh [--headers-only] [--no-host] [--update] [SERIES...]
#
#   SERIES          6.12 and 6.1 are known; default: both
#   --headers-only  only what a module build needs
#   --no-host       leave the packages of this machine alone
#   --update        look for newer kernels even when one is cached
#
# Result, below ${SMC_VM_CACHE:-<top>/.cache/vm}:
#   kernels/<series>              -> <release>, the newest one fetched
#   kernels/<release>/headers        use as KDIR=
#   kernels/<release>/boot/vmlinuz
#   kernels/<release>/modules        as /lib/modules/<release>, with modules.dep
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${SMC_VM_CACHE:-$top/.cache/vm}
apt_private=$top/scripts/apt-private.sh
headers_only=
host=y
update=

say()
{
	echo "fetch: $*"
}

die()
{
	echo "fetch: $*" >&2
	exit 1
}

# Signed image or unsigned one, and headers: a release counts only when the
# archive has all of them (old images linger there without their headers).
newest_release()
{
	case $1 in
	6.12)	re='6\.12\.[0-9]+\+deb12-amd64' ;;
	6.1)	re='6\.1\.0-[0-9]+-amd64' ;;
	*)	die "no rule for kernel series $1" ;;
	esac
	"$apt_private" "$cache/apt" list "linux-(image|headers)-$re(-unsigned)?" \
		> "$cache/names"
	sed -n 's/^linux-headers-//p' "$cache/names" | sort -rV > "$cache/releases"
	while read -r r; do
		if grep -qxF -e "linux-image-$r" -e "linux-image-$r-unsigned" \
			"$cache/names"; then
			echo "$r"
			return 0
		fi
	done < "$cache/releases"
	die "the archive has no kernel of series $1"
}

image_package()
{
	if grep -qxF "linux-image-$1" "$cache/names"; then
		echo "linux-image-$1"
	else
		echo "linux-image-$1-unsigned"
	fi
}

# unpack RELEASE PACKAGE...
unpack()
{
	rel=$1
	shift
	dir=$cache/kernels/$rel
	rm -rf "$dir/debs"
	mkdir -p "$dir/tree"
	say "$rel: downloading $*"
	"$apt_private" "$cache/apt" download "$dir/debs" "$@" > "$dir/apt.log" ||
		{ cat "$dir/apt.log" >&2; die "download of $* failed"; }
	for d in "$dir"/debs/*.deb; do
		say "$rel: unpacking ${d##*/}"
		dpkg-deb -x "$d" "$dir/tree"
	done
	rm -rf "$dir/debs"
}

fetch_headers()
{
	dir=$cache/kernels/$1
	[ ! -e "$dir/headers.done" ] || return 0

	common=${1%-amd64}-common
	case $1 in
	6.1.*)	kbuild=6.1 ;;
	*)	kbuild=${1%-amd64} ;;
	esac
	unpack "$1" "linux-headers-$1" "linux-headers-$common" \
		"linux-kbuild-$kbuild"

	# The links inside are relative; the Makefiles name /usr/src.
	for m in "$dir/tree/usr/src/linux-headers-$1/Makefile" \
		 "$dir/tree/usr/src/linux-headers-$1/.kernelvariables"; do
		sed -i "s|/usr/src/linux-headers|$dir/tree/usr/src/linux-headers|g" "$m"
	done
	ln -sfn "tree/usr/src/linux-headers-$1" "$dir/headers"
	rm -f "$dir/tree/lib/modules/$1/build" "$dir/tree/lib/modules/$1/source"
	[ -e "$dir/headers/scripts/mod/modpost" ] ||
		die "$dir/headers is not complete"
	: > "$dir/headers.done"
}

fetch_image()
{
	dir=$cache/kernels/$1
	[ ! -e "$dir/image.done" ] || return 0

	unpack "$1" "$(image_package "$1")"
	mkdir -p "$dir/boot"
	ln -sfn "../tree/boot/vmlinuz-$1" "$dir/boot/vmlinuz"
	mods=lib/modules/$1
	[ -d "$dir/tree/$mods/kernel" ] || mods=usr/lib/modules/$1
	ln -sfn "tree/$mods" "$dir/modules"
	case $mods in
	usr/*)	depmod -b "$dir/tree/usr" "$1" ;;
	*)	depmod -b "$dir/tree" "$1" ;;
	esac
	for f in boot/vmlinuz modules/modules.dep; do
		[ -s "$dir/$f" ] || die "$dir/$f is missing"
	done
	: > "$dir/image.done"
}

cached()
{
	[ -e "$cache/kernels/$1/headers.done" ] &&
		{ [ -n "$headers_only" ] || [ -e "$cache/kernels/$1/image.done" ]; }
}

fetch_series()
{
	if [ -z "$update" ] && cached "$1"; then
		say "$1: $(readlink "$cache/kernels/$1") is in the cache"
		return 0
	fi
	if [ ! -e "$cache/apt/updated" ] || [ -n "$update" ] ||
	   [ -n "$(find "$cache/apt/updated" -mmin +60)" ]; then
		say "reading package lists"
		"$apt_private" "$cache/apt" update > "$cache/apt.log" 2>&1 ||
			{ cat "$cache/apt.log" >&2; die "apt-get update failed"; }
	fi
	rel=$(newest_release "$1")
	fetch_headers "$rel"
	[ -n "$headers_only" ] || fetch_image "$rel"
	ln -sfn "$rel" "$cache/kernels/$1"
	say "$1: $rel is ready"
}

series=
while [ $# -gt 0 ]; do
	case $1 in
	--headers-only)	headers_only=y ;;
	--no-host)	host= ;;
	--update)	update=y ;;
	-h|--help)	sed -n '3,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*)		die "unknown option $1 (see --help)" ;;
	*)		series="$series $1" ;;
	esac
	shift
done

mkdir -p "$cache/kernels"
cache=$(cd "$cache" && pwd)
# Two runs at once (a build and a test) must not unpack over each other.
exec 9> "$cache/fetch.lock"
flock 9

if [ -n "$host" ] && [ -z "$headers_only" ]; then
	"$top/scripts/install-packages.sh" "$here/packages.txt"
fi
for s in ${series:-6.12 6.1}; do
	fetch_series "$s"
done
