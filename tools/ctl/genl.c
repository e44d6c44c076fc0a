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
 * struct link_dump - state while links are read
 * @links: result
 * @lgr: group of the links that follow
 * @have_lgr: a group was seen
 */
struct link_dump {
	struct json_object *links;
	__u64 lgr;
	bool have_lgr;
};

static const char *name_of(const char * const *names, size_t num, __u64 i)
{
	return i < num ? names[i] : "unknown";
}

static int run_or_complain(const struct ctl_genl_req *req, mnl_cb_t cb, void *data)
{
	int err = ctl_genl_run(req, cb, data);

	if (err)
		ctl_genl_failed(req, err);
	return err ? CTL_FAILURE : CTL_OK;
}

/* Prints @result unless @rc is a failure, and drops it. */
static int finish(struct json_object *result, int rc, const struct ctl_opts *opts,
		  const struct ctl_column *cols, size_t num)
{
	if (rc == CTL_OK && opts->json)
		ctl_print_json(result);
	else if (rc == CTL_OK && cols)
		ctl_print_table(result, cols, num);
	else if (rc == CTL_OK)
		ctl_print_fields(result, 0);
	json_object_put(result);
	return rc;
}

static void copy_bool(struct json_object *obj, const char *key, const struct nlattr *attr)
{
	__u64 val;

	if (ctl_attr_uint(attr, &val))
		json_object_object_add(obj, key, json_object_new_boolean(val != 0));
}

static int on_info(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *top[SMC_GEN_MAX + 1], *tb[SMC_NLA_SYS_MAX + 1];
	struct json_object *info = data;

	ctl_parse_genl(nlh, top, SMC_GEN_MAX);
	ctl_parse_nest(top[SMC_GEN_SYS_INFO], tb, SMC_NLA_SYS_MAX);
	ctl_copy_uint(info, "version", tb[SMC_NLA_SYS_VER]);
	ctl_copy_uint(info, "release", tb[SMC_NLA_SYS_REL]);
	copy_bool(info, "smcr_v2", tb[SMC_NLA_SYS_IS_SMCR_V2]);
	copy_bool(info, "ism_v2", tb[SMC_NLA_SYS_IS_ISM_V2]);
	ctl_copy_str(info, "host", tb[SMC_NLA_SYS_LOCAL_HOST]);
	ctl_copy_str(info, "seid", tb[SMC_NLA_SYS_SEID]);
	return MNL_CB_OK;
}

static int on_limit(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_NLA_HS_LIMITATION_MAX + 1];

	ctl_parse_genl(nlh, tb, SMC_NLA_HS_LIMITATION_MAX);
	copy_bool(data, "handshake_limitation", tb[SMC_NLA_HS_LIMITATION_ENABLED]);
	return MNL_CB_OK;
}

int ctl_info_read(struct json_object *info)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_SYS_INFO, .what = "system information", .dump = true,
	};
	static const struct ctl_genl_req limit = {
		.cmd = SMC_NETLINK_DUMP_HS_LIMITATION, .what = "the limit of handshakes",
		.dump = true,
	};
	int rc = run_or_complain(&req, on_info, info);
	int err = rc == CTL_OK ? ctl_genl_run(&limit, on_limit, info) : 0;

	/* Old modules do not have it. */
	if (err && err != EOPNOTSUPP) {
		ctl_genl_failed(&limit, err);
		rc = CTL_FAILURE;
	}
	return rc;
}

bool ctl_have_module(void)
{
	static const struct ctl_genl_req req = { .cmd = SMC_NETLINK_GET_SYS_INFO, .dump = true };

	return ctl_genl_run(&req, NULL, NULL) != ESRCH;
}

int ctl_info(const struct ctl_opts *opts)
{
	struct json_object *info = json_object_new_object();

	return finish(info, ctl_info_read(info), opts, NULL, 0);
}

