// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_cgroup: make the kernel open SMC sockets where the processes of a cgroup, those in a network
 * namespace, one process, or all processes, ask for TCP sockets. See smc_cgroup(8).
 *
 * This program loads the BPF programs of smc_cgroup.bpf.c and pins them in the BPF file system, so
 * that they stay attached after it exits: in one folder per target. Its name tells one target from
 * all others, also from later ones: the identifier of the cgroup, "netns-COOKIE-INODE",
 * "process-PID-START", or "host".
 */
#define _GNU_SOURCE
#include "smc_cgroup.h"
#include "smc_cgroup.skel.h"
#include "smc_json.h"
#include "smc_tools.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <sched.h>
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
#define NETNS_PIN "netns-%llu-%lu"	/* cookie, inode number */
#define PROCESS_PIN "process-%d-%llu"	/* number, start */
#define NETNS_DIR "/run/netns"
#define FIRST_PID_NS 0xeffffffcU	/* inode numbers, the same in all kernels */
#define FIRST_TIME_NS 0xeffffffaU
#define STATE "state"
#define SWITCH "switch_protocol"
#define LOCK_TRIES 100
#define FILEID_KERNFS 0xfe	/* type of the file handle of a cgroup: its 64-bit identifier */

/* Exit codes besides 0 */
enum {
	RC_FAILED = 1,
	RC_USAGE = 2,
	RC_NONE = 3,
};

/* The BPF programs and the functions they hook. SWITCH, which converts sockets, is last. */
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
 * struct words - what the command line names as the target; all NULL: the host
 * @cgroup: cgroup
 * @netns: network namespace
 * @pid: process
 */
struct words {
	const char *cgroup, *netns, *pid;
};

/**
 * struct target - whose sockets are converted
 * @pin: folder of the pinned programs
 * @title: name for messages
 * @fd: descriptor of the cgroup, -1 for other targets
 * @state: which processes these are
 */
struct target {
	char pin[96];
	char title[PATH_MAX];
	int fd;
	struct smc_cgroup_state state;
};

/**
 * struct status - what is known of a started target
 * @title: name for messages
 * @id: identifier of the cgroup as text, "" for other targets
 * @fault: errno with which the target was not found, 0: none
 * @started: the target was started, not only begun
 * @state_fault: errno with which @state was not read, 0: none
 * @state: which sockets are converted
 */
struct status {
	char title[PATH_MAX];
	const char *id;
	int fault;
	bool started;
	int state_fault;
	struct smc_cgroup_state state;
};

static bool debug;
static bool json;
static unsigned int json_objects;

static int __printf(1, 2) err_msg(const char *format, ...)
{
	va_list args;

	fputs("smc_cgroup: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return RC_FAILED;
}

static int libbpf_msg_print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (!debug || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, format, args);
}

static bool path_is_on(const char *path, unsigned long magic)
{
	struct statfs fs;

	return !statfs(path, &fs) && (unsigned long)fs.f_type == magic;
}

static const char *cgroup_find_mount(void)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		if (path_is_on(places[i], CGROUP2_SUPER_MAGIC))
			return places[i];
	}
	return NULL;
}

static unsigned long long cgroup_get_id(int fd)
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

/*
 * Set @name to the path of a cgroup below the mount. @text is its identifier. Return false with
 * errno set if that fails: ESTALE if the cgroup was removed.
 */
static bool cgroup_find_name(const char *text, char *name, size_t size)
{
	struct {
		struct file_handle head;
		unsigned char bytes[sizeof(unsigned long long)];
	} handle = { .head.handle_bytes = sizeof(handle.bytes), .head.handle_type = FILEID_KERNFS };
	unsigned long long number = strtoull(text, NULL, 10);
	const char *mount = cgroup_find_mount();
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

/*
 * Check whether this process is in the first namespace of a type. Return 0 or an errno: EXDEV if it
 * is in another one.
 */
static int namespace_check(const char *type, ino_t first)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", type);
	if (!stat(path, &st))
		return st.st_ino == first ? 0 : EXDEV;
	/* a kernel without namespaces of this type has no such file */
	return errno == ENOENT && !access("/proc/self/ns", F_OK) ? 0 : errno;
}

