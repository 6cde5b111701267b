/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Guests that are hostile to the host: each plays its part at the other end of the serial port, and
 * the call ends with a failure that says what is wrong, in bounded time and memory. */
#include "vm/vm.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <toolcage/error.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "plan/guest.h"
#include "plan/protocol.h"
#include "state/store.h"
#include "test.h"
#include "version.h"

enum { FLOOD = 256 };

static char socket_path[] = "/tmp/toolcage-vm-socket-XXXXXX";
static char tree_path[] = "/tmp/toolcage-vm-tree-XXXXXX";

/* ---- guests ---- */

static int port, console;
/* By a serial port; or by a socket of the host's, as Firecracker connects it: before its part
 * begins, or as a part of it. */
static enum { HAS_PORT, HAS_CALLED, CALLS } how;

static char *host_socket(void)
{
    return tc_format("%s_%d", socket_path, TC_GUEST_CALLS);
}

/* -1: nobody is there to be called. */
static int call_host(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    _autofree_ char *path = host_socket();
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 ? fd : -1;
}

static void say(enum tc_frame_kind kind, const void *bytes, size_t len)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_frame_put(&out, kind, bytes, len);
    (void)tc_write_all(port, out.data, out.len);
}

static void print(const char *text)
{
    (void)tc_write_all(console, text, strlen(text));
}

static void greet(void)
{
    static const char build[TC_BUILD_ID_SIZE] = TC_BUILD_ID;
    say(TC_FRAME_HELLO, build, sizeof(build));
}

static void say_outcome(struct tc_outcome *outcome)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_outcome_visit(&w, outcome);
    say(TC_FRAME_DONE, w.out.data, w.out.len);
    tc_buf_done(&w.out);
}

static void say_done(int64_t exit_code)
{
    say_outcome(&(struct tc_outcome){
        .status = TOOLCAGE_STATUS_FAILED, .exit_code = exit_code, .failure.clause = -1});
}

static void wait_long(void)
{
    (void)poll(NULL, 0, 60000);
}

static void say_file(const char *path, uint64_t size)
{
    _autobuf_ struct tc_buf body = TC_BUF_INIT;
    const struct tc_carry_head head = {
        .kind = TC_CARRY_FILE, .mode = 0600, .size = size, .path_len = (uint32_t)strlen(path)};
    tc_buf_add(&body, &head, sizeof(head));
    tc_buf_adds(&body, path);
    say(TC_FRAME_ENTRY, body.data, body.len);
}

static void say_bytes(uint64_t at, const char *text)
{
    _autobuf_ struct tc_buf body = TC_BUF_INIT;
    tc_buf_add(&body, &at, sizeof(at));
    tc_buf_adds(&body, text);
    say(TC_FRAME_BYTES, body.data, body.len);
}

/* ---- of those that are kept ---- */

/* As a copy does it: the first that it hears is what makes it another one, and then it greets. */
static void parts(void)
{
    static const size_t most[TC_FRAME_KINDS] = {[TC_FRAME_RENEW] = sizeof(struct tc_renewal)};
    struct tc_frames frames = tc_frames_of(most, TC_FRAME_KINDS);
    struct tc_frame f = {.kind = TC_FRAME_KINDS};
    int more = 0;
    greet();
    while (more == 0 && tc_frames_read(&frames, port) > 0)
        more = tc_frames_next(&frames, &f);
    bool renewed = more > 0 && f.kind == TC_FRAME_RENEW && f.len == sizeof(struct tc_renewal);
    greet();
    say_done(renewed ? 7 : 8);
    wait_long();
}

static void goes_on_as_it_was(void)
{
    greet();
    say_done(7);
    wait_long();
}

static void greets_no_more(void)
{
    greet();
    wait_long();
}

/* ---- of those that were given files ---- */

static void brings_back(void)
{
    greet();
    say_file("new", 4);
    say_bytes(0, "four");
    say(TC_FRAME_FILES_END, NULL, 0);
    say_done(7);
    wait_long();
}

static void leads_elsewhere(void)
{
    greet();
    say_file("../toolcage-vm-out", 0);
    wait_long();
}

static void tells_too_late(void)
{
    greet();
    say_done(7);
    wait_long();
}

