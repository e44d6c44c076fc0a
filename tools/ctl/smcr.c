// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl called as smcr: link groups, links, devices and UEIDs with the words and columns of that
 * program of smc-tools. Scripts count these columns. Other objects are printed as by smcctl.
 */
#include "smcctl.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/**
 * struct smcr - command line
 * @details: number of -d options
 * @links: print links instead of groups
 * @group: identifier of a group, whose last byte is ignored; only with @one
 * @one: print only @group
 * @type: print only groups of this type, NULL: any
 * @netdev: print only objects of this network device, NULL: any
 * @ibdev: print only objects of this RoCE device, NULL: any
 * @json: print JSON, as smcctl does
 * @list: collects the objects to print as JSON, NULL: they are printed one by one
 */
struct smcr {
	unsigned int details;
	bool links;
	__u32 group;
	bool one;
	const char *type;
	const char *netdev;
	const char *ibdev;
	bool json;
	struct json_object *list;
};

/* Objects, and what may follow them */
static const char * const objects[][2] = {
	{ "linkgroup", " [show | link-show] [GROUP | type TYPE | netdev NETDEV | ibdev IBDEV]" },
	{ "device", " [show] [netdev NETDEV | ibdev IBDEV]" },
	{ "ueid", " [show | add NAME | del NAME | flush]" },
	{ "info", "" },
	{ "stats", " [show | json]" },
};

static void smcr_print_usage(void)
{
	size_t i;

	puts("Usage: smcr [-d | -dd | -j] OBJECT [COMMAND]");
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		printf("  %s%s\n", objects[i][0], objects[i][1]);
	fputs("  -d, --details    more columns; twice: also GIDs\n"
	      "  -j, --json       JSON, as smcctl: all members\n"
	      "  -a, --absolute   ignored: counters are never reset\n"
	      "  -h, --help       this text\n"
	      "  -v, --version    version\n"
	      "Words may be abbreviated.\n", stdout);
}

static bool word_matches(const char *word, const char *whole)
{
	return *word && !strncmp(word, whole, strlen(word));
}

static __u32 json_to_hex(struct json_object *obj, const char *key)
{
	return (__u32)strtoul(ctl_json_text(obj, key), NULL, 16);
}

static const char *json_to_yes_no(struct json_object *obj, const char *key)
{
	return strcmp(ctl_json_text(obj, key), "true") ? "No" : "Yes";
}

static const char *group_get_role(struct json_object *group)
{
	return strcmp(ctl_json_text(group, "role"), "server") ? "CLNT" : "SERV";
}

/* Translate a word of smcctl to that of smcr; return other words unchanged. */
static const char *word_translate(const char *word)
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

static const char *group_get_type(struct json_object *group)
{
	return word_translate(ctl_json_text(group, "type"));
}

static bool group_is_wanted(const struct smcr *s, struct json_object *group)
{
	return (!s->one || (json_to_hex(group, "id") & ~0xffu) == (s->group & ~0xffu)) &&
	       (!s->type || !strcasecmp(s->type, group_get_type(group)));
}

static bool link_is_wanted(const struct smcr *s, struct json_object *link)
{
	return (!s->netdev || !strcmp(s->netdev, ctl_json_text(link, "netdev"))) &&
	       (!s->ibdev || !strcmp(s->ibdev, ctl_json_text(link, "device")));
}

/* ---- link groups ---- */

static void field_print(const char *name, const char *text, const char *unit)
{
	printf("%-9s: %s%s\n", name, text, unit);
}

