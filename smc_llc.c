// SPDX-License-Identifier: GPL-2.0-only
/*
 * LLC layer of a link group (RFC 7609 sections 3.5.5, A.3 and C.7): entry point of llc/.
 *
 * Exchanges
 *
 *	An exchange is a request and its response, or a sequence of them:
 *
 *	first contact	CONFIRM LINK over the first link, then ADD LINK. Driven by the
 *			handshake through smc_llc_fc_*().
 *	ADD LINK	ADD LINK, its response, ADD LINK CONTINUATION (version 1), CONFIRM LINK
 *			over the new link: llc/add_link.c, add_link_server.c, add_link_client.c.
 *	DELETE LINK	started by the server; a client's DELETE LINK is a request to start the
 *			exchange: llc/delete_link.c.
 *	RKEY		CONFIRM RKEY or DELETE RKEY of this host: llc/rkey.c.
 *
 *	TEST LINK (llc/test_link.c) is answered in softirq, by llc_msg_receive(). "Delete all links"
 *	takes no turn. RKEY requests of the peer take none either, but a server refuses them while
 *	its own exchange changes the links. UPGRADE, between native peers, is no exchange, and
 *	waits for nothing (llc/upgrade.c).
 *
 * Turn
 *
 *	Exchanges that change the configuration of a group run one at a time: smc_llc.running has
 *	the turn. The tables of proto/llc_flow.c give a verdict for each received message and for
 *	each exchange that this host is about to start: run now, wait for the turn, refuse, drop or
 *	end the group. A message that waits for the turn is moved to smc_llc.deferred;
 *	llc_turn_end() puts it back at the head of the queue. An exchange of this host that has
 *	to wait tries again (llc/recovery.c, llc/rkey.c); that of a lost link comes first
 *	(llc/delete_link.c).
 *
 * Works and queues
 *
 *	llc_msg_receive() copies a message in softirq and appends it to smc_llc.queue. smc_llc.work
 *	processes the queue in order of arrival. It may wait for a send slot, but not for a message
 *	of the peer. Code that waits for a message runs elsewhere: in the callers of
 *	smc_rkey_confirm(), in the handshake (on its own wait queue), in add_work (messages
 *	are handed over through llc_add.inbox), in lost_work, recovery_work and withdraw_work. All
 *	but the handshake wait on smc_llc.wait, each with a deadline, and stop when the group dies
 *	or the link breaks. The timers are in llc/timers.c. All works run on the queue of their
 *	group (smc_lgr.wq), side by side: whatever one of them waits for, it delays no other group.
 *
 * Locks
 *
 *	smc_llc.lock guards the state. It is a leaf, taken with BH off, and not held while a message
 *	is sent. Nothing is held while waiting for the peer. lgr->mutex protects the link set and
 *	the regions while rtokens are collected or regions registered.
 *
 * References and end
 *
 *	lgr->llc lives as long as the group. Each queued message has a reference on its link. When
 *	the group dies, llc_lgr_terminated() sets smc_llc.dead, wakes all waiters, cancels the
 *	works and announces the end to the peer; from then on messages are dropped.
 *
 * Deadlines are listed in Documentation/timers.rst.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/log.h>
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/llc_flow.h>
#include <smc/proto/llc_msg.h>
#include "llc/internal.h"

#define LLC_QUEUE_MAX	64		/* messages queued per group */

/* ---- first contact ---- */

/* With one negotiated link there is no ADD LINK phase. */
static bool llc_fc_has_one_link(const struct smc_llc *llc)
{
	return llc->lgr->peer.max_links == 1;
}

/**
 * smc_llc_fc_begin() - start the first contact
 * @link: first link
 * @wq: wait queue of the handshake, woken whenever smc_llc_fc_get_bits() changes
 *
 * Must be called before the peer can send. Any context.
 */
