# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# net.smc.hs_ctrl: BPF programs decide whether SYN and SYN-ACK carry the SMC option. One host, for
# kernels and builds that can register them; sysctl.sh has the others.

CASES="refused syn syn_ack both saved netns held unlinked unload:60"
export CASES

sys=/proc/sys/net/smc/hs_ctrl
PORT=4431	# what the programs refuse

setup()
{
	# both ends on this host
	export TOPOLOGY=lo LINKS=0
	setup_net && setup_rxe && load_smc && ip netns add other
}

# try_register NAME FLAGS SYN_PORT SYN_ACK_PORT [sleepable|unlinked]: in the background
try_register()
{
	: > /run/object
	/t/smc_hs_ctrl "$@" > /run/object 2>&1 &
	object=$!
	wait_for 20 [ -s /run/object ]
}

register()
{
	try_register "$@"
	grep -qx registered /run/object || fail "$*: $(cat /run/object)"
}

# expect_unregistered ERROR ARGUMENT...: the object cannot be registered
expect_unregistered()
{
	error=$1
	shift
	try_register "$@"
	! grep -qx registered /run/object || fail "$* was registered"
	grep -q "$error" /run/object || fail "$*: $(cat /run/object)"
}

select_ctrl()
{
	echo "$1" > $sys || fail "$1 was refused"
	expect "hs_ctrl" "$(cat $sys)" = "$1"
}

# expect_unknown NAME: there is no such object, and the one that is selected stays
expect_unknown()
{
	was=$(cat $sys)
	! (echo "$1" > $sys) 2> /run/error || fail "$1 was taken"
	grep -q 'Invalid argument' /run/error || fail "$1: $(cat /run/error)"
	expect "hs_ctrl then" "$(cat $sys)" = "$was"
}

# conn MODE PORT
conn()
{
	/t/smc_traffic server --family smc --require "$1" --port "$2" &
	server=$!
	await_server "$2"
	/t/smc_traffic client --connect "$(own_addr)" --port "$2" --family smc --require "$1" --quit \
		stream:1 || fail "port $2: client ended with $?, not $1"
	wait "$server" || fail "port $2: server ended with $?, not $1"
}

case_refused()
{
	expect "hs_ctrl at first" "$(cat $sys)" = ""
	expect_unknown nobody
	register fifteen_letters 0 0 0
	expect_unknown fifteen_letters_and
	expect_unregistered 'File exists' fifteen_letters 0 0 0
	expect_unregistered 'Invalid argument' sixteen__letters 0 0 0
	expect_unregistered 'Invalid argument' '' 0 0 0
	expect_unregistered 'Invalid argument' flags 2 0 0
	expect_unregistered 'unsupported member syn_option' sleeps 0 $PORT 0 sleepable
	expect_unregistered 'unsupported member synack_option' sleeps 0 0 $PORT sleepable
}

# one_function NAME SYN_PORT SYN_ACK_PORT: from when it is selected until it is not, for one port
one_function()
{
	register "$1" 0 "$2" "$3"
	conn smc $PORT
	select_ctrl "$1"
	conn tcp $PORT
	conn smc $((PORT + 1))
	select_ctrl ""
	conn smc $PORT
}

case_syn() { one_function syn $PORT 0; }

case_syn_ack() { one_function syn_ack 0 $PORT; }

# One object replaces another, and smcctl selects as the file does.
case_both()
{
	register one 0 $PORT $PORT
	first=$object
	register two 0 $((PORT + 1)) $((PORT + 1))
	select_ctrl one
	conn tcp $PORT
	/t/smcctl setting set hs_ctrl two || fail "two was refused"
	expect "hs_ctrl" "$(cat $sys)" = two
	! /t/smcctl setting set hs_ctrl three 2> /run/error || fail "three was taken"
	grep -q 'there is no BPF object three' /run/error || fail "three: $(cat /run/error)"
	conn smc $PORT
	conn tcp $((PORT + 1))
	kill_all "$first"
	conn tcp $((PORT + 1))
	/t/smcctl setting set hs_ctrl - || fail "none was refused"
	expect "hs_ctrl then" "$(cat $sys)" = ""
}

