// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters and times of a connection; TCP_INFO, sock_diag and the event of its end have them. A TCP
 * segment corresponds to a CDC message, since the receiver does not see WRITEs; a TCP
 * acknowledgment to one of the peer's RNIC.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include <smc/base/events.h>
#include <smc/conn/conn.h>
#include <smc/conn/tcp_info.h>
#include <smc/conn/upgrade.h>
#include <smc/lgr/link.h>

/* Weights of a new sample as in RFC 6298. */
#define RTT_SHIFT	3
#define RTTVAR_SHIFT	2

/**
 * smc_tcpinfo_init() - Start the times of a new connection
 * @conn: connection that no other context knows
 */
void smc_tcpinfo_init(struct smc_conn *conn)
{
	conn->tcpinfo.sent_at = jiffies;
	conn->tcpinfo.received_at = jiffies;
	conn->tcpinfo.peer_seen_at = jiffies;
}

static void tcpinfo_add_rtt(struct smc_tcpinfo *m, u64 sample)
{
	s64 off;

	/* Clamp to 1: 0 means no sample. */
	sample = max_t(u64, sample, 1);
	if (!m->rtt || sample < m->rtt_min)
		m->rtt_min = sample;
	if (!m->rtt) {
		m->rtt = sample;
		m->rttvar = sample / 2;
		return;
	}
	off = (s64)(sample - m->rtt);
	m->rtt += off / (1 << RTT_SHIFT);
	m->rttvar += ((s64)abs(off) - (s64)m->rttvar) / (1 << RTTVAR_SHIFT);
}

/* Measure the delivery rate over at least one round trip; pauses are left out. */
static void tcpinfo_update_rate(struct smc_conn *conn, u64 now, u64 started, u64 before)
{
	struct smc_tcpinfo *m = &conn->tcpinfo;
	u64 completed = conn->tx.ring.completed;

	if (!m->since) {
		m->since = started;
		m->from = before;
	}
	if (completed > m->from && now > m->since && now - m->since >= m->rtt) {
		m->rate = div64_u64((completed - m->from) * NSEC_PER_SEC, now - m->since);
		m->since = now;
		m->from = completed;
	}
}

/**
 * smc_tcpinfo_count_acked() - Count a request that the peer's RNIC has acknowledged
 * @conn: connection; conn->tx.inflight does not count the request any more
 * @started: time of its post in ns; 0: its completion was not requested and says nothing of times
 * @completed_before: conn->tx.ring.completed before this completion
 *
 * Context: Caller holds conn->lock.
 */
void smc_tcpinfo_count_acked(struct smc_conn *conn, u64 started, u64 completed_before)
{
	struct smc_tcpinfo *m = &conn->tcpinfo;

	lockdep_assert_held(&conn->lock);
	m->peer_seen_at = jiffies;
	if (conn->tx.ring.completed > completed_before) {
		m->delivered++;
		m->queued_at = jiffies;
	}
	if (started) {
		u64 now = ktime_get_ns();

		tcpinfo_add_rtt(m, now - started);
		tcpinfo_update_rate(conn, now, started, completed_before);
	}
	/* a pause begins */
	if (!conn->tx.inflight)
		m->since = 0;
}

/**
 * smc_tcpinfo_count_closed() - Count that the peer's window has closed
 * @conn: connection
 *
 * Context: Caller holds conn->lock.
 */
void smc_tcpinfo_count_closed(struct smc_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	conn->tcpinfo.closed++;
}

/**
 * smc_tcpinfo_count_opened() - Count for how long the peer's window was closed
 * @conn: connection
 * @usecs: microseconds
 *
 * Context: Caller holds conn->lock.
 */
void smc_tcpinfo_count_opened(struct smc_conn *conn, u64 usecs)
{
	lockdep_assert_held(&conn->lock);
	conn->tcpinfo.closed_usecs += usecs;
}

/**
 * smc_tcpinfo_count_move() - Count a change of the link of our direction
 * @conn: connection
 * @reason: why the last link failed; SMC_LINK_OK: an orderly move
 *
 * Context: Caller holds conn->lock.
 */
void smc_tcpinfo_count_move(struct smc_conn *conn, enum smc_link_reason reason)
{
	struct smc_tcpinfo *m = &conn->tcpinfo;

	lockdep_assert_held(&conn->lock);
	m->moves++;
	m->move_reason = reason;
	m->moved_at = ktime_get_boottime_seconds();
}

