// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault injection in debug builds (SMC_FAULT=y): each call that may fail is a named fault site.
 *
 * Sites are counted, listed in /proc/smc_faults, and armed by the module parameter "fault", also at
 * load time.
 */
#define pr_fmt(fmt) "smc: " fmt

#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <smc/base/fault.h>

#define PROC_NAME	"smc_faults"

/**
 * struct fault_site_state - One place where a call can be made to fail
 * @name: as in enum smc_fault_site
 * @when: what a test has to do to reach the site: load the module, make a namespace, plug in a
 *	device, change settings as administrator, run connections, use a peer with a silent RNIC,
 *	build with our own TCP option, lose messages on the way to the peer
 * @hits: number of arrivals
 * @fired: number of forced failures
 * @due: arrivals until it fires; 0: not armed
 * @stays: fires on each arrival from then on
 */
struct fault_site_state {
	const char *name;
	const char *when;
	atomic_t hits;
	atomic_t fired;
	atomic_t due;
	bool stays;
};

/* In the order of the enum, checked by scripts/check-faults.py. */
#define SITE(id, is)	{ .name = #id, .when = is }

static bool fault_report;	/* log the table when the module is unloaded */

static struct fault_site_state fault_sites[] = {
	SITE(STATS_PERNET, "load"),
	SITE(LOG_PERNET, "load"),
	SITE(NOTIFY_PERNET, "load"),
	SITE(PNETID_PERNET, "load"),
	SITE(PNETID_NOTIFIER, "load"),
	SITE(POLICY_PERNET, "load"),
	SITE(NEGCACHE_PERNET, "load"),
	SITE(AUTOSMC_PERNET, "load"),
	SITE(UPGRADABLE_PERNET, "load"),
	SITE(RULES_PERNET, "load"),
	SITE(LIMIT_PERNET, "load"),
	SITE(SYSCTL_PERNET, "load"),
	SITE(HOST_TABLE, "load"),
	SITE(CORE_PERNET, "load"),
	SITE(ORPHAN_WQ, "load"),
	SITE(ORPHAN_PERNET, "load"),
	SITE(CONN_WQ, "load"),
	SITE(CORE_WQ, "load"),
	SITE(HS_WQ, "load"),
	SITE(HS_CLIENT_WQ, "load"),
	SITE(HS_LOOK_WQ, "load"),
	SITE(STREAM_WQ, "load"),
	SITE(UPGRADE_WQ, "load"),
	SITE(ACCEPT_WQ, "load"),
	SITE(IB_NOTIFIER, "load"),
	SITE(IB_CLIENT, "load"),
	SITE(GENL_FAMILY, "load"),
	SITE(GENL_PNETID, "load"),
	SITE(PROTO4, "load"),
	SITE(PROTO6, "load"),
	SITE(SOCK_PROC, "load"),
	SITE(CLCSOCK_LEARN, "load"),
	SITE(SOCK_FAMILY, "load"),
	SITE(INET_PROTO4, "load"),
	SITE(INET_PROTO6, "load"),
	SITE(INET_PROTOSW6, "load"),

	SITE(STATS_PERCPU, "netns"),
	SITE(STATS_PROC, "netns"),
	SITE(NEGCACHE_TABLE, "netns"),
	SITE(NEGCACHE_PROC, "netns"),
	SITE(AUTOSMC_PROC, "netns"),
	SITE(SYSCTL_TABLE, "netns"),
	SITE(SYSCTL_NET, "netns"),

	SITE(IB_PORT, "device"),
	SITE(IB_DEVICE, "device"),
	SITE(IB_PORT_STATE, "device"),
	SITE(IB_FIRST_GID, "device"),
	SITE(IB_FIRST_MAC, "device"),

	SITE(RULE, "admin"),
	SITE(RULES_COPY, "admin"),
	SITE(PNETID_ENTRY, "admin"),
	SITE(PNETID_ANSWER, "admin"),
	SITE(NOTIFY_MSG, "admin"),
	SITE(AUTOSMC_TABLE, "admin"),

