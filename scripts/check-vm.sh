#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests in virtual hosts: this module with itself and with the in-tree family. Prints KTAP,
# one line per case, prefixed with the name of the run.
#
# Usage: check-vm.sh [--list] [RUN...]	(names below; default: all; --list: print the runs, see runs.sh)
# A gate does without "extra" runs: most are cases that User Mode Linux has, too, and is twenty times faster.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
vm=$top/selftests/vm
cd "$top" || exit 1

list=
if [ "${1:-}" = --list ]; then
	list=y
	shift
else
	scripts/install-packages.sh scripts/packages.txt selftests/vm/packages.txt || exit 1
	selftests/vm/fetch.sh 6.12 6.1 7 || exit 1
	scripts/build-modules.sh 6.12 7 || exit 1
	scripts/build-modules.sh -n 6.1 || exit 1
	make -s -C selftests || exit 1
	make -s -C tools || exit 1
fi

# shellcheck source=scripts/runs.sh
. "$top/scripts/runs.sh"
use_pool
runs=("$@")

cases=$vm/cases
out=$("$top/scripts/cache-dir.sh" here)/out
traffic=(--script "$cases/traffic.sh" --timeout 900)
quick="stream:16 random:4 pingpong:20 urgent:10 connects:100 burst:50 parallel:32 halfclose:256 reset:8192 idle:2"

# verified traffic: this module with itself, and with the in-tree family in both roles (-2cpu: one
# processor without KVM, see qemu.py; the debug kernel of User Mode Linux always has two there)
alone ours-2cpu --module ours --cpus 2 --mtu 9000 "${traffic[@]}" --env "TRAFFIC=$quick"
alone server-2cpu --module ours,intree --cpus 2 --mtu 9000 "${traffic[@]}" --env INTREE=client \
	--env "TRAFFIC=$quick"
extra alone client-2cpu --module intree,ours --cpus 2 --mtu 9000 "${traffic[@]}" --env INTREE=server \
	--env "TRAFFIC=$quick"
extra run ours-1cpu --module ours "${traffic[@]}"
run ours-6.1 --module ours --kernel 6.1 "${traffic[@]}" --env "TRAFFIC=$quick"
extra run server-1cpu --module ours,intree "${traffic[@]}" --env INTREE=client
extra run client-1cpu --module intree,ours "${traffic[@]}" --env INTREE=server --env "TRAFFIC=$quick"

# the test bed itself, with the in-tree family on both hosts
run harness --module intree --script "$cases/harness.sh" --mtu 9000 --timeout 200
verify selfcheck "$vm/selfcheck.sh"

built=$top/build/$(basename "$(readlink -f "$("$top/scripts/cache-dir.sh")/kernels/6.12")")
# what the data path costs in instructions, which a busy machine does not change
verify budget scripts/check-budget.sh --ours "$built"

# data races: KCSAN's kernel, on two processors with and without KVM; only if named ("make check-long"). A
# report must not end the host, as others that are not ours may follow (kcsan.py). One access of ours in
# 200 is delayed, and for longer than by default: an emulated processor gets as far as another in 80 us.
if extra want kcsan || extra want kcsan-failover || extra want kcsan-threads || extra want kcsan-selfcheck; then
	selftests/uml/build-kernel.sh kcsan || exit 1
	scripts/build-modules.sh -n kcsan || exit 1
fi
kcsan=(--kernel kcsan --cpus 2 --mem 1024 --pcap off --module ours
	--append "panic_on_warn=0 kcsan.skip_watch=200 kcsan.udelay_task=200 kcsan.udelay_interrupt=50")
# (the detector reports what is planted)
extra verify kcsan-selfcheck "$vm/selfcheck.sh" kcsan
extra alone kcsan "${kcsan[@]}" --mtu 9000 --script "$cases/traffic.sh" --timeout 1200 \
	--env "TRAFFIC=stream:8 random:2 pingpong:50 urgent:10 connects:100 burst:20 parallel:16 halfclose:256 reset:8192"
# ... links that are lost under load, and several threads per socket meanwhile (both ends in one host)
extra alone kcsan-failover --links 2 --mtu 9000 "${kcsan[@]}" --script "$cases/failover.sh" \
	--env "WAYS=removed_1 down_2 back_2" --env STREAMS=2 --env PINGPONGS=2 --env MIB=8 --timeout 1500
