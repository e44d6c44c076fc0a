/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PNET IDs that the administrator gave to netdevs and RoCE ports, per namespace.
 * Rank 1.
 */
#ifndef _SMC_RDMA_PNET_TABLE_H
#define _SMC_RDMA_PNET_TABLE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct net;
struct net_device;

#define SMC_PNET_ID_LEN		16
/* Entries of one namespace. */
#define SMC_PNET_TABLE_MAX	1024
/* Ports of a device that can have an entry: what the netlink interface defines. */
#define SMC_PNET_PORTS_MAX	2

/**
 * struct smc_pnet_entry - one line of the table: the PNET ID of a netdev or a RoCE port
 * @id: PNET ID
 * @name: the device's name; of a RoCE device also the name of its parent (PCI ID)
 * @port: RoCE port number, 0 = the entry is for a netdev
 * @ifindex: netdev that has the entry, 0 = there is none with this name yet
 */
struct smc_pnet_entry {
	char id[SMC_PNET_ID_LEN + 1];
	char name[IB_DEVICE_NAME_MAX];
	u8 port;
	int ifindex;
};

int smc_pnet_table_init(void);
void smc_pnet_table_exit(void);

/* The form in which IDs are kept and compared: -EINVAL if @text is none. */
int smc_pnet_table_parse(const char *text, char id[SMC_PNET_ID_LEN + 1]);

/* Administrator; @id is parsed, @eth or @ib may be NULL. Errors: see the definition. */
int smc_pnet_table_add(struct net *net, const char *id, const char *eth, const char *ib, u8 port);
int smc_pnet_table_del(struct net *net, const char *id);
void smc_pnet_table_flush(struct net *net);
/* Copies the entry behind *@pos; with @id only its entries count. False: there is none. */
bool smc_pnet_table_next(struct net *net, unsigned long *pos, const char *id,
			 struct smc_pnet_entry *out);

/* The ID that a device itself was given. False if it has none. */
bool smc_pnet_table_netdev(struct net *net, const struct net_device *ndev,
			   char id[SMC_PNET_ID_LEN + 1]);
bool smc_pnet_table_port(struct net *net, const char *name, const char *parent, u8 port,
			 char id[SMC_PNET_ID_LEN + 1]);
/* Was any RoCE port given this ID? */
bool smc_pnet_table_has_port(struct net *net, const char *id);
/* A RoCE device of this namespace has got another name. */
void smc_pnet_table_rename_port(struct net *net, const char *from, const char *to);

#endif
