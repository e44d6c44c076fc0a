// SPDX-License-Identifier: GPL-2.0-only
/*
 * libsmc_preload.so: run unmodified programs on SMC stream sockets.
 *
 * smc_run loads this library with LD_PRELOAD. Its wrappers do this:
 *
 * socket()                     opens an SMC socket instead of a TCP socket, through the first entry
 *                              point that the kernel has: IPPROTO_SMC, else AF_SMC
 * bind(), listen(), connect()  apply the port and address rules
 * getsockopt()                 reports the family and protocol that the program asked for
 * setsockopt()                 provides SO_ZEROCOPY on kernels that refuse it to SMC sockets
 *
 * The library keeps no table of descriptors. Each time, it queries the kernel whether a descriptor
 * is an SMC socket (SO_DOMAIN, SO_PROTOCOL), so fork, dup, exec and received descriptors need no
 * care.
 */
#define _GNU_SOURCE
#include "filter.h"
#include "swap.h"

#include <uapi/linux/smc_own.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef AF_SMC
#define AF_SMC 43
#endif
#ifndef SOL_SMC
#define SOL_SMC 286
#endif
/* IPPROTO_SMC, which newer C libraries define as an enum */
#define PROTO_SMC 256
/* tcpi_state of an idle socket; linux/tcp.h does not name it */
#define TCP_STATE_CLOSE 7
/* Pause before an entry point that failed is tried again: each attempt may start modprobe */
#define RETRY_SECONDS 30
#define MAX_BUFFER (INT_MAX / 2)

/* Own C names, since the prototypes of the C library have other argument types */
int smc_wrap_socket(int domain, int type, int protocol) __asm__("socket") SMC_EXPORTED;
int smc_wrap_bind(int fd, const struct sockaddr *addr, socklen_t len) __asm__("bind") SMC_EXPORTED;
int smc_wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
	__asm__("connect") SMC_EXPORTED;
int smc_wrap_listen(int fd, int backlog) __asm__("listen") SMC_EXPORTED;
int smc_wrap_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
	__asm__("getsockopt") SMC_EXPORTED;
int smc_wrap_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
	__asm__("setsockopt") SMC_EXPORTED;

/* Entry points of the kernel for SMC sockets, in the order in which they are tried */
enum entry {
	ENTRY_PROTOCOL,	/* socket(AF_INET or AF_INET6, SOCK_STREAM, IPPROTO_SMC) */
	ENTRY_FAMILY,	/* socket(AF_SMC, SOCK_STREAM, 0 or 1) */
	ENTRIES
};

static const char *const entry_names[ENTRIES] = { "IPPROTO_SMC", "AF_SMC" };

/**
 * struct preload - state of the library; only the atomics change after preload_setup()
 * @calls: next socket(), getsockopt() and bind() in the chain
 * @connect: next connect()
 * @listen: next listen()
 * @setsockopt: next setsockopt()
 * @use: entry points that may be tried
 * @debug: print a message about each socket
 * @rcvbuf: SO_RCVBUF for each SMC socket, 0: the default of the module
 * @sndbuf: SO_SNDBUF for each SMC socket, 0: the default of the module
 * @filter: rules of -x and -i
 * @stderr_dev: device of stderr when the program started
 * @stderr_ino: inode of stderr when the program started
 * @got_rcvbuf: SO_RCVBUF as the kernel reported it after @rcvbuf was set
 * @got_sndbuf: SO_SNDBUF as the kernel reported it after @sndbuf was set
 * @retry_at: earliest time of the next attempt, seconds of the monotonic clock, by entry point and
 *	by family (0: AF_INET, 1: AF_INET6)
 * @warned_tcp: the warning about TCP instead of SMC was printed
 * @warned_size: the warning about buffer sizes was printed
 */
static struct preload {
	struct smc_swap_calls calls;
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*setsockopt)(int fd, int level, int name, const void *val, socklen_t len);
	bool use[ENTRIES];
	bool debug;
	int rcvbuf;
	int sndbuf;
	struct smc_filter filter;
	dev_t stderr_dev;
	ino_t stderr_ino;
	atomic_int got_rcvbuf;
	atomic_int got_sndbuf;
	atomic_long retry_at[ENTRIES][2];
	atomic_bool warned_tcp;
	atomic_bool warned_size;
} pre;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/*
 * Print a message. A daemon closes stderr, and descriptor 2 may then be a socket or a data file:
 * write only to the file that was stderr when the program started.
 */
