/* SPDX-License-Identifier: GPL-2.0-only */
/* The PNET IDs that the administrator assigned to netdevs and RoCE ports, per namespace. */
#ifndef _SMC_RDMA_PNET_TABLE_H
#define _SMC_RDMA_PNET_TABLE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct net;
struct net_device;

#define SMC_PNET_ID_LEN		16
#define SMC_PNET_TABLE_MAX	1024	/* entries per namespace */
#define SMC_PNET_PORTS_MAX	2	/* ports per device that the netlink interface can name */

/**
 * struct smc_pnet_entry - the PNET ID of a netdev or a RoCE port
 * @id: PNET ID
 * @name: name of the netdev; or of the RoCE device or its parent (PCI ID)
 * @port: RoCE port number; 0: the entry is for a netdev
 * @ifindex: netdev that the entry is bound to; 0: no netdev of this name exists yet
 */
struct smc_pnet_entry {
	char id[SMC_PNET_ID_LEN + 1];
	char name[IB_DEVICE_NAME_MAX];
	u8 port;
	int ifindex;
};

int smc_pnet_init(void);
void smc_pnet_exit(void);

int smc_pnet_parse_id(const char *text, char id[SMC_PNET_ID_LEN + 1]);
int smc_pnet_add(struct net *net, const char *id, const char *eth, const char *ib, u8 port);
int smc_pnet_del(struct net *net, const char *id);
void smc_pnet_flush(struct net *net);
bool smc_pnet_get_next(struct net *net, unsigned long *pos, const char *id,
		       struct smc_pnet_entry *out);

bool smc_pnet_find_netdev(struct net *net, const struct net_device *ndev,
			  char id[SMC_PNET_ID_LEN + 1]);
bool smc_pnet_find_port(struct net *net, const char *name, const char *parent, u8 port,
			char id[SMC_PNET_ID_LEN + 1]);
bool smc_pnet_has_port(struct net *net, const char *id);
void smc_pnet_rename_port(struct net *net, const char *from, const char *to);

#endif
