// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SMC option where core TCP does not implement it. A netfilter hook adds the option to
 * outgoing SYNs and SYN-ACKs. A client reads the peer's option from the SYN-ACK, in a replaced
 * sk_rx_dst_set(); a server reads it from the SYN that core keeps for TCP_SAVE_SYN. The reasons
 * are in Documentation/decisions/0007-own-tcp-option.md. The alternative is tcp/option_core.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/request_sock.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/tcp_states.h>
#include <smc/base/fault.h>
#include <smc/base/hs_ctrl.h>
#include <smc/proto/tcp_opt.h>
#include <smc/tcp/option.h>
#include "option_skb.h"

#if !IS_ENABLED(CONFIG_NETFILTER)
#error "Without CONFIG_NETFILTER and CONFIG_SMC nothing can put the SMC option into a SYN."
#endif

/* From this retransmission on a SYN goes without the option. */
#define OPTION_SYN_TRIES	3
#define OPTION_ENTRY_BITS	10
#define OPTION_SYN_LOCK_BITS	6
/* Values that icsk_af_ops of a clcsock can have: IPv4, IPv6, v4-mapped IPv6; one in reserve. */
#define OPTION_OPS_COPIES	4

/**
 * struct smc_option_entry - a clcsock that sends the option
 * @node: entry in option_entries
 * @sk: TCP socket of the clcsock
 * @answers: the clcsock is a listener: TCP_SAVE_SYN is set by us
 * @gate: listener: decides whether to answer a SYN; set once, read under RCU
 * @sent: a SYN of the last connect() carried the option
 * @agreed: @sent, and the SYN-ACK carried the option
 * @save_syn: listener: TCP_SAVE_SYN as the application set it
 * @rcu: for readers of the table
 *
 * All members but @node change under the socket lock of @sk.
 */
struct smc_option_entry {
	struct hlist_node node;
	struct sock *sk;
	bool answers;
	const struct smc_option_gate *gate;
	bool sent;
	bool agreed;
	u8 save_syn;
	struct rcu_head rcu;
};

/**
 * struct option_ops - a copy of TCP's icsk_af_ops with two functions replaced
 * @orig: TCP's own table; written last, then constant
 * @ops: the table that a clcsock uses instead
 *
 * Copies are never freed, because core reads icsk_af_ops without a lock.
 */
struct option_ops {
	const struct inet_connection_sock_af_ops *orig;
	struct inet_connection_sock_af_ops ops;
};

/**
 * struct option_net - per-namespace state
 * @registered: the netfilter hooks are registered; changes under option_hooks_mutex
 */
struct option_net {
	bool registered;
};

static DEFINE_HASHTABLE(option_entries, OPTION_ENTRY_BITS);
static DEFINE_SPINLOCK(option_entries_lock);
static struct option_ops option_ops_copies[OPTION_OPS_COPIES];
static DEFINE_SPINLOCK(option_ops_lock);
static spinlock_t option_syn_locks[1 << OPTION_SYN_LOCK_BITS];
static DEFINE_MUTEX(option_hooks_mutex);
static unsigned int option_net_id;
/*
 * Replaces SMC_TCP_OPT_ID in a saved SYN when the SYN-ACK carried the option. Random, so that no
 * peer can send it.
 */
static u32 option_answered_id __ro_after_init;

/* Return the entry of @sk, or NULL. Caller holds rcu_read_lock(). */
static struct smc_option_entry *option_entry_find(const struct sock *sk)
{
	struct smc_option_entry *e;

	hash_for_each_possible_rcu(option_entries, e, node, (unsigned long)sk) {
		if (e->sk == sk)
			return e;
	}
	return NULL;
}

/* ---- replaced icsk_af_ops ---------------------------------------------------- */

static struct option_ops *option_ops_find(const struct inet_connection_sock_af_ops *ops)
{
	int i;

	for (i = 0; i < OPTION_OPS_COPIES; i++) {
		if (ops == &option_ops_copies[i].ops)
			return &option_ops_copies[i];
	}
	return NULL;
}

static const struct inet_connection_sock_af_ops *
option_ops_original(const struct inet_connection_sock_af_ops *ops)
{
	const struct option_ops *copy = option_ops_find(ops);

	return copy ? copy->orig : ops;
}

/* Restore TCP's table, unless IPV6_ADDRFORM has set another one. */
static void option_ops_restore(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	sock_owned_by_me(sk);
	WRITE_ONCE(icsk->icsk_af_ops, option_ops_original(icsk->icsk_af_ops));
}

