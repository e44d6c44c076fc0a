// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: netlink requests and attributes.
 */
#include "smcctl.h"

#include <arpa/inet.h>
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

static bool dry_run;
static char kernel_text[256];	/* extended ACK text of the last error, "": none */

/* A dump that fails half-way ends with NLMSG_DONE, which carries the error. */
static int done_cb(const struct nlmsghdr *nlh, void *data)
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

/* Keep the extended ACK text of an error. It follows the request, which the kernel may echo. */
static void error_keep_text(const struct nlmsghdr *nlh, const struct nlmsgerr *err)
{
	size_t skip = sizeof(*err);
	const struct nlattr *attr;

	kernel_text[0] = '\0';
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && err->msg.nlmsg_len > sizeof(err->msg))
		skip += MNL_ALIGN(err->msg.nlmsg_len - sizeof(err->msg));
	if (skip > mnl_nlmsg_get_payload_len(nlh))
		return;
	mnl_attr_for_each(attr, nlh, (unsigned int)skip) {
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			ctl_nla_get_str(attr, kernel_text, sizeof(kernel_text));
	}
}

static int error_cb(const struct nlmsghdr *nlh, void *data)
{
	struct nlmsgerr err;

	(void)data;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(err)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	memcpy(&err, mnl_nlmsg_get_payload(nlh), sizeof(err));
	error_keep_text(nlh, &err);
	if (!err.error)
		return MNL_CB_STOP;
	errno = err.error < 0 ? -err.error : err.error;
	return MNL_CB_ERROR;
}

static int nl_exchange(struct mnl_socket *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *data)
{
	/* libmnl uses its own handlers only for types beyond this table */
	static mnl_cb_t control[] = { [NLMSG_ERROR] = error_cb, [NLMSG_DONE] = done_cb };
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

static struct mnl_socket *nl_open(int bus)
{
	struct mnl_socket *nl = mnl_socket_open2(bus, SOCK_CLOEXEC);
	/* the kernel answers at once, so a missing answer is an error */
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int one = 1, saved;

	if (!nl)
		return NULL;
	/* optional: gives texts for errors */
	mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, &one, sizeof(one));
	if (setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &limit,
		       sizeof(limit)) == 0 && mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) == 0)
		return nl;
	saved = errno;
	mnl_socket_close(nl);
	errno = saved;
	return NULL;
}

static struct nlmsghdr *genl_put_header(void *buf, __u16 type, __u16 flags, __u8 cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	genl->cmd = cmd;
	genl->version = 1;
	return nlh;
}

static int family_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[CTRL_ATTR_MAX + 1];
	__u16 *family = data;
	__u64 id;

	ctl_nla_parse_genl(nlh, tb, CTRL_ATTR_MAX);
	if (ctl_nla_get_uint(tb[CTRL_ATTR_FAMILY_ID], &id))
		*family = (__u16)id;
	return MNL_CB_OK;
}

static int family_request(struct mnl_socket *nl, const char *name, mnl_cb_t cb, void *data)
{
	char buf[1024] __aligned(NLMSG_ALIGNTO);
	struct nlmsghdr *nlh;

	nlh = genl_put_header(buf, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);
	return nl_exchange(nl, nlh, cb, data);
}

static int family_find(struct mnl_socket *nl, const char *name, __u16 *family)
{
	int err;

	*family = 0;
	err = family_request(nl, name, family_cb, family);
	if (!err && !*family)
		err = ENOENT;
	/* ENOENT can also be the result of a command */
	return err == ENOENT ? ESRCH : err;
}

/**
 * struct mcast - multicast groups of SMC_GEN_NETLINK
 * @listener: names of the groups, and the receiver of the events
 * @family: identifier of the family
 * @id: identifiers of the groups, in the order of the names; 0: the family lacks the group
 */
struct mcast {
	const struct ctl_listener *listener;
	__u16 family;
	__u32 id[CTL_LISTEN_MAX];
};

static void mcast_parse_group(const struct nlattr *nest, struct mcast *mcast)
{
	const struct nlattr *tb[CTRL_ATTR_MCAST_GRP_MAX + 1];
	char name[GENL_NAMSIZ];
	size_t i;
	__u64 id;

	ctl_nla_parse_nested(nest, tb, CTRL_ATTR_MCAST_GRP_MAX);
	if (!ctl_nla_get_str(tb[CTRL_ATTR_MCAST_GRP_NAME], name, sizeof(name)) ||
	    !ctl_nla_get_uint(tb[CTRL_ATTR_MCAST_GRP_ID], &id))
		return;
	for (i = 0; i < mcast->listener->num; i++)
		if (!strcmp(name, mcast->listener->groups[i]))
			mcast->id[i] = (__u32)id;
}

