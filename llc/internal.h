/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of the LLC layer of one group, private to smc_llc.c and llc/.
 */
#ifndef _SMC_LLC_INTERNAL_H
#define _SMC_LLC_INTERNAL_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/llc/upgrade.h>
#include <smc/proto/llc_flow.h>
#include <smc/proto/llc_msg.h>

#define LLC_RSP_TIME	(2 * HZ)	/* response to most requests */
#define LLC_SENT_TIME	(HZ / 2)	/* completion of the last message before the QP goes */
#define LLC_CONFIRM_TIME (5 * HZ)	/* CONFIRM LINK of a further link */
#define LLC_ADD_TIME	(8 * HZ)	/* from ADD LINK to a usable link */
#define LLC_WISH_TIME	(10 * HZ)	/* an order that names the ends of a link */
#define LLC_WISH_NO_PORT "no suitable RoCE port of this host has that name any more"
#define LLC_FAILED_ENDS	4		/* pairs of RNICs; a failure more replaces the oldest */
#define LLC_LINK_NUMS	256		/* link numbers on the wire, of which 0 is unused */

/**
 * struct llc_event - a received message
 * @entry: in smc_llc.queue, smc_llc.deferred or llc_add.inbox
 * @link: link that received the message; reference
 * @len: bytes in @buf
 * @buf: message as received
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
 * @answered: client: CONFIRM LINK was answered; LLC answers its repetitions
 * @sent: server: number of CONFIRM LINK requests sent
 */
struct llc_fc {
	struct smc_link *link;
	wait_queue_head_t *wq;
	unsigned int bits;
	bool answered;
	unsigned int sent;
};

/**
 * struct llc_rkey - CONFIRM RKEY (CONT) or DELETE RKEY request of this host
 * @busy: a request has the turn
 * @type: enum smc_llc_type of the request
 * @rkey: rkey in the request; the response repeats it, except DELETE RKEY of version 2
 * @link: link that carried the request; only compared
 * @done: the response has arrived
 * @negative: the response is negative
 * @retry: the response asks for a retry
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
 * struct llc_add - ADD LINK exchange
 * @active: from the start of smc_llc.add_work to its end
 * @rejected: server: the client rejected the link; the exchange has ended
 * @accepted: server: the client accepted the link
 * @aborted: the peer deleted the new link, or rejected it after accepting it, before it was
 *	committed
 * @tries: server: number of ADD LINK requests before giving up
 * @until: jiffies: deadline of the whole exchange; used by smc_llc.add_work only
 * @first: link that carries the exchange; reference
 * @request: client: the server's ADD LINK
 * @end: client: the server's end as in @request; used by smc_llc.add_work only
 * @wish: the operator's order that this exchange is to fulfil; set with @active, and used by
 *	smc_llc.add_work until its end
 * @num: number of the new link; 0 = no new link, or it is committed
 * @inbox: messages for smc_llc.add_work
 * @ninbox: length of @inbox
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
	struct smc_peer_rnic end;
	struct smc_link_wish wish;
	u8 num;
	struct list_head inbox;
	u32 ninbox;
};

/**
 * enum llc_delete_order - which operator ordered the removal of a link
 * @LLC_DELETE_UNORDERED: none: the link is lost or redundant
 * @LLC_DELETE_BY_PEER: the peer reports an order of its operator
 * @LLC_DELETE_BY_OPERATOR: the operator of this host
 */
enum llc_delete_order {
	LLC_DELETE_UNORDERED,
	LLC_DELETE_BY_PEER,
	LLC_DELETE_BY_OPERATOR,
};

/**
 * struct llc_delete - DELETE LINK exchanges: llc/delete_link.c
 * @scheduled: bit per slot: link to be deleted; client: by the server, which must be asked
 * @ordered: bit per slot: the deletion was ordered by an operator; such an order never removes
 *	the last link of a group
 * @nums: per slot: link number, if @scheduled
 * @reasons: per slot: enum smc_llc_del_reason, if @scheduled
 * @pending: server: link number in the unanswered DELETE LINK request, 0 = none
 * @answered: server: the client has answered that request
 * @requests: per slot: client: number of a lost link that a foreign server should delete
 *	unless it detects the loss itself, 0 = none
 * @request_at: per slot: jiffies: when the request is sent
 * @lost: server: bit per link number: lost link for which smc_llc.lost_work sends DELETE LINK when
 *	it has the turn
 */
