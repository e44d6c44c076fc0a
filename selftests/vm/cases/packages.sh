# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The life of the package smc-dkms on hosts that run the Debian tree of scripts/check-packages.sh, where it is
# installed and DKMS has built it: the module is loaded by its name, udev restores its settings, it transfers by
# RDMA; then the package is upgraded to /t/next.deb, and removed, while a connection is open, which continues; at
# the end the in-tree module is back.
#
#   PACKAGES  these cases alone: on a kernel that is about to be replaced

CASES="load:300 restored:300 traffic:200 upgraded:600 removed:600 back:400 unload:60"
[ -z "${PACKAGES:-}" ] || CASES=$(echo "$PACKAGES" | sed 's/\([a-z]\)\( \|$\)/\1:300\2/g')
export CASES

BYTES=2097152

# shellcheck disable=SC1091 # exists in the guest only
. /h/tree.sh
# Programs of the tree have their paths here: by its name busybox would run its own in their place.

setup()
{
	# DKMS wants it for the "<(...)" of bash
	[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
	setup_net && setup_rxe && mount_tree
}

file_of()
{
	in_tree /usr/sbin/modinfo -n "$1"
}

case_load()
{
	# for after the removal
	cp "$TREE"/usr/src/smc-*/scripts/unload.sh "$TREE/run/unload.sh"
	for m in smc smc_diag; do
		file=$(file_of "$m")
		expect "file of $m" "${file%.xz}" = "/lib/modules/$(uname -r)/updates/dkms/$m.ko"
		in_tree /usr/sbin/modprobe "$m" || fail "modprobe $m"
	done
	ours || fail "not this module"
	# an upgrade to the loaded module has nothing to say
	expect "words" -z "$(in_tree /run/unload.sh --replaced 2>&1)"
	sync_barrier loaded || exit 1
}

wmem_is()
{
	[ "$(cat /proc/sys/net/smc/wmem)" -eq "$1" ]
}

# eid_is_known: that of the saved settings
eid_is_known()
{
	in_tree /usr/sbin/smcctl ueid | grep -q "$UEID"
}

load_anew()
{
	in_tree /usr/sbin/modprobe -r smc_diag smc || fail "modprobe -r"
	[ ! -e /sys/module/smc ] || fail "the module is loaded"
	in_tree /usr/sbin/modprobe -a smc smc_diag || fail "modprobe"
}

# Load the module anew, with udevd. systemd does not run here: what it would be asked to start is started.
restore_by_udev()
{
	in_tree /lib/systemd/systemd-udevd --daemon || fail "udevd"
	load_anew
	wait_for 60 wmem_is 131072 || fail "udev has not set net.smc.wmem"
	in_tree /usr/bin/udevadm settle --timeout=60
	in_tree /usr/bin/udevadm info -q property -p /module/smc > /run/udev
	in_tree /usr/bin/udevadm control --exit
	grep -q '^SYSTEMD_WANTS=.*smc-restore.service' /run/udev || fail "udev asks for: $(cat /run/udev)"
	! eid_is_known || fail "the EID has outlived the module"
	unit=$(find "$TREE/usr/lib/systemd" "$TREE/lib/systemd" -name smc-restore.service | head -1)
	start=$(sed -n "s/^ExecStart=//p" "$unit" | sed "s|\${SMC_CONF}|/etc/smc.conf|")
	# shellcheck disable=SC2086 # a command and its arguments
	in_tree $start || fail "$start"
	eid_is_known || fail "the EID is not restored"
}

# Load the module anew, without udevd, where modprobe has the line of the sample.
restore_by_modprobe()
{
	load_anew
	eid_is_known || fail "the EID is not restored by the line for modprobe"
}

# What was saved comes back each time that the module is loaded.
case_restored()
{
	UEID="PACKAGES-TEST-EID"
	echo "net.smc.wmem = 131072" > "$TREE/etc/sysctl.d/90-packages.conf"
	in_tree /usr/sbin/smcctl ueid add $UEID || fail "ueid add"
	in_tree /usr/sbin/smcctl save /etc/smc.conf || fail "save"
	restore_by_udev
	restore_by_udev
	sed -n 's/^#\(install smc modprobe.*\)/\1/p' "$TREE/usr/share/doc/smc-utils/examples/modprobe.conf" \
		> "$TREE/etc/modprobe.d/smc.conf"
	restore_by_modprobe
	restore_by_modprobe
	rm "$TREE/etc/sysctl.d/90-packages.conf" "$TREE/etc/smc.conf" "$TREE/etc/modprobe.d/smc.conf"
	sync_barrier restored || exit 1
}

# connect SUBTEST...: RUN=exec: replaces the shell
connect()
{
	$RUN /t/smc_traffic client --connect "$(peer_addr)" --family smc --require smc --wait 10 "$@"
}

case_traffic()
{
	tx=$(rdma_bytes tx)
	rx=$(rdma_bytes rx)
	if [ "$HOST" = 1 ]; then
		serve_named smc traffic
	else
		sync_wait up.traffic > /dev/null || exit 1
		connect stream:2 || fail "client: $?"
		sync_signal through.traffic
	fi
	expect "bytes sent by RDMA" "$(($(rdma_bytes tx) - tx))" -ge "$BYTES"
	expect "bytes received by RDMA" "$(($(rdma_bytes rx) - rx))" -ge "$BYTES"
}

bytes_grown()
{
	[ "$(rdma_bytes tx)" -gt "$tx" ]
}

# remove: the package
remove()
{
	in_tree /usr/bin/dpkg -r smc-dkms > /run/dpkg 2>&1 || fail "dpkg: $(cat /run/dpkg)"
	cat /run/dpkg
	for m in smc smc_diag; do
		file=$(file_of "$m")
		file=${file##*/kernel/}
		expect "file of $m" "${file%.xz}" = "net/smc/$m.ko"
	done
	for f in "$TREE"/usr/src/smc-* "$TREE/var/lib/dkms/smc" "$TREE/lib/modules"/*/updates; do
		[ ! -e "$f" ] || fail "$f is left"
	done
}

# while_connected FUNCTION: host 2 opens a connection, by the program $holder, and runs FUNCTION, after which
# the connection still has to exist
while_connected()
{
	if [ "$HOST" = 1 ]; then
		/t/smc_traffic server --family smc > /run/server 2>&1 &
		await_server 4430
		sync_signal up
		sync_wait ended 400 > /dev/null || exit 1
		kill $!
	else
		sync_wait up > /dev/null || exit 1
		tx=$(rdma_bytes tx)
		RUN="exec" connect idle:600 > /run/idle 2>&1 &
		holder=$!
		wait_for 30 bytes_grown || fail "no connection: $(cat /run/idle)"
		"$1"
		ours || fail "the module was unloaded"
		kill "$holder" || fail "the connection has ended before: $(cat /run/idle)"
		sync_signal ended
	fi
}

# said PATTERN: what dpkg has printed matches, and names the holder
said()
{
	grep -q "$1" /run/dpkg || fail "it does not say: $1"
	grep -q "smc_traffic ($holder)" /run/dpkg || fail "the holder is not named"
}

# The new module is not built here, which would take an hour of this processor.
upgrade()
{
	touch "$TREE/etc/dkms/no-autoinstall"
	in_tree /usr/bin/dpkg -i /t/next.deb > /run/dpkg 2>&1 || fail "dpkg: $(cat /run/dpkg)"
	cat /run/dpkg
	said "the module of version $(cat /sys/module/smc/version) stays loaded"
}

case_upgraded()
{
	while_connected upgrade
}

remove_held()
{
	remove
	said 'stays loaded while it has users'
	removal=$(sed -n "s/.*to be rid of it: 'rmmod \([a-z_ ]*\)'.*/\1/p" /run/dpkg)
	expect "modules to remove" "$removal" = "smc_diag smc"
	in_tree /run/unload.sh --replaced > /run/dpkg 2>&1
	said 'the module of version .* stays loaded'
}

# unused: nothing but smc_diag uses smc
unused()
{
	[ -e /sys/module/smc/holders/smc_diag ] && [ "$(cat /sys/module/smc/refcnt)" -eq 1 ]
}

# With the end of the connection the module can go: where the package was removed, by the command that it named.
case_removed()
{
	removal=
	while_connected remove_held
	if [ -n "$removal" ]; then
		wait_for 60 unused || fail "the module is in use: $(cat /sys/module/smc/refcnt)"
		# shellcheck disable=SC2086 # names
		in_tree /usr/sbin/rmmod $removal || fail "rmmod $removal"
	else
		wait_for 60 unload_module || fail "the module cannot be unloaded"
	fi
	[ ! -e /sys/module/smc ] || fail "the module is loaded"
}

case_back()
{
	if [ "$HOST" = 1 ]; then
		# loaded and not in use: the removal unloads it
		in_tree /usr/sbin/modprobe smc || fail "modprobe"
		remove
		grep -q 'the module was unloaded' /run/dpkg || fail "it does not say that the module is gone"
		[ ! -e /sys/module/smc ] || fail "the module is loaded"
	fi
	in_tree /usr/sbin/modprobe smc || fail "the in-tree module does not load"
	! ours || fail "this is not the in-tree module"
}

case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	expect "queue pairs left" "$(/usr/sbin/rdma resource show qp | grep -c 'comm \[smc\]')" -eq 0
}
