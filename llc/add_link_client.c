// SPDX-License-Identifier: GPL-2.0-only
/*
 * ADD LINK exchange of a client: requests a link from the server, accepts or rejects the link
 * that the server offers (RFC 7609 sections 3.5.1.6, 3.5.5.1.1, 3.5.5.1.2 and C.8). Counterpart:
 * add_link_server.c.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/err.h>
#include <linux/jiffies.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/path.h>
#include "internal.h"

/* Send REQUEST ADD LINK, version 1: ADD LINK, for the port of @path, which is released. */
static void add_link_client_send_request(struct smc_llc *llc, struct smc_link *first,
					 struct smc_path *path)
{
	struct smc_llc_msg msg;
	u8 gids[SMC_GID_LEN];

	smc_llc_send_prepare(llc, &msg, SMC_LLC_ADD_LINK, false);
	if (msg.version > 1) {
		msg.type = SMC_LLC_REQ_ADD_LINK;
		smc_llc_list_put_gid(gids, 0, path->gid.gid.raw);
		msg.req_add_link.gids.raw = gids;
		msg.req_add_link.gids.count = 1;
	} else {
		memcpy(msg.add_link.gid, path->gid.gid.raw, sizeof(msg.add_link.gid));
		memcpy(msg.add_link.mac, path->gid.mac, sizeof(msg.add_link.mac));
	}
	smc_path_put(path);
	smc_llc_send_msg(first, &msg);
}

/**
 * smc_add_link_client_request() - send the server a request for a link
 * @llc: LLC state
 * @first: link that carries the request
 *
 * REQUEST ADD LINK, version 1: ADD LINK; names the best eligible port of this host. Nothing is
 * sent if there is no eligible port. While a lost link is to be recovered, the request is
 * repeated later. Recovery work; see smc_llc_send_msg().
 */
void smc_add_link_client_request(struct smc_llc *llc, struct smc_link *first)
{
	struct llc_recovery *rec = &llc->recovery;
	struct smc_path path;
	bool retry, ordered;

	retry = rec->retry;
	spin_lock_bh(&llc->lock);
	smc_recovery_note_attempt(llc);
	rec->any_port = false;
	rec->ports = false;
	ordered = rec->ordered;
	rec->ordered = false;
	spin_unlock_bh(&llc->lock);
	if (!smc_add_link_find_path(llc, first, ordered, NULL, &path))
		return;
	add_link_client_send_request(llc, first, &path);
	if (retry)
		smc_recovery_retry_later(llc);
}

/**
 * smc_add_link_client_request_wish() - send a request for the port that the operator has named
 * @llc: LLC state
 * @first: link that carries the request
 *
 * From now on the server's offers have to fit the order, until it is fulfilled or too old. Recovery
 * work; see smc_llc_send_msg().
 */
void smc_add_link_client_request_wish(struct smc_llc *llc, struct smc_link *first)
{
	struct smc_link_wish wish;
	struct smc_path path;

	smc_recovery_get_wish(llc, &wish);
	/* else any port would do */
	if (!smc_link_wish_is_set(&wish))
		return;
	if (smc_add_link_find_path(llc, first, true, &wish, &path))
		add_link_client_send_request(llc, first, &path);
	else
		smc_recovery_drop_wish(llc, &wish, LLC_WISH_NO_PORT);
}

/**
 * smc_add_link_client_begin() - start the exchange: the server offers a link
 * @llc: LLC state
 * @ev: the server's ADD LINK
 *
 * Called by smc_llc.work, which never waits for the server.
 *
 * Return: true if the exchange owns @ev and the turn now.
 */
bool smc_add_link_client_begin(struct smc_llc *llc, struct llc_event *ev)
{
	bool begun = false;

	spin_lock_bh(&llc->lock);
	/* the connection of the first contact need not wait for the link */
	if (llc->fc.link == ev->link)
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
	/* drop @ev if an exchange runs already: the server repeats the offer */
	if (!llc->add.active && !llc->dead) {
		llc->add.request = ev;
		smc_recovery_client_copy_wish(llc);
		smc_add_link_begin(llc, ev->link);
		begun = true;
	}
	spin_unlock_bh(&llc->lock);
	return begun;
}

/* ---- our end of the link ---- */

/**
 * smc_add_link_client_note_failure() - this host could not set up a link between these RNICs
 * @llc: LLC state
 * @dev: our device
 * @port: our port
 * @gid: GID of the server's RNIC
 *
 * Among ports of the same worth, also before one in the subnet of this RNIC, a client chooses
 * another one from now on: where not every RNIC reaches every other one, a choice at random would
 * find a pair that works late, because the pause after each failure is twice the one before.
 * Whatever the reason was, nothing is lost: a port is still used if it is the only one, or if the
 * others have failed, too. add_work.
 */
