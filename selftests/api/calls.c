// SPDX-License-Identifier: GPL-2.0-only
/* API cases: less usual calls that move bytes or wait for them. */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api.h"
#include "lib/uring.h"

#define SEED	701
#define VECS	1000
#define ODD	97

static void check_bytes(u64 off, const void *buf, size_t len)
{
	T_EQ(tl_check(SEED, off, buf, len), -1);
}

/* ---- many at once ---- */

static void many_messages(struct api_env *e)
{
	static const size_t len[] = { 1, 0, 700, 9000, 3 };
	static char buf[5][9000];
	struct iovec iov[5];
	struct mmsghdr m[5] = { 0 };
	int fd, rfd, n;
	u64 off = 0;

	api_pair(e, &fd, &rfd);
	for (int i = 0; i < 5; i++) {
		tl_fill(SEED, off, buf[i], len[i]);
		iov[i] = (struct iovec){ buf[i], len[i] };
		m[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
		off += len[i];
	}
	T_EQ(sendmmsg(fd, m, 5, MSG_NOSIGNAL), 5);
	for (int i = 0; i < 5; i++)
		T_EQ(m[i].msg_len, len[i]);
	T_EQ(r_recv(e, rfd, SEED, 0, off), off);
	/* each message in full, and no more messages than there are */
	T_EQ(r_send(e, rfd, SEED, 0, 9701), 9701);
	for (int i = 0; i < 3; i++) {
		static const size_t want[] = { 1, 700, 9000 };

		iov[i] = (struct iovec){ buf[i], want[i] };
	}
	T_EQ(recvmmsg(fd, m, 3, MSG_WAITALL, NULL), 3);
	check_bytes(0, buf[0], 1);
	check_bytes(1, buf[1], 700);
	check_bytes(701, buf[2], 9000);
	T_EQ(r_send(e, rfd, SEED, 0, 1), 1);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	n = recvmmsg(fd, m, 3, MSG_DONTWAIT, NULL);
	T_EQ(n, 1);
	T_EQ(m[0].msg_len, 1);
	T_ERR(recvmmsg(fd, m, 3, MSG_DONTWAIT, NULL), EAGAIN);
}

/* Vectors of odd sizes, some of them empty. */
static size_t make_vectors(struct iovec *iov, char *buf)
{
	size_t sum = 0;

	for (int i = 0; i < VECS; i++) {
		iov[i] = (struct iovec){ buf + sum, i * 31 % ODD };
		sum += iov[i].iov_len;
	}
	return sum;
}

static void many_vectors(struct api_env *e)
{
	static char buf[VECS * ODD];
	static struct iovec iov[VECS];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = VECS };
	size_t len = make_vectors(iov, buf);
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	tl_fill(SEED, 0, buf, len);
	r_later(e, 0);
	r_recv(e, rfd, SEED, 0, len);
	T_EQ(writev(fd, iov, VECS), len);
	T_EQ(r_join(e), len);
	memset(buf, 0, len);
	r_later(e, 0);
	r_send(e, rfd, SEED, 0, len);
	T_EQ(recvmsg(fd, &msg, MSG_WAITALL), len);
	T_EQ(r_join(e), len);
	check_bytes(0, buf, len);
	T_ERR(preadv(fd, iov, 3, 0), ESPIPE);
	T_ERR(pwritev(fd, iov, 3, 0), ESPIPE);
	T_ERR(lseek(fd, 0, SEEK_CUR), ESPIPE);
}

/* ---- pipes and files ---- */

