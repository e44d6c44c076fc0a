/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SMC option of TCP's SYN and SYN-ACK (RFC 7609 section 3.1): whether this end
 * shows it, whether the peer did. Kbuild chooses the implementation. Rank 2.
 */
#ifndef _SMC_TCP_OPTION_H
#define _SMC_TCP_OPTION_H

#include <linux/types.h>

struct smc_option_entry;
struct sock;

/**
 * struct smc_option_gate - who may answer the option
 * @shut: asked for each SYN with the option. True: it is answered without, so both ends
 *	are TCP at once. Softirq, under RCU, @sk is the listener and not locked
 */
struct smc_option_gate {
	bool (*shut)(const struct smc_option_gate *gate, const struct sock *sk);
};

/**
 * struct smc_option - what a carrier remembers of it
 * @mark: where core TCP has no such option: our entry in the table of carriers that
 *	show it; under the carrier's socket lock
 * @agreed: the same, accepted carriers: the option was in the SYN and in our SYN-ACK
 * @gate: where core TCP has the option, listening carriers: as given. Under the
 *	carrier's sk_callback_lock
 */
struct smc_option {
	struct smc_option_entry *entry;
	bool agreed;
	const struct smc_option_gate *gate;
};

/* Module-wide; before the first carrier, and after the last. */
int smc_option_init(void);
void smc_option_exit(void);

/*
 * All of these: process context, @sk not locked, @o belongs to @sk. Memory shortage
 * shows as a connection without the option.
 */

/* Before connect(): the SYN carries the option. */
void smc_option_offer(struct smc_option *o, struct sock *sk);
/*
 * Before listen(): the SYN-ACK carries it if the SYN did and @gate is not shut. @gate
 * lives until a grace period after smc_option_withdraw().
 */
void smc_option_answer(struct smc_option *o, struct sock *sk,
		       const struct smc_option_gate *gate);
/* Neither from now on. Before @sk is closed; may be called twice. */
void smc_option_withdraw(struct smc_option *o, struct sock *sk);
/* @sk came out of a listener with @parent; before anybody else sees it. */
void smc_option_accepted(struct smc_option *o, struct sock *sk,
			 const struct smc_option *parent);
/* The user has set TCP_SAVE_SYN of @sk. */
void smc_option_save_syn(struct smc_option *o, struct sock *sk);
/* What the user has set; -1: TCP itself knows. */
int smc_option_saves_syn(const struct smc_option *o, struct sock *sk);
/* Connected or accepted @sk: did both ends send the option? */
bool smc_option_agreed(const struct smc_option *o, struct sock *sk);

#endif
