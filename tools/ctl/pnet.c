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
#define NO_PORT		255	/* of an entry for a netdev */

/**
 * struct pnet_line - what the user wants to add
 * @id: PNET ID
 * @netdev: name, NULL for none
 * @ibdev: name or PCI ID, NULL for none
 * @port: of @ibdev
 */
struct pnet_line {
	const char *id;
	const char *netdev;
	char ibdev[IBDEV_MAX + 1];
	__u8 port;
};

static int on_entry(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_PNETID_MAX + 1];
	struct json_object *obj = json_object_new_object();
	__u64 port;

	ctl_parse_genl(nlh, tb, SMC_PNETID_MAX);
	json_object_array_add(data, obj);
	ctl_copy_str(obj, "pnetid", tb[SMC_PNETID_NAME]);
	/* the device that an entry is not for is "n/a" there */
	if (ctl_attr_uint(tb[SMC_PNETID_IBPORT], &port) && port != NO_PORT) {
		ctl_copy_str(obj, "device", tb[SMC_PNETID_IBNAME]);
		ctl_add_u64(obj, "port", port);
	} else {
		ctl_copy_str(obj, "netdev", tb[SMC_PNETID_ETHNAME]);
	}
	return MNL_CB_OK;
}

int ctl_pnet_read(struct json_object *entries)
{
	static const struct ctl_genl_req req = {
		.family = SMCR_GENL_FAMILY_NAME, .cmd = SMC_PNETID_GET,
		.what = "the PNET table", .dump = true,
	};
	int err = ctl_genl_run(&req, on_entry, entries);

	if (err)
		ctl_genl_failed(&req, err);
	return err ? CTL_FAILURE : CTL_OK;
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
		ctl_print_json(entries);
	else if (rc == CTL_OK)
		ctl_print_table(entries, cols, ARRAY_SIZE(cols));
	json_object_put(entries);
	return rc;
}

/* Says what is wrong before the kernel can only say EINVAL. */
static const char *id_fault(const char *id)
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

/* "rxe0" or "rxe0/2" */
static bool parse_ibdev(const char *text, struct pnet_line *line)
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

/* Pairs of a word and a name, each word once. */
static bool parse_devices(int argc, char **argv, struct pnet_line *line)
{
	for (; argc >= 2; argc -= 2, argv += 2) {
		if (!strcmp(argv[0], "netdev") && !line->netdev &&
		    strlen(argv[1]) <= NETDEV_MAX)
			line->netdev = argv[1];
		else if (strcmp(argv[0], "ibdev") || *line->ibdev || !parse_ibdev(argv[1], line))
			return false;
	}
	return !argc && (line->netdev || *line->ibdev);
}

static int change(struct ctl_genl_req *req, const char *id)
{
	int err = ctl_genl_run(req, NULL, NULL);

	switch (err) {
	case 0:
		return CTL_OK;
	case EEXIST:
		ctl_fail("one of the devices has another PNET ID, or all have %s already", id);
		break;
	case ENOENT:
		ctl_fail("there is no PNET ID %s", id);
		break;
	case EINVAL:
		ctl_fail("the kernel does not accept these names");
		break;
	case ENOSPC:
		ctl_fail("the PNET table is full");
		break;
	default:
		ctl_genl_failed(req, err);
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

	if (!parse_devices(argc - 1, argv + 1, &line)) {
		ctl_fail("pnet add ID is followed by: netdev NAME, ibdev NAME[/PORT], or both");
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
	return change(&req, line.id);
}

static int pnet_del(const char *id)
{
	struct ctl_attr attr = { .type = SMC_PNETID_NAME, .str = id };
	struct ctl_genl_req req = {
		.family = SMCR_GENL_FAMILY_NAME, .cmd = SMC_PNETID_DEL,
		.what = "changing the PNET table", .attrs = &attr, .num_attrs = 1,
	};

	return change(&req, id);
}

static int pnet_flush(void)
{
	struct ctl_genl_req req = {
		.family = SMCR_GENL_FAMILY_NAME, .cmd = SMC_PNETID_FLUSH,
		.what = "flushing the PNET table",
	};

	return change(&req, "");
}

int ctl_pnet(const struct ctl_opts *opts, int argc, char **argv)
{
	const char *fault;

	if (argc == 0 || (argc == 1 && !strcmp(argv[0], "show")))
		return pnet_show(opts);
	if (argc == 1 && !strcmp(argv[0], "flush"))
		return pnet_flush();
	if (argc < 2 || (strcmp(argv[0], "add") && (argc > 2 || strcmp(argv[0], "del")))) {
		ctl_fail("pnet is followed by: show, add ID DEVICE..., del ID or flush");
		return CTL_USAGE;
	}
	fault = id_fault(argv[1]);
	if (fault) {
		ctl_fail("'%s' is no PNET ID: %s", argv[1], fault);
		return CTL_USAGE;
	}
	if (!strcmp(argv[0], "add"))
		return pnet_add(argc - 1, argv + 1);
	return pnet_del(argv[1]);
}
