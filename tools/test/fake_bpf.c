// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host that smc_cgroup finds, as a library below it. FAKE_LACKS names what is not there: btf,
 * hook, bpffs, cgroup2. FAKE_SOCKET is the errno number that sockets of IPPROTO_SMC get, FAKE_LOAD
 * the one that loading the programs ends with; nothing is ever loaded. FAKE_PINS is the folder of
 * what was started, FAKE_HANDLE the errno number with which its cgroups cannot be opened,
 * FAKE_OWNER whose it is.
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
struct btf *fake_types(void)
	__asm__("btf__load_vmlinux_btf") SMC_EXPORTED;
__s32 fake_find(const struct btf *types, const char *name, __u32 kind)
	__asm__("btf__find_by_name_kind") SMC_EXPORTED;
int fake_load(struct bpf_object *obj) __asm__("bpf_object__load") SMC_EXPORTED;
DIR *fake_opendir(const char *path) __asm__("opendir") SMC_EXPORTED;
int fake_rmdir(const char *path) __asm__("rmdir") SMC_EXPORTED;
int fake_mkdir(const char *path, mode_t mode) __asm__("mkdir") SMC_EXPORTED;
int fake_access(const char *path, int mode) __asm__("access") SMC_EXPORTED;
int fake_open(const char *path, int flags, ...) __asm__("open") SMC_EXPORTED;
int fake_fstat(int fd, struct stat *st) __asm__("fstat") SMC_EXPORTED;
int fake_open_handle(int mount, struct file_handle *handle, int flags)
	__asm__("open_by_handle_at") SMC_EXPORTED;

#define PINS "/sys/fs/bpf/smc_cgroup"

static bool lacks(const char *what)
{
	const char *list = getenv("FAKE_LACKS");

	return list && strstr(list, what);
}

static int number(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : 0;
}

int fake_statfs(const char *path, struct statfs *fs)
{
	memset(fs, 0, sizeof(*fs));
	if (!strcmp(path, "/sys/fs/bpf") && !lacks("bpffs"))
		fs->f_type = BPF_FS_MAGIC;
	if (!strcmp(path, "/sys/fs/cgroup") && !lacks("cgroup2"))
		fs->f_type = CGROUP2_SUPER_MAGIC;
	return 0;
}

/* Whoever gets one only closes it. */
int fake_socket(int domain, int type, int protocol)
{
	int fds[2];

	errno = number("FAKE_SOCKET");
	if (errno || protocol != 256 || (domain != AF_INET && domain != AF_INET6))
		return -1;
	if (socketpair(AF_UNIX, type, 0, fds))
		return -1;
	return fds[0];
}

struct btf *fake_types(void)
{
	if (lacks("btf")) {
		errno = ENOENT;
		return NULL;
	}
	return btf__new_empty();
}

__s32 fake_find(const struct btf *types, const char *name, __u32 kind)
{
	(void)types;
	if (kind != BTF_KIND_FUNC || (lacks("hook") && !strcmp(name, "update_socket_protocol")))
		return -ENOENT;
	return 1;
}

int fake_load(struct bpf_object *obj)
{
	(void)obj;
	return -number("FAKE_LOAD");
}

/* A name below the folder of what was started, in FAKE_PINS; others are not touched here. */
static const char *below_pins(const char *path, char *buf, size_t size)
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

	return next(below_pins(path, buf, sizeof(buf)));
}

int fake_rmdir(const char *path)
{
	int (*next)(const char *path) = (int (*)(const char *))dlsym(RTLD_NEXT, "rmdir");
	char buf[PATH_MAX];

	return next(below_pins(path, buf, sizeof(buf)));
}

int fake_access(const char *path, int mode)
{
	int (*next)(const char *path, int mode) =
		(int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
	char buf[PATH_MAX];

	return next(strncmp(path, PINS, sizeof(PINS) - 1) ? path :
		    below_pins(path, buf, sizeof(buf)), mode);
}

/* There is the folder of what was started; nothing can be made in it. */
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
		    below_pins(path, buf, sizeof(buf)), flags, mode);
}

/* FAKE_OWNER: a number that is not ours */
int fake_fstat(int fd, struct stat *st)
{
	int (*next)(int fd, struct stat *st) =
		(int (*)(int, struct stat *))dlsym(RTLD_NEXT, "fstat");
	int rc = next(fd, st);

	if (!rc && getenv("FAKE_OWNER"))
		st->st_uid = number("FAKE_OWNER");
	return rc;
}

int fake_open_handle(int mount, struct file_handle *handle, int flags)
{
	(void)mount;
	(void)handle;
	(void)flags;
	errno = number("FAKE_HANDLE");
	return -1;
}
