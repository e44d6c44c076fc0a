// SPDX-License-Identifier: GPL-2.0-only
/*
 * One host, another address than that of the good client, which takes what it can get: groups by
 * first contacts under ever new peer IDs, memory by connections that it aborts after the Accept.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "link.h"

#define GROUPS		64	/* default of net.smc.smcr_max_host_groups */
#define HELD		(GROUPS + 6)
#define CONTACTS	300	/* first contacts, all in all */
#define SLACK		8	/* groups that end, but are not counted yet */
#define QPS		2	/* queue pairs of a group: one registers memory */
#define ABORTS		2000
#define SHARE_KB	4096
#define WAIT_MS		10000

/* Groups of the host under attack, the latest ones. */
static struct el_link links[HELD];
static struct el_conn conns[HELD];

static void poll_all(struct el_env *e)
{
	el_poll(e->l);
	for (int i = 0; i < HELD; i++)
		el_poll(&links[i]);
}

/* Return the index of a group that the server has ended, or has not made. */
static unsigned int place_find(void)
{
	for (unsigned int i = 0; i < HELD; i++) {
		if (!links[i].qp || links[i].status != IBV_WC_SUCCESS ||
		    links[i].seen[SMC_LLC_DELETE_LINK][0].count)
			return i;
	}
	return 0;
}

/* Make a first contact. @place: receives the index of the group. */
static int contact(struct el_env *e, unsigned int *place)
{
	unsigned int i = place_find();
	struct el_link *l = &links[i];
	struct el_conn *c = &conns[i];
	int err;

	*place = i;
	el_drop(c);
	el_close(l);
	err = el_open(l, e->other);
	if (!err)
		err = el_join(l, c, 0);
	if (err) {
		el_drop(c);
		el_close(l);
	}
	poll_all(e);
	return err;
}

/* Abort a connection, which then takes no place in its group. */
static void conn_abort(struct el_conn *c)
{
	struct smc_cdc_msg m;

	if (c->fd <= 0)
		return;
	el_next_cdc(c, &m);
	m.state = SMC_CDC_S_ABORT;
	if (!el_cdc(c, &m))
		el_flush(c->link, WAIT_MS);
	el_drop(c);
}

/* Check how many groups and queue pairs the server has now. */
static bool few_groups(struct el_env *e)
{
	u64 groups = el_groups(e->witness), qps = el_resources(e->witness, "qp");

	if (groups <= GROUPS + EL_OTHERS + SLACK && qps <= QPS * (2 * GROUPS + EL_OTHERS + SLACK))
		return true;
	ktap_note("the server has %llu groups and %llu queue pairs", (unsigned long long)groups,
		  (unsigned long long)qps);
	return false;
}

/* With a connection in each group, none can end for another one: at the limit the rest is TCP. */
static bool fill(struct el_env *e)
{
	u64 limited = el_counter(e->witness, "lgr_limited");
	unsigned int made = 0, refused = 0, i;

	for (unsigned int nr = 0; nr < HELD; nr++) {
		int err = contact(e, &i);

		made += !err;
		refused += err == -ECONNREFUSED;
	}
	limited = el_counter(e->witness, "lgr_limited") - limited;
	if (made == GROUPS && refused == HELD - GROUPS && limited == refused)
		return few_groups(e);
	ktap_note("%u groups were made, %u contacts refused, lgr_limited grew by %llu", made,
		  refused, (unsigned long long)limited);
	return false;
}

/*
 * Groups without connections end for new ones, none of them in vain: one may be ending when its
 * successor is refused, but the next contact takes that place.
 */
