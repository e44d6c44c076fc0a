// SPDX-License-Identifier: GPL-2.0-only
/* A verbs device for KUnit, see fake_ib.h. */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "fake_ib.h"

#define PORT		1
#define MAX_WR		4096
#define ADDRESS		0x0a090807	/* 10.9.8.7 */

struct fake_pd {
	struct ib_pd ib;
};

struct fake_cq {
	struct ib_cq ib;
	struct list_head done;
};

struct fake_mr {
	struct ib_mr ib;
	u32 npages;
};

struct fake_wc {
	struct list_head entry;
	struct ib_wc wc;
};

static struct fake_ib *fake_ib_of(struct ib_device *ib)
{
	return container_of(ib, struct fake_ib, ib);
}

static struct fake_cq *fake_cq_of(struct ib_cq *ib)
{
	return container_of(ib, struct fake_cq, ib);
}

/* A queue pair for registrations has no room for messages. */
static bool fake_qp_is_link(const struct fake_ib_qp *qp)
{
	return qp->cap.max_recv_wr > 1;
}

/* Enter a change of a link's queue pair into the list. fake->lock is held. */
static void fake_note_step(struct fake_ib *fake, enum fake_ib_change change,
			   const struct fake_ib_qp *qp)
{
	struct fake_ib_step step = { .change = change, .qpn = qp->ib.qp_num, .at = jiffies };

	if (!fake_qp_is_link(qp))
		return;
	if (fake->nsteps < FAKE_IB_STEPS)
		fake->steps[fake->nsteps] = step;
	/* after the entry */
	smp_store_release(&fake->nsteps, fake->nsteps + 1);
}

/* ---- completions ---- */

/* Add a receive completion to the CQ. fake->lock is held. */
static void fake_cq_add_recv(struct fake_ib_qp *qp, struct ib_cqe *cqe, enum ib_wc_status status,
			     u32 len, enum ib_wc_opcode opcode, u32 imm)
{
	struct fake_cq *cq = fake_cq_of(qp->ib.send_cq);
	struct fake_wc *wc = kzalloc(sizeof(*wc), GFP_ATOMIC);

	if (WARN_ON(!wc))
		return;
	wc->wc.wr_cqe = cqe;
	wc->wc.status = status;
	wc->wc.qp = &qp->ib;
	wc->wc.byte_len = len;
	wc->wc.opcode = opcode;
	wc->wc.ex.imm_data = cpu_to_be32(imm);
	list_add_tail(&wc->entry, &cq->done);
}

/* Add a send completion to the CQ, likewise. */
static void fake_cq_add_send(struct fake_ib_qp *qp, struct ib_cqe *cqe, enum ib_wc_status status)
{
	fake_cq_add_recv(qp, cqe, status, 0, IB_WC_SEND, 0);
}

/* Call the completion handler, which runs when BHs are on again. fake->lock is not held. */
static void fake_cq_notify(struct fake_ib_qp *qp)
{
	struct ib_cq *cq = qp->ib.send_cq;

	local_bh_disable();
	cq->comp_handler(cq, cq->cq_context);
	local_bh_enable();
}

/* Take a request off its queue. fake->lock is held. */
static void fake_qp_drop_wr(struct fake_ib_qp *qp, struct fake_ib_wr *wr, bool recv)
{
	list_del(&wr->entry);
	if (recv)
		qp->nrecvs--;
	else
		qp->nsends--;
	kfree(wr);
}

/* Flush all requests. fake->lock is held. */
static void fake_qp_flush(struct fake_ib_qp *qp)
{
	struct fake_ib_wr *wr, *next;

	list_for_each_entry_safe(wr, next, &qp->sends, entry) {
		fake_cq_add_send(qp, wr->cqe, IB_WC_WR_FLUSH_ERR);
		fake_qp_drop_wr(qp, wr, false);
	}
	list_for_each_entry_safe(wr, next, &qp->recvs, entry) {
		fake_cq_add_send(qp, wr->cqe, IB_WC_WR_FLUSH_ERR);
		fake_qp_drop_wr(qp, wr, true);
	}
}

