/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LLC exchanges of a link group (RFC 7609 3.5.5, A.3). Rank 7.
 *
 * Messages arrive in softirq, are parsed and queued; one work per group acts on
 * requests and wakes whoever waits for a response. At most one local exchange of
 * a kind runs at a time: a slot with an owner and a deadline, no lock is held
 * while waiting for the peer.
 */
#ifndef _SMC_LLC_LLC_H
#define _SMC_LLC_LLC_H

#include <linux/types.h>
#include <linux/wait.h>

struct net;
struct smc_lgr;
struct smc_link;
struct smc_region;
union ib_gid;

extern const struct smc_lgr_ctl_events smc_llc_events;

int smc_llc_init(void);
void smc_llc_exit(void);

/*
 * First contact (RFC 3.5.1). The handshake arms it before the peer can speak and
 * then sleeps on its own wait queue @wq, which is woken whenever the bits change.
 */
/* arrived, server: the response (or reject), client: the request of ... */
#define SMC_LLC_FC_CONFIRM	0x01	/* ... CONFIRM LINK */
#define SMC_LLC_FC_ADD_LINK	0x02	/* ... ADD LINK */
#define SMC_LLC_FC_EYECATCHER	0x04	/* the peer insists on RMBE eye catchers: decline */
#define SMC_LLC_FC_BROKEN	0x08	/* link or group failed */

void smc_llc_fc_begin(struct smc_link *link, wait_queue_head_t *wq);
unsigned int smc_llc_fc_bits(struct smc_link *link);
/*
 * server: sends (or repeats) the CONFIRM LINK request; client: answers it;
 * repetitions of the request are answered by LLC itself from then on. The
 * handshake activates the link. 0, -ECONNABORTED, -ENOTCONN (client: no request
 * has come).
 */
int smc_llc_fc_confirm_link(struct smc_link *link);
/*
 * server: starts the ADD LINK exchange of the first contact: returns at once, the
 * request follows. Client: the answer (reject, no alternate path) is sent by LLC
 * itself. With one negotiated link there is no such exchange: the bit is set at
 * once, on both sides. -ECONNABORTED.
 */
int smc_llc_fc_add_link(struct smc_link *link);
/* After return @wq is not touched any more. May be called again, and without begin. */
void smc_llc_fc_end(struct smc_link *link);

/*
 * CONFIRM RKEY for a new region on @link (RFC 3.5.5.2.1). Sleeps until the
 * response, at most 2 s for each message (one; version 1 with many links: three), or until
 * @cancel is set. 0, -ETIMEDOUT, -EPERM (negative
 * answer), -ECONNABORTED, -ECANCELED.
 */
int smc_llc_rkey_confirm(struct smc_lgr *lgr, struct smc_link *link, struct smc_region *region,
			 const bool *cancel);
/* A region was added: those that are idle for long are to be given back. Any context. */
void smc_llc_give_later(struct smc_lgr *lgr);
/* TEST LINK over each link now; one without an answer in time ends. Any context. */
void smc_llc_probe(struct smc_lgr *lgr);
/*
 * Somebody at @gid begins anew: groups of @net that lead there may be of the past. Each
 * is probed at once by TEST LINK, whatever net.smc.smcr_testlink_time says; one that
 * does not answer in time ends. Process context.
 */
void smc_llc_suspect(struct net *net, const union ib_gid *gid);

/*
 * The operator's word: one more link; this one is to go. What then happens is for the two
 * hosts to agree upon, later. -errno: see there.
 */
int smc_llc_tend_add(struct smc_lgr *lgr);
int smc_llc_tend_delete(struct smc_lgr *lgr, u8 num);

/* DELETE LINK "all links": announces the end of the group, best effort, no response. */
void smc_llc_delete_all(struct smc_lgr *lgr, u32 reason, bool orderly);

#endif