/* Enter a network namespace, read its cookie, and return to the own one. Return 0 or an errno. */
static int netns_read_cookie(int fd, unsigned long long *cookie)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), sock = -1, err = 0;
	socklen_t len = sizeof(*cookie);

	if (own < 0 || setns(fd, CLONE_NEWNET))
		err = errno;
	if (!err)
		sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!err && (sock < 0 || getsockopt(sock, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len)))
		err = errno;
	if (sock >= 0)
		close(sock);
	if (own >= 0 && setns(own, CLONE_NEWNET) && !err)
		err = errno;
	if (own >= 0)
		close(own);
	return err;
}

/*
 * Check whether @path is the network namespace with @cookie, whose inode number is that of @pinned.
 * Return 0 or an errno: ENOENT if not.
 */
static int netns_check(const char *path, const struct stat *pinned, unsigned long long cookie)
{
	unsigned long long found = 0;
	int fd, err = ENOENT;
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (st.st_dev != pinned->st_dev || st.st_ino != pinned->st_ino)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	err = netns_read_cookie(fd, &found);
	close(fd);
	/* a later namespace can get the same inode number, but not the same cookie */
	return !err && found != cookie ? ENOENT : err;
}

/*
 * Set @title to the name of a network namespace. Return false with errno set if it was not found:
 * ESTALE if it has neither a name below NETNS_DIR nor a process, another errno if not all of them
 * could be checked.
 */
static bool netns_find_name(unsigned long inode, unsigned long long cookie, char *title,
			    size_t size)
{
	static const struct {
		const char *dir, *file;
	} places[] = {
		{ NETNS_DIR, "" }, { "/proc", "/ns/net" },
	};
	/* in another PID namespace /proc lacks processes */
	int err, unknown = namespace_check("pid", FIRST_PID_NS);
	struct dirent *entry;
	char path[PATH_MAX];
	bool found = false;
	struct stat pinned;
	size_t i;
	DIR *dir;

	snprintf(title, size, "netns net:[%lu]", inode);
	/* all namespaces are on one device */
	if (stat("/proc/self/ns/net", &pinned))
		return false;
	pinned.st_ino = inode;
	for (i = 0; i < ARRAY_SIZE(places) && !found; i++) {
		dir = opendir(places[i].dir);
		if (!dir && !unknown && errno != ENOENT)
			unknown = errno;
		while (dir && !found && (entry = readdir(dir))) {
			/* not all entries of /proc are processes */
			if (*places[i].file && !isdigit((unsigned char)*entry->d_name))
				continue;
			snprintf(path, sizeof(path), "%s/%s%s", places[i].dir, entry->d_name,
				 places[i].file);
			err = netns_check(path, &pinned, cookie);
			found = !err;
			if (!unknown && err != ENOENT && err != ESRCH)
				unknown = err;
			if (found && !*places[i].file)
				snprintf(title, size, "netns %s", entry->d_name);
		}
		if (dir)
			closedir(dir);
	}
	errno = unknown ? unknown : ESTALE;
	return found;
}

/*
 * Read the beginning of a file in the folder of a process. Return 0 or an errno: ESRCH if the
 * process has ended.
 */
static int process_read_file(int pid, const char *file, char *text, size_t size)
{
	char path[32];
	size_t len;
	int err;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "r");
	if (!f)
		return errno == ENOENT ? ESRCH : errno;
	len = fread(text, 1, size - 1, f);
	err = ferror(f) ? errno : 0;
	fclose(f);
	text[len] = '\0';
	return err;
}

/* Read when a process began, in SMC_CGROUP_TICK_NS. Return 0 or an errno: ESRCH if it has ended. */
static int process_read_start(int pid, unsigned long long *start)
{
	char text[1024];
	const char *rest;
	int field, err;

	err = process_read_file(pid, "stat", text, sizeof(text));
	if (err)
		return err;
	/* a name in parentheses may contain anything; the start is the 20th field behind it */
	rest = strrchr(text, ')');
	for (field = 0; rest && field < 20; field++)
		rest = strchr(rest + 1, ' ');
	if (rest)
		*start = strtoull(rest, NULL, 10);
	return rest ? 0 : EPROTO;
}

/* Read to which process a thread belongs. Return 0 or an errno: ESRCH if the thread has ended. */
static int thread_read_process(int tid, int *pid)
{
	char text[1024];
	const char *line;
	int err;

	err = process_read_file(tid, "status", text, sizeof(text));
	if (err)
		return err;
	line = strstr(text, "\nTgid:");
	return line && sscanf(line, " Tgid: %d", pid) == 1 ? 0 : EPROTO;
}

