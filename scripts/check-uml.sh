#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests in User Mode Linux, with the newest kernel: this module with itself and with the in-tree
# family, in two instances, in two namespaces of one, and on lo. Prints KTAP, one line per case,
# prefixed with the name of the run. Each run ends with a search for leaks.
#
# Usage: check-uml.sh [--list] [plain|debug|debug-short|coverage] [RUN...]
#	(names below; default: plain, all)
#   --list    print the runs (scripts/runs.sh)
#   debug     in a kernel with KASAN, lockdep, kmemleak and more (minutes instead of seconds)
#   debug-short  the debug runs that cover most of the module in the least time
#   coverage  as plain, the module built with counters; for coverage.sh
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
flavour=plain
list=
if [ "${1:-}" = --list ]; then
	list=y
	shift
fi
case ${1:-} in
plain|debug|coverage)
	flavour=$1
	shift
	;;
debug-short)
	flavour=debug
	shift
	[ $# -gt 0 ] || set -- debug-evil-link debug-api-smc_to_inet debug-evil debug-client \
		debug-linkdown debug-netns debug-reuse
	;;
esac

kernel=${flavour/coverage/plain}
load=()
how=(-n)
mtu=()
ours=
[ "$flavour" != coverage ] || { how=(-g); ours=-cov; }
if [ -z "$list" ]; then
	scripts/install-packages.sh scripts/packages.txt selftests/vm/packages.txt || exit 1
	selftests/uml/build-kernel.sh "$kernel" || exit 1
	scripts/build-modules.sh "${how[@]}" -o "$ours" "uml-$kernel" || exit 1
	make -s -C selftests || exit 1
	make -s -C tools all test/sockprobe || exit 1
fi

# shellcheck source=scripts/runs.sh
. "$top/scripts/runs.sh"
use_pool
runs=("$@")

tests=$top/selftests
vm=$tests/vm
cases=$vm/cases
out=$("$top/scripts/cache-dir.sh" here)/out
case $flavour in
plain)
	p=uml
	run_options=(--bed uml)
	patience=30000
	bulk="stream:64 random:8 pingpong:200 urgent:50 connects:300 burst:50 parallel:32 halfclose:1024 reset:8192 idle:3"
	api="smc smc_to_inet ipproto smc_declined"
	;;
coverage)
	p=cov
	run_options=(--bed uml --ours "$top/build/{kver}$ours")
	coverage=$top/build/coverage/runs
	patience=30000
	bulk="stream:64 random:8 pingpong:200 urgent:50 connects:300 burst:50 parallel:32 halfclose:1024 reset:8192 idle:3"
	api="inet smc smc_mapped smc6 smc_to_inet ipproto ipproto6"
	;;
debug)
	p=debug
	run_options=(--bed uml-debug --mem 1024)
	patience=90000
	# packets are what takes time there
	bulk="stream:4 random:1 pingpong:20 urgent:5 connects:50 burst:50 parallel:8 halfclose:256 reset:8192 idle:2"
	mtu=(--mtu 9000)
	api="smc smc_to_inet ipproto"
	# one place for all clients of the storm: few are SMC
	load=(--env STORM=64 --env PLACES=1 --env SHARE=0 --env CROWD=20)
	;;
esac
traffic=(--script "$cases/traffic.sh" --timeout 900 --env "TRAFFIC=$bulk"
	--env "PATIENCE=$patience")

# plain_extra FUNCTION NAME ARGUMENT...: make check-debug has this run, and make check does without
plain_extra()
{
	if [ "$flavour" = plain ]; then
		extra "$@"
	else
		"$@"
	fi
}

# the socket API, compared with TCP
for pair in $api; do
	light "$p-api-$pair" --topology netns --module ours "${mtu[@]}" --script "$cases/api.sh" \
		--env "API=$pair" --timeout 500
done
# the other pairs of families and addresses, only if named: "make check-long"
extra run "$p-api-more" --topology netns --module ours "${mtu[@]}" --script "$cases/api.sh" \
	--env "API=inet smc6 smc_mapped ipproto_declined inet6 inet_mapped inet_to_smc smc_mapped_to_inet smc6_to_inet6 ipproto6 ipproto_mapped ipproto_to_smc ipproto_to_inet ipproto_mapped_to_inet ipproto6_to_inet6 smc_mapped_declined ipproto_mapped_declined" \
	--timeout 3600
# ... with connections that begin as TCP and change over in mid-stream; on the debug kernel only if named
by_name=extra
[ "$flavour" != plain ] || by_name=
$by_name light "$p-api-deferred" --topology netns --module ours "${mtu[@]}" --script "$cases/api.sh" \
	--env "API=deferred" --timeout 900
# ... and on two processors, which the debug kernel has
[ "$flavour" != debug ] || extra run debug-api-2cpu --cpus 2 --topology netns --module ours "${mtu[@]}" \
	--script "$cases/api.sh" --env "API=$api" --timeout 1800

