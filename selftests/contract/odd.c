// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that are odd in one respect each, and the answers to them, to compare two modules. Run
 * it on a host whose tables are in their initial state.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>

#include "contract.h"

#define LONG_EID	"THIS.IS.MORE.THAN.A.UEID.MAY.HAVE.OF.LETTERS"

/**
 * struct odd - one request
 * @name: name in the output
 * @family: its netlink family
 * @cmd: command
 * @flags: flags besides NLM_F_REQUEST
 * @type: type of its attribute, 0: no attribute
 * @value: value of the attribute
 * @end: whether the value ends with NUL
 */
struct odd {
	const char *name;
	enum ct_family family;
	u8 cmd;
	u16 flags;
	u16 type;
	const char *value;
	enum { NUL, NO_NUL } end;
};

#define GOOD		"ODD.GOOD                        "

static const struct odd odds[] = {
	{ "a list, not as one", CT_GEN, SMC_NETLINK_GET_SYS_INFO, NLM_F_ACK, 0, NULL, NUL },
	{ "groups without a list", CT_GEN, SMC_NETLINK_GET_LGR_SMCR, NLM_F_ACK, 0, NULL, NUL },
	{ "a list of an order", CT_GEN, SMC_NETLINK_FLUSH_UEID, NLM_F_DUMP, 0, NULL, NUL },
	{ "command 0", CT_GEN, 0, NLM_F_ACK, 0, NULL, NUL },
	{ "command 19", CT_GEN, 19, NLM_F_ACK, 0, NULL, NUL },
	{ "command 19 as a list", CT_GEN, 19, NLM_F_DUMP, 0, NULL, NUL },
	{ "a list with an attribute", CT_GEN, SMC_NETLINK_GET_SYS_INFO, NLM_F_DUMP, 1, "X", NUL },
	{ "groups, an attribute", CT_GEN, SMC_NETLINK_GET_LGR_SMCR, NLM_F_DUMP, 7, "X", NUL },
	{ "no UEID", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 0, NULL, NUL },
	{ "another attribute", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 2, GOOD, NUL },
	{ "a short UEID", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1, "ODD.SHORT", NUL },
	{ "a UEID without NUL", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1, GOOD, NO_NUL },
	{ "a long UEID", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1, LONG_EID, NUL },
	{ "an empty UEID", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1, "", NUL },
	{ "a UEID of blanks", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1,
	  "                                ", NUL },
	{ "a UEID in lower case", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1,
	  "odd.lower                       ", NUL },
	{ "a UEID that begins with a dot", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1,
	  ".ODD                            ", NUL },
	{ "a UEID with a blank inside", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1,
	  "ODD ODD                         ", NUL },
	{ "remove what is not there", CT_GEN, SMC_NETLINK_REMOVE_UEID, NLM_F_ACK, 1, GOOD, NUL },
	{ "add", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1, GOOD, NUL },
	{ "add again", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1, GOOD, NUL },
	{ "remove", CT_GEN, SMC_NETLINK_REMOVE_UEID, NLM_F_ACK, 1, GOOD, NUL },
	{ "remove without a name", CT_GEN, SMC_NETLINK_REMOVE_UEID, NLM_F_ACK, 0, NULL, NUL },
	{ "SEID on", CT_GEN, SMC_NETLINK_ENABLE_SEID, NLM_F_ACK, 0, NULL, NUL },
	{ "SEID off", CT_GEN, SMC_NETLINK_DISABLE_SEID, NLM_F_ACK, 0, NULL, NUL },
	{ "limit on", CT_GEN, SMC_NETLINK_ENABLE_HS_LIMITATION, NLM_F_ACK, 0, NULL, NUL },
	{ "limit off", CT_GEN, SMC_NETLINK_DISABLE_HS_LIMITATION, NLM_F_ACK, 0, NULL, NUL },
	{ "limit with an attribute", CT_GEN, SMC_NETLINK_DISABLE_HS_LIMITATION, NLM_F_ACK, 1,
	  "X", NUL },
	{ "entries of no ID", CT_PNET, SMC_PNETID_GET, NLM_F_ACK, 0, NULL, NUL },
	{ "entries of an ID that is none", CT_PNET, SMC_PNETID_GET, NLM_F_ACK, SMC_PNETID_NAME,
	  "A.B", NUL },
	{ "entries of an unknown ID", CT_PNET, SMC_PNETID_GET, NLM_F_ACK, SMC_PNETID_NAME,
	  "ODD", NUL },
	{ "an ID alone", CT_PNET, SMC_PNETID_ADD, NLM_F_ACK, SMC_PNETID_NAME, "ODD", NUL },
	{ "a netdev alone", CT_PNET, SMC_PNETID_ADD, NLM_F_ACK, SMC_PNETID_ETHNAME, "lo", NUL },
	{ "an ID without NUL", CT_PNET, SMC_PNETID_ADD, NLM_F_ACK, SMC_PNETID_NAME, "ODD", NO_NUL },
	{ "an ID of 17 letters", CT_PNET, SMC_PNETID_ADD, NLM_F_ACK, SMC_PNETID_NAME,
	  "ABCDEFGHIJKLMNOPQ", NUL },
	{ "a port of two bytes", CT_PNET, SMC_PNETID_ADD, NLM_F_ACK, SMC_PNETID_IBPORT, "1", NUL },
	{ "an unknown attribute", CT_PNET, SMC_PNETID_FLUSH, NLM_F_ACK, 9, "X", NUL },
	{ "delete what is not there", CT_PNET, SMC_PNETID_DEL, NLM_F_ACK, SMC_PNETID_NAME,
	  "ODD", NUL },
	{ "delete nothing", CT_PNET, SMC_PNETID_DEL, NLM_F_ACK, 0, NULL, NUL },
	{ "flush", CT_PNET, SMC_PNETID_FLUSH, NLM_F_ACK, 0, NULL, NUL },
	{ "command 9 of PNET IDs", CT_PNET, 9, NLM_F_ACK, 0, NULL, NUL },
	{ "flush as a list", CT_PNET, SMC_PNETID_FLUSH, NLM_F_DUMP, 0, NULL, NUL },
	{ "sockets, not as a list", CT_DIAG, 0, NLM_F_ACK, 0, NULL, NUL },
	{ "sockets with an attribute", CT_DIAG, 0, NLM_F_DUMP, 1, "X", NUL },
	/* a module that takes it keeps it */
	{ "a UEID with two dots", CT_GEN, SMC_NETLINK_ADD_UEID, NLM_F_ACK, 1,
	  "ODD..ODD                        ", NUL },
};

