// SPDX-License-Identifier: GPL-2.0-only
/* Attacks of a hostile server on the module as its client. */
#include <errno.h>
#include <string.h>
#include <smc/proto/peer_caps.h>

#include "link.h"

#define WAIT_MS		10000
#define SHORT_MS	1000	/* limit for an answer that need not come */
#define BYTES		1000
#define LINKS_SAID	3	/* net.smc.smcr_max_links_per_lgr of the host under attack */
#define OFFERS		10	/* links that are offered and never confirmed */
#define FLOOD		100	/* more messages than a group queues */
#define MOMENTS		5	/* moments at which a link is deleted */
#define ORDERS		20	/* DELETE LINKs for links that do not exist */
#define NAMINGS		30	/* connections with a server that names another host's group */
#define UNPROVEN	8	/* those of them that the client takes */
#define ADDRESSES	12	/* connections with another address of a good server */

/* Group of the running case, for the functions that change a message. */
static struct el_second *cur;

/**
 * el_served_begin() - make a group besides that of the case, with our ends of two links
 * @e: case
 * @s: initialized here; el_second_end() is required also after an error
 * @links: links per group that we announce, 0: 2
 * @native: our Accept has the tag of a native peer; always so in version 1
 *
 * Return: true on success.
 */
bool el_served_begin(struct el_env *e, struct el_second *s, u8 links, bool native)
{
	int err;

	cur = s;
	if (!el_second_open(e, s))
		return false;
	s->far.num = 2;
	s->l.links = links;
	s->l.native = native || s->l.v1;
	err = el_serve_join(e, &s->l, &s->c, 0);
	if (err)
		ktap_note("no group: %s", tl_errno_name(-err));
	return !err;
}

/**
 * el_served_open_third() - open our end of a third link, with another RNIC
 * @e: case
 * @s: group
 * @third: initialized here, and attached to the group
 *
 * Return: true on success; el_close() is required in both cases.
 */
bool el_served_open_third(struct el_env *e, struct el_second *s, struct el_link *third)
{
	if (el_open(third, e->third)) {
		ktap_note("no third queue pair");
		return false;
	}
	third->near = &s->l;
	third->num = 3;
	s->far.far = third;
	return true;
}

/**
 * el_served_alive() - el_alive() for a connection of another group than that of the case
 * @e: case
 * @c: connection
 *
 * Return: true if the application has read the bytes that are written here.
 */
bool el_served_alive(struct el_env *e, struct el_conn *c)
{
	struct el_env env = *e;

	env.l = c->link->near ?: c->link;
	return el_alive(&env, c);
}

/* Check for the application's data in the RMB of any link: a native peer chooses its link. */
static bool rmb_written(const struct el_link *group, unsigned int nr)
{
	for (const struct el_link *l = group; l; l = l->far) {
		if (el_rmb(l)[nr * EL_ELEM_LEN] == 0x77)
			return true;
	}
	return false;
}

/**
 * el_served_receives() - check that bytes of the application come by RDMA WRITE into our RMBE
 * @e: case
 * @c: connection
 * @nr: its index in the group
 *
 * Return: true if so.
 */
bool el_served_receives(struct el_env *e, struct el_conn *c, unsigned int nr)
{
	struct el_link *l = c->link;
	u64 before = el_counter(e->witness, "tx_write_bytes");

	if (el_order_send(e->witness, c->port, BYTES) != BYTES ||
	    !el_await(l->near ?: l, &c->cdc.prod.off, BYTES - 1, WAIT_MS)) {
		ktap_note("nothing comes over link %u", l->num);
		return false;
	}
	if (!rmb_written(l->near ?: l, nr)) {
		ktap_note("nothing was written to our RMBE");
		return false;
	}
	return el_counter(e->witness, "tx_write_bytes") >= before + BYTES;
}

/**
 * el_served_refuses() - check that the client refuses a link, and that nothing else happens
 * @e: case
 * @s: group
 * @far: our end of the link
 *
 * Return: true if so.
 */
bool el_served_refuses(struct el_env *e, struct el_second *s, struct el_link *far)
{
	u64 before = el_counter(e->witness, "link_reject");
	int err = el_serve_offer(e, &s->l, far);

	if (err != -ECONNREFUSED) {
		ktap_note("link %u must be refused: %s", far->num, tl_errno_name(-err));
		return false;
	}
	return el_counter(e->witness, "link_reject") == before + 1 && el_served_alive(e, &s->c);
}

static bool all_sent(struct el_link *l)
{
	if (!el_flush(l, WAIT_MS))
		return true;
	ktap_note("attack was not sent: %s", ibv_wc_status_str(l->status));
	return false;
}

/* Wait until the client deletes the link that it has accepted. */
static bool delete_link_await(struct el_second *s)
{
	if (el_await(&s->l, &s->l.seen[SMC_LLC_DELETE_LINK][0].count, 0, WAIT_MS))
		return true;
	ktap_note("no DELETE LINK came");
	return false;
}

