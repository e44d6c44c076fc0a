/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smcctl: TCP sockets of this host.
 */
#ifndef SMC_TOOLS_SMCCTL_TCP_H
#define SMC_TOOLS_SMCCTL_TCP_H

#include "smcctl.h"

#include <netinet/in.h>

/**
 * struct ctl_tcp - one TCP socket
 * @listens: it is a listening socket, so it has no peer
 * @local: local address, IPv4 as v4-mapped
 * @peer: address of the peer, IPv4 as v4-mapped
 * @local_port: local port
 * @peer_port: port of the peer
 * @sent: number of bytes sent, without retransmissions
 * @received: number of bytes received
 */
struct ctl_tcp {
	bool listens;
	struct in6_addr local;
	struct in6_addr peer;
	__u16 local_port;
	__u16 peer_port;
	__u64 sent;
	__u64 received;
};

/**
 * struct ctl_tcps - list of TCP sockets
 * @sock: array
 * @num: number of entries in use
 * @room: number of entries allocated
 */
struct ctl_tcps {
	struct ctl_tcp *sock;
	size_t num;
	size_t room;
};

int ctl_tcp_read(struct ctl_tcps *list);
void ctl_tcp_put(struct ctl_tcps *list);

#endif /* SMC_TOOLS_SMCCTL_TCP_H */
