// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contract: every command with its attributes, their types and lengths, and which of them a
 * program may rely on. An answer is checked as a whole: an attribute that is missing, too long, not
 * terminated, duplicate, or unknown and below our own numbers is a fault.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <linux/smc_diag.h>

#include "contract.h"

enum kind { U8, U16, U32, U64, UINT, TEXT, NEST, DATA };

static const char * const kind_names[] = {
	"u8", "u16", "u32", "u64", "uint", "text", "nest", "data",
};

#define MUST	true
#define MAY	false

/**
 * struct rule - one attribute
 * @type: attribute type
 * @kind: kind of its value
 * @must: every answer has it
 * @max: TEXT: maximum size with NUL; DATA: exact size
 * @name: name in reports
 * @sub: NEST: attributes inside
 */
struct rule {
	u16 type;
	enum kind kind;
	bool must;
	u16 max;
	const char *name;
	const struct rule *sub;
};

#define END	{ .name = NULL }

static const struct rule sys_info[] = {
	{ SMC_NLA_SYS_VER, U8, MUST, 0, "ver", NULL },
	{ SMC_NLA_SYS_REL, U8, MUST, 0, "rel", NULL },
	{ SMC_NLA_SYS_IS_ISM_V2, U8, MUST, 0, "ism_v2", NULL },
	{ SMC_NLA_SYS_LOCAL_HOST, TEXT, MAY, SMC_MAX_HOSTNAME_LEN + 1, "host", NULL },
	{ SMC_NLA_SYS_SEID, TEXT, MAY, SMC_MAX_EID_LEN + 1, "seid", NULL },
	{ SMC_NLA_SYS_IS_SMCR_V2, U8, MUST, 0, "smcr_v2", NULL },
	END
};

static const struct rule v2_common[] = {
	{ SMC_NLA_LGR_V2_VER, U8, MUST, 0, "ver", NULL },
	{ SMC_NLA_LGR_V2_REL, U8, MUST, 0, "rel", NULL },
	{ SMC_NLA_LGR_V2_OS, U8, MUST, 0, "os", NULL },
	{ SMC_NLA_LGR_V2_NEG_EID, TEXT, MUST, SMC_MAX_EID_LEN + 1, "eid", NULL },
	{ SMC_NLA_LGR_V2_PEER_HOST, TEXT, MUST, SMC_MAX_HOSTNAME_LEN + 1, "peer_host", NULL },
	END
};

static const struct rule lgr_v2[] = {
	{ SMC_NLA_LGR_R_V2_DIRECT, U8, MUST, 0, "direct", NULL },
	{ 2, U8, MAY, 0, "max_conns", NULL },
	{ 3, U8, MAY, 0, "max_links", NULL },
	END
};

static const struct rule lgr[] = {
	{ SMC_NLA_LGR_R_ID, U32, MUST, 0, "id", NULL },
	{ SMC_NLA_LGR_R_ROLE, U8, MUST, 0, "role", NULL },
	{ SMC_NLA_LGR_R_TYPE, U8, MUST, 0, "type", NULL },
	{ SMC_NLA_LGR_R_PNETID, TEXT, MUST, 17, "pnetid", NULL },
	{ SMC_NLA_LGR_R_VLAN_ID, U8, MUST, 0, "vlan", NULL },
	{ SMC_NLA_LGR_R_CONNS_NUM, U32, MUST, 0, "conns", NULL },
	{ SMC_NLA_LGR_R_V2_COMMON, NEST, MAY, 0, "common", v2_common },
	{ SMC_NLA_LGR_R_V2, NEST, MAY, 0, "v2", lgr_v2 },
	{ SMC_NLA_LGR_R_NET_COOKIE, U64, MUST, 0, "cookie", NULL },
	{ SMC_NLA_LGR_R_BUF_TYPE, U8, MUST, 0, "buf_type", NULL },
	{ 12, UINT, MUST, 0, "sndbuf", NULL },
	{ 13, UINT, MUST, 0, "rmb", NULL },
	END
};

