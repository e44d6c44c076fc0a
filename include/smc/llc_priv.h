/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of the LLC layer of one group, shared by smc_llc.c (messages, first
 * contact, RMBs), smc_llc_add.c (second link) and smc_llc_send.c (sending).
 * Nobody else includes this.
 */
#ifndef _SMC_LLC_PRIV_H
#define _SMC_LLC_PRIV_H

#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <smc/core.h>
#include <smc/llc.h>
#include <smc/proto/llc_flow.h>
#include <smc/proto/llc_msg.h>

#define LLC_RSP_TIME	(2 * HZ)	/* answers in general */
#define LLC_SENT_TIME	(HZ / 2)	/* last words before the queue pair goes */

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
 * @rkey: key it is about; the answer repeats it
 * @done: answered
 * @negative: the answer says no
 * @retry: the answer says later
 */
struct llc_rkey {
	bool busy;
	u8 type;
	u32 rkey;
	bool done;
	bool negative;
	bool retry;
};

/**
 * struct llc_add - server: ADD LINK exchange, run by add_work
 * @active: from the start of @add_work to its end
 * @rejected: the peer does not want the link: nothing will follow
 * @aborted: the peer deleted the new link before it was confirmed
 * @tries: requests to send before giving up
 * @first: link that carries the exchange; reference
 * @num: number of the new link, 0 = there is none
 * @inbox: responses for @add_work
 * @ninbox: number of them
 */
struct llc_add {
	bool active;
	bool rejected;
	bool aborted;
	unsigned int tries;
	struct smc_link *first;
	u8 num;
	struct list_head inbox;
	u32 ninbox;
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
 * struct llc_probe - TEST LINK of one slot
 * @link: compared only, never followed
 * @sent: jiffies
 * @waiting: unanswered
 */
struct llc_probe {
	const struct smc_link *link;
	unsigned long sent;
	bool waiting;
};

/**
 * struct smc_llc - LLC state of a group
 * @lgr: group; outlives this
 * @lock: guards everything up to @rkey; leaf, BH off
 * @dead: the group was terminated
 * @running: the exchange that has the turn
 * @queue: messages to act on
 * @deferred: messages that wait for the turn
 * @nqueued: length of both
 * @fc: see there
 * @rkey: see there
 * @add: see there
 * @cont: see there; touched by @work only
 * @probes: see there; touched by @test_work only
 * @suspect: the peer may be gone: @test_work probes at once; under @lock
 * @wait: whatever changed: turn, answers, death
 * @work: acts on @queue
 * @add_work: see struct llc_add
 * @test_work: TEST LINK
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
	struct llc_cont cont;
	struct llc_probe probes[SMC_CORE_LINKS];
	bool suspect;
	wait_queue_head_t wait;
	struct work_struct work;
	struct work_struct add_work;
	struct delayed_work test_work;
};

extern struct workqueue_struct *smc_llc_wq;

static inline struct smc_llc *llc_of_link(const struct smc_link *link)
{
	const struct smc_lgr *lgr = link->lgr;

	return lgr->llc;
}

static inline enum smc_llc_role llc_role(const struct smc_llc *llc)
{
	return llc->lgr->role == SMC_SERVER ? SMC_LLC_SERVER : SMC_LLC_CLIENT;
}

static inline bool llc_link_broken(const struct smc_link *link)
{
	return atomic_read(&link->reason) != SMC_LINK_OK;
}

static inline void llc_free_event(struct llc_event *ev)
{
	smc_link_put(ev->link);
	kfree(ev);
}

static inline void llc_free_events(struct list_head *list)
{
	struct llc_event *ev, *tmp;

	list_for_each_entry_safe(ev, tmp, list, entry)
		llc_free_event(ev);
	INIT_LIST_HEAD(list);
}

/* The running exchange is over. llc->lock held. */
static inline void llc_end_turn(struct smc_llc *llc)
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
static inline void llc_arm_test(struct smc_llc *llc, unsigned long delay)
{
	spin_lock_bh(&llc->lock);
	if (!llc->dead)
		queue_delayed_work(smc_llc_wq, &llc->test_work, delay);
	spin_unlock_bh(&llc->lock);
}

/* smc_llc_send.c; process context: may wait for a send slot, 10 s at most */
void smc_llc_send_prepare(const struct smc_llc *llc, struct smc_llc_msg *msg, u8 type,
			  bool response);
int smc_llc_send_msg(struct smc_link *link, const struct smc_llc_msg *msg);
int smc_llc_send_timed(struct smc_link *link, const struct smc_llc_msg *msg,
		       unsigned long slot_time, unsigned long sent_time);
int smc_llc_send_confirm_link(struct smc_link *link, bool response);
void smc_llc_send_delete_link(struct smc_link *link, u8 num, u32 reason, bool response);

/* smc_llc_add.c */
bool smc_llc_add_response(struct smc_llc *llc, struct llc_event *ev,
			  const struct smc_llc_msg *msg);
void smc_llc_add_work(struct work_struct *work);

#endif
