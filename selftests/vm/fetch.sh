#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Fetch what the VM harness needs: Debian kernels (downloaded and unpacked,
# never installed) and the host packages in packages.txt.
#
# Usage: fetch.sh [--headers-only] [--no-host] [--update] [SERIES...]
#
#   SERIES          6.12, 6.1, 7 (the newest 7.x of trixie-backports), 6.12-rt (PREEMPT_RT) and
#                   6.12-arm64 (pages of 16 KiB) are known; 6.1-s390x, with its headers only, for
#                   cross compilers; default: 6.12 and 6.1
#   --headers-only  only the files for a module build
#   --no-host       install no packages on this machine
#   --update        look for newer kernels even when one is cached
#
# Result, in the folder that scripts/cache-dir.sh names:
#   kernels/<series>              -> <release>, the newest one fetched
#   kernels/<release>/headers        use as KDIR=
#   kernels/<release>/boot/vmlinuz
#   kernels/<release>/modules        as /lib/modules/<release>, with modules.dep
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
apt_private=$top/scripts/apt-private.sh
apt=$cache/apt
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

# foreign SERIES: kernels of another architecture
foreign()
{
	case $1 in
	*-arm64|*-s390x) return 0 ;;
	*) return 1 ;;
	esac
}

# bootable SERIES: not only modules are compiled for it
bootable()
{
	case $1 in
	*-s390x) return 1 ;;
	*) return 0 ;;
	esac
}

# wants_image SERIES
wants_image()
{
	[ -z "$headers_only" ] && bootable "$1"
}

# base_of RELEASE: without the flavour
base_of()
{
	b=${1%-rt-amd64}
	b=${b%-arm64-16k}
	[ "$b" != "$1" ] || b=${1%-*}
	echo "$b"
}

# kbuild_of RELEASE: the package with the programs of its build system
kbuild_of()
{
	case $1 in
	6.1.*)	echo linux-kbuild-6.1 ;;
	*)	echo "linux-kbuild-$(base_of "$1")" ;;
	esac
}

# Programs that run here, whatever the kernel runs on: the lists of two architectures differ at times.
native()
{
	(unset SMC_APT_ARCH; "$apt_private" "$native_apt" "$@")
}

# A release counts only if the archive has its headers and its image, signed or
# unsigned (old images stay in the archive without their headers).
newest_release()
{
	case $1 in
	6.12)	re='6\.12\.[0-9]+\+deb12-amd64' ;;
	6.12-rt) re='6\.12\.[0-9]+\+deb12-rt-amd64' ;;
	6.12-arm64) re='6\.12\.[0-9]+\+deb12-arm64-16k' ;;
	6.1-s390x) re='6\.1\.0-[0-9]+-s390x' ;;
	6.1)	re='6\.1\.0-[0-9]+-amd64' ;;
	7)	re='7\.[0-9]+\.[0-9]+\+deb13-amd64' ;;
	*)	die "no rule for kernel series $1" ;;
	esac
	"$apt_private" "$apt" list "linux-(image|headers|binary(-unsigned)?|modules)-$re(-unsigned)?" \
		> "$cache/names"
	sed -n 's/^linux-headers-//p' "$cache/names" | sort -rV > "$cache/releases"
	while read -r r; do
		if foreign "$1" && [ -z "$(native list "$(kbuild_of "$r" | sed 's/[.+]/[&]/g')")" ]; then
			continue
		fi
		if ! bootable "$1" || [ -n "$(image_packages "$r")" ]; then
			echo "$r"
			return 0
		fi
	done < "$cache/releases"
	die "the archive has no kernel of series $1"
}

known()
{
	grep -qxF "$1" "$cache/names"
}

# Print the packages with the kernel and its modules. Since 7.2 these are three
# packages, and the image package is empty.
image_packages()
{
	if known "linux-modules-$1"; then
		for p in "linux-binary-$1" "linux-binary-unsigned-$1"; do
			if known "$p"; then
				echo "$p linux-modules-$1 linux-base-$1"
				return 0
			fi
		done
	fi
	for p in "linux-image-$1" "linux-image-$1-unsigned"; do
		if known "$p"; then
			echo "$p"
			return 0
		fi
	done
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
	"$apt_private" "$apt" download "$dir/debs" "$@" > "$dir/apt.log" ||
		{ cat "$dir/apt.log" >&2; die "download of $* failed"; }
	for d in "$dir"/debs/*.deb; do
		say "$rel: unpacking ${d##*/}"
		dpkg-deb -x "$d" "$dir/tree"
	done
	rm -rf "$dir/debs"
}

