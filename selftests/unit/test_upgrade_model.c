// SPDX-License-Identifier: GPL-2.0-only
/*
 * Model of an upgrade in place (proto/upgrade_*.c): two ends, TCP between them, a link group of
 * two links, and two programs. From the initial state every possible step is taken, then every step
 * from each state that is new, and so on, up to a number of states; after each step the invariants
 * are checked (check_step()), and where nothing is under way, also that nobody waits in vain
 * (check_rest()).
 *
 * Modelled of the programs: two writers that may be inside TCP at once, a reader that sleeps, shut
 * down, close, an option that excludes SMC, a second connection with the same ports. Of TCP: bytes
 * and FIN in order, acknowledgments, a small send buffer, RST, a time-out that loses what is under
 * way, sequence numbers that wrap. Of the group: LLC messages that are lost with their link,
 * repeated and reordered; CDC messages in order on a link, the latest alone parked until the other
 * link is fenced; loss of a link, and of the group. Of the module: proto/conn_fsm.c, and when a
 * message is due.
 *
 * The unit of all positions is U bytes, half of a ring, so that rings wrap.
 *
 * Small scenarios are explored whole: no state of them is left out. States are compared by 64 bits
 * of a hash; two of 20 million have the same with a probability of one in 90000.
 *
 * UNIT_DEEP=<n> explores n times as many states, and whole scenarios that take minutes and 5 GB.
 */
#include "unit.h"

#include <smc/proto/cdc_msg.h>
#include <smc/proto/conn_fsm.h>
#include <smc/proto/cursor.h>
#include <smc/proto/upgrade.h>
#include <smc/proto/upgrade_msg.h>

#define U		8192U
#define RING		2		/* units of a ring and RMBE */
#define SNDBUF		2		/* units that TCP takes beyond what is acknowledged */
#define LINKS		2
#define QUEUE		2		/* CDC messages under way over a link */
#define WRITERS		2
#define GENS		2		/* connections with the same ports, one after the other */
#define NO_S		0xff
#define CLIENT		0
#define SERVER		1

/* Errors that the model must find: what an earlier version of the design lost to. */
enum mutant {
	SOUND,
	FIN_IS_EOF,		/* FIN overtakes S */
	S_ONCE,			/* S is in the first message alone */
	SLEEPER,		/* readers are not woken when S comes or TCP reaches it */
	WRITER_INSIDE,		/* S is fixed while a call is inside TCP */
	NO_PROOF,		/* ports alone name a connection */
	RING_EARLY,		/* bytes of the ring are shown before TCP has reached S */
	ANSWER_BINDS,		/* the server changes over when it answers */
	NO_DRAIN,		/* the end of a group is judged before parked messages */
	NO_RST,			/* a client whose group ends after GO resets nothing */
	STALE_ANSWER,		/* an answer is for whoever asks */
	END_EARLY,		/* D and C act before S */
	FREE_EARLY,		/* a withdrawal frees the element at once */
	NO_EPOLLOUT,		/* a writer that got EAGAIN from TCP is not woken */
	TCP_FORGOTTEN,		/* an error of TCP counts no more once S is known */
	FIN_COUNTS,		/* S includes FIN */
	SYN_COUNTS,		/* S is what TCP says that was acknowledged, and what is not */
	S_WRAPS,		/* S is a difference of sequence numbers */
	GO_ONCE,		/* GO is in the first message alone */
	LATE_BINDS,		/* a late request is a new one */
	C_AT_ONCE,		/* C overtakes what TCP carries */
	A_WITH_D,		/* D in a message with A is an end of file at once */
	TCP_UNREAD,		/* bytes that come over TCP after close() are lost */
	MUTANTS
};

static const char * const mutant_names[] = {
	"sound", "FIN_IS_EOF", "S_ONCE", "SLEEPER", "WRITER_INSIDE", "NO_PROOF", "RING_EARLY",
	"ANSWER_BINDS", "NO_DRAIN", "NO_RST", "STALE_ANSWER", "END_EARLY", "FREE_EARLY",
	"NO_EPOLLOUT", "TCP_FORGOTTEN", "FIN_COUNTS", "SYN_COUNTS", "S_WRAPS", "GO_ONCE",
	"LATE_BINDS", "C_AT_ONCE", "A_WITH_D", "TCP_UNREAD",
};

/* What may happen in a scenario. */
struct config {
	u8 units[2];		/* that each program writes at most */
	u8 writers;		/* in each program */
	u8 base;		/* units that each direction moved before, without wraps */
	bool shut, close, option, reuse, rst, timeout, link_loss, group_death;
	bool early_fin;		/* FIN leaves when the peer's RNIC has C, not when its C is here */
	unsigned int states;	/* explored at most */
	bool whole;		/* there are fewer */
	enum mutant mutant;
};

enum llc { REQ, WD, YES, NO, CONF, LLCS };

enum claim { FREE, HELD, RELEASED, KEPT };

/* A CDC message that is under way, or parked. */
struct cdc {
	u8 valid, go, s, s_ack;	/* s: NO_S or the position */
	u8 prod, cons, state;
};

struct end {
	u8 agree[GENS], tx, rx;	/* struct smc_upgrade; of an earlier connection only @agree */
	u8 claim[GENS];
	u8 conn;		/* enum smc_conn_state */
	u8 gate, inside[WRITERS]; /* 1 inside, 2 inside and has copied something */
	u8 wants_out;		/* got EAGAIN, waits for EPOLLOUT */
	u8 wrote, taken, fin_queued, acked;
	u8 rcvd, fin_rcvd;	/* of the peer's bytes in TCP */
	u8 read, read_tcp, asleep, eof;
	u8 err, err_due;	/* errors reported so far; one waits for the program */
	u8 shut, closed, excluded;
	u8 tcp_dead;
	u8 s, s_acked, s_sent, go_sent;
	u8 rx_s;
	u8 prepared, sent, sent_max, peer_consumed; /* ring */
	u8 final_sent;		/* a message with C or A over the present link: the last one */
	u8 produced, consumed;	/* RMBE */
	u8 rmbe[RING];
	u8 ended;		/* D or C received, and no error before the reader got that far */
	u8 peer_state;		/* CDC state received */
	u8 c_waits, c_waited;	/* C counts as D; it has waited for too long */
	u8 state_bits, due, pending; /* CDC state, message due; SHUT, CLOSE wait for the ring */
	u8 acked_go;		/* client: the server has sent a message */
	u8 link, fenced;
	struct cdc queue[LINKS][QUEUE];	/* under way to this end */
	struct cdc parked;
};

struct model {
	struct end end[2];
	u8 llc[GENS][LLCS];	/* bit mask of links that such a message is under way over */
	u8 rst[2];		/* under way to this end */
	u8 lost;		/* link 0 */
	u8 dead, drained[2];	/* group */
	u8 gen;
	u8 rec_gen, record, reason; /* the server's slot; 0: none, else generation + 1 */
	u8 natural;		/* an error has a cause: TCP, or what a program did */
	u8 went;		/* GO was posted in this generation */
	u8 timed_out;		/* TCP has ended without RST, as it does after a time-out */
};

/* What can happen. Programs may leave out all of theirs; the others happen in the end. */
enum step {
	W_ENTER, W_COPY, W_LEAVE, W_RING, READ, SHUT, CLOSE, OPTION, REUSE,
	ASK, RST, TIMEOUT, LOSE_LINK, KILL_GROUP,
	FIRST_SURE,
	REPEAT = FIRST_SURE, GO, ARRIVE, ACKED, RST_ARRIVES, LLC, PUSH, DELIVER, WAITED, FENCE,
	DRAIN, STEPS
};

static const char * const step_names[] = {
	"W_ENTER", "W_COPY", "W_LEAVE", "W_RING", "READ", "SHUT", "CLOSE", "OPTION", "REUSE", "ASK",
	"RST", "TIMEOUT", "LOSE_LINK", "KILL_GROUP", "REPEAT", "GO", "ARRIVE", "ACKED",
	"RST_ARRIVES", "LLC", "PUSH", "DELIVER", "WAITED", "FENCE", "DRAIN",
};

static const struct config *cfg;
static const char *broken;		/* the invariant that a step has broken */
static unsigned long seen_step[STEPS];
static unsigned long agreed, mixed, rested;

#define BREAK(what) do {						\
	if (!broken)							\
		broken = what;						\
} while (0)

