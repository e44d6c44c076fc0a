/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hostile peer on the fabric: after a correct rendezvous it has a real queue pair,
 * over which it sends wrong messages and posts wrong operations. It uses the module's
 * own codec and the verbs of user space.
 *
 * It is the client and the module the server, except in cases with el_env.served, where
 * the module connects to it. Comments call the module's end "the server" in both.
 */
#ifndef SMC_SELFTESTS_EVIL_LINK_H
#define SMC_SELFTESTS_EVIL_LINK_H

#include <infiniband/verbs.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/llc_msg.h>
#include <smc/proto/upgrade_msg.h>

#include "evil.h"
#include "lib/ktap.h"

#define EL_CONNS	4		/* connections of one group */
#define EL_ELEM_LEN	16384		/* RMBE size of our RMB; its code in CLC messages is 0 */
#define EL_MSG_MAX	16384		/* longest message or WRITE that we send */
#define EL_LLC_TYPES	16
#define EL_OTHERS	2		/* groups of the good client and of the case */
#define EL_KEYS		8		/* RMBs of the server with known rkeys on a further link */

/* Offsets in Proposal, Accept and Confirm. */
#define OFF_ID		8
#define OFF_MAC		32
#define OFF_QPN		38
#define OFF_RKEY	41
#define OFF_INDEX	45
#define OFF_TOKEN	46
#define OFF_SIZES	50
#define OFF_VADDR	52
#define OFF_PSN		61

/**
 * struct el_seen - LLC messages of one type that the module has sent
 * @count: number of messages
 * @raw: first bytes of the last message
 */
struct el_seen {
	unsigned int count;
	u8 raw[SMC_LLC_V1_LEN];
};

struct el_conn;

/**
 * struct el_link - our end of a link group or of a further link, with one queue pair
 * @t: the server
 * @ctx: opened device
 * @pd: protection domain
 * @cq: completion queue of sends and receives
 * @qp: queue pair
 * @mr: registration of @mem
 * @mem: receive buffers, then staged sends, then the RMB
 * @gid: our GID
 * @gid_index: its index in the GID table
 * @id: our peer ID in this group
 * @mac: MAC in our messages
 * @psn: our first packet sequence number
 * @peer_qpn: queue pair number of the server
 * @num: link number that the server has assigned
 * @next_stage: next free staging area
 * @in_flight: requests without completion
 * @status: first bad completion status
 * @established: the first contact is complete
 * @native: our Proposal, or Accept, has the tag of a native peer
 * @v1: the group is of version 1, which needs @native; LLC messages are built for it
 * @links: links per group in our native Proposal, 0: not announced; or in our Accept, 0: 2
 * @agreed: links per group in the server's Accept
 * @no_add: do not answer ADD LINK
 * @mute: do not post receives again, and answer nothing
 * @spoil: changes our CONFIRM LINK; may be NULL
 * @spoil_confirm: changes our CLC Confirm, or Accept; may be NULL
 * @crossed: our Confirm names the link of the group that the Accept does not name
 * @far: our end of a further link, polled with this one; NULL: reject ADD LINK
 * @spoil_add: changes our ADD LINK response, or request, for @far; may be NULL
 * @spoil_cont: version 1: changes our ADD LINK CONTINUATION for @far, or for @offered, and returns
 *	whether to send it; may be NULL
 * @near: for a further link: the first one, which has the connections of the group
 * @offered: as server: further link in the latest ADD LINK; may be NULL
 * @refused: as server: reason of its rejection, or 0
 * @declined: as server: diagnosis of the latest Decline
 * @client_id: as server: peer ID in the latest Proposal
 * @client_mac: as server: MAC in the latest Proposal
 * @timeout_ms: as server: limit for answers; 0: the default
 * @at: as server: our address to which the client connects; NULL: that of @t
 * @keys: for a further link: rkeys of the server's RMBs there, by their rkeys on the first one
 * @nkeys: number of @keys
 * @keys_sent: for a further link, version 1: ADD LINK CONTINUATION has had our rtoken
 * @on_ask: called when a CDC asks for the number of the last CDC received; may be NULL
 * @conns: connections, index = element of the RMB
 * @seen: LLC messages received, by type and by request or response
 * @upgrade: the latest UPGRADE received
 * @nupgrade: number of well-formed ones
 */
