// SPDX-License-Identifier: GPL-2.0-only
/*
 * API cases: every option of every level, set and read on the socket under test and on a TCP socket
 * in the same state. Any difference is a failure unless a table below lists it;
 * Documentation/socket-api.rst gives the reasons.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/in6.h>
#include <linux/net_tstamp.h>
#include <linux/smc.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

#define SEED		211
#define NOBODY		65534
#define NAMES		100	/* larger numbers are netfilter's */
#define ROOM		512
#define BAD_PTR		((void *)8)

/* newer than the headers */
#define IP_PROTOCOL_	52
#define SO_TIMESTAMPING_NEW_ 65
#define SO_TXREHASH_	74
#define TCP_AO_ADD_KEY_	38
#define TCP_AO_INFO_	40
#define SOL_TLS_	282
#define SOL_MPTCP_	284

/* states of a socket */
#define FRESH		0x1
#define LISTENING	0x2
#define CONNECTED	0x4	/* TCP, native or after fallback */
#define STREAM		0x8	/* over RDMA */
#define ANY		(FRESH | LISTENING | CONNECTED | STREAM)

enum { OURS, NORM, BOTH };

static const int levels[] = {
	SOL_SOCKET, SOL_IP, SOL_TCP, SOL_IPV6, SOL_RAW, SOL_TLS_, SOL_MPTCP_,
};

/**
 * struct option_name - one option
 * @level: SOL_*
 * @name: number within it
 * @when: states to which the entry applies
 */
struct option_name {
	int level;
	int name;
	unsigned int when;
};

/* Values particular to one socket or its TCP connection: only their presence is compared. */
static const struct option_name own_values[] = {
	{ SOL_SOCKET, SO_COOKIE, ANY },
	{ SOL_SOCKET, SO_MEMINFO, ANY },
	{ SOL_SOCKET, SO_INCOMING_CPU, ANY },
	{ SOL_SOCKET, SO_INCOMING_NAPI_ID, ANY },
	{ SOL_SOCKET, SO_PEERNAME, ANY },
	/* an SMC socket has other numbers, see the case identity */
	{ SOL_SOCKET, SO_DOMAIN, ANY },
	{ SOL_SOCKET, SO_PROTOCOL, ANY },
	/* TCP grows them with the connection */
	{ SOL_SOCKET, SO_SNDBUF, CONNECTED | STREAM },
	{ SOL_SOCKET, SO_RCVBUF, CONNECTED | STREAM },
	{ SOL_TCP, TCP_INFO, ANY },
	{ SOL_TCP, TCP_CC_INFO, ANY },
	{ SOL_TCP, TCP_TIMESTAMP, ANY },
	/* depends on the pattern of the handshake's packets */
	{ SOL_TCP, TCP_QUICKACK, CONNECTED | STREAM },
	{ SOL_TCP, TCP_WINDOW_CLAMP, CONNECTED | STREAM },
	/* the port number, in fact */
	{ SOL_IP, IP_PROTOCOL_, ANY },
	{ SOL_IPV6, IPV6_PATHMTU, ANY },
	{ }
};

/*
 * Values of the TCP socket's cached route: options like IP_TOS drop the route until the next
 * packet, which may be a keepalive probe of either socket at any time.
 */
static const struct option_name of_route[] = {
	{ SOL_IP, IP_MTU, CONNECTED | STREAM },
	{ SOL_IPV6, IPV6_MTU, CONNECTED | STREAM },
	{ SOL_IPV6, IPV6_PATHMTU, CONNECTED | STREAM },
	{ }
};

/* Old kernels handle these for TCP sockets only, without asking the family. */
static const struct option_name not_for_families[] = {
	{ SOL_SOCKET, SO_TXREHASH_, ANY },
	{ }
};

/* Setting these would change the later comparisons. */
static const struct option_name not_set[] = {
	{ SOL_TCP, TCP_REPAIR, ANY },
	{ SOL_TCP, TCP_REPAIR_QUEUE, ANY },
	{ SOL_TCP, TCP_QUEUE_SEQ, ANY },
	{ SOL_TCP, TCP_REPAIR_OPTIONS, ANY },
	{ SOL_TCP, TCP_REPAIR_WINDOW, ANY },
	{ SOL_IPV6, IPV6_ADDRFORM, CONNECTED | STREAM },
	/* ends all traffic of a connection with an IPv4-mapped address */
	{ SOL_IPV6, IPV6_2292PKTOPTIONS, CONNECTED | STREAM },
	/* a packet that comes over another interface, as a late ACK, finds no socket: reset */
	{ SOL_SOCKET, SO_BINDTOIFINDEX, CONNECTED | STREAM },
	{ }
};

