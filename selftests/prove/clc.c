// SPDX-License-Identifier: GPL-2.0-only
/* CLC messages: any bytes of any length that may be received; what is built is parsed again. */
#include <smc/proto/clc_msg.h>
#include "prove.h"

/* A reader takes no longer message: clc_header proves that. */
static u8 *any_message(size_t *len)
{
	*len = nondet_size();
	GIVEN(*len <= SMC_CLC_MAX_LEN);
	return any_bytes(*len);
}

void clc_header(void)
{
	u8 *buf = any_bytes(SMC_CLC_HEAD_LEN);
	struct smc_clc_head head, before = head;
	size_t i = any_index(sizeof(head));
	int rc = smc_clc_parse_header(buf, &head);

	PROVE(!rc || rc == -EPROTO);
	if (rc) {
		PROVE(((u8 *)&head)[i] == ((u8 *)&before)[i]);
		return;
	}
	PROVE(head.len >= SMC_CLC_DECLINE_V1_LEN && head.len <= SMC_CLC_MAX_LEN);
	PROVE(head.type >= SMC_CLC_PROPOSAL && head.type <= SMC_CLC_DECLINE);
	PROVE(head.version >= 1 && head.version <= 15 && head.flags <= 15);
}

void clc_proposal(void)
{
	struct smc_clc_proposal p, before = p;
	size_t len, i = any_index(sizeof(p)), k = any_index(SMC_CLC_MAX_PREFIX6);
	u8 *buf = any_message(&len);
	int rc = smc_clc_parse_proposal(buf, len, &p);

	PROVE(!rc || rc == -EPROTO || rc == -EOPNOTSUPP);
	if (rc) {
		PROVE(((u8 *)&p)[i] == ((u8 *)&before)[i]);
		return;
	}
	PROVE(p.version >= 1 && p.version <= 15);
	PROVE(p.v1_type <= SMC_CLC_OFFER_BOTH && p.v2_type <= SMC_CLC_OFFER_BOTH);
	PROVE(p.v4_len <= 32);
	PROVE(p.v6_count <= SMC_CLC_MAX_PREFIX6);
	PROVE(p.v6[k].len <= 128);
	PROVE(p.v2.eid_count <= SMC_CLC_MAX_EIDS);
	PROVE(p.has_v2 || !p.v2.eid_count);
}

void clc_accept(void)
{
	struct smc_clc_accept a, before = a;
	size_t len, i = any_index(sizeof(a));
	u8 *buf = any_message(&len);
	u64 span;
	int rc = smc_clc_parse_accept(buf, len, &a);

	PROVE(!rc || rc == -EPROTO || rc == -EOPNOTSUPP);
	if (rc) {
		PROVE(((u8 *)&a)[i] == ((u8 *)&before)[i]);
		return;
	}
	PROVE(a.version == 1 || a.version == 2);
	PROVE(a.bsize <= 15 && a.mtu <= 15);
	PROVE(a.qpn <= 0xffffff && a.psn <= 0xffffff);
	PROVE(a.gid_count <= SMC_CLC_MAX_GIDS);
	PROVE(a.rmbe_idx);
	span = (u64)smc_wire_bsize_to_len(a.bsize) * a.rmbe_idx;
	PROVE(a.vaddr + (span - 1) >= a.vaddr);
}

void clc_decline(void)
{
	struct smc_clc_decline d, before = d;
	size_t len, i = any_index(sizeof(d));
	u8 *buf = any_message(&len);
	int rc = smc_clc_parse_decline(buf, len, &d);

	PROVE(!rc || rc == -EPROTO);
	if (rc) {
		PROVE(((u8 *)&d)[i] == ((u8 *)&before)[i]);
		return;
	}
	PROVE(d.version >= 1 && d.version <= 15 && d.os <= 15);
}

/* The builders get any room, and write nowhere else. */
static u8 *any_room(size_t *cap)
{
	*cap = nondet_size();
	GIVEN(*cap <= SMC_CLC_BUILD_MAX);
	return any_bytes(*cap);
}

/* Check the result of a builder; true if there is a message. */
static bool is_built(int len, size_t cap)
{
	PROVE(len == -EINVAL || len == -ENOSPC || (len > 0 && (size_t)len <= cap));
	PROVE(len != -ENOSPC || cap < SMC_CLC_BUILD_MAX);
	return len > 0;
}