/* ---- correct servers; without these the other cases would test nothing ---- */

/* Two links with one connection each, bytes in both directions. */
static bool served_works(struct el_env *e)
{
	u64 smc = el_counter(e->witness, "clnt_smc"), added = el_counter(e->witness, "link_add");
	struct el_second s;
	bool ok = el_served_begin(e, &s, 0, false) && el_served_alive(e, &s.c) &&
		  el_served_receives(e, &s.c, 0) &&
		  !el_serve_add(e, &s.l, &s.far) && !el_serve_join(e, &s.far, &s.d, 1) &&
		  el_served_alive(e, &s.d) && el_served_receives(e, &s.d, 1) &&
		  el_served_alive(e, &s.c);

	ok = ok && el_counter(e->witness, "clnt_smc") == smc + 2 &&
	     el_counter(e->witness, "link_add") == added + 1;
	el_second_end(&s);
	return ok;
}

/* As a native peer: as many links as the client has announced. */
static bool served_works_native(struct el_env *e)
{
	u64 added = el_counter(e->witness, "link_add");
	struct el_link third = { 0 };
	struct el_second s;
	bool ok = el_served_begin(e, &s, LINKS_SAID, true) && el_served_open_third(e, &s, &third) &&
		  !el_serve_add(e, &s.l, &s.far) && !el_serve_add(e, &s.l, &third) &&
		  !el_serve_join(e, &third, &s.d, 1) && el_served_alive(e, &s.d) &&
		  el_served_receives(e, &s.d, 1) && el_served_alive(e, &s.c) &&
		  el_counter(e->witness, "link_add") == added + 2;

	el_second_end(&s);
	el_close(&third);
	return ok;
}

/* Begin a group over the client's RNIC that is alone on its network: both links go there. */
static bool lonely_begin(struct el_env *e, struct el_second *s)
{
	struct evil_target same = *e->lonely;
	struct el_env there = *e;

	same.from = e->lonely->local;
	there.t = e->lonely;
	there.other = &same;
	return el_served_begin(&there, s, 0, false);
}

/*
 * RFC 7609 appendix A.2.1: the peer ID has the MAC of an RNIC, here of the first one, and is the
 * same in all groups, whichever RNIC they use.
 */
static bool peer_id(struct el_env *e)
{
	struct el_second s;
	bool ok = lonely_begin(e, &s);

	if (ok && memcmp(e->l->client_id + 2, e->l->client_mac, SMC_MAC_LEN)) {
		ktap_note("the peer ID lacks the MAC of the first RNIC");
		ok = false;
	}
	if (ok && memcmp(s.l.client_id, e->l->client_id, SMC_PEER_ID_LEN)) {
		ktap_note("another peer ID over another RNIC");
		ok = false;
	}
	/* else both groups have used the same RNIC */
	ok = ok && memcmp(s.l.client_mac, e->l->client_mac, SMC_MAC_LEN);
	el_second_end(&s);
	return ok;
}

/* ---- the first contact extension ---- */

/* Links per group, and whether the sender has the tag of a native peer. */
struct fce_links {
	u8 links;
	bool native;
	bool well_formed;
};

static const struct fce_links *fce_links;

static void spoil_fce(struct evil_msg *m)
{
	struct smc_clc_accept a;

	if (smc_clc_parse_accept(m->buf, m->len, &a))
		return;
	a.fce.max_links = fce_links->links;
	if (fce_links->native)
		smc_native_tag_set_fce(&a.fce);
	m->len = smc_clc_build_accept(&a, m->buf, sizeof(m->buf));
}

/* More links than the client announced, than foreign peers may have, than the maximum; 0 links. */
static bool many_links(struct el_env *e)
{
	static const struct fce_links values[] = {
		{ LINKS_SAID + 1, true, true }, { 8, true, true }, { 9, true, false },
		{ 255, true, false }, { 0, true, true }, { 3, false, false }, { 255, false, false },
		{ 0, false, true },
	};
	u64 made = el_counter(e->witness, "first_contact");
	bool ok = true;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(values); i++) {
		struct el_second s;
		int err;

		fce_links = &values[i];
		ok = el_second_open(e, &s);
		s.l.spoil_confirm = spoil_fce;
		err = ok ? el_serve_join(e, &s.l, &s.c, 0) : 0;
		if (err != -ECONNREFUSED ||
		    (fce_links->well_formed && s.l.declined != SMC_CLC_DECL_MAX_LINKS)) {
			ktap_note("%u links, native %d: %s, Decline %08x", fce_links->links,
				  fce_links->native, tl_errno_name(-err), s.l.declined);
			ok = false;
		}
		el_second_end(&s);
	}
	return ok && el_counter(e->witness, "first_contact") == made;
}

/* ---- offers that must be refused ---- */

