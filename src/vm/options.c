/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "vm/options.h"

#include "carry/carry.h"

#define OF_CALL .flags = TC_VM_OF_CALL

#define TC_STRUCT struct tc_vm_grant
#define GRANT(F)          \
    F(ONE, path, OF_CALL) \
    F(ONE, writable, OF_CALL)
static TC_FIELDS(grant_fields, GRANT);
#undef TC_STRUCT

#define TC_STRUCT struct tc_vm_options
#define OPTIONS(F)                                                          \
    F(ONE, monitor)                                                         \
    F(ONE, vmm)                                                             \
    F(ONE, kernel)                                                          \
    F(ONE, initrd)                                                          \
    F(ONE, disk)                                                            \
    F(ONE, from)                                                            \
    F(BYTES, rehearsal, TC_COUNTED(rehearsal_len))                          \
    F(ONE, kvm)                                                             \
    F(ONE, fixed)                                                           \
    F(ONE, memory_mib)                                                      \
    F(ONE, cpus)                                                            \
    F(ONE, boot_ms)                                                         \
    F(BYTES, plan, TC_COUNTED(plan_len), OF_CALL)                           \
    F(BYTES, warm, TC_COUNTED(warm_len), OF_CALL)                           \
    F(ARRAY, grants, TC_COUNTED(grant_count), TC_OF(grant_fields), OF_CALL, \
      .most = TC_CARRY_GRANTS_MAX)                                          \
    F(ONE, room, OF_CALL)                                                   \
    F(ONE, names, OF_CALL)                                                  \
    F(ONE, beside, OF_CALL)                                                 \
    F(ONE, net, OF_CALL)                                                    \
    F(ONE, authority, OF_CALL)                                              \
    F(POINTER, driver)                                                      \
    F(POINTER, ahead)                                                       \
    F(POINTER, unfiltered)                                                  \
    F(POINTER, socket)                                                      \
    F(POINTER, api)                                                         \
    F(POINTER, keep)                                                        \
    F(POINTER, stall_ms)                                                    \
    F(POINTER, in)                                                          \
    F(POINTER, out)                                                         \
    F(POINTER, err)                                                         \
    F(POINTER, port)                                                        \
    F(POINTER, console)
TC_FIELDS(tc_vm_option_fields, OPTIONS);
