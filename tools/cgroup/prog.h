/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compiled smc_cgroup.bpf.c, which is a part of smc_cgroup.
 */
#ifndef SMC_CGROUP_PROG_H
#define SMC_CGROUP_PROG_H

#include <stddef.h>

extern const unsigned char smc_cgroup_prog[];
extern const size_t smc_cgroup_prog_size;

#endif /* SMC_CGROUP_PROG_H */