# does the test bed report planted faults?
[ "$flavour" = coverage ] || verify_light "$p-selfcheck" "$vm/selfcheck.sh" "${run_options[1]}"

# what unit tests in user space cannot reach
! want "$p-kunit" ||
	scripts/build-modules.sh "${how[@]}" -k -o "$ours-kunit" "uml-$kernel" || exit 1
# (two minutes of deadlines; the debug kernel waits for them in real time)
virtual=(--virtual-time)
[ "$flavour" != debug ] || virtual=()
run "$p-kunit" --topology lo --hosts 1 --module ours --ours "$top/build/{kver}$ours-kunit" \
	"${virtual[@]}" --script "$cases/kunit.sh" --timeout 400

# verified traffic: this module with itself in all arrangements, and with the in-tree family
run "$p-netns" --topology netns --module ours "${mtu[@]}" "${traffic[@]}"
# ... in virtual time, where a flow that stands still waits for a timer: for less than the shortest ones
# of the data path (TAIL_MIN_MS, POLL_MS), which would hide a lost wake-up
[ "$flavour" = debug ] || run "$p-netns-time" --topology netns --virtual-time --module ours --mtu 9000 \
	"${traffic[@]}" --env STILL=18
# ... on two processors, which QEMU without KVM cannot have
[ "$flavour" != debug ] || run debug-netns-2cpu --cpus 2 --topology netns --module ours "${mtu[@]}" \
	"${traffic[@]}"
# through the other entry point, IPPROTO_SMC
run "$p-ipproto" --topology netns --module ours "${mtu[@]}" "${traffic[@]}" --env FAMILY=ipproto \
	--env "TRAFFIC=stream:16 pingpong:50 urgent:5 connects:50 parallel:8"
plain_extra run "$p-two" --module ours --mtu 9000 "${traffic[@]}"
run "$p-lo" --topology lo --module ours --script "$cases/lo.sh" --add "$tests/smc_netlink" \
	--timeout 400
# ... and over smc_lo, without an RNIC
run "$p-loopback" --topology lo --hosts 1 --module ours --script "$cases/loopback.sh" --timeout 500
# ... and the socket API there, through both entry points: it takes over three minutes, so only if named
# ("make check-long")
[ "$flavour" = debug ] || extra light "$p-api-loopback" --topology lo --hosts 1 --module ours \
	--script "$cases/api.sh" --env "API=smc ipproto" --timeout 900
# the netlink contract, and invalid requests; SEED and ROUNDS come from the environment. The seed is printed.
run "$p-contract" --topology lo --hosts 1 --module ours --script "$cases/contract.sh" \
	--add "$tests/smc_contract" --env "SEED=${SEED:-$RANDOM}" --env "ROUNDS=${ROUNDS:-16000}" \
	--timeout 600
run "$p-contract-intree" --module ours,intree --mtu 9000 --script "$cases/contract_intree.sh" \
	--add "$tests/smc_contract" --timeout 300
# smc-tools over the same interfaces: SMC_TOOLS=FOLDER check-uml.sh plain uml-smc-tools
extra smc_tools "$p-smc-tools" --timeout 900
run "$p-sysctl" --topology lo --hosts 1 --module ours --script "$cases/sysctl.sh" --timeout 400
run "$p-tools" --module ours "${mtu[@]}" --script "$top/tools/test/vm_tools.sh" \
	--add "$top/tools/smc_run" --add "$top/tools/libsmc_preload.so" \
	--add "$top/tools/libsmc_verify.so" --add "$top/tools/test/sockprobe" --timeout 400
run "$p-policy" --topology netns --module ours --script "$cases/policy.sh" --timeout 500
# metrics of four network namespaces, also judged by promtool
metrics=()
promtool=$("$top/scripts/cache-dir.sh")/promtool
if [ "$flavour" != debug ]; then
	# without a network: the case that needs it is skipped, and says so
	! want "$p-prometheus" || ! scripts/fetch-promtool.sh "$promtool" > /dev/null 2>&1 ||
		metrics=(--add "$promtool/promtool")
	run "$p-prometheus" --topology netns --module ours --script "$cases/prometheus.sh" \
		"${metrics[@]}" --timeout 300
fi
# (in-tree peers see nothing of upgrades in place, here and in the packets of -wire-intree)
run "$p-server" --module ours,intree "${traffic[@]}" --env INTREE=client --env UPGRADE_BYTES=1
run "$p-client" --module intree,ours "${traffic[@]}" --env INTREE=server --env UPGRADE_BYTES=1
# one service for clients of both families at the same time
[ "$flavour" = debug ] || run "$p-mixed" --module ours,intree --mtu 9000 --script "$cases/mixed.sh" \
	--timeout 400

