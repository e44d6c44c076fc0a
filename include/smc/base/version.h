/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which module this is: what tells it from others that are called smc.ko. SMC_VERSION comes from
 * the file VERSION, see Kbuild.
 */
#ifndef _SMC_BASE_VERSION_H
#define _SMC_BASE_VERSION_H

/* In netlink, and in the module's file as the field smc_name of modinfo. */
#define SMC_NAME	"AF_SMC"

/* Versions and releases of SMC-R that it speaks; in netlink and /sys/module/smc/parameters. */
#define SMC_PROTOCOLS	"1 2.0 2.1"

#endif
