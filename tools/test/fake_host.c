// SPDX-License-Identifier: GPL-2.0-only
/*
 * What smcctl reads of a host beside netlink, as a library below it: the files that the module
 * has in /proc/net. They are taken from the directory FAKE_PROC.
 */
#define _GNU_SOURCE
#include "../smc_tools.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROC "/proc/net/smc_"

FILE *fake_fopen(const char *path, const char *mode) __asm__("fopen") SMC_EXPORTED;

FILE *fake_fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *path, const char *mode);
	const char *dir = getenv("FAKE_PROC");
	char own[4096];

	*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	if (dir && !strncmp(path, PROC, strlen(PROC))) {
		snprintf(own, sizeof(own), "%s/%s", dir, path + strlen("/proc/net/"));
		path = own;
	}
	return real(path, mode);
}
