// SPDX-License-Identifier: GPL-2.0-only
/*
 * Server: offers the client a further link (RFC 7609 sections 3.5.1.6 and 3.5.5.1.1).
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/err.h>
#include <linux/jiffies.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/rdma/path.h>
#include "internal.h"

#define REPEAT_TIME	(3 * HZ)	/* ADD LINK unanswered after a repeated CONFIRM LINK */

/**
 * struct add_link_ports - of our end
 * @lgr: group
 * @any: a port that the group uses already would do
 */
struct add_link_ports {
	struct smc_lgr *lgr;
	bool any;
};

/* What a port is worth whose link would lead to an RNIC of the peer that is not known yet. */
static unsigned int add_link_rate_port(struct smc_ib_device *dev, u8 port, void *arg)
{
	const struct add_link_ports *choice = arg;

	if (!choice->any && smc_core_uses_port(choice->lgr, dev, port))
		return 0;
	return smc_core_worth(choice->lgr, dev, port, NULL);
}

/**
 * smc_add_link_find_path() - our end of a link to an RNIC of the peer that is not known yet
 * @llc: LLC state
 * @first: a link of the group
 * @any: a port that the group uses already will do, if the peer has a second RNIC
 * @path: result
 *
 * Return: true if there is one; @path is then the caller's.
 */
bool smc_add_link_find_path(struct smc_llc *llc, const struct smc_link *first, bool any,
			struct smc_path *path)
{
	struct smc_lgr *lgr = llc->lgr;
	struct add_link_ports choice = { .lgr = lgr, .any = any };
	struct smc_pnet_further want = {
		.net = lgr->net,
		.like = &first->path,
		.carrier = &lgr->peer.carrier,
		.worth = add_link_rate_port,
		.arg = &choice,
	};

	if (!smc_pnet_find_further(&want, path))
		return true;
	if (!add_link_rate_port(first->path.dev, first->path.port, &choice) ||
	    !smc_ib_device_get_unless_zero(first->path.dev))
		return false;
	*path = first->path;
	return true;
}

/**
 * smc_add_link_is_possible() - is there an end for a further link
 * @llc: LLC state
 * @first: a link of the group
 * @any: as in smc_add_link_find_path()
 *
 * Return: true if so.
 */
bool smc_add_link_is_possible(struct smc_llc *llc, const struct smc_link *first, bool any)
{
	struct smc_path path;
	bool found = smc_add_link_find_path(llc, first, any, &path);

	if (found)
		smc_pnet_path_put(&path);
	return found;
}

/**
 * smc_add_link_server_begin() - start the exchange
 * @llc: LLC state; llc->lock held, no exchange runs
 * @first: link that is to carry it
 * @tries: requests to send
 */
void smc_add_link_server_begin(struct smc_llc *llc, struct smc_link *first, unsigned int tries)
{
	lockdep_assert_held(&llc->lock);
	llc->add.tries = tries;
	smc_add_link_begin(llc, first);
}

/*
 * The request names the queue pair, so it exists before the client has a say. @shared: its
 * port is that of another link.
 */
static struct smc_link *add_link_server_make(struct smc_llc *llc, const struct smc_link *first, bool *shared)
{
	struct smc_link *link;
	struct smc_path path;

	if (!smc_add_link_find_path(llc, first, true, &path))
		return NULL;
	*shared = smc_core_uses_port(llc->lgr, path.dev, path.port);
	link = smc_core_add_link(llc->lgr, &path, 0);
	if (IS_ERR(link))
		return NULL;
	/* until the client says what its end is */
	link->direct = first->direct;
	return link;
}

/* What the client says about its end of the new link. */
static int add_link_server_check(struct smc_lgr *lgr, const struct smc_llc_add_link *al,
		     const struct smc_link *link)
{
	struct smc_core_end end = { .gid = al->gid, .mac = al->mac };

	if (al->link_num != link->num || !al->qpn || !smc_llc_mtu_known(al->mtu))
		return -EPROTO;
	switch (smc_core_fit(lgr, link->path.dev, link->path.port, &end)) {
	case SMC_LINK_FIT_SYM:
	case SMC_LINK_FIT_ASYM:
		return 0;
	default:
		return -EEXIST;
	}
}

