/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of the LLC layer of one group, shared by smc_llc.c (messages, first
 * contact, RMBs), llc/add_link_server.c and llc/add_link_client.c (a further link, as server and as
 * client), llc/add_link.c (what those two share) and llc/send.c (sending).
 * Nobody else includes this.
 */
#ifndef _SMC_LLC_INTERNAL_H
#define _SMC_LLC_INTERNAL_H

#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/llc_flow.h>
#include <smc/proto/llc_msg.h>

#define LLC_RSP_TIME	(2 * HZ)	/* answers in general */
#define LLC_SENT_TIME	(HZ / 2)	/* last words before the queue pair goes */
#define LLC_CONFIRM_TIME (5 * HZ)	/* CONFIRM LINK of a further link */
#define LLC_ADD_TIME	(8 * HZ)	/* from ADD LINK to a link that can be used */

/**
 * struct llc_event - a message that arrived
 * @entry: queue, deferred or inbox
 * @link: where it came in; reference
 * @len: bytes
 * @buf: as received
 */
struct llc_event {
	struct list_head entry;
	struct smc_link *link;
	u32 len;
	u8 buf[];
};

/**
 * struct llc_fc - first contact
 * @link: first link, NULL = no first contact runs
 * @wq: wait queue of the handshake
 * @bits: SMC_LLC_FC_*
 * @answered: client: CONFIRM LINK was answered: answer its repetitions
 * @sent: server: CONFIRM LINK requests sent
 */
struct llc_fc {
	struct smc_link *link;
	wait_queue_head_t *wq;
	unsigned int bits;
	bool answered;
	unsigned int sent;
};

/**
 * struct llc_rkey - our own CONFIRM RKEY or DELETE RKEY
 * @busy: one has the turn
 * @type: which
 * @rkey: key it is about; the answer repeats it, but for DELETE RKEY of version 2
 * @link: over which it was sent; compared only
 * @done: answered
 * @negative: the answer says no
 * @retry: the answer says later
 */
struct llc_rkey {
	bool busy;
	u8 type;
	u32 rkey;
	const struct smc_link *link;
	bool done;
	bool negative;
	bool retry;
};

/**
 * struct llc_add - the exchange that adds a link, run by add_work
 * @active: from the start of @add_work to its end
 * @rejected: server: the peer does not want the link: nothing will follow
 * @accepted: server: the peer wants the link
 * @aborted: the peer deleted the new link, or refused it after all, before it was committed
 * @tries: server: requests to send before giving up
 * @until: jiffies: no message of the exchange is awaited after that; @add_work alone
 * @first: link that carries the exchange; reference
 * @request: client: the server's ADD LINK
 * @end: client: the server's end as @request says, for @add_work alone
 * @num: number of the new link, 0 = there is none, or it is one like the others by now
 * @inbox: what came for @add_work
 * @ninbox: number of them
 */
struct llc_add {
	bool active;
	bool rejected;
	bool accepted;
	bool aborted;
	unsigned int tries;
	unsigned long until;
	struct smc_link *first;
	struct llc_event *request;
	struct smc_core_end end;
	u8 num;
	struct list_head inbox;
	u32 ninbox;
};

/**
 * enum smc_llc_word - whose word a link goes by
 * @LLC_DELETE_UNORDERED: nobody's: it is of no use
 * @LLC_DELETE_BY_PEER: the peer's, which says that its operator wants it
 * @LLC_DELETE_BY_OPERATOR: our operator's
 */
enum smc_llc_word {
	LLC_DELETE_UNORDERED,
	LLC_DELETE_BY_PEER,
	LLC_DELETE_BY_OPERATOR,
};

