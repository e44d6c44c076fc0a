/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smcctl: what its files share.
 *
 * Each command reads netlink messages into JSON objects; these are printed as they are or, by
 * a list of columns, as a table. So both forms always show the same facts.
 */
#ifndef SMC_TOOLS_SMCCTL_H
#define SMC_TOOLS_SMCCTL_H

#include "smc_tools.h"

#include <json-c/json.h>
#include <libmnl/libmnl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <uapi/linux/smc_own.h>

/* Attributes that came with Linux 6.12 and that older headers lack */
#define CTL_LGR_R_SNDBUF_ALLOC	12
#define CTL_LGR_R_RMB_ALLOC	13
#define CTL_LGR_R_V2_MAX_CONNS	2
#define CTL_LGR_R_V2_MAX_LINKS	3
#define CTL_LGR_R_V2_MAX	3
#define CTL_STATS_T_RX_RMB_USAGE	20
#define CTL_STATS_T_TX_RMB_USAGE	21
#define CTL_STATS_T_MAX		21

enum {
	CTL_OK = 0,
	CTL_FAILURE = 1,
	CTL_USAGE = 2,
	CTL_NOTHING = 3,	/* no failure: the answer is "none", or "no" */
};

/* When to use colour */
enum ctl_color {
	CTL_COLOR_AUTO = 0,	/* on a terminal, unless NO_COLOR is set */
	CTL_COLOR_ALWAYS,
	CTL_COLOR_NEVER,
};

/**
 * struct ctl_prefix - addresses that begin alike
 * @addr: one of them, of IPv4 as ::ffff:a.b.c.d
 * @bits: that they have in common
 */
struct ctl_prefix {
	struct in6_addr addr;
	unsigned int bits;
};

/**
 * struct ctl_opts - command line
 * @json: print JSON
 * @exit_empty: an empty list is CTL_NOTHING
 * @output: prometheus: file to write, NULL: standard output
 * @all: sock: also sockets without connection
 * @verbose: sock: cursors and buffer sizes as well
 * @port: sock: only this port on either side, -1 for all
 * @local_port: sock: only this own port, -1 for all
 * @peer_port: sock: only this port of the peer, -1 for all
 * @local: sock: only these own addresses, NULL for all
 * @peer: sock: only these addresses of the peer, NULL for all
 * @inode: sock: only the socket with this inode number, 0 for all
 */
struct ctl_opts {
	bool json;
	bool exit_empty;
	const char *output;
	bool all;
	bool verbose;
	int port;
	int local_port;
	int peer_port;
	const struct ctl_prefix *local;
	const struct ctl_prefix *peer;
	__u32 inode;
};

/**
 * struct ctl_column - one column of a table
 * @title: heading
 * @key: member of the JSON object; "a.b" is member b of the object a
 */
struct ctl_column {
	const char *title;
	const char *key;
};

/* output.c */
void ctl_fail(const char *fmt, ...) __printf(1, 2);
/* What stands before the text of failures: a line of a file */
void ctl_set_place(const char *place);
void ctl_use_color(enum ctl_color when);
/* Told of each list that is printed, by whatever prints it. */
void ctl_note_list(struct json_object *array);
/* The list that was printed last was empty. */
bool ctl_list_was_empty(void);
/* The text of a member, "" when it is not there */
const char *ctl_text_of(struct json_object *obj, const char *key);
void ctl_add_str(struct json_object *obj, const char *key, const char *val);
void ctl_add_u64(struct json_object *obj, const char *key, __u64 val);
void ctl_add_hex32(struct json_object *obj, const char *key, __u32 val);
void ctl_add_reason(struct json_object *obj, const char *key, __u32 code);
void ctl_print_json(struct json_object *obj);
void ctl_print_table(struct json_object *array, const struct ctl_column *cols, size_t num);
/* Part of other output, indented; says nothing about emptiness */
void ctl_print_table_at(struct json_object *array, const struct ctl_column *cols, size_t num,
			int indent);
void ctl_print_fields(struct json_object *obj, int indent);

/* reason.c: of a diagnosis code, also an unknown one. A hint holds until the next. */
const char *ctl_reason_sentence(__u32 code);
const char *ctl_reason_hint(__u32 code);

/* num.c */
bool ctl_parse_num(const char *text, int base, unsigned long min, unsigned long max, __u32 *num);

/* addr.c */
bool ctl_parse_prefix(const char *text, struct ctl_prefix *prefix);
bool ctl_prefix_has(const struct ctl_prefix *prefix, const struct in6_addr *addr);

/* file.c */
int ctl_replace_file(const char *path, int (*writer)(FILE *out), bool always);

/* netlink.c */

/**
 * struct ctl_attr - one attribute to send
 * @type: its number
 * @str: its value, sent with its final zero; NULL: @num is it
 * @num: a number
 * @bin: bytes as they are; NULL: none
 * @size: bytes of @bin; of @num: 4, else 1
 * @flag: it has no value
 */
struct ctl_attr {
	__u16 type;
	const char *str;
	__u32 num;
	const void *bin;
	__u8 size;
	bool flag;
};

/**
 * struct ctl_genl_req - one request to a generic netlink family
 * @family: its name, NULL for SMC_GEN_NETLINK
 * @cmd: SMC_NETLINK_* or SMC_PNETID_*
 * @what: what the user asked for, for messages: "the list of devices"
 * @dump: many answers
 * @str_attr: attribute with a string to send, 0 for none
 * @str: that string, sent with its final zero
 * @attrs: further attributes
 * @num_attrs: their number
 */
