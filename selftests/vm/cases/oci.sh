# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Documentation/containers.rst, Kubernetes, without a cluster: crun, an OCI runtime of Debian, starts a
# container on each host, from what oci.py has made of the manifests (/t/oci). Before that the test does
# the part of network and device plugins: the pod's network namespace gets netdev and RNIC of the host. The host
# has the module, and no connection of its own. The RDMA core is in mode "exclusive".
# OCI: other cases than all but "convert", which needs a kernel with BTF.
# Entry points: smc ipproto

CASES=${OCI:-no_module:90 settings:120 traffic:180 restricted:180 preload:180 off:90 rights:120 metrics:120}
CASES="$CASES unload:60"
export CASES

POD=pod$HOST
RNIC=h${HOST}pod
BYTES=1048576	# of stream:1, in one direction
BPF=/sys/fs/bpf
PINS=$BPF/smc_cgroup
HELD=8		# connections of case_settings
talks=0		# of the case, so far

setup()
{
	modprobe ib_core netns_mode=0
	ip link set lo up
	modprobe -q crc32_generic
	modprobe rdma_rxe && make_pod
}

# --- the pod ---

in_pod()
{
	ip netns exec "$POD" "$@"
}

make_pod()
{
	lock=/run/rdma.lock
	[ "$TOPOLOGY" != netns ] || lock=/shared/rdma.lock
	ip netns add "$POD" && ip link set eth0 netns "$POD" || return 1
	ip -n "$POD" link set lo up
	ip -n "$POD" addr add "10.0.0.$HOST/24" dev eth0
	ip -n "$POD" link set eth0 up || return 1
	# one host at a time: see add_rxe()
	(
		flock 9 && in_pod /usr/sbin/rdma link add "$RNIC" type rxe netdev eth0 &&
			nsenter -t 1 -n /usr/sbin/rdma dev set "$RNIC" netns "$POD"
	) 9> "$lock" || return 1
	wait_for 10 in_pod grep -q ACTIVE "/sys/class/infiniband/$RNIC/ports/1/state"
}

# eth0 goes back to the host.
del_pod()
{
	in_pod /usr/sbin/rdma link delete "$RNIC" && ip -n "$POD" link set eth0 netns $$ &&
		ip netns del "$POD"
}

# --- containers ---

crun()
{
	/t/crun --root /run/crun --cgroup-manager=cgroupfs "$@"
}

# devices_of_host: prints the list of them for a config.json
devices_of_host()
{
	comma=
	find /dev -xdev '(' -type c -o -type b ')' ! -path /dev/console -exec stat -c '%n %t %T %a %F' {} + |
		while read -r path major minor mode kind _; do
			printf '%s{"path": "%s", "type": "%.1s", "major": %d, "minor": %d, "fileMode": %d}' \
				"$comma" "$path" "$kind" "0x$major" "0x$minor" "0$mode"
			comma=,
		done
}

# contain NAME SCRIPT: runs that container with this script, until it ends. --no-pivot: a guest runs from its
# initramfs, which is no mount that can be exchanged.
contain()
{
	bundle=/run/bundle/$1
	mkdir -p "$bundle/rootfs" "$bundle/c"
	devices=
	! grep -q '"@DEVICES@"' "/t/oci/$1.json" || devices=$(devices_of_host)
	sed "s|@POD@|$POD|g; s|@BUNDLE@|$bundle|g; s|\"@DEVICES@\"|[$devices]|" "/t/oci/$1.json" > \
		"$bundle/config.json"
	printf '%s\n' "$2" > "$bundle/c/command"
	cp /ours/smc_lo.ko "$bundle/c/"
	# of a case that has failed
	crun delete --force "$1" > /run/deleted 2>&1
	crun run --no-pivot --bundle "$bundle" "$1"
}

# end_container NAME SIGNAL: in the background, the process $container
end_container()
{
	crun kill "$1" "$2" || fail "$1 is not there: $(cat /run/out)"
	wait "$container" || :
}

