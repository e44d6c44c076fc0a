// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: show and set what the SMC module knows. See smcctl(8).
 */
#define _GNU_SOURCE
#include "smcctl.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 13
#define KEY_COLOR 256

const char *argp_program_version = "smcctl " SMC_TOOLS_VERSION;

static const char doc[] =
	"Show sockets, link groups, devices, statistics of SMC; set UEIDs, PNET IDs, links.\vObjects:\n"
	"  info                 version and abilities of the module\n"
	"  sock                 sockets: state, mode, addresses, why TCP: show, kill [WHICH]\n"
	"  linkgroup            link groups: show, del GROUP [now]\n"
	"  link                 links of all groups: show, add GROUP, del GROUP LINK\n"
	"  device               RoCE devices\n"
	"  stats                statistics, with the reasons of fallbacks\n"
	"  watch                rates, one line each SECONDS: [SECONDS [COUNT]]\n"
	"  monitor              groups, links, failovers, fallbacks as they come: [COUNT]\n"
	"  prometheus           statistics for node_exporter's textfile collector\n"
	"  reason               what a reason of fallbacks means, and what to do: [CODE]\n"
	"  check                why SMC would be used or not: HOST [PORT]\n"
	"  applicability        how much of the TCP traffic could use SMC: [SECONDS]\n"
	"  holders              sockets of all namespaces that keep the module loaded\n"
	"  ueid                 user-defined EIDs: show, add NAME, del NAME, flush\n"
	"  pnet                 PNET IDs of devices: show, add ID DEVICE..., del ID, flush\n"
	"  policy               rules which connections may be SMC: show, add, del, flush\n"
	"  save                 write UEIDs and PNET IDs to FILE\n"
	"  restore              set what FILE has\n"
	"\n"
	"Exit status: 0 success, 1 failure, 2 wrong usage, 3 nothing found (with -e).";

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ "exit-empty", 'e', NULL, 0, "exit status 3 if a list is empty", 0 },
	{ "color", KEY_COLOR, "WHEN", 0, "auto (on a terminal), always or never", 0 },
	{ "output", 'o', "FILE", 0, "prometheus: replace FILE in one step", 1 },
	{ "all", 'a', NULL, 0, "sock: also listening and new sockets", 1 },
	{ "verbose", 'v', NULL, 0, "sock: also cursors, buffer sizes, GIDs", 1 },
	{ "port", 'p', "PORT", 0, "sock: this port on either side", 1 },
	{ "local-port", 'l', "PORT", 0, "sock: this local port", 1 },
	{ "peer-port", 'r', "PORT", 0, "sock: this port of the peer", 1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

struct command_line {
	struct ctl_opts opts;
	const char *sock_option;
	int num;
	char *words[MAX_WORDS];
};

static int parse_port(const char *text, struct argp_state *state)
{
	size_t digits = strspn(text, "0123456789");
	long port;

	if (!digits || digits > 5 || text[digits])
		port = -1;
	else
		port = strtol(text, NULL, 10);
	if (port < 0 || port > 65535)
		argp_failure(state, CTL_USAGE, 0, "'%s' is no port number", text);
	return (int)port;
}

static void parse_color(const char *text, struct argp_state *state)
{
	static const char * const words[] = {
		[CTL_COLOR_AUTO] = "auto", [CTL_COLOR_ALWAYS] = "always",
		[CTL_COLOR_NEVER] = "never",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(text, words[i])) {
			ctl_use_color(i);
			return;
		}
	}
	argp_failure(state, CTL_USAGE, 0, "'%s' is none of auto, always, never", text);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;

	switch (key) {
	case 'j':
		line->opts.json = true;
		return 0;
	case 'e':
		line->opts.exit_empty = true;
		return 0;
	case KEY_COLOR:
		parse_color(arg, state);
		return 0;
	case 'o':
		line->opts.output = arg;
		return 0;
	case 'a':
		line->opts.all = true;
		line->sock_option = "--all";
		return 0;
	case 'v':
		line->opts.verbose = true;
		line->sock_option = "--verbose";
		return 0;
	case 'p':
		line->opts.port = parse_port(arg, state);
		line->sock_option = "--port";
		return 0;
	case 'l':
		line->opts.local_port = parse_port(arg, state);
		line->sock_option = "--local-port";
		return 0;
	case 'r':
		line->opts.peer_port = parse_port(arg, state);
		line->sock_option = "--peer-port";
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		if (line->num == MAX_WORDS)
			argp_failure(state, CTL_USAGE, 0, "too many arguments at '%s'", arg);
		else
			line->words[line->num++] = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* An object has @run, or @show if it has nothing but a list to show. */
static const struct {
	const char *name;
	int (*run)(const struct ctl_opts *opts, int argc, char **argv);
	int (*show)(const struct ctl_opts *opts);
} objects[] = {
	{ "info", NULL, ctl_info },
	{ "sock", ctl_sock, NULL },
	{ "linkgroup", ctl_linkgroup, NULL },
	{ "link", ctl_link, NULL },
	{ "device", NULL, ctl_device },
	{ "stats", NULL, ctl_stats },
	{ "watch", ctl_watch, NULL },
	{ "monitor", ctl_monitor, NULL },
	{ "prometheus", NULL, ctl_prometheus },
	{ "reason", ctl_reason, NULL },
	{ "check", ctl_check, NULL },
	{ "applicability", ctl_applicability, NULL },
	{ "holders", NULL, ctl_holders },
	{ "ueid", ctl_ueid, NULL },
	{ "pnet", ctl_pnet, NULL },
	{ "policy", ctl_policy, NULL },
	{ "save", ctl_save, NULL },
	{ "restore", ctl_restore, NULL },
};

static int run_object(struct command_line *line)
{
	const char *name = line->words[0];
	size_t i;

	if (line->sock_option && strcmp(name, "sock")) {
		ctl_fail("option %s belongs to sock", line->sock_option);
		return CTL_USAGE;
	}
	if (line->opts.output && strcmp(name, "prometheus")) {
		ctl_fail("option --output belongs to prometheus");
		return CTL_USAGE;
	}
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		if (strcmp(name, objects[i].name))
			continue;
		if (objects[i].run)
			return objects[i].run(&line->opts, line->num - 1, line->words + 1);
		if (line->num > 2 || (line->num == 2 && strcmp(line->words[1], "show"))) {
			ctl_fail("%s takes no argument '%s'", name, line->words[line->num - 1]);
			return CTL_USAGE;
		}
		return objects[i].show(&line->opts);
	}
	ctl_fail("unknown object '%s', see smcctl --help", name);
	return CTL_USAGE;
}

/* A full disk or a closed pipe must not look like success. */
static int finished(int rc)
{
	if (rc == CTL_OK && (fflush(stdout) || ferror(stdout))) {
		ctl_fail("cannot write the output");
		return CTL_FAILURE;
	}
	return rc;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse_option,
		.args_doc = "OBJECT [COMMAND [NAME...]]", .doc = doc,
	};
	struct command_line line = {
		.opts = { .port = -1, .local_port = -1, .peer_port = -1 },
	};
	int rc;

	if (!strcmp(program_invocation_short_name, "smcss"))
		return finished(ctl_smcss(argc, argv));
	if (!strcmp(program_invocation_short_name, "smc_pnet"))
		return finished(ctl_smc_pnet(argc, argv));
	if (!strcmp(program_invocation_short_name, "smcr"))
		return finished(ctl_smcr(argc, argv));
	argp_err_exit_status = CTL_USAGE;
	ctl_use_color(CTL_COLOR_AUTO);
	argp_parse(&argp, argc, argv, 0, NULL, &line);
	if (!line.num) {
		ctl_fail("no object given, see smcctl --help");
		return CTL_USAGE;
	}
	rc = finished(run_object(&line));
	if (rc == CTL_OK && line.opts.exit_empty && ctl_list_was_empty())
		rc = CTL_NOTHING;
	return rc;
}
