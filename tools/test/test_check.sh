#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl check, on the fake host of test/fake_netlink.so and test/fake_host.so.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
export FAKE_FAMILY=y FAKE_CONNECT=0
printf '%-32s\n' SMCV2-DEFAULT-UEID >"$FAKE_NL_UEIDS"

# check KIND ARGUMENT...: print the output of smcctl check, repeated blanks as one, a line for each check
check()
{
	kind=$1
	shift
	ctl "$kind" check "$@" | joined | tr -s ' '
}

# state KIND CHECK ARGUMENT...: print the line of one check
state()
{
	kind=$1
	want=$2
	shift 2
	check "$kind" "$@" 2>&1 | sed -n "/^$/q; s/^$want //p"
}

verdict()
{
	kind=$1
	shift
	FAKE_NL=$kind LD_PRELOAD=$fake ./smcctl -j check "$@" 2>/dev/null |
		sed -n 's/^ *"verdict":"\(.*\)",/\1/p'
}

# faster KIND ARGUMENT...: print how often the JSON output has the member
faster()
{
	ctl "$1" -j check "$2" 2>/dev/null | grep -c '"faster"'
}

status()
{
	kind=$1
	shift
	FAKE_NL=$kind LD_PRELOAD=$fake ./smcctl check "$@"
}

# named NETDEV COMMAND...: all netdevs have this name
named()
{
	FAKE_NETDEV=$1
	export FAKE_NETDEV
	shift
	"$@"
	named_rc=$?
	unset FAKE_NETDEV
	return "$named_rc"
}

echo "KTAP version 1"

# --- without a connection ---
mkdir -p "$FAKE_PROC/infiniband/rxe0"
echo eth0 >"$FAKE_PROC/infiniband/rxe0/parent"
expect 'all is well' 'CHECK STATE DETAIL
speed note SMC will be slower than TCP: rxe0 is Soft-RoCE, for tests
module ok AF_SMC 1.2.3, srcversion 0123456789ABCDEF0123456, SMC version 2, release 1, TCP option core
family ok programs can make AF_SMC sockets
ueid ok SMCV2-DEFAULT-UEID
route ok over lo
rnic ok port 1 of rxe0, of netdev lo

10.0.0.9: From this host nothing stands against SMC (10.0.0.9).' check normal 10.0.0.9
expect_rc 'all is well: status 0' 0 status normal 10.0.0.9
expect 'all is well, as JSON' possible verdict normal 10.0.0.9
rm "$FAKE_PROC/infiniband/rxe0/parent"
mkdir -p "$FAKE_PROC/infiniband/rxe0/device" "$FAKE_PROC/infiniband/rxe0/ports/1"
expect 'an RNIC' 'ok SMC should be faster than TCP: rxe0 is an RNIC' state normal speed 10.0.0.9
echo '100 Gb/sec (4X EDR)' >"$FAKE_PROC/infiniband/rxe0/ports/1/rate"
expect 'an RNIC and its rate' \
	'ok SMC should be faster than TCP: rxe0 is an RNIC with 100 Gb/sec (4X EDR)' \
	state normal speed 10.0.0.9
expect_match 'an RNIC, as JSON' '*"faster":true*' ctl normal -j check 10.0.0.9
# Soft-RoCE over a netdev that has a bus device
echo eth0 >"$FAKE_PROC/infiniband/rxe0/parent"
expect 'Soft-RoCE with a device' 'note SMC will be slower than TCP: rxe0 is Soft-RoCE, for tests' \
	state normal speed 10.0.0.9
expect_match 'Soft-RoCE, as JSON' '*"faster":false*' ctl normal -j check 10.0.0.9
rm -r "$FAKE_PROC/infiniband"
# A device that is neither: what its speed will be is a guess that nobody should make
mkdir -p "$FAKE_PROC/infiniband/rxe0"
expect 'another device' \
	'unknown not known whether SMC would be faster than TCP: rxe0 is no known RNIC' \
	state normal speed 10.0.0.9
expect 'another device, as JSON' 0 faster normal 10.0.0.9
echo smc_lo >"$FAKE_PROC/infiniband/rxe0/node_desc"
expect 'smc_lo' 'ok SMC should be faster than TCP, but not in streams of small writes: rxe0 is smc_lo' \
	state normal speed 10.0.0.9
