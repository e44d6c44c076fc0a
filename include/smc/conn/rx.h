/* SPDX-License-Identifier: GPL-2.0-only */
/* Mover: RMBE -> user bytes. Rank 8. Never sleeps for data. */
#ifndef _SMC_CONN_RX_H
#define _SMC_CONN_RX_H

#include <linux/types.h>

struct iov_iter;
struct smc_conn;
struct splice_pipe_desc;

/* Readable bytes now; lock free. */
size_t smc_rx_readable(const struct smc_conn *conn);
/**
 * struct smc_rx_call - what a call that reads goes by
 * @skip: bytes ahead of the read position; with @peek it goes on
 * @peek: do not consume
 * @in_line: an urgent byte is like any other (SO_OOBINLINE)
 * @some: the call has read something: it ends before urgent data
 * @lend: what bytes are lent to, instead of being copied; may be NULL
 */
struct smc_rx_call {
	size_t skip;
	bool peek;
	bool in_line;
	bool some;
	struct splice_pipe_desc *lend;
};

/*
 * Copies up to @len bytes into @to. @to NULL: discards (MSG_TRUNC). What is consumed is told to
 * the peer when RFC 4.5.1 asks for it. Returns bytes, 0 (at urgent data, with @some), -EAGAIN
 * (nothing), -EFAULT, -EOPNOTSUPP (not to be lent). One caller at a time (socket lock).
 */
ssize_t smc_rx_read(struct smc_conn *conn, struct iov_iter *to, size_t len,
		    struct smc_rx_call *call);
/* Bytes that can come without any being read. */
u32 smc_rx_reach(struct smc_conn *conn);
/* Looks whether they are back; conn->lock held. */
void smc_rx_look_locked(struct smc_conn *conn, bool timed);
/* The urgent byte leaves the stream if all before it was read. */
void smc_rx_skip_urgent(struct smc_conn *conn, bool in_line);
/* recv() with MSG_OOB: 0, -EAGAIN, -EINVAL. */
int smc_rx_take_urgent(struct smc_conn *conn, bool peek, u8 *byte);
/* The writer sends no more before what is here was consumed. */
bool smc_rx_peer_waits(struct smc_conn *conn);
/* The next byte in line is an urgent one that had left the stream. */
bool smc_rx_held(struct smc_conn *conn, bool in_line);
/* SIOCATMARK, SIOCINQ, EPOLLPRI */
bool smc_rx_at_mark(struct smc_conn *conn);
size_t smc_rx_inq(struct smc_conn *conn, bool in_line);
bool smc_rx_urgent(const struct smc_conn *conn);
/* Its byte is the last one that a CDC has just announced; conn->lock held. */
void smc_rx_urgent_locked(struct smc_conn *conn);
/* Makes bytes visible that a CDC has just announced; conn->lock held. */
void smc_rx_arrived_locked(struct smc_conn *conn, u32 slot, u32 had);
/* Tells the peer what was read, now or soon, if there is need; conn->lock held. */
void smc_rx_update_locked(struct smc_conn *conn);

#endif
