// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters and sums of memory: each test does something with known effect on the counters of both
 * ends, and no other counter may change. Both ends run in this program (ends/ends.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
#include <linux/smc.h>
#include <uapi/linux/smc_own.h>

#include "ends/ends.h"

#define PORT		4490
#define COUNTERS	128
#define ELEM		65536		/* a ring of the default size */
#define FIRST		2048		/* the first ring of each connection */
/* one region of rings of full size, one of first rings, and a second one of these */
#define SND_REGION	(ELEM + 2 * FIRST)
#define SND_REGIONS	(SND_REGION + 8 * FIRST)
#define FIRST_RINGS	(2 * FIRST)
/* the first two RMBs of a group, of one RMBE each, and the third: */
#define REGION		(2 * ELEM)
#define SECOND_REGION	(8 * ELEM)
#define REGIONS		(REGION + SECOND_REGION)
#define DELAY_MS	100

static const struct tl_proto *smc;
static int waiting;
static char buf[2 * ELEM];

/**
 * struct counters - contents of /proc/net/smc_stat
 * @n: number of counters
 * @name: names
 * @value: values, at each end of the connection
 */
struct counters {
	unsigned int n;
	char name[COUNTERS][32];
	long long value[ENDS_NR][COUNTERS];
};

/**
 * struct moved - a counter that must change
 * @name: its name; a list ends with an entry without a name
 * @by: change at each end, or ANY
 */
struct moved {
	const char *name;
	long long by[ENDS_NR];
};

#define ANY	-1
#define BOTH(n)	{ [0 ... ENDS_NR - 1] = (n) }

/* How many messages carry the bytes is not fixed: check_messages() checks these counters. */
static const char * const message_counters[] = {
	"tx_cdc", "rx_cdc", "tx_imm", "rx_imm", "tx_writes", "wr_posts", "wr_done", "wr_probes",
	"wakeups",
};

static void counters_read(struct counters *c)
{
	char line[128];
	FILE *f;

	for (int i = 0; i < ENDS_NR; i++) {
		ends_enter(i);
		f = fopen("/proc/thread-self/net/smc_stat", "r");
		if (!f)
			ends_die("smc_stat");
		for (c->n = 0; c->n < COUNTERS && fgets(line, sizeof(line), f); c->n++)
			if (sscanf(line, "%31s %lld", c->name[c->n], &c->value[i][c->n]) != 2)
				ends_die(line);
		fclose(f);
	}
	ends_enter(ENDS_CLIENT);
}

static long long delta(const struct counters *from, const struct counters *to, int end,
		       const char *name)
{
	for (unsigned int i = 0; i < to->n; i++)
		if (!strcmp(to->name[i], name))
			return to->value[end][i] - from->value[end][i];
	ends_check(false, "there is a counter %s", name);
	return 0;
}

/* The posts of an end must be the sum of its messages by kind, and arrive at the other end. */
static void check_messages(const struct counters *from, const struct counters *to)
{
	for (int i = 0; i < ENDS_NR; i++) {
		long long cdc = delta(from, to, i, "tx_cdc"), llc = delta(from, to, i, "tx_llc");
		long long posts = delta(from, to, i, "wr_posts");
		long long done = delta(from, to, i, "wr_done");
		long long imm = delta(from, to, i, "tx_imm");

		ends_check(posts == cdc + imm + llc,
			   "%lld posts at %d: %lld CDC and %lld LLC messages, %lld immediate values",
			   posts, i, cdc, llc, imm);
		ends_check(done <= posts, "%lld completions at %d of %lld posts", done, i, posts);
		ends_check(delta(from, to, !i, "rx_cdc") == cdc, "%lld CDC messages of %d arrive",
			   cdc, i);
		ends_check(delta(from, to, !i, "rx_imm") == imm,
			   "%lld immediate values of %d arrive", imm, i);
		ends_check(delta(from, to, !i, "rx_llc") == llc, "%lld LLC messages of %d arrive",
			   llc, i);
	}
}

static bool counts_messages(const char *name)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(message_counters); i++)
		if (!strcmp(message_counters[i], name))
			return true;
	return false;
}

static const struct moved *moved_find(const struct moved *list, const char *name)
{
	for (; list->name; list++)
		if (!strcmp(list->name, name))
			return list;
	return NULL;
}

