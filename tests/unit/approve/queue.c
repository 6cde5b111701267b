/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "approve/queue/queue.h"
#include "base/digest.h"
#include "base/strv.h"
#include "state/store.h"

#define SUBJECT "{\"version\":1,\"tool\":\"say\"}"

/* ---- the clock ---- */

static int64_t later_s; /* of the clock that the waiting time is measured with */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    int r = __real_clock_gettime(clock, ret);
    if (clock == CLOCK_BOOTTIME)
        ret->tv_sec += later_s;
    return r;
}

/* Nobody waits for a reader in this test. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)time;
    (void)left;
    return 0;
}

/* ---- the place ---- */

static char root[] = "/tmp/toolcage-queue-XXXXXX";
static struct tc_fault fault;

static int make_place(void **state)
{
    (void)state;
    return mkdtemp(root) && setenv("XDG_STATE_HOME", root, 1) == 0 ? 0 : -1;
}

static int remove_place(void **state)
{
    (void)state;
    return tc_remove_tree(AT_FDCWD, root);
}

/* A static buffer. */
static const char *path_of(const char *id, const char *end)
{
    static char path[256];
    (void)snprintf(path, sizeof(path), "%s/toolcage/approvals/%s%s", root, id, end);
    return path;
}

static void put_file(const char *path, const char *text, mode_t mode)
{
    _autofd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
}

static size_t count_requests(void)
{
    struct tc_queued *list = NULL;
    size_t count = 0;
    assert_int_equal(tc_queue_list(&list, &count, &fault), 0);
    tc_queue_free(list, count);
    return count;
}

static int begin(const char *subject, struct tc_wait **ret)
{
    char digest[TC_DIGEST_SIZE];
    tc_digest(subject, strlen(subject), digest);
    _autofree_ char *request = tc_format(
        "{\"needed\":true,\"digest\":\"%s\",\"expires_s\":600,\"subject\":%s}", digest, subject);
    return tc_wait_begin(request, "test", ret, &fault);
}

static struct tc_wait *begin_say(void)
{
    struct tc_wait *wait = NULL;
    assert_int_equal(begin(SUBJECT, &wait), 0);
    return wait;
}

static struct tc_queued find(const char *prefix)
{
    struct tc_queued found = {0};
    assert_int_equal(tc_queue_find(prefix, &found, &fault), 0);
    return found;
}

/* ---- answers ---- */

static void answer_reaches_its_call(void **state)
{
    static const struct {
        bool yes;
        const char *reason;
    } rows[] = {{true, NULL}, {false, "not on a\n\"Sunday\""}, {false, NULL}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *reason = NULL;
        struct tc_wait *wait = begin_say();
        struct tc_queued found = find(tc_wait_id(wait));
        assert_string_equal(found.subject, SUBJECT);
        assert_int_equal(tc_wait_look(wait, &reason), TC_ANSWER_NONE);
        assert_int_equal(tc_queue_answer(&found, rows[i].yes ? TC_ANSWER_YES : TC_ANSWER_NO,
                                         rows[i].reason, &fault),
                         1);
        assert_int_equal(tc_wait_look(wait, &reason), rows[i].yes ? TC_ANSWER_YES : TC_ANSWER_NO);
        assert_true(tc_streq(reason, rows[i].reason));
        assert_int_not_equal(access(path_of(found.id, ".answer"), F_OK), 0);
        tc_wait_end(wait);
        assert_int_not_equal(access(path_of(found.id, ".json"), F_OK), 0);
        tc_queued_done(&found);
    }
}

static void first_answer_counts(void **state)
{
    _autofree_ char *reason = NULL;
    struct tc_wait *wait = begin_say();
    struct tc_queued found = find(tc_wait_id(wait));
    (void)state;
    assert_int_equal(tc_queue_answer(&found, TC_ANSWER_NO, NULL, &fault), 1);
    assert_int_equal(tc_queue_answer(&found, TC_ANSWER_YES, NULL, &fault), TOOLCAGE_EUSAGE);
    assert_non_null(strstr(fault.text, "already answered: refused"));
    assert_int_equal(tc_wait_look(wait, &reason), TC_ANSWER_NO);
    tc_wait_end(wait);
    assert_int_equal(tc_queue_answer(&found, TC_ANSWER_YES, NULL, &fault), TOOLCAGE_ENOT_FOUND);
    assert_non_null(strstr(fault.text, "no longer waits"));
    assert_int_not_equal(access(path_of(found.id, ".answer"), F_OK), 0);
    tc_queued_done(&found);
}