static const struct rule lnk[] = {
	{ SMC_NLA_LINK_ID, U8, MUST, 0, "id", NULL },
	{ SMC_NLA_LINK_IB_DEV, TEXT, MUST, 64, "dev", NULL },
	{ SMC_NLA_LINK_IB_PORT, U8, MUST, 0, "port", NULL },
	{ SMC_NLA_LINK_GID, TEXT, MUST, 40, "gid", NULL },
	{ SMC_NLA_LINK_PEER_GID, TEXT, MUST, 40, "peer_gid", NULL },
	{ SMC_NLA_LINK_CONN_CNT, U32, MUST, 0, "conns", NULL },
	{ SMC_NLA_LINK_NET_DEV, U32, MUST, 0, "netdev", NULL },
	{ SMC_NLA_LINK_UID, U32, MUST, 0, "uid", NULL },
	{ SMC_NLA_LINK_PEER_UID, U32, MUST, 0, "peer_uid", NULL },
	{ SMC_NLA_LINK_STATE, U32, MUST, 0, "state", NULL },
	END
};

static const struct rule port[] = {
	{ SMC_NLA_DEV_PORT_PNET_USR, U8, MUST, 0, "by_user", NULL },
	{ SMC_NLA_DEV_PORT_PNETID, TEXT, MUST, 17, "pnetid", NULL },
	{ SMC_NLA_DEV_PORT_NETDEV, U32, MUST, 0, "netdev", NULL },
	{ SMC_NLA_DEV_PORT_STATE, U8, MUST, 0, "state", NULL },
	{ SMC_NLA_DEV_PORT_VALID, U8, MUST, 0, "valid", NULL },
	{ SMC_NLA_DEV_PORT_LNK_CNT, U32, MUST, 0, "links", NULL },
	END
};

static const struct rule dev[] = {
	{ SMC_NLA_DEV_IS_CRIT, U8, MUST, 0, "critical", NULL },
	/* PCI devices only */
	{ SMC_NLA_DEV_PCI_FID, U32, MAY, 0, "fid", NULL },
	{ SMC_NLA_DEV_PCI_CHID, U16, MAY, 0, "chid", NULL },
	{ SMC_NLA_DEV_PCI_VENDOR, U16, MAY, 0, "vendor", NULL },
	{ SMC_NLA_DEV_PCI_DEVICE, U16, MAY, 0, "device", NULL },
	{ SMC_NLA_DEV_PCI_ID, TEXT, MAY, SMC_PCI_ID_STR_LEN + 1, "pci", NULL },
	{ SMC_NLA_DEV_PORT, NEST, MUST, 0, "port", port },
	{ SMC_NLA_DEV_PORT2, NEST, MAY, 0, "port2", port },
	{ SMC_NLA_DEV_IB_NAME, TEXT, MUST, 64, "name", NULL },
	END
};

static const struct rule sizes[] = {
	{ SMC_NLA_STATS_PLOAD_8K, U64, MUST, 0, "8k", NULL },
	{ SMC_NLA_STATS_PLOAD_16K, U64, MUST, 0, "16k", NULL },
	{ SMC_NLA_STATS_PLOAD_32K, U64, MUST, 0, "32k", NULL },
	{ SMC_NLA_STATS_PLOAD_64K, U64, MUST, 0, "64k", NULL },
	{ SMC_NLA_STATS_PLOAD_128K, U64, MUST, 0, "128k", NULL },
	{ SMC_NLA_STATS_PLOAD_256K, U64, MUST, 0, "256k", NULL },
	{ SMC_NLA_STATS_PLOAD_512K, U64, MUST, 0, "512k", NULL },
	{ SMC_NLA_STATS_PLOAD_1024K, U64, MUST, 0, "1024k", NULL },
	{ SMC_NLA_STATS_PLOAD_G_1024K, U64, MUST, 0, "more", NULL },
	END
};

