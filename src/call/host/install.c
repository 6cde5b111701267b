/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Installs of a grant: the cache key, the tool's read-only tree, the install's inputs. */
#include "call/host/install.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "base/sys.h"
#include "call/host/facts.h"
#include "policy/model.h"
#include "provenance/provenance.h"

enum { INPUTS_MAX = 64 << 20 }; /* total bytes: each call reads them */

/* ---- the cache key ---- */

static int fail_input(const char *name, const char *what, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EPATH, "setup", name, errno,
                                "inputs are regular files below the policy file's directory, no "
                                "links, and at most 64 MiB together"),
                   "the input %s of the install phase %s", name, what);
}

/* Never through a link, which a tool could have made, and never outside the directory. */
static int open_input(int dir, const char *name, size_t most)
{
    struct stat st;
    const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                                 .resolve =
                                     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    _autofd_ int fd = tc_openat2(dir, name, &how);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
    return S_ISREG(st.st_mode) && (uint64_t)st.st_size <= most ? TAKE_FD(fd) : -1;
}

static int digest_input(int dir, const char *name, size_t *left, char ret[TC_DIGEST_SIZE])
{
    _autobuf_ struct tc_buf content = TC_BUF_INIT;
    content.max = *left;
    _autofd_ int fd = open_input(dir, name, *left);
    if (fd < 0 || tc_read_all(fd, &content) < 0)
        return -1;
    tc_digest(content.data ? content.data : "", content.len, ret);
    *left -= content.len;
    return 0;
}

int tc_install_key(const struct toolcage_policy *policy, const struct tc_install *install,
                   char ret[TC_DIGEST_SIZE], struct toolcage_error **err)
{
    _autostrv_ struct tc_strv names = {0};
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    size_t left = INPUTS_MAX;
    _autofd_ int dir =
        install->directory ? open(install->directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (!tc_strv_copy(&names, install->inputs))
        return tc_fail_memory(err);
    tc_strv_sort(&names);
    tc_buf_addf(&text, "{\"clause\":\"%s\"", install->clause);
    for (size_t i = 0; i < names.count; i++) {
        char digest[TC_DIGEST_SIZE];
        if (dir < 0 || digest_input(dir, names.items[i], &left, digest) < 0)
            return fail_input(names.items[i], "cannot be read", err);
        tc_json_member(&text, names.items[i], digest);
    }
    tc_buf_addc(&text, '}');
    if (text.failed)
        return tc_fail_memory(err);
    tc_digest(text.data, text.len, ret);
    return 0;
}

/* ---- a tool's call ---- */

/* Nothing else may be granted there: which files the tool sees would depend on the order. */
static int check_place(const struct tc_install *install, const struct tc_grant *grant,
                       struct toolcage_error **err)
{
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        bool apart =
            !tc_path_within(e->path, install->into) && !tc_path_within(install->into, e->path);
        if (e->access == TC_ACCESS_DENY || apart)
            continue;
        return tc_fail(
            err,
            TC_WHY(TOOLCAGE_EDENIED, "setup", install->prefix, "give `into` a separate directory"),
            "the install of %s is at %s, which overlaps the granted path %s", install->tool,
            install->into, e->path);
    }
    return 0;
}

static int fail_missing(const struct tc_install *install, const struct toolcage_policy *policy,
                        struct toolcage_error **err)
{
    _autofree_ char *hint =
        tc_format("the operator runs `toolcage setup --tool %s`", install->tool);
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EPATH,
                                    .stage = "setup",
                                    .subject = install->prefix,
                                    .hint = hint,
                                    .file = tc_policy_file(policy, install->line),
                                    .line = tc_policy_number(install->line),
                                    .column = 1},
                   "what %s needs in %s is not installed, or its clause or inputs have changed "
                   "since",
                   install->tool, install->into);
}

