// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hostile peer in the server's role: the witness makes the module connect to it. This file
 * has the rendezvous and offers of further links; the rest is the same in both roles.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <smc/proto/peer_caps.h>

#include "link.h"

#define TIMEOUT_MS	15000
#define LINKS		2	/* per group, unless the case sets another number */
#define OFF_CONT_LEFT	5	/* ADD LINK CONTINUATION: rtokens not sent before */

static int listener = -1;
static unsigned int listens_at;

/**
 * el_serve_open() - listen on all our addresses
 * @port: TCP port
 *
 * Return: 0 or a negative errno.
 */
int el_serve_open(unsigned int port)
{
	const struct tl_proto *tcp = tl_proto_find("inet");
	struct tl_addr any;

	if (tl_addr_parse(&any, tcp, NULL, port))
		return -EINVAL;
	listens_at = port;
	listener = tl_listen(tcp, &any, 8);
	return listener < 0 ? listener : 0;
}

/* Poll both groups of the case while we wait for an event in one of them. */
static void poll_all(struct el_env *e, struct el_link *l)
{
	el_poll(e->l);
	if (l != e->l)
		el_poll(l);
}

static bool await_count(struct el_env *e, struct el_link *l, const unsigned int *count,
			unsigned int more_than)
{
	struct el_link *group = l->near ?: l;
	u64 until = tl_now_ns() + (group->timeout_ms ?: TIMEOUT_MS) * TL_NSEC_PER_MSEC;

	for (;;) {
		poll_all(e, group);
		if (*count > more_than)
			return true;
		if (tl_now_ns() >= until || l->status != IBV_WC_SUCCESS)
			return false;
		tl_sleep_ms(2);
	}
}

/* ---- the rendezvous ---- */

static int accept_client(struct el_env *e, struct el_link *l, struct el_conn *c)
{
	u64 until = tl_now_ns() + TIMEOUT_MS * TL_NSEC_PER_MSEC;
	struct pollfd p = { .fd = listener, .events = POLLIN };

	while (poll(&p, 1, 2) <= 0) {
		poll_all(e, l);
		if (tl_now_ns() >= until)
			return -ETIMEDOUT;
	}
	c->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (c->fd < 0)
		return -errno;
	tl_set_timeouts(c->fd, TIMEOUT_MS);
	return 0;
}

/* Set the links per group in the first contact extension, and the tag of a native peer. */
static void fce_put(const struct el_link *l, struct evil_msg *m)
{
	struct smc_clc_accept a;

	if (smc_clc_parse_accept(m->buf, m->len, &a))
		return;
	a.fce.max_links = l->links ?: LINKS;
	if (l->native)
		smc_native_tag_set_fce(&a.fce);
	m->len = smc_clc_build_accept(&a, m->buf, sizeof(m->buf));
}

/* Receive the Proposal, send the Accept, receive the Confirm or Accept into @a. */
static int clc_exchange(struct el_link *l, struct el_conn *c, unsigned int nr, bool first,
			struct smc_clc_accept *a)
{
	struct smc_clc_proposal p;
	struct smc_clc_decline d;
	struct evil_msg m;
	enum evil_end end = el_await_clc(l, c->fd, &m);

	if (end != EVIL_ACCEPT || smc_clc_parse_proposal(m.buf, m.len, &p) ||
	    !(l->v1 ? p.v1_type == SMC_CLC_OFFER_R : p.has_v2)) {
		ktap_note("no Proposal of version %d: client %s", l->v1 ? 1 : 2,
			  evil_end_name(end));
		return -EPROTO;
	}
	memcpy(l->client_id, p.peer_id, SMC_PEER_ID_LEN);
	memcpy(l->client_mac, p.mac, SMC_MAC_LEN);
	evil_accept(&m, &c->link->t->local, l->v1 ? NULL : p.v2.eids[0], false, first);
	if (l->v1)
		evil_accept_to_v1(&m);
	else if (first)
		fce_put(l, &m);
	el_put_end(c, nr, &m);
	evil_write(c->fd, m.buf, m.len);
	end = el_await_clc(l, c->fd, &m);
	if (end == EVIL_DECLINE && !smc_clc_parse_decline(m.buf, m.len, &d))
		l->declined = d.diag;
	if (end != EVIL_ACCEPT)
		return end == EVIL_OPEN ? -ETIMEDOUT : -ECONNREFUSED;
	if (smc_clc_parse_accept(m.buf, m.len, a))
		return -EPROTO;
	if (!memcmp(a->peer_id, p.peer_id, SMC_PEER_ID_LEN))
		return 0;
	ktap_note("Proposal and Confirm have different peer IDs");
	return -EPROTO;
}

