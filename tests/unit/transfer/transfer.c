/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Content arrives as it was sent, or there is an error: streams that end early, that lie about
 * their content, or that would write outside of the received directory. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "carry/carry.h"
#include "plan/protocol.h"
#include "state/store.h"
#include "transfer/transfer.h"

enum { MOST = 1 << 20 };

static char place[] = "/tmp/transfer-XXXXXX";
static int dir = -1;

static int make_place(void **state)
{
    (void)state;
    if (!mkdtemp(place))
        return -1;
    dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? -1 : 0;
}

static int remove_place(void **state)
{
    (void)state;
    (void)close(dir);
    return tc_remove_tree(AT_FDCWD, place);
}

/* ---- a sender that is a process ---- */

/* Sends the file, or the directory `name`; the other end of its stream. */
static int start_sender(int fd, const char *name)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct tc_transfer_state t;
        (void)close(pair[0]);
        tc_transfer_init(&t, pair[1], INT64_MAX);
        _exit((name ? tc_transfer_send_tree(&t, fd, name) : tc_transfer_send(&t, fd)) < 0);
    }
    (void)close(pair[1]);
    return pair[0];
}

static int sender_code(void)
{
    int status;
    assert_true(wait(&status) > 0);
    return WEXITSTATUS(status);
}

static int make_file(const char *name)
{
    int fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    assert_true(fd >= 0);
    return fd;
}

static void files_arrive_with_their_holes(void **state)
{
    (void)state;
    struct tc_transfer_state t;
    struct stat st;
    _autofd_ int from = make_file("from"), to = make_file("to");
    assert_int_equal(ftruncate(from, 300000), 0);
    assert_int_equal(pwrite(from, "middle", 6, 200000), 6);
    _autofd_ int stream = start_sender(from, NULL);
    tc_transfer_init(&t, stream, MOST);
    assert_int_equal(tc_transfer_receive(&t, to), 0);
    assert_int_equal(sender_code(), 0);
    assert_int_equal(t.bytes, 300000);
    assert_int_equal(t.mode, 0640);
    assert_int_equal(fstat(to, &st), 0);
    assert_int_equal(st.st_size, 300000);
    assert_true(st.st_blocks * 512 < 100000);
    char all[300000], digest[TC_DIGEST_SIZE];
    assert_int_equal(pread(to, all, sizeof(all), 0), sizeof(all));
    assert_memory_equal(all + 200000, "middle", 6);
    tc_digest(all, sizeof(all), digest);
    assert_string_equal(t.digest, digest);
}

static void pipes_get_zeros_for_holes(void **state)
{
    (void)state;
    struct tc_transfer_state t;
    int pair[2];
    char byte = 1;
    _autofd_ int from = make_file("from");
    assert_int_equal(ftruncate(from, 40000), 0);
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    _autofd_ int stream = start_sender(from, NULL);
    tc_transfer_init(&t, stream, MOST);
    assert_int_equal(tc_transfer_receive(&t, pair[1]), 0);
    assert_int_equal(sender_code(), 0);
    (void)close(pair[1]);
    size_t count = 0;
    for (; read(pair[0], &byte, 1) == 1; count++)
        assert_int_equal(byte, 0);
    assert_int_equal(count, 40000);
    (void)close(pair[0]);
}

