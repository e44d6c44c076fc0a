// SPDX-License-Identifier: GPL-2.0-only
/* Attacks with LLC messages, most of them in both roles and in groups of both versions. */
#include <errno.h>
#include <string.h>

#include <smc/proto/upgrade_msg.h>

#include "link.h"

#define WAIT_MS		10000
#define V2		0x20
#define TEST_LINK_DATA	4		/* offset of the user data in TEST LINK */

static bool all_sent(struct el_env *e)
{
	if (!el_flush(e->l, WAIT_MS))
		return true;
	ktap_note("attack was not sent: %s", ibv_wc_status_str(e->l->status));
	return false;
}

/* First byte of a message, in the version of the group. */
static u8 first_byte(const struct el_env *e, u8 type)
{
	return el_is_v1(e->l) ? type : V2 | type;
}

/* Set type and length. Version 1 has one byte for the length; the next one is a reason there. */
static void head_put(const struct el_env *e, u8 *buf, u8 type, size_t len)
{
	buf[0] = first_byte(e, type);
	buf[1] = len;
	buf[2] = el_is_v1(e->l) ? 0 : len >> 8;
}

static bool type_exists(const struct el_env *e, u8 type)
{
	if (type == SMC_LLC_REQ_ADD_LINK)
		return !el_is_v1(e->l);
	if (type == SMC_LLC_ADD_LINK_CONT || type == SMC_LLC_CONFIRM_RKEY_CONT)
		return el_is_v1(e->l);
	return smc_llc_type_str(type);
}

/* Send a message that is zero except for type, length and flags. */
static bool send_bare(struct el_env *e, u8 first, u8 flags, size_t len)
{
	u8 buf[SMC_LLC_V2_MAX_LEN] = { 0 };

	head_put(e, buf, 0, len);
	buf[0] = first;
	buf[3] = flags;
	return !el_raw(e->l, buf, len);
}

static struct smc_llc_msg msg_request(u8 type)
{
	return (struct smc_llc_msg){ .type = type, .version = 2 };
}

static bool answer_await(struct el_env *e, u8 type, unsigned int before)
{
	if (el_await(e->l, &e->l->seen[type][1].count, before, WAIT_MS))
		return true;
	ktap_note("no answer to %s", smc_llc_type_str(type));
	return false;
}

/* ---- form ---- */

/* Types that do not exist, and those of the other version. */
static bool bad_types(struct el_env *e)
{
	for (int first = 0; first < 0x40; first++) {
		u8 type = first & 0x0f;

		if (first == first_byte(e, type) && type_exists(e, type))
			continue;
		if (!send_bare(e, first, 0, SMC_LLC_V1_LEN) ||
		    !send_bare(e, first, 0x80, SMC_LLC_V1_LEN))
			return false;
	}
	return all_sent(e);
}

/* Types of the optional range, which a receiver ignores. */
static bool optional_types(struct el_env *e)
{
	for (int type = 0x40; type < 0xfe; type++) {
		if (!send_bare(e, type, type, SMC_LLC_V1_LEN))
			return false;
	}
	return send_bare(e, 0xff, 0, SMC_LLC_V1_LEN) && all_sent(e);
}

/* Version 1: any length but 44, in the message or in its length byte. */
static bool other_lengths(struct el_env *e)
{
	static const u8 said[] = { 0, 43, 45, 255 };

	for (int type = 1; type <= 9; type++) {
		u8 buf[SMC_LLC_V1_LEN] = { type };

		if (!send_bare(e, type, 0, SMC_LLC_V1_LEN + 1) ||
		    !send_bare(e, type, 0, SMC_LLC_V2_MAX_LEN))
			return false;
		for (size_t i = 0; i < TL_ARRAY_SIZE(said); i++) {
			buf[1] = said[i];
			if (el_raw(e->l, buf, sizeof(buf)))
				return false;
		}
	}
	return true;
}