static const struct rule rmb[] = {
	{ SMC_NLA_STATS_RMB_SIZE_SM_PEER_CNT, U64, MUST, 0, "small_peer", NULL },
	{ SMC_NLA_STATS_RMB_SIZE_SM_CNT, U64, MUST, 0, "small", NULL },
	{ SMC_NLA_STATS_RMB_FULL_PEER_CNT, U64, MUST, 0, "full_peer", NULL },
	{ SMC_NLA_STATS_RMB_FULL_CNT, U64, MUST, 0, "full", NULL },
	{ SMC_NLA_STATS_RMB_REUSE_CNT, U64, MUST, 0, "reuse", NULL },
	{ SMC_NLA_STATS_RMB_ALLOC_CNT, U64, MUST, 0, "alloc", NULL },
	{ SMC_NLA_STATS_RMB_DGRADE_CNT, U64, MUST, 0, "downgraded", NULL },
	END
};

static const struct rule tech[] = {
	{ SMC_NLA_STATS_T_TX_RMB_SIZE, NEST, MUST, 0, "tx_buf", sizes },
	{ SMC_NLA_STATS_T_RX_RMB_SIZE, NEST, MUST, 0, "rx_buf", sizes },
	{ SMC_NLA_STATS_T_TXPLOAD_SIZE, NEST, MUST, 0, "tx_req", sizes },
	{ SMC_NLA_STATS_T_RXPLOAD_SIZE, NEST, MUST, 0, "rx_req", sizes },
	{ SMC_NLA_STATS_T_TX_RMB_STATS, NEST, MUST, 0, "tx", rmb },
	{ SMC_NLA_STATS_T_RX_RMB_STATS, NEST, MUST, 0, "rx", rmb },
	{ SMC_NLA_STATS_T_CLNT_V1_SUCC, U64, MUST, 0, "clnt_v1", NULL },
	{ SMC_NLA_STATS_T_CLNT_V2_SUCC, U64, MUST, 0, "clnt_v2", NULL },
	{ SMC_NLA_STATS_T_SRV_V1_SUCC, U64, MUST, 0, "srv_v1", NULL },
	{ SMC_NLA_STATS_T_SRV_V2_SUCC, U64, MUST, 0, "srv_v2", NULL },
	{ SMC_NLA_STATS_T_SENDPAGE_CNT, U64, MUST, 0, "sendpage", NULL },
	{ SMC_NLA_STATS_T_SPLICE_CNT, U64, MUST, 0, "splice", NULL },
	{ SMC_NLA_STATS_T_CORK_CNT, U64, MUST, 0, "cork", NULL },
	{ SMC_NLA_STATS_T_NDLY_CNT, U64, MUST, 0, "nodelay", NULL },
	{ SMC_NLA_STATS_T_URG_DATA_CNT, U64, MUST, 0, "urgent", NULL },
	{ SMC_NLA_STATS_T_RX_BYTES, U64, MUST, 0, "rx_bytes", NULL },
	{ SMC_NLA_STATS_T_TX_BYTES, U64, MUST, 0, "tx_bytes", NULL },
	{ SMC_NLA_STATS_T_RX_CNT, U64, MUST, 0, "rx_calls", NULL },
	{ SMC_NLA_STATS_T_TX_CNT, U64, MUST, 0, "tx_calls", NULL },
	{ 20, UINT, MUST, 0, "rx_usage", NULL },
	{ 21, UINT, MUST, 0, "tx_usage", NULL },
	END
};

static const struct rule stats[] = {
	{ SMC_NLA_STATS_SMCD_TECH, NEST, MUST, 0, "smcd", tech },
	{ SMC_NLA_STATS_SMCR_TECH, NEST, MUST, 0, "smcr", tech },
	{ SMC_NLA_STATS_CLNT_HS_ERR_CNT, U64, MUST, 0, "clnt_hs_err", NULL },
	{ SMC_NLA_STATS_SRV_HS_ERR_CNT, U64, MUST, 0, "srv_hs_err", NULL },
	END
};