/* Check that since @from only the counters of @list, and those of messages, have changed. */
static void check_moved(const struct counters *from, const struct moved *list)
{
	static struct counters to;

	/* messages in flight */
	tl_sleep_ms(500);
	counters_read(&to);
	for (const struct moved *m = list; m->name; m++)
		delta(from, &to, ENDS_CLIENT, m->name);
	for (unsigned int c = 0; c < to.n; c++) {
		const struct moved *m = moved_find(list, to.name[c]);

		for (int i = 0; i < ENDS_NR; i++) {
			long long by = to.value[i][c] - from->value[i][c];
			long long want = m ? m->by[i] : counts_messages(to.name[c]) ? ANY : 0;

			if (by)
				printf("# %s at %c: %lld\n", to.name[c], "sc"[i], by);
			ends_check(want == ANY || by == want, "%s at %c changes by %lld: by %lld",
				   to.name[c], "sc"[i], want, by);
		}
	}
	check_messages(from, &to);
}

#define CHECK_MOVED(from, ...)	\
	check_moved(from, (const struct moved []) { __VA_ARGS__, { } })

static void set_sysctl(enum ends_where where, const char *name, const char *value)
{
	ends_enter(where);
	ends_put("/proc/sys/net/smc", name, value);
	ends_enter(ENDS_CLIENT);
}

static void set_int(int fd, int level, int name, int val)
{
	if (setsockopt(fd, level, name, &val, sizeof(val)))
		ends_die("setsockopt");
}

static struct ends_pair pair_open(void)
{
	return ends_pair(smc, waiting, PORT, TL_MODE_SMCR);
}

/* Create a connection, wait until it is quiet and read the counters. */
static struct ends_pair quiet_pair(struct counters *from)
{
	struct ends_pair p = pair_open();

	tl_sleep_ms(1000);
	counters_read(from);
	return p;
}

/* One call each. */
static void send_bytes(const struct ends_pair *p, size_t len, int flags)
{
	ssize_t rc = send(p->fd[ENDS_CLIENT], buf, len, flags);

	ends_check(rc == (ssize_t)len, "send() of %zu: %zd", len, rc);
}

static void recv_bytes(const struct ends_pair *p, size_t len)
{
	ssize_t rc = recv(p->fd[ENDS_SERVER], buf, len, MSG_WAITALL);

	ends_check(rc == (ssize_t)len, "recv() of %zu: %zd", len, rc);
}

/* ---- calls and bytes ---- */

static void bytes(void)
{
	static const size_t sizes[] = { 1, 8192, 8193, 16384, 32768, 99, 7777 };
	static struct counters from;
	struct ends_pair p = quiet_pair(&from);
	long long sum = 0;

	for (size_t i = 0; i < TL_ARRAY_SIZE(sizes); i++) {
		send_bytes(&p, sizes[i], 0);
		recv_bytes(&p, sizes[i]);
		sum += sizes[i];
	}
	CHECK_MOVED(&from, { "tx_bytes", { 0, sum } }, { "tx_write_bytes", { 0, sum } },
		    { "tx_cnt", { 0, TL_ARRAY_SIZE(sizes) } }, { "rx_bytes", { sum, 0 } },
		    { "rx_cnt", { TL_ARRAY_SIZE(sizes), 0 } });
}

/*
 * Each message is one post and one completion. It wakes the reader; nobody waits for the room that
 * the completion frees.
 * The reader announces no consumer cursor for so few bytes.
 */
static void check_small_messages(long long cdc, long long imm)
{
	static struct counters from;
	struct ends_pair p = quiet_pair(&from);

	for (int i = 0; i < 20; i++) {
		send_bytes(&p, 10, 0);
		tl_sleep_ms(100);
		recv_bytes(&p, 10);
	}
	CHECK_MOVED(&from, { "tx_bytes", { 0, 200 } }, { "tx_write_bytes", { 0, 200 } },
		    { "tx_cnt", { 0, 20 } }, { "rx_bytes", { 200, 0 } }, { "rx_cnt", { 20, 0 } },
		    { "tx_writes", { 0, 20 } }, { "tx_cdc", { 0, cdc } }, { "rx_cdc", { cdc, 0 } },
		    { "tx_imm", { 0, imm } }, { "rx_imm", { imm, 0 } },
		    { "wr_posts", { 0, 20 } }, { "wr_done", { 0, 20 } },
		    { "wakeups", { 20, 0 } });
}

/* The connection has sent a message before: immediate values can refer to that. */
static void messages(void)
{
	check_small_messages(0, 20);
}

