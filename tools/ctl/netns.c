// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: the network namespaces of this host: those with a name below /run/netns, as ip-netns(8)
 * makes them, and those of processes.
 *
 * All stay open until the last one was visited: none gets the number of another one.
 */
#define _GNU_SOURCE
#include "smcctl.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES "/run/netns"
#define LABEL_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define LABEL_HOST "host"

/**
 * struct netns - an open network namespace
 * @fd: descriptor
 * @ino: its number, as in /proc/PID/ns/net
 * @label: what users call it
 */
struct netns {
	int fd;
	ino_t ino;
	char label[CTL_NETNS_LABEL];
};

/**
 * struct netns_list - network namespaces of the host, each once
 * @num: number of @all
 * @left_out: further ones beyond the limit
 * @all: in the order in which they were found: that of process 1, names, processes
 */
struct netns_list {
	unsigned int num;
	unsigned int left_out;
	struct netns all[CTL_NETNS_MAX];
};

/* The namespace, its process or its name has gone meanwhile; EINVAL: only its name is left. */
static bool errno_is_gone(int err)
{
	return err == ENOENT || err == ESRCH || err == ENOTDIR || err == EINVAL;
}

/* A label has no byte that needs care, and is no longer than usual names. */
static bool name_is_label(const char *name)
{
	size_t len = strspn(name, LABEL_CHARS);

	return len && !name[len] && len < CTL_NETNS_LABEL && strcmp(name, LABEL_HOST);
}

/*
 * Add the namespace of a file unless the list has it. @name: its label, NULL: its number.
 * Return 0, also for one that has ended, or an errno number.
 */
static int netns_add(struct netns_list *list, const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct netns *ns;
	struct stat st;
	unsigned int i;

	if (fd < 0) {
		/* EACCES: a process that has just ended; that of process 1 has shown the right */
		return errno_is_gone(errno) || (errno == EACCES && list->num) ? 0 : errno;
	}
	if (fstat(fd, &st)) {
		int err = errno;

		close(fd);
		return err;
	}
	for (i = 0; i < list->num && list->all[i].ino != st.st_ino; i++)
		;
	if (i < list->num || list->num == CTL_NETNS_MAX) {
		/* one that is beyond the limit counts once for each of its processes */
		list->left_out += i == list->num;
		close(fd);
		return 0;
	}
	ns = &list->all[list->num++];
	ns->fd = fd;
	ns->ino = st.st_ino;
	if (name)
		snprintf(ns->label, sizeof(ns->label), "%s", name);
	else
		snprintf(ns->label, sizeof(ns->label), "net:[%lu]", (unsigned long)ns->ino);
	return 0;
}

static int name_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int name_is_listed(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* In the order of names: of two names of one namespace it is always the same that counts. */
static int netns_add_names(struct netns_list *list)
{
	struct dirent **names = NULL;
	int i, num, err = 0;
	char path[512];

	num = scandir(NAMES, &names, name_is_listed, name_compare);
	if (num < 0)
		return errno_is_gone(errno) ? 0 : errno;
	for (i = 0; i < num; i++) {
		const char *name = names[i]->d_name;

		snprintf(path, sizeof(path), NAMES "/%s", name);
		if (!err)
			err = netns_add(list, path, name_is_label(name) ? name : NULL);
		free(names[i]);
	}
	free(names);
	return err;
}

static int netns_add_processes(struct netns_list *list)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	char path[512];
	int err = 0;

	if (!dir)
		return errno;
	while (!err && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/ns/net", d->d_name);
		err = netns_add(list, path, NULL);
	}
	closedir(dir);
	return err;
}

/* Enter each namespace of the list. A name whose namespace has gone is an ordinary file: EINVAL. */
static int netns_visit(const struct netns_list *list, int (*visit)(const char *label, void *data),
		       void *data, int *rc)
{
	unsigned int i;

	for (i = 0; i < list->num; i++) {
		if (!setns(list->all[i].fd, CLONE_NEWNET)) {
			int one = visit(list->all[i].label, data);

			if (*rc == CTL_OK)
				*rc = one;
		} else if (!errno_is_gone(errno)) {
			return errno;
		}
	}
	return 0;
}

/**
 * ctl_netns_for_each() - do something in each network namespace of the host
 * @visit: called in each one with its label: "host" for that of process 1, the name below
 *	/run/netns, or net:[N] with the number N for one without a name; returns an exit status
 * @data: argument of @visit
 * @left_out: result: more than 0 if there were more than CTL_NETNS_MAX
 *
 * One that ends meanwhile is left out silently. The caller is in its own namespace afterwards.
 *
 * Return: the first status of @visit that is not CTL_OK; CTL_FAILURE after an error message.
 */
int ctl_netns_for_each(int (*visit)(const char *label, void *data), void *data,
		       unsigned int *left_out)
{
	static struct netns_list list;
	int own, err = 0, rc = CTL_OK;

	list.num = 0;
	list.left_out = 0;
	own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	/* first: without the right, one of the further steps would fail in its own way */
	if (own < 0 || setns(own, CLONE_NEWNET))
		err = errno;
	if (!err)
		err = netns_add(&list, "/proc/1/ns/net", LABEL_HOST);
	if (!err)
		err = netns_add_names(&list);
	if (!err)
		err = netns_add_processes(&list);
	if (!err)
		err = netns_visit(&list, visit, data, &rc);
	if (own >= 0 && setns(own, CLONE_NEWNET) && !err)
		err = errno;
	if (own >= 0)
		close(own);
	while (list.num)
		close(list.all[--list.num].fd);
	*left_out = list.left_out;
	if (err == EPERM || err == EACCES)
		ctl_error("--netns all needs the rights CAP_SYS_ADMIN and CAP_SYS_PTRACE (root)");
	else if (err)
		ctl_error("network namespaces: %s", strerror(err));
	return err ? CTL_FAILURE : rc;
}