/* Version 2: lists with a wrong length, or that end in the middle of an entry. */
static bool list_lengths(struct el_env *e)
{
	static const u16 lengths[] = { 71, 73, 72 + 16 * 256, SMC_LLC_V2_MAX_LEN };

	for (size_t i = 0; i < TL_ARRAY_SIZE(lengths); i++) {
		if (!send_bare(e, V2 | SMC_LLC_ADD_LINK, 0, lengths[i]))
			return false;
	}
	return true;
}

static bool bad_lengths(struct el_env *e)
{
	static const u16 lengths[] = { 1, 2, 3, 4, 5, 8, 20, 43 };

	for (int type = 1; type <= 9; type++) {
		for (size_t i = 0; i < TL_ARRAY_SIZE(lengths); i++) {
			if (!send_bare(e, first_byte(e, type), 0, lengths[i]))
				return false;
		}
	}
	return (el_is_v1(e->l) ? other_lengths(e) : list_lengths(e)) && all_sent(e);
}

/* More other links, or fewer or more keys, than a message can have. */
static bool bad_counts(struct el_env *e)
{
	bool v1 = el_is_v1(e->l);
	u8 buf[SMC_LLC_V1_LEN] = { 0 };

	head_put(e, buf, SMC_LLC_CONFIRM_RKEY, sizeof(buf));
	for (int n = 9; n < 256; n += 82) {
		buf[4] = n;
		if (el_raw(e->l, buf, sizeof(buf)))
			return false;
	}
	/* with links that are not in the message; in version 1 they are in the next one */
	for (int n = 3; !v1 && n <= SMC_LLC_MAX_OTHER; n++) {
		u8 cut[SMC_LLC_V2_MAX_LEN] = { 0 };
		size_t len = 17 + 13 * n - 1;

		head_put(e, cut, SMC_LLC_CONFIRM_RKEY, len);
		cut[4] = n;
		if (el_raw(e->l, cut, len))
			return false;
	}
	head_put(e, buf, SMC_LLC_DELETE_RKEY, sizeof(buf));
	for (int n = 0; n < 256; n += 51) {
		buf[4] = n;
		/* version 2: 9 have room */
		if ((n < 1 || n > 9) && el_raw(e->l, buf, sizeof(buf)))
			return false;
	}
	buf[4] = SMC_LLC_MAX_RKEYS_V1 + 1;
	if (v1)
		return !el_raw(e->l, buf, sizeof(buf)) && all_sent(e);
	/* REQUEST ADD LINK without its GIDs: the count is in byte 4 and in byte 24 */
	head_put(e, buf, SMC_LLC_REQ_ADD_LINK, sizeof(buf));
	memset(buf + 4, 0xff, 40);
	return !el_raw(e->l, buf, sizeof(buf)) && all_sent(e);
}

/* Messages of the maximum length with random bytes. */
static bool long_noise(struct el_env *e)
{
	size_t len = el_is_v1(e->l) ? SMC_LLC_V1_LEN : SMC_LLC_V2_MAX_LEN;
	u8 buf[SMC_LLC_V2_MAX_LEN];

	for (int type = 1; type <= 9; type++) {
		if (type == SMC_LLC_CONFIRM_LINK || type == SMC_LLC_DELETE_LINK ||
		    type == SMC_LLC_REQ_ADD_LINK)
			continue;	/* these end the link in any case */
		/* only a client sends that response; a case of served_v1.c does */
		if (e->served && type == SMC_LLC_ADD_LINK_CONT)
			continue;
		tl_fill(0x66 + type, 0, buf, len);
		head_put(e, buf, type, len);
		/* a response without request, so that the random bytes are no request */
		buf[3] |= 0x80;
		if (el_raw(e->l, buf, len))
			return false;
	}
	return all_sent(e);
}

/* ---- links ---- */

