// SPDX-License-Identifier: GPL-2.0-only
/*
 * The correct part of the hostile peer: rendezvous in the client's role (serve.c has the
 * server's), answers to LLC requests, data.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <smc/proto/cdc_imm.h>
#include <smc/proto/cursor.h>

#include "link.h"

#define TIMEOUT_MS	15000

/* ---- messages received over the link ---- */

static void cdc_in(struct el_link *l, const u8 *buf, size_t len)
{
	u32 token;

	if (smc_cdc_msg_token(buf, len, &token))
		return;
	l = l->near ?: l;
	for (int i = 0; i < EL_CONNS; i++) {
		struct el_conn *c = l->conns[i];

		if (!c || c->token != token)
			continue;
		if (smc_cdc_msg_parse(buf, len, EL_ELEM_LEN, c->peer_len, &c->cdc))
			ktap_note("server sent an impossible CDC");
		else
			c->ncdc++;
		if (l->on_ask && c->cdc.ext & SMC_CDC_EXT_ACK_REQ)
			l->on_ask(c);
	}
}

/**
 * el_far_up() - move the queue pair of a further link to RTS
 * @far: our end of the link
 * @al: ADD LINK of the module, with its end
 */
void el_far_up(struct el_link *far, const struct smc_llc_add_link *al)
{
	struct smc_clc_accept a = { .mtu = al->mtu, .qpn = al->qpn, .psn = al->psn };

	memcpy(a.gid, al->gid, sizeof(a.gid));
	if (el_qp_up(far, &a))
		ktap_note("a further queue pair does not come up");
	for (far->nkeys = 0; far->nkeys < EL_KEYS && far->nkeys < al->rtokens.count; far->nkeys++)
		smc_llc_list_get_rtoken(&al->rtokens, far->nkeys, &far->keys[far->nkeys]);
}

/**
 * el_far_describe() - fill in ADD LINK with our end of a further link
 * @l: group
 * @far: our end of the link
 * @al: filled in except for the link number; its list is valid until the next call
 */
void el_far_describe(const struct el_link *l, const struct el_link *far,
		     struct smc_llc_add_link *al)
{
	static u8 raw[SMC_LLC_RTOKEN_LEN];
	const struct smc_llc_rtoken rt = {
		.ref_rkey = l->mr->rkey,
		.rkey = far->mr->rkey,
		.vaddr = (uintptr_t)el_rmb(far),
	};

	memcpy(al->mac, far->mac, SMC_MAC_LEN);
	memcpy(al->gid, far->gid.raw, SMC_GID_LEN);
	al->qpn = far->qp->qp_num;
	al->psn = far->psn;
	al->mtu = SMC_MTU_1024;
	/* in version 1 the rtokens follow in ADD LINK CONTINUATION */
	if (l->v1)
		return;
	memcpy(al->target_gid, far->gid.raw, SMC_GID_LEN);
	al->has_ext = true;
	al->direct = true;
	smc_llc_list_put_rtoken(raw, 0, &rt);
	al->rtokens.raw = raw;
	al->rtokens.count = 1;
}

/* Accept a link that the module offers as server. */
static void link_accept(struct el_link *l, struct smc_llc_add_link *al)
{
	el_far_up(l->far, al);
	l->far->num = al->link_num;
	el_far_describe(l, l->far, al);
}

/* Version 1: take the rtokens of the module on a further link. */
static void cont_take(struct el_link *far, const struct smc_llc_add_link_cont *c)
{
	u8 n = c->left < SMC_LLC_CONT_PAIRS ? c->left : SMC_LLC_CONT_PAIRS;

	for (u8 i = 0; i < n && far->nkeys < EL_KEYS; i++)
		far->keys[far->nkeys++] = c->pairs[i];
}

/**
 * el_cont_fill() - fill in ADD LINK CONTINUATION with our rtokens, of which there is one
 * @far: our end of the further link
 * @c: filled in; empty from the second message on, while the module has more
 */
void el_cont_fill(struct el_link *far, struct smc_llc_add_link_cont *c)
{
	const struct el_link *l = far->near;
	const struct smc_llc_rtoken own = {
		.ref_rkey = l->mr->rkey,
		.rkey = far->mr->rkey,
		.vaddr = (uintptr_t)el_rmb(far),
	};

	memset(c, 0, sizeof(*c));
	c->link_num = far->num;
	c->left = !far->keys_sent;
	if (c->left)
		c->pairs[0] = own;
	far->keys_sent = true;
}

