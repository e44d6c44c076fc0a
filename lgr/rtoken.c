// SPDX-License-Identifier: GPL-2.0-only
/*
 * The peer's memory, as a group knows it: rtokens, and the claims of connections.
 *
 * An rtoken has key and address of an RMB of the peer, per link (RFC 7609 section 4.4.2).
 *
 * Most peers have few RMBs, and the table for all that a peer may have is 32 KiB. So it is in
 * pieces, which are added one after another when there is no room in those before. None is freed
 * before the group: who holds a reference on an entry reads it without a lock.
 *
 * When the table is full, the RMB that no connection writes to and that was announced longest ago
 * is replaced. That loses nothing: a peer has no more RMBs than the table has entries, and a
 * connection uses an RMB that was announced recently.
 *
 * A claim gives one connection an RMBE of the peer and an alert token to itself (sections 4.4.1 and
 * 4.4.2). Both come in a CLC message, which any host on the TCP path can send (decision 0009):
 * without this check, one connection could be made to write into the memory of another.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <smc/base/fault.h>
#include <smc/lgr/lgr.h>

/* ---- the table ---- */

/* A piece when one cannot sleep; without it the peer gets a negative response. */
#define PIECE_GFP	(GFP_ATOMIC | __GFP_NOWARN)

static struct smc_rtoken *rtoken_alloc_piece(gfp_t gfp)
{
	return smc_fault_null(LGR_RTOKENS, kcalloc(SMC_LGR_RTOKEN_PIECE,
						   sizeof(struct smc_rtoken), gfp));
}

/**
 * smc_rtoken_init_table() - allocate the first piece of the table of a new group
 * @lgr: group that is being created
 *
 * Process context. smc_rtoken_free_table() frees it, also after an error.
 *
 * Return: 0 or -ENOMEM.
 */
int smc_rtoken_init_table(struct smc_lgr *lgr)
{
	spin_lock_init(&lgr->rtoken_lock);
	lgr->rtokens[0] = rtoken_alloc_piece(GFP_KERNEL);
	return lgr->rtokens[0] ? 0 : -ENOMEM;
}

/**
 * smc_rtoken_free_table() - free the table
 * @lgr: group that nobody uses
 *
 * Any context.
 */
void smc_rtoken_free_table(struct smc_lgr *lgr)
{
	u32 i;

	for (i = 0; i < SMC_LGR_RTOKEN_PIECES; i++)
		kfree(lgr->rtokens[i]);
}

/* Return entry @idx, or NULL behind the last piece and at the end of the table. */
static struct smc_rtoken *rtoken_at(struct smc_lgr *lgr, u32 idx)
{
	lockdep_assert_held(&lgr->rtoken_lock);
	if (idx >= SMC_LGR_RTOKENS || !lgr->rtokens[idx / SMC_LGR_RTOKEN_PIECE])
		return NULL;
	return smc_rtoken_of(lgr, idx);
}

/* Return the index of an entry. */
static int rtoken_index(struct smc_lgr *lgr, const struct smc_rtoken *rt)
{
	struct smc_rtoken *other;
	u32 i;

	for (i = 0; (other = rtoken_at(lgr, i)); i++)
		if (other == rt)
			break;
	return i;
}

/* Return the first entry of one more piece, or NULL. @idx: behind the last piece. */
static struct smc_rtoken *rtoken_add_piece(struct smc_lgr *lgr, u32 idx)
{
	lockdep_assert_held(&lgr->rtoken_lock);
	if (idx >= SMC_LGR_RTOKENS)
		return NULL;
	lgr->rtokens[idx / SMC_LGR_RTOKEN_PIECE] = rtoken_alloc_piece(PIECE_GFP);
	return rtoken_at(lgr, idx);
}

/* ---- rtokens ---- */

/* Return the entry that @rkey names on the link of @slot, or NULL. */
static struct smc_rtoken *rtoken_find(struct smc_lgr *lgr, u32 slot, u32 rkey)
{
	struct smc_rtoken *rt;
	u32 i;

	lockdep_assert_held(&lgr->rtoken_lock);
	for (i = 0; (rt = rtoken_at(lgr, i)); i++)
		if (rt->used && rt->links & BIT(slot) && rt->rkey[slot] == rkey)
			return rt;
	return NULL;
}

