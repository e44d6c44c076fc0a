/* SPDX-License-Identifier: GPL-2.0-only */
/* Fake host and SMC module: declarations shared by the parts that answer netlink requests. */
#ifndef SMC_TOOLS_FAKE_NETLINK_H
#define SMC_TOOLS_FAKE_NETLINK_H

#include "smc_tools.h"

#include <libmnl/libmnl.h>

/* The longest addresses; with their ports they are the longest ends of a connection */
#define WIDE_LOCAL "fd00:1111:2222:3333:4444:5555:6666:7777"
#define WIDE_PEER "fd00:1111:2222:3333:4444:5555:6666:8888"

#define PNET_FAMILY_ID 0x23
#define DIAG_BY_FAMILY 20
#define DIAG_DESTROY 21
/* commands of this module only */
#define OWN_ADD_LINK 128
#define OWN_DEL_LINK 129
#define OWN_DEL_LGR 130
#define OWN_ADD_RULE 131
#define OWN_FLUSH_RULES 133
#define OWN_GET_RULES 134
#define OWN_GET_COUNTERS 135

struct nlmsghdr *fake_msg_start(__u16 type, __u16 flags);
struct nlmsghdr *fake_genl_start(__u8 cmd);
void fake_msg_finish(const struct nlmsghdr *nlh);
void fake_result_put(__u16 type, int err);
void fake_done_put(void);

int fake_is(const char *what);

/* fake_change.c */
void fake_ueids_dump(void);
int fake_ueids_change(const struct nlmsghdr *req, int cmd);
void fake_pnet_answer(const struct nlmsghdr *req, int cmd);
void fake_link_modify(const struct nlmsghdr *req, int cmd);
void fake_rules_dump(void);
void fake_rules_change(const struct nlmsghdr *req, int cmd);

/* fake_events.c */
void fake_events_put(__u16 family, int conns);

/* fake_socks.c */
void fake_socks_answer(const struct nlmsghdr *req);
void fake_sock_kill(const struct nlmsghdr *req);

/* fake_inet.c */
void fake_route_answer(const struct nlmsghdr *req);
void fake_tcp_dump(int family);

#endif /* SMC_TOOLS_FAKE_NETLINK_H */
