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

/* Staged changes of earlier calls, for a person to decide about: those of a call with
 * `commit = "ask"`, and conflicts with newer changes of the host; those of a bind never are.
 *
 * With `call` NULL: which calls have any, {"held": [{"call", "tool", "at", "changes",
 * "caches"}]}, `at` in seconds of real time. Else that call's, by its id, {"call", "changes":
 * [...], "files": [...]} as in a result: each change has its place on the host in `host`, and the
 * new content of small files is in `files`. With `paths` (and a
 * call) only those, as toolcage_engine_settle_json() takes them.
 *
 * Waits for the helper. *ret_json is the caller's, who frees it with toolcage_free(). Errors:
 * TOOLCAGE_EUSAGE (no such call; nothing is held at a path), TOOLCAGE_EPATH, TOOLCAGE_EBACKEND and
 * those above. */
int toolcage_engine_changes_json(struct toolcage_engine *engine, const char *call,
                                 size_t path_count, const char *const paths[], char **ret_json,
                                 struct toolcage_error **err);

/* What becomes of staged changes. */
enum {
    /* applied to the host, each file atomically, unless it changed since the call began */
    TOOLCAGE_SETTLE_COMMIT = 0,
    /* the same, also over newer changes of the host */
    TOOLCAGE_SETTLE_OVERWRITE = 1,
    /* deleted */
    TOOLCAGE_SETTLE_DISCARD = 2
};

/* Decides about changes of one call; the answer is as above. `paths` are theirs, as the tool saw
 * them. A path means what lies below it as well ("/": all of them), and, of what is brought to the
 * host, the directories on the way that the tool made. A row with `cache` (`review.ignore` of the
 * policy) is brought by its own name, that of the cache it lies in, or "/". The others stay held,
 * and stand in the answer with the reason. A path at which nothing is held is TOOLCAGE_EUSAGE, and
 * then nothing has happened. `path_count` 0: all of them, but no cache is brought to the host, and
 * where only caches are left, they are deleted (`held` is "discarded"). A row with `held` stays
 * staged. */
int toolcage_engine_settle_json(struct toolcage_engine *engine, const char *call, int32_t settle,
                                size_t path_count, const char *const paths[], char **ret_json,
                                struct toolcage_error **err);

/* Sessions of this user's calls (toolcage_call_set_session()), {"sessions": [{"name", "tool",
 * "bounds", "calls", "bytes", "made", "used"}]}; times are seconds of real time, `bounds` is the
 * digest of what its calls may do. Waits for the helper. *ret_json is the caller's
 * (toolcage_free). Errors as above. */
int toolcage_engine_sessions_json(struct toolcage_engine *engine, char **ret_json,
                                  struct toolcage_error **err);

/* Deletes what is kept of the session `name`, with NULL of every one that no call is using; the
 * answer lists those that have ended. Errors: TOOLCAGE_EUSAGE (no such session), TOOLCAGE_EBACKEND
 * (a call is using it) and those above. */
int toolcage_engine_end_sessions_json(struct toolcage_engine *engine, const char *name,
                                      char **ret_json, struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
