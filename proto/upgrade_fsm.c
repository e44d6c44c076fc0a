// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of an upgrade in place as three tables; upgrade.h describes states and events.
 *
 * An event that does not concern a table leaves its state. One that is illegal in a table that it
 * concerns has no effect at all. Where the tables depend on each other:
 *
 * - GO_POSTED, ACCEPT and PEER_GO change two or three of them at once.
 * - ANSWERED and FAILED return to TCP by a withdrawal or the end of the group: then FIN means the
 *   end of file again.
 * - Once SMC is agreed, an error of TCP counts while bytes of either direction may still be inside.
 *   The peer may have lost them, so RST counts for ever.
 * - C of the peer waits until TCP is empty: it may have overtaken bytes of either direction, or
 *   their acknowledgment.
 */
#include <smc/proto/upgrade.h>

/**
 * struct upgrade_cell - Effect of an event in a state of one table
 * @actions: SMC_UPGRADE_ACT_*, and UPGRADE_REVERT
 * @next: state afterwards
 * @legal: the event can happen
 */
struct upgrade_cell {
	u32 actions;
	u8 next;
	bool legal;
};

/* Internal: the receiving direction takes FIN for the end of file again. */
#define UPGRADE_REVERT		0x80000000U

#define EV(name)								\
	[SMC_UPGRADE_EV_##name]
#define ACT(name)		SMC_UPGRADE_ACT_##name
#define GO(state, act)		{ .actions = (act), .next = SMC_UPGRADE_##state, .legal = true }
#define STAY(state)		GO(state, 0)

#define CLIENT_FREE		(ACT(RELEASE) | ACT(FREE_SLOT))
#define SERVER_FREE		(ACT(RELEASE) | ACT(CANCEL_TIMER) | UPGRADE_REVERT)
#define GIVE_UP			(ACT(RESET_TCP) | ACT(QUARANTINE) | ACT(CANCEL_TIMER))

static const struct upgrade_cell agree_table[SMC_UPGRADE_AGREES][SMC_UPGRADE_EVENTS] = {
	[SMC_UPGRADE_TCP] = {
		EV(ASK)			= GO(ASKED, ACT(CLAIM) | ACT(SEND_REQUEST)),
		EV(WITHDRAW)		= STAY(TCP),
		EV(PEER_ACCEPTED)	= STAY(TCP),
		EV(PEER_REFUSED)	= STAY(TCP),
		EV(PEER_WITHDRAWN)	= STAY(TCP),
		EV(ACCEPT)		= GO(ANSWERED, ACT(CLAIM) | ACT(SEND_ACCEPT) |
						       ACT(ARM_TIMER)),
		EV(PEER_WITHDRAWAL)	= STAY(TCP),
		EV(TIMEOUT)		= STAY(TCP),
		EV(GROUP_ENDED)		= STAY(TCP),
		EV(TCP_RST)		= STAY(TCP),
		EV(TCP_ERROR)		= STAY(TCP),
	},
	[SMC_UPGRADE_ASKED] = {
		EV(WITHDRAW)		= GO(WITHDRAWN, ACT(SEND_WITHDRAWAL)),
		EV(PEER_ACCEPTED)	= GO(READY, ACT(POST_GO)),
		EV(PEER_REFUSED)	= GO(TCP, CLIENT_FREE),
		EV(PEER_WITHDRAWN)	= STAY(ASKED),
		EV(GROUP_ENDED)		= GO(TCP, CLIENT_FREE),
		EV(TIMEOUT)		= STAY(ASKED),
		EV(TCP_RST)		= GO(WITHDRAWN, ACT(SEND_WITHDRAWAL)),
		EV(TCP_ERROR)		= GO(WITHDRAWN, ACT(SEND_WITHDRAWAL)),
	},
	[SMC_UPGRADE_READY] = {
		EV(WITHDRAW)		= GO(WITHDRAWN, ACT(SEND_WITHDRAWAL)),
		EV(GO_POSTED)		= GO(SMC, ACT(CONN_UP) | ACT(ARM_TIMER)),
		EV(PEER_ACCEPTED)	= STAY(READY),
		EV(PEER_REFUSED)	= STAY(READY),
		EV(PEER_WITHDRAWN)	= STAY(READY),
		EV(GROUP_ENDED)		= GO(TCP, CLIENT_FREE),
		EV(TIMEOUT)		= STAY(READY),
		EV(TCP_RST)		= GO(WITHDRAWN, ACT(SEND_WITHDRAWAL)),
		EV(TCP_ERROR)		= GO(WITHDRAWN, ACT(SEND_WITHDRAWAL)),
	},
	/* A yes that is late binds nothing: the server writes only after GO. */
	[SMC_UPGRADE_WITHDRAWN] = {
		EV(WITHDRAW)		= STAY(WITHDRAWN),
		EV(PEER_ACCEPTED)	= STAY(WITHDRAWN),
		EV(PEER_REFUSED)	= GO(TCP, CLIENT_FREE),
		EV(PEER_WITHDRAWN)	= GO(TCP, CLIENT_FREE),
		EV(GROUP_ENDED)		= GO(TCP, CLIENT_FREE),
		EV(TIMEOUT)		= STAY(WITHDRAWN),
		EV(TCP_RST)		= STAY(WITHDRAWN),
		EV(TCP_ERROR)		= STAY(WITHDRAWN),
	},
	[SMC_UPGRADE_ANSWERED] = {
		EV(PEER_WITHDRAWAL)	= GO(TCP, SERVER_FREE),
		EV(PEER_GO)		= GO(SMC, ACT(CONN_UP) | ACT(SEND_CDC) | ACT(CANCEL_TIMER)),
		EV(TIMEOUT)		= GO(DEAD, GIVE_UP | ACT(REPORT_RESET)),
		EV(GROUP_ENDED)		= GO(TCP, SERVER_FREE),
		EV(VIOLATION)		= GO(DEAD, GIVE_UP | ACT(REPORT_RESET)),
		EV(TCP_RST)		= GO(FAILED, 0),
		EV(TCP_ERROR)		= GO(FAILED, 0),
	},
	/* The client may still post GO: then it learns of the end by our A. */
	[SMC_UPGRADE_FAILED] = {
		EV(PEER_WITHDRAWAL)	= GO(TCP, SERVER_FREE),
		EV(PEER_GO)		= GO(SMC, ACT(CONN_UP) | ACT(CONN_ABORT) | ACT(QUIET) |
						  ACT(CANCEL_TIMER)),
		EV(TIMEOUT)		= GO(DEAD, GIVE_UP),
		EV(GROUP_ENDED)		= GO(TCP, SERVER_FREE),
		EV(VIOLATION)		= GO(DEAD, GIVE_UP),
		EV(TCP_RST)		= STAY(FAILED),
		EV(TCP_ERROR)		= STAY(FAILED),
	},
	/* Its element belongs to the connection, which frees it or leaves it in quarantine. */
	[SMC_UPGRADE_SMC] = {
		EV(PEER_ACCEPTED)	= STAY(SMC),
		EV(PEER_REFUSED)	= STAY(SMC),
		EV(PEER_WITHDRAWN)	= STAY(SMC),
		EV(PEER_ACK)		= GO(SMC, ACT(FREE_SLOT) | ACT(CANCEL_TIMER)),
		EV(PEER_GO)		= STAY(SMC),
		EV(TIMEOUT)		= GO(SMC, ACT(CONN_ABORT)),
		EV(GROUP_ENDED)		= GO(SMC, ACT(CONN_LOST)),
		EV(VIOLATION)		= GO(SMC, ACT(CONN_ABORT)),
		EV(TCP_RST)		= GO(SMC, ACT(CONN_RST)),
		EV(TCP_ERROR)		= GO(SMC, ACT(CONN_ABORT)),
	},
	[SMC_UPGRADE_DEAD] = {
		EV(PEER_WITHDRAWAL)	= STAY(DEAD),
		EV(PEER_GO)		= STAY(DEAD),
		EV(TIMEOUT)		= STAY(DEAD),
		EV(GROUP_ENDED)		= STAY(DEAD),
		EV(VIOLATION)		= STAY(DEAD),
		EV(TCP_RST)		= STAY(DEAD),
		EV(TCP_ERROR)		= STAY(DEAD),
	},
};

#define GATE_RING		(ACT(SEND_CDC) | ACT(WAKE_WRITERS))

static const struct upgrade_cell tx_table[SMC_UPGRADE_TXS][SMC_UPGRADE_EVENTS] = {
	[SMC_UPGRADE_TX_TCP] = {
		EV(SHUT)		= GO(TX_TCP_D, 0),
		EV(CLOSE)		= GO(TX_TCP_C, 0),
		EV(GO_POSTED)		= GO(TX_GATE, ACT(TRY_GATE)),
		EV(PEER_GO)		= GO(TX_GATE, ACT(TRY_GATE)),
	},
	[SMC_UPGRADE_TX_TCP_D] = {
		EV(SHUT)		= STAY(TX_TCP_D),
		EV(CLOSE)		= GO(TX_TCP_C, 0),
		EV(GO_POSTED)		= GO(TX_GATE_D, ACT(TRY_GATE)),
		EV(PEER_GO)		= GO(TX_GATE_D, ACT(TRY_GATE)),
	},
	/* A client that has closed withdraws: it has nobody who would read. */
	[SMC_UPGRADE_TX_TCP_C] = {
		EV(SHUT)		= STAY(TX_TCP_C),
		EV(CLOSE)		= STAY(TX_TCP_C),
		EV(PEER_GO)		= GO(TX_GATE_C, ACT(TRY_GATE)),
	},
	[SMC_UPGRADE_TX_GATE] = {
		EV(SHUT)		= GO(TX_GATE_D, 0),
		EV(CLOSE)		= GO(TX_GATE_C, 0),
		EV(PEER_GO)		= STAY(TX_GATE),
		EV(GATE_SHUT)		= GO(TX_RING, GATE_RING),
	},
	[SMC_UPGRADE_TX_GATE_D] = {
		EV(SHUT)		= STAY(TX_GATE_D),
		EV(CLOSE)		= GO(TX_GATE_C, 0),
		EV(PEER_GO)		= STAY(TX_GATE_D),
		EV(GATE_SHUT)		= GO(TX_END, ACT(CONN_SHUT) | ACT(SEND_CDC)),
	},
	[SMC_UPGRADE_TX_GATE_C] = {
		EV(SHUT)		= STAY(TX_GATE_C),
		EV(CLOSE)		= STAY(TX_GATE_C),
		EV(PEER_GO)		= STAY(TX_GATE_C),
		EV(GATE_SHUT)		= GO(TX_END, ACT(CONN_CLOSE) | ACT(SEND_CDC)),
	},
	[SMC_UPGRADE_TX_RING] = {
		EV(SHUT)		= GO(TX_RING, ACT(CONN_SHUT)),
		EV(CLOSE)		= GO(TX_RING, ACT(CONN_CLOSE)),
		EV(PEER_GO)		= STAY(TX_RING),
		EV(TCP_ACKED)		= GO(TX_RING_ACKED, 0),
	},
	[SMC_UPGRADE_TX_RING_ACKED] = {
		EV(SHUT)		= GO(TX_RING_ACKED, ACT(CONN_SHUT)),
		EV(CLOSE)		= GO(TX_RING_ACKED, ACT(CONN_CLOSE)),
		EV(PEER_GO)		= STAY(TX_RING_ACKED),
		EV(TCP_ACKED)		= STAY(TX_RING_ACKED),
	},
	[SMC_UPGRADE_TX_END] = {
		EV(SHUT)		= STAY(TX_END),
		EV(CLOSE)		= GO(TX_END, ACT(CONN_CLOSE)),
		EV(PEER_GO)		= STAY(TX_END),
		EV(TCP_ACKED)		= GO(TX_END_ACKED, 0),
	},
	[SMC_UPGRADE_TX_END_ACKED] = {
		EV(SHUT)		= STAY(TX_END_ACKED),
		EV(CLOSE)		= GO(TX_END_ACKED, ACT(CONN_CLOSE)),
		EV(PEER_GO)		= STAY(TX_END_ACKED),
		EV(TCP_ACKED)		= STAY(TX_END_ACKED),
	},
};

#define S_KNOWN			(ACT(SEND_CDC) | ACT(WAKE_READERS) | ACT(CANCEL_TIMER))

static const struct upgrade_cell rx_table[SMC_UPGRADE_RXS][SMC_UPGRADE_EVENTS] = {
	[SMC_UPGRADE_RX_TCP] = {
		EV(FIN)			= GO(RX_TCP_END, ACT(REPORT_EOF) | ACT(WAKE_READERS)),
		EV(ACCEPT)		= GO(RX_OPEN, 0),
		EV(GO_POSTED)		= GO(RX_OPEN, 0),
	},
	[SMC_UPGRADE_RX_TCP_END] = {
		EV(FIN)			= STAY(RX_TCP_END),
		EV(ACCEPT)		= GO(RX_OPEN_END, 0),
		EV(GO_POSTED)		= GO(RX_OPEN_END, 0),
	},
	[SMC_UPGRADE_RX_OPEN] = {
		EV(FIN)			= GO(RX_OPEN, ACT(ARM_TIMER)),
		EV(PEER_S)		= GO(RX_TAIL, S_KNOWN),
		EV(PEER_S_END)		= GO(RX_TAIL, S_KNOWN),
	},
	/* What the reader took for the end has to be the end. */
	[SMC_UPGRADE_RX_OPEN_END] = {
		EV(FIN)			= STAY(RX_OPEN_END),
		EV(PEER_S_END)		= GO(RX_TAIL, S_KNOWN),
	},
	[SMC_UPGRADE_RX_TAIL] = {
		EV(FIN)			= STAY(RX_TAIL),
		EV(PEER_S)		= GO(RX_TAIL, ACT(SEND_CDC)),
		EV(PEER_S_END)		= GO(RX_TAIL, ACT(SEND_CDC)),
		EV(TCP_REACHED)		= GO(RX_RING, ACT(WAKE_READERS)),
	},
	[SMC_UPGRADE_RX_RING] = {
		EV(FIN)			= STAY(RX_RING),
		EV(PEER_S)		= GO(RX_RING, ACT(SEND_CDC)),
		EV(PEER_S_END)		= GO(RX_RING, ACT(SEND_CDC)),
		EV(TCP_REACHED)		= STAY(RX_RING),
	},
};

#define BIT_OF(name)		(1U << SMC_UPGRADE_EV_##name)

/* Events that concern each table. */
#define TX_EVENTS	(BIT_OF(SHUT) | BIT_OF(CLOSE) | BIT_OF(GO_POSTED) | BIT_OF(PEER_GO) |	\
			 BIT_OF(GATE_SHUT) | BIT_OF(TCP_ACKED))
