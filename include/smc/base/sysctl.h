/* SPDX-License-Identifier: GPL-2.0-only */
/* sysctl net.smc.*: a view of struct smc_settings in each namespace. */
#ifndef _SMC_BASE_SYSCTL_H
#define _SMC_BASE_SYSCTL_H

int smc_sysctl_init(void);
void smc_sysctl_exit(void);

#endif