static void silent_source_notices_the_end_of_the_stream(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    int stream = start_sender(pair[0], NULL);
    (void)close(stream);
    assert_int_equal(sender_code(), 1);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void hole_notices_the_end_of_the_stream(void **state)
{
    (void)state;
    _autofd_ int from = make_file("from");
    assert_int_equal(ftruncate(from, (off_t)1 << 40), 0);
    int stream = start_sender(from, NULL);
    (void)close(stream);
    assert_int_equal(sender_code(), 1);
    struct tc_transfer_state t;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(shutdown(pair[0], SHUT_RDWR), 0);
    tc_transfer_init(&t, pair[0], INT64_MAX);
    assert_int_equal(tc_transfer_send(&t, from), -1);
    assert_true(t.broken);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void larger_files_than_the_limit_are_refused(void **state)
{
    (void)state;
    struct tc_transfer_state t;
    _autofd_ int from = make_file("from"), to = make_file("to");
    assert_int_equal(ftruncate(from, MOST + 1), 0);
    int stream = start_sender(from, NULL);
    tc_transfer_init(&t, stream, MOST);
    assert_int_equal(tc_transfer_receive(&t, to), -1);
    assert_non_null(strstr(t.fault, "limit"));
    (void)close(stream);
    (void)sender_code();
}

/* ---- streams made by hand ---- */

struct frames {
    struct tc_buf out;
    SHA2_CTX hash;
    struct tc_transfer_end end;
};

static void begin(struct frames *f)
{
    *f = (struct frames){.out = TC_BUF_INIT};
    SHA256Init(&f->hash);
}

static void add(struct frames *f, uint32_t kind, const void *bytes, size_t len)
{
    const uint32_t head[] = {kind, (uint32_t)len};
    SHA256Update(&f->hash, (const unsigned char *)head, sizeof(head));
    SHA256Update(&f->hash, bytes, len);
    tc_frame_put(&f->out, kind, bytes, len);
}

static void add_bytes(struct frames *f, uint64_t at, const char *text)
{
    char body[64];
    memcpy(body, &at, sizeof(at));
    memcpy(body + sizeof(at), text, strlen(text));
    tc_frame_put(&f->out, TC_FRAME_BYTES, body, sizeof(at) + strlen(text));
    SHA256Update(&f->hash, (const unsigned char *)text, strlen(text));
}

static void add_entry(struct frames *f, uint32_t kind, const char *path, const char *target)
{
    char body[sizeof(struct tc_carry_head) + 128];
    const struct tc_carry_head head = {
        .kind = kind, .mode = 0777, .path_len = (uint32_t)strlen(path)};
    memcpy(body, &head, sizeof(head));
    memcpy(body + sizeof(head), path, strlen(path));
    memcpy(body + sizeof(head) + strlen(path), target, strlen(target));
    add(f, TC_FRAME_ENTRY, body, sizeof(head) + strlen(path) + strlen(target));
    f->end.names++;
}

static void add_end(struct frames *f)
{
    tc_digest_finish(&f->hash, f->end.digest);
    tc_frame_put(&f->out, TC_FRAME_DONE, &f->end, sizeof(f->end));
}

/* Receives these frames into a new file, or with a `name` into a directory; the fault, or NULL. */
static const char *fault_of(struct frames *f, const char *name)
{
    static struct tc_transfer_state t;
    int pair[2];
    _autofd_ int to = make_file("to");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(tc_write_all(pair[1], f->out.data, f->out.len), 0);
    (void)close(pair[1]);
    tc_transfer_init(&t, pair[0], MOST);
    t.confines = true;
    int rc = name ? tc_transfer_receive_tree(&t, dir, name) : tc_transfer_receive(&t, to);
    (void)close(pair[0]);
    tc_buf_done(&f->out);
    return rc < 0 ? t.fault : NULL;
}

static void cut_streams_are_refused(void **state)
{
    (void)state;
    struct frames f;
    begin(&f);
    add_bytes(&f, 0, "half");
    assert_non_null(strstr(fault_of(&f, NULL), "ended before"));
    begin(&f);
    assert_non_null(strstr(fault_of(&f, NULL), "ended before"));
}

static void false_ends_are_refused(void **state)
{
    (void)state;
    struct frames f;
    begin(&f);
    add_bytes(&f, 0, "text");
    f.end.bytes = 4;
    add_end(&f);
    assert_null(fault_of(&f, NULL));
    begin(&f);
    add_bytes(&f, 0, "text");
    SHA256Update(&f.hash, (const unsigned char *)"x", 1);
    f.end.bytes = 4;
    add_end(&f);
    assert_non_null(strstr(fault_of(&f, NULL), "not those that were sent"));
    begin(&f);
    add_bytes(&f, 0, "text");
    f.end.bytes = 3;
    add_end(&f);
    assert_non_null(fault_of(&f, NULL));
}

static void offsets_go_forward_within_the_limit(void **state)
{
    (void)state;
    struct frames f;
    begin(&f);
    add_bytes(&f, 0, "text");
    add_bytes(&f, 2, "back");
    assert_non_null(strstr(fault_of(&f, NULL), "malformed"));
    begin(&f);
    add_bytes(&f, UINT64_MAX, "far");
    assert_non_null(strstr(fault_of(&f, NULL), "limit"));
    begin(&f);
    add_bytes(&f, MOST, "far");
    assert_non_null(strstr(fault_of(&f, NULL), "limit"));
    begin(&f);
    f.end.bytes = UINT64_MAX;
    add_end(&f);
    assert_non_null(strstr(fault_of(&f, NULL), "limit"));
}

static bool exists(const char *name)
{
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The entries after the directory itself are refused, and leave no directory. */
static void assert_refused(uint32_t kind, const char *path, const char *target)
{
    struct frames f;
    begin(&f);
    add_entry(&f, TC_CARRY_DIRECTORY, "", "");
    add_entry(&f, kind, path, target);
    add(&f, TC_FRAME_FILES_END, "", 0);
    add_end(&f);
    assert_non_null(fault_of(&f, "tree"));
    assert_false(exists("tree"));
}

static void directories_hold_their_entries(void **state)
{
    (void)state;
    assert_refused(TC_CARRY_FILE, "../out", "");
    assert_refused(TC_CARRY_FILE, "/out", "");
    assert_refused(TC_CARRY_FILE, "a//b", "");
    assert_refused(TC_CARRY_FILE, "none/x", "");
    assert_refused(TC_CARRY_GRANT, "", "");
    assert_refused(TC_CARRY_DIRECTORY, "", "");
    assert_refused(77, "x", "");
    assert_false(exists("out"));
}

static void directory_streams_have_one_root(void **state)
{
    (void)state;
    struct frames f;
    begin(&f);
    add_entry(&f, TC_CARRY_FILE, "", "");
    add(&f, TC_FRAME_FILES_END, "", 0);
    add_end(&f);
    assert_non_null(fault_of(&f, "tree"));
    begin(&f);
    add_entry(&f, TC_CARRY_LINK, "", "/etc");
    assert_non_null(fault_of(&f, "tree"));
    begin(&f);
    add(&f, TC_FRAME_FILES_END, "", 0);
    add_end(&f);
    assert_non_null(fault_of(&f, "tree"));
    const uint32_t grant = 0;
    begin(&f);
    add_entry(&f, TC_CARRY_DIRECTORY, "", "");
    add(&f, TC_FRAME_REMOVAL, &grant, sizeof(grant));
    assert_non_null(fault_of(&f, "tree"));
    assert_false(exists("tree"));
}

static void links_that_lead_out_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *path, *target;
        bool stays;
    } links[] = {{"a", "/etc", false},    {"b", "..", false},      {"c", "../x", false},
                 {"d", "d/l", true},      {"e", "x/../..", false}, {"f", "x/..", false},
                 {"g", ".", true},        {"h", "./y//z", true},   {"s/i", "..", true},
                 {"s/j", "../..", false}, {"s/k", "../d/x", true}, {"s/l", "./../.././x", false}};
    struct frames f;
    begin(&f);
    add_entry(&f, TC_CARRY_DIRECTORY, "", "");
    for (size_t i = 0; i < TC_COUNT(links); i++) {
        if (!strcmp(links[i].path, "s/i"))
            add_entry(&f, TC_CARRY_DIRECTORY, "s", "");
        add_entry(&f, TC_CARRY_LINK, links[i].path, links[i].target);
    }
    add(&f, TC_FRAME_FILES_END, "", 0);
    add_end(&f);
    assert_null(fault_of(&f, "links"));
    for (size_t i = 0; i < TC_COUNT(links); i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "links/%s", links[i].path);
        if (exists(name) != links[i].stays)
            fail_msg("%s -> %s", links[i].path, links[i].target);
    }
}

