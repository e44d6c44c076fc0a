// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: UEIDs and times of base/settings.c; addresses that rdma/path.c refuses; PNET IDs. */
#include <kunit/test.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/base/settings.h>
#include <smc/rdma/path.h>
#include <smc/rdma/pnet_table.h>

#include "suites.h"

#define LEN	SMC_SETTINGS_UEID_LEN
#define TABLE	SMC_SETTINGS_UEIDS_MAX

static const char default_ueid[] = "SMCV2-DEFAULT-UEID";

/* Pad a name with blanks; uses a few buffers in turn. */
static const u8 *ueid_pad(const char *name)
{
	static u8 bufs[8][LEN];
	static unsigned int next;
	u8 *buf = bufs[next++ % ARRAY_SIZE(bufs)];

	memset(buf, ' ', LEN);
	memcpy(buf, name, min_t(size_t, strlen(name), LEN));
	return buf;
}

static int policy_add(const char *name)
{
	return smc_settings_add_ueid(&init_net, ueid_pad(name));
}

static int policy_del(const char *name)
{
	return smc_settings_del_ueid(&init_net, ueid_pad(name));
}

/* Restore the state of a new namespace. */
static void policy_reset(struct kunit *test)
{
	smc_settings_flush_ueids(&init_net);
	smc_settings_get(&init_net)->ueid_default = true;
}

static int policy_init(struct kunit *test)
{
	policy_reset(test);
	return 0;
}

static void ueids_expect(struct kunit *test, u32 n, const char * const *names)
{
	u8 out[TABLE][LEN];
	u32 i;

	KUNIT_ASSERT_EQ(test, smc_settings_get_ueids(&init_net, out), n);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_MEMEQ(test, out[i], ueid_pad(names[i]), LEN);
}

#define EXPECT_UEIDS(test, ...) do {						\
	static const char * const names_[] = { __VA_ARGS__ };			\
										\
	ueids_expect(test, ARRAY_SIZE(names_), names_);				\
} while (0)

static void policy_default_ueid(struct kunit *test)
{
	EXPECT_UEIDS(test, default_ueid);
	/* The first added UEID replaces the default. */
	KUNIT_EXPECT_EQ(test, policy_add("A"), 0);
	EXPECT_UEIDS(test, "A");
	KUNIT_EXPECT_EQ(test, policy_del("A"), 0);
	ueids_expect(test, 0, NULL);
	/* The default does not come back on its own. */
	KUNIT_EXPECT_EQ(test, policy_del(default_ueid), -ENOENT);
	KUNIT_EXPECT_EQ(test, policy_add(default_ueid), 0);
	EXPECT_UEIDS(test, default_ueid);
	policy_reset(test);
	KUNIT_EXPECT_EQ(test, policy_del(default_ueid), 0);
	ueids_expect(test, 0, NULL);
	policy_reset(test);
	smc_settings_flush_ueids(&init_net);
	ueids_expect(test, 0, NULL);
	/* Added while it is active, the default becomes an ordinary entry, not a second one. */
	policy_reset(test);
	KUNIT_EXPECT_EQ(test, policy_add(default_ueid), 0);
	EXPECT_UEIDS(test, default_ueid);
	KUNIT_EXPECT_EQ(test, policy_add(default_ueid), -EEXIST);
	KUNIT_EXPECT_EQ(test, policy_add("B"), 0);
	EXPECT_UEIDS(test, default_ueid, "B");
}

static void policy_ueid_table(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, policy_add("A"), 0);
	KUNIT_EXPECT_EQ(test, policy_add("B"), 0);
	KUNIT_EXPECT_EQ(test, policy_add("C"), 0);
	KUNIT_EXPECT_EQ(test, policy_add("D"), 0);
	KUNIT_EXPECT_EQ(test, policy_add("E"), -ERANGE);
	KUNIT_EXPECT_EQ(test, policy_add("B"), -EEXIST);
	EXPECT_UEIDS(test, "A", "B", "C", "D");
	KUNIT_EXPECT_EQ(test, policy_del("E"), -ENOENT);
	KUNIT_EXPECT_EQ(test, policy_del("D"), 0);
	EXPECT_UEIDS(test, "A", "B", "C");
	KUNIT_EXPECT_EQ(test, policy_add("E"), 0);
	KUNIT_EXPECT_EQ(test, policy_del("A"), 0);
	EXPECT_UEIDS(test, "B", "C", "E");
	KUNIT_EXPECT_EQ(test, policy_del("C"), 0);
	EXPECT_UEIDS(test, "B", "E");
	smc_settings_flush_ueids(&init_net);
	ueids_expect(test, 0, NULL);
}

