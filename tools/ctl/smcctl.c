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

#define MAX_WORDS 15
#define KEY_COLOR 256

const char *argp_program_version = "smcctl " SMC_TOOLS_VERSION;

/*
 * @words: words that may follow the name, all with @run; a unique beginning of one is enough
 * @options: letters of the options that apply
 * @show: the object has no command but "show". Else NULL, and @run takes the words behind the name.
 */
static const struct object {
	const char *name;
	const char *options;
	const char *syntax;
	const char *what;
	const char *words;
	int (*run)(const struct ctl_opts *opts, int argc, char **argv);
	int (*show)(const struct ctl_opts *opts);
} objects[] = {
	{ "info", "ej", "[show]", "version and features of the module", NULL, NULL, cmd_info },
	{ "sock", "aejlpsv", "[show | kill] [inode N] [local PREFIX] [peer PREFIX] [port PORT]\n"
	  "[local-port PORT] [peer-port PORT]", "sockets, with fallback reasons",
	  "show kill inode local peer port local-port peer-port", cmd_sock, NULL },
	{ "linkgroup", "ejv", "[show | del GROUP [now]]", "link groups", "show del",
	  cmd_linkgroup, NULL },
	{ "link", "ejv", "[show | add GROUP [device DEV [port N]] [peer GID] | del GROUP LINK]",
	  "links of all groups",
	  "show add del", cmd_link, NULL },
	{ "device", "ejv", "[show]", "ports of RoCE devices", NULL, NULL, cmd_device },
	{ "stats", "ej", "[show]", "statistics, with fallback reasons", NULL, NULL, cmd_stats },
	{ "memory", "ej", "[show | by user|process|cgroup]",
	  "rings and RMBEs of connections over RDMA", "show by", cmd_memory, NULL },
	{ "watch", "j", "[by connection|peer|link] [SECONDS [COUNT]]",
	  "rates, one line every SECONDS", NULL, cmd_watch, NULL },
	{ "monitor", "j", "[connections] [COUNT]",
	  "events of groups, links, fallbacks, connections", NULL, cmd_monitor,
	  NULL },
	{ "prometheus", "on", "[show]", "statistics for node_exporter's textfile collector", NULL,
	  NULL, cmd_prometheus },
	{ "reason", "ej", "[show | CODE]", "what a fallback reason means, and what to do", "show",
	  cmd_reason, NULL },
	{ "check", "j", "HOST [PORT]", "would SMC be used, and if not, why", NULL, cmd_check,
	  NULL },
	{ "applicability", "ej", "[show] [SECONDS]", "how much of the TCP traffic could use SMC",
	  "show", cmd_applicability, NULL },
	{ "holders", "ej", "[show]", "sockets of all namespaces that keep the module loaded", NULL,
	  NULL, cmd_holders },
	{ "report", "", "FILE", "write an archive for a bug report", NULL, cmd_report, NULL },
	{ "enable", "j", "", "new connections may use SMC (net.smc.enabled)", NULL, NULL,
	  cmd_enable },
	{ "disable", "j", "", "new connections use TCP, existing ones go on", NULL, NULL,
	  cmd_disable },
	{ "setting", "ej", "[show | set NAME VALUE]", "settings net.smc.*", "show set",
	  cmd_setting, NULL },
	{ "ueid", "ej", "[show | add NAME | del NAME | flush]", "user-defined EIDs",
	  "show add del flush", cmd_ueid, NULL },
	{ "pnet", "ej", "[show | add ID [netdev NAME] [ibdev NAME[/PORT]] | del ID | flush]",
	  "PNET IDs", "show add del flush", cmd_pnet, NULL },
	{ "policy", "ej", "[show | add allow|deny [number N] [local PREFIX] [local-port PORTS]\n"
	  "[remote PREFIX] [remote-port PORTS] | del N | flush]", "rules for the use of SMC",
	  "show add del flush", cmd_policy, NULL },
	{ "save", "", "FILE", "write settings, UEIDs, PNET IDs and rules to FILE", NULL, cmd_save,
	  NULL },
	{ "restore", "", "FILE", "apply the settings in FILE", NULL, cmd_restore, NULL },
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ "exit-empty", 'e', NULL, 0, "exit status 3 if a list is empty", 0 },
	{ "color", KEY_COLOR, "WHEN", 0, "auto (on a terminal), always or never", 0 },
	{ "verbose", 'v', NULL, 0, "sock, linkgroup, link, device: all members", 0 },
	{ "output", 'o', "FILE", 0, "prometheus: replace FILE in one step", 1 },
	{ "netns", 'n', "all", 0, "prometheus: all network namespaces", 1 },
	{ "all", 'a', NULL, 0, "sock: also listening and new sockets", 1 },
	{ "listening", 'l', NULL, 0, "sock: only listening sockets", 1 },
	{ "processes", 'p', NULL, 0, "sock: also processes that have the socket", 1 },
	{ "stats", 's', NULL, 0, "sock: statistics of connections over RDMA", 1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/**
 * struct command_line - what the user typed
 * @opts: options
 * @used: letters of the options, each once
 * @num: number of @words
 * @words: object, command and names
 */
struct command_line {
	struct ctl_opts opts;
	char used[16];
	int num;
	char *words[MAX_WORDS];
};

static error_t color_parse(const char *text)
{
	static const char * const words[] = {
		[CTL_COLOR_AUTO] = "auto", [CTL_COLOR_ALWAYS] = "always",
		[CTL_COLOR_NEVER] = "never",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(text, words[i])) {
			ctl_color_set(i);
			return 0;
		}
	}
	ctl_error("'%s' is none of auto, always, never", text);
	return CTL_USAGE;
}

