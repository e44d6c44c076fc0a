// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SMC option in the SYN of ordinary TCP sockets.
 *
 * Only the kernel writes SYN options, and it writes this one for SMC sockets
 * only. A sock_ops BPF program may add options to the TCP segments of a cgroup;
 * this one adds the six bytes to every SYN and SYN-ACK. It is written as
 * instructions, so that the test hosts need no compiler and no libbpf. Needs
 * CONFIG_CGROUP_BPF and privileges.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evil.h"

#define OPT_KIND	254
#define OPT_LEN		6
#define TH_FLAG_SYN	0x02

static const u8 option[OPT_LEN] = { OPT_KIND, OPT_LEN, 0xe2, 0xd4, 0xc3, 0xd9 };

static char cgroup_root[128];
static char cgroup_own[192];

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV_IMM(d, i)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_REG(d, s)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD_IMM(d, i)		INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define AND_IMM(d, i)		INSN(BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i)
#define LOAD_CTX(d, field) \
	INSN(BPF_LDX | BPF_MEM | BPF_W, d, BPF_REG_6, offsetof(struct bpf_sock_ops, field), 0)
#define STORE_B(off, i)		INSN(BPF_ST | BPF_MEM | BPF_B, BPF_REG_10, 0, off, i)
#define JEQ(d, i, o)		INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define JUMP(o)			INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(f)			INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define EXIT()			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Positions in the program; a jump is relative to the instruction after it. */
enum { P_START, P_ENABLE = 7, P_RESERVE = 11, P_STORE = 19, P_OUT = 34, P_END = 36 };

#define TO(target, here)	((target) - (here) - 1)

static const struct bpf_insn program[] = {
	[P_START] =
	MOV_REG(BPF_REG_6, BPF_REG_1),
	LOAD_CTX(BPF_REG_2, op),
	JEQ(BPF_REG_2, BPF_SOCK_OPS_TCP_CONNECT_CB, TO(P_ENABLE, 2)),
	JEQ(BPF_REG_2, BPF_SOCK_OPS_TCP_LISTEN_CB, TO(P_ENABLE, 3)),
	JEQ(BPF_REG_2, BPF_SOCK_OPS_HDR_OPT_LEN_CB, TO(P_RESERVE, 4)),
	JEQ(BPF_REG_2, BPF_SOCK_OPS_WRITE_HDR_OPT_CB, TO(P_STORE, 5)),
	JUMP(TO(P_OUT, 6)),
	/* enable the two callbacks that write options */
	[P_ENABLE] =
	MOV_REG(BPF_REG_1, BPF_REG_6),
	MOV_IMM(BPF_REG_2, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG),
	CALL(BPF_FUNC_sock_ops_cb_flags_set),
	JUMP(TO(P_OUT, 10)),
	/* reserve room, only in segments with SYN */
	[P_RESERVE] =
	LOAD_CTX(BPF_REG_3, skb_tcp_flags),
	AND_IMM(BPF_REG_3, TH_FLAG_SYN),
	JEQ(BPF_REG_3, 0, TO(P_OUT, 13)),
	MOV_REG(BPF_REG_1, BPF_REG_6),
	MOV_IMM(BPF_REG_2, OPT_LEN),
	MOV_IMM(BPF_REG_3, 0),
	CALL(BPF_FUNC_reserve_hdr_opt),
	JUMP(TO(P_OUT, 18)),
	/* build the option on the stack and store it */
	[P_STORE] =
	LOAD_CTX(BPF_REG_3, skb_tcp_flags),
	AND_IMM(BPF_REG_3, TH_FLAG_SYN),
	JEQ(BPF_REG_3, 0, TO(P_OUT, 21)),
	STORE_B(-8, OPT_KIND),
	STORE_B(-7, OPT_LEN),
	STORE_B(-6, 0xe2),
	STORE_B(-5, 0xd4),
	STORE_B(-4, 0xc3),
	STORE_B(-3, 0xd9),
	MOV_REG(BPF_REG_1, BPF_REG_6),
	MOV_REG(BPF_REG_2, BPF_REG_10),
	ADD_IMM(BPF_REG_2, -8),
	MOV_IMM(BPF_REG_3, OPT_LEN),
	MOV_IMM(BPF_REG_4, 0),
	CALL(BPF_FUNC_store_hdr_opt),
	[P_OUT] =
	MOV_IMM(BPF_REG_0, 1),
	EXIT(),
};

