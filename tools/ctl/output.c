// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: messages, JSON and tables.
 */
#define _GNU_SOURCE
#include "smcctl.h"
#include "smc_json.h"
#include <smc/proto/clc_msg.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_COLUMNS 16
/* Text for people is not wider than this */
#define MAX_WIDTH 99
/* Further lines of a cell begin below the first one up to here; else below the row, indented */
#define MAX_HANG 50
#define ROW_HANG 8

#define BOLD	"\033[1m"
#define GREEN	"\033[32m"
#define YELLOW	"\033[33m"
#define PLAIN	"\033[0m"

static const char *fail_place = "";
static bool colored;
static bool list_was_empty;

/**
 * ctl_error_set_place() - set the prefix of error messages
 * @place: for example "FILE:LINE: "; "" for none. Not copied.
 */
void ctl_error_set_place(const char *place)
{
	fail_place = place;
}

/**
 * ctl_color_set() - choose whether tables use colour
 * @when: always, never, or only on a terminal that can show it
 */
void ctl_color_set(enum ctl_color when)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	colored = when == CTL_COLOR_ALWAYS ||
		  (when == CTL_COLOR_AUTO && isatty(STDOUT_FILENO) &&
		   !(no_color && *no_color) && term && strcmp(term, "dumb"));
}

/**
 * ctl_list_note() - remember whether a list that is printed is empty
 * @array: the list
 *
 * For ctl_list_was_empty(). Everything that prints a list calls this.
 */
void ctl_list_note(struct json_object *array)
{
	list_was_empty = !json_object_array_length(array);
}

/**
 * ctl_list_was_empty() - check the list that was printed last
 *
 * Return: true if it was empty, false also if none was printed.
 */
bool ctl_list_was_empty(void)
{
	return list_was_empty;
}

/**
 * ctl_error() - print an error message to standard error
 * @fmt: format as for printf()
 *
 * Flushes standard output first, so that both streams stay in order. A message that repeats the
 * last one is not printed: what fails in one network namespace often fails in all.
 */
void ctl_error(const char *fmt, ...)
{
	static char *last;
	char *text = NULL;
	va_list args;
	size_t size;
	FILE *out;

	out = open_memstream(&text, &size);
	if (!out)
		abort();
	fprintf(out, "%s: %s", program_invocation_short_name, fail_place);
	va_start(args, fmt);
	vfprintf(out, fmt, args);
	va_end(args);
	fclose(out);
	fflush(stdout);
	if (!last || strcmp(last, text))
		fprintf(stderr, "%s\n", text);
	free(last);
	last = text;
}

/**
 * ctl_json_text() - return a member of an object as text
 * @obj: object
 * @key: name of the member
 *
 * Return: the text, which belongs to @obj, or "" if there is no such member.
 */
const char *ctl_json_text(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	return json_object_object_get_ex(obj, key, &val) ? json_object_get_string(val) : "";
}

/**
 * ctl_json_member() - return a member of an object
 * @obj: object, may be NULL
 * @key: name of the member
 *
 * Return: the member, which belongs to @obj, or NULL if there is none.
 */
struct json_object *ctl_json_member(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	return obj && json_object_object_get_ex(obj, key, &val) ? val : NULL;
}

/**
 * ctl_json_u64() - return a member of an object as a number
 * @obj: object, may be NULL
 * @key: name of the member
 *
 * Return: the number, or 0 if there is no such member.
 */
__u64 ctl_json_u64(struct json_object *obj, const char *key)
{
	struct json_object *val = ctl_json_member(obj, key);

	return val ? json_object_get_uint64(val) : 0;
}

/**
 * ctl_json_add_str() - add a string to an object
 * @obj: object
 * @key: name of the member, replaced if it exists
 * @val: string, is copied
 */
void ctl_json_add_str(struct json_object *obj, const char *key, const char *val)
{
	json_object_object_add(obj, key, json_object_new_string(val));
}