expect_match 'smc_lo, as JSON' '*"faster":true*' ctl normal -j check 10.0.0.9
# of another netdev than lo
expect 'smc_lo between namespaces' 'ok port 1 of rxe0, smc_lo: if the peer is on this host and allows it' \
	named eth9 state normal rnic 10.0.0.9
expect 'smc_lo without consent' 'no port 1 of rxe0, of netdev eth9, is not active' \
	named eth9 state lonely rnic 10.0.0.9
expect_match 'smc_lo without consent: reason' '*0x03038003*' named eth9 ctl lonely -j check 10.0.0.9
# ... but not that of the route: a VLAN or macvlan device over it, and the same with an RNIC
mkdir -p "$FAKE_PROC/net/eth7/lower_eth9"
export FAKE_LO=eth9
expect 'smc_lo below a macvlan device' 'no no RoCE port of netdev eth7' state normal rnic 10.1.0.9
expect_match 'smc_lo below a macvlan device: reason' '*0x03030000*' ctl normal -j check 10.1.0.9
echo DEVTYPE=vlan >"$FAKE_PROC/net/eth7/uevent"
expect 'smc_lo below a VLAN device' 'no no RoCE port of netdev eth7' state normal rnic 10.1.0.9
expect_match 'smc_lo below a VLAN device: reason' '*0x03030000*' ctl normal -j check 10.1.0.9
echo rxe >"$FAKE_PROC/infiniband/rxe0/node_desc"
expect 'an RNIC below a VLAN device' 'ok port 1 of rxe0, of netdev eth7' state normal rnic 10.1.0.9
rm "$FAKE_PROC/net/eth7/uevent"
expect 'an RNIC below a macvlan device' 'no the RoCE port of eth9 is only below eth7' \
	state normal rnic 10.1.0.9
expect 'an RNIC with the PNET ID' 'ok port 1 of rxe0, with PNET ID NET1' state normal rnic 10.2.0.9
rm -r "$FAKE_PROC/net/eth7"
# the route's netdev has a PNET ID, which says nothing about smc_lo
echo smc_lo >"$FAKE_PROC/infiniband/rxe0/node_desc"
expect 'smc_lo with the PNET ID' 'no no RoCE port with PNET ID NET1' state normal rnic 10.2.0.9
export FAKE_LO=eth0
expect 'smc_lo on a netdev with a PNET ID' \
	'ok port 1 of rxe0, smc_lo: if the peer is on this host and allows it' \
	state normal rnic 10.2.0.9
expect 'smc_lo without consent, PNET ID' 'no no RoCE port with PNET ID NET1' \
	state lonely rnic 10.2.0.9
expect_match 'smc_lo without consent, PNET ID: reason' '*0x03038001*' ctl lonely -j check 10.2.0.9
unset FAKE_LO
# an RNIC on the same netdev: rxe0; smc_lo is lo0
mkdir -p "$FAKE_PROC/infiniband/lo0"
mv "$FAKE_PROC/infiniband/rxe0/node_desc" "$FAKE_PROC/infiniband/lo0/node_desc"
beside() # beside 'PORTS' COMMAND...
{
	FAKE_PORTS=$1
	export FAKE_PORTS
	shift
	"$@"
	beside_rc=$?
	unset FAKE_PORTS
	return "$beside_rc"
}
inner='ok port 1 of lo0, smc_lo: if the peer is on this host and allows it'
for ports in 'rxe0:X:1 lo0:X:1' 'lo0:X:1 rxe0:X:1' 'lo0:X:0 rxe0:X:1'; do
	expect "smc_lo beside an RNIC: $ports" 'ok port 1 of rxe0, of netdev eth9' \
		named eth9 beside "$ports" state normal rnic 10.0.0.9
done
for ports in 'rxe0:X:0 lo0:X:1' 'lo0:X:1 rxe0:X:0'; do
	expect "smc_lo beside an RNIC: $ports" "$inner" \
		named eth9 beside "$ports" state normal rnic 10.0.0.9
done
for ports in 'rxe0:X:0 lo0:X:0' 'lo0:X:0 rxe0:X:0'; do
	expect "smc_lo beside an RNIC: $ports" 'no port 1 of lo0, of netdev eth9, is not active' \
		named eth9 beside "$ports" state normal rnic 10.0.0.9
	expect_match "smc_lo beside an RNIC: $ports: reason" '*0x03038003*' \
		named eth9 beside "$ports" ctl normal -j check 10.0.0.9
