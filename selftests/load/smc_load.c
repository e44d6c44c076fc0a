// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many clients at once against `smc_traffic server` on the other host: a crowd of bad clients must
 * not delay a good one. The order of events shows this, not times: the good client is served while
 * all bad ones still hold their connections.
 *
 * --crowd N, at most 100, is the size of each crowd in percent.
 *
 *   crowd     100 silent clients, as many slow and as many malformed ones
 *   fair      server with net.smc.hs_max 16: Proposals of one host, then of three hosts
 *   limited   server with SMC_LIMIT_HS; silent: another such server
 *   unresolved  GIDs that nobody has, of one host: UNRESOLVED of them are looked up, REFUSED not
 *   closed    the listener closes with handshakes in flight; --go FILE: wait for this file
 *   overflow  the server's application does not accept; --go FILE: until this file exists
 *   leave     a server with a short backlog: two processes accept one connection each, close it and
 *             end; --connect has the address to listen on
 *   rush      RUSH clients connect at once
 *
 * Needs BPF, root, and as many --from addresses of this host as a case has bad hosts.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evil/evil.h"
#include "lib/ktap.h"
#include "traffic/traffic.h"

#define HOSTS		3
#define CROWD		200
#define PATIENCE_MS	20000
#define REFUSED_MS	2500
#define SETTLE_MS	50
#define RUSH		100
#define LEAVE_BACKLOG	12
#define DECL_HS_LIMIT	0x01020000U
#define DECL_PEER_NO_SMC 0x03010000U
#define DECL_NO_ROUTE	0x030e0000U

/* net.smc.hs_max of "fair", and the slots that the first and second host get */
#define FAIR_MAX	16
#define FAIR_FIRST	12
#define FAIR_SECOND	3
/* GIDs that nobody has, 10.0.0.100 and following: so many are looked up, and more are not */
#define UNRESOLVED	16
#define REFUSED		8

/* slots with SMC_LIMIT_HS */
#define LIMITED		32

/**
 * struct good - result of the good client
 * @err: 0 if its stream was correct
 * @mode: enum tl_mode of the server's socket
 * @reason: our fallback reason
 * @what: what failed
 */
struct good {
	int err;
	u32 mode;
	u32 reason;
	char what[160];
};

/**
 * struct crowd - bad clients
 * @nr: number of clients
 * @pfd: one entry each
 */
struct crowd {
	unsigned int nr;
	struct pollfd pfd[CROWD];
};

static const struct tl_proto *tcp, *good_proto;
static struct tl_addr to, from[HOSTS];
static const char *go_file;
static int good_fd;
/* fewer on slow hosts, where so many connections take longer than the server's time-out */
static unsigned int each = CROWD / 2;

/* Scale a number by --crowd. */
static unsigned int crowd_share(unsigned int nr)
{
	return nr * each / (CROWD / 2);
}

/* ---- the good client: a process without the SMC option of the bad ones ---- */

static void good_run(struct good *g, u64 seed)
{
	struct trf_client c = {
		.proto = good_proto, .to = to, .timeout_ms = PATIENCE_MS, .show_mode = true,
		.seed = seed,
	};
	struct trf_outcome out;
	struct trf_req req;
	int fd = trf_client_connect(&c, &out);

	memset(g, 0, sizeof(*g));
	if (fd >= 0) {
		trf_client_req(&c, &req, TRF_STREAM);
		req.io = TRF_IO_POLL;
		req.wsize = 4096;
		req.to_server = 20000;
		req.to_client = 20000;
		trf_client_stream(&c, fd, &req, &out);
		close(fd);
	}
	g->err = out.err;
	g->mode = out.verdict.mode;
	g->reason = out.local.reason;
	memcpy(g->what, out.what, sizeof(g->what));
}

static void good_serve(int fd, void *arg)
{
	u64 *seed = arg;
	struct good g;
	char go;

	while (recv(fd, &go, 1, 0) == 1) {
		*seed = tl_mix(*seed);
		good_run(&g, *seed);
		tl_send_all(fd, &g, sizeof(g));
	}
}

/* Run the good client; check its mode and reason. */
static bool good_check(enum tl_mode mode, u32 reason, const char *when)
{
	struct good g;

	if (tl_ask(good_fd, &g, sizeof(g))) {
		ktap_note("%s: the good client has exited", when);
		return false;
	}
	ktap_note("%s: good client: %s, reason %08x %s", when, tl_mode_name(g.mode), g.reason,
		  g.what);
	return !g.err && g.mode == mode && g.reason == reason;
}

