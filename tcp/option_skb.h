/* SPDX-License-Identifier: GPL-2.0-only */
/* Insertion of the SMC option into an outgoing SYN or SYN-ACK; private to tcp/. */
#ifndef _SMC_TCP_OPTION_SKB_H
#define _SMC_TCP_OPTION_SKB_H

#include <linux/types.h>

struct sk_buff;

bool smc_option_skb_add(struct sk_buff *skb, u8 pf, bool ack);

#endif