enum where {
	TURNED_ON,	/* only values other than 0 that TCP accepts */
	ALWAYS,		/* all calls, also where TCP fails with another errno */
};

/**
 * struct difference - an option that cannot be set as on TCP
 * @level: SOL_*
 * @name: option
 * @when: states with this answer
 * @err: errno of setsockopt()
 * @where: which calls fail with it
 */
struct difference {
	int level;
	int name;
	unsigned int when;
	int err;
	enum where where;
};

static const struct difference differences[] = {
	/* the TCP connection carries no bytes to transform, sign or filter */
	{ SOL_TCP, TCP_ULP, STREAM, EOPNOTSUPP, ALWAYS },
	{ SOL_TCP, TCP_MD5SIG, STREAM, EOPNOTSUPP, ALWAYS },
	{ SOL_TCP, TCP_MD5SIG_EXT, STREAM, EOPNOTSUPP, ALWAYS },
	{ SOL_TCP, TCP_AO_ADD_KEY_, STREAM, EOPNOTSUPP, ALWAYS },
	{ SOL_TCP, TCP_AO_INFO_, STREAM, EOPNOTSUPP, ALWAYS },
	{ SOL_SOCKET, SO_ATTACH_FILTER, STREAM, EOPNOTSUPP, ALWAYS },
	{ SOL_SOCKET, SO_ATTACH_BPF, STREAM, EOPNOTSUPP, ALWAYS },
	/* values 1 and 2: transmit time stamps */
	{ SOL_SOCKET, SO_TIMESTAMPING, STREAM, EOPNOTSUPP, TURNED_ON },
	{ SOL_SOCKET, SO_TIMESTAMPING_NEW_, STREAM, EOPNOTSUPP, TURNED_ON },
	{ }
};

/*
 * Before 6.7 the kernel handles options of SOL_SOCKET itself, and some for TCP only. TCP got
 * SO_PEEK_OFF in 6.9; SMC sockets report it as off until then. TCP-AO did not exist.
 */
static const struct option_name old_kernel[] = {
	{ SOL_SOCKET, SO_REUSEPORT, ANY },
	{ SOL_SOCKET, SO_ZEROCOPY, ANY },
	{ SOL_SOCKET, SO_ATTACH_FILTER, ANY },
	{ SOL_SOCKET, SO_ATTACH_BPF, ANY },
	{ SOL_SOCKET, SO_PEEK_OFF, ANY },
	{ SOL_SOCKET, SO_TIMESTAMPING, ANY },
	{ SOL_SOCKET, SO_TIMESTAMPING_NEW_, ANY },
	{ SOL_TCP, TCP_AO_ADD_KEY_, ANY },
	{ SOL_TCP, TCP_AO_INFO_, ANY },
	{ }
};

struct answer {
	int err;
	socklen_t len;
	unsigned char val[ROOM];
};

/**
 * struct pair - both sockets in the same state
 * @fd: OURS and NORM
 * @when: that state
 * @named: its name in reports
 * @found: differences found
 */
struct pair {
	int fd[BOTH];
	unsigned int when;
	const char *named;
	unsigned int found;
};

/* Check whether the option is in @list, which ends with an entry without states. */
static bool option_listed(const struct option_name *list, int level, int name, unsigned int when)
{
	for (; list->when; list++)
		if (list->level == level && list->name == name && list->when & when)
			return true;
	return false;
}

static const struct difference *difference_find(const struct difference *list, const struct pair *p,
						int level, int name)
{
	for (; list->when; list++)
		if (list->level == level && list->name == name && list->when & p->when)
			return list;
	return NULL;
}

/* Return the documented exception, or NULL. */
static const struct difference *difference_for(const struct api_env *e, const struct pair *p,
					       int level, int name)
{
	return e->proto->smc ? difference_find(differences, p, level, name) : NULL;
}

/*
 * Return the errno that the SMC socket must return where TCP returns @norm; @on: the value is not
 * 0.
 */
static int errno_expected(const struct api_env *e, const struct pair *p, int level, int name,
			  bool on, int norm)
{
	const struct difference *d = difference_for(e, p, level, name);

	return d && (d->where == ALWAYS || (on && !norm)) ? d->err : norm;
}