#define RX_EVENTS	(BIT_OF(FIN) | BIT_OF(ACCEPT) | BIT_OF(GO_POSTED) | BIT_OF(PEER_S) |	\
			 BIT_OF(PEER_S_END) | BIT_OF(TCP_REACHED))
#define AGREE_EVENTS	((~(TX_EVENTS | RX_EVENTS) & (BIT_OF(SHUT) - 1)) | BIT_OF(GO_POSTED) |	\
			 BIT_OF(ACCEPT) | BIT_OF(PEER_GO))

/* Look up one table; an event that does not concern it leaves @state. */
static struct upgrade_cell upgrade_get_cell(const struct upgrade_cell *row, u32 mask,
					    enum smc_upgrade_event event, u8 state)
{
	static const struct upgrade_cell illegal;
	struct upgrade_cell stay = { .next = state, .legal = true };

	if (!(mask & 1U << event))
		return stay;
	return row[event].legal ? row[event] : illegal;
}

/**
 * smc_upgrade_tcp_is_empty() - Check whether TCP has carried all bytes before both S
 * @up: states
 *
 * Return: true if so: the rings alone count, and RST.
 */
bool smc_upgrade_tcp_is_empty(const struct smc_upgrade *up)
{
	return up->rx == SMC_UPGRADE_RX_RING && smc_upgrade_is_acked(up);
}

