// SPDX-License-Identifier: GPL-2.0-only
/*
 * UPGRADE: requests to continue a TCP connection over the group (include/smc/llc/upgrade.h,
 * proto/upgrade.h, decision 0021). The messages take no turn, and may overtake each other over
 * different links.
 *
 * The number of a request names one of SMC_UPGRADE_SLOTS slots, at both ends. A slot takes one
 * received message at a time and owes one message at most, so a peer that floods us costs neither
 * memory nor more than the last of its messages per slot. upgrade_work handles what has arrived,
 * calls the layers above, and sends what is owed; it never waits. Without a free send slot it tries
 * again soon.
 *
 * A client repeats requests and withdrawals, over one link after the other, until they are
 * answered. A server never repeats on its own: the next repetition gets the answer again.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/upgrade.h>
#include <smc/rdma/region.h>
#include <smc/rdma/wr.h>
#include "internal.h"

#define UPGRADE_AGAIN_MIN	(2 * HZ)	/* an unanswered message is repeated, first */
#define UPGRADE_AGAIN_MAX	(60 * HZ)	/* the same after some repetitions */
#define UPGRADE_POLL_MS		20		/* between polls for a free send slot */

static const struct smc_upgrade_events *upgrade_events;

/**
 * smc_upgrade_set_events() - register the table of the layers above
 * @events: table; NULL: each request is refused, the reason is UNKNOWN
 *
 * Before the first group exists.
 *
 * Return: the table before, which a test registers again.
 */
const struct smc_upgrade_events *smc_upgrade_set_events(const struct smc_upgrade_events *events)
{
	const struct smc_upgrade_events *old = upgrade_events;

	upgrade_events = events;
	return old;
}

/**
 * smc_upgrade_init_state() - set up the state of a new group
 * @up: zeroed
 */
void smc_upgrade_init_state(struct llc_upgrade *up)
{
	INIT_LIST_HEAD(&up->ended);
}

static struct llc_upgrade_slot *upgrade_get_slot(struct smc_llc *llc, u32 number)
{
	return &llc->upgrade.slots[number % SMC_UPGRADE_SLOTS];
}

/* ---- the end of a request ---- */

static void upgrade_end(struct smc_llc *llc, struct llc_upgrade_slot *slot,
			enum smc_upgrade_outcome outcome)
{
	lockdep_assert_held(&llc->lock);
	slot->req->outcome = outcome;
	list_add_tail(&slot->req->entry, &llc->upgrade.ended);
	slot->req = NULL;
	slot->state = LLC_UPGRADE_IDLE;
	slot->due = false;
}

static struct smc_upgrade_req *upgrade_take_ended(struct smc_llc *llc)
{
	struct smc_upgrade_req *req;

	spin_lock_bh(&llc->lock);
	req = list_first_entry_or_null(&llc->upgrade.ended, struct smc_upgrade_req, entry);
	if (req)
		list_del(&req->entry);
	spin_unlock_bh(&llc->lock);
	return req;
}

static void upgrade_report_ended(struct smc_llc *llc)
{
	struct smc_upgrade_req *req;

	while ((req = upgrade_take_ended(llc)))
		upgrade_events->ended(llc->lgr, req, req->outcome);
}

/* ---- sending ---- */

/* Describe the message that a client owes. */
static bool upgrade_describe_client(const struct llc_upgrade_slot *slot,
				    struct smc_upgrade_msg *msg, const struct smc_elem **elem)
{
	const struct smc_upgrade_req *req = slot->req;

	msg->number = slot->number;
	if (slot->state == LLC_UPGRADE_WITHDRAWN)
		msg->kind = SMC_UPGRADE_WITHDRAWAL;
	if (slot->state != LLC_UPGRADE_ASKED)
		return slot->state == LLC_UPGRADE_WITHDRAWN;
	msg->kind = SMC_UPGRADE_REQUEST;
	msg->proof = req->proof;
	msg->hint = req->hint;
	msg->token = req->token;
	*elem = req->elem;
	return true;
}

