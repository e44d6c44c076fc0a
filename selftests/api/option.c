// SPDX-License-Identifier: GPL-2.0-only
/*
 * API cases: queue lengths, options that act on the stream, the identity of a socket, SO_REUSEPORT,
 * sendfile(), mmap(), time stamps.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/smc.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <uapi/linux/smc_own.h>

#include "api.h"

#define SEED	107
#define BAD_PTR	((void *)8)

#ifndef SOL_SMC
#define SOL_SMC	286
#endif

static int queue_len(int fd, unsigned long cmd)
{
	int n = -1;

	T_OK(ioctl(fd, cmd, &n));
	return n;
}

/* Wait until @cmd returns @want. */
static void queue_wait(int fd, unsigned long cmd, int want)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * (TL_NSEC_PER_SEC / 1000);

	while (queue_len(fd, cmd) != want && tl_now_ns() < until)
		tl_sleep_ms(2);
	T_EQ(queue_len(fd, cmd), want);
}

static void queue_lengths(struct api_env *e)
{
	int fd, rfd, queued;
	u64 sent;

	api_pair(e, &fd, &rfd);
	T_EQ(queue_len(fd, SIOCINQ), 0);
	T_EQ(queue_len(fd, SIOCOUTQ), 0);
	T_EQ(queue_len(fd, SIOCOUTQNSD), 0);
	T_EQ(r_send(e, rfd, SEED, 0, 300), 300);
	queue_wait(fd, SIOCINQ, 300);
	T_EQ(queue_len(fd, SIOCATMARK), 0);
	api_recv(fd, SEED, 0, 100);
	T_EQ(queue_len(fd, SIOCINQ), 200);
	T_ERR(ioctl(fd, SIOCINQ, BAD_PTR), EFAULT);
	api_recv(fd, SEED, 100, 200);
	T_EQ(queue_len(fd, SIOCINQ), 0);
	/* bytes that the peer does not read stay in our queue */
	sent = api_fill(fd, SEED, 0);
	queued = queue_len(fd, SIOCOUTQ);
	T_TRUE(queued > 0);
	T_TRUE(queue_len(fd, SIOCOUTQNSD) <= queued);
	T_EQ(r_recv(e, rfd, SEED, 0, sent), sent);
	queue_wait(fd, SIOCOUTQ, 0);
	T_EQ(queue_len(fd, SIOCOUTQNSD), 0);
}

static void tcp_option_set(int fd, int name, int on)
{
	int is = -1;
	socklen_t len = sizeof(is);

	T_OK(setsockopt(fd, SOL_TCP, name, &on, sizeof(on)));
	T_OK(getsockopt(fd, SOL_TCP, name, &is, &len));
	T_EQ(!!is, on);
}

/* Corked bytes are sent when TCP_CORK is cleared, or with TCP_NODELAY. */
static void cork_nodelay(struct api_env *e)
{
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	tcp_option_set(fd, TCP_CORK, 1);
	api_send(fd, SEED, 0, 100);
	tcp_option_set(fd, TCP_CORK, 0);
	T_EQ(r_recv(e, rfd, SEED, 0, 100), 100);
	tcp_option_set(fd, TCP_NODELAY, 1);
	api_send(fd, SEED, 100, 100);
	T_EQ(r_recv(e, rfd, SEED, 100, 100), 100);
	tcp_option_set(fd, TCP_NODELAY, 0);
	api_roundtrip(e, fd, rfd, SEED);
}

/* sendfile() of more than the file has: bytes sent with MSG_MORE go out at the file's end. */
static void sendfile_short(struct api_env *e)
{
	char buf[5000];
	off_t off = 0;
	int fd, rfd, file;

	api_pair(e, &fd, &rfd);
	file = T_OK(memfd_create("smc_api", MFD_CLOEXEC));
	tl_fill(SEED, 0, buf, sizeof(buf));
	T_EQ(write(file, buf, sizeof(buf)), sizeof(buf));
	T_EQ(sendfile(fd, file, &off, 1 << 20), sizeof(buf));
	T_EQ(r_recv(e, rfd, SEED, 0, sizeof(buf)), sizeof(buf));
	T_EQ(sendfile(fd, file, &off, 1 << 20), 0);
	api_roundtrip(e, fd, rfd, SEED);
}