/* A group of version 1 lacks some of the fields. */
static void group_print_details(struct json_object *group)
{
	static const char * const fields[][2] = {
		{ "Version", "version" }, { "Peer-Rel", "release" }, { "Peer-Host", "peer_host" },
	};
	struct json_object *val;
	size_t i;

	printf("%-9s: %08x\n", "LG-ID", json_to_hex(group, "id"));
	field_print("LG-Role", group_get_role(group), "");
	field_print("LG-Type", group_get_type(group), "");
	printf("%-9s: %x\n", "VLAN", atoi(ctl_json_text(group, "vlan")));
	field_print("PNET-ID", ctl_json_text(group, "pnetid"), "");
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (json_object_object_get_ex(group, fields[i][1], &val))
			field_print(fields[i][0], json_object_get_string(val), "");
	if (json_object_object_get_ex(group, "peer_os", &val))
		field_print("Peer-OS", word_translate(json_object_get_string(val)), "");
	if (json_object_object_get_ex(group, "direct", &val))
		field_print("Direct", json_to_yes_no(group, "direct"), "");
	if (json_object_object_get_ex(group, "eid", &val))
		field_print("EID", json_object_get_string(val), "");
	field_print("#Conns", ctl_json_text(group, "connections"), "");
	field_print("Sndbuf", ctl_json_text(group, "sndbuf_bytes"), " B");
	field_print("RMB", ctl_json_text(group, "rmb_bytes"), " B");
}

static void group_print(const struct smcr *s, struct json_object *group, bool first)
{
	if (s->list) {
		json_object_array_add(s->list, json_object_get(group));
		return;
	}
	if (s->details) {
		if (!first)
			putchar('\n');
		group_print_details(group);
		return;
	}
	printf("%08x %-8s %-8s %#4x  %6s  %s\n", json_to_hex(group, "id"), group_get_role(group),
	       group_get_type(group), atoi(ctl_json_text(group, "vlan")),
	       ctl_json_text(group, "connections"), ctl_json_text(group, "pnetid"));
}

