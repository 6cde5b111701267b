/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Removes what is kept for replays, except for what the newer records of the log name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/past.h"
#include "inputs/reader.h"

struct tc_prune {
    int store;
    const char *since;
    struct tc_stored_kept keep;
    bool failed; /* a record cannot be read, or memory is exhausted */
};

struct tc_prune *tc_prune_new(const char *since)
{
    struct tc_prune *p = calloc(1, sizeof(*p));
    if (p)
        p->since = since;
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
    if (!tc_scan_is_string(digest))
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

/* Outputs stay whether the decision is known or not: it may be older. */
static bool keep_digests(struct tc_stored_kept *k, struct tc_slice record)
{
    struct tc_slice inputs = tc_json_get(record, "inputs");
    struct tc_slice out = tc_json_get(record, "stdout"), err = tc_json_get(record, "stderr");
    struct tc_slice exchanges = tc_json_get(record, "exchanges");
    return add(&k->directories, &k->directory_count, tc_json_get(inputs, "workspace")) &&
           add(&k->directories, &k->directory_count, tc_json_get(exchanges, "directory")) &&
           add(&k->others, &k->other_count, tc_json_get(inputs, "input")) &&
           add(&k->others, &k->other_count, tc_json_get(out, "digest")) &&
           add(&k->others, &k->other_count, tc_json_get(err, "digest"));
}

bool tc_prune_take(void *context, const char *text, size_t length)
{
    struct tc_prune *p = context;
    struct tc_slice record = tc_scan_whole(text, length);
    _autofree_ char *time = tc_json_text(tc_json_get(record, "time"));
    p->failed = !time || (strcmp(time, p->since) > 0 && !keep_digests(&p->keep, record));
    return !p->failed;
}

int tc_prune_run(struct tc_prune *p, int64_t *ret_removed, int64_t *ret_left)
{
    errno = EBADMSG;
    return p->failed ? -1 : tc_stored_sweep(p->store, &p->keep, ret_removed, ret_left);
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