static void difference_report(struct pair *p, int level, int name, const char *what, const char *is,
			      const char *want)
{
	printf("# %s: level %d option %d: %s: %s instead of %s\n", p->named, level, name, what, is,
	       want);
	p->found++;
}

static void compare_err(struct pair *p, int level, int name, const char *what, int err, int want)
{
	char text[64];

	if (err == want)
		return;
	/* only one of the two sockets has a route at the moment */
	if ((err == ENOTCONN || want == ENOTCONN) && option_listed(of_route, level, name, p->when))
		return;
	/* tl_errno_name() has one buffer */
	snprintf(text, sizeof(text), "%s", want ? tl_errno_name(want) : "success");
	difference_report(p, level, name, what, err ? tl_errno_name(err) : "success", text);
}

static void option_read(int fd, int level, int name, socklen_t len, struct answer *a)
{
	memset(a, 0, sizeof(*a));
	a->len = len;
	a->err = getsockopt(fd, level, name, a->val, &a->len) ? errno : 0;
}

static const char *answer_hex(const struct answer *a, char *buf, size_t size)
{
	size_t at = snprintf(buf, size, "%u bytes", a->len);

	for (socklen_t i = 0; i < a->len && i < 16 && at + 4 < size; i++)
		at += snprintf(buf + at, size - at, " %02x", a->val[i]);
	return buf;
}

/* Read an option of both sockets, into a buffer of @len bytes, and compare. */
static void compare_get(struct pair *p, int level, int name,
			socklen_t len, const char *what)
{
	struct answer a[BOTH];
	char text[BOTH][128];
	int err[BOTH];

	for (int i = OURS; i < BOTH; i++) {
		option_read(p->fd[i], level, name, len, &a[i]);
		err[i] = a[i].err;
	}
	compare_err(p, level, name, what, err[OURS], err[NORM]);
	if (err[OURS] || err[NORM] || option_listed(own_values, level, name, p->when))
		return;
	if (a[OURS].len == a[NORM].len && !memcmp(a[OURS].val, a[NORM].val, ROOM))
		return;
	difference_report(p, level, name, what,
			  answer_hex(&a[OURS], text[OURS], sizeof(text[OURS])),
			  answer_hex(&a[NORM], text[NORM], sizeof(text[NORM])));
}

static void compare_bad_get(struct pair *p, int level, int name)
{
	int err[BOTH], val;
	socklen_t len;

	for (int i = OURS; i < BOTH; i++) {
		len = sizeof(val);
		err[i] = getsockopt(p->fd[i], level, name, BAD_PTR, &len) ? errno : 0;
	}
	compare_err(p, level, name, "get, bad pointer", err[OURS], err[NORM]);
	for (int i = OURS; i < BOTH; i++)
		err[i] = getsockopt(p->fd[i], level, name, &val, BAD_PTR) ? errno : 0;
	compare_err(p, level, name, "get, bad length pointer", err[OURS], err[NORM]);
}

/* Return TCP's errno. */
static int compare_set(const struct api_env *e, struct pair *p, int level, int name,
		       const void *val, socklen_t len, bool on, const char *what)
{
	int err[BOTH];

	for (int i = OURS; i < BOTH; i++)
		err[i] = setsockopt(p->fd[i], level, name, val, len) ? errno : 0;
	compare_err(p, level, name, what, err[OURS],
		    errno_expected(e, p, level, name, on, err[NORM]));
	return err[NORM];
}

/* Set ints, short and bad buffers; the values read afterwards must agree, too. */
static void compare_sets(const struct api_env *e, struct pair *p, int level, int name)
{
	const struct difference *d = difference_for(e, p, level, name);
	static const int values[] = { 0, 1, 2, 4096, -1 };
	struct answer before[BOTH];
	char what[48];

	for (int i = OURS; i < BOTH; i++)
		option_read(p->fd[i], level, name, ROOM, &before[i]);
	for (size_t v = 0; v < TL_ARRAY_SIZE(values); v++) {
		snprintf(what, sizeof(what), "set to %d", values[v]);
		compare_set(e, p, level, name, &values[v], sizeof(values[v]), values[v],
			    what);
		if (d)
			continue;
		snprintf(what, sizeof(what), "get after set to %d", values[v]);
		compare_get(p, level, name, ROOM, what);
	}
	compare_set(e, p, level, name, &values[1], 1, false, "set, one byte");
	compare_set(e, p, level, name, BAD_PTR, sizeof(int), false, "set, bad pointer");
	/* restore: the connections are still needed */
	for (int i = OURS; i < BOTH; i++)
		if (!before[i].err && (d || before[i].len == sizeof(int)))
			setsockopt(p->fd[i], level, name, before[i].val, before[i].len);
}

