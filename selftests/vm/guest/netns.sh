# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# netns.sh HOST LINE NONCE: sets up a host that is a pair of namespaces; runs inside them.

mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir /run/sync
mount --bind "/shared/sync.$1" /run/sync
umount -l /sys
mount -t sysfs sysfs /sys
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# iproute2 finds the name of a namespace here
mkdir -p /run/netns
: > "/run/netns/h$1"
mount --bind /proc/self/ns/net "/run/netns/h$1"

echo $$ > "/shared/pid.$1"
while [ ! -e /shared/go ]; do
	usleep 10000
done
exec ash /h/host.sh "$@"