struct llc_delete {
	unsigned long scheduled;
	unsigned long ordered;
	u8 nums[SMC_LGR_LINKS];
	u32 reasons[SMC_LGR_LINKS];
	u8 pending;
	bool answered;
	u8 requests[SMC_LGR_LINKS];
	unsigned long request_at[SMC_LGR_LINKS];
	DECLARE_BITMAP(lost, LLC_LINK_NUMS);
};

/**
 * struct llc_recovery - attempts to add a link: llc/recovery.c
 * @armed: smc_llc.recovery_work will run at @at
 * @at: jiffies
 * @period: back-off after the last failure, jiffies; 0 = no failure so far
 * @tried: there was an attempt since @period was last increased
 * @last: jiffies of the last attempt, 0 = none so far
 * @any_port: a link over a port that the group uses already is acceptable
 * @asked: server: per slot: number of the link over which the client sent REQUEST ADD LINK that is
 *	not answered yet, 0 = none
 * @ports: ports of this host have changed
 * @retry: a link was lost or could not be added: keep trying
 * @retry_at: not before this time, in jiffies
 * @ordered: client: the operator ordered a link: request it for any port
 * @wish: the operator ordered a link with these ends. Server: until its exchange begins; client:
 *	until a link with these ends is added
 * @wish_due: an exchange, or a request, for @wish is to be made; an attempt of its own
 * @wish_until: jiffies: then @wish is dropped
 */
struct llc_recovery {
	bool armed;
	unsigned long at;
	unsigned long period;
	bool tried;
	unsigned long last;
	bool any_port;
	u8 asked[SMC_LGR_LINKS];
	bool ports;
	bool retry;
	unsigned long retry_at;
	bool ordered;
	struct smc_link_wish wish;
	bool wish_due;
	unsigned long wish_until;
};

/**
 * struct llc_link_cap - limit on the number of links, set by operators: llc/recovery.c
 * @most: maximum number of links that were usable at the same time
 * @max: no link is added by itself while so many are usable; 0 = no limit
 * @held: the operator of this host lowered @max: only this operator lifts the limit
 * @removed: numbers of the last links that lowered @max; 0 = unused, or the number is in use
 *	again
 * @nremoved: number of entries ever written to @removed, modulo 256
 */
struct llc_link_cap {
	u8 most;
	u8 max;
	bool held;
	u8 removed[SMC_LGR_LINKS];
	u8 nremoved;
};

/**
 * struct llc_cont - received CONFIRM RKEY that announced a CONFIRM RKEY CONT
 * @left: number of links not announced yet
 * @slot: slot of the link that received the CONFIRM RKEY
 * @rkey: rkey on that link
 */
struct llc_cont {
	u8 left;
	u32 slot;
	u32 rkey;
};

/**
 * struct llc_probe - checks of the link in one slot: llc/test_link.c
 * @link: only compared, never dereferenced
 * @sent: jiffies of the last TEST LINK request
 * @waiting: that request is unanswered
 * @stalled: at the last check: since when the oldest request is the next to complete, jiffies
 * @checked: jiffies of that check
 * @checks: number of earlier checks, far enough apart, with the same @stalled
 */
struct llc_probe {
	const struct smc_link *link;
	unsigned long sent;
	bool waiting;
	unsigned long stalled;
	unsigned long checked;
	u32 checks;
};

/**
 * struct llc_failed_ends - two RNICs between which this host could not set up a link
 * @dev: our device, only compared, never dereferenced; NULL: none
 * @port: our port
 * @gid: GID of the peer's RNIC
 */
struct llc_failed_ends {
	const struct smc_ib_device *dev;
	u8 port;
	u8 gid[SMC_GID_LEN];
};

/**
 * struct llc_test_answer - answer to TEST LINK for which no send slot was free: llc/test_link.c
 * @owed: the answer is to be sent
 * @uid: smc_link.uid of the link that owes it
 * @data: user data of the last request
 */
