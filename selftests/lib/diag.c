// SPDX-License-Identifier: GPL-2.0-only
/* The transport of a connection, SMC or TCP, as sock_diag reports it. */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/smc_diag.h>
#include <uapi/linux/smc_own.h>

#include "testlib.h"

static const char * const mode_names[] = {
	[TL_MODE_UNKNOWN] = "unknown",
	[TL_MODE_TCP] = "tcp",
	[TL_MODE_SMCR] = "smc",
	[TL_MODE_SMCD] = "smcd",
};

const char *tl_mode_name(enum tl_mode mode)
{
	return (size_t)mode < TL_ARRAY_SIZE(mode_names) ? mode_names[mode] : "invalid";
}

int tl_mode_parse(const char *name, enum tl_mode *mode)
{
	for (size_t i = TL_MODE_TCP; i < TL_ARRAY_SIZE(mode_names); i++) {
		if (!strcmp(mode_names[i], name)) {
			*mode = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int diag_request(int nl)
{
	struct {
		struct nlmsghdr nlh;
		struct smc_diag_req req;
	} msg = {
		.nlh = {
			.nlmsg_len = sizeof(msg),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			.nlmsg_seq = 1,
		},
		.req = {
			.diag_family = AF_SMC,
			.diag_ext = 1 << (SMC_DIAG_LGRINFO - 1) | 1 << (SMC_DIAG_FALLBACK - 1) |
				    1 << (SMC_DIAG_CONNINFO - 1) | SMC_DIAG_OWN_EXT,
		},
	};

	return send(nl, &msg, sizeof(msg), 0) == sizeof(msg) ? 0 : -errno;
}

static void diag_stats(struct rtattr *rta, int left, struct tl_diag_stats *s)
{
	const struct {
		int type;
		u64 *to;
	} members[] = {
		{ SMC_DIAG_STAT_TX_BYTES, &s->tx_bytes },
		{ SMC_DIAG_STAT_RX_BYTES, &s->rx_bytes },
		{ SMC_DIAG_STAT_TX_QUEUE, &s->tx_queue },
		{ SMC_DIAG_STAT_RX_QUEUE, &s->rx_queue },
		{ SMC_DIAG_STAT_TX_AGAIN, &s->tx_again },
		{ SMC_DIAG_STAT_TX_DATA_MSGS, &s->tx_data_msgs },
		{ SMC_DIAG_STAT_RX_DATA_MSGS, &s->rx_data_msgs },
		{ SMC_DIAG_STAT_RTT, &s->rtt },
		{ SMC_DIAG_STAT_RTT_MIN, &s->rtt_min },
		{ SMC_DIAG_STAT_RATE, &s->rate },
		{ SMC_DIAG_STAT_CLOSED, &s->closed },
		{ SMC_DIAG_STAT_CLOSED_USECS, &s->closed_usecs },
		{ SMC_DIAG_STAT_MOVES, &s->moves },
	};

	for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
		for (size_t i = 0; i < TL_ARRAY_SIZE(members); i++) {
			size_t len = RTA_PAYLOAD(rta);
			u32 narrow;

			if (members[i].type != rta->rta_type)
				continue;
			if (len == sizeof(narrow)) {
				memcpy(&narrow, RTA_DATA(rta), len);
				*members[i].to = narrow;
			} else if (len == sizeof(*members[i].to)) {
				memcpy(members[i].to, RTA_DATA(rta), len);
			}
		}
	}
}

static void diag_attrs(const struct nlmsghdr *nlh, struct tl_diag *out)
{
	const struct smc_diag_msg *m = NLMSG_DATA(nlh);
	int left = nlh->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	struct rtattr *rta = (struct rtattr *)((char *)m + NLMSG_ALIGN(sizeof(*m)));

	for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
		if (rta->rta_type == SMC_DIAG_FALLBACK &&
		    RTA_PAYLOAD(rta) >= sizeof(struct smc_diag_fallback)) {
			const struct smc_diag_fallback *f = RTA_DATA(rta);

			out->reason = f->reason;
			out->peer_reason = f->peer_diagnosis;
		} else if (rta->rta_type == SMC_DIAG_LGRINFO &&
			   RTA_PAYLOAD(rta) >= sizeof(struct smc_diag_lgrinfo)) {
			const struct smc_diag_lgrinfo *l = RTA_DATA(rta);
			size_t n = strnlen((const char *)l->lnk[0].ibname,
					   sizeof(l->lnk[0].ibname));

			if (n >= sizeof(out->ibname))
				n = sizeof(out->ibname) - 1;
			memcpy(out->ibname, l->lnk[0].ibname, n);
			out->ibname[n] = '\0';
			out->role = l->role;
		} else if (rta->rta_type == SMC_DIAG_CONNINFO &&
			   RTA_PAYLOAD(rta) >= sizeof(struct smc_diag_conninfo)) {
			const struct smc_diag_conninfo *c = RTA_DATA(rta);

			out->tx_cons.wrap = c->tx_cons.wrap;
			out->tx_cons.off = c->tx_cons.count;
		} else if ((rta->rta_type & NLA_TYPE_MASK) == SMC_DIAG_OWN_STATS) {
			diag_stats(RTA_DATA(rta), RTA_PAYLOAD(rta), &out->stats);
			out->has_stats = true;
		}
	}
}

static enum tl_mode diag_mode(const struct nlmsghdr *nlh)
{
	const struct smc_diag_msg *m = NLMSG_DATA(nlh);

	switch (m->diag_mode) {
	case SMC_DIAG_MODE_SMCR:
		return TL_MODE_SMCR;
	case SMC_DIAG_MODE_SMCD:
		return TL_MODE_SMCD;
	case SMC_DIAG_MODE_FALLBACK_TCP:
		return TL_MODE_TCP;
	}
	return TL_MODE_UNKNOWN;
}

/**
 * struct diag_scan - what is looked for in a dump
 * @inode: number of a socket
 * @out: receives what is known about it; NULL: sockets are counted
 * @mode: by their mode
 * @same: number with this mode
 * @others: number with another one, listeners left out
 */
struct diag_scan {
	u64 inode;
	struct tl_diag *out;
	enum tl_mode mode;
	unsigned int same;
	unsigned int others;
};

/* Return 0 if it is the socket that is looked for. */
static int diag_take(const struct nlmsghdr *nlh, struct diag_scan *scan)
{
	const struct smc_diag_msg *m = NLMSG_DATA(nlh);
	struct tl_diag *out = scan->out;

	if (!out) {
		if (m->diag_state == TCP_LISTEN)	/* states have TCP's numbers */
			return -ENOENT;
		if (diag_mode(nlh) == scan->mode)
			scan->same++;
		else
			scan->others++;
		return -ENOENT;
	}
	if (m->diag_inode != scan->inode)
		return -ENOENT;
	memset(out, 0, sizeof(*out));
	out->role = -1;
	out->mode = diag_mode(nlh);
	diag_attrs(nlh, out);
	return 0;
}

/* Reads the dump to its end even after the socket was found, so that a late error is reported. */
static int diag_read(int nl, struct diag_scan *scan)
{
	static __thread u64 buf[4096];
	int found = -ENOENT;

	for (;;) {
		ssize_t n = recv(nl, buf, sizeof(buf), 0);
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

		if (n < 0)
			return -errno;
		for (; NLMSG_OK(nlh, n); nlh = NLMSG_NEXT(nlh, n)) {
			if (nlh->nlmsg_type == NLMSG_DONE)
				return found;
			if (nlh->nlmsg_type == NLMSG_ERROR) {
				const struct nlmsgerr *e = NLMSG_DATA(nlh);

				return e->error ? e->error : -EPROTO;
			}
			if (nlh->nlmsg_len < NLMSG_LENGTH(sizeof(struct smc_diag_msg)))
				return -EPROTO;
			if (!diag_take(nlh, scan))
				found = 0;
		}
	}
}

/* Return 0 if the socket was found, -ENOENT if not, or another negative errno. */
static int diag_dump(struct diag_scan *scan)
{
	int nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int err;

	if (nl < 0)
		return -errno;
	tl_set_timeouts(nl, 5000);
	err = diag_request(nl);
	if (!err)
		err = diag_read(nl, scan);
	close(nl);
	return err;
}

/**
 * tl_diag_get() - get the transport of a connection from the kernel
 * @fd: connected socket
 * @p: its family; without SMC the answer is TCP, and sock_diag is not used
 * @out: result
 *
 * Return: 0 or a negative errno (-ENOENT: the kernel does not list this socket).
 */
int tl_diag_get(int fd, const struct tl_proto *p, struct tl_diag *out)
{
	struct diag_scan scan = { .out = out };
	struct stat st;

	memset(out, 0, sizeof(*out));
	out->role = -1;
	if (!p->smc) {
		out->mode = TL_MODE_TCP;
		return 0;
	}
	if (fstat(fd, &st))
		return -errno;
	scan.inode = st.st_ino;
	return diag_dump(&scan);
}

/**
 * tl_diag_count() - count the SMC sockets of the namespace
 * @mode: transport that is expected
 * @same: result: sockets that have it
 * @others: result: sockets with another one; listeners are not counted
 *
 * Return: 0 or a negative errno.
 */
int tl_diag_count(enum tl_mode mode, unsigned int *same, unsigned int *others)
{
	struct diag_scan scan = { .mode = mode };
	int err = diag_dump(&scan);

	*same = scan.same;
	*others = scan.others;
	return err == -ENOENT ? 0 : err;
}
