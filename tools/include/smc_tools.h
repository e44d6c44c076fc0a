/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Macros of the kernel for user space: attributes of the compiler, ARRAY_SIZE().
 */
#ifndef SMC_TOOLS_H
#define SMC_TOOLS_H

#include <linux/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define SMC_ATTR(x) __attribute__((x))

#ifndef __printf
#define __printf(fmt, args) SMC_ATTR(format(printf, fmt, args))
#endif
#ifndef __noreturn
#define __noreturn SMC_ATTR(noreturn)
#endif
#ifndef __aligned
#define __aligned(bytes) SMC_ATTR(aligned(bytes))
#endif

/* Exported from a library that is built with -fvisibility=hidden */
#define SMC_EXPORTED SMC_ATTR(visibility("default"))

#endif /* SMC_TOOLS_H */
