// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: show the state of the SMC module and change its settings. See smcctl(8).
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
	"Show sockets, links and statistics of SMC; set UEIDs, PNET IDs, rules.\vObjects:\n"
	"  info                 version and features of the module\n"
	"  sock                 sockets, with fallback reasons: show, kill [WHICH]\n"
	"  linkgroup            link groups: show, del GROUP [now]\n"
	"  link                 links of all groups: show, add GROUP, del GROUP LINK\n"
	"  device               RoCE devices\n"
	"  stats                statistics, with fallback reasons\n"
	"  watch                rates, one line every SECONDS: [SECONDS [COUNT]]\n"
	"  monitor              events of groups, links and fallbacks: [COUNT]\n"
	"  prometheus           statistics for node_exporter's textfile collector\n"
	"  reason               what a fallback reason means, and what to do: [CODE]\n"
	"  check                would SMC be used, and if not, why: HOST [PORT]\n"
	"  applicability        how much of the TCP traffic could use SMC: [SECONDS]\n"
	"  holders              sockets of all namespaces that keep the module loaded\n"
	"  report               write FILE, an archive for a bug report\n"
	"  enable               new connections may use SMC (net.smc.enabled)\n"
	"  disable              new connections use TCP, existing ones go on\n"
	"  setting              net.smc.*: show, set NAME VALUE\n"
	"  ueid                 user-defined EIDs: show, add NAME, del NAME, flush\n"
	"  pnet                 PNET IDs: show, add ID DEVICE..., del ID, flush\n"
	"  policy               rules for the use of SMC: show, add, del, flush\n"
	"  save                 write settings, UEIDs, PNET IDs and rules to FILE\n"
	"  restore              apply the settings in FILE\n"
	"\n"
	"Exit status: 0 success, 1 failure, 2 wrong usage, 3 nothing found (with -e).";

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ "exit-empty", 'e', NULL, 0, "exit status 3 if a list is empty", 0 },
	{ "color", KEY_COLOR, "WHEN", 0, "auto (on a terminal), always or never", 0 },
	{ "output", 'o', "FILE", 0, "prometheus: replace FILE in one step", 1 },
	{ "all", 'a', NULL, 0, "sock: also listening and new sockets", 1 },
	{ "verbose", 'v', NULL, 0, "sock: also cursors, buffer sizes, GIDs", 1 },
	{ "port", 'p', "PORT", 0, "sock: only with this local or peer port", 1 },
	{ "local-port", 'l', "PORT", 0, "sock: only with this local port", 1 },
	{ "peer-port", 'r', "PORT", 0, "sock: only with this peer port", 1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

struct command_line {
	struct ctl_opts opts;
	const char *sock_option;
	int num;
	char *words[MAX_WORDS];
};

static int port_parse(const char *text, struct argp_state *state)
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

static void color_parse(const char *text, struct argp_state *state)
{
	static const char * const words[] = {
		[CTL_COLOR_AUTO] = "auto", [CTL_COLOR_ALWAYS] = "always",
		[CTL_COLOR_NEVER] = "never",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(text, words[i])) {
			ctl_color_set(i);
			return;
		}
	}
	argp_failure(state, CTL_USAGE, 0, "'%s' is none of auto, always, never", text);
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
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
		color_parse(arg, state);
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
		line->opts.port = port_parse(arg, state);
		line->sock_option = "--port";
		return 0;
	case 'l':
		line->opts.local_port = port_parse(arg, state);
		line->sock_option = "--local-port";
		return 0;
	case 'r':
		line->opts.peer_port = port_parse(arg, state);
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

/* @show: the object has no command but "show". Else NULL, and @run takes the command. */
static const struct {
	const char *name;
	int (*run)(const struct ctl_opts *opts, int argc, char **argv);
	int (*show)(const struct ctl_opts *opts);
} objects[] = {
	{ "info", NULL, cmd_info },
	{ "sock", cmd_sock, NULL },
	{ "linkgroup", cmd_linkgroup, NULL },
	{ "link", cmd_link, NULL },
	{ "device", NULL, cmd_device },
	{ "stats", NULL, cmd_stats },
	{ "watch", cmd_watch, NULL },
	{ "monitor", cmd_monitor, NULL },
	{ "prometheus", NULL, cmd_prometheus },
	{ "reason", cmd_reason, NULL },
	{ "check", cmd_check, NULL },
	{ "applicability", cmd_applicability, NULL },
	{ "holders", NULL, cmd_holders },
	{ "report", cmd_report, NULL },
	{ "enable", NULL, cmd_enable },
	{ "disable", NULL, cmd_disable },
	{ "setting", cmd_setting, NULL },
	{ "ueid", cmd_ueid, NULL },
	{ "pnet", cmd_pnet, NULL },
	{ "policy", cmd_policy, NULL },
	{ "save", cmd_save, NULL },
	{ "restore", cmd_restore, NULL },
};

static int object_run(struct command_line *line)
{
	const char *name = line->words[0];
	size_t i;

	if (line->sock_option && strcmp(name, "sock")) {
		ctl_error("option %s belongs to sock", line->sock_option);
		return CTL_USAGE;
	}
	if (line->opts.output && strcmp(name, "prometheus")) {
		ctl_error("option --output belongs to prometheus");
		return CTL_USAGE;
	}
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		if (strcmp(name, objects[i].name))
			continue;
		if (objects[i].run)
			return objects[i].run(&line->opts, line->num - 1, line->words + 1);
		if (line->num > 2 || (line->num == 2 && strcmp(line->words[1], "show"))) {
			ctl_error("%s takes no argument '%s'", name, line->words[line->num - 1]);
			return CTL_USAGE;
		}
		return objects[i].show(&line->opts);
	}
	ctl_error("unknown object '%s', see smcctl --help", name);
	return CTL_USAGE;
}

/* Flush standard output: a full disk or a closed pipe is a failure. Return the exit status. */
static int output_finish(int rc)
{
	if (rc == CTL_OK && (fflush(stdout) || ferror(stdout))) {
		ctl_error("cannot write the output");
		return CTL_FAILURE;
	}
	return rc;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = option_parse,
		.args_doc = "OBJECT [COMMAND [NAME...]]", .doc = doc,
	};
	struct command_line line = {
		.opts = { .port = -1, .local_port = -1, .peer_port = -1 },
	};
	int rc;

	if (!strcmp(program_invocation_short_name, "smcss"))
		return output_finish(smcss_main(argc, argv));
	if (!strcmp(program_invocation_short_name, "smc_pnet"))
		return output_finish(smc_pnet_main(argc, argv));
	if (!strcmp(program_invocation_short_name, "smcr"))
		return output_finish(smcr_main(argc, argv));
	argp_err_exit_status = CTL_USAGE;
	ctl_color_set(CTL_COLOR_AUTO);
	argp_parse(&argp, argc, argv, 0, NULL, &line);
	if (!line.num) {
		ctl_error("no object given, see smcctl --help");
		return CTL_USAGE;
	}
	rc = output_finish(object_run(&line));
	if (rc == CTL_OK && line.opts.exit_empty && ctl_list_was_empty())
		rc = CTL_NOTHING;
	return rc;
}
