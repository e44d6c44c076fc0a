// SPDX-License-Identifier: GPL-2.0-only
/* API cases: TCP_INFO after known traffic, exact to the byte. */
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api.h"

#define SEED		601
#define BAD_PTR		((void *)8)
#define PROPOSAL	164	/* as the module sends it here: a prefix, an EID */
#define DECLINE_V1	28	/* ... in place of a Proposal */
#define DECLINE_V2	44	/* ... in answer to one */
#define PIECES		20
#define PIECE		1000

/* as in the kernel; no header for programs has them */
enum { ESTABLISHED = 1, FIN_WAIT2 = 5, CLOSE_WAIT = 8 };

static struct tcp_info info_read(int fd)
{
	struct tcp_info i = { 0 };
	socklen_t len = sizeof(i);

	T_OK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len));
	T_TRUE(len >= offsetof(struct tcp_info, tcpi_rcv_ooopack));
	return i;
}

/* Wait until all sent bytes are acknowledged. */
static struct tcp_info info_settled(int fd)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * (TL_NSEC_PER_SEC / 1000);
	int queued = -1;

	for (;;) {
		T_OK(ioctl(fd, SIOCOUTQ, &queued));
		if (!queued || tl_now_ns() > until)
			break;
		tl_sleep_ms(2);
	}
	T_EQ(queued, 0);
	return info_read(fd);
}

static struct tcp_info state_wait(int fd, int state)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * (TL_NSEC_PER_SEC / 1000);

	while (info_read(fd).tcpi_state != state && tl_now_ns() < until)
		tl_sleep_ms(2);
	T_EQ(info_read(fd).tcpi_state, state);
	return info_read(fd);
}

/* Acknowledged bytes need not have been read: wait until the window opens. */
static void window_wait_open(int fd)
{
	u64 until = tl_now_ns() + API_PATIENCE_MS * (TL_NSEC_PER_SEC / 1000);

	while (!info_read(fd).tcpi_snd_wnd && tl_now_ns() < until)
		tl_sleep_ms(2);
	T_TRUE(info_read(fd).tcpi_snd_wnd > 0);
}

/*
 * Counters start when both ends have the connection: handshake bytes are not counted. After a
 * Decline they are those of TCP, which carried the CLC messages.
 */
static void info_fresh(struct api_env *e)
{
	bool proposed = e->declined && e->role == API_ACTIVE;
	struct tcp_info i;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	i = info_settled(fd);
	T_EQ(i.tcpi_state, ESTABLISHED);
	T_EQ(i.tcpi_bytes_sent, proposed ? PROPOSAL : 0);
	T_EQ(i.tcpi_bytes_received, proposed ? DECLINE_V2 : e->declined ? DECLINE_V1 : 0);
	/* TCP counts the SYN, which takes a sequence number */
	T_TRUE(i.tcpi_bytes_acked - i.tcpi_bytes_sent <= 1);
	T_EQ(i.tcpi_data_segs_out, proposed);
	T_EQ(i.tcpi_data_segs_in, e->declined);
	T_EQ(i.tcpi_notsent_bytes, 0);
	T_EQ(i.tcpi_bytes_retrans, 0);
	T_TRUE(i.tcpi_snd_mss && i.tcpi_rcv_mss && i.tcpi_pmtu);
	T_TRUE(i.tcpi_snd_cwnd && i.tcpi_rcv_space && i.tcpi_snd_wnd);
}

