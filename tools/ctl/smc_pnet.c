// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl under the name smc_pnet: the PNET table with the options and columns that users of
 * smc-tools know.
 */
#include "smcctl.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void usage(FILE *out)
{
	fputs("Usage: smc_pnet [-s [ID] | -f | -d ID | -a ID {-I NETDEV | -D IBDEV [-P PORT]}]\n"
	      "  -a, --add ID            give devices this PNET ID\n"
	      "  -d, --delete ID         remove this PNET ID\n"
	      "  -s, --show [ID]         show the table, or one PNET ID\n"
	      "  -f, --flush             remove all\n"
	      "  -I, --interface NETDEV  a network device\n"
	      "  -D, --ibdevice IBDEV    a RoCE device\n"
	      "  -P, --ibport PORT       its port, 1 if not given\n"
	      "  -h, --help              this text\n"
	      "  -v, --version           version\n", out);
}

/* Four words each; 255 is the port of an entry that has none. */
static int show(const char *id)
{
	struct json_object *entries = json_object_new_array();
	int rc = ctl_pnet_read(entries);
	size_t i;

	for (i = 0; rc == CTL_OK && i < json_object_array_length(entries); i++) {
		struct json_object *e = json_object_array_get_idx(entries, i);
		bool ib = *ctl_text_of(e, "device");

		if (id && strcasecmp(id, ctl_text_of(e, "pnetid")))
			continue;
		printf("%s %s %s %s\n", ctl_text_of(e, "pnetid"),
		       ib ? "n/a" : ctl_text_of(e, "netdev"),
		       ib ? ctl_text_of(e, "device") : "n/a",
		       ib ? ctl_text_of(e, "port") : "255");
	}
	json_object_put(entries);
	return rc;
}

static int add(char *id, char *netdev, const char *ibdev, const char *port)
{
	char *words[6] = { "add", id }, device[80];
	int num = 2;

	if (netdev) {
		words[num++] = "netdev";
		words[num++] = netdev;
	}
	if (ibdev) {
		snprintf(device, sizeof(device), "%s/%s", ibdev, port ? port : "1");
		words[num++] = "ibdev";
		words[num++] = device;
	}
	return ctl_pnet(NULL, num, words);
}

/**
 * ctl_smc_pnet() - smcctl under the name smc_pnet
 * @argc: number of arguments
 * @argv: arguments, the name of the program first
 *
 * Return: exit status.
 */
int ctl_smc_pnet(int argc, char **argv)
{
	static const struct option options[] = {
		{ "add", required_argument, NULL, 'a' }, { "delete", required_argument, NULL, 'd' },
		{ "show", no_argument, NULL, 's' }, { "flush", no_argument, NULL, 'f' },
		{ "interface", required_argument, NULL, 'I' },
		{ "ibdevice", required_argument, NULL, 'D' },
		{ "ibport", required_argument, NULL, 'P' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' }, { 0 },
	};
	char *id = NULL, *netdev = NULL, *ibdev = NULL, *port = NULL;
	int c, order = 0;

	while ((c = getopt_long(argc, argv, "a:d:sfI:D:P:hv", options, NULL)) != -1) {
		switch (c) {
		case 'a':
		case 'd':
		case 's':
		case 'f':
			/* one of them */
			if (order)
				goto wrong;
			order = c;
			id = optarg;
			break;
		case 'I':
			netdev = optarg;
			break;
		case 'D':
			ibdev = optarg;
			break;
		case 'P':
			port = optarg;
			break;
		case 'h':
			usage(stdout);
			return CTL_OK;
		case 'v':
			puts("smc_pnet of smcctl " SMC_TOOLS_VERSION);
			return CTL_OK;
		default:
			goto wrong;
		}
	}
	if (order == 's' && optind < argc)
		id = argv[optind++];
	if (optind < argc || (order != 'a' && (netdev || ibdev || port)) || (port && !ibdev) ||
	    (order == 'a' && !netdev && !ibdev))
		goto wrong;
	if (order == 'a')
		return add(id, netdev, ibdev, port);
	if (order == 'd')
		return ctl_pnet(NULL, 2, (char *[]){ "del", id });
	if (order == 'f')
		return ctl_pnet(NULL, 1, (char *[]){ "flush" });
	return show(id);
wrong:
	usage(stderr);
	return CTL_USAGE;
}
