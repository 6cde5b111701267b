/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the client has asked and the server not answered: nothing else may be answered. */
#include <stdlib.h>
#include <string.h>

#include "mcp/wrap.h"

struct tc_asked *tc_asked_find(struct tc_wrap *wrap, struct tc_slice id)
{
    struct tc_asked *found = NULL;
    char *key = tc_rpc_key(id);
    wrap->failed |= !key;
    for (size_t i = 0; key && !found && i < wrap->asked_count; i++)
        if (strcmp(wrap->asked[i].key, key) == 0)
            found = &wrap->asked[i];
    free(key);
    return found;
}

struct tc_asked *tc_asked_add(struct tc_wrap *wrap, struct tc_slice id)
{
    if (wrap->asked_count == TC_ASKED_MAX)
        return NULL;
    struct tc_asked asked = {.key = tc_rpc_key(id), .id = strndup(id.at, id.length)};
    struct tc_asked *slot = &wrap->asked[wrap->asked_count];
    if (!asked.key || !asked.id) {
        free(asked.key);
        free(asked.id);
        wrap->failed = true;
        return NULL;
    }
    wrap->asked_count++;
    *slot = asked;
    return slot;
}

void tc_asked_remove(struct tc_wrap *wrap, struct tc_asked *asked)
{
    free(asked->key);
    free(asked->id);
    *asked = wrap->asked[--wrap->asked_count];
}
