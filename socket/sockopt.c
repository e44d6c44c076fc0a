// SPDX-License-Identifier: GPL-2.0-only
/*
 * Socket options and ioctls. An option is set on the clcsock first; then its fields are mirrored
 * into the SMC socket, from which the core answers getsockopt(SOL_SOCKET). Kernels before 6.7
 * (without SMC_HAVE_CUSTOM_SOCKOPT) set SOL_SOCKET options on the SMC socket without calling the
 * family; the next call pushes these to the clcsock. Documentation/socket-api.rst has all options.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/net_tstamp.h>
#include <linux/smc.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <asm/ioctls.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/tcp_states.h>
#include <smc/base/stats.h>
#include <smc/conn/rx.h>
#include <smc/conn/tcp_info.h>
#include <smc/conn/tx.h>
#include <smc/proto/link_pick.h>
#include <uapi/linux/smc_own.h>
#include "cmsg.h"
#include "deferred.h"
#include "keepalive.h"
#include "sockopt.h"

/*
 * Flags of SOL_SOCKET options that the core reads from the SMC socket. Not SOCK_TIMESTAMP: a static
 * key counts the sockets that have it. The flags that getsockopt() shows for it are included.
 */
static const unsigned long sockopt_flags =
	BIT(SOCK_URGINLINE) | BIT(SOCK_KEEPOPEN) | BIT(SOCK_LINGER) | BIT(SOCK_BROADCAST) |
	BIT(SOCK_DBG) | BIT(SOCK_LOCALROUTE) | BIT(SOCK_RXQ_OVFL) | BIT(SOCK_ZEROCOPY) |
	BIT(SOCK_SELECT_ERR_QUEUE) | BIT(SOCK_WIFI_STATUS) | BIT(SOCK_NOFCS) |
	BIT(SOCK_FILTER_LOCKED) | BIT(SOCK_RCVTSTAMP) | BIT(SOCK_RCVTSTAMPNS) |
	BIT(SOCK_TSTAMP_NEW)
#ifdef SO_RCVMARK
	| BIT(SOCK_RCVMARK)
#endif
#ifdef SO_RCVPRIORITY
	| BIT(SOCK_RCVPRIORITY)
#endif
	;

/* Copy fields: a second sock_setsockopt() would check and charge twice. */
static void sockopt_copy_fields(struct sock *to, const struct sock *from)
{
	unsigned long differ = (to->sk_flags ^ from->sk_flags) & sockopt_flags;
	int bit;

	if (to->sk_mark != from->sk_mark || to->sk_bound_dev_if != from->sk_bound_dev_if)
		sk_dst_reset(to);
	for_each_set_bit(bit, &differ, BITS_PER_LONG)
		sock_valbool_flag(to, bit, sock_flag(from, bit));
	to->sk_reuse = from->sk_reuse;
	to->sk_bound_dev_if = from->sk_bound_dev_if;
	WRITE_ONCE(to->sk_lingertime, from->sk_lingertime);
	WRITE_ONCE(to->sk_priority, from->sk_priority);
	WRITE_ONCE(to->sk_mark, from->sk_mark);
	WRITE_ONCE(to->sk_rcvtimeo, from->sk_rcvtimeo);
	WRITE_ONCE(to->sk_sndtimeo, from->sk_sndtimeo);
	WRITE_ONCE(to->sk_max_pacing_rate, from->sk_max_pacing_rate);
	WRITE_ONCE(to->sk_txrehash, from->sk_txrehash);
	to->sk_no_check_tx = from->sk_no_check_tx;
	WRITE_ONCE(to->sk_bind_phc, from->sk_bind_phc);
#ifdef CONFIG_NET_RX_BUSY_POLL
	WRITE_ONCE(to->sk_ll_usec, from->sk_ll_usec);
	WRITE_ONCE(to->sk_prefer_busy_poll, from->sk_prefer_busy_poll);
	WRITE_ONCE(to->sk_busy_poll_budget, from->sk_busy_poll_budget);
#endif
}

/* Under the lock of the SMC socket, or before the socket is visible to other contexts. */
static struct sk_filter *sockopt_filter(const struct sock *sk)
{
	return rcu_dereference_protected(sk->sk_filter, true);
}

/*
 * Attach the filter of @from to @to, charged to both, as TCP does with the filter of a listener.
 * @to is locked if it has a filter.
 */
static void sockopt_share_filter(struct sock *to, const struct sock *from)
{
	struct sk_filter *fp = sockopt_filter(from);

	if (fp == sockopt_filter(to))
		return;
	/* gives back what it was charged */
	if (sockopt_filter(to))
		sk_detach_filter(to);
	if (!fp)
		return;
	refcount_inc(&fp->refcnt);
	atomic_add(bpf_prog_size(fp->prog->len), &to->sk_omem_alloc);
	rcu_assign_pointer(to->sk_filter, fp);
}

