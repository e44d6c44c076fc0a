// SPDX-License-Identifier: GPL-2.0-only
/* Attacks of a hostile client on a server, and the check that the server keeps working. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evil.h"
#include "lib/ktap.h"
#include "traffic/traffic.h"

/* Reactions of the server, beside the diagnosis of a Decline. */
#define CLOSES		0xffffffffU	/* malformed, or in contradiction to what was agreed */
#define ACCEPTS		SMC_CLC_DECL_NONE

/* Offsets in the Proposal that evil_proposal() builds: version 2 only, one EID. */
#define P_IP_OFF	38
#define P_V2_OFF	50
#define P_EIDS		80
#define P_ISMS		81
#define P_FLAGS		83
#define P_SMCD_OFF	86
#define P_GID		88
#define P_CONNS		104
#define P_LINKS		105
#define P_EID		120
#define P_TRAILER	152

/* Offsets in a Confirm. */
#define C_QPN		38
#define C_INDEX		45
#define C_MTU		50
#define C_VADDR		52
#define C_EID		64
#define C_RELEASE	105
#define C_CONNS		140

/* ---- the well-behaved client ---- */

/**
 * struct health - report of the well-behaved client
 * @err: 0 if its stream was correct
 * @alien: requests that the server's application received and no client sent
 * @what: description of the failure
 */
struct health {
	int err;
	u64 alien;
	char what[160];
};

static void health_check(const struct trf_client *c, struct health *h)
{
	struct trf_outcome out;
	struct trf_req req;
	int fd = trf_client_connect(c, &out);

	memset(h, 0, sizeof(*h));
	if (fd >= 0) {
		trf_client_req(c, &req, TRF_STREAM);
		req.io = TRF_IO_POLL;
		req.wsize = 4096;
		req.to_server = 20000;
		req.to_client = 20000;
		if (!trf_client_stream(c, fd, &req, &out))
			trf_client_simple(c, fd, TRF_STATS, 0, &out);
		close(fd);
	}
	h->err = out.err;
	h->alien = out.verdict.bad_off;
	memcpy(h->what, out.what, sizeof(h->what));
}

static void health_serve(int fd, void *arg)
{
	struct trf_client *c = arg;
	struct health h;
	char go;

	while (recv(fd, &go, 1, 0) == 1) {
		c->seed = tl_mix(c->seed);
		health_check(c, &h);
		tl_send_all(fd, &h, sizeof(h));
	}
}

/**
 * evil_health_start() - start the well-behaved client
 * @t: target; must be called before the option is switched on
 *
 * Return: descriptor for evil_health(), or a negative errno.
 */
int evil_health_start(const struct evil_target *t)
{
	struct trf_client c = {
		.proto = t->good,
		.to = t->to,
		.require = TL_MODE_SMCR,
		.timeout_ms = t->deadline_ms,
		.seed = t->seed,
	};

	return tl_child(health_serve, &c);
}

/**
 * evil_health() - check that the server does SMC and its application received nothing unexpected
 * @health: from evil_health_start()
 * @when: for the message
 *
 * Return: true if so.
 */
bool evil_health(int health, const char *when)
{
	static u64 alien;
	static bool known;
	struct health h;

	if (tl_ask(health, &h, sizeof(h))) {
		ktap_note("%s: the good client is gone", when);
		return false;
	}
	if (h.err) {
		ktap_note("%s: good client: %s", when, h.what);
		return false;
	}
	if (!known)
		alien = h.alien;
	known = true;
	if (h.alien == alien)
		return true;
	ktap_note("%s: the application received %llu requests that no client sent", when,
		  (unsigned long long)(h.alien - alien));
	alien = h.alien;
	return false;
}

/* ---- tools ---- */

/* After a Decline the connection is TCP: check it with a verified stream. */
bool evil_tcp_works(int fd, u64 seed)
{
	struct trf_client c = {
		.proto = tl_proto_find("inet"),
		.timeout_ms = 10000,
		.seed = tl_mix(seed + fd),
	};
	struct trf_outcome out = { .err = 0 };
	struct trf_req req;

	trf_client_req(&c, &req, TRF_STREAM);
	req.io = TRF_IO_POLL;
	req.wsize = 1000;
	req.to_server = 5000;
	req.to_client = 5000;
	if (!trf_client_stream(&c, fd, &req, &out))
		return true;
	ktap_note("TCP after Decline: %s", out.what);
	return false;
}