/**
 * struct setting - an option with a value other than the default
 * @level: SOL_*
 * @name: option
 * @val: value
 */
struct setting {
	int level;
	int name;
	int val;
};

static const struct setting settings[] = {
	{ SOL_SOCKET, SO_KEEPALIVE, 1 },
	{ SOL_SOCKET, SO_OOBINLINE, 1 },
	{ SOL_SOCKET, SO_PRIORITY, 3 },
	{ SOL_SOCKET, SO_MARK, 7 },
	{ SOL_SOCKET, SO_RCVLOWAT, 2 },
	{ SOL_SOCKET, SO_SNDBUF, 100000 },
	{ SOL_SOCKET, SO_RCVBUF, 90000 },
	{ SOL_SOCKET, SO_BUSY_POLL, 10 },
	{ SOL_SOCKET, SO_PEEK_OFF, 0 },
	{ SOL_SOCKET, SO_TIMESTAMP, 1 },
	{ SOL_SOCKET, SO_RXQ_OVFL, 1 },
	{ SOL_SOCKET, SO_ZEROCOPY, 1 },
	{ SOL_IP, IP_TOS, 0x10 },
	{ SOL_IP, IP_TTL, 33 },
	{ SOL_IP, IP_RECVTOS, 1 },
	{ SOL_IP, IP_FREEBIND, 1 },
	{ SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1 },
	{ SOL_IPV6, IPV6_TCLASS, 0x20 },
	{ SOL_IPV6, IPV6_UNICAST_HOPS, 34 },
	{ SOL_IPV6, IPV6_RECVPKTINFO, 1 },
	{ SOL_TCP, TCP_NODELAY, 1 },
	{ SOL_TCP, TCP_KEEPIDLE, 77 },
	{ SOL_TCP, TCP_KEEPINTVL, 11 },
	{ SOL_TCP, TCP_KEEPCNT, 3 },
	{ SOL_TCP, TCP_SYNCNT, 4 },
	{ SOL_TCP, TCP_LINGER2, 5 },
	{ SOL_TCP, TCP_USER_TIMEOUT, 70000 },
	{ SOL_TCP, TCP_NOTSENT_LOWAT, 5000 },
	{ SOL_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1 },
	{ SOL_TCP, TCP_MAXSEG, 1000 },
};

/**
 * struct typed - a value that is no int
 * @level: SOL_*
 * @name: option
 * @when: states in which TCP accepts it
 * @val: value
 * @len: its bytes
 */
struct typed {
	int level;
	int name;
	unsigned int when;
	const void *val;
	socklen_t len;
};

static struct sock_filter pass_all[] = { BPF_STMT(BPF_RET | BPF_K, ~0U) };
static const struct sock_fprog pass_filter = { .len = 1, .filter = pass_all };
static const struct linger linger_5 = { .l_onoff = 1, .l_linger = 5 };
static const struct timeval three_s = { .tv_sec = 3 };
static const u64 pacing_rate = 1ULL << 33;

static const struct typed typed_values[] = {
	{ SOL_SOCKET, SO_LINGER, ANY, &linger_5, sizeof(linger_5) },
	{ SOL_SOCKET, SO_RCVTIMEO, ANY, &three_s, sizeof(three_s) },
	{ SOL_SOCKET, SO_SNDTIMEO, ANY, &three_s, sizeof(three_s) },
	{ SOL_SOCKET, SO_MAX_PACING_RATE, ANY, &pacing_rate, sizeof(pacing_rate) },
	{ SOL_SOCKET, SO_ATTACH_FILTER, ANY, &pass_filter, sizeof(pass_filter) },
	{ SOL_SOCKET, SO_BINDTODEVICE, FRESH, "lo", 3 },
	{ SOL_TCP, TCP_CONGESTION, ANY, "reno", 4 },
	{ SOL_TCP, TCP_FASTOPEN_KEY, FRESH | LISTENING, "0123456789abcdef", 16 },
	{ SOL_IP, IP_OPTIONS, FRESH, "\1\1\1", 4 },
};

/* Check whether the kernel passes the call to the family. */
static bool family_answers(const struct api_env *e, int level, int name)
{
	if (!e->proto->smc)
		return true;
	/* through this entry point 6.1 lets it pass */
	if (e->proto->domain != AF_SMC && level == SOL_SOCKET && name == SO_REUSEPORT)
		return true;
	return !option_listed(not_for_families, level, name, ANY) &&
	       !(api_kernel_before(6, 9) && option_listed(old_kernel, level, name, ANY));
}

