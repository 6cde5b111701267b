/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/live/action.h"

#include <stdlib.h>
#include <string.h>

int tc_action_set(struct toolcage_call *call, char *const *words, size_t count, int *ret_stream,
                  struct toolcage_error **err)
{
    if (count != TC_ACTION_WORDS)
        return toolcage_session_stat(call, "", err); /* refused */
    const char *action = words[0], *path = words[1];
    unsigned flags = words[3][0] ? TOOLCAGE_TREE : 0;
    if (!strcmp(action, "put"))
        return toolcage_session_put(call, path, (unsigned)strtoul(words[2], NULL, 8), flags,
                                    ret_stream, err);
    if (!strcmp(action, "get"))
        return toolcage_session_get(call, path, strtoll(words[2], NULL, 10), flags, ret_stream,
                                    err);
    if (!strcmp(action, "list"))
        return toolcage_session_list(call, path, ret_stream, err);
    if (!strcmp(action, "remove"))
        return toolcage_session_remove(call, path, flags, err);
    return toolcage_session_stat(call, path, err);
}
