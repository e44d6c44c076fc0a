// SPDX-License-Identifier: GPL-2.0-only
/* Fake SMC module: events, and at the end the unloading of the module. */
#include "fake_netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <uapi/linux/smc_own.h>

static void addr_put(struct nlmsghdr *nlh, __u16 type, const char *text)
{
	__u8 addr[16];

	if (fake_is("wide"))
		text = type == SMC_NETLINK_EV_LOCAL ? WIDE_LOCAL : WIDE_PEER;
	inet_pton(AF_INET6, text, addr);
	mnl_attr_put(nlh, type, sizeof(addr), addr);
}

static void port_put(struct nlmsghdr *nlh, __u16 type, __u16 port)
{
	if (fake_is("wide"))
		port = type == SMC_NETLINK_EV_LOCAL_PORT ? 65535 : 65534;
	mnl_attr_put_u16(nlh, type, port);
}

static struct nlmsghdr *event_start(__u8 cmd)
{
	struct nlmsghdr *nlh = fake_genl_start(cmd);

	nlh->nlmsg_flags = 0;
	nlh->nlmsg_seq = 0;
	mnl_attr_put_u64(nlh, SMC_NETLINK_EV_NET_COOKIE, 7);
	return nlh;
}

static void event_put_group(__u8 cmd, __u8 link, const char *reason, __u32 untold)
{
	struct nlmsghdr *nlh = event_start(cmd);

	mnl_attr_put_u32(nlh, SMC_NETLINK_EV_LGR_ID, 0x100);
	mnl_attr_put_u8(nlh, SMC_NETLINK_EV_ROLE, 1);
	addr_put(nlh, SMC_NETLINK_EV_PEER, "::ffff:10.0.0.2");
	if (reason)
		mnl_attr_put_strz(nlh, SMC_NETLINK_EV_REASON, reason);
	if (link) {
		mnl_attr_put_u8(nlh, SMC_NETLINK_EV_LINK_ID, link);
		mnl_attr_put_strz(nlh, SMC_NETLINK_EV_IB_DEV, "rxe0");
		mnl_attr_put_u8(nlh, SMC_NETLINK_EV_IB_PORT, 1);
	}
	if (cmd == SMC_NETLINK_OWN_EV_FAILOVER)
		mnl_attr_put_u32(nlh, SMC_NETLINK_EV_CONNS, 3);
	if (cmd == SMC_NETLINK_OWN_EV_LGR_END) {
		mnl_attr_put_u32(nlh, SMC_NETLINK_EV_CONNS, 12);
		mnl_attr_put_u64(nlh, SMC_NETLINK_EV_MSECS, 601000);
		mnl_attr_put_u64(nlh, SMC_NETLINK_EV_TX_BYTES, 3000000);
		mnl_attr_put_u64(nlh, SMC_NETLINK_EV_RX_BYTES, 4000);
	}
	if (untold)
		mnl_attr_put_u32(nlh, SMC_NETLINK_EV_UNTOLD, untold);
	fake_msg_finish(nlh);
}

static void event_put_fallback(__u32 own, __u32 peer, __u32 untold)
{
	struct nlmsghdr *nlh = event_start(SMC_NETLINK_OWN_EV_FBACK);

	mnl_attr_put_u8(nlh, SMC_NETLINK_EV_ROLE, 0);
	mnl_attr_put_u32(nlh, SMC_NETLINK_EV_OWN_RSN, own);
	mnl_attr_put_u32(nlh, SMC_NETLINK_EV_PEER_RSN, peer);
	addr_put(nlh, SMC_NETLINK_EV_LOCAL, "fd00::1");
	port_put(nlh, SMC_NETLINK_EV_LOCAL_PORT, 40000);
	addr_put(nlh, SMC_NETLINK_EV_PEER, "fd00::2");
	port_put(nlh, SMC_NETLINK_EV_PEER_PORT, 80);
	if (untold)
		mnl_attr_put_u32(nlh, SMC_NETLINK_EV_UNTOLD, untold);
	fake_msg_finish(nlh);
}

/* An event of a connection. */
static struct nlmsghdr *event_start_conn(__u8 cmd)
{
	struct nlmsghdr *nlh = event_start(cmd);