/* Set a value of the right type and range, which TCP accepts, and compare what is read then. */
static void compare_valid(const struct api_env *e, struct pair *p, int level, int name,
			  const void *val, socklen_t len)
{
	struct answer before[BOTH];
	int norm;

	/* IPV6_* need an IPv6 socket; buffers that are set, to other sizes, limit SO_RCVLOWAT */
	if (!family_answers(e, level, name) || (level == SOL_IPV6 && e->proto->af != AF_INET6) ||
	    option_listed(own_values, level, name, p->when))
		return;
	for (int i = OURS; i < BOTH; i++)
		option_read(p->fd[i], level, name, ROOM, &before[i]);
	norm = compare_set(e, p, level, name, val, len, true, "set to a valid value");
	/* some need a capability */
	if (norm && !geteuid())
		difference_report(p, level, name, "set to a valid value", tl_errno_name(norm),
				  "success on TCP");
	if (!difference_for(e, p, level, name))
		compare_get(p, level, name, ROOM, "get after a valid value");
	for (int i = OURS; i < BOTH; i++) {
		if (name == SO_ATTACH_FILTER && level == SOL_SOCKET)
			setsockopt(p->fd[i], SOL_SOCKET, SO_DETACH_FILTER, &norm, sizeof(norm));
		else if (!before[i].err)
			setsockopt(p->fd[i], level, name, before[i].val, before[i].len);
	}
}

static void compare_all_valid(const struct api_env *e, struct pair *p)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(settings); i++)
		compare_valid(e, p, settings[i].level, settings[i].name, &settings[i].val,
			      sizeof(settings[i].val));
	for (size_t i = 0; i < TL_ARRAY_SIZE(typed_values); i++)
		if (typed_values[i].when & p->when)
			compare_valid(e, p, typed_values[i].level, typed_values[i].name,
				      typed_values[i].val, typed_values[i].len);
}

static void option_compare(const struct api_env *e, struct pair *p, int level, int name)
{
	if (!family_answers(e, level, name))
		return;
	compare_get(p, level, name, ROOM, "get");
	compare_get(p, level, name, 0, "get, no room");
	compare_get(p, level, name, 1, "get, one byte");
	compare_get(p, level, name, -1, "get, negative length");
	compare_bad_get(p, level, name);
	if (!option_listed(not_set, level, name, p->when))
		compare_sets(e, p, level, name);
}

static void compare_all(const struct api_env *e, struct pair *p)
{
	/* first: the int 1 locks the filter of the TCP socket for ever */
	compare_all_valid(e, p);
	for (size_t l = 0; l < TL_ARRAY_SIZE(levels); l++)
		for (int name = 0; name < NAMES; name++)
			option_compare(e, p, levels[l], name);
	T_EQ(p->found, 0);
}

/* Return the same environment for TCP. */
static struct api_env env_norm(const struct api_env *e)
{
	struct api_env norm = *e;

	norm.proto = tl_proto_find(e->proto->af == AF_INET6 ? "inet6" : "inet");
	norm.peer = norm.proto;
	norm.require = TL_MODE_UNKNOWN;
	norm.upgrade = false;
	return norm;
}

static int new_socket(const struct api_env *e)
{
	return T_OK(socket(e->proto->domain, SOCK_STREAM | SOCK_CLOEXEC, e->proto->protocol));
}

/* One pair of sockets per option: some options make a socket TCP permanently. */
static void options_fresh(struct api_env *e)
{
	struct api_env norm = env_norm(e);
	struct pair p = { .when = FRESH, .named = "fresh" };

	for (size_t l = 0; l < TL_ARRAY_SIZE(levels); l++)
		for (int name = 0; name < NAMES; name++) {
			p.fd[OURS] = new_socket(e);
			p.fd[NORM] = new_socket(&norm);
			option_compare(e, &p, levels[l], name);
			close(p.fd[OURS]);
			close(p.fd[NORM]);
		}
	p.fd[OURS] = new_socket(e);
	p.fd[NORM] = new_socket(&norm);
	compare_all_valid(e, &p);
	T_EQ(p.found, 0);
}