# the last released version on the other host: traffic, a link that is lost; only if named: groups that
# are used again, the packets, traffic without immediate values (-cdc)
old_run()
{
	local why

	! want "$2" || why=$(scripts/build-old.sh "uml-$kernel" 2>&1)
	case $? in
	0)	"$@"
		return ;;
	# a shallow clone, or one with another history: nothing of this tree is at fault
	3)	n=$((n + 1))
		echo "ok $n $2 # SKIP $why" ;;
	*)	not_run "$2" "$why" ;;
	esac
}
if [ "$flavour" != debug ]; then
	old_traffic=(--mtu 9000 "${traffic[@]}" --env
		"TRAFFIC=stream:16 random:4 pingpong:100 urgent:20 connects:100 burst:30 parallel:16 halfclose:256 reset:8192 idle:2")
	old_failover=(--links 2 --mtu 9000 --script "$cases/failover.sh" --env "PATIENCE=$((patience * 2))"
		--timeout 800)
	for pair in ours,old:client:server:removed_2 old,ours:server:client:closing_2; do
		IFS=: read -r modules who announces way <<< "$pair"
		old_run run "$p-old-$who" --module "$modules" "${old_traffic[@]}"
		extra old_run run "$p-old-$who-cdc" --module "$modules" "${old_traffic[@]}" --env WRITE_IMM=0
		extra old_run run "$p-old-reuse-$who" --module "$modules" --script "$cases/reuse.sh" --timeout 500
		old_run run "$p-old-failover-$who" --module "$modules" "${old_failover[@]}" --env "WAYS=$way"
		extra old_run checked "$p-old-wire-$who" wire.py \
			"--announces $announces --foreign $who --streams 1 --bytes 4194304 --name stream" \
			--module "$modules" --script "$cases/wire.sh" --pcap full --timeout 300
		# only if named: "make check-long"
		for which in all:1 cdc:0; do
			extra old_run run "$p-old-failover-$who-${which%:*}" --module "$modules" "${old_failover[@]}" \
				--env "WAYS=removed_2 down_1 closing_2" --env "WRITE_IMM=${which#*:}"
		done
	done
fi

# the module as installed: loaded by the kernel; with IPv6, and on a host without
run "$p-autoload" --topology lo --hosts 1 --module ours --script "$cases/autoload.sh" --timeout 400
run "$p-no-ipv6" --topology lo --hosts 1 --module ours --append ipv6.disable=1 \
	--script "$cases/autoload.sh" --timeout 400

# memory is registered while packets are reordered
[ "$flavour" = debug ] || run "$p-reordered" --topology netns --virtual-time --mtu 9000 --module ours \
	--script "$cases/reordered.sh" --timeout 1300

# one group serves many connections; nothing leaks
run "$p-reuse" --module ours --script "$cases/reuse.sh" --timeout 500

# a host loses its module without a message; its peer ends the groups
run "$p-groups-lost" --module ours --script "$cases/groups.sh" --timeout 400
run "$p-groups-intree" --module ours,intree --script "$cases/groups.sh" --env INTREE=y --timeout 400

# this module and the in-tree one, one after the other and side by side; the last released one and this
# one, by the steps of a page
if [ "$flavour" != debug ]; then
	built=$top/build/$(basename "$(readlink -f \
		"$("$top/scripts/cache-dir.sh")/kernels/uml-$kernel")")$ours
	old_run run "$p-upgrading" --module ours,old --script "$cases/upgrading.sh" --add "$built/smc.ko" \
		--add "$built/smc_diag.ko" --add "$top/Documentation/upgrading.rst" --timeout 400
	extra run "$p-order" --module ours,intree --script "$cases/order.sh" --add "$built/smc.ko" \
		--add "$built/smc_diag.ko" --timeout 300
fi

# versions 1 and 2, IPv4 and IPv6
run "$p-versions" --topology netns --module ours --script "$cases/versions.sh" --timeout 500
plain_extra run "$p-versions-intree" --module ours,intree --script "$cases/versions.sh" --env INTREE=y \
	--timeout 300

# every DMA mapping is undone and every call of the DMA API is correct; planted faults are found.
# Only the debug kernel checks this.
if [ "$flavour" = debug ]; then
	dma=$top/build/dma-uml-debug
	if want debug-dma || want debug-dma-wr; then
		selftests/vm/plant-dma.sh uml-debug "$dma" buf_unmap wr_unmap || rc=1
	fi
	dma_run=(--hosts 1 --module ours --ours "$dma/ours" --add "$dma/t"
		--script "$cases/dma.sh" --env "PATIENCE=$patience" --timeout 900)
	run debug-dma "${dma_run[@]}" --env PLANTS=buf_unmap
	run debug-dma-wr "${dma_run[@]}" --env CLEAN=bounces --env PLANTS=wr_unmap
fi