static void splices(struct api_env *e)
{
	static char buf[40000], got[40000];
	struct iovec iov = { buf, sizeof(buf) };
	int fd, rfd, a[2], b[2];
	size_t n;

	api_pair(e, &fd, &rfd);
	T_OK(pipe2(a, O_CLOEXEC));
	T_OK(pipe2(b, O_CLOEXEC));
	T_OK(fcntl(a[1], F_SETPIPE_SZ, 1 << 20));
	T_OK(fcntl(b[1], F_SETPIPE_SZ, 1 << 20));
	/* user pages, through a pipe, into the socket */
	tl_fill(SEED, 0, buf, sizeof(buf));
	T_EQ(vmsplice(a[1], &iov, 1, 0), sizeof(buf));
	for (n = 0; n < sizeof(buf);)
		n += T_OK(splice(a[0], NULL, fd, NULL, sizeof(buf) - n, SPLICE_F_MORE));
	/* SPLICE_F_MORE was set, but no more bytes follow */
	T_EQ(r_recv(e, rfd, SEED, 0, sizeof(buf)), sizeof(buf));
	/* out of the socket; bytes in the pipe do not change when more arrive */
	T_EQ(r_send(e, rfd, SEED, 0, sizeof(buf)), sizeof(buf));
	for (n = 0; n < sizeof(buf);)
		n += T_OK(splice(fd, NULL, a[1], NULL, sizeof(buf) - n, 0));
	T_EQ(r_send(e, rfd, SEED + 1, 0, sizeof(buf)), sizeof(buf));
	api_recv(fd, SEED + 1, 0, sizeof(buf));
	T_EQ(tee(a[0], b[1], sizeof(buf), 0), sizeof(buf));
	for (n = 0; n < sizeof(got);)
		n += T_OK(read(a[0], got + n, sizeof(got) - n));
	check_bytes(0, got, sizeof(got));
	memset(got, 0, sizeof(got));
	for (n = 0; n < sizeof(got);)
		n += T_OK(read(b[0], got + n, sizeof(got) - n));
	check_bytes(0, got, sizeof(got));
	/* no bytes yet (SPLICE_F_NONBLOCK concerns the pipe); then the end of the stream */
	T_OK(tl_set_nonblock(fd, true));
	T_ERR(splice(fd, NULL, a[1], NULL, 1, 0), EAGAIN);
	T_OK(tl_set_nonblock(fd, false));
	T_ERR(tee(fd, b[1], 1, 0), EINVAL);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(splice(fd, NULL, a[1], NULL, 1, 0), 0);
}

static void sendfile_long(struct api_env *e)
{
	static char buf[300001];
	off_t off = 1;
	size_t want = sizeof(buf) - 1;
	int fd, rfd, file;

	api_pair(e, &fd, &rfd);
	file = T_OK(memfd_create("smc_api", MFD_CLOEXEC));
	tl_fill(SEED, 0, buf, sizeof(buf));
	T_EQ(write(file, buf, sizeof(buf)), sizeof(buf));
	r_later(e, 0);
	r_recv(e, rfd, SEED, 1, want);
	T_EQ(sendfile(fd, file, &off, want), want);
	T_EQ(off, sizeof(buf));
	T_EQ(r_join(e), want);
	/* sendfile() cannot read from a socket */
	T_ERR(sendfile(file, fd, NULL, 1), EINVAL);
	/* a second call sends the file's bytes again */
	T_EQ(lseek(file, 0, SEEK_SET), 0);
	T_EQ(sendfile(fd, file, NULL, 1000), 1000);
	T_EQ(r_recv(e, rfd, SEED, 0, 1000), 1000);
}

/* ---- flags ---- */

/* Restarted if no byte was received; otherwise the received bytes are returned. */
static void waitall_restart(struct api_env *e)
{
	char buf[1000];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	api_catch(SIGALRM, true);
	api_alarm(200);
	r_later(e, 400);
	r_send(e, rfd, SEED, 0, 1000);
	T_EQ(recv(fd, buf, 1000, MSG_WAITALL), 1000);
	T_EQ(r_join(e), 1000);
	T_EQ(api_caught(), 1);
	check_bytes(0, buf, 1000);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	api_alarm(200);
	T_EQ(recv(fd, buf, 1000, MSG_WAITALL), 100);
	T_EQ(api_caught(), 2);
	check_bytes(0, buf, 100);
}

static void accept_restart(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));
	int fd;

	api_catch(SIGALRM, true);
	api_alarm(200);
	r_later(e, 500);
	r_connect(e, rfd, &at);
	fd = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
	T_OK(r_join(e));
	T_EQ(api_caught(), 1);
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

