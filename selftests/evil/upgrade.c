// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on an upgrade in place (proto/upgrade.h), as its client: the server has agreed to upgrade
 * a TCP connection, after a request with a right proof. Then it gets lies about byte S. Each one
 * ends that connection; the two others of the group go on, and one more is upgraded.
 *
 * The peers are native, and announce UPGRADE as well.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <smc/proto/peer_caps.h>
#include <smc/proto/upgrade_msg.h>

#include "link.h"

#define WAIT_MS		10000
#define SILENT_MS	100000	/* the server waits 60 s for GO */
#define NOTICE_MS	200	/* a reader that takes FIN for the end would have done so */
#define BYTES		1000	/* before the request, and behind S; in the other direction, too */
#define MISSING		500	/* bytes before S that TCP never carries */
#define TOO_FAR		0x80000000ULL

/* Indexes in the group; two connections of the case are before them. */
#define ATTACKED	2
#define HONEST		3

/**
 * struct asker - a connection that begins as TCP
 * @c: connection
 * @nr: its index in the group
 * @proof: what names it
 */
struct asker {
	struct el_conn c;
	unsigned int nr;
	struct smc_upgrade_proof proof;
};

static bool all_sent(struct el_env *e)
{
	if (!el_flush(e->l, WAIT_MS))
		return true;
	ktap_note("not sent: %s", ibv_wc_status_str(e->l->status));
	return false;
}

/* ---- the TCP connection ---- */

/* Read the sequence numbers of the first bytes. Before any byte is sent; needs CAP_NET_ADMIN. */
static int proof_read(int fd, struct smc_upgrade_proof *proof)
{
	static const int queues[] = { TCP_SEND_QUEUE, TCP_RECV_QUEUE };
	int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP;
	u32 seq[TL_ARRAY_SIZE(queues)] = { 0 };
	socklen_t len = sizeof(seq[0]);

	if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)))
		return -errno;
	for (size_t i = 0; i < TL_ARRAY_SIZE(queues); i++) {
		if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queues[i], sizeof(queues[i])) ||
		    getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq[i], &len))
			return -errno;
	}
	proof->client_seq = seq[0];
	proof->server_seq = seq[1];
	return setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)) ? -errno : 0;
}

/* Connect without the SMC option in SYN. Returns the socket, or a negative errno. */
static int tcp_connect(const struct evil_target *t)
{
	int err = evil_option_pause(true);
	int fd = err ? err : evil_connect(t);

	err = evil_option_pause(false);
	if (!err || fd < 0)
		return fd;
	close(fd);
	return err;
}

/* Send bytes over TCP that the witness expects next. */
static bool tcp_send(struct el_conn *c, size_t len)
{
	u8 buf[BYTES];

	if (len > sizeof(buf))
		return false;
	tl_fill(c->port, c->base, buf, len);
	return tl_send_all(c->fd, buf, len) == (ssize_t)len;
}

static bool witness_has_read(struct el_env *e, const struct el_conn *c)
{
	struct el_report r;

	if (!el_ask(e->witness, c->port, c->good, WAIT_MS, &r))
		return false;
	if (r.state == EL_LIVE && r.good == c->good && !r.zero && !r.alien)
		return true;
	ktap_note("over TCP %llu bytes of %llu, %llu of them wrong",
		  (unsigned long long)(r.good + r.zero + r.alien), (unsigned long long)c->good,
		  (unsigned long long)(r.zero + r.alien));
	return false;
}

/* Make a TCP connection of which the server's program has read some bytes. */
static bool asker_begin(struct el_env *e, struct asker *a, unsigned int nr)
{
	struct tl_addr own = { .len = sizeof(own.ss) };
	struct el_conn *c = &a->c;
	int err;

	el_conn_begin(c, e->l);
	a->nr = nr;
	e->l->conns[nr] = c;
	c->fd = tcp_connect(e->t);
	err = c->fd < 0 ? c->fd : proof_read(c->fd, &a->proof);
	if (err) {
		ktap_note("no TCP connection, or no sequence numbers: %s", tl_errno_name(-err));
		return false;
	}
	getsockname(c->fd, &own.sa, &own.len);
	c->port = tl_addr_port(&own);
	a->proof.client_port = c->port;
	a->proof.server_port = tl_addr_port(&e->t->to);
	if (!tcp_send(c, BYTES))
		return false;
	c->base = BYTES;
	c->good = BYTES;
	return witness_has_read(e, c);
}