static void link_reject(struct smc_llc_add_link *al)
{
	al->rejected = true;
	al->reason = SMC_LLC_REJ_NO_ALT_PATH;
	al->has_ext = false;
	memset(&al->rtokens, 0, sizeof(al->rtokens));
}

/* Turn a request into the answer of a correct peer. Returns false if there is no answer. */
static bool llc_answer(struct el_link *l, struct smc_llc_msg *m)
{
	switch (m->type) {
	case SMC_LLC_CONFIRM_LINK:
		l->num = m->confirm_link.link_num;
		if (l->v1)
			l->agreed = m->confirm_link.max_links;
		m->confirm_link.no_eyec = true;
		memcpy(m->confirm_link.mac, l->mac, SMC_MAC_LEN);
		memcpy(m->confirm_link.gid, l->gid.raw, SMC_GID_LEN);
		m->confirm_link.qpn = l->qp->qp_num;
		memcpy(m->confirm_link.link_uid, "evil", 4);
		break;
	case SMC_LLC_ADD_LINK:
		l->established = true;
		if (l->no_add)
			return false;
		/* each link needs a queue pair of its own */
		if (l->far && !l->far->num) {
			link_accept(l, &m->add_link);
			if (l->spoil_add)
				l->spoil_add(m);
		} else {
			link_reject(&m->add_link);
		}
		break;
	case SMC_LLC_ADD_LINK_CONT:
		if (!l->far)
			return false;
		cont_take(l->far, &m->add_link_cont);
		el_cont_fill(l->far, &m->add_link_cont);
		m->response = true;
		return !l->spoil_cont || l->spoil_cont(m);
	case SMC_LLC_DELETE_RKEY:
	case SMC_LLC_CONFIRM_RKEY:
	case SMC_LLC_CONFIRM_RKEY_CONT:
	case SMC_LLC_TEST_LINK:
		break;
	default:
		return false;
	}
	m->response = true;
	if (m->type == SMC_LLC_CONFIRM_LINK && l->spoil)
		l->spoil(m);
	return true;
}

static void llc_in(struct el_link *l, const u8 *buf, size_t len)
{
	struct smc_llc_msg m;
	struct el_seen *seen;
	int err = smc_llc_msg_parse(buf, len, &m);

	if (err) {
		ktap_note("server sent an impossible LLC message, type %02x: %s", buf[0],
			  tl_errno_name(-err));
		return;
	}
	seen = &l->seen[m.type % EL_LLC_TYPES][m.response];
	memcpy(seen->raw, buf, sizeof(seen->raw));
	seen->count++;
	if (m.response && m.type == SMC_LLC_ADD_LINK)
		el_serve_answered(l->near ?: l, &m.add_link);
	if (m.response && m.type == SMC_LLC_ADD_LINK_CONT && l->offered)
		cont_take(l->offered, &m.add_link_cont);
	if (!l->mute && !m.response && llc_answer(l, &m))
		el_llc(l, &m);
}

static void upgrade_in(struct el_link *l, const u8 *buf, size_t len)
{
	l = l->near ?: l;
	if (smc_upgrade_msg_parse(buf, len, &l->upgrade))
		ktap_note("server sent an impossible UPGRADE");
	else
		l->nupgrade++;
}

/**
 * el_received() - handle a message of the server
 * @l: group
 * @buf: message
 * @len: its length
 */
void el_received(struct el_link *l, const u8 *buf, size_t len)
{
	if (len && buf[0] == SMC_CDC_TYPE)
		cdc_in(l, buf, len);
	else if (len && buf[0] == SMC_UPGRADE_MSG_TYPE)
		upgrade_in(l, buf, len);
	else if (len)
		llc_in(l, buf, len);
}

/**
 * el_await() - wait for something that el_received() counts
 * @l: group
 * @count: counter
 * @more_than: value that the counter must exceed
 * @timeout_ms: how long to wait
 *
 * Return: true if it did.
 */
