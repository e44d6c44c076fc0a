// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serialisation of LLC exchanges: proto/llc_flow.c against the collisions
 * that RFC 7609 section 3.5.5.3 lists, and two ends against each other.
 */
#include "unit.h"

#include <smc/proto/llc_flow.h>

#define S	SMC_LLC_SERVER
#define C	SMC_LLC_CLIENT

/* One paragraph of the RFC each; FIRST includes an ADD LINK exchange. */
static const struct {
	const char *para;
	enum smc_llc_role role;
	enum smc_llc_exchange running;
	enum smc_llc_input input;
	enum smc_llc_verdict verdict;
} rfc[] = {
	/* 3.5.5.3: independent messages, nothing running */
	{ "3.5.5.3", S, SMC_LLC_X_IDLE, SMC_LLC_IN_TEST_LINK, SMC_LLC_PASS },
	{ "3.5.5.3", C, SMC_LLC_X_IDLE, SMC_LLC_IN_TEST_LINK, SMC_LLC_PASS },
	{ "3.5.5.3", C, SMC_LLC_X_IDLE, SMC_LLC_DO_ADD_LINK, SMC_LLC_PASS },
	{ "3.5.5.3", C, SMC_LLC_X_IDLE, SMC_LLC_DO_DELETE_LINK, SMC_LLC_PASS },
	{ "3.5.5.3", S, SMC_LLC_X_IDLE, SMC_LLC_IN_DELETE_LINK, SMC_LLC_RUN },
	{ "3.5.5.3", C, SMC_LLC_X_IDLE, SMC_LLC_IN_DELETE_LINK_ALL, SMC_LLC_TERMINATE },
	/* "must not start another exchange" */
	{ "3.5.5.3", S, SMC_LLC_X_ADD_LINK, SMC_LLC_DO_DELETE_LINK, SMC_LLC_QUEUE },
	{ "3.5.5.3", S, SMC_LLC_X_DELETE_LINK, SMC_LLC_DO_ADD_LINK, SMC_LLC_QUEUE },
	{ "3.5.5.3", S, SMC_LLC_X_ADD_LINK, SMC_LLC_DO_RKEY, SMC_LLC_QUEUE },
	{ "3.5.5.3", C, SMC_LLC_X_DELETE_LINK, SMC_LLC_DO_RKEY, SMC_LLC_QUEUE },
	/* both may change their own RMBs at the same time */
	{ "3.5.5.3", S, SMC_LLC_X_RKEY, SMC_LLC_IN_RKEY, SMC_LLC_PASS },
	{ "3.5.5.3", C, SMC_LLC_X_RKEY, SMC_LLC_IN_RKEY, SMC_LLC_PASS },

	/* 3.5.5.3.1: during ADD LINK */
	{ "3.5.5.3.1", S, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_TEST_LINK, SMC_LLC_PASS },
	{ "3.5.5.3.1", C, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_TEST_LINK, SMC_LLC_PASS },
	{ "3.5.5.3.1", S, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_ADD_LINK, SMC_LLC_PASS },
	{ "3.5.5.3.1", S, SMC_LLC_X_FIRST, SMC_LLC_IN_ADD_LINK, SMC_LLC_PASS },
	{ "3.5.5.3.1", C, SMC_LLC_X_ADD_LINK, SMC_LLC_DO_ADD_LINK, SMC_LLC_DROP },
	{ "3.5.5.3.1", S, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_DELETE_LINK, SMC_LLC_QUEUE },
	{ "3.5.5.3.1", S, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_DELETE_LINK_ALL, SMC_LLC_TERMINATE },
	{ "3.5.5.3.1", S, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_RKEY, SMC_LLC_REFUSE },

	/* 3.5.5.3.2: during DELETE LINK */
	{ "3.5.5.3.2", S, SMC_LLC_X_DELETE_LINK, SMC_LLC_IN_TEST_LINK, SMC_LLC_PASS },
	{ "3.5.5.3.2", C, SMC_LLC_X_DELETE_LINK, SMC_LLC_IN_TEST_LINK, SMC_LLC_PASS },
	{ "3.5.5.3.2", S, SMC_LLC_X_DELETE_LINK, SMC_LLC_IN_ADD_LINK, SMC_LLC_QUEUE },
	{ "3.5.5.3.2", S, SMC_LLC_X_DELETE_LINK, SMC_LLC_IN_DELETE_LINK, SMC_LLC_QUEUE },
	{ "3.5.5.3.2", S, SMC_LLC_X_DELETE_LINK, SMC_LLC_IN_DELETE_LINK_ALL,
	  SMC_LLC_TERMINATE },
	{ "3.5.5.3.2", C, SMC_LLC_X_DELETE_LINK, SMC_LLC_IN_DELETE_LINK_ALL,
	  SMC_LLC_TERMINATE },
	{ "3.5.5.3.2", S, SMC_LLC_X_DELETE_LINK, SMC_LLC_IN_RKEY, SMC_LLC_REFUSE },

	/* 3.5.5.3.3: during CONFIRM RKEY */
	{ "3.5.5.3.3", S, SMC_LLC_X_RKEY, SMC_LLC_IN_TEST_LINK, SMC_LLC_PASS },
	{ "3.5.5.3.3", C, SMC_LLC_X_RKEY, SMC_LLC_IN_TEST_LINK, SMC_LLC_PASS },
	{ "3.5.5.3.3", S, SMC_LLC_X_RKEY, SMC_LLC_IN_ADD_LINK, SMC_LLC_QUEUE },
	{ "3.5.5.3.3", C, SMC_LLC_X_RKEY, SMC_LLC_IN_ADD_LINK, SMC_LLC_PREEMPT },
	{ "3.5.5.3.3", C, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_RKEY_RSP, SMC_LLC_JOIN },
	{ "3.5.5.3.3", S, SMC_LLC_X_RKEY, SMC_LLC_IN_DELETE_LINK, SMC_LLC_QUEUE },
	{ "3.5.5.3.3", C, SMC_LLC_X_RKEY, SMC_LLC_IN_DELETE_LINK, SMC_LLC_PREEMPT },
	{ "3.5.5.3.3", C, SMC_LLC_X_DELETE_LINK, SMC_LLC_IN_RKEY_RSP, SMC_LLC_JOIN },
	{ "3.5.5.3.3", S, SMC_LLC_X_RKEY, SMC_LLC_IN_DELETE_LINK_ALL, SMC_LLC_TERMINATE },
	{ "3.5.5.3.3", C, SMC_LLC_X_RKEY, SMC_LLC_IN_DELETE_LINK_ALL, SMC_LLC_TERMINATE },
	{ "3.5.5.3.3", C, SMC_LLC_X_RKEY, SMC_LLC_IN_CONFIRM_LINK, SMC_LLC_QUEUE },

	/* C.7.1: the other end deletes the link that is being added */
	{ "C.7.1", S, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_DELETE_LINK_NEW, SMC_LLC_JOIN },
	{ "C.7.1", C, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_DELETE_LINK_NEW, SMC_LLC_JOIN },
	{ "C.7.1", S, SMC_LLC_X_ADD_LINK, SMC_LLC_IN_DELETE_LINK_RSP, SMC_LLC_JOIN },
};