static int put_tree(const struct tc_install *install, const char *from, enum tc_access access,
                    struct tc_grant *grant, struct toolcage_error **err)
{
    _autofree_ char *key = tc_format("%s.into", install->prefix);
    const struct tc_fs_entry entry = {.path = (char *)install->into,
                                      .from = (char *)from,
                                      .access = access,
                                      .setup = true,
                                      .origin = {.key = key, .line = install->line}};
    return key ? tc_grant_put(grant, &entry, err) : tc_fail_memory(err);
}

int tc_install_extend(const struct toolcage_policy *policy, const struct tc_facts *facts,
                      bool explain, struct tc_grant *grant, struct toolcage_error **err)
{
    struct tc_install install;
    char key[TC_DIGEST_SIZE];
    if (!grant->tool || tc_policy_names_setup(policy, grant->tool) ||
        !tc_policy_setup(policy, grant->tool, &install))
        return 0;
    int r = check_place(&install, grant, err);
    if (r < 0)
        return r;
    r = tc_install_key(policy, &install, key, explain ? NULL : err);
    if (r < 0)
        return explain && r != TOOLCAGE_EMEMORY ? 0 : r;
    if (!(grant->setup = strdup(key)))
        return tc_fail_memory(err);
    _autofree_ char *from = tc_install_find(facts, key);
    if (!from)
        return errno == ENOMEM ? tc_fail_memory(err)
               : explain       ? 0
                               : fail_missing(&install, policy, err);
    grant->setup_ready = true;
    r = put_tree(&install, from, TC_ACCESS_READ, grant, err);
    return r < 0 ? r : tc_grant_complete(policy, facts, grant, err);
}

/* ---- an install ---- */

/* A tool that could write the input would choose the installed files and the network access. */
static int put_input(const struct tc_install *install, const char *from, const char *name,
                     struct tc_provenance *writers, struct tc_grant *grant,
                     struct toolcage_error **err)
{
    if (tc_provenance_tool(writers, from))
        return tc_fail(
            err,
            TC_WHY(TOOLCAGE_EDENIED, "setup", from,
                   "keep inputs in a directory that no tool writes, or grant tools less of it"),
            "a tool may have written the input %s of %s", name, install->name);
    _autofree_ char *path = tc_path_join(TC_SETUP_PLACE, name);
    _autofree_ char *key = tc_format("%s.inputs", install->prefix);
    const struct tc_fs_entry entry = {.path = path,
                                      .from = (char *)from,
                                      .access = TC_ACCESS_READ,
                                      .origin = {.key = key, .line = install->line}};
    return path && key ? tc_grant_put(grant, &entry, err) : tc_fail_memory(err);
}

/* May a tool have written it, or can a tool of the policy write below it? */
static bool meets_writable(struct tc_provenance *writers, const struct tc_strv *places,
                           const char *from)
{
    bool meets = tc_provenance_tool(writers, from);
    for (size_t i = 0; i < places->count && !meets; i++)
        meets = tc_path_within(from, places->items[i]);
    return meets;
}

/* Read grants of the install phase itself determine the installed files, as its inputs do. Read
 * grants of [defaults], which every tool has, are not checked: an install does not need them. */
static int check_reads(const struct tc_install *install, const struct tc_grant *grant,
                       struct toolcage_error **err)
{
    _autostrv_ struct tc_strv places = {0};
    _autoprovenance_ struct tc_provenance writers = {0};
    if (!tc_grant_tool_writable(grant, &places) || !tc_provenance_here(&writers, &places, NULL))
        return tc_fail_memory(err);
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        bool own = e->origin.key && tc_startswith(e->origin.key, install->prefix);
        if (own && e->access == TC_ACCESS_READ && e->from &&
            meets_writable(&writers, &places, e->from))
            return tc_fail(err,
                           TC_WHY(TOOLCAGE_EDENIED, "setup", e->from,
                                  "let it read a directory that no tool writes, or grant tools "
                                  "less of it"),
                           "%s, which the install phase of %s reads, may have been written by a "
                           "tool",
                           e->from, install->tool);
    }
    return 0;
}

