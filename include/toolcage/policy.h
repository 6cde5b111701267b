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
 * else TOML. Relative paths in it start at its directory. Errors: TOOLCAGE_EPOLICY
 * (toolcage_error_report() lists every finding), TOOLCAGE_ENOT_FOUND, TOOLCAGE_ESYSTEM,
 * TOOLCAGE_EMEMORY. */
int toolcage_policy_load_file(const char *path, struct toolcage_policy **ret,
                              struct toolcage_error **err);

/* The same from memory. `name` (copied) stands for the file in messages; if it contains a '/', its
 * directory is where relative paths start, and what the text extends, else the working directory.
 */
int toolcage_policy_load_buffer(const char *text, size_t length, const char *name,
                                struct toolcage_policy **ret, struct toolcage_error **err);

/* The text of a policy with one more path in it, and nothing else changed: what an operator may
 * want after a denial. `text` and `name` as above; `tool` NULL: [defaults]; `access` is "read P",
 * "exec P" or "write P" with an absolute path as the tool sees it; with a question mark after the
 * verb ("read? P") the path may be missing on the host. Nothing is written and nothing
 * changes because of it. *ret_text is the caller's (toolcage_free). Errors: those above, and
 * TOOLCAGE_EUSAGE where one more path does not allow it or a person has to find the place; the hint
 * says what to write. */
int toolcage_policy_allow_text(const char *text, size_t length, const char *name, const char *tool,
                               const char *access, char **ret_text, struct toolcage_error **err);

/* The policy that applies without a file: no tools; a bare command gets the strictest useful
 * default (system directories and the working directory read-only, private /tmp, no network, 30 s,
 * 512 MiB). */
int toolcage_policy_new_default(struct toolcage_policy **ret, struct toolcage_error **err);

struct toolcage_policy *toolcage_policy_ref(struct toolcage_policy *policy);
struct toolcage_policy *
toolcage_policy_unref(struct toolcage_policy *policy); /* returns NULL; NULL is fine */

/* "sha256:…" of the canonical form: the same text means the same digest on every machine. Borrows.
 */
const char *toolcage_policy_digest(const struct toolcage_policy *policy);

/* The tools as JSON. `format` is "openai" (array of function tools), "mcp" (array of MCP tools;
 * both have those that a model can call: with a command, and of no tier that needs a person's
 * approval), "toolcage" (array of {name, description, tier, backend, command, input_schema}), or
 * "servers": the MCP servers, an array of {name, network (has it any?), output (if the policy sets
 * it), command, tools}, each of `tools` with its name and, where the policy says them, title,
 * description, tier, timeout_ms, output and input_schema. *ret_json is the caller's
 * (toolcage_free). Errors: TOOLCAGE_EUSAGE for another format, TOOLCAGE_EMEMORY. */
int toolcage_policy_tools_json(const struct toolcage_policy *policy, const char *format,
                               char **ret_json, struct toolcage_error **err);

/* What install phases of the policy left on this machine, {"setups": [{"tool", "into", "file",
 * "line", "digest", "problem", "ready", "bytes"}], "removed": N, "kept": {"count", "bytes"}};
 * `tool` NULL: of every tool that has one. `bytes` is what it takes of the disk, null where there
 * is none; `kept` is all that this user has, of other policies and earlier clauses too. `digest` is
 * over the clause and the contents of its inputs, null where these cannot be read: then `problem`
 * says why. `action` NULL or "list": nothing is changed. "remove": removes it. "clear" (with
 * `tool` NULL): removes everything that is kept of this user's, of other policies too. A call
 * that runs may lose files then. Reads and removes files before it returns. *ret_json is the
 * caller's (toolcage_free). Errors: TOOLCAGE_EUSAGE, TOOLCAGE_ENOT_FOUND, TOOLCAGE_EPATH,
 * TOOLCAGE_EMEMORY. */
int toolcage_policy_setups_json(const struct toolcage_policy *policy, const char *tool,
                                const char *action, char **ret_json, struct toolcage_error **err);

/* What is dangerous, useless or impossible in a policy without mistakes: docs/lint.md lists
 * the findings. `text` is what the policy was loaded from: places and silencing comments ("#
 * toolcage: allow(ID) reason") are read there. `suffixes` is the public suffix list in its own text
 * form, or NULL: then hosts are not compared with it, and "unchecked" says so. Programs
 * that the policy names are looked at on this machine: what they need to start. *ret_json is the
 * caller's (toolcage_free): {version, file, findings: [{id, severity ("error", "warning", "note"),
 * key, line, column, span, message, hint, silenced (the reason, or null), text (all of it for a
 * person)}], counts: {error, warning, note, silenced, more}, unchecked: [id]}. Thread-safe. Errors:
 * TOOLCAGE_EUSAGE, TOOLCAGE_EMEMORY. */