/* Mirror the options about packets, which only setsockopt(SOL_SOCKET) changes. */
static void sockopt_mirror_packets(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);

	sockopt_share_filter(sk, csk);
	WRITE_ONCE(sk->sk_tsflags, csk->sk_tsflags);
}

static void sockopt_mirror_locked(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);

	sockopt_copy_fields(sk, csk);
	sk->sk_reuseport = csk->sk_reuseport;
	sk->sk_userlocks = csk->sk_userlocks;
	smc_sock_show_bufsizes(smc);
}

/**
 * smc_sockopt_mirror() - copy the SOL_SOCKET values of the clcsock to the SMC socket
 * @smc: socket with a clcsock, after create and accept; not visible to other contexts, or locked
 */
void smc_sockopt_mirror(struct smc_sock *smc)
{
	sockopt_mirror_packets(smc);
	sockopt_mirror_locked(smc);
	/* only here: during a handshake and in SMC mode the clcsock has other values */
	WRITE_ONCE(smc_sock_sk(smc)->sk_rcvlowat, smc->clcsock.sock->sk->sk_rcvlowat);
	WRITE_ONCE(smc_sock_sk(smc)->sk_peek_off, READ_ONCE(smc->clcsock.sock->sk->sk_peek_off));
}

/**
 * smc_sockopt_inherit() - copy the options that only the SMC socket has from a listener to a child
 * @child: new socket
 * @listener: listener
 *
 * The clcsock of the child has inherited all others; see smc_sockopt_mirror().
 */
void smc_sockopt_inherit(struct smc_sock *child, const struct smc_sock *listener)
{
	const unsigned long keep = BIT(SMC_SF_NODELAY) | BIT(SMC_SF_CORK) |
				   BIT(SMC_SF_LEND);

	child->flags |= READ_ONCE(listener->flags) & keep;
	child->link_policy = READ_ONCE(listener->link_policy);
	child->balance = READ_ONCE(listener->balance);
	child->upgrade_bytes = READ_ONCE(listener->upgrade_bytes);
}

#ifndef SMC_HAVE_CUSTOM_SOCKOPT
/* Apply the limit of sock_kmalloc(), as the core does for filters. */
static bool sockopt_filter_fits(const struct sock *sk, const struct sk_filter *fp)
{
	int size = bpf_prog_size(fp->prog->len);
	int max = READ_ONCE(sysctl_optmem_max);

	return size <= max && atomic_read(&sk->sk_omem_alloc) + size < max;
}

/*
 * Set sk_tsflags of the clcsock. OPT_ID numbers the stamps from the bytes in flight on; TCP refuses
 * it before there is a connection.
 */
static void sockopt_push_tsflags(struct sock *csk, u32 flags)
{
	u32 begin = READ_ONCE(tcp_sk(csk)->snd_una);

	if (flags & ~csk->sk_tsflags & SOF_TIMESTAMPING_OPT_ID) {
#ifdef SMC_HAVE_OPT_ID_TCP
		if (flags & SOF_TIMESTAMPING_OPT_ID_TCP)
			begin = tcp_sk(csk)->write_seq;
#endif
		if (BIT(inet_sk_state_load(csk)) & (TCPF_CLOSE | TCPF_LISTEN))
			flags &= ~SOF_TIMESTAMPING_OPT_ID;
		else
			atomic_set(&csk->sk_tskey, begin);
	}
	WRITE_ONCE(csk->sk_tsflags, flags);
}

/*
 * Push the options about packets, but not during a handshake and in SMC mode, when the clcsock
 * transports no data of the application. Both sockets locked.
 */
static int sockopt_push_packets(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);
	struct sk_filter *fp = sockopt_filter(sk);

	if (smc_sock_is_connecting(smc) || smc_sock_is_smc(smc))
		return 0;
	sockopt_push_tsflags(csk, READ_ONCE(sk->sk_tsflags));
	/* fail the call rather than bypass the filter */
	if (fp && fp != sockopt_filter(csk) && !sockopt_filter_fits(csk, fp))
		return -ENOMEM;
	sockopt_share_filter(csk, sk);
	return 0;
}
#endif

#ifndef SMC_HAVE_CUSTOM_SOCKOPT
/*
 * Push the sizes that the program has set. In SMC mode the socket shows its rings: a program that
 * sets a size then sets it for the clcsock, for a later connection, and the rings show again. The
 * first size that it sets may be the one that shows; the value tells later ones apart.
 */