/**
 * struct llc_heal - links that have to come or go: llc/recovery.c, llc/delete_link.c
 * @work: does it
 * @armed: @work will run at @at
 * @at: jiffies
 * @period: back-off after the last failure, 0 = none so far
 * @tried: there was an attempt since @period became longer
 * @last: jiffies of the last attempt, 0 = none so far
 * @any: a link over a port that the group uses already would do
 * @asked: server: the client's REQUEST ADD LINK is to be answered if there is no port
 * @ports: our ports have changed
 * @again: redundancy was lost, or could not be had: keep trying
 * @wanted: client: the operator wants a link: any port is worth a word
 * @doomed: bit per slot: links to be deleted; client: by the server, once it is asked
 * @ordered: bit per slot: of those, what the operator wants; never the group's last one
 * @nums: per slot: their numbers
 * @reason: per slot: why, enum smc_llc_del_reason
 * @deleting: number of the link in our DELETE LINK, 0 = none
 * @deleted: the client has answered that
 * @wishes: per slot: client: number of the lost link that the server is to delete if it
 *	does not do so by itself, 0 = none
 * @wish_at: per slot: jiffies: when it is told so
 * @most: links that could be used at a time, at most so far
 * @cap: so many are enough, as an operator has removed others; 0 = no such limit
 * @held: ours was one who did: only ours lifts @cap
 * @unwanted: numbers of the last links that @cap was lowered for; 0: none, or it came back
 * @nunwanted: how many there were, modulo 256
 */
struct llc_heal {
	struct delayed_work work;
	bool armed;
	unsigned long at;
	unsigned long period;
	bool tried;
	unsigned long last;
	bool any;
	bool asked;
	bool ports;
	bool again;
	bool wanted;
	unsigned long doomed;
	unsigned long ordered;
	u8 nums[SMC_CORE_LINKS];
	u32 reason[SMC_CORE_LINKS];
	u8 deleting;
	bool deleted;
	u8 wishes[SMC_CORE_LINKS];
	unsigned long wish_at[SMC_CORE_LINKS];
	u8 most;
	u8 cap;
	bool held;
	u8 unwanted[SMC_CORE_LINKS];
	u8 nunwanted;
};

/**
 * struct llc_cont - CONFIRM RKEY that announced a CONFIRM RKEY CONT
 * @left: links still to be told
 * @slot: link it came in on
 * @rkey: key on that link
 */
struct llc_cont {
	u8 left;
	u32 slot;
	u32 rkey;
};

/**
 * struct llc_probe - what is known of the link of one slot
 * @link: compared only, never followed
 * @sent: jiffies of TEST LINK
 * @waiting: it is unanswered
 * @stuck: since when no request has finished, when that was last looked at
 * @looked: jiffies of that
 * @looks: how often the same was seen before, in looks that are apart
 */
struct llc_probe {
	const struct smc_link *link;
	unsigned long sent;
	bool waiting;
	unsigned long stuck;
	unsigned long looked;
	u32 looks;
};

/**
 * struct smc_llc - LLC state of a group
 * @lgr: group; outlives this
 * @lock: guards everything up to @heal, but for what says otherwise; leaf, BH off
 * @dead: the group was terminated
 * @running: the exchange that has the turn
 * @queue: messages to act on
 * @deferred: messages that wait for the turn
 * @nqueued: length of both
 * @fc: see there
 * @rkey: see there
 * @add: see there
 * @heal: see there
 * @cont: see there; touched by @work only
 * @probes: see there; touched by @test_work only
 * @suspect: the peer may be gone: @test_work probes at once; under @lock
 * @withdraw_mute: DELETE RKEY was not answered: none is sent any more; touched by @withdraw_work only
 * @wait: whatever changed: turn, answers, death
 * @work: acts on @queue
 * @add_work: see struct llc_add
 * @test_work: looks after the links: TEST LINK, requests that do not finish
 * @withdraw_work: gives idle regions back
 */
