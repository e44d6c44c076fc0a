// SPDX-License-Identifier: GPL-2.0-only
/*
 * LLC exchanges of a link group (RFC 7609 sections 3.5.5 and A.3).
 *
 * Messages are copied in softirq and queued; one work per group acts on them in
 * order. Whose turn it is says proto/llc_flow. Exchanges in which the peer makes
 * us wait run elsewhere, so that this work never waits for the peer: in the
 * caller of smc_llc_rkey_confirm(), in the handshake (first contact), and in
 * add_work (further links).
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/llc_flow.h>
#include <smc/proto/llc_msg.h>
#include <smc/rdma/region.h>
#include "llc/internal.h"

#define LLC_QUEUE_MAX	64		/* messages kept per group */

/* ---- first contact ---- */

/* Both sides agreed to one link: neither expects the ADD LINK phase. */
static bool llc_fc_has_one_link(const struct smc_llc *llc)
{
	return llc->lgr->peer.max_links == 1;
}

/**
 * smc_llc_fc_begin() - arm the first contact
 * @link: first link
 * @wq: woken whenever smc_llc_fc_bits() changes
 */
void smc_llc_fc_begin(struct smc_link *link, wait_queue_head_t *wq)
{
	struct smc_llc *llc = llc_from_link(link);

	spin_lock_bh(&llc->lock);
	llc->fc.link = link;
	llc->fc.wq = wq;
	llc->fc.bits = llc->dead ? SMC_LLC_FC_BROKEN : 0;
	llc->fc.answered = false;
	llc->fc.sent = 0;
	llc->running = SMC_LLC_X_FIRST;
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_llc_fc_bits() - what has happened in the first contact
 * @link: first link
 *
 * Return: SMC_LLC_FC_* bits.
 */
unsigned int smc_llc_fc_bits(struct smc_link *link)
{
	struct smc_llc *llc = llc_from_link(link);
	unsigned int bits = READ_ONCE(llc->fc.bits);

	return llc_link_broken(link) ? bits | SMC_LLC_FC_BROKEN : bits;
}

/**
 * smc_llc_fc_confirm_link() - server: (re)send CONFIRM LINK; client: answer it
 * @link: first link
 *
 * Process context.
 *
 * Return: 0, -ECONNABORTED, -ENOTCONN (client: there is no request).
 */
int smc_llc_fc_confirm_link(struct smc_link *link)
{
	struct smc_llc *llc = llc_from_link(link);
	bool client = llc->lgr->role == SMC_CLIENT;
	int rc = 0;

	spin_lock_bh(&llc->lock);
	if (llc->dead)
		rc = -ECONNABORTED;
	else if (client && !(llc->fc.bits & SMC_LLC_FC_CONFIRM))
		rc = -ENOTCONN;
	else if (client)
		llc->fc.answered = true;
	else
		llc->fc.sent++;
	spin_unlock_bh(&llc->lock);
	if (rc)
		return rc;
	rc = smc_llc_send_confirm_link(link, client);
	if (!rc && client && llc_fc_has_one_link(llc)) {
		spin_lock_bh(&llc->lock);
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
		spin_unlock_bh(&llc->lock);
	}
	return rc;
}

/**
 * smc_llc_fc_add_link() - server: start the ADD LINK exchange
 * @link: first link
 *
 * Return: 0 or -ECONNABORTED.
 */
int smc_llc_fc_add_link(struct smc_link *link)
{
	struct smc_llc *llc = llc_from_link(link);
	int rc = 0;

	spin_lock_bh(&llc->lock);
	if (llc->dead) {
		rc = -ECONNABORTED;
	} else if (llc_fc_has_one_link(llc)) {
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
	} else if (!llc->add.active) {
		/* a client that had to be asked twice may miss the first ADD LINK too */
		smc_add_link_server_begin(llc, link, llc->fc.sent > 1 ? 2 : 1);
	}
	spin_unlock_bh(&llc->lock);
	return rc;
}

/**
 * smc_llc_fc_end() - the first contact is over, well or not
 * @link: first link
 *
 * The wait queue is not touched after return.
 */
void smc_llc_fc_end(struct smc_link *link)
{
	struct smc_llc *llc = llc_from_link(link);

	spin_lock_bh(&llc->lock);
	if (llc->fc.link == link) {
		llc->fc.link = NULL;
		llc->fc.wq = NULL;
		if (llc->running == SMC_LLC_X_FIRST && llc->add.active)
			llc->running = SMC_LLC_X_ADD_LINK;
		else if (llc->running == SMC_LLC_X_FIRST)
			llc_turn_end(llc);
	}
	spin_unlock_bh(&llc->lock);
	llc_test_link_arm(llc, 0);
}

/* ---- acting on messages; llc->work, in order of arrival ---- */

/*
 * Version 1, two of ours: the server says how many links there may be, the client agrees or
 * wants fewer (RFC 7609 section 2.2.2). Only before anybody has asked: llc->lock held, the
 * first contact goes on when it is released.
 */
static void llc_fc_agree_max_links(struct smc_llc *llc, const struct smc_llc_confirm_link *cl)
{
	struct smc_peer *peer = &llc->lgr->peer;
	u8 most = peer->max_links;

	if (peer->version > 1 || !peer->marker || !cl->max_links)
		return;
	if (llc->lgr->role == SMC_CLIENT)
		most = READ_ONCE(smc_policy_net(llc->lgr->net)->max_links);
	WRITE_ONCE(peer->max_links, min(most, cl->max_links));
}

static void llc_confirm_link_receive(struct smc_llc *llc, struct smc_link *link,
			    const struct smc_llc_msg *msg)
{
	const struct smc_llc_confirm_link *cl = &msg->confirm_link;
	bool again = false;

	/* who is at the other end was told over TCP: another one has no business here */
	if (!smc_llc_confirms(cl, msg->response ? link->num : 0, link->peer_qpn,
			      link->peer_gid.raw)) {
		smc_link_fail(link, SMC_LINK_PROTOCOL);
		return;
	}
	spin_lock_bh(&llc->lock);
	if (!msg->response && llc->fc.answered) {
		again = cl->link_num == link->num;
	} else if (llc->fc.link == link && !(llc->fc.bits & SMC_LLC_FC_CONFIRM)) {
		if (!msg->response)
			WRITE_ONCE(link->num, cl->link_num);
		link->peer_uid = smc_get_be32(cl->link_uid);
		llc_fc_agree_max_links(llc, cl);
		llc_fc_set(llc, SMC_LLC_FC_CONFIRM |
				(cl->no_eyec ? 0 : SMC_LLC_FC_EYECATCHER));
	}
	spin_unlock_bh(&llc->lock);
	if (again)
		smc_llc_send_confirm_link(link, true);
}

static void delete_link_remove_on_client(struct smc_llc *llc, struct smc_link *victim)
{
	smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_DEL);
	smc_core_del_link(victim, SMC_LINK_PEER_DELETED);
}

