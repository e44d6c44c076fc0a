/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules of the administrator: which connections may use SMC. */
#ifndef _SMC_BASE_RULES_H
#define _SMC_BASE_RULES_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct sock;

/* Maximum number of rules in a namespace. */
#define SMC_RULES_MAX	1024

/**
 * struct smc_rule_end - Condition of a rule for one end of a connection
 * @addr: address, IPv4 as v4-mapped
 * @plen: significant bits of @addr, of 128; 0: any address of any family
 * @port: first port
 * @last: last port
 */
struct smc_rule_end {
	struct in6_addr addr;
	u8 plen;
	u16 port;
	u16 last;
};

/**
 * struct smc_rule - One rule
 * @num: position: the matching rule with the lowest number decides
 * @deny: connections stay TCP; otherwise they may use SMC
 * @local: our end
 * @remote: the peer's end
 */
struct smc_rule {
	u32 num;
	bool deny;
	struct smc_rule_end local;
	struct smc_rule_end remote;
};

/**
 * struct smc_rules_endpoint - Known values of one end of a connection
 * @addr: address, IPv4 as v4-mapped; unspecified: not known yet
 * @port: port, 0: not known yet
 */
struct smc_rules_endpoint {
	struct in6_addr addr;
	u16 port;
};

/**
 * struct smc_rules_path - Known values of a connection
 * @local: our end
 * @remote: the peer's end
 */
struct smc_rules_path {
	struct smc_rules_endpoint local;
	struct smc_rules_endpoint remote;
};

int smc_rules_init(void);
void smc_rules_exit(void);

void smc_rules_path(const struct sock *sk, struct smc_rules_path *path);
bool smc_rules_check_deny(struct net *net, const struct smc_rules_path *path, bool count);

int smc_rules_add(struct net *net, const struct smc_rule *rule);
int smc_rules_del(struct net *net, u32 num);
void smc_rules_flush(struct net *net);
bool smc_rules_get(struct net *net, u32 from, struct smc_rule *rule, u64 *hits);

#endif
