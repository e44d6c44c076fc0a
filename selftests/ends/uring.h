/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SMC_SELFTESTS_ENDS_URING_H
#define SMC_SELFTESTS_ENDS_URING_H

/* How connections end while io_uring has them; a test of smc_ends. */
void ends_uring(void);

#endif