#define LAW(cond) do {							\
	if (!(cond))							\
		BREAK(#cond);						\
} while (0)

static bool is_mutant(enum mutant which)
{
	return cfg->mutant == which;
}

static struct end *peer_of(struct model *m, const struct end *e)
{
	return &m->end[e == &m->end[0]];
}

static unsigned int index_of(const struct model *m, const struct end *e)
{
	return e != &m->end[0];
}

static bool is_client(const struct model *m, const struct end *e)
{
	return e == &m->end[CLIENT];
}

/* ---- TCP as the module sees it ---- */

/* Sequence numbers begin just before they wrap. */
static u32 first_seq(const struct model *m, const struct end *e)
{
	return 0U - U - 100 * (1 + index_of(m, e)) - 7 * m->gen;
}

/* Bytes of the connection that were moved before the model begins; a multiple of 2^32 at times. */
static u64 base_of(void)
{
	return cfg->base ? (u64)cfg->base << 32 : 0;
}

static u64 compute_s(const struct model *m, const struct end *e)
{
	u32 first = first_seq(m, e);
	u64 pos = base_of() + (u64)e->taken * U, got = base_of() + (u64)e->acked * U;
	u32 write_seq = first + (u32)pos + e->fin_queued;
	u64 counted = got + is_client(m, e);	/* TCP counts the SYN of a client */

	if (is_mutant(FIN_COUNTS))
		return smc_upgrade_tx_s(first, write_seq, false, counted);
	if (is_mutant(SYN_COUNTS))
		return counted + (u32)(write_seq - e->fin_queued - (first + (u32)got));
	if (is_mutant(S_WRAPS))
		return (u32)(write_seq - e->fin_queued - first);
	return smc_upgrade_tx_s(first, write_seq, e->fin_queued, counted);
}

static struct smc_upgrade_tcp tcp_view(const struct end *e)
{
	return (struct smc_upgrade_tcp){
		.received = base_of() + (u64)e->rcvd * U,
		.read = base_of() + (u64)e->read_tcp * U,
		.fin = e->fin_rcvd,
	};
}

static struct smc_upgrade_rx_s s_view(const struct end *e)
{
	return (struct smc_upgrade_rx_s){
		.known = e->rx_s != NO_S,
		.s = e->rx_s != NO_S ? base_of() + (u64)e->rx_s * U : 0,
	};
}

static u32 ring_readable(const struct end *e)
{
	return (u32)(e->produced - e->consumed) * U;
}

static u32 readable(const struct end *e)
{
	struct smc_upgrade_tcp tcp = tcp_view(e);
	struct smc_upgrade_rx_s s = s_view(e);

	if (is_mutant(RING_EARLY))
		return smc_upgrade_rx_tcp_part(&s, &tcp) + ring_readable(e);
	return smc_upgrade_rx_readable(&s, &tcp, ring_readable(e));
}

static bool at_end(const struct end *e)
{
	struct smc_upgrade_tcp tcp = tcp_view(e);
	struct smc_upgrade_rx_s s = s_view(e);
	enum smc_upgrade_rx state = (enum smc_upgrade_rx)e->rx;

	if (is_mutant(FIN_IS_EOF) && e->fin_rcvd && !readable(e) && e->rx_s == NO_S)
		return true;
	if (is_mutant(END_EARLY) && e->ended && !readable(e))
		return true;
	if (is_mutant(A_WITH_D) && e->peer_state == (SMC_CDC_S_DONE | SMC_CDC_S_ABORT) &&
	    !readable(e))
		return true;
	return smc_upgrade_rx_at_end(state, &s, &tcp, ring_readable(e), e->ended);
}

static bool is_writable(const struct end *e)
{
	if (e->err_due)
		return true;
	if (e->shut || e->closed)
		return false;
	if (!(e->gate & 0x80))
		return !e->tcp_dead && e->taken - e->acked < SNDBUF;
	return smc_conn_state_may_send((enum smc_conn_state)e->conn) &&
	       e->prepared - e->peer_consumed < RING;
}

/* ---- actions ---- */

static void up_event(struct model *m, struct end *e, enum smc_upgrade_event event);
static void take_peer_state(struct model *m, struct end *e);

static void report(struct model *m, struct end *e)
{
	e->asleep = 0;
	e->wants_out = 0;
	if (e->closed)
		return;
	e->err++;
	e->err_due = 1;
	if (!m->natural && !(m->went && m->dead))
		BREAK("an error without a cause");
}

static void send_rst(struct model *m, struct end *e)
{
	if (e->tcp_dead)
		return;
	e->tcp_dead = 1;
	m->rst[1 - index_of(m, e)] = 1;
}

static void set_claim(struct end *e, unsigned int gen, enum claim to)
{
	LAW(e->claim[gen] == HELD);
	e->claim[gen] = to;
}

static void conn_event(struct model *m, struct end *e, enum smc_conn_event event, bool quiet)
{
	enum smc_conn_state state = (enum smc_conn_state)e->conn;
	u32 act;

	if (smc_conn_fsm_step(&state, event, &act)) {
		BREAK("an event that the connection does not take");
		return;
	}
	e->conn = (u8)state;
	if (act & SMC_CONN_ACT_PURGE)
		e->prepared = e->sent;
	if (act & SMC_CONN_ACT_SEND_DONE)
		e->state_bits |= SMC_CDC_S_DONE;
	if (act & SMC_CONN_ACT_SEND_CLOSE)
		e->state_bits |= SMC_CDC_S_CLOSED;
	if (act & SMC_CONN_ACT_SEND_ABORT) {
		e->state_bits |= SMC_CDC_S_ABORT;
		/* it may follow C */
		e->final_sent = 0;
	}
	if (act & (SMC_CONN_ACT_SEND_DONE | SMC_CONN_ACT_SEND_CLOSE | SMC_CONN_ACT_SEND_ABORT))
		e->due = 1;
	if (act & SMC_CONN_ACT_RESET_CLCSOCK && !is_mutant(NO_RST))
		send_rst(m, e);
	if (act & SMC_CONN_ACT_CLOSE_CLCSOCK && !e->tcp_dead)
		e->fin_queued = 1;
	if (act & (SMC_CONN_ACT_REPORT_RESET | SMC_CONN_ACT_REPORT_ABORTED)) {
		e->ended &= e->rx == SMC_UPGRADE_RX_RING;
		if (!quiet)
			report(m, e);
	}
	if (act & (SMC_CONN_ACT_REPORT_EOF | SMC_CONN_ACT_REPORT_PEER_CLOSED)) {
		e->ended = 1;
		e->asleep = 0;
		e->wants_out = 0;
	}
	if (act & SMC_CONN_ACT_RELEASE)
		set_claim(e, m->gen, act & SMC_CONN_ACT_ELEMENT_FREE ? RELEASED : KEPT);
	if (e->c_waits && !smc_conn_state_may_send(state))
		take_peer_state(m, e);
}

/* The peer has sent more over TCP than the program that has closed has read. */
static bool tcp_is_unread(const struct end *e)
{
	return e->closed && e->rx_s != NO_S && e->rx_s > e->read_tcp && !is_mutant(TCP_UNREAD);
}

static bool has_unread(const struct end *e)
{
	return readable(e) || ring_readable(e) || e->rcvd > e->read_tcp || tcp_is_unread(e);
}

/* SHUT and CLOSE of the ring: when all bytes are sent. */
static void raise_pending(struct model *m, struct end *e)
{
	if (!e->pending || e->sent != e->prepared)
		return;
	if (e->pending & 2 && has_unread(e)) {
		m->natural = 1;
		conn_event(m, e, SMC_CONN_EV_ABORT, true);
	} else if (e->pending & 2) {
		conn_event(m, e, SMC_CONN_EV_CLOSE, true);
	} else {
		conn_event(m, e, SMC_CONN_EV_SHUT_WR, false);
	}
	e->pending = 0;
}

static void send_llc(struct model *m, const struct end *e, unsigned int gen, enum llc what)
{
	if (!m->dead)
		m->llc[gen][what] |= (u8)(1 << e->link);
}

