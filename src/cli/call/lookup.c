/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/call/replace.h"
#include "cli/call/trust.h"
#include "cli/show/say.h"

/* Reads what defines a border: a directory's owner, file system and mount. */
static int look_at_border(const char *path, struct statx *ret)
{
    return statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_UID | STATX_MODE | STATX_INO | STATX_MNT_ID,
                 ret);
}

static bool same_directory(const struct statx *a, const struct statx *b)
{
    return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
           a->stx_dev_minor == b->stx_dev_minor;
}

/* The upward search ends at a border. Any user may have created a file in a world-writable
 * directory. */
static bool border(const struct statx *start, const struct statx *here)
{
    return here->stx_uid != start->stx_uid || here->stx_dev_major != start->stx_dev_major ||
           here->stx_dev_minor != start->stx_dev_minor || here->stx_mnt_id != start->stx_mnt_id ||
           (here->stx_mode & S_IWOTH);
}

/* The file names of a policy. */
static const char *const names[] = {TC_POLICY_NAME, "toolcage.yaml", "toolcage.yml"};

bool tc_lookup_wants_trust(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    _autofree_ char *own = tc_user_path("XDG_CONFIG_HOME", ".config", name);
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return !own || strcmp(own, path) != 0;
    return false;
}

/* Was any version of the file ever trusted? */
static int is_known(const char *path, bool *ret, struct tc_failure *failure)
{
    _autofree_ char *real = realpath(path, NULL);
    enum tc_trust trust = TC_TRUST_NEVER;
    int rc = real ? tc_trust_check(real, "", &trust, failure) : 0;
    *ret = trust != TC_TRUST_NEVER;
    return rc;
}

/* Chooses between two policies in one directory. A tool may have created one to disable the other,
 * so the one that was ever trusted is used. 1: the second, 0: the first, or -1. */
static int choose(const char *one, const char *other, struct tc_failure *failure)
{
    bool first, second;
    if (is_known(one, &first, failure) || is_known(other, &second, failure))
        return -1;
    if (first != second) {
        tc_cli_say("the policy %s was never trusted and is not used", first ? other : one);
        return second;
    }
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "keep one of them, or name it with --policy",
                          "there are two policies: %s and %s", one, other);
}

int tc_lookup_in(const char *directory, char **ret, struct tc_failure *failure)
{
    _autofree_ char *found = NULL;
    bool seen = true;
    for (size_t i = 0; i < TC_COUNT(names) && seen; i++) {
        struct stat st;
        _autofree_ char *path = tc_cli_format("%s/%s", directory, names[i]);
        if (!path)
            return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
        seen = !lstat(path, &st);
        if (!seen && (errno == ENOENT || errno == ENOTDIR)) {
            seen = true;
            continue;
        }
        int second = found ? choose(found, path, failure) : 1;
        if (second < 0)
            return -1;
        if (second) {
            free(found);
            found = path;
            path = NULL;
        }
    }
    *ret = found;
    found = NULL;
    return 0;
}

/* The creator of a link could choose which of the user's trusted policies is used here. */
static int refuse_link(const char *path, struct tc_failure *failure)
{
    (void)tc_failure_set(failure, TOOLCAGE_EUNTRUSTED,
                         "put the policy itself there, or name it with --policy FILE",
                         "the policy %s is a link, and a policy that is found from the working "
                         "directory must be a regular file",
                         path);
    return tc_failure_about(failure, path);
}

/* *ret is the canonical path of the policy in `directory`, or NULL. */
static int look_in(const char *directory, char **ret, struct tc_failure *failure)
{
    _autofree_ char *path = NULL;
    struct stat st;
    *ret = NULL;
    if (tc_lookup_in(strcmp(directory, "/") ? directory : "", &path, failure))
        return -1;
    if (path && !lstat(path, &st) && S_ISLNK(st.st_mode))
        return refuse_link(path, failure);
    if (!path || (*ret = realpath(path, NULL)))
        return 0;
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                          "fix or remove it, or name another policy with --policy",
                          "cannot read the policy %s: %s", path, strerror(errno));
}

