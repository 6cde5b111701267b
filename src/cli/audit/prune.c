/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Removes what is kept for replays, except for the calls that are passed in. */
#include <errno.h>
#include <stdlib.h>

#include "cli/audit/past.h"
#include "inputs/reader.h"

struct tc_prune {
    int store;
    struct tc_stored_kept keep;
};

struct tc_prune *tc_prune_new(void)
{
    struct tc_prune *p = calloc(1, sizeof(*p));
    if (p && (p->store = tc_stored_open(true)) < 0) {
        int saved = errno;
        free(p);
        errno = saved;
        return NULL;
    }
    return p;
}

static bool add(char ***items, size_t *count, struct tc_slice digest)
{
    if (!digest.at)
        return true;
    if (!(*count & (*count - 1))) { /* at powers of two */
        char **more = realloc(*items, (*count ? 2 * *count : 1) * sizeof(**items));
        if (!more)
            return false;
        *items = more;
    }
    char *text = tc_json_text(digest);
    if (text)
        (*items)[(*count)++] = text;
    return text != NULL;
}

bool tc_prune_take(void *context, const struct tc_past_call *past)
{
    struct tc_prune *p = context;
    struct tc_stored_kept *k = &p->keep;
    struct tc_slice inputs = tc_json_get(past->decision, "inputs");
    struct tc_slice out = tc_json_get(past->result, "stdout");
    struct tc_slice err = tc_json_get(past->result, "stderr");
    return !inputs.at ||
           (add(&k->directories, &k->directory_count, tc_json_get(inputs, "workspace")) &&
            add(&k->others, &k->other_count, tc_json_get(inputs, "input")) &&
            add(&k->others, &k->other_count, tc_json_get(out, "digest")) &&
            add(&k->others, &k->other_count, tc_json_get(err, "digest")));
}

int tc_prune_run(struct tc_prune *p, int64_t *ret_removed, int64_t *ret_left)
{
    return tc_stored_sweep(p->store, &p->keep, ret_removed, ret_left);
}

static void forget(char **items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(items[i]);
    free(items);
}

void tc_prune_free(struct tc_prune *p)
{
    if (!p)
        return;
    tc_stored_close(p->store);
    forget(p->keep.directories, p->keep.directory_count);
    forget(p->keep.others, p->keep.other_count);
    free(p);
}