static void policy_ueid_syntax(struct kunit *test)
{
	static const char * const good[] = {
		"A", "9", "A.B-C", "A-", "A.", "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
	};
	static const char * const bad[] = {
		"", " A", "a", "Aa", "A B", "-A", ".A", "A..B", "A_B", "A\t", "A\xc4",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ01234\n", "\xc4",
	};
	u8 raw[LEN] = "A";	/* padded by zeroes */
	int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		smc_settings_flush_ueids(&init_net);
		KUNIT_EXPECT_EQ_MSG(test, policy_add(good[i]), 0, "'%s'", good[i]);
	}
	smc_settings_flush_ueids(&init_net);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, policy_add(bad[i]), -EINVAL, "row %d", i);
	KUNIT_EXPECT_EQ(test, smc_settings_add_ueid(&init_net, raw), -EINVAL);
	ueids_expect(test, 0, NULL);
}

static void policy_ueid_match(struct kunit *test)
{
	u8 peer[3][LEN], out[LEN];

	memcpy(peer[0], ueid_pad("X"), LEN);
	memcpy(peer[1], ueid_pad("C"), LEN);
	memcpy(peer[2], ueid_pad("B"), LEN);
	KUNIT_EXPECT_FALSE(test, smc_settings_match_ueid(&init_net, peer, 3, out));
	policy_add("A");
	policy_add("B");
	policy_add("C");
	/* The peer's order decides. */
	KUNIT_EXPECT_TRUE(test, smc_settings_match_ueid(&init_net, peer, 3, out));
	KUNIT_EXPECT_MEMEQ(test, out, ueid_pad("C"), LEN);
	KUNIT_EXPECT_FALSE(test, smc_settings_match_ueid(&init_net, peer, 1, out));
	KUNIT_EXPECT_FALSE(test, smc_settings_match_ueid(&init_net, peer, 0, out));
	smc_settings_flush_ueids(&init_net);
	KUNIT_EXPECT_FALSE(test, smc_settings_match_ueid(&init_net, peer, 3, out));
}

/* The longest time is still valid for a timer. */
static void policy_jiffies(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smc_settings_jiffies(0), 0UL);
	KUNIT_EXPECT_EQ(test, smc_settings_jiffies(30), 30UL * HZ);
	KUNIT_EXPECT_GT(test, smc_settings_jiffies(INT_MAX), (unsigned long)INT_MAX / 2);
	KUNIT_EXPECT_LE(test, smc_settings_jiffies(INT_MAX), MAX_JIFFY_OFFSET);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(policy_default_ueid),
	KUNIT_CASE(policy_ueid_table),
	KUNIT_CASE(policy_ueid_syntax),
	KUNIT_CASE(policy_ueid_match),
	KUNIT_CASE(policy_jiffies),
	{ }
};

struct kunit_suite smc_settings_suite = {
	.name = "smc_policy",
	.init = policy_init,
	.exit = policy_reset,
	.test_cases = policy_cases,
};

/* ---- rdma/path.c ---- */

static void set_ipv4(union ib_gid *gid, u32 addr)
{
	ipv6_addr_set_v4mapped(cpu_to_be32(addr), (struct in6_addr *)gid->raw);
}

