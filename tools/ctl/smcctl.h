/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * smcctl: declarations shared by its files.
 *
 * Each command reads netlink messages into JSON objects, and prints these as JSON or, by a list
 * of columns, as a table. So both forms always show the same facts.
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

/* Attributes of Linux 6.12 that older headers lack */
#define CTL_LGR_R_SNDBUF_ALLOC	12
#define CTL_LGR_R_RMB_ALLOC	13
#define CTL_LGR_R_V2_MAX_CONNS	2
#define CTL_LGR_R_V2_MAX_LINKS	3
#define CTL_LGR_R_V2_MAX	3
#define CTL_STATS_T_RX_RMB_USAGE	20
#define CTL_STATS_T_TX_RMB_USAGE	21
#define CTL_STATS_T_MAX		21

/* Exit codes */
enum {
	CTL_OK = 0,
	CTL_FAILURE = 1,
	CTL_USAGE = 2,
	CTL_NOTHING = 3,	/* not a failure: the answer is "none", or "no" */
};

/* When to use colour */
enum ctl_color {
	CTL_COLOR_AUTO = 0,	/* on a terminal, unless NO_COLOR is set */
	CTL_COLOR_ALWAYS,
	CTL_COLOR_NEVER,
};

/**
 * struct ctl_prefix - an address prefix
 * @addr: an address with this prefix; an IPv4 address is v4-mapped (::ffff:a.b.c.d)
 * @bits: length of the prefix, of the 128 bits of @addr
 */
struct ctl_prefix {
	struct in6_addr addr;
	unsigned int bits;
};

/**
 * struct ctl_opts - command line
 * @json: print JSON
 * @exit_empty: exit with CTL_NOTHING if the list is empty
 * @output: prometheus: file to write, NULL: standard output
 * @netns: prometheus: "all" network namespaces, NULL: this one
 * @all: sock: also sockets without a connection
 * @listening: sock: only sockets that listen
 * @processes: sock: also the processes that have a socket
 * @stats: sock: also the statistics of connections over RDMA
 * @verbose: also what the table of the object leaves out
 * @port: sock: local or peer port, -1: any
 * @local_port: sock: local port, -1: any
 * @peer_port: sock: port of the peer, -1: any
 * @local: sock: prefix of the local address, NULL: any
 * @peer: sock: prefix of the peer's address, NULL: any
 * @inode: sock: inode number of the socket, 0: any
 */