static bool upgrade_is_rx_open(const struct smc_upgrade *up)
{
	return up->rx == SMC_UPGRADE_RX_OPEN || up->rx == SMC_UPGRADE_RX_OPEN_END;
}

/* Return whether an event that ends an agreed connection has no effect now. */
static bool upgrade_is_moot(const struct smc_upgrade *up, enum smc_upgrade_event event)
{
	if (up->agree != SMC_UPGRADE_SMC)
		return false;
	if (event == SMC_UPGRADE_EV_TCP_ERROR)
		return smc_upgrade_tcp_is_empty(up);
	/* S has come meanwhile */
	return event == SMC_UPGRADE_EV_TIMEOUT && !upgrade_is_rx_open(up);
}

static void upgrade_revert_rx(struct smc_upgrade *up, u32 *actions)
{
	if (up->rx == SMC_UPGRADE_RX_OPEN) {
		up->rx = SMC_UPGRADE_RX_TCP;
		*actions |= SMC_UPGRADE_ACT_WAKE_READERS;
	} else if (up->rx == SMC_UPGRADE_RX_OPEN_END) {
		up->rx = SMC_UPGRADE_RX_TCP_END;
	}
}

/**
 * smc_upgrade_event_is_from_peer() - Check whether an event comes from the peer
 * @event: event
 *
 * Return: true for the event of a message, false for a local one.
 */
