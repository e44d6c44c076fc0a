// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: the settings net.smc.* of this network namespace, and the switch among them.
 */
#include "smcctl.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER "/proc/sys/net/smc/"
#define SWITCH "enabled"
/* the setting that is no number, but the name of a BPF object; what stands for no object */
#define HS_CTRL "hs_ctrl"
#define HS_CTRL_NAME_MAX 15
#define HS_CTRL_NONE "-"

static bool setting_read(const char *name, char *value, size_t size, bool *writable)
{
	char path[512];
	struct stat st;
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), FOLDER "%s", name);
	f = fopen(path, "r");
	if (!f)
		return false;
	ok = fgets(value, (int)size, f) && !fstat(fileno(f), &st);
	fclose(f);
	if (!ok)
		return false;
	value[strcspn(value, "\n")] = '\0';
	*writable = st.st_mode & 0200;
	return true;
}

static bool is_number(const char *value)
{
	return *value && !value[strspn(value, "0123456789")];
}

/* No BPF object can have the name that stands for none, nor a blank in its name. */
static bool is_object_name(const char *value)
{
	size_t len = strlen(value);

	return len && len <= HS_CTRL_NAME_MAX && strcspn(value, " \t\r\n\v\f") == len;
}

/* Return true, or false after an error message. */
static bool value_check(const char *name, const char *value)
{
	bool object = !strcmp(name, HS_CTRL);

	if (object ? is_object_name(value) : is_number(value))
		return true;
	if (object)
		ctl_error("'%s' is no name of a BPF object: 1 to %d characters, or - for none",
			  value, HS_CTRL_NAME_MAX);
	else
		ctl_error("'%s' is no number", value);
	return false;
}

/* Return 0 or an errno. */
static int setting_write(const char *name, const char *value)
{
	char path[512];
	int err = 0;
	FILE *f;

	snprintf(path, sizeof(path), FOLDER "%s", name);
	f = fopen(path, "r+");
	if (!f)
		return errno;
	if (fputs(value, f) < 0)
		err = errno;
	/* the kernel gets the value here */
	if (fclose(f) && !err)
		err = errno;
	return err;
}

static void setting_print_error(const char *name, const char *value, int err)
{
	if (err == ENOENT && !ctl_module_is_loaded())
		ctl_error("this kernel has no SMC: load the smc module (modprobe smc)");
	else if (err == ENOENT)
		ctl_error("the loaded smc module has no setting net.smc.%s", name);
	else if (err == EOPNOTSUPP && !strcmp(name, HS_CTRL))
		ctl_error("this kernel and build take no BPF programs: use smcctl policy");
	else if (err == EINVAL && !strcmp(name, HS_CTRL))
		ctl_error("there is no BPF object %s", value);
	else if (err == EINVAL || err == ERANGE)
		ctl_error("%s is no value of net.smc.%s", value, name);
	else if (err == EACCES || err == EPERM)
		ctl_error("net.smc.%s cannot be changed: only by root, or not in this namespace",
			  name);
	else
		ctl_error("net.smc.%s: %s", name, strerror(err));
}

static int setting_compare(const void *a, const void *b)
{
	return strcmp(ctl_json_text(*(struct json_object **)a, "name"),
		      ctl_json_text(*(struct json_object **)b, "name"));
}

/**
 * ctl_setting_read() - read the settings of this namespace
 * @settings: array; objects with "name", "value" and "writable" are added, in the order of names
 *
 * Return: CTL_OK, or CTL_FAILURE after an error message.
 */
int ctl_setting_read(struct json_object *settings)
{
	DIR *dir = opendir(FOLDER);
	struct dirent *d;
	char value[64];
	bool writable;

	/* old in-tree modules have none */
	if (!dir && errno == ENOENT && ctl_module_is_loaded())
		return CTL_OK;
	if (!dir) {
		setting_print_error("*", "", errno);
		return CTL_FAILURE;
	}
	while ((d = readdir(dir))) {
		struct json_object *obj;

		/* hs_ctrl is a name: whoever registers that BPF object selects it, too */
		if (d->d_name[0] == '.' ||
		    !setting_read(d->d_name, value, sizeof(value), &writable) ||
		    !is_number(value))
			continue;
		obj = json_object_new_object();
		ctl_json_add_str(obj, "name", d->d_name);
		ctl_json_add_u64(obj, "value", strtoull(value, NULL, 10));
		json_object_object_add(obj, "writable", json_object_new_boolean(writable));
		json_object_array_add(settings, obj);
	}
	closedir(dir);
	json_object_array_sort(settings, setting_compare);
	return CTL_OK;
}