# Modules for Debian 13's kernels need its compiler, pahole for their BTF, and tools linked with its
# libc: they are installed in a Debian tree for scripts/build-modules.sh.
compiler=gcc-14,make,pahole,libelf1t64,libssl3t64

has_compiler()
{
	[ "$(cat "$cache/debian-13.done" 2> /dev/null)" = "$compiler" ]
}

fetch_compiler()
{
	tree=$cache/debian-13
	! has_compiler || return 0
	[ "$(id -u)" = 0 ] || die "making the Debian 13 tree needs root, once"
	say "making a Debian 13 tree with its compiler in $tree"
	rm -rf "$tree" "$tree.done"
	debootstrap --variant=minbase --include="$compiler" trixie "$tree" \
		"${SMC_DEBIAN_MIRROR:-http://deb.debian.org/debian}" > "$tree.log" 2>&1 ||
		{ tail "$tree.log" >&2; die "debootstrap failed"; }
	echo "$compiler" > "$tree.done"
}

fetch_headers()
{
	dir=$cache/kernels/$1
	case $1 in
	*+deb13-*)	fetch_compiler ;;
	esac
	[ ! -e "$dir/headers.done" ] || return 0

	case $1 in
	*-rt-amd64)	common=$(base_of "$1")-common-rt ;;
	*)		common=$(base_of "$1")-common ;;
	esac
	unpack "$1" "linux-headers-$1" "linux-headers-$common"
	(apt=$native_apt; unset SMC_APT_ARCH; unpack "$1" "$(kbuild_of "$1")")

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

	# shellcheck disable=SC2046 # a list of names
	unpack "$1" $(image_packages "$1")
	mkdir -p "$dir/boot"
	mods=lib/modules/$1
	[ -d "$dir/tree/$mods/kernel" ] || mods=usr/lib/modules/$1
	for f in "boot/vmlinuz-$1" "$mods/vmlinuz" "$mods/vmlinuz.unsigned"; do
		[ ! -e "$dir/tree/$f" ] || ln -sfn "../tree/$f" "$dir/boot/vmlinuz"
	done
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
	[ -e "$cache/kernels/$1/headers.done" ] && { [ "$1" != 7 ] || has_compiler; } &&
		{ ! wants_image "$1" || [ -e "$cache/kernels/$1/image.done" ]; }
}

# refresh FOLDER: read the package lists of apt-private.sh's folder if they are old
refresh()
{
	if [ ! -e "$1/updated" ] || [ -n "$update" ] || [ -n "$(find "$1/updated" -mmin +60)" ]; then
		say "reading package lists"
		"$apt_private" "$1" update > "$cache/apt.log" 2>&1 ||
			{ cat "$cache/apt.log" >&2; die "apt-get update failed"; }
	fi
}

fetch_series()
{
	native_apt=$cache/apt
	unset SMC_APT_SUITES SMC_APT_ARCH
	case $1 in
	7)
		native_apt=$cache/apt-13
		export SMC_APT_SUITES="trixie trixie-backports"
		;;
	esac
	apt=$native_apt
	if foreign "$1"; then
		export SMC_APT_ARCH="${1##*-}"
		apt=$cache/apt-$SMC_APT_ARCH
	fi
	if [ -z "$update" ] && cached "$1"; then
		say "$1: $(readlink "$cache/kernels/$1") is in the cache"
		return 0
	fi
	(unset SMC_APT_ARCH; refresh "$native_apt")
	refresh "$apt"
	rel=$(newest_release "$1")
	fetch_headers "$rel"
	! wants_image "$1" || fetch_image "$rel"
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

if [ -n "$host" ] && [ -z "$headers_only" ]; then
	"$top/scripts/install-packages.sh" "$here/packages.txt"
fi
# Two runs at once (a build and a test) must not unpack into the same folder. Nobody waits for what
# others fetch.
for s in ${series:-6.12 6.1}; do
	if [ -z "$update" ] && cached "$s"; then
		say "$s: $(readlink "$cache/kernels/$s") is in the cache"
		continue
	fi
	exec 9> "$cache/fetch.lock"
	flock 9
	fetch_series "$s"
	exec 9>&-
done
