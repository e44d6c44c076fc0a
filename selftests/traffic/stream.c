// SPDX-License-Identifier: GPL-2.0-only
/* The stream engine: both directions of one connection at once, with three styles of waiting. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <uapi/linux/smc_own.h>

#include "traffic.h"

#ifndef SOL_SMC
#define SOL_SMC		286
#endif

#define PIECE		(64U << 10)
#define LENT		(16U << 10)	/* held bytes must leave the peer a part of the ring */
#define THREAD_STACK	(128U << 10)

static const char * const io_names[TRF_IO_NR] = {
	[TRF_IO_BLOCK] = "block",
	[TRF_IO_POLL] = "poll",
	[TRF_IO_EPOLL] = "epoll",
};

const char *trf_io_name(enum trf_io io)
{
	return io < TRF_IO_NR ? io_names[io] : "invalid";
}

/**
 * struct flow - one direction while it runs
 * @s: the stream it belongs to
 * @buf: bytes to send, or received bytes
 * @peeked: what was peeked at, NULL: nothing is
 * @cap: size of @buf
 * @rnd: state of the size generator
 * @held: bytes of @buf that are generated but not sent
 * @pos: first of them
 * @file: file they are sent from, -1: @buf
 * @pipe: pipe they are received through, -1: recv()
 * @piped: bytes in the pipe
 * @moved: time of the last progress
 * @still_ns: longest time between two progresses
 */
struct flow {
	struct trf_stream *s;
	u8 *buf;
	u8 *peeked;
	size_t cap;
	u64 rnd;
	size_t held;
	size_t pos;
	int file;
	int pipe[2];
	size_t piped;
	u64 moved;
	u64 still_ns;
};

/* Random sizes are spread over the powers of two: small ones find boundary bugs. */
static size_t next_size(struct flow *f, size_t left)
{
	size_t n = f->s->wsize ? f->s->wsize : f->cap;

	if (!f->s->wsize) {
		f->rnd = tl_mix(f->rnd + 1);
		n = 1 + (f->rnd >> 8) % (1UL << (f->rnd % 18));
	}
	if (n > f->cap)
		n = f->cap;
	return n < left ? n : left;
}

static int flow_init(struct flow *f, struct trf_stream *s, u64 rnd, size_t cap)
{
	memset(f, 0, sizeof(*f));
	f->s = s;
	f->rnd = rnd;
	f->cap = cap;
	f->moved = tl_now_ns();
	f->file = -1;
	f->pipe[0] = -1;
	f->pipe[1] = -1;
	f->buf = calloc(1, cap);
	return f->buf ? 0 : -ENOMEM;
}

static void flow_end(struct flow *f)
{
	if (f->file >= 0)
		close(f->file);
	if (f->pipe[0] >= 0) {
		close(f->pipe[0]);
		close(f->pipe[1]);
	}
	free(f->buf);
	free(f->peeked);
}

/* Write the held bytes to the file. */
static int file_write(struct flow *f)
{
	ssize_t n = pwrite(f->file, f->buf, f->held, f->s->tx_done);

	return n < 0 ? -errno : (size_t)n == f->held ? 0 : -EIO;
}

/*
 * Send from the file, and remove whole sent pages from it: the socket must hold its own references.
 */
static ssize_t file_send(struct flow *f)
{
	off_t off = f->s->tx_done;
	ssize_t n = sendfile(f->s->fd, f->file, &off, f->held);

	off &= -(off_t)sysconf(_SC_PAGESIZE);
	if (n > 0 && off &&
	    fallocate(f->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, off))
		return -1;
	return n;
}

static void flow_moved(struct flow *f)
{
	u64 now = tl_now_ns();

	if (now - f->moved > f->still_ns)
		f->still_ns = now - f->moved;
	f->moved = now;
}

static size_t tx_cap(const struct trf_stream *s)
{
	return s->wsize ? s->wsize : TRF_RANDOM_MAX;
}

static size_t rx_cap(const struct trf_stream *s)
{
	if (!s->wsize)
		return TRF_RANDOM_MAX;
	return s->wsize > PIECE ? s->wsize : PIECE;
}

