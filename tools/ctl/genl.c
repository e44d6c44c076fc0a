// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: info, link groups, links, devices and UEIDs.
 */
#include "smcctl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/smc.h>
#include <stdio.h>
#include <string.h>

/**
 * struct link_dump - state of a dump of links
 * @links: result
 * @lgr: identifier of the group of the links that follow
 * @have_lgr: @lgr is valid
 */
struct link_dump {
	struct json_object *links;
	__u64 lgr;
	bool have_lgr;
};

static const char *table_get_name(const char * const *names, size_t num, __u64 i)
{
	return i < num ? names[i] : "unknown";
}

/* Print @result unless @rc is a failure, and release it. */
static int result_print(struct json_object *result, int rc, const struct ctl_opts *opts,
			const struct ctl_column *cols, size_t num)
{
	if (rc == CTL_OK && opts->json)
		ctl_json_print(result);
	else if (rc == CTL_OK && cols && opts->verbose)
		ctl_list_print_fields(result);
	else if (rc == CTL_OK && cols)
		ctl_table_print(result, cols, num);
	else if (rc == CTL_OK)
		ctl_fields_print(result, 0);
	json_object_put(result);
	return rc;
}

static void json_copy_bool(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	__u64 val;

	if (ctl_nla_get_uint(attr, &val))
		json_object_object_add(obj, key, json_object_new_boolean(val != 0));
}

static int info_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *top[SMC_GEN_MAX + 1], *tb[SMC_NETLINK_SYS_OWN_MAX + 1];
	struct json_object *info = data, *module = json_object_new_object();

	ctl_nla_parse_genl(nlh, top, SMC_GEN_MAX);
	ctl_nla_parse_nested(top[SMC_GEN_SYS_INFO], tb, SMC_NETLINK_SYS_OWN_MAX);
	ctl_json_copy_uint(info, "version", tb[SMC_NLA_SYS_VER]);
	ctl_json_copy_uint(info, "release", tb[SMC_NLA_SYS_REL]);
	json_copy_bool(info, "smcr_v2", tb[SMC_NLA_SYS_IS_SMCR_V2]);
	json_copy_bool(info, "ism_v2", tb[SMC_NLA_SYS_IS_ISM_V2]);
	ctl_json_copy_str(info, "host", tb[SMC_NLA_SYS_LOCAL_HOST]);
	ctl_json_copy_str(info, "seid", tb[SMC_NLA_SYS_SEID]);
	ctl_json_copy_str(module, "name", tb[SMC_NETLINK_SYS_OWN_NAME]);
	ctl_json_copy_str(module, "version", tb[SMC_NETLINK_SYS_OWN_VERSION]);
	ctl_json_copy_str(module, "srcversion", tb[SMC_NETLINK_SYS_OWN_SRCVERSION]);
	ctl_json_copy_str(module, "protocols", tb[SMC_NETLINK_SYS_OWN_PROTOCOLS]);
	ctl_json_copy_str(module, "tcp_option", tb[SMC_NETLINK_SYS_OWN_TCP_OPTION]);
	json_object_object_add(info, "module", module);
	return MNL_CB_OK;
}

static int hs_limit_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_NLA_HS_LIMITATION_MAX + 1];

	ctl_nla_parse_genl(nlh, tb, SMC_NLA_HS_LIMITATION_MAX);
	json_copy_bool(data, "handshake_limitation", tb[SMC_NLA_HS_LIMITATION_ENABLED]);
	return MNL_CB_OK;
}

/**
 * ctl_info_read() - read version and features of the module
 * @info: object, members are added
 *
 * Return: exit status; an error message was printed for a failure.
 */
int ctl_info_read(struct json_object *info)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_SYS_INFO, .what = "system information", .dump = true,
	};
	static const struct ctl_genl_req limit = {
		.cmd = SMC_NETLINK_DUMP_HS_LIMITATION, .what = "the limit of handshakes",
		.dump = true,
	};
	int rc = ctl_genl_request(&req, info_cb, info);
	int err = rc == CTL_OK ? ctl_genl_run(&limit, hs_limit_cb, info) : 0;

	/* older modules lack this command */
	if (err && err != EOPNOTSUPP) {
		ctl_genl_print_error(&limit, err);
		rc = CTL_FAILURE;
	}
	if (rc == CTL_OK && ctl_json_member(info, "module"))
		ctl_module_describe(ctl_json_member(info, "module"), true);
	return rc;
}