static void asker_end(struct el_env *e, struct asker *a)
{
	el_order_close(e->witness, a->c.port);
	el_drop(&a->c);
}

/* Wait until RST has ended the TCP connection. */
static bool reset_await(struct el_env *e, int fd)
{
	u64 until = tl_now_ns() + WAIT_MS * TL_NSEC_PER_MSEC;
	struct pollfd p = { .fd = fd };		/* POLLERR, POLLHUP */
	socklen_t len = sizeof(int);
	int err = 0;

	while (poll(&p, 1, 2) <= 0 && tl_now_ns() < until)
		el_poll(e->l);
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	if (err == ECONNRESET)
		return true;
	ktap_note("no RST: events %x, %s", p.revents, tl_errno_name(err));
	return false;
}

/* Send FIN, and wait until the server's TCP has acknowledged it. */
static bool fin_send(struct el_conn *c)
{
	u64 until = tl_now_ns() + WAIT_MS * TL_NSEC_PER_MSEC;
	struct tcp_info info = { .tcpi_state = 0 };
	socklen_t len = sizeof(info);

	shutdown(c->fd, SHUT_WR);
	while (!getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	       info.tcpi_state == TCP_FIN_WAIT1 && tl_now_ns() < until)
		tl_sleep_ms(2);
	/* RST may have come as well */
	return info.tcpi_state == TCP_FIN_WAIT2 || info.tcpi_state == TCP_CLOSE;
}

/* ---- the agreement ---- */

/* Claim the capability: what arrives after this message finds it. */
static bool upgrade_announce(struct el_env *e)
{
	struct smc_llc_msg m = {
		.type = SMC_LLC_CAPS, .version = 1,
		/* and no immediate values, which el_received() does not know */
		.caps.bits = smc_peer_caps_to_announced(SMC_CAP_UPGRADE),
	};

	return !el_llc(e->l, &m) && el_alive(e, e->a);
}

static bool answer_is(const struct el_link *l, u8 kind, u8 reason)
{
	if (l->upgrade.kind == kind && l->upgrade.reason == reason)
		return true;
	ktap_note("answer of kind %u, reason %u", l->upgrade.kind, l->upgrade.reason);
	return false;
}

/* Send a request, and wait for its answer. */
static bool request_send(struct el_env *e, const struct asker *a,
			 const struct smc_upgrade_proof *proof)
{
	static u32 number;
	struct smc_upgrade_msg m = {
		.kind = SMC_UPGRADE_REQUEST,
		.number = ++number,
		.proof = *proof,
		.token = a->c.token,
		.rkey = e->l->mr->rkey,
		.vaddr = (uintptr_t)el_rmb(e->l),
		.rmbe_idx = a->nr + 1,
	};
	unsigned int before = e->l->nupgrade;
	u8 buf[SMC_UPGRADE_MSG_LEN];

	if (smc_upgrade_msg_build(&m, buf, sizeof(buf)) < 0 || el_raw(e->l, buf, sizeof(buf)))
		return false;
	if (el_await(e->l, &e->l->nupgrade, before, WAIT_MS) && e->l->upgrade.number == m.number)
		return true;
	ktap_note("the request was not answered");
	return false;
}

/* Make a TCP connection, and get the server's yes. */
static bool asker_agree(struct el_env *e, struct asker *a, unsigned int nr)
{
	const struct smc_upgrade_msg *yes = &e->l->upgrade;

	if (!asker_begin(e, a, nr) || !request_send(e, a, &a->proof) ||
	    !answer_is(e->l, SMC_UPGRADE_ACCEPTED, 0))
		return false;
	a->c.peer_token = yes->token;
	a->c.peer_rkey = yes->rkey;
	a->c.peer_len = smc_wire_bsize_to_len(yes->bsize);
	a->c.peer_rmb = yes->vaddr;
	a->c.peer_addr = yes->vaddr + (u64)(yes->rmbe_idx - 1) * a->c.peer_len;
	return true;
}

/* Wait until the latest message of the server has these bits. */
static bool cdc_await(struct el_env *e, const struct el_conn *c, u8 ext, u8 state)
{
	u64 until = tl_now_ns() + WAIT_MS * TL_NSEC_PER_MSEC;

	while ((c->cdc.ext & ext) != ext || (c->cdc.state & state) != state) {
		if (tl_now_ns() >= until) {
			ktap_note("%u messages of the server, the last one has %02x and %02x",
				  c->ncdc, c->cdc.ext, c->cdc.state);
			return false;
		}
		el_poll(e->l);
		tl_sleep_ms(2);
	}
	return true;
}

