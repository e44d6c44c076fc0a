// SPDX-License-Identifier: GPL-2.0-only
/*
 * Upgrade in place: arithmetic of byte S, checks of what the peer announces, records of requests
 * (upgrade.h).
 */
#include <smc/proto/upgrade.h>

/**
 * smc_upgrade_pos_of_seq() - Convert a sequence number of TCP to a position in the stream
 * @first: sequence number of the first byte of the direction
 * @seq: sequence number
 * @near: a position that is less than 2^31 away, such as the bytes that TCP has counted
 *
 * TCP's own 64-bit counters include the SYN of a client, and FIN; here they only say how often the
 * sequence numbers have wrapped.
 *
 * Return: bytes before @seq; 0 if it is before the first one.
 */
u64 smc_upgrade_pos_of_seq(u32 first, u32 seq, u64 near)
{
	s32 off = (s32)(seq - first - (u32)near);

	if (off < 0 && near < (u64)-(s64)off)
		return 0;
	return near + (u64)(s64)off;
}

/**
 * smc_upgrade_tx_s() - Return byte S of the sending direction
 * @first: sequence number of its first byte
 * @write_seq: sequence number behind the last byte, or FIN, that TCP has taken
 * @fin: FIN is included
 * @near: bytes that the peer has acknowledged, as TCP counts them
 *
 * Return: bytes that TCP has taken.
 */
u64 smc_upgrade_tx_s(u32 first, u32 write_seq, bool fin, u64 near)
{
	return smc_upgrade_pos_of_seq(first, write_seq - fin, near);
}

/* Check the first announcement of S against what TCP has received. */
static bool upgrade_s_is_possible(const struct smc_upgrade_tcp *tcp, enum smc_upgrade_rx state,
				  const struct smc_upgrade_news *news)
{
	if (news->s < tcp->received || news->s - tcp->received > SMC_UPGRADE_TAIL_MAX)
		return false;
	if (tcp->fin && news->s != tcp->received)
		return false;
	/* the reader has seen the end of file: nothing may follow */
	return state != SMC_UPGRADE_RX_OPEN_END || news->end;
}

/**
 * smc_upgrade_rx_take() - Check and take over what a CDC message says about S
 * @rx: S, changed if it is announced for the first time
 * @tcp: what TCP has received
 * @state: state of the receiving direction
 * @news: the message
 *
 * A announces nothing about the stream and needs no S: the caller handles it first.
 *
 * Return: enum smc_upgrade_s_change, or -EPROTO.
 */
int smc_upgrade_rx_take(struct smc_upgrade_rx_s *rx, const struct smc_upgrade_tcp *tcp,
			enum smc_upgrade_rx state, const struct smc_upgrade_news *news)
{
	if (!news->has_s)
		return !rx->known && (news->data || news->end) ? -EPROTO : SMC_UPGRADE_S_NONE;
	if (rx->known)
		return news->s == rx->s ? SMC_UPGRADE_S_SAME : -EPROTO;
	if (!upgrade_s_is_possible(tcp, state, news))
		return -EPROTO;
	rx->s = news->s;
	rx->known = true;
	return SMC_UPGRADE_S_NEW;
}

/**
 * smc_upgrade_rx_check_tcp() - Check what TCP has received against S
 * @rx: S
 * @tcp: what TCP has received
 *
 * After S was announced, and whenever TCP has received something since.
 *
 * Return: 1 if TCP has received all bytes before S (SMC_UPGRADE_EV_TCP_REACHED); 0 if not yet, if S
 * is not known, or if bytes are lost; -EPROTO for bytes behind S, or if FIN shows that bytes before
 * S are missing.
 */
int smc_upgrade_rx_check_tcp(const struct smc_upgrade_rx_s *rx, const struct smc_upgrade_tcp *tcp)
{
	if (!rx->known)
		return 0;
	if (tcp->received > rx->s || (tcp->fin && tcp->received < rx->s))
		return -EPROTO;
	return tcp->received == rx->s && !tcp->lost;
}

/**
 * smc_upgrade_rx_tcp_part() - Return how much may be read from TCP now
 * @rx: S
 * @tcp: what TCP has received
 *
 * Never a byte behind S, even if the peer has sent one.
 *
 * Return: bytes, at most 2^31 - 1.
 */
u32 smc_upgrade_rx_tcp_part(const struct smc_upgrade_rx_s *rx, const struct smc_upgrade_tcp *tcp)
{
	u64 end = rx->known && rx->s < tcp->received ? rx->s : tcp->received;
	u64 len = end > tcp->read ? end - tcp->read : 0;

	return len < SMC_UPGRADE_TAIL_MAX ? (u32)len : SMC_UPGRADE_TAIL_MAX;
}

/**
 * smc_upgrade_rx_readable() - Return how much a reader can get now, from TCP and the ring
 * @rx: S
 * @tcp: what TCP has received
 * @ring: bytes readable in the RMBE
 *
 * Poll, SIOCINQ, SO_RCVLOWAT and MSG_PEEK use the sum.
 *
 * Return: bytes, at most 2^31 - 1.
 */
u32 smc_upgrade_rx_readable(const struct smc_upgrade_rx_s *rx, const struct smc_upgrade_tcp *tcp,
			    u32 ring)
{
	u32 len = smc_upgrade_rx_tcp_part(rx, tcp);

	if (smc_upgrade_rx_check_tcp(rx, tcp) != 1)
		return len;
	return ring < SMC_UPGRADE_TAIL_MAX - len ? len + ring : SMC_UPGRADE_TAIL_MAX;
}

