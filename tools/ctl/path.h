/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smcctl: route to a peer, and the RoCE port for it.
 */
#ifndef SMC_TOOLS_SMCCTL_PATH_H
#define SMC_TOOLS_SMCCTL_PATH_H

#include "smcctl.h"

#include <net/if.h>
#include <sys/socket.h>

#define CTL_FAMILY_SMC 43

/**
 * struct ctl_route - route to a peer
 * @ifindex: index of the network device
 * @netdev: name of the network device
 * @local: the address belongs to this host
 * @gateway: the route has a gateway
 */
struct ctl_route {
	unsigned int ifindex;
	char netdev[IF_NAMESIZE];
	bool local;
	bool gateway;
};

/* route.c */
int ctl_route_find(int family, const void *addr, struct ctl_route *route);

/**
 * struct ctl_rnics - RoCE ports and PNET IDs that connections can use
 * @ports: array, as "smcctl device" prints it
 * @pnet: array, as "smcctl pnet" prints it
 */
struct ctl_rnics {
	struct json_object *ports;
	struct json_object *pnet;
};

/* rnic.c */

/* What can be expected of SMC, compared with TCP */
enum ctl_speed {
	CTL_SPEED_UNKNOWN,
	CTL_SPEED_FASTER,
	CTL_SPEED_SLOWER,
};

int ctl_rnics_read(struct ctl_rnics *rnics);
int ctl_rnics_read_sysfs(struct ctl_rnics *rnics);
void ctl_rnics_put(struct ctl_rnics *rnics);
__u32 ctl_rnics_find_port(const struct ctl_rnics *rnics, const char *netdev, char *text,
			  size_t size, struct json_object **found);
enum ctl_speed ctl_rnic_expect_speed(struct json_object *port, char *text, size_t size);

#endif /* SMC_TOOLS_SMCCTL_PATH_H */
