#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Run a program of Debian in one virtual host, with rxe on lo: quick to start,
# any package, both ends of every connection in that host.
#
# Usage: quick.sh [-p "PACKAGE..."] [-m ours|intree|none] [-n NAME] [-a FILE]...
#                 COMMAND [vm.py options after --]
#
#   -p  packages that the tree must have (it is kept in the cache)
#   -a  file or folder for /t (as are smc_run, its library and smcctl)
#   COMMAND is run by /bin/sh in the tree; /out there is the output folder.
#
# Packets on lo never meet netem, filters or a capture, and both ends share
# one module: tests of those need two hosts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${SMC_VM_CACHE:-$top/.cache/vm}
tree=$cache/debian-12
packages=
module=ours
name=quick
add=

die()
{
	echo "quick: $*" >&2
	exit 1
}

# The tree is for the guest only, so it needs no init and no kernel.
make_tree()
{
	if [ ! -e "$tree.done" ]; then
		[ "$(id -u)" = 0 ] || die "making the Debian tree needs root, once"
		echo "quick: making a Debian tree in $tree"
		rm -rf "$tree"
		debootstrap --variant=minbase bookworm "$tree" \
			"${SMC_DEBIAN_MIRROR:-http://deb.debian.org/debian}" \
			> "$cache/debootstrap.log" 2>&1 ||
			{ tail "$cache/debootstrap.log" >&2; die "debootstrap failed"; }
		# No service of the tree may start on the machine that holds it.
		printf '#!/bin/sh\nexit 101\n' > "$tree/usr/sbin/policy-rc.d"
		chmod 755 "$tree/usr/sbin/policy-rc.d"
		: > "$tree.done"
	fi
	missing=
	for p in $packages; do
		grep -qx "Package: $p" "$tree/var/lib/dpkg/status" || missing="$missing $p"
	done
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || die "installing into the tree needs root:$missing"
	echo "quick: installing into the tree:$missing"
	# shellcheck disable=SC2086 # a list of names
	DEBIAN_FRONTEND=noninteractive chroot "$tree" apt-get -q -y \
		-o Dpkg::Use-Pty=0 install --no-install-recommends $missing \
		> "$cache/tree.log" 2>&1 ||
		{ tail "$cache/tree.log" >&2; die "apt-get failed in the tree"; }
}

while getopts p:m:n:a: o; do
	case $o in
	p)	packages=$OPTARG ;;
	m)	module=$OPTARG ;;
	n)	name=$OPTARG ;;
	a)	add="$add --add $OPTARG" ;;
	*)	die "see the head of $0" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || die "no command (see the head of $0)"
command=$1
shift
[ "${1:-}" != -- ] || shift

mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
tree=$cache/debian-12
(
	flock 8
	make_tree
) 8> "$cache/tree.lock"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
printf '%s\n' "$command" > "$stage/run"
for f in "$top/tools/smcctl" "$top/tools/smc_run" "$top/tools/libsmc_preload.so"; do
	[ ! -e "$f" ] || add="$add --add $f"
done
# shellcheck disable=SC2086 # a list of options
"$here/vm.py" --name "$name" --mode quick --hosts 1 --links 0 --mem 1536 \
	--module "$module" --root "$tree" --env "QUICK_NAME=$name" \
	--add "$stage" $add "$@"
