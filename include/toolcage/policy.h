/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The policy: compiled once, immutable, shared by any number of threads and calls.
 */
#ifndef TOOLCAGE_POLICY_H
#define TOOLCAGE_POLICY_H

#include <stddef.h>
#include <stdint.h>
#include <toolcage/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toolcage_policy;

/* Reads and compiles a policy file (4 MiB at most): YAML where its name ends with .yaml or .yml,
 * else TOML. Its relative paths start at its directory. Errors: TOOLCAGE_EPOLICY
 * (toolcage_error_report() lists every finding), TOOLCAGE_ENOT_FOUND, TOOLCAGE_ESYSTEM,
 * TOOLCAGE_EMEMORY. */
int toolcage_policy_load_file(const char *path, struct toolcage_policy **ret,
                              struct toolcage_error **err);

/* Compiles a policy from memory. `name` (copied) is the file's name in messages. Relative paths
 * and files that the text extends start at the directory of `name` if it contains a '/', else at
 * the working directory. */
int toolcage_policy_load_buffer(const char *text, size_t length, const char *name,
                                struct toolcage_policy **ret, struct toolcage_error **err);

/* The policy that applies without a file: no tools; a bare command gets the strictest useful
 * default (system directories and the working directory read-only, private /tmp, no network, 30 s,
 * 512 MiB). */
int toolcage_policy_new_default(struct toolcage_policy **ret, struct toolcage_error **err);
/* A profile that ships with the library, as the policy of a bare command. There is no policy file,
 * so the settings of a call may also widen it, as without a policy. */
int toolcage_policy_new_preset(const char *name, struct toolcage_policy **ret,
                               struct toolcage_error **err);

struct toolcage_policy *toolcage_policy_ref(struct toolcage_policy *policy);
struct toolcage_policy *
toolcage_policy_unref(struct toolcage_policy *policy); /* returns NULL; NULL is fine */

/* "sha256:…" of the canonical form: the same text has the same digest on every host. Borrows. */
const char *toolcage_policy_digest(const struct toolcage_policy *policy);

/* The files that the policy was read from, as a JSON array of their paths: the file itself, then
 * those that it extends, and those of its ceilings. Profiles that ship with the library are not
 * listed, nor is a policy from memory. A host watches these files to learn that the policy should
 * be read again. Thread-safe. The caller frees *ret_json (toolcage_free). TOOLCAGE_EMEMORY. */
int toolcage_policy_files_json(const struct toolcage_policy *policy, char **ret_json,
                               struct toolcage_error **err);

/* The tools as JSON. `format` is "openai" (array of function tools), "anthropic" (array of tools of
 * its Messages API), "mcp" (array of MCP tools; these three list only tools that a model can call:
 * with a command, and of no tier that needs a person's approval), "mcp-approval" (the same with the
 * tools of tier HumanApprove, for a host that asks a person), "mcp-manual" (also those of
 * ManualOnly, for a host that stores their calls for a person), "toolcage" (array of {name,
 * description, tier, backend, command, input_schema}), or "servers": the MCP servers, an array of
 * {name, network (has it any?), output (if the policy sets it), command, tools}, each of `tools`
 * with its name and, where the policy has them, title, description, tier, timeout_ms, output and
 * input_schema. The caller frees *ret_json (toolcage_free). Errors: TOOLCAGE_EUSAGE for another
 * format, TOOLCAGE_EMEMORY. */
int toolcage_policy_tools_json(const struct toolcage_policy *policy, const char *format,
                               char **ret_json, struct toolcage_error **err);

/* Frees a string that a function of this library returned to the caller. NULL is fine. */
void toolcage_free(void *text);

#ifdef __cplusplus
}
#endif
#endif
