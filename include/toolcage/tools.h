/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an operator's tools need beside a host: to lint, test, compare, learn and edit policies, to
 * look after install phases and WebAssembly modules, and to ask how a call went. The command line
 * is made of these; a program that only runs calls needs none of them.
 */
#ifndef TOOLCAGE_TOOLS_H
#define TOOLCAGE_TOOLS_H

#include <stddef.h>
#include <stdint.h>
#include <toolcage/call.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- policies ---- */

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

/* What the policy `to` grants more or less than `from`, by meaning: {"widened": true or false,
 * "changes":
 * [{"place": "tool.x", "change": "more", "less" or "neither", "text"}]}. What cannot be compared
 * counts as more. The home directory is the caller's. *ret_json is the caller's (toolcage_free).
 * Safe in any thread. Errors: TOOLCAGE_ESYSTEM, TOOLCAGE_EMEMORY. */
int toolcage_policy_diff_json(const struct toolcage_policy *from, const struct toolcage_policy *to,
                              char **ret_json, struct toolcage_error **err);

/* The policy file as a JSON Schema (2020-12), for editors: every key that this version knows. A
 * policy that loads is valid by it; what it accepts may still be refused. *ret_json is the caller's
 * (toolcage_free). Needs no engine; safe in any thread. Errors: TOOLCAGE_EMEMORY. */
int toolcage_policy_schema_json(char **ret_json, struct toolcage_error **err);

/* The text of a policy with one more path in it, and nothing else changed: what an operator may
 * want after a denial. `text` and `name` as for
 * toolcage_policy_load_buffer(); `tool` NULL: [defaults]; `access` is "read P",
 * "exec P" or "write P" with an absolute path as the tool sees it; with a question mark after the
 * verb ("read? P") the path may be missing on the host. Nothing is written and nothing
 * changes because of it. *ret_text is the caller's (toolcage_free). Errors: those of that function,
 * and TOOLCAGE_EUSAGE where one more path does not allow it or a person has to find the place; the
 * hint says what to write. */
int toolcage_policy_allow_text(const char *text, size_t length, const char *name, const char *tool,
                               const char *access, char **ret_text, struct toolcage_error **err);

/* The least policy, as TOML, with one tool that may do what this call did: for a call that ended
 * and ran with "denials" set to "accesses". Several files of a directory become a grant of it;
 * each clause that is dangerous, and what was refused, has a comment. It is a draft for an
 * operator and has no effect by itself. `name` is the tool's, NULL: made from the command.
 * *ret_policy is the caller's (toolcage_free). Looks at the file system. Errors: TOOLCAGE_EUSAGE
 * for a call that has not ended or did not list accesses, and for what cannot be a tool's name;
 * TOOLCAGE_EMEMORY. */
int toolcage_call_learned_policy(const struct toolcage_call *call, const char *name,
                                 char **ret_policy, struct toolcage_error **err);

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

/* The egress proxy of a tool (NULL: of [defaults]) without a cage. *ret_fd is a socket, the
 * caller's, that holds all that the proxy's program of the same version has to know; `toolcage
 * egress` hands it over, in a way that is private to one version. `listeners`: 1 to 60 listening
 * stream sockets, which are copied, where it speaks HTTP, CONNECT and SOCKS5. Anyone who can
 * connect to them has the tool's network access. Hosts that arguments would add are not in it; the
 * values of its secrets are read now. Errors: TOOLCAGE_ENOT_FOUND (no such tool, or a secret
 * without a value), TOOLCAGE_EUSAGE (it has no network), those of a resolution, TOOLCAGE_ESYSTEM,
 * TOOLCAGE_EMEMORY.
 */
int toolcage_policy_egress(const struct toolcage_policy *policy, const char *tool,
                           const int *listeners, size_t count, int *ret_fd,
                           struct toolcage_error **err);

/* ---- install phases ---- */

/* A call of the install phase of `tool` ("x", or "server.y"): what `setup` in the policy says. It
 * is the operator's act, never a model's: toolcage_call_new() knows no name for it. When it ends
 * well, what it left is kept for the calls of the tool, in place of what was kept before; else
 * nothing of it is. It takes no command, arguments, narrowing, session, input or terminal: then
 * start is TOOLCAGE_EUSAGE. TOOLCAGE_ENOT_FOUND: the tool has no install phase. Refs engine and
 * policy. */
