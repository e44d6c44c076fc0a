// SPDX-License-Identifier: GPL-2.0-only
/*
 * The set of links of a group: who is in which slot, under which number, and the two
 * phases of leaving it. Why a link goes, and who hears of it, is smc_core.c's.
 */
#include <linux/rcupdate.h>
#include "internal.h"

/**
 * smc_core_link() - the link of a slot
 * @lgr: group
 * @slot: slot
 *
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_core_link(struct smc_lgr *lgr, u32 slot)
{
	struct smc_link *link;

	if (slot >= SMC_CORE_LINKS)
		return NULL;
	rcu_read_lock();
	link = rcu_dereference(lgr->links[slot]);
	if (link && !smc_link_get_unless_zero(link))
		link = NULL;
	rcu_read_unlock();
	return link;
}

/**
 * smc_core_link_by_num() - the link of a number on the wire
 * @lgr: group
 * @num: link number; 0 never names a link
 *
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_core_link_by_num(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; num && slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (READ_ONCE(link->num) == num)
			return link;
		smc_link_put(link);
	}
	return NULL;
}

/**
 * smc_core_open_slot() - where may messages of a link still come from
 * @lgr: group
 * @num: link number from the wire
 *
 * Other than smc_core_link_by_num() it finds a link that is being shut down, until that is
 * fenced: connections are told later.
 *
 * Return: slot, or -ENOENT.
 */
int smc_core_open_slot(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;
	int found = -ENOENT;
	u32 slot;

	rcu_read_lock();
	for (slot = 0; slot < SMC_CORE_LINKS && found < 0; slot++) {
		link = rcu_dereference(lgr->links[slot]);
		if (!link) {
			smp_rmb();	/* pairs with smc_core_unlink() */
			link = rcu_dereference(lgr->leaving[slot]);
		}
		if (link && READ_ONCE(link->num) == num && !smc_link_fenced(link))
			found = slot;
	}
	rcu_read_unlock();
	return found;
}

static struct smc_link *lgr_find_least_used_link(struct smc_lgr *lgr, const struct smc_link *not)
{
	struct smc_link *best = NULL, *link;
	u32 slot;

	rcu_read_lock();
	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = rcu_dereference(lgr->links[slot]);
		if (!link || link == not || !smc_link_usable(link))
			continue;
		if (!best || atomic_read(&link->nconns) < atomic_read(&best->nconns))
			best = link;
	}
	if (best && !smc_link_get_unless_zero(best))
		best = NULL;
	rcu_read_unlock();
	return best;
}

/**
 * smc_core_pick_link() - a link that can be used
 * @lgr: group
 *
 * For what is no connection; see smc_core_pick_for().
 *
 * Return: the usable link with the fewest connections, with a reference, or NULL.
 */
struct smc_link *smc_core_pick_link(struct smc_lgr *lgr)
{
	return lgr_find_least_used_link(lgr, NULL);
}

/**
 * smc_core_other_link() - a second way to the peer
 * @lgr: group
 * @not: the link not wanted
 *
 * Return: a usable link with a reference, or NULL.
 */
struct smc_link *smc_core_other_link(struct smc_lgr *lgr, const struct smc_link *not)
{
	return lgr_find_least_used_link(lgr, not);
}

/**
 * smc_core_has_link() - can anything be sent to the peer?
 * @lgr: group
 *
 * Return: true if a link can be used.
 */
bool smc_core_has_link(struct smc_lgr *lgr)
{
	struct smc_link *link = smc_core_pick_link(lgr);

	if (link)
		smc_link_put(link);
	return link;
}

/**
 * smc_core_unlink() - take a link out of the set
 * @lgr: group
 * @link: link
 *
 * Return: true: the caller is the one to shut it down, and calls smc_core_retire_link().
 */
bool smc_core_unlink(struct smc_lgr *lgr, struct smc_link *link)
{
	bool mine;

	mutex_lock(&lgr->mutex);
	mine = rcu_access_pointer(lgr->links[link->slot]) == link;
	if (mine) {
		WRITE_ONCE(lgr->gone[link->slot], link->peer_qpn);
		rcu_assign_pointer(lgr->leaving[link->slot], link);
		/* who does not see it here any more sees it there: smc_core_open_slot() */
		smp_wmb();
		RCU_INIT_POINTER(lgr->links[link->slot], NULL);
	}
	mutex_unlock(&lgr->mutex);
	return mine;
}

static void link_unmap_regions(struct smc_link *link)
{
	struct smc_lgr *lgr = link->lgr;

	mutex_lock(&lgr->mutex);
	smc_buf_pool_unmap(&lgr->pool, link->slot);
	mutex_unlock(&lgr->mutex);
}

/**
 * smc_core_retire_link() - second phase of removing a link
 * @lgr: group
 * @link: what the caller has unlinked
 *
 * Still inside may be: readers of the link set with a reference (see the reason, or their
 * posts are refused), completions of the queue pair (end with the drain). Puts the reference
 * of the link set.
 */
void smc_core_retire_link(struct smc_lgr *lgr, struct smc_link *link)
{
	u32 slot = link->slot;

	smc_link_shutdown(link, link_unmap_regions);
	RCU_INIT_POINTER(lgr->leaving[slot], NULL);
	smc_core_rtoken_forget_slot(lgr, slot);
	smc_link_put(link);
	mutex_lock(&lgr->mutex);
	__clear_bit(slot, &lgr->slots);
	mutex_unlock(&lgr->mutex);
}

/**
 * smc_core_leaving() - the link that left a slot
 * @lgr: group
 * @slot: slot
 *
 * Only for who took it out of the set and has not retired it yet.
 *
 * Return: the link.
 */
struct smc_link *smc_core_leaving(struct smc_lgr *lgr, u32 slot)
{
	return rcu_dereference_protected(lgr->leaving[slot], true);
}

/* Server: numbers count up, 0 and those in use are left out. lgr->mutex held. */
static u8 lgr_next_link_num(struct smc_lgr *lgr)
{
	struct smc_link *link;
	u8 num;

	lockdep_assert_held(&lgr->mutex);
	for (;;) {
		num = lgr->next_link_num++;
		if (!num)
			continue;
		link = smc_core_link_by_num(lgr, num);
		if (!link)
			return num;
		smc_link_put(link);
	}
}

/**
 * smc_core_take_num() - the number of a link to be
 * @lgr: group, its mutex held
 * @num: client: as the server says; server: 0
 *
 * Return: the number, 0: @num is in use.
 */
u8 smc_core_take_num(struct smc_lgr *lgr, u8 num)
{
	struct smc_link *link;

	if (!num)
		return lgr_next_link_num(lgr);
	link = smc_core_link_by_num(lgr, num);
	if (!link)
		return num;
	smc_link_put(link);
	return 0;
}
