// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile peer on the fabric, and the application of its victim.
 *
 *   witness    the application on the host under test, besides `smc_traffic server`
 *   attack     makes a link group for each case and misuses it, as a client
 *   serve      the same as a server: the witness connects to it
 *
 * attack and serve need a RoCE device (serve four), BPF (for the SMC option of their SYNs)
 * and root. A good client with our module keeps one connection to `smc_traffic server` open
 * all the time and makes further ones.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "traffic/traffic.h"

#define GOOD_PORT	4430
#define WITNESS_PORT	4440
#define SERVE_PORT	4450
#define GOOD_FURTHER	2	/* further links of the good client's group, with three RNICs */
#define DEATH_MS	25000	/* limit for a connection to fail */
#define ALIVE_MS	10000

/* ---- the well-behaved client ---- */

static struct trf_client good;
static struct trf_outcome last_out;

static int good_stream(struct trf_client *c, int fd, struct trf_outcome *out)
{
	struct trf_req req;

	c->seed = tl_mix(c->seed);
	trf_client_req(c, &req, TRF_STREAM);
	req.io = TRF_IO_POLL;
	req.wsize = 4096;
	req.to_server = 30000;
	req.to_client = 30000;
	return trf_client_stream(c, fd, &req, out);
}

/*
 * A process of its own, because its SYNs must not have the option from BPF. For each byte it
 * receives it uses its old connection, makes a new one, and sends the result.
 */
static void good_client(int sv, void *arg)
{
	struct trf_client *c = arg;
	struct trf_outcome out;
	int old = trf_client_connect(c, &out);
	char go;

	while (recv(sv, &go, 1, 0) == 1) {
		int fd, err = old < 0 ? old : good_stream(c, old, &out);

		if (!err) {
			fd = trf_client_connect(c, &out);
			err = fd < 0 ? fd : good_stream(c, fd, &out);
			if (fd >= 0)
				close(fd);
		}
		tl_send_all(sv, &out, sizeof(out));
	}
}

static bool good_check(int sv, const char *when)
{
	if (tl_ask(sv, &last_out, sizeof(last_out))) {
		ktap_note("%s: the good client is gone", when);
		return false;
	}
	if (last_out.err)
		ktap_note("%s: good client: %s", when, last_out.what);
	return !last_out.err;
}

/**
 * el_good_works() - check the good client during an attack
 * @e: case
 * @when: for the note
 *
 * Return: true if its old and a new connection are SMC, and the server's WRITEs show it.
 */
bool el_good_works(struct el_env *e, const char *when)
{
	u64 before = el_counter(e->witness, "tx_writes");

	if (!good_check(e->good, when))
		return false;
	if (el_counter(e->witness, "tx_writes") > before)
		return true;
	ktap_note("%s: the good client's bytes do not move by RDMA", when);
	return false;
}

/* ---- checking ---- */

static const char * const state_names[] = { "unknown", "alive", "at end of stream", "failed" };

static void report_note(const char *label, const struct el_report *r)
{
	ktap_note("%s: %s, %s, bytes %llu good, %llu zero, %llu alien", label,
		  state_names[r->state], r->err ? tl_errno_name(r->err) : "no error",
		  (unsigned long long)r->good, (unsigned long long)r->zero,
		  (unsigned long long)r->alien);
}

/**
 * el_alive() - check that a connection still works
 * @e: case
 * @c: connection
 *
 * Return: true if the application has read the bytes that are written here.
 */
bool el_alive(struct el_env *e, struct el_conn *c)
{
	struct el_report r;
	bool out = !el_write(c, 100) && !el_flush(e->l, ALIVE_MS);

	if (!el_ask(e->witness, c->port, out ? c->good : 0, out ? ALIVE_MS : 0, &r))
		return false;
	if (out && r.state == EL_LIVE && r.good == c->good && !r.zero && !r.alien)
		return true;
	report_note("must be alive", &r);
	if (!out)
		ktap_note("own queue pair: %s", ibv_wc_status_str(e->l->status));
	return false;
}

static bool errno_allowed(const struct el_case *k, int err)
{
	if (!k->may_err[0])
		return err == ECONNABORTED;
	for (size_t i = 0; i < TL_ARRAY_SIZE(k->may_err); i++) {
		if (k->may_err[i] && k->may_err[i] == err)
			return true;
	}
	return false;
}

/**
 * el_failed() - check that a connection fails at the application with an allowed errno
 * @e: case
 * @c: connection
 * @k: allowed errnos
 *
 * Return: true if so.
 */
