// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel log. A line names one object, with the number by which other tools know it, and one
 * reason. What happens for each connection or message is a counter or a trace point instead.
 *
 * Peers and users cause lines at will, so their number is limited, for each namespace on its own: a
 * container cannot use up the lines of others. Who has a user namespace makes as many network
 * namespaces as he likes, so those of containers also have a limit together. Lines that only an
 * administrator or a faulty device can cause are not limited here; they use pr_*().
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/printk.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/base/log.h>

/* A link group that ends with all its links has one line more than it has links. */
#define LOG_BURST	16
#define LOG_INTERVAL	(5 * HZ)
/* The namespaces of containers together. */
#define LOG_CONTAINERS	64

static struct smc_log_limit log_containers = {
	.rate = RATELIMIT_STATE_INIT(log_containers.rate, LOG_INTERVAL, LOG_CONTAINERS),
	.name = "smc: namespaces of containers",
};

static unsigned int log_net_id __read_mostly;

/**
 * smc_log_limit_init() - no line has been logged yet
 * @limit: of a namespace
 * @inum: number of the namespace
 */
void smc_log_limit_init(struct smc_log_limit *limit, unsigned int inum)
{
	ratelimit_state_init(&limit->rate, LOG_INTERVAL, LOG_BURST);
	snprintf(limit->name, sizeof(limit->name), "smc: namespace %u", inum);
}

/**
 * smc_log_limit_allows() - count a line, unless there were too many
 * @limit: of a namespace
 *
 * When lines are allowed again, the kernel logs how many are missing, after the name of @limit.
 *
 * Return: true if the line may be logged.
 */
bool smc_log_limit_allows(struct smc_log_limit *limit)
{
	return ___ratelimit(&limit->rate, limit->name);
}

/**
 * smc_log_allows() - count a line of a namespace, unless there were too many
 * @limit: of the namespace
 * @owner: user namespace that owns the namespace; another than the initial one is a container's
 *
 * Return: true if the line may be logged.
 */
bool smc_log_allows(struct smc_log_limit *limit, const struct user_namespace *owner)
{
	return smc_log_limit_allows(limit) &&
	       (owner == &init_user_ns || smc_log_limit_allows(&log_containers));
}

/**
 * smc_log_write() - log a line that a peer or a user has caused
 * @net: namespace of the object
 * @fmt: format: the object, a colon, the reason, a newline
 *
 * Any context.
 */
void smc_log_write(struct net *net, const char *fmt, ...)
{
	struct va_format line = { .fmt = fmt };
	va_list args;

	if (!smc_log_allows(net_generic(net, log_net_id), net->user_ns))
		return;
	va_start(args, fmt);
	line.va = &args;
	pr_info("%pV", &line);
	va_end(args);
}

static int __net_init log_net_init(struct net *net)
{
	smc_log_limit_init(net_generic(net, log_net_id), net->ns.inum);
	return 0;
}

static struct pernet_operations log_net_ops = {
	.init = log_net_init,
	.id = &log_net_id,
	.size = sizeof(struct smc_log_limit),
};

/**
 * smc_log_init() - set up the limits of all namespaces
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_log_init(void)
{
	return smc_fault_rc(LOG_PERNET, -ENOMEM, register_pernet_subsys(&log_net_ops));
}

/** smc_log_exit() - undo smc_log_init() */
void smc_log_exit(void)
{
	unregister_pernet_subsys(&log_net_ops);
}
