// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: rules which connections may use SMC.
 */
#include "smcctl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* Attributes of one end of a connection, relative to SMC_NETLINK_RULE_LOCAL or _REMOTE */
enum { END_ADDR, END_LEN, END_PORT, END_LAST, END_ATTRS };

#define MAPPED_BITS	96	/* before the IPv4 address in a v4-mapped one */
#define PORT_MAX	65535

/* --- the list --- */

static void rule_show_end(struct json_object *obj, const char *prefix_key, const char *port_key,
			  const struct nlattr *const *attr)
{
	char text[INET6_ADDRSTRLEN + 4], addr[INET6_ADDRSTRLEN];
	struct in6_addr in6;
	__u64 bits, port, last;

	if (attr[END_ADDR] && mnl_attr_get_payload_len(attr[END_ADDR]) == sizeof(in6) &&
	    ctl_nla_get_uint(attr[END_LEN], &bits)) {
		memcpy(&in6, mnl_attr_get_payload(attr[END_ADDR]), sizeof(in6));
		if (IN6_IS_ADDR_V4MAPPED(&in6) && bits >= MAPPED_BITS) {
			inet_ntop(AF_INET, &in6.s6_addr[12], addr, sizeof(addr));
			bits -= MAPPED_BITS;
		} else {
			inet_ntop(AF_INET6, &in6, addr, sizeof(addr));
		}
		snprintf(text, sizeof(text), "%s/%u", addr, (unsigned int)bits % 1000);
		ctl_json_add_str(obj, prefix_key, text);
	}
	if (!ctl_nla_get_uint(attr[END_PORT], &port) || !ctl_nla_get_uint(attr[END_LAST], &last))
		return;
	snprintf(text, sizeof(text), last == port ? "%u" : "%u-%u", (unsigned int)port,
		 (unsigned int)last);
	ctl_json_add_str(obj, port_key, text);
}

static int rule_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_NETLINK_RULE_MAX + 1];
	struct json_object *obj = json_object_new_object();
	__u64 deny;

	ctl_nla_parse_genl(nlh, tb, SMC_NETLINK_RULE_MAX);
	json_object_array_add(data, obj);
	ctl_json_copy_uint(obj, "number", tb[SMC_NETLINK_RULE_NUM]);
	if (ctl_nla_get_uint(tb[SMC_NETLINK_RULE_DENY], &deny))
		ctl_json_add_str(obj, "action", deny ? "deny" : "allow");
	rule_show_end(obj, "local", "local_port", &tb[SMC_NETLINK_RULE_LOCAL]);
	rule_show_end(obj, "remote", "remote_port", &tb[SMC_NETLINK_RULE_REMOTE]);
	ctl_json_copy_uint(obj, "connections", tb[SMC_NETLINK_RULE_HITS]);
	return MNL_CB_OK;
}

static const struct ctl_genl_req list = {
	.cmd = SMC_NETLINK_OWN_GET_RULES, .what = "the list of rules", .dump = true,
};

/**
 * ctl_policy_read() - read the rules of this network namespace
 * @rules: array, rules are appended
 * @known: set to whether the module supports rules; the in-tree module does not
 *
 * Return: exit status; CTL_OK if the module does not support rules. An error message was printed
 * for a failure.
 */
int ctl_policy_read(struct json_object *rules, bool *known)
{
	int err = ctl_genl_run(&list, rule_cb, rules);

	*known = err != EOPNOTSUPP;
	if (err && *known)
		ctl_genl_print_error(&list, err);
	return err && *known ? CTL_FAILURE : CTL_OK;
}

static int policy_show(const struct ctl_opts *opts)
{
	static const struct ctl_column cols[] = {
		{ "RULE", "number" }, { "ACTION", "action" }, { "LOCAL", "local" },
		{ "PORT", "local_port" }, { "REMOTE", "remote" }, { "PORT", "remote_port" },
		{ "CONNECTIONS", "connections" },
	};
	/* this host, then the other one */
	const size_t second = 4;
	struct json_object *rules = json_object_new_array();
	int err = ctl_genl_run(&list, rule_cb, rules);

	if (err)
		ctl_genl_print_error(&list, err);
	else if (opts->json)
		ctl_json_print(rules);
	else
		ctl_table_print_broken(rules, cols, ARRAY_SIZE(cols), second);
	json_object_put(rules);
	return err ? CTL_FAILURE : CTL_OK;
}

/* --- changes --- */

/**
 * struct rule - rule to add
 * @prefix: address prefixes of both ends, local one first
 * @attrs: attributes to send
 * @num: number of @attrs
 * @seen: bit mask of the types in @attrs
 */
struct rule {
	struct ctl_prefix prefix[2];
	struct ctl_attr attrs[2 + 2 * END_ATTRS];
	size_t num;
	unsigned int seen;
};