/* Check for the option with @id in the TCP header @th, whose length core has checked. */
static bool option_is_in_header(const struct tcphdr *th, u32 id)
{
	const u8 *opts = (const u8 *)(th + 1);
	unsigned int found;
	size_t pos;

	if (th->doff * 4 < sizeof(*th))
		return false;
	found = smc_tcp_opt_scan(opts, th->doff * 4 - sizeof(*th), id, &pos);
	return found & SMC_TCP_OPT_F_SMC && !(found & SMC_TCP_OPT_F_BAD);
}

/*
 * Core calls this with the SYN-ACK after it has verified the segment, and, rarely, later with
 * other segments. Socket locked.
 */
static void option_rx_dst_set(struct sock *sk, const struct sk_buff *skb)
{
	const struct tcphdr *th = tcp_hdr(skb);
	struct smc_option_entry *e;

	option_ops_original(READ_ONCE(inet_csk(sk)->icsk_af_ops))->sk_rx_dst_set(sk, skb);
	if (!th->syn || !th->ack)
		return;
	option_ops_restore(sk);
	rcu_read_lock();
	e = option_entry_find(sk);
	if (e && e->sent)
		WRITE_ONCE(e->agreed, option_is_in_header(th, SMC_TCP_OPT_ID));
	rcu_read_unlock();
}

/*
 * The saved SYN moves from the request to the child, while another CPU that retransmits the
 * SYN-ACK may be reading it. This lock keeps the saved SYN in the request meanwhile. It is chosen
 * by the initial sequence number, which stays the same when a request migrates to another
 * listener.
 */
static spinlock_t *option_syn_lock(const struct request_sock *req)
{
	return &option_syn_locks[hash_32(tcp_rsk(req)->snt_isn, OPTION_SYN_LOCK_BITS)];
}

static struct sock *option_syn_recv_sock(const struct sock *sk, struct sk_buff *skb,
					 struct request_sock *req, struct dst_entry *dst,
					 struct request_sock *req_unhash,
#ifdef SMC_HAVE_OPT_CHILD_INIT
					 bool *own_req,
					 void (*init)(struct sock *newsk, const struct sock *sk))
#else
					 bool *own_req)
#endif
{
	const struct inet_connection_sock_af_ops *orig =
		option_ops_original(READ_ONCE(inet_csk(sk)->icsk_af_ops));
	spinlock_t *lock = option_syn_lock(req);
	struct sock *child;

	spin_lock_bh(lock);
#ifdef SMC_HAVE_OPT_CHILD_INIT
	child = orig->syn_recv_sock(sk, skb, req, dst, req_unhash, own_req, init);
#else
	child = orig->syn_recv_sock(sk, skb, req, dst, req_unhash, own_req);
#endif
	spin_unlock_bh(lock);
	/* the child is returned locked, with a copy of its listener's icsk_af_ops */
	if (child)
		option_ops_restore(child);
	return child;
}

static void option_ops_fill(struct option_ops *copy,
			    const struct inet_connection_sock_af_ops *orig)
{
	copy->ops = *orig;
	copy->ops.sk_rx_dst_set = option_rx_dst_set;
	copy->ops.syn_recv_sock = option_syn_recv_sock;
	/* a CPU that finds the copy must see it complete */
	smp_store_release(&copy->orig, orig);
}

/* Return the copy of @orig, made on first use, or NULL when all copies are in use. */
static struct option_ops *option_ops_get(const struct inet_connection_sock_af_ops *orig)
{
	struct option_ops *copy, *end = option_ops_copies + OPTION_OPS_COPIES;

	spin_lock_bh(&option_ops_lock);
	for (copy = option_ops_copies; copy < end; copy++) {
		if (!copy->orig)
			option_ops_fill(copy, orig);
		if (copy->orig == orig)
			break;
	}
	spin_unlock_bh(&option_ops_lock);
	return copy < end ? copy : NULL;
}

/* Make @sk use a copy of its icsk_af_ops. */
static bool option_ops_install(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct option_ops *copy;

	sock_owned_by_me(sk);
	if (option_ops_find(icsk->icsk_af_ops))
		return true;
	copy = option_ops_get(icsk->icsk_af_ops);
	if (!copy)
		return false;
	WRITE_ONCE(icsk->icsk_af_ops, &copy->ops);
	return true;
}

/* ---- outgoing packets -------------------------------------------------------- */

