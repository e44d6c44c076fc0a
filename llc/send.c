// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends LLC messages: waits for a send slot, builds the message, posts it. For the last message
 * before a queue pair is destroyed the completion is awaited, too.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/slab.h>
#include <smc/base/fault.h>
#include <smc/base/stats.h>
#include <smc/base/trace.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/wr.h>
#include "internal.h"

#define SLOT_TIME	(10 * HZ)	/* for a free send slot */
#define POLL_MS		20		/* between polls for a free send slot */
#define LINKS_OFFERED	2		/* links per group, announced without negotiation */

/**
 * struct llc_sent - completion of a message
 * @ref: one reference of the sender, one of the posted work request
 * @done: the work request has completed
 * @status: how; before @done
 */
struct llc_sent {
	struct kref ref;
	struct completion done;
	enum ib_wc_status status;
};

static void llc_sent_free(struct kref *ref)
{
	kfree(container_of(ref, struct llc_sent, ref));
}

static void llc_sent_complete(struct smc_wr_slot *slot, enum ib_wc_status status)
{
	struct llc_sent *sent = slot->owner;

	sent->status = status;
	complete(&sent->done);
	kref_put(&sent->ref, llc_sent_free);
}

/**
 * smc_llc_send_prepare() - initialize a message of the group's version
 * @llc: LLC state
 * @msg: result
 * @type: enum smc_llc_type
 * @response: response, not request
 */
void smc_llc_send_prepare(const struct smc_llc *llc, struct smc_llc_msg *msg, u8 type,
			  bool response)
{
	memset(msg, 0, sizeof(*msg));
	msg->type = type;
	msg->version = llc->lgr->peer.version;
	msg->response = response;
}

/**
 * smc_llc_slot_try() - take a send slot if one is free
 * @link: link
 * @msg: message for which it is
 *
 * Any context but hard interrupt.
 *
 * Return: the slot, for smc_llc_slot_post() or smc_wr_slot_put(). NULL: none is free, then the
 * slots_free upcall follows; or the link is broken.
 */
struct smc_wr_slot *smc_llc_slot_try(struct smc_link *link, const struct smc_llc_msg *msg)
{
	int len = smc_llc_msg_len(msg);

	return len < 0 ? NULL : smc_wr_slot_get_llc(link->qp, len);
}

/* Wait for a send slot, at most @limit jiffies. Return NULL on timeout or if the link is broken. */
static struct smc_wr_slot *llc_slot_get(struct smc_link *link, u32 len, unsigned long limit)
{
	struct smc_llc *llc = llc_from_link(link);
	unsigned long start = jiffies;
	struct smc_wr_slot *slot;

	for (;;) {
		if (llc_link_broken(link))
			return NULL;
		slot = smc_wr_slot_get_llc(link->qp, len);
		if (slot)
			return slot;
		/* the termination of the group waits for the caller */
		if (READ_ONCE(llc->dead))
			limit = min_t(unsigned long, limit, LLC_SENT_TIME);
		if (time_after(jiffies, start + limit))
			return NULL;
		msleep(POLL_MS);
	}
}

/**
 * smc_llc_slot_post() - send a message with a slot
 * @link: link
 * @slot: slot of @link, with done and owner set; given up, on error too
 * @msg: message
 *
 * Never waits. Any context but hard interrupt, no lock held.
 *
 * Return: 0; -ECONNABORTED: the link is broken; an error of smc_llc_msg_build().
 */
int smc_llc_slot_post(struct smc_link *link, struct smc_wr_slot *slot,
		      const struct smc_llc_msg *msg)
{
	struct net *net = link->lgr->net;
	int len;

	len = smc_llc_msg_build(msg, slot->buf, slot->big ? SMC_WR_LLC_MAX : SMC_WR_MSG_LEN);
	if (len < 0) {
		smc_wr_slot_put(slot);
		return len;
	}
	trace_smc_llc_tx(link->uid, msg->type, msg->response);
	if (smc_wr_post(slot, len, NULL, 0, true)) {
		slot->done = NULL;
		smc_wr_slot_put(slot);
		return -ECONNABORTED;
	}
	smc_stats_inc(net, SMC_STAT_TX_LLC);
	smc_stats_add_msg(net, SMC_MSGS_LLC_TX, smc_llc_type_to_place(msg->type));
	return 0;
}

/**
 * smc_llc_send_timed() - send a message with given deadlines
 * @link: link
 * @msg: message
 * @slot_time: jiffies to wait for a send slot
 * @sent_time: jiffies to wait for the completion, 0 = do not wait; for messages after which
 *	the queue pair is destroyed
 *
 * Process context, no lock held. A link without a free send slot in time fails.
 *
 * Return: see smc_llc_send_msg(); -ETIMEDOUT: the completion did not come in time.
 */
int smc_llc_send_timed(struct smc_link *link, const struct smc_llc_msg *msg,
		       unsigned long slot_time, unsigned long sent_time)
{
	struct llc_sent *sent = NULL;
	struct smc_wr_slot *slot;
	int len, rc;

	len = smc_llc_msg_len(msg);
	if (len < 0)
		return len;
	slot = llc_slot_get(link, len, slot_time);
	if (!slot) {
		smc_link_fail(link, SMC_LINK_QP_ERROR);
		return -ECONNABORTED;
	}
	if (sent_time)
		sent = smc_fault_null(LLC_SENT, kmalloc(sizeof(*sent), GFP_KERNEL));
	if (sent) {
		kref_init(&sent->ref);
		kref_get(&sent->ref);
		init_completion(&sent->done);
		slot->done = llc_sent_complete;
		slot->owner = sent;
	}
	rc = smc_llc_slot_post(link, slot, msg);
	if (rc) {
		kfree(sent);
		return rc;
	}
	if (sent) {
		if (!wait_for_completion_timeout(&sent->done, sent_time))
			rc = -ETIMEDOUT;
		else if (sent->status != IB_WC_SUCCESS)
			rc = -ECONNABORTED;
		kref_put(&sent->ref, llc_sent_free);
	}
	return rc;
}

