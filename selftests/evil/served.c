// SPDX-License-Identifier: GPL-2.0-only
/* Attacks of a server on the module as its client. */
#include <errno.h>
#include <string.h>
#include <smc/proto/marker.h>

#include "link.h"

#define WAIT_MS		10000
#define HASTE_MS	1000	/* for an answer that need not come */
#define BYTES		1000
#define LINKS_SAID	3	/* net.smc.smcr_max_links_per_lgr of the host under attack */
#define OFFERS		10	/* of links that are never confirmed */
#define FLOOD		100	/* more messages than a group keeps */
#define MOMENTS		5	/* to delete a link at */
#define ORDERS		20	/* of an operator who has no such link */

/* Of the case that runs: what spoils a message is told nothing else. */
static struct el_second *cur;

/* A group beside that of the case, with our ends of both of its links. */
static bool begin(struct el_env *e, struct el_second *s, u8 links, bool marked)
{
	int err;

	cur = s;
	if (!el_second_open(e, s))
		return false;
	s->far.num = 2;
	s->l.links = links;
	s->l.marked = marked;
	err = el_serve_join(e, &s->l, &s->c, 0);
	if (err)
		ktap_note("no group: %s", tl_errno_name(-err));
	return !err;
}

/* One more end of ours, at another RNIC. */
static bool open_third(struct el_env *e, struct el_second *s, struct el_link *third)
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

static bool lives(struct el_env *e, struct el_conn *c)
{
	struct el_env beside = *e;

	beside.l = c->link->near ?: c->link;
	return el_lives(&beside, c);
}

/* Is there what the application writes, at any end of ours? One of our kind chooses its link. */
static bool written(const struct el_link *group, unsigned int nr)
{
	for (const struct el_link *l = group; l; l = l->far) {
		if (el_rmb(l)[nr * EL_ELEM_LEN] == 0x77)
			return true;
	}
	return false;
}

/* What the application sends comes by RDMA WRITE into our element. */
static bool hears(struct el_env *e, struct el_conn *c, unsigned int nr)
{
	struct el_link *l = c->link;
	u64 before = el_stat(e->witness, "tx_write_bytes");

	if (el_tell_send(e->witness, c->port, BYTES) != BYTES ||
	    !el_await(l->near ?: l, &c->heard.prod.off, BYTES - 1, WAIT_MS)) {
		ktap_note("nothing comes over link %u", l->num);
		return false;
	}
	if (!written(l->near ?: l, nr)) {
		ktap_note("nobody has written to our element");
		return false;
	}
	return el_stat(e->witness, "tx_write_bytes") >= before + BYTES;
}

/* The link is refused, and that is all that happens. */
static bool refuses(struct el_env *e, struct el_second *s, struct el_link *far)
{
	u64 before = el_stat(e->witness, "link_reject");
	int err = el_serve_offer(e, &s->l, far);

	if (err != -ECONNREFUSED) {
		ktap_note("link %u, which must be refused: %s", far->num, tl_errno_name(-err));
		return false;
	}
	return el_stat(e->witness, "link_reject") == before + 1 && lives(e, &s->c);
}

static bool sent(struct el_link *l)
{
	if (!el_flush(l, WAIT_MS))
		return true;
	ktap_note("attack did not get out: %s", ibv_wc_status_str(l->status));
	return false;
}

/* The client takes the link back that it has accepted. */
static bool told(struct el_second *s)
{
	if (el_await(&s->l, &s->l.seen[SMC_LLC_DELETE_LINK][0].count, 0, WAIT_MS))
		return true;
	ktap_note("no DELETE LINK came");
	return false;
}

/* ---- those that mean well: or nothing else here would prove anything ---- */

/* Two links, two connections, one on each of them, bytes both ways. */
static bool works(struct el_env *e)
{
	u64 smc = el_stat(e->witness, "clnt_smc"), added = el_stat(e->witness, "link_add");
	struct el_second s;
	bool ok = begin(e, &s, 0, false) && lives(e, &s.c) && hears(e, &s.c, 0) &&
		  !el_serve_add(e, &s.l, &s.far) && !el_serve_join(e, &s.far, &s.d, 1) &&
		  lives(e, &s.d) && hears(e, &s.d, 1) && lives(e, &s.c);

	ok = ok && el_stat(e->witness, "clnt_smc") == smc + 2 &&
	     el_stat(e->witness, "link_add") == added + 1;
	el_second_end(&s);
	return ok;
}

