/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SMC_SELFTESTS_EVIL_SELFCHECK_H
#define SMC_SELFTESTS_EVIL_SELFCHECK_H

#include <stdbool.h>

/**
 * struct evil_syns - the segments of a handshake that had the SMC option
 * @syn: the SYN
 * @syn_ack: the SYN-ACK
 * @other: any other segment, which is wrong
 */
struct evil_syns {
	bool syn;
	bool syn_ack;
	bool other;
};

int evil_selfcheck(struct evil_syns *seen);

#endif /* SMC_SELFTESTS_EVIL_SELFCHECK_H */
