// SPDX-License-Identifier: GPL-2.0-only
/* The generic netlink families of SMC, of this module or of the in-tree one. */
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
 * @attr: header of the attribute
 * @value: of the attribute
 */
struct genl_msg {
	struct nlmsghdr nlh;
	struct genlmsghdr genl;
	struct nlattr attr;
	char value[64];
};

static int genl_send(int nl, struct genl_msg *m, size_t len)
{
	m->nlh.nlmsg_len = len;
	m->nlh.nlmsg_seq = 1;
	return send(nl, m, len, 0) == (ssize_t)len ? 0 : -errno;
}

/**
 * tl_genl_attr() - find an attribute
 * @attrs: attributes of a message, or of a nest
 * @len: their bytes
 * @type: type of the attribute
 * @size: out: bytes of the value; may be NULL
 *
 * Return: the value, or NULL if there is no such attribute.
 */
const void *tl_genl_attr(const void *attrs, size_t len, u16 type, size_t *size)
{
	const char *p = attrs;

	while (len >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)p;
		size_t step = NLA_ALIGN(a->nla_len);

		if (a->nla_len < NLA_HDRLEN || a->nla_len > len)
			break;
		if ((a->nla_type & NLA_TYPE_MASK) == type) {
			if (size)
				*size = a->nla_len - NLA_HDRLEN;
			return p + NLA_HDRLEN;
		}
		if (step > len)
			break;
		p += step;
		len -= step;
	}
	return NULL;
}

/* Read all answers and call @fn (may be NULL) for each. Returns their number. */
static int genl_answers(int nl, bool dump, tl_genl_fn fn, void *arg)
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
			if (fn)
				fn((const char *)NLMSG_DATA(nlh) + GENL_HDRLEN,
				   nlh->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), arg);
			if (!dump)
				return count;
		}
	}
}

static void genl_take_id(const void *attrs, size_t len, void *arg)
{
	size_t size;
	const void *id = tl_genl_attr(attrs, len, CTRL_ATTR_FAMILY_ID, &size);
	u16 value;

	if (!id || size != sizeof(value))
		return;
	memcpy(&value, id, sizeof(value));
	*(int *)arg = value;
}

static int genl_query_family(int nl, const char *name, tl_genl_fn fn, void *arg)
{
	struct genl_msg m = {
		.nlh = { .nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = NLM_F_REQUEST },
		.genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.attr = {
			.nla_type = CTRL_ATTR_FAMILY_NAME,
			.nla_len = NLA_HDRLEN + strlen(name) + 1,
		},
	};
	int err;

	memcpy(m.value, name, strlen(name) + 1);
	err = genl_send(nl, &m, NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(m.attr.nla_len));
	return err ? err : genl_answers(nl, false, fn, arg);
}

static int genl_family(int nl, const char *name)
{
	int id = -ENOENT;
	int err = genl_query_family(nl, name, genl_take_id, &id);

	return err < 0 ? err : id;
}

/**
 * tl_genl_smc() - send one command to the SMC module
 * @cmd: SMC_NETLINK_*
 * @dump: the command has a list of answers; otherwise only success or an error
 * @text: value of the attribute SMC_NLA_EID_TABLE_ENTRY; NULL: no attribute
 * @size: bytes of @text, up to 64
 * @fn: called with the attributes of each answer; may be NULL
 * @arg: for @fn
 *
 * Return: number of answers, or a negative errno.
 */
int tl_genl_smc(u8 cmd, bool dump, const char *text, size_t size, tl_genl_fn fn, void *arg)
{
	struct genl_msg m = {
		.nlh = { .nlmsg_flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : NLM_F_ACK) },
		.genl = { .cmd = cmd, .version = SMC_GENL_FAMILY_VERSION },
		.attr = { .nla_type = SMC_NLA_EID_TABLE_ENTRY, .nla_len = NLA_HDRLEN + size },
	};
	int nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	size_t len = NLMSG_LENGTH(GENL_HDRLEN);
	int ret;

	if (nl < 0)
		return -errno;
	tl_set_timeouts(nl, 5000);
	if (text) {
		memcpy(m.value, text, size);
		len += NLA_ALIGN(m.attr.nla_len);
	}
	ret = genl_family(nl, SMC_GENL_FAMILY_NAME);
	if (ret >= 0) {
		m.nlh.nlmsg_type = ret;
		ret = genl_send(nl, &m, len);
	}
	if (!ret)
		ret = genl_answers(nl, dump, fn, arg);
	close(nl);
	return ret;
}

