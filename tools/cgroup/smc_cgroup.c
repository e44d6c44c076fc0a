// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_cgroup: has the kernel make SMC sockets of the TCP sockets that the processes of a cgroup,
 * or all processes, ask for. See smc_cgroup(8).
 *
 * What it starts are the programs of smc_cgroup.bpf.c. They live on without the loader, by names
 * in the BPF file system: a folder for each cgroup, named by its number, or "host".
 */
#define _GNU_SOURCE
#include "smc_cgroup.h"
#include "prog.h"
#include "smc_tools.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BPF_DIR "/sys/fs/bpf"
#define PIN_DIR BPF_DIR "/smc_cgroup"
#define HOST "host"
#define STATE "state"
#define SWITCH "switch_protocol"
#define LOCK_TRIES 100
#define FILEID_KERNFS 0xfe	/* handle of a cgroup: its number, 64 bits */

/* Exit codes besides 0 */
enum {
	RC_FAILED = 1,
	RC_USAGE = 2,
	RC_NONE = 3,
};

/* The function each program hooks; the one that switches comes last. */
static const struct {
	const char *program, *hook;
} programs[] = {
	{ "registered", "inet_register_protosw" },
	{ "registered6", "inet6_register_protosw" },
	{ "unregistered", "inet_unregister_protosw" },
	{ "unregistered6", "inet6_unregister_protosw" },
	{ SWITCH, "update_socket_protocol" },
};

/**
 * struct target - whose sockets are meant
 * @pin: folder of its programs
 * @title: how it is called towards the user
 * @fd: the cgroup, or -1 for the host
 */
struct target {
	char pin[64];
	char title[PATH_MAX];
	int fd;
};

static bool debug;

static int __printf(1, 2) fail(const char *format, ...)
{
	va_list args;

	fputs("smc_cgroup: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return RC_FAILED;
}

static int say(enum libbpf_print_level level, const char *format, va_list args)
{
	if (!debug || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, format, args);
}

static bool is_on(const char *path, unsigned long magic)
{
	struct statfs fs;

	return !statfs(path, &fs) && (unsigned long)fs.f_type == magic;
}

static const char *cgroup_mount(void)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		if (is_on(places[i], CGROUP2_SUPER_MAGIC))
			return places[i];
	}
	return NULL;
}

