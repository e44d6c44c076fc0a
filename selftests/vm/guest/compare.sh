# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# For tests that compare the answers of two hosts with different modules: connections of all
# kinds that stay open, and a file sent from one host to the other. Sourced by the scripts.
# shellcheck disable=SC2154 # variables of the sourcing script

# send_file FILE: host 2 sends it to host 1, where it gets the name FILE.peer
send_file()
{
	if [ "$HOST" = 1 ]; then
		# standard input without data and without an end: at its end nc closes the connection
		[ -p /run/nothing ] || mkfifo /run/nothing
		busybox nc -l -p 5555 > "$1.peer" <> /run/nothing &
		wait_for 20 tcp_listens 5555 || exit 1
		sync_signal "ready.${1##*/}"
		wait "$!"
	else
		sync_wait "ready.${1##*/}" || exit 1
		busybox nc "$(peer_addr)" 5555 < "$1" || fail "host 1 does not accept $1"
	fi
}

conns_held()
{
	grep -q held /run/held
}

# hold_conns SECONDS: opens the connections within that time, and keeps them
hold_conns()
{
	/t/smc_contract hold "$(peer_addr)" > /run/held 2>&1 &
	wait_for "$1" conns_held || fail "no traffic: $(cat /run/held)"
}