/* Offer the first link's own RNIC, as servers do that have no second one. */
static int offer_nothing(struct el_env *e, struct el_link *l)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.add_link = { .has_ext = !l->v1 },
	};
	const unsigned int *seen = &l->seen[SMC_LLC_ADD_LINK][1].count;
	unsigned int before = *seen;

	memcpy(m.add_link.gid, l->gid.raw, SMC_GID_LEN);
	memcpy(m.add_link.mac, l->mac, SMC_MAC_LEN);
	return el_llc(l, &m) || !await_count(e, l, seen, before) ? -ETIMEDOUT : 0;
}

static int link_phase(struct el_env *e, struct el_link *l, const struct smc_clc_accept *a)
{
	int err = el_qp_up(l, a);

	l->num = 1;
	l->agreed = l->links ?: LINKS;
	if (!err)
		err = el_serve_confirm(e, l);
	if (!err)
		l->established = true;
	/* with one link agreed neither side expects an offer of a second one */
	return err || l->agreed == 1 ? err : offer_nothing(e, l);
}

/**
 * el_serve_join() - make a connection as server, and the group if it is the first one
 * @e: case
 * @l: our end of the link in the Accept
 * @c: connection, initialized here
 * @nr: index of the connection in the group; from EL_CONNS on: an RMBE that we do not have, and
 *	CDCs to the connection are not seen
 *
 * Return: 0 or a negative errno: -ECONNREFUSED if the client declined or closed, -EBADE
 * if its application got no SMC connection.
 */
int el_serve_join(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr)
{
	struct el_link *group = l->near ?: l;
	bool first = !group->established;
	static unsigned int name = 0x10000;
	struct tl_addr at = group->at ? *group->at : group->t->local;
	struct el_outcome o;
	struct smc_clc_accept a;
	int err;

	el_conn_begin(c, l);
	tl_addr_set_port(&at, listens_at);
	/* not its port, which connections to two of our addresses may share */
	c->port = ++name;
	err = el_order_connect(e->witness, &at, c->port);
	if (!err)
		err = accept_client(e, group, c);
	if (!err)
		err = clc_exchange(group, c, nr, first, &a);
	if (!err) {
		el_take_end(c, &a);
		if (nr < EL_CONNS)
			group->conns[nr] = c;
	}
	if (!err && first)
		err = link_phase(e, group, &a);
	/* make connect() return */
	if (err && c->fd >= 0) {
		close(c->fd);
		c->fd = -1;
	}
	do {
		poll_all(e, group);
		if (!el_order_outcome(e->witness, 20, &o))
			return -EIO;
	} while (o.err == EINPROGRESS);
	if (!err && (o.err || !o.smc)) {
		ktap_note("connect(): %s, fallback reason %08x", tl_errno_name(o.err),
			  o.reason);
		err = -EBADE;
	}
	return err;
}

/**
 * el_serve_claim() - make a first contact in the name of an existing group, up to the Confirm
 * @e: case
 * @l: our end of that group's link
 * @c: connection, initialized here; the result of connect() is ignored
 * @nr: index of the connection in the group, for our end in the Accept
 *
 * Return: 0 or a negative errno.
 */
int el_serve_claim(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr)
{
	struct tl_addr at = l->t->local;
	struct smc_clc_accept a;
	int err;

	el_conn_begin(c, l);
	tl_addr_set_port(&at, listens_at);
	err = el_order_connect(e->witness, &at, 0);
	if (!err)
		err = accept_client(e, l, c);
	return err ?: clc_exchange(l, c, nr, true, &a);
}

/* ---- links ---- */

/**
 * el_serve_confirm() - send CONFIRM LINK over a link and wait for the answer
 * @e: case
 * @l: our end of the link
 *
 * Return: 0, or -ETIMEDOUT without an answer.
 */
