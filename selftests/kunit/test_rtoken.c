// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: the rtokens of a group (lgr/rtoken.c). */
#include <kunit/test.h>
#include <linux/slab.h>
#include <smc/lgr/lgr.h>

#include "suites.h"

#define TABLE	SMC_LGR_RTOKENS

static int rtoken_init(struct kunit *test)
{
	struct smc_lgr *lgr = kunit_kzalloc(test, sizeof(*lgr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, lgr);
	/* the only members that the tested functions use */
	test->priv = lgr;
	return smc_rtoken_init_table(lgr);
}

static void rtoken_exit(struct kunit *test)
{
	smc_rtoken_free_table(test->priv);
}

static u32 rtoken_count_used(const struct smc_lgr *lgr)
{
	u32 i, n = 0;

	for (i = 0; i < TABLE && lgr->rtokens[i / SMC_LGR_RTOKEN_PIECE]; i++)
		n += smc_rtoken_of(lgr, i)->used;
	return n;
}

/* The peer announces an RMB; who gets no response is not of interest. */
static int rtoken_announce(struct smc_lgr *lgr, u32 slot, u32 rkey, u64 addr)
{
	u32 added;

	return smc_rtoken_add(lgr, slot, rkey, addr, &added);
}

static void rtoken_add(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int a, b;

	a = rtoken_announce(lgr, 0, 0x11, 0x1000);
	b = rtoken_announce(lgr, 0, 0x22, 0x2000);
	KUNIT_ASSERT_GE(test, a, 0);
	KUNIT_ASSERT_GE(test, b, 0);
	KUNIT_EXPECT_NE(test, a, b);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 0x11, 0x1000), a);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 2);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->rkey[0], 0x11);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->addr[0], 0x1000);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->links, BIT(0));
	/* the same key on another link is another RMB */
	KUNIT_EXPECT_NE(test, rtoken_announce(lgr, 1, 0x11, 0x1000), a);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 3);
}

/* Key 0 is valid, and an unused entry does not match it. */
static void rtoken_key_zero(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int a;

	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 0), -ENOENT);
	a = rtoken_announce(lgr, 3, 0, 0x1000);
	KUNIT_ASSERT_GE(test, a, 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 2, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 3, 0), 0);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 0);
}

static void rtoken_bounds(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	u32 bad = SMC_LGR_LINKS;
	int a = rtoken_announce(lgr, SMC_LGR_LINKS - 1, 1, 1);

	KUNIT_EXPECT_EQ(test, a, 0);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, bad, 1, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, U32_MAX, 1, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, bad, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, bad, 1, 0, 1, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 1, bad, 1, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 8, 1, 8, 1, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, bad, 1, 1), -EINVAL);
	smc_rtoken_put(lgr, -1);
	smc_rtoken_put(lgr, TABLE);
	smc_rtoken_put(lgr, 1);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 1);
}

static void rtoken_full(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int i;

	for (i = 0; i < TABLE; i++) {
		KUNIT_EXPECT_TRUE(test, smc_rtoken_has_room(lgr));
		KUNIT_ASSERT_EQ(test, smc_rtoken_get(lgr, 0, i, i), i);
	}
	KUNIT_EXPECT_FALSE(test, smc_rtoken_has_room(lgr));
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, TABLE, TABLE), -ENOSPC);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, TABLE, TABLE), -ENOSPC);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 77, 77), 77);
	smc_rtoken_put(lgr, 77);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_has_room(lgr));
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, TABLE, TABLE), 77);
	/* the last entry is usable too */
	smc_rtoken_put(lgr, TABLE - 1);
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, TABLE - 1), 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, TABLE + 1, 1), TABLE - 1);
}

