/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The plain keys of a tool: what one says is one value, and a grant has it as it was said. A row is
 * all that there is of such a key, but for who uses it: the members of tc_spec and tc_grant, what
 * is parsed, digested, explained, compared and documented are read from here.
 * PLAIN(F, key, kind, type, member, scopes, setter, change, …): `kind` is that of a field
 * (base/field.h), the member is named like the key, 0 stands where nobody says it; `change` is what
 * `policy diff` makes of another value (policy/plain.h); the rest is of its row among the keys. `F`
 * is passed on. */
#ifndef TC_POLICY_PLAIN_ROWS_H
#define TC_POLICY_PLAIN_ROWS_H

#include <stdbool.h>

#include "base/strv.h"

/* clang-format off */
#define TC_PLAIN_MAP(PLAIN, F)                                                                     \
    PLAIN(F, PROGRAMS, LIST, struct tc_strv, programs, EACH_AND_SETUP, tc_set_programs,            \
          TC_MORE("reads the program", "no longer reads the program"),                             \
          .type = "array of strings",                                                              \
          .text = "Programs found on the operator's PATH whose install prefix becomes readable.",  \
          .example = "programs = [\"python3\"]")                                                   \
    PLAIN(F, IMAGE, ONE, char *, image, EACH_AND_SETUP, tc_set_image,                              \
          TC_OTHER("the image"),                                                                   \
          .type = "name or path",                                                                  \
          .fallback = "the image default for backends oci, podman, docker and containerd, "        \
                      "otherwise the host's system directories",                                   \
          .text = "The root file system, for the backends oci, podman, docker, containerd and "    \
                  "gvisor: the tool sees it read-only, in place of the host's system "             \
                  "directories. It selects backend oci. A name from the image store (toolcage "    \
                  "image list); with @sha256:… after it, exactly that content. Or a directory, "   \
                  "written as a path (\"/\", \"./\", \"../\" or \"~/\" first). \"system\" stands " \
                  "for the host's system directories.",                                            \
          .example = "image = \"python:3.14\"")                                                    \
    PLAIN(F, WARM, LIST, struct tc_strv, warm, EACH, tc_set_command,                               \
          TC_OTHER("the command that warms a machine"),                                            \
          .type = "array of strings", .fallback = "nothing",                                       \
          .text = "A command that runs once in a virtual machine before it is kept "               \
                  "([backend.qemu] snapshot), so that later calls find in its memory what that "   \
                  "has read of the image. It has no files, no network, no input and no variables " \
                  "of the policy's; what it prints is dropped, and where it fails so does the "    \
                  "call. Elsewhere it does nothing.",                                              \
          .example = "warm = [\"python3\", \"-c\", \"import json\"]")                              \
    PLAIN(F, DETERMINISTIC, ONE, bool, deterministic, EACH, tc_set_bool,                           \
          TC_LESS("it is deterministic", "what it comes to may be another each time"),             \
          .type = "boolean", .fallback = "false",                                                  \
          .text = "The same module with the same words, input and files writes the same bytes "    \
                  "each time: clock, randomness, inode numbers, times and the order of names in "  \
                  "directories are made up, and cpu_time bounds fuel, a million units each "       \
                  "millisecond. The backend wasm has it.",                                         \
          .example = "module = \"./tool.wasm\"\ncommand = [\"tool\"]\ndeterministic = true\n"      \
                     "cpu_time = \"2s\"")                                                          \
    PLAIN(F, DENIALS, ONE, enum tc_denials, denials, EACH_AND_SETUP, tc_set_index,                 \
          TC_BY_HAND,                                                                              \
          .choices = tc_values_denials, .type = "word", .fallback = "calls",                        \
          .text = "What is watched and listed: refused calls, connections and programs (calls), "  \
                  "refused paths as well (paths), also those that were allowed (accesses), or "    \
                  "nothing (off).",                                                                \
          .example = "denials = \"paths\"")                                                        \
    PLAIN(F, COLLECT, LIST, struct tc_strv, collect, EACH, tc_set_strings,                         \
          TC_MORE("collects files named", "no longer collects files named"),                       \
          .type = "array of patterns",                                                             \
          .text = "Names of changed files that the result holds: hash, and content up to 256 KiB " \
                  "each and 1 MiB for all files of a call; what is larger is left out as a whole.",\
          .example = "collect = [\"*.csv\"]")                                                      \
    PLAIN(F, CWD, ONE, char *, cwd, EACH_AND_SETUP, tc_set_cwd,                                    \
          TC_OTHER("the starting directory"),                                                      \
          .type = "path",                                                                          \
          .fallback = "/workspace if granted, else the caller's directory if granted, else /",     \
          .text = "Where the tool starts, as it sees it.", .example = "cwd = \"/workspace\"")
/* clang-format on */

#define TC_PLAIN_MEMBER_(F, key, kind, type, member, ...) type member;

#endif