__printf(1, 2)
static void msg_print(const char *fmt, ...)
{
	int saved = errno;
	struct stat st;
	char line[512];
	va_list args;
	int head, body;

	if (fstat(STDERR_FILENO, &st) || st.st_dev != pre.stderr_dev ||
	    st.st_ino != pre.stderr_ino)
		goto out;
	head = snprintf(line, sizeof(line), "smc_run[%ld]: ", (long)getpid());
	va_start(args, fmt);
	body = vsnprintf(line + head, sizeof(line) - head - 1, fmt, args);
	va_end(args);
	if (body < 0)
		goto out;
	if (body > (int)sizeof(line) - head - 2)
		body = sizeof(line) - head - 2;
	line[head + body] = '\n';
	if (write(STDERR_FILENO, line, head + body + 1) < 0)
		goto out;
out:
	errno = saved;
}

#define msg_debug(...)				\
	do {					\
		if (pre.debug)			\
			msg_print(__VA_ARGS__);	\
	} while (0)

/* End the program: an invalid setting must not be ignored, as the user relies on it. */
__noreturn __printf(1, 2)
static void setting_refuse(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("smc_run: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(2);
}

static int env_read_size(const char *name)
{
	const char *text = getenv(name);
	unsigned long size;

	if (!text || !*text)
		return 0;
	if (text[strspn(text, "0123456789")] || strlen(text) > 10)
		setting_refuse("%s needs a number of bytes, not '%s'", name, text);
	size = strtoul(text, NULL, 10);
	if (size > MAX_BUFFER)
		setting_refuse("%s is greater than %d", name, MAX_BUFFER);
	return size;
}

static void env_read_family(void)
{
	const char *text = getenv("SMC_SOCK_FAMILY");
	bool any = !text || !*text || !strcmp(text, "auto");

	pre.use[ENTRY_PROTOCOL] = any || !strcmp(text, "inet");
	pre.use[ENTRY_FAMILY] = any || !strcmp(text, "smc");
	if (!pre.use[ENTRY_PROTOCOL] && !pre.use[ENTRY_FAMILY])
		setting_refuse("SMC_SOCK_FAMILY is auto, inet or smc, not '%s'", text);
}

static void env_read(void)
{
	const char *text = getenv("SMC_DEBUG");
	char why[256];

	pre.debug = text && *text && strcmp(text, "0");
	env_read_family();
	pre.rcvbuf = env_read_size("SMC_RCVBUF");
	pre.sndbuf = env_read_size("SMC_SNDBUF");
	text = getenv("SMC_RUN_FILTER");
	if (text && smc_filter_parse(&pre.filter, text, why, sizeof(why)) < 0)
		setting_refuse("%s", why);
}

static void *symbol_find_next(const char *name)
{
	void *sym = dlsym(RTLD_NEXT, name);

	if (!sym)
		setting_refuse("no %s() found behind the preloaded library", name);
	return sym;
}

static void preload_setup(void)
{
	int saved = errno;
	struct stat st;

	if (fstat(STDERR_FILENO, &st) == 0) {
		pre.stderr_dev = st.st_dev;
		pre.stderr_ino = st.st_ino;
	}
	*(void **)&pre.calls.socket = symbol_find_next("socket");
	*(void **)&pre.calls.getsockopt = symbol_find_next("getsockopt");
	*(void **)&pre.calls.bind = symbol_find_next("bind");
	*(void **)&pre.connect = symbol_find_next("connect");
	*(void **)&pre.listen = symbol_find_next("listen");
	*(void **)&pre.setsockopt = symbol_find_next("setsockopt");
	env_read();
	errno = saved;
}

/*
 * Each wrapper calls this, since constructors of other libraries may open sockets before the
 * constructor of this library runs.
 */
static void preload_init(void)
{
	pthread_once(&once, preload_setup);
}

__attribute__((constructor))
static void preload_construct(void)
{
	preload_init();
	/* smc_run only checks the settings, before it starts the program */
	if (getenv("SMC_RUN_CHECK"))
		_exit(0);
}

static int sock_get_option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int val = -1;

	return pre.calls.getsockopt(fd, SOL_SOCKET, name, &val, &len) ? -1 : val;
}

/* Return the address family of an SMC socket, AF_INET or AF_INET6; -1 for other descriptors. */
static int smc_sock_get_family(int fd)
{
	int saved = errno;
	int domain = sock_get_option(fd, SO_DOMAIN);
	int family = -1;

	if (domain == AF_SMC)
		family = sock_get_option(fd, SO_PROTOCOL) == 1 ? AF_INET6 : AF_INET;
	else if ((domain == AF_INET || domain == AF_INET6) &&
		 sock_get_option(fd, SO_PROTOCOL) == PROTO_SMC)
		family = domain;
	errno = saved;
	return family;
}

