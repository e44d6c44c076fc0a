// SPDX-License-Identifier: GPL-2.0-only
/* A hostile server. Each behaviour has a port of its own, so that the client can choose it. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <smc/proto/peer_caps.h>

#include "evil.h"
#include "traffic/traffic.h"

#define PATIENCE_MS	20000
#define THREAD_STACK	(256U << 10)

/* Longer than any client waits for an answer. */
unsigned int evil_late_ms = 9000;

/* Our address of the connection, from which the GID in our messages is made. */
static void conn_own_address(int fd, struct tl_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->len = sizeof(a->ss);
	getsockname(fd, &a->sa, &a->len);
}

/* Serve a connection that is TCP from here on. */
static void serve_tcp(int fd)
{
	const struct trf_server srv = { .proto = tl_proto_find("inet") };

	trf_server_conn(&srv, fd);
}

/* ... and tell the victim by @tag what was wrong before. */
static void serve_tagged(int fd, u32 tag)
{
	const struct trf_server srv = { .proto = tl_proto_find("inet"), .tag = tag };

	trf_server_conn(&srv, fd);
}

static void serve_without_smc(int fd)
{
	serve_tagged(fd, EVIL_TAG_NO_SMC);
}

/*
 * Read the victim's Proposal. A victim that does not try SMC, because of an entry in its
 * negative cache, is served normally; the verdict says so, and the victim tries again.
 *
 * Returns false if there is nothing more to do; then @fd is closed.
 */
static bool take_proposal(int fd, struct smc_clc_proposal *p)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	u8 head[SMC_CLC_HEAD_LEN] = { 0 };
	struct smc_clc_head h;
	struct evil_msg m;
	enum evil_end end;

	poll(&pfd, 1, PATIENCE_MS);
	if (recv(fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT) == sizeof(head) &&
	    smc_clc_parse_header(head, &h)) {
		serve_without_smc(fd);
		return false;
	}
	end = evil_read(fd, PATIENCE_MS, &m);
	if (end == EVIL_ACCEPT && !smc_clc_parse_proposal(m.buf, m.len, p))
		return true;
	if (end == EVIL_DECLINE) {
		serve_without_smc(fd);
		return false;
	}
	printf("# server: no Proposal: %s\n", evil_end_name(end));
	close(fd);
	return false;
}

static void accept_build(int fd, const struct smc_clc_proposal *p, bool first, struct evil_msg *m)
{
	struct tl_addr a;

	conn_own_address(fd, &a);
	evil_accept(m, &a, p->has_v2 && p->v2.eid_count ? p->v2.eids[0] : NULL, false, first);
}

/* Wait for the victim's end of the connection: it must not depend on ours. */
static void wait_end(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	poll(&p, 1, PATIENCE_MS);
	close(fd);
}

/*
 * After an invalid Accept: a Decline by the victim makes the connection TCP. After a
 * Confirm no link comes up.
 */
static void serve_after_accept(int fd, const struct evil_answer *a)
{
	struct smc_clc_decline d;
	struct evil_msg m;
	enum evil_end end = evil_read(fd, PATIENCE_MS, &m);

	if (end == EVIL_ACCEPT)
		end = evil_read(fd, PATIENCE_MS, &m);
	if (end != EVIL_DECLINE)
		close(fd);
	else if (a->expect == EVIL_TCP &&
		 (smc_clc_parse_decline(m.buf, m.len, &d) || d.diag != a->code))
		serve_tagged(fd, EVIL_TAG_DECLINE);
	else
		serve_tcp(fd);
}

/* ---- answers ---- */

static void answer_decline(int fd, unsigned int version, unsigned int pause_ms)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	if (!take_proposal(fd, &p))
		return;
	evil_decline(&m, version, SMC_CLC_DECL_NO_DEV);
	if (version == 1)
		memset(m.buf + 8, 0x25, 7);	/* garbage as peer ID, as some kernels send it */
	if (pause_ms)
		evil_drip(fd, m.buf, m.len, pause_ms);
	else
		evil_write(fd, m.buf, m.len);
	serve_tcp(fd);
}