struct el_link {
	const struct evil_target *t;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	u8 *mem;
	union ibv_gid gid;
	int gid_index;
	u8 id[SMC_PEER_ID_LEN];
	u8 mac[SMC_MAC_LEN];
	u32 psn;
	u32 peer_qpn;
	u8 num;
	unsigned int next_stage;
	unsigned int in_flight;
	enum ibv_wc_status status;
	bool established;
	bool native;
	bool v1;
	u8 links;
	u8 agreed;
	bool no_add;
	bool mute;
	void (*spoil)(struct smc_llc_msg *msg);
	void (*spoil_confirm)(struct evil_msg *m);
	bool crossed;
	struct el_link *far;
	void (*spoil_add)(struct smc_llc_msg *msg);
	bool (*spoil_cont)(struct smc_llc_msg *msg);
	struct el_link *near;
	struct el_link *offered;
	u8 refused;
	u32 declined;
	u8 client_id[SMC_PEER_ID_LEN];
	u8 client_mac[SMC_MAC_LEN];
	unsigned int timeout_ms;
	const struct tl_addr *at;
	struct smc_llc_rtoken keys[EL_KEYS];
	unsigned int nkeys;
	bool keys_sent;
	void (*on_ask)(struct el_conn *c);
	struct el_conn *conns[EL_CONNS];
	struct el_seen seen[EL_LLC_TYPES][2];
	struct smc_upgrade_msg upgrade;
	unsigned int nupgrade;
};

/**
 * struct el_conn - one connection
 * @link: our end of the link over which we write
 * @fd: TCP socket of the connection
 * @port: the witness' name of the connection: our TCP port; if we are the server, a number that
 *	differs from all ports
 * @token: our alert token
 * @home: the link in the server's Accept
 * @home_rkey: rkey of the server's RMB on @home
 * @home_rmb: address of the server's RMB on @home
 * @peer_token: the server's alert token
 * @peer_rmb: address of the server's RMB on @link
 * @peer_addr: address of the server's RMBE on @link
 * @peer_rkey: rkey of the server's RMB on @link
 * @peer_len: bytes of the server's RMBE
 * @base: bytes that TCP has carried before those of the ring
 * @prod: bytes that our producer cursor has announced
 * @good: bytes that el_write() has written, and @base
 * @seq: sequence number of the last CDC sent
 * @ext: SMC_CDC_EXT_* of the CDCs that we send
 * @s: with SMC_CDC_EXT_S: byte S that they announce
 * @cdc: the last CDC received
 * @ncdc: number of CDCs received
 */
struct el_conn {
	struct el_link *link;
	int fd;
	unsigned int port;
	u32 token;
	struct el_link *home;
	u32 home_rkey;
	u64 home_rmb;
	u32 peer_token;
	u64 peer_rmb;
	u64 peer_addr;
	u32 peer_rkey;
	u32 peer_len;
	u64 base;
	u64 prod;
	u64 good;
	u16 seq;
	u8 ext;
	u64 s;
	struct smc_cdc_msg cdc;
	unsigned int ncdc;
};

/* verbs.c */
int el_open(struct el_link *l, const struct evil_target *t);
void el_close(struct el_link *l);
int el_qp_up(struct el_link *l, const struct smc_clc_accept *a);
int el_post(struct el_link *l, enum ibv_wr_opcode op, const void *buf, size_t len, u64 addr,
	    u32 key);
int el_post_imm(struct el_link *l, const void *buf, size_t len, u64 addr, u32 key, u32 imm);
int el_flush(struct el_link *l, unsigned int timeout_ms);
void el_poll(struct el_link *l);
u8 *el_rmb(const struct el_link *l);

/* All links of a group are of one version. */
static inline bool el_is_v1(const struct el_link *l)
{
	return (l->near ?: l)->v1;
}

