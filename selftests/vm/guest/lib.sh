# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Functions for test scripts in a guest. The environment has
#   HOST    number of this host: 1, 2 (3 is the forwarding host)
#   HOSTS   number of hosts with a test script, LINKS number of data links
#   MODULE  ours | old | intree | none, MODULES those of all hosts
#   WRITE_IMM  0: set_write_imm() switches immediate values off
#   UPGRADE_BYTES  set_upgrade() sets net.smc.upgrade_bytes to it
#   BED     qemu | uml | uml-debug, TOPOLOGY two | netns | lo (see vm.py --help)
# The test's own files are in /t.

# These kernels, which check themselves, are several times slower.
case $(uname -r) in
*-uml-debug | *-kcsan)	SLOWNESS=4 ;;
*)		SLOWNESS=1 ;;
esac
# Limits that only end what hangs: a virtual machine without nested paging takes three times as long for
# a page fault or a system call as one with it, and so does the same case there.
HANG=$((SLOWNESS * 3))

# busybox prefers its applets to PATH.
ip()
{
	/usr/sbin/ip "$@"
}

tc()
{
	/usr/sbin/tc "$@"
}

modprobe()
{
	/usr/sbin/modprobe "$@"
}

# --- messages to the runner ---

ctl()
{
	echo "$*" >&7
}

ktap()
{
	ctl "ktap $*"
}

# A line of explanation in the report.
diag()
{
	echo "# $*"
	ctl "diag $*"
}

# A value for the machine-readable report: data KEY VALUE
data()
{
	ctl "data $*"
}

fail()
{
	diag "${CASE:+${CASE#*.}: }$*"
	exit 1
}

skip()
{
	echo "$*" > "/run/skip.${CASE#*.}"
	exit 4
}

# expect WHAT TEST...: fail unless the test (arguments of test(1)) holds
expect()
{
	what=$1
	shift
	test "$@" || fail "$what: expected [ $* ]"
	echo "$what: [ $* ]"
}

# --- synchronization of the hosts ---

uptime_s()
{
	read -r up_ _ < /proc/uptime
	echo "${up_%.*}"
}

sync_raw()
{
	if [ "$TOPOLOGY" != netns ]; then
		ctl "sync $*"
		return
	fi
	dir_=/shared/sync.$(peer)
	raw_=$1
	shift
	# The value first: the other host may read it as soon as the name exists.
	echo "$*" > "$dir_/$raw_.value"
	: > "$dir_/$raw_"
}

# Sleeps for $poll_ microseconds, and next time for a sixteenth longer: each look costs a process, and in
# virtual time a second has as many looks as in real time. A wait is longer than it must be by a sixteenth.
sleep_longer()
{
	usleep "$poll_"
	[ "$poll_" -ge 1000000 ] || poll_=$((poll_ + poll_ / 16))
}

# sync_signal NAME [VALUE]: to all other hosts. Each case has its own names.
sync_signal()
{
	name_=$1
	shift
	sync_raw "${CASE:-top}.$name_" "$@"
}

# sync_wait NAME [SECONDS]: wait until another host signals; prints its value
sync_wait()
{
	sync_wait_raw "${CASE:-top}.$1" "${2:-60}"
}

sync_wait_raw()
{
	poll_=20000
	read -r end_ _ < /proc/uptime
	end_=$((${end_%.*} + $2 * HANG))
	while [ ! -e "/run/sync/$1" ]; do
		if [ -e /run/sync/ABORT ]; then
			echo "gave up waiting for $1: $(cat /run/sync/ABORT)" >&2
			return 1
		fi
		# The case has failed on the other host: do not wait.
		if [ -n "$CASE" ] && [ -e "/run/sync/$CASE.failed" ] &&
		   [ "${1#"$CASE.stop"}" = "$1" ]; then
			echo "gave up waiting for $1: the case failed elsewhere" >&2
			return 1
		fi
		read -r up_ _ < /proc/uptime
		if [ "${up_%.*}" -ge "$end_" ]; then
			echo "$1 did not come within $(($2 * HANG)) s" >&2
			return 1
		fi
		sleep_longer
	done
	cat "/run/sync/$1.value"
}

# sync_barrier NAME [SECONDS]: waits until every host with a script gets here
sync_barrier()
{
	sync_signal "$1.$HOST"
	h_=1
	while [ "$h_" -le "$HOSTS" ]; do
		[ "$h_" = "$HOST" ] ||
			sync_wait "$1.$h_" "${2:-60}" > /dev/null || return 1
		h_=$((h_ + 1))
	done
}

