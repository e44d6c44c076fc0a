# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The programs of smc-tools, built from their sources, with our module (host 1) and with the in-tree
# one (host 2), after the same traffic, in which each host was client and server. Their output and
# exit status must be the same, except the differences listed here with the reason; and the output
# must match the traffic.

CASES="traffic:300 alike known:60 names orders:200 orders_alike run:240 check:300 debug:100 unload:90"
export CASES

# shellcheck source=selftests/vm/guest/compare.sh
. /h/compare.sh

# shellcheck disable=SC1091 # exists in the guest only
. /h/tree.sh

BYTES=400000	# sent by smc_contract each way, as client and as server
CALLS=40	# number of its send calls

setup()
{
	setup_net && setup_rxe && load_smc && mount_tree || return 1
	for p_ in smcr smcd smcss smc_pnet smc_run smc_chk smc_dbg smc_rnics; do
		cp "/t/$p_" "$TREE/usr/bin/" || return 1
	done
	cp /t/libsmc-preload.so "$TREE/usr/lib/" || return 1
	# the same UEID, whatever the default of each module is
	in_tree smcr ueid flush && in_tree smcr ueid add CONTRACT.1
}

# log_output FILE PROGRAM ARGUMENT...: appends its output and its exit status to the file
log_output()
{
	file_=$1
	shift
	{
		echo "\$ $*"
		in_tree "$@" 2>&1 < /dev/null
		echo "= $?"
	} >> "$file_"
}

# log_outputs FILE PROGRAM: runs it with the arguments in each line of the standard input
log_outputs()
{
	while read -r line_; do
		# shellcheck disable=SC2086 # words
		log_output "$1" "$2" $line_
	done
}

# output_of FILE COMMAND...: its output in that file, with the exit status
output_of()
{
	outputs_=$1
	shift
	awk -v what="\$ $*" '$0 == what { on = 1; next } /^\$ / { on = 0 } on' "$outputs_"
}

# compare_names: smcctl under names of smc-tools prints the same as these programs
compare_names()
{
	mkdir -p /run/names
	for name in smcr smcss; do
		ln -sf /t/smcctl "/run/names/$name"
	done
	while read -r what; do
		echo "\$ $what"
		# shellcheck disable=SC2086 # words
		in_tree $what < /dev/null | tr -s ' ' | sed 's/ $//' > /run/theirs
		# shellcheck disable=SC2086
		/run/names/$what < /dev/null | tr -s ' ' | sed 's/ $//' > /run/ours
		diff -U 0 /run/theirs /run/ours
		echo "lines $(wc -l < /run/ours)"
	done <<- EOF
		smcr linkgroup
		smcr -d linkgroup
		smcr linkgroup link-show
		smcr -d linkgroup link-show
		smcr -dd linkgroup link-show
		smcr linkgroup netdev eth0
		smcr linkgroup link-show ibdev rxe0
		smcr linkgroup link-show netdev none
		smcr linkgroup ffff00
		smcss
		smcss -a
		smcss -l
		smcss -d
		smcss -R
		smcss -D
		smcss -d -R -W
	EOF
}

# Each host runs the programs while all connections are open.
case_traffic()
{
	tx=$(rxe_counter sent_pkts)
	/t/smc_contract serve > /run/serve 2>&1 &
	await_server 4433
	await_server 4434
	sync_barrier serve || exit 1
	[ "$HOST" = 1 ] || sync_wait client1 || exit 1
	hold_conns 60
	[ "$HOST" = 2 ] || sync_signal client1
	sync_barrier held || exit 1
	# wait for the last cursor updates
	sleep 2
	expect "RDMA packets" "$(($(rxe_counter sent_pkts) - tx))" -ge 200
	server=$(in_tree smcr linkgroup | awk '$2 == "SERV" { print $1 }')
	expect "a link group of the server" "${#server}" -eq 8
	log_outputs /run/shown smcr <<- EOF
		-v
		info
		device
		-d device
		device all
		device netdev eth0
		device netdev none
		device ibdev rxe0
		device ibdev none
		linkgroup
		linkgroup show
		linkgroup all
		-d linkgroup
		linkgroup link-show
		-d linkgroup link-show
		-dd linkgroup link-show
		linkgroup netdev eth0
		linkgroup netdev none
		linkgroup link-show netdev eth0
		linkgroup ibdev rxe0
		linkgroup link-show ibdev none
		linkgroup type single
		linkgroup type sym
		linkgroup show $server
		linkgroup link-show $server
		linkgroup ffff00
		ueid
		ueid show
		stats
		stats show
		-d stats
		-a stats
		stats json
		seid
		bogus
		linkgroup bogus
		device bogus
		stats bogus
		stats reset
		stats
		-a stats show
		stats json
		-a stats json
	EOF
	log_outputs /run/shown smcd <<- EOF
		-v
		info
		device
		linkgroup
		-d linkgroup
		stats
		stats json
		ueid
		seid
		seid enable
		seid disable
	EOF
	log_output /run/shown smcss
	log_outputs /run/shown smcss <<- EOF
		-a
		-l
		-d
		-D
		-R
		-W
		-v
		-a -d
		-a -R
		-a -d -R -W
		-S
	EOF
	cat /run/shown
	compare_names > /run/named 2>&1
	sync_barrier shown 200 || exit 1
	send_file /run/shown
}

