// SPDX-License-Identifier: GPL-2.0-only
/*
 * Port and address rules of smc_run.
 *
 * These functions run in any thread of every program that smc_run starts. So they allocate no
 * memory and have no state.
 */
#include "filter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULE_TEXT_MAX 128

/* An address to check; v4-mapped IPv6 is converted to IPv4 */
struct endpoint {
	sa_family_t family;
	__u16 port;
	__u8 addr[16];
};

static bool addr_is_v4_mapped(const __u8 *addr)
{
	static const __u8 prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(addr, prefix, sizeof(prefix)) == 0;
}

/* Parse digits only; strtoul() alone accepts blanks, signs and an empty string. */
static int number_parse(const char *s, unsigned long max, unsigned long *out)
{
	size_t digits = strspn(s, "0123456789");
	unsigned long v;

	if (digits == 0 || digits > 9 || s[digits])
		return -1;
	v = strtoul(s, NULL, 10);
	if (v > max)
		return -1;
	*out = v;
	return 0;
}

static int rule_parse_port(struct smc_filter_rule *r, char *s)
{
	char *dash = strchr(s, '-');
	unsigned long lo, hi;

	if (dash)
		*dash++ = '\0';
	if (number_parse(s, 65535, &lo) < 0)
		return -1;
	hi = lo;
	if (dash && number_parse(dash, 65535, &hi) < 0)
		return -1;
	if (lo == 0 || hi < lo)
		return -1;
	r->has_port = true;
	r->port_lo = lo;
	r->port_hi = hi;
	return 0;
}

static int rule_parse_addr(struct smc_filter_rule *r, char *s)
{
	char *slash = strchr(s, '/');
	unsigned long plen;

	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET, s, r->addr) == 1) {
		r->family = AF_INET;
		plen = 32;
	} else if (inet_pton(AF_INET6, s, r->addr) == 1) {
		r->family = AF_INET6;
		plen = 128;
	} else {
		return -1;
	}
	if (slash && number_parse(slash, plen, &plen) < 0)
		return -1;
	if (r->family == AF_INET6 && plen >= 96 && addr_is_v4_mapped(r->addr)) {
		memmove(r->addr, r->addr + 12, 4);
		r->family = AF_INET;
		plen -= 96;
	}
	r->plen = plen;
	r->has_addr = true;
	return 0;
}

static int rule_parse_on(struct smc_filter_rule *r, const char *s)
{
	if (!strcmp(s, "connect"))
		r->ops = SMC_FILTER_CONNECT;
	else if (!strcmp(s, "listen"))
		r->ops = SMC_FILTER_LISTEN;
	else
		return -1;
	return 0;
}

static const char *rule_parse_condition(struct smc_filter_rule *r, char *cond)
{
	char *value = strchr(cond, '=');

	if (!value)
		return "a condition is port=, addr= or on=";
	*value++ = '\0';
	if (!strcmp(cond, "port")) {
		if (r->has_port)
			return "port= is given twice";
		return rule_parse_port(r, value) ? "port= needs N or N-M within 1..65535" : NULL;
	}
	if (!strcmp(cond, "addr")) {
		if (r->has_addr)
			return "addr= is given twice";
		return rule_parse_addr(r, value) ?
			"addr= needs an IPv4 or IPv6 address, with /BITS for a network" : NULL;
	}
	if (!strcmp(cond, "on")) {
		if (r->ops)
			return "on= is given twice";
		return rule_parse_on(r, value) ? "on= needs connect or listen" : NULL;
	}
	return "a condition is port=, addr= or on=";
}

static const char *rule_parse(struct smc_filter_rule *r, const char *text, size_t len)
{
	char buf[RULE_TEXT_MAX];
	char *next = buf;
	char *cond;

	memset(r, 0, sizeof(*r));
	if (len >= sizeof(buf))
		return "the rule is too long";
	memcpy(buf, text, len);
	buf[len] = '\0';
	while ((cond = strsep(&next, ","))) {
		const char *why = rule_parse_condition(r, cond);

		if (why)
			return why;
	}
	if (!r->ops)
		r->ops = SMC_FILTER_CONNECT | SMC_FILTER_LISTEN;
	return NULL;
}

/**
 * smc_filter_parse() - parse the text form of a filter
 * @f: result, undefined after an error
 * @text: rules separated by ';'. A rule is '+' (include) or '-' (exclude), then conditions
 *	separated by ',': port=N, port=N-M, addr=ADDRESS, addr=ADDRESS/BITS, on=connect, on=listen
 * @err: set to one sentence that says what is wrong
 * @errlen: size of @err
 *
 * Return: 0, or -1 with @err set.
 */