bool el_failed(struct el_env *e, struct el_conn *c, const struct el_case *k)
{
	struct el_report r;

	/* keep answering on our side meanwhile */
	for (u64 until = tl_now_ns() + DEATH_MS * TL_NSEC_PER_MSEC;;) {
		el_poll(e->l);
		if (!el_ask(e->witness, c->port, 0, 100, &r))
			return false;
		if (r.state == EL_ERROR || tl_now_ns() >= until)
			break;
	}
	if (r.state == EL_ERROR && errno_allowed(k, r.err) && !r.alien)
		return true;
	report_note("must have failed", &r);
	return false;
}

static bool fate_check(struct el_env *e, const struct el_case *k)
{
	switch (k->fate) {
	case EL_UNHARMED:
		return el_alive(e, e->a) && el_alive(e, e->b);
	case EL_CONN_DIES:
		return el_failed(e, e->a, k) && el_alive(e, e->b);
	case EL_LINK_DIES:
		return el_failed(e, e->a, k) && el_failed(e, e->b, k);
	case EL_CHECKED:
		break;
	}
	return true;
}

/* ---- running ---- */

/* End the group in order if it still works, so that the server does not keep it. */
static void group_end(struct el_env *e)
{
	struct smc_llc_msg bye = {
		.type = SMC_LLC_DELETE_LINK,
		.version = 2,
		.delete_link = { .all = true, .orderly = true, .reason = SMC_LLC_DEL_PROGRAM },
	};

	if (e->l->established && e->l->status == IBV_WC_SUCCESS) {
		e->l->mute = false;
		if (!el_llc(e->l, &bye))
			el_flush(e->l, 2000);
	}
	el_order_close(e->witness, e->a->port);
	el_order_close(e->witness, e->b->port);
	/* those of other groups: a group exists until then, and a host may have a limited number */
	el_order_close_failed(e->witness);
	el_drop(e->a);
	el_drop(e->b);
	el_close(e->l);
}

/**
 * el_connect() - make a connection in our role, and the group if it is the first one
 * @e: case
 * @l: group; if we are the server: our end of the link to use
 * @c: connection, initialized here
 * @nr: index of the connection in the group
 *
 * Return: 0 or a negative errno.
 */
int el_connect(struct el_env *e, struct el_link *l, struct el_conn *c, unsigned int nr)
{
	return e->served ? el_serve_join(e, l, c, nr) : el_join(l, c, nr);
}

static bool group_begin(struct el_env *e, bool v1, bool native)
{
	int err = el_open(e->l, e->t);

	e->l->v1 = v1;
	e->l->native = v1 || native;
	if (!err)
		err = el_connect(e, e->l, e->a, 0);
	if (!err)
		err = el_connect(e, e->l, e->b, 1);
	if (err) {
		ktap_note("no link group: %s, queue pair: %s", tl_errno_name(-err),
			  ibv_wc_status_str(e->l->status));
		return false;
	}
	/* the case tests nothing unless both connections work before */
	return el_alive(e, e->a) && el_alive(e, e->b);
}

static struct tl_addr other_addr, third_addr, lonely_addr;
static bool imms, upgrade;

static bool case_run(const struct evil_target *t, int witness, int sv, const struct el_case *k,
		     bool served, bool v1, bool native)
{
	struct evil_target other = *t, rnic3 = *t, rnic4 = *t;
	struct el_link l;
	struct el_conn a = { .fd = -1 }, b = { .fd = -1 };
	struct el_env e = { .t = t, .other = &other, .third = &rnic3, .lonely = &rnic4,
			    .witness = witness, .l = &l, .a = &a, .b = &b, .served = served,
			    .imms = imms, .upgrade = upgrade, .good = sv };
	u64 before, now;
	bool ok;

	other.from = other_addr;
	rnic3.local = third_addr;
	rnic4.local = lonely_addr;
	ok = group_begin(&e, v1, native);
	before = k->counter ? el_counter(witness, k->counter) : 0;
	ok = ok && k->fn(&e) && fate_check(&e, k);
	now = k->counter ? el_counter(witness, k->counter) : 0;
	if (ok && now - before < k->least) {
		ktap_note("counter %s grew by %llu only", k->counter,
			  (unsigned long long)(now - before));
		ok = false;
	}
	group_end(&e);
	return ok;
}

