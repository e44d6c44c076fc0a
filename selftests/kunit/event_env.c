// SPDX-License-Identifier: GPL-2.0-only
/*
 * A listener for the netlink events of the initial namespace, as a program has it: a socket of
 * generic netlink in one multicast group, whose number the kernel has been asked for.
 */
#include <linux/delay.h>
#include <linux/genetlink.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/smc.h>
#include <linux/socket.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <uapi/linux/smc_own.h>

#include "event_env.h"

#define REPLY_SIZE	4096

static int event_receive(struct socket *sock, void *buf, size_t size)
{
	struct kvec vec = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = {};

	return kernel_recvmsg(sock, &msg, &vec, 1, size, MSG_DONTWAIT);
}

static int event_ask_family(struct socket *sock)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct msghdr msg = {};
	struct genlmsghdr *genl;
	struct nlmsghdr *nlh;
	struct kvec vec;
	int rc;

	if (!skb)
		return -ENOMEM;
	nlh = nlmsg_put(skb, 0, 0, GENL_ID_CTRL, GENL_HDRLEN, NLM_F_REQUEST);
	genl = nlmsg_data(nlh);
	*genl = (struct genlmsghdr){ .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	rc = nla_put_string(skb, CTRL_ATTR_FAMILY_NAME, SMC_GENL_FAMILY_NAME);
	nlmsg_end(skb, nlh);
	vec = (struct kvec){ .iov_base = skb->data, .iov_len = skb->len };
	if (!rc)
		rc = kernel_sendmsg(sock, &msg, &vec, 1, skb->len);
	kfree_skb(skb);
	return rc < 0 ? rc : 0;
}

/* Return the number of a multicast group in the answer of the kernel, or 0. */
static int event_find_group(const struct nlmsghdr *nlh, const char *group)
{
	const struct nlattr *groups = nlmsg_find_attr(nlh, GENL_HDRLEN, CTRL_ATTR_MCAST_GROUPS);
	const struct nlattr *entry, *name, *id;
	int rem;

	if (!groups)
		return 0;
	nla_for_each_nested(entry, groups, rem) {
		name = nla_find_nested(entry, CTRL_ATTR_MCAST_GRP_NAME);
		id = nla_find_nested(entry, CTRL_ATTR_MCAST_GRP_ID);
		if (name && id && !nla_strcmp(name, group))
			return nla_get_u32(id);
	}
	return 0;
}

/**
 * env_listen_events() - Listen to events of the initial namespace
 * @test: case; it fails if that is not possible
 * @group: name of the multicast group
 *
 * Return: a socket, for env_get_event() and env_end_events().
 */
struct socket *env_listen_events(struct kunit *test, const char *group)
{
	void *buf = kunit_kzalloc(test, REPLY_SIZE, GFP_KERNEL);
	struct socket *sock;
	int id;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_NETLINK, SOCK_RAW, NETLINK_GENERIC,
					       &sock), 0);
	KUNIT_EXPECT_EQ(test, event_ask_family(sock), 0);
	KUNIT_EXPECT_GT(test, event_receive(sock, buf, REPLY_SIZE), 0);
	id = event_find_group(buf, group);
	KUNIT_EXPECT_GT(test, id, 0);
	KUNIT_EXPECT_EQ(test, sock->ops->setsockopt(sock, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
						    KERNEL_SOCKPTR(&id), sizeof(id)), 0);
	return sock;
}

/**
 * env_end_events() - Listen no more
 * @sock: of env_listen_events()
 */
void env_end_events(struct socket *sock)
{
	sock_release(sock);
}

static void event_parse(const struct nlmsghdr *nlh, struct env_event *ev)
{
	const struct genlmsghdr *genl = nlmsg_data(nlh);
	const struct nlattr *attr;
	int rem;

	*ev = (struct env_event){ .cmd = genl->cmd, .msecs = U64_MAX };
	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, rem) {
		ev->attrs += nla_type(attr) != SMC_NETLINK_EV_PAD;
		switch (nla_type(attr)) {
		case SMC_NETLINK_EV_LGR_ID:
			ev->lgr_id = nla_get_u32(attr);
			break;
		case SMC_NETLINK_EV_ROLE:
			ev->role = nla_get_u8(attr);
			break;
		case SMC_NETLINK_EV_LOCAL:
			ev->local = nla_get_in6_addr(attr);
			break;
		case SMC_NETLINK_EV_PEER:
			ev->peer = nla_get_in6_addr(attr);
			break;
		case SMC_NETLINK_EV_LOCAL_PORT:
			ev->local_port = nla_get_u16(attr);
			break;
		case SMC_NETLINK_EV_PEER_PORT:
			ev->peer_port = nla_get_u16(attr);
			break;
		case SMC_NETLINK_EV_REASON:
			nla_strscpy(ev->reason, attr, sizeof(ev->reason));
			break;
		case SMC_NETLINK_EV_MSECS:
			ev->msecs = nla_get_u64(attr);
			break;
		}
	}
}

/**
 * env_get_event() - Receive the next event, ends of connections left out
 * @sock: of env_listen_events()
 * @wait: jiffies to wait for one
 * @ev: filled in
 *
 * Connections of earlier cases may end meanwhile.
 */
void env_get_event(struct socket *sock, unsigned long wait, struct env_event *ev)
{
	unsigned long until = jiffies + wait;
	u8 buf[512] __aligned(NLMSG_ALIGNTO);

	do {
		while (event_receive(sock, buf, sizeof(buf)) > 0) {
			event_parse((struct nlmsghdr *)buf, ev);
			if (ev->cmd != SMC_NETLINK_OWN_EV_CONN_END)
				return;
		}
		usleep_range(1000, 2000);
	} while (time_before(jiffies, until));
	*ev = (struct env_event){};
}
