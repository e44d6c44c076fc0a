/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Upgrade in place: a connection between native peers begins as TCP and continues over RDMA
 * (Documentation/decisions/0021-upgrade-in-place.md).
 *
 * Each direction has one byte S: bytes before it travel over TCP, S and later ones through the
 * ring. S is the number of bytes that TCP has taken from the writer since the connection began, so
 * the first byte of the ring, position 0 there, is byte S of the stream.
 *
 * Here are the states of one end (struct smc_upgrade, three small tables), the arithmetic of S, the
 * gate that closes TCP for writers, the proof that a request is for this connection, and the
 * server's record of requests. The states have each message sent once: what is lost is repeated by
 * those who send it. No locks: the caller serialises all calls for one connection.
 */
#ifndef SMC_PROTO_UPGRADE_H
#define SMC_PROTO_UPGRADE_H

#include <smc/proto/types.h>

/*
 * What the two ends have agreed.
 *
 * Client: TCP ASKED READY SMC; TCP again from ASKED by a refusal, from WITHDRAWN by an answer.
 * Server: TCP ANSWERED SMC; TCP again by a withdrawal. Both: TCP again if the group ends before.
 */
enum smc_upgrade_agree {
	SMC_UPGRADE_TCP,	/* plain TCP */
	SMC_UPGRADE_ASKED,	/* client: a request is under way */
	SMC_UPGRADE_READY,	/* client: the server has agreed, GO is to be posted */
	SMC_UPGRADE_WITHDRAWN,	/* client: a withdrawal is under way; element and token are kept */
	SMC_UPGRADE_ANSWERED,	/* server: has agreed, waits for GO or a withdrawal */
	SMC_UPGRADE_FAILED,	/* server: as before, and TCP has ended without the peer's fault */
	SMC_UPGRADE_SMC,	/* GO was posted or received: the connection ends with its group */
	SMC_UPGRADE_DEAD,	/* server: the client broke the protocol before GO; TCP is reset */
	SMC_UPGRADE_AGREES
};

/* Sending direction. _D and _C: shut down, closed while TCP had it; FIN is behind its last byte */
enum smc_upgrade_tx {
	SMC_UPGRADE_TX_TCP,
	SMC_UPGRADE_TX_TCP_D,
	SMC_UPGRADE_TX_TCP_C,
	SMC_UPGRADE_TX_GATE,	/* agreed; calls may be inside TCP, S is not known */
	SMC_UPGRADE_TX_GATE_D,
	SMC_UPGRADE_TX_GATE_C,
	SMC_UPGRADE_TX_RING,	/* S is fixed, calls use the ring */
	SMC_UPGRADE_TX_RING_ACKED, /* TCP of the peer has acknowledged all bytes before S */
	SMC_UPGRADE_TX_END,	/* S is fixed, and the stream ends there */
	SMC_UPGRADE_TX_END_ACKED,
	SMC_UPGRADE_TXS
};

/* Receiving direction. _END: the reader has seen the end of file of TCP. */
enum smc_upgrade_rx {
	SMC_UPGRADE_RX_TCP,	/* FIN is the end of file */
	SMC_UPGRADE_RX_TCP_END,
	SMC_UPGRADE_RX_OPEN,	/* S is not known: FIN decides nothing */
	SMC_UPGRADE_RX_OPEN_END,
	SMC_UPGRADE_RX_TAIL,	/* S is known, TCP has not received all bytes before it */
	SMC_UPGRADE_RX_RING,	/* TCP has; the ring follows */
	SMC_UPGRADE_RXS
};

