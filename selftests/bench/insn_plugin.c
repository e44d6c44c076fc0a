// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU (tcg, one processor) that counts the instructions of a guest by code address,
 * and the calls from one address to another. It writes a section for each pair of marks that a
 * program of the guest executes (smc_bench.c): what ran between them, in the program, the kernel
 * and all else. selftests/bench/profile.py turns addresses into functions.
 *
 * Usage: qemu -plugin insn_plugin.so,out=FILE
 *
 * Instructions are counted in blocks of straight code, which belong to the address of the first
 * one. A block ends at each jump and call, so it never spans functions.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "qemu_plugin.h"

int qemu_plugin_version = 1;

#define USER_SPACE	1	/* stands for all its addresses */
#define MARK_BEGIN	1
#define MARK_END	2

/**
 * struct block - straight code, as translated once; blocks of one address may differ in length
 * @addr: address
 * @insns: instructions
 * @calls: it ends with a call
 */
struct block {
	u64 addr;
	u32 insns;
	bool calls;
};

/**
 * struct count - a number of instructions or calls in the present section
 * @from: for calls: address of the calling block; for instructions: 0
 * @to: address of a block, 0: free
 * @n: the number
 */
struct count {
	u64 from;
	u64 to;
	u64 n;
};

#define COUNTS	1048576	/* a power of two */

static struct count counts[COUNTS];
static const struct block *caller;	/* the block before, if it ended with a call */
static bool counting;
static FILE *out;

static void die(const char *what)
{
	fprintf(stderr, "insn_plugin: %s\n", what);
	exit(1);
}

static void count(u64 from, u64 to, u64 n)
{
	u32 i = ((from * 31 + to) * 0x9e3779b97f4a7c15ULL) >> 44;

	for (u32 k = 0; k < COUNTS; k++, i = (i + 1) % COUNTS) {
		struct count *c = &counts[i];

		if (c->to && (c->from != from || c->to != to))
			continue;
		c->from = from;
		c->to = to;
		c->n += n;
		return;
	}
	die("too many counts");
}

/* Write and clear the counts: "section", then "address number" and "caller address number". */
static void end_section(void)
{
	fprintf(out, "section\n");
	for (u32 i = 0; i < COUNTS; i++) {
		struct count *c = &counts[i];

		if (c->from)
			fprintf(out, "%llx %llx %llu\n", c->from, c->to, c->n);
		else if (c->to)
			fprintf(out, "%llx %llu\n", c->to, c->n);
	}
	fflush(out);
	memset(counts, 0, sizeof(counts));
}

static void marked(unsigned int vcpu, void *data)
{
	(void)vcpu;
	if (counting)
		end_section();
	counting = (uintptr_t)data == MARK_BEGIN;
	caller = NULL;
}

static void executed(unsigned int vcpu, void *data)
{
	const struct block *b = data;

	(void)vcpu;
	if (!counting)
		return;
	count(0, b->addr, b->insns);
	if (caller)
		count(caller->addr, b->addr, 1);
	caller = b->calls ? b : NULL;
}

/* Near calls: e8, and ff with 2 in the middle of the next byte, which may follow prefixes. */
static bool is_call(const struct qemu_plugin_insn *insn)
{
	const u8 *p = qemu_plugin_insn_data(insn);
	size_t n = qemu_plugin_insn_size(insn);

	while (n > 1 && (*p == 0x2e || *p == 0x3e || (*p & 0xf0) == 0x40)) {
		p++;
		n--;
	}
	return (n == 5 && p[0] == 0xe8) || (n > 1 && p[0] == 0xff && (p[1] >> 3 & 7) == 2);
}

/* Returns MARK_* if the instruction is a mark, else 0. */
static unsigned int is_mark(const struct qemu_plugin_insn *insn)
{
	static const u8 mark[] = { 0x0f, 0x1f, 0x84, 0x00 };
	const u8 *p = qemu_plugin_insn_data(insn);

	if (qemu_plugin_insn_size(insn) != 8 || memcmp(p, mark, sizeof(mark)) ||
	    p[5] || p[6] != 0x5c || p[7] != 0x3c)
		return 0;
	return p[4];
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	u64 addr = qemu_plugin_tb_vaddr(tb);
	size_t n = qemu_plugin_tb_n_insns(tb);
	bool user = !(addr >> 63);
	struct block *b;

	(void)id;
	for (size_t i = 0; user && i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		unsigned int mark = is_mark(insn);

		if (mark)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marked, 0,
							       (void *)(uintptr_t)mark);
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		die("no memory");
	b->addr = user ? USER_SPACE : addr;
	b->insns = n;
	b->calls = !user && is_call(qemu_plugin_tb_get_insn(tb, n - 1));
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, b);
}

static void finished(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	if (!out) {
		fprintf(stderr, "insn_plugin: out=FILE is missing or cannot be written\n");
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, finished, NULL);
	return 0;
}
