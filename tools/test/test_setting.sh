#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl setting, enable and disable, on the fake host of test/fake_netlink.so and test/fake_host.so.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
sys=$FAKE_PROC/net/smc

squeezed()
{
	"$@" | tr -s ' '
}

echo "KTAP version 1"

echo 1 >"$sys/enabled"
echo 65536 >"$sys/wmem"
echo 4294967295 >"$sys/autocorking_size"
echo >"$sys/hs_ctrl"

# --- setting ---
expect 'setting' 'NAME VALUE
autocorking_size 4294967295
enabled 1
wmem 65536' squeezed ctl normal setting
before=$(ctl normal setting)
echo linkcheck >"$sys/hs_ctrl"
expect 'setting: numbers only' "$before" ctl normal setting
expect 'setting show is the same' "$(ctl normal setting)" ctl normal setting show
expect_match 'setting as JSON' '*"name":"wmem",*"value":65536,*"writable":true*' \
	ctl normal -j setting
expect 'set' '' ctl normal setting set wmem 131072
expect 'set: done' 131072 cat "$sys/wmem"
expect 'set: no such setting' 'smcctl: the loaded smc module has no setting net.smc.colour' \
	ctl normal setting set colour 1
expect_rc 'set: no such setting: status 1' 1 ctl normal setting set colour 1
for words in 'set wmem' 'set wmem 1 2' set bogus; do
	# shellcheck disable=SC2086 # words
	expect_usage "setting $words" 'smcctl: setting is followed by*' ctl normal setting $words
done
expect_usage 'set: a path' "smcctl: '../ipv4/ip_forward' is no name of a setting" \
	ctl normal setting set ../ipv4/ip_forward 1
expect_usage 'set: text' "smcctl: 'many' is no number" ctl normal setting set wmem many

# --- hs_ctrl, the name of a BPF object ---
expect 'set hs_ctrl' '' ctl normal setting set hs_ctrl fifteen_letters
expect 'set hs_ctrl: done' fifteen_letters cat "$sys/hs_ctrl"
object="1 to 15 characters, or - for none"
for name in sixteen__letters 'a b' ''; do
	expect_usage "set hs_ctrl: '$name'" "smcctl: '$name' is no name of a BPF object: $object" \
		ctl normal setting set hs_ctrl "$name"
done
expect 'set hs_ctrl: nothing was done' fifteen_letters cat "$sys/hs_ctrl"
expect 'set hs_ctrl: none' '' ctl normal setting set hs_ctrl -
expect 'set hs_ctrl: an empty line' '' cat "$sys/hs_ctrl"
expect 'set hs_ctrl: that was written' 1 stat -c %s "$sys/hs_ctrl"
refused() # refused ERRNO NAME VALUE: what smcctl says when the kernel refuses the value
{
	FAKE_SETTING=$1 ctl normal setting set "$2" "$3"
}
expect 'set hs_ctrl: no such object' 'smcctl: there is no BPF object gone' refused 22 hs_ctrl gone
expect 'set hs_ctrl: this kernel takes none' \
	'smcctl: this kernel and build take no BPF programs: use smcctl policy' \
	refused 95 hs_ctrl gone
expect_rc 'set hs_ctrl: this kernel takes none: status 1' 1 refused 95 hs_ctrl gone
expect 'set: refused' 'smcctl: 1 is no value of net.smc.wmem' refused 22 wmem 1

# --- enable, disable ---
expect 'disable' 'New connections use TCP; 1 stay on SMC until they are closed.' ctl normal disable
expect 'disable: done' 0 cat "$sys/enabled"
expect 'enable' 'New connections may use SMC; 1 use it.' ctl normal enable
expect 'enable: done' 1 cat "$sys/enabled"
expect_match 'disable as JSON' '*"enabled":false,*"smc_connections":1*' ctl normal -j disable
expect_match 'enable as JSON' '*"enabled":true,*' ctl normal -j enable
# without smc_diag: the switch works, only the sockets cannot be listed
expect 'disable, sockets cannot be listed' 'smcctl: the list of sockets: Message too long
New connections use TCP.' ctl doneerror disable
expect 'disable, sockets cannot be listed: done' 0 cat "$sys/enabled"
expect_rc 'disable, sockets cannot be listed: status 0' 0 ctl doneerror disable
expect 'enable, sockets cannot be listed' 'smcctl: the list of sockets: Message too long
New connections may use SMC.' ctl doneerror enable
uncounted()
{
	FAKE_NL=doneerror LD_PRELOAD=$fake ./smcctl -j enable 2>/dev/null | python3 test/schema.py check enabled
}
expect 'enable, sockets cannot be listed: JSON' '' uncounted
expect_usage 'disable takes nothing' "smcctl: disable takes no argument 'x'" ctl normal disable x
rm "$sys/enabled"
expect 'disable: not with the in-tree module' \
	'smcctl: the loaded smc module has no setting net.smc.enabled' ctl normal disable
expect_rc 'disable: not with the in-tree module: status 1' 1 ctl normal disable
expect 'disable without module' \
	'smcctl: this kernel has no SMC: load the smc module (modprobe smc)' ctl nofamily disable
rm -r "$sys"
expect 'setting without module' \
	'smcctl: this kernel has no SMC: load the smc module (modprobe smc)' ctl nofamily setting

ktap_done
