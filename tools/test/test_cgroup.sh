#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smc_cgroup: messages if a requirement is missing, on the fake host of test/fake_bpf.so.
# selftests/vm/cases/cgroup.sh tests it with a real kernel.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

echo "KTAP version 1"
if [ ! -x smc_cgroup ]; then
	ktap_skip 'smc_cgroup' 'it was not built: clang, bpftool or libbpf-dev is missing'
	ktap_done
fi

# on LACKS SOCKET_ERRNO LOAD_ERRNO ARGUMENT...: run smc_cgroup on a host
on()
{
	lacks=$1
	socket=$2
	load=$3
	shift 3
	FAKE_LACKS=$lacks FAKE_SOCKET=$socket FAKE_LOAD=$load LD_PRELOAD=$(pwd)/test/fake_bpf.so \
		./smc_cgroup "$@"
}

# --- usage ---
expect_usage 'no word' 'smc_cgroup: start, stop or status[?]*' ./smc_cgroup
expect_usage 'unknown word' 'smc_cgroup: start, stop or status, not begin *' ./smc_cgroup begin
expect_usage 'unknown option' 'smc_cgroup: unknown option -x *' ./smc_cgroup -x start
expect_usage 'two cgroups' 'smc_cgroup: one cgroup at a time, not also b *' ./smc_cgroup start a b
expect_usage 'empty cgroup' 'smc_cgroup: the name of the cgroup is empty *' ./smc_cgroup start ''
expect_usage 'two targets' 'smc_cgroup: a cgroup, --netns or --pid, not two of them *' \
	./smc_cgroup --netns red -p 1 start
expect_usage 'a process and a cgroup' 'smc_cgroup: a cgroup, --netns or --pid, not two of them *' \
	./smc_cgroup start --pid 1 a
expect_usage 'no process' 'smc_cgroup: --pid is followed by a number, not x1 *' ./smc_cgroup -p x1 start
expect_usage 'empty namespace' 'smc_cgroup: the name of the network namespace is empty *' \
	./smc_cgroup --netns= start
expect_usage 'an option without its word' 'smc_cgroup: nothing follows --netns *' \
	./smc_cgroup start --netns
expect_usage 'an unknown option among others' 'smc_cgroup: unknown option -x *' ./smc_cgroup -xd start
expect_usage 'an unknown option behind another' 'smc_cgroup: unknown option -x *' ./smc_cgroup --json -jx start
expect_usage 'an unknown long option' 'smc_cgroup: unknown option --xd *' ./smc_cgroup -d --xd start
expect_usage 'a value too many' 'smc_cgroup: unknown option --json=1 *' ./smc_cgroup --json=1 start
expect_usage 'an option among others without its word' 'smc_cgroup: nothing follows -n *' \
	./smc_cgroup start -jn
full_disk()
{
	FAKE_LACKS='' LD_PRELOAD=$(pwd)/test/fake_bpf.so ./smc_cgroup "$@" >/dev/full
}
expect 'output that cannot be written' 'smc_cgroup: cannot write the output' full_disk --help
expect_rc 'output that cannot be written: status 1' 1 full_disk --version
expect 'status that cannot be written' 'smc_cgroup: cannot write the output' full_disk status
expect_rc 'status that cannot be written: status 1, not 3' 1 full_disk status
expect_match 'help' 'Usage: smc_cgroup *' ./smc_cgroup --help
expect 'help without --' "$(./smc_cgroup --help)" ./smc_cgroup help
expect_usage 'help is no order' 'smc_cgroup: start, stop or status, not help *' ./smc_cgroup help me
expect 'version' "$(./smc_run --version | sed 's/smc_run/smc_cgroup/')" ./smc_cgroup -V

# --- missing requirements: one sentence each, and status 1 ---
ENOMEM=12
EACCES=13
EINVAL=22
EPERM=1
EPROTONOSUPPORT=93
expect 'no BTF' 'smc_cgroup: the kernel has no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)' \
	on btf 0 $EINVAL start
expect 'old kernel' \
	'smc_cgroup: the kernel lacks what this needs: Linux 6.6 or later, CONFIG_MPTCP' \
	on hook 0 $EINVAL start
expect 'no bpffs' \
	'smc_cgroup: no BPF file system at /sys/fs/bpf: mount -t bpf none /sys/fs/bpf' \
	on bpffs 0 $EINVAL start
expect 'no bpffs: stop' \
	'smc_cgroup: no BPF file system at /sys/fs/bpf: mount -t bpf none /sys/fs/bpf' \
	on bpffs 0 $EINVAL stop
expect 'no module' 'smc_cgroup: no module serves IPPROTO_SMC: load smc.ko first' \
	on '' $EPROTONOSUPPORT $EINVAL start
