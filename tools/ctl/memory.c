// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: rings and RMBEs of the connections, summed by user, process or cgroup.
 */
#include "smcctl.h"

#include <stdio.h>
#include <string.h>

enum memory_by {
	MEMORY_BY_USER,
	MEMORY_BY_PROCESS,
	MEMORY_BY_CGROUP,
};

static const char * const titles[][2] = {
	[MEMORY_BY_USER] = { "UID", "user" },
	[MEMORY_BY_PROCESS] = { "PROCESS", "process" },
	[MEMORY_BY_CGROUP] = { "CGROUP", "cgroup" },
};

/* The path in the unified hierarchy: the line that begins with "0::". */
static void cgroup_read(unsigned long pid, char *name, size_t size)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%lu/cgroup", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::", 3))
			continue;
		line[strcspn(line, "\n")] = '\0';
		ctl_str_clean(name, size, line + 3, strlen(line + 3));
		break;
	}
	if (f)
		fclose(f);
}

/*
 * Name what the memory of a socket is added to. That of several processes is the first one's, so
 * that sums count each byte once.
 */
static void sum_name(struct json_object *sock, enum memory_by by, char *name, size_t size)
{
	struct json_object *list = ctl_json_member(sock, "processes"), *first;
	unsigned long pid;

	if (by == MEMORY_BY_USER) {
		snprintf(name, size, "%s", ctl_json_text(sock, "uid"));
		return;
	}
	snprintf(name, size, "none is known");
	first = json_object_array_length(list) ? json_object_array_get_idx(list, 0) : NULL;
	pid = ctl_json_u64(first, "pid");
	if (first && by == MEMORY_BY_PROCESS)
		snprintf(name, size, "%s(%lu)", ctl_json_text(first, "command"), pid);
	else if (first)
		cgroup_read(pid, name, size);
}

static void sum_add(struct json_object *sum, const char *key, __u64 val)
{
	ctl_json_add_u64(sum, key, ctl_json_u64(sum, key) + val);
}

static struct json_object *sums_find(struct json_object *sums, const char *key, const char *name)
{
	struct json_object *sum;
	size_t i;

	for (i = 0; i < json_object_array_length(sums); i++) {
		sum = json_object_array_get_idx(sums, i);
		if (!strcmp(ctl_json_text(sum, key), name))
			return sum;
	}
	sum = json_object_new_object();
	ctl_json_add_str(sum, key, name);
	json_object_array_add(sums, sum);
	return sum;
}

static void sums_add_sock(struct json_object *sums, struct json_object *sock, enum memory_by by)
{
	struct json_object *conn = ctl_json_member(sock, "connection"), *sum;
	__u64 ring = ctl_json_u64(conn, "sndbuf_size"), rmbe = ctl_json_u64(conn, "rmbe_size");
	char name[256];

	if (!conn)
		return;
	sum_name(sock, by, name, sizeof(name));
	sum = sums_find(sums, titles[by][1], name);
	sum_add(sum, "connections", 1);
	sum_add(sum, "send_ring_bytes", ring);
	sum_add(sum, "rmbe_bytes", rmbe);
	sum_add(sum, "bytes", ring + rmbe);
}

/* For json_object_array_sort(): most memory first. */
static int sum_compare(const void *a, const void *b)
{
	__u64 x = ctl_json_u64(*(struct json_object * const *)a, "bytes");
	__u64 y = ctl_json_u64(*(struct json_object * const *)b, "bytes");

	return x < y ? 1 : x > y ? -1 : 0;
}

static int memory_run(const struct ctl_opts *opts, enum memory_by by)
{
	const struct ctl_opts all = { .port = -1, .local_port = -1, .peer_port = -1 };
	const struct ctl_column cols[] = {
		{ "CONNECTIONS", "connections" }, { "SEND-RINGS", "send_ring_bytes" },
		{ "RMBES", "rmbe_bytes" }, { "BYTES", "bytes" },
		{ titles[by][0], titles[by][1] },
	};
	struct json_object *socks = json_object_new_array(), *sums = json_object_new_array();
	int rc = ctl_sock_read(&all, socks);
	size_t i;

	if (rc == CTL_OK && by != MEMORY_BY_USER)
		ctl_processes_find(socks);
	for (i = 0; rc == CTL_OK && i < json_object_array_length(socks); i++)
		sums_add_sock(sums, json_object_array_get_idx(socks, i), by);
	if (rc == CTL_OK) {
		json_object_array_sort(sums, sum_compare);
		if (opts->json)
			ctl_json_print(sums);
		else
			ctl_table_print(sums, cols, ARRAY_SIZE(cols));
	}
	json_object_put(socks);
	json_object_put(sums);
	return rc;
}

/**
 * cmd_memory() - smcctl memory [by user|process|cgroup]
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_memory(const struct ctl_opts *opts, int argc, char **argv)
{
	enum memory_by by = MEMORY_BY_USER;
	char word[16];

	if (argc == 2 && !strcmp(argv[0], "by") &&
	    ctl_word_complete(argv[1], "user process cgroup", word, sizeof(word))) {
		while (strcmp(titles[by][1], word))
			by++;
	} else if (argc > 1 || (argc && strcmp(argv[0], "show"))) {
		ctl_error("memory is followed by: by user, by process, by cgroup, or nothing");
		return CTL_USAGE;
	}
	return memory_run(opts, by);
}