# on_host N COMMAND: run a shell command on host N (lib.sh is loaded), wait
# for it, return its exit code
on_host()
{
	host_=$1
	shift
	: "${on_host_seq:=0}"
	on_host_seq=$((on_host_seq + 1))
	id_=$HOST.$$.$on_host_seq
	ctl "run $host_ $id_ $*"
	rc_=$(sync_wait_raw "ran.$id_" 60) || return 1
	return "$rc_"
}

# peer: the number of the other host
peer()
{
	echo $((3 - HOST))
}

# peer_addr [LINK], own_addr [LINK]: IPv4 addresses
peer_addr()
{
	echo "10.0.${1:-0}.$(peer)"
}

own_addr()
{
	echo "10.0.${1:-0}.$HOST"
}

# --- network and RDMA ---

# setup_net: addresses 10.0.<link>.<host>/24 and fd00:<link>::<host>/64
setup_net()
{
	ip link set lo up
	if [ "$TOPOLOGY" = lo ]; then
		ip addr add "10.0.0.$HOST/24" dev lo
		ip addr add "fd00::$HOST/64" dev lo nodad
	fi
	l_=0
	while [ "$l_" -lt "$LINKS" ]; do
		ip addr add "10.0.$l_.$HOST/24" dev "eth$l_"
		ip addr add "fd00:$l_::$HOST/64" dev "eth$l_" nodad
		# without DAD: a tentative link-local address cannot be a source
		echo 0 > "/proc/sys/net/ipv6/conf/eth$l_/accept_dad"
		ip link set "eth$l_" up || return 1
		l_=$((l_ + 1))
	done
}

# setup_net_same: all links in 10.0.0.0/24, host H owns .H, .1H, .2H, ...
# (redundant links of one group need their RNICs in one subnet)
setup_net_same()
{
	sysctl -q -w net.ipv4.conf.all.arp_ignore=1 \
		net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2
	ip link set lo up
	l_=0
	while [ "$l_" -lt "$LINKS" ]; do
		ip addr add "10.0.0.${l_#0}$HOST/24" dev "eth$l_" noprefixroute
		link_same_up "$l_" || return 1
		l_=$((l_ + 1))
	done
}

# link_same_up LINK: ethLINK is up and has the route of setup_net_same(), which a link that goes down loses
link_same_up()
{
	ip link set "eth$1" up || return 1
	ip route replace 10.0.0.0/24 dev "eth$1" src "10.0.0.${1#0}$HOST" metric $((100 + 100 * $1))
}

# setup_rxe: a Soft-RoCE device rxe<n> over each eth<n>, or over lo
setup_rxe()
{
	modprobe -q crc32_generic
	modprobe rdma_rxe || return 1
	modprobe ib_uverbs
	if [ "$TOPOLOGY" = lo ]; then
		add_rxe 0 lo || return 1
		wait_for 10 port_active rxe0
		return
	fi
	l_=0
	while [ "$l_" -lt "$LINKS" ]; do
		add_rxe "$l_" "eth$l_" || return 1
		l_=$((l_ + 1))
	done
	# The port comes up from a work item.
	l_=0
	while [ "$l_" -lt "$LINKS" ]; do
		wait_for 10 port_active "rxe$l_" || return 1
		l_=$((l_ + 1))
	done
}

# setup_smc_lo [NAMESPACE]: lo0 on lo, for connections within this host
setup_smc_lo()
{
	modprobe ib_core && insmod /ours/smc_lo.ko || return 1
	${1:+ip netns exec "$1"} /usr/sbin/rdma link add lo0 type smc_lo netdev lo &&
		wait_for 10 port_active lo0
}

# add_rxe N NETDEV: rxe<N> over it. The kernel makes each device in its initial namespace,
# where the devices of the two hosts need different names.
add_rxe()
{
	if [ "$TOPOLOGY" != netns ]; then
		/usr/sbin/rdma link add "rxe$1" type rxe netdev "$2"
		return
	fi
	# One host at a time: the kernel lists devices by their position, one for each message, so
	# a look-up skips a device if an earlier one leaves the namespace meanwhile.
	(
		flock 9 &&
			/usr/sbin/rdma link add "h${HOST}rxe$1" type rxe netdev "$2" &&
			nsenter -t 1 -n /usr/sbin/rdma dev set "h${HOST}rxe$1" netns "h$HOST"
	) 9> /shared/rdma.lock || return 1
	/usr/sbin/rdma dev set "h${HOST}rxe$1" name "rxe$1"
}