void smc_llc_fc_begin(struct smc_link *link, wait_queue_head_t *wq)
{
	struct smc_llc *llc = llc_from_link(link);

	spin_lock_bh(&llc->lock);
	WRITE_ONCE(llc->fc.link, link);
	llc->fc.wq = wq;
	WRITE_ONCE(llc->fc.bits, llc->dead ? SMC_LLC_FC_BROKEN : 0);
	llc->fc.answered = false;
	llc->fc.sent = 0;
	WRITE_ONCE(llc->running, SMC_LLC_X_FIRST);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_llc_fc_get_bits() - return the state of the first contact
 * @link: first link
 *
 * Any context, no lock.
 *
 * Return: SMC_LLC_FC_* bits.
 */
unsigned int smc_llc_fc_get_bits(struct smc_link *link)
{
	struct smc_llc *llc = llc_from_link(link);
	unsigned int bits = READ_ONCE(llc->fc.bits);

	return llc_link_broken(link) ? bits | SMC_LLC_FC_BROKEN : bits;
}

/**
 * smc_llc_fc_confirm_link() - send CONFIRM LINK: the server's request, the client's response
 * @link: first link
 *
 * A server may repeat the request. Repetitions that a client receives after its response are
 * answered by this layer. The handshake activates the link. Process context; waits for a send
 * slot.
 *
 * Return: 0; -ECONNABORTED: link or group failed; -ENOTCONN: client: no request has arrived.
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
 * smc_llc_fc_add_link() - server: start the ADD LINK exchange of the first contact
 * @link: first link
 *
 * Returns at once; add_work sends the request. On a client this layer answers it. With one
 * negotiated link there is no exchange: SMC_LLC_FC_ADD_LINK is set at once, on both sides
 * (client: by smc_llc_fc_confirm_link()).
 *
 * Return: 0; -ECONNABORTED: the group is dead.
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
		/* a client that missed a CONFIRM LINK may miss the first ADD LINK too */
		smc_add_link_server_begin(llc, link, llc->fc.sent > 1 ? 2 : 1);
	}
	spin_unlock_bh(&llc->lock);
	return rc;
}

/**
 * smc_llc_fc_end() - end the first contact, successful or not
 * @link: first link
 *
 * The wait queue is not used after return. May be called twice, and without
 * smc_llc_fc_begin(). Any context.
 */
void smc_llc_fc_end(struct smc_link *link)
{
	struct smc_llc *llc = llc_from_link(link);

	spin_lock_bh(&llc->lock);
	if (llc->fc.link == link) {
		WRITE_ONCE(llc->fc.link, NULL);
		llc->fc.wq = NULL;
		if (llc->running == SMC_LLC_X_FIRST && llc->add.active)
			WRITE_ONCE(llc->running, SMC_LLC_X_ADD_LINK);
		else if (llc->running == SMC_LLC_X_FIRST)
			llc_turn_end(llc);
	}
	spin_unlock_bh(&llc->lock);
	smc_llc_timer_link_up(llc);
}

/*
 * Version 1, native peer: the server announces the number of links per group, the client agrees
 * or lowers it (RFC 7609 section 2.2.2). The handshake reads the number only after llc->lock is
 * released.
 */
static void llc_fc_agree_max_links(struct smc_llc *llc, const struct smc_llc_confirm_link *cl)
{
	struct smc_peer *peer = &llc->lgr->peer;
	u8 most = peer->max_links;

	lockdep_assert_held(&llc->lock);
	if (peer->version > 1 || !smc_peer_can(peer, SMC_CAP_MANY_LINKS) || !cl->max_links)
		return;
	if (llc->lgr->role == SMC_CLIENT)
		most = READ_ONCE(smc_settings_get(llc->lgr->net)->max_links);
	WRITE_ONCE(peer->max_links, min(most, cl->max_links));
}

/* ---- received messages; smc_llc.work, in order of arrival ---- */