/* peer.c */
void el_received(struct el_link *l, const u8 *buf, size_t len);
int el_join(struct el_link *l, struct el_conn *c, unsigned int nr);
int el_abort(struct el_link *l);
void el_drop(struct el_conn *c);
void el_conn_begin(struct el_conn *c, struct el_link *l);
enum evil_end el_await_clc(struct el_link *l, int fd, struct evil_msg *m);
void el_put_end(const struct el_conn *c, unsigned int nr, struct evil_msg *m);
void el_spoil_rkey(struct evil_msg *m);
void el_take_end(struct el_conn *c, const struct smc_clc_accept *a);
void el_far_up(struct el_link *far, const struct smc_llc_add_link *al);
void el_far_describe(const struct el_link *l, const struct el_link *far,
		     struct smc_llc_add_link *al);
void el_cont_fill(struct el_link *far, struct smc_llc_add_link_cont *c);
bool el_await(struct el_link *l, const unsigned int *count, unsigned int more_than,
	      unsigned int timeout_ms);
void el_next_cdc(struct el_conn *c, struct smc_cdc_msg *m);
int el_cdc(struct el_conn *c, const struct smc_cdc_msg *m);
int el_write(struct el_conn *c, size_t len);
int el_write_imm(struct el_conn *c, size_t len);
bool el_cont_send(struct el_link *l, bool response, u8 num);
int el_claim(struct el_conn *c, size_t len);
bool el_move(struct el_conn *c, struct el_link *to);
int el_llc(struct el_link *l, const struct smc_llc_msg *msg);
int el_raw(struct el_link *l, const void *buf, size_t len);

/* witness.c: the application on the attacked host, and requests to it */

/* State of a connection, as the application sees it. */
enum el_state { EL_NONE, EL_LIVE, EL_EOF, EL_ERROR };

/**
 * struct el_report - the witness' report about a connection
 * @state: latest state
 * @err: errno, if @state is %EL_ERROR
 * @good: bytes read that el_write() wrote there
 * @zero: other bytes read that are zero
 * @alien: all other bytes read
 */
struct el_report {
	enum el_state state;
	int err;
	u64 good;
	u64 zero;
	u64 alien;
};

/**
 * struct el_outcome - result of a connection that the witness was ordered to make
 * @err: errno of connect(), or 0
 * @smc: the connection is SMC
 * @reason: fallback reason if it is not
 */
struct el_outcome {
	int err;
	bool smc;
	u32 reason;
};

int el_witness_run(const struct tl_proto *p, const char *host, unsigned int port);
int el_witness_connect(const struct evil_target *t, unsigned int port);
bool el_ask(int witness, unsigned int port, u64 bytes, unsigned int timeout_ms,
	    struct el_report *r);
u64 el_counter(int witness, const char *name);
u64 el_groups(int witness);
u64 el_resources(int witness, const char *kind);
int el_order_connect(int witness, const struct tl_addr *at, unsigned int name);
bool el_order_outcome(int witness, unsigned int timeout_ms, struct el_outcome *o);
long el_order_send(int witness, unsigned int port, size_t bytes);
long el_order_close_failed(int witness);
long el_order_set(int witness, const char *name, long value);
long el_order_close(int witness, unsigned int port);

/* second.c: a group whose server has offered a further link */

/**
 * struct el_second - a group with a further link, besides the group of the case
 * @far_t: the server, with another address of ours
 * @l: the group, with its first link
 * @far: our end of the further link: the same RNIC with another GID
 * @c: connection of the group
 * @d: second connection, in some cases
 */
struct el_second {
	struct evil_target far_t;
	struct el_link l;
	struct el_link far;
	struct el_conn c;
	struct el_conn d;
};

/* the cases */

enum el_fate {
	EL_UNHARMED,		/* both connections keep working */
	EL_CONN_DIES,		/* the attacked connection dies, the other one keeps working */
	EL_LINK_DIES,		/* both die with their link */
	EL_CHECKED,		/* the case has checked it */
};

