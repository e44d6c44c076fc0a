// SPDX-License-Identifier: GPL-2.0-only
/* Link groups of this host, counted by generic netlink, whichever SMC module is loaded. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc.h>

#include "testlib.h"

/**
 * struct genl_msg - a request with room for one attribute
 * @nlh: netlink header
 * @genl: generic netlink header
 * @attr: its attribute
 * @name: value of the attribute
 */
struct genl_msg {
	struct nlmsghdr nlh;
	struct genlmsghdr genl;
	struct nlattr attr;
	char name[GENL_NAMSIZ];
};

static int genl_send(int nl, struct genl_msg *m, size_t len)
{
	m->nlh.nlmsg_len = len;
	m->nlh.nlmsg_seq = 1;
	return send(nl, m, len, 0) == (ssize_t)len ? 0 : -errno;
}

/* The value of an attribute of 16 bits, or -ENOENT. */
static int attr_u16(const struct nlmsghdr *nlh, u16 type)
{
	size_t left = nlh->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	const char *p = (const char *)NLMSG_DATA(nlh) + GENL_HDRLEN;

	while (left >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)p;
		size_t step = NLA_ALIGN(a->nla_len);
		u16 value;

		if (a->nla_len < NLA_HDRLEN || a->nla_len > left)
			break;
		if ((a->nla_type & NLA_TYPE_MASK) == type &&
		    a->nla_len >= NLA_HDRLEN + sizeof(value)) {
			memcpy(&value, p + NLA_HDRLEN, sizeof(value));
			return value;
		}
		if (step > left)
			break;
		p += step;
		left -= step;
	}
	return -ENOENT;
}

/* Reads answers to the end; returns how many there were, and in @last_u16 what attr_u16() found. */
static int genl_answers(int nl, bool dump, u16 attr, int *last_u16)
{
	static __thread u64 buf[4096];
	int count = 0;

	for (;;) {
		ssize_t n = recv(nl, buf, sizeof(buf), 0);
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

		if (n < 0)
			return -errno;
		for (; NLMSG_OK(nlh, n); nlh = NLMSG_NEXT(nlh, n)) {
			if (nlh->nlmsg_type == NLMSG_DONE)
				return count;
			if (nlh->nlmsg_type == NLMSG_ERROR) {
				const struct nlmsgerr *e = NLMSG_DATA(nlh);

				return e->error ? e->error : count;
			}
			if (nlh->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
				return -EPROTO;
			count++;
			if (last_u16)
				*last_u16 = attr_u16(nlh, attr);
			if (!dump)
				return count;
		}
	}
}

static int genl_family(int nl)
{
	struct genl_msg m = {
		.nlh = { .nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = NLM_F_REQUEST },
		.genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.attr = {
			.nla_type = CTRL_ATTR_FAMILY_NAME,
			.nla_len = NLA_HDRLEN + sizeof(SMC_GENL_FAMILY_NAME),
		},
		.name = SMC_GENL_FAMILY_NAME,
	};
	int id = -ENOENT;
	int err = genl_send(nl, &m, sizeof(m));

	if (!err)
		err = genl_answers(nl, false, CTRL_ATTR_FAMILY_ID, &id);
	return err < 0 ? err : id;
}

/**
 * tl_link_groups() - how many SMC-R link groups this host has
 *
 * Return: their number, or a negative errno.
 */
int tl_link_groups(void)
{
	struct genl_msg m = {
		.nlh = { .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.genl = { .cmd = SMC_NETLINK_GET_LGR_SMCR, .version = SMC_GENL_FAMILY_VERSION },
	};
	int nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int ret;

	if (nl < 0)
		return -errno;
	tl_set_timeouts(nl, 5000);
	ret = genl_family(nl);
	if (ret >= 0) {
		m.nlh.nlmsg_type = ret;
		ret = genl_send(nl, &m, NLMSG_LENGTH(GENL_HDRLEN));
	}
	if (!ret)
		ret = genl_answers(nl, true, 0, NULL);
	close(nl);
	return ret;
}
