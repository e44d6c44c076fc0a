// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: numbers on the command line.
 */
#include "smcctl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/**
 * ctl_num_parse() - parse a number
 * @text: the number and nothing else; starts with a digit of @base, so no sign and no blank
 * @base: as for strtoul()
 * @min: smallest valid number
 * @max: greatest valid number
 * @num: result, set also if the number is out of range
 *
 * Return: true if @text is a number from @min to @max.
 */
bool ctl_num_parse(const char *text, int base, unsigned long min, unsigned long max, __u32 *num)
{
	unsigned long val;
	char *end;

	if (!(base == 16 ? isxdigit(*text) : isdigit(*text)))
		return false;
	errno = 0;
	val = strtoul(text, &end, base);
	*num = (__u32)val;
	return !errno && !*end && val >= min && val <= max;
}
