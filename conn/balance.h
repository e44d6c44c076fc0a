/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections move to a link that became usable, see balance.c. */
#ifndef _SMC_CONN_BALANCE_H
#define _SMC_CONN_BALANCE_H

struct smc_lgr;
struct smc_link;

void smc_balance_start(struct smc_link *link);
void smc_balance_stop(struct smc_lgr *lgr);

#endif