enum smc_upgrade_event {
	/* agreement, client */
	SMC_UPGRADE_EV_ASK,	/* the upgrade pays; memory is ready */
	SMC_UPGRADE_EV_WITHDRAW, /* excluded, closed, or no longer eligible */
	SMC_UPGRADE_EV_GO_POSTED,
	SMC_UPGRADE_EV_PEER_ACCEPTED, /* response: yes */
	SMC_UPGRADE_EV_PEER_REFUSED, /* response: no */
	SMC_UPGRADE_EV_PEER_WITHDRAWN, /* response to a withdrawal */
	SMC_UPGRADE_EV_PEER_ACK, /* first CDC message of the server */
	/* agreement, server */
	SMC_UPGRADE_EV_ACCEPT,	/* a request was checked, memory is ready */
	SMC_UPGRADE_EV_PEER_WITHDRAWAL,
	SMC_UPGRADE_EV_PEER_GO,	/* CDC message with GO */
	/* both */
	SMC_UPGRADE_EV_TIMEOUT,	/* the peer works but does not say what we wait for */
	SMC_UPGRADE_EV_GROUP_ENDED, /* all links drained, parked messages handled */
	SMC_UPGRADE_EV_VIOLATION, /* the peer sent what the checks refuse */
	SMC_UPGRADE_EV_TCP_RST,
	SMC_UPGRADE_EV_TCP_ERROR, /* TCP has ended in another way than by RST or FIN */
	/* sending */
	SMC_UPGRADE_EV_SHUT,	/* shutdown() of writing */
	SMC_UPGRADE_EV_CLOSE,
	SMC_UPGRADE_EV_GATE_SHUT, /* no call is inside TCP, and none enters any more: S is fixed */
	SMC_UPGRADE_EV_TCP_ACKED, /* the peer's TCP has acknowledged all bytes before S */
	/* receiving */
	SMC_UPGRADE_EV_FIN,	/* FIN, in its place behind all bytes of TCP */
	SMC_UPGRADE_EV_PEER_S,	/* S, checked by smc_upgrade_rx_take() */
	SMC_UPGRADE_EV_PEER_S_END, /* the same, with D or C in the same message */
	SMC_UPGRADE_EV_TCP_REACHED, /* TCP has received all bytes before S */
	SMC_UPGRADE_EVENTS
};

/* Actions, in the order in which the caller does them. CONN_*: an event for the connection. */
#define SMC_UPGRADE_ACT_CLAIM		0x0000001 /* element and token belong to this request now */
#define SMC_UPGRADE_ACT_CONN_UP		0x0000002 /* ESTABLISHED */
#define SMC_UPGRADE_ACT_CONN_SHUT	0x0000004 /* SHUT_WR when the ring is empty */
#define SMC_UPGRADE_ACT_CONN_CLOSE	0x0000008 /* CLOSE, or ABORT with unread bytes */
#define SMC_UPGRADE_ACT_CONN_ABORT	0x0000010 /* ABORT */
#define SMC_UPGRADE_ACT_CONN_RST	0x0000020 /* CLCSOCK_RST */
#define SMC_UPGRADE_ACT_CONN_LOST	0x0000040 /* GROUP_LOST */
#define SMC_UPGRADE_ACT_CONN_TAKE_C	0x0000080 /* C of the peer waits no longer */
#define SMC_UPGRADE_ACT_QUIET		0x0000100 /* the error was reported before: not again */
#define SMC_UPGRADE_ACT_SEND_REQUEST	0x0000200
#define SMC_UPGRADE_ACT_SEND_WITHDRAWAL	0x0000400
#define SMC_UPGRADE_ACT_SEND_ACCEPT	0x0000800 /* response: yes */
#define SMC_UPGRADE_ACT_POST_GO		0x0001000
#define SMC_UPGRADE_ACT_SEND_CDC	0x0002000 /* a CDC message, also without data */
#define SMC_UPGRADE_ACT_TRY_GATE	0x0004000 /* shut the gate now, if no call is inside TCP */
#define SMC_UPGRADE_ACT_RESET_TCP	0x0008000 /* RST */
#define SMC_UPGRADE_ACT_REPORT_RESET	0x0010000 /* ECONNRESET */
#define SMC_UPGRADE_ACT_RELEASE		0x0020000 /* token and element are free */
#define SMC_UPGRADE_ACT_QUARANTINE	0x0040000 /* the peer may write: the group keeps them */
#define SMC_UPGRADE_ACT_FREE_SLOT	0x0080000 /* another request may use the slot of this one */
#define SMC_UPGRADE_ACT_REPORT_EOF	0x0100000
#define SMC_UPGRADE_ACT_WAKE_READERS	0x0200000
#define SMC_UPGRADE_ACT_WAKE_WRITERS	0x0400000 /* and raise EPOLLOUT */
#define SMC_UPGRADE_ACT_ARM_TIMER	0x0800000 /* for TIMEOUT */
#define SMC_UPGRADE_ACT_CANCEL_TIMER	0x1000000
#define SMC_UPGRADE_ACTIONS		25	/* number of action bits */

/**
 * struct smc_upgrade - States of one end of a connection
 * @agree: what the two ends have agreed
 * @tx: sending direction
 * @rx: receiving direction
 */
struct smc_upgrade {
	enum smc_upgrade_agree agree;
	enum smc_upgrade_tx tx;
	enum smc_upgrade_rx rx;
};

int smc_upgrade_step(struct smc_upgrade *up, enum smc_upgrade_event event, u32 *actions);
bool smc_upgrade_event_is_from_peer(enum smc_upgrade_event event);
bool smc_upgrade_tcp_is_empty(const struct smc_upgrade *up);

