#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The SELinux policies for cases/selinux.sh, made with Debian's packages: Debian's policy, and the same
# with the policy module of tools/samples/smc.cil.
#
# Usage: selinux.sh OUT
# OUT/t gets debian.policy and smc.policy
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

rm -rf "$1"
mkdir -p "$1/t"
out=$(cd "$1" && pwd)
tree=$("$here/tree.sh" debian-12 selinux-policy-default policycoreutils < /dev/null)
cp "$top/tools/samples/smc.cil" "$out/"
echo '(typeattributeset smc_domain (redis_t))' > "$out/smc_domains.cil"

# In a copy: the tree stays as the packages have made it. (semodule -p: the folder in place of /)
# shellcheck disable=SC2016 # for the shell in the tree
"$top/scripts/in-tree.sh" "$tree" "$out" "" "$out" sh -euc '
	mkdir -p copy/etc copy/var/lib
	cp -a /etc/selinux copy/etc/
	cp -a /var/lib/selinux copy/var/lib/
	cp copy/etc/selinux/default/policy/policy.* t/debian.policy
	semodule -p "$PWD/copy" -s default -n -i smc.cil smc_domains.cil
	cp copy/etc/selinux/default/policy/policy.* t/smc.policy' > "$out/log" 2>&1 || { cat "$out/log"; exit 1; }
rm -rf "$out/copy"
