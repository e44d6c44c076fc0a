/* SPDX-License-Identifier: GPL-2.0-only */
/* The netlink side of a host: what its files share. */
#ifndef SMC_TOOLS_FAKE_NETLINK_H
#define SMC_TOOLS_FAKE_NETLINK_H

#include "smc_tools.h"

#include <libmnl/libmnl.h>

#define PNET_FAMILY_ID 0x23
#define DIAG_BY_FAMILY 20
#define DIAG_DESTROY 21
/* our own module */
#define OWN_ADD_LINK 128
#define OWN_DEL_LINK 129
#define OWN_DEL_LGR 130
#define OWN_ADD_RULE 131
#define OWN_FLUSH_RULES 133
#define OWN_GET_RULES 134
#define OWN_GET_COUNTERS 135

struct nlmsghdr *fake_start(__u16 type, __u16 flags);
struct nlmsghdr *fake_start_genl(__u8 cmd);
void fake_finish(const struct nlmsghdr *nlh);
void fake_result(__u16 type, int err);
void fake_done(void);

/* FAKE_NL is this */
int fake_is(const char *what);

/* fake_change.c: answers to commands */
void fake_ueids(void);
int fake_change_ueids(const struct nlmsghdr *req, int cmd);
void fake_pnet(const struct nlmsghdr *req, int cmd);
void fake_order(const struct nlmsghdr *req, int cmd);
void fake_rules(void);
void fake_change_rules(const struct nlmsghdr *req, int cmd);

/* fake_events.c: all there are */
void fake_events(__u16 family);

/* fake_socks.c */
void fake_socks(const struct nlmsghdr *req);
void fake_kill(const struct nlmsghdr *req);

/* fake_inet.c: routes, TCP sockets of a family but for the end of the list */
void fake_route(const struct nlmsghdr *req);
void fake_tcp(int family);

#endif /* SMC_TOOLS_FAKE_NETLINK_H */
