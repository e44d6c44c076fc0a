// SPDX-License-Identifier: GPL-2.0-only
/* Attacks by RDMA operations: on memory that is not ours, with keys that are not ours. */
#include <errno.h>
#include <string.h>

#include "link.h"

#define WAIT_MS		15000
#define NOT_READY_MS	30000
#define FAR		0x40000000ULL	/* beyond every region there may be */

/* The operation must come back as an error. */
static bool refused(struct el_link *l)
{
	if (!el_flush(l, WAIT_MS)) {
		ktap_note("the server's RNIC did it");
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

	return !el_post(e->l, IBV_WR_RDMA_WRITE, buf, sizeof(buf), addr, rkey) && refused(e->l);
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

/* An address and a key that are right for another peer's queue pair. */
static bool write_foreign_group(struct el_env *e)
{
	struct el_link other;
	struct el_conn c = { .fd = -1 };
	struct el_env oe = { .t = e->t, .witness = e->witness, .l = &other, .a = &c };
	bool ok = !el_open(&other, e->t) && !el_join(&other, &c, 0) && el_lives(&oe, &c) &&
		  write_to(e, c.peer_addr, c.peer_rkey) && el_lives(&oe, &c);

	el_tell_close(e->witness, c.port);
	el_leave(&c);
	el_close(&other);
	return ok;
}

/* A key that was right once, of a group that has ended. */
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
	el_tell_close(e->witness, c.port);
	el_leave(&c);
	tl_sleep_ms(1000);
	el_close(&other);
	return ok && write_to(e, c.peer_addr, c.peer_rkey);
}

static bool read_rmb(struct el_env *e)
{
	return !el_post(e->l, IBV_WR_RDMA_READ, NULL, 64, e->a->peer_addr, e->a->peer_rkey) &&
	       refused(e->l);
}

static bool atomic(struct el_env *e)
{
	return !el_post(e->l, IBV_WR_ATOMIC_FETCH_AND_ADD, NULL, 8, e->a->peer_addr,
			e->a->peer_rkey) && refused(e->l);
}

/* Longer than anything the server expects. */
static bool send_too_long(struct el_env *e)
{
	static const u8 buf[EL_MSG_MAX] = { SMC_CDC_TYPE, SMC_CDC_LEN };

	if (el_post(e->l, IBV_WR_SEND, buf, sizeof(buf), 0, 0))
		return false;
	el_flush(e->l, WAIT_MS);
	/* rxe of 7.3 does not answer: the requester gives up some time */
	return e->l->status == IBV_WC_RETRY_EXC_ERR || refused(e->l);
}

static u64 messages(struct el_env *e)
{
	return el_stat(e->witness, "rx_cdc") + el_stat(e->witness, "rx_llc");
}

/* Takes the server's receives, whose buffers hold old messages: none may count again. */
static bool write_with_imm(struct el_env *e)
{
	static const u8 buf[64];
	u64 at = e->a->peer_addr + e->a->peer_len - sizeof(buf);
	u64 before = messages(e), now;

	for (int i = 0; i < 300; i++) {
		size_t len = i % 3 ? i % 3 == 1 ? 44 : sizeof(buf) : 0;

		if (el_post(e->l, IBV_WR_RDMA_WRITE_WITH_IMM, buf, len, at, e->a->peer_rkey))
			return false;
	}
	if (el_flush(e->l, WAIT_MS))
		return false;
	now = messages(e);
	if (now != before)
		ktap_note("%llu old messages came again", (unsigned long long)(now - before));
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

/* Takes the server's registration away from under it; then even honest bytes are refused. */
static bool invalidate(struct el_env *e)
{
	u8 buf[SMC_CDC_LEN];
	struct smc_cdc_msg m;

	el_next_cdc(e->a, &m);
	smc_cdc_msg_build(&m, buf, sizeof(buf));
	if (el_post(e->l, IBV_WR_SEND_WITH_INV, buf, sizeof(buf), 0, e->a->peer_rkey))
		return false;
	if (!el_flush(e->l, WAIT_MS) && el_write(e->a, 100))
		return false;
	return refused(e->l);
}

static void spoil_vaddr(struct evil_msg *m)
{
	smc_put_be64(m->buf + OFF_VADDR, 0x1000);
}

/* The server learns of the lie when its application writes. */
static bool confirm_lies(struct el_env *e)
{
	static void (*const lies[])(struct evil_msg *m) = { el_spoil_rkey, spoil_vaddr };
	static const struct el_case told = { .may_err = { ECONNABORTED, ECONNRESET } };
	bool ok = true;

	for (size_t i = 0; i < TL_ARRAY_SIZE(lies); i++) {
		struct el_link other;
		struct el_conn c = { .fd = -1 };
		struct el_env oe = { .t = e->t, .witness = e->witness, .l = &other, .a = &c };

		ok &= !el_open(&other, e->t);
		other.spoil_confirm = lies[i];
		ok = ok && !el_join(&other, &c, 0) && el_lives(&oe, &c) &&
		     el_tell_send(e->witness, c.port, 1000) == 1000 && el_dead(&oe, &c, &told);
		el_tell_close(e->witness, c.port);
		el_leave(&c);
		el_close(&other);
	}
	return ok;
}

/* The queue pair goes without a word, the carriers stay. */
static bool vanish(struct el_env *e)
{
	ibv_destroy_qp(e->l->qp);
	e->l->qp = NULL;
	e->l->established = false;
	return true;
}

/*
 * No receive is posted again, so the server's messages are "not ready" for our RNIC, for
 * ever; and we go on talking, so the link does not look dead.
 */
static bool never_ready(struct el_env *e)
{
	u64 until = tl_now_ns() + NOT_READY_MS * TL_NSEC_PER_MSEC;
	u64 before = el_stat(e->witness, "link_stall");
	struct smc_cdc_msg m;

	e->l->mute = true;
	while (tl_now_ns() < until) {
		/* it has something to tell, and to do so at once */
		if (e->l->status == IBV_WC_SUCCESS && el_write(e->a, 100))
			return false;
		el_next_cdc(e->a, &m);
		m.flags = SMC_CDC_F_UPDATE_REQ;
		if (e->l->status == IBV_WC_SUCCESS && el_cdc(e->a, &m))
			return false;
		el_poll(e->l);
		tl_sleep_ms(20);
		if (el_stat(e->witness, "link_stall") != before)
			return true;
	}
	ktap_note("the link lives, %u messages came", e->a->nheard);
	return false;
}

/* The application ends a connection whose peer takes nothing any more: it must not wait. */
static bool deaf(struct el_env *e)
{
	long ms;

	e->l->mute = true;
	el_tell_send(e->witness, e->a->port, 4000000);
	el_tell_send(e->witness, e->b->port, 4000000);
	ms = el_tell_close(e->witness, e->a->port);
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
	{ "rdma_atomic",	atomic,			EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_send_too_long",	send_too_long,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_write_with_imm", write_with_imm,	EL_UNHARMED,	NULL, 0, { 0 } },
	{ "rdma_send_with_imm",	send_with_imm,		EL_UNHARMED,	"rx_cdc", 1, { 0 } },
	{ "rdma_invalidate",	invalidate,		EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_confirm_lies",	confirm_lies,		EL_UNHARMED,	"link_fail", 2, { 0 } },
	{ "rdma_vanish",	vanish,			EL_LINK_DIES,	"link_fail", 1, { 0 } },
	{ "rdma_never_ready",	never_ready,		EL_LINK_DIES,	"link_stall", 1, { 0 } },
	{ "rdma_deaf",		deaf,			EL_JUDGED,	NULL, 0, { 0 } },
};

const unsigned int el_nr_rdma_cases = TL_ARRAY_SIZE(el_rdma_cases);