# counted COMMAND: prints a script with that command between two looks at the counters that a container
# sees: of the module, in its network namespace, and of its RNIC, which the kernel keeps for 10 ms
counted()
{
	echo "counters()
	{
		sed \"s/^/\$1 /\" /proc/net/smc_stat
		sed \"s/^/\$1 sent_pkts /\" /sys/class/infiniband/*/ports/1/hw_counters/sent_pkts
	}
	counters before
	$1
	rc=\$?
	sleep 1
	counters after
	exit \$rc"
}

# counted_more NAME: the increase, in /run/out
counted_more()
{
	awk -v n="$1" '$2 == n { at[$1] = $3 } END { print at["after"] - at["before"] }' /run/out
}

# said: prints /run/out without the counters
said()
{
	grep -v '^before\|^after' /run/out
}

# within NAME SCRIPT: runs it in that container, or "outside" of all: in the network namespace of the pod
within()
{
	if [ "$1" = outside ]; then
		in_pod sh -c "$2"
	else
		contain "$@"
	fi
}

# talk CONTAINER FAMILY [MODE]: smc_traffic within such containers, a server on host 1 and a client on host 2, which
# require the mode; /run/out has the output. $RUN: the program that starts it
talk()
{
	name=$1
	options="--family $2${3:+ --require $3}"
	talks=$((talks + 1))
	if [ "$HOST" = 1 ]; then
		(within "$name" "$(counted "$RUN /t/smc_traffic server $options")") > /run/out 2>&1 &
		container=$!
		(in_pod ash -c '. /h/lib.sh; await_server') || fail "$(said | tail -n 1)"
		sync_signal up$talks
		sync_wait through$talks 100 > /dev/null || exit 1
		wait "$container" || fail "the server ended with $?: $(said | tail -n 1)"
	else
		sync_wait up$talks > /dev/null || exit 1
		within "$name" "$(counted "$RUN /t/smc_traffic client --connect 10.0.0.1 $options --wait 10 \
			--quit stream:1")" > /run/out 2>&1 ||
			fail "the client ended with $?: $(said | tail -n 1)"
		sync_signal through$talks
	fi
	said
}

expect_smc()
{
	for way in tx rx; do
		expect "bytes by RDMA, $way" "$(counted_more "${way}_bytes")" -ge "$BYTES"
	done
	expect "bytes written" "$(counted_more tx_write_bytes)" -ge "$BYTES"
	expect "RDMA packets" "$(counted_more sent_pkts)" -ge $((BYTES / 4096))
	expect "connections" "$(($(counted_more clnt_smc) + $(counted_more srv_smc)))" -ge 1
	expect "bytes by RDMA of the host" "$(stat_of tx_bytes)" -eq 0
}

# expect_plain: TCP sockets from the start: nothing was SMC, nor has fallen back
expect_plain()
{
	grep -q '^after clnt_fback ' /run/out || fail "no counters"
	for name in tx_bytes rx_bytes tx_write_bytes clnt_smc srv_smc clnt_fback srv_fback; do
		expect "$name" "$(counted_more "$name")" -eq 0
	done
}

# --- the cases ---

# The page: without the module such a pod does not start.
case_no_module()
{
	! contain settings "echo started" > /run/out 2>&1 || fail "the container has started"
	cat /run/out
	! grep -q started /run/out || fail "the container has started"
	grep -q 'net/smc/.*No such file' /run/out || fail "that is not the reason: $(cat /run/out)"
	load_smc || fail "the module cannot be loaded"
}

# memory_of_kernel: charged to the cgroup of the container
memory_of_kernel()
{
	awk '$1 == "kernel" { print $2 }' "/sys/fs/cgroup/kubepods/$POD/settings/memory.stat"
}

# values MEMBER: of all connections that the container sees
values()
{
	crun exec settings /t/smcctl -j -v sock | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | sort -n | uniq -c |
		xargs
}

