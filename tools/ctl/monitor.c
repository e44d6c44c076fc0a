// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: events as they come, one line each.
 */
#include "smcctl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/**
 * struct monitor - one run
 * @json: print JSON
 * @left: events to come; 0: without end
 */
struct monitor {
	bool json;
	unsigned long left;
};

static const char *event_name(__u8 cmd)
{
	switch (cmd) {
	case SMC_NETLINK_OWN_EV_LGR_BEGIN:
		return "group begin";
	case SMC_NETLINK_OWN_EV_LGR_END:
		return "group end";
	case SMC_NETLINK_OWN_EV_LINK_UP:
		return "link up";
	case SMC_NETLINK_OWN_EV_LINK_LOST:
		return "link lost";
	case SMC_NETLINK_OWN_EV_FAILOVER:
		return "failover";
	case SMC_NETLINK_OWN_EV_FBACK:
		return "fallback";
	}
	return NULL;
}

static void add_time(struct json_object *obj)
{
	char day[32], text[64];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", day, now.tv_nsec / 1000000);
	ctl_add_str(obj, "time", text);
}

static void add_addr(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr addr;

	if (!attr || mnl_attr_get_payload_len(attr) != sizeof(addr))
		return;
	memcpy(&addr, mnl_attr_get_payload(attr), sizeof(addr));
	if (IN6_IS_ADDR_V4MAPPED(&addr))
		inet_ntop(AF_INET, &addr.s6_addr[12], text, sizeof(text));
	else
		inet_ntop(AF_INET6, &addr, text, sizeof(text));
	ctl_add_str(obj, key, text);
}

static void add_reason(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	__u64 code;

	if (ctl_attr_uint(attr, &code))
		ctl_add_reason(obj, key, (__u32)code);
}

static struct json_object *read_event(const struct nlmsghdr *nlh, const char *name)
{
	const struct nlattr *tb[SMC_NETLINK_EV_MAX + 1];
	struct json_object *obj = json_object_new_object();
	__u64 val;

	ctl_parse_genl(nlh, tb, SMC_NETLINK_EV_MAX);
	add_time(obj);
	ctl_add_str(obj, "event", name);
	ctl_copy_uint(obj, "net_cookie", tb[SMC_NETLINK_EV_NET_COOKIE]);
	if (ctl_attr_uint(tb[SMC_NETLINK_EV_LGR_ID], &val))
		ctl_add_hex32(obj, "group", (__u32)val);
	if (ctl_attr_uint(tb[SMC_NETLINK_EV_ROLE], &val))
		ctl_add_str(obj, "role", val ? "server" : "client");
	add_addr(obj, "local_addr", tb[SMC_NETLINK_EV_LOCAL]);
	ctl_copy_uint(obj, "local_port", tb[SMC_NETLINK_EV_LOCAL_PORT]);
	add_addr(obj, "peer_addr", tb[SMC_NETLINK_EV_PEER]);
	ctl_copy_uint(obj, "peer_port", tb[SMC_NETLINK_EV_PEER_PORT]);
	ctl_copy_uint(obj, "link", tb[SMC_NETLINK_EV_LINK_ID]);
	ctl_copy_str(obj, "device", tb[SMC_NETLINK_EV_IB_DEV]);
	ctl_copy_uint(obj, "port", tb[SMC_NETLINK_EV_IB_PORT]);
	ctl_copy_uint(obj, "connections", tb[SMC_NETLINK_EV_CONNS]);
	ctl_copy_str(obj, "why", tb[SMC_NETLINK_EV_REASON]);
	add_reason(obj, "reason", tb[SMC_NETLINK_EV_OWN_RSN]);
	add_reason(obj, "peer_reason", tb[SMC_NETLINK_EV_PEER_RSN]);
	ctl_copy_uint(obj, "untold", tb[SMC_NETLINK_EV_UNTOLD]);
	return obj;
}

static void print_end(struct json_object *event, const char *addr, const char *port)
{
	const char *text = ctl_text_of(event, addr);

	printf(strchr(text, ':') ? " [%s]:%s" : " %s:%s", text, ctl_text_of(event, port));
}