static int mcast_groups_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[CTRL_ATTR_MAX + 1], *attr;
	struct mcast *mcast = data;

	ctl_nla_parse_genl(nlh, tb, CTRL_ATTR_MAX);
	if (tb[CTRL_ATTR_MCAST_GROUPS])
		mnl_attr_for_each_nested(attr, tb[CTRL_ATTR_MCAST_GROUPS])
			mcast_parse_group(attr, mcast);
	return family_cb(nlh, &mcast->family);
}

/* Join the groups, and last the one that reports when the family is unregistered. */
static int mcast_join(struct mnl_socket *nl, struct mcast *mcast)
{
	int err = family_request(nl, SMC_GENL_FAMILY_NAME, mcast_groups_cb, mcast);
	__u32 control = GENL_ID_CTRL;
	size_t i;

	if (err)
		return err == ENOENT ? ESRCH : err;
	for (i = 0; i < mcast->listener->num; i++) {
		if (!mcast->id[i])
			err = EOPNOTSUPP;
		else if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &mcast->id[i],
					       sizeof(mcast->id[i])))
			err = errno;
		if (err)
			return err;
	}
	if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &control, sizeof(control)))
		return errno;
	return 0;
}

static int event_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct mcast *mcast = data;
	__u16 gone = 0;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*genl))
		return MNL_CB_OK;
	if (nlh->nlmsg_type == mcast->family)
		return mcast->listener->cb(nlh, mcast->listener->data);
	if (nlh->nlmsg_type != GENL_ID_CTRL || genl->cmd != CTRL_CMD_DELFAMILY)
		return MNL_CB_OK;
	family_cb(nlh, &gone);
	if (gone != mcast->family)
		return MNL_CB_OK;
	errno = ENODEV;
	return MNL_CB_ERROR;
}

/**
 * ctl_genl_listen() - receive events of SMC_GEN_NETLINK
 * @listener: names of the multicast groups, and callbacks
 *
 * Returns when a callback returns MNL_CB_STOP, or with an error.
 *
 * Return: 0, or an errno number: ESRCH without the module, EOPNOTSUPP if the module lacks one of
 * the groups, ENODEV if the module was unloaded.
 */
int ctl_genl_listen(const struct ctl_listener *listener)
{
	static char buf[BUFFER_SIZE] __aligned(NLMSG_ALIGNTO);
	struct mcast mcast = { .listener = listener };
	struct timeval no_limit = { 0 };
	struct mnl_socket *nl;
	int err, rc = MNL_CB_OK;

	nl = nl_open(NETLINK_GENERIC);
	if (!nl)
		return errno;
	err = mcast_join(nl, &mcast);
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
			rc = mnl_cb_run(buf, (size_t)len, 0, 0, event_cb, &mcast);
		if (rc < 0)
			err = errno;
	}
	mnl_socket_close(nl);
	return err;
}

/**
 * ctl_genl_set_dry_run() - skip requests that change something
 * @on: from now on, such requests are not sent and succeed
 */
void ctl_genl_set_dry_run(bool on)
{
	dry_run = on;
}

/**
 * ctl_genl_is_dry_run() - check whether changes are skipped
 *
 * Return: as set by ctl_genl_set_dry_run().
 */
bool ctl_genl_is_dry_run(void)
{
	return dry_run;
}

/**
 * ctl_genl_run() - send a request to a generic netlink family
 * @req: request
 * @cb: called for each answer, may be NULL
 * @data: argument of @cb
 *
 * Return: 0, or an errno number for ctl_genl_print_error(): ESRCH if the kernel lacks the family,
 * EOPNOTSUPP if the family lacks the command.
 */
int ctl_genl_run(const struct ctl_genl_req *req, mnl_cb_t cb, void *data)
{
	char buf[1024] __aligned(NLMSG_ALIGNTO);
	struct nlmsghdr *nlh;
	struct mnl_socket *nl;
	const char *name = req->family ? req->family : SMC_GENL_FAMILY_NAME;
	__u16 family;
	size_t i;
	int err;

	if (dry_run && !req->dump)
		return 0;
	nl = nl_open(NETLINK_GENERIC);
	if (!nl)
		return errno;
	err = family_find(nl, name, &family);
	if (!err) {
		nlh = genl_put_header(buf, family, req->dump ? NLM_F_DUMP : NLM_F_ACK, req->cmd);
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
		err = nl_exchange(nl, nlh, cb, data);
	}
	mnl_socket_close(nl);
	return err;
}

