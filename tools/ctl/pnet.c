// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: the PNET table.
 */
#include "smcctl.h"

#include <ctype.h>
#include <errno.h>
#include <linux/smc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_MAX		16
#define NETDEV_MAX	15
#define IBDEV_MAX	63
#define NO_PORT		255	/* port of an entry for a netdev */

/**
 * struct pnet_line - entry to add
 * @id: PNET ID
 * @netdev: name of the network device, NULL: none
 * @ibdev: name or PCI ID of the RoCE device, "": none
 * @port: port of @ibdev
 */
struct pnet_line {
	const char *id;
	const char *netdev;
	char ibdev[IBDEV_MAX + 1];
	__u8 port;
};

static int pnet_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_PNETID_MAX + 1];
	struct json_object *obj = json_object_new_object();
	__u64 port;

	ctl_nla_parse_genl(nlh, tb, SMC_PNETID_MAX);
	json_object_array_add(data, obj);
	ctl_json_copy_str(obj, "pnetid", tb[SMC_PNETID_NAME]);
	/* an entry has one device; the name of the other one is "n/a" */
	if (ctl_nla_get_uint(tb[SMC_PNETID_IBPORT], &port) && port != NO_PORT) {
		ctl_json_copy_str(obj, "device", tb[SMC_PNETID_IBNAME]);
		ctl_json_add_u64(obj, "port", port);
	} else {
		ctl_json_copy_str(obj, "netdev", tb[SMC_PNETID_ETHNAME]);
	}
	return MNL_CB_OK;
}

/**
 * ctl_pnet_read() - read the PNET table
 * @entries: array, entries are appended
 *
 * Return: exit status; an error message was printed for a failure.
 */
int ctl_pnet_read(struct json_object *entries)
{
	static const struct ctl_genl_req req = {
		.family = SMCR_GENL_FAMILY_NAME, .cmd = SMC_PNETID_GET,
		.what = "the PNET table", .dump = true,
	};

	return ctl_genl_request(&req, pnet_cb, entries);
}

static int pnet_show(const struct ctl_opts *opts)
{
	static const struct ctl_column cols[] = {
		{ "PNETID", "pnetid" }, { "NETDEV", "netdev" }, { "DEVICE", "device" },
		{ "PORT", "port" },
	};
	struct json_object *entries = json_object_new_array();
	int rc = ctl_pnet_read(entries);

	if (rc == CTL_OK && opts->json)
		ctl_json_print(entries);
	else if (rc == CTL_OK)
		ctl_table_print(entries, cols, ARRAY_SIZE(cols));
	json_object_put(entries);
	return rc;
}

/* Return what is wrong with a PNET ID, or NULL. The kernel would only return EINVAL. */
static const char *pnetid_find_fault(const char *id)
{
	size_t i;

	if (!*id)
		return "it is empty";
	if (strlen(id) > ID_MAX)
		return "it has more than 16 characters";
	for (i = 0; id[i]; i++)
		if (!isascii(id[i]) || !isalnum((unsigned char)id[i]))
			return "only letters and digits may be used";
	return NULL;
}

/* Parse "rxe0" or "rxe0/2". */
static bool ibdev_parse(const char *text, struct pnet_line *line)
{
	const char *slash = strrchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);

	line->port = 1;
	if (slash) {
		if (slash[1] < '1' || slash[1] > '9' || slash[2])
			return false;
		line->port = (__u8)(slash[1] - '0');
	}
	if (!len || len > IBDEV_MAX)
		return false;
	memcpy(line->ibdev, text, len);
	line->ibdev[len] = '\0';
	return true;
}