/* As one of the client's kind: as many links as the client has said. */
static bool works_marked(struct el_env *e)
{
	u64 added = el_stat(e->witness, "link_add");
	struct el_link third = { 0 };
	struct el_second s;
	bool ok = begin(e, &s, LINKS_SAID, true) && open_third(e, &s, &third) &&
		  !el_serve_add(e, &s.l, &s.far) && !el_serve_add(e, &s.l, &third) &&
		  !el_serve_join(e, &third, &s.d, 1) && lives(e, &s.d) && hears(e, &s.d, 1) &&
		  lives(e, &s.c) && el_stat(e->witness, "link_add") == added + 2;

	el_second_end(&s);
	el_close(&third);
	return ok;
}

/* ---- what the first contact extension says ---- */

/* Links per group, and whether the sender marks itself. */
struct boast {
	u8 links;
	bool marked;
	bool well_formed;
};

static const struct boast *boast;

static void say_boast(struct evil_msg *m)
{
	struct smc_clc_accept a;

	if (smc_clc_parse_accept(m->buf, m->len, &a))
		return;
	a.fce.max_links = boast->links;
	if (boast->marked)
		smc_marker_set_fce(&a.fce);
	m->len = smc_clc_build_accept(&a, m->buf, sizeof(m->buf));
}

/* More links than the client has said, than a stranger may say, than there may be at all; none. */
static bool many_links(struct el_env *e)
{
	static const struct boast boasts[] = {
		{ LINKS_SAID + 1, true, true }, { 8, true, true }, { 9, true, false },
		{ 255, true, false }, { 0, true, true }, { 3, false, false }, { 255, false, false },
		{ 0, false, true },
	};
	u64 made = el_stat(e->witness, "first_contact");
	bool ok = true;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(boasts); i++) {
		struct el_second s;
		int err;

		boast = &boasts[i];
		ok = el_second_open(e, &s);
		s.l.spoil_confirm = say_boast;
		err = ok ? el_serve_join(e, &s.l, &s.c, 0) : 0;
		if (err != -ECONNREFUSED ||
		    (boast->well_formed && s.l.declined != SMC_CLC_DECL_MAX_LINKS)) {
			ktap_note("%u links, marked %d: %s, Decline %08x", boast->links,
				  boast->marked, tl_errno_name(-err), s.l.declined);
			ok = false;
		}
		el_second_end(&s);
	}
	return ok && el_stat(e->witness, "first_contact") == made;
}

/* ---- offers that must be refused ---- */

/* The number of the link that is there; under another one the same offer is good. */
static bool number_in_use(struct el_env *e)
{
	struct el_second s;
	bool ok = begin(e, &s, 0, false);

	s.far.num = s.l.num;
	ok = ok && refuses(e, &s, &s.far);
	s.far.num = s.l.num + 1;
	ok = ok && !el_serve_add(e, &s.l, &s.far) && lives(e, &s.c);
	el_second_end(&s);
	return ok;
}

static void no_num(struct smc_llc_msg *m)
{
	m->add_link.link_num = 0;
}

static void no_qp(struct smc_llc_msg *m)
{
	m->add_link.qpn = 0;
}

static void no_mtu(struct smc_llc_msg *m)
{
	m->add_link.mtu = 15;
}

/* No number, no queue pair, no such MTU. */
static bool bad_offers(struct el_env *e)
{
	void (*const lies[])(struct smc_llc_msg *) = { no_num, no_qp, no_mtu };
	struct el_second s;
	bool ok = begin(e, &s, 0, false);

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(lies); i++) {
		s.l.spoil_add = lies[i];
		ok = refuses(e, &s, &s.far);
	}
	s.l.spoil_add = NULL;
	ok = ok && !el_serve_add(e, &s.l, &s.far) && lives(e, &s.c);
	el_second_end(&s);
	return ok;
}

