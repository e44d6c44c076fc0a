#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Build a guest's initramfs: two uncompressed cpio archives (under TCG a guest
# would need seconds to unpack a compressed one).
#
# Usage: mkinitramfs.sh base RELEASE OUT      busybox, modules, tools; cached
#        mkinitramfs.sh run RELEASE OUT [--ours DIR] [PATH...]
#
# "run" has the files that may change between two runs: the guest scripts, smc.ko
# and smc_diag.ko from DIR (as /ours), and each PATH (a file, or a folder with
# files) as /t/<name>, with the shared libraries of the programs among them.
# Programs and libraries are those of this machine, for a kernel of arm64 those of arm64.sh.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")

die()
{
	echo "mkinitramfs: $*" >&2
	exit 1
}

# Programs copied from this machine. busybox has applets with the same name as
# some of them; lib.sh makes scripts use these programs.
tools="ip tc ss rdma nft bridge nstat ethtool strace ibv_devinfo ibv_rc_pingpong
	ib_write_bw ib_write_lat ib_send_lat modprobe depmod flock"

# Programs that are copied only if they are installed.
optional_tools="ib_read_lat"

# The tree that programs and libraries come from, and what runs its programs; nothing for this machine's own
sysroot=
emulator=

# for_kernel RELEASE: sets both
for_kernel()
{
	case $1 in
	*-arm64*)
		sysroot=$cache/arm64
		emulator="qemu-aarch64-static -L $sysroot"
		;;
	esac
}

# where_is PROGRAM: print its path, if it is installed
where_is()
{
	if [ -z "$sysroot" ]; then
		command -v "$1" || true
		return
	fi
	for d in usr/sbin usr/bin sbin bin; do
		[ ! -e "$sysroot/$d/$1" ] || { echo "$sysroot/$d/$1"; return; }
	done
}

# list_libs PROGRAM: as ldd does
list_libs()
{
	if [ -n "$sysroot" ]; then
		$emulator "$sysroot/lib/ld-linux-aarch64.so.1" --list "$1"
	else
		ldd "$1"
	fi
}

libs_of()
{
	# Only libraries that could be resolved; a static program or a script has none.
	list_libs "$1" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^\t\(\/[^ ]*\) .*/\1/p'
}

copy_libs()
{
	root=$1
	shift
	for f in "$@"; do
		libs_of "$f"
	done | sort -u | while read -r l; do
		# (the loader, by whose path it was called, is listed with that path)
		l=${l#"$sysroot"}
		[ -e "$root$l" ] && continue
		mkdir -p "$root${l%/*}"
		cp -L "$sysroot$l" "$root$l"
	done
}

# Print the files (relative to the modules folder) of one module and of all
# modules that it depends on.
module_files()
{
	sed -n "s|^\([^:]*/\)\{0,1\}$1\.ko\(\.xz\)\{0,1\}: *|&|p" "$mods/modules.dep" |
		head -n 1 | tr -d ':' | tr ' ' '\n' | sed '/^$/d'
}

module_builtin()
{
	grep -q "/$1\.ko\$" "$mods/modules.builtin"
}

copy_modules()
{
	root=$1
	rel=$2
	mods=$cache/kernels/$rel/modules
	dest=$root/lib/modules/$rel

	mkdir -p "$dest"
	: > "$root.files"
	while read -r m; do
		opt=
		case $m in
		''|'#'*)	continue ;;
		qemu:*)
			case $rel in
			*-uml-*)	continue ;;
			esac
			m=${m#qemu:}
			;;
		esac
		case $m in
		'?'*)		opt=y; m=${m#?} ;;
		esac
		# a small kernel: its tests load what they need, and fail without
		case $rel in
		*-kcsan)	opt=y ;;
		esac
		files=$(module_files "$m")
		[ -n "$files" ] || files=$(module_files "$(echo "$m" | tr _- -_)")
		[ -n "$files" ] || module_builtin "$m" || [ -n "$opt" ] ||
			die "kernel $rel has no module $m"
		for f in $files; do
			echo "$f" >> "$root.files"
		done
	done < "$here/modules.txt"
	sort -u -o "$root.files" "$root.files"
	while read -r f; do
		mkdir -p "$dest/${f%/*}"
		case $f in
		*.xz)	xz -dc "$mods/$f" > "$dest/${f%.xz}" ;;
		*)	cp "$mods/$f" "$dest/$f" ;;
		esac
	done < "$root.files"
	rm -f "$root.files"
	cp "$mods/modules.builtin" "$mods/modules.builtin.modinfo" \
		"$mods/modules.order" "$dest/"
	depmod -b "$root" "$rel"
}