/* The number of the existing link; with another number the same offer is accepted. */
static bool number_in_use(struct el_env *e)
{
	struct el_second s;
	bool ok = el_served_begin(e, &s, 0, false);

	s.far.num = s.l.num;
	ok = ok && el_served_refuses(e, &s, &s.far);
	s.far.num = s.l.num + 1;
	ok = ok && !el_serve_add(e, &s.l, &s.far) && el_served_alive(e, &s.c);
	el_second_end(&s);
	return ok;
}

static void spoil_add_num(struct smc_llc_msg *m)
{
	m->add_link.link_num = 0;
}

static void spoil_add_qpn(struct smc_llc_msg *m)
{
	m->add_link.qpn = 0;
}

static void spoil_add_mtu(struct smc_llc_msg *m)
{
	m->add_link.mtu = 15;
}

/* Link number 0, queue pair 0, an invalid MTU. */
static bool bad_offers(struct el_env *e)
{
	void (*const spoils[])(struct smc_llc_msg *) = {
		spoil_add_num, spoil_add_qpn, spoil_add_mtu,
	};
	struct el_second s;
	bool ok = el_served_begin(e, &s, 0, false);

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(spoils); i++) {
		s.l.spoil_add = spoils[i];
		ok = el_served_refuses(e, &s, &s.far);
	}
	s.l.spoil_add = NULL;
	ok = ok && !el_serve_add(e, &s.l, &s.far) && el_served_alive(e, &s.c);
	el_second_end(&s);
	return ok;
}

/* A parallel link: the client has no other RNIC on that network. */
static bool parallel_refused(struct el_env *e)
{
	struct el_second s;
	bool ok = lonely_begin(e, &s) && el_served_refuses(e, &s, &s.far);

	el_second_end(&s);
	return ok;
}

/* A second link with one agreed, a third link with two agreed; the client has a free port. */
static bool beyond_agreed(struct el_env *e)
{
	struct el_link third = { 0 };
	struct el_second s;
	bool ok = el_served_begin(e, &s, 1, false) && el_served_refuses(e, &s, &s.far);

	el_second_end(&s);
	ok = ok && el_served_begin(e, &s, 2, true) && el_served_open_third(e, &s, &third) &&
	     !el_serve_add(e, &s.l, &s.far) && el_served_refuses(e, &s, &third) &&
	     !el_serve_join(e, &s.far, &s.d, 1) && el_served_alive(e, &s.d);
	if (third.ctx) {
		el_second_end(&s);
		el_close(&third);
	}
	return ok;
}

/* ---- offers that lead to nothing ---- */

static bool offer_only(struct el_second *s, u8 num)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.add_link = { .link_num = num },
	};

	el_far_describe(&s->l, &s->far, &m.add_link);
	return !el_llc(&s->l, &m);
}

/* Check that the client has resources of at most one more link than before. */
static bool resources_limited(struct el_env *e, u64 qps, u64 mrs)
{
	u64 qp = el_resources(e->witness, "qp"), mr = el_resources(e->witness, "mr");

	/* the last link may be closing while the next one opens */
	if (qp <= qps + 2 && mr <= 2 * mrs)
		return true;
	ktap_note("%llu queue pairs after %llu, %llu memory regions after %llu",
		  (unsigned long long)qp, (unsigned long long)qps, (unsigned long long)mr,
		  (unsigned long long)mrs);
	return false;
}

/* Many links that are never confirmed: the client handles one at a time, each with a deadline. */
static bool offers_unfinished(struct el_env *e)
{
	u64 before = el_counter(e->witness, "link_add_fail"), qps = 0, mrs = 0, failed;
	struct el_second s;
	bool ok = el_served_begin(e, &s, 0, false);
	const struct el_seen *seen = &s.l.seen[SMC_LLC_ADD_LINK][1];
	unsigned int answers = seen->count;

	qps = el_resources(e->witness, "qp");
	mrs = el_resources(e->witness, "mr");
	for (u8 i = 0; ok && i < OFFERS; i++)
		ok = offer_only(&s, 2 + i);
	do {
		u64 was = el_counter(e->witness, "link_add_fail");

		ok = ok && resources_limited(e, qps, mrs) &&
		     el_counted(e, &s.l, "link_add_fail", NULL, was) && el_served_alive(e, &s.c);
		failed = el_counter(e->witness, "link_add_fail") - before;
	} while (ok && failed < 2);
	/* the next offer is answered only after the last link was given up */
	if (ok && seen->count - answers > failed + 1) {
		ktap_note("%u answers, %llu links given up", seen->count - answers,
			  (unsigned long long)failed);
		ok = false;
	}
	ok = ok && resources_limited(e, qps, mrs) && delete_link_await(&s);
	el_second_end(&s);
	return ok;
}

/* More offers at once than the client queues: the group ends. */
static bool offers_flood(struct el_env *e)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.add_link = { .link_num = 2 },
	};

	el_far_describe(e->l, e->l, &m.add_link);
	for (int i = 0; i < FLOOD; i++) {
		if (el_llc(e->l, &m))
			break;
	}
	return true;
}

