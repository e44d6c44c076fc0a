/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving direction of a connection, see smc_rx.c. */
#ifndef _SMC_CONN_RX_H
#define _SMC_CONN_RX_H

#include <linux/ktime.h>
#include <linux/types.h>

struct iov_iter;
struct smc_conn;
struct splice_pipe_desc;

size_t smc_rx_readable(const struct smc_conn *conn);
/**
 * struct smc_rx_call - state of one reading call
 * @skip: bytes ahead of the read position to start at; advances if @peek
 * @peek: do not consume (MSG_PEEK)
 * @in_line: urgent bytes are read like others (SO_OOBINLINE)
 * @some: the call has read something: it ends before urgent data
 * @lend: pages are lent to this pipe descriptor instead of being copied, or NULL
 */
struct smc_rx_call {
	size_t skip;
	bool peek;
	bool in_line;
	bool some;
	struct splice_pipe_desc *lend;
};

ssize_t smc_rx_read(struct smc_conn *conn, struct iov_iter *to, size_t len,
		    struct smc_rx_call *call);
u32 smc_rx_reach(struct smc_conn *conn);
void smc_rx_look_locked(struct smc_conn *conn, bool timed);
void smc_rx_skip_urgent(struct smc_conn *conn, bool in_line);
int smc_rx_take_urgent(struct smc_conn *conn, bool peek, u8 *byte);
bool smc_rx_peer_waits(struct smc_conn *conn);
bool smc_rx_held(struct smc_conn *conn, bool in_line);
bool smc_rx_at_mark(struct smc_conn *conn);
size_t smc_rx_inq(struct smc_conn *conn, bool in_line);
bool smc_rx_urgent(const struct smc_conn *conn);
void smc_rx_urgent_locked(struct smc_conn *conn);
void smc_rx_arrived_locked(struct smc_conn *conn, u32 slot, u32 had);
void smc_rx_update_locked(struct smc_conn *conn);

void smc_stamp_start(struct smc_conn *conn);
void smc_stamp_arrived_locked(struct smc_conn *conn, u32 had);
ktime_t smc_stamp_of(struct smc_conn *conn, size_t ahead);

#endif
