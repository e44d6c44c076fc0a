// SPDX-License-Identifier: GPL-2.0-only
/* Valid CLC messages to start from, functions to corrupt them, and reading of the answers. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <smc/proto/peer_caps.h>

#include "evil.h"
#include "lib/ktap.h"

#define DEFAULT_EID	"SMCV2-DEFAULT-UEID"
#define PREFIX_BITS	24	/* prefix length of the test bed's subnets */
#define FIRST_PORT	10000	/* local ports, below the ones that the kernel chooses */
#define NR_PORTS	20000

static const char * const end_names[] = {
	[EVIL_OPEN] = "still open",
	[EVIL_CLOSED] = "closed",
	[EVIL_DECLINE] = "declined",
	[EVIL_ACCEPT] = "accepted",
	[EVIL_ALIEN] = "sent bytes that are not a CLC message",
};

const char *evil_end_name(enum evil_end end)
{
	return (size_t)end < TL_ARRAY_SIZE(end_names) ? end_names[end] : "invalid";
}

/* The RoCEv2 GID of an address: IPv4 as v4-mapped. */
static void gid_from_addr(const struct tl_addr *a, u8 gid[16])
{
	memset(gid, 0, 16);
	if (a->sa.sa_family == AF_INET6) {
		memcpy(gid, &a->in6.sin6_addr, 16);
		return;
	}
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &a->in.sin_addr, 4);
}

static void eid_set_default(u8 eid[SMC_EID_LEN])
{
	memset(eid, ' ', SMC_EID_LEN);
	memcpy(eid, DEFAULT_EID, strlen(DEFAULT_EID));
}

/* Set the length that the codec returned. An error ends the program: all cases need the message. */
static void msg_set_len(struct evil_msg *m, int n)
{
	if (n <= 0) {
		printf("Bail out! cannot build a message: %s\n", tl_errno_name(-n));
		exit(1);
	}
	m->len = n;
}

/* A new peer ID each time, so that the module's negative cache does not connect the cases. */
static void identity_set(u8 peer_id[SMC_PEER_ID_LEN], u8 mac[SMC_MAC_LEN])
{
	static u32 nr;
	u32 n = __atomic_add_fetch(&nr, 1, __ATOMIC_RELAXED) ^ (u32)getpid() << 12;

	mac[0] = 0x52;
	mac[1] = 0x66;
	smc_wire_put_be32(mac + 2, n);
	peer_id[0] = 0x66;
	peer_id[1] = 0x66;
	memcpy(peer_id + 2, mac, SMC_MAC_LEN);
}

/* Build a valid Proposal: version 2 only, the default EID. */
static void proposal_build(struct evil_msg *m, const struct tl_addr *local, bool native, u8 links)
{
	struct smc_clc_proposal p = {
		.version = 2,
		.v1_type = SMC_CLC_OFFER_NONE,
		.v2_type = SMC_CLC_OFFER_R,
		.has_v2 = true,
		.v2 = {
			.release = SMC_CLC_RELEASE_1,
			.max_conns = SMC_CLC_CONNS_MAX,
			.max_links = SMC_CLC_LINKS_MAX,
			.eid_count = 1,
		},
	};

	identity_set(p.peer_id, p.mac);
	gid_from_addr(local, p.v2.gid);
	eid_set_default(p.v2.eids[0]);
	if (native) {
		smc_native_tag_set_proposal(&p);
		smc_native_tag_set_links(&p, links);
	}
	msg_set_len(m, smc_clc_build_proposal(&p, m->buf, sizeof(m->buf)));
}

void evil_proposal(struct evil_msg *m, const struct tl_addr *local)
{
	proposal_build(m, local, false, 0);
}

/* A Proposal with the tag of a native peer; @links: links per group, 0: not announced. */
void evil_proposal_native(struct evil_msg *m, const struct tl_addr *local, u8 links)
{
	proposal_build(m, local, true, links);
}