/* The socket is locked by connect() or by TCP's timer. */
static void option_add_to_syn(struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct sock *sk = skb->sk;
	struct smc_option_entry *e = option_entry_find(sk);

	if (!e || inet_csk(sk)->icsk_retransmits >= OPTION_SYN_TRIES || !smc_hs_ctrl_wants_syn(sk))
		return;
	/* not earlier: connect() to a v4-mapped peer replaces icsk_af_ops */
	if (option_ops_install(sk) && smc_option_skb_add(skb, state->pf, false))
		e->sent = true;
}

/* Return the TCP options of a saved SYN and their length, or NULL. */
static u8 *option_get_saved_syn(struct saved_syn *saved, size_t *len)
{
	if (!saved || saved->tcp_hdrlen < sizeof(struct tcphdr))
		return NULL;
	*len = saved->tcp_hdrlen - sizeof(struct tcphdr);
	return saved->data + saved->mac_hdrlen + saved->network_hdrlen + sizeof(struct tcphdr);
}

/* Check for the option with @id, without another option that forbids an answer. */
static bool option_is_answerable(const u8 *opts, size_t len, u32 id, size_t *pos)
{
	return (smc_tcp_opt_scan(opts, len, id, pos) & ~SMC_TCP_OPT_F_END) == SMC_TCP_OPT_F_SMC;
}

/*
 * Both ends must come to the same result however often the SYN-ACK is sent. So the first SYN-ACK
 * decides, and the decision is stored in the saved SYN: the identifier becomes option_answered_id
 * if the first SYN-ACK carried the option, and 0 if it did not. A later SYN-ACK that cannot carry
 * the option although the first one did is dropped; TCP sends it again.
 */
static unsigned int option_answer_syn(struct sk_buff *skb, const struct nf_hook_state *state,
				      struct request_sock *req, const struct smc_option_gate *gate)
{
	bool answered = false;
	size_t len, pos;
	u8 *opts;

	opts = option_get_saved_syn(req->saved_syn, &len);
	if (!opts)
		return NF_ACCEPT;
	if (!option_is_answerable(opts, len, SMC_TCP_OPT_ID, &pos)) {
		answered = option_is_answerable(opts, len, option_answered_id, &pos);
		if (!answered)
			return NF_ACCEPT;
	}
	if (!answered && ((gate && gate->is_shut(gate, req->rsk_listener)) ||
			  !smc_hs_ctrl_wants_syn_ack(req->rsk_listener, req))) {
		smc_tcp_opt_set_id(opts, pos, 0);
		return NF_ACCEPT;
	}
	if (smc_option_skb_add(skb, state->pf, true)) {
		smc_tcp_opt_set_id(opts, pos, option_answered_id);
		return NF_ACCEPT;
	}
	if (answered)
		return NF_DROP;
	smc_tcp_opt_set_id(opts, pos, 0);
	return NF_ACCEPT;
}

static unsigned int option_add_to_syn_ack(struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct request_sock *req = inet_reqsk(skb->sk);
	const struct smc_option_entry *e = option_entry_find(READ_ONCE(req->rsk_listener));
	unsigned int verdict;
	spinlock_t *lock;

	if (!e)
		return NF_ACCEPT;
	lock = option_syn_lock(req);
	spin_lock_bh(lock);
	verdict = option_answer_syn(skb, state, req, READ_ONCE(e->gate));
	spin_unlock_bh(lock);
	return verdict;
}

/* Runs under RCU. skb->sk, because with syncookies state->sk is the listener. */
static unsigned int option_hook_packet(void *priv, struct sk_buff *skb,
				       const struct nf_hook_state *state)
{
	const struct sock *sk = skb->sk;

	if (!sk)
		return NF_ACCEPT;
	switch (READ_ONCE(sk->sk_state)) {
	case TCP_SYN_SENT:
		option_add_to_syn(skb, state);
		return NF_ACCEPT;
	case TCP_NEW_SYN_RECV:
		return option_add_to_syn_ack(skb, state);
	default:
		return NF_ACCEPT;
	}
}

/* First in LOCAL_OUT, so that the host's filters and connection tracking see the final packet. */
static const struct nf_hook_ops option_hooks[] = {
	{
		.hook = option_hook_packet,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP_PRI_FIRST,
	}, {
		.hook = option_hook_packet,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP6_PRI_FIRST,
	},
};