/* TCP can map received pages; an RMB, which the peer writes to, cannot be mapped. */
static void mapped(struct api_env *e)
{
	int fd, rfd;
	void *p;

	api_pair(e, &fd, &rfd);
	p = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (e->require == TL_MODE_SMCR) {
		T_TRUE(p == MAP_FAILED);
		T_EQ(errno, ENODEV);
	} else if (e->require == TL_MODE_TCP) {
		T_TRUE(p != MAP_FAILED);
	}
	api_roundtrip(e, fd, rfd, SEED);
}

static void time_stamp(struct api_env *e)
{
	struct timeval tv;
	int fd;

	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	T_ERR(ioctl(fd, SIOCGSTAMP, &tv), ENOENT);
}

/* Options of SMC's own level; TCP has none. */
static void smc_level(struct api_env *e)
{
	int fd, val = 1;
	socklen_t len = sizeof(val);

	if (!e->proto->smc)
		return;
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	T_OK(setsockopt(fd, SOL_SMC, SMC_LIMIT_HS, &val, sizeof(val)));
	val = -1;
	T_OK(getsockopt(fd, SOL_SMC, SMC_LIMIT_HS, &val, &len));
	T_EQ(val, 1);
	T_EQ(len, sizeof(val));
	val = 0;
	T_OK(setsockopt(fd, SOL_SMC, SMC_LIMIT_HS, &val, sizeof(val)));
	val = -1;
	T_OK(getsockopt(fd, SOL_SMC, SMC_LIMIT_HS, &val, &len));
	T_EQ(val, 0);
	T_ERR(setsockopt(fd, SOL_SMC, SMC_LIMIT_HS, &val, 1), EINVAL);
	T_ERR(setsockopt(fd, SOL_SMC, SMC_LIMIT_HS, BAD_PTR, sizeof(val)), EFAULT);
	T_ERR(getsockopt(fd, SOL_SMC, SMC_LIMIT_HS, BAD_PTR, &len), EFAULT);
	T_ERR(setsockopt(fd, SOL_SMC, 9999, &val, sizeof(val)), EOPNOTSUPP);
	T_ERR(getsockopt(fd, SOL_SMC, 9999, &val, &len), EOPNOTSUPP);
	len = -1;
	T_ERR(getsockopt(fd, SOL_SMC, SMC_LIMIT_HS, &val, &len), EINVAL);
}

#define LINK_POLICIES	5

static void link_policy_set_last(int fd)
{
	int val = LINK_POLICIES - 1;

	T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_LINK_POLICY, &val, sizeof(val)));
}

/* A number from -1 to @last that accepted sockets inherit; @set_last sets @last. */
static void small_option(struct api_env *e, int name, int last, void (*set_last)(int fd))
{
	socklen_t len = sizeof(int);
	int fd, rfd, val, got;

	if (!e->proto->smc)
		return;
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	T_OK(getsockopt(fd, SOL_SMC, name, &got, &len));
	T_EQ(got, -1);
	for (val = last; val >= -1; val--) {
		T_OK(setsockopt(fd, SOL_SMC, name, &val, sizeof(val)));
		T_OK(getsockopt(fd, SOL_SMC, name, &got, &len));
		T_EQ(got, val);
	}
	val = last + 1;
	T_ERR(setsockopt(fd, SOL_SMC, name, &val, sizeof(val)), EINVAL);
	val = -2;
	T_ERR(setsockopt(fd, SOL_SMC, name, &val, sizeof(val)), EINVAL);
	/* what only looks valid as a byte */
	val = 256;
	T_ERR(setsockopt(fd, SOL_SMC, name, &val, sizeof(val)), EINVAL);
	val = 0;
	T_ERR(setsockopt(fd, SOL_SMC, name, &val, 1), EINVAL);
	T_ERR(setsockopt(fd, SOL_SMC, name, BAD_PTR, sizeof(val)), EFAULT);
	T_OK(getsockopt(fd, SOL_SMC, name, &got, &len));
	T_EQ(got, -1);
	/* set on the socket before connect(), or on the listener; then on the connection */
	api_pair_of(e, set_last, &fd, &rfd);
	T_OK(getsockopt(fd, SOL_SMC, name, &got, &len));
	T_EQ(got, last);
	T_OK(setsockopt(fd, SOL_SMC, name, &val, sizeof(val)));
	T_OK(getsockopt(fd, SOL_SMC, name, &got, &len));
	T_EQ(got, 0);
}

