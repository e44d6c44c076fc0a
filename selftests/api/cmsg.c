// SPDX-License-Identifier: GPL-2.0-only
/* API cases: control messages with received bytes: time stamps, TCP_INQ. */
#include <asm/socket.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
/* needs struct timespec */
#include <linux/errqueue.h>

#include "api.h"

#define SEED	809
#define ROOM	512
#define SOFTWARE	(SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE)
/* TCP has the kernel stamp packets only some time after setsockopt() */
#define SOON_MS	50

/**
 * struct kind - one variant of the time stamp options
 * @opt: option, and type of the control message
 * @val: its value
 * @len: length of the control message's data
 * @unit: nanoseconds per unit of its second number
 */
struct kind {
	int opt;
	int val;
	size_t len;
	u64 unit;
};

static const struct kind kinds[] = {
	{ SO_TIMESTAMP_OLD,	1, 2 * sizeof(long),	1000 },
	{ SO_TIMESTAMPNS_OLD,	1, 2 * sizeof(long),	1 },
	{ SO_TIMESTAMP_NEW,	1, 2 * sizeof(u64),	1000 },
	{ SO_TIMESTAMPNS_NEW,	1, 2 * sizeof(u64),	1 },
	{ SO_TIMESTAMPING_OLD,	SOFTWARE, 6 * sizeof(long), 1 },
	{ SO_TIMESTAMPING_NEW,	SOFTWARE, 6 * sizeof(u64), 1 },
};

static const struct kind *chosen;

static void stamps_enable(int fd)
{
	T_OK(setsockopt(fd, SOL_SOCKET, chosen->opt, &chosen->val, sizeof(chosen->val)));
	api_reenter(fd);
	tl_sleep_ms(SOON_MS);
}

static u64 time_of_day(void)
{
	struct timespec ts;

	T_OK(clock_gettime(CLOCK_REALTIME, &ts));
	return (u64)ts.tv_sec * TL_NSEC_PER_SEC + ts.tv_nsec;
}

/**
 * struct came - result of one recvmsg()
 * @rc: return value
 * @flags: msg_flags
 * @n: number of control messages
 * @level: level of the last one
 * @type: type of the last one
 * @len: length of its data
 * @num: its data, as numbers
 */
struct came {
	ssize_t rc;
	int flags;
	unsigned int n;
	int level;
	int type;
	size_t len;
	union {
		u64 num[6];
		int inq;
	};
};

static struct came msg_receive(int fd, u64 off, size_t len, int flags, size_t room)
{
	static char buf[4096], control[ROOM];
	struct iovec iov = { buf, len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = room,
	};
	struct came c = { 0 };

	memset(control, 0, sizeof(control));
	c.rc = T_OK(recvmsg(fd, &msg, flags));
	T_EQ(tl_check(SEED, off, buf, c.rc), -1);
	c.flags = msg.msg_flags;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h; h = CMSG_NXTHDR(&msg, h)) {
		c.n++;
		c.level = h->cmsg_level;
		c.type = h->cmsg_type;
		c.len = h->cmsg_len - CMSG_LEN(0);
		memcpy(c.num, CMSG_DATA(h), c.len < sizeof(c.num) ? c.len : sizeof(c.num));
	}
	return c;
}

/* Return the stamp of @c in ns. Longs have 64 bits wherever these tests run. */
static u64 stamp_ns(const struct came *c, const struct kind *k)
{
	T_EQ(c->n, 1);
	T_EQ(c->level, SOL_SOCKET);
	T_EQ(c->type, k->opt);
	T_EQ(c->len, k->len);
	if (k->opt == SO_TIMESTAMPING_OLD || k->opt == SO_TIMESTAMPING_NEW)
		for (int i = 2; i < 6; i++)
			T_EQ(c->num[i], 0);
	return c->num[0] * TL_NSEC_PER_SEC + c->num[1] * k->unit;
}

static void await_bytes(int fd, int want)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * (TL_NSEC_PER_SEC / 1000);
	int n = -1;

	while (!ioctl(fd, SIOCINQ, &n) && n != want && tl_now_ns() < until)
		tl_sleep_ms(1);
	T_EQ(n, want);
}

