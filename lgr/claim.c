// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of the peer each connection of a group has to itself: an RMBE and an alert token
 * (RFC 7609 sections 4.4.1 and 4.4.2). Both are named by a message on the carrier, which need
 * not come from the host that the group leads to (decision 0009): without a look at the
 * others, one connection could be made to write into the memory of another. Rank 6: knows
 * the claims inside a group, nothing else of it.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <smc/lgr/lgr.h>

/**
 * smc_core_claims_init() - nothing is claimed in a new group
 * @claims: of the group
 */
void smc_core_claims_init(struct smc_claims *claims)
{
	spin_lock_init(&claims->lock);
	INIT_LIST_HEAD(&claims->list);
	init_waitqueue_head(&claims->wait);
}

/* Would the one write where the other does, or be taken for it? */
static bool claim_conflicts(const struct smc_claim *a, const struct smc_claim *b)
{
	return a->token == b->token ||
	       (a->rtoken == b->rtoken && a->off < b->off + b->size && b->off < a->off + a->size);
}

/**
 * smc_core_claim() - a connection is to write to an RMBE of the peer
 * @lgr: group
 * @claim: filled in but for @entry, in no list
 *
 * Any context. smc_core_claim_end() is owed if it is granted.
 *
 * Return: 0, or -EADDRINUSE: another connection has claimed a part of that memory, or the token.
 */
int smc_core_claim(struct smc_lgr *lgr, struct smc_claim *claim)
{
	struct smc_claim *other;
	int rc = 0;

	spin_lock_bh(&lgr->claims.lock);
	list_for_each_entry(other, &lgr->claims.list, entry) {
		if (claim_conflicts(other, claim)) {
			rc = -EADDRINUSE;
			break;
		}
	}
	if (!rc)
		list_add(&claim->entry, &lgr->claims.list);
	spin_unlock_bh(&lgr->claims.lock);
	return rc;
}

/**
 * smc_core_claim_end() - others may have what a connection has claimed
 * @lgr: group
 * @claim: granted or not, may have ended before
 *
 * The connection keeps its reference on the RMB, and may still say its last words to the
 * token. Any context.
 */
void smc_core_claim_end(struct smc_lgr *lgr, struct smc_claim *claim)
{
	spin_lock_bh(&lgr->claims.lock);
	if (!list_empty(&claim->entry)) {
		list_del_init(&claim->entry);
		wake_up_all(&lgr->claims.wait);
	}
	spin_unlock_bh(&lgr->claims.lock);
}