/**
 * ctl_module_is_loaded() - check whether the kernel has SMC_GEN_NETLINK
 *
 * Return: true also if the module cannot be queried for another reason.
 */
bool ctl_module_is_loaded(void)
{
	static const struct ctl_genl_req req = { .cmd = SMC_NETLINK_GET_SYS_INFO, .dump = true };

	return ctl_genl_run(&req, NULL, NULL) != ESRCH;
}

/**
 * cmd_info() - smcctl info
 * @opts: command line
 *
 * Return: exit status.
 */
int cmd_info(const struct ctl_opts *opts)
{
	struct json_object *info = json_object_new_object();

	if (!ctl_module_is_loaded()) {
		ctl_module_describe(info, false);
		ctl_error("%s", ctl_json_text(info, "warning"));
		json_object_put(info);
		return CTL_FAILURE;
	}
	return result_print(info, ctl_info_read(info), opts, NULL, 0);
}

static void group_add_v2(struct json_object *obj, const struct nlattr *common,
			 const struct nlattr *v2)
{
	static const char * const systems[] = { "unknown", "z/OS", "Linux", "AIX" };
	const struct nlattr *tb[SMC_NLA_LGR_V2_MAX + 1], *rtb[CTL_LGR_R_V2_MAX + 1];
	__u64 val;

	ctl_nla_parse_nested(common, tb, SMC_NLA_LGR_V2_MAX);
	ctl_json_copy_uint(obj, "version", tb[SMC_NLA_LGR_V2_VER]);
	ctl_json_copy_uint(obj, "release", tb[SMC_NLA_LGR_V2_REL]);
	if (ctl_nla_get_uint(tb[SMC_NLA_LGR_V2_OS], &val))
		ctl_json_add_str(obj, "peer_os", table_get_name(systems, ARRAY_SIZE(systems), val));
	ctl_json_copy_str(obj, "peer_host", tb[SMC_NLA_LGR_V2_PEER_HOST]);
	ctl_json_copy_str(obj, "eid", tb[SMC_NLA_LGR_V2_NEG_EID]);
	ctl_nla_parse_nested(v2, rtb, CTL_LGR_R_V2_MAX);
	json_copy_bool(obj, "direct", rtb[SMC_NLA_LGR_R_V2_DIRECT]);
	ctl_json_copy_uint(obj, "max_connections", rtb[CTL_LGR_R_V2_MAX_CONNS]);
	ctl_json_copy_uint(obj, "max_links", rtb[CTL_LGR_R_V2_MAX_LINKS]);
}

static struct json_object *group_read(const struct nlattr *nest)
{
	static const char * const types[] = {
		"none", "single", "symmetric", "asymmetric-peer", "asymmetric-local",
	};
	static const char * const buf_types[] = { "physical", "virtual", "mixed" };
	const struct nlattr *tb[SMC_NETLINK_LGR_R_OWN_MAX + 1];
	struct json_object *obj = json_object_new_object();
	__u64 val;

