// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: who keeps the module from being removed.
 *
 * The kernel knows the sockets of all namespaces and their inode numbers; which processes
 * have descriptors of these is in /proc.
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

static void add_process(struct json_object *holder, const char *pid, const char *command)
{
	struct json_object *obj = json_object_new_object(), *list = NULL;
	const char *before = ctl_text_of(holder, "who");
	char text[256];

	ctl_add_u64(obj, "pid", strtoul(pid, NULL, 10));
	ctl_add_str(obj, "command", command);
	json_object_object_get_ex(holder, "processes", &list);
	json_object_array_add(list, obj);
	snprintf(text, sizeof(text), "%.180s%s%s(%s)", before, *before ? " " : "", command, pid);
	ctl_add_str(holder, "who", text);
}

static void read_command(const char *pid, char *buf, size_t size)
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
	ctl_clean_str(buf, size, line, strlen(line));
}

/* One descriptor of a process: does it stand for one of our sockets? */
static void match_fd(struct json_object *holders, const char *pid, const char *link)
{
	unsigned long inode;
	char command[64];
	size_t i;

	if (sscanf(link, "socket:[%lu]", &inode) != 1)
		return;
	for (i = 0; i < json_object_array_length(holders); i++) {
		struct json_object *h = json_object_array_get_idx(holders, i);

		if (strtoul(ctl_text_of(h, "inode"), NULL, 10) != inode)
			continue;
		read_command(pid, command, sizeof(command));
		add_process(h, pid, command);
	}
}

static void match_process(struct json_object *holders, const char *pid)
{
	char path[280], target[64];
	struct dirent *d;
	ssize_t n;
	DIR *dir;
	int len;

	len = snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return;		/* it has ended */
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path + len, sizeof(path) - len, "/%s", d->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		match_fd(holders, pid, target);
	}
	closedir(dir);
}

static int find_processes(struct json_object *holders)
{
	struct dirent *d;
	DIR *dir;

	dir = opendir("/proc");
	if (!dir)
		return errno;
	while ((d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			match_process(holders, d->d_name);
	closedir(dir);
	return 0;
}

static int read_sockets(struct json_object *holders)
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
		ctl_add_u64(obj, "netns", ns);
		ctl_add_u64(obj, "inode", inode);
		ctl_add_u64(obj, "uid", uid);
		ctl_add_str(obj, "mode", mode);
		json_object_object_add(obj, "processes", json_object_new_array());
		json_object_array_add(holders, obj);
	}
	fclose(f);
	return 0;
}

/* A socket may wait for accept(), or be in a message or a ring of io_uring. */
static void name_rest(struct json_object *holders)
{
	size_t i;

	for (i = 0; i < json_object_array_length(holders); i++) {
		struct json_object *h = json_object_array_get_idx(holders, i);

		if (*ctl_text_of(h, "who"))
			continue;
		ctl_add_str(h, "who", strtoul(ctl_text_of(h, "inode"), NULL, 10) ?
			    "no process: in a message or io_uring" : "not yet accepted");
	}
}

static void print_modules(void)
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

int ctl_holders(const struct ctl_opts *opts)
{
	static const struct ctl_column cols[] = {
		{ "NETNS", "netns" }, { "INODE", "inode" }, { "UID", "uid" },
		{ "MODE", "mode" }, { "PROCESSES", "who" },
	};
	struct json_object *holders = json_object_new_array();
	int err = read_sockets(holders);

	if (!err)
		err = find_processes(holders);
	if (!err) {
		name_rest(holders);
		if (opts->json) {
			ctl_print_json(holders);
		} else {
			ctl_print_table(holders, cols, ARRAY_SIZE(cols));
			print_modules();
		}
	} else if (err == ENOENT) {
		ctl_fail("no %s: the module is not loaded, or this is not the host's first %s",
			 HOLDERS, "network namespace");
	} else {
		ctl_fail(HOLDERS ": %s", strerror(err));
	}
	json_object_put(holders);
	return err ? CTL_FAILURE : CTL_OK;
}
