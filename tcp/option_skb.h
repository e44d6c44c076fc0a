/* SPDX-License-Identifier: GPL-2.0-only */
/* The SMC option added to a segment that is about to leave; tcp/option_skb.c. Rank 1. */
#ifndef _SMC_TCP_OPTION_SKB_H
#define _SMC_TCP_OPTION_SKB_H

#include <linux/types.h>

struct sk_buff;

/*
 * Adds the option to a SYN (or SYN-ACK: @ack) as LOCAL_OUT of protocol family @pf sees it.
 * False: nothing was changed. True: it has the option. Pointers into @skb are stale then.
 */
bool smc_option_skb_add(struct sk_buff *skb, u8 pf, bool ack);

#endif