/* Remember that an option was given, for options_check(). */
static void option_note(struct command_line *line, int key)
{
	size_t len = strlen(line->used);

	if (!strchr(line->used, key) && len + 1 < sizeof(line->used))
		line->used[len] = (char)key;
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		/* where argp would write a second line, behind the error that getopt prints */
		state->err_stream = NULL;
		return 0;
	case 'j':
		line->opts.json = true;
		break;
	case 'e':
		line->opts.exit_empty = true;
		break;
	case 'o':
		line->opts.output = arg;
		break;
	case 'n':
		if (strcmp(arg, "all")) {
			ctl_error("--netns is followed by all, not '%s'", arg);
			return CTL_USAGE;
		}
		line->opts.netns = arg;
		break;
	case 'a':
		line->opts.all = true;
		break;
	case 'l':
		line->opts.listening = true;
		break;
	case 'p':
		line->opts.processes = true;
		break;
	case 's':
		line->opts.stats = true;
		break;
	case 'v':
		line->opts.verbose = true;
		break;
	case KEY_COLOR:
		return color_parse(arg);
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		if (line->num == MAX_WORDS) {
			ctl_error("too many arguments at '%s'", arg);
			return CTL_USAGE;
		}
		line->words[line->num++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	option_note(line, key);
	return 0;
}

/* Return the objects as the help prints them; the caller frees the text. */
static char *doc_make(void)
{
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	fputs("Show sockets, links and statistics of SMC; set UEIDs, PNET IDs, rules.\vObjects:\n",
	      out);
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		fprintf(out, "  %-20s %s\n", objects[i].name, objects[i].what);
	fputs("\n'smcctl OBJECT help' prints what can follow an object. Objects and commands\n"
	      "may be abbreviated to a unique beginning; list is the same as show.\n\n"
	      "Exit status: 0 success, 1 failure, 2 wrong usage, 3 nothing found (with -e).", out);
	fclose(out);
	return text;
}

/* Return what follows an option, NULL: nothing. */
static const char *option_get_arg(char letter)
{
	size_t i;

	for (i = 0; options[i].name || options[i].key; i++)
		if (options[i].key == letter)
			return options[i].arg;
	return NULL;
}

/* Print "[-ab] " for options alone, "[-c ARG] " for each one that something follows. */
static int options_print_help(const char *letters)
{
	char alone[16] = "";
	int at = 0;

	for (; *letters; letters++) {
		if (option_get_arg(*letters))
			at += printf("[-%c %s] ", *letters, option_get_arg(*letters));
		else
			strncat(alone, letters, 1);
	}
	return at + (*alone ? printf("[-%s] ", alone) : 0);
}

static void object_print_help(const struct object *object)
{
	int at = printf("smcctl ");

	at += options_print_help(object->options);
	at += printf("%s", object->name);
	if (*object->syntax)
		at += printf(" ");
	ctl_text_print(object->syntax, at, 8);
	printf("  %s\n", object->what);
}

/* Find an object by its name or a unique beginning. Return NULL after an error message. */
static const struct object *object_find(const char *word)
{
	const struct object *found = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(objects); i++)
		if (!strcmp(word, objects[i].name))
			return &objects[i];
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		if (!*word || strncmp(word, objects[i].name, strlen(word)))
			continue;
		if (found) {
			ctl_error("'%s' may be %s or %s", word, found->name, objects[i].name);
			return NULL;
		}
		found = &objects[i];
	}
	if (!found)
		ctl_error("unknown object '%s', see smcctl --help", word);
	return found;
}

