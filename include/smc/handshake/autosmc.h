/* SPDX-License-Identifier: GPL-2.0-only */
/* AUTOSMC: where connections are short, the next ones use TCP. */
#ifndef _SMC_HANDSHAKE_AUTOSMC_H
#define _SMC_HANDSHAKE_AUTOSMC_H

#include <linux/in6.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct net;
struct smc_rules_path;

/* So many short connections in a row, and the next ones use TCP. */
#define SMC_AUTOSMC_RUN		8

/**
 * struct smc_autosmc_key - where connections go, or come from
 * @peer: address of the peer, IPv4 as v4-mapped
 * @uid: client: user, as one user's connections say nothing about those of another; server: 0
 * @port: port of the server
 * @server: our side is the server
 */
struct smc_autosmc_key {
	struct in6_addr peer;
	u32 uid;
	u16 port;
	u16 server;
};

/**
 * struct smc_autosmc_conn - one connection; part of its socket
 * @key: what it is counted for; port 0: nothing
 * @probe: it is the one that tries SMC again
 */
struct smc_autosmc_conn {
	struct smc_autosmc_key key;
	bool probe;
};

/**
 * struct smc_autosmc_use - what a connection was used for
 * @bytes: bytes of both directions
 * @time: its age when it was closed, in jiffies
 * @smc: it used SMC
 */
struct smc_autosmc_use {
	u64 bytes;
	unsigned long time;
	bool smc;
};

int smc_autosmc_init(void);
void smc_autosmc_exit(void);

bool smc_autosmc_is_on(struct net *net);
bool smc_autosmc_wants_tcp(struct net *net, struct smc_autosmc_conn *conn,
			   const struct smc_rules_path *path, bool server, kuid_t uid);
void smc_autosmc_begin(struct net *net, const struct smc_autosmc_conn *conn, bool smc);
void smc_autosmc_note(struct net *net, const struct smc_autosmc_conn *conn,
		      const struct smc_autosmc_use *use);
void smc_autosmc_forget(struct net *net, const struct smc_autosmc_conn *conn);
void smc_autosmc_flush(struct net *net);

#endif
