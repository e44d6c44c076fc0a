// SPDX-License-Identifier: GPL-2.0-only
/*
 * libsmc_preload.so: unmodified programs on SMC stream sockets.
 *
 * Loaded by smc_run through LD_PRELOAD. TCP sockets become SMC sockets in socket(), by whichever
 * of the kernel's two doors is open: IPPROTO_SMC, else AF_SMC. bind(), listen() and connect()
 * apply the port and address rules; getsockopt() keeps telling the program that it has the TCP
 * socket it asked for; setsockopt() has SO_ZEROCOPY on kernels that refuse it to such a socket.
 *
 * There is no table of descriptors: whether one is an SMC socket is asked from the kernel each
 * time (SO_DOMAIN, SO_PROTOCOL), so fork, dup, exec and descriptors passed from elsewhere need
 * no care.
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
/* An enum where the C library has it */
#define PROTO_SMC 256
/* tcpi_state of an idle socket; linux/tcp.h has no name for it */
#define TCP_STATE_CLOSE 7
/* After "not available" the kernel is not asked again at that door for this long: each question
 * may start modprobe.
 */
#define RETRY_SECONDS 30
#define MAX_BUFFER (INT_MAX / 2)

/* Under other C names, since the C library's prototypes have argument types of its own. */
int smc_wrap_socket(int domain, int type, int protocol) __asm__("socket") SMC_EXPORTED;
int smc_wrap_bind(int fd, const struct sockaddr *addr, socklen_t len) __asm__("bind") SMC_EXPORTED;
int smc_wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
	__asm__("connect") SMC_EXPORTED;
int smc_wrap_listen(int fd, int backlog) __asm__("listen") SMC_EXPORTED;
int smc_wrap_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
	__asm__("getsockopt") SMC_EXPORTED;
int smc_wrap_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
	__asm__("setsockopt") SMC_EXPORTED;

/* The ways to an SMC socket, in the order in which they are tried. */
enum door {
	DOOR_PROTOCOL,	/* socket(AF_INET or AF_INET6, SOCK_STREAM, IPPROTO_SMC) */
	DOOR_FAMILY,	/* socket(AF_SMC, SOCK_STREAM, 0 or 1) */
	DOORS
};

static const char *const door_names[DOORS] = { "IPPROTO_SMC", "AF_SMC" };

/**
 * struct preload - everything the library knows; constant after setup() but for the atomics
 * @calls: next socket(), getsockopt() and bind() in the chain
 * @connect: next connect()
 * @listen: next listen()
 * @setsockopt: next setsockopt()
 * @use: which doors may be tried
 * @debug: say what happens to each socket
 * @rcvbuf: SO_RCVBUF for each SMC socket, 0 = the module's default
 * @sndbuf: the same for SO_SNDBUF
 * @filter: rules of -x and -i
 * @stderr_dev: device of the program's first stderr
 * @stderr_ino: its inode
 * @got_rcvbuf: what getsockopt(SO_RCVBUF) said after @rcvbuf had been set
 * @got_sndbuf: the same for @sndbuf
 * @retry_at: per door and family: until when (seconds, monotonic clock) it is not tried
 * @warned_tcp: the warning about TCP instead of SMC was given
 * @warned_size: the warning about buffer sizes was given
 */
static struct preload {
	struct smc_swap_calls calls;
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*setsockopt)(int fd, int level, int name, const void *val, socklen_t len);
	bool use[DOORS];
	bool debug;
	int rcvbuf;
	int sndbuf;
	struct smc_filter filter;
	dev_t stderr_dev;
	ino_t stderr_ino;
	atomic_int got_rcvbuf;
	atomic_int got_sndbuf;
	atomic_long retry_at[DOORS][2];
	atomic_bool warned_tcp;
	atomic_bool warned_size;
} pre;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/*
 * A daemon closes its stderr and number 2 may now be a socket or a data file: write only to what
 * was stderr when the program began.
 */
__printf(1, 2)
static void say(const char *fmt, ...)
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

#define debug(...)                                                             \
	do {                                                                   \
		if (pre.debug)                                                 \
			say(__VA_ARGS__);                                      \
	} while (0)