static void delete_link_receive(struct smc_llc *llc, struct smc_link *link,
			   const struct smc_llc_msg *msg)
{
	const struct smc_llc_delete_link *dl = &msg->delete_link;
	struct smc_link *victim, *other;
	bool adding, ordered;

	spin_lock_bh(&llc->lock);
	adding = dl->link_num && dl->link_num == llc->add.num;
	if (adding)
		llc->add.aborted = true;	/* add_work takes it away */
	spin_unlock_bh(&llc->lock);
	smc_delete_link_cancel_request(llc, dl->link_num);
	victim = adding ? NULL : smc_core_link_by_num(llc->lgr, dl->link_num);
	if (!victim) {
		/* ours may have failed because the server's has gone */
		if (!adding && llc->lgr->role == SMC_CLIENT && dl->reason == SMC_LLC_DEL_OPERATOR)
			smc_recovery_delete_ordered(llc, dl->link_num);
		smc_llc_send_delete_link(link, dl->link_num, adding ? 0 : SMC_LLC_DEL_NO_LINK,
					 true);
		wake_up_all(&llc->wait);
		return;
	}
	if (llc->lgr->role == SMC_CLIENT) {
		/* the server's end goes when it hears this */
		smc_link_going(victim, SMC_LINK_PEER_DELETED);
		smc_llc_send_delete_link(link, dl->link_num, 0, true);
	}
	other = smc_core_other_link(llc->lgr, victim);
	ordered = dl->reason == SMC_LLC_DEL_OPERATOR;
	if (!other) {
		/* an operator who wishes a link away does not mean the group */
		if (llc->lgr->role == SMC_CLIENT || !ordered)
			smc_core_terminate(llc->lgr, SMC_LINK_PEER_DELETED);
	} else {
		/* a client only wishes: the deletion itself is the server's request */
		if (llc->lgr->role == SMC_SERVER) {
			smc_delete_link_schedule(llc, victim, dl->reason,
					  ordered ? LLC_DELETE_BY_PEER : LLC_DELETE_UNORDERED);
		} else {
			/* first: what is to be done for ports would be taken for an order */
			if (ordered)
				smc_recovery_delete_ordered(llc, dl->link_num);
			else if (dl->reason == SMC_LLC_DEL_ASYMMETRIC)
				smc_recovery_redundant_removed(llc);
			delete_link_remove_on_client(llc, victim);
		}
		if (dl->reason == SMC_LLC_DEL_LOST_PATH)
			smc_recovery_retry_later(llc);
		smc_link_put(other);
	}
	smc_link_put(victim);
}