int toolcage_policy_lint_json(const struct toolcage_policy *policy, const char *text, size_t length,
                              const char *suffixes, size_t suffixes_length, char **ret_json,
                              struct toolcage_error **err);

/* Runs the policy's own [[test]] tables, then those of `count` other texts (may be 0), which hold
 * nothing else: texts[i] of lengths[i] bytes, called names[i] in messages. No tool runs: each
 * access is asked of the grant that a call would get, with the workspace at /workspace of the host
 * and no environment, so that the answers are the same on every machine. *ret_json is the caller's
 * (toolcage_free): {version, policy, tests: [{file, tool, line, points: [{what, line, ok, expected,
 * verdict, key, key_line, reason, hint}]}], counts: {passed, failed}, coverage: {covered, total,
 * missing: [{key, what, line}]}}. Thread-safe. Errors: TOOLCAGE_EUSAGE (a text is a policy, not
 * a test file), TOOLCAGE_EPOLICY (in a test file; the report lists every finding),
 * TOOLCAGE_EMEMORY. */
int toolcage_policy_test_json(const struct toolcage_policy *policy, size_t count,
                              const char *const texts[], const size_t lengths[],
                              const char *const names[], char **ret_json,
                              struct toolcage_error **err);

/* The policy file as a JSON Schema (2020-12), for editors: every key that this version knows. A
 * policy that loads is valid by it; what it accepts may still be refused. *ret_json is the caller's
 * (toolcage_free). Needs no engine; safe in any thread. Errors: TOOLCAGE_EMEMORY. */
int toolcage_policy_schema_json(char **ret_json, struct toolcage_error **err);

/* What the policy `to` grants more or less than `from`, by meaning: {"widened": true or false,
 * "changes":
 * [{"place": "tool.x", "change": "more", "less" or "neither", "text"}]}. What cannot be compared
 * counts as more. The home directory is the caller's. *ret_json is the caller's (toolcage_free).
 * Safe in any thread. Errors: TOOLCAGE_ESYSTEM, TOOLCAGE_EMEMORY. */
int toolcage_policy_diff_json(const struct toolcage_policy *from, const struct toolcage_policy *to,
                              char **ret_json, struct toolcage_error **err);

/* The egress proxy of a tool (NULL: of [defaults]) without a cage. *ret_fd is a socket, the
 * caller's, that holds all that the program toolcage-egress has to know: it is to be descriptor 3
 * of that program, whose arguments are "toolcage-egress" and "text" or "json", the form in which it
 * reports what it refuses; descriptor 4 is where it writes the certificate of its authority, if it
 * makes one, and the environment is to be empty. `listeners`: 1 to 60 listening stream sockets,
 * which are copied, where it speaks HTTP, CONNECT and SOCKS5. Anyone who can connect to them has
 * the tool's network access. Hosts that arguments would add are not in it; the values of its
 * secrets are read now. Errors: TOOLCAGE_ENOT_FOUND (no such tool, or a secret without a value),
 * TOOLCAGE_EUSAGE (it has no network), those of a resolution, TOOLCAGE_ESYSTEM, TOOLCAGE_EMEMORY.
 */
int toolcage_policy_egress(const struct toolcage_policy *policy, const char *tool,
                           const int *listeners, size_t count, int *ret_fd,
                           struct toolcage_error **err);

/* May a tool have written the file at `path`, or a directory or link on the way to it? Ask before
 * you obey a file of the host. The places of all earlier calls of this user and of root count, and
 * those where a tool of `policy` (NULL: of none) can write, with `workspace` (NULL: the working
 * directory) for /workspace. Without a `path` the files that the policy was read from are asked
 * about, and in the earlier calls alone: a call keeps its tools from writing its own policy. 1:
 * yes, or it cannot be known; 0: no, or nothing is there and no tool could make it. Safe in any
 * thread. Errors: TOOLCAGE_EUSAGE (neither a policy nor a path), TOOLCAGE_EPATH (the working
 * directory has no name), TOOLCAGE_EMEMORY. */
int toolcage_policy_written(const struct toolcage_policy *policy, const char *path,
                            const char *workspace, struct toolcage_error **err);

/* Frees text that this library gave away. NULL is fine. */
void toolcage_free(void *text);

#ifdef __cplusplus
}
#endif
#endif
