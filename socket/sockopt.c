// SPDX-License-Identifier: GPL-2.0-only
/* Socket options and ioctls. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/filter.h>
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
#include <smc/base/settings.h>
#include <smc/base/stats.h>
#include <smc/conn/rx.h>
#include <smc/conn/tcp_info.h>
#include <smc/conn/tx.h>
#include <uapi/linux/smc_own.h>
#include "cmsg.h"
#include "keepalive.h"
#include "sockopt.h"

/*
 * Flags that SOL_SOCKET options set and that core reads from our sk. Of time stamps only
 * what getsockopt() says: the holders of SOCK_TIMESTAMP are counted by a static key.
 */
static const unsigned long sockopt_flags =
	BIT(SOCK_URGINLINE) | BIT(SOCK_KEEPOPEN) | BIT(SOCK_LINGER) | BIT(SOCK_BROADCAST) |
	BIT(SOCK_DBG) | BIT(SOCK_LOCALROUTE) | BIT(SOCK_RXQ_OVFL) | BIT(SOCK_ZEROCOPY) |
	BIT(SOCK_SELECT_ERR_QUEUE) | BIT(SOCK_RCVMARK) | BIT(SOCK_WIFI_STATUS) |
	BIT(SOCK_NOFCS) | BIT(SOCK_FILTER_LOCKED) | BIT(SOCK_RCVTSTAMP) |
	BIT(SOCK_RCVTSTAMPNS) | BIT(SOCK_TSTAMP_NEW)
#ifdef SO_RCVPRIORITY
	| BIT(SOCK_RCVPRIORITY)
#endif
	;

/* Fields, not a second sock_setsockopt(): that would check and charge twice. */
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

/* A socket's filter changes under our lock alone, or while nobody else knows the socket. */
static struct sk_filter *sockopt_filter(const struct sock *sk)
{
	return rcu_dereference_protected(sk->sk_filter, true);
}

/*
 * Shared, and charged to each of its sockets, as TCP shares a listener's with its children.
 * @to: locked if it has one
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

/* Options of SOL_SOCKET that are about packets, which nothing but such an option changes. */
static void sockopt_mirror_packets(struct smc_sock *smc)
{
	struct sock *csk = smc->carrier.sock->sk;
	struct sock *sk = smc_sock_sk(smc);

	sockopt_share_filter(sk, csk);
	WRITE_ONCE(sk->sk_tsflags, csk->sk_tsflags);
}

static void sockopt_mirror_locked(struct smc_sock *smc)
{
	struct sock *csk = smc->carrier.sock->sk;
	struct sock *sk = smc_sock_sk(smc);

	sockopt_copy_fields(sk, csk);
	sk->sk_reuseport = csk->sk_reuseport;
	sk->sk_userlocks = csk->sk_userlocks;
	WRITE_ONCE(sk->sk_sndbuf, csk->sk_sndbuf);
	WRITE_ONCE(sk->sk_rcvbuf, csk->sk_rcvbuf);
}

/**
 * smc_sockopt_mirror() - show the carrier's SOL_SOCKET values in our sk
 * @smc: socket with a carrier; nobody else uses it yet, or its lock is held
 */
void smc_sockopt_mirror(struct smc_sock *smc)
{
	sockopt_mirror_packets(smc);
	sockopt_mirror_locked(smc);
	/* not later: in a handshake the carrier has another one, and a stream its own */
	WRITE_ONCE(smc_sock_sk(smc)->sk_rcvlowat, smc->carrier.sock->sk->sk_rcvlowat);
	WRITE_ONCE(smc_sock_sk(smc)->sk_peek_off, READ_ONCE(smc->carrier.sock->sk->sk_peek_off));
}

/**
 * smc_sockopt_inherit() - what a child takes over that its carrier does not know
 * @child: new socket
 * @listener: where it came from
 */
void smc_sockopt_inherit(struct smc_sock *child, const struct smc_sock *listener)
{
	const unsigned long keep = BIT(SMC_SF_NODELAY) | BIT(SMC_SF_CORK) |
				   BIT(SMC_SF_LEND);

	child->flags |= READ_ONCE(listener->flags) & keep;
}