/**
 * ctl_genl_print_error() - print why a request failed
 * @req: request
 * @err: what ctl_genl_run() returned for it
 *
 * Prints the kernel's own text if it has sent one. Call this before the next request.
 */
void ctl_genl_print_error(const struct ctl_genl_req *req, int err)
{
	if (*kernel_text && err != ESRCH) {
		ctl_error("%s: %s", req->what, kernel_text);
		return;
	}
	switch (err) {
	case ESRCH:
		ctl_error("this kernel has no %s: load the smc module (modprobe smc)",
			  req->family ? req->family : SMC_GENL_FAMILY_NAME);
		break;
	case EOPNOTSUPP:
		ctl_error("the loaded smc module does not support %s", req->what);
		break;
	case EPERM:
	case EACCES:
		ctl_error("%s needs the right CAP_NET_ADMIN (root)", req->what);
		break;
	case EINTR:
		ctl_error("%s changed while it was read: try again", req->what);
		break;
	default:
		ctl_error("%s: %s", req->what, strerror(err));
	}
}

/**
 * ctl_genl_request() - send a request to a generic netlink family, report a failure
 * @req: request
 * @cb: called for each answer, may be NULL
 * @data: argument of @cb
 *
 * Return: CTL_OK, or CTL_FAILURE after an error message.
 */
int ctl_genl_request(const struct ctl_genl_req *req, mnl_cb_t cb, void *data)
{
	int err = ctl_genl_run(req, cb, data);

	if (err)
		ctl_genl_print_error(req, err);
	return err ? CTL_FAILURE : CTL_OK;
}

/**
 * ctl_nl_run() - send one netlink request
 * @bus: NETLINK_*
 * @nlh: request
 * @cb: called for each answer, may be NULL; MNL_CB_STOP ends the exchange
 * @data: argument of @cb
 *
 * Return: 0 or an errno number.
 */
int ctl_nl_run(int bus, struct nlmsghdr *nlh, mnl_cb_t cb, void *data)
{
	struct mnl_socket *nl = nl_open(bus);
	int err;

	if (!nl)
		return errno;
	err = nl_exchange(nl, nlh, cb, data);
	mnl_socket_close(nl);
	return err;
}

/**
 * ctl_diag_run() - dump sockets with sock_diag
 * @req: request of the family, such as struct smc_diag_req
 * @len: size of @req
 * @cb: called for each socket
 * @data: argument of @cb
 *
 * Return: 0 or an errno number; ENOENT if the kernel has no sock_diag for the family.
 */
int ctl_diag_run(const void *req, size_t len, mnl_cb_t cb, void *data)
{
	char buf[1024] __aligned(NLMSG_ALIGNTO);
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = 20; /* SOCK_DIAG_BY_FAMILY of linux/sock_diag.h */
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	memcpy(mnl_nlmsg_put_extra_header(nlh, len), req, len);
	return ctl_nl_run(NETLINK_SOCK_DIAG, nlh, cb, data);
}

/**
 * ctl_nla_parse_genl() - index the attributes of a generic netlink message
 * @nlh: message
 * @tb: result, @max + 1 entries by type; NULL where absent; the last of duplicates wins
 * @max: greatest type; others are ignored
 */
void ctl_nla_parse_genl(const struct nlmsghdr *nlh, const struct nlattr **tb, unsigned int max)
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

/**
 * ctl_nla_parse_nested() - index the attributes within an attribute
 * @nest: outer attribute, NULL: @tb is empty
 * @tb: result, as for ctl_nla_parse_genl()
 * @max: greatest type; others are ignored
 */
void ctl_nla_parse_nested(const struct nlattr *nest, const struct nlattr **tb, unsigned int max)
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

/**
 * ctl_nla_get_uint() - read an unsigned integer of 1, 2, 4 or 8 bytes
 * @attr: attribute, may be NULL
 * @val: result
 *
 * Return: false if the attribute is absent or of another size.
 */
bool ctl_nla_get_uint(const struct nlattr *attr, __u64 *val)
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
		/* libmnl copies it: the value may be aligned to 4 bytes only */
		*val = mnl_attr_get_u64(attr);
		return true;
	}
	return false;
}