static void sockopt_push_bufsizes(struct smc_sock *smc)
{
	struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);
	int snd = 0, rcv = 0;

	spin_lock_bh(&smc->state_lock);
	if (smc->conn) {
		snd = 2 * READ_ONCE(smc->conn->tx.want);
		rcv = 2 * smc->conn->rx.ring.size;
	}
	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK &&
	    (!(csk->sk_userlocks & SOCK_SNDBUF_LOCK) || sk->sk_sndbuf != snd ||
	     smc_sock_shows_set_size(smc, SOCK_SNDBUF_LOCK))) {
		csk->sk_userlocks |= SOCK_SNDBUF_LOCK;
		WRITE_ONCE(csk->sk_sndbuf, sk->sk_sndbuf);
	}
	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK &&
	    (!(csk->sk_userlocks & SOCK_RCVBUF_LOCK) || sk->sk_rcvbuf != rcv ||
	     smc_sock_shows_set_size(smc, SOCK_RCVBUF_LOCK))) {
		csk->sk_userlocks |= SOCK_RCVBUF_LOCK;
		WRITE_ONCE(csk->sk_rcvbuf, sk->sk_rcvbuf);
	}
	if (smc->conn && !smc_sock_shows_set_size(smc, SOCK_SNDBUF_LOCK))
		WRITE_ONCE(sk->sk_sndbuf, snd);
	if (smc->conn && !smc_sock_shows_set_size(smc, SOCK_RCVBUF_LOCK))
		WRITE_ONCE(sk->sk_rcvbuf, rcv);
	spin_unlock_bh(&smc->state_lock);
}
#endif

/* Push all options of SOL_SOCKET to the clcsock. */
static int sockopt_push_locked(struct smc_sock *smc)
{
	int rc = 0;
#ifndef SMC_HAVE_CUSTOM_SOCKOPT
	struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);

	sock_owned_by_me(sk);
	lock_sock_nested(csk, SINGLE_DEPTH_NESTING);
	rc = sockopt_push_packets(smc);
	sockopt_copy_fields(csk, sk);
	sockopt_push_bufsizes(smc);
	/* the core sets SO_REUSEPORT on inet sockets only */
	if (sk->sk_family != PF_SMC)
		csk->sk_reuseport = sk->sk_reuseport;
	release_sock(csk);
#endif
	return rc;
}

/**
 * smc_sockopt_push() - copy SOL_SOCKET values that the core has set to the clcsock
 * @smc: socket with a clcsock, not locked
 *
 * At the start of a call and before release, on kernels before 6.7. Later kernels call
 * smc_sockopt_set() for each option, and this function does nothing.
 *
 * Return: 0, or -ENOMEM: the filter exceeds net.core.optmem_max of the clcsock.
 */
int smc_sockopt_push(struct smc_sock *smc)
{
	int rc = 0;
#ifndef SMC_HAVE_CUSTOM_SOCKOPT
	struct sock *csk = smc->clcsock.sock->sk;
	struct sock *sk = smc_sock_sk(smc);

	/* counted by the core for each socket: children inherit it from the listening clcsock */
	if (sk->sk_flags & SK_FLAGS_TIMESTAMP && !(csk->sk_flags & SK_FLAGS_TIMESTAMP))
		sock_enable_timestamps(csk);
	lock_sock(sk);
	/* with the flags that select the layout of the stamps */
	rc = sockopt_push_locked(smc);
	release_sock(sk);
#endif
	return rc;
}

/* ---- set --------------------------------------------------------------------- */

/**
 * smc_sockopt_copy() - copy the value of an option into the kernel
 * @level: SOL_*
 * @name: option
 * @copy: SMC_SOCKOPT_COPY bytes, zeroed
 * @val: value; changed to point to the copy
 * @len: length of @val
 *
 * A copied value is the same each time it is read, and TCP does not sleep on the program's memory
 * under the socket lock. Not copied are a value that is longer than @copy, one of which not all
 * bytes can be read (TCP may need only the first), and IPV6_FLOWLABEL_MGR, which writes to it.
 *
 * Return: true if copied.
 */
bool smc_sockopt_copy(int level, int name, void *copy, sockptr_t *val, unsigned int len)
{
	if (level == SOL_IPV6 && name == IPV6_FLOWLABEL_MGR)
		return false;
	if (!len || len > SMC_SOCKOPT_COPY || copy_from_sockptr(copy, *val, len))
		return false;
	*val = KERNEL_SOCKPTR(copy);
	return true;
}

/* True if the value points to more memory of the program. */
static bool sockopt_has_pointer(int level, int name)
{
	return level == SOL_SOCKET &&
	       (name == SO_ATTACH_FILTER || name == SO_ATTACH_REUSEPORT_CBPF);
}

/* Return the value of an option, or 0 if it cannot be read: setting the option will fail. */
static int sockopt_int_value(sockptr_t val, unsigned int len)
{
	int n;

	return len >= sizeof(n) && !copy_from_sockptr(&n, val, sizeof(n)) ? n : 0;
}

static bool sockopt_is_ao(int name)
{
#ifdef TCP_AO_ADD_KEY
	return name == TCP_AO_ADD_KEY || name == TCP_AO_INFO;
#else
	return false;
#endif
}

/* TCP_FASTOPEN_KEY is not included: a key alone does not enable fast open. */
static bool sockopt_is_fastopen(int name)
{
	return name == TCP_FASTOPEN || name == TCP_FASTOPEN_CONNECT ||
	       name == TCP_FASTOPEN_NO_COOKIE;
}

