// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: messages, JSON and tables.
 */
#include "smcctl.h"
#include <smc/proto/clc_msg.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_COLUMNS 16

#define BOLD	"\033[1m"
#define GREEN	"\033[32m"
#define YELLOW	"\033[33m"
#define PLAIN	"\033[0m"

static const char *fail_place = "";
static bool colored;
static bool list_was_empty;

void ctl_set_place(const char *place)
{
	fail_place = place;
}

void ctl_use_color(enum ctl_color when)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	colored = when == CTL_COLOR_ALWAYS ||
		  (when == CTL_COLOR_AUTO && isatty(STDOUT_FILENO) &&
		   !(no_color && *no_color) && term && strcmp(term, "dumb"));
}

void ctl_note_list(struct json_object *array)
{
	list_was_empty = !json_object_array_length(array);
}

bool ctl_list_was_empty(void)
{
	return list_was_empty;
}

void ctl_fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "smcctl: %s", fail_place);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

const char *ctl_text_of(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	return json_object_object_get_ex(obj, key, &val) ? json_object_get_string(val) : "";
}

void ctl_add_str(struct json_object *obj, const char *key, const char *val)
{
	json_object_object_add(obj, key, json_object_new_string(val));
}

void ctl_add_u64(struct json_object *obj, const char *key, __u64 val)
{
	json_object_object_add(obj, key, json_object_new_uint64(val));
}

void ctl_add_hex32(struct json_object *obj, const char *key, __u32 val)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08x", val);
	ctl_add_str(obj, key, text);
}

/* Two members: the code as people find it in captures, and what it means */
void ctl_add_reason(struct json_object *obj, const char *key, __u32 code)
{
	char text_key[64];

	ctl_add_hex32(obj, key, code);
	snprintf(text_key, sizeof(text_key), "%s_text", key);
	ctl_add_str(obj, text_key, code ? smc_clc_reason_str(code) : "none");
}

void ctl_print_json(struct json_object *obj)
{
	if (json_object_is_type(obj, json_type_array)) {
		ctl_note_list(obj);
		/* json-c would break an empty list over two lines. */
		if (list_was_empty) {
			puts("[]");
			return;
		}
	}
	puts(json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
}

static const char *cell(struct json_object *row, const char *key)
{
	struct json_object *val = NULL;
	const char *dot = strchr(key, '.');
	char first[64];

	if (dot && (size_t)(dot - key) < sizeof(first)) {
		memcpy(first, key, dot - key);
		first[dot - key] = '\0';
		if (!json_object_object_get_ex(row, first, &row))
			return "-";
		key = dot + 1;
	}
	if (!json_object_object_get_ex(row, key, &val))
		return "-";
	return *json_object_get_string(val) ? json_object_get_string(val) : "-";
}

/* What is as it should be is green, what somebody may want to look at is yellow. */
static const char *color_of(const struct ctl_column *col, const char *text)
{
	static const struct {
		const char *word;
		const char *color;
	} words[] = {
		{ "active", GREEN }, { "ACTIVE", GREEN }, { "SMCR", GREEN }, { "SMCD", GREEN },
		{ "ok", GREEN }, { "inactive", YELLOW }, { "activating", YELLOW },
		{ "unused", YELLOW }, { "unknown", YELLOW }, { "TCP", YELLOW }, { "no", YELLOW },
		{ "note", YELLOW },
	};
	size_t i;

	if (!colored || (strcmp(col->key, "state") && strcmp(col->key, "mode")))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].word, text))
			return words[i].color;
	return NULL;
}

static void print_row(struct json_object *row, const struct ctl_column *cols, size_t num,
		      const int *width, int indent)
{
	size_t i;

	printf("%*s", indent, "");
	for (i = 0; i < num; i++) {
		const char *text = row ? cell(row, cols[i].key) : cols[i].title;
		const char *color = row ? color_of(&cols[i], text) : colored ? BOLD : NULL;

		/* No blanks at the end of a line */
		printf("%s%s%s%*s", color ? color : "", text, color ? PLAIN : "",
		       i + 1 < num ? width[i] + 2 - (int)strlen(text) : 0, "");
	}
	putchar('\n');
}

void ctl_print_table_at(struct json_object *array, const struct ctl_column *cols, size_t num,
			int indent)
{
	size_t rows = json_object_array_length(array);
	int width[MAX_COLUMNS];
	size_t i, r;

	if (num > MAX_COLUMNS)
		abort();
	for (i = 0; i < num; i++) {
		width[i] = (int)strlen(cols[i].title);
		for (r = 0; r < rows; r++) {
			struct json_object *row = json_object_array_get_idx(array, r);
			int len = (int)strlen(cell(row, cols[i].key));

			if (len > width[i])
				width[i] = len;
		}
	}
	print_row(NULL, cols, num, width, indent);
	for (r = 0; r < rows; r++)
		print_row(json_object_array_get_idx(array, r), cols, num, width, indent);
}

void ctl_print_table(struct json_object *array, const struct ctl_column *cols, size_t num)
{
	ctl_note_list(array);
	ctl_print_table_at(array, cols, num, 0);
}

static void print_name(const char *key, int indent)
{
	int width = 32 - indent;

	printf("%*s%s:%*s ", indent, "", key, width - (int)strlen(key) > 0 ?
	       width - (int)strlen(key) : 0, "");
}

/* An object as lines "name: value", inner objects indented */
void ctl_print_fields(struct json_object *obj, int indent)
{
	json_object_object_foreach(obj, key, val) {
		size_t i;

		switch (json_object_get_type(val)) {
		case json_type_object:
			printf("%*s%s:\n", indent, "", key);
			ctl_print_fields(val, indent + 2);
			break;
		case json_type_array:
			printf("%*s%s:\n", indent, "", key);
			for (i = 0; i < json_object_array_length(val); i++) {
				ctl_print_fields(json_object_array_get_idx(val, i), indent + 2);
				if (i + 1 < json_object_array_length(val))
					putchar('\n');
			}
			break;
		default:
			print_name(key, indent);
			puts(json_object_get_string(val));
		}
	}
}
