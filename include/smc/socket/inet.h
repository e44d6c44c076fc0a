/* SPDX-License-Identifier: GPL-2.0-only */
/* IPPROTO_SMC: sockets of AF_INET and AF_INET6 that are ours. Rank 12.3. */
#ifndef _SMC_SOCKET_INET_H
#define _SMC_SOCKET_INET_H

/* Registers the protocol with both families, and takes it back. The family AF_SMC is up. */
int smc_inet_init(void);
void smc_inet_exit(void);

#endif
