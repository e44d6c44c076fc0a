# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The rest of init in a User Mode Linux instance: serial lines are the control
# channel and the log of each host; a host is the instance, or (topology netns)
# one of two pairs of network and mount namespaces in it.

# Names the links of the command line (vecN) ethN, as the scripts expect.
name_links()
{
	for d in /sys/class/net/vec*; do
		[ -e "$d" ] || continue
		d=${d##*/}
		/usr/sbin/ip link set "$d" name "eth${d#vec}"
	done
}

# Each host has its own /run, /tmp and /sys. The hosts synchronize through files in
# /shared, which takes no time even if time is virtual.
namespaces()
{
	mkdir /shared
	mount -t tmpfs tmpfs /shared
	mkdir /shared/sync.1 /shared/sync.2
	# each namespace has its own RDMA devices
	modprobe ib_core netns_mode=0 || return 1
	modprobe veth || return 1
	for h in 1 2; do
		unshare -m -n ash /h/netns.sh "$h" $((2 * h - 2)) \
			"$(echo "$NONCE" | cut -d , -f "$h")" &
		hosts="${hosts:-} $!"
	done
	while [ ! -s /shared/pid.1 ] || [ ! -s /shared/pid.2 ]; do
		usleep 10000
	done
	read -r p1 < /shared/pid.1
	read -r p2 < /shared/pid.2
	l=0
	while [ "$l" -lt "$LINKS" ]; do
		mac=52:54:00:00:0$l
		/usr/sbin/ip link add "eth$l" netns "$p1" mtu "$MTU" address "$mac:01" \
			type veth peer name "eth$l" netns "$p2" mtu "$MTU" \
			address "$mac:02" || return 1
		l=$((l + 1))
	done
	: > /shared/go
	# only for the hosts: shrink_quarantine() below never ends
	# shellcheck disable=SC2086 # a list of numbers
	wait $hosts
}

# KASAN keeps freed memory in quarantine, and shrinks the quarantine only in allocations that may
# sleep. Packets make no such allocations: a guest with only network traffic runs out of memory
# within a minute, and then Soft-RoCE breaks its queue pairs. A new process every 300 ms is enough.
shrink_quarantine()
{
	while usleep 300000; do
		(:)
	done
}

case $(uname -r) in
*-uml-debug)	shrink_quarantine & ;;
esac

case $TOPOLOGY in
netns)
	namespaces
	;;
*)
	name_links
	ash /h/host.sh "$HOST" 0 "$NONCE"
	;;
esac
