// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: AF_SMC sockets, from sock_diag.
 */
#include "smcctl.h"
#include <smc/proto/clc_msg.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/smc_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAMILY_SMC 43
#define EXT(attr) (1 << ((attr) - 1))

/* diag_state: 1 to 12 as in <net/tcp_states.h>, 20 and above specific to SMC */
enum {
	STATE_ACTIVE = 1,
	STATE_INIT = 2,
	STATE_CLOSED = 7,
	STATE_LISTEN = 10,
};

struct sock_dump {
	const struct ctl_opts *opts;
	struct json_object *socks;
};

static const char *state_name(unsigned int state)
{
	switch (state) {
	case STATE_ACTIVE:
		return "ACTIVE";
	case STATE_INIT:
		return "INIT";
	case STATE_CLOSED:
		return "CLOSED";
	case STATE_LISTEN:
		return "LISTEN";
	case 20:
		return "PEERCLOSEWAIT1";
	case 21:
		return "PEERCLOSEWAIT2";
	case 22:
		return "APPCLOSEWAIT1";
	case 23:
		return "APPCLOSEWAIT2";
	case 24:
		return "APPFINCLOSEWAIT";
	case 25:
		return "PEERFINCLOSEWAIT";
	case 26:
		return "PEERABORTWAIT";
	case 27:
		return "PROCESSABORT";
	}
	return "unknown";
}

static const char *mode_name(unsigned int mode)
{
	switch (mode) {
	case SMC_DIAG_MODE_SMCR:
		return "SMCR";
	case SMC_DIAG_MODE_FALLBACK_TCP:
		return "TCP";
	case SMC_DIAG_MODE_SMCD:
		return "SMCD";
	}
	return "unknown";
}

/* Copy at most @size bytes. If the structure of the kernel is shorter, the rest is zero. */
static bool attr_copy(void *to, size_t size, const struct nlattr *attr)
{
	size_t len;

	memset(to, 0, size);
	if (!attr)
		return false;
	len = mnl_attr_get_payload_len(attr);
	memcpy(to, mnl_attr_get_payload(attr), len < size ? len : size);
	return true;
}

static bool addr_is_ipv6(const __be32 *addr)
{
	return addr[1] || addr[2] || addr[3];
}

static void sock_add_addr(struct json_object *obj, const char *name, const __be32 *addr,
			  bool ipv6, __be16 port)
{
	char ip[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 16], key[32];

	inet_ntop(ipv6 ? AF_INET6 : AF_INET, addr, ip, sizeof(ip));
	snprintf(key, sizeof(key), "%s_addr", name);
	ctl_json_add_str(obj, key, ip);
	snprintf(key, sizeof(key), "%s_port", name);
	ctl_json_add_u64(obj, key, ntohs(port));
	snprintf(text, sizeof(text), ipv6 ? "[%s]:%u" : "%s:%u", ip, ntohs(port));
	ctl_json_add_str(obj, name, text);
}

static void conn_add_cursor(struct json_object *obj, const char *key, struct smc_diag_cursor cursor)
{
	struct json_object *inner = json_object_new_object();

	ctl_json_add_u64(inner, "wrap", cursor.wrap);
	ctl_json_add_u64(inner, "count", cursor.count);
	json_object_object_add(obj, key, inner);
}

static void conn_add_flags(struct json_object *obj, const char *key, __u8 flags)
{
	char text[8];

	snprintf(text, sizeof(text), "0x%02x", flags);
	ctl_json_add_str(obj, key, text);
}

static void sock_add_conn(struct json_object *sock, const struct nlattr *attr)
{
	struct smc_diag_conninfo info;
	struct json_object *obj;

	if (!attr_copy(&info, sizeof(info), attr))
		return;
	obj = json_object_new_object();
	json_object_object_add(sock, "connection", obj);
	ctl_json_add_hex32(obj, "token", info.token);
	ctl_json_add_u64(obj, "sndbuf_size", info.sndbuf_size);
	ctl_json_add_u64(obj, "rmbe_size", info.rmbe_size);
	ctl_json_add_u64(obj, "peer_rmbe_size", info.peer_rmbe_size);
	conn_add_cursor(obj, "rx_prod", info.rx_prod);
	conn_add_cursor(obj, "rx_cons", info.rx_cons);
	conn_add_cursor(obj, "tx_prod", info.tx_prod);
	conn_add_cursor(obj, "tx_cons", info.tx_cons);
	conn_add_cursor(obj, "tx_prep", info.tx_prep);
	conn_add_cursor(obj, "tx_sent", info.tx_sent);
	conn_add_cursor(obj, "tx_fin", info.tx_fin);
	conn_add_flags(obj, "rx_prod_flags", info.rx_prod_flags);
	conn_add_flags(obj, "rx_conn_state_flags", info.rx_conn_state_flags);
	conn_add_flags(obj, "tx_prod_flags", info.tx_prod_flags);
	conn_add_flags(obj, "tx_conn_state_flags", info.tx_conn_state_flags);
}

