#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The packages, in a Debian tree of the cache: made, judged by lintian, installed, a kernel is added,
# upgraded, removed. DKMS builds natively, for kernels of the cache that are lent to the tree. Prints KTAP.
#
# Usage: check-packages.sh [vm|rpm]
#   vm   also: a pair of virtual hosts that run the tree uses the packages; then a second kernel is installed, and a
#        pair that runs it uses, upgrades and removes them; the upgrade is built for both kernels: builds and
#        boots take more minutes than the gate has
#   rpm  instead: RPMs, made, installed, upgraded and removed, with the modules and with their sources for DKMS, and
#        make install and uninstall. They build the modules once more, and the gate has little time; both are part of
#        make check-long
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
version=$(cat "$top/VERSION")
out=$top/build/packages
mode=${1:-}
cd "$top" || exit 1
n=0
rc=0

"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" "$top/selftests/vm/packages.txt" || exit 1
"$top/selftests/vm/fetch.sh" 6.12 6.1 > /dev/null || exit 1
tree=$("$top/selftests/vm/tree.sh" packaging < "$top/packaging/packages.txt") || exit 1
old=$(basename "$(readlink -f "$cache/kernels/6.1")")
new=$(basename "$(readlink -f "$cache/kernels/6.12")")
tmp=$(mktemp -d)
# another run would install into the same tree
exec 9> "$tree.use"
flock 9
# objects of earlier runs
export CCACHE_DIR=$cache/ccache-packages CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1 DEBIAN_FRONTEND=noninteractive LC_ALL=C
export PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin

# result NAME STATUS: of a test whose output is in $tmp/log
result()
{
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $n packages: $1"
	else
		echo "not ok $n packages: $1"
		sed 's/^/# /' "$tmp/log" | tail -60
		rc=1
	fi
}

in_tree()
{
	"$top/scripts/in-tree.sh" "$tree" "$out" "$cache" "$out" "$@"
}

# lend RELEASE: the headers of a kernel of the cache, and of its modules those of the family and what they
# need, as its packages install them. With all modules depmod, which DKMS calls each time, takes longest.
lend()
{
	mkdir -p "$tree/lib/modules/$1"
	(cd "$cache/kernels/$1/modules" && cp -a --parents modules.builtin* modules.order kernel/net/smc \
		kernel/drivers/infiniband/core "$tree/lib/modules/$1")
	ln -sfn "$cache/kernels/$1/headers" "$tree/lib/modules/$1/build"
}

# files: what is in the tree, without what package management, depmod, caches, DKMS (its key) and rpm keep of their own
files()
{
	(cd "$tree" && find . -xdev \( -path ./proc -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \
		-o -path ./tmp -o -path ./run -o -path "./var/lib/dkms/mok.*" -o -path ./root/.rpmdb -o -path "./lib/modules/*/modules.*" -o -path ./var/lib/apt \
		-o -path "./etc/ld.so.cache" -o -path "./usr/lib/modules/*/modules.*" \
		-o -path ".$cache" -o -path ".$out" \) -prune -o -print | sort)
}

# module_of RELEASE MODULE: print the file that modprobe would load
module_of()
{
	in_tree modinfo -k "$1" -n "$2"
}

# built RELEASE [VERSION]: DKMS has installed the modules, and they are what modprobe loads (compressed if
# those of the kernel are)
# shellcheck disable=SC2317 # each_kernel() calls it
built()
{
	for m in smc smc_diag smc_lo; do
		module_of "$1" "$m" | sed 's/.xz$//' | grep -Fqx "/lib/modules/$1/updates/dkms/$m.ko" &&
			[ "$(in_tree modinfo -k "$1" -F version "$m")" = "${2:-$version}" ] &&
			in_tree modinfo -k "$1" -F vermagic "$m" | grep -Fq "$1 " || return 1
	done
}

# loaded VERSION [SRCVERSION]: the tree sees a loaded module (virtual hosts have a real one)
loaded()
{
	mkdir -p "$tree/sys/module/smc"
	echo "$1" > "$tree/sys/module/smc/version"
	echo "${2:-other}" > "$tree/sys/module/smc/srcversion"
}

# Make the package of the next version, whose code differs
next_package()
{
	dpkg-deb -R "$out/$dkms" "$tmp/next" || return 1
	(cd "$tmp/next" && mv "usr/src/smc-$version" "usr/src/smc-$next" &&
		sed -i "s/${version//./\\.}/$next/g" DEBIAN/control DEBIAN/postinst DEBIAN/prerm \
			"usr/src/smc-$next/VERSION" "usr/src/smc-$next/dkms.conf" &&
		echo 'struct smc_next_version;' >> "usr/src/smc-$next/smc_main.c" && rm DEBIAN/md5sums) &&
		dpkg-deb --root-owner-group -b "$tmp/next" "$out/next.deb"
}

