/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Port and address rules of smc_run: which connections may use SMC.
 */
#ifndef SMC_TOOLS_FILTER_H
#define SMC_TOOLS_FILTER_H

#include "smc_tools.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define SMC_FILTER_MAX_RULES 64

/* Call for which an address is checked */
enum smc_filter_op {
	SMC_FILTER_CONNECT = 1,	/* connect(): address of the peer */
	SMC_FILTER_LISTEN = 2,	/* bind() or listen(): local address */
};

/**
 * struct smc_filter_rule - one -x or -i option
 * @include: true: a match means SMC; false: a match means TCP
 * @has_port: the port must be within @port_lo..@port_hi
 * @has_addr: the first @plen bits of the address must equal those of @addr
 * @ops: mask of enum smc_filter_op to which the rule applies
 * @family: family of @addr, AF_INET or AF_INET6; v4-mapped prefixes are AF_INET
 * @plen: prefix length in bits
 * @port_lo: first port
 * @port_hi: last port
 * @addr: network byte order, 4 or 16 bytes used
 */
struct smc_filter_rule {
	bool include;
	bool has_port;
	bool has_addr;
	unsigned int ops;
	sa_family_t family;
	unsigned int plen;
	__u16 port_lo;
	__u16 port_hi;
	__u8 addr[16];
};

/**
 * struct smc_filter - rules, in the order of the command line
 * @num: number of rules; with 0 every connection uses SMC
 * @rules: rules; the first one that matches decides
 */
struct smc_filter {
	size_t num;
	struct smc_filter_rule rules[SMC_FILTER_MAX_RULES];
};

int smc_filter_parse(struct smc_filter *f, const char *text, char *err, size_t errlen);
bool smc_filter_wants_smc(const struct smc_filter *f, enum smc_filter_op op,
			  const struct sockaddr *sa, socklen_t len);
__u16 smc_filter_port(const struct sockaddr *sa, socklen_t len);

#endif /* SMC_TOOLS_FILTER_H */
