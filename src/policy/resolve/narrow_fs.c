/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The flags read and write. With a policy file, the grant keeps only the paths that they name;
 * without one, these paths are the grant. With a preset both: paths that it grants narrow it, and
 * the others are added. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/pathrule.h"
#include "policy/resolve/resolve.h"

/* A flag's value: "P" or, without a policy, "P=FROM"; the paths are made absolute. An equals sign
 * of a path is written "\=". */
struct file_flag {
    char *path, *from;
    enum tc_access access;
    const char *name, *value; /* borrowed */
};

static void file_flag_done(struct file_flag *flag)
{
    free(flag->path);
    free(flag->from);
}

/* Splits the value, into owned texts. False: out of memory. */
static bool split_flag(const char *value, char **ret_path, char **ret_from)
{
    char *to = *ret_path = strdup(value);
    *ret_from = NULL;
    for (const char *p = value; to && *p; p++) {
        if (*p == '\\' && p[1] == '=') {
            *to++ = *++p;
        } else if (*p == '=' && !*ret_from) {
            *to = '\0';
            to = *ret_from = strdup(p + 1);
        } else {
            *to++ = *p;
        }
    }
    if (to)
        *to = '\0';
    return to != NULL;
}

/* The parts are checked one by one when they become absolute. */
bool tc_flag_file_check(const struct tc_flag *flag, const char *value, struct tc_complaint *c)
{
    return tc_path_text_fine(value[0] == '=' ? "" : value, c);
}

static int read_flag(struct tc_resolve *r, const struct tc_narrowing *n, struct file_flag *ret)
{
    struct tc_complaint c;
    const char *cwd = r->facts->cwd ? r->facts->cwd : "/";
    _autofree_ char *path = NULL, *from = NULL;
    if (!split_flag(n->value, &path, &from))
        return tc_resolve_memory(r);
    ret->name = n->key;
    ret->value = n->value;
    ret->access = tc_streq(n->key, "write") ? TC_ACCESS_WRITE : TC_ACCESS_READ;
    int rc = tc_path_expand(path, cwd, r->facts->home, &ret->path, &c);
    if (!rc && from)
        rc = tc_path_expand(from, cwd, r->facts->home, &ret->from, &c);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_resolve_memory(r);
    return rc ? tc_resolve_refuse(r, TOOLCAGE_EPOLICY, n->key, 0, c.hint, "%s: %s", n->key, c.what)
              : 0;
}

/* ---- no policy file: the operator grants ---- */

static int grant_flag(struct tc_resolve *r, const struct file_flag *flag)
{
    struct tc_complaint c;
    _autofree_ char *from = flag->from ? strdup(flag->from)
                            : tc_path_within(TC_WORKSPACE, flag->path)
                                ? tc_path_move(TC_WORKSPACE, r->workspace, flag->path)
                                : strdup(flag->path);
    if (!from)
        return tc_resolve_memory(r);
    if (!tc_path_grantable(flag->path, from, flag->access, &c)) {
        if (strstr(c.hint, "another name")) /* not as the policy writes it */
            (void)snprintf(c.hint, sizeof(c.hint), "use another name in the cage: --%s /data=%s",
                           flag->name, from);
        return tc_resolve_refuse(r, TOOLCAGE_EDENIED, flag->name, 0, c.hint, "%s %s: %s",
                                 flag->name, flag->value, c.what);
    }
    for (size_t i = 0; i < r->grant->fs_count; i++)
        if (tc_streq(r->grant->fs[i].path, flag->path) && !tc_streq(r->grant->fs[i].from, from))
            return tc_resolve_refuse(r, TOOLCAGE_EUSAGE, flag->name, 0, "use two names in the cage",
                                     "%s is granted twice, from %s and from %s", flag->path,
                                     r->grant->fs[i].from, from);
    const struct tc_fs_entry entry = {.path = flag->path,
                                      .from = from,
                                      .access = flag->access,
                                      .origin = {.key = (char *)(uintptr_t)flag->name}};
    return tc_grant_add(r->grant, &entry) ? 0 : tc_resolve_memory(r);
}

/* ---- a policy file: only the paths that the flags name stay granted ---- */

static int refuse_outside(struct tc_resolve *r, const struct file_flag *flag,
                          const struct tc_fs_entry *covering)
{
    struct tc_origin origin = {0};
    if (!tc_resolve_origin(r, TC_KEY_FILESYSTEM, "filesystem", &origin))
        return tc_resolve_memory(r);
    _autofree_ char *key = origin.key;
    bool denied = covering && covering->access == TC_ACCESS_DENY;
    _autofree_ char *hint = tc_resolve_change_hint(r, &origin, "filesystem");
    const char *why = denied     ? "it is denied"
                      : covering ? "it is only readable"
                                 : "it is not granted";
    uint32_t line = covering ? covering->origin.line : origin.line;
    _autofree_ char *place =
        line ? tc_format(" (line " TC_LINE_FORM ")", TC_LINE_SHOWN(r->policy, line)) : strdup("");
    if (!place || !hint)
        return tc_resolve_memory(r);
    return tc_resolve_refuse(
        r, TOOLCAGE_EDENIED, key, line, hint,
        "%s %.200s is more than the policy grants: by %s%s %s", flag->name, flag->path,
        covering && covering->origin.key ? covering->origin.key : key, place, why);
}

