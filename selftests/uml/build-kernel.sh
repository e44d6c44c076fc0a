#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds kernels for the tests from Debian's linux-source-7.3: of User Mode Linux, and one of virtual
# machines, for which User Mode Linux lacks KCSAN.
#
# Usage: build-kernel.sh [--update] [FLAVOUR...]
#
#   FLAVOUR    plain (fast, virtual time) or debug (all debug options);
#              default: both. Each is built with base.config and FLAVOUR.config.
#              kcsan: for virtual machines, with selftests/vm/kcsan.config
#   --update   look for a newer source package even when a kernel is cached
#
# A build is kept until the package version, a fragment, a patch or the compiler
# changes. Result, in the folder that scripts/cache-dir.sh names, with the same layout as
# Debian's kernels have from selftests/vm/fetch.sh:
#   kernels/uml-FLAVOUR              -> the release built last
#   kernels/uml-FLAVOUR/headers         use as KDIR= with ARCH=um
#   kernels/uml-FLAVOUR/boot/vmlinuz    the kernel, a program
#   kernels/uml-FLAVOUR/modules         as /lib/modules/<release>
# and the same in kernels/kcsan, with ARCH=x86_64.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
package=linux-source-7.3
export SMC_APT_SUITES=trixie-backports
apt_private=$top/scripts/apt-private.sh
update=
flavours=()

say()
{
	echo "uml: $*"
}

die()
{
	echo "uml: $*" >&2
	exit 1
}

# set_flavour FLAVOUR: sets what differs between the kernels
set_flavour()
{
	name=uml-$1
	arch=um
	fragments=("$here/base.config" "$here/$1.config")
	start=alldefconfig
	image=linux
	make_options=()
	if [ "$1" = kcsan ]; then
		name=$1
		arch=x86_64
		fragments=("$here/../vm/$1.config")
		start=allnoconfig
		image=arch/x86/boot/bzImage
		# Only our modules are instrumented, which are built with the defaults: a watched access costs a
		# call, and those of the kernel outnumber ours by far, so that ours would hardly be delayed.
		make_options=(KCSAN_SANITIZE=n)
	fi
}

# recipe: prints all inputs of the kernel of set_flavour() except the package
recipe()
{
	cat "${fragments[@]}" "$here"/patches/*.patch
	[ ${#make_options[@]} = 0 ] || echo "${make_options[@]}"
	gcc -dumpfullversion
}

# Sets $version: of the source package used last, or (none, or --update) of the one in the archive.
find_version()
{
	local stamp=$cache/uml/apt/updated

	version=$(cat "$cache/uml/version" 2> /dev/null || true)
	[ -n "$version" ] && [ -z "$update" ] && return 0
	if [ ! -e "$stamp" ] || [ -n "$(find "$stamp" -mmin +60)" ]; then
		say "reading package lists"
		"$apt_private" "$cache/uml/apt" update > "$cache/uml/apt.log" 2>&1 ||
			{ cat "$cache/uml/apt.log" >&2; die "apt-get update failed"; }
	fi
	version=$("$apt_private" "$cache/uml/apt" version "$package")
	[ -n "$version" ] || die "the archive has no $package"
	echo "$version" > "$cache/uml/version"
}

# Sets $src: the patched source of $version.
fetch_source()
{
	local key debs=$cache/uml/debs p

	key=$(cat "$here"/patches/*.patch | sha256sum | cut -c1-8)
	src=$cache/uml/src-$version-$key
	[ ! -e "$src/.patched" ] || return 0
	rm -rf "$src" "$debs"
	say "downloading $package $version"
	"$apt_private" "$cache/uml/apt" download "$debs" "$package" > "$cache/uml/apt.log" ||
		{ cat "$cache/uml/apt.log" >&2; die "download of $package failed"; }
	say "unpacking"
	mkdir -p "$src"
	dpkg-deb --fsys-tarfile "$debs"/*.deb | tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ -C "$src" --strip-components=1
	for p in "$here"/patches/*.patch; do
		patch -s -p1 -d "$src" < "$p" || die "${p##*/} does not apply"
	done
	: > "$src/.patched"
	rm -rf "$debs"
}