port_active()
{
	grep -qs ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

# event_listens [COMMAND...]: a socket of generic netlink is in a multicast group (not only that of the control
# family, which comes last). The command enters the namespace to look at.
event_listens()
{
	# shellcheck disable=SC2016 # a program
	"$@" awk '$2 == 16 && $4 != "00000000" { found = 1 } END { exit !found }' /proc/net/netlink
}

# no_conns_in_groups: the groups have no connection, whatever became of its sockets
no_conns_in_groups()
{
	[ "$(/t/smcctl linkgroup | awk 'NR > 1 { n += $4 } END { print n + 0 }')" -eq 0 ]
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for()
{
	limit_=$1
	shift
	poll_=50000
	read -r end_ _ < /proc/uptime
	end_=$((${end_%.*} + limit_))
	until "$@"; do
		read -r up_ _ < /proc/uptime
		if [ "${up_%.*}" -ge "$end_" ]; then
			echo "not within $limit_ s: $*" >&2
			return 1
		fi
		sleep_longer
	done
}

# load_smc [ours|old|intree|none]: if two hosts share a kernel, both must call it, and
# both must call unload_smc()
load_smc()
{
	first_does load load_module "$@"
}

# first_does NAME COMMAND...: on both hosts, or only on host 1 if they share a kernel
first_does()
{
	if [ "$TOPOLOGY" != netns ]; then
		shift
		"$@"
		return
	fi
	first_seq=$((${first_seq:-0} + 1))
	first_=$1.$first_seq
	shift
	sync_barrier "$first_.before" || return 1
	if [ "$HOST" = 1 ]; then
		"$@"
		rc_=$?
		sync_signal "$first_.done" "$rc_"
		return "$rc_"
	fi
	# the debug kernel scans for leaks, which takes long; its limit is 240 s
	rc_=$(sync_wait "$first_.done" 60) || return 1
	return "$rc_"
}

load_module()
{
	case ${1:-$MODULE} in
	none)	return 0 ;;
	intree)
		modprobe smc && modprobe smc_diag || return 1
		intree_add_ueid SMCV2-DEFAULT-UEID
		;;
	ours | old)
		for m_ in smc smc_diag; do
			for d_ in $(modinfo -F depends "/ours/$m_.ko" | tr , ' '); do
				[ "$d_" = smc ] || modprobe "$d_" || return 1
			done
			insmod "/ours/$m_.ko" || return 1
			[ ! -r "/sys/module/$m_/sections/.text" ] ||
				echo "$m_: .text at $(cat "/sys/module/$m_/sections/.text")"
		done
		# A sixteenth of a small guest is too little for hundreds of connections.
		[ "$MEM_LIMIT" = kept ] || [ ! -e /proc/sys/net/smc/smcr_max_mem_kb ] ||
			nsenter -t 1 -n sysctl -q -w net.smc.smcr_max_mem_kb=0 || return 1
		;;
	*)	diag "unknown module choice $1"; return 1 ;;
	esac
}

unload_smc()
{
	first_does unload unload_module
}

unload_module()
{
	[ ! -d /sys/module/smc_diag ] || rmmod smc_diag || return 1
	if ours; then
		rmmod smc
	else
		# closed sockets of the in-tree module use it for a moment
		wait_for 60 rmmod smc
	fi
}

# ours: our module is loaded, the present or the old one
ours()
{
	[ -e /proc/net/smc_stat ]
}

# kill_all PROCESS...: and wait until their sockets are released
kill_all()
{
	# shellcheck disable=SC2068 # words
	kill -KILL $@ 2> /dev/null
	# shellcheck disable=SC2068
	wait $@ 2> /dev/null
	:
}

# The in-tree family starts without a UEID and then declines SMC-Rv2.
intree_add_ueid()
{
	/t/smcctl ueid add "$1"
}

# await_server [PORT]: waits until a server of this host's namespace listens
await_server()
{
	wait_for 20 tcp_listens "${1:-4430}" || fail "no server listens on port ${1:-4430}"
}

tcp_listens()
{
	cat /proc/net/tcp /proc/net/tcp6 2> /dev/null |
		grep -q ":$(printf %04X "$1") 0*:0000 0A "
}

# exchange SERVER FAMILY MODE ARGUMENT...: smc_traffic between a server on host SERVER and a client
# with these arguments on the other host. Both ends require MODE. $SIDE: options of both ends.
exchange()
{
	server_host_=$1
	family_=$2
	mode_=$3
	shift 3
	if [ "$HOST" = "$server_host_" ]; then
		# shellcheck disable=SC2086 # options or nothing
		/t/smc_traffic server --family "$family_" --require "$mode_" $SIDE &
		server=$!
		await_server
		sync_signal "ready$server_host_"
		wait "$server" || fail "server ended with $?"
	else
		sync_wait "ready$server_host_" > /dev/null || exit 1
		# shellcheck disable=SC2086
		/t/smc_traffic client --connect "$(peer_addr 0)" --family "$family_" --require "$mode_" \
			--wait 30 --quit $SIDE "$@" || fail "client ended with $?"
	fi
}

