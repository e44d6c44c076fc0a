// SPDX-License-Identifier: GPL-2.0-only
/*
 * ADD LINK exchange of a server: offers the client a further link (RFC 7609 sections 3.5.1.6 and
 * 3.5.5.1.1). Counterpart: add_link_client.c.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/err.h>
#include <linux/jiffies.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/path.h>
#include "internal.h"

#define REPEAT_TIME	(3 * HZ)	/* before an unanswered ADD LINK is repeated */

/*
 * Version 2: respond to REQUEST ADD LINK that no link will be offered, over the link that carried
 * the request (RFC 7609 section 3.3). If that link is gone, over @other: the CONFIRM RKEY of an
 * in-tree client times out while it waits for the answer.
 */
static void add_link_server_refuse(struct smc_llc *llc, struct smc_link *other)
{
	u8 nums[SMC_LGR_LINKS];
	struct smc_llc_msg msg;
	struct smc_link *link;
	u32 slot;

	if (!smc_recovery_take_requests(llc, nums))
		return;
	smc_llc_send_prepare(llc, &msg, SMC_LLC_REQ_ADD_LINK, true);
	for (slot = 0; slot < SMC_LGR_LINKS; slot++) {
		if (!nums[slot])
			continue;
		link = smc_lgr_get_link_by_num(llc->lgr, nums[slot]);
		smc_llc_send_msg(link && smc_link_usable(link) ? link : other, &msg);
		if (link)
			smc_link_put(link);
	}
}

/**
 * smc_add_link_server_offer() - offer the client a further link, if one is possible
 * @llc: LLC state
 * @first: link that carries the exchange
 * @any_port: the link may use a port that the group uses already
 *
 * Otherwise refuses the client's REQUEST ADD LINK, if there was one. While another exchange has
 * the turn, the request waits for its answer. Recovery work.
 */