static void messages_whole(void)
{
	for (int i = 0; i < ENDS_NR; i++)
		set_sysctl(i, "smcr_write_imm", "0");
	check_small_messages(20, 0);
}

/* ---- rings ---- */

static void small_rings(void)
{
	static struct counters from;
	struct ends_pair p;

	set_sysctl(ENDS_CLIENT, "wmem", "16384");
	set_sysctl(ENDS_SERVER, "rmem", "32768");
	p = quiet_pair(&from);
	send_bytes(&p, 16384, 0);
	recv_bytes(&p, 16384);
	tl_sleep_ms(100);
	ends_check(send(p.fd[ENDS_CLIENT], buf, 16385, MSG_DONTWAIT) == 16384, "a part");
	tl_sleep_ms(100);
	recv_bytes(&p, 16384);
	tl_sleep_ms(100);
	ends_check(send(p.fd[ENDS_CLIENT], buf, 32769, MSG_DONTWAIT) == 16384, "a part");
	tl_sleep_ms(100);
	ends_check(recv(p.fd[ENDS_SERVER], buf, 32769, 0) == 16384, "recv()");
	CHECK_MOVED(&from, { "tx_bytes", { 0, 3 * 16384 } },
		    { "tx_write_bytes", { 0, 3 * 16384 } },
		    { "tx_cnt", { 0, 3 } }, { "rx_bytes", { 3 * 16384, 0 } },
		    { "rx_cnt", { 3, 0 } },
		    { "tx_small", { 0, 2 } }, { "tx_peer_small", { 0, 1 } },
		    { "rx_small", { 1, 0 } }, { "tx_full", { 0, 2 } });
}

static void full_rings(void)
{
	static struct counters from, to;
	struct ends_pair p = quiet_pair(&from);
	u64 closed, full, opened;
	long long usecs;

	send_bytes(&p, ELEM, 0);
	tl_sleep_ms(1000);
	closed = tl_now_ns();
	send_bytes(&p, ELEM, 0);
	tl_sleep_ms(100);
	full = tl_now_ns();
	ends_check(send(p.fd[ENDS_CLIENT], buf, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN,
		   "no room");
	tl_sleep_ms(2000);
	opened = tl_now_ns();
	recv_bytes(&p, ELEM);
	/* the waiting bytes fill it again */
	tl_sleep_ms(500);
	recv_bytes(&p, ELEM);
	tl_sleep_ms(500);
	counters_read(&to);
	usecs = delta(&from, &to, ENDS_CLIENT, "window_usecs");
	printf("# window closed for %lld us\n", usecs);
	ends_check(usecs >= (long long)(opened - full) / 1000, "closed at least so long");
	ends_check(usecs <= (long long)(opened - closed) / 1000 + 50000, "not longer");
	CHECK_MOVED(&from, { "tx_bytes", { 0, 2 * ELEM } },
		    { "tx_write_bytes", { 0, 2 * ELEM } },
		    { "tx_cnt", { 0, 3 } }, { "rx_bytes", { 2 * ELEM, 0 } }, { "rx_cnt", { 2, 0 } },
		    { "tx_full", { 0, 1 } }, { "rx_full", { 2, 0 } },
		    { "tx_window_closed", { 0, 1 } }, { "window_usecs", { 0, ANY } });
}

/* ---- special calls ---- */

static void out_of_band(void)
{
	static struct counters from;
	struct ends_pair p = quiet_pair(&from);
	char c;

	send_bytes(&p, 3, MSG_OOB);
	tl_sleep_ms(100);
	ends_check(recv(p.fd[ENDS_SERVER], &c, 1, MSG_OOB) == 1, "the byte");
	ends_check(recv(p.fd[ENDS_SERVER], buf, 3, 0) == 2, "the bytes before it");
	CHECK_MOVED(&from, { "tx_bytes", { 0, 3 } }, { "tx_write_bytes", { 0, 3 } },
		    { "tx_cnt", { 0, 1 } }, { "rx_bytes", { 3, 0 } }, { "rx_cnt", { 2, 0 } },
		    { "tx_urgent", { 0, 1 } }, { "rx_urgent", { 1, 0 } });
}

static void pages(void)
{
	static struct counters from;
	struct ends_pair p = quiet_pair(&from);
	int file, fds[2];
	off_t off = 0;

	file = memfd_create("counters", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, 10000) || pipe2(fds, O_CLOEXEC))
		ends_die("file and pipe");
	ends_check(sendfile(p.fd[ENDS_CLIENT], file, &off, 10000) == 10000, "sendfile()");
	tl_sleep_ms(100);
	ends_check(splice(p.fd[ENDS_SERVER], NULL, fds[1], NULL, 10000, 0) == 10000, "splice()");
	CHECK_MOVED(&from, { "tx_bytes", { 0, 10000 } }, { "tx_write_bytes", { 0, 10000 } },
		    { "tx_cnt", { 0, 1 } }, { "rx_bytes", { 10000, 0 } }, { "rx_cnt", { 1, 0 } },
		    { "tx_sendpage", { 0, 1 } }, { "rx_splice", { 1, 0 } },
		    { "tx_zc_bytes", { 0, 10000 } });
	close(file);
}