/* True if @flags are valid flags of SO_TIMESTAMPING and affect time stamps of sent bytes. */
static bool sockopt_has_tx_tstamp(int flags)
{
	const int departure = SOF_TIMESTAMPING_TX_RECORD_MASK | SOF_TIMESTAMPING_OPT_ID |
			      SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_OPT_TX_SWHW;

	return !(flags & ~SOF_TIMESTAMPING_MASK) && flags & departure;
}

/**
 * smc_sockopt_excludes_smc() - check for an option that SMC cannot honour
 * @level: SOL_*
 * @name: option
 * @val: value
 * @len: length of @val
 *
 * Such an option acts on bytes of a TCP connection only: fast open, signatures, ULPs, filters,
 * TCP_REPAIR, and time stamps of sent bytes. The caller acts before it sets the option: an idle
 * socket becomes TCP, the next connections of a listener are TCP, and for any other socket the
 * option fails.
 *
 * Return: true if SMC is excluded.
 */
bool smc_sockopt_excludes_smc(int level, int name, sockptr_t val, unsigned int len)
{
	if (level == SOL_TCP) {
		if (sockopt_is_fastopen(name) || name == TCP_REPAIR)
			return sockopt_int_value(val, len);
		return name == TCP_ULP || name == TCP_MD5SIG || name == TCP_MD5SIG_EXT ||
		       sockopt_is_ao(name);
	}
	if (level != SOL_SOCKET)
		return false;
	if (name == SO_TIMESTAMPING_OLD || name == SO_TIMESTAMPING_NEW)
		return sockopt_has_tx_tstamp(sockopt_int_value(val, len));
	return name == SO_ATTACH_FILTER || name == SO_ATTACH_BPF;
}

/**
 * smc_sockopt_has_excluded_smc() - check for such an option that the core has set without calling
 * us
 * @smc: socket
 *
 * At the start of a call, for kernels before 6.7.
 *
 * Return: true if SMC is excluded; always false on later kernels.
 */
bool smc_sockopt_has_excluded_smc(struct smc_sock *smc)
{
#ifndef SMC_HAVE_CUSTOM_SOCKOPT
	const struct sock *sk = smc_sock_sk(smc);

	return rcu_access_pointer(sk->sk_filter) ||
	       sockopt_has_tx_tstamp(READ_ONCE(sk->sk_tsflags));
#else
	return false;
#endif
}

/* True if SMC is excluded too late. Fast open options are not checked: TCP itself refuses them. */
static bool sockopt_too_late(struct smc_sock *smc, int level, int name, sockptr_t val,
			     unsigned int len)
{
	return smc_sock_mode(smc) != SMC_MODE_TCP && !test_bit(SMC_SF_LISTEN, &smc->flags) &&
	       !(level == SOL_TCP && sockopt_is_fastopen(name)) &&
	       smc_sockopt_excludes_smc(level, name, val, len);
}

static int sockopt_read_int(int *n, sockptr_t val, unsigned int len)
{
	if (len < sizeof(*n))
		return -EINVAL;
	return copy_from_sockptr(n, val, sizeof(*n)) ? -EFAULT : 0;
}

/* Set an option for which struct proto_ops has an operation. */
static int sockopt_set_by_op(struct sock *sk, int name, sockptr_t val, unsigned int len)
{
	int n, rc;

	sock_owned_by_me(sk);
	rc = sockopt_read_int(&n, val, len);
	if (rc)
		return rc;
	if (name == SO_PEEK_OFF)
		return smc_sockopt_set_peek_off(sk, n);
	return smc_sockopt_set_rcvlowat(sk, n < 0 ? INT_MAX : n);
}

/* Return the flag (SMC_SF_*) of an option of SOL_SMC, or -EOPNOTSUPP. */
static int sockopt_smc_flag(int name)
{
	switch (name) {
	case SMC_LIMIT_HS:
		return SMC_SF_LIMIT_HS;
	case SMC_OWN_SPLICE_LEND:
		return SMC_SF_LEND;
	default:
		return -EOPNOTSUPP;
	}
}

/* Read a number from -1, the setting of the namespace, to @max. */
static int sockopt_read_own(int *out, sockptr_t val, unsigned int len, int max)
{
	int rc = sockopt_read_int(out, val, len);

	if (rc)
		return rc;
	return *out < -1 || *out > max ? -EINVAL : 0;
}

/* SMC_OWN_LINK_POLICY: for the next time that a link is chosen. */
static int sockopt_set_link_policy(struct smc_sock *smc, sockptr_t val, unsigned int len)
{
	struct smc_conn *conn;
	int policy, rc;

	rc = sockopt_read_own(&policy, val, len, SMC_LINK_POLICIES - 1);
	if (rc)
		return rc;
	/* before the look for a connection: smc_stream_set_conn_locked() copies it */
	WRITE_ONCE(smc->link_policy, policy);
	conn = smc_sock_conn_get(smc);
	if (conn) {
		WRITE_ONCE(conn->link_policy, policy);
		smc_conn_put(conn);
	}
	return 0;
}

