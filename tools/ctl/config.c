// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: save settings to a file and restore them.
 *
 * The file has one command per line, written as on the command line. The whole file is checked
 * before the first command runs.
 */
#include "smcctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#define MAX_WORDS 16
#define MAX_LINE 1024
#define BLANKS " \t\r\n"

/* Objects that a file may contain */
static const struct {
	const char *name;
	int (*run)(const struct ctl_opts *opts, int argc, char **argv);
} objects[] = {
	{ "setting", cmd_setting },
	{ "ueid", cmd_ueid },
	{ "pnet", cmd_pnet },
	{ "policy", cmd_policy },
};

static int net_smc_save(FILE *out)
{
	struct json_object *settings = json_object_new_array();
	int rc = ctl_setting_read(settings);
	size_t i;

	for (i = 0; i < json_object_array_length(settings); i++) {
		struct json_object *s = json_object_array_get_idx(settings, i);

		/* other namespaces than the first one can only read some */
		if (json_object_get_boolean(ctl_json_member(s, "writable")))
			fprintf(out, "setting set %s %s\n", ctl_json_text(s, "name"),
				ctl_json_text(s, "value"));
	}
	json_object_put(settings);
	return rc;
}

/* In a line of its own: the list of settings has numbers only. */
static void hs_ctrl_save(FILE *out)
{
	char value[64];

	if (ctl_setting_read_hs_ctrl(value, sizeof(value)))
		fprintf(out, "setting set hs_ctrl %s\n", value);
}

static int ueids_save(FILE *out)
{
	struct json_object *ueids = json_object_new_array();
	int rc = ctl_ueid_read(ueids);
	size_t i;

	fprintf(out, "ueid flush\n");
	for (i = 0; i < json_object_array_length(ueids); i++)
		fprintf(out, "ueid add %s\n",
			ctl_json_text(json_object_array_get_idx(ueids, i), "ueid"));
	json_object_put(ueids);
	return rc;
}

static int pnet_save(FILE *out)
{
	struct json_object *entries = json_object_new_array();
	int rc = ctl_pnet_read(entries);
	size_t i;

	fprintf(out, "pnet flush\n");
	for (i = 0; i < json_object_array_length(entries); i++) {
		struct json_object *e = json_object_array_get_idx(entries, i);

		if (*ctl_json_text(e, "device"))
			fprintf(out, "pnet add %s ibdev %s/%s\n", ctl_json_text(e, "pnetid"),
				ctl_json_text(e, "device"), ctl_json_text(e, "port"));
		else
			fprintf(out, "pnet add %s netdev %s\n", ctl_json_text(e, "pnetid"),
				ctl_json_text(e, "netdev"));
	}
	json_object_put(entries);
	return rc;
}

/* The in-tree module has no rules: write nothing about them then. */
static int policy_save(FILE *out)
{
	static const char * const conditions[][2] = {
		{ "local", "local" }, { "local-port", "local_port" },
		{ "remote", "remote" }, { "remote-port", "remote_port" },
	};
	struct json_object *rules = json_object_new_array();
	bool known;
	int rc = ctl_policy_read(rules, &known);
	size_t i, j;

	if (known)
		fprintf(out, "policy flush\n");
	for (i = 0; i < json_object_array_length(rules); i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);

		fprintf(out, "policy add %s number %s", ctl_json_text(rule, "action"),
			ctl_json_text(rule, "number"));
		for (j = 0; j < ARRAY_SIZE(conditions); j++)
			if (*ctl_json_text(rule, conditions[j][1]))
				fprintf(out, " %s %s", conditions[j][0],
					ctl_json_text(rule, conditions[j][1]));
		fprintf(out, "\n");
	}
	json_object_put(rules);
	return rc;
}

static int settings_save(FILE *out)
{
	int rc;

	fprintf(out, "# Settings of SMC for smcctl restore, a command per line: see smcctl(8).\n");
	rc = net_smc_save(out);
	hs_ctrl_save(out);
	if (rc == CTL_OK)
		rc = ueids_save(out);
	if (rc == CTL_OK)
		rc = pnet_save(out);
	return rc == CTL_OK ? policy_save(out) : rc;
}