/* Which link a connection uses; see case_policies of links.sh for the effect. */
static void link_policy(struct api_env *e)
{
	small_option(e, SMC_OWN_LINK_POLICY, LINK_POLICIES - 1, link_policy_set_last);
}

static void balance_set_last(int fd)
{
	int val = 1;

	T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_BALANCE, &val, sizeof(val)));
}

/* Whether it moves to a link that is added; see case_backup_socket of links.sh for the effect. */
static void balance(struct api_env *e)
{
	small_option(e, SMC_OWN_BALANCE, 1, balance_set_last);
}

#define UPGRADE_BYTES	12345

static void upgrade_bytes_set(int fd)
{
	int val = UPGRADE_BYTES;

	T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &val, sizeof(val)));
}

/* When a connection that began as TCP changes over; the effect: KUnit suite smc_upgrade_policy. */
static void upgrade_bytes(struct api_env *e)
{
	static const int good[] = { 0, 1, INT_MAX, -1 }, bad[] = { -2, INT_MIN };
	socklen_t len = sizeof(int);
	int fd, rfd, got, val = 0;

	if (!e->proto->smc)
		return;
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &got, &len));
	T_EQ(got, -1);
	for (unsigned int i = 0; i < TL_ARRAY_SIZE(good); i++) {
		T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &good[i], sizeof(int)));
		T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &got, &len));
		T_EQ(got, good[i]);
	}
	for (unsigned int i = 0; i < TL_ARRAY_SIZE(bad); i++)
		T_ERR(setsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &bad[i], sizeof(int)), EINVAL);
	T_ERR(setsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &val, 1), EINVAL);
	T_ERR(setsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, BAD_PTR, sizeof(val)), EFAULT);
	T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &got, &len));
	T_EQ(got, -1);
	/* set on the socket before connect(), or on the listener; then on the connection */
	api_pair_of(e, upgrade_bytes_set, &fd, &rfd);
	T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &got, &len));
	T_EQ(got, UPGRADE_BYTES);
	T_OK(setsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &val, sizeof(val)));
	T_OK(getsockopt(fd, SOL_SMC, SMC_OWN_UPGRADE_BYTES, &got, &len));
	T_EQ(got, 0);
}

static int int_option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int val = -1;

	T_OK(getsockopt(fd, level, name, &val, &len));
	return val;
}

