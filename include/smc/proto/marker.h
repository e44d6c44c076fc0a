/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recognition of native peers, which run this implementation.
 *
 * The marker consists of an OUI from the locally administered range (unassigned, and improbable
 * elsewhere) and a version byte. It is sent in
 *   - the vendor area of the Proposal: OUI, then the version as first option, flags as second,
 *     links per group as third;
 *   - the vendor options of the first contact extension: OUI, then the version;
 *   - an Accept of version 1, which has no such area, only in answer to a marked Proposal: first
 *     byte of the OUI and version, in the two single reserved bytes.
 * The in-tree family sends zeros there and ignores received values.
 *
 * The marker is not authenticated, any peer can send it. So it may select what is tried or shown,
 * but never what is left unchecked.
 */
#ifndef SMC_PROTO_MARKER_H
#define SMC_PROTO_MARKER_H

#include <smc/proto/clc_msg.h>
#include <smc/proto/link_set.h>

#define SMC_MARKER_OUI0		0xd2
#define SMC_MARKER_OUI1		0x53
#define SMC_MARKER_OUI2		0x4d

/* Zero means "no marker", a foreign peer. */
#define SMC_MARKER_VERSION	1

/*
 * Flag of a Proposal: the GID for version 1 is a RoCE v2 GID, because the client has no other. A
 * foreign server would take it for a RoCE v1 GID.
 */
#define SMC_MARKER_V1_OVER_V2	0x01

static inline void smc_marker_put_oui(u8 *p)
{
	p[0] = SMC_MARKER_OUI0;
	p[1] = SMC_MARKER_OUI1;
	p[2] = SMC_MARKER_OUI2;
}

static inline bool smc_marker_is_oui(const u8 *p)
{
	return p[0] == SMC_MARKER_OUI0 && p[1] == SMC_MARKER_OUI1 &&
	       p[2] == SMC_MARKER_OUI2;
}

/**
 * smc_marker_set_proposal() - Put the marker into a Proposal of version 2
 * @p: Proposal about to be built
 */
static inline void smc_marker_set_proposal(struct smc_clc_proposal *p)
{
	memset(p->vendor_opt, 0, sizeof(p->vendor_opt));
	smc_marker_put_oui(p->vendor_oui);
	p->vendor_opt[0] = SMC_MARKER_VERSION;
}

/**
 * smc_marker_of_proposal() - Return the marker version in a Proposal
 * @p: parsed Proposal
 *
 * Return: the peer's marker version, 0 for a foreign peer.
 */
static inline u8 smc_marker_of_proposal(const struct smc_clc_proposal *p)
{
	return smc_marker_is_oui(p->vendor_oui) ? p->vendor_opt[0] : 0;
}

/**
 * smc_marker_set_v1_over_v2() - Offer version 1 over RoCE v2
 * @p: marked Proposal about to be built
 */
static inline void smc_marker_set_v1_over_v2(struct smc_clc_proposal *p)
{
	p->vendor_opt[1] |= SMC_MARKER_V1_OVER_V2;
}

/**
 * smc_marker_v1_over_v2() - Check whether version 1 is offered over RoCE v2
 * @p: parsed Proposal
 *
 * Return: true if so.
 */
static inline bool smc_marker_v1_over_v2(const struct smc_clc_proposal *p)
{
	return smc_marker_of_proposal(p) && (p->vendor_opt[1] & SMC_MARKER_V1_OVER_V2);
}

/**
 * smc_marker_set_links() - Offer a number of links per group
 * @p: marked Proposal about to be built
 * @links: up to SMC_LINKS_MAX
 *
 * The Proposal's own field is also read by foreign servers, so larger numbers are sent here. The
 * server answers in the first contact extension, where a marker permits more than
 * SMC_CLC_LINKS_MAX; in version 1 in its CONFIRM LINK.
 */
static inline void smc_marker_set_links(struct smc_clc_proposal *p, u8 links)
{
	p->vendor_opt[2] = links;
}

/**
 * smc_marker_links() - Return the number of links per group that the client offers
 * @p: parsed Proposal
 *
 * Return: 1..SMC_LINKS_MAX; 0 if not given, as by foreign peers: SMC_CLC_LINKS_MAX then applies.
 */
static inline u8 smc_marker_links(const struct smc_clc_proposal *p)
{
	if (!smc_marker_of_proposal(p))
		return 0;
	return p->vendor_opt[2] < SMC_LINKS_MAX ? p->vendor_opt[2] : SMC_LINKS_MAX;
}

/**
 * smc_marker_set_v1() - Put the marker into an Accept of version 1
 * @a: Accept about to be built, in answer to a marked Proposal
 */
static inline void smc_marker_set_v1(struct smc_clc_accept *a)
{
	a->reserved[0] = SMC_MARKER_OUI0;
	a->reserved[1] = SMC_MARKER_VERSION;
}

/**
 * smc_marker_of_v1() - Return the marker version in an Accept of version 1
 * @a: parsed Accept
 *
 * Return: the peer's marker version, 0 for a foreign peer.
 */
static inline u8 smc_marker_of_v1(const struct smc_clc_accept *a)
{
	return a->reserved[0] == SMC_MARKER_OUI0 ? a->reserved[1] : 0;
}

/**
 * smc_marker_set_fce() - Put the marker into a first contact extension
 * @fce: extension about to be built
 */
static inline void smc_marker_set_fce(struct smc_clc_fce *fce)
{
	smc_marker_put_oui(fce->vendor_opt);
	fce->vendor_opt[3] = SMC_MARKER_VERSION;
}

/**
 * smc_marker_of_fce() - Return the marker version in a first contact extension
 * @fce: parsed extension; all zero if the message had none
 *
 * Return: the peer's marker version, 0 for a foreign peer.
 */
static inline u8 smc_marker_of_fce(const struct smc_clc_fce *fce)
{
	return smc_marker_is_oui(fce->vendor_opt) ? fce->vendor_opt[3] : 0;
}

/**
 * smc_marker_fce_links_max() - Return the largest number of links a first contact extension may
 * have
 * @fce: parsed extension
 *
 * Return: the number.
 */
static inline u8 smc_marker_fce_links_max(const struct smc_clc_fce *fce)
{
	return smc_marker_of_fce(fce) ? SMC_LINKS_MAX : SMC_CLC_LINKS_MAX;
}

#endif
