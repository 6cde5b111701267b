/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The orders of toolcage-vm arrive all at once, or first the VM and later the call. In the latter
 * case the VM is restored meanwhile, and its guest waits for RENEW. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/task.h"
#include "linux/landlock_rules.h"
#include "vm/vm.h"

static const struct tc_vm_driver *find_driver(const char *name)
{
    static const struct tc_vm_driver *const drivers[] = {&tc_vm_qemu, &tc_vm_firecracker,
                                                         &tc_vm_kata};
    for (size_t i = 0; i < TC_COUNT(drivers); i++)
        if (tc_streq(drivers[i]->name, name))
            return drivers[i];
    return NULL;
}

/* The plan of a prestarted VM arrives later. */
static bool is_whole(const struct tc_vm_options *o)
{
    bool called = o->plan || o->ahead;
    bool there =
        o->driver && (o->driver->given ? called && !o->disk && o->port >= 0 && o->console >= 0
                                       : o->vmm && o->kernel && o->initrd && (called || !o->disk));
    return there && o->memory_mib > 0 && o->cpus > 0 && o->boot_ms > 0 && o->room >= 0 &&
           o->names >= 0 && (!o->ahead || o->from);
}

bool tc_vm_begin(struct tc_vm_options *o)
{
    struct tc_task_message task = {0};
    bool fine = fcntl(TC_TASK_SOCKET, F_SETFD, FD_CLOEXEC) == 0 &&
                tc_task_take(&task, &tc_vm_option_fields, o, TC_VM_OF_CALL) && task.program;
    o->ahead = !task.call;
    o->driver = find_driver(o->monitor);
    o->keep = task.file; /* none if the file could not be created */
    o->port = task.port;
    o->console = task.console;
    tc_fields_done(&tc_task_fields, &task);
    return fine && is_whole(o);
}

/* Stops waiting if the VM ends; toolcage-vm then exits, too. */
static bool wait_for_call(const struct tc_vm *vm)
{
    struct pollfd p[] = {{.fd = TC_TASK_SOCKET, .events = POLLIN}, {.fd = vm->console}};
    while (poll(p, TC_COUNT(p), -1) < 0)
        if (errno != EINTR)
            return false;
    return p[0].revents & POLLIN;
}

/* The call's root is not a mount namespace of this process, but relative paths can begin at it. */
static bool stand_in(int root)
{
    return fchdir(root) == 0 && close(root) == 0;
}

static bool begin_paths_here(struct tc_vm_options *o)
{
    for (size_t i = 0; i < o->grant_count; i++) {
        _autofree_ char *path = o->grants[i].path;
        if (!(o->grants[i].path = tc_format(".%s", path)))
            return false;
    }
    return true;
}

/* As in every cage, /proc stays readable: CPU wait times are not counted against the guest. */
static bool confine(int wall)
{
    return wall < 0 ||
           (tc_landlock_allow_path(wall, tc_landlock_abi(), "/proc", TC_LANDLOCK_READ_TREE) == 0 &&
            tc_landlock_restrict(wall) == 0 && close(wall) == 0);
}

/* Starts another VM if this one ended at this moment, so that the call does not fail. */
static bool still_stands(const struct tc_vm_options *o, struct tc_vm *vm)
{
    return !tc_vm_has_ended(vm, 0) || tc_vm_start(o, vm) == 0;
}

bool tc_vm_await(struct tc_vm_options *o, struct tc_vm *vm)
{
    struct tc_task_message task = {0};
    bool fine = wait_for_call(vm) && tc_task_take(&task, &tc_vm_option_fields, o, TC_VM_OF_CALL) &&
                !task.program && task.call && task.root >= 0 && tc_task_place_streams(&task) &&
                stand_in(task.root) && o->plan && is_whole(o) && begin_paths_here(o) &&
                still_stands(o, vm) && confine(task.wall);
    tc_fields_done(&tc_task_fields, &task);
    return fine;
}
