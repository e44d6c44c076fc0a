/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * UPGRADE: LLC messages of an upgrade in place (upgrade.h, Documentation/native-extensions.rst).
 *
 * Their type is from the range that RFC 7609 A.3 lets receivers ignore, and their form is that of
 * version 1 in any group. smc_llc_msg_parse() takes them for unknown optional messages: a host with
 * the capability parses them here first.
 */
#ifndef SMC_PROTO_UPGRADE_MSG_H
#define SMC_PROTO_UPGRADE_MSG_H

#include <smc/proto/types.h>
#include <smc/proto/upgrade.h>

#define SMC_UPGRADE_MSG_TYPE	0xb1
#define SMC_UPGRADE_MSG_LEN	SMC_LINK_MSG_LEN

enum smc_upgrade_msg_kind {
	SMC_UPGRADE_REQUEST,
	SMC_UPGRADE_WITHDRAWAL,
	SMC_UPGRADE_ACCEPTED,
	SMC_UPGRADE_REFUSED,
	SMC_UPGRADE_CONFIRMED,	/* response to a withdrawal */
};

/**
 * struct smc_upgrade_msg - One UPGRADE message
 * @kind: enum smc_upgrade_msg_kind, says which of the other members are valid; others are zero
 * @number: of the request, in all kinds
 * @reason: refused: enum smc_upgrade_reason, other values possible
 * @proof: request
 * @token: request, accepted: the sender's alert token
 * @rkey: request, accepted: of the sender's RMB, on the link that carries the message
 * @vaddr: request, accepted: of the sender's RMB, on the link that carries the message
 * @rmbe_idx: request, accepted: index of the sender's RMBE, 1-based
 * @bsize: request, accepted: size code of the sender's RMBE, see smc_wire_bsize_to_len()
 * @hint: request: bytes that the client has moved so far, as a power of two
 */
struct smc_upgrade_msg {
	u8 kind;
	u32 number;
	u8 reason;
	struct smc_upgrade_proof proof;
	u32 token;
	u32 rkey;
	u64 vaddr;
	u8 rmbe_idx;
	u8 bsize;
	u8 hint;
};

int smc_upgrade_msg_parse(const u8 *buf, size_t len, struct smc_upgrade_msg *out);
int smc_upgrade_msg_build(const struct smc_upgrade_msg *in, u8 *buf, size_t cap);

#endif /* SMC_PROTO_UPGRADE_MSG_H */
