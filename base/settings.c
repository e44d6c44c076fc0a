// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings of a namespace: user EIDs (UEIDs) and the values of the sysctls.
 *
 * Written by netlink and sysctl, read by the handshake and by link groups.
 */
#include <linux/ctype.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <smc/base/fault.h>
#include <smc/base/settings.h>
#include <smc/proto/clc_msg.h>

static unsigned int settings_net_id __read_mostly;

/*
 * Active from the start, so that two native hosts need no configuration. Removed when the
 * administrator adds a UEID or flushes the table.
 */
static const char settings_default_ueid[SMC_SETTINGS_UEID_LEN + 1] =
	"SMCV2-DEFAULT-UEID              ";

/* Sysctl netns_inherit: one value for all namespaces, which only the initial one can change. */
u8 smc_settings_inherit __read_mostly;

/**
 * smc_settings_is_heir() - Check whether a new namespace begins as the initial one is
 * @net: namespace that is set up
 *
 * Return: false if it begins with the defaults, as the namespaces do that the module finds when it
 * is loaded.
 */
bool smc_settings_is_heir(const struct net *net)
{
	return READ_ONCE(smc_settings_inherit) && !net_eq(net, &init_net);
}

/**
 * smc_settings_get() - Return the settings of a namespace
 * @net: namespace
 *
 * Any context. Most members are read and written without a lock.
 *
 * Return: never NULL while @net lives.
 */
struct smc_settings *smc_settings_get(struct net *net)
{
	return net_generic(net, settings_net_id);
}

/**
 * smc_settings_get_ueids() - Copy the active UEIDs
 * @net: namespace
 * @out: filled in; the built-in default is included if active
 *
 * Any context but hardirq.
 *
 * Return: number of valid entries in @out.
 */
u32 smc_settings_get_ueids(struct net *net, u8 out[SMC_SETTINGS_UEIDS_MAX][SMC_SETTINGS_UEID_LEN])
{
	struct smc_settings *sn = smc_settings_get(net);
	u32 n;

	spin_lock_bh(&sn->lock);
	if (sn->ueid_default) {
		memcpy(out[0], settings_default_ueid, SMC_SETTINGS_UEID_LEN);
		n = 1;
	} else {
		n = sn->nueids;
		memcpy(out, sn->ueids, n * SMC_SETTINGS_UEID_LEN);
	}
	spin_unlock_bh(&sn->lock);
	return n;
}

/**
 * smc_settings_match_ueid() - Choose a UEID that both sides have
 * @net: namespace
 * @peer: the peer's list
 * @n: entries in @peer
 * @out: set to the first entry of @peer that is active here
 *
 * Return: false if there is none.
 */
bool smc_settings_match_ueid(struct net *net, const u8 (*peer)[SMC_SETTINGS_UEID_LEN], u32 n,
			     u8 out[SMC_SETTINGS_UEID_LEN])
{
	u8 own[SMC_SETTINGS_UEIDS_MAX][SMC_SETTINGS_UEID_LEN];
	u32 nown = smc_settings_get_ueids(net, own);
	u32 i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < nown; j++) {
			if (memcmp(peer[i], own[j], SMC_SETTINGS_UEID_LEN))
				continue;
			memcpy(out, own[j], SMC_SETTINGS_UEID_LEN);
			return true;
		}
	}
	return false;
}

/* Not isupper(), which accepts letters beyond ASCII. */
static bool ueid_char_is_alnum(u8 c)
{
	return (c >= 'A' && c <= 'Z') || isdigit(c);
}

/* A-Z 0-9 . - with an alphanumeric first character and no "..", then blanks only. */
static bool ueid_is_valid(const u8 *ueid)
{
	bool blanks = false;
	int i;

	if (!ueid_char_is_alnum(ueid[0]))
		return false;
	for (i = 0; i < SMC_SETTINGS_UEID_LEN; i++) {
		if (ueid[i] == ' ') {
			blanks = true;
			continue;
		}
		if (blanks)
			return false;
		if (!ueid_char_is_alnum(ueid[i]) && ueid[i] != '.' && ueid[i] != '-')
			return false;
		if (i && ueid[i] == '.' && ueid[i - 1] == '.')
			return false;
	}
	return true;
}

static int ueid_find(const struct smc_settings *sn, const u8 *ueid)
{
	u32 i;

	lockdep_assert_held(&sn->lock);
	for (i = 0; i < sn->nueids; i++)
		if (!memcmp(sn->ueids[i], ueid, SMC_SETTINGS_UEID_LEN))
			return i;
	return -ENOENT;
}

/**
 * smc_settings_add_ueid() - Add a UEID
 * @net: namespace
 * @ueid: 32 bytes, blank padded
 *
 * The first added UEID replaces the built-in default.
 *
 * Return: 0, -EINVAL for bad syntax, -EEXIST, -ERANGE if the table is full.
 */
