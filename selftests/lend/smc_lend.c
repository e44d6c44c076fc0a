// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a connection in a pipe that outlive the connection (SMC_OWN_SPLICE_LEND).
 *
 *   smc_lend serve ADDR   send LEN bytes to a client, and wait for the end of the connection
 *   smc_lend lend ADDR    splice them to standard output, and wait for the end, too
 *   smc_lend check        compare the bytes of standard input
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <uapi/linux/smc_own.h>

#include "lib/testlib.h"

#define PORT		4490
#define LEN		32768U
#define SEED		1801
#define PATIENCE_MS	30000

#ifndef SOL_SMC
#define SOL_SMC		286
#endif

static int error_report(const char *what)
{
	fprintf(stderr, "smc_lend: %s: %s\n", what, tl_errno_name(errno));
	return 1;
}

/* Wait for the end of the connection, with or without an error. */
static void recv_to_end(int fd)
{
	char c;

	while (recv(fd, &c, 1, 0) > 0)
		;
}

static int run_serve(const struct tl_proto *proto, struct tl_addr *at)
{
	static u8 buf[LEN];
	int waiting = tl_listen(proto, at, 1);
	int fd;

	errno = -waiting;
	if (waiting < 0)
		return error_report("listen");
	fd = accept(waiting, NULL, NULL);
	if (fd < 0)
		return error_report("accept");
	tl_fill(SEED, 0, buf, LEN);
	if (tl_send_all(fd, buf, LEN) != LEN)
		return error_report("send");
	recv_to_end(fd);
	return 0;
}

static int run_lend(const struct tl_proto *proto, const struct tl_addr *to)
{
	u64 end = tl_now_ns() + PATIENCE_MS * TL_NSEC_PER_MSEC;
	static u8 buf[LEN];
	const int on = 1;
	struct tl_diag d;
	size_t len = LEN;
	int fd;

	while ((fd = tl_connect(proto, NULL, to)) < 0 && tl_now_ns() < end)
		tl_sleep_ms(50);
	errno = -fd;
	if (fd < 0)
		return error_report("connect");
	errno = EPROTO;
	if (tl_diag_get(fd, proto, &d) || d.mode != TL_MODE_SMCR)
		return error_report("no SMC-R");
	if (setsockopt(fd, SOL_SMC, SMC_OWN_SPLICE_LEND, &on, sizeof(on)))
		return error_report("SMC_OWN_SPLICE_LEND");
	/* in one piece: small amounts would be copied */
	while (recv(fd, buf, LEN, MSG_PEEK) < (ssize_t)LEN) {
		errno = ETIMEDOUT;
		if (tl_now_ns() > end)
			return error_report("peek");
		tl_sleep_ms(10);
	}
	while (len) {
		ssize_t n = splice(fd, NULL, STDOUT_FILENO, NULL, len, 0);

		if (n <= 0)
			return error_report("splice");
		len -= n;
	}
	recv_to_end(fd);
	return 0;
}

static int run_check(void)
{
	u8 buf[4096];
	u64 off = 0;
	ssize_t n;

	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0) {
		errno = EBADMSG;
		if (tl_check(SEED, off, buf, n) >= 0)
			return error_report("check");
		off += n;
	}
	errno = n < 0 ? errno : ENODATA;
	return n < 0 || off != LEN ? error_report("read") : 0;
}

int main(int argc, char **argv)
{
	const struct tl_proto *proto = tl_proto_find("smc");
	struct tl_addr addr;

	if (argc == 2 && !strcmp(argv[1], "check"))
		return run_check();
	if (argc == 3 && !tl_addr_parse(&addr, proto, argv[2], PORT)) {
		if (!strcmp(argv[1], "serve"))
			return run_serve(proto, &addr);
		if (!strcmp(argv[1], "lend"))
			return run_lend(proto, &addr);
	}
	fprintf(stderr, "usage: smc_lend serve ADDR | lend ADDR | check\n");
	return 2;
}
