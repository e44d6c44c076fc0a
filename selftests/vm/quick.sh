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