/* Register the hooks in @net on first use: only namespaces with a clcsock pay for them. */
static int option_register_hooks(struct net *net)
{
	struct option_net *on = net_generic(net, option_net_id);
	int rc = 0;

	if (READ_ONCE(on->registered))
		return 0;
	mutex_lock(&option_hooks_mutex);
	if (!on->registered) {
		rc = smc_fault_rc(OPTION_HOOKS, -ENOMEM,
				  nf_register_net_hooks(net, option_hooks,
							ARRAY_SIZE(option_hooks)));
		WRITE_ONCE(on->registered, !rc);
	}
	mutex_unlock(&option_hooks_mutex);
	return rc;
}

/* ---- option state of a clcsock ----------------------------------------------- */

/* Return the entry of @sk, created on first use, or NULL. The socket is locked on return. */
static struct smc_option_entry *option_entry_get(struct smc_option *o, struct sock *sk)
{
	struct smc_option_entry *e = NULL;

	if (!option_register_hooks(sock_net(sk)))
		e = smc_fault_null(OPTION_MARK, kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT));
	lock_sock(sk);
	if (o->entry || !e) {
		kfree(e);
		return o->entry;
	}
	e->sk = sk;
	spin_lock(&option_entries_lock);
	hash_add_rcu(option_entries, &e->node, (unsigned long)sk);
	spin_unlock(&option_entries_lock);
	WRITE_ONCE(o->entry, e);
	return e;
}

/**
 * smc_option_offer() - send the option in the SYN
 * @o: state of @sk
 * @sk: clcsock, before connect(), not locked
 *
 * Without memory the SYN goes without the option. Process context.
 */
void smc_option_offer(struct smc_option *o, struct sock *sk)
{
	struct smc_option_entry *e = option_entry_get(o, sk);

	if (e) {
		e->sent = false;
		WRITE_ONCE(e->agreed, false);
	}
	release_sock(sk);
}

/**
 * smc_option_answer() - answer the option in SYN-ACKs
 * @o: state of @sk
 * @sk: clcsock, before listen(), not locked
 * @gate: decides for each SYN; the caller keeps it until a grace period after
 *	smc_option_withdraw()
 *
 * A SYN-ACK carries the option if the SYN did and @gate is not shut. Without memory no SYN-ACK
 * does. Process context.
 */
