// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fake SMC module: netlink commands that change settings.
 *
 * FAKE_NL_UEIDS names the file with the list of UEIDs, FAKE_NL_PNET a file that gets a line for
 * each change of the PNET table.
 */
#define _GNU_SOURCE
#include "fake_netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_UEIDS 4
#define OWN_ATTRS 3	/* those that are numbers; then the ends of a link to add */

/* --- UEIDs, kept in a file as lines of 32 characters --- */

static int ueids_load(char names[][SMC_MAX_EID_LEN + 2])
{
	FILE *f = fopen(getenv("FAKE_NL_UEIDS"), "r");
	int num = 0;

	while (f && num < MAX_UEIDS && fgets(names[num], SMC_MAX_EID_LEN + 2, f))
		num++;
	if (f)
		fclose(f);
	return num;
}

static void ueids_save(char names[][SMC_MAX_EID_LEN + 2], int num)
{
	FILE *f = fopen(getenv("FAKE_NL_UEIDS"), "w");
	int i;

	if (!f)
		abort();
	for (i = 0; i < num; i++)
		fputs(names[i], f);
	fclose(f);
}

/**
 * fake_ueids_dump() - answer with the list of UEIDs
 */
void fake_ueids_dump(void)
{
	char names[MAX_UEIDS][SMC_MAX_EID_LEN + 2];
	int i, num = ueids_load(names);
	struct nlmsghdr *nlh;

	for (i = 0; i < num; i++) {
		names[i][SMC_MAX_EID_LEN] = '\0';
		nlh = fake_genl_start(SMC_NETLINK_DUMP_UEID);
		mnl_attr_put_strz(nlh, SMC_NLA_EID_TABLE_ENTRY, names[i]);
		fake_msg_finish(nlh);
	}
	fake_done_put();
}

/**
 * fake_ueids_change() - change the list of UEIDs
 * @req: request
 * @cmd: command of the request
 *
 * Return: 0 or a negative errno.
 */
int fake_ueids_change(const struct nlmsghdr *req, int cmd)
{
	char names[MAX_UEIDS + 1][SMC_MAX_EID_LEN + 2];
	const struct nlattr *attr = mnl_nlmsg_get_payload_offset(req, sizeof(struct genlmsghdr));
	int i, num = ueids_load(names);

	if (cmd == SMC_NETLINK_FLUSH_UEID) {
		ueids_save(names, 0);
		return 0;
	}
	/* the in-tree module requires all 32 characters and the terminating zero */
	if (!mnl_attr_ok(attr, (int)(mnl_nlmsg_get_payload_len(req) - sizeof(struct genlmsghdr))) ||
	    mnl_attr_get_type(attr) != SMC_NLA_EID_TABLE_ENTRY ||
	    mnl_attr_get_payload_len(attr) != SMC_MAX_EID_LEN + 1 ||
	    strlen(mnl_attr_get_str(attr)) != SMC_MAX_EID_LEN)
		return -EINVAL;
	for (i = 0; i < num; i++) {
		if (!memcmp(names[i], mnl_attr_get_str(attr), SMC_MAX_EID_LEN))
			break;
	}
	if (cmd == SMC_NETLINK_ADD_UEID) {
		if (i < num)
			return -EEXIST;
		if (num == MAX_UEIDS)
			return -ERANGE;
		snprintf(names[num], sizeof(names[num]), "%s\n", mnl_attr_get_str(attr));
		ueids_save(names, num + 1);
		return 0;
	}
	if (i == num)
		return -ENOENT;
	memmove(names[i], names[i + 1], (size_t)(num - i) * sizeof(names[0]));
	ueids_save(names, num - 1);
	return 0;
}

/* --- PNET IDs: a fixed table; a change has no effect, its result depends on its text --- */

static void pnet_put(const char *id, const char *eth, const char *ib, __u8 port)
{
	struct nlmsghdr *nlh = fake_genl_start(SMC_PNETID_GET);

	nlh->nlmsg_type = PNET_FAMILY_ID;
	mnl_attr_put_strz(nlh, SMC_PNETID_NAME, id);
	mnl_attr_put_strz(nlh, SMC_PNETID_ETHNAME, eth);
	mnl_attr_put_strz(nlh, SMC_PNETID_IBNAME, ib);
	mnl_attr_put_u8(nlh, SMC_PNETID_IBPORT, port);
	fake_msg_finish(nlh);
}