struct smc_llc {
	struct smc_lgr *lgr;
	spinlock_t lock;	/* see above */
	bool dead;
	enum smc_llc_exchange running;
	struct list_head queue;
	struct list_head deferred;
	u32 nqueued;
	struct llc_fc fc;
	struct llc_rkey rkey;
	struct llc_add add;
	struct llc_heal heal;
	struct llc_cont cont;
	struct llc_probe probes[SMC_CORE_LINKS];
	bool suspect;
	bool withdraw_mute;
	wait_queue_head_t wait;
	struct work_struct work;
	struct work_struct add_work;
	struct delayed_work test_work;
	struct delayed_work withdraw_work;
};

/*
 * For works that wait for no peer's answer, and for those that do: however many groups have
 * a peer that keeps silent, what others answer has to be taken.
 */
extern struct workqueue_struct *smc_llc_wq;
extern struct workqueue_struct *smc_llc_wait_wq;

static inline struct smc_llc *llc_from_link(const struct smc_link *link)
{
	const struct smc_lgr *lgr = link->lgr;

	return lgr->llc;
}

static inline enum smc_llc_role llc_role(const struct smc_llc *llc)
{
	return llc->lgr->role == SMC_SERVER ? SMC_LLC_SERVER : SMC_LLC_CLIENT;
}

static inline enum smc_llc_verdict llc_verdict(const struct smc_llc *llc, enum smc_llc_input input)
{
	/* only a peer of our kind is known to ask again when it is put off */
	u32 quirks = llc->lgr->peer.marker ? 0 : SMC_LLC_QUIRK_NO_RETRY;

	return smc_llc_flow(llc_role(llc), READ_ONCE(llc->running), input, quirks);
}

static inline bool llc_link_broken(const struct smc_link *link)
{
	return atomic_read(&link->reason) != SMC_LINK_OK;
}

static inline void llc_event_free(struct llc_event *ev)
{
	smc_link_put(ev->link);
	kfree(ev);
}

static inline void llc_events_free(struct list_head *list)
{
	struct llc_event *ev, *tmp;

	list_for_each_entry_safe(ev, tmp, list, entry)
		llc_event_free(ev);
	INIT_LIST_HEAD(list);
}

/* The running exchange is over. llc->lock held. */
static inline void llc_turn_end(struct smc_llc *llc)
{
	lockdep_assert_held(&llc->lock);
	llc->running = llc->rkey.busy ? SMC_LLC_X_RKEY : SMC_LLC_X_IDLE;
	/* what waited for the turn came before what is still queued */
	list_splice_init(&llc->deferred, &llc->queue);
	if (!llc->dead && !list_empty(&llc->queue))
		queue_work(smc_llc_wq, &llc->work);
	wake_up_all(&llc->wait);
}

/* llc->lock held */
static inline void llc_fc_set(struct smc_llc *llc, unsigned int bits)
{
	lockdep_assert_held(&llc->lock);
	llc->fc.bits |= bits;
	if (llc->fc.wq)
		wake_up_all(llc->fc.wq);
}

/* Makes TEST LINK look at the links after @delay. */
static inline void llc_test_link_arm(struct smc_llc *llc, unsigned long delay)
{
	spin_lock_bh(&llc->lock);
	if (!llc->dead)
		queue_delayed_work(smc_llc_wq, &llc->test_work, delay);
	spin_unlock_bh(&llc->lock);
}

/* llc/send.c; process context: may wait for a send slot, 10 s at most */
void smc_llc_send_prepare(const struct smc_llc *llc, struct smc_llc_msg *msg, u8 type,
			  bool response);
int smc_llc_send_msg(struct smc_link *link, const struct smc_llc_msg *msg);
int smc_llc_send_timed(struct smc_link *link, const struct smc_llc_msg *msg,
		       unsigned long slot_time, unsigned long sent_time);
int smc_llc_send_confirm_link(struct smc_link *link, bool response);
void smc_llc_send_delete_link(struct smc_link *link, u8 num, u32 reason, bool response);

/* llc/add_link.c */