/* No call is inside TCP: fix S, and never again. */
static void try_gate(struct model *m, struct end *e)
{
	u32 gate = (e->gate & 0x7f) | (e->gate & 0x80 ? SMC_UPGRADE_GATE_SHUT : 0), next;
	u64 s;

	if (e->agree[m->gen] != SMC_UPGRADE_SMC || e->s != NO_S)
		return;
	if (!smc_upgrade_gate_shut(gate, &next) && !is_mutant(WRITER_INSIDE))
		return;
	e->gate |= 0x80;
	s = compute_s(m, e) - base_of();
	LAW(s == (u64)e->taken * U);
	e->s = (u8)(s / U);
	up_event(m, e, SMC_UPGRADE_EV_GATE_SHUT);
	if (e->acked >= e->s)
		up_event(m, e, SMC_UPGRADE_EV_TCP_ACKED);
}

static enum smc_conn_event rst_event(const struct end *e)
{
	struct smc_upgrade up = {
		.tx = (enum smc_upgrade_tx)e->tx, .rx = (enum smc_upgrade_rx)e->rx,
	};
	bool lossy = !smc_upgrade_tcp_is_empty(&up);

	return smc_conn_fsm_event_of_rst((enum smc_conn_state)e->conn, lossy);
}

static void up_actions(struct model *m, struct end *e, unsigned int gen, u32 act)
{
	bool quiet = act & SMC_UPGRADE_ACT_QUIET;

	if (act & SMC_UPGRADE_ACT_CLAIM) {
		LAW(e->claim[gen] != HELD);
		e->claim[gen] = HELD;
	}
	if (act & SMC_UPGRADE_ACT_CONN_UP) {
		conn_event(m, e, SMC_CONN_EV_ESTABLISHED, false);
		e->due = 1;
		agreed++;
	}
	if (act & SMC_UPGRADE_ACT_CONN_SHUT)
		e->pending |= 1;
	if (act & SMC_UPGRADE_ACT_CONN_CLOSE)
		e->pending |= 2;
	raise_pending(m, e);
	if (act & SMC_UPGRADE_ACT_CONN_ABORT)
		conn_event(m, e, SMC_CONN_EV_ABORT, quiet);
	if (act & SMC_UPGRADE_ACT_CONN_RST)
		conn_event(m, e, rst_event(e), quiet);
	if (act & SMC_UPGRADE_ACT_CONN_LOST)
		conn_event(m, e, SMC_CONN_EV_GROUP_LOST, quiet);
	if (act & SMC_UPGRADE_ACT_CONN_TAKE_C && e->c_waits)
		take_peer_state(m, e);
	if (act & SMC_UPGRADE_ACT_SEND_REQUEST)
		send_llc(m, e, gen, REQ);
	if (act & SMC_UPGRADE_ACT_SEND_WITHDRAWAL)
		send_llc(m, e, gen, WD);
	if (act & SMC_UPGRADE_ACT_SEND_ACCEPT)
		send_llc(m, e, gen, YES);
	if (act & SMC_UPGRADE_ACT_SEND_CDC)
		e->due = 1;
	if (act & SMC_UPGRADE_ACT_RESET_TCP)
		send_rst(m, e);
	if (act & SMC_UPGRADE_ACT_REPORT_RESET)
		report(m, e);
	if (act & SMC_UPGRADE_ACT_RELEASE)
		set_claim(e, gen, RELEASED);
	if (act & SMC_UPGRADE_ACT_QUARANTINE)
		set_claim(e, gen, KEPT);
	if (act & SMC_UPGRADE_ACT_WAKE_READERS && !is_mutant(SLEEPER))
		e->asleep = 0;
	if (act & SMC_UPGRADE_ACT_WAKE_WRITERS && !is_mutant(NO_EPOLLOUT))
		e->wants_out = 0;
	if (act & SMC_UPGRADE_ACT_TRY_GATE)
		try_gate(m, e);
}

/* An event of connection @gen; of an earlier one only the agreement is left. */
static void up_event_of(struct model *m, struct end *e, unsigned int gen,
			enum smc_upgrade_event event)
{
	bool old = gen != m->gen;
	struct smc_upgrade up = {
		.agree = (enum smc_upgrade_agree)e->agree[gen],
		.tx = old ? SMC_UPGRADE_TX_TCP_C : (enum smc_upgrade_tx)e->tx,
		.rx = old ? SMC_UPGRADE_RX_TCP_END : (enum smc_upgrade_rx)e->rx,
	};
	u32 act;

	if (is_mutant(TCP_FORGOTTEN) && event == SMC_UPGRADE_EV_TCP_ERROR &&
	    up.rx >= SMC_UPGRADE_RX_TAIL)
		return;
	if (smc_upgrade_step(&up, event, &act)) {
		BREAK("an event that is impossible in this state");
		return;
	}
	if (is_mutant(FREE_EARLY) && up.agree == SMC_UPGRADE_WITHDRAWN &&
	    e->agree[gen] != SMC_UPGRADE_WITHDRAWN && e->claim[gen] == HELD)
		act |= SMC_UPGRADE_ACT_RELEASE;
	e->agree[gen] = (u8)up.agree;
	if (!old) {
		e->tx = (u8)up.tx;
		e->rx = (u8)up.rx;
	}
	LAW(!old || up.agree != SMC_UPGRADE_SMC);
	up_actions(m, e, gen, act);
}

static void up_event(struct model *m, struct end *e, enum smc_upgrade_event event)
{
	up_event_of(m, e, m->gen, event);
}

/* Look at what TCP has received after S was announced. */
static void look_at_tcp(struct model *m, struct end *e)
{
	struct smc_upgrade_tcp tcp = tcp_view(e);
	struct smc_upgrade_rx_s s = s_view(e);
	int rc = smc_upgrade_rx_check_tcp(&s, &tcp);

	if (rc < 0)
		BREAK("TCP carries bytes behind S, or not all before it");
	if (rc > 0 && e->rx == SMC_UPGRADE_RX_TAIL)
		up_event(m, e, SMC_UPGRADE_EV_TCP_REACHED);
}

/* ---- CDC messages ---- */

static bool may_push(const struct model *m, const struct end *e)
{
	unsigned int i;

	/* the queues of an end hold what comes to it */
	const struct end *to = &m->end[e == &m->end[0]];

	if (m->dead || e->agree[m->gen] != SMC_UPGRADE_SMC ||
	    (e->link == 0 && m->lost) || e->final_sent || (!e->due && e->sent == e->prepared))
		return false;
	for (i = 0; i < QUEUE; i++)
		if (!to->queue[e->link][i].valid)
			return true;
	return false;
}

static void push(struct model *m, struct end *e)
{
	struct end *to = peer_of(m, e);
	struct cdc c = { .valid = 1, .s = NO_S, .cons = e->consumed };
	unsigned int i = 0;

	/*
	 * New bytes only for an element that is the peer's, or that it gives to nobody else. There
	 * are none if an abort after a move has purged bytes that were sent over the lost link.
	 */
	LAW(e->prepared <= e->sent_max || to->claim[m->gen] == HELD ||
	    to->claim[m->gen] == KEPT ||
	    to->agree[m->gen] != SMC_UPGRADE_SMC || m->drained[index_of(m, to)]);
	e->sent = e->prepared;
	if (e->sent > e->sent_max)
		e->sent_max = e->sent;
	raise_pending(m, e);
	e->final_sent = !!(e->state_bits & (SMC_CDC_S_ABORT | SMC_CDC_S_CLOSED));
	c.prod = e->sent;
	c.state = e->state_bits;
	c.go = is_client(m, e) && !e->acked_go && !(is_mutant(GO_ONCE) && e->go_sent);
	e->go_sent |= is_mutant(GO_ONCE);
	if (e->s != NO_S && !e->s_acked && !(is_mutant(S_ONCE) && e->s_sent))
		c.s = e->s;
	e->s_sent |= is_mutant(S_ONCE) && c.s != NO_S;
	c.s_ack = e->rx_s != NO_S;
	e->due = 0;
	while (to->queue[e->link][i].valid)
		i++;
	to->queue[e->link][i] = c;
}

/* Send @c through the codec: what the receiver gets. */
static void transcode(const struct cdc *c, struct smc_cdc_msg *out)
{
	struct smc_cdc_msg in = { .seq = 1, .token = 2, .state = c->state };
	u8 buf[SMC_CDC_LEN];

	smc_cursor_from_pos((u64)c->prod * U, RING * U, &in.prod);
	smc_cursor_from_pos((u64)c->cons * U, RING * U, &in.cons);
	if (c->go)
		in.ext |= SMC_CDC_EXT_GO;
	if (c->s_ack)
		in.ext |= SMC_CDC_EXT_S_ACK;
	if (c->s != NO_S) {
		in.ext |= SMC_CDC_EXT_S;
		in.s = base_of() + (u64)c->s * U;
	}
	if (smc_cdc_msg_build(&in, buf, sizeof(buf)) != SMC_CDC_LEN ||
	    smc_cdc_msg_parse(buf, sizeof(buf), RING * U, RING * U, out))
		BREAK("a message that the codec refuses");
}