static int fake_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc)
{
	struct fake_ib *fake = fake_ib_of(ib->device);
	struct fake_cq *cq = fake_cq_of(ib);
	struct fake_wc *done;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&fake->lock, flags);
	while (n < num && !list_empty(&cq->done)) {
		done = list_first_entry(&cq->done, struct fake_wc, entry);
		list_del(&done->entry);
		wc[n++] = done->wc;
		kfree(done);
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	return n;
}

static int fake_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags notify)
{
	struct fake_ib *fake = fake_ib_of(ib->device);
	unsigned long flags;
	bool missed;

	spin_lock_irqsave(&fake->lock, flags);
	missed = !list_empty(&fake_cq_of(ib)->done);
	spin_unlock_irqrestore(&fake->lock, flags);
	return missed;
}

/* ---- posting ---- */

static struct fake_ib_wr *fake_wr_copy_send(const struct ib_send_wr *wr)
{
	struct fake_ib_wr *copy = kzalloc(sizeof(*copy), GFP_ATOMIC);

	if (!copy)
		return NULL;
	copy->cqe = wr->wr_cqe;
	copy->opcode = wr->opcode;
	copy->flags = wr->send_flags;
	copy->num_sge = min(wr->num_sge, FAKE_IB_SGES);
	memcpy(copy->sge, wr->sg_list, copy->num_sge * sizeof(copy->sge[0]));
	/* the drain marker is a WRITE without memory */
	if ((wr->opcode == IB_WR_RDMA_WRITE && wr->num_sge) ||
	    wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
		copy->raddr = rdma_wr(wr)->remote_addr;
		copy->rkey = rdma_wr(wr)->rkey;
	}
	if (wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		copy->imm = be32_to_cpu(wr->ex.imm_data);
	return copy;
}

/* Complete a REG_MR at once. False: no REG_MR, or to be held. fake->lock is held. */
static bool fake_mr_register_now(struct fake_ib_qp *qp, const struct ib_send_wr *wr)
{
	struct fake_ib *fake = fake_ib_of(qp->ib.device);

	if (wr->opcode != IB_WR_REG_MR)
		return false;
	atomic_inc(&fake->nreg);
	fake->last_reg_key = reg_wr(wr)->key;
	fake->last_reg_access = reg_wr(wr)->access;
	fake->last_reg_iova = reg_wr(wr)->mr->iova;
	/* requests complete in order */
	if (fake->reg == FAKE_IB_REG_HOLD || !list_empty(&qp->sends))
		return false;
	fake_cq_add_send(qp, wr->wr_cqe,
			 fake->reg == FAKE_IB_REG_OK ? IB_WC_SUCCESS : IB_WC_LOC_QP_OP_ERR);
	return true;
}

static int fake_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	struct fake_ib *fake = fake_ib_of(ib->device);
	struct fake_ib_qp *qp = fake_ib_qp(ib);
	struct fake_ib_wr *copy;
	bool notify = false;
	unsigned long flags;
	int rc = 0;

