// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake host for tests of smc_cgroup, a library preloaded into it. Settings in the environment:
 *   FAKE_LACKS   what the host lacks: btf, hook, bpffs, cgroup2
 *   FAKE_SOCKET  errno of sockets of IPPROTO_SMC
 *   FAKE_LOAD    errno of loading the BPF programs, which are never loaded
 *   FAKE_PINS    folder that stands for /sys/fs/bpf/smc_cgroup
 *   FAKE_HANDLE  errno of opening the cgroups named in FAKE_PINS
 *   FAKE_OWNER   user identifier of the owner of all files
 *   FAKE_NETNS   folder that stands for /run/netns
 *   FAKE_PROC    folder that stands for /proc where namespaces are searched, without /proc/self
 *   FAKE_COOKIE  cookie of all network namespaces
 *   FAKE_SETNS   errno of entering a network namespace
 *   FAKE_OTHER   type of the namespace in which the host is, but not in the first one: pid, time
 */
#define _GNU_SOURCE
#include "smc_tools.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

int fake_statfs(const char *path, struct statfs *fs) __asm__("statfs") SMC_EXPORTED;
int fake_socket(int domain, int type, int protocol) __asm__("socket") SMC_EXPORTED;
struct btf *fake_load_vmlinux_btf(void)
	__asm__("btf__load_vmlinux_btf") SMC_EXPORTED;
__s32 fake_btf_find(const struct btf *types, const char *name, __u32 kind)
	__asm__("btf__find_by_name_kind") SMC_EXPORTED;
int fake_skeleton_load(struct bpf_object_skeleton *skel)
	__asm__("bpf_object__load_skeleton") SMC_EXPORTED;
DIR *fake_opendir(const char *path) __asm__("opendir") SMC_EXPORTED;
int fake_rmdir(const char *path) __asm__("rmdir") SMC_EXPORTED;
int fake_unlink(const char *path) __asm__("unlink") SMC_EXPORTED;
int fake_mkdir(const char *path, mode_t mode) __asm__("mkdir") SMC_EXPORTED;
int fake_access(const char *path, int mode) __asm__("access") SMC_EXPORTED;
int fake_open(const char *path, int flags, ...) __asm__("open") SMC_EXPORTED;
int fake_fstat(int fd, struct stat *st) __asm__("fstat") SMC_EXPORTED;
int fake_stat(const char *path, struct stat *st) __asm__("stat") SMC_EXPORTED;
int fake_setns(int fd, int type) __asm__("setns") SMC_EXPORTED;
int fake_getsockopt(int fd, int level, int option, void *val, socklen_t *len)
	__asm__("getsockopt") SMC_EXPORTED;
int fake_open_handle(int mount, struct file_handle *handle, int flags)
	__asm__("open_by_handle_at") SMC_EXPORTED;

#define PINS "/sys/fs/bpf/smc_cgroup"

static bool host_lacks(const char *what)
{
	const char *list = getenv("FAKE_LACKS");

	return list && strstr(list, what);
}

static int env_get_number(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : 0;
}

int fake_statfs(const char *path, struct statfs *fs)
{
	memset(fs, 0, sizeof(*fs));
	if (!strcmp(path, "/sys/fs/bpf") && !host_lacks("bpffs"))
		fs->f_type = BPF_FS_MAGIC;
	if (!strcmp(path, "/sys/fs/cgroup") && !host_lacks("cgroup2"))
		fs->f_type = CGROUP2_SUPER_MAGIC;
	return 0;
}

/* The caller only closes the socket, or reads a fake option of it, so any socket will do. */
int fake_socket(int domain, int type, int protocol)
{
	bool smc = protocol == 256 && (domain == AF_INET || domain == AF_INET6);
	int fds[2];

	errno = smc ? env_get_number("FAKE_SOCKET") : 0;
	if (errno || (!smc && domain != AF_UNIX))
		return -1;
	if (socketpair(AF_UNIX, type, 0, fds))
		return -1;
	return fds[0];
}

struct btf *fake_load_vmlinux_btf(void)
{
	if (host_lacks("btf")) {
		errno = ENOENT;
		return NULL;
	}
	return btf__new_empty();
}

__s32 fake_btf_find(const struct btf *types, const char *name, __u32 kind)
{
	(void)types;
	if (kind != BTF_KIND_FUNC ||
	    (host_lacks("hook") && !strcmp(name, "update_socket_protocol")))
		return -ENOENT;
	return 1;
}