/* The table grows by a piece when the RMBs in use leave no entry, and not before. */
static void rtoken_pieces(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	const u32 piece = SMC_LGR_RTOKEN_PIECE;
	struct smc_rtoken *first = smc_rtoken_of(lgr, 0);
	u32 i;

	for (i = 0; i < piece; i++)
		KUNIT_ASSERT_EQ(test, smc_rtoken_get(lgr, 0, 1 + i, 1), i);
	KUNIT_EXPECT_NULL(test, lgr->rtokens[1]);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_has_room(lgr));
	/* entries that there are not */
	KUNIT_EXPECT_FALSE(test, smc_rtoken_has_link(lgr, piece, 0));
	smc_rtoken_put(lgr, piece);
	smc_rtoken_undo_add(lgr, piece, 1);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1 + piece, 1), -ENOKEY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, 1 + piece, 1), piece);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1 + piece, 1), piece);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_has_link(lgr, piece, 0));
	KUNIT_EXPECT_NOT_NULL(test, lgr->rtokens[1]);
	KUNIT_EXPECT_NULL(test, lgr->rtokens[2]);
	KUNIT_EXPECT_PTR_EQ(test, smc_rtoken_of(lgr, 0), first);
	/* what is free in an earlier piece is taken first */
	smc_rtoken_put(lgr, 3);
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 1 + 3), 0);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 99, 1), 3);
	smc_rtoken_lose_slot(lgr, 0);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_has_link(lgr, piece, 0));
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), piece);
}

/* The RMB without references that was announced longest ago is replaced, with all its keys. */
static void rtoken_makes_room(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int i;

	/* the counter wraps */
	lgr->rtoken_announcements = U32_MAX - TABLE / 2;
	for (i = 0; i < TABLE; i++)
		KUNIT_ASSERT_EQ(test, rtoken_announce(lgr, 0, i, i), i);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 2, 1, 0x11, 0x1100), 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 1, 1), 1);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_has_room(lgr));
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, TABLE, TABLE), 2);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, 2)->links, BIT(0));
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 2), -ENOENT);
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 1, 0x11), -ENOENT);
	/* the replaced RMB gets another entry */
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, 2, 2), 3);
	for (i = 0; i < 2 * TABLE; i++)
		KUNIT_ASSERT_GE(test, rtoken_announce(lgr, 0, 1000 + i, i), 0);
	/* entries with references are never replaced */
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, 0)->rkey[0], 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, 0)->refs, 1);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, 3)->rkey[0], 2);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), TABLE);
}

/* The entry of a connection does not change, whatever the peer announces. */
static void rtoken_in_use(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int a = smc_rtoken_get(lgr, 0, 1, 0x1000);

	KUNIT_ASSERT_GE(test, a, 0);
	KUNIT_ASSERT_EQ(test, smc_rtoken_get(lgr, 0, 1, 0x1000), a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, 1, 0x9000), -EBUSY);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 1, 0x9000), -EBUSY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->addr[0], 0x1000);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 1, 0x1000), a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 1), -EBUSY);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_of(lgr, a)->used);
	smc_rtoken_put(lgr, a);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_of(lgr, a)->used);
	smc_rtoken_put(lgr, a);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 0);
	/* without references the key may be reused for other memory */
	a = rtoken_announce(lgr, 0, 1, 0x1000);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 1, 2, 5, 0x5000), 0);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 1, 0x9000), a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->addr[0], 0x9000);
	/* this drops the old RMB's keys on other links */
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->links, BIT(0));
}

/* smc_rtoken_get_known() finds only RMBs announced with that key and address, not deleted ones. */
static void rtoken_take_known(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int a = rtoken_announce(lgr, 0, 1, 0x1000), first;

	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 2, 0x1000), -ENOKEY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x2000), -ENOKEY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 1, 1, 0x1000), -ENOKEY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, SMC_LGR_LINKS, 1, 0x1000), -EINVAL);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 1);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->refs, 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x1000), a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->refs, 1);
	/* over another link, the key of that link counts */
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 1, 1, 0x11, 0x1100), 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 1, 0x11, 0x1100), a);
	/* deleted while referenced, and announced again */
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x1000), -ENOKEY);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 1, 0x1000), a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x1000), a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->refs, 3);
	/* an RMB named in a first contact counts as announced */
	first = smc_rtoken_get(lgr, 0, 3, 0x3000);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 3, 0x3000), first);
}

/* Taking a reference makes an entry recent, so it is not replaced next. */
static void rtoken_known_last(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int i;

	for (i = 0; i < TABLE; i++)
		KUNIT_ASSERT_EQ(test, rtoken_announce(lgr, 0, i, i), i);
	KUNIT_ASSERT_EQ(test, smc_rtoken_get_known(lgr, 0, 0, 0), 0);
	smc_rtoken_put(lgr, 0);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, TABLE, TABLE), 1);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 1), -ENOKEY);
}

