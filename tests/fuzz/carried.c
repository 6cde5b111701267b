/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/carry/unpack.c and way.c: what a hostile guest says of the files that its tool
 * changed. The input is a row of frames: a byte says of which kind the next one is, one how long
 * its body is, and the body follows, of which the fields of an entry's head take seven bytes (its
 * owner may always read and write). There is a directory that may be changed, one that may not, and
 * a file beside both. Whatever comes: nothing is written but below the first, no more than was
 * allowed, nothing that is no file, directory or link, nothing set-id, and no descriptor is left.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "carry/carry.h"
#include "linux/walk.h"
#include "plan/protocol.h"
#include "state/store.h"

enum { NAMES = 64, BYTES = 4096, HEAD = 7, FAR = 255, OPEN = 0700, SPECIAL = 07000 };

static char place[] = "/dev/shm/toolcage-fuzz-XXXXXX";
static int top = -1;

static void clean_up(void)
{
    (void)tc_remove_tree(AT_FDCWD, place);
}

static void open_top(void)
{
    if (top >= 0)
        return;
    INVARIANT(mkdtemp(place));
    top = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    INVARIANT(top >= 0 && atexit(clean_up) == 0);
}

static void put_text(const char *path, const char *text)
{
    _autofd_ int fd = openat(top, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    INVARIANT(fd >= 0 && tc_write_all(fd, text, strlen(text)) == 0);
}

static void make_places(void)
{
    INVARIANT(mkdirat(top, "may", 0700) == 0 && mkdirat(top, "may/d", 0700) == 0);
    INVARIANT(mkdirat(top, "not", 0700) == 0 && symlinkat("../not", top, "may/out") == 0);
    put_text("may/f", "f");
    put_text("may/d/f", "f");
    put_text("not/f", "untouched");
    put_text("beside", "untouched");
}

/* ---- what it says ---- */

struct body {
    const uint8_t *bytes;
    size_t len;
};

static void put_entry(struct tc_buf *out, const struct body *b)
{
    if (b->len < HEAD) {
        tc_buf_add(out, b->bytes, b->len);
        return;
    }
    const struct tc_carry_head head = {.grant = b->bytes[0],
                                       .kind = b->bytes[1],
                                       .mode = (unsigned)b->bytes[2] << 8 | b->bytes[3] | OPEN,
                                       .flags = b->bytes[4],
                                       .size = b->bytes[5] == FAR ? UINT64_MAX : b->bytes[5],
                                       .path_len = b->bytes[6] == FAR ? UINT32_MAX : b->bytes[6]};
    tc_buf_add(out, &head, sizeof(head));
    tc_buf_add(out, b->bytes + HEAD, b->len - HEAD);
}

static void put_body(struct tc_buf *out, uint32_t kind, const struct body *b)
{
    uint32_t grant = b->len ? b->bytes[0] : 0;
    uint64_t at = grant == FAR ? UINT64_MAX : grant;
    if (kind == TC_FRAME_ENTRY) {
        put_entry(out, b);
        return;
    }
    if (kind == TC_FRAME_REMOVAL && b->len)
        tc_buf_add(out, &grant, sizeof(grant));
    else if (kind == TC_FRAME_BYTES && b->len)
        tc_buf_add(out, &at, sizeof(at));
    if (b->len > 1)
        tc_buf_add(out, b->bytes + 1, b->len - 1);
}

static void say_all(struct tc_unpack *u, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        uint32_t kind = TC_FRAME_ENTRY + data[0] % (TC_FRAME_KINDS - TC_FRAME_ENTRY);
        const struct body body = {data + 2, data[1] < size - 2 ? data[1] : size - 2};
        _autobuf_ struct tc_buf out = TC_BUF_INIT;
        put_body(&out, kind, &body);
        const struct tc_frame f = {.kind = kind, .bytes = out.len ? out.data : "", .len = out.len};
        bool fine = tc_unpack_take(u, &f) == 0;
        INVARIANT(fine != (u->fault || u->errnum));
        data += 2 + body.len;
        size -= 2 + body.len;
    }
}

/* ---- what became of it ---- */

struct seen {
    size_t names, bytes;
};

static int look(void *userdata, const struct tc_walk_entry *e)
{
    struct seen *seen = userdata;
    unsigned mode = e->st->stx_mode;
    INVARIANT(S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode));
    INVARIANT(S_ISLNK(mode) || !(mode & SPECIAL));
    seen->names++;
    seen->bytes += (size_t)e->st->stx_blocks * 512;
    return 0;
}

static void assert_untouched(const char *path)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    INVARIANT(tc_read_file(top, path, &buf) == 0 && strcmp(buf.data, "untouched") == 0);
}

static size_t count(const char *path)
{
    struct seen seen = {0};
    struct tc_walk walk = {.visit = look, .userdata = &seen, .entries_max = 1000};
    _autofd_ int fd = openat(top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    INVARIANT(fd >= 0 && tc_walk(&walk, fd) == 0);
    /* a page for each file, and what was in it */
    INVARIANT(seen.bytes <= (NAMES + 4) * 4096 + BYTES);
    return seen.names;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_unpack u;
    open_top();
    int before = lowest_free();
    make_places();
    tc_unpack_init(&u);
    u.names = NAMES;
    u.bytes = BYTES;
    INVARIANT(tc_unpack_add(&u, top, "may", true) && tc_unpack_add(&u, top, "not", false));
    say_all(&u, data, size);
    tc_unpack_done(&u);
    assert_untouched("not/f");
    assert_untouched("beside");
    INVARIANT(count("not") == 1);
    INVARIANT(count("may") <= NAMES + 4);
    INVARIANT(count(".") >= 3);
    static const char *const places[] = {"may", "not", "beside"};
    for (size_t i = 0; i < TC_COUNT(places); i++)
        INVARIANT(tc_remove_tree(top, places[i]) == 0);
    INVARIANT(count(".") == 0);
    INVARIANT(lowest_free() == before);
    return 0;
}
