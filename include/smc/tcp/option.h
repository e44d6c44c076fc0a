/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SMC option in TCP's SYN and SYN-ACK (RFC 7609 section 3.1): whether we send it, and whether
 * the peer sent it. Implemented by tcp/option_core.c or tcp/option_own.c; Kbuild selects one.
 * A function that runs out of memory leaves the connection without the option.
 */
#ifndef _SMC_TCP_OPTION_H
#define _SMC_TCP_OPTION_H

#include <linux/types.h>

struct smc_option_entry;
struct sock;

/**
 * struct smc_option_gate - a listener's decision whether to answer the option
 * @is_shut: called for each SYN with the option, in softirq, under RCU; @sk is the listener, not
 *	locked. True: the SYN-ACK goes without the option, so both ends use TCP
 */
struct smc_option_gate {
	bool (*is_shut)(const struct smc_option_gate *gate, const struct sock *sk);
};

/**
 * struct smc_option - state of the SMC option of one clcsock
 * @entry: option_own.c: entry of the clcsock in the table of clcsocks that send the option;
 *	changed under the clcsock's socket lock
 * @agreed: option_own.c, accepted clcsocks: the SYN and our SYN-ACK carried the option
 * @gate: option_core.c, listening clcsocks: see smc_option_answer(); changed under the
 *	clcsock's sk_callback_lock
 */
struct smc_option {
	struct smc_option_entry *entry;
	bool agreed;
	const struct smc_option_gate *gate;
};

int smc_option_init(void);
void smc_option_exit(void);
const char *smc_option_get_kind(void);

void smc_option_offer(struct smc_option *o, struct sock *sk);
void smc_option_answer(struct smc_option *o, struct sock *sk,
		       const struct smc_option_gate *gate);
void smc_option_withdraw(struct smc_option *o, struct sock *sk);
void smc_option_inherit(struct smc_option *o, struct sock *sk,
			const struct smc_option *parent);
void smc_option_set_save_syn(struct smc_option *o, struct sock *sk);
int smc_option_get_save_syn(const struct smc_option *o, struct sock *sk);
bool smc_option_is_agreed(const struct smc_option *o, struct sock *sk);
bool smc_option_seems_agreed(const struct smc_option *o, const struct sock *sk);

#endif