int smc_settings_add_ueid(struct net *net, const u8 *ueid)
{
	struct smc_settings *sn = smc_settings_get(net);
	int rc = 0;

	if (!ueid_is_valid(ueid))
		return -EINVAL;
	spin_lock_bh(&sn->lock);
	if (ueid_find(sn, ueid) >= 0) {
		rc = -EEXIST;
	} else if (sn->nueids == SMC_SETTINGS_UEIDS_MAX) {
		rc = -ERANGE;
	} else {
		memcpy(sn->ueids[sn->nueids++], ueid, SMC_SETTINGS_UEID_LEN);
		sn->ueid_default = false;
	}
	spin_unlock_bh(&sn->lock);
	return rc;
}

/**
 * smc_settings_del_ueid() - Delete a UEID
 * @net: namespace
 * @ueid: 32 bytes, blank padded; may be the built-in default
 *
 * Return: 0 or -ENOENT.
 */
int smc_settings_del_ueid(struct net *net, const u8 *ueid)
{
	struct smc_settings *sn = smc_settings_get(net);
	int rc = 0;
	int i;

	spin_lock_bh(&sn->lock);
	i = ueid_find(sn, ueid);
	if (i >= 0) {
		sn->nueids--;
		memmove(sn->ueids[i], sn->ueids[i + 1],
			(sn->nueids - i) * SMC_SETTINGS_UEID_LEN);
	} else if (sn->ueid_default &&
		   !memcmp(ueid, settings_default_ueid, SMC_SETTINGS_UEID_LEN)) {
		sn->ueid_default = false;
	} else {
		rc = -ENOENT;
	}
	spin_unlock_bh(&sn->lock);
	return rc;
}

/**
 * smc_settings_flush_ueids() - Delete all UEIDs, the built-in default included
 * @net: namespace
 */
void smc_settings_flush_ueids(struct net *net)
{
	struct smc_settings *sn = smc_settings_get(net);

	spin_lock_bh(&sn->lock);
	sn->nueids = 0;
	sn->ueid_default = false;
	spin_unlock_bh(&sn->lock);
}

/* Copy the settings of the initial namespace, then begin anew with all that is no setting. */
static void settings_inherit(struct smc_settings *sn)
{
	struct smc_settings *first = smc_settings_get(&init_net);

	spin_lock_bh(&first->lock);
	*sn = *first;
	spin_unlock_bh(&first->lock);
	spin_lock_init(&sn->lock);
	atomic64_set(&sn->rmb_bytes, 0);
	atomic64_set(&sn->snd_bytes, 0);
	sn->mem_bytes = 0;
	RCU_INIT_POINTER(sn->hs_ctrl, NULL);
	sn->sysctl = NULL;
	sn->sysctl_table = NULL;
}

static int __net_init settings_net_init(struct net *net)
{
	struct smc_settings *sn = smc_settings_get(net);

	if (smc_settings_is_heir(net)) {
		settings_inherit(sn);
		/* only the administrator of the machine turns it on */
		if (net->user_ns != &init_user_ns)
			sn->upgrade_bytes = 0;
		return 0;
	}
	spin_lock_init(&sn->lock);
	sn->ueid_default = true;
	sn->wmem = 65536;
	sn->rmem = 65536;
	sn->enabled = 1;
	sn->autocorking = 65536;
	sn->testlink_time = 30;
	sn->testlink_timeout = SMC_SETTINGS_TESTLINK_TIMEOUT;
	sn->clcsock_keepalive = SMC_SETTINGS_CLCSOCK_KEEPALIVE;
	sn->stall_time = SMC_SETTINGS_STALL_TIME;
	sn->region_idle = SMC_SETTINGS_REGION_IDLE;
	sn->max_send_wr = SMC_SETTINGS_SEND_WR;
	sn->max_recv_wr = SMC_SETTINGS_RECV_WR;
	sn->max_links = SMC_CLC_LINKS_MAX;
	sn->write_imm = 1;
	sn->max_conns = SMC_CLC_CONNS_MAX;
	sn->send_hostname = 1;
	sn->host_groups = SMC_SETTINGS_HOST_GROUPS;
	sn->hs_max = SMC_SETTINGS_HS_MAX;
	sn->autosmc_time = SMC_SETTINGS_AUTOSMC_TIME;
	sn->idle_server = 600;
	sn->idle_client = 610;
	return 0;
}

static struct pernet_operations settings_net_ops = {
	.init = settings_net_init,
	.id = &settings_net_id,
	.size = sizeof(struct smc_settings),
};

/**
 * smc_settings_init() - Set up the settings of all namespaces
 *
 * Return: 0 or -ENOMEM.
 */
int __init smc_settings_init(void)
{
	return smc_fault_rc(POLICY_PERNET, -ENOMEM, register_pernet_subsys(&settings_net_ops));
}

/**
 * smc_settings_exit() - Undo smc_settings_init()
 */
void smc_settings_exit(void)
{
	unregister_pernet_subsys(&settings_net_ops);
}
