// SPDX-License-Identifier: GPL-2.0-only
/*
 * IPPROTO_SMC: SMC sockets made by socket(AF_INET or AF_INET6, SOCK_STREAM, 256). The core
 * allocates them as inet sockets of the struct proto below; their operations are those of af_smc.c.
 * Differences to sockets of AF_SMC: Documentation/decisions/0002-socket-identity-and-state.md.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/in.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/protocol.h>
#include <net/sock.h>
#include <smc/base/fault.h>
#include <smc/socket/af_smc.h>
#include <smc/socket/inet.h>
#include <smc/socket/sock.h>
#include "accept.h"

/* proto.init: the core has initialised @sk as an inet socket. */
static int inet_init_sk(struct sock *sk)
{
	smc_sock_init_fields(sk, sk->sk_destruct);
	return smc_sock_create_clcsock(smc_sk(sk), sk->sk_kern_sock);
}

/* proto.destroy: the core refused the socket after proto.init. Others end in proto_ops.release. */
static void inet_destroy_sk(struct sock *sk)
{
	smc_accept_release_transport(smc_sk(sk), false);
}

/* proto.unhash: required by the core, called after proto.destroy, which has removed the socket. */
static void inet_unhash_sk(struct sock *sk)
{
}

static struct proto inet_prot = {
	.name		= "INET_SMC",
	.owner		= THIS_MODULE,
	.init		= inet_init_sk,
	.destroy	= inet_destroy_sk,
	.unhash		= inet_unhash_sk,
	.keepalive	= smc_sock_set_keepalive,
	.obj_size	= sizeof(struct smc_sock),
};

static struct inet_protosw inet_sw = {
	.type		= SOCK_STREAM,
	.protocol	= IPPROTO_SMC,
	.prot		= &inet_prot,
	.ops		= &smc_sock_ops,
};

static int __init inet_init_v4(void)
{
	int rc = smc_fault_rc(INET_PROTO4, -ENOBUFS, proto_register(&inet_prot, 1));

	if (!rc)
		inet_register_protosw(&inet_sw);
	return rc;
}

static void inet_exit_v4(void)
{
	inet_unregister_protosw(&inet_sw);
	proto_unregister(&inet_prot);
}

#if IS_ENABLED(CONFIG_IPV6)
static struct proto inet6_prot = {
	.name		= "INET6_SMC",
	.owner		= THIS_MODULE,
	.init		= inet_init_sk,
	.destroy	= inet_destroy_sk,
	.unhash		= inet_unhash_sk,
	.keepalive	= smc_sock_set_keepalive,
	.obj_size	= sizeof(struct smc6_sock),
#ifdef SMC_HAVE_IPV6_PINFO_OFFSET
	.ipv6_pinfo_offset = offsetof(struct smc6_sock, inet6),
#endif
};

static struct inet_protosw inet6_sw = {
	.type		= SOCK_STREAM,
	.protocol	= IPPROTO_SMC,
	.prot		= &inet6_prot,
	.ops		= &smc_sock_ops,
};

/* Works also with IPv6 disabled at boot: the core then refuses AF_INET6 sockets earlier. */
static int __init inet_init_v6(void)
{
	int rc;

	rc = smc_fault_rc(INET_PROTO6, -ENOBUFS, proto_register(&inet6_prot, 1));
	if (rc)
		return rc;
	rc = smc_fault_rc(INET_PROTOSW6, -EPERM, inet6_register_protosw(&inet6_sw));
	if (rc)
		proto_unregister(&inet6_prot);
	return rc;
}

static void inet_exit_v6(void)
{
	inet6_unregister_protosw(&inet6_sw);
	proto_unregister(&inet6_prot);
}
#else
static int __init inet_init_v6(void)
{
	return 0;
}

static void inet_exit_v6(void)
{
}
#endif

/**
 * smc_inet_init() - register IPPROTO_SMC with AF_INET and AF_INET6
 *
 * After smc_family_init(): sockets can be created as soon as this runs.
 *
 * Return: 0 or -errno.
 */
int __init smc_inet_init(void)
{
	int rc;

	rc = inet_init_v4();
	if (rc)
		return rc;
	rc = inet_init_v6();
	if (rc)
		inet_exit_v4();
	return rc;
}

/** smc_inet_exit() - undo smc_inet_init(); no socket is left */
void smc_inet_exit(void)
{
	inet_exit_v6();
	inet_exit_v4();
}
