// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: netlink requests and attributes.
 */
#include "smcctl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define BUFFER_SIZE 65536
#define ANSWER_SECONDS 10

static bool pretended;
static char kernel_words[256];	/* of the last error; empty: none */

/* A dump that fails half-way ends with a "done" message that carries the error. */
static int on_done(const struct nlmsghdr *nlh, void *data)
{
	__s32 err;

	(void)data;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(err))
		return MNL_CB_STOP;
	memcpy(&err, mnl_nlmsg_get_payload(nlh), sizeof(err));
	if (err >= 0)
		return MNL_CB_STOP;
	errno = -err;
	return MNL_CB_ERROR;
}

/* What the kernel says of an error, behind the request that it may repeat. */
static void keep_words(const struct nlmsghdr *nlh, const struct nlmsgerr *err)
{
	size_t skip = sizeof(*err);
	const struct nlattr *attr;

	kernel_words[0] = '\0';
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && err->msg.nlmsg_len > sizeof(err->msg))
		skip += MNL_ALIGN(err->msg.nlmsg_len - sizeof(err->msg));
	if (skip > mnl_nlmsg_get_payload_len(nlh))
		return;
	mnl_attr_for_each(attr, nlh, (unsigned int)skip) {
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			ctl_attr_str(attr, kernel_words, sizeof(kernel_words));
	}
}

static int on_error(const struct nlmsghdr *nlh, void *data)
{
	struct nlmsgerr err;

	(void)data;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(err)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	memcpy(&err, mnl_nlmsg_get_payload(nlh), sizeof(err));
	keep_words(nlh, &err);
	if (!err.error)
		return MNL_CB_STOP;
	errno = err.error < 0 ? -err.error : err.error;
	return MNL_CB_ERROR;
}

static int exchange(struct mnl_socket *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *data)
{
	/* libmnl's own handlers are not used for types within this table, set or not. */
	static mnl_cb_t control[] = { [NLMSG_ERROR] = on_error, [NLMSG_DONE] = on_done };
	static char buf[BUFFER_SIZE] __aligned(NLMSG_ALIGNTO);
	unsigned int portid = mnl_socket_get_portid(nl);
	int rc;

	nlh->nlmsg_seq = (unsigned int)time(NULL);
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return errno;
	do {
		unsigned int seq = nlh->nlmsg_seq;
		ssize_t len = mnl_socket_recvfrom(nl, buf, sizeof(buf));

		if (len == 0)
			errno = ENODATA;
		if (len <= 0)
			return errno;
		rc = mnl_cb_run2(buf, (size_t)len, seq, portid, cb, data, control,
				 ARRAY_SIZE(control));
	} while (rc > MNL_CB_STOP);
	return rc < 0 ? errno : 0;
}

static struct mnl_socket *open_netlink(int bus)
{
	struct mnl_socket *nl = mnl_socket_open2(bus, SOCK_CLOEXEC);
	/* The kernel answers at once: a missing answer is a fault, not a reason to wait. */
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int one = 1, saved;

	if (!nl)
		return NULL;
	/* nothing is lost without it but words */
	mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, &one, sizeof(one));
	if (setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &limit,
		       sizeof(limit)) == 0 && mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) == 0)
		return nl;
	saved = errno;
	mnl_socket_close(nl);
	errno = saved;
	return NULL;
}

static struct nlmsghdr *genl_header(void *buf, __u16 type, __u16 flags, __u8 cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	genl->cmd = cmd;
	genl->version = 1;
	return nlh;
}

static int on_family(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[CTRL_ATTR_MAX + 1];
	__u16 *family = data;
	__u64 id;

	ctl_parse_genl(nlh, tb, CTRL_ATTR_MAX);
	if (ctl_attr_uint(tb[CTRL_ATTR_FAMILY_ID], &id))
		*family = (__u16)id;
	return MNL_CB_OK;
}

static int ask_family(struct mnl_socket *nl, const char *name, mnl_cb_t cb, void *data)
{
	char buf[1024] __aligned(NLMSG_ALIGNTO);
	struct nlmsghdr *nlh;

	nlh = genl_header(buf, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);
	return exchange(nl, nlh, cb, data);
}

static int find_family(struct mnl_socket *nl, const char *name, __u16 *family)
{
	int err;

	*family = 0;
	err = ask_family(nl, name, on_family, family);
	if (!err && !*family)
		err = ENOENT;
	/* Told apart from an ENOENT that a command may give. */
	return err == ENOENT ? ESRCH : err;
}

/**
 * struct groups - multicast groups of a family
 * @listener: what is wanted of which ones
 * @family: number of the family
 * @id: theirs; 0: there is no such group
 */
