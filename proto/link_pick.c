// SPDX-License-Identifier: GPL-2.0-only
/* Choice of the link that a connection sends over; link_pick.h describes the policies. */
#include <smc/proto/link_pick.h>

#define WEIGHT	8	/* of the smoothed latency; a new sample counts one part of this */

/* Latencies less than 1/SLACK apart count as equal: otherwise all connections use one link. */
#define SLACK	8

/* What a policy compares; less is better. */
static u64 link_load_measure(enum smc_link_policy policy, const struct smc_link_load *load)
{
	switch (policy) {
	case SMC_LINK_BY_BYTES:
		return load->bytes;
	case SMC_LINK_BY_LATENCY:
		return load->latency;
	case SMC_LINK_FIRST_RNIC:
		return !load->first;
	case SMC_LINK_BY_CONNS:
	case SMC_LINK_ROUND_ROBIN:
	case SMC_LINK_POLICIES:
		break;
	}
	return 0;
}

/* Smallest measure of all usable links; the largest value if there is none. */
static u64 link_pick_min(enum smc_link_policy policy, const struct smc_link_load *load, u32 n)
{
	u64 min = ~(u64)0, value;
	u32 i;

	for (i = 0; i < n; i++) {
		if (!load[i].usable)
			continue;
		/* A link without a measurement counts as good as the best. */
		if (policy == SMC_LINK_BY_LATENCY && !load[i].latency)
			continue;
		value = link_load_measure(policy, &load[i]);
		if (value < min)
			min = value;
	}
	return min;
}

static bool link_load_is_best(enum smc_link_policy policy, const struct smc_link_load *load,
			      u64 min)
{
	if (!load->usable)
		return false;
	if (policy == SMC_LINK_BY_LATENCY)
		return load->latency <= min + min / SLACK;
	return link_load_measure(policy, load) == min;
}

/* Next usable link after @last. */
static int link_pick_round_robin(const struct smc_link_load *load, u32 n, u32 last)
{
	u32 i, at;

	for (i = 1; i <= n; i++) {
		at = (last % n + i) % n;
		if (load[at].usable)
			return (int)at;
	}
	return -1;
}

/**
 * smc_link_pick() - Choose a link for a new connection
 * @policy: policy
 * @load: links
 * @n: number of links
 * @last: last chosen link, for SMC_LINK_ROUND_ROBIN
 *
 * Of equally good links, choose the one with the fewest connections, then the first.
 *
 * Return: index of the link, negative if none is usable.
 */
int smc_link_pick(enum smc_link_policy policy, const struct smc_link_load *load, u32 n, u32 last)
{
	int best = -1;
	u64 min;
	u32 i;

	if (n && policy == SMC_LINK_ROUND_ROBIN)
		return link_pick_round_robin(load, n, last);
	min = link_pick_min(policy, load, n);
	for (i = 0; i < n; i++)
		if (link_load_is_best(policy, &load[i], min) &&
		    (best < 0 || load[i].conns < load[best].conns))
			best = (int)i;
	return best;
}

/**
 * smc_link_pick_better() - Find a link that is worth moving a connection to
 * @policy: policy
 * @load: links
 * @n: number of links
 * @from: current link of the connection, which is counted there; below @n
 *
 * Repeated moves by this function come to an end: no link gets more connections than the link that
 * loses them keeps, unless the latter is slow, or a spare.
 *
 * Return: index of the other link, negative: do not move.
 */
int smc_link_pick_better(enum smc_link_policy policy, const struct smc_link_load *load, u32 n,
			 u32 from)
{
	u64 min;
	int to;

	/* Round robin is for new connections only. */
	if (policy == SMC_LINK_ROUND_ROBIN)
		policy = SMC_LINK_BY_CONNS;
	to = smc_link_pick(policy, load, n, 0);
	if (to < 0 || to == (int)from || !load[from].conns)
		return -1;
	min = link_pick_min(policy, load, n);
	if ((policy == SMC_LINK_BY_LATENCY || policy == SMC_LINK_FIRST_RNIC) &&
	    load[from].usable && !link_load_is_best(policy, &load[from], min))
		return to;
	return load[to].conns + 1 < load[from].conns ? to : -1;
}

/**
 * smc_link_latency_smooth() - Add a sample to a smoothed latency
 * @latency: smoothed latency, 0: no sample so far
 * @sample: new sample, in the same unit
 *
 * Return: new smoothed latency, at least 1, as 0 means no sample.
 */
u32 smc_link_latency_smooth(u32 latency, u64 sample)
{
	u32 value = sample > ~(u32)0 ? ~(u32)0 : (u32)sample;

	if (latency && value >= latency)
		value = latency + (value - latency) / WEIGHT;
	else if (latency)
		value = latency - (latency - value) / WEIGHT;
	return value ? value : 1;
}