static void zerocopy(void)
{
	static struct counters from;
	struct ends_pair p = quiet_pair(&from);

	set_int(p.fd[ENDS_CLIENT], SOL_SOCKET, SO_ZEROCOPY, 1);
	send_bytes(&p, 9000, MSG_ZEROCOPY);
	recv_bytes(&p, 9000);
	tl_sleep_ms(100);
	send_bytes(&p, 77, MSG_ZEROCOPY);
	recv_bytes(&p, 77);
	CHECK_MOVED(&from, { "tx_bytes", { 0, 9077 } }, { "tx_write_bytes", { 0, 9077 } },
		    { "tx_cnt", { 0, 2 } }, { "rx_bytes", { 9077, 0 } }, { "rx_cnt", { 2, 0 } },
		    { "tx_zc_bytes", { 0, 9000 } }, { "tx_zc_copied", { 0, 77 } });
}

static void options(void)
{
	static struct counters from;
	struct ends_pair p = quiet_pair(&from);

	for (int i = 0; i < 3; i++)
		set_int(p.fd[ENDS_CLIENT], IPPROTO_TCP, TCP_NODELAY, i % 2);
	for (int i = 0; i < 2; i++)
		set_int(p.fd[ENDS_SERVER], IPPROTO_TCP, TCP_CORK, i % 2);
	CHECK_MOVED(&from, { "nodelay", { 0, 3 } }, { "cork", { 2, 0 } });
}

/* ---- handshakes ---- */

static void check_hist(enum ends_where where, long long usecs);

/* Each message of the client is delayed. */
static void handshake_time(void)
{
	static struct counters from, to;
	long long usecs[ENDS_NR];

	pair_open();
	counters_read(&from);
	ends_run(ENDS_CLIENT, "/usr/sbin/tc qdisc add dev vethc root netem delay %dms", DELAY_MS);
	pair_open();
	counters_read(&to);
	for (int i = 0; i < ENDS_NR; i++) {
		usecs[i] = delta(&from, &to, i, i ? "clnt_hs_usecs" : "srv_hs_usecs");
		check_hist(i, usecs[i]);
	}
	/* a client waits for the answer to its Proposal, a server for the Confirm, nothing else */
	for (int i = 0; i < ENDS_NR; i++)
		ends_check(usecs[i] / 1000 >= DELAY_MS && usecs[i] / 1000 <= DELAY_MS + 20,
			   "a handshake takes a delay: %lld us", usecs[i]);
}

/* The client, which sends the Confirm, receives a TCP reset. */
static void handshake_reset(void)
{
	static struct counters from;
	int fd;

	ends_run(ENDS_SERVER, "/usr/sbin/nft add table inet f");
	ends_run(ENDS_SERVER, "/usr/sbin/nft 'add chain inet f in { %s; }'",
		 "type filter hook input priority 0");
	/* behind 12 bytes of options: eye-catcher and type 3 */
	ends_run(ENDS_SERVER, "/usr/sbin/nft add rule inet f in tcp dport %d %s", PORT,
		 "@th,256,32 0xe2d4c3d9 @th,288,8 3 reject with tcp reset");
	counters_read(&from);
	fd = ends_connect(smc, PORT);
	ends_check(fd == -ECONNRESET, "connect(): %s", fd < 0 ? tl_errno_name(-fd) : "0");
	tl_sleep_ms(30000);
	CHECK_MOVED(&from, { "hs_reset", { 0, 1 } }, { "clnt_hs_err", { 0, 1 } },
		    { "srv_hs_err", { 1, 0 } }, { "first_contact", BOTH(1) },
		    { "lgr_term", BOTH(1) }, { "mr_reg", { 0, 2 } },
		    { "tx_buf_alloc", BOTH(1) }, { "rx_buf_alloc", BOTH(1) },
		    /* each RMBE was announced to the other end */
		    { "elem_quarantine", BOTH(1) },
		    { "rmb_bytes", BOTH(ELEM) }, { "rmb_freed", BOTH(ELEM) });
}