static void rfc_collisions(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rfc); i++) {
		enum smc_llc_verdict v = smc_llc_flow_decide(rfc[i].role, rfc[i].running,
							     rfc[i].input, 0);

		if (v != rfc[i].verdict)
			FAIL("%s: %s in %s gets %s: %s, not %s", rfc[i].para,
			     smc_llc_role_str(rfc[i].role),
			     smc_llc_exchange_str(rfc[i].running),
			     smc_llc_input_str(rfc[i].input), smc_llc_verdict_str(v),
			     smc_llc_verdict_str(rfc[i].verdict));
	}
}

/* Find cell @n of the table; false: there is none. */
static bool table_cell(unsigned int n, unsigned int *r, unsigned int *x, unsigned int *i)
{
	*i = n % SMC_LLC_INPUTS;
	*x = n / SMC_LLC_INPUTS % SMC_LLC_EXCHANGES;
	*r = n / SMC_LLC_INPUTS / SMC_LLC_EXCHANGES;
	return *r < SMC_LLC_ROLES;
}

static enum smc_llc_verdict flow_verdict(unsigned int r, unsigned int x, unsigned int i, u32 quirks)
{
	return smc_llc_flow_decide((enum smc_llc_role)r, (enum smc_llc_exchange)x,
				   (enum smc_llc_input)i, quirks);
}

