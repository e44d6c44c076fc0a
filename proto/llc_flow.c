// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serialisation of LLC exchanges as tables; llc_flow.h describes inputs and verdicts.
 *
 * One table per role, since the server controls the configuration: only the server starts exchanges
 * that change the set of links; ADD LINK and DELETE LINK of a client are requests to it (RFC 7609
 * section 3.5.5.3).
 *
 * Where the RFC leaves a choice:
 *
 * - "CONFIRM LINK from the peer that did not start the current CONFIRM LINK exchange" (3.5.5.3.3)
 *   can only reach a client, which queues it. With no exchange running it is a repetition by the
 *   server, answered at once.
 * - The client answers an RKEY request of the server at once, whatever runs: the server started
 *   what runs, and takes it into account.
 * - Responses without a pending request are dropped and not treated as violations: they may answer
 *   a request that was given up.
 */
#include <smc/proto/llc_flow.h>

#define R	SMC_LLC_RUN
#define P	SMC_LLC_PREEMPT
#define J	SMC_LLC_JOIN
#define A	SMC_LLC_PASS
#define Q	SMC_LLC_QUEUE
#define N	SMC_LLC_REFUSE
#define D	SMC_LLC_DROP
#define T	SMC_LLC_TERMINATE
#define V	SMC_LLC_VIOLATION

