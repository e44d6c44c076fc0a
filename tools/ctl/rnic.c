// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl: find the RoCE port that a connection over a netdev would use.
 *
 * Follows the rules of the module: if the netdev or a device below it has a PNET ID, the port has
 * the same PNET ID. Without a PNET ID it is the port of the netdev itself, or of the device below
 * a VLAN.
 */
#include "path.h"
#include <smc/proto/clc_msg.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SYSFS "/sys/class/infiniband"
#define MAX_GIDS 256
#define MAX_DEVICES 32	/* a netdev and those below it */

/**
 * struct stack - a netdev and the devices below it, upper ones first
 * @num: number of devices
 * @name: names of the devices
 */
struct stack {
	int num;
	char name[MAX_DEVICES][IF_NAMESIZE];
};

static bool stack_contains(const struct stack *stack, const char *name)
{
	int i;

	for (i = 0; i < stack->num; i++)
		if (!strcmp(stack->name[i], name))
			return true;
	return false;
}

static void stack_push(struct stack *stack, const char *name)
{
	if (stack->num < MAX_DEVICES && strlen(name) < IF_NAMESIZE && !stack_contains(stack, name))
		snprintf(stack->name[stack->num++], IF_NAMESIZE, "%s", name);
}

static void stack_fill(struct stack *stack, const char *netdev)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int i;

	stack->num = 0;
	stack_push(stack, netdev);
	for (i = 0; i < stack->num; i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s", stack->name[i]);
		dir = opendir(path);
		while (dir && (d = readdir(dir)))
			if (!strncmp(d->d_name, "lower_", 6))
				stack_push(stack, d->d_name + 6);
		if (dir)
			closedir(dir);
	}
}

static bool netdev_is_vlan(const char *netdev)
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

static const char *stack_find_pnetid(const struct ctl_rnics *rnics, const struct stack *stack)
{
	size_t n = json_object_array_length(rnics->pnet), k;
	char name[IF_NAMESIZE];
	int i;

	for (i = 0; i < stack->num; i++) {
		ctl_netdev_clean(name, stack->name[i]);
		for (k = 0; k < n; k++) {
			struct json_object *e = json_object_array_get_idx(rnics->pnet, k);

			if (!strcmp(ctl_json_text(e, "netdev"), name))
				return ctl_json_text(e, "pnetid");
		}
	}
	return NULL;
}

/* Read a line of a file of a RoCE device in sysfs; empty if there is no such file. */
static void device_read_line(const char *device, const char *file, char *text, size_t size)
{
	char path[512];

	snprintf(path, sizeof(path), SYSFS "/%.63s/%.127s", device, file);
	ctl_line_read(path, text, size);
}

static bool device_is_smc_lo(const char *device)
{
	char line[128];

	device_read_line(device, "node_desc", line, sizeof(line));
	return !strcmp(line, "smc_lo");
}

/* Return true if the port is that of smc_lo for peers in other namespaces of this host. */
static bool port_is_inner(struct json_object *port)
{
	return strcmp(ctl_json_text(port, "netdev"), "lo") &&
	       device_is_smc_lo(ctl_json_text(port, "device"));
}

static bool port_is_active(struct json_object *port)
{
	return !strcmp(ctl_json_text(port, "state"), "active");
}

/* Which ports count; a set. */
enum port_kind {
	PORT_RNIC = 1,
	PORT_INNER = 2,		/* port_is_inner() */
};

/*
 * How well a port suits; larger is better. Whether the peer is on this host is not known, so an
 * RNIC comes before smc_lo. One that is not active does not exist for the module.
 */
static int port_fit(struct json_object *port)
{
	if (port_is_inner(port))
		return port_is_active(port) ? 3 : 2;
	return port_is_active(port) ? 4 : 1;
}

/* Return the best port of @kinds whose member @key is @value, or NULL. */
static struct json_object *port_find(const struct ctl_rnics *rnics, const char *key,
				     const char *value, unsigned int kinds)
{
	size_t n = json_object_array_length(rnics->ports), i;
	struct json_object *found = NULL;

	for (i = 0; i < n; i++) {
		struct json_object *port = json_object_array_get_idx(rnics->ports, i);

		if (!strcasecmp(ctl_json_text(port, key), value) &&
		    kinds & (port_is_inner(port) ? PORT_INNER : PORT_RNIC) &&
		    (!found || port_fit(port) > port_fit(found)))
			found = port;
	}
	return found;
}

