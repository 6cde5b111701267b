/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Images of grants: replaces a name with the path of its current root. */
#include "call/host/programs.h"

#include <string.h>

#include "base/strv.h"
#include "image/index.h"
#include "policy/backends.h"
#include "policy/image_ref.h"
#include "provenance/provenance.h"

/* The same failure, with the policy location that requires the image. */
static int fail_there(const struct toolcage_policy *policy, const struct tc_grant *grant, int code,
                      const struct toolcage_error *why, struct toolcage_error **err)
{
    const char *prefix;
    uint32_t line = tc_policy_line(policy, grant->tool, "image", &prefix);
    if (!line)
        line = tc_policy_line(policy, grant->tool, "backend", &prefix);
    return tc_fail(err,
                   &(struct tc_why){.code = code,
                                    .stage = tc_error_stage(why),
                                    .subject = tc_error_subject(why),
                                    .hint = tc_error_hint(why),
                                    .file = line ? tc_policy_file(policy, line) : NULL,
                                    .line = tc_policy_number(line),
                                    .column = line ? 1 : 0},
                   "%s", tc_error_message(why));
}

static int use(const struct toolcage_policy *policy, const char *name, bool explain,
               struct tc_grant *grant, int *ret_lock, struct toolcage_error **err)
{
    _autoerror_ struct toolcage_error *why = NULL;
    _autofree_ char *path = NULL;
    struct tc_image_ref ref;
    const char *complaint = tc_image_ref_parse(name, &ref);
    int r = complaint ? tc_fail(&why,
                                TC_WHY(TOOLCAGE_EPOLICY, "image", name,
                                       "toolcage image list lists the names"),
                                "\"%s\" is not the name of an image: %s", name, complaint)
                      : tc_image_use(&ref, &path, ret_lock, &why);
    if (r == 0)
        return tc_grant_set(&grant->image, path, err);
    if (explain && r == TOOLCAGE_ENOT_FOUND)
        return tc_grant_set(&grant->image, name, err);
    return r == TOOLCAGE_EMEMORY ? tc_fail_memory(err) : fail_there(policy, grant, r, why, err);
}

/* Files that one tool wrote into the image would run with another tool's grant. */
static int check_writers(const struct toolcage_policy *policy, const struct tc_grant *grant,
                         const char *path, struct toolcage_error **err)
{
    _autoprovenance_ struct tc_provenance writers;
    _autoerror_ struct toolcage_error *why = NULL;
    if (!tc_provenance_here(&writers, &grant->tool_writable, tc_policy_writable(grant->policy)))
        return tc_fail_memory(err);
    if (!tc_provenance_tool(&writers, path))
        return 0;
    int r = tc_fail(&why,
                    TC_WHY(TOOLCAGE_EDENIED, "image", path,
                           "keep it where no tool writes, or import it: toolcage image import"),
                    "a tool may have written the image %s", path);
    return r == TOOLCAGE_EMEMORY ? tc_fail_memory(err) : fail_there(policy, grant, r, why, err);
}

int tc_image_extend(const struct toolcage_policy *policy, bool explain, struct tc_grant *grant,
                    int *ret_lock, struct toolcage_error **err)
{
    const char *said = grant->image;
    const struct tc_backend *backend = tc_backend_find(grant->backend);
    if (!said && backend && backend->kind == TC_BACKEND_CONTAINER)
        said = TC_IMAGE_DEFAULT;
    if (!said)
        return 0;
    if (said[0] == '/')
        return check_writers(policy, grant, said, err);
    if (tc_streq(said, TC_IMAGE_SYSTEM))
        return tc_grant_set(&grant->image, NULL, err);
    _autofree_ char *name = strdup(said);
    return name ? use(policy, name, explain, grant, ret_lock, err) : tc_fail_memory(err);
}
