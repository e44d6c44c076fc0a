// SPDX-License-Identifier: GPL-2.0-only
/*
 * libsmc_verify.so: report at exit which connections of a program used SMC.
 *
 * smc_run --verify loads this library behind libsmc_preload.so; --json sets SMC_RUN_JSON. When
 * the program closes a connected stream socket, or exits with it open, the library looks up its
 * inode in sock_diag.
 */
#define _GNU_SOURCE
#include "smc_json.h"
#include "smc_tools.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/close_range.h>
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
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <smc/proto/clc_msg.h>
#include <uapi/linux/smc_own.h>

#define FAMILY_SMC 43
#define PROTO_SMC 256
#define DIAG_BY_FAMILY 20
#define BUFFER_SIZE 65536
#define EXT(attr) (1 << ((attr) - 1))

int smc_verify_close(int fd) __asm__("close") SMC_EXPORTED;
int smc_verify_fclose(FILE *stream) __asm__("fclose") SMC_EXPORTED;
int smc_verify_dup2(int from, int to) __asm__("dup2") SMC_EXPORTED;
int smc_verify_dup3(int from, int to, int flags) __asm__("dup3") SMC_EXPORTED;
int smc_verify_close_range(unsigned int first, unsigned int last, int flags)
	__asm__("close_range") SMC_EXPORTED;
void smc_verify_closefrom(int first) __asm__("closefrom") SMC_EXPORTED;

/**
 * struct conn - one connection
 * @next: next connection, in the order of closing
 * @inode: inode number of the socket
 * @smc: the connection used SMC-R
 * @text: line of the report
 * @json: the same as a JSON object, NULL if that is not wanted
 */
struct conn {
	struct conn *next;
	ino_t inode;
	bool smc;
	char text[400];
	char *json;
};

/**
 * struct diag_query - look-up of a socket in sock_diag
 * @inode: inode number of the socket
 * @found: the kernel lists the socket
 * @msg: entry of the socket
 * @deferred: it uses TCP, and may change over to RDMA
 * @fback: why the connection uses TCP, if it is no deferred one
 * @link: link of the connection
 */
struct diag_query {
	ino_t inode;
	bool found;
	struct smc_diag_msg msg;
	bool deferred;
	struct smc_diag_fallback fback;
	struct smc_diag_lgrinfo link;
};

static struct {
	int (*close)(int fd);
	int (*fclose)(FILE *stream);
	int (*dup2)(int from, int to);
	int (*dup3)(int from, int to, int flags);
	void (*closefrom)(int first);
	int (*getsockopt)(int fd, int level, int name, void *val, socklen_t *len);
	struct conn *conns, **last;
	struct stat err;
	bool json;
	pid_t pid;
	pthread_mutex_t lock;
} ver = { .last = &ver.conns, .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* After fork(), forget the connections of the parent, which reports them itself. */
static void verify_reset(void)
{
	ver.conns = NULL;
	ver.last = &ver.conns;
	ver.pid = getpid();
	pthread_mutex_init(&ver.lock, NULL);
}

static void verify_setup(void)
{
	*(void **)&ver.close = dlsym(RTLD_NEXT, "close");
	*(void **)&ver.fclose = dlsym(RTLD_NEXT, "fclose");
	*(void **)&ver.dup2 = dlsym(RTLD_NEXT, "dup2");
	*(void **)&ver.dup3 = dlsym(RTLD_NEXT, "dup3");
	*(void **)&ver.closefrom = dlsym(RTLD_NEXT, "closefrom");
	*(void **)&ver.getsockopt = dlsym(RTLD_NEXT, "getsockopt");
	if (fstat(STDERR_FILENO, &ver.err))
		ver.err.st_ino = 0;
	ver.json = getenv("SMC_RUN_JSON");
	ver.pid = getpid();
	pthread_atfork(NULL, NULL, verify_reset);
}

__attribute__((constructor))
static void verify_init(void)
{
	pthread_once(&once, verify_setup);
}

static int sock_get_option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int val = -1;

	return ver.getsockopt(fd, SOL_SOCKET, name, &val, &len) ? -1 : val;
}

