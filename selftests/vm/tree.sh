#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A Debian tree in the cache, for guests that run programs of Debian. Guests mount it read-only;
# on this machine only the package installation runs programs of the tree.
#
# Usage: tree.sh NAME PACKAGE... | tree.sh NAME < LIST
#
# makes NAME in the folder that scripts/cache-dir.sh names if it does not exist, adds the missing packages
# and prints its path. LIST has one package per line, and comments.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")

die()
{
	echo "tree: $*" >&2
	exit 1
}

# The tree is for guests only, so it needs no init and no kernel.
make_tree()
{
	[ "$(id -u)" = 0 ] || die "making the Debian tree needs root, once"
	echo "tree: making a Debian tree in $tree" >&2
	rm -rf "$tree"
	debootstrap --variant=minbase bookworm "$tree" \
		"${SMC_DEBIAN_MIRROR:-http://deb.debian.org/debian}" > "$tree.log" 2>&1 ||
		{ tail "$tree.log" >&2; die "debootstrap failed"; }
	# No service of the tree may start on the machine that holds it.
	printf '#!/bin/sh\nexit 101\n' > "$tree/usr/sbin/policy-rc.d"
	chmod 755 "$tree/usr/sbin/policy-rc.d"
	: > "$tree.done"
}

# The tree can be made again if the machine fails: dpkg need not sync after each file.
add_packages()
{
	[ "$(id -u)" = 0 ] || die "installing into the tree needs root:$missing"
	echo "tree: installing into $tree:$missing" >&2
	# shellcheck disable=SC2016,SC2086 # for the other shell; a list of names
	unshare -m --propagation private sh -c 'tree=$1; shift
		mount -t proc proc "$tree/proc" && exec chroot "$tree" apt-get -q -y \
			-o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io \
			install --no-install-recommends "$@"' sh "$tree" $missing \
		> "$tree.log" 2>&1 < /dev/null ||
		{ tail "$tree.log" >&2; die "apt-get failed in the tree"; }
	chroot "$tree" apt-get clean
}

[ $# -ge 1 ] || die "see the head of $0"
mkdir -p "$cache"
tree=$(cd "$cache" && pwd)/$1
shift
# shellcheck disable=SC2046 # a list of names
[ $# -gt 0 ] || set -- $(sed 's/#.*//')
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

exec 8> "$tree.lock"
flock 8
[ -e "$tree.done" ] || make_tree
missing=
for p in "$@"; do
	# shellcheck disable=SC2016 # dpkg's variable
	chroot "$tree" dpkg-query -W -f '${db:Status-Status}\n' "$p" 2> /dev/null |
		grep -qx installed || missing="$missing $p"
done
[ -z "$missing" ] || add_packages 8>&-
echo "$tree"