# a peer without receives: this test RNIC can delay completions, Soft-RoCE cannot
if [ "$flavour" = plain ]; then
	dma=$top/build/dma-uml-$kernel
	! want "$p-not-ready" || selftests/vm/plant-dma.sh "uml-$kernel" "$dma" none || rc=1
	run "$p-not-ready" --hosts 1 --module ours --add "$dma/t" --script "$cases/dma.sh" \
		--env "CLEAN=not_ready:300 unload:60" --env PLANTS= --env "PATIENCE=$patience" \
		--timeout 400
fi

# the packets on the wire
checked "$p-wire" wire.py "--native --streams 1 --bytes 4194304 --name stream" --module ours \
	--script "$cases/wire.sh" --env WIRE=stream --pcap full --timeout 300
# ... towards an in-tree host, too: it gets nothing that is for native peers only
[ "$flavour" = debug ] || checked "$p-wire-intree" wire.py \
	"--announces none --foreign client --streams 1 --bytes 4194304 --name stream" --module ours,intree \
	--script "$cases/wire.sh" --env INTREE=client --env UPGRADE_BYTES=1 --pcap full --timeout 300
# ... and their DSCP, of the connection that made the group
class=(--module ours --script "$cases/wire.sh" --env WIRE=class --pcap full --timeout 300)
class_words="--native --streams 2 --bytes 4194304 --client-tos 0x28 --server-tos 0xb8"
[ "$flavour" = debug ] ||
	checked "$p-wire-class" wire.py "$class_words --further $out/$p-wire-class/link1.pcap --name class" \
		--links 2 "${class[@]}"
[ "$flavour" = debug ] ||
	checked "$p-wire-class6" wire.py "$class_words --client fd00::2 --server fd00::1 --name class6" \
		"${class[@]}" --env FAMILY=smc6

# peers that cannot be reached over RDMA, in virtual time
[ "$flavour" = debug ] || run "$p-negcache" --topology netns --virtual-time --module ours \
	--script "$cases/negcache.sh" --add "$tests/smc_load" --timeout 400

# short connections make the next ones TCP for a time, in virtual time
[ "$flavour" = debug ] || run "$p-autosmc" --topology netns --virtual-time --module ours \
	--script "$cases/autosmc.sh" --timeout 300
# ... and with an in-tree peer, as client and as server: with real times, of two kernels
[ "$flavour" = debug ] || run "$p-autosmc-intree" --module ours,intree \
	--script "$cases/autosmc.sh" --env INTREE=y --timeout 200
# connections that begin as TCP and change over in mid-stream; in virtual time, else it depends on the
# host which of two messages is the first
[ "$flavour" = debug ] || run "$p-upgrade" --topology netns --virtual-time --module ours "${mtu[@]}" \
	--script "$cases/upgrade.sh" --env RATE=200mbit --timeout 900
# ... and lose one of two links meanwhile
[ "$flavour" = debug ] || run "$p-upgrade-failover" --topology netns --virtual-time --links 2 --module ours "${mtu[@]}" \
	--script "$cases/upgrade.sh" --env RATE=200mbit --env "UPGRADE_OF=failover:600 unload:60" --timeout 900
[ "$flavour" = plain ] || extra run "$p-upgrade" --topology netns --module ours "${mtu[@]}" \
	--script "$cases/upgrade.sh" --timeout 900 --env "PATIENCE=$patience"

# a peer whose RNIC gets nothing any more, in virtual time: registrations do not wait for it
[ "$flavour" = debug ] || run "$p-deaf" --topology netns --virtual-time --module ours \
	--script "$cases/deaf.sh" --timeout 400

# failures and hostile peers. They wait for deadlines most of the time, but not on the debug kernel
waits=light
limit=600
[ "$flavour" != debug ] || { waits=run; limit=1000; }
light "$p-evil" --module ours --script "$cases/evil.sh" --timeout 900
$waits "$p-evil-link" --module ours --script "$cases/evil_link.sh" \
	--add "$tests/smc_evil_link" --timeout 1000
# ... and as a server that upgrades in place, and waits for a minute until the client begins: in virtual time;
# on the debug kernel only if named
patient=(--topology netns --virtual-time)
[ "$flavour" != debug ] || patient=()
$by_name run "$p-evil-link-upgrade" "${patient[@]}" --module ours --script "$cases/evil_link.sh" \
	--add "$tests/smc_evil_link" --env UPGRADE_BYTES=1 --env EVIL_ONLY=upgrade --timeout 400
# ... and a hostile server: this module is its client
$waits "$p-evil-served" --links 4 --module ours --script "$cases/evil_link.sh" \
	--add "$tests/smc_evil_link" --env SERVED=y --timeout "$limit"
