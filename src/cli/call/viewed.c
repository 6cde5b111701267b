/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/viewed.h"

#include <stdio.h>
#include <string.h>

#include "cli/call/record.h"

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

int tc_viewed_check(const char *what, const char *call, struct tc_failure *failure)
{
    _autofree_ char *path = tc_user_path("XDG_STATE_HOME", ".local/state", name_of(what));
    const char *why = "";
    _autofree_ char *record = path ? tc_record_read(path, &why) : NULL;
    const char *viewed = record ? record : "";
    _autofree_ char *hint = NULL;
    if (asprintf(&hint, "toolcage %s %s shows them", is_changes(what) ? "changes" : "allow", call) <
        0)
        hint = NULL;
    if (*viewed && strcmp(viewed, call) == 0)
        return 0;
    if (!*viewed)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                              "the %s of the last call, %s, were not viewed yet", what, call);
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                          "the last call with %s is %s, but those of %s were viewed last", what,
                          call, viewed);
}
