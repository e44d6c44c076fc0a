// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contract with programs that use netlink and sock_diag: the answers of each command, in one
 * table (table.c); lists that change (dump.c); and invalid requests (fuzz.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contract.h"

#define CHUNKS		8

/**
 * struct pair - a connection of this host with itself over SMC, and one that fell back
 * @fd: listener, client, server; then those of the second connection
 */
struct pair {
	int fd[6];
};

static bool conn_open(int fd[3], const struct tl_proto *server, const struct tl_proto *client,
		      const char *address)
{
	char byte = 'x';
	struct tl_addr at;

	fd[1] = -1;
	fd[2] = -1;
	if (tl_addr_parse(&at, server, address, 0))
		return false;
	fd[0] = tl_listen(server, &at, 4);
	if (fd[0] < 0)
		return false;
	fd[1] = tl_connect(client, NULL, &at);
	fd[2] = fd[1] < 0 ? -1 : accept(fd[0], NULL, NULL);
	return fd[2] >= 0 && tl_send_all(fd[1], &byte, 1) == 1 &&
	       tl_recv_all(fd[2], &byte, 1) == 1;
}

static bool pair_open(struct pair *p, const char *address)
{
	const struct tl_proto *smc = tl_proto_find("smc"), *tcp = tl_proto_find("inet");
	struct tl_diag diag;

	memset(p, 0xff, sizeof(*p));
	return conn_open(p->fd, smc, smc, address) && conn_open(p->fd + 3, tcp, smc, address) &&
	       !tl_diag_get(p->fd[1], smc, &diag) && diag.mode == TL_MODE_SMCR &&
	       !tl_diag_get(p->fd[4], smc, &diag) && diag.mode == TL_MODE_TCP;
}

static void pair_close(struct pair *p)
{
	for (size_t i = 0; i < TL_ARRAY_SIZE(p->fd); i++)
		if (p->fd[i] >= 0)
			close(p->fd[i]);
}

/* ---- the table ---- */

/* Check each list of each family; lists should have entries where possible. */
static bool every_list(FILE *out, bool own)
{
	struct ct_nl nl[CT_FAMILIES];
	bool ok = true, dumps;
	enum ct_family family;
	unsigned int i;
	u8 cmd;

	for (i = 0; i < CT_FAMILIES; i++)
		if (ct_open(&nl[i], i, CT_BUF))
			return false;
	for (i = 0; ct_command_at(i, &family, &cmd); i++) {
		struct ct_verdict v = { .family = family, .cmd = cmd, .out = out };
		const char *name = ct_command(family, cmd, &dumps);
		int err;

		if (!dumps || (!own && family == CT_GEN && cmd >= OWN_ADD_LINK))
			continue;
		err = ct_dump(&nl[family], cmd, ct_check, &v);
		if (!out)
			ktap_note("%s: %u answers", name, v.answers);
		if (err)
			ktap_note("%s: %s", name, tl_errno_name(-err));
		/* a list that is only shown may be empty */
		ok &= !err && !v.wrong && (out || v.answers || !strncmp(name, "smcd", 4));
	}
	for (i = 0; i < CT_FAMILIES; i++)
		ct_close(&nl[i]);
	return ok;
}

static bool put_rule_and_pnet(void)
{
	u64 buf[32];
	struct nlmsghdr *nlh;
	struct ct_nl nl;
	bool ok;

	if (ct_open(&nl, CT_GEN, CT_BUF))
		return false;
	nlh = ct_head(&nl, buf, OWN_ADD_RULE, NLM_F_ACK);
	mnl_attr_put_u32(nlh, RULE_NUM, 1000);
	mnl_attr_put_u8(nlh, 2, 0);
	mnl_attr_put(nlh, 3, 16, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1");
	mnl_attr_put_u32(nlh, 9, 80);
	ok = !ct_order(&nl, nlh);
	ct_close(&nl);
	if (ct_open(&nl, CT_PNET, CT_BUF))
		return false;
	nlh = ct_head(&nl, buf, SMC_PNETID_ADD, NLM_F_ACK);
	mnl_attr_put_strz(nlh, SMC_PNETID_NAME, "ABCDEFGHIJKLMNOP");
	mnl_attr_put_strz(nlh, SMC_PNETID_ETHNAME, "fifteen_letters");
	mnl_attr_put_strz(nlh, SMC_PNETID_IBNAME, "later");
	mnl_attr_put_u8(nlh, SMC_PNETID_IBPORT, 2);
	ok &= !ct_order(&nl, nlh);
	ct_close(&nl);
	return ok;
}

static bool tables_flush(void)
{
	u64 buf[8];
	struct ct_nl nl;
	bool ok;

	if (ct_open(&nl, CT_PNET, CT_BUF))
		return false;
	ok = !ct_order(&nl, ct_head(&nl, buf, SMC_PNETID_FLUSH, NLM_F_ACK));
	ct_close(&nl);
	if (ct_open(&nl, CT_GEN, CT_BUF))
		return false;
	ok &= !ct_order(&nl, ct_head(&nl, buf, OWN_FLUSH_RULES, NLM_F_ACK));
	ct_close(&nl);
	return ok;
}

static bool check_table(const char *address)
{
	struct pair p;
	bool ok;

	ok = pair_open(&p, address) && put_rule_and_pnet() && every_list(NULL, true) &&
	     ct_counters();
	pair_close(&p);
	return tables_flush() && ok;
}

static bool check_rights(const char *address)
{
	struct pair p;
	bool ok;

	ok = pair_open(&p, address) && ct_dump_rights();
	pair_close(&p);
	return ok;
}

/* ---- SOCK_DESTROY ---- */

/* Client and server, over RDMA and after fallback; then the listener. */
static bool check_destroy(const char *address)
{
	struct pair p;
	bool ok;

	ok = pair_open(&p, address) && ct_destroy(p.fd[1], p.fd[2], true) &&
	     ct_destroy(p.fd[4], p.fd[5], true);
	pair_close(&p);
	ok = pair_open(&p, address) && ct_destroy(p.fd[2], p.fd[1], false) &&
	     ct_destroy_listener(p.fd[0]) && ok;
	pair_close(&p);
	return ok;
}

/* ---- spoilt requests ---- */

/* New connections now and then: some requests end the group. */
static bool check_fuzz(const char *address, u64 seed, unsigned int rounds)
{
	struct pair p;
	bool ok = true;

	for (unsigned int i = 0; i < CHUNKS && ok; i++) {
		ok = pair_open(&p, address) &&
		     ct_fuzz(tl_mix(seed * CHUNKS + i + 1), rounds / CHUNKS);
		pair_close(&p);
		ok &= tables_flush();
	}
	/* a failed run has printed its reason */
	return ok && ct_fuzz_covered(rounds);
}

/* ---- the same traffic for two modules ---- */

#define PIECE		10000
#define PIECES		20
#define PORT		4433	/* the next port is plain TCP */

/* Echo each piece until there are no more, and keep the connection. */
static int echo_all(int listener)
{
	static char buf[PIECE];
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		return -1;
	for (int i = 0; i < PIECES; i++)
		if (recv(fd, buf, sizeof(buf), MSG_WAITALL) != sizeof(buf) ||
		    send(fd, buf, sizeof(buf), 0) != sizeof(buf))
			return -1;
	return fd;
}

/* For one peer: an SMC connection, one that falls back here, and one that falls back there. */
static bool run_serve(void)
{
	const struct tl_proto *smc = tl_proto_find("smc"), *tcp = tl_proto_find("inet");
	struct tl_addr at;
	int listener, plain;
	bool ok;

	if (tl_addr_parse(&at, smc, "0.0.0.0", PORT))
		return false;
	listener = tl_listen(smc, &at, 4);
	tl_addr_set_port(&at, PORT + 1);
	plain = tl_listen(tcp, &at, 4);
	ok = listener >= 0 && plain >= 0 && echo_all(listener) >= 0 && echo_all(listener) >= 0 &&
	     echo_all(plain) >= 0;
	if (ok)
		pause();
	return ok;
}

static bool send_pieces(const struct tl_proto *p, const char *address, unsigned int port)
{
	static char buf[PIECE];
	struct tl_addr at;
	int fd;

	fd = tl_addr_parse(&at, p, address, port) ? -1 : tl_connect(p, NULL, &at);
	for (int i = 0; fd >= 0 && i < PIECES; i++)
		if (send(fd, buf, sizeof(buf), 0) != sizeof(buf) ||
		    recv(fd, buf, sizeof(buf), MSG_WAITALL) != sizeof(buf))
			return false;
	return fd >= 0;
}

static bool run_hold(const char *address)
{
	const struct tl_proto *smc = tl_proto_find("smc"), *tcp = tl_proto_find("inet");

	if (!send_pieces(smc, address, PORT) || !send_pieces(tcp, address, PORT) ||
	    !send_pieces(smc, address, PORT + 1))
		return false;
	printf("held\n");
	fflush(stdout);
	pause();
	return true;
}

int main(int argc, char **argv)
{
	struct ktap ktap = { 0 };
	u64 seed;

	if (argc == 2 && !strcmp(argv[1], "show"))
		return every_list(stdout, false) ? KTAP_PASS : KTAP_FAIL;
	if (argc == 2 && !strcmp(argv[1], "odd"))
		return ct_odd(stdout) ? KTAP_PASS : KTAP_FAIL;
	if (argc == 2 && !strcmp(argv[1], "serve"))
		return run_serve() ? KTAP_PASS : KTAP_FAIL;
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return run_hold(argv[2]) ? KTAP_PASS : KTAP_FAIL;
	if (argc != 4) {
		fprintf(stderr, "usage: smc_contract ADDRESS SEED ROUNDS (one of this host)\n"
			"       smc_contract serve | hold ADDRESS (the same traffic)\n"
			"       smc_contract show | odd (any module's answers)\n");
		return KTAP_FAIL;
	}
	seed = strtoull(argv[2], NULL, 0);
	ktap_plan(5);
	ktap_note("seed %s", argv[2]);
	ktap_result(&ktap, check_table(argv[1]), "table");
	ktap_result(&ktap, ct_dumps(tl_proto_find("smc"), argv[1]), "lists");
	ktap_result(&ktap, check_rights(argv[1]), "rights");
	ktap_result(&ktap, check_destroy(argv[1]), "destroy");
	ktap_result(&ktap, check_fuzz(argv[1], seed, strtoul(argv[3], NULL, 0)), "fuzz");
	return ktap_exit_code(&ktap);
}
