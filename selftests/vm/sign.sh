#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Signs what cases/signatures.sh needs: our modules with a key that no kernel trusts, and for Secure Boot the
# kernel and our modules with the key that the firmware of the guests trusts (Debian's package ovmf).
#
# Usage: sign.sh SERIES OUT
# OUT/t gets foreign/ and trusted/, with smc.ko, smc_diag.ko and smc_lo.ko; OUT/vmlinuz is the signed kernel, and
# OUT/foreign.der the key that no kernel trusts.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
kernel=$(readlink -f "$("$top/scripts/cache-dir.sh")/kernels/$1")
snakeoil=/usr/share/ovmf/PkKek-1-snakeoil

rm -rf "$2"
mkdir -p "$2/t"
out=$(cd "$2" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# as in Documentation/selinux-secure-boot.rst
openssl req -new -x509 -newkey rsa:2048 -nodes -days 36500 -subj "/CN=smc modules/" -keyout "$tmp/foreign.key" \
	-outform DER -out "$tmp/foreign.der" 2> "$tmp/log" || { cat "$tmp/log"; exit 1; }
cp "$tmp/foreign.der" "$out/"
openssl rsa -in $snakeoil.key -passin pass:snakeoil -out "$tmp/trusted.key" 2> "$tmp/log" ||
	{ cat "$tmp/log"; exit 1; }
openssl x509 -in $snakeoil.pem -outform DER -out "$tmp/trusted.der"
mkdir "$out/t/foreign" "$out/t/trusted"
for m in smc smc_diag smc_lo; do
	# the guests' firmware is slow
	strip --strip-debug -o "$tmp/$m.ko" "$top/build/${kernel##*/}/$m.ko"
	for key in foreign trusted; do
		"$kernel/headers/scripts/sign-file" sha256 "$tmp/$key.key" "$tmp/$key.der" "$tmp/$m.ko" \
			"$out/t/$key/$m.ko"
	done
done
# (sbsign prints that Debian's image has gaps between its sections)
sbsign --key "$tmp/trusted.key" --cert $snakeoil.pem --output "$out/vmlinuz" "$kernel/boot/vmlinuz" > "$tmp/log" 2>&1 ||
	{ cat "$tmp/log"; exit 1; }
