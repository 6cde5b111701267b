/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The task of toolcage-vm: describes the VM, and its call. Paths are those in the cage around the
 * VMM. */
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
    char *disk;           /* NULL: none */
    char *from;           /* snapshot to restore; NULL: boot */
    char *rehearsal;      /* plan that a prestarted VM runs before its call arrives; NULL: none */
    size_t rehearsal_len; /* the guest decodes the plan (tc_plan_visit), toolcage-vm does not */
    bool kvm;             /* use KVM, else emulation */
    bool fixed;           /* memory_mib has room for any files, so it is the same for all calls */
    int64_t memory_mib,
        cpus;        /* unless `fixed`, the size of the call's files is added to the memory */
    int64_t boot_ms; /* time limit for the guest's HELLO */
    /* Per call: */
    char *plan; /* for the guest's engine; NULL: no call, only a test boot */
    size_t plan_len;
    char *warm; /* plan that runs before the snapshot; NULL: none */
    size_t warm_len;
    struct tc_vm_grant *grants; /* granted paths, in the order of the guest's numbers */
    size_t grant_count;
    int64_t room, names; /* maximum of bytes and files in each grant */
    bool beside;         /* the maximum is for new files only (overlay), not for all */
    bool net;            /* the tool has a network; the proxy can be reached from the VMM's cage */
    char *authority;     /* bundle that ends with the proxy's CA; NULL: none */
    /* Set by toolcage-vm itself: */
    const struct tc_vm_driver *driver;
    bool ahead;         /* the call arrives after the VM was restored */
    bool unfiltered;    /* the VMM installs no seccomp filter itself */
    const char *socket; /* socket for the guest's connections (vsock) */
    const char *api;    /* the VMM's API socket */
    int keep;           /* fd to write a snapshot to; 0 or -1: none */
    int64_t stall_ms;   /* time limit for the rest of a frame */
    int in, out, err;   /* the call's streams */
    int port, console;  /* streams of a VM started by another program */
};

/* Fields with this flag belong to the call. A prestarted VM gets the other fields at its start. */
enum { TC_VM_OF_CALL = 1 };
extern const struct tc_fields tc_vm_option_fields;

#endif
