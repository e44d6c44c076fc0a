# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# For tests in which two hosts with different modules answer alike: connections of all kinds that
# stay, and what one host said given to the other. Sourced by the scripts.
# shellcheck disable=SC2154 # variables of the sourcing side

# give FILE: host 2 gives it to host 1, where it gets the name FILE.peer
give()
{
	if [ "$HOST" = 1 ]; then
		# an input that has nothing and does not end: at its end the other side ends
		[ -p /run/nothing ] || mkfifo /run/nothing
		busybox nc -l -p 5555 > "$1.peer" <> /run/nothing &
		wait_for 20 tcp_listens 5555 || exit 1
		sync_signal "ready.${1##*/}"
		wait "$!"
	else
		sync_wait "ready.${1##*/}" || exit 1
		busybox nc "$(peer_addr)" 5555 < "$1" || fail "host 1 does not take $1"
	fi
}

held()
{
	grep -q held /run/held
}

# hold SECONDS: the connections are there within that, and stay
hold()
{
	/t/smc_contract hold "$(peer_addr)" > /run/held 2>&1 &
	wait_for "$1" held || fail "no traffic: $(cat /run/held)"
}
