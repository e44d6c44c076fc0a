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

/* What the program is about to do with the address at hand */
enum smc_filter_op {
	SMC_FILTER_CONNECT = 1,
	SMC_FILTER_LISTEN = 2,
};

/**
 * struct smc_filter_rule - one -x or -i option
 * @include: true: a match means SMC; false: a match means TCP
 * @has_port: @port_lo..@port_hi must contain the port
 * @has_addr: the first @plen bits of @addr must equal the address
 * @ops: set of enum smc_filter_op for which the rule is looked at
 * @family: AF_INET or AF_INET6 of @addr, v4-mapped prefixes count as AF_INET
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
 * struct smc_filter - the rules in the order of the command line
 * @num: number of rules in use; 0 means that everything uses SMC
 * @rules: first match decides
 */
struct smc_filter {
	size_t num;
	struct smc_filter_rule rules[SMC_FILTER_MAX_RULES];
};

/**
 * smc_filter_parse - read the text form of a filter
 * @f: result, undefined after an error
 * @text: rules separated by ';', each a '+' (include) or '-' (exclude) and conditions
 *	separated by ',': port=N, port=N-M, addr=ADDRESS, addr=ADDRESS/BITS, on=connect, on=listen
 * @err: room for one sentence that says what is wrong
 * @errlen: size of @err
 *
 * Return: 0, or -1 with @err filled in.
 */
int smc_filter_parse(struct smc_filter *f, const char *text, char *err, size_t errlen);

/**
 * smc_filter_wants_smc - may a socket use SMC for this address?
 * @f: the rules
 * @op: what the program is about to do
 * @sa: peer's address (connect) or own address (listen)
 * @len: length of @sa as the program gave it
 *
 * Return: true for SMC, false for TCP. An address that is not IPv4 or IPv6 is none of our
 * business: true, and the kernel will complain.
 */
bool smc_filter_wants_smc(const struct smc_filter *f, enum smc_filter_op op,
			  const struct sockaddr *sa, socklen_t len);

/**
 * smc_filter_port - port of an IPv4 or IPv6 address
 * @sa: address
 * @len: length of @sa
 *
 * Return: the port in host byte order, 0 when there is none.
 */
__u16 smc_filter_port(const struct sockaddr *sa, socklen_t len);

#endif /* SMC_TOOLS_FILTER_H */