# serve_named FAMILY NAME: a server until the other host signals that the client NAME has ended
serve_named()
{
	/t/smc_traffic server --family "$1" &
	server=$!
	await_server 4430
	sync_signal "up.$2"
	sync_wait "through.$2" 100 > /dev/null
	rc=$?
	kill "$server"
	wait "$server" 2> /dev/null
	[ "$rc" = 0 ] || exit 1
}

# --- counters ---

# stat_of NAME: a counter of our module, of this namespace
stat_of()
{
	awk -v n="$1" '$1 == n { print $2 }' /proc/net/smc_stat
}

# before, then grown NAME: increase of a counter of our module since before()
before()
{
	cp /proc/net/smc_stat /run/stat
	rxe_counter sent_pkts > /run/sent_pkts
}

grown()
{
	echo "$(($(stat_of "$1") - $(awk -v n="$1" '$1 == n { print $2 }' /run/stat)))"
}

# expect_packets N: the RNIC has sent at least N packets since before()
expect_packets()
{
	expect "RDMA packets" "$(($(rxe_counter sent_pkts) - $(cat /run/sent_pkts)))" -ge "$1"
}

# rxe_counter NAME [DEVICE]: sent_pkts, rcvd_pkts, duplicate_request, ...
rxe_counter()
{
	cat "/sys/class/infiniband/${2:-rxe0}/ports/1/hw_counters/$1"
}

# tcp_counter NAME: as nstat names it, e.g. TcpActiveOpens, TcpOutSegs
tcp_counter()
{
	/usr/sbin/nstat -asz "$1" | awk -v n="$1" '$1 == n { print $2 }'
}

# intree_stat smcr|fallbacks KEY: a counter of the in-tree family, by netlink (smcctl stats)
intree_stat()
{
	/t/smcctl -j stats | tr -d ' \n\t' | sed "s/.*\"$1\":{//; s/[{}].*//" | tr , '\n' |
		sed -n "s/^\"$2\"://p"
}

# rdma_bytes tx|rx: total over SMC-R, as counted by the loaded module
rdma_bytes()
{
	if ours; then
		stat_of "$1_bytes"
	else
		intree_stat smcr "$1_bytes"
	fi
}

# if_bytes tx|rx [DEVICE]
if_bytes()
{
	cat "/sys/class/net/${2:-eth0}/statistics/$1_bytes"
}

# --- immediate values in place of CDC messages ---

# set_write_imm: switches them off with WRITE_IMM=0. For all groups that are created from now on; the
# in-tree module and the old one have no such setting, and no such values.
set_write_imm()
{
	[ -n "$WRITE_IMM" ] && [ "$MODULE" = ours ] || return 0
	sysctl -q -w "net.smc.smcr_write_imm=$WRITE_IMM"
}

# set_upgrade: with UPGRADE_BYTES this host may begin connections as TCP, and announces that to native
# peers. For all groups that are created from now on; other modules have no such setting.
set_upgrade()
{
	[ -n "$UPGRADE_BYTES" ] && [ "$MODULE" = ours ] || return 0
	sysctl -q -w "net.smc.upgrade_bytes=$UPGRADE_BYTES"
}

# imms_agreed: both hosts have announced that they take them
imms_agreed()
{
	case " $MODULES " in
	*" old "* | *" intree "*)
		return 1 ;;
	esac
	[ "${WRITE_IMM:-1}" = 1 ]
}

# expect_imms stat_of|grown [tx|rx]: immediate values were used, if and only if both hosts take them
expect_imms()
{
	[ "$MODULE" = ours ] || return 0
	imms_agreed && than_=-gt || than_=-eq
	for way_ in ${2:-tx rx}; do
		expect "immediate values, $way_" "$("$1" "${way_}_imm")" "$than_" 0
	done
}

# --- the kernel log ---

# The runner checks the console as well; this check includes every log level and
# fails the case in which the message was logged.
# (Whose race KCSAN has reported is for the runner to say.)
check_dmesg()
{
	if dmesg | grep -E "$SPLAT" | grep -qv 'BUG: KCSAN: '; then
		diag "kernel log: $(dmesg | grep -E "$SPLAT" | grep -v 'BUG: KCSAN: ' | head -n 1)"
		return 1
	fi
}

SPLAT='WARNING: |BUG: |Oops|Call Trace|general protection|INFO: (task|rcu)|rcu_.*stall|possible (recursive|circular) locking|inconsistent lock state|suspicious RCU usage|unregister_netdevice: waiting|soft lockup|UBSAN|KASAN|refcount_t:|list_(add|del) corruption|scheduling while atomic|bad unlock balance|sleeping function called|suspected memory leak|ref_tracker:|register non-static key'
