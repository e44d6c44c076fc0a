/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_cgroup: declarations shared by the BPF programs and their loader.
 */
#ifndef SMC_CGROUP_H
#define SMC_CGROUP_H

#include <linux/types.h>

#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif

/* Whose sockets are converted */
enum smc_cgroup_kind {
	SMC_CGROUP_HOST,	/* all */
	SMC_CGROUP_BELOW,	/* processes of a cgroup and of those below it */
	SMC_CGROUP_NETNS,	/* processes that are in a network namespace */
	SMC_CGROUP_PROCESS,	/* one process with all its threads */
};

/* Unit of struct smc_cgroup_state.start in nanoseconds: that of /proc/PID/stat, USER_HZ */
#define SMC_CGROUP_TICK_NS 10000000

/**
 * struct smc_cgroup_state - the only value of the map "state"
 * @kind: enum smc_cgroup_kind
 * @inet: a module serves IPPROTO_SMC in AF_INET
 * @inet6: a module serves IPPROTO_SMC in AF_INET6
 * @unused: no hole, of which the kernel would not know the value
 * @id: SMC_CGROUP_NETNS: cookie of the namespace; SMC_CGROUP_PROCESS: number of the process
 * @start: SMC_CGROUP_PROCESS: when it began, as its number is used again when it has ended
 */
struct smc_cgroup_state {
	__u32 kind;
	__u32 inet;
	__u32 inet6;
	__u32 unused;
	__u64 id;
	__u64 start;
};

#endif /* SMC_CGROUP_H */