static const struct {
	const struct el_case *cases;
	const unsigned int *nr;
	bool served;
	const char *v1;		/* groups of version 1: prefix of the names of the cases */
	bool upgrade;		/* native groups with a server that announces UPGRADE */
} tables[] = {
	{ el_cdc_cases, &el_nr_cdc_cases, false, NULL, false },
	{ el_llc_cases, &el_nr_llc_cases, false, NULL, false },
	{ el_llc_v2_cases, &el_nr_llc_v2_cases, false, NULL, false },
	{ el_llc_cases, &el_nr_llc_cases, false, "v1_", false },
	{ el_rdma_cases, &el_nr_rdma_cases, false, NULL, false },
	{ el_group_cases, &el_nr_group_cases, false, NULL, false },
	{ el_ends_cases, &el_nr_ends_cases, false, NULL, false },
	{ el_second_cases, &el_nr_second_cases, false, NULL, false },
	{ el_cont_cases, &el_nr_cont_cases, false, "", false },
	{ el_many_cases, &el_nr_many_cases, false, NULL, false },
	{ el_marked_cases, &el_nr_marked_cases, false, NULL, false },
	{ el_upgrade_cases, &el_nr_upgrade_cases, false, NULL, true },
	{ el_served_cases, &el_nr_served_cases, true, NULL, false },
	{ el_served_v2_cases, &el_nr_served_v2_cases, true, NULL, false },
	{ el_served_cases, &el_nr_served_cases, true, "v1_", false },
	{ el_served_v1_cases, &el_nr_served_v1_cases, true, "v1_", false },
	{ el_ends_served_cases, &el_nr_ends_served_cases, true, NULL, false },
	{ el_llc_served_cases, &el_nr_llc_served_cases, true, NULL, false },
	{ el_llc_served_cases, &el_nr_llc_served_cases, true, "v1_", false },
	{ el_marked_served_cases, &el_nr_marked_served_cases, true, NULL, false },
};

static bool serving;

static bool table_applies(size_t i)
{
	return tables[i].served == serving && (!tables[i].upgrade || upgrade);
}

static unsigned int cases_run(const struct evil_target *t, int witness, int sv, struct ktap *k)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < TL_ARRAY_SIZE(tables); i++) {
		for (unsigned int j = 0; table_applies(i) && j < *tables[i].nr; j++) {
			const struct el_case *c = &tables[i].cases[j];
			char name[64];
			bool ok;

			snprintf(name, sizeof(name), "%s%s", tables[i].v1 ?: "", c->name);
			if (t->only && !strstr(name, t->only))
				continue;
			nr++;
			if (!k)
				continue;
			ok = case_run(t, witness, sv, c, serving, tables[i].v1,
				      tables[i].upgrade);
			ktap_result(k, good_check(sv, name) && ok, name);
		}
	}
	return nr;
}

/* Check that as many groups have ended at the server as were made. */
static bool groups_await_end(int witness, u64 first0, u64 term0)
{
	u64 first = 0, term = 0;

	for (int i = 0; i < 200; i++) {
		first = el_counter(witness, "first_contact") - first0;
		term = el_counter(witness, "lgr_term") - term0;
		if (first && first == term)
			return true;
		tl_sleep_ms(100);
	}
	ktap_note("%llu groups were made, %llu have ended", (unsigned long long)first,
		  (unsigned long long)term);
	return false;
}

/* Wait for the further links of the good client's group: cases count the links that are added. */
static bool good_await_links(int witness)
{
	for (int i = 0; i < 200; i++) {
		if (el_counter(witness, "link_add") >= GOOD_FURTHER)
			return true;
		tl_sleep_ms(100);
	}
	ktap_note("the good client's group has not got its links");
	return false;
}

static int attack_run(const struct evil_target *t, int sv)
{
	int witness = el_witness_connect(t, tl_addr_port(&t->to) + 1);
	struct ktap k = { 0 };
	u64 first0, term0;

	ktap_plan(cases_run(t, witness, sv, NULL) + 1);
	if (witness < 0 || !good_check(sv, "before the first case") ||
	    (serving && !good_await_links(witness))) {
		printf("Bail out! no witness or no working server\n");
		return KTAP_FAIL;
	}
	tl_set_timeouts(witness, 60000);
	first0 = el_counter(witness, "first_contact");
	term0 = el_counter(witness, "lgr_term");
	cases_run(t, witness, sv, &k);
	ktap_result(&k, groups_await_end(witness, first0, term0), "all_groups_ended");
	return ktap_exit_code(&k);
}