/**
 * ctl_json_add_u64() - add a number to an object
 * @obj: object
 * @key: name of the member, replaced if it exists
 * @val: number
 */
void ctl_json_add_u64(struct json_object *obj, const char *key, __u64 val)
{
	json_object_object_add(obj, key, json_object_new_uint64(val));
}

/**
 * ctl_json_add_hex32() - add an identifier to an object, as a string such as "0x00000100"
 * @obj: object
 * @key: name of the member, replaced if it exists
 * @val: identifier
 */
void ctl_json_add_hex32(struct json_object *obj, const char *key, __u32 val)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08x", val);
	ctl_json_add_str(obj, key, text);
}

/**
 * ctl_json_add_reason() - add a diagnosis code to an object
 * @obj: object
 * @key: name of the member with the code; the member with its text is called @key_text
 * @code: diagnosis code of a CLC Decline, 0: none
 */
void ctl_json_add_reason(struct json_object *obj, const char *key, __u32 code)
{
	char text_key[64];

	ctl_json_add_hex32(obj, key, code);
	snprintf(text_key, sizeof(text_key), "%s_text", key);
	ctl_json_add_str(obj, text_key, code ? smc_clc_reason_str(code) : "none");
}

/* Return a copy with the number of the format in front. Lists get it in each of their objects. */
static struct json_object *json_add_format(struct json_object *obj)
{
	struct json_object *copy;
	size_t i;

	if (json_object_is_type(obj, json_type_array)) {
		copy = json_object_new_array();
		for (i = 0; i < json_object_array_length(obj); i++) {
			struct json_object *one = json_object_array_get_idx(obj, i);

			json_object_array_add(copy, json_add_format(one));
		}
		return copy;
	}
	copy = json_object_new_object();
	ctl_json_add_u64(copy, "format", SMC_JSON_FORMAT);
	json_object_object_foreach(obj, key, val)
		json_object_object_add(copy, key, json_object_get(val));
	return copy;
}