	ctl_nla_parse_nested(nest, tb, SMC_NETLINK_LGR_R_OWN_MAX);
	if (ctl_nla_get_uint(tb[SMC_NLA_LGR_R_ID], &val))
		ctl_json_add_hex32(obj, "id", (__u32)val);
	if (ctl_nla_get_uint(tb[SMC_NLA_LGR_R_ROLE], &val))
		ctl_json_add_str(obj, "role", val ? "server" : "client");
	if (ctl_nla_get_uint(tb[SMC_NLA_LGR_R_TYPE], &val))
		ctl_json_add_str(obj, "type", table_get_name(types, ARRAY_SIZE(types), val));
	ctl_json_copy_uint(obj, "connections", tb[SMC_NLA_LGR_R_CONNS_NUM]);
	ctl_json_copy_uint(obj, "vlan", tb[SMC_NLA_LGR_R_VLAN_ID]);
	ctl_json_copy_str(obj, "pnetid", tb[SMC_NLA_LGR_R_PNETID]);
	if (ctl_nla_get_uint(tb[SMC_NLA_LGR_R_BUF_TYPE], &val))
		ctl_json_add_str(obj, "buffer_type",
				 table_get_name(buf_types, ARRAY_SIZE(buf_types), val));
	ctl_json_copy_uint(obj, "sndbuf_bytes", tb[CTL_LGR_R_SNDBUF_ALLOC]);
	ctl_json_copy_uint(obj, "rmb_bytes", tb[CTL_LGR_R_RMB_ALLOC]);
	ctl_json_copy_uint(obj, "net_cookie", tb[SMC_NLA_LGR_R_NET_COOKIE]);
	ctl_json_copy_uint(obj, "links_lost", tb[SMC_NETLINK_LGR_R_OWN_LINKS_LOST]);
	ctl_json_copy_str(obj, "last_loss", tb[SMC_NETLINK_LGR_R_OWN_LOSS_REASON]);
	ctl_json_copy_uint(obj, "last_loss_seconds", tb[SMC_NETLINK_LGR_R_OWN_LOSS_AGE]);
	ctl_json_copy_uint(obj, "moved_connections", tb[SMC_NETLINK_LGR_R_OWN_MOVES]);
	if (tb[SMC_NLA_LGR_R_V2_COMMON])
		group_add_v2(obj, tb[SMC_NLA_LGR_R_V2_COMMON], tb[SMC_NLA_LGR_R_V2]);
	else
		ctl_json_add_u64(obj, "version", 1);
	return obj;
}

static int group_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *top[SMC_GEN_MAX + 1];

	ctl_nla_parse_genl(nlh, top, SMC_GEN_MAX);
	if (top[SMC_GEN_LGR_SMCR])
		json_object_array_add(data, group_read(top[SMC_GEN_LGR_SMCR]));
	return MNL_CB_OK;
}

static bool args_are_show(int argc, char **argv)
{
	return !argc || (argc == 1 && !strcmp(argv[0], "show"));
}

/**
 * ctl_linkgroup_read() - read the link groups
 * @groups: array, groups are appended
 *
 * Return: exit status; an error message was printed for a failure.
 */
int ctl_linkgroup_read(struct json_object *groups)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_LGR_SMCR, .what = "the list of link groups", .dump = true,
	};

	return ctl_genl_request(&req, group_cb, groups);
}