static bool delete_unknown_link(struct el_env *e)
{
	/* not 2: the victim may be offering that link, and would cancel it */
	static const u8 numbers[] = { 0, 100, 200, 255 };

	for (size_t i = 0; i < TL_ARRAY_SIZE(numbers); i++) {
		struct smc_llc_msg m = msg_request(SMC_LLC_DELETE_LINK);
		const struct el_seen *seen = &e->l->seen[SMC_LLC_DELETE_LINK][1];
		unsigned int before = seen->count;

		if (numbers[i] == e->l->num)
			continue;
		m.delete_link.link_num = numbers[i];
		m.delete_link.reason = SMC_LLC_DEL_LOST_PATH;
		if (el_llc(e->l, &m) || !all_sent(e) ||
		    !answer_await(e, SMC_LLC_DELETE_LINK, before))
			return false;
		if (smc_wire_get_be32(seen->raw + 5) != SMC_LLC_DEL_NO_LINK) {
			ktap_note("link %u: reason %08x", numbers[i],
				  smc_wire_get_be32(seen->raw + 5));
			return false;
		}
	}
	return true;
}

/* A client's ADD LINK ("I have another RNIC") with 255 random rtokens: is not answered. */
static bool add_link_garbage(struct el_env *e)
{
	static u8 raw[SMC_LLC_RTOKEN_LEN * SMC_LLC_MAX_RTOKENS];
	struct smc_llc_msg m = msg_request(SMC_LLC_ADD_LINK);
	unsigned int before = e->l->seen[SMC_LLC_ADD_LINK][1].count;

	tl_fill(0xadd, 0, raw, sizeof(raw));
	tl_fill(0xadd1, 0, m.add_link.gid, sizeof(m.add_link.gid));
	m.add_link.qpn = 0xffffff;
	m.add_link.psn = 0xffffff;
	m.add_link.mtu = 15;
	m.add_link.link_num = 255;
	/* version 1 has no rtokens in this message */
	m.add_link.has_ext = !el_is_v1(e->l);
	m.add_link.rtokens.count = m.add_link.has_ext ? SMC_LLC_MAX_RTOKENS : 0;
	m.add_link.rtokens.raw = raw;
	if (el_llc(e->l, &m) || !all_sent(e) || !delete_unknown_link(e))
		return false;
	/* an answer would have come before that of DELETE LINK */
	if (e->l->seen[SMC_LLC_ADD_LINK][1].count == before)
		return true;
	ktap_note("ADD LINK of a client was answered");
	return false;
}

static bool req_add_link_garbage(struct el_env *e)
{
	static u8 gids[SMC_GID_LEN * SMC_LLC_MAX_GIDS];
	struct smc_llc_msg m = msg_request(SMC_LLC_REQ_ADD_LINK);

	tl_fill(0x9ed, 0, gids, sizeof(gids));
	m.req_add_link.gids.count = SMC_LLC_MAX_GIDS;
	m.req_add_link.gids.raw = gids;
	return !el_llc(e->l, &m) && all_sent(e);
}

static bool unasked_answers(struct el_env *e)
{
	static const u8 types[] = {
		SMC_LLC_CONFIRM_LINK, SMC_LLC_ADD_LINK, SMC_LLC_DELETE_LINK,
		SMC_LLC_CONFIRM_RKEY, SMC_LLC_TEST_LINK, SMC_LLC_DELETE_RKEY,
		SMC_LLC_ADD_LINK_CONT, SMC_LLC_CONFIRM_RKEY_CONT,
	};
	size_t len = el_is_v1(e->l) ? SMC_LLC_V1_LEN : SMC_LLC_RTOKENS_OFF;

	for (int i = 0; i < 5; i++) {
		for (size_t j = 0; j < TL_ARRAY_SIZE(types); j++) {
			u8 buf[SMC_LLC_RTOKENS_OFF] = { 0 };

			head_put(e, buf, types[j], len);
			buf[3] = 0x80;
			buf[4] = 1;
			if (type_exists(e, types[j]) && el_raw(e->l, buf, len))
				return false;
		}
	}
	return all_sent(e);
}