static void print_fallback(struct json_object *event)
{
	printf(" %s", ctl_text_of(event, "role"));
	print_end(event, "local_addr", "local_port");
	print_end(event, "peer_addr", "peer_port");
	printf(" %s (%s)", ctl_text_of(event, "reason"), ctl_text_of(event, "reason_text"));
	if (strcmp(ctl_text_of(event, "peer_reason_text"), "none"))
		printf(", peer %s (%s)", ctl_text_of(event, "peer_reason"),
		       ctl_text_of(event, "peer_reason_text"));
}

static void print_group(struct json_object *event)
{
	const char *why = ctl_text_of(event, "why"), *conns = ctl_text_of(event, "connections");

	printf(" %s %s, peer %s", ctl_text_of(event, "group"), ctl_text_of(event, "role"),
	       ctl_text_of(event, "peer_addr"));
	if (*ctl_text_of(event, "device"))
		printf(", link %s on %s port %s", ctl_text_of(event, "link"),
		       ctl_text_of(event, "device"), ctl_text_of(event, "port"));
	if (*conns)
		printf(", %s connections go on", conns);
	if (*why)
		printf(" (%s)", why);
}

static void print_event(struct json_object *event)
{
	const char *untold = ctl_text_of(event, "untold");

	printf("%s %-11s", ctl_text_of(event, "time"), ctl_text_of(event, "event"));
	if (*ctl_text_of(event, "group"))
		print_group(event);
	else if (*ctl_text_of(event, "reason"))
		print_fallback(event);
	if (*untold)
		printf(", and %s before it", untold);
	putchar('\n');
}

/* Whoever reads has gone, or the disk is full: main() says so. */
static bool told(struct monitor *monitor, struct json_object *event)
{
	if (monitor->json)
		puts(json_object_to_json_string_ext(event, JSON_C_TO_STRING_PLAIN |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		print_event(event);
	json_object_put(event);
	return !fflush(stdout) && !ferror(stdout);
}

static int on_event(const struct nlmsghdr *nlh, void *data)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const char *name = event_name(genl->cmd);
	struct monitor *monitor = data;

	/* a newer module's */
	if (!name)
		return MNL_CB_OK;
	if (!told(monitor, read_event(nlh, name)) || (monitor->left && !--monitor->left))
		return MNL_CB_STOP;
	return MNL_CB_OK;
}

static int on_lost(void *data)
{
	struct json_object *event = json_object_new_object();

	add_time(event);
	ctl_add_str(event, "event", "lost");
	return told(data, event) ? MNL_CB_OK : MNL_CB_STOP;
}

/**
 * ctl_monitor() - smcctl monitor [COUNT]
 * @opts: command line
 * @argc: number of words
 * @argv: what follows the name of the object
 *
 * Return: exit status; without a count it does not return but for a failure.
 */
int ctl_monitor(const struct ctl_opts *opts, int argc, char **argv)
{
	static const char * const groups[] = {
		SMC_NETLINK_OWN_EVENTS_NAME, SMC_NETLINK_OWN_FBACKS_NAME,
	};
	static const struct ctl_genl_req req = { .what = "events" };
	struct monitor monitor = { .json = opts->json };
	const struct ctl_listener listener = {
		.groups = groups, .num = ARRAY_SIZE(groups), .cb = on_event, .lost = on_lost,
		.data = &monitor,
	};
	int err;

	if (argc) {
		if (strspn(argv[0], "0123456789") == strlen(argv[0]) && strlen(argv[0]) <= 9)
			monitor.left = strtoul(argv[0], NULL, 10);
		if (argc > 1 || !monitor.left) {
			ctl_fail("monitor is followed by COUNT, or nothing");
			return CTL_USAGE;
		}
	}
	err = ctl_genl_listen(&listener);
	if (err == ENODEV)
		ctl_fail("the smc module has been unloaded");
	else if (err)
		ctl_genl_failed(&req, err);
	return err ? CTL_FAILURE : CTL_OK;
}
