// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as an LLC message. An accepted message has to be within the documented
 * bounds. Building the parsed message, parsing and building again has to give
 * the same bytes.
 */
#include <smc/proto/llc_msg.h>
#include "fuzz.h"

/* Read every entry, so that the sanitizer sees reads beyond the end of a list. */
static void walk_lists(const struct smc_llc_msg *m)
{
	struct smc_llc_rtoken t;
	u64 sum = 0;
	u16 i;

	if (m->type == SMC_LLC_ADD_LINK) {
		FUZZ_ASSERT(m->add_link.rtokens.count <= SMC_LLC_MAX_RTOKENS);
		for (i = 0; i < m->add_link.rtokens.count; i++) {
			smc_llc_list_get_rtoken(&m->add_link.rtokens, i, &t);
			sum += t.ref_rkey + t.rkey + t.vaddr;
		}
	} else if (m->type == SMC_LLC_REQ_ADD_LINK) {
		FUZZ_ASSERT(m->req_add_link.gids.count <= SMC_LLC_MAX_GIDS);
		for (i = 0; i < m->req_add_link.gids.count; i++)
			sum += smc_llc_list_get_gid(&m->req_add_link.gids, i)[15];
	} else if (m->type == SMC_LLC_DELETE_RKEY) {
		FUZZ_ASSERT(m->delete_rkey.count);
		for (i = 0; i < m->delete_rkey.rkeys.count; i++)
			sum += smc_llc_list_get_rkey(&m->delete_rkey.rkeys, i);
	}
	/* keep the compiler from removing the reads */
	FUZZ_ASSERT(sum != 0x7609760976097609ULL);
}

int fuzz_one_input(const u8 *data, size_t size)
{
	static u8 a[SMC_LLC_V2_MAX_LEN], b[SMC_LLC_V2_MAX_LEN];
	struct smc_llc_msg m, n;
	int rc, len;

	rc = smc_llc_msg_parse(data, size, &m);
	if (rc) {
		FUZZ_ASSERT(rc == -EPROTO || rc == -ENOMSG ||
			    rc == -EOPNOTSUPP);
		return 0;
	}
	FUZZ_ASSERT(smc_llc_type_str(m.type));
	FUZZ_ASSERT(smc_llc_msg_classify(data[0]) == SMC_LLC_CLASS_LLC);
	walk_lists(&m);
	len = smc_llc_msg_build(&m, a, sizeof(a));
	FUZZ_ASSERT(len >= SMC_LINK_MSG_LEN && (size_t)len <= size);
	FUZZ_ASSERT(!smc_llc_msg_parse(a, (size_t)len, &n));
	FUZZ_ASSERT(smc_llc_msg_build(&n, b, sizeof(b)) == len);
	FUZZ_ASSERT(!memcmp(a, b, (size_t)len));
	return 0;
}
