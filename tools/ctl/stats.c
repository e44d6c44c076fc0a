// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: statistics of connections and of fallbacks.
 */
#include "smcctl.h"

#include <errno.h>
#include <linux/smc.h>
#include <stdio.h>
#include <string.h>

struct counter {
	int attr;
	const char *key;
};

static const struct counter tech_counters[] = {
	{ SMC_NLA_STATS_T_CLNT_V1_SUCC, "client_v1_connections" },
	{ SMC_NLA_STATS_T_CLNT_V2_SUCC, "client_v2_connections" },
	{ SMC_NLA_STATS_T_SRV_V1_SUCC, "server_v1_connections" },
	{ SMC_NLA_STATS_T_SRV_V2_SUCC, "server_v2_connections" },
	{ SMC_NLA_STATS_T_RX_BYTES, "rx_bytes" },
	{ SMC_NLA_STATS_T_TX_BYTES, "tx_bytes" },
	{ SMC_NLA_STATS_T_RX_CNT, "rx_requests" },
	{ SMC_NLA_STATS_T_TX_CNT, "tx_requests" },
	{ SMC_NLA_STATS_T_SENDPAGE_CNT, "sendpage_requests" },
	{ SMC_NLA_STATS_T_SPLICE_CNT, "splice_requests" },
	{ SMC_NLA_STATS_T_CORK_CNT, "cork_changes" },
	{ SMC_NLA_STATS_T_NDLY_CNT, "nodelay_changes" },
	{ SMC_NLA_STATS_T_URG_DATA_CNT, "urgent_requests" },
	{ CTL_STATS_T_RX_RMB_USAGE, "rx_buffer_bytes" },
	{ CTL_STATS_T_TX_RMB_USAGE, "tx_buffer_bytes" },
};

static const struct counter buffer_counters[] = {
	{ SMC_NLA_STATS_RMB_SIZE_SM_PEER_CNT, "peer_too_small" },
	{ SMC_NLA_STATS_RMB_SIZE_SM_CNT, "too_small" },
	{ SMC_NLA_STATS_RMB_FULL_PEER_CNT, "peer_full" },
	{ SMC_NLA_STATS_RMB_FULL_CNT, "full" },
	{ SMC_NLA_STATS_RMB_REUSE_CNT, "reused" },
	{ SMC_NLA_STATS_RMB_ALLOC_CNT, "allocated" },
	{ SMC_NLA_STATS_RMB_DGRADE_CNT, "downgraded" },
};

static const struct counter size_counters[] = {
	{ SMC_NLA_STATS_PLOAD_8K, "up_to_8k" },
	{ SMC_NLA_STATS_PLOAD_16K, "up_to_16k" },
	{ SMC_NLA_STATS_PLOAD_32K, "up_to_32k" },
	{ SMC_NLA_STATS_PLOAD_64K, "up_to_64k" },
	{ SMC_NLA_STATS_PLOAD_128K, "up_to_128k" },
	{ SMC_NLA_STATS_PLOAD_256K, "up_to_256k" },
	{ SMC_NLA_STATS_PLOAD_512K, "up_to_512k" },
	{ SMC_NLA_STATS_PLOAD_1024K, "up_to_1m" },
	{ SMC_NLA_STATS_PLOAD_G_1024K, "above_1m" },
};

static const struct counter clc_counters[] = {
	{ 1, "proposal" }, { 2, "accept" }, { 3, "confirm" }, { 4, "decline" },
};

static const struct counter llc_counters[] = {
	{ 1, "confirm_link" }, { 2, "add_link" }, { 3, "add_link_continuation" },
	{ 4, "delete_link" }, { 5, "request_add_link" }, { 6, "confirm_rkey" },
	{ 7, "test_link" }, { 8, "confirm_rkey_continuation" }, { 9, "delete_rkey" },
	{ 10, "capabilities" },
};

