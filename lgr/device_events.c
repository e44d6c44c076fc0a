// SPDX-License-Identifier: GPL-2.0-only
/*
 * What facts about RoCE devices mean for the links of groups. One rank above
 * smc_core.c.
 */
#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <smc/lgr/lgr.h>
#include <smc/rdma/ib.h>

struct dev_fact {
	const struct smc_ib_device *dev;
	u8 port;			/* 0 = every port */
	enum smc_link_reason reason;
};

/* Is the GID of @link still what it was when its queue pair was made? */
static bool gid_stands(const struct smc_lgr *lgr, const struct smc_link *link)
{
	const struct smc_path *path = &link->path;
	struct net_device *ndev;
	bool ok;

	ndev = dev_get_by_index(lgr->net, path->gid.ifindex);
	if (!ndev)
		return false;
	ok = smc_ib_gid_stands(path->dev, path->port, ndev, &path->gid);
	dev_put(ndev);
	return ok;
}

/*
 * Do full packets of @link still leave? What fails otherwise is the first large transfer, by
 * its retries, while all else goes on.
 */
static bool mtu_fits(const struct smc_lgr *lgr, const struct smc_link *link)
{
	struct net_device *ndev;
	bool ok;

	ndev = dev_get_by_index(lgr->net, link->path.gid.ifindex);
	if (!ndev)
		return true;	/* its GID goes as well */
	ok = link->mtu <= iboe_get_mtu(READ_ONCE(ndev->mtu));
	dev_put(ndev);
	return ok;
}

static int mtu_fact(struct smc_lgr *lgr, void *arg)
{
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (!mtu_fits(lgr, link))
			smc_link_fail(link, SMC_LINK_MTU);
		smc_link_put(link);
	}
	return 0;
}

static int device_fact(struct smc_lgr *lgr, void *arg)
{
	const struct dev_fact *fact = arg;
	struct smc_link *link;
	u32 slot;

	for (slot = 0; slot < SMC_CORE_LINKS; slot++) {
		link = smc_core_link(lgr, slot);
		if (!link)
			continue;
		if (link->path.dev == fact->dev &&
		    (!fact->port || link->path.port == fact->port) &&
		    (fact->reason != SMC_LINK_GID_CHANGED || !gid_stands(lgr, link)))
			smc_link_fail(link, fact->reason);
		smc_link_put(link);
	}
	return 0;
}

static void port_active(struct smc_ib_device *dev, u8 port)
{
	smc_core_ports_changed();
}

static void port_inactive(struct smc_ib_device *dev, u8 port)
{
	struct dev_fact fact = { .dev = dev, .port = port, .reason = SMC_LINK_PORT_DOWN };

	smc_core_for_each(device_fact, &fact);
}

static void gid_changed(struct smc_ib_device *dev, u8 port)
{
	struct dev_fact fact = { .dev = dev, .port = port, .reason = SMC_LINK_GID_CHANGED };

	smc_core_for_each(device_fact, &fact);
	smc_core_ports_changed();
}

static void device_gone(struct smc_ib_device *dev)
{
	struct dev_fact fact = { .dev = dev, .reason = SMC_LINK_DEVICE_GONE };

	smc_core_for_each(device_fact, &fact);
}

static void mtu_changed(void)
{
	smc_core_for_each(mtu_fact, NULL);
}

const struct smc_ib_events smc_core_ib_events = {
	.port_active = port_active,
	.port_inactive = port_inactive,
	.gid_changed = gid_changed,
	.device_gone = device_gone,
	.mtu_changed = mtu_changed,
};
