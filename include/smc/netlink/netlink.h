/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink family SMC_GEN_NETLINK. */
#ifndef _SMC_NETLINK_NETLINK_H
#define _SMC_NETLINK_NETLINK_H

int smc_netlink_init(void);
void smc_netlink_exit(void);

#endif
