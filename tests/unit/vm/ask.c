/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A monitor that is asked by its socket, and the file that it writes its machine to: what it is
 * asked and in which order, and answers that are none. And files that are no such machine's. */
#include "vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "test.h"

enum { MIB = 1 << 20, SIZE_MIB = 4 };

#define FINE "HTTP/1.1 204 \r\nServer: Firecracker API\r\nConnection: keep-alive\r\n\r\n"
#define WRONG                                                                       \
    "HTTP/1.1 400 \r\nContent-Type: application/json\r\nContent-Length: 37\r\n\r\n" \
    "{\"fault_message\":\"it is \x1b[31m wrong\"}"

static char dir[] = "/tmp/toolcage-vm-ask-XXXXXX";
static char api[64], file[64];

/* ---- a monitor ---- */

/* What it was asked, a request a line; shared with it. */
static struct seen {
    char requests[4096];
    int named; /* its socket had its name while it answered */
} * seen;

static void write_machine(int state, int memory)
{
    (void)!pwrite(state, "the state", 9, 0);
    (void)!ftruncate(memory, SIZE_MIB * MIB);
    (void)!pwrite(memory, "low", 3, 0);
    (void)!pwrite(memory, "high", 4, SIZE_MIB * MIB - 4);
}

static bool take_request(int fd)
{
    char text[1024];
    ssize_t n = read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    const char *body = strstr(text, "\r\n\r\n");
    if (!body)
        return false;
    char *end = strstr(text, " HTTP/1.1\r\n");
    *end = '\0';
    size_t len = strlen(seen->requests);
    (void)snprintf(seen->requests + len, sizeof(seen->requests) - len, "%s%s\n", text, body + 4);
    seen->named += access(api, F_OK) == 0;
    return true;
}

static _Noreturn void answer(int listener, const char *const *answers, const struct tc_vm *vm)
{
    int fd = accept(listener, NULL, NULL);
    for (; *answers && take_request(fd); answers++) {
        if (strstr(seen->requests, "create"))
            write_machine(vm->state, vm->memory);
        (void)tc_write_all(fd, *answers, strlen(*answers));
    }
    _exit(0);
}

static int listen_there(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", api);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
                listen(fd, 1) == 0);
    return fd;
}

/* Its answers; NULL: none is there. */
static struct tc_vm begin(const char *const *answers)
{
    int tube[2];
    struct tc_vm vm = {.control = -1, .net = -1, .again = -1, .told = 7};
    memset(seen, 0, sizeof(*seen));
    assert_int_equal(pipe2(tube, O_CLOEXEC), 0);
    vm.state = memfd_create("state", MFD_CLOEXEC);
    vm.memory = memfd_create("memory", MFD_CLOEXEC);
    vm.console = tube[0];
    int listener = answers ? listen_there() : -1;
    vm.pid = fork();
    if (vm.pid == 0 && answers)
        answer(listener, answers, &vm);
    if (vm.pid == 0)
        _exit(1);
    (void)close(tube[1]);
    if (listener >= 0)
        (void)close(listener);
    return vm;
}

static void end(const struct tc_vm *vm)
{
    (void)kill(vm->pid, SIGKILL);
    (void)waitpid(vm->pid, NULL, 0);
    (void)close(vm->state);
    (void)close(vm->memory);
    (void)close(vm->console);
    (void)unlink(api);
}

static struct tc_vm_options options(void)
{
    return (struct tc_vm_options){
        .api = api, .from = file, .memory_mib = SIZE_MIB, .boot_ms = 500, .keep = -1};
}