# normalize FILE HOST: removes values that may differ, and sorts the lines of each command's output:
#   values chosen by each host: numbers of groups, links' users, tokens, inodes, free ports and
#     names; the addresses of host and peer become "own" and "peer"
#   memory: a region of ours is shared by several connections and counts as a whole; a region of
#     the in-tree module belongs to one connection
#   an RNIC without PCI function: smcr prints uninitialized stack memory as its type and FID
#   blanks: the in-tree module's host name has 32 characters
normalize()
{
	sed -E -e 's/ +/ /g; s/ $//' \
		-e "s/10\\.0\\.0\\.$2:/own:/g; s/10\\.0\\.0\\.[12]:/peer:/g" \
		-e "s/:ffff:0a00:000$2\\b/:own/g; s/:ffff:0a00:000[12]\\b/:peer/g" \
		-e 's/\b(own|peer):([0-35-9]|4[0-35-9]|44[0-24-9]|443[0-25-9])[0-9]*/\1:free/g' \
		-e 's/^([A-Z]+[0-9]?) ([0-9]{5}) [0-9]{7} /\1 \2 inode /' \
		-e 's/(SMCR +[<R]-[>W]) [0-9a-f]{8}/\1 token/' \
		-e 's/^0000[0-9a-f]{4} (SERV|CLNT)/group \1/' \
		-e 's/^(\$ .*) 0000[0-9a-f]{4}$/\1 group/' \
		-e 's/^(group .* LINK_[A-Z]+ [0-9]+) [0-9a-f]{8} [0-9a-f]{8}/\1 uid uid/' \
		-e 's/^((LG-ID|Peer-Host|Sndbuf|RMB|SMC Hostname) ?:).*/\1 any/' \
		-e 's/^(eth0 rxe0 1 [A-Z]+) [^ ]+ (Yes|No) [0-9a-f]+ 0000 /\1 any \2 any 0000 /' \
		-e 's/^(eth0 rxe0 1 [A-Z]+) [^ ]+ (Yes|No) /\1 any \2 /' \
		-e 's/^( Buffer usage \(Bytes\)).*/\1 any/' \
		-e 's/("SMC_[RT]X_RMB_USAGE":)[0-9]+/\1any/g' \
		-e 's,/tmp/smc_dbg-[A-Za-z0-9]*,/tmp/smc_dbg-any,' "$1" |
		awk '/^\$ / { n++ } { print n "\t" $0 }' | sort -s -k 1n,1 -k 2
}

# expect_same FILE: host 1 and host 2 have the same outputs
expect_same()
{
	expect "outputs" "$(grep -c '^\$ ' "$1")" -eq "$(grep -c '^\$ ' "$1.peer")"
	normalize "$1" 1 > /run/normal
	normalize "$1.peer" 2 > /run/normal.peer
	diff -U 1 /run/normal.peer /run/normal > /run/unlike
	cat /run/unlike
	[ ! -s /run/unlike ] ||
		fail "not as with the in-tree module: $(grep '^[-+][0-9]' /run/unlike | head -n 4 | tr -s '\n\t' '  ')"
}

case_alike()
{
	[ "$HOST" = 1 ] || return 0
	expect "outputs" "$(grep -c '^\$ ' /run/shown)" -ge 60
	expect_same /run/shown
}

# count PATTERN COMMAND...: matching lines of the command's output
count()
{
	pattern_=$1
	shift
	output_of /run/shown "$@" | grep -cE "$pattern_"
}

# number NAME COMMAND...: a number in the command's JSON output
number()
{
	name_=$1
	shift
	output_of /run/shown "$@" | head -n 1 | tr ',{}' '\n' | sed -n "s/^\"$name_\"://p"
}

