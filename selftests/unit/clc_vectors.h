/* SPDX-License-Identifier: GPL-2.0-only */
/* CLC messages known to be right, and their parsed form. */
#ifndef SMC_UNIT_CLC_VECTORS_H
#define SMC_UNIT_CLC_VECTORS_H

#include <smc/proto/clc_msg.h>
#include "unit.h"

#define MSG_MAX (SMC_CLC_MAX_LEN + 64)

/* Values that all vectors share */
#define GID_V1	{ 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x9a, 0x03, 0x9b, 0xff, \
		  0xfe, 0xab, 0xcd, 0xef }
#define GID_V2	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 1, 10 }
#define MAC	{ 0x98, 0x03, 0x9b, 0xab, 0xcd, 0xef }
#define PEER(a, b) { a, b, 0x98, 0x03, 0x9b, 0xab, 0xcd, 0xef }
#define EID	"TEST-EID-1                      "
#define EID_HEX	"54455354 2d454944 2d312020 20202020 20202020 20202020" \
		"20202020 20202020"
#define FCE_HEX	"80210000 74657374 686f7374 20202020 20202020 20202020" \
		"20202020 20202020 20202020 ff020001 00000000 00000000 00000000"

/* Captured: an old client, RFC form, on 127.0.0.1/8 */
#define PROP_V1_HEX \
	"e2d4c3d9 01003410 b1a09803 9babcdef fe800000 00000000 9a039bff" \
	"feabcdef 98039bab cdef0000 7f000000 08000000 e2d4c3d9"
/* Captured: the same on ::1/128 */
#define PROP_V1_IP6_HEX \
	"e2d4c3d9 01004510 39449803 9babcdef fe800000 00000000 9a039bff" \
	"feabcdef 98039bab cdef0000 00000000 00000001 00000000 00000000" \
	"00000000 00000001 80e2d4c3 d9"
/* As a current in-tree client sends it without a user EID */
#define PROP_AREA_HEX \
	"e2d4c3d9 01005c28 1a2b9803 9babcdef fe800000 00000000 9a039bff" \
	"feabcdef 98039bab cdef0028 00000000 00000000 00000000 00000000" \
	"00000000 00000000 00000000 00000000 00000000 00000000 c0a80100" \
	"18000000 e2d4c3d9"
/* Version 1 and 2.1 */
#define PROP_BOTH_HEX \
	"e2d4c3d9 0100a420 1a2b9803 9babcdef fe800000 00000000 9a039bff" \
	"feabcdef 98039bab cdef0028 00000000 00000000 00000024 00000000" \
	"00000000 00000000 00000000 00000000 00000000 00000000 c0a80100" \
	"18000000 01000010 00000000 00000000 00000000 0000ffff c0a8010a" \
	"ff020001 00000000 00000000 00000000" EID_HEX "e2d4c3d9"
/* Version 2.1 alone */
#define PROP_V2_HEX \
	"e2d4c3d9 01009c22 1a2b9803 9babcdef fe800000 00000000 9a039bff" \
	"feabcdef 98039bab cdef0000 00000000 00000000 0000001c 00000000" \
	"00000000 00000000 00000000 00000000 00000000 00000000 01000010" \
	"00000000 00000000 00000000 0000ffff c0a8010a ff020001 00000000" \
	"00000000 00000000" EID_HEX "e2d4c3d9"
/* Captured */
#define ACCEPT_V1_HEX \
	"e2d4c3d9 02004418 b1a09803 9babcdef fe800000 00000000 9a039bff" \
	"feabcdef 98039bab cdef0000 e4000015 7d010000 00052300 00000000" \
	"f0a60000 0072f5fe e2d4c3d9"
/* Captured */
#define CONFIRM_V1_HEX \
	"e2d4c3d9 03004410 b1a09803 9babcdef fe800000 00000000 9a039bff" \
	"feabcdef 98039bab cdef0000 e5000018 7f010000 00062300 00000000" \
	"f0a40000 000d89a4 e2d4c3d9"
#define ACCEPT_FIRST_HEX \
	"e2d4c3d9 0200a028 1a2b9803 9babcdef 00000000 00000000 0000ffff" \
	"c0a8010a 98039bab cdef0000 e4000015 7d010000 00052300 00000000" \
	"f0a60000 0072f5fe" EID_HEX "00000000 00000000" FCE_HEX "e2d4c3d9"
#define CONFIRM_FIRST_HEX \
	"e2d4c3d9 0300b428 1a2b9803 9babcdef 00000000 00000000 0000ffff" \
	"c0a8010a 98039bab cdef0000 e5000018 7f010000 00062300 00000000" \
	"f0a40000 000d89a4" EID_HEX "00000000 00000000" FCE_HEX \
	"01000000 00000000 00000000 0000ffff c0a8010a e2d4c3d9"
#define ACCEPT_NEXT_HEX \
	"e2d4c3d9 02006c20 1a2b9803 9babcdef 00000000 00000000 0000ffff" \
	"c0a8010a 98039bab cdef0000 e4000015 7d010000 00072300 00000000" \
	"f0a60000 0072f5fe" EID_HEX "00000000 00000000 e2d4c3d9"