/* SMC_OWN_BALANCE: for the next time that a link becomes usable. */
static int sockopt_set_balance(struct smc_sock *smc, sockptr_t val, unsigned int len)
{
	struct smc_conn *conn;
	int balance, rc;

	rc = sockopt_read_own(&balance, val, len, 1);
	if (rc)
		return rc;
	/* before the look for a connection, as above */
	WRITE_ONCE(smc->balance, balance);
	conn = smc_sock_conn_get(smc);
	if (conn) {
		smc_conn_set_balance(conn, balance);
		smc_conn_put(conn);
	}
	return 0;
}

/* SMC_OWN_UPGRADE_BYTES: for the next time that somebody could ask. */
static int sockopt_set_upgrade_bytes(struct smc_sock *smc, sockptr_t val, unsigned int len)
{
	int bytes, rc;

	rc = sockopt_read_own(&bytes, val, len, INT_MAX);
	if (rc)
		return rc;
	WRITE_ONCE(smc->upgrade_bytes, bytes);
	return 0;
}

static int sockopt_set_smc(struct smc_sock *smc, int name, sockptr_t val, unsigned int len)
{
	int flag = sockopt_smc_flag(name);
	int on, rc;

	if (name == SMC_OWN_LINK_POLICY)
		return sockopt_set_link_policy(smc, val, len);
	if (name == SMC_OWN_BALANCE)
		return sockopt_set_balance(smc, val, len);
	if (name == SMC_OWN_UPGRADE_BYTES)
		return sockopt_set_upgrade_bytes(smc, val, len);
	if (flag < 0)
		return flag;
	rc = sockopt_read_int(&on, val, len);
	if (rc)
		return rc;
	assign_bit(flag, &smc->flags, on);
	return 0;
}

/* TCP_CORK: of the stream, and of the clcsock if it carries the stream one day. */
static int sockopt_set_cork(struct smc_sock *smc, sockptr_t val, unsigned int len)
{
	int on, rc;

	sock_owned_by_me(smc_sock_sk(smc));
	rc = sockopt_read_int(&on, val, len);
	if (!rc)
		smc_clcsock_set_cork(&smc->clcsock, on);
	return rc;
}

/* SMC_OWN_ZEROCOPY: set SO_ZEROCOPY, which every kernel accepts on the clcsock. */
static int sockopt_set_zerocopy(struct smc_sock *smc, sockptr_t val, unsigned int len)
{
	struct socket *csock = smc->clcsock.sock;
	struct sock *sk = smc_sock_sk(smc);
	int rc;

	lock_sock(sk);
	rc = sock_setsockopt(csock, SOL_SOCKET, SO_ZEROCOPY, val, len);
	if (!rc)
		sock_valbool_flag(sk, SOCK_ZEROCOPY, sock_flag(csock->sk, SOCK_ZEROCOPY));
	release_sock(sk);
	return rc;
}

/* True if the option belongs to the struct socket of the application, not to the clcsock. */
static bool sockopt_is_own(int name)
{
	switch (name) {
	case SO_PASSCRED:
	case SO_PASSSEC:
#ifdef SO_PASSPIDFD
	case SO_PASSPIDFD:
#endif
		return true;
	default:
		return false;
	}
}

/* Apply TCP_NODELAY or TCP_CORK to the stream. Setting the first or clearing the second flushes. */
static void sockopt_apply_cork(struct smc_sock *smc, int name, sockptr_t val)
{
	struct smc_conn *conn;
	bool cork = name == TCP_CORK;
	int on;

	if (copy_from_sockptr(&on, val, sizeof(on)))
		return;
	smc_stats_inc(sock_net(smc_sock_sk(smc)), cork ? SMC_STAT_CORK : SMC_STAT_NODELAY);
	assign_bit(cork ? SMC_SF_CORK : SMC_SF_NODELAY, &smc->flags, on);
	if (cork == !!on)
		return;
	conn = smc_sock_conn_get(smc);
	if (conn) {
		smc_tx_push(conn, false);
		smc_conn_put(conn);
	}
}

static bool sockopt_is_keepalive(int level, int name)
{
	if (level == SOL_SOCKET)
		return name == SO_KEEPALIVE;
	return level == SOL_TCP && (name == TCP_KEEPIDLE || name == TCP_KEEPINTVL ||
				    name == TCP_KEEPCNT || name == TCP_USER_TIMEOUT);
}

