// SPDX-License-Identifier: GPL-2.0-only
/* LLC messages of both versions: any bytes of any length; what is built is parsed again. */
#include <smc/proto/llc_msg.h>
#include "prove.h"

/* The entries of a list are in the message, and every one of them can be read. */
static void prove_list(const struct smc_llc_list *list, size_t entry, const u8 *buf, size_t len)
{
	size_t at;

	PROVE(!list->count == !list->raw);
	if (!list->count)
		return;
	at = list->raw - buf;
	PROVE(at <= len && entry * list->count <= len - at);
}

static void prove_lists(const struct smc_llc_msg *m, const u8 *buf, size_t len)
{
	u16 i = nondet_u16();
	struct smc_llc_rtoken t;
	u8 gid;

	switch (m->type) {
	case SMC_LLC_ADD_LINK:
		prove_list(&m->add_link.rtokens, SMC_LLC_RTOKEN_LEN, buf, len);
		PROVE(m->add_link.rtokens.count <= SMC_LLC_MAX_RTOKENS);
		if (i < m->add_link.rtokens.count)
			smc_llc_list_get_rtoken(&m->add_link.rtokens, i, &t);
		break;
	case SMC_LLC_REQ_ADD_LINK:
		prove_list(&m->req_add_link.gids, SMC_GID_LEN, buf, len);
		PROVE(m->req_add_link.gids.count <= SMC_LLC_MAX_GIDS);
		if (i < m->req_add_link.gids.count)
			gid = smc_llc_list_get_gid(&m->req_add_link.gids, i)[SMC_GID_LEN - 1];
		break;
	case SMC_LLC_DELETE_RKEY:
		prove_list(&m->delete_rkey.rkeys, SMC_LLC_RKEY_LEN, buf, len);
		PROVE(m->delete_rkey.count);
		PROVE(!m->delete_rkey.rkeys.count ||
		      m->delete_rkey.rkeys.count == m->delete_rkey.count);
		/* its exchanges walk the list of a request by the count */
		PROVE(m->response || m->delete_rkey.rkeys.count == m->delete_rkey.count);
		if (i < m->delete_rkey.rkeys.count)
			smc_llc_list_get_rkey(&m->delete_rkey.rkeys, i);
		break;
	}
}

/* Receive buffers have no more room than the longest message. */
void llc_parse(void)
{
	size_t len = nondet_size(), i = any_index(sizeof(struct smc_llc_msg));
	struct smc_llc_msg m, before = m;
	u8 *buf;
	int rc;

	GIVEN(len <= SMC_LLC_V2_MAX_LEN + 1);
	buf = any_bytes(len);
	rc = smc_llc_msg_parse(buf, len, &m);
	PROVE(!rc || rc == -EPROTO || rc == -ENOMSG || rc == -EOPNOTSUPP);
	if (rc) {
		PROVE(((u8 *)&m)[i] == ((u8 *)&before)[i]);
		return;
	}
	PROVE(len >= SMC_LINK_MSG_LEN && len <= SMC_LLC_V2_MAX_LEN);
	PROVE(m.version == 1 || m.version == 2);
	PROVE(smc_llc_type_to_place(m.type) >= 1 &&
	      smc_llc_type_to_place(m.type) <= SMC_LLC_PLACES);
	PROVE(smc_llc_type_str(m.type));
	if (m.type == SMC_LLC_CONFIRM_RKEY)
		PROVE(m.confirm_rkey.others <= SMC_LLC_MAX_OTHER);
	if (m.type == SMC_LLC_CONFIRM_RKEY_CONT)
		PROVE(m.confirm_rkey_cont.left <= SMC_LLC_MAX_OTHER);
	prove_lists(&m, buf, len);
}