/* Handshakes by time; the last counter has those that took longer. */
static const struct counter time_counters[] = {
	{ 1, "up_to_64_us" }, { 2, "up_to_128_us" }, { 3, "up_to_256_us" },
	{ 4, "up_to_512_us" }, { 5, "up_to_1024_us" }, { 6, "up_to_2048_us" },
	{ 7, "up_to_4096_us" }, { 8, "up_to_8192_us" }, { 9, "up_to_16384_us" },
	{ 10, "up_to_32768_us" }, { 11, "up_to_65536_us" }, { 12, "up_to_131072_us" },
	{ 13, "up_to_262144_us" }, { 14, "up_to_524288_us" }, { 15, "up_to_1048576_us" },
	{ 16, "above_1048576_us" },
};

static const struct counter memory_counters[] = {
	{ 1, "send_bytes" }, { 2, "rmb_used_bytes" }, { 3, "rmb_pooled_bytes" },
	{ 4, "rmb_quarantined_bytes" },
};

/* Tables of this module, which the in-tree one lacks */
static const struct {
	int attr;
	const char *key;
	const struct counter *counters;
	unsigned int num;
} own_tables[] = {
	{ SMC_NETLINK_STATS_OWN_CLC_TX, "clc_sent", clc_counters, ARRAY_SIZE(clc_counters) },
	{ SMC_NETLINK_STATS_OWN_CLC_RX, "clc_received", clc_counters, ARRAY_SIZE(clc_counters) },
	{ SMC_NETLINK_STATS_OWN_LLC_TX, "llc_sent", llc_counters, ARRAY_SIZE(llc_counters) },
	{ SMC_NETLINK_STATS_OWN_LLC_RX, "llc_received", llc_counters, ARRAY_SIZE(llc_counters) },
	{ SMC_NETLINK_STATS_OWN_HS_CLNT, "client_handshake_times", time_counters,
	  ARRAY_SIZE(time_counters) },
	{ SMC_NETLINK_STATS_OWN_HS_SRV, "server_handshake_times", time_counters,
	  ARRAY_SIZE(time_counters) },
	{ SMC_NETLINK_STATS_OWN_MEM_NOW, "memory", memory_counters, ARRAY_SIZE(memory_counters) },
	{ SMC_NETLINK_STATS_OWN_MEM_PEAK, "memory_peak", memory_counters,
	  ARRAY_SIZE(memory_counters) },
};

static void counters_copy(struct json_object *obj, const struct nlattr **tb,
			  const struct counter *counters, size_t num)
{
	size_t i;

	for (i = 0; i < num; i++)
		ctl_json_copy_uint(obj, counters[i].key, tb[counters[i].attr]);
}

/* Add a table of counters, if there is one. */
static void stats_add_table(struct json_object *obj, const char *key, const struct nlattr *nest,
			    unsigned int max, const struct counter *counters, size_t num)
{
	const struct nlattr *tb[SMC_NLA_STATS_PLOAD_MAX + SMC_NLA_STATS_RMB_MAX + 1];
	struct json_object *inner;

	if (!nest)
		return;
	inner = json_object_new_object();
	json_object_object_add(obj, key, inner);
	ctl_nla_parse_nested(nest, tb, max);
	counters_copy(inner, tb, counters, num);
}

static void stats_add_tech(struct json_object *stats, const char *key, const struct nlattr *nest)
{
	const struct nlattr *tb[CTL_STATS_T_MAX + 1];
	struct json_object *obj;

	if (!nest)
		return;
	obj = json_object_new_object();
	json_object_object_add(stats, key, obj);
	ctl_nla_parse_nested(nest, tb, CTL_STATS_T_MAX);
	counters_copy(obj, tb, tech_counters, ARRAY_SIZE(tech_counters));
	stats_add_table(obj, "rx_buffers", tb[SMC_NLA_STATS_T_RX_RMB_STATS], SMC_NLA_STATS_RMB_MAX,
			buffer_counters, ARRAY_SIZE(buffer_counters));
	stats_add_table(obj, "tx_buffers", tb[SMC_NLA_STATS_T_TX_RMB_STATS], SMC_NLA_STATS_RMB_MAX,
			buffer_counters, ARRAY_SIZE(buffer_counters));
	stats_add_table(obj, "rx_buffer_sizes", tb[SMC_NLA_STATS_T_RX_RMB_SIZE],
			SMC_NLA_STATS_PLOAD_MAX, size_counters, ARRAY_SIZE(size_counters));
	stats_add_table(obj, "tx_buffer_sizes", tb[SMC_NLA_STATS_T_TX_RMB_SIZE],
			SMC_NLA_STATS_PLOAD_MAX, size_counters, ARRAY_SIZE(size_counters));
	stats_add_table(obj, "rx_request_sizes", tb[SMC_NLA_STATS_T_RXPLOAD_SIZE],
			SMC_NLA_STATS_PLOAD_MAX, size_counters, ARRAY_SIZE(size_counters));
	stats_add_table(obj, "tx_request_sizes", tb[SMC_NLA_STATS_T_TXPLOAD_SIZE],
			SMC_NLA_STATS_PLOAD_MAX, size_counters, ARRAY_SIZE(size_counters));
}

