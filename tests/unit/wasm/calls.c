/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The other calls of a guest: its memory is checked, its descriptors are its own. */
#include "guest.h"

static void bytes_are_read_and_written(void **state)
{
    int64_t fd = open_path(3, "new", WASI_O_CREAT, WASI_R_READ | WASI_R_WRITE | WASI_R_SEEK);
    uint64_t n = put(OTHER, "words");
    assert_true(fd > 3);
    vector(OTHER, (uint32_t)n);
    assert_int_equal(CALL("fd_write", (uint64_t)fd, VECTOR, 1, RET), WASI_OK);
    assert_int_equal(read32(RET), n);
    assert_int_equal(CALL("fd_seek", (uint64_t)fd, 1, 0, RET), WASI_OK);
    vector(BUFFER, 100);
    assert_int_equal(CALL("fd_read", (uint64_t)fd, VECTOR, 1, RET), WASI_OK);
    assert_int_equal(read32(RET), 4);
    assert_memory_equal(memory + BUFFER, "ords", 4);
    assert_int_equal(CALL("fd_pread", (uint64_t)fd, VECTOR, 1, 0, RET), WASI_OK);
    assert_memory_equal(memory + BUFFER, "words", 5);
    assert_int_equal(CALL("fd_close", (uint64_t)fd), WASI_OK);
    assert_int_equal(CALL("fd_close", (uint64_t)fd), WASI_BADF);
}

/* These would take from it what the others are tried with. */
static bool spares_the_root(const char *name)
{
    return strcmp(name, "proc_exit") != 0 && strcmp(name, "fd_close") != 0 &&
           strcmp(name, "fd_fdstat_set_rights") != 0;
}

/* Every address that a guest can name, at the border of its memory and far beyond. */
static void no_address_leads_out_of_its_memory(void **state)
{
    static const uint32_t wild[] = {MEMORY - 3, MEMORY,     MEMORY + 1,
                                    0x7fffffff, 0xfffffff0, 0xffffffff};
    for (size_t i = 0; i < TC_COUNT(wild); i++)
        for (size_t c = 0; c < tc_wasi_call_count; c++)
            for (size_t at = 0; at < TC_WASI_ARGUMENTS; at++) {
                uint64_t a[TC_WASI_ARGUMENTS] = {3, 1024, 8, 1024, 8, 1024, 8, 1024, 1024};
                a[at] = wild[i];
                if (spares_the_root(tc_wasi_calls[c].name))
                    (void)call(tc_wasi_calls[c].name, a);
            }
    vector(MEMORY - 2, 4);
    assert_int_equal(CALL("fd_write", 1, VECTOR, 1, RET), WASI_FAULT);
    vector(0xffffffff, 0xffffffff);
    assert_int_equal(CALL("fd_write", 1, VECTOR, 1, RET), WASI_FAULT);
    assert_int_equal(CALL("fd_write", 1, VECTOR, 0xffffffff, RET), WASI_INVAL);
    assert_int_equal(CALL("fd_write", 1, MEMORY - 4, 1, RET), WASI_FAULT);
    assert_int_equal(CALL("random_get", MEMORY - 1, 2), WASI_FAULT);
    assert_int_equal(CALL("args_sizes_get", 0, MEMORY - 3), WASI_FAULT);
    assert_int_equal(CALL("poll_oneoff", 0, 0, 0x10000000, RET), WASI_INVAL);
    assert_int_equal(CALL("poll_oneoff", MEMORY - 40, 0, 1, RET), WASI_FAULT);
}

static void numbers_are_its_own(void **state)
{
    enum { NO_NUMBER = 20 };
    int any = open("/dev/null", O_RDONLY | O_CLOEXEC),
        there = fcntl(any, F_DUPFD_CLOEXEC, NO_NUMBER);
    (void)close(any);
    for (uint64_t fd = 4; fd < 300; fd++)
        assert_int_equal(CALL("fd_filestat_get", fd, BUFFER), WASI_BADF);
    assert_int_equal(CALL("fd_close", (uint64_t)there), WASI_BADF);
    assert_int_equal(fcntl(there, F_GETFD), FD_CLOEXEC);
    (void)close(there);
    assert_int_equal(CALL("fd_renumber", 3, 1), WASI_NOTSUP);
    assert_int_equal(CALL("fd_close", 1), WASI_OK);
    assert_true(fcntl(1, F_GETFD) >= 0);
    assert_int_equal(open_read("a"), 4);
    assert_int_equal(CALL("fd_renumber", 4, 3), WASI_OK);
    assert_int_equal(CALL("fd_prestat_get", 3, BUFFER), WASI_BADF);
    assert_int_equal(open_read("a"), -WASI_NOTCAPABLE);
}

static void rights_are_given_up_and_not_gained(void **state)
{
    int64_t fd = open_path(3, "a", 0, WASI_R_READ);
    vector(BUFFER, 4);
    assert_int_equal(CALL("fd_read", (uint64_t)fd, VECTOR, 1, RET), WASI_OK);
    assert_int_equal(CALL("fd_write", (uint64_t)fd, VECTOR, 1, RET), WASI_NOTCAPABLE);
    assert_int_equal(CALL("fd_fdstat_set_rights", (uint64_t)fd, WASI_R_WRITE, 0), WASI_NOTCAPABLE);
    assert_int_equal(CALL("fd_fdstat_set_rights", (uint64_t)fd, 0, 0), WASI_OK);
    assert_int_equal(CALL("fd_read", (uint64_t)fd, VECTOR, 1, RET), WASI_NOTCAPABLE);
    uint64_t most = WASI_R_DIR & ~WASI_R_OPEN;
    assert_int_equal(CALL("fd_fdstat_set_rights", 3, most, 0), WASI_OK);
    assert_int_equal(open_read("a"), -WASI_NOTCAPABLE);
}