/*
 * Check whether the process with this number, which began at @start, exists. Return 0 or an errno:
 * ESTALE if not, EXDEV if /proc has other numbers or times than those of the pin.
 */
static int process_check(int pid, unsigned long long start)
{
	unsigned long long found;
	int err;

	err = namespace_check("pid", FIRST_PID_NS);
	if (!err)
		err = namespace_check("time", FIRST_TIME_NS);
	if (err)
		return err;
	err = process_read_start(pid, &found);
	return err == ESRCH || (!err && found != start) ? ESTALE : err;
}

/*
 * Set @title to the name of the target whose folder of pins is called @pin. Return false with errno
 * set if it is not known: ESTALE if the target does not exist any more.
 */
static bool pin_find_title(const char *pin, char *title, size_t size)
{
	unsigned long long number;
	unsigned long inode;
	int pid;

	if (!strcmp(pin, HOST)) {
		snprintf(title, size, HOST);
		return true;
	}
	if (sscanf(pin, NETNS_PIN, &number, &inode) == 2)
		return netns_find_name(inode, number, title, size);
	if (sscanf(pin, PROCESS_PIN, &pid, &number) == 2) {
		snprintf(title, size, "process %d", pid);
		errno = process_check(pid, number);
		return !errno;
	}
	snprintf(title, size, "cgroup %s", pin);
	return cgroup_find_name(pin, title, size);
}

static int cgroup_find(const char *cgroup, struct target *target)
{
	const char *mount = cgroup_find_mount();
	char path[PATH_MAX], number[24];

	if (!mount)
		return err_msg("no cgroups of version 2: no cgroup2 file system at /sys/fs/cgroup");
	if (cgroup[0] == '/' && path_is_on(cgroup, CGROUP2_SUPER_MAGIC))
		snprintf(path, sizeof(path), "%s", cgroup);
	else
		snprintf(path, sizeof(path), "%s/%s", mount, cgroup);
	target->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->fd < 0)
		return err_msg("cgroup %s: %s", path, strerror(errno));
	target->state.kind = SMC_CGROUP_BELOW;
	snprintf(number, sizeof(number), "%llu", cgroup_get_id(target->fd));
	snprintf(target->pin, sizeof(target->pin), PIN_DIR "/%s", number);
	if (!cgroup_find_name(number, target->title, sizeof(target->title)))
		return err_msg("cgroup %s: its number cannot be found out: %s", path,
			       strerror(errno));
	return 0;
}

/* @word: a name below NETNS_DIR, the number of a process in it, or a path */
static int netns_find(const char *word, struct target *target)
{
	unsigned long long cookie = 0;
	char path[PATH_MAX];
	struct stat st;
	int fd, err;

	if (strchr(word, '/'))
		snprintf(path, sizeof(path), "%s", word);
	else if (word[strspn(word, "0123456789")])
		snprintf(path, sizeof(path), NETNS_DIR "/%s", word);
	else
		snprintf(path, sizeof(path), "/proc/%s/ns/net", word);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 || fstat(fd, &st) ? errno : netns_read_cookie(fd, &cookie);
	if (fd >= 0)
		close(fd);
	if (err)
		return err_msg("network namespace %s: %s", path, strerror(err));
	target->state.kind = SMC_CGROUP_NETNS;
	target->state.id = cookie;
	snprintf(target->pin, sizeof(target->pin), PIN_DIR "/" NETNS_PIN, cookie,
		 (unsigned long)st.st_ino);
	netns_find_name(st.st_ino, cookie, target->title, sizeof(target->title));
	return 0;
}

static int process_find(const char *word, struct target *target)
{
	unsigned long number = strtoul(word, NULL, 10);
	int pid = number > INT_MAX ? 0 : number, process, err;
	unsigned long long start;

	if (namespace_check("pid", FIRST_PID_NS))
		return err_msg("--pid works in the first PID namespace only");
	if (namespace_check("time", FIRST_TIME_NS))
		return err_msg("--pid works in the first time namespace only");
	err = process_read_start(pid, &start);
	if (!err)
		err = thread_read_process(pid, &process);
	if (err == ESRCH)
		return err_msg("there is no process %s", word);
	if (err)
		return err_msg("process %d: %s", pid, strerror(err));
	if (process != pid)
		return err_msg("%d is a thread of process %d", pid, process);
	target->state.kind = SMC_CGROUP_PROCESS;
	target->state.id = pid;
	target->state.start = start;
	snprintf(target->pin, sizeof(target->pin), PIN_DIR "/" PROCESS_PIN, pid, start);
	snprintf(target->title, sizeof(target->title), "process %d", pid);
	return 0;
}

