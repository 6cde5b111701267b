/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "provenance/provenance.h"

#include <unistd.h>

#include "base/path.h"
#include "base/places.h"

static int learn(struct tc_resolver *r, const void *context)
{
    const struct tc_provenance *p = context;
    for (size_t l = 0; l < TC_COUNT(p->places); l++)
        for (size_t i = 0; p->places[l] && i < p->places[l]->count; i++)
            if (tc_resolver_add(r, p->places[l]->items[i]) < 0)
                return -1;
    return tc_record_learn(&p->records, r);
}

void tc_provenance_init(struct tc_provenance *p, uid_t caller, const char *state,
                        const struct tc_strv *places, const struct tc_strv *more)
{
    *p = (struct tc_provenance){.records = {.state = state, .root = TC_RECORDS_ROOT},
                                .places = {places, more}};
    tc_resolver_init(&p->resolver, caller, learn, p);
}

bool tc_provenance_here(struct tc_provenance *p, const struct tc_strv *places,
                        const struct tc_strv *more)
{
    char *state = NULL;
    bool fine = tc_state_directory(&state);
    tc_provenance_init(p, geteuid(), state, places, more);
    p->state = state;
    return fine;
}

void tc_provenance_done(struct tc_provenance *p)
{
    free(p->state);
    tc_resolver_done(&p->resolver);
}

/* By name: a place that is not there yet, and what a tool will make in it. */
static bool is_named(const struct tc_provenance *p, const char *path)
{
    for (size_t l = 0; l < TC_COUNT(p->places); l++)
        for (size_t i = 0; p->places[l] && i < p->places[l]->count; i++)
            if (tc_path_within(p->places[l]->items[i], path))
                return true;
    return false;
}

bool tc_provenance_tool(struct tc_provenance *p, const char *path)
{
    if (is_named(p, path))
        return true;
    int r = tc_resolve_writable(&p->resolver, path);
    return r < 0 ? !tc_resolve_gone(errno) : r > 0;
}

bool tc_provenance_note(const struct tc_strv *places, const char *policy, const char *digest)
{
    _autofree_ char *state = NULL;
    if (!places->count)
        return true;
    if (!tc_state_directory(&state))
        return false;
    const struct tc_records records = {.state = state, .root = TC_RECORDS_ROOT};
    return tc_record_note(&records, places, policy, digest);
}

bool tc_provenance_knows(const char *policy, const char *digest)
{
    _autofree_ char *state = NULL;
    if (!tc_state_directory(&state))
        return false;
    const struct tc_records records = {.state = state, .root = TC_RECORDS_ROOT};
    return tc_record_knows(&records, policy, digest);
}