static void check_identity(const struct api_env *e, int fd)
{
	T_EQ(int_option(fd, SOL_SOCKET, SO_DOMAIN), e->proto->domain);
	T_EQ(int_option(fd, SOL_SOCKET, SO_PROTOCOL),
	     e->proto->smc ? e->proto->protocol : IPPROTO_TCP);
	T_EQ(int_option(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
}

/* Domain, protocol and type of a socket: new, listening, connected or accepted. */
static void identity(struct api_env *e)
{
	struct tl_addr at;
	int fd, rfd;

	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	check_identity(e, fd);
	close(fd);
	fd = api_listener(e, &at);
	check_identity(e, fd);
	close(fd);
	api_pair(e, &fd, &rfd);
	check_identity(e, fd);
}

/* Older kernels had a ULP of this name, which turned a TCP socket into an SMC socket. */
static void ulp_smc(struct api_env *e)
{
	int fd, rfd;

	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	T_ERR(setsockopt(fd, SOL_TCP, TCP_ULP, "smc", sizeof("smc")), ENOENT);
	close(fd);
	api_pair(e, &fd, &rfd);
	T_ERR(setsockopt(fd, SOL_TCP, TCP_ULP, "smc", sizeof("smc")),
	      e->require == TL_MODE_SMCR ? EOPNOTSUPP : ENOENT);
	api_roundtrip(e, fd, rfd, SEED);
}

/* As OpenSSL requests kernel TLS. Over RDMA it continues without. */
static void ulp_tls(struct api_env *e)
{
	struct api_env norm = *e;
	int fd, rfd, tcp, rtcp, err = 0;

	norm.proto = tl_proto_find(e->proto->af == AF_INET6 ? "inet6" : "inet");
	norm.peer = norm.proto;
	norm.require = TL_MODE_UNKNOWN;
	norm.upgrade = false;
	api_pair(e, &fd, &rfd);
	api_pair(&norm, &tcp, &rtcp);
	if (setsockopt(tcp, SOL_TCP, TCP_ULP, "tls", sizeof("tls"))) {
		err = errno;
		printf("# TLS in this kernel: %s\n", tl_errno_name(err));
	}
	if (api_over_rdma(e, fd))
		err = EOPNOTSUPP;
	if (err)
		T_ERR(setsockopt(fd, SOL_TCP, TCP_ULP, "tls", sizeof("tls")), err);
	else
		T_OK(setsockopt(fd, SOL_TCP, TCP_ULP, "tls", sizeof("tls")));
	/* no key is set */
	api_roundtrip(e, fd, rfd, SEED);
}

#define REUSERS		2
#define REUSE_TRIES	64	/* all to one listener of two is no coincidence then */

static int reusing_listener(struct api_env *e, struct tl_addr *at)
{
	int fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	int on = 1;

	T_OK(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)));
	T_EQ(int_option(fd, SOL_SOCKET, SO_REUSEPORT), 1);
	T_OK(bind(fd, &at->sa, at->len));
	T_OK(listen(fd, 4));
	T_OK(getsockname(fd, &at->sa, &at->len));
	return fd;
}

/* Several listeners of one port share its connections. */
static void reuseport(struct api_env *e)
{
	struct tl_addr at = e->local;
	struct pollfd p[REUSERS];
	int got[REUSERS] = { 0 };
	struct utsname u;
	int fd = -1, rfd, on = 1;

	T_OK(uname(&u));
	if (e->proto->domain == AF_SMC && !strncmp(u.release, "6.1.", 4)) {
		fd = T_OK(socket(e->proto->domain, SOCK_STREAM, e->proto->protocol));
		T_ERR(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), EOPNOTSUPP);
		return;
	}
	for (int i = 0; i < REUSERS; i++) {
		p[i].fd = reusing_listener(e, &at);
		p[i].events = POLLIN;
	}
	for (int n = 0; n < REUSE_TRIES && !(got[0] && got[1]); n++) {
		rfd = T_OK(r_socket(e, e->peer));
		r_later(e, 0);
		r_connect(e, rfd, &at);
		T_EQ(poll(p, REUSERS, API_PATIENCE_MS), 1);
		for (int i = 0; i < REUSERS; i++) {
			if (!p[i].revents)
				continue;
			fd = T_OK(accept4(p[i].fd, NULL, NULL, SOCK_CLOEXEC));
			got[i]++;
		}
		T_OK(r_join(e));
		api_check_mode(e, fd);
		api_roundtrip(e, fd, rfd, SEED + n);
		close(fd);
		T_OK(r_close(e, rfd));
	}
	T_TRUE(got[0] && got[1]);
}

#define MUCH	1048576	/* more than both buffers hold */

static int buffer_size;

static void set_buffers(int fd)
{
	T_OK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_size, sizeof(buffer_size)));
	T_OK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof(buffer_size)));
}

/* Return the ring size for a buffer size: the next power of two. */
static int ring_size(int size)
{
	int ring = 16384;

	while (ring < size)
		ring *= 2;
	return ring;
}

/* Later options, of any level, do not change what the sizes mean. */
static void check_kept(int fd, int snd, int rcv)
{
	int one = 1;

	T_OK(setsockopt(fd, SOL_TCP, TCP_NODELAY, &one, sizeof(one)));
	T_OK(setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &one, sizeof(one)));
	T_EQ(int_option(fd, SOL_SOCKET, SO_SNDBUF), snd);
	T_EQ(int_option(fd, SOL_SOCKET, SO_RCVBUF), rcv);
}

/* Return the bytes in our buffer when the peer can send no more. */
static int inq_settle(int fd)
{
	int now = queue_len(fd, SIOCINQ), quiet = 0;

	while (quiet < 8) {
		int was = now;

		tl_sleep_ms(50);
		now = queue_len(fd, SIOCINQ);
		quiet = now > was ? 0 : quiet + 1;
	}
	return now;
}

