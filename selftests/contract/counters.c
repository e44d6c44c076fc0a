// SPDX-License-Identifier: GPL-2.0-only
/* Counters by netlink: the names, order and values of /proc/net/smc_stat. */
#include <stdio.h>
#include <string.h>

#include "contract.h"

#define COUNTERS_MAX	256
#define PIECE		4096

/**
 * struct counters - the counters from one of the two sources
 * @num: their number
 * @name: names
 * @value: values
 */
struct counters {
	int num;
	char name[COUNTERS_MAX][32];
	u64 value[COUNTERS_MAX];
};

static bool counters_file(struct counters *c)
{
	FILE *f = fopen("/proc/net/smc_stat", "r");

	c->num = 0;
	while (f && c->num < COUNTERS_MAX &&
	       fscanf(f, "%31s %llu", c->name[c->num], &c->value[c->num]) == 2)
		c->num++;
	if (f)
		fclose(f);
	return c->num > 0;
}

static void counter_take(const struct nlmsghdr *nlh, void *arg)
{
	struct counters *c = arg;
	const struct nlattr *a;

	if (c->num == COUNTERS_MAX)
		return;
	mnl_attr_for_each(a, nlh, GENL_HDRLEN) {
		if (mnl_attr_get_type(a) == COUNTER_NAME)
			snprintf(c->name[c->num], sizeof(c->name[0]), "%s", mnl_attr_get_str(a));
		if (mnl_attr_get_type(a) == COUNTER_VALUE)
			c->value[c->num] = mnl_attr_get_u64(a);
	}
	c->num++;
}

/**
 * ct_counters() - compare both sources, after some traffic
 *
 * Return: false if they differ.
 */
bool ct_counters(void)
{
	static struct counters before, now, after;
	unsigned int wrong = 0, moved = 0;
	struct ct_nl nl = { 0 };
	bool ok;

	/* read in pieces that do not hold all counters */
	ok = counters_file(&before) && !ct_open(&nl, CT_GEN, PIECE);
	nl.plain = true;
	ok = ok && !ct_dump(&nl, OWN_GET_COUNTERS, counter_take, &now) && counters_file(&after);
	ct_close(&nl);
	for (int i = 0; i < now.num && i < before.num; i++) {
		wrong += strcmp(now.name[i], before.name[i]) || now.value[i] < before.value[i] ||
			 now.value[i] > after.value[i];
		moved += now.value[i] > 0;
	}
	ktap_note("%d counters by netlink, %d by file, %u not 0, %u wrong", now.num, before.num,
		  moved, wrong);
	return ok && now.num == before.num && !wrong && moved > 10;
}
