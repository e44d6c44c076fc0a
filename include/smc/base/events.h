/* SPDX-License-Identifier: GPL-2.0-only */
/* Events for netlink listeners. */
#ifndef _SMC_BASE_EVENTS_H
#define _SMC_BASE_EVENTS_H

#include <linux/in6.h>
#include <linux/types.h>

struct genl_family;
struct net;

/* Multicast groups, in the order of the family's array. */
enum smc_notify_group { SMC_NOTIFY_EVENTS, SMC_NOTIFY_FBACKS, SMC_NOTIFY_GROUPS };

/**
 * struct smc_notify_lgr - Event of a link group
 * @cmd: SMC_NETLINK_OWN_EV_*, except the one of fallbacks
 * @id: of the group
 * @role: 1: server
 * @peer: the peer's address on the TCP connection
 * @reason: text for users, NULL: none
 * @ib_dev: name of the RNIC of the link; NULL: the event is not about a link
 * @ib_port: port of the link
 * @link: number of the link
 * @conns: failover: number of connections that moved to other links
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
 * struct smc_notify_fback - Event of a fallback: the socket uses TCP until it is closed
 * @server: side
 * @own_rsn: our diagnosis code
 * @peer_rsn: the peer's, 0: none
 * @local: local address, IPv4 in mapped form
 * @peer: the peer's address, likewise
 * @local_port: in host byte order
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

void smc_notify_open(const struct genl_family *family);
void smc_notify_close(void);

bool smc_notify_wanted(enum smc_notify_group group);
void smc_notify_lgr(struct net *net, const struct smc_notify_lgr *ev);
void smc_notify_fback(struct net *net, const struct smc_notify_fback *ev);

#endif
