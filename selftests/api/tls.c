// SPDX-License-Identifier: GPL-2.0-only
/*
 * API cases: kernel TLS with keys, on a connection that became TCP because TLS was requested. Both
 * ends are on this host.
 */
#include <fcntl.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "api.h"

#define SEED	1153
#define FIRST	((size_t)1000)
#define PIECE	((size_t)40000)
#define PIECES	20
#define HEADER	5	/* of a record */
#define TAIL	17	/* its type, and the tag */
#define DATA	23	/* types of records */
#define ALERT	21

#ifndef SOL_TLS
#define SOL_TLS	282
#endif

/* One key for each end's direction: a key is never used for both. */
static struct tls12_crypto_info_aes_gcm_128 key_make(int end, u8 records)
{
	struct tls12_crypto_info_aes_gcm_128 key = {
		.info = { TLS_1_3_VERSION, TLS_CIPHER_AES_GCM_128 },
	};

	memset(key.key, 0x40 + end, sizeof(key.key));
	memset(key.iv, 0x50 + end, sizeof(key.iv));
	memset(key.salt, 0x60 + end, sizeof(key.salt));
	/* big endian */
	key.rec_seq[sizeof(key.rec_seq) - 1] = records;
	return key;
}

static void set_key(int fd, int way, int end, u8 records)
{
	struct tls12_crypto_info_aes_gcm_128 key = key_make(end, records);

	T_OK(setsockopt(fd, SOL_TLS, way, &key, sizeof(key)));
}

/* TCP needs a connection for it; the request makes the socket TCP. */
static void ulp_check_early(int fd)
{
	T_ERR(setsockopt(fd, SOL_TCP, TCP_ULP, "tls", sizeof("tls")), ENOTCONN);
}

static void pair_local(struct api_env *e, int fd[2])
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);

	ulp_check_early(lfd);
	fd[0] = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	ulp_check_early(fd[0]);
	T_OK(connect(fd[0], &at.sa, at.len));
	fd[1] = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
	T_OK(close(lfd));
	for (int i = 0; i < 2; i++) {
		api_check_declined(e, fd[i]);
		T_OK(setsockopt(fd[i], SOL_TCP, TCP_ULP, "tls", sizeof("tls")));
	}
}

/* The wire carries a record, not the bytes that were sent. */
static void check_record(int from, int to)
{
	u8 buf[HEADER + FIRST + TAIL];

	api_send(from, SEED, 0, FIRST);
	T_EQ(recv(to, buf, sizeof(buf), MSG_WAITALL), (ssize_t)sizeof(buf));
	T_EQ(buf[0], DATA);
	T_EQ(buf[1], 3);
	T_EQ(buf[2], 3);
	T_EQ(buf[3] << 8 | buf[4], FIRST + TAIL);
	T_TRUE(tl_check(SEED, 0, buf + HEADER, FIRST) != -1);
}

/* Send @len bytes as a record of *@type, or receive a record and its type. */
static ssize_t record_xfer(int fd, void *buf, size_t len, u8 *type, bool out)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(1)];
	} u = { .h = {
		.cmsg_level = SOL_TLS, .cmsg_type = TLS_SET_RECORD_TYPE, .cmsg_len = CMSG_LEN(1),
	} };
	struct iovec iov = { buf, len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = sizeof(u),
	};
	ssize_t rc;

	if (out) {
		*CMSG_DATA(&u.h) = *type;
		return sendmsg(fd, &msg, MSG_NOSIGNAL);
	}
	rc = recvmsg(fd, &msg, 0);
	T_TRUE(CMSG_FIRSTHDR(&msg));
	T_EQ(u.h.cmsg_level, SOL_TLS);
	T_EQ(u.h.cmsg_type, TLS_GET_RECORD_TYPE);
	*type = *CMSG_DATA(&u.h);
	return rc;
}

static void check_types(int from, int to)
{
	char alert[] = { 1, 0 }, buf[64];
	u8 type = ALERT;

	T_EQ(record_xfer(from, alert, sizeof(alert), &type, true), sizeof(alert));
	/* the alert is not taken for bytes of the stream */
	T_TRUE(api_poll(to, POLLIN, API_PATIENCE_MS) & POLLIN);
	T_ERR(recv(to, buf, sizeof(buf), 0), EIO);
	T_EQ(record_xfer(to, buf, sizeof(buf), &type, false), sizeof(alert));
	T_EQ(type, ALERT);
	T_EQ(memcmp(buf, alert, sizeof(alert)), 0);
	api_send(from, SEED, 0, 50);
	T_EQ(record_xfer(to, buf, sizeof(buf), &type, false), 50);
	T_EQ(type, DATA);
	T_EQ(tl_check(SEED, 0, buf, 50), -1);
}

/* sendfile() into the records, and splice() out of them. */
static void check_pages(int from, int to)
{
	static u8 buf[PIECE];
	size_t done = 0;
	int file, p[2];
	off_t at = 0;

	file = T_OK(memfd_create("smc_api", MFD_CLOEXEC));
	tl_fill(SEED + 1, 0, buf, PIECE);
	T_EQ(write(file, buf, PIECE), (ssize_t)PIECE);
	T_OK(pipe2(p, O_CLOEXEC));
	T_EQ(sendfile(from, file, &at, PIECE), (ssize_t)PIECE);
	memset(buf, 0, PIECE);
	while (done < PIECE) {
		ssize_t n = T_OK(splice(to, NULL, p[1], NULL, 4096, 0));

		T_TRUE(n > 0);
		T_EQ(read(p[0], buf + done, n), n);
		done += n;
	}
	T_EQ(tl_check(SEED + 1, 0, buf, PIECE), -1);
	T_OK(close(file));
	T_OK(close(p[0]));
	T_OK(close(p[1]));
}

static void ulp_tls_keys(struct api_env *e)
{
	char byte;
	int fd[2];

	pair_local(e, fd);
	set_key(fd[0], TLS_TX, 0, 0);
	check_record(fd[0], fd[1]);
	/* the first record was read above */
	set_key(fd[1], TLS_RX, 0, 1);
	set_key(fd[1], TLS_TX, 1, 0);
	set_key(fd[0], TLS_RX, 1, 0);
	for (int i = 0; i < PIECES; i++) {
		api_send(fd[i % 2], SEED, i * PIECE, PIECE);
		api_recv(fd[!(i % 2)], SEED, i * PIECE, PIECE);
	}
	for (int i = 0; i < 2; i++) {
		check_types(fd[i], fd[!i]);
		check_pages(fd[i], fd[!i]);
	}
	T_OK(shutdown(fd[0], SHUT_WR));
	T_EQ(recv(fd[1], &byte, 1, 0), 0);
}

static const struct api_case cases[] = {
	{ "ulp_tls_keys",	ulp_tls_keys,	0 },
};

const struct api_group api_tls_group = { cases, TL_ARRAY_SIZE(cases) };
