// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proposals of version 1, as foreign and as native peers send them. The server has only
 * RoCE v2, so it may accept only a Proposal that offers version 1 over RoCE v2. It declines
 * all others, each with its own diagnosis.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <smc/proto/peer_caps.h>

#include "evil.h"
#include "lib/ktap.h"

#define PREFIX_BITS	24	/* prefix length of the test bed's subnets */

/* The GID in the Proposal. */
enum gid_kind {
	GID_OWN,
	GID_ROCE_V1,	/* link-local, as RNICs have it */
	GID_IPV6,	/* not the address family of the connection */
	GID_MULTICAST,
};

/* Version 2 in the Proposal. */
enum v2_kind {
	V2_NOT,
	V2_NO_EID,	/* with an EID that no host has */
	V2_NO_PATH,	/* with a GID that cannot be reached */
};

/**
 * struct offer - a Proposal, and the server's answer to it
 * @name: for the note
 * @version: version of the Proposal's format
 * @v2: whether it offers version 2, too
 * @native: has the tag of a native peer
 * @flagged: has the flag for version 1 over RoCE v2
 * @other_net: has the prefix of another subnet
 * @gid: GID of the offer
 * @want: expected diagnosis of the Decline; SMC_CLC_DECL_NONE: an Accept of version 1
 */
struct offer {
	const char *name;
	u8 version;
	enum v2_kind v2;
	bool native;
	bool flagged;
	bool other_net;
	enum gid_kind gid;
	u32 want;
};

static const struct offer offers[] = {
	{ "RFC form", 1, V2_NOT, false, false, false, GID_ROCE_V1, SMC_CLC_DECL_NO_DEV_R },
	{ "RFC form, other subnet", 1, V2_NOT, false, false, true, GID_ROCE_V1,
	  SMC_CLC_DECL_PREFIX },
	{ "of a foreign peer", 2, V2_NOT, false, false, false, GID_ROCE_V1, SMC_CLC_DECL_NO_DEV_R },
	{ "of a native peer", 2, V2_NOT, true, false, false, GID_ROCE_V1, SMC_CLC_DECL_NO_DEV_R },
	{ "flag of a foreign peer", 2, V2_NOT, false, true, false, GID_OWN,
	  SMC_CLC_DECL_NO_DEV_R },
	{ "other subnet", 2, V2_NOT, true, true, true, GID_OWN, SMC_CLC_DECL_PREFIX },
	{ "GID of the other family", 2, V2_NOT, true, true, false, GID_IPV6,
	  SMC_CLC_DECL_NO_ROUTE },
	{ "multicast GID", 2, V2_NOT, true, true, false, GID_MULTICAST, SMC_CLC_DECL_NO_ROUTE },
	{ "no EID in common", 2, V2_NO_EID, false, false, false, GID_ROCE_V1,
	  SMC_CLC_DECL_NO_UEID },
	{ "over RoCE v2", 2, V2_NOT, true, true, false, GID_OWN, SMC_CLC_DECL_NONE },
	{ "over RoCE v2, no EID in common", 2, V2_NO_EID, true, true, false, GID_OWN,
	  SMC_CLC_DECL_NONE },
	{ "no path for version 2", 2, V2_NO_PATH, true, true, false, GID_OWN, SMC_CLC_DECL_NONE },
	{ "no path for either version", 2, V2_NO_PATH, true, true, false, GID_MULTICAST,
	  SMC_CLC_DECL_NO_ROUTE },
	{ "no path for version 2, other subnet", 2, V2_NO_PATH, true, true, true, GID_OWN,
	  SMC_CLC_DECL_NO_ROUTE },
	{ "no path for version 2, of a foreign peer", 2, V2_NO_PATH, false, false, false,
	  GID_ROCE_V1, SMC_CLC_DECL_NO_ROUTE },
};

static void gid_fill(const struct evil_target *t, enum gid_kind kind, u8 gid[SMC_GID_LEN])
{
	static const u8 fixed[][SMC_GID_LEN] = {
		[GID_ROCE_V1] = { 0xfe, 0x80, [8] = 0x50, 0x66, 0, 0xff, 0xfe, 0, 0x66, 1 },
		[GID_IPV6] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
		[GID_MULTICAST] = { [10] = 0xff, 0xff, 224, 0, 0, 1 },
	};

	memcpy(gid, fixed[kind], SMC_GID_LEN);
	if (kind != GID_OWN)
		return;
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &t->local.in.sin_addr, 4);
}

