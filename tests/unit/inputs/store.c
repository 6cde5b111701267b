/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What recorded calls started with: stored, restored and removed, in directories of the test. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

#include "base/fd.h"
#include "base/path.h"
#include "inputs/reader.h"
#include "inputs/store.h"
#include "state/store.h"

enum { MOST = 64 << 20 };

/* ---- a place for the store, and a tree ---- */

static char place[64], tree[96];

static int enter(void **state)
{
    (void)state;
    tc_strcopy(place, sizeof(place), "/tmp/toolcage-inputs-XXXXXX");
    if (!mkdtemp(place) || setenv("XDG_STATE_HOME", place, 1) || setenv("XDG_CACHE_HOME", place, 1))
        return -1;
    (void)snprintf(tree, sizeof(tree), "%s/tree", place);
    return mkdir(tree, 0755);
}

static int leave(void **state)
{
    (void)state;
    return tc_remove_tree(AT_FDCWD, place);
}

static void put(const char *name, const char *text, mode_t mode)
{
    _autofree_ char *path = tc_path_join(tree, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(tc_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static void make(const char *name)
{
    _autofree_ char *path = tc_path_join(tree, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static bool show_all(void *context, const char *relative, bool directory)
{
    const char *hidden = context;
    return !hidden || strcmp(relative, hidden) != 0;
}

/* The digest of the tree; "": it was not stored. */
static struct tc_inputs_tree keep(const char *hidden)
{
    struct tc_inputs store = {.dir = -1};
    struct tc_inputs_tree kept = {.shows = show_all, .context = (void *)(uintptr_t)hidden};
    assert_int_equal(tc_inputs_open(MOST, &store), 0);
    if (tc_inputs_keep(&store, tree, &kept) < 0)
        kept.digest[0] = '\0';
    tc_inputs_close(&store);
    return kept;
}

static char *restored(struct tc_unpacked *unpacked, const char *digest)
{
    int store = tc_stored_open(false);
    assert_true(store >= 0);
    int r = tc_stored_unpack(store, digest, unpacked);
    int saved = errno;
    tc_stored_close(store);
    errno = saved;
    return r < 0 ? NULL : unpacked->path;
}

static void check_same(const char *a, const char *b)
{
    char command[1024];
    (void)snprintf(command, sizeof(command),
                   "cd %s && find . -printf '%%P %%M %%s %%l %%T@\\n' | sort > ../a && cd %s && "
                   "find . -printf '%%P %%M %%s %%l %%T@\\n' | sort > %s/b && cd %s && "
                   "sed -i '/^ /d;/ l[rwx]/s/[0-9.]*$//' a b && cmp a b && "
                   "diff -r --no-dereference %s %s",
                   a, b, place, place, a, b);
    assert_int_equal(system(command), 0);
}

static void object_path(const char *digest, char ret[256])
{
    (void)snprintf(ret, 256, "%s/toolcage/inputs/%.2s/%s", place, digest + 7, digest + 9);
}

static void put_object(const char *digest, const char *text)
{
    char path[256];
    object_path(digest, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(chmod(path, 0600) == 0);
    fd = fd < 0 ? open(path, O_WRONLY | O_TRUNC) : fd;
    assert_true(fd >= 0);
    assert_int_equal(tc_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(close(fd), 0);
}

static int count_in(const char *directory)
{
    int count = 0;
    struct dirent *e;
    _autodir_ DIR *dir = opendir(directory);
    while (dir && tc_next_entry(dir, &e) > 0)
        count++;
    return count;
}

static int count_objects(void)
{
    int count = 0;
    for (unsigned i = 0; i < 256; i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/toolcage/inputs/%02x", place, i);
        count += count_in(path);
    }
    return count;
}

/* ---- trees ---- */

static void tree_is_restored_with_modes_times_and_links(void **state)
{
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    char link[128];
    (void)state;
    make("sub");
    make("sub/empty");
    put("a", "one\n", 0644);
    put("sub/run", "#!/bin/sh\n", 0755);
    put("sub/new\nline", "", 0400);
    put("sub/with space", "x", 0600);
    put("zero", "", 0644);
    (void)snprintf(link, sizeof(link), "%s/sub/link", tree);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    struct tc_inputs_tree kept = keep(NULL);
    assert_int_equal(kept.entries, 8);
    assert_non_null(restored(&copy, kept.digest));
    check_same(tree, copy.path);
    tc_unpacked_done(&copy);
}

static void restored_tree_is_removed_when_done(void **state)
{
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    (void)state;
    char closed[128];
    make("closed");
    put("closed/a", "one\n", 0444);
    (void)snprintf(closed, sizeof(closed), "%s/closed", tree);
    assert_int_equal(chmod(closed, 0555), 0);
    struct tc_inputs_tree kept = keep(NULL);
    _autofree_ char *path = strdup(restored(&copy, kept.digest));
    assert_int_equal(access(path, F_OK), 0);
    tc_unpacked_done(&copy);
    assert_int_equal(access(path, F_OK), -1);
}

static void equal_trees_have_equal_digests(void **state)
{
    (void)state;
    put("b", "two", 0644);
    put("a", "one", 0644);
    struct tc_inputs_tree first = keep(NULL), second = keep(NULL);
    assert_string_equal(first.digest, second.digest);
    assert_int_equal(count_objects(), 4);
}

static void changed_content_is_another_digest(void **state)
{
    (void)state;
    put("a", "one", 0644);
    struct tc_inputs_tree first = keep(NULL);
    put("a", "two", 0644);
    struct tc_inputs_tree second = keep(NULL);
    assert_string_not_equal(first.digest, second.digest);
}

/* An index entry is used once a file is older than a second. */
static void changed_content_is_found_in_spite_of_the_index(void **state)
{
    struct stat st;
    char path[128];
    (void)state;
    put("a", "one", 0644);
    (void)snprintf(path, sizeof(path), "%s/a", tree);
    (void)usleep(1200000);
    struct tc_inputs_tree first = keep(NULL);
    assert_int_equal(stat(path, &st), 0);
    put("a", "two", 0644);
    /* the same size and time of modification: the time of change cannot be set */
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    struct tc_inputs_tree second = keep(NULL);
    assert_string_not_equal(first.digest, second.digest);
}

static void lost_object_of_a_known_file_is_stored_again(void **state)
{
    char digest[TC_DIGEST_SIZE], path[256];
    (void)state;
    put("a", "one", 0644);
    (void)usleep(1200000);
    (void)keep(NULL);
    tc_digest("one", 3, digest);
    object_path(digest, path);
    assert_int_equal(unlink(path), 0);
    (void)keep(NULL);
    assert_int_equal(access(path, F_OK), 0);
}

static void hidden_entry_is_not_stored(void **state)
{
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    (void)state;
    put("a", "one", 0644);
    put(".env", "TOKEN=1", 0644);
    struct tc_inputs_tree kept = keep(".env");
    assert_non_null(restored(&copy, kept.digest));
    assert_int_equal(kept.entries, 1);
    assert_int_equal(faccessat(copy.own, "workspace/.env", F_OK, 0), -1);
    tc_unpacked_done(&copy);
}

static void pipe_does_not_block(void **state)
{
    char path[128];
    (void)state;
    put("a", "one", 0644);
    (void)snprintf(path, sizeof(path), "%s/pipe", tree);
    assert_int_equal(mkfifo(path, 0644), 0);
    struct tc_inputs_tree kept = keep(NULL);
    assert_int_equal(kept.entries, 1);
}

static int find_unreadable(void)
{
    enum { SOMEONE = 65533 };
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/a", tree);
    if (geteuid() == 0 && (chown(place, SOMEONE, SOMEONE) || chown(tree, SOMEONE, SOMEONE) ||
                           chown(path, SOMEONE, SOMEONE) || setuid(SOMEONE)))
        return 2;
    struct tc_inputs_tree kept = keep(NULL);
    return kept.digest[0] || strcmp(kept.why, "a: Permission denied") != 0;
}

static void unreadable_entry_is_named(void **state)
{
    int status = -1;
    (void)state;
    put("a", "one", 0000);
    pid_t child = fork();
    if (child == 0)
        _exit(find_unreadable());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void large_tree_is_not_stored(void **state)
{
    char path[128];
    (void)state;
    (void)snprintf(path, sizeof(path), "%s/large", tree);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, (off_t)257 << 20), 0);
    assert_int_equal(close(fd), 0);
    put("a", "one", 0644);
    struct tc_inputs_tree kept = keep(NULL);
    assert_string_equal(kept.why, "the workspace has more than 256 MiB");
    assert_int_equal(count_objects(), 0);
}

static void full_store_takes_nothing(void **state)
{
    struct tc_inputs store = {.dir = -1};
    struct tc_inputs_tree kept = {.shows = show_all};
    (void)state;
    put("a", "more than ten bytes", 0644);
    assert_int_equal(tc_inputs_open(10, &store), 0);
    assert_int_equal(tc_inputs_keep(&store, tree, &kept), -1);
    tc_inputs_close(&store);
    assert_non_null(strstr(kept.why, "is full"));
    assert_int_equal(count_objects(), 0);
}

/* Each of them alone fits. */
static void programs_at_once_do_not_fill_more(void **state)
{
    enum { WRITERS = 6, MOST_BYTES = 1 << 20 };
    static char bytes[MOST_BYTES / 2];
    pid_t children[WRITERS];
    int taken = 0;
    (void)state;
    for (int i = 0; i < WRITERS; i++)
        if ((children[i] = fork()) == 0) {
            struct tc_inputs store = {.dir = -1};
            char digest[TC_DIGEST_SIZE];
            bytes[0] = (char)('a' + i);
            bool fine = tc_inputs_open(MOST_BYTES, &store) == 0 &&
                        tc_inputs_put(&store, bytes, sizeof(bytes), digest) == 0;
            tc_inputs_close(&store);
            _exit(fine ? 0 : 1);
        }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        taken += status == 0;
    }
    assert_true(taken >= 1 && taken <= 2);
    assert_int_equal(count_objects(), taken);
}

static void tree_that_is_too_deep_is_not_stored(void **state)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s", tree);
    (void)state;
    for (int i = 0; i < 80; i++) {
        length += snprintf(path + length, sizeof(path) - (size_t)length, "/d");
        assert_int_equal(mkdir(path, 0755), 0);
    }
    struct tc_inputs_tree kept = keep(NULL);
    assert_string_equal(kept.digest, "");
    assert_non_null(strstr(kept.why, "too deep"));
}

static void file_of_another_user_is_not_stored(void **state)
{
    char path[128];
    (void)state;
    if (geteuid() != 0)
        skip();
    put("a", "one", 0600);
    (void)snprintf(path, sizeof(path), "%s/a", tree);
    assert_int_equal(chown(path, 1, 1), 0);
    struct tc_inputs_tree kept = keep(NULL);
    assert_string_equal(kept.why, "a: it belongs to another user");
}

static void file_limit_is_no_signal(void **state)
{
    (void)state;
    put("a", "more than ten bytes", 0644);
    struct tc_inputs_tree first = keep(NULL);
    assert_string_not_equal(first.digest, "");
    put("b", "other bytes, more than ten", 0644);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit most = {10, 10};
        (void)setrlimit(RLIMIT_FSIZE, &most);
        struct tc_inputs_tree kept = keep(NULL);
        _exit(kept.digest[0] ? 1 : 0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- damage ---- */

static void changed_object_is_not_restored(void **state)
{
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    char digest[TC_DIGEST_SIZE];
    (void)state;
    put("a", "one", 0644);
    struct tc_inputs_tree kept = keep(NULL);
    tc_digest("one", 3, digest);
    put_object(digest, "two");
    assert_null(restored(&copy, kept.digest));
    assert_int_equal(errno, EBADMSG);
    tc_unpacked_done(&copy);
    (void)keep(NULL); /* stores it again */
    assert_non_null(restored(&copy, kept.digest));
    tc_unpacked_done(&copy);
}

static void missing_object_is_not_restored(void **state)
{
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    char digest[TC_DIGEST_SIZE], path[256];
    (void)state;
    put("a", "one", 0644);
    struct tc_inputs_tree kept = keep(NULL);
    tc_digest("one", 3, digest);
    object_path(digest, path);
    assert_int_equal(unlink(path), 0);
    assert_null(restored(&copy, kept.digest));
    assert_int_equal(errno, ENOENT);
    tc_unpacked_done(&copy);
}

/* A directory object of these bytes. */
static int restore_text(const char *text, size_t length)
{
    struct tc_inputs store = {.dir = -1};
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    char digest[TC_DIGEST_SIZE];
    assert_int_equal(tc_inputs_open(MOST, &store), 0);
    assert_int_equal(tc_inputs_put(&store, text, length, digest), 0);
    tc_inputs_close(&store);
    char *path = restored(&copy, digest);
    int saved = errno;
    tc_unpacked_done(&copy);
    return path ? 0 : saved;
}

static void entry_that_leaves_the_directory_is_refused(void **state)
{
#define EMPTY "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    static const char up[] = "../d 755 0 0 " EMPTY, here[] = "./d 755 0 0 " EMPTY;
    static const char none[] = "/d 755 0 0 " EMPTY, good[] = "x/d 755 0 0 " EMPTY;
    static const char deeper[] = "x/y/d 755 0 0 " EMPTY, short_[] = "x/d 755";
    static const char twice[] = "x/l 777 0 0 " EMPTY "\0x/f 644 0 0 " EMPTY;
    (void)state;
    assert_int_equal(restore_text("", 0), 0);
    assert_int_equal(restore_text(good, sizeof(good)), 0);
    assert_int_equal(restore_text(up, sizeof(up)), EBADMSG);
    assert_int_equal(restore_text(here, sizeof(here)), EBADMSG);
    assert_int_equal(restore_text(none, sizeof(none)), EBADMSG);
    assert_int_equal(restore_text(deeper, sizeof(deeper)), EBADMSG);
    assert_int_equal(restore_text(short_, sizeof(short_)), EBADMSG);
    assert_int_equal(restore_text(good, sizeof(good) - 1), EBADMSG);
    assert_int_not_equal(restore_text(twice, sizeof(twice)), 0);
}

static void store_of_others_is_refused(void **state)
{
    struct tc_inputs store = {.dir = -1};
    char path[128];
    (void)state;
    put("a", "one", 0644);
    (void)keep(NULL);
    (void)snprintf(path, sizeof(path), "%s/toolcage/inputs", place);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(tc_inputs_open(MOST, &store), -1);
    assert_int_equal(errno, EPERM);
}

/* ---- removal ---- */

static void sweep_keeps_named_objects(void **state)
{
    struct tc_unpacked copy = {.parent = -1, .own = -1};
    (void)state;
    make("sub");
    put("sub/a", "one", 0644);
    struct tc_inputs_tree kept = keep(NULL);
    put("sub/a", "two", 0644);
    put("b", "three", 0644);
    struct tc_inputs_tree other = keep(NULL);
    char *directories[] = {kept.digest};
    const struct tc_stored_kept keep_these = {.directories = directories, .directory_count = 1};
    int64_t removed = 0, left = 0;
    int store = tc_stored_open(true);
    assert_true(store >= 0);
    assert_int_equal(tc_stored_sweep(store, &keep_these, &removed, &left), 0);
    tc_stored_close(store);
    assert_true(removed > 0 && left > 0);
    assert_int_equal(count_objects(), 4);
    assert_non_null(restored(&copy, kept.digest));
    tc_unpacked_done(&copy);
    assert_null(restored(&copy, other.digest));
    tc_unpacked_done(&copy);
}

static void sweep_waits_for_no_recorder(void **state)
{
    struct tc_inputs store = {.dir = -1};
    (void)state;
    assert_int_equal(tc_inputs_open(MOST, &store), 0);
    assert_int_equal(tc_stored_open(true), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    tc_inputs_close(&store);
    int alone = tc_stored_open(true);
    assert_true(alone >= 0);
    tc_stored_close(alone);
}

static void sweep_gives_room(void **state)
{
    struct tc_inputs store = {.dir = -1};
    const struct tc_stored_kept none = {0};
    char digest[TC_DIGEST_SIZE];
    int64_t removed = 0, left = 0;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tc_inputs_open(6000, &store), 0);
        assert_int_equal(tc_inputs_put(&store, "12345678", 8, digest), 0);
        assert_int_equal(tc_inputs_put(&store, "abcdefgh", 8, digest), -1);
        assert_int_equal(errno, EDQUOT);
        tc_inputs_close(&store);
        int alone = tc_stored_open(true);
        assert_int_equal(tc_stored_sweep(alone, &none, &removed, &left), 0);
        tc_stored_close(alone);
        assert_int_equal(removed, 4096);
        assert_int_equal(left, 0);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        CASE(tree_is_restored_with_modes_times_and_links),
        CASE(restored_tree_is_removed_when_done),
        CASE(equal_trees_have_equal_digests),
        CASE(changed_content_is_another_digest),
        CASE(changed_content_is_found_in_spite_of_the_index),
        CASE(lost_object_of_a_known_file_is_stored_again),
        CASE(hidden_entry_is_not_stored),
        CASE(pipe_does_not_block),
        CASE(unreadable_entry_is_named),
        CASE(large_tree_is_not_stored),
        CASE(full_store_takes_nothing),
        CASE(programs_at_once_do_not_fill_more),
        CASE(tree_that_is_too_deep_is_not_stored),
        CASE(file_of_another_user_is_not_stored),
        CASE(file_limit_is_no_signal),
        CASE(changed_object_is_not_restored),
        CASE(missing_object_is_not_restored),
        CASE(entry_that_leaves_the_directory_is_refused),
        CASE(store_of_others_is_refused),
        CASE(sweep_keeps_named_objects),
        CASE(sweep_waits_for_no_recorder),
        CASE(sweep_gives_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
