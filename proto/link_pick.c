// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which link a connection is to send over, see link_pick.h.
 */
#include <smc/proto/link_pick.h>

#define WEIGHT	8	/* of what was measured before, in parts of a new sample */

/* Latencies that differ by less than a part of this are equal: else all would go one way. */
#define SLACK	8

static u64 link_pick_min(enum smc_link_policy policy, const struct smc_link_load *load, u32 n)
{
	u64 min = ~(u64)0, value;
	u32 i;

	for (i = 0; i < n; i++) {
		if (!load[i].usable)
			continue;
		/* who has not been measured is as good as the best */
		if (policy == SMC_LINK_BY_LATENCY && !load[i].latency)
			continue;
		value = policy == SMC_LINK_BY_BYTES ? load[i].bytes : load[i].latency;
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
	switch (policy) {
	case SMC_LINK_BY_BYTES:
		return load->bytes == min;
	case SMC_LINK_BY_LATENCY:
		return load->latency <= min + min / SLACK;
	case SMC_LINK_BY_CONNS:
	case SMC_LINK_BY_TURN:
	case SMC_LINK_POLICIES:
		break;
	}
	return true;
}

/* The next one after @last. */
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
 * smc_link_pick() - choose a link
 * @policy: by what
 * @load: links
 * @n: how many
 * @last: the one that was picked last, for SMC_LINK_BY_TURN
 *
 * Of those that are equally good the one with the fewest connections, and then the first.
 *
 * Return: index of the link, negative: none is usable.
 */
int smc_link_pick(enum smc_link_policy policy, const struct smc_link_load *load, u32 n, u32 last)
{
	int best = -1;
	u64 min;
	u32 i;

	if (n && policy == SMC_LINK_BY_TURN)
		return link_pick_round_robin(load, n, last);
	min = link_pick_min(policy, load, n);
	for (i = 0; i < n; i++)
		if (link_load_is_best(policy, &load[i], min) &&
		    (best < 0 || load[i].conns < load[best].conns))
			best = (int)i;
	return best;
}

/**
 * smc_link_better() - is another link worth a connection's move
 * @policy: by what
 * @load: links
 * @n: how many
 * @from: the one that it sends over, which counts it; below @n
 *
 * Who carries out what this says, connection by connection, comes to an end: no link gets
 * more connections than the one that loses them keeps, but from one that is slow.
 *
 * Return: index of the other link, negative: it stays.
 */
int smc_link_better(enum smc_link_policy policy, const struct smc_link_load *load, u32 n,
		    u32 from)
{
	u64 min;
	int to;

	/* whose turn it is does not matter to those that have had theirs */
	if (policy == SMC_LINK_BY_TURN)
		policy = SMC_LINK_BY_CONNS;
	to = smc_link_pick(policy, load, n, 0);
	if (to < 0 || to == (int)from || !load[from].conns)
		return -1;
	min = link_pick_min(policy, load, n);
	if (policy == SMC_LINK_BY_LATENCY && load[from].usable &&
	    !link_load_is_best(policy, &load[from], min))
		return to;
	return load[to].conns + 1 < load[from].conns ? to : -1;
}

/**
 * smc_link_smooth() - one more measurement
 * @latency: what was known, 0: nothing
 * @sample: what was measured
 *
 * Return: what is known now, not 0.
 */
u32 smc_link_smooth(u32 latency, u64 sample)
{
	u32 value = sample > ~(u32)0 ? ~(u32)0 : (u32)sample;

	if (latency && value >= latency)
		value = latency + (value - latency) / WEIGHT;
	else if (latency)
		value = latency - (latency - value) / WEIGHT;
	return value ? value : 1;
}
