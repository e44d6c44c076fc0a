// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: one archive (tar) with what a bug report needs.
 *
 * Each part is the output of a command, this program's own or another one's, with its messages. A
 * command that is missing or fails leaves its message in place of its output. Others read the
 * archive, so it has no alert tokens, which the module shows to administrators only.
 */
#include "smcctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "smc-report/"
#define BLOCK 512
#define SBIN "PATH=$PATH:/sbin:/usr/sbin; "	/* smcctl may be called without them */

/**
 * struct part - one file of the archive
 * @name: its name
 * @object: object of smcctl whose JSON it has; NULL: @command
 * @command: command for the shell
 * @all: with option --all
 */
struct part {
	const char *name;
	const char *object;
	const char *command;
	bool all;
};

static const struct part parts[] = {
	{ .name = "info.json", .object = "info" },
	{ .name = "setting.json", .object = "setting" },
	{ .name = "device.json", .object = "device" },
	{ .name = "linkgroup.json", .object = "linkgroup" },
	{ .name = "link.json", .object = "link" },
	{ .name = "sock.json", .object = "sock", .all = true },
	{ .name = "stats.json", .object = "stats" },
	{ .name = "ueid.json", .object = "ueid" },
	{ .name = "pnet.json", .object = "pnet" },
	{ .name = "policy.json", .object = "policy" },
	{ .name = "holders.json", .object = "holders" },
	{ .name = "kernel.txt", .command = "cat /proc/version" },
	{ .name = "module.txt",
	  .command = SBIN "modinfo smc; cd /sys/module/smc && grep -sH . * parameters/*" },
	{ .name = "counters.txt", .command = "cat /proc/net/smc_stat" },
	{ .name = "negcache.txt", .command = "cat /proc/net/smc_negcache" },
	{ .name = "autosmc.txt", .command = "cat /proc/net/smc_autosmc" },
	{ .name = "conf.txt", .command = "cat /etc/smc.conf" },
	{ .name = "rdma.txt",
	  .command = SBIN "rdma dev; rdma link" },
	{ .name = "netdev.txt",
	  .command = SBIN "ip -d -s link; ip addr; ip route" },
	{ .name = "log.txt",
	  .command = "dmesg | grep -i -e smc -e rdma -e infiniband | tail -n 1000" },
};

/* Run the command of a part and append its output to @out. */
static void part_run(const struct part *part, FILE *out)
{
	char buf[4096];
	int fds[2];
	ssize_t n;
	pid_t pid;

	if (pipe(fds))
		return;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (dup2(fds[1], STDOUT_FILENO) < 0 || dup2(fds[1], STDERR_FILENO) < 0)
			_exit(1);
		close(fds[0]);
		close(fds[1]);
		if (part->object)
			execl("/proc/self/exe", "smcctl", part->all ? "-aj" : "-j",
			      part->object, NULL);
		else
			execl("/bin/sh", "sh", "-c", part->command, NULL);
		_exit(1);
	}
	close(fds[1]);
	while (pid > 0 && ((n = read(fds[0], buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0)
			fwrite(buf, 1, n, out);
	close(fds[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Append a file to a tar archive (ustar). */
static void archive_add(FILE *archive, const char *name, const char *data, size_t size)
{
	char block[BLOCK] = "";
	unsigned int sum = 0;
	size_t i;

	snprintf(block, 100, FOLDER "%s", name);
	memcpy(block + 100, "0000600", 8);
	memcpy(block + 108, "0000000", 8);
	memcpy(block + 116, "0000000", 8);
	snprintf(block + 124, 12, "%011lo", (unsigned long)size);
	snprintf(block + 136, 12, "%011lo", (unsigned long)time(NULL));
	block[156] = '0';
	memcpy(block + 257, "ustar\00000", 8);
	/* the sum is over blanks in its own place */
	memset(block + 148, ' ', 8);
	for (i = 0; i < BLOCK; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum);
	fwrite(block, 1, BLOCK, archive);
	fwrite(data, 1, size, archive);
	memset(block, 0, BLOCK);
	if (size % BLOCK)
		fwrite(block, 1, BLOCK - size % BLOCK, archive);
}

/* Zero the alert tokens in JSON, as a user without rights would read them. */
static void tokens_hide(char *json)
{
	static const char member[] = "\"token\":";

	while ((json = strstr(json, member))) {
		json += sizeof(member) - 1;
		/* json-c puts a blank behind the colon, or none */
		json += strspn(json, " \"0x");
		memset(json, '0', strspn(json, "0123456789abcdef"));
	}
}

static void part_add(FILE *archive, const struct part *part)
{
	char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);

	if (!out)
		abort();
	part_run(part, out);
	fclose(out);
	if (part->object)
		tokens_hide(data);
	archive_add(archive, part->name, data, size);
	free(data);
}

/**
 * cmd_report() - smcctl report FILE
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_report(const struct ctl_opts *opts, int argc, char **argv)
{
	static const char zeros[2 * BLOCK];
	FILE *archive = NULL;
	size_t i;
	int fd, bad;

	(void)opts;
	if (argc != 1) {
		ctl_error("report is followed by a new file");
		return CTL_USAGE;
	}
	/* it has addresses, which are not for every user */
	fd = open(argv[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		archive = fdopen(fd, "w");
	if (!archive) {
		ctl_error("%s: %s", argv[0], strerror(errno));
		return CTL_FAILURE;
	}
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		part_add(archive, &parts[i]);
	fwrite(zeros, 1, sizeof(zeros), archive);
	bad = ferror(archive);
	bad |= fclose(archive);
	if (bad) {
		ctl_error("%s: %s", argv[0], strerror(errno));
		unlink(argv[0]);
		return CTL_FAILURE;
	}
	ctl_text_print("They name hosts, addresses and programs: look before you send it.",
		       printf("%s: %zu files. ", argv[0], ARRAY_SIZE(parts)), 2);
	return CTL_OK;
}