/* ---- memory ---- */

#define CONNS	3	/* of the case memory */
#define MEMS	4	/* send rings; RMBEs: in use, pooled, quarantined */
#define TIMES	16

/**
 * struct sums - our own tables in SMC_GEN_STATS
 * @now: memory by kind
 * @peak: its maximum
 * @times: handshakes of clients by time
 * @srv_times: handshakes of servers by time
 */
struct sums {
	u64 now[MEMS], peak[MEMS], times[TIMES], srv_times[TIMES];
};

static void take_table(const void *attrs, size_t len, u16 table, int n, u64 *values)
{
	const void *value;
	size_t size;

	attrs = tl_genl_attr(attrs, len, table, &len);
	for (int i = 0; i < n; i++) {
		value = attrs ? tl_genl_attr(attrs, len, i + 1, &size) : NULL;
		ends_check(value && size == sizeof(*values), "%d in table %d", i + 1, table);
		if (value && size == sizeof(*values))
			memcpy(&values[i], value, size);
	}
}

static void take_sums(const void *attrs, size_t len, void *arg)
{
	struct sums *s = arg;

	attrs = tl_genl_attr(attrs, len, SMC_GEN_STATS, &len);
	take_table(attrs, len, SMC_NETLINK_STATS_OWN_MEM_NOW, MEMS, s->now);
	take_table(attrs, len, SMC_NETLINK_STATS_OWN_MEM_PEAK, MEMS, s->peak);
	take_table(attrs, len, SMC_NETLINK_STATS_OWN_HS_CLNT, TIMES, s->times);
	take_table(attrs, len, SMC_NETLINK_STATS_OWN_HS_SRV, TIMES, s->srv_times);
}

static struct sums sums_read(enum ends_where where)
{
	struct sums s = { };

	ends_enter(where);
	ends_check(tl_genl_smc(SMC_NETLINK_GET_STATS, true, NULL, 0, take_sums, &s) == 1,
		   "statistics");
	ends_enter(ENDS_CLIENT);
	return s;
}

static void check_hist(enum ends_where where, long long usecs)
{
	struct sums s = sums_read(where);
	u64 *times = where == ENDS_CLIENT ? s.times : s.srv_times;
	int at = 0;

	while (at < TIMES - 1 && usecs > 64LL << at)
		at++;
	ends_check(times[at] == 1, "a handshake of %lld us is in its table entry", usecs);
}

static void check_mem(const char *when, enum ends_where where, u64 send, u64 used, u64 pooled,
		      u64 kept)
{
	const u64 want[MEMS] = { send, used, pooled, kept };
	struct sums s = sums_read(where);

	for (int i = 0; i < MEMS; i++) {
		ends_check(s.now[i] == want[i], "%s: memory %d at %c is %llu: %llu", when, i,
			   "sc"[where], (unsigned long long)want[i], (unsigned long long)s.now[i]);
		ends_check(s.peak[i] >= s.now[i], "%s: the maximum of memory %d", when, i);
	}
}

static void check_peak(enum ends_where where, u64 send, u64 used, u64 pooled, u64 kept)
{
	const u64 want[MEMS] = { send, used, pooled, kept };
	struct sums s = sums_read(where);

	for (int i = 0; i < MEMS; i++)
		ends_check(s.peak[i] == want[i], "maximum of memory %d at %c is %llu: %llu", i,
			   "sc"[where], (unsigned long long)want[i], (unsigned long long)s.peak[i]);
}