/* ADD LINK CONTINUATION: whatever a peer sends, an exchange has an end. */
void llc_cont(void)
{
	struct smc_llc_cont_state s, before = s;
	struct smc_llc_add_link_cont c;
	int n = smc_llc_cont_take(&s, &c, nondet_u8());

	PROVE(n == -EPROTO || (n >= 0 && n <= SMC_LLC_CONT_PAIRS));
	if (n < 0)
		return;
	PROVE(s.started && s.left + n == c.left);
	PROVE(!before.started || s.left + n <= before.left);
}

/* Up to so many entries per list: the code for one more is the same, and its cost is not. */
#define LIST_MAX	4
#define ROOM		(SMC_LLC_RTOKENS_OFF + LIST_MAX * SMC_LLC_RTOKEN_LEN)

static struct smc_llc_list *list_of(struct smc_llc_msg *m, size_t *entry)
{
	switch (m->type) {
	case SMC_LLC_ADD_LINK:
		*entry = SMC_LLC_RTOKEN_LEN;
		return &m->add_link.rtokens;
	case SMC_LLC_REQ_ADD_LINK:
		*entry = SMC_GID_LEN;
		return &m->req_add_link.gids;
	case SMC_LLC_DELETE_RKEY:
		*entry = SMC_LLC_RKEY_LEN;
		return &m->delete_rkey.rkeys;
	}
	return NULL;
}

static void prove_rkey(const struct smc_llc_rkey *a, const struct smc_llc_rkey *b)
{
	PROVE(a->link_num == b->link_num && a->rkey == b->rkey && a->vaddr == b->vaddr);
}

static void prove_same_links(const struct smc_llc_msg *m, const struct smc_llc_msg *n)
{
	size_t k;

	switch (m->type) {
	case SMC_LLC_CONFIRM_LINK:
		PROVE(!n->confirm_link.no_eyec == !m->confirm_link.no_eyec);
		PROVE_SAME(n->confirm_link.gid, m->confirm_link.gid);
		PROVE_SAME(n->confirm_link.mac, m->confirm_link.mac);
		PROVE_SAME(n->confirm_link.link_uid, m->confirm_link.link_uid);
		PROVE(n->confirm_link.qpn == m->confirm_link.qpn);
		PROVE(n->confirm_link.link_num == m->confirm_link.link_num);
		PROVE(n->confirm_link.max_links == m->confirm_link.max_links);
		PROVE(n->confirm_link.max_conns == m->confirm_link.max_conns);
		break;
	case SMC_LLC_ADD_LINK:
		PROVE(!n->add_link.rejected == !m->add_link.rejected);
		PROVE(n->add_link.reason == m->add_link.reason);
		PROVE_SAME(n->add_link.gid, m->add_link.gid);
		PROVE_SAME(n->add_link.mac, m->add_link.mac);
		PROVE(n->add_link.qpn == m->add_link.qpn && n->add_link.psn == m->add_link.psn);
		PROVE(n->add_link.link_num == m->add_link.link_num);
		PROVE(n->add_link.mtu == m->add_link.mtu);
		PROVE(!n->add_link.has_ext == !m->add_link.has_ext);
		if (!m->add_link.has_ext)
			break;
		PROVE(!n->add_link.direct == !m->add_link.direct);
		PROVE_SAME(n->add_link.target_gid, m->add_link.target_gid);
		break;
	case SMC_LLC_ADD_LINK_CONT:
		PROVE(n->add_link_cont.link_num == m->add_link_cont.link_num);
		PROVE(n->add_link_cont.left == m->add_link_cont.left);
		k = any_index(SMC_LLC_CONT_PAIRS);
		if (k < m->add_link_cont.left)
			PROVE(n->add_link_cont.pairs[k].vaddr == m->add_link_cont.pairs[k].vaddr &&
			      n->add_link_cont.pairs[k].rkey == m->add_link_cont.pairs[k].rkey &&
			      n->add_link_cont.pairs[k].ref_rkey ==
				      m->add_link_cont.pairs[k].ref_rkey);
		break;
	case SMC_LLC_DELETE_LINK:
		PROVE(!n->delete_link.all == !m->delete_link.all);
		PROVE(!n->delete_link.orderly == !m->delete_link.orderly);
		PROVE(n->delete_link.link_num == m->delete_link.link_num);
		PROVE(n->delete_link.reason == m->delete_link.reason);
		break;
	case SMC_LLC_REQ_ADD_LINK:
		PROVE(!n->req_add_link.rejected == !m->req_add_link.rejected);
		PROVE(n->req_add_link.reason == m->req_add_link.reason);
		break;
	}
}