	SITE(SOCK, "run"),
	SITE(CLCSOCK, "run"),
	SITE(LISTENER, "run"),
	SITE(CLCSOCK_CHILD, "run"),
	SITE(CLCSOCK_ACCEPT, "run"),

	SITE(HS_CTX, "run"),
	SITE(NEGCACHE_ENTRY, "silence"),
	SITE(NEGCACHE_INSERT, "silence"),
	SITE(CLC_SEND, "run"),
	SITE(CLC_RECV, "run"),
	SITE(IB_GID, "run"),
	SITE(IB_GID_MAC, "run"),
	SITE(PNET_GID, "run"),
	SITE(PNET_RESOLVE, "run"),

	SITE(CONTACT, "run"),
	SITE(LGR, "run"),
	SITE(LGR_RTOKENS, "run"),
	SITE(HOST, "run"),
	SITE(HOST_INSERT, "run"),
	SITE(LGR_WQ, "run"),
	SITE(LGR_LLC, "run"),
	SITE(CONN, "run"),
	SITE(CONN_ENTRY, "run"),
	SITE(CONN_INDEX, "run"),
	SITE(CONN_STOCK, "run"),
	SITE(ORPHAN, "run"),

	SITE(LINK, "run"),
	SITE(QP, "run"),
	SITE(QP_PD, "run"),
	SITE(QP_CQ, "run"),
	SITE(QP_CREATE, "run"),
	SITE(QP_INIT, "run"),
	SITE(QP_MEM, "run"),
	SITE(QP_SLOTS, "run"),
	SITE(QP_RECVS, "run"),
	SITE(QP_LONG_BUF, "run"),
	SITE(MEM, "run"),
	SITE(MEM_MAP, "run"),
	SITE(QP_GID, "run"),
	SITE(QP_RTR, "run"),
	SITE(QP_RTS, "run"),
	SITE(MR_CQ, "run"),
	SITE(MR_QP, "run"),
	SITE(QP_ERR, "run"),
	SITE(QP_ERR_AGAIN, "run"),
	SITE(QP_MARK_SEND, "run"),
	SITE(QP_MARK_RECV, "run"),
	SITE(POST_SEND, "run"),
	SITE(POST_REG, "run"),
	SITE(POST_REG_FIRST, "run"),
	SITE(POST_PROBE, "lose"),
	SITE(POST_RECV, "run"),
	SITE(WC_SEND, "run"),
	SITE(WC_REG, "run"),
	SITE(WC_RECV, "run"),

	SITE(HS_KEYS, "run"),
	SITE(REGION, "run"),
	SITE(REGION_LIMIT, "run"),
	SITE(REGION_MEM, "run"),
	SITE(REGION_PIECE, "run"),
	SITE(MAPPING, "run"),
	SITE(MAPPING_DMA, "run"),
	SITE(SG_TABLE, "run"),
	SITE(DMA_MAP, "run"),
	SITE(MR, "run"),
	SITE(MR_MAP, "run"),

	SITE(LLC_EVENT, "run"),
	SITE(LLC_SENT, "run"),
	SITE(LLC_RTOKENS, "run"),

	SITE(SPLICE_PAGE, "run"),
	SITE(ZC_PACKET, "load"),
	SITE(ZC_UARG, "run"),
	SITE(ZC_RUN, "run"),
	SITE(ZC_PAGES, "run"),
	SITE(ZC_MAP, "run"),

	SITE(OPTION_PERNET, "option"),
	SITE(OPTION_HOOKS, "option"),
	SITE(OPTION_MARK, "option"),
	SITE(OPTION_ROOM, "option"),

	SITE(LOSE_CLC, "lose"),
	SITE(LOSE_LLC, "lose"),
	SITE(LOSE_CDC, "lose"),
	SITE(LOSE_REG, "lose"),
	SITE(LOSE_RECV, "lose"),
};

