// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exclusive claims: each connection of a group has an RMBE of the peer and an alert token to itself
 * (RFC 7609 sections 4.4.1 and 4.4.2). Both come in a CLC message, which any host on the TCP path
 * can send (decision 0009): without this check, one connection could be made to write into the
 * memory of another.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <smc/lgr/lgr.h>

/**
 * smc_core_claims_init() - initialize the claims of a new group
 * @claims: claims of the group
 */
void smc_core_claims_init(struct smc_claims *claims)
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
 * smc_core_claim() - claim an RMBE and an alert token of the peer for a connection
 * @lgr: group
 * @claim: all members but @entry are set, and it is in no list
 *
 * Any context. The caller must call smc_core_claim_end() after success.
 *
 * Return: 0, or -EADDRINUSE if another connection has claimed the token or a part of the memory.
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
 * smc_core_claim_end() - end a claim
 * @lgr: group
 * @claim: claim, granted or not; may have ended before
 *
 * Other connections may claim the RMBE and the token from now on. The connection keeps its
 * reference on the RMB and may still send its last CDC messages to the token. Any context.
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
