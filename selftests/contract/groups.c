// SPDX-License-Identifier: GPL-2.0-only
/* Many link groups of this host with itself, for tests of lists. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "contract.h"

#define GROUPS_MAX	40
#define CONNS_PER_GROUP	16
#define OWN_LGR_ID	1
#define OWN_NOW		3

static struct ct_nl gen;
static int ends[GROUPS_MAX * CONNS_PER_GROUP];
static u32 groups[GROUPS_MAX];
static int ngroups;

/**
 * ct_groups_id() - get the group of an answer
 * @nlh: answer
 * @role: result, 1: server; may be NULL
 *
 * Return: its ID, 0: the answer has no group.
 */
u32 ct_groups_id(const struct nlmsghdr *nlh, u8 *role)
{
	const struct nlattr *lgr, *a;
	u32 id = 0;

	mnl_attr_for_each(lgr, nlh, GENL_HDRLEN) {
		if (mnl_attr_get_type(lgr) != SMC_GEN_LGR_SMCR)
			continue;
		mnl_attr_for_each_nested(a, lgr) {
			if (mnl_attr_get_type(a) == SMC_NLA_LGR_R_ID)
				id = mnl_attr_get_u32(a);
			if (role && mnl_attr_get_type(a) == SMC_NLA_LGR_R_ROLE)
				*role = mnl_attr_get_u8(a);
		}
	}
	return id;
}

/**
 * ct_groups_number() - find a group among those that were made
 * @id: of the group
 *
 * Return: its number from 0 on, -1: not found.
 */
int ct_groups_number(u32 id)
{
	for (int i = 0; id && i < ngroups; i++)
		if (groups[i] == id)
			return i;
	return -1;
}

static void note_group(const struct nlmsghdr *nlh, void *arg)
{
	u8 role = 0;
	u32 id = ct_groups_id(nlh, &role);

	if (role == *(u8 *)arg && ngroups < GROUPS_MAX)
		groups[ngroups++] = id;
}

/* Groups of servers come first. */
static bool groups_read(void)
{
	ngroups = 0;
	for (int i = 1; i >= 0; i--) {
		u8 role = i;

		if (ct_dump(&gen, SMC_NETLINK_GET_LGR_SMCR, note_group, &role))
			return false;
	}
	return true;
}

/**
 * ct_groups_end() - end groups of servers at once, which ends the clients' groups, too
 * @step: 1: all groups, 2: every second one ...
 */
void ct_groups_end(int step)
{
	for (int i = 0; i < ngroups / 2; i += step) {
		u64 buf[32];
		struct nlmsghdr *nlh = ct_head(&gen, buf, OWN_DEL_LGR, NLM_F_ACK);

		mnl_attr_put_u32(nlh, OWN_LGR_ID, groups[i]);
		mnl_attr_put(nlh, OWN_NOW, 0, NULL);
		ct_order(&gen, nlh);
	}
}

static bool groups_end_all(void)
{
	for (int tries = 0; tries < 100; tries++) {
		if (!groups_read())
			return false;
		if (!ngroups)
			return true;
		ct_groups_end(1);
		usleep(100000);
	}
	return false;
}

static bool sysctl_write(const char *name, int value)
{
	char file[64];
	FILE *f;
	bool ok;

	snprintf(file, sizeof(file), "/proc/sys/net/smc/%s", name);
	f = fopen(file, "w");
	ok = f && fprintf(f, "%d", value) > 0;
	return f && !fclose(f) && ok;
}

/**
 * ct_groups_make() - make groups, each with as many connections as it may hold
 * @proto: protocol of the sockets
 * @address: an address of this host
 * @num: number of groups, of servers and clients together; there are no others then
 *
 * Return: false on failure. ct_groups_close() undoes it.
 */
bool ct_groups_make(const struct tl_proto *proto, const char *address, int num)
{
	struct rlimit files = { TL_ARRAY_SIZE(ends) + 100, TL_ARRAY_SIZE(ends) + 100 };
	struct tl_addr at;
	int listener;
	bool ok;

	memset(ends, 0xff, sizeof(ends));
	/* end older groups first: they have room for more connections */
	if (setrlimit(RLIMIT_NOFILE, &files) || ct_open(&gen, CT_GEN, CT_BUF) ||
	    !groups_end_all() || !sysctl_write("smcr_max_conns_per_lgr", CONNS_PER_GROUP) ||
	    !sysctl_write("rmem", 16384) || !sysctl_write("wmem", 16384) ||
	    tl_addr_parse(&at, proto, address, 0))
		return false;
	listener = tl_listen(proto, &at, 4);
	ok = listener >= 0;
	for (int i = 0; i < num * CONNS_PER_GROUP && ok; i += 2) {
		ends[i] = tl_connect(proto, NULL, &at);
		ends[i + 1] = ends[i] < 0 ? -1 : accept(listener, NULL, NULL);
		ok = ends[i + 1] >= 0;
	}
	if (listener >= 0)
		close(listener);
	ok = ok && groups_read();
	if (ok && ngroups != num)
		ktap_note("%d groups of %d", ngroups, num);
	return ok && ngroups == num;
}

/**
 * ct_groups_close() - undo ct_groups_make(); groups remain until they are idle
 */
void ct_groups_close(void)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(ends); i++)
		if (ends[i] >= 0)
			close(ends[i]);
	memset(ends, 0xff, sizeof(ends));
	sysctl_write("smcr_max_conns_per_lgr", 255);
	sysctl_write("rmem", 65536);
	sysctl_write("wmem", 65536);
	ct_close(&gen);
}