/* Repeat until the mode is right: the server frees slots shortly after the others have closed. */
static bool good_await(enum tl_mode mode, u32 reason, const char *when)
{
	u64 until = tl_now_ns() + PATIENCE_MS * TL_NSEC_PER_MSEC;

	while (!good_check(mode, reason, when)) {
		if (tl_now_ns() > until)
			return false;
		tl_sleep_ms(50);
	}
	return true;
}

/* ---- bad clients ---- */

static bool crowd_add(struct crowd *c, unsigned int host, unsigned int nr)
{
	for (unsigned int i = 0; i < nr && c->nr < CROWD; i++) {
		int fd = tl_connect(tcp, &from[host], &to);

		if (fd < 0) {
			ktap_note("connect: %s", tl_errno_name(-fd));
			return false;
		}
		tl_set_timeouts(fd, PATIENCE_MS);
		c->pfd[c->nr++] = (struct pollfd){ .fd = fd, .events = POLLIN | POLLRDHUP };
	}
	return true;
}

/* Send the first @len bytes of a valid Proposal from each client from number @first on. */
static void crowd_propose(struct crowd *c, unsigned int host, unsigned int first, size_t len)
{
	struct evil_msg m;

	evil_proposal(&m, &from[host]);
	for (unsigned int i = first; i < c->nr; i++)
		evil_write(c->pfd[i].fd, m.buf, len < m.len ? len : m.len);
}

static void crowd_close(struct crowd *c)
{
	for (unsigned int i = 0; i < c->nr; i++)
		evil_reset(c->pfd[i].fd);
	c->nr = 0;
}

/* Count the clients from @first on whose connection has ended, by FIN or reset. */
static unsigned int crowd_ended(struct crowd *c, unsigned int first)
{
	unsigned int n = 0;

	poll(c->pfd, c->nr, 0);
	for (unsigned int i = first; i < c->nr; i++)
		n += !!(c->pfd[i].revents & (POLLRDHUP | POLLHUP | POLLERR));
	return n;
}

static bool await_ended(struct crowd *c, unsigned int first, unsigned int nr, unsigned int ms)
{
	u64 until = tl_now_ns() + ms * TL_NSEC_PER_MSEC;

	while (crowd_ended(c, first) < nr && tl_now_ns() < until)
		tl_sleep_ms(10);
	ktap_note("%u of %u ended", crowd_ended(c, first), c->nr - first);
	return crowd_ended(c, first) >= nr;
}

/* Remove declined clients from the crowd until there are @nr of them; the others remain. */
static bool await_declines(struct crowd *c, unsigned int nr, u32 diag)
{
	u64 until = tl_now_ns() + PATIENCE_MS * TL_NSEC_PER_MSEC;
	unsigned int declined = 0, other = 0;
	struct smc_clc_decline d;
	struct evil_msg m;

	while (declined < nr && tl_now_ns() < until) {
		poll(c->pfd, c->nr, 100);
		for (unsigned int i = 0; i < c->nr; i++) {
			if (!(c->pfd[i].revents & POLLIN) || !(c->pfd[i].events & POLLIN))
				continue;
			/* an Accept is read once, and its client remains in the crowd */
			c->pfd[i].events = POLLRDHUP;
			if (evil_read(c->pfd[i].fd, PATIENCE_MS, &m) != EVIL_DECLINE)
				continue;
			if (smc_clc_parse_decline(m.buf, m.len, &d) || d.diag != diag)
				other++;
			declined++;
			evil_reset(c->pfd[i].fd);
			c->pfd[i--] = c->pfd[--c->nr];
		}
	}
	ktap_note("%u declined, %u of them for another reason; %u hold a slot", declined, other,
		  c->nr);
	return declined == nr && !other;
}

static bool wait_go(void)
{
	u64 until = tl_now_ns() + 60 * TL_NSEC_PER_SEC;

	while (access(go_file, F_OK) && tl_now_ns() < until)
		tl_sleep_ms(20);
	return !access(go_file, F_OK);
}

/* ---- cases ---- */

