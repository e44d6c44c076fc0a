/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smc_contract: what programs may rely on when they ask by netlink, in one table, and
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

/* What programs have compiled in, which is why it is not <linux/smc_own.h> that says it here. */
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
#define RULE_NUM		1
#define RULE_HITS		11

/* A number from which on attributes are ours, and strange to programs of the in-tree family. */
#define OWN_ATTRS		128

#define CT_BUF			65536
#define CT_TIMEOUT_MS		10000

enum ct_family { CT_GEN, CT_PNET, CT_DIAG, CT_FAMILIES };

/**
 * struct ct_nl - a netlink socket of one family
 * @mnl: socket
 * @family: which one
 * @id: its number as a type of messages
 * @seq: number of the last request
 * @room: bytes that are read at a time
 * @plain: ask nothing behind a request: for a receive buffer that has no room for that
 * @between: called after each piece that was read; may be NULL
 */
struct ct_nl {
	struct mnl_socket *mnl;
	enum ct_family family;
	u16 id;
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
 * struct ct_verdict - on answers
 * @family: of them
 * @cmd: that was asked
 * @answers: how many
 * @wrong: what was wrong in them
 * @out: print their attributes there; NULL: nowhere
 */
struct ct_verdict {
	enum ct_family family;
	u8 cmd;
	unsigned int answers;
	unsigned int wrong;
	FILE *out;
};

/* for ct_ask(): judges an answer by the table */
void ct_judge(const struct nlmsghdr *nlh, void *arg);
/* the name of a command; NULL: there is none. *@dumps: it has a list of answers */
const char *ct_command(enum ct_family family, u8 cmd, bool *dumps);
bool ct_command_at(unsigned int i, enum ct_family *family, u8 *cmd);

/* fuzz.c */
bool ct_fuzz(u64 seed, unsigned int rounds);
bool ct_fuzz_telling(unsigned int rounds);

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

#endif /* SMC_SELFTESTS_CONTRACT_H */