static int target_find(const struct words *words, struct target *target)
{
	memset(target, 0, sizeof(*target));
	target->fd = -1;
	if (words->cgroup)
		return cgroup_find(words->cgroup, target);
	if (words->netns)
		return netns_find(words->netns, target);
	if (words->pid)
		return process_find(words->pid, target);
	target->state.kind = SMC_CGROUP_HOST;
	snprintf(target->pin, sizeof(target->pin), PIN_DIR "/" HOST);
	snprintf(target->title, sizeof(target->title), HOST);
	return 0;
}

/* Open an SMC socket. The kernel may load a module for it. Return 0 or a negative errno. */
static int family_try(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SMC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static bool btf_has_function(const struct btf *types, const char *name)
{
	return btf__find_by_name_kind(types, name, BTF_KIND_FUNC) > 0;
}

/* Check the features of the kernel. Disable programs whose hook a kernel without IPv6 lacks. */
static int kernel_check(const struct smc_cgroup_bpf *skel)
{
	struct btf *types = btf__load_vmlinux_btf();
	struct bpf_program *prog;
	size_t i;

	if (!types)
		return err_msg("the kernel has no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
	if (!btf_has_function(types, "update_socket_protocol")) {
		btf__free(types);
		return err_msg("the kernel lacks what this needs: %s",
			       "Linux 6.6 or later, CONFIG_MPTCP");
	}
	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		prog = bpf_object__find_program_by_name(skel->obj, programs[i].program);
		bpf_program__set_autoload(prog, btf_has_function(types, programs[i].hook));
	}
	btf__free(types);
	return 0;
}

static int bpffs_check(void)
{
	if (path_is_on(BPF_DIR, BPF_FS_MAGIC))
		return 0;
	return err_msg("no BPF file system at " BPF_DIR ": mount -t bpf none " BPF_DIR);
}

static int protocol_check(void)
{
	int rc = family_try(AF_INET);

	if (!rc)
		return 0;
	if (rc == -EPROTONOSUPPORT || rc == -ESOCKTNOSUPPORT)
		return err_msg("no module serves IPPROTO_SMC: load smc.ko first");
	return err_msg("the kernel refuses sockets of IPPROTO_SMC: %s", strerror(-rc));
}

/*
 * Serialize instances of this program, until it exits: pins of a start in progress look like those
 * of an instance that died. Refuse a folder of another user: on a BPF file system that everybody
 * may write to, its owner could rename the pins.
 */
static int pins_lock(void)
{
	struct stat st;
	int i, fd;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (mkdir(PIN_DIR, 0700) && errno != EEXIST)
			return err_msg("cannot make " PIN_DIR ": %s", strerror(errno));
		fd = open(PIN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &st))
			return err_msg(PIN_DIR ": %s", strerror(errno));
		if (st.st_uid != geteuid())
			return err_msg(PIN_DIR " is not ours: remove it");
		if (flock(fd, LOCK_EX) || fstat(fd, &st))
			return err_msg(PIN_DIR ": %s", strerror(errno));
		if (st.st_nlink)
			return 0;
		/* the previous owner of the lock has removed the empty folder */
		close(fd);
	}
	return err_msg(PIN_DIR " does not stay");
}

/* Remove a folder of pinned programs, even an incomplete one. Return 0 or a negative errno. */
static int pins_remove(const char *pin)
{
	struct smc_cgroup_state none = {};
	char path[128];
	__u32 key = 0;
	size_t i;
	int fd;

	/* the kernel detaches the programs later, but an empty state disables them at once */
	snprintf(path, sizeof(path), "%s/" STATE, pin);
	fd = bpf_obj_get(path);
	if (fd >= 0) {
		bpf_map_update_elem(fd, &key, &none, BPF_ANY);
		close(fd);
	}
	/* SWITCH first: it depends on the others, which track the module */
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

static bool pins_started(const char *pin)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" SWITCH, pin);
	return !access(path, F_OK);
}