/* Only a server may send this request. */
static bool confirm_link_request(struct el_env *e)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_CONFIRM_LINK);

	m.confirm_link.no_eyec = true;
	m.confirm_link.qpn = e->l->qp->qp_num;
	m.confirm_link.link_num = e->l->num;
	memcpy(m.confirm_link.gid, e->l->gid.raw, SMC_GID_LEN);
	return !el_llc(e->l, &m) && all_sent(e);
}

/* A response to a request that only clients send. */
static bool req_add_link_answer(struct el_env *e)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_REQ_ADD_LINK);

	m.response = true;
	return !el_llc(e->l, &m) && all_sent(e);
}

static bool delete_last_link(struct el_env *e)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_DELETE_LINK);

	m.delete_link.link_num = e->l->num;
	m.delete_link.reason = 0xffffffff;
	return !el_llc(e->l, &m) && all_sent(e);
}

static bool delete_all(struct el_env *e)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_DELETE_LINK);

	m.delete_link.all = true;
	m.delete_link.link_num = 77;
	m.delete_link.reason = SMC_LLC_DEL_PROTOCOL;
	return !el_llc(e->l, &m) && all_sent(e);
}

/* ---- memory ---- */

static bool confirm_rkey(struct el_env *e, u32 rkey, u64 vaddr, u8 others)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_CONFIRM_RKEY);
	unsigned int before = e->l->seen[SMC_LLC_CONFIRM_RKEY][1].count;

	m.confirm_rkey.rkey = rkey;
	m.confirm_rkey.vaddr = vaddr;
	m.confirm_rkey.others = others;
	for (int i = 0; i < others; i++) {
		m.confirm_rkey.other[i].link_num = i ? 255 : e->l->num;
		m.confirm_rkey.other[i].rkey = ~rkey;
		m.confirm_rkey.other[i].vaddr = ~vaddr;
	}
	return !el_llc(e->l, &m) && answer_await(e, SMC_LLC_CONFIRM_RKEY, before);
}

/* The link of the message a second time, links that do not exist, more links than agreed. */
static bool confirm_rkey_others(struct el_env *e)
{
	const struct el_seen *seen = &e->l->seen[SMC_LLC_CONFIRM_RKEY][1];

	for (u8 others = 1; others <= SMC_LLC_MAX_OTHER; others++) {
		if (!confirm_rkey(e, 0x20000 + others, 0x660000000000ULL, others))
			return false;
		if (seen->raw[3] & 0x20)
			continue;
		ktap_note("%u other links were accepted", others);
		return false;
	}
	return true;
}

/* The rkey in use, with another address: running transfers must not be redirected. */
static bool confirm_rkey_redirect(struct el_env *e)
{
	const struct el_seen *seen = &e->l->seen[SMC_LLC_CONFIRM_RKEY][1];

	if (!confirm_rkey(e, e->l->mr->rkey, 0x660000000000ULL, 0))
		return false;
	if (seen->raw[3] & 0x20)
		return true;
	ktap_note("the address of a key in use was changed");
	return false;
}

static bool delete_rkeys(struct el_env *e, const u32 *keys, u8 n)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_DELETE_RKEY);
	unsigned int before = e->l->seen[SMC_LLC_DELETE_RKEY][1].count;
	u8 raw[SMC_LLC_RKEY_LEN * 255];

	for (int i = 0; i < n; i++)
		smc_llc_list_put_rkey(raw, i, keys[i]);
	m.delete_rkey.count = n;
	m.delete_rkey.rkeys.count = n;
	m.delete_rkey.rkeys.raw = raw;
	return !el_llc(e->l, &m) && answer_await(e, SMC_LLC_DELETE_RKEY, before);
}

static bool delete_rkey_unknown(struct el_env *e)
{
	const struct el_seen *seen = &e->l->seen[SMC_LLC_DELETE_RKEY][1];
	static u32 keys[255];

	for (size_t i = 0; i < TL_ARRAY_SIZE(keys); i++)
		keys[i] = 0x77000000 + i;
	for (int n = 1; n < 256; n += 127) {
		u8 most = el_is_v1(e->l) ? SMC_LLC_MAX_RKEYS_V1 : SMC_LLC_MAX_RKEYS_V2;

		if (!delete_rkeys(e, keys, n < most ? n : most))
			return false;
		if (!(seen->raw[3] & 0x20)) {
			ktap_note("unknown keys were deleted");
			return false;
		}
	}
	return true;
}