# lacking: print the files of the tools that the package whose files are in $tmp/files does not have
lacking()
{
	(cd tools && ls man completion samples systemd udev && printf '%s\n' smc_run smc_cgroup smcctl smcd smcr smcss \
		smc_pnet smc_trace smc_times.bt libsmc_preload.so libsmc_verify.so smc_own.h) | grep . | grep -v ':$' | sort -u |
		while read -r f; do
			grep -q "/$f\(\.[gx]z\)\?\$" "$tmp/files" || echo "$f"
		done
}

# has_tools: no file of the tools is missing in a package
has_tools()
{
	lacking > "$tmp/log"
	[ -s "$tmp/files" ] && [ ! -s "$tmp/log" ]
}

# ism: the tree has such a device, from here on
ism()
{
	mkdir -p "$tree/sys/bus/pci/devices/0000:00:00.0"
	echo 0x1014 > "$tree/sys/bus/pci/devices/0000:00:00.0/vendor"
	echo 0x04ed > "$tree/sys/bus/pci/devices/0000:00:00.0/device"
}

# refuses_ism COMMAND...: in the tree, because of that device
refuses_ism()
{
	! in_tree "$@" > "$tmp/log" 2>&1 && grep -q 'this machine has ISM devices: 0000:00:00.0' "$tmp/log"
}

# hosts NAME KERNEL [CASES]: a pair of virtual hosts with that kernel run the tree, each from a copy in memory
hosts()
{
	selftests/vm/vm.py --name "$1" --kernel "$2" --module none --root "$tree" --mem 1024 \
		--script selftests/vm/cases/packages.sh --env "PACKAGES=${3:-}" \
		--add selftests/smc_traffic --add "$out/next.deb" --timeout 1500 9>&- |
		sed 's/^/    /' | tee "$tmp/log"
	return "${PIPESTATUS[0]}"
}

# Make an RPM of that name, without a file
other_rpm()
{
	printf '%s\n' 'Name: smc-tools' 'Version: 9' 'Release: 1' 'Summary: a' 'License: a' 'BuildArch: noarch' '%description' \
		'%files' > "$out/other.spec"
	in_tree rpmbuild -bb --define "_topdir $out/rpm" --define "_rpmdir $out" --define "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" other.spec
}

