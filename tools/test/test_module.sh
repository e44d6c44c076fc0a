#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Which module runs and which one is installed: smcctl info, check and prometheus, and smcctl report,
# on the fake host of test/fake_netlink.so and test/fake_host.so.
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
	ctl "$1" info | joined | sed -n "/^module/,\$s/^ *$2: *//p"
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
		sed -n 's/^module \([a-z]*\) .*/\1/p; /^module: /,$ { s/^module: //; H; }
			$ { x; s/\n//; s/\n / /g; s/\n.*//; /./p; }'
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
,module=\"AF_SMC\",module_version=\"1.2.3\",srcversion=\"$src\",protocols=\"1 2.0 2.1\",tcp_option=\"core\"} 1" \
	sh -c "FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl prometheus | grep '^smc_build_info'"

# in_words KIND: the module as check prints it
in_words()
{
	ctl "$1" -j check 10.0.0.9 2>/dev/null |
		sed -n '/"check": *"module"/,/}/s/^ *"detail": *"\(.*\)",*$/\1/p'
}
expect 'check: the module' \
	"AF_SMC 1.2.3, srcversion $src, SMC version 2, release 1, TCP option core" in_words normal

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
expect 'foreign: check' 'foreign 5.8, SMC version 2, release 1' in_words old
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
	hint nofamily | sed 1d
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

# --- report ---
installed "$own" 1.2.3 "$src" AF_SMC
: >"$FAKE_PROC/smc_holders"
archive=$tmp/report.tar
# the fake netlink answers only smcctl
for program in ip rdma dmesg; do
	printf '#!/bin/sh\necho "%s $*"\n' "$program" >"$tmp/bin/$program"
	chmod +x "$tmp/bin/$program"
done
expect_match 'report' "$archive: 20 files. *" ctl normal report "$archive"
# content FILE: a file of the archive
content()
{
	tar -xOf "$archive" "smc-report/$1"
}
expect 'report: its files' 20 sh -c "tar -tf '$archive' | grep -c '^smc-report/[a-z]*[.][a-z]*\$'"
for object in info setting device linkgroup link stats ueid pnet policy holders; do
	expect "report: $object" "$(ctl normal -j "$object")" content "$object.json"
done
expect 'report: sock has all sockets, without tokens' \
	"$(ctl normal -a -j sock | sed 's/0xbeef0001/0x00000000/')" content sock.json
expect_match 'report: there is a token to hide' '*0xbeef0001*' ctl normal -a -j sock
expect_match 'report: module' "filename: *$own*" content module.txt
expect 'report: other programs' 'rdma dev
rdma link' content rdma.txt
expect 'report: for its owner only' '-rw-------' sh -c "ls -l '$archive' | cut -c 1-10"
expect 'report: replaces no file' "smcctl: $archive: File exists" ctl normal report "$archive"
expect_rc 'report: replaces no file: status 1' 1 ctl normal report "$archive"
expect_usage 'report without file' 'smcctl: report is followed by*' ctl normal report
rm "$archive"
expect_match 'report without module' "$archive: 20 files. *" ctl nofamily report "$archive"
expect_match 'report without module: info' 'smcctl: No SMC module is loaded*' content info.json

ktap_done
