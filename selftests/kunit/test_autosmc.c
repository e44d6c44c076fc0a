// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: what handshake/autosmc.c learns from connections. Times: cases/autosmc.sh. */
#include <kunit/test.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/handshake/autosmc.h>

#include "suites.h"

#define BYTES	1000

static struct smc_autosmc_key key_of(u32 peer, u16 port, bool server, u32 uid)
{
	struct smc_rules_path path = {};
	struct smc_autosmc_key key;

	ipv6_addr_set_v4mapped(htonl(0x0a000000 + peer), &path.remote.addr);
	path.remote.port = server ? 50000 + uid : port;
	path.local.port = server ? port : 50000;
	smc_autosmc_set_key(&key, &path, server, KUIDT_INIT(uid));
	return key;
}

static bool wants_tcp(const struct smc_autosmc_key *key)
{
	return smc_autosmc_wants_tcp(&init_net, key);
}

static void note(const struct smc_autosmc_key *key, u64 bytes, u32 seconds, bool smc, int times)
{
	struct smc_autosmc_use use = { .bytes = bytes, .time = seconds * HZ, .smc = smc };

	while (times--)
		smc_autosmc_note(&init_net, key, &use);
}

static void note_short(const struct smc_autosmc_key *key, int times)
{
	note(key, BYTES - 1, SMC_SETTINGS_AUTOSMC_TIME - 1, true, times);
}

static int autosmc_suite_test_init(struct kunit *test)
{
	smc_settings_get(&init_net)->autosmc_bytes = BYTES;
	return 0;
}

static void autosmc_suite_test_exit(struct kunit *test)
{
	smc_settings_get(&init_net)->autosmc_bytes = 0;
}

static void autosmc_run(struct kunit *test)
{
	struct smc_autosmc_key key = key_of(1, 80, false, 0);

	note_short(&key, SMC_AUTOSMC_RUN - 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, 1);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	/* those that were there before change nothing */
	note_short(&key, 3);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
}

/* One that is not short, in bytes or time, over SMC or TCP, makes the others begin anew. */
static void autosmc_long(struct kunit *test)
{
	struct smc_autosmc_key key = key_of(2, 80, false, 0);

	note_short(&key, SMC_AUTOSMC_RUN - 1);
	note(&key, BYTES, 0, true, 1);
	note_short(&key, SMC_AUTOSMC_RUN - 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, 1);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	note(&key, 1, 0, false, 2 * SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	note(&key, 1, SMC_SETTINGS_AUTOSMC_TIME, false, 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	note(&key, BYTES, 0, false, 1);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
}

/* Short connections over TCP alone are no experience with SMC. */
static void autosmc_tcp_only(struct kunit *test)
{
	struct smc_autosmc_key key = key_of(3, 80, false, 0);

	note(&key, 1, 0, false, 2 * SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
}

/* Whose experience it is. */
static void autosmc_keys(struct kunit *test)
{
	struct smc_autosmc_key client = key_of(4, 80, false, 1), server = key_of(4, 80, true, 1);
	struct smc_autosmc_key other[] = {
		key_of(5, 80, false, 1), key_of(4, 81, false, 1), key_of(4, 80, false, 2),
		key_of(5, 80, true, 1), key_of(4, 81, true, 1),
	};
	struct smc_autosmc_key again = key_of(4, 80, true, 2);
	int i;

	note_short(&client, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&server));
	note_short(&server, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&client));
	/* for a server, users and ports of a host are one */
	KUNIT_EXPECT_TRUE(test, wants_tcp(&again));
	for (i = 0; i < ARRAY_SIZE(other); i++)
		KUNIT_EXPECT_FALSE_MSG(test, wants_tcp(&other[i]), "key %d", i);
}

/* The memory is of fixed size: many others make the old experience go, and the new one stays. */
static void autosmc_full(struct kunit *test)
{
	struct smc_autosmc_key first = key_of(6, 80, false, 0), key;
	u32 n, kept = 0;

	note_short(&first, SMC_AUTOSMC_RUN);
	for (n = 0; n < 10000; n++) {
		key = key_of(1000 + n, 80, false, 0);
		note_short(&key, 1);
	}
	note_short(&key, SMC_AUTOSMC_RUN - 1);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	for (n = 0; n < 10000; n++) {
		key = key_of(1000 + n, 80, false, 0);
		note_short(&key, SMC_AUTOSMC_RUN - 1);
		kept += wants_tcp(&key);
	}
	/* each was new when it was noted again, but for the last ones of their buckets */
	KUNIT_EXPECT_LE(test, kept, 1024);
	KUNIT_EXPECT_FALSE(test, wants_tcp(&first));
}

static void autosmc_off(struct kunit *test)
{
	struct smc_autosmc_key key = key_of(7, 80, false, 0);

	smc_settings_get(&init_net)->autosmc_bytes = 0;
	note_short(&key, SMC_AUTOSMC_RUN);
	smc_settings_get(&init_net)->autosmc_bytes = BYTES;
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
	note_short(&key, SMC_AUTOSMC_RUN);
	KUNIT_EXPECT_TRUE(test, wants_tcp(&key));
	smc_settings_get(&init_net)->autosmc_bytes = 0;
	KUNIT_EXPECT_FALSE(test, wants_tcp(&key));
}

static struct kunit_case autosmc_cases[] = {
	KUNIT_CASE(autosmc_run),
	KUNIT_CASE(autosmc_long),
	KUNIT_CASE(autosmc_tcp_only),
	KUNIT_CASE(autosmc_keys),
	KUNIT_CASE(autosmc_full),
	KUNIT_CASE(autosmc_off),
	{}
};

struct kunit_suite smc_autosmc_suite = {
	.name = "smc_autosmc",
	.init = autosmc_suite_test_init,
	.exit = autosmc_suite_test_exit,
	.test_cases = autosmc_cases,
};