static void prove_same_rest(const struct smc_llc_msg *m, const struct smc_llc_msg *n)
{
	size_t k;

	switch (m->type) {
	case SMC_LLC_CONFIRM_RKEY:
		PROVE(!n->confirm_rkey.negative == !m->confirm_rkey.negative);
		PROVE(!n->confirm_rkey.retry == !m->confirm_rkey.retry);
		PROVE(n->confirm_rkey.rkey == m->confirm_rkey.rkey);
		PROVE(n->confirm_rkey.vaddr == m->confirm_rkey.vaddr);
		PROVE(n->confirm_rkey.others == m->confirm_rkey.others);
		k = any_index(SMC_LLC_MAX_OTHER);
		if (k < smc_llc_confirm_rkey_inline(m->version, m->confirm_rkey.others))
			prove_rkey(&n->confirm_rkey.other[k], &m->confirm_rkey.other[k]);
		break;
	case SMC_LLC_CONFIRM_RKEY_CONT:
		PROVE(!n->confirm_rkey_cont.negative == !m->confirm_rkey_cont.negative);
		PROVE(!n->confirm_rkey_cont.retry == !m->confirm_rkey_cont.retry);
		PROVE(n->confirm_rkey_cont.left == m->confirm_rkey_cont.left);
		k = any_index(SMC_LLC_CONFIRM_RKEY_CONT_LINKS);
		if (k < m->confirm_rkey_cont.left)
			prove_rkey(&n->confirm_rkey_cont.other[k], &m->confirm_rkey_cont.other[k]);
		break;
	case SMC_LLC_DELETE_RKEY:
		PROVE(!n->delete_rkey.negative == !m->delete_rkey.negative);
		PROVE(n->delete_rkey.err == m->delete_rkey.err);
		PROVE(n->delete_rkey.count == m->delete_rkey.count);
		break;
	case SMC_LLC_TEST_LINK:
		PROVE_SAME(n->test_link.data, m->test_link.data);
		break;
	case SMC_LLC_CAPS:
		PROVE(n->caps.bits == m->caps.bits);
		break;
	}
}

void llc_build(void)
{
	size_t cap = nondet_size(), entry = 0, b;
	struct smc_llc_msg m, n;
	struct smc_llc_list *list = list_of(&m, &entry), *parsed;
	u8 *buf;
	int len;

	if (list) {
		GIVEN(list->count <= LIST_MAX);
		list->raw = list->count ? any_bytes(entry * list->count) : NULL;
	}
	GIVEN(cap <= ROOM);
	buf = any_bytes(cap);
	len = smc_llc_msg_build(&m, buf, cap);
	PROVE(len == -EINVAL || len == -ENOSPC || (len >= SMC_LINK_MSG_LEN && (size_t)len <= cap));
	if (len < 0)
		return;
	PROVE(len == smc_llc_msg_len(&m));
	PROVE(!smc_llc_msg_parse(buf, len, &n));
	PROVE(n.type == m.type && n.version == m.version && !n.response == !m.response);
	prove_same_links(&m, &n);
	prove_same_rest(&m, &n);
	if (!list)
		return;
	parsed = list_of(&n, &entry);
	if (m.type != SMC_LLC_DELETE_RKEY || list->count) {
		PROVE(parsed->count == list->count);
		b = nondet_size();
		if (b < entry * list->count)
			PROVE(parsed->raw[b] == list->raw[b]);
	}
}
