#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of smcctl with test/fake_netlink.so, a fake module, and with the real kernel if that has no
# SMC.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

fake=$(pwd)/test/fake_netlink.so
host=$(pwd)/test/fake_host.so
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export FAKE_NL_UEIDS="$tmp/ueids" FAKE_PROC="$tmp/proc"
mkdir "$FAKE_PROC" "$tmp/bin"
# no module is installed
ln -s "$(command -v false)" "$tmp/bin/modinfo"
PATH=$tmp/bin:$PATH
: >"$FAKE_NL_UEIDS"

for f in smcctl "$fake" "$host"; do
	if [ ! -e "$f" ]; then
		echo "$f is missing, run make check" >&2
		exit 1
	fi
done

# ctl KIND ARGUMENT...: run smcctl with a kind of module
ctl()
{
	kind=$1
	shift
	FAKE_NL=$kind LD_PRELOAD="$fake $host" ./smcctl "$@"
}

# Print repeated blanks of the output as one
squeezed()
{
	"$@" | tr -s ' '
}

# field KIND KEY ARGUMENT...: print the values of a key in the JSON output, in order
field()
{
	kind=$1
	key=$2
	shift 2
	ctl "$kind" -j "$@" | sed -n "s/^ *\"$key\": *\(.*[^,]\),*\$/\1/p"
}

echo "KTAP version 1"

# --- info ---
expect 'info' 'version: 2
release: 1
smcr_v2: true
ism_v2: false
host: host?a
module:
 name: AF_SMC
 version: 1.2.3
 srcversion: 0123456789ABCDEF0123456
 protocols: 1 2.0 2.1
 tcp_option: core
handshake_limitation: true' squeezed ctl normal info
expect 'info as JSON' '"host?a"' field normal host info
expect 'info, empty answer' '' ctl empty info

info_old()
{
	ctl old info | joined | tr -s ' ' | grep -v warning
}
expect 'info of a module without limit of handshakes' 'version: 2
release: 1
smcr_v2: true
ism_v2: false
host: host?a
module:
 name: in-tree' info_old

# --- link groups and links ---
expect 'linkgroup' \
	'ID ROLE TYPE CONNS VERSION SNDBUF RMB LOST PNETID PEER
0x00000100 server symmetric 7 2 458752 5000000000 - - peer1' \
	squeezed ctl normal linkgroup
expect 'linkgroup of an older kernel' \
	'ID ROLE TYPE CONNS VERSION SNDBUF RMB LOST PNETID PEER
0x00000100 server symmetric 7 2 - - - - peer1' \
	squeezed ctl old linkgroup
expect 'linkgroup as JSON: new numbers' '255' field normal max_connections linkgroup
expect 'linkgroup as JSON: not there in older kernels' '' field old max_connections linkgroup
expect 'linkgroup show is the same' '"server"' field normal role linkgroup show
expect 'no link group: heading only' \
	'ID ROLE TYPE CONNS VERSION SNDBUF RMB LOST PNETID PEER' \
	squeezed ctl empty linkgroup
expect 'no link group: empty JSON list' '[]' ctl empty -j linkgroup
expect 'linkgroup, wrong sizes are left out' '"NOEND"' field short pnetid linkgroup
expect 'link' 'GROUP ID STATE CONNS MOVED SECONDS DEVICE PORT NETDEV
0x00000100 1 active 4 5 3600 rxe0 1 lo
0x00000100 2 unknown 4 - - rxe0 1 lo' squeezed ctl normal link
expect 'link as JSON: GIDs in their short form' '"::ffff:10.0.0.1"
"::ffff:10.0.0.1"' field normal gid link
expect 'device: only valid ports' 'DEVICE PORT STATE NETDEV LINKS PNETID PCI
rxe0 1 active lo 3 NET1 -' squeezed ctl normal device

