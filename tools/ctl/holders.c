// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: sockets and modules that prevent the module from being unloaded.
 *
 * The module lists the sockets of all network namespaces with their inode numbers. /proc shows
 * which processes have descriptors of these sockets.
 */
#include "smcctl.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOLDERS	"/proc/net/smc_holders"
#define MODULES	"/sys/module/smc/holders"

static void holder_add_process(struct json_object *holder, const char *pid, const char *command)
{
	struct json_object *obj = json_object_new_object(), *list = NULL;
	const char *before = ctl_json_text(holder, "who");
	char text[256];

	ctl_json_add_u64(obj, "pid", strtoul(pid, NULL, 10));
	ctl_json_add_str(obj, "command", command);
	json_object_object_get_ex(holder, "processes", &list);
	json_object_array_add(list, obj);
	snprintf(text, sizeof(text), "%.180s%s%s(%s)", before, *before ? " " : "", command, pid);
	ctl_json_add_str(holder, "who", text);
}

static void process_read_command(const char *pid, char *buf, size_t size)
{
	char path[280], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "r");
	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		fclose(f);
	}
	line[strcspn(line, "\n")] = '\0';
	ctl_str_clean(buf, size, line, strlen(line));
}

/* Add a process to the holders if one of its descriptors, @link, is a listed socket. */
static void holders_match_fd(struct json_object *holders, const char *pid, const char *link)
{
	unsigned long inode;
	char command[64];
	size_t i;

	if (sscanf(link, "socket:[%lu]", &inode) != 1)
		return;
	for (i = 0; i < json_object_array_length(holders); i++) {
		struct json_object *h = json_object_array_get_idx(holders, i);

		if (strtoul(ctl_json_text(h, "inode"), NULL, 10) != inode)
			continue;
		process_read_command(pid, command, sizeof(command));
		holder_add_process(h, pid, command);
	}
}

static void holders_match_process(struct json_object *holders, const char *pid)
{
	char path[280], target[64];
	struct dirent *d;
	ssize_t n;
	DIR *dir;
	int len;

	len = snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return;		/* the process has ended */
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path + len, sizeof(path) - len, "/%s", d->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		holders_match_fd(holders, pid, target);
	}
	closedir(dir);
}

static int holders_find_processes(struct json_object *holders)
{
	struct dirent *d;
	DIR *dir;

	dir = opendir("/proc");
	if (!dir)
		return errno;
	while ((d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			holders_match_process(holders, d->d_name);
	closedir(dir);
	return 0;
}

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
		json_object_object_add(obj, "processes", json_object_new_array());
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
		err = holders_find_processes(holders);
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
