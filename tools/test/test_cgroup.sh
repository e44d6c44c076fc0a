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
expect_match 'help' 'Usage: smc_cgroup *' ./smc_cgroup --help
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
for lacking in btf hook bpffs; do
	expect_rc "exit status without $lacking" 1 on $lacking 0 $EINVAL start
done
expect_rc 'exit status without a module' 1 on '' $EPROTONOSUPPORT $EINVAL start
expect_rc 'exit status without privileges' 1 on '' 0 $EPERM start

# --- pins of other cgroups are removed only if the cgroup was removed ---
ESTALE=116
pins=$(mktemp -d) || exit 1
trap 'rm -rf "$pins"' EXIT
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
this_shell()
{
	others_made
	FAKE_PINS=$pins on '' 0 0 "$1" --pid $$
	ls "$pins" 2>/dev/null
}
expect 'a process that is started already' "process $$: already started
$here" this_shell start
expect 'stop for a process' '' this_shell stop
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