# --- statistics ---
expect 'stats as JSON: bytes' '316
0' field normal rx_bytes stats
expect 'stats as JSON: connections' '310' field normal server_v2_connections stats
expect 'stats as JSON: attribute of newer kernels' '65536' field normal rx_buffer_bytes stats
expect 'stats as JSON: inner tables' '107' field normal downgraded stats
expect 'stats as JSON: sizes' '209' field normal above_1m stats
expect 'stats as JSON: messages by type' '1280001
1290001' field normal proposal stats
expect 'stats as JSON: times of handshakes' '1320016
1330016' field normal above_1048576_us stats
expect 'stats as JSON: memory now and at most' '1340004
1350004' field normal rmb_quarantined_bytes stats
expect 'stats as JSON: no tables of our own elsewhere' '' field old proposal stats
expect 'stats: handshake errors' '5' field normal client_handshake_errors stats
expect 'stats: reasons of fallbacks' '"0x03030000"
"0x12345678"' field normal reason stats
expect 'stats: reasons as text' '"no SMC device"
"unknown reason"' field normal reason_text stats
expect 'stats: sides' '"server"
"client"' field normal side stats
expect 'stats: totals of the first message' '9' field normal client stats
expect 'stats: nothing fell back' '0' field empty client stats
expect 'stats without inner tables' '6' field short server_handshake_errors stats
smcd_lines()
{
	ctl "$1" stats | grep -c smcd
}
expect 'stats as text: no SMC-D where it counted nothing' 0 smcd_lines normal
expect 'stats as text: SMC-D where it did' 1 smcd_lines old
expect_match 'stats as text' '*rx_bytes: *316*' ctl normal stats
fallback_lines()
{
	ctl "$1" stats | sed -n '/^fallbacks:/,$p' | tr -s ' '
}
expect 'stats as text: fallbacks are a table' 'fallbacks:
 client: 9
 server: 3
 SIDE COUNT REASON MEANING
 server 3 0x03030000 no SMC device
 client 9 0x12345678 unknown reason
 (smcctl reason CODE shows what to do)' fallback_lines normal
expect 'stats as text: no fallbacks, no table' 'fallbacks:
 client: 0
 server: 0' fallback_lines empty
expect 'stats: another module has no counters' '' field normal link_fail stats
printf 'clnt_smc 12\nlink_fail 18446744073709551615\n' >"$FAKE_PROC/smc_stat"
expect "stats: the module's own counters" '18446744073709551615' field normal link_fail stats
expect_match "stats as text: the module's own counters" '*counters:
*clnt_smc: *12*' ctl normal stats
printf 'a line without end and without sense' >"$FAKE_PROC/smc_stat"
expect 'stats: counters that are none' 0 field empty client stats
expect_rc 'stats: counters that are none: status 0' 0 ctl normal stats
rm "$FAKE_PROC/smc_stat"

# --- sockets ---
expect 'sock' 'STATE LOCAL PEER MODE DETAIL
ACTIVE 10.0.0.1:6379 10.0.0.2:40001 SMCR server, link 3 on rxe0 port 1
ACTIVE [fd00::1]:443 [fd00::2]:50000 TCP peer: no SMC device (0x03030000)
CLOSED [::ffff:10.0.0.1]:80 [::ffff:10.0.0.3]:50001 TCP
 peer did not indicate SMC (0x03010000)
unknown 10.0.0.1:81 10.0.0.2:82 unknown -' squeezed ctl normal sock
expect 'sock -a shows listeners' '"ACTIVE"
"ACTIVE"
"CLOSED"
"LISTEN"
"unknown"' field normal state -a sock
expect 'sock port: either side' '6379' field normal local_port sock port 40001
expect 'sock local-port' '443' field normal local_port sock local-port 443
expect 'sock peer-port' '' field normal local_port sock peer-port 443
expect 'sock port with -a' '6379
6379' field normal local_port sock -a port 6379
expect 'sock local-port and peer-port' '50001' field normal peer_port sock local-port 80 peer-port 50001
expect 'sock as JSON: token' '"0xbeef0001"' field normal token sock
expect 'sock as JSON: sizes' '262144' field normal peer_rmbe_size sock
expect 'sock as JSON: cursors in order' '11
12
13
14
15
16
17' field normal count sock
expect 'sock as JSON: flags' '"0x80"' field normal rx_prod_flags sock
expect 'sock as JSON: GIDs' '"fe80::2"' field normal peer_gid sock
expect 'sock as JSON: role and device' '"rxe0"' field normal device sock
expect 'sock as JSON: reasons of both sides' '"0x03030000"
"0x00000000"' field normal peer_reason sock
expect 'sock as JSON: no fallback member in mode SMCR' '"0x05000000"
"0x03010000"' field normal reason sock
expect_match 'sock -v' '*SMCR*gid:*token: *0xbeef0001*' ctl normal sock -v
expect 'sock, none' '[]' ctl empty -j sock
expect 'sock, shorter structure: rest is zero' '131072' field short rmbe_size sock
expect 'sock, shorter structure: peer size' '0' field short peer_rmbe_size sock
expect 'sock, name without end' \
	'"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"' field short device sock