int fake_skeleton_load(struct bpf_object_skeleton *skel)
{
	(void)skel;
	return -env_get_number("FAKE_LOAD");
}

/* Return the path that stands for a path of the host, @other if none does. */
static const char *path_translate(const char *path, char *buf, size_t size, const char *other)
{
	static const struct {
		const char *path, *env;
	} folders[] = {
		{ PINS, "FAKE_PINS" }, { "/run/netns", "FAKE_NETNS" }, { "/proc", "FAKE_PROC" },
	};
	const char *env;
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(folders) && strncmp(path, "/proc/self/", 11); i++) {
		len = strlen(folders[i].path);
		if (strncmp(path, folders[i].path, len) || (path[len] && path[len] != '/'))
			continue;
		env = getenv(folders[i].env);
		if (!env)
			return "/nonexistent";
		snprintf(buf, size, "%s%s", env, path + len);
		return buf;
	}
	return other;
}

DIR *fake_opendir(const char *path)
{
	DIR *(*next)(const char *path) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
	char buf[PATH_MAX];

	return next(path_translate(path, buf, sizeof(buf), "/nonexistent"));
}

int fake_rmdir(const char *path)
{
	int (*next)(const char *path) = (int (*)(const char *))dlsym(RTLD_NEXT, "rmdir");
	char buf[PATH_MAX];

	return next(path_translate(path, buf, sizeof(buf), "/nonexistent"));
}

int fake_unlink(const char *path)
{
	int (*next)(const char *path) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
	char buf[PATH_MAX];

	return next(path_translate(path, buf, sizeof(buf), "/nonexistent"));
}

int fake_access(const char *path, int mode)
{
	int (*next)(const char *path, int mode) =
		(int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
	char buf[PATH_MAX];

	return next(path_translate(path, buf, sizeof(buf), path), mode);
}

/* The first namespaces have the same inode numbers in all kernels. */
int fake_stat(const char *path, struct stat *st)
{
	static const struct {
		const char *path, *type;
		ino_t first;
	} namespaces[] = {
		{ "/proc/self/ns/pid", "pid", 0xeffffffc },
		{ "/proc/self/ns/time", "time", 0xeffffffa },
	};
	int (*next)(const char *path, struct stat *st) =
		(int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "stat");
	const char *other = getenv("FAKE_OTHER");
	char buf[PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(namespaces); i++) {
		if (strcmp(path, namespaces[i].path))
			continue;
		memset(st, 0, sizeof(*st));
		if (!other || strcmp(other, namespaces[i].type))
			st->st_ino = namespaces[i].first;
		return 0;
	}
	return next(path_translate(path, buf, sizeof(buf), path), st);
}

int fake_setns(int fd, int type)
{
	(void)fd;
	errno = type == CLONE_NEWNET ? env_get_number("FAKE_SETNS") : EINVAL;
	return errno ? -1 : 0;
}

int fake_getsockopt(int fd, int level, int option, void *val, socklen_t *len)
{
	unsigned long long cookie = env_get_number("FAKE_COOKIE");

	(void)fd;
	errno = ENOPROTOOPT;
	if (level != SOL_SOCKET || option != SO_NETNS_COOKIE || *len != sizeof(cookie))
		return -1;
	memcpy(val, &cookie, sizeof(cookie));
	return 0;
}

/* PINS exists if FAKE_PINS is set; nothing can be created in it. */
int fake_mkdir(const char *path, mode_t mode)
{
	(void)mode;
	errno = getenv("FAKE_PINS") && !strcmp(path, PINS) ? EEXIST : EROFS;
	return -1;
}

int fake_open(const char *path, int flags, ...)
{
	int (*next)(const char *path, int flags, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	char buf[PATH_MAX];
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return next(path_translate(path, buf, sizeof(buf), path), flags, mode);
}

int fake_fstat(int fd, struct stat *st)
{
	int (*next)(int fd, struct stat *st) =
		(int (*)(int, struct stat *))dlsym(RTLD_NEXT, "fstat");
	int rc = next(fd, st);

	if (!rc && getenv("FAKE_OWNER"))
		st->st_uid = env_get_number("FAKE_OWNER");
	return rc;
}

int fake_open_handle(int mount, struct file_handle *handle, int flags)
{
	(void)mount;
	(void)handle;
	(void)flags;
	errno = env_get_number("FAKE_HANDLE");
	return -1;
}