const char *smc_upgrade_agree_str(enum smc_upgrade_agree agree);
const char *smc_upgrade_tx_str(enum smc_upgrade_tx tx);
const char *smc_upgrade_rx_str(enum smc_upgrade_rx rx);
const char *smc_upgrade_event_str(enum smc_upgrade_event event);
const char *smc_upgrade_action_str(u32 bit);

/**
 * smc_upgrade_is_acked() - Check whether the peer's TCP has acknowledged all bytes before our S
 * @up: states
 *
 * Return: true if so.
 */
static inline bool smc_upgrade_is_acked(const struct smc_upgrade *up)
{
	return up->tx == SMC_UPGRADE_TX_RING_ACKED || up->tx == SMC_UPGRADE_TX_END_ACKED;
}

/**
 * smc_upgrade_may_exclude() - Return whether an option that excludes SMC may still be set
 * @up: states; a client in ASKED or READY withdraws then
 *
 * Return: 0; -EAGAIN on a server that waits for GO or a withdrawal; -EOPNOTSUPP after GO.
 */
static inline int smc_upgrade_may_exclude(const struct smc_upgrade *up)
{
	if (up->agree == SMC_UPGRADE_SMC)
		return -EOPNOTSUPP;
	return up->agree == SMC_UPGRADE_ANSWERED ? -EAGAIN : 0;
}

/* ---- the gate ---- */

/*
 * One word: the number of calls inside TCP (send calls and shutdown() of writing), and whether the
 * gate is shut. The caller changes it by compare and exchange.
 */
#define SMC_UPGRADE_GATE_SHUT	0x80000000U

/**
 * smc_upgrade_gate_enter() - A call is about to enter TCP
 * @gate: the word
 * @next: set to the word afterwards
 *
 * Return: false if the gate is shut: the call uses the ring.
 */
static inline bool smc_upgrade_gate_enter(u32 gate, u32 *next)
{
	if (gate & SMC_UPGRADE_GATE_SHUT)
		return false;
	*next = gate + 1;
	return true;
}

/**
 * smc_upgrade_gate_leave() - A call has left TCP
 * @gate: the word
 *
 * Return: the word afterwards; 0: the gate can be shut.
 */
static inline u32 smc_upgrade_gate_leave(u32 gate)
{
	return gate - 1;
}

/**
 * smc_upgrade_gate_shut() - Shut the gate
 * @gate: the word
 * @next: set to the word afterwards
 *
 * The caller holds the lock of the clcsock, under which TCP takes no byte, and reads S after that.
 *
 * Return: false if a call is inside TCP.
 */
static inline bool smc_upgrade_gate_shut(u32 gate, u32 *next)
{
	if (gate)
		return false;
	*next = SMC_UPGRADE_GATE_SHUT;
	return true;
}

/* ---- byte S ---- */

/* More than any TCP has taken beyond what its peer has received: a buffer is an int. */
#define SMC_UPGRADE_TAIL_MAX	0x7fffffffU

u64 smc_upgrade_pos_of_seq(u32 first, u32 seq, u64 near);
u64 smc_upgrade_tx_s(u32 first, u32 write_seq, bool fin, u64 near);

/**
 * struct smc_upgrade_rx_s - S of the receiving direction
 * @s: valid if @known
 * @known: the peer has announced it
 */
struct smc_upgrade_rx_s {
	u64 s;
	bool known;
};

/**
 * struct smc_upgrade_tcp - What TCP has received
 * @received: bytes since the connection began, FIN not counted
 * @read: bytes of these that the application has read
 * @fin: FIN has been received behind @received
 * @lost: a reset of our own has destroyed bytes that were not read; those of the ring are behind
 *	them
 */
struct smc_upgrade_tcp {
	u64 received;
	u64 read;
	bool fin;
	bool lost;
};

/**
 * struct smc_upgrade_news - What a CDC message says about the receiving direction
 * @has_s: S is in it
 * @s: valid if @has_s
 * @data: its producer cursor is beyond the beginning of the ring
 * @end: D or C is set
 */
struct smc_upgrade_news {
	bool has_s;
	u64 s;
	bool data;
	bool end;
};

/* Outcomes of smc_upgrade_rx_take(); -EPROTO is the bad one. */
enum smc_upgrade_s_change {
	SMC_UPGRADE_S_NONE = 0,	/* not in the message */
	SMC_UPGRADE_S_NEW = 1,	/* PEER_S or PEER_S_END */
	SMC_UPGRADE_S_SAME = 2,	/* repeated: acknowledge it again */
};