static struct json_object *port_find_netdev(const struct ctl_rnics *rnics, const char *netdev,
					    unsigned int kinds)
{
	char name[IF_NAMESIZE];

	return port_find(rnics, "netdev", ctl_netdev_clean(name, netdev), kinds);
}

/*
 * Return the port with a PNET ID, or, if none is active, that of smc_lo on the netdev, as without
 * one. If the latter is not active, either, it is the PNET ID that no active port has.
 */
static struct json_object *port_find_pnetid(const struct ctl_rnics *rnics, const char *id,
					    const char *netdev)
{
	struct json_object *port = port_find(rnics, "pnetid", id, PORT_RNIC), *inner;

	if (port && port_is_active(port))
		return port;
	inner = port_find_netdev(rnics, netdev, PORT_INNER);
	return inner && port_is_active(inner) ? inner : port;
}

/*
 * Describe @port in @text, and set *@found to it if it is active. Return SMC_CLC_DECL_NONE if it
 * is, else @none.
 */
static __u32 port_describe(struct json_object *port, __u32 none, const char *how, const char *what,
			   char *text, size_t size, struct json_object **found)
{
	if (!port) {
		snprintf(text, size, "no RoCE port %s %s", how, what);
		return none;
	}
	if (!port_is_active(port)) {
		snprintf(text, size, "port %s of %s, %s %s, is not active",
			 ctl_json_text(port, "port"), ctl_json_text(port, "device"), how, what);
		return port_is_inner(port) ? SMC_CLC_DECL_NOT_INNER : none;
	}
	*found = port;
	if (port_is_inner(port)) {
		snprintf(text, size, "port %s of %s, smc_lo: %s", ctl_json_text(port, "port"),
			 ctl_json_text(port, "device"),
			 "if the peer is on this host and allows it");
		return SMC_CLC_DECL_NONE;
	}
	snprintf(text, size, "port %s of %s, %s %s", ctl_json_text(port, "port"),
		 ctl_json_text(port, "device"), how, what);
	return SMC_CLC_DECL_NONE;
}

/**
 * ctl_rnics_find_port() - find the RoCE port for connections over a netdev
 * @rnics: RoCE ports and PNET IDs
 * @netdev: network device of the route
 * @text: set to a description of the port, or of why there is none
 * @size: size of @text
 * @found: set to the port, which belongs to @rnics, or to NULL
 *
 * Return: SMC_CLC_DECL_NONE, or the reason why such a connection would fall back.
 */
__u32 ctl_rnics_find_port(const struct ctl_rnics *rnics, const char *netdev, char *text,
			  size_t size, struct json_object **found)
{
	char name[IF_NAMESIZE], below[IF_NAMESIZE];
	struct json_object *port;
	struct stack stack;
	const char *id;
	bool none;
	int i;

	*found = NULL;
	stack_fill(&stack, netdev);
	id = stack_find_pnetid(rnics, &stack);
	if (id)
		return port_describe(port_find_pnetid(rnics, id, netdev),
				     SMC_CLC_DECL_NO_DEV_PNETID, "with PNET ID", id, text, size,
				     found);
	ctl_netdev_clean(name, netdev);
	port = port_find_netdev(rnics, netdev, PORT_RNIC | PORT_INNER);
	if (!port && stack.num > 1 && netdev_is_vlan(netdev))
		port = port_find_netdev(rnics, stack.name[1], PORT_RNIC);
	none = !port || (port_is_inner(port) && !port_is_active(port));
	for (i = 1; none && i < stack.num; i++) {
		if (!port_find_netdev(rnics, stack.name[i], PORT_RNIC))
			continue;
		snprintf(text, size, "the RoCE port of %s is only below %s",
			 ctl_netdev_clean(below, stack.name[i]), name);
		return SMC_CLC_DECL_DEV_BELOW;
	}
	return port_describe(port, SMC_CLC_DECL_NO_DEV, "of netdev", name, text, size, found);
}

static bool path_exists(const char *path)
{
	FILE *f = fopen(path, "r");

	if (f)
		fclose(f);
	return f;
}

static bool device_has(const char *device, const char *file)
{
	char path[512];

	snprintf(path, sizeof(path), SYSFS "/%.63s/%.127s", device, file);
	return path_exists(path);
}