/* A setting that cannot be understood must not be ignored: the user believes it is in force. */
__noreturn __printf(1, 2)
static void refuse(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("smc_run: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(2);
}

static int read_size(const char *name)
{
	const char *text = getenv(name);
	unsigned long size;

	if (!text || !*text)
		return 0;
	if (text[strspn(text, "0123456789")] || strlen(text) > 10)
		refuse("%s needs a number of bytes, not '%s'", name, text);
	size = strtoul(text, NULL, 10);
	if (size > MAX_BUFFER)
		refuse("%s is greater than %d", name, MAX_BUFFER);
	return size;
}

static void read_family(void)
{
	const char *text = getenv("SMC_SOCK_FAMILY");
	bool any = !text || !*text || !strcmp(text, "auto");

	pre.use[DOOR_PROTOCOL] = any || !strcmp(text, "inet");
	pre.use[DOOR_FAMILY] = any || !strcmp(text, "smc");
	if (!pre.use[DOOR_PROTOCOL] && !pre.use[DOOR_FAMILY])
		refuse("SMC_SOCK_FAMILY is auto, inet or smc, not '%s'", text);
}

static void read_environment(void)
{
	const char *text = getenv("SMC_DEBUG");
	char why[256];

	pre.debug = text && *text && strcmp(text, "0");
	read_family();
	pre.rcvbuf = read_size("SMC_RCVBUF");
	pre.sndbuf = read_size("SMC_SNDBUF");
	text = getenv("SMC_RUN_FILTER");
	if (text && smc_filter_parse(&pre.filter, text, why, sizeof(why)) < 0)
		refuse("%s", why);
}

static void *next_symbol(const char *name)
{
	void *sym = dlsym(RTLD_NEXT, name);

	if (!sym)
		refuse("no %s() found behind the preloaded library", name);
	return sym;
}

static void setup(void)
{
	int saved = errno;
	struct stat st;

	if (fstat(STDERR_FILENO, &st) == 0) {
		pre.stderr_dev = st.st_dev;
		pre.stderr_ino = st.st_ino;
	}
	*(void **)&pre.calls.socket = next_symbol("socket");
	*(void **)&pre.calls.getsockopt = next_symbol("getsockopt");
	*(void **)&pre.calls.bind = next_symbol("bind");
	*(void **)&pre.connect = next_symbol("connect");
	*(void **)&pre.listen = next_symbol("listen");
	*(void **)&pre.setsockopt = next_symbol("setsockopt");
	read_environment();
	errno = saved;
}

/* Not only a constructor: constructors of other libraries run earlier and may open sockets. */
static void ready(void)
{
	pthread_once(&once, setup);
}

__attribute__((constructor))
static void loaded(void)
{
	ready();
	/* smc_run asks whether the settings are good before it starts the program. */
	if (getenv("SMC_RUN_CHECK"))
		_exit(0);
}

static int int_option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int val = -1;

	return pre.calls.getsockopt(fd, SOL_SOCKET, name, &val, &len) ? -1 : val;
}

/* The family of an SMC socket's addresses, AF_INET or AF_INET6; -1 for any other descriptor. */
static int smc_family(int fd)
{
	int saved = errno;
	int domain = int_option(fd, SO_DOMAIN);
	int family = -1;

	if (domain == AF_SMC)
		family = int_option(fd, SO_PROTOCOL) == 1 ? AF_INET6 : AF_INET;
	else if ((domain == AF_INET || domain == AF_INET6) &&
		 int_option(fd, SO_PROTOCOL) == PROTO_SMC)
		family = domain;
	errno = saved;
	return family;
}

static long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec;
}

static bool smc_module_loaded(void)
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

static const char *advice(int err)
{
	switch (err) {
	case EAFNOSUPPORT:
		/* systemd's filter answers like a kernel without the family */
		if (smc_module_loaded())
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
		if (!smc_module_loaded())
			return "load the smc module (modprobe smc)";
		break;
	}
	return "check that the loaded smc module fits this kernel (dmesg)";
}

static bool is_transient(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EMFILE || err == ENFILE || err == EINTR;
}

static void note_failure(int err, enum door door)
{
	int saved = errno;

	if (!atomic_exchange(&pre.warned_tcp, true))
		say("no SMC, using TCP: socket(%s): %s; %s", door_names[door], strerror(err),
		    advice(err));
	errno = saved;
}

/* FORCE is not bound by net.core.?mem_max but needs CAP_NET_ADMIN. */
static void set_size(int fd, int size, int force, int plain, atomic_int *got, const char *what)
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
	/* The kernel reports twice the size that was set. */
	if (have / 2 < size && !atomic_exchange(&pre.warned_size, true))
		say("the %s buffer is %d bytes, not %d: raise net.core.%s or run as root",
		    what, have / 2, size, plain == SO_RCVBUF ? "rmem_max" : "wmem_max");
}

static int open_at(enum door door, int domain, int type)
{
	if (door == DOOR_PROTOCOL)
		return pre.calls.socket(domain, type, PROTO_SMC);
	return pre.calls.socket(AF_SMC, type, domain == AF_INET6);
}

/*
 * Tries the doors; -1 if there is no SMC socket. *@last is the last one that was asked, DOORS if
 * none, and errno its answer.
 */
static int open_smc(int domain, int type, enum door *last)
{
	long second = now();
	int fd;

	*last = DOORS;
	for (enum door door = 0; door < DOORS; door++) {
		atomic_long *retry_at = &pre.retry_at[door][domain == AF_INET6];

		if (!pre.use[door] || second < atomic_load(retry_at))
			continue;
		*last = door;
		fd = open_at(door, domain, type);
		/* behind the other door it would be the same */
		if (fd >= 0 || is_transient(errno))
			return fd;
		atomic_store(retry_at, second + RETRY_SECONDS);
		debug("no socket(%s): %s", door_names[door], strerror(errno));
	}
	return -1;
}