/* In each layout, bytes have the time of their arrival, not of the later read. */
static void stamp_kinds(struct api_env *e)
{
	u64 before, after, is;
	struct came c, p;
	int fd, rfd, off;

	for (size_t i = 0; i < TL_ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];

		chosen = k;
		api_pair(e, &fd, &rfd);
		stamps_enable(fd);
		before = time_of_day();
		T_EQ(r_send(e, rfd, SEED, 0, 300), 300);
		await_bytes(fd, 300);
		after = time_of_day();
		tl_sleep_ms(SOON_MS);
		p = msg_receive(fd, 0, 300, MSG_PEEK, ROOM);
		c = msg_receive(fd, 0, 300, 0, ROOM);
		T_EQ(c.rc, 300);
		T_EQ(c.flags & MSG_CTRUNC, 0);
		is = stamp_ns(&c, k);
		T_TRUE(is >= before / k->unit * k->unit);
		T_TRUE(is <= after);
		T_EQ(stamp_ns(&p, k), is);
		/* no room for the control message: the bytes are still received */
		T_EQ(r_send(e, rfd, SEED, 300, 100), 100);
		c = msg_receive(fd, 300, 100, MSG_WAITALL, CMSG_LEN(0) + 4);
		T_EQ(c.rc, 100);
		T_TRUE(c.flags & MSG_CTRUNC);
		off = 0;
		T_OK(setsockopt(fd, SOL_SOCKET, k->opt, &off, sizeof(off)));
		T_EQ(r_send(e, rfd, SEED, 400, 100), 100);
		c = msg_receive(fd, 400, 100, MSG_WAITALL, ROOM);
		T_EQ(c.rc, 100);
		T_EQ(c.n, 0);
		api_roundtrip(e, fd, rfd, SEED);
		close(fd);
		T_OK(r_close(e, rfd));
	}
}

/*
 * Set before the connection exists: the first bytes have a stamp, the end of the stream has none.
 */
static void stamp_early(struct api_env *e)
{
	struct came c;
	int fd, rfd;

	chosen = &kinds[1];
	api_pair_of(e, stamps_enable, &fd, &rfd);
	api_check_mode(e, fd);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	c = msg_receive(fd, 0, 10, MSG_WAITALL, ROOM);
	T_TRUE(stamp_ns(&c, chosen) <= time_of_day());
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	c = msg_receive(fd, 0, 10, 0, ROOM);
	T_EQ(c.rc, 0);
	T_EQ(c.n, 0);
}

/* Bytes that arrive before accept() have the time of their arrival, not of accept(). */
static void stamp_unaccepted(struct api_env *e)
{
	struct tl_addr at;
	struct came c;
	int lfd, fd, rfd;
	u64 sent;

	chosen = &kinds[1];
	lfd = api_listener(e, &at);
	stamps_enable(lfd);
	rfd = T_OK(r_socket(e, e->peer));
	T_OK(r_connect(e, rfd, &at));
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	tl_sleep_ms(SOON_MS);
	sent = time_of_day();
	tl_sleep_ms(SOON_MS);
	fd = T_OK(accept(lfd, NULL, NULL));
	api_check_mode(e, fd);
	c = msg_receive(fd, 0, 10, MSG_WAITALL, ROOM);
	T_TRUE(stamp_ns(&c, chosen) <= sent);
}

/* Many messages, read in pieces with other boundaries: stamps never go back in time. */
static void stamp_many(struct api_env *e)
{
	u64 begin, last, is;
	struct came c;
	int fd, rfd;

	chosen = &kinds[1];
	api_pair(e, &fd, &rfd);
	stamps_enable(fd);
	begin = time_of_day();
	last = begin;
	for (int i = 0; i < 40; i++)
		T_EQ(r_send(e, rfd, SEED, 20 * i, 20), 20);
	await_bytes(fd, 800);
	for (int off = 0; off < 800; off += 50) {
		c = msg_receive(fd, off, 50, MSG_WAITALL, ROOM);
		T_EQ(c.rc, 50);
		is = stamp_ns(&c, chosen);
		T_TRUE(is >= last);
		T_TRUE(is <= time_of_day());
		last = is;
	}
	begin = time_of_day();
	T_EQ(r_send(e, rfd, SEED, 800, 20), 20);
	c = msg_receive(fd, 800, 20, MSG_WAITALL, ROOM);
	T_TRUE(stamp_ns(&c, chosen) >= begin);
}

