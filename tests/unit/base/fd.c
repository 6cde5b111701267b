/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many descriptors this process has open: the lowest free number says it while none is closed
 * below, which these tests keep so. */
static int lowest_free(void)
{
    int fd = fcntl(0, F_DUPFD, 0);
    (void)close(fd);
    return fd;
}

struct pair {
    int ends[2];
};

static struct pair socket_pair(void)
{
    struct pair pair;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.ends), 0);
    return pair;
}

static void close_pair(const struct pair *pair)
{
    (void)close(pair->ends[0]);
    (void)close(pair->ends[1]);
}

static void passes_descriptors(void **state)
{
    int before = lowest_free();
    struct pair pair = socket_pair();
    int pipes[2], got[TC_FDS_MAX];
    size_t count = 0;
    char text[16];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(tc_send(pair.ends[0], "two", 3, pipes, 2), 0);
    assert_int_equal(
        tc_recv(pair.ends[1], text, sizeof(text), got, TC_FDS_MAX, &count, NULL, NULL, true), 3);
    assert_memory_equal(text, "two", 3);
    assert_int_equal(count, 2);
    assert_int_equal(fcntl(got[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(write(got[1], "x", 1), 1);
    assert_int_equal(read(pipes[0], text, 1), 1);
    for (int i = 0; i < 2; i++) {
        (void)close(got[i]);
        (void)close(pipes[i]);
    }
    close_pair(&pair);
    assert_int_equal(lowest_free(), before);
}

/* A peer that sends more descriptors than wanted must not fill our table. */
static void closes_surplus_descriptors(void **state)
{
    struct pair pair = socket_pair();
    int before = lowest_free(), fds[TC_FDS_MAX], got[1] = {-1};
    size_t count = 99;
    char text[4];
    for (size_t i = 0; i < TC_FDS_MAX; i++)
        fds[i] = pair.ends[0];
    assert_int_equal(tc_send(pair.ends[0], "m", 1, fds, TC_FDS_MAX), 0);
    assert_int_equal(tc_recv(pair.ends[1], text, sizeof(text), got, 1, &count, NULL, NULL, true),
                     1);
    assert_int_equal(count, 1);
    assert_int_equal(got[0], before);
    (void)close(got[0]);
    assert_int_equal(lowest_free(), before);
    close_pair(&pair);
}

static void a_cut_message_is_an_error(void **state)
{
    struct pair pair = socket_pair();
    int before = lowest_free(), got[TC_FDS_MAX];
    size_t count = 0;
    char text[4];
    assert_int_equal(tc_send(pair.ends[0], "longer than four", 16, &pair.ends[0], 1), 0);
    errno = 0;
    assert_int_equal(
        tc_recv(pair.ends[1], text, sizeof(text), got, TC_FDS_MAX, &count, NULL, NULL, true), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(count, 0);
    assert_int_equal(lowest_free(), before);
    close_pair(&pair);
}

static void refuses_to_send_too_many(void **state)
{
    struct pair pair = socket_pair();
    int fds[TC_FDS_MAX + 1] = {0};
    errno = 0;
    assert_int_equal(tc_send(pair.ends[0], "m", 1, fds, TC_FDS_MAX + 1), -1);
    assert_int_equal(errno, E2BIG);
    close_pair(&pair);
}

/* Of a user of its own, who may have few files open: fills the way with descriptors, and asks a
 * child to take them off it after a while. Answers what the sender in between met. */
static int send_on_a_full_way(void)
{
    enum { FEW = 32, NOBODY_ELSE = 2000000123 };
    const struct rlimit few = {FEW, FEW};
    struct pair full = socket_pair(), free_one = socket_pair();
    int fds[4] = {0, 0, 0, 0};
    if ((geteuid() == 0 && setuid(NOBODY_ELSE) < 0) || setrlimit(RLIMIT_NOFILE, &few) < 0)
        return errno;
    for (int i = 0; i <= FEW / 4; i++)
        if (tc_send(full.ends[0], "m", 1, fds, 4) < 0)
            return errno;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        (void)usleep(100000);
        while (recv(full.ends[1], &byte, 1, MSG_DONTWAIT) == 1)
            ;
        _exit(0);
    }
    return child > 0 && tc_send(free_one.ends[0], "m", 1, fds, 1) == 0 ? 0 : errno;
}

static void waits_for_a_way_that_is_full(void **state)
{
    pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0)
        _exit(send_on_a_full_way());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void names_the_sender(void **state)
{
    struct pair pair = socket_pair();
    int on = 1;
    pid_t pid = 0;
    uid_t uid = 0;
    char text[4];
    size_t count = 0;
    assert_int_equal(setsockopt(pair.ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
    assert_int_equal(tc_send(pair.ends[0], "m", 1, NULL, 0), 0);
    assert_int_equal(tc_recv(pair.ends[1], text, sizeof(text), NULL, 0, &count, &pid, &uid, true),
                     1);
    assert_int_equal(pid, getpid());
    assert_int_equal(uid, getuid());
    assert_int_equal(tc_send(pair.ends[1], "m", 1, NULL, 0), 0);
    assert_int_equal(tc_recv(pair.ends[0], text, sizeof(text), NULL, 0, &count, &pid, &uid, true),
                     1);
    assert_int_equal(pid, -1);
    assert_int_equal(uid, (uid_t)-1);
    close_pair(&pair);
}

static void an_empty_socket_does_not_block(void **state)
{
    struct pair pair = socket_pair();
    char text[4];
    size_t count;
    errno = 0;
    assert_int_equal(tc_recv(pair.ends[0], text, sizeof(text), NULL, 0, &count, NULL, NULL, false),
                     -1);
    assert_int_equal(errno, EAGAIN);
    (void)close(pair.ends[1]);
    assert_int_equal(tc_recv(pair.ends[0], text, sizeof(text), NULL, 0, &count, NULL, NULL, false),
                     0);
    (void)close(pair.ends[0]);
}

/* SIGPIPE has its default action here: raising it would end the test. */
static void a_gone_peer_is_an_error(void **state)
{
    struct pair pair = socket_pair();
    (void)signal(SIGPIPE, SIG_DFL);
    (void)close(pair.ends[1]);
    errno = 0;
    assert_int_equal(tc_send(pair.ends[0], "m", 1, NULL, 0), -1);
    assert_int_equal(errno, EPIPE);
    (void)close(pair.ends[0]);
}

static void the_null_device_is_recognised(void **state)
{
    char byte;
    _autofd_ int null = tc_open_null(), zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    _autofd_ int file = tc_memfd("null", "", 0);
    assert_true(null >= 0 && tc_is_null(null));
    assert_int_equal(read(null, &byte, 1), 0);
    assert_int_equal(write(null, "x", 1), -1);
    assert_false(tc_is_null(zero) || tc_is_null(file) || tc_is_null(-1));
}

static void a_filled_pipe_ends_behind_its_bytes(void **state)
{
    static char much[65537], back[65537];
    memset(much, 'x', sizeof(much));
    int before = lowest_free();
    int from = tc_filled_pipe(much, sizeof(much) - 1);
    assert_int_equal(from, before);
    assert_int_equal(read(from, back, sizeof(back)), sizeof(much) - 1);
    assert_memory_equal(back, much, sizeof(much) - 1);
    assert_int_equal(read(from, back, sizeof(back)), 0);
    (void)close(from);
    assert_int_equal(tc_filled_pipe(much, sizeof(much)), -1);
    assert_int_equal(lowest_free(), before);
}

static void memory_files_are_sealed(void **state)
{
    _autofd_ int fd = tc_memfd("sealed", "bytes", 5);
    char text[8];
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, text, sizeof(text), 0), 5);
    assert_memory_equal(text, "bytes", 5);
    errno = 0;
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

static void reads_whole_files(void **state)
{
    char *big = calloc(1, 100000);
    assert_non_null(big);
    memset(big, 'q', 100000);
    _autofd_ int fd = tc_memfd("big", big, 100000);
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(tc_read_all(fd, &buf), 0);
    assert_int_equal(buf.len, 100000);
    assert_memory_equal(buf.data, big, 100000);

    _autobuf_ struct tc_buf small = {.max = 50000};
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    errno = 0;
    assert_int_equal(tc_read_all(fd, &small), -1);
    assert_int_equal(errno, EFBIG);
    for (size_t size = 99990; size <= 100010; size++) { /* one byte more than a maximum's text */
        _autobuf_ struct tc_buf exact = {.max = size};
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(tc_read_all(fd, &exact), size > 100000 ? 0 : -1);
        assert_true(size <= 100000 || exact.len == 100000);
    }
    free(big);
}

static void a_small_file_fits_a_small_buffer(void **state)
{
    _autofd_ int fd = tc_memfd("small", "0123456789", 10);
    for (size_t max = 0; max < 16; max++) {
        _autobuf_ struct tc_buf buf = {.max = max};
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        errno = 0;
        int r = tc_read_all(fd, &buf);
        assert_int_equal(r, max > 10 ? 0 : -1);
        assert_int_equal(errno, r < 0 ? EFBIG : 0);
        if (r == 0)
            assert_string_equal(buf.data, "0123456789");
    }
}

static void file_errors_keep_errno(void **state)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    errno = 0;
    assert_int_equal(tc_read_file(AT_FDCWD, "/nonexistent/file", &buf), -1);
    assert_int_equal(errno, ENOENT);
    errno = 0;
    assert_int_equal(tc_write_file(AT_FDCWD, "/nonexistent/file", "x"), -1);
    assert_int_equal(errno, ENOENT);
    errno = 0;
    assert_int_equal(tc_read_file(AT_FDCWD, "/", &buf), -1);
    assert_int_equal(errno, EISDIR);
}

static void half_a_directory_is_an_error(void **state)
{
    _autodir_ DIR *whole = opendir("/proc/self/task"), *half = opendir("/proc/self/task");
    _autofd_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct dirent *e;
    assert_true(whole && half && null >= 0);
    assert_int_equal(tc_next_entry(whole, &e), 1); /* the one thread, and neither . nor .. */
    assert_int_equal(tc_next_entry(whole, &e), 0);
    assert_true(dup3(null, dirfd(half), O_CLOEXEC) >= 0); /* what reads it fails from now on */
    assert_int_equal(tc_next_entry(half, &e), -1);
    assert_int_equal(errno, ENOTDIR);
}

static void list_of_a_directory_begins_anew(void **state)
{
    (void)state;
    _autofd_ int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent *e;
    for (int i = 0; i < 2; i++) {
        _autodir_ DIR *dir = tc_list_dir(fd);
        assert_non_null(dir);
        assert_int_equal(tc_next_entry(dir, &e), 1);
        assert_int_equal(tc_next_entry(dir, &e), 0);
    }
    errno = ENOENT;
    assert_null(tc_list_dir(-1));
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_null_device_is_recognised),
        cmocka_unit_test(passes_descriptors),
        cmocka_unit_test(closes_surplus_descriptors),
        cmocka_unit_test(a_cut_message_is_an_error),
        cmocka_unit_test(refuses_to_send_too_many),
        cmocka_unit_test(waits_for_a_way_that_is_full),
        cmocka_unit_test(names_the_sender),
        cmocka_unit_test(an_empty_socket_does_not_block),
        cmocka_unit_test(a_gone_peer_is_an_error),
        cmocka_unit_test(a_filled_pipe_ends_behind_its_bytes),
        cmocka_unit_test(memory_files_are_sealed),
        cmocka_unit_test(reads_whole_files),
        cmocka_unit_test(a_small_file_fits_a_small_buffer),
        cmocka_unit_test(file_errors_keep_errno),
        cmocka_unit_test(half_a_directory_is_an_error),
        cmocka_unit_test(list_of_a_directory_begins_anew),
    };
    return cmocka_run_group_tests_name("base/fd", tests, NULL, NULL);
}