static u32 tcpinfo_msecs_since(unsigned long then)
{
	return jiffies_to_msecs(jiffies - then);
}

static u32 tcpinfo_usecs(u64 ns)
{
	return clamp_t(u64, div_u64(ns, NSEC_PER_USEC), 1, U32_MAX);
}

/* The time for which the peer has had no room, up to now. */
static u64 tcpinfo_closed_usecs(const struct smc_conn *conn)
{
	u64 usecs = conn->tcpinfo.closed_usecs;

	if (conn->tx.blocked_at)
		usecs += div_u64(ktime_get_ns() - conn->tx.blocked_at, NSEC_PER_USEC);
	return usecs;
}

/* Bytes that were written more than once; only a failover repeats any. */
static u64 tcpinfo_again(const struct smc_conn *conn)
{
	u64 written = conn->tcpinfo.written, once = conn->tx.ring.sent_max;

	return written > once ? written - once : 0;
}

/* Sizes: the MTU of the link stands for the segment size. */
static void tcpinfo_fill_sizes(const struct smc_conn *conn, struct tcp_info *info)
{
	const struct smc_ring_tx *tx = &conn->tx.ring;
	const struct smc_ring_rx *rx = &conn->rx.ring;
	u32 mtu = ib_mtu_enum_to_int(conn->link->mtu);

	info->tcpi_snd_mss = mtu;
	info->tcpi_rcv_mss = mtu;
	info->tcpi_advmss = mtu;
	info->tcpi_pmtu = mtu;
	info->tcpi_snd_cwnd = max_t(u32, min(conn->tx.want, tx->peer_size) / max_t(u32, mtu, 1), 1);
	info->tcpi_snd_ssthresh = TCP_INFINITE_SSTHRESH;
	info->tcpi_rcv_ssthresh = rx->size;
	info->tcpi_rcv_space = rx->size;
	info->tcpi_unacked = conn->tx.inflight;
	info->tcpi_notsent_bytes = smc_ring_tx_unsent(tx);
	/* as on TCP counted from what is acknowledged */
	info->tcpi_snd_wnd = smc_ring_tx_window(tx) + (u32)(tx->sent - tx->completed);
#ifdef SMC_HAVE_TCPI_RCV_WND
	info->tcpi_rcv_wnd = rx->size - smc_ring_rx_readable(rx) - smc_ring_rx_withheld(rx);
#endif
}

/**
 * smc_tcpinfo_fill() - Fill TCP_INFO of a connection
 * @conn: connection
 * @info: fields without a meaning over RDMA keep their values
 *
 * Context: Caller holds conn->lock.
 */
void smc_tcpinfo_fill(const struct smc_conn *conn, struct tcp_info *info)
{
	const struct smc_tcpinfo *m = &conn->tcpinfo;

	lockdep_assert_held(&conn->lock);
	tcpinfo_fill_sizes(conn, info);
	info->tcpi_last_data_sent = tcpinfo_msecs_since(m->sent_at);
	info->tcpi_last_data_recv = tcpinfo_msecs_since(m->received_at);
	info->tcpi_last_ack_recv = tcpinfo_msecs_since(m->peer_seen_at);
	if (m->rtt) {
		info->tcpi_rtt = tcpinfo_usecs(m->rtt);
		info->tcpi_rttvar = tcpinfo_usecs(m->rttvar);
		info->tcpi_min_rtt = tcpinfo_usecs(m->rtt_min);
	}
	info->tcpi_bytes_acked = conn->tx.ring.completed;
	info->tcpi_bytes_received = conn->rx.ring.produced;
	info->tcpi_bytes_sent = m->written;
	info->tcpi_bytes_retrans = tcpinfo_again(conn);
	info->tcpi_rwnd_limited = tcpinfo_closed_usecs(conn);
	info->tcpi_segs_out = m->out;
	info->tcpi_segs_in = m->in;
	info->tcpi_data_segs_out = m->data_out;
	info->tcpi_data_segs_in = m->data_in;
	info->tcpi_delivered = m->delivered;
	info->tcpi_delivery_rate = m->rate;
	info->tcpi_delivery_rate_app_limited = !info->tcpi_notsent_bytes;
}