#define IN(name)							\
	[SMC_LLC_IN_##name]
#define DO(name)							\
	[SMC_LLC_DO_##name]

/* Columns: IDLE, FIRST, ADD_LINK, DELETE_LINK, RKEY */
static const u8 llc_flow_server[SMC_LLC_INPUTS][SMC_LLC_EXCHANGES] = {
	IN(TEST_LINK)		= { A, A, A, A, A },
	IN(TEST_LINK_RSP)	= { A, A, A, A, A },
	IN(CONFIRM_LINK)	= { V, V, V, V, V },
	IN(CONFIRM_LINK_RSP)	= { D, J, J, D, D },
	/* Queue a client's request that cannot be followed now. */
	IN(ADD_LINK)		= { R, A, A, Q, Q },
	IN(ADD_LINK_RSP)	= { D, J, J, D, D },
	IN(ADD_LINK_CONT)	= { V, V, V, V, V },
	IN(ADD_LINK_CONT_RSP)	= { D, J, J, D, D },
	IN(REQ_ADD_LINK)	= { R, A, A, Q, Q },
	IN(REQ_ADD_LINK_RSP)	= { V, V, V, V, V },
	IN(DELETE_LINK)		= { R, Q, Q, Q, Q },
	IN(DELETE_LINK_NEW)	= { R, J, J, Q, Q },
	IN(DELETE_LINK_ALL)	= { T, T, T, T, T },
	IN(DELETE_LINK_RSP)	= { D, J, J, J, D },
	IN(RKEY)		= { A, N, N, N, A },
	IN(RKEY_RSP)		= { D, D, D, D, J },
	IN(OTHER)		= { D, D, D, D, D },
	DO(TEST_LINK)		= { A, A, A, A, A },
	DO(ADD_LINK)		= { R, Q, Q, Q, Q },
	DO(DELETE_LINK)		= { R, Q, Q, Q, Q },
	DO(DELETE_LINK_ALL)	= { T, T, T, T, T },
	DO(RKEY)		= { R, Q, Q, Q, Q },
};

/* Columns: IDLE, FIRST, ADD_LINK, DELETE_LINK, RKEY */
static const u8 llc_flow_client[SMC_LLC_INPUTS][SMC_LLC_EXCHANGES] = {
	IN(TEST_LINK)		= { A, A, A, A, A },
	IN(TEST_LINK_RSP)	= { A, A, A, A, A },
	IN(CONFIRM_LINK)	= { A, J, J, Q, Q },
	IN(CONFIRM_LINK_RSP)	= { V, V, V, V, V },
	IN(ADD_LINK)		= { R, J, Q, Q, P },
	IN(ADD_LINK_RSP)	= { D, D, D, D, D },
	IN(ADD_LINK_CONT)	= { D, J, J, D, D },
	IN(ADD_LINK_CONT_RSP)	= { V, V, V, V, V },
	IN(REQ_ADD_LINK)	= { V, V, V, V, V },
	IN(REQ_ADD_LINK_RSP)	= { J, J, J, J, J },
	IN(DELETE_LINK)		= { R, Q, Q, Q, P },
	IN(DELETE_LINK_NEW)	= { R, J, J, Q, P },
	IN(DELETE_LINK_ALL)	= { T, T, T, T, T },
	IN(DELETE_LINK_RSP)	= { D, D, D, D, D },
	IN(RKEY)		= { A, A, A, A, A },
	/* A preempted RKEY exchange gets its response while another exchange runs. */
	IN(RKEY_RSP)		= { D, D, J, J, J },
	IN(OTHER)		= { D, D, D, D, D },
	DO(TEST_LINK)		= { A, A, A, A, A },
	DO(ADD_LINK)		= { A, D, D, Q, A },
	DO(DELETE_LINK)		= { A, A, A, A, A },
	DO(DELETE_LINK_ALL)	= { T, T, T, T, T },
	DO(RKEY)		= { R, Q, Q, Q, Q },
};

/**
 * smc_llc_flow_decide() - Decide about a received message or a local request
 * @role: our role in the link group
 * @running: exchange in the slot of the link group
 * @input: received message, or message that we want to send
 * @quirks: SMC_LLC_QUIRK_* of the peer
 *
 * The caller serialises calls for one link group.
 *
 * Return: the verdict.
 */
enum smc_llc_verdict smc_llc_flow_decide(enum smc_llc_role role, enum smc_llc_exchange running,
					 enum smc_llc_input input, u32 quirks)
{
	enum smc_llc_verdict verdict;

	if ((unsigned int)running >= SMC_LLC_EXCHANGES || (unsigned int)input >= SMC_LLC_INPUTS)
		return SMC_LLC_DROP;
	verdict = (enum smc_llc_verdict)(role == SMC_LLC_SERVER ? llc_flow_server[input][running] :
								  llc_flow_client[input][running]);
	if (verdict == SMC_LLC_REFUSE && (quirks & SMC_LLC_QUIRK_NO_RETRY))
		return SMC_LLC_PASS;
	return verdict;
}

/**
 * smc_llc_input_is_received() - Check whether an input is a received message
 * @input: received message or local request
 *
 * Return: true if it was received.
 */
bool smc_llc_input_is_received(enum smc_llc_input input)
{
	return input <= SMC_LLC_IN_OTHER;
}

/**
 * smc_llc_flow_exchange() - Return the exchange that fills the slot after RUN or PREEMPT
 * @input: the input that got the verdict
 *
 * Return: the exchange, SMC_LLC_X_IDLE for an input that starts none.
 */
enum smc_llc_exchange smc_llc_flow_exchange(enum smc_llc_input input)
{
	switch (input) {
	case SMC_LLC_IN_ADD_LINK:
	case SMC_LLC_IN_REQ_ADD_LINK:
	case SMC_LLC_DO_ADD_LINK:
		return SMC_LLC_X_ADD_LINK;
	case SMC_LLC_IN_DELETE_LINK:
	case SMC_LLC_IN_DELETE_LINK_NEW:
	case SMC_LLC_DO_DELETE_LINK:
		return SMC_LLC_X_DELETE_LINK;
	case SMC_LLC_DO_RKEY:
		return SMC_LLC_X_RKEY;
	case SMC_LLC_IN_TEST_LINK:
	case SMC_LLC_IN_TEST_LINK_RSP:
	case SMC_LLC_IN_CONFIRM_LINK:
	case SMC_LLC_IN_CONFIRM_LINK_RSP:
	case SMC_LLC_IN_ADD_LINK_RSP:
	case SMC_LLC_IN_ADD_LINK_CONT:
	case SMC_LLC_IN_ADD_LINK_CONT_RSP:
	case SMC_LLC_IN_REQ_ADD_LINK_RSP:
	case SMC_LLC_IN_DELETE_LINK_ALL:
	case SMC_LLC_IN_DELETE_LINK_RSP:
	case SMC_LLC_IN_RKEY:
	case SMC_LLC_IN_RKEY_RSP:
	case SMC_LLC_IN_OTHER:
	case SMC_LLC_DO_TEST_LINK:
	case SMC_LLC_DO_DELETE_LINK_ALL:
	case SMC_LLC_INPUTS:
		break;
	}
	return SMC_LLC_X_IDLE;
}

/**
 * smc_llc_role_str() - Return the name of a role
 * @role: role
 *
 * Return: constant string.
 */
const char *smc_llc_role_str(enum smc_llc_role role)
{
	switch (role) {
	case SMC_LLC_SERVER:
		return "server";
	case SMC_LLC_CLIENT:
		return "client";
	case SMC_LLC_ROLES:
		break;
	}
	return "?";
}

/**
 * smc_llc_exchange_str() - Return the name of an exchange
 * @exchange: exchange
 *
 * Return: constant string.
 */
const char *smc_llc_exchange_str(enum smc_llc_exchange exchange)
{
	switch (exchange) {
	case SMC_LLC_X_IDLE:
		return "IDLE";
	case SMC_LLC_X_FIRST:
		return "FIRST";
	case SMC_LLC_X_ADD_LINK:
		return "ADD_LINK";
	case SMC_LLC_X_DELETE_LINK:
		return "DELETE_LINK";
	case SMC_LLC_X_RKEY:
		return "RKEY";
	case SMC_LLC_EXCHANGES:
		break;
	}
	return "?";
}

/**
 * smc_llc_input_str() - Return the name of an input
 * @input: received message or local request
 *
 * Return: constant string.
 */
const char *smc_llc_input_str(enum smc_llc_input input)
{
	switch (input) {
	case SMC_LLC_IN_TEST_LINK:
		return "TEST LINK";
	case SMC_LLC_IN_TEST_LINK_RSP:
		return "TEST LINK response";
	case SMC_LLC_IN_CONFIRM_LINK:
		return "CONFIRM LINK";
	case SMC_LLC_IN_CONFIRM_LINK_RSP:
		return "CONFIRM LINK response";
	case SMC_LLC_IN_ADD_LINK:
		return "ADD LINK";
	case SMC_LLC_IN_ADD_LINK_RSP:
		return "ADD LINK response";
	case SMC_LLC_IN_ADD_LINK_CONT:
		return "ADD LINK CONT";
	case SMC_LLC_IN_ADD_LINK_CONT_RSP:
		return "ADD LINK CONT response";
	case SMC_LLC_IN_REQ_ADD_LINK:
		return "REQUEST ADD LINK";
	case SMC_LLC_IN_REQ_ADD_LINK_RSP:
		return "REQUEST ADD LINK response";
	case SMC_LLC_IN_DELETE_LINK:
		return "DELETE LINK";
	case SMC_LLC_IN_DELETE_LINK_NEW:
		return "DELETE LINK of the new link";
	case SMC_LLC_IN_DELETE_LINK_ALL:
		return "DELETE LINK all";
	case SMC_LLC_IN_DELETE_LINK_RSP:
		return "DELETE LINK response";
	case SMC_LLC_IN_RKEY:
		return "CONFIRM/DELETE RKEY";
	case SMC_LLC_IN_RKEY_RSP:
		return "CONFIRM/DELETE RKEY response";
	case SMC_LLC_IN_OTHER:
		return "unknown type";
	case SMC_LLC_DO_TEST_LINK:
		return "(we) TEST LINK";
	case SMC_LLC_DO_ADD_LINK:
		return "(we) ADD LINK";
	case SMC_LLC_DO_DELETE_LINK:
		return "(we) DELETE LINK";
	case SMC_LLC_DO_DELETE_LINK_ALL:
		return "(we) DELETE LINK all";
	case SMC_LLC_DO_RKEY:
		return "(we) CONFIRM/DELETE RKEY";
	case SMC_LLC_INPUTS:
		break;
	}
	return "?";
}

/**
 * smc_llc_verdict_str() - Return the name of a verdict
 * @verdict: verdict
 *
 * Return: constant string.
 */
const char *smc_llc_verdict_str(enum smc_llc_verdict verdict)
{
	switch (verdict) {
	case SMC_LLC_RUN:
		return "RUN";
	case SMC_LLC_PREEMPT:
		return "PREEMPT";
	case SMC_LLC_JOIN:
		return "JOIN";
	case SMC_LLC_PASS:
		return "PASS";
	case SMC_LLC_QUEUE:
		return "QUEUE";
	case SMC_LLC_REFUSE:
		return "REFUSE";
	case SMC_LLC_DROP:
		return "DROP";
	case SMC_LLC_TERMINATE:
		return "TERMINATE";
	case SMC_LLC_VIOLATION:
		return "VIOLATION";
	case SMC_LLC_VERDICTS:
		break;
	}
	return "?";
}