/* Between the two RNICs that have a link already; the client has no other one on that network. */
static bool parallel(struct el_env *e)
{
	struct evil_target same = *e->lonely;
	struct el_env there = *e;
	struct el_second s;
	bool ok;

	same.from = e->lonely->local;
	there.t = e->lonely;
	there.stranger = &same;
	ok = begin(&there, &s, 0, false) && refuses(e, &s, &s.far);
	el_second_end(&s);
	return ok;
}

/* A second one where one was agreed upon, a third one where it was two; the client has a port. */
static bool beyond_agreed(struct el_env *e)
{
	struct el_link third = { 0 };
	struct el_second s;
	bool ok = begin(e, &s, 1, false) && refuses(e, &s, &s.far);

	el_second_end(&s);
	ok = ok && begin(e, &s, 2, true) && open_third(e, &s, &third) &&
	     !el_serve_add(e, &s.l, &s.far) && refuses(e, &s, &third) &&
	     !el_serve_join(e, &s.far, &s.d, 1) && lives(e, &s.d);
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

	el_far_tell(&s->l, &s->far, &m.add_link);
	return !el_llc(&s->l, &m);
}

/* Has the client more than one link to be, beside those of before? */
static bool holds_little(struct el_env *e, u64 qps, u64 mrs)
{
	u64 qp = el_held(e->witness, "qp"), mr = el_held(e->witness, "mr");

	/* the last one may be going while the next one comes */
	if (qp <= qps + 2 && mr <= 2 * mrs)
		return true;
	ktap_note("%llu queue pairs after %llu, %llu memory regions after %llu",
		  (unsigned long long)qp, (unsigned long long)qps, (unsigned long long)mr,
		  (unsigned long long)mrs);
	return false;
}

/* Links without end that are never confirmed: one at a time, each has its deadline. */
static bool unfinished(struct el_env *e)
{
	u64 before = el_stat(e->witness, "link_add_fail"), qps = 0, mrs = 0, failed;
	struct el_second s;
	bool ok = begin(e, &s, 0, false);
	const struct el_seen *seen = &s.l.seen[SMC_LLC_ADD_LINK][1];
	unsigned int answers = seen->count;

	qps = el_held(e->witness, "qp");
	mrs = el_held(e->witness, "mr");
	for (u8 i = 0; ok && i < OFFERS; i++)
		ok = offer_only(&s, 2 + i);
	do {
		u64 was = el_stat(e->witness, "link_add_fail");

		ok = ok && holds_little(e, qps, mrs) &&
		     el_counted(e, &s.l, "link_add_fail", NULL, was) && lives(e, &s.c);
		failed = el_stat(e->witness, "link_add_fail") - before;
	} while (ok && failed < 2);
	/* no answer to the next one before the last one is given up */
	if (ok && seen->count - answers > failed + 1) {
		ktap_note("%u answers, %llu given up", seen->count - answers,
			  (unsigned long long)failed);
		ok = false;
	}
	ok = ok && holds_little(e, qps, mrs) && told(&s);
	el_second_end(&s);
	return ok;
}

/* More of them at once than anybody can keep in mind: that group ends. */
static bool flood(struct el_env *e)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.add_link = { .link_num = 2 },
	};

	el_far_tell(e->l, e->l, &m.add_link);
	for (int i = 0; i < FLOOD; i++) {
		if (el_llc(e->l, &m))
			break;
	}
	return true;
}

static u8 said_gid[SMC_GID_LEN];
static u32 said_qpn;

static void other_gid(struct smc_llc_msg *m)
{
	memcpy(m->add_link.gid, said_gid, SMC_GID_LEN);
	if (said_qpn)
		m->add_link.qpn = said_qpn;
}

