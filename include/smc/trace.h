/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace points (events/smc/). Names and fields are stable; Documentation/troubleshooting.rst
 * tells what they mean. Their bodies are in smc_stats.c.
 *
 * @link is the ID of a link in this host: that of its group, as the log has it, plus its
 * number. @token is our alert token of the connection.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smc

#if !defined(_SMC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SMC_TRACE_H

#include <linux/tracepoint.h>
#include <linux/types.h>

/* A link has failed; @reason: enum smc_link_reason. Once per link. */
TRACE_EVENT(smc_link_fail,
	    TP_PROTO(u32 link, u32 qpn, int reason),
	    TP_ARGS(link, qpn, reason),
	    TP_STRUCT__entry(__field(u32, link) __field(u32, qpn) __field(int, reason)),
	    TP_fast_assign(__entry->link = link;
			   __entry->qpn = qpn;
			   __entry->reason = reason;),
	    TP_printk("link=%08x qpn=%u reason=%d", __entry->link, __entry->qpn,
		      __entry->reason)
);

/* Its queue pair is brought to ERR. */
TRACE_EVENT(smc_fence_begin,
	    TP_PROTO(u32 link),
	    TP_ARGS(link),
	    TP_STRUCT__entry(__field(u32, link)),
	    TP_fast_assign(__entry->link = link;),
	    TP_printk("link=%08x", __entry->link)
);

/* The device is silent; @rc: 0, or -ETIMEDOUT if the queue pair had to go for that. */
TRACE_EVENT(smc_fence_end,
	    TP_PROTO(u32 link, int rc),
	    TP_ARGS(link, rc),
	    TP_STRUCT__entry(__field(u32, link) __field(int, rc)),
	    TP_fast_assign(__entry->link = link;
			   __entry->rc = rc;),
	    TP_printk("link=%08x rc=%d", __entry->link, __entry->rc)
);

/* A connection sends over @to from here on. */
TRACE_EVENT(smc_conn_move,
	    TP_PROTO(u32 token, u32 from, u32 to),
	    TP_ARGS(token, from, to),
	    TP_STRUCT__entry(__field(u32, token) __field(u32, from) __field(u32, to)),
	    TP_fast_assign(__entry->token = token;
			   __entry->from = from;
			   __entry->to = to;),
	    TP_printk("token=%08x from=%08x to=%08x", __entry->token, __entry->from,
		      __entry->to)
);

/* The first RDMA WRITEs of a connection since it moved were posted. */
TRACE_EVENT(smc_conn_resume,
	    TP_PROTO(u32 token, u32 link, u32 bytes),
	    TP_ARGS(token, link, bytes),
	    TP_STRUCT__entry(__field(u32, token) __field(u32, link) __field(u32, bytes)),
	    TP_fast_assign(__entry->token = token;
			   __entry->link = link;
			   __entry->bytes = bytes;),
	    TP_printk("token=%08x link=%08x bytes=%u", __entry->token, __entry->link,
		      __entry->bytes)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH smc
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
