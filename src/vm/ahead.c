/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A machine that stands ready before its call: it has gone on from its file, and its guest waits
 * for what makes it unlike every other one. Who hands us the call is at our standard input. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cage/handed.h"
#include "linux/landlock_rules.h"
#include "vm/vm.h"

static int talk = -1;

/* The call's streams come where the socket was, and what we tell its end on behind them. */
bool tc_vm_expect(void)
{
    talk = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, TC_VM_TALK + 1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    return talk >= 0 && null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
           dup3(null, TC_VM_TALK, O_CLOEXEC) >= 0;
}

/* A machine that is switched off is of no use; nor are we, to nobody. */
static bool wait_for_call(const struct tc_vm *vm)
{
    struct pollfd p[] = {{.fd = talk, .events = POLLIN}, {.fd = vm->console}};
    while (poll(p, TC_COUNT(p), -1) < 0)
        if (errno != EINTR)
            return false;
    return p[0].revents & POLLIN;
}

static bool place(const int *fds, size_t count)
{
    return count > TC_HANDED_MORE && tc_handed_place(fds, count) &&
           dup3(fds[TC_HANDED_MORE], TC_VM_TALK, O_CLOEXEC) >= 0 && close(fds[TC_HANDED_MORE]) == 0;
}

/* Its root is nobody's mount namespace; but a directory can be the one that paths begin at. */
static bool stand_in(int root)
{
    return fchdir(root) == 0 && close(root) == 0;
}

/* What is open already no wall holds back. */
static bool take(struct tc_vm_options *o, char *words, size_t length)
{
    static char *list[TC_HANDED_WORDS + 1];
    size_t count = tc_handed_list(words, length, list);
    if (!tc_vm_take_words(o, list + 1, count - 1) || !o->plan)
        return false;
    return (o->plan_fd = open(o->plan + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) > 0;
}

static bool begin_paths_here(struct tc_vm_options *o)
{
    for (size_t i = 0; i < o->grant_count; i++)
        if (!(o->grants[i].path = tc_format(".%s", o->grants[i].path)))
            return false;
    return true;
}

/* As in any cage what its processes wait for can be seen, which is not counted against the guest.
 */
static bool raise_wall(const int *fds, size_t count)
{
    size_t wall = TC_HANDED_MORE + 1;
    if (count <= wall)
        return true;
    return tc_landlock_allow_path(fds[wall], tc_landlock_abi(), "/proc", TC_LANDLOCK_READ_TREE) ==
               0 &&
           tc_landlock_restrict(fds[wall]) == 0 && close(fds[wall]) == 0;
}

/* A machine that was switched off at this moment is no fault of the call's. */
static bool still_stands(const struct tc_vm_options *o, struct tc_vm *vm)
{
    return !tc_vm_has_ended(vm, 0) || tc_vm_start(o, vm) == 0;
}

bool tc_vm_await(struct tc_vm_options *o, struct tc_vm *vm)
{
    static char words[TC_HANDED_WORDS];
    int fds[TC_HANDED_MOST];
    size_t count = 0;
    if (!wait_for_call(vm))
        return false;
    ssize_t n = tc_recv(talk, words, sizeof(words), fds, TC_COUNT(fds), &count, NULL, NULL, true);
    return n > 0 && !words[n - 1] && place(fds, count) && stand_in(fds[TC_HANDED_ROOT]) &&
           take(o, words, (size_t)n) && begin_paths_here(o) && still_stands(o, vm) &&
           raise_wall(fds, count);
}