/* Three connections, two of which need no region of eight RMBEs; their end; that of their group. */
static void memory(void)
{
	static struct counters from;
	struct ends_pair p[CONNS];

	for (int i = 0; i < ENDS_NR; i++)
		check_mem("at first", i, 0, 0, 0, 0);
	counters_read(&from);
	p[0] = pair_open();
	for (int i = 0; i < ENDS_NR; i++)
		check_mem("with one", i, FIRST_RINGS, ELEM, 0, 0);
	/* both ends get memory for the next connection */
	tl_sleep_ms(100);
	for (int i = 0; i < ENDS_NR; i++)
		check_mem("ahead of the second", i, SND_REGION, ELEM, REGION - ELEM, 0);
	p[1] = pair_open();
	for (int i = 0; i < ENDS_NR; i++)
		check_mem("with two", i, SND_REGION, REGION, 0, 0);
	p[2] = pair_open();
	for (int i = 0; i < ENDS_NR; i++)
		check_mem("with three", i, SND_REGIONS, REGION + ELEM,
			  SECOND_REGION - ELEM, 0);
	for (int i = 0; i < CONNS; i++)
		for (int j = 0; j < ENDS_NR; j++)
			close(p[i].fd[j]);
	tl_sleep_ms(2000);
	for (int i = 0; i < ENDS_NR; i++)
		check_mem("after them", i, SND_REGIONS, 0, REGIONS, 0);
	CHECK_MOVED(&from, { "clnt_smc", { 0, CONNS } }, { "srv_smc", { CONNS, 0 } },
		    { "first_contact", BOTH(1) }, { "link_reject", BOTH(1) },
		    { "clnt_hs_usecs", { 0, ANY } },
		    { "srv_hs_usecs", { ANY, 0 } }, { "tx_llc", BOTH(ANY) },
		    { "rx_llc", BOTH(ANY) }, { "rkey_confirm", BOTH(2) }, { "mr_reg", BOTH(ANY) },
		    { "tx_buf_alloc", BOTH(1) }, { "rx_buf_alloc", BOTH(2) },
		    { "tx_buf_reuse", BOTH(2) }, { "rx_buf_reuse", BOTH(1) },
		    { "rmb_bytes", BOTH(REGIONS) }, { "tx_bytes", BOTH(CONNS) },
		    { "rx_bytes", BOTH(CONNS) }, { "tx_write_bytes", BOTH(CONNS) },
		    { "tx_cnt", BOTH(CONNS) }, { "rx_cnt", BOTH(CONNS) });
	/* idle long enough for the group to end */
	tl_sleep_ms(700 * 1000);
	for (int i = 0; i < ENDS_NR; i++) {
		check_mem("without a group", i, 0, 0, 0, 0);
		check_peak(i, SND_REGIONS, REGION + ELEM, REGIONS, 0);
		ends_check(ends_stat(i, "rmb_freed") == REGIONS, "all of it was freed");
	}
}

/* The answer to the close is lost: the peer might still write into the RMBE. */
static void quarantine(void)
{
	struct ends_pair p = pair_open();

	tl_sleep_ms(1000);
	ends_put("/sys/module/smc/parameters", "fault", "LOSE_CDC:1+");
	close(p.fd[ENDS_CLIENT]);
	tl_sleep_ms(30000);
	check_mem("while it waits", ENDS_CLIENT, SND_REGION, ELEM, REGION - ELEM, 0);
	tl_sleep_ms(40000);
	ends_put("/sys/module/smc/parameters", "fault", "none");
	check_mem("afterwards", ENDS_CLIENT, SND_REGION, 0, REGION - ELEM, ELEM);
	check_peak(ENDS_CLIENT, SND_REGION, ELEM, REGION - ELEM, ELEM);
	ends_check(ends_stat(ENDS_CLIENT, "elem_quarantine") == 1, "the counter elem_quarantine");
	close(p.fd[ENDS_SERVER]);
}

/* ---- all of them ---- */

static void set_up(void)
{
	smc = tl_proto_find("smc");
	waiting = ends_listen(smc, PORT);
	/* no LLC messages of idle links */
	for (int i = 0; i < ENDS_NR; i++)
		set_sysctl(i, "smcr_testlink_time", "0");
}

static const struct ends_test tests[] = {
	{ "bytes", bytes },
	{ "messages", messages },
	{ "messages_whole", messages_whole },
	{ "small_rings", small_rings },
	{ "full_rings", full_rings },
	{ "out_of_band", out_of_band },
	{ "pages", pages },
	{ "zerocopy", zerocopy },
	{ "options", options },
	{ "handshake_time", handshake_time },
	{ "handshake_reset", handshake_reset },
	{ "memory", memory },
	{ "quarantine", quarantine },
	{ }
};

/* smc_counters: print the names of all tests; smc_counters NAME: run one of them */
int main(int argc, char **argv)
{
	static const struct ends_test *const lists[] = { tests, NULL };

	return ends_main(argc, argv, lists, set_up);
}