static void take_s(struct model *m, struct end *e, const struct smc_cdc_msg *msg)
{
	struct smc_upgrade_news news = {
		.has_s = msg->ext & SMC_CDC_EXT_S,
		.s = msg->s,
		.data = msg->prod.wrap || msg->prod.off,
		.end = msg->state & (SMC_CDC_S_DONE | SMC_CDC_S_CLOSED),
	};
	struct smc_upgrade_tcp tcp = tcp_view(e);
	struct smc_upgrade_rx_s s = s_view(e);
	int rc = smc_upgrade_rx_take(&s, &tcp, (enum smc_upgrade_rx)e->rx, &news);

	if (rc < 0) {
		BREAK("a peer in good faith violates the protocol");
		return;
	}
	if (rc == SMC_UPGRADE_S_NONE)
		return;
	e->rx_s = (u8)((s.s - base_of()) / U);
	up_event(m, e, news.end ? SMC_UPGRADE_EV_PEER_S_END : SMC_UPGRADE_EV_PEER_S);
	look_at_tcp(m, e);
}

/* Apply D, C and A of the peer: when they come, and when C waits no longer. */
static void take_peer_state(struct model *m, struct end *e)
{
	struct smc_upgrade up = {
		.tx = (enum smc_upgrade_tx)e->tx, .rx = (enum smc_upgrade_rx)e->rx,
	};
	bool may_send = smc_conn_state_may_send((enum smc_conn_state)e->conn);
	bool closed = e->peer_state & SMC_CDC_S_CLOSED, unsent = e->sent < e->prepared;
	enum smc_conn_event event;

	e->c_waits = closed && may_send && !smc_upgrade_tcp_is_empty(&up) && !e->c_waited &&
		     !is_mutant(C_AT_ONCE);
	if (unsent || e->c_waited || e->peer_state & SMC_CDC_S_ABORT)
		m->natural = 1;
	event = smc_conn_fsm_event_of_cdc(e->peer_state & SMC_CDC_S_DONE || e->c_waits,
					  closed && !e->c_waits, e->peer_state & SMC_CDC_S_ABORT,
					  may_send && (unsent || !smc_upgrade_is_acked(&up)));
	if (event != SMC_CONN_EV_NONE)
		conn_event(m, e, event, false);
}

static void apply(struct model *m, struct end *e, const struct cdc *c)
{
	struct end *from = peer_of(m, e);
	struct smc_cdc_msg msg;
	bool fresh;
	u64 pos;

	transcode(c, &msg);
	if (is_client(m, e) && e->agree[m->gen] == SMC_UPGRADE_SMC && !e->acked_go) {
		e->acked_go = 1;
		up_event(m, e, SMC_UPGRADE_EV_PEER_ACK);
	} else if (msg.ext & SMC_CDC_EXT_GO) {
		up_event(m, e, SMC_UPGRADE_EV_PEER_GO);
		if (m->record == SMC_UPGRADE_REC_BOUND && m->rec_gen == m->gen + 1)
			m->record = SMC_UPGRADE_REC_DONE;
	}
	if (e->agree[m->gen] != SMC_UPGRADE_SMC) {
		BREAK("a message of an end that has agreed reaches one that has not");
		return;
	}
	if (smc_conn_state_ignores_peer((enum smc_conn_state)e->conn) &&
	    !(msg.state & SMC_CDC_S_ABORT))
		goto state;
	if (msg.state & SMC_CDC_S_ABORT)
		goto state;
	take_s(m, e, &msg);
	if (msg.ext & SMC_CDC_EXT_S_ACK)
		e->s_acked = 1;
	if (smc_cursor_advance((u64)e->peer_consumed * U, (u64)e->sent_max * U, RING * U, &msg.cons,
			       &pos) < 0)
		BREAK("an impossible consumer cursor");
	if (pos / U > e->peer_consumed)
		e->wants_out = 0;
	e->peer_consumed = (u8)(pos / U);
	if (smc_cursor_advance((u64)e->produced * U, (u64)(e->consumed + RING) * U, RING * U,
			       &msg.prod, &pos) < 0)
		BREAK("an impossible producer cursor");
	fresh = pos / U > e->produced;
	/* the WRITEs before the message: what the ring of the peer has at these places */
	while (e->produced < pos / U) {
		e->rmbe[e->produced % RING] = (u8)(from->s + e->produced);
		e->produced++;
	}
	if (fresh) {
		e->asleep = 0;
		if (e->conn != SMC_CONN_ACTIVE)
			conn_event(m, e, SMC_CONN_EV_PEER_DATA, false);
	}
state:
	e->peer_state |= msg.state;
	take_peer_state(m, e);
	if (tcp_is_unread(e)) {
		m->natural = 1;
		conn_event(m, e, smc_conn_fsm_event_of_unread((enum smc_conn_state)e->conn), true);
	}
}

static void deliver(struct model *m, struct end *e, unsigned int link)
{
	struct cdc c = e->queue[link][0];

	memmove(&e->queue[link][0], &e->queue[link][1], sizeof(c) * (QUEUE - 1));
	memset(&e->queue[link][QUEUE - 1], 0, sizeof(c));
	if (cfg->early_fin && c.state & SMC_CDC_S_CLOSED && !peer_of(m, e)->tcp_dead)
		peer_of(m, e)->fin_queued = 1;
	/* over link 1 the peer begins when link 0 is lost: wait until our end of that is fenced */
	if (link == 1 && !e->fenced)
		e->parked = c;
	else
		apply(m, e, &c);
}

/* The end's queue pair of link 0 is drained: its direction goes on over link 1. */
static void fence(struct model *m, struct end *e)
{
	struct cdc c = e->parked;
	unsigned int gen, what;

	memset(e->queue[0], 0, sizeof(e->queue[0]));
	for (gen = 0; gen < GENS; gen++)
		for (what = 0; what < LLCS; what++)
			if ((what == REQ || what == WD) != is_client(m, e))
				m->llc[gen][what] &= (u8)~1;
	e->fenced = 1;
	e->link = 1;
	if (e->agree[m->gen] == SMC_UPGRADE_SMC) {
		e->sent = e->peer_consumed;
		e->due = 1;
		e->final_sent = 0;
	}
	memset(&e->parked, 0, sizeof(c));
	if (c.valid)
		apply(m, e, &c);
}

/* All links of the end are drained. */
static void drain(struct model *m, struct end *e)
{
	struct cdc c = e->parked;
	unsigned int gen;

	memset(e->queue, 0, sizeof(e->queue));
	memset(&e->parked, 0, sizeof(c));
	if (c.valid && !is_mutant(NO_DRAIN))
		apply(m, e, &c);
	m->drained[index_of(m, e)] = 1;
	for (gen = 0; gen <= m->gen; gen++)
		up_event_of(m, e, gen, SMC_UPGRADE_EV_GROUP_ENDED);
	if (!is_client(m, e))
		m->rec_gen = 0;
}

/* ---- LLC messages ---- */

static struct smc_upgrade_proof proof_of(const struct model *m, unsigned int gen)
{
	struct model then = *m;

	then.gen = (u8)gen;
	return (struct smc_upgrade_proof){
		.client_port = 40000, .server_port = 80,
		.client_seq = first_seq(&then, &then.end[CLIENT]),
		.server_seq = first_seq(&then, &then.end[SERVER]),
	};
}

/* Slot 0 is used: connection 0 asks with number 8, connection 1 with number 16. */
static u32 number_of(unsigned int gen)
{
	return (gen + 1) * SMC_UPGRADE_SLOTS;
}

