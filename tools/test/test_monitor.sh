#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl monitor, on the fake host of test/fake_netlink.so. selftests/vm/cases/events.sh tests it
# with real events.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh

# lines KIND ARGUMENT...: print the output of smcctl without the times, a line for each event
lines()
{
	ctl "$@" 2>/dev/null | sed ':a; N; $!ba; s/\n  / /g' | sed 's/^[-0-9]*T[0-9:.]*Z //'
}

# first_lines ARGUMENT...: print the lines with times of events that have long addresses
first_lines()
{
	ctl wide "$@" 2>/dev/null | sed -n 's/fd00:[0-9:]*7777/LOCAL/; s/fd00:[0-9:]*8888/PEER/
		s/^[-0-9]*T[0-9:.]*Z //p'
}

# values KEY KIND [COUNT]: print the values of a key in the JSON output
values()
{
	key=$1
	kind=$2
	shift 2
	ctl "$kind" -j monitor "$@" 2>/dev/null | sed -n "s/.*\"$key\":\"*\([^\",}]*\).*/\1/p" |
		tr '\n' ' '
}

# The flow log, with the duration in place of begin and end
flows()
{
	ctl normal -j monitor connections 4 | python3 samples/flow-log.py | python3 -c '
import csv, datetime, sys
for i, row in enumerate(csv.reader(sys.stdin)):
    if i:
        begin, end = map(datetime.datetime.fromisoformat, row[:2])
        row[:2] = [str((end - begin).total_seconds())]
    print(",".join(row))'
}

# The flow log in one file after two starts: print how many lines begin with what
flows_twice()
{
	for i in 1 2; do
		ctl normal -j monitor connections 4 | python3 samples/flow-log.py >>"$tmp/flows.csv" ||
			echo "start $i failed"
	done
	cut -c 1-5 "$tmp/flows.csv" | sed 's/^20../year/' | sort | uniq -c | tr -s '\n ' ' '
}

echo "KTAP version 1"

expect 'as text' 'group begin 0x00000100 server peer 10.0.0.2
link up     0x00000100 server peer 10.0.0.2 link 1 on rxe0 port 1
link lost   0x00000100 server peer 10.0.0.2 link 1 on rxe0 port 1 (port down)
failover    0x00000100 server peer 10.0.0.2 link 1 on rxe0 port 1, 3 connections go on (port down)
fallback    client [fd00::1]:40000 [fd00::2]:80 0x03010000 (peer did not indicate SMC)
fallback    client [fd00::1]:40000 [fd00::2]:80 0x05000000 (declined by peer), peer 0x03030000 (no SMC device), and 12 before it
group end   0x00000100 server peer 10.0.0.2 12 connections, 601.0 s, 3.0M bytes sent, 4.0k received (idle), and 5 before it' lines normal monitor 7
expect 'as JSON: an object per line' 7 sh -c "FAKE_NL=normal LD_PRELOAD='$fake' \
	./smcctl -j monitor 7 | grep -c '^{.*}\$'"
expect 'as JSON: the first one' '{"format":1,"event":"group begin","net_cookie":7,"group":"0x00000100","role":"server","peer_addr":"10.0.0.2"}' \
	sh -c "FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl -j monitor 1 | sed 's/\"time\":\"[^\"]*\",//'"
expect 'as JSON: times' '' sh -c "FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl -j monitor 7 |
	grep -v '\"time\":\"20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9][0-9][0-9]Z\"'"
expect 'as JSON: events' \
	'group begin link up link lost failover fallback fallback group end ' values event normal 7
expect 'as JSON: reasons' '0x03010000 0x05000000 ' values reason normal 7
expect 'as JSON: reasons of the peer' '0x00000000 0x03030000 ' values peer_reason normal 7
expect 'as JSON: connections' '3 12 ' values connections normal 7
expect 'as JSON: dropped events' '12 5 ' values untold normal 7
expect 'connections' \
	'upgrade refused 0x00000100 server 10.0.0.1:6379 10.0.0.2:40001 (later)
connection upgraded 0x00000100 server 10.0.0.1:6379 10.0.0.2:40001 after 1.5 s over TCP
connection end 0x00000100 server 10.0.0.1:6379 10.0.0.2:40001 61.5 s, 123k bytes sent, 777 received
connection end 0x00000100 server 10.0.0.1:6379 10.0.0.2:40001 61.5 s, 123k bytes sent, 777 received, 2 moves (Connection reset by peer), and 3 before it' \
	lines normal monitor connections 4
# Whatever the addresses, these stand in the line that has the time
expect 'long addresses: what the first lines have' 'group begin 0x00000100 server peer PEER
link up     0x00000100 server peer PEER
link lost   0x00000100 server peer PEER
failover    0x00000100 server peer PEER
fallback    client [LOCAL]:65535
fallback    client [LOCAL]:65535
group end   0x00000100 server peer PEER' first_lines monitor 7
expect 'long addresses: both of them on one line' '  [LOCAL]:65535 [PEER]:65534
  [LOCAL]:65535 [PEER]:65534
  [LOCAL]:65535 [PEER]:65534
  [LOCAL]:65535 [PEER]:65534' sh -c "FAKE_NL=wide LD_PRELOAD='$fake' ./smcctl monitor connections 4 |
	sed -n 's/fd00:[0-9:]*7777/LOCAL/; s/fd00:[0-9:]*8888/PEER/; /LOCAL/p'"
expect 'connections as JSON' 'upgrade refused connection upgraded connection end connection end ' \
	values event normal conn 4
expect 'connections as JSON: why they stay TCP' 'later ' values why normal conn 4
expect 'connections as JSON: how long they were TCP, or lived' '1512 61500 61500 ' \
	values msecs normal conn 4
# of ends alone
expect 'a flow log' 'begin,end,group,role,local_addr,local_port,peer_addr,peer_port,tx_bytes,rx_bytes,tx_messages,rx_messages,tx_again_bytes,rtt_usecs,closed_usecs,moves,error
61.5,0x00000100,server,10.0.0.1,6379,10.0.0.2,40001,123456,777,7,8,6,,99,0,0
61.5,0x00000100,server,10.0.0.1,6379,10.0.0.2,40001,123456,777,7,8,6,20,99,2,104' flows
expect 'a flow log goes on after a restart' ' 1 begin 4 year- ' flows_twice
expect 'some were lost' 'lost group begin ' values event lossy 1
expect 'some were lost, as text' 'lost
group begin 0x00000100 server peer 10.0.0.2' lines lossy monitor 1
expect_match 'the module goes' '*group end*smcctl: the smc module has been unloaded' \
	ctl normal monitor
expect_rc 'the module goes: status 1' 1 ctl normal monitor
expect 'without module' \
	'smcctl: this kernel has no SMC_GEN_NETLINK: load the smc module (modprobe smc)' \
	ctl nofamily monitor
expect_rc 'without module: status 1' 1 ctl nofamily monitor
expect 'a module without events' 'smcctl: the loaded smc module does not support events' \
	ctl deaf monitor
expect_rc 'a module without events: status 1' 1 ctl deaf monitor
full_disk()
{
	ctl normal monitor 5 >/dev/full
}
expect_rc 'output that cannot be written: status 1' 1 full_disk
for words in 0 x '1 2' -1 'connections 0' 'connections 1 2'; do
	# shellcheck disable=SC2086 # words
	expect_usage "monitor $words" 'smcctl: monitor is followed by*' \
		ctl normal -- monitor $words
done
ktap_done
