/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SMC_SELFTESTS_ENDS_URING_H
#define SMC_SELFTESTS_ENDS_URING_H

/* Ends of connections that io_uring uses; a test of smc_ends. */
void ends_uring(void);

#endif
