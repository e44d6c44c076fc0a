/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state transitions of RFC 7609 section 4.8, written down by hand from
 * figures 22 and 23 and their numbered paragraphs, without use of the table
 * under test. test_conn_fsm.c compares in both directions: every arc here that
 * is not RFC_LEFT_OUT must be in the table, and every change of state in the
 * table must be here.
 *
 * States are the boxes of the figures. Two letters per arc add what the boxes
 * do not show, the messages that this end and the peer have sent before the
 * event: '-' nothing, 'D' PeerDoneWriting, 'C' PeerConnectionClosed, '*' any.
 */
#ifndef SMC_SELFTESTS_RFC_ARCS_H
#define SMC_SELFTESTS_RFC_ARCS_H

enum rfc_kind {
	RFC_ARC,	/* in the RFC and in the table */
	RFC_LEFT_OUT,	/* in the RFC, on purpose not in the table */
	RFC_ADDED,	/* not in the RFC, but in the table */
};

/**
 * struct rfc_arc - one transition
 * @para: figure and paragraph of section 4.8.1 (22), 4.8.2 (23), or "4.8.3"
 * @from: box before
 * @we: what this end has sent before the event
 * @peer: what the peer has sent before the event
 * @event: name of the event
 * @to: box after
 * @kind: relation to the table
 * @why: reason, where @kind is not RFC_ARC
 */
struct rfc_arc {
	const char *para;
	const char *from;
	char we;
	char peer;
	const char *event;
	const char *to;
	enum rfc_kind kind;
	const char *why;
};

#define WHY_INIT \
	"The rendezvous has its own state here; in the RFC it is Closed until complete"
#define WHY_NO_ANSWER \
	"An end that has sent C never sends A (figure 23), so do not wait for its A"
#define WHY_AFTER_C \
	"This end has sent C: A would be illegal, so it can only wait or give up"
#define WHY_UNREAD \
	"Native peers: A after C is what a reset is on TCP, and says that bytes were lost"
#define WHY_RST_TAIL \
	"The peer closed in order; a TCP reset after that loses nothing"
#define WHY_ANSWER \
	"The peer would give up if our program never closes; nothing is left to send, so answer"
#define WHY_STUCK \
	"The send of our A may never complete; the peer is gone in any case"

