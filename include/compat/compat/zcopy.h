/* SPDX-License-Identifier: GPL-2.0-only */
/* Notifications of MSG_ZEROCOPY: a callback until 6.9; memory of devices since 6.16. */
#ifndef _SMC_COMPAT_ZCOPY_H
#define _SMC_COMPAT_ZCOPY_H

#include <linux/skbuff.h>

/* For the next number of @sk, locked; one reference. NULL: no memory, or a limit. */
static inline struct ubuf_info *compat_zerocopy_alloc(struct sock *sk, size_t size)
{
#ifdef SMC_HAVE_ZEROCOPY_DEVMEM
	return msg_zerocopy_realloc(sk, size, NULL, false);
#else
	return msg_zerocopy_realloc(sk, size, NULL);
#endif
}

/*
 * Drops a reference; @zerocopy: what it stands for was not copied. io_uring believes that only if
 * there is an @skb, and looks no further at it.
 */
static inline void compat_zerocopy_put(struct sk_buff *skb, struct ubuf_info *uarg, bool zerocopy)
{
#ifdef SMC_HAVE_UBUF_INFO_OPS
	uarg->ops->complete(skb, uarg, zerocopy);
#else
	uarg->callback(skb, uarg, zerocopy);
#endif
}

#endif
