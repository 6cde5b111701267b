/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/kept.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "call/result/result.h"
#include "plan/plan.h"

/* The message of the job: a plan with two words in it. */
static int make_plan(const struct tc_kept_ask *ask, int *ret_fd, struct toolcage_error **err)
{
    struct tc_plan plan = {.payload = strdup(ask->action)};
    char **name = ask->kind == TC_JOB_CHANGES ? &plan.call : &plan.session;
    *name = strdup(ask->name ? ask->name : "");
    bool whole = true;
    for (size_t i = 0; i < ask->path_count && whole; i++)
        whole = tc_strv_add(&plan.argv, ask->paths[i]);
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    tc_plan_visit(&wire, &plan);
    bool fine = whole && *name && plan.payload && !wire.failed;
    *ret_fd = fine ? tc_memfd("toolcage-kept", wire.out.data, wire.out.len) : -1;
    int saved = errno;
    tc_buf_done(&wire.out);
    tc_plan_done(&plan);
    if (!fine)
        return tc_fail_memory(err);
    return *ret_fd >= 0
               ? 0
               : tc_fail(err,
                         TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, ask->stage, "memfd_create", saved, NULL),
                         "cannot make a memory file");
}

static int read_answer(const struct tc_kept_ask *ask, int fd, char **ret_json,
                       struct toolcage_error **err)
{
    struct tc_outcome outcome = {0};
    int r = tc_outcome_read(fd, &outcome, err);
    if (r == 0 && outcome.failure.code < 0) {
        struct toolcage_error *error = tc_error_of_failure(&outcome.failure, NULL, 0);
        r = error ? tc_error_code(error) : TOOLCAGE_EMEMORY;
        if (err)
            *err = error;
        else
            tc_error_free(error);
    } else if (r == 0 && !(*ret_json = ask->write(ask->name, &outcome))) {
        r = tc_fail_memory(err);
    }
    tc_outcome_done(&outcome);
    return r;
}

int tc_engine_ask_kept(struct toolcage_engine *engine, const struct tc_kept_ask *ask,
                       char **ret_json, struct toolcage_error **err)
{
    struct tc_message message;
    _autofd_ int plan = -1, fd = -1;
    int r = make_plan(ask, &plan, err);
    if (r == 0)
        r = tc_engine_ask(engine, ask->kind, plan, &message, &fd, err);
    return r < 0 ? r : read_answer(ask, fd, ret_json, err);
}
