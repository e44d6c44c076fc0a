/* SPDX-License-Identifier: GPL-2.0-only */
/* An orphan: a clcsock whose application has closed its socket; see tcp/orphan.c. */
#ifndef _SMC_TCP_ORPHAN_H
#define _SMC_TCP_ORPHAN_H

struct smc_clcsock;
struct smc_orphan;

/* How a clcsock ends (RFC 7609 4.8.1, 4.8.2). */
enum smc_tcp_end {
	SMC_TCP_END_NONE,	/* it stays */
	SMC_TCP_END_FIN,	/* FIN: we have closed first, so TIME_WAIT is ours */
	SMC_TCP_END_FIN_SECOND,	/* FIN once the peer's has come, which has closed first */
	SMC_TCP_END_RST,	/* RST */
};

int smc_orphan_init(void);
void smc_orphan_exit(void);

struct smc_orphan *smc_orphan_create(struct smc_clcsock *c);
void smc_orphan_end(struct smc_orphan *orphan, enum smc_tcp_end how);

#endif
