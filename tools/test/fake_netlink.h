/* SPDX-License-Identifier: GPL-2.0-only */
/* The netlink side of a host: what its two files share. */
#ifndef SMC_TOOLS_FAKE_NETLINK_H
#define SMC_TOOLS_FAKE_NETLINK_H

#include "../smc_tools.h"

#include <libmnl/libmnl.h>

struct nlmsghdr *fake_start(__u16 type, __u16 flags);
void fake_finish(const struct nlmsghdr *nlh);
void fake_result(__u16 type, int err);

/* FAKE_NL is this */
int fake_is(const char *what);

/* fake_inet.c: routes, TCP sockets of a family but for the end of the list */
void fake_route(const struct nlmsghdr *req);
void fake_tcp(int family);

#endif /* SMC_TOOLS_FAKE_NETLINK_H */
