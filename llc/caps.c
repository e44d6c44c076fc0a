// SPDX-License-Identifier: GPL-2.0-only
/*
 * CAPABILITIES: what this host can do beyond what the native tag means, and what its peer can
 * (include/smc/proto/peer_caps.h, decision 0020).
 *
 * Each side announces over each link that becomes usable: a message may be lost with its link.
 * Until one has arrived, and for ever if none does, the other side uses the form of RFC 7609.
 */
#include <smc/lgr/lgr.h>
#include <smc/lgr/link.h>
#include <smc/llc/llc.h>
#include <smc/proto/peer_caps.h>
#include <smc/rdma/wr.h>
#include "internal.h"

/**
 * smc_llc_announce_caps() - Announce the capabilities of this host to a native peer
 * @link: link that became usable
 *
 * Never waits: without a free send slot nothing is announced. Process context.
 */
void smc_llc_announce_caps(struct smc_link *link)
{
	const struct smc_lgr *lgr = link->lgr;
	struct smc_wr_slot *slot;
	struct smc_llc_msg msg;

	/* foreign peers ignore the message, too, but need not get any */
	if (!lgr->peer.caps)
		return;
	smc_llc_send_prepare(lgr->llc, &msg, SMC_LLC_CAPS, false);
	msg.version = 1;	/* the form of the message, in groups of both versions */
	msg.caps.bits = smc_peer_caps_to_announced(lgr->caps);
	slot = smc_llc_slot_try(link, &msg);
	if (slot)
		smc_llc_slot_post(link, slot, &msg);
}

/**
 * smc_llc_take_caps() - Take over the capabilities that the peer has announced
 * @lgr: group
 * @caps: the message
 *
 * Only those that this host has, too, and only from a peer with the native tag. None is taken back.
 *
 * Context: Softirq.
 */
void smc_llc_take_caps(struct smc_lgr *lgr, const struct smc_llc_caps *caps)
{
	u32 both = smc_peer_caps_of_announced(caps->bits) & lgr->caps;

	/* links of a group may receive side by side, but no other bits change */
	if (lgr->peer.caps)
		WRITE_ONCE(lgr->peer.caps, lgr->peer.caps | both);
}
