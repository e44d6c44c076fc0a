// SPDX-License-Identifier: GPL-2.0-only
/* Attacks with RDMA operations on memory, and with keys, that this peer may not use. */
#include <errno.h>
#include <string.h>

#include "link.h"

#define WAIT_MS		15000
#define NOT_READY_MS	30000
#define FAR		0x40000000ULL	/* beyond the largest region */

/* Check that the operation completes with an error. */
static bool check_refused(struct el_link *l)
{
	if (!el_flush(l, WAIT_MS)) {
		ktap_note("the server's RNIC executed the operation");
		return false;
	}
	if (l->status == IBV_WC_REM_ACCESS_ERR || l->status == IBV_WC_REM_INV_REQ_ERR ||
	    l->status == IBV_WC_REM_OP_ERR)
		return true;
	ktap_note("completion: %s", ibv_wc_status_str(l->status));
	return false;
}

static bool write_to(struct el_env *e, u64 addr, u32 rkey)
{
	static const u8 buf[4096] = { 0x66 };

	return !el_post(e->l, IBV_WR_RDMA_WRITE, buf, sizeof(buf), addr, rkey) &&
	       check_refused(e->l);
}

static bool write_before(struct el_env *e)
{
	return write_to(e, e->a->peer_rmb - 1, e->a->peer_rkey);
}

static bool write_behind(struct el_env *e)
{
	return write_to(e, e->a->peer_rmb + FAR, e->a->peer_rkey);
}

static bool write_wraps(struct el_env *e)
{
	return write_to(e, ~0ULL - 100, e->a->peer_rkey);
}

static bool write_null(struct el_env *e)
{
	return write_to(e, 0, e->a->peer_rkey);
}

static bool write_other_rkey(struct el_env *e)
{
	return write_to(e, e->a->peer_addr, e->a->peer_rkey + 1);
}

static bool write_rkey_0(struct el_env *e)
{
	return write_to(e, e->a->peer_addr, 0);
}

/* An address and a key that are valid on another peer's queue pair. */
static bool write_foreign_group(struct el_env *e)
{
	struct el_link other;
	struct el_conn c = { .fd = -1 };
	struct el_env oe = { .t = e->t, .witness = e->witness, .l = &other, .a = &c };
	bool ok = !el_open(&other, e->t) && !el_join(&other, &c, 0) && el_alive(&oe, &c) &&
		  write_to(e, c.peer_addr, c.peer_rkey) && el_alive(&oe, &c);

	el_order_close(e->witness, c.port);
	el_drop(&c);
	el_close(&other);
	return ok;
}

/* A key of a group that has ended. */
static bool write_stale_rkey(struct el_env *e)
{
	struct el_link other;
	struct el_conn c = { .fd = -1 };
	struct smc_llc_msg bye = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .all = true, .orderly = true, .reason = SMC_LLC_DEL_PROGRAM },
	};
	bool ok = !el_open(&other, e->t) && !el_join(&other, &c, 0) && !el_llc(&other, &bye);

	el_flush(&other, 2000);
	el_order_close(e->witness, c.port);
	el_drop(&c);
	tl_sleep_ms(1000);
	el_close(&other);
	return ok && write_to(e, c.peer_addr, c.peer_rkey);
}

static bool read_rmb(struct el_env *e)
{
	return !el_post(e->l, IBV_WR_RDMA_READ, NULL, 64, e->a->peer_addr, e->a->peer_rkey) &&
	       check_refused(e->l);
}

static bool atomic_add(struct el_env *e)
{
	return !el_post(e->l, IBV_WR_ATOMIC_FETCH_AND_ADD, NULL, 8, e->a->peer_addr,
			e->a->peer_rkey) && check_refused(e->l);
}

/* A message longer than the server's receive buffers. */
static bool send_too_long(struct el_env *e)
{
	static const u8 buf[EL_MSG_MAX] = { SMC_CDC_TYPE, SMC_CDC_LEN };

	if (el_post(e->l, IBV_WR_SEND, buf, sizeof(buf), 0, 0))
		return false;
	el_flush(e->l, WAIT_MS);
	/* rxe of 7.3 does not answer, so the requester fails after its retries */
	return e->l->status == IBV_WC_RETRY_EXC_ERR || check_refused(e->l);
}