static int stats_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *top[SMC_GEN_MAX + 1], *tb[SMC_NETLINK_STATS_OWN_MAX + 1];
	size_t i;

	ctl_nla_parse_genl(nlh, top, SMC_GEN_MAX);
	ctl_nla_parse_nested(top[SMC_GEN_STATS], tb, SMC_NETLINK_STATS_OWN_MAX);
	ctl_json_copy_uint(data, "client_handshake_errors", tb[SMC_NLA_STATS_CLNT_HS_ERR_CNT]);
	ctl_json_copy_uint(data, "server_handshake_errors", tb[SMC_NLA_STATS_SRV_HS_ERR_CNT]);
	stats_add_tech(data, "smcr", tb[SMC_NLA_STATS_SMCR_TECH]);
	stats_add_tech(data, "smcd", tb[SMC_NLA_STATS_SMCD_TECH]);
	for (i = 0; i < ARRAY_SIZE(own_tables); i++)
		stats_add_table(data, own_tables[i].key, tb[own_tables[i].attr], own_tables[i].num,
				own_tables[i].counters, own_tables[i].num);
	return MNL_CB_OK;
}

/*
 * Only the message of the first reason has the two totals. The in-tree module has no own count, and
 * its 16 bits wrap.
 */
static int fallback_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *top[SMC_GEN_MAX + 1], *tb[SMC_NETLINK_FBACK_STATS_OWN_MAX + 1];
	struct json_object *reasons = NULL, *obj;
	__u64 side, code, count;

	ctl_nla_parse_genl(nlh, top, SMC_GEN_MAX);
	ctl_nla_parse_nested(top[SMC_GEN_FBACK_STATS], tb, SMC_NETLINK_FBACK_STATS_OWN_MAX);
	ctl_json_copy_uint(data, "client", tb[SMC_NLA_FBACK_STATS_CLNT_CNT]);
	ctl_json_copy_uint(data, "server", tb[SMC_NLA_FBACK_STATS_SRV_CNT]);
	if (!ctl_nla_get_uint(tb[SMC_NLA_FBACK_STATS_RSN_CODE], &code) ||
	    (!ctl_nla_get_uint(tb[SMC_NETLINK_FBACK_STATS_OWN_COUNT], &count) &&
	     !ctl_nla_get_uint(tb[SMC_NLA_FBACK_STATS_RSN_CNT], &count)) ||
	    !ctl_nla_get_uint(tb[SMC_NLA_FBACK_STATS_TYPE], &side))
		return MNL_CB_OK;
	if (!json_object_object_get_ex(data, "reasons", &reasons))
		return MNL_CB_ERROR;
	obj = json_object_new_object();
	ctl_json_add_str(obj, "side", side ? "server" : "client");
	ctl_json_add_reason(obj, "reason", (__u32)code);
	ctl_json_add_u64(obj, "count", count);
	json_object_array_add(reasons, obj);
	return MNL_CB_OK;
}