expect 'sock, message too short' 'smcctl: the list of sockets: Bad message' ctl tiny sock
if command -v python3 >/dev/null; then
	valid_json()
	{
		for object in info linkgroup link device stats sock ueid pnet; do
			ctl "$1" -j "$object" | python3 -m json.tool >/dev/null || echo "$object"
		done
	}
	expect 'JSON is valid' '' valid_json normal
	expect 'JSON is valid when there is nothing' '' valid_json empty
else
	ktap_skip 'JSON is valid' 'no python3'
	ktap_skip 'JSON is valid when there is nothing' 'no python3'
fi

# --- UEIDs ---
expect 'ueid add' '' ctl normal ueid add SMCV2-DEFAULT-UEID
expect 'ueid is padded to 32 characters' 'SMCV2-DEFAULT-UEID              ' cat "$FAKE_NL_UEIDS"
expect 'ueid show' 'SMCV2-DEFAULT-UEID' ctl normal ueid show
expect 'ueid alone is show' 'SMCV2-DEFAULT-UEID' ctl normal ueid
expect 'ueid add again' 'smcctl: UEID SMCV2-DEFAULT-UEID is there already' \
	ctl normal ueid add SMCV2-DEFAULT-UEID
expect_rc 'ueid add again: status 1' 1 ctl normal ueid add SMCV2-DEFAULT-UEID
for name in A.B 0 ABCDEFGHIJKLMNOPQRSTUVWXYZ012345; do
	expect "ueid add $name" '' ctl normal ueid add "$name"
done
expect 'ueid add to a full list' 'smcctl: the list of UEIDs is full (4 entries)' \
	ctl normal ueid add E
expect 'ueid del' '' ctl normal ueid del A.B
expect 'ueid del of none' 'smcctl: there is no UEID A.B' ctl normal ueid del A.B
expect_rc 'ueid del of none: status 1' 1 ctl normal ueid del A.B
expect 'ueid show as JSON' '"SMCV2-DEFAULT-UEID"
"0"
"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"' field normal ueid ueid
expect 'ueid show as JSON: the number of the format' '1
1
1' field normal format ueid
expect 'ueid flush' '' ctl normal ueid flush
expect 'ueid list is empty then' '' ctl normal ueid
for case in ':it is empty' 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456:it has more than' \
	'lower:only A-Z' 'A B:only A-Z' '.A:the first character' '-A:the first character' \
	'A..B:two dots'; do
	expect_usage "ueid add '${case%%:*}'" "smcctl: '${case%%:*}' is no UEID: ${case#*:}*" \
		ctl normal -- ueid add "${case%%:*}"
done

# --- PNET IDs ---
expect 'pnet' 'PNETID NETDEV DEVICE PORT
NET1 eth0 - -
NET1 - rxe0 1' squeezed ctl normal pnet
expect 'pnet show as JSON' '"rxe0"' field normal device pnet show
expect 'pnet, empty table' '[]' ctl empty -j pnet
expect 'pnet add netdev, as it was written' '' ctl normal pnet add net1 netdev eth0
expect 'pnet add ibdev' '' ctl normal pnet add NET1 ibdev rxe0
expect 'pnet add both, by PCI ID' '' ctl normal pnet add NET1 netdev eth0 ibdev 0000:01:00.0/2
expect 'pnet add: in the other order' '' ctl normal pnet add NET1 ibdev 0000:01:00.0/2 netdev eth0
expect_match 'pnet add of another ID' 'smcctl: one of the devices has another PNET ID*' \
	ctl normal pnet add NET2 netdev eth0
expect_rc 'pnet add of another ID: status 1' 1 ctl normal pnet add NET2 netdev eth0
expect 'pnet add to a full table' 'smcctl: the PNET table is full' \
	ctl normal pnet add FULL netdev eth0
expect 'pnet add that the kernel refuses' 'smcctl: the kernel does not accept these names' \
	ctl normal pnet add NET1 netdev a:b
expect 'pnet del' '' ctl normal pnet del NET1
expect 'pnet del of none' 'smcctl: there is no PNET ID NET2' ctl normal pnet del NET2
expect 'pnet flush' '' ctl normal pnet flush
for case in ':it is empty' 'ABCDEFGHIJKLMNOPQ:it has more than' 'A.B:only letters'; do
	expect_usage "pnet add '${case%%:*}'" "smcctl: '${case%%:*}' is no PNET ID: ${case#*:}*" \
		ctl normal -- pnet add "${case%%:*}" netdev eth0
