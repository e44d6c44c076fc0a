// SPDX-License-Identifier: GPL-2.0-only
/*
 * The peer's RMBs of a link group, per link (RFC 7609 section 4.4.2). Rank 6: knows the
 * table inside a group, nothing else of it.
 *
 * When the table is full, the RMB that nobody writes to and that was named longest ago makes
 * room. Nobody misses it: a peer has no more than that either, and what a connection uses
 * next was announced last.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <smc/lgr/lgr.h>

/* The entry that @rkey names on @slot. lgr->rtoken_lock held. */
static struct smc_rtoken *rtoken_find(struct smc_lgr *lgr, u32 slot, u32 rkey)
{
	struct smc_rtoken *rt;

	lockdep_assert_held(&lgr->rtoken_lock);
	for (rt = lgr->rtokens; rt < lgr->rtokens + SMC_CORE_RTOKENS; rt++)
		if (rt->used && rt->links & BIT(slot) && rt->rkey[slot] == rkey)
			return rt;
	return NULL;
}

static void rtoken_set_key(struct smc_rtoken *rt, u32 slot, u32 rkey, u64 addr)
{
	rt->rkey[slot] = rkey;
	rt->addr[slot] = addr;
	rt->links |= BIT(slot);
}

/* An entry without a key, NULL if all are held. lgr->rtoken_lock held. */
static struct smc_rtoken *rtoken_alloc(struct smc_lgr *lgr)
{
	struct smc_rtoken *rt, *oldest = NULL;

	lockdep_assert_held(&lgr->rtoken_lock);
	for (rt = lgr->rtokens; rt < lgr->rtokens + SMC_CORE_RTOKENS; rt++) {
		if (!rt->used)
			return rt;
		if (!rt->refs && (!oldest || (s32)(rt->named - oldest->named) < 0))
			oldest = rt;
	}
	if (oldest)
		memset(oldest, 0, sizeof(*oldest));
	return oldest;
}

/* The entry of an RMB, with one more reference if @hold. */
static int rtoken_find_or_add(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr, bool hold)
{
	struct smc_rtoken *rt;
	int rc = -ENOSPC;

	if (slot >= SMC_CORE_LINKS)
		return -EINVAL;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find(lgr, slot, rkey);
	if (rt && rt->addr[slot] != addr && rt->refs) {
		rc = -EBUSY;
		goto out;
	}
	if (rt && rt->addr[slot] != addr)
		memset(rt, 0, sizeof(*rt));	/* a new RMB under an old key */
	if (!rt)
		rt = rtoken_alloc(lgr);
	if (!rt)
		goto out;
	rt->used = true;
	rt->doomed = false;
	rt->named = ++lgr->rtoken_names;
	rt->refs += hold;
	rtoken_set_key(rt, slot, rkey, addr);
	rc = rt - lgr->rtokens;
out:
	spin_unlock_bh(&lgr->rtoken_lock);
	return rc;
}

/**
 * smc_core_rtoken_add() - the peer has an RMB
 * @lgr: group
 * @slot: link it is known on
 * @rkey: key on that link
 * @addr: address of element 0 on that link
 *
 * The same RMB again is the same entry.
 *
 * Return: index of the entry, -ENOSPC (connections write to all that are known), -EBUSY
 * (@rkey names other memory that a connection still writes to), -EINVAL.
 */
int smc_core_rtoken_add(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr)
{
	return rtoken_find_or_add(lgr, slot, rkey, addr, false);
}

/**
 * smc_core_rtoken_take() - a connection will write to an RMB of the peer
 * @lgr: group
 * @slot: its link
 * @rkey: key on that link, as the Accept or Confirm says
 * @addr: address of element 0 on that link
 *
 * Return: as smc_core_rtoken_add(); smc_core_rtoken_release() is owed for an index.
 */
int smc_core_rtoken_take(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr)
{
	return rtoken_find_or_add(lgr, slot, rkey, addr, true);
}

/**
 * smc_core_rtoken_take_known() - a connection will write to an RMB that was announced
 * @lgr: group
 * @slot: its link
 * @rkey: key on that link, as the Accept or Confirm says
 * @addr: address of element 0 on that link
 *
 * For all but a group's first connection: the RMB stood in its first Accept or Confirm, or came
 * by CONFIRM RKEY or ADD LINK (RFC 7609 section 3.5.5.2.1), so over the link. A key that
 * was not told there is not the peer's word: writing with it would end the link.
 *
 * Return: index of the entry, for which smc_core_rtoken_release() is owed, -ENOKEY, -EINVAL.
 */
int smc_core_rtoken_take_known(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr)
{
	struct smc_rtoken *rt;
	int rc = -ENOKEY;

	if (slot >= SMC_CORE_LINKS)
		return -EINVAL;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find(lgr, slot, rkey);
	if (rt && !rt->doomed && rt->addr[slot] == addr) {
		rt->named = ++lgr->rtoken_names;
		rt->refs++;
		rc = rt - lgr->rtokens;
	}
	spin_unlock_bh(&lgr->rtoken_lock);
	return rc;
}

/**
 * smc_core_rtoken_room() - is there an entry for one more RMB of the peer
 * @lgr: group
 *
 * Return: true if so: connections write to fewer than may be known. It may be taken at
 * any time.
 */
