#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the modules for kernels of the VM harness, each in a folder of its own:
# build/<release>/smc.ko and smc_diag.ko.
#
# Usage: build-modules.sh [-f] [-g] [-k] [-n] [-o SUFFIX] [-t own] [-p] [-s] [SERIES...]
#   SERIES       as in selftests/vm/fetch.sh; default 6.12 and 6.1. uml-plain, uml-debug and kcsan
#                are those of selftests/uml/build-kernel.sh. With a slash: the folder of a configured
#                kernel tree or of headers. Without Module.symvers (a tree that is prepared but not
#                built) nobody looks up the symbols: the modules show that they compile, and are for
#                no kernel
#   -f           with fault sites (include/smc/base/fault.h)
#   -g           with counters for coverage (scripts/coverage.sh)
#   -k           with KUnit suites (selftests/kunit)
#   -n           no debugging information and no BTF: quicker
#   -o SUFFIX    build in build/<release><SUFFIX>
#   -t own       our own TCP option even where core TCP has one (see Kbuild)
#   -p           as on a machine without pahole: no BTF
#   -s           run sparse over the sources (make C=2)
# A build is kept until a source file, an option, the kernel's headers or the compiler change (one that
# sparse has seen also serves without -s), and ccache keeps its objects, for other copies of this tree, too.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
suffix=
nobtf=
check=
fault=
gcov=
kunit=
option=
nodebug=
while getopts fgkno:t:ps opt; do
	case $opt in
	f) fault=y ;;
	g) gcov=y ;;
	k) kunit=y ;;
	n) nodebug=y; nobtf=y ;;
	o) suffix=$OPTARG ;;
	t) option=$OPTARG ;;
	p) nobtf=y ;;
	s) check=y ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 6.12 6.1
export PATH="/usr/lib/ccache:$PATH" CCACHE_BASEDIR="$top" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1

# Debian 13's kernels want that release's compiler: its tree, with our folders at the same place.
in_tree()
{
	"$top/scripts/in-tree.sh" "$cache/debian-13" "$top" "$cache" / "$@"
}

# inputs KDIR FILE...: prints a checksum of what the result depends on, but for the options
inputs()
{
	kdir_=$1
	shift
	{
		cat "$@" "$kdir_/.config"
		readlink -f "$kdir_"
		[ ! -e "$kdir_/Module.symvers" ] || ls -lL "$kdir_/Module.symvers"
		gcc -dumpfullversion
		sparse --version 2> /dev/null || :
	} | sha256sum
}

for series in "$@"; do
	case $series in
	*/*)	kdir=$(readlink -m "$series") ;;
	*)
		kdir=$cache/kernels/$series/headers
		[ -e "$kdir/Makefile" ] || {
			case $series in
			uml-*|kcsan) how=selftests/uml/build-kernel.sh ;;
			*)	how=selftests/vm/fetch.sh ;;
			esac
			echo "no headers for $series in $cache: run $how" >&2
			exit 1
		}
		;;
	esac
	"$top/scripts/kernel-supported.sh" "$kdir" || exit 1
	release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$kdir/include/generated/utsrelease.h")
	out=$top/build/$release$suffix
	leave_btf=$nobtf
	within=
	case $release in
	*+deb13-*)
		within=in_tree	# which has pahole
		[ -e "$cache/debian-13.done" ] || {
			echo "no Debian 13 tree in $cache: run selftests/vm/fetch.sh $series" >&2
			exit 1
		}
		;;
	*)	command -v pahole > /dev/null || leave_btf=y ;;
	esac
	sources="$("$top/scripts/sources.sh") $(cd "$top" && echo selftests/kunit/*.[ch])"
	# shellcheck disable=SC2046,SC2086 # lists of files
	inputs=$(cd "$top" && inputs "$kdir" Kbuild Makefile VERSION scripts/build-modules.sh \
		$(find include -name '*.h' | sort) $sources)
	inputs="$inputs f=$fault g=$gcov k=$kunit n=$nodebug o=$option p=$leave_btf"
	last=$(cat "$out/inputs" 2> /dev/null || :)
	if [ -e "$out/smc.ko" ] &&
	   { [ "$last" = "$inputs s=$check" ] || [ "$last" = "$inputs s=y" ]; }; then
		echo "kept $out/smc.ko and smc_diag.ko"
		continue
	fi
	# a tree of links: objects of different kernels must not meet
	rm -rf "$out"
	mkdir -p "$out"
	for f in Kbuild Makefile VERSION include scripts; do
		ln -s "$top/$f" "$out/$f"
	done
	for f in $sources; do
		case $f in
		include/*) continue ;;
		esac
		mkdir -p "$out/$(dirname "$f")"
		ln -s "$top/$f" "$out/$f"
	done
	ln -s "$(readlink -f "$kdir")" "$out/kdir"
	arch=
	cross=
	case $(grep -Es '^CONFIG_(UML|ARM64|S390)=y' "$kdir/.config") in
	CONFIG_UML=*)	arch=um ;;
	CONFIG_ARM64=*)	arch=arm64 cross=aarch64-linux-gnu- ;;
	CONFIG_S390=*)	arch=s390 cross=s390x-linux-gnu- ;;
	esac
	[ "$arch" != "$(uname -m | sed 's/aarch64/arm64/; s/s390x/s390/')" ] || cross=
	noise=
	unlinked=
	[ -e "$kdir/Module.symvers" ] || {
		unlinked=y
		noise='Module.symvers.* is missing|KBUILD_MODPOST_WARN|\] undefined!|unresolved symbol warnings|'
	}
	log=$out/build.log
	set +e
	# without kernel-doc, which W=1 runs for each file, on 7.x half as long as gcc: check-static.sh has it
	$within make -j"$(nproc)" -C "$kdir" M="$out" W=1 cmd_checkdoc= ${arch:+ARCH=$arch} \
			${cross:+CROSS_COMPILE=$cross} ${check:+C=2} \
			${check:+CF=-D__CHECK_ENDIAN__} \
			${fault:+SMC_FAULT=y} ${gcov:+SMC_GCOV=y} ${kunit:+SMC_KUNIT=y} \
			${option:+SMC_OPTION=$option} ${nodebug:+CONFIG_DEBUG_INFO=} \
			${unlinked:+KBUILD_MODPOST_WARN=1} \
			${leave_btf:+CONFIG_DEBUG_INFO_BTF_MODULES=} modules > "$log" 2>&1
	rc=$?
	set -e
	# BTF is left out by the kernel's own rules when vmlinux is missing, and a
	# stable update of the compiler may be newer than the kernel's build
	noise=$noise'Skipping BTF generation|the compiler differs|pahole version differs|The kernel was built (by|with)|You are using'
	if [ $rc -ne 0 ] || grep -E 'warning|WARNING|error:' "$log" | grep -Evq "$noise"; then
		grep -E -A6 'warning|WARNING|error|ERROR' "$log" | grep -Ev "$noise" | head -80
		echo "build for $release failed, see $log" >&2
		exit 1
	fi
	echo "$inputs s=$check" > "$out/inputs"
	echo "built $out/smc.ko and smc_diag.ko"
done