/* Set an option of the clcsock and mirror it. */
static int sockopt_set_clcsock(struct smc_sock *smc, int level, int name, sockptr_t val,
			       unsigned int len)
{
	struct socket *csock = smc->clcsock.sock;
	struct sock *sk = smc_sock_sk(smc);
	int rc;

	/* first: IP_TOS and others change SOL_SOCKET fields, which are mirrored below */
	rc = smc_sockopt_push(smc);
	if (rc)
		return rc;
	lock_sock(sk);
	if (level == SOL_SOCKET && (name == SO_RCVLOWAT || name == SO_PEEK_OFF))
		rc = sockopt_set_by_op(sk, name, val, len);
	else if (level == SOL_SOCKET)
		rc = sock_setsockopt(csock, level, name, val, len);
	else if (level == SOL_TCP && name == TCP_CORK)
		rc = sockopt_set_cork(smc, val, len);
	else
		rc = READ_ONCE(csock->ops)->setsockopt(csock, level, name, val, len);
	if (level == SOL_SOCKET)
		sockopt_mirror_packets(smc);
	sockopt_mirror_locked(smc);
	if (!rc && level == SOL_TCP && name == TCP_SAVE_SYN)
		smc_option_set_save_syn(&smc->clcsock.option, csock->sk);
	if (!rc && level == SOL_TCP && (name == TCP_NODELAY || name == TCP_CORK))
		sockopt_apply_cork(smc, name, val);
	if (!rc && sockopt_is_keepalive(level, name))
		smc_keepalive_options_changed(smc);
	if (!rc && level == SOL_SOCKET)
		smc_cmsg_options_changed(smc);
	release_sock(sk);
	return rc;
}

/**
 * smc_sockopt_set() - setsockopt()
 * @smc: socket in any mode
 * @sock: its struct socket
 * @level: SOL_*
 * @name: option
 * @val: value
 * @len: length of @val
 * @copied: result of smc_sockopt_copy()
 *
 * Takes the socket lock. The caller has checked smc_sockopt_excludes_smc().
 *
 * Return: as setsockopt(); -EOPNOTSUPP: too late for an option that SMC cannot honour.
 */
int smc_sockopt_set(struct smc_sock *smc, struct socket *sock, int level, int name,
		    sockptr_t val, unsigned int len, bool copied)
{
	bool sleeps = !copied || sockopt_has_pointer(level, name);
	int rc;

	if (level == SOL_SMC && name == SMC_OWN_ZEROCOPY)
		return sockopt_set_zerocopy(smc, val, len);
	if (level == SOL_SMC)
		return sockopt_set_smc(smc, name, val, len);
	if (level == SOL_SOCKET && sockopt_is_own(name))
		return sock_setsockopt(sock, level, name, val, len);
	if (sockopt_too_late(smc, level, name, val, len))
		return -EOPNOTSUPP;
	if (!sleeps || smc_sock_mode(smc) == SMC_MODE_TCP)
		return sockopt_set_clcsock(smc, level, name, val, len);
	rc = smc_clcsock_begin_call(&smc->clcsock);
	if (rc)
		return rc;
	rc = sockopt_set_clcsock(smc, level, name, val, len);
	smc_clcsock_end_call(&smc->clcsock);
	return rc;
}

/**
 * smc_sockopt_set_rcvlowat() - proto_ops.set_rcvlowat: SO_RCVLOWAT
 * @sk: SMC socket, locked
 * @val: bytes
 *
 * Also called by smc_sockopt_set().
 *
 * Return: as setsockopt(); -EOPNOTSUPP for bpf_setsockopt() in a BPF program.
 */
int smc_sockopt_set_rcvlowat(struct sock *sk, int val)
{
	int rc;

	/* runs under RCU, and the lock of the clcsock may sleep */
	if (has_current_bpf_ctx())
		return -EOPNOTSUPP;
	/* SO_RCVBUF limits it, and may not be on the clcsock yet */
	rc = sockopt_push_locked(smc_sk(sk));
	if (rc)
		return rc;
	rc = smc_clcsock_set_rcvlowat(&smc_sk(sk)->clcsock, val);
	if (rc < 0)
		return rc;
	WRITE_ONCE(sk->sk_rcvlowat, rc);
	return 0;
}

/**
 * smc_sockopt_set_peek_off() - proto_ops.set_peek_off: SO_PEEK_OFF
 * @sk: SMC socket
 * @val: offset; -1: off
 *
 * Return: as on TCP, which has the option since 6.9.
 */
int smc_sockopt_set_peek_off(struct sock *sk, int val)
{
	struct socket *csock = smc_sk(sk)->clcsock.sock;
	int rc;

	if (!csock->ops->set_peek_off)
		return -EOPNOTSUPP;
	rc = csock->ops->set_peek_off(csock->sk, val);
	if (!rc)
		WRITE_ONCE(sk->sk_peek_off, val);
	return rc;
}

/* ---- get --------------------------------------------------------------------- */

static int sockopt_put_int(int answer, char __user *val, int __user *len)
{
	int n;

	if (get_user(n, len))
		return -EFAULT;
	if (n < 0)
		return -EINVAL;
	n = min_t(int, n, sizeof(answer));
	if (put_user(n, len) || copy_to_user(val, &answer, n))
		return -EFAULT;
	return 0;
}

