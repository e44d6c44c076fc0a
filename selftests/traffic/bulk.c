// SPDX-License-Identifier: GPL-2.0-only
/*
 * One direction of a stream by the calls that copy less: what they cost, not whether the bytes are
 * right. The sender sends the same pages again and again, and the receiver drops what it gets.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uapi/linux/smc_own.h>

#include "traffic.h"

#ifndef SOL_SMC
#define SOL_SMC		286
#endif

#define READ_SIZE	(64U << 10)
#define PIPE_SIZE	0x100000
#define REAP_EVERY	16U	/* calls with MSG_ZEROCOPY whose notifications are read at once */

/* Read the notifications that are there; they are joined, so few reads suffice. */
static void reap_notifications(int fd)
{
	char control[256];
	struct msghdr msg;

	do {
		msg = (struct msghdr){ .msg_control = control, .msg_controllen = sizeof(control) };
	} while (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
}

static ssize_t send_zerocopy(int fd, const void *buf, size_t len)
{
	ssize_t n = send(fd, buf, len, MSG_NOSIGNAL | MSG_ZEROCOPY);

	if (n >= 0 || errno != ENOBUFS)
		return n;
	/* the notifications take up the socket's memory for options */
	reap_notifications(fd);
	return send(fd, buf, len, MSG_NOSIGNAL | MSG_ZEROCOPY);
}

/* Where the family has no MSG_ZEROCOPY, send as programs do then. */
static int bulk_send_zerocopy(struct trf_stream *s, size_t wsize)
{
	const int one = 1;
	bool on = !setsockopt(s->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
	u8 *buf = mmap(NULL, wsize, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	unsigned int calls = 0;
	int err = 0;
	ssize_t n;

	if (buf == MAP_FAILED)
		return -errno;
	while (s->tx_done < s->tx_len && !err) {
		size_t len = s->tx_len - s->tx_done < wsize ? s->tx_len - s->tx_done : wsize;

		n = on ? send_zerocopy(s->fd, buf, len) : send(s->fd, buf, len, MSG_NOSIGNAL);
		if (n < 0)
			err = -errno;
		else
			s->tx_done += n;
		if (on && ++calls % REAP_EVERY == 0)
			reap_notifications(s->fd);
	}
	munmap(buf, wsize);
	return err;
}

static int bulk_sendfile(struct trf_stream *s, size_t wsize)
{
	int file = memfd_create("bulk", MFD_CLOEXEC);
	int err = 0;
	ssize_t n;

	if (file < 0 || posix_fallocate(file, 0, wsize))
		err = -ENOMEM;
	while (s->tx_done < s->tx_len && !err) {
		size_t len = s->tx_len - s->tx_done < wsize ? s->tx_len - s->tx_done : wsize;
		off_t off = 0;

		n = sendfile(s->fd, file, &off, len);
		if (n <= 0)
			err = n ? -errno : -EIO;
		else
			s->tx_done += n;
	}
	if (file >= 0)
		close(file);
	return err;
}

/* Move @len bytes from the pipe to the file. */
static int pipe_drop(int pipe, int null, size_t len)
{
	ssize_t n;

	for (; len; len -= n) {
		n = splice(pipe, NULL, null, NULL, len, SPLICE_F_MOVE);
		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

static int bulk_splice(struct trf_stream *s)
{
	const int lend = s->bulk & TRF_F_LEND ? 1 : 0;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int fds[2], err = 0;
	ssize_t n;

	if (null < 0 || pipe2(fds, O_CLOEXEC))
		return -errno;
	if (fcntl(fds[1], F_SETPIPE_SZ, PIPE_SIZE) < 0)
		err = -errno;
	/* TCP and the in-tree family do not have this option */
	setsockopt(s->fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &lend, sizeof(lend));
	while (s->rx_done < s->rx_len && !err) {
		u64 left = s->rx_len - s->rx_done;

		n = splice(s->fd, NULL, fds[1], NULL, left < READ_SIZE ? left : READ_SIZE,
			   SPLICE_F_MOVE);
		if (n <= 0)
			err = n ? -errno : -ECONNABORTED;
		else
			err = pipe_drop(fds[0], null, n);
		if (!err)
			s->rx_done += n;
	}
	close(fds[0]);
	close(fds[1]);
	close(null);
	return err;
}

static int bulk_recv(struct trf_stream *s)
{
	u8 *buf = calloc(1, READ_SIZE);
	int err = buf ? 0 : -ENOMEM;
	ssize_t n;

	while (s->rx_done < s->rx_len && !err) {
		u64 left = s->rx_len - s->rx_done;

		n = recv(s->fd, buf, left < READ_SIZE ? left : READ_SIZE, 0);
		if (n <= 0)
			err = n ? -errno : -ECONNABORTED;
		else
			s->rx_done += n;
	}
	free(buf);
	return err;
}

/**
 * trf_bulk_run() - send or receive by the calls that TRF_F_BULK chooses
 * @s: parameters, with bytes for one direction; its counters show the progress
 *
 * Return: 0 or a negative errno.
 */
int trf_bulk_run(struct trf_stream *s)
{
	int err = tl_set_timeouts(s->fd, s->timeout_ms);
	size_t wsize = s->wsize ? s->wsize : READ_SIZE;

	if (err)
		return err;
	if (s->rx_len)
		return s->bulk & TRF_F_SPLICE ? bulk_splice(s) : bulk_recv(s);
	return s->bulk & TRF_F_SENDFILE ? bulk_sendfile(s, wsize) : bulk_send_zerocopy(s, wsize);
}
