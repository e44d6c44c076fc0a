#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl called by the names of smc-tools, with the fake module of test/fake_netlink.so.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

fake=$(pwd)/test/fake_netlink.so
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export FAKE_NL_UEIDS="$tmp/ueids" FAKE_NL_PNET="$tmp/pnet"
ln -s "$(pwd)/smcctl" "$tmp/smcss"
ln -s "$(pwd)/smcctl" "$tmp/smc_pnet"
ln -s "$(pwd)/smcctl" "$tmp/smcr"
ln -s "$(pwd)/smcctl" "$tmp/smcd"

# as KIND NAME ARGUMENT...: run smcctl by a name
as()
{
	kind=$1
	name=$2
	shift 2
	FAKE_NL=$kind LD_PRELOAD=$fake "$tmp/$name" "$@"
}

# golden FILE KIND NAME ARGUMENT...: compare the output with a golden file
golden()
{
	file=$1
	shift
	as "$@" | diff "test/golden/$file" - && echo same
}

# column N KIND NAME ARGUMENT...: print a column, like scripts do
column()
{
	nr=$1
	shift
	as "$@" | awk -v n="$nr" 'NR > 1 { print $n }' | tr '\n' ' '
}

echo "KTAP version 1"

# --- smcss ---
expect 'smcss' same golden smcss.txt normal smcss
expect 'smcss -a' same golden smcss-a.txt normal smcss -a
expect 'smcss -d' same golden smcss-d.txt normal smcss -d
expect 'smcss -RW' same golden smcss-RW.txt normal smcss -RW
expect 'smcss -l' same golden smcss-l.txt normal smcss -l
expect 'smcss -R' same golden smcss-R.txt normal smcss -R
expect 'smcss -D' same golden smcss-D.txt normal smcss -D
expect 'smcss -adR' same golden smcss-adR.txt normal smcss -adR
expect 'smcss, long options: -a' same golden smcss-a.txt normal smcss --all
expect 'smcss, long options: -l' same golden smcss-l.txt normal smcss --listening
expect 'smcss, long options: -d' same golden smcss-d.txt normal smcss --debug
expect 'smcss, long options: -D' same golden smcss-D.txt normal smcss --smcd
expect 'smcss: peers' '10.0.0.2:40001 fd00::2:50000 ::ffff:10.0.0.3:50001 10.0.0.2:82 ' \
	column 5 normal smcss -W
expect 'smcss: modes' 'SMCR TCP  unknown ' column 7 normal smcss
expect 'smcss: reasons' ' 0x05000000/0x03030000   ' column 8 normal smcss
expect 'smcss: long addresses are cut before the port' '2001:db8:1111:222..:443 ' \
	column 4 long smcss
expect 'smcss: as long as fits is not' '2001:db8:1111::9:50000 ' column 5 long smcss
expect 'smcss -W: nothing is cut' '2001:db8:1111:2222::3333:443 ' column 4 long smcss -W
expect 'smcss -l: states' 'LISTEN ' column 1 normal smcss -l
expect 'smcss -R: states' 'ACTIVE ' column 1 normal smcss -R
expect 'smcss -D: none' '' column 1 normal smcss -D
expect 'smcss, long options' same golden smcss-RW.txt normal smcss --smcr --wide
expect 'smcss: none' '' column 1 empty smcss -a
expect_rc 'smcss: none: status 0' 0 as empty smcss
expect_rc 'smcss without module: status 1' 1 as nofamily smcss
expect 'smcss without module: no heading' \
	'smcss: this kernel cannot list SMC sockets: load smc_diag (modprobe smc_diag)' \
	as nofamily smcss

# --- smc_pnet ---
table='NET1 eth0 n/a 255
NET1 n/a rxe0 1'
expect 'smc_pnet' "$table" as normal smc_pnet
expect 'smc_pnet -s' "$table" as normal smc_pnet -s
expect 'smc_pnet -s ID' "$table" as normal smc_pnet -s net1
expect 'smc_pnet -s of another' '' as normal smc_pnet -s NET2
expect 'smc_pnet, empty' '' as empty smc_pnet
expect_rc 'smc_pnet, empty: status 0' 0 as empty smc_pnet
# order ARGUMENT...: run smc_pnet; print the request that the module received
order()
{
	: >"$FAKE_NL_PNET"
	as normal smc_pnet "$@" && cat "$FAKE_NL_PNET"
}
expect 'smc_pnet -a -I' 'add net1 eth0 - -' order -a net1 -I eth0
expect 'smc_pnet -a -D' 'add NET1 - rxe0 1' order -a NET1 -D rxe0
expect 'smc_pnet -a -I -D -P' 'add NET1 eth0 0000:01:00.0 2' \
	order -a NET1 -I eth0 -D 0000:01:00.0 -P 2
expect 'smc_pnet, long options' 'add NET1 eth0 0000:01:00.0 2' \
	order --add NET1 --interface eth0 --ibdevice 0000:01:00.0 --ibport 2
expect 'smc_pnet -d' 'del NET1 - - -' order -d NET1
expect 'smc_pnet -f' 'flush - - - -' order -f
expect 'smc_pnet -d of none' 'smc_pnet: there is no PNET ID NET2' as normal smc_pnet -d NET2
expect_rc 'smc_pnet -d of none: status 1' 1 as normal smc_pnet -d NET2

