# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# One guest that runs big programs: root is a Debian tree, read-only over 9p
# below a tmpfs, with rxe on lo. The command comes from the runner (/t/run).

# shellcheck disable=SC1091 # these exist in the guest only
. /h/lib.sh
# shellcheck disable=SC1091
. /t/env.sh

quick_root()
{
	modprobe 9p && modprobe 9pnet_virtio && modprobe overlay || return 1
	mkdir -p /lower /rw /out /new
	mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 \
		root /lower || return 1
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 out /out || return 1
	mount -t tmpfs tmpfs /rw || return 1
	mkdir /rw/upper /rw/work
	mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work \
		overlay /new || return 1
	for d in proc sys dev run; do
		mkdir -p "/new/$d"
		mount --rbind "/$d" "/new/$d" || return 1
	done
	mkdir -p /new/out /new/t
	mount --bind /out /new/out && mount --bind /t /new/t
}

# All addresses of lo can then be SMC-R.
quick_rdma()
{
	ip link set lo up
	modprobe -q crc32_generic
	modprobe rdma_rxe && modprobe ib_uverbs || return 1
	/usr/sbin/rdma link add rxe0 type rxe netdev lo || return 1
	load_smc
}

ctl "plan 1"
ctl "case $QUICK_NAME"
if quick_root && quick_rdma; then
	chroot /new /bin/sh /t/run
	rc=$?
	echo "exit code $rc"
else
	rc=1
	diag "the Debian tree or RDMA cannot be set up"
fi
check_dmesg || rc=1
case $rc in
0)	ktap "ok 1 $QUICK_NAME" ;;
*)	ktap "not ok 1 $QUICK_NAME # exit code $rc" ;;
esac
sync
[ "$rc" = 0 ]
