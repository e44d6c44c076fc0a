/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace points (events/smc/). Names and fields are stable and described in
 * Documentation/troubleshooting.rst. base/stats.c instantiates them. The first four are those of
 * the in-tree family with its fields; additional fields follow these.
 *
 * @link is the ID of a link in this host: the ID of its group, as in the log, plus its number.
 * @token is our alert token of the connection, @clcsk the socket of its TCP connection.
 */
#ifndef _SMC_TRACE_GROUP
#define _SMC_TRACE_GROUP

/* States of a link group, for smc_group_state. */
enum smc_trace_group {
	SMC_TRACE_GROUP_CREATED = 1,	/* first contact is under way */
	SMC_TRACE_GROUP_READY,		/* takes further connections */
	SMC_TRACE_GROUP_PHASED_OUT,	/* phased out: ends with its last connection */
	SMC_TRACE_GROUP_DEAD,		/* is being terminated */
	SMC_TRACE_GROUP_FREED,		/* freed */
};

/* Maximum length of an RNIC's name; the name may change while it is copied. */
#define SMC_TRACE_NAME	63

#endif

#undef TRACE_SYSTEM
#define TRACE_SYSTEM smc

#if !defined(_SMC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SMC_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/types.h>
#include <smc/proto/cdc_msg.h>
#include <smc/proto/upgrade.h>

/* ---- trace points of the in-tree family ---- */

/*
 * The socket uses TCP from here on. @fallback_rsn: our diagnosis code; @peer_rsn: that of the
 * peer's Decline, or 0.
 */
TRACE_EVENT(smc_switch_to_fallback,
	    TP_PROTO(const void *sk, const void *clcsk, u64 net_cookie, u32 own, u32 peer),
	    TP_ARGS(sk, clcsk, net_cookie, own, peer),
	    TP_STRUCT__entry(__field(const void *, sk) __field(const void *, clcsk)
			     __field(u64, net_cookie) __field(int, fallback_rsn)
			     __field(int, peer_rsn)),
	    TP_fast_assign(__entry->sk = sk;
			   __entry->clcsk = clcsk;
			   __entry->net_cookie = net_cookie;
			   __entry->fallback_rsn = own;
			   __entry->peer_rsn = peer;),
	    TP_printk("sk=%p clcsk=%p net_cookie=%llu fallback_rsn=0x%08x peer_rsn=0x%08x",
		      __entry->sk, __entry->clcsk, __entry->net_cookie, __entry->fallback_rsn,
		      __entry->peer_rsn)
);

/* A call has sent or received @len bytes; @name: RNIC that the connection sends over. */
DECLARE_EVENT_CLASS(smc_call,
		    TP_PROTO(const void *smc, u64 net_cookie, size_t len, const char *rnic,
			     u32 token),
		    TP_ARGS(smc, net_cookie, len, rnic, token),
		    TP_STRUCT__entry(__field(const void *, smc) __field(u64, net_cookie)
				     __field(size_t, len)
				     __dynamic_array(char, name, strnlen(rnic, SMC_TRACE_NAME) + 1)
				     __field(u32, token)),
		    TP_fast_assign(__entry->smc = smc;
				   __entry->net_cookie = net_cookie;
				   __entry->len = len;
				   strscpy(__get_dynamic_array(name), rnic,
					   __get_dynamic_array_len(name));
				   __entry->token = token;),
		    TP_printk("smc=%p net_cookie=%llu len=%zu name=%s token=%08x", __entry->smc,
			      __entry->net_cookie, __entry->len, __get_str(name), __entry->token)
);

DEFINE_EVENT(smc_call, smc_tx_sendmsg,
	     TP_PROTO(const void *smc, u64 net_cookie, size_t len, const char *rnic, u32 token),
	     TP_ARGS(smc, net_cookie, len, rnic, token)
);

DEFINE_EVENT(smc_call, smc_rx_recvmsg,
	     TP_PROTO(const void *smc, u64 net_cookie, size_t len, const char *rnic, u32 token),
	     TP_ARGS(smc, net_cookie, len, rnic, token)
);