void smc_add_link_server_offer(struct smc_llc *llc, struct smc_link *first, bool any_port)
{
	struct llc_recovery *rec = &llc->recovery;
	bool possible, asked, ports;

	/* take the reasons before looking for a port: one that comes now is another reason */
	spin_lock_bh(&llc->lock);
	smc_recovery_note_attempt(llc);
	asked = rec->any_port;
	ports = rec->ports;
	rec->any_port = false;
	rec->ports = false;
	spin_unlock_bh(&llc->lock);
	possible = llc->lgr->peer.max_links > 1 && !smc_recovery_is_capped(llc) &&
		   smc_add_link_is_possible(llc, first, any_port, NULL);
	if (!possible) {
		add_link_server_refuse(llc, first);
		return;
	}
	spin_lock_bh(&llc->lock);
	/* one critical section: the group must not die between taking the turn and begin */
	if (smc_recovery_take_turn(llc, SMC_LLC_DO_ADD_LINK)) {
		smc_add_link_server_begin(llc, first, 1);
	} else {
		rec->any_port |= asked;
		rec->ports |= ports;
	}
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_add_link_server_offer_wish() - offer the client the link whose ends the operator has named
 * @llc: LLC state
 * @first: link that carries the exchange
 *
 * While another exchange has the turn, the order waits. Recovery work.
 */
void smc_add_link_server_offer_wish(struct smc_llc *llc, struct smc_link *first)
{
	struct smc_link_wish wish;

	smc_recovery_get_wish(llc, &wish);
	if (!smc_add_link_is_possible(llc, first, true, &wish)) {
		smc_recovery_drop_wish(llc, &wish, LLC_WISH_NO_PORT);
		return;
	}
	spin_lock_bh(&llc->lock);
	if (smc_recovery_server_take_wish(llc))
		smc_add_link_server_begin(llc, first, 1);
	spin_unlock_bh(&llc->lock);
}

/**
 * smc_add_link_server_begin() - start the ADD LINK exchange of a server
 * @llc: LLC state; llc->lock held, no ADD LINK exchange runs, the group is not dead
 * @first: link that carries the exchange
 * @tries: maximum number of requests; 2 if the client may have missed the first request
 */
void smc_add_link_server_begin(struct smc_llc *llc, struct smc_link *first, unsigned int tries)
{
	lockdep_assert_held(&llc->lock);
	llc->add.tries = tries;
	smc_add_link_begin(llc, first);
}

/*
 * Return whether a port that the group uses already may be offered. Not to a client that has said
 * in this first contact that it has no second port. Should it get one, it requests a link.
 */
static bool add_link_server_may_share_port(struct smc_llc *llc, const struct smc_link *first)
{
	bool may;

	spin_lock_bh(&llc->lock);
	may = llc->fc.link != first || !llc->lgr->peer.one_port;
	spin_unlock_bh(&llc->lock);
	return may;
}

/*
 * Create the new link. The request contains the QP number, so the QP is created before the client
 * decides. @shared: result: the port is used by another link. Return NULL if there is no port,
 * until ports change, or if this host has failed to create the link, which it tries again (RFC 7609
 * section C.8), except for an order that names the ends.
 */
static struct smc_link *add_link_server_make(struct smc_llc *llc, const struct smc_link *first,
					     bool *shared)
{
	const struct smc_link_wish *wish = &llc->add.wish;
	struct smc_link *link;
	struct smc_path path;

	if (!smc_add_link_find_path(llc, first, add_link_server_may_share_port(llc, first), wish,
				    &path)) {
		smc_link_wish_report(wish, llc, LLC_WISH_NO_PORT);
		return NULL;
	}
	*shared = smc_topology_uses_port(llc->lgr, path.dev, path.port);
	link = smc_lgr_add_link(llc->lgr, &path, 0);
	if (IS_ERR(link)) {
		smc_link_wish_report(wish, llc, "this host cannot create it");
		smc_recovery_attempt_failed(llc);
		return NULL;
	}
	/* assumed until the client has named its end */
	link->direct = first->direct;
	return link;
}

/* Check the client's end of the new link. -EADDRNOTAVAIL: the operator has named another one. */
static int add_link_server_check(struct smc_llc *llc, const struct smc_llc_add_link *al,
				 const struct smc_link *link)
{
	struct smc_peer_rnic end = { .gid = al->gid, .mac = al->mac };

	if (al->link_num != link->num || !al->qpn || !smc_llc_mtu_is_known(al->mtu))
		return -EPROTO;
	if (!smc_link_wish_fits_peer(&llc->add.wish, al->gid))
		return -EADDRNOTAVAIL;
	switch (smc_topology_check_fit(llc->lgr, link->path.dev, link->path.port, &end)) {
	case SMC_LINK_FIT_SYM:
	case SMC_LINK_FIT_ASYM:
		return 0;
	default:
		return -EEXIST;
	}
}

static int add_link_server_confirm(struct smc_llc *llc, struct smc_link *link)
{
	int rc = smc_llc_send_confirm_link(link, false);

	return rc ?: smc_add_link_await_confirm(llc, link);
}

/* The client has accepted the link: set it up. */
static int add_link_server_finish(struct smc_llc *llc, struct smc_link *first,
				  struct smc_link *link, const struct smc_llc_msg *rsp)
{
	int rc;

	rc = add_link_server_check(llc, &rsp->add_link, link);
	if (!rc)
		rc = smc_add_link_connect(link, &rsp->add_link);
	if (rc)
		return rc;
	rc = smc_add_link_store_rtokens(llc->lgr, first, link, &rsp->add_link.rtokens);
	if (!rc && rsp->version == 1)
		rc = smc_add_link_exchange_rtokens(llc, first, link);
	if (!rc)
		rc = add_link_server_confirm(llc, link);
	if (!rc)
		rc = smc_add_link_commit(llc, link);
	return rc;
}

/*
 * The setup has failed after the client accepted the link: delete it at the client. The turn must
 * not end before, since DELETE LINK is an exchange of its own (RFC 7609 section 3.5.5.3).
 */
static void add_link_server_give_up(struct smc_llc *llc, struct smc_link *first,
				    const struct smc_link *link)
{
	struct smc_link *other = first;

	smc_link_get(first);
	if (llc_link_broken(first)) {
		smc_link_put(first);
		other = smc_lgr_pick_other_link(llc->lgr, link);
	}
	if (!other)
		return;
	smc_delete_link_exchange(llc, other, link->num, SMC_LLC_DEL_LOST_PATH);
	smc_link_put(other);
}

static bool add_link_server_must_stop(const struct smc_llc *llc, const struct smc_link *first)
{
	return READ_ONCE(llc->dead) || llc_link_broken(first);
}

/*
 * Native client: do not let the first contact wait for the client to set up its end. With a
 * foreign client, which may have missed the request, the first contact waits for the response.
 */
static void add_link_server_release_fc(struct smc_llc *llc, const struct smc_link *first)
{
	if (!smc_peer_can(&llc->lgr->peer, SMC_CAP_ADD_LINK_KEPT))
		return;
	spin_lock_bh(&llc->lock);
	if (llc->fc.link == first)
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
	spin_unlock_bh(&llc->lock);
}

/* Send ADD LINK. It is the answer to the client's requests so far, too. */
static int add_link_server_send(struct smc_llc *llc, struct smc_link *first, struct smc_link *link)
{
	u8 nums[SMC_LGR_LINKS];
	bool asked = smc_recovery_take_requests(llc, nums);
	int rc = smc_add_link_send(llc, first, link);

	if (rc && asked)
		smc_recovery_return_requests(llc, nums);
	return rc;
}

/*
 * Send ADD LINK and wait for the response. @shared: the port is used by another link. Return NULL
 * if the client rejects the link or does not respond, or the request cannot be sent.
 */
static struct llc_event *add_link_server_request(struct smc_llc *llc, struct smc_link *first,
						 struct smc_link *link, bool shared,
						 struct smc_llc_msg *rsp)
{
	struct llc_event *ev;
	unsigned int i;

	for (i = 0; i < llc->add.tries; i++) {
		if (i)
			wait_event_timeout(llc->wait, add_link_server_must_stop(llc, first),
					   REPEAT_TIME);
		if (add_link_server_must_stop(llc, first) ||
		    add_link_server_send(llc, first, link))
			break;
		llc->add.until = jiffies + LLC_ADD_TIME;
		add_link_server_release_fc(llc, first);
		ev = smc_add_link_wait_msg(llc, first, SMC_LLC_ADD_LINK, LLC_RSP_TIME, rsp);
		if (ev && rsp->add_link.rejected) {
			smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_REJECT);
			smc_link_wish_report(&llc->add.wish, llc, "the client rejects it");
			smc_recovery_link_rejected(llc, link && !shared);
			llc_event_free(ev);
			return NULL;
		}
		if (ev)
			return ev;
	}
	smc_link_wish_report(&llc->add.wish, llc, "there is no answer from the client");
	smc_recovery_attempt_failed(llc);
	return NULL;
}