static_assert(TL_ARRAY_SIZE(program) == P_END, "the jumps are wrong");

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int program_load(void)
{
	static char log[16384];
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCK_OPS;
	attr.expected_attach_type = BPF_CGROUP_SOCK_OPS;
	attr.insns = (uintptr_t)program;
	attr.insn_cnt = TL_ARRAY_SIZE(program);
	attr.license = (uintptr_t)"GPL";
	attr.log_buf = (uintptr_t)log;
	attr.log_size = sizeof(log);
	attr.log_level = 1;
	fd = sys_bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0) {
		int err = -errno;

		fprintf(stderr, "option: program refused: %s\n%s", tl_errno_name(-err), log);
		return err;
	}
	return fd;
}

/* The BPF link is never closed: the option stays on until the process exits. */
static int program_attach(int prog, int cgroup)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = prog;
	attr.link_create.target_fd = cgroup;
	attr.link_create.attach_type = BPF_CGROUP_SOCK_OPS;
	return sys_bpf(BPF_LINK_CREATE, &attr) < 0 ? -errno : 0;
}

static int cgroup_find_root(void)
{
	char dev[64], dir[128], type[32], line[512];
	FILE *f = fopen("/proc/self/mounts", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %127s %31s", dev, dir, type) == 3 &&
		    !strcmp(type, "cgroup2")) {
			snprintf(cgroup_root, sizeof(cgroup_root), "%s", dir);
			break;
		}
	}
	if (f)
		fclose(f);
	if (*cgroup_root)
		return 0;
	snprintf(cgroup_root, sizeof(cgroup_root), "/tmp/smc_evil.XXXXXX");
	if (!mkdtemp(cgroup_root) || mount("none", cgroup_root, "cgroup2", 0, NULL))
		return -errno;
	return 0;
}

static int cgroup_move_to(const char *cgroup)
{
	char path[256], pid[16];
	int n = snprintf(pid, sizeof(pid), "%d", getpid());
	int fd, err;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write(fd, pid, n) == n ? 0 : -errno;
	close(fd);
	return err;
}

static pid_t owner;

static void cgroup_cleanup(void)
{
	/* children inherit this handler and must not remove their parent's cgroup */
	if (getpid() != owner)
		return;
	cgroup_move_to(cgroup_root);
	rmdir(cgroup_own);
}

/**
 * evil_option_on() - add the option to the SYNs of this process
 *
 * Affects sockets created later, in this process and in its children, but not
 * in processes forked before.
 *
 * Return: 0 or a negative errno.
 */
int evil_option_on(void)
{
	int err = cgroup_find_root();
	int prog, dir;

	if (err)
		return err;
	snprintf(cgroup_own, sizeof(cgroup_own), "%s/smc_evil.%d", cgroup_root, getpid());
	if (mkdir(cgroup_own, 0755))
		return -errno;
	owner = getpid();
	atexit(cgroup_cleanup);
	err = cgroup_move_to(cgroup_own);
	if (err)
		return err;
	dir = open(cgroup_own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	prog = program_load();
	err = prog < 0 ? prog : program_attach(prog, dir);
	close(dir);
	return err;
}

/**
 * evil_option_pause() - create sockets without the option, after evil_option_on()
 * @pause: true: from now on; false: with the option again
 *
 * Affects no socket that exists.
 *
 * Return: 0 or a negative errno.
 */
int evil_option_pause(bool pause)
{
	return cgroup_move_to(pause ? cgroup_root : cgroup_own);
}

/**
 * evil_option_in_syn() - search a TCP header for the option
 * @tcp: TCP header with its options
 * @len: bytes available
 *
 * Return: true if the header has it.
 */
bool evil_option_in_syn(const u8 *tcp, size_t len)
{
	size_t end, i = 20;

	if (len < 20)
		return false;
	end = (tcp[12] >> 4) * 4U;
	if (end > len)
		end = len;
	while (i < end && tcp[i]) {
		if (tcp[i] == 1) {
			i++;
			continue;
		}
		if (i + 2 > end || tcp[i + 1] < 2)
			return false;
		if (i + OPT_LEN <= end && !memcmp(&tcp[i], option, OPT_LEN))
			return true;
		i += tcp[i + 1];
	}
	return false;
}