/* Remove the pins of targets that do not exist any more. Keep those that cannot be checked. */
static void pins_sweep(void)
{
	char name[PATH_MAX], pin[512];
	struct dirent *entry;
	DIR *dir = opendir(PIN_DIR);

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    pin_find_title(entry->d_name, name, sizeof(name)) || errno != ESTALE)
			continue;
		snprintf(pin, sizeof(pin), PIN_DIR "/%s", entry->d_name);
		pins_remove(pin);
	}
	if (dir)
		closedir(dir);
}

static int programs_load(struct smc_cgroup_bpf *skel)
{
	int rc = smc_cgroup_bpf__load(skel);

	if (!rc)
		return 0;
	if (rc == -EPERM || rc == -EACCES)
		return err_msg("not permitted: BPF programs take root (or CAP_BPF, CAP_PERFMON)");
	return err_msg("the kernel refuses the program: %s (--debug says why)", strerror(-rc));
}

static int program_pin(const struct smc_cgroup_bpf *skel, const char *name, const char *pin)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(skel->obj, name);
	struct bpf_link *link;
	char path[128];
	int rc;

	if (!bpf_program__autoload(prog))
		return 0;
	link = bpf_program__attach(prog);
	if (!link)
		return err_msg("the kernel does not take the program %s: %s", name,
			       strerror(errno));
	snprintf(path, sizeof(path), "%s/%s", pin, name);
	rc = bpf_link__pin(link, path);
	bpf_link__destroy(link);
	return rc ? err_msg("cannot make %s: %s", path, strerror(-rc)) : 0;
}

static int target_attach(const struct smc_cgroup_bpf *skel, const struct target *target)
{
	struct smc_cgroup_state now = target->state;
	int cgroups = bpf_map__fd(skel->maps.cgroup), state = bpf_map__fd(skel->maps.state);
	char path[128];
	__u32 key = 0;
	size_t i;
	int rc;

	if (target->fd >= 0 && bpf_map_update_elem(cgroups, &key, &target->fd, BPF_ANY))
		return err_msg("cgroup %s: %s", target->title, strerror(errno));
	snprintf(path, sizeof(path), "%s/" STATE, target->pin);
	rc = bpf_map__pin(skel->maps.state, path);
	if (rc)
		return err_msg("cannot make %s: %s", path, strerror(-rc));
	for (i = 0; i < ARRAY_SIZE(programs) - 1; i++) {
		if (program_pin(skel, programs[i].program, target->pin))
			return RC_FAILED;
	}
	now.inet = !family_try(AF_INET);
	now.inet6 = !family_try(AF_INET6);
	if (bpf_map_update_elem(state, &key, &now, BPF_ANY))
		return err_msg("cannot write %s: %s", path, strerror(errno));
	/* the module may have been unloaded before the programs could track that */
	if (protocol_check() || (now.inet6 && family_try(AF_INET6)))
		return RC_FAILED;
	return program_pin(skel, SWITCH, target->pin);
}

/* Start a target; the caller holds the lock of pins_lock(). */
static int target_start_locked(const struct smc_cgroup_bpf *skel, const struct target *target)
{
	int rc;

	pins_sweep();
	if (pins_started(target->pin)) {
		if (!json)
			printf("%s: already started\n", target->title);
		return 0;
	}
	rc = pins_remove(target->pin);
	if (!rc && mkdir(target->pin, 0700))
		rc = -errno;
	if (rc)
		return err_msg("cannot make %s: %s", target->pin, strerror(-rc));
	rc = target_attach(skel, target);
	if (rc)
		pins_remove(target->pin);
	return rc;
}

static int target_start(const struct target *target)
{
	struct smc_cgroup_bpf *skel = smc_cgroup_bpf__open();
	int rc;

	if (!skel)
		return err_msg("cannot read the program: %s", strerror(errno));
	rc = kernel_check(skel);
	if (!rc)
		rc = bpffs_check();
	if (!rc)
		rc = protocol_check();
	if (!rc)
		rc = programs_load(skel);
	if (!rc)
		rc = pins_lock();
	if (!rc) {
		rc = target_start_locked(skel, target);
		/* fails if there are other targets */
		if (rc)
			rmdir(PIN_DIR);
	}
	smc_cgroup_bpf__destroy(skel);
	return rc;
}

