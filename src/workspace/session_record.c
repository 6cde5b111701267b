/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record of a session, as it stands on disk. Another build may read it: the format has a name,
 * which changes with everything below. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "state/store.h"
#include "workspace/session.h"

static const char format[] = "toolcage session 1";
enum { RECORD_MAX = 512 << 20 };

void tc_session_visit(struct tc_wire *w, struct tc_session_record *r)
{
    int64_t *numbers[] = {&r->generation, &r->calls, &r->bytes, &r->made, &r->used};
    tc_wire_format(w, format);
    tc_wire_str(w, &r->name);
    tc_wire_str(w, &r->tool);
    tc_wire_str(w, &r->bounds);
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        tc_wire_i64(w, numbers[i]);
        if (*numbers[i] < 0)
            w->failed = true;
    }
    tc_held_visit(w, &r->list);
    if (!r->name || !tc_session_name(r->name) || !r->bounds || r->generation < 1 || r->calls < 1)
        w->failed = true;
}

void tc_session_record_done(struct tc_session_record *r)
{
    tc_held_list_done(&r->list);
    free(r->name);
    free(r->tool);
    free(r->bounds);
    *r = (struct tc_session_record){0};
}

void tc_session_tree(int64_t generation, char ret[24])
{
    (void)snprintf(ret, 24, "g%lld", (long long)generation);
}

int tc_session_read(int own, struct tc_session_record *ret)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = openat(own, "record", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    text.max = RECORD_MAX;
    if (!tc_store_own(fd, S_IFREG) || tc_read_all(fd, &text) < 0)
        return -1;
    struct tc_wire w = TC_WIRE_GET_INIT(text.data, text.len);
    tc_session_visit(&w, ret);
    if (!w.failed && !w.left)
        return 0;
    tc_session_record_done(ret);
    errno = EBADMSG;
    return -1;
}

int tc_session_write(int own, struct tc_session_record *record)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    w.out.max = RECORD_MAX;
    tc_session_visit(&w, record);
    errno = EFBIG;
    int rc = w.failed ? -1 : tc_store_write(own, "record", w.out.data, w.out.len, 0600);
    tc_buf_done(&w.out);
    return rc;
}
