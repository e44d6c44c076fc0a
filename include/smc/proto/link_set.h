/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RNICs of the links of a group, and the use of one more link (RFC 7609 sections 2.2.1 and 2.2.2).
 *
 * The caller identifies an RNIC by a number: equal numbers are the same RNIC. Numbers of the two
 * hosts are independent.
 */
#ifndef SMC_PROTO_LINK_SET_H
#define SMC_PROTO_LINK_SET_H

#include <smc/proto/types.h>

/* Symmetric links of a group: the maximum, and the number that makes it redundant. */
#define SMC_LINKS_MAX		8
#define SMC_LINKS_REDUNDANT	2

/* Types of redundancy; numbers are those of the netlink ABI. */
enum smc_link_set_type {
	SMC_LINKS_NONE,
	SMC_LINKS_SINGLE,
	SMC_LINKS_SYMMETRIC,	/* each link has an RNIC of its own at either end */
	SMC_LINKS_ASYM_PEER,	/* two links end at one RNIC of the peer */
	SMC_LINKS_ASYM_LOCAL,	/* two links end at one local RNIC */
	SMC_LINKS_TYPES
};

/* Use of one more link; only the last two are worth making. */
enum smc_link_fit {
	SMC_LINK_FIT_PARALLEL,	/* same two RNICs as an existing link */
	SMC_LINK_FIT_USELESS,	/* asymmetric, and the group is redundant already */
	SMC_LINK_FIT_FULL,	/* the group has the negotiated number of links */
	SMC_LINK_FIT_ASYM,
	SMC_LINK_FIT_SYM,	/* symmetric, or replaces an asymmetric link */
	SMC_LINK_FITS
};

/**
 * struct smc_link_ends - RNICs of a link
 * @own: number of the local RNIC
 * @peer: number of the peer's RNIC
 */
struct smc_link_ends {
	u32 own;
	u32 peer;
};

enum smc_link_set_type smc_link_set_type(const struct smc_link_ends *set, u32 n);
enum smc_link_fit smc_link_set_classify(const struct smc_link_ends *set, u32 n,
					const struct smc_link_ends *further, u32 max);
int smc_link_set_redundant(const struct smc_link_ends *set, u32 n, u32 max);
const char *smc_link_set_type_str(enum smc_link_set_type type);

#endif /* SMC_PROTO_LINK_SET_H */