struct llc_test_answer {
	bool owed;
	u32 uid;
	u8 data[sizeof_field(struct smc_llc_test_link, data)];
};

/**
 * enum llc_upgrade_state - what one end waits for in a slot for requests
 * @LLC_UPGRADE_IDLE: nothing; server: the record tells what was answered
 * @LLC_UPGRADE_ASKED: client: an answer; the request is repeated
 * @LLC_UPGRADE_ANSWERED: client: the server has said yes
 * @LLC_UPGRADE_WITHDRAWN: client: the confirmation of a withdrawal, which is repeated
 * @LLC_UPGRADE_JUDGED: server: smc_upgrade_answer()
 * @LLC_UPGRADE_IN_VAIN: server: the same, for a request that was withdrawn
 * @LLC_UPGRADE_LOST: client: nothing, for the life of the group: the server may take the last
 *	request of the slot for one under way, and would drop another one
 */
enum llc_upgrade_state {
	LLC_UPGRADE_IDLE,
	LLC_UPGRADE_ASKED,
	LLC_UPGRADE_ANSWERED,
	LLC_UPGRADE_WITHDRAWN,
	LLC_UPGRADE_JUDGED,
	LLC_UPGRADE_IN_VAIN,
	LLC_UPGRADE_LOST,
};

/**
 * struct llc_upgrade_slot - one slot for requests to continue a connection over the group
 * @req: client: request under way; server: the same if it was agreed to. Belongs to the group until
 *	its ended event
 * @number: client: number of the last request; server: of the one that waits for its answer
 * @state: what is waited for
 * @due: a message is to be sent
 * @at: client: when it is repeated, in jiffies
 * @period: client: until the next repetition, in jiffies
 * @from: link that received @received; reference. NULL: nothing was received
 * @received: message for upgrade_work
 */
struct llc_upgrade_slot {
	struct smc_upgrade_req *req;
	u32 number;
	enum llc_upgrade_state state;
	bool due;
	unsigned long at;
	unsigned long period;
	struct smc_link *from;
	struct smc_upgrade_msg received;
};

/**
 * struct llc_upgrade - requests to continue a connection over the group: llc/upgrade.c
 * @slots: one for each request that may be under way
 * @records: server: the last answers
 * @ended: requests whose end is to be reported
 * @reserved: client: places reserved for requests that are being prepared
 * @last_link: slot of the link that carried the last message; used by smc_llc.upgrade_work only
 */
struct llc_upgrade {
	struct llc_upgrade_slot slots[SMC_UPGRADE_SLOTS];
	struct smc_upgrade_slots records;
	struct list_head ended;
	u32 reserved;
	u32 last_link;
};

/**
 * struct smc_llc - LLC state of a group
 * @lgr: group; outlives this structure
 * @lock: guards the members up to and including @cap, unless stated otherwise, @test_answers,
 *	@suspect, @suspect_checked, @eldest and @upgrade; leaf, BH off
 * @dead: the group is terminated
 * @running: exchange that has the turn
 * @queue: messages to process
 * @deferred: messages that wait for the turn
 * @nqueued: length of both lists
 * @fc: first contact
 * @rkey: request of this host about an RMB
 * @add: ADD LINK exchange
 * @failed_ends: client: its last failures in that exchange; used by @add_work only
 * @nfailed_ends: their number so far
 * @delete: DELETE LINK exchanges
 * @recovery: attempts to add a link
 * @cap: limit on the number of links
 * @cont: CONFIRM RKEY that is continued; used by @work only
 * @probes: per slot; used by @test_work only
 * @test_answers: per slot
 * @suspect: the peer may be gone: @test_work, which is due soon, sends TEST LINK
 * @suspect_checked: when it did so last, in jiffies
 * @eldest: it was checked for all groups with the same peer GID, as the oldest one; never cleared
 * @withdraw_mute: DELETE RKEY was not answered: send no other; used by @withdraw_work only
 * @upgrade: requests to continue a TCP connection over the group
 * @wait: woken when the turn changes, a response arrives or the group dies
 * @work: processes @queue
 * @add_work: runs the ADD LINK exchange
 * @lost_work: server: DELETE LINK for lost links
 * @recovery_work: deletes and adds links
 * @test_work: TEST LINK, and requests that do not complete
 * @withdraw_work: gives idle regions back
 * @upgrade_work: messages and events of @upgrade
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
	struct llc_failed_ends failed_ends[LLC_FAILED_ENDS];
	u32 nfailed_ends;
	struct llc_delete delete;
	struct llc_recovery recovery;
	struct llc_link_cap cap;
	struct llc_cont cont;
	struct llc_probe probes[SMC_LGR_LINKS];
	struct llc_test_answer test_answers[SMC_LGR_LINKS];
	bool suspect;
	unsigned long suspect_checked;
	bool eldest;
	bool withdraw_mute;
	struct llc_upgrade upgrade;
	wait_queue_head_t wait;
	struct work_struct work;
	struct work_struct add_work;
	struct work_struct lost_work;
	struct delayed_work recovery_work;
	struct delayed_work test_work;
	struct delayed_work withdraw_work;
	struct delayed_work upgrade_work;
};

void smc_llc_take_caps(struct smc_lgr *lgr, const struct smc_llc_caps *caps);

/* LLC state of the group of @link. */
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
	/* a foreign peer may fail the connection instead of repeating a refused CONFIRM RKEY */
	u32 quirks = smc_peer_can(&llc->lgr->peer, SMC_CAP_RKEY_RETRY) ? 0 : SMC_LLC_QUIRK_NO_RETRY;

	return smc_llc_flow_decide(llc_role(llc), READ_ONCE(llc->running), input, quirks);
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