/* Groups with details have no heading. */
static void smcr_print_heading(const struct smcr *s)
{
	if (s->list)
		return;
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

static void link_print(const struct smcr *s, struct json_object *group, struct json_object *link)
{
	if (s->list) {
		json_object_array_add(s->list, json_object_get(link));
		return;
	}
	printf("%08x %-8s %-8s %-15s %-15s %6s", json_to_hex(group, "id"), group_get_role(group),
	       group_get_type(group), ctl_json_text(link, "netdev"),
	       word_translate(ctl_json_text(link, "state")), ctl_json_text(link, "connections"));
	if (s->details)
		printf("  %08x  %08x  %-8s  %4s", json_to_hex(link, "uid"),
		       json_to_hex(link, "peer_uid"), ctl_json_text(link, "device"),
		       ctl_json_text(link, "port"));
	if (s->details > 1)
		printf("  %-40s  %s", ctl_json_text(link, "gid"), ctl_json_text(link, "peer_gid"));
	putchar('\n');
}

/* Return the number of links of a group that match the command line; print them if @print. */
static size_t links_print(const struct smcr *s, struct json_object *group,
			  struct json_object *links, bool print)
{
	size_t i, num = 0;

	for (i = 0; i < json_object_array_length(links); i++) {
		struct json_object *link = json_object_array_get_idx(links, i);

		if (json_to_hex(link, "group") != json_to_hex(group, "id") ||
		    !link_is_wanted(s, link))
			continue;
		if (print)
			link_print(s, group, link);
		num++;
	}
	return num;
}

static int linkgroups_print(const struct smcr *s)
{
	struct json_object *groups = json_object_new_array(), *links = json_object_new_array();
	int rc = ctl_linkgroup_read(groups);
	bool first = true;
	size_t i;

	if (rc == CTL_OK)
		rc = ctl_link_read(links);
	if (rc == CTL_OK)
		smcr_print_heading(s);
	for (i = 0; rc == CTL_OK && i < json_object_array_length(groups); i++) {
		struct json_object *group = json_object_array_get_idx(groups, i);
		bool any = !s->netdev && !s->ibdev;

		if (!group_is_wanted(s, group) ||
		    (!links_print(s, group, links, s->links) && !any) || s->links)
			continue;
		group_print(s, group, first);
		first = false;
	}
	json_object_put(groups);
	json_object_put(links);
	return rc;
}

/* ---- devices ---- */

static void port_print(const struct smcr *s, struct json_object *p)
{
	bool active = !strcmp(ctl_json_text(p, "state"), "active");
	char type[16];

	if (s->list) {
		json_object_array_add(s->list, json_object_get(p));
		return;
	}
	/* 0 for a device without a PCI function */
	snprintf(type, sizeof(type), "%#x", atoi(ctl_json_text(p, "pci_device")));
	printf("%-15s %-8s %4s  %8s  %-13s  %3s  ", ctl_json_text(p, "netdev"),
	       ctl_json_text(p, "device"), ctl_json_text(p, "port"),
	       active ? "ACTIVE" : "INACTIVE", type, json_to_yes_no(p, "critical"));
	if (s->details)
		printf(" %04x  %-12s  %04x  ", atoi(ctl_json_text(p, "pci_fid")),
		       ctl_json_text(p, "pci"), atoi(ctl_json_text(p, "pci_chid")));
	printf(" %5s   %s%s\n", ctl_json_text(p, "links"),
	       strcmp(ctl_json_text(p, "pnetid_by_user"), "true") ? "" : "*",
	       ctl_json_text(p, "pnetid"));
}

static int devices_print(const struct smcr *s)
{
	struct json_object *ports = json_object_new_array();
	int rc = ctl_device_read(ports);
	size_t i;

	if (rc == CTL_OK && !s->list) {
		printf("%-15s %-8s %-5s %-9s %-14s %-5s", "Net-Dev", "IB-Dev", "IB-P", "IB-State",
		       "Type", "Crit");
		if (s->details)
			printf(" %-5s %-13s %-6s", "FID", "PCI-ID", "PCHID");
		printf(" %-7s PNET-ID\n", "#Links");
	}
	for (i = 0; rc == CTL_OK && i < json_object_array_length(ports); i++) {
		struct json_object *port = json_object_array_get_idx(ports, i);

		if (link_is_wanted(s, port))
			port_print(s, port);
	}
	json_object_put(ports);
	return rc;
}

/* ---- words ---- */

/* Parse nothing, a group, or "type TYPE" and the like. Return false for anything else. */
static bool filter_parse(struct smcr *s, int argc, char **argv)
{
	if (!argc)
		return true;
	if (argc == 1)
		return s->one = ctl_num_parse(argv[0], 16, 0, 0xffffffff, &s->group);
	if (argc != 2)
		return false;
	if (word_matches(argv[0], "type"))
		s->type = argv[1];
	else if (word_matches(argv[0], "netdev"))
		s->netdev = argv[1];
	else if (word_matches(argv[0], "ibdev"))
		s->ibdev = argv[1];
	else
		return false;
	return true;
}

/* Complain about the object, or what follows it. */
static int usage_fail(const char *object)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(objects); i++)
		if (word_matches(object, objects[i][0]))
			break;
	if (i < ARRAY_SIZE(objects))
		ctl_error("%s is followed by:%s", objects[i][0],
			  *objects[i][1] ? objects[i][1] : " nothing");
	else if (*object)
		ctl_error("unknown object '%s', see smcr --help", object);
	else
		ctl_error("no object given, see smcr --help");
	return CTL_USAGE;
}

/* Print what one of these functions prints, or all of it as JSON. */
static int smcr_list(struct smcr *s, int (*print)(const struct smcr *s))
{
	int rc;

	if (s->json)
		s->list = json_object_new_array();
	rc = print(s);
	if (s->list && rc == CTL_OK)
		ctl_json_print(s->list);
	json_object_put(s->list);
	return rc;
}

/* Write the command in full; smcctl has no "all". */
static int ueid_run(const struct ctl_opts *opts, int argc, char **argv)
{
	const char *word = argc ? argv[0] : "";
	char full[16];

	if (ctl_word_complete(strcmp(word, "all") ? word : "show", "show add del flush", full,
			      sizeof(full)))
		argv[0] = full;
	return cmd_ueid(opts, argc, argv);
}

