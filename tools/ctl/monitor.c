// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: print events as they occur, one line each, continued on further lines if it is long.
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

#define EVENT_WIDTH 11	/* of most names of events */

/**
 * struct monitor - state of one run
 * @json: print JSON
 * @left: number of events before the end, 0: no limit
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
	case SMC_NETLINK_OWN_EV_CONN_END:
		return "connection end";
	case SMC_NETLINK_OWN_EV_CONN_UPGRADED:
		return "connection upgraded";
	case SMC_NETLINK_OWN_EV_UPGRADE_REFUSED:
		return "upgrade refused";
	}
	return NULL;
}

static void event_add_time(struct json_object *obj)
{
	char day[32], text[64];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", day, now.tv_nsec / 1000000);
	ctl_json_add_str(obj, "time", text);
}

static void event_add_addr(struct json_object *obj, const char *key, const struct nlattr *attr)
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
	ctl_json_add_str(obj, key, text);
}

static void event_add_reason(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	__u64 code;

	if (ctl_nla_get_uint(attr, &code))
		ctl_json_add_reason(obj, key, (__u32)code);
}

static struct json_object *event_read(const struct nlmsghdr *nlh, const char *name)
{
	const struct nlattr *tb[SMC_NETLINK_EV_MAX + 1];
	struct json_object *obj = json_object_new_object();
	__u64 val;

	ctl_nla_parse_genl(nlh, tb, SMC_NETLINK_EV_MAX);
	event_add_time(obj);
	ctl_json_add_str(obj, "event", name);
	ctl_json_copy_uint(obj, "net_cookie", tb[SMC_NETLINK_EV_NET_COOKIE]);
	if (ctl_nla_get_uint(tb[SMC_NETLINK_EV_LGR_ID], &val))
		ctl_json_add_hex32(obj, "group", (__u32)val);
	if (ctl_nla_get_uint(tb[SMC_NETLINK_EV_ROLE], &val))
		ctl_json_add_str(obj, "role", val ? "server" : "client");
	event_add_addr(obj, "local_addr", tb[SMC_NETLINK_EV_LOCAL]);
	ctl_json_copy_uint(obj, "local_port", tb[SMC_NETLINK_EV_LOCAL_PORT]);
	event_add_addr(obj, "peer_addr", tb[SMC_NETLINK_EV_PEER]);
	ctl_json_copy_uint(obj, "peer_port", tb[SMC_NETLINK_EV_PEER_PORT]);
	ctl_json_copy_uint(obj, "link", tb[SMC_NETLINK_EV_LINK_ID]);
	ctl_json_copy_str(obj, "device", tb[SMC_NETLINK_EV_IB_DEV]);
	ctl_json_copy_uint(obj, "port", tb[SMC_NETLINK_EV_IB_PORT]);
	ctl_json_copy_uint(obj, "connections", tb[SMC_NETLINK_EV_CONNS]);
	ctl_json_copy_str(obj, "why", tb[SMC_NETLINK_EV_REASON]);
	event_add_reason(obj, "reason", tb[SMC_NETLINK_EV_OWN_RSN]);
	event_add_reason(obj, "peer_reason", tb[SMC_NETLINK_EV_PEER_RSN]);
	ctl_json_copy_uint(obj, "error", tb[SMC_NETLINK_EV_ERROR]);
	ctl_json_copy_uint(obj, "msecs", tb[SMC_NETLINK_EV_MSECS]);
	ctl_json_copy_uint(obj, "tx_bytes", tb[SMC_NETLINK_EV_TX_BYTES]);
	ctl_json_copy_uint(obj, "rx_bytes", tb[SMC_NETLINK_EV_RX_BYTES]);
	ctl_json_copy_uint(obj, "tx_again_bytes", tb[SMC_NETLINK_EV_TX_AGAIN]);
	ctl_json_copy_uint(obj, "tx_messages", tb[SMC_NETLINK_EV_TX_MSGS]);
	ctl_json_copy_uint(obj, "rx_messages", tb[SMC_NETLINK_EV_RX_MSGS]);
	ctl_json_copy_uint(obj, "rtt_usecs", tb[SMC_NETLINK_EV_RTT]);
	ctl_json_copy_uint(obj, "rtt_min_usecs", tb[SMC_NETLINK_EV_RTT_MIN]);
	ctl_json_copy_uint(obj, "closed_usecs", tb[SMC_NETLINK_EV_CLOSED_USECS]);
	ctl_json_copy_uint(obj, "moves", tb[SMC_NETLINK_EV_MOVES]);
	ctl_json_copy_uint(obj, "untold", tb[SMC_NETLINK_EV_UNTOLD]);
	return obj;
}

static void event_write_addr(FILE *out, struct json_object *event, const char *addr,
			     const char *port)
{
	const char *text = ctl_json_text(event, addr);

	fprintf(out, strchr(text, ':') ? " [%s]:%s" : " %s:%s", text, ctl_json_text(event, port));
}

static void event_write_fallback(FILE *out, struct json_object *event)
{
	fprintf(out, "%s", ctl_json_text(event, "role"));
	event_write_addr(out, event, "local_addr", "local_port");
	event_write_addr(out, event, "peer_addr", "peer_port");
	fprintf(out, " %s (%s)", ctl_json_text(event, "reason"),
		ctl_json_text(event, "reason_text"));
	if (strcmp(ctl_json_text(event, "peer_reason_text"), "none"))
		fprintf(out, ", peer %s (%s)", ctl_json_text(event, "peer_reason"),
			ctl_json_text(event, "peer_reason_text"));
}

static void event_write_totals(FILE *out, struct json_object *event)
{
	char sent[32], received[32];

	fprintf(out, " %.1f s, %s bytes sent, %s received",
		(double)ctl_json_u64(event, "msecs") / 1000,
		ctl_number_format((double)ctl_json_u64(event, "tx_bytes"), sent, sizeof(sent)),
		ctl_number_format((double)ctl_json_u64(event, "rx_bytes"), received,
				  sizeof(received)));
}

static void event_write_conn_end(FILE *out, struct json_object *event)
{
	int err = (int)ctl_json_u64(event, "error");

	event_write_totals(out, event);
	if (ctl_json_u64(event, "moves"))
		fprintf(out, ", %s moves", ctl_json_text(event, "moves"));
	if (err)
		fprintf(out, " (%s)", strerror(err));
}

static void event_write_conn(FILE *out, struct json_object *event)
{
	const char *why = ctl_json_text(event, "why");

	fprintf(out, "%s %s", ctl_json_text(event, "group"), ctl_json_text(event, "role"));
	event_write_addr(out, event, "local_addr", "local_port");
	event_write_addr(out, event, "peer_addr", "peer_port");
	if (*ctl_json_text(event, "tx_bytes"))
		event_write_conn_end(out, event);
	else if (*why)
		fprintf(out, " (%s)", why);
	else
		fprintf(out, " after %.1f s over TCP", (double)ctl_json_u64(event, "msecs") / 1000);
}

/* No comma before or behind the address: any address is on the first line. */
static void event_write_group(FILE *out, struct json_object *event)
{
	const char *why = ctl_json_text(event, "why"), *conns = ctl_json_text(event, "connections");

	fprintf(out, "%s %s peer %s", ctl_json_text(event, "group"), ctl_json_text(event, "role"),
		ctl_json_text(event, "peer_addr"));
	if (*ctl_json_text(event, "device"))
		fprintf(out, " link %s on %s port %s", ctl_json_text(event, "link"),
			ctl_json_text(event, "device"), ctl_json_text(event, "port"));
	if (*ctl_json_text(event, "msecs")) {
		fprintf(out, " %s connections,", conns);
		event_write_totals(out, event);
	} else if (*conns) {
		fprintf(out, ", %s connections go on", conns);
	}
	if (*why)
		fprintf(out, " (%s)", why);
}