/* Return the command that the word is a unique beginning of, or another name of; NULL: none. */
static char *command_find(const char *word, const struct object *object)
{
	static char full[32];
	const char *words = object->words ? object->words : "show";

	if (!strcmp(word, "list") || !strcmp(word, "lst"))
		word = "show";
	else if (!strcmp(word, "delete"))
		word = "del";
	return ctl_word_complete(word, words, full, sizeof(full)) ? full : NULL;
}

/* Write the command in full; if it is none, let the object complain. */
static void command_complete(struct command_line *line, const struct object *object)
{
	char *full = command_find(line->words[1], object);

	if (full)
		line->words[1] = full;
}

/* Check for "help" behind an object, or behind one of its commands. */
static bool help_is_wanted(const struct command_line *line, const struct object *object)
{
	if (line->num < 2 || line->num > 3 || strcmp(line->words[line->num - 1], "help"))
		return false;
	return line->num == 2 || (object->words && command_find(line->words[1], object));
}

static int options_check(const struct command_line *line, const struct object *object)
{
	const char *letter;

	for (letter = line->used; *letter; letter++) {
		if (strchr(object->options, *letter))
			continue;
		ctl_error("option -%c does not apply to %s", *letter, object->name);
		return CTL_USAGE;
	}
	return CTL_OK;
}

static int object_run(struct command_line *line)
{
	const struct object *object = object_find(line->words[0]);
	const char *last = line->words[line->num - 1];

	if (!object)
		return CTL_USAGE;
	if (help_is_wanted(line, object)) {
		object_print_help(object);
		return CTL_OK;
	}
	if (options_check(line, object) != CTL_OK)
		return CTL_USAGE;
	if (line->num > 1 && (object->show || object->words))
		command_complete(line, object);
	if (object->run)
		return object->run(&line->opts, line->num - 1, line->words + 1);
	if (line->num > 2 ||
	    (line->num == 2 && (!*object->syntax || strcmp(line->words[1], "show")))) {
		ctl_error("%s takes no argument '%s'", object->name, last);
		return CTL_USAGE;
	}
	return object->show(&line->opts);
}

/* smcctl help OBJECT [COMMAND]: the same as OBJECT [COMMAND] help; without one, as --help */
static int help_run(const struct argp *argp, struct command_line *line)
{
	char help_option[] = "--help", *words[] = { program_invocation_name, help_option, NULL };
	const struct object *object;

	if (line->num == 1) {
		/* argp_help() would not know the options that argp itself adds */
		argp_parse(argp, 2, words, ARGP_NO_EXIT, NULL, line);
		return CTL_OK;
	}
	object = object_find(line->words[1]);
	if (!object)
		return CTL_USAGE;
	if (line->num > 3 || (line->num == 3 &&
			      !(object->words && command_find(line->words[2], object)))) {
		ctl_error("help is followed by an object, or one and its command, or nothing");
		return CTL_USAGE;
	}
	object_print_help(object);
	return CTL_OK;
}

/*
 * Flush standard output: a full disk or a closed pipe is a failure, also where the answer was to be
 * "no" or is incomplete. Return the exit status.
 */
static int output_finish(int rc)
{
	if (!fflush(stdout) && !ferror(stdout))
		return rc;
	ctl_error("cannot write the output");
	return rc == CTL_USAGE ? rc : CTL_FAILURE;
}

int main(int argc, char **argv)
{
	struct command_line line = {
		.opts = { .port = -1, .local_port = -1, .peer_port = -1 },
	};
	struct argp argp = {
		.options = options, .parser = option_parse,
		.args_doc = "OBJECT [COMMAND [NAME...]]",
	};
	char *doc;
	int rc;

	if (!strcmp(program_invocation_short_name, "smcss"))
		return output_finish(smcss_main(argc, argv));
	if (!strcmp(program_invocation_short_name, "smc_pnet"))
		return output_finish(smc_pnet_main(argc, argv));
	if (!strcmp(program_invocation_short_name, "smcr"))
		return output_finish(smcr_main(argc, argv));
	if (!strcmp(program_invocation_short_name, "smcd"))
		return output_finish(smcd_main(argc, argv));
	ctl_color_set(CTL_COLOR_AUTO);
	doc = doc_make();
	argp.doc = doc;
	if (argp_parse(&argp, argc, argv, 0, NULL, &line)) {
		rc = CTL_USAGE;
	} else if (!line.num) {
		ctl_error("no object given, see smcctl --help");
		rc = CTL_USAGE;
	} else if (!strcmp(line.words[0], "help")) {
		rc = output_finish(help_run(&argp, &line));
	} else {
		rc = output_finish(object_run(&line));
	}
	free(doc);
	if (rc == CTL_OK && line.opts.exit_empty && ctl_list_was_empty())
		rc = CTL_NOTHING;
	return rc;
}
