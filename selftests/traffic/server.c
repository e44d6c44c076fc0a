// SPDX-License-Identifier: GPL-2.0-only
/* Server side of the traffic tests: one thread per connection, which serves requests to its end. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traffic.h"

#define THREAD_STACK	(128U << 10)
#define NR_RECORDS	1024

/**
 * struct record - verdict kept for a later TRF_QUERY
 * @seed: its key
 * @verdict: the verdict
 */
struct record {
	u64 seed;
	struct trf_verdict verdict;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct record records[NR_RECORDS];
	unsigned int next;
	u64 conns;
	u64 alien;
	u64 failed;
	unsigned int running;	/* operations under way, queries not counted */
} state = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static void record_put(u64 seed, const struct trf_verdict *v)
{
	pthread_mutex_lock(&state.lock);
	state.records[state.next++ % NR_RECORDS] = (struct record){ seed, *v };
	pthread_cond_broadcast(&state.changed);
	pthread_mutex_unlock(&state.lock);
}

static bool record_find(u64 seed, struct trf_verdict *v)
{
	for (size_t i = 0; i < NR_RECORDS; i++) {
		const struct record *r = &state.records[i];

		if (r->verdict.magic && r->seed == seed) {
			*v = r->verdict;
			return true;
		}
	}
	return false;
}

/* The queried operation may still be running on another connection: wait for its end. */
static void record_wait(u64 seed, unsigned int timeout_ms, struct trf_verdict *v)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000 + 1;
	pthread_mutex_lock(&state.lock);
	while (!record_find(seed, v)) {
		if (pthread_cond_timedwait(&state.changed, &state.lock, &until)) {
			v->err = ETIMEDOUT;
			break;
		}
	}
	pthread_mutex_unlock(&state.lock);
}

/* An operation begins (@n 1) or has ended with its verdict recorded (@n -1). */
static void running_add(int n)
{
	pthread_mutex_lock(&state.lock);
	state.running += n;
	pthread_cond_broadcast(&state.changed);
	pthread_mutex_unlock(&state.lock);
}

/*
 * Wait for the operations under way: a client that found a fault closes and asks the server to end
 * while the server's thread still collects its own threads, with a fault to report.
 */
static void running_wait(unsigned int timeout_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000 + 1;
	pthread_mutex_lock(&state.lock);
	while (state.running &&
	       !pthread_cond_timedwait(&state.changed, &state.lock, &until))
		;
	if (state.running)
		printf("# server: %u operations have not ended\n", state.running);
	pthread_mutex_unlock(&state.lock);
}

static void stats_get(struct trf_verdict *v)
{
	pthread_mutex_lock(&state.lock);
	v->bytes = state.conns;
	v->bad_off = state.alien;
	v->peer_reason = state.failed;
	pthread_mutex_unlock(&state.lock);
}

static void verdict_mode(const struct trf_server *srv, int fd, const struct trf_req *req,
			 struct trf_verdict *v)
{
	struct tl_diag d;
	int err;

	if (!(req->flags & TRF_F_MODE) && srv->require == TL_MODE_UNKNOWN)
		return;
	err = tl_diag_get(fd, srv->proto, &d);
	if (err) {
		fprintf(stderr, "server: sock_diag: %s\n", tl_errno_name(-err));
		if (srv->require != TL_MODE_UNKNOWN)
			v->err = ENOLINK;
		return;
	}
	v->mode = d.mode;
	v->reason = d.reason;
	v->peer_reason = d.peer_reason;
	if (srv->require != TL_MODE_UNKNOWN && d.mode != srv->require)
		v->err = ENOLINK;
}

static int serve_stream(const struct trf_server *srv, int fd, const struct trf_req *req,
			struct trf_verdict *v)
{
	struct trf_stream s = {
		.fd = fd,
		.io = req->io,
		.tx_seed = trf_seed_to_client(req->seed),
		.rx_seed = trf_seed_to_server(req->seed),
		.tx_len = req->to_client,
		.rx_len = req->to_server,
		.wsize = req->wsize,
		.nocheck = req->flags & TRF_F_NOCHECK,
		.pages = req->flags & TRF_F_PAGES,
		.peek = req->flags & TRF_F_PEEK,
		.bulk = req->flags & TRF_F_BULK,
		.timeout_ms = req->timeout_ms,
		.corrupt = srv->corrupt,
	};
	int err = trf_stream_run(&s);

