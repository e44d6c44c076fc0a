# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The same commands to our module and to the in-tree one after the same traffic, in which each
# host was client and server, must return the same attributes with the same types and the same
# values. The differences that are allowed are listed here with the reason. Host 1 has ours.

CASES="traffic:120 types values protocols odd sysctls unload:90"
export CASES

# shellcheck source=selftests/vm/guest/compare.sh
. /h/compare.sh

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	# the same UEID, whatever the default of each module is
	/t/smcctl ueid flush && /t/smcctl ueid add CONTRACT.1
}

# Each host runs the commands while all connections are open.
case_traffic()
{
	tx=$(rxe_counter sent_pkts)
	/t/smc_contract serve > /run/serve 2>&1 &
	await_server 4433
	await_server 4434
	sync_barrier serve || exit 1
	[ "$HOST" = 1 ] || sync_wait client1 || exit 1
	hold_conns 30
	[ "$HOST" = 2 ] || sync_signal client1
	sync_barrier held || exit 1
	# wait for the last cursor updates
	sleep 2
	/t/smc_contract show > /run/show || fail "show ended with $?: $(grep '^#' /run/show)"
	# name, sockets, memory, pressure, module
	awk '$1 ~ /^SMC/ { print $1, $3, $4, $5, $8 }' /proc/net/protocols > /run/protocols
	cat /run/protocols
	expect "RDMA packets" "$(($(rxe_counter sent_pkts) - tx))" -ge 200
	sync_barrier shown || exit 1
	send_file /run/show
	send_file /run/protocols
}

# expect_same OURS INTREE: the files have the same lines, each as often; else fails with the others
expect_same()
{
	sort "$1" | uniq -c > "$1.sorted"
	sort "$2" | uniq -c > "$2.sorted"
	awk 'FILENAME == ARGV[1] { ours[$0] = 1; next }
		$0 in ours { delete ours[$0]; next }
		{ print "in-tree:", $0 }
		END { for (l in ours) print "ours:", l }' "$1.sorted" "$2.sorted" > /run/unlike
	sort -k 3 /run/unlike
	[ ! -s /run/unlike ] ||
		fail "$(wc -l < /run/unlike) differ: $(sort -k 3 /run/unlike | head -n 4 | tr -s ' \n' ' ')"
}

# types_of FILE: path, type and length of each attribute, once. The statistics of a connection, and the
# whole count of a reason, are ours alone.
types_of()
{
	awk '$2 != "num" && $1 !~ /^sockets\.stats|^fbacks\.fback\.own_count/ { print $1, $2, $3 }' "$1" | sort -u
}

case_types()
{
	[ "$HOST" = 1 ] || return 0
	types_of /run/show > /run/types
	types_of /run/show.peer > /run/types.peer
	expect "attributes" "$(wc -l < /run/types)" -ge 150
	expect_same /run/types /run/types.peer
}

# values_of ATTRIBUTE FILE: its values in links and their groups
values_of()
{
	sed -n "s/^links\\.$1 [a-z0-9]* [0-9]* //p" "$2" | sort | tr '\n' ' '
}

# normalize FILE HOST: removes values that may differ:
#   values chosen by each host: numbers of groups and of links' users, cookies, netdevs, names;
#     the addresses of host and peer become "own" and "peer"
#   buf_type: our rings are virtually contiguous for every net.smc.smcr_buf_type
#   memory: a region of ours is shared by several connections and counts as a whole; a region of
#     the in-tree module belongs to one connection
#   trailing blanks: the in-tree module's host name has 32 characters
normalize()
{
	sed -E -e 's/ +$//' -e '/^(sockets\.stats|fbacks\.fback\.own_count)/d' \
		-e "s/ 0000:0000:0000:0000:0000:ffff:0a00:000$2\$/ own/" \
		-e 's/ 0000:0000:0000:0000:0000:ffff:0a00:000[12]$/ peer/' \
		-e 's/^((lgrs|links)\.lgr\.(id|cookie|buf_type|rmb|sndbuf) .*) .*/\1 any/' \
		-e 's/^((lgrs|links)\.lgr\.common\.peer_host .*) .*/\1 any/' \
		-e 's/^(links\.link\.(uid|peer_uid|netdev) .*) .*/\1 any/' \
		-e 's/^(devs\.dev\.port\.netdev .*) .*/\1 any/' \
		-e 's/^(stats\.stats\.smcr\.[rt]x_usage .*) .*/\1 any/' \
		-e 's/^(sys_info\.sys\.host .*) .*/\1 any/' "$1"
}