/* The rkey that the server needs to write to us: it may stop using it, or not. */
static bool delete_rkey_in_use(struct el_env *e)
{
	u32 key = e->l->mr->rkey;

	if (!delete_rkeys(e, &key, 1) || !delete_rkeys(e, &key, 1))
		return false;
	return el_order_send(e->witness, e->a->port, 1000) == 1000 &&
	       el_await(e->l, &e->a->ncdc, e->a->ncdc, WAIT_MS);
}

/* ---- many ---- */

#define FLOOD	1500

/*
 * However many requests come, the module's other work goes on and the last one is answered. Earlier
 * ones need not be: no slot may be free for their answers.
 */
static bool test_link_flood(struct el_env *e)
{
	struct el_seen *seen = &e->l->seen[SMC_LLC_TEST_LINK][1];
	struct smc_llc_msg m = msg_request(SMC_LLC_TEST_LINK);
	u64 until;

	seen->count = 0;
	for (int i = 0; i < FLOOD; i++) {
		memset(m.test_link.data, 0, sizeof(m.test_link.data));
		memcpy(m.test_link.data, &i, sizeof(i));
		if (el_llc(e->l, &m))
			break;
	}
	if (!all_sent(e))
		return false;
	until = tl_now_ns() + WAIT_MS * TL_NSEC_PER_MSEC;
	while (memcmp(seen->raw + TEST_LINK_DATA, m.test_link.data, sizeof(m.test_link.data))) {
		if (tl_now_ns() >= until) {
			ktap_note("the last request is not answered, %u were", seen->count);
			return false;
		}
		el_poll(e->l);
		tl_sleep_ms(1);
	}
	ktap_note("%u of %d requests were answered", seen->count, FLOOD);
	return seen->count > 0 && seen->count <= FLOOD;
}

/* No receive is posted for the answers, so that they pile up at the server. */
static bool test_link_deaf(struct el_env *e)
{
	struct smc_llc_msg m = msg_request(SMC_LLC_TEST_LINK);

	e->l->mute = true;
	for (int i = 0; i < 600; i++) {
		if (el_llc(e->l, &m))
			break;
	}
	return true;
}

/* A message of each kind, and malformed ones. @i: which */
static size_t upgrade_make(unsigned int i, u8 *buf)
{
	struct smc_upgrade_msg m = {
		.kind = i % (SMC_UPGRADE_CONFIRMED + 1),
		.number = 1 + i / 2,
		.reason = i % (SMC_UPGRADE_CONFIRMED + 1) == SMC_UPGRADE_REFUSED ? 1 + i % 200 : 0,
		.proof = { .client_port = 1 + i, .server_port = 4440, .client_seq = i },
		.token = i, .rkey = i, .vaddr = i, .rmbe_idx = 1,
	};

	smc_upgrade_msg_build(&m, buf, SMC_UPGRADE_MSG_LEN);
	if (i % 7 == 0)
		buf[3] ^= 0x20;
	return SMC_UPGRADE_MSG_LEN + (i % 11 == 0);
}

/*
 * Send a flood of UPGRADE, with numbers above those of the flood before: a server answers old ones
 * no more. Return false if it could not be sent.
 */
static bool upgrade_send_flood(struct el_link *l)
{
	static unsigned int next;
	unsigned int end = next + FLOOD;
	u8 buf[SMC_UPGRADE_MSG_LEN + 1] = { 0 };

	while (next < end) {
		size_t len = upgrade_make(next++, buf);

		if (el_raw(l, buf, len))
			break;
	}
	if (!el_flush(l, WAIT_MS))
		return true;
	ktap_note("flood was not sent: %s", ibv_wc_status_str(l->status));
	return false;
}

