// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unproven connections of a client's group (decision 0009). An honest server may have several
 * addresses and use one group for all of them, so the address that names a group in its Accept is
 * not compared. A hostile server can do the same with the group of another server. The group's
 * peer then knows nothing of the connection, never confirms its end, and its RMBE goes into
 * quarantine.
 *
 * Only the group's peer can send a CDC message over the group. So the first one proves that the
 * connection's address leads to that host. Until then a connection of another address than that of
 * the first contact is unproven. A group has few of these at a time, and counts those that ended
 * in quarantine as long as it lives.
 *
 * An entry names the address, not the connection: a proof concerns all connections of an address,
 * also those that have ended.
 */
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <net/ipv6.h>
#include <smc/base/host.h>
#include <smc/lgr/lgr.h>

/**
 * smc_proof_init() - set up the proofs of a new group
 * @proofs: zeroed
 */
void smc_proof_init(struct smc_proofs *proofs)
{
	spin_lock_init(&proofs->lock);
}

/**
 * smc_proof_needed() - check whether connections of an address begin unproven
 * @lgr: group
 * @addr: address of the TCP peer, IPv4 as v4-mapped
 *
 * Any context.
 *
 * Return: false for the address of the group's first contact.
 */
bool smc_proof_needed(const struct smc_lgr *lgr, const struct in6_addr *addr)
{
	return !ipv6_addr_equal(&lgr->peer.tcp_addr, addr);
}

/* Return the index of a proven address; SMC_PROOF_ADDRS: not proven. */
static u32 proof_find_addr(const struct smc_proofs *proofs, const struct in6_addr *addr)
{
	u32 i;

	lockdep_assert_held(&proofs->lock);
	for (i = 0; i < proofs->nproven; i++)
		if (ipv6_addr_equal(&proofs->proven[i], addr))
			return i;
	return SMC_PROOF_ADDRS;
}

/**
 * smc_proof_is_given() - check whether an address is known to lead to the peer of a group
 * @lgr: group
 * @addr: address of the TCP peer, IPv4 as v4-mapped
 *
 * Any context; a leaf lock, for a moment.
 *
 * Return: true for the address of the first contact, and for those that connections have proven.
 */
bool smc_proof_is_given(struct smc_lgr *lgr, const struct in6_addr *addr)
{
	struct smc_proofs *proofs = &lgr->proofs;
	bool given;

	if (!smc_proof_needed(lgr, addr))
		return true;
	spin_lock_bh(&proofs->lock);
	given = proof_find_addr(proofs, addr) < SMC_PROOF_ADDRS;
	spin_unlock_bh(&proofs->lock);
	return given;
}

static u32 proof_count_host(const struct smc_proofs *proofs, const struct in6_addr *addr)
{
	struct in6_addr host = smc_host_addr(addr), other;
	u32 i, n = 0;

	lockdep_assert_held(&proofs->lock);
	for (i = 0; i < proofs->nopen; i++) {
		other = smc_host_addr(&proofs->open[i]);
		n += ipv6_addr_equal(&other, &host);
	}
	return n;
}

/* Remove one entry of an address, or @all of them. */
static void proof_remove(struct smc_proofs *proofs, const struct in6_addr *addr, bool all)
{
	u32 i = 0;

	lockdep_assert_held(&proofs->lock);
	while (i < proofs->nopen) {
		if (!ipv6_addr_equal(&proofs->open[i], addr)) {
			i++;
			continue;
		}
		proofs->open[i] = proofs->open[--proofs->nopen];
		if (!all)
			return;
	}
}

/**
 * smc_proof_begin() - admit a connection of an address to a group
 * @lgr: group that an Accept names
 * @addr: address of the TCP peer, IPv4 as v4-mapped
 *
 * Ends with smc_proof_complete(), or with smc_proof_drop() unless the RMBE goes into quarantine.
 * Any context.
 *
 * Return: false if too many connections of this host, or of all, are unproven.
 */
bool smc_proof_begin(struct smc_lgr *lgr, const struct in6_addr *addr)
{
	struct smc_proofs *proofs = &lgr->proofs;
	bool ok = true;

	if (!smc_proof_needed(lgr, addr))
		return true;
	spin_lock_bh(&proofs->lock);
	if (proof_find_addr(proofs, addr) == SMC_PROOF_ADDRS) {
		ok = proofs->nopen < SMC_PROOF_OPEN &&
		     proof_count_host(proofs, addr) < SMC_PROOF_OPEN_HOST;
		if (ok)
			proofs->open[proofs->nopen++] = *addr;
	}
	spin_unlock_bh(&proofs->lock);
	return ok;
}

/**
 * smc_proof_drop() - stop counting a connection that ended without a proof
 * @lgr: group
 * @addr: address of the TCP peer; that of the first contact has no entry
 *
 * Not for a connection whose RMBE is in quarantine. An entry of another connection with an address
 * that was proven may go instead, which does no harm. Any context.
 */
void smc_proof_drop(struct smc_lgr *lgr, const struct in6_addr *addr)
{
	spin_lock_bh(&lgr->proofs.lock);
	proof_remove(&lgr->proofs, addr, false);
	spin_unlock_bh(&lgr->proofs.lock);
}

/**
 * smc_proof_complete() - note that an address leads to the peer of a group
 * @lgr: group
 * @addr: address of the TCP peer of a connection for which the group's peer sent a CDC message
 *
 * No connection of this address counts any more. The address that was proven longest ago is
 * forgotten if there are too many. Any context.
 */
void smc_proof_complete(struct smc_lgr *lgr, const struct in6_addr *addr)
{
	struct smc_proofs *proofs = &lgr->proofs;
	u32 i;

	spin_lock_bh(&proofs->lock);
	proof_remove(proofs, addr, true);
	/* the latest is the first */
	i = proof_find_addr(proofs, addr);
	if (i == SMC_PROOF_ADDRS && proofs->nproven < SMC_PROOF_ADDRS)
		i = proofs->nproven++;
	i = min_t(u32, i, SMC_PROOF_ADDRS - 1);
	for (; i; i--)
		proofs->proven[i] = proofs->proven[i - 1];
	proofs->proven[0] = *addr;
	spin_unlock_bh(&proofs->lock);
}