extra alone kcsan-threads --hosts 1 --topology lo "${kcsan[@]}" --script "$cases/stress.sh" \
	--add "$top/selftests/smc_stress" --env "STRESS=stress threads" --env PATIENCE=120000 \
	--env "STRESS_FOR=${STRESS_FOR:-60}" --timeout $((${STRESS_FOR:-60} * 4 + 1200))

# a user whose memory never arrives; the kernels of UML have no userfaultfd
run user --module ours --mtu 9000 --mem 1024 --script "$cases/user.sh" --add "$top/selftests/smc_user" \
	--timeout 1100

# first contacts in a row by an in-tree client, and some by this module; 100 only if named ("make check-long")
run firstcontact --module ours,intree --script "$cases/firstcontact.sh" --env AS_SERVER=40 --timeout 660
extra run firstcontact-100 --module ours,intree --script "$cases/firstcontact.sh" --timeout 660

# programs that a cgroup program switches to SMC in the kernel
run cgroup --module ours --script "$cases/cgroup.sh" --add "$top/tools/smc_cgroup" \
	--add "$top/selftests/smc_uring" --timeout 700

# programs of Debian ("make check-programs"); Go programs by smc_cgroup
packages=$(sed 's/#.*//' "$vm/programs.txt" "$vm/programs-all.txt")
programs=(--module ours --mtu 9000 --mem 1024 --timeout 1200
	--script "$cases/programs.sh" --add "$vm/programs" --add "$top/tools/smc_run"
	--add "$top/tools/libsmc_preload.so" --add "$top/tools/smc_cgroup")
extra rooted programs "programs $packages" "${programs[@]}" --env PROGRAMS=go
extra rooted programs-6.1 "programs $packages" "${programs[@]}" --kernel 6.1 \
	--env "PROGRAMS=redis restricted nginx_reuseport https ssh memcached netcat"

# the examples for bpftrace, perf and drgn, with those of Debian
extra rooted observe "debian-12 bpftrace linux-perf python3-drgn" --links 2 --mtu 9000 --pcap off \
	--mem 1024 --module ours --script "$cases/observe.sh" --add "$top/tools/smc_times.bt" \
	--add "$top/tools/smc_objects.py" --timeout 1300

# this module and the in-tree one, one after the other and side by side
extra run order --module ours,intree --script "$cases/order.sh" --add "$built/smc.ko" \
	--add "$built/smc_diag.ko" --timeout 500

# one group serves many connections; nothing leaks
extra run reuse --module ours --script "$cases/reuse.sh" --timeout 500
extra run reuse-6.1 --module ours --kernel 6.1 --script "$cases/reuse.sh" --timeout 500

# the socket API, only if named (User Mode Linux runs more pairs, and TCP to compare with); on two
# processors debug-api-2cpu of check-uml.sh shows more
extra alone api-2cpu --module ours --script "$cases/api.sh" --env API=smc --timeout 900 --cpus 2
# ... on one, through both entry points, over RDMA and after both kinds of fallback
for kernel in 6.12 6.1; do
	extra run "api-$kernel" --module ours --kernel "$kernel" --script "$cases/api.sh" \
		--env "API=smc ipproto smc_to_inet ipproto_to_inet smc_declined ipproto_declined" \
		--timeout 3000
done

# data passes between CPU and RNIC by the rules of the DMA API; planted faults are found
dma=$top/build/dma-6.12
! want dma || selftests/vm/plant-dma.sh 6.12 "$dma" || rc=1
run dma --hosts 1 --pcap off --append swiotlb=force --module ours --ours "$dma/ours" \
	--add "$dma/t" --script "$cases/dma.sh" --timeout 500

# kernels that load signed modules only; by Secure Boot, which adds the firmware's part, only if named
# ("make check-long")
signed=$top/build/signed-6.12
if want signatures || extra want secure-boot || extra want mok; then
	selftests/vm/sign.sh 6.12 "$signed" || rc=1
fi
signatures=(--module ours --script "$cases/signatures.sh" --add "$signed/t" --add "$top/scripts/load.sh"
	--timeout 600)
run signatures --hosts 1 --pcap off "${signatures[@]}"
firmware="-drive if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd"
firmware="$firmware -drive if=pflash,format=raw,unit=1,snapshot=on,file=/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd"
extra run secure-boot "${signatures[@]}" --qemu "$firmware -kernel $signed/vmlinuz" \
	--env "SIGNATURES=secure_boot trusted traffic:120 unload"