static int nearest(char **ret, struct tc_failure *failure)
{
    _autofree_ char *directory = getcwd(NULL, 0);
    struct statx start, here, home = {0};
    if (!directory || look_at_border(directory, &start))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "change to a directory that exists",
                              "cannot look at the working directory: %s", strerror(errno));
    const char *home_path = secure_getenv("HOME");
    bool has_home = home_path && home_path[0] == '/' && !look_at_border(home_path, &home);
    here = start;
    for (;;) {
        if (look_in(directory, ret, failure))
            return -1;
        char *slash = strrchr(directory, '/');
        if (*ret || !directory[1] || (has_home && same_directory(&here, &home)))
            return 0;
        slash[slash == directory] = '\0';
        if (look_at_border(directory, &here))
            return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "name a policy with --policy FILE",
                                  "cannot look for a policy in %s: %s", directory, strerror(errno));
        if (border(&start, &here))
            return 0;
    }
}

/* The user's own policy needs no trust, so no other user may be able to change it. */
static int users_own(char **ret, struct tc_failure *failure)
{
    _autofree_ char *directory = tc_user_path("XDG_CONFIG_HOME", ".config", ""), *path = NULL;
    struct stat st;
    *ret = NULL;
    if (!directory && errno != ENOENT)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (directory && tc_lookup_in(directory, &path, failure))
        return -1;
    if (!path || (stat(path, &st) && (errno == ENOENT || errno == ENOTDIR)))
        return 0;
    if (stat(path, &st))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM,
                              errno == EACCES
                                  ? "set HOME to your own home directory, or use --policy FILE"
                                  : "fix or remove it, or use --policy FILE",
                              "cannot look for your own policy %s: %s", path, strerror(errno));
    if ((st.st_uid != geteuid() && st.st_uid) || (st.st_mode & S_IWOTH))
        return tc_failure_set(
            failure, TOOLCAGE_EUNTRUSTED, "make it a file that only you can write",
            "the policy %s belongs to another user or can be written by every user", path);
    *ret = path;
    path = NULL;
    return 0;
}

int tc_lookup_path(const char *given, char **ret, bool *ret_nearest, struct tc_failure *failure)
{
    const char *named = given ? given : secure_getenv("TOOLCAGE_POLICY");
    *ret_nearest = false;
    if (named && (given || *named)) {
        *ret = strdup(named);
        return *ret ? 0 : tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    }
    if (nearest(ret, failure))
        return -1;
    *ret_nearest = *ret;
    return *ret ? 0 : users_own(ret, failure);
}

char *tc_found_trust_command(const struct tc_found *found)
{
    return tc_trust_command(found->path, toolcage_policy_digest(found->policy));
}

static int refuse_policy(const struct tc_found *found, const char *why, struct tc_failure *failure)
{
    _autofree_ char *command = tc_found_trust_command(found);
    _autofree_ char *hint = command ? tc_cli_format("read it, then: %s", command) : NULL;
    (void)tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, hint, "the policy %s %s", found->path, why);
    return tc_failure_about(failure, found->path);
}

static int check_trust(struct tc_found *found, enum tc_lookup_flags flags,
                       struct tc_failure *failure)
{
    enum tc_trust trust;
    if (tc_trust_check(found->path, toolcage_policy_digest(found->policy), &trust, failure))
        return -1;
    found->untrusted = trust != TC_TRUST_YES;
    return found->untrusted && flags == TC_LOOKUP_TRUSTED
               ? refuse_policy(found,
                               trust == TC_TRUST_CHANGED ? "has changed since it was trusted"
                                                         : "is not trusted",
                               failure)
               : 0;
}

static bool is_open_to_all(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && (st.st_mode & S_IWOTH);
}

