// SPDX-License-Identifier: GPL-2.0-only
/* Client side of the traffic operations, shared by the traffic test and the benchmark. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uapi/linux/smc_own.h>

#include "traffic.h"

#ifndef SOL_SMC
#define SOL_SMC	286
#endif

int trf_fail(struct trf_outcome *out, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->what, sizeof(out->what), fmt, ap);
	va_end(ap);
	out->err = err;
	return err;
}

static bool mode_needed(const struct trf_client *c)
{
	return c->show_mode || c->require != TL_MODE_UNKNOWN;
}

static int check_local_mode(const struct trf_client *c, int fd, struct trf_outcome *out)
{
	int err;

	if (!mode_needed(c))
		return 0;
	err = tl_diag_get(fd, c->proto, &out->local);
	if (err && c->require != TL_MODE_UNKNOWN)
		return trf_fail(out, err, "sock_diag: %s", tl_errno_name(-err));
	if (c->require != TL_MODE_UNKNOWN && out->local.mode != c->require)
		return trf_fail(out, -ENOLINK, "mode is %s, not %s (reason %08x, peer %08x)",
				tl_mode_name(out->local.mode), tl_mode_name(c->require),
				out->local.reason, out->local.peer_reason);
	return 0;
}

static int set_own_option(int fd, int name, const int *val)
{
	return val && setsockopt(fd, SOL_SMC, name, val, sizeof(*val)) ? -errno : 0;
}

/**
 * trf_set_paths() - set the options about links that were given
 * @c: parameters
 * @fd: SMC socket
 *
 * Return: 0 or a negative errno.
 */
int trf_set_paths(const struct trf_client *c, int fd)
{
	return set_own_option(fd, SMC_OWN_LINK_POLICY, c->link_policy) ?:
	       set_own_option(fd, SMC_OWN_BALANCE, c->balance);
}

/* Connect with options: with TCP Fast Open the SYN leaves with the first data. */
static int connect_with_options(const struct trf_client *c)
{
	int fd = tl_socket(c->proto, 0);
	int err, on = 1;

	if (fd < 0)
		return fd;
	err = c->tos ? tl_set_tos(fd, c->tos) : 0;
	if (!err)
		err = trf_set_paths(c, fd);
	if (!err && c->fastopen &&
	    setsockopt(fd, SOL_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)))
		err = -errno;
	if (!err && c->from.len && bind(fd, &c->from.sa, c->from.len))
		err = -errno;
	if (!err && connect(fd, &c->to.sa, c->to.len))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/**
 * trf_client_connect() - connect and check the mode
 * @c: parameters
 * @out: result
 *
 * Return: the connected socket or a negative errno, which is also in @out.
 */
