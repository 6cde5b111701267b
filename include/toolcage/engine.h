/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The engine: one helper process that builds and supervises cages for the host program.
 *
 * An engine starts no thread, installs no signal handler and never forks the host: the helper is
 * started by vfork and reparented at once, so the host never has a toolcage child to wait for.
 * When the host exits, the helper ends every cage and cleans up. Engines are thread-safe: calls
 * of many threads may share one. As with getenv(), no thread may change the environment
 * meanwhile (PATH, HOME and XDG_… are read). After fork() the child may only unref; every other
 * function returns TOOLCAGE_EFORKED. */
#ifndef TOOLCAGE_ENGINE_H
#define TOOLCAGE_ENGINE_H

#include <stddef.h>
#include <stdint.h>
#include <toolcage/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toolcage_engine;

/* Makes an engine and starts its helper. The helper is searched for only next to the loaded
 * library. Errors: TOOLCAGE_EHELPER (not found, unsafe owner or mode, other build),
 * TOOLCAGE_ESYSTEM, TOOLCAGE_EUSAGE (set-id host), TOOLCAGE_EMEMORY. */
int toolcage_engine_new(struct toolcage_engine **ret, struct toolcage_error **err);

/* Takes one more reference and returns its argument. Thread-safe. */
struct toolcage_engine *toolcage_engine_ref(struct toolcage_engine *engine);

/* Drops a reference; the last one ends the helper and with it every cage. Returns NULL; NULL is
 * fine. */
struct toolcage_engine *toolcage_engine_unref(struct toolcage_engine *engine);

/* A file descriptor to poll: it becomes readable (or hangs up) when the helper has exited.
 * Borrowed: do not close or read it. Negative TOOLCAGE_EFORKED after fork. */
int toolcage_engine_fd(const struct toolcage_engine *engine);

/* What works on this host: a JSON object with one entry per clause (how it would be enforced, or
 * why not and the fix), and the paths of /etc and /var that every cage shows. Waits for the helper:
 * some milliseconds, or longer where it boots a test VM, once per boot of the host. The caller
 * frees *ret_json (toolcage_free). Errors: TOOLCAGE_EHELPER, TOOLCAGE_ESYSTEM, TOOLCAGE_EFORKED,
 * TOOLCAGE_EMEMORY. */
int toolcage_engine_doctor_json(struct toolcage_engine *engine, char **ret_json,
                                struct toolcage_error **err);

/* Staged changes of earlier calls, for a person to review: changes of a call with `commit = "ask"`,
 * changes that conflict with newer changes on the host, and changes of files that host programs
 * load or run automatically ("steers the host"). Changes of a bind are never staged.
 *
 * With `call` NULL, the calls that have staged changes: {"held": [{"call", "tool", "at", "changes",
 * "caches"}]}, `at` in seconds of real time. With the id of a call, its changes: {"call",
 * "changes": [...], "files": [...]} as in a result. `host` of a change is its path on the host, and
 * `files` has the new content of small files. `digest` identifies all of it, for
 * toolcage_engine_settle_seen_json(); it is missing if a staged file cannot be read. `paths` (with
 * a call) selects changes as in toolcage_engine_settle_json(); then there is no `digest`.
 *
 * Waits for the helper. The caller frees *ret_json (toolcage_free). Errors: TOOLCAGE_EUSAGE (no
 * such call; no staged change at a path), TOOLCAGE_EPATH, TOOLCAGE_EBACKEND and those above. */
int toolcage_engine_changes_json(struct toolcage_engine *engine, const char *call,
                                 size_t path_count, const char *const paths[], char **ret_json,
                                 struct toolcage_error **err);

/* What to do with staged changes. */
enum {
    /* apply them to the host, each file atomically, except files that changed since the call
     * began */
    TOOLCAGE_SETTLE_COMMIT = 0,
    /* apply them, also over newer changes of the host */
    TOOLCAGE_SETTLE_OVERWRITE = 1,
    /* delete them */
    TOOLCAGE_SETTLE_DISCARD = 2,
    /* apply them, also to files that host programs load or run automatically */
    TOOLCAGE_SETTLE_STEERING = 3
};

/* Settles staged changes of one call; *ret_json is as above. `paths` are paths inside the cage.
 * A path selects everything below it ("/": all changes) and, when changes are applied, also the
 * parent directories that the tool created. A change with `cache` (`review.ignore` of the
 * policy) is applied only if `paths` has its own path, that of its cache, or "/". Changes that
 * are not settled stay staged and are listed in *ret_json with the reason. A path without a
 * staged change is TOOLCAGE_EUSAGE, and then nothing is settled. `path_count` 0 selects all
 * changes, but no cache is applied; if only caches are left, they are deleted (`held` is
 * "discarded"). A change with `held` stays staged.
 *
 * If the policy of the call has [audit], the decision is recorded before anything is done, and the
 * result after it. TOOLCAGE_ESYSTEM, stage "audit": the decision cannot be recorded, and nothing
 * was done; or, as the message says, the changes were settled and the result is not in the log.
 * TOOLCAGE_EUNTRUSTED, stage "audit": a tool may have written the anchor; nothing was done. */
int toolcage_engine_settle_json(struct toolcage_engine *engine, const char *call, int32_t settle,
                                size_t path_count, const char *const paths[], char **ret_json,
                                struct toolcage_error **err);

/* Settles staged changes as toolcage_engine_settle_json() does, but only if they are still those
 * that a person has seen: `digest` is that of toolcage_engine_changes_json(), and covers every
 * staged change of the call, also those that `paths` does not select: paths, kinds, modes, the
 * targets of links, the content, and the version of each file of the host when the call began. A
 * file that the host has changed since then is not applied, as with that function. Another digest
 * is TOOLCAGE_EDENIED, and then nothing is settled. Thread-safe. The caller frees *ret_json
 * (toolcage_free). Other errors as toolcage_engine_settle_json(). */
int toolcage_engine_settle_seen_json(struct toolcage_engine *engine, const char *call,
                                     int32_t settle, const char *digest, size_t path_count,
                                     const char *const paths[], char **ret_json,
                                     struct toolcage_error **err);

/* Sessions of this user's calls (toolcage_call_set_session()), {"sessions": [{"name", "tool",
 * "bounds", "calls", "bytes", "made", "used"}]}; times are seconds of real time, `bounds` is the
 * digest of the session's grant. Waits for the helper. The caller frees *ret_json
 * (toolcage_free). Errors as above. */
int toolcage_engine_sessions_json(struct toolcage_engine *engine, char **ret_json,
                                  struct toolcage_error **err);

/* Deletes the session `name`, or with NULL every session that no call is using; *ret_json lists
 * the deleted ones. Errors: TOOLCAGE_EUSAGE (no such session), TOOLCAGE_EBACKEND (a call is
 * using it) and those above. */
int toolcage_engine_end_sessions_json(struct toolcage_engine *engine, const char *name,
                                      char **ret_json, struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
