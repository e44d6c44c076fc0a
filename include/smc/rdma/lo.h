/* SPDX-License-Identifier: GPL-2.0-only */
/* How smc.ko knows the devices of smc_lo.ko, of which it uses nothing but verbs. */
#ifndef _SMC_RDMA_LO_H
#define _SMC_RDMA_LO_H

#include <rdma/ib_verbs.h>

/* ib_device_ops.driver_id of smc_lo; no driver of the kernel has this number. */
#define SMC_LO_DRIVER_ID	((enum rdma_driver_id)0x6c6f)

#endif