static void decline_v1(int fd, const struct evil_answer *a)
{
	(void)a;
	answer_decline(fd, 1, 0);
}

static void decline_v2(int fd, const struct evil_answer *a)
{
	(void)a;
	answer_decline(fd, 2, 0);
}

static void decline_drip(int fd, const struct evil_answer *a)
{
	(void)a;
	answer_decline(fd, 2, 10);
}

/* The payload is in the same segment: the client must not consume any of it. */
static void decline_greeting(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	(void)a;
	if (!take_proposal(fd, &p))
		return;
	evil_decline(&m, 2, SMC_CLC_DECL_NO_DEV);
	tl_fill(EVIL_GREETING_SEED, 0, m.buf + m.len, EVIL_GREETING_LEN);
	evil_write(fd, m.buf, m.len + EVIL_GREETING_LEN);
	serve_tcp(fd);
}

/* Send @m instead of an answer, and wait for the end. */
static void answer_with(int fd, const struct evil_msg *m)
{
	struct smc_clc_proposal p;

	if (!take_proposal(fd, &p))
		return;
	evil_write(fd, m->buf, m->len);
	wait_end(fd);
}

static void answer_garbage(int fd, const struct evil_answer *a)
{
	struct evil_msg m;

	(void)a;
	evil_garbage(&m, 0xbad, 200);
	answer_with(fd, &m);
}

static void answer_zeros(int fd, const struct evil_answer *a)
{
	struct evil_msg m = { .len = 200 };

	(void)a;
	answer_with(fd, &m);
}

static void answer_text(int fd, const struct evil_answer *a)
{
	static const char line[] = "220 mail.example.org ESMTP\r\n";
	struct evil_msg m = { .len = sizeof(line) - 1 };

	(void)a;
	memcpy(m.buf, line, m.len);
	answer_with(fd, &m);
}

/* Send before the Proposal comes, like many servers without SMC. */
static void text_at_once(int fd, const struct evil_answer *a)
{
	(void)a;
	evil_write(fd, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 32);
	wait_end(fd);
}

static void proposal_back(int fd, const struct evil_answer *a)
{
	struct evil_msg m;

	(void)a;
	if (evil_read(fd, PATIENCE_MS, &m) == EVIL_ACCEPT)
		evil_write(fd, m.buf, m.len);
	wait_end(fd);
}

static void confirm_for_accept(int fd, const struct evil_answer *a)
{
	struct tl_addr own;
	struct evil_msg m;

	(void)a;
	conn_own_address(fd, &own);
	evil_accept(&m, &own, NULL, true, true);
	answer_with(fd, &m);
}

static void answer_nothing(int fd, const struct evil_answer *a)
{
	struct evil_msg m = { .len = 0 };

	(void)a;
	answer_with(fd, &m);
}

static void end_at_once(int fd, const struct evil_answer *a)
{
	(void)a;
	close(fd);
}

static void reset_at_once(int fd, const struct evil_answer *a)
{
	(void)a;
	evil_reset(fd);
}

static void end_after_proposal(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;

	(void)a;
	if (take_proposal(fd, &p))
		close(fd);
}

static void reset_after_proposal(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;

	(void)a;
	if (take_proposal(fd, &p))
		evil_reset(fd);
}

/* ---- Accepts ---- */

/* Send a valid Accept with one field changed, then serve what the victim makes of it. */
static void send_accept_changed(int fd, const struct evil_answer *a, size_t off, unsigned int width,
				u64 value)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	if (!take_proposal(fd, &p))
		return;
	accept_build(fd, &p, true, &m);
	for (unsigned int i = 0; i < width; i++)
		m.buf[off + i] = value >> 8 * (width - 1 - i);
	evil_write(fd, m.buf, m.len);
	serve_after_accept(fd, a);
}

/* Send the first part of an Accept, then end the stream, or send nothing. */
static void send_accept_cut(int fd, bool end)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	if (!take_proposal(fd, &p))
		return;
	accept_build(fd, &p, true, &m);
	evil_write(fd, m.buf, 100);
	if (end)
		shutdown(fd, SHUT_WR);
	wait_end(fd);
}

