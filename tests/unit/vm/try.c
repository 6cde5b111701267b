/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Machines that only have to boot: what their console says decides, and nothing else; and the
 * monitor's command has what that takes, and no more. */
#include "vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <toolcage/error.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "plan/guest.h"
#include "test.h"

enum { BOOT_MS = 400, PATIENCE_MS = 20000 };

#define RUNS TC_GUEST_LAST_WORD TC_GUEST_RUNS

/* Of a monitor that prints this and then ends, or stays. */
static void try_with(const char *printed, bool stays, struct tc_outcome *ret)
{
    int tube[2];
    assert_int_equal(pipe(tube), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(tube[0]);
        (void)tc_write_all(tube[1], printed, strlen(printed));
        if (stays)
            (void)pause();
        _exit(0);
    }
    (void)close(tube[1]);
    const struct tc_vm vm = {.pid = pid, .port = -1, .console = tube[0]};
    int64_t began = tc_now_us();
    tc_vm_try(&(struct tc_vm_options){.boot_ms = BOOT_MS, .kvm = true}, &vm, ret);
    assert_true(tc_now_us() - began < PATIENCE_MS * 1000LL);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)close(tube[0]);
}

static void a_guest_that_says_so_runs(void **state)
{
    struct tc_outcome outcome = {0};
    (void)state;
    try_with("noise\n" RUNS "\r\n", true, &outcome);
    assert_int_equal(outcome.status, TOOLCAGE_STATUS_OK);
    assert_int_equal(outcome.failure.code, 0);
    tc_outcome_done(&outcome);
}

static void failed_boots_report_the_reason(void **state)
{
    static const struct {
        const char *printed, *words;
        bool stays;
    } rows[] = {
        {"", "ended before the guest ran", false},
        {"", "did not start in time", true},
        {"toolcage-guest: it\n", "did not start in time", true},
        {"qemu: failed to initialize kvm: Permission denied\n", "initialize kvm: Permission",
         false},
        {TC_GUEST_LAST_WORD "/dev/vda: No such\r\n[ 1.0] reboot: Restarting system\r\n",
         "words: " TC_GUEST_LAST_WORD "/dev/vda: No such", false},
        {"Kernel panic - not syncing: \x1b[31m\n", "not syncing: ?[31m", false},
        {"KVM internal error. Suberror: 1\nEAX=0\n", "KVM cannot continue", true},
        {"KVM: entry failed, hardware error 0x0\n", "KVM cannot continue", true},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_outcome outcome = {0};
        try_with(rows[i].printed, rows[i].stays, &outcome);
        assert_int_equal(outcome.status, TOOLCAGE_STATUS_ERROR);
        assert_int_equal(outcome.failure.code, TOOLCAGE_EBACKEND);
        assert_string_equal(outcome.failure.stage, "boot");
        assert_string_equal(outcome.failure.subject, "guest");
        assert_non_null(strstr(outcome.failure.message, rows[i].words));
        tc_outcome_done(&outcome);
    }
}

/* Its value; "" when the option is not there. */
static const char *value_of(const struct tc_strv *words, const char *option)
{
    for (size_t i = 0; i + 1 < words->count; i++)
        if (strcmp(words->items[i], option) == 0)
            return words->items[i + 1];
    return "";
}

static void the_command_names_one_accelerator(void **state)
{
    struct tc_vm_options options = {.vmm = TEXT("/vmm"),
                                    .kernel = TEXT("/k"),
                                    .initrd = TEXT("/i"),
                                    .disk = TEXT("/d"),
                                    .plan = TEXT("/p"),
                                    .memory_mib = 1,
                                    .cpus = 1};
    (void)state;
    for (int kvm = 0; kvm <= 1; kvm++) {
        _autostrv_ struct tc_strv words = {0};
        size_t named = 0;
        options.kvm = kvm;
        assert_true(tc_vm_qemu.command(&options, &(struct tc_vm_lines){3, -1, -1, -1, -1}, &words));
        for (size_t i = 0; i < words.count; i++)
            named += strcmp(words.items[i], "-accel") == 0;
        assert_int_equal(named, 1);
        assert_int_equal(strncmp(value_of(&words, "-accel"), kvm ? "kvm" : "tcg", 3), 0);
        assert_non_null(strstr(value_of(&words, "-drive"), "file=/d,"));
        assert_null(strstr(value_of(&words, "-append"), TC_GUEST_TRY));
    }
}

static void qemu_boot_probe_has_no_disk(void **state)
{
    const struct tc_vm_options options = {.vmm = TEXT("/vmm"),
                                          .kernel = TEXT("/k"),
                                          .initrd = TEXT("/i"),
                                          .memory_mib = 1,
                                          .cpus = 1};
    _autostrv_ struct tc_strv words = {0};
    (void)state;
    assert_true(tc_vm_qemu.command(&options, &(struct tc_vm_lines){3, -1, -1, -1, -1}, &words));
    assert_string_equal(value_of(&words, "-drive"), "");
    assert_non_null(strstr(value_of(&words, "-append"), " -- " TC_GUEST_TRY));
}