static void json_print(struct json_object *obj, int flags)
{
	struct json_object *copy = json_add_format(obj);

	puts(json_object_to_json_string_ext(copy, flags | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(copy);
}

/**
 * ctl_json_print_line() - print an object as JSON in one line, as one of many
 * @obj: object
 */
void ctl_json_print_line(struct json_object *obj)
{
	json_print(obj, JSON_C_TO_STRING_PLAIN);
}

/**
 * ctl_json_print() - print an object or a list as JSON
 * @obj: object or array
 */
void ctl_json_print(struct json_object *obj)
{
	if (json_object_is_type(obj, json_type_array)) {
		ctl_list_note(obj);
		/* json-c prints an empty list on two lines */
		if (list_was_empty) {
			puts("[]");
			return;
		}
	}
	json_print(obj, JSON_C_TO_STRING_PRETTY);
}

static const char *cell_text(struct json_object *row, const char *key)
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

/* Return the colour of a cell: green for a good state, yellow for one worth a look, or NULL. */
static const char *cell_color(const struct ctl_column *col, const char *text)
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

/**
 * ctl_text_print() - print text and the end of the line, in several lines if it is long
 * @text: text, broken at blanks and ends of lines, which are all the same
 * @at: number of columns that the line has before it
 * @hang: number of blanks before each further line
 */
void ctl_text_print(const char *text, int at, int hang)
{
	bool first = true;

	while (*text) {
		int len = (int)strcspn(text, "\n ");

		if (!first && at + 1 + len > MAX_WIDTH) {
			printf("\n%*s", hang, "");
			at = hang;
		} else if (!first) {
			putchar(' ');
			at++;
		}
		printf("%.*s", len, text);
		at += len;
		text += len;
		text += strspn(text, "\n ");
		first = false;
	}
	putchar('\n');
}

/**
 * ctl_number_format() - format a number in at most four characters: 999, 1.2k, 56M
 * @val: number, not negative
 * @buf: buffer
 * @size: its size
 *
 * Return: @buf.
 */
const char *ctl_number_format(double val, char *buf, size_t size)
{
	static const char units[] = " kMGTP";
	bool fraction = val != (double)(__u64)val;
	size_t unit = 0;

	while (val >= 999.5 && unit + 2 < sizeof(units)) {
		val /= 1000;
		unit++;
	}
	if (!unit)
		snprintf(buf, size, fraction && val < 9.95 ? "%.1f" : "%.0f", val);
	else
		snprintf(buf, size, val < 9.95 ? "%.1f%c" : "%.0f%c", val, units[unit]);
	return buf;
}

/**
 * ctl_cell_print() - print the last cell of a row, and the end of the line
 * @text: text of the cell, continued on further lines if it is long
 * @pad: number of blanks before it
 * @at: column in which it begins after these blanks
 * @indent: number of blanks before the row
 */
void ctl_cell_print(const char *text, int pad, int at, int indent)
{
	if (at > MAX_HANG && at + (int)strlen(text) > MAX_WIDTH) {
		putchar('\n');
		at = indent + ROW_HANG;
		pad = at;
	}
	printf("%*s", pad, "");
	ctl_text_print(text, at, at);
}

/**
 * struct layout - where the cells of a table are
 * @indent: number of blanks before each row
 * @width: widths of the columns
 * @breaks: the cell is the first one of a further line, which is indented
 */
struct layout {
	int indent;
	int width[MAX_COLUMNS];
	bool breaks[MAX_COLUMNS];
};

/*
 * Rows that are too long for one line are broken before column @second and, in any case, where the
 * line ends. The last column is text, which is broken within its cell, unless there is a @second.
 */
static void layout_add_breaks(struct layout *layout, size_t num, size_t second)
{
	int at = layout->indent - 2;
	size_t i;

	memset(layout->breaks, 0, sizeof(layout->breaks));
	for (i = 0; i < num; i++)
		at += layout->width[i] + 2;
	if (at <= MAX_WIDTH)
		return;
	at = layout->indent;
	for (i = 0; i < num; i++) {
		bool text = i + 1 == num && !second;

		if (i && (i == second || (!text && at + layout->width[i] > MAX_WIDTH))) {
			layout->breaks[i] = true;
			at = layout->indent + ROW_HANG;
		}
		at += layout->width[i] + 2;
	}
}

/* Find the widths of the columns. The heading counts if @heading. */
static void layout_make(struct layout *layout, struct json_object *array,
			const struct ctl_column *cols, size_t num, size_t second, bool heading)
{
	size_t rows = json_object_array_length(array), i, r;

	if (num > MAX_COLUMNS)
		abort();
	for (i = 0; i < num; i++) {
		layout->width[i] = heading ? (int)strlen(cols[i].title) : 0;
		for (r = 0; r < rows; r++) {
			struct json_object *row = json_object_array_get_idx(array, r);
			int len = (int)strlen(cell_text(row, cols[i].key));

			if (len > layout->width[i])
				layout->width[i] = len;
		}
	}
	layout_add_breaks(layout, num, second);
}

/* Print a row, or the heading if @row is NULL. */
static void row_print(struct json_object *row, const struct ctl_column *cols, size_t num,
		      const struct layout *layout)
{
	int at = layout->indent, pad = at, len;
	size_t i;

	for (i = 0; i < num; i++) {
		const char *text = row ? cell_text(row, cols[i].key) : cols[i].title;
		const char *color = row ? cell_color(&cols[i], text) : colored ? BOLD : NULL;

		if (layout->breaks[i]) {
			putchar('\n');
			at = layout->indent + ROW_HANG;
			pad = at;
		}
		len = (int)strlen(text);
		if (i + 1 == num && i && at + len > MAX_WIDTH) {
			ctl_cell_print(text, pad, at, layout->indent);
			return;
		}
		/* no trailing blanks */
		printf("%*s%s%s%s", pad, "", color ? color : "", text, color ? PLAIN : "");
		pad = layout->width[i] + 2 - len;
		at += layout->width[i] + 2;
	}
	putchar('\n');
}

static void table_print(struct json_object *array, const struct ctl_column *cols, size_t num,
			size_t second, int indent)
{
	struct layout layout = { .indent = indent };
	size_t r;

	layout_make(&layout, array, cols, num, second, true);
	row_print(NULL, cols, num, &layout);
	for (r = 0; r < json_object_array_length(array); r++)
		row_print(json_object_array_get_idx(array, r), cols, num, &layout);
}

/**
 * ctl_table_print_indented() - print a table as a part of other output
 * @array: rows, objects
 * @cols: columns
 * @num: number of @cols, at most MAX_COLUMNS
 * @indent: number of blanks before each line
 *
 * Unlike ctl_table_print() this does not affect ctl_list_was_empty().
 */
void ctl_table_print_indented(struct json_object *array, const struct ctl_column *cols, size_t num,
			      int indent)
{
	table_print(array, cols, num, 0, indent);
}

/**
 * ctl_table_print_broken() - print a table whose rows have two lines if they are too long for one
 * @array: rows, objects
 * @cols: columns
 * @num: number of @cols, at most MAX_COLUMNS
 * @second: index of the column with which the second line begins
 */
void ctl_table_print_broken(struct json_object *array, const struct ctl_column *cols, size_t num,
			    size_t second)
{
	ctl_list_note(array);
	table_print(array, cols, num, second, 0);
}

/**
 * ctl_table_print() - print a table
 * @array: rows, objects
 * @cols: columns; the last one is text, which is continued below if it is too long
 * @num: number of @cols, at most MAX_COLUMNS
 */
void ctl_table_print(struct json_object *array, const struct ctl_column *cols, size_t num)
{
	ctl_table_print_broken(array, cols, num, 0);
}

/**
 * ctl_row_print() - print an object as a row without a table
 * @row: object
 * @cols: columns, as of ctl_table_print()
 * @num: number of @cols, at most MAX_COLUMNS
 */
void ctl_row_print(struct json_object *row, const struct ctl_column *cols, size_t num)
{
	struct json_object *one = json_object_new_array();
	struct layout layout = { .indent = 0 };

	json_object_array_add(one, json_object_get(row));
	layout_make(&layout, one, cols, num, 0, false);
	row_print(row, cols, num, &layout);
	json_object_put(one);
}

static void field_print(const char *key, const char *text, int indent)
{
	int width = 32 - indent, at;

	at = printf("%*s%s:%*s ", indent, "", key, width - (int)strlen(key) > 0 ?
		    width - (int)strlen(key) : 0, "");
	ctl_text_print(text, at, at);
}

/**
 * ctl_fields_print() - print an object as lines "name: value"
 * @obj: object; inner objects and lists of objects are indented
 * @indent: number of blanks before each line
 */
void ctl_fields_print(struct json_object *obj, int indent)
{
	json_object_object_foreach(obj, key, val) {
		size_t i;

		switch (json_object_get_type(val)) {
		case json_type_object:
			printf("%*s%s:\n", indent, "", key);
			ctl_fields_print(val, indent + 2);
			break;
		case json_type_array:
			printf("%*s%s:\n", indent, "", key);
			for (i = 0; i < json_object_array_length(val); i++) {
				ctl_fields_print(json_object_array_get_idx(val, i), indent + 2);
				if (i + 1 < json_object_array_length(val))
					putchar('\n');
			}
			break;
		default:
			field_print(key, json_object_get_string(val), indent);
		}
	}
}

/**
 * ctl_list_print_fields() - print all members of each object of a list
 * @array: objects
 */
void ctl_list_print_fields(struct json_object *array)
{
	size_t i;

	ctl_list_note(array);
	for (i = 0; i < json_object_array_length(array); i++) {
		if (i)
			putchar('\n');
		ctl_fields_print(json_object_array_get_idx(array, i), 0);
	}
}
