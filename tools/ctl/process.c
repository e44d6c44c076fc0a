// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: processes that have descriptors of sockets, from /proc.
 */
#include "smcctl.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sock_add_process(struct json_object *sock, const char *pid)
{
	struct json_object *list = ctl_json_member(sock, "processes"), *obj;
	size_t num = json_object_array_length(list);
	const char *before = ctl_json_text(sock, "who");
	char path[280], line[64], command[64], text[256];

	/* a second descriptor of the same process */
	if (num && !strcmp(ctl_json_text(json_object_array_get_idx(list, num - 1), "pid"), pid))
		return;
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	ctl_line_read(path, line, sizeof(line));
	ctl_str_clean(command, sizeof(command), line, strlen(line));
	obj = json_object_new_object();
	ctl_json_add_u64(obj, "pid", strtoul(pid, NULL, 10));
	ctl_json_add_str(obj, "command", command);
	json_object_array_add(list, obj);
	snprintf(text, sizeof(text), "%.180s%s%s(%s)", before, *before ? " " : "", command, pid);
	ctl_json_add_str(sock, "who", text);
}

/* Add a process to the sockets if one of its descriptors, @link, is a listed socket. */
static void socks_match_fd(struct json_object *socks, const char *pid, const char *link)
{
	unsigned long inode;
	size_t i;

	if (sscanf(link, "socket:[%lu]", &inode) != 1)
		return;
	for (i = 0; i < json_object_array_length(socks); i++) {
		struct json_object *s = json_object_array_get_idx(socks, i);

		if (ctl_json_u64(s, "inode") == inode)
			sock_add_process(s, pid);
	}
}

static void socks_match_process(struct json_object *socks, const char *pid)
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
		socks_match_fd(socks, pid, target);
	}
	closedir(dir);
}

/**
 * ctl_processes_find() - find the processes that have a descriptor of a socket
 * @socks: sockets with their inode numbers; each gets its list of processes, and as text "who" if
 *	there is one
 *
 * Without privileges only the processes of the same user are found.
 *
 * Return: 0 or an errno number.
 */
int ctl_processes_find(struct json_object *socks)
{
	struct dirent *d;
	size_t i;
	DIR *dir;

	for (i = 0; i < json_object_array_length(socks); i++)
		json_object_object_add(json_object_array_get_idx(socks, i), "processes",
				       json_object_new_array());
	dir = opendir("/proc");
	if (!dir)
		return errno;
	while ((d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			socks_match_process(socks, d->d_name);
	closedir(dir);
	return 0;
}
