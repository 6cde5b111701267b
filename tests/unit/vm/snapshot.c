/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A monitor that is told to write its machine by its own protocol: in which order, and what it is
 * told where it cannot. */
#include "vm/vm.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "test.h"

enum { WORDS = 1024 };

/* What was told, one after the other, and whether the guest ran when it was; then its last word. */
struct monitor {
    char words[WORDS];
    bool runs, torn;
};

static void note(struct monitor *m, const char *text)
{
    static const char key[] = "{\"execute\":\"";
    const char *at = text + strlen(key), *end = strchr(at, '"');
    size_t len = strlen(m->words);
    (void)snprintf(m->words + len, sizeof(m->words) - len, "%.*s ", (int)(end - at), at);
}

static const char *answer(struct monitor *m, const char *text, bool able)
{
    if (strstr(text, "\"stop\"") || strstr(text, "\"cont\"")) {
        m->runs = strstr(text, "\"cont\"") != NULL;
        return "{\"timestamp\": {\"seconds\": 1}, \"event\": \"STOP\"}\r\n{\"return\": {}}\r\n";
    }
    if (strstr(text, "\"migrate\""))
        m->torn = m->runs;
    if (strstr(text, "\"query-migrate\""))
        return able ? "{\"return\": {\"status\": \"completed\"}}\r\n"
                    : "{\"return\": {\"status\": \"failed\"}}\r\n";
    return "{\"return\": {}}\r\n";
}

static _Noreturn void serve(int control, int tell, bool able)
{
    static const char greeting[] = "{\"QMP\": {\"version\": {}}}\r\n";
    struct monitor m = {.runs = true};
    char text[512];
    int fd;
    size_t count;
    ssize_t n;
    (void)tc_write_all(control, greeting, strlen(greeting));
    while (count = 0,
           (n = tc_recv(control, text, sizeof(text) - 1, &fd, 1, &count, NULL, NULL, true)) > 0) {
        text[n] = '\0';
        if (count)
            (void)close(fd);
        note(&m, text);
        const char *said = answer(&m, text, able);
        (void)tc_write_all(control, said, strlen(said));
    }
    (void)tc_write_all(tell, &m, sizeof(m));
    _exit(0);
}

static bool keep(bool able, struct monitor *ret)
{
    int control[2], tell[2], status;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control), 0);
    assert_int_equal(pipe(tell), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(control[0]);
        serve(control[1], tell[1], able);
    }
    (void)close(control[1]);
    const struct tc_vm_options options = {.keep = fileno(file), .boot_ms = 5000};
    bool kept = tc_vm_qemu.keep(&options, &(struct tc_vm){.control = control[0]});
    (void)close(control[0]);
    assert_int_equal(read(tell[0], ret, sizeof(*ret)), sizeof(*ret));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(tell[0]);
    (void)close(tell[1]);
    (void)fclose(file);
    return kept;
}

static void it_stands_still_while_it_is_written(void **state)
{
    struct monitor m;
    (void)state;
    assert_true(keep(true, &m));
    assert_string_equal(m.words, "qmp_capabilities migrate-set-parameters stop getfd migrate "
                                 "query-migrate cont ");
    assert_false(m.torn);
    assert_true(m.runs);
}

/* The call goes on, and the next one boots. */
static void failed_snapshot_resumes_the_vm(void **state)
{
    struct monitor m;
    (void)state;
    assert_false(keep(false, &m));
    assert_true(m.runs);
}

/* Else they would begin as it stands in the file: still. */
static void its_copies_run(void **state)
{
    const struct tc_vm_options options = {.vmm = TEXT("qemu"),
                                          .kernel = TEXT("k"),
                                          .initrd = TEXT("i"),
                                          .memory_mib = 1,
                                          .cpus = 1,
                                          .keep = 9};
    const struct tc_vm_lines lines = {.port = 3, .control = 4, .from = -1, .config = -1, .net = -1};
    _autostrv_ struct tc_strv argv = {0};
    (void)state;
    assert_true(tc_vm_qemu.command(&options, &lines, &argv));
    assert_true(tc_strv_has(&argv, "migration.store-global-state=off"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stands_still_while_it_is_written),
        cmocka_unit_test(failed_snapshot_resumes_the_vm),
        cmocka_unit_test(its_copies_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