static void attr_copy(void *to, size_t size, const struct nlattr *attr)
{
	size_t len = mnl_attr_get_payload_len(attr);

	memcpy(to, mnl_attr_get_payload(attr), len < size ? len : size);
}

static int diag_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct smc_diag_msg *msg = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	struct diag_query *query = data;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*msg) || msg->diag_inode != query->inode)
		return MNL_CB_OK;
	query->found = true;
	query->msg = *msg;
	mnl_attr_for_each(attr, nlh, sizeof(*msg)) {
		if (mnl_attr_get_type(attr) == SMC_DIAG_FALLBACK)
			attr_copy(&query->fback, sizeof(query->fback), attr);
		else if (mnl_attr_get_type(attr) == SMC_DIAG_LGRINFO)
			attr_copy(&query->link, sizeof(query->link), attr);
		else if (mnl_attr_get_type(attr) == SMC_DIAG_OWN_DEFERRED)
			query->deferred = true;
	}
	return MNL_CB_OK;
}

/* Look up a socket. Return false if the query failed, with errno set. */
static bool diag_query_run(struct diag_query *query)
{
	struct smc_diag_req req = {
		.diag_family = FAMILY_SMC,
		.diag_ext = EXT(SMC_DIAG_FALLBACK) | EXT(SMC_DIAG_LGRINFO),
	};
	struct timeval timeout = { .tv_sec = 2 };
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	char *buf = malloc(BUFFER_SIZE);
	struct nlmsghdr *nlh;
	int n = -1, saved;

	if (!nl || !buf)
		goto out;
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof(req)), &req, sizeof(req));
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		goto out;
	do {
		n = mnl_socket_recvfrom(nl, buf, BUFFER_SIZE);
		if (n > 0)
			n = mnl_cb_run(buf, n, 0, 0, diag_cb, query);
	} while (n > 0);
out:
	saved = errno;
	if (nl)
		mnl_socket_close(nl);
	free(buf);
	errno = saved;
	return n >= 0;
}

/**
 * struct end - address of one end of a connection
 * @host: IP address
 * @port: port
 * @text: both
 */
struct end {
	char host[INET6_ADDRSTRLEN];
	unsigned int port;
	char text[64];
};

static void end_format(struct end *end, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;

	memcpy(end->host, "?", sizeof("?"));
	if (ss->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, end->host, sizeof(end->host));
		end->port = ntohs(in6->sin6_port);
		snprintf(end->text, sizeof(end->text), "[%s]:%u", end->host, end->port);
	} else {
		inet_ntop(AF_INET, &in->sin_addr, end->host, sizeof(end->host));
		end->port = ntohs(in->sin_port);
		snprintf(end->text, sizeof(end->text), "%s:%u", end->host, end->port);
	}
}

/* Format a member that is a reason, and its text. */
static void reason_write_json(FILE *out, const char *key, __u32 code)
{
	fprintf(out, "\"%s\":\"0x%08x\",\"%s_text\":", key, code, key);
	smc_json_put_str(out, code ? smc_clc_reason_str(code) : "none");
}

