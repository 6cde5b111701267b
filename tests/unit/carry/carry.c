/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Trees there and back as frames; and what a hostile side says, which is refused with the reason
 * and never written outside of its grant. */
#include "carry/carry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/protocol.h"
#include "state/store.h"
#include "test.h"

enum { MIB = 1 << 20, NAMES = 1000 };

#define ROOM "/tmp/toolcage-carry-XXXXXX"
static char room[] = ROOM;
static int top;

static int make_rooms(void **state)
{
    (void)state;
    if (!mkdtemp(room))
        return -1;
    top = open(room, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return top < 0 || mkdirat(top, "from", 0700) < 0 || mkdirat(top, "to", 0700) < 0 ? -1 : 0;
}

static int remove_rooms(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", room, room);
    (void)close(top);
    memcpy(room, ROOM, sizeof(ROOM));
    return system(command) == 0 ? 0 : -1;
}

static void put_file(const char *path, const char *text, mode_t mode)
{
    _autofd_ int fd = openat(top, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(tc_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

static void assert_file(const char *path, const char *text, mode_t mode)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    struct stat st;
    assert_int_equal(fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode, S_IFREG | mode);
    assert_int_equal(tc_read_file(top, path, &buf), 0);
    assert_string_equal(buf.data, text);
}

static bool is_there(const char *path)
{
    struct stat st;
    return fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- there and back ---- */

static void begin_pack(struct tc_pack *pack, const char *name, bool writable)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", room, name);
    tc_pack_init(pack);
    assert_true(tc_pack_add(pack, 0, path, writable));
}

static void look(struct tc_pack *pack)
{
    size_t root;
    assert_int_equal(tc_pack_look(pack, NAMES, &root), 0);
}

/* How many frames it took. */
static size_t send_all(struct tc_pack *pack, struct tc_unpack *unpack)
{
    static const size_t most[TC_FRAME_KINDS] = {[TC_FRAME_ENTRY] = TC_CARRY_ENTRY_MAX,
                                                [TC_FRAME_REMOVAL] = TC_CARRY_PATH_MAX + 4,
                                                [TC_FRAME_BYTES] = TC_MESSAGE_BYTES_MAX};
    struct tc_frames frames = tc_frames_of(most, TC_FRAME_KINDS);
    struct tc_frame f;
    size_t count = 0;
    int more;
    while ((more = tc_pack_next(pack, &frames.in)) > 0)
        ;
    assert_int_equal(more, 0);
    while ((more = tc_frames_next(&frames, &f)) > 0) {
        count++;
        assert_true(tc_unpack_takes(&f));
        if (tc_unpack_take(unpack, &f) < 0)
            fail_msg("%s, %s", unpack->fault ? unpack->fault : "", strerror(unpack->errnum));
    }
    assert_int_equal(more, 0);
    assert_true(unpack->ended);
    tc_frames_done(&frames);
    return count;
}

static void begin_unpack(struct tc_unpack *unpack, int place)
{
    tc_unpack_init(unpack);
    unpack->place = place;
    unpack->bytes = MIB;
    unpack->names = NAMES;
}

static void make_tree(void)
{
    assert_int_equal(mkdirat(top, "from/dir", 0750), 0);
    put_file("from/dir/a", "alpha", 0640);
    put_file("from/dir.b", "beta", 0755);
    put_file("from/empty", "", 0600);
    assert_int_equal(symlinkat("/etc/passwd", top, "from/dir/link"), 0);
    assert_int_equal(mkfifoat(top, "from/pipe", 0600), 0);
    assert_int_equal(fchmodat(top, "from/dir", 0550, 0), 0);
}

static void brings_a_tree_there(void **state)
{
    struct tc_pack pack;
    struct tc_unpack unpack;
    char target[64] = "";
    struct stat a, b;
    (void)state;
    make_tree();
    begin_pack(&pack, "from", false);
    pack.announces = true;
    look(&pack);
    assert_int_equal(pack.names, 6);
    assert_int_equal(pack.bytes, 9);
    begin_unpack(&unpack, openat(top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    (void)send_all(&pack, &unpack);
    assert_file("to/0/dir/a", "alpha", 0640);
    assert_file("to/0/dir.b", "beta", 0755);
    assert_file("to/0/empty", "", 0600);
    assert_true(readlinkat(top, "to/0/dir/link", target, sizeof(target)) > 0);
    assert_string_equal(target, "/etc/passwd");
    assert_false(is_there("to/0/pipe"));
    assert_int_equal(fstatat(top, "from/dir", &a, 0), 0);
    assert_int_equal(fstatat(top, "to/0/dir", &b, 0), 0);
    assert_int_equal(b.st_mode, S_IFDIR | 0550);
    assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
    assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
    (void)close(unpack.place);
    tc_unpack_done(&unpack);
    tc_pack_done(&pack);
}

static void keeps_holes(void **state)
{
    struct tc_pack pack;
    struct tc_unpack unpack;
    struct stat st;
    (void)state;
    put_file("from/sparse", "begin", 0600);
    _autofd_ int fd = openat(top, "from/sparse", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "end", 3, (off_t)1 << 40), 3);
    begin_pack(&pack, "from", false);
    pack.announces = true;
    look(&pack);
    assert_true(pack.bytes < MIB);
    begin_unpack(&unpack, openat(top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    (void)send_all(&pack, &unpack);
    assert_int_equal(fstatat(top, "to/0/sparse", &st, 0), 0);
    assert_int_equal(st.st_size, ((off_t)1 << 40) + 3);
    assert_true(st.st_blocks * 512 < MIB);
    (void)close(unpack.place);
    tc_unpack_done(&unpack);
    tc_pack_done(&pack);
}

static void leaves_out_other_grants(void **state)
{
    struct tc_pack pack;
    struct tc_unpack unpack;
    (void)state;
    make_tree();
    begin_pack(&pack, "from", false);
    pack.announces = true;
    assert_true(tc_strv_add(&pack.roots[0].skip, "dir"));
    look(&pack);
    begin_unpack(&unpack, openat(top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    (void)send_all(&pack, &unpack);
    assert_true(is_there("to/0/dir"));
    assert_false(is_there("to/0/dir/a"));
    (void)close(unpack.place);
    tc_unpack_done(&unpack);
    tc_pack_done(&pack);
}

static void counts_before_it_sends(void **state)
{
    struct tc_pack pack;
    size_t root = 9;
    (void)state;
    make_tree();
    begin_pack(&pack, "from", false);
    assert_int_equal(tc_pack_look(&pack, 3, &root), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(root, 0);
    tc_pack_done(&pack);
    begin_pack(&pack, "from", false);
    pack.paths_max = sizeof("dir/link");
    assert_int_equal(tc_pack_look(&pack, NAMES, &root), -1);
    assert_int_equal(errno, EFBIG);
    tc_pack_done(&pack);
}

/* Both sides have the same tree; one of them changes. */
static void brings_changes_back(void **state)
{
    struct tc_pack pack;
    struct tc_unpack unpack;
    (void)state;
    for (int side = 0; side < 2; side++) {
        const char *at = side ? "to" : "from";
        char path[64];
        static const char *const dirs[] = {"gone", "kept", "swapped"};
        static const char *const files[] = {"gone/x", "kept/same", "kept/changed", "kept/mode",
                                            "turned"};
        for (size_t i = 0; i < TC_COUNT(dirs); i++) {
            (void)snprintf(path, sizeof(path), "%s/%s", at, dirs[i]);
            assert_int_equal(mkdirat(top, path, 0700), 0);
        }
        for (size_t i = 0; i < TC_COUNT(files); i++) {
            (void)snprintf(path, sizeof(path), "%s/%s", at, files[i]);
            put_file(path, "old", 0600);
        }
    }
    begin_pack(&pack, "from", true);
    look(&pack);
    assert_int_equal(unlinkat(top, "from/gone/x", 0), 0);
    assert_int_equal(unlinkat(top, "from/gone", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(top, "from/swapped", AT_REMOVEDIR), 0);
    put_file("from/swapped", "a file now", 0600);
    assert_int_equal(unlinkat(top, "from/turned", 0), 0);
    assert_int_equal(mkdirat(top, "from/turned", 0700), 0);
    put_file("from/turned/in", "in", 0600);
    put_file("from/kept/changed", "new", 0600);
    assert_int_equal(fchmodat(top, "from/kept/mode", 0640, 0), 0);
    struct stat before, after;
    assert_int_equal(fstatat(top, "to/kept/same", &before, 0), 0);
    look(&pack);
    begin_unpack(&unpack, -1);
    assert_true(tc_unpack_add(&unpack, top, "to", true));
    /* removals: gone/x, gone, swapped, turned; entries: changed, mode, swapped, turned, turned/in,
     * four files' bytes, and the end */
    assert_int_equal(send_all(&pack, &unpack), 4 + 5 + 4 + 1);
    assert_false(is_there("to/gone"));
    assert_file("to/swapped", "a file now", 0600);
    assert_file("to/turned/in", "in", 0600);
    assert_file("to/kept/changed", "new", 0600);
    assert_file("to/kept/mode", "old", 0640);
    assert_int_equal(fstatat(top, "to/kept/same", &after, 0), 0);
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
    tc_unpack_done(&unpack);
    tc_pack_done(&pack);
}

static void brings_a_file_alone(void **state)
{
    struct tc_pack pack;
    struct tc_unpack unpack;
    (void)state;
    put_file("from/file", "old", 0600);
    put_file("to/file", "old", 0600);
    begin_pack(&pack, "from/file", true);
    look(&pack);
    put_file("from/file", "new and longer", 0644);
    look(&pack);
    begin_unpack(&unpack, -1);
    _autofd_ int to = openat(top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(tc_unpack_add(&unpack, to, "file", true));
    assert_int_equal(send_all(&pack, &unpack), 3);
    assert_file("to/file", "new and longer", 0644);
    tc_unpack_done(&unpack);
    tc_pack_done(&pack);
}

/* ---- a hostile side ---- */

struct said {
    enum tc_frame_kind kind;
    struct tc_carry_head head;
    const char *path, *rest;
    size_t cut; /* of the frame, counted from its end */
};

static int say(struct tc_unpack *u, const struct said *s)
{
    _autobuf_ struct tc_buf body = TC_BUF_INIT;
    struct tc_carry_head head = s->head;
    uint64_t at = head.size;
    if (s->kind == TC_FRAME_ENTRY) {
        head.path_len = head.path_len ? head.path_len : (uint32_t)strlen(s->path);
        tc_buf_add(&body, &head, sizeof(head));
    } else if (s->kind == TC_FRAME_REMOVAL) {
        tc_buf_add(&body, &head.grant, sizeof(head.grant));
    } else if (s->kind == TC_FRAME_BYTES) {
        tc_buf_add(&body, &at, sizeof(at));
    }
    tc_buf_adds(&body, s->path ? s->path : "");
    tc_buf_adds(&body, s->rest ? s->rest : "");
    return tc_unpack_take(
        u, &(struct tc_frame){.kind = s->kind, .bytes = body.data, .len = body.len - s->cut});
}

#define FILE_OF(name_, ...)                                                                    \
    {                                                                                          \
        .kind = TC_FRAME_ENTRY, .path = (name_), .head = {.kind = TC_CARRY_FILE, __VA_ARGS__ } \
    }
#define DIR_OF(name_)                                      \
    {                                                      \
        .kind = TC_FRAME_ENTRY, .path = (name_), .head = { \
            .kind = TC_CARRY_DIRECTORY,                    \
            .mode = 0755                                   \
        }                                                  \
    }
#define LINK_OF(name_, to_)                                                                      \
    {                                                                                            \
        .kind = TC_FRAME_ENTRY, .path = (name_), .rest = (to_), .head = {.kind = TC_CARRY_LINK } \
    }
#define GONE(name_)                               \
    {                                             \
        .kind = TC_FRAME_REMOVAL, .path = (name_) \
    }
#define BYTES_AT(at_, bytes_)                                              \
    {                                                                      \
        .kind = TC_FRAME_BYTES, .path = (bytes_), .head = {.size = (at_) } \
    }

static const char elsewhere[] = "sent an invalid path";
static const char order[] = "sent a path twice, or out of order";
static const char absent[] = "sent a change that cannot be applied";
static const char cannot[] = "sent a malformed frame";
static const char special[] = "sent an entry that is not a file, directory or link";
static const char ungiven[] = "modified a read-only grant";
static const char beyond[] = "sent bytes beyond the end of their file";

static const struct {
    struct said said[4];
    const char *fault;
} lies[] = {
    {{FILE_OF("../out")}, elsewhere},
    {{FILE_OF("dir/../../out")}, elsewhere},
    {{FILE_OF("/out")}, elsewhere},
    {{FILE_OF("dir//out")}, elsewhere},
    {{FILE_OF("dir/")}, elsewhere},
    {{FILE_OF("./out")}, elsewhere},
    {{FILE_OF("..")}, elsewhere},
    {{GONE("../victim")}, elsewhere},
    /* by a link that it made before, and by one that stood there */
    {{LINK_OF("l", ".."), FILE_OF("l/out")}, absent},
    {{FILE_OF("out-link/out")}, absent},
    {{GONE("out-link/victim")}, absent},
    {{FILE_OF("a"), FILE_OF("a")}, order},
    {{FILE_OF("b"), FILE_OF("a")}, order},
    {{FILE_OF("a"), GONE("dir")}, order},
    {{GONE("dir/in"), GONE("dir/in")}, order},
    {{GONE("nothing")}, absent},
    {{GONE("dir")}, absent},
    {{GONE("")}, absent},
    {{FILE_OF("dir")}, absent},
    {{FILE_OF("")}, absent},
    {{DIR_OF("dir/in")}, absent},
    {{FILE_OF("none/x")}, absent},
    {{FILE_OF("x", .mode = 04755)}, cannot},
    {{FILE_OF("x", .mode = 02755)}, cannot},
    {{FILE_OF("x", .size = UINT64_MAX)}, cannot},
    {{FILE_OF("x", .mtime_ns = 1000000000)}, cannot},
    {{FILE_OF("x", .path_len = 4000)}, cannot},
    {{{.kind = TC_FRAME_ENTRY, .path = "x", .head = {.kind = TC_CARRY_FILE}, .cut = 3}}, cannot},
    {{{.kind = TC_FRAME_ENTRY, .path = "", .cut = sizeof(struct tc_carry_head) - 1}}, cannot},
    {{{.kind = TC_FRAME_REMOVAL, .path = "", .cut = 1}}, cannot},
    {{LINK_OF("x", "")}, cannot},
    {{{.kind = TC_FRAME_ENTRY, .path = "x", .head = {.kind = 5}}}, special},
    {{{.kind = TC_FRAME_ENTRY, .path = "x", .head = {.kind = 0}}}, special},
    {{{.kind = TC_FRAME_ENTRY, .path = "", .head = {.kind = TC_CARRY_GRANT}}},
     "sent a frame that only the host may send"},
    {{FILE_OF("x", .grant = 1)}, ungiven},
    {{FILE_OF("x", .grant = 2)}, ungiven},
    {{{.kind = TC_FRAME_REMOVAL, .path = "x", .head = {.grant = 1}}}, ungiven},
    {{BYTES_AT(0, "x")}, "sent bytes without a file"},
    {{DIR_OF("x"), BYTES_AT(0, "x")}, "sent bytes without a file"},
    {{FILE_OF("x", .size = 3), BYTES_AT(0, "four")}, beyond},
    {{FILE_OF("x", .size = 8), BYTES_AT(UINT64_MAX, "x")}, beyond},
    {{FILE_OF("x", .size = 8), BYTES_AT(4, "four"), BYTES_AT(0, "four")}, beyond},
    {{{.kind = TC_FRAME_FILES_END, .path = "more"}}, cannot},
    {{{.kind = TC_FRAME_FILES_END}, FILE_OF("x")}, "sent files after the last one"},
};

static void make_victim(void)
{
    put_file("victim", "untouched", 0600);
    put_file("readable", "untouched", 0600);
    assert_int_equal(mkdirat(top, "to/dir", 0700), 0);
    put_file("to/dir/in", "in", 0600);
    assert_int_equal(symlinkat("..", top, "to/out-link"), 0);
}

static void refuses_lies(void **state)
{
    (void)state;
    make_victim();
    for (size_t i = 0; i < TC_COUNT(lies); i++) {
        struct tc_unpack u;
        int r = 0;
        begin_unpack(&u, -1);
        assert_true(tc_unpack_add(&u, top, "to", true));
        assert_true(tc_unpack_add(&u, top, "readable", false));
        for (size_t k = 0; k < TC_COUNT(lies[i].said) && r == 0; k++)
            if (lies[i].said[k].kind)
                r = say(&u, &lies[i].said[k]);
        if (r == 0 || !u.fault || strcmp(u.fault, lies[i].fault) != 0)
            fail_msg("case %zu: %s, not %s", i, u.fault ? u.fault : strerror(u.errnum),
                     lies[i].fault);
        assert_false(u.ended && lies[i].said[1].kind == 0);
        tc_unpack_done(&u);
        assert_false(is_there("out"));
        assert_file("victim", "untouched", 0600);
        assert_file("readable", "untouched", 0600);
        put_file("to/dir/in", "in", 0600);
        /* what it was allowed to make before it lied */
        static const char *const made[] = {"to/l", "to/a", "to/b", "to/x"};
        for (size_t k = 0; k < TC_COUNT(made); k++)
            if (unlinkat(top, made[k], 0) < 0)
                (void)unlinkat(top, made[k], AT_REMOVEDIR);
    }
}

static void counts_names_and_bytes(void **state)
{
    struct tc_unpack u;
    char name[16];
    int r = 0;
    (void)state;
    begin_unpack(&u, -1);
    u.names = 10;
    assert_true(tc_unpack_add(&u, top, "to", true));
    for (int i = 10; i < 30 && r == 0; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        r = say(&u, &(struct said)FILE_OF(name));
    }
    assert_int_equal(r, -1);
    assert_string_equal(u.fault, "sent more names than its grant allows");
    assert_true(is_there("to/19"));
    assert_false(is_there("to/20"));
    tc_unpack_done(&u);
    begin_unpack(&u, -1);
    u.bytes = 10;
    assert_true(tc_unpack_add(&u, top, "to", true));
    assert_int_equal(say(&u, &(struct said)FILE_OF("f", .size = INT64_MAX)), 0);
    assert_int_equal(say(&u, &(struct said)BYTES_AT(0, "0123456789")), 0);
    assert_int_equal(say(&u, &(struct said)BYTES_AT(10, "x")), -1);
    assert_string_equal(u.fault, "sent more bytes than its grant allows");
    tc_unpack_done(&u);
    begin_unpack(&u, -1);
    u.paths_max = sizeof("d1") + 1;
    assert_true(tc_unpack_add(&u, top, "to", true));
    assert_int_equal(say(&u, &(struct said)DIR_OF("d1")), 0);
    assert_int_equal(say(&u, &(struct said)DIR_OF("d2")), -1);
    assert_string_equal(u.fault, "sent too many long names of directories");
    tc_unpack_done(&u);
}

static void a_link_is_never_followed(void **state)
{
    struct tc_unpack u;
    (void)state;
    make_victim();
    assert_int_equal(symlinkat("../victim", top, "to/to-victim"), 0);
    begin_unpack(&u, -1);
    assert_true(tc_unpack_add(&u, top, "to", true));
    assert_int_equal(say(&u, &(struct said)FILE_OF("to-victim", .mode = 0600, .size = 3)), 0);
    assert_int_equal(say(&u, &(struct said)BYTES_AT(0, "new")), 0);
    assert_int_equal(say(&u, &(struct said){.kind = TC_FRAME_FILES_END}), 0);
    assert_file("to/to-victim", "new", 0600);
    assert_file("victim", "untouched", 0600);
    tc_unpack_done(&u);
}

/* In the machine the host's word for the grants is the first. */
static void grants_come_in_order(void **state)
{
    struct tc_unpack u;
    (void)state;
    const struct said grant[] = {
        {.kind = TC_FRAME_ENTRY, .path = "", .head = {.kind = TC_CARRY_GRANT}},
        {.kind = TC_FRAME_ENTRY, .path = "", .head = {.kind = TC_CARRY_GRANT, .grant = 1}}};
    begin_unpack(&u, openat(top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    assert_int_equal(say(&u, &grant[0]), 0);
    assert_int_equal(say(&u, &(struct said)DIR_OF("")), 0);
    assert_int_equal(say(&u, &grant[1]), 0);
    assert_int_equal(say(&u, &(struct said)FILE_OF("x")), -1);
    assert_string_equal(u.fault, order);
    (void)close(u.place);
    tc_unpack_done(&u);
    begin_unpack(&u, openat(top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    assert_int_equal(say(&u, &grant[1]), -1);
    assert_non_null(u.fault);
    (void)close(u.place);
    tc_unpack_done(&u);
}

#define EACH(test_) cmocka_unit_test_setup_teardown(test_, make_rooms, remove_rooms)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(brings_a_tree_there),
        EACH(keeps_holes),
        EACH(leaves_out_other_grants),
        EACH(counts_before_it_sends),
        EACH(brings_changes_back),
        EACH(brings_a_file_alone),
        EACH(refuses_lies),
        EACH(counts_names_and_bytes),
        EACH(a_link_is_never_followed),
        EACH(grants_come_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