bool smc_upgrade_event_is_from_peer(enum smc_upgrade_event event)
{
	switch (event) {
	case SMC_UPGRADE_EV_PEER_ACCEPTED:
	case SMC_UPGRADE_EV_PEER_REFUSED:
	case SMC_UPGRADE_EV_PEER_WITHDRAWN:
	case SMC_UPGRADE_EV_PEER_ACK:
	case SMC_UPGRADE_EV_PEER_WITHDRAWAL:
	case SMC_UPGRADE_EV_PEER_GO:
	case SMC_UPGRADE_EV_PEER_S:
	case SMC_UPGRADE_EV_PEER_S_END:
		return true;
	default:
		return false;
	}
}

/**
 * smc_upgrade_step() - Apply an event to the states of an end
 * @up: states, changed on success
 * @event: event
 * @actions: set to the actions that the caller has to do now (SMC_UPGRADE_ACT_*), 0 on error
 *
 * The caller serialises steps of one connection.
 *
 * Return: 0; -EPROTO if the peer violates the protocol (the caller then steps with
 * SMC_UPGRADE_EV_VIOLATION); -EINVAL for an impossible local event.
 */
int smc_upgrade_step(struct smc_upgrade *up, enum smc_upgrade_event event, u32 *actions)
{
	bool was_empty = smc_upgrade_tcp_is_empty(up);
	struct upgrade_cell agree, tx, rx;

	*actions = 0;
	if ((unsigned int)event >= SMC_UPGRADE_EVENTS)
		return -EINVAL;
	agree = upgrade_get_cell(agree_table[up->agree], AGREE_EVENTS, event, (u8)up->agree);
	tx = upgrade_get_cell(tx_table[up->tx], TX_EVENTS, event, (u8)up->tx);
	rx = upgrade_get_cell(rx_table[up->rx], RX_EVENTS, event, (u8)up->rx);
	if (!agree.legal || !tx.legal || !rx.legal)
		return smc_upgrade_event_is_from_peer(event) ? -EPROTO : -EINVAL;
	/* nothing was agreed: what the client still sends must not shut the gate */
	if (up->agree == SMC_UPGRADE_DEAD)
		return 0;
	if (upgrade_is_moot(up, event))
		return 0;
	*actions = (agree.actions | tx.actions | rx.actions) & ~UPGRADE_REVERT;
	up->agree = (enum smc_upgrade_agree)agree.next;
	up->tx = (enum smc_upgrade_tx)tx.next;
	up->rx = (enum smc_upgrade_rx)rx.next;
	if (agree.actions & UPGRADE_REVERT)
		upgrade_revert_rx(up, actions);
	if (!was_empty && smc_upgrade_tcp_is_empty(up))
		*actions |= SMC_UPGRADE_ACT_CONN_TAKE_C;
	return 0;
}

