// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake smc_diag: AF_SMC sockets.
 *
 * With FAKE_OWN_SOCK, "smc", "deferred" or "REASON PEER-REASON", the list includes the stream
 * sockets of this process. The file FAKE_NL_KILLED gets a line for each socket that was ended.
 */
#define _GNU_SOURCE
#include "fake_netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <uapi/linux/smc_own.h>

#define FIRST_INODE 4711
#define COOKIE 0xc00c1e
/* Ports of a socket that ends by itself before it is ended, and of one that cannot be ended */
#define GONE_PORT 50001
#define STUCK_PORT 82
#define WIDE_STATE 25	/* with the longest name */

static struct nlmsghdr *sock_start(__u8 state, __u8 mode, const char *src, int sport,
				   const char *dst, int dport)
{
	struct nlmsghdr *nlh = fake_msg_start(DIAG_BY_FAMILY, NLM_F_MULTI);
	struct smc_diag_msg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	int family = strchr(src, ':') ? AF_INET6 : AF_INET;

	msg->diag_family = 43;
	msg->diag_state = state;
	msg->diag_mode = mode;
	inet_pton(family, src, msg->id.idiag_src);
	inet_pton(family, dst, msg->id.idiag_dst);
	msg->id.idiag_sport = htons(sport);
	msg->id.idiag_dport = htons(dport);
	msg->id.idiag_cookie[0] = COOKIE;
	msg->id.idiag_cookie[1] = (__u32)dport;
	/* of fake_host.c: bound to a netdev only where its name is tested */
	msg->id.idiag_if = getenv("FAKE_NETDEV") ? 8 : 0;
	msg->diag_uid = 1000;
	msg->diag_inode = FIRST_INODE + (__u32)dport;
	return nlh;
}

static void reasons_put(struct nlmsghdr *nlh, __u32 own, __u32 peer)
{
	struct smc_diag_fallback fb = { .reason = own, .peer_diagnosis = peer };

	mnl_attr_put(nlh, SMC_DIAG_FALLBACK, sizeof(fb), &fb);
}

static void stats_put(struct nlmsghdr *nlh)
{
	static __u64 grown;
	struct nlattr *nest = mnl_attr_nest_start(nlh, SMC_DIAG_OWN_STATS);

	if (fake_is("growing"))
		grown += 5000;
	mnl_attr_put_u64(nlh, SMC_DIAG_STAT_TX_BYTES, 123456789 + 4 * grown);
	mnl_attr_put_u64(nlh, SMC_DIAG_STAT_RX_BYTES, 2000 + grown);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_TX_QUEUE, 300);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_RX_QUEUE, 0);
	mnl_attr_put_u64(nlh, SMC_DIAG_STAT_TX_AGAIN, 5);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_TX_MSGS, 60);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_RX_MSGS, 70);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_TX_DATA_MSGS, 8 + (__u32)grown / 100);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_RX_DATA_MSGS, 9);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_RTT, 15);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_RTT_VAR, 3);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_RTT_MIN, 11);
	mnl_attr_put_u64(nlh, SMC_DIAG_STAT_RATE, 98765432);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_CLOSED, 12);
	mnl_attr_put_u64(nlh, SMC_DIAG_STAT_CLOSED_USECS, 13000000 + 200 * grown);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_MOVES, 1);
	mnl_attr_put_strz(nlh, SMC_DIAG_STAT_MOVE_REASON, "port down");
	mnl_attr_put_u64(nlh, SMC_DIAG_STAT_MOVE_AGE, 77);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_LAST_SENT, 40);
	mnl_attr_put_u32(nlh, SMC_DIAG_STAT_LAST_RECEIVED, 41);
	mnl_attr_put_u64(nlh, SMC_DIAG_STAT_TCP_TX, 20001);
	mnl_attr_put_u64(nlh, SMC_DIAG_STAT_TCP_RX, 0);
	mnl_attr_nest_end(nlh, nest);
}

