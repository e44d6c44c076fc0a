/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink families of the in-tree user ABI. Rank 14. */
#ifndef _SMC_NETLINK_NETLINK_H
#define _SMC_NETLINK_NETLINK_H

int smc_netlink_init(void);
void smc_netlink_exit(void);

#endif