expect 'no socket for another reason' \
	'smc_cgroup: the kernel refuses sockets of IPPROTO_SMC: Cannot allocate memory' \
	on '' $ENOMEM $EINVAL start
for err in $EPERM $EACCES; do
	expect "no privileges, errno $err" \
		'smc_cgroup: not permitted: BPF programs take root (or CAP_BPF, CAP_PERFMON)' \
		on '' 0 "$err" start
done
expect 'refused by the kernel' \
	'smc_cgroup: the kernel refuses the program: Invalid argument (--debug says why)' \
	on '' 0 $EINVAL start
expect 'no cgroup2' \
	'smc_cgroup: no cgroups of version 2: no cgroup2 file system at /sys/fs/cgroup' \
	on cgroup2 0 $EINVAL start a
expect 'no such cgroup' \
	'smc_cgroup: cgroup /sys/fs/cgroup/there/is/none: No such file or directory' \
	on '' 0 $EINVAL start there/is/none
expect 'a path that is no cgroup is tried below the mount' \
	'smc_cgroup: cgroup /sys/fs/cgroup//proc/self: No such file or directory' \
	on '' 0 $EINVAL stop /proc/self
expect 'no such namespace' 'smc_cgroup: network namespace /run/netns/red: No such file or directory' \
	on '' 0 $EINVAL --netns red start
expect 'no process of that namespace' \
	'smc_cgroup: network namespace /proc/0/ns/net: No such file or directory' \
	on '' 0 $EINVAL --netns 0 start
expect 'no such process' 'smc_cgroup: there is no process 0' on '' 0 $EINVAL --pid 0 start
# 1 + 2^32
expect 'a number that no process can have' 'smc_cgroup: there is no process 4294967297' \
	on '' 0 $EINVAL --pid 4294967297 start
python3 -c 'import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()' &
process=$!
until thread=$(find "/proc/$process/task" -mindepth 1 -maxdepth 1 ! -name "$process" -printf "%f\n")
	[ -n "$thread" ] || ! kill -0 "$process"; do
	sleep 0.05
done
expect 'a thread' "smc_cgroup: $thread is a thread of process $process" \
	on '' 0 $EINVAL --pid "$thread" start
kill "$process"
for type in pid time; do
	FAKE_OTHER=$type expect "a process, in another $type namespace" \
		"smc_cgroup: --pid works in the first $(echo $type | sed 's/pid/PID/') namespace only" \
		on '' 0 $EINVAL --pid $$ start
done
for lacking in btf hook bpffs; do
	expect_rc "exit status without $lacking" 1 on $lacking 0 $EINVAL start
done
expect_rc 'exit status without a module' 1 on '' $EPROTONOSUPPORT $EINVAL start
expect_rc 'exit status without privileges' 1 on '' 0 $EPERM start

