/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON that the tools print, see Documentation/json.rst.
 */
#ifndef SMC_JSON_H
#define SMC_JSON_H

#include <stdio.h>

/*
 * "format" of everything that is printed as JSON. It grows when a member goes or changes its
 * meaning, not when one is added.
 */
#define SMC_JSON_FORMAT 1

/**
 * smc_json_put_str() - write a string, for programs without json-c
 * @out: where to write it
 * @text: string; may have any bytes, those that are not ASCII become question marks
 */
static inline void smc_json_put_str(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text >= ' ' && *text < 0x7f ? *text : '?', out);
	}
	fputc('"', out);
}

#endif /* SMC_JSON_H */