struct ctl_genl_req {
	const char *family;
	__u8 cmd;
	const char *what;
	bool dump;
	__u16 str_attr;
	const char *str;
	const struct ctl_attr *attrs;
	size_t num_attrs;
};

/*
 * Return 0 or an errno number; ctl_genl_failed() words it for the user, in the kernel's own
 * words where it has some.
 */
int ctl_genl_run(const struct ctl_genl_req *req, mnl_cb_t cb, void *data);
/* From now on requests that change something succeed and do nothing, or not */
void ctl_pretend(bool on);
void ctl_genl_failed(const struct ctl_genl_req *req, int err);

#define CTL_LISTEN_MAX 2

/**
 * struct ctl_listener - who wants to hear of events
 * @groups: names of multicast groups of SMC_GEN_NETLINK, up to CTL_LISTEN_MAX
 * @num: their number
 * @cb: told of each event; MNL_CB_STOP ends it
 * @lost: told that some were lost; likewise
 * @data: for both
 */
struct ctl_listener {
	const char *const *groups;
	size_t num;
	mnl_cb_t cb;
	int (*lost)(void *data);
	void *data;
};

/* Until it is stopped: 0, or an errno number: ENODEV when the module goes. */
int ctl_genl_listen(const struct ctl_listener *listener);
/* One request, the kernel's answers to @cb, which may end them with MNL_CB_STOP */
int ctl_nl_run(int bus, struct nlmsghdr *nlh, mnl_cb_t cb, void *data);
int ctl_diag_run(const void *req, size_t len, mnl_cb_t cb, void *data);

/* Attributes: entries of @tb are NULL where absent; later duplicates win. */
void ctl_parse_genl(const struct nlmsghdr *nlh, const struct nlattr **tb, unsigned int max);
void ctl_parse_nest(const struct nlattr *nest, const struct nlattr **tb, unsigned int max);
/* Unsigned integer of 1, 2, 4 or 8 bytes; false when absent or of another size. */
bool ctl_attr_uint(const struct nlattr *attr, __u64 *val);
/* Trailing blanks are cut, unprintable bytes become '?'. */
bool ctl_attr_str(const struct nlattr *attr, char *buf, size_t size);
void ctl_clean_str(char *buf, size_t size, const void *from, size_t len);
/* Adds the attribute under @key when it is there. */
void ctl_copy_uint(struct json_object *obj, const char *key, const struct nlattr *attr);
void ctl_copy_str(struct json_object *obj, const char *key, const struct nlattr *attr);
void ctl_copy_netdev(struct json_object *obj, const char *key, const struct nlattr *attr);

/* Orders about link groups and links: order.c */
int ctl_linkgroup_order(int argc, char **argv);
int ctl_link_order(int argc, char **argv);

/* Commands: return an exit status. @argc and @argv are what follows the name of the object. */
int ctl_info(const struct ctl_opts *opts);
int ctl_linkgroup(const struct ctl_opts *opts, int argc, char **argv);
int ctl_link(const struct ctl_opts *opts, int argc, char **argv);
int ctl_device(const struct ctl_opts *opts);
int ctl_ueid(const struct ctl_opts *opts, int argc, char **argv);
int ctl_policy(const struct ctl_opts *opts, int argc, char **argv);
int ctl_pnet(const struct ctl_opts *opts, int argc, char **argv);
/*
 * What these commands show, appended to an array or put into an object. A failure is told to
 * the user.
 */
bool ctl_have_module(void);
int ctl_info_read(struct json_object *info);
int ctl_device_read(struct json_object *ports);
int ctl_ueid_read(struct json_object *names);
int ctl_pnet_read(struct json_object *entries);
int ctl_policy_read(struct json_object *rules, bool *known);
/* Each one has its struct inet_diag_sockid as json-c's user data. */
int ctl_sock_read(const struct ctl_opts *opts, struct json_object *socks);
int ctl_linkgroup_read(struct json_object *groups);
int ctl_link_read(struct json_object *links);
int ctl_stats(const struct ctl_opts *opts);
/* All statistics as one object; NULL: it failed, and that was said. */
struct json_object *ctl_stats_read(void);
int ctl_sock(const struct ctl_opts *opts, int argc, char **argv);
/* kill.c: ends what ctl_sock_read() read; what was ended is appended to @ended. */
int ctl_sock_kill(struct json_object *socks, struct json_object *ended);
int ctl_reason(const struct ctl_opts *opts, int argc, char **argv);
int ctl_check(const struct ctl_opts *opts, int argc, char **argv);
int ctl_monitor(const struct ctl_opts *opts, int argc, char **argv);
int ctl_watch(const struct ctl_opts *opts, int argc, char **argv);
int ctl_prometheus(const struct ctl_opts *opts);
int ctl_applicability(const struct ctl_opts *opts, int argc, char **argv);
int ctl_save(const struct ctl_opts *opts, int argc, char **argv);
int ctl_restore(const struct ctl_opts *opts, int argc, char **argv);
int ctl_holders(const struct ctl_opts *opts);

/* The program under other names, with the whole command line */
int ctl_smcss(int argc, char **argv);
int ctl_smc_pnet(int argc, char **argv);
int ctl_smcr(int argc, char **argv);

#endif /* SMC_TOOLS_SMCCTL_H */