/* Wait for the reaction to what was sent, and close. @want: diagnosis, %CLOSES or %ACCEPTS. */
static bool check_reaction(const struct evil_target *t, int fd, u32 want)
{
	struct smc_clc_decline d = { .diag = SMC_CLC_DECL_NONE };
	u64 t0 = tl_now_ns();
	struct evil_msg m;
	enum evil_end end = evil_read(fd, t->deadline_ms, &m);
	struct smc_clc_accept a;
	bool ok;

	if (end == EVIL_DECLINE)
		ok = !smc_clc_parse_decline(m.buf, m.len, &d) && d.diag && d.diag == want;
	else if (end == EVIL_ACCEPT)
		ok = want == ACCEPTS && !smc_clc_parse_accept(m.buf, m.len, &a) && !a.is_confirm;
	else
		ok = want == CLOSES && end == EVIL_CLOSED;
	if (!ok)
		ktap_note("server %s %08x after %llu ms, not %08x", evil_end_name(end), d.diag,
			  (unsigned long long)((tl_now_ns() - t0) / TL_NSEC_PER_MSEC), want);
	if (ok && end == EVIL_DECLINE)
		ok = evil_tcp_works(fd, t->seed);
	if (end == EVIL_ACCEPT)
		evil_reset(fd);
	else
		close(fd);
	return ok;
}

static bool send_check(const struct evil_target *t, const struct evil_msg *m, u32 want)
{
	int fd = evil_connect(t);

	if (fd < 0)
		return false;
	evil_write(fd, m->buf, m->len);
	return check_reaction(t, fd, want);
}

/* ---- wrong fields ---- */

/**
 * struct spoil - a wrong value in an otherwise valid message
 * @name: for the note
 * @off: offset of the field
 * @width: bytes of the field, big endian
 * @value: wrong value
 * @want: correct reaction
 * @extra: number of bytes to send after the message
 */
struct spoil {
	const char *name;
	u16 off;
	u8 width;
	u64 value;
	u32 want;
	u8 extra;
};

static void spoil_apply(const struct spoil *s, struct evil_msg *m)
{
	for (unsigned int i = 0; i < s->width; i++)
		m->buf[s->off + i] = s->value >> 8 * (s->width - 1 - i);
	memset(m->buf + m->len, 0, s->extra);
	m->len += s->extra;
}

static const struct spoil bad_heads[] = {
	{ "eye catcher",	0, 1, 0xe3,	CLOSES, 0 },
	{ "type 0",		4, 1, 0,	CLOSES, 0 },
	{ "type 5",		4, 1, 5,	CLOSES, 0 },
	{ "type 255",		4, 1, 255,	CLOSES, 0 },
	{ "type Accept",	4, 1, 2,	CLOSES, 0 },
	{ "type Confirm",	4, 1, 3,	CLOSES, 0 },
	{ "length 0",		5, 2, 0,	CLOSES, 0 },
	{ "length 7",		5, 2, 7,	CLOSES, 0 },
	{ "length 8",		5, 2, 8,	CLOSES, 0 },
	{ "length 12",		5, 2, 12,	CLOSES, 0 },
	{ "length 52",		5, 2, 52,	CLOSES, 0 },
	{ "length 83",		5, 2, 83,	CLOSES, 0 },
	{ "length -1",		5, 2, 155,	CLOSES, 0 },
	{ "length +1",		5, 2, 157,	CLOSES, 1 },
	{ "length 1025",	5, 2, 1025,	CLOSES, 0 },
	{ "length 65535",	5, 2, 65535,	CLOSES, 0 },
	{ "version 0",		7, 1, 0x02,	CLOSES, 0 },
	{ "version 1",		7, 1, 0x12,	CLOSES, 0 },
	{ "trailer",		155, 1, 0,	CLOSES, 0 },
};

