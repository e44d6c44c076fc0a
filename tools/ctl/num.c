// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: numbers that people type.
 */
#include "smcctl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/**
 * ctl_parse_num() - a number and nothing else; it begins with a digit of its base
 * @text: that
 * @base: as strtoul() has it
 * @min: least one that is meant
 * @max: greatest one
 * @num: result, also of numbers that are not meant
 *
 * Return: false if it is none, or another.
 */
bool ctl_parse_num(const char *text, int base, unsigned long min, unsigned long max, __u32 *num)
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
