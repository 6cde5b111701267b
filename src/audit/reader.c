/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "audit/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/segments.h"
#include "base/path.h"
#include "state/places.h"
#include "state/store.h"

char *tc_audit_path(void)
{
    _autofree_ char *state = NULL;
    return tc_state_directory(&state) && state ? tc_path_join(state, "audit") : NULL;
}

int tc_audit_open(const char *path, bool own)
{
    return own ? tc_store_enter(AT_FDCWD, path) : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct tc_audit_part *part_of(struct tc_audit_cursor *cursor, const char *segment)
{
    _Static_assert(sizeof(cursor->parts[0].segment) == TC_ULID_SIZE, "it has room for the name");
    for (size_t i = cursor->count; i--;)
        if (strcmp(cursor->parts[i].segment, segment) == 0)
            return &cursor->parts[i];
    struct tc_audit_part *part = TC_PUSH(cursor->parts, cursor->count);
    if (part)
        tc_strcopy(part->segment, sizeof(part->segment), segment);
    return part;
}

struct each {
    tc_audit_record_fn *fn;
    void *context;
    bool stopped;
};

static bool take(void *context, const char *line, size_t length)
{
    struct each *each = context;
    each->stopped = !each->fn(each->context, line, length);
    return !each->stopped;
}

static int read_part(const struct tc_audit_cursor *cursor, struct tc_audit_part *part,
                     struct each *each)
{
    bool cut;
    _autofd_ int fd = tc_segment_open(cursor->dir, part->segment, O_RDONLY);
    if (fd < 0)
        return errno == EACCES || errno == EMFILE ? -1 : 0; /* removed, or no file of the log */
    int64_t end = tc_segment_each(fd, part->at, take, each, &cut);
    part->at = end < 0 ? part->at : end;
    return end < 0 ? -1 : 0;
}

int tc_audit_read(struct tc_audit_cursor *cursor, tc_audit_record_fn *fn, void *context)
{
    _autostrv_ struct tc_strv names = {0};
    struct each each = {.fn = fn, .context = context};
    int r = tc_segments_list(cursor->dir, &names);
    for (size_t i = 0; r == 0 && !each.stopped && i < names.count; i++) {
        struct tc_audit_part *part = part_of(cursor, names.items[i]);
        r = part ? read_part(cursor, part, &each) : -1;
    }
    return r;
}

int tc_audit_tail(struct tc_audit_cursor *cursor, int64_t most, bool *ret_cut)
{
    _autostrv_ struct tc_strv names = {0};
    int r = tc_segments_list(cursor->dir, &names);
    *ret_cut = false;
    for (size_t i = names.count; r == 0 && i--;) {
        struct stat st;
        _autofd_ int fd = tc_segment_open(cursor->dir, names.items[i], O_RDONLY);
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= most) {
            most -= fd < 0 ? 0 : st.st_size;
            continue;
        }
        struct tc_audit_part *part = part_of(cursor, names.items[i]);
        if (!part)
            return -1;
        part->at = st.st_size - most;
        most = 0;
        *ret_cut = true;
    }
    return r;
}

void tc_audit_cursor_done(struct tc_audit_cursor *cursor)
{
    free(cursor->parts);
    cursor->parts = NULL;
    cursor->count = 0;
}
