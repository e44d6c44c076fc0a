# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A peer that goes deaf: its RNIC gets nothing any more, so what this host has sent is not acknowledged
# until the retries are over, 7.5 s later. Meanwhile a connection needs more memory, which is
# registered. What ends in that state must not wait for the peer: the removal of a device, of a
# link group, the close of a listening socket, the module's unload. Our module on both hosts, host 1 serves; for
# --topology netns --virtual-time.

CASES="removed:90 ended:90 closed:90 unloaded:90 unload:60"
export CASES

# hundredths of a second that the end may take: half a second for a slot, half a second for the last
# messages, 200 ms of lingering (Documentation/lifetimes.rst), and as much again
LIMIT=250

setup()
{
	setup_net && setup_rxe && load_smc
}

# now: hundredths of a second
now()
{
	read -r up_ _ < /proc/uptime
	echo "${up_%.*}${up_#*.}"
}

# deafen HOST: its RNIC gets no packet from now on
deafen()
{
	[ "$HOST" = "$1" ] || return 0
	/usr/sbin/nft -f - << EOF || fail "no filter"
table ip roce {
	chain roce {
		type filter hook input priority 0;
		udp dport 4791 drop
	}
}
EOF
}

# traffic N: a client in the background
traffic()
{
	/t/smc_traffic client --connect 10.0.0.1 --family smc --require smc --timeout 60000 \
		"$@" > /run/traffic 2>&1 &
	clients="$clients $!"
}

# flows N: more than N bytes were written by RDMA since before()
flows()
{
	[ "$(grown tx_write_bytes)" -gt "$1" ]
}

# tidy: as if no case had run
tidy()
{
	/usr/sbin/nft delete table ip roce 2> /dev/null
	sysctl -q -w net.smc.wmem=65536 net.smc.rmem=65536
	wait_for 30 no_groups || fail "groups are left"
}

# set_up DEAF GROWS: a stream runs in both directions, then host DEAF is deaf, and a new
# connection makes host GROWS register a region of a new size
set_up()
{
	tidy
	before
	clients=
	server=
	[ "$HOST" = 2 ] || {
		/t/smc_traffic server --family smc --timeout 60000 > /run/server 2>&1 &
		server=$!
		await_server
	}
	sync_barrier up || exit 1
	[ "$HOST" = 1 ] || traffic stream:4096
	wait_for 20 flows 1000000 || fail "no stream"
	[ "$HOST" != "$2" ] || sysctl -q -w net.smc.wmem=262144 net.smc.rmem=262144
	registered=$(stat_of mr_reg)
	sync_barrier flows || exit 1
	deafen "$1"
	sync_barrier deaf || exit 1
	# requests without acknowledgment
	sleep 1
	[ "$HOST" = 1 ] || traffic stream:1
	sleep 1
	[ "$HOST" != "$2" ] || expect "failed links so far" "$(grown link_fail)" -eq 0
}

# took BEGIN END WHAT: it began and ended at these times; the host has registered memory before
took()
{
	diag "$3: $(($2 - $1)) hundredths of a second"
	expect "$3" "$(($2 - $1))" -lt "$LIMIT"
	expect "regions registered" "$(stat_of mr_reg)" -gt "$registered"
}

clean_up()
{
	sync_barrier tested || exit 1
	# shellcheck disable=SC2086 # words
	kill_all $server $clients
	tidy
}

no_groups()
{
	for id in $(groups); do
		/t/smcctl linkgroup del "$id" now
	done
	[ -z "$(groups)" ]
}

groups()
{
	/t/smcctl --json linkgroup | sed -n 's/.*"id": *"\(0x[0-9a-f]*\)".*/\1/p'
}

no_qp()
{
	[ "$(/usr/sbin/rdma resource show qp link rxe0 | grep -c 'comm \[smc\]')" -eq 0 ]
}

case_removed()
{
	set_up 1 2
	if [ "$HOST" = 2 ]; then
		begin=$(now)
		/usr/sbin/rdma link del rxe0 || fail "the RNIC cannot be removed"
		end=$(now)
		{ add_rxe 0 eth0 && wait_for 10 port_active rxe0; } || fail "no RNIC"
		took "$begin" "$end" "removal of the device"
	fi
	clean_up
}

case_ended()
{
	set_up 1 2
	if [ "$HOST" = 2 ]; then
		begin=$(now)
		{ wait_for 30 no_groups && wait_for 30 no_qp; } || fail "the group does not end"
		took "$begin" "$(now)" "end of the group"
	fi
	clean_up
}

case_closed()
{
	set_up 2 1
	if [ "$HOST" = 1 ]; then
		begin=$(now)
		kill_all "$server"
		took "$begin" "$(now)" "end of the server"
	fi
	clean_up
}

# No socket is left, but connections that linger, in groups with unacknowledged requests.
case_unloaded()
{
	set_up 1 2
	expect "regions registered" "$(stat_of mr_reg)" -ge "$registered"
	# shellcheck disable=SC2086 # words
	kill_all $server $clients
	sync_barrier killed || exit 1
	begin=$(now)
	unload_smc || fail "the module cannot be unloaded"
	end=$(now)
	diag "unload of the module: $((end - begin)) hundredths of a second"
	expect "unload of the module" "$((end - begin))" -lt "$LIMIT"
	/usr/sbin/nft delete table ip roce 2> /dev/null
	sync_barrier unloaded || exit 1
	load_smc || fail "the module cannot be loaded again"
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
}