/* Send the next message, without new bytes. */
static bool cdc_send(struct el_env *e, struct el_conn *c, u8 state)
{
	struct smc_cdc_msg m;

	el_next_cdc(c, &m);
	m.state = state;
	return !el_cdc(c, &m) && all_sent(e);
}

/* Post GO. The server, which has sent nothing over TCP, says where its ring begins. */
static bool go_post(struct el_env *e, struct el_conn *c)
{
	c->ext = SMC_CDC_EXT_GO;
	if (!cdc_send(e, c, 0) || !cdc_await(e, c, SMC_CDC_EXT_S, 0))
		return false;
	c->ext = SMC_CDC_EXT_S_ACK;
	if (!c->cdc.s)
		return true;
	ktap_note("S of the server is %llu", (unsigned long long)c->cdc.s);
	return false;
}

static bool s_send(struct el_env *e, struct el_conn *c, u64 s)
{
	c->ext |= SMC_CDC_EXT_S;
	c->s = s;
	return cdc_send(e, c, 0);
}

/* Say where our ring begins, and wait until the server knows it. */
static bool s_announce(struct el_env *e, struct el_conn *c, u64 s)
{
	if (!s_send(e, c, s) || !cdc_await(e, c, SMC_CDC_EXT_S_ACK, 0))
		return false;
	c->ext &= ~SMC_CDC_EXT_S;
	return true;
}

/* Check the direction of the server: what its program sends comes by RDMA WRITE. */
static bool server_writes(struct el_env *e, const struct asker *a)
{
	const u8 *elem = el_rmb(e->l) + (size_t)a->nr * EL_ELEM_LEN;
	u64 until = tl_now_ns() + WAIT_MS * TL_NSEC_PER_MSEC;

	if (el_order_send(e->witness, a->c.port, BYTES) != BYTES)
		return false;
	while (a->c.cdc.prod.off < BYTES && tl_now_ns() < until) {
		el_poll(e->l);
		tl_sleep_ms(2);
	}
	if (a->c.cdc.prod.off == BYTES && elem[0] == 0x77)
		return true;
	ktap_note("the server has written %u bytes, the first is %02x", a->c.cdc.prod.off, elem[0]);
	return false;
}

/* Upgrade a connection, and move verified bytes both ways. @a: left to the caller, also on error */
static bool asker_works(struct el_env *e, struct asker *a)
{
	return asker_agree(e, a, HONEST) && go_post(e, &a->c) &&
	       s_announce(e, &a->c, a->c.base) && el_alive(e, &a->c) && server_writes(e, a);
}

/* ---- good behaviour ---- */

/* Counters of the server about this, and what they must have grown by. */
struct growth {
	u64 asked;
	u64 refused;
	u64 upgraded;
};

static struct growth growth_read(struct el_env *e)
{
	return (struct growth){
		.asked = el_counter(e->witness, "upgrade_asked"),
		.refused = el_counter(e->witness, "upgrade_refused"),
		.upgraded = el_counter(e->witness, "upgraded"),
	};
}

static bool growth_check(struct el_env *e, const struct growth *before, struct growth want)
{
	struct growth now = growth_read(e);

	now.asked -= before->asked;
	now.refused -= before->refused;
	now.upgraded -= before->upgraded;
	if (now.asked == want.asked && now.refused == want.refused &&
	    now.upgraded == want.upgraded)
		return true;
	ktap_note("%llu requests, %llu refused, %llu upgraded", (unsigned long long)now.asked,
		  (unsigned long long)now.refused, (unsigned long long)now.upgraded);
	return false;
}

/* Without this the cases below could not tell a lie that was found out from a broken peer. */
static bool upgrade_works(struct el_env *e)
{
	const struct growth before = growth_read(e);
	struct asker a = { .nr = 0 };
	bool ok = upgrade_announce(e) && asker_works(e, &a) &&
		  growth_check(e, &before, (struct growth){ 1, 0, 1 });

	asker_end(e, &a);
	return ok;
}

