/* SPDX-License-Identifier: GPL-2.0-only */
/* Events for netlink listeners. */
#ifndef _SMC_BASE_EVENTS_H
#define _SMC_BASE_EVENTS_H

#include <linux/in6.h>
#include <linux/types.h>

struct genl_family;
struct net;

/* Multicast groups, in the order of the family's array. */
enum smc_event_group { SMC_EVENT_GROUP_EVENTS, SMC_EVENT_GROUP_FALLBACKS, SMC_EVENT_GROUPS };

/**
 * struct smc_event_lgr - Event of a link group
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
struct smc_event_lgr {
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
 * struct smc_event_fallback - Event of a fallback: the socket uses TCP until it is closed
 * @server: side
 * @own_rsn: our diagnosis code
 * @peer_rsn: the peer's, 0: none
 * @local: local address, IPv4 in mapped form
 * @peer: the peer's address, likewise
 * @local_port: in host byte order
 * @peer_port: likewise
 */
struct smc_event_fallback {
	bool server;
	u32 own_rsn;
	u32 peer_rsn;
	struct in6_addr local;
	struct in6_addr peer;
	u16 local_port;
	u16 peer_port;
};

int smc_event_init(void);
void smc_event_exit(void);

void smc_event_enable(const struct genl_family *family);
void smc_event_disable(void);

bool smc_event_has_listeners(enum smc_event_group group);
void smc_event_lgr(struct net *net, const struct smc_event_lgr *ev);
void smc_event_fallback(struct net *net, const struct smc_event_fallback *ev);

#endif
