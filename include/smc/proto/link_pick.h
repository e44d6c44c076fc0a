/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choice of the link of a group that a connection sends over (RFC 7609 section 2.3: each side
 * balances its connections as it likes).
 */
#ifndef SMC_PROTO_LINK_PICK_H
#define SMC_PROTO_LINK_PICK_H

#include <smc/proto/types.h>

#define SMC_LINK_POLICY_NET	(-1)	/* of a connection: that of its namespace */

/* Values of the sysctl net.smc.smcr_link_policy, and of SMC_OWN_LINK_POLICY. */
enum smc_link_policy {
	SMC_LINK_BY_CONNS,	/* fewest connections */
	SMC_LINK_ROUND_ROBIN,	/* round robin */
	SMC_LINK_BY_BYTES,	/* fewest bytes in flight */
	SMC_LINK_BY_LATENCY,	/* shortest time from a request to its completion */
	SMC_LINK_FIRST_RNIC,	/* others are spare: used while the first RNIC has no usable link */
	SMC_LINK_POLICIES
};

/**
 * struct smc_link_load - Load of one link
 * @usable: it may be picked
 * @conns: connections that send over it
 * @bytes: bytes of WRITEs that have not completed
 * @latency: time from posting a request to its completion, smoothed; 0: no sample
 * @first: it uses the RNIC over which the group began
 */
struct smc_link_load {
	bool usable;
	u32 conns;
	u64 bytes;
	u32 latency;
	bool first;
};

int smc_link_pick(enum smc_link_policy policy, const struct smc_link_load *load, u32 n, u32 last);
int smc_link_pick_better(enum smc_link_policy policy, const struct smc_link_load *load, u32 n,
			 u32 from);
u32 smc_link_latency_smooth(u32 latency, u64 sample);

#endif /* SMC_PROTO_LINK_PICK_H */