/**
 * cmd_linkgroup() - smcctl linkgroup [show], del GROUP [now]
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_linkgroup(const struct ctl_opts *opts, int argc, char **argv)
{
	static const struct ctl_column cols[] = {
		{ "ID", "id" }, { "ROLE", "role" }, { "TYPE", "type" }, { "CONNS", "connections" },
		{ "VERSION", "version" }, { "SNDBUF", "sndbuf_bytes" }, { "RMB", "rmb_bytes" },
		{ "LOST", "links_lost" }, { "PNETID", "pnetid" }, { "PEER", "peer_host" },
	};
	struct json_object *groups;

	if (!args_are_show(argc, argv))
		return ctl_linkgroup_modify(argc, argv);
	groups = json_object_new_array();
	return result_print(groups, ctl_linkgroup_read(groups), opts, cols, ARRAY_SIZE(cols));
}

/* The kernel sends each group before its links. */
static int link_cb(const struct nlmsghdr *nlh, void *data)
{
	static const char * const states[] = { "unused", "inactive", "activating", "active" };
	const struct nlattr *top[SMC_GEN_MAX + 1], *tb[SMC_NETLINK_LINK_OWN_MAX + 1];
	const struct nlattr *lgr[SMC_NETLINK_LGR_R_OWN_MAX + 1];
	struct link_dump *dump = data;
	struct json_object *obj;
	__u64 val;

	ctl_nla_parse_genl(nlh, top, SMC_GEN_MAX);
	if (top[SMC_GEN_LGR_SMCR]) {
		ctl_nla_parse_nested(top[SMC_GEN_LGR_SMCR], lgr, SMC_NETLINK_LGR_R_OWN_MAX);
		dump->have_lgr = ctl_nla_get_uint(lgr[SMC_NLA_LGR_R_ID], &dump->lgr);
	}
	if (!top[SMC_GEN_LINK_SMCR])
		return MNL_CB_OK;
	obj = json_object_new_object();
	json_object_array_add(dump->links, obj);
	ctl_nla_parse_nested(top[SMC_GEN_LINK_SMCR], tb, SMC_NETLINK_LINK_OWN_MAX);
	if (dump->have_lgr)
		ctl_json_add_hex32(obj, "group", (__u32)dump->lgr);
	ctl_json_copy_uint(obj, "id", tb[SMC_NLA_LINK_ID]);
	if (ctl_nla_get_uint(tb[SMC_NLA_LINK_STATE], &val))
		ctl_json_add_str(obj, "state", table_get_name(states, ARRAY_SIZE(states), val));
	ctl_json_copy_uint(obj, "connections", tb[SMC_NLA_LINK_CONN_CNT]);
	ctl_json_copy_uint(obj, "moved_connections", tb[SMC_NETLINK_LINK_OWN_MOVES]);
	ctl_json_copy_uint(obj, "active_seconds", tb[SMC_NETLINK_LINK_OWN_AGE]);
	ctl_json_copy_uint(obj, "bytes_under_way", tb[SMC_NETLINK_LINK_OWN_BYTES]);
	ctl_json_copy_uint(obj, "latency_ns", tb[SMC_NETLINK_LINK_OWN_LATENCY]);
	ctl_json_copy_uint(obj, "send_slots", tb[SMC_NETLINK_LINK_OWN_SENDS]);
	ctl_json_copy_uint(obj, "receives", tb[SMC_NETLINK_LINK_OWN_RECVS]);
	ctl_json_copy_str(obj, "device", tb[SMC_NLA_LINK_IB_DEV]);
	ctl_json_copy_uint(obj, "port", tb[SMC_NLA_LINK_IB_PORT]);
	ctl_json_copy_netdev(obj, "netdev", tb[SMC_NLA_LINK_NET_DEV]);
	/* network byte order */
	if (ctl_nla_get_uint(tb[SMC_NLA_LINK_UID], &val))
		ctl_json_add_hex32(obj, "uid", ntohl((__u32)val));
	if (ctl_nla_get_uint(tb[SMC_NLA_LINK_PEER_UID], &val))
		ctl_json_add_hex32(obj, "peer_uid", ntohl((__u32)val));
	ctl_json_copy_gid(obj, "gid", tb[SMC_NLA_LINK_GID]);
	ctl_json_copy_gid(obj, "peer_gid", tb[SMC_NLA_LINK_PEER_GID]);
	return MNL_CB_OK;
}

/**
 * ctl_link_read() - read the links of all groups
 * @links: array, links are appended
 *
 * Return: exit status; an error message was printed for a failure.
 */
int ctl_link_read(struct json_object *links)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_LINK_SMCR, .what = "the list of links", .dump = true,
	};
	struct link_dump dump = { .links = links };

	return ctl_genl_request(&req, link_cb, &dump);
}