int smc_upgrade_rx_take(struct smc_upgrade_rx_s *rx, const struct smc_upgrade_tcp *tcp,
			enum smc_upgrade_rx state, const struct smc_upgrade_news *news);
int smc_upgrade_rx_check_tcp(const struct smc_upgrade_rx_s *rx, const struct smc_upgrade_tcp *tcp);
u32 smc_upgrade_rx_tcp_part(const struct smc_upgrade_rx_s *rx, const struct smc_upgrade_tcp *tcp);
u32 smc_upgrade_rx_readable(const struct smc_upgrade_rx_s *rx, const struct smc_upgrade_tcp *tcp,
			    u32 ring);
bool smc_upgrade_rx_at_end(enum smc_upgrade_rx state, const struct smc_upgrade_rx_s *rx,
			   const struct smc_upgrade_tcp *tcp, u32 ring, bool ended);

/* ---- requests ---- */

/* Requests of a group under way; the number of a request names its slot. */
#define SMC_UPGRADE_SLOTS	8

/**
 * struct smc_upgrade_proof - What names a connection, and proves that both ends mean the same one
 * @client_port: TCP port
 * @server_port: TCP port
 * @client_seq: sequence number of the first byte that the client sends
 * @server_seq: sequence number of the first byte that the server sends
 */
struct smc_upgrade_proof {
	u16 client_port;
	u16 server_port;
	u32 client_seq;
	u32 server_seq;
};

bool smc_upgrade_proof_matches(const struct smc_upgrade_proof *a,
			       const struct smc_upgrade_proof *b);

/* Reasons of a refusal. Only LATER and UNKNOWN may be sent before the proof is checked. */
enum smc_upgrade_reason {
	SMC_UPGRADE_YES,
	SMC_UPGRADE_UNKNOWN,	/* no such connection, or the proof is wrong */
	SMC_UPGRADE_LATER,	/* not accepted yet, or being judged */
	SMC_UPGRADE_EXCLUDED,	/* setting, rule or path of the server; for options: UNKNOWN */
	SMC_UPGRADE_MEMORY,	/* or no place in the group */
	SMC_UPGRADE_REASONS
};

/* What a server has said to the last request in a slot. */
enum smc_upgrade_record {
	SMC_UPGRADE_REC_NONE,
	SMC_UPGRADE_REC_REFUSED,
	SMC_UPGRADE_REC_BOUND,	/* yes; waits for GO or a withdrawal */
	SMC_UPGRADE_REC_WITHDRAWN,
	SMC_UPGRADE_REC_DONE,	/* yes, and GO or the end of the connection came */
};

/**
 * struct smc_upgrade_slots - A server's records of a group
 * @number: number of the last request in each slot
 * @record: enum smc_upgrade_record
 * @reason: reason of a refusal
 */
struct smc_upgrade_slots {
	u32 number[SMC_UPGRADE_SLOTS];
	u8 record[SMC_UPGRADE_SLOTS];
	u8 reason[SMC_UPGRADE_SLOTS];
};

enum smc_upgrade_verdict {
	SMC_UPGRADE_DROP,	/* late, or the slot is in use: no answer */
	SMC_UPGRADE_JUDGE,	/* a new request; smc_upgrade_slots_note() records the answer */
	SMC_UPGRADE_REPEAT_YES,	/* say yes again */
	SMC_UPGRADE_REPEAT_NO,	/* refuse for the recorded reason */
	SMC_UPGRADE_UNBIND,	/* PEER_WITHDRAWAL for its connection; confirm it */
	SMC_UPGRADE_REPLY_WITHDRAWN, /* a withdrawal, and nothing is bound */
};

enum smc_upgrade_verdict smc_upgrade_slots_take(struct smc_upgrade_slots *slots, u32 number,
						bool withdrawal);
void smc_upgrade_slots_note(struct smc_upgrade_slots *slots, u32 number,
			    enum smc_upgrade_reason reason);
void smc_upgrade_slots_finish(struct smc_upgrade_slots *slots, u32 number);

/**
 * smc_upgrade_number_next() - Return the number of the next request in a slot
 * @number: the last one; the first number of slot i is i + SMC_UPGRADE_SLOTS
 *
 * Return: the number; never 0.
 */
static inline u32 smc_upgrade_number_next(u32 number)
{
	number += SMC_UPGRADE_SLOTS;
	return number ? number : SMC_UPGRADE_SLOTS;
}

#endif /* SMC_PROTO_UPGRADE_H */
