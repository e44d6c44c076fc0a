# SPDX-License-Identifier: GPL-2.0-only
# Targets for people. What the kernel's build system reads is in Kbuild.

KDIR ?= /lib/modules/$(shell uname -r)/build
TOP  := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))

# BTF of modules needs pahole and the kernel's vmlinux; without either the
# kernel build would stop or warn, and the module works without BTF as well.
ifeq ($(shell command -v pahole 2>/dev/null),)
NOBTF := CONFIG_DEBUG_INFO_BTF_MODULES=
endif
ifeq ($(wildcard $(KDIR)/vmlinux),)
NOBTF := CONFIG_DEBUG_INFO_BTF_MODULES=
endif

# STRIPPED=y: for packages, which strip the modules: only BTF is made from debugging information then
ifneq ($(and $(STRIPPED),$(NOBTF)),)
NOBTF += CONFIG_DEBUG_INFO=
endif

KMAKE = $(MAKE) -C $(KDIR) M=$(TOP) $(NOBTF)
RELEASE = $(shell cat $(KDIR)/include/config/kernel.release 2> /dev/null)
MODDIR = $(DESTDIR)/lib/modules/$(RELEASE)/updates
# In a staging folder depmod would see these modules alone: packages run it when they are installed.
INSTALL_TO = INSTALL_MOD_DIR=updates $(if $(DESTDIR),INSTALL_MOD_PATH=$(abspath $(DESTDIR)) DEPMOD=true)

.PHONY: all modules clean install uninstall install-dkms deb rpm help load unload demo check check-static matrix check-docs check-unit prove \
	htmldocs check-layers check-packages coverage check-vm check-debug check-long check-programs repeat vm bench bench-plot profile bench-failover fuzz tools

all: modules

## modules: build smc.ko, smc_diag.ko and smc_lo.ko for KDIR (default: the running kernel)
modules:
	@$(TOP)/scripts/kernel-supported.sh $(KDIR)
	+$(KMAKE) W=$(W) modules

## tools: build smc_run's library, smc_cgroup and smcctl
tools:
	+$(MAKE) -C tools

# Debian's headers have no System.map, without which modules_install leaves depmod out.
## install: modules for the kernel of KDIR (in its updates/ folder), tools, units, samples; DESTDIR=, PREFIX=
install: modules tools
ifeq ($(DESTDIR),)
	@$(TOP)/scripts/keep-ism.sh
endif
	+$(KMAKE) $(INSTALL_TO) modules_install
	+$(MAKE) -C tools install
ifeq ($(DESTDIR),)
	depmod $(RELEASE)
	@$(TOP)/scripts/unload.sh --replaced
endif

## uninstall: remove what install has installed; unloads the modules if nothing uses them
uninstall:
	@[ -n "$(RELEASE)" ] || { echo "no headers of a kernel in $(KDIR), so whose modules? Give KDIR=, or remove" \
		"smc*.ko* in /lib/modules/RELEASE/updates, run depmod RELEASE and make -C tools uninstall." >&2; exit 1; }
	rm -f $(MODDIR)/smc.ko* $(MODDIR)/smc_diag.ko* $(MODDIR)/smc_lo.ko*
	[ ! -d $(MODDIR) ] || rmdir --ignore-fail-on-non-empty $(MODDIR)
	+$(MAKE) -C tools uninstall
ifeq ($(DESTDIR),)
	depmod $(RELEASE)
	@$(TOP)/scripts/unload.sh --removed
endif

## deb: packages for Debian, in build/packages (needs dpkg-dev debhelper dh-dkms)
deb:
	@$(TOP)/scripts/make-packages.sh deb

## rpm: packages with the modules for KDIR, and with their sources for DKMS, in build/packages (needs rpmbuild)
rpm:
	@KDIR=$(KDIR) $(TOP)/scripts/make-packages.sh rpm