/* Captured; the peer ID is junk */
#define DECLINE_V1_HEX \
	"e2d4c3d9 04001c10 25252525 25252500 03030000 00000000 e2d4c3d9"
#define DECLINE_V2_HEX \
	"e2d4c3d9 04002c20 1a2b9803 9babcdef 03030008 20000000 00000000" \
	"00000000 00000000 00000000 e2d4c3d9"

static const char *const vectors[] = {
	PROP_V1_HEX, PROP_V1_IP6_HEX, PROP_AREA_HEX, PROP_BOTH_HEX,
	PROP_V2_HEX, ACCEPT_V1_HEX, CONFIRM_V1_HEX, ACCEPT_FIRST_HEX,
	CONFIRM_FIRST_HEX, ACCEPT_NEXT_HEX, DECLINE_V1_HEX, DECLINE_V2_HEX,
};

#define V2_OFFER {							\
	.release = 1, .gid = GID_V2, .max_conns = 255, .max_links = 2,	\
	.features = 1, .eid_count = 1, .eids = { EID },			\
}

static const struct {
	const char *hex;
	struct smc_clc_proposal p;
} proposals[] = {
	{ PROP_V1_HEX, {
		.version = 1, .v2_type = SMC_CLC_OFFER_NONE,
		.peer_id = PEER(0xb1, 0xa0), .gid = GID_V1, .mac = MAC,
		.v4_net = { 127 }, .v4_len = 8 } },
	{ PROP_V1_IP6_HEX, {
		.version = 1, .v2_type = SMC_CLC_OFFER_NONE,
		.peer_id = PEER(0x39, 0x44), .gid = GID_V1, .mac = MAC,
		.v6_count = 1, .v6 = { { { [15] = 1 }, 128 } } } },
	{ PROP_AREA_HEX, {
		.version = 2, .v2_type = SMC_CLC_OFFER_NONE,
		.peer_id = PEER(0x1a, 0x2b), .gid = GID_V1, .mac = MAC,
		.v4_net = { 192, 168, 1, 0 }, .v4_len = 24 } },
	{ PROP_BOTH_HEX, {
		.version = 2,
		.peer_id = PEER(0x1a, 0x2b), .gid = GID_V1, .mac = MAC,
		.v4_net = { 192, 168, 1, 0 }, .v4_len = 24,
		.has_v2 = true, .v2 = V2_OFFER } },
	{ PROP_V2_HEX, {
		.version = 2, .v1_type = SMC_CLC_OFFER_NONE,
		.peer_id = PEER(0x1a, 0x2b), .gid = GID_V1, .mac = MAC,
		.has_v2 = true, .v2 = V2_OFFER } },
};

#define SERVER_V1 \
	.gid = GID_V1, .mac = MAC, .qpn = 228, .rkey = 5501, .rmbe_idx = 1, \
	.token = 5, .bsize = 2, .mtu = SMC_MTU_1024, .vaddr = 0xf0a60000, \
	.psn = 7534078
#define SERVER_V2(tok) \
	.version = 2, .peer_id = PEER(0x1a, 0x2b), .gid = GID_V2, .mac = MAC, \
	.qpn = 228, .rkey = 5501, .rmbe_idx = 1, .token = tok, .bsize = 2, \
	.mtu = SMC_MTU_1024, .vaddr = 0xf0a60000, .psn = 7534078, .eid = EID
#define FCE { \
	.direct = true, .os = SMC_CLC_OS_LINUX, .release = 1, \
	.hostname = "testhost                        ", .max_conns = 255, \
	.max_links = 2, .features = 1 }

static const struct {
	const char *hex;
	struct smc_clc_accept a;
} accepts[] = {
	{ ACCEPT_V1_HEX, {
		.version = 1, .first_contact = true,
		.peer_id = PEER(0xb1, 0xa0), SERVER_V1 } },
	{ CONFIRM_V1_HEX, {
		.is_confirm = true, .version = 1,
		.peer_id = PEER(0xb1, 0xa0), .gid = GID_V1, .mac = MAC,
		.qpn = 229, .rkey = 6271, .rmbe_idx = 1, .token = 6,
		.bsize = 2, .mtu = SMC_MTU_1024, .vaddr = 0xf0a40000,
		.psn = 887204 } },
	{ ACCEPT_FIRST_HEX, {
		.first_contact = true, SERVER_V2(5), .fce = FCE } },
	{ CONFIRM_FIRST_HEX, {
		.is_confirm = true, .version = 2, .first_contact = true,
		.peer_id = PEER(0x1a, 0x2b), .gid = GID_V2, .mac = MAC,
		.qpn = 229, .rkey = 6271, .rmbe_idx = 1, .token = 6,
		.bsize = 2, .mtu = SMC_MTU_1024, .vaddr = 0xf0a40000,
		.psn = 887204, .eid = EID, .fce = FCE,
		.gid_count = 1, .gids = { GID_V2 } } },
	{ ACCEPT_NEXT_HEX, { SERVER_V2(7) } },
};