	v->bytes = s.rx_done;
	v->bad_off = s.rx_done;
	return err;
}

static int serve_pingpong(int fd, const struct trf_req *req, struct trf_verdict *v)
{
	bool check = !(req->flags & TRF_F_NOCHECK);
	u8 *buf = calloc(1, req->to_server);
	int err = buf ? 0 : -ENOMEM;

	for (u64 i = 0; !err && i < req->count; i++) {
		u64 len = req->to_server, off = i * len;

		err = trf_msg_recv(fd, req, buf);
		if (err)
			break;
		if (check && tl_check(trf_seed_to_server(req->seed), off, buf, len) >= 0) {
			v->bad_off = off;
			err = -EBADMSG;
			break;
		}
		v->bytes += len;
		if (check)
			tl_fill(trf_seed_to_client(req->seed), off, buf, len);
		err = trf_msg_send(fd, req, buf);
	}
	free(buf);
	return err;
}

static int serve_halfclose(int fd, const struct trf_req *req, struct trf_verdict *v)
{
	u64 rx = trf_seed_to_server(req->seed);
	u64 tx = trf_seed_to_client(req->seed);
	int err;

	if (req->op == TRF_HALFCLOSE_SERVER) {
		err = trf_send_piece(fd, tx, 0, req->to_client);
		if (!err && shutdown(fd, SHUT_WR))
			err = -errno;
		if (!err)
			err = trf_recv_piece(fd, rx, 0, req->to_server, &v->bytes);
		return err ? err : trf_expect_eof(fd);
	}
	err = trf_recv_piece(fd, rx, 0, req->to_server, &v->bytes);
	if (!err)
		err = trf_expect_eof(fd);
	/* the client's direction has ended, ours must still carry everything */
	return err ? err : trf_send_piece(fd, tx, 0, req->to_client);
}

/* One side writes and ends at once; the other one reads much later and must receive everything. */
static int serve_part(int *fd, const struct trf_req *req, struct trf_verdict *v)
{
	int err;

	if (req->op == TRF_PART_SERVER) {
		err = trf_part(fd, req, trf_seed_to_client(req->seed), req->to_client);
		return err ? err : trf_part_end(fd, req);
	}
	tl_sleep_ms(req->count);
	err = trf_recv_piece(*fd, trf_seed_to_server(req->seed), 0, req->to_server, &v->bytes);
	return err ? err : trf_expect_eof(*fd);
}