/* The in-tree module lacks these counters: then there is no such member. */
static int counter_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_NETLINK_COUNTER_MAX + 1];
	struct json_object *counters = NULL;
	__u64 val;

	ctl_nla_parse_genl(nlh, tb, SMC_NETLINK_COUNTER_MAX);
	if (!tb[SMC_NETLINK_COUNTER_NAME] ||
	    mnl_attr_validate(tb[SMC_NETLINK_COUNTER_NAME], MNL_TYPE_NUL_STRING) < 0 ||
	    !ctl_nla_get_uint(tb[SMC_NETLINK_COUNTER_VALUE], &val))
		return MNL_CB_OK;
	if (!json_object_object_get_ex(data, "counters", &counters)) {
		counters = json_object_new_object();
		json_object_object_add(data, "counters", counters);
	}
	ctl_json_add_u64(counters, mnl_attr_get_str(tb[SMC_NETLINK_COUNTER_NAME]), val);
	return MNL_CB_OK;
}

static bool json_is_zero(struct json_object *obj)
{
	json_object_object_foreach(obj, key, val) {
		(void)key;
		if (json_object_is_type(val, json_type_object) ? !json_is_zero(val) :
		    json_object_get_int64(val) != 0)
			return false;
	}
	return true;
}

/* Print the statistics as text; omit SMC-D, which few machines have, if it is all zero. */
static void stats_print(struct json_object *stats)
{
	static const struct ctl_column cols[] = {
		{ "SIDE", "side" }, { "COUNT", "count" }, { "REASON", "reason" },
		{ "MEANING", "reason_text" },
	};
	struct json_object *part = NULL, *fallbacks = NULL, *reasons = NULL;

	if (json_object_object_get_ex(stats, "smcd", &part) && json_is_zero(part))
		json_object_object_del(stats, "smcd");
	/* fallbacks last: most users look for these */
	fallbacks = json_object_get(json_object_object_get(stats, "fallbacks"));
	json_object_object_del(stats, "fallbacks");
	ctl_fields_print(stats, 0);
	reasons = json_object_get(json_object_object_get(fallbacks, "reasons"));
	json_object_object_del(fallbacks, "reasons");
	printf("fallbacks:\n");
	ctl_fields_print(fallbacks, 2);
	if (json_object_array_length(reasons)) {
		ctl_table_print_indented(reasons, cols, ARRAY_SIZE(cols), 2);
		printf("  (smcctl reason CODE shows what to do)\n");
	}
	json_object_put(reasons);
	json_object_put(fallbacks);
}

/**
 * ctl_stats_read() - read all statistics
 *
 * Return: an object that the caller releases with json_object_put(); NULL after an error message.
 */
struct json_object *ctl_stats_read(void)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_STATS, .what = "statistics", .dump = true,
	};
	static const struct ctl_genl_req fb_req = {
		.cmd = SMC_NETLINK_GET_FBACK_STATS, .what = "statistics of fallbacks", .dump = true,
	};
	static const struct ctl_genl_req own_req = {
		.cmd = SMC_NETLINK_OWN_GET_COUNTERS, .what = "the counters", .dump = true,
	};
	struct json_object *stats = json_object_new_object();
	struct json_object *fallback = json_object_new_object();
	const struct ctl_genl_req *failed = &req;
	int err;

	/* the kernel sends no message if nothing fell back */
	json_object_object_add(stats, "fallbacks", fallback);
	ctl_json_add_u64(fallback, "client", 0);
	ctl_json_add_u64(fallback, "server", 0);
	json_object_object_add(fallback, "reasons", json_object_new_array());
	err = ctl_genl_run(&req, stats_cb, stats);
	if (!err) {
		failed = &fb_req;
		err = ctl_genl_run(&fb_req, fallback_cb, fallback);
	}
	if (!err) {
		failed = &own_req;
		err = ctl_genl_run(&own_req, counter_cb, stats);
		if (err == EOPNOTSUPP)
			err = 0;
	}
	if (!err)
		return stats;
	ctl_genl_print_error(failed, err);
	json_object_put(stats);
	return NULL;
}

/**
 * cmd_stats() - smcctl stats
 * @opts: command line
 *
 * Return: exit status.
 */
int cmd_stats(const struct ctl_opts *opts)
{
	struct json_object *stats = ctl_stats_read();

	if (!stats)
		return CTL_FAILURE;
	if (opts->json)
		ctl_json_print(stats);
	else
		stats_print(stats);
	json_object_put(stats);
	return CTL_OK;
}
