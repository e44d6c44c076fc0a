# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# One guest that runs big programs: root is a Debian tree, read-only over 9p
# below a tmpfs, with rxe on lo. The command comes from the runner (/t/run).

# shellcheck disable=SC1091 # these exist in the guest only
. /h/lib.sh
# shellcheck disable=SC1091
. /h/tree.sh
# shellcheck disable=SC1091
. /t/env.sh

quick_root()
{
	mount_tree || return 1
	mkdir -p "$TREE/out"
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 out "$TREE/out"
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
	in_tree /bin/sh /t/run
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
