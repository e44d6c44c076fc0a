// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with faults on purpose: the VM harness must notice each of them.
 * Loading it with fault=NAME triggers one.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/string.h>

static char *fault = "";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "warn, oops or message");

static int __init planted_init(void)
{
	if (!strcmp(fault, "warn")) {
		WARN_ON_ONCE(1);
	} else if (!strcmp(fault, "oops")) {
		/* Not NULL: the compiler would see that and emit a trap. */
		WRITE_ONCE(*(int *)ERR_PTR(-ENOMEM), 1);
	} else if (!strcmp(fault, "message")) {
		/* A fault that the kernel itself survives, only mentions. */
		pr_emerg("unregister_netdevice: waiting for planted to become free\n");
	} else {
		return -EINVAL;
	}
	return 0;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("Faults for the VM harness to find");
MODULE_LICENSE("GPL");