static void llc_confirm_link_receive(struct smc_llc *llc, struct smc_link *link,
				     const struct smc_llc_msg *msg)
{
	const struct smc_llc_confirm_link *cl = &msg->confirm_link;
	bool again = false;

	/* QP number and GID must be those that the peer sent in its CLC message */
	if (!smc_llc_confirm_link_matches(cl, msg->response ? link->num : 0, link->peer_qpn,
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
		WRITE_ONCE(link->peer_uid, smc_wire_get_be32(cl->link_uid));
		llc_fc_agree_max_links(llc, cl);
		llc_fc_set(llc, SMC_LLC_FC_CONFIRM |
				(cl->no_eyec ? 0 : SMC_LLC_FC_EYECATCHER));
	}
	spin_unlock_bh(&llc->lock);
	if (again)
		smc_llc_send_confirm_link(link, true);
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
		if (msg->delete_link.link_num &&
		    msg->delete_link.link_num == READ_ONCE(llc->add.num))
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
	case SMC_LLC_CAPS:	/* llc_msg_receive() has taken it */
		break;
	}
	return SMC_LLC_IN_OTHER;
}

/*
 * A server numbers its first link in CONFIRM LINK, before it offers another link, which must have
 * another number. A QP delivers in order, so an offer that comes first is a protocol error.
 */
static bool llc_add_link_check_early(struct smc_llc *llc, struct smc_link *link)
{
	if (READ_ONCE(llc->fc.link) != link || READ_ONCE(llc->fc.bits) & SMC_LLC_FC_CONFIRM)
		return false;
	smc_stats_inc(llc->lgr->net, SMC_STAT_RX_LLC_BAD);
	smc_link_fail(link, SMC_LINK_PROTOCOL);
	return true;
}

/* For the first link, or for the link that is being added. */
static bool llc_confirm_link_dispatch(struct smc_llc *llc, struct llc_event *ev,
				      const struct smc_llc_msg *msg)
{
	if (READ_ONCE(llc->fc.link) != ev->link &&
	    (msg->response || ev->link->num == READ_ONCE(llc->add.num)))
		return smc_add_link_take_msg(llc, ev, msg);
	llc_confirm_link_receive(llc, ev->link, msg);
	return false;
}

/* Client: the server offers a link. Server: the client requests a link. */
static bool llc_add_link_dispatch(struct smc_llc *llc, struct llc_event *ev)
{
	if (llc->lgr->role == SMC_CLIENT)
		return !llc_add_link_check_early(llc, ev->link) &&
		       smc_add_link_client_begin(llc, ev);
	smc_recovery_peer_request(llc, NULL);
	return false;
}

/* Act on @ev, whose turn it is. Return true if @ev was handed over to another owner. */
static bool llc_event_dispatch(struct smc_llc *llc, struct llc_event *ev,
			       const struct smc_llc_msg *msg, enum smc_llc_input input)
{
	switch (input) {
	case SMC_LLC_IN_CONFIRM_LINK:
	case SMC_LLC_IN_CONFIRM_LINK_RSP:
		return llc_confirm_link_dispatch(llc, ev, msg);
	case SMC_LLC_IN_ADD_LINK:
		return llc_add_link_dispatch(llc, ev);
	case SMC_LLC_IN_ADD_LINK_RSP:
	case SMC_LLC_IN_ADD_LINK_CONT:
	case SMC_LLC_IN_ADD_LINK_CONT_RSP:
		return smc_add_link_take_msg(llc, ev, msg);
	case SMC_LLC_IN_REQ_ADD_LINK:
		smc_recovery_peer_request(llc, ev->link);
		break;
	case SMC_LLC_IN_REQ_ADD_LINK_RSP:
		smc_recovery_refuse_wish(llc);
		break;
	case SMC_LLC_IN_DELETE_LINK:
	case SMC_LLC_IN_DELETE_LINK_NEW:
		smc_delete_link_receive(llc, ev->link, msg);
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
	default:
		/* responses: only their arrival counts, or none is expected */
		/* TEST LINK: llc_msg_receive() has answered it */
		break;
	}
	return false;
}

/* ---- verdicts ---- */

/* Ask proto/llc_flow, and take the turn or defer @ev accordingly. */
static enum smc_llc_verdict llc_event_decide(struct smc_llc *llc, struct llc_event *ev,
					     enum smc_llc_input input)
{
	enum smc_llc_verdict v;