/* A Proposal of version 1 only, over RoCE v2, as native peers offer it. */
void evil_proposal_v1(struct evil_msg *m, const struct tl_addr *local, u8 links)
{
	struct smc_clc_proposal p = {
		.version = 2,
		.v1_type = SMC_CLC_OFFER_R,
		.v2_type = SMC_CLC_OFFER_NONE,
	};

	identity_set(p.peer_id, p.mac);
	gid_from_addr(local, p.gid);
	smc_clc_proposal_set_prefix4(&p, (const u8 *)&local->in.sin_addr, PREFIX_BITS);
	smc_native_tag_set_proposal(&p);
	smc_native_tag_set_v1_over_v2(&p);
	smc_native_tag_set_links(&p, links);
	msg_set_len(m, smc_clc_build_proposal(&p, m->buf, sizeof(m->buf)));
}

/* A well-formed Accept or Confirm; its queue pair does not exist. */
void evil_accept(struct evil_msg *m, const struct tl_addr *local, const u8 *eid, bool confirm,
		 bool first)
{
	struct smc_clc_accept a = {
		.is_confirm = confirm,
		.version = 2,
		.first_contact = first,
		.qpn = 0x666,
		.rkey = 0x6660001,
		.rmbe_idx = 1,
		.token = 0x66600001,
		.bsize = 2,
		.mtu = SMC_MTU_1024,
		.vaddr = 0x660000000000ULL,
		.psn = 0x66,
		.fce = {
			.direct = true,
			.os = SMC_CLC_OS_LINUX,
			.release = SMC_CLC_RELEASE_1,
			.max_conns = SMC_CLC_CONNS_MAX,
			.max_links = SMC_CLC_LINKS_MAX,
		},
		.gid_count = confirm && first,
	};

	identity_set(a.peer_id, a.mac);
	gid_from_addr(local, a.gid);
	gid_from_addr(local, a.gids[0]);
	memset(a.fce.hostname, ' ', sizeof(a.fce.hostname));
	if (eid)
		memcpy(a.eid, eid, SMC_EID_LEN);
	else
		eid_set_default(a.eid);
	msg_set_len(m, smc_clc_build_accept(&a, m->buf, sizeof(m->buf)));
}

/* Turn an Accept or Confirm of version 2 into one of version 1 of a native peer. */
void evil_accept_to_v1(struct evil_msg *m)
{
	struct smc_clc_accept a;

	if (smc_clc_parse_accept(m->buf, m->len, &a))
		return;
	a.version = 1;
	/* a Confirm of version 1 has no such flag */
	a.first_contact = a.first_contact && !a.is_confirm;
	if (!a.is_confirm)
		smc_native_tag_set_v1(&a);
	msg_set_len(m, smc_clc_build_accept(&a, m->buf, sizeof(m->buf)));
}

void evil_decline(struct evil_msg *m, unsigned int version, u32 diag)
{
	struct smc_clc_decline d = {
		.version = version,
		.diag = diag,
		.os = SMC_CLC_OS_LINUX,
	};

	msg_set_len(m, smc_clc_build_decline(&d, m->buf, sizeof(m->buf)));
}

void evil_garbage(struct evil_msg *m, u64 seed, size_t len)
{
	m->len = len < sizeof(m->buf) ? len : sizeof(m->buf);
	tl_fill(seed, 0, m->buf, m->len);
}

/* Make one to four random changes: flip a bit, set bytes, remove, repeat or truncate a part. */
void evil_mutate(struct evil_msg *m, u64 seed)
{
	u64 r = tl_mix(seed);
	unsigned int changes = 1 + r % 4;

	while (changes-- && m->len) {
		size_t at, n;

		r = tl_mix(r + 1);
		at = (r >> 8) % m->len;
		n = 1 + (r >> 32) % 8;
		if (n > m->len - at)
			n = m->len - at;
		switch (r % 6) {
		case 0:
			m->buf[at] ^= 1 << (r >> 56) % 8;
			break;
		case 1:
			m->buf[at] = r >> 48;
			break;
		case 2:
			memset(m->buf + at, r & 0x100 ? 0xff : 0, n);
			break;
		case 3:
			memmove(m->buf + at, m->buf + at + n, m->len - at - n);
			m->len -= n;
			break;
		case 4:
			if (m->len + n > sizeof(m->buf))
				break;
			memmove(m->buf + at + n, m->buf + at, m->len - at);
			m->len += n;
			break;
		case 5:
			m->len = at;
			break;
		}
	}
}

/*
 * Make a TCP connection to the server under attack. Each one has a port of its own, because the
 * witness of smc_evil_link knows a connection by the port of its client.
 */
