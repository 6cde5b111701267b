/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Test boots with KVM end in time, whatever the CPU does. Clock and device are the test's. */
#include "backend/vm/kvm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <toolcage/result.h>

#include "base/buf.h"
#include "test.h"

static struct {
    int64_t now_ms, kvm_ms, tcg_ms; /* duration of a boot */
    struct tc_buf log;
} the;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_stat64(const char *path, struct stat *ret);
int __wrap_access(const char *path, int mode);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    (void)clock;
    *ret = (struct timespec){.tv_sec = the.now_ms / 1000, .tv_nsec = the.now_ms % 1000 * 1000000};
    return 0;
}

int __wrap_stat64(const char *path, struct stat *ret)
{
    (void)path;
    *ret = (struct stat){.st_mode = S_IFCHR | 0666};
    return 0;
}

int __wrap_access(const char *path, int mode)
{
    (void)path, (void)mode;
    return 0;
}

/* Whichever name the C library has for it. */
int __wrap_stat(const char *path, struct stat *ret);
int __wrap_stat(const char *path, struct stat *ret)
{
    return __wrap_stat64(path, ret);
}

/* Boots for as long as it takes, at most until the policy's timeout. */
static int boot(struct toolcage_engine *engine, const struct tc_errand *errand,
                struct tc_errand_end *ret, struct toolcage_error **err)
{
    const char *limit = strstr(errand->policy, "timeout = \"");
    int64_t limit_ms = strtoll(limit + strlen("timeout = \""), NULL, 10);
    int64_t wanted = strcmp(errand->work, "kvm") == 0 ? the.kvm_ms : the.tcg_ms;
    (void)engine, (void)err;
    bool late = wanted > limit_ms;
    the.now_ms += late ? limit_ms : wanted;
    tc_buf_addf(&the.log, "%s %lld; ", errand->work, (long long)limit_ms);
    ret->status = late ? TOOLCAGE_STATUS_TIMEOUT : TOOLCAGE_STATUS_OK;
    return 0;
}

static void look(struct tc_search *search, const char *backend, bool boots, const char *log)
{
    struct tc_kvm kvm = {.boots = false};
    tc_buf_done(&the.log);
    the.log = TC_BUF_INIT;
    assert_int_equal(tc_kvm_look(search, backend, "", false, &kvm, NULL), 0);
    assert_int_equal(kvm.boots, boots);
    assert_string_equal(the.log.data, log);
    if (!boots)
        assert_non_null(strstr(kvm.reason, "did not boot by it within "));
    tc_kvm_done(&kvm);
    tc_buf_done(&the.log);
}

static void working_kvm_boots_once(void **state)
{
    struct tc_search search = {.run = boot};
    (void)state;
    the.now_ms = 1000, the.kvm_ms = 300, the.tcg_ms = 9000;
    look(&search, "qemu", true, "kvm 5000; ");
}

static void slow_host_gets_the_time_of_emulation(void **state)
{
    struct tc_search search = {.run = boot};
    (void)state;
    the.now_ms = 1000, the.kvm_ms = 9000, the.tcg_ms = 6000;
    look(&search, "qemu", true, "kvm 5000; tcg 20000; kvm 12000; ");
}

static void hanging_kvm_is_tried_for_about_a_minute(void **state)
{
    struct tc_search search = {.run = boot};
    (void)state;
    the.now_ms = 1000, the.kvm_ms = INT64_MAX, the.tcg_ms = INT64_MAX;
    look(&search, "qemu", false, "kvm 5000; tcg 20000; kvm 20000; ");
    look(&search, "firecracker", false, "kvm 5000; kvm 20000; ");
    assert_true(the.now_ms <= 1000 + 70000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(working_kvm_boots_once),
        cmocka_unit_test(slow_host_gets_the_time_of_emulation),
        cmocka_unit_test(hanging_kvm_is_tried_for_about_a_minute),
    };
    return cmocka_run_group_tests_name("kvm", tests, NULL, NULL);
}
