/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hostile peer on the fabric: it does the rendezvous right, has a real queue
 * pair, and then says and does over it what no peer should. The codec is the
 * module's own; everything else is user space verbs.
 *
 * It is a client, and the module the server, but in cases with el_env.served, where the
 * module connects to it: "the server" stands for the module's end in both.
 */
#ifndef SMC_SELFTESTS_EVIL_LINK_H
#define SMC_SELFTESTS_EVIL_LINK_H

#include <infiniband/verbs.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/llc_msg.h>

#include "evil.h"
#include "lib/ktap.h"

#define EL_CONNS	4		/* connections of one group */
#define EL_ELEM_LEN	16384		/* of our RMB; the code for it is 0 */
#define EL_MSG_MAX	16384		/* longest thing we send */
#define EL_LLC_TYPES	16
#define EL_KEYS		8		/* RMBs of the server that are known on a further link */

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
 * @count: how many
 * @raw: the first bytes of the last one
 */
struct el_seen {
	unsigned int count;
	u8 raw[SMC_LLC_V1_LEN];
};

struct el_conn;

/**
 * struct el_link - our end of a link group, with its one queue pair
 * @t: the server
 * @ctx: opened device
 * @pd: protection domain
 * @cq: completions of everything
 * @qp: queue pair
 * @mr: registration of @mem
 * @mem: receives, then staged sends, then the RMB
 * @gid: our GID
 * @gid_index: its place in the table
 * @id: peer ID of this group
 * @mac: MAC we tell
 * @psn: first sequence number
 * @peer_qpn: the server's queue pair
 * @num: link number that the server has given
 * @next_stage: next free staging area
 * @in_flight: requests without completion
 * @status: first bad completion
 * @established: the first contact is over
 * @marked: the Proposal has the marker of the server's own kind
 * @links: links per group that the marked Proposal says, 0: none; or our Accept, 0: 2
 * @agreed: those that the server's Accept says
 * @no_add: ADD LINK is not answered
 * @mute: receives are not posted again, and nothing is answered
 * @spoil: changes our CONFIRM LINK; may be NULL
 * @spoil_confirm: changes our CLC Confirm, or Accept; may be NULL
 * @far: our end of a further link, polled with this one; NULL: ADD LINK is rejected
 * @spoil_add: changes our acceptance, or offer, of that one; may be NULL
 * @near: of a further link: the first one, whose connections are those of the group
 * @offered: as server: further link that the latest ADD LINK was about; may be NULL
 * @refused: as server: it was rejected, for this reason
 * @declined: as server: the latest Decline gave this reason
 * @patience_ms: as server: how long to wait for answers; 0: as long as it may take
 * @keys: of a further link: the server's RMBs there, by their keys on the first one
 * @nkeys: how many
 * @asked: the server asks how far this connection has come; may be NULL
 * @conns: connections, index = element of the RMB
 * @seen: LLC messages that came, by type and by being a response
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
	bool marked;
	u8 links;
	u8 agreed;
	bool no_add;
	bool mute;
	void (*spoil)(struct smc_llc_msg *msg);
	void (*spoil_confirm)(struct evil_msg *m);
	struct el_link *far;
	void (*spoil_add)(struct smc_llc_msg *msg);
	struct el_link *near;
	struct el_link *offered;
	u8 refused;
	u32 declined;
	unsigned int patience_ms;
	struct smc_llc_rtoken keys[EL_KEYS];
	unsigned int nkeys;
	void (*asked)(struct el_conn *c);
	struct el_conn *conns[EL_CONNS];
	struct el_seen seen[EL_LLC_TYPES][2];
};

/**
 * struct el_conn - one connection
 * @link: our end of the link over which we write
 * @fd: carrier
 * @port: the client's TCP port, by which the witness knows the connection, see el_name_served()
 * @token: our alert token
 * @home: the link that the server's Accept named
 * @home_rkey: key of the server's RMB there
 * @home_rmb: its address there
 * @peer_token: the server's
 * @peer_rmb: address of the server's RMB
 * @peer_addr: address of the server's element
 * @peer_rkey: key of both
 * @peer_len: bytes of the server's element
 * @prod: bytes told to be there
 * @good: those that el_write() has written
 * @seq: of the last CDC sent
 * @heard: the last CDC received
 * @nheard: how many
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
	u64 prod;
	u64 good;
	u16 seq;
	struct smc_cdc_msg heard;
	unsigned int nheard;
};

/* verbs.c */
int el_open(struct el_link *l, const struct evil_target *t);
void el_close(struct el_link *l);
int el_qp_up(struct el_link *l, const struct smc_clc_accept *a);
int el_post(struct el_link *l, enum ibv_wr_opcode op, const void *buf, size_t len, u64 addr,
	    u32 key);
int el_flush(struct el_link *l, unsigned int timeout_ms);
void el_poll(struct el_link *l);
u8 *el_rmb(const struct el_link *l);

/* peer.c */
void el_received(struct el_link *l, const u8 *buf, size_t len);
int el_join(struct el_link *l, struct el_conn *c, unsigned int nr);
void el_leave(struct el_conn *c);
void el_conn_begin(struct el_conn *c, struct el_link *l);
enum evil_end el_await_clc(struct el_link *l, int fd, struct evil_msg *m);
void el_put_end(const struct el_conn *c, unsigned int nr, struct evil_msg *m);
void el_spoil_rkey(struct evil_msg *m);
void el_take_end(struct el_conn *c, const struct smc_clc_accept *a);
void el_far_up(struct el_link *far, const struct smc_llc_add_link *al);
void el_far_tell(const struct el_link *l, const struct el_link *far, struct smc_llc_add_link *al);
bool el_await(struct el_link *l, const unsigned int *count, unsigned int more_than,
	      unsigned int timeout_ms);
