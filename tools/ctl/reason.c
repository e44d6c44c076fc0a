// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: what each fallback reason means, and what to do about it.
 *
 * The short texts in lists come from the protocol code, see smc_clc_reason_str().
 */
#include "smcctl.h"
#include <smc/proto/clc_msg.h>

#include <stdio.h>
#include <string.h>

#define MTU_HINT \
	"Let UDP port 4791 through between the hosts, in both directions, and check", \
	"that the path carries packets of the netdev's MTU."
#define HINT_PARTS 3
#define REPORT_HINT "Save the smc messages in dmesg of both hosts and report them."
#define SMCD_HINT "Nothing to do for SMC-R; SMC-D is not supported here."

/**
 * struct reason - one diagnosis code
 * @code: code as in a CLC Decline
 * @sentence: what happened
 * @hint: what an administrator can do; the parts are joined by blanks
 */
struct reason {
	__u32 code;
	const char *sentence;
	const char *hint[HINT_PARTS];
};

/* Ordered by code. test_reasons.sh compares this table with enum smc_clc_reason. */
static const struct reason reasons[] = {
	{ SMC_CLC_DECL_MEM,
	  "There was no memory for buffers, or the limit of a memory cgroup was reached.",
	  { "Raise the limit of the service, or lower net.smc.wmem and net.smc.rmem." } },
	{ SMC_CLC_DECL_RMB_LIMIT,
	  "RMBs, or send rings, may take no more memory in this namespace.",
	  { "Raise net.smc.smcr_max_rmb_kb or lower net.smc.rmem; for send rings smcr_max_snd_kb",
	    "and wmem. smcctl linkgroup shows what each group takes." } },
	{ SMC_CLC_DECL_MEM_LIMIT,
	  "The buffers of all connections may take no more memory on this machine.",
	  { "Raise net.smc.smcr_max_mem_kb, or lower net.smc.wmem and net.smc.rmem; smcctl",
	    "linkgroup shows what each group takes." } },
	{ SMC_CLC_DECL_HOST_MEM,
	  "The buffers of connections with this one peer may take no more memory.",
	  { "Raise net.smc.smcr_max_host_kb if the peer is trusted; look for a peer that makes",
	    "connections and aborts them (counter elem_quarantine)." } },
	{ SMC_CLC_DECL_HOST_GROUPS,
	  "This one peer has too many link groups, all of them in use.",
	  { "Raise net.smc.smcr_max_host_groups if the peer is trusted; smcctl linkgroup shows the",
	    "groups." } },
	{ SMC_CLC_DECL_HS_LIMIT,
	  "Too many handshakes were under way on this side, or with this one peer.",
	  { "Raise net.smc.hs_max; look for clients that begin handshakes and do not end them",
	    "(counter hs_limited)." } },
	{ SMC_CLC_DECL_TIMEOUT_CL,
	  "Both hosts made a queue pair, but no CONFIRM LINK came through it in time.",
	  { MTU_HINT } },
	{ SMC_CLC_DECL_TIMEOUT_AL,
	  "The first link stands, but the messages about a second one did not come in time.",
	  { MTU_HINT } },
	{ SMC_CLC_DECL_CONFIG,
	  "SMC is switched off, or a message named a path MTU that does not exist.",
	  { "On the host that gave this reason: sysctl net.smc.enabled=1." } },
	{ SMC_CLC_DECL_RULE,
	  "A rule of the administrator demands TCP for this connection.",
	  { "On the host that gave this reason: smcctl policy shows the rules, and which of them",
	    "decide." } },
	{ SMC_CLC_DECL_SHORT,
	  "The last connections like this one were too short for SMC to pay.",
	  { "On the host that gave this reason: net.smc.autosmc_bytes and autosmc_time say what is",
	    "short, /proc/net/smc_autosmc shows where connections are." } },
	{ SMC_CLC_DECL_PEER_NO_SMC,
	  "The TCP handshake of the peer did not carry the SMC option.",
	  { "On the peer: load the module and start the program with smc_run. If that is done, a",
	    "firewall, a load balancer or SYN cookies took the option away.",
	    "net.smc.hs_ctrl of either host may have refused it." } },
	{ SMC_CLC_DECL_NOT_SMC,
	  "The peer sent the SMC option back, but did not answer as SMC does.",
	  { "Something there echoes unknown TCP options: only TCP is possible with it. It is left",
	    "alone for a while (/proc/net/smc_negcache)." } },
	{ SMC_CLC_DECL_IPSEC,
	  "IPsec protects this connection, and RDMA would pass by it.",
	  { "Exempt the connection from the policy if that is allowed: ip xfrm policy." } },
	{ SMC_CLC_DECL_NO_DEV,
	  "No active RoCE port belongs to the network device of the route.",
	  { "See smcctl device and rdma link. Name the RoCE device of another netdev: smcctl pnet",
	    "add NET1 netdev eth0 ibdev mlx5_1; or make one in software: rdma link add rxe0 type",
	    "rxe netdev eth0." } },
	{ SMC_CLC_DECL_NO_DEV_D,
	  "The peer wants SMC-D, and there is no device for it.",
	  { SMCD_HINT } },
	{ SMC_CLC_DECL_NO_DEV_R,
	  "There is a RoCE device, but no GID of the kind that this connection needs.",
	  { "Version 2 needs a RoCE v2 GID that is the connection's own address, version 1 with",
	    "other systems one of RoCE v1: rdma link; or look at",
	    "/sys/class/infiniband/*/ports/*/gids." } },
	{ SMC_CLC_DECL_NO_ISM_V2,
	  "The peer wants SMC-Dv2, and there is no device for it.",
	  { SMCD_HINT } },
	{ SMC_CLC_DECL_NO_V2_EXT,
	  "The Proposal is of version 2 but lacks the version 2 extension.",
	  { "A fault of the peer, or it has no user EID: smcctl ueid add SMCV2-DEFAULT-UEID",
	    "there." } },
	{ SMC_CLC_DECL_NO_V2_D_EXT,
	  "The Proposal for SMC-Dv2 lacks the SMC-Dv2 extension.",
	  { SMCD_HINT } },
	{ SMC_CLC_DECL_NO_SEID,
	  "The Proposal for SMC-Dv2 names no system EID.",
	  { SMCD_HINT } },
	{ SMC_CLC_DECL_NO_DEV_D_V2,
	  "There is no device for SMC-Dv2.",
	  { SMCD_HINT } },
	{ SMC_CLC_DECL_NO_UEID,
	  "The two hosts have no user EID in common.",
	  { "Both hosts need one: smcctl ueid add SMCV2-DEFAULT-UEID on each (in-tree hosts begin",
	    "with none: smcr ueid add SMCV2-DEFAULT-UEID)." } },
	{ SMC_CLC_DECL_RELEASE,
	  "The two hosts have no release of version 2 in common.",
	  { REPORT_HINT } },
	{ SMC_CLC_DECL_MAX_CONNS,
	  "The peer answered with a limit of connections that was not offered.",
	  { "Compare net.smc.smcr_max_conns_per_lgr of both hosts (16 to 255)." } },
	{ SMC_CLC_DECL_MAX_LINKS,
	  "The peer answered with a limit of links that was not offered.",
	  { "Compare net.smc.smcr_max_links_per_lgr of both hosts." } },
	{ SMC_CLC_DECL_NO_DEV_PNETID,
	  "The netdev of the route has a PNET ID, and no active RoCE port has the same.",
	  { "Give it to a port: smcctl pnet add ID ibdev NAME/PORT;",
	    "or delete it: smcctl pnet del ID." } },
	{ SMC_CLC_DECL_DEV_BELOW,
	  "The RoCE device is below a bond or bridge, where packets for it may not arrive.",
	  { "If its network is the bond's: smcctl pnet add NET1 netdev bond0 ibdev NAME." } },
	{ SMC_CLC_DECL_NOT_INNER,
	  "The device of the route, smc_lo, is for namespaces of this host that both allow it.",
	  { "For a peer on this host: net.smc.lo_peers=1 in both namespaces, and smc_lo on the",
	    "netdevs with the two addresses of the connection. Peers elsewhere need an RNIC." } },
	{ SMC_CLC_DECL_MODE,
	  "The two hosts have no transport in common; the peer may want SMC-D.",
	  { "The peer needs a RoCE device for SMC-R." } },
	{ SMC_CLC_DECL_RMBE_EYEC,
	  "The peer wants eye catchers in its buffers.",
	  { REPORT_HINT } },
	{ SMC_CLC_DECL_SOCKOPT,
	  "The program set a socket option that only TCP can honour.",
	  { "Do without it where SMC is wanted; af_smc(7) names these options." } },
	{ SMC_CLC_DECL_PREFIX,
	  "Only version 1 was possible, and the hosts are not in one IP subnet.",
	  { "Version 2 works between subnets: give both hosts the same user EID (smcctl ueid add),",
	    "or equal prefix lengths." } },
	{ SMC_CLC_DECL_VLAN_LOOKUP,
	  "The VLAN of the connection could not be found.",
	  { "Check the VLAN device of the route: ip -d link." } },
	{ SMC_CLC_DECL_VLAN_ISM,
	  "The VLAN of the connection cannot be used on the peer's ISM device.",
	  { SMCD_HINT } },
	{ SMC_CLC_DECL_NO_LINK,
	  "The link group has no usable link, or its first one took too long to make.",
	  { "Try again; if it stays so: smcctl link, and dmesg for the failure of the link." } },
	{ SMC_CLC_DECL_LINK_UNKNOWN,
	  "The other side named a link or a GID that does not exist here.",
	  { "Passes by itself when one host was restarted; else report it." } },
	{ SMC_CLC_DECL_VERSION,
	  "The two hosts have no version of SMC in common.",
	  { "Give both hosts the same user EID for version 2: smcctl ueid add." } },
	{ SMC_CLC_DECL_DMB_LIMIT,
	  "The buffers of the peer's SMC-D device are used up.",
	  { SMCD_HINT } },
	{ SMC_CLC_DECL_NO_ROUTE,
	  "There is no route, or no answer to ARP, for the peer's RoCE address.",
	  { "Compare ip route get for the peer's GID (smcctl link) with the route of TCP." } },
	{ SMC_CLC_DECL_NOT_DIRECT,
	  "One host reaches the other's RoCE address through a gateway, the other directly.",
	  { "Compare ip route get for the RoCE addresses on both hosts." } },
	{ SMC_CLC_DECL_SYNC,
	  "One host has lost the link group that the other still uses.",
	  { "Passes by itself: the next connection makes a new group." } },
	{ SMC_CLC_DECL_PEER,
	  "The peer declined for a reason of its own.",
	  { "Look at the peer's reason (smcctl sock, behind peer:)." } },
	{ SMC_CLC_DECL_INTERNAL,
	  "Something failed that should not fail.",
	  { REPORT_HINT } },
	{ SMC_CLC_DECL_RTOKEN,
	  "The peer announced a buffer that cannot be, or more than 255 of them.",
	  { REPORT_HINT } },
	{ SMC_CLC_DECL_LINK_READY,
	  "The queue pair could not be made ready.",
	  { "See dmesg for the RDMA device's error; check the MTU of the netdev and that the link",
	    "stays up." } },
	{ SMC_CLC_DECL_BUF_REG,
	  "A buffer could not be registered, here or with the peer.",
	  { "Look for the device's limit of memory regions (rdma resource)",
	    "and of locked memory." } },
};