static void options_listening(struct api_env *e)
{
	struct api_env norm = env_norm(e);
	struct pair p = { .when = LISTENING, .named = "listening" };
	struct tl_addr at;

	p.fd[OURS] = api_listener(e, &at);
	p.fd[NORM] = api_listener(&norm, &at);
	compare_all(e, &p);
}

/* Return the index of the interface that has our address. */
static int own_ifindex(const struct api_env *e)
{
	struct ifaddrs *all, *i;
	struct tl_addr a = {};
	int index = 0;

	T_OK(getifaddrs(&all));
	for (i = all; i && !index; i = i->ifa_next) {
		if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET &&
				     i->ifa_addr->sa_family != AF_INET6))
			continue;
		memcpy(&a.in6, i->ifa_addr, i->ifa_addr->sa_family == AF_INET ?
		       sizeof(a.in) : sizeof(a.in6));
		if (tl_addr_same_host(&a, &e->local))
			index = if_nametoindex(i->ifa_name);
	}
	freeifaddrs(all);
	T_TRUE(index > 0);
	return index;
}

static void options_connected(struct api_env *e)
{
	static const int none = -1;
	static const struct typed no_index[] = {
		{ .val = &none, .len = sizeof(none) }, { .val = &none, .len = 1 },
		{ .val = BAD_PTR, .len = sizeof(int) },
	};
	struct api_env norm = env_norm(e);
	struct pair p = { .when = CONNECTED, .named = "connected" };
	int rfd, norm_rfd, ifindex;

	api_pair(e, &p.fd[OURS], &rfd);
	api_pair(&norm, &p.fd[NORM], &norm_rfd);
	if (api_over_rdma(e, p.fd[OURS]))
		p.when = STREAM;
	ifindex = own_ifindex(e);
	compare_valid(e, &p, SOL_SOCKET, SO_BINDTOIFINDEX, &ifindex, sizeof(ifindex));
	for (size_t i = 0; i < TL_ARRAY_SIZE(no_index); i++)
		compare_set(e, &p, SOL_SOCKET, SO_BINDTOIFINDEX, no_index[i].val, no_index[i].len,
			    false, "set to no interface");
	compare_all(e, &p);
	api_roundtrip(e, p.fd[OURS], rfd, SEED);
	api_roundtrip(&norm, p.fd[NORM], norm_rfd, SEED);
}

/* Options that need a capability: all of them again, without any capability. */
static void options_nobody(struct api_env *e)
{
	T_OK(setresgid(NOBODY, NOBODY, NOBODY));
	T_OK(setresuid(NOBODY, NOBODY, NOBODY));
	options_fresh(e);
	options_listening(e);
}

/* Options that do not exist for this family fail; they are not compared later. */
static void settings_apply(int fd)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(settings); i++)
		setsockopt(fd, settings[i].level, settings[i].name, &settings[i].val,
			   sizeof(settings[i].val));
}

/* Options set before the connection, on the socket or its listener, are kept. */
static void options_kept(struct api_env *e)
{
	struct api_env norm = env_norm(e);
	struct pair p = { .when = FRESH, .named = "kept" };
	int rfd, norm_rfd;

	norm.role = e->role;
	api_pair_of(e, settings_apply, &p.fd[OURS], &rfd);
	api_check_mode(e, p.fd[OURS]);
	/* over RDMA SO_SNDBUF and SO_RCVBUF are about the rings */
	if (api_over_rdma(e, p.fd[OURS]))
		p.when = STREAM;
	api_pair_of(&norm, settings_apply, &p.fd[NORM], &norm_rfd);
	for (size_t i = 0; i < TL_ARRAY_SIZE(settings); i++)
		if (family_answers(e, settings[i].level, settings[i].name))
			compare_get(&p, settings[i].level, settings[i].name, ROOM, "get");
	T_EQ(p.found, 0);
	api_roundtrip(e, p.fd[OURS], rfd, SEED);
}

/* A key for the unspecified address: no packet is signed with it. */
static struct tcp_md5sig md5_key = { .tcpm_keylen = 3, .tcpm_key = "key" };

#define UNDO		0x1	/* set to 0 again: else connect() would not be the usual one */
#define OPTIONAL	0x2	/* a kernel may be built without it: its TCP answers ENOPROTOOPT */
#define PROG		0x4	/* the value is an eBPF program */

/**
 * struct exclusion - an option that SMC does not support, with a value that TCP accepts
 * @level: SOL_*
 * @name: option
 * @when: states in which TCP accepts it: %FRESH, %LISTENING
 * @flags: %UNDO, %OPTIONAL, %PROG
 * @n: value
 * @val: another value, or NULL
 * @len: its bytes
 */