void el_next_cdc(struct el_conn *c, struct smc_cdc_msg *m);
int el_cdc(struct el_conn *c, const struct smc_cdc_msg *m);
int el_write(struct el_conn *c, size_t len);
int el_claim(struct el_conn *c, size_t len);
bool el_go(struct el_conn *c, struct el_link *to);
int el_llc(struct el_link *l, const struct smc_llc_msg *msg);
int el_raw(struct el_link *l, const void *buf, size_t len);

/* witness.c: the application on the attacked host, and the questions to it */

/* What the application has seen of a connection. */
enum el_state { EL_NONE, EL_LIVE, EL_EOF, EL_ERROR };

/**
 * struct el_report - the witness' answer about a connection
 * @state: what it saw last
 * @err: errno, when @state is %EL_ERROR
 * @good: bytes as the honest part of this program writes them
 * @zero: other bytes that are zero
 * @alien: all others
 */
struct el_report {
	enum el_state state;
	int err;
	u64 good;
	u64 zero;
	u64 alien;
};

/**
 * struct el_outcome - what became of a connection that the witness was to make
 * @err: errno of connect(), or 0
 * @smc: its bytes go over RDMA
 * @reason: why they do not
 */
struct el_outcome {
	int err;
	bool smc;
	u32 reason;
};

/* Connections that the witness has made: no name is that of one that it has accepted. */
static inline unsigned int el_name_served(unsigned int port)
{
	return port + 0x10000;
}

int el_witness_run(const struct tl_proto *p, const char *host, unsigned int port);
int el_witness_connect(const struct evil_target *t, unsigned int port);
bool el_ask(int witness, unsigned int port, u64 bytes, unsigned int timeout_ms,
	    struct el_report *r);
u64 el_stat(int witness, const char *name);
u64 el_held(int witness, const char *kind);
int el_tell_connect(int witness, const struct tl_addr *at, bool knock);
bool el_outcome(int witness, unsigned int timeout_ms, struct el_outcome *o);
long el_tell_send(int witness, unsigned int port, size_t bytes);
long el_tell_close(int witness, unsigned int port);

/* second.c: a group whose server has offered a further link, to be accepted */

/**
 * struct el_second - such a group, beside that of the case
 * @far_t: the server, and another address of ours
 * @l: the group
 * @far: our end of the further link: the same RNIC under another GID
 * @c: its connection
 * @d: another one, in some cases
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
	EL_UNHARMED,		/* nothing happens to anybody */
	EL_CONN_DIES,		/* the connection, not its neighbour */
	EL_LINK_DIES,		/* both, since their link does */
	EL_WHATEVER,		/* a choice of the server: only others must be unharmed */
	EL_JUDGED,		/* the attack itself has looked */
};

/**
 * struct el_env - what a case has
 * @t: the server
 * @witness: to ask the application behind it
 * @stranger: the same server, attacked from another address; when we are the server: at another
 *	RNIC of ours
 * @third: the same, at a third one
 * @lonely: the same, at one that is on a network of its own
 * @l: a fresh group
 * @a: its connection under attack
 * @b: a second connection of the group
 * @served: we are the server
 */
struct el_env {
	const struct evil_target *t;
	const struct evil_target *stranger;
	const struct evil_target *third;
	const struct evil_target *lonely;
	int witness;
	struct el_link *l;
	struct el_conn *a;
	struct el_conn *b;
	bool served;
};

/**
 * struct el_case - one attack
 * @name: stable name
 * @fn: false: it could not be made, or was answered wrongly
 * @fate: what it must lead to
 * @counter: counter of the server that must move, or NULL
 * @least: by how much at least
 * @may_err: errnos the application may see, 0-terminated; ECONNABORTED if none
 */
struct el_case {
	const char *name;
	bool (*fn)(struct el_env *e);
	enum el_fate fate;
	const char *counter;
	unsigned int least;
	int may_err[3];
};

extern const struct el_case el_cdc_cases[], el_llc_cases[], el_rdma_cases[], el_group_cases[];
extern const struct el_case el_second_cases[], el_marked_cases[], el_served_cases[];
extern const struct el_case el_llc_served_cases[], el_marked_served_cases[];
extern const struct el_case el_ends_cases[], el_ends_served_cases[];
extern const unsigned int el_nr_cdc_cases, el_nr_llc_cases, el_nr_rdma_cases, el_nr_group_cases;
extern const unsigned int el_nr_second_cases, el_nr_marked_cases, el_nr_served_cases;
extern const unsigned int el_nr_llc_served_cases, el_nr_marked_served_cases;
extern const unsigned int el_nr_ends_cases, el_nr_ends_served_cases;

int el_meet(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr);

/* serve.c: as server */
int el_serve_open(unsigned int port);
int el_serve_join(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr);
int el_serve_claim(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr);
int el_serve_offer(struct el_env *e, struct el_link *l, struct el_link *far);
int el_serve_confirm(struct el_env *e, struct el_link *l);
int el_serve_add(struct el_env *e, struct el_link *l, struct el_link *far);
void el_serve_answered(struct el_link *l, const struct smc_llc_add_link *al);

bool el_second_open(struct el_env *e, struct el_second *s);
void el_second_end(struct el_second *s);
bool el_counted(struct el_env *e, struct el_link *l, const char *a, const char *b, u64 before);

bool el_lives(struct el_env *e, struct el_conn *c);
bool el_dead(struct el_env *e, struct el_conn *c, const struct el_case *k);

#endif /* SMC_SELFTESTS_EVIL_LINK_H */
