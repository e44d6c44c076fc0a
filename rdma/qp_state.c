// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of a verbs queue pair on its way to RTS, and the attributes of each step. Used for the
 * queue pair of a link (rdma/qp.c) and for the one of its registrations (rdma/mr.c).
 */
#include <linux/err.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include <smc/base/fault.h>
#include "internal.h"

/*
 * The ACK timeout, 4.096 us << 18, is about 1.1 s. With 6 retries the peer's RNIC is given up after
 * about 7.5 s. Soft-RoCE takes a retry count of 7 for "without limit". For RNR, 7 is without limit
 * everywhere, as wanted: RNR is the flow control of messages.
 */
#define ACK_TIMEOUT		18
#define ACK_RETRIES		6
#define RNR_RETRIES		7
#define RNR_TIMER		5

/**
 * smc_qp_modify_to_init() - Move a queue pair to INIT
 * @qp: queue pair in RESET
 * @port: port number
 * @access: IB_ACCESS_*
 *
 * Process context.
 *
 * Return: 0, or the error of the device.
 */
int smc_qp_modify_to_init(struct ib_qp *qp, u8 port, int access)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = 0,
		.port_num = port,
		.qp_access_flags = access,
	};

	return smc_fault_rc(QP_INIT, -EINVAL,
			    ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
					 IB_QP_PORT | IB_QP_ACCESS_FLAGS));
}

/**
 * smc_qp_modify_to_rtr() - Move a queue pair to RTR
 * @ibdev: its device
 * @qp: queue pair in INIT
 * @attr: both ends
 *
 * Process context.
 *
 * Return: 0, -EADDRNOTAVAIL (another GID is at our index), or the error of the device.
 */
int smc_qp_modify_to_rtr(struct ib_device *ibdev, struct ib_qp *qp, const struct smc_qp_attr *attr)
{
	struct ib_qp_attr qpa = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = attr->mtu,
		.dest_qp_num = attr->peer_qpn,
		.rq_psn = attr->peer_psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = RNR_TIMER,
	};
	const struct ib_gid_attr *sgid_attr;
	union ib_gid dgid = attr->dgid;
	int rc = -EADDRNOTAVAIL;

	sgid_attr = smc_fault_ptr(QP_GID, -ENODATA,
				  rdma_get_gid_attr(ibdev, attr->port, attr->sgid_index));
	if (IS_ERR(sgid_attr))
		return PTR_ERR(sgid_attr);
	qpa.ah_attr.type = rdma_ah_find_type(ibdev, attr->port);
	rdma_ah_set_port_num(&qpa.ah_attr, attr->port);
	rdma_ah_set_sl(&qpa.ah_attr, attr->sl);
	memcpy(qpa.ah_attr.roce.dmac, attr->dmac, sizeof(attr->dmac));
	/* From here on the address handle owns sgid_attr. */
	rdma_move_grh_sgid_attr(&qpa.ah_attr, &dgid, 0, attr->hop_limit, attr->traffic_class,
				sgid_attr);
	if (!memcmp(sgid_attr->gid.raw, attr->sgid.raw, sizeof(attr->sgid.raw)))
		rc = smc_fault_rc(QP_RTR, -EINVAL,
				  ib_modify_qp(qp, &qpa, IB_QP_STATE | IB_QP_AV |
					       IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
					       IB_QP_MAX_DEST_RD_ATOMIC |
					       IB_QP_MIN_RNR_TIMER));
	rdma_destroy_ah_attr(&qpa.ah_attr);
	return rc;
}

/**
 * smc_qp_modify_to_rts() - Move a queue pair to RTS
 * @qp: queue pair in RTR
 * @attr: both ends
 *
 * Process context.
 *
 * Return: 0, or the error of the device.
 */
int smc_qp_modify_to_rts(struct ib_qp *qp, const struct smc_qp_attr *attr)
{
	struct ib_qp_attr qpa = {
		.qp_state = IB_QPS_RTS,
		.timeout = ACK_TIMEOUT,
		.retry_cnt = ACK_RETRIES,
		.rnr_retry = RNR_RETRIES,
		.sq_psn = attr->psn,
		.max_rd_atomic = 1,
	};

	return smc_fault_rc(QP_RTS, -EINVAL,
			    ib_modify_qp(qp, &qpa, IB_QP_STATE | IB_QP_TIMEOUT |
					 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
					 IB_QP_MAX_QP_RD_ATOMIC));
}