/**
 * smc_upgrade_rx_at_end() - Check whether a reader gets the end of file now
 * @state: state of the receiving direction
 * @rx: S
 * @tcp: what TCP has received
 * @ring: bytes readable in the RMBE
 * @ended: D or C has been received
 *
 * Return: true if so; not while bytes are missing, or while FIN decides nothing.
 */
bool smc_upgrade_rx_at_end(enum smc_upgrade_rx state, const struct smc_upgrade_rx_s *rx,
			   const struct smc_upgrade_tcp *tcp, u32 ring, bool ended)
{
	if (smc_upgrade_rx_readable(rx, tcp, ring))
		return false;
	switch (state) {
	case SMC_UPGRADE_RX_TCP:
	case SMC_UPGRADE_RX_TCP_END:
		return tcp->fin;
	case SMC_UPGRADE_RX_OPEN_END:
		return true;
	case SMC_UPGRADE_RX_RING:
		/* @tcp may be older than @state */
		return ended && smc_upgrade_rx_check_tcp(rx, tcp) == 1;
	default:
		return false;
	}
}

/**
 * smc_upgrade_proof_matches() - Check whether a request is for a connection
 * @a: one end's view
 * @b: the other one's
 *
 * Return: true if ports and first sequence numbers are the same.
 */
bool smc_upgrade_proof_matches(const struct smc_upgrade_proof *a,
			       const struct smc_upgrade_proof *b)
{
	return a->client_port == b->client_port && a->server_port == b->server_port &&
	       a->client_seq == b->client_seq && a->server_seq == b->server_seq;
}

/* A request or withdrawal with the number of the last one in its slot. */
static enum smc_upgrade_verdict upgrade_slots_repeat(struct smc_upgrade_slots *slots, u32 i,
						     bool withdrawal)
{
	switch (slots->record[i]) {
	case SMC_UPGRADE_REC_BOUND:
		if (!withdrawal)
			return SMC_UPGRADE_REPEAT_YES;
		slots->record[i] = SMC_UPGRADE_REC_WITHDRAWN;
		return SMC_UPGRADE_UNBIND;
	case SMC_UPGRADE_REC_REFUSED:
		if (!withdrawal)
			return SMC_UPGRADE_REPEAT_NO;
		slots->record[i] = SMC_UPGRADE_REC_WITHDRAWN;
		return SMC_UPGRADE_REPLY_WITHDRAWN;
	case SMC_UPGRADE_REC_WITHDRAWN:
		return SMC_UPGRADE_REPLY_WITHDRAWN;
	default:
		/* after GO a request is late, and a withdrawal a lie */
		return SMC_UPGRADE_DROP;
	}
}

/**
 * smc_upgrade_slots_take() - Decide what to do with a request or withdrawal
 * @slots: the server's records of the group
 * @number: its number
 * @withdrawal: it is a withdrawal
 *
 * Equal numbers get equal answers, older ones none. A withdrawal may overtake its request, or the
 * request may be lost: the number is recorded, so that a late request binds nothing.
 *
 * Return: what to do. After SMC_UPGRADE_JUDGE the caller calls smc_upgrade_slots_note().
 */
enum smc_upgrade_verdict smc_upgrade_slots_take(struct smc_upgrade_slots *slots, u32 number,
						bool withdrawal)
{
	u32 i = number % SMC_UPGRADE_SLOTS;

	if (slots->record[i] != SMC_UPGRADE_REC_NONE) {
		s32 ahead = (s32)(number - slots->number[i]);

		if (!ahead)
			return upgrade_slots_repeat(slots, i, withdrawal);
		/* a client uses a slot again when the last request in it is decided */
		if (ahead < 0 || slots->record[i] == SMC_UPGRADE_REC_BOUND)
			return SMC_UPGRADE_DROP;
	}
	if (!withdrawal)
		return SMC_UPGRADE_JUDGE;
	slots->number[i] = number;
	slots->record[i] = SMC_UPGRADE_REC_WITHDRAWN;
	return SMC_UPGRADE_REPLY_WITHDRAWN;
}

/**
 * smc_upgrade_slots_note() - Record the answer to a request
 * @slots: the server's records of the group
 * @number: its number, after SMC_UPGRADE_JUDGE
 * @reason: the answer
 */
void smc_upgrade_slots_note(struct smc_upgrade_slots *slots, u32 number,
			    enum smc_upgrade_reason reason)
{
	u32 i = number % SMC_UPGRADE_SLOTS;

	slots->number[i] = number;
	slots->reason[i] = (u8)reason;
	slots->record[i] = reason == SMC_UPGRADE_YES ? SMC_UPGRADE_REC_BOUND :
						       SMC_UPGRADE_REC_REFUSED;
}

/**
 * smc_upgrade_slots_finish() - Note that GO, or the end of the connection, has come
 * @slots: the server's records of the group
 * @number: number of the request, whose slot may have a newer one
 */
void smc_upgrade_slots_finish(struct smc_upgrade_slots *slots, u32 number)
{
	u32 i = number % SMC_UPGRADE_SLOTS;

	if (slots->number[i] == number && slots->record[i] == SMC_UPGRADE_REC_BOUND)
		slots->record[i] = SMC_UPGRADE_REC_DONE;
}