/*
 * Check whether DELETE LINK of a lost link waits for the turn. No other exchange of this host
 * overtakes it, so it waits for one exchange at most, and each has its deadlines.
 */
static inline bool llc_lost_link_waits(const struct smc_llc *llc)
{
	return !bitmap_empty(llc->delete.lost, LLC_LINK_NUMS);
}

/* Take the turn for an exchange of this host. False: another exchange has it. */
static inline bool llc_turn_take(struct smc_llc *llc, enum smc_llc_input input)
{
	lockdep_assert_held(&llc->lock);
	if (llc->dead || llc->add.active || llc_verdict(llc, input) != SMC_LLC_RUN)
		return false;
	WRITE_ONCE(llc->running, smc_llc_flow_exchange(input));
	return true;
}

/* End the running exchange and process the messages that waited for the turn. */
static inline void llc_turn_end(struct smc_llc *llc)
{
	lockdep_assert_held(&llc->lock);
	WRITE_ONCE(llc->running, llc->rkey.busy ? SMC_LLC_X_RKEY : SMC_LLC_X_IDLE);
	/* the deferred messages arrived before those in the queue */
	list_splice_init(&llc->deferred, &llc->queue);
	if (!llc->dead && !list_empty(&llc->queue))
		queue_work(llc->lgr->wq, &llc->work);
	wake_up_all(&llc->wait);
}

/* Set SMC_LLC_FC_* bits and wake the handshake. */
static inline void llc_fc_set(struct smc_llc *llc, unsigned int bits)
{
	lockdep_assert_held(&llc->lock);
	WRITE_ONCE(llc->fc.bits, llc->fc.bits | bits);
	if (llc->fc.wq)
		wake_up_all(llc->fc.wq);
}

/* llc/timers.c */
void smc_llc_timer_recovery_due(struct smc_llc *llc, unsigned long delay);
void smc_llc_timer_link_up(struct smc_llc *llc);
void smc_llc_timer_test_due(struct smc_llc *llc, unsigned long delay);
void smc_llc_timer_peer_suspected(struct smc_llc *llc);
void smc_llc_timer_upgrade_due(struct smc_llc *llc);
void smc_llc_timer_upgrade_later(struct smc_llc *llc, unsigned long delay);
void smc_llc_timer_stop(struct smc_llc *llc);

/* llc/send.c */
void smc_llc_send_prepare(const struct smc_llc *llc, struct smc_llc_msg *msg, u8 type,
			  bool response);
struct smc_wr_slot *smc_llc_slot_try(struct smc_link *link, const struct smc_llc_msg *msg);
int smc_llc_slot_post(struct smc_link *link, struct smc_wr_slot *slot,
		      const struct smc_llc_msg *msg);