/*
 * Consumes receives of the server whose buffers have old messages: none may be handled again. First
 * each buffer gets a CDC message: LLC messages are no measure, since the good client's group has
 * some, too, while nobody else sends a CDC message.
 */
static bool write_with_imm(struct el_env *e)
{
	static const u8 buf[64];
	u64 at = e->a->peer_addr + e->a->peer_len - sizeof(buf);
	u64 before, now;

	for (int i = 0; i < 300; i++) {
		if (el_claim(e->a, 0))
			return false;
	}
	/* all of them have been handled when the application has what comes behind */
	if (!el_alive(e, e->a))
		return false;
	before = el_counter(e->witness, "rx_cdc");
	for (int i = 0; i < 300; i++) {
		size_t len = i % 3 ? i % 3 == 1 ? 44 : sizeof(buf) : 0;

		if (el_post(e->l, IBV_WR_RDMA_WRITE_WITH_IMM, buf, len, at, e->a->peer_rkey))
			return false;
	}
	if (el_flush(e->l, WAIT_MS))
		return false;
	now = el_counter(e->witness, "rx_cdc");
	if (now != before)
		ktap_note("%llu old messages were handled again",
			  (unsigned long long)(now - before));
	return now == before;
}

static bool send_with_imm(struct el_env *e)
{
	u8 buf[SMC_CDC_LEN];
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	smc_cdc_msg_build(&m, buf, sizeof(buf));
	return !el_post(e->l, IBV_WR_SEND_WITH_IMM, buf, sizeof(buf), 0, 0) &&
	       !el_flush(e->l, WAIT_MS);
}

/* Try to invalidate the server's region; then correct WRITEs are refused, too. */
static bool send_invalidate(struct el_env *e)
{
	u8 buf[SMC_CDC_LEN];
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	smc_cdc_msg_build(&m, buf, sizeof(buf));
	if (el_post(e->l, IBV_WR_SEND_WITH_INV, buf, sizeof(buf), 0, e->a->peer_rkey))
		return false;
	if (!el_flush(e->l, WAIT_MS) && el_write(e->a, 100))
		return false;
	return check_refused(e->l);
}

/*
 * A key of another peer's group. Soft-RoCE invalidates that region, since it does not check the
 * domain, and no change of the module can prevent it (Documentation/compat.rst). What is checked
 * here: the other peer's WRITE is refused and changes nothing, its connection ends with an error,
 * and neither a further group of it nor the connections of this one suffer.
 */
static bool invalidate_foreign_group(struct el_env *e)
{
	static const struct el_case want = { .may_err = { ECONNABORTED, ECONNRESET } };
	struct el_link other = { 0 }, next = { 0 };
	struct el_conn c = { .fd = -1 }, d = { .fd = -1 };
	struct el_env oe = { .t = e->t, .witness = e->witness, .l = &other, .a = &c };
	struct el_env ne = { .t = e->t, .witness = e->witness, .l = &next, .a = &d };
	u8 buf[SMC_CDC_LEN];
	struct smc_cdc_msg m;
	bool ok;

	ok = !el_open(&other, e->t) && !el_join(&other, &c, 0) && el_alive(&oe, &c);
	el_next_cdc(e->a, &m);
	smc_cdc_msg_build(&m, buf, sizeof(buf));
	ok = ok && !el_post(e->l, IBV_WR_SEND_WITH_INV, buf, sizeof(buf), 0, c.peer_rkey) &&
	     !el_flush(e->l, WAIT_MS) && !el_write(&c, 100) && check_refused(&other) &&
	     el_failed(&oe, &c, &want);
	ok = ok && !el_open(&next, e->t) && !el_join(&next, &d, 0) && el_alive(&ne, &d);
	el_order_close(e->witness, c.port);
	el_order_close(e->witness, d.port);
	el_drop(&c);
	el_drop(&d);
	el_close(&other);
	el_close(&next);
	return ok;
}

static void spoil_vaddr(struct evil_msg *m)
{
	smc_wire_put_be64(m->buf + OFF_VADDR, 0x1000);
}