static bool beside_crowd(void)
{
	static struct crowd quiet, loud;
	struct evil_msg m;
	bool ok;

	ok = crowd_add(&quiet, 0, each) && crowd_add(&quiet, 1, each) && crowd_add(&loud, 2, each);
	if (!ok)
		return false;
	crowd_propose(&quiet, 1, each, 20);
	for (unsigned int i = 0; i < loud.nr; i++) {
		evil_garbage(&m, i + 1, 64);
		evil_write(loud.pfd[i].fd, m.buf, m.len);
	}
	ok = good_check(TL_MODE_SMCR, 0, "beside the crowd");
	ktap_note("silent and slow clients that ended before the good one: %u",
		  crowd_ended(&quiet, 0));
	ok = !crowd_ended(&quiet, 0) && ok;
	ok = await_ended(&loud, 0, loud.nr, PATIENCE_MS) && ok;
	/* and they do end */
	ok = await_ended(&quiet, 0, quiet.nr, PATIENCE_MS) && ok;
	crowd_close(&quiet);
	crowd_close(&loud);
	return ok;
}

/*
 * A greedy host, a second one, and a last one with one Proposal more than there are slots:
 * whichever of its two is declined, all slots are taken then.
 */
static bool fair(void)
{
	static struct crowd one, more, last;
	bool ok;

	ok = crowd_add(&one, 0, FAIR_FIRST + crowd_share(28));
	if (!ok)
		return false;
	crowd_propose(&one, 0, 0, EVIL_MSG_MAX);
	ok = await_declines(&one, crowd_share(28), DECL_HS_LIMIT);
	/* one host cannot take all slots */
	ok = good_check(TL_MODE_SMCR, 0, "beside one greedy host") && ok;

	/* several hosts can; they connect before, as later SYN-ACKs would have no SMC option */
	ok = crowd_add(&more, 1, FAIR_SECOND + crowd_share(7)) && crowd_add(&last, 2, 2) && ok;
	crowd_propose(&more, 1, 0, EVIL_MSG_MAX);
	ok = await_declines(&more, crowd_share(7), DECL_HS_LIMIT) && ok;
	crowd_propose(&last, 2, 0, EVIL_MSG_MAX);
	ok = await_declines(&last, 1, DECL_HS_LIMIT) && ok;
	ok = good_check(TL_MODE_TCP, DECL_PEER_NO_SMC, "all slots taken") && ok;
	ok = !crowd_ended(&one, 0) && !crowd_ended(&more, 0) && !crowd_ended(&last, 0) && ok;
	crowd_close(&one);
	crowd_close(&more);
	crowd_close(&last);
	return good_await(TL_MODE_SMCR, 0, "afterwards") && ok;
}

/* The clients of @c from @first on send a Proposal each, with a GID that nobody has. */
static bool name_gids(struct crowd *c, unsigned int first)
{
	struct tl_addr gid;
	struct evil_msg m;
	char text[16];

	for (unsigned int i = 0; i < c->nr; i++) {
		snprintf(text, sizeof(text), "10.0.0.%u", first + i);
		if (tl_addr_parse(&gid, tcp, text, 0))
			return false;
		evil_proposal(&m, &gid);
		evil_write(c->pfd[i].fd, m.buf, m.len);
	}
	return true;
}

/*
 * A host names GIDs that nobody has. Other hosts are not affected: one with a wrong GID, which is
 * looked up, and the good one.
 */
static bool unresolved(void)
{
	static struct crowd greedy, other;
	bool ok;

	/* for a minute the server looks up no GID for the greedy host, which no later case needs */
	ok = crowd_add(&greedy, 2, UNRESOLVED) && name_gids(&greedy, 100);
	ok = await_declines(&greedy, UNRESOLVED, DECL_NO_ROUTE) && ok;
	ok = crowd_add(&greedy, 2, REFUSED) && name_gids(&greedy, 100 + UNRESOLVED) && ok;
	ok = crowd_add(&other, 1, 1) && name_gids(&other, 180) && ok;
	ok = await_declines(&greedy, REFUSED, DECL_NO_ROUTE) && ok;
	ok = good_check(TL_MODE_SMCR, 0, "beside a host with wrong GIDs") && ok;
	ok = await_declines(&other, 1, DECL_NO_ROUTE) && ok;
	crowd_close(&greedy);
	crowd_close(&other);
	return ok;
}