static int fresh(void)
{
    (void)unlink(file);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

/* ---- what it is asked ---- */

static void check_image(void)
{
    char low[4] = "", high[5] = "";
    struct tc_vm_options o = options();
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int state = tc_vm_image_state(&o), whole = open(file, O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert_true(state >= 0);
    assert_int_equal(fcntl(state, F_GETFD), 0); /* inherited */
    assert_int_equal(lseek(state, 0, SEEK_SET), 0);
    assert_int_equal(tc_read_all(state, &text), 0);
    assert_int_equal(text.len, 9);
    assert_memory_equal(text.data, "the state", 9);
    assert_true(pread(whole, low, 3, 0) == 3 && pread(whole, high, 4, SIZE_MIB * MIB - 4) == 4);
    assert_string_equal(low, "low");
    assert_string_equal(high, "high");
    assert_int_equal(fstat(whole, &st), 0);
    assert_in_range(st.st_blocks * 512, 1, MIB); /* what was not touched takes no room */
}

static void it_is_written_and_goes_on(void **state)
{
    static const char *const answers[] = {FINE, FINE, FINE, NULL};
    struct tc_vm_options o = options();
    struct tc_vm vm = begin(answers);
    char expected[512];
    (void)state;
    o.keep = fresh();
    assert_true(tc_vm_firecracker.keep(&o, &vm));
    (void)close(o.keep);
    (void)snprintf(
        expected, sizeof(expected),
        "PATCH /vm{\"state\":\"Paused\"}\nPUT /snapshot/create{\"snapshot_type\":\"Diff\","
        "\"snapshot_path\":\"/proc/self/fd/%d\",\"mem_file_path\":\"/proc/self/fd/%d\"}\n"
        "PATCH /vm{\"state\":\"Resumed\"}\n",
        vm.state, vm.memory);
    assert_string_equal(seen->requests, expected);
    assert_int_equal(seen->named, 0);
    end(&vm);
    check_image();
}

static void failed_snapshot_resumes_the_vm(void **state)
{
    static const char *const answers[] = {FINE, WRONG, FINE, NULL};
    struct tc_vm_options o = options();
    struct tc_vm vm = begin(answers);
    (void)state;
    o.keep = fresh();
    assert_false(tc_vm_firecracker.keep(&o, &vm));
    (void)close(o.keep);
    assert_non_null(strstr(seen->requests, "Resumed"));
    end(&vm);
}

static void it_goes_on_from_its_file(void **state)
{
    static const char *const answers[] = {FINE, NULL};
    const struct tc_vm_options o = options();
    struct tc_vm vm = begin(answers);
    _autofree_ char *why = NULL;
    _autofree_ char *expected =
        tc_format("PUT /snapshot/load{\"snapshot_path\":\"/proc/self/fd/7\",\"mem_backend\":{"
                  "\"backend_type\":\"File\",\"backend_path\":\"%s\"},\"resume_vm\":true}\n",
                  file);
    (void)state;
    assert_true(tc_vm_firecracker.go_on(&o, &vm, &why));
    assert_null(why);
    assert_string_equal(seen->requests, expected);
    assert_int_equal(seen->named, 0);
    end(&vm);
}

static void failure_reason_is_reported(void **state)
{
    static const char *const answers[] = {WRONG, NULL};
    const struct tc_vm_options o = options();
    struct tc_vm vm = begin(answers);
    _autofree_ char *why = NULL;
    (void)state;
    assert_false(tc_vm_firecracker.go_on(&o, &vm, &why));
    assert_non_null(why);
    assert_string_equal(why, "it is ?[31m wrong");
    end(&vm);
}

static void invalid_response_is_a_refusal(void **state)
{
    static const char *const rows[][2] = {
        {"HTTP/1.1 200 \r\n\r\n"}, /* of another question */
        {"HTTP/1.1 204 \r\nContent-Length: 99999999\r\n\r\n"},
        {"HTTP/1.1 204 \r\nContent-Length: -1\r\n\r\n"},
        {"HTTP/1.1 204 \r\nContent-Length: 10\r\n\r\ncut"},
        {"HTTP/1.1 204"},
        {"204 HTTP/1.1\r\n\r\n"},
        {NULL},
    };
    const struct tc_vm_options o = options();
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_vm vm = begin(rows[i]);
        _autofree_ char *why = NULL;
        assert_false(tc_vm_firecracker.go_on(&o, &vm, &why));
        assert_null(why);
        end(&vm);
    }
}

static void absent_monitor_is_not_waited_for(void **state)
{
    struct tc_vm_options o = options();
    struct tc_vm vm = begin(NULL);
    _autofree_ char *why = NULL;
    (void)state;
    o.boot_ms = 600000;
    assert_false(tc_vm_firecracker.go_on(&o, &vm, &why));
    end(&vm);
}

/* ---- files ---- */

static void refuse(void)
{
    const struct tc_vm_options o = options();
    errno = 0;
    assert_int_equal(tc_vm_image_state(&o), -1);
    assert_int_equal(errno, EBADMSG);
}

static void other_files_are_no_machine(void **state)
{
    struct tc_vm_options o = options();
    struct tc_vm vm = begin(NULL);
    struct stat st;
    (void)state;
    write_machine(vm.state, vm.memory);
    o.keep = fresh();
    assert_true(tc_vm_image_write(&o, vm.state, vm.memory));
    assert_int_equal(fstat(o.keep, &st), 0);
    check_image();
    for (off_t cut = 1; cut <= st.st_size; cut += cut < 64 ? 1 : cut) {
        assert_int_equal(truncate(file, st.st_size - cut), 0);
        refuse();
        assert_int_equal(lseek(o.keep, 0, SEEK_SET), 0);
        assert_true(tc_vm_image_write(&o, vm.state, vm.memory));
    }
    assert_int_equal(pwrite(o.keep, "X", 1, st.st_size - 16), 1); /* of another form */
    refuse();
    assert_true(tc_vm_image_write(&o, vm.state, vm.memory));
    assert_int_equal(pwrite(o.keep, "\xff", 1, st.st_size - 1), 1); /* a length that lies */
    refuse();
    (void)close(o.keep);
    end(&vm);
}

static void a_machine_of_another_size_is_not_written(void **state)
{
    struct tc_vm_options o = options();
    struct tc_vm vm = begin(NULL);
    (void)state;
    write_machine(vm.state, vm.memory);
    o.keep = fresh();
    o.memory_mib++;
    assert_false(tc_vm_image_write(&o, vm.state, vm.memory));
    (void)close(o.keep);
    end(&vm);
}

static int set_up(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED || !mkdtemp(dir))
        return -1;
    (void)snprintf(api, sizeof(api), "%s/api", dir);
    (void)snprintf(file, sizeof(file), "%s/file", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(file);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_written_and_goes_on),
        cmocka_unit_test(failed_snapshot_resumes_the_vm),
        cmocka_unit_test(it_goes_on_from_its_file),
        cmocka_unit_test(failure_reason_is_reported),
        cmocka_unit_test(invalid_response_is_a_refusal),
        cmocka_unit_test(absent_monitor_is_not_waited_for),
        cmocka_unit_test(other_files_are_no_machine),
        cmocka_unit_test(a_machine_of_another_size_is_not_written),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
