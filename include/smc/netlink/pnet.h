/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink family SMC_PNETID: the PNET table. */
#ifndef _SMC_NETLINK_PNET_H
#define _SMC_NETLINK_PNET_H

int smc_nl_pnet_init(void);
void smc_nl_pnet_exit(void);

#endif
