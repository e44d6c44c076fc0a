// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: the RoCE port that a connection over a netdev would get.
 *
 * The rules are the module's: a PNET ID, of the netdev or of one below it, decides; without
 * one it is the port of the netdev itself, or of the device below a VLAN.
 */
#include "path.h"
#include <smc/proto/clc_msg.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SYSFS "/sys/class/infiniband"
#define MAX_GIDS 256
#define MAX_DEVICES 32	/* at and below a netdev */

/**
 * struct stack - a netdev and what is below it, the upper ones first
 * @num: number of names
 * @name: names
 */
struct stack {
	int num;
	char name[MAX_DEVICES][IF_NAMESIZE];
};

static bool is_known(const struct stack *stack, const char *name)
{
	int i;

	for (i = 0; i < stack->num; i++)
		if (!strcmp(stack->name[i], name))
			return true;
	return false;
}

static void push(struct stack *stack, const char *name)
{
	if (stack->num < MAX_DEVICES && strlen(name) < IF_NAMESIZE && !is_known(stack, name))
		snprintf(stack->name[stack->num++], IF_NAMESIZE, "%s", name);
}

static void fill(struct stack *stack, const char *netdev)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int i;

	stack->num = 0;
	push(stack, netdev);
	for (i = 0; i < stack->num; i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s", stack->name[i]);
		dir = opendir(path);
		while (dir && (d = readdir(dir)))
			if (!strncmp(d->d_name, "lower_", 6))
				push(stack, d->d_name + 6);
		if (dir)
			closedir(dir);
	}
}

static bool is_vlan(const char *netdev)
{
	char path[64], line[64];
	bool vlan = false;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/uevent", netdev);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		vlan |= !strcmp(line, "DEVTYPE=vlan\n");
	if (f)
		fclose(f);
	return vlan;
}

static const char *id_of(const struct ctl_rnics *rnics, const struct stack *stack)
{
	size_t n = json_object_array_length(rnics->pnet), k;
	int i;

	for (i = 0; i < stack->num; i++) {
		for (k = 0; k < n; k++) {
			struct json_object *e = json_object_array_get_idx(rnics->pnet, k);

			if (!strcmp(ctl_text_of(e, "netdev"), stack->name[i]))
				return ctl_text_of(e, "pnetid");
		}
	}
	return NULL;
}

/* The first active port whose member @key is @value, else an inactive one, else NULL. */
static struct json_object *find_port(const struct ctl_rnics *rnics, const char *key,
				     const char *value)
{
	size_t n = json_object_array_length(rnics->ports), i;
	struct json_object *found = NULL;

	for (i = 0; i < n; i++) {
		struct json_object *port = json_object_array_get_idx(rnics->ports, i);

		if (strcasecmp(ctl_text_of(port, key), value))
			continue;
		if (!strcmp(ctl_text_of(port, "state"), "active"))
			return port;
		if (!found)
			found = port;
	}
	return found;
}

static __u32 tell_port(struct json_object *port, __u32 none, const char *how, const char *what,
		       char *text, size_t size)
{
	if (!port) {
		snprintf(text, size, "no RoCE port %s %s", how, what);
		return none;
	}
	if (strcmp(ctl_text_of(port, "state"), "active")) {
		snprintf(text, size, "port %s of %s, %s %s, is not active",
			 ctl_text_of(port, "port"), ctl_text_of(port, "device"), how, what);
		return none;
	}
	snprintf(text, size, "port %s of %s, %s %s", ctl_text_of(port, "port"),
		 ctl_text_of(port, "device"), how, what);
	return SMC_CLC_DECL_NONE;
}

/**
 * ctl_rnics_find() - the port for a connection
 * @rnics: what there is
 * @netdev: device of the route
 * @text: what was found, or not
 * @size: its size
 *
 * Return: SMC_CLC_DECL_NONE, or the reason for which such a connection would fall back.
 */
