#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Stops the build with one sentence when the kernel at $1 cannot run the module.
# Looks for features, not versions: stable kernels back-port at will.
set -u

kdir=${1:?usage: kernel-supported.sh KDIR}

stop() {
	echo "smc: $*" >&2
	exit 1
}

[ -e "$kdir/Makefile" ] ||
	stop "no kernel headers at $kdir; install linux-headers-$(uname -r) or give KDIR=<headers>."

conf=$kdir/include/config/auto.conf
[ -r "$conf" ] || conf=$kdir/.config
[ -r "$conf" ] ||
	stop "$kdir is not configured; use the headers package of a kernel."

grep -q '^CONFIG_INFINIBAND=' "$conf" ||
	stop "the kernel at $kdir has no RDMA (CONFIG_INFINIBAND); cloud flavours lack it."
# without CONFIG_SMC netfilter puts the option into TCP's SYN
grep -q -e '^CONFIG_SMC=[my]' -e '^CONFIG_NETFILTER=y' "$conf" ||
	stop "the kernel at $kdir has neither CONFIG_SMC nor CONFIG_NETFILTER, so nothing can put the SMC option into a SYN."
grep -q '^CONFIG_SMC=y' "$conf" &&
	stop "the kernel at $kdir has its own SMC built in (CONFIG_SMC=y); a module cannot replace it."

# a folder of headers that was made from a tree elsewhere has only what is its own
src=$kdir
if [ ! -e "$src/include/net/genetlink.h" ]; then
	src=$(sed -n 's|^include  *\(.*\)/Makefile$|\1|p' "$kdir/Makefile" | head -n 1)
	[ "${src#/}" != "$src" ] || src=$kdir/$src
fi
# (where it is not found the compiler decides)
[ ! -e "$src/include/net/genetlink.h" ] || grep -q resv_start_op "$src/include/net/genetlink.h" ||
	stop "the kernel at $kdir is too old: its generic netlink has no resv_start_op, which came with Linux 6.1."
exit 0
