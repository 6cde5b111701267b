/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an engine remembers of a module holds while all its files are what they were, and no longer.
 */
#include "backend/wasm/modules.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/path.h"
#include "policy/settings.h"
#include "state/stamp.h"
#include "test.h"

enum { FILES = 4, SETTLED_S = 2 };
static char dir[] = "/var/tmp/toolcage-known-XXXXXX";
static char *paths[FILES]; /* module, worker, engine, code */
static struct tc_modules_known known;

static void put(const char *path, const char *text)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static struct tc_module_question question(void)
{
    return (struct tc_module_question){.module = paths[0], .state = "/state"};
}

static void locate(struct tc_strv *located, const char *worker, const char *stamp)
{
    assert_true(tc_setting_add(located, "worker", worker) &&
                tc_setting_add(located, "engine", paths[2]) &&
                tc_setting_add(located, "code", paths[3]) &&
                tc_setting_add(located, "code-digest", "sha256:code") &&
                tc_setting_add(located, "code-stamp", stamp));
}

/* As it is found. */
static void find(struct tc_grant *grant)
{
    struct stat st;
    char digest[TC_DIGEST_SIZE], stamp[TC_STAMP_SIZE];
    assert_int_equal(stat(paths[3], &st), 0);
    tc_stamp(&st, stamp);
    tc_digest("module", strlen("module"), digest);
    *grant = (struct tc_grant){.module = strdup(paths[0]), .module_digest = strdup(digest)};
    locate(&grant->located, paths[1], stamp);
}

static void remember(void)
{
    struct tc_grant grant;
    struct tc_module_question asked = question();
    find(&grant);
    tc_modules_remember(&known, &asked, &grant);
    tc_grant_done(&grant);
}

static bool recalls(const struct tc_module_question *asked)
{
    struct tc_grant grant = {.module = strdup(paths[0])};
    bool found = tc_modules_recall(&known, asked, &grant);
    const char *worker = tc_setting(&grant.located, "worker");
    assert_true(!found || strcmp(worker, paths[1]) == 0);
    assert_true(found || !worker);
    tc_grant_done(&grant);
    return found;
}

static int make_files(void **state)
{
    assert_non_null(mkdtemp(dir));
    static const char *const names[] = {"module", "worker", "engine", "code"};
    for (size_t i = 0; i < FILES; i++) {
        paths[i] = tc_path_join(dir, names[i]);
        put(paths[i], names[i]);
    }
    return 0;
}

static int remove_files(void **state)
{
    for (size_t i = 0; i < FILES; i++) {
        (void)unlink(paths[i]);
        free(paths[i]);
    }
    tc_modules_forget(&known);
    return rmdir(dir);
}

/* A write within the clock's step would leave the same mark. */
static void just_written_module_is_not_remembered(void **state)
{
    struct tc_module_question asked = question();
    remember();
    assert_false(recalls(&asked));
}

static void settled_module_is_remembered_for_the_same_question(void **state)
{
    struct tc_module_question asked = question(), other = question();
    (void)sleep(SETTLED_S);
    remember();
    assert_true(recalls(&asked));
    other.pin = "sha256:other";
    assert_false(recalls(&other));
    other = question();
    other.state = "/elsewhere";
    assert_false(recalls(&other));
    other = question();
    other.deterministic = true;
    assert_false(recalls(&other));
}

/* What was found is not what stands there by now. */
static void module_replaced_during_the_lookup_is_not_remembered(void **state)
{
    struct tc_module_question asked = question();
    struct tc_grant grant;
    tc_modules_forget(&known);
    find(&grant);
    grant.module_digest[strlen("sha256:")] ^= 1;
    tc_modules_remember(&known, &asked, &grant);
    assert_false(recalls(&asked));
    tc_grant_done(&grant);
}

static void module_writable_by_others_is_not_remembered(void **state)
{
    struct tc_module_question asked = question();
    assert_int_equal(chmod(paths[1], 0777), 0);
    (void)sleep(SETTLED_S);
    remember();
    assert_false(recalls(&asked));
    assert_int_equal(chmod(paths[1], 0755), 0);
    (void)sleep(SETTLED_S);
}

static const struct tc_known_module *known_as(const char *worker)
{
    struct tc_grant grant;
    find(&grant);
    _autofree_ char *stamp = strdup(tc_setting(&grant.located, "code-stamp"));
    tc_strv_done(&grant.located);
    locate(&grant.located, worker, stamp);
    const struct tc_known_module *k = tc_modules_known_as(&known, &grant);
    tc_grant_done(&grant);
    return k;
}

/* Any of the four, written to or replaced by another of the same size and times. */
static void changed_file_forgets_its_module(void **state)
{
    struct tc_module_question asked = question();
    for (size_t i = 0; i < FILES; i++) {
        struct stat st;
        tc_modules_forget(&known);
        (void)sleep(i ? SETTLED_S : 0); /* the files of the test before have rested */
        remember();
        assert_true(recalls(&asked));
        const struct tc_known_module *k = known_as(paths[1]);
        assert_true(k && tc_modules_hold(&known, k));
        assert_null(known_as(paths[2]));
        assert_int_equal(stat(paths[i], &st), 0);
        _autofree_ char *other = tc_path_join(dir, "other");
        put(other, strrchr(paths[i], '/') + 1);
        const struct timespec times[] = {st.st_atim, st.st_mtim};
        assert_int_equal(utimensat(AT_FDCWD, other, times, 0), 0);
        assert_int_equal(rename(other, paths[i]), 0);
        assert_false(recalls(&asked));
        assert_false(tc_modules_hold(&known, k));
        assert_int_equal(unlink(paths[i]), 0);
        assert_false(recalls(&asked));
        put(paths[i], strrchr(paths[i], '/') + 1);
        assert_false(recalls(&asked));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(just_written_module_is_not_remembered),
        cmocka_unit_test(settled_module_is_remembered_for_the_same_question),
        cmocka_unit_test(module_replaced_during_the_lookup_is_not_remembered),
        cmocka_unit_test(module_writable_by_others_is_not_remembered),
        cmocka_unit_test(changed_file_forgets_its_module),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
