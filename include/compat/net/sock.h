/* SPDX-License-Identifier: GPL-2.0-only */
/* sk_uid() returns the owner of a socket since 6.17; before, read the member. */
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