#ifndef SMC_HAVE_CUSTOM_SOCKOPT
/* By the rule of sock_kmalloc(), which is core's own for filters. */
static bool sockopt_filter_fits(const struct sock *sk, const struct sk_filter *fp)
{
	int size = bpf_prog_size(fp->prog->len);
	int max = READ_ONCE(sysctl_optmem_max);

	return size <= max && atomic_read(&sk->sk_omem_alloc) + size < max;
}

/* Stamps are numbered from what is in flight on; before there is a connection TCP refuses that. */
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
 * Not to a carrier that carries a rendezvous, or keeps a stream company: no packet of theirs is
 * the program's. Both sockets locked.
 */
static int sockopt_push_packets(struct smc_sock *smc)
{
	struct sock *csk = smc->carrier.sock->sk;
	struct sock *sk = smc_sock_sk(smc);
	struct sk_filter *fp = sockopt_filter(sk);

	if (smc_sock_connecting(smc) || smc_sock_mode(smc) == SMC_MODE_SMC)
		return 0;
	sockopt_push_tsflags(csk, READ_ONCE(sk->sk_tsflags));
	/* rather no call than one past a filter */
	if (fp && fp != sockopt_filter(csk) && !sockopt_filter_fits(csk, fp))
		return -ENOMEM;
	sockopt_share_filter(csk, sk);
	return 0;
}
#endif

/* Our socket locked. */
static int sockopt_push_locked(struct smc_sock *smc)
{
	int rc = 0;
#ifndef SMC_HAVE_CUSTOM_SOCKOPT
	struct sock *csk = smc->carrier.sock->sk;
	struct sock *sk = smc_sock_sk(smc);

	lock_sock_nested(csk, SINGLE_DEPTH_NESTING);
	rc = sockopt_push_packets(smc);
	sockopt_copy_fields(csk, sk);
	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK) {
		csk->sk_userlocks |= SOCK_SNDBUF_LOCK;
		WRITE_ONCE(csk->sk_sndbuf, sk->sk_sndbuf);
	}
	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK) {
		csk->sk_userlocks |= SOCK_RCVBUF_LOCK;
		WRITE_ONCE(csk->sk_rcvbuf, sk->sk_rcvbuf);
	}
	/* core lets nobody but inet sockets have it */
	if (sk->sk_family != PF_SMC)
		csk->sk_reuseport = sk->sk_reuseport;
	release_sock(csk);
#endif
	return rc;
}

/**
 * smc_sockopt_push() - give SOL_SOCKET values that only our sk has to the carrier
 * @smc: socket with a carrier, our lock not held
 *
 * Return: 0, or -ENOMEM: the carrier may have no filter of that size besides its other options.
 */
int smc_sockopt_push(struct smc_sock *smc)
{
	int rc = 0;
#ifndef SMC_HAVE_CUSTOM_SOCKOPT
	struct sock *csk = smc->carrier.sock->sk;
	struct sock *sk = smc_sock_sk(smc);

	/* core counts who wants packets stamped: a child counts as its listener's carrier does */
	if (sk->sk_flags & SK_FLAGS_TIMESTAMP && !(csk->sk_flags & SK_FLAGS_TIMESTAMP))
		sock_enable_timestamps(csk);
	lock_sock(sk);
	/* and which layouts they are to have comes with the flags */
	rc = sockopt_push_locked(smc);
	release_sock(sk);
#endif
	return rc;
}

/**
 * smc_sockopt_rings() - ring sizes for the handshake
 * @smc: socket
 * @sndbuf: send ring bytes
 * @rcvbuf: RMBE bytes
 */
void smc_sockopt_rings(const struct smc_sock *smc, u32 *sndbuf, u32 *rcvbuf)
{
	const struct sock *csk = smc->carrier.sock->sk;
	const struct smc_net *sn = smc_policy_net(sock_net(csk));

	/* core stores twice what was asked for */
	*sndbuf = csk->sk_userlocks & SOCK_SNDBUF_LOCK ? READ_ONCE(csk->sk_sndbuf) / 2 :
							 READ_ONCE(sn->wmem);
	*rcvbuf = csk->sk_userlocks & SOCK_RCVBUF_LOCK ? READ_ONCE(csk->sk_rcvbuf) / 2 :
							 READ_ONCE(sn->rmem);
}

/* ---- set --------------------------------------------------------------------- */

/* The value of an option, 0 if there is none: the option will fail. */
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