# ... and without immediate values (-cdc): attacks of peers that claim to be native; all attacks only
# if named
for which in evil-link evil-served; do
	served=()
	[ "$which" = evil-link ] || served=(--links 4 --env SERVED=y)
	evil=("${served[@]}" --module ours --script "$cases/evil_link.sh" --add "$tests/smc_evil_link"
		--env WRITE_IMM=0)
	[ "$flavour" = debug ] || run "$p-$which-cdc" "${evil[@]}" --env EVIL_ONLY=marked_ --timeout 300
	extra run "$p-$which-cdc-all" "${evil[@]}" --timeout 1000
done
# the module is removed while connections close, and during handshakes
run "$p-unload" --module ours --script "$cases/unload.sh" --add "$tests/bench/smc_hold" \
	--add "$top/scripts/load.sh" --add "$top/scripts/unload.sh" --timeout 610
# many clients at once: waits and admission
run "$p-load" --topology netns --module ours --script "$cases/load.sh" \
	--add "$tests/smc_load" --timeout 500 "${load[@]}"
[ "$flavour" = debug ] || run "$p-load-time" --topology netns --virtual-time --module ours \
	--script "$cases/load.sh" --add "$tests/smc_load" --env LOAD=overflow:90 --timeout 200
# unmodified programs of Debian: a few; all of them by "make check-programs"
some_programs=$(sed 's/#.*//' "$vm/programs.txt")
all_programs=$(sed 's/#.*//' "$vm/programs.txt" "$vm/programs-all.txt")
programs=(--topology netns --module ours --mem 2048 --script "$cases/programs.sh" --add "$vm/programs"
	--add "$top/tools/smc_run" --add "$top/tools/libsmc_preload.so" --timeout 1200)
extra rooted "$p-programs" "programs $some_programs" "${programs[@]}" \
	--env "PROGRAMS=redis nginx_reuseport https ssh"
extra rooted "$p-programs-all" "programs $all_programs" "${programs[@]}"
# ... and CPython's own tests, compared with TCP, in virtual time: they wait for many deadlines
[ "$flavour" = debug ] || extra rooted "$p-suites" "debian-12 python3 libpython3.11-testsuite" \
	--topology lo --hosts 1 --module ours --virtual-time --mem 1024 --script "$cases/suites.sh" --add "$vm/programs/suite.py" \
	--add "$top/tools/smc_run" --add "$top/tools/libsmc_preload.so" --timeout 1200
# network set-ups of containers, in both modes of the RDMA core
for mode in shared exclusive; do
	[ "$flavour" = debug ] || run "$p-containers-$mode" --module ours \
		--script "$cases/containers.sh" --env "RDMA_NETNS=$mode" --timeout 700
done
# the page for Kubernetes: an OCI runtime starts containers from what the manifests say
if [ "$flavour" != debug ]; then
	oci=$top/build/oci
	! want "$p-oci" || "$vm/oci.py" "$oci" || rc=1
	run "$p-oci" --module ours --script "$cases/oci.sh" --add "$oci" --add /usr/bin/crun \
		--add "$top/tools/smc_run" --add "$top/tools/libsmc_preload.so" --timeout 700
fi
# choice of the RNIC, and devices that change
$waits "$p-devices" --topology netns --links 3 --module ours --script "$cases/devices.sh" \
	--timeout 2400
# ... when each host has two equal routes, in virtual time: a first contact may fail
[ "$flavour" = debug ] || run "$p-ecmp" --topology netns --virtual-time --module ours \
	--script "$cases/ecmp.sh" --timeout 400
# the links of groups
run "$p-links" --topology netns --links 2 --module ours --script "$cases/links.sh" \
	--add "$tests/bench/smc_hold" --timeout 750
# ... with a third RNIC, between which the operator chooses
run "$p-links-named" --topology netns --links 3 --module ours --script "$cases/links.sh" \
	--env "LINKS_OF=named:200 unload:60" --timeout 300
# ... in virtual time: latencies, writers without rings, and links that are lost again and again
[ "$flavour" = debug ] || run "$p-links-time" --topology netns --virtual-time --links 2 \
	--module ours --script "$cases/links.sh" --add "$tests/bench/smc_hold" --env TIMED=y \
	--env "LINKS_OF=policies:200 rings:150 forgets:2400" --timeout 300
# (the debug kernel takes too long for seventeen RNICs)
[ "$flavour" = debug ] || run "$p-many-links" --topology netns --module ours \
	--script "$cases/many_links.sh" --timeout 700
# an in-tree peer drops the RMBs that this module withdraws
run "$p-links-server" --links 2 --module ours,intree --script "$cases/links.sh" \
	--env INTREE=client --env LINKS_OF=intree_gives_back:120 --timeout 200
run "$p-links-client" --links 2 --module intree,ours --script "$cases/links.sh" \
	--env INTREE=server --env LINKS_OF=intree_gives_back:120 --timeout 200
# netlink events about links and groups
run "$p-events" --topology netns --links 2 --module ours --script "$cases/events.sh" \
	--env "EVENTS=life:150 again:150 fallback:60" --timeout 400
