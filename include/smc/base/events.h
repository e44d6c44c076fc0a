/* SPDX-License-Identifier: GPL-2.0-only */
/* Events for netlink listeners. */
#ifndef _SMC_BASE_EVENTS_H
#define _SMC_BASE_EVENTS_H

#include <linux/in6.h>
#include <linux/types.h>

struct genl_family;
struct net;
struct smc_rules_path;

/* Multicast groups, in the order of the family's array. */
enum smc_event_group {
	SMC_EVENT_GROUP_EVENTS,
	SMC_EVENT_GROUP_FALLBACKS,
	SMC_EVENT_GROUP_CONNS,
	SMC_EVENT_GROUPS
};

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
 * @conns: failover: number of connections that moved to other links; end of the group: number of
 *	connections that ended before
 * @tx_bytes: end of the group: bytes that these sent
 * @rx_bytes: end of the group: bytes that these received
 * @msecs: end of the group: how long it lived
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
	u64 tx_bytes;
	u64 rx_bytes;
	u64 msecs;
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

/**
 * struct smc_event_conn - Event of the end of a connection over RDMA
 * @lgr_id: of its group
 * @server: side
 * @err: errno; 0: both sides have closed
 * @path: addresses and ports
 * @msecs: how long it lived
 * @tx_bytes: written by the program
 * @rx_bytes: received
 * @tx_again: repeated after failovers
 * @tx_msgs: messages and immediate values posted
 * @rx_msgs: the same, received
 * @rtt: microseconds, smoothed; 0: not known
 * @rtt_min: microseconds
 * @closed_usecs: time for which the peer had no room
 * @moves: changes of the link
 */
struct smc_event_conn {
	u32 lgr_id;
	bool server;
	u32 err;
	const struct smc_rules_path *path;
	u64 msecs;
	u64 tx_bytes;
	u64 rx_bytes;
	u64 tx_again;
	u32 tx_msgs;
	u32 rx_msgs;
	u32 rtt;
	u32 rtt_min;
	u64 closed_usecs;
	u32 moves;
};

/**
 * struct smc_event_upgrade - Event of a request to upgrade a connection that began as TCP
 * @lgr_id: of the group
 * @server: side
 * @path: addresses and ports
 * @reason: text for users, why the connection stays TCP; NULL: it uses RDMA from now on
 * @msecs: @reason is NULL: how long it was TCP
 */
struct smc_event_upgrade {
	u32 lgr_id;
	bool server;
	const struct smc_rules_path *path;
	const char *reason;
	u64 msecs;
};

int smc_event_init(void);
void smc_event_exit(void);

void smc_event_enable(const struct genl_family *family);
void smc_event_disable(void);

bool smc_event_has_listeners(enum smc_event_group group);
void smc_event_lgr(struct net *net, const struct smc_event_lgr *ev);
void smc_event_fallback(struct net *net, const struct smc_event_fallback *ev);
void smc_event_conn(struct net *net, const struct smc_event_conn *ev);
void smc_event_upgrade(struct net *net, const struct smc_event_upgrade *ev);

#endif