/* A key by itself opens nothing. */
static bool sockopt_is_fastopen(int name)
{
	return name == TCP_FASTOPEN || name == TCP_FASTOPEN_CONNECT ||
	       name == TCP_FASTOPEN_NO_COOKIE;
}

/*
 * Flags of SO_TIMESTAMPING that it takes, some of them for bytes that are sent, or for the stamps
 * of these, which a program may ask for with each message.
 */
static bool sockopt_has_tx_tstamp(int flags)
{
	const int departure = SOF_TIMESTAMPING_TX_RECORD_MASK | SOF_TIMESTAMPING_OPT_ID |
			      SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_OPT_TX_SWHW;

	return !(flags & ~SOF_TIMESTAMPING_MASK) && flags & departure;
}

/**
 * smc_sockopt_excludes() - does this option make SMC impossible?
 * @level: SOL_*
 * @name: option
 * @val: value
 * @len: its length
 *
 * It asks for something that only happens to bytes of a TCP connection: those that come with
 * a SYN, are signed, transformed, filtered or repaired, or have the time noted at which they leave.
 *
 * Return: true: an idle socket has to become TCP before the option is set, a listener has
 * to make TCP connections from now on, and it is too late for any other socket.
 */
bool smc_sockopt_excludes(int level, int name, sockptr_t val, unsigned int len)
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
 * smc_sockopt_excluded() - was such an option set behind our back?
 * @smc: socket
 *
 * Return: true: on a kernel that does not bring options of SOL_SOCKET to us.
 */
bool smc_sockopt_excluded(struct smc_sock *smc)
{
#ifndef SMC_HAVE_CUSTOM_SOCKOPT
	const struct sock *sk = smc_sock_sk(smc);

	return rcu_access_pointer(sk->sk_filter) ||
	       sockopt_has_tx_tstamp(READ_ONCE(sk->sk_tsflags));
#else
	return false;
#endif
}

/* TCP itself knows that its connection has begun. */
static bool sockopt_too_late(struct smc_sock *smc, int level, int name, sockptr_t val, unsigned int len)
{
	return smc_sock_mode(smc) != SMC_MODE_TCP && !test_bit(SMC_SF_LISTEN, &smc->flags) &&
	       !(level == SOL_TCP && sockopt_is_fastopen(name)) &&
	       smc_sockopt_excludes(level, name, val, len);
}

static int sockopt_read_int(int *n, sockptr_t val, unsigned int len)
{
	if (len < sizeof(*n))
		return -EINVAL;
	return copy_from_sockptr(n, val, sizeof(*n)) ? -EFAULT : 0;
}

/* Options of SOL_SOCKET for which families have an operation. Our socket locked. */
static int sockopt_set_by_op(struct sock *sk, int name, sockptr_t val, unsigned int len)
{
	int n, rc;

	rc = sockopt_read_int(&n, val, len);
	if (rc)
		return rc;
	if (name == SO_PEEK_OFF)
		return smc_sockopt_set_peek_off(sk, n);
	return smc_sockopt_set_rcvlowat(sk, n < 0 ? INT_MAX : n);
}

/* The flag that an option of SOL_SMC sets, or -EOPNOTSUPP. */
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

static int sockopt_set_smc(struct smc_sock *smc, int name, sockptr_t val, unsigned int len)
{
	int flag = sockopt_smc_flag(name);
	int on, rc;

	if (flag < 0)
		return flag;
	rc = sockopt_read_int(&on, val, len);
	if (rc)
		return rc;
	assign_bit(flag, &smc->flags, on);
	return 0;
}

/* SO_ZEROCOPY, which the carrier may have on every kernel. */
static int sockopt_set_zerocopy(struct smc_sock *smc, sockptr_t val, unsigned int len)
{
	struct socket *csock = smc->carrier.sock;
	struct sock *sk = smc_sock_sk(smc);
	int rc;

	lock_sock(sk);
	rc = sock_setsockopt(csock, SOL_SOCKET, SO_ZEROCOPY, val, len);
	if (!rc)
		sock_valbool_flag(sk, SOCK_ZEROCOPY, sock_flag(csock->sk, SOCK_ZEROCOPY));
	release_sock(sk);
	return rc;
}

/* What the kernel keeps with struct socket or attaches to messages of ours. */
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

/* TCP_NODELAY and TCP_CORK act on the rings too; both flush what waits. */
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