# more events in a second than the limit: in virtual time, since a slow host does not get there
[ "$flavour" = debug ] || run "$p-events-time" --topology netns --links 2 --virtual-time \
	--module ours --script "$cases/events.sh" --env "EVENTS=storm:120 unheard:120" --timeout 300
[ "$flavour" = debug ] || run "$p-events-storm" --topology lo --hosts 1 --virtual-time \
	--module ours --script "$cases/events_storm.sh" --timeout 400
# ... and its second port goes down and comes up
run "$p-links-port-client" --links 2 --module ours,intree --script "$cases/links.sh" \
	--env INTREE=client --env "LINKS_OF=intree_port:200 unload:60" --timeout 260
plain_extra run "$p-links-port-server" --links 2 --module intree,ours --script "$cases/links.sh" \
	--env INTREE=server --env "LINKS_OF=intree_port:200 unload:60" --timeout 260
# (the driver between two instances cannot take its link down and up)
run "$p-linkdown" --topology netns --module ours --script "$cases/linkdown.sh" \
	--add "$tests/smc_lend" --timeout 700

# connections that lose a link and continue over another one; later this module's server has one
# RNIC and its in-tree client two
run "$p-failover" --topology netns --links 2 --mtu 9000 --module ours --script "$cases/failover.sh" \
	--env "WAYS=removed_1 down_1 down_2 silent stalled_1 stalled_2 ordered_1 ordered_2 replugged back_2 stay_2 closing_1 closing_2" \
	--env STREAMS=8 --env "PATIENCE=$((patience * 2))" --timeout 1500
# the same while the send rings grow: at this rate the streams need some 2 s for eight rings each
early=(--topology netns --links 2 --mtu 9000 --module ours --script "$cases/failover.sh"
	--env "WAYS=removed_1 removed_2 down_1 down_2" --env HOLD=20mbit --env EARLY=2000000
	--env STREAMS=8 --env PINGPONGS=1 --env MIB=8 --env "PATIENCE=$((patience * 2))" --timeout 600)
run "$p-failover-early" "${early[@]}"
extra run "$p-failover-early-cdc" "${early[@]}" --env WRITE_IMM=0
# ... and without immediate values (-cdc): some ways, all of them and the other runs only if named
[ "$flavour" = debug ] || run "$p-failover-cdc" --topology netns --links 2 --mtu 9000 --module ours \
	--script "$cases/failover.sh" --env WRITE_IMM=0 --env "WAYS=removed_1 stalled_2 closing_1" \
	--env "PATIENCE=$((patience * 2))" --timeout 560
extra run "$p-failover-cdc-all" --topology netns --links 2 --mtu 9000 --module ours \
	--script "$cases/failover.sh" --env WRITE_IMM=0 \
	--env "WAYS=removed_1 removed_2 down_1 down_2 silent stalled_1 stalled_2 ordered_1 ordered_2 replugged back_2 stay_2 closing_1 closing_2" \
	--env STREAMS=8 --env "PATIENCE=$((patience * 2))" --timeout 1600
extra run "$p-failover-three-cdc" --topology netns --links 3 --mtu 9000 --module ours \
	--script "$cases/failover.sh" --env WRITE_IMM=0 --env "WAYS=removed_two back_2" \
	--env STREAMS=8 --env "PATIENCE=$((patience * 2))" --timeout 560
extra run "$p-failover-pages-cdc" --topology netns --links 2 --mtu 9000 --module ours \
	--script "$cases/failover.sh" --env WRITE_IMM=0 --env PAGES=y \
	--env "WAYS=removed_1 removed_2 down_2 stalled_1 stalled_2" \
	--env "PATIENCE=$((patience * 2))" --timeout 700
# towards in-tree hosts the setting must have no effect
extra run "$p-failover-intree-cdc" --links 2 --mtu 9000 --module ours,intree \
	--script "$cases/failover.sh" --env INTREE=client --env MIB=32 --env WRITE_IMM=0 \
	--env WAYS=ordered_1 --env "PATIENCE=$((patience * 2))" --timeout 560
extra run "$p-failover-client-cdc" --links 2 --mtu 9000 --module intree,ours \
	--script "$cases/failover.sh" --env INTREE=server --env MIB=32 --env WRITE_IMM=0 \
	--env WAYS=removed_2 --env "PATIENCE=$((patience * 2))" --timeout 560
# three links, two of them lost in quick succession
plain_extra run "$p-failover-three" --topology netns --links 3 --mtu 9000 --module ours \
	--script "$cases/failover.sh" --env "WAYS=removed_two back_2" --env STREAMS=8 \
	--env "PATIENCE=$((patience * 2))" --timeout 560