int el_serve_confirm(struct el_env *e, struct el_link *l)
{
	const unsigned int *seen = &l->seen[SMC_LLC_CONFIRM_LINK][1].count;
	unsigned int before = *seen;
	struct smc_llc_msg m = {
		.type = SMC_LLC_CONFIRM_LINK,
		.version = 2,
		.confirm_link = {
			.no_eyec = true,
			.qpn = l->qp->qp_num,
			.link_num = l->num,
			.link_uid = "evil",
			.max_links = l->near ? l->near->agreed : l->agreed,
			.max_conns = SMC_CLC_CONNS_MAX,
		},
	};

	memcpy(m.confirm_link.mac, l->mac, SMC_MAC_LEN);
	memcpy(m.confirm_link.gid, l->gid.raw, SMC_GID_LEN);
	if (l->spoil)
		l->spoil(&m);
	return el_llc(l, &m) || !await_count(e, l, seen, before) ? -ETIMEDOUT : 0;
}

/**
 * el_serve_answered() - handle the client's answer to ADD LINK
 * @l: group
 * @al: the answer
 */
void el_serve_answered(struct el_link *l, const struct smc_llc_add_link *al)
{
	l->refused = al->rejected ? al->reason : 0;
	/* each link needs a queue pair of its own */
	if (!l->offered || al->rejected || l->offered->peer_qpn)
		return;
	el_far_up(l->offered, al);
}

/* Version 1: send our rtokens on the further link, and take those of the client, in turns. */
static int rtokens_exchange(struct el_env *e, struct el_link *l, struct el_link *far)
{
	const struct el_seen *seen = &l->seen[SMC_LLC_ADD_LINK_CONT][1];
	struct smc_llc_msg m = { .type = SMC_LLC_ADD_LINK_CONT, .version = 1 };
	unsigned int before;

	do {
		before = seen->count;
		el_cont_fill(far, &m.add_link_cont);
		if (l->spoil_cont && !l->spoil_cont(&m))
			return -ECANCELED;
		if (el_llc(l, &m) || !await_count(e, l, &seen->count, before))
			return -ETIMEDOUT;
	} while (seen->raw[OFF_CONT_LEFT] > SMC_LLC_CONT_PAIRS ||
		 m.add_link_cont.left > SMC_LLC_CONT_PAIRS);
	return 0;
}

/**
 * el_serve_offer() - send ADD LINK over the first link and wait for the answer
 * @e: case
 * @l: group
 * @far: our end of the further link, with its number set
 *
 * In version 1 the rtokens follow, which version 2 has in these messages.
 *
 * Return: 0, -ECONNREFUSED: rejected, see @l->refused; -ETIMEDOUT: no answer; -ECANCELED:
 * @l->spoil_cont has stopped the exchange of rtokens.
 */
int el_serve_offer(struct el_env *e, struct el_link *l, struct el_link *far)
{
	const unsigned int *seen = &l->seen[SMC_LLC_ADD_LINK][1].count;
	unsigned int before = *seen;
	struct smc_llc_msg m = {
		.type = SMC_LLC_ADD_LINK,
		.version = 2,
		.add_link = { .link_num = far->num },
	};

	l->offered = far;
	far->keys_sent = false;
	el_far_describe(l, far, &m.add_link);
	if (l->spoil_add)
		l->spoil_add(&m);
	if (el_llc(l, &m) || !await_count(e, l, seen, before))
		return -ETIMEDOUT;
	if (l->refused)
		return -ECONNREFUSED;
	return l->v1 ? rtokens_exchange(e, l, far) : 0;
}

/**
 * el_serve_add() - add a further link, up to the CONFIRM LINK response
 * @e: case
 * @l: group
 * @far: our end, with its number set
 *
 * Return: 0 or a negative errno.
 */
int el_serve_add(struct el_env *e, struct el_link *l, struct el_link *far)
{
	int err = el_serve_offer(e, l, far);

	if (!err)
		err = el_serve_confirm(e, far);
	if (err)
		ktap_note("link %u: %s, refused for %u, queue pair: %s", far->num,
			  tl_errno_name(-err), l->refused, ibv_wc_status_str(far->status));
	return err;
}