done
# ... that has a PNET ID, or has not that of the netdev
export FAKE_LO=eth0
for ports in 'rxe0:NET1:1 lo0:X:1' 'lo0:X:1 rxe0:NET1:1' 'rxe0:NET1:0 swp0:NET1:1 lo0:X:1'; do
	expect_match "smc_lo beside an RNIC with a PNET ID: $ports" 'ok port 1 of *, with PNET ID NET1' \
		beside "$ports" state normal rnic 10.2.0.9
done
for ports in 'rxe0:NET1:0 lo0:X:1' 'lo0:X:1 rxe0:NET1:0' 'rxe0:NET2:1 lo0:X:1'; do
	expect "smc_lo beside an RNIC with a PNET ID: $ports" "$inner" \
		beside "$ports" state normal rnic 10.2.0.9
done
for ports in 'rxe0:NET1:0 lo0:X:0' 'lo0:X:0 rxe0:NET1:0'; do
	expect "smc_lo beside an RNIC with a PNET ID: $ports" \
		'no port 1 of rxe0, with PNET ID NET1, is not active' \
		beside "$ports" state normal rnic 10.2.0.9
	expect_match "smc_lo beside an RNIC with a PNET ID: $ports: reason" '*0x03038001*' \
		beside "$ports" ctl normal -j check 10.2.0.9
done
unset FAKE_LO
mv "$FAKE_PROC/infiniband/lo0/node_desc" "$FAKE_PROC/infiniband/rxe0/node_desc"
rm -r "$FAKE_PROC/infiniband/lo0"
unclear='unknown not known whether SMC would be faster than TCP'
expect 'no port' "$unclear: no active RNIC is known" state normal speed 10.1.0.9
expect 'no port, as JSON' 0 faster normal 10.1.0.9
expect 'the port is down' "$unclear: no active RNIC is known" state lonely speed 10.0.0.9
expect 'no route' "$unclear: no active RNIC is known" state normal speed 10.9.0.9
expect 'no module' "$unclear: no SMC module answers" state nofamily speed 10.0.0.9
expect 'no module, as JSON' 0 faster nofamily 10.0.0.9
expect 'the module does not answer' "$unclear: no SMC module answers" state unknown speed 10.0.0.9
# first_check KIND HOST: the name of the first check
first_check()
{
	check "$1" "$2" 2>/dev/null | sed -n '2s/ .*//p'
}
for kind in normal nofamily unknown lonely; do
	for host in 10.0.0.9 10.1.0.9 10.9.0.9; do
		expect "the first line is about the speed: $kind, $host" speed first_check $kind $host
	done
done
rm -r "$FAKE_PROC/infiniband"
expect 'no RNIC' 'no no RoCE port of netdev eth7' state normal rnic 10.1.0.9
expect_match 'no RNIC: what to do' '*TCP is used*
rnic: See smcctl device*' check normal 10.1.0.9
expect_rc 'no RNIC: status 3' 3 status normal 10.1.0.9
expect 'no RNIC, as JSON' tcp verdict normal 10.1.0.9
expect 'a gateway' 'ok over eth7, through a gateway (version 2 only)' state normal route 10.1.0.9
expect 'this host' 'ok over lo, this host' state normal route 127.0.0.1
expect 'by PNET ID' 'ok port 1 of rxe0, with PNET ID NET1' state normal rnic 10.2.0.9
expect 'no port with the PNET ID' 'no no RoCE port with PNET ID NET1' state lonely rnic 10.2.0.9
expect 'the port is down' 'no port 1 of rxe0, of netdev lo, is not active' \
	state lonely rnic 10.0.0.9
expect_match 'no route' '*no route to 10.9.0.9: Network is unreachable*' status normal 10.9.0.9
expect_rc 'no route: status 1' 1 status normal 10.9.0.9
expect 'IPv6' 'ok port 1 of rxe0, of netdev lo' state normal rnic fd00::8
expect_match 'no module' '*module no no SMC module answers*' check nofamily 10.0.0.9
expect_rc 'no module: status 3' 3 status nofamily 10.0.0.9
expect 'no module: verdict' tcp verdict nofamily 10.0.0.9
expect 'no module answers: verdict' unknown verdict unknown 10.0.0.9
expect_rc 'no module answers: status 1' 1 status unknown 10.0.0.9
expect 'no route: verdict' unknown verdict normal 10.9.0.9
unset FAKE_FAMILY
if grep -q '^SMC ' /proc/net/protocols; then
	ktap_skip 'no AF_SMC sockets' 'this kernel has SMC'