static u8 forged_gid[SMC_GID_LEN];
static u32 forged_qpn;

static void spoil_gid(struct smc_llc_msg *m)
{
	memcpy(m->add_link.gid, forged_gid, SMC_GID_LEN);
	if (forged_qpn)
		m->add_link.qpn = forged_qpn;
}

/* A GID that is not ours: unused, the client's own with its own queue pair, multicast. */
static bool foreign_gid(struct el_env *e)
{
	u64 before = el_counter(e->witness, "link_add_fail");
	struct el_second s;
	bool ok = true;

	for (int i = 0; ok && i < 3; i++) {
		int err;

		ok = el_served_begin(e, &s, 0, false);
		memcpy(forged_gid, s.l.gid.raw, SMC_GID_LEN);
		forged_qpn = 0;
		if (i == 0) {
			forged_gid[15] = 77;
		} else if (i == 1) {
			memcpy(forged_gid + 12, &e->t->to.in.sin_addr, 4);
			forged_qpn = s.l.peer_qpn;
		} else {
			memset(forged_gid, 0xff, SMC_GID_LEN);
		}
		s.l.spoil_add = spoil_gid;
		err = ok ? el_serve_offer(e, &s.l, &s.far) : 0;
		/* if it is accepted, no message comes over that link */
		ok = ok && (err == -ECONNREFUSED ||
			    (!err && el_counted(e, &s.l, "link_add_fail", NULL, before)));
		ok = ok && el_served_alive(e, &s.c);
		if (!ok)
			ktap_note("GID %d: %s", i, tl_errno_name(-err));
		before = el_counter(e->witness, "link_add_fail");
		el_second_end(&s);
	}
	return ok;
}

/* An Accept with a link that is offered and not confirmed: the connection must not be SMC. */
static bool join_unconfirmed(struct el_env *e)
{
	u64 before = el_counter(e->witness, "link_add_fail");
	struct el_second s;
	bool ok = el_served_begin(e, &s, 0, false) && !el_serve_offer(e, &s.l, &s.far);
	int err = ok ? el_serve_join(e, &s.far, &s.d, 1) : 0;

	if (err != -ECONNREFUSED || s.l.declined == SMC_CLC_DECL_SYNC) {
		ktap_note("%s, Decline %08x", tl_errno_name(-err), s.l.declined);
		ok = false;
	}
	ok = ok && el_counted(e, &s.l, "link_add_fail", NULL, before) && el_served_alive(e, &s.c);
	el_second_end(&s);
	return ok;
}

static u8 rtokens[SMC_LLC_RTOKEN_LEN * SMC_LLC_MAX_RTOKENS];

/* rkeys of RMBs that do not exist, and a wrong one for the RMB that the client writes to. */
static void spoil_keys(struct smc_llc_msg *m)
{
	struct smc_llc_rtoken rt = {
		.ref_rkey = cur->l.mr->rkey,
		.rkey = cur->far.mr->rkey ^ 0x7f00,
		.vaddr = 0x1000,
	};

	tl_fill(0xadd, 0, rtokens, sizeof(rtokens));
	smc_llc_list_put_rtoken(rtokens, 7, &rt);
	/* and a different one for the same RMB after the first one */
	rt.rkey ^= 0xff00;
	smc_llc_list_put_rtoken(rtokens, 8, &rt);
	m->add_link.rtokens.count = SMC_LLC_MAX_RTOKENS;
	m->add_link.rtokens.raw = rtokens;
}

static bool delete_link(struct el_link *l, u8 num)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .link_num = num, .reason = SMC_LLC_DEL_LOST_PATH },
	};

	return !el_llc(l, &m);
}

/* The same in version 1, which has one message for our one RMB. */
static bool spoil_key(struct smc_llc_msg *m)
{
	m->add_link_cont.pairs[0].rkey ^= 0x7f00;
	m->add_link_cont.pairs[0].vaddr = 0x1000;
	return true;
}

/*
 * The link is made, because rkeys cannot be checked before use. When the connection moves there
 * by failover, our RNIC refuses its WRITEs, and the group has no link any more.
 */
static bool keys_forged(struct el_env *e)
{
	static const struct el_case want = { .name = "" };
	u64 link_dels = el_counter(e->witness, "link_del");
	struct el_env env = *e;
	struct el_second s;
	bool ok = el_served_begin(e, &s, 0, false);

	env.l = &s.l;
	if (s.l.v1)
		s.l.spoil_cont = spoil_key;
	else
		s.l.spoil_add = spoil_keys;
	ok = ok && !el_serve_add(e, &s.l, &s.far) && el_served_alive(e, &s.c) &&
	     delete_link(&s.l, s.l.num) && el_counted(e, &s.l, "link_del", NULL, link_dels) &&
	     el_order_send(e->witness, s.c.port, BYTES) > 0 && el_failed(&env, &s.c, &want);
	el_second_end(&s);
	return ok;
}

