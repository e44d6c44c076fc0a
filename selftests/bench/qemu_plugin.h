/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of version 1 of QEMU's plugin interface that insn_plugin.c uses, written from its
 * documentation: Debian has no header of it.
 */
#ifndef QEMU_PLUGIN_H
#define QEMU_PLUGIN_H

#include <stddef.h>
#include <smc/proto/types.h>

typedef u64 qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
typedef void (*tb_trans_fn)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*vcpu_data_fn)(unsigned int vcpu, void *data);
typedef void (*data_fn)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_fn fn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, vcpu_data_fn fn, int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, vcpu_data_fn fn,
					    int flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, data_fn fn, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
u64 qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv);

/* the version that the plugin was written for */
extern int qemu_plugin_version;

#endif
