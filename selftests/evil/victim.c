// SPDX-License-Identifier: GPL-2.0-only
/*
 * The application of a host whose SMC clients connect to a hostile server. Each
 * behaviour has an expected result: an error from connect(), or a connection that
 * transfers exactly the bytes of the server's application.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evil.h"
#include "lib/ktap.h"
#include "traffic/traffic.h"

#define THREAD_STACK	(256U << 10)

/**
 * struct victim - one connection attempt
 * @thread: thread of the attempt
 * @proto: socket family
 * @to: address and port of the behaviour
 * @answer: behaviour
 * @nonblock: use a non-blocking connect()
 * @deadline_ms: limit for connect() to end
 * @ok: result
 * @no_smc: the client did not try SMC, so nothing was tested
 * @slots: limits how many attempts run at a time
 * @note: what happened
 */
struct victim {
	pthread_t thread;
	const struct tl_proto *proto;
	struct tl_addr to;
	const struct evil_answer *answer;
	bool nonblock;
	unsigned int deadline_ms;
	bool ok;
	bool no_smc;
	sem_t *slots;
	char note[256];
};

/* Returns 0 or the negative errno of connect(), also if a non-blocking one reported it later. */
static int victim_connect(const struct victim *v, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int err = 0;
	socklen_t len = sizeof(err);

	if (!v->nonblock)
		return connect(fd, &v->to.sa, v->to.len) ? -errno : 0;
	tl_set_nonblock(fd, true);
	if (!connect(fd, &v->to.sa, v->to.len))
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (poll(&p, 1, 2 * v->deadline_ms) != 1)
		return -ETIME;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	tl_set_nonblock(fd, false);
	return -err;
}

/* Check that a connection transfers the bytes of the server's application, and no others. */
static int victim_traffic(struct victim *v, int fd)
{
	struct trf_client c = {
		.proto = v->proto,
		.timeout_ms = v->deadline_ms,
		.seed = v->to.in.sin_port + v->nonblock,
	};
	struct trf_outcome out = { .err = 0 };
	struct trf_req req;

	if (v->answer->expect == EVIL_GREETING) {
		u8 buf[EVIL_GREETING_LEN];
		ssize_t n;

		tl_set_timeouts(fd, v->deadline_ms);
		n = tl_recv_all(fd, buf, sizeof(buf));
		if (n != sizeof(buf) || tl_check(EVIL_GREETING_SEED, 0, buf, n) >= 0) {
			snprintf(v->note, sizeof(v->note), "greeting of %zd bytes is wrong", n);
			return -EBADMSG;
		}
	}
	trf_client_req(&c, &req, TRF_STREAM);
	req.io = TRF_IO_POLL;
	req.wsize = 1500;
	req.to_server = 10000;
	req.to_client = 10000;
	trf_client_stream(&c, fd, &req, &out);
	if (out.err)
		snprintf(v->note, sizeof(v->note), "connected, then: %s", out.what);
	v->no_smc = out.verdict.reason == EVIL_TAG_NO_SMC;
	if (!out.err && out.verdict.reason == EVIL_TAG_DECLINE) {
		snprintf(v->note, sizeof(v->note), "declined, but not with %08x", v->answer->code);
		return -EBADMSG;
	}
	return out.err;
}

/* After a failed connect() nothing may be readable. */
static bool victim_check_unreadable(struct victim *v, int fd)
{
	char buf[64];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n <= 0)
		return true;
	snprintf(v->note, sizeof(v->note), "%zd bytes readable after the failure", n);
	return false;
}

/*
 * Check by the fallback reason what our side made of the server's behaviour: a Decline, or a second
 * connection without SMC. The server serves that one normally, unless it misbehaves there, too.
 */
static void victim_connected(struct victim *v, int fd)
{
	struct tl_diag diag = { .mode = TL_MODE_UNKNOWN };
	bool right = !tl_diag_get(fd, v->proto, &diag) && diag.mode == TL_MODE_TCP &&
		diag.reason == v->answer->code;

	v->ok = false;
	if (!right)
		snprintf(v->note, sizeof(v->note), "connected: %s, reason %08x, not %08x",
			 tl_mode_name(diag.mode), diag.reason, v->answer->code);
	switch (v->answer->expect) {
	case EVIL_FAILS:
		victim_traffic(v, fd);	/* tells whether the client tried SMC */
		break;
	case EVIL_TCP:
	case EVIL_GREETING:
		v->ok = !victim_traffic(v, fd) && right;
		break;
	case EVIL_AGAIN:
		v->ok = !victim_traffic(v, fd) && v->no_smc && right;
		v->no_smc = !right;
		break;
	case EVIL_AGAIN_RUDE:
	case EVIL_AGAIN_RESET:
		v->ok = right;
		v->no_smc = !right;
	}
}