struct exclusion {
	int level;
	int name;
	unsigned int when;
	unsigned int flags;
	int n;
	const void *val;
	socklen_t len;
};

#define SIDES		(FRESH | LISTENING)
#define ON_SEND		SOF_TIMESTAMPING_TX_SOFTWARE
/* each message may request stamps then */
#define ON_DEMAND	(SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY)

static const struct exclusion exclusions[] = {
	{ SOL_TCP, TCP_FASTOPEN, SIDES, 0, 5, NULL, 0 },
	{ SOL_TCP, TCP_FASTOPEN_NO_COOKIE, SIDES, 0, 1, NULL, 0 },
	{ SOL_TCP, TCP_FASTOPEN_CONNECT, FRESH, UNDO, 1, NULL, 0 },
	{ SOL_TCP, TCP_REPAIR, FRESH, UNDO, 1, NULL, 0 },
	{ SOL_TCP, TCP_MD5SIG, SIDES, OPTIONAL, 0, &md5_key, sizeof(md5_key) },
	{ SOL_SOCKET, SO_ATTACH_FILTER, SIDES, 0, 0, &pass_filter, sizeof(pass_filter) },
	{ SOL_SOCKET, SO_ATTACH_BPF, SIDES, PROG, 0, NULL, 0 },
	{ SOL_SOCKET, SO_TIMESTAMPING, SIDES, 0, ON_SEND, NULL, 0 },
	{ SOL_SOCKET, SO_TIMESTAMPING, SIDES, 0, ON_DEMAND, NULL, 0 },
	{ SOL_SOCKET, SO_TIMESTAMPING_NEW_, SIDES, 0, ON_SEND, NULL, 0 },
};

static const struct exclusion *exclude_by;

/* An eBPF socket filter that passes everything. */
static int prog_load(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)insns, .insn_cnt = TL_ARRAY_SIZE(insns),
		.license = (uintptr_t)"GPL",
	};

	return T_OK(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
}

static int exclusion_set(int fd, const struct exclusion *x)
{
	int n = x->flags & PROG ? prog_load() : x->n;
	int rc, err;

	rc = x->val ? setsockopt(fd, x->level, x->name, x->val, x->len) :
		      setsockopt(fd, x->level, x->name, &n, sizeof(n));
	err = errno;
	if (x->flags & PROG)
		close(n);
	errno = err;
	return rc;
}

static void option_exclude(int fd)
{
	const int off = 0;

	T_OK(exclusion_set(fd, exclude_by));
	if (exclude_by->flags & UNDO)
		T_OK(setsockopt(fd, exclude_by->level, exclude_by->name, &off, sizeof(off)));
	api_reenter(fd);
}

/* Check that TCP accepts the value in this state: a call that fails there would prove nothing. */
static bool exclusion_check_norm(const struct api_env *e, const struct exclusion *x)
{
	struct api_env norm = env_norm(e);
	struct tl_addr at;
	int fd = e->role == API_PASSIVE ? api_listener(&norm, &at) : new_socket(&norm);
	int rc = exclusion_set(fd, x);

	if (rc && errno == ENOPROTOOPT && x->flags & OPTIONAL)
		printf("# this kernel's TCP lacks option %d\n", x->name);
	else
		T_OK(rc);
	close(fd);
	return !rc;
}

/*
 * Options that SMC does not support make the connection TCP, with that reason, and act there as on
 * TCP. (ulp_tls_keys is for TCP_ULP, which TCP accepts on connections only.)
 */
static void options_exclude(struct api_env *e)
{
	unsigned int when = e->role == API_PASSIVE ? LISTENING : FRESH;
	int fd, rfd;

	md5_key.tcpm_addr.ss_family = e->proto->af;
	for (size_t i = 0; i < TL_ARRAY_SIZE(exclusions); i++) {
		exclude_by = &exclusions[i];
		if (!(exclude_by->when & when) || !exclusion_check_norm(e, exclude_by))
			continue;
		api_pair_of(e, option_exclude, &fd, &rfd);
		api_check_declined(e, fd);
		api_roundtrip(e, fd, rfd, SEED);
		close(fd);
		T_OK(r_close(e, rfd));
	}
}

static void check_peek(int fd, u64 off, size_t len)
{
	char buf[ROOM];

	T_EQ(recv(fd, buf, len, MSG_PEEK | MSG_WAITALL), (ssize_t)len);
	T_EQ(tl_check(SEED, off, buf, len), -1);
}