void smc_add_link_begin(struct smc_llc *llc, struct smc_link *first);
bool smc_add_link_take_msg(struct smc_llc *llc, struct llc_event *ev, const struct smc_llc_msg *msg);
struct llc_event *smc_add_link_wait_msg(struct smc_llc *llc, struct smc_link *link, u8 type,
				   unsigned long time, struct smc_llc_msg *msg);
int smc_add_link_store_rtokens(struct smc_lgr *lgr, const struct smc_link *ref,
		      const struct smc_link *link, const struct smc_llc_list *list);
int smc_add_link_exchange_rtokens(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link);
int smc_add_link_send(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link);
int smc_add_link_connect(struct smc_link *link, const struct smc_llc_add_link *al);
int smc_add_link_await_confirm(struct smc_llc *llc, struct smc_link *link);
int smc_add_link_commit(struct smc_llc *llc, struct smc_link *link);
void smc_add_link_report_result(struct smc_llc *llc, const struct smc_link *link, int rc);
void smc_add_link_end(struct smc_llc *llc);

/* llc/add_link_server.c */
bool smc_add_link_find_path(struct smc_llc *llc, const struct smc_link *first, bool any,
			struct smc_path *path);
bool smc_add_link_is_possible(struct smc_llc *llc, const struct smc_link *first, bool any);
void smc_add_link_server_begin(struct smc_llc *llc, struct smc_link *first, unsigned int tries);
void smc_add_link_server_work(struct work_struct *work);

/* llc/test_link.c; for test_work */
struct llc_probe *smc_test_link_get_probe(struct smc_llc *llc, const struct smc_link *link);
unsigned long smc_test_link_check_stall(struct smc_llc *llc, struct llc_probe *probe, struct smc_link *link);

/* llc/recovery.c */
void smc_recovery_arm(struct smc_llc *llc, unsigned long delay);
void smc_recovery_ports_changed(struct smc_llc *llc);
void smc_recovery_peer_request(struct smc_llc *llc, bool asked);
void smc_recovery_retry_later(struct smc_llc *llc);
void smc_delete_link_report_lost(struct smc_llc *llc, const struct smc_link *link);
void smc_recovery_link_added(struct smc_llc *llc, u8 num);
void smc_recovery_link_rejected(struct smc_llc *llc, bool further);
void smc_delete_link_schedule(struct smc_llc *llc, const struct smc_link *link, u32 reason,
		       enum smc_llc_word word);
void smc_recovery_add_ordered(struct smc_llc *llc);
void smc_recovery_delete_ordered(struct smc_llc *llc, u8 num);
void smc_recovery_redundant_removed(struct smc_llc *llc);
unsigned int smc_recovery_count_usable(struct smc_lgr *lgr);
bool smc_recovery_is_capped(struct smc_llc *llc);
void smc_delete_link_take_response(struct smc_llc *llc, u8 num);
bool smc_delete_link_request_later(struct smc_llc *llc, const struct smc_link *link);
void smc_delete_link_send_requests(struct smc_llc *llc);
void smc_delete_link_cancel_request(struct smc_llc *llc, u8 num);

/* llc/delete_link.c */
void smc_llc_tend_init(struct smc_llc *llc);
void smc_llc_tend_exit(struct smc_llc *llc);

/* llc/rkey.c */
void smc_rkey_receive(struct smc_llc *llc, struct smc_link *link, const struct smc_llc_msg *msg);
void smc_rkey_refuse(struct smc_llc *llc, struct smc_link *link,
			 const struct smc_llc_msg *req);
void smc_rkey_take_response(struct smc_llc *llc, const struct smc_link *link,
			 const struct smc_llc_msg *msg);
int smc_rkey_delete(struct smc_lgr *lgr, const struct smc_region *region);

/* llc/rmb_withdraw.c */
void smc_llc_give_init(struct smc_llc *llc);
void smc_llc_give_exit(struct smc_llc *llc);

/* llc/add_link_client.c */
bool smc_add_link_client_begin(struct smc_llc *llc, struct llc_event *ev);
void smc_add_link_client_work(struct work_struct *work);

#endif