/* Bytes that TCP carried before a connection was upgraded. */
static void tcpinfo_get_tcp_bytes(const struct smc_conn *conn, struct smc_conn_stats *stats)
{
	const struct smc_conn_upgrade *up = conn->upgrade;

	if (!up)
		return;
	stats->tcp_tx_known = up->tx_known;
	stats->tcp_tx = up->tx_s;
	stats->tcp_rx_known = up->rx_s.known;
	stats->tcp_rx = up->rx_s.s;
}

/**
 * smc_tcpinfo_get_stats() - Read the statistics of a connection
 * @conn: connection
 * @stats: result
 *
 * Context: Caller holds conn->lock.
 */
void smc_tcpinfo_get_stats(const struct smc_conn *conn, struct smc_conn_stats *stats)
{
	const struct smc_tcpinfo *m = &conn->tcpinfo;
	const struct smc_ring_tx *tx = &conn->tx.ring;

	lockdep_assert_held(&conn->lock);
	*stats = (struct smc_conn_stats){
		.tx_bytes = tx->prepared,
		.rx_bytes = conn->rx.ring.produced,
		.tx_again = tcpinfo_again(conn),
		.rate = m->rate,
		.closed_usecs = tcpinfo_closed_usecs(conn),
		.tx_queue = tx->prepared - tx->completed,
		.rx_queue = smc_ring_rx_readable(&conn->rx.ring),
		.tx_msgs = m->out,
		.rx_msgs = m->in,
		.tx_data_msgs = m->data_out,
		.rx_data_msgs = m->data_in,
		.closed = m->closed,
		.moves = m->moves,
		.last_sent = tcpinfo_msecs_since(m->sent_at),
		.last_received = tcpinfo_msecs_since(m->received_at),
	};
	if (m->rtt) {
		stats->rtt = tcpinfo_usecs(m->rtt);
		stats->rttvar = tcpinfo_usecs(m->rttvar);
		stats->rtt_min = tcpinfo_usecs(m->rtt_min);
	}
	if (m->moves) {
		stats->move_reason = m->move_reason ? smc_link_reason_str(m->move_reason) :
						      "orderly move";
		stats->move_age = (u32)ktime_get_boottime_seconds() - m->moved_at;
	}
	tcpinfo_get_tcp_bytes(conn, stats);
}

/**
 * smc_tcpinfo_note_end() - Add a connection to the totals of its group
 * @conn: connection that leaves the token table
 *
 * A connection whose handshake has failed does not count.
 *
 * Context: Caller holds conn->lock.
 */
void smc_tcpinfo_note_end(struct smc_conn *conn)
{
	struct smc_lgr_totals *totals = &conn->lgr->totals;

	lockdep_assert_held(&conn->lock);
	if (!conn->tcpinfo.began_at)
		return;
	conn->tcpinfo.ended_at = get_jiffies_64();
	atomic_inc(&totals->conns);
	atomic64_add(conn->tx.ring.prepared, &totals->tx_bytes);
	atomic64_add(conn->rx.ring.produced, &totals->rx_bytes);
}

/**
 * smc_tcpinfo_report_end() - Report the end of a connection to netlink listeners
 * @conn: connection without users
 *
 * A message costs time for each listener of the machine, so it is sent here and not where the
 * connection ends, which may be in softirq.
 *
 * Context: Process; takes conn->lock.
 */
void smc_tcpinfo_report_end(struct smc_conn *conn)
{
	struct smc_conn_stats stats;
	struct smc_event_conn ev;

	if (!conn->tcpinfo.ended_at || !smc_event_has_listeners(SMC_EVENT_GROUP_CONNS))
		return;
	spin_lock_bh(&conn->lock);
	smc_tcpinfo_get_stats(conn, &stats);
	spin_unlock_bh(&conn->lock);
	ev = (struct smc_event_conn){
		.lgr_id = conn->lgr->id,
		.server = conn->role == SMC_SERVER,
		.err = conn->err ?: conn->tx.state & SMC_CDC_S_ABORT ? ECONNABORTED : 0,
		.path = &conn->path,
		.msecs = jiffies64_to_msecs(conn->tcpinfo.ended_at - conn->tcpinfo.began_at),
		.tx_bytes = stats.tx_bytes,
		.rx_bytes = stats.rx_bytes,
		.tx_again = stats.tx_again,
		.tx_msgs = stats.tx_msgs,
		.rx_msgs = stats.rx_msgs,
		.rtt = stats.rtt,
		.rtt_min = stats.rtt_min,
		.closed_usecs = stats.closed_usecs,
		.moves = stats.moves,
	};
	smc_event_conn(conn->net, &ev);
}