static void sock_add_link(struct json_object *sock, const struct nlattr *attr, char *detail,
			  size_t size)
{
	struct smc_diag_lgrinfo info;
	struct json_object *obj;
	char name[64];

	if (!attr_copy(&info, sizeof(info), attr))
		return;
	obj = json_object_new_object();
	json_object_object_add(sock, "link", obj);
	ctl_json_add_str(obj, "role", info.role ? "server" : "client");
	ctl_json_add_u64(obj, "id", info.lnk[0].link_id);
	ctl_str_clean(name, sizeof(name), info.lnk[0].ibname, sizeof(info.lnk[0].ibname));
	ctl_json_add_str(obj, "device", name);
	ctl_json_add_u64(obj, "port", info.lnk[0].ibport);
	snprintf(detail, size, "%s, link %u on %.40s port %u", info.role ? "server" : "client",
		 info.lnk[0].link_id, name, info.lnk[0].ibport);
	ctl_str_clean(name, sizeof(name), info.lnk[0].gid, sizeof(info.lnk[0].gid));
	ctl_json_add_gid(obj, "gid", name);
	ctl_str_clean(name, sizeof(name), info.lnk[0].peer_gid, sizeof(info.lnk[0].peer_gid));
	ctl_json_add_gid(obj, "peer_gid", name);
}

/*
 * The detail has the reason that decided: that of the peer if this side has none but that the peer
 * declined.
 */
static void sock_add_fallback(struct json_object *sock, const struct nlattr *attr, char *detail,
			      size_t size)
{
	struct smc_diag_fallback fb;
	struct json_object *obj;

	if (!attr_copy(&fb, sizeof(fb), attr))
		return;
	obj = json_object_new_object();
	json_object_object_add(sock, "fallback", obj);
	ctl_json_add_reason(obj, "reason", fb.reason);
	ctl_json_add_reason(obj, "peer_reason", fb.peer_diagnosis);
	if (fb.peer_diagnosis && fb.reason == SMC_CLC_DECL_PEER)
		snprintf(detail, size, "peer: %s (%s)", ctl_json_text(obj, "peer_reason_text"),
			 ctl_json_text(obj, "peer_reason"));
	else
		snprintf(detail, size, "%s (%s)", ctl_json_text(obj, "reason_text"),
			 ctl_json_text(obj, "reason"));
}

/* TCP, but no fallback. */
static void sock_add_deferred(struct json_object *sock, char *detail, size_t size)
{
	json_object_object_add(sock, "deferred", json_object_new_boolean(true));
	snprintf(detail, size, "deferred: may change over to SMC-R");
}

static void sock_add_identity(struct json_object *obj, const struct smc_diag_msg *msg)
{
	bool ipv6 = addr_is_ipv6(msg->id.idiag_src) || addr_is_ipv6(msg->id.idiag_dst);

	ctl_json_add_str(obj, "state", state_name(msg->diag_state));
	ctl_json_add_str(obj, "mode", mode_name(msg->diag_mode));
	sock_add_addr(obj, "local", msg->id.idiag_src, ipv6, msg->id.idiag_sport);
	sock_add_addr(obj, "peer", msg->id.idiag_dst, ipv6, msg->id.idiag_dport);
	if (msg->id.idiag_if)
		ctl_json_add_netdev(obj, "netdev", msg->id.idiag_if);
	ctl_json_add_u64(obj, "ifindex", msg->id.idiag_if);
	ctl_json_add_u64(obj, "uid", msg->diag_uid);
	ctl_json_add_u64(obj, "inode", msg->diag_inode);
}

static bool addr_matches(const struct ctl_prefix *prefix, const __be32 *addr, bool ipv6)
{
	struct in6_addr in6 = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	if (!prefix)
		return true;
	if (ipv6)
		memcpy(&in6, addr, sizeof(in6));
	else
		memcpy(&in6.s6_addr[12], addr, sizeof(*addr));
	return ctl_prefix_contains(prefix, &in6);
}