/* Keeps the part of an entry that the flag names. */
static int keep_covered(struct tc_resolve *r, const struct file_flag *flag,
                        const struct tc_fs_entry *covering, struct tc_grant *kept)
{
    _autofree_ char *from = tc_path_move(covering->path, covering->from, flag->path);
    if (!from)
        return tc_resolve_memory(r);
    if (flag->from && !tc_streq(flag->from, from))
        return tc_resolve_refuse(r, TOOLCAGE_EDENIED, covering->origin.key, covering->origin.line,
                                 "leave out what follows \"=\"",
                                 "%s %s: the policy takes %s from %s", flag->name, flag->value,
                                 flag->path, from);
    struct tc_fs_entry entry = *covering;
    entry.path = flag->path;
    entry.from = from;
    entry.access = flag->access;
    return tc_grant_add(kept, &entry) ? 0 : tc_resolve_memory(r);
}

/* Adds to `kept` the granted paths that the flag names: its own path, and entries below it. Refuses
 * a path that the policy does not grant with this access. */
static int keep_flag(struct tc_resolve *r, const struct file_flag *flag, struct tc_grant *kept)
{
    const struct tc_fs_entry *covering = tc_grant_find(r->grant, flag->path);
    bool covered =
        covering && covering->access != TC_ACCESS_DENY && covering->access >= flag->access;
    bool below = false;
    if (covering && !covered)
        return refuse_outside(r, flag, covering);
    int rc = covered ? keep_covered(r, flag, covering, kept) : 0;
    for (size_t i = 0; !rc && i < r->grant->fs_count; i++) {
        struct tc_fs_entry entry = r->grant->fs[i];
        if (entry.access == TC_ACCESS_DENY || !tc_path_within(flag->path, entry.path))
            continue;
        below = true;
        if (tc_streq(entry.path, flag->path))
            continue;
        if (entry.access > flag->access)
            entry.access = flag->access;
        if (!tc_grant_add(kept, &entry))
            rc = tc_resolve_memory(r);
    }
    return rc || covered || below ? rc : refuse_outside(r, flag, NULL);
}

/* Does the grant have the path, or paths below it, with this access? */
static bool is_inside(const struct tc_grant *grant, const struct file_flag *flag)
{
    const struct tc_fs_entry *covering = tc_grant_find(grant, flag->path);
    if (covering)
        return covering->access == TC_ACCESS_DENY || covering->access >= flag->access;
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access != TC_ACCESS_DENY && tc_path_within(flag->path, grant->fs[i].path))
            return true;
    return false;
}

/* Moves the flags that widen a preset to the end. Returns the number of the others. */
static size_t split_flags(const struct tc_resolve *r, struct file_flag *flags, size_t count)
{
    size_t inside = 0;
    for (size_t i = 0; i < count; i++) {
        struct file_flag flag = flags[i];
        if (r->operators && (r->policy->is_default || !is_inside(r->grant, &flag)))
            continue;
        flags[i] = flags[inside];
        flags[inside++] = flag;
    }
    return inside;
}

static int narrow_to_flags(struct tc_resolve *r, const struct file_flag *flags, size_t count)
{
    struct tc_grant kept = {0};
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        rc = keep_flag(r, &flags[i], &kept);
    for (size_t i = 0; !rc && i < r->grant->fs_count; i++)
        if (r->grant->fs[i].access == TC_ACCESS_DENY && !tc_grant_add(&kept, &r->grant->fs[i]))
            rc = tc_resolve_memory(r);
    if (!rc) {
        struct tc_fs_entry *old = r->grant->fs;
        size_t old_count = r->grant->fs_count;
        r->grant->fs = kept.fs;
        r->grant->fs_count = kept.fs_count;
        kept.fs = old;
        kept.fs_count = old_count;
    }
    tc_grant_done(&kept);
    return rc;
}

int tc_narrow_files(struct tc_resolve *r)
{
    struct file_flag *flags = calloc(r->request->narrow_count + 1, sizeof(*flags));
    size_t count = 0;
    int rc = flags ? 0 : tc_resolve_memory(r);
    for (size_t i = 0; !rc && i < r->request->narrow_count; i++) {
        const struct tc_narrowing *n = &r->request->narrow[i];
        if (tc_streq(n->key, "read") || tc_streq(n->key, "write"))
            rc = read_flag(r, n, &flags[count++]);
    }
    size_t inside = rc ? 0 : split_flags(r, flags, count);
    if (!rc && (inside || !r->operators))
        rc = narrow_to_flags(r, flags, inside);
    for (size_t i = inside; !rc && i < count; i++)
        rc = grant_flag(r, &flags[i]);
    for (size_t i = 0; i < count; i++)
        file_flag_done(&flags[i]);
    free(flags);
    return rc;
}
