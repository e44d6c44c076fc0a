/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traffic between two hosts with every byte checked.
 *
 * The client sends a request in band, and both sides then do what it names; a connection serves
 * requests until one of them ends it. The server answers each request with a verdict: behind its
 * payload where the connection survives the operation, else on a later connection that queries it
 * by seed.
 */
#ifndef SMC_SELFTESTS_TRAFFIC_H
#define SMC_SELFTESTS_TRAFFIC_H

#include <stdbool.h>

#include "lib/testlib.h"

#define TRF_MAGIC_REQ		0x54524651U	/* "TRFQ" */
#define TRF_MAGIC_VERDICT	0x54524656U	/* "TRFV" */
#define TRF_WSIZE_MAX		(4U << 20)
#define TRF_MSG_MAX		(8U << 20)
#define TRF_RANDOM_MAX		(96U << 10)

enum trf_op {
	TRF_STREAM = 1,		/* both directions at once */
	TRF_PINGPONG,		/* count messages, one in flight */
	TRF_HALFCLOSE_CLIENT,	/* client ends its direction first, server continues */
	TRF_HALFCLOSE_SERVER,	/* the mirror */
	TRF_RESET_CLIENT,	/* client resets, server must see ECONNRESET */
	TRF_RESET_SERVER,	/* the mirror */
	TRF_QUERY,		/* verdict of an earlier connection, by seed */
	TRF_STATS,		/* totals of the server */
	TRF_QUIT,		/* server process ends */
	TRF_PART_CLIENT,	/* client writes and ends, server reads count ms later */
	TRF_PART_SERVER,	/* the mirror */
};

enum trf_io {
	TRF_IO_BLOCK,		/* one blocking thread for each direction */
	TRF_IO_POLL,		/* non-blocking, poll() */
	TRF_IO_EPOLL,		/* non-blocking, edge-triggered epoll */
	TRF_IO_NR,
};

#define TRF_F_MODE	0x0001	/* server: query and report the mode */
#define TRF_F_NOCHECK	0x0002	/* benchmark: content is neither made nor compared */
#define TRF_F_LINGER	0x0004	/* reset by SO_LINGER 0, not by unread data; part: lingers */
#define TRF_F_EOF_OK	0x0008	/* an end of the stream counts as a reset too */
#define TRF_F_URGENT	0x0010	/* ping-pong: the last byte of each message is urgent */
#define TRF_F_PEEK	0x0800	/* stream: each read comes after a look at the same bytes */
#define TRF_F_SHUT	0x0040	/* part: end by shutdown(), not by close() */
#define TRF_F_PAGES	0x0020	/* stream: by sendfile() and splice() */
/* benchmark: a stream in one direction, by other calls than send() and recv() */
#define TRF_F_SENDFILE	0x0080
#define TRF_F_ZEROCOPY	0x0100	/* send() with MSG_ZEROCOPY */
#define TRF_F_SPLICE	0x0200
#define TRF_F_LEND	0x0400	/* with SMC_OWN_SPLICE_LEND */
#define TRF_F_BULK	(TRF_F_SENDFILE | TRF_F_ZEROCOPY | TRF_F_SPLICE | TRF_F_LEND)

/**
 * struct trf_req - request, big endian on the wire
 * @magic: TRF_MAGIC_REQ
 * @op: enum trf_op
 * @io: enum trf_io, for both sides
 * @flags: TRF_F_*
 * @seed: number of the streams; also the key of a later TRF_QUERY
 * @to_server: bytes from client to server (one message of a ping-pong)
 * @to_client: bytes from server to client
 * @wsize: bytes of one write, 0 for a random size each time
 * @count: messages of a ping-pong; delay of a part operation's reader in ms
 * @timeout_ms: silence after which an operation has failed
 * @reserved: zero
 */
struct trf_req {
	u32 magic;
	u8 op;
	u8 io;
	u16 flags;
	u64 seed;
	u64 to_server;
	u64 to_client;
	u32 wsize;
	u32 count;
	u32 timeout_ms;
	u32 reserved;
};

/**
 * struct trf_verdict - the server's answer, big endian on the wire
 * @magic: TRF_MAGIC_VERDICT
 * @err: positive errno of the failure, 0 for success
 * @bytes: bytes received and found right (TRF_STATS: connections served)
 * @bad_off: offset of the first wrong byte if @err is EBADMSG (TRF_STATS: requests with a wrong
 *	magic number, that is, bytes that no test client has sent)
 * @mode: enum tl_mode of the server's socket
 * @reason: its own fallback reason
 * @peer_reason: the diagnosis that the peer sent (TRF_STATS: failed operations)
 * @reserved: zero
 */
struct trf_verdict {
	u32 magic;
	u32 err;
	u64 bytes;
	u64 bad_off;
	u32 mode;
	u32 reason;
	u32 peer_reason;
	u32 reserved;
};

/**
 * struct trf_stream - one side of a two-way stream
 * @fd: connected socket
 * @io: how to wait
 * @tx_seed: number of the outgoing stream
 * @rx_seed: number of the incoming stream
 * @tx_len: bytes to send
 * @rx_len: bytes to receive
 * @wsize: bytes of one write, 0 for random sizes (then reads vary too)
 * @nocheck: neither make nor compare the content
 * @pages: send by sendfile(), and remove sent pages from the file at once; receive by splice() from
 *	a socket that lends, and keep a piece until the next one arrives
 * @peek: peek at bytes before they are read, and compare
 * @bulk: TRF_F_BULK bits: trf_bulk_run() runs it
 * @timeout_ms: silence after which it has failed
 * @corrupt: offset of an outgoing byte to falsify, 0 for none
 * @tx_done: bytes sent
 * @rx_done: bytes received and found right
 * @still_ns: longest time without progress of a direction, up to its last byte
 */