static void test_link_answer(struct smc_link *link, const struct smc_llc_msg *req)
{
	struct smc_llc_msg msg = *req;

	msg.response = true;
	smc_llc_send_msg(link, &msg);
}

static enum smc_llc_input llc_msg_classify(struct smc_llc *llc, const struct smc_llc_msg *msg)
{
	bool rsp = msg->response;

	switch ((enum smc_llc_type)msg->type) {
	case SMC_LLC_CONFIRM_LINK:
		return rsp ? SMC_LLC_IN_CONFIRM_LINK_RSP : SMC_LLC_IN_CONFIRM_LINK;
	case SMC_LLC_ADD_LINK:
		return rsp ? SMC_LLC_IN_ADD_LINK_RSP : SMC_LLC_IN_ADD_LINK;
	case SMC_LLC_ADD_LINK_CONT:
		return rsp ? SMC_LLC_IN_ADD_LINK_CONT_RSP : SMC_LLC_IN_ADD_LINK_CONT;
	case SMC_LLC_DELETE_LINK:
		if (rsp)
			return SMC_LLC_IN_DELETE_LINK_RSP;
		if (msg->delete_link.all)
			return SMC_LLC_IN_DELETE_LINK_ALL;
		if (msg->delete_link.link_num && msg->delete_link.link_num == llc->add.num)
			return SMC_LLC_IN_DELETE_LINK_NEW;
		return SMC_LLC_IN_DELETE_LINK;
	case SMC_LLC_REQ_ADD_LINK:
		return rsp ? SMC_LLC_IN_REQ_ADD_LINK_RSP : SMC_LLC_IN_REQ_ADD_LINK;
	case SMC_LLC_CONFIRM_RKEY:
	case SMC_LLC_CONFIRM_RKEY_CONT:
	case SMC_LLC_DELETE_RKEY:
		return rsp ? SMC_LLC_IN_RKEY_RSP : SMC_LLC_IN_RKEY;
	case SMC_LLC_TEST_LINK:
		return rsp ? SMC_LLC_IN_TEST_LINK_RSP : SMC_LLC_IN_TEST_LINK;
	}
	return SMC_LLC_IN_OTHER;
}

/*
 * A server gives its first link a number before it offers another one, which must not have the
 * same. What comes over one queue pair comes in order: it has no excuse.
 */
static bool llc_add_link_check_early(struct smc_llc *llc, struct smc_link *link)
{
	if (READ_ONCE(llc->fc.link) != link || READ_ONCE(llc->fc.bits) & SMC_LLC_FC_CONFIRM)
		return false;
	smc_stats_inc(llc->lgr->net, SMC_STAT_RX_LLC_BAD);
	smc_link_fail(link, SMC_LINK_PROTOCOL);
	return true;
}

