/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of what a tool can be refused, or seen doing. X(enumerator, word, key, verb,
 * hint): what a result calls it; the key of the policy that it is about, where that is always the
 * same; the verb of the policy that its target is asked for by; what to tell where nobody knows
 * better. */
#ifndef TC_PLAN_DENIAL_H
#define TC_PLAN_DENIAL_H

#include <stddef.h>
#include <stdint.h>

#define TC_DENIAL_MAP(X)                                                                     \
    X(READ, "read", NULL, "read", NULL)                                                      \
    X(LOOK, "look", NULL, "read", NULL)                                                      \
    X(WRITE, "write", NULL, "write", NULL)                                                   \
    X(EXEC, "exec", NULL, "exec", NULL)                                                      \
    X(UNSHOWN, "exec", NULL, "exec", "the cage does not show this path")                     \
    X(CONNECT, "connect", "network", NULL, NULL)                                             \
    X(NOWHERE, "connect", "network", NULL, "the tool has no network")                        \
    X(UNRESOLVED, "connect", "network", NULL,                                                \
      "the tool has no network, so no host name can be resolved")                            \
    X(LOOPBACK, "connect", "network", NULL,                                                  \
      "this is the cage's own loopback; the host's is not reachable")                        \
    X(SOCKET, "connect", "unix_sockets", NULL, NULL)                                         \
    X(SYSCALL, "syscall", NULL, NULL, NULL)                                                  \
    X(TAKEN, "syscall", NULL, NULL, "syscalls.deny of the policy takes it away")             \
    X(LACKED, "syscall", NULL, NULL,                                                         \
      "gVisor does not have this call, or not with these arguments; backend \"oci\" has it") \
    X(UNIX, "syscall", NULL, NULL,                                                           \
      "unix sockets are not granted; unix_sockets = \"own\" grants the tool's own")

#define TC_DENIAL_ENUM_(id, ...) TC_DENIAL_##id,
enum tc_denial_kind { TC_DENIAL_MAP(TC_DENIAL_ENUM_) TC_DENIAL_COUNT };
#undef TC_DENIAL_ENUM_

struct tc_denial_row {
    const char *word, *key, *verb, *hint;
};
/* Of any number: one that is no kind has a row of its own, which says nothing. */
const struct tc_denial_row *tc_denial_row(int64_t kind);

#endif