/* A GID that is not ours: nobody's, the client's own with its own queue pair, a multicast one. */
static bool foreign_gid(struct el_env *e)
{
	u64 before = el_stat(e->witness, "link_add_fail");
	struct el_second s;
	bool ok = true;

	for (int i = 0; ok && i < 3; i++) {
		int err;

		ok = begin(e, &s, 0, false);
		memcpy(said_gid, s.l.gid.raw, SMC_GID_LEN);
		said_qpn = 0;
		if (i == 0) {
			said_gid[15] = 77;
		} else if (i == 1) {
			memcpy(said_gid + 12, &e->t->to.in.sin_addr, 4);
			said_qpn = s.l.peer_qpn;
		} else {
			memset(said_gid, 0xff, SMC_GID_LEN);
		}
		s.l.spoil_add = other_gid;
		err = ok ? el_serve_offer(e, &s.l, &s.far) : 0;
		/* over the link that it makes then nobody says a word */
		ok = ok && (err == -ECONNREFUSED ||
			    (!err && el_counted(e, &s.l, "link_add_fail", NULL, before)));
		ok = ok && lives(e, &s.c);
		if (!ok)
			ktap_note("GID %d: %s", i, tl_errno_name(-err));
		before = el_stat(e->witness, "link_add_fail");
		el_second_end(&s);
	}
	return ok;
}

/* The connection is to go over a link that is offered and not confirmed: it is no SMC one. */
static bool join_unconfirmed(struct el_env *e)
{
	u64 before = el_stat(e->witness, "link_add_fail");
	struct el_second s;
	bool ok = begin(e, &s, 0, false) && !el_serve_offer(e, &s.l, &s.far);
	int err = ok ? el_serve_join(e, &s.far, &s.d, 1) : 0;

	if (err != -ECONNREFUSED || s.l.declined == SMC_CLC_DECL_SYNC) {
		ktap_note("%s, Decline %08x", tl_errno_name(-err), s.l.declined);
		ok = false;
	}
	ok = ok && el_counted(e, &s.l, "link_add_fail", NULL, before) && lives(e, &s.c);
	el_second_end(&s);
	return ok;
}

static u8 noise[SMC_LLC_RTOKEN_LEN * SMC_LLC_MAX_RTOKENS];

/* Keys of memory that there is not, and a wrong one of that which the client writes to. */
static void lie_keys(struct smc_llc_msg *m)
{
	struct smc_llc_rtoken rt = {
		.ref_rkey = cur->l.mr->rkey,
		.rkey = cur->far.mr->rkey ^ 0x7f00,
		.vaddr = 0x1000,
	};

	tl_fill(0xadd, 0, noise, sizeof(noise));
	smc_llc_put_rtoken(noise, 7, &rt);
	/* and another one, when that is known */
	rt.rkey ^= 0xff00;
	smc_llc_put_rtoken(noise, 8, &rt);
	m->add_link.rtokens.count = SMC_LLC_MAX_RTOKENS;
	m->add_link.rtokens.raw = noise;
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

/*
 * The link is made, for what is said of memory is found out in use: when the connection has to
 * go there, what it writes is refused by our RNIC, and the group has no link any more.
 */
static bool key_lies(struct el_env *e)
{
	static const struct el_case told_so = { .name = "" };
	u64 gone = el_stat(e->witness, "link_del");
	struct el_env beside = *e;
	struct el_second s;
	bool ok = begin(e, &s, 0, false);

	beside.l = &s.l;
	s.l.spoil_add = lie_keys;
	ok = ok && !el_serve_add(e, &s.l, &s.far) && lives(e, &s.c) &&
	     delete_link(&s.l, s.l.num) && el_counted(e, &s.l, "link_del", NULL, gone) &&
	     el_tell_send(e->witness, s.c.port, BYTES) > 0 && el_dead(&beside, &s.c, &told_so);
	el_second_end(&s);
	return ok;
}

/* ---- CONFIRM LINK ---- */

static void lie_num(struct smc_llc_msg *m)
{
	m->confirm_link.link_num ^= 0x40;
}

static void lie_num_0(struct smc_llc_msg *m)
{
	m->confirm_link.link_num = 0;
}

static void lie_qpn(struct smc_llc_msg *m)
{
	m->confirm_link.qpn ^= 1;
}

static void lie_gid(struct smc_llc_msg *m)
{
	m->confirm_link.gid[SMC_GID_LEN - 1] ^= 1;
}

static void lie_eyec(struct smc_llc_msg *m)
{
	m->confirm_link.no_eyec = false;
}

/* Over the further link: it is not made, and the client says so. */
static bool confirm_lies(struct el_env *e)
{
	void (*const lies[])(struct smc_llc_msg *) = { lie_num, lie_qpn, lie_gid, lie_eyec };
	bool ok = true;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(lies); i++) {
		u64 before = el_stat(e->witness, "link_add_fail");
		struct el_second s;

		ok = begin(e, &s, 0, false) && !el_serve_offer(e, &s.l, &s.far);
		s.l.patience_ms = HASTE_MS;
		s.far.spoil = lies[i];
		ok = ok && el_serve_confirm(e, &s.far) == -ETIMEDOUT &&
		     el_counted(e, &s.l, "link_add_fail", NULL, before) && told(&s) &&
		     lives(e, &s.c);
		if (!ok)
			ktap_note("lie %zu", i);
		el_second_end(&s);
	}
	return ok;
}

