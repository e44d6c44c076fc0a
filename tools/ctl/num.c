// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: words and numbers on the command line.
 */
#include "smcctl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/**
 * ctl_word_complete() - find the word that the user abbreviated
 * @word: what the user typed
 * @words: words to choose from, one blank between them
 * @full: result: the word of @words that @word equals, or else the only one that begins with it
 * @size: size of @full
 *
 * Return: false if there is none, or more than one, or no room.
 */
bool ctl_word_complete(const char *word, const char *words, char *full, size_t size)
{
	size_t len = strlen(word), num = 0, n;

	for (; *words; words += n + strspn(words + n, " ")) {
		n = strcspn(words, " ");
		if (!len || len > n || n >= size || strncmp(word, words, len))
			continue;
		memcpy(full, words, n);
		full[n] = '\0';
		if (n == len)
			return true;
		num++;
	}
	return num == 1;
}

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
