/* SPDX-License-Identifier: GPL-2.0-only */
/* A listener for netlink events, as a program has it. */
#ifndef _SMC_EVENT_ENV_H
#define _SMC_EVENT_ENV_H

#include <kunit/test.h>
#include <linux/in6.h>
#include <linux/types.h>

struct socket;

/**
 * struct env_event - An event that was received
 * @cmd: SMC_NETLINK_OWN_EV_*; 0: none has come
 * @lgr_id: LGR_ID
 * @role: ROLE
 * @local: LOCAL
 * @peer: PEER
 * @local_port: LOCAL_PORT
 * @peer_port: PEER_PORT
 * @reason: REASON; empty: absent
 * @msecs: MSECS; U64_MAX: absent
 * @attrs: number of attributes, without padding
 */
struct env_event {
	u8 cmd;
	u32 lgr_id;
	u8 role;
	struct in6_addr local;
	struct in6_addr peer;
	u16 local_port;
	u16 peer_port;
	char reason[16];
	u64 msecs;
	u32 attrs;
};

struct socket *env_listen_events(struct kunit *test, const char *group);
void env_end_events(struct socket *sock);
void env_get_event(struct socket *sock, unsigned long wait, struct env_event *ev);

#endif
