/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The init config of a call on its way to its first process: to a program of its own by a message,
 * and to a child that waits by memory that both share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cage/init_config.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fields.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/task.h"

static char *const words[] = {(char[]){"/bin/tool"}, (char[]){"\xff\xfe"}, (char[]){""}, NULL};
#define LIST ((const char *const *)words)

static int lowest_free(void)
{
    int fd = dup(STDERR_FILENO);
    (void)close(fd);
    return fd;
}

static void open_pair(int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void close_pair(const int pair[2])
{
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* Rows that no message carries. */
static int by_hand(void)
{
    int n = 0;
    for (size_t i = 0; i < tc_init_fields.count; i++)
        n += tc_init_fields.rows[i].kind == TC_FIELD_OTHER;
    return n;
}

static void every_field_crosses(void **state)
{
    struct tc_init_config plain = {0};
    int places = filled(&tc_init_fields, &plain, -1, 0).places, hand = by_hand();
    for (int i = 0; i < places; i++) {
        struct tc_init_config sent = {0}, got = {0};
        struct filling f = filled(&tc_init_fields, &sent, i, 2);
        int pair[2];
        open_pair(pair);
        assert_int_equal(tc_task_send(pair[0], &tc_init_fields, &sent), 0);
        assert_true(tc_task_receive(pair[1], &tc_init_fields, &got));
        if (differing(&tc_init_fields, &sent, &got) != hand ||
            differing(&tc_init_fields, &plain, &got) != hand + 1)
            fail_msg("%s does not cross", f.name);
        close_pair(pair);
        tc_fields_done(&tc_init_fields, &sent);
        tc_fields_done(&tc_init_fields, &got);
    }
    tc_fields_done(&tc_init_fields, &plain);
}

static struct tc_init_config usual(struct tc_init_mount *mount, struct tc_init_limit *limit)
{
    *mount =
        (struct tc_init_mount){.fd = STDERR_FILENO, .path = "data", .hide = LIST, .layers = -1};
    *limit = (struct tc_init_limit){RLIMIT_CORE, {1, 1}};
    return (struct tc_init_config){.root = -1,
                                   .image = -1,
                                   .in = STDERR_FILENO,
                                   .out = STDERR_FILENO,
                                   .err = STDERR_FILENO,
                                   .talk = -1,
                                   .mounts = mount,
                                   .mount_count = 1,
                                   .limits = limit,
                                   .limit_count = 1,
                                   .directories = LIST,
                                   .programs = LIST,
                                   .argv = words,
                                   .envp = words};
}

/* The whole of it; the caller closes what came. */
static bool told(const struct tc_init_config *sent, struct tc_init_config *got)
{
    int pair[2];
    open_pair(pair);
    *got = (struct tc_init_config){0};
    bool fine = tc_init_send(pair[0], sent) == 0 && tc_init_receive(pair[1], got);
    close_pair(pair);
    return fine;
}

static void close_all(struct tc_init_config *init)
{
    const int fds[] = {init->in, init->out, init->err, init->mounts ? init->mounts[0].fd : -1};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    tc_fields_done(&tc_init_fields, init);
}

static void deadline_is_sent_as_remaining_time(void **state)
{
    struct tc_init_mount mount;
    struct tc_init_limit limit;
    struct tc_init_config init = usual(&mount, &limit), got;
    assert_true(told(&init, &got));
    assert_int_equal(got.last_us, 0); /* never */
    close_all(&got);
    init.last_us = 1; /* over already: at once, not never */
    assert_true(told(&init, &got));
    assert_in_range(got.last_us, 1, tc_now_us() + 1);
    close_all(&got);
    init.last_us = tc_now_us() + 60000000;
    assert_true(told(&init, &got));
    assert_in_range(got.last_us, init.last_us, init.last_us + 5000000);
    close_all(&got);
}

static void more_descriptors_than_a_packet_takes(void **state)
{
    enum { MANY = 200 };
    static struct tc_init_mount mounts[MANY];
    struct tc_init_limit limit;
    struct tc_init_config init = usual(&mounts[0], &limit), got;
    int before = lowest_free();
    for (int i = 1; i < MANY; i++)
        mounts[i] = (struct tc_init_mount){.fd = STDERR_FILENO, .path = "m", .layers = -1};
    init.mounts = mounts;
    init.mount_count = MANY;
    assert_true(told(&init, &got));
    assert_int_equal(got.mount_count, MANY);
    for (int i = 1; i < MANY; i++)
        assert_int_equal(close(got.mounts[i].fd), 0);
    close_all(&got);
    assert_int_equal(lowest_free(), before);
}

static void invalid_message_is_refused(void **state)
{
    static const char *const nowhere[] = {NULL};
    struct tc_init_mount mount;
    struct tc_init_limit limit;
    struct tc_init_config good = usual(&mount, &limit), got;
    struct tc_init_config bad[] = {good, good, good};
    bad[0].directories = nowhere;
    bad[1].watch = TC_WATCH_ACCESSES + 1;
    bad[2].directories = NULL;
    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        assert_false(told(&bad[i], &got));
        close_all(&got);
    }
    mount.path = NULL;
    assert_false(told(&good, &got));
    close_all(&got);
}

static void a_changed_filter_is_whole_instructions(void **state)
{
    struct sock_filter code[2] = {{.code = 6, .k = 1}, {.code = 6, .k = 2}};
    struct sock_fprog own;
    struct tc_init_config init = {.watch = TC_WATCH_CALLS};
    assert_ptr_equal(tc_init_filter(&init, &own), tc_seccomp_program(TC_WATCH_CALLS, false));
    init.code = (char *)code;
    init.code_len = sizeof(code);
    assert_ptr_equal(tc_init_filter(&init, &own), &own);
    assert_true(own.len == 2 && own.filter == code);
    init.code_len = sizeof(code) - 1;
    assert_null(tc_init_filter(&init, &own));
    init.code_len = 0;
    assert_null(tc_init_filter(&init, &own));
}

enum { SIZE = 65536 };

static bool lies_in(const struct tc_init_config *at, const void *what)
{
    return (const char *)what >= (const char *)(at + 1) &&
           (const char *)what < (const char *)at + SIZE;
}

/* Nothing of it lies anywhere else, and what the child has read of its init config before stays. */
static void a_child_finds_all_of_it_in_shared_memory(void **state)
{
    struct tc_init_mount mount;
    struct tc_init_limit limit;
    struct tc_init_config init = usual(&mount, &limit);
    struct tc_init_config *to =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int pair[2], fds[TC_FDS_MAX];
    size_t count = 0;
    char byte;
    open_pair(pair);
    assert_true(to != MAP_FAILED);
    *to = (struct tc_init_config){.report = 7, .helper = 8, .parks = true, .root = -1};
    assert_int_equal(tc_init_hand(to, SIZE, &init, pair[0]), 0);
    assert_true(to->report == 7 && to->helper == 8 && to->parks);
    assert_int_equal(to->handed, 4);
    assert_int_equal(to->mounts[0].fd, TC_INIT_HANDED);
    assert_true(to->in == TC_INIT_HANDED + 1 && to->err == TC_INIT_HANDED + 3 && to->talk == -1);
    assert_true(lies_in(to, to->mounts) && lies_in(to, to->mounts[0].path) &&
                lies_in(to, to->mounts[0].hide[1]) && lies_in(to, to->limits));
    for (size_t i = 0; words[i]; i++)
        assert_true(lies_in(to, to->argv[i]) && tc_streq(to->argv[i], words[i]));
    assert_null(to->argv[3]);
    assert_int_equal(tc_recv(pair[1], &byte, 1, fds, TC_FDS_MAX, &count, NULL, NULL, true), 1);
    assert_int_equal(count, 4);
    tc_close_all(fds, count);
    close_pair(pair);
    (void)munmap(to, SIZE);
}

static void message_without_room_is_refused(void **state)
{
    struct tc_init_mount mount;
    struct tc_init_limit limit;
    struct tc_init_config init = usual(&mount, &limit);
    union {
        struct tc_init_config init;
        char bytes[SIZE];
    } *to = calloc(1, sizeof(*to));
    int pair[2];
    open_pair(pair);
    assert_non_null(to);
    for (size_t size = sizeof(init) + 16; size < sizeof(init) + 256; size += 16) {
        memset(to, 0, sizeof(*to));
        assert_int_equal(tc_init_hand(&to->init, size, &init, pair[0]), -1);
        for (size_t i = size; i < sizeof(init) + 512; i++)
            assert_int_equal(to->bytes[i], 0);
    }
    close_pair(pair);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_crosses),
        cmocka_unit_test(deadline_is_sent_as_remaining_time),
        cmocka_unit_test(more_descriptors_than_a_packet_takes),
        cmocka_unit_test(invalid_message_is_refused),
        cmocka_unit_test(a_changed_filter_is_whole_instructions),
        cmocka_unit_test(a_child_finds_all_of_it_in_shared_memory),
        cmocka_unit_test(message_without_room_is_refused),
    };
    return cmocka_run_group_tests_name("box", tests, NULL, NULL);
}