# the sources of the modules, as DKMS builds them: DKMS_DIR
DKMS_DIR = $(DESTDIR)/usr/src/smc-$(file <$(TOP)/VERSION)
install-dkms:
	cd $(TOP) && { $(TOP)/scripts/sources.sh; find include -name '*.h'; echo Kbuild Makefile VERSION \
		scripts/kernel-supported.sh scripts/unload.sh; } | xargs -n 1 | sort -u | \
		cpio -pdm --quiet $(abspath $(DKMS_DIR))
	sed 's/@VERSION@/$(file <$(TOP)/VERSION)/' $(TOP)/packaging/dkms.conf > $(DKMS_DIR)/dkms.conf

## load: load the modules on this host
load:
	@$(TOP)/scripts/load.sh $(TOP)

## unload: remove the modules from this host
unload:
	@$(TOP)/scripts/unload.sh

## demo: two virtual hosts exchange real data over SMC-R (needs root, Debian 12)
demo:
	@$(TOP)/scripts/demo.sh

## check: the gate, most tests (needs root for package installation, Debian 12); BED=uml: those in User Mode Linux
check:
ifeq ($(BED),uml)
	@$(TOP)/scripts/check.sh uml
else
	@$(TOP)/scripts/check.sh
endif

## check-debug: the tests in a kernel with KASAN, lockdep, kmemleak and more
check-debug:
	@$(TOP)/scripts/check.sh debug

## check-static: style, static analysis, layers, three kernels with gcc, one with clang
check-static:
	@$(TOP)/scripts/check-static.sh

## matrix: build the modules for each kernel of KDIRS: names of selftests/vm/fetch.sh, or folders; default: Debian's
matrix:
	@$(TOP)/scripts/check-matrix.sh $(KDIRS)

## check-docs: the pages of Documentation/ against the code, and their links
check-docs:
	@$(TOP)/scripts/check-docs.sh

## check-unit: protocol unit, model and short fuzz tests, foreign byte orders
check-unit:
	@$(TOP)/scripts/check-unit.sh

## prove: proofs of the parsers, cursors and state tables, and litmus tests (see Documentation/testing.rst)
prove:
	@$(TOP)/scripts/prove.sh

## htmldocs: Documentation/ as HTML in build/htmldocs (needs python3-sphinx python3-myst-parser)
htmldocs:
	sphinx-build -q -b html $(TOP)/Documentation $(TOP)/build/htmldocs

## check-layers: prove the layering from the object files
check-layers:
	@$(TOP)/scripts/check-layers.py

## check-packages: packages are made and installed in a Debian tree; DKMS builds for 6.1 (for two: make check-long)
check-packages:
	@$(TOP)/scripts/check-packages.sh

## check-vm: the tests in virtual hosts
check-vm:
	@$(TOP)/scripts/check-vm.sh

## vm: two virtual hosts with a shell each
vm:
	@$(TOP)/selftests/vm/shell.sh

## coverage: which code of the module the tests reach (see Documentation/testing.rst)
coverage:
	@$(TOP)/scripts/coverage.sh

## bench: TCP, in-tree SMC, ours and raw verbs on two virtual hosts; BED=uml: in UML; BED=insn: instructions; PEERS=1: with in-tree peers; insn: ROWS=A,B, ROWS=scale
bench: export BENCH_ROWS := $(or $(ROWS),$(BENCH_ROWS))
bench: export BENCH_CONNS := $(or $(CONNS),$(BENCH_CONNS))
bench:
	@$(TOP)/scripts/bench.sh $(if $(BED),--bed $(BED)) $(if $(PEERS),--peers)

## bench-plot: pictures of the last make bench BED=insn ROWS=scale, in PLOTS (default build/)
bench-plot:
	@$(TOP)/scripts/install-packages.sh $(TOP)/selftests/bench/packages.txt
	@$(TOP)/selftests/bench/plot.py $(TOP)/build/bench.json $(or $(PLOTS),$(TOP)/build)

## profile: the functions that a row of the bench spends its instructions in: ROW=pingpong_1
profile:
	@BENCH_ROWS=$(or $(ROW),pingpong_1) $(TOP)/scripts/bench.sh --bed insn --profile --without tcp