	*bad = wr;
	spin_lock_irqsave(&fake->lock, flags);
	if (fake->fail_post && qp->state != IB_QPS_ERR)
		rc = fake->fail_post;
	for (; wr && !rc; wr = wr->next) {
		*bad = wr;
		if (qp->state == IB_QPS_ERR && !fake->no_flush) {
			fake_cq_add_send(qp, wr->wr_cqe, IB_WC_WR_FLUSH_ERR);
			notify = true;
			continue;
		}
		if (fake_mr_register_now(qp, wr)) {
			notify = true;
			continue;
		}
		copy = qp->nsends < qp->cap.max_send_wr ? fake_wr_copy_send(wr) : NULL;
		if (!copy) {
			rc = -ENOMEM;
			break;
		}
		list_add_tail(&copy->entry, &qp->sends);
		qp->nsends++;
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	if (notify)
		fake_cq_notify(qp);
	return rc;
}

/* One receive of a chain, under fake->lock. @flushed: set if it has completed at once. */
static int fake_add_recv(struct fake_ib *fake, struct fake_ib_qp *qp, const struct ib_recv_wr *wr,
			 bool *flushed)
{
	struct fake_ib_wr *copy;

	if (qp->state == IB_QPS_ERR && !fake->no_flush) {
		fake_cq_add_send(qp, wr->wr_cqe, IB_WC_WR_FLUSH_ERR);
		*flushed = true;
		return 0;
	}
	if (!fake->fail_recv_after)
		return -ENOMEM;
	if (fake->fail_recv_after > 0)
		fake->fail_recv_after--;
	copy = kzalloc(sizeof(*copy), GFP_ATOMIC);
	if (!copy)
		return -ENOMEM;
	copy->cqe = wr->wr_cqe;
	copy->num_sge = min(wr->num_sge, FAKE_IB_SGES);
	memcpy(copy->sge, wr->sg_list, copy->num_sge * sizeof(copy->sge[0]));
	list_add_tail(&copy->entry, &qp->recvs);
	qp->nrecvs++;
	return 0;
}

static int fake_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	struct fake_ib *fake = fake_ib_of(ib->device);
	struct fake_ib_qp *qp = fake_ib_qp(ib);
	bool notify = false;
	unsigned long flags;
	int rc = 0;

	spin_lock_irqsave(&fake->lock, flags);
	qp->recv_posts++;
	for (; wr && !rc; wr = wr->next) {
		*bad = wr;
		rc = fake_add_recv(fake, qp, wr, &notify);
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	if (notify)
		fake_cq_notify(qp);
	return rc;
}

/* ---- objects ---- */

static int fake_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct fake_ib *fake = fake_ib_of(ib->device);

	if (fake->fail_pd)
		return -ENOMEM;
	atomic_inc(&fake->npd);
	return 0;
}

static int fake_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	atomic_dec(&fake_ib_of(ib->device)->npd);
	return 0;
}

static int fake_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			  struct uverbs_attr_bundle *attrs)
{
	struct fake_ib *fake = fake_ib_of(ib->device);

	if (fake->fail_cq)
		return -ENOMEM;
	INIT_LIST_HEAD(&fake_cq_of(ib)->done);
	ib->cqe = attr->cqe;
	atomic_inc(&fake->ncq);
	return 0;
}

static int fake_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct fake_wc *wc, *next;

	list_for_each_entry_safe(wc, next, &fake_cq_of(ib)->done, entry)
		kfree(wc);
	atomic_dec(&fake_ib_of(ib->device)->ncq);
	return 0;
}

static atomic_t *fake_qp_count(const struct fake_ib_qp *qp)
{
	struct fake_ib *fake = fake_ib_of(qp->ib.device);

	return fake_qp_is_link(qp) ? &fake->nqp : &fake->nqp_reg;
}

static int fake_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct fake_ib *fake = fake_ib_of(ib->device);
	struct fake_ib_qp *qp = fake_ib_qp(ib);

	fake->tries++;
	if (init->cap.max_inline_data > fake->inline_limit ||
	    init->cap.max_send_wr > fake->wr_limit)
		return -EINVAL;
	qp->state = IB_QPS_RESET;
	qp->cap = init->cap;
	INIT_LIST_HEAD(&qp->sends);
	INIT_LIST_HEAD(&qp->recvs);
	ib->qp_num = fake->next_qpn++;
	atomic_inc(fake_qp_count(qp));
	fake->last_qp = qp;
	return 0;
}

