/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The form of a directory object: for each entry "NAME/TYPE MODE SECONDS NANOSECONDS DIGEST" and a
 * NUL. No name contains a slash. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/strv.h"
#include "inputs/store.h"

char *tc_inputs_entry_text(const struct tc_inputs_entry *e)
{
    return tc_format("%.*s/%c %o %" PRId64 " %" PRId64 " %s", (int)e->name_length, e->name, e->type,
                     e->mode, e->seconds, e->nanoseconds, e->digest);
}

static bool is_name(const char *name, size_t length)
{
    bool dots =
        (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
    return length && length <= NAME_MAX && !dots;
}

int tc_inputs_entry_next(const struct tc_buf *object, size_t *at, struct tc_inputs_entry *ret)
{
    const char *text = object->data + *at;
    if (*at == object->len)
        return 0;
    const char *end = memchr(text, '\0', object->len - *at);
    const char *slash = end ? strchr(text, '/') : NULL;
    int used = 0;
    *ret = (struct tc_inputs_entry){.name = text};
    errno = EBADMSG;
    if (!slash || !is_name(text, (size_t)(slash - text)) ||
        sscanf(slash + 1, "%c %" SCNo32 " %" SCNd64 " %" SCNd64 " %71s%n", &ret->type, &ret->mode,
               &ret->seconds, &ret->nanoseconds, ret->digest, &used) != 5 ||
        slash + 1 + used != end)
        return -1;
    ret->name_length = (size_t)(slash - text);
    *at += (size_t)(end - text) + 1;
    return 1;
}