/**
 * cmd_save() - smcctl save FILE
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_save(const struct ctl_opts *opts, int argc, char **argv)
{
	(void)opts;
	if (argc != 1) {
		ctl_error("save is followed by a file, - for standard output");
		return CTL_USAGE;
	}
	if (!strcmp(argv[0], "-"))
		return settings_save(stdout);
	return ctl_file_replace(argv[0], settings_save, false);
}

/* Check whether a command changes something, unlike "show". */
static bool line_is_change(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "show") && strcmp(argv[1], "list");
}

/* Cut off a comment. A '#' within a word is part of it: names of devices may have one. */
static void comment_cut(char *line)
{
	char *at;

	for (at = strchr(line, '#'); at; at = strchr(at + 1, '#')) {
		if (at == line || strchr(BLANKS, at[-1])) {
			*at = '\0';
			return;
		}
	}
}

static int line_run(const struct ctl_opts *opts, char *line)
{
	char *words[MAX_WORDS], *word, *rest = NULL;
	int num = 0;
	size_t i;

	comment_cut(line);
	for (word = strtok_r(line, BLANKS, &rest); word; word = strtok_r(NULL, BLANKS, &rest)) {
		if (num == MAX_WORDS) {
			ctl_error("too many words at '%s'", word);
			return CTL_USAGE;
		}
		words[num++] = word;
	}
	if (!num)
		return CTL_OK;
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		if (!strcmp(words[0], objects[i].name) && line_is_change(num, words))
			return objects[i].run(opts, num - 1, words + 1);
	ctl_error("'%s' is nothing that a file can set", words[0]);
	return CTL_USAGE;
}

/* Run the commands of a file; with @dry_run only check their syntax. Return an exit status. */
static int file_run(const struct ctl_opts *opts, FILE *in, const char *name, bool dry_run)
{
	char line[MAX_LINE], place[MAX_LINE];
	int rc = CTL_OK, line_rc;
	unsigned int num = 0;

	ctl_genl_set_dry_run(dry_run);
	while (fgets(line, sizeof(line), in)) {
		snprintf(place, sizeof(place), "%s:%u: ", name, ++num);
		ctl_error_set_place(place);
		if (strlen(line) + 1 == sizeof(line)) {
			ctl_error("the line is too long");
			rc = CTL_USAGE;
			break;
		}
		line_rc = line_run(opts, line);
		/* continue with the next line after a failure */
		if (line_rc != CTL_OK)
			rc = line_rc;
	}
	ctl_error_set_place("");
	ctl_genl_set_dry_run(false);
	if (ferror(in)) {
		ctl_error("%s: %s", name, strerror(errno));
		rc = CTL_FAILURE;
	}
	return rc;
}

/*
 * Check whether a file is what save would write now. Applying it would change nothing in the end,
 * but for a moment there would be no rules, and their counts would begin again.
 */
static bool file_is_current(FILE *in)
{
	char *now = NULL, line[MAX_LINE], *at;
	size_t size = 0;
	bool same;
	FILE *out;

	out = open_memstream(&now, &size);
	if (!out)
		return false;
	same = settings_save(out) == CTL_OK;
	fclose(out);
	for (at = now; same && fgets(line, sizeof(line), in); at += strlen(line))
		same = !strncmp(at, line, strlen(line));
	same = same && !*at;
	free(now);
	rewind(in);
	return same;
}

/**
 * cmd_restore() - smcctl restore FILE
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status; CTL_USAGE: the file has a syntax error and nothing was changed.
 */
int cmd_restore(const struct ctl_opts *opts, int argc, char **argv)
{
	FILE *in;
	int rc;

	if (argc != 1) {
		ctl_error("restore is followed by a file");
		return CTL_USAGE;
	}
	in = fopen(argv[0], "r");
	if (!in) {
		ctl_error("%s: %s", argv[0], strerror(errno));
		return CTL_FAILURE;
	}
	/* two restores at once would mix flush and add */
	flock(fileno(in), LOCK_EX);
	rc = file_run(opts, in, argv[0], true);
	if (rc == CTL_OK && !ctl_module_is_loaded()) {
		ctl_error("this kernel has no SMC: load the smc module (modprobe smc)");
		rc = CTL_FAILURE;
	}
	rewind(in);
	if (rc == CTL_OK && !file_is_current(in))
		rc = file_run(opts, in, argv[0], false);
	fclose(in);
	return rc;
}
