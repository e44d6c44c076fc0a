// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which link of a group a connection sends over: collects the load of the links for
 * proto/link_pick. Each side chooses for its own direction.
 */
#include <linux/rcupdate.h>
#include <smc/base/settings.h>
#include <smc/lgr/lgr.h>
#include <smc/proto/link_pick.h>

/* Fill in the load of a link. @own: do not count the connection that looks for a link. */
static void link_get_load(struct smc_link *link, bool own, struct smc_link_load *load)
{
	u32 conns = atomic_read(&link->nconns);

	load->usable = smc_link_usable(link);
	load->conns = own && conns ? conns - 1 : conns;
	smc_wr_qp_load(link->qp, &load->bytes, &load->latency);
}

/**
 * smc_core_link_loads() - collect the load of all links of a group
 * @lgr: group
 * @load: out: SMC_CORE_LINKS entries, indexed by slot
 *
 * Any context but hard interrupt.
 */
void smc_core_link_loads(struct smc_lgr *lgr, struct smc_link_load *load)
{
	struct smc_link *link;
	u32 slot;

	memset(load, 0, SMC_CORE_LINKS * sizeof(*load));
	rcu_read_lock();
	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = rcu_dereference(lgr->links[slot]);
		if (link)
			link_get_load(link, false, &load[slot]);
	}
	rcu_read_unlock();
}

/* Pick a link that is not held; if there is none, pick a held one. */
static int lgr_pick_slot(enum smc_link_policy policy, struct smc_link_load *load,
			 unsigned long quiesced, u32 last)
{
	u32 slot;
	int at;

	for_each_set_bit(slot, &quiesced, SMC_CORE_LINKS)
		load[slot].usable = false;
	at = smc_link_pick(policy, load, SMC_CORE_LINKS, last);
	if (at >= 0)
		return at;
	for_each_set_bit(slot, &quiesced, SMC_CORE_LINKS)
		load[slot].usable = true;
	return smc_link_pick(policy, load, SMC_CORE_LINKS, last);
}

/**
 * smc_core_pick_for() - pick the link for a connection by the link policy of the namespace
 * @lgr: group
 * @slots: bit per slot: candidate links
 * @own: link that already counts this connection, or NULL
 *
 * Any context but hard interrupt.
 *
 * Return: a usable link with a reference, or NULL.
 */
struct smc_link *smc_core_pick_for(struct smc_lgr *lgr, unsigned long slots,
				   const struct smc_link *own)
{
	enum smc_link_policy policy = READ_ONCE(smc_policy_net(lgr->net)->link_policy);
	struct smc_link_load load[SMC_CORE_LINKS] = { };
	struct smc_link *link = NULL;
	unsigned long quiesced = 0;
	u32 slot;
	int at;

	rcu_read_lock();
	for_each_set_bit(slot, &slots, SMC_CORE_LINKS) {
		link = rcu_dereference(lgr->links[slot]);
		if (!link)
			continue;
		link_get_load(link, link == own, &load[slot]);
		if (load[slot].usable && smc_link_held(link))
			__set_bit(slot, &quiesced);
	}
	at = lgr_pick_slot(policy, load, quiesced, READ_ONCE(lgr->last_pick));
	link = at < 0 ? NULL : rcu_dereference(lgr->links[at]);
	/* the last reference may be gone: no different from a failure a moment later */
	if (link && !smc_link_get_unless_zero(link))
		link = NULL;
	rcu_read_unlock();
	if (link)
		WRITE_ONCE(lgr->last_pick, at);
	return link;
}