int smc_llc_send_msg(struct smc_link *link, const struct smc_llc_msg *msg);
int smc_llc_send_timed(struct smc_link *link, const struct smc_llc_msg *msg,
		       unsigned long slot_time, unsigned long sent_time);
int smc_llc_send_confirm_link(struct smc_link *link, bool response);
void smc_llc_send_delete_link(struct smc_link *link, u8 num, u32 reason);
void smc_llc_send_delete_response(struct smc_link *link, const struct smc_llc_delete_link *req,
				  u32 reason);
void smc_llc_send_delete_all(struct smc_lgr *lgr, u32 reason, bool orderly);

/* llc/recovery.c */
unsigned int smc_recovery_count_usable(struct smc_lgr *lgr);
bool smc_recovery_is_capped(struct smc_llc *llc);
bool smc_recovery_begin(struct smc_llc *llc, bool *any_port, bool *ports);
bool smc_recovery_take_turn(struct smc_llc *llc, enum smc_llc_input input);
void smc_recovery_note_attempt(struct smc_llc *llc);
void smc_recovery_ports_changed(struct smc_llc *llc);
void smc_recovery_peer_request(struct smc_llc *llc, const struct smc_link *asker);
bool smc_recovery_has_requests(struct smc_llc *llc);
bool smc_recovery_take_requests(struct smc_llc *llc, u8 *nums);
void smc_recovery_return_requests(struct smc_llc *llc, const u8 *nums);
void smc_recovery_answer_later(struct smc_llc *llc);
void smc_recovery_retry_later(struct smc_llc *llc);
void smc_recovery_link_added(struct smc_llc *llc, u8 num);
void smc_recovery_attempt_failed(struct smc_llc *llc);
void smc_recovery_link_rejected(struct smc_llc *llc, bool new_port);
void smc_recovery_add_ordered(struct smc_llc *llc, const struct smc_link_wish *wish);
bool smc_recovery_has_wish(struct smc_llc *llc);
void smc_recovery_get_wish(struct smc_llc *llc, struct smc_link_wish *wish);
bool smc_recovery_server_take_wish(struct smc_llc *llc);
void smc_recovery_client_copy_wish(struct smc_llc *llc);
void smc_recovery_drop_wish(struct smc_llc *llc, const struct smc_link_wish *wish, const char *why);
void smc_recovery_refuse_wish(struct smc_llc *llc);
void smc_recovery_expire_wish(struct smc_llc *llc);
void smc_recovery_delete_ordered(struct smc_llc *llc, u8 num, enum llc_delete_order order);
void smc_recovery_redundant_removed(struct smc_llc *llc);

/* llc/link_wish.c */
bool smc_link_wish_names_peer(const struct smc_link_wish *wish);
bool smc_link_wish_is_set(const struct smc_link_wish *wish);
bool smc_link_wish_is_same(const struct smc_link_wish *a, const struct smc_link_wish *b);
bool smc_link_wish_fits_port(const struct smc_link_wish *wish, const struct smc_ib_device *dev,
			     u8 port);
bool smc_link_wish_fits_path(const struct smc_link_wish *wish, const struct smc_path *path);
bool smc_link_wish_fits_peer(const struct smc_link_wish *wish, const u8 *gid);
bool smc_link_wish_is_met(const struct smc_link_wish *wish, struct smc_lgr *lgr);
int smc_link_wish_find_port(const struct smc_link_wish *wish, struct net *net);
void smc_link_wish_report(const struct smc_link_wish *wish, const struct smc_llc *llc,
			  const char *why);

/* llc/delete_link.c */
void smc_delete_link_schedule(struct smc_llc *llc, const struct smc_link *link, u32 reason,
			      enum llc_delete_order order);
bool smc_delete_link_run_scheduled(struct smc_llc *llc);
bool smc_delete_link_exchange(struct smc_llc *llc, struct smc_link *other, u8 num, u32 reason);
void smc_delete_link_lost_work(struct work_struct *work);
void smc_delete_link_send_requests(struct smc_llc *llc);
void smc_delete_link_report_lost(struct smc_llc *llc, const struct smc_link *link);
bool smc_delete_link_take_loss(struct smc_llc *llc, const struct smc_llc_delete_link *dl);
void smc_delete_link_receive(struct smc_llc *llc, struct smc_link *link,
			     const struct smc_llc_msg *msg);