static void floods_files(void)
{
    char page[4097] = "";
    memset(page, 'x', sizeof(page) - 1);
    greet();
    say_file("new", UINT32_MAX);
    for (uint64_t at = 0;; at += 4096)
        say_bytes(at, page);
}

static void floods_names(void)
{
    char name[16];
    greet();
    for (int i = 100000; i < 1000000; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        say_file(name, 0);
    }
    wait_long();
}

static void tells_of_a_huge_file(void)
{
    greet();
    say_file("new", 1 << 30);
    say(TC_FRAME_FILES_END, NULL, 0);
    say_done(0);
    wait_long();
}

static void stalls_in_a_file(void)
{
    static const char half[] = {TC_FRAME_BYTES, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0};
    greet();
    say_file("new", 56);
    (void)tc_write_all(port, half, sizeof(half));
    wait_long();
}

/* ---- the others ---- */

static void honest(void)
{
    greet();
    say(TC_FRAME_OUT, "out", 3);
    say(TC_FRAME_ERR, "err", 3);
    say_done(7);
    wait_long();
}

static void never_boots(void)
{
    print("starting\n");
    wait_long();
}

static void panics(void)
{
    print("[    1.2] Kernel panic - not syncing: VFS\n");
}

static void cannot_serve(void)
{
    print(TC_GUEST_LAST_WORD "/dev/vda: No such device\n");
}

static void switches_off(void)
{
    greet();
}

static void is_another(void)
{
    char build[TC_BUILD_ID_SIZE] = "another";
    say(TC_FRAME_HELLO, build, sizeof(build));
    wait_long();
}

static void speaks_first(void)
{
    say(TC_FRAME_OUT, "out", 3);
    wait_long();
}

static void greets_twice(void)
{
    greet();
    greet();
    wait_long();
}

static void lies(void)
{
    static const unsigned char lie[] = {TC_FRAME_DONE, 0, 0, 0, 255, 255, 255, 127};
    greet();
    (void)tc_write_all(port, lie, sizeof(lie));
    wait_long();
}

static void stalls(void)
{
    static const unsigned char half[] = {TC_FRAME_DONE, 0, 0, 0, 100, 0, 0, 0, 'h'};
    greet();
    (void)tc_write_all(port, half, sizeof(half));
    wait_long();
}

static void floods(void)
{
    static const char bytes[TC_MESSAGE_BYTES_MAX];
    greet();
    for (int i = 0; i < FLOOD; i++)
        say(TC_FRAME_OUT, bytes, sizeof(bytes));
    say(TC_FRAME_DONE, bytes, sizeof(bytes));
    wait_long();
}

static void floods_console(void)
{
    static const char bytes[TC_MESSAGE_BYTES_MAX];
    for (int i = 0; i < FLOOD; i++)
        (void)tc_write_all(console, bytes, sizeof(bytes));
    honest();
}

static void takes_too_much(void)
{
    const uint32_t much = UINT32_MAX;
    greet();
    say(TC_FRAME_TAKEN, &much, sizeof(much));
    wait_long();
}

static void says_what_hosts_say(void)
{
    greet();
    say(TC_FRAME_JOB, NULL, 0);
    wait_long();
}

static void tells_nothing(void)
{
    greet();
    say(TC_FRAME_DONE, NULL, 0);
    wait_long();
}

static void says_it_never_booted(void)
{
    static char stage[] = "boot";
    greet();
    say_outcome(&(struct tc_outcome){.status = TOOLCAGE_STATUS_ERROR,
                                     .failure = {.code = TOOLCAGE_EBACKEND, .stage = stage}});
    wait_long();
}

/* ---- of those that call the host ---- */

static void never_calls(void)
{
    wait_long();
}

static void ends_uncalled(void)
{
    print("Kernel panic - not syncing: no device\r\n");
}

static void calls_and_hangs_up(void)
{
    port = call_host();
    (void)shutdown(port, SHUT_RDWR);
}

static void calls_and_says_nothing(void)
{
    port = call_host();
    wait_long();
}