/* CONFIRM LINK over the new link. */
static int add_link_server_confirm(struct smc_llc *llc, struct smc_link *link)
{
	int rc = smc_llc_send_confirm_link(link, false);

	return rc ?: smc_add_link_await_confirm(llc, link);
}

/* The client wants the link. */
static int add_link_server_finish(struct smc_llc *llc, struct smc_link *first, struct smc_link *link,
		  const struct smc_llc_msg *rsp)
{
	int rc;

	rc = add_link_server_check(llc->lgr, &rsp->add_link, link);
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

static bool add_link_server_must_stop(const struct smc_llc *llc, const struct smc_link *first)
{
	return READ_ONCE(llc->dead) || llc_link_broken(first);
}

/*
 * Nobody's first contact has to wait for the client to set its end up. Others are told to
 * have begun when they answer, as they may have missed the request.
 */
static void add_link_server_release_fc(struct smc_llc *llc, const struct smc_link *first)
{
	if (!llc->lgr->peer.marker)
		return;
	spin_lock_bh(&llc->lock);
	if (llc->fc.link == first)
		llc_fc_set(llc, SMC_LLC_FC_ADD_LINK);
	spin_unlock_bh(&llc->lock);
}

/*
 * Sends ADD LINK and waits for what the client says; NULL: nothing, or no. @shared: the
 * port is that of another link.
 */
static struct llc_event *add_link_server_offer(struct smc_llc *llc, struct smc_link *first,
				    struct smc_link *link, bool shared, struct smc_llc_msg *rsp)
{
	struct llc_event *ev;
	unsigned int i;

	for (i = 0; i < llc->add.tries; i++) {
		if (i)
			wait_event_timeout(llc->wait, add_link_server_must_stop(llc, first), REPEAT_TIME);
		if (add_link_server_must_stop(llc, first) || smc_add_link_send(llc, first, link))
			return NULL;
		llc->add.until = jiffies + LLC_ADD_TIME;
		add_link_server_release_fc(llc, first);
		ev = smc_add_link_wait_msg(llc, first, SMC_LLC_ADD_LINK, LLC_RSP_TIME, rsp);
		if (ev && rsp->add_link.rejected) {
			smc_stats_inc(llc->lgr->net, SMC_STAT_LINK_REJECT);
			smc_recovery_link_rejected(llc, link && !shared);
			llc_event_free(ev);
			return NULL;
		}
		if (ev)
			return ev;
	}
	smc_recovery_retry_later(llc);
	return NULL;
}

/**
 * smc_add_link_server_work() - the exchange
 * @work: llc->add_work
 */
void smc_add_link_server_work(struct work_struct *work)
{
	struct smc_llc *llc = container_of(work, struct smc_llc, add_work);
	struct smc_link *first = llc->add.first;
	struct smc_llc_msg rsp;
	struct smc_link *link;
	struct llc_event *ev;
	bool shared = false;
	int rc = -ENODEV;

	link = add_link_server_make(llc, first, &shared);
	spin_lock_bh(&llc->lock);
	llc->add.num = link ? link->num : 0;
	spin_unlock_bh(&llc->lock);

	ev = add_link_server_offer(llc, first, link, shared, &rsp);
	if (ev && link)
		rc = add_link_server_finish(llc, first, link, &rsp);
	if (ev) {
		smc_add_link_report_result(llc, link, rc);
		llc_event_free(ev);
	}
	if (ev && link && rc && !READ_ONCE(llc->dead) && !READ_ONCE(llc->add.aborted))
		smc_llc_send_delete_link(first, link->num, SMC_LLC_DEL_LOST_PATH, false);
	if (link && rc)
		smc_core_del_link(link, SMC_LINK_SETUP_FAILED);
	if (link)
		smc_link_put(link);
	smc_add_link_end(llc);
}