/**
 * cmd_link() - smcctl link [show], add GROUP [END...], del GROUP LINK
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_link(const struct ctl_opts *opts, int argc, char **argv)
{
	static const struct ctl_column cols[] = {
		{ "GROUP", "group" }, { "ID", "id" }, { "STATE", "state" },
		{ "CONNS", "connections" }, { "MOVED", "moved_connections" },
		{ "SECONDS", "active_seconds" }, { "DEVICE", "device" }, { "PORT", "port" },
		{ "NETDEV", "netdev" },
	};
	struct json_object *links;

	if (!args_are_show(argc, argv))
		return ctl_link_modify(argc, argv);
	links = json_object_new_array();
	return result_print(links, ctl_link_read(links), opts, cols, ARRAY_SIZE(cols));
}

static void device_add_port(struct json_object *ports, const struct nlattr **dev, int attr,
			    int number)
{
	const struct nlattr *tb[SMC_NLA_DEV_PORT_MAX + 1];
	struct json_object *obj;
	__u64 val;

	ctl_nla_parse_nested(dev[attr], tb, SMC_NLA_DEV_PORT_MAX);
	if (!ctl_nla_get_uint(tb[SMC_NLA_DEV_PORT_VALID], &val) || !val)
		return;
	obj = json_object_new_object();
	json_object_array_add(ports, obj);
	ctl_json_copy_str(obj, "device", dev[SMC_NLA_DEV_IB_NAME]);
	ctl_json_add_u64(obj, "port", (__u64)number);
	ctl_json_copy_netdev(obj, "netdev", tb[SMC_NLA_DEV_PORT_NETDEV]);
	if (ctl_nla_get_uint(tb[SMC_NLA_DEV_PORT_STATE], &val))
		ctl_json_add_str(obj, "state", val ? "active" : "inactive");
	ctl_json_copy_uint(obj, "links", tb[SMC_NLA_DEV_PORT_LNK_CNT]);
	ctl_json_copy_str(obj, "pnetid", tb[SMC_NLA_DEV_PORT_PNETID]);
	json_copy_bool(obj, "pnetid_by_user", tb[SMC_NLA_DEV_PORT_PNET_USR]);
	json_copy_bool(obj, "critical", dev[SMC_NLA_DEV_IS_CRIT]);
	ctl_json_copy_str(obj, "pci", dev[SMC_NLA_DEV_PCI_ID]);
	ctl_json_copy_uint(obj, "pci_fid", dev[SMC_NLA_DEV_PCI_FID]);
	ctl_json_copy_uint(obj, "pci_chid", dev[SMC_NLA_DEV_PCI_CHID]);
	ctl_json_copy_uint(obj, "pci_vendor", dev[SMC_NLA_DEV_PCI_VENDOR]);
	ctl_json_copy_uint(obj, "pci_device", dev[SMC_NLA_DEV_PCI_DEVICE]);
}

static int device_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *top[SMC_GEN_MAX + 1], *tb[SMC_NLA_DEV_MAX + 1];

	ctl_nla_parse_genl(nlh, top, SMC_GEN_MAX);
	ctl_nla_parse_nested(top[SMC_GEN_DEV_SMCR], tb, SMC_NLA_DEV_MAX);
	device_add_port(data, tb, SMC_NLA_DEV_PORT, 1);
	device_add_port(data, tb, SMC_NLA_DEV_PORT2, 2);
	return MNL_CB_OK;
}

/**
 * ctl_device_read() - read the ports of RoCE devices
 * @ports: array, ports are appended
 *
 * Return: exit status; an error message was printed for a failure.
 */
int ctl_device_read(struct json_object *ports)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_DEV_SMCR, .what = "the list of devices", .dump = true,
	};

	return ctl_genl_request(&req, device_cb, ports);
}

/**
 * cmd_device() - smcctl device
 * @opts: command line
 *
 * Return: exit status.
 */
int cmd_device(const struct ctl_opts *opts)
{
	static const struct ctl_column cols[] = {
		{ "DEVICE", "device" }, { "PORT", "port" }, { "STATE", "state" },
		{ "NETDEV", "netdev" }, { "LINKS", "links" }, { "PNETID", "pnetid" },
		{ "PCI", "pci" },
	};
	struct json_object *ports = json_object_new_array();

	return result_print(ports, ctl_device_read(ports), opts, cols, ARRAY_SIZE(cols));
}

static int ueid_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_NLA_EID_TABLE_MAX + 1];
	char name[SMC_MAX_EID_LEN + 1];
	struct json_object *obj;

	ctl_nla_parse_genl(nlh, tb, SMC_NLA_EID_TABLE_MAX);
	if (!ctl_nla_get_str(tb[SMC_NLA_EID_TABLE_ENTRY], name, sizeof(name)))
		return MNL_CB_OK;
	obj = json_object_new_object();
	ctl_json_add_str(obj, "ueid", name);
	json_object_array_add(data, obj);
	return MNL_CB_OK;
}