done
for words in '' 'netdev' 'netdev a netdev b' 'ibdev a ibdev b' 'ibdev rxe0/0' 'ibdev rxe0/x' \
	'ibdev rxe0/12' 'ibdev /1' 'foo a' 'netdev abcdefghijklmnop'; do
	# shellcheck disable=SC2086 # words
	expect_usage "pnet add NET1 $words" 'smcctl: pnet add ID is followed by*' \
		ctl normal pnet add NET1 $words
done
expect_usage 'pnet foo' 'smcctl: pnet is followed by*' ctl normal pnet foo
expect_usage 'pnet del of two' 'smcctl: pnet is followed by*' ctl normal pnet del A B
expect_match 'pnet add without right' 'smcctl: *CAP_NET_ADMIN*' \
	ctl denied pnet add NET1 netdev eth0
expect 'pnet without module' \
	'smcctl: this kernel has no SMC_PNETID: load the smc module (modprobe smc)' ctl nofamily pnet
expect_rc 'pnet: an error at the end of the list' 1 ctl doneerror pnet

# --- rules ---
expect 'policy' 'RULE ACTION LOCAL PORT REMOTE PORT CONNECTIONS
10 deny 10.1.0.0/16 443 fd00::/8 8000-8999 12345678901
4000000000 allow - - - - 12345678901' squeezed ctl normal policy
expect 'policy list is the same' '10
4000000000' field normal number policy list
expect 'policy as JSON: ports' '"8000-8999"' field normal remote_port policy show
expect 'no rule: heading only' 'RULE ACTION LOCAL PORT REMOTE PORT CONNECTIONS' \
	squeezed ctl empty policy
expect_rc 'no rule, -e: status 3' 3 ctl empty -e policy
# the fake returns the attributes: 1 number, 2 action, 3-6 local, 7-10 remote
expect 'policy add' '' ctl normal policy add deny
added()
{
	ctl normal policy add "$@" 2>&1 | sed 's/^smcctl: adding a rule:  *//'
}
expect 'policy add: number, local' '2=0 1=7 3=::ffff:10.1.2.0 4=120 5=443 6=443' \
	added allow number 7 local 10.1.2.0/24 local-port 443
expect 'policy add: remote, range' '2=1 7=fd00:: 8=64 9=8000 10=8999' \
	added deny remote fd00::/64 remote-port 8000-8999
expect 'policy add: one address each' '2=1 3=::1 4=128 7=::ffff:10.0.0.1 8=128' \
	added deny local ::1 remote 10.0.0.1
expect 'policy add: all IPv4' '2=1 7=::ffff:0.0.0.0 8=96' added deny remote 0.0.0.0/0
expect 'policy del' 'smcctl: deleting a rule:  1=7' ctl normal policy del 7
expect 'policy flush' 'smcctl: deleting all rules: Device or resource busy' ctl normal policy flush
expect_match 'policy add without right' 'smcctl: *CAP_NET_ADMIN*' ctl denied policy add deny
expect 'policy of another module' \
	'smcctl: the loaded smc module does not support the list of rules' ctl unknown policy
for words in 'remote 10.0.0.0/33' 'remote ::/0' 'remote ::/129' 'remote 10.0.0' 'remote ::g' 'number 0' \
	'local-port 0' 'local-port 65536' 'local-port 9-8' 'local-port 9-' 'local-port x' \
	'local-port 1 local-port 2' 'local ::1 local ::2' 'colour red' 'number 4294967296' \
	'local-port 99999999999999999999' 'remote 10.0.0.1/' 'remote 1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4'; do
	# shellcheck disable=SC2086 # words
	expect_usage "policy add deny $words" "smcctl: '*' is no condition of a rule*" \
		ctl normal policy add deny $words
done
expect_usage 'policy add: value missing' "smcctl: 'local' lacks*" ctl normal policy add deny local
expect_usage 'policy add: no action' 'smcctl: policy add is followed by*' ctl normal policy add
expect_usage 'policy del: no number' "smcctl: 'x' is no number*" ctl normal policy del x
for words in 'del' 'flush now' 'show me' 'foo'; do
	# shellcheck disable=SC2086 # words
	expect_usage "policy $words" 'smcctl: policy is followed by*' ctl normal policy $words
