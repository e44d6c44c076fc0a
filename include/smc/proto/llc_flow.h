/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Serialisation of LLC exchanges and their collisions (RFC 7609 section 3.5.5.3; recovery in C.7).
 *
 * A link group has one slot for the exchange that changes its configuration. smc_llc_flow_decide()
 * decides what happens to a received message, or to a local request to send one, given the exchange
 * in the slot. It does not check the contents of messages.
 */
#ifndef SMC_PROTO_LLC_FLOW_H
#define SMC_PROTO_LLC_FLOW_H

#include <smc/proto/types.h>

enum smc_llc_role {
	SMC_LLC_SERVER,
	SMC_LLC_CLIENT,
	SMC_LLC_ROLES
};

/* Exchange in the slot of a link group. */
enum smc_llc_exchange {
	SMC_LLC_X_IDLE,
	SMC_LLC_X_FIRST,	/* first contact: CONFIRM LINK of link 1, then ADD LINK */
	SMC_LLC_X_ADD_LINK,	/* ADD LINK .. CONFIRM LINK of a further link */
	SMC_LLC_X_DELETE_LINK,	/* DELETE LINK of one link, started by the server */
	SMC_LLC_X_RKEY,		/* our own CONFIRM RKEY or DELETE RKEY */
	SMC_LLC_EXCHANGES
};

enum smc_llc_input {
	/* received messages; RKEY stands for CONFIRM RKEY and DELETE RKEY */
	SMC_LLC_IN_TEST_LINK,
	SMC_LLC_IN_TEST_LINK_RSP,
	SMC_LLC_IN_CONFIRM_LINK,
	SMC_LLC_IN_CONFIRM_LINK_RSP,
	SMC_LLC_IN_ADD_LINK,	/* from a client: request to the server to add a link */
	SMC_LLC_IN_ADD_LINK_RSP, /* accepted or rejected */
	SMC_LLC_IN_ADD_LINK_CONT,
	SMC_LLC_IN_ADD_LINK_CONT_RSP,
	SMC_LLC_IN_REQ_ADD_LINK,
	SMC_LLC_IN_REQ_ADD_LINK_RSP,
	SMC_LLC_IN_DELETE_LINK,	/* one link, not the one being added */
	SMC_LLC_IN_DELETE_LINK_NEW, /* the link that the running exchange is adding */
	SMC_LLC_IN_DELETE_LINK_ALL,
	SMC_LLC_IN_DELETE_LINK_RSP,
	SMC_LLC_IN_RKEY,
	SMC_LLC_IN_RKEY_RSP,
	SMC_LLC_IN_OTHER,	/* unknown type */
	/* local requests to send */
	SMC_LLC_DO_TEST_LINK,
	SMC_LLC_DO_ADD_LINK,	/* server: start; client: request to the server */
	SMC_LLC_DO_DELETE_LINK,	/* server: start; client: request to the server */
	SMC_LLC_DO_DELETE_LINK_ALL,
	SMC_LLC_DO_RKEY,
	SMC_LLC_INPUTS
};

enum smc_llc_verdict {
	SMC_LLC_RUN,		/* take the slot and start now */
	SMC_LLC_PREEMPT,	/* take the slot now; the exchange that ran waits for its response
				 * in parallel, and is repeated afterwards if that is negative
				 */
	SMC_LLC_JOIN,		/* pass to the exchange that waits for it, drop if none does */
	SMC_LLC_PASS,		/* act or answer at once, regardless of the slot */
	SMC_LLC_QUEUE,		/* decide again when the slot is free */
	SMC_LLC_REFUSE,		/* answer negatively: the peer has to repeat it later */
	SMC_LLC_DROP,		/* ignore silently */
	SMC_LLC_TERMINATE,	/* terminate the group now, whatever runs */
	SMC_LLC_VIOLATION,	/* no conforming peer sends this to our role: drop and count */
	SMC_LLC_VERDICTS
};

/*
 * The peer does not repeat a refused CONFIRM RKEY but fails the connection: where the RFC says
 * refuse, accept the RMB although the rkey of the new link may be missing. Such a peer lists the
 * RMB again in the rtokens of its ADD LINK.
 */
#define SMC_LLC_QUIRK_NO_RETRY	0x1

enum smc_llc_verdict smc_llc_flow_decide(enum smc_llc_role role, enum smc_llc_exchange running,
					 enum smc_llc_input input, u32 quirks);
bool smc_llc_input_is_received(enum smc_llc_input input);
enum smc_llc_exchange smc_llc_flow_exchange(enum smc_llc_input input);

const char *smc_llc_role_str(enum smc_llc_role role);
const char *smc_llc_exchange_str(enum smc_llc_exchange exchange);
const char *smc_llc_input_str(enum smc_llc_input input);
const char *smc_llc_verdict_str(enum smc_llc_verdict verdict);

#endif /* SMC_PROTO_LLC_FLOW_H */
