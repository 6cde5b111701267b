/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The audit log in a directory of the test: its writers, and what verification finds. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/log.h"
#include "audit/reader.h"
#include "audit/segments.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/path.h"
#include "state/store.h"

static const struct tc_audit_options usual = {.sync = TC_SYNC_NONE};

/* ---- a place for the log ---- */

static char place[64];

static int enter(void **state)
{
    (void)state;
    tc_strcopy(place, sizeof(place), "/tmp/toolcage-audit-XXXXXX");
    return mkdtemp(place) && setenv("XDG_STATE_HOME", place, 1) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return tc_remove_tree(AT_FDCWD, place);
}

static int open_log(void)
{
    _autofree_ char *path = tc_audit_path();
    assert_non_null(path);
    int dir = tc_audit_open(path, true);
    assert_true(dir >= 0);
    return dir;
}

static int add(const struct tc_audit_options *options, const char *kind, const char *text)
{
    _autobuf_ struct tc_buf members = TC_BUF_INIT;
    tc_buf_addf(&members, "\"call\":\"%s\"", text);
    return tc_audit_append(options, kind, &members, NULL);
}

static void write_records(const struct tc_audit_options *options, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(add(options, i % 2 ? "result" : "run", "x"), 0);
}

/* ---- verification ---- */

static char faults[4096];

static void note(void *context, const char *segment, uint64_t line, const char *what)
{
    size_t used = strlen(faults);
    (void)context;
    (void)snprintf(faults + used, sizeof(faults) - used, "%s%ju: %s\n", segment ? "" : "log ",
                   (uintmax_t)line, what);
}

static struct tc_audit_found verify(const char *anchor)
{
    struct tc_audit_found found = {0};
    int dir = open_log();
    faults[0] = '\0';
    assert_int_equal(tc_audit_verify(dir, anchor, note, NULL, &found), 0);
    (void)close(dir);
    return found;
}

static void expect_fault(const char *what)
{
    struct tc_audit_found found = verify(NULL);
    if (!found.faults || !strstr(faults, what))
        print_message("faults: %s\n", faults);
    assert_true(found.faults > 0);
    assert_non_null(strstr(faults, what));
}

/* The path of the segment at this place, owned. */
static char *segment_at(size_t index)
{
    _autofree_ char *path = tc_audit_path();
    _autostrv_ struct tc_strv names = {0};
    char file[TC_SEGMENT_FILE_SIZE];
    int dir = open_log();
    assert_int_equal(tc_segments_list(dir, &names), 0);
    (void)close(dir);
    assert_true(index < names.count);
    tc_segment_file(names.items[index], file);
    return tc_path_join(path, file);
}

/* The lines of a segment, so that they can be changed. */
struct lines {
    char *text, *path;
    char *items[64];
    size_t count;
};

static struct lines read_lines(size_t segment)
{
    struct lines l = {.path = segment_at(segment)};
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    assert_int_equal(tc_read_file(AT_FDCWD, l.path, &buf), 0);
    l.text = tc_buf_steal(&buf);
    for (char *at = l.text; *at && l.count < TC_COUNT(l.items);) {
        l.items[l.count++] = at;
        at = strchr(at, '\n');
        assert_non_null(at);
        *at++ = '\0';
    }
    return l;
}

static void write_lines(struct lines *l)
{
    FILE *out = fopen(l->path, "w");
    assert_non_null(out);
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i])
            (void)fprintf(out, "%s\n", l->items[i]);
    assert_int_equal(fclose(out), 0);
    free(l->text);
    free(l->path);
}

/* ---- writers ---- */

static void records_are_one_chain(void **state)
{
    (void)state;
    write_records(&usual, 3);
    write_records(&usual, 4);
    struct tc_audit_found found = verify(NULL);
    assert_int_equal(found.segments, 1);
    assert_int_equal(found.records, 8);
    assert_int_equal(found.run, 4);
    assert_int_equal(found.results, 3);
    assert_int_equal(found.faults, 0);
}