static void smcr_sock_put(__u8 ext)
{
	int wide = fake_is("wide");
	struct nlmsghdr *nlh = wide ?
		sock_start(WIDE_STATE, SMC_DIAG_MODE_SMCR, WIDE_LOCAL, 65535, WIDE_PEER, 65534) :
		sock_start(1, SMC_DIAG_MODE_SMCR, "10.0.0.1", 6379, "10.0.0.2", 40001);
	struct smc_diag_conninfo conn = {
		.token = 0xbeef0001, .sndbuf_size = 65536, .rmbe_size = 131072,
		.peer_rmbe_size = 262144, .rx_prod = { .wrap = 1, .count = 11 },
		.rx_cons = { .wrap = 2, .count = 12 }, .tx_prod = { .wrap = 3, .count = 13 },
		.tx_cons = { .wrap = 4, .count = 14 }, .tx_prep = { .wrap = 5, .count = 15 },
		.tx_sent = { .wrap = 6, .count = 16 }, .tx_fin = { .wrap = 7, .count = 17 },
		.rx_prod_flags = 0x80,
	};
	struct smc_diag_lgrinfo lgr = { .role = 1 };

	lgr.lnk[0].link_id = 3;
	lgr.lnk[0].ibport = 1;
	/* fill the array, without a terminating zero */
	memset(lgr.lnk[0].ibname, 'x', sizeof(lgr.lnk[0].ibname));
	if (!fake_is("short"))
		memcpy(lgr.lnk[0].ibname, "rxe0", 5);
	memcpy(lgr.lnk[0].gid, wide ? WIDE_LOCAL : "fe80:0000:0000:0000:0000:0000:0000:0001", 40);
	memcpy(lgr.lnk[0].peer_gid,
	       wide ? WIDE_PEER : "fe80:0000:0000:0000:0000:0000:0000:0002", 40);
	mnl_attr_put_u8(nlh, SMC_DIAG_SHUTDOWN, 2);
	reasons_put(nlh, 0, 0);
	if (ext & 1)
		mnl_attr_put(nlh, SMC_DIAG_CONNINFO, fake_is("short") ? 12 : sizeof(conn), &conn);
	if (ext & 2)
		mnl_attr_put(nlh, SMC_DIAG_LGRINFO, sizeof(lgr), &lgr);
	if (ext & SMC_DIAG_OWN_EXT && !fake_is("old"))
		stats_put(nlh);
	fake_msg_finish(nlh);
}

/* The stream sockets of this process, as a connection to 10.0.0.77 */
static void own_socks_put(void)
{
	const char *what = getenv("FAKE_OWN_SOCK");
	int smc = what && !strcmp(what, "smc"), fd, type;
	int deferred = what && !strcmp(what, "deferred");
	unsigned int own = 0, peer = 0;
	struct nlmsghdr *nlh;
	struct stat st;

	if (what && !smc && !deferred && sscanf(what, "%x %x", &own, &peer) != 2)
		abort();
	for (fd = 3; what && fd < 32; fd++) {
		socklen_t len = sizeof(type);

		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_STREAM ||
		    fstat(fd, &st))
			continue;
		nlh = sock_start(1, smc ? SMC_DIAG_MODE_SMCR : SMC_DIAG_MODE_FALLBACK_TCP,
				 "10.0.0.1", 40000 + fd, "10.0.0.77", 7);
		((struct smc_diag_msg *)mnl_nlmsg_get_payload(nlh))->diag_inode = st.st_ino;
		reasons_put(nlh, own, peer);
		if (deferred)
			mnl_attr_put(nlh, SMC_DIAG_OWN_DEFERRED, 0, NULL);
		fake_msg_finish(nlh);
	}
}

/**
 * fake_socks_answer() - answer a request for a list of sockets
 * @req: request
 */