static void end_of_record(struct api_env *e)
{
	char buf[300];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	tl_fill(SEED, 0, buf, sizeof(buf));
	T_EQ(send(fd, buf, 100, MSG_EOR), 100);
	T_EQ(send(fd, buf + 100, 100, MSG_EOR | MSG_MORE), 100);
	T_EQ(send(fd, buf + 200, 100, MSG_CONFIRM | MSG_DONTROUTE), 100);
	T_EQ(r_recv(e, rfd, SEED, 0, 300), 300);
	/* a stream has no records */
	T_EQ(r_send_flags(e, rfd, SEED, 0, 300, MSG_EOR), 300);
	T_EQ(recvmsg(fd, &msg, MSG_WAITALL), 300);
	T_EQ(msg.msg_flags & (MSG_EOR | MSG_TRUNC), 0);
	check_bytes(0, buf, 300);
}

/* Bytes are counted, neither copied nor consumed. */
static void trunc_peek(struct api_env *e)
{
	char buf[100];
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	T_EQ(r_send(e, rfd, SEED, 0, 5000), 5000);
	memset(buf, 0x55, sizeof(buf));
	T_EQ(recv(fd, buf, 100, MSG_TRUNC | MSG_PEEK | MSG_WAITALL), 100);
	for (size_t i = 0; i < sizeof(buf); i++)
		T_EQ(buf[i], 0x55);
	T_EQ(recv(fd, NULL, 4000, MSG_TRUNC | MSG_PEEK | MSG_WAITALL), 4000);
	api_recv(fd, SEED, 0, 5000);
}

/* Peek across the end of the ring, whatever its size. */
static void peek_wrap(struct api_env *e)
{
	static char buf[60000];
	int fd, rfd;
	u64 off = 0;

	api_pair(e, &fd, &rfd);
	for (int i = 0; i < 5; i++, off += 50000) {
		T_EQ(r_send(e, rfd, SEED, off, 50000), 50000);
		memset(buf, 0, sizeof(buf));
		T_EQ(recv(fd, buf, 50000, MSG_PEEK | MSG_WAITALL), 50000);
		check_bytes(off, buf, 50000);
		memset(buf, 0, sizeof(buf));
		T_EQ(recv(fd, buf, 50000, MSG_WAITALL), 50000);
		check_bytes(off, buf, 50000);
	}
}

/* ---- connecting ---- */

static void connect_again(struct api_env *e)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	int fd, rfd;

	T_OK(r_close(e, lfd));
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	T_ERR(connect(fd, &at.sa, at.len), ECONNREFUSED);
	T_ERR(connect(fd, &at.sa, at.len), ECONNREFUSED);
	/* the same socket, once a listener exists */
	lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	T_OK(connect(fd, &at.sa, at.len));
	rfd = T_OK(r_accept(e, lfd));
	T_ERR(connect(fd, &at.sa, at.len), EISCONN);
	T_ERR(listen(fd, 1), EINVAL);
	api_check_mode(e, fd);
	api_roundtrip(e, fd, rfd, SEED);
}

/* ---- signals, ioctls ---- */

static bool caught_in_time(int want)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * (TL_NSEC_PER_SEC / 1000);

	while (api_caught() < want && tl_now_ns() < until)
		tl_sleep_ms(2);
	return api_caught() >= want;
}

static void sigio(struct api_env *e)
{
	int fd, rfd, on = 1, caught;

	api_pair(e, &fd, &rfd);
	api_catch(SIGIO, true);
	T_OK(fcntl(fd, F_SETOWN, getpid()));
	T_EQ(fcntl(fd, F_GETOWN), getpid());
	T_OK(ioctl(fd, FIOASYNC, &on));
	T_TRUE(T_OK(fcntl(fd, F_GETFL)) & O_ASYNC);
	T_EQ(api_caught(), 0);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	T_TRUE(caught_in_time(1));
	api_recv(fd, SEED, 0, 10);
	tl_sleep_ms(API_QUIET_MS);
	caught = api_caught();
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_TRUE(caught_in_time(caught + 1));
	on = 0;
	T_OK(ioctl(fd, FIOASYNC, &on));
	tl_sleep_ms(API_QUIET_MS);
	caught = api_caught();
	api_send(fd, SEED, 0, 10);
	T_EQ(r_recv(e, rfd, SEED, 0, 10), 10);
	T_OK(r_close(e, rfd));
	tl_sleep_ms(API_QUIET_MS);
	T_EQ(api_caught(), caught);
}

