// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: configuration that outlives the module.
 *
 * A file has one command per line, as on the command line. It is read as a whole, and judged,
 * before the first of them is carried out.
 */
#include "smcctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 16
#define MAX_LINE 1024
#define BLANKS " \t\r\n"

/* What a file may contain: objects whose commands only change settings */
static const struct {
	const char *name;
	int (*run)(const struct ctl_opts *opts, int argc, char **argv);
} objects[] = {
	{ "ueid", ctl_ueid },
	{ "pnet", ctl_pnet },
	{ "policy", ctl_policy },
};

static int save_ueids(FILE *out)
{
	struct json_object *names = json_object_new_array();
	int rc = ctl_ueid_read(names);
	size_t i;

	fprintf(out, "ueid flush\n");
	for (i = 0; i < json_object_array_length(names); i++)
		fprintf(out, "ueid add %s\n",
			json_object_get_string(json_object_array_get_idx(names, i)));
	json_object_put(names);
	return rc;
}

static int save_pnet(FILE *out)
{
	struct json_object *entries = json_object_new_array();
	int rc = ctl_pnet_read(entries);
	size_t i;

	fprintf(out, "pnet flush\n");
	for (i = 0; i < json_object_array_length(entries); i++) {
		struct json_object *e = json_object_array_get_idx(entries, i);

		if (*ctl_text_of(e, "device"))
			fprintf(out, "pnet add %s ibdev %s/%s\n", ctl_text_of(e, "pnetid"),
				ctl_text_of(e, "device"), ctl_text_of(e, "port"));
		else
			fprintf(out, "pnet add %s netdev %s\n", ctl_text_of(e, "pnetid"),
				ctl_text_of(e, "netdev"));
	}
	json_object_put(entries);
	return rc;
}

/* The in-tree module has no rules: nothing is said of them then. */
static int save_policy(FILE *out)
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

		fprintf(out, "policy add %s number %s", ctl_text_of(rule, "action"),
			ctl_text_of(rule, "number"));
		for (j = 0; j < ARRAY_SIZE(conditions); j++)
			if (*ctl_text_of(rule, conditions[j][1]))
				fprintf(out, " %s %s", conditions[j][0],
					ctl_text_of(rule, conditions[j][1]));
		fprintf(out, "\n");
	}
	json_object_put(rules);
	return rc;
}

static int save(FILE *out)
{
	int rc;

	fprintf(out, "# Settings of SMC for smcctl restore, a command per line: see smcctl(8).\n");
	rc = save_ueids(out);
	if (rc == CTL_OK)
		rc = save_pnet(out);
	return rc == CTL_OK ? save_policy(out) : rc;
}

/**
 * ctl_save() - smcctl save FILE
 * @opts: command line
 * @argc: number of words
 * @argv: what follows the name of the object
 *
 * Return: exit status.
 */
int ctl_save(const struct ctl_opts *opts, int argc, char **argv)
{
	(void)opts;
	if (argc != 1) {
		ctl_fail("save is followed by a file, - for standard output");
		return CTL_USAGE;
	}
	if (!strcmp(argv[0], "-"))
		return save(stdout);
	return ctl_replace_file(argv[0], save, false);
}

/* A line that changes nothing, such as "show", has no place in a file. */
static bool is_change(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "show") && strcmp(argv[1], "list");
}

static int run_line(const struct ctl_opts *opts, char *line)
{
	char *words[MAX_WORDS], *word, *rest = NULL;
	int num = 0;
	size_t i;

	line[strcspn(line, "#")] = '\0';
	for (word = strtok_r(line, BLANKS, &rest); word; word = strtok_r(NULL, BLANKS, &rest)) {
		if (num == MAX_WORDS) {
			ctl_fail("too many words at '%s'", word);
			return CTL_USAGE;
		}
		words[num++] = word;
	}
	if (!num)
		return CTL_OK;
	for (i = 0; i < ARRAY_SIZE(objects); i++)
		if (!strcmp(words[0], objects[i].name) && is_change(num, words))
			return objects[i].run(opts, num - 1, words + 1);
	ctl_fail("'%s' is nothing that a file can set", words[0]);
	return CTL_USAGE;
}

/* With @pretend nothing is done: is everything well written? */
static int run_file(const struct ctl_opts *opts, FILE *in, const char *name, bool pretend)
{
	char line[MAX_LINE], place[MAX_LINE];
	int rc = CTL_OK, line_rc;
	unsigned int num = 0;

	ctl_pretend(pretend);
	while (fgets(line, sizeof(line), in)) {
		snprintf(place, sizeof(place), "%s:%u: ", name, ++num);
		ctl_set_place(place);
		if (strlen(line) + 1 == sizeof(line)) {
			ctl_fail("the line is too long");
			rc = CTL_USAGE;
			break;
		}
		line_rc = run_line(opts, line);
		/* One line that fails does not make the others useless. */
		if (line_rc != CTL_OK)
			rc = line_rc;
	}
	ctl_set_place("");
	ctl_pretend(false);
	if (ferror(in)) {
		ctl_fail("%s: %s", name, strerror(errno));
		rc = CTL_FAILURE;
	}
	return rc;
}

/**
 * ctl_restore() - smcctl restore FILE
 * @opts: command line
 * @argc: number of words
 * @argv: what follows the name of the object
 *
 * Return: exit status; CTL_USAGE: the file is badly written and nothing was done.
 */
int ctl_restore(const struct ctl_opts *opts, int argc, char **argv)
{
	FILE *in;
	int rc;

	if (argc != 1) {
		ctl_fail("restore is followed by a file");
		return CTL_USAGE;
	}
	in = fopen(argv[0], "r");
	if (!in) {
		ctl_fail("%s: %s", argv[0], strerror(errno));
		return CTL_FAILURE;
	}
	rc = run_file(opts, in, argv[0], true);
	if (rc == CTL_OK && fseek(in, 0, SEEK_SET)) {
		ctl_fail("%s: %s", argv[0], strerror(errno));
		rc = CTL_FAILURE;
	}
	if (rc == CTL_OK && !ctl_have_module()) {
		ctl_fail("this kernel has no SMC: load the smc module (modprobe smc)");
		rc = CTL_FAILURE;
	}
	if (rc == CTL_OK)
		rc = run_file(opts, in, argv[0], false);
	fclose(in);
	return rc;
}
