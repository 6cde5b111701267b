/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a program is told: each field and each descriptor arrives in its place, in a packet or in a
 * file, and whatever is not exactly such a message is none, and leaves no descriptor. */
#include "test.h"

#include "base/task.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fields.h"
#include "base/fd.h"

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

static bool send_and_receive(const struct tc_task_message *sent, struct tc_task_message *got)
{
    int pair[2];
    open_pair(pair);
    *got = (struct tc_task_message){0};
    bool fine = tc_task_send(pair[0], &tc_task_fields, sent) == 0 &&
                tc_task_receive(pair[1], &tc_task_fields, got);
    (void)close(pair[0]);
    (void)close(pair[1]);
    return fine;
}

static void close_all(const struct tc_task_message *task)
{
    const int fds[] = {task->in,   task->out,  task->err,     task->root,
                       task->wall, task->port, task->console, task->file};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

static void every_field_arrives(void **state)
{
    int before = lowest_free();
    struct tc_task_message plain = {0}, sent, got;
    int places = filled(&tc_task_fields, &plain, -1, 0).places;
    for (int i = 0; i < places; i++) {
        sent = (struct tc_task_message){0};
        struct filling f = filled(&tc_task_fields, &sent, i, STDERR_FILENO);
        assert_true(send_and_receive(&sent, &got));
        if (differing(&tc_task_fields, &sent, &got) ||
            differing(&tc_task_fields, &plain, &got) != 1)
            fail_msg("%s does not arrive", f.name);
        close_all(&got);
        tc_fields_done(&tc_task_fields, &sent);
        tc_fields_done(&tc_task_fields, &got);
    }
    tc_fields_done(&tc_task_fields, &plain);
    assert_int_equal(lowest_free(), before);
}

/* Two descriptors are not exchanged, and do not survive an exec. */
static void descriptors_keep_their_places(void **state)
{
    struct stat null, zero, st;
    _autofd_ int a = open("/dev/null", O_RDWR | O_CLOEXEC), b = open("/dev/zero", O_RDONLY);
    struct tc_task_message sent = TC_TASK_NONE, got;
    sent.out = a;
    sent.root = b;
    assert_true(fstat(a, &null) == 0 && fstat(b, &zero) == 0);
    assert_true(send_and_receive(&sent, &got));
    assert_true(got.in < 0 && got.wall < 0 && got.file < 0);
    assert_true(fstat(got.out, &st) == 0 && st.st_rdev == null.st_rdev);
    assert_true(fstat(got.root, &st) == 0 && st.st_rdev == zero.st_rdev);
    assert_true(fcntl(got.root, F_GETFD) & FD_CLOEXEC);
    close_all(&got);
}

static void any_length_arrives(void **state)
{
    static const size_t lengths[] = {0, 1, TC_TASK_INSIDE_MAX - 200, TC_TASK_INSIDE_MAX, 1 << 20};
    for (size_t i = 0; i < TC_COUNT(lengths); i++) {
        int before = lowest_free();
        struct tc_task_message sent = TC_TASK_NONE, got;
        sent.call = calloc(1, lengths[i] + 1);
        assert_non_null(sent.call);
        memset(sent.call, 'x', lengths[i]);
        sent.call_len = lengths[i];
        assert_true(send_and_receive(&sent, &got));
        assert_null(got.program);
        assert_int_equal(got.call_len, lengths[i]);
        assert_memory_equal(got.call, sent.call, lengths[i]);
        tc_fields_done(&tc_task_fields, &got);
        free(sent.call);
        assert_int_equal(lowest_free(), before);
    }
}

/* One message as it is on the socket, with its descriptor. */
static size_t packed(char *bytes, size_t size, int fds[TC_FDS_MAX])
{
    static char program[] = "ab";
    int pair[2];
    size_t count = 0;
    struct tc_task_message task = TC_TASK_NONE;
    task.program = program;
    task.program_len = strlen(program);
    task.in = STDERR_FILENO;
    open_pair(pair);
    assert_int_equal(tc_task_send(pair[0], &tc_task_fields, &task), 0);
    ssize_t n = tc_recv(pair[1], bytes, size, fds, TC_FDS_MAX, &count, NULL, NULL, true);
    assert_true(n > 0 && count == 1);
    (void)close(pair[0]);
    (void)close(pair[1]);
    return (size_t)n;
}

static bool takes(const char *bytes, size_t len, const int *fds, size_t count)
{
    int pair[2];
    struct tc_task_message got = {0};
    open_pair(pair);
    assert_int_equal(tc_send(pair[0], bytes, len, fds, count), 0);
    (void)close(pair[0]);
    bool fine = tc_task_receive(pair[1], &tc_task_fields, &got);
    if (fine)
        close_all(&got);
    tc_fields_done(&tc_task_fields, &got);
    (void)close(pair[1]);
    return fine;
}

static void message_of_wrong_length_is_refused(void **state)
{
    char bytes[4096];
    int fds[TC_FDS_MAX];
    size_t len = packed(bytes, sizeof(bytes) - 1, fds);
    int before = lowest_free();
    assert_true(takes(bytes, len, fds, 1));
    for (size_t cut = 0; cut < len; cut++)
        assert_false(takes(bytes, cut, fds, 1));
    bytes[len] = 0;
    assert_false(takes(bytes, len + 1, fds, 1));
    assert_int_equal(lowest_free(), before);
    (void)close(fds[0]);
}

static void descriptors_are_as_many_as_the_fields_say(void **state)
{
    char bytes[4096];
    int fds[TC_FDS_MAX];
    size_t len = packed(bytes, sizeof(bytes), fds);
    int before = lowest_free();
    const int two[] = {fds[0], fds[0]};
    assert_false(takes(bytes, len, NULL, 0));
    assert_false(takes(bytes, len, two, 2));
    assert_int_equal(lowest_free(), before);
    (void)close(fds[0]);
}

static void a_file_of_another_size_is_none(void **state)
{
    char bytes[4096];
    int fds[TC_FDS_MAX];
    size_t len = packed(bytes, sizeof(bytes), fds), head = 2 * sizeof(uint32_t);
    _autofd_ int file = tc_memfd("task", bytes + head, len - head);
    const int right[] = {file, fds[0]}, wrong[] = {fds[0], file};
    assert_true(file >= 0);
    const uint32_t two = 2;
    memcpy(bytes + sizeof(two), &two, sizeof(two)); /* descriptors */
    assert_true(takes(bytes, head, right, 2));
    assert_false(takes(bytes, head, wrong, 2));
    for (int change = -1; change <= 1; change += 2) {
        uint32_t size = (uint32_t)((int)(len - head) + change);
        memcpy(bytes, &size, sizeof(size));
        assert_false(takes(bytes, head, right, 2));
    }
    (void)close(fds[0]);
}

static void closed_peer_sends_no_message(void **state)
{
    int pair[2];
    struct tc_task_message got = {0};
    open_pair(pair);
    (void)close(pair[0]);
    assert_false(tc_task_receive(pair[1], &tc_task_fields, &got));
    (void)close(pair[1]);
}

/* Numbers that a kernel could not have measured are none. */
static void reported_end_is_bounded(void **state)
{
    struct tc_task_end end = {.code = 0x1234, .cpu_us = -1, .bytes = INT64_MAX};
    tc_task_bound(&end);
    assert_int_equal(end.code, 0x34);
    assert_true(end.cpu_us == 0 && end.bytes == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_arrives),
        cmocka_unit_test(descriptors_keep_their_places),
        cmocka_unit_test(any_length_arrives),
        cmocka_unit_test(message_of_wrong_length_is_refused),
        cmocka_unit_test(descriptors_are_as_many_as_the_fields_say),
        cmocka_unit_test(a_file_of_another_size_is_none),
        cmocka_unit_test(closed_peer_sends_no_message),
        cmocka_unit_test(reported_end_is_bounded),
    };
    return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