static int sockopt_get_smc(struct smc_sock *smc, int name, char __user *val, int __user *len)
{
	int flag = sockopt_smc_flag(name);

	if (name == SMC_OWN_ZEROCOPY)
		return sockopt_put_int(sock_flag(smc_sock_sk(smc), SOCK_ZEROCOPY), val, len);
	if (name == SMC_OWN_LINK_POLICY)
		return sockopt_put_int(READ_ONCE(smc->link_policy), val, len);
	if (name == SMC_OWN_BALANCE)
		return sockopt_put_int(READ_ONCE(smc->balance), val, len);
	if (name == SMC_OWN_UPGRADE_BYTES)
		return sockopt_put_int(READ_ONCE(smc->upgrade_bytes), val, len);
	return flag < 0 ? flag : sockopt_put_int(test_bit(flag, &smc->flags), val, len);
}

/*
 * Fill TCP_INFO with those values @c of the clcsock that hold for the stream too. All others
 * describe packets without bytes of the stream, unless that began over TCP.
 */
static void sockopt_fill_clcsock_info(const struct smc_sock *smc, const struct tcp_info *c,
				      struct tcp_info *info)
{
	memset(info, 0, sizeof(*info));
	info->tcpi_state = inet_sk_state_load(&smc->inet.sk);
	info->tcpi_retransmits = c->tcpi_retransmits;
	info->tcpi_probes = c->tcpi_probes;
	info->tcpi_backoff = c->tcpi_backoff;
	info->tcpi_options = c->tcpi_options;
	info->tcpi_snd_wscale = c->tcpi_snd_wscale;
	info->tcpi_rcv_wscale = c->tcpi_rcv_wscale;
	info->tcpi_rto = c->tcpi_rto;
	info->tcpi_ato = c->tcpi_ato;
	info->tcpi_rtt = c->tcpi_rtt;
	info->tcpi_rttvar = c->tcpi_rttvar;
	info->tcpi_min_rtt = c->tcpi_min_rtt;
	info->tcpi_snd_mss = c->tcpi_snd_mss;
	info->tcpi_rcv_mss = c->tcpi_rcv_mss;
	info->tcpi_advmss = c->tcpi_advmss;
	info->tcpi_pmtu = c->tcpi_pmtu;
	info->tcpi_reordering = c->tcpi_reordering;
	info->tcpi_pacing_rate = ~0ULL;
	info->tcpi_max_pacing_rate = c->tcpi_max_pacing_rate;
}

/* Add what TCP has carried, and still holds, of a stream that goes on over RDMA. */
static void sockopt_add_tcp_part(const struct tcp_info *c, struct tcp_info *info)
{
	/* until RDMA has carried some */
	if (!info->tcpi_bytes_sent)
		info->tcpi_last_data_sent = c->tcpi_last_data_sent;
	if (!info->tcpi_bytes_received)
		info->tcpi_last_data_recv = c->tcpi_last_data_recv;
	info->tcpi_last_ack_recv = min(info->tcpi_last_ack_recv, c->tcpi_last_ack_recv);
	info->tcpi_unacked += c->tcpi_unacked;
	info->tcpi_total_retrans += c->tcpi_total_retrans;
	info->tcpi_bytes_acked += c->tcpi_bytes_acked;
	info->tcpi_bytes_received += c->tcpi_bytes_received;
	info->tcpi_segs_out += c->tcpi_segs_out;
	info->tcpi_segs_in += c->tcpi_segs_in;
	info->tcpi_notsent_bytes += c->tcpi_notsent_bytes;
	info->tcpi_data_segs_in += c->tcpi_data_segs_in;
	info->tcpi_data_segs_out += c->tcpi_data_segs_out;
	info->tcpi_busy_time += c->tcpi_busy_time;
	info->tcpi_rwnd_limited += c->tcpi_rwnd_limited;
	info->tcpi_sndbuf_limited += c->tcpi_sndbuf_limited;
	info->tcpi_delivered += c->tcpi_delivered;
	info->tcpi_delivered_ce += c->tcpi_delivered_ce;
	info->tcpi_dsack_dups += c->tcpi_dsack_dups;
	info->tcpi_reord_seen += c->tcpi_reord_seen;
	info->tcpi_rcv_ooopack += c->tcpi_rcv_ooopack;
	info->tcpi_bytes_sent += c->tcpi_bytes_sent;
	info->tcpi_bytes_retrans += c->tcpi_bytes_retrans;
	if (!info->tcpi_delivery_rate)
		info->tcpi_delivery_rate = c->tcpi_delivery_rate;
}

/* TCP_INFO during a handshake and in SMC mode. */
static int sockopt_get_tcp_info(struct smc_sock *smc, char __user *val, int __user *len)
{
	struct tcp_info info, c;
	struct smc_conn *conn;
	int n;

	if (get_user(n, len))
		return -EFAULT;
	if (n < 0)
		return -EINVAL;
	tcp_get_info(smc->clcsock.sock->sk, &c);
	sockopt_fill_clcsock_info(smc, &c, &info);
	conn = smc_sock_conn_get(smc);
	if (conn) {
		spin_lock_bh(&conn->lock);
		smc_tcpinfo_fill(conn, &info);
		spin_unlock_bh(&conn->lock);
		smc_conn_put(conn);
		if (smc_sock_mode(smc) == SMC_MODE_DEFERRED)
			sockopt_add_tcp_part(&c, &info);
	}
	n = min_t(int, n, sizeof(info));
	if (put_user(n, len) || copy_to_user(val, &info, n))
		return -EFAULT;
	return 0;
}

