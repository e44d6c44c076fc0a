// SPDX-License-Identifier: GPL-2.0-only
/*
 * libsmc_verify.so: how each connection of a program travelled, said at its exit.
 *
 * Loaded by smc_run --verify behind libsmc_preload.so. When the program closes a connected stream
 * socket, or exits with it, the kernel's list of SMC sockets (sock_diag) is asked for that inode.
 */
#define _GNU_SOURCE
#include "smc_tools.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <smc/proto/clc_msg.h>

#define FAMILY_SMC 43
#define PROTO_SMC 256
#define DIAG_BY_FAMILY 20
#define ROOM 65536
#define EXT(attr) (1 << ((attr) - 1))

int smc_verify_close(int fd) __asm__("close") SMC_EXPORTED;

/**
 * struct seen - one connection
 * @next: the one seen after it
 * @inode: of the socket
 * @smc: it was SMC-R
 * @text: what to say of it
 */
struct seen {
	struct seen *next;
	ino_t inode;
	bool smc;
	char text[400];
};

/**
 * struct asked - a question to the kernel
 * @inode: of the socket
 * @found: the kernel lists it
 * @msg: its entry
 * @fback: why it is TCP
 * @link: where it runs
 */
struct asked {
	ino_t inode;
	bool found;
	struct smc_diag_msg msg;
	struct smc_diag_fallback fback;
	struct smc_diag_lgrinfo link;
};

static struct {
	int (*close)(int fd);
	int (*getsockopt)(int fd, int level, int name, void *val, socklen_t *len);
	struct seen *seen, **last;
	struct stat err;
	pthread_mutex_t lock;
} ver = { .last = &ver.seen, .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What the parent has seen it will say itself. */
static void forked(void)
{
	ver.seen = NULL;
	ver.last = &ver.seen;
	pthread_mutex_init(&ver.lock, NULL);
}

static void setup(void)
{
	*(void **)&ver.close = dlsym(RTLD_NEXT, "close");
	*(void **)&ver.getsockopt = dlsym(RTLD_NEXT, "getsockopt");
	if (fstat(STDERR_FILENO, &ver.err))
		ver.err.st_ino = 0;
	pthread_atfork(NULL, NULL, forked);
}

__attribute__((constructor))
static void ready(void)
{
	pthread_once(&once, setup);
}

static int int_option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int val = -1;

	return ver.getsockopt(fd, SOL_SOCKET, name, &val, &len) ? -1 : val;
}

static void copy(void *to, size_t size, const struct nlattr *attr)
{
	size_t len = mnl_attr_get_payload_len(attr);

	memcpy(to, mnl_attr_get_payload(attr), len < size ? len : size);
}

static int on_sock(const struct nlmsghdr *nlh, void *data)
{
	const struct smc_diag_msg *msg = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	struct asked *ask = data;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*msg) || msg->diag_inode != ask->inode)
		return MNL_CB_OK;
	ask->found = true;
	ask->msg = *msg;
	mnl_attr_for_each(attr, nlh, sizeof(*msg)) {
		if (mnl_attr_get_type(attr) == SMC_DIAG_FALLBACK)
			copy(&ask->fback, sizeof(ask->fback), attr);
		else if (mnl_attr_get_type(attr) == SMC_DIAG_LGRINFO)
			copy(&ask->link, sizeof(ask->link), attr);
	}
	return MNL_CB_OK;
}

/* False: the kernel does not answer, errno says why. */
static bool ask_kernel(struct asked *ask)
{
	struct smc_diag_req req = {
		.diag_family = FAMILY_SMC,
		.diag_ext = EXT(SMC_DIAG_FALLBACK) | EXT(SMC_DIAG_LGRINFO),
	};
	struct timeval patience = { .tv_sec = 2 };
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	char *buf = malloc(ROOM);
	struct nlmsghdr *nlh;
	int n = -1, saved;

	if (!nl || !buf)
		goto out;
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof(req)), &req, sizeof(req));
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		goto out;
	do {
		n = mnl_socket_recvfrom(nl, buf, ROOM);
		if (n > 0)
			n = mnl_cb_run(buf, n, 0, 0, on_sock, ask);
	} while (n > 0);
out:
	saved = errno;
	if (nl)
		mnl_socket_close(nl);
	free(buf);
	errno = saved;
	return n >= 0;
}