static_assert(ARRAY_SIZE(fault_sites) == SMC_FAULT_SITES);

/**
 * smc_fault_hit() - Count an arrival at a site
 * @id: site
 *
 * Any context.
 *
 * Return: true if the call has to fail.
 */
bool smc_fault_hit(enum smc_fault_site id)
{
	struct fault_site_state *s = &fault_sites[id];
	int due;

	atomic_inc(&s->hits);
	if (!atomic_read(&s->due))
		return false;
	due = atomic_dec_if_positive(&s->due);
	if (due)
		return false;
	if (READ_ONCE(s->stays))
		atomic_set(&s->due, 1);
	/* Log it as well: the counts go with the module. */
	if (atomic_inc_return(&s->fired) == 1)
		pr_info("fault: %s\n", s->name);
	return true;
}

static void fault_disarm_all(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fault_sites); i++) {
		WRITE_ONCE(fault_sites[i].stays, false);
		atomic_set(&fault_sites[i].due, 0);
		atomic_set(&fault_sites[i].hits, 0);
		atomic_set(&fault_sites[i].fired, 0);
	}
}

/* "SITE:N" fires at the Nth arrival from now on, "SITE:N+" at all later ones, too. */
static int fault_site_arm(char *word)
{
	char *nth = strchr(word, ':');
	bool stays = false;
	unsigned int i, n;
	size_t len;

	if (!nth)
		return -EINVAL;
	*nth++ = '\0';
	len = strlen(nth);
	if (len && nth[len - 1] == '+') {
		stays = true;
		nth[len - 1] = '\0';
	}
	if (kstrtouint(nth, 10, &n) || !n || n > INT_MAX)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(fault_sites); i++) {
		if (strcmp(fault_sites[i].name, word))
			continue;
		WRITE_ONCE(fault_sites[i].stays, stays);
		atomic_set(&fault_sites[i].due, n);
		return 0;
	}
	return -ENOENT;
}

/*
 * Words separated by blanks or commas. "none" disarms all sites and clears the counts; "report"
 * logs the table at unload, with the sites that unloading reached.
 */
static int fault_param_set(const char *val, const struct kernel_param *kp)
{
	char *words, *rest, *word;
	int rc = 0;

	words = kstrdup(val, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	rest = strim(words);
	while (!rc && (word = strsep(&rest, ", "))) {
		if (!strcmp(word, "none"))
			fault_disarm_all();
		else if (!strcmp(word, "report"))
			fault_report = true;
		else if (*word)
			rc = fault_site_arm(word);
	}
	kfree(words);
	return rc;
}

static const struct kernel_param_ops fault_param_ops = {
	.set = fault_param_set,
};

module_param_cb(fault, &fault_param_ops, NULL, 0200);
MODULE_PARM_DESC(fault, "make calls fail: SITE:N or SITE:N+, see /proc/" PROC_NAME);

static int fault_sites_show(struct seq_file *seq, void *v)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fault_sites); i++)
		seq_printf(seq, "%s %s %d %d\n", fault_sites[i].name, fault_sites[i].when,
			   atomic_read(&fault_sites[i].hits), atomic_read(&fault_sites[i].fired));
	return 0;
}

/**
 * smc_fault_init() - Create /proc/smc_faults: name, when, hits, fired
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_fault_init(void)
{
	return proc_create_single(PROC_NAME, 0444, NULL, fault_sites_show) ? 0 : -ENOMEM;
}

/**
 * smc_fault_exit() - Undo smc_fault_init()
 */
void smc_fault_exit(void)
{
	unsigned int i;

	for (i = 0; fault_report && i < ARRAY_SIZE(fault_sites); i++)
		pr_info("fault site: %s %s %d %d\n", fault_sites[i].name, fault_sites[i].when,
			atomic_read(&fault_sites[i].hits), atomic_read(&fault_sites[i].fired));
	remove_proc_entry(PROC_NAME, NULL);
}
