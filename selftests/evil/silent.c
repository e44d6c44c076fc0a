// SPDX-License-Identifier: GPL-2.0-only
/* Clients that connect and send nothing, or stop sending: they may block no other client. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "evil.h"
#include "lib/ktap.h"

/**
 * struct crowd - silent connections, which the server has to end
 * @nr: number of connections
 * @pfd: one entry for each connection
 */
struct crowd {
	unsigned int nr;
	struct pollfd *pfd;
};

static bool crowd_connect(struct crowd *c, const struct evil_target *t, unsigned int nr)
{
	struct rlimit lim = { .rlim_cur = nr + 64, .rlim_max = nr + 64 };

	if (nr > 900)
		setrlimit(RLIMIT_NOFILE, &lim);
	c->nr = 0;
	c->pfd = calloc(nr, sizeof(*c->pfd));
	while (c->pfd && c->nr < nr) {
		int fd = evil_connect(t);

		if (fd < 0)
			return false;
		c->pfd[c->nr++] = (struct pollfd){ .fd = fd, .events = POLLIN | POLLRDHUP };
	}
	return c->pfd;
}

static void crowd_close(struct crowd *c)
{
	for (unsigned int i = 0; i < c->nr; i++)
		close(c->pfd[i].fd);
	free(c->pfd);
}

/* Count the connections that have no answer and have not ended. */
static unsigned int crowd_pending(struct crowd *c)
{
	unsigned int pending = 0;

	poll(c->pfd, c->nr, 0);
	for (unsigned int i = 0; i < c->nr; i++)
		pending += !c->pfd[i].revents;
	return pending;
}

/* Check that all are closed by the deadline, and that only CLC messages came before. */
static bool crowd_ends(struct crowd *c, const struct evil_target *t, u64 since)
{
	u64 until = since + t->deadline_ms * TL_NSEC_PER_MSEC;
	unsigned int bad = 0;

	for (unsigned int i = 0; i < c->nr; i++) {
		u64 now = tl_now_ns();
		unsigned int left = now < until ? (until - now) / TL_NSEC_PER_MSEC : 0;
		enum evil_end end = evil_read_end(c->pfd[i].fd, left);

		if (end == EVIL_CLOSED)
			continue;
		if (!bad++)
			ktap_note("connection %u: %s", i, evil_end_name(end));
	}
	ktap_note("%u of %u ended after %llu ms", c->nr - bad, c->nr,
		  (unsigned long long)((tl_now_ns() - since) / TL_NSEC_PER_MSEC));
	return !bad;
}

/* Check that the good client is served while all silent ones are still open. */
static bool crowd_check_good(struct crowd *c, int health, const char *when)
{
	unsigned int before = crowd_pending(c), after;
	u64 t0 = tl_now_ns();
	bool ok = evil_health(health, when);
	u64 ms = (tl_now_ns() - t0) / TL_NSEC_PER_MSEC;

	after = crowd_pending(c);
	ktap_note("%s: good client took %llu ms, silent ones pending before %u, after %u of %u",
		  when, (unsigned long long)ms, before, after, c->nr);
	return ok && before == c->nr && after == c->nr;
}

/**
 * evil_silent() - make many connections and send nothing
 * @t: target
 * @health: from evil_health_start()
 *
 * Return: true if a good client was served meanwhile and all silent ones were closed in time.
 */
bool evil_silent(const struct evil_target *t, int health)
{
	u64 t0 = tl_now_ns();
	struct crowd c;
	bool ok = crowd_connect(&c, t, t->silent);

	if (ok) {
		ok = crowd_check_good(&c, health, "silent");
		ok = crowd_ends(&c, t, t0) && ok;
	}
	crowd_close(&c);
	return evil_health(health, "after the silent clients") && ok;
}

/**
 * evil_silent_after_proposal() - send a valid Proposal on each connection, and then nothing
 * @t: target
 * @health: from evil_health_start()
 *
 * A handshake that waits for its Confirm must not block the others.
 *
 * Return: true if a good client was served meanwhile and all silent ones were closed in time.
 */
bool evil_silent_after_proposal(const struct evil_target *t, int health)
{
	u64 t0 = tl_now_ns();
	unsigned int answered = 0;
	struct crowd c;
	bool ok = crowd_connect(&c, t, t->silent / 4 + 1);

	for (unsigned int i = 0; ok && i < c.nr; i++) {
		struct evil_msg m;

		evil_proposal(&m, &t->local);
		evil_write(c.pfd[i].fd, m.buf, m.len);
	}
	if (ok) {
		/* the server handles the first one now */
		answered = evil_read(c.pfd[0].fd, t->deadline_ms, NULL) == EVIL_ACCEPT;
		ok = evil_health(health, "silent after Proposal");
		ktap_note("good client done %llu ms after the first connect",
			  (unsigned long long)((tl_now_ns() - t0) / TL_NSEC_PER_MSEC));
		/* the first one must still be open: the good client did not wait for its end */
		if (answered && !(poll(c.pfd, 1, 0) == 0)) {
			ktap_note("the good client had to wait for the end of a silent client");
			ok = false;
		}
		ok = crowd_ends(&c, t, t0) && answered && ok;
	}
	crowd_close(&c);
	return evil_health(health, "after the silent Proposals") && ok;
}

/**
 * evil_truncated_silent() - send the beginning of a Proposal, and then nothing
 * @t: target
 *
 * Return: true if all connections were closed in time.
 */
bool evil_truncated_silent(const struct evil_target *t)
{
	static const size_t cuts[] = { 1, 7, 8, 9, 39, 40, 80, 152, 155 };
	u64 t0 = tl_now_ns();
	struct crowd c;
	bool ok = crowd_connect(&c, t, TL_ARRAY_SIZE(cuts));

	for (unsigned int i = 0; ok && i < c.nr; i++) {
		struct evil_msg m;

		evil_proposal(&m, &t->local);
		evil_write(c.pfd[i].fd, m.buf, cuts[i]);
	}
	ok = ok && crowd_ends(&c, t, t0);
	crowd_close(&c);
	return ok;
}