static int inq_value(const struct came *c)
{
	T_EQ(c->n, 1);
	T_EQ(c->level, SOL_TCP);
	T_EQ(c->type, TCP_CM_INQ);
	T_EQ(c->len, sizeof(int));
	return c->inq;
}

/* TCP_INQ: each receive returns the bytes left, and 1 if only the end of the stream is left. */
static void inq_left(struct api_env *e)
{
	int fd, rfd, on = 1;
	struct came c;

	api_pair(e, &fd, &rfd);
	T_OK(setsockopt(fd, SOL_TCP, TCP_INQ, &on, sizeof(on)));
	T_EQ(r_send(e, rfd, SEED, 0, 300), 300);
	await_bytes(fd, 300);
	c = msg_receive(fd, 0, 100, MSG_PEEK, ROOM);
	T_EQ(inq_value(&c), 300);
	c = msg_receive(fd, 0, 100, 0, ROOM);
	T_EQ(inq_value(&c), 200);
	c = msg_receive(fd, 100, 200, 0, ROOM);
	T_EQ(inq_value(&c), 0);
	T_EQ(r_send(e, rfd, SEED, 300, 10), 10);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_TRUE(api_poll(fd, POLLRDHUP, API_PATIENCE_MS) & POLLRDHUP);
	c = msg_receive(fd, 300, 10, 0, ROOM);
	T_EQ(inq_value(&c), 1);
	c = msg_receive(fd, 310, 10, 0, ROOM);
	T_EQ(c.rc, 0);
	T_EQ(inq_value(&c), 1);
	on = 0;
	T_OK(setsockopt(fd, SOL_TCP, TCP_INQ, &on, sizeof(on)));
	c = msg_receive(fd, 310, 10, 0, ROOM);
	T_EQ(c.n, 0);
}

/* Send with a control message that requests these stamps, SOF_TIMESTAMPING_TX_*. */
static ssize_t send_stamped(int fd, const void *buf, size_t len, u32 flags)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(u32))];
	} u = { .h = {
		.cmsg_level = SOL_SOCKET, .cmsg_type = SO_TIMESTAMPING_OLD,
		.cmsg_len = CMSG_LEN(sizeof(u32)),
	} };
	struct iovec iov = { (void *)buf, len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = sizeof(u),
	};

	memcpy(CMSG_DATA(&u.h), &flags, sizeof(flags));
	return sendmsg(fd, &msg, MSG_NOSIGNAL);
}

/* Read the stamp of a sent packet and check its time. Return the packet's number. */
static u32 tx_stamp_read(int fd, u64 before)
{
	char control[ROOM], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct sock_extended_err ee = { 0 };
	u64 at[2] = { 0 };

	T_TRUE(api_poll(fd, 0, API_PATIENCE_MS) & POLLERR);
	T_OK(recvmsg(fd, &msg, MSG_ERRQUEUE));
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h; h = CMSG_NXTHDR(&msg, h)) {
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SO_TIMESTAMPING_OLD)
			memcpy(at, CMSG_DATA(h), sizeof(at));
		else
			memcpy(&ee, CMSG_DATA(h), sizeof(ee));
	}
	T_EQ(ee.ee_origin, SO_EE_ORIGIN_TIMESTAMPING);
	T_TRUE(at[0] * TL_NSEC_PER_SEC + at[1] >= before);
	T_TRUE(at[0] * TL_NSEC_PER_SEC + at[1] <= time_of_day());
	return ee.ee_data;
}

static void tx_stamps_enable(int fd)
{
	const int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE;

	T_OK(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING_OLD, &flags, sizeof(flags)));
	api_reenter(fd);
}

/* Set before the connection, which becomes TCP: stamps for all bytes, with numbers, too. */
static void stamp_sent(struct api_env *e)
{
	const int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
			  SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
	u64 before, off = 0;
	int fd, rfd;

	api_pair_of(e, tx_stamps_enable, &fd, &rfd);
	api_check_declined(e, fd);
	for (int i = 0; i < 2; i++, off += 300) {
		before = time_of_day();
		api_send(fd, SEED, off, 300);
		tx_stamp_read(fd, before);
		T_EQ(r_recv(e, rfd, SEED, off, 300), 300);
	}
	T_OK(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING_OLD, &flags, sizeof(flags)));
	before = time_of_day();
	api_send(fd, SEED, off, 100);
	/* of the last byte, counted since the option was set */
	T_EQ(tx_stamp_read(fd, before), 99);
	T_EQ(r_recv(e, rfd, SEED, off, 100), 100);
	api_send(fd, SEED, off + 100, 50);
	T_EQ(tx_stamp_read(fd, before), 149);
	T_EQ(r_recv(e, rfd, SEED, off + 100, 50), 50);
	T_EQ(api_poll(fd, 0, API_QUIET_MS), 0);
}

