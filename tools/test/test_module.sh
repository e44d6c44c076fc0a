#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Which module runs and which one is installed: smcctl info, check and prometheus, on the fake host
# of test/fake_netlink.so and test/fake_host.so.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
export FAKE_FAMILY=y FAKE_CONNECT=0
printf '%-32s\n' SMCV2-DEFAULT-UEID >"$FAKE_NL_UEIDS"
release=$(uname -r)
mkdir "$FAKE_PROC/smc"

# installed FILE VERSION SRCVERSION [NAME]: what modinfo says; installed: there is no such module
installed()
{
	rm -f "$tmp/modinfo"
	[ $# = 0 ] || printf 'filename:       %s\nversion:        %s\nsrcversion:     %s\n' \
		"$1" "$2" "$3" >"$tmp/modinfo"
	[ $# -lt 4 ] || echo "smc_name:       $4" >>"$tmp/modinfo"
}

# loaded [TAINT [VERSION]]: sysfs of a module that does not report its name
loaded()
{
	echo "${1:-}" >"$FAKE_PROC/smc/taint"
	echo "${2:-}" >"$FAKE_PROC/smc/version"
}

# module KIND KEY: a member of the module in smcctl info
module()
{
	ctl "$1" info | sed -n "/^module/,\$s/^ *$2: *//p"
}

# gauge KIND: the metric that warns
gauge()
{
	ctl "$1" prometheus 2>/dev/null | sed -n 's/^smc_module_warning //p'
}

# hint KIND: state of the check of the module, and its hint
hint()
{
	ctl "$1" check 10.0.0.9 2>/dev/null | tr -s ' ' |
		sed -n 's/^module \([a-z]*\) .*/\1/p; s/^module: //p'
}

echo "KTAP version 1"

own=/lib/modules/$release/updates/smc.ko
tree=/lib/modules/$release/kernel/net/smc/smc.ko.xz
foreign=/lib/modules/$release/extra/mlnx-ofa_kernel/net/smc/smc.ko
src=0123456789ABCDEF0123456

installed "$own" 1.2.3 "$src" AF_SMC
expect 'name' AF_SMC module normal name
expect 'version' 1.2.3 module normal version
expect 'source version' "$src" module normal srcversion
expect 'protocols' '1 2.0 2.1' module normal protocols
expect 'TCP option' core module normal tcp_option
expect 'file' "$own" module normal file
expect 'all is well: info' '' module normal warning
expect 'all is well: check' ok hint normal
expect 'all is well: prometheus' 0 gauge normal
expect 'prometheus' \
	"smc_build_info{version=\"2\",release=\"1\",smcctl=\"$(./smcctl --version | sed 's/.* //')\"\
,module=\"AF_SMC\",module_version=\"1.2.3\",srcversion=\"$src\",tcp_option=\"core\"} 1" \
	sh -c "FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl prometheus | grep '^smc_build_info'"

# each kind of what is loaded, with each kind of what is installed
warned() # warned NAME KIND TEXT
{
	expect "$1: info" "$3" module "$2" warning
	expect "$1: check" "note
$3" hint "$2"
	expect "$1: prometheus" 1 gauge "$2"
}
installed "$own" 1.2.4 AAAA AF_SMC
warned 'another build is installed' normal \
	'Version 1.2.4 is installed, another build runs: modprobe -r smc_diag smc; modprobe smc.'
installed "$tree" '' BBBB
warned 'the next load takes the in-tree module' normal \
	"The next load takes $tree (in-tree), not the module that runs now."
installed "$foreign" 5.8 CCCC
warned 'the next load takes a foreign module' normal \
	"The next load takes $foreign (foreign), not the module that runs now."
installed
expect 'only loaded by hand' '' module normal warning

loaded
expect 'in-tree: name' in-tree module old name
installed "$own" 1.2.3 "$src" AF_SMC
warned 'in-tree instead of ours' old "The module of the Linux tree runs, though $own is installed: \
modprobe -r smc_diag smc; modprobe smc; then renew the initramfs."
installed "$tree" '' BBBB
warned 'in-tree after an upgrade of the kernel' old \
	"The module of the Linux tree runs; modprobe finds no module of this project for kernel $release."

loaded OE 5.8
expect 'foreign: name' foreign module old name
expect 'foreign: version' 5.8 module old version
installed "$foreign" 5.8 CCCC
warned 'foreign' old \
	"A foreign smc.ko runs (MLNX_OFED has one); modprobe finds no module of this project for kernel $release."
installed "$own" 1.2.3 "$src" AF_SMC
warned 'foreign instead of ours' old "A foreign smc.ko runs (MLNX_OFED has one), though $own is \
installed: modprobe -r smc_diag smc; modprobe smc; then renew the initramfs."

# none is loaded: one sentence
none()
{
	ctl nofamily info 2>&1 | sed 's/^smcctl: //'
	ctl nofamily check 10.0.0.9 2>/dev/null | sed -n 's/^module: //p'
}
twice()
{
	printf '%s\n%s' "$1" "$1"
}
expect 'not loaded' "$(twice 'No SMC module is loaded: modprobe smc.')" none
installed "$tree" '' BBBB
expect 'not loaded, the in-tree one is installed' \
	"$(twice "No SMC module is loaded; modprobe takes $tree (in-tree).")" none
installed
expect 'not loaded, none is installed' \
	"$(twice "No SMC module is loaded or installed: kernel $release.")" none
expect_rc 'not loaded: status 1' 1 ctl nofamily info

ktap_done