/* Describe the answer of a server to the last message of a slot. */
static bool upgrade_describe_server(const struct smc_upgrade_slots *records, u32 i,
				    const struct smc_upgrade_req *req,
				    struct smc_upgrade_msg *msg, const struct smc_elem **elem)
{
	msg->number = records->number[i];
	switch ((enum smc_upgrade_record)records->record[i]) {
	case SMC_UPGRADE_REC_REFUSED:
		msg->kind = SMC_UPGRADE_REFUSED;
		msg->reason = records->reason[i];
		return true;
	case SMC_UPGRADE_REC_BOUND:
		/* abandoned */
		if (!req)
			return false;
		msg->kind = SMC_UPGRADE_ACCEPTED;
		msg->token = req->token;
		*elem = req->elem;
		return true;
	case SMC_UPGRADE_REC_WITHDRAWN:
		msg->kind = SMC_UPGRADE_CONFIRMED;
		return true;
	case SMC_UPGRADE_REC_DONE:
	case SMC_UPGRADE_REC_NONE:
		break;
	}
	return false;
}

static bool upgrade_describe(struct smc_llc *llc, u32 i, struct smc_upgrade_msg *msg,
			     const struct smc_elem **elem)
{
	struct llc_upgrade_slot *slot = &llc->upgrade.slots[i];

	lockdep_assert_held(&llc->lock);
	memset(msg, 0, sizeof(*msg));
	*elem = NULL;
	if (llc->lgr->role == SMC_CLIENT)
		return upgrade_describe_client(slot, msg, elem);
	return upgrade_describe_server(&llc->upgrade.records, i, slot->req, msg, elem);
}

/* Put the keys of our RMB on @link into a message. Return false if it has none there. */
static bool upgrade_put_keys(struct smc_upgrade_msg *msg, const struct smc_elem *elem,
			     const struct smc_link *link)
{
	msg->rkey = smc_region_rkey(elem->region, link->slot);
	msg->rmbe_idx = elem->index;
	msg->bsize = smc_elem_encode_size(elem->size);
	/* read after the rkey: if the address is valid, the rkey was valid too */
	msg->vaddr = smc_region_iova(elem->region, link->slot);
	return msg->vaddr && READ_ONCE(elem->region->maps[link->slot].registered);
}

/* Send a message over @link, if it has a free slot. */
static bool upgrade_post(struct smc_link *link, const struct smc_upgrade_msg *msg)
{
	struct smc_wr_slot *slot = smc_wr_slot_get_llc(link->qp, SMC_UPGRADE_MSG_LEN);
	int len;

	if (!slot)
		return false;
	len = smc_upgrade_msg_build(msg, slot->buf, SMC_WR_MSG_LEN);
	if (WARN_ON_ONCE(len < 0)) {	/* all of it is our own */
		smc_wr_slot_put(slot);
		return true;
	}
	trace_smc_upgrade_tx(link->uid, msg->kind, msg->number, msg->reason);
	if (smc_wr_post(slot, len, NULL, 0, true)) {
		smc_wr_slot_put(slot);
		return false;
	}
	smc_stats_inc(link->lgr->net, SMC_STAT_TX_UPGRADE);
	return true;
}

/*
 * Send a message over the next link that can carry it: a link that has just stopped working does
 * not delay more than one message.
 */
static bool upgrade_send(struct smc_llc *llc, struct smc_upgrade_msg *msg,
			 const struct smc_elem *elem)
{
	struct llc_upgrade *up = &llc->upgrade;
	struct smc_link *link;
	bool sent = false;
	u32 i;

	for (i = 1; i <= SMC_LGR_LINKS && !sent; i++) {
		u32 slot = (up->last_link + i) % SMC_LGR_LINKS;

		link = smc_lgr_get_link(llc->lgr, slot);
		if (!link)
			continue;
		sent = smc_link_usable(link) && (!elem || upgrade_put_keys(msg, elem, link)) &&
		       upgrade_post(link, msg);
		if (sent)
			up->last_link = slot;
		smc_link_put(link);
	}
	return sent;
}

/* Send at once, and let the first repetition follow soon. */
static void upgrade_send_anew(struct smc_llc *llc, struct llc_upgrade_slot *slot)
{
	lockdep_assert_held(&llc->lock);
	slot->due = true;
	slot->period = UPGRADE_AGAIN_MIN;
	smc_llc_timer_upgrade_due(llc);
}