/* Layout and lists of the Proposal: most are malformed, others ask for what a server has not. */
static const struct spoil bad_bodies[] = {
	{ "nothing offered",	7, 1, 0x2a,	CLOSES, 0 },
	{ "v2 offset 0",	P_V2_OFF, 2, 0,	CLOSES, 0 },
	{ "v2 offset 27",	P_V2_OFF, 2, 27, CLOSES, 0 },
	{ "v2 offset 29",	P_V2_OFF, 2, 29, CLOSES, 0 },
	{ "v2 offset 100",	P_V2_OFF, 2, 100, CLOSES, 0 },
	{ "v2 offset 65535",	P_V2_OFF, 2, 65535, CLOSES, 0 },
	{ "no EID",		P_EIDS, 1, 0,	CLOSES, 0 },
	{ "2 EIDs",		P_EIDS, 1, 2,	CLOSES, 0 },
	{ "8 EIDs",		P_EIDS, 1, 8,	CLOSES, 0 },
	{ "255 EIDs",		P_EIDS, 1, 255,	CLOSES, 0 },
	{ "EID of another host",	P_EID, 1, 'X',	SMC_CLC_DECL_NO_UEID, 0 },
	{ "EID with NUL",	P_EID, 4, 0,	SMC_CLC_DECL_NO_UEID, 0 },
	{ "0 connections",	P_CONNS, 1, 0,	SMC_CLC_DECL_MAX_CONNS, 0 },
	{ "15 connections",	P_CONNS, 1, 15,	SMC_CLC_DECL_MAX_CONNS, 0 },
	{ "0 links",		P_LINKS, 1, 0,	SMC_CLC_DECL_MAX_LINKS, 0 },
};

/*
 * Accepted: what concerns SMC-D, or version 1, which is not offered; more than this version knows;
 * more links than the server uses. Closed: areas that are announced and missing.
 */
static const struct spoil odd_bodies[] = {
	{ "eye catcher of D",	3, 1, 0xc4,	ACCEPTS, 0 },
	{ "version 3",		7, 1, 0x32,	ACCEPTS, 0 },
	{ "version 15",		7, 1, 0xf2,	ACCEPTS, 0 },
	{ "v1 and v2 both",	7, 1, 0x2f,	CLOSES, 0 },
	{ "v2 only D",		7, 1, 0x26,	SMC_CLC_DECL_MODE, 0 },
	{ "IP offset 40",	P_IP_OFF, 2, 40, ACCEPTS, 0 },
	{ "IP offset 65535",	P_IP_OFF, 2, 65535, ACCEPTS, 0 },
	{ "255 ISM GIDs",	P_ISMS, 1, 255,	CLOSES, 0 },
	{ "release 15",		P_FLAGS, 1, 0xf0, ACCEPTS, 0 },
	{ "SEID flag",		P_FLAGS, 1, 0x11, ACCEPTS, 0 },
	{ "SMC-D extension",	P_SMCD_OFF, 2, 65535, ACCEPTS, 0 },
	{ "GID 0.0.0.0",	P_GID + 12, 4, 0, SMC_CLC_DECL_NO_ROUTE, 0 },
	{ "GID 127.0.0.1",	P_GID + 12, 4, 0x7f000001, SMC_CLC_DECL_NO_ROUTE, 0 },
	{ "GID multicast",	P_GID + 12, 4, 0xe0000001, SMC_CLC_DECL_NO_ROUTE, 0 },
	{ "GID broadcast",	P_GID + 12, 4, 0xffffffff, SMC_CLC_DECL_NO_ROUTE, 0 },
	{ "GID not in use",	P_GID + 12, 4, 0xc0000201, SMC_CLC_DECL_NO_ROUTE, 0 },
	{ "GID not IPv4",	P_GID, 4, 0x20010db8, SMC_CLC_DECL_NO_ROUTE, 0 },
	{ "3 links",		P_LINKS, 1, 255, ACCEPTS, 0 },
};

static bool spoil_all(const struct evil_target *t, const struct spoil *s, unsigned int nr)
{
	bool ok = true;

	for (unsigned int i = 0; i < nr; i++) {
		struct evil_msg m;

		evil_proposal(&m, &t->local);
		spoil_apply(&s[i], &m);
		if (!send_check(t, &m, s[i].want)) {
			ktap_note("... to a Proposal with: %s", s[i].name);
			ok = false;
		}
	}
	return ok;
}

