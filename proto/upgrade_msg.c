// SPDX-License-Identifier: GPL-2.0-only
/* UPGRADE, LLC messages of an upgrade in place: parser, checks and builder (upgrade_msg.h). */
#include <smc/proto/peer_caps.h>
#include <smc/proto/upgrade_msg.h>

#define OFF_TYPE	0
#define OFF_LEN		1
#define OFF_REASON	2
#define OFF_FLAGS	3
#define OFF_OUI		4
#define OFF_HINT	7
#define OFF_NUMBER	8
#define OFF_CLIENT_PORT	12
#define OFF_SERVER_PORT	14
#define OFF_CLIENT_SEQ	16
#define OFF_SERVER_SEQ	20
#define OFF_TOKEN	24
#define OFF_RKEY	28
#define OFF_VADDR	32
#define OFF_RMBE	40
#define OFF_BSIZE	41

#define FLAG_RESPONSE	0x80
#define FLAG_WITHDRAWAL	0x40
#define FLAG_NEGATIVE	0x20
#define FLAGS_ALL	0xe0

#define BSIZE_MAX	15
#define HINT_MAX	63

static bool upgrade_msg_has_memory(u8 kind)
{
	return kind == SMC_UPGRADE_REQUEST || kind == SMC_UPGRADE_ACCEPTED;
}

#define KINDS	(SMC_UPGRADE_CONFIRMED + 1)

/* Flags of each kind. */
static const u8 upgrade_msg_flags[KINDS] = {
	[SMC_UPGRADE_REQUEST]	 = 0,
	[SMC_UPGRADE_WITHDRAWAL] = FLAG_WITHDRAWAL,
	[SMC_UPGRADE_ACCEPTED]	 = FLAG_RESPONSE,
	[SMC_UPGRADE_REFUSED]	 = FLAG_RESPONSE | FLAG_NEGATIVE,
	[SMC_UPGRADE_CONFIRMED]	 = FLAG_RESPONSE | FLAG_WITHDRAWAL,
};

/* Checks of parser and builder. */
static bool upgrade_msg_is_valid(const struct smc_upgrade_msg *m)
{
	bool refused = m->kind == SMC_UPGRADE_REFUSED;

	if (!m->number || refused == !m->reason)
		return false;
	if (m->kind == SMC_UPGRADE_REQUEST &&
	    (!m->proof.client_port || !m->proof.server_port || m->hint > HINT_MAX))
		return false;
	return !upgrade_msg_has_memory(m->kind) || (m->rmbe_idx && m->bsize <= BSIZE_MAX);
}

/**
 * smc_upgrade_msg_parse() - Parse and check a message
 * @buf: received message
 * @len: its length, from the completion
 * @out: filled in on success, untouched otherwise
 *
 * What needs the group is left to the caller: whether the RMB was announced, and its RMBE and token
 * are free. Any context.
 *
 * Return: 0; -ENOMSG for another type, or another OUI: somebody else's message; -EPROTO.
 */
int smc_upgrade_msg_parse(const u8 *buf, size_t len, struct smc_upgrade_msg *out)
{
	struct smc_upgrade_msg m;
	u8 kind = 0;

	if (len < SMC_UPGRADE_MSG_LEN)
		return -EPROTO;
	if (buf[OFF_TYPE] != SMC_UPGRADE_MSG_TYPE || !smc_native_tag_is_oui(buf + OFF_OUI))
		return -ENOMSG;
	if (len != SMC_UPGRADE_MSG_LEN || buf[OFF_LEN] != SMC_UPGRADE_MSG_LEN)
		return -EPROTO;
	while (kind < KINDS && upgrade_msg_flags[kind] != (buf[OFF_FLAGS] & FLAGS_ALL))
		kind++;
	if (kind == KINDS)
		return -EPROTO;

	memset(&m, 0, sizeof(m));
	m.kind = kind;
	m.number = smc_wire_get_be32(buf + OFF_NUMBER);
	m.reason = buf[OFF_REASON];
	if (kind == SMC_UPGRADE_REQUEST) {
		m.hint = buf[OFF_HINT];
		m.proof.client_port = smc_wire_get_be16(buf + OFF_CLIENT_PORT);
		m.proof.server_port = smc_wire_get_be16(buf + OFF_SERVER_PORT);
		m.proof.client_seq = smc_wire_get_be32(buf + OFF_CLIENT_SEQ);
		m.proof.server_seq = smc_wire_get_be32(buf + OFF_SERVER_SEQ);
	}
	if (upgrade_msg_has_memory(kind)) {
		m.token = smc_wire_get_be32(buf + OFF_TOKEN);
		m.rkey = smc_wire_get_be32(buf + OFF_RKEY);
		m.vaddr = smc_wire_get_be64(buf + OFF_VADDR);
		m.rmbe_idx = buf[OFF_RMBE];
		m.bsize = buf[OFF_BSIZE];
	}
	if (!upgrade_msg_is_valid(&m))
		return -EPROTO;
	*out = m;
	return 0;
}

/**
 * smc_upgrade_msg_build() - Build a message
 * @in: contents; members that its kind does not have are ignored
 * @buf: output buffer
 * @cap: bytes of @buf
 *
 * Return: SMC_UPGRADE_MSG_LEN, -ENOSPC if @cap is too small, or -EINVAL for contents that a
 * parser refuses.
 */
int smc_upgrade_msg_build(const struct smc_upgrade_msg *in, u8 *buf, size_t cap)
{
	if (in->kind >= KINDS || !upgrade_msg_is_valid(in))
		return -EINVAL;
	if (cap < SMC_UPGRADE_MSG_LEN)
		return -ENOSPC;
	memset(buf, 0, SMC_UPGRADE_MSG_LEN);
	buf[OFF_TYPE] = SMC_UPGRADE_MSG_TYPE;
	buf[OFF_LEN] = SMC_UPGRADE_MSG_LEN;
	buf[OFF_REASON] = in->reason;
	buf[OFF_FLAGS] = upgrade_msg_flags[in->kind];
	smc_native_tag_put_oui(buf + OFF_OUI);
	smc_wire_put_be32(buf + OFF_NUMBER, in->number);
	if (in->kind == SMC_UPGRADE_REQUEST) {
		buf[OFF_HINT] = in->hint;
		smc_wire_put_be16(buf + OFF_CLIENT_PORT, in->proof.client_port);
		smc_wire_put_be16(buf + OFF_SERVER_PORT, in->proof.server_port);
		smc_wire_put_be32(buf + OFF_CLIENT_SEQ, in->proof.client_seq);
		smc_wire_put_be32(buf + OFF_SERVER_SEQ, in->proof.server_seq);
	}
	if (upgrade_msg_has_memory(in->kind)) {
		smc_wire_put_be32(buf + OFF_TOKEN, in->token);
		smc_wire_put_be32(buf + OFF_RKEY, in->rkey);
		smc_wire_put_be64(buf + OFF_VADDR, in->vaddr);
		buf[OFF_RMBE] = in->rmbe_idx;
		buf[OFF_BSIZE] = in->bsize;
	}
	return SMC_UPGRADE_MSG_LEN;
}