# Settings are there, nowhere else, and have an effect; memory is charged to the cgroup of the container. First
# connections of the pod: no region of an earlier group is used again.
case_settings()
{
	if [ "$HOST" = 1 ]; then
		(contain settings "exec smc_traffic server --family smc --require smc") > /run/out 2>&1 &
		container=$!
		(in_pod ash -c '. /h/lib.sh; await_server') || fail "$(cat /run/out)"
		sync_signal up
	else
		sync_wait up > /dev/null || exit 1
		(contain settings "exec smc_traffic client --connect 10.0.0.1 --family smc --require smc \
			--wait 10 hold:$HELD") > /run/out 2>&1 &
		container=$!
		wait_for 30 grep -q "^# holding $HELD\$" /run/out || fail "$(cat /run/out)"
	fi
	sync_barrier held || exit 1
	while read -r name value; do
		path=/proc/sys/$(echo "$name" | tr . /)
		expect "$name" "$(crun exec settings cat "$path")" = "$value"
		expect "$name of the host" "$(cat "$path")" != "$value"
	done < /t/oci/sysctls
	expect "RMBEs" "$(values rmbe_size)" = "$HELD 524288"
	[ "$HOST" = 1 ] || expect "send rings" "$(values sndbuf_size)" = "$HELD 524288"
	limit=$(sed -n 's/.*"limit": *\([0-9]*\).*/\1/p' /t/oci/settings.json)
	expect "limit of memory" "$(crun exec settings cat /sys/fs/cgroup/memory.max)" -eq "$limit"
	expect "charged memory" "$(memory_of_kernel)" -ge $((HELD * 524288))
	sync_barrier seen || exit 1
	end_container settings KILL
}

case_traffic()
{
	talk settings smc smc
	expect_smc
}

# A user without rights, who can become no other one
case_restricted()
{
	talk restricted smc smc
	expect_smc
}

# A TCP program of the image, whose sockets smc_run converts
case_preload()
{
	RUN=/t/smc_run
	talk restricted inet
	expect_smc
}

case_off()
{
	talk off smc tcp
	[ "$HOST" = 1 ] || grep -q "reasons 03000000" /run/out || fail "another reason"
	expect "bytes by RDMA" "$(counted_more tx_bytes)" -eq 0
	expect "connections by RDMA" "$(($(counted_more clnt_smc) + $(counted_more srv_smc)))" -eq 0
	expect "enabled on the host" "$(cat /proc/sys/net/smc/enabled)" -eq 1
	# the next pod would have a namespace of its own, with the defaults
	in_pod sysctl -q -w net.smc.enabled=1
}

# try NAME COMMAND: one more line of a script: what the command says, after the name
try()
{
	echo "echo \"$1: \$( ($2) 2>&1 | tr -s '[:space:]' ' ')\""
}

# refused CONTAINER REASON NAME...: these attempts of that container have failed for this reason
refused()
{
	name=$1 reason=$2
	shift 2
	for what in "$@"; do
		grep -q "^$what: .*$reason" "/run/out.$name" ||
			fail "$name: not $reason: $(grep "^$what:" "/run/out.$name")"
	done
}

load_lo()
{
	insmod /ours/smc_lo.ko && rmmod smc_lo
}

# What a container may not do; the host can, and one whose /proc/sys is writable can change the pod's settings.
case_rights()
{
	sys=/proc/sys/net/smc
	for name in settings restricted unmasked; do
		contain "$name" "$(
			try load "insmod /c/smc_lo.ko"
			try unload "rmmod smc_diag"
			try enabled "echo 0 > $sys/enabled"
			try memory "echo 16 > $sys/smcr_max_mem_kb"
			try inherit "echo 1 > $sys/netns_inherit"
			try writable "mount -o remount,rw /proc/sys"
			try eid "smcctl ueid add SMCV2-OF-A-POD"
			try policy "smcctl policy add deny"
			try rnic "/usr/sbin/rdma link delete $RNIC"
			try holders "cat /proc/net/smc_holders"
			try socks "smcctl sock"
		)" > "/run/out.$name" 2>&1 || fail "$name ended with $?: $(cat "/run/out.$name")"
		cat "/run/out.$name"
		refused "$name" "Operation not permitted" load unload rnic
		refused "$name" "CAP_NET_ADMIN" eid policy
		refused "$name" "No such file" holders
		grep -q '^socks: STATE' "/run/out.$name" || fail "$name: no list of sockets"
	done
	for name in settings restricted; do
		refused "$name" "Read-only file system" enabled memory inherit
		refused "$name" "permission denied" writable
	done
	refused unmasked "Permission denied" memory inherit
	expect "enabled in the pod" "$(in_pod cat $sys/enabled)" -eq 0
	expect "enabled on the host" "$(cat $sys/enabled)" -eq 1
	in_pod sysctl -q -w net.smc.enabled=1
	expect "smc_lo" ! -e /sys/module/smc_lo
	expect "smc_diag" -e /sys/module/smc_diag
	first_does lo load_lo || fail "smc_lo cannot be loaded"
}