/* Append an attribute. Return false if the rule has one of this type. */
static bool rule_put(struct rule *rule, __u16 type, __u32 num, __u8 size)
{
	if (rule->seen & 1U << type)
		return false;
	rule->seen |= 1U << type;
	rule->attrs[rule->num++] = (struct ctl_attr){ .type = type, .num = num, .size = size };
	return true;
}

static bool rule_parse_prefix(struct rule *rule, int first, const char *text)
{
	struct ctl_prefix *prefix = &rule->prefix[first == SMC_NETLINK_RULE_REMOTE];

	if (!ctl_prefix_parse(text, prefix) || !rule_put(rule, (__u16)(first + END_ADDR), 0, 0))
		return false;
	rule->attrs[rule->num - 1].bin = &prefix->addr;
	rule->attrs[rule->num - 1].size = sizeof(prefix->addr);
	return rule_put(rule, (__u16)(first + END_LEN), prefix->bits, 1);
}

/* Parse "443" or "8000-8999". */
static bool rule_parse_ports(struct rule *rule, int first, const char *text)
{
	const char *dash = strchr(text, '-');
	char low[8];
	__u32 port, last;

	if (snprintf(low, sizeof(low), "%.*s", dash ? (int)(dash - text) : 7, text) >=
	    (int)sizeof(low) || !ctl_num_parse(low, 10, 1, PORT_MAX, &port))
		return false;
	last = port;
	if (dash && !ctl_num_parse(dash + 1, 10, port, PORT_MAX, &last))
		return false;
	return rule_put(rule, (__u16)(first + END_PORT), port, 4) &&
	       rule_put(rule, (__u16)(first + END_LAST), last, 4);
}

static bool rule_parse_condition(struct rule *rule, const char *word, const char *value)
{
	__u32 num;

	if (!strcmp(word, "number"))
		return ctl_num_parse(value, 10, 1, 0xffffffff, &num) &&
		       rule_put(rule, SMC_NETLINK_RULE_NUM, num, 4);
	if (!strcmp(word, "local"))
		return rule_parse_prefix(rule, SMC_NETLINK_RULE_LOCAL, value);
	if (!strcmp(word, "remote"))
		return rule_parse_prefix(rule, SMC_NETLINK_RULE_REMOTE, value);
	if (!strcmp(word, "local-port"))
		return rule_parse_ports(rule, SMC_NETLINK_RULE_LOCAL, value);
	if (!strcmp(word, "remote-port"))
		return rule_parse_ports(rule, SMC_NETLINK_RULE_REMOTE, value);
	return false;
}

static int policy_add(int argc, char **argv)
{
	struct rule rule = { .num = 0 };
	struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_OWN_ADD_RULE, .what = "adding a rule", .attrs = rule.attrs,
	};
	bool deny = argc && !strcmp(argv[0], "deny");

	if (!argc || (!deny && strcmp(argv[0], "allow"))) {
		ctl_error("policy add is followed by allow or deny");
		return CTL_USAGE;
	}
	rule_put(&rule, SMC_NETLINK_RULE_DENY, deny, 1);
	for (argc--, argv++; argc >= 2; argc -= 2, argv += 2) {
		if (rule_parse_condition(&rule, argv[0], argv[1]))
			continue;
		ctl_error("'%s %s' is no condition of a rule, or there are two of them", argv[0],
			  argv[1]);
		return CTL_USAGE;
	}
	if (argc) {
		ctl_error("'%s' lacks its value", argv[0]);
		return CTL_USAGE;
	}
	req.num_attrs = rule.num;
	return ctl_genl_request(&req, NULL, NULL);
}

static int policy_del(const char *text)
{
	struct ctl_attr attr = { .type = SMC_NETLINK_RULE_NUM, .size = 4 };
	struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_OWN_DEL_RULE, .what = "deleting a rule", .attrs = &attr,
		.num_attrs = 1,
	};

	if (!ctl_num_parse(text, 10, 1, 0xffffffff, &attr.num)) {
		ctl_error("'%s' is no number of a rule", text);
		return CTL_USAGE;
	}
	return ctl_genl_request(&req, NULL, NULL);
}

/**
 * cmd_policy() - smcctl policy [show | list], add ACTION [CONDITION]..., del NUMBER, flush
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_policy(const struct ctl_opts *opts, int argc, char **argv)
{
	static const struct ctl_genl_req flush = {
		.cmd = SMC_NETLINK_OWN_FLUSH_RULES, .what = "deleting all rules",
	};

	if (!argc || (argc == 1 && !strcmp(argv[0], "show")))
		return policy_show(opts);
	if (!strcmp(argv[0], "add"))
		return policy_add(argc - 1, argv + 1);
	if (argc == 2 && !strcmp(argv[0], "del"))
		return policy_del(argv[1]);
	if (argc == 1 && !strcmp(argv[0], "flush"))
		return ctl_genl_request(&flush, NULL, NULL);
	ctl_error("policy is followed by: show, add allow|deny CONDITION..., del NUMBER or flush");
	return CTL_USAGE;
}