void smc_delete_link_take_response(struct smc_llc *llc, u8 num);

/* llc/add_link.c */
bool smc_add_link_find_path(struct smc_llc *llc, const struct smc_link *first, bool any_port,
			    const struct smc_link_wish *wish, struct smc_path *path);
bool smc_add_link_is_possible(struct smc_llc *llc, const struct smc_link *first, bool any_port,
			      const struct smc_link_wish *wish);
void smc_add_link_begin(struct smc_llc *llc, struct smc_link *first);
bool smc_add_link_take_msg(struct smc_llc *llc, struct llc_event *ev,
			   const struct smc_llc_msg *msg);
struct llc_event *smc_add_link_wait_msg(struct smc_llc *llc, struct smc_link *link, u8 type,
					unsigned long time, struct smc_llc_msg *msg);
int smc_add_link_store_rtokens(struct smc_lgr *lgr, const struct smc_link *ref,
			       const struct smc_link *link, const struct smc_llc_list *list);
int smc_add_link_exchange_rtokens(struct smc_llc *llc, struct smc_link *ref,
				  struct smc_link *link);
int smc_add_link_send(struct smc_llc *llc, struct smc_link *ref, struct smc_link *link);
int smc_add_link_connect(struct smc_link *link, const struct smc_llc_add_link *al);
int smc_add_link_await_confirm(struct smc_llc *llc, struct smc_link *link);
int smc_add_link_commit(struct smc_llc *llc, struct smc_link *link);
void smc_add_link_report_result(struct smc_llc *llc, const struct smc_link *link, int rc);
void smc_add_link_end(struct smc_llc *llc);

/* llc/add_link_server.c */
void smc_add_link_server_offer(struct smc_llc *llc, struct smc_link *first, bool any_port);
void smc_add_link_server_offer_wish(struct smc_llc *llc, struct smc_link *first);
void smc_add_link_server_begin(struct smc_llc *llc, struct smc_link *first, unsigned int tries);
void smc_add_link_server_work(struct work_struct *work);

/* llc/add_link_client.c */
void smc_add_link_client_request(struct smc_llc *llc, struct smc_link *first);
void smc_add_link_client_request_wish(struct smc_llc *llc, struct smc_link *first);
bool smc_add_link_client_begin(struct smc_llc *llc, struct llc_event *ev);
void smc_add_link_client_work(struct work_struct *work);
void smc_add_link_client_note_failure(struct smc_llc *llc, const struct smc_ib_device *dev,
				      u8 port, const u8 *gid);
unsigned int smc_add_link_client_rate_port(struct smc_ib_device *dev, u8 port, void *arg);

/* llc/rkey.c */
void smc_rkey_receive(struct smc_llc *llc, struct smc_link *link, const struct smc_llc_msg *msg);
void smc_rkey_refuse(struct smc_llc *llc, struct smc_link *link, const struct smc_llc_msg *req);
void smc_rkey_take_response(struct smc_llc *llc, const struct smc_link *link,
			    const struct smc_llc_msg *msg);
int smc_rkey_delete(struct smc_lgr *lgr, const struct smc_region *region);

/* llc/rmb_withdraw.c */
void smc_llc_withdraw_work(struct work_struct *work);

/* llc/test_link.c */
void smc_test_link_receive(struct smc_llc *llc, struct smc_link *link,
			   const struct smc_llc_msg *req);
void smc_test_link_send_answer(struct smc_link *link);
void smc_test_link_work(struct work_struct *work);
void smc_test_link_link_lost(struct smc_lgr *lgr, const struct smc_link *link);
void smc_test_link_lgr_ended(struct smc_lgr *lgr);

/* llc/upgrade.c */
void smc_upgrade_init_state(struct llc_upgrade *up);
void smc_upgrade_work(struct work_struct *work);
void smc_upgrade_receive(struct smc_llc *llc, struct smc_link *link, const u8 *buf, u32 len);
void smc_upgrade_link_lost(struct smc_llc *llc);
void smc_upgrade_end_all(struct smc_llc *llc);

#endif