# ... and with shim, which enrols a key of the machine's owner: only if named ("make check-long")
extra verify mok "$vm/mok.py" 6.12 "$signed" "$built"

# SELinux in enforcing mode, with Debian's policy, which comes from a tree: only if named ("make check-long")
if extra want selinux && ! selftests/vm/selinux.sh "$top/build/selinux"; then
	not_run selinux "there are no policies"
else
	extra run selinux --module ours --append "security=selinux enforcing=1" --script "$cases/selinux.sh" \
		--add "$top/build/selinux/t" --add /usr/bin/chcon --add "$top/tools/libsmc_preload.so" \
		--timeout 900
fi

# the packets on the wire, checked without the module's help
wire=(--module ours --script "$cases/wire.sh" --pcap full --timeout 300)
extra checked wire-stream wire.py "--native --streams 1 --bytes 4194304 --name stream" "${wire[@]}" \
	--env WIRE=stream
checked wire-connects wire.py "--streams 100 --bytes 1 --few-confirm-rkeys --name connects" \
	"${wire[@]}" --env WIRE=connects
# ... with ECN, which User Mode Linux lacks
checked wire-class wire.py "--native --streams 2 --bytes 4194304 --client-tos 0x28 --server-tos 0xb8 --name class" \
	"${wire[@]}" --env WIRE=class

# network set-ups of containers, with ipvlan, which User Mode Linux lacks
for mode in shared exclusive; do
	extra run "containers-$mode-7" --module ours --kernel 7 --script "$cases/containers.sh" \
		--env "RDMA_NETNS=$mode" --env MORE=ipvlan:180 --timeout 1200
done

# the page for Kubernetes: the container that needs BTF, which User Mode Linux lacks
oci=$top/build/oci
! extra want oci-7 || "$vm/oci.py" "$oci" || rc=1
extra run oci-7 --module ours --kernel 7 --script "$cases/oci.sh" --add "$oci" --add /usr/bin/crun \
	--add "$top/tools/smc_cgroup" --env "OCI=no_module:90 convert:500" --timeout 900

# versions 1 and 2, IPv4 and IPv6
extra run versions-6.1 --module ours --kernel 6.1 --script "$cases/versions.sh" --timeout 500
extra run versions-intree --module ours,intree --script "$cases/versions.sh" --env INTREE=y --timeout 300

# hosts in different subnets, with an IP router, a load balancer or a NAT on the way
routed=(--router --script "$cases/routed.sh" --timeout 500)
run routed --module ours "${routed[@]}"
extra run routed-intree --module ours,intree "${routed[@]}" --env INTREE=y

# the own TCP option on a kernel that has none, checked at both ends and from the packets
option=(--script "$cases/option.sh")
checked option-7 option.py "agree mapped v6 plain_server plain_client many lost_syn lost_synack repeated
	filtered cookies fastopen no_room conntrack nat" --module ours --kernel 7 "${option[@]}" \
	--env WANT_OPTION=own --timeout 500

# ... towards kernels that have one: this module and the in-tree family of 6.12, in both roles
with="agree mapped v6 many lost_syn nat"
checked option-7-6.12 option.py "$with" --module ours --kernel 7,6.12 "${option[@]}" \
	--env "OPTION=$with" --timeout 300
# (an in-tree client uses TCP if its peer's address is v4-mapped)
with="agree many lost_syn"
checked option-7-intree option.py "$with" --module ours,intree --kernel 7,6.12 "${option[@]}" \
	--env INTREE=client --env "OPTION=$with" --timeout 300
with="agree mapped many lost_syn"
checked option-intree-7 option.py "$with" --module intree,ours --kernel 6.12,7 "${option[@]}" \
	--env INTREE=server --env "OPTION=$with" --timeout 300

# BPF programs that decide about the option; their type is in the BTF of the module
run hs-ctrl-7 --hosts 1 --module ours --kernel 7 --script "$cases/hs_ctrl.sh" \
	--add "$top/selftests/smc_hs_ctrl" --timeout 300

# to which process the clcsock belongs, as far as User Mode Linux cannot show it
run clcsock-7 --hosts 1 --module ours --kernel 7 --script "$cases/clcsock.sh" \
	--add "$top/selftests/smc_clcsock" --env "CLCSOCK=destroyed destroyed_listener by_cgroup" --timeout 300

