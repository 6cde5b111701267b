/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The engine: one helper process that builds and supervises cages for this host.
 *
 * An engine starts no thread, installs no signal handler and never forks the host: the helper is
 * started by vfork and reparented at once, so the host never has a child of ours to wait for. When
 * the host goes, the helper ends every cage and cleans up. Engines are thread-safe: calls of many
 * threads may share one; as for getenv(), no thread may change the environment meanwhile (PATH,
 * HOME and XDG_… are read). After fork() the child may only unref; everything else answers
 * TOOLCAGE_EFORKED.
 */
#ifndef TOOLCAGE_ENGINE_H
#define TOOLCAGE_ENGINE_H

#include <stddef.h>
#include <stdint.h>
#include <toolcage/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toolcage_engine;

/* Makes an engine and starts its helper, which is looked for beside the loaded library and nowhere
 * else. Errors: TOOLCAGE_EHELPER (not found, unsafe owner or mode, other build), TOOLCAGE_ESYSTEM,
 * TOOLCAGE_EUSAGE (set-id host), TOOLCAGE_EMEMORY. */
int toolcage_engine_new(struct toolcage_engine **ret, struct toolcage_error **err);

/* Takes one more reference and returns its argument. Thread-safe. */
struct toolcage_engine *toolcage_engine_ref(struct toolcage_engine *engine);

/* Gives a reference back; the last one ends the helper and with it every cage. Returns NULL; NULL
 * is fine. */
struct toolcage_engine *toolcage_engine_unref(struct toolcage_engine *engine);

/* A descriptor to poll: it becomes readable (or hangs up) when the helper has gone. Borrowed: do
 * not close or read it. Negative TOOLCAGE_EFORKED after fork. */
int toolcage_engine_fd(const struct toolcage_engine *engine);

/* What works on this machine: a JSON object with one entry per clause (how it would be enforced, or
 * why not and the fix). Waits for the helper (some milliseconds; longer where a virtual
 * machine is tried, once in a life of this one). *ret_json is the caller's: free
 * it with toolcage_free(). Errors: TOOLCAGE_EHELPER, TOOLCAGE_ESYSTEM, TOOLCAGE_EFORKED,
 * TOOLCAGE_EMEMORY. */
int toolcage_engine_doctor_json(struct toolcage_engine *engine, char **ret_json,
                                struct toolcage_error **err);

/* The engine that backend "wasm" loads into its cages. `action` is "status" (with `path` NULL) or
 * "install": copies the shared library at `path` into the user's state directory, if it is exactly
 * the file that this version of toolcage was made for. "compile": compiles the module at `path` in
 * a cage of its own, and keeps that for its calls; "compile-deterministic" for those of tools with
 * deterministic = true. *ret_json is the caller's (toolcage_free):
 * {"engine", "version", "installed", "library", "reason"}. "inspect": what the module at `path`
 * asks for, {"module", "digest", "imports": [{"name", "provided"}]}. A path may be "catalog:NAME".
 * "list" (with `path` NULL): the catalog, {"modules": [{"module", "description", "manifest",
 * "installed"}]}; one that has to be fetched has "fetched": {"requirement", "file"}, too, and
 * "install" takes its file as it takes the engine's.
 * Reads and writes files before it returns, and waits for the cage. Thread-safe. Errors:
 * TOOLCAGE_EUSAGE, TOOLCAGE_EPATH, TOOLCAGE_EBACKEND (no engine; no module), TOOLCAGE_EHELPER,
 * TOOLCAGE_ESYSTEM, TOOLCAGE_EMEMORY.
 */
int toolcage_wasm_json(const char *action, const char *path, char **ret_json,
                       struct toolcage_error **err);

/* Staged changes of earlier calls, for a person to decide about: those of a call with
 * `commit = "ask"`, and conflicts with newer changes of the host; those of a bind never are.
 *
 * With `call` NULL: which calls have any, {"held": [{"call", "tool", "at", "changes",
 * "caches"}]}, `at` in seconds of real time. Else that call's, by its id, {"call", "changes":
 * [...], "files": [...]} as in a result. `action` says what to do with them:
 *
 * - "show" or NULL: nothing; each change has its place on the host in `host`, and the new content
 * of small files is in `files`
 * - "commit": applies them to the host, each file atomically, unless it changed since the call
 *   began; a row with `held` stays staged. Rows with `cache` (`review.ignore` of the policy) are
 *   left out, as toolcage_engine_settle_json() says
 * - "overwrite": the same, also over newer changes of the host
 * - "discard": deletes them
 *
 * Waits for the helper. *ret_json is the caller's, who frees it with toolcage_free(). Errors:
 * TOOLCAGE_EUSAGE (no such call or action), TOOLCAGE_EPATH, TOOLCAGE_EBACKEND and those above. */
int toolcage_engine_changes_json(struct toolcage_engine *engine, const char *call,
                                 const char *action, char **ret_json, struct toolcage_error **err);

/* The same for some changes of one call: `paths` are theirs, as the tool saw them. A path means
 * what lies below it as well ("/": all of them), and, of what is brought to the host, the
 * directories on the way that the tool made. A row with `cache` is brought by its own name, that of
 * the cache it lies in, or "/". The others stay held, and stand in the answer with the reason. A
 * path at which nothing is held is TOOLCAGE_EUSAGE, and then nothing has happened. `path_count` 0:
 * all of them, but no cache is brought to the host, and where only caches are left, they are
 * deleted (`held` is "discarded").
 */
int toolcage_engine_settle_json(struct toolcage_engine *engine, const char *call,
                                const char *action, size_t path_count, const char *const paths[],
                                char **ret_json, struct toolcage_error **err);

/* Sessions of this user's calls (toolcage_call_set_session()). `action` NULL or "list", `name`
 * NULL: all of them, {"sessions": [{"name", "tool", "bounds", "calls", "bytes", "made", "used"}]};
 * times are seconds of real time, `bounds` is the digest of what its calls may do. "end": deletes
 * what is kept of that session, with `name` NULL of every one that no call is using; the
 * answer lists those that have ended.
 *
 * Waits for the helper. *ret_json is the caller's, who frees it with toolcage_free(). Errors:
 * TOOLCAGE_EUSAGE (no such session or action), TOOLCAGE_EBACKEND (a call is using it) and those
 * above. */
int toolcage_engine_sessions_json(struct toolcage_engine *engine, const char *name,
                                  const char *action, char **ret_json, struct toolcage_error **err);

/* Removes what killed engines may have left: empty control groups, id leases, and unfinished
 * installs. What is kept stays, and so does what a live process holds. *ret_removed (may be NULL)
 * counts them. Errors as above. */
int toolcage_engine_clean(struct toolcage_engine *engine, uint32_t *ret_removed,
                          struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
