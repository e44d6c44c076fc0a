// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: end AF_SMC sockets with sock_diag.
 */
#include "smcctl.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <string.h>

#define FAMILY_SMC 43

/* Destroy a socket. @id has the cookie, so no other socket can match. Return an errno number. */
static int sock_destroy(const struct inet_diag_sockid *id)
{
	char buf[1024] __aligned(NLMSG_ALIGNTO);
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct smc_diag_req *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));

	nlh->nlmsg_type = SOCK_DESTROY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	req->diag_family = FAMILY_SMC;
	req->id = *id;
	return ctl_nl_run(NETLINK_SOCK_DIAG, nlh, NULL, NULL);
}

/**
 * ctl_sock_kill() - end sockets
 * @socks: sockets, from ctl_sock_read()
 * @ended: array, sockets that this call ended are appended
 *
 * Skips sockets that have ended by themselves. Stops at the first failure, with an error message.
 *
 * Return: exit status.
 */
int ctl_sock_kill(struct json_object *socks, struct json_object *ended)
{
	size_t i;
	int err;

	for (i = 0; i < json_object_array_length(socks); i++) {
		struct json_object *sock = json_object_array_get_idx(socks, i);

		err = sock_destroy(json_object_get_userdata(sock));
		if (err == ENOENT)
			continue;
		if (err == EPERM || err == EACCES)
			ctl_error("ending sockets needs the right CAP_NET_ADMIN (root)");
		else if (err == EOPNOTSUPP)
			ctl_error("the loaded smc_diag module does not support ending sockets");
		else if (err)
			ctl_error("ending the socket %s: %s", ctl_json_text(sock, "inode"),
				  strerror(err));
		if (err)
			return CTL_FAILURE;
		json_object_array_add(ended, json_object_get(sock));
	}
	return CTL_OK;
}