else
	expect_match 'no AF_SMC sockets' 'no no AF_SMC socket: *' state normal family 10.0.0.9
	expect_rc 'no AF_SMC sockets, with a port: status 3' 3 status normal 10.0.0.9 7
fi
export FAKE_FAMILY=y
echo 0 >"$FAKE_PROC/net/smc/enabled"
expect 'switched off' 'no net.smc.enabled is 0' state normal enabled 10.0.0.9
echo 1 >"$FAKE_PROC/net/smc/enabled"
expect 'switched on: not worth a line' '' state normal enabled 10.0.0.9
: >"$FAKE_NL_UEIDS"
expect_match 'no user EID' 'note none: version 1 alone*' state normal ueid 10.0.0.9
expect_rc 'no user EID: no verdict' 0 status normal 10.0.0.9
printf '%-32s\n' A B >"$FAKE_NL_UEIDS"
expect 'two user EIDs' 'ok A B' state normal ueid 10.0.0.9

# --- what happened before ---
cat >"$FAKE_PROC/smc_negcache" <<-END
	peer reason seconds_left period probing port
	::ffff:10.0.0.8 0x02010000 29 30 0 0
	::ffff:10.0.0.7 0x02010000 0 30 1 0
	fd00::9 0x02010000 29 30 0 0
	::ffff:10.0.0.77 0x03010000 29 30 0 8
	nonsense
END
expect_match 'in the negative cache' 'no left alone for another 29 s: Both hosts made*' \
	state normal negcache 10.0.0.8
expect 'in the negative cache: verdict' tcp verdict normal 10.0.0.8
expect_match 'in the negative cache, IPv6' 'no left alone for another 29 s: *' \
	state normal negcache fd00::9
expect 'earlier fallbacks, IPv6' 'note 0 on SMC, 1 fell back' state normal connections fd00::2
expect 'the time is over' '' state normal negcache 10.0.0.7
expect 'another host' '' state normal negcache 10.0.0.9
expect 'earlier connections' 'ok 1 on SMC, 0 fell back' state normal connections 10.0.0.2
expect 'earlier fallbacks' 'note 0 on SMC, 1 fell back' state normal connections 10.0.0.3
expect_match 'why' 'note one of them: peer did not indicate SMC*' state normal fallback 10.0.0.3
expect 'none' '' state normal connections 10.0.0.9

# --- with a connection ---
own() # own FAKE_OWN_SOCK COMMAND...
{
	FAKE_OWN_SOCK=$1
	export FAKE_OWN_SOCK
	shift
	"$@"
	own_rc=$?
	unset FAKE_OWN_SOCK
	return "$own_rc"
}
expect 'in the negative cache: another port' '' own smc state normal negcache 10.0.0.77 7
expect 'in the negative cache: a port only' '' state normal negcache 10.0.0.77
expect_match 'in the negative cache: this port' 'no left alone for another 29 s: *' \
	own smc state normal negcache 10.0.0.77 8

# --- connections that are TCP because they are short ---
cat >"$FAKE_PROC/smc_autosmc" <<-END
	peer port side uid shorts seconds_left period probing
	::ffff:10.0.0.6 80 client $(id -u) 8 29 30 0
	::ffff:10.0.0.6 81 client 99 8 29 30 0
	::ffff:10.0.0.6 82 client $(id -u) 8 0 30 1
	::ffff:10.0.0.6 83 client $(id -u) 7 0 0 0
	::ffff:10.0.0.6 84 server 0 8 29 30 0
	nonsense
END
expect_match 'short connections' \
	"no connections of uid $(id -u) are TCP for another 29 s: The last connections*" \
	own smc state normal autosmc 10.0.0.6 80
expect_match 'short connections of another user' 'note connections of uid 99 are TCP *' \
	own smc state normal autosmc 10.0.0.6 81