static bool proposal_bad_head(const struct evil_target *t)
{
	return spoil_all(t, bad_heads, TL_ARRAY_SIZE(bad_heads));
}

static bool proposal_bad_body(const struct evil_target *t)
{
	return spoil_all(t, bad_bodies, TL_ARRAY_SIZE(bad_bodies));
}

static bool proposal_odd_body(const struct evil_target *t)
{
	return spoil_all(t, odd_bodies, TL_ARRAY_SIZE(odd_bodies));
}

/* The prefix area exists only in a Proposal that offers version 1, too. */
static bool proposal_bad_prefixes(const struct evil_target *t)
{
	static const struct spoil spoils[] = {
		{ "9 prefixes",		87, 1, 9,	CLOSES, 0 },
		{ "255 prefixes",	87, 1, 255,	CLOSES, 0 },
		{ "1 prefix",		87, 1, 1,	CLOSES, 0 },
		{ "mask of 33 bits",	84, 1, 33,	CLOSES, 0 },
		{ "IP offset 39",	P_IP_OFF, 2, 39, CLOSES, 0 },
		{ "IP offset 65535",	P_IP_OFF, 2, 65535, CLOSES, 0 },
	};
	struct smc_clc_proposal p = {
		.version = 2,
		.v1_type = SMC_CLC_OFFER_R,
		.v2_type = SMC_CLC_OFFER_NONE,
		.v4_net = { 10 },
		.v4_len = 8,
	};
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(spoils); i++) {
		struct evil_msg m;

		m.len = smc_clc_build_proposal(&p, m.buf, sizeof(m.buf));
		if (m.len != 92) {
			ktap_note("unexpected length of the base");
			return false;
		}
		spoil_apply(&spoils[i], &m);
		if (!send_check(t, &m, spoils[i].want)) {
			ktap_note("... to a version 1 offer with: %s", spoils[i].name);
			ok = false;
		}
	}
	return ok;
}

/* ---- bytes that are not CLC ---- */

static bool garbage_at_once(const struct evil_target *t)
{
	static const size_t lengths[] = { 8, 9, 44, 100, 156, 1500, 2048 };
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(lengths); i++) {
		struct evil_msg m;

		evil_garbage(&m, t->seed + i, lengths[i]);
		ok &= send_check(t, &m, CLOSES);
		memset(m.buf, i & 1 ? 0xff : 0, m.len);
		ok &= send_check(t, &m, CLOSES);
	}
	return ok;
}

static bool text_at_once(const struct evil_target *t)
{
	static const char * const lines[] = {
		"GET / HTTP/1.0\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "*1\r\n$4\r\nPING\r\n",
	};
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(lines); i++) {
		struct evil_msg m = { .len = strlen(lines[i]) };

		memcpy(m.buf, lines[i], m.len);
		ok &= send_check(t, &m, CLOSES);
	}
	return ok;
}