static bool limited(void)
{
	static struct crowd c;
	bool ok = true;

	/* send Proposals, so that the server does not cut clients off early */
	for (unsigned int i = 0; ok && i < LIMITED + crowd_share(8); i++) {
		ok = crowd_add(&c, 0, 1);
		if (ok)
			crowd_propose(&c, 0, i, EVIL_MSG_MAX);
	}
	ok = good_check(TL_MODE_TCP, DECL_PEER_NO_SMC, "limited") && ok;
	/* the last ones are TCP, and the application takes no Proposal for a request */
	ok = crowd_ended(&c, 0) == crowd_ended(&c, LIMITED) && ok;
	crowd_close(&c);
	return good_await(TL_MODE_SMCR, 0, "no longer") && ok;
}

/*
 * One host holds more than half of the slots, silent for 3 s; its share is a quarter. Then many
 * others come at once: it loses slots above its share, and no more.
 */
static bool beside_silent(void)
{
	static struct crowd c, more;
	const unsigned int silent = LIMITED / 2 + 4, share = LIMITED / 4 - 1;
	unsigned int ended;
	bool ok = crowd_add(&c, 0, silent);

	tl_sleep_ms(3300);
	ok = crowd_add(&more, 1, LIMITED / 4 + 2) && ok;
	tl_sleep_ms(300);
	ended = crowd_ended(&c, 0);
	ktap_note("%u of %u silent clients cut off, %u of %u others", ended, c.nr,
		  crowd_ended(&more, 0), more.nr);
	ok = !crowd_ended(&more, 0) && ok;
	ok = good_check(TL_MODE_SMCR, 0, "beside silent clients") && ok;
	crowd_close(&c);
	crowd_close(&more);
	return ended >= 2 && ended <= silent - share && ok;
}

static bool closed(void)
{
	static struct crowd c;
	bool ok = crowd_add(&c, 0, crowd_share(50)) && crowd_add(&c, 1, crowd_share(20));

	crowd_propose(&c, 1, crowd_share(50), EVIL_MSG_MAX);
	tl_sleep_ms(300);
	ktap_note("ended before the listener: %u", crowd_ended(&c, 0));
	ok = ok && !crowd_ended(&c, 0);
	printf("armed\n");
	fflush(stdout);
	/* the listener's process has exited with all its sockets */
	ok = wait_go() && ok;
	ok = await_ended(&c, 0, c.nr, 1000) && ok;
	crowd_close(&c);
	return ok;
}

/* Connect until TCP takes no more: the number is the same for both families. */
static bool overflow(void)
{
	static struct pollfd pfd[64];
	unsigned int nr = 0, done, good = 0;

	for (done = 0; nr < TL_ARRAY_SIZE(pfd); done++) {
		int fd = tl_socket(good_proto, SOCK_NONBLOCK);

		pfd[nr] = (struct pollfd){ .fd = fd, .events = POLLOUT };
		if (fd < 0 || (connect(fd, &to.sa, to.len) && errno != EINPROGRESS))
			return false;
		/* a refused client gets no answer, however long it waits */
		if (poll(&pfd[nr++], 1, REFUSED_MS) != 1)
			break;
		/*
		 * over RDMA a connection takes a slot only when the server has finished its
		 * handshake
		 */
		tl_sleep_ms(SETTLE_MS);
	}
	ktap_note("%u connected without accept()", done);
	printf("armed %u\n", done);
	fflush(stdout);
	if (!wait_go())
		return false;
	for (unsigned int i = 0; i < nr; i++) {
		int err = 0;
		socklen_t len = sizeof(err);

		good += poll(&pfd[i], 1, PATIENCE_MS) == 1 && pfd[i].revents == POLLOUT &&
			!getsockopt(pfd[i].fd, SOL_SOCKET, SO_ERROR, &err, &len) && !err;
		close(pfd[i].fd);
	}
	ktap_note("%u of %u in the end", good, nr);
	return done && good == nr;
}

/* The listener lives until both processes have ended, with the clients that they do not accept. */
static bool leave(void)
{
	int fd = tl_listen(good_proto, &to, LEAVE_BACKLOG), status, one;
	bool ok = fd >= 0;

	for (int i = 0; ok && i < 2; i++) {
		pid_t pid = fork();

		if (pid)
			continue;
		one = accept(fd, NULL, NULL);
		if (one >= 0)
			close(one);
		_exit(one < 0);
	}
	if (fd >= 0)
		close(fd);
	printf("listening\n");
	fflush(stdout);
	while (wait(&status) > 0)
		ok = ok && !status;
	return ok;
}

