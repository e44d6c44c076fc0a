/* SPDX-License-Identifier: GPL-2.0-only */
/* The netlink side of a host: what its two files share. */
#ifndef SMC_TOOLS_FAKE_NETLINK_H
#define SMC_TOOLS_FAKE_NETLINK_H

#include "../smc_tools.h"

#include <libmnl/libmnl.h>

struct nlmsghdr *fake_start(__u16 type, __u16 flags);
void fake_finish(const struct nlmsghdr *nlh);
void fake_result(__u16 type, int err);

/* fake_inet.c: routes */
void fake_route(const struct nlmsghdr *req);

#endif /* SMC_TOOLS_FAKE_NETLINK_H */
