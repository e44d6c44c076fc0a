// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: sockets and modules that prevent the module from being unloaded.
 *
 * The module lists the sockets of all network namespaces with their inode numbers.
 */
#include "smcctl.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDERS	"/proc/net/smc_holders"
#define MODULES	"/sys/module/smc/holders"

static int holders_read(struct json_object *holders)
{
	unsigned long inode;
	unsigned int ns, uid;
	char line[128], mode[32];
	FILE *f;

	f = fopen(HOLDERS, "r");
	if (!f)
		return errno;
	while (fgets(line, sizeof(line), f)) {
		struct json_object *obj;

		if (sscanf(line, "%u %lu %u %31s", &ns, &inode, &uid, mode) != 4)
			continue;	/* the heading */
		obj = json_object_new_object();
		ctl_json_add_u64(obj, "netns", ns);
		ctl_json_add_u64(obj, "inode", inode);
		ctl_json_add_u64(obj, "uid", uid);
		ctl_json_add_str(obj, "mode", mode);
		json_object_array_add(holders, obj);
	}
	fclose(f);
	return 0;
}

/* Describe sockets without a process: before accept(), in a message, in an io_uring. */
static void holders_describe_rest(struct json_object *holders)
{
	size_t i;

	for (i = 0; i < json_object_array_length(holders); i++) {
		struct json_object *h = json_object_array_get_idx(holders, i);

		if (*ctl_json_text(h, "who"))
			continue;
		ctl_json_add_str(h, "who", strtoul(ctl_json_text(h, "inode"), NULL, 10) ?
				 "no process: in a message or io_uring" : "not yet accepted");
	}
}

static void modules_print(void)
{
	struct dirent *d;
	DIR *dir;

	dir = opendir(MODULES);
	if (!dir)
		return;
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			printf("module %s\n", d->d_name);
	closedir(dir);
}

/**
 * cmd_holders() - smcctl holders
 * @opts: command line
 *
 * Return: exit status.
 */
int cmd_holders(const struct ctl_opts *opts)
{
	static const struct ctl_column cols[] = {
		{ "NETNS", "netns" }, { "INODE", "inode" }, { "UID", "uid" },
		{ "MODE", "mode" }, { "PROCESSES", "who" },
	};
	struct json_object *holders = json_object_new_array();
	int err = holders_read(holders);

	if (!err)
		err = ctl_processes_find(holders);
	if (!err) {
		holders_describe_rest(holders);
		if (opts->json) {
			ctl_json_print(holders);
		} else {
			ctl_table_print(holders, cols, ARRAY_SIZE(cols));
			modules_print();
		}
	} else if (err == ENOENT) {
		ctl_error("no %s: the module is not loaded, or this is not the host's first %s",
			  HOLDERS, "network namespace");
	} else {
		ctl_error(HOLDERS ": %s", strerror(err));
	}
	json_object_put(holders);
	return err ? CTL_FAILURE : CTL_OK;
}