int toolcage_call_new_setup(struct toolcage_engine *engine, struct toolcage_policy *policy,
                            const char *tool, struct toolcage_call **ret,
                            struct toolcage_error **err);

/* What install phases of the policy left on this machine, {"setups": [{"tool", "into", "file",
 * "line", "digest", "problem", "ready", "bytes"}], "removed": N, "kept": {"count", "bytes"}};
 * `tool` NULL: of every tool that has one. `bytes` is what it takes of the disk, null where there
 * is none; `kept` is all that this user has, of other policies and earlier clauses too. `digest` is
 * over the clause and the contents of its inputs, null where these cannot be read: then `problem`
 * says why. Reads files before it returns. *ret_json is the caller's (toolcage_free). Errors:
 * TOOLCAGE_EUSAGE, TOOLCAGE_ENOT_FOUND, TOOLCAGE_EPATH, TOOLCAGE_EMEMORY. */
int toolcage_policy_setups_json(const struct toolcage_policy *policy, const char *tool,
                                char **ret_json, struct toolcage_error **err);

/* The same, and removes it. A call that runs may lose files then. */
int toolcage_policy_remove_setups_json(const struct toolcage_policy *policy, const char *tool,
                                       char **ret_json, struct toolcage_error **err);

/* The same of every tool, and removes everything that this user has kept, of other policies too. */
int toolcage_policy_clear_setups_json(const struct toolcage_policy *policy, char **ret_json,
                                      struct toolcage_error **err);

/* ---- WebAssembly ---- */

/* The engine that backend "wasm" loads into its cages, {"engine", "version", "installed",
 * "library", "reason"}. For this and the next four: reads and writes files before it returns, and
 * waits for a cage where there is one. Thread-safe. *ret_json is the caller's (toolcage_free). A
 * `path` may be "catalog:NAME". Errors: TOOLCAGE_EUSAGE, TOOLCAGE_EPATH, TOOLCAGE_EBACKEND (no
 * engine; no module), TOOLCAGE_EHELPER, TOOLCAGE_ESYSTEM, TOOLCAGE_EMEMORY. */
int toolcage_wasm_status_json(char **ret_json, struct toolcage_error **err);

/* Copies the shared library at `path` into the user's state directory, if it is exactly the file
 * that this version of toolcage was made for; or the module of the catalog that has to be fetched.
 * The answer is that of toolcage_wasm_status_json(). */
int toolcage_wasm_install_json(const char *path, char **ret_json, struct toolcage_error **err);

/* Compiles the module at `path` in a cage of its own, and keeps the result for its calls; with
 * `deterministic` other than 0 for those of tools with deterministic = true. */
int toolcage_wasm_compile_json(const char *path, int deterministic, char **ret_json,
                               struct toolcage_error **err);

/* What the module at `path` asks for, {"module", "digest", "imports": [{"name", "provided"}]}. */
int toolcage_wasm_inspect_json(const char *path, char **ret_json, struct toolcage_error **err);

/* The catalog, {"modules": [{"module", "description", "manifest", "installed"}]}; one that has to
 * be fetched has "fetched": {"requirement", "file"}, too. */
int toolcage_wasm_list_json(char **ret_json, struct toolcage_error **err);

/* ---- calls ---- */

/* "" or one line for a person: why the network did not take a tool that failed where it may, or
 * what an earlier call, cut by a kill, left. Borrows. */
const char *toolcage_result_notice(const struct toolcage_result *result);

/* Time spent in each step of the call in microseconds, as a JSON array of {"step", "us"}. Borrows.
 */
const char *toolcage_result_timings_json(const struct toolcage_result *result);

/* Removes what killed engines may have left: empty control groups, id leases, and unfinished
 * installs. What is kept stays, and so does what a live process holds. *ret_removed (may be NULL)
 * counts them. Errors as above. */
int toolcage_engine_clean(struct toolcage_engine *engine, uint32_t *ret_removed,
                          struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