/**
 * struct el_env - environment of a case
 * @t: the server
 * @witness: connection to the application on its host
 * @other: the same server, attacked from another address; if we are the server: with another
 *	RNIC of ours
 * @third: the same, with a third RNIC
 * @lonely: the same, with an RNIC on a network of its own
 * @l: a new group
 * @a: connection under attack
 * @b: second connection of the group
 * @served: we are the server
 * @imms: the module announces that it takes immediate values
 * @upgrade: the module, as a server, announces that it takes UPGRADE
 * @good: the process of the good client
 */
struct el_env {
	const struct evil_target *t;
	const struct evil_target *other;
	const struct evil_target *third;
	const struct evil_target *lonely;
	int witness;
	struct el_link *l;
	struct el_conn *a;
	struct el_conn *b;
	bool served;
	bool imms;
	bool upgrade;
	int good;
};

/**
 * struct el_case - one attack
 * @name: stable name, without the prefix of its table
 * @fn: returns false if the attack could not be made, or the reaction was wrong
 * @fate: required result
 * @counter: counter of the server that must grow, or NULL
 * @least: minimum growth of @counter
 * @may_err: errnos that the application may see, 0-terminated; ECONNABORTED if none
 */
struct el_case {
	const char *name;
	bool (*fn)(struct el_env *e);
	enum el_fate fate;
	const char *counter;
	unsigned int least;
	int may_err[3];
};

/* llc.c */
bool el_upgrade_ignored(struct el_env *e, struct el_link *l);
bool el_upgrade_refused(struct el_env *e, struct el_link *l);

extern const struct el_case el_cdc_cases[], el_llc_cases[], el_rdma_cases[], el_group_cases[];
extern const struct el_case el_second_cases[], el_marked_cases[], el_served_cases[];
extern const struct el_case el_llc_served_cases[], el_marked_served_cases[];
extern const struct el_case el_ends_cases[], el_ends_served_cases[], el_cont_cases[];
extern const struct el_case el_many_cases[], el_llc_v2_cases[], el_served_v1_cases[];
extern const struct el_case el_served_v2_cases[], el_upgrade_cases[];
extern const unsigned int el_nr_cdc_cases, el_nr_llc_cases, el_nr_rdma_cases, el_nr_group_cases;
extern const unsigned int el_nr_second_cases, el_nr_marked_cases, el_nr_served_cases;
extern const unsigned int el_nr_llc_served_cases, el_nr_marked_served_cases;
extern const unsigned int el_nr_ends_cases, el_nr_ends_served_cases, el_nr_cont_cases;
extern const unsigned int el_nr_many_cases, el_nr_llc_v2_cases, el_nr_served_v1_cases;
extern const unsigned int el_nr_served_v2_cases, el_nr_upgrade_cases;

int el_connect(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr);

/* serve.c: as server */
int el_serve_open(unsigned int port);
int el_serve_join(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr);
int el_serve_claim(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr);
int el_serve_offer(struct el_env *e, struct el_link *l, struct el_link *far);
int el_serve_confirm(struct el_env *e, struct el_link *l);
int el_serve_add(struct el_env *e, struct el_link *l, struct el_link *far);
void el_serve_answered(struct el_link *l, const struct smc_llc_add_link *al);

/* served.c */
bool el_served_begin(struct el_env *e, struct el_second *s, u8 links, bool native);
bool el_served_open_third(struct el_env *e, struct el_second *s, struct el_link *third);
bool el_served_alive(struct el_env *e, struct el_conn *c);
bool el_served_receives(struct el_env *e, struct el_conn *c, unsigned int nr);
bool el_served_refuses(struct el_env *e, struct el_second *s, struct el_link *far);

bool el_second_open(struct el_env *e, struct el_second *s);
void el_second_end(struct el_second *s);
bool el_await_alone(struct el_env *e);
bool el_counted(struct el_env *e, struct el_link *l, const char *a, const char *b, u64 before);

bool el_alive(struct el_env *e, struct el_conn *c);
bool el_good_works(struct el_env *e, const char *when);
bool el_failed(struct el_env *e, struct el_conn *c, const struct el_case *k);

#endif /* SMC_SELFTESTS_EVIL_LINK_H */
