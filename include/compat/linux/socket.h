/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bind() and connect() take a type of their own since 6.19; before, struct sockaddr.
 * Pages come with this flag since 6.5; before, by a call of their own.
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
