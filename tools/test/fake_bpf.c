// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake host for tests of smc_cgroup, a library preloaded into it. Settings in the environment:
 *   FAKE_LACKS   what the host lacks: btf, hook, bpffs, cgroup2
 *   FAKE_SOCKET  errno of sockets of IPPROTO_SMC
 *   FAKE_LOAD    errno of loading the BPF programs, which are never loaded
 *   FAKE_PINS    folder that stands for /sys/fs/bpf/smc_cgroup
 *   FAKE_HANDLE  errno of opening the cgroups named in FAKE_PINS
 *   FAKE_OWNER   user identifier of the owner of all files
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

/* The caller only closes the socket, so any socket will do. */
int fake_socket(int domain, int type, int protocol)
{
	int fds[2];

	errno = env_get_number("FAKE_SOCKET");
	if (errno || protocol != 256 || (domain != AF_INET && domain != AF_INET6))
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

/* Translate a path below PINS to FAKE_PINS. Return a missing path for all others. */
static const char *pins_get_path(const char *path, char *buf, size_t size)
{
	const char *pins = getenv("FAKE_PINS");

	if (!pins || strncmp(path, PINS, sizeof(PINS) - 1))
		return "/nonexistent";
	snprintf(buf, size, "%s%s", pins, path + sizeof(PINS) - 1);
	return buf;
}

DIR *fake_opendir(const char *path)
{
	DIR *(*next)(const char *path) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
	char buf[PATH_MAX];

	return next(pins_get_path(path, buf, sizeof(buf)));
}

int fake_rmdir(const char *path)
{
	int (*next)(const char *path) = (int (*)(const char *))dlsym(RTLD_NEXT, "rmdir");
	char buf[PATH_MAX];

	return next(pins_get_path(path, buf, sizeof(buf)));
}

int fake_unlink(const char *path)
{
	int (*next)(const char *path) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
	char buf[PATH_MAX];

	return next(pins_get_path(path, buf, sizeof(buf)));
}

int fake_access(const char *path, int mode)
{
	int (*next)(const char *path, int mode) =
		(int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
	char buf[PATH_MAX];

	return next(strncmp(path, PINS, sizeof(PINS) - 1) ? path :
		    pins_get_path(path, buf, sizeof(buf)), mode);
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
	return next(strncmp(path, PINS, sizeof(PINS) - 1) ? path :
		    pins_get_path(path, buf, sizeof(buf)), flags, mode);
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
