// SPDX-License-Identifier: GPL-2.0-only
/* Attacks of a server on the module as its client. */
#include <errno.h>
#include <string.h>
#include <smc/proto/marker.h>

#include "evil_link.h"

#define WAIT_MS		10000
#define BYTES		1000

/* A group beside that of the case, with our ends of both of its links. */
static bool begin(struct el_env *e, struct el_second *s, u8 links, bool marked)
{
	int err;

	if (!el_second_open(e, s))
		return false;
	s->far.num = 2;
	s->l.links = links;
	s->l.marked = marked;
	err = el_serve_join(e, &s->l, &s->c, 0);
	if (err)
		ktap_note("no group: %s", tl_errno_name(-err));
	return !err;
}

static bool lives(struct el_env *e, struct el_conn *c)
{
	struct el_env beside = *e;

	beside.l = c->link->near ?: c->link;
	return el_lives(&beside, c);
}

/* What the application sends comes by RDMA WRITE into our element. */
static bool hears(struct el_env *e, struct el_conn *c, unsigned int nr)
{
	struct el_link *l = c->link;
	u64 before = el_stat(e->witness, "tx_write_bytes");

	if (el_tell_send(e->witness, c->port, BYTES) != BYTES ||
	    !el_await(l->near ?: l, &c->heard.prod.off, BYTES - 1, WAIT_MS)) {
		ktap_note("nothing comes over link %u", l->num);
		return false;
	}
	if (el_rmb(l)[nr * EL_ELEM_LEN] != 0x77) {
		ktap_note("nobody has written to our element");
		return false;
	}
	return el_stat(e->witness, "tx_write_bytes") >= before + BYTES;
}

/* ---- cases ---- */

/*
 * One that means well: two links, two connections, one on each of them, bytes both ways. Or
 * nothing else here would prove anything.
 */
static bool works(struct el_env *e)
{
	u64 smc = el_stat(e->witness, "clnt_smc"), added = el_stat(e->witness, "link_add");
	struct el_second s;
	bool ok = begin(e, &s, 0, false) && lives(e, &s.c) && hears(e, &s.c, 0) &&
		  !el_serve_add(e, &s.l, &s.far) && !el_serve_join(e, &s.far, &s.d, 1) &&
		  lives(e, &s.d) && hears(e, &s.d, 1) && lives(e, &s.c);

	ok = ok && el_stat(e->witness, "clnt_smc") == smc + 2 &&
	     el_stat(e->witness, "link_add") == added + 1;
	el_second_end(&s);
	return ok;
}

const struct el_case el_served_cases[] = {
	{ "served_works",	works,		EL_UNHARMED,	"first_contact", 1, { 0 } },
};

const unsigned int el_nr_served_cases = TL_ARRAY_SIZE(el_served_cases);