static unsigned long long cgroup_number(int fd)
{
	struct {
		struct file_handle head;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	unsigned long long number = 0;
	int mount;

	if (!name_to_handle_at(fd, "", &handle.head, &mount, AT_EMPTY_PATH) &&
	    handle.head.handle_bytes == sizeof(number))
		memcpy(&number, handle.head.f_handle, sizeof(number));
	return number;
}

/* Writes how a cgroup is called below the mount; false, and ESTALE, if it is gone. */
static bool cgroup_name(const char *text, char *name, size_t size)
{
	struct {
		struct file_handle head;
		unsigned char bytes[sizeof(unsigned long long)];
	} handle = { .head.handle_bytes = sizeof(handle.bytes), .head.handle_type = FILEID_KERNFS };
	unsigned long long number = strtoull(text, NULL, 10);
	const char *mount = cgroup_mount();
	char link[64], path[PATH_MAX];
	int root, fd;
	ssize_t len;

	root = open(mount ? mount : "", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	memcpy(handle.head.f_handle, &number, sizeof(number));
	fd = open_by_handle_at(root, &handle.head, O_RDONLY | O_CLOEXEC);
	close(root);
	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (len < 0)
		return false;
	path[len] = '\0';
	errno = EXDEV;
	if (strncmp(path, mount, strlen(mount)))
		return false;
	snprintf(name, size, "%s", path[strlen(mount)] ? path + strlen(mount) : "/");
	return true;
}

static int find_target(const char *cgroup, struct target *target)
{
	const char *mount = cgroup_mount();
	char path[PATH_MAX], number[24];

	target->fd = -1;
	if (!cgroup) {
		snprintf(target->pin, sizeof(target->pin), PIN_DIR "/" HOST);
		snprintf(target->title, sizeof(target->title), HOST);
		return 0;
	}
	if (!mount)
		return fail("no cgroups of version 2: no cgroup2 file system at /sys/fs/cgroup");
	if (cgroup[0] == '/' && is_on(cgroup, CGROUP2_SUPER_MAGIC))
		snprintf(path, sizeof(path), "%s", cgroup);
	else
		snprintf(path, sizeof(path), "%s/%s", mount, cgroup);
	target->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->fd < 0)
		return fail("cgroup %s: %s", path, strerror(errno));
	snprintf(number, sizeof(number), "%llu", cgroup_number(target->fd));
	snprintf(target->pin, sizeof(target->pin), PIN_DIR "/%s", number);
	if (!cgroup_name(number, target->title, sizeof(target->title)))
		return fail("cgroup %s: its number cannot be found out: %s", path, strerror(errno));
	return 0;
}

/* As the programs would ask; the kernel may load a module for it. */
static int try_family(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SMC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static bool has_function(const struct btf *types, const char *name)
{
	return btf__find_by_name_kind(types, name, BTF_KIND_FUNC) > 0;
}

/* Also leaves out what a kernel without IPv6 has no place for. */
static int check_kernel(struct bpf_object *obj)
{
	struct btf *types = btf__load_vmlinux_btf();
	struct bpf_program *prog;
	size_t i;

	if (!types)
		return fail("the kernel has no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
	if (!has_function(types, "update_socket_protocol")) {
		btf__free(types);
		return fail("the kernel lacks what this needs: Linux 6.6 or later, CONFIG_MPTCP");
	}
	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		prog = bpf_object__find_program_by_name(obj, programs[i].program);
		bpf_program__set_autoload(prog, has_function(types, programs[i].hook));
	}
	btf__free(types);
	return 0;
}

static int check_bpffs(void)
{
	if (is_on(BPF_DIR, BPF_FS_MAGIC))
		return 0;
	return fail("no BPF file system at " BPF_DIR ": mount -t bpf none " BPF_DIR);
}

static int check_protocol(void)
{
	int rc = try_family(AF_INET);

	if (!rc)
		return 0;
	if (rc == -EPROTONOSUPPORT || rc == -ESOCKTNOSUPPORT)
		return fail("no module serves IPPROTO_SMC: load smc.ko first");
	return fail("the kernel refuses sockets of IPPROTO_SMC: %s", strerror(-rc));
}

/*
 * One at a time, until the program ends: what another one is about to start looks like what one has
 * left behind that died. On a BPF file system that everybody may write to the folder can be
 * somebody else's, who could move what is in it out of our sight.
 */
static int lock_pins(void)
{
	struct stat st;
	int i, fd;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (mkdir(PIN_DIR, 0700) && errno != EEXIST)
			return fail("cannot make " PIN_DIR ": %s", strerror(errno));
		fd = open(PIN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &st))
			return fail(PIN_DIR ": %s", strerror(errno));
		if (st.st_uid != geteuid())
			return fail(PIN_DIR " is not ours: remove it");
		if (flock(fd, LOCK_EX) || fstat(fd, &st))
			return fail(PIN_DIR ": %s", strerror(errno));
		if (st.st_nlink)
			return 0;
		/* who had the lock has removed it, for it was empty */
		close(fd);
	}
	return fail(PIN_DIR " does not stay");
}

/* Takes a folder of programs away, as far as it is there. */
static int unpin(const char *pin)
{
	struct smc_cgroup_state none = {};
	char path[128];
	__u32 key = 0;
	size_t i;
	int fd;

	/* The kernel detaches them a moment later, but from here on they do nothing. */
	snprintf(path, sizeof(path), "%s/" STATE, pin);
	fd = bpf_obj_get(path);
	if (fd >= 0) {
		bpf_map_update_elem(fd, &key, &none, BPF_ANY);
		close(fd);
	}
	/* The one that switches first: the others are what makes it safe. */
	for (i = ARRAY_SIZE(programs); i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", pin, programs[i].program);
		if (unlink(path) && errno != ENOENT)
			return -errno;
	}
	snprintf(path, sizeof(path), "%s/" STATE, pin);
	if (unlink(path) && errno != ENOENT)
		return -errno;
	if (rmdir(pin) && errno != ENOENT)
		return -errno;
	return 0;
}

static bool is_started(const char *pin)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" SWITCH, pin);
	return !access(path, F_OK);
}

