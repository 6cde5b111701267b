/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Functions for operators' tools: linting, testing, comparing, learning and editing policies,
 * managing install phases and WebAssembly modules, and statistics of a call. The command line
 * uses them; a program that only runs calls does not need them. */
#ifndef TOOLCAGE_TOOLS_H
#define TOOLCAGE_TOOLS_H

#include <stddef.h>
#include <stdint.h>
#include <toolcage/call.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- policies ---- */

/* Findings in a policy that compiles: dangerous, useless or impossible rules, listed in
 * docs/lint.md. `text` is the policy's source: locations and silencing comments ("# toolcage:
 * allow(ID) reason") are read from it. `suffixes` is the public suffix list in its own text
 * format, or NULL: then hosts are not compared with it, and "unchecked" lists that. Programs
 * that the policy names are checked on this host for files that they need to start. The caller
 * frees *ret_json (toolcage_free): {version, file, findings: [{id, severity ("error", "warning",
 * "note"), key, line, column, span, message, hint, silenced (the reason, or null), text (the
 * whole finding for a person)}], counts: {error, warning, note, silenced, more}, unchecked:
 * [id]}. Thread-safe. Errors: TOOLCAGE_EUSAGE, TOOLCAGE_EMEMORY. */
int toolcage_policy_lint_json(const struct toolcage_policy *policy, const char *text, size_t length,
                              const char *suffixes, size_t suffixes_length, char **ret_json,
                              struct toolcage_error **err);

/* Runs the [[test]] tables of the policy, then those of `count` test files (may be 0), which
 * contain nothing else: texts[i] of lengths[i] bytes, called names[i] in messages. No tool runs:
 * each access is checked against the grant that a call would get, with the workspace at
 * /workspace on the host and an empty environment, so that the results are the same on every
 * host. The caller frees *ret_json (toolcage_free): {version, policy, tests: [{file, tool, line,
 * points: [{what, line, ok, expected, verdict, key, key_line, reason, hint}]}], counts: {passed,
 * failed}, coverage: {covered, total, missing: [{key, what, line}]}}. Thread-safe. Errors:
 * TOOLCAGE_EUSAGE (a file is a policy, not a test file), TOOLCAGE_EPOLICY (in a test file; the
 * report lists every finding), TOOLCAGE_EMEMORY. */
int toolcage_policy_test_json(const struct toolcage_policy *policy, size_t count,
                              const char *const texts[], const size_t lengths[],
                              const char *const names[], char **ret_json,
                              struct toolcage_error **err);

/* How the grants of `to` differ from those of `from`, by meaning: {"widened": true or false,
 * "changes": [{"place": "tool.x", "change": "more", "less" or "neither", "text"}]}. A difference
 * that cannot be compared counts as more. The home directory is the caller's. The caller frees
 * *ret_json (toolcage_free). Thread-safe. Errors: TOOLCAGE_ESYSTEM, TOOLCAGE_EMEMORY. */
int toolcage_policy_diff_json(const struct toolcage_policy *from, const struct toolcage_policy *to,
                              char **ret_json, struct toolcage_error **err);

/* The policy format as a JSON Schema (2020-12), for editors: every key that this version knows.
 * A policy that loads is valid by the schema; a policy that is valid by the schema may still be
 * refused. The caller frees *ret_json (toolcage_free). Needs no engine; thread-safe. Errors:
 * TOOLCAGE_EMEMORY. */
int toolcage_policy_schema_json(char **ret_json, struct toolcage_error **err);

/* The text of a policy with one more path or endpoint and no other change, for an operator who
 * decides to allow a denied access. `text` and `name` as for toolcage_policy_load_buffer(); `tool`
 * NULL: [defaults]; `access` is "read P", "exec P" or "write P" with an absolute path in the cage;
 * with a question mark after the verb ("read? P") the path may be missing on the host; or
 * "connect HOST:PORT". No file is written. The caller frees *ret_text (toolcage_free). Errors:
 * those of toolcage_policy_load_buffer(), and TOOLCAGE_EUSAGE where one more path does not allow
 * the access or cannot be inserted automatically; the hint is the text to insert. */
int toolcage_policy_allow_text(const char *text, size_t length, const char *name, const char *tool,
                               const char *access, char **ret_text, struct toolcage_error **err);

/* A minimal policy, as TOML, with one tool that may do what this call did. The call must have
 * ended and run with "denials" set to "accesses". Several files of a directory become a grant of
 * the directory; each dangerous clause and each refused access has a comment. The policy is a
 * draft for an operator and has no effect by itself. `name` is the tool's, NULL: made from the
 * command. The caller frees *ret_policy (toolcage_free). Reads the file system. Errors:
 * TOOLCAGE_EUSAGE for a call that has not ended or did not list accesses, and for an invalid
 * tool name; TOOLCAGE_EMEMORY. */
int toolcage_call_learned_policy(const struct toolcage_call *call, const char *name,
                                 char **ret_policy, struct toolcage_error **err);

/* May a tool have written the file at `path`, or a directory or link on the way to it? Check
 * before you load or run a file of the host. Counted as writable are the writable paths of all
 * earlier calls of this user and of root, and those of the tools of `policy` (NULL: none), with
 * `workspace` (NULL: the working directory) for /workspace. Without a `path` the files that the
 * policy was read from are checked, against the earlier calls only: a call keeps its tools from
 * writing its own policy. 1: yes, or unknown; 0: no, or the file is missing and no tool could
 * create it. Thread-safe. Errors: TOOLCAGE_EUSAGE (neither a policy nor a path), TOOLCAGE_EPATH
 * (the working directory has no name), TOOLCAGE_EMEMORY. */
