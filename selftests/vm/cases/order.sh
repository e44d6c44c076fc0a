# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Our module and the in-tree one of the same name, one after the other and one beside the other, on
# host 2, which begins with the in-tree one and has ours in /t. Host 1 keeps ours. Loading a second
# module must fail without effect on the loaded one: a connection made before continues, and new
# ones work in both roles, with the bytes by RDMA as the loaded module counts them.

CASES="intree:120 beside_intree:120 ours:120 beside_ours:120 intree_again:120 unload:60"
export CASES

BYTES=2097152

setup()
{
	setup_net && setup_rxe && load_smc
}

# loaded: name of the loaded module
loaded()
{
	if ours; then
		echo ours
	else
		echo intree
	fi
}

# serve NAME: until the other host signals that the client NAME has ended
serve()
{
	serve_named smc "$1"
}

# connect SUBTEST...: SIDE has smc_traffic's options for an in-tree end. RUN=exec: replaces the shell
connect()
{
	# shellcheck disable=SC2086 # options or nothing
	$RUN /t/smc_traffic client --connect "$(peer_addr)" --family smc --require smc --wait 10 \
		$SIDE "$@"
}

# traffic MODULE: it is loaded on host 2, and transfers by RDMA as client and as server
traffic()
{
	sync_barrier begin || exit 1
	[ "$HOST" = 1 ] || [ "$(loaded)" = "$1" ] || fail "$(loaded) is loaded, not $1"
	for client in 2 1; do
		SIDE=
		[ "$1" = ours ] || SIDE="--intree server"
		[ "$1$client" != intree2 ] || SIDE="--intree client"
		tx=$(rdma_bytes tx)
		rx=$(rdma_bytes rx)
		sent=$(rxe_counter sent_pkts)
		if [ "$HOST" != "$client" ]; then
			serve "$client"
		else
			sync_wait "up.$client" > /dev/null || exit 1
			connect connects:3 stream:2 || fail "client of host $client: $?"
			sync_signal "through.$client"
		fi
		expect "bytes sent by RDMA" "$(($(rdma_bytes tx) - tx))" -ge "$BYTES"
		expect "bytes received by RDMA" "$(($(rdma_bytes rx) - rx))" -ge "$BYTES"
		expect "packets" "$(($(rxe_counter sent_pkts) - sent))" -ge $((BYTES / 4096))
	done
}

# refused FILE WHY: the module cannot be loaded, with that error
refused()
{
	! insmod "$1" 2> /run/insmod || fail "$1 loads beside the other one"
	cat /run/insmod
	grep -q "$2" /run/insmod || fail "$1: $(cat /run/insmod), not $2"
}

# beside MODULE COMMAND...: host 2 runs the command while it has a connection
beside()
{
	SIDE=
	[ "$1" = ours ] || SIDE="--intree client"
	if [ "$HOST" = 1 ]; then
		serve beside
	else
		shift
		sync_wait up.beside > /dev/null || exit 1
		tx=$(rdma_bytes tx)
		RUN="exec" connect idle:100 > /run/idle 2>&1 &
		old=$!
		wait_for 20 bytes_grown || fail "no connection: $(cat /run/idle)"
		"$@"
		kill "$old" || fail "the connection has ended before"
		wait "$old" || fail "the connection: $(cat /run/idle)"
		sync_signal through.beside
	fi
}

bytes_grown()
{
	[ "$(rdma_bytes tx)" -gt "$tx" ]
}

intree_file()
{
	modinfo -F filename "$1"
}

# By its file, and by its name: modprobe succeeds, as a module of that name is loaded.
try_intree()
{
	refused "$(intree_file smc)" "File exists"
	refused "$(intree_file smc_diag)" "File exists"
	modprobe smc || fail "modprobe smc: $?"
	rmmod smc_diag
	refused "$(intree_file smc_diag)" "nvalid\|nknown symbol"
	insmod /t/smc_diag.ko || fail "our smc_diag cannot be loaded again"
}

try_ours()
{
	refused /t/smc.ko "File exists"
	refused /t/smc_diag.ko "File exists"
	rmmod smc_diag
	refused /t/smc_diag.ko "nvalid\|nknown symbol"
	modprobe smc_diag || fail "the in-tree smc_diag cannot be loaded again"
}

# replace_with MODULE COMMAND...: host 2 unloads its module, and loads MODULE by the command
replace_with()
{
	sync_barrier unload || exit 1
	next=$1
	shift
	if [ "$HOST" = 2 ]; then
		unload_smc || fail "the other module cannot be unloaded"
		left=$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')
		expect "queue pairs left" "$left" -eq 0
		"$@" || fail "$next does not load after the other one"
	fi
	traffic "$next"
}

load_ours()
{
	insmod /t/smc.ko && insmod /t/smc_diag.ko
}

case_intree()
{
	traffic intree
}

case_beside_intree()
{
	beside intree try_ours
	traffic intree
}

case_ours()
{
	replace_with ours load_ours
}

case_beside_ours()
{
	beside ours try_intree
	traffic ours
}

case_intree_again()
{
	replace_with intree load_smc intree
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