static void walk(void)
{
	unsigned int n, r, x, i;

	for (n = 0; table_cell(n, &r, &x, &i); n++) {
		enum smc_llc_verdict v = flow_verdict(r, x, i, 0);
		bool starts = smc_llc_flow_exchange((enum smc_llc_input)i) != SMC_LLC_X_IDLE;
		bool peer = smc_llc_input_is_received((enum smc_llc_input)i), all;

		CHECK(v < SMC_LLC_VERDICTS);
		/* the slot is taken only when it is free, or from our own RKEY exchange */
		if (v == SMC_LLC_RUN)
			CHECK(x == SMC_LLC_X_IDLE && starts);
		if (v == SMC_LLC_PREEMPT)
			CHECK(x == SMC_LLC_X_RKEY && r == C && peer && starts);
		/* only while an exchange runs is there something to queue for */
		if (v == SMC_LLC_QUEUE)
			CHECK(x != SMC_LLC_X_IDLE);
		if (v == SMC_LLC_REFUSE)
			CHECK(r == S && i == SMC_LLC_IN_RKEY);
		/* requests of this end are not refused, and no violation */
		if (!peer)
			CHECK(v != SMC_LLC_REFUSE && v != SMC_LLC_VIOLATION);
		/* the quirk changes refusals only */
		CHECK_EQ(flow_verdict(r, x, i, SMC_LLC_QUIRK_NO_RETRY),
			 v == SMC_LLC_REFUSE ? SMC_LLC_PASS : v);
		/* a deletion of the group always terminates it */
		all = i == SMC_LLC_IN_DELETE_LINK_ALL || i == SMC_LLC_DO_DELETE_LINK_ALL;
		CHECK_EQ(v == SMC_LLC_TERMINATE, all);
	}
	CHECK_EQ(flow_verdict(S, SMC_LLC_EXCHANGES, 0, 0), SMC_LLC_DROP);
	CHECK_EQ(flow_verdict(S, 0, SMC_LLC_INPUTS, 0), SMC_LLC_DROP);
}

/* Only the server starts changes of the link set; violations do not depend on the exchange. */
static void roles(void)
{
	static const enum smc_llc_input server_only[] = {	/* sent by servers */
		SMC_LLC_IN_CONFIRM_LINK, SMC_LLC_IN_ADD_LINK_CONT, SMC_LLC_IN_REQ_ADD_LINK_RSP,
	};
	static const enum smc_llc_input client_only[] = {
		SMC_LLC_IN_CONFIRM_LINK_RSP, SMC_LLC_IN_ADD_LINK_CONT_RSP,
		SMC_LLC_IN_REQ_ADD_LINK,
	};
	unsigned int n, r, x, i, j;

	for (n = 0; table_cell(n, &r, &x, &i); n++) {
		bool wrong = false;

		for (j = 0; j < ARRAY_SIZE(server_only); j++)
			wrong |= (r == S && i == server_only[j]) ||
				 (r == C && i == client_only[j]);
		CHECK_EQ(flow_verdict(r, x, i, 0) == SMC_LLC_VIOLATION, wrong);
	}
	for (x = 0; x < SMC_LLC_EXCHANGES; x++) {
		CHECK(flow_verdict(C, x, SMC_LLC_DO_ADD_LINK, 0) != SMC_LLC_RUN);
		CHECK(flow_verdict(C, x, SMC_LLC_DO_DELETE_LINK, 0) != SMC_LLC_RUN);
	}
}

