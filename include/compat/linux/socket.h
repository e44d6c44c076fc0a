/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Since 6.19 bind() and connect() take struct sockaddr_unsized; before, struct sockaddr. Since 6.5
 * sendmsg() takes pages with MSG_SPLICE_PAGES; before, sendpage() did.
 */
#ifndef _SMC_COMPAT_LINUX_SOCKET_H
#define _SMC_COMPAT_LINUX_SOCKET_H

#include_next <linux/socket.h>

#ifndef SMC_HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized sockaddr
#endif

#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES 0
#endif

#endif