/* Parse "netdev NAME" and "ibdev NAME[/PORT]", each at most once. */
static bool devices_parse(int argc, char **argv, struct pnet_line *line)
{
	for (; argc >= 2; argc -= 2, argv += 2) {
		if (!strcmp(argv[0], "netdev") && !line->netdev &&
		    strlen(argv[1]) <= NETDEV_MAX)
			line->netdev = argv[1];
		else if (strcmp(argv[0], "ibdev") || *line->ibdev || !ibdev_parse(argv[1], line))
			return false;
	}
	return !argc && (line->netdev || *line->ibdev);
}

static int pnet_modify(struct ctl_genl_req *req, const char *id)
{
	int err = ctl_genl_run(req, NULL, NULL);

	switch (err) {
	case 0:
		return CTL_OK;
	case EEXIST:
		ctl_error("one of the devices has another PNET ID, or all have %s already", id);
		break;
	case ENOENT:
		ctl_error("there is no PNET ID %s", id);
		break;
	case EINVAL:
		ctl_error("the kernel does not accept these names");
		break;
	case ENOSPC:
		ctl_error("the PNET table is full");
		break;
	default:
		ctl_genl_print_error(req, err);
	}
	return CTL_FAILURE;
}

static int pnet_add(int argc, char **argv)
{
	struct pnet_line line = { .id = argv[0] };
	struct ctl_attr attrs[4];
	struct ctl_genl_req req = {
		.family = SMCR_GENL_FAMILY_NAME, .cmd = SMC_PNETID_ADD,
		.what = "changing the PNET table", .attrs = attrs,
	};

	if (!devices_parse(argc - 1, argv + 1, &line)) {
		ctl_error("pnet add ID is followed by: netdev NAME, ibdev NAME[/PORT], or both");
		return CTL_USAGE;
	}
	attrs[req.num_attrs++] = (struct ctl_attr){ .type = SMC_PNETID_NAME, .str = line.id };
	if (line.netdev)
		attrs[req.num_attrs++] = (struct ctl_attr){ .type = SMC_PNETID_ETHNAME,
							    .str = line.netdev };
	if (*line.ibdev) {
		attrs[req.num_attrs++] = (struct ctl_attr){ .type = SMC_PNETID_IBNAME,
							    .str = line.ibdev };
		attrs[req.num_attrs++] = (struct ctl_attr){ .type = SMC_PNETID_IBPORT,
							    .num = line.port };
	}
	return pnet_modify(&req, line.id);
}

static int pnet_del(const char *id)
{
	struct ctl_attr attr = { .type = SMC_PNETID_NAME, .str = id };
	struct ctl_genl_req req = {
		.family = SMCR_GENL_FAMILY_NAME, .cmd = SMC_PNETID_DEL,
		.what = "changing the PNET table", .attrs = &attr, .num_attrs = 1,
	};

	return pnet_modify(&req, id);
}

static int pnet_flush(void)
{
	struct ctl_genl_req req = {
		.family = SMCR_GENL_FAMILY_NAME, .cmd = SMC_PNETID_FLUSH,
		.what = "flushing the PNET table",
	};

	return pnet_modify(&req, "");
}

/**
 * cmd_pnet() - smcctl pnet [show], add ID DEVICE..., del ID, flush
 * @opts: command line, NULL except for show
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_pnet(const struct ctl_opts *opts, int argc, char **argv)
{
	const char *fault;

	if (argc == 0 || (argc == 1 && !strcmp(argv[0], "show")))
		return pnet_show(opts);
	if (argc == 1 && !strcmp(argv[0], "flush"))
		return pnet_flush();
	if (argc < 2 || (strcmp(argv[0], "add") && (argc > 2 || strcmp(argv[0], "del")))) {
		ctl_error("pnet is followed by: show, add ID DEVICE..., del ID or flush");
		return CTL_USAGE;
	}
	fault = pnetid_find_fault(argv[1]);
	if (fault) {
		ctl_error("'%s' is no PNET ID: %s", argv[1], fault);
		return CTL_USAGE;
	}
	if (!strcmp(argv[0], "add"))
		return pnet_add(argc - 1, argv + 1);
	return pnet_del(argv[1]);
}
