#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# make install and make uninstall of the tools: all that a program needs is installed with it, and
# nothing is left behind.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
root=$tmp/root

tools()
{
	make -s --no-print-directory "$@" DESTDIR="$root" PREFIX=/usr SMC_TOOLS_NAMES=y 2>&1
}

# programs: print the names of the installed programs
programs()
{
	find "$root/usr/bin" "$root/usr/sbin" -mindepth 1 -printf '%f\n' | sort
}

# with_options: print the names of those that have options of their own; smc_times.bt has bpftrace's
with_options()
{
	programs | grep -vFx smc_times.bt
}

# without FOLDER SUFFIX LIST: print the programs of LIST that have no such file
without()
{
	for p in $($3); do
		[ -e "$root/usr/share/$1/$p$2" ] || echo "$p"
	done
}

# not_completed: print the programs for which the file of their name registers no completion
not_completed()
{
	for p in $(programs); do
		# shellcheck disable=SC1090 # one after the other
		(. "$root/usr/share/bash-completion/completions/$p" && complete -p "$p") > /dev/null 2>&1 ||
			echo "$p"
	done
}

# other_versions: print the programs with another version than that of the file VERSION
other_versions()
{
	want=$(cat ../VERSION)
	for p in $(with_options); do
		program=$(echo "$root"/usr/*bin/"$p")
		for option in --version -V; do
			has=$("$program" "$option" 2> /dev/null) && break
		done
		[ "${has##* }" = "$want" ] || echo "$p: $has"
	done
}

# completed PROGRAM WORD...: print the completions of the last word, on one line
completed()
{
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	# shellcheck disable=SC1090 # one after the other
	(. "completion/$1" && COMP_WORDS[0]=./$1 && COMPREPLY=() && "_$1" && echo "${COMPREPLY[*]}") 2>&1
}

echo "KTAP version 1"
expect 'install' '' tools install
expect 'programs' "$(printf '%s\n' smc_cgroup smc_pnet smc_run smc_times.bt smc_trace smcctl smcd smcr smcss |
	if [ -x smc_cgroup ]; then cat; else grep -v smc_cgroup; fi)" programs
expect 'each program has a man page' '' without man/man8 .8 programs
expect 'each program has a completion' '' without bash-completion/completions '' programs
expect 'each completion knows its program' '' not_completed
expect 'each program has the version of the tree' '' other_versions
expect 'samples are where they have no effect' \
	'flow-log.py grafana-dashboard.json kubernetes-module.yaml kubernetes-node.yaml kubernetes-pod.yaml modprobe.conf modules-load.conf netns-all.conf prometheus-rules.yml smc.cil smc_objects.py sysctl.conf' \
	bash -c "cd $root/usr/share/doc/smc/examples && echo *"
expect 'unit files name the installed program' '' \
	grep -L /usr/sbin/smcctl "$root"/usr/lib/systemd/system/*.service
expect 'all files may be read' '' find "$root" -type f ! -perm -444

expect 'smc_run: options' --verify completed smc_run --veri
expect 'smc_run: families' 'auto inet smc' completed smc_run -f ''
expect 'smc_run: orders' disable completed smc_run -f inet disabl
expect 'smc_trace: options' '-m -c -f -h -V' completed smc_trace -
expect 'smc_cgroup: orders' 'start stop status' completed smc_cgroup ''
expect 'smc_cgroup: options' --netns completed smc_cgroup start --n
expect_match 'smc_cgroup: processes' "*$$*" completed smc_cgroup start --pid $$

# the tools alone would go, and the modules stay
expect_match 'uninstall of modules and tools: not without the kernel' \
	"no headers of a kernel in $tmp/none, so whose modules? Give KDIR=*" \
	make -s --no-print-directory -C .. uninstall KDIR="$tmp/none" DESTDIR="$root" PREFIX=/usr
expect '... and nothing is removed' "$root/usr/sbin/smcctl" ls "$root/usr/sbin/smcctl"

# a file of smc-tools in place of one of ours
rm "$root/usr/sbin/smcr"
echo other > "$root/usr/sbin/smcr"
expect 'uninstall' '' tools uninstall
expect 'uninstall: a program of another package stays' "$root/usr/sbin/smcr" find "$root" ! -type d
rm "$root/usr/sbin/smcr"
expect 'uninstall leaves nothing' '' find "$root" ! -type d
expect '... and no folder of ours' '' find "$root" -name 'smc*'

# --- units that run ---
# A systemctl that fails as one in a container, and logs its words, and the units that there are.
mkdir "$tmp/bin"
cat > "$tmp/bin/systemctl" <<END
#!/bin/sh
echo "\$*" >> "$tmp/asked"
[ "\$1" = daemon-reload ] || (cd "$tmp/live/lib/systemd/system" 2> /dev/null && ls) >> "$tmp/asked"
exit 1
END
chmod +x "$tmp/bin/systemctl"
# asked COMMAND...: run a command; print its output, then what systemctl was asked
asked()
{
	: > "$tmp/asked"
	PATH=$tmp/bin:$PATH "$@" 2>&1
	cat "$tmp/asked"
}
enabled=$(grep -l WantedBy systemd/* | sed 's|.*/||' | sort | xargs)
live()
{
	make -s --no-print-directory "$1" DESTDIR= PREFIX="$tmp/live" 2>&1
}
expect 'install: no unit is started' '' asked live install
expect 'uninstall: units that run end, before their files do' "--no-reload disable --now $enabled
$(cd systemd && ls)
daemon-reload" asked live uninstall
expect 'uninstall below DESTDIR: the units of this host go on' '' asked tools uninstall
# scriptlet NAME ARGUMENT: run a scriptlet of the RPM
scriptlet()
{
	sed -n "/^%$1\$/,/^%files/p" ../packaging/rpm/smc.spec | sed '1d; /^%/,$d' > "$tmp/scriptlet"
	sh -e "$tmp/scriptlet" "$2" || echo "status $?"
}
expect 'RPM: units that run end with the package' "--no-reload disable --now $enabled" \
	asked scriptlet 'preun utils' 0
expect 'RPM: an upgrade leaves them alone' '' asked scriptlet 'preun utils' 1

# --- what the removal of a package says ---
# removal MODULE...: print it, of a module with a user, where these are loaded
removal()
{
	rm -rf "$tmp/module"
	for m in "$@"; do
		mkdir -p "$tmp/module/$m"
	done
	echo 1 > "$tmp/module/smc/version"
	echo 9 > "$tmp/module/smc/refcnt"
	sed "s:/sys/module:$tmp/module:" ../scripts/unload.sh > "$tmp/unload.sh"
	sh "$tmp/unload.sh" --removed 2>&1 | sed -n 's/.*rid of it: //p'
}
expect 'a module in use: how it is removed without its file' "'rmmod smc' when they have ended, or a reboot." removal smc
expect '... and those that are loaded beside it' "'rmmod smc_diag smc smc_lo' when they have ended, or a reboot." \
	removal smc smc_diag smc_lo

# --- recipes of packages ---
# recipe NAME FILE: print a line of a recipe for a maintainer of this name
recipe()
{
	echo '@MAINTAINER@ @VERSION@' > "$2"
	(
		eval "$(sed -n '/^recipe()/,/^}/p' ../scripts/make-packages.sh)"
		maintainer="$1 <a@b>" version=1 SOURCE_DATE_EPOCH=0 recipe "$2"
	)
	cat "$2"
}
# shellcheck disable=SC2016 # not expanded
strange='A & B/C \1 $(D) 5%'
expect 'a maintainer of a strange name' "$strange <a@b> 1" recipe "$strange" "$tmp/control"
expect 'a maintainer of a strange name: RPM' "$strange% <a@b> 1" recipe "$strange" "$tmp/smc.spec"
# where kernels are kept
mkdir -p "$tmp/checkout/scripts"
cp ../scripts/cache-dir.sh "$tmp/checkout/scripts/"
cache_of()
{
	env -u SMC_VM_CACHE -u XDG_CACHE_HOME -u HOME "$@"
}
where=$tmp/checkout/scripts/cache-dir.sh
expect 'cache: of the user' "$tmp/home/.cache/smc-vm" cache_of HOME="$tmp/home" "$where"
expect 'cache: XDG' "$tmp/xdg/smc-vm" cache_of HOME="$tmp/home" XDG_CACHE_HOME="$tmp/xdg" "$where"
expect 'cache: named' "$tmp/named" cache_of HOME="$tmp/home" SMC_VM_CACHE="$tmp/a/../named" "$where"
expect 'cache: no home' "$tmp/checkout/.cache/vm" cache_of "$where"
expect 'cache: of this checkout' "$tmp/checkout/.cache/vm" cache_of HOME="$tmp/home" "$where" here
mkdir -p "$tmp/checkout/.cache/vm/kernels"
expect 'cache: own kernels' "$tmp/checkout/.cache/vm" cache_of HOME="$tmp/home" "$where"
# no cache yet, nor the folder that is to have it
expect_usage 'packages: in a fresh clone' 'usage: make-packages.sh *' \
	env SMC_VM_CACHE="$tmp/no/such" ../scripts/make-packages.sh nothing
expect_error 'modules: in a fresh clone' 1 "no headers for 6.12 in $tmp/no/such: *" \
	env SMC_VM_CACHE="$tmp/no/such" ../scripts/build-modules.sh 6.12
ktap_done