static void add_group_v2(struct json_object *obj, const struct nlattr *common,
			 const struct nlattr *v2)
{
	static const char * const systems[] = { "unknown", "z/OS", "Linux", "AIX" };
	const struct nlattr *tb[SMC_NLA_LGR_V2_MAX + 1], *rtb[CTL_LGR_R_V2_MAX + 1];
	__u64 val;

	ctl_parse_nest(common, tb, SMC_NLA_LGR_V2_MAX);
	ctl_copy_uint(obj, "version", tb[SMC_NLA_LGR_V2_VER]);
	ctl_copy_uint(obj, "release", tb[SMC_NLA_LGR_V2_REL]);
	if (ctl_attr_uint(tb[SMC_NLA_LGR_V2_OS], &val))
		ctl_add_str(obj, "peer_os", name_of(systems, ARRAY_SIZE(systems), val));
	ctl_copy_str(obj, "peer_host", tb[SMC_NLA_LGR_V2_PEER_HOST]);
	ctl_copy_str(obj, "eid", tb[SMC_NLA_LGR_V2_NEG_EID]);
	ctl_parse_nest(v2, rtb, CTL_LGR_R_V2_MAX);
	copy_bool(obj, "direct", rtb[SMC_NLA_LGR_R_V2_DIRECT]);
	ctl_copy_uint(obj, "max_connections", rtb[CTL_LGR_R_V2_MAX_CONNS]);
	ctl_copy_uint(obj, "max_links", rtb[CTL_LGR_R_V2_MAX_LINKS]);
}

static struct json_object *read_group(const struct nlattr *nest)
{
	static const char * const types[] = {
		"none", "single", "symmetric", "asymmetric-peer", "asymmetric-local",
	};
	static const char * const buf_types[] = { "physical", "virtual", "mixed" };
	const struct nlattr *tb[SMC_NETLINK_LGR_R_OWN_MAX + 1];
	struct json_object *obj = json_object_new_object();
	__u64 val;

	ctl_parse_nest(nest, tb, SMC_NETLINK_LGR_R_OWN_MAX);
	if (ctl_attr_uint(tb[SMC_NLA_LGR_R_ID], &val))
		ctl_add_hex32(obj, "id", (__u32)val);
	if (ctl_attr_uint(tb[SMC_NLA_LGR_R_ROLE], &val))
		ctl_add_str(obj, "role", val ? "server" : "client");
	if (ctl_attr_uint(tb[SMC_NLA_LGR_R_TYPE], &val))
		ctl_add_str(obj, "type", name_of(types, ARRAY_SIZE(types), val));
	ctl_copy_uint(obj, "connections", tb[SMC_NLA_LGR_R_CONNS_NUM]);
	ctl_copy_uint(obj, "vlan", tb[SMC_NLA_LGR_R_VLAN_ID]);
	ctl_copy_str(obj, "pnetid", tb[SMC_NLA_LGR_R_PNETID]);
	if (ctl_attr_uint(tb[SMC_NLA_LGR_R_BUF_TYPE], &val))
		ctl_add_str(obj, "buffer_type", name_of(buf_types, ARRAY_SIZE(buf_types), val));
	ctl_copy_uint(obj, "sndbuf_bytes", tb[CTL_LGR_R_SNDBUF_ALLOC]);
	ctl_copy_uint(obj, "rmb_bytes", tb[CTL_LGR_R_RMB_ALLOC]);
	ctl_copy_uint(obj, "net_cookie", tb[SMC_NLA_LGR_R_NET_COOKIE]);
	ctl_copy_uint(obj, "links_lost", tb[SMC_NETLINK_LGR_R_OWN_LINKS_LOST]);
	ctl_copy_str(obj, "last_loss", tb[SMC_NETLINK_LGR_R_OWN_LOSS_REASON]);
	ctl_copy_uint(obj, "last_loss_seconds", tb[SMC_NETLINK_LGR_R_OWN_LOSS_AGE]);
	ctl_copy_uint(obj, "moved_connections", tb[SMC_NETLINK_LGR_R_OWN_MOVES]);
	if (tb[SMC_NLA_LGR_R_V2_COMMON])
		add_group_v2(obj, tb[SMC_NLA_LGR_R_V2_COMMON], tb[SMC_NLA_LGR_R_V2]);
	else
		ctl_add_u64(obj, "version", 1);
	return obj;
}

static int on_group(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *top[SMC_GEN_MAX + 1];

	ctl_parse_genl(nlh, top, SMC_GEN_MAX);
	if (top[SMC_GEN_LGR_SMCR])
		json_object_array_add(data, read_group(top[SMC_GEN_LGR_SMCR]));
	return MNL_CB_OK;
}