/* Check the kernel's SO_MEMINFO of a socket. */
static void check_account(int fd, int snd, int rcv)
{
	u32 mem[SK_MEMINFO_VARS];
	socklen_t len = sizeof(mem);

	T_OK(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len));
	T_TRUE(len > SK_MEMINFO_SNDBUF * sizeof(u32));
	T_EQ(mem[SK_MEMINFO_SNDBUF], snd);
	T_EQ(mem[SK_MEMINFO_RCVBUF], rcv);
}

/* Buffer sizes set before the connection are the sizes of its buffers. */
static void buffer_sizes(struct api_env *e)
{
	static const int sizes[] = { 20000, 60000 };
	u64 sent[TL_ARRAY_SIZE(sizes)];
	int came[TL_ARRAY_SIZE(sizes)];
	int fd, rfd, snd, rcv;

	for (size_t i = 0; i < TL_ARRAY_SIZE(sizes); i++) {
		buffer_size = sizes[i];
		api_pair_of(e, set_buffers, &fd, &rfd);
		api_check_mode(e, fd);
		snd = int_option(fd, SOL_SOCKET, SO_SNDBUF);
		rcv = int_option(fd, SOL_SOCKET, SO_RCVBUF);
		check_account(fd, snd, rcv);
		check_kept(fd, snd, rcv);
		sent[i] = api_fill(fd, SEED, 0);
		/* the buffers of one that began as TCP may be bigger, and it shows what was set */
		check_account(fd, snd, rcv);
		if (api_over_rdma(e, fd) && !e->upgrade) {
			T_EQ(snd, 2 * ring_size(sizes[i]));
			T_EQ(rcv, 2 * ring_size(sizes[i]));
			T_EQ(queue_len(fd, SIOCOUTQNSD), snd / 2);
		}
		T_EQ(r_recv(e, rfd, SEED, 0, sent[i]), sent[i]);
		r_later(e, 0);
		r_send(e, rfd, SEED, 0, MUCH);
		came[i] = inq_settle(fd);
		if (api_over_rdma(e, fd) && !e->upgrade)
			T_EQ(came[i], rcv / 2);
		else if (api_over_rdma(e, fd))
			T_TRUE(came[i] >= sizes[i]);
		api_recv(fd, SEED, 0, MUCH);
		T_EQ(r_join(e), MUCH);
		close(fd);
		T_OK(r_close(e, rfd));
	}
	if (e->upgrade)
		return;
	T_TRUE(sent[1] > sent[0]);
	T_TRUE(came[1] > came[0]);
}

#define LOW	20000	/* more than all messages of a handshake */

static void set_low(int fd)
{
	int low = LOW;

	T_OK(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)));
}

/* A connection whose SO_RCVLOWAT is set on this side before it is established. */
static void pair_low(struct api_env *e, int *fd, int *rfd)
{
	struct tl_addr at = e->remote;
	int lfd;

	if (e->role == API_PASSIVE) {
		lfd = api_listener(e, &at);
		set_low(lfd);
		*rfd = T_OK(r_socket(e, e->peer));
		r_later(e, 0);
		r_connect(e, *rfd, &at);
		*fd = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
		T_OK(r_join(e));
		return;
	}
	lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	*fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  e->proto->protocol));
	set_low(*fd);
	T_ERR(connect(*fd, &at.sa, at.len), EINPROGRESS);
	/* during connect(), too */
	set_low(*fd);
	*rfd = T_OK(r_accept(e, lfd));
	T_EQ(api_poll(*fd, POLLOUT, API_PATIENCE_MS), POLLOUT);
}

/* SO_RCVLOWAT concerns the application's bytes, not the CLC messages. */
static void rcvlowat_early(struct api_env *e)
{
	u64 start = tl_now_ns();
	int fd, rfd, low = -1;
	socklen_t len = sizeof(low);

	pair_low(e, &fd, &rfd);
	T_TRUE(tl_now_ns() - start < 4 * TL_NSEC_PER_SEC);
	api_check_mode(e, fd);
	T_OK(getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, &len));
	T_EQ(low, LOW);
	T_EQ(r_send(e, rfd, SEED, 0, LOW - 1), LOW - 1);
	queue_wait(fd, SIOCINQ, LOW - 1);
	T_EQ(api_poll(fd, POLLIN, API_QUIET_MS), 0);
	T_EQ(r_send(e, rfd, SEED, LOW - 1, 1), 1);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	api_recv(fd, SEED, 0, LOW);
}

