/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_cgroup.bpf.c, compiled, as it is built into smc_cgroup.
 */
#ifndef SMC_CGROUP_PROG_H
#define SMC_CGROUP_PROG_H

#include <stddef.h>

extern const unsigned char smc_cgroup_prog[];
extern const size_t smc_cgroup_prog_size;

#endif /* SMC_CGROUP_PROG_H */