static bool sock_is_wanted(const struct ctl_opts *opts, const struct smc_diag_msg *msg)
{
	bool ipv6 = addr_is_ipv6(msg->id.idiag_src) || addr_is_ipv6(msg->id.idiag_dst);
	int local = ntohs(msg->id.idiag_sport), peer = ntohs(msg->id.idiag_dport);

	if (opts->listening ? msg->diag_state != STATE_LISTEN : !opts->all &&
	    (msg->diag_state == STATE_INIT || msg->diag_state == STATE_LISTEN))
		return false;
	return (opts->port < 0 || opts->port == local || opts->port == peer) &&
	       (opts->local_port < 0 || opts->local_port == local) &&
	       (opts->peer_port < 0 || opts->peer_port == peer) &&
	       (!opts->inode || opts->inode == msg->diag_inode) &&
	       addr_matches(opts->local, msg->id.idiag_src, ipv6) &&
	       addr_matches(opts->peer, msg->id.idiag_dst, ipv6);
}

/* Keep the kernel's identifier of a socket, for ctl_sock_kill(). */
static void sock_keep_id(struct json_object *obj, const struct inet_diag_sockid *id)
{
	struct inet_diag_sockid *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	*copy = *id;
	json_object_set_userdata(obj, copy, json_object_free_userdata);
}

static int sock_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_DIAG_MAX + 1] = { NULL };
	const struct nlattr *attr, *stats = NULL, *deferred = NULL;
	struct sock_dump *dump = data;
	struct json_object *obj;
	struct smc_diag_msg msg;
	char detail[256] = "";
	__u64 val;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(msg)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	memcpy(&msg, mnl_nlmsg_get_payload(nlh), sizeof(msg));
	if (!sock_is_wanted(dump->opts, &msg))
		return MNL_CB_OK;
	mnl_attr_for_each(attr, nlh, sizeof(msg)) {
		if (mnl_attr_get_type(attr) <= SMC_DIAG_MAX)
			tb[mnl_attr_get_type(attr)] = attr;
		else if (mnl_attr_get_type(attr) == SMC_DIAG_OWN_STATS)
			stats = attr;
		else if (mnl_attr_get_type(attr) == SMC_DIAG_OWN_DEFERRED)
			deferred = attr;
	}
	obj = json_object_new_object();
	json_object_array_add(dump->socks, obj);
	sock_keep_id(obj, &msg.id);
	sock_add_identity(obj, &msg);
	if (ctl_nla_get_uint(tb[SMC_DIAG_SHUTDOWN], &val))
		ctl_json_add_u64(obj, "shutdown", val);
	if (deferred)
		sock_add_deferred(obj, detail, sizeof(detail));
	else if (msg.diag_mode == SMC_DIAG_MODE_FALLBACK_TCP)
		sock_add_fallback(obj, tb[SMC_DIAG_FALLBACK], detail, sizeof(detail));
	sock_add_link(obj, tb[SMC_DIAG_LGRINFO], detail, sizeof(detail));
	sock_add_conn(obj, tb[SMC_DIAG_CONNINFO]);
	ctl_sock_add_stats(obj, stats);
	ctl_json_add_str(obj, "detail", detail);
	return MNL_CB_OK;
}

static void socks_print_verbose(struct json_object *socks)
{
	static const struct ctl_column cols[] = {
		{ "STATE", "state" }, { "MODE", "mode" }, { "LOCAL", "local" },
		{ "PEER", "peer" },
	};
	size_t i;

	ctl_list_note(socks);
	for (i = 0; i < json_object_array_length(socks); i++) {
		struct json_object *sock = json_object_array_get_idx(socks, i);
		size_t c;

		ctl_row_print(sock, cols, ARRAY_SIZE(cols));
		/* printed in the line above */
		for (c = 0; c < ARRAY_SIZE(cols); c++)
			json_object_object_del(sock, cols[c].key);
		json_object_object_del(sock, "who");
		ctl_fields_print(sock, 2);
	}
}

static void socks_print(const struct ctl_opts *opts, struct json_object *socks)
{
	static const struct ctl_column cols[] = {
		{ "STATE", "state" }, { "LOCAL", "local" }, { "PEER", "peer" },
		{ "MODE", "mode" }, { "DETAIL", "detail" },
	};
	static const struct ctl_column process_cols[] = {
		{ "STATE", "state" }, { "LOCAL", "local" }, { "PEER", "peer" },
		{ "MODE", "mode" }, { "UID", "uid" }, { "INODE", "inode" },
		{ "PROCESSES", "who" },
	};

	if (opts->json)
		ctl_json_print(socks);
	else if (opts->verbose)
		socks_print_verbose(socks);
	else if (opts->stats)
		ctl_sock_stats_print(socks);
	else if (opts->processes)
		ctl_table_print(socks, process_cols, ARRAY_SIZE(process_cols));
	else
		ctl_table_print(socks, cols, ARRAY_SIZE(cols));
}