/**
 * smc_add_link_server_work() - run the ADD LINK exchange of a server
 * @work: smc_llc.add_work
 *
 * If the exchange fails after the client's response, DELETE LINK is sent and answered before the
 * exchange ends, unless the client has given the link up itself.
 */
void smc_add_link_server_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(work, struct smc_llc, add_work);
	struct smc_link *first = llc->add.first;
	struct smc_llc_msg rsp;
	struct llc_event *ev = NULL;
	struct smc_link *link;
	bool shared = false;
	int rc = -ENODEV;

	link = add_link_server_make(llc, first, &shared);
	spin_lock_bh(&llc->lock);
	WRITE_ONCE(llc->add.num, link ? link->num : 0);
	spin_unlock_bh(&llc->lock);

	/* without a link, ADD LINK still is the answer that a client waits for */
	if (link || !smc_link_wish_is_set(&llc->add.wish))
		ev = add_link_server_request(llc, first, link, shared, &rsp);
	if (ev && link)
		rc = add_link_server_finish(llc, first, link, &rsp);
	if (ev) {
		smc_add_link_report_result(llc, link, rc);
		llc_event_free(ev);
	}
	if (ev && link && rc && !READ_ONCE(llc->dead) && !READ_ONCE(llc->add.aborted))
		add_link_server_give_up(llc, first, link);
	if (link && rc)
		smc_lgr_del_link(link, SMC_LINK_SETUP_FAILED);
	if (link)
		smc_link_put(link);
	smc_recovery_answer_later(llc);
	smc_add_link_end(llc);
}