struct groups {
	const struct ctl_listener *listener;
	__u16 family;
	__u32 id[CTL_LISTEN_MAX];
};

static void take_group(const struct nlattr *nest, struct groups *groups)
{
	const struct nlattr *tb[CTRL_ATTR_MCAST_GRP_MAX + 1];
	char name[GENL_NAMSIZ];
	size_t i;
	__u64 id;

	ctl_parse_nest(nest, tb, CTRL_ATTR_MCAST_GRP_MAX);
	if (!ctl_attr_str(tb[CTRL_ATTR_MCAST_GRP_NAME], name, sizeof(name)) ||
	    !ctl_attr_uint(tb[CTRL_ATTR_MCAST_GRP_ID], &id))
		return;
	for (i = 0; i < groups->listener->num; i++)
		if (!strcmp(name, groups->listener->groups[i]))
			groups->id[i] = (__u32)id;
}

static int on_groups(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[CTRL_ATTR_MAX + 1], *attr;
	struct groups *groups = data;

	ctl_parse_genl(nlh, tb, CTRL_ATTR_MAX);
	if (tb[CTRL_ATTR_MCAST_GROUPS])
		mnl_attr_for_each_nested(attr, tb[CTRL_ATTR_MCAST_GROUPS])
			take_group(attr, groups);
	return on_family(nlh, &groups->family);
}

/* The groups, and last of all that in which the kernel says that the family goes. */
static int join(struct mnl_socket *nl, struct groups *groups)
{
	int err = ask_family(nl, SMC_GENL_FAMILY_NAME, on_groups, groups);
	__u32 control = GENL_ID_CTRL;
	size_t i;

	if (err)
		return err == ENOENT ? ESRCH : err;
	for (i = 0; i < groups->listener->num; i++) {
		if (!groups->id[i])
			err = EOPNOTSUPP;
		else if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &groups->id[i],
					       sizeof(groups->id[i])))
			err = errno;
		if (err)
			return err;
	}
	if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &control, sizeof(control)))
		return errno;
	return 0;
}

static int on_event(const struct nlmsghdr *nlh, void *data)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct groups *groups = data;
	__u16 gone = 0;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*genl))
		return MNL_CB_OK;
	if (nlh->nlmsg_type == groups->family)
		return groups->listener->cb(nlh, groups->listener->data);
	if (nlh->nlmsg_type != GENL_ID_CTRL || genl->cmd != CTRL_CMD_DELFAMILY)
		return MNL_CB_OK;
	on_family(nlh, &gone);
	if (gone != groups->family)
		return MNL_CB_OK;
	errno = ENODEV;
	return MNL_CB_ERROR;
}

int ctl_genl_listen(const struct ctl_listener *listener)
{
	static char buf[BUFFER_SIZE] __aligned(NLMSG_ALIGNTO);
	struct groups groups = { .listener = listener };
	struct timeval no_limit = { 0 };
	struct mnl_socket *nl;
	int err, rc = MNL_CB_OK;

	nl = open_netlink(NETLINK_GENERIC);
	if (!nl)
		return errno;
	err = join(nl, &groups);
	if (!err && setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &no_limit,
			       sizeof(no_limit)))
		err = errno;
	while (!err && rc > MNL_CB_STOP) {
		ssize_t len = mnl_socket_recvfrom(nl, buf, sizeof(buf));

		if (len < 0 && errno == ENOBUFS)
			rc = listener->lost(listener->data);
		else if (len <= 0)
			err = len ? errno : ENODATA;
		else
			rc = mnl_cb_run(buf, (size_t)len, 0, 0, on_event, &groups);
		if (rc < 0)
			err = errno;
	}
	mnl_socket_close(nl);
	return err;
}

void ctl_pretend(bool on)
{
	pretended = on;
}

int ctl_genl_run(const struct ctl_genl_req *req, mnl_cb_t cb, void *data)
{
	char buf[1024] __aligned(NLMSG_ALIGNTO);
	struct nlmsghdr *nlh;
	struct mnl_socket *nl;
	const char *name = req->family ? req->family : SMC_GENL_FAMILY_NAME;
	__u16 family;
	size_t i;
	int err;

	if (pretended && !req->dump)
		return 0;
	nl = open_netlink(NETLINK_GENERIC);
	if (!nl)
		return errno;
	err = find_family(nl, name, &family);
	if (!err) {
		nlh = genl_header(buf, family, req->dump ? NLM_F_DUMP : NLM_F_ACK, req->cmd);
		if (req->str_attr)
			mnl_attr_put_strz(nlh, req->str_attr, req->str);
		for (i = 0; i < req->num_attrs; i++) {
			const struct ctl_attr *a = &req->attrs[i];

			if (a->str)
				mnl_attr_put_strz(nlh, a->type, a->str);
			else if (a->bin)
				mnl_attr_put(nlh, a->type, a->size, a->bin);
			else if (a->flag)
				mnl_attr_put(nlh, a->type, 0, NULL);
			else if (a->size == 4)
				mnl_attr_put_u32(nlh, a->type, a->num);
			else
				mnl_attr_put_u8(nlh, a->type, (__u8)a->num);
		}
		err = exchange(nl, nlh, cb, data);
	}
	mnl_socket_close(nl);
	return err;
}

