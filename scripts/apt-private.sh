#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Run apt with sources, state and cache of its own, so that Debian packages
# can be downloaded without root and without touching the system's sources
# (a debootstrapped tree knows "bookworm main" only; kernels live elsewhere).
#
# Usage: apt-private.sh DIR update
#        apt-private.sh DIR list REGEX        names that match, newest last
#        apt-private.sh DIR version PACKAGE    what a download would give
#        apt-private.sh DIR needed PACKAGE...  these and all they depend on
#        apt-private.sh DIR download DEST PACKAGE...
#        apt-private.sh DIR files PACKAGE      a tar archive of its files, on standard output
#
# DIR keeps everything apt writes. Mirrors: SMC_DEBIAN_MIRROR and
# SMC_DEBIAN_SECURITY_MIRROR (default: deb.debian.org over http; apt checks
# signatures). SMC_APT_SUITES may add "trixie-backports". SMC_APT_ARCH: packages
# for another architecture than this machine's.
set -eu

die()
{
	echo "apt-private: $*" >&2
	exit 1
}

[ $# -ge 2 ] || die "usage: apt-private.sh DIR update|list|version|needed|download|files ..."
dir=$1
cmd=$2
shift 2

mirror=${SMC_DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${SMC_DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security}
suites=${SMC_APT_SUITES:-bookworm bookworm-security}
key=/usr/share/keyrings/debian-archive-keyring.gpg

[ -r "$key" ] || die "$key is missing: install debian-archive-keyring"

mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial" "$dir/parts"
dir=$(cd "$dir" && pwd)

for s in $suites; do
	case $s in
	*-security)	echo "deb [signed-by=$key] $security $s main" ;;
	*)		echo "deb [signed-by=$key] $mirror $s main" ;;
	esac
done > "$dir/sources.list.new"
if ! cmp -s "$dir/sources.list.new" "$dir/sources.list"; then
	mv "$dir/sources.list.new" "$dir/sources.list"
	rm -f "$dir/updated"
fi
# No package counts as installed: this apt only ever downloads.
: > "$dir/status"

apt()
{
	tool=$1
	shift
	"$tool" -q -o Dir::Etc::sourcelist="$dir/sources.list" \
		-o Dir::Etc::sourceparts="$dir/parts" \
		-o Dir::Etc::preferences=/dev/null \
		-o Dir::Etc::preferencesparts="$dir/parts" \
		-o Dir::State="$dir/state" \
		-o Dir::State::status="$dir/status" \
		-o Dir::Cache="$dir/cache" \
		-o APT::Sandbox::User="$(id -un)" \
		${SMC_APT_ARCH:+-o APT::Architecture=$SMC_APT_ARCH -o APT::Architectures=$SMC_APT_ARCH} \
		-o APT::Update::Error-Mode=any \
		-o APT::Update::Post-Invoke::= \
		-o APT::Update::Post-Invoke-Success::= \
		-o Acquire::Retries=3 \
		"$@"
}

update()
{
	apt apt-get update
	: > "$dir/updated"
}

case $cmd in
update)
	update
	;;
list)
	apt apt-cache pkgnames | grep -E "^($1)\$" | sort -V || true
	;;
version)
	apt apt-cache show --no-all-versions "$1" | sed -n 's/^Version: //p'
	;;
needed)
	apt apt-get --no-install-recommends -s install "$@" |
		sed -n 's/^Inst \([^ ]*\) .*/\1/p'
	;;
download)
	[ $# -ge 2 ] || die "download needs a folder and packages"
	mkdir -p "$1"
	cd "$1"
	shift
	apt apt-get download "$@"
	;;
files)
	[ $# = 1 ] || die "files needs one package"
	[ -e "$dir/updated" ] || update >&2
	debs=$(mktemp -d "$dir/debs.XXXXXX")
	trap 'rm -rf "$debs"' EXIT
	cd "$debs"
	apt apt-get download "$1" >&2
	dpkg-deb --fsys-tarfile ./*.deb
	;;
*)
	die "unknown command $cmd"
	;;
esac
