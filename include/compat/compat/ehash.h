/* SPDX-License-Identifier: GPL-2.0-only */
/* Look up an established TCP socket; older kernels want the table that the namespace uses. */
#ifndef _SMC_COMPAT_EHASH_H
#define _SMC_COMPAT_EHASH_H

#include <net/inet_hashtables.h>
#include <net/inet6_hashtables.h>
#include <net/net_namespace.h>

/*
 * @dif, @sdif: as for a received packet: its netdev and 0, or the VRF and its netdev. Under
 * rcu_read_lock(). The caller drops the reference by sock_gen_put().
 */
static inline struct sock *smc_compat_find_tcp4(struct net *net, __be32 peer, __be16 peer_port,
						__be32 own, u16 own_port, int dif,
						int sdif)
{
#ifdef SMC_HAVE_NET_EHASH
	return __inet_lookup_established(net, peer, peer_port, own, own_port, dif, sdif);
#else
	return __inet_lookup_established(net, net->ipv4.tcp_death_row.hashinfo, peer, peer_port,
					 own, own_port, dif, sdif);
#endif
}

static inline struct sock *smc_compat_find_tcp6(struct net *net, const struct in6_addr *peer,
						__be16 peer_port, const struct in6_addr *own,
						u16 own_port, int dif, int sdif)
{
#if !IS_ENABLED(CONFIG_IPV6)
	return NULL;
#elif defined(SMC_HAVE_NET_EHASH)
	return __inet6_lookup_established(net, peer, peer_port, own, own_port, dif, sdif);
#else
	return __inet6_lookup_established(net, net->ipv4.tcp_death_row.hashinfo, peer, peer_port,
					  own, own_port, dif, sdif);
#endif
}

#endif
