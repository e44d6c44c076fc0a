// SPDX-License-Identifier: GPL-2.0-only
/* The SMC option where core TCP has it (CONFIG_SMC): a flag per socket asks for it. */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <smc/option.h>

#if !IS_ENABLED(CONFIG_SMC)
#error "This kernel's TCP does not know the SMC option: smc_option_own.c is for it."
#endif

static void set_flag(struct sock *sk, bool on)
{
	lock_sock(sk);
	tcp_sk(sk)->syn_smc = on;
	release_sock(sk);
}

/**
 * smc_option_offer() - have the SYN carry the option
 * @o: not used
 * @sk: carrier, before connect()
 */
void smc_option_offer(struct smc_option *o, struct sock *sk)
{
	set_flag(sk, true);
}

/**
 * smc_option_answer() - have the SYN-ACK carry the option
 * @o: not used
 * @sk: carrier, before listen()
 */
void smc_option_answer(struct smc_option *o, struct sock *sk)
{
	set_flag(sk, true);
}

/**
 * smc_option_withdraw() - neither from now on
 * @o: not used
 * @sk: carrier
 */
void smc_option_withdraw(struct smc_option *o, struct sock *sk)
{
	set_flag(sk, false);
}

/**
 * smc_option_accepted() - nothing: core has copied its flag
 * @o: not used
 * @sk: accepted carrier
 * @parent: not used
 */
void smc_option_accepted(struct smc_option *o, struct sock *sk,
			 const struct smc_option *parent)
{
}

/**
 * smc_option_agreed() - did the peer send the option too?
 * @o: not used
 * @sk: connected or accepted carrier
 *
 * Core clears the flag when the peer's SYN or SYN-ACK lacked the option, and with
 * syncookies.
 *
 * Return: true if it did.
 */
bool smc_option_agreed(const struct smc_option *o, struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

/**
 * smc_option_save_syn() - nothing: core does not need TCP_SAVE_SYN
 * @o: not used
 * @sk: carrier
 */
void smc_option_save_syn(struct smc_option *o, struct sock *sk)
{
}

/**
 * smc_option_saves_syn() - TCP_SAVE_SYN as the user set it
 * @o: not used
 * @sk: carrier
 *
 * Return: -1: ask TCP.
 */
int smc_option_saves_syn(const struct smc_option *o, struct sock *sk)
{
	return -1;
}

/**
 * smc_option_init() - let TCP send and recognise the SMC option
 *
 * Return: 0.
 */
int __init smc_option_init(void)
{
	static_branch_enable(&tcp_have_smc);
	return 0;
}

/** smc_option_exit() - no SYN carries the option any more */
void smc_option_exit(void)
{
	static_branch_disable(&tcp_have_smc);
}

MODULE_INFO(tcp_option, "core");
