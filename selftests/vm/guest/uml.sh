# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The rest of init in a User Mode Linux instance: serial lines are the control
# channel and the log of each host; a host is the instance, or (topology netns)
# one of two pairs of network and mount namespaces in it.

# The links are those of the command line, under the names that scripts know.
name_links()
{
	for d in /sys/class/net/vec*; do
		[ -e "$d" ] || continue
		d=${d##*/}
		/usr/sbin/ip link set "$d" name "eth${d#vec}"
	done
}

# Both hosts see their own /run, /tmp and /sys; what they say to each other goes
# through /shared, so that it takes no time even if time is virtual.
namespaces()
{
	mkdir /shared
	mount -t tmpfs tmpfs /shared
	mkdir /shared/sync.1 /shared/sync.2
	# Each namespace has RDMA devices of its own.
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
	# not for all children: one never ends, see below
	# shellcheck disable=SC2086 # a list of numbers
	wait $hosts
}

# KASAN keeps what is freed for a while, and lets go of what is too much in allocations that may
# sleep. Packets have none of them: a guest in which nothing else goes on runs out of memory within a
# minute, and then Soft-RoCE breaks its queue pairs. A process now and then is enough.
let_go()
{
	while usleep 300000; do
		(:)
	done
}

case $(uname -r) in
*-uml-debug)	let_go & ;;
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
