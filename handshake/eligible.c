// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a connection that began as TCP may continue over RDMA, as far as this host is concerned:
 * what a handshake would check before its Proposal. Each end does it when it asks or is asked,
 * since rules, routes and IPsec policies may have changed since connect() (decision 0021).
 */
#include <linux/netdevice.h>
#include <net/dst.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <smc/base/rules.h>
#include <smc/base/settings.h>
#include <smc/handshake/upgradable.h>
#include <smc/proto/clc_msg.h>
#include <smc/rdma/path.h>
#include <smc/tcp/clcsock.h>

/*
 * Return the route of the connection, or NULL if it is outdated: a policy or a route was changed,
 * and TCP finds the new one with its next packet. That drops the outdated one, under the lock of
 * the socket, without which nobody else may do so (sk_dst_check() does): it would go twice.
 */
static struct dst_entry *eligible_get_route(struct sock *sk)
{
	struct dst_entry *dst = sk_dst_get(sk);
	u32 cookie = 0;

	if (!dst)
		return NULL;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		cookie = READ_ONCE(inet6_sk(sk)->dst_cookie);
#endif
	if (dst_check(dst, cookie))
		return dst;
	dst_release(dst);
	return NULL;
}

static u32 eligible_find_path(struct net *net, struct net_device *ndev,
			      const struct smc_rules_path *ends, bool inner, struct smc_path *path,
			      u16 *vlan)
{
	struct smc_ib_gids gids;
	u32 reason = smc_path_find(net, ndev, &ends->local.addr, inner ? &ends->remote.addr : NULL,
				   path, &gids);

	if (!reason)
		*vlan = smc_path_vlan(ndev);
	return reason;
}

/**
 * smc_hs_check_eligible() - check rules, IPsec, route and path of a connection
 * @net: namespace
 * @clcsock: connected clcsock
 * @inner: the path may be one within the host, if the peer has an address of it
 * @path: out, with the result 0: device and port; to be released with smc_path_put()
 * @vlan: out: VLAN
 * @count: a rule that matches counts the connection
 *
 * Takes no lock that a program can hold. Process context.
 *
 * Return: 0, or the diagnosis code that a handshake would decline with.
 */
u32 smc_hs_check_eligible(struct net *net, const struct smc_clcsock *clcsock, bool inner,
			  struct smc_path *path, u16 *vlan, bool count)
{
	struct sock *sk = clcsock->sock->sk;
	netdevice_tracker tracker;
	struct smc_rules_path ends;
	struct net_device *ndev;
	struct dst_entry *dst;
	u32 reason;
	bool ipsec;

	if (!READ_ONCE(smc_settings_get(net)->enabled))
		return SMC_CLC_DECL_CONFIG;
	smc_rules_path(sk, &ends);
	if (smc_rules_check_deny(net, &ends, count))
		return SMC_CLC_DECL_RULE;
	dst = eligible_get_route(sk);
	if (!dst)
		return SMC_CLC_DECL_NO_ROUTE;
	/* as in smc_hs_find_path() */
	rcu_read_lock();
	ndev = READ_ONCE(dst->dev);
	netdev_hold(ndev, &tracker, GFP_ATOMIC);
	rcu_read_unlock();
	ipsec = smc_clcsock_has_ipsec(clcsock, dst);
	dst_release(dst);
	reason = ipsec ? SMC_CLC_DECL_IPSEC :
			 eligible_find_path(net, ndev, &ends, inner, path, vlan);
	netdev_put(ndev, &tracker);
	return reason;
}