void smc_option_answer(struct smc_option *o, struct sock *sk,
		       const struct smc_option_gate *gate)
{
	struct smc_option_entry *e = option_entry_get(o, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (e && !e->answers && option_ops_install(sk)) {
		e->answers = true;
		/* a CPU that reads the pointer must see the caller's *gate */
		smp_store_release(&e->gate, gate);
		e->save_syn = tp->save_syn;
		tp->save_syn = tp->save_syn ?: 1;
	}
	release_sock(sk);
}

/**
 * smc_option_withdraw() - stop sending the option in SYN and SYN-ACK
 * @o: state of @sk
 * @sk: clcsock, not yet closed, not locked
 *
 * Restores icsk_af_ops and the application's TCP_SAVE_SYN. May be called twice. Process context.
 */
void smc_option_withdraw(struct smc_option *o, struct sock *sk)
{
	struct smc_option_entry *e;

	/* most sockets have none, and nobody else sets it: no lock */
	if (!READ_ONCE(o->entry))
		return;
	lock_sock(sk);
	e = o->entry;
	if (e) {
		option_ops_restore(sk);
		if (e->answers)
			tcp_sk(sk)->save_syn = e->save_syn;
		spin_lock(&option_entries_lock);
		hash_del_rcu(&e->node);
		spin_unlock(&option_entries_lock);
		WRITE_ONCE(o->entry, NULL);
		kfree_rcu(e, rcu);
	}
	release_sock(sk);
}

/**
 * smc_option_inherit() - take over the option state of an accepted clcsock
 * @o: state of @sk
 * @sk: accepted clcsock, which no other context uses yet, not locked
 * @parent: state of the listener, which is not withdrawn meanwhile
 *
 * Restores the saved SYN as the peer sent it, and frees it if the application has not set
 * TCP_SAVE_SYN. Process context.
 */
void smc_option_inherit(struct smc_option *o, struct sock *sk,
			const struct smc_option *parent)
{
	const struct smc_option_entry *listener = READ_ONCE(parent->entry);
	struct tcp_sock *tp = tcp_sk(sk);
	unsigned int found = 0;
	size_t len, pos;
	u8 *opts;

	lock_sock(sk);
	opts = option_get_saved_syn(tp->saved_syn, &len);
	if (opts)
		found = smc_tcp_opt_scan(opts, len, option_answered_id, &pos);
	if (found & SMC_TCP_OPT_F_SMC) {
		smc_tcp_opt_set_id(opts, pos, SMC_TCP_OPT_ID);
		o->agreed = true;
	}
	if (listener && listener->answers) {
		tp->save_syn = READ_ONCE(listener->save_syn);
		if (!tp->save_syn)
			tcp_saved_syn_free(tp);
	}
	release_sock(sk);
}

/**
 * smc_option_is_agreed() - check whether both ends sent the option
 * @o: state of @sk
 * @sk: connected or accepted clcsock, not locked
 *
 * Process context.
 *
 * Return: true if the SYN and the SYN-ACK carried the option.
 */
bool smc_option_is_agreed(const struct smc_option *o, struct sock *sk)
{
	bool agreed;

	/* with the lock: TCP is ESTABLISHED shortly before it calls option_rx_dst_set() */
	lock_sock(sk);
	agreed = o->agreed || (o->entry && o->entry->agreed);
	release_sock(sk);
	return agreed;
}

/**
 * smc_option_seems_agreed() - check without a lock whether both ends sent the option
 * @o: state of @sk
 * @sk: connected clcsock
 *
 * Any context. Without the lock of @sk it may be false for a moment: see smc_option_is_agreed().
 *
 * Return: true if the SYN and the SYN-ACK carried the option.
 */
bool smc_option_seems_agreed(const struct smc_option *o, const struct sock *sk)
{
	const struct smc_option_entry *e;
	bool agreed;

	/* entries are freed after a grace period */
	rcu_read_lock();
	e = READ_ONCE(o->entry);
	agreed = READ_ONCE(o->agreed) || (e && READ_ONCE(e->agreed));
	rcu_read_unlock();
	return agreed;
}

/**
 * smc_option_set_save_syn() - record that the application has set TCP_SAVE_SYN
 * @o: state of @sk
 * @sk: clcsock, not locked
 *
 * A listener that answers the option keeps saving SYNs in any case. Process context.
 */
void smc_option_set_save_syn(struct smc_option *o, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	lock_sock(sk);
	if (o->entry && o->entry->answers) {
		WRITE_ONCE(o->entry->save_syn, tp->save_syn);
		tp->save_syn = tp->save_syn ?: 1;
	}
	release_sock(sk);
}

/**
 * smc_option_get_save_syn() - return the application's TCP_SAVE_SYN
 * @o: state of @sk
 * @sk: clcsock, not locked
 *
 * Process context.
 *
 * Return: the value, or -1 if TCP has it.
 */
int smc_option_get_save_syn(const struct smc_option *o, struct sock *sk)
{
	int val = -1;

	lock_sock(sk);
	if (o->entry && o->entry->answers)
		val = o->entry->save_syn;
	release_sock(sk);
	return val;
}

/* ---- module ------------------------------------------------------------------ */

static void __net_exit option_net_exit(struct net *net)
{
	const struct option_net *on = net_generic(net, option_net_id);

	if (on->registered)
		nf_unregister_net_hooks(net, option_hooks, ARRAY_SIZE(option_hooks));
}

static struct pernet_operations option_net_ops = {
	.exit = option_net_exit,
	.id = &option_net_id,
	.size = sizeof(struct option_net),
};

/**
 * smc_option_get_kind() - Return which implementation of the SMC option this is
 *
 * Return: "own", a name for users.
 */
const char *smc_option_get_kind(void)
{
	return "own";
}

/**
 * smc_option_init() - initialise the option state of all namespaces
 *
 * Called when the module starts, before the first clcsock.
 *
 * Return: 0 or -errno.
 */
int __init smc_option_init(void)
{
	int i;

	/* no ARRAY_SIZE(): on uniprocessor kernels spinlock_t is empty */
	for (i = 0; i < 1 << OPTION_SYN_LOCK_BITS; i++)
		spin_lock_init(&option_syn_locks[i]);
	do {
		option_answered_id = get_random_u32();
	} while (!option_answered_id || option_answered_id == SMC_TCP_OPT_ID);
	return smc_fault_rc(OPTION_PERNET, -ENOMEM, register_pernet_subsys(&option_net_ops));
}

/**
 * smc_option_exit() - unregister the hooks of all namespaces
 *
 * Called when the module stops, after the last clcsock. On return no packet is inside the hook.
 */
void smc_option_exit(void)
{
	unregister_pernet_subsys(&option_net_ops);
	/* a packet of any socket may still be inside the hook */
	synchronize_net();
}

MODULE_INFO(tcp_option, "own");
