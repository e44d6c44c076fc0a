#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Loads smc.ko and smc_diag.ko on this host, or says in one sentence why not.
set -u

top=${1:?usage: load.sh DIRECTORY}

stop() {
	echo "smc: $*" >&2
	exit 1
}

[ -e "$top/smc.ko" ] || stop "$top/smc.ko is not built; run make first."
[ "$(id -u)" = 0 ] || stop "loading a module needs root."

if [ -e /sys/module/smc ]; then
	want=$(modinfo -F srcversion "$top/smc.ko")
	have=$(cat /sys/module/smc/srcversion 2>/dev/null)
	[ "$want" = "$have" ] && stop "this module is loaded already."
	users=$(cat /sys/module/smc/refcnt 2>/dev/null)
	[ "${users:-0}" = 0 ] ||
		stop "another smc module is loaded and in use ($users references); stop its users, then rmmod smc_diag smc."
	stop "another smc module is loaded; rmmod smc_diag smc first."
fi

modprobe ib_core 2>/dev/null || stop "this kernel has no RDMA core (ib_core)."
insmod "$top/smc.ko" || stop "the module was refused; see dmesg."
insmod "$top/smc_diag.ko" || stop "smc.ko is loaded, but smc_diag.ko was refused; see dmesg."

if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
	echo "smc: loaded; there is no RDMA device, so every connection will be TCP (rdma link add adds Soft-RoCE)."
else
	echo "smc: loaded; RDMA devices: $(echo /sys/class/infiniband/* | sed 's,/sys/class/infiniband/,,g')"
fi
