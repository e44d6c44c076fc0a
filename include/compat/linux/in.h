/* SPDX-License-Identifier: GPL-2.0-only */
/* IPPROTO_SMC has a name since 6.11; the number was always within the limits of socket(). */
#ifndef _SMC_COMPAT_LINUX_IN_H
#define _SMC_COMPAT_LINUX_IN_H

#include_next <linux/in.h>

#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif

#endif