# Make the RPMs of the next version: the same recipe and sources, with another number, for a distribution whose
# sbin is bin
next_rpm()
{
	local kdir

	kdir=$(readlink -f "$cache/kernels/6.12/headers")
	rm -rf "$out/smc-9" && cp -a "$out/smc-$version" "$out/smc-9" && echo 9 > "$out/smc-9/VERSION" &&
		sed "s/^Version:.*/Version:	9/; s/ - $version-1\$/ - 9-1/" "$out/rpm/SPECS/smc.spec" > "$out/rpm/SPECS/next.spec" &&
		tar -czC "$out" -f "$out/rpm/SOURCES/smc-9.tar.gz" smc-9 &&
		in_tree rpmbuild -bb --nodeps --define "_topdir $out/rpm" --define "kdir $kdir" --define "kernel_release $new" \
			--define "_sbindir /usr/bin" "$out/rpm/SPECS/next.spec" && mv "$out"/rpm/RPMS/*/*-9-1.*.rpm "$out/"
}

in_kernel()
{
	for m in smc smc_diag; do
		module_of "$1" $m | grep -q "/kernel/net/smc/$m.ko" || return 1
	done
}

# each_kernel FUNCTION [ARGUMENT...]: call it for each kernel that the tree has headers of
each_kernel()
{
	local kernel

	for kernel in "${kernels[@]}"; do
		"$1" "$kernel" "${@:2}" || return 1
	done
}

# purge: also what an interrupted run has left
purge()
{
	in_tree dpkg --purge smc-dkms smc-utils smc-tools
	in_tree rpm -e --force-debian kmod-smc smc-utils
	in_tree rpm -e --force-debian smc-dkms
}

finish()
{
	purge > /dev/null 2>&1
	rm -rf "$tree/lib/modules/$old" "$tree/lib/modules/$new" "$tree/lib/modules/9.9.9-none" "$tree/sys/bus" \
		"$tree/var/lib/dkms/smc" "$tree/sys/module" "$tree/usr/share/licenses" "$tmp"
}
mkdir -p "$out"
finish
mkdir -p "$tmp"
trap finish EXIT

echo "KTAP version 1"

if [ "$mode" = rpm ]; then
	KDIR=$cache/kernels/6.12/headers scripts/make-packages.sh -t "$tree" rpm > "$tmp/log" 2>&1
	result "RPMs are made, with the modules for 6.12" $?
	kmod=kmod-smc-$version-1.x86_64.rpm
	utils=smc-utils-$version-1.x86_64.rpm
	in_tree rpm -qpl --nosignature "$kmod" > "$tmp/log" 2>&1 && grep -Fq "/lib/modules/$new/updates/smc.ko" "$tmp/log"
	result "kmod-smc has the modules" $?
	in_tree rpm -qpl --nosignature "$utils" > "$tmp/files" 2>&1 && has_tools
	result "smc-utils has all files of the tools" $?
	lend "$new"
	in_tree depmod "$new"
	# of the package filesystem, where RPMs are used
	mkdir -p "$tree/usr/share/licenses"
	files > "$tmp/before"
	# (--force-debian: Debian has no database of installed RPMs.)
	ism
	refuses_ism rpm -i --nodeps --force-debian "$kmod" && [ ! -e "$tree/lib/modules/$new/updates" ]
	result "kmod-smc is refused on a machine with ISM devices" $?
	other_rpm > "$tmp/log" 2>&1 && ! in_tree rpm -i --test --force-debian "$utils" smc-tools-9-1.noarch.rpm >> "$tmp/log" 2>&1 &&
		grep -q "smc-tools conflicts with smc-utils" "$tmp/log"
	result "smc-tools is refused beside smc-utils" $?
	loaded 0.0.9
	SMC_LOSES_ISM=yes in_tree rpm -i --nodeps --force-debian "$kmod" "$utils" > "$tmp/log" 2>&1 && module_of "$new" smc | grep "/lib/modules/$new/updates/smc.ko" >> "$tmp/log" &&
		in_tree smcctl --version >> "$tmp/log"
	result "they can be installed, and modprobe takes the modules" $?
	grep -q "the module of version 0.0.9 stays loaded" "$tmp/log"
	result "... and the loaded module stays, it says" $?
	next_rpm > "$tmp/log" 2>&1 && in_tree rpm -qpl --nosignature smc-utils-9-1.x86_64.rpm > "$tmp/files" 2>> "$tmp/log" &&
		cat "$tmp/files" >> "$tmp/log" && grep -Fqx /usr/bin/smcctl "$tmp/files" && ! grep -q /sbin/ "$tmp/files"
	result "a next version is made, for a distribution whose sbin is bin" $?
	loaded "$version" && in_tree rpm -U --nodeps --force-debian kmod-smc-9-1.x86_64.rpm \
		smc-utils-9-1.x86_64.rpm > "$tmp/log" 2>&1 && [ "$(in_tree modinfo -k "$new" -F version smc)" = 9 ] &&
		in_tree rpm -q kmod-smc smc-utils >> "$tmp/log" && ! grep -q "is uninstalled" "$tmp/log"
	result "upgraded: modprobe takes the next version, also on a machine that has got ISM devices" $?
	grep -q "the module of version $version stays loaded" "$tmp/log"
	result "... and the loaded module stays, it says" $?
	in_tree rpm -e --force-debian kmod-smc smc-utils > "$tmp/log" 2>&1 && in_kernel "$new"
	result "removed: the modules of the kernel are back" $?
	grep -q "the module is uninstalled, but stays loaded" "$tmp/log" && grep -q "'rmmod smc' when they have ended" "$tmp/log"
	result "... and what is loaded stays until it has no users, it says" $?
	rm -r "$tree/sys/module" "$tree/sys/bus"
	files | diff "$tmp/before" - > "$tmp/log"
	result "... and nothing is left" $?

	# instead of modules their sources, from which DKMS builds
	dkms=smc-dkms-$version-1.noarch.rpm
	! in_tree rpm -i --test --force-debian "$kmod" "$dkms" > "$tmp/log" 2>&1 &&
		grep -q "kmod-smc conflicts with smc-dkms" "$tmp/log" && grep -q "smc-dkms conflicts with kmod-smc" "$tmp/log"
	result "smc-dkms and kmod-smc are refused beside each other" $?
	ism
	refuses_ism rpm -i --nodeps --force-debian "$dkms" && [ ! -e "$tree/usr/src/smc-$version" ]
	result "smc-dkms is refused on a machine with ISM devices" $?
	rm -r "$tree/sys/bus"
	loaded 0.0.9
	kernels=("$new")
	in_tree rpm -i --nodeps --force-debian "$dkms" > "$tmp/log" 2>&1 && each_kernel built &&
		grep -q "the module of version 0.0.9 stays loaded" "$tmp/log"
	result "smc-dkms: DKMS builds for 6.12, and the loaded module stays, it says" $?
	lend "$old"
	in_tree depmod "$old"
	kernels+=("$old")
	in_tree /etc/kernel/postinst.d/dkms "$old" > "$tmp/log" 2>&1 && each_kernel built
	result "... and for a kernel that is installed later" $?
	# (one kernel is enough)
	rm "$tree/lib/modules/$old/build"
	touch "$tmp/old"
	in_tree rpm -U --replacepkgs --nodeps --force-debian "$dkms" > "$tmp/log" 2>&1 && built "$new" &&
		[ "$tree$(module_of "$new" smc)" -nt "$tmp/old" ]
	result "... the same version once more: it is built anew" $?
	loaded "$version"
	in_tree rpm -U --nodeps --force-debian smc-dkms-9-1.noarch.rpm > "$tmp/log" 2>&1 && built "$new" 9 &&
		grep -q "the module of version $version stays loaded" "$tmp/log"
	result "... upgraded: DKMS has built the next version" $?
	ls -d "$tree/usr/src/smc-$version" "$tree/var/lib/dkms/smc/$version" > "$tmp/log" 2> /dev/null
	[ ! -s "$tmp/log" ]
	result "... and nothing is left of the previous version" $?
	in_tree rpm -e --force-debian smc-dkms > "$tmp/log" 2>&1 && each_kernel in_kernel &&
		grep -q "the module is uninstalled, but stays loaded" "$tmp/log"
	result "... removed: the modules of the kernels are back" $?
	rm -r "$tree/sys/module" "$tree/lib/modules/$old"
	files | diff "$tmp/before" - > "$tmp/log"
	result "... and nothing is left" $?

	# the sources that are packed into the RPM
	built=(make -j2 -C "smc-$version" "DESTDIR=$out/staged" "KDIR=$cache/kernels/6.12/headers" STRIPPED=y)
	rm -rf "$out/staged"
	in_tree "${built[@]}" install > "$tmp/log" 2>&1 && ls "$out/staged/lib/modules/$new/updates"/smc.ko* >> "$tmp/log" &&
		[ -e "$out/staged/usr/local/bin/smc_run" ] && in_tree "${built[@]}" uninstall >> "$tmp/log" 2>&1 &&
		find "$out/staged" ! -type d >> "$tmp/log" && [ -z "$(find "$out/staged" ! -type d)" ]
	result "make uninstall removes what make install has installed" $?
	built=(make -j2 -C "smc-$version" "KDIR=$cache/kernels/6.12/headers" STRIPPED=y)
	ism
	refuses_ism "${built[@]}" install && [ ! -e "$tree/lib/modules/$new/updates" ] && [ ! -e "$tree/usr/local/bin/smc_run" ]
	result "make install is refused on a machine with ISM devices" $?
	rm -r "$tree/sys/bus"
	loaded 0.0.9
	in_tree "${built[@]}" install > "$tmp/log" 2>&1 && module_of "$new" smc | grep "/lib/modules/$new/updates/smc.ko" >> "$tmp/log" &&
		in_tree /usr/local/sbin/smcctl --version >> "$tmp/log" && grep -q "the module of version 0.0.9 stays loaded" "$tmp/log"
	result "without DESTDIR modprobe takes the modules, and the loaded one stays" $?
	in_tree "${built[@]}" uninstall > "$tmp/log" 2>&1 && in_kernel "$new" && grep -q "the module is uninstalled, but stays loaded" "$tmp/log"
	result "... uninstalled: the modules of the kernel are back" $?
	rm -r "$tree/sys/module"
	# (folders of /usr/local stay: they are no property of ours)
	files | comm -13 "$tmp/before" - | while read -r f; do [ -d "$tree/$f" ] || echo "$f"; done > "$tmp/log"
	[ ! -s "$tmp/log" ]
	result "... and no file is left" $?
	echo "1..$n"
	exit $rc
fi

scripts/make-packages.sh -t "$tree" deb > "$tmp/log" 2>&1
result "Debian packages are made" $?
in_tree lintian --allow-root -I --fail-on error,warning,info "smc_${version}_amd64.changes" > "$tmp/log" 2>&1
result "lintian has no complaint" $?
dkms=smc-dkms_${version}_all.deb
next=$version+next
utils=smc-utils_${version}_amd64.deb

kernels=("$old")
lend "$old"
in_tree depmod "$old"
files > "$tmp/before"
in_tree dpkg -i "$utils" > "$tmp/log" 2>&1 && in_tree smcctl --version >> "$tmp/log"
result "smc-utils can be installed" $?
in_tree dpkg -L smc-utils > "$tmp/files" && has_tools
result "... and has all files of the tools" $?
# a package of that name and with one of its files
mkdir -p "$tmp/other/DEBIAN" "$tmp/other/usr/sbin"
printf '%s\n' 'Package: smc-tools' 'Version: 9' 'Architecture: all' 'Maintainer: a <a@b.example>' 'Description: a' \
	> "$tmp/other/DEBIAN/control"
echo other > "$tmp/other/usr/sbin/smcr"
dpkg-deb -b "$tmp/other" "$out/other.deb" > "$tmp/log" 2>&1
! in_tree dpkg -i other.deb >> "$tmp/log" 2>&1 && grep -q 'smc-utils conflicts with smc-tools' "$tmp/log"
result "smc-tools is refused beside it" $?
rm "$out/other.deb"

ism
refuses_ism dpkg -i "$dkms" && [ ! -e "$tree/usr/src/smc-$version" ]
result "smc-dkms is refused on a machine with ISM devices" $?
SMC_LOSES_ISM=yes in_tree dpkg -i "$dkms" > "$tmp/log" 2>&1 && each_kernel built
result "... unless that is wanted; DKMS builds for 6.1" $?
rm -r "$tree/sys/bus"
cp packaging/debian/tests/installed "$out/"
in_tree sh ./installed > "$tmp/log" 2>&1
result "the packages' own test, for autopkgtest, passes" $?
rm "$out/installed"

next_package > "$tmp/log" 2>&1
result "a package of the next version is made" $?
if [ "$mode" = vm ]; then
	make -s -C selftests smc_traffic || exit 1
	hosts packages-6.1 6.1 "load traffic unload"
	result "a virtual host with 6.1 uses it" $?
	kernels+=("$new")
	lend "$new"
	in_tree depmod "$new"
	in_tree /etc/kernel/postinst.d/dkms "$new" > "$tmp/log" 2>&1 && each_kernel built
	result "a new kernel is installed: DKMS builds for 6.12" $?
fi

mkdir -p "$tree/lib/modules/9.9.9-none/build/include"
: > "$tree/lib/modules/9.9.9-none/build/Makefile"
: > "$tree/lib/modules/9.9.9-none/build/.config"
# (DKMS 3.0.10 of Debian 12 calls that an error, later ones skip it)
in_tree /etc/kernel/postinst.d/dkms 9.9.9-none > "$tmp/log" 2>&1
grep -q 'has no RDMA' "$tmp/log" && grep -q 'BUILD_EXCLUSIVE' "$tmp/log" &&
	[ ! -e "$tree/var/lib/dkms/smc/$version/9.9.9-none" ]
result "for a kernel that cannot run it nothing is built, and the reason is printed" $?
rm -r "$tree/lib/modules/9.9.9-none"

if [ "$mode" = vm ]; then
	hosts packages 6.12
	result "a virtual host with the new kernel uses, upgrades and removes it" $?
else
	# without headers nothing is built
	rm "$tree/lib/modules/$old/build"
	kernels=()
fi

loaded "$version" "$(in_tree modinfo -k "$old" -F srcversion smc)"
in_tree dpkg -i next.deb > "$tmp/log" 2>&1 && [ -e "$tree/usr/src/smc-$next" ] && each_kernel built "$next"
result "upgraded${kernels:+: DKMS has built the next version for both kernels}" $?
grep -q "the module of version $version stays loaded" "$tmp/log"
result "... and says that the loaded module stays" $?
ls -d "$tree/usr/src/smc-$version" "$tree/var/lib/dkms/smc/$version" > "$tmp/log" 2> /dev/null
[ ! -s "$tmp/log" ]
result "... and nothing is left of the previous version" $?
rm -r "$tree/sys/module" "$out/next.deb"

in_tree dpkg -r smc-dkms > "$tmp/log" 2>&1 && in_kernel "$old" && each_kernel in_kernel
result "removed: the modules of the kernels are back" $?
purge > "$tmp/log" 2>&1
rm -rf "$tree/lib/modules/$new"
ln -sfn "$cache/kernels/$old/headers" "$tree/lib/modules/$old/build"
files | diff "$tmp/before" - > "$tmp/log"
result "... and nothing is left" $?

echo "1..$n"
exit $rc
