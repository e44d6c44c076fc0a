// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: UEIDs and times: base/settings.c. */
#include <kunit/test.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <smc/base/settings.h>

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

static int ueid_add(const char *name)
{
	return smc_settings_add_ueid(&init_net, ueid_pad(name));
}

static int ueid_del(const char *name)
{
	return smc_settings_del_ueid(&init_net, ueid_pad(name));
}

/* Restore the state of a new namespace. */
static void settings_reset(struct kunit *test)
{
	smc_settings_flush_ueids(&init_net);
	smc_settings_get(&init_net)->ueid_default = true;
}

static int settings_init(struct kunit *test)
{
	settings_reset(test);
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

static void settings_default_ueid(struct kunit *test)
{
	EXPECT_UEIDS(test, default_ueid);
	/* The first added UEID replaces the default. */
	KUNIT_EXPECT_EQ(test, ueid_add("A"), 0);
	EXPECT_UEIDS(test, "A");
	KUNIT_EXPECT_EQ(test, ueid_del("A"), 0);
	ueids_expect(test, 0, NULL);
	/* The default does not come back on its own. */
	KUNIT_EXPECT_EQ(test, ueid_del(default_ueid), -ENOENT);
	KUNIT_EXPECT_EQ(test, ueid_add(default_ueid), 0);
	EXPECT_UEIDS(test, default_ueid);
	settings_reset(test);
	KUNIT_EXPECT_EQ(test, ueid_del(default_ueid), 0);
	ueids_expect(test, 0, NULL);
	settings_reset(test);
	smc_settings_flush_ueids(&init_net);
	ueids_expect(test, 0, NULL);
	/* Added while it is active, the default becomes an ordinary entry, not a second one. */
	settings_reset(test);
	KUNIT_EXPECT_EQ(test, ueid_add(default_ueid), 0);
	EXPECT_UEIDS(test, default_ueid);
	KUNIT_EXPECT_EQ(test, ueid_add(default_ueid), -EEXIST);
	KUNIT_EXPECT_EQ(test, ueid_add("B"), 0);
	EXPECT_UEIDS(test, default_ueid, "B");
}

static void settings_ueid_table(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ueid_add("A"), 0);
	KUNIT_EXPECT_EQ(test, ueid_add("B"), 0);
	KUNIT_EXPECT_EQ(test, ueid_add("C"), 0);
	KUNIT_EXPECT_EQ(test, ueid_add("D"), 0);
	KUNIT_EXPECT_EQ(test, ueid_add("E"), -ERANGE);
	KUNIT_EXPECT_EQ(test, ueid_add("B"), -EEXIST);
	EXPECT_UEIDS(test, "A", "B", "C", "D");
	KUNIT_EXPECT_EQ(test, ueid_del("E"), -ENOENT);
	KUNIT_EXPECT_EQ(test, ueid_del("D"), 0);
	EXPECT_UEIDS(test, "A", "B", "C");
	KUNIT_EXPECT_EQ(test, ueid_add("E"), 0);
	KUNIT_EXPECT_EQ(test, ueid_del("A"), 0);
	EXPECT_UEIDS(test, "B", "C", "E");
	KUNIT_EXPECT_EQ(test, ueid_del("C"), 0);
	EXPECT_UEIDS(test, "B", "E");
	smc_settings_flush_ueids(&init_net);
	ueids_expect(test, 0, NULL);
}

static void settings_ueid_syntax(struct kunit *test)
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
		KUNIT_EXPECT_EQ_MSG(test, ueid_add(good[i]), 0, "'%s'", good[i]);
	}
	smc_settings_flush_ueids(&init_net);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, ueid_add(bad[i]), -EINVAL, "row %d", i);
	KUNIT_EXPECT_EQ(test, smc_settings_add_ueid(&init_net, raw), -EINVAL);
	ueids_expect(test, 0, NULL);
}

static void settings_ueid_match(struct kunit *test)
{
	u8 peer[3][LEN], out[LEN];

	memcpy(peer[0], ueid_pad("X"), LEN);
	memcpy(peer[1], ueid_pad("C"), LEN);
	memcpy(peer[2], ueid_pad("B"), LEN);
	KUNIT_EXPECT_FALSE(test, smc_settings_match_ueid(&init_net, peer, 3, out));
	ueid_add("A");
	ueid_add("B");
	ueid_add("C");
	/* The peer's order decides. */
	KUNIT_EXPECT_TRUE(test, smc_settings_match_ueid(&init_net, peer, 3, out));
	KUNIT_EXPECT_MEMEQ(test, out, ueid_pad("C"), LEN);
	KUNIT_EXPECT_FALSE(test, smc_settings_match_ueid(&init_net, peer, 1, out));
	KUNIT_EXPECT_FALSE(test, smc_settings_match_ueid(&init_net, peer, 0, out));
	smc_settings_flush_ueids(&init_net);
	KUNIT_EXPECT_FALSE(test, smc_settings_match_ueid(&init_net, peer, 3, out));
}

/* The longest time is still valid for a timer. */
static void settings_jiffies(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smc_settings_jiffies(0), 0UL);
	KUNIT_EXPECT_EQ(test, smc_settings_jiffies(30), 30UL * HZ);
	KUNIT_EXPECT_GT(test, smc_settings_jiffies(INT_MAX), (unsigned long)INT_MAX / 2);
	KUNIT_EXPECT_LE(test, smc_settings_jiffies(INT_MAX), MAX_JIFFY_OFFSET);
}

static struct kunit_case settings_cases[] = {
	KUNIT_CASE(settings_default_ueid),
	KUNIT_CASE(settings_ueid_table),
	KUNIT_CASE(settings_ueid_syntax),
	KUNIT_CASE(settings_ueid_match),
	KUNIT_CASE(settings_jiffies),
	{ }
};

struct kunit_suite smc_settings_suite = {
	.name = "smc_settings",
	.init = settings_init,
	.exit = settings_reset,
	.test_cases = settings_cases,
};