struct ctl_opts {
	bool json;
	bool exit_empty;
	const char *output;
	const char *netns;
	bool all;
	bool listening;
	bool processes;
	bool stats;
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
void ctl_error(const char *fmt, ...) __printf(1, 2);
void ctl_error_set_place(const char *place);
void ctl_color_set(enum ctl_color when);
void ctl_list_note(struct json_object *array);
bool ctl_list_was_empty(void);
const char *ctl_json_text(struct json_object *obj, const char *key);
struct json_object *ctl_json_member(struct json_object *obj, const char *key);
__u64 ctl_json_u64(struct json_object *obj, const char *key);
void ctl_json_add_str(struct json_object *obj, const char *key, const char *val);
void ctl_json_add_u64(struct json_object *obj, const char *key, __u64 val);
void ctl_json_add_hex32(struct json_object *obj, const char *key, __u32 val);
void ctl_json_add_reason(struct json_object *obj, const char *key, __u32 code);
void ctl_json_print(struct json_object *obj);
void ctl_json_print_line(struct json_object *obj);
void ctl_table_print(struct json_object *array, const struct ctl_column *cols, size_t num);
void ctl_table_print_broken(struct json_object *array, const struct ctl_column *cols, size_t num,
			    size_t second);
void ctl_row_print(struct json_object *row, const struct ctl_column *cols, size_t num);
void ctl_cell_print(const char *text, int pad, int at, int indent);
void ctl_table_print_indented(struct json_object *array, const struct ctl_column *cols, size_t num,
			      int indent);
void ctl_fields_print(struct json_object *obj, int indent);
void ctl_list_print_fields(struct json_object *array);
void ctl_text_print(const char *text, int at, int hang);
const char *ctl_number_format(double val, char *buf, size_t size);

/* reason.c */
const char *ctl_reason_sentence(__u32 code);
const char *ctl_reason_hint(__u32 code);

/* num.c */
bool ctl_word_complete(const char *word, const char *words, char *full, size_t size);
bool ctl_num_parse(const char *text, int base, unsigned long min, unsigned long max, __u32 *num);

/* addr.c */
bool ctl_prefix_parse(const char *text, struct ctl_prefix *prefix);
bool ctl_prefix_contains(const struct ctl_prefix *prefix, const struct in6_addr *addr);

/* file.c */
int ctl_file_replace(const char *path, int (*writer)(FILE *out), bool always);
void ctl_line_read(const char *path, char *text, size_t size);

/* netlink.c */

/**
 * struct ctl_attr - one attribute to send
 * @type: attribute type
 * @str: value, sent with its terminating zero; NULL: the value is @bin, nothing or @num
 * @num: value as a number
 * @bin: value as raw bytes, NULL: none
 * @size: number of bytes of @bin; for @num, 4 sends a u32, anything else a u8
 * @flag: send no value
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
 * @family: name of the family, NULL: SMC_GEN_NETLINK
 * @cmd: SMC_NETLINK_* or SMC_PNETID_*
 * @what: what the user asked for, for error messages: "the list of devices"
 * @dump: send NLM_F_DUMP and expect many answers
 * @str_attr: type of an attribute with the string @str, 0: none
 * @str: value of @str_attr, sent with its terminating zero
 * @attrs: further attributes
 * @num_attrs: number of @attrs
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

int ctl_genl_run(const struct ctl_genl_req *req, mnl_cb_t cb, void *data);
int ctl_genl_request(const struct ctl_genl_req *req, mnl_cb_t cb, void *data);
void ctl_genl_print_error(const struct ctl_genl_req *req, int err);
void ctl_genl_set_dry_run(bool on);
bool ctl_genl_is_dry_run(void);

#define CTL_LISTEN_MAX 2

/**
 * struct ctl_listener - receiver of events
 * @groups: names of multicast groups of SMC_GEN_NETLINK, at most CTL_LISTEN_MAX
 * @num: number of @groups
 * @cb: called for each event; MNL_CB_STOP ends the listening
 * @lost: called when the kernel dropped events; MNL_CB_STOP ends the listening
 * @data: argument of @cb and @lost
 */
struct ctl_listener {
	const char *const *groups;
	size_t num;
	mnl_cb_t cb;
	int (*lost)(void *data);
	void *data;
};

int ctl_genl_listen(const struct ctl_listener *listener);
int ctl_nl_run(int bus, struct nlmsghdr *nlh, mnl_cb_t cb, void *data);
int ctl_diag_run(const void *req, size_t len, mnl_cb_t cb, void *data);

void ctl_nla_parse_genl(const struct nlmsghdr *nlh, const struct nlattr **tb, unsigned int max);
void ctl_nla_parse_nested(const struct nlattr *nest, const struct nlattr **tb, unsigned int max);
bool ctl_nla_get_uint(const struct nlattr *attr, __u64 *val);
bool ctl_nla_get_str(const struct nlattr *attr, char *buf, size_t size);
void ctl_str_clean(char *buf, size_t size, const void *from, size_t len);
void ctl_json_copy_uint(struct json_object *obj, const char *key, const struct nlattr *attr);
void ctl_json_copy_str(struct json_object *obj, const char *key, const struct nlattr *attr);
void ctl_json_add_gid(struct json_object *obj, const char *key, const char *text);
void ctl_json_copy_gid(struct json_object *obj, const char *key, const struct nlattr *attr);
const char *ctl_netdev_clean(char *buf, const char *name);
bool ctl_json_add_netdev(struct json_object *obj, const char *key, unsigned int index);
void ctl_json_copy_netdev(struct json_object *obj, const char *key, const struct nlattr *attr);

/* Readers, which several commands use: genl.c, pnet.c, policy.c, sock.c, stats.c */
bool ctl_module_is_loaded(void);
int ctl_info_read(struct json_object *info);
int ctl_device_read(struct json_object *ports);
int ctl_ueid_read(struct json_object *ueids);
int ctl_linkgroup_read(struct json_object *groups);
int ctl_link_read(struct json_object *links);
int ctl_pnet_read(struct json_object *entries);
int ctl_policy_read(struct json_object *rules, bool *known);
int ctl_sock_read(const struct ctl_opts *opts, struct json_object *socks);
struct json_object *ctl_stats_read(void);

/* sock_stats.c */
void ctl_sock_add_stats(struct json_object *sock, const struct nlattr *nest);
void ctl_sock_stats_print(struct json_object *socks);

/* watch_by.c */

/* What smcctl watch shows a line for */
enum ctl_watch_by {
	CTL_WATCH_ALL = 0,
	CTL_WATCH_BY_CONNECTION,
	CTL_WATCH_BY_PEER,
	CTL_WATCH_BY_LINK,
};

bool ctl_watch_by_parse(const char *word, enum ctl_watch_by *by);
int ctl_watch_by_read(struct json_object *conns);
void ctl_watch_by_print(struct json_object *from, struct json_object *to, double seconds,
			enum ctl_watch_by by, bool json);

/* netns.c */

/* Network namespaces that are visited, and the size of a label with its terminating zero */
#define CTL_NETNS_MAX	256
#define CTL_NETNS_LABEL	64

int ctl_netns_for_each(int (*visit)(const char *label, void *data), void *data,
		       unsigned int *left_out);

/* process.c */
int ctl_processes_find(struct json_object *socks);

/* setting.c, module.c */
int ctl_setting_read(struct json_object *settings);
bool ctl_setting_read_hs_ctrl(char *value, size_t size);
void ctl_module_describe(struct json_object *module, bool loaded);

/* modify.c, kill.c */
int ctl_linkgroup_modify(int argc, char **argv);
int ctl_link_modify(int argc, char **argv);
int ctl_sock_kill(struct json_object *socks, struct json_object *ended);

/*
 * Commands, one per object of the command line. @argc and @argv are the words behind the name of
 * the object. Each returns an exit status.
 */
int cmd_info(const struct ctl_opts *opts);
int cmd_linkgroup(const struct ctl_opts *opts, int argc, char **argv);
int cmd_link(const struct ctl_opts *opts, int argc, char **argv);
int cmd_device(const struct ctl_opts *opts);
int cmd_ueid(const struct ctl_opts *opts, int argc, char **argv);
int cmd_policy(const struct ctl_opts *opts, int argc, char **argv);
int cmd_pnet(const struct ctl_opts *opts, int argc, char **argv);
int cmd_stats(const struct ctl_opts *opts);
int cmd_sock(const struct ctl_opts *opts, int argc, char **argv);
int cmd_reason(const struct ctl_opts *opts, int argc, char **argv);
int cmd_check(const struct ctl_opts *opts, int argc, char **argv);
int cmd_monitor(const struct ctl_opts *opts, int argc, char **argv);
int cmd_watch(const struct ctl_opts *opts, int argc, char **argv);
int cmd_prometheus(const struct ctl_opts *opts);
int cmd_applicability(const struct ctl_opts *opts, int argc, char **argv);
int cmd_setting(const struct ctl_opts *opts, int argc, char **argv);
int cmd_enable(const struct ctl_opts *opts);
int cmd_disable(const struct ctl_opts *opts);
int cmd_save(const struct ctl_opts *opts, int argc, char **argv);
int cmd_restore(const struct ctl_opts *opts, int argc, char **argv);
int cmd_report(const struct ctl_opts *opts, int argc, char **argv);
int cmd_holders(const struct ctl_opts *opts);
int cmd_memory(const struct ctl_opts *opts, int argc, char **argv);

/* The programs of smc-tools that smcctl acts as when called by their names: whole command line */
int smcss_main(int argc, char **argv);
int smc_pnet_main(int argc, char **argv);
int smcr_main(int argc, char **argv);
int smcd_main(int argc, char **argv);

#endif /* SMC_TOOLS_SMCCTL_H */
