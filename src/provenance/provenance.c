/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "provenance/provenance.h"

#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "state/places.h"

static int learn(struct tc_resolver *r, const void *context)
{
    const struct tc_provenance *p = context;
    for (size_t l = 0; l < TC_COUNT(p->places); l++)
        for (size_t i = 0; p->places[l] && i < p->places[l]->count; i++)
            if (tc_resolver_add(r, p->places[l]->items[i]) < 0)
                return -1;
    return tc_provenance_record_learn(&p->records, r);
}

void tc_provenance_init(struct tc_provenance *p, uid_t caller, const struct tc_strv *states,
                        const struct tc_strv *places, const struct tc_strv *more)
{
    *p = (struct tc_provenance){.records = {.states = states, .root = TC_RECORDS_ROOT},
                                .places = {places, more}};
    tc_resolver_init(&p->resolver, caller, learn, p);
}

bool tc_provenance_states(struct tc_strv *ret)
{
    static const char below[] = ".local/state/toolcage";
    _autofree_ char *home = NULL, *named = NULL;
    if (!tc_variable_path("HOME", &home) ||
        !tc_own_directory("XDG_STATE_HOME", home, below, &named) ||
        (named && !tc_strv_add(ret, named)))
        return false;
    _autofree_ char *usual = home ? tc_path_join(home, below) : NULL;
    return !home || (usual && (strcmp(usual, named) == 0 || tc_strv_add(ret, usual)));
}

bool tc_provenance_here(struct tc_provenance *p, const struct tc_strv *places,
                        const struct tc_strv *more)
{
    tc_provenance_init(p, geteuid(), &p->own, places, more);
    return tc_provenance_states(&p->own);
}

void tc_provenance_done(struct tc_provenance *p)
{
    tc_strv_done(&p->own);
    tc_resolver_done(&p->resolver);
}

/* Compares names, for paths that do not exist yet: a tool can create them. */
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

bool tc_provenance_note(const struct tc_strv *places, const char *file, const char *digest)
{
    if (!places->count && !file)
        return true;
    _autoprovenance_ struct tc_provenance here;
    return tc_provenance_here(&here, NULL, NULL) &&
           tc_provenance_record_note(&here.records, places, file, digest);
}

bool tc_provenance_knows(const char *file, const char *digest)
{
    _autoprovenance_ struct tc_provenance here;
    return tc_provenance_here(&here, NULL, NULL) &&
           tc_provenance_record_knows(&here.records, file, digest);
}
