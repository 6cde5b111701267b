/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What toolcage-vm is told: the machine, and the call that goes into it. Paths are those in the
 * cage around the monitor. */
#ifndef TC_VM_OPTIONS_H
#define TC_VM_OPTIONS_H

#include "base/field.h"

struct tc_vm_driver;

struct tc_vm_grant {
    char *path;
    bool writable;
};

struct tc_vm_options {
    char *monitor; /* "qemu", "firecracker" or "kata" */
    char *vmm, *kernel, *initrd;
    char *disk;               /* NULL: it has none */
    char *from;               /* a machine that stands ready, in a file; NULL: it boots */
    char *rehearsal;          /* a plan of what runs in one that waits for its call, for the */
    size_t rehearsal_len;     /* guest alone to read (tc_plan_visit); NULL: nothing */
    bool kvm;                 /* by the processor; else by emulation */
    bool fixed;               /* its memory has room for any files, so that it is the same for */
    int64_t memory_mib, cpus; /* all calls; else what they take is added */
    int64_t boot_ms;          /* for the first word */
    /* Of the call: */
    char *plan; /* the guest's own; NULL: no call, only a look whether it boots */
    size_t plan_len;
    char *warm; /* a plan of what runs before the machine is kept; NULL: nothing */
    size_t warm_len;
    struct tc_vm_grant *grants; /* what the call is granted, in the order of the guest's numbers */
    size_t grant_count;
    int64_t room, names; /* what its tool may write in each of them, bytes and files */
    bool beside;         /* that is beside what is there, and not all that may be */
    bool net;            /* its tool has a network: the cage around us leads to the proxy */
    char *authority;     /* a bundle that ends with the proxy's own; NULL: there is none */
    /* toolcage-vm's own: */
    const struct tc_vm_driver *driver;
    bool ahead;         /* its call comes when the machine stands ready */
    bool unfiltered;    /* the monitor has no filter of system calls of its own to raise */
    const char *socket; /* where the guest's calls come in, for monitors that connect them */
    const char *api;    /* where a monitor is asked that is asked by a socket */
    int keep;           /* where to write one once it does; 0 or -1: nowhere */
    int64_t stall_ms;   /* from half a frame to the other half */
    int in, out, err;   /* the call's streams */
    int port, console;  /* of a machine that others start */
};

/* Rows with the flag belong to the call; the others are the same for all calls of a machine that
 * waits. */
enum { TC_VM_OF_CALL = 1 };
extern const struct tc_fields tc_vm_option_fields;

#endif