static void truncation_needs_the_size_right(void **state)
{
    uint64_t most = WASI_R_DIR & ~WASI_R_SIZE_PATH;
    assert_int_equal(CALL("fd_fdstat_set_rights", 3, most, WASI_R_FILE), WASI_OK);
    assert_int_equal(open_path(3, "a", WASI_O_TRUNC, 0), -WASI_NOTCAPABLE);
    assert_true(open_path(3, "a", 0, WASI_R_WRITE) > 3);
}

static void descriptors_run_out(void **state)
{
    int64_t last = 0, fd;
    while ((fd = open_read("a")) > 0)
        last = fd;
    assert_int_equal(last, TC_WASI_FDS - 1);
    assert_int_equal(fd, -WASI_MFILE);
}

static void a_directory_is_read_in_pieces(void **state)
{
    char names[64] = "";
    uint64_t cookie = 0;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(CALL("fd_readdir", 3, BUFFER, 40, cookie, RET), WASI_OK);
        if (read32(RET) < WASI_DIRENT_SIZE)
            break;
        uint32_t n = read32(BUFFER + 16);
        assert_true(n < 16);
        memcpy(&cookie, memory + BUFFER, 8);
        if (memory[BUFFER + WASI_DIRENT_SIZE] == '.')
            continue;
        size_t length = strlen(names);
        memcpy(names + length, memory + BUFFER + WASI_DIRENT_SIZE, n);
        names[length + n] = ' ';
    }
    assert_true(strcmp(names, "a sub ") == 0 || strcmp(names, "sub a ") == 0);
}

static void a_sleep_ends(void **state)
{
    memset(memory + OTHER, 0, WASI_SUBSCRIPTION_SIZE);
    memory[OTHER] = 42;
    memory[OTHER + 16] = 1; /* the monotonic clock */
    uint64_t time = 1000000;
    memcpy(memory + OTHER + 24, &time, sizeof(time));
    assert_int_equal(CALL("poll_oneoff", OTHER, BUFFER, 1, RET), WASI_OK);
    assert_int_equal(read32(RET), 1);
    assert_int_equal(memory[BUFFER], 42);
    assert_int_equal(memory[BUFFER + 10], WASI_EVENT_CLOCK);
    memory[OTHER + 8] = 9;
    assert_int_equal(CALL("poll_oneoff", OTHER, BUFFER, 1, RET), WASI_INVAL);
}

static void it_has_no_sockets_and_no_signals(void **state)
{
    assert_int_equal(CALL("sock_accept", 0, 0, RET), WASI_NOTSOCK);
    assert_int_equal(CALL("sock_send", 99, VECTOR, 1, 0, RET), WASI_BADF);
    assert_int_equal(CALL("sock_recv", 3, VECTOR, 1, 0, RET, RET), WASI_NOTSOCK);
    assert_int_equal(CALL("sock_shutdown", 1, 3), WASI_NOTSOCK);
    assert_int_equal(CALL("proc_raise", 9), WASI_NOTSUP);
}

static void words_and_environment_arrive(void **state)
{
    assert_true(tc_strv_add(&guest.args, "tool") && tc_strv_add(&guest.args, "x"));
    assert_true(tc_strv_add(&guest.env, "A=b"));
    assert_int_equal(CALL("args_sizes_get", RET, RET + 4), WASI_OK);
    assert_int_equal(read32(RET), 2);
    assert_int_equal(read32(RET + 4), 7);
    assert_int_equal(CALL("args_get", RET, BUFFER), WASI_OK);
    assert_memory_equal(memory + BUFFER, "tool\0x", 7);
    assert_int_equal(read32(RET + 4), BUFFER + 5);
    assert_int_equal(CALL("environ_get", RET, BUFFER), WASI_OK);
    assert_memory_equal(memory + BUFFER, "A=b", 4);
}

static void an_end_is_remembered(void **state)
{
    assert_int_equal(CALL("proc_exit", 300), WASI_OK);
    assert_true(guest.exited);
    assert_int_equal(guest.code, 300);
}

static void every_call_of_the_interface_is_there(void **state)
{
    assert_int_equal(tc_wasi_call_count, 46);
    assert_non_null(tc_wasi_find("fd_fdstat_set_rights"));
    assert_null(tc_wasi_find("fd_open"));
}

#define WRITES(test) cmocka_unit_test_setup_teardown(test, with_writing, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WRITES(bytes_are_read_and_written),
        WRITES(no_address_leads_out_of_its_memory),
        WRITES(numbers_are_its_own),
        WRITES(rights_are_given_up_and_not_gained),
        WRITES(truncation_needs_the_size_right),
        WRITES(descriptors_run_out),
        WRITES(a_directory_is_read_in_pieces),
        WRITES(a_sleep_ends),
        WRITES(it_has_no_sockets_and_no_signals),
        WRITES(words_and_environment_arrive),
        WRITES(an_end_is_remembered),
        WRITES(every_call_of_the_interface_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
