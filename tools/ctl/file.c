// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: files that are replaced in one step.
 */
#include "smcctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * ctl_replace_file() - write a file of which readers see the old or the new one
 * @path: its name
 * @writer: writes it, returns an exit status
 * @always: keep what was written also when @writer fails
 *
 * Return: the status of @writer, or CTL_FAILURE, which was told to the user.
 */
int ctl_replace_file(const char *path, int (*writer)(FILE *out), bool always)
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
		ctl_fail("%s: %s", temp, strerror(errno));
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
		ctl_fail("%s: %s", path, strerror(errno));
		unlink(temp);
		rc = CTL_FAILURE;
	}
	free(temp);
	return rc;
}