static int smcr_run(struct smcr *s, int argc, char **argv)
{
	struct ctl_opts opts = { .port = -1, .local_port = -1, .peer_port = -1, .json = s->json };
	const char *object = argc ? argv[0] : "";
	const char *word = argc > 1 ? argv[1] : "";
	bool show = word_matches(word, "show") || word_matches(word, "all"), json;

	if (word_matches(object, "help")) {
		smcr_print_usage();
		return CTL_OK;
	}
	if (word_matches(object, "linkgroup")) {
		s->links = word_matches(word, "link-show");
		argc -= 1 + (show || s->links);
		argv += 1 + (show || s->links);
		return filter_parse(s, argc, argv) ? smcr_list(s, linkgroups_print) :
			usage_fail(object);
	}
	if (word_matches(object, "device"))
		return filter_parse(s, argc - 1 - show, argv + 1 + show) && !s->one && !s->type ?
			smcr_list(s, devices_print) : usage_fail(object);
	if (word_matches(object, "ueid"))
		return ueid_run(&opts, argc - 1, argv + 1);
	if (word_matches(object, "stats") && *word && word_matches(word, "reset") && argc == 2) {
		ctl_error("counters cannot be reset: others read them, too; %s",
			  "smcctl watch prints rates, 'smcr stats json' can be subtracted");
		return CTL_FAILURE;
	}
	json = word_matches(object, "stats") && word_matches(word, "json");
	opts.json |= json;
	if (argc > 1 + (show || json))
		return usage_fail(object);
	if (word_matches(object, "info"))
		return cmd_info(&opts);
	if (word_matches(object, "stats"))
		return cmd_stats(&opts);
	return usage_fail(object);
}

/**
 * smcd_main() - smcctl called as smcd
 * @argc: number of arguments
 * @argv: arguments, starting with the name of the program
 *
 * Programs that look for SMC-D get a clear answer instead of "command not found".
 *
 * Return: exit status; CTL_NOTHING: there is no SMC-D.
 */
int smcd_main(int argc, char **argv)
{
	struct json_object *info = json_object_new_object();
	int rc = CTL_FAILURE;

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		puts("Usage: smcd [WORD]...\n"
		     "The module has no SMC-D: always exit status 3. See smcr for SMC-R.");
		rc = CTL_OK;
	} else if (argc == 2 && (!strcmp(argv[1], "-v") || !strcmp(argv[1], "--version"))) {
		puts("smcd of smcctl " SMC_TOOLS_VERSION);
		rc = CTL_OK;
	} else if (!ctl_module_is_loaded()) {
		ctl_error("no SMC module is loaded");
	} else if (ctl_info_read(info) == CTL_OK) {
		if (!strcmp(ctl_json_text(ctl_json_member(info, "module"), "name"), "AF_SMC")) {
			ctl_error("the loaded module has no SMC-D; see smcr for SMC-R");
			rc = CTL_NOTHING;
		} else {
			ctl_error("SMC-D of another module is shown by smcd of smc-tools");
		}
	}
	json_object_put(info);
	return rc;
}

/**
 * smcr_main() - smcctl called as smcr
 * @argc: number of arguments
 * @argv: arguments, starting with the name of the program
 *
 * Return: exit status.
 */
int smcr_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "details", no_argument, NULL, 'd' }, { "absolute", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	struct smcr s = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "adjhv", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			break;
		case 'd':
			s.details++;
			break;
		case 'j':
			s.json = true;
			break;
		case 'h':
			smcr_print_usage();
			return CTL_OK;
		case 'v':
			puts("smcr of smcctl " SMC_TOOLS_VERSION);
			return CTL_OK;
		default:
			return CTL_USAGE;
		}
	}
	return smcr_run(&s, argc - optind, argv + optind);
}
