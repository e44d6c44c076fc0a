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

/**
 * struct smc_cgroup_state - the only value of the map "state"
 * @host: convert sockets of all processes, not only of one cgroup
 * @inet: a module serves IPPROTO_SMC in AF_INET
 * @inet6: a module serves IPPROTO_SMC in AF_INET6
 */
struct smc_cgroup_state {
	__u32 host;
	__u32 inet;
	__u32 inet6;
};

#endif /* SMC_CGROUP_H */