# The output matches the traffic.
case_known()
{
	for what in smcr\ info smcr\ device smcr\ linkgroup smcss smcss\ -a\ -d\ -R\ -W smcd\ info; do
		# shellcheck disable=SC2086 # words
		[ "$(output_of /run/shown $what | tail -n 1)" = "= 0" ] || fail "$what failed"
	done
	expect "release" "$(count '^SMC Version: +2\.1$' smcr info)" -eq 1
	expect "ports" "$(count '^eth0 +rxe0 +1 +ACTIVE ' smcr device)" -eq 1
	for role in SERV CLNT; do
		expect "groups $role" "$(count "^0000[0-9a-f]{4} $role +SINGLE +0 +1\b" smcr linkgroup)" -eq 1
		expect "links $role" "$(count "^0000[0-9a-f]{4} $role +SINGLE +eth0 +LINK_ACTIVE +1\b" \
			smcr linkgroup link-show)" -eq 1
		expect "sockets $role" "$(count "^ACTIVE .* SMCR $role rxe0 +01 +01 " smcss -R)" -eq 1
	done
	expect "EID" "$(count '^EID +: CONTRACT\.1 *$' smcr -d linkgroup)" -eq 2
	expect "links over its netdev" "$(count '^0000' smcr linkgroup link-show netdev eth0)" -eq 2
	expect "links over another RNIC" "$(count '^0000' smcr linkgroup link-show ibdev none)" -eq 0
	expect "another group" "$(count '^0000' smcr linkgroup ffff00)" -eq 0
	expect "sockets" "$(count ' SMCR *$' smcss)" -eq 2
	expect "sockets that fell back" "$(count ' TCP 0x03010000 *$' smcss)" -eq 2
	expect "listening" "$(count '^LISTEN ' smcss -l)" -eq 1
	for name in RX_BYTES TX_BYTES; do
		expect "$name" "$(number "SMC_$name" smcr -a stats json)" -eq "$BYTES"
	done
	expect "calls" "$(number SMC_TX_CNT smcr -a stats json)" -eq "$CALLS"
	for name in CLNT_V2 SRV_V2; do
		expect "$name" "$(number "SMC_${name}_SUCC_CNT" smcr -a stats json)" -eq 1
	done
	# the last output of this command came after the reset
	expect "bytes since the reset" "$(output_of /run/shown smcr stats json | grep '^{' | tail -n 1 |
		tr ',{}' '\n' | sed -n 's/^"SMC_TX_BYTES"://p')" -eq 0
}

# smcctl under these names prints the same columns.
case_names()
{
	cat /run/named
	expect "differences" "$(grep -cE '^([-+@]|Usage)' /run/named)" -eq 0
	expect "lines" "$(awk '$1 == "lines" { n += $2 } END { print n + 0 }' /run/named)" -ge 50
}

# Commands that change settings, wrong ones among them, and the state after each
case_orders()
{
	log_outputs /run/orders smcr <<- EOF
		ueid add CONTRACT.2
		ueid add CONTRACT.2
		ueid add a
		ueid add ..B
		ueid add THREE
		ueid add FOUR
		ueid add FIVE
		ueid show
		ueid del THREE
		ueid del THREE
		ueid show
		ueid flush
		ueid show
		ueid flush
		ueid add CONTRACT.1
		ueid
	EOF
	log_outputs /run/orders smc_pnet <<- EOF
		-s
		-a NET1 -I eth0
		-a NET1 -I eth0
		-a NET1 -I later
		-a net2 -D rxe0
		-a NET3 -D rxe0 -P 1
		-a NET4 -D rxe1 -P 2
		-a NET5 -D rxe0 -P 3
		-a NET5 -I eth0 -D rxe0
		-a SEVENTEENLETTERS_ -I eth1
		-a bad! -I lo
		-a NET1
		-s
		-s NET2
		-s NONE
		-d NET4
		-d NET4
		-s
		-v
	EOF
	ln -sf /t/smcctl /run/names/smc_pnet
	in_tree smc_pnet -s > /run/theirs
	/run/names/smc_pnet -s > /run/ours
	diff -U 0 /run/theirs /run/ours || fail "other output than smc-tools': smc_pnet -s"
	log_output /run/orders smcr device
	log_output /run/orders smcr -d device
	log_outputs /run/orders smc_pnet <<- EOF
		-f
		-s
		-f
	EOF
	cat /run/orders
	sync_barrier ordered 150 || exit 1
	send_file /run/orders
	expect "UEIDs at the end" "$(in_tree smcr ueid | tr -d ' ')" = CONTRACT.1
	expect "PNET IDs at the end" "$(in_tree smc_pnet | wc -l)" -eq 0
	expect "PNET IDs in the middle" "$(sed -n '/^\$ smc_pnet -a NET1$/,/^\$ smcr/p' /run/orders |
		grep -cE '^NET[124] ')" -eq 8
}