/**
 * smc_sockopt_set() - setsockopt()
 * @smc: socket
 * @sock: its struct socket
 * @level: SOL_*
 * @name: option
 * @val: value
 * @len: its length
 *
 * Return: as setsockopt().
 */
int smc_sockopt_set(struct smc_sock *smc, struct socket *sock, int level, int name,
		    sockptr_t val, unsigned int len)
{
	struct socket *csock = smc->carrier.sock;
	struct sock *sk = smc_sock_sk(smc);
	int rc;

	if (level == SOL_SMC && name == SMC_OWN_ZEROCOPY)
		return sockopt_set_zerocopy(smc, val, len);
	if (level == SOL_SMC)
		return sockopt_set_smc(smc, name, val, len);
	if (level == SOL_SOCKET && sockopt_is_own(name))
		return sock_setsockopt(sock, level, name, val, len);
	if (sockopt_too_late(smc, level, name, val, len))
		return -EOPNOTSUPP;
	/* IP_TOS and others change SOL_SOCKET fields: bring them in step first */
	rc = smc_sockopt_push(smc);
	if (rc)
		return rc;
	lock_sock(sk);
	if (level == SOL_SOCKET && (name == SO_RCVLOWAT || name == SO_PEEK_OFF))
		rc = sockopt_set_by_op(sk, name, val, len);
	else if (level == SOL_SOCKET)
		rc = sock_setsockopt(csock, level, name, val, len);
	else
		rc = READ_ONCE(csock->ops)->setsockopt(csock, level, name, val, len);
	if (level == SOL_SOCKET)
		sockopt_mirror_packets(smc);
	sockopt_mirror_locked(smc);
	if (!rc && level == SOL_TCP && name == TCP_SAVE_SYN)
		smc_option_save_syn(&smc->carrier.option, csock->sk);
	if (!rc && level == SOL_TCP && (name == TCP_NODELAY || name == TCP_CORK))
		sockopt_apply_cork(smc, name, val);
	if (!rc && sockopt_is_keepalive(level, name))
		smc_keep_changed(smc);
	if (!rc && level == SOL_SOCKET)
		smc_cmsg_changed(smc);
	release_sock(sk);
	return rc;
}

/**
 * smc_sockopt_set_rcvlowat() - SO_RCVLOWAT where core calls the op itself
 * @sk: our socket, locked
 * @val: bytes
 *
 * Return: as setsockopt().
 */
int smc_sockopt_set_rcvlowat(struct sock *sk, int val)
{
	int rc;

	/* SO_RCVBUF limits it, and may have been set just now */
	rc = sockopt_push_locked(smc_sk(sk));
	if (rc)
		return rc;
	rc = smc_carrier_set_rcvlowat(&smc_sk(sk)->carrier, val);
	if (rc < 0)
		return rc;
	WRITE_ONCE(sk->sk_rcvlowat, rc);
	return 0;
}

/**
 * smc_sockopt_set_peek_off() - SO_PEEK_OFF
 * @sk: our socket
 * @val: offset, -1 = off
 *
 * Return: as on TCP, which learned it in 6.9.
 */
int smc_sockopt_set_peek_off(struct sock *sk, int val)
{
	struct socket *csock = smc_sk(sk)->carrier.sock;
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
	return flag < 0 ? flag : sockopt_put_int(test_bit(flag, &smc->flags), val, len);
}

/*
 * Of the carrier what is true of the stream, too; the rest was measured on packets that carry
 * none of its bytes.
 */
static void sockopt_clcsock_info(const struct smc_sock *smc, struct tcp_info *info)
{
	struct tcp_info c;

	tcp_get_info(smc->carrier.sock->sk, &c);
	memset(info, 0, sizeof(*info));
	info->tcpi_state = inet_sk_state_load(&smc->inet.sk);
	info->tcpi_retransmits = c.tcpi_retransmits;
	info->tcpi_probes = c.tcpi_probes;
	info->tcpi_backoff = c.tcpi_backoff;
	info->tcpi_options = c.tcpi_options;
	info->tcpi_snd_wscale = c.tcpi_snd_wscale;
	info->tcpi_rcv_wscale = c.tcpi_rcv_wscale;
	info->tcpi_rto = c.tcpi_rto;
	info->tcpi_ato = c.tcpi_ato;
	info->tcpi_rtt = c.tcpi_rtt;
	info->tcpi_rttvar = c.tcpi_rttvar;
	info->tcpi_min_rtt = c.tcpi_min_rtt;
	info->tcpi_snd_mss = c.tcpi_snd_mss;
	info->tcpi_rcv_mss = c.tcpi_rcv_mss;
	info->tcpi_advmss = c.tcpi_advmss;
	info->tcpi_pmtu = c.tcpi_pmtu;
	info->tcpi_reordering = c.tcpi_reordering;
	info->tcpi_pacing_rate = ~0ULL;
	info->tcpi_max_pacing_rate = c.tcpi_max_pacing_rate;
}

