// SPDX-License-Identifier: GPL-2.0-only
/*
 * The waits of a handshake for CLC messages and for the LLC layer. Each has a deadline, ends when
 * the handshake is cancelled, and handles a Decline of the peer (RFC 7609 section A.2.5).
 */
#include <linux/jiffies.h>
#include <linux/wait.h>
#include <net/tcp_states.h>
#include <smc/base/stats.h>
#include <smc/lgr/lgr.h>
#include <smc/llc/llc.h>
#include <smc/proto/peer_caps.h>
#include <smc/tcp/clc.h>
#include "internal.h"

/*
 * Receive what has arrived of the next message. 1: complete, 0: not yet, -1: the handshake ended.
 * With @may_close the peer's FIN does not end the handshake: the peer may have completed the
 * handshake and its application may have closed already, while its LLC messages have not been
 * processed here yet.
 */
static int hs_poll_clc(struct smc_hs_ctx *ctx, bool may_close)
{
	int rc = smc_clc_recv(ctx->hs->clcsock->sock, &ctx->msgs->rx);

	if (!rc)
		return 0;
	if (rc == -ENOTCONN && may_close) {
		ctx->eof = true;
		return 0;
	}
	if (rc > 0)
		rc = smc_clc_parse_header(ctx->msgs->rx.buf, &ctx->msgs->head) ?: 1;
	if (rc < 0) {
		smc_hs_fail_clc(ctx, rc);
		return -1;
	}
	return 1;
}

/**
 * smc_hs_await_clc() - wait for a CLC message
 * @ctx: handshake
 * @type: expected type
 * @timeout: jiffies
 *
 * A Decline is accepted in place of any other message (RFC 7609 section A.2.5) and ends the
 * handshake. A part of the message may be in @ctx->msgs->rx already; the caller calls
 * smc_clc_rx_reset() before the next message. Process context.
 *
 * Return: HS_GO when the message is in @ctx->msgs->rx, or HS_END.
 */
enum smc_hs_next smc_hs_await_clc(struct smc_hs_ctx *ctx, enum smc_clc_type type,
				  unsigned long timeout)
{
	unsigned long deadline = jiffies + timeout;
	int rc;

	for (;;) {
		long left = deadline - jiffies;

		if (smc_hs_is_cancelled(ctx))
			return smc_hs_fail(ctx, ECONNABORTED, "cancelled");
		rc = hs_poll_clc(ctx, false);
		if (rc < 0)
			return HS_END;
		if (rc > 0)
			break;
		if (left <= 0) {
			ctx->clc_err = -ETIMEDOUT;
			return smc_hs_fail(ctx, ETIMEDOUT, "no answer in time");
		}
		wait_event_idle_timeout(ctx->hs->wait, smc_hs_is_cancelled(ctx) ||
					smc_clcsock_is_readable(ctx->hs->clcsock), left);
	}
	if (ctx->msgs->head.type == SMC_CLC_DECLINE)
		return smc_hs_take_decline(ctx);
	if (ctx->msgs->head.type != type) {
		ctx->clc_err = -EPROTO;
		smc_stats_inc(ctx->net, SMC_STAT_CLC_BAD);
		return smc_hs_fail(ctx, ECONNRESET, "unexpected CLC message");
	}
	return HS_GO;
}

/* The condition of smc_hs_await_llc(): there is something to handle. */
static bool hs_llc_wait_is_over(const struct smc_hs_ctx *ctx, unsigned int want)
{
	return smc_hs_is_cancelled(ctx) ||
	       (smc_llc_fc_get_bits(ctx->link) & (want | SMC_LLC_FC_BROKEN)) ||
	       (!ctx->eof && smc_clcsock_is_readable(ctx->hs->clcsock));
}

/**
 * smc_hs_await_llc() - wait for an LLC message of the first contact
 * @ctx: handshake, first contact
 * @want: SMC_LLC_FC_* bits, any of which ends the wait
 * @timeout: jiffies
 *
 * Also handles a Decline that arrives over TCP meanwhile. Process context.
 *
 * Return: HS_LLC_*; at HS_LLC_ENDED @ctx->res is set.
 */
enum smc_hs_llc smc_hs_await_llc(struct smc_hs_ctx *ctx, unsigned int want,
				 unsigned long timeout)
{
	unsigned long deadline = jiffies + timeout;
	unsigned int bits;

	for (;;) {
		long left = deadline - jiffies;
		int rc;

		if (smc_hs_is_cancelled(ctx)) {
			smc_hs_fail(ctx, ECONNABORTED, "cancelled");
			return HS_LLC_ENDED;
		}
		bits = smc_llc_fc_get_bits(ctx->link);
		if (bits & want)
			return HS_LLC_SEEN;
		rc = ctx->eof ? 0 : hs_poll_clc(ctx, true);
		if (rc < 0)
			return HS_LLC_ENDED;
		if (rc > 0) {
			if (ctx->msgs->head.type == SMC_CLC_DECLINE)
				smc_hs_take_decline(ctx);
			else
				smc_hs_fail(ctx, ECONNRESET, "unexpected CLC message");
			return HS_LLC_ENDED;
		}
		if (bits & SMC_LLC_FC_BROKEN)
			return HS_LLC_BROKEN;
		if (left <= 0)
			return HS_LLC_TIMEOUT;
		wait_event_idle_timeout(ctx->hs->wait, hs_llc_wait_is_over(ctx, want), left);
	}
}

/**
 * smc_hs_peer_has_ended() - check whether the peer has ended the handshake over TCP
 * @ctx: handshake; the peer's Accept or Confirm was taken
 *
 * A server sends nothing between its Accept and our Confirm but a Decline. A client may use RDMA
 * since its Confirm. A foreign one that has closed sends FIN right behind C, so only a reset tells
 * that it has given up; a native one waits for our C. Any context, lockless.
 *
 * Return: true if so, see smc_hs_take_end().
 */
bool smc_hs_peer_has_ended(const struct smc_hs_ctx *ctx)
{
	if (ctx->hs->server && !smc_peer_can(&ctx->lgr->peer, SMC_CAP_LATE_CLC))
		return smc_clcsock_state(ctx->hs->clcsock) == TCP_CLOSE;
	return smc_clcsock_is_readable(ctx->hs->clcsock);
}

/**
 * smc_hs_take_end() - end the handshake that the peer has ended
 * @ctx: handshake for which smc_hs_peer_has_ended() has returned true
 *
 * Falls back to TCP after a Decline of the server, otherwise resets the connection. Process
 * context; waits up to T_CLC for the rest of a message.
 *
 * Return: HS_END.
 */
enum smc_hs_next smc_hs_take_end(struct smc_hs_ctx *ctx)
{
	if (ctx->hs->server)
		return smc_hs_fail_clc(ctx, -ECONNRESET);
	smc_clc_rx_reset(&ctx->msgs->rx);
	smc_hs_await_clc(ctx, SMC_CLC_DECLINE, T_CLC);
	return HS_END;
}