# The DaemonSet: metrics of the namespace of a pod. Hosts in one kernel share their files.
case_metrics()
{
	mkdir -p /var/lib
	mount -t tmpfs tmpfs /var/lib || fail "no tmpfs"
	to=/var/lib/node_exporter/textfile_collector
	mkdir -p "$to"
	(contain metrics) > /run/out 2>&1 &
	container=$!
	wait_for 30 [ -e "$to/smc.prom" ] || fail "no metrics: $(cat /run/out)"
	grep '^smc_up' "$to/smc.prom"
	expect "bytes of the pod" \
		"$(sed -n "s/^smc_transmit_bytes_total{netns=\"$POD\"} //p" "$to/smc.prom")" -eq \
		"$(in_pod ash -c '. /h/lib.sh; stat_of tx_bytes')"
	end_container metrics TERM
	expect "messages" "$(cat /run/out)" = ""
}

# one_started: smc_cgroup has done all for one target
one_started()
{
	set -- "$PINS"/*/switch_protocol
	[ -e "$1" ]
}

# init_ended CONTAINER: its first process has ended
init_ended()
{
	[ "$(crun state "$1" | sed -n 's/.*"status": *"\(.*\)".*/\1/p')" = stopped ]
}

# The DaemonSet: TCP programs in pods get SMC sockets, others do not, for as long as the container runs. What
# the host has started for a namespace that has a name and no process stays.
case_convert()
{
	mount -t bpf bpf "$BPF" || fail "no BPF file system"
	find "$BPF" > /run/bpf
	talk settings inet
	expect_plain
	(contain convert) > /run/out.convert 2>&1 &
	convert=$!
	wait_for 90 one_started || fail "not started: $(cat /run/out.convert)"
	expect "started" "$(/t/smc_cgroup status)" = "/kubepods: new TCP sockets become SMC sockets"
	sync_barrier converted || exit 1
	rights="^CapEff:\\|^Seccomp:"
	expect "rights" "$(crun exec convert grep "$rights" /proc/self/status)" = "$(grep "$rights" /proc/self/status)"
	crun exec convert test -c /dev/kmsg || fail "no devices of the host"

	talk settings inet
	expect_smc
	# one end is converted, the other one asks for SMC itself and takes nothing else
	if [ "$HOST" = 1 ]; then
		talk settings smc smc
	else
		talk settings inet
	fi
	expect_smc
	talk outside inet
	expect_plain

	ip netns add later || fail "no namespace"
	/t/smc_cgroup --netns later start || fail "not started for a namespace"
	crun kill convert TERM || fail "the container is not there: $(cat /run/out.convert)"
	wait_for 60 init_ended convert || fail "it does not end: $(cat /run/out.convert)"
	# as containerd does if the processes are in the PID namespace of the host: here sleep
	crun delete --force convert
	wait "$convert" || :
	expect "messages" "$(cat /run/out.convert)" = ""
	expect "cgroup of the container" ! -e "/sys/fs/cgroup/kubepods/$POD/convert"
	expect "what is left" "$(/t/smc_cgroup status)" = "netns later: new TCP sockets become SMC sockets"
	sync_barrier ended || exit 1
	talk settings inet
	expect_plain
	/t/smc_cgroup --netns later stop || fail "not stopped"
	ip netns del later
	find "$BPF" | diff /run/bpf - || fail "left in $BPF: $(find "$BPF")"
	umount "$BPF"
}

case_unload()
{
	sync_barrier idle || exit 1
	del_pod || fail "the pod stays"
	unload_smc || fail "the module cannot be unloaded"
}