/* Its second call goes nowhere, however early it comes: what has one place has been given away. */
static void calls_twice(void)
{
    port = call_host();
    greet();
    int second = call_host();
    const char byte = 0;
    bool refused = second < 0 || send(second, &byte, 1, MSG_NOSIGNAL) < 0 ||
                   recv(second, &(char){0}, 1, 0) <= 0;
    say_done(refused ? 7 : 8);
    wait_long();
}

/* ---- calls ---- */

static size_t shown; /* bytes on standard output */

/* Somebody reads what we show, as the helper does; and is not the test's report. A port that
 * listens must be ours alone. */
static int drain_output(int listener, pid_t *ret)
{
    int tube[2], saved = dup(STDOUT_FILENO);
    assert_true(saved >= 0 && pipe2(tube, O_CLOEXEC) == 0);
    *ret = fork();
    if (*ret == 0) {
        char bytes[65536];
        size_t total = 0;
        (void)close(tube[1]);
        (void)close(listener);
        for (ssize_t n; (n = read(tube[0], bytes, sizeof(bytes))) > 0;)
            total += (size_t)n;
        _exit(total > 255 ? 255 : (int)total);
    }
    assert_true(dup2(tube[1], STDOUT_FILENO) >= 0);
    (void)close(tube[0]);
    (void)close(tube[1]);
    return saved;
}

static void open_port(const struct tc_vm_options *options, int ret[2])
{
    const struct tc_vm_driver *driver = how == HAS_PORT ? &tc_vm_qemu : &tc_vm_firecracker;
    struct tc_vm_port made;
    assert_int_equal(driver->port(options, &made), 0);
    ret[0] = made.ours;
    ret[1] = made.theirs;
    assert_int_equal(fcntl(ret[0], F_SETFL, O_NONBLOCK), 0);
}

static void close_port(struct tc_vm *vm)
{
    _autofree_ char *path = host_socket();
    (void)close(vm->port);
    if (how != HAS_PORT)
        assert_int_equal(unlink(path), 0);
}

static int written; /* machines */

static bool write_machine(const struct tc_vm_options *options, const struct tc_vm *vm)
{
    (void)vm;
    written++;
    return options->keep > 0;
}

static const struct tc_vm_driver keeper = {
    .name = "keeper", .remedy = TC_VM_REMEDY, .keep = write_machine};
static bool keeps; /* the guest, before its call */

static void begin_guest(const struct tc_vm_options *options, void (*guest)(void), struct tc_vm *ret)
{
    int pair[2], tube[2];
    open_port(options, pair);
    assert_true(pipe2(tube, O_CLOEXEC) == 0);
    *ret = (struct tc_vm){.pid = fork(),
                          .port = pair[0],
                          .console = tube[0],
                          .control = -1,
                          .again = -1,
                          .calls = pair[1] < 0};
    if (ret->pid == 0) {
        (void)close(pair[0]);
        (void)close(tube[0]);
        port = pair[1];
        if (how == HAS_CALLED)
            port = call_host();
        console = tube[1];
        guest();
        _exit(0);
    }
    if (pair[1] >= 0)
        (void)close(pair[1]);
    (void)close(tube[1]);
    assert_true(fcntl(ret->console, F_SETFL, O_NONBLOCK) == 0);
}

static void end_guest(struct tc_vm *vm)
{
    (void)kill(vm->pid, SIGKILL);
    (void)waitpid(vm->pid, NULL, 0);
    close_port(vm);
    (void)close(vm->console);
}

static void call(void (*guest)(void), size_t grants, struct tc_outcome *ret)
{
    struct tc_vm_grant tree = {tree_path, true};
    const struct tc_vm_options options = {.driver = keeps ? &keeper : &tc_vm_qemu,
                                          .keep = keeps ? dup(STDERR_FILENO) : 0,
                                          .plan = TEXT("p"),
                                          .plan_len = 1,
                                          .socket = socket_path,
                                          .grants = &tree,
                                          .grant_count = grants,
                                          .room = 1 << 20,
                                          .names = 10,
                                          .boot_ms = 2000,
                                          .stall_ms = 300,
                                          .in = STDIN_FILENO,
                                          .out = STDOUT_FILENO,
                                          .err = STDERR_FILENO};
    int status;
    pid_t reader;
    bool kept = false;
    struct tc_vm vm;
    *ret = (struct tc_outcome){0};
    begin_guest(&options, guest, &vm);
    int saved = drain_output(vm.port, &reader);
    struct tc_vm_files files;
    assert_int_equal(tc_vm_files_open(&files, &options), 0);
    tc_vm_call(&options, &vm, &files, ret, &kept);
    assert_int_equal(kept, keeps);
    tc_vm_files_done(&files);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    (void)close(saved);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    shown = (size_t)WEXITSTATUS(status);
    end_guest(&vm);
}

