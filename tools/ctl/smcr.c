// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl under the name smcr: link groups, links, devices and UEIDs with the words and columns
 * that users of smc-tools know, and whose columns their scripts count. What it has no columns of
 * its own for is shown as under the own name.
 */
#include "smcctl.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/**
 * struct smcr - command line
 * @details: how much is told, 0 to 2
 * @links: links instead of groups
 * @group: these alone, with any last byte; 0 and !@one: all
 * @one: @group counts
 * @type: groups of this type alone, or devices; NULL: of any
 * @netdev: what goes over this one alone, NULL: over any
 * @ibdev: likewise
 */
struct smcr {
	unsigned int details;
	bool links;
	__u32 group;
	bool one;
	const char *type;
	const char *netdev;
	const char *ibdev;
};

static void usage(FILE *out)
{
	fputs("Usage: smcr [-d | -dd] OBJECT [COMMAND]\n"
	      "  linkgroup [show | link-show] [GROUP | type TYPE | netdev NETDEV | ibdev IBDEV]\n"
	      "  device [show] [netdev NETDEV | ibdev IBDEV]\n"
	      "  ueid [show | add NAME | del NAME | flush]\n"
	      "  info\n"
	      "  stats [show | json]\n"
	      "  -d, --details    more columns; twice: GIDs, too\n"
	      "  -a, --absolute   taken, and nothing else: counters are never set back\n"
	      "  -h, --help       this text\n"
	      "  -v, --version    version\n"
	      "Words may be cut short.\n", out);
}

static bool is(const char *word, const char *whole)
{
	return *word && !strncmp(word, whole, strlen(word));
}

static __u32 hex_of(struct json_object *obj, const char *key)
{
	return (__u32)strtoul(ctl_text_of(obj, key), NULL, 16);
}

static const char *yes_or_no(struct json_object *obj, const char *key)
{
	return strcmp(ctl_text_of(obj, key), "true") ? "No" : "Yes";
}

static const char *role_of(struct json_object *group)
{
	return strcmp(ctl_text_of(group, "role"), "server") ? "CLNT" : "SERV";
}

/* A word of smcctl's in smcr's; itself if there is none. */
static const char *word_for(const char *word)
{
	static const char * const words[][2] = {
		/* types of groups */
		{ "none", "NONE" }, { "single", "SINGLE" }, { "symmetric", "SYM" },
		{ "asymmetric-peer", "ASYMP" }, { "asymmetric-local", "ASYML" },
		/* states of links */
		{ "unused", "LINK_UNUSED" }, { "inactive", "LINK_INACTIVE" },
		{ "activating", "LINK_ACTIVATING" }, { "active", "LINK_ACTIVE" },
		/* systems */
		{ "z/OS", "ZOS" }, { "Linux", "LINUX" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i][0]))
			return words[i][1];
	return word;
}

static const char *type_of(struct json_object *group)
{
	return word_for(ctl_text_of(group, "type"));
}

static bool wanted(const struct smcr *s, struct json_object *group)
{
	return (!s->one || (hex_of(group, "id") & ~0xffu) == (s->group & ~0xffu)) &&
	       (!s->type || !strcasecmp(s->type, type_of(group)));
}

static bool wanted_link(const struct smcr *s, struct json_object *link)
{
	return (!s->netdev || !strcmp(s->netdev, ctl_text_of(link, "netdev"))) &&
	       (!s->ibdev || !strcmp(s->ibdev, ctl_text_of(link, "device")));
}

/* ---- link groups ---- */

static void print_field(const char *name, const char *text, const char *unit)
{
	printf("%-9s: %s%s\n", name, text, unit);
}