static void offer_build(const struct evil_target *t, const struct offer *o, struct evil_msg *m)
{
	struct smc_clc_proposal p;

	evil_proposal(m, &t->local);	/* sets a new peer ID */
	if (smc_clc_parse_proposal(m->buf, m->len, &p))
		memset(&p, 0, sizeof(p));
	p.version = o->version;
	p.v1_type = SMC_CLC_OFFER_R;
	switch (o->v2) {
	case V2_NO_EID:
		memcpy(p.v2.eids[0], "NOBODY-HAS-THIS", 15);
		break;
	case V2_NO_PATH:
		gid_fill(t, GID_MULTICAST, p.v2.gid);
		break;
	default:
		p.v2_type = SMC_CLC_OFFER_NONE;
		p.has_v2 = false;
	}
	if (o->native)
		smc_native_tag_set_proposal(&p);
	if (o->flagged)
		smc_native_tag_set_v1_over_v2(&p);
	smc_clc_proposal_set_prefix4(&p, (const u8 *)&t->local.in.sin_addr, PREFIX_BITS);
	p.v4_net[2] ^= o->other_net;
	gid_fill(t, o->gid, p.gid);
	m->len = smc_clc_build_proposal(&p, m->buf, sizeof(m->buf));
}

/* Returns what is wrong with a native peer's Accept of version 1, or NULL. */
static const char *accept_fault(const struct evil_msg *m)
{
	struct smc_clc_accept a;

	if (smc_clc_parse_accept(m->buf, m->len, &a) || a.is_confirm)
		return "not an Accept";
	if (a.version != 1 || m->len != SMC_CLC_ACCEPT_V1_LEN)
		return "not of version 1";
	return smc_peer_caps_of_v1(&a) & SMC_CAP_V1_OVER_V2 ? NULL : "without native tag";
}

/* A Confirm without the first contact flag, as in version 1, and with an invalid MTU code. */
static bool confirm_send_bad(const struct evil_target *t, int fd)
{
	struct smc_clc_decline d;
	struct smc_clc_accept a;
	struct evil_msg m, got;

	evil_accept(&m, &t->local, NULL, true, true);
	if (smc_clc_parse_accept(m.buf, m.len, &a))
		return false;
	a.version = 1;
	a.first_contact = false;
	a.mtu = 0;
	m.len = smc_clc_build_accept(&a, m.buf, sizeof(m.buf));
	evil_write(fd, m.buf, m.len);
	if (evil_read(fd, t->deadline_ms, &got) == EVIL_DECLINE &&
	    !smc_clc_parse_decline(got.buf, got.len, &d) && d.diag == SMC_CLC_DECL_CONFIG)
		return evil_tcp_works(fd, t->seed);
	ktap_note("a Confirm with MTU code 0 is not declined");
	return false;
}

static bool offer_run(const struct evil_target *t, const struct offer *o)
{
	u32 diag = SMC_CLC_DECL_NONE;
	struct smc_clc_decline d;
	struct evil_msg m, got;
	const char *fault = NULL;
	enum evil_end end;
	int fd = evil_connect(t);
	bool ok = false;

	if (fd < 0)
		return false;
	offer_build(t, o, &m);
	evil_write(fd, m.buf, m.len);
	end = evil_read(fd, t->deadline_ms, &got);
	if (end == EVIL_DECLINE && !smc_clc_parse_decline(got.buf, got.len, &d))
		diag = d.diag;
	if (end == EVIL_ACCEPT)
		fault = accept_fault(&got);
	if (diag != o->want || fault || (end != EVIL_DECLINE && end != EVIL_ACCEPT))
		ktap_note("offer %s: server %s %08x %s", o->name, evil_end_name(end), diag,
			  fault ? fault : "");
	else
		ok = end == EVIL_ACCEPT ? confirm_send_bad(t, fd) : evil_tcp_works(fd, t->seed);
	close(fd);
	return ok;
}

bool evil_version_1(const struct evil_target *t)
{
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(offers); i++)
		ok &= offer_run(t, &offers[i]);
	return ok;
}