case_orders_alike()
{
	[ "$HOST" = 1 ] || return 0
	expect "outputs" "$(grep -c '^\$ ' /run/orders)" -ge 35
	expect_same /run/orders
}

# --- smc_run ---

ECHO='
import os, socket, sys, time
def all(s, n):
    b = b""
    while len(b) < n:
        d = s.recv(n - len(b))
        if not d: sys.exit("early end of the stream")
        b += d
    return b
s = socket.socket()
if len(sys.argv) > 1:
    s.connect((sys.argv[1], 4440))
    for i in range(20):
        b = os.urandom(10000)
        s.sendall(b)
        if all(s, 10000) != b: sys.exit("wrong bytes")
else:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", 4440))
    s.listen(1)
    s, _ = s.accept()
    for i in range(20): s.sendall(all(s, 10000))
open("/tmp/through", "w")
while not os.path.exists("/tmp/seen"): time.sleep(0.1)
'

through()
{
	[ -e "$TREE/tmp/through" ] || ! kill -0 "$1" 2> /dev/null
}

# A program of Debian without SMC support, on both hosts
case_run()
{
	echo "$ECHO" > "$TREE/tmp/echo.py"
	tx=$(rdma_bytes tx)
	log_output /run/ran smc_run -v
	[ "$HOST" = 1 ] || sync_wait up 120 || exit 1
	# shellcheck disable=SC2046 # an argument or none
	chroot "$TREE" smc_run -r 32k -t 64k python3 /tmp/echo.py \
		$([ "$HOST" = 1 ] || peer_addr) > /run/echo 2>&1 &
	program=$!
	if [ "$HOST" = 1 ]; then
		# Python starts slowly if QEMU translates every instruction
		wait_for 90 tcp_listens 4440 || fail "no server: $(tail -n 1 /run/echo)"
		sync_signal up
	fi
	wait_for 90 through "$program" || fail "no bytes"
	in_tree smcss | tee /run/smcss
	: > "$TREE/tmp/seen"
	wait "$program" || fail "the program ended with $?: $(tail -n 1 /run/echo)"
	expect "its socket" "$(grep -cE '^ACTIVE .*:4440 .* SMCR *$' /run/smcss)" -eq 1
	expect "bytes by RDMA" "$(($(rdma_bytes tx) - tx))" -eq 200000
}

# --- smc_chk ---

# runs smc_chk as client of the other host's smc_chk
run_smc_chk()
{
	tx=$(rxe_counter sent_pkts)
	in_tree smc_chk -C "$(peer_addr)" > /run/checked 2>&1
	rc=$?
	cat /run/checked
	expect "its status" "$rc" -eq 0
	expect "Success" "$(grep -c 'Success, using SMC-R$' /run/checked)" -eq 1
	expect "RDMA packets" "$(($(rxe_counter sent_pkts) - tx))" -ge 1
}

case_check()
{
	for client in 1 2; do
		if [ "$HOST" = "$client" ]; then
			sync_wait "up$client" 120 || exit 1
			run_smc_chk
			sync_signal "checked$client"
		else
			chroot "$TREE" smc_chk -S > /run/chk 2>&1 < /dev/null &
			checker=$!
			wait_for 90 tcp_listens 37373 || fail "no server: $(tail -n 1 /run/chk)"
			sync_signal "up$client"
			sync_wait "checked$client" 100 || exit 1
			# its own server is its child
			kill "$checker"
			# shellcheck disable=SC2046 # numbers
			kill_all $(pidof python3) "$checker"
			cat /run/chk
		fi
	done
}

# --- smc_dbg ---

case_debug()
{
	in_tree smc_dbg > /run/debug 2>&1 || fail "smc_dbg ended with $?"
	cat /run/debug
	expect "errors" "$(grep -ciE '^error|not loaded|failed to' /run/debug)" -eq 0
	expect "parts" "$(grep -cE '^(State|LG-ID|Kernel Capabilities|SMC-[RD] Connections Summary)\b' \
		/run/debug)" -ge 6
	in_tree smc_dbg -t || fail "smc_dbg -t ended with $?"
	expect "files it has collected" "$(in_tree sh -c 'tar tzf /tmp/smc_dbg-*.tgz' |
		grep -c '[a-z]$')" -ge 8
}

case_unload()
{
	# shellcheck disable=SC2046 # numbers
	kill_all $(pidof smc_contract)
	unload_smc || fail "the module cannot be unloaded"
}
