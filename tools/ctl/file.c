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

/* Write to a device, to a pipe, or through a link to a file that is yet to be created. */
static int file_write(const char *path, int (*writer)(FILE *out))
{
	FILE *out = fopen(path, "w");
	int rc, bad;

	if (!out) {
		ctl_error("%s: %s", path, strerror(errno));
		return CTL_FAILURE;
	}
	rc = writer(out);
	bad = fflush(out) || ferror(out);
	bad |= fclose(out);
	if (bad) {
		ctl_error("%s: %s", path, strerror(errno));
		rc = CTL_FAILURE;
	}
	return rc;
}

/* Replace the file at @path, which is no link. @old: what it is now; the new one gets its mode. */
static int file_replace(const char *path, const struct stat *old, int (*writer)(FILE *out),
			bool always)
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
	/* without the right to give it away the new file belongs to who writes it */
	bad = fchown(fd, old->st_uid, old->st_gid) && errno != EPERM;
	bad |= fchmod(fd, old->st_mode & 0777);
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

/**
 * ctl_file_replace() - replace a file atomically
 * @path: name of the file, or of a link to it
 * @writer: writes the contents, returns an exit status
 * @always: replace the file even if @writer fails
 *
 * Readers see the old or the new contents, never a part. The new file has the mode and, where that
 * is allowed, the owner of the old one. What is no regular file, such as /dev/null or a pipe, is
 * written to as it is. Prints a message if a system call fails.
 *
 * Return: the status of @writer, or CTL_FAILURE if a system call failed.
 */
int ctl_file_replace(const char *path, int (*writer)(FILE *out), bool always)
{
	struct stat st = { .st_mode = 0644, .st_uid = -1, .st_gid = -1 }, found;
	char *real;
	int rc;

	/* in a folder such as /tmp the kernel follows no link of another user; realpath() does */
	if (stat(path, &found)) {
		if (errno != ENOENT || !lstat(path, &found))
			return file_write(path, writer);
		return file_replace(path, &st, writer, always);
	}
	if (!S_ISREG(found.st_mode))
		return file_write(path, writer);
	real = realpath(path, NULL);
	if (!real || stat(real, &st) || st.st_ino != found.st_ino || st.st_dev != found.st_dev) {
		ctl_error("%s: %s", path, real ? "it was changed meanwhile" : strerror(errno));
		rc = CTL_FAILURE;
	} else {
		rc = file_replace(real, &st, writer, always);
	}
	free(real);
	return rc;
}