/* Over the first one: no connection over RDMA. */
static bool first_lies(struct el_env *e)
{
	void (*const lies[])(struct smc_llc_msg *) = { lie_num_0, lie_qpn, lie_gid, lie_eyec };
	u64 smc = el_stat(e->witness, "clnt_smc");
	bool ok = true;

	for (size_t i = 0; ok && i < TL_ARRAY_SIZE(lies); i++) {
		struct el_second s;
		int err;

		ok = el_second_open(e, &s);
		s.l.patience_ms = HASTE_MS;
		s.l.spoil = lies[i];
		err = ok ? el_serve_join(e, &s.l, &s.c, 0) : 0;
		if (!err) {
			ktap_note("lie %zu was believed", i);
			ok = false;
		}
		el_second_end(&s);
	}
	return ok && el_stat(e->witness, "clnt_smc") == smc;
}

static void offer_first(struct smc_llc_msg *m)
{
	(void)m;
	offer_only(cur, cur->l.num);
}

/* A further link before the first one is confirmed, under the number that this one gets. */
static bool early_offer(struct el_env *e)
{
	u64 added = el_stat(e->witness, "link_add");
	struct el_second s;
	bool ok;
	int err;

	cur = &s;
	ok = el_second_open(e, &s);
	s.l.patience_ms = HASTE_MS;
	s.l.offered = &s.far;
	s.l.spoil = offer_first;
	err = ok ? el_serve_join(e, &s.l, &s.c, 0) : 0;
	/* two links of one number, if we confirm this one as well */
	s.far.num = s.l.num;
	if (ok && s.far.peer_qpn) {
		ktap_note("the client takes the offer, and %s of its number",
			  el_serve_confirm(e, &s.far) ? "the first link" : "two links");
		ok = false;
	}
	ok = ok && err && el_stat(e->witness, "link_add") == added;
	el_second_end(&s);
	return ok;
}

/*
 * Somebody begins a first contact in the name of a group that is there, which takes no more
 * than to know of it, and stops. The group goes on taking connections, and at once.
 */
static bool claims_group(struct el_env *e)
{
	struct el_conn claim = { .fd = -1 }, c = { .fd = -1 };
	u64 made = el_stat(e->witness, "first_contact"), ended = el_stat(e->witness, "lgr_term");
	int err = el_serve_claim(e, e->l, &claim, 3);
	bool ok = !err && el_stat(e->witness, "first_contact") == made + 1;

	if (ok)
		err = el_serve_join(e, e->l, &c, 2);
	if (ok && !err && el_stat(e->witness, "lgr_term") != ended) {
		ktap_note("the connection has waited until that one was given up");
		ok = false;
	}
	ok = ok && !err && lives(e, &c);
	if (err)
		ktap_note("%s, Decline %08x", tl_errno_name(-err), e->l->declined);
	el_leave(&claim);
	el_tell_close(e->witness, c.port);
	el_leave(&c);
	return ok;
}