void fake_socks_answer(const struct nlmsghdr *req)
{
	const struct smc_diag_req *diag = mnl_nlmsg_get_payload(req);
	struct nlmsghdr *nlh;

	if (diag->diag_family == AF_INET || diag->diag_family == AF_INET6) {
		fake_tcp_dump(diag->diag_family);
		fake_done_put();
		return;
	}
	if (fake_is("nofamily") || diag->diag_family != 43) {
		fake_result_put(NLMSG_ERROR, -ENOENT);
		return;
	}
	own_socks_put();
	if (fake_is("tiny")) {
		nlh = fake_msg_start(DIAG_BY_FAMILY, NLM_F_MULTI);
		memset(mnl_nlmsg_put_extra_header(nlh, 8), 0, 8);
		fake_msg_finish(nlh);
	} else if (fake_is("long")) {
		nlh = sock_start(1, SMC_DIAG_MODE_SMCR, "2001:db8:1111:2222::3333", 443,
				 "2001:db8:1111::9", 50000);
		fake_msg_finish(nlh);
	} else if (fake_is("wide")) {
		smcr_sock_put(diag->diag_ext);
		nlh = sock_start(1, SMC_DIAG_MODE_FALLBACK_TCP, WIDE_LOCAL, 65533, WIDE_PEER,
				 65534);
		reasons_put(nlh, 0x05000000, 0x03030000);
		fake_msg_finish(nlh);
		nlh = sock_start(10, SMC_DIAG_MODE_SMCR, WIDE_LOCAL, 65533, "::", 0);
		fake_msg_finish(nlh);
	} else if (!fake_is("empty")) {
		smcr_sock_put(diag->diag_ext);
		nlh = sock_start(1, SMC_DIAG_MODE_FALLBACK_TCP, "fd00::1", 443, "fd00::2", 50000);
		/* "autosmc": both hosts have decided that connections are short */
		reasons_put(nlh, 0x05000000, fake_is("autosmc") ? 0x03008002 : 0x03030000);
		fake_msg_finish(nlh);
		nlh = sock_start(7, SMC_DIAG_MODE_FALLBACK_TCP, "::ffff:10.0.0.1", 80,
				 "::ffff:10.0.0.3", 50001);
		reasons_put(nlh, fake_is("autosmc") ? 0x03008002 : 0x03010000, 0);
		fake_msg_finish(nlh);
		nlh = sock_start(10, SMC_DIAG_MODE_SMCR, "0.0.0.0", 6379, "0.0.0.0", 0);
		fake_msg_finish(nlh);
		nlh = sock_start(99, 9, "10.0.0.1", 81, "10.0.0.2", 82);
		fake_msg_finish(nlh);
	}
	/* a client that fake_inet.c has, too */
	if (fake_is("deferred")) {
		nlh = sock_start(1, SMC_DIAG_MODE_FALLBACK_TCP, "10.0.0.1", 50100, "10.0.0.5",
				 5432);
		mnl_attr_put(nlh, SMC_DIAG_OWN_DEFERRED, 0, NULL);
		fake_msg_finish(nlh);
	}
	fake_done_put();
}

/* End a socket, which must be identified exactly as in the list. Return 0 or a negative errno. */
static int sock_kill(const struct inet_diag_sockid *id)
{
	static const struct {
		const char *src;
		int sport;
		const char *dst;
		int dport;
	} socks[] = {
		{ "10.0.0.1", 6379, "10.0.0.2", 40001 }, { "fd00::1", 443, "fd00::2", 50000 },
		{ "::ffff:10.0.0.1", 80, "::ffff:10.0.0.3", GONE_PORT },
		{ "0.0.0.0", 6379, "0.0.0.0", 0 }, { "10.0.0.1", 81, "10.0.0.2", STUCK_PORT },
	};
	const char *path = getenv("FAKE_NL_KILLED");
	struct inet_diag_sockid want;
	FILE *log;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(socks); i++) {
		int family = strchr(socks[i].src, ':') ? AF_INET6 : AF_INET;

		memset(&want, 0, sizeof(want));
		inet_pton(family, socks[i].src, want.idiag_src);
		inet_pton(family, socks[i].dst, want.idiag_dst);
		want.idiag_sport = htons(socks[i].sport);
		want.idiag_dport = htons(socks[i].dport);
		want.idiag_cookie[0] = COOKIE;
		want.idiag_cookie[1] = (__u32)socks[i].dport;
		if (!memcmp(id, &want, sizeof(want)))
			break;
	}
	if (i == ARRAY_SIZE(socks))
		return -EPROTO;
	if (socks[i].dport == GONE_PORT)
		return -ENOENT;
	if (socks[i].dport == STUCK_PORT)
		return -EBUSY;
	log = path ? fopen(path, "a") : NULL;
	if (log) {
		fprintf(log, "%d-%d\n", socks[i].sport, socks[i].dport);
		fclose(log);
	}
	return 0;
}

/**
 * fake_sock_kill() - answer a request to end a socket
 * @req: request
 */
void fake_sock_kill(const struct nlmsghdr *req)
{
	const struct smc_diag_req *diag = mnl_nlmsg_get_payload(req);
	int err;

	if (fake_is("denied") || fake_is("old"))
		err = fake_is("old") ? -EOPNOTSUPP : -EPERM;
	else if (mnl_nlmsg_get_payload_len(req) < sizeof(*diag) || diag->diag_family != 43 ||
		 !(req->nlmsg_flags & NLM_F_ACK))
		err = -EINVAL;
	else
		err = sock_kill(&diag->id);
	fake_result_put(NLMSG_ERROR, err);
}