static void bad_usage(void)
{
	fprintf(stderr,
		"usage: smc_evil_link witness [--family F] [--bind ADDR] [--port N]\n"
		"       smc_evil_link attack|serve --connect ADDR [options]\n"
		"  --port N      port under attack (default %u); requests go to the next one\n"
		"  --good N      port of smc_traffic server (default %u)\n"
		"  --bind ADDR   own address, with a GID on a RoCE device\n"
		"  --other ADDR  another own address; serve: with a GID on a second device\n"
		"  --third ADDR  serve: own address with a GID on a third device\n"
		"  --lonely ADDR serve: own address with a GID on a device on another network\n"
		"  --imms 0      smcr_write_imm is 0 on the host under attack\n"
		"  --upgrade 1   upgrade_bytes is set on the host under attack, a server\n"
		"  --only TEXT   cases whose name contains TEXT\n", WITNESS_PORT, GOOD_PORT);
	exit(2);
}

enum {
	O_CONNECT = 1, O_BIND, O_OTHER, O_THIRD, O_LONELY, O_PORT, O_GOOD, O_FAMILY, O_IMMS,
	O_UPGRADE, O_ONLY, O_NR
};

static const struct option longopts[] = {
	{ "connect",	required_argument, NULL, O_CONNECT },
	{ "bind",	required_argument, NULL, O_BIND },
	{ "other",	required_argument, NULL, O_OTHER },
	{ "third",	required_argument, NULL, O_THIRD },
	{ "lonely",	required_argument, NULL, O_LONELY },
	{ "port",	required_argument, NULL, O_PORT },
	{ "good",	required_argument, NULL, O_GOOD },
	{ "family",	required_argument, NULL, O_FAMILY },
	{ "imms",	required_argument, NULL, O_IMMS },
	{ "upgrade",	required_argument, NULL, O_UPGRADE },
	{ "only",	required_argument, NULL, O_ONLY },
	{ }
};

static int attack_main(const char * const val[], unsigned int port)
{
	unsigned int good_port = val[O_GOOD] ? strtoul(val[O_GOOD], NULL, 0) : GOOD_PORT;
	const char *to = val[O_CONNECT];
	struct evil_target t = {
		.tcp = tl_proto_find("inet"),
		.deadline_ms = 20000,
		.only = val[O_ONLY],
	};
	int sv, err;

	if (!to || !val[O_BIND] || !val[O_OTHER] || tl_addr_parse(&t.to, t.tcp, to, port) ||
	    tl_addr_parse(&t.local, t.tcp, val[O_BIND], 0) ||
	    tl_addr_parse(&other_addr, t.tcp, val[O_OTHER], 0) ||
	    tl_addr_parse(&good.to, good.proto, to, good_port))
		bad_usage();
	if (serving && (!val[O_THIRD] || tl_addr_parse(&third_addr, t.tcp, val[O_THIRD], 0) ||
			!val[O_LONELY] || tl_addr_parse(&lonely_addr, t.tcp, val[O_LONELY], 0)))
		bad_usage();
	imms = strcmp(val[O_IMMS], "0");
	upgrade = !strcmp(val[O_UPGRADE], "1");
	sv = tl_child(good_client, &good);
	err = sv < 0 ? sv : evil_option_on();
	if (!err && serving)
		err = el_serve_open(SERVE_PORT);
	if (!err)
		return attack_run(&t, sv);
	printf("Bail out! cannot set the SMC option, or listen: %s\n", tl_errno_name(-err));
	return KTAP_FAIL;
}

int main(int argc, char **argv)
{
	const char *val[O_NR] = { [O_FAMILY] = "smc", [O_IMMS] = "1",
				   [O_UPGRADE] = "0" };
	unsigned int port;
	int o;

	if (argc < 2)
		bad_usage();
	while ((o = getopt_long(argc - 1, argv + 1, "", longopts, NULL)) != -1) {
		if (o >= O_NR)
			bad_usage();
		val[o] = optarg;
	}
	port = val[O_PORT] ? strtoul(val[O_PORT], NULL, 0) : WITNESS_PORT;
	good = (struct trf_client){
		.proto = tl_proto_find(val[O_FAMILY]),
		.require = TL_MODE_SMCR,
		/* the server waits as long for the next request, and an attack may take a while */
		.timeout_ms = 300000,
		.seed = 1,
	};
	if (optind != argc - 1 || !good.proto)
		bad_usage();
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	serving = !strcmp(argv[1], "serve");
	if (serving || !strcmp(argv[1], "attack"))
		return attack_main(val, port);
	if (strcmp(argv[1], "witness"))
		bad_usage();
	fprintf(stderr, "witness: %s\n",
		tl_errno_name(-el_witness_run(good.proto, val[O_BIND], port)));
	return KTAP_FAIL;
}