/* ---- CONFIRM LINK ---- */

static void spoil_confirm_num(struct smc_llc_msg *m)
{
	m->confirm_link.link_num ^= 0x40;
}

static void spoil_confirm_num_0(struct smc_llc_msg *m)
{
	m->confirm_link.link_num = 0;
}

static void spoil_confirm_qpn(struct smc_llc_msg *m)
{
	m->confirm_link.qpn ^= 1;
}

static void spoil_confirm_gid(struct smc_llc_msg *m)
{
	m->confirm_link.gid[SMC_GID_LEN - 1] ^= 1;
}

static void spoil_confirm_eyec(struct smc_llc_msg *m)
{
	m->confirm_link.no_eyec = false;
}

/* Over the further link: it is not made, and the client sends DELETE LINK. */
static bool confirm_forged(struct el_env *e)
{
	void (*const spoils[])(struct smc_llc_msg *) = {
		spoil_confirm_num, spoil_confirm_qpn, spoil_confirm_gid, spoil_confirm_eyec,
	};
	bool ok = true;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(spoils); i++) {
		u64 before = el_counter(e->witness, "link_add_fail");
		struct el_second s;

		ok = el_served_begin(e, &s, 0, false) && !el_serve_offer(e, &s.l, &s.far);
		s.l.timeout_ms = SHORT_MS;
		s.far.spoil = spoils[i];
		ok = ok && el_serve_confirm(e, &s.far) == -ETIMEDOUT &&
		     el_counted(e, &s.l, "link_add_fail", NULL, before) && delete_link_await(&s) &&
		     el_served_alive(e, &s.c);
		if (!ok)
			ktap_note("forged message %zu", i);
		el_second_end(&s);
	}
	return ok;
}

/* Over the first link: the connection must not be SMC. */
static bool first_confirm_forged(struct el_env *e)
{
	void (*const spoils[])(struct smc_llc_msg *) = {
		spoil_confirm_num_0, spoil_confirm_qpn, spoil_confirm_gid, spoil_confirm_eyec,
	};
	u64 smc = el_counter(e->witness, "clnt_smc");
	bool ok = true;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(spoils); i++) {
		struct el_second s;
		int err;

		ok = el_second_open(e, &s);
		s.l.timeout_ms = SHORT_MS;
		s.l.spoil = spoils[i];
		err = ok ? el_serve_join(e, &s.l, &s.c, 0) : 0;
		if (!err) {
			ktap_note("forged message %zu was accepted", i);
			ok = false;
		}
		el_second_end(&s);
	}
	return ok && el_counter(e->witness, "clnt_smc") == smc;
}

static void spoil_offer_first(struct smc_llc_msg *m)
{
	(void)m;
	offer_only(cur, cur->l.num);
}

/* Offer a further link before the first one is confirmed, with the number of the first one. */
static bool early_offer(struct el_env *e)
{
	u64 added = el_counter(e->witness, "link_add");
	struct el_second s;
	bool ok;
	int err;

	cur = &s;
	ok = el_second_open(e, &s);
	s.l.timeout_ms = SHORT_MS;
	s.l.offered = &s.far;
	s.l.spoil = spoil_offer_first;
	err = ok ? el_serve_join(e, &s.l, &s.c, 0) : 0;
	/* there would be two links with one number if this one can be confirmed, too */
	s.far.num = s.l.num;
	if (ok && s.far.peer_qpn) {
		ktap_note("the client accepts the offer, and has %s with its number",
			  el_serve_confirm(e, &s.far) ? "the first link" : "two links");
		ok = false;
	}
	ok = ok && err && el_counter(e->witness, "link_add") == added;
	el_second_end(&s);
	return ok;
}

/*
 * A first contact in the name of an existing group, for which its IDs are enough, that stops
 * after the Confirm. The group must take further connections, and without delay.
 */
static bool claims_group(struct el_env *e)
{
	struct el_conn claim = { .fd = -1 }, c = { .fd = -1 };
	u64 made = el_counter(e->witness, "first_contact");
	u64 ended = el_counter(e->witness, "lgr_term");
	int err = el_serve_claim(e, e->l, &claim, 3);
	bool ok = !err && el_counter(e->witness, "first_contact") == made + 1;

	if (ok)
		err = el_serve_join(e, e->l, &c, 2);
	if (ok && !err && el_counter(e->witness, "lgr_term") != ended) {
		ktap_note("the connection has waited for the end of that first contact");
		ok = false;
	}
	ok = ok && !err && el_served_alive(e, &c);
	if (err)
		ktap_note("%s, Decline %08x", tl_errno_name(-err), e->l->declined);
	el_drop(&claim);
	el_order_close(e->witness, c.port);
	el_drop(&c);
	return ok;
}