# two links, while requests read pages that only they reference
ways="removed_1 down_2 stalled_2"
[ "$flavour" = plain ] || ways="removed_1 removed_2 down_2 stalled_1 stalled_2"
run "$p-failover-pages" --topology netns --links 2 --mtu 9000 --module ours --script "$cases/failover.sh" \
	--env "WAYS=$ways" --env PAGES=y --env "PATIENCE=$((patience * 2))" \
	--timeout 700
# after their link was cut, readers on either side do nothing for an hour of virtual time
hour=(--topology netns --virtual-time --links 2 --mtu 9000 --module ours --script "$cases/failover.sh"
	--env "WAYS=stalled_1 stalled_2" --env STALL_FOR=3600 --env DELAY=1 --timeout 400)
[ "$flavour" = debug ] || run "$p-failover-hour" "${hour[@]}"
[ "$flavour" = debug ] || extra run "$p-failover-hour-cdc" "${hour[@]}" --env WRITE_IMM=0
# ... and for STALL_FOR seconds (from the environment) with in-tree peers: only if named
stall_for=${STALL_FOR:-180}
stall=(--links 2 --mtu 9000 --script "$cases/failover.sh" --env MIB=32 --env "STALL_FOR=$stall_for"
	--env "PATIENCE=$((patience * 2))" --timeout $((600 + stall_for)))
for way in stalled_1 stalled_2; do
	extra run "$p-failover-stall-server-$way" --module ours,intree "${stall[@]}" \
		--env INTREE=client --env "WAYS=$way"
	extra run "$p-failover-stall-client-$way" --module intree,ours "${stall[@]}" \
		--env INTREE=server --env "WAYS=$way"
done
# links that appear and disappear with in-tree peers, whose module does not always unload: only if named
intree="intree_returns:240 intree_operator:240 intree_group_ends:180 intree_unloads:180 unload:60"
extra run "$p-links-intree-client" --links 2 --module ours,intree --script "$cases/links.sh" \
	--env INTREE=client --env ONE_SUBNET=y --env "LINKS_OF=$intree" --timeout 500
extra run "$p-links-intree-server" --links 2 --module intree,ours --script "$cases/links.sh" \
	--env INTREE=server --env ONE_SUBNET=y --env "LINKS_OF=$intree" --timeout 500
# (not removed_2: an in-tree host that loses a device corrupts its own stream, see compat.rst)
run "$p-failover-intree-silent" --links 2 --mtu 9000 --module ours,intree \
	--script "$cases/failover.sh" --env INTREE=client --env BRIDGE=1 --env WAYS=silent \
	--env "PATIENCE=$((patience * 2))" --timeout 560
plain_extra run "$p-failover-intree-ordered" --links 2 --mtu 9000 --module ours,intree \
	--script "$cases/failover.sh" --env INTREE=client --env MIB=32 --env WAYS=ordered_1 \
	--env "PATIENCE=$((patience * 2))" --timeout 560
# this module's client, an in-tree server, two RNICs each. One run per case, because the in-tree
# module hangs when a link returns to a device that is being removed. The first transfers must
# still run when the last one begins.
for way in removed_2 ordered_2 silent stalled_1; do
	level_of=
	case $way in
	silent|stalled_1) level_of=plain_extra ;;
	esac
	$level_of run "$p-failover-client-$way" --links 2 --mtu 9000 --module intree,ours \
		--script "$cases/failover.sh" --env INTREE=server --env MIB=32 \
		--env "WAYS=$way" --env "PATIENCE=$((patience * 2))" --timeout 560
done
# links that flap at random; FLAPS comes from the environment ("make check-long": many). At this
# rate the transfers outlast their start, on a slow host as well: a flap counts only while some run
flaps=${FLAPS:-4}
flap_size=(--env STREAMS=32 --env PINGPONGS=32 --env MIB=4 --timeout $((300 + flaps * 30)))
[ "$flavour" != debug ] ||
	flap_size=(--env STREAMS=8 --env PINGPONGS=8 --env MIB=2 --timeout $((900 + flaps * 60)))
flap_size+=(--env WAYS=flaps --env "FLAPS=$flaps" --env "LIMIT=$((240 + flaps * 30))"
	--env "PATIENCE=$((patience * 4))" --env "NETEM=rate 40mbit")
run "$p-flaps" --topology netns --links 2 --mtu 9000 --module ours \
	--script "$cases/failover.sh" "${flap_size[@]}"
extra run "$p-flaps-cdc" --topology netns --links 2 --mtu 9000 --module ours \
	--script "$cases/failover.sh" "${flap_size[@]}" --env WRITE_IMM=0
# ... while connections begin as TCP and change over
[ "$flavour" = debug ] || extra run "$p-flaps-upgrade" --topology netns --links 2 --mtu 9000 --module ours \
	--script "$cases/failover.sh" "${flap_size[@]}" --env UPGRADE_BYTES=1