/* Return the entry with this key on the lost link of @slot, or NULL; see smc_rtoken_lose_slot(). */
static struct smc_rtoken *rtoken_find_lost(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr)
{
	struct smc_rtoken *rt;
	u32 i;

	lockdep_assert_held(&lgr->rtoken_lock);
	/* slots that never had a key of the RMB have 0 */
	if (!rkey)
		return NULL;
	for (i = 0; (rt = rtoken_at(lgr, i)); i++)
		if (rt->used && !(rt->links & BIT(slot)) && rt->rkey[slot] == rkey &&
		    rt->addr[slot] == addr)
			return rt;
	return NULL;
}

/*
 * Return the entry that a CLC message names by its keys on the link of @slot, or NULL. The link may
 * be lost.
 */
static struct smc_rtoken *rtoken_find_named(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr)
{
	struct smc_rtoken *rt = rtoken_find(lgr, slot, rkey);

	if (rt)
		return rt->addr[slot] == addr ? rt : NULL;
	return rtoken_find_lost(lgr, slot, rkey, addr);
}

static void rtoken_set_key(struct smc_rtoken *rt, u32 slot, u32 rkey, u64 addr)
{
	rt->rkey[slot] = rkey;
	rt->addr[slot] = addr;
	rt->links |= BIT(slot);
}

/* Return an entry without keys, or NULL: connections write to all of a full table, or no memory. */
static struct smc_rtoken *rtoken_alloc(struct smc_lgr *lgr)
{
	struct smc_rtoken *rt, *oldest = NULL;
	u32 i;

	lockdep_assert_held(&lgr->rtoken_lock);
	for (i = 0; (rt = rtoken_at(lgr, i)); i++) {
		if (!rt->used)
			return rt;
		if (!rt->refs && (!oldest || (s32)(rt->announced - oldest->announced) < 0))
			oldest = rt;
	}
	rt = rtoken_add_piece(lgr, i);
	/* the peer believes that we know the oldest one, until it has as many as the table */
	if (rt || i < SMC_LGR_RTOKENS)
		return rt;
	if (oldest)
		memset(oldest, 0, sizeof(*oldest));
	return oldest;
}

/* Free the entry, or have the last connection that writes to the RMB do so. */
static void rtoken_delete(struct smc_rtoken *rt)
{
	if (rt->refs)
		rt->delete_pending = true;
	else
		memset(rt, 0, sizeof(*rt));
}

/*
 * Find or add the entry of an RMB; take a reference on it if @hold. @added: as for
 * smc_rtoken_add().
 */
static int rtoken_find_or_add(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr, bool hold,
			      u32 *added)
{
	struct smc_rtoken *rt;
	bool lost = false;
	int rc = -ENOSPC;

	*added = 0;

	if (slot >= SMC_LGR_LINKS)
		return -EINVAL;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find(lgr, slot, rkey);
	if (rt && rt->addr[slot] != addr && rt->refs) {
		rc = -EBUSY;
		goto out;
	}
	if (rt && rt->addr[slot] != addr)
		memset(rt, 0, sizeof(*rt));	/* a new RMB under an old key */
	if (!rt) {
		/* announced again, but the link is lost now: no second entry, and no key to use */
		rt = rtoken_find_lost(lgr, slot, rkey, addr);
		lost = rt;
	}
	if (!rt)
		rt = rtoken_alloc(lgr);
	if (!rt)
		goto out;
	/* 0 is no number, should it ever come round to it */
	rt->announced = ++lgr->rtoken_announcements ?: ++lgr->rtoken_announcements;
	if (!rt->used || rt->delete_pending) {
		rt->added = rt->announced;
		*added = rt->added;
	}
	rt->used = true;
	rt->delete_pending = false;
	rt->refs += hold;
	if (!lost)
		rtoken_set_key(rt, slot, rkey, addr);
	rc = rtoken_index(lgr, rt);
out:
	spin_unlock_bh(&lgr->rtoken_lock);
	return rc;
}