static int put_inputs(const struct toolcage_policy *policy, const struct tc_install *install,
                      struct tc_grant *grant, struct toolcage_error **err)
{
    _autoprovenance_ struct tc_provenance writers;
    int r = 0;
    if (!tc_provenance_here(&writers, &grant->tool_writable, tc_policy_writable(grant->policy)))
        return tc_fail_memory(err);
    for (size_t i = 0; i < install->inputs->count && r == 0; i++) {
        const char *name = install->inputs->items[i];
        _autofree_ char *from = tc_path_join(install->directory, name);
        r = from ? put_input(install, from, name, &writers, grant, err) : tc_fail_memory(err);
    }
    if (r == 0 && install->inputs->count && !grant->cwd && !(grant->cwd = strdup(TC_SETUP_PLACE)))
        r = tc_fail_memory(err);
    return r;
}

/* For an install that runs and for one that is explained. 1: it may run, and the grant has its
 * inputs; 0: there is no install phase. */
static int put_install(const struct toolcage_policy *policy, struct tc_grant *grant,
                       struct tc_install *ret, struct toolcage_error **err)
{
    if (!tc_policy_setup(policy, grant->tool, ret))
        return 0;
    int r = check_place(ret, grant, err);
    if (r == 0)
        r = check_reads(ret, grant, err);
    if (r == 0)
        r = put_inputs(policy, ret, grant, err);
    return r < 0 ? r : 1;
}

int tc_install_begin(const struct toolcage_policy *policy, const struct tc_facts *facts,
                     struct tc_grant *grant, struct tc_install_stage **ret,
                     struct toolcage_error **err)
{
    struct tc_install install;
    char key[TC_DIGEST_SIZE];
    int r = put_install(policy, grant, &install, err);
    if (r <= 0)
        return r;
    r = tc_install_key(policy, &install, key, err);
    if (r == 0)
        r = tc_stage_begin(facts, key, ret, err);
    if (r == 0)
        r = put_tree(&install, (*ret)->tree, TC_ACCESS_WRITE, grant, err);
    return r < 0 ? r : tc_grant_complete(policy, facts, grant, err);
}

int tc_install_suppose(const struct toolcage_policy *policy, const struct tc_facts *facts,
                       struct tc_grant *grant, struct toolcage_error **err)
{
    struct tc_install install;
    char key[TC_DIGEST_SIZE];
    int r = put_install(policy, grant, &install, err);
    if (r <= 0 || (r = tc_setup_suppose(policy, grant, err)) < 0)
        return r;
    r = tc_install_key(policy, &install, key, NULL);
    if (r == TOOLCAGE_EMEMORY || (r == 0 && !(grant->setup = strdup(key))))
        return tc_fail_memory(err);
    _autofree_ char *tree = r == 0 ? tc_install_find(facts, key) : NULL;
    grant->setup_ready = tree;
    return tc_grant_complete(policy, facts, grant, err);
}

int tc_install_keep(const struct toolcage_policy *policy, const char *name,
                    struct tc_install_stage *stage, struct toolcage_error **err)
{
    struct tc_install install;
    char key[TC_DIGEST_SIZE];
    if (!tc_policy_setup(policy, name, &install))
        return tc_fail_memory(err);
    int r = tc_install_key(policy, &install, key, err);
    if (r < 0)
        return r;
    if (strcmp(key, stage->key) != 0)
        return tc_fail(err, TC_WHY(TOOLCAGE_EPATH, "setup", install.prefix, "run it again"),
                       "the inputs of %s changed while it ran, so nothing of it is kept", name);
    return tc_stage_keep(stage, err);
}

/* ---- all of a policy ---- */