static void sigio_listener(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	int rfd = T_OK(r_socket(e, e->peer));
	int fd;

	api_catch(SIGIO, true);
	T_OK(fcntl(lfd, F_SETOWN, getpid()));
	T_OK(fcntl(lfd, F_SETFL, O_ASYNC));
	r_later(e, 0);
	r_connect(e, rfd, &at);
	T_TRUE(caught_in_time(1));
	fd = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
	T_OK(r_join(e));
	api_roundtrip(e, fd, rfd, SEED);
}

/* ioctls about the host's devices work on any socket. */
static void device_ioctls(struct api_env *e)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	struct ifconf ifc = { 0 };
	int fd, rfd, index;

	api_pair(e, &fd, &rfd);
	T_OK(ioctl(fd, SIOCGIFINDEX, &ifr));
	index = ifr.ifr_ifindex;
	T_TRUE(index > 0);
	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_ifindex = index;
	T_OK(ioctl(fd, SIOCGIFNAME, &ifr));
	T_TRUE(!strcmp(ifr.ifr_name, "lo"));
	T_OK(ioctl(fd, SIOCGIFFLAGS, &ifr));
	T_TRUE(ifr.ifr_flags & IFF_LOOPBACK);
	T_OK(ioctl(fd, SIOCGIFCONF, &ifc));
	T_TRUE(ifc.ifc_len > 0);
	memcpy(ifr.ifr_name, "none", sizeof("none"));
	T_ERR(ioctl(fd, SIOCGIFINDEX, &ifr), ENODEV);
	T_ERR(ioctl(fd, 0x12345678, &ifr), ENOTTY);
	api_roundtrip(e, fd, rfd, SEED);
}

/* ---- epoll ---- */

static int epoll_of(int fd, u32 events)
{
	struct epoll_event ev = { .events = events };
	int ep = T_OK(epoll_create1(EPOLL_CLOEXEC));

	T_OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	return ep;
}

static u32 event_of(int ep, int msec)
{
	struct epoll_event ev = { 0 };

	return T_OK(epoll_wait(ep, &ev, 1, msec)) ? ev.events : 0;
}

/**
 * struct waiter - a thread that waits in a set of its own
 * @thread: the thread
 * @ep: its set
 * @tid: its number, 0 until it runs
 * @events: what it was woken with
 * @woken: set when its wait has ended
 */
struct waiter {
	pthread_t thread;
	int ep;
	pid_t tid;
	u32 events;
	bool woken;
};