	spin_lock_bh(&llc->lock);
	v = llc_verdict(llc, input);
	if (v == SMC_LLC_RUN || v == SMC_LLC_PREEMPT) {
		WRITE_ONCE(llc->running, smc_llc_flow_exchange(input));
	} else if (v == SMC_LLC_QUEUE) {
		list_add_tail(&ev->entry, &llc->deferred);
		llc->nqueued++;	/* the limit applies to both lists */
	}
	spin_unlock_bh(&llc->lock);
	return v;
}

/* @ev has the turn. The ADD LINK exchange of a client keeps it, other messages give it back. */
static bool llc_event_run(struct smc_llc *llc, struct llc_event *ev,
			  const struct smc_llc_msg *msg, enum smc_llc_input input)
{
	bool kept = llc_event_dispatch(llc, ev, msg, input);

	if (kept && input == SMC_LLC_IN_ADD_LINK)
		return true;
	spin_lock_bh(&llc->lock);
	llc_turn_end(llc);
	spin_unlock_bh(&llc->lock);
	return kept;
}

static void llc_event_violate(struct smc_lgr *lgr, enum smc_llc_input input)
{
	smc_stats_inc(lgr->net, SMC_STAT_RX_LLC_BAD);
	smc_log_write(lgr->net, "group %08x: unexpected %s\n", lgr->id, smc_llc_input_str(input));
	smc_lgr_terminate(lgr, SMC_LINK_PROTOCOL);
}

/* Process a received message. Return true if @ev was handed over to another owner. */
static bool llc_event_process(struct smc_llc *llc, struct llc_event *ev)
{
	struct smc_lgr *lgr = llc->lgr;
	enum smc_llc_input input;
	struct smc_llc_msg msg;

	if (smc_llc_msg_parse(ev->buf, ev->len, &msg) || msg.version != lgr->peer.version) {
		/* includes unknown types: real peers drop them, too, optional or not */
		smc_stats_inc(lgr->net, SMC_STAT_RX_LLC_BAD);
		return false;
	}
	input = llc_msg_classify(llc, &msg);
	if (input == SMC_LLC_IN_DELETE_LINK && smc_delete_link_take_loss(llc, &msg.delete_link))
		return false;
	switch (llc_event_decide(llc, ev, input)) {
	case SMC_LLC_RUN:
	case SMC_LLC_PREEMPT:
		return llc_event_run(llc, ev, &msg, input);
	case SMC_LLC_JOIN:
	case SMC_LLC_PASS:
		return llc_event_dispatch(llc, ev, &msg, input);
	case SMC_LLC_QUEUE:
		return true;
	case SMC_LLC_REFUSE:
		smc_rkey_refuse(llc, ev->link, &msg);
		break;
	case SMC_LLC_TERMINATE:
		smc_lgr_terminate(lgr, SMC_LINK_PEER_DELETED);
		break;
	case SMC_LLC_VIOLATION:
		llc_event_violate(lgr, input);
		break;
	case SMC_LLC_DROP:
	case SMC_LLC_VERDICTS:
		break;
	}
	return false;
}

/* ---- queue ---- */

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

/* Queue a received message. A peer that floods the queue loses the group. */
static void llc_msg_queue(struct smc_llc *llc, struct smc_link *link, const u8 *buf, u32 len)
{
	struct llc_event *ev = NULL;
	bool flood = false;

	if (len && len <= SMC_LLC_V2_MAX_LEN)
		ev = smc_fault_null(LLC_EVENT, kmalloc(struct_size(ev, buf, len),
						       GFP_ATOMIC | __GFP_NOWARN));
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
		queue_work(llc->lgr->wq, &llc->work);
		ev = NULL;
	}
	spin_unlock(&llc->lock);
	if (ev)
		llc_event_free(ev);
	if (flood)
		smc_lgr_terminate(llc->lgr, SMC_LINK_PROTOCOL);
}

/*
 * A message has arrived; softirq. TEST LINK is answered here, whatever exchange has the turn
 * (SMC_LLC_PASS); the order with other messages does not matter. CAPABILITIES takes no turn either.
 */