static long clock_get_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec;
}

static bool smc_module_is_loaded(void)
{
	FILE *f = fopen("/proc/net/protocols", "re");
	bool found = false;
	char line[256];

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "SMC ", 4);
	fclose(f);
	return found;
}

static const char *error_get_advice(int err)
{
	switch (err) {
	case EAFNOSUPPORT:
		/* RestrictAddressFamilies= of systemd returns the same error */
		if (smc_module_is_loaded())
			return "the service's RestrictAddressFamilies= must allow AF_SMC";
		return "load the smc module (modprobe smc)";
	case EPERM:
	case EACCES:
		return "a seccomp filter or security policy must allow such sockets";
	case ENOMEM:
	case ENOBUFS:
	case EMFILE:
	case ENFILE:
		return "the system is short of resources";
	case EPROTONOSUPPORT:
		if (!smc_module_is_loaded())
			return "load the smc module (modprobe smc)";
		break;
	}
	return "check that the loaded smc module fits this kernel (dmesg)";
}

static bool error_is_transient(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EMFILE || err == ENFILE || err == EINTR;
}

static void fallback_warn(int err, enum entry entry)
{
	int saved = errno;

	if (!atomic_exchange(&pre.warned_tcp, true))
		msg_print("no SMC, using TCP: socket(%s): %s; %s", entry_names[entry],
			  strerror(err), error_get_advice(err));
	errno = saved;
}

/* Set a buffer size. @force is not limited by net.core.?mem_max but needs CAP_NET_ADMIN. */
static void sock_set_size(int fd, int size, int force, int plain, atomic_int *got, const char *what)
{
	socklen_t len = sizeof(int);
	int have = 0;

	if (!size)
		return;
	if (pre.setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)))
		pre.setsockopt(fd, SOL_SOCKET, plain, &size, sizeof(size));
	if (pre.calls.getsockopt(fd, SOL_SOCKET, plain, &have, &len))
		return;
	atomic_store(got, have);
	/* the kernel reports twice the size that was set */
	if (have / 2 < size && !atomic_exchange(&pre.warned_size, true))
		msg_print("the %s buffer is %d bytes, not %d: raise net.core.%s or run as root",
			  what, have / 2, size, plain == SO_RCVBUF ? "rmem_max" : "wmem_max");
}

static int entry_open(enum entry entry, int domain, int type)
{
	if (entry == ENTRY_PROTOCOL)
		return pre.calls.socket(domain, type, PROTO_SMC);
	return pre.calls.socket(AF_SMC, type, domain == AF_INET6);
}

/*
 * Open an SMC socket through the first entry point that works. Return -1 if none does; *@last is
 * then the last entry point tried and errno its error. *@last is ENTRIES if none was tried.
 */
static int smc_sock_open(int domain, int type, enum entry *last)
{
	long second = clock_get_seconds();
	int fd;

	*last = ENTRIES;
	for (enum entry entry = 0; entry < ENTRIES; entry++) {
		atomic_long *retry_at = &pre.retry_at[entry][domain == AF_INET6];

		if (!pre.use[entry] || second < atomic_load(retry_at))
			continue;
		*last = entry;
		fd = entry_open(entry, domain, type);
		/* the other entry point would fail in the same way */
		if (fd >= 0 || error_is_transient(errno))
			return fd;
		atomic_store(retry_at, second + RETRY_SECONDS);
		msg_debug("no socket(%s): %s", entry_names[entry], strerror(errno));
	}
	return -1;
}

static int sock_open(int domain, int type, int protocol)
{
	const char *family = domain == AF_INET6 ? "AF_INET6" : "AF_INET";
	int saved = errno;
	enum entry entry;
	int fd, err;

	fd = smc_sock_open(domain, type, &entry);
	if (fd >= 0) {
		sock_set_size(fd, pre.rcvbuf, SO_RCVBUFFORCE, SO_RCVBUF, &pre.got_rcvbuf,
			      "receive");
		sock_set_size(fd, pre.sndbuf, SO_SNDBUFFORCE, SO_SNDBUF, &pre.got_sndbuf, "send");
		msg_debug("socket(%s) = %d uses %s", family, fd, entry_names[entry]);
		errno = saved;
		return fd;
	}
	err = errno;
	errno = saved;
	fd = pre.calls.socket(domain, type, protocol);
	/* if TCP fails as well (no IPv6, no descriptor left), SMC is not the cause */
	if (fd >= 0 && entry != ENTRIES) {
		fallback_warn(err, entry);
		msg_debug("socket(%s) = %d uses TCP: %s", family, fd, strerror(err));
	}
	return fd;
}

