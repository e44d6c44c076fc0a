// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs of smc_cgroup: in a cgroup, a network namespace, a process or on the whole host,
 * socket() for a TCP socket opens a socket of IPPROTO_SMC.
 *
 * The kernel calls the hook only in the system call, so its own sockets are never converted. While
 * no module serves IPPROTO_SMC, requests stay unchanged, else socket() would fail: the other
 * programs track when a module registers and unregisters the protocol.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "smc_cgroup.h"

#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define SOCK_TYPE_MASK 0xf
#define IPPROTO_TCP 6

/* The members that are read; the loader relocates them to those of the running kernel (CO-RE). */
struct inet_protosw {
	unsigned short type;
	unsigned short protocol;
} __attribute__((preserve_access_index));

struct net {
	__u64 net_cookie;
} __attribute__((preserve_access_index));

struct nsproxy {
	struct net *net_ns;
} __attribute__((preserve_access_index));

struct task_struct {
	int tgid;
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct nsproxy *nsproxy;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} cgroup SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct smc_cgroup_state);
} state SEC(".maps");

static struct smc_cgroup_state *state_get(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&state, &key);
}

/* Is the calling process one whose sockets are converted? */
static int caller_is_chosen(const struct smc_cgroup_state *now)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	switch (now->kind) {
	case SMC_CGROUP_HOST:
		return 1;
	case SMC_CGROUP_NETNS:
		/* the new socket is in this namespace */
		return task->nsproxy->net_ns->net_cookie == now->id;
	case SMC_CGROUP_PROCESS:
		return (__u64)task->tgid == now->id &&
		       task->group_leader->start_boottime / SMC_CGROUP_TICK_NS == now->start;
	}
	return bpf_current_task_under_cgroup(&cgroup, 0) == 1;
}

/* Return the protocol to use, 0: the protocol that the program asked for. */
SEC("fmod_ret/update_socket_protocol")
int switch_protocol(__u64 *ctx)
{
	int family = (int)ctx[0], type = (int)ctx[1], protocol = (int)ctx[2];
	struct smc_cgroup_state *now = state_get();

	if (!now || (type & SOCK_TYPE_MASK) != SOCK_STREAM)
		return 0;
	if (protocol && protocol != IPPROTO_TCP)
		return 0;
	if (!(family == AF_INET && now->inet) && !(family == AF_INET6 && now->inet6))
		return 0;
	return caller_is_chosen(now) ? IPPROTO_SMC : 0;
}

static int protosw_is_smc(const struct inet_protosw *sw)
{
	return sw->type == SOCK_STREAM && sw->protocol == IPPROTO_SMC;
}

SEC("fexit/inet_register_protosw")
int registered(__u64 *ctx)
{
	struct smc_cgroup_state *now = state_get();

	if (now && protosw_is_smc((const struct inet_protosw *)ctx[0]))
		now->inet = 1;
	return 0;
}

SEC("fexit/inet6_register_protosw")
int registered6(__u64 *ctx)
{
	struct smc_cgroup_state *now = state_get();

	if (now && !(int)ctx[1] && protosw_is_smc((const struct inet_protosw *)ctx[0]))
		now->inet6 = 1;
	return 0;
}

SEC("fentry/inet_unregister_protosw")
int unregistered(__u64 *ctx)
{
	struct smc_cgroup_state *now = state_get();

	if (now && protosw_is_smc((const struct inet_protosw *)ctx[0]))
		now->inet = 0;
	return 0;
}

SEC("fentry/inet6_unregister_protosw")
int unregistered6(__u64 *ctx)
{
	struct smc_cgroup_state *now = state_get();

	if (now && protosw_is_smc((const struct inet_protosw *)ctx[0]))
		now->inet6 = 0;
	return 0;
}

/* The kernel accepts these programs only with a GPL-compatible license. */
char program_license[] SEC("license") = "GPL";