/* SO_PEEK_OFF: each peek continues where the last one ended; reading moves the offset back. */
static void peek_offset(struct api_env *e)
{
	int fd, rfd, off = 0;
	socklen_t len = sizeof(off);

	api_pair(e, &fd, &rfd);
	if (api_kernel_before(6, 9)) {
		T_ERR(setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off)), EOPNOTSUPP);
		return;
	}
	T_EQ(r_send(e, rfd, SEED, 0, 300), 300);
	T_OK(setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off)));
	check_peek(fd, 0, 100);
	check_peek(fd, 100, 100);
	T_OK(getsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, &len));
	T_EQ(off, 200);
	api_recv(fd, SEED, 0, 150);
	check_peek(fd, 200, 100);
	api_recv(fd, SEED, 150, 150);
	off = -1;
	T_OK(setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off)));
	T_EQ(r_send(e, rfd, SEED, 300, 100), 100);
	check_peek(fd, 300, 100);
	check_peek(fd, 300, 50);
	api_recv(fd, SEED, 300, 100);
}

#define GROW_CHUNK	(256 * 1024)
#define GROW_CHUNKS	16
#define GROW_CHUNKS_MAX	128

static int sndbuf_of(int fd)
{
	int val = 0;
	socklen_t len = sizeof(val);

	T_OK(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &val, &len));
	return val;
}

/*
 * Send a stream to a peer that reads it, until SO_SNDBUF is @size; return how it ends. The ring of
 * a stream that is slow, as on a host with other things to do, does not grow before it is fast.
 */
static int sndbuf_after_stream(struct api_env *e, int fd, int rfd, int size, int chunks)
{
	u64 off = 0;

	for (int i = 0; i < chunks && (i < GROW_CHUNKS || sndbuf_of(fd) != size); i++) {
		r_later(e, 0);
		r_recv(e, rfd, SEED, off, GROW_CHUNK);
		api_send(fd, SEED, off, GROW_CHUNK);
		T_EQ(r_join(e), GROW_CHUNK);
		off += GROW_CHUNK;
	}
	return sndbuf_of(fd);
}

static void sndbuf_set(int fd)
{
	int val = 65536;

	T_OK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &val, sizeof(val)));
}

/* The send ring of a stream grows, as TCP's buffer does, unless its size was set. */
static void sndbuf_grows(struct api_env *e)
{
	int fd, rfd, size;

	api_pair(e, &fd, &rfd);
	size = sndbuf_of(fd);
	if (api_over_rdma(e, fd))
		T_EQ(sndbuf_after_stream(e, fd, rfd, 4 * size, GROW_CHUNKS_MAX), 4 * size);
	else
		T_TRUE(sndbuf_after_stream(e, fd, rfd, size, GROW_CHUNKS) >= size);
	close(fd);
	T_OK(r_close(e, rfd));

	api_pair_of(e, sndbuf_set, &fd, &rfd);
	size = sndbuf_of(fd);
	T_EQ(sndbuf_after_stream(e, fd, rfd, size, GROW_CHUNKS), size);
}

/* Likewise if it is set on a connection: to another size, and to the present one. */
static void sndbuf_set_later(struct api_env *e)
{
	for (int same = 0; same < 2; same++) {
		int fd, rfd, size, val;

		api_pair(e, &fd, &rfd);
		/* the core doubles it */
		val = same ? sndbuf_of(fd) / 2 : 40000;
		T_OK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &val, sizeof(val)));
		size = sndbuf_of(fd);
		T_EQ(sndbuf_after_stream(e, fd, rfd, size, GROW_CHUNKS), size);
		close(fd);
		T_OK(r_close(e, rfd));
	}
}

static const struct api_case cases[] = {
	{ "options_fresh",	options_fresh,		0 },
	{ "options_listening",	options_listening,	0 },
	{ "options_connected",	options_connected,	API_F_ROLES },
	{ "options_nobody",	options_nobody,		0 },
	{ "options_kept",	options_kept,		API_F_ROLES },
	{ "options_exclude",	options_exclude,	API_F_ROLES },
	{ "peek_offset",	peek_offset,		API_F_ROLES },
	{ "sndbuf_grows",	sndbuf_grows,		API_F_ROLES },
	{ "sndbuf_set_later",	sndbuf_set_later,	API_F_ROLES },
};

const struct api_group api_sockopt_group = { cases, TL_ARRAY_SIZE(cases) };