static const struct rule fback[] = {
	{ SMC_NLA_FBACK_STATS_TYPE, U8, MUST, 0, "server", NULL },
	{ SMC_NLA_FBACK_STATS_SRV_CNT, U64, MAY, 0, "servers", NULL },
	{ SMC_NLA_FBACK_STATS_CLNT_CNT, U64, MAY, 0, "clients", NULL },
	{ SMC_NLA_FBACK_STATS_RSN_CODE, U32, MUST, 0, "reason", NULL },
	{ SMC_NLA_FBACK_STATS_RSN_CNT, U16, MUST, 0, "count", NULL },
	{ OWN_FBACK_COUNT, U64, MAY, 0, "own_count", NULL },
	END
};

static const struct rule none[] = { END };

static const struct rule top_sys[] = { { SMC_GEN_SYS_INFO, NEST, MUST, 0, "sys", sys_info }, END };
static const struct rule top_lgr[] = { { SMC_GEN_LGR_SMCR, NEST, MUST, 0, "lgr", lgr }, END };
/* a group, then its links: one message each */
static const struct rule top_link[] = {
	{ SMC_GEN_LGR_SMCR, NEST, MAY, 0, "lgr", lgr },
	{ SMC_GEN_LINK_SMCR, NEST, MAY, 0, "link", lnk },
	END
};

static const struct rule top_dev[] = { { SMC_GEN_DEV_SMCR, NEST, MUST, 0, "dev", dev }, END };
static const struct rule top_stats[] = { { SMC_GEN_STATS, NEST, MUST, 0, "stats", stats }, END };
static const struct rule top_fback[] = {
	{ SMC_GEN_FBACK_STATS, NEST, MUST, 0, "fback", fback }, END
};

static const struct rule top_ueid[] = {
	{ SMC_NLA_EID_TABLE_ENTRY, TEXT, MUST, SMC_MAX_EID_LEN + 1, "ueid", NULL }, END
};

static const struct rule top_seid[] = {
	{ SMC_NLA_SEID_ENTRY, TEXT, MAY, SMC_MAX_EID_LEN + 1, "seid", NULL },
	{ SMC_NLA_SEID_ENABLED, U8, MAY, 0, "enabled", NULL },
	END
};

static const struct rule top_limit[] = {
	{ SMC_NLA_HS_LIMITATION_ENABLED, U8, MUST, 0, "enabled", NULL }, END
};

static const struct rule top_rules[] = {
	{ RULE_NUM, U32, MUST, 0, "num", NULL },
	{ 2, U8, MUST, 0, "deny", NULL },
	{ 3, DATA, MAY, 16, "local", NULL },
	{ 4, U8, MAY, 0, "local_len", NULL },
	{ 5, U32, MAY, 0, "local_port", NULL },
	{ 6, U32, MAY, 0, "local_last", NULL },
	{ 7, DATA, MAY, 16, "remote", NULL },
	{ 8, U8, MAY, 0, "remote_len", NULL },
	{ 9, U32, MAY, 0, "remote_port", NULL },
	{ 10, U32, MAY, 0, "remote_last", NULL },
	{ RULE_HITS, U64, MUST, 0, "hits", NULL },
	END
};

static const struct rule top_counters[] = {
	{ COUNTER_NAME, TEXT, MUST, 32, "name", NULL },
	{ COUNTER_VALUE, U64, MUST, 0, "value", NULL },
	END
};

static const struct rule top_pnet[] = {
	{ SMC_PNETID_NAME, TEXT, MUST, 17, "id", NULL },
	{ SMC_PNETID_ETHNAME, TEXT, MUST, 16, "eth", NULL },
	{ SMC_PNETID_IBNAME, TEXT, MUST, 64, "ib", NULL },
	{ SMC_PNETID_IBPORT, U8, MUST, 0, "port", NULL },
	END
};

