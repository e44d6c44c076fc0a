/* SPDX-License-Identifier: GPL-2.0-only */
/* Events for who listens by netlink. Rank 1.1. */
#ifndef _SMC_BASE_EVENTS_H
#define _SMC_BASE_EVENTS_H

#include <linux/in6.h>
#include <linux/types.h>

struct genl_family;
struct net;

/* The multicast groups, in the order in which the family has them. */
enum smc_notify_group { SMC_NOTIFY_EVENTS, SMC_NOTIFY_FBACKS, SMC_NOTIFY_GROUPS };

/**
 * struct smc_notify_lgr - an event of a group
 * @cmd: SMC_NETLINK_OWN_EV_*, but for fallbacks
 * @id: of the group
 * @role: 1: server
 * @peer: its address on the TCP path
 * @reason: for people, NULL: none
 * @ib_dev: name of the RNIC of the link; NULL: it is not about a link
 * @ib_port: its port
 * @link: number of the link
 * @conns: of a failover: connections that go on
 */
struct smc_notify_lgr {
	u8 cmd;
	u32 id;
	u8 role;
	struct in6_addr peer;
	const char *reason;
	const char *ib_dev;
	u8 ib_port;
	u8 link;
	u32 conns;
};

/**
 * struct smc_notify_fback - a socket is TCP for life
 * @server: side
 * @own_rsn: our diagnosis code
 * @peer_rsn: the peer's, 0: none
 * @local: own address, IPv4 in its mapped form
 * @peer: likewise
 * @local_port: in host order
 * @peer_port: likewise
 */
struct smc_notify_fback {
	bool server;
	u32 own_rsn;
	u32 peer_rsn;
	struct in6_addr local;
	struct in6_addr peer;
	u16 local_port;
	u16 peer_port;
};

int smc_notify_init(void);
void smc_notify_exit(void);

/* From the registration of the family on, until before its end. */
void smc_notify_open(const struct genl_family *family);
void smc_notify_close(void);

/* Does anybody listen, here or elsewhere? Else there is no need to collect anything. */
bool smc_notify_wanted(enum smc_notify_group group);
/* Softirq or process context. */
void smc_notify_lgr(struct net *net, const struct smc_notify_lgr *ev);
void smc_notify_fback(struct net *net, const struct smc_notify_fback *ev);

#endif
