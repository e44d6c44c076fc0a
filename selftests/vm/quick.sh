#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Run a program of Debian in one virtual host, with rxe on lo. The host boots fast,
# can use any package, and has both ends of every connection.
#
# Usage: quick.sh [-p "PACKAGE..."] [-m ours|intree|none] [-n NAME] [-a FILE]...
#                 COMMAND [vm.py options after --]
#
#   -p  packages to install in the Debian tree (the cache keeps it)
#   -a  file or folder to copy to /t (smc_run, its library and smcctl are there already)
#   COMMAND is run by /bin/sh in the tree; /out there is the output folder.
#
# Packets on lo pass no netem, filter or capture, and both ends use the same
# module: tests that need these need two hosts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
packages=
module=ours
name=quick
add=

die()
{
	echo "quick: $*" >&2
	exit 1
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

# shellcheck disable=SC2086 # a list of names
tree=$("$here/tree.sh" debian-12 $packages < /dev/null)

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