static void event_write_details(FILE *out, struct json_object *event)
{
	const char *untold = ctl_json_text(event, "untold");

	if (*ctl_json_text(event, "group") && *ctl_json_text(event, "local_addr"))
		event_write_conn(out, event);
	else if (*ctl_json_text(event, "group"))
		event_write_group(out, event);
	else if (*ctl_json_text(event, "reason"))
		event_write_fallback(out, event);
	if (*untold)
		fprintf(out, ", and %s before it", untold);
}

/*
 * Two blanks before the further lines of an event: the longest pair of addresses fits on one. What
 * people search for comes first.
 */
static void event_print(struct json_object *event)
{
	char *text = NULL;
	size_t size;
	FILE *out;
	int at;

	out = open_memstream(&text, &size);
	if (!out)
		abort();
	event_write_details(out, event);
	fclose(out);
	at = printf("%s %-*s", ctl_json_text(event, "time"), *text ? EVENT_WIDTH : 0,
		    ctl_json_text(event, "event"));
	if (*text)
		at += printf(" ");
	ctl_text_print(text, at, 2);
	free(text);
}

/*
 * Print an event and release it. Return false if the output failed: the reader has gone or the disk
 * is full. main() prints the error message.
 */
static bool event_write(struct monitor *monitor, struct json_object *event)
{
	if (monitor->json)
		ctl_json_print_line(event);
	else
		event_print(event);
	json_object_put(event);
	return !fflush(stdout) && !ferror(stdout);
}

