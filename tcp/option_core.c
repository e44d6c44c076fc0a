// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SMC option where core TCP implements it (CONFIG_SMC): tcp_sock.syn_smc requests the option,
 * and tcp_sock.smc_hs_congested lets a listener refuse it. The alternative is tcp/option_own.c.
 */
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
 * smc_option_offer() - send the option in the SYN
 * @o: not used
 * @sk: clcsock, before connect(), not locked
 *
 * Process context.
 */
void smc_option_offer(struct smc_option *o, struct sock *sk)
{
	option_set_syn_smc(sk, true);
}

/*
 * Core calls this for a SYN with the option, under RCU. The clcsock of a listener is not hooked,
 * so its sk_user_data can point to the gate. If the option is withdrawn meanwhile, the gate and
 * this module still exist until a grace period has passed. A socket that has stopped listening
 * may connect, and its sk_user_data then points to the clcsock; smc_hs_congested was cleared
 * before that.
 */
static bool option_gate_is_shut(const struct sock *sk)
{
	/* read before smc_hs_congested; pairs with option_gate_clear() */
	uintptr_t data = (uintptr_t)smp_load_acquire(&sk->sk_user_data);
	const struct smc_option_gate *gate;

	if (READ_ONCE(tcp_sk(sk)->smc_hs_congested) != option_gate_is_shut ||
	    (data & ~SK_USER_DATA_PTRMASK) != SK_USER_DATA_NOCOPY)
		return false;
	gate = (const struct smc_option_gate *)(data & SK_USER_DATA_PTRMASK);
	return gate && gate->is_shut(gate, sk);
}

static void option_gate_set(struct smc_option *o, struct sock *sk,
			    const struct smc_option_gate *gate)
{
	write_lock_bh(&sk->sk_callback_lock);
	if (!o->gate && !sk->sk_user_data) {
		/* NOCOPY: children do not inherit the pointer */
		__rcu_assign_sk_user_data_with_flags(sk, (void *)gate, SK_USER_DATA_NOCOPY);
		WRITE_ONCE(o->gate, gate);
		/* a CPU that reads the function pointer must see the gate */
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
		WRITE_ONCE(o->gate, NULL);
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * smc_option_answer() - answer the option in SYN-ACKs
 * @o: state of @sk
 * @sk: clcsock, before listen(), not locked
 * @gate: decides for each SYN; the caller keeps it until a grace period after
 *	smc_option_withdraw()
 *
 * A SYN-ACK carries the option if the SYN did and @gate is not shut. Process context.
 */
void smc_option_answer(struct smc_option *o, struct sock *sk,
		       const struct smc_option_gate *gate)
{
	option_gate_set(o, sk, gate);
	option_set_syn_smc(sk, true);
}

/**
 * smc_option_withdraw() - stop sending the option in SYN and SYN-ACK
 * @o: state of @sk
 * @sk: clcsock, not yet closed, not locked
 *
 * May be called twice. Process context.
 */
void smc_option_withdraw(struct smc_option *o, struct sock *sk)
{
	/* most sockets have neither, and nobody else sets them: no lock */
	if (READ_ONCE(tcp_sk(sk)->syn_smc))
		option_set_syn_smc(sk, false);
	if (READ_ONCE(o->gate))
		option_gate_clear(o, sk);
}

/**
 * smc_option_inherit() - take over the option state of an accepted clcsock
 * @o: not used
 * @sk: accepted clcsock, which no other context uses yet
 * @parent: not used
 *
 * Core has copied syn_smc and smc_hs_congested from the listener. Process context.
 */
void smc_option_inherit(struct smc_option *o, struct sock *sk,
			const struct smc_option *parent)
{
	/* the socket might listen itself one day, when this module has been unloaded */
	WRITE_ONCE(tcp_sk(sk)->smc_hs_congested, NULL);
}

/**
 * smc_option_is_agreed() - check whether both ends sent the option
 * @o: not used
 * @sk: connected or accepted clcsock
 *
 * Core clears syn_smc when the peer's SYN or SYN-ACK lacked the option, and with syncookies.
 *
 * Return: true if the SYN and the SYN-ACK carried the option.
 */
bool smc_option_is_agreed(const struct smc_option *o, struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

/**
 * smc_option_seems_agreed() - the same, in any context
 * @o: not used
 * @sk: connected clcsock
 *
 * Return: as smc_option_is_agreed().
 */
bool smc_option_seems_agreed(const struct smc_option *o, const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

/**
 * smc_option_set_save_syn() - do nothing: core's option does not use TCP_SAVE_SYN
 * @o: not used
 * @sk: clcsock
 */
void smc_option_set_save_syn(struct smc_option *o, struct sock *sk)
{
}

/**
 * smc_option_get_save_syn() - return the application's TCP_SAVE_SYN
 * @o: not used
 * @sk: clcsock
 *
 * Return: -1: TCP has the value.
 */
int smc_option_get_save_syn(const struct smc_option *o, struct sock *sk)
{
	return -1;
}

/**
 * smc_option_get_kind() - Return which implementation of the SMC option this is
 *
 * Return: "core", a name for users.
 */
const char *smc_option_get_kind(void)
{
	return "core";
}

/**
 * smc_option_init() - enable the SMC option in core TCP
 *
 * Called when the module starts, before the first clcsock.
 *
 * Return: 0.
 */
int __init smc_option_init(void)
{
	static_branch_enable(&tcp_have_smc);
	return 0;
}

/**
 * smc_option_exit() - disable the SMC option in core TCP
 *
 * Called when the module stops, after the last clcsock. Waits until no SYN that is being
 * processed can call option_gate_is_shut().
 */
void smc_option_exit(void)
{
	static_branch_disable(&tcp_have_smc);
	/* a SYN may still be calling the gate of a listener that was closed just before */
	synchronize_net();
}

MODULE_INFO(tcp_option, "core");