/**
 * el_upgrade_ignored() - flood the module with UPGRADE, which it has not announced
 * @e: case
 * @l: our end of a link
 *
 * Return: true if each message was counted, and none was answered.
 */
bool el_upgrade_ignored(struct el_env *e, struct el_link *l)
{
	u64 rx = el_counter(e->witness, "rx_upgrade");
	u64 drop = el_counter(e->witness, "rx_upgrade_drop");
	u64 tx = el_counter(e->witness, "tx_upgrade");

	if (!upgrade_send_flood(l))
		return false;
	rx = el_counter(e->witness, "rx_upgrade") - rx;
	drop = el_counter(e->witness, "rx_upgrade_drop") - drop;
	tx = el_counter(e->witness, "tx_upgrade") - tx;
	if (rx == FLOOD && drop == FLOOD && !tx)
		return true;
	ktap_note("%llu messages received, %llu dropped, %llu sent", (unsigned long long)rx,
		  (unsigned long long)drop, (unsigned long long)tx);
	return false;
}

/* Counters of the module about UPGRADE. */
static const char * const upgrade_stats[] = {
	"rx_upgrade", "rx_upgrade_drop", "tx_upgrade", "upgrade_asked", "upgrade_refused",
	"upgrade_unknown", "upgrade_withdrawn", "upgraded",
};

enum { RX, DROP, TX, ASKED, REFUSED, UNKNOWN, WITHDRAWN, UPGRADED };

static void upgrade_stats_grown(struct el_env *e, const u64 *before, u64 *now)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(upgrade_stats); i++)
		now[i] = el_counter(e->witness, upgrade_stats[i]) - before[i];
}

/**
 * el_upgrade_refused() - flood a server that has announced UPGRADE
 * @e: case
 * @l: our end of a link
 *
 * No request names a connection that the server has.
 *
 * Return: true if each message was dropped or answered once at most, and each request that the
 * server looked at was refused with UNKNOWN, or withdrawn meanwhile.
 */
bool el_upgrade_refused(struct el_env *e, struct el_link *l)
{
	static const u64 zero[TL_ARRAY_SIZE(upgrade_stats)];
	u64 before[TL_ARRAY_SIZE(upgrade_stats)], n[TL_ARRAY_SIZE(upgrade_stats)];
	u64 until = tl_now_ns() + WAIT_MS * (TL_NSEC_PER_SEC / 1000);

	upgrade_stats_grown(e, zero, before);
	if (!upgrade_send_flood(l))
		return false;
	/* a work of the group answers */
	do {
		tl_sleep_ms(10);
		upgrade_stats_grown(e, before, n);
	} while (n[ASKED] != n[REFUSED] + n[WITHDRAWN] && tl_now_ns() < until);
	if (n[RX] == FLOOD && n[ASKED] && n[ASKED] == n[REFUSED] + n[WITHDRAWN] &&
	    n[REFUSED] == n[UNKNOWN] && n[TX] && n[TX] <= n[RX] - n[DROP] && !n[UPGRADED])
		return true;
	for (size_t i = 0; i < TL_ARRAY_SIZE(upgrade_stats); i++)
		ktap_note("%s: %llu", upgrade_stats[i], (unsigned long long)n[i]);
	return false;
}

/*
 * Our Proposals of version 1 have the native tag here, those of version 2 only in el_marked_cases.
 */
static bool upgrade_flood(struct el_env *e)
{
	return e->upgrade && el_is_v1(e->l) ? el_upgrade_refused(e, e->l) :
					      el_upgrade_ignored(e, e->l);
}

/* ---- first contact ---- */

static void spoil_qpn(struct smc_llc_msg *m)
{
	m->confirm_link.qpn ^= 1;
}

static void spoil_num(struct smc_llc_msg *m)
{
	m->confirm_link.link_num = 0;
}