static const struct rule own_stats[] = {
	{ 2, U64, MUST, 0, "tx_bytes", NULL },
	{ 3, U64, MUST, 0, "rx_bytes", NULL },
	{ 4, U32, MUST, 0, "tx_queue", NULL },
	{ 5, U32, MUST, 0, "rx_queue", NULL },
	{ 6, U64, MUST, 0, "tx_again", NULL },
	{ 7, U32, MUST, 0, "tx_msgs", NULL },
	{ 8, U32, MUST, 0, "rx_msgs", NULL },
	{ 9, U32, MUST, 0, "tx_data_msgs", NULL },
	{ 10, U32, MUST, 0, "rx_data_msgs", NULL },
	/* before the first acknowledgment nobody knows the round trip */
	{ 11, U32, MAY, 0, "rtt", NULL },
	{ 12, U32, MAY, 0, "rtt_var", NULL },
	{ 13, U32, MAY, 0, "rtt_min", NULL },
	{ 14, U64, MUST, 0, "rate", NULL },
	{ 15, U32, MUST, 0, "closed", NULL },
	{ 16, U64, MUST, 0, "closed_usecs", NULL },
	{ 17, U32, MUST, 0, "moves", NULL },
	{ 18, TEXT, MAY, 64, "move_reason", NULL },
	{ 19, U64, MAY, 0, "move_age", NULL },
	{ 20, U32, MUST, 0, "last_sent", NULL },
	{ 21, U32, MUST, 0, "last_received", NULL },
	END
};

static const struct rule top_diag[] = {
	{ SMC_DIAG_CONNINFO, DATA, MAY, sizeof(struct smc_diag_conninfo), "conninfo", NULL },
	{ SMC_DIAG_LGRINFO, DATA, MAY, sizeof(struct smc_diag_lgrinfo), "lgrinfo", NULL },
	{ SMC_DIAG_SHUTDOWN, U8, MUST, 0, "shutdown", NULL },
	{ SMC_DIAG_FALLBACK, DATA, MUST, sizeof(struct smc_diag_fallback), "fallback", NULL },
	{ OWN_DIAG_STATS, NEST, MAY, 0, "stats", own_stats },
	END
};

/**
 * struct command - one command of a family
 * @family: the family
 * @cmd: number
 * @name: name in reports
 * @dump: attributes of each answer; NULL: the answer is success or an error
 * @cmds: command numbers that its answers may carry, one byte each; NULL: its own
 */