static void info_bytes(struct api_env *e)
{
	struct tcp_info a, b, c;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	a = info_settled(fd);
	for (int n = 0; n < PIECES; n++) {
		api_send(fd, SEED, n * PIECE, PIECE);
		T_EQ(r_recv(e, rfd, SEED, n * PIECE, PIECE), PIECE);
	}
	b = info_settled(fd);
	T_EQ(b.tcpi_bytes_sent - b.tcpi_bytes_retrans - a.tcpi_bytes_sent, PIECES * PIECE);
	T_EQ(b.tcpi_bytes_acked - a.tcpi_bytes_acked, PIECES * PIECE);
	T_EQ(b.tcpi_bytes_received, a.tcpi_bytes_received);
	T_EQ(b.tcpi_notsent_bytes, 0);
	T_EQ(b.tcpi_unacked, 0);
	T_EQ(b.tcpi_data_segs_in, a.tcpi_data_segs_in);
	/* each piece was sent alone */
	T_TRUE(b.tcpi_data_segs_out - a.tcpi_data_segs_out >= PIECES);
	T_TRUE(b.tcpi_segs_out - a.tcpi_segs_out >= PIECES);
	T_TRUE(b.tcpi_delivered - a.tcpi_delivered >= PIECES);
	T_TRUE(b.tcpi_rtt && b.tcpi_min_rtt && b.tcpi_min_rtt <= b.tcpi_rtt);
	T_TRUE(b.tcpi_delivery_rate);
	c = b;
	for (int n = 0; n < PIECES; n++) {
		T_EQ(r_send(e, rfd, SEED, n * PIECE, PIECE), PIECE);
		api_recv(fd, SEED, n * PIECE, PIECE);
	}
	b = info_settled(fd);
	T_EQ(b.tcpi_bytes_received - c.tcpi_bytes_received, PIECES * PIECE);
	T_EQ(b.tcpi_bytes_sent, c.tcpi_bytes_sent);
	T_EQ(b.tcpi_bytes_acked, c.tcpi_bytes_acked);
	T_TRUE(b.tcpi_data_segs_in - c.tcpi_data_segs_in >= PIECES);
	T_TRUE(b.tcpi_segs_in - c.tcpi_segs_in >= PIECES);
	T_EQ(b.tcpi_data_segs_out, c.tcpi_data_segs_out);
}

/* Neither end takes more: check where the bytes are. */
static void info_full(struct api_env *e)
{
	struct tcp_info i, a;
	int fd, rfd, unsent = -1;
	u64 sent;

	api_pair(e, &fd, &rfd);
	a = info_settled(fd);
	sent = api_fill(fd, SEED, 0);
	i = info_read(fd);
	T_OK(ioctl(fd, SIOCOUTQNSD, &unsent));
	T_TRUE(unsent > 0);
	T_EQ(i.tcpi_notsent_bytes, unsent);
	T_EQ(i.tcpi_bytes_sent - i.tcpi_bytes_retrans - a.tcpi_bytes_sent + i.tcpi_notsent_bytes,
	     sent);
	T_TRUE(i.tcpi_snd_wnd < i.tcpi_notsent_bytes);
	/* several jiffies, in which TCP counts */
	tl_sleep_ms(50);
	T_TRUE(info_read(fd).tcpi_rwnd_limited > i.tcpi_rwnd_limited);
	T_EQ(r_recv(e, rfd, SEED, 0, sent), sent);
	i = info_settled(fd);
	T_EQ(i.tcpi_notsent_bytes, 0);
	T_EQ(i.tcpi_bytes_sent - i.tcpi_bytes_retrans - a.tcpi_bytes_sent, sent);
	window_wait_open(fd);
}

/* Times are compared with each other, so that the duration of the calls does not matter. */
static void info_times(struct api_env *e)
{
	struct tcp_info i;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	tl_sleep_ms(400);
	T_EQ(r_send(e, rfd, SEED, 0, 10), 10);
	api_recv(fd, SEED, 0, 10);
	i = info_settled(fd);
	T_TRUE(i.tcpi_last_data_sent >= i.tcpi_last_data_recv + 350);
	tl_sleep_ms(400);
	api_send(fd, SEED, 0, 10);
	T_EQ(r_recv(e, rfd, SEED, 0, 10), 10);
	i = info_settled(fd);
	T_TRUE(i.tcpi_last_data_recv >= i.tcpi_last_data_sent + 350);
	T_TRUE(i.tcpi_last_data_recv >= i.tcpi_last_ack_recv + 350);
}

/* The state is that of the stream. */
static void info_states(struct api_env *e)
{
	struct tcp_info i, a;
	int fd, rfd;
	char c;

	api_pair(e, &fd, &rfd);
	a = info_settled(fd);
	T_OK(shutdown(fd, SHUT_WR));
	state_wait(fd, FIN_WAIT2);
	T_EQ(r_send(e, rfd, SEED, 0, 77), 77);
	api_recv(fd, SEED, 0, 77);
	i = info_read(fd);
	T_EQ(i.tcpi_bytes_received - a.tcpi_bytes_received, 77);
	close(fd);
	r_close(e, rfd);

	api_pair(e, &fd, &rfd);
	a = info_settled(fd);
	T_OK(r_shutdown(e, rfd, SHUT_WR));
	state_wait(fd, CLOSE_WAIT);
	T_EQ(recv(fd, &c, 1, 0), 0);
	api_send(fd, SEED, 0, 77);
	T_EQ(r_recv(e, rfd, SEED, 0, 77), 77);
	i = info_settled(fd);
	T_EQ(i.tcpi_bytes_sent - a.tcpi_bytes_sent, 77);
}