expect 'short connections: the time is over' '' own smc state normal autosmc 10.0.0.6 82
expect 'not enough short connections' '' own smc state normal autosmc 10.0.0.6 83
expect 'short connections: as server' '' own smc state normal autosmc 10.0.0.6 84
expect 'short connections: without a port' '' state normal autosmc 10.0.0.6

# --- the connection ---
expect_match 'connection on SMC' 'ok mode SMCR*' own smc state normal connection 10.0.0.77 7
expect 'connection on SMC: verdict' smc own smc verdict normal 10.0.0.77 7
expect 'connection on SMC: the peer' 'ok sent the SMC option and agreed' \
	own smc state normal peer 10.0.0.77 7
expect_match 'connection in the background' 'ok mode SMCR*' \
	env FAKE_CONNECT=115 FAKE_OWN_SOCK=smc FAKE_NL=normal LD_PRELOAD="$fake" sh -c \
	"./smcctl check 10.0.0.77 7 | tr -s ' ' | sed -n 's/^connection //p'"
expect_match 'deferred connection' 'note mode TCP, deferred: *' own deferred state normal connection 10.0.0.77 7
expect 'deferred connection: verdict' deferred own deferred verdict normal 10.0.0.77 7
expect_match 'deferred connection: in words' \
	'*10.0.0.77: The connection was TCP, and may change over to SMC (10.0.0.77).' \
	own deferred check normal 10.0.0.77 7
expect_rc 'deferred connection: status 0' 0 own deferred status normal 10.0.0.77 7
expect 'peer without SMC' 'no did not send the SMC option' \
	own '0x03010000 0' state normal peer 10.0.0.77 7
expect_match 'peer without SMC: what to do' '*connection: On the peer: load the module*' \
	own '0x03010000 0' check normal 10.0.0.77 7
expect 'declined: the reason of the peer' \
	'no the peer reported: The two hosts have no user EID in common.' \
	own '0x05000000 0x03030008' state normal 'peer reason' 10.0.0.77 7
expect_match 'declined: what to do' '*peer reason: Both hosts need one*' \
	own '0x05000000 0x03030008' check normal 10.0.0.77 7
expect 'declined: verdict' tcp own '0x05000000 0x03030008' verdict normal 10.0.0.77 7
expect_rc 'declined: status 3' 3 own '0x05000000 0x03030008' status normal 10.0.0.77 7
expect_match 'refused' '*cannot connect to 10.0.0.77: Connection refused*' \
	env FAKE_CONNECT=111 FAKE_NL=normal LD_PRELOAD="$fake" ./smcctl check 10.0.0.77 7
refused_verdict()
{
	FAKE_CONNECT=111 FAKE_NL=normal LD_PRELOAD=$fake ./smcctl -j check "$@" 2>/dev/null |
		sed -n 's/^ *"verdict":"\(.*\)",/\1/p'
}
expect 'refused: verdict, also without an RNIC' unknown refused_verdict 10.1.0.9 7
expect_rc 'refused: status 1' 1 \
	env FAKE_CONNECT=111 FAKE_NL=normal LD_PRELOAD="$fake" ./smcctl check 10.0.0.77 7
expect_match 'a connection that is gone from the list' '*lacks the connection*' \
	status normal 10.0.0.77 7
expect_rc 'a connection that is gone from the list: status 1' 1 status normal 10.0.0.77 7
if command -v python3 >/dev/null; then
	valid_json()
	{
		for words in 10.0.0.9 10.1.0.9 '10.0.0.77 7'; do
			# shellcheck disable=SC2086 # words
			FAKE_NL=normal LD_PRELOAD=$fake ./smcctl -j check $words 2>/dev/null |
				python3 -m json.tool >/dev/null || echo "$words"
		done
	}
	expect 'JSON is valid' '' own '0x05000000 0x03030008' valid_json
else
	ktap_skip 'JSON is valid' 'no python3'
fi

# --- wrong usage ---
for words in '' '10.0.0.9 0' '10.0.0.9 65536' '10.0.0.9 x' '10.0.0.9 1 2' '10.0.0.9 http'; do
	# shellcheck disable=SC2086 # words
	expect_usage "check $words" 'smcctl: check is followed by*' ./smcctl check $words
done
expect_rc 'no such host: status 1' 1 ./smcctl check 10.0.0.256
ktap_done
