/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What toolcage-vm is told on its command line, or by who hands it a call later. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cage/handed.h"
#include "vm/vm.h"

static bool take_number(const char *text, long *ret)
{
    char *end;
    errno = 0;
    *ret = strtol(text, &end, 10);
    return !errno && end != text && !*end && *ret > 0;
}

/* The file to keep the machine in comes by the socket on which we tell the end. */
static int take_descriptor(void)
{
    char byte;
    int fd = -1;
    size_t count = 0;
    ssize_t n = tc_recv(TC_VM_TALK, &byte, sizeof(byte), &fd, 1, &count, NULL, NULL, true);
    return n == 1 && count ? fd : -1;
}

static bool take_limit(struct tc_vm_options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        long *into;
    } numbers[] = {{"--memory", &o->memory_mib},
                   {"--cpus", &o->cpus},
                   {"--boot", &o->boot_ms},
                   {"--room", &o->room},
                   {"--names", &o->names}};
    for (size_t i = 0; i < TC_COUNT(numbers); i++)
        if (strcmp(name, numbers[i].name) == 0)
            return take_number(value, numbers[i].into);
    o->beside = strcmp(name, "--counts") == 0 && strcmp(value, "changes") == 0;
    return o->beside;
}

/* The lines of a machine of others come the same way. */
static bool take_lines(struct tc_vm_options *o)
{
    char byte;
    size_t count = 0;
    ssize_t n = tc_recv(TC_VM_TALK, &byte, sizeof(byte), o->given, TC_COUNT(o->given), &count, NULL,
                        NULL, true);
    return n == 1 && count == TC_COUNT(o->given);
}

static bool take_driver(struct tc_vm_options *o, const char *name)
{
    static const struct tc_vm_driver *const drivers[] = {&tc_vm_qemu, &tc_vm_firecracker,
                                                         &tc_vm_kata};
    for (size_t i = 0; i < TC_COUNT(drivers); i++)
        if (strcmp(name, drivers[i]->name) == 0)
            o->driver = drivers[i];
    return o->driver && (!o->driver->given || take_lines(o));
}

static bool take_option(struct tc_vm_options *o, const char *name, const char *value)
{
    const struct {
        const char *name, **into;
    } paths[] = {
        {"--vmm", &o->vmm},   {"--kernel", &o->kernel},       {"--initrd", &o->initrd},
        {"--disk", &o->disk}, {"--plan", &o->plan},           {"--warm", &o->warm},
        {"--from", &o->from}, {"--authority", &o->authority}, {"--rehearsal", &o->rehearsal}};
    for (size_t i = 0; i < TC_COUNT(paths); i++)
        if (strcmp(name, paths[i].name) == 0) {
            *paths[i].into = value;
            return true;
        }
    if (strcmp(name, "--keep") == 0) {
        o->keep = take_descriptor(); /* there is none where none can be made */
        o->fixed = true;
        return true;
    }
    if (strcmp(name, "--driver") == 0)
        return take_driver(o, value);
    if (strcmp(name, "--net") == 0) {
        o->net = strcmp(value, "proxy") == 0;
        return o->net;
    }
    if (strcmp(name, "--accel") == 0) {
        o->kvm = strcmp(value, "kvm") == 0;
        return o->kvm || strcmp(value, "tcg") == 0;
    }
    bool writable = strcmp(name, "--writable") == 0;
    if (!writable && strcmp(name, "--readable") != 0)
        return take_limit(o, name, value);
    if (o->grant_count == TC_COUNT(o->grants))
        return false;
    o->grants[o->grant_count++] = (struct tc_vm_grant){value, writable};
    return true;
}

bool tc_vm_take_words(struct tc_vm_options *o, char *const *words, size_t count)
{
    if (count % 2 && strcmp(words[count - 1], TC_WORD_AHEAD) == 0) {
        o->ahead = true;
        count--;
    }
    for (size_t i = 0; i < count; i += 2)
        if (i + 1 == count || !take_option(o, words[i], words[i + 1]))
            return false;
    return true;
}

/* Of a machine that waits for its call the plan is still to come. */
bool tc_vm_is_whole(const struct tc_vm_options *o)
{
    bool called = o->plan || o->ahead;
    bool whole =
        o->driver && (o->driver->given ? called && !o->disk
                                       : o->vmm && o->kernel && o->initrd && (called || !o->disk));
    return whole && o->memory_mib && o->cpus && o->boot_ms && (!o->ahead || (o->from && !o->plan));
}