/* List sockets by a request that is shorter or longer than its structure. */
static int diag_dump(struct ct_nl *nl, size_t size, u16 type)
{
	u64 buf[32] = { 0 };
	struct nlmsghdr *nlh = ct_head(nl, buf, 0, NLM_F_DUMP);

	nlh->nlmsg_len = MNL_NLMSG_HDRLEN + size;
	nlh->nlmsg_type = type;
	return ct_order(nl, nlh);
}

static void result_print(FILE *out, const char *name, int err)
{
	fprintf(out, "odd: %s: %s\n", name, err ? tl_errno_name(-err) : "0");
}

/**
 * ct_odd() - send the requests and print the answers
 * @out: output
 *
 * Return: false if a netlink family is missing.
 */
bool ct_odd(FILE *out)
{
	struct ct_nl nl[CT_FAMILIES];
	u64 buf[32];

	for (int i = 0; i < CT_FAMILIES; i++)
		if (ct_open(&nl[i], i, CT_BUF))
			return false;
	for (size_t i = 0; i < TL_ARRAY_SIZE(odds); i++) {
		const struct odd *o = &odds[i];
		struct nlmsghdr *nlh = ct_head(&nl[o->family], buf, o->cmd, o->flags);

		if (o->value)
			mnl_attr_put(nlh, o->type, strlen(o->value) + (o->end == NUL), o->value);
		result_print(out, o->name, ct_order(&nl[o->family], nlh));
	}
	result_print(out, "sockets, cut",
		     diag_dump(&nl[CT_DIAG], sizeof(struct smc_diag_req) - 1, SOCK_DIAG_BY_FAMILY));
	result_print(out, "sockets, two bytes", diag_dump(&nl[CT_DIAG], 2, SOCK_DIAG_BY_FAMILY));
	result_print(out, "sockets, more bytes",
		     diag_dump(&nl[CT_DIAG], sizeof(struct smc_diag_req) + 20,
			       SOCK_DIAG_BY_FAMILY));
	for (int i = 0; i < CT_FAMILIES; i++)
		ct_close(&nl[i]);
	return true;
}