/*
 * Two ends with random requests over reliable queues. An exchange is a request
 * and its answer here. No request may get lost, and neither end may wait for
 * ever.
 */
#define QUEUE	256

struct end {
	enum smc_llc_role role;
	enum smc_llc_exchange running;
	bool preempted;			/* our RKEY exchange was preempted */
	bool refused;			/* ... and has to be repeated */
	enum smc_llc_input in[QUEUE];
	unsigned int head, tail;
	enum smc_llc_input kept[QUEUE];
	unsigned int kept_len;
	unsigned int done;
};

static unsigned int refusals, preempts;

static void end_post(struct end *to, enum smc_llc_input input)
{
	if (to->tail - to->head >= QUEUE) {
		FAIL("queue of the test is too short");
		return;
	}
	to->in[to->tail++ % QUEUE] = input;
}

static void end_feed(struct end *me, struct end *peer, enum smc_llc_input input);

static void end_finish(struct end *me, struct end *peer)
{
	enum smc_llc_input kept[QUEUE];
	unsigned int i, n = me->kept_len;

	if (me->preempted) {
		me->running = SMC_LLC_X_RKEY;
		me->preempted = false;
		return;
	}
	me->running = SMC_LLC_X_IDLE;
	if (me->refused) {
		me->refused = false;
		end_feed(me, peer, SMC_LLC_DO_RKEY);
	}
	memcpy(kept, me->kept, sizeof(kept));
	me->kept_len = 0;
	for (i = 0; i < n; i++)
		end_feed(me, peer, kept[i]);
}

/* Stands for a response with the N flag, that is, for REFUSE. */
#define REFUSED	SMC_LLC_INPUTS

static void end_start(struct end *me, struct end *peer, enum smc_llc_input input)
{
	me->running = smc_llc_flow_exchange(input);
	if (me->running == SMC_LLC_X_RKEY)
		end_post(peer, SMC_LLC_IN_RKEY);
	else if (me->role == S)
		end_post(peer, me->running == SMC_LLC_X_ADD_LINK ? SMC_LLC_IN_ADD_LINK :
								   SMC_LLC_IN_DELETE_LINK);
}

static void rkey_answer(struct end *me, struct end *peer, bool refused)
{
	if (refused) {
		refusals++;
		me->refused = true;
	} else {
		me->done++;
	}
	if (me->preempted)
		me->preempted = false;
	else if (me->running == SMC_LLC_X_RKEY)
		end_finish(me, peer);
	else
		FAIL("answer without a request");
}

/* The client ends an exchange of the server with its answer. */
static bool client_answers(struct end *me, struct end *peer)
{
	if (me->role != C || (me->running != SMC_LLC_X_ADD_LINK &&
			      me->running != SMC_LLC_X_DELETE_LINK))
		return false;
	end_post(peer, me->running == SMC_LLC_X_ADD_LINK ? SMC_LLC_IN_ADD_LINK_RSP :
							   SMC_LLC_IN_DELETE_LINK_RSP);
	end_finish(me, peer);
	return true;
}

