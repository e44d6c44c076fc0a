/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print the state tables of the code as Documentation/states.rst.
 * test_conn_fsm.c compares the committed file with this output and, with --rst,
 * writes a new one.
 */
#ifndef SMC_SELFTESTS_STATES_RST_H
#define SMC_SELFTESTS_STATES_RST_H

#include <stdio.h>
#include <smc/proto/conn_fsm.h>
#include <smc/proto/link_fsm.h>
#include <smc/proto/llc_flow.h>
#include <smc/proto/move_fsm.h>

static void rst_title(FILE *out, const char *title, char line)
{
	size_t i;

	fprintf(out, "%s\n", title);
	for (i = 0; title[i]; i++)
		fputc(line, out);
	fprintf(out, "\n\n");
}

static void rst_actions(FILE *out, u32 actions, const char *(*name)(u32 bit))
{
	const char *sep = "";
	u32 bit;

	for (bit = 1; bit; bit <<= 1) {
		if (!(actions & bit))
			continue;
		fprintf(out, "%s%s", sep, name(bit));
		sep = ", ";
	}
	if (!actions)
		fprintf(out, "\\-");
	fprintf(out, "\n");
}

static void rst_table(FILE *out, const char *widths)
{
	fprintf(out, ".. list-table::\n   :header-rows: 1\n   :widths: %s\n\n", widths);
}

static void rst_conn(FILE *out)
{
	unsigned int s, e;

	rst_title(out, "Connection", '=');
	fprintf(out,
		"RFC 7609 section 4.8, figures 22 and 23. States that the RFC has once and that\n"
		"behave differently after D (done writing) and C (closed) are split. An event that\n"
		"is not listed for a state is a protocol violation if it comes from the peer (its\n"
		"name begins with PEER), else a bug.\n\n");
	for (s = 0; s < SMC_CONN_STATES; s++) {
		rst_title(out, smc_conn_state_str((enum smc_conn_state)s), '-');
		fprintf(out, "RFC: %s. sock_diag: %u.\n\n",
			smc_conn_state_rfc_str((enum smc_conn_state)s),
			smc_conn_state_diag((enum smc_conn_state)s));
		rst_table(out, "20 20 60");
		fprintf(out, "   * - Event\n     - Next\n     - Actions\n");
		for (e = 0; e < SMC_CONN_EVENTS; e++) {
			struct smc_conn_row row;

			smc_conn_fsm_get_row((enum smc_conn_state)s, (enum smc_conn_event)e, &row);
			if (!row.legal)
				continue;
			fprintf(out, "   * - %s\n     - %s\n     - ",
				smc_conn_event_str((enum smc_conn_event)e),
				row.next == (enum smc_conn_state)s ? "stays" :
				smc_conn_state_str(row.next));
			rst_actions(out, row.actions, smc_conn_action_str);
		}
		fprintf(out, "\n");
	}
}

static void rst_link(FILE *out)
{
	static const char * const roles[] = { "server", "client" };
	unsigned int s, e, r;

	rst_title(out, "Link", '=');
	fprintf(out,
		"A link's queue pair from creation to its last reference. CONFIRM_REQ comes to a\n"
		"client only, CONFIRM_RSP to a server only.\n\n");
	for (s = 0; s < SMC_LINK_STATES; s++) {
		rst_title(out, smc_link_state_str((enum smc_link_state)s), '-');
		rst_table(out, "15 15 15 55");
		fprintf(out, "   * - Event\n     - Role\n     - Next\n     - Actions\n");
		for (e = 0; e < SMC_LINK_EVENTS; e++) {
			struct smc_link_row row[2];

			for (r = 0; r < 2; r++)
				smc_link_fsm_get_row((enum smc_link_role)r, (enum smc_link_state)s,
						     (enum smc_link_event)e, &row[r]);
			if (!row[0].legal && !row[1].legal)
				continue;
			r = row[0].legal ? 0 : 1;
			fprintf(out, "   * - %s\n     - %s\n     - %s\n     - ",
				smc_link_event_str((enum smc_link_event)e),
				row[0].legal && row[1].legal ? "both" : roles[r],
				row[r].next == (enum smc_link_state)s ? "stays" :
				smc_link_state_str(row[r].next));
			rst_actions(out, row[r].actions, smc_link_action_str);
		}
		fprintf(out, "\n");
	}
}

static void rst_move(FILE *out)
{
	unsigned int s, e;

	rst_title(out, "Orderly move", '=');
	fprintf(out,
		"A connection changes the link of its sending direction although the present link\n"
		"works; between native peers only. An event that is not listed for a state is a bug.\n\n");
	for (s = 0; s < SMC_MOVE_STATES; s++) {
		rst_title(out, smc_move_state_str((enum smc_move_state)s), '-');
		rst_table(out, "20 20 60");
		fprintf(out, "   * - Event\n     - Next\n     - Actions\n");
		for (e = 0; e < SMC_MOVE_EVENTS; e++) {
			struct smc_move_row row;

			smc_move_fsm_get_row((enum smc_move_state)s, (enum smc_move_event)e, &row);
			if (!row.legal)
				continue;
			fprintf(out, "   * - %s\n     - %s\n     - ",
				smc_move_event_str((enum smc_move_event)e),
				row.next == (enum smc_move_state)s ? "stays" :
				smc_move_state_str(row.next));
			rst_actions(out, row.actions, smc_move_action_str);
		}
		fprintf(out, "\n");
	}
}

static void rst_llc(FILE *out)
{
	unsigned int r, i, x;

	rst_title(out, "LLC exchanges", '=');
	fprintf(out,
		"RFC 7609 section 3.5.5.3. One exchange that changes the configuration runs at a\n"
		"time; the columns name it. *(we)* marks a message that this end is to send.\n\n"
		"RUN takes the slot; PREEMPT takes it from our own RKEY exchange; JOIN belongs to\n"
		"an exchange that waits for it; PASS acts at once whatever runs; REFUSE answers\n"
		"negatively, and is PASS for a peer that does not try again.\n\n");
	for (r = 0; r < SMC_LLC_ROLES; r++) {
		rst_title(out, r == SMC_LLC_SERVER ? "As server" : "As client", '-');
		rst_table(out, "30 14 14 14 14 14");
		fprintf(out, "   * - Input\n");
		for (x = 0; x < SMC_LLC_EXCHANGES; x++)
			fprintf(out, "     - %s\n", smc_llc_exchange_str((enum smc_llc_exchange)x));
		for (i = 0; i < SMC_LLC_INPUTS; i++) {
			fprintf(out, "   * - %s\n", smc_llc_input_str((enum smc_llc_input)i));
			for (x = 0; x < SMC_LLC_EXCHANGES; x++) {
				enum smc_llc_verdict verdict =
					smc_llc_flow_decide((enum smc_llc_role)r,
							    (enum smc_llc_exchange)x,
							    (enum smc_llc_input)i, 0);

				fprintf(out, "     - %s\n", smc_llc_verdict_str(verdict));
			}
		}
		fprintf(out, "\n");
	}
}

static void states_rst(FILE *out)
{
	fprintf(out, ".. SPDX-License-%s: GPL-2.0-only\n"
		".. Written by \"test_conn_fsm --rst\" from the tables in proto/. Do not edit.\n\n",
		"Identifier");
	rst_title(out, "State tables", '#');
	rst_conn(out);
	rst_link(out);
	rst_move(out);
	rst_llc(out);
}

#endif /* SMC_SELFTESTS_STATES_RST_H */
