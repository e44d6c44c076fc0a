// SPDX-License-Identifier: GPL-2.0-only
/*
 * API cases: packet filters. Set before the connection, they make it TCP and act there: a packet
 * that the filter drops does not arrive, and arrives after the filter is removed.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

#define SEED	967
#define SMALL	((size_t)100)
#define LARGE	((size_t)2000)
#define KEYS	16	/* more than MARGIN bytes of them */
#define MARGIN	1000
#define LIMIT	600	/* length of the longest segment that passes, with its header */

static const struct sock_filter code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
	BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LIMIT, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, 0),
	BPF_STMT(BPF_RET | BPF_K, ~0U),
};

/* The same as eBPF: compare skb->len, the first field of the context, with the limit. */
static const struct bpf_insn insns[] = {
	{ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_1 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
	{ .code = BPF_JMP | BPF_JLE | BPF_K, .dst_reg = BPF_REG_2, .off = 1, .imm = LIMIT },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int try_classic(int fd)
{
	const struct sock_fprog prog = { TL_ARRAY_SIZE(code), (struct sock_filter *)code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

static int try_bpf(int fd)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)insns, .insn_cnt = TL_ARRAY_SIZE(insns),
		.license = (uintptr_t)"GPL",
	};
	int prog = T_OK(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
	int rc, err;

	rc = setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &prog, sizeof(prog));
	err = errno;
	close(prog);
	errno = err;
	return rc;
}

static void attach_classic(int fd)
{
	T_OK(try_classic(fd));
	api_reenter(fd);
}

static void attach_bpf(int fd)
{
	T_OK(try_bpf(fd));
	api_reenter(fd);
}

static void attach_locked(int fd)
{
	const int on = 1;

	T_OK(try_classic(fd));
	T_OK(setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on)));
	api_reenter(fd);
}

static int filter_detach(int fd)
{
	const int none = 0;

	return setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
}

/* Return the number of attached instructions, which must be those of @code. */
static socklen_t filter_read(int fd)
{
	struct sock_filter is[TL_ARRAY_SIZE(code)] = { 0 };
	socklen_t len = TL_ARRAY_SIZE(is);

	T_OK(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, is, &len));
	if (len)
		T_EQ(memcmp(is, code, sizeof(is)), 0);
	return len;
}

/* A filter acts on this connection, of which *@off bytes were received. */
static void check_drops(struct api_env *e, int fd, int rfd, u64 *off)
{
	T_EQ(r_send(e, rfd, SEED, *off, SMALL), SMALL);
	api_recv(fd, SEED, *off, SMALL);
	*off += SMALL;
	T_EQ(r_send(e, rfd, SEED, *off, LARGE), LARGE);
	T_EQ(api_poll(fd, POLLIN, API_QUIET_MS), 0);
}

static void check_is_gone(struct api_env *e, int fd, int rfd, u64 *off)
{
	T_EQ(filter_read(fd), 0);
	/* the dropped segment is retransmitted after a while */
	api_recv(fd, SEED, *off, LARGE);
	*off += LARGE;
	api_roundtrip(e, fd, rfd, SEED);
	T_ERR(filter_detach(fd), ENOENT);
}

/* Classic and eBPF, on the socket that connects or on the listener. */
static void filter_drops(struct api_env *e)
{
	u64 off = 0;
	int fd, rfd;

	api_pair_of(e, attach_classic, &fd, &rfd);
	api_check_declined(e, fd);
	T_EQ(filter_read(fd), TL_ARRAY_SIZE(code));
	check_drops(e, fd, rfd, &off);
	T_OK(filter_detach(fd));
	check_is_gone(e, fd, rfd, &off);
	close(fd);
	T_OK(r_close(e, rfd));

	off = 0;
	api_pair_of(e, attach_bpf, &fd, &rfd);
	api_check_declined(e, fd);
	check_drops(e, fd, rfd, &off);
	/* replaced by another filter */
	T_OK(try_classic(fd));
	T_EQ(filter_read(fd), TL_ARRAY_SIZE(code));
	T_EQ(api_poll(fd, POLLIN, API_QUIET_MS), 0);
	T_OK(filter_detach(fd));
	check_is_gone(e, fd, rfd, &off);
}

/* A filter that cannot be removed. */
static void filter_locked(struct api_env *e)
{
	socklen_t len = sizeof(int);
	const int off = 0;
	int fd, rfd, on;
	u64 read = 0;

	api_pair_of(e, attach_locked, &fd, &rfd);
	api_check_declined(e, fd);
	T_OK(getsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, &len));
	T_EQ(on, 1);
	T_ERR(filter_detach(fd), EPERM);
	T_ERR(try_bpf(fd), EPERM);
	T_ERR(setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &off, sizeof(off)), EPERM);
	check_drops(e, fd, rfd, &read);
	T_EQ(filter_read(fd), TL_ARRAY_SIZE(code));
}