static void end_feed(struct end *me, struct end *peer, enum smc_llc_input input)
{
	bool refused = input == REFUSED;

	if (refused)
		input = SMC_LLC_IN_RKEY_RSP;
	switch (smc_llc_flow_decide(me->role, me->running, input, 0)) {
	case SMC_LLC_PREEMPT:
		preempts++;
		me->preempted = true;
		me->running = smc_llc_flow_exchange(input);
		break;
	case SMC_LLC_RUN:
		end_start(me, peer, input);
		break;
	case SMC_LLC_JOIN:
		if (input == SMC_LLC_IN_RKEY_RSP)
			rkey_answer(me, peer, refused);
		else
			end_finish(me, peer);
		break;
	case SMC_LLC_PASS:
		if (input == SMC_LLC_IN_RKEY)
			end_post(peer, SMC_LLC_IN_RKEY_RSP);
		else if (input == SMC_LLC_DO_DELETE_LINK)
			end_post(peer, SMC_LLC_IN_DELETE_LINK);
		else if (input == SMC_LLC_DO_ADD_LINK)
			end_post(peer, SMC_LLC_IN_ADD_LINK);
		break;
	case SMC_LLC_REFUSE:
		end_post(peer, REFUSED);
		break;
	case SMC_LLC_QUEUE:
		me->kept[me->kept_len++ % QUEUE] = input;
		break;
	case SMC_LLC_DROP:
		break;
	default:
		FAIL("%s in %s: %s", smc_llc_role_str(me->role),
		     smc_llc_exchange_str(me->running), smc_llc_input_str(input));
	}
}

static void pairs(void)
{
	static const enum smc_llc_input requests[] = {
		SMC_LLC_DO_RKEY, SMC_LLC_DO_ADD_LINK, SMC_LLC_DO_DELETE_LINK, SMC_LLC_DO_RKEY,
	};
	unsigned int round, i, n;

	refusals = 0;
	preempts = 0;
	for (round = 0; round < 5000 && !unit_failed; round++) {
		struct end e[2] = { { .role = S }, { .role = C } };
		unsigned int rkeys[2] = { 0, 0 };

		for (n = 0; n < 60; n++) {
			i = unit_below(2);
			if (n < 30 && !unit_below(3)) {
				enum smc_llc_input request = requests[unit_below(4)];

				rkeys[i] += request == SMC_LLC_DO_RKEY;
				end_feed(&e[i], &e[1 - i], request);
			} else if (e[i].head != e[i].tail) {
				end_feed(&e[i], &e[1 - i], e[i].in[e[i].head++ % QUEUE]);
			}
			if (!unit_below(4))
				client_answers(&e[1], &e[0]);
		}
		while (e[0].head != e[0].tail || e[1].head != e[1].tail ||
		       client_answers(&e[1], &e[0])) {
			i = e[0].head == e[0].tail;
			if (e[i].head != e[i].tail)
				end_feed(&e[i], &e[1 - i], e[i].in[e[i].head++ % QUEUE]);
		}
		for (i = 0; i < 2; i++) {
			CHECK_EQ(e[i].running, SMC_LLC_X_IDLE);
			CHECK_EQ(e[i].kept_len, 0);
			CHECK(!e[i].refused && !e[i].preempted);
			CHECK_EQ(e[i].done, rkeys[i]);
		}
		if (unit_failed)
			FAIL("round %u", round);
	}
	/* the collisions under test happened */
	CHECK(refusals > 100);
	CHECK(preempts > 100);
}

static void names(void)
{
	unsigned int i;

	for (i = 0; i < SMC_LLC_INPUTS; i++)
		CHECK(strcmp(smc_llc_input_str((enum smc_llc_input)i), "?"));
	for (i = 0; i < SMC_LLC_EXCHANGES; i++)
		CHECK(strcmp(smc_llc_exchange_str((enum smc_llc_exchange)i), "?"));
	for (i = 0; i < SMC_LLC_VERDICTS; i++)
		CHECK(strcmp(smc_llc_verdict_str((enum smc_llc_verdict)i), "?"));
	CHECK(!strcmp(smc_llc_input_str(SMC_LLC_INPUTS), "?"));
	CHECK(!strcmp(smc_llc_role_str(SMC_LLC_ROLES), "?"));
}

static const struct unit_case cases[] = {
	UNIT_CASE(rfc_collisions),
	UNIT_CASE(walk),
	UNIT_CASE(roles),
	UNIT_CASE(pairs),
	UNIT_CASE(names),
};

UNIT_MAIN("llc_flow", cases)
