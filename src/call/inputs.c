/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/inputs.h"

#include <errno.h>
#include <string.h>

#include "base/jsontext.h"
#include "base/path.h"
#include "call/live.h"
#include "policy/pathrule.h"

enum { MOST = 1 << 30 };

bool tc_call_is_replay(const struct toolcage_call *call)
{
    for (size_t i = 0; i < call->narrow_count; i++)
        if (tc_streq(call->narrow[i].key, "replay"))
            return true;
    return false;
}

/* ---- what the call may see ---- */

/* Could an entry below this directory be granted? */
static bool leads_to_grant(const struct tc_grant *grant, const char *path)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (grant->fs[i].access != TC_ACCESS_DENY && tc_path_within(path, grant->fs[i].path))
            return true;
    return false;
}

static bool shows(void *context, const char *relative, bool directory)
{
    const struct tc_grant *grant = context;
    _autofree_ char *path = tc_path_join(TC_WORKSPACE, relative);
    return path && (tc_grant_shows(grant, path) || (directory && leads_to_grant(grant, path)));
}

/* The host directory that would be the workspace by this entry, owned; NULL: by none. */
static char *workspace_by(const struct tc_fs_entry *e)
{
    const char *rest = e->path + strlen(TC_WORKSPACE);
    return e->from && tc_endswith(e->from, rest) ? strndup(e->from, strlen(e->from) - strlen(rest))
                                                 : NULL;
}

/* The host directory that is the workspace, owned; NULL: nothing of it is granted. `ret_mixed`: its
 * parts come from several. */
static char *workspace_of(const struct tc_grant *grant, bool *ret_mixed)
{
    char *workspace = NULL;
    *ret_mixed = false;
    for (size_t i = 0; i < grant->fs_count && !*ret_mixed; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        if (e->access == TC_ACCESS_DENY || !tc_path_within(TC_WORKSPACE, e->path))
            continue;
        _autofree_ char *other = workspace_by(e);
        *ret_mixed = !other || (workspace && strcmp(workspace, other) != 0);
        if (!workspace)
            workspace = TAKE(other);
    }
    return workspace;
}

/* ---- what cannot be replayed ---- */

static const char *obstacle(const struct toolcage_call *call)
{
    if (call->tool && tc_startswith(call->tool, "server."))
        return "it is a server";
    if (call->rows)
        return "it has a terminal";
    if (call->session || tc_call_is_live(call))
        return "it belongs to a session";
    if (call->installs)
        return "it is an install phase";
    return call->input.pipe >= 0 ? "its input came through a pipe" : NULL;
}

static const char *describe_store(void)
{
    return errno == EWOULDBLOCK ? "toolcage audit prune is running"
           : errno == EPERM     ? "others may write the store of inputs"
           : errno == ENOSPC    ? "the disk is full"
                                : "the store of inputs cannot be written";
}

/* NULL, or why it is not stored. */
static const char *keep(const struct toolcage_call *call, int64_t most, struct tc_inputs *store,
                        char ret_input[TC_DIGEST_SIZE], struct tc_inputs_tree *tree)
{
    bool mixed;
    _autofree_ char *workspace = workspace_of(&call->grant, &mixed);
    const char *why = mixed ? "parts of its workspace are from elsewhere" : obstacle(call);
    if (why)
        return why;
    if (tc_inputs_open(most ? most : MOST, store) < 0)
        return describe_store();
    const struct tc_call_input *input = &call->input;
    if (input->bytes && tc_inputs_put(store, input->bytes, input->length, ret_input) < 0)
        return errno == EDQUOT ? "the store of inputs is full (toolcage audit prune)"
                               : describe_store();
    if (!workspace)
        return NULL;
    return tc_inputs_keep(store, workspace, tree) < 0 ? tree->why : NULL;
}

void tc_call_keep_inputs(struct toolcage_call *call, int64_t most, struct tc_inputs *store,
                         struct tc_buf *out)
{
    struct tc_inputs_tree tree = {.shows = shows, .context = &call->grant};
    if (tc_call_is_replay(call))
        return;
    char input[TC_DIGEST_SIZE] = "";
    const char *why = keep(call, most, store, input, &tree);
    tc_json_key(out, "inputs");
    tc_buf_addc(out, '{');
    if (why)
        tc_json_member(out, "left_out", why);
    if (!why && input[0])
        tc_json_member(out, "input", input);
    if (!why && tree.digest[0]) {
        tc_json_member(out, "workspace", tree.digest);
        tc_json_number(out, "entries", tree.entries);
        tc_json_number(out, "bytes", tree.bytes);
    }
    tc_buf_addc(out, '}');
    call->inputs_kept = !why;
}

void tc_call_keep_output(int64_t most, const struct tc_outcome *o, struct tc_inputs *store)
{
    char digest[TC_DIGEST_SIZE];
    if (tc_inputs_open(most ? most : MOST, store) < 0)
        return;
    (void)tc_inputs_put(store, o->out.head ? o->out.head : "", o->out.head_len, digest);
    (void)tc_inputs_put(store, o->err.head ? o->err.head : "", o->err.head_len, digest);
}
