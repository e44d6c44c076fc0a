// SPDX-License-Identifier: GPL-2.0-only
/* Netlink events about groups and links (base/events.c). */
#include <smc/base/events.h>
#include <smc/lgr/link.h>
#include <uapi/linux/smc_own.h>
#include "internal.h"

static const char *link_reason_text(enum smc_link_reason reason)
{
	return reason == SMC_LINK_OK ? NULL : smc_link_reason_str(reason);
}

static void lgr_send_event(struct smc_lgr *lgr, struct smc_notify_lgr *ev)
{
	ev->id = lgr->id;
	ev->role = lgr->role;
	ev->peer = lgr->peer.carrier;
	smc_notify_lgr(lgr->net, ev);
}

/**
 * smc_core_tell_group() - report that a group begins or ends
 * @lgr: group
 * @cmd: SMC_NETLINK_OWN_EV_LGR_*
 * @reason: why it ends; SMC_LINK_OK: no reason is reported
 *
 * Process context.
 */
void smc_core_tell_group(struct smc_lgr *lgr, u8 cmd, enum smc_link_reason reason)
{
	struct smc_notify_lgr ev = { .cmd = cmd, .reason = link_reason_text(reason) };

	if (smc_notify_wanted(SMC_NOTIFY_EVENTS))
		lgr_send_event(lgr, &ev);
}

static void link_send_event(struct smc_link *link, struct smc_notify_lgr *ev)
{
	char name[IB_DEVICE_NAME_MAX];

	smc_ib_name(link->path.dev, name);
	ev->ib_dev = name;
	ev->ib_port = link->path.port;
	ev->link = READ_ONCE(link->num);
	lgr_send_event(link->lgr, ev);
}

/**
 * smc_core_tell_link_up() - report that connections may use a link
 * @link: link
 *
 * Process context.
 */
void smc_core_tell_link_up(struct smc_link *link)
{
	struct smc_notify_lgr ev = { .cmd = SMC_NETLINK_OWN_EV_LINK_UP };

	/* not if it failed meanwhile: the loss has been reported */
	if (smc_notify_wanted(SMC_NOTIFY_EVENTS) && smc_link_usable(link))
		link_send_event(link, &ev);
}

/**
 * smc_core_tell_link_lost() - report that connections may no longer use a link
 * @link: link
 * @reason: why
 *
 * Process context.
 */
void smc_core_tell_link_lost(struct smc_link *link, enum smc_link_reason reason)
{
	struct smc_notify_lgr ev = {
		.cmd = SMC_NETLINK_OWN_EV_LINK_LOST, .reason = link_reason_text(reason),
	};

	/* not if it never was usable */
	if (smc_notify_wanted(SMC_NOTIFY_EVENTS) && READ_ONCE(link->since))
		link_send_event(link, &ev);
}

/**
 * smc_core_tell_failover() - report that connections moved from a link to others
 * @link: link, fenced
 * @conns: number of connections that moved
 *
 * Process context.
 */
void smc_core_tell_failover(struct smc_link *link, u32 conns)
{
	struct smc_notify_lgr ev = {
		.cmd = SMC_NETLINK_OWN_EV_FAILOVER, .conns = conns,
		.reason = link_reason_text(atomic_read(&link->reason)),
	};

	if (smc_notify_wanted(SMC_NOTIFY_EVENTS) && READ_ONCE(link->since))
		link_send_event(link, &ev);
}
