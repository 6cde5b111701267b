/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How a replayed call ends, in comparison with its record. */
#ifndef TC_CLI_AUDIT_ENDING_H
#define TC_CLI_AUDIT_ENDING_H

#include "cli/audit/past.h"

enum tc_ending_word {
    TC_REPLAY_SAME,
    TC_REPLAY_DIFFERS,
    TC_REPLAY_DENIED,
    TC_REPLAY_LEFT_OUT,
    TC_REPLAY_VERDICTS
};

/* How one call ends now, in comparison with its record. */
struct tc_ending {
    const struct tc_past_call *past;
    struct tc_slice now; /* the result; borrowed */
    enum tc_ending_word verdict;
    FILE *notes; /* lines that say why */
};

/* Adds a line; a call that was the same so far gets this verdict. */
void tc_ending_note(struct tc_ending *e, enum tc_ending_word verdict, const char *text);
/* The call was refused. */
void tc_ending_note_error(struct tc_ending *e, const struct toolcage_error *err);
/* Compares the result with the recorded one. `store` has the recorded output; -1: it is lost. */
void tc_ending_compare(struct tc_ending *e, int store, const struct toolcage_result *result);

#endif
