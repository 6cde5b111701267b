/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A whole call with the n-th allocation failing, for every n: the answer is an error or a result
 * that says so, never a call that runs with less of a grant. Only the testing thread fails; the
 * helper's does not. */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "call/call.h"
#include "peer.h"
#include "test.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static __thread long countdown; /* 0: not armed */
static __thread bool struck;

static bool fails(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    struck = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    /* who shrinks may go on with what there is */
    return size > malloc_usable_size(old) && fails() ? NULL : __libc_realloc(old, size);
}

static const char text[] =
    "[tool.t]\n"
    "command = [\"ok\", \"stdout={word}\"]\n"
    "arguments.word = { type = \"string\" }\n"
    "filesystem = { readable = [\"/usr/share\"], denied = [\"/usr/share/doc\"] }\n"
    "env = { set = { A = \"b\" } }\n"
    "backend = \"not-a-security-boundary\"\n";

/* The whole way; the code of the first failure, or 0 with *ret_ok saying whether the tool "ran". */
static int whole_call(struct toolcage_engine *engine, bool *ret_ok, struct toolcage_error **err)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_call *call = NULL;
    int r = tc_policy_load_buffer(text, strlen(text), "test.toml", &policy, err);
    if (r == 0)
        r = tc_call_new(engine, policy, "t", &call, err);
    if (r == 0)
        r = tc_call_set(call, "timeout", "5s", err);
    if (r == 0)
        r = tc_call_set_arguments(call, "{\"word\":\"hello\"}", err);
    if (r == 0)
        r = tc_call_set_stdin(call, "in", 2, err);
    if (r == 0)
        r = tc_call_start(call, err);
    if (r == 0)
        r = tc_call_wait(call, 10000, err);
    countdown = 0;
    if (r < 0 && call && call->state == TC_CALL_RUNNING) /* it has ended: so much is known later */
        assert_int_equal(tc_call_wait(call, 10000, NULL), 1);
    *ret_ok = r == 1 && call->result->outcome.status == TOOLCAGE_STATUS_OK;
    if (r == 1 && !*ret_ok)
        r = tc_error_code(call->result->error);
    tc_call_unref(call);
    tc_policy_unref(policy);
    return r;
}

static void every_allocation_may_fail(void **state)
{
    struct peer peer;
    struct toolcage_engine *engine = NULL;
    bool first = false;
    peer_start(&peer, PEER_HONEST, &engine);
    assert_true(whole_call(engine, &first, NULL) == 1 && first); /* has read what packages own */
    long n = 1, others = 0;
    for (;; n++) {
        struct toolcage_error *err = NULL;
        bool ok = false;
        countdown = n;
        struck = false;
        int r = whole_call(engine, &ok, &err);
        countdown = 0;
        if (!struck) {
            assert_true(ok);
            break;
        }
        /* jansson tells no lack of memory from bad text, so the code may be another one */
        others += r != TOOLCAGE_EMEMORY;
        if (ok || r >= 0 || r == TOOLCAGE_EHELPER)
            fail_msg("allocation %ld failed and the call answered %d (%s)%s", n, r,
                     tc_error_message(err), ok ? " with success" : "");
        tc_error_free(err);
    }
    print_message("# %ld allocations failed, one at a time; %ld with another code than memory\n",
                  n - 1, others);
    assert_true(n > 100);
    tc_engine_unref(engine);
    peer_join(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