/* TCP_INFO while a handshake runs, and over RDMA. */
static int sockopt_get_tcp_info(struct smc_sock *smc, char __user *val, int __user *len)
{
	struct smc_conn *conn;
	struct tcp_info info;
	int n;

	if (get_user(n, len))
		return -EFAULT;
	if (n < 0)
		return -EINVAL;
	sockopt_clcsock_info(smc, &info);
	conn = smc_sock_conn_get(smc);
	if (conn) {
		spin_lock_bh(&conn->lock);
		smc_meter_tcp_info(conn, &info);
		spin_unlock_bh(&conn->lock);
		smc_conn_put(conn);
	}
	n = min_t(int, n, sizeof(info));
	if (put_user(n, len) || copy_to_user(val, &info, n))
		return -EFAULT;
	return 0;
}

/**
 * smc_sockopt_get() - getsockopt(); SOL_SOCKET never arrives, core answers it
 * @smc: socket
 * @level: SOL_*
 * @name: option
 * @val: room for the value
 * @len: its length
 *
 * Return: as getsockopt().
 */
int smc_sockopt_get(struct smc_sock *smc, int level, int name, char __user *val,
		    int __user *len)
{
	struct socket *csock = smc->carrier.sock;
	const struct proto_ops *ops = READ_ONCE(csock->ops);
	int saves;

	if (level == SOL_SMC)
		return sockopt_get_smc(smc, name, val, len);
	if (level == SOL_TCP && name == TCP_INFO &&
	    (smc_sock_mode(smc) == SMC_MODE_SMC || smc_sock_connecting(smc)))
		return sockopt_get_tcp_info(smc, val, len);
	if (level == SOL_TCP && name == TCP_SAVE_SYN) {
		saves = smc_option_saves_syn(&smc->carrier.option, csock->sk);
		if (saves >= 0)
			return sockopt_put_int(saves, val, len);
	}
	if (!ops->getsockopt)
		return -EOPNOTSUPP;
	return ops->getsockopt(csock, level, name, val, len);
}

/* ---- ioctl ------------------------------------------------------------------- */

/* Queue lengths; *@known says whether @cmd is one of these. */
static int sockopt_queue_length(struct smc_sock *smc, unsigned int cmd, bool *known)
{
	const struct sock *sk = smc_sock_sk(smc);
	struct smc_conn *conn;
	size_t answer = 0;

	*known = true;
	conn = smc_sock_conn_get(smc);
	switch (cmd) {
	case SIOCINQ:
		answer = conn ? smc_rx_inq(conn, sock_flag(sk, SOCK_URGINLINE)) : 0;
		break;
	case SIOCOUTQ:
		answer = conn ? smc_tx_queued(conn) : 0;
		break;
	case SIOCOUTQNSD:
		answer = conn ? smc_tx_unsent(conn) : 0;
		break;
	case SIOCATMARK:
		answer = conn && smc_rx_at_mark(conn);
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
 * @smc: socket
 * @cmd: command
 * @arg: argument
 *
 * While a handshake runs the queues are empty to the application: what lies in the
 * carrier's is not its business.
 *
 * Return: as ioctl().
 */
int smc_sockopt_ioctl(struct smc_sock *smc, unsigned int cmd, unsigned long arg)
{
	struct socket *csock = smc->carrier.sock;
	bool known;
	int answer;

	if (smc_sock_mode(smc) == SMC_MODE_SMC || smc_sock_connecting(smc)) {
		answer = sockopt_queue_length(smc, cmd, &known);
		if (known)
			return put_user(answer, (int __user *)arg);
	}
	return READ_ONCE(csock->ops)->ioctl(csock, cmd, arg);
}