/* ---- what Firecracker is told ---- */

static void read_config(const struct tc_vm_options *options, struct tc_buf *ret)
{
    _autofd_ int fd = tc_vm_firecracker.config(options);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), 0); /* inherited */
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(tc_read_all(fd, ret), 0);
}

static void firecracker_config_describes_the_call(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const struct tc_vm_options options = {.kernel = TEXT("/k"),
                                          .initrd = TEXT("/i"),
                                          .disk = TEXT("/d\""),
                                          .plan = TEXT("/p"),
                                          .socket = "/s",
                                          .memory_mib = 200,
                                          .cpus = 2};
    (void)state;
    read_config(&options, &text);
    for (size_t i = 0; i < text.len; i++)
        assert_true((unsigned char)text.data[i] >= ' ');
    assert_non_null(strstr(text.data, "{\"boot-source\":{\"kernel_image_path\":\"/k\","
                                      "\"initrd_path\":\"/i\",\"boot_args\":\""));
    assert_non_null(strstr(text.data, " -- " TC_GUEST_CALLING "\"},\"drives\":[{"));
    assert_non_null(strstr(text.data, "\"is_read_only\":true,\"path_on_host\":\"/d\\\"\"}]"));
    assert_non_null(strstr(text.data, "\"uds_path\":\"/s\"}"));
    assert_non_null(strstr(text.data, "\"vcpu_count\":2,\"mem_size_mib\":200}}"));
    assert_null(strstr(text.data, "network"));
}

static void firecracker_boot_probe_has_no_device(void **state)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    const struct tc_vm_options options = {
        .kernel = TEXT("/k"), .initrd = TEXT("/i"), .socket = "/s", .memory_mib = 1, .cpus = 1};
    (void)state;
    read_config(&options, &text);
    assert_non_null(strstr(text.data, " -- " TC_GUEST_TRY "\"},\"drives\":[],"));
    assert_null(strstr(text.data, "vsock"));
}

static void firecracker_starts_without_an_api(void **state)
{
    const struct tc_vm_options options = {.vmm = TEXT("/vmm")};
    _autostrv_ struct tc_strv words = {0};
    (void)state;
    assert_true(tc_vm_firecracker.command(&options, &(struct tc_vm_lines){-1, -1, -1, 7}, &words));
    assert_string_equal(value_of(&words, "--config-file"), "/proc/self/fd/7");
    assert_string_equal(words.items[1], "--no-api");
    for (size_t i = 0; i < words.count; i++) {
        assert_string_not_equal(words.items[i], "--api-sock");
        assert_string_not_equal(words.items[i], "--no-seccomp"); /* its own filter stays */
    }
}

static void snapshots_use_the_api_socket(void **state)
{
    const struct tc_vm_options keeps = {.vmm = TEXT("/vmm"), .api = "/a", .keep = 3},
                               goes_on = {.vmm = TEXT("/vmm"), .api = "/a", .from = TEXT("/f")};
    _autostrv_ struct tc_strv first = {0}, later = {0};
    const struct tc_vm_lines lines = {-1, -1, -1, 7, -1};
    (void)state;
    assert_true(tc_vm_firecracker.command(&keeps, &lines, &first));
    assert_string_equal(value_of(&first, "--api-sock"), "/a");
    assert_string_equal(value_of(&first, "--config-file"), "/proc/self/fd/7");
    assert_true(tc_vm_firecracker.command(&goes_on, &lines, &later));
    assert_string_equal(value_of(&later, "--api-sock"), "/a");
    assert_string_equal(value_of(&later, "--config-file"), "");
}

/* It would be the end of another path. */
static void a_socket_has_a_path_that_fits(void **state)
{
    char longest[sizeof((struct sockaddr_un){0}.sun_path) + 1] = "";
    struct tc_vm_port port;
    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    errno = 0;
    assert_int_equal(tc_vm_firecracker.port(&(struct tc_vm_options){.socket = longest}, &port), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_that_says_so_runs),
        cmocka_unit_test(failed_boots_report_the_reason),
        cmocka_unit_test(the_command_names_one_accelerator),
        cmocka_unit_test(qemu_boot_probe_has_no_disk),
        cmocka_unit_test(firecracker_config_describes_the_call),
        cmocka_unit_test(firecracker_boot_probe_has_no_device),
        cmocka_unit_test(firecracker_starts_without_an_api),
        cmocka_unit_test(snapshots_use_the_api_socket),
        cmocka_unit_test(a_socket_has_a_path_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