static const struct command {
	enum ct_family family;
	u8 cmd;
	const char *name;
	const struct rule *dump;
	const char *cmds;
} commands[] = {
	{ CT_GEN, SMC_NETLINK_GET_SYS_INFO, "sys_info", top_sys, NULL },
	{ CT_GEN, SMC_NETLINK_GET_LGR_SMCR, "lgrs", top_lgr, NULL },
	{ CT_GEN, SMC_NETLINK_GET_LINK_SMCR, "links", top_link, "\2\3" },
	{ CT_GEN, SMC_NETLINK_GET_LGR_SMCD, "smcd_lgrs", none, NULL },
	{ CT_GEN, SMC_NETLINK_GET_DEV_SMCD, "smcd_devs", none, NULL },
	{ CT_GEN, SMC_NETLINK_GET_DEV_SMCR, "devs", top_dev, NULL },
	{ CT_GEN, SMC_NETLINK_GET_STATS, "stats", top_stats, NULL },
	{ CT_GEN, SMC_NETLINK_GET_FBACK_STATS, "fbacks", top_fback, NULL },
	{ CT_GEN, SMC_NETLINK_DUMP_UEID, "ueids", top_ueid, NULL },
	{ CT_GEN, SMC_NETLINK_ADD_UEID, "ueid_add", NULL, NULL },
	{ CT_GEN, SMC_NETLINK_REMOVE_UEID, "ueid_remove", NULL, NULL },
	{ CT_GEN, SMC_NETLINK_FLUSH_UEID, "ueid_flush", NULL, NULL },
	{ CT_GEN, SMC_NETLINK_DUMP_SEID, "seid", top_seid, NULL },
	{ CT_GEN, SMC_NETLINK_ENABLE_SEID, "seid_enable", NULL, NULL },
	{ CT_GEN, SMC_NETLINK_DISABLE_SEID, "seid_disable", NULL, NULL },
	{ CT_GEN, SMC_NETLINK_DUMP_HS_LIMITATION, "limit", top_limit, NULL },
	{ CT_GEN, SMC_NETLINK_ENABLE_HS_LIMITATION, "limit_enable", NULL, NULL },
	{ CT_GEN, SMC_NETLINK_DISABLE_HS_LIMITATION, "limit_disable", NULL, NULL },
	{ CT_PNET, SMC_PNETID_GET, "pnets", top_pnet, NULL },
	{ CT_PNET, SMC_PNETID_ADD, "pnet_add", NULL, NULL },
	{ CT_PNET, SMC_PNETID_DEL, "pnet_del", NULL, NULL },
	{ CT_PNET, SMC_PNETID_FLUSH, "pnet_flush", NULL, NULL },
	{ CT_DIAG, 0, "sockets", top_diag, NULL },
	/* our own commands */
	{ CT_GEN, OWN_ADD_LINK, "link_add", NULL, NULL },
	{ CT_GEN, OWN_DEL_LINK, "link_del", NULL, NULL },
	{ CT_GEN, OWN_DEL_LGR, "lgr_del", NULL, NULL },
	{ CT_GEN, OWN_ADD_RULE, "rule_add", NULL, NULL },
	{ CT_GEN, OWN_DEL_RULE, "rule_del", NULL, NULL },
	{ CT_GEN, OWN_FLUSH_RULES, "rule_flush", NULL, NULL },
	{ CT_GEN, OWN_GET_RULES, "rules", top_rules, NULL },
	{ CT_GEN, OWN_GET_COUNTERS, "counters", top_counters, NULL },
};

static const struct command *command_of(enum ct_family family, u8 cmd)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(commands); i++)
		if (commands[i].family == family && commands[i].cmd == cmd)
			return &commands[i];
	return NULL;
}

/**
 * ct_command_at() - iterate over the commands
 * @i: position
 * @family: result
 * @cmd: result
 *
 * Return: false after the last one.
 */
bool ct_command_at(unsigned int i, enum ct_family *family, u8 *cmd)
{
	if (i >= TL_ARRAY_SIZE(commands))
		return false;
	*family = commands[i].family;
	*cmd = commands[i].cmd;
	return true;
}

/**
 * ct_command() - get the name of a command
 * @family: its family
 * @cmd: number
 * @dumps: result: it returns a list
 *
 * Return: its name, NULL if there is no such command.
 */
const char *ct_command(enum ct_family family, u8 cmd, bool *dumps)
{
	const struct command *c = command_of(family, cmd);

	*dumps = c && c->dump;
	return c ? c->name : NULL;
}

/* ---- showing ---- */

static void show_number(FILE *out, const char *path, const char *name, u32 value)
{
	fprintf(out, "%s.%s num 0 %u\n", path, name, value);
}

static void show_conninfo(FILE *out, const char *path, const void *data)
{
	struct smc_diag_conninfo c;

	memcpy(&c, data, sizeof(c));
	show_number(out, path, "token", !!c.token);
	show_number(out, path, "sndbuf", c.sndbuf_size);
	show_number(out, path, "rmbe", c.rmbe_size);
	show_number(out, path, "peer_rmbe", c.peer_rmbe_size);
	show_number(out, path, "rx_prod.wrap", c.rx_prod.wrap);
	show_number(out, path, "rx_prod", c.rx_prod.count);
	show_number(out, path, "rx_cons", c.rx_cons.count);
	show_number(out, path, "tx_prod", c.tx_prod.count);
	show_number(out, path, "tx_cons", c.tx_cons.count);
	show_number(out, path, "tx_prep", c.tx_prep.count);
	show_number(out, path, "tx_sent", c.tx_sent.count);
	show_number(out, path, "tx_fin", c.tx_fin.count);
	show_number(out, path, "rx_prod_flags", c.rx_prod_flags);
	show_number(out, path, "rx_state_flags", c.rx_conn_state_flags);
	show_number(out, path, "tx_prod_flags", c.tx_prod_flags);
	show_number(out, path, "tx_state_flags", c.tx_conn_state_flags);
}

