/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hostile peers in the rendezvous: plain TCP sockets whose SYN or SYN-ACK has
 * the SMC option. The other side therefore expects CLC messages, and they send
 * malformed ones, other bytes, or nothing.
 */
#ifndef SMC_SELFTESTS_EVIL_H
#define SMC_SELFTESTS_EVIL_H

#include <stdbool.h>
#include <smc/proto/clc_msg.h>

#include "lib/testlib.h"

#define EVIL_MSG_MAX	2048

/**
 * struct evil_msg - bytes to send, or a message received
 * @buf: the bytes
 * @len: number of bytes
 */
struct evil_msg {
	u8 buf[EVIL_MSG_MAX];
	size_t len;
};

/* What came over a connection. */
enum evil_end {
	EVIL_OPEN,		/* nothing: still open at the timeout */
	EVIL_CLOSED,		/* end of stream or reset */
	EVIL_DECLINE,		/* a Decline, and the connection stays open */
	EVIL_ACCEPT,		/* an Accept or a Confirm */
	EVIL_ALIEN,		/* bytes that are not a CLC message */
};

/* bpf.c */
int evil_option_on(void);
int evil_option_pause(bool pause);
bool evil_option_in_syn(const u8 *tcp, size_t len);

/* msg.c */
void evil_proposal(struct evil_msg *m, const struct tl_addr *local);
void evil_proposal_native(struct evil_msg *m, const struct tl_addr *local, u8 links);
void evil_proposal_v1(struct evil_msg *m, const struct tl_addr *local, u8 links);
void evil_accept(struct evil_msg *m, const struct tl_addr *local, const u8 *eid, bool confirm,
		 bool first);
void evil_accept_to_v1(struct evil_msg *m);
void evil_decline(struct evil_msg *m, unsigned int version, u32 diag);
void evil_garbage(struct evil_msg *m, u64 seed, size_t len);
void evil_mutate(struct evil_msg *m, u64 seed);
enum evil_end evil_read(int fd, unsigned int timeout_ms, struct evil_msg *got);
enum evil_end evil_read_end(int fd, unsigned int timeout_ms);
int evil_write(int fd, const void *buf, size_t len);
int evil_drip(int fd, const void *buf, size_t len, unsigned int pause_ms);
void evil_reset(int fd);
const char *evil_end_name(enum evil_end end);

/**
 * struct evil_target - the server under attack, and the parameters of the attacks
 * @tcp: plain TCP family of the hostile sockets
 * @good: family of the well-behaved client
 * @to: address of the server
 * @local: our address as the server sees it, for the GIDs in our messages
 * @from: address of the hostile sockets; length 0: the kernel chooses it
 * @deadline_ms: time by which the server must end a handshake that does not proceed
 * @silent: number of connections of the silence cases
 * @rounds: number of messages of the mutation cases
 * @seed: seed of all random bytes
 * @only: part of the names of the cases to run, NULL for all
 */
struct evil_target {
	const struct tl_proto *tcp;
	const struct tl_proto *good;
	struct tl_addr to;
	struct tl_addr local;
	struct tl_addr from;
	unsigned int deadline_ms;
	unsigned int silent;
	unsigned int rounds;
	u64 seed;
	const char *only;
};

int evil_connect(const struct evil_target *t);

/* client.c, silent.c */
int evil_client_run(const struct evil_target *t, int health);
bool evil_health(int health, const char *when);
int evil_health_start(const struct evil_target *t);

/**
 * struct evil_case - one attack on a server
 * @name: stable name
 * @fn: returns false if the server's reaction was wrong
 */
struct evil_case {
	const char *name;
	bool (*fn)(const struct evil_target *t);
};

bool evil_tcp_works(int fd, u64 seed);
bool evil_version_1(const struct evil_target *t);	/* v1.c */
bool evil_silent(const struct evil_target *t, int health);
bool evil_silent_after_proposal(const struct evil_target *t, int health);
bool evil_truncated_silent(const struct evil_target *t);

/* answers.c: the hostile server and its victim use the same table */

/* The result that the application of a victim sees. */
enum evil_expect {
	EVIL_FAILS,		/* connect() reports an error */
	EVIL_TCP,		/* connect() succeeds, and the connection is TCP */
	EVIL_GREETING,		/* as EVIL_TCP, and the server sends first */
	EVIL_AGAIN,		/* as EVIL_TCP, on a second TCP connection */
	EVIL_AGAIN_RUDE,	/* as EVIL_AGAIN, and the server misbehaves there, too */
	EVIL_AGAIN_RESET,	/* ... by a reset, before or after our check */
};

/**
 * struct evil_answer - one behaviour of the hostile server, on a port of its own
 * @name: stable name
 * @fn: called with the connection right after accept()
 * @expect: result that the victim's application sees
 * @code: of EVIL_FAILS the errno, else why the victim uses TCP, as it says in its Decline
 */
struct evil_answer {
	const char *name;
	void (*fn)(int fd, const struct evil_answer *a);
	enum evil_expect expect;
	u32 code;
};

/* In the verdict of the hostile server, which served normally: the client did not try SMC. */
#define EVIL_TAG_NO_SMC		0xe0110001U
/* ... the client did not decline for the reason expected */
#define EVIL_TAG_DECLINE	0xe0110002U

#define EVIL_GREETING_SEED	0x67726565ULL
#define EVIL_GREETING_LEN	100

extern const struct evil_answer evil_answers[];
extern const unsigned int evil_nr_answers;
extern unsigned int evil_late_ms;

int evil_server_run(const struct tl_proto *tcp, const char *host, unsigned int port);
int evil_victim_run(const struct tl_proto *p, const char *host, unsigned int port,
		    unsigned int deadline_ms, unsigned int jobs, const char *only);

#endif /* SMC_SELFTESTS_EVIL_H */