bool smc_core_rtoken_room(struct smc_lgr *lgr)
{
	struct smc_rtoken *rt = lgr->rtokens;
	bool room;

	spin_lock_bh(&lgr->rtoken_lock);
	while (rt < lgr->rtokens + SMC_CORE_RTOKENS && rt->refs)
		rt++;
	room = rt < lgr->rtokens + SMC_CORE_RTOKENS;
	spin_unlock_bh(&lgr->rtoken_lock);
	return room;
}

/**
 * smc_core_rtoken_set_link() - keys of an RMB on a further link
 * @lgr: group
 * @ref_slot: link on which it is known
 * @ref_rkey: key there
 * @slot: further link
 * @rkey: key there
 * @addr: address there
 *
 * Return: 0, -ENOENT, -EBUSY (contradicts what is in use), -EINVAL.
 */
int smc_core_rtoken_set_link(struct smc_lgr *lgr, u32 ref_slot, u32 ref_rkey, u32 slot,
			     u32 rkey, u64 addr)
{
	struct smc_rtoken *rt, *other;
	int rc = -ENOENT;

	if (slot >= SMC_CORE_LINKS || ref_slot >= SMC_CORE_LINKS || slot == ref_slot)
		return -EINVAL;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find(lgr, ref_slot, ref_rkey);
	other = rtoken_find(lgr, slot, rkey);
	if (rt && other && other != rt) {
		rc = -EBUSY;	/* one key for two RMBs */
	} else if (rt && rt->refs && rt->links & BIT(slot) &&
		   (rt->rkey[slot] != rkey || rt->addr[slot] != addr)) {
		rc = -EBUSY;
	} else if (rt) {
		rtoken_set_key(rt, slot, rkey, addr);
		rc = 0;
	}
	spin_unlock_bh(&lgr->rtoken_lock);
	return rc;
}

/**
 * smc_core_rtoken_unset_link() - undo smc_core_rtoken_set_link()
 * @lgr: group
 * @slot: further link
 * @rkey: key there
 */
void smc_core_rtoken_unset_link(struct smc_lgr *lgr, u32 slot, u32 rkey)
{
	struct smc_rtoken *rt;

	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find(lgr, slot, rkey);
	if (rt) {
		rt->links &= ~BIT(slot);
		rt->rkey[slot] = 0;
		rt->addr[slot] = 0;
		if (!rt->links && !rt->refs)
			memset(rt, 0, sizeof(*rt));
	}
	spin_unlock_bh(&lgr->rtoken_lock);
}

/**
 * smc_core_rtoken_del() - the peer takes an RMB back
 * @lgr: group
 * @slot: link that carried the message
 * @rkey: key on it
 *
 * Return: 0, -ENOENT, -EBUSY (goes with its last connection), -EINVAL.
 */
int smc_core_rtoken_del(struct smc_lgr *lgr, u32 slot, u32 rkey)
{
	struct smc_rtoken *rt;
	int rc = 0;

	if (slot >= SMC_CORE_LINKS)
		return -EINVAL;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find(lgr, slot, rkey);
	if (!rt) {
		rc = -ENOENT;
	} else if (rt->refs) {
		/* a lie, or our close has not finished: the queue pair decides */
		rt->doomed = true;
		rc = -EBUSY;
	} else {
		memset(rt, 0, sizeof(*rt));
	}
	spin_unlock_bh(&lgr->rtoken_lock);
	return rc;
}

/**
 * smc_core_rtoken_release() - a connection writes to it no more
 * @lgr: group
 * @idx: index of the entry
 */
void smc_core_rtoken_release(struct smc_lgr *lgr, int idx)
{
	struct smc_rtoken *rt;

	if (idx < 0 || idx >= SMC_CORE_RTOKENS)
		return;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = &lgr->rtokens[idx];
	if (rt->refs && !--rt->refs && (rt->doomed || !rt->links))
		memset(rt, 0, sizeof(*rt));
	spin_unlock_bh(&lgr->rtoken_lock);
}

/**
 * smc_core_rtoken_known() - can an RMB be written to over a link
 * @lgr: group
 * @idx: index of its entry, of which a reference is held
 * @slot: slot of the link
 *
 * Return: true if its key there is known.
 */
bool smc_core_rtoken_known(struct smc_lgr *lgr, int idx, u32 slot)
{
	bool known;

	if (idx < 0 || idx >= SMC_CORE_RTOKENS)
		return false;
	spin_lock_bh(&lgr->rtoken_lock);
	known = lgr->rtokens[idx].links & BIT(slot);
	spin_unlock_bh(&lgr->rtoken_lock);
	return known;
}

/**
 * smc_core_rtoken_forget_slot() - a link is gone, and with it all its keys
 * @lgr: group
 * @slot: slot of the link
 */
void smc_core_rtoken_forget_slot(struct smc_lgr *lgr, u32 slot)
{
	struct smc_rtoken *rt;

	spin_lock_bh(&lgr->rtoken_lock);
	for (rt = lgr->rtokens; rt < lgr->rtokens + SMC_CORE_RTOKENS; rt++) {
		rt->links &= ~BIT(slot);
		rt->rkey[slot] = 0;
		rt->addr[slot] = 0;
		if (!rt->links && !rt->refs)
			memset(rt, 0, sizeof(*rt));
	}
	spin_unlock_bh(&lgr->rtoken_lock);
}