static bool rehearse(void (*guest)(void))
{
    const struct tc_vm_options options = {.driver = &tc_vm_qemu,
                                          .rehearsal = TEXT("p"),
                                          .rehearsal_len = 1,
                                          .socket = socket_path,
                                          .boot_ms = 1000};
    struct tc_vm vm;
    begin_guest(&options, guest, &vm);
    bool fine = tc_vm_rehearse(&options, &vm);
    end_guest(&vm);
    return fine;
}

static void check_calls(void)
{
    struct tc_outcome outcome;
    call(honest, 0, &outcome);
    assert_int_equal(outcome.failure.code, 0);
    assert_int_equal(outcome.exit_code, 7);
    assert_int_equal(shown, 3);
    tc_outcome_done(&outcome);
    call(floods_console, 0, &outcome);
    assert_int_equal(outcome.failure.code, 0);
    assert_int_equal(outcome.exit_code, 7);
    tc_outcome_done(&outcome);
}

static void a_call_comes_back(void **state)
{
    (void)state;
    for (how = HAS_PORT; how <= HAS_CALLED; how++)
        check_calls();
    how = HAS_PORT;
}

static char *in_tree(const char *name)
{
    char *path = tc_format("%s/%s", tree_path, name);
    assert_non_null(path);
    return path;
}

static void changed_files_are_written_back(void **state)
{
    struct tc_outcome outcome;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofree_ char *path = in_tree("new");
    (void)state;
    call(brings_back, 1, &outcome);
    assert_int_equal(outcome.failure.code, 0);
    assert_int_equal(outcome.exit_code, 7);
    assert_int_equal(tc_read_file(AT_FDCWD, path, &text), 0);
    assert_string_equal(text.data, "four");
    tc_outcome_done(&outcome);
}

/* The cage around toolcage-vm bounds the size of files, which must not end it without a word. */
static void a_huge_file_is_an_error(void **state)
{
    struct rlimit limit, small = {.rlim_cur = 1 << 20};
    struct tc_outcome outcome;
    _autofree_ char *path = in_tree("new");
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small.rlim_max = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    call(tells_of_a_huge_file, 1, &outcome);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(outcome.failure.code, TOOLCAGE_EPATH);
    assert_string_equal(outcome.failure.stage, "files");
    assert_string_equal(outcome.failure.subject, "filesystem");
    assert_non_null(strstr(outcome.failure.message, "File too large"));
    tc_outcome_done(&outcome);
    (void)unlink(path);
}

struct hostile {
    void (*guest)(void);
    const char *stage, *words;
    size_t grants;
    bool either; /* tried by a serial port and by a call */
};

static void check_hostile(const struct hostile *row)
{
    struct tc_outcome outcome;
    call(row->guest, row->grants, &outcome);
    assert_int_equal(outcome.failure.code, TOOLCAGE_EBACKEND);
    assert_int_equal(outcome.status, TOOLCAGE_STATUS_ERROR);
    assert_string_equal(outcome.failure.stage, row->stage);
    assert_string_equal(outcome.failure.subject, "guest");
    if (!strstr(outcome.failure.message, row->words))
        fail_msg("%s: not \"%s\"", outcome.failure.message, row->words);
    assert_string_not_equal(outcome.failure.hint, "");
    tc_outcome_done(&outcome);
    /* else the next guest would be sent it, and there is no end of it */
    _autofree_ char *made = in_tree("new");
    (void)unlink(made);
}

