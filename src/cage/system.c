/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The contents of every cage in addition to its grant: the system directories and generated files
 * of /etc. Pure. The library adds them to each plan; the helper prepares a root with them before
 * the first plan arrives. */
#include "cage/lower.h"

#include <string.h>

#include "policy/names/system_paths.h"

static bool copy_text(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return *to || !from;
}

struct tc_mount *tc_plan_mount(struct tc_plan *plan, enum tc_mount_kind kind, const char *path,
                               const char *from)
{
    struct tc_mount *m = TC_PUSH(plan->mounts, plan->mount_count);
    if (!m)
        return NULL;
    m->kind = kind;
    return copy_text(&m->path, path) && copy_text(&m->from, from) ? m : NULL;
}

static bool add_system(struct tc_plan *plan)
{
    for (const struct tc_system_path *s = tc_system_paths; s->path; s++)
        if (!s->made && !tc_plan_mount(plan, TC_MOUNT_SYSTEM, s->path, s->path))
            return false;
    return true;
}

/* passwd and group depend on the leased ids; all other files are constant. */
static bool add_made(struct tc_plan *plan)
{
    static const struct {
        const char *path, *content;
    } made[] = {{"/etc/hosts", "127.0.0.1 localhost cage\n::1 localhost\n"},
                {"/etc/resolv.conf",
                 "# answers to names of an allowlist and to no others\nnameserver 127.0.0.1\n"},
                {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"}};
    for (size_t i = 0; i < TC_COUNT(made); i++) {
        struct tc_mount *m = tc_plan_mount(plan, TC_MOUNT_FILE, made[i].path, NULL);
        if (!m || !copy_text(&m->content, made[i].content))
            return false;
    }
    return true;
}

bool tc_plan_system(struct tc_plan *plan, bool hosts, const char *more)
{
    return (!hosts || (add_system(plan) && copy_text(&plan->system, more))) && add_made(plan);
}
