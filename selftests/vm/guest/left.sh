# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Checks after the last case that our module has left nothing behind. Sourced by main.sh.

LEAK_AGE=6	# s: kmemleak does not report younger objects
LEAK_SCANS=4	# the first scan only computes checksums

module_idle()
{
	users_=0
	[ ! -d /sys/module/smc_diag ] || users_=1
	[ "$(cat /sys/module/smc/refcnt)" = "$users_" ]
}

# Only the debug kernel has kmemleak; it scans on request. The module is unloaded, so its
# functions are printed as bare addresses: lib.sh has logged the address of its .text.
find_leaks()
{
	leaks_=/sys/kernel/debug/kmemleak
	[ -e "$leaks_" ] || return 0
	! grep -qw kmemleak=off /proc/cmdline || return 0
	sleep "$LEAK_AGE"
	i_=0
	while [ "$i_" -lt "$LEAK_SCANS" ]; do
		echo scan > "$leaks_"
		sleep 1
		i_=$((i_ + 1))
	done
	grep -q . "$leaks_" || return 0
	head -n 200 "$leaks_"
	diag "leaks $1: $(grep -c '^unreferenced' "$leaks_"), see the log of host $HOST"
	return 1
}

left_module()
{
	rc_left=0
	if [ -d /sys/module/smc ]; then
		wait_for 30 module_idle || {
			diag "the module stays in use: $(grep -E '^smc' /proc/modules)"
			rc_left=1
		}
		unload_module || { diag "the module cannot be unloaded"; rc_left=1; }
	fi
	caches_=$([ ! -e /proc/slabinfo ] || awk 'tolower($1) ~ /^smc/ { print $1 }' /proc/slabinfo)
	[ -z "$caches_" ] || { diag "slab caches left: $caches_"; rc_left=1; }
	find_leaks "after the module" || rc_left=1
	return "$rc_left"
}

left_resources()
{
	for k_ in qp mr cq pd; do
		n_=$(/usr/sbin/rdma resource show "$k_" | grep -c 'comm \[smc\]')
		[ "$n_" = 0 ] || { diag "$n_ of RDMA resource $k_ left"; return 1; }
	done
}

left_behind()
{
	[ "$MODULE" = ours ] || [ "$MODULE" = old ] || return 0
	first_does left left_module || return 1
	left_resources
}

# The kernel keeps the counters of unloaded modules. $COVERAGE is a folder of the machine.
save_coverage()
{
	[ -n "$COVERAGE" ] && [ "$MODULE" = ours ] || return 0
	[ "$TOPOLOGY" != netns ] || [ "$HOST" = 1 ] || return 0
	mkdir -p /run/coverage
	mount -t hostfs -o "$COVERAGE" none /run/coverage || return 1
	find /sys/kernel/debug/gcov -name '*.gcda' > /run/gcda
	grep -q . /run/gcda || return 1
	while read -r f_; do
		to_=/run/coverage/h$HOST/${f_#/sys/kernel/debug/gcov/}
		mkdir -p "${to_%/*}" && cat "$f_" > "$to_" || return 1
	done < /run/gcda
	umount /run/coverage
}