static int monitor_event_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const char *name = event_name(genl->cmd);
	struct monitor *monitor = data;

	/* an event of a newer module */
	if (!name)
		return MNL_CB_OK;
	if (!event_write(monitor, event_read(nlh, name)) || (monitor->left && !--monitor->left))
		return MNL_CB_STOP;
	return MNL_CB_OK;
}

static int monitor_lost_cb(void *data)
{
	struct json_object *event = json_object_new_object();

	event_add_time(event);
	ctl_json_add_str(event, "event", "lost");
	return event_write(data, event) ? MNL_CB_OK : MNL_CB_STOP;
}

/* Parse what follows monitor. */
static bool monitor_parse_args(int argc, char **argv, struct ctl_listener *listener,
			       struct monitor *monitor)
{
	static const char * const groups[] = {
		SMC_NETLINK_OWN_EVENTS_NAME, SMC_NETLINK_OWN_FBACKS_NAME,
	};
	static const char * const conns[] = { SMC_NETLINK_OWN_CONNS_NAME };
	char word[16];

	listener->groups = groups;
	listener->num = ARRAY_SIZE(groups);
	if (argc && ctl_word_complete(argv[0], "connections", word, sizeof(word))) {
		listener->groups = conns;
		listener->num = ARRAY_SIZE(conns);
		argc--;
		argv++;
	}
	if (!argc)
		return true;
	if (strspn(argv[0], "0123456789") == strlen(argv[0]) && strlen(argv[0]) <= 9)
		monitor->left = strtoul(argv[0], NULL, 10);
	return argc == 1 && monitor->left;
}

/**
 * cmd_monitor() - smcctl monitor [connections] [COUNT]
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status. Without a count it returns only after a failure.
 */
int cmd_monitor(const struct ctl_opts *opts, int argc, char **argv)
{
	static const struct ctl_genl_req req = { .what = "events" };
	struct monitor monitor = { .json = opts->json };
	struct ctl_listener listener = {
		.cb = monitor_event_cb, .lost = monitor_lost_cb, .data = &monitor,
	};
	int err;

	if (!monitor_parse_args(argc, argv, &listener, &monitor)) {
		ctl_error("monitor is followed by: connections and COUNT, or nothing");
		return CTL_USAGE;
	}
	err = ctl_genl_listen(&listener);
	if (err == ENODEV)
		ctl_error("the smc module has been unloaded");
	else if (err)
		ctl_genl_print_error(&req, err);
	return err ? CTL_FAILURE : CTL_OK;
}
