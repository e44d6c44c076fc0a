// SPDX-License-Identifier: GPL-2.0-only
/* What device events mean for the links of groups: port state, GIDs, removal, MTU. */
#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <smc/lgr/lgr.h>
#include <smc/rdma/ib.h>

struct device_event {
	const struct smc_ib_device *dev;
	u8 port;			/* 0: all ports */
	enum smc_link_reason reason;
};

/* Return true if the GID of @link is still what it was when its queue pair was created. */
static bool link_gid_valid(const struct smc_lgr *lgr, const struct smc_link *link)
{
	const struct smc_path *path = &link->path;
	struct net_device *ndev;
	bool ok;

	ndev = dev_get_by_index(lgr->net, path->gid.ifindex);
	if (!ndev)
		return false;
	ok = smc_ib_gid_unchanged(path->dev, path->port, ndev, &path->gid);
	dev_put(ndev);
	return ok;
}

/*
 * Return true if the netdev's MTU still covers the path MTU of @link. Otherwise the first large
 * transfer would fail by its retries, while small messages still pass.
 */
static bool link_mtu_fits(const struct smc_lgr *lgr, const struct smc_link *link)
{
	struct net_device *ndev;
	bool ok;

	ndev = dev_get_by_index(lgr->net, link->path.gid.ifindex);
	if (!ndev)
		return true;	/* the GID change reports that */
	ok = link->mtu <= iboe_get_mtu(READ_ONCE(ndev->mtu));
	dev_put(ndev);
	return ok;
}

static int lgr_check_mtu(struct smc_lgr *lgr, void *arg)
{
	struct smc_link *link;

	smc_lgr_for_each_link(lgr, link)
		if (!link_mtu_fits(lgr, link))
			smc_link_fail(link, SMC_LINK_MTU);
	return 0;
}

static int lgr_check_device(struct smc_lgr *lgr, void *arg)
{
	const struct device_event *event = arg;
	struct smc_link *link;

	smc_lgr_for_each_link(lgr, link) {
		if (link->path.dev == event->dev &&
		    (!event->port || link->path.port == event->port) &&
		    (event->reason != SMC_LINK_GID_CHANGED || !link_gid_valid(lgr, link)))
			smc_link_fail(link, event->reason);
	}
	return 0;
}

static void lgr_handle_port_active(struct smc_ib_device *dev, u8 port)
{
	smc_lgr_notify_ports();
}

static void lgr_handle_port_inactive(struct smc_ib_device *dev, u8 port)
{
	struct device_event event = { .dev = dev, .port = port, .reason = SMC_LINK_PORT_DOWN };

	smc_lgr_for_each(lgr_check_device, &event);
}

static void lgr_handle_gid_changed(struct smc_ib_device *dev, u8 port)
{
	struct device_event event = { .dev = dev, .port = port, .reason = SMC_LINK_GID_CHANGED };

	smc_lgr_for_each(lgr_check_device, &event);
	smc_lgr_notify_ports();
}

static void lgr_handle_device_gone(struct smc_ib_device *dev)
{
	struct device_event event = { .dev = dev, .reason = SMC_LINK_DEVICE_GONE };

	smc_lgr_for_each(lgr_check_device, &event);
}

static void lgr_handle_mtu_changed(void)
{
	smc_lgr_for_each(lgr_check_mtu, NULL);
}

const struct smc_ib_events smc_lgr_ib_events = {
	.port_active = lgr_handle_port_active,
	.port_inactive = lgr_handle_port_inactive,
	.gid_changed = lgr_handle_gid_changed,
	.device_gone = lgr_handle_device_gone,
	.mtu_changed = lgr_handle_mtu_changed,
};
