/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Each backend has what every backend must have, and what belongs together; a cage without a
 * backend is let go of. */
#include <string.h>
#include <unistd.h>

#include "plan/backend.h"
#include "test.h"

static void every_backend_has_its_operations(void **state)
{
    const struct tc_executor *w;
    _autobuf_ struct tc_buf all = TC_BUF_INIT;
    for (size_t i = 0; (w = tc_executor_at(i)); i++) {
        tc_buf_addf(&all, " %s%s", w->name, w->probe ? " (tried)" : "");
        assert_ptr_equal(tc_executor_find(w->name), w);
        if (!w->make || !w->start || !w->signal || !w->reap || !w->usage || !w->destroy)
            fail_msg("%s lacks what every backend has", w->name);
        assert_true(!w->probe || (w->probe->plan && w->probe->tell));
    }
    assert_string_equal(
        all.data,
        " process (tried) landlock oci (tried) podman (tried) docker (tried) containerd (tried) "
        "gvisor (tried) wasm wasmedge qemu firecracker kata not-a-security-boundary");
    assert_null(tc_executor_find("none"));
}

static void machine_has_its_operations(void **state)
{
    assert_non_null(tc_host_ops->open);
    assert_non_null(tc_host_ops->tick);
    assert_non_null(tc_host_ops->sweep);
    assert_non_null(tc_host_ops->close);
}

static void absent_operations_succeed(void **state)
{
    static const struct tc_executor bare = {.name = "bare"};
    struct tc_outcome outcome = {0};
    struct tc_plan plan = {0};
    struct tc_cage cage = tc_cage_empty(&plan, &outcome);
    cage.executor = &bare;
    assert_int_equal(tc_cage_prepare(&cage), 0);
    assert_int_equal(tc_cage_event(&cage), 0);
    assert_true(tc_cage_destroy(&cage, TC_BLOCK_NO));
    assert_int_equal(outcome.failure.code, 0);
}

static void a_cage_without_a_backend_closes_its_input(void **state)
{
    int pair[2];
    char byte;
    assert_int_equal(pipe(pair), 0);
    struct tc_cage cage = tc_cage_empty(NULL, NULL);
    cage.stdin_fd = pair[1];
    assert_true(tc_cage_destroy(&cage, TC_BLOCK_NO));
    assert_int_equal(cage.stdin_fd, -1);
    assert_int_equal(read(pair[0], &byte, 1), 0);
    assert_int_equal(close(pair[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backend_has_its_operations),
        cmocka_unit_test(machine_has_its_operations),
        cmocka_unit_test(absent_operations_succeed),
        cmocka_unit_test(a_cage_without_a_backend_closes_its_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