static bool replace(struct el_env *e)
{
	u64 evicted = el_counter(e->witness, "lgr_evicted");
	unsigned int made = 0, place;

	for (int i = 0; i < HELD; i++)
		conn_abort(&conns[i]);
	el_order_close_failed(e->witness);
	for (unsigned int nr = HELD; nr < CONTACTS; nr++) {
		made += !contact(e, &place);
		conn_abort(&conns[place]);
		/* some hosts vanish, so their groups end more slowly */
		if (nr % 3 == 0 && nr < CONTACTS - HELD)
			el_close(&links[place]);
		if (nr % 10)
			continue;
		/* first the program leaves failed sockets open, which keeps their groups ending */
		if (nr > CONTACTS * 3 / 4)
			el_order_close_failed(e->witness);
		if (!few_groups(e))
			return false;
	}
	evicted = el_counter(e->witness, "lgr_evicted") - evicted;
	if (made >= CONTACTS / 2 && evicted >= made / 2 && evicted <= made + 1)
		return few_groups(e);
	ktap_note("%u groups were made, lgr_evicted grew by %llu", made,
		  (unsigned long long)evicted);
	return false;
}

static void groups_end(void)
{
	struct smc_llc_msg bye = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .all = true, .orderly = true, .reason = SMC_LLC_DEL_PROGRAM },
	};

	for (int i = 0; i < HELD; i++) {
		if (links[i].established && links[i].qp && !el_llc(&links[i], &bye))
			el_flush(&links[i], 100);
		el_drop(&conns[i]);
		el_close(&links[i]);
	}
}

/* Wait until nothing of the groups is left, so that the host can have groups again. */
static bool groups_await_end(struct el_env *e)
{
	for (int i = 0; i < 100; i++) {
		el_poll(e->l);
		if (el_resources(e->witness, "qp") <= QPS * EL_OTHERS)
			return true;
		tl_sleep_ms(100);
	}
	ktap_note("groups of the other host are left");
	return false;
}

static bool first_contacts(struct el_env *e)
{
	bool ok = fill(e) && el_good_works(e, "64 groups of another host") &&
		  replace(e) && el_good_works(e, "300 groups of another host");

	groups_end();
	el_order_close_failed(e->witness);
	return groups_await_end(e) && ok;
}

static u64 rmb_bytes(struct el_env *e)
{
	u64 freed = el_counter(e->witness, "rmb_freed");

	return el_counter(e->witness, "rmb_bytes") - freed;
}

/*
 * Connections that are aborted after the Accept leave RMBEs that must not be used again, until the
 * host has its share.
 */
static bool abort_many(struct el_env *e, struct el_link *l)
{
	u64 before = rmb_bytes(e), limited = el_counter(e->witness, "mem_limited"), most = 0;
	unsigned int accepted = 0, refused = 0;

	for (int i = 0; i < ABORTS; i++) {
		int err = el_abort(l);

		accepted += !err;
		refused += err == -ECONNREFUSED;
		el_poll(e->l);
		if (i % 50 == 0 || i == ABORTS - 1) {
			u64 now = rmb_bytes(e) - before;

			most = now > most ? now : most;
		}
	}
	limited = el_counter(e->witness, "mem_limited") - limited;
	if (accepted > 10 && refused > ABORTS / 2 && accepted + refused == ABORTS &&
	    limited >= refused && most <= SHARE_KB << 10)
		return true;
	ktap_note("%u accepted, %u refused, mem_limited grew by %llu, RMBs by %llu bytes", accepted,
		  refused, (unsigned long long)limited, (unsigned long long)most);
	return false;
}

static bool aborted(struct el_env *e)
{
	struct el_env env = *e;
	struct el_conn c = { .fd = -1 };
	struct el_link l;
	long old = el_order_set(e->witness, "smcr_max_host_kb", SHARE_KB);
	int err = el_open(&l, e->other);
	bool ok;

	env.l = &l;
	if (!err)
		err = el_join(&l, &c, 0);
	if (err)
		ktap_note("no group: %s", tl_errno_name(-err));
	ok = old >= 0 && !err && abort_many(e, &l) &&
	     el_good_works(e, "another host has its share of memory") && el_alive(&env, &c);
	el_order_set(e->witness, "smcr_max_host_kb", old);
	el_drop(&c);
	el_close(&l);
	return ok;
}

const struct el_case el_many_cases[] = {
	{ "host_first_contacts", first_contacts, EL_UNHARMED,	"lgr_evicted", 100, { 0 } },
	{ "host_aborted",	aborted,	EL_UNHARMED,	"mem_limited", 1000, { 0 } },
};

const unsigned int el_nr_many_cases = TL_ARRAY_SIZE(el_many_cases);
