// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: PNET IDs of ports and netdevs: rdma/pnet_table.c. */
#include <kunit/test.h>
#include <linux/netdevice.h>
#include <net/net_namespace.h>
#include <smc/rdma/pnet_table.h>

#include "suites.h"

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