static int open_instead(int domain, int type, int protocol)
{
	const char *family = domain == AF_INET6 ? "AF_INET6" : "AF_INET";
	int saved = errno;
	enum door door;
	int fd, err;

	fd = open_smc(domain, type, &door);
	if (fd >= 0) {
		set_size(fd, pre.rcvbuf, SO_RCVBUFFORCE, SO_RCVBUF, &pre.got_rcvbuf, "receive");
		set_size(fd, pre.sndbuf, SO_SNDBUFFORCE, SO_SNDBUF, &pre.got_sndbuf, "send");
		debug("socket(%s) = %d uses %s", family, fd, door_names[door]);
		errno = saved;
		return fd;
	}
	err = errno;
	errno = saved;
	fd = pre.calls.socket(domain, type, protocol);
	/* When TCP fails as well (no IPv6, no descriptor left) the cause is not SMC. */
	if (fd >= 0 && door != DOORS) {
		note_failure(err, door);
		debug("socket(%s) = %d uses TCP: %s", family, fd, strerror(err));
	}
	return fd;
}

int smc_wrap_socket(int domain, int type, int protocol)
{
	ready();
	if ((domain != AF_INET && domain != AF_INET6) ||
	    (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM ||
	    (protocol != 0 && protocol != IPPROTO_TCP))
		return pre.calls.socket(domain, type, protocol);
	return open_instead(domain, type, protocol);
}

/* Only a socket that is neither connected nor connecting nor listening may be replaced. */
static bool is_idle(int fd)
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
 * Make the socket TCP if a rule says so. Fails rather than let a connection use SMC that the
 * user wants to be TCP.
 */
static int apply_filter(int fd, enum smc_filter_op op, const struct sockaddr *addr, socklen_t len)
{
	int saved = errno;
	int family = smc_family(fd);

	if (family < 0 || smc_filter_wants_smc(&pre.filter, op, addr, len) || !is_idle(fd))
		goto out;
	if (smc_swap_to_tcp(fd, family, atomic_load(&pre.got_rcvbuf),
			    atomic_load(&pre.got_sndbuf), &pre.calls) < 0) {
		debug("socket %d cannot become TCP as a rule demands: %s", fd, strerror(errno));
		return -1;
	}
	debug("socket %d, %s port %u: TCP by rule", fd,
	      op == SMC_FILTER_CONNECT ? "connect to" : "local", smc_filter_port(addr, len));
out:
	errno = saved;
	return 0;
}

int smc_wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	ready();
	/* Port 0 says nothing yet: listen() or connect() will decide. */
	if (pre.filter.num && smc_filter_port(addr, len) &&
	    apply_filter(fd, SMC_FILTER_LISTEN, addr, len) < 0)
		return -1;
	return pre.calls.bind(fd, addr, len);
}

int smc_wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	ready();
	if (pre.filter.num && apply_filter(fd, SMC_FILTER_CONNECT, addr, len) < 0)
		return -1;
	return pre.connect(fd, addr, len);
}

int smc_wrap_listen(int fd, int backlog)
{
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);
	int saved = errno;

	ready();
	if (pre.filter.num && getsockname(fd, (struct sockaddr *)&local, &len) == 0 &&
	    apply_filter(fd, SMC_FILTER_LISTEN, (struct sockaddr *)&local, len) < 0)
		return -1;
	errno = saved;
	return pre.listen(fd, backlog);
}

int smc_wrap_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	int family, answer, rc;

	ready();
	rc = pre.calls.getsockopt(fd, level, name, val, len);
	if (rc || level != SOL_SOCKET || (name != SO_DOMAIN && name != SO_PROTOCOL))
		return rc;
	family = smc_family(fd);
	if (family < 0)
		return rc;
	answer = name == SO_DOMAIN ? family : IPPROTO_TCP;
	/* The kernel has already cut the length to that of an int and found the buffer good. */
	memcpy(val, &answer, *len < sizeof(answer) ? *len : sizeof(answer));
	return rc;
}

/*
 * Kernels before 6.7 refuse SO_ZEROCOPY to what they do not know as TCP, without a word to the
 * module, which has the same by an option of its own. Others, and the in-tree module, which has no
 * such option, have answered for good.
 */
int smc_wrap_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	int rc;

	ready();
	rc = pre.setsockopt(fd, level, name, val, len);
	if (!rc || errno != EOPNOTSUPP || level != SOL_SOCKET || name != SO_ZEROCOPY ||
	    smc_family(fd) < 0)
		return rc;
	rc = pre.setsockopt(fd, SOL_SMC, SMC_OWN_ZEROCOPY, val, len);
	/* a module without it says so in its own way: the program hears what it has asked for */
	if (rc && errno != EINVAL && errno != EFAULT)
		errno = EOPNOTSUPP;
	return rc;
}