done

# --- changes of link groups and links ---
expect 'link add' '' ctl normal link add 0x00000100
expect 'link add, decimal' '' ctl normal link add 256
expect 'link add over an RNIC' '' ctl normal link add 256 device rxe0
expect 'link add to an RNIC of the peer' '' ctl normal link add 256 peer fe80::1
expect 'link add, all ends' '' ctl normal link add 256 device rxe0 port 1 peer 10.0.0.2
expect 'link add, another order of words' '' ctl normal link add 256 peer 10.0.0.2 device rxe0 port 1
expect "link add, ends: the kernel's text" \
	'smcctl: adding a link: 256 0 0 device rxe9 port 255 peer fe80::2' \
	ctl normal link add 256 device rxe9 port 255 peer fe80::2
for words in 'port 1' 'port 1 device rxe0' 'device rxe0 port 0' 'device rxe0 port 256' \
	'device rxe0 device rxe1' 'peer 10.0.0.0/8' 'peer 10.0.0.2/32' 'peer host' 'peer ::1 peer ::2' \
	"device $(printf '%064d' 0)" 'netdev eth0'; do
	# shellcheck disable=SC2086 # words
	expect_usage "link add, $words" "smcctl: '*' is no end of a link*" ctl normal link add 1 $words
done
expect_usage 'link add, device without a name' "smcctl: 'device ' is no end*" \
	ctl normal link add 1 device ''
for words in '2' 'device' 'device rxe0 port' 'device rxe0 peer'; do
	# shellcheck disable=SC2086 # words
	expect_usage "link add, value missing: $words" "smcctl: '*' lacks its value" \
		ctl normal link add 1 $words
done
expect 'link del' '' ctl normal link del 0x00000100 2
expect 'linkgroup del' '' ctl normal linkgroup del 0x100
expect 'linkgroup del now' '' ctl normal linkgroup del 0x200 now
expect "link add: the kernel's text" 'smcctl: adding a link: 7 0 0' ctl normal link add 7
expect "link del: the kernel's text" 'smcctl: removing a link: 256 255 0' \
	ctl normal link del 0x100 255
expect 'linkgroup del: the text behind the whole request' \
	'smcctl: removing a link group: 7 0 1' ctl old linkgroup del 7 now
expect_rc 'link add: status 1' 1 ctl normal link add 7
expect 'link add to another module' \
	'smcctl: the loaded smc module does not support adding a link' ctl unknown link add 1
expect_match 'link del without right' 'smcctl: *CAP_NET_ADMIN*' ctl denied link del 1 1
for words in 'add' 'del 1' 'del 1 2 3' 'foo'; do
	# shellcheck disable=SC2086 # words
	expect_usage "link $words" 'smcctl: link is followed by*' ctl normal link $words
done
for words in 'del' 'del 1 then' 'add 1' 'foo'; do
	# shellcheck disable=SC2086 # words
	expect_usage "linkgroup $words" 'smcctl: linkgroup is followed by*' ctl normal linkgroup $words
done
for id in x '' +1 0x100000000 1x; do
	expect_usage "link add '$id'" "smcctl: '$id' is no identifier*" ctl normal link add "$id"
	expect_usage "linkgroup del '$id'" "smcctl: '$id' is no identifier*" \
		ctl normal linkgroup del "$id"
done
for num in x 0 256 +1; do
	expect_usage "link del 1 '$num'" "smcctl: '$num' is no link number*" ctl normal link del 1 "$num"
done

# --- an empty list is not a failure ---
for object in linkgroup link device sock ueid pnet; do
	expect_rc "$object, empty: status 0" 0 ctl empty "$object"
	expect_rc "$object -e, empty: status 3" 3 ctl empty -e "$object"
	expect_rc "$object -ej, empty: status 3" 3 ctl empty -ej "$object"
	expect_rc "$object -e, failure: status 1" 1 ctl doneerror -e "$object"
done
for object in linkgroup link device sock pnet; do
	expect_rc "$object -e, not empty: status 0" 0 ctl normal -e "$object"
done
expect_rc 'sock -ev, empty: status 3' 3 ctl empty -ev sock
expect_rc 'sock -e of a port without sockets: status 3' 3 ctl normal -e sock port 1
expect_rc 'stats -e: status 0' 0 ctl empty -e stats