static bool sockopt_is_nonblock(const struct smc_sock *smc)
{
	const struct file *file = smc->inet.sk.sk_socket->file;

	return file && file->f_flags & O_NONBLOCK;
}

/**
 * smc_sockopt_get() - getsockopt()
 * @smc: socket in any mode
 * @level: SOL_*, not SOL_SOCKET, which the core answers from the SMC socket
 * @name: option
 * @val: buffer for the value
 * @len: size of the buffer; result: size of the value
 *
 * During connect() an option of the clcsock waits for the end of the handshake, see
 * smc_clcsock_begin_call().
 *
 * Return: as getsockopt().
 */
int smc_sockopt_get(struct smc_sock *smc, int level, int name, char __user *val,
		    int __user *len)
{
	struct socket *csock = smc->clcsock.sock;
	const struct proto_ops *ops = READ_ONCE(csock->ops);
	int saves, rc;

	if (level == SOL_SMC)
		return sockopt_get_smc(smc, name, val, len);
	if (level == SOL_TCP && name == TCP_INFO &&
	    (smc_sock_is_smc(smc) || smc_sock_is_connecting(smc)))
		return sockopt_get_tcp_info(smc, val, len);
	/* it takes bytes from TCP */
	if (level == SOL_TCP && name == TCP_ZEROCOPY_RECEIVE &&
	    smc_sock_mode(smc) == SMC_MODE_DEFERRED) {
		rc = smc_deferred_exclude(smc, !sockopt_is_nonblock(smc));
		if (rc)
			return rc;
	}
	if (level == SOL_TCP && name == TCP_SAVE_SYN) {
		saves = smc_option_get_save_syn(&smc->clcsock.option, csock->sk);
		if (saves >= 0)
			return sockopt_put_int(saves, val, len);
	}
	/* TCP is not corked during a handshake */
	if (level == SOL_TCP && name == TCP_CORK && smc_sock_mode(smc) != SMC_MODE_TCP)
		return sockopt_put_int(READ_ONCE(smc->clcsock.cork), val, len);
	if (!ops->getsockopt)
		return -EOPNOTSUPP;
	if (smc_sock_mode(smc) == SMC_MODE_TCP)
		return ops->getsockopt(csock, level, name, val, len);
	rc = smc_clcsock_begin_call(&smc->clcsock);
	if (rc)
		return rc;
	rc = ops->getsockopt(csock, level, name, val, len);
	smc_clcsock_end_call(&smc->clcsock);
	return rc;
}

/* ---- ioctl ------------------------------------------------------------------- */

/* Return the result of a queue ioctl of the stream; *@known: @cmd is one of these. */
static int sockopt_queue_length(struct smc_sock *smc, unsigned int cmd, bool *known)
{
	const struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn;
	size_t answer = 0;

	*known = true;
	conn = smc_sock_conn_get(smc);
	switch (cmd) {
	case SIOCINQ:
		answer = conn ? smc_rx_get_inq(conn, sock_flag(sk, SOCK_URGINLINE)) : 0;
		break;
	case SIOCOUTQ:
		answer = conn ? smc_tx_get_queued(conn) : 0;
		break;
	case SIOCOUTQNSD:
		answer = conn ? smc_tx_get_unsent(conn) : 0;
		break;
	case SIOCATMARK:
		answer = conn && smc_rx_is_at_mark(conn);
		break;
	default:
		*known = false;
		break;
	}
	if (conn)
		smc_conn_put(conn);
	return min_t(size_t, answer, INT_MAX);
}

/**
 * smc_sockopt_ioctl() - ioctl()
 * @smc: socket in any mode
 * @cmd: command
 * @arg: argument
 *
 * During a handshake all queues are reported as empty: those of the clcsock have CLC messages.
 *
 * Return: as ioctl().
 */
int smc_sockopt_ioctl(struct smc_sock *smc, unsigned int cmd, unsigned long arg)
{
	struct socket *csock = smc->clcsock.sock;
	bool known;
	int answer;

	if (smc_sock_mode(smc) == SMC_MODE_DEFERRED && smc_sock_is_smc(smc)) {
		answer = smc_deferred_get_queue(smc, cmd, &known);
		if (known)
			return put_user(answer, (int __user *)arg);
	} else if (smc_sock_mode(smc) == SMC_MODE_SMC || smc_sock_is_connecting(smc)) {
		answer = sockopt_queue_length(smc, cmd, &known);
		if (known)
			return put_user(answer, (int __user *)arg);
	}
	return READ_ONCE(csock->ops)->ioctl(csock, cmd, arg);
}
