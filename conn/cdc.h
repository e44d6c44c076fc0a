/* SPDX-License-Identifier: GPL-2.0-only */
/* CDC messages of a connection (RFC 7609 appendix A.4), see smc_cdc.c. */
#ifndef _SMC_CONN_CDC_H
#define _SMC_CONN_CDC_H

#include <linux/types.h>

struct smc_cdc_cursor;
struct smc_cdc_msg;
struct smc_link;
struct smc_conn;

/* Results of smc_cdc_apply(), bits */
#define SMC_CDC_DATA		0x01	/* new bytes in our RMBE */
#define SMC_CDC_WINDOW		0x02	/* the window opened, or the guard has ended */
#define SMC_CDC_PEER_DONE	0x04	/* D newly set */
#define SMC_CDC_PEER_CLOSED	0x08	/* C newly set */
#define SMC_CDC_PEER_ABORT	0x10	/* A newly set */
#define SMC_CDC_URGENT		0x20	/* urgent data announced */
#define SMC_CDC_URGENT_BYTE	0x200	/* the last byte in our RMBE is the urgent one */
#define SMC_CDC_WANT_UPDATE	0x40	/* R, or B while a consumer update is pending */
#define SMC_CDC_VALIDATE	0x80	/* failover validation message */
#define SMC_CDC_ACK_REQUEST	0x400	/* the peer requests an acknowledgment */
#define SMC_CDC_ACKED		0x800	/* the peer has applied our last message */
#define SMC_CDC_BAD		0x100	/* impossible cursor or sequence number: abort */
#define SMC_CDC_UPGRADE		0x1000	/* smc_conn_upgrade_act_locked() comes first */
/* ... of these, most messages have none */
#define SMC_CDC_RARE		(SMC_CDC_VALIDATE | SMC_CDC_BAD | SMC_CDC_UPGRADE)

unsigned int smc_cdc_apply(struct smc_conn *conn, const u8 *buf, u32 len);
unsigned int smc_cdc_apply_imm(struct smc_conn *conn, u32 imm);
bool smc_cdc_read_token(const u8 *buf, u32 len, u32 *token);
bool smc_cdc_parse(const struct smc_conn *conn, const u8 *buf, u32 len, struct smc_cdc_msg *msg);
void smc_cdc_trace(const struct smc_conn *conn, const struct smc_link *link, const u8 *buf,
		   u32 len);

unsigned int smc_cdc_check_validation(const struct smc_conn *conn, u16 seq);
bool smc_cdc_has_gap(const struct smc_conn *conn, u16 first, const struct smc_cdc_cursor *prod);
void smc_cdc_build_validation(const struct smc_conn *conn, u8 *buf);
void smc_cdc_build(struct smc_conn *conn, u8 *buf);
bool smc_cdc_imm_suffices(const struct smc_conn *conn);
u32 smc_cdc_build_imm(struct smc_conn *conn);

#endif