/**
 * smc_rtoken_add() - add an RMB that the peer announced
 * @lgr: group
 * @slot: slot of the link on which it was announced
 * @rkey: key on that link
 * @addr: address of element 0 on that link
 * @added: out: for smc_rtoken_undo_add(); 0: nothing to undo, since the peer had announced the RMB
 *	before and has not withdrawn it, or after an error
 *
 * The same RMB again returns the same entry, also if the link was lost in between; the key on a
 * lost link is not used again. In a full table, the RMB without connections that was announced
 * longest ago is replaced. Any context.
 *
 * Return: index of the entry, -ENOSPC (connections write to all known RMBs, or no memory for more),
 * -EBUSY (@rkey names other memory that a connection still writes to), -EINVAL (bad slot).
 */
int smc_rtoken_add(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr, u32 *added)
{
	return rtoken_find_or_add(lgr, slot, rkey, addr, false, added);
}

/**
 * smc_rtoken_undo_add() - undo smc_rtoken_add()
 * @lgr: group
 * @idx: what it returned
 * @added: what it reported; 0: does nothing
 *
 * For an RMB that the peer does not believe known, as it got no response. Whatever became of the
 * link meanwhile, this is about the entry that was added, unless another RMB has taken its place.
 * Any context.
 */
void smc_rtoken_undo_add(struct smc_lgr *lgr, int idx, u32 added)
{
	struct smc_rtoken *rt;

	if (!added || idx < 0 || idx >= SMC_LGR_RTOKENS)
		return;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_at(lgr, idx);
	if (rt && rt->used && rt->added == added)
		rtoken_delete(rt);
	spin_unlock_bh(&lgr->rtoken_lock);
}

/**
 * smc_rtoken_get() - add an RMB of the peer and take a reference for a connection
 * @lgr: group
 * @slot: slot of the connection's link
 * @rkey: key on that link, from the Accept or Confirm
 * @addr: address of element 0 on that link
 *
 * For the first connection of a group. The caller must call smc_rtoken_put() after
 * success. Any context.
 *
 * Return: as smc_rtoken_add().
 */
int smc_rtoken_get(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr)
{
	u32 added;

	return rtoken_find_or_add(lgr, slot, rkey, addr, true, &added);
}

/**
 * smc_rtoken_get_known() - take a reference on an announced RMB for a connection
 * @lgr: group
 * @slot: slot of the connection's link
 * @rkey: key on that link, from the Accept or Confirm
 * @addr: address of element 0 on that link
 *
 * For all connections of a group but the first: the peer must have announced the RMB over the
 * group before, in its first Accept or Confirm, by CONFIRM RKEY or by ADD LINK (RFC 7609 section
 * 3.5.5.2.1). Any other key may be forged, and a WRITE with it would break the link. The keys of a
 * lost link are known until another link has its slot: smc_rtoken_has_link().
 * The caller must call smc_rtoken_put() after success. Any context.
 *
 * Return: index of the entry, -ENOKEY (not announced, or deleted), -EINVAL (bad slot).
 */
int smc_rtoken_get_known(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr)
{
	struct smc_rtoken *rt;
	int rc = -ENOKEY;

	if (slot >= SMC_LGR_LINKS)
		return -EINVAL;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find_named(lgr, slot, rkey, addr);
	if (rt && !rt->delete_pending) {
		rt->announced = ++lgr->rtoken_announcements;
		rt->refs++;
		rc = rtoken_index(lgr, rt);
	}
	spin_unlock_bh(&lgr->rtoken_lock);
	return rc;
}

/**
 * smc_rtoken_has_room() - check whether the table has room for one more RMB
 * @lgr: group
 *
 * Any context. The room may be taken at any time.
 *
 * Return: true if connections write to fewer RMBs than the table has entries.
 */
bool smc_rtoken_has_room(struct smc_lgr *lgr)
{
	struct smc_rtoken *rt;
	bool room;
	u32 i;

	spin_lock_bh(&lgr->rtoken_lock);
	for (i = 0; (rt = rtoken_at(lgr, i)); i++)
		if (!rt->refs)
			break;
	room = i < SMC_LGR_RTOKENS;
	spin_unlock_bh(&lgr->rtoken_lock);
	return room;
}

