/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Whatever decides what a call does changes its subject. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "approve/subject.h"

static char place[] = "/tmp/toolcage-test-subject-XXXXXX";

static int make_place(void **state)
{
    (void)state;
    return mkdtemp(place) && chdir(place) == 0 ? 0 : -1;
}

static int remove_place(void **state)
{
    char line[sizeof(place) + 16];
    (void)state;
    (void)snprintf(line, sizeof(line), "rm -r %s", place);
    return chdir("/") == 0 && system(line) == 0 ? 0 : -1;
}

struct scene {
    struct tc_grant grant;
    struct tc_fs_entry fs[2];
    struct tc_strv files;
    char file[64], program[64];
    struct tc_subject call;
};

static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0 && fclose(out) == 0);
}

static void set_scene(struct scene *s)
{
    *s = (struct scene){.call.arguments = "{\"b\":1,\"a\":\"x\"}"};
    s->call.files = &s->files;
    (void)snprintf(s->file, sizeof(s->file), "%s/file", place);
    (void)snprintf(s->program, sizeof(s->program), "%s/program", place);
    put(s->file, "content");
    put(s->program, "#!/bin/sh\n");
    s->fs[0] = (struct tc_fs_entry){
        .path = s->file, .from = s->file, .access = TC_ACCESS_READ, .argument = true};
    s->fs[1] = (struct tc_fs_entry){.path = place, .from = place, .access = TC_ACCESS_READ};
    s->grant.fs = s->fs;
    s->grant.fs_count = 2;
    s->grant.tool = (char *)(uintptr_t) "deploy";
    s->grant.tier = (char *)(uintptr_t) "HumanApprove";
    s->grant.backend = (char *)(uintptr_t) "process";
    s->call.cwd = place;
    (void)snprintf(s->grant.digest, sizeof(s->grant.digest), "sha256:1");
    assert_true(tc_strv_add(&s->files, s->program));
    assert_true(tc_strv_add(&s->grant.argv, "program"));
}

/* The subject as text; owned. NULL: it cannot be written. */
static char *subject_of(const struct scene *s)
{
    struct tc_buf out = TC_BUF_INIT;
    struct toolcage_error *err = NULL;
    int r = tc_subject_write(&s->grant, &s->call, &out, &err);
    if (r < 0) {
        assert_string_equal(tc_error_stage(err), "approve");
        tc_error_free(err);
        tc_buf_done(&out);
        return NULL;
    }
    return tc_buf_steal(&out);
}

static void done(struct scene *s)
{
    tc_strv_done(&s->files);
    tc_strv_done(&s->grant.argv);
}

static void edit_file(struct scene *s)
{
    put(s->file, "c0ntent");
}

static void replace_file(struct scene *s)
{
    char other[80];
    (void)snprintf(other, sizeof(other), "%s.new", s->file);
    put(other, "content");
    assert_int_equal(rename(other, s->file), 0);
}

static void remove_file(struct scene *s)
{
    assert_int_equal(unlink(s->file), 0);
}

static void edit_program(struct scene *s)
{
    put(s->program, "#!/bin/ed\n");
}

static void change_arguments(struct scene *s)
{
    s->call.arguments = "{\"b\":2,\"a\":\"x\"}";
}

static void change_grant(struct scene *s)
{
    s->grant.digest[7] = '2';
}

static void change_backend(struct scene *s)
{
    s->grant.backend = (char *)(uintptr_t) "oci";
}

static void change_input(struct scene *s)
{
    s->call.input = "in";
    s->call.input_length = 2;
}

static void change_pipe(struct scene *s)
{
    s->call.pipe = true;
}

static void change_mode(struct scene *s)
{
    assert_int_equal(chmod(s->program, 0600), 0);
}

static void change_umask(struct scene *s)
{
    s->grant.umask = 077;
}

static void replace_directory(struct scene *s)
{
    s->fs[1].from = (char *)(uintptr_t) "/";
}

static void change_directory(struct scene *s)
{
    s->call.cwd = "/";
}

static void every_change_is_another_subject(void **state)
{
    static void (*const changes[])(struct scene *) = {
        edit_file,    replace_file,   remove_file,      edit_program, change_arguments,
        change_grant, change_backend, change_directory, change_input, change_pipe,
        change_mode,  change_umask,   replace_directory};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(changes); i++) {
        struct scene s;
        set_scene(&s);
        _autofree_ char *before = subject_of(&s), *again = subject_of(&s);
        assert_string_equal(before, again);
        changes[i](&s);
        _autofree_ char *after = subject_of(&s);
        if (!after || strcmp(before, after) == 0)
            fail_msg("change %zu is not seen in %s", i, before);
        done(&s);
    }
}

static void equal_arguments_are_one_subject(void **state)
{
    struct scene s;
    (void)state;
    set_scene(&s);
    _autofree_ char *first = subject_of(&s);
    s.call.arguments = " { \"a\" : \"\\u0078\", \"b\": 1 } ";
    _autofree_ char *second = subject_of(&s);
    assert_string_equal(first, second);
    s.call.arguments = "{\"a\":\"x\",\"a\":\"y\"}";
    assert_null(subject_of(&s));
    done(&s);
}

static void file_is_bound_by_its_content(void **state)
{
    struct scene s;
    (void)state;
    set_scene(&s);
    _autofree_ char *text = subject_of(&s);
    /* printf content | sha256sum */
    assert_non_null(strstr(text,
                           "\"bytes\":7,\"digest\":\"sha256:"
                           "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"));
    assert_non_null(strstr(text, "\"read\":[{"));
    if (geteuid() != 0) {
        assert_int_equal(chmod(s.file, 0), 0);
        assert_null(subject_of(&s));
    }
    done(&s);
}

/* A tool may have made it: nobody waits for a file of any size. */
static void large_files_are_refused(void **state)
{
    struct scene s;
    (void)state;
    set_scene(&s);
    assert_int_equal(truncate(s.file, (off_t)1 << 40), 0);
    assert_null(subject_of(&s));
    done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_is_another_subject),
        cmocka_unit_test(equal_arguments_are_one_subject),
        cmocka_unit_test(file_is_bound_by_its_content),
        cmocka_unit_test(large_files_are_refused),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