/* One send(). Return 1 for progress, 0 when done, negative errno otherwise. */
static int tx_step(struct flow *f)
{
	struct trf_stream *s = f->s;
	bool made = !f->held;
	ssize_t n;

	if (s->tx_done == s->tx_len)
		return 0;
	if (made) {
		f->pos = 0;
		f->held = next_size(f, s->tx_len - s->tx_done);
		if (!s->nocheck)
			tl_fill(s->tx_seed, s->tx_done, f->buf, f->held);
	}
	if (s->corrupt && s->corrupt >= s->tx_done && s->corrupt - s->tx_done < f->held) {
		f->buf[f->pos + (s->corrupt - s->tx_done)] ^= 1;
		s->corrupt = 0;
	}
	n = made && f->file >= 0 ? file_write(f) : 0;
	if (n)
		return n;
	if (f->file >= 0)
		n = file_send(f);
	else
		n = send(s->fd, f->buf + f->pos, f->held, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	if (!n || (size_t)n > f->held)
		return -EIO;
	f->pos += n;
	f->held -= n;
	s->tx_done += n;
	flow_moved(f);
	return 1;
}

/* Open a pipe that holds two pieces, and make the socket lend if it can. */
static int pipe_open(struct flow *f)
{
	const int on = 1;

	if (pipe2(f->pipe, O_CLOEXEC))
		return -errno;
	if (fcntl(f->pipe[1], F_SETPIPE_SZ, 1 << 20) < 0)
		return -errno;
	/* the in-tree family and TCP do not have this option */
	setsockopt(f->s->fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &on, sizeof(on));
	return 0;
}

/* Check @n received bytes in the buffer. Return 1, or -EBADMSG for wrong content. */
static int rx_check(struct flow *f, size_t n)
{
	struct trf_stream *s = f->s;
	ssize_t bad = s->nocheck ? -1 : tl_check(s->rx_seed, s->rx_done, f->buf, n);

	s->rx_done += bad < 0 ? n : (size_t)bad;
	flow_moved(f);
	return bad < 0 ? 1 : -EBADMSG;
}

/* Read and check the first @len bytes of the pipe. */
static int pipe_read_check(struct flow *f, size_t len)
{
	int ret = 1;
	ssize_t n;

	for (; len && ret > 0; len -= n) {
		n = read(f->pipe[0], f->buf, len < f->cap ? len : f->cap);
		if (n <= 0)
			return n ? -errno : -EIO;
		f->piped -= n;
		ret = rx_check(f, n);
	}
	return ret;
}

/* One splice(). A piece stays in the pipe until the next one has arrived. */
static int rx_pipe_step(struct flow *f)
{
	struct trf_stream *s = f->s;
	size_t left = s->rx_len - s->rx_done - f->piped;
	size_t want = next_size(f, left < LENT ? left : LENT);
	ssize_t n;

	if (!left)
		return f->piped ? pipe_read_check(f, f->piped) : 0;
	n = splice(s->fd, NULL, f->pipe[1], NULL, want, 0);
	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	if (!n)
		return -ECONNABORTED;
	if ((size_t)n > want)
		return -EIO;
	f->piped += n;
	return pipe_read_check(f, f->piped - n);
}

/* One recv(). Return -ECONNABORTED for an early end of the stream, -EBADMSG for wrong content. */
static int rx_step(struct flow *f)
{
	struct trf_stream *s = f->s;
	u64 left = s->rx_len - s->rx_done;
	size_t want = f->cap;
	ssize_t n;

	if (f->pipe[0] >= 0)
		return rx_pipe_step(f);
	if (!left)
		return 0;
	if (!s->wsize)
		want = next_size(f, left);
	if (want > left)
		want = left;
	if (f->peeked) {
		n = recv(s->fd, f->peeked, want, MSG_PEEK);
		if (n < 0)
			return errno == EINTR ? 1 : -errno;
		if (n)
			want = n;
	}
	n = recv(s->fd, f->buf, want, 0);
	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	if (!n)
		return -ECONNABORTED;
	if ((size_t)n > want)
		return -EIO;
	if (f->peeked && memcmp(f->peeked, f->buf, n))
		return -EBADMSG;
	return rx_check(f, n);
}

static void *tx_thread(void *arg)
{
	int ret;

	do {
		ret = tx_step(arg);
	} while (ret > 0);
	return (void *)(intptr_t)ret;
}

static int run_blocking(struct flow *tx, struct flow *rx)
{
	struct trf_stream *s = tx->s;
	pthread_attr_t attr;
	pthread_t thread;
	void *tx_ret;
	int ret;

	ret = tl_set_timeouts(s->fd, s->timeout_ms);
	if (ret)
		return ret;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	ret = -pthread_create(&thread, &attr, tx_thread, tx);
	pthread_attr_destroy(&attr);
	if (ret)
		return ret;
	do {
		ret = rx_step(rx);
	} while (ret > 0);
	/* without a reader the sender would wait for its time-out */
	if (ret)
		shutdown(s->fd, SHUT_RDWR);
	pthread_join(thread, &tx_ret);
	return ret ? ret : (int)(intptr_t)tx_ret;
}

/* Run both directions until both would block. Return -EAGAIN then, 0 when both are done. */
static int run_until_blocked(struct flow *tx, struct flow *rx)
{
	int t, r;

	do {
		t = tx_step(tx);
		if (t < 0 && t != -EAGAIN)
			return t;
		r = rx_step(rx);
		if (r < 0 && r != -EAGAIN)
			return r;
	} while (t > 0 || r > 0);
	return t || r ? -EAGAIN : 0;
}

static int run_poll(struct flow *tx, struct flow *rx)
{
	struct trf_stream *s = tx->s;
	int ret;

	while ((ret = run_until_blocked(tx, rx)) == -EAGAIN) {
		struct pollfd p = { .fd = s->fd };

		if (s->tx_done < s->tx_len)
			p.events |= POLLOUT;
		if (s->rx_done < s->rx_len)
			p.events |= POLLIN;
		ret = poll(&p, 1, s->timeout_ms);
		if (!ret)
			return -ETIMEDOUT;
		if (ret < 0 && errno != EINTR)
			return -errno;
	}
	return ret;
}

static int run_epoll(struct flow *tx, struct flow *rx)
{
	struct trf_stream *s = tx->s;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	int ret;

	if (ep < 0)
		return -errno;
	if (epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev)) {
		ret = -errno;
		goto out;
	}
	while ((ret = run_until_blocked(tx, rx)) == -EAGAIN) {
		ret = epoll_wait(ep, &ev, 1, s->timeout_ms);
		if (!ret) {
			ret = -ETIMEDOUT;
			break;
		}
		if (ret < 0 && errno != EINTR) {
			ret = -errno;
			break;
		}
	}
out:
	close(ep);
	return ret;
}

