/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs that decide about the SMC option; see base/hs_ctrl.c. Kbuild says which builds have
 * none.
 */
#ifndef _SMC_BASE_HS_CTRL_H
#define _SMC_BASE_HS_CTRL_H

#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <smc/base/settings.h>

struct net;
struct request_sock;
struct sock;

/* More than an object's name can have: one that is too long matches none when it is cut. */
#define SMC_HS_CTRL_NAME_SIZE	17

/* True if an object decides in a namespace: it is asked for each connection that may use SMC. */
static inline bool smc_hs_ctrl_is_selected(struct net *net)
{
	return rcu_access_pointer(smc_settings_get(net)->hs_ctrl);
}

#ifdef SMC_HAVE_HS_CTRL

void smc_hs_ctrl_init(void);
void smc_hs_ctrl_inherit(struct net *net);
int smc_hs_ctrl_select(struct net *net, const char *name);
void smc_hs_ctrl_get_name(struct net *net, char name[SMC_HS_CTRL_NAME_SIZE]);
bool smc_hs_ctrl_wants_syn(struct sock *sk);
bool smc_hs_ctrl_wants_syn_ack(const struct sock *listener, struct request_sock *req);

#else

static inline void smc_hs_ctrl_init(void)
{
}

static inline void smc_hs_ctrl_inherit(struct net *net)
{
}

static inline int smc_hs_ctrl_select(struct net *net, const char *name)
{
	return *name ? -EOPNOTSUPP : 0;
}

static inline void smc_hs_ctrl_get_name(struct net *net, char name[SMC_HS_CTRL_NAME_SIZE])
{
	*name = '\0';
}

static inline bool smc_hs_ctrl_wants_syn(struct sock *sk)
{
	return true;
}

static inline bool smc_hs_ctrl_wants_syn_ack(const struct sock *listener, struct request_sock *req)
{
	return true;
}

#endif

#endif