static int fake_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct fake_ib *fake = fake_ib_of(ib->device);
	struct fake_ib_qp *qp = fake_ib_qp(ib);
	unsigned long flags;

	if (mask & IB_QP_ACCESS_FLAGS)
		qp->access = attr->qp_access_flags;
	if (mask & IB_QP_AV) {
		qp->traffic_class = rdma_ah_read_grh(&attr->ah_attr)->traffic_class;
		qp->sl = rdma_ah_get_sl(&attr->ah_attr);
	}
	if (!(mask & IB_QP_STATE))
		return 0;
	if (fake->fail_modify == attr->qp_state)
		return -EIO;
	spin_lock_irqsave(&fake->lock, flags);
	if (attr->qp_state == IB_QPS_ERR && qp->state != IB_QPS_ERR)
		fake_note_step(fake, FAKE_IB_QP_ERR, qp);
	qp->state = attr->qp_state;
	if (qp->state == IB_QPS_ERR && !fake->no_flush)
		fake_qp_flush(qp);
	spin_unlock_irqrestore(&fake->lock, flags);
	if (attr->qp_state == IB_QPS_ERR)
		fake_cq_notify(qp);
	return 0;
}

static int fake_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct fake_ib *fake = fake_ib_of(ib->device);
	struct fake_ib_qp *qp = fake_ib_qp(ib);
	struct fake_ib_wr *wr, *next;
	unsigned long flags;

	list_for_each_entry_safe(wr, next, &qp->sends, entry)
		fake_qp_drop_wr(qp, wr, false);
	list_for_each_entry_safe(wr, next, &qp->recvs, entry)
		fake_qp_drop_wr(qp, wr, true);
	spin_lock_irqsave(&fake->lock, flags);
	fake_note_step(fake, FAKE_IB_QP_DESTROYED, qp);
	spin_unlock_irqrestore(&fake->lock, flags);
	if (fake->last_qp == qp)
		fake->last_qp = NULL;
	atomic_dec(fake_qp_count(qp));
	return 0;
}

static struct ib_mr *fake_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct fake_ib *fake = fake_ib_of(pd->device);
	struct fake_mr *mr;

	if (!fake->fail_mr_after)
		return ERR_PTR(-ENOMEM);
	if (fake->fail_mr_after > 0)
		fake->fail_mr_after--;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	/* different keys, so that a mix-up is noticed */
	mr->ib.lkey = fake->next_key++;
	mr->ib.rkey = mr->ib.lkey | 0x80000000;
	atomic_inc(&fake->nmr);
	return &mr->ib;
}

static int fake_mr_page(struct ib_mr *ib, u64 addr)
{
	struct fake_mr *mr = container_of(ib, struct fake_mr, ib);

	if (mr->npages == fake_ib_of(ib->device)->mr_pages)
		return -ENOMEM;
	mr->npages++;
	return 0;
}

static int fake_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *off)
{
	container_of(ib, struct fake_mr, ib)->npages = 0;
	return ib_sg_to_pages(ib, sg, nents, off, fake_mr_page);
}

static int fake_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	atomic_dec(&fake_ib_of(ib->device)->nmr);
	kfree(container_of(ib, struct fake_mr, ib));
	return 0;
}

/* ---- the device ---- */

static int fake_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	attr->max_qp_wr = MAX_WR;
	attr->max_cqe = 2 * MAX_WR;
	attr->max_recv_sge = FAKE_IB_SGES;
	attr->max_send_sge = 1;
	attr->max_fast_reg_page_list_len = 512;
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	return 0;
}

static int fake_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_1024;
	attr->gid_tbl_len = 1;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

/* Ports for raw packets have a GID table without a netdev, and neither MADs nor P_Keys. */
static int fake_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *fixed)
{
	fixed->gid_tbl_len = 1;
	fixed->core_cap_flags = RDMA_CORE_CAP_PROT_RAW_PACKET;
	return 0;
}