/* The verdict lets @ev through. True: somebody else owns @ev now. */
static bool llc_event_dispatch(struct smc_llc *llc, struct llc_event *ev, const struct smc_llc_msg *msg,
		enum smc_llc_input input)
{
	switch (input) {
	case SMC_LLC_IN_CONFIRM_LINK_RSP:
		if (READ_ONCE(llc->fc.link) != ev->link)
			return smc_add_link_take_msg(llc, ev, msg);
		fallthrough;
	case SMC_LLC_IN_CONFIRM_LINK:
		if (READ_ONCE(llc->fc.link) != ev->link && ev->link->num == READ_ONCE(llc->add.num))
			return smc_add_link_take_msg(llc, ev, msg);
		llc_confirm_link_receive(llc, ev->link, msg);
		break;
	case SMC_LLC_IN_ADD_LINK:
		if (llc->lgr->role == SMC_CLIENT)
			return !llc_add_link_check_early(llc, ev->link) && smc_add_link_client_begin(llc, ev);
		fallthrough;
	case SMC_LLC_IN_REQ_ADD_LINK:
		smc_recovery_peer_request(llc, msg->type == SMC_LLC_REQ_ADD_LINK);
		break;
	case SMC_LLC_IN_ADD_LINK_RSP:
	case SMC_LLC_IN_ADD_LINK_CONT:
	case SMC_LLC_IN_ADD_LINK_CONT_RSP:
		return smc_add_link_take_msg(llc, ev, msg);
	case SMC_LLC_IN_DELETE_LINK:
	case SMC_LLC_IN_DELETE_LINK_NEW:
		delete_link_receive(llc, ev->link, msg);
		break;
	case SMC_LLC_IN_DELETE_LINK_RSP:
		smc_delete_link_take_response(llc, msg->delete_link.link_num);
		break;
	case SMC_LLC_IN_RKEY:
		smc_rkey_receive(llc, ev->link, msg);
		break;
	case SMC_LLC_IN_RKEY_RSP:
		smc_rkey_take_response(llc, ev->link, msg);
		break;
	case SMC_LLC_IN_TEST_LINK:
		test_link_answer(ev->link, msg);
		break;
	default:
		break;	/* answers whose arrival is all that counts, or that nobody awaits */
	}
	return false;
}

/* True: @ev has another owner now. */
static bool llc_event_process(struct smc_llc *llc, struct llc_event *ev)
{
	struct smc_lgr *lgr = llc->lgr;
	enum smc_llc_verdict v;
	enum smc_llc_input input;
	struct smc_llc_msg msg;
	bool kept = false;

	if (smc_llc_parse(ev->buf, ev->len, &msg) || msg.version != lgr->peer.version) {
		/* unknown types too: real peers drop them, whatever the sender expects */
		smc_stats_inc(lgr->net, SMC_STAT_RX_LLC_BAD);
		return false;
	}
	input = llc_msg_classify(llc, &msg);
	spin_lock_bh(&llc->lock);
	v = llc_verdict(llc, input);
	if (v == SMC_LLC_RUN || v == SMC_LLC_PREEMPT) {
		llc->running = smc_llc_flow_exchange(input);
	} else if (v == SMC_LLC_QUEUE) {
		list_add_tail(&ev->entry, &llc->deferred);
		llc->nqueued++;	/* the limit holds for both lists */
	}
	spin_unlock_bh(&llc->lock);

	switch (v) {
	case SMC_LLC_RUN:
	case SMC_LLC_PREEMPT:
		kept = llc_event_dispatch(llc, ev, &msg, input);
		if (kept && input == SMC_LLC_IN_ADD_LINK)
			break;	/* the turn went along */
		spin_lock_bh(&llc->lock);
		llc_turn_end(llc);
		spin_unlock_bh(&llc->lock);
		break;
	case SMC_LLC_JOIN:
	case SMC_LLC_PASS:
		kept = llc_event_dispatch(llc, ev, &msg, input);
		break;
	case SMC_LLC_QUEUE:
		kept = true;
		break;
	case SMC_LLC_REFUSE:
		smc_rkey_refuse(llc, ev->link, &msg);
		break;
	case SMC_LLC_TERMINATE:
		smc_core_terminate(lgr, SMC_LINK_PEER_DELETED);
		break;
	case SMC_LLC_VIOLATION:
		smc_stats_inc(lgr->net, SMC_STAT_RX_LLC_BAD);
		pr_info_ratelimited("group %08x: unexpected %s\n", lgr->id,
				    smc_llc_input_str(input));
		smc_core_terminate(lgr, SMC_LINK_PROTOCOL);
		break;
	case SMC_LLC_DROP:
	case SMC_LLC_VERDICTS:
		break;
	}
	return kept;
}

