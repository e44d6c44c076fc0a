// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: address prefixes. IPv4 is handled as v4-mapped IPv6.
 */
#include "smcctl.h"

#include <arpa/inet.h>
#include <string.h>

#define ALL_BITS 128

/**
 * ctl_prefix_parse() - parse an address prefix
 * @text: "10.1.0.0/16", "fd00::/8", or one address
 * @prefix: result
 *
 * 0.0.0.0/0 is valid and means all of IPv4; ::/0 is not valid.
 *
 * Return: true if @text is a prefix or an address.
 */
bool ctl_prefix_parse(const char *text, struct ctl_prefix *prefix)
{
	struct in6_addr *in6 = &prefix->addr;
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	unsigned int bits, all = ALL_BITS;
	char addr[INET6_ADDRSTRLEN];

	if (len >= sizeof(addr))
		return false;
	memcpy(addr, text, len);
	addr[len] = '\0';
	memset(in6, 0, sizeof(*in6));
	if (inet_pton(AF_INET, addr, &in6->s6_addr[12]) == 1) {
		in6->s6_addr[10] = 0xff;
		in6->s6_addr[11] = 0xff;
		all = 32;
	} else if (inet_pton(AF_INET6, addr, in6) != 1) {
		return false;
	}
	bits = all;
	if (slash && !ctl_num_parse(slash + 1, 10, all == 32 ? 0 : 1, all, &bits))
		return false;
	prefix->bits = bits + ALL_BITS - all;
	return true;
}

/**
 * ctl_prefix_contains() - check whether an address has a prefix
 * @prefix: result of ctl_prefix_parse()
 * @addr: address, IPv4 as ::ffff:a.b.c.d
 *
 * Return: true if it has.
 */
bool ctl_prefix_contains(const struct ctl_prefix *prefix, const struct in6_addr *addr)
{
	unsigned int bytes = prefix->bits / 8, rest = prefix->bits % 8;

	if (memcmp(prefix->addr.s6_addr, addr->s6_addr, bytes))
		return false;
	return !rest ||
	       !((prefix->addr.s6_addr[bytes] ^ addr->s6_addr[bytes]) >> (8 - rest));
}
