// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SMC option where core TCP does not know it: added to SYN and SYN-ACK on their way
 * out, read from what core keeps of the peer's. Documentation/decisions/0007-own-tcp-option.md
 * says why so.
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
#include <smc/proto/tcp_opt.h>
#include <smc/tcp/option.h>
#include "option_skb.h"

#if !IS_ENABLED(CONFIG_NETFILTER)
#error "Without CONFIG_NETFILTER and CONFIG_SMC nothing can put the SMC option into a SYN."
#endif

/* A SYN that stays unanswered goes without the option from this retransmission on. */
#define OPTION_SYN_TRIES	3
#define OPTION_ENTRY_BITS	10
#define OPTION_SYN_LOCK_BITS	6
/* What a carrier's icsk_af_ops can be: IPv4, IPv6, IPv6 with a v4-mapped peer; a reserve. */
#define OPTION_OPS_COPIES	4

/**
 * struct smc_option_mark - a carrier that shows the option
 * @node: in @marks
 * @sk: the carrier
 * @answers: it listens: TCP_SAVE_SYN is ours
 * @gate: who may say no then; set once, under RCU
 * @sent: the last connect() had the option in a SYN
 * @agreed: and the SYN-ACK had it too
 * @save_syn: TCP_SAVE_SYN as its user set it
 * @rcu: readers of the table
 *
 * All but @node change under the carrier's socket lock.
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
 * struct ops_copy - a carrier's calls, with two of ours
 * @orig: TCP's own; written last, then constant
 * @ops: what the carrier gets
 */
struct option_ops {
	const struct inet_connection_sock_af_ops *orig;
	struct inet_connection_sock_af_ops ops;
};

/**
 * struct option_net - what a namespace has of ours
 * @up: the hooks are registered; changes under hooks_mutex
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
 * Stands in place of SMC_TCP_OPT_ID in a saved SYN that was answered. Random, so that
 * no peer can send it.
 */
static u32 option_answered_id __ro_after_init;

/* Under RCU. */
static struct smc_option_entry *option_entry_find(const struct sock *sk)
{
	struct smc_option_entry *e;

	hash_for_each_possible_rcu(option_entries, e, node, (unsigned long)sk) {
		if (e->sk == sk)
			return e;
	}
	return NULL;
}

/* ---- calls of the carrier ---------------------------------------------------- */

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

/* Socket locked. Only what is still ours: IPV6_ADDRFORM sets another. */
static void option_ops_restore(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	WRITE_ONCE(icsk->icsk_af_ops, option_ops_original(icsk->icsk_af_ops));
}

/* Options of the TCP header that begins at @th; its length was checked by core. */
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
 * Core calls this with the SYN-ACK once all its checks of it are done, the socket locked;
 * and later, rarely, with other segments.
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
		e->agreed = option_is_in_header(th, SMC_TCP_OPT_ID);
	rcu_read_unlock();
}

/*
 * The saved SYN moves from the request to the child. A SYN-ACK that is being sent again
 * on another CPU may be reading it: the lock keeps it in the request so long. (The initial
 * sequence number stays the same when a request moves to another listener.)
 */
static spinlock_t *option_syn_lock(const struct request_sock *req)
{
	return &option_syn_locks[hash_32(tcp_rsk(req)->snt_isn, OPTION_SYN_LOCK_BITS)];
}

static struct sock *option_syn_recv_sock(const struct sock *sk, struct sk_buff *skb,
				      struct request_sock *req, struct dst_entry *dst,
				      struct request_sock *req_unhash, bool *own_req,
				      void (*init)(struct sock *newsk, const struct sock *sk))
{
	const struct inet_connection_sock_af_ops *orig =
		option_ops_original(READ_ONCE(inet_csk(sk)->icsk_af_ops));
	spinlock_t *lock = option_syn_lock(req);
	struct sock *child;

	spin_lock_bh(lock);
	child = orig->syn_recv_sock(sk, skb, req, dst, req_unhash, own_req, init);
	spin_unlock_bh(lock);
	/* it comes locked, and copies its listener */
	if (child)
		option_ops_restore(child);
	return child;
}

