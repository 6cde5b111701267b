/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of what a call may want of a backend beside walls. Clauses say what has to hold;
 * these say what has to be there. docs/backends.md says the same of each backend, and a test
 * compares the two. X(enumerator, key, stage, subject, text, hint): the key of the policy that asks
 * for it, NULL where none does; what a backend that lacks it cannot do, said of the backend. */
#ifndef TC_POLICY_FEATURE_H
#define TC_POLICY_FEATURE_H

#include "policy/grant.h"

#define TC_FEATURE_MAP(X)                                                                          \
    X(IMAGE, "image", "route", "image", "shows the host's system directories, not an image",       \
      "use backend = \"oci\" or \"gvisor\", or remove `image`")                                    \
    X(SOCKETS, "unix_sockets", "route", "unix_sockets", "has no unix sockets",                     \
      "unix_sockets = \"none\", or backend = \"process\"")                                         \
    X(PATHS, "denials", "route", "denials", "does not observe the paths that a tool names",        \
      "denials = \"calls\", or backend = \"process\"")                                             \
    X(SYSCALLS, "syscalls", "route", "syscalls", "allows no system call that the profile refuses", \
      "remove syscalls.allow, or use backend = \"process\"")                                       \
    X(COPY, "workspace", "route", "workspace", "has no copied workspaces",                         \
      "workspace = { mode = \"bind\" }, or backend = \"process\"")                                 \
    X(OVERLAY, "workspace", "route", "workspace", "has no overlaid workspaces",                    \
      "workspace = { mode = \"bind\" }, or backend = \"process\"")                                 \
    X(DETERMINISTIC, "deterministic", "route", "deterministic", "is not deterministic",            \
      "use backend = \"wasm\" with a module, or remove `deterministic`")                           \
    X(BYTES, NULL, "route", "command", "takes only UTF-8, no other bytes",                         \
      "use backend = \"process\" for it")                                                          \
    X(BIND, "workspace", "route", "workspace", "writes to no path of the host in place",           \
      "workspace = { mode = \"copy\" }, or \"overlay\": then what the tool changes comes back "    \
      "when it has ended")                                                                         \
    X(MODULE_SYSTEM, "image", "route", "image",                                                    \
      "has no image and no warming for a WebAssembly module",                                      \
      "remove image and warm: a module has nothing of a system, in a virtual machine or "          \
      "elsewhere")                                                                                 \
    X(INNER_NET, "network", "route", "network", "has no network within these layers",              \
      "layers = [\"qemu\", \"process\"]")                                                          \
    X(PORTS, "network", "route", "network", "cannot grant each port of a host",                    \
      "name the ports: \"HOST:443\"")                                                              \
    X(HOST, "image", "route", "image",                                                             \
      "has nothing of the host's system to show in the place of an image",                         \
      "image = \"NAME\"; toolcage image list shows which there are")                               \
    X(TERMINAL, NULL, "route", "tty.none", "has no terminals (tty.none)",                          \
      "toolcage exec runs commands in this cage; terminals are for tools of backend = "            \
      "\"process\"")                                                                               \
    X(SESSION, NULL, "session", "session", "has no sessions",                                      \
      "name another backend, or no session")                                                       \
    X(INSTALL, NULL, "setup", "setup", "has no install phases",                                    \
      "name another backend in the install phase")

#define TC_FEATURE_ENUM_(id, ...) TC_FEATURE_##id,
enum tc_feature { TC_FEATURE_MAP(TC_FEATURE_ENUM_) TC_FEATURE_COUNT };
#undef TC_FEATURE_ENUM_

/* Sets of them are bits. */
typedef uint32_t tc_features;
#define TC_FEATURE_BIT(id) ((tc_features)1 << TC_FEATURE_##id)

struct tc_feature_row {
    const char *key, *stage, *subject, *text, *hint;
};
extern const struct tc_feature_row tc_feature_rows[TC_FEATURE_COUNT];

/* Those that a grant wants by itself; what the call wants beside comes from the caller. */
tc_features tc_grant_features(const struct tc_grant *grant);

#endif