/* Those of cgroups that are gone serve nobody; not those that we may not look at, or cannot. */
static void sweep(void)
{
	char name[PATH_MAX], pin[512];
	struct dirent *entry;
	DIR *dir = opendir(PIN_DIR);

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, HOST) ||
		    cgroup_name(entry->d_name, name, sizeof(name)) || errno != ESTALE)
			continue;
		snprintf(pin, sizeof(pin), PIN_DIR "/%s", entry->d_name);
		unpin(pin);
	}
	if (dir)
		closedir(dir);
}

static int load_programs(struct bpf_object *obj)
{
	int rc = bpf_object__load(obj);

	if (!rc)
		return 0;
	if (rc == -EPERM || rc == -EACCES)
		return fail("not permitted: BPF programs take root (or CAP_BPF, CAP_PERFMON)");
	return fail("the kernel refuses the program: %s (--debug says why)", strerror(-rc));
}

static int pin_program(struct bpf_object *obj, const char *name, const char *pin)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, name);
	struct bpf_link *link;
	char path[128];
	int rc;

	if (!bpf_program__autoload(prog))
		return 0;
	link = bpf_program__attach(prog);
	if (!link)
		return fail("the kernel does not take the program %s: %s", name, strerror(errno));
	snprintf(path, sizeof(path), "%s/%s", pin, name);
	rc = bpf_link__pin(link, path);
	bpf_link__destroy(link);
	return rc ? fail("cannot make %s: %s", path, strerror(-rc)) : 0;
}

static int attach(struct bpf_object *obj, const struct target *target)
{
	struct bpf_map *state = bpf_object__find_map_by_name(obj, STATE);
	struct smc_cgroup_state now = { .host = target->fd < 0 };
	int cgroups = bpf_object__find_map_fd_by_name(obj, "cgroup");
	char path[128];
	__u32 key = 0;
	size_t i;
	int rc;

	if (target->fd >= 0 && bpf_map_update_elem(cgroups, &key, &target->fd, BPF_ANY))
		return fail("cgroup %s: %s", target->title, strerror(errno));
	snprintf(path, sizeof(path), "%s/" STATE, target->pin);
	rc = bpf_map__pin(state, path);
	if (rc)
		return fail("cannot make %s: %s", path, strerror(-rc));
	for (i = 0; i < ARRAY_SIZE(programs) - 1; i++) {
		if (pin_program(obj, programs[i].program, target->pin))
			return RC_FAILED;
	}
	now.inet = !try_family(AF_INET);
	now.inet6 = !try_family(AF_INET6);
	if (bpf_map_update_elem(bpf_map__fd(state), &key, &now, BPF_ANY))
		return fail("cannot write %s: %s", path, strerror(errno));
	/* The module may have gone in between; from here on that is seen. */
	if (check_protocol() || (now.inet6 && try_family(AF_INET6)))
		return RC_FAILED;
	return pin_program(obj, SWITCH, target->pin);
}

/* Behind lock_pins(). */
static int start_locked(struct bpf_object *obj, const struct target *target)
{
	int rc;

	sweep();
	if (is_started(target->pin)) {
		printf("%s: already started\n", target->title);
		return 0;
	}
	rc = unpin(target->pin);
	if (!rc && mkdir(target->pin, 0700))
		rc = -errno;
	if (rc)
		return fail("cannot make %s: %s", target->pin, strerror(-rc));
	rc = attach(obj, target);
	if (rc)
		unpin(target->pin);
	return rc;
}

static int start(const struct target *target)
{
	struct bpf_object *obj = bpf_object__open_mem(smc_cgroup_prog, smc_cgroup_prog_size, NULL);
	int rc;

	if (!obj)
		return fail("cannot read the program: %s", strerror(errno));
	rc = check_kernel(obj);
	if (!rc)
		rc = check_bpffs();
	if (!rc)
		rc = check_protocol();
	if (!rc)
		rc = load_programs(obj);
	if (!rc)
		rc = lock_pins();
	if (!rc) {
		rc = start_locked(obj, target);
		/* unless there is something in it */
		if (rc)
			rmdir(PIN_DIR);
	}
	bpf_object__close(obj);
	return rc;
}

static int stop(const struct target *target)
{
	int rc = check_bpffs();
	bool started;

	if (!rc)
		rc = lock_pins();
	if (rc)
		return rc;
	started = is_started(target->pin);
	rc = unpin(target->pin);
	if (rc)
		return fail("cannot remove %s: %s", target->pin, strerror(-rc));
	sweep();
	rmdir(PIN_DIR);
	if (started)
		return 0;
	fail("%s: was not started", target->title);
	return RC_NONE;
}