/* What a group of version 1 has not is not there. */
static void print_group_at_length(struct json_object *group)
{
	static const char * const fields[][2] = {
		{ "Version", "version" }, { "Peer-Rel", "release" }, { "Peer-Host", "peer_host" },
	};
	struct json_object *val;
	size_t i;

	printf("%-9s: %08x\n", "LG-ID", hex_of(group, "id"));
	print_field("LG-Role", role_of(group), "");
	print_field("LG-Type", type_of(group), "");
	printf("%-9s: %x\n", "VLAN", atoi(ctl_text_of(group, "vlan")));
	print_field("PNET-ID", ctl_text_of(group, "pnetid"), "");
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (json_object_object_get_ex(group, fields[i][1], &val))
			print_field(fields[i][0], json_object_get_string(val), "");
	if (json_object_object_get_ex(group, "peer_os", &val))
		print_field("Peer-OS", word_for(json_object_get_string(val)), "");
	if (json_object_object_get_ex(group, "direct", &val))
		print_field("Direct", yes_or_no(group, "direct"), "");
	if (json_object_object_get_ex(group, "eid", &val))
		print_field("EID", json_object_get_string(val), "");
	print_field("#Conns", ctl_text_of(group, "connections"), "");
	print_field("Sndbuf", ctl_text_of(group, "sndbuf_bytes"), " B");
	print_field("RMB", ctl_text_of(group, "rmb_bytes"), " B");
}

static void print_group(const struct smcr *s, struct json_object *group, bool first)
{
	if (s->details) {
		if (!first)
			putchar('\n');
		print_group_at_length(group);
		return;
	}
	printf("%08x %-8s %-8s %#4x  %6s  %s\n", hex_of(group, "id"), role_of(group),
	       type_of(group), atoi(ctl_text_of(group, "vlan")), ctl_text_of(group, "connections"),
	       ctl_text_of(group, "pnetid"));
}

/* Groups at length have none. */
static void print_heading(const struct smcr *s)
{
	if (!s->links && !s->details)
		printf("%-8s %-8s %-8s %-5s %-7s %s\n", "LG-ID", "LG-Role", "LG-Type", "VLAN",
		       "#Conns", "PNET-ID");
	if (!s->links)
		return;
	printf("%-8s %-8s %-8s %-15s %-15s %-6s", "LG-ID", "LG-Role", "LG-Type", "Net-Dev",
	       "Link-State", "#Conns");
	if (s->details)
		printf("  %-8s  %-8s  %-8s  %-4s", "Link-UID", "Peer-UID", "IB-Dev", "IB-P");
	if (s->details > 1)
		printf("  %-40s  %s", "Local-GID", "Peer-GID");
	putchar('\n');
}

static void print_link(const struct smcr *s, struct json_object *group, struct json_object *link)
{
	printf("%08x %-8s %-8s %-15s %-15s %6s", hex_of(group, "id"), role_of(group),
	       type_of(group), ctl_text_of(link, "netdev"), word_for(ctl_text_of(link, "state")),
	       ctl_text_of(link, "connections"));
	if (s->details)
		printf("  %08x  %08x  %-8s  %4s", hex_of(link, "uid"), hex_of(link, "peer_uid"),
		       ctl_text_of(link, "device"), ctl_text_of(link, "port"));
	if (s->details > 1)
		printf("  %-40s  %s", ctl_text_of(link, "gid"), ctl_text_of(link, "peer_gid"));
	putchar('\n');
}

/* The links of a group: they are printed, or counted. */
static size_t links_of(const struct smcr *s, struct json_object *group, struct json_object *links,
		       bool print)
{
	size_t i, num = 0;

	for (i = 0; i < json_object_array_length(links); i++) {
		struct json_object *link = json_object_array_get_idx(links, i);

		if (hex_of(link, "group") != hex_of(group, "id") || !wanted_link(s, link))
			continue;
		if (print)
			print_link(s, group, link);
		num++;
	}
	return num;
}

static int linkgroups(const struct smcr *s)
{
	struct json_object *groups = json_object_new_array(), *links = json_object_new_array();
	int rc = ctl_linkgroup_read(groups);
	bool first = true;
	size_t i;

	if (rc == CTL_OK)
		rc = ctl_link_read(links);
	if (rc == CTL_OK)
		print_heading(s);
	for (i = 0; rc == CTL_OK && i < json_object_array_length(groups); i++) {
		struct json_object *group = json_object_array_get_idx(groups, i);
		bool any = !s->netdev && !s->ibdev;

		if (!wanted(s, group) || (!links_of(s, group, links, s->links) && !any) ||
		    s->links)
			continue;
		print_group(s, group, first);
		first = false;
	}
	json_object_put(groups);
	json_object_put(links);
	return rc;
}

/* ---- devices ---- */