static void info_lengths(struct api_env *e)
{
	struct tcp_info i;
	socklen_t len = 1;
	int fd, rfd;

	api_pair(e, &fd, &rfd);
	memset(&i, 0x55, sizeof(i));
	T_OK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len));
	T_EQ(len, 1);
	T_EQ(i.tcpi_state, ESTABLISHED);
	T_EQ(i.tcpi_ca_state, 0x55);
	len = 0;
	T_OK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len));
	T_EQ(len, 0);
	len = -1;
	T_ERR(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len), EINVAL);
	len = sizeof(i);
	T_ERR(getsockopt(fd, IPPROTO_TCP, TCP_INFO, BAD_PTR, &len), EFAULT);
	T_ERR(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, BAD_PTR), EFAULT);
}

static struct tl_diag_stats stats_read(struct api_env *e, int fd)
{
	struct tl_diag d;

	T_EQ(tl_diag_get(fd, e->proto, &d), 0);
	T_TRUE(d.has_stats);
	return d.stats;
}

/* sock_diag has what TCP_INFO has, and what TCP does not know. */
static void info_stats(struct api_env *e)
{
	struct tl_diag_stats s, later;
	struct tl_diag d;
	int fd, rfd;
	u64 sent;

	api_pair(e, &fd, &rfd);
	if (!e->proto->smc)
		return;
	T_EQ(tl_diag_get(fd, e->proto, &d), 0);
	T_EQ(d.has_stats, d.mode == TL_MODE_SMCR);
	if (!d.has_stats)
		return;
	T_EQ(d.stats.tx_bytes + d.stats.rx_bytes + d.stats.tx_queue + d.stats.rx_queue, 0);
	for (int n = 0; n < PIECES; n++) {
		api_send(fd, SEED, n * PIECE, PIECE);
		T_EQ(r_recv(e, rfd, SEED, n * PIECE, PIECE), PIECE);
	}
	info_settled(fd);
	s = stats_read(e, fd);
	T_EQ(s.tx_bytes, PIECES * PIECE);
	T_EQ(s.tx_queue, 0);
	T_EQ(s.rx_bytes + s.rx_data_msgs, 0);
	T_EQ(s.tx_again + s.moves, 0);
	T_TRUE(s.tx_data_msgs >= PIECES);
	T_TRUE(s.rtt_min && s.rtt_min <= s.rtt && s.rate);
	T_EQ(r_send(e, rfd, SEED, 0, 100), 100);
	T_EQ(api_poll(fd, POLLIN, API_PATIENCE_MS), POLLIN);
	s = stats_read(e, fd);
	T_EQ(s.rx_bytes, 100);
	T_EQ(s.rx_queue, 100);
	T_EQ(s.rx_data_msgs, 1);
	api_recv(fd, SEED, 0, 40);
	T_EQ(stats_read(e, fd).rx_queue, 60);

	T_EQ(s.closed + s.closed_usecs, 0);
	sent = api_fill(fd, SEED, PIECES * PIECE);
	s = stats_read(e, fd);
	T_EQ(s.tx_bytes, PIECES * PIECE + sent);
	T_TRUE(s.tx_queue && s.tx_queue <= sent);
	T_EQ(s.closed, 1);
	tl_sleep_ms(20);
	later = stats_read(e, fd);
	T_TRUE(later.closed_usecs >= s.closed_usecs + 20000);
	T_EQ(r_recv(e, rfd, SEED, PIECES * PIECE, sent), sent);
	info_settled(fd);
	window_wait_open(fd);
	s = stats_read(e, fd);
	T_EQ(s.tx_queue, 0);
	tl_sleep_ms(20);
	T_EQ(stats_read(e, fd).closed_usecs, s.closed_usecs);
}

static const struct api_case cases[] = {
	{ "info_fresh",		info_fresh,	API_F_ROLES },
	{ "info_bytes",		info_bytes,	API_F_ROLES },
	{ "info_full",		info_full,	API_F_ROLES },
	{ "info_times",		info_times,	API_F_ROLES },
	{ "info_states",	info_states,	0 },
	{ "info_lengths",	info_lengths,	0 },
	{ "info_stats",		info_stats,	API_F_ROLES },
};

const struct api_group api_info_group = { cases, TL_ARRAY_SIZE(cases) };