static void full_segment_is_followed_by_a_new_one(void **state)
{
    const struct tc_audit_options small = {.sync = TC_SYNC_ALWAYS, .segment = 1000};
    (void)state;
    write_records(&small, 20);
    struct tc_audit_found found = verify(NULL);
    assert_true(found.segments > 3);
    assert_int_equal(found.run, 10);
    assert_int_equal(found.faults, 0);
}

static void segments_stay_in_order_after_the_clock_was_set_back(void **state)
{
    const struct tc_audit_options small = {.sync = TC_SYNC_NONE, .segment = 1000};
    (void)state;
    write_records(&small, 1);
    struct lines l = read_lines(0);
    static const char later[] = "600000000ZAAAAAAAAAAAAAAAA";
    _autofree_ char *dir = tc_path_parent(l.path), *file = tc_format("%s.jsonl", later);
    _autofree_ char *future = tc_path_join(dir, file);
    assert_int_equal(rename(l.path, future), 0);
    free(l.text);
    free(l.path);
    write_records(&small, 6);
    _autofree_ char *first = segment_at(0), *last = segment_at(1);
    assert_string_equal(first, future);
    assert_true(strcmp(last, future) > 0);
    expect_fault("belongs to another segment"); /* of the renamed one */
    assert_int_equal(verify(NULL).faults, 1);
}

static void removal_of_old_segments_is_no_fault(void **state)
{
    char anchor[128];
    (void)snprintf(anchor, sizeof(anchor), "%s/anchor", place);
    const struct tc_audit_options small = {
        .sync = TC_SYNC_NONE, .segment = 1000, .keep = 4000, .anchor = anchor};
    (void)state;
    for (int i = 0; i < 5; i++) {
        write_records(&small, 30);
        struct tc_audit_found found = verify(anchor);
        if (found.faults)
            print_message("faults: %s\n", faults);
        assert_int_equal(found.faults, 0);
        assert_true(found.segments > 1 && found.segments < 8);
    }
    _autofree_ char *path = segment_at(0);
    assert_int_equal(unlink(path), 0);
    expect_fault("the beginning of the log is missing");
}

static void *write_many(void *name)
{
    const struct tc_audit_options small = {.sync = TC_SYNC_NONE, .segment = 20000};
    intptr_t failed = 0;
    for (int i = 0; i < 200; i++)
        failed |= add(&small, "run", name);
    return (void *)failed;
}

static void threads_write_at_once(void **state)
{
    pthread_t threads[4];
    (void)state;
    for (size_t i = 0; i < TC_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)"t"), 0);
    for (size_t i = 0; i < TC_COUNT(threads); i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    struct tc_audit_found found = verify(NULL);
    assert_int_equal(found.run, 800);
    assert_int_equal(found.faults, 0);
}

static void processes_write_at_once(void **state)
{
    enum { PROCESSES = 6, EACH = 60 };
    const struct tc_audit_options small = {.sync = TC_SYNC_NONE, .segment = 3000};
    pid_t pids[PROCESSES];
    (void)state;
    for (int i = 0; i < PROCESSES; i++)
        if (!(pids[i] = fork())) {
            for (int n = 0; n < EACH; n++)
                if (add(&small, "run", "x") < 0)
                    _exit(1);
            _exit(0);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    struct tc_audit_found found = verify(NULL);
    if (found.faults)
        print_message("faults: %s\n", faults);
    assert_int_equal(found.run, PROCESSES * EACH);
    assert_int_equal(found.faults, 0);
}

/* Whenever writers are killed, the log continues without a fault. */
static void killed_writers_leave_no_fault(void **state)
{
    const struct tc_audit_options small = {.sync = TC_SYNC_NONE, .segment = 2000, .keep = 20000};
    (void)state;
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (!pid)
            for (;;)
                (void)add(&small, "run", "x");
        (void)usleep((useconds_t)(500 + i * 37));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(add(&small, "result", "x"), 0);
        struct tc_audit_found found = verify(NULL);
        if (found.faults)
            print_message("round %d: %s\n", i, faults);
        assert_int_equal(found.faults, 0);
    }
}