static enum rdma_link_layer fake_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* Return the only GID of the device. */
void fake_ib_gid(union ib_gid *gid)
{
	ipv6_addr_set_v4mapped(cpu_to_be32(ADDRESS), (struct in6_addr *)gid->raw);
}

static int fake_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	fake_ib_gid(gid);
	return 0;
}

static const struct ib_device_ops fake_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.alloc_mr = fake_alloc_mr,
	.alloc_pd = fake_alloc_pd,
	.create_cq = fake_create_cq,
	.create_qp = fake_create_qp,
	.dealloc_pd = fake_dealloc_pd,
	.dereg_mr = fake_dereg_mr,
	.destroy_cq = fake_destroy_cq,
	.destroy_qp = fake_destroy_qp,
	.get_link_layer = fake_link_layer,
	.get_port_immutable = fake_port_immutable,
	.map_mr_sg = fake_map_mr_sg,
	.modify_qp = fake_modify_qp,
	.poll_cq = fake_poll_cq,
	.post_recv = fake_post_recv,
	.post_send = fake_post_send,
	.query_device = fake_query_device,
	.query_gid = fake_query_gid,
	.query_port = fake_query_port,
	.req_notify_cq = fake_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, fake_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, fake_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, fake_ib_qp, ib),
};

static struct smc_ib_device *fake_ib_make_sdev(struct kunit *test, struct fake_ib *fake)
{
	struct smc_ib_device *sdev = kzalloc(sizeof(*sdev), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sdev);
	kref_init(&sdev->ref);
	kref_init(&sdev->mem);
	init_completion(&sdev->released);
	INIT_LIST_HEAD(&sdev->entry);
	sdev->ibdev = &fake->ib;
	strscpy(sdev->name, fake->ib.name, sizeof(sdev->name));
	sdev->max_mtu = IB_MTU_4096;
	sdev->max_pages = 512;
	sdev->max_inline = 0;
	sdev->max_recv_sge = FAKE_IB_SGES;
	return sdev;
}

/* Create the device; to be destroyed with fake_ib_destroy(). */
struct fake_ib *fake_ib_create(struct kunit *test)
{
	struct fake_ib *fake = ib_alloc_device(fake_ib, ib);
	int rc;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	spin_lock_init(&fake->lock);
	fake->fail_modify = -1;
	fake->fail_mr_after = -1;
	fake->fail_recv_after = -1;
	fake->inline_limit = U32_MAX;
	fake->wr_limit = U32_MAX;
	fake->mr_pages = U32_MAX;
	fake->next_key = 0x1000;
	fake->next_qpn = 0x101;
	fake->ib.node_type = RDMA_NODE_IB_CA;
	fake->ib.phys_port_cnt = PORT;
	fake->ib.num_comp_vectors = 1;
	ib_set_device_ops(&fake->ib, &fake_ops);
	rc = ib_register_device(&fake->ib, "smcfake%d", NULL);
	if (rc)
		ib_dealloc_device(&fake->ib);
	KUNIT_ASSERT_EQ(test, rc, 0);
	fake->sdev = fake_ib_make_sdev(test, fake);
	return fake;
}

/* Destroy the device and check that no object and no reference on it is left. */
void fake_ib_destroy(struct kunit *test, struct fake_ib *fake)
{
	if (!fake)
		return;
	smc_ib_device_put(fake->sdev);
	/* A reference that is left would be used on a device that is gone. */
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&fake->sdev->released, HZ));
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->nqp), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->nqp_reg), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->ncq), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->npd), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->nmr), 0);
	/* Links unpin the device in an RCU callback. */
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, kref_read(&fake->sdev->mem), 1);
	smc_ib_device_unpin(fake->sdev);
	ib_unregister_device(&fake->ib);
	ib_dealloc_device(&fake->ib);
}