/* What a peer may tell us is refused before the neighbour table is asked. */
static void pnet_resolve_refused(struct kunit *test)
{
	static const u32 bad4[] = { 0, 0xe0000001, 0xefffffff, 0xffffffff };
	static const struct in6_addr bad6[] = {
		IN6ADDR_ANY_INIT, IN6ADDR_LINKLOCAL_ALLNODES_INIT,
		/* of the other family */
		{ .s6_addr = { 0xfd, [15] = 1 } },
	};
	struct smc_path path = { };
	union ib_gid gid;
	bool direct;
	u8 mac[6];
	int i;

	set_ipv4(&path.gid.gid, 0x0a000001);
	for (i = 0; i < ARRAY_SIZE(bad4); i++) {
		set_ipv4(&gid, bad4[i]);
		KUNIT_EXPECT_EQ_MSG(test, smc_path_resolve(&path, &gid, mac, &direct),
				    -EHOSTUNREACH, "IPv4 row %d", i);
	}
	for (i = 0; i < ARRAY_SIZE(bad6); i++) {
		memcpy(gid.raw, &bad6[i], sizeof(gid.raw));
		KUNIT_EXPECT_EQ_MSG(test, smc_path_resolve(&path, &gid, mac, &direct),
				    -EHOSTUNREACH, "IPv6 row %d", i);
	}
}

static void pnet_resolve_self(struct kunit *test)
{
	struct smc_path path = { .gid.mac = { 2, 4, 6, 8, 10, 12 } };
	bool direct = false;
	u8 mac[6] = { };

	set_ipv4(&path.gid.gid, 0x0a000001);
	KUNIT_EXPECT_EQ(test, smc_path_resolve(&path, &path.gid.gid, mac, &direct), 0);
	KUNIT_EXPECT_TRUE(test, direct);
	KUNIT_EXPECT_MEMEQ(test, mac, path.gid.mac, sizeof(mac));
}

/* RoCE v1 has no neighbour table: a MAC of the message is accepted if it is valid for a host. */
static void pnet_resolve_v1(struct kunit *test)
{
	struct smc_path path = { .gid.roce_v1 = true };
	u8 good[6] = { 2, 4, 6, 8, 10, 12 }, group[6] = { 1, 4, 6, 8, 10, 12 }, none[6] = { };
	union ib_gid gid = { };
	bool direct = false;

	KUNIT_EXPECT_EQ(test, smc_path_resolve(&path, &gid, good, &direct), 0);
	KUNIT_EXPECT_TRUE(test, direct);
	KUNIT_EXPECT_EQ(test, good[5], 12);
	KUNIT_EXPECT_EQ(test, smc_path_resolve(&path, &gid, group, &direct), -EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, smc_path_resolve(&path, &gid, none, &direct), -EHOSTUNREACH);
}

static void pnet_no_path(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;
	struct in6_addr any = IN6ADDR_ANY_INIT;
	struct smc_ib_gids gids;
	struct smc_path path;

	/* the one device there may be is not over lo with that address */
	KUNIT_EXPECT_EQ(test, smc_path_find(&init_net, lo, &any, &path, &gids),
			SMC_CLC_DECL_NO_DEV);
	KUNIT_EXPECT_NULL(test, path.dev);
	smc_path_put(&path);
}

static struct kunit_case pnet_cases[] = {
	KUNIT_CASE(pnet_resolve_refused),
	KUNIT_CASE(pnet_resolve_self),
	KUNIT_CASE(pnet_resolve_v1),
	KUNIT_CASE(pnet_no_path),
	{ }
};

struct kunit_suite smc_pnet_suite = {
	.name = "smc_pnet",
	.test_cases = pnet_cases,
};

/* ---- rdma/pnet_table.c ---- */

static void pnet_table_exit(struct kunit *test)
{
	smc_pnet_flush(&init_net);
}

static void pnet_table_syntax(struct kunit *test)
{
	static const struct {
		const char *text;
		const char *id;		/* NULL: it is none */
	} rows[] = {
		{ "NET1", "NET1" }, { "net1", "NET1" }, { "  a ", "A" }, { "0", "0" },
		{ "ABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP" },
		{ "  ABCDEFGHIJKLMNOP  ", "ABCDEFGHIJKLMNOP" },
		{ "ABCDEFGHIJKLMNOPQ" }, { "" }, { " " }, { "A B" }, { "A.B" }, { "A-" }, { "_" },
		{ "\t" }, { "A\n" }, { "\xc4" }, { "@" }, { "[" }, { "`" }, { "{" }, { "/" },
		{ ":" },
	};
	char id[SMC_PNET_ID_LEN + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, smc_pnet_parse_id(rows[i].text, id),
				    rows[i].id ? 0 : -EINVAL, "row %zu", i);
		if (rows[i].id)
			KUNIT_EXPECT_STREQ(test, id, rows[i].id);
	}
}

