#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Removes smc_diag, smc and smc_lo from this host, or says who uses them. A module with open sockets stays:
# the kernel refuses to remove it, and nothing here insists.
#
# Usage: unload.sh [--removed|--replaced]
#   --removed    for removing a package: the module was uninstalled. One in use is no error, and
#                neither is one that is not loaded, or not ours
#   --replaced   for installing and upgrading: unloads nothing, says what stays loaded
set -u

module=/sys/module/smc
ended="when they have ended, or a reboot"

# Nothing but smc uses the devices of smc_lo
remove_lo()
{
	[ ! -e /sys/module/smc_lo ] || rmmod smc_lo
}

stop()
{
	echo "smc: $*" >&2
	exit 1
}

# Prints the programs that have sockets of the module, as smcctl holders does: the tools may not be
# installed. Sockets of the in-tree module cannot be named.
holders()
{
	inodes=$(awk 'NR > 1 && $2 { print $2 }' /proc/net/smc_holders 2> /dev/null | tr '\n' ' ')
	# shellcheck disable=SC2012 # names of numbers; find of busybox prints no links
	pids=$(cd /proc && ls -l [0-9]*/fd 2> /dev/null | awk -v inodes="$inodes" '
		BEGIN { n = split(inodes, list, " "); for (i = 1; i <= n; i++) wanted["socket:[" list[i] "]"] }
		/^[0-9]+\/fd:$/ { pid = $1; sub(/\/.*/, "", pid) }
		$NF in wanted { print pid }' | sort -un)
	for pid in $pids; do
		echo "  $(cat "/proc/$pid/comm" 2> /dev/null) ($pid)" >&2
	done
	[ -n "$pids" ] || echo "  no program that can be named; see 'smcctl holders'" >&2
}

# Prints the command that removes the modules that are loaded. Not modprobe, which wants their files.
removal()
{
	printf rmmod
	for m in smc_diag smc smc_lo; do
		[ ! -e /sys/module/$m ] || printf ' %s' "$m"
	done
}

# Prints how many references the module has, besides that of smc_diag
references()
{
	refs=$(cat $module/refcnt 2> /dev/null)
	[ ! -e $module/holders/smc_diag ] || refs=$((refs - 1))
	echo "${refs:-0}"
}

# Removes smc_diag and smc. While smc has users smc_diag stays, too: without it nobody could list them.
remove()
{
	[ "$(references)" = 0 ] || return 1
	[ ! -e /sys/module/smc_diag ] || rmmod smc_diag || return 1
	rmmod smc 2> /dev/null
}

# Says that the module is in use and by whom
say_used()
{
	echo "smc: $1 ($(references) references):" >&2
	holders
}

case ${1:-} in
--replaced)
	[ -e $module ] || exit 0
	[ "$(cat $module/srcversion 2> /dev/null)" != "$(modinfo -F srcversion smc 2> /dev/null)" ] || exit 0
	loaded="the in-tree module"
	# only ours has a version
	[ ! -e $module/version ] || loaded="the module of version $(cat $module/version)"
	say_used "$loaded stays loaded, with these users"
	echo "smc: to use the installed one: 'modprobe -r smc_diag smc' $ended." >&2
	exit 0
	;;
--removed)
	[ -e $module/version ] || exit 0
	if remove 2> /dev/null; then
		remove_lo
		echo "smc: the module was unloaded."
	else
		say_used "the module is uninstalled, but stays loaded while it has users"
		echo "smc: to be rid of it: '$(removal)' $ended." >&2
	fi
	exit 0
	;;
esac

[ "$(id -u)" = 0 ] || stop "removing a module needs root."
[ -e $module ] || stop "the module is not loaded."
remove || {
	say_used "the module is in use"
	exit 1
}
remove_lo || stop "smc_lo is in use."
echo "smc: removed."