copy_tools()
{
	root=$1
	mkdir -p "$root/bin" "$root/usr/sbin" "$root/usr/bin" "$root/sbin"
	cp "$(where_is busybox)" "$root/bin/busybox"
	$emulator "$root/bin/busybox" --list | while read -r a; do
		[ "$a" = busybox ] || ln -sf busybox "$root/bin/$a"
	done

	for t in $tools $optional_tools; do
		p=$(where_is "$t")
		if [ -z "$p" ]; then
			case " $optional_tools " in
			*" $t "*)	continue ;;
			esac
			die "$t is not installed here (see packages.txt)"
		fi
		cp -L "$p" "$root/usr/sbin/$t"
		copy_libs "$root" "$p"
	done

	# libibverbs loads its provider at run time.
	for p in "$sysroot"/usr/lib/*/libibverbs/librxe-rdmav*.so; do
		[ -e "$p" ] || die "the verbs provider for rxe is not installed"
		to=$root${p#"$sysroot"}
		mkdir -p "${to%/*}" "$root/etc/libibverbs.d"
		cp -L "$p" "$to"
		copy_libs "$root" "$p"
	done
	cp "$sysroot/etc/libibverbs.d/rxe.driver" "$root/etc/libibverbs.d/"
	[ ! -d "$sysroot/etc/iproute2" ] || cp -r "$sysroot/etc/iproute2" "$root/etc/"
}

pack()
{
	(cd "$1" && find . -print0 | sort -z |
		cpio --quiet -0 -o -H newc -R 0:0) > "$2.new"
	mv "$2.new" "$2"
}

make_base()
{
	rel=$1
	out=$2
	for_kernel "$rel"
	[ -e "$cache/kernels/$rel/modules/modules.dep" ] ||
		die "kernel $rel is not in the cache: run fetch.sh"

	tmp=$(mktemp -d "${TMPDIR:-/tmp}/initramfs.XXXXXX")
	trap 'rm -rf "$tmp" "$tmp.files"' EXIT
	root=$tmp/root
	for d in dev proc sys run tmp etc root var/log mnt t; do
		mkdir -p "$root/$d"
	done
	# the folders of libraries differ per machine: see /etc/ld.so.conf below
	copy_tools "$root"
	copy_modules "$root" "$rel"
	echo 'root:x:0:0:root:/root:/bin/ash' > "$root/etc/passwd"
	echo 'root:x:0:' > "$root/etc/group"
	echo '127.0.0.1 localhost' > "$root/etc/hosts"
	echo 'hosts: files' > "$root/etc/nsswitch.conf"
	printf 'tcp\t6\tTCP\nudp\t17\tUDP\n' > "$root/etc/protocols"
	# (the loader of arm64 knows the folders of Debian)
	[ -n "$sysroot" ] || [ ! -e /etc/ld.so.conf ] || {
		cp -r /etc/ld.so.conf /etc/ld.so.conf.d "$root/etc/"
		ldconfig -r "$root"
	}
	pack "$root" "$out"
}

make_run()
{
	for_kernel "$1"
	out=$2
	shift 2
	tmp=$(mktemp -d "${TMPDIR:-/tmp}/initramfs.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	root=$tmp/root
	mkdir -p "$root/t" "$root/h"
	cp "$here"/guest/*.sh "$root/h/"
	cp "$here/guest/init" "$root/init"
	chmod 755 "$root/init" "$root"/h/*.sh

	while [ $# -gt 0 ]; do
		case $1 in
		--ours)
			mkdir -p "$root/ours"
			for m in smc smc_diag; do
				[ -e "$2/$m.ko" ] || die "$2/$m.ko does not exist"
			done
			cp "$2"/*.ko "$root/ours/"
			shift
			;;
		*)
			[ -e "$1" ] || die "$1 does not exist"
			if [ -d "$1" ]; then
				cp -rL "$1/." "$root/t/"
			else
				cp -L "$1" "$root/t/"
			fi
			;;
		esac
		shift
	done
	find "$root/t" -type f -print | while read -r f; do
		case $(head -c 4 "$f" | tr -d '\0') in
		?ELF)	copy_libs "$root" "$f" ;;
		esac
	done
	pack "$root" "$out"
}

[ $# -ge 2 ] || die "usage: mkinitramfs.sh base RELEASE OUT | run RELEASE OUT [PATH...]"
cmd=$1
shift
case $cmd in
base)	make_base "$@" ;;
run)	make_run "$@" ;;
*)	die "unknown command $cmd" ;;
esac
