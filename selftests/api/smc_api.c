// SPDX-License-Identifier: GPL-2.0-only
/* Socket API conformance: run the cases, each in its own process, against an agent. */
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "lib/ktap.h"

#define CONTROL_PORT	4440

static const struct api_group * const groups[] = {
	&api_conn_group, &api_connect_group, &api_io_group, &api_poll_group,
	&api_close_group, &api_process_group, &api_option_group, &api_urgent_group,
	&api_sockopt_group, &api_info_group, &api_calls_group,
	&api_errno_group, &api_cmsg_group, &api_zerocopy_group, &api_lend_group,
	&api_early_group, &api_again_group, &api_filter_group,
	&api_tls_group,
};

static const char * const role_names[] = {
	[API_ACTIVE] = "active",
	[API_PASSIVE] = "passive",
};

/**
 * struct options - the command line
 * @only: run only cases whose name contains one of these words, separated by commas
 * @case_timeout_s: longest time for one case
 * @control: address of the agent's control port
 */
struct options {
	const char *only;
	unsigned int case_timeout_s;
	struct tl_addr control;
};

static struct options opt = { .case_timeout_s = 60 };
static struct ktap ktap;

/* The family of control connections: IPv6 (dual-stack) if the host has it, else IPv4. */
static const struct tl_proto *control_proto(void)
{
	const struct tl_proto *v6 = tl_proto_find("inet6");

	return tl_proto_available(v6) ? v6 : tl_proto_find("inet");
}

static int control_connect(void)
{
	const struct tl_proto *tcp = tl_proto_find(opt.control.sa.sa_family == AF_INET6 ?
						   "inet6" : "inet");
	int ctl = tl_connect(tcp, NULL, &opt.control);
	int one = 1;

	if (ctl >= 0)
		setsockopt(ctl, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return ctl;
}

static void case_process(const struct api_env *env, const struct api_case *c)
{
	struct api_env e = *env;

	/* a timeout kills the whole process group */
	setpgid(0, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	e.ctl = control_connect();
	if (e.ctl < 0) {
		printf("# no agent: %s\n", tl_errno_name(-e.ctl));
		_exit(2);
	}
	/* neither the agent's call nor the case may hang the control connection */
	tl_set_timeouts(e.ctl, opt.case_timeout_s * 1000);
	c->fn(&e);
	fflush(stdout);
	_exit(0);
}

static int case_wait(pid_t pid)
{
	u64 until = tl_now_ns() + opt.case_timeout_s * TL_NSEC_PER_SEC;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (tl_now_ns() > until) {
			printf("# no end after %u s\n", opt.case_timeout_s);
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		tl_sleep_ms(2);
	}
	/* kill processes that a failed case left behind */
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status))
		printf("# ended by signal %d\n", WTERMSIG(status));
	return status;
}

static void run_case(const struct api_env *env, const struct api_case *c, enum api_role role)
{
	struct api_env e = *env;
	char name[80];
	pid_t pid;

	e.role = role;
	if (c->flags & API_F_ROLES)
		snprintf(name, sizeof(name), "%s.%s.%s", e.proto->name, c->name, role_names[role]);
	else
		snprintf(name, sizeof(name), "%s.%s", e.proto->name, c->name);
	fflush(stdout);
	pid = fork();
	if (!pid)
		case_process(&e, c);
	ktap_result(&ktap, pid > 0 && !case_wait(pid), name);
}

static bool case_chosen(const char *name)
{
	char words[256];

	if (!opt.only)
		return true;
	snprintf(words, sizeof(words), "%s", opt.only);
	for (char *w = strtok(words, ","); w; w = strtok(NULL, ",")) {
		if (strstr(name, w))
			return true;
	}
	return false;
}