static void record_of_several_lines_is_refused(void **state)
{
    (void)state;
    assert_true(add(&usual, "run", "a\"}\n{\"b") < 0);
    assert_int_equal(add(&usual, "run", "a"), 0);
    assert_int_equal(verify(NULL).faults, 0);
}

/* A full disk shows as a write that is cut. */
static void record_that_does_not_fit_is_not_written(void **state)
{
    struct rlimit before, low;
    struct stat st;
    char longer[600];
    (void)state;
    assert_int_equal(add(&usual, "run", "a"), 0);
    _autofree_ char *path = segment_at(0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = before;
    low.rlim_cur = (rlim_t)st.st_size + 100;
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    int r = add(&usual, "run", longer); /* without SIGXFSZ, which would end the host */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(r < 0);
    assert_int_equal(verify(NULL).faults, 0);
    assert_int_equal(add(&usual, "run", "b"), 0);
    struct tc_audit_found found = verify(NULL);
    assert_int_equal(found.run, 2);
    assert_int_equal(found.faults, 0);
}

static void cut_record_is_replaced_by_one_that_says_so(void **state)
{
    (void)state;
    write_records(&usual, 2);
    _autofree_ char *path = segment_at(0);
    FILE *out = fopen(path, "a");
    assert_non_null(out);
    (void)fputs("{\"prev\":\"sha256:", out);
    assert_int_equal(fclose(out), 0);
    struct tc_audit_found found = verify(NULL);
    assert_int_equal(found.faults, 0);
    assert_true(found.unfinished);
    write_records(&usual, 2);
    found = verify(NULL);
    assert_int_equal(found.faults, 0);
    assert_false(found.unfinished);
    assert_int_equal(found.records, 6);
    assert_int_equal(found.run, 2);
    struct lines l = read_lines(0);
    assert_non_null(strstr(l.items[3], "\"kind\":\"cut\""));
    assert_non_null(strstr(l.items[3], "\"bytes\":16"));
    free(l.text);
    free(l.path);
}

static void empty_newest_segment_is_begun_again(void **state)
{
    (void)state;
    write_records(&usual, 2);
    _autofree_ char *path = segment_at(0), *dir = tc_path_parent(path);
    _autofree_ char *empty = tc_path_join(dir, "7000000000AAAAAAAAAAAAAAAA.jsonl");
    int fd = open(empty, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    write_records(&usual, 2);
    struct tc_audit_found found = verify(NULL);
    assert_int_equal(found.segments, 1);
    assert_int_equal(found.faults, 0);
}

static void part_of_a_first_record_is_begun_again(void **state)
{
    (void)state;
    write_records(&usual, 1);
    _autofree_ char *path = segment_at(0);
    assert_int_equal(truncate(path, 150), 0);
    write_records(&usual, 1);
    struct tc_audit_found found = verify(NULL);
    assert_int_equal(found.faults, 0);
    assert_int_equal(found.records, 2);
}

/* A fork that lives on has a copy of every fd. */
static void fork_of_a_writer_does_not_keep_the_lock(void **state)
{
    int ends[2];
    (void)state;
    write_records(&usual, 1);
    int dir = open_log();
    assert_int_equal(flock(dir, LOCK_EX), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (!pid) {
        char end;
        (void)close(ends[1]);
        _exit(read(ends[0], &end, 1) != 0);
    }
    assert_int_equal(flock(dir, LOCK_UN), 0); /* as the writer does */
    (void)close(dir);
    assert_int_equal(add(&usual, "run", "x"), 0);
    (void)close(ends[1]);
    (void)close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void directory_is_closed_to_others(void **state)
{
    struct stat st;
    (void)state;
    write_records(&usual, 1);
    _autofree_ char *path = tc_audit_path();
    assert_int_equal(chmod(path, 0755), 0);
    write_records(&usual, 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

static void damaged_log_takes_no_record(void **state)
{
    (void)state;
    write_records(&usual, 1);
    _autofree_ char *path = segment_at(0);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    (void)fputs("no record\n", out);
    assert_int_equal(fclose(out), 0);
    assert_true(add(&usual, "run", "b") < 0);
    expect_fault("is not a record");
}

static void directory_of_others_is_refused(void **state)
{
    (void)state;
    write_records(&usual, 1);
    _autofree_ char *path = tc_audit_path();
    assert_int_equal(chmod(path, 0770), 0);
    assert_true(add(&usual, "run", "a") < 0);
    assert_int_equal(tc_remove_tree(AT_FDCWD, path), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_true(add(&usual, "run", "a") < 0);
}

static void other_file_type_takes_no_record(void **state)
{
    (void)state;
    write_records(&usual, 1);
    _autofree_ char *path = segment_at(0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(add(&usual, "run", "a") < 0);
    expect_fault("is not a plain file");
}

static void locked_log_is_waited_for(void **state)
{
    (void)state;
    write_records(&usual, 1);
    int dir = open_log();
    assert_int_equal(flock(dir, LOCK_EX), 0);
    pid_t pid = fork();
    if (!pid) {
        (void)close(dir);
        _exit(add(&usual, "run", "x") < 0);
    }
    (void)usleep(50000);
    (void)close(dir);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)status; /* the child's copy of the lock is gone with its fd */
    assert_int_equal(verify(NULL).faults, 0);
}

/* ---- what verification finds ---- */

static void changed_record_is_found(void **state)
{
    (void)state;
    write_records(&usual, 4);
    struct lines l = read_lines(0);
    *strstr(l.items[2], "\"x\"") = '\'';
    write_lines(&l);
    expect_fault("3: was changed");
}

static void changed_last_record_is_found(void **state)
{
    (void)state;
    write_records(&usual, 4);
    struct lines l = read_lines(0);
    *strstr(l.items[4], "\"x\"") = '\'';
    write_lines(&l);
    expect_fault("5: was changed");
}

static void missing_record_is_found(void **state)
{
    (void)state;
    write_records(&usual, 4);
    struct lines l = read_lines(0);
    l.items[2] = NULL;
    write_lines(&l);
    expect_fault("3: does not follow the one before it: records are missing");
}

static void missing_beginning_is_found(void **state)
{
    (void)state;
    write_records(&usual, 4);
    struct lines l = read_lines(0);
    l.items[0] = NULL;
    write_lines(&l);
    expect_fault("is the first, and does not begin the segment");
}

static void doubled_record_is_found(void **state)
{
    (void)state;
    write_records(&usual, 4);
    struct lines l = read_lines(0);
    l.items[3] = l.items[2];
    write_lines(&l);
    expect_fault("4: does not follow the one before it: it is doubled or moved");
}

static void moved_record_is_found(void **state)
{
    (void)state;
    write_records(&usual, 4);
    struct lines l = read_lines(0);
    char *two = l.items[2];
    l.items[2] = l.items[3];
    l.items[3] = two;
    write_lines(&l);
    expect_fault("records are missing");
}

/* Written again with the right hashes: the record after it has the old one. */
static void replaced_record_is_found(void **state)
{
    (void)state;
    write_records(&usual, 4);
    struct lines l = read_lines(0);
    struct tc_audit_line was;
    char hash[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf forged = TC_BUF_INIT;
    assert_null(tc_audit_line_read(l.items[2], strlen(l.items[2]), &was));
    tc_audit_line_begin(&forged, was.prev, was.seq, "result");
    tc_audit_line_end(&forged, hash);
    forged.data[forged.len - 1] = '\0';
    l.items[2] = forged.data;
    write_lines(&l);
    expect_fault("4: does not follow the one before it, which was replaced");
}

static void missing_segment_is_found(void **state)
{
    const struct tc_audit_options small = {.sync = TC_SYNC_NONE, .segment = 1000};
    (void)state;
    for (size_t gone = 0; gone < 2; gone++) {
        write_records(&small, 20);
        assert_int_equal(verify(NULL).faults, 0);
        _autofree_ char *path = segment_at(gone);
        assert_int_equal(unlink(path), 0);
        expect_fault(gone ? "records are missing" : "the beginning of the log is missing");
        _autofree_ char *log = tc_audit_path();
        assert_int_equal(tc_remove_tree(AT_FDCWD, log), 0);
    }
}

static void doubled_segment_is_found(void **state)
{
    (void)state;
    write_records(&usual, 4);
    struct lines l = read_lines(0);
    _autofree_ char *dir = tc_path_parent(l.path);
    free(l.path);
    l.path = tc_path_join(dir, "7000000000AAAAAAAAAAAAAAAA.jsonl");
    write_lines(&l);
    expect_fault("it is doubled or moved");
}

static const struct tc_audit_options *anchored(void)
{
    static char anchor[128];
    static struct tc_audit_options options = {.sync = TC_SYNC_NONE, .anchor = anchor};
    (void)snprintf(anchor, sizeof(anchor), "%s/anchor", place);
    return &options;
}

/* The faults of the log with its anchor. */
static uint64_t count_anchored(void)
{
    return verify(anchored()->anchor).faults;
}

static void cut_tail_is_found_by_the_anchor(void **state)
{
    (void)state;
    write_records(anchored(), 6);
    assert_int_equal(count_anchored(), 0);
    struct lines l = read_lines(0);
    l.count -= 2;
    write_lines(&l);
    assert_int_equal(verify(NULL).faults, 0); /* nobody can tell without it */
    assert_true(count_anchored() > 0);
    assert_non_null(strstr(faults, "the end of the log was cut off"));
    write_records(anchored(), 8); /* nor does it help to write on */
    assert_true(count_anchored() > 0);
    assert_non_null(strstr(faults, "the anchor has a record twice"));
}

static void rewritten_record_is_found_by_the_anchor(void **state)
{
    (void)state;
    write_records(anchored(), 4);
    struct lines l = read_lines(0);
    struct tc_buf forged[3] = {TC_BUF_INIT, TC_BUF_INIT, TC_BUF_INIT};
    struct tc_audit_line was;
    char hash[TC_DIGEST_SIZE];
    assert_null(tc_audit_line_read(l.items[1], strlen(l.items[1]), &was));
    memcpy(hash, was.hash, sizeof(hash));
    for (size_t i = 0; i < TC_COUNT(forged); i++) {
        tc_audit_line_begin(&forged[i], hash, 2 + i, "run");
        tc_audit_line_end(&forged[i], hash);
        forged[i].data[forged[i].len - 1] = '\0';
        l.items[2 + i] = forged[i].data;
    }
    write_lines(&l);
    assert_int_equal(verify(NULL).faults, 0);
    assert_true(count_anchored() > 0);
    assert_non_null(strstr(faults, "the log has another record than its anchor"));
    for (size_t i = 0; i < TC_COUNT(forged); i++)
        tc_buf_done(&forged[i]);
}

/* A new log that claims that the old one was removed as the policy says. */
static void replaced_log_is_found_by_the_anchor(void **state)
{
    (void)state;
    write_records(anchored(), 4);
    struct lines l = read_lines(0);
    struct tc_segment_open open = {.from = 100};
    char hash[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf forged = TC_BUF_INIT, members = TC_BUF_INIT;
    tc_strcopy(open.segment, sizeof(open.segment), strrchr(l.path, '/') + 1);
    memcpy(open.after, tc_audit_nothing, sizeof(open.after));
    tc_segment_write_open(&open, &members);
    tc_audit_line_begin(&forged, tc_audit_nothing, 100, "open");
    tc_buf_addf(&forged, ",%s", members.data);
    tc_audit_line_end(&forged, hash);
    forged.data[forged.len - 1] = '\0';
    l.items[0] = forged.data;
    l.count = 1;
    write_lines(&l);
    assert_int_equal(verify(NULL).faults, 0);
    assert_true(count_anchored() > 0);
    assert_non_null(strstr(faults, "the anchor has no record of this log"));
}

static void anchor_of_another_log_is_found(void **state)
{
    (void)state;
    write_records(&usual, 2);
    FILE *out = fopen(anchored()->anchor, "w");
    assert_non_null(out);
    assert_int_equal(fclose(out), 0);
    assert_true(count_anchored() > 0);
    assert_non_null(strstr(faults, "the anchor has no record of this log"));
    out = fopen(anchored()->anchor, "w");
    assert_non_null(out);
    (void)fputs("root:x:0:0::/root:/bin/bash\n", out);
    assert_int_equal(fclose(out), 0);
    assert_true(count_anchored() > 0);
    assert_non_null(strstr(faults, "a line that is not one of an anchor"));
}

static void cut_line_of_the_anchor_is_no_fault(void **state)
{
    (void)state;
    write_records(anchored(), 2);
    FILE *out = fopen(anchored()->anchor, "a");
    assert_non_null(out);
    (void)fputs("3 sha256:00ff", out);
    assert_int_equal(fclose(out), 0);
    write_records(anchored(), 2);
    struct tc_audit_found found = verify(anchored()->anchor);
    assert_int_equal(found.faults, 0);
    assert_int_equal(found.anchored, 5);
}

static void records_after_the_anchor_are_counted(void **state)
{
    (void)state;
    write_records(anchored(), 2);
    write_records(&usual, 3);
    struct tc_audit_found found = verify(anchored()->anchor);
    assert_int_equal(found.faults, 0);
    assert_int_equal(found.anchored, 3);
    assert_int_equal(found.after, 3);
}

static void record_without_its_anchor_is_taken_back(void **state)
{
    (void)state;
    write_records(&usual, 1);
    assert_int_equal(mkfifo(anchored()->anchor, 0600), 0);
    assert_true(add(anchored(), "run", "a") < 0);
    struct tc_audit_found found = verify(NULL);
    assert_int_equal(found.run, 1);
    assert_int_equal(found.faults, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        CASE(records_are_one_chain),
        CASE(full_segment_is_followed_by_a_new_one),
        CASE(segments_stay_in_order_after_the_clock_was_set_back),
        CASE(removal_of_old_segments_is_no_fault),
        CASE(threads_write_at_once),
        CASE(processes_write_at_once),
        CASE(killed_writers_leave_no_fault),
        CASE(record_of_several_lines_is_refused),
        CASE(record_that_does_not_fit_is_not_written),
        CASE(cut_record_is_replaced_by_one_that_says_so),
        CASE(empty_newest_segment_is_begun_again),
        CASE(part_of_a_first_record_is_begun_again),
        CASE(fork_of_a_writer_does_not_keep_the_lock),
        CASE(directory_is_closed_to_others),
        CASE(damaged_log_takes_no_record),
        CASE(directory_of_others_is_refused),
        CASE(other_file_type_takes_no_record),
        CASE(locked_log_is_waited_for),
        CASE(changed_record_is_found),
        CASE(changed_last_record_is_found),
        CASE(missing_record_is_found),
        CASE(missing_beginning_is_found),
        CASE(doubled_record_is_found),
        CASE(moved_record_is_found),
        CASE(replaced_record_is_found),
        CASE(missing_segment_is_found),
        CASE(doubled_segment_is_found),
        CASE(cut_tail_is_found_by_the_anchor),
        CASE(rewritten_record_is_found_by_the_anchor),
        CASE(replaced_log_is_found_by_the_anchor),
        CASE(anchor_of_another_log_is_found),
        CASE(cut_line_of_the_anchor_is_no_fault),
        CASE(records_after_the_anchor_are_counted),
        CASE(record_without_its_anchor_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