/* An RMB stays if it is deleted and announced again before its last reference is dropped. */
static void rtoken_doomed_again(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int a = smc_rtoken_get(lgr, 0, 1, 0x1000);

	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 1, 0x1000), a);
	smc_rtoken_put(lgr, a);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 1);
	/* a surplus release has no effect */
	smc_rtoken_put(lgr, a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->refs, 0);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 1);
}

static void rtoken_set_link(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int a = rtoken_announce(lgr, 0, 1, 0x1000);
	int b = rtoken_announce(lgr, 0, 2, 0x2000);

	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 9, 1, 0x11, 0x1100), -ENOENT);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 1, 1, 0x11, 0x1100), 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->links, BIT(0) | BIT(1));
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->rkey[1], 0x11);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->addr[1], 0x1100);
	/* one key cannot name two RMBs */
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 2, 1, 0x11, 0x1100), -EBUSY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, b)->links, BIT(0));
	/* now found by either key */
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 1, 0x11, 0x1100), a);
	/* repeating is allowed; a change is refused while referenced */
	KUNIT_EXPECT_EQ(test, smc_rtoken_get(lgr, 0, 1, 0x1000), a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 1, 1, 0x11, 0x1100), 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 1, 1, 0x12, 0x1100), -EBUSY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 1, 1, 0x11, 0x1200), -EBUSY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->addr[1], 0x1100);
	/* a third link may be added meanwhile */
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 1, 0x11, 2, 0x21, 0x2100), 0);
	smc_rtoken_put(lgr, a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_set_link(lgr, 0, 1, 1, 0x12, 0x1200), 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->rkey[1], 0x12);
}

/* A removed link drops its keys; an entry without keys and references is free. */
static void rtoken_forget(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int both = rtoken_announce(lgr, 0, 1, 0x1000);
	int only = rtoken_announce(lgr, 0, 2, 0x2000);
	int held = smc_rtoken_get(lgr, 0, 3, 0x3000);

	smc_rtoken_set_link(lgr, 0, 1, 1, 0x11, 0x1100);
	smc_rtoken_clear_slot(lgr, 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, both)->links, BIT(1));
	KUNIT_EXPECT_FALSE(test, smc_rtoken_of(lgr, only)->used);
	/* an entry with references is not reused */
	KUNIT_EXPECT_TRUE(test, smc_rtoken_of(lgr, held)->used);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, held)->links, 0);
	KUNIT_EXPECT_NE(test, rtoken_announce(lgr, 0, 3, 0x3000), held);
	smc_rtoken_put(lgr, held);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_of(lgr, held)->used);
	/* the slot's next link starts without keys */
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 1, 0x11), 0);
}

/* The key of a lost link names the RMB until another link has the slot, and nothing else. */
static void rtoken_lost(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int both = rtoken_announce(lgr, 0, 1, 0x1000);
	int only = rtoken_announce(lgr, 0, 2, 0x2000);

	smc_rtoken_set_link(lgr, 0, 1, 1, 0x11, 0x1100);
	smc_rtoken_lose_slot(lgr, 0);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_of(lgr, only)->used);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 2, 0x2000), -ENOKEY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x2000), -ENOKEY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 2, 0, 0), -ENOKEY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x1000), both);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_has_link(lgr, both, 0));
	KUNIT_EXPECT_TRUE(test, smc_rtoken_has_link(lgr, both, 1));
	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 1), -ENOENT);
	smc_rtoken_clear_slot(lgr, 0);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x1000), -ENOKEY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, both)->refs, 1);
}

/*
 * The link is lost while a repeated announcement is processed: the RMB is known, has no second
 * entry, and no key that can be used on that link.
 */
