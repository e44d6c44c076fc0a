#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Make the folder that the demo's guests mount: the packages of packages.txt
# and all they depend on, downloaded and unpacked, not installed.
#
# Usage: mktree.sh            prints the folder's name as its last line
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
apt_private=$top/scripts/apt-private.sh

# Only their maintainer scripts would need these, and none of them is run.
unwanted='perl|perl-.*|libperl.*|lib.*-perl|dpkg|tar|usrmerge|debconf|adduser|passwd|iproute2'

die()
{
	echo "demo: $*" >&2
	exit 1
}

fetch()
{
	sed '/^#/d; /^$/d' "$here/packages.txt" > "$dir/wanted"
	if [ ! -e "$cache/apt/updated" ] || [ -n "$(find "$cache/apt/updated" -mmin +60)" ]; then
		"$apt_private" "$cache/apt" update > "$dir/apt.log" 2>&1 ||
			{ cat "$dir/apt.log" >&2; die "apt-get update failed"; }
	fi
	# shellcheck disable=SC2046 # a list of names
	"$apt_private" "$cache/apt" needed $(cat "$dir/wanted") > "$dir/needed"
	[ -s "$dir/needed" ] || die "apt finds no packages"
	grep -vxE "$unwanted" "$dir/needed" > "$dir/names"
	echo "demo: downloading $(wc -l < "$dir/names") Debian packages: $(tr '\n' ' ' < "$dir/wanted")" \
		"and what they need"
	# shellcheck disable=SC2046
	"$apt_private" "$cache/apt" download "$dir/debs" $(cat "$dir/names") \
		> "$dir/apt.log" 2>&1 ||
		{ cat "$dir/apt.log" >&2; die "download failed"; }
}

# What the packages' own scripts would do, as far as a demo needs it.
configure()
{
	mkdir -p "$1/dev" "$1/proc" "$1/sys" "$1/run" "$1/t" "$1/tmp"
	{
		echo 'root:x:0:0:root:/root:/bin/sh'
		echo 'www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin'
	} > "$1/etc/passwd"
	printf 'root:x:0:\nadm:x:4:\nwww-data:x:33:\n' > "$1/etc/group"
	echo '127.0.0.1 localhost' > "$1/etc/hosts"
	[ -e "$1/bin/sh" ] || ln -s dash "$1/bin/sh"
	mkdir -p "$1/etc/nginx/sites-enabled" "$1/var/log/nginx" "$1/var/www/html" \
		"$1/var/lib/redis" "$1/var/log/redis"
	ln -sf /etc/nginx/sites-available/default "$1/etc/nginx/sites-enabled/default"
}

mkdir -p "$cache/demo"
cache=$(cd "$cache" && pwd)
dir=$cache/demo
exec 9> "$dir/lock"
flock 9

newest=$(cat "$here/packages.txt" "$here/mktree.sh" | sha256sum)
if [ "$(cat "$dir/done" 2>/dev/null)" != "$newest" ]; then
	rm -rf "$dir/root" "$dir/debs" "$dir/done"
	fetch
	mkdir "$dir/root"
	for d in "$dir"/debs/*.deb; do
		dpkg-deb -x "$d" "$dir/root"
	done
	rm -rf "$dir/debs"
	configure "$dir/root"
	for p in usr/bin/redis-server usr/sbin/nginx usr/bin/curl usr/bin/iperf3; do
		[ -x "$dir/root/$p" ] || die "$p was not unpacked"
	done
	echo "$newest" > "$dir/done"
fi
echo "$dir/root"
