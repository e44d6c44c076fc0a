// SPDX-License-Identifier: GPL-2.0-only
/* The TCP option, UPGRADE messages, and what the native tag says. */
#include <smc/proto/clc_msg.h>
#include <smc/proto/peer_caps.h>
#include <smc/proto/tcp_opt.h>
#include <smc/proto/upgrade_msg.h>
#include "prove.h"

#define TCP_OPTIONS_MAX	(SMC_TCP_HDR_MAX - SMC_TCP_HDR_MIN)

void tcp_opt_scan(void)
{
	size_t len = nondet_size(), pos = ~(size_t)0, n;
	u32 id = nondet_u32();
	unsigned int found;
	u8 *opts;

	/* the length of a header has four bits */
	GIVEN(len <= TCP_OPTIONS_MAX);
	opts = any_bytes(len);
	found = smc_tcp_opt_scan(opts, len, id, &pos);
	PROVE(!(found & SMC_TCP_OPT_F_END) || !(found & SMC_TCP_OPT_F_BAD));
	if (!(found & SMC_TCP_OPT_F_SMC)) {
		PROVE(pos == ~(size_t)0);
		return;
	}
	PROVE(pos <= len && SMC_TCP_OPT_LEN <= len - pos);
	n = opts[pos + 1];
	PROVE(n >= SMC_TCP_OPT_LEN && n <= len - pos);
	PROVE(smc_wire_get_be32(opts + pos + 2) == id);
	smc_tcp_opt_set_id(opts, pos, nondet_u32());
}

void tcp_opt_build(void)
{
	u8 *p = any_bytes(SMC_TCP_OPT_ROOM);
	size_t pos = 0;

	smc_tcp_opt_build(p);
	PROVE(smc_tcp_opt_scan(p, SMC_TCP_OPT_ROOM, SMC_TCP_OPT_ID, &pos) == SMC_TCP_OPT_F_SMC);
	PROVE(pos == SMC_TCP_OPT_ROOM - SMC_TCP_OPT_LEN);
}

static u8 *any_message(size_t *len)
{
	*len = nondet_size();
	GIVEN(*len <= 2 * SMC_UPGRADE_MSG_LEN);
	return any_bytes(*len);
}

void upgrade_parse(void)
{
	size_t len, i = any_index(sizeof(struct smc_upgrade_msg));
	struct smc_upgrade_msg m, before = m;
	u8 *buf = any_message(&len);
	int rc = smc_upgrade_msg_parse(buf, len, &m);

	PROVE(!rc || rc == -EPROTO || rc == -ENOMSG);
	if (rc) {
		PROVE(((u8 *)&m)[i] == ((u8 *)&before)[i]);
		return;
	}
	PROVE(len == SMC_UPGRADE_MSG_LEN && m.kind <= SMC_UPGRADE_CONFIRMED && m.number);
	PROVE(m.bsize <= 15 && m.hint < 64);
	PROVE((m.kind == SMC_UPGRADE_REFUSED) == !!m.reason);
	PROVE(!!m.rmbe_idx == (m.kind == SMC_UPGRADE_REQUEST || m.kind == SMC_UPGRADE_ACCEPTED));
}

void upgrade_build(void)
{
	struct smc_upgrade_msg m, n;
	size_t cap;
	u8 *buf = any_message(&cap);
	int len = smc_upgrade_msg_build(&m, buf, cap);

	PROVE(len == -EINVAL || len == -ENOSPC || len == SMC_UPGRADE_MSG_LEN);
	if (len < 0)
		return;
	PROVE((size_t)len <= cap);
	PROVE(!smc_upgrade_msg_parse(buf, len, &n));
	PROVE(n.kind == m.kind && n.number == m.number && n.reason == m.reason);
	if (m.kind == SMC_UPGRADE_REQUEST)
		PROVE(n.hint == m.hint && n.proof.client_port == m.proof.client_port &&
		      n.proof.server_port == m.proof.server_port &&
		      n.proof.client_seq == m.proof.client_seq &&
		      n.proof.server_seq == m.proof.server_seq);
	if (m.kind == SMC_UPGRADE_REQUEST || m.kind == SMC_UPGRADE_ACCEPTED)
		PROVE(n.token == m.token && n.rkey == m.rkey && n.vaddr == m.vaddr &&
		      n.rmbe_idx == m.rmbe_idx && n.bsize == m.bsize);
}

/* What is announced arrives; what a later version announces is dropped; limits hold. */
void peer_caps(void)
{
	u32 caps = nondet_u32(), bits = nondet_u32();
	struct smc_clc_proposal p;
	struct smc_clc_accept a;
	struct smc_clc_fce fce;

	PROVE(smc_peer_caps_of_announced(smc_peer_caps_to_announced(caps)) ==
	      (caps & SMC_PEER_CAPS_ANNOUNCED));
	PROVE(!(smc_peer_caps_of_announced(bits) & ~SMC_PEER_CAPS_ANNOUNCED));
	PROVE(smc_native_tag_links(&p) <= SMC_LINKS_MAX);
	PROVE(smc_peer_caps_fce_links_max(&fce) <= SMC_LINKS_MAX);
	a.reserved[0] = 0;
	PROVE(!smc_peer_caps_of_v1(&a));
	smc_native_tag_set_v1(&a);
	PROVE(smc_peer_caps_of_v1(&a) == SMC_PEER_CAPS_TAG_1);
	smc_native_tag_set_fce(&fce);
	PROVE(smc_peer_caps_of_fce(&fce) == SMC_PEER_CAPS_TAG_1);
	smc_native_tag_set_proposal(&p);
	PROVE(smc_peer_caps_of_proposal(&p) == SMC_PEER_CAPS_TAG_1);
	PROVE(!smc_native_tag_v1_over_v2(&p) && !smc_native_tag_links(&p));
	smc_native_tag_set_v1_over_v2(&p);
	PROVE(smc_native_tag_v1_over_v2(&p) && !smc_native_tag_one_port(&p));
	smc_native_tag_set_one_port(&p);
	PROVE(smc_native_tag_one_port(&p) && !smc_native_tag_inner(&p));
	smc_native_tag_set_inner(&p);
	PROVE(smc_native_tag_v1_over_v2(&p) && smc_native_tag_one_port(&p) &&
	      smc_native_tag_inner(&p));
}
