# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Kernels that load signed modules only; see Documentation/selinux-secure-boot.rst. What make load says there,
# and with Secure Boot also that it loads modules whose key the firmware trusts, and that data passes. /ours has no
# signature; selftests/vm/sign.sh makes the others.
#
# SIGNATURES names the cases to run: by default those without Secure Boot

: "${SIGNATURES:=locked enforced}"
CASES=$SIGNATURES
export CASES SIGNATURES

setup()
{
	mount -t securityfs securityfs /sys/kernel/security || return 1
	setup_net && setup_rxe
}

# refused FOLDER WORDS: load.sh says why, in one line
refused()
{
	! /t/load.sh "$1" > /run/said 2>&1 || fail "the modules of $1 were loaded"
	cat /run/said
	[ ! -e /sys/module/smc ] || fail "smc of $1 is loaded"
	expect "what load.sh says" "$(cat /run/said)" = \
		"smc: smc.ko was refused: this kernel loads only modules with a trusted signature ($state), and $2; see Documentation/selinux-secure-boot.rst."
}

refused_both()
{
	state="lockdown: $1, module.sig_enforce: $2"
	refused /ours "smc.ko has none"
	refused /t/foreign "that of smc.ko is not trusted"
}

case_locked()
{
	echo integrity > /sys/kernel/security/lockdown || fail "no lockdown"
	refused_both integrity N
}

case_enforced()
{
	echo Y > /sys/module/module/parameters/sig_enforce || fail "signatures cannot be enforced"
	refused_both integrity Y
}

# The kernel enforces both by itself.
case_secure_boot()
{
	dmesg | grep 'Secure boot enabled' || fail "not booted by Secure Boot"
	refused_both integrity Y
}

case_trusted()
{
	/t/load.sh /t/trusted || fail "signed modules were refused"
	ours || fail "not this module"
	sync_barrier loaded || exit 1
}

case_traffic()
{
	before
	exchange 1 smc smc stream:2
	expect "bytes written by RDMA" "$(grown tx_write_bytes)" -ge 2097152
	expect_packets 512
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
}
