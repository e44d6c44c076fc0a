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
 * @peer: client: address of the server; server: host of the client (smc_host_addr())
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

void smc_autosmc_set_key(struct smc_autosmc_key *key, const struct smc_rules_path *path,
			 bool server, kuid_t uid);
bool smc_autosmc_is_on(struct net *net);
bool smc_autosmc_wants_tcp(struct net *net, const struct smc_autosmc_key *key);
void smc_autosmc_note(struct net *net, const struct smc_autosmc_key *key,
		      const struct smc_autosmc_use *use);

#endif