/* splice() returns what there is, also if that is less than SO_RCVLOWAT. */
static void splice_rcvlowat(struct api_env *e)
{
	int fd, rfd, p[2];
	u8 buf[100];
	u64 start;

	api_pair(e, &fd, &rfd);
	T_OK(pipe2(p, O_CLOEXEC));
	set_low(fd);
	/* a call that waits for more would return after this time */
	api_timeout(fd, SO_RCVTIMEO, API_PATIENCE_MS);
	T_EQ(r_send(e, rfd, SEED, 0, sizeof(buf)), (long long)sizeof(buf));
	queue_wait(fd, SIOCINQ, sizeof(buf));
	start = tl_now_ns();
	T_EQ(splice(fd, NULL, p[1], NULL, LOW, 0), (long long)sizeof(buf));
	T_TRUE(tl_now_ns() - start < API_PATIENCE_MS / 2 * (TL_NSEC_PER_SEC / 1000));
	T_EQ(read(p[0], buf, sizeof(buf)), (long long)sizeof(buf));
	T_EQ(tl_check(SEED, 0, buf, sizeof(buf)), -1);
}

/* The sizes belong to the socket: each of its connections has them, whatever it shows meanwhile. */
static void buffer_sizes_again(struct api_env *e)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 4));
	int fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	int snd, rcv, rfd;

	buffer_size = 20000;
	set_buffers(fd);
	for (int i = 0; i < 3; i++) {
		T_EQ(int_option(fd, SOL_SOCKET, SO_SNDBUF), 2 * buffer_size);
		T_EQ(int_option(fd, SOL_SOCKET, SO_RCVBUF), 2 * buffer_size);
		T_OK(connect(fd, &at.sa, at.len));
		rfd = T_OK(r_accept(e, lfd));
		api_check_mode(e, fd);
		snd = int_option(fd, SOL_SOCKET, SO_SNDBUF);
		rcv = int_option(fd, SOL_SOCKET, SO_RCVBUF);
		if (api_over_rdma(e, fd)) {
			T_EQ(snd, 2 * ring_size(buffer_size));
			T_EQ(rcv, 2 * ring_size(buffer_size));
		}
		/* the next connection gets a size that is set during this one */
		if (i)
			buffer_size = 60000;
		if (i)
			set_buffers(fd);
		else
			check_kept(fd, snd, rcv);
		T_OK(connect(fd, &none, sizeof(none)));
		T_OK(r_close(e, rfd));
	}
}

static const struct api_case cases[] = {
	{ "queue_lengths",	queue_lengths,	API_F_ROLES },
	{ "cork_nodelay",	cork_nodelay,	API_F_ROLES },
	{ "sendfile_short",	sendfile_short,	API_F_ROLES },
	{ "mapped",		mapped,		0 },
	{ "time_stamp",		time_stamp,	0 },
	{ "smc_level",		smc_level,	0 },
	{ "link_policy",	link_policy,	API_F_ROLES },
	{ "balance",		balance,	API_F_ROLES },
	{ "upgrade_bytes",	upgrade_bytes,	API_F_ROLES },
	{ "identity",		identity,	API_F_ROLES },
	{ "ulp_smc",		ulp_smc,	API_F_ROLES },
	{ "ulp_tls",		ulp_tls,	API_F_ROLES },
	{ "reuseport",		reuseport,	0 },
	{ "buffer_sizes",	buffer_sizes,	API_F_ROLES },
	{ "buffer_sizes_again",	buffer_sizes_again,	0 },
	{ "rcvlowat_early",	rcvlowat_early,	API_F_ROLES },
	{ "splice_rcvlowat",	splice_rcvlowat,	0 },
};

const struct api_group api_option_group = { cases, TL_ARRAY_SIZE(cases) };