/*
 * Set on a connection over RDMA: refused, or, before 6.7, without effect. A message that requests
 * the same is refused, too, and one that requests none is sent as usual.
 */
static void stamp_sent_late(struct api_env *e)
{
	const int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE;
	char buf[100];
	int fd, rfd, rc;
	u64 before;

	api_pair(e, &fd, &rfd);
	before = time_of_day();
	rc = setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING_OLD, &flags, sizeof(flags));
	if (api_over_rdma(e, fd) && !api_kernel_before(6, 7))
		T_ERR(rc, EOPNOTSUPP);
	else
		T_OK(rc);
	api_send(fd, SEED, 0, 100);
	if (!api_over_rdma(e, fd))
		tx_stamp_read(fd, before);
	tl_fill(SEED, 100, buf, sizeof(buf));
	before = time_of_day();
	if (api_over_rdma(e, fd)) {
		T_ERR(send_stamped(fd, buf, sizeof(buf), SOF_TIMESTAMPING_TX_SOFTWARE), EOPNOTSUPP);
		api_send(fd, SEED, 100, sizeof(buf));
	} else {
		T_EQ(send_stamped(fd, buf, sizeof(buf), SOF_TIMESTAMPING_TX_SOFTWARE), sizeof(buf));
		tx_stamp_read(fd, before);
	}
	tl_fill(SEED, 200, buf, sizeof(buf));
	T_EQ(send_stamped(fd, buf, sizeof(buf), 0), sizeof(buf));
	T_EQ(r_recv(e, rfd, SEED, 0, 300), 300);
	T_EQ(api_poll(fd, 0, API_QUIET_MS), 0);
	T_OK(shutdown(fd, SHUT_WR));
	T_EQ(r_recv(e, rfd, SEED, 300, 1), 0);
}

/* Requested per message: bytes by RDMA have no packet, so the send fails instead of ignoring it. */
static void stamp_departure(struct api_env *e)
{
	const int report = SOF_TIMESTAMPING_SOFTWARE;
	char buf[300];
	int fd, rfd;
	u64 before;

	api_pair(e, &fd, &rfd);
	tl_fill(SEED, 0, buf, sizeof(buf));
	T_OK(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING_OLD, &report, sizeof(report)));
	before = time_of_day();
	if (api_over_rdma(e, fd)) {
		T_ERR(send_stamped(fd, buf, sizeof(buf), SOF_TIMESTAMPING_TX_SOFTWARE), EOPNOTSUPP);
		T_EQ(api_poll(fd, 0, API_QUIET_MS), 0);
		api_send(fd, SEED, 0, sizeof(buf));
	} else {
		T_EQ(send_stamped(fd, buf, sizeof(buf), SOF_TIMESTAMPING_TX_SOFTWARE), sizeof(buf));
		tx_stamp_read(fd, before);
	}
	T_EQ(r_recv(e, rfd, SEED, 0, sizeof(buf)), sizeof(buf));
	api_roundtrip(e, fd, rfd, SEED);
}

static const struct api_case cases[] = {
	{ "stamp_kinds",	stamp_kinds,		API_F_ROLES },
	{ "stamp_early",	stamp_early,		API_F_ROLES },
	{ "stamp_unaccepted",	stamp_unaccepted,	0 },
	{ "stamp_many",		stamp_many,		API_F_ROLES },
	{ "stamp_departure",	stamp_departure,	API_F_ROLES },
	{ "stamp_sent",		stamp_sent,		API_F_ROLES },
	{ "stamp_sent_late",	stamp_sent_late,	API_F_ROLES },
	{ "inq_left",		inq_left,		API_F_ROLES },
};

const struct api_group api_cmsg_group = { cases, TL_ARRAY_SIZE(cases) };
