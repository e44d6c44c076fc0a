// SPDX-License-Identifier: GPL-2.0-only
/* What becomes of groups and links, for who listens (base/events.c). */
#include <smc/base/events.h>
#include <smc/lgr/link.h>
#include <uapi/linux/smc_own.h>
#include "internal.h"

static const char *text_of(enum smc_link_reason reason)
{
	return reason == SMC_LINK_OK ? NULL : smc_link_reason_str(reason);
}

static void tell(struct smc_lgr *lgr, struct smc_notify_lgr *ev)
{
	ev->id = lgr->id;
	ev->role = lgr->role;
	ev->peer = lgr->peer.carrier;
	smc_notify_lgr(lgr->net, ev);
}

/**
 * smc_core_tell_group() - a group begins or ends
 * @lgr: group
 * @cmd: SMC_NETLINK_OWN_EV_LGR_*
 * @reason: why; SMC_LINK_OK: nothing has happened
 *
 * Process context.
 */
void smc_core_tell_group(struct smc_lgr *lgr, u8 cmd, enum smc_link_reason reason)
{
	struct smc_notify_lgr ev = { .cmd = cmd, .reason = text_of(reason) };

	if (smc_notify_wanted(SMC_NOTIFY_EVENTS))
		tell(lgr, &ev);
}

static void tell_link(struct smc_link *link, struct smc_notify_lgr *ev)
{
	char name[IB_DEVICE_NAME_MAX];

	smc_ib_name(link->path.dev, name);
	ev->ib_dev = name;
	ev->ib_port = link->path.port;
	ev->link = READ_ONCE(link->num);
	tell(link->lgr, ev);
}

/**
 * smc_core_tell_link_up() - connections may use a link
 * @link: link
 *
 * Process context.
 */
void smc_core_tell_link_up(struct smc_link *link)
{
	struct smc_notify_lgr ev = { .cmd = SMC_NETLINK_OWN_EV_LINK_UP };

	/* one that has failed meanwhile was told to be lost */
	if (smc_notify_wanted(SMC_NOTIFY_EVENTS) && smc_link_usable(link))
		tell_link(link, &ev);
}

/**
 * smc_core_tell_link_lost() - they may not any more
 * @link: link
 * @reason: why
 *
 * Process context.
 */
void smc_core_tell_link_lost(struct smc_link *link, enum smc_link_reason reason)
{
	struct smc_notify_lgr ev = {
		.cmd = SMC_NETLINK_OWN_EV_LINK_LOST, .reason = text_of(reason),
	};

	/* one that never came up is nobody's loss */
	if (smc_notify_wanted(SMC_NOTIFY_EVENTS) && READ_ONCE(link->since))
		tell_link(link, &ev);
}

/**
 * smc_core_tell_failover() - connections have left a link
 * @link: link, fenced
 * @conns: how many go on over others
 *
 * Process context.
 */
void smc_core_tell_failover(struct smc_link *link, u32 conns)
{
	struct smc_notify_lgr ev = {
		.cmd = SMC_NETLINK_OWN_EV_FAILOVER, .conns = conns,
		.reason = text_of(atomic_read(&link->reason)),
	};

	if (smc_notify_wanted(SMC_NOTIFY_EVENTS) && READ_ONCE(link->since))
		tell_link(link, &ev);
}