# --- smcr ---
expect 'smcr linkgroup' same golden smcr-linkgroup.txt normal smcr linkgroup
expect 'smcr, words cut short' same golden smcr-linkgroup.txt normal smcr l s
expect 'smcr -d linkgroup' same golden smcr-linkgroup-d.txt normal smcr -d linkgroup show
expect 'smcr linkgroup link-show' same golden smcr-link.txt normal smcr linkgroup link-show
expect 'smcr -dd linkgroup link-show' same golden smcr-link-dd.txt normal smcr -dd li li
expect 'smcr device' same golden smcr-device.txt normal smcr device
expect 'smcr -d device' same golden smcr-device-d.txt normal smcr --details dev show
expect 'smcr linkgroup: role, type' 'SERV ' column 2 normal smcr linkgroup
expect 'smcr link-show: states' 'LINK_ACTIVE unknown ' column 5 normal smcr l l
# groups CONDITION...: print the groups that match
groups()
{
	column 1 normal smcr linkgroup "$@" | tr -d ' '
}
for what in '100 00000100' '1ff 00000100' '200 ' 'type sym 00000100' 'type single ' \
	'netdev lo 00000100' 'netdev eth0 ' 'ibdev rxe0 00000100' 'ibdev mlx5_0 '; do
	# shellcheck disable=SC2086 # words
	expect "smcr linkgroup ${what% *}" "${what##* }" groups ${what% *}
done
heading()
{
	as empty smcr linkgroup | tr -s ' '
}
expect 'smcr linkgroup, none: the heading' 'LG-ID LG-Role LG-Type VLAN #Conns PNET-ID' heading
expect_rc 'smcr linkgroup, a group that begins with a letter: status 0' 0 \
	as normal smcr linkgroup ffff00
expect 'smcr device of another' '' column 1 normal smcr device ibdev mlx5_0
ueids()
{
	: >"$FAKE_NL_UEIDS"
	as normal smcr ueid add FIRST.1 && as normal smcr ueid add SECOND &&
		as normal smcr ueid del FIRST.1 && as normal smcr ueid show
}
expect 'smcr ueid' 'SECOND' ueids
ueids_short()
{
	: >"$FAKE_NL_UEIDS"
	as normal smcr u a FIRST.1 && as normal smcr u ad SECOND && as normal smcr u d FIRST.1 &&
		as normal smcr u s && as normal smcr u all && as normal smcr u f && as normal smcr u
}
expect 'smcr ueid, words cut short' 'SECOND
SECOND' ueids_short
for words in 'show junk' 'all junk' 'flush junk' 'x' 'add'; do
	# shellcheck disable=SC2086 # words
	expect_usage "smcr ueid $words" 'smcr: ueid is followed by*' as normal smcr ueid $words
done
# own ARGUMENT...: run smcctl by its own name
own()
{
	FAKE_NL=normal LD_PRELOAD=$fake ./smcctl "$@"
}
expect 'smcr info' "$(own info)" as normal smcr info
expect 'smcr stats' "$(own stats)" as normal smcr stats
expect 'smcr stats json' "$(own -j stats)" as normal smcr -a stats json
expect_rc 'smcr without module: status 1' 1 as nofamily smcr linkgroup
expect_match 'smcr stats reset: the reason' 'smcr: counters cannot be reset: *' \
	as normal smcr stats reset
expect_rc 'smcr stats reset: status 1' 1 as normal smcr stats reset

# --- smcd ---
for words in '' linkgroup '-d device show' 'stats json'; do
	# shellcheck disable=SC2086 # words
	expect "smcd $words" 'smcd: the loaded module has no SMC-D; see smcr for SMC-R' \
		as normal smcd $words
done
expect_rc 'smcd: status 3' 3 as normal smcd linkgroup
expect_rc 'smcd --help: status 0' 0 as normal smcd --help
expect_rc 'smcd, another module: status 1' 1 as old smcd linkgroup
expect_rc 'smcd, no module: status 1' 1 as nofamily smcd linkgroup

# --- installed files ---
make -s install DESTDIR="$tmp/root" PREFIX=/usr SMC_TOOLS_NAMES=y >"$tmp/install.log" 2>&1
links()
{
	(cd "$tmp/root/usr/sbin" && readlink smcr smcd smcss smc_pnet | sort | uniq -c | tr -s ' ')
}
expect 'links are installed' ' 4 smcctl' links
make -s install DESTDIR="$tmp/bare" PREFIX=/usr >"$tmp/install.log" 2>&1
bare()
{
	(cd "$tmp/bare/usr/sbin" && find . ! -name smc_cgroup ! -name . | sort | xargs)
}
expect 'only if they are wanted' './smc_times.bt ./smc_trace ./smcctl' bare
includes()
{
	printf '#include <linux/smc_own.h>\nint x = SMC_OWN_SPLICE_LEND;\n' |
		${CC:-gcc} -Wall -Werror -isystem "$tmp/root/usr/include" -c -x c -o "$tmp/x.o" -
}
expect_rc 'a program finds the header of our own' 0 includes

for name in smcr smcss smc_pnet; do
	expect_rc "$name --help: status 0" 0 as normal $name --help
	expect_match "$name --version" "$name of smcctl *" as normal $name --version
done
ktap_done