/* Queued bytes come first, as on TCP; then the reset must follow. */
static int serve_reset_client(int fd, const struct trf_req *req)
{
	char buf[4096];
	ssize_t n;
	int err = trf_send_piece(fd, trf_seed_to_client(req->seed), 0, req->to_client);

	if (err)
		return err == -ECONNRESET ? 0 : err;
	do {
		n = recv(fd, buf, sizeof(buf), 0);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (!n)
		return req->flags & TRF_F_EOF_OK ? 0 : -ENOMSG;
	return errno == ECONNRESET ? 0 : -errno;
}

/* Serve requests about the server itself. Return true if the connection remains usable. */
static bool serve_query(int fd, const struct trf_req *req)
{
	struct trf_verdict v = { .magic = TRF_MAGIC_VERDICT };

	if (req->op == TRF_QUERY)
		record_wait(req->seed, req->timeout_ms, &v);
	else
		stats_get(&v);
	if (!trf_verdict_send(fd, &v))
		return true;
	close(fd);
	return false;
}

/* Serve one request. Return true if the connection remains usable; close it otherwise. */
static bool serve_one(const struct trf_server *srv, int fd, const struct trf_req *req)
{
	struct trf_verdict v = { .magic = TRF_MAGIC_VERDICT, .reason = srv->tag };
	bool goes_on = false;
	int err = 0;

	tl_set_timeouts(fd, req->timeout_ms);
	if (req->op == TRF_QUERY || req->op == TRF_STATS)
		return serve_query(fd, req);
	running_add(1);
	verdict_mode(srv, fd, req, &v);
	switch (req->op) {
	case TRF_STREAM:
		err = serve_stream(srv, fd, req, &v);
		goes_on = !err;
		break;
	case TRF_PINGPONG:
		err = serve_pingpong(fd, req, &v);
		goes_on = !err;
		break;
	case TRF_HALFCLOSE_CLIENT:
	case TRF_HALFCLOSE_SERVER:
		err = serve_halfclose(fd, req, &v);
		break;
	case TRF_PART_CLIENT:
	case TRF_PART_SERVER:
		err = serve_part(&fd, req, &v);
		break;
	case TRF_RESET_CLIENT:
		err = serve_reset_client(fd, req);
		break;
	case TRF_RESET_SERVER:
		err = trf_reset_now(fd, req->flags & TRF_F_LINGER, req->timeout_ms);
		fd = -1;
		break;
	}
	if (err)
		v.err = -err;
	if (v.err) {
		pthread_mutex_lock(&state.lock);
		state.failed++;
		pthread_mutex_unlock(&state.lock);
	}
	if (srv->verbose || v.err)
		printf("# server: op %u io %s: %llu bytes, mode %s: %s\n", req->op,
		       trf_io_name(req->io), (unsigned long long)v.bytes, tl_mode_name(v.mode),
		       tl_errno_name(v.err));
	if (req->op == TRF_STREAM || req->op == TRF_PINGPONG || req->op == TRF_HALFCLOSE_CLIENT)
		goes_on = !trf_verdict_send(fd, &v) && goes_on;
	if (!goes_on && fd >= 0)
		close(fd);
	/* record the verdict only after this side has released the connection */
	record_put(req->seed, &v);
	running_add(-1);
	return goes_on;
}

/**
 * trf_server_conn() - serve one connection to its end
 * @srv: configuration
 * @fd: accepted socket, closed on return
 */
void trf_server_conn(const struct trf_server *srv, int fd)
{
	struct trf_req req;
	int ret;

	pthread_mutex_lock(&state.lock);
	state.conns++;
	pthread_mutex_unlock(&state.lock);
	do {
		ret = trf_req_recv(fd, &req);
		if (ret <= 0)
			break;
		if (req.op == TRF_QUIT) {
			struct trf_verdict v = { 0 };

			running_wait(req.timeout_ms);
			stats_get(&v);
			trf_verdict_send(fd, &v);
			shutdown(fd, SHUT_WR);
			trf_expect_eof(fd);
			exit(v.bad_off || v.peer_reason ? 1 : 0);
		}
	} while (serve_one(srv, fd, &req));
	if (ret > 0)
		return;
	if (ret == -EBADMSG || ret == -EPROTO) {
		pthread_mutex_lock(&state.lock);
		state.alien++;
		pthread_mutex_unlock(&state.lock);
		printf("# server: received bytes that are no request\n");
	}
	close(fd);
}

/**
 * struct thread_arg - argument of a connection's thread
 * @srv: configuration
 * @fd: accepted socket
 */
struct thread_arg {
	const struct trf_server *srv;
	int fd;
};

static void *conn_thread(void *arg)
{
	struct thread_arg a = *(struct thread_arg *)arg;

	free(arg);
	trf_server_conn(a.srv, a.fd);
	return NULL;
}

static int start_thread(const struct trf_server *srv, int fd, const pthread_attr_t *attr)
{
	struct thread_arg *arg = malloc(sizeof(*arg));
	pthread_t thread;
	int err;

	if (!arg)
		return -ENOMEM;
	*arg = (struct thread_arg){ srv, fd };
	err = -pthread_create(&thread, attr, conn_thread, arg);
	if (err)
		free(arg);
	return err;
}

/**
 * trf_server_run() - accept and serve for ever
 * @srv: configuration
 * @listener: listening socket
 *
 * Return: a negative errno if accept() fails permanently.
 */
int trf_server_run(const struct trf_server *srv, int listener)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		int err;

		if (fd < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			return -errno;
		}
		err = start_thread(srv, fd, &attr);
		if (err) {
			fprintf(stderr, "server: thread: %s\n", tl_errno_name(-err));
			close(fd);
		}
	}
}
