/* SPDX-License-Identifier: GPL-2.0-only */
/* IPPROTO_SMC: SMC sockets of the families AF_INET and AF_INET6. */
#ifndef _SMC_SOCKET_INET_H
#define _SMC_SOCKET_INET_H

int smc_inet_init(void);
void smc_inet_exit(void);

#endif