bool el_await(struct el_link *l, const unsigned int *count, unsigned int more_than,
	      unsigned int timeout_ms)
{
	u64 until = tl_now_ns() + timeout_ms * TL_NSEC_PER_MSEC;

	for (;;) {
		el_poll(l);
		if (*count > more_than)
			return true;
		if (tl_now_ns() >= until)
			return false;
		tl_sleep_ms(2);
	}
}

/* ---- messages sent over the link ---- */

int el_raw(struct el_link *l, const void *buf, size_t len)
{
	return el_post(l, IBV_WR_SEND, buf, len, 0, 0);
}

int el_llc(struct el_link *l, const struct smc_llc_msg *msg)
{
	static u8 buf[SMC_LLC_V2_MAX_LEN];
	struct smc_llc_msg m = *msg;
	int len;

	if (el_is_v1(l))
		m.version = 1;
	len = smc_llc_msg_build(&m, buf, sizeof(buf));
	return len < 0 ? len : el_raw(l, buf, len);
}

/**
 * el_next_cdc() - fill in the next correct CDC of a connection
 * @c: connection
 * @m: filled in
 */
void el_next_cdc(struct el_conn *c, struct smc_cdc_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->seq = ++c->seq;
	m->token = c->peer_token;
	m->ext = c->ext;
	m->s = c->ext & SMC_CDC_EXT_S ? c->s : 0;
	smc_cursor_from_pos(c->prod, c->peer_len, &m->prod);
	/* report all bytes of the server as consumed */
	m->cons = c->cdc.prod;
}

int el_cdc(struct el_conn *c, const struct smc_cdc_msg *m)
{
	u8 buf[SMC_CDC_LEN];
	int len = smc_cdc_msg_build(m, buf, sizeof(buf));

	return len < 0 ? len : el_raw(c->link, buf, len);
}

/* Advance the producer cursor by @len, whether or not the bytes were written, and send it. */
int el_claim(struct el_conn *c, size_t len)
{
	struct smc_cdc_msg m;

	c->prod += len;
	el_next_cdc(c, &m);
	return el_cdc(c, &m);
}

/* Write @len bytes that the witness expects: RDMA WRITE and CDC. */
int el_write(struct el_conn *c, size_t len)
{
	u8 buf[4096];
	size_t done = 0;

	while (done < len) {
		u32 off = (u32)(c->prod + done) & (c->peer_len - 1);
		size_t n = len - done;
		int err;

		if (n > sizeof(buf))
			n = sizeof(buf);
		if (n > c->peer_len - off)
			n = c->peer_len - off;
		tl_fill(c->port, c->base + c->prod + done, buf, n);
		err = el_post(c->link, IBV_WR_RDMA_WRITE, buf, n, c->peer_addr + off,
			      c->peer_rkey);
		if (err)
			return err;
		done += n;
	}
	c->good += len;
	return el_claim(c, len);
}

/* Write @len bytes that the witness expects, and announce them by an immediate value. */
int el_write_imm(struct el_conn *c, size_t len)
{
	u32 off = (u32)c->prod & (c->peer_len - 1);
	u8 buf[1024];

	if (len > sizeof(buf) || off + len > c->peer_len)
		return -EMSGSIZE;
	tl_fill(c->port, c->base + c->prod, buf, len);
	c->prod += len;
	c->good += len;
	c->seq++;
	return el_post_imm(c->link, buf, len, c->peer_addr + off, c->peer_rkey,
			   smc_cdc_imm_build(c->peer_token, c->prod));
}

/* Find rkey and address on @to of the RMB that @c writes to. Returns false if unknown. */
static bool conn_find_key(const struct el_conn *c, const struct el_link *to, u32 *rkey, u64 *rmb)
{
	const struct el_link *first = to->near ?: to;

	for (unsigned int i = 0; to->near && i < to->nkeys; i++) {
		if (to->keys[i].ref_rkey != c->peer_rkey)
			continue;
		*rkey = to->keys[i].rkey;
		*rmb = to->keys[i].vaddr;
		return true;
	}
	for (unsigned int i = 0; !to->near && i < c->link->nkeys; i++) {
		if (c->link->keys[i].rkey != c->peer_rkey)
			continue;
		/* the address on the first link is in an Accept only: look for one that named it */
		for (int j = 0; j < EL_CONNS; j++) {
			const struct el_conn *other = first->conns[j];

			if (!other || other->home != to ||
			    other->home_rkey != c->link->keys[i].ref_rkey)
				continue;
			*rkey = other->home_rkey;
			*rmb = other->home_rmb;
			return true;
		}
	}
	return false;
}

