#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Loads smc.ko and smc_diag.ko on this host, or says in one sentence why not.
set -u

top=${1:?usage: load.sh DIRECTORY}

stop() {
	echo "smc: $*" >&2
	exit 1
}

# insert MODULE WORDS: loads it; if that fails, WORDS come before the reason
insert() {
	file=$top/$1.ko
	said=$(LC_ALL=C insmod "$file" 2>&1) && return
	lockdown=$(sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/kernel/security/lockdown 2>/dev/null)
	enforced=$(cat /sys/module/module/parameters/sig_enforce 2>/dev/null)
	# Lockdown alone gives an error that has other causes, too.
	case "$said (${lockdown:-none})" in
	*"Key was rejected"* | *"not permitted (integrity)" | *"not permitted (confidentiality)")
		signed="$1.ko has none"
		! tail -c 28 "$file" | grep -q '~Module signature appended~' || signed="that of $1.ko is not trusted"
		stop "$2$1.ko was refused: this kernel loads only modules with a trusted signature (lockdown: ${lockdown:-unknown}," \
			"module.sig_enforce: ${enforced:-unknown}), and $signed; see Documentation/selinux-secure-boot.rst."
		;;
	esac
	echo "$said" >&2
	stop "$2$1.ko was refused; see dmesg."
}

[ -e "$top/smc.ko" ] || stop "$top/smc.ko is not built; run make first."
[ "$(id -u)" = 0 ] || stop "loading a module needs root."

if [ -e /sys/module/smc ]; then
	want=$(modinfo -F srcversion "$top/smc.ko")
	have=$(cat /sys/module/smc/srcversion 2>/dev/null)
	if [ "$want" = "$have" ]; then
		[ ! -e /sys/module/smc_diag ] || stop "this module is loaded already."
		insert smc_diag "smc.ko is loaded already, but "
		echo "smc: smc.ko was loaded already, smc_diag.ko is now."
		exit 0
	fi
	users=$(cat /sys/module/smc/refcnt 2>/dev/null)
	[ "${users:-0}" = 0 ] ||
		stop "another smc module is loaded and in use ($users references); stop its users, then rmmod smc_diag smc."
	stop "another smc module is loaded; rmmod smc_diag smc first."
fi

modprobe ib_core 2>/dev/null || stop "this kernel has no RDMA core (ib_core)."
insert smc ""
insert smc_diag "smc.ko is loaded, but "

if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
	echo "smc: loaded; there is no RDMA device, so every connection will be TCP (rdma link add adds Soft-RoCE)."
else
	echo "smc: loaded; RDMA devices: $(echo /sys/class/infiniband/* | sed 's,/sys/class/infiniband/,,g')"
fi