/* Nothing, or "show". */
static bool only_show(int argc, char **argv)
{
	return !argc || (argc == 1 && !strcmp(argv[0], "show"));
}

int ctl_linkgroup_read(struct json_object *groups)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_LGR_SMCR, .what = "the list of link groups", .dump = true,
	};

	return run_or_complain(&req, on_group, groups);
}

int ctl_linkgroup(const struct ctl_opts *opts, int argc, char **argv)
{
	static const struct ctl_column cols[] = {
		{ "ID", "id" }, { "ROLE", "role" }, { "TYPE", "type" }, { "CONNS", "connections" },
		{ "VERSION", "version" }, { "RELEASE", "release" }, { "SNDBUF", "sndbuf_bytes" },
		{ "RMB", "rmb_bytes" }, { "LOST", "links_lost" }, { "MOVED", "moved_connections" },
		{ "EID", "eid" }, { "PEER", "peer_host" }, { "PNETID", "pnetid" },
	};
	struct json_object *groups;

	if (!only_show(argc, argv))
		return ctl_linkgroup_order(argc, argv);
	groups = json_object_new_array();
	return finish(groups, ctl_linkgroup_read(groups), opts, cols, ARRAY_SIZE(cols));
}

/* The kernel sends each group before the links of it. */
static int on_link(const struct nlmsghdr *nlh, void *data)
{
	static const char * const states[] = { "unused", "inactive", "activating", "active" };
	const struct nlattr *top[SMC_GEN_MAX + 1], *tb[SMC_NETLINK_LINK_OWN_MAX + 1];
	const struct nlattr *lgr[SMC_NETLINK_LGR_R_OWN_MAX + 1];
	struct link_dump *dump = data;
	struct json_object *obj;
	__u64 val;

	ctl_parse_genl(nlh, top, SMC_GEN_MAX);
	if (top[SMC_GEN_LGR_SMCR]) {
		ctl_parse_nest(top[SMC_GEN_LGR_SMCR], lgr, SMC_NETLINK_LGR_R_OWN_MAX);
		dump->have_lgr = ctl_attr_uint(lgr[SMC_NLA_LGR_R_ID], &dump->lgr);
	}
	if (!top[SMC_GEN_LINK_SMCR])
		return MNL_CB_OK;
	obj = json_object_new_object();
	json_object_array_add(dump->links, obj);
	ctl_parse_nest(top[SMC_GEN_LINK_SMCR], tb, SMC_NETLINK_LINK_OWN_MAX);
	if (dump->have_lgr)
		ctl_add_hex32(obj, "group", (__u32)dump->lgr);
	ctl_copy_uint(obj, "id", tb[SMC_NLA_LINK_ID]);
	if (ctl_attr_uint(tb[SMC_NLA_LINK_STATE], &val))
		ctl_add_str(obj, "state", name_of(states, ARRAY_SIZE(states), val));
	ctl_copy_uint(obj, "connections", tb[SMC_NLA_LINK_CONN_CNT]);
	ctl_copy_uint(obj, "moved_connections", tb[SMC_NETLINK_LINK_OWN_MOVES]);
	ctl_copy_uint(obj, "active_seconds", tb[SMC_NETLINK_LINK_OWN_AGE]);
	ctl_copy_uint(obj, "bytes_under_way", tb[SMC_NETLINK_LINK_OWN_BYTES]);
	ctl_copy_uint(obj, "latency_ns", tb[SMC_NETLINK_LINK_OWN_LATENCY]);
	ctl_copy_uint(obj, "send_slots", tb[SMC_NETLINK_LINK_OWN_SENDS]);
	ctl_copy_uint(obj, "receives", tb[SMC_NETLINK_LINK_OWN_RECVS]);
	ctl_copy_str(obj, "device", tb[SMC_NLA_LINK_IB_DEV]);
	ctl_copy_uint(obj, "port", tb[SMC_NLA_LINK_IB_PORT]);
	ctl_copy_netdev(obj, "netdev", tb[SMC_NLA_LINK_NET_DEV]);
	/* four bytes in the order in which they are sent */
	if (ctl_attr_uint(tb[SMC_NLA_LINK_UID], &val))
		ctl_add_hex32(obj, "uid", ntohl((__u32)val));
	if (ctl_attr_uint(tb[SMC_NLA_LINK_PEER_UID], &val))
		ctl_add_hex32(obj, "peer_uid", ntohl((__u32)val));
	ctl_copy_str(obj, "gid", tb[SMC_NLA_LINK_GID]);
	ctl_copy_str(obj, "peer_gid", tb[SMC_NLA_LINK_PEER_GID]);
	return MNL_CB_OK;
}