void ctl_genl_failed(const struct ctl_genl_req *req, int err)
{
	if (*kernel_words && err != ESRCH) {
		ctl_fail("%s: %s", req->what, kernel_words);
		return;
	}
	switch (err) {
	case ESRCH:
		ctl_fail("this kernel has no %s: load the smc module (modprobe smc)",
			 req->family ? req->family : SMC_GENL_FAMILY_NAME);
		break;
	case EOPNOTSUPP:
		ctl_fail("the loaded smc module does not support %s", req->what);
		break;
	case EPERM:
	case EACCES:
		ctl_fail("%s needs the right CAP_NET_ADMIN (root)", req->what);
		break;
	case EINTR:
		ctl_fail("%s changed while it was read: try again", req->what);
		break;
	default:
		ctl_fail("%s: %s", req->what, strerror(err));
	}
}

int ctl_nl_run(int bus, struct nlmsghdr *nlh, mnl_cb_t cb, void *data)
{
	struct mnl_socket *nl = open_netlink(bus);
	int err;

	if (!nl)
		return errno;
	err = exchange(nl, nlh, cb, data);
	mnl_socket_close(nl);
	return err;
}

int ctl_diag_run(const void *req, size_t len, mnl_cb_t cb, void *data)
{
	char buf[1024] __aligned(NLMSG_ALIGNTO);
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = 20; /* SOCK_DIAG_BY_FAMILY of linux/sock_diag.h */
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	memcpy(mnl_nlmsg_put_extra_header(nlh, len), req, len);
	return ctl_nl_run(NETLINK_SOCK_DIAG, nlh, cb, data);
}

void ctl_parse_genl(const struct nlmsghdr *nlh, const struct nlattr **tb, unsigned int max)
{
	const struct nlattr *attr;

	memset(tb, 0, (max + 1) * sizeof(*tb));
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(struct genlmsghdr))
		return;
	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) <= max)
			tb[mnl_attr_get_type(attr)] = attr;
	}
}

void ctl_parse_nest(const struct nlattr *nest, const struct nlattr **tb, unsigned int max)
{
	const struct nlattr *attr;

	memset(tb, 0, (max + 1) * sizeof(*tb));
	if (!nest)
		return;
	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) <= max)
			tb[mnl_attr_get_type(attr)] = attr;
	}
}

bool ctl_attr_uint(const struct nlattr *attr, __u64 *val)
{
	if (!attr)
		return false;
	switch (mnl_attr_get_payload_len(attr)) {
	case 1:
		*val = mnl_attr_get_u8(attr);
		return true;
	case 2:
		*val = mnl_attr_get_u16(attr);
		return true;
	case 4:
		*val = mnl_attr_get_u32(attr);
		return true;
	case 8:
		/* libmnl copies: 8-byte values may be aligned to 4 only. */
		*val = mnl_attr_get_u64(attr);
		return true;
	}
	return false;
}

void ctl_clean_str(char *buf, size_t size, const void *from, size_t len)
{
	const unsigned char *src = from;
	size_t i;

	for (i = 0; i < len && i + 1 < size && src[i]; i++)
		buf[i] = src[i] >= 0x20 && src[i] < 0x7f ? (char)src[i] : '?';
	while (i > 0 && buf[i - 1] == ' ')
		i--;
	buf[i] = '\0';
}

bool ctl_attr_str(const struct nlattr *attr, char *buf, size_t size)
{
	if (!attr)
		return false;
	ctl_clean_str(buf, size, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr));
	return true;
}

void ctl_copy_uint(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	__u64 val;

	if (ctl_attr_uint(attr, &val))
		ctl_add_u64(obj, key, val);
}

void ctl_copy_str(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	char text[256];

	if (ctl_attr_str(attr, text, sizeof(text)))
		ctl_add_str(obj, key, text);
}

void ctl_copy_netdev(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	char name[IF_NAMESIZE];
	__u64 index;

	if (!ctl_attr_uint(attr, &index) || !index)
		return;
	/* The number stays when the device is in another network namespace. */
	if (!if_indextoname((unsigned int)index, name))
		snprintf(name, sizeof(name), "if%u", (unsigned int)index);
	ctl_add_str(obj, key, name);
}
