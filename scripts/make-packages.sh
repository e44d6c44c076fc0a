#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes packages of the files that git lists: build/packages/*.deb or *.rpm. The recipes are in
# packaging/; the version, the maintainer and the date are written into copies of them.
#
# Usage: make-packages.sh [-t TREE] deb|rpm
#   -t TREE  in a Debian tree (selftests/vm/tree.sh) instead of on this machine
#   KDIR     rpm: headers of the kernel (default: the running kernel)
#   DEBFULLNAME, DEBEMAIL  the maintainer (default: who made the last commit)
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
tree=
while getopts t: opt; do
	case $opt in
	t) tree=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
cache=$("$top/scripts/cache-dir.sh")
case ${1:-} in
deb|rpm) kind=$1 ;;
*)
	echo "usage: make-packages.sh [-t TREE] deb|rpm" >&2
	exit 2
	;;
esac
version=$(cat "$top/VERSION")
out=$top/build/packages
src=$out/smc-$version
maintainer=$(git -C "$top" log -1 --format='%an <%ae>')
[ -z "${DEBEMAIL:-}" ] || maintainer="${DEBFULLNAME:-the AF_SMC maintainers} <$DEBEMAIL>"
# packages of the same commit are the same
SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C
# those of "make deb" are not meant for the builds
unset MAKEFLAGS MAKELEVEL MFLAGS

# run COMMAND...: in the folder with the sources, on this machine or in the tree
run()
{
	if [ -z "$tree" ]; then
		(cd "$src" && "$@")
	else
		"$top/scripts/in-tree.sh" "$tree" "$out" "$cache" "$src" "$@"
	fi
}

# recipe FILE...: write in what the recipes leave open. A name may have characters that sed takes for
# its own, and in a spec file one that rpm takes for the begin of a macro.
recipe()
{
	name=$(printf '%s\n' "$maintainer" | sed 's/[&/\\]/\\&/g')
	case $1 in
	*.spec) name=$(printf '%s\n' "$name" | sed 's/%/%%/g') ;;
	esac
	sed -i "s/@VERSION@/$version/g; s/@MAINTAINER@/$name/g
		s/@RPM_DATE@/$(date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')/g" "$@"
}

rm -rf "$src"
mkdir -p "$src"
(cd "$top" && git ls-files -z | xargs -0 ls -d 2> /dev/null | tar -cT -) | tar -xC "$src"

case $kind in
deb)
	rm -f "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
	mv "$src/packaging/debian" "$src/debian"
	recipe "$src"/debian/control "$src"/debian/smc-dkms.*
	cat > "$src/debian/changelog" <<-END
	smc ($version) unstable; urgency=medium

	  * See CHANGELOG.md.

	 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
	END
	run dpkg-buildpackage -us -uc -b
	ls "$out"/*.deb
	;;
rpm)
	rm -rf "$out/rpm" "$out"/*.rpm
	mkdir -p "$out/rpm/SPECS" "$out/rpm/SOURCES"
	tar -czC "$out" -f "$out/rpm/SOURCES/smc-$version.tar.gz" "smc-$version"
	sed "/^@KEEP_ISM@\$/{
		s/.*//
		r $top/scripts/keep-ism.sh
	}" "$top/packaging/rpm/smc.spec" > "$out/rpm/SPECS/smc.spec"
	recipe "$out/rpm/SPECS/smc.spec"
	kdir=$(readlink -m "${KDIR:-/lib/modules/$(uname -r)/build}")
	release=$(cat "$kdir/include/config/kernel.release" 2> /dev/null) || {
		echo "no headers of a kernel in $kdir: give KDIR=" >&2
		exit 1
	}
	# Debian has no database of installed RPMs, so nothing that is needed would be found there
	nodeps=
	[ ! -e /etc/debian_version ] || nodeps=--nodeps
	run rpmbuild -ba $nodeps --define "_topdir $out/rpm" --define "kdir $kdir" \
		--define "kernel_release $release" \
		"$out/rpm/SPECS/smc.spec"
	mv "$out"/rpm/RPMS/*/*.rpm "$out"/rpm/SRPMS/*.rpm "$out/"
	ls "$out"/*.rpm
	;;
esac