static void judge(struct model *m, unsigned int gen, struct smc_upgrade_slots *slots)
{
	struct smc_upgrade_proof asked = proof_of(m, gen), ours = proof_of(m, m->gen);
	struct end *e = &m->end[SERVER];
	enum smc_upgrade_reason reason = SMC_UPGRADE_YES;

	if (is_mutant(NO_PROOF)) {
		asked.client_seq = ours.client_seq;
		asked.server_seq = ours.server_seq;
	}
	if (!smc_upgrade_proof_matches(&asked, &ours) || e->closed || e->tcp_dead)
		reason = SMC_UPGRADE_UNKNOWN;
	else if (e->excluded)
		reason = SMC_UPGRADE_EXCLUDED;
	else if (e->agree[m->gen] != SMC_UPGRADE_TCP || e->claim[m->gen] == HELD)
		reason = SMC_UPGRADE_UNKNOWN;
	smc_upgrade_slots_note(slots, number_of(gen), reason);
	if (reason != SMC_UPGRADE_YES) {
		send_llc(m, e, gen, NO);
		return;
	}
	LAW(gen == m->gen);
	LAW(m->end[CLIENT].claim[gen] == HELD || m->drained[CLIENT]);
	up_event(m, e, SMC_UPGRADE_EV_ACCEPT);
	if (is_mutant(ANSWER_BINDS))
		up_event(m, e, SMC_UPGRADE_EV_PEER_GO);
}

static void server_llc(struct model *m, unsigned int gen, enum llc what)
{
	struct smc_upgrade_slots slots = { };
	struct end *e = &m->end[SERVER];
	bool withdrawal = what == WD;
	enum smc_upgrade_verdict verdict;

	if (m->rec_gen) {
		slots.number[0] = m->rec_gen * SMC_UPGRADE_SLOTS;
		slots.record[0] = m->record;
		slots.reason[0] = m->reason;
	}
	if (is_mutant(LATE_BINDS) && !withdrawal && slots.record[0] != SMC_UPGRADE_REC_BOUND)
		slots.record[0] = SMC_UPGRADE_REC_NONE;
	verdict = smc_upgrade_slots_take(&slots, number_of(gen), withdrawal);
	switch (verdict) {
	case SMC_UPGRADE_JUDGE:
		judge(m, gen, &slots);
		break;
	case SMC_UPGRADE_REPEAT_YES:
		send_llc(m, e, gen, YES);
		break;
	case SMC_UPGRADE_REPEAT_NO:
		send_llc(m, e, gen, NO);
		break;
	case SMC_UPGRADE_UNBIND:
		up_event_of(m, e, gen, SMC_UPGRADE_EV_PEER_WITHDRAWAL);
		send_llc(m, e, gen, CONF);
		break;
	case SMC_UPGRADE_REPLY_WITHDRAWN:
		send_llc(m, e, gen, CONF);
		break;
	case SMC_UPGRADE_DROP:
		break;
	}
	m->rec_gen = (u8)(slots.number[0] / SMC_UPGRADE_SLOTS);
	m->record = slots.record[0];
	m->reason = slots.reason[0];
}

static void client_llc(struct model *m, unsigned int gen, enum llc what)
{
	struct end *e = &m->end[CLIENT];
	enum smc_upgrade_event event = what == YES ? SMC_UPGRADE_EV_PEER_ACCEPTED :
				       what == NO ? SMC_UPGRADE_EV_PEER_REFUSED :
						    SMC_UPGRADE_EV_PEER_WITHDRAWN;

	up_event_of(m, e, is_mutant(STALE_ANSWER) ? m->gen : gen, event);
}

/* ---- programs ---- */

static void program_read(struct model *m, struct end *e)
{
	struct smc_upgrade_tcp tcp = tcp_view(e);
	struct smc_upgrade_rx_s s = s_view(e);

	if (readable(e)) {
		if (smc_upgrade_rx_tcp_part(&s, &tcp)) {
			LAW(e->read_tcp == e->read);
			e->read_tcp++;
		} else {
			LAW(e->rmbe[e->consumed % RING] == e->read);
			e->consumed++;
			e->due = 1;
		}
		LAW(e->read < peer_of(m, e)->wrote);
		LAW(!e->eof);
		e->read++;
	} else if (e->err_due) {
		e->err_due = 0;
	} else if (at_end(e)) {
		e->eof = 1;
		LAW(e->read == peer_of(m, e)->wrote);
		LAW(peer_of(m, e)->shut || peer_of(m, e)->closed);
	} else if (!e->err) {
		e->asleep = 1;
	}
}

static bool writer_may(const struct end *e, unsigned int w, enum step what)
{
	u32 next;

	if (e->closed || (e->shut && !e->inside[w]))
		return false;
	switch (what) {
	case W_ENTER:
		return !e->inside[w] && e->wrote < cfg->units[0] && !e->wants_out &&
		       smc_upgrade_gate_enter(e->gate & 0x80 ? SMC_UPGRADE_GATE_SHUT : e->gate,
					      &next);
	case W_COPY:
		return e->inside[w] && !e->shut && !e->tcp_dead && e->taken - e->acked < SNDBUF &&
		       e->inside[w] < 3;
	case W_LEAVE:
		return e->inside[w] > 1 || (e->inside[w] && (e->shut || e->tcp_dead ||
							      e->taken - e->acked >= SNDBUF));
	default:
		return false;
	}
}

static void shut_tcp(struct end *e)
{
	if (!e->tcp_dead)
		e->fin_queued = 1;
}

/* shutdown() and close(): TCP does it as long as the gate is open. */
static void program_end(struct model *m, struct end *e, enum smc_upgrade_event event)
{
	bool closing = event == SMC_UPGRADE_EV_CLOSE;
	bool on_tcp;

	e->shut = 1;
	e->wants_out = 0;
	if (closing) {
		e->closed = 1;
		e->asleep = 0;
		e->err_due = 0;
		if (has_unread(e))
			m->natural = 1;
		if (is_client(m, e) && (e->agree[m->gen] == SMC_UPGRADE_ASKED ||
					e->agree[m->gen] == SMC_UPGRADE_READY))
			up_event(m, e, SMC_UPGRADE_EV_WITHDRAW);
	}
	on_tcp = !(e->gate & 0x80);
	if (closing)
		try_gate(m, e);
	if (on_tcp && e->gate & 0x80)
		on_tcp = false;
	if (on_tcp)
		shut_tcp(e);
	up_event(m, e, event);
	if (on_tcp && closing && e->rcvd > e->read_tcp)
		send_rst(m, e);
	if (on_tcp)
		try_gate(m, e);
}

/* ---- steps ---- */

static bool tcp_over(const struct model *m, const struct end *e)
{
	return e->closed && e->agree[m->gen] != SMC_UPGRADE_SMC &&
	       (e->tcp_dead || (e->fin_queued && e->fin_rcvd));
}

