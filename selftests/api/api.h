/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Socket API conformance: the same cases for every family, with TCP as the norm.
 *
 * A case is a straight-line program on this host. The peer's actions are function calls: an agent,
 * here or on another host, receives socket calls over a plain TCP control connection, executes them
 * and returns value and errno, so that r_recv() reads like recv().
 */
#ifndef SMC_SELFTESTS_API_H
#define SMC_SELFTESTS_API_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/testlib.h"

#define API_PATIENCE_MS	10000	/* longest wait for something that must happen */
#define API_QUIET_MS	150	/* duration of a check that nothing happens */

enum api_role {
	API_ACTIVE,	/* this side connects */
	API_PASSIVE,	/* this side accepts */
};

/**
 * struct api_env - what a case works with
 * @proto: family of the sockets under test
 * @peer: family of the agent's sockets
 * @local: address of this side, port 0
 * @remote: address of the agent's side, port 0
 * @ctl: control connection of this case
 * @role: side that connects, for cases that run in both roles
 * @require: mode that each connection must have, TL_MODE_UNKNOWN for any
 * @declined: the agent's host declines SMC: CLC messages precede the bytes of the connections
 * @upgrade: connections of api_pair_of() begin as TCP, and change over to RDMA: their mode changes
 * @delay_ms: see r_later()
 * @later: the next agent call runs in the background
 */
struct api_env {
	const struct tl_proto *proto;
	const struct tl_proto *peer;
	struct tl_addr local;
	struct tl_addr remote;
	int ctl;
	enum api_role role;
	enum tl_mode require;
	bool declined;
	bool upgrade;
	unsigned int delay_ms;
	bool later;
};

#define API_F_ROLES	0x1	/* runs once in each role */
#define API_F_V4	0x2	/* needs an IPv4 family */

/**
 * struct api_case - one case
 * @name: stable name
 * @fn: returns if the case passes, otherwise ends its process
 * @flags: API_F_*
 */
struct api_case {
	const char *name;
	void (*fn)(struct api_env *e);
	unsigned int flags;
};

/**
 * struct api_group - cases of one file
 * @cases: the cases
 * @nr: their number
 */
struct api_group {
	const struct api_case *cases;
	unsigned int nr;
};

extern const struct api_group api_conn_group;
extern const struct api_group api_connect_group;
extern const struct api_group api_io_group;
extern const struct api_group api_poll_group;
extern const struct api_group api_close_group;
extern const struct api_group api_process_group;
extern const struct api_group api_option_group;
extern const struct api_group api_urgent_group;
extern const struct api_group api_sockopt_group;
extern const struct api_group api_info_group;
extern const struct api_group api_calls_group;
extern const struct api_group api_zerocopy_group;
extern const struct api_group api_lend_group;
extern const struct api_group api_errno_group;
extern const struct api_group api_cmsg_group;
extern const struct api_group api_early_group;
extern const struct api_group api_again_group;
extern const struct api_group api_filter_group;
extern const struct api_group api_tls_group;

/* Assertions. A case has its own process: the first failed assertion ends it. */
long long api_ok(long long ret, const char *expr, const char *fn, int line);
void api_err(long long ret, int want, const char *expr, const char *fn, int line);
void api_eq(long long got, long long want, const char *expr, const char *fn, int line);
void api_true(bool ok, const char *expr, const char *fn, int line);

#define T_OK(expr)		api_ok((expr), #expr, __func__, __LINE__)
#define T_ERR(expr, err)	api_err((expr), (err), #expr, __func__, __LINE__)
#define T_EQ(expr, want)	api_eq((expr), (want), #expr, __func__, __LINE__)
#define T_TRUE(expr)		api_true((expr), #expr, __func__, __LINE__)

/* Helpers on this side (util.c) */
void api_pair(struct api_env *e, int *fd, int *rfd);
void api_teach_agent(struct api_env *e, int lfd, const struct tl_addr *at);
void api_teach_us(struct api_env *e, int lfd, const struct tl_addr *at);
void api_pair_of(struct api_env *e, void (*prepare)(int fd), int *fd, int *rfd);
void api_check_mode(struct api_env *e, int fd);
void api_check_declined(const struct api_env *e, int fd);
void api_reenter(int fd);
bool api_over_rdma(const struct api_env *e, int fd);
bool api_kernel_before(int major, int minor);
int api_listener(struct api_env *e, struct tl_addr *at);
int api_poll(int fd, short events, int timeout_ms);
void api_send(int fd, u64 seed, u64 off, size_t len);
void api_recv(int fd, u64 seed, u64 off, size_t len);
u64 api_fill(int fd, u64 seed, u64 off);
int api_so_error(int fd);
void api_timeout(int fd, int opt, unsigned int msec);
void api_catch(int sig, bool restart);
int api_caught(void);
void api_alarm(unsigned int msec);
void api_roundtrip(struct api_env *e, int fd, int rfd, u64 seed);

/* Calls executed by the agent (rpc.c); they set errno from its answer */
void r_later(struct api_env *e, unsigned int delay_ms);
long long r_join(struct api_env *e);
int r_socket(struct api_env *e, const struct tl_proto *p);
int r_listen_at(struct api_env *e, const struct tl_proto *p, struct tl_addr *at, int backlog);
int r_connect(struct api_env *e, int rfd, const struct tl_addr *to);
int r_accept(struct api_env *e, int rfd);
int r_blackhole(struct api_env *e, struct tl_addr *at);
long long r_send_flags(struct api_env *e, int rfd, u64 seed, u64 off, size_t len, int flags);
long long r_send(struct api_env *e, int rfd, u64 seed, u64 off, size_t len);
long long r_recv(struct api_env *e, int rfd, u64 seed, u64 off, size_t len);
long long r_recv_once(struct api_env *e, int rfd, size_t len);
int r_shutdown(struct api_env *e, int rfd, int how);
int r_close(struct api_env *e, int rfd);
int r_linger0(struct api_env *e, int rfd);
int r_poll(struct api_env *e, int rfd, short events, int timeout_ms);
int r_getname(struct api_env *e, int rfd, bool peer, struct tl_addr *out);
void r_reset(struct api_env *e, int rfd);
void api_agent_run(int listener);

/* The errno table (errno.c) */
void api_errno_table(struct api_env *e);

#endif /* SMC_SELFTESTS_API_H */
