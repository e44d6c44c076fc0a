// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: which module runs, which one modprobe would load, and whether these are the right ones.
 *
 * Each smc.ko has the same names in netlink and sysfs: this one, that of the Linux tree, and those
 * of other projects. This one reports its name in netlink, and modinfo prints it as smc_name.
 */
#include "smcctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define OWN_NAME "AF_SMC"
#define SYSFS "/sys/module/smc/"
#define IN_TREE_FOLDER "/kernel/net/smc/"
#define RELOAD "modprobe -r smc_diag smc; modprobe smc"

/* Origin of a module */
enum origin {
	ORIGIN_NONE,	/* there is none */
	ORIGIN_OWN,
	ORIGIN_TREE,	/* of the Linux tree */
	ORIGIN_FOREIGN,
};

static const char * const origin_words[] = {
	[ORIGIN_NONE] = "none", [ORIGIN_OWN] = OWN_NAME, [ORIGIN_TREE] = "in-tree",
	[ORIGIN_FOREIGN] = "foreign",
};

/**
 * struct file_info - the module that modprobe would load
 * @origin: where it comes from
 * @path: name of the file
 * @name: smc_name of modinfo
 * @version: version of modinfo
 * @srcversion: source version of modinfo
 */
struct file_info {
	enum origin origin;
	char path[512];
	char name[32];
	char version[64];
	char srcversion[64];
};

static void line_read(struct file_info *file, const char *line)
{
	const struct {
		const char *key;
		char *text;
		size_t size;
	} fields[] = {
		{ "filename:", file->path, sizeof(file->path) },
		{ "smc_name:", file->name, sizeof(file->name) },
		{ "version:", file->version, sizeof(file->version) },
		{ "srcversion:", file->srcversion, sizeof(file->srcversion) },
	};
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		len = strlen(fields[i].key);
		if (strncmp(line, fields[i].key, len))
			continue;
		line += len;
		line += strspn(line, " \t");
		ctl_str_clean(fields[i].text, fields[i].size, line, strcspn(line, "\n"));
		return;
	}
}

static void file_read(struct file_info *file)
{
	char line[1024];
	FILE *in;

	/* the path of a user may lack its folder */
	in = popen("PATH=$PATH:/sbin:/usr/sbin modinfo smc 2> /dev/null", "r");
	while (in && fgets(line, sizeof(line), in))
		line_read(file, line);
	if (in)
		pclose(in);
	if (!*file->path)
		file->origin = ORIGIN_NONE;
	else if (!strcmp(file->name, OWN_NAME))
		file->origin = ORIGIN_OWN;
	else if (strstr(file->path, IN_TREE_FOLDER) || !strcmp(file->path, "(builtin)"))
		file->origin = ORIGIN_TREE;
	else
		file->origin = ORIGIN_FOREIGN;
}

/* Return the origin of the module that runs, of whose answer @module has been filled in. */
static enum origin loaded_get_origin(struct json_object *module, bool loaded)
{
	char taint[32];

	if (!loaded)
		return ORIGIN_NONE;
	if (!strcmp(ctl_json_text(module, "name"), OWN_NAME))
		return ORIGIN_OWN;
	/* O: built out of the tree */
	ctl_line_read(SYSFS "taint", taint, sizeof(taint));
	return strchr(taint, 'O') ? ORIGIN_FOREIGN : ORIGIN_TREE;
}

static void none_warn(const struct file_info *file, const char *release, char *text, size_t size)
{
	if (file->origin == ORIGIN_OWN)
		snprintf(text, size, "No SMC module is loaded: modprobe smc.");
	else if (file->origin == ORIGIN_NONE)
		snprintf(text, size, "No SMC module is loaded or installed: kernel %s.", release);
	else
		snprintf(text, size, "No SMC module is loaded; modprobe takes %s (%s).",
			 file->path, origin_words[file->origin]);
}

static void own_warn(const struct file_info *file, const char *srcversion, char *text, size_t size)
{
	if (file->origin == ORIGIN_TREE || file->origin == ORIGIN_FOREIGN)
		snprintf(text, size, "The next load takes %s (%s), not the module that runs now.",
			 file->path, origin_words[file->origin]);
	else if (file->origin == ORIGIN_OWN && strcmp(file->srcversion, srcversion))
		snprintf(text, size, "Version %s is installed, another build runs: %s.",
			 file->version, RELOAD);
}

static void other_warn(enum origin loaded, const struct file_info *file, const char *release,
		       char *text, size_t size)
{
	const char *what = loaded == ORIGIN_TREE ? "The module of the Linux tree runs" :
			   "A foreign smc.ko runs (MLNX_OFED has one)";

	if (file->origin == ORIGIN_OWN)
		snprintf(text, size, "%s, though %s is installed: %s; then renew the initramfs.",
			 what, file->path, RELOAD);
	else
		snprintf(text, size, "%s; modprobe finds no module of this project for kernel %s.",
			 what, release);
}

/**
 * ctl_module_describe() - add which module runs and what is wrong about it
 * @module: object with what the module itself reports; members are added
 * @loaded: a module runs
 *
 * Adds "name", "version" and "srcversion" if the module does not report them, "file" (what modprobe
 * would load), and "warning", absent if all is well.
 */
void ctl_module_describe(struct json_object *module, bool loaded)
{
	enum origin origin = loaded_get_origin(module, loaded);
	char text[1024] = "", word[64];
	/* the same for all namespaces that a program visits: modinfo runs once */
	static struct file_info file;
	static bool file_known;
	struct utsname uts;

	if (uname(&uts))
		uts.release[0] = '\0';
	if (!file_known)
		file_read(&file);
	file_known = true;
	ctl_json_add_str(module, "name", origin_words[origin]);
	if (origin == ORIGIN_TREE || origin == ORIGIN_FOREIGN) {
		ctl_line_read(SYSFS "version", word, sizeof(word));
		if (*word)
			ctl_json_add_str(module, "version", word);
		ctl_line_read(SYSFS "srcversion", word, sizeof(word));
		if (*word)
			ctl_json_add_str(module, "srcversion", word);
	}
	if (*file.path)
		ctl_json_add_str(module, "file", file.path);
	if (origin == ORIGIN_NONE)
		none_warn(&file, uts.release, text, sizeof(text));
	else if (origin == ORIGIN_OWN)
		own_warn(&file, ctl_json_text(module, "srcversion"), text, sizeof(text));
	else
		other_warn(origin, &file, uts.release, text, sizeof(text));
	if (*text)
		ctl_json_add_str(module, "warning", text);
}
