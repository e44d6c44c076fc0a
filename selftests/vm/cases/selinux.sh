# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# SELinux in enforcing mode with the policy of Debian: smc_traffic is a service, in the domain of Redis (redis_t),
# where init starts it. It has TCP sockets there, but SMC sockets only with the policy module
# tools/samples/smc.cil. selftests/vm/selinux.sh makes the policies.

CASES="tcp:120 refused smc:120 ipproto:120 others ports:120 preload:120 restore unload"
export CASES

SERVICE=/run/service
PORT=6379	# redis_port_t

# load_policy NAME: the kernel takes it in one write
load_policy()
{
	dd if="/t/$1.policy" of=/sys/fs/selinux/load bs=16M 2> /run/dd || fail "policy: $(cat /run/dd)"
}

# label TYPE [-R] FILE...
label()
{
	type_=$1
	shift
	/t/chcon "system_u:object_r:$type_:s0" "$@" > /run/chcon 2>&1 || fail "no label $type_: $(tail -n 1 /run/chcon)"
}

# program NAME FILE TYPE: a copy with the label by which the policy chooses the domain
program()
{
	cp "$2" "$SERVICE/$1" && label "$3" "$SERVICE/$1"
}

setup()
{
	setup_net && setup_rxe && load_smc || return 1
	# each refusal is to be in the kernel log
	sysctl -q -w kernel.printk_ratelimit=0
	mount -t selinuxfs selinuxfs /sys/fs/selinux || return 1
	load_policy debian
	expect "enforcing" "$(cat /sys/fs/selinux/enforce)" = 1
	mkdir "$SERVICE"
	program busybox /bin/busybox init_exec_t
	program redis-server /t/smc_traffic redis_exec_t
	program memcached /t/smc_traffic memcached_exec_t
	program smcctl /t/smcctl bin_t
	program cat /bin/busybox bin_t
	program libsmc_preload.so /t/libsmc_preload.so lib_t
	: > "$SERVICE/said"
	label redis_log_t "$SERVICE/said"
	label var_run_t /run "$SERVICE"
	# the policy allows no such labels in an initramfs
	for d in /lib64 /lib/*-linux-gnu; do
		mkdir -p "/run/libs$d" && cp -a "$d/." "/run/libs$d" && label lib_t -R "/run/libs$d" &&
			mount --bind "/run/libs$d" "$d" || return 1
	done
}

# exec_service PROGRAM ARGUMENT...: as init starts it, in this process. Its output is in $SERVICE/said.
exec_service()
{
	program_=$1
	shift
	# shellcheck disable=SC2016 # for the other shell
	exec "$SERVICE/busybox" sh -c 'exec "$0" "$@" < /dev/null > /run/service/said 2>&1 7>&- 8>&-' \
		"$SERVICE/$program_" "$@"
}

# refused_create DOMAIN CLASS: number of such sockets that were refused so far
refused_create()
{
	dmesg | grep -c "avc:  denied  { create } .*scontext=system_u:system_r:$1:s0 .*tclass=$2 permissive=0"
}

# transfer FAMILY: in the domain of the service, at both ends
transfer()
{
	before
	if [ "$HOST" = 1 ]; then
		(exec_service redis-server server --family "$1" --port $PORT) &
		server=$!
		await_server $PORT
		expect "domain" "$(tr -d '\0' < /proc/$server/attr/current)" = system_u:system_r:redis_t:s0
		sync_signal "up.$1"
		wait "$server" || fail "server ended with $?: $(cat $SERVICE/said)"
	else
		sync_wait "up.$1" > /dev/null || exit 1
		(exec_service redis-server client --connect "$(peer_addr)" --family "$1" --port $PORT --quit \
			stream:2) || fail "client ended with $?: $(cat $SERVICE/said)"
	fi
	cat $SERVICE/said
}

# expect_smc, expect_tcp: what the transfer used
expect_smc()
{
	expect "bytes written by RDMA" "$(grown tx_write_bytes)" -ge 2097152
	expect "bytes received" "$(grown rx_bytes)" -ge 2097152
	expect "fallen back" $(($(grown clnt_fback) + $(grown srv_fback))) -eq 0
	expect_packets 512
}

expect_tcp()
{
	expect "SMC connections" $(($(grown clnt_smc) + $(grown srv_smc))) -eq 0
}

case_tcp()
{
	transfer inet
	expect_tcp
}

# refused PROGRAM DOMAIN FAMILY CLASS: the program gets no socket
refused()
{
	logged=$(refused_create "$2" "$4")
	! (exec_service "$1" client --connect "$(peer_addr)" --family "$3" --port $PORT stream:1) ||
		fail "$1 has a socket of $3"
	expect "refused sockets of the class $4" "$(refused_create "$2" "$4")" -gt "$logged"
}

case_refused()
{
	refused redis-server redis_t smc smc_socket
	refused redis-server redis_t ipproto rawip_socket
	grep EACCES $SERVICE/said || fail "the error is another one: $(cat $SERVICE/said)"
}

case_smc()
{
	load_policy smc
	transfer smc
	expect_smc
}

case_ipproto()
{
	transfer ipproto
	expect_smc
}

# The module names redis_t alone.
case_others()
{
	refused memcached memcached_t smc smc_socket
	refused memcached memcached_t ipproto rawip_socket
}

# The ports of the policy are those of TCP sockets: this one is not for Redis.
case_ports()
{
	PORT=8080	# http_cache_port_t
	for role in server "client --connect $(peer_addr) stream:1"; do
		# shellcheck disable=SC2086 # words
		! (exec_service redis-server $role --family inet --port $PORT) || fail "TCP as $role"
		grep EACCES $SERVICE/said || fail "the error is another one: $(cat $SERVICE/said)"
	done
	for family in smc ipproto; do
		transfer $family
		expect_smc
	done
}

# init is allowed to leave the environment of its services to them (noatsecure).
case_preload()
{
	export LD_PRELOAD=$SERVICE/libsmc_preload.so
	transfer inet
	expect_smc
}

# smc-restore.service needs no rule.
case_restore()
{
	(exec_service cat /proc/self/attr/current)
	expect "domain" "$(tr -d '\0' < $SERVICE/said)" = system_u:system_r:initrc_t:s0
	(exec_service smcctl ueid add SELINUX) || fail "$(cat $SERVICE/said)"
	(exec_service smcctl save /run/smc.conf) || fail "$(cat $SERVICE/said)"
	(exec_service smcctl ueid del SELINUX) || fail "$(cat $SERVICE/said)"
	(exec_service smcctl restore /run/smc.conf) || fail "$(cat $SERVICE/said)"
	/t/smcctl ueid | grep -q SELINUX || fail "the UEID is not restored"
}

# A service may not have the kernel load the module, as smc.cil does not allow it.
case_unload()
{
	sync_barrier idle || exit 1
	unload_smc || fail "the module cannot be unloaded"
	! (exec_service redis-server server --family smc --port $PORT) || fail "there is a socket"
	dmesg | grep -q "avc:  denied  { module_request } .*scontext=system_u:system_r:redis_t:s0 .*tclass=system permissive=0" ||
		fail "the request for the module was not refused"
}