/* Each connect() ends, well or not, long before its deadlines. */
static bool rush(void)
{
	static struct pollfd pfd[RUSH];
	unsigned int ended = 0, failed = 0;
	u64 t0 = tl_now_ns();

	for (unsigned int i = 0; i < RUSH; i++) {
		int fd = tl_socket(good_proto, SOCK_NONBLOCK);

		pfd[i] = (struct pollfd){ .fd = fd, .events = POLLOUT };
		if (fd < 0 || !connect(fd, &to.sa, to.len) || errno != EINPROGRESS)
			return false;
	}
	for (unsigned int i = 0; i < RUSH; i++) {
		int err = 0;
		socklen_t len = sizeof(err);

		ended += poll(&pfd[i], 1, PATIENCE_MS) == 1;
		failed += getsockopt(pfd[i].fd, SOL_SOCKET, SO_ERROR, &err, &len) || err;
		close(pfd[i].fd);
	}
	ktap_note("%u of %u connects ended within %llu ms, %u with an error", ended, RUSH,
		  (tl_now_ns() - t0) / TL_NSEC_PER_MSEC, failed);
	return ended == RUSH;
}

static const struct {
	const char *name;
	bool (*fn)(void);
	bool bad;
} cases[] = {
	{ "crowd",	beside_crowd,	true },
	{ "fair",	fair,		true },
	{ "unresolved",	unresolved,	true },
	{ "limited",	limited,	true },
	{ "silent",	beside_silent,	true },
	{ "closed",	closed,		true },
	{ "overflow",	overflow,	false },
	{ "leave",	leave,		false },
	{ "rush",	rush,		false },
};

static void bad_usage(void)
{
	fprintf(stderr,
		"usage: smc_load CASE --connect ADDR [--port N] [--from ADDR]... [--family F]\n"
		"                [--go FILE] [--crowd N]\n");
	exit(2);
}

static const struct option longopts[] = {
	{ "connect",	required_argument, NULL, 'c' },
	{ "port",	required_argument, NULL, 'p' },
	{ "from",	required_argument, NULL, 'f' },
	{ "family",	required_argument, NULL, 'F' },
	{ "go",		required_argument, NULL, 'g' },
	{ "crowd",	required_argument, NULL, 'n' },
	{ }
};

static bool case_run(size_t n)
{
	u64 seed = 1;
	int err;

	if (!cases[n].bad)
		return cases[n].fn();
	good_fd = tl_child(good_serve, &seed);
	err = good_fd < 0 ? good_fd : evil_option_on();
	if (err) {
		printf("Bail out! cannot set the SMC option: %s\n", tl_errno_name(-err));
		return false;
	}
	return good_check(TL_MODE_SMCR, 0, "before") && cases[n].fn();
}

int main(int argc, char **argv)
{
	const char *host = NULL, *family = "smc";
	unsigned int port = 4430, nfrom = 0;
	struct ktap k = { 0 };
	int o;

	tcp = tl_proto_find("inet");
	while ((o = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		switch (o) {
		case 'c':
			host = optarg;
			break;
		case 'p':
			port = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			if (nfrom == HOSTS || tl_addr_parse(&from[nfrom++], tcp, optarg, 0))
				bad_usage();
			break;
		case 'F':
			family = optarg;
			break;
		case 'g':
			go_file = optarg;
			break;
		case 'n':
			each = strtoul(optarg, NULL, 0);
			break;
		default:
			bad_usage();
		}
	}
	good_proto = tl_proto_find(family);
	if (optind != argc - 1 || !host || !each || each > CROWD / 2 || !good_proto ||
	    tl_addr_parse(&to, tcp, host, port))
		bad_usage();
	signal(SIGPIPE, SIG_IGN);
	ktap_plan(1);
	for (size_t i = 0; i < TL_ARRAY_SIZE(cases); i++) {
		if (strcmp(cases[i].name, argv[optind]))
			continue;
		if (cases[i].bad && nfrom < HOSTS)
			bad_usage();
		ktap_result(&k, case_run(i), cases[i].name);
		return ktap_exit_code(&k);
	}
	bad_usage();
	return 2;
}
