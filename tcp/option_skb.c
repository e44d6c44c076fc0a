// SPDX-License-Identifier: GPL-2.0-only
/*
 * Insert the SMC option into an outgoing SYN or SYN-ACK: find and check the TCP header, make room,
 * and correct lengths and checksums. Used by tcp/option_own.c.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include <smc/base/fault.h>
#include <smc/proto/tcp_opt.h>
#include "option_skb.h"

/* Return the offset of the TCP header, or -1. */
static int option_skb_tcp_offset(struct sk_buff *skb, u8 pf)
{
	const struct iphdr *iph;
	__be16 frag;
	u8 next;
	int off;

	switch (pf) {
	case NFPROTO_IPV4:
		if (!pskb_may_pull(skb, sizeof(*iph)))
			return -1;
		iph = ip_hdr(skb);
		if (iph->protocol != IPPROTO_TCP || ip_is_fragment(iph))
			return -1;
		return ip_hdrlen(skb);
	case NFPROTO_IPV6:
		if (!pskb_may_pull(skb, sizeof(struct ipv6hdr)))
			return -1;
		next = ipv6_hdr(skb)->nexthdr;
		off = ipv6_skip_exthdr(skb, sizeof(struct ipv6hdr), &next, &frag);
		return next == IPPROTO_TCP && !frag ? off : -1;
	default:
		return -1;
	}
}

/*
 * Check that the segment consists of nothing but the TCP header at @off. A SYN with data is Fast
 * Open, and not all SYN-ACKs of Fast Open come from a request that keeps the saved SYN.
 */
static bool option_skb_is_bare_syn(struct sk_buff *skb, int off, bool ack)
{
	const struct tcphdr *th;
	unsigned int len;

	if (!pskb_may_pull(skb, off + sizeof(*th)))
		return false;
	th = (const struct tcphdr *)(skb->data + off);
	len = th->doff * 4;
	return th->syn && th->ack == ack && !th->rst && !th->fin && len >= sizeof(*th) &&
	       skb->len == off + len && pskb_may_pull(skb, off + len);
}

/*
 * Correct the TCP checksum. With CHECKSUM_PARTIAL, the usual case, the device sums up the segment,
 * and only the length in the pseudo header has to change; the other calls then do nothing.
 */
static void option_skb_fix_checksum(struct sk_buff *skb, struct tcphdr *th, int old_len,
				    __be16 old_word)
{
	__be16 new_word = ((const __be16 *)th)[6];

	if (skb->ip_summed == CHECKSUM_PARTIAL)
		skb->csum_start -= SMC_TCP_OPT_ROOM;
	inet_proto_csum_replace2(&th->check, skb, htons(old_len),
				 htons(old_len + SMC_TCP_OPT_ROOM), true);
	inet_proto_csum_replace2(&th->check, skb, old_word, new_word, false);
	inet_proto_csum_replace4(&th->check, skb, 0, htonl(SMC_TCP_OPT_WORD), false);
	inet_proto_csum_replace4(&th->check, skb, 0, htonl(SMC_TCP_OPT_ID), false);
}

/* Move the headers into the headroom, which is large enough, and append the option to them. */
static void option_skb_insert(struct sk_buff *skb, u8 pf, int off, int len)
{
	struct tcphdr *th;
	__be16 old_word;

	skb_push(skb, SMC_TCP_OPT_ROOM);
	memmove(skb->data, skb->data + SMC_TCP_OPT_ROOM, off + len);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, off);
	th = tcp_hdr(skb);
	/* the word with data offset and flags */
	old_word = ((const __be16 *)th)[6];
	th->doff += SMC_TCP_OPT_ROOM / 4;
	smc_tcp_opt_build((u8 *)th + len);
	option_skb_fix_checksum(skb, th, len, old_word);
	if (pf == NFPROTO_IPV4) {
		ip_hdr(skb)->tot_len = htons(skb->len);
		ip_send_check(ip_hdr(skb));
	} else {
		ipv6_hdr(skb)->payload_len = htons(skb->len - sizeof(struct ipv6hdr));
	}
}

/**
 * smc_option_skb_add() - add the SMC option to a SYN or SYN-ACK
 * @skb: packet in netfilter's LOCAL_OUT
 * @pf: protocol family, NFPROTO_IPV4 or NFPROTO_IPV6
 * @ack: the packet has to be a SYN-ACK, otherwise a SYN
 *
 * A packet that has the option already is left as it is: with a VRF a packet passes LOCAL_OUT
 * twice. The option is not added to a segment with data, or if the TCP header or the MTU of the
 * route has no room for it. Any context.
 *
 * Return: true if the packet has the option now; pointers into @skb are then stale. False if
 * nothing was changed.
 */
bool smc_option_skb_add(struct sk_buff *skb, u8 pf, bool ack)
{
	int off = option_skb_tcp_offset(skb, pf), len;
	const struct tcphdr *th;
	unsigned int found;
	size_t pos;

	if (off < 0 || !option_skb_is_bare_syn(skb, off, ack))
		return false;
	th = (const struct tcphdr *)(skb->data + off);
	len = th->doff * 4;
	found = smc_tcp_opt_scan((const u8 *)(th + 1), len - sizeof(*th), SMC_TCP_OPT_ID, &pos);
	if (found)
		return found == SMC_TCP_OPT_F_SMC;
	if (len + SMC_TCP_OPT_ROOM > SMC_TCP_HDR_MAX)
		return false;
	if (!skb_dst(skb) || skb->len + SMC_TCP_OPT_ROOM > dst_mtu(skb_dst(skb)))
		return false;
	if (smc_fault_rc(OPTION_ROOM, -ENOMEM, skb_cow_head(skb, SMC_TCP_OPT_ROOM)))
		return false;
	option_skb_insert(skb, pf, off, len);
	return true;
}