#define NAME(prefix, name)							\
	[SMC_UPGRADE_##prefix##name] = #name

static const char * const agree_names[SMC_UPGRADE_AGREES] = {
	NAME(, TCP), NAME(, ASKED), NAME(, READY), NAME(, WITHDRAWN), NAME(, ANSWERED),
	NAME(, FAILED), NAME(, SMC), NAME(, DEAD),
};

static const char * const tx_names[SMC_UPGRADE_TXS] = {
	NAME(TX_, TCP), NAME(TX_, TCP_D), NAME(TX_, TCP_C), NAME(TX_, GATE), NAME(TX_, GATE_D),
	NAME(TX_, GATE_C), NAME(TX_, RING), NAME(TX_, RING_ACKED), NAME(TX_, END),
	NAME(TX_, END_ACKED),
};

static const char * const rx_names[SMC_UPGRADE_RXS] = {
	NAME(RX_, TCP), NAME(RX_, TCP_END), NAME(RX_, OPEN), NAME(RX_, OPEN_END), NAME(RX_, TAIL),
	NAME(RX_, RING),
};

static const char * const event_names[SMC_UPGRADE_EVENTS] = {
	NAME(EV_, ASK), NAME(EV_, WITHDRAW), NAME(EV_, GO_POSTED), NAME(EV_, PEER_ACCEPTED),
	NAME(EV_, PEER_REFUSED), NAME(EV_, PEER_WITHDRAWN), NAME(EV_, PEER_ACK), NAME(EV_, ACCEPT),
	NAME(EV_, PEER_WITHDRAWAL), NAME(EV_, PEER_GO), NAME(EV_, TIMEOUT), NAME(EV_, GROUP_ENDED),
	NAME(EV_, VIOLATION), NAME(EV_, TCP_RST), NAME(EV_, TCP_ERROR), NAME(EV_, SHUT),
	NAME(EV_, CLOSE), NAME(EV_, GATE_SHUT), NAME(EV_, TCP_ACKED), NAME(EV_, FIN),
	NAME(EV_, PEER_S), NAME(EV_, PEER_S_END), NAME(EV_, TCP_REACHED),
};

static const char * const upgrade_action_names[SMC_UPGRADE_ACTIONS] = {
	"CLAIM", "CONN_UP", "CONN_SHUT", "CONN_CLOSE", "CONN_ABORT", "CONN_RST", "CONN_LOST",
	"CONN_TAKE_C", "QUIET", "SEND_REQUEST", "SEND_WITHDRAWAL", "SEND_ACCEPT", "POST_GO",
	"SEND_CDC", "TRY_GATE", "RESET_TCP", "REPORT_RESET", "RELEASE", "QUARANTINE", "FREE_SLOT",
	"REPORT_EOF", "WAKE_READERS", "WAKE_WRITERS", "ARM_TIMER", "CANCEL_TIMER",
};

/**
 * smc_upgrade_agree_str() - Return the name of an agreement
 * @agree: state
 *
 * Return: constant string.
 */
const char *smc_upgrade_agree_str(enum smc_upgrade_agree agree)
{
	return (unsigned int)agree < SMC_UPGRADE_AGREES ? agree_names[agree] : "?";
}

/**
 * smc_upgrade_tx_str() - Return the name of a state of the sending direction
 * @tx: state
 *
 * Return: constant string.
 */
const char *smc_upgrade_tx_str(enum smc_upgrade_tx tx)
{
	return (unsigned int)tx < SMC_UPGRADE_TXS ? tx_names[tx] : "?";
}

/**
 * smc_upgrade_rx_str() - Return the name of a state of the receiving direction
 * @rx: state
 *
 * Return: constant string.
 */
const char *smc_upgrade_rx_str(enum smc_upgrade_rx rx)
{
	return (unsigned int)rx < SMC_UPGRADE_RXS ? rx_names[rx] : "?";
}

/**
 * smc_upgrade_event_str() - Return the name of an event
 * @event: event
 *
 * Return: constant string.
 */
const char *smc_upgrade_event_str(enum smc_upgrade_event event)
{
	return (unsigned int)event < SMC_UPGRADE_EVENTS ? event_names[event] : "?";
}

/**
 * smc_upgrade_action_str() - Return the name of an action
 * @bit: exactly one of SMC_UPGRADE_ACT_*
 *
 * Return: constant string.
 */
const char *smc_upgrade_action_str(u32 bit)
{
	unsigned int i;

	for (i = 0; i < SMC_UPGRADE_ACTIONS; i++)
		if (bit == 1u << i)
			return upgrade_action_names[i];
	return "?";
}