/* Set @conn->json to what is known of the connection; @detail is a sentence about that. */
static void conn_write_json(struct conn *conn, const struct end *local, const struct end *peer,
			    const struct diag_query *query, bool smc, const char *detail)
{
	char device[sizeof(query->link.lnk[0].ibname) + 1];
	bool tcp = query->found && query->msg.diag_mode == SMC_DIAG_MODE_FALLBACK_TCP;
	size_t size;
	FILE *out = open_memstream(&conn->json, &size);

	if (!out)
		return;
	fprintf(out, "{\"local_addr\":\"%s\",\"local_port\":%u", local->host, local->port);
	fprintf(out, ",\"peer_addr\":\"%s\",\"peer_port\":%u", peer->host, peer->port);
	fprintf(out, ",\"mode\":\"%s\"", conn->smc ? "SMCR" : !smc || tcp ? "TCP" : "unknown");
	if (tcp && query->deferred) {
		fputs(",\"deferred\":true", out);
	} else if (tcp) {
		fputs(",\"fallback\":{", out);
		reason_write_json(out, "reason", query->fback.reason);
		fputc(',', out);
		reason_write_json(out, "peer_reason", query->fback.peer_diagnosis);
		fputc('}', out);
	}
	if (conn->smc) {
		snprintf(device, sizeof(device), "%.*s", (int)sizeof(query->link.lnk[0].ibname),
			 query->link.lnk[0].ibname);
		fprintf(out, ",\"link\":{\"role\":\"%s\",\"device\":",
			query->link.role ? "server" : "client");
		smc_json_put_str(out, device);
		fputc('}', out);
	}
	fputs(",\"detail\":", out);
	smc_json_put_str(out, detail);
	fputc('}', out);
	fclose(out);
}

static void conn_describe(struct conn *conn, const struct end *local, const struct end *peer,
			  bool smc)
{
	struct diag_query query = { .inode = conn->inode };
	size_t at, room;
	char *text;

	snprintf(conn->text, sizeof(conn->text), "%s to %s: ", local->text, peer->text);
	at = strlen(conn->text);
	room = sizeof(conn->text) - at;
	text = conn->text + at;
	if (!smc) {
		snprintf(text, room, "TCP, not an SMC socket: by a rule, or no SMC module");
	} else if (!diag_query_run(&query)) {
		snprintf(text, room, "not known: sock_diag: %s", strerror(errno));
	} else if (!query.found) {
		snprintf(text, room, "not known: the kernel does not list it");
	} else if (query.deferred) {
		snprintf(text, room, "TCP, which had not changed over to SMC-R");
	} else if (query.msg.diag_mode == SMC_DIAG_MODE_FALLBACK_TCP) {
		at = snprintf(text, room, "TCP: %s (%08x)", smc_clc_reason_str(query.fback.reason),
			      query.fback.reason);
		if (query.fback.peer_diagnosis && at < room)
			snprintf(text + at, room - at, ", peer: %s (%08x)",
				 smc_clc_reason_str(query.fback.peer_diagnosis),
				 query.fback.peer_diagnosis);
	} else {
		conn->smc = true;
		snprintf(text, room, "SMC-R, %s%s%.*s", query.link.role ? "server" : "client",
			 query.link.lnk[0].ibname[0] ? ", on " : "",
			 (int)sizeof(query.link.lnk[0].ibname), query.link.lnk[0].ibname);
	}
	if (ver.json)
		conn_write_json(conn, local, peer, &query, smc, text);
}

/* Record a descriptor that is closed, or open at exit, if it is a connected stream socket. */
static void conn_record(int fd)
{
	struct sockaddr_storage local, peer;
	socklen_t llen = sizeof(local), plen = sizeof(peer);
	int saved = errno, domain, protocol;
	struct end near, far;
	struct conn *conn, *old;
	struct stat st;

	domain = sock_get_option(fd, SO_DOMAIN);
	protocol = sock_get_option(fd, SO_PROTOCOL);
	if ((domain != AF_INET && domain != AF_INET6 && domain != FAMILY_SMC) ||
	    sock_get_option(fd, SO_TYPE) != SOCK_STREAM || fstat(fd, &st) ||
	    getpeername(fd, (struct sockaddr *)&peer, &plen) ||
	    getsockname(fd, (struct sockaddr *)&local, &llen))
		goto out;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		goto out;
	conn->inode = st.st_ino;
	end_format(&near, &local);
	end_format(&far, &peer);
	conn_describe(conn, &near, &far, domain == FAMILY_SMC || protocol == PROTO_SMC);
	pthread_mutex_lock(&ver.lock);
	/* a duplicate of the descriptor has the same inode */
	for (old = ver.conns; old && old->inode != conn->inode; old = old->next)
		;
	if (!old || strcmp(old->text, conn->text)) {
		*ver.last = conn;
		ver.last = &conn->next;
		conn = NULL;
	}
	pthread_mutex_unlock(&ver.lock);
	if (conn)
		free(conn->json);
	free(conn);
out:
	errno = saved;
}