/* Append an attribute. */
static void genl_add_attr(struct nlmsghdr *nlh, u16 type, const void *value, size_t size)
{
	struct nlattr *a = (struct nlattr *)((char *)nlh + NLMSG_ALIGN(nlh->nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + size;
	memcpy((char *)a + NLA_HDRLEN, value, size);
	nlh->nlmsg_len = NLMSG_ALIGN(nlh->nlmsg_len) + NLA_ALIGN(a->nla_len);
}

/**
 * tl_genl_pnet() - send one PNET ID command to the SMC module
 * @cmd: SMC_PNETID_*
 * @flags: NLM_F_DUMP or 0: the answers are a list; NLM_F_ACK: only success or an error
 * @entry: attributes to send
 * @fn: called with the attributes of each answer; may be NULL
 * @arg: for @fn
 *
 * Return: number of answers, or a negative errno.
 */
int tl_genl_pnet(u8 cmd, u16 flags, const struct tl_pnet *entry, tl_genl_fn fn, void *arg)
{
	u64 room[64] = { 0 };
	struct nlmsghdr *nlh = (struct nlmsghdr *)room;
	struct genlmsghdr *genl = NLMSG_DATA(nlh);
	int nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int ret;

	if (nl < 0)
		return -errno;
	tl_set_timeouts(nl, 5000);
	ret = genl_family(nl, SMCR_GENL_FAMILY_NAME);
	if (ret >= 0) {
		nlh->nlmsg_type = ret;
		nlh->nlmsg_flags = NLM_F_REQUEST | flags;
		nlh->nlmsg_seq = 1;
		nlh->nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
		genl->cmd = cmd;
		genl->version = SMCR_GENL_FAMILY_VERSION;
		if (entry->id)
			genl_add_attr(nlh, SMC_PNETID_NAME, entry->id, strlen(entry->id) + 1);
		if (entry->eth)
			genl_add_attr(nlh, SMC_PNETID_ETHNAME, entry->eth, strlen(entry->eth) + 1);
		if (entry->ib)
			genl_add_attr(nlh, SMC_PNETID_IBNAME, entry->ib, strlen(entry->ib) + 1);
		if (entry->port)
			genl_add_attr(nlh, SMC_PNETID_IBPORT, &(u8){ entry->port }, sizeof(u8));
		ret = send(nl, room, nlh->nlmsg_len, 0) < 0 ? -errno : 0;
	}
	if (!ret)
		ret = genl_answers(nl, flags != NLM_F_ACK, fn, arg);
	close(nl);
	return ret;
}

/**
 * struct join - search for a multicast group
 * @name: name of the group
 * @id: its number, 0 until it is found
 */
struct join {
	const char *name;
	u32 id;
};

static void genl_take_group(const void *attrs, size_t len, void *arg)
{
	struct join *join = arg;
	const void *nest, *name, *id;
	size_t size, nest_len;
	u16 i;

	attrs = tl_genl_attr(attrs, len, CTRL_ATTR_MCAST_GROUPS, &len);
	/* the nests are numbered from 1 */
	for (i = 1; attrs; i++) {
		nest = tl_genl_attr(attrs, len, i, &nest_len);
		if (!nest)
			break;
		name = tl_genl_attr(nest, nest_len, CTRL_ATTR_MCAST_GRP_NAME, NULL);
		id = tl_genl_attr(nest, nest_len, CTRL_ATTR_MCAST_GRP_ID, &size);
		if (name && id && size == sizeof(join->id) && !strcmp(name, join->name))
			memcpy(&join->id, id, size);
	}
}

/**
 * tl_genl_join() - join a multicast group of the SMC module
 * @group: name of the group
 *
 * Return: a socket, or a negative errno.
 */
int tl_genl_join(const char *group)
{
	int nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	struct join join = { .name = group };
	int ret;

	if (nl < 0)
		return -errno;
	tl_set_timeouts(nl, 5000);
	ret = genl_query_family(nl, SMC_GENL_FAMILY_NAME, genl_take_group, &join);
	if (ret >= 0 && !join.id)
		ret = -ENOENT;
	if (ret >= 0 && setsockopt(nl, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &join.id,
				   sizeof(join.id)))
		ret = -errno;
	if (ret >= 0)
		return nl;
	close(nl);
	return ret;
}

/**
 * tl_genl_event() - receive the next event, within a few seconds
 * @nl: socket of tl_genl_join()
 * @fn: called with the attributes of the event
 * @arg: for @fn
 *
 * Return: the command of the event, or a negative errno.
 */
int tl_genl_event(int nl, tl_genl_fn fn, void *arg)
{
	static __thread u64 buf[4096];
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;
	ssize_t n = recv(nl, buf, sizeof(buf), 0);

	if (n < 0)
		return -errno;
	if (!NLMSG_OK(nlh, n) || nlh->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
		return -EPROTO;
	fn((const char *)NLMSG_DATA(nlh) + GENL_HDRLEN, nlh->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN),
	   arg);
	return ((const struct genlmsghdr *)NLMSG_DATA(nlh))->cmd;
}

/**
 * tl_link_groups() - count the SMC-R link groups of this host
 *
 * Return: their number, or a negative errno.
 */
int tl_link_groups(void)
{
	return tl_genl_smc(SMC_NETLINK_GET_LGR_SMCR, true, NULL, 0, NULL, NULL);
}
