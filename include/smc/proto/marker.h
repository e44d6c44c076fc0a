/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The marker by which this implementation recognises itself.
 *
 * It consists of an OUI from the locally administered range (nobody owns it;
 * it merely is improbable elsewhere) and a version byte, and is sent in
 *   the vendor area of the Proposal: OUI, then the version as first option, flags as
 *   second, links per group as third;
 *   the vendor options of the first contact extension: OUI, then the version;
 *   an Accept of version 1, which has no such area, but only in answer to a marked
 *   Proposal: first byte of the OUI and version, in the two single reserved bytes.
 * The in-tree family sends zeros there and ignores what it receives.
 *
 * Nothing trusts the marker: any peer can send it, so it may select what is
 * tried or shown, never what is left unchecked.
 */
#ifndef SMC_PROTO_MARKER_H
#define SMC_PROTO_MARKER_H

#include <smc/proto/clc_msg.h>
#include <smc/proto/link_set.h>

#define SMC_MARKER_OUI0		0xd2
#define SMC_MARKER_OUI1		0x53
#define SMC_MARKER_OUI2		0x4d

/*
 * Links per group. A peer of our kind that says nothing of them, and every other one, has as
 * many as release 1 of version 2 allows. A Proposal says them here, since its own field is
 * looked at by others too. The answer stands in the first contact extension, whose marker
 * allows for more; in version 1 in the server's CONFIRM LINK.
 */

/* Zero is reserved for "no marker". */
#define SMC_MARKER_VERSION	1

/*
 * Flag of a Proposal: the GID for version 1 is one of RoCE v2, since the client has no
 * other; a server of another kind would take it for one of RoCE v1.
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
 * smc_marker_set_proposal() - mark a Proposal of version 2 as ours
 * @p: Proposal about to be built
 */
static inline void smc_marker_set_proposal(struct smc_clc_proposal *p)
{
	memset(p->vendor_opt, 0, sizeof(p->vendor_opt));
	smc_marker_put_oui(p->vendor_oui);
	p->vendor_opt[0] = SMC_MARKER_VERSION;
}

/**
 * smc_marker_of_proposal() - which marker version a Proposal carries
 * @p: parsed Proposal
 *
 * Return: the peer's marker version, 0 if there is no marker.
 */
static inline u8 smc_marker_of_proposal(const struct smc_clc_proposal *p)
{
	return smc_marker_is_oui(p->vendor_oui) ? p->vendor_opt[0] : 0;
}

/**
 * smc_marker_set_v1_over_v2() - version 1 is offered over RoCE v2
 * @p: marked Proposal about to be built
 */
static inline void smc_marker_set_v1_over_v2(struct smc_clc_proposal *p)
{
	p->vendor_opt[1] |= SMC_MARKER_V1_OVER_V2;
}

/**
 * smc_marker_v1_over_v2() - is version 1 offered over RoCE v2
 * @p: parsed Proposal
 *
 * Return: true if so.
 */
static inline bool smc_marker_v1_over_v2(const struct smc_clc_proposal *p)
{
	return smc_marker_of_proposal(p) && (p->vendor_opt[1] & SMC_MARKER_V1_OVER_V2);
}

/**
 * smc_marker_set_links() - how many links per group the client can have
 * @p: marked Proposal about to be built
 * @links: up to SMC_LINKS_MAX
 */
static inline void smc_marker_set_links(struct smc_clc_proposal *p, u8 links)
{
	p->vendor_opt[2] = links;
}

/**
 * smc_marker_links() - how many links per group the client can have
 * @p: parsed Proposal
 *
 * Return: 1..SMC_LINKS_MAX, 0 if it does not say.
 */
static inline u8 smc_marker_links(const struct smc_clc_proposal *p)
{
	if (!smc_marker_of_proposal(p))
		return 0;
	return p->vendor_opt[2] < SMC_LINKS_MAX ? p->vendor_opt[2] : SMC_LINKS_MAX;
}

/**
 * smc_marker_set_v1() - mark an Accept of version 1 as ours
 * @a: Accept about to be built, in answer to a marked Proposal
 */
static inline void smc_marker_set_v1(struct smc_clc_accept *a)
{
	a->reserved[0] = SMC_MARKER_OUI0;
	a->reserved[1] = SMC_MARKER_VERSION;
}

/**
 * smc_marker_of_v1() - which marker version an Accept of version 1 carries
 * @a: parsed Accept
 *
 * Return: the peer's marker version, 0 if there is no marker.
 */
static inline u8 smc_marker_of_v1(const struct smc_clc_accept *a)
{
	return a->reserved[0] == SMC_MARKER_OUI0 ? a->reserved[1] : 0;
}

/**
 * smc_marker_set_fce() - mark a first contact extension as ours
 * @fce: extension about to be built
 */
static inline void smc_marker_set_fce(struct smc_clc_fce *fce)
{
	smc_marker_put_oui(fce->vendor_opt);
	fce->vendor_opt[3] = SMC_MARKER_VERSION;
}

/**
 * smc_marker_of_fce() - which marker version a first contact extension carries
 * @fce: parsed extension; all zero if the message had none
 *
 * Return: the peer's marker version, 0 if there is no marker.
 */
static inline u8 smc_marker_of_fce(const struct smc_clc_fce *fce)
{
	return smc_marker_is_oui(fce->vendor_opt) ? fce->vendor_opt[3] : 0;
}

/**
 * smc_marker_fce_links_max() - how many links a first contact extension may speak of
 * @fce: parsed extension
 *
 * Return: the number.
 */
static inline u8 smc_marker_fce_links_max(const struct smc_clc_fce *fce)
{
	return smc_marker_of_fce(fce) ? SMC_LINKS_MAX : SMC_CLC_LINKS_MAX;
}

#endif