static void option_ops_fill(struct option_ops *copy, const struct inet_connection_sock_af_ops *orig)
{
	copy->ops = *orig;
	copy->ops.sk_rx_dst_set = option_rx_dst_set;
	copy->ops.syn_recv_sock = option_syn_recv_sock;
	/* who finds it finds it complete */
	smp_store_release(&copy->orig, orig);
}

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

/* Socket locked. */
static bool option_ops_install(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct option_ops *copy;

	if (option_ops_find(icsk->icsk_af_ops))
		return true;
	copy = option_ops_get(icsk->icsk_af_ops);
	if (!copy)
		return false;
	WRITE_ONCE(icsk->icsk_af_ops, &copy->ops);
	return true;
}

/* ---- packets on their way out ------------------------------------------------ */

/* The socket is locked: by connect() or by TCP's timer. */
static void option_add_to_syn(struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct sock *sk = skb->sk;
	struct smc_option_entry *e = option_entry_find(sk);

	if (!e || inet_csk(sk)->icsk_retransmits >= OPTION_SYN_TRIES)
		return;
	/* connect() to a v4-mapped peer has replaced what was there before */
	if (option_ops_install(sk) && smc_option_skb_add(skb, state->pf, false))
		e->sent = true;
}

/* The options of a saved SYN. */
static u8 *option_get_saved_syn(struct saved_syn *saved, size_t *len)
{
	if (!saved || saved->tcp_hdrlen < sizeof(struct tcphdr))
		return NULL;
	*len = saved->tcp_hdrlen - sizeof(struct tcphdr);
	return saved->data + saved->mac_hdrlen + saved->network_hdrlen + sizeof(struct tcphdr);
}

/* The option with @id, and nothing that forbids an answer. */
static bool option_is_answerable(const u8 *opts, size_t len, u32 id, size_t *pos)
{
	return (smc_tcp_opt_scan(opts, len, id, pos) & ~SMC_TCP_OPT_F_END) == SMC_TCP_OPT_F_SMC;
}

/*
 * Both ends must come to the same answer however many SYN-ACKs there are. So the first
 * decides: with the option, or never; and what it decided stands in the saved SYN.
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
	if (!answered && gate && gate->shut(gate, req->rsk_listener)) {
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

/* Under RCU. skb->sk, not state->sk: that is a listener for cookies, too. */
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

/* First, so that the host's filters and connection tracking see what goes out. */
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

/* Only namespaces with a carrier pay for the hooks. */
static int option_register_hooks(struct net *net)
{
	struct option_net *on = net_generic(net, option_net_id);
	int rc = 0;

	if (READ_ONCE(on->registered))
		return 0;
	mutex_lock(&option_hooks_mutex);
	if (!on->registered) {
		rc = smc_fault_rc(OPTION_HOOKS, -ENOMEM,
				  nf_register_net_hooks(net, option_hooks, ARRAY_SIZE(option_hooks)));
		WRITE_ONCE(on->registered, !rc);
	}
	mutex_unlock(&option_hooks_mutex);
	return rc;
}

/* ---- carriers ---------------------------------------------------------------- */

/* The carrier's mark, new if it has none; socket locked on return. */
static struct smc_option_entry *option_entry_get(struct smc_option *o, struct sock *sk)
{
	struct smc_option_entry *e = NULL;

	if (!option_register_hooks(sock_net(sk)))
		e = smc_fault_null(OPTION_MARK, kzalloc(sizeof(*e), GFP_KERNEL));
	lock_sock(sk);
	if (o->entry || !e) {
		kfree(e);
		return o->entry;
	}
	e->sk = sk;
	spin_lock(&option_entries_lock);
	hash_add_rcu(option_entries, &e->node, (unsigned long)sk);
	spin_unlock(&option_entries_lock);
	o->entry = e;
	return e;
}

