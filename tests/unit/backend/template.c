/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * When a container that waits is another than the one that a call would get. */
#include "backend/oci/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

static void put(int dir, const char *name, const char *text)
{
    _autofd_ int file = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
}

static struct tc_oci_identity look(int dir, const char *name)
{
    struct tc_oci_identity found;
    assert_int_equal(tc_oci_identify(dir, name, &found), 0);
    return found;
}

/* The clock of a file system moves in steps. */
static void wait_a_step(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void a_runtime_that_was_replaced_is_another(void **state)
{
    char place[] = "/tmp/toolcage-blank-XXXXXX";
    assert_non_null(mkdtemp(place));
    _autofd_ int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put(dir, "runtime", "one");
    struct tc_oci_identity first = look(dir, "runtime"), again = look(dir, "runtime");
    assert_true(tc_oci_identical(&first, &again));
    wait_a_step();
    put(dir, "runtime", "two"); /* of the same size, in place */
    struct tc_oci_identity written = look(dir, "runtime");
    assert_false(tc_oci_identical(&first, &written));
    put(dir, "new", "two");
    assert_int_equal(renameat(dir, "new", dir, "runtime"), 0);
    struct tc_oci_identity renamed = look(dir, "runtime");
    assert_false(tc_oci_identical(&written, &renamed));
    assert_int_equal(unlinkat(dir, "runtime", 0), 0);
    assert_int_equal(tc_oci_identify(dir, "runtime", &again), -1);
    assert_int_equal(rmdir(place), 0);
}

/* What calls and installs do in an image's directory makes no other image of it; another directory
 * of its name is one. */
static void an_image_is_its_directory(void **state)
{
    char place[] = "/tmp/toolcage-blank-XXXXXX";
    assert_non_null(mkdtemp(place));
    _autofd_ int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(dir, "image", 0755), 0);
    _autofd_ int held = openat(dir, "image", O_PATH | O_CLOEXEC);
    struct tc_oci_identity first = look(held, "");
    wait_a_step();
    assert_int_equal(mkdirat(held, "etc", 0755), 0);
    struct tc_oci_identity filled = look(dir, "image");
    assert_true(tc_oci_identical(&first, &filled));
    assert_int_equal(renameat(dir, "image", dir, "old"), 0);
    assert_int_equal(mkdirat(dir, "image", 0755), 0);
    struct tc_oci_identity other = look(dir, "image");
    assert_false(tc_oci_identical(&first, &other));
    assert_int_equal(unlinkat(dir, "old/etc", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(dir, "old", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(dir, "image", AT_REMOVEDIR), 0);
    assert_int_equal(rmdir(place), 0);
}

static bool same_key(const struct tc_oci_template *one, const struct tc_oci_template *other)
{
    _autobuf_ struct tc_buf a = TC_BUF_INIT, b = TC_BUF_INIT;
    tc_oci_template_key(one, &a);
    tc_oci_template_key(other, &b);
    assert_false(a.failed || b.failed);
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static void keys_that_differ_in_one_field_differ(void **state)
{
    static char crun[] = "/usr/bin/crun", local[] = "/usr/local/bin/crun", shifted[] = "/usr/bin/";
    static char config[] = "{\"a\":1}", longer[] = "{\"a\":1,\"b\":2}", joined[] = "crun{\"a\":1}";
    const struct tc_oci_runtime one = {.name = "crun"}, two = {.name = "runc"};
    const struct tc_oci_template b = {.runtime = &one, .path = crun, .config = config};
    struct tc_oci_template same = b, others[] = {b, b, b, b, b, b, b, b, b};
    others[0].runtime = &two;
    others[1].path = local;
    others[2].config = longer;
    others[3].program.inode++;
    others[4].program.device++;
    others[5].program.mount++;
    others[6].program.size++;
    others[7].program.changed_ns++;
    others[8].path = shifted; /* the same bytes, divided elsewhere */
    others[8].config = joined;
    assert_true(same_key(&b, &same));
    for (size_t i = 0; i < TC_COUNT(others); i++)
        assert_false(same_key(&b, &others[i]));
}

static void a_copy_has_nothing_of_the_one_that_was_made(void **state)
{
    struct tc_oci_template b = TC_OCI_NO_BLANK;
    b.path = strdup("/usr/bin/crun");
    b.config = strdup("{}");
    b.image = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    b.bundle = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct tc_oci_template *copy = tc_oci_template_copy(&b);
    assert_non_null(copy);
    assert_true(same_key(&b, copy));
    assert_true(copy->image >= 0 && copy->image != b.image);
    assert_int_equal(copy->bundle, -1);
    assert_int_equal(copy->made_us, 0);
    tc_oci_template_done(&b);
    assert_int_equal(fcntl(copy->image, F_GETFD), FD_CLOEXEC);
    tc_oci_template_done(copy);
    free(copy);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runtime_that_was_replaced_is_another),
        cmocka_unit_test(an_image_is_its_directory),
        cmocka_unit_test(keys_that_differ_in_one_field_differ),
        cmocka_unit_test(a_copy_has_nothing_of_the_one_that_was_made),
    };
    return cmocka_run_group_tests_name("blank", tests, NULL, NULL);
}