static void victim_try(struct victim *v)
{
	int fd = tl_socket(v->proto, 0);
	u64 t0 = tl_now_ns(), ms;
	int err = fd < 0 ? fd : victim_connect(v, fd);
	const struct evil_answer *a = v->answer;
	/* the reset of the second connection may come before we check it */
	bool may_fail = a->expect == EVIL_FAILS ? err == -(int)a->code :
		a->expect == EVIL_AGAIN_RESET && err == -ECONNRESET;

	ms = (tl_now_ns() - t0) / TL_NSEC_PER_MSEC;
	snprintf(v->note, sizeof(v->note), "connect: %s after %llu ms", tl_errno_name(-err),
		 (unsigned long long)ms);
	if (ms > v->deadline_ms)
		v->ok = false;
	else if (err)
		v->ok = may_fail && victim_check_unreadable(v, fd);
	else
		victim_connected(v, fd);
	if (fd >= 0)
		close(fd);
}

static void *victim_thread(void *arg)
{
	struct victim *v = arg;

	/* another victim's failure may have filled the negative cache just before we connect */
	for (int i = 0; i < 10; i++) {
		v->no_smc = false;
		tl_forget_bad_peers();
		victim_try(v);
		if (!v->no_smc)
			break;
	}
	sem_post(v->slots);
	return NULL;
}

static void victim_report(struct ktap *k, const struct victim *v)
{
	char name[80];

	snprintf(name, sizeof(name), "%s.%s", v->answer->name,
		 v->nonblock ? "nonblock" : "block");
	ktap_note("%s: %s", name, v->note);
	if (v->no_smc)
		ktap_note("%s: the client did not try SMC", name);
	ktap_result(k, v->ok && !v->no_smc, name);
}

/**
 * evil_victim_run() - connect to every behaviour of a hostile server
 * @p: family of the sockets
 * @host: the hostile server
 * @port: its first port
 * @deadline_ms: limit for each connect()
 * @jobs: number of connections at a time
 * @only: part of the names to run, NULL for all
 *
 * Return: exit code.
 */
int evil_victim_run(const struct tl_proto *p, const char *host, unsigned int port,
		    unsigned int deadline_ms, unsigned int jobs, const char *only)
{
	struct victim *v = calloc(2 * evil_nr_answers, sizeof(*v));
	struct ktap k = { 0 };
	unsigned int nr = 0;
	pthread_attr_t attr;
	sem_t slots;

	if (!v)
		return KTAP_FAIL;
	sem_init(&slots, 0, jobs);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	for (unsigned int i = 0; i < 2 * evil_nr_answers; i++) {
		struct victim *one = &v[nr];

		one->answer = &evil_answers[i / 2];
		if (only && !strstr(one->answer->name, only))
			continue;
		one->proto = p;
		one->nonblock = i & 1;
		one->deadline_ms = deadline_ms;
		if (tl_addr_parse(&one->to, p, host, port + i / 2)) {
			fprintf(stderr, "bad address %s\n", host);
			return 2;
		}
		nr++;
	}
	ktap_plan(nr);
	for (unsigned int i = 0; i < nr; i++) {
		if (!tl_proto_available(p)) {
			ktap_skip(&k, v[i].answer->name, "this kernel has no such family");
			continue;
		}
		while (sem_wait(&slots))
			;
		v[i].slots = &slots;
		if (pthread_create(&v[i].thread, &attr, victim_thread, &v[i])) {
			printf("Bail out! cannot start thread %u\n", i);
			exit(KTAP_FAIL);
		}
	}
	for (unsigned int i = 0; i < nr && k.nr < nr; i++) {
		pthread_join(v[i].thread, NULL);
		victim_report(&k, &v[i]);
	}
	free(v);
	return ktap_exit_code(&k);
}