static void rtoken_again_lost(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int a = rtoken_announce(lgr, 0, 1, 0x1000);
	u32 added = 1;

	KUNIT_EXPECT_EQ(test, smc_rtoken_add(lgr, 0, 1, 0x1000, &added), a);
	KUNIT_EXPECT_EQ(test, added, 0);
	smc_rtoken_set_link(lgr, 0, 1, 1, 0x11, 0x1100);
	smc_rtoken_lose_slot(lgr, 0);
	added = 1;
	KUNIT_EXPECT_EQ(test, smc_rtoken_add(lgr, 0, 1, 0x1000, &added), a);
	KUNIT_EXPECT_EQ(test, added, 0);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 1);
	KUNIT_EXPECT_EQ(test, smc_rtoken_of(lgr, a)->links, BIT(1));
	smc_rtoken_undo_add(lgr, a, added);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x1000), a);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 1, 0x11, 0x1100), a);
	/* other memory under the key of the lost link is another RMB */
	KUNIT_EXPECT_NE(test, smc_rtoken_add(lgr, 0, 1, 0x2000, &added), a);
	KUNIT_EXPECT_NE(test, added, 0);
	/* ... as is one whose key is 0, the key of slots without one */
	KUNIT_EXPECT_NE(test, smc_rtoken_add(lgr, 2, 0, 0, &added), a);
	KUNIT_EXPECT_NE(test, added, 0);
}

/* An RMB is forgotten that was new to us, whatever became of the link meanwhile. */
static void rtoken_undo(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	u32 added, later;
	int a, b;

	a = smc_rtoken_add(lgr, 0, 1, 0x1000, &added);
	KUNIT_EXPECT_NE(test, added, 0);
	smc_rtoken_set_link(lgr, 0, 1, 1, 0x11, 0x1100);
	smc_rtoken_clear_slot(lgr, 0);
	/* the next link of the slot has the same key for another RMB */
	b = smc_rtoken_add(lgr, 0, 1, 0x2000, &later);
	KUNIT_EXPECT_NE(test, b, a);
	smc_rtoken_undo_add(lgr, a, added);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_of(lgr, a)->used);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_of(lgr, b)->used);
	/* its place is taken */
	KUNIT_EXPECT_EQ(test, rtoken_announce(lgr, 0, 3, 0x3000), a);
	smc_rtoken_undo_add(lgr, a, added);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_of(lgr, a)->used);
	/* nothing was added */
	smc_rtoken_undo_add(lgr, b, 0);
	smc_rtoken_undo_add(lgr, -ENOSPC, later);
	smc_rtoken_undo_add(lgr, TABLE, later);
	KUNIT_EXPECT_EQ(test, rtoken_count_used(lgr), 2);
}

/* What was deleted and is announced again is deleted once more, with its last connection. */
static void rtoken_undo_revival(struct kunit *test)
{
	struct smc_lgr *lgr = test->priv;
	int a = smc_rtoken_get(lgr, 0, 1, 0x1000);
	u32 added;

	KUNIT_EXPECT_EQ(test, smc_rtoken_del(lgr, 0, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, smc_rtoken_add(lgr, 0, 1, 0x1000, &added), a);
	KUNIT_EXPECT_NE(test, added, 0);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_of(lgr, a)->delete_pending);
	smc_rtoken_undo_add(lgr, a, added);
	KUNIT_EXPECT_TRUE(test, smc_rtoken_of(lgr, a)->delete_pending);
	KUNIT_EXPECT_EQ(test, smc_rtoken_get_known(lgr, 0, 1, 0x1000), -ENOKEY);
	smc_rtoken_put(lgr, a);
	KUNIT_EXPECT_FALSE(test, smc_rtoken_of(lgr, a)->used);
}

static struct kunit_case rtoken_cases[] = {
	KUNIT_CASE(rtoken_add),
	KUNIT_CASE(rtoken_key_zero),
	KUNIT_CASE(rtoken_bounds),
	KUNIT_CASE(rtoken_full),
	KUNIT_CASE(rtoken_pieces),
	KUNIT_CASE(rtoken_makes_room),
	KUNIT_CASE(rtoken_in_use),
	KUNIT_CASE(rtoken_take_known),
	KUNIT_CASE(rtoken_known_last),
	KUNIT_CASE(rtoken_doomed_again),
	KUNIT_CASE(rtoken_set_link),
	KUNIT_CASE(rtoken_forget),
	KUNIT_CASE(rtoken_lost),
	KUNIT_CASE(rtoken_again_lost),
	KUNIT_CASE(rtoken_undo),
	KUNIT_CASE(rtoken_undo_revival),
	{ }
};

struct kunit_suite smc_rtoken_suite = {
	.name = "smc_rtoken",
	.init = rtoken_init,
	.exit = rtoken_exit,
	.test_cases = rtoken_cases,
};