/*
 * A usable link has failed. @state: the in-tree number, as in netlink; @location: code that found
 * the failure.
 */
TRACE_EVENT(smcr_link_down,
	    TP_PROTO(const void *lnk, const void *lgr, u64 net_cookie, int state,
		     const char *rnic, void *location, u32 link),
	    TP_ARGS(lnk, lgr, net_cookie, state, rnic, location, link),
	    TP_STRUCT__entry(__field(const void *, lnk) __field(const void *, lgr)
			     __field(u64, net_cookie) __field(int, state)
			     __dynamic_array(char, name, strnlen(rnic, SMC_TRACE_NAME) + 1)
			     __field(void *, location) __field(u32, link)),
	    TP_fast_assign(__entry->lnk = lnk;
			   __entry->lgr = lgr;
			   __entry->net_cookie = net_cookie;
			   __entry->state = state;
			   strscpy(__get_dynamic_array(name), rnic,
				   __get_dynamic_array_len(name));
			   __entry->location = location;
			   __entry->link = link;),
	    TP_printk("lnk=%p lgr=%p net_cookie=%llu state=%d name=%s location=%pS link=%08x",
		      __entry->lnk, __entry->lgr, __entry->net_cookie, __entry->state,
		      __get_str(name), __entry->location, __entry->link)
);

/* ---- handshakes ---- */

/* A CLC message. */
DECLARE_EVENT_CLASS(smc_clc,
		    TP_PROTO(const void *clcsk, u8 type, u8 version, u16 len),
		    TP_ARGS(clcsk, type, version, len),
		    TP_STRUCT__entry(__field(const void *, clcsk) __field(u8, type)
				     __field(u8, version) __field(u16, len)),
		    TP_fast_assign(__entry->clcsk = clcsk;
				   __entry->type = type;
				   __entry->version = version;
				   __entry->len = len;),
		    TP_printk("clcsk=%p type=%u version=%u len=%u", __entry->clcsk, __entry->type,
			      __entry->version, __entry->len)
);

DEFINE_EVENT(smc_clc, smc_clc_tx,
	     TP_PROTO(const void *clcsk, u8 type, u8 version, u16 len),
	     TP_ARGS(clcsk, type, version, len)
);

DEFINE_EVENT(smc_clc, smc_clc_rx,
	     TP_PROTO(const void *clcsk, u8 type, u8 version, u16 len),
	     TP_ARGS(clcsk, type, version, len)
);

/*
 * End of a handshake. @outcome: enum smc_hs_outcome; @err: errno; @token, @link: of the connection,
 * or 0.
 */
TRACE_EVENT(smc_hs_end,
	    TP_PROTO(const void *clcsk, bool server, int outcome, int err, u32 own, u32 peer,
		     u32 token, u32 link),
	    TP_ARGS(clcsk, server, outcome, err, own, peer, token, link),
	    TP_STRUCT__entry(__field(const void *, clcsk) __field(bool, server)
			     __field(int, outcome) __field(int, err) __field(u32, own_rsn)
			     __field(u32, peer_rsn) __field(u32, token) __field(u32, link)),
	    TP_fast_assign(__entry->clcsk = clcsk;
			   __entry->server = server;
			   __entry->outcome = outcome;
			   __entry->err = err;
			   __entry->own_rsn = own;
			   __entry->peer_rsn = peer;
			   __entry->token = token;
			   __entry->link = link;),
	    TP_printk("clcsk=%p server=%d outcome=%d err=%d own_rsn=0x%08x peer_rsn=0x%08x token=%08x link=%08x",
		      __entry->clcsk, __entry->server, __entry->outcome, __entry->err,
		      __entry->own_rsn, __entry->peer_rsn, __entry->token, __entry->link)
);

/* ---- states ---- */

