/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What every kind of works does in the same way with a cage's record. */
#include <stdarg.h>
#include <string.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "backend/backend.h"

/* Refusals of the grant were never runs: they are "denied"; the rest are our own errors. */
static int status_of(int code)
{
    return code == TOOLCAGE_EPATH || code == TOOLCAGE_EUNENFORCEABLE || code == TOOLCAGE_EDENIED
               ? TOOLCAGE_STATUS_DENIED
               : TOOLCAGE_STATUS_ERROR;
}

/* A refusal says which promise could not be kept. */
static void name_clause(struct tc_buf *message, const char *clause)
{
    if (message->data && !strstr(message->data, clause))
        tc_buf_addf(message, " (so %s cannot be enforced)", clause);
}

int tc_cage_fail(struct tc_cage *cage, const struct tc_why *why, int clause, const char *fmt, ...)
{
    struct tc_failure *f = &cage->outcome->failure;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    va_list ap;
    if (f->code)
        return -1; /* the first one says why */
    va_start(ap, fmt);
    tc_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (clause >= 0 && why->code == TOOLCAGE_EUNENFORCEABLE)
        name_clause(&text, tc_clause_name((enum tc_clause)clause));
    if (why->errnum)
        tc_buf_addf(&text, ": %s", strerror(why->errnum));
    *f = (struct tc_failure){.code = why->code,
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

int tc_cage_fail_memory(struct tc_cage *cage, const char *stage)
{
    struct tc_why why = {
        .code = TOOLCAGE_EMEMORY, .stage = stage, .hint = "free memory on this machine"};
    return tc_cage_fail(cage, &why, -1, "out of memory");
}

void tc_cage_close_streams(struct tc_cage *cage)
{
    int *streams[] = {&cage->stdin_fd, &cage->out_fd, &cage->err_fd, &cage->secrets_fd};
    for (size_t i = 0; i < TC_COUNT(streams); i++) {
        if (*streams[i] >= 0)
            (void)close(*streams[i]);
        *streams[i] = -1;
    }
}