/**
 * smc_rtoken_set_link() - add the keys of an RMB on a further link
 * @lgr: group
 * @ref_slot: slot of a link on which the RMB is known
 * @ref_rkey: key on that link
 * @slot: slot of the further link
 * @rkey: key on the further link
 * @addr: address on the further link
 *
 * For ADD LINK and CONFIRM RKEY, RFC 7609 section 3.5.5.2. Any context.
 *
 * Return: 0, -ENOENT (RMB unknown), -EBUSY (contradicts keys that are in use), -EINVAL (bad slot).
 */
int smc_rtoken_set_link(struct smc_lgr *lgr, u32 ref_slot, u32 ref_rkey, u32 slot,
			u32 rkey, u64 addr)
{
	struct smc_rtoken *rt, *other;
	int rc = -ENOENT;

	if (slot >= SMC_LGR_LINKS || ref_slot >= SMC_LGR_LINKS || slot == ref_slot)
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
 * smc_rtoken_unset_link() - undo smc_rtoken_set_link()
 * @lgr: group
 * @slot: slot of the further link
 * @rkey: key on the further link
 *
 * Any context.
 */
void smc_rtoken_unset_link(struct smc_lgr *lgr, u32 slot, u32 rkey)
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
 * smc_rtoken_name_lost() - note the key of an RMB on a link that is lost here
 * @lgr: group
 * @ref_slot: slot of a link on which the RMB is known
 * @ref_rkey: key on that link
 * @num: number of the lost link
 * @rkey: key on the lost link
 * @addr: address on the lost link
 *
 * As smc_rtoken_lose_slot() keeps the keys that were announced before: the peer may not have
 * noticed the loss, and the Confirm of a handshake names the RMB by this key. Does nothing if
 * another link has the slot. Any context.
 */
void smc_rtoken_name_lost(struct smc_lgr *lgr, u32 ref_slot, u32 ref_rkey, u8 num,
			  u32 rkey, u64 addr)
{
	struct smc_rtoken *rt;
	u32 slot;

	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find(lgr, ref_slot, ref_rkey);
	for (slot = 0; rt && slot < SMC_LGR_LINKS; slot++) {
		/* whoever takes the slot writes this before smc_rtoken_clear_slot() */
		if (READ_ONCE(lgr->slot_uids[slot]) != lgr->id + num || rt->links & BIT(slot))
			continue;
		rt->rkey[slot] = rkey;
		rt->addr[slot] = addr;
	}
	spin_unlock_bh(&lgr->rtoken_lock);
}

/**
 * smc_rtoken_del() - delete an RMB that the peer withdraws by DELETE RKEY
 * @lgr: group
 * @slot: slot of the link that carried the message
 * @rkey: key on that link
 *
 * RFC 7609 section 3.5.5.2.2. Any context.
 *
 * Return: 0, -ENOENT (unknown), -EBUSY (connections write to it: deleted with the last one, unless
 * announced again before), -EINVAL (bad slot).
 */
int smc_rtoken_del(struct smc_lgr *lgr, u32 slot, u32 rkey)
{
	struct smc_rtoken *rt;
	int rc = 0;

	if (slot >= SMC_LGR_LINKS)
		return -EINVAL;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_find(lgr, slot, rkey);
	if (!rt) {
		rc = -ENOENT;
	} else {
		/* Misbehaving peer, or our close is not finished: the RNIC will decide. */
		if (rt->refs)
			rc = -EBUSY;
		rtoken_delete(rt);
	}
	spin_unlock_bh(&lgr->rtoken_lock);
	return rc;
}

/**
 * smc_rtoken_put() - drop the reference of a connection on an RMB
 * @lgr: group
 * @idx: index of the entry; ignored if invalid
 *
 * Any context.
 */
void smc_rtoken_put(struct smc_lgr *lgr, int idx)
{
	struct smc_rtoken *rt;

	if (idx < 0 || idx >= SMC_LGR_RTOKENS)
		return;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_at(lgr, idx);
	if (rt && rt->refs && !--rt->refs && (rt->delete_pending || !rt->links))
		memset(rt, 0, sizeof(*rt));
	spin_unlock_bh(&lgr->rtoken_lock);
}

/**
 * smc_rtoken_has_link() - check whether an RMB can be written over a link
 * @lgr: group
 * @idx: index of the entry; the caller has a reference on it
 * @slot: slot of the link
 *
 * Any context.
 *
 * Return: true if its key on that link is known.
 */
bool smc_rtoken_has_link(struct smc_lgr *lgr, int idx, u32 slot)
{
	struct smc_rtoken *rt;
	bool known;

	if (idx < 0 || idx >= SMC_LGR_RTOKENS)
		return false;
	spin_lock_bh(&lgr->rtoken_lock);
	rt = rtoken_at(lgr, idx);
	known = rt && rt->links & BIT(slot);
	spin_unlock_bh(&lgr->rtoken_lock);
	return known;
}

static void rtoken_drop_slot(struct smc_lgr *lgr, u32 slot, bool forget)
{
	struct smc_rtoken *rt;
	u32 i;

	spin_lock_bh(&lgr->rtoken_lock);
	for (i = 0; (rt = rtoken_at(lgr, i)); i++) {
		rt->links &= ~BIT(slot);
		if (forget) {
			rt->rkey[slot] = 0;
			rt->addr[slot] = 0;
		}
		if (!rt->links && !rt->refs)
			memset(rt, 0, sizeof(*rt));
	}
	spin_unlock_bh(&lgr->rtoken_lock);
}

/**
 * smc_rtoken_lose_slot() - use the keys of a removed link no more
 * @lgr: group
 * @slot: slot of the link
 *
 * The link may have been lost between the Accept and the Confirm of a handshake, and the Confirm
 * names an RMB by its key on this link. The connection can use the RMB over another link: so the
 * keys still tell which RMB it is. Any context.
 */
void smc_rtoken_lose_slot(struct smc_lgr *lgr, u32 slot)
{
	rtoken_drop_slot(lgr, slot, false);
}

/**
 * smc_rtoken_clear_slot() - forget all keys of the previous link of a slot
 * @lgr: group
 * @slot: slot, which gets another link
 *
 * Any context.
 */
void smc_rtoken_clear_slot(struct smc_lgr *lgr, u32 slot)
{
	rtoken_drop_slot(lgr, slot, true);
}

/* ---- claims ---- */

/**
 * smc_claim_init_list() - initialize the claims of a new group
 * @claims: claims of the group
 */
void smc_claim_init_list(struct smc_claims *claims)
{
	spin_lock_init(&claims->lock);
	INIT_LIST_HEAD(&claims->list);
	init_waitqueue_head(&claims->wait);
}

/* Return true if both claims have the same token or overlapping memory. */
static bool claim_conflicts(const struct smc_claim *a, const struct smc_claim *b)
{
	return a->token == b->token ||
	       (a->rtoken == b->rtoken && a->off < b->off + b->size && b->off < a->off + a->size);
}

/**
 * smc_claim_begin() - claim an RMBE and an alert token of the peer for a connection
 * @lgr: group
 * @claim: all members but @entry are set, and it is in no list
 *
 * Any context. The caller must call smc_claim_end() after success.
 *
 * Return: 0, or -EADDRINUSE if another connection has claimed the token or a part of the memory.
 */
int smc_claim_begin(struct smc_lgr *lgr, struct smc_claim *claim)
{
	struct smc_claim *other;
	int rc = 0;

	spin_lock_bh(&lgr->rmbe_claims.lock);
	list_for_each_entry(other, &lgr->rmbe_claims.list, entry) {
		if (claim_conflicts(other, claim)) {
			rc = -EADDRINUSE;
			break;
		}
	}
	if (!rc)
		list_add(&claim->entry, &lgr->rmbe_claims.list);
	spin_unlock_bh(&lgr->rmbe_claims.lock);
	return rc;
}

/**
 * smc_claim_end() - end a claim
 * @lgr: group
 * @claim: claim, granted or not; may have ended before
 *
 * Other connections may claim the RMBE and the token from now on. The connection keeps its
 * reference on the RMB and may still send its last CDC messages to the token. Any context.
 */
void smc_claim_end(struct smc_lgr *lgr, struct smc_claim *claim)
{
	spin_lock_bh(&lgr->rmbe_claims.lock);
	if (!list_empty(&claim->entry)) {
		list_del_init(&claim->entry);
		wake_up_all(&lgr->rmbe_claims.wait);
	}
	spin_unlock_bh(&lgr->rmbe_claims.lock);
}
