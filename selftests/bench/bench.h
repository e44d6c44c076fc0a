/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of smc_bench have in common. */
#ifndef SMC_SELFTESTS_BENCH_H
#define SMC_SELFTESTS_BENCH_H

#include <stdbool.h>

#include "traffic/traffic.h"

#define KIB		1024U
#define MIB		(1024U * KIB)
#define COST_UNIT	(64U * KIB)	/* bytes of a stream whose cost --insn gives */

/**
 * struct options - the command line
 * @client: parameters of the client operations
 * @require: mode that every measured connection must have
 * @shorts: ... those of the rows connect_autosmc, whose stream has @require, and connect_upgrade
 * @label: name of the measured module or family in the output
 * @rows: names of the rows to measure, comma separated, NULL for all
 * @rnic: RDMA device whose packets are counted, or NULL
 * @conns: of the row scale: numbers of connections, comma separated, which grow
 * @prefix: of the row scale: what the names in the output begin with
 * @target_ms: length of one stream measurement
 * @count: messages of a ping-pong, connections of a connect rate
 * @runs: measurements of each row
 * @insn: a nanosecond is an instruction: give costs
 */
struct options {
	struct trf_client client;
	enum tl_mode require;
	enum tl_mode shorts;
	const char *label;
	const char *rows;
	const char *rnic;
	const char *conns;
	const char *prefix;
	unsigned int target_ms;
	unsigned int count;
	unsigned int runs;
	bool insn;
};

/**
 * struct result - one line of the output
 * @name: of the row
 * @value: the value
 * @unit: its unit, unless it is a cost
 * @higher: a higher value is better
 * @cost: it is the last cost, in instructions
 * @mode: of the connections
 */
struct result {
	const char *name;
	double value;
	const char *unit;
	bool higher;
	bool cost;
	enum tl_mode mode;
};

extern struct options opt;

u64 measure_begin(void);
u64 measure_end(u64 begin);
double cost_of(u64 nsec, double units);
void print_result(const struct result *res);
int check_mode(int fd, enum tl_mode require, struct trf_outcome *out);
void send_at_once(int fd);
int run_one_pingpong(int fd, unsigned int size, unsigned int count, u64 *rtt,
		     struct trf_outcome *out);

/* scale.c */
int measure_scale(unsigned int *done);

#endif /* SMC_SELFTESTS_BENCH_H */
