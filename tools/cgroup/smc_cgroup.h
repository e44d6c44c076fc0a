/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_cgroup: what the program in the kernel and its loader both know.
 */
#ifndef SMC_CGROUP_H
#define SMC_CGROUP_H

#include <linux/types.h>

#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif

/**
 * struct smc_cgroup_state - value of the map "state", which has one
 * @host: every process is meant, whatever its cgroup is
 * @inet: there is a module that makes AF_INET sockets of IPPROTO_SMC
 * @inet6: the same for AF_INET6
 */
struct smc_cgroup_state {
	__u32 host;
	__u32 inet;
	__u32 inet6;
};

#endif /* SMC_CGROUP_H */