/* The answer to DELETE LINK of that number says that there is no such link. */
static bool no_link(struct el_link *l, u8 num, u32 reason)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .link_num = num, .reason = reason },
	};
	const struct el_seen *seen = &l->seen[SMC_LLC_DELETE_LINK][1];
	unsigned int before = seen->count;

	if (el_llc(l, &m) || !el_await(l, &seen->count, before, WAIT_MS)) {
		ktap_note("no answer to DELETE LINK %u", num);
		return false;
	}
	if (smc_get_be32(seen->raw + 5) == SMC_LLC_DEL_NO_LINK)
		return true;
	ktap_note("link %u is said to be there", num);
	return false;
}

/* Once more, with another number: the link keeps the first one. */
static bool confirm_again(struct el_env *e)
{
	e->l->patience_ms = HASTE_MS;
	e->l->spoil = lie_num;
	if (el_serve_confirm(e, e->l) != -ETIMEDOUT) {
		ktap_note("another number was confirmed");
		return false;
	}
	return no_link(e->l, e->l->num ^ 0x40, SMC_LLC_DEL_LOST_PATH);
}

/* ... with another queue pair: who is at the other end? */
static bool confirm_again_qpn(struct el_env *e)
{
	e->l->patience_ms = HASTE_MS;
	e->l->spoil = lie_qpn;
	return el_serve_confirm(e, e->l) == -ETIMEDOUT;
}

/* ---- deletions ---- */

/* An operator's word about links that are none, and about the second one, again and again. */
static bool delete_operator(struct el_env *e)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = {
			.link_num = 2, .orderly = true, .reason = SMC_LLC_DEL_OPERATOR,
		},
	};
	u64 gone = el_stat(e->witness, "link_del");
	struct el_link third = { 0 };
	struct el_second s;
	bool ok = begin(e, &s, 0, false) && open_third(e, &s, &third) &&
		  !el_serve_add(e, &s.l, &s.far);

	for (u8 i = 0; ok && i < ORDERS; i++)
		ok = no_link(&s.l, 0x80 + i, SMC_LLC_DEL_OPERATOR);
	ok = ok && lives(e, &s.c) && !el_llc(&s.l, &m) &&
	     el_counted(e, &s.l, "link_del", NULL, gone);
	for (int i = 0; ok && i < ORDERS; i++)
		ok = no_link(&s.l, 2, SMC_LLC_DEL_OPERATOR);
	/* what the server wants then is still the server's to say */
	s.far.num = 0;
	ok = ok && lives(e, &s.c) && !el_serve_add(e, &s.l, &third) && lives(e, &s.c);
	el_second_end(&s);
	el_close(&third);
	return ok;
}

static void delete_new(struct smc_llc_msg *m)
{
	(void)m;
	delete_link(&cur->l, cur->far.num);
}

/*
 * The link that it is adding: before the client can have confirmed it, with that, or when it
 * takes the link for a good one. It is not made, or it goes; the group stays.
 */
static bool deleted(struct el_env *e)
{
	bool ok = true;

	for (int i = 0; ok && i < MOMENTS; i++) {
		u64 before = el_stat(e->witness, "link_add_fail") +
			     el_stat(e->witness, "link_del");
		struct el_second s;

		ok = begin(e, &s, 0, false) && !el_serve_offer(e, &s.l, &s.far);
		s.l.patience_ms = HASTE_MS;
		if (i == 0)
			ok = ok && delete_link(&s.l, s.far.num);
		if (i % 2)
			s.far.spoil = delete_new;
		if (i)
			el_serve_confirm(e, &s.far);
		if (i && !(i % 2))
			ok = ok && delete_link(&s.l, s.far.num);
		ok = ok && el_counted(e, &s.l, "link_add_fail", "link_del", before) &&
		     lives(e, &s.c);
		if (!ok)
			ktap_note("moment %d", i);
		el_second_end(&s);
	}
	return ok;
}

/* The link that carries the offer, while there is no other one: the end of that group. */
static bool delete_carrier(struct el_env *e)
{
	static const struct el_case told_so = { .name = "" };
	struct el_env beside = *e;
	struct el_second s;
	bool ok = begin(e, &s, 0, false) && !el_serve_offer(e, &s.l, &s.far) &&
		  delete_link(&s.l, s.l.num);

	beside.l = &s.l;
	ok = ok && el_dead(&beside, &s.c, &told_so);
	el_second_end(&s);
	return ok;
}