# --- colour ---
esc=$(printf '\033')
expect 'no colour in a pipe' 0 sh -c "FAKE_NL=normal LD_PRELOAD='$fake $host' ./smcctl sock |
	grep -c '$esc'"
expect "colour always" "${esc}[1mGROUP${esc}[0m" sh -c "
	FAKE_NL=normal LD_PRELOAD='$fake $host' ./smcctl --color=always link |
	head -n 1 | cut -d ' ' -f 1"
expect 'colour of a mode' "${esc}[32mSMCR${esc}[0m server," sh -c "
	FAKE_NL=normal LD_PRELOAD='$fake $host' ./smcctl --color=always sock |
	tr -s ' ' | sed -n '2s/.*40001 \(.*server,\).*/\1/p'"
expect_usage 'colour sometimes' "*'sometimes' is none of*" ctl normal --color=sometimes info
if command -v script >/dev/null; then
	# on_terminal ENVIRONMENT...: print the number of lines with colour
	on_terminal()
	{
		env TERM=xterm "$@" FAKE_NL=normal script -qec \
			"LD_PRELOAD='$fake $host' ./smcctl sock" /dev/null | grep -c "$esc\["
	}
	expect 'colour on a terminal' 5 on_terminal NO_COLOR=
	expect 'colour on a terminal with NO_COLOR' 0 on_terminal NO_COLOR=1
	expect 'colour on a dumb terminal' 0 on_terminal NO_COLOR= TERM=dumb
else
	ktap_skip 'colour on a terminal' 'no script(1)'
fi

# --- words ---
for words in 'linkg sh' 'linkgroup list' 'linkgroup lst' 'linkgroup sho'; do
	# shellcheck disable=SC2086 # words
	expect "abbreviated: $words" "$(ctl normal linkgroup)" ctl normal $words
done
# Objects that are lists, which have the option -e, and those whose help has the word
shown()
{
	./smcctl --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | while read -r object; do
		./smcctl "$object" help | grep -q '^smcctl \[-[a-z]*e\|\[show' && echo "$object"
	done
}
for object in $(shown); do
	for word in show list; do
		expect "$object $word" "$(ctl normal "$object" 2>&1)" ctl normal "$object" $word
		expect_rc "$object $word: status" "$(ctl normal "$object" >/dev/null 2>&1; echo $?)" \
			ctl normal "$object" $word
	done
done
expect 'the lists are known' 15 sh -c "echo $(shown | xargs) | wc -w"
expect 'applicability list SECONDS' "$(FAKE_CLOCK=y ctl normal applicability 2)" \
	env FAKE_CLOCK=y FAKE_NL=normal LD_PRELOAD="$fake $host" ./smcctl applicability list 2
expect_usage 'reason show CODE' 'smcctl: reason is followed by*' ctl normal reason show 0x03030000
expect 'sock, words abbreviated' '6379' field normal local_port so sh peer-p 40001
expect 'abbreviated: del' 'smcctl: there is no UEID X' ctl normal ue de X
expect 'delete is del' 'smcctl: there is no UEID X' ctl normal ueid delete X
expect_usage 'a beginning of two objects' "smcctl: 'l' may be linkgroup or link" ctl normal l
expect_usage 'a beginning of two commands' 'smcctl: sock is followed by: *' ctl normal sock p 1
expect_usage 'an empty word' "smcctl: unknown object ''*" ctl normal ''
expect_usage 'disable is not shown' 'smcctl: disable takes no *' ctl normal disable show
expect 'help of an object' 'smcctl [-ejv] link [show | add GROUP [device DEV [port N]] [peer GID] | del GROUP LINK]
  links of all groups' ctl normal link help
expect 'help OBJECT is the same' "$(ctl normal check help)" ctl normal help check
# a command prints what its object does, as with ip(8), and does nothing
for words in 'link add help' 'link a help' 'link delete help' 'help link add' 'help link d' 'help link show'; do
	# shellcheck disable=SC2086 # words
	expect "$words" "$(ctl normal link help)" ctl normal $words
done
for words in 'link foo help' 'link add help 1' 'link help add'; do
	# shellcheck disable=SC2086 # words
	expect_usage "$words" 'smcctl: *' ctl normal $words
done
for words in 'help link foo' 'help link add 1' 'help save show' 'help link help'; do
	# shellcheck disable=SC2086 # words
	expect_usage "$words" 'smcctl: help is followed by *' ctl normal $words
