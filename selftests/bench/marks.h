/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is measured lies between two instructions that do nothing, but that the plugin of an
 * emulator sees (insn_plugin.c).
 */
#ifndef SMC_BENCH_MARKS_H
#define SMC_BENCH_MARKS_H

static inline void insn_mark_begin(void)
{
#ifdef __x86_64__
	asm volatile("nopl 0x3c5c0001(%rax,%rax,1)");
#endif
}

static inline void insn_mark_end(void)
{
#ifdef __x86_64__
	asm volatile("nopl 0x3c5c0002(%rax,%rax,1)");
#endif
}

#endif
