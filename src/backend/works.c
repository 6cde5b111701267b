/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of works. */
#include <string.h>
#include <toolcage/result.h>

#include "backend/backend.h"
#include "backend/fake_works.h"
#include "backend/process/works.h"

static const struct tc_works *const all[] = {&tc_process_works, &tc_unconfined_works,
                                             &tc_fake_works};

const struct tc_works *tc_works_at(size_t index)
{
    return index < TC_COUNT(all) ? all[index] : NULL;
}

const struct tc_works *tc_works_find(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(all); i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

/* Refusals of the grant were never runs: they are "denied"; the rest are our own errors. */
static int status_of(int code)
{
    return code == TOOLCAGE_EPATH || code == TOOLCAGE_EUNENFORCEABLE || code == TOOLCAGE_EDENIED
               ? TOOLCAGE_STATUS_DENIED
               : TOOLCAGE_STATUS_ERROR;
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