static const struct {
	const char *hex;
	struct smc_clc_decline d;
} declines[] = {
	{ DECLINE_V1_HEX, {
		.version = 1, .peer_id = "%%%%%%%", .diag = 0x03030000 } },
	{ DECLINE_V2_HEX, {
		.version = 2, .peer_id = PEER(0x1a, 0x2b),
		.diag = SMC_CLC_DECL_NO_UEID, .os = SMC_CLC_OS_LINUX } },
};

static void same_v2(const struct smc_clc_v2_offer *a,
		    const struct smc_clc_v2_offer *b)
{
	CHECK_EQ(a->release, b->release);
	CHECK_MEM(a->gid, b->gid, sizeof(a->gid));
	CHECK_EQ(a->max_conns, b->max_conns);
	CHECK_EQ(a->max_links, b->max_links);
	CHECK_EQ(a->features, b->features);
	CHECK_EQ(a->eid_count, b->eid_count);
	CHECK_MEM(a->eids, b->eids, sizeof(a->eids));
}

static inline void same_proposal(const struct smc_clc_proposal *a,
				 const struct smc_clc_proposal *b)
{
	int i;

	CHECK_EQ(a->version, b->version);
	CHECK_EQ(a->v1_type, b->v1_type);
	CHECK_EQ(a->v2_type, b->v2_type);
	CHECK_MEM(a->peer_id, b->peer_id, sizeof(a->peer_id));
	CHECK_MEM(a->gid, b->gid, sizeof(a->gid));
	CHECK_MEM(a->mac, b->mac, sizeof(a->mac));
	CHECK_MEM(a->vendor_oui, b->vendor_oui, sizeof(a->vendor_oui));
	CHECK_MEM(a->vendor_opt, b->vendor_opt, sizeof(a->vendor_opt));
	CHECK_MEM(a->v4_net, b->v4_net, sizeof(a->v4_net));
	CHECK_EQ(a->v4_len, b->v4_len);
	CHECK_EQ(a->v6_count, b->v6_count);
	for (i = 0; i < SMC_CLC_MAX_PREFIX6; i++) {
		CHECK_MEM(a->v6[i].addr, b->v6[i].addr, 16);
		CHECK_EQ(a->v6[i].len, b->v6[i].len);
	}
	CHECK_EQ(a->has_v2, b->has_v2);
	same_v2(&a->v2, &b->v2);
}

static void same_fce(const struct smc_clc_fce *a, const struct smc_clc_fce *b)
{
	CHECK_EQ(a->direct, b->direct);
	CHECK_EQ(a->os, b->os);
	CHECK_EQ(a->release, b->release);
	CHECK_MEM(a->hostname, b->hostname, sizeof(a->hostname));
	CHECK_EQ(a->max_conns, b->max_conns);
	CHECK_EQ(a->max_links, b->max_links);
	CHECK_EQ(a->features, b->features);
	CHECK_MEM(a->vendor_opt, b->vendor_opt, sizeof(a->vendor_opt));
}

static inline void same_accept(const struct smc_clc_accept *a,
			       const struct smc_clc_accept *b)
{
	CHECK_EQ(a->is_confirm, b->is_confirm);
	CHECK_EQ(a->version, b->version);
	CHECK_EQ(a->first_contact, b->first_contact);
	CHECK_MEM(a->peer_id, b->peer_id, sizeof(a->peer_id));
	CHECK_MEM(a->gid, b->gid, sizeof(a->gid));
	CHECK_MEM(a->mac, b->mac, sizeof(a->mac));
	CHECK_EQ(a->qpn, b->qpn);
	CHECK_EQ(a->rkey, b->rkey);
	CHECK_EQ(a->rmbe_idx, b->rmbe_idx);
	CHECK_EQ(a->token, b->token);
	CHECK_EQ(a->bsize, b->bsize);
	CHECK_EQ(a->mtu, b->mtu);
	CHECK_EQ(a->vaddr, b->vaddr);
	CHECK_EQ(a->psn, b->psn);
	CHECK_MEM(a->reserved, b->reserved, sizeof(a->reserved));
	CHECK_MEM(a->eid, b->eid, sizeof(a->eid));
	same_fce(&a->fce, &b->fce);
	CHECK_EQ(a->gid_count, b->gid_count);
	CHECK_MEM(a->gids, b->gids, sizeof(a->gids));
}

static inline void same_decline(const struct smc_clc_decline *a,
				const struct smc_clc_decline *b)
{
	int i;

	CHECK_EQ(a->version, b->version);
	CHECK_EQ(a->out_of_sync, b->out_of_sync);
	CHECK_MEM(a->peer_id, b->peer_id, sizeof(a->peer_id));
	CHECK_EQ(a->diag, b->diag);
	CHECK_EQ(a->os, b->os);
	for (i = 0; i < 4; i++)
		CHECK_EQ(a->extra[i], b->extra[i]);
}

/* Any parsed form */
union any {
	struct smc_clc_proposal p;
	struct smc_clc_accept a;
	struct smc_clc_decline d;
};

#endif