static void long_reason_is_refused(void **state)
{
    char reason[TC_QUEUE_REASON_MAX + 2];
    struct tc_wait *wait = begin_say();
    struct tc_queued found = find(tc_wait_id(wait));
    _autofree_ char *said = NULL;
    (void)state;
    memset(reason, 1, sizeof(reason)); /* six bytes each in the file */
    reason[TC_QUEUE_REASON_MAX + 1] = '\0';
    assert_int_equal(tc_queue_answer(&found, TC_ANSWER_NO, reason, &fault), TOOLCAGE_EUSAGE);
    reason[TC_QUEUE_REASON_MAX] = '\0';
    assert_int_equal(tc_queue_answer(&found, TC_ANSWER_NO, reason, &fault), 1);
    assert_int_equal(tc_wait_look(wait, &said), TC_ANSWER_NO);
    assert_string_equal(said, reason);
    tc_wait_end(wait);
    tc_queued_done(&found);
}

/* ---- unusable answers ---- */

#define OTHER "sha256:0000000000000000000000000000000000000000000000000000000000000000"

static void unusable_text_is_a_no(void **state)
{
    static const struct {
        const char *id, *digest; /* NULL: the request's */
        const char *rest;        /* of the text; without a comma: all of it */
        mode_t mode;
        const char *why;
    } rows[] = {
        {NULL, NULL, "", 0600, "not an answer"},
        {NULL, NULL, "yes", 0600, "not an answer"},
        {NULL, OTHER, ",\"version\":1,\"answer\":\"yes\"}", 0600, "answers another request"},
        {"01AAAAAAAAAAAAAAAAAAAAAAAA", NULL, ",\"version\":1,\"answer\":\"yes\"}", 0600,
         "answers another request"},
        {NULL, NULL, ",\"version\":1,\"answer\":true}", 0600, "not an answer"},
        {NULL, NULL, ",\"version\":1,\"answer\":\"YES\"}", 0600, "not an answer"},
        {NULL, NULL, ",\"version\":2,\"answer\":\"yes\"}", 0600, "not an answer"},
        {NULL, NULL, ",\"version\":1,\"answer\":\"no\",\"answer\":\"yes\"}", 0600, "not an answer"},
        {NULL, NULL, ",\"version\":1,\"answer\":\"yes\"}x", 0600, "not an answer"},
        {NULL, NULL, ",\"version\":1,\"answer\":\"yes\"}", 0660,
         "another user owns it or can write it"},
        {NULL, NULL, ",\"version\":1,\"answer\":\"yes\"}", 0602,
         "another user owns it or can write it"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *reason = NULL;
        struct tc_wait *wait = begin_say();
        struct tc_queued found = find(tc_wait_id(wait));
        _autofree_ char *text =
            tc_format("{\"id\":\"%s\",\"digest\":\"%s\"%s", rows[i].id ? rows[i].id : found.id,
                      rows[i].digest ? rows[i].digest : found.digest, rows[i].rest);
        put_file(path_of(found.id, ".answer"), rows[i].rest[0] == ',' ? text : rows[i].rest,
                 rows[i].mode);
        assert_int_equal(tc_wait_look(wait, &reason), TC_ANSWER_NO);
        assert_non_null(strstr(reason, rows[i].why));
        tc_wait_end(wait);
        tc_queued_done(&found);
    }
}

static void put_link(const char *path)
{
    assert_int_equal(symlink("/dev/zero", path), 0);
}

static void put_fifo(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void put_directory(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

static void put_large(const char *path)
{
    put_file(path, "{}", 0600);
    assert_int_equal(truncate(path, 1 << 20), 0);
}

static void unusable_file_is_a_no(void **state)
{
    static const struct {
        void (*put)(const char *path);
        const char *why;
    } rows[] = {{put_link, "not a regular file"},
                {put_fifo, "not a regular file"},
                {put_directory, "not a regular file"},
                {put_large, "too large"}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autofree_ char *reason = NULL;
        struct tc_wait *wait = begin_say();
        struct tc_queued found = find(tc_wait_id(wait));
        rows[i].put(path_of(found.id, ".answer"));
        assert_int_equal(tc_queue_answer(&found, TC_ANSWER_YES, NULL, &fault), TOOLCAGE_EUSAGE);
        assert_non_null(strstr(fault.text, rows[i].why));
        assert_int_equal(tc_wait_look(wait, &reason), TC_ANSWER_NO);
        assert_non_null(strstr(reason, rows[i].why));
        tc_wait_end(wait);
        tc_queued_done(&found);
    }
}

/* ---- requests ---- */

static void unanswered_request_expires(void **state)
{
    _autofree_ char *reason = NULL;
    struct tc_wait *wait = begin_say();
    struct tc_queued found = find(tc_wait_id(wait));
    (void)state;
    later_s = 590;
    assert_int_equal(tc_wait_look(wait, &reason), TC_ANSWER_NONE);
    assert_int_equal(tc_queue_answer(&found, TC_ANSWER_YES, NULL, &fault), 1);
    later_s = 601; /* a yes that was not read in time is none */
    assert_int_equal(tc_wait_look(wait, &reason), TC_ANSWER_NO);
    assert_string_equal(reason, "nobody answered within 10 minutes");
    later_s = 0;
    tc_wait_end(wait);
    assert_int_equal(unlink(path_of(found.id, ".answer")), 0);
    tc_queued_done(&found);
}

static void removed_request_is_a_no(void **state)
{
    _autofree_ char *reason = NULL;
    struct tc_wait *wait = begin_say();
    (void)state;
    assert_int_equal(unlink(path_of(tc_wait_id(wait), ".json")), 0);
    assert_int_equal(tc_wait_look(wait, &reason), TC_ANSWER_NO);
    assert_non_null(strstr(reason, "was removed"));
    tc_wait_end(wait);
}

static void changed_request_is_damaged(void **state)
{
    struct tc_wait *wait = begin_say();
    struct tc_queued found = {0};
    const char *path = path_of(tc_wait_id(wait), ".json");
    char text[1024] = "";
    (void)state;
    _autofd_ int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
    char *tool = strstr(text, "\"say\"");
    assert_non_null(tool);
    assert_int_equal(pwrite(fd, "\"see\"", 5, tool - text), 5);
    assert_int_equal(tc_queue_find(tc_wait_id(wait), &found, &fault), TOOLCAGE_ESYSTEM);
    assert_non_null(strstr(fault.text, "is damaged"));
    assert_int_equal(count_requests(), 0);
    tc_wait_end(wait);
}

static void queue_has_a_maximum(void **state)
{
    struct tc_wait *waits[TC_QUEUE_MAX], *more = NULL;
    struct tc_queued found = {0};
    (void)state;
    for (size_t i = 0; i < TC_QUEUE_MAX; i++)
        waits[i] = begin_say();
    assert_int_equal(begin(SUBJECT, &more), TOOLCAGE_EDENIED);
    assert_non_null(strstr(fault.text, "64 other calls wait"));
    assert_int_equal(count_requests(), TC_QUEUE_MAX);
    assert_int_equal(tc_queue_find("0", &found, &fault), TOOLCAGE_EUSAGE);
    assert_int_equal(tc_queue_find("", &found, &fault), TOOLCAGE_ENOT_FOUND);
    tc_wait_end(waits[0]);
    waits[0] = begin_say();
    for (size_t i = 0; i < TC_QUEUE_MAX; i++)
        tc_wait_end(waits[i]);
    assert_int_equal(count_requests(), 0);
}

static void large_request_is_refused(void **state)
{
    enum { LARGE = 1 << 20 };
    struct tc_wait *wait = NULL;
    char *subject = malloc(LARGE + 1);
    (void)state;
    assert_non_null(subject);
    memset(subject, '1', LARGE);
    subject[0] = subject[LARGE - 1] = '"';
    subject[LARGE] = '\0';
    assert_int_equal(begin(subject, &wait), TOOLCAGE_EDENIED);
    assert_non_null(strstr(fault.text, "too long"));
    free(subject);
}

static void rest_of_a_dead_host_is_removed(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(begin_say() ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    put_file(path_of("new-", "1"), "half", 0600);
    assert_int_equal(count_requests(), 0);
    struct tc_wait *wait = begin_say();
    _autofd_ int dir = open(path_of("", ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(tc_store_count(dir), 1);
    tc_wait_end(wait);
}

static void late_answer_is_removed(void **state)
{
    const char *path = path_of("01AAAAAAAAAAAAAAAAAAAAAAAA", ".answer");
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    (void)state;
    put_file(path, "{}", 0600);
    assert_int_equal(count_requests(), 0);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(count_requests(), 0);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void unsafe_directory_is_refused(void **state)
{
    char directory[256], aside[256];
    struct tc_wait *wait = NULL;
    (void)state;
    (void)snprintf(directory, sizeof(directory), "%s/toolcage/approvals", root);
    (void)snprintf(aside, sizeof(aside), "%s/toolcage/aside", root);
    assert_int_equal(chmod(directory, 0770), 0);
    assert_int_equal(begin(SUBJECT, &wait), TOOLCAGE_ESYSTEM);
    assert_non_null(strstr(fault.text, "another user owns it or can write it"));
    assert_int_equal(chmod(directory, 0700), 0);
    assert_int_equal(rename(directory, aside), 0);
    assert_int_equal(symlink(aside, directory), 0);
    assert_int_equal(begin(SUBJECT, &wait), TOOLCAGE_ESYSTEM);
    assert_non_null(strstr(fault.text, "it is not a directory"));
    assert_int_equal(unlink(directory), 0);
    assert_int_equal(rename(aside, directory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_reaches_its_call),
        cmocka_unit_test(first_answer_counts),
        cmocka_unit_test(long_reason_is_refused),
        cmocka_unit_test(unusable_text_is_a_no),
        cmocka_unit_test(unusable_file_is_a_no),
        cmocka_unit_test(unanswered_request_expires),
        cmocka_unit_test(removed_request_is_a_no),
        cmocka_unit_test(changed_request_is_damaged),
        cmocka_unit_test(queue_has_a_maximum),
        cmocka_unit_test(large_request_is_refused),
        cmocka_unit_test(rest_of_a_dead_host_is_removed),
        cmocka_unit_test(late_answer_is_removed),
        cmocka_unit_test(unsafe_directory_is_refused),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