# ... on bad networks, only if named: every packet is delayed, or one in 1000 is lost
for netem in "loss 0.1%" "delay 1ms"; do
	extra run "$p-flaps-${netem%% *}" --topology netns --links 3 --mtu 9000 \
		--module ours --script "$cases/failover.sh" "${flap_size[@]}" --env "NETEM=rate 40mbit $netem"
done
[ "$flavour" != debug ] || extra run debug-flaps-2cpu --cpus 2 --topology netns --links 2 --mtu 9000 \
	--module ours --script "$cases/failover.sh" "${flap_size[@]}"

# calls fail one by one at fault sites; those of the own TCP option in a module of its own
ends=(--topology lo --hosts 1 --module ours --add "$tests/smc_fault" --add "$tests/smc_timers")
faults=("${ends[@]}" --ours "$top/build/{kver}$ours-fault" --add "$tests/smc_netlink"
	--script "$cases/faults.sh")
if want "$p-faults" || want "$p-timers" || want "$p-groups" || want "$p-calls" ||
	want "$p-ends" || want "$p-clcsock" || want "$p-stress" || want "$p-stress-threads" ||
	want "$p-counters"; then
	scripts/build-modules.sh "${how[@]}" -f -o "$ours-fault" "uml-$kernel" || exit 1
fi
if [ "$flavour" = debug ]; then
	# how connections end, and their clcsock; "steps" sleeps for half an hour of real time
	run "$p-ends" "${faults[@]}" --script "$cases/ends.sh" --add "$tests/smc_ends" \
		--env "ENDS=matrix uring gone disabled holders netdev_gone device_gone netns_gone netns_gone_many driver_gone" \
		--timeout 1500
	run "$p-clcsock" "${faults[@]}" --script "$cases/clcsock.sh" \
		--add "$tests/smc_clcsock" --timeout 900
	# fewer of them, without virtual time: finds leaks and lock order faults in error paths. Then
	# failing allocations in the rest of the kernel during this module's calls
	run "$p-faults" "${faults[@]}" --env FAULT_NTH=1 --env FAULT_FEW=y --timeout 1500
	run "$p-calls" "${faults[@]}" --script "$cases/calls.sh" --timeout 1500
else
	# all of them, and every deadline
	run "$p-faults" "${faults[@]}" --virtual-time --timeout 900
	run "$p-timers" "${faults[@]}" --virtual-time --script "$cases/timers.sh" --timeout 300
	# counters
	run "$p-counters" "${ends[@]}" --ours "$top/build/{kver}$ours-fault" --virtual-time \
		--script "$cases/counters.sh" --add "$tests/smc_counters" --timeout 200
	# how connections end; the clcsock: its end, and to which process it belongs
	run "$p-ends" "${faults[@]}" --virtual-time --script "$cases/ends.sh" \
		--add "$tests/smc_ends" --timeout 1200
	run "$p-clcsock" "${faults[@]}" --virtual-time --script "$cases/clcsock.sh" \
		--add "$tests/smc_clcsock" --timeout 600
	# how groups fill up, are shared and end; both hosts in one instance
	run "$p-groups" --topology netns --virtual-time --module ours \
		--ours "$top/build/{kver}$ours-fault" --script "$cases/groups.sh" \
		--env FAULT=y --env EVIL=y --add "$tests/smc_evil_link" --timeout 400
	if want "$p-faults-option" || { [ "$flavour" = coverage ] && want "$p-option"; }; then
		scripts/build-modules.sh "${how[@]}" -f -t own -o "$ours-fault-own" "uml-$kernel" || exit 1
	fi
	run "$p-faults-option" "${faults[@]}" --ours "$top/build/{kver}$ours-fault-own" --virtual-time \
		--env FAULTS=^OPTION_ --timeout 300
fi

# many connections through all entry points, with random operations: STRESS_FOR comes from the
# environment ("make check-long": ten minutes)
stress=("${faults[@]}" --script "$cases/stress.sh" --mem 1024 --add "$tests/smc_stress"
	--env "PATIENCE=$patience" --env "STRESS_FOR=${STRESS_FOR:-20}"
	--timeout $((${STRESS_FOR:-20} * 2 + 400)))
run "$p-stress" "${stress[@]}" --env STRESS=stress
# ... and several threads per socket: only if named, until 20 runs in a row have passed
cpus=()
[ "$flavour" != debug ] || cpus=(--cpus 2)
extra run "$p-stress-threads" "${cpus[@]}" "${stress[@]}" --env STRESS=threads

# the own TCP option, which this kernel does not need
[ "$flavour" != coverage ] || run "$p-option" --module ours --timeout 300 \
	--ours "$top/build/{kver}$ours-fault-own" --script "$cases/option.sh" --env WANT_OPTION=own \
	--env "OPTION=which agree mapped v6 plain_server plain_client many lost_syn filtered
		no_room netns saved_syn"

[ -z "$list" ] || exit 0
collect
echo "1..$n"
exit "$rc"