static const struct reason *reason_find(__u32 code)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].code == code)
			return &reasons[i];
	return NULL;
}

/**
 * ctl_reason_sentence() - return what a diagnosis code means
 * @code: code, may be unknown
 *
 * Return: one sentence.
 */
const char *ctl_reason_sentence(__u32 code)
{
	const struct reason *r = reason_find(code);

	return r ? r->sentence : "A code of another system, or of a newer module.";
}

/**
 * ctl_reason_hint() - return what an administrator can do about a diagnosis code
 * @code: code, may be unknown
 *
 * Return: text, valid until the next call.
 */
const char *ctl_reason_hint(__u32 code)
{
	const struct reason *r = reason_find(code);
	static char text[512];
	size_t i, len = 0;

	if (!r)
		return "Look it up in the documentation of the system that gave it.";
	for (i = 0; i < HINT_PARTS && r->hint[i] && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
					r->hint[i]);
	return text;
}

static struct json_object *reason_describe(__u32 code)
{
	struct json_object *obj = json_object_new_object();

	ctl_json_add_reason(obj, "reason", code);
	ctl_json_add_str(obj, "sentence", ctl_reason_sentence(code));
	ctl_json_add_str(obj, "hint", ctl_reason_hint(code));
	return obj;
}

static void reason_print(struct json_object *obj)
{
	printf("%s  %s\n", ctl_json_text(obj, "reason"), ctl_json_text(obj, "reason_text"));
	fputs("  ", stdout);
	ctl_text_print(ctl_json_text(obj, "sentence"), 2, 4);
	fputs("  ", stdout);
	ctl_text_print(ctl_json_text(obj, "hint"), 2, 4);
}

/**
 * cmd_reason() - smcctl reason [show | CODE]
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status; CTL_NOTHING for an unknown code.
 */
int cmd_reason(const struct ctl_opts *opts, int argc, char **argv)
{
	struct json_object *list;
	size_t i;
	__u32 code;

	if (argc == 1 && !strcmp(argv[0], "show"))
		argc = 0;
	/* People copy codes from captures: hexadecimal, with or without 0x. */
	if (argc > 1 || (argc && !ctl_num_parse(argv[0], 16, 1, 0xffffffff, &code))) {
		ctl_error("reason is followed by show, a code such as 0x03030000, or nothing");
		return CTL_USAGE;
	}
	list = json_object_new_array();
	if (argc)
		json_object_array_add(list, reason_describe(code));
	for (i = 0; !argc && i < ARRAY_SIZE(reasons); i++)
		json_object_array_add(list, reason_describe(reasons[i].code));
	if (opts->json)
		ctl_json_print(list);
	for (i = 0; !opts->json && i < json_object_array_length(list); i++)
		reason_print(json_object_array_get_idx(list, i));
	json_object_put(list);
	return argc && !reason_find(code) ? CTL_NOTHING : CTL_OK;
}