/* Run every chosen case; only count them if @env is NULL. */
static unsigned int walk_cases(const struct api_env *env, const struct tl_proto *proto)
{
	unsigned int nr = 0;

	for (size_t g = 0; g < TL_ARRAY_SIZE(groups); g++) {
		for (unsigned int i = 0; i < groups[g]->nr; i++) {
			const struct api_case *c = &groups[g]->cases[i];

			if (!case_chosen(c->name))
				continue;
			if ((c->flags & API_F_V4) && proto->af != AF_INET)
				continue;
			nr += c->flags & API_F_ROLES ? 2 : 1;
			if (!env)
				continue;
			run_case(env, c, API_ACTIVE);
			if (c->flags & API_F_ROLES)
				run_case(env, c, API_PASSIVE);
		}
	}
	return nr;
}

static pid_t start_local_agent(void)
{
	const struct tl_proto *tcp = tl_proto_find("inet");
	int fd;
	pid_t pid;

	tl_addr_parse(&opt.control, tcp, "127.0.0.1", 0);
	fd = tl_listen(tcp, &opt.control, 64);
	if (fd < 0) {
		fprintf(stderr, "agent: %s\n", tl_errno_name(-fd));
		exit(KTAP_FAIL);
	}
	pid = fork();
	if (!pid)
		api_agent_run(fd);
	close(fd);
	return pid;
}

static int agent_main(const char *bind_to, unsigned int port)
{
	const struct tl_proto *tcp = control_proto();
	struct tl_addr at;
	int fd;

	if (tl_addr_parse(&at, tcp, bind_to, port)) {
		fprintf(stderr, "bad address %s\n", bind_to);
		return 2;
	}
	fd = tl_listen(tcp, &at, 64);
	if (fd < 0) {
		fprintf(stderr, "agent: %s\n", tl_errno_name(-fd));
		return KTAP_FAIL;
	}
	printf("# agent on port %u\n", port);
	fflush(stdout);
	api_agent_run(fd);
	return 0;
}

static int wait_for_agent(unsigned int seconds)
{
	u64 until = tl_now_ns() + seconds * TL_NSEC_PER_SEC;
	int ctl;

	while ((ctl = control_connect()) < 0 && tl_now_ns() < until)
		tl_sleep_ms(200);
	if (ctl < 0) {
		fprintf(stderr, "no agent: %s\n", tl_errno_name(-ctl));
		return ctl;
	}
	close(ctl);
	return 0;
}

static int run_all(struct api_env *e)
{
	unsigned int planned = walk_cases(NULL, e->proto);

	ktap_plan(planned);
	if (!tl_proto_available(e->proto)) {
		for (unsigned int i = 0; i < planned; i++)
			ktap_skip(&ktap, e->proto->name, "this kernel has no such family");
		return ktap_exit_code(&ktap);
	}
	walk_cases(e, e->proto);
	return ktap_exit_code(&ktap);
}

static void bad_usage(void)
{
	fprintf(stderr,
		"usage: smc_api [options]             all on this host\n"
		"       smc_api --agent [options]     the peer's part on another host\n"
		"  --family F        smc, smc6, ipproto, ipproto6, inet or inet6 (default smc)\n"
		"  --peer-family F   family of the agent's sockets (default the same)\n"
		"  --local ADDR      address of this host (default loopback)\n"
		"  --remote ADDR     address of the agent's sockets, there an agent runs\n"
		"  --control ADDR    address of its control port (default --remote)\n"
		"  --control-port N  default %u\n"
		"  --require M       smc or tcp: mode that the cases' connections must have\n"
		"  --declined        the agent's host has no RNIC: it declines\n"
		"  --upgrade         connections begin as TCP and change over in mid-stream;\n"
		"                    both hosts have net.smc.upgrade_bytes set\n"
		"  --wait S          wait that long for the agent\n"
		"  --only TEXT,...   cases whose name contains one of these\n"
		"  --case-timeout S  default %u\n"
		"  --errno-table     print value and errno of each wrong call instead\n"
		"  --strict          a skip is a failure\n",
		CONTROL_PORT, opt.case_timeout_s);
	exit(2);
}

