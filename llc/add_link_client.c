// SPDX-License-Identifier: GPL-2.0-only
/*
 * Client: accepts a further link that the server offers, or not (RFC 7609 sections
 * 3.5.1.6, 3.5.5.1.1 and C.8).
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/err.h>
#include <linux/jiffies.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/path.h>
#include "internal.h"

/**
 * smc_add_link_client_begin() - the server offers a link
 * @llc: LLC state
 * @ev: its ADD LINK
 *
 * From llc->work, which never waits for the server.
 *
 * Return: true: @ev belongs to the exchange now, and the turn with it.
 */
bool smc_add_link_client_begin(struct smc_llc *llc, struct llc_event *ev)
{
	bool begun = false;

	spin_lock_bh(&llc->lock);
	/* the rest does not concern the connection that made the group */
	if (llc->fc.link == ev->link)
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
	/* one that is under way already: the server asks again */
	if (!llc->add.active && !llc->dead) {
		llc->add.request = ev;
		smc_add_link_begin(llc, ev->link);
		begun = true;
	}
	spin_unlock_bh(&llc->lock);
	return begun;
}

/* What @arg, the server's end, and one of our ports would make. */
static unsigned int add_link_client_rate_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	const struct smc_llc *llc = arg;

	return smc_core_worth(llc->lgr, dev, port, &llc->add.end);
}

/* Our end of the new link, with all that the server said in order. 0 or a reason to refuse. */
static u8 add_link_client_check(struct smc_llc *llc, const struct smc_llc_add_link *al, struct smc_path *path)
{
	struct smc_lgr *lgr = llc->lgr;
	struct smc_pnet_further want = {
		.net = lgr->net,
		.like = &llc->add.first->path,
		.carrier = &lgr->peer.carrier,
		.to = (const union ib_gid *)al->gid,
		.worth = add_link_client_rate_port,
		.arg = llc,
	};
	u8 flaw;

	flaw = smc_llc_offer_flaw(al);
	if (flaw)
		return flaw;
	if (lgr->peer.max_links < 2)
		return SMC_LLC_REJ_NO_ALT_PATH;
	llc->add.end.gid = al->gid;
	llc->add.end.mac = al->mac;
	return smc_pnet_find_further(&want, path) ? SMC_LLC_REJ_NO_ALT_PATH : 0;
}

/* The request comes back with a reason. */
static void add_link_client_reject(struct smc_llc *llc, const struct smc_llc_msg *req, u8 reason)
{
	struct smc_llc_msg msg = *req;

	msg.response = true;
	msg.add_link.rejected = true;
	msg.add_link.reason = reason;
	msg.add_link.has_ext = false;
	memset(&msg.add_link.rtokens, 0, sizeof(msg.add_link.rtokens));
	smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_REJECT);
	smc_llc_send_msg(llc->add.first, &msg);
}

/* CONFIRM LINK over the new link. Its answer goes first: the link is the server's until then. */
static int add_link_client_confirm(struct smc_llc *llc, struct smc_link *link)
{
	int rc = smc_add_link_await_confirm(llc, link);

	return rc ?: smc_llc_send_confirm_link(link, true);
}

/* From the queue pair to the answer: 0, or the server has heard nothing yet. */
static int add_link_client_prepare(struct smc_llc *llc, const struct smc_llc_add_link *al, struct smc_path *path,
		   struct smc_link **link)
{
	int rc;

	*link = smc_core_add_link(llc->lgr, path, al->link_num);
	if (IS_ERR(*link)) {
		rc = PTR_ERR(*link);
		*link = NULL;
		return rc;
	}
	spin_lock_bh(&llc->lock);
	llc->add.num = al->link_num;
	spin_unlock_bh(&llc->lock);
	rc = smc_add_link_connect(*link, al);
	if (!rc)
		rc = smc_add_link_store_rtokens(llc->lgr, llc->add.first, *link, &al->rtokens);
	return rc;
}

/* From the answer to a link that connections may use. */
static int add_link_client_finish(struct smc_llc *llc, struct smc_link *link)
{
	int rc;

	rc = smc_add_link_send(llc, llc->add.first, link);
	if (!rc && llc->lgr->peer.version == 1)
		rc = smc_add_link_exchange_rtokens(llc, llc->add.first, link);
	if (!rc)
		rc = add_link_client_confirm(llc, link);
	if (!rc)
		rc = smc_add_link_commit(llc, link);
	return rc;
}

/**
 * smc_add_link_client_work() - the exchange
 * @work: llc->add_work
 *
 * When it fails after our answer, the server hears that the link will not do: it may have
 * one by then.
 */
void smc_add_link_client_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(work, struct smc_llc, add_work);
	struct llc_event *request = llc->add.request;
	struct smc_link *link = NULL;
	struct smc_llc_msg req;
	struct smc_path path;
	int rc = -ENODEV;
	u8 reason;

	/* it has passed once already */
	if (smc_llc_parse(request->buf, request->len, &req))
		goto out;
	llc->add.until = jiffies + LLC_ADD_TIME;
	reason = add_link_client_check(llc, &req.add_link, &path);
	if (!reason) {
		rc = add_link_client_prepare(llc, &req.add_link, &path, &link);
		reason = rc ? SMC_LLC_REJ_NO_ALT_PATH : 0;
	}
	if (reason)
		add_link_client_reject(llc, &req, reason);
	else
		rc = add_link_client_finish(llc, link);
	if (link)
		smc_add_link_report_result(llc, link, rc);
	if (!reason && rc && !READ_ONCE(llc->dead) && !READ_ONCE(llc->add.aborted))
		smc_llc_send_delete_link(llc->add.first, link->num, SMC_LLC_DEL_LOST_PATH, false);
	if (link && rc)
		smc_core_del_link(link, SMC_LINK_SETUP_FAILED);
	if (link)
		smc_link_put(link);
out:
	llc->add.request = NULL;
	llc_event_free(request);
	smc_add_link_end(llc);
}
