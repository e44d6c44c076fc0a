// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs that decide whether a SYN or a SYN-ACK carries the SMC option: objects of the
 * struct_ops type smc_hs_ctrl of <net/smc.h>. Each namespace may select one by its name (sysctl
 * hs_ctrl).
 *
 * Selecting takes a reference, so an object stays in effect when its owner unregisters it. The last
 * reference may go while the object is in use: BPF frees it after a grace period. Each object pins
 * this module, which so cannot be unloaded while one is registered or selected.
 */
#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/capability.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/smc.h>
#include <net/sock.h>
#include <smc/base/hs_ctrl.h>
#include <smc/base/log.h>
#include <smc/base/settings.h>

static_assert(SMC_HS_CTRL_NAME_SIZE > SMC_HS_CTRL_NAME_MAX);

/* The registered objects, and what each namespace has selected (smc_settings.hs_ctrl). */
static LIST_HEAD(hs_ctrl_objects);
static DEFINE_MUTEX(hs_ctrl_mutex);

static struct smc_hs_ctrl *hs_ctrl_find(const char *name)
{
	struct smc_hs_ctrl *ctrl;

	lockdep_assert_held(&hs_ctrl_mutex);
	list_for_each_entry(ctrl, &hs_ctrl_objects, list)
		if (!strcmp(ctrl->name, name))
			return ctrl;
	return NULL;
}

/* ---- the type ---------------------------------------------------------------- */

static int hs_ctrl_type_init(struct btf *btf)
{
	return 0;
}

/* Return 1 if the member is set here, 0 if BPF does it: functions, and what must be zero. */
static int hs_ctrl_init_member(const struct btf_type *t, const struct btf_member *member,
			       void *kdata, const void *udata)
{
	const struct smc_hs_ctrl *from = udata;
	struct smc_hs_ctrl *to = kdata;

	switch (__btf_member_bit_offset(t, member) / BITS_PER_BYTE) {
	case offsetof(struct smc_hs_ctrl, name):
		return bpf_obj_name_cpy(to->name, from->name, sizeof(to->name)) > 0 ? 1 : -EINVAL;
	case offsetof(struct smc_hs_ctrl, flags):
		if (from->flags & ~SMC_HS_CTRL_ALL_FLAGS)
			return -EINVAL;
		to->flags = from->flags;
		return 1;
	default:
		return 0;
	}
}

/* The functions are called under RCU, and in softirq: none may sleep. */
static int hs_ctrl_check_member(const struct btf_type *t, const struct btf_member *member,
				const struct bpf_prog *prog)
{
	return prog->sleepable ? -EINVAL : 0;
}

static int hs_ctrl_register(void *kdata, struct bpf_link *link)
{
	struct smc_hs_ctrl *ctrl = kdata;
	int rc = 0;

	mutex_lock(&hs_ctrl_mutex);
	if (hs_ctrl_find(ctrl->name))
		rc = -EEXIST;
	else
		list_add(&ctrl->list, &hs_ctrl_objects);
	mutex_unlock(&hs_ctrl_mutex);
	return rc;
}

static void hs_ctrl_unregister(void *kdata, struct bpf_link *link)
{
	struct smc_hs_ctrl *ctrl = kdata;

	mutex_lock(&hs_ctrl_mutex);
	list_del(&ctrl->list);
	mutex_unlock(&hs_ctrl_mutex);
}

/* Never called: BPF takes the arguments of the functions from these. */
static int hs_ctrl_syn_stub(struct tcp_sock *tp)
{
	return 1;
}

static int hs_ctrl_syn_ack_stub(const struct tcp_sock *tp, struct inet_request_sock *ireq)
{
	return 1;
}

static struct smc_hs_ctrl hs_ctrl_stubs = {
	.syn_option = hs_ctrl_syn_stub,
	.synack_option = hs_ctrl_syn_ack_stub,
};

/* Programs get the arguments to read, and the helpers that all programs have. */
static const struct bpf_verifier_ops hs_ctrl_verifier_ops = {
	.get_func_proto = bpf_base_func_proto,
	.is_valid_access = bpf_tracing_btf_ctx_access,
};

static struct bpf_struct_ops hs_ctrl_type = {
	.verifier_ops = &hs_ctrl_verifier_ops,
	.init = hs_ctrl_type_init,
	.check_member = hs_ctrl_check_member,
	.init_member = hs_ctrl_init_member,
	.reg = hs_ctrl_register,
	.unreg = hs_ctrl_unregister,
	.cfi_stubs = &hs_ctrl_stubs,
	.owner = THIS_MODULE,
	.name = "smc_hs_ctrl",
};

