/* SPDX-License-Identifier: GPL-2.0-only */
/* Notifications of MSG_ZEROCOPY: a callback until 6.9; a parameter for device memory since 6.16. */
#ifndef _SMC_COMPAT_ZCOPY_H
#define _SMC_COMPAT_ZCOPY_H

#include <linux/skbuff.h>

/*
 * Allocate the next notification of @sk, with one reference. NULL: no memory, or a limit is
 * reached. The caller holds the socket lock.
 */
static inline struct ubuf_info *smc_compat_zerocopy_alloc(struct sock *sk, size_t size)
{
#ifdef SMC_HAVE_ZEROCOPY_DEVMEM
	return msg_zerocopy_realloc(sk, size, NULL, false);
#else
	return msg_zerocopy_realloc(sk, size, NULL);
#endif
}

/*
 * Drop a reference; @zerocopy: the bytes were not copied. io_uring reports that only if @skb is not
 * NULL, and does not access it further.
 */
static inline void smc_compat_zerocopy_put(struct sk_buff *skb, struct ubuf_info *uarg,
					   bool zerocopy)
{
#ifdef SMC_HAVE_UBUF_INFO_OPS
	uarg->ops->complete(skb, uarg, zerocopy);
#else
	uarg->callback(skb, uarg, zerocopy);
#endif
}

#endif