/* A valid header with the maximum length, and then a megabyte of other bytes. */
static bool length_oversized(const struct evil_target *t)
{
	struct evil_msg m;
	int fd = evil_connect(t);

	if (fd < 0)
		return false;
	evil_proposal(&m, &t->local);
	smc_wire_put_be16(m.buf + 5, 65535);
	evil_write(fd, m.buf, m.len);
	evil_garbage(&m, t->seed, sizeof(m.buf));
	for (int i = 0; i < 512; i++) {
		if (send(fd, m.buf, m.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
	}
	return check_reaction(t, fd, CLOSES);
}

/* ---- incomplete messages ---- */

static const size_t cuts[] = { 0, 1, 7, 8, 9, 39, 40, 80, 120, 152, 155 };

/* Truncated by the end of the stream. */
static bool truncated_fin(const struct evil_target *t)
{
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(cuts); i++) {
		struct evil_msg m;
		int fd = evil_connect(t);

		if (fd < 0)
			return false;
		evil_proposal(&m, &t->local);
		evil_write(fd, m.buf, cuts[i]);
		shutdown(fd, SHUT_WR);
		ok &= check_reaction(t, fd, CLOSES);
	}
	return ok;
}

static bool truncated_reset(const struct evil_target *t)
{
	for (size_t i = 0; i < 4 * TL_ARRAY_SIZE(cuts); i++) {
		struct evil_msg m;
		int fd = evil_connect(t);

		if (fd < 0)
			return false;
		evil_proposal(&m, &t->local);
		evil_write(fd, m.buf, cuts[i % TL_ARRAY_SIZE(cuts)]);
		evil_reset(fd);
	}
	return true;
}

/* A complete Proposal whose sender closes before the answer. */
static bool proposal_then_gone(const struct evil_target *t)
{
	for (int i = 0; i < 10; i++) {
		struct evil_msg m;
		int fd = evil_connect(t);

		if (fd < 0)
			return false;
		evil_proposal(&m, &t->local);
		evil_write(fd, m.buf, m.len);
		if (i & 1)
			evil_reset(fd);
		else
			close(fd);
	}
	return true;
}

/* Slow, but before the deadline: the server must answer. */
static bool proposal_drip(const struct evil_target *t)
{
	struct evil_msg m;
	int fd = evil_connect(t);

	if (fd < 0)
		return false;
	evil_proposal(&m, &t->local);
	if (evil_drip(fd, m.buf, m.len, 2)) {
		ktap_note("server closed in the middle of a slow Proposal");
		close(fd);
		return false;
	}
	return check_reaction(t, fd, ACCEPTS);
}

/* Single bytes with long pauses must not extend the deadline. */
static bool proposal_drip_for_ever(const struct evil_target *t)
{
	u64 t0 = tl_now_ns(), ms;
	struct evil_msg m;
	int fd = evil_connect(t);
	int cut_off;

	if (fd < 0)
		return false;
	evil_proposal(&m, &t->local);
	cut_off = evil_drip(fd, m.buf, m.len, t->deadline_ms / 20);
	ms = (tl_now_ns() - t0) / TL_NSEC_PER_MSEC;
	close(fd);
	if (!cut_off || ms > t->deadline_ms) {
		ktap_note("server waited for %llu ms", (unsigned long long)ms);
		return false;
	}
	return true;
}

/* ---- messages out of turn ---- */

static bool decline_first(const struct evil_target *t)
{
	bool ok = true;

	for (unsigned int version = 1; version <= 2; version++) {
		struct evil_msg m;
		int fd = evil_connect(t);

		if (fd < 0)
			return false;
		evil_decline(&m, version, SMC_CLC_DECL_NO_DEV);
		/* in one segment with the first payload: the server may consume only the message */
		send(fd, m.buf, m.len, MSG_MORE | MSG_NOSIGNAL);
		ok &= evil_tcp_works(fd, t->seed);
		close(fd);
	}
	return ok;
}

static bool decline_malformed(const struct evil_target *t)
{
	struct evil_msg m;
	bool ok;

	evil_decline(&m, 2, SMC_CLC_DECL_NO_DEV);
	smc_wire_put_be16(m.buf + 5, SMC_CLC_DECLINE_V1_LEN);
	ok = send_check(t, &m, CLOSES);
	evil_decline(&m, 1, SMC_CLC_DECL_NO_DEV);
	smc_wire_put_be16(m.buf + 5, 27);
	return send_check(t, &m, CLOSES) && ok;
}

static bool accept_first(const struct evil_target *t)
{
	struct evil_msg m;

	evil_accept(&m, &t->local, NULL, false, true);
	return send_check(t, &m, CLOSES);
}

static bool confirm_first(const struct evil_target *t)
{
	struct evil_msg m;

	evil_accept(&m, &t->local, NULL, true, true);
	return send_check(t, &m, CLOSES);
}

/* Returns a connection on which the server has accepted our Proposal, or -1. */
static int connect_accepted(const struct evil_target *t, struct evil_msg *answer)
{
	static struct evil_msg spare;
	struct smc_clc_decline d = { .diag = SMC_CLC_DECL_NONE };
	struct evil_msg m;
	enum evil_end end;
	int fd = evil_connect(t);

	if (fd < 0)
		return -1;
	if (!answer)
		answer = &spare;
	evil_proposal(&m, &t->local);
	evil_write(fd, m.buf, m.len);
	end = evil_read(fd, t->deadline_ms, answer);
	if (end == EVIL_ACCEPT)
		return fd;
	close(fd);
	if (end == EVIL_DECLINE)
		smc_clc_parse_decline(answer->buf, answer->len, &d);
	ktap_note("good Proposal: server %s %08x", evil_end_name(end), d.diag);
	return -1;
}

static bool send_after_accept(const struct evil_target *t, const void *buf, size_t len, u32 want)
{
	int fd = connect_accepted(t, NULL);

	if (fd < 0)
		return false;
	evil_write(fd, buf, len);
	return check_reaction(t, fd, want);
}

static bool proposal_twice(const struct evil_target *t)
{
	struct evil_msg m;
	enum evil_end end;
	int fd = evil_connect(t);

	if (fd < 0)
		return false;
	evil_proposal(&m, &t->local);
	memcpy(m.buf + m.len, m.buf, m.len);
	evil_write(fd, m.buf, 2 * m.len);
	end = evil_read_end(fd, t->deadline_ms);
	close(fd);
	if (end != EVIL_CLOSED)
		ktap_note("server %s", evil_end_name(end));
	return end == EVIL_CLOSED;
}

static bool garbage_for_confirm(const struct evil_target *t)
{
	struct evil_msg m;
	bool ok;

	evil_garbage(&m, t->seed, 180);
	ok = send_after_accept(t, m.buf, m.len, CLOSES);
	memset(m.buf, 0, m.len);
	return send_after_accept(t, m.buf, m.len, CLOSES) && ok;
}

static bool proposal_for_confirm(const struct evil_target *t)
{
	struct evil_msg m;

	evil_proposal(&m, &t->local);
	return send_after_accept(t, m.buf, m.len, CLOSES);
}

/* Send the server's own Accept back. */
static bool accept_for_confirm(const struct evil_target *t)
{
	struct evil_msg answer;
	int fd = connect_accepted(t, &answer);

	if (fd < 0)
		return false;
	evil_write(fd, answer.buf, answer.len);
	return check_reaction(t, fd, CLOSES);
}

static bool nothing_for_confirm(const struct evil_target *t)
{
	return send_after_accept(t, NULL, 0, CLOSES);
}

static bool truncated_confirm(const struct evil_target *t)
{
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(cuts); i++) {
		struct evil_msg m;
		int fd = connect_accepted(t, NULL);

		if (fd < 0)
			return false;
		evil_accept(&m, &t->local, NULL, true, true);
		evil_write(fd, m.buf, cuts[i]);
		shutdown(fd, SHUT_WR);
		ok &= check_reaction(t, fd, CLOSES);
	}
	return ok;
}