done
: >"$FAKE_NL_UEIDS"
expect 'policy flush help' "$(ctl normal policy help)" ctl normal policy flush help
expect 'ueid add help' "$(ctl normal ueid help)" ctl normal ueid add help
expect 'ueid add help: nothing was done' '' cat "$FAKE_NL_UEIDS"
expect 'help is --help' "$(ctl normal --help)" ctl normal help
expect_usage 'help of no object' "smcctl: unknown object 'foo'*" ctl normal help foo

# --- sockets: ss has these letters, too ---
expect 'sock -l: only listeners' '"LISTEN"' field normal state sock -l
# two descriptors of one socket, and another socket
mkdir -p "$FAKE_PROC/pids/42/fd" "$FAKE_PROC/pids/99/fd"
ln -s 'socket:[44712]' "$FAKE_PROC/pids/42/fd/3"
ln -s 'socket:[44712]' "$FAKE_PROC/pids/42/fd/4"
ln -s 'socket:[44713]' "$FAKE_PROC/pids/99/fd/3"
echo redis-server >"$FAKE_PROC/pids/42/comm"
printf '0::/system.slice/redis.service\n' >"$FAKE_PROC/pids/42/cgroup"
# memory_first WHAT: the first line of memory by WHAT
memory_first()
{
	ctl normal memory by "$1" | awk 'NR == 2 { $1 = $1; print }'
}
in_process()
{
	ctl normal sock -p port 40001 | awk 'NR == 2 { print $6, $7 }'
}
expect 'sock -p: the process, once' '44712 redis-server(42)' in_process
expect 'sock -p as JSON' '"redis-server"' field normal command sock -p port 40001
expect 'sock without -p as JSON: no processes' '' field normal command sock port 40001

# --- memory ---
expect 'memory: by user is the default' "$(ctl normal memory)" ctl normal memory by user
expect 'memory by user: the first is it' '1 65536 131072 196608 1000' memory_first user
expect 'memory by process' '1 65536 131072 196608 redis-server(42)' memory_first process
expect 'memory by cgroup' '1 65536 131072 196608 /system.slice/redis.service' memory_first cgroup
rm "$FAKE_PROC/pids/42/cgroup"
expect 'memory by cgroup: the process has ended' '1 65536 131072 196608 none is known' memory_first cgroup
expect_usage 'memory by what?' 'smcctl: memory is followed by: *' ctl normal memory by
expect_usage 'memory by another' 'smcctl: memory is followed by: *' ctl normal memory by port

# --- widths ---
mkdir -p "$FAKE_PROC/net/smc"
echo 1 >"$FAKE_PROC/net/smc/enabled"
printf 'netns inode uid mode\n1 44712 1000 SMC-R\n' >"$FAKE_PROC/smc_holders"
printf '%-32s\n' SMCV2-DEFAULT-UEID >"$FAKE_NL_UEIDS"
# for report: the fake netlink answers only smcctl
for program in ip rdma dmesg; do
	printf '#!/bin/sh\n' >"$tmp/bin/$program"
	chmod +x "$tmp/bin/$program"
done
addr=fd00:1111:2222:3333:4444:5555:6666:8888
# forms: print the arguments for which smcctl prints text: each object, with each option of its help that
# changes the text, and its help
forms()
{
	./smcctl --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | while read -r object; do
		case $object in
		# nothing for people: for Prometheus, and files of settings
		prometheus | save | restore) ;;
		check) printf 'check %s\n' "$addr" "$addr 65535" 10.1.0.9 ;;
		watch) printf 'watch %s1 1\n' '' 'by connection ' 'by peer ' 'by link ' ;;
		monitor) printf 'monitor %s\n' 7 'connections 4' ;;
		memory) printf 'memory by %s\n' user process cgroup ;;
		report) echo "report $tmp/report.tar" ;;
		*) echo "$object" ;;
		esac
		./smcctl "$object" help | sed -n 's/^smcctl \[-\([a-z]*\)\].*/\1/p' | tr -d ej |
			sed 's/./&\n/g' | sed -n "s/./$object -&/p"
		echo "$object help"
	done
	echo --help
}
# printed KIND FORM: the text
printed()
{
	rm -f "$tmp/report.tar"
	# shellcheck disable=SC2086 # words
	FAKE_CLOCK=y FAKE_FAMILY=y FAKE_CONNECT=0 FAKE_OWN_SOCK='0x05000000 0x03030008' \
		ctl "$1" $2 2>/dev/null
}
wide()
{
	forms | while read -r form; do
		printed "$1" "$form" | awk -v f="$form" 'length($0) > 99 { print f ": " $0 }'
	done
}
expect 'no line is wider than 99 columns' '' wide normal
expect 'no line is wider than 99 columns, whatever the addresses' '' wide wide
without_text()
{
	forms | while read -r form; do
		[ -n "$(printed wide "$form")" ] || echo "$form"
	done
}
expect 'each of these forms prints something' '' without_text
with_addresses()
{
	forms | while read -r form; do
		printed wide "$form" | grep -q "${addr%:*}" && echo "$form"
	done
}
expect 'those that have the addresses' "sock
sock -a
sock -l
sock -p
sock -s
sock -v
link -v
watch by connection 1 1
watch by peer 1 1
watch by link 1 1
monitor 7
monitor connections 4
check $addr
check $addr 65535
policy" with_addresses
rm -r "$FAKE_PROC/net/smc" "$FAKE_PROC/smc_holders"