/* The first sequence numbers are what an attacker who only sees the ports does not know. */
static bool proof_wrong(struct el_env *e)
{
	const struct growth before = growth_read(e);
	struct asker a = { .nr = 0 };
	bool ok = upgrade_announce(e) && asker_begin(e, &a, ATTACKED);

	for (int i = 0; ok && i < 4; i++) {
		struct smc_upgrade_proof wrong = a.proof;

		*(i & 1 ? &wrong.server_seq : &wrong.client_seq) += i & 2 ? 1 : -1;
		ok = request_send(e, &a, &wrong) &&
		     answer_is(e->l, SMC_UPGRADE_REFUSED, SMC_UPGRADE_UNKNOWN);
	}
	/* it stays what it is */
	ok = ok && tcp_send(&a.c, BYTES);
	a.c.base += BYTES;
	a.c.good += BYTES;
	ok = ok && witness_has_read(e, &a.c) &&
	     growth_check(e, &before, (struct growth){ 4, 4, 0 });
	asker_end(e, &a);
	return ok;
}

/* ---- lies ---- */

/* Check what the server's program has got: @good bytes and this errno; TCP has got RST. */
static bool attacked_has_failed(struct el_env *e, struct asker *a, u64 good, int err)
{
	const struct el_case want = { .may_err = { err } };
	struct el_report r;

	if (!el_failed(e, &a->c, &want) || !el_ask(e->witness, a->c.port, 0, 0, &r))
		return false;
	if (r.good != good || r.zero || r.alien) {
		ktap_note("its program has read %llu bytes instead of %llu, %llu of them wrong",
			  (unsigned long long)(r.good + r.zero + r.alien),
			  (unsigned long long)good, (unsigned long long)(r.zero + r.alien));
		return false;
	}
	return reset_await(e, a->c.fd);
}

/* The group takes one more. @other: an element in quarantine, or 0 */
static bool group_goes_on(struct el_env *e, u64 other)
{
	struct asker a = { .nr = 0 };
	bool ok = asker_works(e, &a);

	if (ok && a.c.peer_addr == other) {
		ktap_note("an element that the peer may write to was used again");
		ok = false;
	}
	asker_end(e, &a);
	return ok;
}

/*
 * A lie after GO: the server aborts the connection, which A and RST tell. @tell returns false if it
 * could not be sent.
 */
static bool lie_found_out(struct el_env *e, bool (*tell)(struct el_env *e, struct el_conn *c))
{
	const struct growth before = growth_read(e);
	struct asker a = { .nr = 0 };
	bool ok = upgrade_announce(e) && asker_agree(e, &a, ATTACKED) && go_post(e, &a.c);
	u64 good = a.c.good;

	ok = ok && tell(e, &a.c) && cdc_await(e, &a.c, 0, SMC_CDC_S_ABORT) &&
	     attacked_has_failed(e, &a, good, ECONNABORTED) &&
	     growth_check(e, &before, (struct growth){ 1, 0, 1 });
	asker_end(e, &a);
	return ok && group_goes_on(e, 0);
}

static bool tell_s_below(struct el_env *e, struct el_conn *c)
{
	return s_send(e, c, c->base - 1);
}

static bool s_below(struct el_env *e)
{
	return lie_found_out(e, tell_s_below);
}

static bool tell_s_far(struct el_env *e, struct el_conn *c)
{
	return s_send(e, c, c->base + TOO_FAR);
}

static bool s_far(struct el_env *e)
{
	return lie_found_out(e, tell_s_far);
}

static bool tell_s_changed(struct el_env *e, struct el_conn *c)
{
	return s_announce(e, c, c->base) && s_send(e, c, c->base + 1);
}

static bool s_changed(struct el_env *e)
{
	return lie_found_out(e, tell_s_changed);
}

static bool tell_ring_early(struct el_env *e, struct el_conn *c)
{
	return !el_write(c, BYTES) && all_sent(e);
}

static bool ring_early(struct el_env *e)
{
	return lie_found_out(e, tell_ring_early);
}

static bool tell_imm_early(struct el_env *e, struct el_conn *c)
{
	return !el_write_imm(c, BYTES) && all_sent(e);
}

/* The same with an immediate value; one that was not agreed is ignored. */
static bool imm_early(struct el_env *e)
{
	return !e->imms || lie_found_out(e, tell_imm_early);
}

static bool tell_d_early(struct el_env *e, struct el_conn *c)
{
	return cdc_send(e, c, SMC_CDC_S_DONE);
}

static bool d_early(struct el_env *e)
{
	return lie_found_out(e, tell_d_early);
}

static bool tell_c_early(struct el_env *e, struct el_conn *c)
{
	return cdc_send(e, c, SMC_CDC_S_CLOSED);
}

static bool c_early(struct el_env *e)
{
	return lie_found_out(e, tell_c_early);
}

static bool tell_tcp_behind(struct el_env *e, struct el_conn *c)
{
	return s_announce(e, c, c->base) && tcp_send(c, BYTES);
}