#define ACCEPT_WITH(name, off, width, value)					\
	static void name(int fd, const struct evil_answer *a)			\
	{									\
		send_accept_changed(fd, a, off, width, value);			\
	}

ACCEPT_WITH(accept_eye, 0, 1, 0)
ACCEPT_WITH(accept_trailer, 159, 1, 0)
ACCEPT_WITH(accept_type_9, 4, 1, 9)
ACCEPT_WITH(accept_length_0, 5, 2, 0)
ACCEPT_WITH(accept_length_159, 5, 2, 159)
ACCEPT_WITH(accept_length_65535, 5, 2, 65535)
ACCEPT_WITH(accept_version_0, 7, 1, 0x08)
ACCEPT_WITH(accept_version_1, 7, 1, 0x18)
ACCEPT_WITH(accept_version_9, 7, 1, 0x98)
ACCEPT_WITH(accept_smcd, 7, 1, 0x29)
ACCEPT_WITH(accept_element_0, 45, 1, 0)
ACCEPT_WITH(accept_mtu_0, 50, 1, 0x20)
ACCEPT_WITH(accept_address_wraps, 52, 8, 0xffffffffffff0001ULL)
ACCEPT_WITH(accept_eid_other, 64, 4, 0x58585858)
ACCEPT_WITH(accept_release_9, 105, 1, 0x29)
ACCEPT_WITH(accept_conns_0, 140, 1, 0)
ACCEPT_WITH(accept_links_200, 141, 1, 200)
ACCEPT_WITH(accept_gid_zero, 28, 4, 0)
ACCEPT_WITH(accept_gid_multicast, 28, 4, 0xe0000001)
/* valid in every field, but the queue pair does not exist */
ACCEPT_WITH(accept_dead_link, 38, 3, 0x666)

/* A valid Accept of version 1. A client without RoCE v1 may take it only from a native peer. */
static void send_accept_v1(int fd, const struct evil_answer *a, bool native)
{
	struct smc_clc_proposal p;
	struct smc_clc_accept acc;
	struct evil_msg m;

	if (!take_proposal(fd, &p))
		return;
	accept_build(fd, &p, true, &m);
	if (smc_clc_parse_accept(m.buf, m.len, &acc)) {
		close(fd);
		return;
	}
	acc.version = 1;
	if (native)
		smc_native_tag_set_v1(&acc);
	m.len = smc_clc_build_accept(&acc, m.buf, sizeof(m.buf));
	evil_write(fd, m.buf, m.len);
	serve_after_accept(fd, a);
}

static void accept_v1_foreign(int fd, const struct evil_answer *a)
{
	send_accept_v1(fd, a, false);
}

static void accept_v1_dead_link(int fd, const struct evil_answer *a)
{
	send_accept_v1(fd, a, true);
}

static void accept_cut_end(int fd, const struct evil_answer *a)
{
	(void)a;
	send_accept_cut(fd, true);
}

static void accept_cut_silent(int fd, const struct evil_answer *a)
{
	(void)a;
	send_accept_cut(fd, false);
}

/* Subsequent contact in a link group that does not exist: the victim is out of sync. */
static void accept_no_group(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	if (!take_proposal(fd, &p))
		return;
	accept_build(fd, &p, false, &m);
	evil_write(fd, m.buf, m.len);
	serve_after_accept(fd, a);
}

/* Bytes on the TCP connection where only a Decline may come. */
static void accept_then_garbage(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	(void)a;
	if (!take_proposal(fd, &p))
		return;
	accept_build(fd, &p, true, &m);
	tl_fill(0xbad, 0, m.buf + m.len, 100);
	evil_write(fd, m.buf, m.len + 100);
	wait_end(fd);
}

static void accept_twice(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	(void)a;
	if (!take_proposal(fd, &p))
		return;
	accept_build(fd, &p, true, &m);
	memcpy(m.buf + m.len, m.buf, m.len);
	evil_write(fd, m.buf, 2 * m.len);
	wait_end(fd);
}

/* ---- too late ---- */