int smc_filter_parse(struct smc_filter *f, const char *text, char *err, size_t errlen)
{
	f->num = 0;
	while (*text) {
		size_t len = strcspn(text, ";");
		const char *why;

		if (f->num == SMC_FILTER_MAX_RULES) {
			snprintf(err, errlen, "there are more than %d rules",
				 SMC_FILTER_MAX_RULES);
			return -1;
		}
		if (*text == '+' || *text == '-') {
			why = rule_parse(&f->rules[f->num], text + 1, len - 1);
			f->rules[f->num].include = *text == '+';
		} else {
			why = "it does not begin with + or -";
		}
		if (why) {
			int shown = len > RULE_TEXT_MAX ? RULE_TEXT_MAX : (int)len;
			int skip = *text == '+' || *text == '-';

			snprintf(err, errlen, "rule '%.*s' is wrong: %s", shown - skip,
				 text + skip, why);
			return -1;
		}
		f->num++;
		text += len;
		if (*text)
			text++;
	}
	return 0;
}

static bool endpoint_read(struct endpoint *ep, const struct sockaddr *sa, socklen_t len)
{
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;
	sa_family_t family;

	/* the buffer of the program may be short or misaligned, so copy it */
	if (!sa || len < sizeof(family))
		return false;
	memcpy(&family, &sa->sa_family, sizeof(family));
	if (family == AF_INET && len >= sizeof(v4)) {
		memcpy(&v4, sa, sizeof(v4));
		ep->family = AF_INET;
		ep->port = ntohs(v4.sin_port);
		memcpy(ep->addr, &v4.sin_addr, 4);
		return true;
	}
	/* the kernel accepts an address without sin6_scope_id (RFC 2133) */
	if (family == AF_INET6 && len >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		memcpy(&v6, sa, offsetof(struct sockaddr_in6, sin6_scope_id));
		ep->port = ntohs(v6.sin6_port);
		if (addr_is_v4_mapped(v6.sin6_addr.s6_addr)) {
			ep->family = AF_INET;
			memcpy(ep->addr, v6.sin6_addr.s6_addr + 12, 4);
		} else {
			ep->family = AF_INET6;
			memcpy(ep->addr, v6.sin6_addr.s6_addr, 16);
		}
		return true;
	}
	return false;
}

/**
 * smc_filter_port() - return the port of an IPv4 or IPv6 address
 * @sa: address
 * @len: length of @sa
 *
 * Return: the port in host byte order, 0 if there is none.
 */
__u16 smc_filter_port(const struct sockaddr *sa, socklen_t len)
{
	struct endpoint ep;

	return endpoint_read(&ep, sa, len) ? ep.port : 0;
}

static bool addr_has_prefix(const __u8 *a, const __u8 *b, unsigned int bits)
{
	unsigned int bytes = bits / 8;
	__u8 mask = bits % 8 ? (__u8)(0xff << (8 - bits % 8)) : 0;

	if (memcmp(a, b, bytes))
		return false;
	return !mask || ((a[bytes] ^ b[bytes]) & mask) == 0;
}

static bool rule_matches(const struct smc_filter_rule *r, const struct endpoint *ep)
{
	if (r->has_port && (ep->port < r->port_lo || ep->port > r->port_hi))
		return false;
	if (r->has_addr &&
	    (r->family != ep->family || !addr_has_prefix(r->addr, ep->addr, r->plen)))
		return false;
	return true;
}

/**
 * smc_filter_wants_smc() - check whether a socket may use SMC for an address
 * @f: rules
 * @op: call that the program makes
 * @sa: address of the peer (connect) or local address (listen)
 * @len: length of @sa, as the program passed it
 *
 * Return: true for SMC, false for TCP. True if the address is neither IPv4 nor IPv6: the kernel
 * will return the error.
 */
bool smc_filter_wants_smc(const struct smc_filter *f, enum smc_filter_op op,
			  const struct sockaddr *sa, socklen_t len)
{
	bool smc_unless_matched = true;
	struct endpoint ep;
	size_t i;

	if (!endpoint_read(&ep, sa, len))
		return true;
	for (i = 0; i < f->num; i++) {
		const struct smc_filter_rule *r = &f->rules[i];

		if (!(r->ops & op))
			continue;
		if (rule_matches(r, &ep))
			return r->include;
		/* an include rule excludes everything that no rule matches */
		if (r->include)
			smc_unless_matched = false;
	}
	return smc_unless_matched;
}