/* Set on a connection over RDMA: refused, or, before 6.7, without effect. */
static void filter_late(struct api_env *e)
{
	bool stream, silent;
	u64 off = 0;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	stream = api_over_rdma(e, fd);
	silent = stream && api_kernel_before(6, 7);
	if (stream && !silent) {
		T_ERR(try_classic(fd), EOPNOTSUPP);
		T_ERR(try_bpf(fd), EOPNOTSUPP);
		T_EQ(filter_read(fd), 0);
	} else {
		T_OK(try_classic(fd));
		/* any call on this connection */
		T_ERR(recv(fd, &off, 1, MSG_DONTWAIT), EAGAIN);
		T_EQ(filter_read(fd), TL_ARRAY_SIZE(code));
	}
	if (!stream) {
		check_drops(e, fd, rfd, &off);
		T_OK(filter_detach(fd));
		check_is_gone(e, fd, rfd, &off);
		return;
	}
	api_roundtrip(e, fd, rfd, SEED);
	api_check_mode(e, fd);
	/* without effect until the TCP connection beneath has ended, too */
	T_OK(shutdown(fd, SHUT_WR));
	T_EQ(r_recv(e, rfd, SEED, 0, 1), 0);
	T_OK(r_close(e, rfd));
	T_EQ(recv(fd, &off, 1, 0), 0);
}

/* Keys for hosts that never connect: they use memory of the same limit as filters. */
static void optmem_use(const struct api_env *e, int fd)
{
	struct tcp_md5sig key = { .tcpm_keylen = 4, .tcpm_key = "none" };

	memcpy(&key.tcpm_addr, &e->remote.sa, e->remote.len);
	for (int i = 0; i < KEYS; i++) {
		struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&key.tcpm_addr;
		struct sockaddr_in *v4 = (struct sockaddr_in *)&key.tcpm_addr;

		if (e->remote.sa.sa_family == AF_INET6)
			v6->sin6_addr.s6_addr[14] = 100 + i;
		else
			v4->sin_addr.s_addr = htonl(0xc0000200 + i);
		T_OK(setsockopt(fd, SOL_TCP, TCP_MD5SIG, &key, sizeof(key)));
	}
}

static unsigned long optmem_limit(void)
{
	unsigned long max = 0;
	FILE *f = fopen("/proc/sys/net/core/optmem_max", "re");

	T_TRUE(f);
	T_EQ(fscanf(f, "%lu", &max), 1);
	fclose(f);
	T_TRUE(max > MARGIN);
	return max;
}

/*
 * A filter that uses all option memory of a socket (net.core.optmem_max), and other options: TCP
 * does not take it. Before 6.7 the kernel does not count the other options yet; then connect() and
 * listen() fail because of the filter.
 */
static void filter_room(struct api_env *e)
{
	static struct sock_filter big[BPF_MAXINSNS];
	unsigned long room = optmem_limit() - MARGIN;
	/* otherwise the limit is larger than any filter */
	bool scarce = room / sizeof(big[0]) < TL_ARRAY_SIZE(big);
	const unsigned short n = scarce ? room / sizeof(big[0]) : TL_ARRAY_SIZE(big);
	const struct sock_fprog prog = { n, big };
	struct tl_addr at = e->remote;
	int fd, rfd, lfd, rc, on = 1;

	for (int i = 0; i < n; i++)
		big[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, i);
	big[n - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, ~0U);
	lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	if (scarce)
		optmem_use(e, fd);
	rc = setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
	if (!scarce || (e->proto->smc && api_kernel_before(6, 7)))
		T_OK(rc);
	else
		T_ERR(rc, ENOMEM);
	if (scarce && !rc) {
		T_ERR(connect(fd, &at.sa, at.len), ENOMEM);
		T_ERR(listen(fd, 16), ENOMEM);
		T_ERR(setsockopt(fd, SOL_TCP, TCP_NODELAY, &on, sizeof(on)), ENOMEM);
		T_OK(filter_detach(fd));
	}
	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	api_check_declined(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

static const struct api_case cases[] = {
	{ "filter_drops",	filter_drops,		API_F_ROLES },
	{ "filter_locked",	filter_locked,		API_F_ROLES },
	{ "filter_late",	filter_late,		API_F_ROLES },
	{ "filter_room",	filter_room,		0 },
};

const struct api_group api_filter_group = { cases, TL_ARRAY_SIZE(cases) };