/**
 * ctl_setting_read_hs_ctrl() - read the setting that is no number, net.smc.hs_ctrl
 * @value: result: the name of the BPF object, or what stands for none, as "setting set" takes it
 * @size: size of @value
 *
 * Return: false if the module has no such setting, or it cannot be changed in this namespace.
 */
bool ctl_setting_read_hs_ctrl(char *value, size_t size)
{
	bool writable;

	if (!setting_read(HS_CTRL, value, size, &writable) || !writable)
		return false;
	if (!*value)
		snprintf(value, size, HS_CTRL_NONE);
	return true;
}

static int settings_show(const struct ctl_opts *opts)
{
	static const struct ctl_column cols[] = {
		{ "NAME", "name" }, { "VALUE", "value" },
	};
	struct json_object *settings = json_object_new_array();
	int rc = ctl_setting_read(settings);

	if (rc == CTL_OK && opts->json)
		ctl_json_print(settings);
	else if (rc == CTL_OK)
		ctl_table_print(settings, cols, ARRAY_SIZE(cols));
	json_object_put(settings);
	return rc;
}

static int setting_set(const char *name, const char *value)
{
	int err;

	if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")]) {
		ctl_error("'%s' is no name of a setting", name);
		return CTL_USAGE;
	}
	if (!value_check(name, value))
		return CTL_USAGE;
	if (ctl_genl_is_dry_run())
		return CTL_OK;
	/* (of an empty text nothing would be written) */
	err = setting_write(name, strcmp(value, HS_CTRL_NONE) ? value : "\n");
	if (!err)
		return CTL_OK;
	setting_print_error(name, value, err);
	return CTL_FAILURE;
}

/**
 * cmd_setting() - smcctl setting [show | set NAME VALUE]
 * @opts: command line
 * @argc: number of words
 * @argv: words behind the name of the object
 *
 * Return: exit status.
 */
int cmd_setting(const struct ctl_opts *opts, int argc, char **argv)
{
	if (!argc || (argc == 1 && !strcmp(argv[0], "show")))
		return settings_show(opts);
	if (argc == 3 && !strcmp(argv[0], "set"))
		return setting_set(argv[1], argv[2]);
	ctl_error("setting is followed by: show, set NAME VALUE");
	return CTL_USAGE;
}

/* Count the connections on SMC, which the switch does not affect. Return an exit status. */
static int smc_conns_count(unsigned int *num)
{
	const struct ctl_opts all = { .port = -1, .local_port = -1, .peer_port = -1 };
	struct json_object *socks = json_object_new_array();
	int rc = ctl_sock_read(&all, socks);
	size_t i;

	*num = 0;
	for (i = 0; i < json_object_array_length(socks); i++)
		*num += !strncmp(ctl_json_text(json_object_array_get_idx(socks, i), "mode"), "SMC",
				 3);
	json_object_put(socks);
	return rc;
}

static int smc_switch(const struct ctl_opts *opts, const char *value)
{
	bool on = *value == '1', known;
	struct json_object *obj;
	unsigned int num;
	int err;

	err = setting_write(SWITCH, value);
	if (err) {
		setting_print_error(SWITCH, value, err);
		return CTL_FAILURE;
	}
	/* the switch has worked: only the number is not known, and a message says why */
	known = smc_conns_count(&num) == CTL_OK;
	if (opts->json) {
		obj = json_object_new_object();
		json_object_object_add(obj, "enabled", json_object_new_boolean(on));
		if (known)
			ctl_json_add_u64(obj, "smc_connections", num);
		ctl_json_print(obj);
		json_object_put(obj);
	} else if (!known) {
		printf("New connections %s.\n", on ? "may use SMC" : "use TCP");
	} else if (on) {
		printf("New connections may use SMC; %u use it.\n", num);
	} else {
		printf("New connections use TCP; %u stay on SMC until they are closed.\n", num);
	}
	return CTL_OK;
}

/**
 * cmd_enable() - smcctl enable
 * @opts: command line
 *
 * Return: exit status.
 */
int cmd_enable(const struct ctl_opts *opts)
{
	return smc_switch(opts, "1");
}

/**
 * cmd_disable() - smcctl disable
 * @opts: command line
 *
 * Return: exit status.
 */
int cmd_disable(const struct ctl_opts *opts)
{
	return smc_switch(opts, "0");
}