static void hostile_guests_end_the_call(void **state)
{
    static const struct hostile rows[] = {
        {brings_back, "machine", "files that were not granted"},
        {leads_elsewhere, "machine", "sent an invalid path", 1},
        {tells_too_late, "machine", "without reporting its changes", 1},
        {floods_files, "machine", "more bytes than its grant allows", 1},
        {floods_names, "machine", "more names than its grant allows", 1},
        {stalls_in_a_file, "machine", "middle of a frame", 1},
        {never_boots, "boot", "did not start in time"},
        {panics, "boot", "kernel panicked"},
        {cannot_serve, "boot", "cannot serve calls"},
        {cannot_serve, "boot", "No such device"},
        {switches_off, "machine", "switched off", .either = true},
        {is_another, "boot", "another version"},
        {speaks_first, "machine", "before its HELLO", .either = true},
        {greets_twice, "machine", "greets twice"},
        {lies, "machine", "with an invalid length", .either = true},
        {stalls, "machine", "middle of a frame", .either = true},
        {floods, "machine", "how the call ended", .either = true},
        {takes_too_much, "machine", "more input than it was given"},
        {says_what_hosts_say, "machine", "only the host may send"},
        {tells_nothing, "machine", "how the call ended"},
        {says_it_never_booted, "machine", "reported a failed boot"},
    };
    (void)state;
    for (how = HAS_PORT; how <= HAS_CALLED; how++)
        for (size_t i = 0; i < TC_COUNT(rows); i++)
            if (how == HAS_PORT || rows[i].either)
                check_hostile(&rows[i]);
    how = HAS_PORT;
    assert_int_equal(access("/tmp/toolcage-vm-out", F_OK), -1);
}

static void a_guest_calls_once_or_the_call_ends(void **state)
{
    static const struct hostile rows[] = {
        {never_calls, "boot", "did not start in time"},
        {ends_uncalled, "boot", "kernel panicked"},
        {calls_and_hangs_up, "boot", "does not start"},
        {calls_and_says_nothing, "boot", "did not start in time"},
    };
    struct tc_outcome outcome;
    (void)state;
    how = CALLS;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        check_hostile(&rows[i]);
    call(calls_twice, 0, &outcome);
    assert_int_equal(outcome.failure.code, 0);
    assert_int_equal(outcome.exit_code, 7);
    tc_outcome_done(&outcome);
    how = HAS_PORT;
}

/* Its copies have the random numbers that it had ahead of it. */
static void a_machine_that_is_kept_parts_from_its_copies(void **state)
{
    static const struct hostile rows[] = {
        {goes_on_as_it_was, "machine", "before its HELLO"},
        {greets_no_more, "boot", "did not start in time"},
    };
    struct tc_outcome outcome;
    (void)state;
    keeps = true;
    call(parts, 0, &outcome);
    assert_int_equal(outcome.failure.code, 0);
    assert_int_equal(outcome.exit_code, 7);
    tc_outcome_done(&outcome);
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        check_hostile(&rows[i]);
    assert_int_equal(written, 3);
    keeps = false;
}

/* What it says of that call counts for nothing, but it has to serve calls. */
static void a_guest_that_waits_has_run_a_call(void **state)
{
    void (*const none[])(void) = {tells_nothing, panics, stalls, lies, greets_no_more};
    (void)state;
    assert_true(rehearse(honest));
    assert_true(rehearse(says_it_never_booted));
    for (size_t i = 0; i < TC_COUNT(none); i++)
        assert_false(rehearse(none[i]));
}

static int make_paths(void **state)
{
    (void)state;
    int fd = mkstemp(socket_path);
    (void)close(fd);
    (void)signal(SIGPIPE, SIG_IGN);
    return fd >= 0 && mkdtemp(tree_path) ? 0 : -1;
}

static int remove_paths(void **state)
{
    (void)state;
    return unlink(socket_path) == 0 ? tc_remove_tree(AT_FDCWD, tree_path) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_comes_back),
        cmocka_unit_test(changed_files_are_written_back),
        cmocka_unit_test(a_huge_file_is_an_error),
        cmocka_unit_test(hostile_guests_end_the_call),
        cmocka_unit_test(a_guest_calls_once_or_the_call_ends),
        cmocka_unit_test(a_machine_that_is_kept_parts_from_its_copies),
        cmocka_unit_test(a_guest_that_waits_has_run_a_call),
    };
    return cmocka_run_group_tests(tests, make_paths, remove_paths);
}