	mnl_attr_put_u32(nlh, SMC_NETLINK_EV_LGR_ID, 0x100);
	mnl_attr_put_u8(nlh, SMC_NETLINK_EV_ROLE, 1);
	addr_put(nlh, SMC_NETLINK_EV_LOCAL, "::ffff:10.0.0.1");
	port_put(nlh, SMC_NETLINK_EV_LOCAL_PORT, 6379);
	addr_put(nlh, SMC_NETLINK_EV_PEER, "::ffff:10.0.0.2");
	port_put(nlh, SMC_NETLINK_EV_PEER_PORT, 40001);
	return nlh;
}

/* Its end; @err: errno */
static void event_put_conn(__u32 err, __u32 moves, __u32 untold)
{
	struct nlmsghdr *nlh = event_start_conn(SMC_NETLINK_OWN_EV_CONN_END);

	mnl_attr_put_u32(nlh, SMC_NETLINK_EV_ERROR, err);
	mnl_attr_put_u64(nlh, SMC_NETLINK_EV_MSECS, 61500);
	mnl_attr_put_u64(nlh, SMC_NETLINK_EV_TX_BYTES, 123456);
	mnl_attr_put_u64(nlh, SMC_NETLINK_EV_RX_BYTES, 777);
	mnl_attr_put_u64(nlh, SMC_NETLINK_EV_TX_AGAIN, 6);
	mnl_attr_put_u32(nlh, SMC_NETLINK_EV_TX_MSGS, 7);
	mnl_attr_put_u32(nlh, SMC_NETLINK_EV_RX_MSGS, 8);
	if (moves) {
		mnl_attr_put_u32(nlh, SMC_NETLINK_EV_RTT, 20);
		mnl_attr_put_u32(nlh, SMC_NETLINK_EV_RTT_MIN, 10);
	}
	mnl_attr_put_u64(nlh, SMC_NETLINK_EV_CLOSED_USECS, 99);
	mnl_attr_put_u32(nlh, SMC_NETLINK_EV_MOVES, moves);
	if (untold)
		mnl_attr_put_u32(nlh, SMC_NETLINK_EV_UNTOLD, untold);
	fake_msg_finish(nlh);
}

/* A connection that began as TCP has asked for RDMA. @reason: why not; NULL: it has changed over */
static void event_put_upgrade(const char *reason)
{
	struct nlmsghdr *nlh = event_start_conn(reason ? SMC_NETLINK_OWN_EV_UPGRADE_REFUSED :
							 SMC_NETLINK_OWN_EV_CONN_UPGRADED);

	if (reason)
		mnl_attr_put_strz(nlh, SMC_NETLINK_EV_REASON, reason);
	else
		mnl_attr_put_u64(nlh, SMC_NETLINK_EV_MSECS, 1512);
	fake_msg_finish(nlh);
}

/**
 * fake_events_put() - send events, then the unloading of the module
 * @family: identifier of the family
 * @conns: those of connections, in place of all others
 */
void fake_events_put(__u16 family, int conns)
{
	struct nlmsghdr *nlh;
	struct genlmsghdr *genl;

	if (conns) {
		event_put_upgrade("later");
		event_put_upgrade(NULL);
		event_put_conn(0, 0, 0);
		event_put_conn(ECONNRESET, 2, 3);
		return;
	}
	event_put_group(SMC_NETLINK_OWN_EV_LGR_BEGIN, 0, NULL, 0);
	event_put_group(SMC_NETLINK_OWN_EV_LINK_UP, 1, NULL, 0);
	/* an event of a newer module */
	fake_msg_finish(event_start(200));
	event_put_group(SMC_NETLINK_OWN_EV_LINK_LOST, 1, "port down", 0);
	event_put_group(SMC_NETLINK_OWN_EV_FAILOVER, 1, "port down", 0);
	event_put_fallback(0x03010000, 0, 0);
	event_put_fallback(0x05000000, 0x03030000, 12);
	event_put_group(SMC_NETLINK_OWN_EV_LGR_END, 0, "idle", 5);
	nlh = fake_msg_start(GENL_ID_CTRL, 0);
	nlh->nlmsg_seq = 0;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = CTRL_CMD_DELFAMILY;
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, family);
	fake_msg_finish(nlh);
}