/**
 * el_move() - write over another link from now on
 * @c: connection
 * @to: our end of the other link
 *
 * Sends no message to the server.
 *
 * Return: true if the server's rkey on that link is known.
 */
bool el_move(struct el_conn *c, struct el_link *to)
{
	u64 element = c->peer_addr - c->peer_rmb, rmb;
	u32 rkey;

	if (c->link == to)
		return true;
	if (!conn_find_key(c, to, &rkey, &rmb)) {
		ktap_note("no key for the server's memory on another link");
		return false;
	}
	c->peer_rkey = rkey;
	c->peer_rmb = rmb;
	c->peer_addr = rmb + element;
	c->link = to;
	return true;
}

/* ---- the rendezvous ---- */

/**
 * el_await_clc() - wait for the next CLC message, and answer LLC requests meanwhile
 * @l: group
 * @fd: TCP socket of the connection
 * @m: receives the message
 *
 * Return: what came.
 */
enum evil_end el_await_clc(struct el_link *l, int fd, struct evil_msg *m)
{
	u64 until = tl_now_ns() + TIMEOUT_MS * TL_NSEC_PER_MSEC;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	do {
		el_poll(l);
		if (poll(&p, 1, 2) > 0)
			return evil_read(fd, 2000, m);
	} while (tl_now_ns() < until);
	return EVIL_OPEN;
}

static void send_proposal(struct el_link *l, int fd)
{
	struct evil_msg m;

	if (l->v1)
		evil_proposal_v1(&m, &l->t->local, l->links);
	else if (l->native)
		evil_proposal_native(&m, &l->t->local, l->links);
	else
		evil_proposal(&m, &l->t->local);
	memcpy(m.buf + OFF_ID, l->id, SMC_PEER_ID_LEN);
	memcpy(m.buf + OFF_MAC, l->mac, SMC_MAC_LEN);
	evil_write(fd, m.buf, m.len);
}

/**
 * el_put_end() - write our end of a connection into an Accept or Confirm
 * @c: connection
 * @nr: index of the connection in the group
 * @m: message
 */
void el_put_end(const struct el_conn *c, unsigned int nr, struct evil_msg *m)
{
	struct el_link *l = c->link, *first = l->near ?: l;

	memcpy(m->buf + OFF_ID, first->id, SMC_PEER_ID_LEN);
	memcpy(m->buf + OFF_MAC, l->mac, SMC_MAC_LEN);
	smc_wire_put_be24(m->buf + OFF_QPN, l->qp->qp_num);
	smc_wire_put_be32(m->buf + OFF_RKEY, l->mr->rkey);
	m->buf[OFF_INDEX] = nr + 1;
	smc_wire_put_be32(m->buf + OFF_TOKEN, c->token);
	m->buf[OFF_SIZES] = SMC_MTU_1024;	/* and 0 for RMBEs of 16 KiB */
	smc_wire_put_be64(m->buf + OFF_VADDR, (uintptr_t)el_rmb(l));
	smc_wire_put_be24(m->buf + OFF_PSN, l->psn);
	if (first->spoil_confirm)
		first->spoil_confirm(m);
}

/**
 * el_spoil_rkey() - for spoil_confirm: set an rkey that does not exist
 * @m: Accept or Confirm
 */
void el_spoil_rkey(struct evil_msg *m)
{
	smc_wire_put_be32(m->buf + OFF_RKEY, smc_wire_get_be32(m->buf + OFF_RKEY) ^ 0x7f00);
}

/* Send a Confirm with our end of the link in the Accept. */
static void send_confirm(struct el_conn *c, const struct smc_clc_accept *a, unsigned int nr)
{
	struct evil_msg m;

	evil_accept(&m, &c->link->t->local, a->eid, true, a->first_contact);
	if (el_is_v1(c->link))
		evil_accept_to_v1(&m);
	el_put_end(c, nr, &m);
	evil_write(c->fd, m.buf, m.len);
}

/**
 * el_take_end() - store the module's end of a connection
 * @c: connection, with its link set
 * @a: Accept or Confirm of the module
 */
