/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SMC_SELFTESTS_STEPS_H
#define SMC_SELFTESTS_STEPS_H

/* What calls return one after the other when the peer has ended its side. */
void ends_steps(void);
void ends_steps_upgrade(void);

#endif