# smcctl save and restore. Without the object the line fails, and what is selected stays.
case_saved()
{
	register kept 0 $PORT 0
	select_ctrl kept
	/t/smcctl save /run/kept || fail "not saved"
	select_ctrl ""
	/t/smcctl save /run/none || fail "not saved"
	/t/smcctl restore /run/kept || fail "not restored"
	expect "hs_ctrl" "$(cat $sys)" = kept
	conn tcp $PORT
	/t/smcctl restore /run/none || fail "none was not restored"
	expect "hs_ctrl then" "$(cat $sys)" = ""
	kill_all "$object"
	echo 7 > /proc/sys/net/smc/smcr_testlink_timeout
	! /t/smcctl restore /run/kept 2> /run/error || fail "kept was selected without its object"
	grep -q 'there is no BPF object kept' /run/error || fail "without the object: $(cat /run/error)"
	expect "hs_ctrl without the object" "$(cat $sys)" = ""
	expect "another setting" "$(cat /proc/sys/net/smc/smcr_testlink_timeout)" -eq 8
}

# in_netns NAME: what is selected there
in_netns()
{
	ip netns exec "$1" cat $sys
}

# New namespaces begin with what the initial one has selected, if the object says so. These objects
# alone exist for the root of a container.
case_netns()
{
	register stays 0 $PORT 0
	select_ctrl stays
	expect "hs_ctrl of an older namespace" "$(in_netns other)" = ""
	ip netns add new
	expect "hs_ctrl of a new namespace" "$(in_netns new)" = ""
	ip netns exec new sh -c "echo stays > $sys" || fail "refused in a namespace"
	expect "hs_ctrl of that namespace" "$(in_netns new)" = stays
	register inherited 1 $PORT 0
	! unshare -Urn sh -c "echo stays > $sys" 2> /run/error || fail "a container has taken it"
	grep -q 'Invalid argument' /run/error || fail "in a container: $(cat /run/error)"
	expect "hs_ctrl of a container" \
		"$(unshare -Urn sh -c "cat $sys; echo inherited > $sys; cat $sys" | tr '\n' ' ')" = " inherited "
	select_ctrl inherited
	ip netns add heir
	expect "hs_ctrl of an heir" "$(in_netns heir)" = inherited
	ip netns exec heir sh -c "echo > $sys" || fail "an heir cannot change it"
	expect "hs_ctrl of the heir then" "$(in_netns heir)" = ""
	expect "hs_ctrl of the initial namespace" "$(cat $sys)" = inherited
	ip netns add last
	select_ctrl ""
	# the namespaces end with what they have selected
	for ns in new heir last; do
		ip netns del $ns
	done
}

# An object that is selected outlives its registration, and pins the module.
case_held()
{
	register held 0 $PORT 0
	select_ctrl held
	kill_all "$object"
	expect "hs_ctrl" "$(cat $sys)" = held
	conn tcp $PORT
	expect_unknown held
	! rmmod smc 2> /dev/null || fail "the module was unloaded"
	select_ctrl ""
}

# An object without a link stays registered without its program, and pins the module.
case_unlinked()
{
	register unlinked 0 $PORT 0 unlinked
	kill_all "$object"
	! rmmod smc 2> /dev/null || fail "the module was unloaded"
	select_ctrl unlinked
	conn tcp $PORT
	select_ctrl ""
	/t/smc_hs_ctrl unregister || fail "the object cannot be unregistered"
	expect_unknown unlinked
}

# The last reference goes with a namespace.
case_unload()
{
	register last 0 $PORT 0
	ip netns exec other sh -c "echo last > $sys" || fail "refused in a namespace"
	kill_all "$object"
	expect "hs_ctrl of that namespace" "$(in_netns other)" = last
	! rmmod smc 2> /dev/null || fail "the module was unloaded"
	ip netns del other
	# BPF frees an object, and with it the reference of the module, in a work item
	wait_for 20 unload_smc || fail "the module cannot be unloaded"
}