static void show_lgrinfo(FILE *out, const char *path, const void *data)
{
	struct smc_diag_lgrinfo l;

	memcpy(&l, data, sizeof(l));
	show_number(out, path, "role", l.role);
	show_number(out, path, "link", l.lnk[0].link_id);
	show_number(out, path, "port", l.lnk[0].ibport);
	fprintf(out, "%s.dev text 0 %.*s\n", path, (int)sizeof(l.lnk[0].ibname), l.lnk[0].ibname);
	fprintf(out, "%s.gid text 0 %.*s\n", path, (int)sizeof(l.lnk[0].gid), l.lnk[0].gid);
	fprintf(out, "%s.peer_gid text 0 %.*s\n", path, (int)sizeof(l.lnk[0].peer_gid),
		l.lnk[0].peer_gid);
}

static void show_fallback(FILE *out, const char *path, const void *data)
{
	struct smc_diag_fallback f;

	memcpy(&f, data, sizeof(f));
	show_number(out, path, "reason", f.reason);
	show_number(out, path, "peer_reason", f.peer_diagnosis);
}

/* Fields of every socket; of ports and addresses only whether they are set. */
static void show_diag(FILE *out, const char *path, const struct smc_diag_msg *m)
{
	show_number(out, path, "family", m->diag_family);
	show_number(out, path, "state", m->diag_state);
	show_number(out, path, "mode", m->diag_mode);
	show_number(out, path, "shutdown", m->diag_shutdown);
	show_number(out, path, "uid", m->diag_uid);
	show_number(out, path, "bound_if", m->id.idiag_if);
	show_number(out, path, "src", !!m->id.idiag_src[0]);
	show_number(out, path, "dst", !!m->id.idiag_dst[0]);
	show_number(out, path, "sport", !!m->id.idiag_sport);
	show_number(out, path, "dport", !!m->id.idiag_dport);
}

static const struct {
	const char *name;
	void (*show)(FILE *out, const char *path, const void *data);
} decoders[] = {
	{ "conninfo", show_conninfo }, { "lgrinfo", show_lgrinfo }, { "fallback", show_fallback },
};

/* Print path, type, length and value. The length of a text is not printed. */
static void attr_show(FILE *out, const struct rule *r, const struct nlattr *a, const char *path)
{
	const u8 *p = mnl_attr_get_payload(a);
	u16 len = mnl_attr_get_payload_len(a);
	u64 n = 0;

	fprintf(out, "%s %s %u", path, kind_names[r->kind], r->kind == TEXT ? 0 : len);
	if (r->kind == TEXT) {
		fprintf(out, " %s", (const char *)p);
	} else if (r->kind != DATA) {
		memcpy(&n, p, len);	/* hosts that run this are little-endian */
		fprintf(out, " %llu", n);
	}
	fputc('\n', out);
	for (size_t i = 0; i < TL_ARRAY_SIZE(decoders) && r->kind == DATA; i++)
		if (!strcmp(r->name, decoders[i].name))
			decoders[i].show(out, path, p);
}

/* ---- checking ---- */

static void verdict_fault(struct ct_verdict *v, const char *path, const char *what)
{
	v->wrong++;
	ktap_note("%s: %s", path, what);
}

static bool length_ok(const struct rule *r, const struct nlattr *a)
{
	u16 len = mnl_attr_get_payload_len(a);

	switch (r->kind) {
	case U8:
		return len == 1;
	case U16:
		return len == 2;
	case U32:
		return len == 4;
	case U64:
		return len == 8;
	case UINT:
		return len == 4 || len == 8;
	case TEXT:
		return len && len <= r->max && strnlen(mnl_attr_get_payload(a), len) == len - 1u;
	case NEST:
		return len >= NLA_HDRLEN;
	case DATA:
		return len == r->max;
	}
	return false;
}