/**
 * smc_option_offer() - have the SYN carry the option
 * @o: of @sk
 * @sk: carrier, before connect()
 */
void smc_option_offer(struct smc_option *o, struct sock *sk)
{
	struct smc_option_entry *e = option_entry_get(o, sk);

	if (e) {
		e->sent = false;
		e->agreed = false;
	}
	release_sock(sk);
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
	struct smc_option_entry *e = option_entry_get(o, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (e && !e->answers && option_ops_install(sk)) {
		e->answers = true;
		/* it was filled in long ago: see smc_option_gate */
		smp_store_release(&e->gate, gate);
		e->save_syn = tp->save_syn;
		tp->save_syn = tp->save_syn ?: 1;
	}
	release_sock(sk);
}

/**
 * smc_option_withdraw() - neither from now on
 * @o: of @sk
 * @sk: carrier
 */
void smc_option_withdraw(struct smc_option *o, struct sock *sk)
{
	struct smc_option_entry *e;

	lock_sock(sk);
	e = o->entry;
	if (e) {
		option_ops_restore(sk);
		if (e->answers)
			tcp_sk(sk)->save_syn = e->save_syn;
		spin_lock(&option_entries_lock);
		hash_del_rcu(&e->node);
		spin_unlock(&option_entries_lock);
		o->entry = NULL;
		kfree_rcu(e, rcu);
	}
	release_sock(sk);
}

/**
 * smc_option_accepted() - what became of the option of an accepted carrier
 * @o: of @sk
 * @sk: accepted carrier, which nobody else has seen
 * @parent: of the listener, which is not withdrawn meanwhile
 *
 * The user of the socket finds the saved SYN as the peer sent it, if it asked for one.
 */
void smc_option_accepted(struct smc_option *o, struct sock *sk,
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
 * smc_option_agreed() - did both ends send the option?
 * @o: of @sk
 * @sk: connected or accepted carrier
 *
 * Return: true if they did.
 */
bool smc_option_agreed(const struct smc_option *o, struct sock *sk)
{
	bool agreed;

	/* TCP is ESTABLISHED a moment before it shows us the SYN-ACK */
	lock_sock(sk);
	agreed = o->agreed || (o->entry && o->entry->agreed);
	release_sock(sk);
	return agreed;
}

/**
 * smc_option_save_syn() - the user has set TCP_SAVE_SYN
 * @o: of @sk
 * @sk: carrier
 *
 * A listener goes on saving, for us.
 */
void smc_option_save_syn(struct smc_option *o, struct sock *sk)
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
 * smc_option_saves_syn() - TCP_SAVE_SYN as the user set it
 * @o: of @sk
 * @sk: carrier
 *
 * Return: the value, or -1 if TCP knows it.
 */
int smc_option_saves_syn(const struct smc_option *o, struct sock *sk)
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
 * smc_option_init() - be ready for carriers
 *
 * Return: 0 or -errno.
 */
int __init smc_option_init(void)
{
	int i;

	/* no ARRAY_SIZE(): with one processor alone a lock has no size */
	for (i = 0; i < 1 << OPTION_SYN_LOCK_BITS; i++)
		spin_lock_init(&option_syn_locks[i]);
	do {
		option_answered_id = get_random_u32();
	} while (!option_answered_id || option_answered_id == SMC_TCP_OPT_ID);
	return smc_fault_rc(OPTION_PERNET, -ENOMEM, register_pernet_subsys(&option_net_ops));
}

/** smc_option_exit() - no carrier is left; no packet meets us any more */
void smc_option_exit(void)
{
	unregister_pernet_subsys(&option_net_ops);
	/* a packet of anybody may be on its way through the hook */
	synchronize_net();
}

MODULE_INFO(tcp_option, "own");