static bool decline_for_confirm(const struct evil_target *t)
{
	bool ok = true;

	for (int sync = 0; sync <= 1; sync++) {
		struct evil_msg m;
		int fd = connect_accepted(t, NULL);

		if (fd < 0)
			return false;
		evil_decline(&m, 2, sync ? SMC_CLC_DECL_SYNC : SMC_CLC_DECL_NO_DEV);
		if (sync)
			m.buf[7] |= 0x08;
		evil_write(fd, m.buf, m.len);
		ok &= evil_tcp_works(fd, t->seed);
		close(fd);
	}
	return ok;
}

static bool confirm_bad_fields(const struct evil_target *t)
{
	static const struct spoil spoils[] = {
		{ "element 0",		C_INDEX, 1, 0,		CLOSES, 0 },
		{ "queue pair 0",	C_QPN, 3, 0,		SMC_CLC_DECL_TIMEOUT_CL, 0 },
		{ "MTU 0",		C_MTU, 1, 0x20,		SMC_CLC_DECL_CONFIG, 0 },
		{ "MTU 15",		C_MTU, 1, 0x2f,		SMC_CLC_DECL_CONFIG, 0 },
		{ "address wraps",	C_VADDR, 8, 0xffffffffffff0001ULL, CLOSES, 0 },
		{ "another EID",	C_EID, 1, 'X',		CLOSES, 0 },
		{ "release 9",		C_RELEASE, 1, 0x29,	SMC_CLC_DECL_RELEASE, 0 },
		{ "15 connections",	C_CONNS, 1, 15,		SMC_CLC_DECL_MAX_CONNS, 0 },
		{ "not first contact",	7, 1, 0x20,		CLOSES, 0 },
		{ "version 1",		7, 1, 0x18,		CLOSES, 0 },
		{ "200 GIDs",		156, 1, 200,		CLOSES, 0 },
		{ "trailer",		179, 1, 0,		CLOSES, 0 },
	};
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(spoils); i++) {
		struct evil_msg m;

		evil_accept(&m, &t->local, NULL, true, true);
		spoil_apply(&spoils[i], &m);
		if (!send_after_accept(t, m.buf, m.len, spoils[i].want)) {
			ktap_note("... to a Confirm with: %s", spoils[i].name);
			ok = false;
		}
	}
	return ok;
}