static bool upgrade_is_unanswered(const struct llc_upgrade_slot *slot)
{
	return slot->state == LLC_UPGRADE_ASKED || slot->state == LLC_UPGRADE_WITHDRAWN;
}

/* Return the jiffies until a slot owes its message again. @sent: it was sent just now */
static unsigned long upgrade_slot_schedule(struct smc_llc *llc, struct llc_upgrade_slot *slot,
					   bool sent)
{
	unsigned long left = MAX_JIFFY_OFFSET, now;

	spin_lock_bh(&llc->lock);
	now = jiffies;
	if (upgrade_is_unanswered(slot)) {
		if (sent) {
			slot->at = now + slot->period;
			slot->period = min_t(unsigned long, 2 * slot->period, UPGRADE_AGAIN_MAX);
		}
		left = time_before(now, slot->at) ? slot->at - now : 1;
	}
	spin_unlock_bh(&llc->lock);
	return left;
}

/* Send what slot @i owes. Return the jiffies until it owes something again. */
static unsigned long upgrade_slot_send(struct smc_llc *llc, u32 i)
{
	struct llc_upgrade_slot *slot = &llc->upgrade.slots[i];
	const struct smc_elem *elem;
	struct smc_upgrade_msg msg;
	bool due, again;

	spin_lock_bh(&llc->lock);
	again = upgrade_is_unanswered(slot) && !slot->due && time_after_eq(jiffies, slot->at);
	due = (slot->due || again) && upgrade_describe(llc, i, &msg, &elem);
	slot->due = false;	/* before it is sent: another message may be owed meanwhile */
	spin_unlock_bh(&llc->lock);
	if (due && !upgrade_send(llc, &msg, elem)) {
		spin_lock_bh(&llc->lock);
		slot->due = true;
		spin_unlock_bh(&llc->lock);
		return msecs_to_jiffies(UPGRADE_POLL_MS);
	}
	if (again)
		smc_stats_inc(llc->lgr->net, SMC_STAT_UPGRADE_AGAIN);
	return upgrade_slot_schedule(llc, slot, due);
}

/* ---- client ---- */

static u32 upgrade_count_lost(const struct llc_upgrade *up)
{
	u32 i, n = 0;

	for (i = 0; i < SMC_UPGRADE_SLOTS; i++)
		n += up->slots[i].state == LLC_UPGRADE_LOST;
	return n;
}

/**
 * smc_upgrade_has_slot() - client: check whether a group takes requests, now or later
 * @lgr: group
 *
 * Any context but hard interrupt.
 *
 * Return: false if all slots are lost for the life of the group.
 */
bool smc_upgrade_has_slot(struct smc_lgr *lgr)
{
	struct smc_llc *llc = lgr->llc;
	bool has;

	spin_lock_bh(&llc->lock);
	has = upgrade_count_lost(&llc->upgrade) < SMC_UPGRADE_SLOTS;
	spin_unlock_bh(&llc->lock);
	return has;
}

/**
 * smc_upgrade_reserve() - client: reserve a place for a request that will be prepared
 * @lgr: group
 *
 * Before memory is taken for it, and before the peer is waited for: what is prepared in vain costs
 * both. The place is used up by smc_upgrade_ask(), or given back by smc_upgrade_unreserve(). Any
 * context but hard interrupt.
 *
 * Return: 0; -EOPNOTSUPP: the peer cannot; -EBUSY: too many requests are under way or prepared;
 * -ECONNABORTED: the group is dead.
 */
int smc_upgrade_reserve(struct smc_lgr *lgr)
{
	struct smc_llc *llc = lgr->llc;
	struct llc_upgrade *up = &llc->upgrade;
	int rc = 0;
	u32 i, n;

	if (lgr->role != SMC_CLIENT || !smc_peer_can(&lgr->peer, SMC_CAP_UPGRADE))
		return -EOPNOTSUPP;
	spin_lock_bh(&llc->lock);
	n = up->reserved + upgrade_count_lost(up);
	for (i = 0; i < SMC_UPGRADE_SLOTS; i++)
		n += up->slots[i].req ? 1 : 0;
	if (llc->dead)
		rc = -ECONNABORTED;
	else if (n >= SMC_UPGRADE_SLOTS)
		rc = -EBUSY;
	else
		up->reserved++;
	spin_unlock_bh(&llc->lock);
	return rc;
}

