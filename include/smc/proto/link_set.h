/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which RNICs the links of a group join, and what a further link would make of it
 * (RFC 7609 sections 2.2.1 and 2.2.2).
 *
 * An RNIC is a number here, given by the caller: equal numbers are the same one. Those
 * of the two hosts have nothing to do with each other.
 */
#ifndef SMC_PROTO_LINK_SET_H
#define SMC_PROTO_LINK_SET_H

#include <smc/proto/types.h>

/* Symmetric links of a group: the most there may be, and those that make it redundant. */
#define SMC_LINKS_MAX		8
#define SMC_LINKS_REDUNDANT	2

/* Numbers of the netlink ABI. */
enum smc_link_set_type {
	SMC_LINKS_NONE,
	SMC_LINKS_SINGLE,
	SMC_LINKS_SYMMETRIC,	/* each link has an RNIC of its own at either end */
	SMC_LINKS_ASYM_PEER,	/* two links end at one RNIC of the peer */
	SMC_LINKS_ASYM_LOCAL,	/* two links end at one RNIC of ours */
	SMC_LINKS_TYPES
};

/* What a further link would be; those that are to be made are the last two. */
enum smc_link_fit {
	SMC_LINK_FIT_PARALLEL,	/* both RNICs are those of another link */
	SMC_LINK_FIT_USELESS,	/* asymmetric, and there is redundancy already */
	SMC_LINK_FIT_FULL,	/* as many links as were negotiated */
	SMC_LINK_FIT_ASYM,
	SMC_LINK_FIT_SYM,	/* also one that takes the place of an asymmetric one */
	SMC_LINK_FITS
};

/**
 * struct smc_link_ends - the RNICs of a link
 * @own: ours
 * @peer: the peer's
 */
struct smc_link_ends {
	u32 own;
	u32 peer;
};

enum smc_link_set_type smc_link_set_type(const struct smc_link_ends *set, u32 n);
enum smc_link_fit smc_link_set_fit(const struct smc_link_ends *set, u32 n,
				   const struct smc_link_ends *further, u32 max);
int smc_link_set_surplus(const struct smc_link_ends *set, u32 n, u32 max);
const char *smc_link_set_type_str(enum smc_link_set_type type);

#endif /* SMC_PROTO_LINK_SET_H */