/* Valid in every field, but its queue pair does not exist; twice, on two connections. */
static bool confirm_replayed(const struct evil_target *t)
{
	struct evil_msg m;
	bool ok;

	evil_accept(&m, &t->local, NULL, true, true);
	ok = send_after_accept(t, m.buf, m.len, SMC_CLC_DECL_TIMEOUT_CL);
	return send_after_accept(t, m.buf, m.len, SMC_CLC_DECL_TIMEOUT_CL) && ok;
}

/* The second copy comes when no CLC message is expected any more. */
static bool confirm_twice(const struct evil_target *t)
{
	struct evil_msg m;
	enum evil_end end;
	int fd = connect_accepted(t, NULL);

	if (fd < 0)
		return false;
	evil_accept(&m, &t->local, NULL, true, true);
	memcpy(m.buf + m.len, m.buf, m.len);
	evil_write(fd, m.buf, 2 * m.len);
	end = evil_read_end(fd, t->deadline_ms);
	close(fd);
	if (end != EVIL_CLOSED)
		ktap_note("server %s", evil_end_name(end));
	return end == EVIL_CLOSED;
}

/* ---- random changes ---- */

/* Drop the bytes after the announced length: they would be another message, or payload. */
static void msg_cut_to_length(struct evil_msg *m)
{
	struct smc_clc_head head;

	if (m->len >= SMC_CLC_HEAD_LEN && !smc_clc_parse_header(m->buf, &head) && head.len < m->len)
		m->len = head.len;
}

/*
 * Is @m what it should be, by our codec? The Proposal is the first message; for a Confirm that is
 * well-formed the answer depends on what it contradicts.
 */
static bool mutant_is_valid(const struct evil_msg *m, bool confirm)
{
	struct smc_clc_proposal p;
	struct smc_clc_accept a;

	return confirm ? !smc_clc_parse_accept(m->buf, m->len, &a) :
			 !smc_clc_parse_proposal(m->buf, m->len, &p);
}

/*
 * A malformed message is not answered: the connection is closed. A valid Proposal is accepted or
 * declined, and a valid Confirm declined or closed: it has no queue pair. Then comes the end.
 */
static bool mutation_round(const struct evil_target *t, unsigned int round, bool confirm)
{
	int fd = confirm ? connect_accepted(t, NULL) : evil_connect(t);
	enum evil_end first, end;
	struct evil_msg m;
	bool valid, right;

	if (fd < 0)
		return false;
	if (confirm)
		evil_accept(&m, &t->local, NULL, true, true);
	else
		evil_proposal(&m, &t->local);
	evil_mutate(&m, t->seed + round);
	msg_cut_to_length(&m);
	valid = mutant_is_valid(&m, confirm);
	evil_write(fd, m.buf, m.len);
	shutdown(fd, SHUT_WR);
	first = evil_read(fd, t->deadline_ms, NULL);
	if (!valid)
		right = first == EVIL_CLOSED;
	else if (confirm)
		right = first == EVIL_DECLINE || first == EVIL_CLOSED;
	else
		right = first == EVIL_DECLINE || first == EVIL_ACCEPT;
	end = first == EVIL_CLOSED ? first : evil_read_end(fd, t->deadline_ms);
	close(fd);
	if (right && end == EVIL_CLOSED)
		return true;
	ktap_note("round %u (seed %llu): to a %s message the server %s, then %s", round,
		  (unsigned long long)t->seed + round, valid ? "valid" : "malformed",
		  evil_end_name(first), evil_end_name(end));
	return false;
}

