/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/viewed.h"

#include <stdio.h>
#include <string.h>

#include "cli/record.h"

static bool is_changes(const char *what)
{
    return strcmp(what, "changes") == 0;
}

static const char *name_of(const char *what)
{
    return is_changes(what) ? "viewed-changes" : "viewed-denials";
}

void tc_viewed_keep(const char *what, const char *call)
{
    (void)tc_record_keep(name_of(what), call, strlen(call));
}

/* What the command line can do about it; NULL without memory. */
static char *hint_of(const char *what, const char *call, const char *viewed, const char *action)
{
    char *hint = NULL;
    int n = !is_changes(what) ? asprintf(&hint, "toolcage allow %s shows them", call)
            : *viewed         ? asprintf(&hint,
                                         "toolcage changes %s shows them; toolcage changes %s %s acts on "
                                                 "those that were viewed",
                                         call, viewed, action)
                              : asprintf(&hint, "toolcage changes %s shows them", call);
    return n < 0 ? NULL : hint;
}

int tc_viewed_check(const char *what, const char *call, const char *action,
                    struct tc_failure *failure)
{
    _autofree_ char *path = tc_user_path("XDG_STATE_HOME", ".local/state", name_of(what));
    const char *why = "";
    _autofree_ char *record = path ? tc_record_read(path, &why) : NULL;
    const char *viewed = record ? record : "";
    _autofree_ char *hint = hint_of(what, call, viewed, action);
    if (*viewed && strcmp(viewed, call) == 0)
        return 0;
    if (!*viewed)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                              "the %s of the last call, %s, were not viewed yet", what, call);
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                          "the last call with %s is %s, but those of %s were viewed last", what,
                          call, viewed);
}
