/* SPDX-License-Identifier: GPL-2.0-only */
/* CDC messages: apply a received one, build one to send (RFC 7609 4.x, A.4). Rank 7. */
#ifndef _SMC_CONN_CDC_H
#define _SMC_CONN_CDC_H

#include <linux/types.h>

struct smc_cdc_cursor;
struct smc_cdc_msg;
struct smc_link;
struct smc_conn;

/* What smc_cdc_apply() found; bits */
#define SMC_CDC_DATA		0x01	/* new bytes in our RMBE */
#define SMC_CDC_WINDOW		0x02	/* the peer consumed: window opened */
#define SMC_CDC_PEER_DONE	0x04	/* D newly set */
#define SMC_CDC_PEER_CLOSED	0x08	/* C newly set */
#define SMC_CDC_PEER_ABORT	0x10	/* A newly set */
#define SMC_CDC_URGENT		0x20	/* urgent data newly announced */
#define SMC_CDC_URGENT_BYTE	0x200	/* the last byte in our RMBE is the urgent one */
#define SMC_CDC_WANT_UPDATE	0x40	/* R, or B with something untold */
#define SMC_CDC_VALIDATE	0x80	/* failover validation message */
#define SMC_CDC_ASKED		0x400	/* the peer wants to know how far we have come */
#define SMC_CDC_HEARD		0x800	/* it has handled all that we said */
#define SMC_CDC_BAD		0x100	/* lie: impossible cursor or sequence: abort */

/*
 * Validates the raw message against the connection and takes over cursors and
 * flags; conn->lock held; returns bits above (0 = stale or duplicate).
 */
unsigned int smc_cdc_apply(struct smc_conn *conn, const u8 *buf, u32 len);
/* Reads the alert token of a raw message. False: malformed. */
bool smc_cdc_token(const u8 *buf, u32 len, u32 *token);
/* Reads a raw message; conn->lock held. False: malformed. */
bool smc_cdc_parse(const struct smc_conn *conn, const u8 *buf, u32 len, struct smc_cdc_msg *msg);
/* Judges a failover validation; conn->lock held; returns bits above. */
void smc_cdc_trace(const struct smc_conn *conn, const struct smc_link *link, const u8 *buf,
		   u32 len);

unsigned int smc_cdc_validate(const struct smc_conn *conn, u16 seq);
bool smc_cdc_gap(const struct smc_conn *conn, u16 first, const struct smc_cdc_cursor *prod);
/* Builds a failover validation into @buf (44 bytes); conn->lock held. */
void smc_cdc_build_validation(const struct smc_conn *conn, u8 *buf);
/* Builds the next CDC into @buf (44 bytes): advances tx.seq; conn->lock held. */
void smc_cdc_build(struct smc_conn *conn, u8 *buf);

#endif
