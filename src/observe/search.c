/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A name that is looked for in one place after the other: a program on a PATH, a library, a file of
 * settings. What was refused on the way to the place where it is says nothing of what the tool
 * needs. That it is there is seen in the cage; nothing is looked up outside. */
#include <string.h>

#include "base/path.h"
#include "observe/watch.h"

static uint64_t hash_of(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (const char *c = text; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    return h;
}

void tc_search_missed(struct tc_cage *cage, enum tc_denial_kind kind, const char *path,
                      const char *said, pid_t pid)
{
    struct tc_observer *o = cage->observer;
    o->missed[o->missed_next++ % TC_MISSED_MAX] = (struct tc_missed){
        .kind = kind, .pid = pid, .path = hash_of(path), .name = hash_of(tc_path_base(said))};
}

bool tc_search_is(const struct tc_missed *missed, enum tc_denial_kind kind, const char *path)
{
    return missed->kind == kind && missed->path == hash_of(path);
}

void tc_search_found(struct tc_cage *cage, enum tc_denial_kind kind, const char *said, pid_t pid)
{
    struct tc_observer *o = cage->observer;
    uint64_t name = hash_of(tc_path_base(said));
    for (size_t i = 0; i < TC_MISSED_MAX; i++) {
        struct tc_missed *m = &o->missed[i];
        if (m->pid != pid || m->kind != kind || m->name != name)
            continue;
        tc_notify_probe(cage, m);
        m->pid = 0;
    }
}
