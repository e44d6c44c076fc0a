// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: replace files atomically, read files of one line.
 */
#include "smcctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * ctl_line_read() - read a file of one line
 * @path: file below /sys or /proc
 * @text: the line, empty if it cannot be read
 * @size: size of @text
 */
void ctl_line_read(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "r");

	if (!f || !fgets(text, (int)size, f))
		*text = '\0';
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
}

/**
 * ctl_file_replace() - replace a file atomically
 * @path: name of the file
 * @writer: writes the contents, returns an exit status
 * @always: replace the file even if @writer fails
 *
 * Readers see the old or the new contents, never a part. Prints a message if a system call fails.
 *
 * Return: the status of @writer, or CTL_FAILURE if a system call failed.
 */
int ctl_file_replace(const char *path, int (*writer)(FILE *out), bool always)
{
	size_t len = strlen(path) + sizeof(".XXXXXX");
	char *temp = malloc(len);
	FILE *out = NULL;
	int fd, rc, bad;

	if (!temp)
		abort();
	snprintf(temp, len, "%s.XXXXXX", path);
	fd = mkstemp(temp);
	if (fd >= 0)
		out = fdopen(fd, "w");
	if (!out) {
		ctl_error("%s: %s", temp, strerror(errno));
		free(temp);
		return CTL_FAILURE;
	}
	rc = writer(out);
	bad = fchmod(fd, 0644);
	bad |= fflush(out) || ferror(out) || fsync(fd);
	bad |= fclose(out);
	if (rc != CTL_OK && !always) {
		unlink(temp);
	} else if (bad || rename(temp, path)) {
		ctl_error("%s: %s", path, strerror(errno));
		unlink(temp);
		rc = CTL_FAILURE;
	}
	free(temp);
	return rc;
}
