#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs a command in a Debian tree (selftests/vm/tree.sh) that sees two folders of this machine at
# their own places. The mounts are in a namespace of their own and go with it.
#
# Usage: in-tree.sh TREE FOLDER FOLDER|"" WORKING-DIRECTORY COMMAND...
set -eu

# (In a chroot nobody may make the root private, so the mounts are also undone.)
how=private
unshare --mount --propagation private true 2> /dev/null || how=unchanged
# shellcheck disable=SC2016 # for the other shell
exec unshare --mount --propagation "$how" sh -eu -c '
	tree=$1
	folders="$2 $3"
	dir=$4
	shift 4
	undo()
	{
		for d in $folders /proc; do
			umount -l "$tree$d" 2> /dev/null || :
		done
	}
	trap undo EXIT
	mount -t proc proc "$tree/proc"
	for d in $folders; do
		mkdir -p "$tree$d"
		mount --bind "$d" "$tree$d"
	done
	chroot "$tree" sh -c "cd \"\$1\" && shift && exec \"\$@\"" sh "$dir" "$@"' sh "$@"