static void llc_queue_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(work, struct smc_llc, work);
	struct llc_event *ev;

	for (;;) {
		spin_lock_bh(&llc->lock);
		ev = llc->dead ? NULL : list_first_entry_or_null(&llc->queue, struct llc_event,
								 entry);
		if (ev) {
			list_del(&ev->entry);
			llc->nqueued--;
		}
		spin_unlock_bh(&llc->lock);
		if (!ev)
			return;
		if (!llc_event_process(llc, ev))
			llc_event_free(ev);
	}
}

static void llc_msg_count(const struct smc_link *link, const u8 *buf, u32 len)
{
	const struct smc_lgr *lgr = link->lgr;
	struct smc_llc_msg msg;

	smc_stats_inc(lgr->net, SMC_STAT_RX_LLC);
	if (smc_llc_parse(buf, len, &msg))
		return;
	smc_stats_msg(lgr->net, SMC_MSGS_LLC_RX, msg.type);
	trace_smc_llc_rx(link->uid, msg.type, msg.response);
}

/* A message came in; softirq. */
static void llc_msg_receive(struct smc_link *link, const u8 *buf, u32 len)
{
	struct smc_llc *llc = llc_from_link(link);
	struct llc_event *ev = NULL;
	bool flood = false;

	llc_msg_count(link, buf, len);
	if (len && len <= SMC_LLC_V2_MAX_LEN)
		ev = smc_fault_null(LLC_EVENT, kmalloc(struct_size(ev, buf, len), GFP_ATOMIC));
	if (!ev) {
		smc_stats_inc(llc->lgr->net, SMC_STAT_RX_LLC_BAD);
		return;
	}
	smc_link_get(link);
	ev->link = link;
	ev->len = len;
	memcpy(ev->buf, buf, len);
	spin_lock(&llc->lock);
	flood = llc->nqueued >= LLC_QUEUE_MAX;
	if (!llc->dead && !flood) {
		list_add_tail(&ev->entry, &llc->queue);
		llc->nqueued++;
		queue_work(smc_llc_wq, &llc->work);
		ev = NULL;
	}
	spin_unlock(&llc->lock);
	if (ev)
		llc_event_free(ev);
	if (flood)
		smc_core_terminate(llc->lgr, SMC_LINK_PROTOCOL);
}

/* ---- TEST LINK ---- */

/* Looks after the link of one slot; returns in how many jiffies it wants to again. */
static unsigned long test_link_probe(struct smc_llc *llc, struct llc_probe *probe,
				struct smc_link *link, unsigned long silence)
{
	int secs = READ_ONCE(smc_policy_net(llc->lgr->net)->testlink_timeout);
	unsigned long patience = smc_policy_jiffies(secs);
	unsigned long last = READ_ONCE(link->last_rx), due;
	struct smc_llc_msg msg;

	if (probe->waiting && time_after_eq(last, probe->sent))
		probe->waiting = false;
	if (probe->waiting) {
		due = probe->sent + patience;
		if (time_before(jiffies, due))
			return due - jiffies;
		smc_link_fail(link, SMC_LINK_TEST_TIMEOUT);
		return silence;
	}
	due = last + silence;
	if (time_before(jiffies, due))
		return due - jiffies;
	probe->sent = jiffies;
	probe->waiting = true;
	smc_llc_send_prepare(llc, &msg, SMC_LLC_TEST_LINK, false);
	smc_llc_send_msg(link, &msg);
	return patience;
}

static void test_link_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(to_delayed_work(work), struct smc_llc, test_work);
	int secs = READ_ONCE(smc_policy_net(llc->lgr->net)->testlink_time);
	unsigned long silence = MAX_JIFFY_OFFSET, next, t;
	struct llc_probe *probe;
	struct smc_link *link;
	u32 slot;

	if (secs > 0)
		silence = smc_policy_jiffies(secs);
	next = min(silence, 30UL * HZ);	/* off: it may be turned on */
	spin_lock_bh(&llc->lock);
	if (llc->suspect)
		silence = 0;
	llc->suspect = false;
	spin_unlock_bh(&llc->lock);
	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(llc->lgr, slot);
		if (!link)
			continue;
		if (smc_link_usable(link)) {
			probe = smc_test_link_get_probe(llc, link);
			t = smc_test_link_check_stall(llc, probe, link);
			next = min(next, t);
			t = test_link_probe(llc, probe, link, silence);
			next = min(next, t);
		}
		smc_link_put(link);
	}
	llc_test_link_arm(llc, max(next, 1UL));
}

