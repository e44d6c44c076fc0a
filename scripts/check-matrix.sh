#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the modules for each kernel of a list, as make W=1, and looks at what came out. KTAP.
#
# Usage: check-matrix.sh [KERNEL...]
#   KERNEL  a series of selftests/vm/fetch.sh, or the folder of a configured kernel tree or of
#           headers (in a tree that is prepared, but not built, no symbols are looked up); default:
#           three of Debian's for amd64, arm64, a big-endian one
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
n=0
rc=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# (and once more by the folder of its headers, as make matrix KDIRS= would: that build is there already)
[ $# -gt 0 ] || set -- 6.1 6.12 7 6.12-arm64 6.1-s390x "$("$top/scripts/cache-dir.sh")/kernels/6.1/headers"
"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" "$top/selftests/vm/packages.txt" || exit 1

# result VERDICT NAME: the log is shown when it failed
result()
{
	n=$((n + 1))
	echo "$1 $n matrix: $2"
	[ "$1" = ok ] && return
	sed 's/^/# /' "$log" | tail -60
	rc=1
}

# field MODULE NAME: of its ELF header
field()
{
	readelf -h "$1" | sed -n "s/^ *$2: *//p"
}

# check KERNEL: each line says what the kernel is, so that a list of them is the table
check()
{
	local kernel=$1 config built release machine compiler option options=-n

	case $kernel in
	*/*)	;;
	*)
		"$top/selftests/vm/fetch.sh" --headers-only --no-host "$kernel" > "$log" 2>&1 || {
			result "not ok" "$kernel: no headers"
			return
		}
		;;
	esac
	# the options of check-vm.sh, which would build them anew otherwise
	case $kernel in
	6.12|7)	options= ;;
	esac
	# shellcheck disable=SC2086 # an option or nothing
	"$top/scripts/build-modules.sh" $options "$kernel" > "$log" 2>&1 || {
		result "not ok" "$kernel"
		return
	}
	built=$(sed -n 's/^[a-z]* \(.*\)\/smc.ko and smc_diag.ko$/\1/p' "$log")
	config=$built/kdir/.config
	release=$(modinfo -F vermagic "$built/smc.ko" | cut -d ' ' -f 1)
	if [ "$release" != "${built##*/}" ] ||
	   [ "$(field "$built/smc_diag.ko" Machine)" != "$(field "$built/smc.ko" Machine)" ]; then
		result "not ok" "$kernel: a module for $release"
		return
	fi
	machine="$(field "$built/smc.ko" Machine),$(field "$built/smc.ko" Data | sed 's/.*,//')"
	compiler=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\([^ ]*\) .* \([0-9.]*\)"$/\1 \2/p' "$config")
	option="of our own"
	! grep -q '^CONFIG_SMC=' "$config" || option="of the kernel"
	[ -e "$built/kdir/Module.symvers" ] || option="$option, symbols not looked up"
	# in a package the date is that of its changelog
	result ok "$release, configured $(date -u -r "$config" +%F): $machine, $compiler, TCP option $option"
}

for kernel in "$@"; do
	check "$kernel"
done
echo "1..$n"
exit $rc
