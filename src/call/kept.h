/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Asking the helper about what it keeps on disk between calls: changes that wait, and sessions. */
#ifndef TC_CALL_KEPT_H
#define TC_CALL_KEPT_H

#include "call/engine.h"

struct tc_kept_ask {
    enum tc_job_kind kind;
    const char *stage; /* of errors: "changes", "session" */
    const char *name;  /* the call's or the session's; NULL: all */
    const char *action;
    size_t path_count; /* which of the call's changes; none: all */
    const char *const *paths;
    /* The helper's answer as JSON text: owned, NULL when out of memory. */
    char *(*write)(const char *name, const struct tc_outcome *outcome);
};

int tc_engine_ask_kept(struct toolcage_engine *engine, const struct tc_kept_ask *ask,
                       char **ret_json, struct toolcage_error **err);

#endif
