# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The Debian tree of the machine that runs the guests (vm.py --root), in a guest: an overlay with
# the tree as lower layer (read-only, by 9p or hostfs) and a tmpfs as upper layer.

TREE=/run/tree

# mount_tree: mounts it at $TREE, with the guest's /proc, /sys, /dev and /t
mount_tree()
{
	modprobe overlay
	mkdir -p /run/lower /run/rw "$TREE"
	case $BED in
	uml*)
		mount -t hostfs -o "ro,$ROOT_TREE" none /run/lower || return 1
		;;
	*)
		modprobe 9p && modprobe 9pnet_virtio || return 1
		mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 \
			root /run/lower || return 1
		;;
	esac
	mount -t tmpfs tmpfs /run/rw || return 1
	mkdir /run/rw/upper /run/rw/work
	mount -t overlay -o lowerdir=/run/lower,upperdir=/run/rw/upper,workdir=/run/rw/work \
		overlay "$TREE" || return 1
	for d_ in proc sys dev; do
		mkdir -p "$TREE/$d_"
		mount --rbind "/$d_" "$TREE/$d_" || return 1
	done
	mount -t tmpfs tmpfs "$TREE/run" && mount -t tmpfs tmpfs "$TREE/tmp" || return 1
	mkdir -p "$TREE/t" && mount --bind /t "$TREE/t"
}

# in_tree COMMAND...: runs it in the mounted tree
in_tree()
{
	chroot "$TREE" "$@"
}
