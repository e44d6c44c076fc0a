/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink family SMC_GEN_NETLINK. */
#ifndef _SMC_NETLINK_NETLINK_H
#define _SMC_NETLINK_NETLINK_H

int smc_nl_init(void);
void smc_nl_exit(void);

#endif