/* A Confirm with a wrong rkey or address: the link fails when the server's application sends. */
static bool confirm_forged(struct el_env *e)
{
	static void (*const spoils[])(struct evil_msg *m) = { el_spoil_rkey, spoil_vaddr };
	static const struct el_case want = { .may_err = { ECONNABORTED, ECONNRESET } };
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(spoils); i++) {
		struct el_link other;
		struct el_conn c = { .fd = -1 };
		struct el_env oe = { .t = e->t, .witness = e->witness, .l = &other, .a = &c };

		ok &= !el_open(&other, e->t);
		other.spoil_confirm = spoils[i];
		ok = ok && !el_join(&other, &c, 0) && el_alive(&oe, &c) &&
		     el_order_send(e->witness, c.port, 1000) == 1000 && el_failed(&oe, &c, &want);
		el_order_close(e->witness, c.port);
		el_drop(&c);
		el_close(&other);
	}
	return ok;
}

/* Destroy the queue pair without a message; the TCP connections stay open. */
static bool qp_vanish(struct el_env *e)
{
	ibv_destroy_qp(e->l->qp);
	e->l->qp = NULL;
	e->l->established = false;
	return true;
}

/*
 * No receive is posted again, so our RNIC answers the server's messages with RNR NAKs for ever.
 * We go on sending, so that the link does not seem idle.
 */
static bool never_ready(struct el_env *e)
{
	u64 until = tl_now_ns() + NOT_READY_MS * TL_NSEC_PER_MSEC;
	u64 before = el_counter(e->witness, "link_stall");
	struct smc_cdc_msg m;

	e->l->mute = true;
	while (tl_now_ns() < until) {
		/* makes the server send a CDC at once */
		if (e->l->status == IBV_WC_SUCCESS && el_write(e->a, 100))
			return false;
		el_next_cdc(e->a, &m);
		m.flags = SMC_CDC_F_UPDATE_REQ;
		if (e->l->status == IBV_WC_SUCCESS && el_cdc(e->a, &m))
			return false;
		el_poll(e->l);
		tl_sleep_ms(20);
		if (el_counter(e->witness, "link_stall") != before)
			return true;
	}
	ktap_note("the link did not fail, %u messages came", e->a->ncdc);
	return false;
}

/* close() of a connection whose peer receives nothing any more must not block. */
static bool stop_receiving(struct el_env *e)
{
	long ms;

	e->l->mute = true;
	el_order_send(e->witness, e->a->port, 4000000);
	el_order_send(e->witness, e->b->port, 4000000);
	ms = el_order_close(e->witness, e->a->port);
	if (ms >= 0 && ms < 3000)
		return true;
	ktap_note("close() took %ld ms", ms);
	return false;
}

const struct el_case el_rdma_cases[] = {
	{ "rdma_write_before",	write_before,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_write_behind",	write_behind,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_write_wraps",	write_wraps,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_write_null",	write_null,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_write_other_rkey", write_other_rkey,	EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_write_rkey_0",	write_rkey_0,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_write_foreign_group", write_foreign_group, EL_LINK_DIES, "link_fail", 1, { 0 } },
	{ "rdma_write_stale_rkey", write_stale_rkey,	EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_read",		read_rmb,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_atomic",	atomic_add,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_send_too_long",	send_too_long,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_write_with_imm", write_with_imm,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "rdma_send_with_imm",	send_with_imm,		EL_UNHARMED,	"rx_cdc", 1, { 0 } },
	{ "rdma_invalidate",	send_invalidate,	EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_invalidate_foreign_group", invalidate_foreign_group, EL_UNHARMED, "link_fail", 1,
	  { 0 } },
	{ "rdma_confirm_forged", confirm_forged,	EL_UNHARMED,	"link_fail", 2, { 0 } },
	{ "rdma_vanish",	qp_vanish,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_never_ready",	never_ready,		EL_LINK_DIES,	"link_stall", 1, { 0 } },
	{ "rdma_deaf",		stop_receiving,		EL_CHECKED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_rdma_cases = TL_ARRAY_SIZE(el_rdma_cases);