/**
 * trf_stream_run() - send and receive at the same time
 * @s: parameters; its counters show the progress
 *
 * The socket is blocking afterwards, with @timeout_ms as time-out of its calls.
 *
 * Return: 0 or a negative errno: -EBADMSG wrong content, -ECONNABORTED early end, -ETIMEDOUT
 * or -EAGAIN no progress in time.
 */
int trf_stream_run(struct trf_stream *s)
{
	struct flow tx, rx;
	int ret;

	s->tx_done = 0;
	s->rx_done = 0;
	if (s->bulk)
		return trf_bulk_run(s);
	ret = flow_init(&tx, s, s->tx_seed, tx_cap(s));
	if (ret)
		return ret;
	ret = flow_init(&rx, s, s->rx_seed, rx_cap(s));
	if (ret)
		goto out_tx;
	if (s->pages)
		tx.file = memfd_create("traffic", MFD_CLOEXEC);
	if (s->pages && tx.file < 0) {
		ret = -errno;
		goto out_rx;
	}
	ret = s->pages ? pipe_open(&rx) : 0;
	if (ret)
		goto out_rx;
	if (s->peek) {
		rx.peeked = malloc(rx.cap);
		ret = rx.peeked ? 0 : -ENOMEM;
		if (ret)
			goto out_rx;
	}
	if (s->io == TRF_IO_BLOCK) {
		ret = run_blocking(&tx, &rx);
		goto out_rx;
	}
	ret = tl_set_nonblock(s->fd, true);
	if (ret)
		goto out_rx;
	ret = s->io == TRF_IO_POLL ? run_poll(&tx, &rx) : run_epoll(&tx, &rx);
	tl_set_nonblock(s->fd, false);
	tl_set_timeouts(s->fd, s->timeout_ms);
out_rx:
	s->still_ns = tx.still_ns > rx.still_ns ? tx.still_ns : rx.still_ns;
	flow_end(&rx);
out_tx:
	flow_end(&tx);
	return ret;
}

/* Send bytes @off.. of a stream, blocking. */
int trf_send_piece(int fd, u64 seed, u64 off, u64 len)
{
	u8 *buf = malloc(PIECE);
	int ret = buf ? 0 : -ENOMEM;

	while (!ret && len) {
		size_t n = len < PIECE ? len : PIECE;
		ssize_t sent;

		tl_fill(seed, off, buf, n);
		sent = tl_send_all(fd, buf, n);
		if (sent < 0)
			ret = sent;
		off += n;
		len -= n;
	}
	free(buf);
	return ret;
}

