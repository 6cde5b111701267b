/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/facts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

extern char **environ;

static int working_directory(char **ret, struct toolcage_error **err)
{
    _autofree_ char *cwd = getcwd(NULL, 0);
    if (!cwd)
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_EPATH,
                                        .stage = "facts",
                                        .subject = ".",
                                        .errnum = errno,
                                        .hint = "change to a directory that exists"},
                       "the working directory has no name");
    /* The kernel marks a directory outside the process's root by "(unreachable)". */
    if (cwd[0] != '/')
        return tc_fail(err,
                       &(struct tc_why){.code = TOOLCAGE_EPATH,
                                        .stage = "facts",
                                        .subject = cwd,
                                        .hint = "change to a directory below this process's root"},
                       "the working directory is outside this process's root: %s", cwd);
    *ret = TAKE(cwd);
    return 0;
}

/* A value that is no absolute path counts as absent: a relative home would move with the directory.
 */
static char *absolute_variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? tc_path_absolute("/", value) : NULL;
}

static char *state_directory(const char *home)
{
    _autofree_ char *base = absolute_variable("XDG_STATE_HOME");
    if (base)
        return tc_path_join(base, "toolcage");
    return home ? tc_path_join(home, ".local/state/toolcage") : NULL;
}

int tc_surroundings_gather(struct tc_surroundings *ret, struct toolcage_error **err)
{
    int r = working_directory(&ret->cwd, err);
    if (r < 0)
        return r;
    ret->home = absolute_variable("HOME");
    ret->state = state_directory(ret->home);
    ret->facts = (struct tc_facts){.cwd = ret->cwd,
                                   .home = ret->home,
                                   .state = ret->state,
                                   .environ = (const char *const *)environ};
    return 0;
}

void tc_surroundings_done(struct tc_surroundings *s)
{
    free(s->cwd);
    free(s->home);
    free(s->state);
    *s = (struct tc_surroundings){0};
}
