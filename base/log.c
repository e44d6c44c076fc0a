// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel log. A line names one object, with the number by which other tools know it, and one
 * reason. What happens for each connection or message is a counter or a trace point instead.
 *
 * Peers and users cause lines at will, so their number is limited, for each namespace on its own: a
 * container cannot use up the lines of others. Lines that only an administrator or a faulty device
 * can cause are not limited here; they use pr_*().
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/base/log.h>

/* A link group that ends with all its links has one line more than it has links. */
#define LOG_BURST	16
#define LOG_INTERVAL	(5 * HZ)

/**
 * struct log_net - lines of one namespace
 * @lock: protects @rate; leaf, BH off
 * @rate: how many there were
 */
struct log_net {
	spinlock_t lock; /* rate */
	struct smc_log_rate rate;
};

static unsigned int log_net_id __read_mostly;

/**
 * smc_log_rate_allows() - count a line, unless there were too many
 * @rate: the counts; all zero at first
 * @now: jiffies
 * @left_out: result, only if allowed: lines left out before this one
 *
 * Return: true if the line may be logged.
 */
bool smc_log_rate_allows(struct smc_log_rate *rate, unsigned long now, unsigned int *left_out)
{
	/* also after more than half the range of jiffies */
	if (!rate->n || now - rate->since >= LOG_INTERVAL) {
		rate->since = now;
		rate->n = 0;
	}
	if (rate->n == LOG_BURST) {
		rate->left_out++;
		return false;
	}
	rate->n++;
	*left_out = rate->left_out;
	rate->left_out = 0;
	return true;
}

/**
 * smc_log_write() - log a line that a peer or a user has caused
 * @net: namespace of the object
 * @fmt: format: the object, a colon, the reason, a newline
 *
 * Any context but hard interrupt.
 */
void smc_log_write(struct net *net, const char *fmt, ...)
{
	struct log_net *ln = net_generic(net, log_net_id);
	struct va_format line = { .fmt = fmt };
	unsigned int left_out;
	va_list args;
	bool allowed;

	spin_lock_bh(&ln->lock);
	allowed = smc_log_rate_allows(&ln->rate, jiffies, &left_out);
	spin_unlock_bh(&ln->lock);
	if (!allowed)
		return;
	if (left_out)
		pr_info("namespace %u: %u lines left out\n", net->ns.inum, left_out);
	va_start(args, fmt);
	line.va = &args;
	pr_info("%pV", &line);
	va_end(args);
}

static int __net_init log_net_init(struct net *net)
{
	struct log_net *ln = net_generic(net, log_net_id);

	spin_lock_init(&ln->lock);
	return 0;
}

static struct pernet_operations log_net_ops = {
	.init = log_net_init,
	.id = &log_net_id,
	.size = sizeof(struct log_net),
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
