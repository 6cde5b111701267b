/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The plain keys of a tool: keys with one value, which the grant takes over unchanged. A row
 * defines everything about a key except its use: the members of tc_spec and tc_grant, parsing,
 * digest, explain, comparison and documentation.
 * PLAIN(F, key, kind, type, member, scopes, setter, change, …): `kind` is that of a field
 * (base/field.h); the member is named like the key and is 0 if the key is not set; `change` is how
 * `policy diff` judges another value (policy/plain.h); the rest initialises its row in tc_keys. `F`
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
          .text = "Programs found on the operator's PATH whose install prefix becomes readable, "    \
                  "with the directory of their version manager.",                                  \
          .example = "programs = [\"python3\"]")                                                   \
    PLAIN(F, IMAGE, ONE, char *, image, EACH_AND_SETUP, tc_set_image,                              \
          TC_OTHER("the image"),                                                                   \
          .type = "name or path",                                                                  \
          .fallback = "the image default for backends oci, podman, docker and containerd, "        \
                      "otherwise the host's system directories",                                   \
          .text = "The root file system, for the backends oci, podman, docker, containerd and "    \
                  "gvisor: the tool sees it read-only, instead of the host's system "              \
                  "directories. It selects backend oci. A name from the image store (toolcage "    \
                  "image list); with @sha256:… after it, exactly that content. Or a directory, "   \
                  "written as a path (\"/\", \"./\", \"../\" or \"~/\" first). \"system\" stands " \
                  "for the host's system directories.",                                            \
          .example = "image = \"python:3.14\"")                                                    \
    PLAIN(F, WARM, LIST, struct tc_strv, warm, EACH, tc_set_command,                               \
          TC_OTHER("the warm-up command of a VM"),                                                 \
          .type = "array of strings", .fallback = "nothing",                                       \
          .text = "A command that runs once in the VM before its snapshot is taken "               \
                  "([backend.qemu] or [backend.firecracker] snapshot), so that later calls find "  \
                  "the files it read in the guest's page cache. It runs without granted files, "   \
                  "network, input and policy variables; its output is discarded. If it fails, the " \
                  "call fails. Without a snapshot it is ignored.",                                 \
          .example = "warm = [\"python3\", \"-c\", \"import json\"]")                              \
    PLAIN(F, DETERMINISTIC, ONE, bool, deterministic, EACH, tc_set_bool,                           \
          TC_LESS("it is deterministic", "results may differ between calls"),                      \
          .type = "boolean", .fallback = "false",                                                  \
          .text = "The same module with the same arguments, input and files writes the same "      \
                  "bytes each time: clock, random numbers, inode numbers, timestamps and the "     \
                  "order of directory entries are fixed, and cpu_time limits fuel, a million "     \
                  "units per millisecond. Only the backend wasm supports it.",                     \
          .example = "module = \"./tool.wasm\"\ncommand = [\"tool\"]\ndeterministic = true\n"      \
                     "cpu_time = \"2s\"")                                                          \
    PLAIN(F, PROVED, ONE, bool, proved, EACH_AND_SETUP, tc_set_bool,                               \
          TC_LESS("its isolation must have been tried", "its isolation need not be tried"),        \
          .type = "boolean", .fallback = "false",                                                  \
          .text = "It runs only if this user has tried the isolation of its backend on this host, with " \
                  "toolcage doctor --prove, since the host booted and since the kernel, its "      \
                  "security modules or the settings that cages depend on changed. The result says " \
                  "when.",                                                                         \
          .example = "proved = true")                                                              \
    PLAIN(F, DENIALS, ONE, enum tc_denials, denials, EACH_AND_SETUP, tc_set_index,                 \
          TC_BY_HAND,                                                                              \
          .choices = tc_values_denials, .type = "word", .fallback = "calls",                        \
          .text = "What is recorded: refused system calls, connections and programs (calls), "     \
                  "refused paths as well (paths), also allowed paths (accesses), or nothing "      \
                  "(off).",                                                                        \
          .example = "denials = \"paths\"")                                                        \
    PLAIN(F, COLLECT, LIST, struct tc_strv, collect, EACH, tc_set_strings,                         \
          TC_MORE("collects files named", "no longer collects files named"),                       \
          .type = "array of patterns",                                                             \
          .text = "Names of changed files that the result holds: hash, and content up to 256 KiB " \
                  "each and 1 MiB for all files of a call; larger files are left out completely.", \
          .example = "collect = [\"*.csv\"]")                                                      \
    PLAIN(F, PUBLISH, LIST, struct tc_strv, publish, EACH, tc_set_publish,                         \
          TC_MORE("publishes the port", "no longer publishes the port"),                           \
          .type = "array of tables", READS(LIST, PUBLISH),                                         \
          .text = "Ports of a live session (toolcage session start) that programs on the host can " \
                  "connect to, at most 16, while the session lives. Nothing else in the session "  \
                  "becomes reachable, and the session reaches nothing more. Single calls publish " \
                  "nothing. Needs session_lifetime and backend process. A model cannot publish a " \
                  "port.",                                                                         \
          .example = "session_lifetime = \"8h\"\npublish = [{ port = 3000, to = \"127.0.0.1:0\" }]") \
    PLAIN(F, CWD, ONE, char *, cwd, EACH_AND_SETUP, tc_set_cwd,                                    \
          TC_OTHER("the starting directory"),                                                      \
          .type = "path",                                                                          \
          .fallback = "/workspace if granted, else the caller's directory if granted or /tmp, else /", \
          .text = "The starting directory, as the tool sees it.", .example = "cwd = \"/workspace\"")
/* clang-format on */

#define TC_PLAIN_MEMBER_(F, key, kind, type, member, ...) type member;

#endif
