/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LLC layer of a link group (RFC 7609 sections 3.5.5 and A.3): calls of the handshake, of
 * connections and of the operator. See smc_llc.c.
 */
#ifndef _SMC_LLC_LLC_H
#define _SMC_LLC_LLC_H

#include <linux/types.h>
#include <linux/wait.h>
#include <smc/rdma/ib.h>

struct net;
struct smc_lgr;
struct smc_link;
struct smc_region;

extern const struct smc_lgr_ctl_events smc_llc_events;

int smc_llc_create(struct smc_lgr *lgr);

/*
 * First contact (RFC 7609 section 3.5.1): state as returned by smc_llc_fc_get_bits(). A server
 * waits for the response of the client, a client for the request of the server.
 */
#define SMC_LLC_FC_CONFIRM	0x01	/* CONFIRM LINK has arrived */
#define SMC_LLC_FC_ADD_LINK	0x02	/* ADD LINK has arrived, or is not needed */
#define SMC_LLC_FC_EYECATCHER	0x04	/* the peer insists on RMBE eye catchers: decline */
#define SMC_LLC_FC_BROKEN	0x08	/* link or group failed */

void smc_llc_fc_begin(struct smc_link *link, wait_queue_head_t *wq);
unsigned int smc_llc_fc_get_bits(struct smc_link *link);
int smc_llc_fc_confirm_link(struct smc_link *link);
int smc_llc_fc_add_link(struct smc_link *link);
void smc_llc_fc_end(struct smc_link *link);

void smc_llc_ports_changed(struct smc_lgr *lgr);
void smc_llc_announce_caps(struct smc_link *link);

int smc_rkey_confirm(struct smc_lgr *lgr, struct smc_link *link, struct smc_region *region,
		     unsigned long end, const bool *cancel);

void smc_llc_timer_region_added(struct smc_lgr *lgr);

void smc_test_link_probe_lgr(struct smc_lgr *lgr);
void smc_test_link_probe_gid(struct net *net, const union ib_gid *gid);
void smc_test_link_probe_eldest(struct net *net, const union ib_gid *gid);

/**
 * struct smc_link_wish - the ends that an operator wants a further link to have
 * @gid: GID of the peer's RNIC; zero: any
 * @device: name of the RoCE device of this host; empty: any. Compared when the link is made,
 *	because devices may be renamed
 * @port: its port; 0: any, as without @device
 */
struct smc_link_wish {
	union ib_gid gid;
	char device[IB_DEVICE_NAME_MAX];
	u8 port;
};

int smc_add_link_order(struct smc_lgr *lgr, const struct smc_link_wish *wish);
int smc_delete_link_order(struct smc_lgr *lgr, u8 num);

#endif
