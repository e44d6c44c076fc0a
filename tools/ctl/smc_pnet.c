// SPDX-License-Identifier: GPL-2.0-only
/*
 * smcctl called as smc_pnet: the PNET table with the options and columns of that program of
 * smc-tools.
 */
#include "smcctl.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void smc_pnet_print_usage(void)
{
	fputs("Usage: smc_pnet [-j] [-s [ID] | -f | -d ID |\n"
	      "                 -a ID [-I NETDEV] [-D IBDEV [-P PORT]]]\n"
	      "  -a, --add ID            give a netdev, a RoCE device or both this PNET ID\n"
	      "  -d, --delete ID         remove this PNET ID\n"
	      "  -s, --show [ID]         show the table, or one PNET ID\n"
	      "  -f, --flush             remove all\n"
	      "  -I, --interface NETDEV  a network device\n"
	      "  -D, --ibdevice IBDEV    a RoCE device\n"
	      "  -P, --ibport PORT       its port, 1 if not given\n"
	      "  -j, --json              show JSON, as smcctl -j pnet\n"
	      "  -h, --help              this text\n"
	      "  -v, --version           version\n", stdout);
}

/* Print four words: ID, netdev, device, port. The port of a netdev is 255. */
static void entry_print(struct json_object *e)
{
	bool ib = *ctl_json_text(e, "device");

	printf("%s %s %s %s\n", ctl_json_text(e, "pnetid"), ib ? "n/a" : ctl_json_text(e, "netdev"),
	       ib ? ctl_json_text(e, "device") : "n/a", ib ? ctl_json_text(e, "port") : "255");
}

static int table_show(const char *id, bool json)
{
	struct json_object *entries = json_object_new_array(), *wanted = json_object_new_array();
	int rc = ctl_pnet_read(entries);
	size_t i;

	for (i = 0; rc == CTL_OK && i < json_object_array_length(entries); i++) {
		struct json_object *e = json_object_array_get_idx(entries, i);

		if (id && strcasecmp(id, ctl_json_text(e, "pnetid")))
			continue;
		if (json)
			json_object_array_add(wanted, json_object_get(e));
		else
			entry_print(e);
	}
	if (rc == CTL_OK && json)
		ctl_json_print(wanted);
	json_object_put(wanted);
	json_object_put(entries);
	return rc;
}

static int entry_add(char *id, char *netdev, const char *ibdev, const char *port)
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
	return cmd_pnet(NULL, num, words);
}

/**
 * struct smc_pnet - command line
 * @command: letter of the option that is the command, 0: show all
 * @id: PNET ID
 * @netdev: network device to add
 * @ibdev: RoCE device to add
 * @port: its port
 * @json: show JSON
 */
struct smc_pnet {
	int command;
	char *id, *netdev, *ibdev, *port;
	bool json;
};

/* Return what is wrong with the options as a whole, or NULL. */
static const char *options_find_fault(const struct smc_pnet *p)
{
	if (p->command != 'a')
		return p->netdev || p->ibdev || p->port ? "options -I, -D and -P are for -a" : NULL;
	if (!p->netdev && !p->ibdev)
		return "option -a needs -I, -D, or both";
	return p->port && !p->ibdev ? "option -P needs -D" : NULL;
}

static int smc_pnet_run(const struct smc_pnet *p)
{
	switch (p->command) {
	case 'a':
		return entry_add(p->id, p->netdev, p->ibdev, p->port);
	case 'd':
		return cmd_pnet(NULL, 2, (char *[]){ "del", p->id });
	case 'f':
		return cmd_pnet(NULL, 1, (char *[]){ "flush" });
	default:
		return table_show(p->id, p->json);
	}
}

/**
 * smc_pnet_main() - smcctl called as smc_pnet
 * @argc: number of arguments
 * @argv: arguments, starting with the name of the program
 *
 * Return: exit status.
 */
int smc_pnet_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "add", required_argument, NULL, 'a' }, { "delete", required_argument, NULL, 'd' },
		{ "show", no_argument, NULL, 's' }, { "flush", no_argument, NULL, 'f' },
		{ "interface", required_argument, NULL, 'I' },
		{ "ibdevice", required_argument, NULL, 'D' },
		{ "ibport", required_argument, NULL, 'P' }, { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' }, { 0 },
	};
	struct smc_pnet p = { 0 };
	const char *fault;
	int c;

	while ((c = getopt_long(argc, argv, "a:d:sfI:D:P:jhv", options, NULL)) != -1) {
		switch (c) {
		case 'a':
		case 'd':
		case 's':
		case 'f':
			if (p.command) {
				ctl_error("only one of the options -a, -d, -s and -f");
				return CTL_USAGE;
			}
			p.command = c;
			p.id = optarg;
			break;
		case 'I':
			p.netdev = optarg;
			break;
		case 'D':
			p.ibdev = optarg;
			break;
		case 'P':
			p.port = optarg;
			break;
		case 'j':
			p.json = true;
			break;
		case 'h':
			smc_pnet_print_usage();
			return CTL_OK;
		case 'v':
			puts("smc_pnet of smcctl " SMC_TOOLS_VERSION);
			return CTL_OK;
		default:
			return CTL_USAGE;
		}
	}
	if (p.command == 's' && optind < argc)
		p.id = argv[optind++];
	if (optind < argc) {
		ctl_error("takes no argument '%s', see smc_pnet --help", argv[optind]);
		return CTL_USAGE;
	}
	fault = options_find_fault(&p);
	if (fault) {
		ctl_error("%s", fault);
		return CTL_USAGE;
	}
	return smc_pnet_run(&p);
}