/**
 * smc_hs_ctrl_init() - Make the type known to BPF
 *
 * The module works without it. BPF forgets the type with the module.
 */
void __init smc_hs_ctrl_init(void)
{
	int rc = register_bpf_struct_ops(&hs_ctrl_type, smc_hs_ctrl);

	if (rc)
		smc_log_write(&init_net, "hs_ctrl: BPF does not accept the type (%d)\n", rc);
}

/* ---- the namespaces ---------------------------------------------------------- */

/**
 * smc_hs_ctrl_inherit() - Select in a new namespace what the initial one has selected
 * @net: new namespace
 *
 * If the flags of that object say so.
 */
void smc_hs_ctrl_inherit(struct net *net)
{
	struct smc_hs_ctrl *ctrl;

	mutex_lock(&hs_ctrl_mutex);
	ctrl = rcu_dereference_protected(smc_settings_get(&init_net)->hs_ctrl,
					 lockdep_is_held(&hs_ctrl_mutex));
	if (ctrl && ctrl->flags & SMC_HS_CTRL_FLAG_INHERITABLE && bpf_struct_ops_get(ctrl))
		rcu_assign_pointer(smc_settings_get(net)->hs_ctrl, ctrl);
	mutex_unlock(&hs_ctrl_mutex);
}

/*
 * A container's root selects and keeps only what is meant for new namespaces. The names of others
 * are the host's: they look unknown.
 */
static bool hs_ctrl_may_select(const struct net *net, const struct smc_hs_ctrl *ctrl)
{
	return net_eq(net, &init_net) || ctrl->flags & SMC_HS_CTRL_FLAG_INHERITABLE ||
	       capable(CAP_NET_ADMIN);
}

/**
 * smc_hs_ctrl_select() - Select the object that decides in a namespace
 * @net: namespace
 * @name: of the object; "" for none
 *
 * Return: 0; -EINVAL if there is no such object for the caller; -EOPNOTSUPP if this build has none.
 */
int smc_hs_ctrl_select(struct net *net, const char *name)
{
	struct smc_settings *sn = smc_settings_get(net);
	struct smc_hs_ctrl *ctrl = NULL;
	int rc = 0;

	mutex_lock(&hs_ctrl_mutex);
	if (*name) {
		ctrl = hs_ctrl_find(name);
		if (!ctrl || !hs_ctrl_may_select(net, ctrl) || !bpf_struct_ops_get(ctrl))
			rc = -EINVAL;
	}
	if (!rc)
		ctrl = rcu_replace_pointer(sn->hs_ctrl, ctrl, lockdep_is_held(&hs_ctrl_mutex));
	mutex_unlock(&hs_ctrl_mutex);
	/* the one before */
	if (!rc && ctrl)
		bpf_struct_ops_put(ctrl);
	return rc;
}

/**
 * smc_hs_ctrl_get_name() - Return which object decides in a namespace
 * @net: namespace
 * @name: filled in; "" for none
 */
void smc_hs_ctrl_get_name(struct net *net, char name[SMC_HS_CTRL_NAME_SIZE])
{
	const struct smc_hs_ctrl *ctrl;

	rcu_read_lock();
	ctrl = rcu_dereference(smc_settings_get(net)->hs_ctrl);
	strscpy(name, ctrl ? ctrl->name : "", SMC_HS_CTRL_NAME_SIZE);
	rcu_read_unlock();
}

/* Caller holds rcu_read_lock(). */
static const struct smc_hs_ctrl *hs_ctrl_selected(const struct sock *sk)
{
	return rcu_dereference(smc_settings_get(sock_net(sk))->hs_ctrl);
}

/**
 * smc_hs_ctrl_wants_syn() - Ask whether a SYN shall carry the option
 * @sk: TCP socket that sends it
 *
 * Under RCU; softirq or process context.
 */
bool smc_hs_ctrl_wants_syn(struct sock *sk)
{
	const struct smc_hs_ctrl *ctrl = hs_ctrl_selected(sk);

	return !ctrl || !ctrl->syn_option || ctrl->syn_option(tcp_sk(sk));
}

/**
 * smc_hs_ctrl_wants_syn_ack() - Ask whether a SYN-ACK shall carry the option
 * @listener: of @req
 * @req: request whose SYN had the option
 *
 * Under RCU; softirq or process context.
 */
bool smc_hs_ctrl_wants_syn_ack(const struct sock *listener, struct request_sock *req)
{
	const struct smc_hs_ctrl *ctrl = hs_ctrl_selected(listener);

	return !ctrl || !ctrl->synack_option ||
	       ctrl->synack_option(tcp_sk(listener), inet_rsk(req));
}
