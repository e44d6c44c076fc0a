#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the modules that cases/dma.sh needs besides smc.ko: the RNIC dma_rnic.ko, and one
# smc.ko for each DMA fault that the test must find.
#
# Usage: plant-dma.sh SERIES OUT [FAULT...]
#   FAULT	buf_ or wr_ (for rdma/region_map.c, smc_wr.c or rdma/qp.c) and sync_for_device, sync_for_cpu or
#		unmap; default all; none: the RNIC alone
# OUT/t gets dma_rnic.ko and one smc-FAULT.ko per fault, OUT/ours the modules without a fault.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")

series=$1
rm -rf "$2"
mkdir -p "$2/rnic" "$2/t" "$2/ours"
out=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- buf_sync_for_device buf_sync_for_cpu buf_unmap \
	wr_sync_for_device wr_sync_for_cpu wr_unmap
release=$(basename "$(readlink -f "$cache/kernels/$series")")
kdir=$cache/kernels/$series/headers
arch=
! grep -qs '^CONFIG_UML=y' "$kdir/.config" || arch=um

# build DIR ARGUMENT...
build()
{
	dir=$1
	shift
	make -j"$(nproc)" -C "$kdir" ${arch:+ARCH="$arch"} M="$dir" W=1 \
		CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= "$@" modules > "$out/build.log" 2>&1 || {
		tail -n 40 "$out/build.log"
		exit 1
	}
}

cp "$top"/selftests/dma_rnic/* "$out/rnic/"
build "$out/rnic"
cp "$out/rnic/dma_rnic.ko" "$out/t/"
[ "$1" != none ] || exit 0

# A build tree of its own: each fault compiles only the files that differ. The last one has left
# its fault in there.
rm -rf "$top/build/$release-planted"
"$top/scripts/build-modules.sh" -n -o -planted "$series"
cp "$top/build/$release-planted/smc.ko" "$top/build/$release-planted/smc_diag.ko" "$out/ours/"
for fault in "$@"; do
	case $fault in
	buf_*)		file=rdma/region_map ;;
	wr_unmap)	file=rdma/qp ;;	# it unmaps the memory of a queue pair
	*)		file=smc_wr ;;
	esac
	# Rings: whole pages only, so that the test program's requests still arrive and only
	# the stream is wrong. Messages: of any size.
	case $fault in
	buf_*)	from=4096 ;;
	wr_*)	from=1 ;;
	*)	echo "plant-dma.sh: unknown fault $fault" >&2; exit 2 ;;
	esac
	define=PLANT_$(echo "${fault#*_}" | tr '[:lower:]' '[:upper:]')
	build "$top/build/$release-planted" \
		"CFLAGS_$file.o=-D$define -DPLANT_FROM=$from -include $here/planted/dma.h"
	cp "$top/build/$release-planted/smc.ko" "$out/t/smc-$fault.ko"
done
