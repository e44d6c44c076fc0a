/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_contract: what programs may rely on in answers by netlink and sock_diag, in one table, and
 * requests that no program would send.
 */
#ifndef SMC_SELFTESTS_CONTRACT_H
#define SMC_SELFTESTS_CONTRACT_H

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc.h>

#include "lib/ktap.h"
#include "lib/testlib.h"

/* The numbers that programs have compiled in: kept apart from <linux/smc_own.h> on purpose. */
#define OWN_ADD_LINK		128
#define OWN_DEL_LINK		129
#define OWN_DEL_LGR		130
#define OWN_ADD_RULE		131
#define OWN_DEL_RULE		132
#define OWN_FLUSH_RULES		133
#define OWN_GET_RULES		134
#define OWN_GET_COUNTERS	135
#define COUNTER_NAME		1
#define COUNTER_VALUE		2
#define OWN_DIAG_EXT		0x80
#define OWN_DIAG_STATS		128
#define OWN_FBACK_COUNT		128
#define RULE_NUM		1
#define RULE_HITS		11

/* Attribute types from this number on are our own; programs of the in-tree family ignore them. */
#define OWN_ATTRS		128

#define CT_BUF			65536
#define CT_TIMEOUT_MS		10000

enum ct_family { CT_GEN, CT_PNET, CT_DIAG, CT_FAMILIES };

/**
 * struct ct_nl - a netlink socket of one family
 * @mnl: socket
 * @family: its family
 * @id: message type of the family
 * @diag_ext: what requests to sock_diag ask for
 * @seq: number of the last request
 * @room: size of one read
 * @plain: send no probe behind a request: for a receive buffer without room for its answer
 * @between: called after each read; may be NULL
 */
struct ct_nl {
	struct mnl_socket *mnl;
	enum ct_family family;
	u16 id;
	u8 diag_ext;
	u32 seq;
	size_t room;
	bool plain;
	void (*between)(void);
};

typedef void (*ct_fn)(const struct nlmsghdr *nlh, void *arg);

int ct_open(struct ct_nl *nl, enum ct_family family, size_t room);
void ct_close(struct ct_nl *nl);
struct nlmsghdr *ct_head(const struct ct_nl *nl, void *buf, u8 cmd, u16 flags);
int ct_ask(struct ct_nl *nl, struct nlmsghdr *nlh, size_t len, ct_fn fn, void *arg);
int ct_order(struct ct_nl *nl, struct nlmsghdr *nlh);
int ct_dump(struct ct_nl *nl, u8 cmd, ct_fn fn, void *arg);

/**
 * struct ct_verdict - result of the check of answers
 * @family: family of the answers
 * @cmd: command of the request
 * @answers: number of answers
 * @wrong: number of faults in them
 * @out: print their attributes there; NULL: do not print
 */
struct ct_verdict {
	enum ct_family family;
	u8 cmd;
	unsigned int answers;
	unsigned int wrong;
	FILE *out;
};

/* for ct_ask(): check an answer against the table */
void ct_check(const struct nlmsghdr *nlh, void *arg);
/* the name of a command, NULL if it does not exist; *@dumps: it returns a list */
const char *ct_command(enum ct_family family, u8 cmd, bool *dumps);
bool ct_command_at(unsigned int i, enum ct_family *family, u8 *cmd);

/* fuzz.c */
bool ct_fuzz(u64 seed, unsigned int rounds);
bool ct_fuzz_covered(unsigned int rounds);

/* odd.c */
bool ct_odd(FILE *out);

/* destroy.c */
bool ct_destroy(int fd, int peer, bool cookie);
bool ct_destroy_listener(int fd);

/* counters.c */
bool ct_counters(void);

/* groups.c */
bool ct_groups_make(const struct tl_proto *proto, const char *address, int num);
void ct_groups_end(int step);
void ct_groups_close(void);
u32 ct_groups_id(const struct nlmsghdr *nlh, u8 *role);
int ct_groups_number(u32 id);

/* dump.c */
bool ct_dumps(const struct tl_proto *smc, const char *address);
bool ct_dump_rights(void);

#endif /* SMC_SELFTESTS_CONTRACT_H */