static int target_stop(const struct target *target)
{
	int rc = bpffs_check();
	bool started;

	if (!rc)
		rc = pins_lock();
	if (rc)
		return rc;
	started = pins_started(target->pin);
	rc = pins_remove(target->pin);
	if (rc)
		return err_msg("cannot remove %s: %s", target->pin, strerror(-rc));
	pins_sweep();
	rmdir(PIN_DIR);
	if (started)
		return 0;
	err_msg("%s: was not started", target->title);
	return RC_NONE;
}

/* Read the status of the target whose folder of pins is called @name. */
static void status_read(struct status *s, const char *name)
{
	char path[512];
	__u32 key = 0;
	int fd;

	memset(s, 0, sizeof(*s));
	s->id = isdigit((unsigned char)*name) ? name : "";
	if (!pin_find_title(name, s->title, sizeof(s->title)))
		s->fault = errno;
	snprintf(path, sizeof(path), PIN_DIR "/%s", name);
	s->started = pins_started(path);
	if (!s->started)
		return;
	snprintf(path, sizeof(path), PIN_DIR "/%s/" STATE, name);
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_map_lookup_elem(fd, &key, &s->state))
		s->state_fault = errno;
	if (fd >= 0)
		close(fd);
}

static void status_print(const struct status *s)
{
	printf("%s", s->title);
	if (s->fault)
		printf(", %s", s->fault == ESTALE ? "removed" :
		       s->fault == EXDEV ? "not visible in this namespace" :
		       strerror(s->fault));
	if (!s->started)
		puts(": a start was broken off, new TCP sockets stay TCP");
	else if (s->state_fault)
		printf(": unknown (%s)\n", strerror(s->state_fault));
	else if (s->state.inet || s->state.inet6)
		printf(": new TCP sockets become SMC sockets%s\n",
		       !s->state.inet6 ? ", those of IPv6 stay TCP" :
		       !s->state.inet ? ", those of IPv4 stay TCP" : "");
	else
		puts(": new TCP sockets stay TCP, no module serves IPPROTO_SMC");
}

static const char *json_bool(bool val)
{
	return val ? "true" : "false";
}

/* Print an element of the list that json_list_end() ends. */
static void status_print_json(const struct status *s)
{
	printf("%s  {\n    \"format\":%d", json_objects++ ? ",\n" : "[\n", SMC_JSON_FORMAT);
	if (*s->id)
		printf(",\n    \"id\":%llu", strtoull(s->id, NULL, 10));
	/* of a cgroup that is gone only the identifier is known */
	if (!s->fault || !*s->id) {
		printf(",\n    \"target\":");
		smc_json_put_str(stdout, s->title);
	}
	if (s->fault == ESTALE)
		printf(",\n    \"removed\":true");
	printf(",\n    \"started\":%s", json_bool(s->started));
	if (s->started && !s->state_fault)
		printf(",\n    \"inet\":%s,\n    \"inet6\":%s", json_bool(s->state.inet),
		       json_bool(s->state.inet6));
	printf("\n  }");
}

static void json_list_end(void)
{
	puts(json_objects ? "\n]" : "[]");
}

/* Print the status of a target. Return false if SWITCH is missing: a loader died half-way. */
static bool target_show(const char *name)
{
	struct status s;

	status_read(&s, name);
	if (json)
		status_print_json(&s);
	else
		status_print(&s);
	return s.started;
}

/* Show a target, if it was started. Return whether it was. */
static bool target_show_one(const struct target *target)
{
	bool started = pins_started(target->pin);

	if (started)
		target_show(strrchr(target->pin, '/') + 1);
	else if (!json)
		printf("%s: not started\n", target->title);
	if (json)
		json_list_end();
	return started;
}

static int targets_show(const struct words *words)
{
	struct dirent *entry;
	struct target target;
	bool any = false, started = false;
	DIR *dir;

	if (words->cgroup || words->netns || words->pid) {
		if (target_find(words, &target))
			return RC_FAILED;
		return target_show_one(&target) ? 0 : RC_NONE;
	}
	dir = opendir(PIN_DIR);
	if (!dir && errno != ENOENT)
		return err_msg(PIN_DIR ": %s", strerror(errno));
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		started |= target_show(entry->d_name);
		any = true;
	}
	if (dir)
		closedir(dir);
	if (json)
		json_list_end();
	else if (!any)
		puts("not started");
	return started ? 0 : RC_NONE;
}

