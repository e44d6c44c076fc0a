// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: peer addresses that are refused without a lookup, service levels: rdma/path.c. */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/rdma/path.h>

#include "suites.h"

static void set_ipv4(union ib_gid *gid, u32 addr)
{
	ipv6_addr_set_v4mapped(cpu_to_be32(addr), (struct in6_addr *)gid->raw);
}

/* What a peer may tell us is refused before the neighbour table is asked. */
static void path_resolve_refused(struct kunit *test)
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

static void path_resolve_self(struct kunit *test)
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
static void path_resolve_v1(struct kunit *test)
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

static void path_find_none(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;
	struct in6_addr any = IN6ADDR_ANY_INIT;
	struct smc_ib_gids gids;
	struct smc_path path;

	/* the one device there may be is not over lo with that address */
	KUNIT_EXPECT_EQ(test, smc_path_find(&init_net, lo, &any, &any, &path, &gids),
			SMC_CLC_DECL_NO_DEV);
	KUNIT_EXPECT_NULL(test, path.dev);
	smc_path_put(&path);
}

/* A VLAN device that was never registered, over another one; only what smc_path_*() reads. */
static struct net_device *make_vlan(struct kunit *test, struct net_device *real,
				    struct vlan_priority_tci_mapping *map)
{
	struct net_device *ndev;

	ndev = alloc_netdev(sizeof(struct vlan_dev_priv), "smcvlan", NET_NAME_UNKNOWN, ether_setup);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	ndev->priv_flags |= IFF_802_1Q_VLAN;
	vlan_dev_priv(ndev)->real_dev = real;
	rcu_assign_pointer(vlan_dev_priv(ndev)->egress_priority_map[map->priority & 15], map);
	return ndev;
}

/* The map of a VLAN device counts only if the real device has no traffic classes. */
static void path_map_priority(struct kunit *test)
{
	struct vlan_priority_tci_mapping map = { .priority = 4, .vlan_qos = 5 << VLAN_PRIO_SHIFT };
	struct vlan_priority_tci_mapping none = { .priority = 0, .vlan_qos = 6 << VLAN_PRIO_SHIFT };
	struct net_device *real, *vlan;

	if (!IS_ENABLED(CONFIG_VLAN_8021Q))
		kunit_skip(test, "no VLANs");
	real = alloc_etherdev(0);
	KUNIT_ASSERT_NOT_NULL(test, real);
	vlan = make_vlan(test, real, &map);
	rcu_assign_pointer(vlan_dev_priv(vlan)->egress_priority_map[0], &none);
	KUNIT_EXPECT_EQ(test, smc_path_map_priority(real, 4), 0);
	KUNIT_EXPECT_EQ(test, smc_path_map_priority(vlan, 4), 5);
	KUNIT_EXPECT_EQ(test, smc_path_map_priority(vlan, 3), 0);
	KUNIT_EXPECT_EQ(test, smc_path_map_priority(vlan, 0), 0);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, netdev_set_num_tc(real, 8), 0);
	netdev_set_prio_tc_map(real, 4, 7);
	rtnl_unlock();
	KUNIT_EXPECT_EQ(test, smc_path_map_priority(real, 4), 7);
	KUNIT_EXPECT_EQ(test, smc_path_map_priority(vlan, 4), 7);
	/* of a larger priority the lower four bits count */
	KUNIT_EXPECT_EQ(test, smc_path_map_priority(vlan, 0x10014), 7);
	free_netdev(vlan);
	free_netdev(real);
}

static struct kunit_case path_cases[] = {
	KUNIT_CASE(path_resolve_refused),
	KUNIT_CASE(path_resolve_self),
	KUNIT_CASE(path_resolve_v1),
	KUNIT_CASE(path_find_none),
	KUNIT_CASE(path_map_priority),
	{ }
};

struct kunit_suite smc_path_suite = {
	.name = "smc_path",
	.test_cases = path_cases,
};