/* Who may be gone: see smc_llc_suspect(). */
struct test_link_target {
	struct net *net;
	const union ib_gid *gid;
};

/**
 * smc_llc_probe() - is the peer still there?
 * @lgr: group
 *
 * Asks over every link at once; one that does not answer in time ends. Any context.
 */
void smc_llc_probe(struct smc_lgr *lgr)
{
	struct smc_llc *llc = lgr->llc;

	spin_lock_bh(&llc->lock);
	if (!llc->dead) {
		llc->suspect = true;
		mod_delayed_work(smc_llc_wq, &llc->test_work, 0);
	}
	spin_unlock_bh(&llc->lock);
}

static int test_link_probe_matching(struct smc_lgr *lgr, void *arg)
{
	const struct test_link_target *s = arg;

	/* one in its first contact is of the present */
	if (lgr->net != s->net || !lgr->ready || READ_ONCE(lgr->dead) ||
	    memcmp(&lgr->peer.gid, s->gid, sizeof(*s->gid)))
		return 0;
	smc_llc_probe(lgr);
	return 0;
}

/**
 * smc_llc_suspect() - somebody at a GID begins anew
 * @net: namespace
 * @gid: peer GID
 *
 * A peer that lost power or its module without a word comes back under another peer
 * ID, or under the same one, which is zero for some. A stranger can say so too: hence
 * the groups that lead there are asked, not ended. Process context.
 */
void smc_llc_suspect(struct net *net, const union ib_gid *gid)
{
	struct test_link_target s = { .net = net, .gid = gid };

	smc_core_for_each(test_link_probe_matching, &s);
}

/* ---- facts from the group ---- */

/**
 * smc_llc_delete_all() - tell the peer that the group ends
 * @lgr: group
 * @reason: enum smc_llc_del_reason
 * @orderly: not because of an error
 *
 * Best effort; waits a moment for the message to get out. Process context.
 */
void smc_llc_delete_all(struct smc_lgr *lgr, u32 reason, bool orderly)
{
	struct smc_link *link = smc_core_pick_link(lgr);
	struct smc_llc_msg msg;

	if (!link)
		return;
	smc_llc_send_prepare(lgr->llc, &msg, SMC_LLC_DELETE_LINK, false);
	msg.delete_link.all = true;
	msg.delete_link.orderly = orderly;
	msg.delete_link.reason = reason;
	/* best effort: the queue pair goes next */
	smc_llc_send_timed(link, &msg, LLC_SENT_TIME, LLC_SENT_TIME);
	smc_link_put(link);
}

static int llc_lgr_init(struct smc_lgr *lgr)
{
	struct smc_llc *llc;

	llc = smc_fault_null(LGR_LLC, kzalloc(sizeof(*llc), GFP_KERNEL));
	if (!llc)
		return -ENOMEM;
	llc->lgr = lgr;
	spin_lock_init(&llc->lock);
	llc->running = SMC_LLC_X_IDLE;
	INIT_LIST_HEAD(&llc->queue);
	INIT_LIST_HEAD(&llc->deferred);
	INIT_LIST_HEAD(&llc->add.inbox);
	init_waitqueue_head(&llc->wait);
	INIT_WORK(&llc->work, llc_queue_work);
	INIT_WORK(&llc->add_work,
		  lgr->role == SMC_SERVER ? smc_add_link_server_work : smc_add_link_client_work);
	INIT_DELAYED_WORK(&llc->test_work, test_link_work);
	smc_llc_tend_init(llc);
	smc_llc_give_init(llc);
	lgr->llc = llc;
	return 0;
}

static void llc_lgr_link_lost(struct smc_lgr *lgr, struct smc_link *link)
{
	struct smc_llc *llc = lgr->llc;
	bool adding;

	wake_up_all(&llc->wait);
	spin_lock_bh(&llc->lock);
	adding = llc->add.num == link->num;
	spin_unlock_bh(&llc->lock);
	/* one that is being set up is add_work's to announce; of one that was to go both know */
	if (link->num && !adding && atomic_read(&link->reason) != READ_ONCE(link->going))
		smc_delete_link_report_lost(llc, link);
}