static void *waiter_thread(void *arg)
{
	struct epoll_event ev = { 0 };
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	if (epoll_wait(w->ep, &ev, 1, API_PATIENCE_MS) == 1)
		w->events = ev.events;
	__atomic_store_n(&w->woken, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool waiter_woken(const struct waiter *w)
{
	return __atomic_load_n(&w->woken, __ATOMIC_ACQUIRE);
}

/* A waiter that does not sleep yet would find the event without being woken. */
static bool waiter_sleeps(const struct waiter *w)
{
	pid_t tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);
	char path[64], state = 0;
	FILE *f;

	if (!tid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

/* Wait until @nr of @w have been woken, or sleep for the first time. */
static bool waiters_reach(const struct waiter *w, bool (*what)(const struct waiter *w), int nr)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * TL_NSEC_PER_MSEC / 2;
	int now;

	do {
		tl_sleep_ms(1);
		now = what(&w[0]) + what(&w[1]);
	} while (now < nr && tl_now_ns() < until);
	return now == nr;
}

/* Each connection wakes one of the waiters, as on TCP: the other one sleeps until the next one. */
static void epoll_exclusive(struct api_env *e)
{
	struct tl_addr at;
	int lfd = api_listener(e, &at);
	struct waiter w[2] = { 0 };
	int rfd[2], fd[2];

	for (int i = 0; i < 2; i++) {
		w[i].ep = epoll_of(lfd, EPOLLIN | EPOLLEXCLUSIVE);
		T_EQ(event_of(w[i].ep, 0), 0);
		T_EQ(pthread_create(&w[i].thread, NULL, waiter_thread, &w[i]), 0);
	}
	T_TRUE(waiters_reach(w, waiter_sleeps, 2));
	for (int i = 0; i < 2; i++) {
		rfd[i] = T_OK(r_socket(e, e->peer));
		r_later(e, 0);
		r_connect(e, rfd[i], &at);
		T_TRUE(waiters_reach(w, waiter_woken, i + 1));
		tl_sleep_ms(API_QUIET_MS);
		T_EQ(waiter_woken(&w[0]) + waiter_woken(&w[1]), i + 1);
		fd[i] = T_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
		T_OK(r_join(e));
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(w[i].thread, NULL);
		T_EQ(w[i].events, EPOLLIN);
		T_EQ(event_of(w[i].ep, 0), 0);
		api_roundtrip(e, fd[i], rfd[i], SEED);
	}
}

static void epoll_rdhup(struct api_env *e)
{
	int fd, rfd, ep;

	api_pair(e, &fd, &rfd);
	ep = epoll_of(fd, EPOLLRDHUP | EPOLLET);
	T_EQ(event_of(ep, 0), 0);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	T_EQ(event_of(ep, API_QUIET_MS), 0);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(event_of(ep, API_PATIENCE_MS), EPOLLRDHUP);
	api_recv(fd, SEED, 0, 10);
}

/* A set that contains the socket before the handshake decides between SMC and TCP. */
static void epoll_early(struct api_env *e)
{
	struct tl_addr at = e->remote;
	int lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	int fd, rfd, ep;
	u32 got = 0;
	u64 until;

	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			 e->proto->protocol));
	ep = epoll_of(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	T_EQ(event_of(ep, 0), EPOLLOUT | EPOLLHUP);
	T_ERR(connect(fd, &at.sa, at.len), EINPROGRESS);
	rfd = T_OK(r_accept(e, lfd));
	until = tl_now_ns() + API_PATIENCE_MS * (TL_NSEC_PER_SEC / 1000);
	while (got != EPOLLOUT && tl_now_ns() < until)
		got = event_of(ep, API_PATIENCE_MS);
	T_EQ(got, EPOLLOUT);
	api_check_mode(e, fd);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	T_EQ(event_of(ep, API_PATIENCE_MS) & EPOLLIN, EPOLLIN);
	T_EQ(event_of(ep, API_QUIET_MS), 0);
	api_recv(fd, SEED, 0, 10);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	T_EQ(event_of(ep, API_PATIENCE_MS) & (EPOLLIN | EPOLLRDHUP), EPOLLIN | EPOLLRDHUP);
}

/* ---- io_uring ---- */

static int uring_wait_for(struct uring *r, u64 want)
{
	int res = 0;
	u64 who = 0;

	T_TRUE(uring_wait(r, API_PATIENCE_MS, &who, &res));
	T_EQ(who, want);
	return res;
}

static int uring_connected(struct api_env *e, struct uring *r, int *rfd)
{
	struct io_uring_sqe req = { .user_data = 1 };
	struct tl_addr at = e->remote;
	int lfd, fd;

	if (e->role == API_PASSIVE) {
		lfd = api_listener(e, &at);
		if (e->upgrade)
			api_teach_agent(e, lfd, &at);
		req.opcode = IORING_OP_ACCEPT;
		req.fd = lfd;
		T_TRUE(uring_submit(r, &req));
		*rfd = T_OK(r_socket(e, e->peer));
		r_later(e, 0);
		r_connect(e, *rfd, &at);
		fd = uring_wait_for(r, 1);
		T_TRUE(fd >= 0);
		T_OK(r_join(e));
		return fd;
	}
	lfd = T_OK(r_listen_at(e, e->peer, &at, 16));
	if (e->upgrade)
		api_teach_us(e, lfd, &at);
	fd = T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
	req.opcode = IORING_OP_CONNECT;
	req.fd = fd;
	req.addr = (uintptr_t)&at.sa;
	req.off = at.len;
	T_TRUE(uring_submit(r, &req));
	*rfd = T_OK(r_accept(e, lfd));
	T_EQ(uring_wait_for(r, 1), 0);
	return fd;
}

static void uring_all(struct api_env *e)
{
	static char buf[5000], got[5000];
	struct io_uring_sqe req = { 0 };
	struct uring r;
	int fd, rfd;

	T_TRUE(uring_open(&r));
	fd = uring_connected(e, &r, &rfd);
	api_check_mode(e, fd);
	/* a poll armed before the bytes arrive, and a read that waits for them */
	req.fd = fd;
	req.opcode = IORING_OP_POLL_ADD;
	req.poll32_events = POLLIN;
	req.user_data = 2;
	T_TRUE(uring_submit(&r, &req));
	T_EQ(r_send(e, rfd, SEED, 0, sizeof(got)), sizeof(got));
	T_TRUE(uring_wait_for(&r, 2) & POLLIN);
	memset(&req, 0, sizeof(req));
	req.fd = fd;
	req.opcode = IORING_OP_RECV;
	req.addr = (uintptr_t)got;
	req.len = sizeof(got);
	req.msg_flags = MSG_WAITALL;
	req.user_data = 3;
	T_TRUE(uring_submit(&r, &req));
	T_EQ(uring_wait_for(&r, 3), sizeof(got));
	check_bytes(0, got, sizeof(got));
	memset(got, 0, sizeof(got));
	req.user_data = 4;
	T_TRUE(uring_submit(&r, &req));
	T_EQ(r_send(e, rfd, SEED, 0, sizeof(got)), sizeof(got));
	T_EQ(uring_wait_for(&r, 4), sizeof(got));
	check_bytes(0, got, sizeof(got));
	tl_fill(SEED, 0, buf, sizeof(buf));
	req.opcode = IORING_OP_SEND;
	req.addr = (uintptr_t)buf;
	req.user_data = 5;
	T_TRUE(uring_submit(&r, &req));
	T_EQ(uring_wait_for(&r, 5), sizeof(buf));
	T_EQ(r_recv(e, rfd, SEED, 0, sizeof(buf)), sizeof(buf));
	uring_close(&r);
}

static const struct api_case cases[] = {
	{ "many_messages",	many_messages,		API_F_ROLES },
	{ "many_vectors",	many_vectors,		API_F_ROLES },
	{ "splices",		splices,		API_F_ROLES },
	{ "sendfile_long",	sendfile_long,		API_F_ROLES },
	{ "waitall_restart",	waitall_restart,	0 },
	{ "accept_restart",	accept_restart,		0 },
	{ "end_of_record",	end_of_record,		API_F_ROLES },
	{ "trunc_peek",		trunc_peek,		API_F_ROLES },
	{ "peek_wrap",		peek_wrap,		API_F_ROLES },
	{ "connect_again",	connect_again,		0 },
	{ "sigio",		sigio,			API_F_ROLES },
	{ "sigio_listener",	sigio_listener,		0 },
	{ "device_ioctls",	device_ioctls,		API_F_ROLES },
	{ "epoll_exclusive",	epoll_exclusive,	0 },
	{ "epoll_rdhup",	epoll_rdhup,		API_F_ROLES },
	{ "epoll_early",	epoll_early,		0 },
	{ "uring_all",		uring_all,		API_F_ROLES },
};

const struct api_group api_calls_group = { cases, TL_ARRAY_SIZE(cases) };
