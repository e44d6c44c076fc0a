/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Upgrade in place, the part that belongs to the link group: requests of this host and of the peer
 * (llc/upgrade.c, decision 0021). What a request is about, a TCP socket and its connection, is
 * known to the layers above, which get the events of struct smc_upgrade_events.
 *
 *	client						server
 *	smc_upgrade_reserve()
 *	smc_upgrade_ask()	-- request -->		requested
 *	accepted		<-- accepted --		smc_upgrade_answer(YES)
 *	(GO, a CDC message)	-- CDC -->
 *	smc_upgrade_finish()	<-- CDC --		smc_upgrade_finish()
 *	ended(FINISHED)					ended(FINISHED)
 *
 * or, in place of GO,
 *
 *	smc_upgrade_withdraw()	-- withdrawal -->	ended(WITHDRAWN)
 *	ended(WITHDRAWN)	<-- confirmed --
 *
 * or the server answers with a reason, and the client gets ended(REFUSED). An owner that gives up
 * calls smc_upgrade_abandon(), and gets ended(ABANDONED).
 */
#ifndef _SMC_LLC_UPGRADE_H
#define _SMC_LLC_UPGRADE_H

#include <linux/list.h>
#include <linux/types.h>
#include <smc/proto/upgrade.h>
#include <smc/proto/upgrade_msg.h>

struct smc_elem;
struct smc_lgr;
struct smc_link;

/**
 * enum smc_upgrade_outcome - why a request is over
 * @SMC_UPGRADE_OUT_REFUSED: client: the server said no; the reason is in smc_upgrade_req.reason
 * @SMC_UPGRADE_OUT_WITHDRAWN: the withdrawal has arrived (server), or was confirmed (client)
 * @SMC_UPGRADE_OUT_FINISHED: smc_upgrade_finish() was called
 * @SMC_UPGRADE_OUT_ABANDONED: smc_upgrade_abandon() was called
 * @SMC_UPGRADE_OUT_GROUP: the group is dead: LLC sends and handles nothing any more. Messages of
 *	CDC may still arrive until the links are drained: whether GO has come is known after that
 */
enum smc_upgrade_outcome {
	SMC_UPGRADE_OUT_REFUSED,
	SMC_UPGRADE_OUT_WITHDRAWN,
	SMC_UPGRADE_OUT_FINISHED,
	SMC_UPGRADE_OUT_ABANDONED,
	SMC_UPGRADE_OUT_GROUP,
};

/**
 * struct smc_upgrade_req - a request that is under way, in the object of its owner
 * @elem: our RMBE; the peer knows its RMB
 * @token: alert token of our connection
 * @proof: client: what names the connection
 * @hint: client: logarithm of the bytes that it has moved
 * @number: set by smc_upgrade_ask() or smc_upgrade_answer()
 * @reason: for %SMC_UPGRADE_OUT_REFUSED: enum smc_upgrade_reason, or a later one
 * @outcome: private
 * @entry: private
 *
 * The owner fills in the first members and keeps them, the element and the token as they are until
 * the ended event of the request, which comes exactly once.
 */
struct smc_upgrade_req {
	const struct smc_elem *elem;
	u32 token;
	struct smc_upgrade_proof proof;
	u8 hint;
	u32 number;
	u8 reason;
	enum smc_upgrade_outcome outcome;
	struct list_head entry;
};

/**
 * struct smc_upgrade_events - events for the layers above
 * @requested: server: a new request has arrived over @link. The callee calls
 *	smc_upgrade_answer(), once, now or later, also for a request that it knows nothing of. Until
 *	then its slot brings no other one, so at most SMC_UPGRADE_SLOTS of a group are judged at a
 *	time. What needs the group is unchecked: the peer's RMB, RMBE and token
 * @accepted: client: the server has said yes over @link, once for a request that is not withdrawn;
 *	again, what needs the group is unchecked. The callee posts GO, or withdraws
 * @ended: the request belongs to its owner again; the last event about it
 *
 * Process context, in a work of the group, no lock held; one event of a group at a time. The callee
 * may sleep, but never waits for the peer, and may call all functions of this header. A link has a
 * reference during the call and may have failed: then its slot may belong to another link.
 */
struct smc_upgrade_events {
	void (*requested)(struct smc_link *link, const struct smc_upgrade_msg *msg);
	void (*accepted)(struct smc_upgrade_req *req, struct smc_link *link,
			 const struct smc_upgrade_msg *msg);
	void (*ended)(struct smc_lgr *lgr, struct smc_upgrade_req *req,
		      enum smc_upgrade_outcome outcome);
};

const struct smc_upgrade_events *smc_upgrade_set_events(const struct smc_upgrade_events *events);
bool smc_upgrade_has_slot(struct smc_lgr *lgr);
int smc_upgrade_reserve(struct smc_lgr *lgr);
void smc_upgrade_unreserve(struct smc_lgr *lgr);
int smc_upgrade_ask(struct smc_lgr *lgr, struct smc_upgrade_req *req);
void smc_upgrade_withdraw(struct smc_lgr *lgr, struct smc_upgrade_req *req);
int smc_upgrade_answer(struct smc_lgr *lgr, u32 number, enum smc_upgrade_reason reason,
		       struct smc_upgrade_req *req);
void smc_upgrade_finish(struct smc_lgr *lgr, struct smc_upgrade_req *req);
void smc_upgrade_abandon(struct smc_lgr *lgr, struct smc_upgrade_req *req);

#endif
