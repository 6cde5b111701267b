/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The monitor's process, and our ends of what it has in common with us. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/vm.h"

/* It dies with us; its words and the guest's console are one stream. Who asks the tool to end means
 * the tool in the guest, which is told by us, and not the machine around it. */
static _Noreturn void become_monitor(char *const *argv, int console)
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
        dup2(console, 1) == 1 && dup2(console, 2) == 2)
        (void)execve(argv[0], argv, none);
    _exit(127);
}

int tc_vm_line(int *ret_ours, int *ret_theirs)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return -1;
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    return fcntl(pair[0], F_SETFD, FD_CLOEXEC);
}

/* The port for the tool's connections, where it has any. */
static int make_net(const struct tc_vm_options *o, int *ret_ours, int *ret_theirs)
{
    if (!o->net)
        return 0;
    errno = EOPNOTSUPP;
    return !o->driver->networks || tc_vm_line(ret_ours, ret_theirs) < 0
               ? -1
               : fcntl(*ret_ours, F_SETFL, O_NONBLOCK);
}

int tc_vm_start(const struct tc_vm_options *o, struct tc_vm *ret)
{
    _autostrv_ struct tc_strv argv = {0};
    _autofd_ int ours = -1, theirs = -1, asks = -1, answers = -1, from = -1, config = -1;
    _autofd_ int net = -1, nets = -1;
    int tube[2];
    if (o->driver->port(o, &ours, &theirs) < 0 || make_net(o, &net, &nets) < 0 ||
        (o->keep > 0 && tc_vm_line(&asks, &answers) < 0) ||
        (o->from && (from = open(o->from, O_RDONLY)) < 0) ||
        (o->driver->config && (config = o->driver->config(o)) < 0) || pipe2(tube, O_CLOEXEC) < 0)
        return -1;
    _autofd_ int console = tube[0], say = tube[1];
    const struct tc_vm_lines lines = {theirs, answers, from, config, nets};
    if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0 || fcntl(console, F_SETFL, O_NONBLOCK) < 0 ||
        !o->driver->command(o, &lines, &argv))
        return -1;
    ret->pid = fork();
    if (ret->pid == 0)
        become_monitor(argv.items, say);
    if (ret->pid < 0)
        return -1;
    ret->calls = theirs < 0;
    ret->port = TAKE_FD(ours);
    ret->console = TAKE_FD(console);
    ret->control = TAKE_FD(asks);
    ret->net = TAKE_FD(net);
    return 0;
}