static void late_decline(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	(void)a;
	if (!take_proposal(fd, &p))
		return;
	tl_sleep_ms(evil_late_ms);
	evil_decline(&m, 2, SMC_CLC_DECL_NO_DEV);
	evil_write(fd, m.buf, m.len);
	serve_tcp(fd);
}

static void late_accept(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	if (!take_proposal(fd, &p))
		return;
	tl_sleep_ms(evil_late_ms);
	accept_build(fd, &p, true, &m);
	evil_write(fd, m.buf, m.len);
	serve_after_accept(fd, a);
}

/* Single bytes with long pauses, beyond every deadline. */
static void drip_for_ever(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	(void)a;
	if (!take_proposal(fd, &p))
		return;
	accept_build(fd, &p, true, &m);
	evil_drip(fd, m.buf, m.len, evil_late_ms / 20);
	wait_end(fd);
}

/* A Decline in time, as peers send it when their own link phase has failed. */
static void accept_then_decline(int fd, const struct evil_answer *a)
{
	struct smc_clc_proposal p;
	struct evil_msg m;

	(void)a;
	if (!take_proposal(fd, &p))
		return;
	accept_build(fd, &p, true, &m);
	evil_write(fd, m.buf, m.len);
	if (evil_read(fd, PATIENCE_MS, NULL) == EVIL_ACCEPT) {
		evil_decline(&m, 2, SMC_CLC_DECL_TIMEOUT_CL);
		evil_write(fd, m.buf, m.len);
	}
	serve_tcp(fd);
}

const struct evil_answer evil_answers[] = {
	{ "decline_v1", decline_v1, EVIL_TCP, SMC_CLC_DECL_PEER },
	{ "decline_v2", decline_v2, EVIL_TCP, SMC_CLC_DECL_PEER },
	{ "decline_drip", decline_drip, EVIL_TCP, SMC_CLC_DECL_PEER },
	{ "decline_greeting", decline_greeting, EVIL_GREETING, SMC_CLC_DECL_PEER },
	{ "garbage", answer_garbage, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "zeros", answer_zeros, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "plain_text", answer_text, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "text_at_once", text_at_once, EVIL_AGAIN_RUDE, SMC_CLC_DECL_NOT_SMC },
	{ "proposal_back", proposal_back, EVIL_AGAIN_RUDE, SMC_CLC_DECL_NOT_SMC },
	{ "confirm_for_accept", confirm_for_accept, EVIL_FAILS, ECONNRESET },
	{ "silent", answer_nothing, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "end_at_once", end_at_once, EVIL_AGAIN_RUDE, SMC_CLC_DECL_NOT_SMC },
	{ "reset_at_once", reset_at_once, EVIL_AGAIN_RESET, SMC_CLC_DECL_NOT_SMC },
	{ "end_after_proposal", end_after_proposal, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "reset_after_proposal", reset_after_proposal, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "accept_cut_end", accept_cut_end, EVIL_FAILS, ECONNRESET },
	{ "accept_cut_silent", accept_cut_silent, EVIL_FAILS, ETIMEDOUT },
	{ "accept_eye", accept_eye, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "accept_trailer", accept_trailer, EVIL_FAILS, ECONNRESET },
	{ "accept_type_9", accept_type_9, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "accept_length_0", accept_length_0, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "accept_length_159", accept_length_159, EVIL_FAILS, ECONNRESET },
	{ "accept_length_65535", accept_length_65535, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "accept_version_0", accept_version_0, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "late_decline", late_decline, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "late_accept", late_accept, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "drip_for_ever", drip_for_ever, EVIL_FAILS, ETIMEDOUT },
	/* from here on a client may get to the link phase, and cache its failure */
	{ "accept_version_1", accept_version_1, EVIL_AGAIN, SMC_CLC_DECL_NOT_SMC },
	{ "accept_version_9", accept_version_9, EVIL_TCP, SMC_CLC_DECL_VERSION },
	{ "accept_smcd", accept_smcd, EVIL_TCP, SMC_CLC_DECL_MODE },
	{ "accept_element_0", accept_element_0, EVIL_FAILS, ECONNRESET },
	{ "accept_mtu_0", accept_mtu_0, EVIL_TCP, SMC_CLC_DECL_CONFIG },
	{ "accept_address_wraps", accept_address_wraps, EVIL_FAILS, ECONNRESET },
	{ "accept_eid_other", accept_eid_other, EVIL_TCP, SMC_CLC_DECL_NO_UEID },
	{ "accept_release_9", accept_release_9, EVIL_TCP, SMC_CLC_DECL_RELEASE },
	{ "accept_conns_0", accept_conns_0, EVIL_TCP, SMC_CLC_DECL_MAX_CONNS },
	{ "accept_links_200", accept_links_200, EVIL_TCP, SMC_CLC_DECL_MAX_LINKS },
	{ "accept_gid_zero", accept_gid_zero, EVIL_TCP, SMC_CLC_DECL_NO_ROUTE },
	{ "accept_gid_multicast", accept_gid_multicast, EVIL_TCP, SMC_CLC_DECL_NO_ROUTE },
	{ "accept_v1_foreign", accept_v1_foreign, EVIL_TCP, SMC_CLC_DECL_NO_DEV_R },
	{ "accept_v1_dead_link", accept_v1_dead_link, EVIL_TCP, SMC_CLC_DECL_TIMEOUT_CL },
	{ "accept_no_group", accept_no_group, EVIL_TCP, SMC_CLC_DECL_SYNC },
	{ "accept_dead_link", accept_dead_link, EVIL_TCP, SMC_CLC_DECL_TIMEOUT_CL },
	{ "accept_then_decline", accept_then_decline, EVIL_TCP, SMC_CLC_DECL_PEER },
	{ "accept_then_garbage", accept_then_garbage, EVIL_FAILS, ECONNRESET },
	{ "accept_twice", accept_twice, EVIL_FAILS, ECONNRESET },
};