int smc_wrap_socket(int domain, int type, int protocol)
{
	preload_init();
	if ((domain != AF_INET && domain != AF_INET6) ||
	    (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM ||
	    (protocol != 0 && protocol != IPPROTO_TCP))
		return pre.calls.socket(domain, type, protocol);
	return sock_open(domain, type, protocol);
}

/* Check that a socket may be replaced: not connected, not connecting, not listening. */
static bool sock_is_idle(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	struct tcp_info info;
	int listening = 0;

	if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
		return false;
	len = sizeof(listening);
	if (pre.calls.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) == 0 &&
	    listening)
		return false;
	len = sizeof(info);
	memset(&info, 0, sizeof(info));
	if (pre.calls.getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
		return info.tcpi_state == TCP_STATE_CLOSE;
	return true;
}

/*
 * Replace an SMC socket by a TCP socket if a rule says so. If that fails, the call of the program
 * fails: a connection that must be TCP never uses SMC.
 */
static int filter_apply(int fd, enum smc_filter_op op, const struct sockaddr *addr, socklen_t len)
{
	int saved = errno;
	int family = smc_sock_get_family(fd);

	if (family < 0 || smc_filter_wants_smc(&pre.filter, op, addr, len) || !sock_is_idle(fd))
		goto out;
	if (smc_swap_to_tcp(fd, family, atomic_load(&pre.got_rcvbuf),
			    atomic_load(&pre.got_sndbuf), &pre.calls) < 0) {
		msg_debug("socket %d cannot become TCP as a rule demands: %s", fd, strerror(errno));
		return -1;
	}
	msg_debug("socket %d, %s port %u: TCP by rule", fd,
		  op == SMC_FILTER_CONNECT ? "connect to" : "local", smc_filter_port(addr, len));
out:
	errno = saved;
	return 0;
}

int smc_wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	preload_init();
	/* with port 0 the rules are applied by listen() or connect() */
	if (pre.filter.num && smc_filter_port(addr, len) &&
	    filter_apply(fd, SMC_FILTER_LISTEN, addr, len) < 0)
		return -1;
	return pre.calls.bind(fd, addr, len);
}

int smc_wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	preload_init();
	if (pre.filter.num && filter_apply(fd, SMC_FILTER_CONNECT, addr, len) < 0)
		return -1;
	return pre.connect(fd, addr, len);
}

int smc_wrap_listen(int fd, int backlog)
{
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);
	int saved = errno;

	preload_init();
	if (pre.filter.num && getsockname(fd, (struct sockaddr *)&local, &len) == 0 &&
	    filter_apply(fd, SMC_FILTER_LISTEN, (struct sockaddr *)&local, len) < 0)
		return -1;
	errno = saved;
	return pre.listen(fd, backlog);
}

int smc_wrap_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	int family, answer, rc;

	preload_init();
	rc = pre.calls.getsockopt(fd, level, name, val, len);
	if (rc || level != SOL_SOCKET || (name != SO_DOMAIN && name != SO_PROTOCOL))
		return rc;
	family = smc_sock_get_family(fd);
	if (family < 0)
		return rc;
	answer = name == SO_DOMAIN ? family : IPPROTO_TCP;
	/* the kernel has checked the buffer and limited *len to the size of an int */
	memcpy(val, &answer, *len < sizeof(answer) ? *len : sizeof(answer));
	return rc;
}

/*
 * Kernels before 6.7 refuse SO_ZEROCOPY (EOPNOTSUPP) to sockets that are not TCP, before they call
 * the module. Then try SMC_OWN_ZEROCOPY, which does the same; the in-tree module lacks it.
 */
int smc_wrap_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	int rc;

	preload_init();
	rc = pre.setsockopt(fd, level, name, val, len);
	if (!rc || errno != EOPNOTSUPP || level != SOL_SOCKET || name != SO_ZEROCOPY ||
	    smc_sock_get_family(fd) < 0)
		return rc;
	rc = pre.setsockopt(fd, SOL_SMC, SMC_OWN_ZEROCOPY, val, len);
	/* a module without the option: return the error of SO_ZEROCOPY */
	if (rc && errno != EINVAL && errno != EFAULT)
		errno = EOPNOTSUPP;
	return rc;
}
