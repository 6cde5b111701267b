/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The VMM's process, and toolcage-vm's ends of its fds. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "linux/landlock_rules.h"
#include "vm/vm.h"

/* The Landlock layer of a prestarted cage comes with the call, for toolcage-vm. The VMM needs only
 * files that exist already, and gets its own ruleset. */
static int confine(void)
{
    int abi = tc_landlock_abi();
    if (abi <= 0)
        return 0;
    _autofd_ int ruleset = tc_landlock_open(abi, 0);
    if (ruleset < 0 || tc_landlock_allow_path(ruleset, abi, "/", TC_LANDLOCK_READ_TREE) < 0 ||
        tc_landlock_allow_path(ruleset, abi, "/tmp", TC_LANDLOCK_OWN_TREE) < 0 ||
        tc_landlock_allow_path(ruleset, abi, "/dev", TC_LANDLOCK_DEVICE) < 0)
        return -1;
    return tc_landlock_restrict(ruleset);
}

/* The VMM dies with toolcage-vm; its messages and the guest's console are one stream. SIGTERM is
 * meant for the tool in the guest, to which toolcage-vm forwards it, so the VMM blocks it. */
static _Noreturn void become_monitor(char *const *argv, int console, bool ahead)
{
    char *none[] = {NULL};
    sigset_t asking;
    (void)sigemptyset(&asking);
    (void)sigaddset(&asking, SIGTERM);
    (void)sigaddset(&asking, SIGINT);
    (void)sigaddset(&asking, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &asking, NULL);
    int null = open("/dev/null", O_RDONLY);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && null >= 0 && dup2(null, 0) == 0 &&
        dup2(console, 1) == 1 && dup2(console, 2) == 2 && (!ahead || confine() == 0))
        (void)execve(argv[0], argv, none);
    _exit(127);
}

bool tc_vm_has_ended(const struct tc_vm *vm, int patience_ms)
{
    struct pollfd p = {.fd = vm->console};
    return poll(&p, 1, patience_ms) > 0 && p.revents & POLLHUP;
}

int tc_vm_line(struct tc_vm_port *ret)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return -1;
    *ret = (struct tc_vm_port){pair[0], pair[1]};
    return fcntl(pair[0], F_SETFD, FD_CLOEXEC);
}

/* Creates the guest's ports and the VMM's control socket. */
static int make_ports(const struct tc_vm_options *o, struct tc_vm *vm, struct tc_vm_lines *lines)
{
    struct tc_vm_port port = {-1, -1}, net = {-1, -1}, control = {-1, -1};
    if (o->driver->port(o, &port) < 0 || (o->net && o->driver->net(o, &net) < 0) ||
        (o->keep > 0 && !o->driver->serves && tc_vm_line(&control) < 0) ||
        fcntl(port.ours, F_SETFL, O_NONBLOCK) < 0 ||
        (o->net && fcntl(net.ours, F_SETFL, O_NONBLOCK) < 0))
        return -1;
    vm->port = port.ours;
    vm->net = net.ours;
    vm->control = control.ours;
    vm->calls = port.theirs < 0;
    lines->port = port.theirs;
    lines->net = net.theirs;
    lines->control = control.theirs;
    return 0;
}

/* Files that the VMM writes a snapshot to; and a second fd of the port to which the guest connects
 * again afterwards. */
static int make_files(const struct tc_vm_options *o, struct tc_vm *vm)
{
    if (o->keep <= 0 || !o->driver->serves)
        return 0;
    vm->state = memfd_create("state", 0);
    vm->memory = memfd_create("memory", 0);
    vm->again = fcntl(vm->port, F_DUPFD_CLOEXEC, 0);
    return vm->state < 0 || vm->memory < 0 || vm->again < 0 ? -1 : 0;
}

static int open_files(const struct tc_vm_options *o, struct tc_vm *vm, struct tc_vm_lines *lines)
{
    if (o->driver->config && (vm->told = o->driver->config(o)) < 0)
        return -1;
    lines->config = vm->told;
    return o->from && !o->driver->config && (lines->from = open(o->from, O_RDONLY)) < 0 ? -1 : 0;
}

static void close_theirs(const struct tc_vm_lines *lines)
{
    const int theirs[] = {lines->port, lines->control, lines->net, lines->from};
    for (size_t i = 0; i < TC_COUNT(theirs); i++)
        if (theirs[i] >= 0)
            (void)close(theirs[i]);
}

/* A container engine's runtime starts the VM; toolcage-vm has only its streams. */
const struct tc_vm_driver tc_vm_kata = {
    .name = "kata",
    .given = true,
    .remedy = "see what the engine and its runtime write into their logs; `toolcage doctor` shows "
              "what this machine lacks"};

static int take_lines(const struct tc_vm_options *o, struct tc_vm *ret)
{
    *ret = (struct tc_vm){.port = o->port,
                          .console = o->console,
                          .control = -1,
                          .net = -1,
                          .again = -1,
                          .told = -1,
                          .state = -1,
                          .memory = -1};
    return fcntl(ret->port, F_SETFL, O_NONBLOCK) < 0 || fcntl(ret->console, F_SETFL, O_NONBLOCK) < 0
               ? -1
               : 0;
}

/* On failure, open fds are closed by the exit of this process. */
static int start_monitor(const struct tc_vm_options *o, struct tc_vm *ret)
{
    _autostrv_ struct tc_strv argv = {0};
    struct tc_vm_lines lines = {-1, -1, -1, -1, -1};
    int tube[2];
    *ret = (struct tc_vm){
        .control = -1, .net = -1, .again = -1, .told = -1, .state = -1, .memory = -1};
    if (make_ports(o, ret, &lines) < 0 || make_files(o, ret) < 0 ||
        open_files(o, ret, &lines) < 0 || pipe2(tube, O_CLOEXEC) < 0 ||
        fcntl(tube[0], F_SETFL, O_NONBLOCK) < 0 || !o->driver->command(o, &lines, &argv))
        return -1;
    ret->console = tube[0];
    ret->pid = fork();
    if (ret->pid == 0)
        become_monitor(argv.items, tube[1], o->ahead);
    (void)close(tube[1]);
    close_theirs(&lines);
    return ret->pid < 0 ? -1 : 0;
}

int tc_vm_start(const struct tc_vm_options *o, struct tc_vm *ret)
{
    return o->driver->given ? take_lines(o, ret) : start_monitor(o, ret);
}