static void spoil_gid(struct smc_llc_msg *m)
{
	m->confirm_link.gid[15] ^= 1;
}

/* A forged CONFIRM LINK response: the connection must not become SMC. */
static bool confirm_link_forged(struct el_env *e)
{
	void (*const spoils[])(struct smc_llc_msg *) = { spoil_qpn, spoil_num, spoil_gid };

	for (size_t i = 0; i < TL_ARRAY_SIZE(spoils); i++) {
		struct el_link other;
		struct el_conn c = { .fd = -1 };
		int err = el_open(&other, e->t);

		other.v1 = e->l->v1;
		other.native = e->l->native;
		other.spoil = spoils[i];
		if (!err)
			err = el_join(&other, &c, 0);
		/* answer the server's TEST LINK in the old group */
		el_poll(e->l);
		el_drop(&c);
		el_close(&other);
		if (!err) {
			ktap_note("forged response %zu was accepted", i);
			return false;
		}
	}
	return true;
}

static struct el_link *early_link;

static void send_early(struct smc_llc_msg *answer)
{
	struct smc_llc_msg add = msg_request(SMC_LLC_CONFIRM_RKEY);
	struct smc_llc_msg del = msg_request(SMC_LLC_DELETE_RKEY);
	u8 raw[SMC_LLC_RKEY_LEN];

	(void)answer;
	add.confirm_rkey.rkey = 0x30000;
	add.confirm_rkey.vaddr = 0x660000000000ULL;
	smc_llc_list_put_rkey(raw, 0, add.confirm_rkey.rkey);
	del.delete_rkey.count = 1;
	del.delete_rkey.rkeys.count = 1;
	del.delete_rkey.rkeys.raw = raw;
	el_llc(early_link, &add);
	el_llc(early_link, &del);
}

static bool answer_refused(struct el_link *l, u8 type, u8 flags)
{
	const struct el_seen *seen = &l->seen[type][1];

	if (el_await(l, &seen->count, 0, WAIT_MS) && (seen->raw[3] & flags) == flags)
		return true;
	ktap_note("%s: %u answers, the last one has flags %02x", smc_llc_type_str(type),
		  seen->count, seen->raw[3]);
	return false;
}

/* RMBs are announced and deleted during the first contact: the answer is "retry later". */
static bool rkey_in_first_contact(struct el_env *e)
{
	struct el_link other;
	struct el_conn c = { .fd = -1 };
	int err = el_open(&other, e->t);
	bool ok;

	early_link = &other;
	other.v1 = e->l->v1;
	other.spoil = send_early;
	/* foreign peers do not retry: their RMBs are accepted at once */
	other.native = true;
	if (!err)
		err = el_join(&other, &c, 0);
	if (err)
		ktap_note("no first contact: %s", tl_errno_name(-err));
	ok = !err && answer_refused(&other, SMC_LLC_CONFIRM_RKEY, 0x30) &&
	     answer_refused(&other, SMC_LLC_DELETE_RKEY, 0x20);
	el_drop(&c);
	el_close(&other);
	return ok;
}

