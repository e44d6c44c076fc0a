# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The forwarding host: link n of host 1 is eth<2n> here, that of host 2 is
# eth<2n+1>; both are ports of bridge br<n>. The tests disturb the traffic here,
# for example with on_host 3 'tc qdisc add dev eth1 root netem ...'.

# shellcheck disable=SC1091 # exists in the guest only
. /h/lib.sh
[ ! -e /t/env.sh ] || . /t/env.sh

modprobe bridge || exit 1
l=0
while [ "$l" -lt "$LINKS" ]; do
	ip link add "br$l" type bridge forward_delay 0 mcast_snooping 0
	for d in "eth$((2 * l))" "eth$((2 * l + 1))"; do
		ip link set "$d" master "br$l"
		ip link set "$d" up || exit 1
	done
	ip link set "br$l" up || exit 1
	l=$((l + 1))
done
sync_raw top.router
while [ ! -e /run/sync/ABORT ]; do
	usleep 200000
done
check_dmesg
