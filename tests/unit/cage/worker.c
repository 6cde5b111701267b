/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which calls a worker serves: each field of a plan is in its key, keeps the call from having a
 * worker, or comes with the call. */
#include "cage/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fields.h"

/* Handed over with each call, or watched by the helper. A field of the plan that is new stands in
 * none of these lists: whoever adds it decides. */
static const char *const of_the_call[] = {"call",
                                          "grant",
                                          "without",
                                          "env",
                                          "fuel",
                                          "cwd",
                                          "denies",
                                          "tool_writable",
                                          "records",
                                          "policy_file",
                                          "extended",
                                          "collect",
                                          "caches",
                                          "upstream",
                                          "steering",
                                          "limits.timeout_ms",
                                          "limits.cpu_time_ms",
                                          "commit",
                                          "instead",
                                          "stream",
                                          "rows",
                                          "columns",
                                          "idle_ms", /* only of a live session */
                                          "publish",
                                          "live_shell",
                                          "live_file",
                                          "payload",
                                          "audit",
                                          "program_call"};
static const char *const refused[] = {
    "net",     "secrets",   "asks_network", "replays", "syscalls_allow", "syscalls_deny",
    "denials", "workspace", "terminal",     "uid",     "session",        "lifetime_ms",
    "live_in", "image",     "unix_sockets", "ahead"};

/* A list that the table leaves empty in one plan, as it is in the plan of each worker. */
static const char *const empty[] = {"net", "secrets"};

/* The name, or a part of what has it. */
static bool is_in(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(name, names[i], length) == 0 && (!name[length] || name[length] == '.'))
            return true;
    }
    return false;
}

/* What the table fills in does not keep the call from having a worker, but for the place that says
 * something else. */
static void settle(struct tc_plan *p, const char *other)
{
    struct tc_strv *lists[] = {&p->syscalls_allow, &p->syscalls_deny};
    const char *const names[] = {"syscalls_allow", "syscalls_deny"};
    char **texts[] = {&p->session, &p->image, &p->live_in};
    const char *const of[] = {"session", "image", "live_in"};
    if (strncmp(other, "net.", 4) != 0 && strncmp(other, "secrets.", 8) != 0) {
        struct tc_plan none = {.net = TAKE(p->net),
                               .net_count = p->net_count,
                               .secrets = TAKE(p->secrets),
                               .secret_count = p->secret_count};
        p->net_count = p->secret_count = 0;
        tc_plan_done(&none);
    }
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        if (strcmp(other, names[i]) != 0)
            tc_strv_done(lists[i]);
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        if (strcmp(other, of[i]) != 0) {
            free(*texts[i]);
            *texts[i] = NULL;
        }
    if (strcmp(other, "uid") != 0)
        p->uid = 0;
    if (strcmp(other, "lifetime_ms") != 0)
        p->lifetime_ms = 0;
    if (strcmp(other, "denials") != 0)
        p->denials = TC_DENIALS_CALLS;
    if (strcmp(other, "workspace") != 0)
        p->workspace = TC_WORKSPACE_BIND;
    for (size_t i = 0; i < p->mount_count; i++)
        if (strcmp(other, "mounts.kind") != 0)
            p->mounts[i].kind = TC_MOUNT_FILE;
    p->ahead = strcmp(other, "ahead") != 0;
}

/* False: it has no worker. */
static bool key_of(int other, struct filling *ret_f, struct tc_buf *ret)
{
    struct tc_plan plan = {0};
    *ret_f = filled(&tc_plan_fields, &plan, other, 2);
    settle(&plan, ret_f->name);
    bool has = tc_worker_key(&plan, ret);
    tc_plan_done(&plan);
    return has;
}

static bool same(const struct tc_buf *a, const struct tc_buf *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static void every_field_is_in_the_key_or_sent_with_the_call(void **state)
{
    _autobuf_ struct tc_buf key = TC_BUF_INIT;
    struct filling f;
    assert_true(key_of(-1, &f, &key));
    int places = f.places;
    assert_true(places > 60);
    for (int i = 0; i < places; i++) {
        _autobuf_ struct tc_buf other = TC_BUF_INIT;
        bool has = key_of(i, &f, &other);
        bool call = is_in(of_the_call, TC_COUNT(of_the_call), f.name);
        bool none = is_in(refused, TC_COUNT(refused), f.name);
        if (is_in(empty, TC_COUNT(empty), f.name))
            continue;
        if (has == none || (has && same(&key, &other) != call))
            fail_msg("%s: worker %d, the same %d", f.name, has, has && same(&key, &other));
    }
}

static struct tc_plan plan_with(struct tc_mount *mounts, size_t count)
{
    static char program[] = "program", told[] = "call";
    return (struct tc_plan){.program = program,
                            .program_len = strlen(program),
                            .program_call = told,
                            .program_call_len = strlen(told),
                            .ahead = true,
                            .mounts = mounts,
                            .mount_count = count};
}

/* The call's paths come in its root. */
static void mounts_of_the_worker_are_in_the_key(void **state)
{
    static char granted[] = "/data", own[] = TC_PLACE_OWN "/module";
    struct tc_mount rows[] = {
        {.kind = TC_MOUNT_READ, .path = granted},   {.kind = TC_MOUNT_WRITE, .path = granted},
        {.kind = TC_MOUNT_SOCKET, .path = granted}, {.kind = TC_MOUNT_FILE, .path = granted},
        {.kind = TC_MOUNT_READ, .path = own},       {.kind = TC_MOUNT_SYSTEM, .path = granted},
        {.kind = TC_MOUNT_DEVICE, .path = granted}};
    _autobuf_ struct tc_buf bare = TC_BUF_INIT;
    struct tc_plan plan = plan_with(NULL, 0);
    assert_true(tc_worker_key(&plan, &bare));
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        _autobuf_ struct tc_buf key = TC_BUF_INIT;
        plan = plan_with(&rows[i], 1);
        assert_true(tc_worker_key(&plan, &key));
        assert_int_equal(same(&bare, &key), i < 3);
        assert_int_equal(tc_worker_mount(&rows[i]), i >= 3);
    }
}

static void a_program_that_waits_is_told_its_call_later(void **state)
{
    _autobuf_ struct tc_buf none = TC_BUF_INIT;
    struct tc_plan plan = plan_with(NULL, 0);
    plan.program_call = NULL;
    assert_false(tc_worker_key(&plan, &none)); /* it is a worker's own plan */
    plan = plan_with(NULL, 0);
    plan.program = NULL;
    assert_false(tc_worker_key(&plan, &none));
    plan = plan_with(NULL, 0);
    plan.ahead = false;
    assert_false(tc_worker_key(&plan, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_in_the_key_or_sent_with_the_call),
        cmocka_unit_test(mounts_of_the_worker_are_in_the_key),
        cmocka_unit_test(a_program_that_waits_is_told_its_call_later),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