## bench-failover: how long connections stand still when a link is lost
bench-failover:
	@$(TOP)/scripts/bench-failover.sh

## check-long: the demo, 100 random failures of links, readers that do nothing, and 1000 busy sockets, for minutes
check-long: export FLAPS := $(or $(FLAPS),100)
check-long: export STRESS_FOR := $(or $(STRESS_FOR),600)
check-long:
	@$(TOP)/scripts/demo.sh
	@$(TOP)/scripts/check-uml.sh plain uml-flaps uml-flaps-loss uml-flaps-delay uml-flaps-upgrade uml-stress uml-api-more uml-api-loopback \
		uml-links-intree-client uml-links-intree-server \
		uml-failover-stall-server-stalled_1 uml-failover-stall-server-stalled_2 \
		uml-failover-stall-client-stalled_1 uml-failover-stall-client-stalled_2 \
		uml-failover-early-cdc uml-failover-hour-cdc uml-flaps-cdc \
		uml-failover-cdc-all uml-failover-three-cdc uml-failover-pages-cdc uml-failover-intree-cdc \
		uml-failover-client-cdc uml-failover-client-silent uml-failover-client-stalled_1 \
		uml-old-client-cdc uml-old-server-cdc uml-old-reuse-client uml-old-reuse-server \
		uml-old-wire-client uml-old-wire-server \
		uml-two uml-order uml-versions-intree uml-failover-three uml-failover-intree-ordered \
		uml-links-port-server \
		uml-old-failover-client-all uml-old-failover-server-all \
		uml-old-failover-client-cdc uml-old-failover-server-cdc \
		uml-evil-link-cdc-all uml-evil-served-cdc-all \
		uml-programs-all uml-suites
	@$(TOP)/scripts/check-uml.sh debug debug-flaps debug-flaps-2cpu debug-stress debug-api-2cpu
	@$(TOP)/scripts/check-vm.sh flaps flaps-2cpu flaps-6.1 ours-1cpu server-1cpu client-1cpu client-2cpu order reuse \
		reuse-6.1 wire-stream versions-intree routed-intree evil evil-link linkdown unload \
		kcsan-selfcheck kcsan kcsan-failover kcsan-threads \
		versions-6.1 firstcontact-100 api-6.12 api-6.1 ours-rt failover-rt unload-rt linkdown-rt \
		ours-arm64 lo-arm64 secure-boot mok selinux oci-7
	@$(TOP)/scripts/check-matrix.sh 6.12-rt
	@$(TOP)/scripts/check-packages.sh vm
	@$(TOP)/scripts/check-packages.sh rpm
	@$(TOP)/scripts/prove.sh
	+@$(MAKE) --no-print-directory -C selftests/unit deep

## repeat: RUN=uml-stress until it has passed N=50 times in a row on this code; resumable, with results in the cache
repeat:
	@$(TOP)/scripts/repeat.sh $(if $(N),-n $(N)) $(RUN)

## check-programs: redis, nginx, PostgreSQL, Java, ... of Debian over SMC; bpftrace and perf look on
check-programs:
	@$(TOP)/scripts/check-uml.sh plain uml-programs-all uml-suites
	@$(TOP)/scripts/check-vm.sh programs programs-6.1 observe

## fuzz: long fuzzing of the protocol parsers
fuzz:
	+$(MAKE) -C selftests/fuzz long

## clean: remove what was built (kernels and the results in .cache stay)
clean:
	+-$(MAKE) -C tools clean
	+-$(MAKE) -C selftests clean
	+-$(MAKE) -C selftests/unit clean
	rm -rf $(TOP)/build
	find $(TOP) -path $(TOP)/.cache -prune -o \( -name '*.o' -o -name '*.ko' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name '.*.cmd' -o -name '*.d' -o -name modules.order \
		-o -name Module.symvers \) -type f -exec rm -f {} +

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' $(MAKEFILE_LIST) | expand -t 16
	@echo
	@echo "KDIR=<kernel headers>  W=1  are understood by: modules install uninstall"