int trf_client_connect(const struct trf_client *c, struct trf_outcome *out)
{
	int fd, err;

	memset(out, 0, sizeof(*out));
	fd = c->fastopen || c->tos || c->link_policy || c->balance ?
		connect_with_options(c) :
		tl_connect(c->proto, c->from.len ? &c->from : NULL, &c->to);
	if (fd < 0)
		return trf_fail(out, fd, "connect: %s", tl_errno_name(-fd));
	err = tl_set_timeouts(fd, c->timeout_ms);
	if (err)
		trf_fail(out, err, "SO_RCVTIMEO: %s", tl_errno_name(-err));
	else
		err = check_local_mode(c, fd, out);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Fill in the fields that all requests of this client have in common. */
void trf_client_req(const struct trf_client *c, struct trf_req *req, enum trf_op op)
{
	memset(req, 0, sizeof(*req));
	req->op = op;
	req->seed = c->seed;
	req->timeout_ms = c->timeout_ms;
	if (mode_needed(c))
		req->flags |= TRF_F_MODE;
	if (op == TRF_STREAM && c->pages)
		req->flags |= TRF_F_PAGES;
	if (op == TRF_STREAM && c->peek)
		req->flags |= TRF_F_PEEK;
}

static int check_verdict(const struct trf_client *c, const struct trf_req *req, u64 bytes,
			 struct trf_outcome *out)
{
	const struct trf_verdict *v = &out->verdict;

	if (v->err)
		return trf_fail(out, -(int)v->err, "server: %s after %llu bytes (first bad %llu)",
				tl_errno_name(v->err), (unsigned long long)v->bytes,
				(unsigned long long)v->bad_off);
	if (v->bytes != bytes)
		return trf_fail(out, -EBADMSG, "server took %llu bytes of %llu",
				(unsigned long long)v->bytes, (unsigned long long)bytes);
	if (c->require != TL_MODE_UNKNOWN && (req->flags & TRF_F_MODE) && v->mode != c->require)
		return trf_fail(out, -ENOLINK, "server's mode is %s, not %s (reason %08x)",
				tl_mode_name(v->mode), tl_mode_name(c->require), v->reason);
	return 0;
}

static int verdict_receive(const struct trf_client *c, int fd, const struct trf_req *req,
			   u64 bytes, struct trf_outcome *out)
{
	int err = trf_verdict_recv(fd, &out->verdict);

	if (err)
		return trf_fail(out, err, "verdict: %s", tl_errno_name(-err));
	return check_verdict(c, req, bytes, out);
}

/* Query on a second connection the verdict of an operation that ended its own connection. */
static int verdict_query(const struct trf_client *c, const struct trf_req *req, u64 bytes,
			 struct trf_outcome *out)
{
	struct trf_outcome q;
	int fd = trf_client_connect(c, &q);
	int err;

	if (fd < 0)
		return trf_fail(out, fd, "query: %s", q.what);
	err = trf_client_simple(c, fd, TRF_QUERY, req->seed, &q);
	close(fd);
	if (err)
		return trf_fail(out, err, "query: %s", q.what);
	out->verdict = q.verdict;
	return check_verdict(c, req, bytes, out);
}

/**
 * trf_client_stream() - both directions at once, then the server's verdict
 * @c: parameters
 * @fd: connected socket
 * @req: TRF_STREAM request with lengths, write size and style
 * @out: result
 *
 * Return: 0 or a negative errno.
 */
int trf_client_stream(const struct trf_client *c, int fd, const struct trf_req *req,
		      struct trf_outcome *out)
{
	int err = trf_req_send(fd, req);

	if (err)
		return trf_fail(out, err, "request: %s", tl_errno_name(-err));
	return trf_client_stream_sent(c, fd, req, out);
}

/**
 * trf_client_stream_sent() - the same, if the request was sent before
 * @c: parameters
 * @fd: connected socket
 * @req: the request; its bytes to the client may be on their way
 * @out: result
 *
 * Return: 0 or a negative errno.
 */
int trf_client_stream_sent(const struct trf_client *c, int fd, const struct trf_req *req,
			   struct trf_outcome *out)
{
	struct trf_stream s = {
		.fd = fd,
		.io = req->io,
		.tx_seed = trf_seed_to_server(req->seed),
		.rx_seed = trf_seed_to_client(req->seed),
		.tx_len = req->to_server,
		.rx_len = req->to_client,
		.wsize = req->wsize,
		.nocheck = req->flags & TRF_F_NOCHECK,
		.pages = req->flags & TRF_F_PAGES,
		.peek = req->flags & TRF_F_PEEK,
		.bulk = req->flags & TRF_F_BULK,
		.timeout_ms = c->timeout_ms,
	};
	u64 t0 = tl_now_ns();
	int err = trf_stream_run(&s);

	out->still_ns = s.still_ns;
	if (err)
		return trf_fail(out, err, "stream: %s, sent %llu of %llu, received %llu of %llu",
				tl_errno_name(-err), (unsigned long long)s.tx_done,
				(unsigned long long)s.tx_len, (unsigned long long)s.rx_done,
				(unsigned long long)s.rx_len);
	err = verdict_receive(c, fd, req, req->to_server, out);
	out->nsec = tl_now_ns() - t0;
	return err;
}

/* One message in each direction. */
static int pingpong_round(int fd, const struct trf_req *req, u8 *buf, u64 off)
{
	bool check = !(req->flags & TRF_F_NOCHECK);
	u64 len = req->to_server;
	int err;

	if (check)
		tl_fill(trf_seed_to_server(req->seed), off, buf, len);
	err = trf_msg_send(fd, req, buf);
	if (!err)
		err = trf_msg_recv(fd, req, buf);
	if (!err && check && tl_check(trf_seed_to_client(req->seed), off, buf, len) >= 0)
		err = -EBADMSG;
	return err;
}

/**
 * trf_client_pingpong() - messages with one in flight
 * @c: parameters
 * @fd: connected socket
 * @req: TRF_PINGPONG request with size and count
 * @rtt: receives the time of each round in ns, or NULL
 * @out: result
 *
 * Return: 0 or a negative errno.
 */
int trf_client_pingpong(const struct trf_client *c, int fd, const struct trf_req *req,
			u64 *rtt, struct trf_outcome *out)
{
	u8 *buf = calloc(1, req->to_server);
	int err = buf ? trf_req_send(fd, req) : -ENOMEM;
	u64 start = tl_now_ns();

	for (u64 i = 0; !err && i < req->count; i++) {
		u64 t0 = tl_now_ns();

		err = pingpong_round(fd, req, buf, i * req->to_server);
		if (rtt)
			rtt[i] = tl_now_ns() - t0;
		if (err)
			trf_fail(out, err, "message %llu: %s", (unsigned long long)i,
				 tl_errno_name(-err));
	}
	out->nsec = tl_now_ns() - start;
	free(buf);
	return err ? err : verdict_receive(c, fd, req, req->to_server * req->count, out);
}

static int halfclose_server_first(const struct trf_client *c, int fd, const struct trf_req *req,
				  struct trf_outcome *out)
{
	u64 good = 0;
	int err = trf_recv_piece(fd, trf_seed_to_client(req->seed), 0, req->to_client, &good);

	if (!err)
		err = trf_expect_eof(fd);
	if (err)
		return trf_fail(out, err, "server's half: %s after %llu bytes",
				tl_errno_name(-err), (unsigned long long)good);
	err = trf_send_piece(fd, trf_seed_to_server(req->seed), 0, req->to_server);
	if (!err && shutdown(fd, SHUT_WR))
		err = -errno;
	if (err)
		return trf_fail(out, err, "own half: %s", tl_errno_name(-err));
	return verdict_query(c, req, req->to_server, out);
}

/**
 * trf_client_halfclose() - one side ends its direction, the other one continues
 * @c: parameters
 * @fd: connected socket
 * @req: TRF_HALFCLOSE_CLIENT or TRF_HALFCLOSE_SERVER with lengths
 * @out: result
 *
 * Return: 0 or a negative errno.
 */
int trf_client_halfclose(const struct trf_client *c, int fd, const struct trf_req *req,
			 struct trf_outcome *out)
{
	u64 good = 0;
	int err = trf_req_send(fd, req);

	if (err)
		return trf_fail(out, err, "request: %s", tl_errno_name(-err));
	if (req->op == TRF_HALFCLOSE_SERVER)
		return halfclose_server_first(c, fd, req, out);
	err = trf_send_piece(fd, trf_seed_to_server(req->seed), 0, req->to_server);
	if (!err && shutdown(fd, SHUT_WR))
		err = -errno;
	if (err)
		return trf_fail(out, err, "own half: %s", tl_errno_name(-err));
	err = trf_recv_piece(fd, trf_seed_to_client(req->seed), 0, req->to_client, &good);
	if (err)
		return trf_fail(out, err, "server's half: %s after %llu bytes",
				tl_errno_name(-err), (unsigned long long)good);
	err = verdict_receive(c, fd, req, req->to_server, out);
	if (err)
		return err;
	err = trf_expect_eof(fd);
	return err ? trf_fail(out, err, "end: %s", tl_errno_name(-err)) : 0;
}

/**
 * trf_client_parted() - query the server's verdict after trf_part()
 * @c: parameters
 * @req: TRF_PART_CLIENT request
 * @out: result
 *
 * Return: 0 or a negative errno.
 */
int trf_client_parted(const struct trf_client *c, const struct trf_req *req,
		      struct trf_outcome *out)
{
	return verdict_query(c, req, req->to_server, out);
}

/*
 * Read up to the reset. Only bytes that were queued before it may come. As on TCP, the error comes
 * once: a writer that gets it (@sent) leaves the end of the stream to readers.
 */
static int expect_reset(int fd, int sent, bool eof_ok, struct trf_outcome *out)
{
	char buf[4096];
	ssize_t n;

	do {
		n = recv(fd, buf, sizeof(buf), 0);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (sent == -ECONNRESET && n && !eof_ok)
		return trf_fail(out, -errno, "%s after ECONNRESET of send()",
				tl_errno_name(errno));
	if (!n && (eof_ok || sent == -ECONNRESET))
		return 0;
	if (!n)
		return trf_fail(out, -ENOMSG, "end of stream instead of ECONNRESET");
	if (errno != ECONNRESET)
		return trf_fail(out, -errno, "%s instead of ECONNRESET", tl_errno_name(errno));
	n = recv(fd, buf, sizeof(buf), 0);
	if (n)
		return trf_fail(out, -EPROTO, "second recv() gave %s, not 0",
				n < 0 ? tl_errno_name(errno) : "data");
	return 0;
}

/**
 * trf_client_reset() - one side resets, the other one must see the reset
 * @c: parameters
 * @fd: connected socket, closed on return
 * @req: TRF_RESET_CLIENT or TRF_RESET_SERVER, TRF_F_LINGER chooses the variant
 * @out: result
 *
 * Return: 0 or a negative errno.
 */
int trf_client_reset(const struct trf_client *c, int fd, const struct trf_req *req,
		     struct trf_outcome *out)
{
	int err = trf_req_send(fd, req);
	u64 good = 0;

	if (err) {
		close(fd);
		return trf_fail(out, err, "request: %s", tl_errno_name(-err));
	}
	if (req->op == TRF_RESET_SERVER) {
		/* the server's reset may come before we have sent our data */
		err = trf_send_piece(fd, trf_seed_to_server(req->seed), 0, req->to_server);
		err = expect_reset(fd, err, req->flags & TRF_F_EOF_OK, out);
		close(fd);
	} else {
		tl_sleep_ms(c->pause_ms);
		/* wait for the answer: a reset could discard the unread request */
		if (req->flags & TRF_F_LINGER)
			trf_recv_piece(fd, trf_seed_to_client(req->seed), 0, req->to_client,
				       &good);
		err = trf_reset_now(fd, req->flags & TRF_F_LINGER, c->timeout_ms);
		if (err)
			trf_fail(out, err, "own reset: %s", tl_errno_name(-err));
	}
	return err ? err : verdict_query(c, req, 0, out);
}

/**
 * trf_client_simple() - a request about the server itself
 * @c: parameters
 * @fd: connected socket
 * @op: TRF_QUERY, TRF_STATS or TRF_QUIT
 * @key: seed of the queried operation
 * @out: result
 *
 * Return: 0 or a negative errno.
 */
int trf_client_simple(const struct trf_client *c, int fd, enum trf_op op, u64 key,
		      struct trf_outcome *out)
{
	struct trf_req req;
	int err;

	trf_client_req(c, &req, op);
	req.seed = key;
	err = trf_req_send(fd, &req);
	if (err)
		return trf_fail(out, err, "request: %s", tl_errno_name(-err));
	/* a query waits at the server for up to the same time: allow a little more here */
	tl_set_timeouts(fd, c->timeout_ms + 5000);
	err = trf_verdict_recv(fd, &out->verdict);
	return err ? trf_fail(out, err, "verdict: %s", tl_errno_name(-err)) : 0;
}
