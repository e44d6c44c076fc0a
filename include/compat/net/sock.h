/* SPDX-License-Identifier: GPL-2.0-only */
/* The owner of a socket is read with sk_uid() since 6.17; before, straight from the struct. */
#ifndef _SMC_COMPAT_NET_SOCK_H
#define _SMC_COMPAT_NET_SOCK_H

#include_next <net/sock.h>

#ifndef SMC_HAVE_SK_UID
static inline kuid_t sk_uid(const struct sock *sk)
{
	return READ_ONCE(sk->sk_uid);
}
#endif

#endif