void el_take_end(struct el_conn *c, const struct smc_clc_accept *a)
{
	c->peer_token = a->token;
	c->peer_rkey = a->rkey;
	c->peer_len = smc_wire_bsize_to_len(a->bsize);
	c->peer_rmb = a->vaddr;
	c->peer_addr = a->vaddr + (u64)(a->rmbe_idx - 1) * c->peer_len;
	c->home = c->link;
	c->home_rkey = a->rkey;
	c->home_rmb = a->vaddr;
}

/* Wait for the end of a first contact's link phase, which el_received() handles. */
static int await_established(struct el_link *l, struct el_conn *c)
{
	u64 until = tl_now_ns() + TIMEOUT_MS * TL_NSEC_PER_MSEC;
	struct pollfd p = { .fd = c->fd, .events = POLLIN | POLLRDHUP };

	while (!l->established) {
		el_poll(l);
		if (l->status != IBV_WC_SUCCESS)
			return -EIO;
		if (poll(&p, 1, 2) > 0)
			return -ECONNREFUSED;
		if (tl_now_ns() >= until)
			return -ETIMEDOUT;
	}
	return el_flush(l, TIMEOUT_MS);
}

/**
 * el_conn_begin() - initialize a connection that has no TCP socket yet
 * @c: connection
 * @l: our end of its link
 */
void el_conn_begin(struct el_conn *c, struct el_link *l)
{
	static u32 tokens = 0x66000000;

	memset(c, 0, sizeof(*c));
	c->link = l;
	c->token = ++tokens;
	c->fd = -1;
}

/**
 * el_join() - make a connection as client, and the group if it is the first one
 * @l: group
 * @c: connection, initialized here
 * @nr: index of the connection in the group
 *
 * Return: 0 or a negative errno; -ECONNREFUSED if the server declined or closed.
 */
int el_join(struct el_link *l, struct el_conn *c, unsigned int nr)
{
	struct smc_clc_accept a;
	struct evil_msg m;
	struct tl_addr own = { .len = sizeof(own.ss) };
	enum evil_end end;
	int err;

	el_conn_begin(c, l);
	c->fd = evil_connect(l->t);
	if (c->fd < 0)
		return c->fd;
	getsockname(c->fd, &own.sa, &own.len);
	c->port = tl_addr_port(&own);
	send_proposal(l, c->fd);
	end = el_await_clc(l, c->fd, &m);
	if (end != EVIL_ACCEPT || smc_clc_parse_accept(m.buf, m.len, &a)) {
		ktap_note("correct Proposal: server %s", evil_end_name(end));
		return -ECONNREFUSED;
	}
	if (!a.first_contact && l->far && l->far->peer_qpn == a.qpn)
		c->link = l->far;
	el_take_end(c, &a);
	if (a.first_contact)
		l->agreed = a.fce.max_links;
	l->conns[nr] = c;
	if (a.first_contact != !l->established)
		return -EPROTO;
	err = a.first_contact ? el_qp_up(l, &a) : 0;
	if (err)
		return err;
	if (l->crossed)
		c->link = c->link == l ? l->far : l;
	send_confirm(c, &a, nr);
	c->link = c->home;
	return a.first_contact ? await_established(l, c) : 0;
}

/**
 * el_abort() - begin a connection as client, and close it when the Accept has come
 * @l: group; another first contact if the server knows the group no more
 *
 * Return: 0, -ECONNREFUSED if the server declined or closed, or another negative errno.
 */
int el_abort(struct el_link *l)
{
	struct evil_msg m;
	enum evil_end end;
	int fd = evil_connect(l->t);

	if (fd < 0)
		return fd;
	send_proposal(l, fd);
	end = el_await_clc(l, fd, &m);
	evil_reset(fd);
	if (end == EVIL_OPEN)
		return -ETIMEDOUT;
	return end == EVIL_ACCEPT ? 0 : -ECONNREFUSED;
}

/* Close the TCP socket of a connection, without a message to the server. */
void el_drop(struct el_conn *c)
{
	if (c->fd > 0)
		close(c->fd);
	c->fd = -1;
	for (int i = 0; c->link && i < EL_CONNS; i++) {
		struct el_link *first = c->link->near ?: c->link;

		if (first->conns[i] == c)
			first->conns[i] = NULL;
	}
}
