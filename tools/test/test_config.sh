#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl save and smcctl restore, on the fake host of test/fake_netlink.so and test/fake_host.so.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

. test/fakes.sh
export FAKE_NL_PNET="$tmp/pnet" FAKE_NL_RULES="$tmp/rules"
conf=$tmp/smc.conf
sys=$FAKE_PROC/net/smc

# has UEID...: set the UEIDs of the module, clear the logs of PNET IDs and rules
has()
{
	: >"$FAKE_NL_UEIDS"
	: >"$FAKE_NL_PNET"
	: >"$FAKE_NL_RULES"
	[ $# = 0 ] || printf '%-32s\n' "$@" >"$FAKE_NL_UEIDS"
}

ueids()
{
	tr -d ' ' <"$FAKE_NL_UEIDS" | tr '\n' ' '
}

# restored KIND LINE...: restore a file with these lines; print the output and the status
restored()
{
	kind=$1
	shift
	printf '%s\n' "$@" >"$conf"
	ctl "$kind" restore "$conf" 2>&1 | sed "s#$tmp/##"
	ctl "$kind" restore "$conf" >/dev/null 2>&1
	echo "status $?"
}

# restored_refused ERRNO KIND LINE...: the same where the kernel refuses each setting
restored_refused()
{
	export FAKE_SETTING="$1"
	shift
	restored "$@"
	unset FAKE_SETTING
}

echo "KTAP version 1"

# --- save ---
has A.ONE B
echo 65536 >"$sys/wmem"
echo 1 >"$sys/enabled"
# read-only, as the machine's limit is outside of the initial namespace
echo 12345 >"$sys/smcr_max_mem_kb"
chmod 444 "$sys/smcr_max_mem_kb"
saved='# Settings of SMC for smcctl restore, a command per line: see smcctl(8).
setting set enabled 1
setting set wmem 65536
ueid flush
ueid add A.ONE
ueid add B
pnet flush
pnet add NET1 netdev eth0
pnet add NET1 ibdev rxe0/1
policy flush
policy add deny number 10 local 10.1.0.0/16 local-port 443 remote fd00::/8 remote-port 8000-8999
policy add allow number 4000000000'
expect 'save to standard output' "$saved" ctl normal save -
expect 'save' '' ctl normal save "$conf"
expect 'save: the same' "$saved" cat "$conf"
expect 'save: a module without rules' "$(echo "$saved" | grep -v '^policy')" ctl old save -
has
rm -f "$sys"/*
expect 'save: there is nothing' '# Settings of SMC for smcctl restore, a command per line: see smcctl(8).
ueid flush
pnet flush
policy flush' ctl empty save -
expect_rc 'save: a list that breaks off: status 1' 1 ctl doneerror save "$conf"
expect 'save: a failure leaves the old file' "$saved" cat "$conf"
expect 'save: a failure leaves nothing else' smc.conf sh -c "ls $tmp | grep conf"
expect_match 'save: no such directory' 'smcctl: *No such file*' ctl normal save "$tmp/none/x"

# --- where the file is: what is no regular file stays what it is ---
has A.ONE
head='# Settings of SMC for smcctl restore, a command per line: see smcctl(8).'
mkfifo "$tmp/fifo"
into_fifo() # into_fifo ARGUMENT...: run smcctl; print the first line that comes out of the FIFO
{
	timeout 20 cat "$tmp/fifo" >"$tmp/read" &
	ctl normal "$@" 2>&1
	# (a program that replaces the FIFO leaves the reader alone with it)
	[ -p "$tmp/fifo" ] || kill $!
	wait $!
	[ -p "$tmp/fifo" ] && head -n 1 "$tmp/read"
}
expect 'save to a FIFO' "$head" into_fifo save "$tmp/fifo"
expect 'prometheus to a FIFO' '# HELP smc_up Whether the SMC module answered.' \
	into_fifo -o "$tmp/fifo" prometheus
linked() # linked LINK ARGUMENT...: run smcctl; print the file that LINK is, and the first line there
{
	link=$1
	shift
	ctl normal "$@" 2>&1
	readlink "$link" | sed "s#$tmp/##"
	head -n 1 "$link"
}
ln -s "$tmp/fifo" "$tmp/to_fifo"
ln -s target "$tmp/link"
ln -s "$tmp/link" "$tmp/link2"
expect 'save to a link to a FIFO' "$head" into_fifo save "$tmp/to_fifo"
expect 'save to a link to nothing' "target
$head" linked "$tmp/link" save "$tmp/link"
echo old >"$tmp/target"
chmod 600 "$tmp/target"
ino=$(stat -c %i "$tmp/target")
expect 'save to a link' "target
$head" linked "$tmp/link" save "$tmp/link"
expect 'save to a link: the file has the mode it had' 600 stat -c %a "$tmp/target"
expect_rc 'save to a link: the file was replaced' 1 sh -c "[ $ino = \$(stat -c %i $tmp/target) ]"
echo old >"$tmp/target"
expect 'save to a link to a link' "link
$head" linked "$tmp/link2" save "$tmp/link2"
echo old >"$tmp/target"
expect 'prometheus to a link' 'target
# HELP smc_up Whether the SMC module answered.' linked "$tmp/link" -o "$tmp/link" prometheus
expect 'prometheus to a link: the mode' 600 stat -c %a "$tmp/target"
rm "$tmp/target"
(umask 077 && ctl normal save "$tmp/target")
expect 'save: the mode of a new file' 644 stat -c %a "$tmp/target"
expect_match 'save to a folder' "smcctl: $tmp/net: Is a directory" \
	sh -c "mkdir '$tmp/net'; FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl save '$tmp/net'"
rm -r "$tmp/net" "$tmp/target" "$tmp/link" "$tmp/link2" "$tmp/fifo" "$tmp/to_fifo"

# --- restore ---
has OLD
expect 'restore what was saved' 'status 0' restored normal 'ueid flush' 'ueid add A.ONE' \
	'ueid add B' 'pnet flush' 'pnet add NET1 ibdev rxe0/1'
expect 'restore: UEIDs' 'A.ONE B ' ueids
expect 'restore: PNET IDs' 'flush - - - -
add NET1 - rxe0 1
flush - - - -
add NET1 - rxe0 1' cat "$FAKE_NL_PNET"
has A.ONE B
echo 77777 >"$sys/wmem"
ctl normal save "$conf"
has
echo 1 >"$sys/wmem"
expect 'there and back' '' sh -c "sed -i /eth0/d '$conf'; FAKE_NL=normal LD_PRELOAD='$fake' \
	./smcctl restore '$conf'"
expect 'there and back: settings' 77777 cat "$sys/wmem"
expect 'there and back: UEIDs' 'A.ONE B ' ueids
# attributes: 1 number, 2 action, 3-6 local, 7-10 remote
expect 'there and back: rules' 'flush
add 2=1 1=10 3=::ffff:10.1.0.0 4=112 5=443 6=443 7=fd00:: 8=8 9=8000 10=8999
add 2=0 1=4000000000' cat "$FAKE_NL_RULES"
# hs_ctrl is the name of a BPF object, and empty for none; not each module has it
has
hs_ctrl_line()
{
	ctl normal save - | grep hs_ctrl
}
expect 'save: without hs_ctrl' '' hs_ctrl_line
# hs_ctrl_back SAVED NOW: what hs_ctrl is when one value was saved and restored over another one
hs_ctrl_back()
{
	echo "$1" >"$sys/hs_ctrl"
	ctl normal save "$conf"
	sed -i /eth0/d "$conf"
	echo "$2" >"$sys/hs_ctrl"
	ctl normal restore "$conf"
	cat "$sys/hs_ctrl"
}
expect 'there and back: hs_ctrl' linkcheck hs_ctrl_back linkcheck other
expect 'save: hs_ctrl' 'setting set hs_ctrl linkcheck' hs_ctrl_line
expect 'there and back: hs_ctrl, none' '' hs_ctrl_back '' other
expect 'save: hs_ctrl, none' 'setting set hs_ctrl -' hs_ctrl_line
chmod 444 "$sys/hs_ctrl"
expect 'save: hs_ctrl that cannot be changed' '' hs_ctrl_line
rm -f "$sys/hs_ctrl"
has A.ONE B
ctl normal save "$conf"
expect 'restore what is set: nothing happens' '' ctl normal restore "$conf"
expect 'restore what is set: no change' '' cat "$FAKE_NL_RULES" "$FAKE_NL_PNET"
echo '# more' >>"$conf"
expect 'restore a longer file' '' sh -c "sed -i /eth0/d '$conf'; FAKE_NL=normal LD_PRELOAD='$fake' \
	./smcctl restore '$conf'; grep -c . '$FAKE_NL_RULES' | grep -vx 3"
has KEPT
expect 'comments and blanks' 'status 0' restored normal '# all' '' '   ' \
	'	pnet   add net1  netdev eth0 # a comment'
expect 'comments and blanks: what was not named stays' 'KEPT ' ueids
has
expect "'#' in a word is no comment" 'status 0' restored normal 'pnet add NET1 netdev eth#0 #a comment'
expect "'#' in a word is no comment: all words" 'add NET1 eth#0 - -' sh -c "head -n 1 '$FAKE_NL_PNET'"

# --- syntax errors: nothing changes ---
bad() # bad TEXT LINE
{
	has KEPT
	expect "restore: '$2'" "smcctl: smc.conf:2: $1
status 2" restored normal 'ueid flush' "$2"
	expect "restore: '$2': nothing was done" 'KEPT ' ueids
}
bad "'lower' is no UEID: only A-Z, 0-9, '.' and '-' may be used" 'ueid add lower'
bad "'sixteen__letters' is no name of a BPF object: 1 to 15 characters, or - for none" \
	'setting set hs_ctrl sixteen__letters'
bad 'setting is followed by: show, set NAME VALUE' 'setting wmem 1'
bad "'big' is no number" 'setting set wmem big'
bad "'setting' is nothing that a file can set" 'setting show'
bad "'link' is nothing that a file can set" 'link add 1'
bad "'ueid' is nothing that a file can set" 'ueid show'
bad "'policy' is nothing that a file can set" 'policy list'
bad "'colour red' is no condition of a rule, or there are two of them" 'policy add deny colour red'
bad "'pnet' is nothing that a file can set" 'pnet'
bad "'restore' is nothing that a file can set" 'restore /etc/smc.conf'
bad 'pnet add ID is followed by: netdev NAME, ibdev NAME[/PORT], or both' 'pnet add NET1'
bad "too many words at '17'" 'ueid 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17'
bad 'the line is too long' "# $(printf '%01100d' 0)"

# a dry run must not set anything either
echo 5 >"$sys/wmem"
expect_match 'restore: a setting before a syntax error' '*status 2' restored normal \
	'setting set wmem 6' 'bogus'
expect 'restore: a setting before a syntax error: nothing was done' 5 cat "$sys/wmem"

# --- errors of the kernel ---
has
expect 'restore: a setting of another module' \
	'smcctl: smc.conf:1: the loaded smc module has no setting net.smc.future
status 1' restored normal 'setting set future 1' 'setting set wmem 7'
expect 'restore: a setting of another module: the others count' 7 cat "$sys/wmem"
has
expect 'restore: no such BPF object: the others count' \
	'smcctl: smc.conf:1: there is no BPF object gone
status 1' restored_refused 22 normal 'setting set hs_ctrl gone' 'ueid add LAST'
expect 'restore: no such BPF object: the last line was done' 'LAST ' ueids
has
expect 'restore: one line fails, the others count' \
	'smcctl: smc.conf:2: one of the devices has another PNET ID, or all have NET2 already
status 1' restored normal 'ueid flush' 'pnet add NET2 netdev eth0' 'ueid add LAST'
expect 'restore: one line fails: the last one was done' 'LAST ' ueids
expect 'restore without module' \
	'smcctl: this kernel has no SMC: load the smc module (modprobe smc)
status 1' restored nofamily 'ueid flush' 'ueid add A'
expect_match 'restore without right' '*CAP_NET_ADMIN*status 1' restored denied 'ueid flush'
expect_match 'restore: no such file' 'smcctl: *No such file*' ctl normal restore "$tmp/none"
expect_rc 'restore: no such file: status 1' 1 ctl normal restore "$tmp/none"
expect_usage 'save without file' 'smcctl: save is followed by*' ctl normal save
expect_usage 'save to two' 'smcctl: save is followed by*' ctl normal save a b
expect_usage 'restore without file' 'smcctl: restore is followed by*' ctl normal restore

# --- units ---
# the units as "make install" writes them, with smcctl in this folder
for unit in systemd/*; do
	sed "s#@SBINDIR@#$(pwd)#" "$unit" >"$tmp/${unit#systemd/}"
done
installed()
{
	make -s -n install UNITDIR=/units | grep -o 'for unit in [^;]*' | tr ' ' '\n' | grep '^smc-' |
		sort | tr '\n' ' '
}
expect 'all units are installed' "$(cd systemd && echo *) " installed
for unit in smc-restore.service smc-prometheus.service smc-prometheus.timer; do
	if command -v systemd-analyze >/dev/null; then
		verified()
		{
			# there may be messages about other units
			systemd-analyze verify --man=no "$tmp/$unit" 2>&1 | grep smc-
		}
		expect "$unit is well written" '' verified
	else
		ktap_skip "$unit is well written" 'no systemd-analyze'
	fi
done
# The units with the sample drop-in, in a folder tree as systemd has it
if command -v systemd-analyze >/dev/null; then
	mkdir "$tmp/smc-prometheus.service.d"
	cp samples/netns-all.conf "$tmp/smc-prometheus.service.d"
	unit=smc-prometheus.service
	expect 'the sample for all namespaces is well written' '' verified
	rm -r "$tmp/smc-prometheus.service.d"
fi
# starts UNIT [ASSIGNMENT...]: print the arguments of smcctl in ExecStart=, with the variables of
# the unit, which the assignments replace, in their place
starts()
{
	unit=$1
	shift
	(
		eval "$(sed -n 's/^Environment=\([A-Z_]*\)=\(.*\)/\1=\2/p' "$tmp/$unit")"
		[ $# = 0 ] || eval "$1"
		# shellcheck disable=SC2046 # words, as systemd splits them
		eval echo $(sed -n "s#^ExecStart=$(pwd)/smcctl ##p" "$tmp/$unit")
	)
}
expect 'smc-restore.service' 'restore /etc/smc.conf' starts smc-restore.service
expect 'udev starts smc-restore.service' smc-restore.service \
	sed -n 's/.*KERNEL=="smc".*{SYSTEMD_WANTS}+="\(.*\)"$/\1/p' udev/60-smc.rules
# a service that stays active would not start again
expect 'smc-restore.service can be started again' '' grep RemainAfterExit systemd/smc-restore.service
expect 'smc-prometheus.service' '-o /var/lib/prometheus/node-exporter/smc.prom prometheus' \
	starts smc-prometheus.service
expect 'smc-prometheus.service: another folder' '-o /srv/text/smc.prom prometheus' \
	starts smc-prometheus.service SMC_PROMETHEUS_DIR=/srv/text
expect 'smc-prometheus.service: all namespaces' \
	'-o /var/lib/prometheus/node-exporter/smc.prom --netns=all prometheus' \
	starts smc-prometheus.service "$(sed -n 's/^Environment=//p' samples/netns-all.conf)"
# condition UNIT VARIABLE VALUE: exit status of ExecCondition=, in which systemd makes $$ a $
condition()
{
	# shellcheck disable=SC2016 # of the unit's shell
	env "$2=$3" sh -c "$(sed -n 's/^ExecCondition=//p' "systemd/$1" | sed 's/\$\$/$/g')"
}
expect_rc 'smc-prometheus.service: the folder is there' 0 \
	condition smc-prometheus.service SMC_PROMETHEUS_DIR "$tmp"
# and not 1, with which systemd would go on
expect_rc 'smc-prometheus.service: no folder: nothing is done' 2 \
	condition smc-prometheus.service SMC_PROMETHEUS_DIR "$tmp/none"
expect_rc 'smc-restore.service: the file is there' 0 \
	condition smc-restore.service SMC_CONF "$tmp/bin/modinfo"
expect_rc 'smc-restore.service: no file: nothing is done' 1 \
	condition smc-restore.service SMC_CONF "$tmp/none"
expect 'smc-restore.service: another file' 'restore /srv/smc.conf' \
	starts smc-restore.service SMC_CONF=/srv/smc.conf
# fixed_paths: print the lines that name a file outside of a variable and of the environment files
fixed_paths()
{
	grep -n '=.*/\(etc\|var\|srv\)/' systemd/* |
		grep -v ':Environment=[A-Z_]*=/\|:EnvironmentFile=-/etc/\(default\|sysconfig\)/smc$\|:#'
}
expect 'units: all paths are variables' '' fixed_paths
# a file that the administrator wrote replaces what the unit says: systemd.exec(5)
environment_files()
{
	grep -c '^EnvironmentFile=-' "systemd/$1"
}
for unit in smc-restore.service smc-prometheus.service; do
	expect "$unit reads both environment files" 2 environment_files "$unit"
done
ktap_done