/**
 * smc_llc_send_msg() - send a message
 * @link: link
 * @msg: message
 *
 * Process context, no lock held. Waits up to 10 s for a send slot; without one the link fails.
 *
 * Return: 0; -ECONNABORTED: the link is broken; an error of smc_llc_msg_len() or
 * smc_llc_msg_build().
 */
int smc_llc_send_msg(struct smc_link *link, const struct smc_llc_msg *msg)
{
	return smc_llc_send_timed(link, msg, SLOT_TIME, 0);
}

/**
 * smc_llc_send_confirm_link() - send CONFIRM LINK for a link over that link
 * @link: link
 * @response: response, not request
 *
 * Process context, see smc_llc_send_msg(); RFC 7609 section A.3.1.
 *
 * Return: see smc_llc_send_msg().
 */
int smc_llc_send_confirm_link(struct smc_link *link, bool response)
{
	struct smc_llc *llc = llc_from_link(link);
	const struct smc_peer *peer = &llc->lgr->peer;
	struct smc_llc_confirm_link *cl;
	struct smc_llc_msg msg;

	smc_llc_send_prepare(llc, &msg, SMC_LLC_CONFIRM_LINK, response);
	cl = &msg.confirm_link;
	cl->no_eyec = true;
	memcpy(cl->mac, link->path.gid.mac, sizeof(cl->mac));
	memcpy(cl->gid, link->path.gid.gid.raw, sizeof(cl->gid));
	cl->qpn = smc_qp_get_qpn(link->qp);
	cl->link_num = link->num;
	smc_wire_put_be32(cl->link_uid, link->uid);
	cl->max_links = peer->max_links ? peer->max_links : LINKS_OFFERED;
	/* the field exists only in release 1 */
	cl->max_conns = peer->version > 1 && peer->release ? peer->max_conns : 0;
	return smc_llc_send_msg(link, &msg);
}

/* An error on the link is no orderly termination. */
static bool llc_deletion_is_orderly(u32 reason)
{
	return reason != SMC_LLC_DEL_LOST_PATH && reason != SMC_LLC_DEL_PROTOCOL;
}

/**
 * smc_llc_send_delete_link() - send DELETE LINK for one link
 * @link: link that carries the message
 * @num: number of the link to delete
 * @reason: enum smc_llc_del_reason
 *
 * Best effort. Process context, see smc_llc_send_msg(); RFC 7609 section A.3.4.
 */
void smc_llc_send_delete_link(struct smc_link *link, u8 num, u32 reason)
{
	struct smc_llc_msg msg;

	smc_llc_send_prepare(llc_from_link(link), &msg, SMC_LLC_DELETE_LINK, false);
	msg.delete_link.link_num = num;
	msg.delete_link.reason = reason;
	msg.delete_link.orderly = llc_deletion_is_orderly(reason);
	smc_llc_send_msg(link, &msg);
}

/**
 * smc_llc_send_delete_response() - respond to DELETE LINK for one link
 * @link: link that received the request
 * @req: request; the response repeats it
 * @reason: SMC_LLC_DEL_NO_LINK, 0 in a positive response
 *
 * Waits for the completion. Best effort. Process context, see smc_llc_send_msg(); RFC 7609
 * section A.3.4.
 */
void smc_llc_send_delete_response(struct smc_link *link, const struct smc_llc_delete_link *req,
				  u32 reason)
{
	struct smc_llc_msg msg;

	smc_llc_send_prepare(llc_from_link(link), &msg, SMC_LLC_DELETE_LINK, true);
	msg.delete_link.link_num = req->link_num;
	msg.delete_link.reason = reason;
	msg.delete_link.orderly = req->orderly;
	/* the link may be shut down right after it */
	smc_llc_send_timed(link, &msg, SLOT_TIME, LLC_SENT_TIME);
}

/**
 * smc_llc_send_delete_all() - send DELETE LINK for all links: the group ends
 * @lgr: group
 * @reason: enum smc_llc_del_reason
 * @orderly: the group does not end because of an error
 *
 * Sends over one link after the other until the peer's RNIC has acknowledged the message (RFC 7609
 * section C.7.1). No response is expected. Waits up to 0.5 s for each completion, because the queue
 * pairs are destroyed next. Process context.
 */
void smc_llc_send_delete_all(struct smc_lgr *lgr, u32 reason, bool orderly)
{
	struct smc_llc_msg msg;
	struct smc_link *link;

	smc_llc_send_prepare(lgr->llc, &msg, SMC_LLC_DELETE_LINK, false);
	msg.delete_link.all = true;
	msg.delete_link.orderly = orderly;
	msg.delete_link.reason = reason;
	smc_lgr_for_each_link(lgr, link)
		if (smc_link_usable(link) &&
		    !smc_llc_send_timed(link, &msg, LLC_SENT_TIME, LLC_SENT_TIME))
			break;
	if (link)
		smc_link_put(link);
}