/* The bytes are those that come next in the stream, but by the wrong way. */
static bool tcp_behind(struct el_env *e)
{
	return lie_found_out(e, tell_tcp_behind);
}

static bool tell_fin_before_s(struct el_env *e, struct el_conn *c)
{
	return s_announce(e, c, c->base + MISSING) && fin_send(c);
}

/* Bytes before S are missing for ever. */
static bool fin_before_s(struct el_env *e)
{
	return lie_found_out(e, tell_fin_before_s);
}

static bool tell_s_behind_fin(struct el_env *e, struct el_conn *c)
{
	struct el_report r;

	if (!fin_send(c) || !el_ask(e->witness, c->port, c->good + 1, NOTICE_MS, &r))
		return false;
	if (r.state != EL_LIVE) {
		ktap_note("FIN has decided something, state %d", r.state);
		return false;
	}
	return s_send(e, c, c->base + MISSING);
}

/* FIN decides nothing until S is known; then S is elsewhere. */
static bool s_behind_fin(struct el_env *e)
{
	return lie_found_out(e, tell_s_behind_fin);
}

/* Nothing was agreed, and the peer may write to the element that the yes has named: it is kept. */
static bool only_tcp_has_failed(struct el_env *e, struct asker *a, const struct growth *before)
{
	if (!attacked_has_failed(e, a, a->c.base, ECONNRESET) ||
	    !growth_check(e, before, (struct growth){ 1, 0, 0 }))
		return false;
	if (!a->c.ncdc)
		return true;
	ktap_note("the server has sent messages without GO");
	return false;
}

/* The first message is without GO. */
static bool go_missing(struct el_env *e, u8 ext, u8 state, size_t bytes)
{
	const struct growth before = growth_read(e);
	struct asker a = { .nr = 0 };
	bool ok = upgrade_announce(e) && asker_agree(e, &a, ATTACKED);

	a.c.ext = ext;
	a.c.s = a.c.base;
	ok = ok && (bytes ? !el_write(&a.c, bytes) : cdc_send(e, &a.c, state)) && all_sent(e) &&
	     only_tcp_has_failed(e, &a, &before);
	asker_end(e, &a);
	return ok && group_goes_on(e, a.c.peer_addr);
}

static bool s_without_go(struct el_env *e)
{
	return go_missing(e, SMC_CDC_EXT_S, 0, 0);
}

static bool data_without_go(struct el_env *e)
{
	return go_missing(e, 0, 0, BYTES);
}

static bool abort_without_go(struct el_env *e)
{
	return go_missing(e, 0, SMC_CDC_S_ABORT, 0);
}

/* There is no first message, and no withdrawal, over a link that works. */
static bool go_never(struct el_env *e)
{
	u64 until = tl_now_ns() + SILENT_MS * TL_NSEC_PER_MSEC;
	const struct growth before = growth_read(e);
	struct asker a = { .nr = 0 };
	bool ok = upgrade_announce(e) && asker_agree(e, &a, ATTACKED);
	struct el_report r = { .state = EL_LIVE };

	while (ok && r.state == EL_LIVE && tl_now_ns() < until) {
		el_poll(e->l);
		ok = el_ask(e->witness, a.c.port, 0, 100, &r);
	}
	ok = ok && only_tcp_has_failed(e, &a, &before);
	asker_end(e, &a);
	return ok && group_goes_on(e, a.c.peer_addr);
}

const struct el_case el_upgrade_cases[] = {
	{ "upgrade_works",	upgrade_works,		EL_UNHARMED,	"upgraded", 1, { 0 } },
	{ "upgrade_proof_wrong", proof_wrong,		EL_UNHARMED, "upgrade_unknown", 4, { 0 } },
	{ "upgrade_s_below",	s_below,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_s_far",	s_far,			EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_s_changed",	s_changed,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_ring_early",	ring_early,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_imm_early",	imm_early,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "upgrade_d_early",	d_early,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_c_early",	c_early,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_tcp_behind",	tcp_behind,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "upgrade_fin_before_s", fin_before_s,		EL_UNHARMED,	NULL, 0, { 0 } },
	{ "upgrade_s_behind_fin", s_behind_fin,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_s_without_go", s_without_go,		EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_data_without_go", data_without_go,	EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_abort_without_go", abort_without_go,	EL_UNHARMED,	"rx_cdc_bad", 1, { 0 } },
	{ "upgrade_go_never",	go_never,		EL_UNHARMED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_upgrade_cases = TL_ARRAY_SIZE(el_upgrade_cases);
