/* SPDX-License-Identifier: GPL-2.0-only */
/* The administrator's rules: which connections may be SMC at all. Rank 2. */
#ifndef _SMC_BASE_RULES_H
#define _SMC_BASE_RULES_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct sock;

/* Rules of one namespace. */
#define SMC_RULES_MAX	1024

/**
 * struct smc_rules_end - what a rule wants of one end of a connection
 * @addr: address, IPv4 as v4-mapped
 * @plen: bits of @addr that count, of 128; 0: any address, also of the other family
 * @port: first port
 * @last: last one
 */
struct smc_rules_end {
	struct in6_addr addr;
	u8 plen;
	u16 port;
	u16 last;
};

/**
 * struct smc_rules_rule - one rule
 * @num: its place: the rule with the lowest number that matches decides
 * @deny: connections stay TCP; else they may be SMC
 * @local: our end
 * @remote: the peer's
 */
struct smc_rules_rule {
	u32 num;
	bool deny;
	struct smc_rules_end local;
	struct smc_rules_end remote;
};

/**
 * struct smc_rules_point - what is known of one end of a connection
 * @addr: address, IPv4 as v4-mapped; unspecified: not known yet
 * @port: port, 0: not known yet
 */
struct smc_rules_point {
	struct in6_addr addr;
	u16 port;
};

/**
 * struct smc_rules_path - what is known of a connection
 * @local: our end
 * @remote: the peer's
 */
struct smc_rules_path {
	struct smc_rules_point local;
	struct smc_rules_point remote;
};

int smc_rules_init(void);
void smc_rules_exit(void);

/* What a TCP socket knows: bound, listening or connected. Any context. */
void smc_rules_path(const struct sock *sk, struct smc_rules_path *path);
/*
 * True: the connection must not be SMC, whatever is not known of it yet. @count: this is
 * the decision, to be counted; asked once for a connection, with all of its path. Any context.
 */
bool smc_rules_deny(struct net *net, const struct smc_rules_path *path, bool count);

/* Administrator. @num 0: behind all others. -EINVAL, -EEXIST, -ENOSPC, -ENOMEM, -ENOENT. */
int smc_rules_add(struct net *net, const struct smc_rules_rule *rule);
int smc_rules_del(struct net *net, u32 num);
void smc_rules_flush(struct net *net);
/* The first rule whose number is @from or above; false: there is none. */
bool smc_rules_get(struct net *net, u32 from, struct smc_rules_rule *rule, u64 *hits);

#endif