static void llc_msg_receive(struct smc_link *link, const u8 *buf, u32 len)
{
	struct smc_llc *llc = llc_from_link(link);
	struct smc_lgr *lgr = link->lgr;
	struct smc_llc_msg msg;
	int rc = smc_llc_msg_parse(buf, len, &msg);

	if (rc == -ENOMSG) {
		/* UPGRADE, or an optional message of a later version */
		smc_upgrade_receive(llc, link, buf, len);
		return;
	}
	smc_stats_inc(lgr->net, SMC_STAT_RX_LLC);
	if (!rc) {
		smc_stats_add_msg(lgr->net, SMC_MSGS_LLC_RX, smc_llc_type_to_place(msg.type));
		trace_smc_llc_rx(link->uid, msg.type, msg.response);
		if (msg.type == SMC_LLC_TEST_LINK && !msg.response &&
		    msg.version == lgr->peer.version) {
			smc_test_link_receive(llc, link, &msg);
			return;
		}
		if (msg.type == SMC_LLC_CAPS) {
			smc_llc_take_caps(lgr, &msg.caps);
			return;
		}
	}
	llc_msg_queue(llc, link, buf, len);
}

/* ---- recovery ---- */

/* Try to add a link, in an exchange that @link carries. */
static void llc_recovery_try(struct smc_llc *llc, struct smc_link *link, bool any_port)
{
	const bool server = llc->lgr->role == SMC_SERVER;

	if (smc_recovery_has_wish(llc) && server)
		smc_add_link_server_offer_wish(llc, link);
	else if (smc_recovery_has_wish(llc))
		smc_add_link_client_request_wish(llc, link);
	else if (server)
		smc_add_link_server_offer(llc, link, any_port);
	else if (llc->lgr->peer.max_links > 1 && !smc_recovery_is_capped(llc))
		smc_add_link_client_request(llc, link);
}

/* Delete links that are scheduled for that, then add a link if there is a reason to try. */
static void llc_recovery_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(to_delayed_work(work), struct smc_llc, recovery_work);
	struct smc_lgr *lgr = llc->lgr;
	struct smc_link *link;
	bool any_port, ports;

	if (!smc_recovery_begin(llc, &any_port, &ports))
		return;
	smc_recovery_expire_wish(llc);
	link = lgr->role == SMC_SERVER ? smc_topology_find_redundant(lgr) : NULL;
	if (link) {
		smc_delete_link_schedule(llc, link, SMC_LLC_DEL_ASYMMETRIC, LLC_DELETE_UNORDERED);
		smc_link_put(link);
	}
	if (lgr->role == SMC_CLIENT)
		smc_delete_link_send_requests(llc);
	if (!smc_delete_link_run_scheduled(llc))
		return;
	if (!any_port && !ports && !smc_recovery_has_requests(llc) && !smc_recovery_has_wish(llc))
		return;
	link = smc_lgr_pick_link(lgr);
	if (!link)
		return;
	llc_recovery_try(llc, link, any_port);
	smc_link_put(link);
}

/* ---- events of the group ---- */

/**
 * smc_llc_create() - set up the LLC state of a new group
 * @lgr: group from smc_lgr_alloc(); frees the state when it is released
 *
 * Process context.
 *
 * Return: 0 or -ENOMEM.
 */
int smc_llc_create(struct smc_lgr *lgr)
{
	struct smc_llc *llc;

	llc = smc_fault_null(LGR_LLC, kzalloc(sizeof(*llc), GFP_KERNEL));
	if (!llc)
		return -ENOMEM;
	llc->lgr = lgr;
	spin_lock_init(&llc->lock);
	WRITE_ONCE(llc->running, SMC_LLC_X_IDLE);
	llc->suspect_checked = jiffies;
	INIT_LIST_HEAD(&llc->queue);
	INIT_LIST_HEAD(&llc->deferred);
	INIT_LIST_HEAD(&llc->add.inbox);
	init_waitqueue_head(&llc->wait);
	INIT_WORK(&llc->work, llc_queue_work);
	INIT_WORK(&llc->add_work,
		  lgr->role == SMC_SERVER ? smc_add_link_server_work : smc_add_link_client_work);
	INIT_WORK(&llc->lost_work, smc_delete_link_lost_work);
	INIT_DELAYED_WORK(&llc->recovery_work, llc_recovery_work);
	INIT_DELAYED_WORK(&llc->test_work, smc_test_link_work);
	INIT_DELAYED_WORK(&llc->withdraw_work, smc_llc_withdraw_work);
	INIT_DELAYED_WORK(&llc->upgrade_work, smc_upgrade_work);
	smc_upgrade_init_state(&llc->upgrade);
	lgr->llc = llc;
	return 0;
}