# check_config CONFIG FRAGMENT...: Kconfig silently drops options with unmet dependencies
check_config()
{
	local config=$1 line name bad=

	shift
	while read -r line; do
		case $line in
		CONFIG_*)
			grep -qxF -e "$line" "$config" || bad="$bad $line"
			;;
		"# CONFIG_"*" is not set")
			name=${line#\# }
			! grep -q "^${name%% *}=" "$config" || bad="$bad no-${name%% *}"
			;;
		esac
	done < <(cat "$@")
	[ -z "$bad" ] || die "these options did not hold:$bad"
}

# Prints the progress every 30 seconds.
progress()
{
	local flavour=$1 log=$2 start=$SECONDS

	while sleep 30; do
		say "$flavour: $(grep -c '^  [A-Z]' "$log") steps in $((SECONDS - start)) s," \
			"at $(tail -n 1 "$log" | awk '{ print $NF }')"
	done
}

build()
{
	local flavour=$1 dir=$2 log=$2/build.log watcher rel kdir

	rm -rf "$dir"
	mkdir -p "$dir/build"
	cat "${fragments[@]}" > "$dir/fragments"
	make -s -C "$src" O="$dir/build" ARCH="$arch" KCONFIG_ALLCONFIG="$dir/fragments" \
		"$start" > "$log" 2>&1 || { cat "$log"; die "$flavour: cannot configure"; }
	check_config "$dir/build/.config" "${fragments[@]}"
	say "$flavour: building in $dir (10 minutes or more)"
	progress "$flavour" "$log" 9>&- &
	watcher=$!
	# shellcheck disable=SC2064 # the present value is meant
	trap "kill $watcher 2> /dev/null" EXIT
	make -C "$dir/build" ARCH="$arch" -j"${SMC_UML_JOBS:-$(nproc)}" "${make_options[@]}" \
		> "$log" 2>&1 || {
		grep -B2 -A4 -E 'error|Error' "$log" | tail -n 40
		die "$flavour: build failed, see $log"
	}
	rel=$(cat "$dir/build/include/config/kernel.release")
	make -s -C "$dir/build" ARCH="$arch" INSTALL_MOD_PATH="$dir/tree" modules_install \
		>> "$log" 2>&1 || die "$flavour: modules_install failed, see $log"
	kill "$watcher" 2> /dev/null || true
	trap - EXIT
	kdir=$dir/$rel
	mkdir -p "$kdir/boot"
	ln -s ../build "$kdir/headers"
	ln -s "../../build/$image" "$kdir/boot/vmlinuz"
	ln -s "../tree/lib/modules/$rel" "$kdir/modules"
	echo "$rel" > "$dir/release"
	: > "$dir/done"
}

options()
{
	while [ $# -gt 0 ]; do
		case $1 in
		--update)	update=y ;;
		-h|--help)	sed -n '3,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
		-*)		die "unknown option $1 (see --help)" ;;
		*)
			set_flavour "$1"
			if [ "$1" = base ] || [ ! -e "${fragments[-1]}" ]; then
				die "no flavour $1"
			fi
			flavours+=("$1")
			;;
		esac
		shift
	done
	[ ${#flavours[@]} -gt 0 ] || flavours=(plain debug)
}

# A function, so that the shell has read the whole file first: it may change during the build.
main()
{
	local f key dir started rel

	options "$@"
	mkdir -p "$cache/uml" "$cache/kernels"
	cache=$(cd "$cache" && pwd)
	exec 9> "$cache/uml/source.lock"
	flock 9
	find_version
	fetch_source
	exec 9>&-

	for f in "${flavours[@]}"; do
		set_flavour "$f"
		key=$({ echo "$version"; recipe; } | sha256sum | cut -c1-12)
		dir=$cache/uml/$f-$key
		exec 9> "$cache/uml/$f.lock"
		flock 9
		started=$SECONDS
		if [ -e "$dir/done" ]; then
			say "$f: $(cat "$dir/release") is in the cache"
		else
			build "$f" "$dir"
			say "$f: $(cat "$dir/release") is ready after $((SECONDS - started)) s"
		fi
		rel=$(cat "$dir/release")
		ln -sfn "../uml/$f-$key/$rel" "$cache/kernels/$rel"
		ln -sfn "$rel" "$cache/kernels/$name"
		exec 9>&-
	done
}

main "$@"
exit