/* @from, @to: enum smc_conn_state; @event: enum smc_conn_event. */
TRACE_EVENT(smc_conn_state,
	    TP_PROTO(u32 token, u32 link, int from, int to, int event),
	    TP_ARGS(token, link, from, to, event),
	    TP_STRUCT__entry(__field(u32, token) __field(u32, link) __field(int, from)
			     __field(int, to) __field(int, event)),
	    TP_fast_assign(__entry->token = token;
			   __entry->link = link;
			   __entry->from = from;
			   __entry->to = to;
			   __entry->event = event;),
	    TP_printk("token=%08x link=%08x from=%d to=%d event=%d", __entry->token,
		      __entry->link, __entry->from, __entry->to, __entry->event)
);

/* @event: enum smc_upgrade_event; the others: struct smc_upgrade after it. */
TRACE_EVENT(smc_conn_upgrade,
	    TP_PROTO(u32 token, int event, const struct smc_upgrade *up),
	    TP_ARGS(token, event, up),
	    TP_STRUCT__entry(__field(u32, token) __field(int, event) __field(int, agree)
			     __field(int, tx) __field(int, rx)),
	    TP_fast_assign(__entry->token = token;
			   __entry->event = event;
			   __entry->agree = up->agree;
			   __entry->tx = up->tx;
			   __entry->rx = up->rx;),
	    TP_printk("token=%08x event=%d agree=%d tx=%d rx=%d", __entry->token,
		      __entry->event, __entry->agree, __entry->tx, __entry->rx)
);

/* @from, @to: enum smc_link_state; starts with INIT. */
TRACE_EVENT(smc_link_state,
	    TP_PROTO(u32 link, int from, int to),
	    TP_ARGS(link, from, to),
	    TP_STRUCT__entry(__field(u32, link) __field(int, from) __field(int, to)),
	    TP_fast_assign(__entry->link = link;
			   __entry->from = from;
			   __entry->to = to;),
	    TP_printk("link=%08x from=%d to=%d", __entry->link, __entry->from, __entry->to)
);

/* @role: 1 server; @state: enum smc_trace_group; @reason: enum smc_link_reason. */
TRACE_EVENT(smc_group_state,
	    TP_PROTO(u32 group, int role, enum smc_trace_group state, int reason),
	    TP_ARGS(group, role, state, reason),
	    TP_STRUCT__entry(__field(u32, group) __field(int, role) __field(int, state)
			     __field(int, reason)),
	    TP_fast_assign(__entry->group = group;
			   __entry->role = role;
			   __entry->state = state;
			   __entry->reason = reason;),
	    TP_printk("group=%08x role=%d state=%d reason=%d", __entry->group, __entry->role,
		      __entry->state, __entry->reason)
);

/* ---- messages over a link ---- */

/* An LLC message; @type: its first byte. */
DECLARE_EVENT_CLASS(smc_llc,
		    TP_PROTO(u32 link, u8 type, bool response),
		    TP_ARGS(link, type, response),
		    TP_STRUCT__entry(__field(u32, link) __field(u8, type) __field(bool, response)),
		    TP_fast_assign(__entry->link = link;
				   __entry->type = type;
				   __entry->response = response;),
		    TP_printk("link=%08x type=0x%02x response=%d", __entry->link, __entry->type,
			      __entry->response)
);

/* Before it is posted. */
DEFINE_EVENT(smc_llc, smc_llc_tx,
	     TP_PROTO(u32 link, u8 type, bool response),
	     TP_ARGS(link, type, response)
);

/* Well formed, before it is handled. */
DEFINE_EVENT(smc_llc, smc_llc_rx,
	     TP_PROTO(u32 link, u8 type, bool response),
	     TP_ARGS(link, type, response)
);

/* An UPGRADE message; @kind: enum smc_upgrade_msg_kind, @reason: of a refusal. */
DECLARE_EVENT_CLASS(smc_upgrade,
		    TP_PROTO(u32 link, u8 kind, u32 number, u8 reason),
		    TP_ARGS(link, kind, number, reason),
		    TP_STRUCT__entry(__field(u32, link) __field(u8, kind) __field(u32, number)
				     __field(u8, reason)),
		    TP_fast_assign(__entry->link = link;
				   __entry->kind = kind;
				   __entry->number = number;
				   __entry->reason = reason;),
		    TP_printk("link=%08x kind=%u number=%u reason=%u", __entry->link,
			      __entry->kind, __entry->number, __entry->reason)
);