struct trf_stream {
	int fd;
	enum trf_io io;
	u64 tx_seed;
	u64 rx_seed;
	u64 tx_len;
	u64 rx_len;
	u32 wsize;
	bool nocheck;
	bool pages;
	bool peek;
	u16 bulk;
	unsigned int timeout_ms;
	u64 corrupt;
	u64 tx_done;
	u64 rx_done;
	u64 still_ns;
};

/* The two directions of one request never carry the same bytes. */
static inline u64 trf_seed_to_server(u64 seed)
{
	return tl_mix(seed) ^ 0x5e;
}

static inline u64 trf_seed_to_client(u64 seed)
{
	return tl_mix(seed) ^ 0xc1;
}

/* stream.c */
int trf_stream_run(struct trf_stream *s);
int trf_send_piece(int fd, u64 seed, u64 off, u64 len);
int trf_recv_piece(int fd, u64 seed, u64 off, u64 len, u64 *good);
int trf_msg_send(int fd, const struct trf_req *req, const u8 *buf);
int trf_msg_recv(int fd, const struct trf_req *req, u8 *buf);
int trf_expect_eof(int fd);
int trf_reset_now(int fd, bool linger, unsigned int timeout_ms);
const char *trf_io_name(enum trf_io io);

/* bulk.c */
int trf_bulk_run(struct trf_stream *s);

/* wire.c */
int trf_req_send(int fd, const struct trf_req *req);
int trf_req_recv(int fd, struct trf_req *req);
int trf_verdict_send(int fd, const struct trf_verdict *v);
int trf_verdict_recv(int fd, struct trf_verdict *v);

/* server.c */

/**
 * struct trf_server - configuration and totals of a server
 * @proto: family of its sockets
 * @require: mode that every connection must have, TL_MODE_UNKNOWN for any
 * @verbose: print one line per operation
 * @corrupt: falsify this byte of each stream (0: none), to see the client's check fail
 * @tag: fallback reason in the verdicts, unless the real one was requested
 */
struct trf_server {
	const struct tl_proto *proto;
	enum tl_mode require;
	bool verbose;
	u64 corrupt;
	u32 tag;
};

int trf_server_run(const struct trf_server *srv, int listener);
void trf_server_conn(const struct trf_server *srv, int fd);

/* client.c */

/**
 * struct trf_client - parameters of every client subtest
 * @proto: family of its sockets
 * @from: local address, length 0 for none
 * @to: server
 * @require: mode that every connection must have on both sides, TL_MODE_UNKNOWN for any
 * @show_mode: query the mode even if none is required
 * @timeout_ms: silence after which an operation has failed
 * @pause_ms: pause between the request and the own reset: what was asked for meanwhile can be done
 * @fastopen: the data is sent with the SYN
 * @tos: IP_TOS or IPV6_TCLASS of each connection, 0 for none
 * @link_policy: SMC_OWN_LINK_POLICY of each connection, NULL for none
 * @balance: SMC_OWN_BALANCE of each connection, NULL for none
 * @peek: streams are looked at by MSG_PEEK before they are read, on both sides
 * @pages: streams are sent from pages of files and received into pipes, on both sides
 * @seed: changes with every connection
 */
struct trf_client {
	const struct tl_proto *proto;
	struct tl_addr from;
	struct tl_addr to;
	enum tl_mode require;
	bool show_mode;
	bool fastopen;
	bool peek;
	bool pages;
	int tos;
	const int *link_policy;
	const int *balance;
	unsigned int pause_ms;
	unsigned int timeout_ms;
	u64 seed;
};

/**
 * struct trf_outcome - result of one client operation
 * @err: 0, or a negative errno
 * @what: description of the failure
 * @local: mode seen here
 * @verdict: the server's answer
 * @nsec: duration of the payload phase
 * @still_ns: of a stream, as in struct trf_stream
 */
struct trf_outcome {
	int err;
	char what[160];
	struct tl_diag local;
	struct trf_verdict verdict;
	u64 nsec;
	u64 still_ns;
};

int trf_set_paths(const struct trf_client *c, int fd);
int trf_client_connect(const struct trf_client *c, struct trf_outcome *out);
void trf_client_req(const struct trf_client *c, struct trf_req *req, enum trf_op op);
int trf_client_stream(const struct trf_client *c, int fd, const struct trf_req *req,
		      struct trf_outcome *out);
int trf_client_stream_sent(const struct trf_client *c, int fd, const struct trf_req *req,
			   struct trf_outcome *out);
int trf_client_pingpong(const struct trf_client *c, int fd, const struct trf_req *req,
			u64 *rtt, struct trf_outcome *out);
int trf_part(int *fd, const struct trf_req *req, u64 seed, u64 len);
int trf_part_end(int *fd, const struct trf_req *req);
int trf_client_parted(const struct trf_client *c, const struct trf_req *req,
		      struct trf_outcome *out);
int trf_client_halfclose(const struct trf_client *c, int fd, const struct trf_req *req,
			 struct trf_outcome *out);
int trf_client_reset(const struct trf_client *c, int fd, const struct trf_req *req,
		     struct trf_outcome *out);
int trf_client_simple(const struct trf_client *c, int fd, enum trf_op op, u64 key,
		      struct trf_outcome *out);
int __printf(3, 4) trf_fail(struct trf_outcome *out, int err, const char *fmt, ...);

#endif /* SMC_SELFTESTS_TRAFFIC_H */