/* The ID of a port, "" = none. */
static const char *port_id(const char *name, const char *parent, u8 port)
{
	static char id[SMC_PNET_ID_LEN + 1];

	return smc_pnet_find_port(&init_net, name, parent, port, id) ? id : "";
}

static void pnet_table_ports(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "A", NULL, "dev0", 1), 0);
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "B", NULL, "dev0", 2), 0);
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "C", NULL, "0000:01:00.0", 1), 0);
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "C", NULL, "dev0", 1), -EEXIST);
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "C", NULL, "dev0", 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "C", NULL, "dev0", 3), -EINVAL);
	KUNIT_EXPECT_STREQ(test, port_id("dev0", NULL, 1), "A");
	KUNIT_EXPECT_STREQ(test, port_id("dev0", NULL, 2), "B");
	KUNIT_EXPECT_STREQ(test, port_id("dev0", NULL, 3), "");
	KUNIT_EXPECT_STREQ(test, port_id("dev1", NULL, 1), "");
	KUNIT_EXPECT_STREQ(test, port_id("dev1", "0000:01:00.0", 1), "C");
	/* the name says more than the slot */
	KUNIT_EXPECT_STREQ(test, port_id("dev0", "0000:01:00.0", 1), "A");
	KUNIT_EXPECT_TRUE(test, smc_pnet_has_port(&init_net, "B"));
	KUNIT_EXPECT_FALSE(test, smc_pnet_has_port(&init_net, "D"));
	KUNIT_EXPECT_EQ(test, smc_pnet_del(&init_net, "B"), 0);
	KUNIT_EXPECT_EQ(test, smc_pnet_del(&init_net, "B"), -ENOENT);
	KUNIT_EXPECT_STREQ(test, port_id("dev0", NULL, 2), "");
}

static void pnet_table_rename(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "A", NULL, "dev0", 1), 0);
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "B", NULL, "dev0", 2), 0);
	/* waits for a device that will be called so */
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "C", NULL, "dev1", 1), 0);
	smc_pnet_rename_port(&init_net, "dev0", "dev1");
	KUNIT_EXPECT_STREQ(test, port_id("dev0", NULL, 1), "");
	KUNIT_EXPECT_STREQ(test, port_id("dev1", NULL, 1), "A");
	KUNIT_EXPECT_STREQ(test, port_id("dev1", NULL, 2), "B");
	KUNIT_EXPECT_FALSE(test, smc_pnet_has_port(&init_net, "C"));
	/* a device without an entry takes up what waits */
	smc_pnet_rename_port(&init_net, "dev7", "dev0");
	KUNIT_EXPECT_STREQ(test, port_id("dev0", NULL, 1), "");
}

static void pnet_table_netdevs(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;
	char id[SMC_PNET_ID_LEN + 1];

	KUNIT_EXPECT_FALSE(test, smc_pnet_find_netdev(&init_net, lo, id));
	/* both or none */
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "A", NULL, "dev0", 1), 0);
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "B", "lo", "dev0", 1), -EEXIST);
	KUNIT_EXPECT_FALSE(test, smc_pnet_find_netdev(&init_net, lo, id));
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "A", "lo", "dev0", 1), 0);
	KUNIT_EXPECT_TRUE(test, smc_pnet_find_netdev(&init_net, lo, id));
	KUNIT_EXPECT_STREQ(test, id, "A");
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "A", "lo", "dev0", 1), -EEXIST);
	KUNIT_EXPECT_EQ(test, smc_pnet_add(&init_net, "A", NULL, NULL, 1), -EEXIST);
}

static struct kunit_case pnet_table_cases[] = {
	KUNIT_CASE(pnet_table_syntax),
	KUNIT_CASE(pnet_table_ports),
	KUNIT_CASE(pnet_table_rename),
	KUNIT_CASE(pnet_table_netdevs),
	{ }
};

struct kunit_suite smc_pnet_table_suite = {
	.name = "smc_pnet_table",
	.exit = pnet_table_exit,
	.test_cases = pnet_table_cases,
};