/* Before it is posted. */
DEFINE_EVENT(smc_upgrade, smc_upgrade_tx,
	     TP_PROTO(u32 link, u8 kind, u32 number, u8 reason),
	     TP_ARGS(link, kind, number, reason)
);

/* Well formed, before it is handled. */
DEFINE_EVENT(smc_upgrade, smc_upgrade_rx,
	     TP_PROTO(u32 link, u8 kind, u32 number, u8 reason),
	     TP_ARGS(link, kind, number, reason)
);

/* A CDC message: offsets and wrap counts of its cursors, and both bytes of flags. */
DECLARE_EVENT_CLASS(smc_cdc,
		    TP_PROTO(u32 token, u32 link, const struct smc_cdc_msg *msg),
		    TP_ARGS(token, link, msg),
		    TP_STRUCT__entry(__field(u32, token) __field(u32, link) __field(u16, seq)
				     __field(u16, prod_wrap) __field(u32, prod)
				     __field(u16, cons_wrap) __field(u32, cons)
				     __field(u8, flags) __field(u8, state)),
		    TP_fast_assign(__entry->token = token;
				   __entry->link = link;
				   __entry->seq = msg->seq;
				   __entry->prod_wrap = msg->prod.wrap;
				   __entry->prod = msg->prod.off;
				   __entry->cons_wrap = msg->cons.wrap;
				   __entry->cons = msg->cons.off;
				   __entry->flags = msg->flags;
				   __entry->state = msg->state;),
		    TP_printk("token=%08x link=%08x seq=%u prod=%u:%u cons=%u:%u flags=0x%02x state=0x%02x",
			      __entry->token, __entry->link, __entry->seq, __entry->prod_wrap,
			      __entry->prod, __entry->cons_wrap, __entry->cons, __entry->flags,
			      __entry->state)
);

/* Before it is posted, together with the data before it. */
DEFINE_EVENT(smc_cdc, smc_cdc_tx,
	     TP_PROTO(u32 token, u32 link, const struct smc_cdc_msg *msg),
	     TP_ARGS(token, link, msg)
);

/* Well formed, and for an existing connection. */
DEFINE_EVENT(smc_cdc, smc_cdc_rx,
	     TP_PROTO(u32 token, u32 link, const struct smc_cdc_msg *msg),
	     TP_ARGS(token, link, msg)
);

/* An immediate value in place of a CDC message, decision 0020. */
DECLARE_EVENT_CLASS(smc_imm,
		    TP_PROTO(u32 token, u32 link, u32 imm),
		    TP_ARGS(token, link, imm),
		    TP_STRUCT__entry(__field(u32, token) __field(u32, link) __field(u32, imm)),
		    TP_fast_assign(__entry->token = token;
				   __entry->link = link;
				   __entry->imm = imm;),
		    TP_printk("token=%08x link=%08x index=%u position=%06x", __entry->token,
			      __entry->link, __entry->imm >> 24, __entry->imm & 0xffffff)
);

DEFINE_EVENT(smc_imm, smc_imm_tx,
	     TP_PROTO(u32 token, u32 link, u32 imm),
	     TP_ARGS(token, link, imm)
);

DEFINE_EVENT(smc_imm, smc_imm_rx,
	     TP_PROTO(u32 token, u32 link, u32 imm),
	     TP_ARGS(token, link, imm)
);

/* ---- failover ---- */

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

/* The queue pair of a failed link is being brought to ERR. */
TRACE_EVENT(smc_fence_begin,
	    TP_PROTO(u32 link),
	    TP_ARGS(link),
	    TP_STRUCT__entry(__field(u32, link)),
	    TP_fast_assign(__entry->link = link;),
	    TP_printk("link=%08x", __entry->link)
);

/* The fence is complete; @rc: 0, or -ETIMEDOUT if the queue pair had to be destroyed for that. */
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

/* The first RDMA WRITEs of a connection after a move were posted. */
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
/* relative to this folder, which Kbuild adds to the include path of base/stats.c */
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