__u32 ctl_rnics_find(const struct ctl_rnics *rnics, const char *netdev, char *text, size_t size)
{
	struct json_object *port;
	struct stack stack;
	const char *id;
	int i;

	fill(&stack, netdev);
	id = id_of(rnics, &stack);
	if (id)
		return tell_port(find_port(rnics, "pnetid", id), SMC_CLC_DECL_NO_DEV_PNETID,
				 "with PNET ID", id, text, size);
	port = find_port(rnics, "netdev", netdev);
	if (!port && stack.num > 1 && is_vlan(netdev))
		port = find_port(rnics, "netdev", stack.name[1]);
	for (i = 1; !port && i < stack.num; i++) {
		if (!find_port(rnics, "netdev", stack.name[i]))
			continue;
		snprintf(text, size, "the RoCE port of %s is only below %s", stack.name[i], netdev);
		return SMC_CLC_DECL_DEV_BELOW;
	}
	return tell_port(port, SMC_CLC_DECL_NO_DEV, "of netdev", netdev, text, size);
}

/**
 * ctl_rnics_read() - ask the module for ports and PNET IDs
 * @rnics: filled in; to be given to ctl_rnics_put() in any case
 *
 * Return: CTL_OK, or CTL_FAILURE, which was told to the user.
 */
int ctl_rnics_read(struct ctl_rnics *rnics)
{
	int rc;

	rnics->ports = json_object_new_array();
	rnics->pnet = json_object_new_array();
	rc = ctl_device_read(rnics->ports);
	return rc == CTL_OK ? ctl_pnet_read(rnics->pnet) : rc;
}

static void read_word(const char *path, char *word, size_t size)
{
	FILE *f = fopen(path, "r");

	*word = '\0';
	if (f && !fgets(word, (int)size, f))
		*word = '\0';
	if (f)
		fclose(f);
	word[strcspn(word, "\n")] = '\0';
}

/* Netdevs of a port: GIDs tell them, each as often as it has addresses. */
static void add_netdevs(struct json_object *ports, const char *device, const char *port)
{
	char path[512], state[32], netdev[IF_NAMESIZE + 1], last[IF_NAMESIZE + 1] = "";
	struct json_object *obj;
	int gid;

	snprintf(path, sizeof(path), SYSFS "/%.63s/ports/%.15s/state", device, port);
	read_word(path, state, sizeof(state));
	for (gid = 0; gid < MAX_GIDS; gid++) {
		snprintf(path, sizeof(path), SYSFS "/%.63s/ports/%.15s/gid_attrs/ndevs/%d", device,
			 port, gid);
		read_word(path, netdev, sizeof(netdev));
		if (!*netdev || !strcmp(netdev, last))
			continue;
		snprintf(last, sizeof(last), "%s", netdev);
		obj = json_object_new_object();
		ctl_add_str(obj, "device", device);
		ctl_add_str(obj, "port", port);
		ctl_add_str(obj, "netdev", netdev);
		ctl_add_str(obj, "state", strstr(state, "ACTIVE") ? "active" : "inactive");
		json_object_array_add(ports, obj);
	}
}

/**
 * ctl_rnics_read_sysfs() - as ctl_rnics_read(), on a host where the module is not loaded
 * @rnics: filled in; to be given to ctl_rnics_put()
 *
 * Return: CTL_OK; no RNIC is no failure.
 */
int ctl_rnics_read_sysfs(struct ctl_rnics *rnics)
{
	struct dirent *d, *p;
	char path[512];
	DIR *devices, *ports;

	rnics->ports = json_object_new_array();
	rnics->pnet = json_object_new_array();
	devices = opendir(SYSFS);
	while (devices && (d = readdir(devices))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), SYSFS "/%.63s/ports", d->d_name);
		ports = opendir(path);
		while (ports && (p = readdir(ports)))
			if (p->d_name[0] != '.')
				add_netdevs(rnics->ports, d->d_name, p->d_name);
		if (ports)
			closedir(ports);
	}
	if (devices)
		closedir(devices);
	return CTL_OK;
}

/**
 * ctl_rnics_put() - undo ctl_rnics_read()
 * @rnics: what was read
 */
void ctl_rnics_put(struct ctl_rnics *rnics)
{
	json_object_put(rnics->ports);
	json_object_put(rnics->pnet);
}
