/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by all user-space test programs: families, addresses, byte streams, sock_diag, netlink. */
#ifndef SMC_SELFTESTS_TESTLIB_H
#define SMC_SELFTESTS_TESTLIB_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <smc/proto/types.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifndef AF_SMC
#define AF_SMC		43
#endif

/* The kernel's __printf(), which user space lacks. */
#define TL_FORMAT	__format__
#define __printf(a, b)	__attribute__((TL_FORMAT(__printf__, a, b)))

#define TL_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define TL_NSEC_PER_MSEC	1000000ULL
#define TL_NSEC_PER_SEC		1000000000ULL

/**
 * struct tl_proto - one value of --family
 * @name: as given on the command line
 * @domain: first argument of socket()
 * @protocol: third argument of socket()
 * @af: family of the addresses that its calls take
 * @smc: connections may be SMC, so sock_diag is asked for their mode
 */
struct tl_proto {
	const char *name;
	int domain;
	int protocol;
	int af;
	bool smc;
};

/**
 * struct tl_addr - a socket address with its length
 * @sa: generic view
 * @in: IPv4 view
 * @in6: IPv6 view
 * @ss: room for either
 * @len: valid bytes
 */
struct tl_addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage ss;
	};
	socklen_t len;
};

enum tl_mode {
	TL_MODE_UNKNOWN,
	TL_MODE_TCP,
	TL_MODE_SMCR,
	TL_MODE_SMCD,
};

/**
 * struct tl_diag_stats - sock_diag's statistics of a connection over RDMA
 * @tx_bytes: bytes written by the program
 * @rx_bytes: bytes received
 * @tx_queue: bytes not acknowledged yet
 * @rx_queue: bytes not read yet
 * @tx_again: bytes repeated
 * @tx_data_msgs: messages behind bytes, sent
 * @rx_data_msgs: the same, received
 * @rtt: microseconds, smoothed; 0: none reported
 * @rtt_min: smallest
 * @rate: bytes per second
 * @closed: times the peer had no room
 * @closed_usecs: how long
 * @moves: changes of the link
 */
struct tl_diag_stats {
	u64 tx_bytes;
	u64 rx_bytes;
	u64 tx_queue;
	u64 rx_queue;
	u64 tx_again;
	u64 tx_data_msgs;
	u64 rx_data_msgs;
	u64 rtt;
	u64 rtt_min;
	u64 rate;
	u64 closed;
	u64 closed_usecs;
	u64 moves;
};

/**
 * struct tl_diag - sock_diag's report about one connection
 * @mode: transport of its bytes
 * @reason: why this side fell back (0: no fallback)
 * @peer_reason: diagnosis in the peer's Decline (0: none)
 * @role: 0 client, 1 server of the link group; -1 not reported
 * @ibname: RDMA device, empty when not reported
 * @tx_cons: consumer cursor that this side has sent to the peer: wraps and offset
 * @has_stats: @stats were reported
 * @stats: statistics
 */
struct tl_diag {
	enum tl_mode mode;
	u32 reason;
	u32 peer_reason;
	int role;
	char ibname[64];
	struct {
		u16 wrap;
		u32 off;
	} tx_cons;
	bool has_stats;
	struct tl_diag_stats stats;
};

const struct tl_proto *tl_proto_find(const char *name);
const struct tl_proto *tl_proto_variant(const struct tl_proto *p, int af);
bool tl_proto_available(const struct tl_proto *p);

int tl_addr_parse(struct tl_addr *a, const struct tl_proto *p, const char *host,
		  unsigned int port);
unsigned int tl_addr_port(const struct tl_addr *a);
void tl_addr_set_port(struct tl_addr *a, unsigned int port);
bool tl_addr_same_host(const struct tl_addr *a, const struct tl_addr *b);
const char *tl_addr_str(const struct tl_addr *a, char *buf, size_t len);

int tl_socket(const struct tl_proto *p, int flags);
int tl_listen(const struct tl_proto *p, struct tl_addr *at, int backlog);
int tl_connect(const struct tl_proto *p, const struct tl_addr *from, const struct tl_addr *to);
int tl_set_timeouts(int fd, unsigned int msec);
int tl_set_tos(int fd, int tos);
int tl_set_nonblock(int fd, bool on);
ssize_t tl_send_all(int fd, const void *buf, size_t len);
ssize_t tl_recv_all(int fd, void *buf, size_t len);
int tl_send_fd(int to, int fd);
int tl_recv_fd(int from);
int tl_child(void (*serve)(int fd, void *arg), void *arg);
int tl_ask(int child, void *answer, size_t len);

u64 tl_now_ns(void);
void tl_sleep_ms(unsigned int msec);
u64 tl_mix(u64 x);
void tl_fill(u64 seed, u64 off, void *buf, size_t len);
ssize_t tl_check(u64 seed, u64 off, const void *buf, size_t len);

int tl_diag_get(int fd, const struct tl_proto *p, struct tl_diag *out);
int tl_diag_count(enum tl_mode mode, unsigned int *same, unsigned int *others);
const char *tl_mode_name(enum tl_mode mode);
int tl_mode_parse(const char *name, enum tl_mode *mode);
const char *tl_errno_name(int err);
void tl_forget_bad_peers(void);

/* Called with the attributes of one answer. */
typedef void (*tl_genl_fn)(const void *attrs, size_t len, void *arg);
int tl_genl_smc(u8 cmd, bool dump, const char *text, size_t size, tl_genl_fn fn, void *arg);

/**
 * struct tl_pnet - an entry of the PNET table, with the fields that a command needs
 * @id: PNET ID, or NULL
 * @eth: netdev, or NULL
 * @ib: RoCE device, or NULL
 * @port: port of @ib, 0 for none
 */
struct tl_pnet {
	const char *id;
	const char *eth;
	const char *ib;
	unsigned int port;
};

int tl_genl_pnet(u8 cmd, u16 flags, const struct tl_pnet *entry, tl_genl_fn fn, void *arg);
int tl_genl_join(const char *group);
int tl_genl_event(int nl, tl_genl_fn fn, void *arg);
const void *tl_genl_attr(const void *attrs, size_t len, u16 type, size_t *size);
int tl_link_groups(void);

#endif /* SMC_SELFTESTS_TESTLIB_H */