enum {
	O_FAMILY = 1, O_PEER, O_LOCAL, O_REMOTE, O_CONTROL, O_PORT, O_WAIT, O_ONLY, O_CASE,
	O_TABLE, O_STRICT, O_AGENT, O_REQUIRE, O_DECLINED, O_UPGRADE,
	O_NR
};

static const struct option longopts[] = {
	{ "family",		required_argument, NULL, O_FAMILY },
	{ "peer-family",	required_argument, NULL, O_PEER },
	{ "local",		required_argument, NULL, O_LOCAL },
	{ "remote",		required_argument, NULL, O_REMOTE },
	{ "control",		required_argument, NULL, O_CONTROL },
	{ "control-port",	required_argument, NULL, O_PORT },
	{ "wait",		required_argument, NULL, O_WAIT },
	{ "only",		required_argument, NULL, O_ONLY },
	{ "case-timeout",	required_argument, NULL, O_CASE },
	{ "errno-table",	no_argument, NULL, O_TABLE },
	{ "strict",		no_argument, NULL, O_STRICT },
	{ "require",		required_argument, NULL, O_REQUIRE },
	{ "declined",		no_argument, NULL, O_DECLINED },
	{ "upgrade",		no_argument, NULL, O_UPGRADE },
	{ "agent",		no_argument, NULL, O_AGENT },
	{ }
};

static void options_resolve(struct api_env *e, const char * const val[])
{
	const char *lo;
	unsigned int port = val[O_PORT] ? strtoul(val[O_PORT], NULL, 0) : CONTROL_PORT;

	e->proto = tl_proto_find(val[O_FAMILY] ? val[O_FAMILY] : "smc");
	if (!e->proto)
		bad_usage();
	e->peer = val[O_PEER] ? tl_proto_find(val[O_PEER]) : e->proto;
	if (!e->peer || e->peer->af != e->proto->af)
		bad_usage();
	lo = e->proto->af == AF_INET6 ? "::1" : "127.0.0.1";
	if (tl_addr_parse(&e->local, e->proto, val[O_LOCAL] ? val[O_LOCAL] : lo, 0) ||
	    tl_addr_parse(&e->remote, e->proto, val[O_REMOTE] ? val[O_REMOTE] : lo, 0))
		bad_usage();
	e->declined = val[O_DECLINED];
	e->upgrade = val[O_UPGRADE];
	if (val[O_REQUIRE] && tl_mode_parse(val[O_REQUIRE], &e->require))
		bad_usage();
	if (val[O_REMOTE] &&
	    tl_addr_parse(&opt.control, control_proto(),
			  val[O_CONTROL] ? val[O_CONTROL] : val[O_REMOTE], port))
		bad_usage();
}

int main(int argc, char **argv)
{
	const char *val[O_NR] = { NULL };
	struct api_env e = { 0 };
	pid_t agent = 0;
	int o, ret;

	while ((o = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		if (o >= O_NR)
			bad_usage();
		val[o] = optarg ? optarg : "";
	}
	if (optind != argc)
		bad_usage();
	options_resolve(&e, val);
	if (val[O_CASE])
		opt.case_timeout_s = strtoul(val[O_CASE], NULL, 0);
	opt.only = val[O_ONLY];
	ktap.strict = val[O_STRICT];
	if (val[O_AGENT])
		return agent_main(val[O_LOCAL],
				  val[O_PORT] ? strtoul(val[O_PORT], NULL, 0) : CONTROL_PORT);
	if (!val[O_REMOTE])
		agent = start_local_agent();
	else if (wait_for_agent(val[O_WAIT] ? strtoul(val[O_WAIT], NULL, 0) : 0))
		return KTAP_FAIL;
	if (val[O_TABLE]) {
		e.ctl = control_connect();
		api_errno_table(&e);
		ret = 0;
	} else {
		ret = run_all(&e);
	}
	if (agent > 0)
		kill(agent, SIGKILL);
	return ret;
}