void clc_build_proposal(void)
{
	size_t cap, k = any_index(SMC_CLC_MAX_PREFIX6);
	struct smc_clc_proposal p, q;
	u8 *buf = any_room(&cap);
	int len = smc_clc_build_proposal(&p, buf, cap);

	if (!is_built(len, cap))
		return;
	PROVE(!smc_clc_parse_proposal(buf, len, &q));
	PROVE(q.version == p.version && q.v1_type == p.v1_type && q.v2_type == p.v2_type);
	PROVE_SAME(q.gid, p.gid);
	PROVE_SAME(q.peer_id, p.peer_id);
	PROVE_SAME(q.mac, p.mac);
	if (p.version == 2) {
		PROVE_SAME(q.vendor_oui, p.vendor_oui);
		PROVE_SAME(q.vendor_opt, p.vendor_opt);
	}
	if (p.v1_type != SMC_CLC_OFFER_NONE) {
		PROVE_SAME(q.v4_net, p.v4_net);
		PROVE(q.v4_len == p.v4_len && q.v6_count == p.v6_count);
		if (k < p.v6_count) {
			PROVE(q.v6[k].len == p.v6[k].len);
			PROVE_SAME(q.v6[k].addr, p.v6[k].addr);
		}
	}
	PROVE(!q.has_v2 == !p.has_v2);
	if (!p.has_v2)
		return;
	PROVE(q.v2.release == p.v2.release && q.v2.features == p.v2.features);
	PROVE(q.v2.max_conns == p.v2.max_conns && q.v2.max_links == p.v2.max_links);
	PROVE_SAME(q.v2.gid, p.v2.gid);
	PROVE(q.v2.eid_count == p.v2.eid_count);
	k = any_index(SMC_CLC_MAX_EIDS);
	if (k < p.v2.eid_count)
		PROVE_SAME(q.v2.eids[k], p.v2.eids[k]);
}

void clc_build_accept(void)
{
	size_t cap, k = any_index(SMC_CLC_MAX_GIDS);
	struct smc_clc_accept a, c;
	u8 *buf = any_room(&cap);
	int len = smc_clc_build_accept(&a, buf, cap);

	if (!is_built(len, cap))
		return;
	PROVE(!smc_clc_parse_accept(buf, len, &c));
	PROVE(!c.is_confirm == !a.is_confirm && !c.first_contact == !a.first_contact);
	PROVE(c.version == a.version && c.qpn == a.qpn && c.psn == a.psn);
	PROVE_SAME(c.gid, a.gid);
	PROVE_SAME(c.peer_id, a.peer_id);
	PROVE_SAME(c.mac, a.mac);
	PROVE(c.rkey == a.rkey && c.rmbe_idx == a.rmbe_idx && c.token == a.token);
	PROVE(c.bsize == a.bsize && c.mtu == a.mtu && c.vaddr == a.vaddr);
	if (a.version == 1) {
		PROVE_SAME(c.reserved, a.reserved);
		return;
	}
	PROVE_SAME(c.eid, a.eid);
	if (!a.first_contact)
		return;
	PROVE(!c.fce.direct == !a.fce.direct && c.fce.os == a.fce.os);
	PROVE(c.fce.release == a.fce.release && c.fce.features == a.fce.features);
	PROVE_SAME(c.fce.hostname, a.fce.hostname);
	PROVE(c.fce.max_conns == a.fce.max_conns && c.fce.max_links == a.fce.max_links);
	PROVE_SAME(c.fce.vendor_opt, a.fce.vendor_opt);
	if (!a.is_confirm)
		return;
	PROVE(c.gid_count == a.gid_count);
	if (k < a.gid_count)
		PROVE_SAME(c.gids[k], a.gids[k]);
}

void clc_build_decline(void)
{
	struct smc_clc_decline d, e;
	size_t cap;
	u8 *buf = any_room(&cap);
	int len = smc_clc_build_decline(&d, buf, cap);

	if (!is_built(len, cap))
		return;
	PROVE(!smc_clc_parse_decline(buf, len, &e));
	PROVE(e.version == d.version && e.diag == d.diag);
	PROVE(!e.out_of_sync == !d.out_of_sync);
	PROVE_SAME(e.peer_id, d.peer_id);
	if (d.version == 1)
		return;
	PROVE(e.os == d.os);
	PROVE_SAME(e.extra, d.extra);
}