static int devices(const struct smcr *s)
{
	struct json_object *ports = json_object_new_array();
	int rc = ctl_device_read(ports);
	size_t i;

	if (rc == CTL_OK) {
		printf("%-15s %-8s %-5s %-9s %-14s %-5s", "Net-Dev", "IB-Dev", "IB-P", "IB-State",
		       "Type", "Crit");
		if (s->details)
			printf(" %-5s %-13s %-6s", "FID", "PCI-ID", "PCHID");
		printf(" %-7s PNET-ID\n", "#Links");
	}
	for (i = 0; rc == CTL_OK && i < json_object_array_length(ports); i++) {
		struct json_object *p = json_object_array_get_idx(ports, i);
		bool active = !strcmp(ctl_text_of(p, "state"), "active");
		char type[16];

		if (!wanted_link(s, p))
			continue;
		/* one without a PCI function has no number either */
		snprintf(type, sizeof(type), "%#x", atoi(ctl_text_of(p, "pci_device")));
		printf("%-15s %-8s %4s  %8s  %-13s  %3s  ", ctl_text_of(p, "netdev"),
		       ctl_text_of(p, "device"), ctl_text_of(p, "port"),
		       active ? "ACTIVE" : "INACTIVE", type, yes_or_no(p, "critical"));
		if (s->details)
			printf(" %04x  %-12s  %04x  ", atoi(ctl_text_of(p, "pci_fid")),
			       ctl_text_of(p, "pci"), atoi(ctl_text_of(p, "pci_chid")));
		printf(" %5s   %s%s\n", ctl_text_of(p, "links"),
		       strcmp(ctl_text_of(p, "pnetid_by_user"), "true") ? "" : "*",
		       ctl_text_of(p, "pnetid"));
	}
	json_object_put(ports);
	return rc;
}

/* ---- words ---- */

/* "type TYPE" and the like, or a group: false: it is none of them. */
static bool parse_filter(struct smcr *s, int argc, char **argv)
{
	if (!argc)
		return true;
	if (argc == 1)
		return s->one = ctl_parse_num(argv[0], 16, 0, 0xffffffff, &s->group);
	if (argc != 2)
		return false;
	if (is(argv[0], "type"))
		s->type = argv[1];
	else if (is(argv[0], "netdev"))
		s->netdev = argv[1];
	else if (is(argv[0], "ibdev"))
		s->ibdev = argv[1];
	else
		return false;
	return true;
}

static int wrong(void)
{
	usage(stderr);
	return CTL_USAGE;
}

static int run(struct smcr *s, int argc, char **argv)
{
	struct ctl_opts opts = { .port = -1, .local_port = -1, .peer_port = -1 };
	const char *object = argc ? argv[0] : "";
	const char *word = argc > 1 ? argv[1] : "";
	bool show = is(word, "show") || is(word, "all");

	if (is(object, "help")) {
		usage(stdout);
		return CTL_OK;
	}
	if (is(object, "linkgroup")) {
		s->links = is(word, "link-show");
		argc -= 1 + (show || s->links);
		argv += 1 + (show || s->links);
		return parse_filter(s, argc, argv) ? linkgroups(s) : wrong();
	}
	if (is(object, "device"))
		return parse_filter(s, argc - 1 - show, argv + 1 + show) && !s->one && !s->type ?
			devices(s) : wrong();
	if (is(object, "ueid"))
		return ctl_ueid(&opts, show ? 0 : argc - 1, argv + 1);
	opts.json = is(object, "stats") && is(word, "json");
	if (argc > 1 + (show || opts.json))
		return wrong();
	if (is(object, "info"))
		return ctl_info(&opts);
	if (is(object, "stats"))
		return ctl_stats(&opts);
	return wrong();
}

/**
 * ctl_smcr() - smcctl under the name smcr
 * @argc: number of arguments
 * @argv: arguments, the name of the program first
 *
 * Return: exit status.
 */
int ctl_smcr(int argc, char **argv)
{
	static const struct option options[] = {
		{ "details", no_argument, NULL, 'd' }, { "absolute", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	struct smcr s = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "adhv", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			break;
		case 'd':
			s.details++;
			break;
		case 'h':
			usage(stdout);
			return CTL_OK;
		case 'v':
			puts("smcr of smcctl " SMC_TOOLS_VERSION);
			return CTL_OK;
		default:
			return wrong();
		}
	}
	return run(&s, argc - optind, argv + optind);
}
