#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Installs the missing ones of the packages listed in the files given.
set -eu

missing=
for list in "$@"; do
	while read -r p; do
		case $p in
		''|'#'*) continue ;;
		esac
		st=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) || st=
		[ "$st" = installed ] || missing="$missing $p"
	done < "$list"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "not installed, please install as root:$missing" >&2
	exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of names
install() { apt-get -qq -y --no-install-recommends install $missing >/dev/null; }
install || { apt-get -qq update && install; }
