// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send prepared requests and read their answers up to the last one. A probe with a known answer
 * follows each request, to detect that the kernel does not answer it.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>

#include "contract.h"

static const char * const names[] = {
	[CT_GEN] = SMC_GENL_FAMILY_NAME,
	[CT_PNET] = SMCR_GENL_FAMILY_NAME,
};

/**
 * struct answers - state of one request
 * @nl: socket
 * @seq: its sequence number
 * @fn: called for each answer
 * @arg: for @fn
 * @result: final result; -ENOMSG: none yet
 * @parts: parts of a list have come, its end has not
 * @asked: the probe has been answered
 */
struct answers {
	struct ct_nl *nl;
	u32 seq;
	ct_fn fn;
	void *arg;
	int result;
	bool parts;
	bool asked;
};

static int answer_take(const struct nlmsghdr *nlh, void *arg)
{
	struct answers *a = arg;
	int err = 0;

	if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
		if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(err))
			memcpy(&err, mnl_nlmsg_get_payload(nlh), sizeof(err));
		if (nlh->nlmsg_seq == a->seq + 1) {
			a->asked = true;
		} else if (nlh->nlmsg_seq == a->seq) {
			a->result = err;
			a->parts = false;
		}
	} else if (nlh->nlmsg_seq == a->seq) {
		a->parts |= nlh->nlmsg_flags & NLM_F_MULTI;
		if (a->fn)
			a->fn(nlh, a->arg);
	}
	return MNL_CB_OK;
}

/* Send a probe that no family takes: it is answered by an error, at once. */
static int probe_send(struct ct_nl *nl)
{
	struct {
		struct nlmsghdr nlh;
		struct genlmsghdr genl;
	} m = {
		.nlh = {
			.nlmsg_len = sizeof(m),
			.nlmsg_type = nl->family == CT_DIAG ? SOCK_DIAG_BY_FAMILY : GENL_ID_CTRL,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
			.nlmsg_seq = ++nl->seq,
		},
		/* an unknown family for sock_diag */
		.genl = { .cmd = nl->family == CT_DIAG ? 255 : CTRL_CMD_GETFAMILY },
	};

	return mnl_socket_sendto(nl->mnl, &m, sizeof(m)) < 0 ? -errno : 0;
}

/**
 * ct_ask() - send a request and read its answers
 * @nl: socket
 * @nlh: request; gets a sequence number
 * @len: bytes to send, independent of nlmsg_len
 * @fn: called for each answer but the final result; may be NULL
 * @arg: for @fn
 *
 * Return: its result: 0 or a negative errno; -ENOMSG: it was not answered.
 */
int ct_ask(struct ct_nl *nl, struct nlmsghdr *nlh, size_t len, ct_fn fn, void *arg)
{
	static u64 buf[CT_BUF / sizeof(u64)];
	struct answers a = {
		.nl = nl, .seq = ++nl->seq, .fn = fn, .arg = arg, .result = -ENOMSG,
	};
	ssize_t n;
	int err;

	nlh->nlmsg_seq = a.seq;
	if (mnl_socket_sendto(nl->mnl, nlh, len) < 0)
		return -errno;
	err = nl->plain ? 0 : probe_send(nl);
	while (!err && !(nl->plain ? a.result != -ENOMSG : a.asked && !a.parts)) {
		n = mnl_socket_recvfrom(nl->mnl, buf, nl->room);
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		/* answer_take() checks the sequence numbers; an error does not end the loop */
		for (const struct nlmsghdr *h = (void *)buf; mnl_nlmsg_ok(h, n);) {
			int left = n;

			answer_take(h, &a);
			h = mnl_nlmsg_next(h, &left);
			n = left;
		}
		if (n)
			return -EBADMSG;
		if (nl->between)
			nl->between();
	}
	return err ?: a.result;
}

/**
 * ct_order() - send a valid request
 * @nl: socket
 * @nlh: request
 *
 * Return: 0 or a negative errno.
 */
int ct_order(struct ct_nl *nl, struct nlmsghdr *nlh)
{
	return ct_ask(nl, nlh, nlh->nlmsg_len, NULL, NULL);
}

/**
 * ct_head() - start a request
 * @nl: socket it is for
 * @buf: buffer for the message
 * @cmd: command; unused for sock_diag
 * @flags: flags besides NLM_F_REQUEST
 *
 * Return: the message.
 */
struct nlmsghdr *ct_head(const struct ct_nl *nl, void *buf, u8 cmd, u16 flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct smc_diag_req *req;
	struct genlmsghdr *genl;

	nlh->nlmsg_type = nl->id;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	if (nl->family == CT_DIAG) {
		req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
		req->diag_family = AF_SMC;
		req->diag_ext = nl->diag_ext;
	} else {
		genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
		genl->cmd = cmd;
		genl->version = 1;
	}
	return nlh;
}

/**
 * ct_dump() - request a list
 * @nl: socket
 * @cmd: command
 * @fn: called for each answer
 * @arg: for @fn
 *
 * Return: 0 or a negative errno.
 */
int ct_dump(struct ct_nl *nl, u8 cmd, ct_fn fn, void *arg)
{
	u64 buf[16];
	struct nlmsghdr *nlh = ct_head(nl, buf, cmd, NLM_F_DUMP);

	return ct_ask(nl, nlh, nlh->nlmsg_len, fn, arg);
}

static void take_id(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_ID)
			*(u16 *)arg = mnl_attr_get_u16(a);
}

/**
 * ct_close() - undo ct_open()
 * @nl: socket
 */
void ct_close(struct ct_nl *nl)
{
	if (nl->mnl)
		mnl_socket_close(nl->mnl);
	nl->mnl = NULL;
}

/**
 * ct_open() - open a socket for requests to a family
 * @nl: result
 * @family: the family
 * @room: size of one read: the kernel makes its pieces as large
 *
 * Return: 0 or a negative errno.
 */
int ct_open(struct ct_nl *nl, enum ct_family family, size_t room)
{
	u64 buf[32];
	struct nlmsghdr *nlh;
	int err;

	*nl = (struct ct_nl){ .family = family, .diag_ext = 0xff, .room = room };
	nl->mnl = mnl_socket_open(family == CT_DIAG ? NETLINK_SOCK_DIAG : NETLINK_GENERIC);
	if (!nl->mnl)
		return -errno;
	tl_set_timeouts(mnl_socket_get_fd(nl->mnl), CT_TIMEOUT_MS);
	err = mnl_socket_bind(nl->mnl, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : 0;
	if (!err && family == CT_DIAG) {
		nl->id = SOCK_DIAG_BY_FAMILY;
	} else if (!err) {
		nl->id = GENL_ID_CTRL;
		nlh = ct_head(nl, buf, CTRL_CMD_GETFAMILY, NLM_F_ACK);
		mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, names[family]);
		nl->id = 0;
		err = ct_ask(nl, nlh, nlh->nlmsg_len, take_id, &nl->id);
	}
	if (!err && !nl->id)
		err = -ENOENT;
	if (err)
		ct_close(nl);
	return err;
}