static void entries_below_a_link_are_refused(void **state)
{
    (void)state;
    struct frames f;
    assert_int_equal(mkdirat(dir, "real", 0700), 0);
    begin(&f);
    add_entry(&f, TC_CARRY_DIRECTORY, "", "");
    add_entry(&f, TC_CARRY_DIRECTORY, "d", "");
    add_entry(&f, TC_CARRY_LINK, "l", "d");
    add_entry(&f, TC_CARRY_FILE, "l/x", "");
    add(&f, TC_FRAME_FILES_END, "", 0);
    add_end(&f);
    assert_non_null(fault_of(&f, "tree"));
    assert_false(exists("tree"));
}

static void mode_of_an_exchanged_directory_is_not_set(void **state)
{
    (void)state;
    static const char *const paths[] = {"", "d"};
    struct tc_unpack unpack;
    struct stat st;
    tc_unpack_init(&unpack);
    unpack.bytes = unpack.names = 10;
    assert_true(tc_unpack_add(&unpack, dir, "swapped", true));
    assert_int_equal(mkdirat(dir, "target", 0700), 0);
    for (size_t i = 0; i < TC_COUNT(paths); i++) {
        char body[sizeof(struct tc_carry_head) + 1];
        const struct tc_carry_head head = {
            .kind = TC_CARRY_DIRECTORY, .mode = 0777, .path_len = (uint32_t)strlen(paths[i])};
        memcpy(body, &head, sizeof(head));
        memcpy(body + sizeof(head), paths[i], strlen(paths[i]));
        const struct tc_frame entry = {TC_FRAME_ENTRY, body, sizeof(head) + strlen(paths[i])};
        assert_int_equal(tc_unpack_take(&unpack, &entry), 0);
    }
    assert_int_equal(unlinkat(dir, "swapped/d", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("../target", dir, "swapped/d"), 0);
    const struct tc_frame end = {TC_FRAME_FILES_END, "", 0};
    assert_int_equal(tc_unpack_take(&unpack, &end), -1);
    tc_unpack_done(&unpack);
    assert_int_equal(fstatat(dir, "target", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void directories_arrive_as_they_were(void **state)
{
    (void)state;
    struct tc_transfer_state t;
    struct stat st;
    assert_int_equal(mkdirat(dir, "whole", 0755), 0);
    assert_int_equal(mkdirat(dir, "whole/sub", 0750), 0);
    _autofd_ int file = make_file("whole/sub/file");
    assert_int_equal(write(file, "content", 7), 7);
    assert_int_equal(symlinkat("sub/file", dir, "whole/link"), 0);
    _autofd_ int stream = start_sender(dir, "whole");
    tc_transfer_init(&t, stream, MOST);
    assert_int_equal(tc_transfer_receive_tree(&t, dir, "copy"), 0);
    assert_int_equal(sender_code(), 0);
    assert_int_equal(t.names, 4);
    assert_int_equal(t.bytes, 7);
    assert_int_equal(fstatat(dir, "copy/link", &st, 0), 0);
    assert_int_equal(st.st_size, 7);
    assert_int_equal(fstatat(dir, "copy/sub", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
}

static void holes_of_a_directory_are_limited(void **state)
{
    (void)state;
    struct tc_transfer_state t;
    assert_int_equal(mkdirat(dir, "holed", 0755), 0);
    _autofd_ int file = make_file("holed/file");
    assert_int_equal(ftruncate(file, MOST + 1), 0);
    _autofd_ int stream = start_sender(dir, "holed");
    tc_transfer_init(&t, stream, MOST);
    assert_int_equal(tc_transfer_receive_tree(&t, dir, "received"), -1);
    assert_non_null(strstr(t.fault, "limit"));
    assert_false(exists("received"));
    (void)sender_code();
}

static void files_of_the_kernel_are_refused(void **state)
{
    (void)state;
    struct tc_transfer_state t;
    _autofd_ int kernel = open("/proc/sys/kernel", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(kernel >= 0);
    tc_transfer_init(&t, -1, MOST);
    assert_int_equal(tc_transfer_send_tree(&t, kernel, "random"), -1);
    assert_non_null(strstr(t.fault, "kernel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_arrive_with_their_holes),
        cmocka_unit_test(pipes_get_zeros_for_holes),
        cmocka_unit_test(silent_source_notices_the_end_of_the_stream),
        cmocka_unit_test(hole_notices_the_end_of_the_stream),
        cmocka_unit_test(larger_files_than_the_limit_are_refused),
        cmocka_unit_test(cut_streams_are_refused),
        cmocka_unit_test(false_ends_are_refused),
        cmocka_unit_test(offsets_go_forward_within_the_limit),
        cmocka_unit_test(directories_hold_their_entries),
        cmocka_unit_test(directory_streams_have_one_root),
        cmocka_unit_test(links_that_lead_out_are_left_out),
        cmocka_unit_test(entries_below_a_link_are_refused),
        cmocka_unit_test(mode_of_an_exchanged_directory_is_not_set),
        cmocka_unit_test(directories_arrive_as_they_were),
        cmocka_unit_test(holes_of_a_directory_are_limited),
        cmocka_unit_test(files_of_the_kernel_are_refused),
    };
    return cmocka_run_group_tests_name("transfer", tests, make_place, remove_place);
}