/* Last words to the peer, where a link may still carry them. */
static void llc_lgr_announce_end(struct smc_lgr *lgr)
{
	switch (lgr->reason) {
	case SMC_LINK_PEER_DELETED:
		/* a client that has ended the group hears it from its server */
		if (lgr->role == SMC_SERVER)
			smc_llc_delete_all(lgr, SMC_LLC_DEL_PROGRAM, true);
		break;
	case SMC_LINK_IDLE:
	case SMC_LINK_NET_EXIT:
		smc_llc_delete_all(lgr, SMC_LLC_DEL_PROGRAM, true);
		break;
	case SMC_LINK_ADMIN:
		smc_llc_delete_all(lgr, SMC_LLC_DEL_OPERATOR, true);
		break;
	case SMC_LINK_PROTOCOL:
	case SMC_LINK_OUT_OF_SYNC:
		smc_llc_delete_all(lgr, SMC_LLC_DEL_PROTOCOL, false);
		break;
	case SMC_LINK_SETUP_FAILED:
		smc_llc_delete_all(lgr, SMC_LLC_DEL_LOST_PATH, false);
		break;
	case SMC_LINK_OK:
	case SMC_LINK_QP_ERROR:
	case SMC_LINK_PORT_DOWN:
	case SMC_LINK_DEVICE_GONE:
	case SMC_LINK_GID_CHANGED:
	case SMC_LINK_MTU:
	case SMC_LINK_TEST_TIMEOUT:
	case SMC_LINK_STALLED:
	case SMC_LINK_PEER_MOVED:
		break;		/* nothing gets through */
	}
}

/*
 * Who waits for the peer sees dead and leaves; works end here. What is queued by
 * llc_msg_receive() afterwards is dropped at once.
 */
static void llc_lgr_terminated(struct smc_lgr *lgr)
{
	struct smc_llc *llc = lgr->llc;

	spin_lock_bh(&llc->lock);
	WRITE_ONCE(llc->dead, true);
	llc_fc_set(llc, SMC_LLC_FC_BROKEN);
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
	cancel_work_sync(&llc->work);
	smc_llc_tend_exit(llc);		/* begins exchanges, as llc->work does */
	if (cancel_work_sync(&llc->add_work)) {
		/* it had not begun */
		smc_link_put(llc->add.first);
		if (llc->add.request)
			llc_event_free(llc->add.request);
	}
	cancel_delayed_work_sync(&llc->test_work);
	smc_llc_give_exit(llc);
	llc_lgr_announce_end(lgr);

	llc_events_free(&llc->queue);
	llc_events_free(&llc->deferred);
	llc_events_free(&llc->add.inbox);
}

static void llc_lgr_ports_changed(struct smc_lgr *lgr)
{
	smc_recovery_ports_changed(lgr->llc);
}

static void llc_lgr_release(struct smc_lgr *lgr)
{
	kfree(lgr->llc);
	lgr->llc = NULL;
}

const struct smc_lgr_ctl_events smc_llc_events = {
	.init = llc_lgr_init,
	.message = llc_msg_receive,
	.link_lost = llc_lgr_link_lost,
	.ports_changed = llc_lgr_ports_changed,
	.terminated = llc_lgr_terminated,
	.release = llc_lgr_release,
};

/**
 * smc_llc_init() - set up
 *
 * Return: 0 or -ENOMEM.
 */
int smc_llc_init(void)
{
	smc_llc_wq = smc_fault_null(LLC_WQ, alloc_workqueue("smc_llc", WQ_UNBOUND, 0));
	if (!smc_llc_wq)
		return -ENOMEM;
	smc_llc_wait_wq = smc_fault_null(LLC_WAIT_WQ,
					 alloc_workqueue("smc_llc_wait", WQ_UNBOUND, 0));
	if (smc_llc_wait_wq)
		return 0;
	destroy_workqueue(smc_llc_wq);
	return -ENOMEM;
}

/**
 * smc_llc_exit() - undo smc_llc_init(); all groups are gone
 */
void smc_llc_exit(void)
{
	destroy_workqueue(smc_llc_wait_wq);
	destroy_workqueue(smc_llc_wq);
}