/* Return a path over the device, with a reference on it. */
void fake_ib_path(struct fake_ib *fake, struct smc_path *path)
{
	memset(path, 0, sizeof(*path));
	smc_ib_device_get(fake->sdev);
	path->dev = fake->sdev;
	path->port = PORT;
	fake_ib_gid(&path->gid.gid);
	path->gid.mtu = IB_MTU_1024;
	path->gid.mac[0] = 2;
}

/* ---- commands of the suites ---- */

/*
 * Complete the oldest @n send requests: the last one with @status, the others successfully.
 * Successful requests are reported only if they are signaled. The completions have been handled on
 * return.
 */
void fake_ib_complete(struct fake_ib_qp *qp, u32 n, enum ib_wc_status status)
{
	struct fake_ib *fake = fake_ib_of(qp->ib.device);
	enum ib_wc_status result;
	struct fake_ib_wr *wr;
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	for (; n && !list_empty(&qp->sends); n--) {
		wr = list_first_entry(&qp->sends, struct fake_ib_wr, entry);
		result = n == 1 ? status : IB_WC_SUCCESS;
		if (result != IB_WC_SUCCESS || wr->flags & IB_SEND_SIGNALED)
			fake_cq_add_send(qp, wr->cqe, result);
		fake_qp_drop_wr(qp, wr, false);
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	fake_cq_notify(qp);
}

/* Flush a queue pair in spite of @no_flush. The completions have been handled on return. */
void fake_ib_flush(struct fake_ib_qp *qp)
{
	struct fake_ib *fake = fake_ib_of(qp->ib.device);
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	fake_qp_flush(qp);
	spin_unlock_irqrestore(&fake->lock, flags);
	fake_cq_notify(qp);
}

/* Copy @buf into the oldest receive and complete it with the other arguments. */
static void fake_qp_complete_recv(struct fake_ib_qp *qp, const u8 *buf, u32 bytes, u32 len,
				  enum ib_wc_status status, enum ib_wc_opcode opcode, u32 imm)
{
	struct fake_ib *fake = fake_ib_of(qp->ib.device);
	struct fake_ib_wr *wr;
	unsigned long flags;
	u32 piece;
	int i;

	spin_lock_irqsave(&fake->lock, flags);
	wr = list_first_entry_or_null(&qp->recvs, struct fake_ib_wr, entry);
	for (i = 0; wr && i < wr->num_sge && bytes; i++) {
		piece = min(bytes, wr->sge[i].length);
		/* without DMA mapping the address is a CPU address */
		memcpy((void *)(uintptr_t)wr->sge[i].addr, buf, piece);
		buf += piece;
		bytes -= piece;
	}
	if (wr) {
		fake_cq_add_recv(qp, wr->cqe, status, len, opcode, imm);
		fake_qp_drop_wr(qp, wr, true);
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	fake_cq_notify(qp);
}

/* Deliver @bytes bytes into the oldest receive, and report @len, which may be another number. */
void fake_ib_receive(struct fake_ib_qp *qp, const u8 *buf, u32 bytes, u32 len,
		     enum ib_wc_status status)
{
	fake_qp_complete_recv(qp, buf, bytes, len, status, IB_WC_RECV, 0);
}

/* Consume the oldest receive by a WRITE of @len bytes with the immediate value @imm. */
void fake_ib_write_with_imm(struct fake_ib_qp *qp, u32 len, u32 imm)
{
	fake_qp_complete_recv(qp, NULL, 0, len, IB_WC_SUCCESS, IB_WC_RECV_RDMA_WITH_IMM, imm);
}

/* Raise an asynchronous event of the queue pair. */
void fake_ib_qp_event(struct fake_ib_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = type,
	};

	qp->ib.event_handler(&event, qp->ib.qp_context);
}

/* Return the @i-th send request that has not completed, oldest first; NULL: none. */
struct fake_ib_wr *fake_ib_sent(struct fake_ib_qp *qp, u32 i)
{
	struct fake_ib_wr *wr;

	list_for_each_entry(wr, &qp->sends, entry)
		if (!i--)
			return wr;
	return NULL;
}