const unsigned int evil_nr_answers = TL_ARRAY_SIZE(evil_answers);

/**
 * struct task - one victim's connection
 * @fd: accepted socket
 * @answer: behaviour to show
 */
struct task {
	int fd;
	const struct evil_answer *answer;
};

static void *task_thread(void *arg)
{
	struct task t = *(struct task *)arg;

	free(arg);
	t.answer->fn(t.fd, t.answer);
	return NULL;
}

static int task_start(int fd, const struct evil_answer *answer, const pthread_attr_t *attr)
{
	struct task *t = malloc(sizeof(*t));
	pthread_t thread;

	if (!t)
		return -ENOMEM;
	*t = (struct task){ fd, answer };
	if (!pthread_create(&thread, attr, task_thread, t))
		return 0;
	free(t);
	return -EAGAIN;
}

/**
 * evil_server_run() - listen on one port for each answer, until an error
 * @tcp: plain TCP family
 * @host: address to bind, NULL for any
 * @port: the first port
 *
 * Return: a negative errno.
 */
int evil_server_run(const struct tl_proto *tcp, const char *host, unsigned int port)
{
	struct pollfd pfd[TL_ARRAY_SIZE(evil_answers)];
	pthread_attr_t attr;

	for (unsigned int i = 0; i < evil_nr_answers; i++) {
		struct tl_addr at;

		if (tl_addr_parse(&at, tcp, host, port + i))
			return -EINVAL;
		pfd[i] = (struct pollfd){ .fd = tl_listen(tcp, &at, 64), .events = POLLIN };
		if (pfd[i].fd < 0)
			return pfd[i].fd;
	}
	printf("# hostile server on ports %u to %u\n", port, port + evil_nr_answers - 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		if (poll(pfd, evil_nr_answers, -1) < 0 && errno != EINTR)
			return -errno;
		for (unsigned int i = 0; i < evil_nr_answers; i++) {
			int fd;

			if (!(pfd[i].revents & POLLIN))
				continue;
			fd = accept4(pfd[i].fd, NULL, NULL, SOCK_CLOEXEC);
			if (fd >= 0 && task_start(fd, &evil_answers[i], &attr))
				close(fd);
		}
	}
}