/* Wait until as many RMBEs are in quarantine as connections were taken, and check for more. */
static bool quarantine_bounded(struct el_env *e, u64 before)
{
	bool ok = el_counted(e, e->l, "elem_quarantine", NULL, before + UNPROVEN - 1);
	u64 until = tl_now_ns() + SHORT_MS * TL_NSEC_PER_MSEC;
	u64 spent;

	while (tl_now_ns() < until) {
		el_poll(e->l);
		tl_sleep_ms(5);
	}
	spent = el_counter(e->witness, "elem_quarantine") - before;
	/* connections of an earlier case may end now, too */
	if (ok && spent < 2 * UNPROVEN)
		return true;
	ktap_note("%llu RMBEs in quarantine", (unsigned long long)spent);
	return false;
}

/* Check that the group takes a connection of its own server. */
static bool own_conn_works(struct el_env *e)
{
	struct el_conn c = { .fd = -1 };
	int err = el_serve_join(e, e->l, &c, 2);
	bool ok = !err && el_served_alive(e, &c);

	if (err)
		ktap_note("own server: %s, Decline %08x", tl_errno_name(-err), e->l->declined);
	el_order_close(e->witness, c.port);
	el_drop(&c);
	return ok;
}

/* Let a server at another address name the group; see el_serve_join() for @nr. */
static int name_group(struct el_env *e, struct el_conn *c, unsigned int nr)
{
	int err;

	e->l->declined = 0;
	e->l->at = &e->other->from;
	err = el_serve_join(e, e->l, c, nr);
	e->l->at = NULL;
	return err;
}

/* With a wrong key: the connection never began, so it does not count. */
static bool name_group_wrong(struct el_env *e)
{
	bool ok = true;

	e->l->spoil_confirm = el_spoil_rkey;
	for (int i = 0; ok && i < ADDRESSES; i++) {
		struct el_conn c;
		int err = name_group(e, &c, EL_CONNS);

		ok = err == -ECONNREFUSED && e->l->declined == SMC_CLC_DECL_RTOKEN;
		if (!ok)
			ktap_note("wrong key: %s, Decline %08x", tl_errno_name(-err),
				  e->l->declined);
		el_order_close(e->witness, c.port);
		el_drop(&c);
	}
	e->l->spoil_confirm = NULL;
	return ok;
}

/*
 * A server at another address names the group again and again, for which it has to know the key of
 * an RMB. The group's server knows nothing of these connections, so each one costs the client an
 * RMBE: it takes a few, and the others are TCP.
 */
static bool names_group(struct el_env *e)
{
	static const struct el_case want = { .may_err = { ECONNRESET } };
	u64 spent = el_counter(e->witness, "elem_quarantine");
	u64 limited = el_counter(e->witness, "join_limited");
	bool ok = name_group_wrong(e);
	unsigned int taken = 0;

	for (unsigned int i = 0; ok && i < NAMINGS; i++) {
		struct el_conn c;
		int err = name_group(e, &c, EL_CONNS + i);

		taken += !err;
		/* the group exists, so it must not be phased out */
		ok = !err || (err == -ECONNREFUSED && e->l->declined == SMC_CLC_DECL_NO_LINK);
		if (!ok)
			ktap_note("%u: %s, Decline %08x", i, tl_errno_name(-err), e->l->declined);
		if (c.fd >= 0)
			evil_reset(c.fd);
		/* ... by the reset, which leaves the RMBE in quarantine after a few seconds */
		ok = ok && (err || el_failed(e, &c, &want));
		el_order_close(e->witness, c.port);
	}
	if (ok && taken != UNPROVEN) {
		ktap_note("%u connections were taken", taken);
		ok = false;
	}
	limited = el_counter(e->witness, "join_limited") - limited;
	if (ok && limited != NAMINGS - UNPROVEN) {
		ktap_note("join_limited grew by %llu", (unsigned long long)limited);
		ok = false;
	}
	return ok && quarantine_bounded(e, spent) && own_conn_works(e);
}

/* A good server with two addresses has one group for both, and no limit. */
static bool second_address(struct el_env *e)
{
	static const struct el_case want = { .may_err = { ECONNRESET } };
	u64 made = el_counter(e->witness, "first_contact");
	bool ok = true;

	for (int i = 0; ok && i < ADDRESSES; i++) {
		struct el_conn c;
		struct smc_cdc_msg m;
		int err = name_group(e, &c, 2);

		if (err)
			ktap_note("%d: %s, Decline %08x", i, tl_errno_name(-err), e->l->declined);
		ok = !err && el_served_alive(e, &c);
		/* the end of the connection, so that its RMBE is free for the next one */
		el_next_cdc(&c, &m);
		m.state |= SMC_CDC_S_ABORT;
		ok = ok && !el_cdc(&c, &m) && el_failed(e, &c, &want);
		el_order_close(e->witness, c.port);
		el_drop(&c);
	}
	return ok && el_counter(e->witness, "first_contact") == made;
}

