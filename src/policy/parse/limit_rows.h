/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of limits: a limit's member in the struct, its key, its default, and whether a
 * call may lower it. LIMIT(F, key, member, word, unit, flags, unsaid, call): `word` is the key's
 * name in a policy, `unsaid` the default, `call` what a call may change. PART(F, type, member, key,
 * word, unit, unsaid): a further member of the limit `key`; `word` is its name if `policy diff`
 * compares it separately, else NULL. `F` is passed on. */
#ifndef TC_POLICY_PARSE_LIMIT_ROWS_H
#define TC_POLICY_PARSE_LIMIT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define TC_LIMITS_MAP(LIMIT, PART, F)                                                        \
    LIMIT(F, TIMEOUT, timeout_ms, "timeout", DURATION, TC_FIELD_UNSET, 30000, LOWERS)        \
    LIMIT(F, GRACE, grace_ms, "grace", DURATION, 0, 2000, STAYS)                             \
    LIMIT(F, MEMORY, memory, "memory", SIZE, 0, (int64_t)512 << 20, LOWERS)                  \
    /* With any mechanism: RLIMIT_DATA for each process where there is no cgroup. */         \
    PART(F, bool, memory_any, MEMORY, NULL, COUNT, true)                                     \
    LIMIT(F, CPU_TIME, cpu_time_ms, "cpu_time", DURATION, TC_FIELD_UNSET, 0, LOWERS)         \
    /* Thousandths of a CPU. */                                                              \
    LIMIT(F, CPUS, cpus_milli, "cpus", CPUS, TC_FIELD_UNSET, 0, LOWERS)                      \
    LIMIT(F, PIDS, pids, "pids", COUNT, 0, 128, LOWERS)                                      \
    /* Private storage; disk_set: the operator set it, it is not the default. */             \
    LIMIT(F, DISK, disk, "disk", SIZE, 0, 64 << 20, LOWERS)                                  \
    PART(F, int64_t, inodes, DISK, "inodes", COUNT, 16384)                                   \
    PART(F, bool, disk_set, DISK, NULL, COUNT, false)                                        \
    LIMIT(F, OPEN_FILES, open_files, "open_files", COUNT, 0, 1024, LOWERS)                   \
    /* Network: simultaneous connections; bytes in both directions; bytes per second. */     \
    LIMIT(F, CONNECTIONS, connections, "connections", COUNT, 0, 1024, LOWERS)                \
    LIMIT(F, TRANSFER, transfer, "transfer", SIZE, TC_FIELD_UNSET, 0, LOWERS)                \
    LIMIT(F, BANDWIDTH, bandwidth, "bandwidth", SIZE, TC_FIELD_UNSET, 0, LOWERS)             \
    /* Of a live session; 0: the policy grants none. */                                        \
    LIMIT(F, SESSION_LIFETIME, session_lifetime_ms, "session_lifetime", DURATION, 0, 0, STAYS) \
    /* Captured bytes of each stream. */                                                     \
    LIMIT(F, OUTPUT, output, "output", SIZE, 0, 1 << 20, LOWERS)                             \
    PART(F, bool, output_kill, OUTPUT, NULL, COUNT, false)
/* clang-format on */

#define TC_LIMIT_MEMBER_(F, key, member, ...) int64_t member;
#define TC_PART_MEMBER_(F, type, member, ...) type member;
struct tc_limits {
    TC_LIMITS_MAP(TC_LIMIT_MEMBER_, TC_PART_MEMBER_, )
};
#undef TC_LIMIT_MEMBER_
#undef TC_PART_MEMBER_

#endif