static const char *address(const struct sockaddr_storage *ss, char *text, size_t size)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	char host[INET6_ADDRSTRLEN] = "?";

	if (ss->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(text, size, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(text, size, "%s:%u", host, ntohs(in->sin_port));
	}
	return text;
}

static void describe(bool smc, struct seen *s)
{
	struct asked ask = { .inode = s->inode };
	size_t at = strlen(s->text), room = sizeof(s->text) - at;
	char *text = s->text + at;

	if (!smc) {
		snprintf(text, room, "TCP, not an SMC socket: by a rule, or no SMC module");
	} else if (!ask_kernel(&ask)) {
		snprintf(text, room, "not known: sock_diag: %s", strerror(errno));
	} else if (!ask.found) {
		snprintf(text, room, "not known: the kernel does not list it");
	} else if (ask.msg.diag_mode == SMC_DIAG_MODE_FALLBACK_TCP) {
		at = snprintf(text, room, "TCP: %s (%08x)", smc_clc_reason_str(ask.fback.reason),
			      ask.fback.reason);
		if (ask.fback.peer_diagnosis && at < room)
			snprintf(text + at, room - at, ", peer: %s (%08x)",
				 smc_clc_reason_str(ask.fback.peer_diagnosis),
				 ask.fback.peer_diagnosis);
	} else {
		s->smc = true;
		snprintf(text, room, "SMC-R, %s%s%.*s", ask.link.role ? "server" : "client",
			 ask.link.lnk[0].ibname[0] ? ", on " : "",
			 (int)sizeof(ask.link.lnk[0].ibname), ask.link.lnk[0].ibname);
	}
}

/* A connection is going, or still there at the end. */
static void look_at(int fd)
{
	struct sockaddr_storage local, peer;
	socklen_t llen = sizeof(local), plen = sizeof(peer);
	int saved = errno, domain, protocol;
	char from[64], to[64];
	struct seen *s, *old;
	struct stat st;

	domain = int_option(fd, SO_DOMAIN);
	protocol = int_option(fd, SO_PROTOCOL);
	if ((domain != AF_INET && domain != AF_INET6 && domain != FAMILY_SMC) ||
	    int_option(fd, SO_TYPE) != SOCK_STREAM || fstat(fd, &st) ||
	    getpeername(fd, (struct sockaddr *)&peer, &plen) ||
	    getsockname(fd, (struct sockaddr *)&local, &llen))
		goto out;
	s = calloc(1, sizeof(*s));
	if (!s)
		goto out;
	s->inode = st.st_ino;
	snprintf(s->text, sizeof(s->text), "%s to %s: ", address(&local, from, sizeof(from)),
		 address(&peer, to, sizeof(to)));
	describe(domain == FAMILY_SMC || protocol == PROTO_SMC, s);
	pthread_mutex_lock(&ver.lock);
	/* a duplicate of a descriptor */
	for (old = ver.seen; old && old->inode != s->inode; old = old->next)
		;
	if (!old || strcmp(old->text, s->text)) {
		*ver.last = s;
		ver.last = &s->next;
		s = NULL;
	}
	pthread_mutex_unlock(&ver.lock);
	free(s);
out:
	errno = saved;
}

int smc_verify_close(int fd)
{
	ready();
	look_at(fd);
	return ver.close(fd);
}

static void look_at_all(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	if (!dir)
		return;
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.' && atoi(d->d_name) != dirfd(dir))
			look_at(atoi(d->d_name));
	closedir(dir);
}

__attribute__((destructor))
static void verdict(void)
{
	unsigned int nr = 0, smc = 0;
	const struct seen *s;
	struct stat st;

	look_at_all();
	/* a daemon's second descriptor may be anything */
	if (!ver.seen || fstat(STDERR_FILENO, &st) || st.st_dev != ver.err.st_dev ||
	    st.st_ino != ver.err.st_ino)
		return;
	for (s = ver.seen; s; s = s->next) {
		dprintf(STDERR_FILENO, "smc_run[%ld]: %s\n", (long)getpid(), s->text);
		nr++;
		smc += s->smc;
	}
	dprintf(STDERR_FILENO, "smc_run[%ld]: %u of %u connections by SMC-R\n", (long)getpid(), smc,
		nr);
}