/* Format the attributes of a request: "ID eth ib port", "-" for absent ones. */
static void pnet_describe(const struct nlmsghdr *req, char *text, size_t size)
{
	const char *part[SMC_PNETID_MAX + 1] = { "", "-", "-", "-", "-" };
	const struct nlattr *attr;
	char port[8];

	mnl_attr_for_each(attr, req, sizeof(struct genlmsghdr)) {
		int type = mnl_attr_get_type(attr);

		if (type == SMC_PNETID_IBPORT)
			snprintf(port, sizeof(port), "%d", mnl_attr_get_u8(attr));
		if (type <= SMC_PNETID_MAX)
			part[type] = type == SMC_PNETID_IBPORT ? port : mnl_attr_get_str(attr);
	}
	snprintf(text, size, "%s %s %s %s", part[1], part[2], part[3], part[4]);
}

static int pnet_change(const struct nlmsghdr *req, int cmd)
{
	static const struct {
		int cmd;
		const char *text;
		int err;
	} known[] = {
		{ SMC_PNETID_ADD, "net1 eth0 - -", 0 },
		{ SMC_PNETID_ADD, "NET1 eth#0 - -", 0 },
		{ SMC_PNETID_ADD, "NET1 - rxe0 1", 0 },
		{ SMC_PNETID_ADD, "NET1 eth0 0000:01:00.0 2", 0 },
		{ SMC_PNETID_ADD, "NET2 eth0 - -", -EEXIST },
		{ SMC_PNETID_ADD, "FULL eth0 - -", -ENOSPC },
		{ SMC_PNETID_DEL, "NET1 - - -", 0 },
		{ SMC_PNETID_DEL, "NET2 - - -", -ENOENT },
		{ SMC_PNETID_FLUSH, "- - - -", 0 },
	};
	char text[256];
	size_t i;

	pnet_describe(req, text, sizeof(text));
	if (getenv("FAKE_NL_PNET")) {
		FILE *f = fopen(getenv("FAKE_NL_PNET"), "a");

		if (!f)
			abort();
		fprintf(f, "%s %s\n", cmd == SMC_PNETID_ADD ? "add" :
			cmd == SMC_PNETID_DEL ? "del" : "flush", text);
		fclose(f);
	}
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].cmd == cmd && !strcmp(known[i].text, text))
			return known[i].err;
	return -EINVAL;
}

/**
 * fake_pnet_answer() - answer a request about the PNET table
 * @req: request
 * @cmd: command of the request
 */
void fake_pnet_answer(const struct nlmsghdr *req, int cmd)
{
	if (cmd != SMC_PNETID_GET) {
		fake_result_put(NLMSG_ERROR, pnet_change(req, cmd));
		return;
	}
	if (!fake_is("empty")) {
		pnet_put("NET1", "eth0", "n/a", 255);
		pnet_put(fake_is("lonely") ? "NET2" : "NET1", "n/a", "rxe0", 1);
	}
	fake_done_put();
}

/* --- changes of groups and links: no effect, the result depends on the attributes --- */

/* Answer with an error and an extended ACK text; an old kernel echoes the request before it. */
static void error_put(const struct nlmsghdr *req, int err, const char *words)
{
	size_t more = fake_is("old") ? req->nlmsg_len - sizeof(*req) : 0;
	struct nlmsghdr *nlh = fake_msg_start(NLMSG_ERROR,
					      NLM_F_ACK_TLVS | (more ? 0 : NLM_F_CAPPED));
	struct nlmsgerr *body = mnl_nlmsg_put_extra_header(nlh, sizeof(*body) + more);

	body->error = err;
	memcpy(&body->msg, req, sizeof(*req) + more);
	mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, words);
	fake_msg_finish(nlh);
}

/**
 * fake_link_modify() - answer a request to change groups or links
 * @req: request
 * @cmd: command of the request
 */
