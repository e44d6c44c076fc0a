// SPDX-License-Identifier: GPL-2.0-only
/* The SMC option where core TCP has it (CONFIG_SMC): a flag per socket asks for it. */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <smc/tcp/option.h>

#if !IS_ENABLED(CONFIG_SMC)
#error "This kernel's TCP does not know the SMC option: tcp/option_own.c is for it."
#endif

static void option_set_syn_smc(struct sock *sk, bool on)
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
	option_set_syn_smc(sk, true);
}

/*
 * Core asks this for a SYN with the option. A listener has no callbacks of ours, so its
 * sk_user_data is free for the gate. That it was withdrawn meanwhile does not matter: it
 * is still there, and so are we. But a socket that listens no more may connect, and then
 * its sk_user_data is the carrier's; core's pointer to us had gone before that.
 */
static bool option_gate_is_shut(const struct sock *sk)
{
	/* before the look at core's pointer; pairs with gate_clear() */
	uintptr_t data = (uintptr_t)smp_load_acquire(&sk->sk_user_data);
	const struct smc_option_gate *gate;

	if (READ_ONCE(tcp_sk(sk)->smc_hs_congested) != option_gate_is_shut ||
	    (data & ~SK_USER_DATA_PTRMASK) != SK_USER_DATA_NOCOPY)
		return false;
	gate = (const struct smc_option_gate *)(data & SK_USER_DATA_PTRMASK);
	return gate && gate->shut(gate, sk);
}

static void option_gate_set(struct smc_option *o, struct sock *sk, const struct smc_option_gate *gate)
{
	write_lock_bh(&sk->sk_callback_lock);
	if (!o->gate && !sk->sk_user_data) {
		/* children do not copy it */
		__rcu_assign_sk_user_data_with_flags(sk, (void *)gate, SK_USER_DATA_NOCOPY);
		o->gate = gate;
		/* who finds the call finds the gate */
		smp_store_release(&tcp_sk(sk)->smc_hs_congested, option_gate_is_shut);
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

static void option_gate_clear(struct smc_option *o, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	if (o->gate) {
		WRITE_ONCE(tcp_sk(sk)->smc_hs_congested, NULL);
		rcu_assign_sk_user_data(sk, NULL);
		o->gate = NULL;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * smc_option_answer() - have SYN-ACKs answer the option
 * @o: of @sk
 * @sk: carrier, before listen()
 * @gate: who may say no
 */
void smc_option_answer(struct smc_option *o, struct sock *sk,
		       const struct smc_option_gate *gate)
{
	option_gate_set(o, sk, gate);
	option_set_syn_smc(sk, true);
}

/**
 * smc_option_withdraw() - neither from now on
 * @o: of @sk
 * @sk: carrier
 */
void smc_option_withdraw(struct smc_option *o, struct sock *sk)
{
	option_set_syn_smc(sk, false);
	option_gate_clear(o, sk);
}

/**
 * smc_option_accepted() - core has copied its flag, and the call for the gate
 * @o: not used
 * @sk: accepted carrier
 * @parent: not used
 */
void smc_option_accepted(struct smc_option *o, struct sock *sk,
			 const struct smc_option *parent)
{
	/* it might listen itself one day, and we be gone */
	WRITE_ONCE(tcp_sk(sk)->smc_hs_congested, NULL);
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
	/* a SYN may be asking a listener that has just gone */
	synchronize_net();
}

MODULE_INFO(tcp_option, "core");