/* Send a DELETE LINK and wait for its answer. */
static bool delete_answered(struct el_link *l, const struct smc_llc_msg *m)
{
	const struct el_seen *seen = &l->seen[SMC_LLC_DELETE_LINK][1];
	unsigned int before = seen->count;

	if (!el_llc(l, m) && el_await(l, &seen->count, before, WAIT_MS))
		return true;
	ktap_note("no answer to DELETE LINK %u", m->delete_link.link_num);
	return false;
}

/* Check that the answer to DELETE LINK for that number is "no such link". */
static bool link_unknown(struct el_link *l, u8 num, u32 reason)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .link_num = num, .reason = reason },
	};
	const struct el_seen *seen = &l->seen[SMC_LLC_DELETE_LINK][1];

	if (!delete_answered(l, &m))
		return false;
	if (smc_wire_get_be32(seen->raw + 5) == SMC_LLC_DEL_NO_LINK)
		return true;
	ktap_note("the client has link %u", num);
	return false;
}

/* CONFIRM LINK once more, with another number: the link keeps the first number. */
static bool confirm_again(struct el_env *e)
{
	e->l->timeout_ms = SHORT_MS;
	e->l->spoil = spoil_confirm_num;
	if (el_serve_confirm(e, e->l) != -ETIMEDOUT) {
		ktap_note("another number was confirmed");
		return false;
	}
	return link_unknown(e->l, e->l->num ^ 0x40, SMC_LLC_DEL_LOST_PATH);
}

/* ... with another queue pair: the link fails. */
static bool confirm_again_qpn(struct el_env *e)
{
	e->l->timeout_ms = SHORT_MS;
	e->l->spoil = spoil_confirm_qpn;
	return el_serve_confirm(e, e->l) == -ETIMEDOUT;
}

/* ---- deletions ---- */

/* Many DELETE LINKs with the operator's reason, for unknown links and for the second one. */
static bool delete_operator(struct el_env *e)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = {
			.link_num = 2, .orderly = true, .reason = SMC_LLC_DEL_OPERATOR,
		},
	};
	u64 link_dels = el_counter(e->witness, "link_del");
	struct el_link third = { 0 };
	struct el_second s;
	bool ok = el_served_begin(e, &s, 0, false) && el_served_open_third(e, &s, &third) &&
		  !el_serve_add(e, &s.l, &s.far);

	for (u8 i = 0; ok && i < ORDERS; i++)
		ok = link_unknown(&s.l, 0x80 + i, SMC_LLC_DEL_OPERATOR);
	/* its answer must not be taken for that of the next one */
	ok = ok && el_served_alive(e, &s.c) && delete_answered(&s.l, &m) &&
	     el_counted(e, &s.l, "link_del", NULL, link_dels);
	for (int i = 0; ok && i < ORDERS; i++)
		ok = link_unknown(&s.l, 2, SMC_LLC_DEL_OPERATOR);
	/* the server may add a link afterwards */
	s.far.num = 0;
	ok = ok && el_served_alive(e, &s.c) && !el_serve_add(e, &s.l, &third) &&
	     el_served_alive(e, &s.c);
	el_second_end(&s);
	el_close(&third);
	return ok;
}

static void spoil_delete_new(struct smc_llc_msg *m)
{
	(void)m;
	delete_link(&cur->l, cur->far.num);
}

/*
 * Delete the link that is being added: before CONFIRM LINK, with it, or after the client has
 * confirmed it. Either the link is not made, or it is removed again; the group stays.
 */
static bool new_link_deleted(struct el_env *e)
{
	bool ok = true;

	for (int i = 0; ok && i < MOMENTS; i++) {
		u64 before = el_counter(e->witness, "link_add_fail") +
			     el_counter(e->witness, "link_del");
		struct el_second s;

		ok = el_served_begin(e, &s, 0, false) && !el_serve_offer(e, &s.l, &s.far);
		s.l.timeout_ms = SHORT_MS;
		if (i == 0)
			ok = ok && delete_link(&s.l, s.far.num);
		if (i % 2)
			s.far.spoil = spoil_delete_new;
		if (i)
			el_serve_confirm(e, &s.far);
		if (i && !(i % 2))
			ok = ok && delete_link(&s.l, s.far.num);
		ok = ok && el_counted(e, &s.l, "link_add_fail", "link_del", before) &&
		     el_served_alive(e, &s.c);
		if (!ok)
			ktap_note("moment %d", i);
		el_second_end(&s);
	}
	return ok;
}

/* Delete the link over which the offer was sent, the only one: the group ends. */
static bool delete_offer_link(struct el_env *e)
{
	static const struct el_case want = { .name = "" };
	struct el_env env = *e;
	struct el_second s;
	bool ok = el_served_begin(e, &s, 0, false) && !el_serve_offer(e, &s.l, &s.far) &&
		  delete_link(&s.l, s.l.num);

	env.l = &s.l;
	ok = ok && el_failed(&env, &s.c, &want);
	el_second_end(&s);
	return ok;
}