/**
 * ctl_rnic_expect_speed() - find out whether SMC can be expected to be faster than TCP over a port
 * @port: port, as ctl_rnics_find_port() returns it
 * @text: set to a sentence about it
 * @size: size of @text
 *
 * In Soft-RoCE the CPU does the work of the RNIC, so SMC takes more of it than TCP. smc_lo has no
 * packets: for its figures see performance.rst.
 *
 * Return: what to expect.
 */
enum ctl_speed ctl_rnic_expect_speed(struct json_object *port, char *text, size_t size)
{
	const char *device = ctl_json_text(port, "device");
	char line[128], rate[64];

	/* rxe alone has "parent"; "device" is the bus device of hardware */
	if (device_has(device, "parent")) {
		snprintf(text, size, "SMC will be slower than TCP: %s is Soft-RoCE, for tests",
			 device);
		return CTL_SPEED_SLOWER;
	}
	if (device_is_smc_lo(device)) {
		snprintf(text, size, "SMC should be faster than TCP, %s: %s is smc_lo",
			 "but not in streams of small writes", device);
		return CTL_SPEED_FASTER;
	}
	if (device_has(device, "device")) {
		snprintf(line, sizeof(line), "ports/%.15s/rate", ctl_json_text(port, "port"));
		device_read_line(device, line, rate, sizeof(rate));
		snprintf(text, size, "SMC should be faster than TCP: %s is an RNIC%s%s", device,
			 *rate ? " with " : "", rate);
		return CTL_SPEED_FASTER;
	}
	snprintf(text, size, "not known whether SMC would be faster than TCP: %s is no known RNIC",
		 device);
	return CTL_SPEED_UNKNOWN;
}

/**
 * ctl_rnics_read() - read RoCE ports and PNET IDs from the module
 * @rnics: result; the caller passes it to ctl_rnics_put(), also after a failure
 *
 * Return: CTL_OK, or CTL_FAILURE after an error message.
 */
int ctl_rnics_read(struct ctl_rnics *rnics)
{
	int rc;

	rnics->ports = json_object_new_array();
	rnics->pnet = json_object_new_array();
	rc = ctl_device_read(rnics->ports);
	return rc == CTL_OK ? ctl_pnet_read(rnics->pnet) : rc;
}

/* Append a port once per netdev. The GID table names a netdev once per address. */
static void port_add_netdevs(struct json_object *ports, const char *device, const char *port)
{
	char path[512], state[32], netdev[IF_NAMESIZE + 1], last[IF_NAMESIZE + 1] = "";
	char name[IF_NAMESIZE];
	struct json_object *obj;
	int gid;

	snprintf(path, sizeof(path), SYSFS "/%.63s/ports/%.15s/state", device, port);
	ctl_line_read(path, state, sizeof(state));
	for (gid = 0; gid < MAX_GIDS; gid++) {
		snprintf(path, sizeof(path), SYSFS "/%.63s/ports/%.15s/gid_attrs/ndevs/%d", device,
			 port, gid);
		ctl_line_read(path, netdev, sizeof(netdev));
		if (!*netdev || !strcmp(netdev, last))
			continue;
		snprintf(last, sizeof(last), "%s", netdev);
		obj = json_object_new_object();
		ctl_json_add_str(obj, "device", device);
		ctl_json_add_str(obj, "port", port);
		ctl_json_add_str(obj, "netdev", ctl_netdev_clean(name, netdev));
		ctl_json_add_str(obj, "state", strstr(state, "ACTIVE") ? "active" : "inactive");
		json_object_array_add(ports, obj);
	}
}

/**
 * ctl_rnics_read_sysfs() - read RoCE ports from sysfs, for hosts without the module
 * @rnics: result, without PNET IDs; the caller passes it to ctl_rnics_put()
 *
 * Return: CTL_OK, also if there is no RNIC.
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
				port_add_netdevs(rnics->ports, d->d_name, p->d_name);
		if (ports)
			closedir(ports);
	}
	if (devices)
		closedir(devices);
	return CTL_OK;
}

/**
 * ctl_rnics_put() - release the result of ctl_rnics_read()
 * @rnics: ports and PNET IDs
 */
void ctl_rnics_put(struct ctl_rnics *rnics)
{
	json_object_put(rnics->ports);
	json_object_put(rnics->pnet);
}