# connections that lose a link and continue over another one, step by step, by trace points
failover=(--links 2 --mtu 9000 --pcap off --module ours --script "$cases/failover.sh"
	--env STREAMS=2 --env PINGPONGS=2 --env TRACE=y --timeout 600)
run failover "${failover[@]}" --env WAYS=down_1
run failover-6.1 --kernel 6.1 "${failover[@]}" --env WAYS=removed_2
# ... on PREEMPT_RT, where spinlocks sleep and softirqs are preempted (unload-rt and linkdown-rt are below)
if extra want ours-rt || extra want failover-rt || extra want unload-rt || extra want linkdown-rt; then
	selftests/vm/fetch.sh --no-host 6.12-rt || exit 1
	scripts/build-modules.sh -n 6.12-rt || exit 1
fi
extra run ours-rt --module ours --kernel 6.12-rt "${traffic[@]}" --env "TRAFFIC=$quick"
extra run failover-rt --kernel 6.12-rt "${failover[@]}" --env WAYS=removed_2
# ... links that flap at random (User Mode Linux runs them with all transfers); FLAPS comes from the
# environment
flaps=${FLAPS:-4}
flap=(--links 2 --mtu 9000 --pcap off --module ours --script "$cases/failover.sh" --env WAYS=flaps
	--env "FLAPS=$flaps" --env MIB=8 --env PATIENCE=240000 --env "LIMIT=$((600 + flaps * 40))"
	--timeout $((900 + flaps * 40)))
extra run flaps "${flap[@]}" --env STREAMS=8 --env PINGPONGS=8
extra alone flaps-2cpu --cpus 2 "${flap[@]}" --env STREAMS=8 --env PINGPONGS=8
extra run flaps-6.1 --kernel 6.1 "${flap[@]}" --env STREAMS=4 --env PINGPONGS=4

# ... on arm64 with pages of 16 KiB, emulated, with programs of its own; only if named ("make check-long")
arm64=(selftests/smc_traffic selftests/smc_netlink tools/smcctl)
if extra want ours-arm64 || extra want lo-arm64; then
	scripts/install-packages.sh "$vm/packages-arm64.txt" || exit 1
	selftests/vm/fetch.sh --no-host 6.12-arm64 || exit 1
	scripts/build-modules.sh -n 6.12-arm64 || exit 1
	selftests/vm/arm64.sh "${arm64[@]}" || exit 1
fi
of_this_machine=("${programs_of_hosts[@]}")
programs_of_hosts=("${arm64[@]/#/--add=$top/build/arm64/}")
extra run ours-arm64 --module ours --kernel 6.12-arm64 "${traffic[@]}" --env "TRAFFIC=$quick"
extra run lo-arm64 --hosts 1 --topology lo --pcap off --mem 1024 --module ours --kernel 6.12-arm64 \
	--script "$cases/lo.sh" --timeout 900
programs_of_hosts=("${of_this_machine[@]}")

# trace points of a connection, a lost link and a fallback
run trace --links 2 --mtu 9000 --pcap off --module intree --script "$cases/trace.sh" \
	--add "$built/smc.ko" --add "$built/smc_diag.ko" --add "$top/tools/smc_trace" --timeout 540

# unmodified smc-tools, with this module and the in-tree one: SMC_TOOLS=FOLDER check-vm.sh smc-tools
extra smc_tools smc-tools --mem 768 --timeout 1200

# failures and hostile peers
extra run evil --module ours --script "$cases/evil.sh" --timeout 900
extra run evil-link --module ours --script "$cases/evil_link.sh" --timeout 1000 \
	--add "$top/selftests/smc_evil_link"
# (what the in-tree family does where UDP port 4791 is filtered: measured, to compare with negcache of User Mode Linux)
extra run filtered-intree --module intree --script "$cases/negcache.sh" --env INTREE=y --timeout 400
unload=(--module ours --script "$cases/unload.sh" --add "$top/selftests/bench/smc_hold"
	--add "$top/scripts/load.sh" --add "$top/scripts/unload.sh" --timeout 610)
extra run unload "${unload[@]}"
extra run unload-rt --kernel 6.12-rt "${unload[@]}"
linkdown=(--module ours --script "$cases/linkdown.sh" --add "$top/selftests/smc_lend" --timeout 700)
extra run linkdown "${linkdown[@]}"
extra run linkdown-rt --kernel 6.12-rt "${linkdown[@]}"

[ -z "$list" ] || exit 0
collect
echo "1..$n"
exit "$rc"