/* Record the descriptors in a range that are open. */
static void conns_record(unsigned int first, unsigned int last)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	unsigned int fd;

	if (!dir)
		return;
	while ((d = readdir(dir))) {
		fd = (unsigned int)atoi(d->d_name);
		if (d->d_name[0] != '.' && fd >= first && fd <= last && (int)fd != dirfd(dir))
			conn_record((int)fd);
	}
	closedir(dir);
}

/*
 * Check whether what this process closes is to be recorded. After vfork() it is not: the child has
 * the memory of its parent, which still has the connection.
 */
static bool verify_is_on(void)
{
	verify_init();
	return getpid() == ver.pid;
}

int smc_verify_close(int fd)
{
	if (verify_is_on())
		conn_record(fd);
	return ver.close(fd);
}

int smc_verify_fclose(FILE *stream)
{
	if (verify_is_on() && stream)
		conn_record(fileno(stream));
	return ver.fclose(stream);
}

/* A duplicate closes what had its number, unless it fails. */
static void conn_record_replaced(int from, int to)
{
	if (verify_is_on() && from != to && fcntl(from, F_GETFD) >= 0)
		conn_record(to);
}

int smc_verify_dup2(int from, int to)
{
	conn_record_replaced(from, to);
	return ver.dup2(from, to);
}

int smc_verify_dup3(int from, int to, int flags)
{
	conn_record_replaced(from, to);
	return ver.dup3(from, to, flags);
}

/* C libraries before glibc 2.34 lack this one and the next. */
int smc_verify_close_range(unsigned int first, unsigned int last, int flags)
{
	int saved = errno;

	if (verify_is_on() && !(flags & CLOSE_RANGE_CLOEXEC))
		conns_record(first, last);
	errno = saved;
	return (int)syscall(SYS_close_range, first, last, flags);
}

void smc_verify_closefrom(int first)
{
	int saved = errno;

	if (first < 0)
		first = 0;
	if (verify_is_on())
		conns_record((unsigned int)first, INT_MAX);
	errno = saved;
	if (ver.closefrom)
		ver.closefrom(first);
	else
		syscall(SYS_close_range, first, ~0U, 0);
}

/* One line with all connections of the process, in one write: other processes write theirs. */
static void conns_write_json(void)
{
	const struct conn *conn;
	unsigned int smc = 0;
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return;
	fprintf(out, "{\"format\":%d,\"pid\":%ld,\"connections\":[", SMC_JSON_FORMAT,
		(long)getpid());
	for (conn = ver.conns; conn; conn = conn->next) {
		fprintf(out, "%s%s", conn->json ? conn->json : "{}", conn->next ? "," : "");
		smc += conn->smc;
	}
	fprintf(out, "],\"smc\":%u}\n", smc);
	if (!fclose(out))
		dprintf(STDERR_FILENO, "%s", line);
	free(line);
}

static void conns_write_text(void)
{
	unsigned int nr = 0, smc = 0;
	const struct conn *conn;

	for (conn = ver.conns; conn; conn = conn->next) {
		dprintf(STDERR_FILENO, "smc_run[%ld]: %s\n", (long)getpid(), conn->text);
		nr++;
		smc += conn->smc;
	}
	dprintf(STDERR_FILENO, "smc_run[%ld]: %u of %u connections by SMC-R\n", (long)getpid(), smc,
		nr);
}

__attribute__((destructor))
static void verify_report(void)
{
	struct stat st;

	conns_record(0, INT_MAX);
	/* descriptor 2 of a daemon may be another file */
	if (!ver.conns || fstat(STDERR_FILENO, &st) || st.st_dev != ver.err.st_dev ||
	    st.st_ino != ver.err.st_ino)
		return;
	if (ver.json)
		conns_write_json();
	else
		conns_write_text();
}
