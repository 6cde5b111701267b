/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The fronts of the container runtimes. */
#include <string.h>
#include <toolcage/error.h>

#include "backend/oci/config.h"
#include "base/path.h"
#include "base/strv.h"
#include "cage/lower.h"

/* JSON can carry text alone, and a name that the runtime would change is not the one that was
 * granted. */
static const char *odd_word(const struct tc_plan *plan)
{
    const struct tc_strv *lists[] = {&plan->argv, &plan->env};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        for (size_t j = 0; j < lists[i]->count; j++)
            if (!tc_utf8_valid(lists[i]->items[j], strlen(lists[i]->items[j])))
                return i ? "env" : "command";
    for (size_t i = 0; i < plan->mount_count; i++)
        if (!tc_utf8_valid(plan->mounts[i].path, strlen(plan->mounts[i].path)))
            return "filesystem";
    return NULL;
}

static bool below_grant(const struct tc_grant *grant, const char *path)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access != TC_ACCESS_DENY && tc_path_within(grant->fs[i].path, path))
            return true;
    return false;
}

/* A directory, in which names that the operator denies do not stand. */
static int check_image(const struct tc_grant *grant, struct toolcage_error **err)
{
    struct tc_why why = {.code = TOOLCAGE_EUNENFORCEABLE, .stage = "lower", .subject = "image"};
    if (!grant->image)
        return 0;
    why.hint = "remove the file from the image";
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        if (e->access == TC_ACCESS_DENY && !e->built_in && !below_grant(grant, e->path))
            return tc_fail(err, &why, "the denied name %s may be one of the image's", e->path);
    }
    return 0;
}

static int lower_for(const struct tc_grant *grant, const char *name, enum tc_oci_kind kind,
                     struct tc_plan *ret, struct toolcage_error **err)
{
    if (grant->unix_sockets)
        return tc_fail(
            err,
            &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                             .stage = "lower",
                             .subject = "unix_sockets",
                             .hint = "unix_sockets = \"none\", or backend = \"process\""},
            "the backend %s connects to no unix socket in a tool's place", name);
    int r = check_image(grant, err);
    if (r == 0)
        r = tc_local_lower(grant, name, ret, err);
    if (r < 0)
        return r;
    const char *odd = odd_word(ret);
    if (odd)
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                        .stage = "lower",
                                        .subject = odd,
                                        .hint = "use backend = \"process\" for it"},
                       "a container runtime takes text only, and `%s` has bytes that are not UTF-8",
                       odd);
    ret->payload = tc_oci_config(ret, kind);
    return ret->payload ? 0 : tc_fail_memory(err);
}

static int lower_oci(const struct tc_grant *grant, struct tc_plan *ret, struct toolcage_error **err)
{
    return lower_for(grant, "oci", TC_OCI_KERNEL, ret, err);
}

static int lower_gvisor(const struct tc_grant *grant, struct tc_plan *ret,
                        struct toolcage_error **err)
{
    bool paths = grant->denials == TC_DENIALS_PATHS || grant->denials == TC_DENIALS_ACCESSES;
    if (paths)
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                        .stage = "lower",
                                        .subject = "denials",
                                        .hint = "denials = \"calls\", or backend = \"process\""},
                       "gVisor answers the tool's system calls itself, so its paths cannot be "
                       "observed");
    if (grant->syscalls_allow.count)
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                        .stage = "lower",
                                        .subject = tc_clause_name(TC_CLAUSE_SYSCALLS),
                                        .hint = "take syscalls.allow out, or backend = "
                                                "\"process\""},
                       "gVisor's own kernel decides what %s does, so it cannot be given back",
                       grant->syscalls_allow.items[0]);
    return lower_for(grant, "gvisor", TC_OCI_SENTRY, ret, err);
}

const struct tc_front tc_oci_front = {
    .name = "oci",
    .summary = "a container of crun or runc, with our own PID 1 in it",
    .provides = ~TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET),
    .lower = lower_oci,
};

const struct tc_front tc_gvisor_front = {
    .name = "gvisor",
    .summary = "a container of runsc, which answers system calls by a kernel of its own",
    .provides = ~TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET),
    .lower = lower_gvisor,
};