const struct el_case el_llc_cases[] = {
	{ "llc_bad_types",	bad_types,		EL_UNHARMED,	"rx_llc_bad", 60, { 0 } },
	{ "llc_optional_types",	optional_types,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "llc_upgrade",	upgrade_flood,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "llc_bad_lengths",	bad_lengths,		EL_UNHARMED,	"rx_llc_bad", 40, { 0 } },
	{ "llc_bad_counts",	bad_counts,		EL_UNHARMED,	"rx_llc_bad", 11, { 0 } },
	{ "llc_long_noise",	long_noise,		EL_UNHARMED,	"rx_llc", 5, { 0 } },
	{ "llc_add_link_garbage", add_link_garbage,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "llc_unasked_answers", unasked_answers,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "llc_confirm_link_request", confirm_link_request, EL_LINK_DIES, "rx_llc_bad", 1, { 0 } },
	{ "llc_delete_unknown_link", delete_unknown_link, EL_UNHARMED,	NULL, 0, { 0 } },
	{ "llc_delete_last_link", delete_last_link,	EL_LINK_DIES,	"lgr_term", 1, { 0 } },
	{ "llc_delete_all",	delete_all,		EL_LINK_DIES,	"lgr_term", 1, { 0 } },
	{ "llc_confirm_rkey_others", confirm_rkey_others, EL_UNHARMED,	NULL, 0, { 0 } },
	{ "llc_confirm_rkey_redirect", confirm_rkey_redirect, EL_UNHARMED, NULL, 0, { 0 } },
	{ "llc_delete_rkey_unknown", delete_rkey_unknown, EL_UNHARMED,	NULL, 0, { 0 } },
	{ "llc_delete_rkey_in_use", delete_rkey_in_use,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "llc_test_link_flood", test_link_flood,	EL_UNHARMED,	"rx_llc", FLOOD, { 0 } },
	{ "llc_test_link_deaf",	test_link_deaf,		EL_LINK_DIES,	"lgr_term", 1, { 0 } },
	{ "llc_confirm_link_forged", confirm_link_forged, EL_UNHARMED,	"lgr_term", 3, { 0 } },
	{ "llc_rkey_in_first_contact", rkey_in_first_contact, EL_UNHARMED, NULL, 0, { 0 } },
};

const unsigned int el_nr_llc_cases = TL_ARRAY_SIZE(el_llc_cases);

/* Version 1 has no REQUEST ADD LINK: llc_bad_types sends it there. */
const struct el_case el_llc_v2_cases[] = {
	{ "llc_req_add_link_garbage", req_add_link_garbage, EL_UNHARMED, NULL, 0, { 0 } },
	{ "llc_req_add_link_answer", req_add_link_answer, EL_LINK_DIES,	"rx_llc_bad", 1, { 0 } },
};

const unsigned int el_nr_llc_v2_cases = TL_ARRAY_SIZE(el_llc_v2_cases);

/* served.c has the messages that a server sends in another way than a client. */
const struct el_case el_llc_served_cases[] = {
	{ "served_llc_bad_types", bad_types,		EL_UNHARMED,	"rx_llc_bad", 60, { 0 } },
	{ "served_llc_optional_types", optional_types,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_llc_upgrade",	upgrade_flood,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_llc_bad_lengths", bad_lengths,	EL_UNHARMED,	"rx_llc_bad", 40, { 0 } },
	{ "served_llc_bad_counts", bad_counts,		EL_UNHARMED,	"rx_llc_bad", 11, { 0 } },
	{ "served_llc_long_noise", long_noise,		EL_UNHARMED,	"rx_llc", 5, { 0 } },
	{ "served_llc_delete_unknown_link", delete_unknown_link, EL_UNHARMED, NULL, 0, { 0 } },
	{ "served_llc_delete_last_link", delete_last_link, EL_LINK_DIES, "lgr_term", 1, { 0 } },
	{ "served_llc_delete_all", delete_all,		EL_LINK_DIES,	"lgr_term", 1, { 0 } },
	{ "served_llc_confirm_rkey_others", confirm_rkey_others, EL_UNHARMED, NULL, 0, { 0 } },
	{ "served_llc_confirm_rkey_redirect", confirm_rkey_redirect, EL_UNHARMED, NULL, 0, { 0 } },
	{ "served_llc_delete_rkey_unknown", delete_rkey_unknown, EL_UNHARMED, NULL, 0, { 0 } },
	{ "served_llc_delete_rkey_in_use", delete_rkey_in_use, EL_UNHARMED, NULL, 0, { 0 } },
	{ "served_llc_test_link_flood", test_link_flood, EL_UNHARMED, "rx_llc", FLOOD, { 0 } },
	{ "served_llc_test_link_deaf", test_link_deaf,	EL_LINK_DIES,	"lgr_term", 1, { 0 } },
};

const unsigned int el_nr_llc_served_cases = TL_ARRAY_SIZE(el_llc_served_cases);