/**
 * trf_part() - write more bytes than the peer's window has room for, then end the direction
 * @fd: connected socket; becomes -1 if it is closed
 * @req: its flags choose between close(), shutdown() and SO_LINGER
 * @seed: number of the stream
 * @len: its length
 *
 * Return: 0 or a negative errno; trf_part_end() must follow.
 */
int trf_part(int *fd, const struct trf_req *req, u64 seed, u64 len)
{
	int err = trf_send_piece(*fd, seed, 0, len);

	if (err || req->flags & TRF_F_LINGER)
		return err;
	if (req->flags & TRF_F_SHUT)
		return shutdown(*fd, SHUT_WR) ? -errno : 0;
	err = close(*fd) ? -errno : 0;
	*fd = -1;
	return err;
}

/**
 * trf_part_end() - wait for the end of the connection after trf_part()
 * @fd: as of trf_part()
 * @req: the same request
 *
 * Return: 0 or a negative errno.
 */
int trf_part_end(int *fd, const struct trf_req *req)
{
	struct linger lin = { .l_onoff = 1, .l_linger = req->timeout_ms / 1000 };
	int err = 0;

	if (*fd < 0)
		return 0;
	if (!(req->flags & TRF_F_LINGER))
		return trf_expect_eof(*fd);
	if (setsockopt(*fd, SOL_SOCKET, SO_LINGER, &lin, sizeof(lin)))
		return -errno;
	if (close(*fd))
		err = -errno;
	*fd = -1;
	return err;
}

/* Receive bytes @off.. of a stream, blocking; @good counts the right ones. */
int trf_recv_piece(int fd, u64 seed, u64 off, u64 len, u64 *good)
{
	u8 *buf = malloc(PIECE);
	int ret = buf ? 0 : -ENOMEM;

	while (!ret && len) {
		size_t want = len < PIECE ? len : PIECE;
		ssize_t n = recv(fd, buf, want, 0);
		ssize_t bad;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			ret = n ? -errno : -ECONNABORTED;
			break;
		}
		bad = tl_check(seed, off, buf, n);
		*good += bad < 0 ? n : bad;
		if (bad >= 0)
			ret = -EBADMSG;
		off += n;
		len -= n;
	}
	free(buf);
	return ret;
}

/* Send one message of a ping-pong. */
int trf_msg_send(int fd, const struct trf_req *req, const u8 *buf)
{
	int flags = MSG_NOSIGNAL | (req->flags & TRF_F_URGENT ? MSG_OOB : 0);
	u64 done = 0;

	while (done < req->to_server) {
		ssize_t n = send(fd, buf + done, req->to_server - done, flags);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? n : 0;
	}
	return 0;
}

/* Receive the urgent byte once POLLPRI reports it. */
static int recv_urgent(int fd, const struct trf_req *req, u8 *byte)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };
	int n = poll(&p, 1, req->timeout_ms);

	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	n = recv(fd, byte, 1, MSG_OOB);
	if (n < 0)
		return -errno;
	return n ? 0 : -ECONNABORTED;
}

/* Receive one message. Return 0 or a negative errno. */
int trf_msg_recv(int fd, const struct trf_req *req, u8 *buf)
{
	bool urgent = req->flags & TRF_F_URGENT;
	u64 len = req->to_server - urgent;
	ssize_t n = len ? tl_recv_all(fd, buf, len) : 0;

	if (n != (ssize_t)len)
		return n < 0 ? n : -ECONNABORTED;
	return urgent ? recv_urgent(fd, req, buf + len) : 0;
}

/* Return 0 if the stream ends here, -EMSGSIZE if it continues, or the error of recv(). */
int trf_expect_eof(int fd)
{
	char c;
	ssize_t n;

	do {
		n = recv(fd, &c, 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? -EMSGSIZE : 0;
}

/**
 * trf_reset_now() - close a connection so that the peer is reset
 * @fd: connected socket, closed in every case
 * @linger: by SO_LINGER with time 0; else by closing with unread data, which must still arrive
 * @timeout_ms: how long to wait for that data
 *
 * Return: 0 or a negative errno.
 */
int trf_reset_now(int fd, bool linger, unsigned int timeout_ms)
{
	struct linger lin = { .l_onoff = 1 };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int ret = 0;

	if (linger) {
		if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &lin, sizeof(lin)))
			ret = -errno;
	} else {
		ret = poll(&p, 1, timeout_ms);
		ret = ret < 0 ? -errno : ret ? 0 : -ETIMEDOUT;
	}
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}