/**
 * ctl_sock_read() - read AF_SMC sockets
 * @opts: conditions that the sockets meet
 * @socks: array, sockets are appended; each has its struct inet_diag_sockid as user data
 *
 * Return: exit status; an error message was printed for a failure.
 */
int ctl_sock_read(const struct ctl_opts *opts, struct json_object *socks)
{
	struct smc_diag_req req = {
		.diag_family = FAMILY_SMC,
		.diag_ext = EXT(SMC_DIAG_CONNINFO) | EXT(SMC_DIAG_LGRINFO) |
			    EXT(SMC_DIAG_SHUTDOWN) | EXT(SMC_DIAG_FALLBACK) |
			    (opts->stats ? SMC_DIAG_OWN_EXT : 0),
	};
	struct sock_dump dump = { .opts = opts, .socks = socks };
	int err = ctl_diag_run(&req, sizeof(req), sock_cb, &dump);

	if (err == ENOENT)
		ctl_error("this kernel cannot list SMC sockets: load smc_diag (modprobe smc_diag)");
	else if (err == EINTR)
		ctl_error("the list of sockets changed while it was read: try again");
	else if (err)
		ctl_error("the list of sockets: %s", strerror(err));
	return err ? CTL_FAILURE : CTL_OK;
}

/**
 * struct filter - conditions on sockets
 * @opts: command line, completed by the conditions
 * @local: prefix of the local address
 * @peer: prefix of the peer's address
 */
struct filter {
	struct ctl_opts opts;
	struct ctl_prefix local;
	struct ctl_prefix peer;
};

static bool port_parse(int *port, const char *text)
{
	__u32 val;

	if (*port >= 0 || !ctl_num_parse(text, 10, 0, 65535, &val))
		return false;
	*port = (int)val;
	return true;
}

/* Parse one condition. Return false if it is invalid or given twice. */
static bool filter_parse_condition(struct filter *f, const char *abbreviated, const char *value)
{
	char word[16];

	if (!ctl_word_complete(abbreviated, "inode local peer port local-port peer-port", word,
			       sizeof(word)))
		return false;
	if (!strcmp(word, "port"))
		return port_parse(&f->opts.port, value);
	if (!strcmp(word, "local-port"))
		return port_parse(&f->opts.local_port, value);
	if (!strcmp(word, "peer-port"))
		return port_parse(&f->opts.peer_port, value);
	if (!strcmp(word, "inode"))
		return !f->opts.inode && ctl_num_parse(value, 10, 1, 0xffffffff, &f->opts.inode);
	if (!strcmp(word, "local") && !f->opts.local) {
		f->opts.local = &f->local;
		return ctl_prefix_parse(value, &f->local);
	}
	if (!strcmp(word, "peer") && !f->opts.peer) {
		f->opts.peer = &f->peer;
		return ctl_prefix_parse(value, &f->peer);
	}
	return false;
}

static bool filter_is_set(const struct ctl_opts *opts)
{
	return opts->inode || opts->local || opts->peer || opts->port >= 0 ||
	       opts->local_port >= 0 || opts->peer_port >= 0;
}

static int socks_run(const struct ctl_opts *opts, bool kill)
{
	struct json_object *socks = json_object_new_array(), *ended = json_object_new_array();
	int rc = ctl_sock_read(opts, socks);
	bool known = rc == CTL_OK;

	/* while they exist */
	if (known && opts->processes)
		ctl_processes_find(socks);
	if (known && kill)
		rc = ctl_sock_kill(socks, ended);
	/* after a failure, print the sockets that were ended before it */
	if (known && (rc == CTL_OK || json_object_array_length(ended)))
		socks_print(opts, kill ? ended : socks);
	json_object_put(socks);
	json_object_put(ended);
	return rc;
}

/**
 * cmd_sock() - smcctl sock [show | kill] [CONDITION VALUE]...
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_sock(const struct ctl_opts *opts, int argc, char **argv)
{
	bool kill = argc && !strcmp(argv[0], "kill");
	struct filter filter = { .opts = *opts };
	int i = argc && (kill || !strcmp(argv[0], "show"));

	for (; i < argc; i += 2) {
		if (i + 1 < argc && filter_parse_condition(&filter, argv[i], argv[i + 1]))
			continue;
		ctl_error("sock is followed by: show or kill, and each once: %s",
			  "inode N, local|peer PREFIX, port|local-port|peer-port PORT");
		return CTL_USAGE;
	}
	if (kill && !filter_is_set(&filter.opts)) {
		ctl_error("sock kill needs a condition: %s",
			  "inode, local, peer, port, local-port or peer-port");
		return CTL_USAGE;
	}
	return socks_run(&filter.opts, kill);
}