/* ---- messages of the other role ---- */

static bool send_bare(struct el_env *e, u8 type, bool response)
{
	struct smc_llc_msg m = { .type = type, .version = 2, .response = response };

	if (type == SMC_LLC_CONFIRM_LINK) {
		m.confirm_link.no_eyec = true;
		m.confirm_link.qpn = e->l->qp->qp_num;
		m.confirm_link.link_num = e->l->num;
		memcpy(m.confirm_link.gid, e->l->gid.raw, SMC_GID_LEN);
	}
	return !el_llc(e->l, &m) && all_sent(e->l);
}

static bool request_add_link(struct el_env *e)
{
	return send_bare(e, SMC_LLC_REQ_ADD_LINK, false);
}

static bool confirm_link_answer(struct el_env *e)
{
	return send_bare(e, SMC_LLC_CONFIRM_LINK, true);
}

/* A rejection without an offer, and other responses without a request. */
static bool answers_unasked(struct el_env *e)
{
	struct smc_llc_msg no = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.response = true,
		.add_link = { .rejected = true, .reason = SMC_LLC_REJ_NO_ALT_PATH, .link_num = 2 },
	};

	for (int i = 0; i < 5; i++) {
		if (el_llc(e->l, &no) || !send_bare(e, SMC_LLC_DELETE_LINK, true) ||
		    !send_bare(e, SMC_LLC_CONFIRM_RKEY, true) ||
		    !send_bare(e, SMC_LLC_TEST_LINK, true) ||
		    (!el_is_v1(e->l) && !send_bare(e, SMC_LLC_REQ_ADD_LINK, true)))
			return false;
	}
	return all_sent(e->l);
}

const struct el_case el_served_cases[] = {
	{ "served_works",	served_works,		EL_UNHARMED,	"first_contact", 1, { 0 } },
	{ "served_works_marked", served_works_native,	EL_UNHARMED,	"link_add", 2, { 0 } },
	{ "served_peer_id",	peer_id,		EL_UNHARMED,	"first_contact", 1, { 0 } },
	{ "served_number_in_use", number_in_use,	EL_UNHARMED,	"link_reject", 1, { 0 } },
	{ "served_bad_offers",	bad_offers,		EL_UNHARMED,	"link_reject", 3, { 0 } },
	{ "served_parallel",	parallel_refused,	EL_UNHARMED,	"link_reject", 1, { 0 } },
	{ "served_beyond_agreed", beyond_agreed,	EL_UNHARMED,	"link_reject", 2, { 0 } },
	{ "served_flood",	offers_flood,		EL_LINK_DIES,	"lgr_term", 1, { 0 } },
	{ "served_foreign_gid",	foreign_gid,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_join_unconfirmed", join_unconfirmed,	EL_UNHARMED,	"link_add_fail", 1, { 0 } },
	{ "served_keys_forged",	keys_forged,		EL_UNHARMED,	"link_fail", 1, { 0 } },
	{ "served_confirm_forged", confirm_forged,	EL_UNHARMED,	"link_add_fail", 4, { 0 } },
	{ "served_first_confirm_forged", first_confirm_forged, EL_UNHARMED, "lgr_term", 4, { 0 } },
	{ "served_early_offer",	early_offer,		EL_UNHARMED,	"rx_llc_bad", 1, { 0 } },
	{ "served_confirm_again", confirm_again,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_confirm_again_qpn", confirm_again_qpn, EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "served_delete_operator", delete_operator,	EL_UNHARMED,	"link_del", 1, { 0 } },
	{ "served_deleted",	new_link_deleted,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_delete_offer_link", delete_offer_link, EL_UNHARMED,	"lgr_term", 1, { 0 } },
	{ "served_confirm_link_answer", confirm_link_answer, EL_LINK_DIES, "rx_llc_bad", 1, { 0 } },
	{ "served_unasked",	answers_unasked,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_served_cases = TL_ARRAY_SIZE(el_served_cases);

/*
 * Version 1 has no REQUEST ADD LINK, and no number of links in the Accept (see served_v1.c). The
 * other cases depend on no message that differs between the versions, and take seconds.
 */
const struct el_case el_served_v2_cases[] = {
	{ "served_many_links",	many_links,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_unfinished",	offers_unfinished,	EL_UNHARMED,	"link_add_fail", 2, { 0 } },
	{ "served_claims_group", claims_group,		EL_UNHARMED,	"clnt_smc", 1, { 0 } },
	{ "served_names_group",	names_group,		EL_UNHARMED,	"join_limited", 1, { 0 } },
	{ "served_second_address", second_address,	EL_UNHARMED,	"clnt_smc", 1, { 0 } },
	{ "served_request_add_link", request_add_link,	EL_LINK_DIES,	"rx_llc_bad", 1, { 0 } },
};

const unsigned int el_nr_served_v2_cases = TL_ARRAY_SIZE(el_served_v2_cases);