int ctl_link_read(struct json_object *links)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_LINK_SMCR, .what = "the list of links", .dump = true,
	};
	struct link_dump dump = { .links = links };

	return run_or_complain(&req, on_link, &dump);
}

int ctl_link(const struct ctl_opts *opts, int argc, char **argv)
{
	static const struct ctl_column cols[] = {
		{ "GROUP", "group" }, { "ID", "id" }, { "STATE", "state" },
		{ "CONNS", "connections" }, { "MOVED", "moved_connections" },
		{ "SECONDS", "active_seconds" }, { "DEVICE", "device" }, { "PORT", "port" },
		{ "NETDEV", "netdev" }, { "UID", "uid" }, { "PEER-UID", "peer_uid" },
		{ "GID", "gid" }, { "PEER-GID", "peer_gid" },
	};
	struct json_object *links;

	if (!only_show(argc, argv))
		return ctl_link_order(argc, argv);
	links = json_object_new_array();
	return finish(links, ctl_link_read(links), opts, cols, ARRAY_SIZE(cols));
}

static void add_port(struct json_object *ports, const struct nlattr **dev, int attr, int number)
{
	const struct nlattr *tb[SMC_NLA_DEV_PORT_MAX + 1];
	struct json_object *obj;
	__u64 val;

	ctl_parse_nest(dev[attr], tb, SMC_NLA_DEV_PORT_MAX);
	if (!ctl_attr_uint(tb[SMC_NLA_DEV_PORT_VALID], &val) || !val)
		return;
	obj = json_object_new_object();
	json_object_array_add(ports, obj);
	ctl_copy_str(obj, "device", dev[SMC_NLA_DEV_IB_NAME]);
	ctl_add_u64(obj, "port", (__u64)number);
	ctl_copy_netdev(obj, "netdev", tb[SMC_NLA_DEV_PORT_NETDEV]);
	if (ctl_attr_uint(tb[SMC_NLA_DEV_PORT_STATE], &val))
		ctl_add_str(obj, "state", val ? "active" : "inactive");
	ctl_copy_uint(obj, "links", tb[SMC_NLA_DEV_PORT_LNK_CNT]);
	ctl_copy_str(obj, "pnetid", tb[SMC_NLA_DEV_PORT_PNETID]);
	copy_bool(obj, "pnetid_by_user", tb[SMC_NLA_DEV_PORT_PNET_USR]);
	copy_bool(obj, "critical", dev[SMC_NLA_DEV_IS_CRIT]);
	ctl_copy_str(obj, "pci", dev[SMC_NLA_DEV_PCI_ID]);
	ctl_copy_uint(obj, "pci_fid", dev[SMC_NLA_DEV_PCI_FID]);
	ctl_copy_uint(obj, "pci_chid", dev[SMC_NLA_DEV_PCI_CHID]);
	ctl_copy_uint(obj, "pci_vendor", dev[SMC_NLA_DEV_PCI_VENDOR]);
	ctl_copy_uint(obj, "pci_device", dev[SMC_NLA_DEV_PCI_DEVICE]);
}

static int on_device(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *top[SMC_GEN_MAX + 1], *tb[SMC_NLA_DEV_MAX + 1];

	ctl_parse_genl(nlh, top, SMC_GEN_MAX);
	ctl_parse_nest(top[SMC_GEN_DEV_SMCR], tb, SMC_NLA_DEV_MAX);
	add_port(data, tb, SMC_NLA_DEV_PORT, 1);
	add_port(data, tb, SMC_NLA_DEV_PORT2, 2);
	return MNL_CB_OK;
}

