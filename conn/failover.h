/* SPDX-License-Identifier: GPL-2.0-only */
/* Mover: a connection from link to link (RFC 7609 section 4.6). Rank 8. */
#ifndef _SMC_CONN_FAILOVER_H
#define _SMC_CONN_FAILOVER_H

#include <linux/types.h>

struct smc_conn;
struct smc_lgr;
struct smc_link;

/*
 * Our direction leaves conn->link, which is fenced. 0: posted again on another link;
 * -ENOKEY: on another link, but without a way to the peer's memory there: only messages
 * can be sent; -ENETDOWN: no other link is usable, nothing changed. conn->lock held.
 */
int smc_move_locked(struct smc_conn *conn);
/* On the way to a better link: goes, waits on or stays; conn->lock held, process context. */
void smc_move_leave_locked(struct smc_conn *conn);
/* Nothing comes over a link any more; perhaps not even the peer's last words. conn->lock held. */
void smc_move_fenced_locked(struct smc_conn *conn, const struct smc_link *link);

void smc_move_caught_up_locked(struct smc_conn *conn);
/* True, once: the peer has been silent since. conn->lock held, process context. */
bool smc_move_unheard_locked(struct smc_conn *conn);
/* Connections go to better links. True: to be called again, a moment later. */
bool smc_move_balance(struct smc_lgr *lgr);
/* The handshake is done: a client's direction begins over the link of its own choice. */
void smc_move_first_locked(struct smc_conn *conn);
/*
 * Is a message that came over @link to be handled now? Else it is kept, and the links
 * that the peer has left are failed. enum smc_failover_verdict or -ENOSPC; conn->lock held.
 */
int smc_move_input_locked(struct smc_conn *conn, const struct smc_link *link, const u8 *buf,
			  u32 len);

#endif