/* Return whether the step is possible; carry it out if so. @arg: which writer, link or message. */
static bool take_step(struct model *m, unsigned int who, enum step what, unsigned int arg)
{
	struct end *e = &m->end[who], *peer = &m->end[1 - who];
	u8 agree = e->agree[m->gen];
	unsigned int i;

	switch (what) {
	case W_ENTER:
		if (arg >= cfg->writers || e->wrote >= cfg->units[who] || !writer_may(e, arg, what))
			return false;
		e->gate++;
		e->inside[arg] = 1;
		return true;
	case W_COPY:
		if (arg >= WRITERS || e->wrote >= cfg->units[who] || !writer_may(e, arg, what))
			return false;
		LAW(e->s == NO_S);
		e->taken++;
		e->wrote++;
		e->inside[arg] = e->inside[arg] + 1;
		return true;
	case W_LEAVE:
		if (arg >= WRITERS || !writer_may(e, arg, what))
			return false;
		if (e->inside[arg] == 1 && !e->shut && !e->tcp_dead)
			e->wants_out = 1;
		e->inside[arg] = 0;
		e->gate = (u8)((e->gate & 0x80) | smc_upgrade_gate_leave(e->gate & 0x7f));
		if (!(e->gate & 0x7f))
			try_gate(m, e);
		return true;
	case W_RING:
		if (!(e->gate & 0x80) || e->shut || e->wrote >= cfg->units[who] || e->wants_out ||
		    !smc_conn_state_may_send((enum smc_conn_state)e->conn))
			return false;
		if (e->prepared - e->peer_consumed >= RING) {
			e->wants_out = 1;
			return true;
		}
		e->prepared++;
		e->wrote++;
		return true;
	case READ:
		if (e->closed || e->asleep || e->eof)
			return false;
		program_read(m, e);
		return true;
	case SHUT:
		if (!cfg->shut || e->shut)
			return false;
		program_end(m, e, SMC_UPGRADE_EV_SHUT);
		return true;
	case CLOSE:
		if (!cfg->close || e->closed || e->inside[0] || e->inside[1])
			return false;
		program_end(m, e, SMC_UPGRADE_EV_CLOSE);
		return true;
	case OPTION:
		if (!cfg->option || e->excluded || e->closed)
			return false;
		i = (unsigned int)-smc_upgrade_may_exclude(&(struct smc_upgrade){
			.agree = (enum smc_upgrade_agree)agree });
		if (i)
			return false;
		e->excluded = 1;
		if (agree == SMC_UPGRADE_ASKED || agree == SMC_UPGRADE_READY)
			up_event(m, e, SMC_UPGRADE_EV_WITHDRAW);
		return true;
	case REUSE:
		if (!cfg->reuse || who || m->gen || !tcp_over(m, e) || !tcp_over(m, peer) ||
		    m->rst[0] || m->rst[1])
			return false;
		m->gen = 1;
		m->natural = 0;
		m->went = 0;
		m->timed_out = 0;
		for (i = 0; i < 2; i++) {
			struct end *n = &m->end[i], was = *n;

			memset(n, 0, sizeof(*n));
			n->agree[0] = was.agree[0];
			n->claim[0] = was.claim[0];
			n->link = was.link;
			n->fenced = was.fenced;
			n->s = NO_S;
			n->rx_s = NO_S;
		}
		return true;
	case ASK:
		/* a slot is free when the last request in it is decided */
		if (who != CLIENT || agree != SMC_UPGRADE_TCP || e->claim[m->gen] || e->closed ||
		    e->excluded || e->tcp_dead || m->dead ||
		    (m->gen && (e->agree[0] != SMC_UPGRADE_TCP && !is_mutant(STALE_ANSWER))))
			return false;
		up_event(m, e, SMC_UPGRADE_EV_ASK);
		return true;
	case RST:
		if (!cfg->rst || e->tcp_dead || agree == SMC_UPGRADE_SMC)
			return false;
		/* somebody else resets: SOCK_DESTROY, a firewall */
		m->natural = 1;
		m->rst[who] = 1;
		return true;
	case TIMEOUT:
		if (!cfg->timeout || e->tcp_dead || e->acked >= e->taken + e->fin_queued)
			return false;
		m->natural = 1;
		m->timed_out = 1;
		e->tcp_dead = 1;
		if (agree != SMC_UPGRADE_SMC)
			report(m, e);
		up_event(m, e, SMC_UPGRADE_EV_TCP_ERROR);
		return true;
	case LOSE_LINK:
		if (!cfg->link_loss || who || m->lost || m->dead)
			return false;
		m->lost = 1;
		return true;
	case KILL_GROUP:
		if (!cfg->group_death || who || m->dead)
			return false;
		m->dead = 1;
		return true;
	case REPEAT: {
		u8 gen = (u8)arg, state;

		if (who != CLIENT || gen > m->gen || m->dead || (m->lost && !e->fenced))
			return false;
		state = e->agree[gen];
		if (state != SMC_UPGRADE_ASKED && state != SMC_UPGRADE_WITHDRAWN)
			return false;
		/* the time is over when nothing is under way, or earlier */
		if (m->llc[gen][state == SMC_UPGRADE_ASKED ? REQ : WD] & 1 << e->link)
			return false;
		for (i = YES; i < LLCS; i++)
			if (m->llc[gen][i] & 2 || (m->llc[gen][i] && !m->lost))
				return false;
		send_llc(m, e, gen, state == SMC_UPGRADE_ASKED ? REQ : WD);
		return true;
	}
	case GO:
		if (who != CLIENT || agree != SMC_UPGRADE_READY || m->drained[who])
			return false;
		m->went = 1;
		up_event(m, e, SMC_UPGRADE_EV_GO_POSTED);
		return true;
	case ARRIVE:
		if (peer->tcp_dead || e->tcp_dead ||
		    e->rcvd + e->fin_rcvd >= peer->taken + peer->fin_queued)
			return false;
		if (e->rcvd < peer->taken) {
			/* bytes for a socket that is gone */
			if (e->closed && !(e->gate & 0x80)) {
				m->natural = 1;
				send_rst(m, e);
				return true;
			}
			e->rcvd++;
		} else {
			e->fin_rcvd = 1;
			up_event(m, e, SMC_UPGRADE_EV_FIN);
		}
		e->asleep = 0;		/* the hook in the clcsock */
		look_at_tcp(m, e);
		return true;
	case ACKED:
		if (e->tcp_dead || e->acked >= peer->rcvd + peer->fin_rcvd)
			return false;
		e->acked = (u8)(peer->rcvd + peer->fin_rcvd);
		if (!(e->gate & 0x80))
			e->wants_out = 0;
		if (e->s != NO_S && e->acked >= e->s)
			up_event(m, e, SMC_UPGRADE_EV_TCP_ACKED);
		return true;
	case RST_ARRIVES:
		if (!m->rst[who])
			return false;
		m->rst[who] = 0;
		if (e->tcp_dead)
			return true;
		if (!peer->tcp_dead) {
			peer->tcp_dead = 1;	/* the one from outside hits both */
			if (peer->agree[m->gen] != SMC_UPGRADE_SMC)
				report(m, peer);
			up_event(m, peer, SMC_UPGRADE_EV_TCP_RST);
		}
		e->tcp_dead = 1;
		if (agree != SMC_UPGRADE_SMC && !e->err)
			report(m, e);
		up_event(m, e, SMC_UPGRADE_EV_TCP_RST);
		return true;
	case LLC: {
		unsigned int gen = arg / LLCS, kind = arg % LLCS, link;
		bool from_client = kind == REQ || kind == WD;

		if (gen >= GENS || m->drained[who] || from_client == is_client(m, e))
			return false;
		link = m->llc[gen][kind] & 1 ? 0 : 1;
		if (!m->llc[gen][kind])
			return false;
		m->llc[gen][kind] &= (u8)~(1 << link);
		if (who == SERVER)
			server_llc(m, gen, (enum llc)kind);
		else
			client_llc(m, gen, (enum llc)kind);
		return true;
	}
	case PUSH:
		if (!may_push(m, e))
			return false;
		push(m, e);
		return true;
	case DELIVER:
		if (arg >= LINKS || m->drained[who] || !e->queue[arg][0].valid)
			return false;
		deliver(m, e, arg);
		return true;
	case WAITED:
		if (!e->c_waits)
			return false;
		e->c_waited = 1;
		take_peer_state(m, e);
		return true;
	case FENCE:
		if (!m->lost || e->fenced || m->drained[who])
			return false;
		fence(m, e);
		return true;
	case DRAIN:
		if (!m->dead || m->drained[who])
			return false;
		drain(m, e);
		return true;
	case STEPS:
		break;
	}
	return false;
}

/* ---- invariants ---- */

static bool conn_is_over(const struct end *e)
{
	return smc_conn_state_ignores_peer((enum smc_conn_state)e->conn);
}

static void check_step(const struct model *m)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		const struct end *e = &m->end[i], *peer = &m->end[1 - i];

		/* nothing enters TCP after S, nothing is readable in the ring before it */
		LAW(e->s == NO_S || e->taken == e->s);
		LAW(e->rx_s == NO_S || e->rx_s == peer->s);
		LAW(!e->produced || e->rx_s != NO_S);
		LAW(e->wrote == e->taken + (e->s == NO_S ? 0 : e->prepared) ||
		    smc_conn_state_ignores_peer((enum smc_conn_state)e->conn));
		LAW(e->read <= peer->wrote);
		/* whoever sleeps has nothing to do */
		LAW(!e->asleep || !(readable(e) || at_end(e) || e->err_due));
		LAW(!e->wants_out || !is_writable(e));
		LAW(e->err <= 1);
		LAW(e->claim[0] <= KEPT && e->claim[1] <= KEPT);
		/* the peer writes only to an element that is ours */
		LAW(peer->agree[m->gen] != SMC_UPGRADE_SMC || !peer->sent || conn_is_over(peer) ||
		    e->claim[m->gen] != FREE);
		mixed += e->rx == SMC_UPGRADE_RX_TAIL && ring_readable(e);
	}
}