int evil_connect(const struct evil_target *t)
{
	struct tl_addr from = { .in.sin_family = AF_INET, .len = sizeof(from.in) };
	static unsigned int nr;
	int fd = -EADDRINUSE;

	if (t->from.len)
		from = t->from;
	for (unsigned int i = 0; i < NR_PORTS && fd == -EADDRINUSE; i++) {
		tl_addr_set_port(&from, FIRST_PORT + nr++ % NR_PORTS);
		fd = tl_connect(t->tcp, &from, &t->to);
	}
	if (fd < 0)
		ktap_note("connect: %s", tl_errno_name(-fd));
	else
		tl_set_timeouts(fd, t->deadline_ms);
	return fd;
}

/* Like tl_send_all(), but a reset by the victim is no error. */
int evil_write(int fd, const void *buf, size_t len)
{
	ssize_t n = tl_send_all(fd, buf, len);

	if (n == -ECONNRESET || n == -EPIPE)
		return 0;
	return n < 0 ? n : 0;
}

/* Send one byte at a time. Returns 1 if the victim ended the connection before the last one. */
int evil_drip(int fd, const void *buf, size_t len, unsigned int pause_ms)
{
	for (size_t i = 0; i < len; i++) {
		struct pollfd p = { .fd = fd, .events = POLLRDHUP };

		if (tl_send_all(fd, (const char *)buf + i, 1) < 0)
			return 1;
		if (poll(&p, 1, pause_ms) > 0)
			return 1;
	}
	return 0;
}

void evil_reset(int fd)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

/* Read exactly @len bytes until @until. Returns 1, 0 at the end of the connection, -1: timeout. */
static int read_exact(int fd, u8 *buf, size_t len, u64 until)
{
	size_t done = 0;

	while (done < len) {
		u64 now = tl_now_ns();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (now >= until || poll(&p, 1, (until - now) / TL_NSEC_PER_MSEC + 1) <= 0)
			return -1;
		n = recv(fd, buf + done, len - done, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return 0;
		done += n;
	}
	return 1;
}

/**
 * evil_read() - read the next CLC message of the other side
 * @fd: connection
 * @timeout_ms: how long to wait
 * @got: receives the message, may be NULL
 *
 * Return: what came. %EVIL_ACCEPT stands for any message but a Decline, a Proposal included.
 */
enum evil_end evil_read(int fd, unsigned int timeout_ms, struct evil_msg *got)
{
	static __thread struct evil_msg spare;
	u64 until = tl_now_ns() + timeout_ms * TL_NSEC_PER_MSEC;
	struct smc_clc_head head;
	int ret;

	if (!got)
		got = &spare;
	got->len = 0;
	ret = read_exact(fd, got->buf, SMC_CLC_HEAD_LEN, until);
	if (ret <= 0)
		return ret ? EVIL_OPEN : EVIL_CLOSED;
	if (smc_clc_parse_header(got->buf, &head))
		return EVIL_ALIEN;
	ret = read_exact(fd, got->buf + SMC_CLC_HEAD_LEN, head.len - SMC_CLC_HEAD_LEN, until);
	if (ret <= 0)
		return ret ? EVIL_OPEN : EVIL_CLOSED;
	got->len = head.len;
	return head.type == SMC_CLC_DECLINE ? EVIL_DECLINE : EVIL_ACCEPT;
}

/**
 * evil_read_end() - wait for the end of a connection, skipping messages
 * @fd: connection
 * @timeout_ms: how long to wait in total
 *
 * Return: %EVIL_CLOSED if it ended, %EVIL_DECLINE if a Decline came and the connection then stayed
 * open for a second, otherwise what is wrong.
 */
enum evil_end evil_read_end(int fd, unsigned int timeout_ms)
{
	u64 until = tl_now_ns() + timeout_ms * TL_NSEC_PER_MSEC;
	bool declined = false;

	for (;;) {
		u64 now = tl_now_ns();
		unsigned int left = now < until ? (until - now) / TL_NSEC_PER_MSEC : 0;
		enum evil_end end = evil_read(fd, declined && left > 1000 ? 1000 : left, NULL);

		if (end == EVIL_OPEN && declined)
			return EVIL_DECLINE;
		if (end == EVIL_DECLINE)
			declined = true;
		else if (end != EVIL_ACCEPT)
			return end;
	}
}