# --- pins of other cgroups are removed only if the cgroup was removed ---
ESTALE=116
pins=$(mktemp -d) && places=$(mktemp -d) || exit 1
trap 'rm -rf "$pins" "$places"' EXIT
# swept ERRNO: start one target; print which pins of two cgroups remain if opening these fails
swept()
{
	mkdir -p "$pins/4711" "$pins/4712"
	FAKE_PINS=$pins FAKE_HANDLE=$1 on '' 0 0 start 2>/dev/null
	# the folder is removed with its last entry
	ls "$pins" 2>/dev/null
}
expect 'cgroups that cannot be checked' '4711
4712' swept $EPERM
expect 'cgroups that are gone' '' swept $ESTALE
# Targets of the other kinds: a process that has ended, one whose number was used before, this shell,
# a namespace without process and name
here=process-$$-$(cut -d ' ' -f 22 "/proc/$$/stat")
others="process-0-1 process-$$-1 $here netns-1-1"
others_made()
{
	for o in $others; do
		mkdir -p "$pins/$o"
		: >"$pins/$o/switch_protocol"
	done
}
others_status()
{
	others_made
	FAKE_PINS=$pins on '' 0 0 status | sed "s/: unknown.*//; s/$$/N/" | sort
}
expect 'status of processes and namespaces' 'netns net:[1], removed
process 0, removed
process N
process N, removed' others_status
others_json()
{
	FAKE_PINS=$pins on '' 0 0 -j status | tr -d ' \n' |
		grep -o '"target":"\(process0\|netnsnet:\[1\]\)","removed":true' | sort
}
expect 'the same as JSON' '"target":"netnsnet:[1]","removed":true
"target":"process0","removed":true' others_json
others_swept()
{
	others_made
	FAKE_PINS=$pins on '' 0 0 start 2>/dev/null
	ls "$pins"
}
expect 'those that are gone' "$here" others_swept
others_elsewhere()
{
	others_made
	FAKE_PINS=$pins FAKE_OTHER=$1 on '' 0 0 status | sed "s/: unknown.*//; s/$$/N/" | sort
	FAKE_PINS=$pins FAKE_OTHER=$1 on '' 0 0 start 2>/dev/null
	find "$pins" -mindepth 1 -maxdepth 1 | wc -l
}
expect 'in another PID namespace' 'netns net:[1], not visible in this namespace
process 0, not visible in this namespace
process N, not visible in this namespace
process N, not visible in this namespace
4' others_elsewhere pid
expect 'in another time namespace' 'netns net:[1], removed
process 0, not visible in this namespace
process N, not visible in this namespace
process N, not visible in this namespace
3' others_elsewhere time
rm -r "$pins"
this_shell()
{
	others_made
	FAKE_PINS=$pins on '' 0 0 "$1" --pid $$
	ls "$pins" 2>/dev/null
}
expect 'a process that is started already' "process $$: already started
$here" this_shell start
expect 'stop for a process' '' this_shell stop
# A namespace that has a name; its number is that of the namespace of this test
mkdir -p "$pins" "$places/netns" "$places/proc/4711/ns"
ln -s /proc/self/ns/net "$places/netns/blue"
blue=$(stat -L -c %i /proc/self/ns/net)
export FAKE_NETNS="$places/netns" FAKE_PROC="$places/proc" FAKE_COOKIE=7
# netns INODE: print what status says of one with cookie 7, and whether the next start keeps it
netns()
{
	pin=netns-7-$1
	mkdir -p "$pins/$pin"
	: >"$pins/$pin/switch_protocol"
	FAKE_PINS=$pins on '' 0 0 status | sed "s/: unknown.*//; s/net:.[0-9]*./N/"
	FAKE_PINS=$pins on '' 0 0 start 2>/dev/null
	[ -e "$pins/$pin" ] && echo kept
	rm -rf "${pins:?}"/*
}
expect 'a namespace with a name' 'netns blue
kept' netns "$blue"
FAKE_COOKIE=8 expect 'its number is used again' 'netns N, removed' netns "$blue"
FAKE_SETNS=$EPERM expect 'it cannot be entered' 'netns N, Operation not permitted
kept' netns "$blue"
: >"$places/netns/file"
expect 'a file with its number' 'netns N, removed' netns "$(stat -c %i "$places/netns/file")"
FAKE_NETNS=$places/netns/file expect 'the names cannot be read' 'netns N, Not a directory
kept' netns 1
FAKE_PROC=$places/netns/file expect 'the processes cannot be read' 'netns N, Not a directory
kept' netns 1
: >"$places/proc/modules"
expect '/proc has more than processes' 'netns N, removed' netns 1
ln -s net "$places/proc/4711/ns/net"
expect 'a process whose namespace cannot be read' 'netns N, Too many levels of symbolic links
kept' netns 1
# named ERRNO: print the name in the output of status, if opening the cgroup fails
named()
{
	mkdir -p "$pins/4711"
	: > "$pins/4711/switch_protocol"
	FAKE_PINS=$pins FAKE_HANDLE=$1 on '' 0 0 status | sed 's/: unknown.*//'
}
expect 'status of one that cannot be checked' \
	'cgroup 4711, Operation not permitted' named $EPERM
expect 'status of one that is gone' 'cgroup 4711, removed' named $ESTALE

# --- the folder of the pins ---
not_ours()
{
	FAKE_PINS=$pins FAKE_OWNER=4711 on '' 0 0 "$@"
}
expect 'the folder belongs to another user' \
	'smc_cgroup: /sys/fs/bpf/smc_cgroup is not ours: remove it' not_ours start
expect 'the same: stop' 'smc_cgroup: /sys/fs/bpf/smc_cgroup is not ours: remove it' not_ours stop
# held: another instance holds the lock for a second
held()
{
	flock "$pins" sleep 1 &
	until ! flock -n "$pins" true; do sleep 0.05; done
	FAKE_PINS=$pins on '' 0 0 stop 2> /dev/null &
	waits=$!
	sleep 0.3
	kill -0 "$waits" 2> /dev/null && echo waits
	wait
	flock -n "$pins" true && echo free
}
expect 'one after the other' 'waits
free' held

# --- a loader died: some programs are pinned, but not switch_protocol ---
broken_off()
{
	rm -rf "$pins/4711"
	mkdir -p "$pins/host"
	: > "$pins/host/state"
	: > "$pins/host/registered"
	FAKE_PINS=$pins on '' 0 0 status
	echo "status $?"
}
expect 'a start that was broken off' \
	'host: a start was broken off, new TCP sockets stay TCP
status 3' broken_off

ktap_done