/* ---- the other role's words ---- */

static bool say(struct el_env *e, u8 type, bool response)
{
	struct smc_llc_msg m = { .type = type, .version = 2, .response = response };

	if (type == SMC_LLC_CONFIRM_LINK) {
		m.confirm_link.no_eyec = true;
		m.confirm_link.qpn = e->l->qp->qp_num;
		m.confirm_link.link_num = e->l->num;
		memcpy(m.confirm_link.gid, e->l->gid.raw, SMC_GID_LEN);
	}
	return !el_llc(e->l, &m) && sent(e->l);
}

static bool request_add_link(struct el_env *e)
{
	return say(e, SMC_LLC_REQ_ADD_LINK, false);
}

static bool confirm_link_answer(struct el_env *e)
{
	return say(e, SMC_LLC_CONFIRM_LINK, true);
}

/* REJECT, to what nobody has offered or asked for, and other answers without a question. */
static bool unasked(struct el_env *e)
{
	struct smc_llc_msg no = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.response = true,
		.add_link = { .rejected = true, .reason = SMC_LLC_REJ_NO_ALT_PATH, .link_num = 2 },
	};

	for (int i = 0; i < 5; i++) {
		if (el_llc(e->l, &no) || !say(e, SMC_LLC_DELETE_LINK, true) ||
		    !say(e, SMC_LLC_CONFIRM_RKEY, true) || !say(e, SMC_LLC_TEST_LINK, true) ||
		    !say(e, SMC_LLC_REQ_ADD_LINK, true))
			return false;
	}
	return sent(e->l);
}

const struct el_case el_served_cases[] = {
	{ "served_works",	works,		EL_UNHARMED,	"first_contact", 1, { 0 } },
	{ "served_works_marked", works_marked,	EL_UNHARMED,	"link_add", 2, { 0 } },
	{ "served_many_links",	many_links,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_number_in_use", number_in_use, EL_UNHARMED,	"link_reject", 1, { 0 } },
	{ "served_bad_offers",	bad_offers,	EL_UNHARMED,	"link_reject", 3, { 0 } },
	{ "served_parallel",	parallel,	EL_UNHARMED,	"link_reject", 1, { 0 } },
	{ "served_beyond_agreed", beyond_agreed, EL_UNHARMED,	"link_reject", 2, { 0 } },
	{ "served_unfinished",	unfinished,	EL_UNHARMED,	"link_add_fail", 2, { 0 } },
	{ "served_flood",	flood,		EL_LINK_DIES,	"lgr_term", 1, { 0 } },
	{ "served_foreign_gid",	foreign_gid,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_join_unconfirmed", join_unconfirmed, EL_UNHARMED, "link_add_fail", 1, { 0 } },
	{ "served_key_lies",	key_lies,	EL_UNHARMED,	"link_fail", 1, { 0 } },
	{ "served_confirm_lies", confirm_lies,	EL_UNHARMED,	"link_add_fail", 4, { 0 } },
	{ "served_first_lies",	first_lies,	EL_UNHARMED,	"lgr_term", 4, { 0 } },
	{ "served_early_offer",	early_offer,	EL_UNHARMED,	"rx_llc_bad", 1, { 0 } },
	{ "served_claims_group", claims_group,	EL_UNHARMED,	"clnt_smc", 1, { 0 } },
	{ "served_confirm_again", confirm_again, EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_confirm_again_qpn", confirm_again_qpn, EL_LINK_DIES, "link_fail", 1, { 0 } },
	{ "served_delete_operator", delete_operator, EL_UNHARMED, "link_del", 1, { 0 } },
	{ "served_deleted",	deleted,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "served_delete_carrier", delete_carrier, EL_UNHARMED,	"lgr_term", 1, { 0 } },
	{ "served_request_add_link", request_add_link, EL_LINK_DIES, "rx_llc_bad", 1, { 0 } },
	{ "served_confirm_link_answer", confirm_link_answer, EL_LINK_DIES, "rx_llc_bad", 1, { 0 } },
	{ "served_unasked",	unasked,	EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_served_cases = TL_ARRAY_SIZE(el_served_cases);