static bool mutated_proposals(const struct evil_target *t)
{
	bool ok = true;

	for (unsigned int i = 0; i < t->rounds; i++)
		ok &= mutation_round(t, i, false);
	return ok;
}

static bool mutated_confirms(const struct evil_target *t)
{
	bool ok = true;

	for (unsigned int i = 0; i < t->rounds / 4; i++)
		ok &= mutation_round(t, i, true);
	return ok;
}

static const struct evil_case cases[] = {
	{ "garbage",			garbage_at_once },
	{ "plain_text",			text_at_once },
	{ "oversized",			length_oversized },
	{ "truncated_fin",		truncated_fin },
	{ "truncated_reset",		truncated_reset },
	{ "truncated_silent",		evil_truncated_silent },
	{ "proposal_bad_head",		proposal_bad_head },
	{ "proposal_bad_body",		proposal_bad_body },
	{ "proposal_bad_prefixes",	proposal_bad_prefixes },
	{ "proposal_odd_body",		proposal_odd_body },
	{ "proposal_version_1",		evil_version_1 },
	{ "proposal_then_gone",		proposal_then_gone },
	{ "drip",			proposal_drip },
	{ "drip_for_ever",		proposal_drip_for_ever },
	{ "decline_first",		decline_first },
	{ "decline_malformed",		decline_malformed },
	{ "accept_first",		accept_first },
	{ "confirm_first",		confirm_first },
	{ "mutated_proposals",		mutated_proposals },
	{ "proposal_twice",		proposal_twice },
	{ "garbage_for_confirm",	garbage_for_confirm },
	{ "proposal_for_confirm",	proposal_for_confirm },
	{ "accept_for_confirm",		accept_for_confirm },
	{ "nothing_for_confirm",	nothing_for_confirm },
	{ "truncated_confirm",		truncated_confirm },
	{ "decline_for_confirm",	decline_for_confirm },
	{ "confirm_bad_fields",		confirm_bad_fields },
	{ "confirm_replayed",		confirm_replayed },
	{ "confirm_twice",		confirm_twice },
	{ "mutated_confirms",		mutated_confirms },
};

static void run_case(struct ktap *k, const struct evil_target *t, const struct evil_case *c,
		     int health)
{
	bool ok = c->fn(t);

	ktap_result(k, evil_health(health, c->name) && ok, c->name);
}

static bool case_chosen(const struct evil_target *t, const char *name)
{
	return !t->only || strstr(name, t->only);
}

static unsigned int count_cases(const struct evil_target *t)
{
	unsigned int nr = case_chosen(t, "silent") + case_chosen(t, "silent_after_proposal");

	for (size_t i = 0; i < TL_ARRAY_SIZE(cases); i++)
		nr += case_chosen(t, cases[i].name);
	return nr;
}

/**
 * evil_client_run() - run all attacks
 * @t: target
 * @health: from evil_health_start()
 *
 * Return: exit code.
 */
int evil_client_run(const struct evil_target *t, int health)
{
	struct ktap k = { 0 };

	ktap_plan(count_cases(t));
	if (!evil_health(health, "before the first case")) {
		printf("Bail out! no working server\n");
		return KTAP_FAIL;
	}
	if (case_chosen(t, "silent"))
		ktap_result(&k, evil_silent(t, health), "silent");
	if (case_chosen(t, "silent_after_proposal"))
		ktap_result(&k, evil_silent_after_proposal(t, health), "silent_after_proposal");
	for (size_t i = 0; i < TL_ARRAY_SIZE(cases); i++) {
		if (case_chosen(t, cases[i].name))
			run_case(&k, t, &cases[i], health);
	}
	return ktap_exit_code(&k);
}