/* Nothing is under way: who waits, waits for a program. */
static void check_rest(const struct model *m)
{
	unsigned int i;

	rested++;
	for (i = 0; i < 2; i++) {
		const struct end *e = &m->end[i], *peer = &m->end[1 - i];
		bool fine = !e->tcp_dead && !peer->tcp_dead && !conn_is_over(e) &&
			    !conn_is_over(peer);

		/* never one end SMC and the other one TCP */
		if (e->agree[m->gen] == SMC_UPGRADE_SMC && !conn_is_over(e))
			LAW(peer->agree[m->gen] == SMC_UPGRADE_SMC ||
			    (peer->tcp_dead && (peer->err || peer->closed)));
		if (conn_is_over(e) && e->tcp_dead && !e->closed)
			LAW(e->err || e->eof);
		/* a program that writes or reads TCP learns that the other end is gone */
		if (e->agree[m->gen] == SMC_UPGRADE_SMC && e->conn == SMC_CONN_CLOSED &&
		    (e->tcp_dead || peer->agree[m->gen] != SMC_UPGRADE_SMC))
			LAW(peer->tcp_dead || peer->closed || m->timed_out);
		/* bytes before S come, or an error */
		if (e->agree[m->gen] == SMC_UPGRADE_SMC && !conn_is_over(e) &&
		    e->rx == SMC_UPGRADE_RX_TAIL)
			LAW(!e->tcp_dead &&
			    (!peer->tcp_dead || (peer->closed && m->timed_out)));
		/* who has sent what the other program has not waited for learns of it */
		if (!e->closed && peer->closed && e->agree[m->gen] == SMC_UPGRADE_SMC &&
		    e->s != NO_S && e->s > peer->read_tcp)
			LAW(e->err || conn_is_over(e));
		/* no request stays open */
		LAW(e->agree[0] != SMC_UPGRADE_ASKED && e->agree[0] != SMC_UPGRADE_READY);
		LAW(e->agree[0] != SMC_UPGRADE_WITHDRAWN && e->agree[1] != SMC_UPGRADE_WITHDRAWN);
		LAW(e->agree[0] != SMC_UPGRADE_ANSWERED && e->agree[1] != SMC_UPGRADE_ANSWERED);
		if (!fine || e->closed)
			continue;
		/* all bytes come, then the end */
		LAW(e->read + readable(e) / U == peer->wrote || readable(e) ||
		    peer->inside[0] || peer->inside[1]);
		if (peer->shut && !peer->inside[0] && !peer->inside[1] && e->read == peer->wrote)
			LAW(at_end(e) || e->eof);
	}
}

/* ---- exploration ---- */

static void model_init(struct model *m)
{
	unsigned int i;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < 2; i++) {
		m->end[i].s = NO_S;
		m->end[i].rx_s = NO_S;
	}
}

struct node {
	struct model m;
	u32 parent;
	u16 depth;
	u8 who, what, arg;
};

static struct node *nodes;
static u64 *table;
static u32 table_size;