/* False: the one that switches is not there, whatever else a loader that died has left. */
static bool show(const char *name)
{
	struct smc_cgroup_state now;
	char title[PATH_MAX] = HOST, path[512];
	__u32 key = 0;
	int fd;

	if (strcmp(name, HOST) && !cgroup_name(name, title, sizeof(title)))
		snprintf(title, sizeof(title), "cgroup %s, %s", name,
			 errno == ESTALE ? "removed" : strerror(errno));
	snprintf(path, sizeof(path), PIN_DIR "/%s", name);
	if (!is_started(path)) {
		printf("%s: a start was broken off, new TCP sockets stay TCP\n", title);
		return false;
	}
	snprintf(path, sizeof(path), PIN_DIR "/%s/" STATE, name);
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_map_lookup_elem(fd, &key, &now))
		printf("%s: unknown (%s)\n", title, strerror(errno));
	else if (now.inet || now.inet6)
		printf("%s: new TCP sockets become SMC sockets%s\n", title,
		       !now.inet6 ? ", those of IPv6 stay TCP" :
		       !now.inet ? ", those of IPv4 stay TCP" : "");
	else
		printf("%s: new TCP sockets stay TCP, no module serves IPPROTO_SMC\n", title);
	if (fd >= 0)
		close(fd);
	return true;
}

static int status(const char *cgroup)
{
	struct dirent *entry;
	struct target target;
	bool any = false, started = false;
	DIR *dir;

	if (cgroup) {
		if (find_target(cgroup, &target))
			return RC_FAILED;
		if (!is_started(target.pin)) {
			printf("%s: not started\n", target.title);
			return RC_NONE;
		}
		show(strrchr(target.pin, '/') + 1);
		return 0;
	}
	dir = opendir(PIN_DIR);
	if (!dir && errno != ENOENT)
		return fail(PIN_DIR ": %s", strerror(errno));
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		started |= show(entry->d_name);
		any = true;
	}
	if (dir)
		closedir(dir);
	if (!any)
		puts("not started");
	return started ? 0 : RC_NONE;
}

static void usage(FILE *out)
{
	fputs("Usage: smc_cgroup [OPTION] start|stop|status [CGROUP]\n"
	      "Have the kernel make SMC sockets of the TCP sockets that the processes of CGROUP, or\n"
	      "without it all processes of the host, ask for from now on.\n"
	      "\n"
	      "  start         begin, until stop or the next boot\n"
	      "  stop          new sockets are TCP sockets again; those that are there stay\n"
	      "  status        where it was started; exit status 3 if nowhere\n"
	      "\n"
	      "  -d, --debug   say on stderr what libbpf and the kernel say\n"
	      "  -h, --help    show this text\n"
	      "  -V, --version show the version\n"
	      "\n"
	      "CGROUP is a folder of the cgroup2 file system, as path or below its root:\n"
	      "smc_cgroup start system.slice/redis-server.service\n", out);
}

static int usage_error(const char *what, const char *word)
{
	fprintf(stderr, "smc_cgroup: %s%s (see smc_cgroup --help)\n", what, word);
	return RC_USAGE;
}

int main(int argc, char **argv)
{
	struct target target;
	const char *word;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-d") || !strcmp(argv[i], "--debug")) {
			debug = true;
		} else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			usage(stdout);
			return 0;
		} else if (!strcmp(argv[i], "-V") || !strcmp(argv[i], "--version")) {
			puts("smc_cgroup " SMC_TOOLS_VERSION);
			return 0;
		} else {
			return usage_error("unknown option ", argv[i]);
		}
	}
	if (i == argc)
		return usage_error("start, stop or status?", "");
	word = argv[i++];
	if (argc - i > 1)
		return usage_error("one cgroup at a time, not also ", argv[i + 1]);
	if (i < argc && !argv[i][0])
		return usage_error("the name of the cgroup is empty", "");
	libbpf_set_print(say);
	if (!strcmp(word, "status"))
		return status(argv[i]);
	if (strcmp(word, "start") && strcmp(word, "stop"))
		return usage_error("start, stop or status, not ", word);
	if (find_target(argv[i], &target))
		return RC_FAILED;
	return strcmp(word, "start") ? stop(&target) : start(&target);
}
