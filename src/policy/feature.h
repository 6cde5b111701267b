/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of features: functions that a call may need from a backend, besides the clauses
 * that it must enforce. A test compares docs/backends.md with it. X(enumerator, key, stage,
 * subject, text, hint): key is the policy key that requests the feature, or NULL; text completes a
 * sentence about a backend that lacks it. */
#ifndef TC_POLICY_FEATURE_H
#define TC_POLICY_FEATURE_H

#include "policy/grant.h"

#define TC_FEATURE_MAP(X)                                                                      \
    X(IMAGE, "image", "route", "image", "shows the host's system directories, not an image",   \
      "use backend = \"oci\" or \"gvisor\", or remove `image`")                                \
    X(SOCKETS, "unix_sockets", "route", "unix_sockets", "has no unix sockets",                 \
      "unix_sockets = \"none\", or backend = \"process\"")                                     \
    X(PATHS, "denials", "route", "denials", "does not observe the paths that a tool accesses", \
      "denials = \"calls\", or backend = \"process\"")                                         \
    X(SYSCALLS, "syscalls", "route", "syscalls",                                               \
      "cannot allow system calls that the profile refuses",                                    \
      "remove syscalls.allow, or use backend = \"process\"")                                   \
    X(COPY, "workspace", "route", "workspace", "does not support copied workspaces",           \
      "workspace = { mode = \"bind\" }, or backend = \"process\"")                             \
    X(OVERLAY, "workspace", "route", "workspace", "does not support overlaid workspaces",      \
      "workspace = { mode = \"bind\" }, or backend = \"process\"")                             \
    X(DETERMINISTIC, "deterministic", "route", "deterministic", "is not deterministic",        \
      "use backend = \"wasm\" with a module, or remove `deterministic`")                       \
    X(BYTES, NULL, "route", "command", "accepts only UTF-8, no other bytes",                   \
      "use backend = \"process\"")                                                             \
    X(BIND, "workspace", "route", "workspace", "cannot write directly to host paths",          \
      "leave mode = \"bind\" (--in-place) out: changes are written back after the call")       \
    X(MODULE_SYSTEM, "image", "route", "image",                                                \
      "supports no image and no warm for a WebAssembly module",                                \
      "remove image and warm: a module sees no system files, in a VM or elsewhere")            \
    X(INNER_NET, "network", "route", "network", "has no network inside these layers",          \
      "layers = [\"qemu\", \"process\"]")                                                      \
    X(PORTS, "network", "route", "network", "cannot grant every port of a host",               \
      "name the ports: \"HOST:443\"")                                                          \
    X(HOST, "image", "route", "image",                                                         \
      "cannot show the host's system directories instead of an image",                         \
      "image = \"NAME\"; toolcage image list prints the names")                                \
    X(TERMINAL, NULL, "route", "tty.none", "has no terminals (tty.none)",                      \
      "toolcage exec runs commands in this cage; terminals are for tools of backend = "        \
      "\"process\"")                                                                           \
    X(SESSION, NULL, "session", "session", "has no sessions",                                  \
      "name another backend, or no session")                                                   \
    X(LIVE, NULL, "session", "session", "has no live sessions", "use backend = \"process\"")   \
    X(INSTALL, NULL, "setup", "setup", "has no install phases",                                \
      "name another backend in the install phase")

#define TC_FEATURE_ENUM_(id, ...) TC_FEATURE_##id,
enum tc_feature { TC_FEATURE_MAP(TC_FEATURE_ENUM_) TC_FEATURE_COUNT };
#undef TC_FEATURE_ENUM_

/* A set of features, one bit each. */
typedef uint32_t tc_features;
#define TC_FEATURE_BIT(id) ((tc_features)1 << TC_FEATURE_##id)

struct tc_feature_row {
    const char *key, *stage, *subject, *text, *hint;
};
extern const struct tc_feature_row tc_feature_rows[TC_FEATURE_COUNT];

/* The features that the grant needs. The caller adds those that the call needs. */
tc_features tc_grant_features(const struct tc_grant *grant);

#endif