static const struct rfc_arc rfc_arcs[] = {
	/* figure 22, path 2 */
	{ "22-2", "INIT", '-', '-', "ESTABLISHED", "ACTIVE", RFC_ARC, NULL },

	/* figure 22, active close: 3A */
	{ "22-3A", "ACTIVE", '-', '-', "SHUT_WR", "PEERCLOSEWAIT1", RFC_ARC, NULL },
	{ "22-3A", "ACTIVE", '-', '-', "CLOSE", "PEERCLOSEWAIT1", RFC_ARC, NULL },
	/* 3B */
	{ "22-3B", "PEERCLOSEWAIT1", 'D', '-', "PEER_DONE", "PEERCLOSEWAIT2", RFC_ARC, NULL },
	{ "22-3B", "PEERCLOSEWAIT1", 'C', '-', "PEER_DONE", "PEERCLOSEWAIT2", RFC_ARC, NULL },
	/* 3C, local application has closed: straight to Closed */
	{ "22-3C", "PEERCLOSEWAIT1", 'C', '-', "PEER_CLOSED", "CLOSED", RFC_ARC, NULL },
	{ "22-3C", "PEERCLOSEWAIT2", 'C', 'D', "PEER_CLOSED", "CLOSED", RFC_ARC, NULL },
	{ "22-3C", "PEERCLOSEWAIT1", 'C', '-', "PEER_CLOSED_EARLY", "CLOSED", RFC_ARC, NULL },
	{ "22-3C", "PEERCLOSEWAIT2", 'C', 'D', "PEER_CLOSED_EARLY", "CLOSED", RFC_ARC, NULL },
	/* 3C, local application has only shut down */
	{ "22-3C", "PEERCLOSEWAIT1", 'D', '-', "PEER_CLOSED", "APPFINCLOSEWAIT", RFC_ARC, NULL },
	{ "22-3C", "PEERCLOSEWAIT2", 'D', 'D', "PEER_CLOSED", "APPFINCLOSEWAIT", RFC_ARC, NULL },
	{ "22-3C", "PEERCLOSEWAIT1", 'D', '-', "PEER_CLOSED_EARLY", "APPFINCLOSEWAIT",
	  RFC_ARC, NULL },
	{ "22-3C", "PEERCLOSEWAIT2", 'D', 'D', "PEER_CLOSED_EARLY", "APPFINCLOSEWAIT",
	  RFC_ARC, NULL },
	/* 3D */
	{ "22-3D", "APPFINCLOSEWAIT", 'D', 'C', "CLOSE", "CLOSED", RFC_ARC, NULL },

	/* figure 22, passive close: 4A */
	{ "22-4A", "ACTIVE", '-', '-', "PEER_DONE", "APPCLOSEWAIT1", RFC_ARC, NULL },
	{ "22-4A", "ACTIVE", '-', '-', "PEER_CLOSED", "APPCLOSEWAIT1", RFC_ARC, NULL },
	/* 4A: "pending data to be written and PeerConnectionClosed is on": reset */
	{ "22-4A", "ACTIVE", '-', '-', "PEER_CLOSED_EARLY", "PEERABORTWAIT",
	  RFC_LEFT_OUT, WHY_NO_ANSWER },
	{ "22-4A", "ACTIVE", '-', '-', "PEER_CLOSED_EARLY", "PROCESSABORT",
	  RFC_ADDED, WHY_NO_ANSWER },
	{ "22-4A", "APPCLOSEWAIT1", '-', 'D', "PEER_CLOSED_EARLY", "PROCESSABORT",
	  RFC_ADDED, WHY_NO_ANSWER },
	{ "22-4A", "APPCLOSEWAIT1", '-', 'C', "PEER_CLOSED_EARLY", "PROCESSABORT",
	  RFC_ADDED, WHY_NO_ANSWER },
	/* 4B */
	{ "22-4B", "APPCLOSEWAIT1", '-', 'D', "SHUT_WR", "APPCLOSEWAIT2", RFC_ARC, NULL },
	{ "22-4B", "APPCLOSEWAIT1", '-', 'C', "SHUT_WR", "APPCLOSEWAIT2", RFC_ARC, NULL },
	/* 4C */
	{ "22-4C", "APPCLOSEWAIT1", '-', 'D', "CLOSE", "PEERFINCLOSEWAIT", RFC_ARC, NULL },
	{ "22-4C", "APPCLOSEWAIT2", 'D', 'D', "CLOSE", "PEERFINCLOSEWAIT", RFC_ARC, NULL },
	{ "22-4C", "APPCLOSEWAIT1", '-', 'C', "CLOSE", "CLOSED", RFC_ARC, NULL },
	{ "22-4C", "APPCLOSEWAIT2", 'D', 'C', "CLOSE", "CLOSED", RFC_ARC, NULL },
	/* 4D */
	{ "22-4D", "PEERFINCLOSEWAIT", 'C', 'D', "PEER_CLOSED", "CLOSED", RFC_ARC, NULL },
	{ "22-4D", "PEERFINCLOSEWAIT", 'C', 'D', "PEER_CLOSED_EARLY", "CLOSED", RFC_ARC, NULL },

	/* end of 4.8.1: "a timer that will prevent it from waiting" */
	{ "22-note", "PEERCLOSEWAIT1", 'C', '-', "TIMEOUT", "CLOSED", RFC_ARC, NULL },
	{ "22-note", "PEERCLOSEWAIT2", 'C', 'D', "TIMEOUT", "CLOSED", RFC_ARC, NULL },
	{ "22-note", "PEERFINCLOSEWAIT", 'C', 'D', "TIMEOUT", "CLOSED", RFC_ARC, NULL },
	{ "22-note", "APPCLOSEWAIT1", '-', 'C', "TIMEOUT", "CLOSED", RFC_ADDED, WHY_ANSWER },
	{ "22-note", "APPCLOSEWAIT2", 'D', 'C', "TIMEOUT", "CLOSED", RFC_ADDED, WHY_ANSWER },
	{ "22-note", "APPFINCLOSEWAIT", 'D', 'C', "TIMEOUT", "CLOSED", RFC_ADDED, WHY_ANSWER },

	/* figure 23, active abort: 1A, from any state before we set C */
	{ "23-1A", "ACTIVE", '-', '-', "ABORT", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-1A", "PEERCLOSEWAIT1", 'D', '-', "ABORT", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-1A", "PEERCLOSEWAIT2", 'D', 'D', "ABORT", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-1A", "APPCLOSEWAIT1", '-', 'D', "ABORT", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-1A", "APPCLOSEWAIT2", 'D', 'D', "ABORT", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-1A", "APPFINCLOSEWAIT", 'D', 'C', "ABORT", "PEERABORTWAIT",
	  RFC_LEFT_OUT, WHY_NO_ANSWER },
	{ "23-1A", "APPCLOSEWAIT1", '-', 'C', "ABORT", "PEERABORTWAIT",
	  RFC_LEFT_OUT, WHY_NO_ANSWER },
	{ "23-1A", "APPCLOSEWAIT2", 'D', 'C', "ABORT", "PEERABORTWAIT",
	  RFC_LEFT_OUT, WHY_NO_ANSWER },
	{ "23-1A", "APPFINCLOSEWAIT", 'D', 'C', "ABORT", "PROCESSABORT",
	  RFC_ADDED, WHY_NO_ANSWER },
	{ "23-1A", "APPCLOSEWAIT1", '-', 'C', "ABORT", "PROCESSABORT",
	  RFC_ADDED, WHY_NO_ANSWER },
	{ "23-1A", "APPCLOSEWAIT2", 'D', 'C', "ABORT", "PROCESSABORT",
	  RFC_ADDED, WHY_NO_ANSWER },
	/* an error after C: the figure has no arc */
	{ "23-1A", "PEERCLOSEWAIT1", 'C', '-', "ABORT", "CLOSED", RFC_ADDED, WHY_AFTER_C },
	{ "23-1A", "PEERCLOSEWAIT2", 'C', 'D', "ABORT", "CLOSED", RFC_ADDED, WHY_AFTER_C },
	{ "23-1A", "PEERFINCLOSEWAIT", 'C', 'D', "ABORT", "CLOSED", RFC_ADDED, WHY_AFTER_C },
	/* text after 2B: the peer's TCP RST starts an abort too */
	{ "23-1A", "PEERCLOSEWAIT1", 'C', '-', "UNREAD", "PEERABORTWAIT",
	  RFC_ADDED, WHY_UNREAD },
	{ "23-1A", "PEERCLOSEWAIT2", 'C', 'D', "UNREAD", "PEERABORTWAIT",
	  RFC_ADDED, WHY_UNREAD },
	{ "23-1A", "PEERFINCLOSEWAIT", 'C', 'D', "UNREAD", "PEERABORTWAIT",
	  RFC_ADDED, WHY_UNREAD },

	{ "23-RST", "ACTIVE", '-', '-', "CLCSOCK_RST", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-RST", "PEERCLOSEWAIT1", 'D', '-', "CLCSOCK_RST", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-RST", "PEERCLOSEWAIT2", 'D', 'D', "CLCSOCK_RST", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-RST", "APPCLOSEWAIT1", '-', 'D', "CLCSOCK_RST", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-RST", "APPCLOSEWAIT2", 'D', 'D', "CLCSOCK_RST", "PEERABORTWAIT", RFC_ARC, NULL },
	{ "23-RST", "APPFINCLOSEWAIT", 'D', 'C', "CLCSOCK_RST", "PEERABORTWAIT",
	  RFC_LEFT_OUT, WHY_RST_TAIL },
	{ "23-RST", "APPCLOSEWAIT1", '-', 'C', "CLCSOCK_RST", "PEERABORTWAIT",
	  RFC_LEFT_OUT, WHY_RST_TAIL },
	{ "23-RST", "APPCLOSEWAIT2", 'D', 'C', "CLCSOCK_RST", "PEERABORTWAIT",
	  RFC_LEFT_OUT, WHY_RST_TAIL },
	/* 1B and its timer */
	{ "23-1B", "PEERABORTWAIT", '*', '*', "PEER_ABORT", "CLOSED", RFC_ARC, NULL },
	{ "23-1B", "PEERABORTWAIT", '*', '*', "TIMEOUT", "CLOSED", RFC_ARC, NULL },
	{ "23-1B", "PEERABORTWAIT", '*', '*', "PEER_CLOSED", "CLOSED",
	  RFC_ADDED, WHY_NO_ANSWER },
	{ "23-1B", "PEERABORTWAIT", '*', '*', "PEER_CLOSED_EARLY", "CLOSED",
	  RFC_ADDED, WHY_NO_ANSWER },

	/* figure 23, passive abort: 2A, from any state before we set C */
	{ "23-2A", "ACTIVE", '-', '-', "PEER_ABORT", "PROCESSABORT", RFC_ARC, NULL },
	{ "23-2A", "PEERCLOSEWAIT1", 'D', '-', "PEER_ABORT", "PROCESSABORT", RFC_ARC, NULL },
	{ "23-2A", "PEERCLOSEWAIT2", 'D', 'D', "PEER_ABORT", "PROCESSABORT", RFC_ARC, NULL },
	{ "23-2A", "APPFINCLOSEWAIT", 'D', 'C', "PEER_ABORT", "PROCESSABORT", RFC_ARC, NULL },
	{ "23-2A", "APPCLOSEWAIT1", '-', 'D', "PEER_ABORT", "PROCESSABORT", RFC_ARC, NULL },
	{ "23-2A", "APPCLOSEWAIT1", '-', 'C', "PEER_ABORT", "PROCESSABORT", RFC_ARC, NULL },
	{ "23-2A", "APPCLOSEWAIT2", 'D', 'D', "PEER_ABORT", "PROCESSABORT", RFC_ARC, NULL },
	{ "23-2A", "APPCLOSEWAIT2", 'D', 'C', "PEER_ABORT", "PROCESSABORT", RFC_ARC, NULL },
	/* the peer aborts, we have sent C: the figure has no arc */
	{ "23-2A", "PEERCLOSEWAIT1", 'C', '-', "PEER_ABORT", "CLOSED", RFC_ADDED, WHY_AFTER_C },
	{ "23-2A", "PEERCLOSEWAIT2", 'C', 'D', "PEER_ABORT", "CLOSED", RFC_ADDED, WHY_AFTER_C },
	{ "23-2A", "PEERFINCLOSEWAIT", 'C', 'D', "PEER_ABORT", "CLOSED",
	  RFC_ADDED, WHY_AFTER_C },
	/* 2B */
	{ "23-2B", "PROCESSABORT", '*', '*', "ABORT_SENT", "CLOSED", RFC_ARC, NULL },
	{ "23-2B", "PROCESSABORT", '*', '*', "TIMEOUT", "CLOSED", RFC_ADDED, WHY_STUCK },

	/* 4.8.3: no link of the group reaches the peer any more */
	{ "4.8.3", "ACTIVE", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },
	{ "4.8.3", "PEERCLOSEWAIT1", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },
	{ "4.8.3", "PEERCLOSEWAIT2", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },
	{ "4.8.3", "APPFINCLOSEWAIT", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },
	{ "4.8.3", "APPCLOSEWAIT1", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },
	{ "4.8.3", "APPCLOSEWAIT2", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },
	{ "4.8.3", "PEERFINCLOSEWAIT", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },
	{ "4.8.3", "PEERABORTWAIT", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },
	{ "4.8.3", "PROCESSABORT", '*', '*', "GROUP_LOST", "CLOSED", RFC_ARC, NULL },

	/* ends of the rendezvous, which the figures do not show */
	{ "-", "INIT", '-', '-', "CLOSE", "CLOSED", RFC_ADDED, WHY_INIT },
	{ "-", "INIT", '-', '-', "ABORT", "CLOSED", RFC_ADDED, WHY_INIT },
	{ "-", "INIT", '-', '-', "CLCSOCK_RST", "CLOSED", RFC_ADDED, WHY_INIT },
	{ "-", "INIT", '-', '-', "GROUP_LOST", "CLOSED", RFC_ADDED, WHY_INIT },
	{ "-", "INIT", '-', '-', "PEER_ABORT", "PROCESSABORT", RFC_ADDED, WHY_INIT },
};

#endif /* SMC_SELFTESTS_RFC_ARCS_H */