# --- wrong usage ---
expect_usage 'no object' 'smcctl: no object given*' ctl normal
expect_usage 'unknown object' "smcctl: unknown object 'foo'*" ctl normal foo
expect_usage 'unknown command' 'smcctl: ueid is followed by*' ctl normal ueid foo
expect_usage 'missing name' 'smcctl: ueid is followed by*' ctl normal ueid add
expect_usage 'argument too many' "smcctl: info takes no argument 'x'" ctl normal info x
expect_usage 'far too many arguments' "*too many arguments at 'p'" ctl normal a b c d e f g h i j k l m n o p
expect_usage 'option of sock elsewhere' 'smcctl: option -p does not apply to link' \
	ctl normal link -p
expect_usage 'option without effect' 'smcctl: option -j does not apply to save' \
	ctl normal -j save -
for port in 65536 +1 x '' 99999999999; do
	expect_usage "port '$port'" "smcctl: sock is followed by: *" ctl normal sock port "$port"
done
expect_rc '--help: status 0' 0 ctl normal --help
expect_match '--version' 'smcctl [0-9]*.[0-9]*.[0-9]*' ctl normal --version

# --- failures ---
for object in info linkgroup link device stats ueid; do
	# test_module.sh has the sentences of info
	[ "$object" = info ] || expect "$object without module" \
		'smcctl: this kernel has no SMC_GEN_NETLINK: load the smc module (modprobe smc)' \
		ctl nofamily "$object"
	expect_match "$object not supported by the module" \
		'smcctl: the loaded smc module does not support *' ctl unknown "$object"
	expect_rc "$object fails with status 1" 1 ctl unknown "$object"
	expect_rc "$object: an error at the end of the list" 1 ctl doneerror "$object"
done
expect 'sock without module' \
	'smcctl: this kernel cannot list SMC sockets: load smc_diag (modprobe smc_diag)' \
	ctl nofamily sock
expect 'sock: an error at the end of the list' \
	'smcctl: the list of sockets: Message too long' ctl doneerror sock
expect_match 'ueid add without right' 'smcctl: *CAP_NET_ADMIN*' ctl denied ueid add A
full_disk()
{
	ctl normal info >/dev/full
}
expect 'output that cannot be written' 'smcctl: cannot write the output' full_disk
expect_rc 'output that cannot be written: status 1' 1 full_disk
# where the exit status is not 0 anyway: what is lost is the reason for it
full_disk_check()
{
	ctl nofamily check 127.0.0.1 >/dev/full
}
expect 'the answer no, which cannot be written' 'smcctl: cannot write the output' full_disk_check
expect_rc 'the answer no, which cannot be written: status 1' 1 full_disk_check
full_disk_part()
{
	FAKE_NL=nofamily LD_PRELOAD=$fake ./smcctl prometheus 2>&1 >/dev/full | tail -n 1
}
expect 'a part, which cannot be written' 'smcctl: cannot write the output' full_disk_part

if grep -q '^SMC ' /proc/net/protocols; then
	ktap_skip 'real kernel without SMC: info' 'this kernel has SMC'
	ktap_skip 'real kernel without SMC: sock' 'this kernel has SMC'
else
	expect_match 'real kernel without SMC: info' 'smcctl: No SMC module is loaded*' ./smcctl info
	expect_match 'real kernel without SMC: sock' 'smcctl: this kernel cannot *' ./smcctl sock
fi

ktap_done