/**
 * smc_upgrade_unreserve() - client: give a reserved place back
 * @lgr: group
 *
 * Any context but hard interrupt.
 */
void smc_upgrade_unreserve(struct smc_lgr *lgr)
{
	struct smc_llc *llc = lgr->llc;

	spin_lock_bh(&llc->lock);
	llc->upgrade.reserved--;
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_upgrade_ask() - client: ask the server to continue a connection over the group
 * @lgr: group with a place reserved for this request, which is used up; the caller has a reference
 *	on the group until the request has ended
 * @req: request, which belongs to the group from now on
 *
 * Any context but hard interrupt.
 *
 * Return: 0; -ECONNABORTED: the group is dead.
 */
int smc_upgrade_ask(struct smc_lgr *lgr, struct smc_upgrade_req *req)
{
	struct smc_llc *llc = lgr->llc;
	struct llc_upgrade_slot *slot;
	int rc = -ECONNABORTED;
	u32 i;

	spin_lock_bh(&llc->lock);
	llc->upgrade.reserved--;
	for (i = 0; i < SMC_UPGRADE_SLOTS && rc && !llc->dead; i++) {
		slot = &llc->upgrade.slots[i];
		if (slot->req || slot->state == LLC_UPGRADE_LOST)
			continue;
		slot->number = smc_upgrade_number_next(slot->number ?: i);
		slot->state = LLC_UPGRADE_ASKED;
		slot->req = req;
		req->number = slot->number;
		upgrade_send_anew(llc, slot);
		rc = 0;
	}
	spin_unlock_bh(&llc->lock);
	return rc;
}

/**
 * smc_upgrade_withdraw() - client: withdraw a request for which GO was not posted
 * @lgr: group
 * @req: request; without effect if it has ended
 *
 * Repeated until it is answered. Any context but hard interrupt.
 */
void smc_upgrade_withdraw(struct smc_lgr *lgr, struct smc_upgrade_req *req)
{
	struct smc_llc *llc = lgr->llc;
	struct llc_upgrade_slot *slot = upgrade_get_slot(llc, req->number);

	spin_lock_bh(&llc->lock);
	if (slot->req == req && slot->state != LLC_UPGRADE_WITHDRAWN) {
		slot->state = LLC_UPGRADE_WITHDRAWN;
		upgrade_send_anew(llc, slot);
	}
	spin_unlock_bh(&llc->lock);
}

/* Check whether a slot waits for an answer of this kind. A yes after a withdrawal binds nothing. */
static bool upgrade_client_wants(const struct llc_upgrade_slot *slot,
				 const struct smc_upgrade_msg *msg)
{
	if (slot->number != msg->number || !upgrade_is_unanswered(slot))
		return false;
	if (msg->kind == SMC_UPGRADE_REFUSED)
		return true;
	return msg->kind == (slot->state == LLC_UPGRADE_ASKED ? SMC_UPGRADE_ACCEPTED :
								 SMC_UPGRADE_CONFIRMED);
}

static bool upgrade_client_take(struct smc_llc *llc, struct smc_link *link,
				const struct smc_upgrade_msg *msg)
{
	struct llc_upgrade_slot *slot = upgrade_get_slot(llc, msg->number);
	struct smc_upgrade_req *req;
	bool wanted;

	spin_lock_bh(&llc->lock);
	wanted = upgrade_client_wants(slot, msg);
	req = wanted ? slot->req : NULL;
	if (wanted && msg->kind == SMC_UPGRADE_ACCEPTED) {
		slot->state = LLC_UPGRADE_ANSWERED;
	} else if (wanted) {
		req->reason = msg->reason;
		upgrade_end(llc, slot, msg->kind == SMC_UPGRADE_REFUSED ?
			    SMC_UPGRADE_OUT_REFUSED : SMC_UPGRADE_OUT_WITHDRAWN);
	}
	spin_unlock_bh(&llc->lock);
	/* the owner keeps it until it has ended, which is reported after this */
	if (wanted && msg->kind == SMC_UPGRADE_ACCEPTED)
		upgrade_events->accepted(req, link, msg);
	return wanted;
}

/* ---- server ---- */

/**
 * smc_upgrade_answer() - server: answer a request
 * @lgr: group
 * @number: its number
 * @reason: %SMC_UPGRADE_YES, or why not; only LATER and UNKNOWN before the proof was checked
 * @req: yes: belongs to the group from now on; else NULL
 *
 * Any context but hard interrupt.
 *
 * Return: 0; -ECANCELED: the client has withdrawn its request; -ECONNABORTED: the group is dead. On
 * error the caller keeps @req.
 */
int smc_upgrade_answer(struct smc_lgr *lgr, u32 number, enum smc_upgrade_reason reason,
		       struct smc_upgrade_req *req)
{
	struct smc_llc *llc = lgr->llc;
	struct llc_upgrade_slot *slot = upgrade_get_slot(llc, number);
	int rc = 0;

	spin_lock_bh(&llc->lock);
	if (llc->dead) {
		rc = -ECONNABORTED;
	} else if (slot->state != LLC_UPGRADE_JUDGED || slot->number != number) {
		if (slot->state == LLC_UPGRADE_IN_VAIN && slot->number == number)
			slot->state = LLC_UPGRADE_IDLE;
		rc = -ECANCELED;
	} else {
		smc_upgrade_slots_note(&llc->upgrade.records, number, reason);
		slot->state = LLC_UPGRADE_IDLE;
		slot->req = req;
		if (req)
			req->number = number;
		slot->due = true;
		smc_llc_timer_upgrade_due(llc);
	}
	spin_unlock_bh(&llc->lock);
	return rc;
}

/*
 * Until a request is answered only its own withdrawal counts. After that the slot takes the next
 * request only when those who judge have answered this one: a client that withdraws and asks anew
 * would have them judge any number of requests at a time. Withdrawals are confirmed as ever.
 */
static enum smc_upgrade_verdict upgrade_server_decide(struct smc_llc *llc,
						      const struct llc_upgrade_slot *slot,
						      const struct smc_upgrade_msg *msg)
{
	bool withdrawal = msg->kind == SMC_UPGRADE_WITHDRAWAL;

	lockdep_assert_held(&llc->lock);
	if (slot->state == LLC_UPGRADE_JUDGED && (!withdrawal || msg->number != slot->number))
		return SMC_UPGRADE_DROP;
	if (slot->state == LLC_UPGRADE_IN_VAIN && !withdrawal)
		return SMC_UPGRADE_DROP;
	return smc_upgrade_slots_take(&llc->upgrade.records, msg->number, withdrawal);
}

static bool upgrade_server_take(struct smc_llc *llc, struct smc_link *link,
				const struct smc_upgrade_msg *msg)
{
	struct llc_upgrade_slot *slot = upgrade_get_slot(llc, msg->number);
	enum smc_upgrade_verdict verdict;

	spin_lock_bh(&llc->lock);
	verdict = upgrade_server_decide(llc, slot, msg);
	switch (verdict) {
	case SMC_UPGRADE_JUDGE:
		slot->state = LLC_UPGRADE_JUDGED;
		slot->number = msg->number;
		slot->due = false;	/* the client has decided what that answer was about */
		break;
	case SMC_UPGRADE_UNBIND:
		/* else abandoned */
		if (slot->req)
			upgrade_end(llc, slot, SMC_UPGRADE_OUT_WITHDRAWN);
		slot->due = true;
		break;
	case SMC_UPGRADE_REPLY_WITHDRAWN:
		if (slot->state == LLC_UPGRADE_JUDGED)
			slot->state = LLC_UPGRADE_IN_VAIN;
		slot->due = true;
		break;
	case SMC_UPGRADE_REPEAT_YES:
	case SMC_UPGRADE_REPEAT_NO:
		slot->due = true;
		break;
	case SMC_UPGRADE_DROP:
		break;
	}
	spin_unlock_bh(&llc->lock);
	if (verdict == SMC_UPGRADE_JUDGE && upgrade_events)
		upgrade_events->requested(link, msg);
	else if (verdict == SMC_UPGRADE_JUDGE)
		smc_upgrade_answer(llc->lgr, msg->number, SMC_UPGRADE_UNKNOWN, NULL);
	return verdict != SMC_UPGRADE_DROP;
}

/* ---- both ---- */

/**
 * smc_upgrade_finish() - end a request that needs no message of LLC any more
 * @lgr: group
 * @req: request; without effect if it has ended
 *
 * Client: the first CDC message of the server has arrived. Server: GO has. Who has given the peer
 * up calls smc_upgrade_abandon(). Any context but hard interrupt.
 */
void smc_upgrade_finish(struct smc_lgr *lgr, struct smc_upgrade_req *req)
{
	struct smc_llc *llc = lgr->llc;
	struct llc_upgrade_slot *slot = upgrade_get_slot(llc, req->number);

	spin_lock_bh(&llc->lock);
	if (slot->req == req) {
		smc_upgrade_slots_finish(&llc->upgrade.records, req->number);
		upgrade_end(llc, slot, SMC_UPGRADE_OUT_FINISHED);
		smc_llc_timer_upgrade_due(llc);
	}
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_upgrade_abandon() - end a request although the peer may still say something
 * @lgr: group
 * @req: request; without effect if it has ended
 *
 * Client: GO was posted, and no CDC message of the server has come; the slot is lost, because the
 * server may not have got GO. Server: neither GO nor a withdrawal has come in time; the withdrawal
 * still frees the slot. Any context but hard interrupt.
 */
void smc_upgrade_abandon(struct smc_lgr *lgr, struct smc_upgrade_req *req)
{
	struct smc_llc *llc = lgr->llc;
	struct llc_upgrade_slot *slot = upgrade_get_slot(llc, req->number);

	spin_lock_bh(&llc->lock);
	if (slot->req == req) {
		upgrade_end(llc, slot, SMC_UPGRADE_OUT_ABANDONED);
		if (lgr->role == SMC_CLIENT)
			slot->state = LLC_UPGRADE_LOST;
		smc_llc_timer_upgrade_due(llc);
	}
	spin_unlock_bh(&llc->lock);
}

/* Take the message that slot @i has received. Return the link over which it came, or NULL. */
static struct smc_link *upgrade_take_received(struct smc_llc *llc, u32 i,
					      struct smc_upgrade_msg *msg)
{
	struct llc_upgrade_slot *slot = &llc->upgrade.slots[i];
	struct smc_link *link;

	spin_lock_bh(&llc->lock);
	link = slot->from;
	slot->from = NULL;
	*msg = slot->received;
	spin_unlock_bh(&llc->lock);
	return link;
}

static void upgrade_slot_receive(struct smc_llc *llc, u32 i)
{
	struct smc_upgrade_msg msg;
	struct smc_link *link = upgrade_take_received(llc, i, &msg);
	bool taken;

	if (!link)
		return;
	if (llc->lgr->role == SMC_CLIENT)
		taken = upgrade_client_take(llc, link, &msg);
	else
		taken = upgrade_server_take(llc, link, &msg);
	if (!taken)
		smc_stats_inc(llc->lgr->net, SMC_STAT_RX_UPGRADE_DROP);
	smc_link_put(link);
}

/**
 * smc_upgrade_work() - handle received messages, and send and repeat what is owed
 * @work: smc_llc.upgrade_work
 *
 * Never waits for the peer.
 */
void smc_upgrade_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(to_delayed_work(work), struct smc_llc, upgrade_work);
	unsigned long next = MAX_JIFFY_OFFSET, t;
	u32 i;

	for (i = 0; i < SMC_UPGRADE_SLOTS; i++)
		upgrade_slot_receive(llc, i);
	upgrade_report_ended(llc);
	for (i = 0; i < SMC_UPGRADE_SLOTS; i++) {
		t = upgrade_slot_send(llc, i);
		next = min(next, t);
	}
	if (next != MAX_JIFFY_OFFSET)
		smc_llc_timer_upgrade_later(llc, next);
}

/* Return whether the peer may send messages of this kind: we are what it takes us for. */
static bool upgrade_is_expected(const struct smc_lgr *lgr, u8 kind)
{
	bool asks = kind == SMC_UPGRADE_REQUEST || kind == SMC_UPGRADE_WITHDRAWAL;

	return READ_ONCE(lgr->peer.caps) && lgr->caps & SMC_CAP_UPGRADE &&
	       asks == (lgr->role == SMC_SERVER);
}

/* Return whether a message of the client is later than the one that its slot has received. */
static bool upgrade_is_later(const struct smc_upgrade_msg *msg, const struct smc_upgrade_msg *old)
{
	if (msg->number != old->number)
		return (s32)(msg->number - old->number) > 0;
	return msg->kind == SMC_UPGRADE_WITHDRAWAL;
}

/*
 * Keep a message for the work. If its slot has another one, the later one is kept. Return whether
 * one of them was dropped.
 */
static bool upgrade_store(struct smc_llc *llc, struct smc_link *link,
			  const struct smc_upgrade_msg *msg)
{
	struct llc_upgrade_slot *slot = upgrade_get_slot(llc, msg->number);
	struct smc_link *dropped = link;
	bool wanted;

	smc_link_get(link);
	spin_lock_bh(&llc->lock);
	if (llc->lgr->role == SMC_CLIENT)
		wanted = upgrade_client_wants(slot, msg);
	else
		wanted = !slot->from || upgrade_is_later(msg, &slot->received);
	if (wanted && !llc->dead) {
		dropped = slot->from;
		slot->from = link;
		slot->received = *msg;
		smc_llc_timer_upgrade_due(llc);
	}
	spin_unlock_bh(&llc->lock);
	if (dropped)
		smc_link_put(dropped);
	return dropped;
}

/**
 * smc_upgrade_receive() - take an optional LLC message that may be UPGRADE
 * @llc: LLC state
 * @link: link that received it
 * @buf: message
 * @len: its length
 *
 * Ignored, but counted, if this host has not announced the capability. Softirq.
 */
void smc_upgrade_receive(struct smc_llc *llc, struct smc_link *link, const u8 *buf, u32 len)
{
	struct smc_lgr *lgr = llc->lgr;
	struct smc_upgrade_msg msg;
	bool dropped = true;
	int rc;

	rc = smc_upgrade_msg_parse(buf, len, &msg);
	if (rc == -ENOMSG)
		return;
	smc_stats_inc(lgr->net, SMC_STAT_RX_UPGRADE);
	if (!rc) {
		trace_smc_upgrade_rx(link->uid, msg.kind, msg.number, msg.reason);
		if (upgrade_is_expected(lgr, msg.kind))
			dropped = upgrade_store(llc, link, &msg);
	}
	if (dropped)
		smc_stats_inc(lgr->net, SMC_STAT_RX_UPGRADE_DROP);
}

/**
 * smc_upgrade_link_lost() - repeat at once what may have been lost with a link
 * @llc: LLC state
 *
 * Process context.
 */
void smc_upgrade_link_lost(struct smc_llc *llc)
{
	u32 i;

	spin_lock_bh(&llc->lock);
	for (i = 0; i < SMC_UPGRADE_SLOTS; i++)
		if (upgrade_is_unanswered(&llc->upgrade.slots[i]))
			upgrade_send_anew(llc, &llc->upgrade.slots[i]);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_upgrade_end_all() - the group is dead: end all requests
 * @llc: LLC state; dead, its works are cancelled
 *
 * Process context.
 */
void smc_upgrade_end_all(struct smc_llc *llc)
{
	struct llc_upgrade_slot *slot;
	struct smc_upgrade_msg msg;
	struct smc_link *link;
	u32 i;

	for (i = 0; i < SMC_UPGRADE_SLOTS; i++) {
		slot = &llc->upgrade.slots[i];
		link = upgrade_take_received(llc, i, &msg);
		if (link)
			smc_link_put(link);
		spin_lock_bh(&llc->lock);
		if (slot->req)
			upgrade_end(llc, slot, SMC_UPGRADE_OUT_GROUP);
		spin_unlock_bh(&llc->lock);
	}
	upgrade_report_ended(llc);
}