int toolcage_policy_written(const struct toolcage_policy *policy, const char *path,
                            const char *workspace, struct toolcage_error **err);

/* The egress proxy of a tool (NULL: of [defaults]) without a cage. *ret_fd is a socket, owned by
 * the caller, that holds the whole configuration for the proxy program of the same version;
 * `toolcage egress` passes it on. Its format is private to one version. `listeners`: 1 to 60
 * listening stream sockets (copied), on which the proxy speaks HTTP, CONNECT and SOCKS5. Anyone
 * who can connect to them has the tool's network access. Hosts that arguments would add are not
 * included; the values of the tool's secrets are read now. Errors: TOOLCAGE_ENOT_FOUND (no such
 * tool, or a secret without a value), TOOLCAGE_EUSAGE (the tool has no network), those of a
 * resolution, TOOLCAGE_ESYSTEM, TOOLCAGE_EMEMORY. */
int toolcage_policy_egress(const struct toolcage_policy *policy, const char *tool,
                           const int *listeners, size_t count, int *ret_fd,
                           struct toolcage_error **err);

/* ---- install phases ---- */

/* A call of the install phase of `tool` ("x", or "server.y"): `setup` in the policy. Only an
 * operator starts an install phase, never a model: toolcage_call_new() accepts no name for it.
 * If the install succeeds, its files are stored for the calls of the tool and replace the files
 * of the last install; otherwise they are deleted. An install call has no command, arguments,
 * narrowing, session, input or terminal: with any of them start is TOOLCAGE_EUSAGE.
 * TOOLCAGE_ENOT_FOUND: the tool has no install phase. Takes references to engine and policy. */
int toolcage_call_new_setup(struct toolcage_engine *engine, struct toolcage_policy *policy,
                            const char *tool, struct toolcage_call **ret,
                            struct toolcage_error **err);

/* Installs of the policy on this host, {"setups": [{"tool", "into", "file", "line", "digest",
 * "problem", "ready", "bytes"}], "removed": N, "kept": {"count", "bytes"}}; `tool` NULL: of
 * every tool that has an install phase. `bytes` is the disk usage, null where nothing is
 * installed; `kept` counts all installs of this user, including those of other policies and of
 * earlier clauses. `digest` is over the clause and the contents of its inputs, null where these
 * cannot be read: then `problem` is the reason. Reads files before it returns. The caller frees
 * *ret_json (toolcage_free). Errors: TOOLCAGE_EUSAGE, TOOLCAGE_ENOT_FOUND, TOOLCAGE_EPATH,
 * TOOLCAGE_EMEMORY. */
int toolcage_policy_setups_json(const struct toolcage_policy *policy, const char *tool,
                                char **ret_json, struct toolcage_error **err);

/* Lists the same installs and removes them. A running call may lose files. */
int toolcage_policy_remove_setups_json(const struct toolcage_policy *policy, const char *tool,
                                       char **ret_json, struct toolcage_error **err);

/* Lists the installs of every tool and removes all installs of this user, including those of
 * other policies. */
int toolcage_policy_clear_setups_json(const struct toolcage_policy *policy, char **ret_json,
                                      struct toolcage_error **err);

/* ---- WebAssembly ---- */

/* The engine that backend "wasm" loads into its cages, {"engine", "version", "installed",
 * "library", "reason"}. For this and the next four functions: they read and write files before
 * they return, and wait for a cage if they use one. Thread-safe. The caller frees *ret_json
 * (toolcage_free). A `path` may be "catalog:NAME". Errors: TOOLCAGE_EUSAGE, TOOLCAGE_EPATH,
 * TOOLCAGE_EBACKEND (no engine; no module), TOOLCAGE_EHELPER, TOOLCAGE_ESYSTEM,
 * TOOLCAGE_EMEMORY. */
int toolcage_wasm_status_json(char **ret_json, struct toolcage_error **err);

/* Copies a file at `path` into the user's state directory: the engine's shared library, if it is
 * exactly the file that this version of toolcage was made for, or a catalog module that must be
 * downloaded. *ret_json is as of toolcage_wasm_status_json(). */
int toolcage_wasm_install_json(const char *path, char **ret_json, struct toolcage_error **err);

/* Compiles the module at `path` in a separate cage, and stores the result for calls; with
 * `deterministic` other than 0 for calls of tools with deterministic = true. */
int toolcage_wasm_compile_json(const char *path, int deterministic, char **ret_json,
                               struct toolcage_error **err);

/* The imports of the module at `path`, {"module", "digest", "imports": [{"name", "provided"}]}. */
int toolcage_wasm_inspect_json(const char *path, char **ret_json, struct toolcage_error **err);

/* The catalog, {"modules": [{"module", "description", "manifest", "installed"}]}; a module that
 * must be downloaded also has "fetched": {"requirement", "file"}. */
int toolcage_wasm_list_json(char **ret_json, struct toolcage_error **err);

/* ---- calls ---- */

/* "" or one line for a person: why no network traffic of a failed tool was allowed or possible,
 * or what an earlier, killed call left behind. Borrows. */
const char *toolcage_result_notice(const struct toolcage_result *result);

/* Time spent in each step of the call in microseconds, as a JSON array of {"step", "us"}.
 * Borrows. */
const char *toolcage_result_timings_json(const struct toolcage_result *result);

/* Removes what killed engines may have left: empty cgroups, id leases and unfinished installs.
 * Complete installs and everything in use by a live process stay. *ret_removed (may be NULL)
 * counts the removed objects. Errors as above. */
int toolcage_engine_clean(struct toolcage_engine *engine, uint32_t *ret_removed,
                          struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