static void usage_print(FILE *out)
{
	fputs("Usage: smc_cgroup [OPTION]... start|stop|status [CGROUP]\n"
	      "Convert new TCP sockets of the processes of CGROUP to SMC sockets, in the kernel.\n"
	      "Without CGROUP, convert those of all processes of the host.\n"
	      "\n"
	      "  start         convert new sockets, until stop or the next boot\n"
	      "  stop          open TCP sockets again; existing SMC sockets do not change\n"
	      "  status        list what was started; exit status 3 if nothing was\n"
	      "\n"
	      "  -n, --netns NETNS\n"
	      "                in place of CGROUP: the processes in a network namespace, a name of\n"
	      "                ip-netns(8), the number of a process in it, or a path\n"
	      "  -p, --pid PID in place of CGROUP: this process, without its children\n"
	      "  -j, --json    print JSON: what status prints, also after start and stop\n"
	      "  -d, --debug   print messages of libbpf and of the kernel on stderr\n"
	      "  -h, --help    show this text\n"
	      "  -V, --version show the version\n"
	      "\n"
	      "CGROUP is a folder of the cgroup2 file system, as a path or relative to its root:\n"
	      "smc_cgroup start system.slice/redis-server.service\n", out);
}

static int usage_fail(const char *what, const char *word)
{
	fprintf(stderr, "smc_cgroup: %s%s (see smc_cgroup --help)\n", what, word);
	return RC_USAGE;
}

/*
 * Complain about an option. In a group of letters, such as -xd, getopt does not say in which word
 * it is; a long one, also with a value too many, is the word before the next one.
 */
static int option_fail(int found, const char *word, const struct option *options)
{
	const char *what = found == ':' ? "nothing follows " : "unknown option ";
	char letter[] = { '-', (char)optopt, '\0' };

	while (options->name && options->val != optopt)
		options++;
	if (!optopt || (options->name && !strncmp(word, "--", 2)))
		return usage_fail(what, word);
	return usage_fail(what, letter);
}

/* Check the words behind the order, and which targets there are. Return 0 or RC_USAGE. */
static int words_check(struct words *words, int argc, char **argv)
{
	if (argc > 1)
		return usage_fail("one cgroup at a time, not also ", argv[1]);
	words->cgroup = argv[0];
	if (words->cgroup && !*words->cgroup)
		return usage_fail("the name of the cgroup is empty", "");
	if (words->netns && !*words->netns)
		return usage_fail("the name of the network namespace is empty", "");
	if (words->pid && (!*words->pid || words->pid[strspn(words->pid, "0123456789")]))
		return usage_fail("--pid is followed by a number, not ", words->pid);
	if (!!words->cgroup + !!words->netns + !!words->pid > 1)
		return usage_fail("a cgroup, --netns or --pid, not two of them", "");
	return 0;
}

static int command_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "netns", required_argument, NULL, 'n' },
		{ "pid", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "debug", no_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{}
	};
	struct words words = {};
	struct target target;
	const char *word;
	int c, rc;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":n:p:jdhV", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			words.netns = optarg;
			break;
		case 'p':
			words.pid = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'd':
			debug = true;
			break;
		case 'h':
			usage_print(stdout);
			return 0;
		case 'V':
			puts("smc_cgroup " SMC_TOOLS_VERSION);
			return 0;
		default:
			return option_fail(c, argv[optind - 1], options);
		}
	}
	if (optind == argc)
		return usage_fail("start, stop or status?", "");
	word = argv[optind++];
	if (!strcmp(word, "help") && optind == argc) {
		usage_print(stdout);
		return 0;
	}
	if (words_check(&words, argc - optind, argv + optind))
		return RC_USAGE;
	libbpf_set_print(libbpf_msg_print);
	if (!strcmp(word, "status"))
		return targets_show(&words);
	if (strcmp(word, "start") && strcmp(word, "stop"))
		return usage_fail("start, stop or status, not ", word);
	if (target_find(&words, &target))
		return RC_FAILED;
	rc = strcmp(word, "start") ? target_stop(&target) : target_start(&target);
	if (json && rc != RC_FAILED)
		target_show_one(&target);
	return rc;
}

int main(int argc, char **argv)
{
	int rc = command_run(argc, argv);

	if (!fflush(stdout) && !ferror(stdout))
		return rc;
	err_msg("cannot write the output");
	return rc == RC_USAGE ? rc : RC_FAILED;
}
