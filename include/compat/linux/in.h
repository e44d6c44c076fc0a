/* SPDX-License-Identifier: GPL-2.0-only */
/* IPPROTO_SMC is defined since 6.11; socket() accepted the number before that, too. */
#ifndef _SMC_COMPAT_LINUX_IN_H
#define _SMC_COMPAT_LINUX_IN_H

#include_next <linux/in.h>

#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif

#endif