static int add_row(struct tc_buf *out, const struct toolcage_policy *policy,
                   const struct tc_facts *facts, const struct tc_install *install)
{
    char key[TC_DIGEST_SIZE] = "";
    struct toolcage_error *why = NULL;
    int r = tc_install_key(policy, install, key, &why);
    _autofree_ char *tree = r < 0 ? NULL : tc_install_find(facts, key);
    tc_buf_addc(out, '{');
    tc_json_member(out, "tool", install->tool);
    tc_json_member(out, "into", install->into);
    tc_json_member(out, "file", tc_policy_file(policy, install->line));
    tc_json_number(out, "line", tc_policy_number(install->line));
    tc_json_key(out, "digest");
    if (r < 0)
        tc_buf_adds(out, "null");
    else
        tc_json_string(out, key, strlen(key));
    if (why)
        tc_json_member(out, "problem", tc_error_message(why));
    int64_t bytes = tree ? tc_install_bytes(facts, key) : -1;
    tc_json_bool(out, "ready", tree);
    tc_json_key(out, "bytes");
    if (bytes < 0)
        tc_buf_adds(out, "null}");
    else
        tc_buf_addf(out, "%" PRId64 "}", bytes);
    tc_error_free(why);
    return r == TOOLCAGE_EMEMORY ? r : 0;
}

static int remove_row(const struct toolcage_policy *policy, const struct tc_facts *facts,
                      const struct tc_install *install, unsigned *removed,
                      struct toolcage_error **err)
{
    char key[TC_DIGEST_SIZE];
    int r = tc_install_key(policy, install, key, err);
    return r < 0 ? r : tc_install_remove(facts, key, removed, err);
}

static int check_action(const struct toolcage_policy *policy, const char *tool, const char *action,
                        struct toolcage_error **err)
{
    struct tc_install install;
    if (strcmp(action, "list") != 0 && strcmp(action, "remove") != 0 &&
        (tool || strcmp(action, "clear") != 0))
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EUSAGE, "setup", action,
                              "the actions are list, remove and (of all) clear"),
                       "what is installed has no such action");
    if (!tool || (tc_policy_setup(policy, tool, &install) && strcmp(install.tool, tool) == 0))
        return 0;
    bool known = tc_policy_has_tool(policy, tool);
    return tc_fail(
        err,
        TC_WHY(TOOLCAGE_ENOT_FOUND, "setup", tool,
               known ? "toolcage-policy(5) describes `setup`" : "toolcage tools lists them"),
        known ? "%s has no install phase in %s" : "there is no tool %s in %s", tool,
        tc_policy_name(policy));
}

static int each(const struct toolcage_policy *policy, const struct tc_facts *facts,
                const char *tool, bool removes, struct tc_buf *out, unsigned *removed,
                struct toolcage_error **err)
{
    struct tc_install install;
    size_t place = 0, count = 0;
    int r = 0;
    while (r == 0 && tc_policy_next_setup(policy, &place, &install)) {
        if (tool && strcmp(install.tool, tool) != 0)
            continue;
        if (removes)
            r = remove_row(policy, facts, &install, removed, err);
        if (r < 0)
            break;
        tc_buf_adds(out, count++ ? "," : "");
        if (add_row(out, policy, facts, &install) < 0)
            r = tc_fail_memory(err);
    }
    return r;
}

int tc_policy_installs(const struct toolcage_policy *policy, const char *tool, const char *action,
                       char **ret_json, struct toolcage_error **err)
{
    _autosurroundings_ struct tc_surroundings here = {0};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    unsigned removed = 0;
    action = action ? action : "list";
    int r = check_action(policy, tool, action, err);
    if (r == 0)
        r = tc_surroundings_gather(&here, err);
    if (r == 0 && strcmp(action, "clear") == 0)
        r = tc_install_remove(&here.facts, NULL, &removed, err);
    tc_buf_adds(&out, "{\"setups\":[");
    if (r == 0)
        r = each(policy, &here.facts, tool, strcmp(action, "remove") == 0, &out, &removed, err);
    struct tc_kept_installs kept = {0};
    if (r == 0 && tc_install_sizes(&here.facts, &kept))
        r = tc_fail_memory(err);
    tc_buf_addf(&out, "],\"removed\":%u,\"kept\":{\"count\":%u,\"bytes\":%" PRId64 "}}", removed,
                kept.count, kept.bytes);
    if (r < 0)
        return r;
    *ret_json = tc_buf_steal(&out);
    return *ret_json ? 0 : tc_fail_memory(err);
}
