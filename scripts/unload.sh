#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Removes smc_diag and smc from this host, or says in one sentence why not.
set -u

stop() {
	echo "smc: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || stop "removing a module needs root."
[ -e /sys/module/smc ] || stop "the module is not loaded."
if [ -e /sys/module/smc_diag ]; then
	rmmod smc_diag || stop "smc_diag is in use."
fi
rmmod smc 2>/dev/null ||
	stop "smc is in use ($(cat /sys/module/smc/refcnt) references); 'smcctl holders' tells by whom."
echo "smc: removed."
