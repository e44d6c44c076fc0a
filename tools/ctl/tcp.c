// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: TCP sockets by sock_diag.
 */
#include "tcp.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define STATE(n) (1U << (n))
#define STATE_ESTABLISHED 1
#define STATE_CLOSE_WAIT 8
#define STATE_LISTEN 10

static void addr_copy(struct in6_addr *to, int family, const __be32 *from)
{
	memset(to, 0, sizeof(*to));
	if (family == AF_INET6) {
		memcpy(to, from, sizeof(*to));
		return;
	}
	to->s6_addr[10] = 0xff;
	to->s6_addr[11] = 0xff;
	memcpy(to->s6_addr + 12, from, 4);
}

static struct ctl_tcp *socks_append(struct ctl_tcps *list)
{
	if (list->num == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->sock = realloc(list->sock, list->room * sizeof(*list->sock));
		if (!list->sock)
			abort();
	}
	memset(&list->sock[list->num], 0, sizeof(*list->sock));
	return &list->sock[list->num++];
}

static int tcp_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;
	struct inet_diag_msg msg;
	struct tcp_info info;
	struct ctl_tcp *sock;
	size_t len;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(msg)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	memcpy(&msg, mnl_nlmsg_get_payload(nlh), sizeof(msg));
	sock = socks_append(data);
	sock->listens = msg.idiag_state == STATE_LISTEN;
	addr_copy(&sock->local, msg.idiag_family, msg.id.idiag_src);
	addr_copy(&sock->peer, msg.idiag_family, msg.id.idiag_dst);
	sock->local_port = ntohs(msg.id.idiag_sport);
	sock->peer_port = ntohs(msg.id.idiag_dport);
	mnl_attr_for_each(attr, nlh, sizeof(msg)) {
		if (mnl_attr_get_type(attr) != INET_DIAG_INFO)
			continue;
		/* older kernels send a shorter structure */
		memset(&info, 0, sizeof(info));
		len = mnl_attr_get_payload_len(attr);
		memcpy(&info, mnl_attr_get_payload(attr),
		       len < sizeof(info) ? len : sizeof(info));
		/* tcpi_bytes_acked would count the SYN as one byte */
		sock->sent = info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
		sock->received = info.tcpi_bytes_received;
	}
	return MNL_CB_OK;
}

/**
 * ctl_tcp_read() - read all listening and connected TCP sockets of this network namespace
 * @list: result; the caller passes it to ctl_tcp_put(), also after a failure
 *
 * Return: CTL_OK, or CTL_FAILURE after an error message.
 */
int ctl_tcp_read(struct ctl_tcps *list)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct inet_diag_req_v2 req = {
		.sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.idiag_states = STATE(STATE_ESTABLISHED) | STATE(STATE_CLOSE_WAIT) |
				STATE(STATE_LISTEN),
	};
	size_t i;
	int err;

	memset(list, 0, sizeof(*list));
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		req.sdiag_family = (__u8)families[i];
		err = ctl_diag_run(&req, sizeof(req), tcp_cb, list);
		if (err == ENOENT)
			ctl_error("this kernel cannot list TCP sockets: modprobe tcp_diag");
		else if (err)
			ctl_error("the list of TCP sockets: %s", strerror(err));
		if (err)
			return CTL_FAILURE;
	}
	return CTL_OK;
}

/**
 * ctl_tcp_put() - release the result of ctl_tcp_read()
 * @list: list of sockets
 */
void ctl_tcp_put(struct ctl_tcps *list)
{
	free(list->sock);
}
