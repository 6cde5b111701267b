/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Operations on a cage's record that are the same for all executors. */
#include <stdarg.h>
#include <string.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "plan/backend.h"

/* The status of a call that failed: DENIED if its grant was refused, so nothing ran; ERROR if
 * toolcage itself failed. */
static int status_of(int code)
{
    return code == TOOLCAGE_EPATH || code == TOOLCAGE_EUNENFORCEABLE || code == TOOLCAGE_EDENIED
               ? TOOLCAGE_STATUS_DENIED
               : TOOLCAGE_STATUS_ERROR;
}

/* Adds the clause that cannot be enforced to the message, unless the message names it. */
static void name_clause(struct tc_buf *message, const char *clause)
{
    if (message->data && !strstr(message->data, clause))
        tc_buf_addf(message, " (so %s cannot be enforced)", clause);
}

int tc_cage_fail(struct tc_cage *cage, const struct tc_why *why, int clause, const char *fmt, ...)
{
    struct tc_outcome_failure *f = &cage->outcome->failure;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    va_list ap;
    if (f->code)
        return -1; /* the first failure is the cause */
    va_start(ap, fmt);
    tc_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (clause >= 0 && why->code == TOOLCAGE_EUNENFORCEABLE)
        name_clause(&text, tc_clause_name((enum tc_clause)clause));
    if (why->errnum)
        tc_buf_addf(&text, ": %s", strerror(why->errnum));
    *f = (struct tc_outcome_failure){.code = why->code,
                                     .stage = strdup(why->stage ? why->stage : ""),
                                     .subject = strdup(why->subject ? why->subject : ""),
                                     .message = tc_buf_steal(&text),
                                     .hint = strdup(why->hint ? why->hint : ""),
                                     .errnum = why->errnum,
                                     .clause = clause};
    cage->outcome->status = cage->running && why->code == TOOLCAGE_EUNENFORCEABLE
                                ? TOOLCAGE_STATUS_ERROR
                                : status_of(why->code);
    return -1;
}

int tc_cage_unlayered(struct tc_cage *cage, int clause)
{
    cage->unlayered =
        cage->plan->workspace != TC_WORKSPACE_BIND && cage->plan->instead == TC_INSTEAD_BIND;
    return cage->unlayered ? -1 : clause;
}

int tc_cage_fail_memory(struct tc_cage *cage, const char *stage)
{
    struct tc_why why = {
        .code = TOOLCAGE_EMEMORY, .stage = stage, .hint = "free memory on this machine"};
    return tc_cage_fail(cage, &why, -1, "out of memory");
}

struct tc_probe *tc_cage_probed(const struct tc_cage *probed, struct tc_outcome *outcome)
{
    const struct tc_outcome_failure *f = &probed->outcome->failure;
    struct tc_probe *row = TC_PUSH(outcome->probes, outcome->probe_count);
    if (!row)
        return NULL;
    *row = (struct tc_probe){
        .backend = strdup(probed->executor->name), .whole = true, .works = probed->running};
    if (row->works)
        return row;
    row->clause = f->clause >= 0 ? f->clause : TC_CLAUSE_PRIV_NONE;
    row->reason = f->message ? strdup(f->message)
                             : tc_format("the trial container did not start within %lld s",
                                         (long long)probed->plan->limits.timeout_ms / 1000);
    row->fix = strdup(f->hint ? f->hint : "try again when this machine is less busy");
    return row;
}

void tc_cage_close_streams(struct tc_cage *cage)
{
    int *streams[] = {&cage->stdin_fd,   &cage->out_fd,       &cage->err_fd,
                      &cage->secrets_fd, &cage->exchanges_fd, &cage->published_fd};
    for (size_t i = 0; i < TC_COUNT(streams); i++) {
        if (*streams[i] >= 0)
            (void)close(*streams[i]);
        *streams[i] = -1;
    }
}

struct tc_cage tc_cage_empty(const struct tc_plan *plan, struct tc_outcome *outcome)
{
    return (struct tc_cage){.plan = plan,
                            .outcome = outcome,
                            .secrets_fd = -1,
                            .exchanges_fd = -1,
                            .published_fd = -1,
                            .stdin_fd = -1,
                            .out_fd = -1,
                            .err_fd = -1,
                            .event_fd = -1,
                            .exit_fd = -1};
}

/* ---- optional operations ---- */

static const struct tc_executor *executor_of(const struct tc_cage *cage)
{
    static const struct tc_executor none = {0};
    return cage->executor ? cage->executor : &none;
}

int tc_cage_prepare(struct tc_cage *cage)
{
    return executor_of(cage)->prepare ? cage->executor->prepare(cage) : 0;
}

void tc_cage_pass_signal(struct tc_cage *cage, int number)
{
    if (executor_of(cage)->pass_signal)
        cage->executor->pass_signal(cage, number);
}

int tc_cage_event(struct tc_cage *cage)
{
    return executor_of(cage)->event ? cage->executor->event(cage) : 0;
}

/* A cage whose call failed before an executor was chosen owns only the call's streams. */
bool tc_cage_destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    if (executor_of(cage)->destroy)
        return cage->executor->destroy(cage, may_block);
    tc_cage_close_streams(cage);
    return true;
}