static void llc_lgr_link_lost(struct smc_lgr *lgr, struct smc_link *link)
{
	struct smc_llc *llc = lgr->llc;
	bool adding;

	wake_up_all(&llc->wait);
	smc_upgrade_link_lost(llc);
	spin_lock_bh(&llc->lock);
	adding = llc->add.num == link->num;
	spin_unlock_bh(&llc->lock);
	/* add_work reports the new link; both hosts know of a link that was being deleted */
	if (link->num && !adding && atomic_read(&link->reason) != READ_ONCE(link->removal_reason))
		smc_delete_link_report_lost(llc, link);
	smc_test_link_link_lost(lgr, link);
}

/* Send the last message to the peer, if a link may still carry it. */
static void llc_lgr_announce_end(struct smc_lgr *lgr)
{
	switch (lgr->reason) {
	case SMC_LINK_PEER_DELETED:
		/* a client that requests the end of the group expects the server's DELETE LINK */
		if (lgr->role == SMC_SERVER)
			smc_llc_send_delete_all(lgr, SMC_LLC_DEL_PROGRAM, true);
		break;
	case SMC_LINK_IDLE:
	case SMC_LINK_NET_EXIT:
		smc_llc_send_delete_all(lgr, SMC_LLC_DEL_PROGRAM, true);
		break;
	case SMC_LINK_ADMIN:
		smc_llc_send_delete_all(lgr, SMC_LLC_DEL_OPERATOR, true);
		break;
	case SMC_LINK_PROTOCOL:
	case SMC_LINK_OUT_OF_SYNC:
		smc_llc_send_delete_all(lgr, SMC_LLC_DEL_PROTOCOL, false);
		break;
	case SMC_LINK_SETUP_FAILED:
		smc_llc_send_delete_all(lgr, SMC_LLC_DEL_LOST_PATH, false);
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
		break;		/* no message gets through */
	}
}

/* Messages that llc_msg_receive() gets from now on are dropped at once. */
static void llc_lgr_terminated(struct smc_lgr *lgr)
{
	struct smc_llc *llc = lgr->llc;

	spin_lock_bh(&llc->lock);
	WRITE_ONCE(llc->dead, true);
	llc_fc_set(llc, SMC_LLC_FC_BROKEN);
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
	/* smc_llc.work and recovery_work start add_work */
	cancel_work_sync(&llc->work);
	cancel_work_sync(&llc->lost_work);
	smc_llc_timer_stop(llc);
	if (cancel_work_sync(&llc->add_work)) {
		/* add_work did not run: free what it would have freed */
		smc_link_put(llc->add.first);
		if (llc->add.request)
			llc_event_free(llc->add.request);
	}
	llc_lgr_announce_end(lgr);
	smc_test_link_lgr_ended(lgr);

	smc_upgrade_end_all(llc);
	llc_events_free(&llc->queue);
	llc_events_free(&llc->deferred);
	llc_events_free(&llc->add.inbox);
}

/**
 * smc_llc_ports_changed() - ports or GIDs of this host have changed
 * @lgr: group that may add links now
 *
 * Context: Process, any lock but those of @lgr; the registry may be locked.
 */
void smc_llc_ports_changed(struct smc_lgr *lgr)
{
	smc_recovery_ports_changed(lgr->llc);
}

static void llc_lgr_released(struct smc_lgr *lgr)
{
	kfree(lgr->llc);
	lgr->llc = NULL;
}

const struct smc_lgr_ctl_events smc_llc_events = {
	.message = llc_msg_receive,
	.slots_free = smc_test_link_send_answer,
	.link_lost = llc_lgr_link_lost,
	.ports_changed = smc_llc_ports_changed,
	.terminated = llc_lgr_terminated,
	.released = llc_lgr_released,
};