static void attrs_check(struct ct_verdict *v, const struct rule *rules, const void *attrs,
			size_t len, const char *above)
{
	const struct nlattr *a = attrs;
	char path[128];
	u64 seen = 0;

	/* as mnl_attr_for_each_payload(), but no byte may be left over */
	for (; mnl_attr_ok(a, len); len -= MNL_ALIGN(a->nla_len), a = mnl_attr_next(a)) {
		u16 type = mnl_attr_get_type(a);
		const struct rule *r = rules;

		while (r->name && r->type != type)
			r++;
		if (!r->name) {
			/* the padding of a u64 has no value; its type is the nest's own */
			if (type < OWN_ATTRS && mnl_attr_get_payload_len(a)) {
				snprintf(path, sizeof(path), "%s.%u", above, type);
				verdict_fault(v, path, "is not in the contract");
			}
			continue;
		}
		snprintf(path, sizeof(path), "%s.%s", above, r->name);
		if (seen & 1ULL << (r - rules))
			verdict_fault(v, path, "is duplicate");
		seen |= 1ULL << (r - rules);
		if (!length_ok(r, a))
			verdict_fault(v, path, "has a wrong length");
		else if (r->kind == NEST)
			attrs_check(v, r->sub, mnl_attr_get_payload(a), mnl_attr_get_payload_len(a),
				    path);
		else if (v->out)
			attr_show(v->out, r, a, path);
		if ((size_t)MNL_ALIGN(a->nla_len) > len) {
			len = a->nla_len;
			verdict_fault(v, path, "ends beyond what is around it");
			break;
		}
	}
	if (len)
		verdict_fault(v, above, "has bytes that are no attribute");
	for (const struct rule *r = rules; r->name; r++) {
		if (r->must && !(seen & 1ULL << (r - rules))) {
			snprintf(path, sizeof(path), "%s.%s", above, r->name);
			verdict_fault(v, path, "is missing");
		}
	}
}

static bool family_head(struct ct_verdict *v, const struct command *c, const struct nlmsghdr *nlh,
			size_t *head)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct smc_diag_msg *diag = mnl_nlmsg_get_payload(nlh);

	*head = v->family == CT_DIAG ? sizeof(*diag) : GENL_HDRLEN;
	if (mnl_nlmsg_get_payload_len(nlh) < *head)
		return false;
	if (v->family == CT_DIAG)
		return (diag->diag_family == AF_SMC || diag->diag_family == AF_INET ||
			diag->diag_family == AF_INET6) && diag->diag_mode <= SMC_DIAG_MODE_SMCD;
	return genl->version == 1 &&
	       (c->cmds ? !!strchr(c->cmds, genl->cmd) : genl->cmd == c->cmd);
}

/**
 * ct_check() - check an answer against the table
 * @nlh: answer
 * @arg: struct ct_verdict
 */
void ct_check(const struct nlmsghdr *nlh, void *arg)
{
	struct ct_verdict *v = arg;
	const struct command *c = command_of(v->family, v->cmd);
	size_t head;

	v->answers++;
	if (!c || !c->dump) {
		verdict_fault(v, c ? c->name : "an unknown command", "has an answer");
		return;
	}
	if (!family_head(v, c, nlh, &head)) {
		verdict_fault(v, c->name, "an answer has a wrong header");
		return;
	}
	if (v->family == CT_DIAG && v->out)
		show_diag(v->out, c->name, mnl_nlmsg_get_payload(nlh));
	attrs_check(v, c->dump, mnl_nlmsg_get_payload_offset(nlh, head),
		    mnl_nlmsg_get_payload_len(nlh) - MNL_ALIGN(head), c->name);
}