/**
 * ctl_ueid_read() - read the user-defined EIDs
 * @ueids: array, objects with "ueid" are appended
 *
 * Return: exit status; an error message was printed for a failure.
 */
int ctl_ueid_read(struct json_object *ueids)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_DUMP_UEID, .what = "the list of UEIDs", .dump = true,
	};

	return ctl_genl_request(&req, ueid_cb, ueids);
}

static int ueid_show(const struct ctl_opts *opts)
{
	struct json_object *ueids = json_object_new_array();
	int rc = ctl_ueid_read(ueids);
	size_t i;

	if (rc == CTL_OK && opts->json) {
		ctl_json_print(ueids);
	} else if (rc == CTL_OK) {
		ctl_list_note(ueids);
		for (i = 0; i < json_object_array_length(ueids); i++)
			puts(ctl_json_text(json_object_array_get_idx(ueids, i), "ueid"));
	}
	json_object_put(ueids);
	return rc;
}

/* Return what is wrong with a name, or NULL. The kernel would only return EINVAL. */
static const char *ueid_find_fault(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

	if (!*name)
		return "it is empty";
	if (strlen(name) > SMC_MAX_EID_LEN)
		return "it has more than 32 characters";
	if (name[strspn(name, allowed)])
		return "only A-Z, 0-9, '.' and '-' may be used";
	if (*name == '.' || *name == '-')
		return "the first character must be a letter or digit";
	if (strstr(name, ".."))
		return "two dots must not follow each other";
	return NULL;
}

static int ueid_modify(__u8 cmd, const char *name)
{
	const char *fault = ueid_find_fault(name);
	char padded[SMC_MAX_EID_LEN + 1];
	struct ctl_genl_req req = {
		.cmd = cmd, .what = "changing the list of UEIDs",
		.str_attr = SMC_NLA_EID_TABLE_ENTRY, .str = padded,
	};
	int err;

	if (fault) {
		ctl_error("'%s' is no UEID: %s", name, fault);
		return CTL_USAGE;
	}
	snprintf(padded, sizeof(padded), "%-*s", SMC_MAX_EID_LEN, name);
	err = ctl_genl_run(&req, NULL, NULL);
	switch (err) {
	case 0:
		return CTL_OK;
	case EEXIST:
		ctl_error("UEID %s is there already", name);
		break;
	case ENOENT:
		ctl_error("there is no UEID %s", name);
		break;
	case ERANGE:
		ctl_error("the list of UEIDs is full (%d entries)", SMC_MAX_UEID);
		break;
	case EINVAL:
		ctl_error("the kernel does not accept %s as UEID", name);
		break;
	case EAGAIN:
		ctl_error("UEID %s was the last one: the system's own EID is in use again", name);
		break;
	default:
		ctl_genl_print_error(&req, err);
	}
	return CTL_FAILURE;
}

/**
 * cmd_ueid() - smcctl ueid [show], add NAME, del NAME, flush
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_ueid(const struct ctl_opts *opts, int argc, char **argv)
{
	static const struct ctl_genl_req flush = {
		.cmd = SMC_NETLINK_FLUSH_UEID, .what = "flushing the list of UEIDs",
	};

	if (argc == 0 || (argc == 1 && !strcmp(argv[0], "show")))
		return ueid_show(opts);
	if (argc == 2 && !strcmp(argv[0], "add"))
		return ueid_modify(SMC_NETLINK_ADD_UEID, argv[1]);
	if (argc == 2 && !strcmp(argv[0], "del"))
		return ueid_modify(SMC_NETLINK_REMOVE_UEID, argv[1]);
	if (argc == 1 && !strcmp(argv[0], "flush"))
		return ctl_genl_request(&flush, NULL, NULL);
	ctl_error("ueid is followed by: show, add NAME, del NAME or flush");
	return CTL_USAGE;
}