/**
 * ctl_str_clean() - copy a string for output
 * @buf: result: trailing blanks are cut, unprintable bytes are '?'
 * @size: size of @buf; a longer string is cut
 * @from: string, may lack a terminating zero
 * @len: size of @from
 */
void ctl_str_clean(char *buf, size_t size, const void *from, size_t len)
{
	const unsigned char *src = from;
	size_t i;

	for (i = 0; i < len && i + 1 < size && src[i]; i++)
		buf[i] = src[i] >= 0x20 && src[i] < 0x7f ? (char)src[i] : '?';
	while (i > 0 && buf[i - 1] == ' ')
		i--;
	buf[i] = '\0';
}

/**
 * ctl_nla_get_str() - read a string for output
 * @attr: attribute, may be NULL
 * @buf: result, as of ctl_str_clean()
 * @size: size of @buf
 *
 * Return: false if the attribute is absent.
 */
bool ctl_nla_get_str(const struct nlattr *attr, char *buf, size_t size)
{
	if (!attr)
		return false;
	ctl_str_clean(buf, size, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr));
	return true;
}

/**
 * ctl_json_copy_uint() - copy an unsigned integer into an object
 * @obj: object
 * @key: name of the member, not added if the attribute is absent or of a wrong size
 * @attr: attribute, may be NULL
 */
void ctl_json_copy_uint(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	__u64 val;

	if (ctl_nla_get_uint(attr, &val))
		ctl_json_add_u64(obj, key, val);
}

/**
 * ctl_json_copy_str() - copy a string into an object
 * @obj: object
 * @key: name of the member, not added if the attribute is absent
 * @attr: attribute, may be NULL
 */
void ctl_json_copy_str(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	char text[256];

	if (ctl_nla_get_str(attr, text, sizeof(text)))
		ctl_json_add_str(obj, key, text);
}

/**
 * ctl_json_add_gid() - add a GID to an object, in the short form of RFC 5952
 * @obj: object
 * @key: name of the member
 * @text: GID as the kernel prints it, with all digits
 */
void ctl_json_add_gid(struct json_object *obj, const char *key, const char *text)
{
	char gid[INET6_ADDRSTRLEN];
	struct in6_addr addr;

	if (inet_pton(AF_INET6, text, &addr) == 1)
		text = inet_ntop(AF_INET6, &addr, gid, sizeof(gid));
	ctl_json_add_str(obj, key, text);
}

/**
 * ctl_json_copy_gid() - copy a GID into an object
 * @obj: object
 * @key: name of the member, not added if the attribute is absent
 * @attr: attribute, may be NULL
 */
void ctl_json_copy_gid(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	char text[64];

	if (ctl_nla_get_str(attr, text, sizeof(text)))
		ctl_json_add_gid(obj, key, text);
}

/**
 * ctl_netdev_clean() - copy the name of a netdev for output
 * @buf: result, of IF_NAMESIZE bytes, as of ctl_str_clean(); may be @name
 * @name: name; the kernel takes all bytes but blanks, '/' and ':'
 *
 * Return: @buf.
 */
const char *ctl_netdev_clean(char *buf, const char *name)
{
	ctl_str_clean(buf, IF_NAMESIZE, name, strlen(name));
	return buf;
}

/**
 * ctl_json_add_netdev() - add the name of a netdev to an object
 * @obj: object
 * @key: name of the member, not added if there is no such netdev
 * @index: its interface index
 *
 * Return: true if there is such a netdev.
 */
bool ctl_json_add_netdev(struct json_object *obj, const char *key, unsigned int index)
{
	char name[IF_NAMESIZE];

	if (!if_indextoname(index, name))
		return false;
	ctl_json_add_str(obj, key, ctl_netdev_clean(name, name));
	return true;
}

/**
 * ctl_json_copy_netdev() - copy an interface index into an object, as a name
 * @obj: object
 * @key: name of the member, not added if the attribute is absent or 0
 * @attr: attribute, may be NULL
 */
void ctl_json_copy_netdev(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	__u64 index;

	if (!ctl_nla_get_uint(attr, &index) || !index)
		return;
	/* gone meanwhile, or not of this namespace: older modules name those, too */
	if (!ctl_json_add_netdev(obj, key, (unsigned int)index)) {
		char name[IF_NAMESIZE];

		snprintf(name, sizeof(name), "if%u", (unsigned int)index);
		ctl_json_add_str(obj, key, name);
	}
}