case_values()
{
	[ "$HOST" = 1 ] || return 0
	normalize /run/show 1 > /run/normal
	normalize /run/show.peer 2 > /run/normal.peer
	for pair in "link.uid link.peer_uid" "link.gid link.peer_gid" "lgr.conns lgr.conns"; do
		own=${pair% *} other=${pair#* }
		expect "$own and the peer's $other" "$(values_of "$own" /run/show)" = \
			"$(values_of "$other" /run/show.peer)"
		expect "$other and the peer's $own" "$(values_of "$other" /run/show)" = \
			"$(values_of "$own" /run/show.peer)"
	done
	expect_same /run/normal /run/normal.peer
}

# /proc/net/protocols: the same protocols with the same number of sockets and module name
case_protocols()
{
	[ "$HOST" = 1 ] || return 0
	expect "protocols" "$(wc -l < /run/protocols)" -eq 2
	expect_same /run/protocols /run/protocols.peer
}

# remove_known OURS INTREE: removes the answers that differ for a known reason; they must differ:
#   two dots: no other system accepts such a name
#   an invalid ID: an error, not an ID without entries
#   cut: shorter than a request; the in-tree module does not check the length
remove_known()
{
	while IFS='|' read -r what ours intree; do
		grep -qxF "odd: $what: $ours" "$1" || fail "ours: $what: $(grep -F "$what" "$1")"
		grep -qxF "odd: $what: $intree" "$2" ||
			fail "in-tree: $what: $(grep -F "$what" "$2")"
		for f_ in "$1" "$2"; do
			sed -i "/^odd: $what: /d" "$f_"
		done
	done <<- EOF
		a UEID with two dots|EINVAL|0
		entries of an ID that is none|EINVAL|0
		sockets, cut|EINVAL|0
		sockets, two bytes|EINVAL|0
	EOF
}

case_odd()
{
	/t/smc_contract odd > /run/odd || fail "odd ended with $?"
	send_file /run/odd
	[ "$HOST" = 1 ] || return 0
	expect "requests" "$(wc -l < /run/odd)" -ge 40
	remove_known /run/odd /run/odd.peer
	expect_same /run/odd /run/odd.peer
}

# try_sysctls: "name default VALUE", then "name WORD taken" or "refused", for each file
try_sysctls()
{
	for file in /proc/sys/net/smc/*; do
		name=${file##*/}
		was=$(cat "$file")
		echo "$name default ${was:-none}"
		for word in 0 1 2 3 8 15 16 255 256 2048 2049 16383 16384 65536 2147483647 \
			2147483648 4294967295 4294967296 -1 x 1x; do
			if (echo "$word" > "$file") 2> /dev/null && [ "$(cat "$file")" = "$word" ]; then
				echo "$name $word taken"
			else
				echo "$name $word refused"
			fi
			echo "$was" > "$file"
		done
		[ "$(cat "$file")" = "$was" ] || echo "$name cannot be restored"
	done
}

# Our module has each name of the in-tree module with its default, accepts all values that the in-tree
# module accepts, and rejects values that are no numbers, as it does. Except
#   smcr_testlink_time below 0, which is not a time
#   rmem, wmem beyond 2^30 - 1: a ring and its cursors could not be represented
case_sysctls()
{
	try_sysctls > /run/sysctls
	send_file /run/sysctls
	[ "$HOST" = 1 ] || return 0
	grep -v -e '^[rw]mem 2147483647 ' -e '^smcr_testlink_time -1 ' /run/sysctls.peer > /run/intree
	expect "in-tree files" "$(grep -c ' default ' /run/intree)" -ge 9
	expect "values they accept" "$(grep -c ' taken$' /run/intree)" -ge 60
	grep -e ' default ' -e ' taken$' -e ' -1 ' -e ' x ' -e ' 1x ' /run/intree |
		grep -vxFf /run/sysctls > /run/unlike
	cat /run/unlike
	[ ! -s /run/unlike ] || fail "in-tree, not ours: $(tr '\n' ';' < /run/unlike)"
}

case_unload()
{
	unload_smc || fail "the module cannot be unloaded"
}