void smc_add_link_client_note_failure(struct smc_llc *llc, const struct smc_ib_device *dev,
				      u8 port, const u8 *gid)
{
	struct llc_failed_ends *ends;

	ends = &llc->failed_ends[llc->nfailed_ends++ % LLC_FAILED_ENDS];
	ends->dev = dev;
	ends->port = port;
	memcpy(ends->gid, gid, sizeof(ends->gid));
}

static bool add_link_client_has_failed(const struct smc_llc *llc, const struct smc_ib_device *dev,
				       u8 port)
{
	const struct llc_failed_ends *ends;

	for (ends = llc->failed_ends; ends < llc->failed_ends + LLC_FAILED_ENDS; ends++)
		if (ends->dev == dev && ends->port == port &&
		    !memcmp(ends->gid, llc->add.end.gid, sizeof(ends->gid)))
			return true;
	return false;
}

/**
 * smc_add_link_client_rate_port() - rate a port for a link to the server's end
 * @dev: local device
 * @port: port of @dev
 * @arg: LLC state; its @add.end is the server's end
 *
 * add_work.
 *
 * Return: rating, higher is better; 0: no link should be made.
 */
unsigned int smc_add_link_client_rate_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	const struct smc_llc *llc = arg;
	unsigned int worth;

	if (!smc_link_wish_fits_port(&llc->add.wish, dev, port))
		return 0;
	worth = smc_topology_rate_port(llc->lgr, dev, port, &llc->add.end);
	return worth ? 2 * worth - add_link_client_has_failed(llc, dev, port) : 0;
}

/* Check the offer and choose our end. Return 0 or the reason to reject (SMC_LLC_REJ_*). */
static u8 add_link_client_check(struct smc_llc *llc, const struct smc_llc_add_link *al,
				struct smc_path *path)
{
	const struct smc_link_wish *wish = &llc->add.wish;
	struct smc_lgr *lgr = llc->lgr;
	struct smc_path_request want = {
		.net = lgr->net,
		.existing = &llc->add.first->path,
		.tcp_peer = &lgr->peer.tcp_addr,
		.peer_gid = (const union ib_gid *)al->gid,
		.score = smc_add_link_client_rate_port,
		.arg = llc,
	};
	u8 flaw;

	flaw = smc_llc_add_link_check(al);
	if (flaw)
		return flaw;
	if (lgr->peer.max_links < 2)
		return SMC_LLC_REJ_NO_ALT_PATH;
	if (!smc_link_wish_fits_peer(wish, al->gid)) {
		smc_link_wish_report(wish, llc, "the server offers another RNIC");
		return SMC_LLC_REJ_NO_ALT_PATH;
	}
	llc->add.end.gid = al->gid;
	llc->add.end.mac = al->mac;
	if (!smc_path_find_further(&want, path))
		return 0;
	smc_link_wish_report(wish, llc, "the port does not fit the RNIC that the server offers");
	return SMC_LLC_REJ_NO_ALT_PATH;
}

/* Reject the offer: return the request with a reason. */
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

/* The server uses the link only after our response: send that before the link is committed. */
static int add_link_client_confirm(struct smc_llc *llc, struct smc_link *link)
{
	int rc = smc_add_link_await_confirm(llc, link);

	return rc ?: smc_llc_send_confirm_link(link, true);
}

/* Create and connect the link, before the response. An error is reported by a rejection. */
static int add_link_client_prepare(struct smc_llc *llc, const struct smc_llc_add_link *al,
				   struct smc_path *path, struct smc_link **link)
{
	int rc;

	*link = smc_lgr_add_link(llc->lgr, path, al->link_num);
	if (IS_ERR(*link)) {
		rc = PTR_ERR(*link);
		*link = NULL;
		return rc;
	}
	spin_lock_bh(&llc->lock);
	WRITE_ONCE(llc->add.num, al->link_num);
	spin_unlock_bh(&llc->lock);
	rc = smc_add_link_connect(*link, al);
	if (!rc)
		rc = smc_add_link_store_rtokens(llc->lgr, llc->add.first, *link, &al->rtokens);
	return rc;
}

/* Send the response and make the link usable. */
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
 * smc_add_link_client_work() - run the ADD LINK exchange of a client
 * @work: smc_llc.add_work
 *
 * If the exchange fails after the response, DELETE LINK is sent, because the server may
 * consider the link usable by then.
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

	/* cannot fail: smc_llc.work has parsed it */
	if (smc_llc_msg_parse(request->buf, request->len, &req))
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
		smc_llc_send_delete_link(llc->add.first, link->num, SMC_LLC_DEL_LOST_PATH);
	/* not what the server gives up, which may have been ordered to have another link */
	if (link && reason)
		smc_add_link_client_note_failure(llc, link->path.dev, link->path.port,
						 req.add_link.gid);
	if (link && rc)
		smc_lgr_del_link(link, SMC_LINK_SETUP_FAILED);
	if (link)
		smc_link_put(link);
out:
	llc->add.request = NULL;
	llc_event_free(request);
	smc_add_link_end(llc);
}