int ctl_device_read(struct json_object *ports)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_GET_DEV_SMCR, .what = "the list of devices", .dump = true,
	};

	return run_or_complain(&req, on_device, ports);
}

int ctl_device(const struct ctl_opts *opts)
{
	static const struct ctl_column cols[] = {
		{ "DEVICE", "device" }, { "PORT", "port" }, { "STATE", "state" },
		{ "NETDEV", "netdev" }, { "LINKS", "links" }, { "PNETID", "pnetid" },
		{ "PCI", "pci" },
	};
	struct json_object *ports = json_object_new_array();

	return finish(ports, ctl_device_read(ports), opts, cols, ARRAY_SIZE(cols));
}

static int on_ueid(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *tb[SMC_NLA_EID_TABLE_MAX + 1];
	char name[SMC_MAX_EID_LEN + 1];

	ctl_parse_genl(nlh, tb, SMC_NLA_EID_TABLE_MAX);
	if (ctl_attr_str(tb[SMC_NLA_EID_TABLE_ENTRY], name, sizeof(name)))
		json_object_array_add(data, json_object_new_string(name));
	return MNL_CB_OK;
}

int ctl_ueid_read(struct json_object *names)
{
	static const struct ctl_genl_req req = {
		.cmd = SMC_NETLINK_DUMP_UEID, .what = "the list of UEIDs", .dump = true,
	};

	return run_or_complain(&req, on_ueid, names);
}

static int ueid_show(const struct ctl_opts *opts)
{
	struct json_object *names = json_object_new_array();
	int rc = ctl_ueid_read(names);
	size_t i;

	if (rc == CTL_OK && opts->json) {
		ctl_print_json(names);
	} else if (rc == CTL_OK) {
		ctl_note_list(names);
		for (i = 0; i < json_object_array_length(names); i++)
			puts(json_object_get_string(json_object_array_get_idx(names, i)));
	}
	json_object_put(names);
	return rc;
}

/* Says what is wrong with a name before the kernel can only say EINVAL. */
static const char *ueid_fault(const char *name)
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

static int ueid_change(__u8 cmd, const char *name)
{
	const char *fault = ueid_fault(name);
	char padded[SMC_MAX_EID_LEN + 1];
	struct ctl_genl_req req = {
		.cmd = cmd, .what = "changing the list of UEIDs",
		.str_attr = SMC_NLA_EID_TABLE_ENTRY, .str = padded,
	};
	int err;

	if (fault) {
		ctl_fail("'%s' is no UEID: %s", name, fault);
		return CTL_USAGE;
	}
	snprintf(padded, sizeof(padded), "%-*s", SMC_MAX_EID_LEN, name);
	err = ctl_genl_run(&req, NULL, NULL);
	switch (err) {
	case 0:
		return CTL_OK;
	case EEXIST:
		ctl_fail("UEID %s is there already", name);
		break;
	case ENOENT:
		ctl_fail("there is no UEID %s", name);
		break;
	case ERANGE:
		ctl_fail("the list of UEIDs is full (%d entries)", SMC_MAX_UEID);
		break;
	case EINVAL:
		ctl_fail("the kernel does not accept %s as UEID", name);
		break;
	case EAGAIN:
		ctl_fail("UEID %s was the last one: the system's own EID is in use again", name);
		break;
	default:
		ctl_genl_failed(&req, err);
	}
	return CTL_FAILURE;
}

int ctl_ueid(const struct ctl_opts *opts, int argc, char **argv)
{
	static const struct ctl_genl_req flush = {
		.cmd = SMC_NETLINK_FLUSH_UEID, .what = "flushing the list of UEIDs",
	};

	if (argc == 0 || (argc == 1 && !strcmp(argv[0], "show")))
		return ueid_show(opts);
	if (argc == 2 && !strcmp(argv[0], "add"))
		return ueid_change(SMC_NETLINK_ADD_UEID, argv[1]);
	if (argc == 2 && !strcmp(argv[0], "del"))
		return ueid_change(SMC_NETLINK_REMOVE_UEID, argv[1]);
	if (argc == 1 && !strcmp(argv[0], "flush"))
		return run_or_complain(&flush, NULL, NULL);
	ctl_fail("ueid is followed by: show, add NAME, del NAME or flush");
	return CTL_USAGE;
}
