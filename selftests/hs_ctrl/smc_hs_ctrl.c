// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers a BPF object of the module's type smc_hs_ctrl, by a link for as long as this process
 * runs, or until it is unregistered. Its programs refuse the SMC option for one port each.
 *
 * They are written as instructions, and the types are read from the kernel, so that the test hosts
 * need no compiler and no libbpf. Needs privileges.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/testlib.h"

#define TYPE		"smc_hs_ctrl"
#define VALUE_TYPE	"bpf_struct_ops_" TYPE
#define NAME_SIZE	16
#define USAGE \
	"usage: smc_hs_ctrl NAME FLAGS SYN_PORT SYN_ACK_PORT [sleepable|unlinked]\n" \
	"       smc_hs_ctrl unregister\n"

/* Newer than the headers of the oldest system that builds this. */
#define F_LINK			0x2000
#define F_VTYPE_BTF_OBJ_FD	0x8000
#define ATTACH_STRUCT_OPS	44
#ifndef BTF_KIND_ENUM64
#define BTF_KIND_ENUM64		19
#endif

/* Of struct sock_common, with which both arguments begin: where the ports of a connection are. */
#define PEER_PORT	12	/* skc_dport */
#define OWN_PORT	14	/* skc_num, in the host's byte order */

static void die(const char *what)
{
	fprintf(stderr, "smc_hs_ctrl: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int sys_bpf(int cmd, void *attr, size_t len)
{
	return syscall(SYS_bpf, cmd, attr, len);
}

/* ---- types of the kernel and of the module ---- */

/**
 * struct types - BTF of the kernel, or of a module, which continues the kernel's
 * @base: the kernel's, or NULL
 * @fd: for calls that name it
 * @head: as the kernel has it
 * @first: number of its first type
 * @end: number behind its last type
 * @texts: bytes of strings, with those of @base
 */
struct types {
	const struct types *base;
	int fd;
	struct btf_header *head;
	u32 first;
	u32 end;
	u32 texts;
};

static const char *types_text(const struct types *t, u32 off)
{
	u32 before = t->base ? t->base->texts : 0;

	if (off < before)
		return types_text(t->base, off);
	return (const char *)t->head + t->head->hdr_len + t->head->str_off + (off - before);
}

static const struct btf_type *types_begin(const struct types *t)
{
	return (const void *)((const char *)t->head + t->head->hdr_len + t->head->type_off);
}

static const struct btf_type *types_end(const struct types *t)
{
	return (const void *)((const char *)types_begin(t) + t->head->type_len);
}

/* The type that follows. */
static const struct btf_type *type_next(const struct btf_type *type)
{
	static const struct {
		size_t fixed;
		size_t each;
	} sizes[] = {
		[BTF_KIND_INT] = { sizeof(u32), 0 },
		[BTF_KIND_ARRAY] = { sizeof(struct btf_array), 0 },
		[BTF_KIND_STRUCT] = { 0, sizeof(struct btf_member) },
		[BTF_KIND_UNION] = { 0, sizeof(struct btf_member) },
		[BTF_KIND_ENUM] = { 0, sizeof(struct btf_enum) },
		[BTF_KIND_FUNC_PROTO] = { 0, sizeof(struct btf_param) },
		[BTF_KIND_VAR] = { sizeof(struct btf_var), 0 },
		[BTF_KIND_DATASEC] = { 0, sizeof(struct btf_var_secinfo) },
		[BTF_KIND_DECL_TAG] = { sizeof(struct btf_decl_tag), 0 },
		[BTF_KIND_ENUM64] = { 0, 3 * sizeof(u32) },
	};
	u32 kind = BTF_INFO_KIND(type->info);

	if (kind >= TL_ARRAY_SIZE(sizes)) {
		fprintf(stderr, "smc_hs_ctrl: unknown kind %u of BTF\n", kind);
		exit(1);
	}
	return (const void *)((const char *)(type + 1) + sizes[kind].fixed +
			      BTF_INFO_VLEN(type->info) * sizes[kind].each);
}

/* Read the BTF object @fd into @buf, which has room for info->btf_size bytes, and its name. */
static void types_read(int fd, struct bpf_btf_info *info, void *buf, char name[64])
{
	union bpf_attr attr = {
		.info = { .bpf_fd = fd, .info_len = sizeof(*info), .info = (uintptr_t)info },
	};

	info->btf = (uintptr_t)buf;
	info->name = (uintptr_t)name;
	info->name_len = 64;
	if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		die("info");
}

/* The BTF of the kernel object @name: "vmlinux" or a module. */
static void types_load(struct types *t, const char *name, const struct types *base)
{
	union bpf_attr attr = {};
	struct bpf_btf_info info;
	const struct btf_type *type;
	char found[64];

	for (;;) {
		if (sys_bpf(BPF_BTF_GET_NEXT_ID, &attr, sizeof(attr)))
			die(name);
		attr.start_id = attr.next_id;
		attr.next_id = 0;
		t->fd = sys_bpf(BPF_BTF_GET_FD_BY_ID, &attr, sizeof(attr));
		if (t->fd < 0)
			die(name);
		memset(&info, 0, sizeof(info));
		types_read(t->fd, &info, NULL, found);
		if (info.kernel_btf && !strcmp(found, name))
			break;
		close(t->fd);
	}
	t->base = base;
	t->head = calloc(1, info.btf_size);
	if (!t->head)
		die(name);
	types_read(t->fd, &info, t->head, found);
	t->texts = t->head->str_len + (base ? base->texts : 0);
	/* number 0 is void */
	t->first = base ? base->end : 1;
	t->end = t->first;
	for (type = types_begin(t); type < types_end(t); type = type_next(type))
		t->end++;
}

static const struct btf_type *types_find(const struct types *t, const char *name, u32 *id)
{
	const struct btf_type *type = types_begin(t);

	for (*id = t->first; *id < t->end; (*id)++, type = type_next(type)) {
		if (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT &&
		    !strcmp(types_text(t, type->name_off), name))
			return type;
	}
	errno = ENOENT;
	die(name);
	return NULL;
}

/* The offset of a member in bytes, and its number. */
static u32 types_member(const struct types *t, const struct btf_type *type, const char *name,
			u32 *number)
{
	const struct btf_member *m = (const void *)(type + 1);

	for (*number = 0; *number < BTF_INFO_VLEN(type->info); (*number)++)
		if (!strcmp(types_text(t, m[*number].name_off), name))
			return m[*number].offset / 8;
	errno = ENOENT;
	die(name);
	return 0;
}

/* ---- the object ---- */

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

/* A function that returns 0 if the port at @off of its argument @arg is @port, else 1. */
static int program_load(const struct types *t, u32 type, u32 member, u32 flags, int arg, int off,
			u16 port)
{
	static char log[16384];
	const struct bpf_insn insns[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_1, arg * 8, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_H, BPF_REG_1, BPF_REG_1, off, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_1, 0, 1, port),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_STRUCT_OPS,
		.prog_flags = flags,
		.expected_attach_type = member,
		.attach_btf_id = type,
		.attach_btf_obj_fd = t->fd,
		.insns = (uintptr_t)insns,
		.insn_cnt = TL_ARRAY_SIZE(insns),
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0) {
		fputs(log, stderr);
		die("program");
	}
	return fd;
}

/* A map of struct_ops must have some BTF of its owner, which is not used. */
static int some_types_load(void)
{
	static const struct {
		struct btf_header head;
		struct btf_type type;
		u32 bits;
		char texts[8];
	} data = {
		.head = {
			.magic = 0xeb9f,
			.version = 1,
			.hdr_len = sizeof(data.head),
			.type_len = sizeof(data.type) + sizeof(data.bits),
			.str_off = sizeof(data.type) + sizeof(data.bits),
			.str_len = sizeof(data.texts),
		},
		.type = { .name_off = 1, .info = BTF_KIND_INT << 24, .size = sizeof(int) },
		.bits = 32,
		.texts = "\0number",
	};
	union bpf_attr attr = { .btf = (uintptr_t)&data, .btf_size = sizeof(data) };
	int fd = sys_bpf(BPF_BTF_LOAD, &attr, sizeof(attr));

	if (fd < 0)
		die("BTF");
	return fd;
}

static int map_create(const struct types *t, u32 type, u32 size, u32 flags)
{
	/* the head of union bpf_attr, as of kernel 6.9 */
	struct {
		u32 map_type, key_size, value_size, max_entries, map_flags, inner_map_fd, numa_node;
		char map_name[BPF_OBJ_NAME_LEN];
		u32 map_ifindex, btf_fd, btf_key_type_id, btf_value_type_id;
		u32 btf_vmlinux_value_type_id;
		u64 map_extra;
		int value_type_btf_obj_fd, map_token_fd;
	} attr = {
		.map_type = BPF_MAP_TYPE_STRUCT_OPS,
		.key_size = sizeof(u32),
		.value_size = size,
		.max_entries = 1,
		.map_flags = flags | F_VTYPE_BTF_OBJ_FD,
		.map_name = TYPE,
		.btf_fd = some_types_load(),
		.btf_vmlinux_value_type_id = type,
		.value_type_btf_obj_fd = t->fd,
	};
	int fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		die("map");
	return fd;
}

/* With a link, the object is registered as long as that is open. */
static void object_register(int map, void *value, bool linked)
{
	u32 key = 0;
	union bpf_attr update = {
		.map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)value,
	};
	union bpf_attr link = {
		.link_create = { .prog_fd = map, .attach_type = ATTACH_STRUCT_OPS },
	};

	if (sys_bpf(BPF_MAP_UPDATE_ELEM, &update, sizeof(update)))
		die("object");
	if (linked && sys_bpf(BPF_LINK_CREATE, &link, sizeof(link)) < 0)
		die("link");
}