static u64 hash_of(const struct model *m)
{
	const u8 *p = (const u8 *)m;
	u64 h = 0x9e3779b97f4a7c15ULL;
	size_t i;

	for (i = 0; i < sizeof(*m); i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ULL;
	h ^= h >> 32;
	return h ? h : 1;
}

/* Return whether the state is new. */
static bool remember(const struct model *m)
{
	u64 h = hash_of(m);
	u32 at = (u32)h & (table_size - 1);

	while (table[at]) {
		if (table[at] == h)
			return false;
		at = (at + 1) & (table_size - 1);
	}
	table[at] = h;
	return true;
}

static void print_trace(u32 at)
{
	if (at && nodes[at].what == STEPS)
		printf("#   start %u\n", at);
	else if (at)
		print_trace(nodes[at].parent);
	if (at && nodes[at].what != STEPS)
		printf("#   %s %s %u\n", nodes[at].who == CLIENT ? "client" : "server",
		       step_names[nodes[at].what], nodes[at].arg);
}

static unsigned int args_of(enum step what)
{
	switch (what) {
	case W_ENTER:
	case W_COPY:
	case W_LEAVE:
		return WRITERS;
	case DELIVER:
		return LINKS;
	case REPEAT:
		return GENS;
	case LLC:
		return GENS * LLCS;
	default:
		return 1;
	}
}

/*
 * The foreign machines are emulated, ten times as slow, and only differ in byte order and words:
 * they see fewer states, and do not look for errors that are planted in the rules.
 */
static bool is_emulated(void)
{
	const u16 one = 1;

	return sizeof(void *) == 4 || !*(const u8 *)&one;
}

static unsigned int deep(void)
{
	const char *s = getenv("UNIT_DEEP");

	return s && atoi(s) > 0 ? (unsigned int)atoi(s) : 1;
}

static unsigned long transitions;

struct course {
	u8 who, what, arg;
};

/* Where the exploration begins besides: states that take several steps. */
static const struct course starts[][10] = {
	/* the server has agreed */
	{ { CLIENT, ASK, 0 }, { SERVER, LLC, REQ }, { CLIENT, LLC, YES }, { 0, STEPS, 0 } },
	/* both have */
	{ { CLIENT, ASK, 0 }, { SERVER, LLC, REQ }, { CLIENT, LLC, YES }, { CLIENT, GO, 0 },
	  { CLIENT, PUSH, 0 }, { SERVER, DELIVER, 0 }, { 0, STEPS, 0 } },
	/* the client has, over a link that the server has not fenced */
	{ { CLIENT, ASK, 0 }, { SERVER, LLC, REQ }, { CLIENT, LLC, YES }, { CLIENT, LOSE_LINK, 0 },
	  { CLIENT, FENCE, 0 }, { CLIENT, GO, 0 }, { 0, STEPS, 0 } },
	/* the client has, and shut down; its last byte comes to a server that has closed */
	{ { CLIENT, ASK, 0 }, { SERVER, LLC, REQ }, { CLIENT, LLC, YES }, { CLIENT, W_ENTER, 0 },
	  { CLIENT, W_COPY, 0 }, { CLIENT, W_LEAVE, 0 }, { CLIENT, SHUT, 0 }, { SERVER, CLOSE, 0 },
	  { CLIENT, GO, 0 }, { 0, STEPS, 0 } },
};

static bool start_from(struct model *m, const struct course *course)
{
	model_init(m);
	for (; course->what != STEPS; course++)
		if (!take_step(m, course->who, (enum step)course->what, course->arg))
			return false;
	return !broken;
}

/* Explore; return the number of states. With a mutant, stop at the first broken invariant. */
static u32 explore(const struct config *c, bool quiet)
{
	u32 limit = c->whole ? c->states : c->states * deep() / (is_emulated() ? 4 : 1);
	u32 n = 1, at;
	bool found = false;

	cfg = c;
	broken = NULL;
	for (table_size = 1; table_size < 2 * limit; )
		table_size *= 2;
	table = calloc(table_size, sizeof(*table));
	nodes = calloc(limit, sizeof(*nodes));
	REQUIRE(table && nodes);
	model_init(&nodes[0].m);
	remember(&nodes[0].m);
	for (at = 0; at < ARRAY_SIZE(starts); at++)
		if (start_from(&nodes[n].m, starts[at]) && remember(&nodes[n].m))
			nodes[n++].what = STEPS;
	for (at = 0; at < n && !found; at++) {
		unsigned int who, arg;
		bool sure = false;
		int what;

		for (what = 0; what < STEPS && !found; what++) {
			for (who = 0; who < 2 && !found; who++) {
				for (arg = 0; arg < args_of((enum step)what); arg++) {
					struct model m = nodes[at].m;

					if (!take_step(&m, who, (enum step)what, arg))
						continue;
					transitions++;
					seen_step[what]++;
					sure |= what >= FIRST_SURE;
					if (!broken)
						check_step(&m);
					if (broken && !quiet) {
						FAIL("%s, after:", broken);
						print_trace(at);
						printf("#   %s %s %u\n", who ? "server" : "client",
						       step_names[what], arg);
					}
					found = broken;
					if (found)
						break;
					if (n < limit && remember(&m)) {
						nodes[n].m = m;
						nodes[n].parent = at;
						nodes[n].depth = nodes[at].depth + 1;
						nodes[n].who = (u8)who;
						nodes[n].what = (u8)what;
						nodes[n].arg = (u8)arg;
						n++;
					}
				}
			}
		}
		if (found || sure)
			continue;
		check_rest(&nodes[at].m);
		if (broken && !quiet) {
			FAIL("%s, at rest after:", broken);
			print_trace(at);
		}
		found = broken;
	}
	if (!quiet)
		printf("# %u states%s, %lu transitions, depth %u\n", n,
		       n == limit ? " (limit)" : "", transitions, nodes[n - 1].depth);
	free(table);
	free(nodes);
	return n;
}

/* Take a random step, of those that happen in the end if @sure; rare ones are rare. */
static bool step_at_random(struct model *m, bool sure)
{
	unsigned int first = unit_below(STEPS), i, j;

	for (i = 0; i < STEPS; i++) {
		enum step what = (enum step)((first + i) % STEPS);
		unsigned int who = unit_below(2), n = args_of(what), arg = unit_below(n);

		if (sure && what < FIRST_SURE)
			continue;
		if ((what >= RST && what < FIRST_SURE) || (what >= SHUT && what <= REUSE))
			if (what != REUSE && unit_below(12))
				continue;
		for (j = 0; j < 2 * n; j++)
			if (take_step(m, (who + j) % 2, what, (arg + j / 2) % n)) {
				seen_step[what]++;
				return true;
			}
	}
	return false;
}

/* Long random courses, which end at rest. Return false at the first broken invariant. */
static bool walk(const struct config *c, unsigned int rounds, bool quiet)
{
	unsigned int round, i, len;
	struct model m;

	cfg = c;
	broken = NULL;
	for (round = 0; round < rounds * deep(); round++) {
		u64 seed = round ? unit_rand() : unit_state;

		unit_state = seed;
		model_init(&m);
		len = unit_below(150);
		for (i = 0; i < 1000 && !broken; i++) {
			if (!step_at_random(&m, i >= len) && i >= len)
				break;
			transitions++;
			if (!broken)
				check_step(&m);
		}
		if (!broken && i < 1000)
			check_rest(&m);
		if (i == 1000)
			BREAK("no rest");
		if (broken) {
			if (!quiet)
				FAIL("%s: UNIT_SEED=0x%llx", broken, (unsigned long long)seed);
			return false;
		}
		unit_state = seed ^ (round * 0x9e3779b97f4a7c15ULL + 1);
	}
	return true;
}

static void run(const struct config *c)
{
	transitions = 0;
	explore(c, false);
	if (!broken)
		walk(c, c->states / 20, false);
}

/* Two writers, bytes in both directions; sequence numbers wrap, positions are small or large. */
static const struct config plain_config = {
	.units = { 4, 2 }, .writers = 2, .states = 60000,
};

static void plain(void)
{
	struct config c = plain_config;

	agreed = 0;
	mixed = 0;
	rested = 0;
	run(&c);
	c.base = 3;
	c.states /= 4;
	run(&c);
	CHECK(agreed > 1000);
	CHECK(mixed > 100 || is_emulated());
	CHECK(rested > 10);
}

/* Half-closed and closed connections, before, during and after the change. */
static const struct config ends_config = {
	.units = { 2, 2 }, .writers = 1, .shut = true, .close = true, .states = 100000,
};

static void ends(void)
{
	struct config c = ends_config;

	run(&c);
	c.early_fin = true;
	run(&c);
}

/* Only the latest message over a link counts, LLC messages are lost. */
static const struct config links_config = {
	.units = { 2, 2 }, .writers = 1, .link_loss = true, .shut = true, .close = true,
	.early_fin = true, .states = 100000,
};

static void links(void)
{
	run(&links_config);
}

static const struct config group_config = {
	.units = { 2, 1 }, .writers = 1, .link_loss = true, .group_death = true, .close = true,
	.early_fin = true, .states = 100000,
};

static void group(void)
{
	run(&group_config);
}

/* TCP fails while it still has bytes, or a message of the upgrade is under way. */
static const struct config tcp_config = {
	.units = { 2, 1 }, .writers = 1, .rst = true, .timeout = true, .shut = true,
	.states = 100000,
};

static void tcp_failures(void)
{
	run(&tcp_config);
}

/* Options that exclude SMC, and a second connection with the same ports while messages are late. */
static const struct config reuse_config = {
	.units = { 1, 1 }, .writers = 1, .option = true, .reuse = true, .close = true,
	.link_loss = true, .states = 100000,
};

static void reuse(void)
{
	memset(seen_step, 0, sizeof(seen_step));
	run(&reuse_config);
	CHECK(seen_step[REUSE] > 100);
}

static const struct config all_config = {
	.units = { 2, 2 }, .writers = 2, .shut = true, .close = true, .option = true, .reuse = true,
	.rst = true, .timeout = true, .link_loss = true, .group_death = true, .states = 100000,
};

static void everything(void)
{
	unsigned int i;

	memset(seen_step, 0, sizeof(seen_step));
	run(&all_config);
	for (i = 0; i < STEPS; i++)
		if (i != REUSE && !seen_step[i])
			FAIL("no step %s", step_names[i]);
}

/*
 * Scenarios of one writer each, of which every state is explored; many of them only with UNIT_DEEP.
 */
static void whole(void)
{
	enum { FEW = 300000, MANY = 30000000 };	/* more states than the scenario has */
	static const struct config scenarios[] = {
		{ .units = { 1, 1 }, .states = FEW },
		{ .units = { 2, 1 }, .states = FEW },
		{ .units = { 1, 1 }, .states = FEW, .group_death = true },
		{ .units = { 1, 1 }, .states = FEW, .timeout = true },
		{ .units = { 1, 1 }, .states = FEW, .option = true },
		{ .units = { 2, 2 }, .states = MANY },
		{ .units = { 1, 1 }, .states = MANY, .shut = true },
		{ .units = { 1, 1 }, .states = MANY, .close = true },
		{ .units = { 1, 1 }, .states = MANY, .shut = true, .close = true },
		{ .units = { 1, 1 }, .states = MANY, .shut = true, .close = true,
		  .early_fin = true },
		{ .units = { 1, 1 }, .states = MANY, .link_loss = true, .group_death = true },
		{ .units = { 1, 1 }, .states = MANY, .link_loss = true, .shut = true },
		{ .units = { 1, 1 }, .states = MANY, .group_death = true, .shut = true },
		{ .units = { 1, 1 }, .states = MANY, .group_death = true, .close = true },
		{ .units = { 1, 1 }, .states = MANY, .rst = true, .timeout = true },
		{ .units = { 1, 1 }, .states = MANY, .rst = true, .close = true },
		{ .units = { 1, 1 }, .states = MANY, .timeout = true, .shut = true },
	};
	unsigned int i;

	if (is_emulated())
		return;
	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		struct config c = scenarios[i];

		if (c.states == MANY && deep() == 1)
			continue;
		c.writers = 1;
		c.whole = true;
		transitions = 0;
		if (explore(&c, false) >= c.states)
			FAIL("scenario %u has more states", i);
	}
}

/* The model finds each error in one of the scenarios. */
static void finds_mutants(void)
{
	enum { ROUNDS = 20 };	/* other walks each time */
	static const struct config * const where[] = {
		&plain_config, &ends_config, &links_config, &group_config, &tcp_config,
		&reuse_config,
	};
	unsigned int i;
	int which;

	if (is_emulated())
		return;
	for (which = SOUND + 1; which < MUTANTS; which++) {
		broken = NULL;
		/* with one of five seeds A_WITH_D needs a second round */
		for (i = 0; i < ROUNDS * ARRAY_SIZE(where) && !broken; i++) {
			struct config c = *where[i % ARRAY_SIZE(where)];

			c.mutant = (enum mutant)which;
			if (which == SYN_COUNTS || which == S_WRAPS)
				c.base = 3;
			if (i < ARRAY_SIZE(where))
				explore(&c, true);
			/* an error that needs a long course */
			if (!broken)
				walk(&c, 3000, true);
		}
		if (broken)
			printf("# %s: %s\n", mutant_names[which], broken);
		else
			FAIL("%s is not found", mutant_names[which]);
	}
}

static const struct unit_case cases[] = {
	UNIT_CASE(plain),
	UNIT_CASE(ends),
	UNIT_CASE(links),
	UNIT_CASE(group),
	UNIT_CASE(tcp_failures),
	UNIT_CASE(reuse),
	UNIT_CASE(everything),
	UNIT_CASE(whole),
	UNIT_CASE(finds_mutants),
};

UNIT_MAIN("upgrade_model", cases)