/* A policy named by the operator needs no trust, unless a tool may have written it. */
static int check_writers(struct tc_found *found, enum tc_lookup_flags flags,
                         struct tc_failure *failure)
{
    _autofree_ char *real = realpath(found->path, NULL);
    enum tc_trust trust = TC_TRUST_NEVER;
    if (found->path && is_open_to_all(found->path)) {
        _autofree_ char *hint =
            tc_cli_format("make it a file that only you can write: chmod o-w %s", found->path);
        return tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, hint,
                              "the policy %s can be written by every user", found->path);
    }
    int written = toolcage_policy_written(found->policy, NULL, NULL, tc_failure_error(failure));
    if (written <= 0)
        return written;
    if (real && tc_trust_check(real, toolcage_policy_digest(found->policy), &trust, failure))
        return -1;
    found->untrusted = trust != TC_TRUST_YES;
    return found->untrusted && flags == TC_LOOKUP_TRUSTED
               ? refuse_policy(found, "may have been written by a tool", failure)
               : 0;
}

int tc_lookup(const char *given, enum tc_lookup_flags flags, struct tc_found *ret,
              struct tc_failure *failure)
{
    bool nearest_one;
    *ret = (struct tc_found){0};
    if (flags == TC_LOOKUP_DEFAULT)
        return toolcage_policy_new_default(&ret->policy, tc_failure_error(failure)) ? -1 : 0;
    if (tc_lookup_path(given, &ret->path, &nearest_one, failure))
        return -1;
    int rc = ret->path
                 ? toolcage_policy_load_file(ret->path, &ret->policy, tc_failure_error(failure))
                 : toolcage_policy_new_default(&ret->policy, tc_failure_error(failure));
    if (!rc && ret->path)
        rc = nearest_one ? check_trust(ret, flags, failure) : check_writers(ret, flags, failure);
    if (rc)
        tc_found_done(ret);
    return rc ? -1 : 0;
}

void tc_found_done(struct tc_found *found)
{
    (void)toolcage_policy_unref(found->policy);
    free(found->path);
    *found = (struct tc_found){0};
}

char *tc_lookup_named(const char *given, struct tc_failure *failure)
{
    char *path = NULL;
    bool nearest;
    if (tc_lookup_path(given, &path, &nearest, failure))
        return NULL;
    if (!path)
        (void)tc_failure_set(failure, TOOLCAGE_ENOT_FOUND,
                             "name one, or write one with toolcage init",
                             "there is no policy file here");
    return path;
}

/* ---- a shipped profile as the policy of one command ---- */

/* Refuses options that choose a policy or one of its tools. */
static int refuse_beside(const struct tc_args *args, struct tc_failure *failure)
{
    static const char *const others[] = {"policy", "tool", "server"};
    for (size_t i = 0; i < TC_COUNT(others); i++)
        if (tc_args_has(args, others[i]))
            return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                                  "leave one of them out; a policy file may extend the profile: "
                                  "extends = \"profile:NAME\"",
                                  "--preset is a complete policy and cannot be combined with --%s",
                                  others[i]);
    return 0;
}

/* Uses the library's hint, which lists the profiles. "profile:" belongs in `extends` only. */
static int refuse_name(const char *name, struct tc_failure *failure)
{
    static const char prefix[] = "profile:";
    const char *listed = failure->error ? toolcage_error_hint(failure->error) : NULL;
    bool prefixed = !strncmp(name, prefix, strlen(prefix));
    _autofree_ char *hint = prefixed ? tc_cli_format("write --preset %s", name + strlen(prefix))
                            : listed ? strdup(listed)
                                     : NULL;
    toolcage_error_free(failure->error);
    failure->error = NULL;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint, "there is no preset \"%.60s\"", name);
}

int tc_preset_open(const struct tc_args *args, struct tc_found *ret, struct tc_failure *failure)
{
    const char *name = tc_args_value(args, "preset");
    *ret = (struct tc_found){0};
    if (refuse_beside(args, failure))
        return -1;
    int rc = toolcage_policy_new_preset(name, &ret->policy, tc_failure_error(failure));
    if (rc == TOOLCAGE_EPOLICY)
        return refuse_name(name, failure);
    if (rc)
        return -1;
    ret->path = tc_cli_format("preset %s", name);
    if (!ret->path)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    ret->preset = true;
    return 0;
}