void fake_link_modify(const struct nlmsghdr *req, int cmd)
{
	static const struct {
		int cmd;
		const char *text;
	} known[] = {
		{ OWN_ADD_LINK, "256 0 0" }, { OWN_ADD_LINK, "256 0 0 device rxe0" },
		{ OWN_ADD_LINK, "256 0 0 device rxe0 port 1 peer ::ffff:10.0.0.2" },
		{ OWN_ADD_LINK, "256 0 0 peer fe80::1" }, { OWN_DEL_LINK, "256 2 0" },
		{ OWN_DEL_LGR, "256 0 0" }, { OWN_DEL_LGR, "512 0 1" },
	};
	unsigned int part[OWN_ATTRS + 1] = { 0 };
	char text[256], device[80] = "", port[16] = "", peer[INET6_ADDRSTRLEN + 8] = "";
	char gid[INET6_ADDRSTRLEN];
	const struct nlattr *attr;
	size_t i;

	mnl_attr_for_each(attr, req, sizeof(struct genlmsghdr)) {
		int type = mnl_attr_get_type(attr);

		if (type == 1)
			part[type] = mnl_attr_get_u32(attr);
		else if (type == 2)
			part[type] = mnl_attr_get_u8(attr);
		else if (type == 3)
			part[type] = !mnl_attr_get_payload_len(attr);
		else if (type == 4)
			snprintf(device, sizeof(device), " device %s", mnl_attr_get_str(attr));
		else if (type == 5)
			snprintf(port, sizeof(port), " port %u", mnl_attr_get_u8(attr));
		else if (type == 6 && inet_ntop(AF_INET6, mnl_attr_get_payload(attr), gid,
						sizeof(gid)))
			snprintf(peer, sizeof(peer), " peer %s", gid);
	}
	snprintf(text, sizeof(text), "%u %u %u%s%s%s", part[1], part[2], part[3], device, port,
		 peer);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].cmd != cmd || strcmp(known[i].text, text))
			continue;
		fake_result_put(NLMSG_ERROR, 0);
		return;
	}
	error_put(req, -ENOENT, text);
}

/* --- rules --- */

static void rule_put(unsigned int num, int deny)
{
	struct nlmsghdr *nlh = fake_genl_start(OWN_GET_RULES);
	int wide = fake_is("wide");
	struct in6_addr local, remote;

	inet_pton(AF_INET6, wide ? WIDE_LOCAL : "::ffff:10.1.0.0", &local);
	inet_pton(AF_INET6, wide ? WIDE_PEER : "fd00::", &remote);
	mnl_attr_put_u32(nlh, 1, num);
	mnl_attr_put_u8(nlh, 2, deny);
	if (deny) {
		mnl_attr_put(nlh, 3, sizeof(local), &local);
		mnl_attr_put_u8(nlh, 4, wide ? 127 : 112);
		mnl_attr_put_u32(nlh, 5, wide ? 10000 : 443);
		mnl_attr_put_u32(nlh, 6, wide ? 65535 : 443);
		mnl_attr_put(nlh, 7, sizeof(remote), &remote);
		mnl_attr_put_u8(nlh, 8, wide ? 127 : 8);
		mnl_attr_put_u32(nlh, 9, wide ? 10000 : 8000);
		mnl_attr_put_u32(nlh, 10, wide ? 65535 : 8999);
	}
	mnl_attr_put_u64(nlh, 11, 12345678901ULL);
	fake_msg_finish(nlh);
}

/**
 * fake_rules_change() - answer a request to change the rules
 * @req: request
 * @cmd: command of the request
 *
 * Logs the attributes to $FAKE_NL_RULES and succeeds. Without that variable, returns them as the
 * text of an error.
 */
void fake_rules_change(const struct nlmsghdr *req, int cmd)
{
	const char *path = getenv("FAKE_NL_RULES");
	FILE *log = path ? fopen(path, "a") : NULL;
	const struct nlattr *attr;
	char text[256] = "";
	size_t n = 0;

	mnl_attr_for_each(attr, req, sizeof(struct genlmsghdr)) {
		int len = mnl_attr_get_payload_len(attr);
		char addr[INET6_ADDRSTRLEN] = "?";

		if (len == 16)
			inet_ntop(AF_INET6, mnl_attr_get_payload(attr), addr, sizeof(addr));
		else if (len == 4)
			snprintf(addr, sizeof(addr), "%u", mnl_attr_get_u32(attr));
		else if (len == 1)
			snprintf(addr, sizeof(addr), "%u", mnl_attr_get_u8(attr));
		n += snprintf(text + n, sizeof(text) - n, " %d=%s", mnl_attr_get_type(attr), addr);
	}
	if (log) {
		fprintf(log, "%s%s\n", cmd == OWN_FLUSH_RULES ? "flush" : "add", text);
		fclose(log);
		fake_result_put(NLMSG_ERROR, 0);
	} else if (!strcmp(text, " 2=1")) {
		fake_result_put(NLMSG_ERROR, 0);
	} else {
		error_put(req, cmd == OWN_FLUSH_RULES ? -EBUSY : -EINVAL, text);
	}
}

/**
 * fake_rules_dump() - answer with the list of rules, without its end
 */
void fake_rules_dump(void)
{
	rule_put(10, 1);
	rule_put(4000000000U, 0);
}
