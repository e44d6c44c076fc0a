#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Stops an installation on a machine with ISM devices (IBM Z), unless SMC_LOSES_ISM=yes: the in-tree
# module has SMC-D over them, this one has not. A refusal and not a question: nobody answers one in an
# unattended installation, and its default would decide.
set -eu

# by the numbers of the device: its driver need not be loaded yet
found=
for dev in /sys/bus/pci/devices/*; do
	[ "$(cat "$dev/vendor" "$dev/device" 2> /dev/null | tr '\n' :)" != 0x1014:0x04ed: ] ||
		found="$found ${dev##*/}"
done
if [ -n "$found" ] && [ "${SMC_LOSES_ISM:-}" != yes ]; then
	cat >&2 <<-END
	smc: this machine has ISM devices:$found.
	smc: connections over them (SMC-D) would become TCP or SMC-R: this module has no SMC-D.
	smc: not installed; set SMC_LOSES_ISM=yes in the environment to install it all the same.
	END
	exit 1
fi
