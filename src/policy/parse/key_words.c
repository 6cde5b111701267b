/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed lists of words that values of keys are taken from. */
#include <stddef.h>

#include "policy/parse/keys.h"

const char *const tc_words_denials[] = {"calls", "paths", "accesses", "off", NULL};
const char *const tc_words_mode[] = {"bind", "copy", "overlay", NULL};
const char *const tc_words_commit[] = {"on_success", "always", "ask", "never", NULL};
const char *const tc_words_over[] = {"truncate", "kill", NULL};
const char *const tc_words_by[] = {"group", "any", NULL};
/* The clauses of tc_clauses_yielding(). */
const char *const tc_words_without[] = {"proc.own",  "proc.survivors", "tmp.private", "fs.stat",
                                        "fs.denied", "fs.steering",    "limit.pids",  NULL};
const char *const tc_words_runtime[] = {"crun", "runc", NULL};
/* Runtimes that put a kernel of its own around each container, by the names under which engines
 * know them; nothing else may get what the guest's engine needs. */
const char *const tc_words_kata[] = {"kata",     "kata-qemu",       "kata-fc",
                                     "kata-clh", "kata-dragonball", NULL};
const char *const tc_words_kata_engine[] = {"docker", "containerd", NULL};
const char *const tc_words_names[] = {"here", "upstream", NULL};
const char *const tc_words_platform[] = {"ptrace", "systrap", "kvm", NULL};
const char *const tc_words_verdict[] = {"allowed", "denied", NULL};
const char *const tc_words_profile[] = {"default", NULL};
const char *const tc_words_type[] = {"string", "integer", "number", "boolean",
                                     "array",  "object",  "null",   NULL};