static int map_open(u32 id)
{
	union bpf_attr attr = { .map_id = id };
	int fd = sys_bpf(BPF_MAP_GET_FD_BY_ID, &attr, sizeof(attr));

	if (fd < 0)
		die("map");
	return fd;
}

static bool map_is_ours(int map)
{
	struct bpf_map_info info = {};
	union bpf_attr attr = {
		.info = { .bpf_fd = map, .info_len = sizeof(info), .info = (uintptr_t)&info },
	};

	if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		die("info");
	return !strcmp(info.name, TYPE);
}

/* End the object without a link, which may be another process's. The others refuse that. */
static void object_unregister(void)
{
	union bpf_attr next = {};
	u32 key = 0;

	while (!sys_bpf(BPF_MAP_GET_NEXT_ID, &next, sizeof(next))) {
		union bpf_attr delete = {
			.map_fd = map_open(next.next_id), .key = (uintptr_t)&key,
		};

		if (map_is_ours(delete.map_fd) &&
		    !sys_bpf(BPF_MAP_DELETE_ELEM, &delete, sizeof(delete)))
			return;
		close(delete.map_fd);
		next.start_id = next.next_id;
		next.next_id = 0;
	}
	die("no object without a link");
}

/* A port of 0: the object lacks that function. */
int main(int argc, char **argv)
{
	const struct btf_type *type, *value_type;
	struct types kernel, module;
	u32 type_id, value_id, n, off, sleepable;
	char *value, *object;
	bool linked;

	if (argc == 2 && !strcmp(argv[1], "unregister")) {
		object_unregister();
		return 0;
	}
	if (argc != 5 && argc != 6) {
		fputs(USAGE, stderr);
		return 2;
	}
	linked = argc == 5 || strcmp(argv[5], "unlinked");
	sleepable = argc == 6 && !strcmp(argv[5], "sleepable") ? BPF_F_SLEEPABLE : 0;
	types_load(&kernel, "vmlinux", NULL);
	types_load(&module, "smc", &kernel);
	type = types_find(&module, TYPE, &type_id);
	value_type = types_find(&module, VALUE_TYPE, &value_id);
	value = calloc(1, value_type->size);
	if (!value)
		die("object");
	object = value + types_member(&module, value_type, "data", &n);

	off = types_member(&module, type, "name", &n);
	/* a name that is too long fills the field, without an end */
	memcpy(object + off, argv[1], strnlen(argv[1], NAME_SIZE));
	off = types_member(&module, type, "flags", &n);
	*(int *)(object + off) = atoi(argv[2]);
	off = types_member(&module, type, "syn_option", &n);
	if (atoi(argv[3]))
		*(unsigned long *)(object + off) =
			program_load(&module, type_id, n, sleepable, 0, PEER_PORT,
				     htons(atoi(argv[3])));
	off = types_member(&module, type, "synack_option", &n);
	if (atoi(argv[4]))
		*(unsigned long *)(object + off) =
			program_load(&module, type_id, n, sleepable, 1, OWN_PORT, atoi(argv[4]));
	object_register(map_create(&module, value_id, value_type->size, linked ? F_LINK : 0),
			value, linked);
	puts("registered");
	fflush(stdout);
	pause();
	return 0;
}
