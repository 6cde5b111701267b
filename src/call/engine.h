/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The engine: the library's end of the helper's socket. */
#ifndef TC_CALL_ENGINE_H
#define TC_CALL_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <toolcage/engine.h>

#include "base/error.h"
#include "plan/backend.h"
#include "plan/outcome.h"
#include "plan/protocol.h"

int tc_engine_new(struct toolcage_engine **ret, struct toolcage_error **err);
/* An engine over a socket (taken, also on failure) whose other end an existing helper serves. */
int tc_engine_adopt(int sock, struct toolcage_engine **ret, struct toolcage_error **err);
struct toolcage_engine *tc_engine_ref(struct toolcage_engine *engine);
struct toolcage_engine *tc_engine_unref(struct toolcage_engine *engine);
int tc_engine_fd(const struct toolcage_engine *engine);
/* Modules found for earlier calls. Borrows. */
struct tc_modules_known *tc_engine_modules(struct toolcage_engine *engine);
/* When this engine last flushed the audit log; 0: never. */
_Atomic int64_t *tc_engine_audit_synced(struct toolcage_engine *engine);
struct tc_plan_cache *tc_engine_plans(struct toolcage_engine *engine);
struct tc_system_cache *tc_engine_system(struct toolcage_engine *engine);

/* Is this a child of the process that made the engine? */
bool tc_engine_forked(const struct toolcage_engine *engine);
/* 0, or TOOLCAGE_EFORKED with its message. */
int tc_engine_check(const struct toolcage_engine *engine, struct toolcage_error **err);

/* Sends one job to the helper and fills in the build id. The file descriptors are borrowed. */
int tc_engine_submit(struct toolcage_engine *engine, const struct tc_job *job, const int *fds,
                     size_t count, struct toolcage_error **err);

/* Sends the job with the plan in the same packet, which has room for the job before the plan. 1:
 * sent; 0: the packet is too large, or the socket is full, and the plan must be sent as a memory
 * file. */
int tc_engine_submit_inside(struct toolcage_engine *engine, const struct tc_job *job,
                            struct tc_buf *packet, const int *fds, size_t count,
                            struct toolcage_error **err);

/* Reads an outcome out of a message; otherwise like tc_outcome_read(). */
int tc_outcome_parse(const char *bytes, size_t length, struct tc_outcome *ret,
                     struct toolcage_error **err);
/* Reads an outcome out of the memory file of a DONE message; *ret is zeroed before, and the
 * caller frees it also on failure. */
int tc_outcome_read(int fd, struct tc_outcome *ret, struct toolcage_error **err);

/* Submits a job that is not a call (`plan` is a memory file's fd, or -1) and waits for its
 * reply. *ret_fd is the outcome's memory file, or -1. */
int tc_engine_ask(struct toolcage_engine *engine, enum tc_job_kind kind, int plan,
                  struct tc_message *ret_message, int *ret_fd, struct toolcage_error **err);

/* The results of the helper's probes of every backend. Fills *ret (zeroed); the caller frees it
 * also on failure. */
int tc_engine_probe(struct toolcage_engine *engine, struct tc_outcome *ret,
                    struct toolcage_error **err);
/* The same results, requested once in an engine's life. Borrows from the engine. */
int tc_engine_probes(struct toolcage_engine *engine, const struct tc_outcome **ret,
                     struct toolcage_error **err);

/* Jobs that are not calls; these functions wait for the helper. */
/* The action of TOOLCAGE_SETTLE_…; another value is an action that tc_engine_changes() refuses. */
const char *tc_engine_settle_action(int32_t settle);
/* `seen`: the digest of the changes that a person saw; NULL: settles whatever is staged. */
int tc_engine_changes(struct toolcage_engine *engine, const char *call, const char *action,
                      const char *seen, size_t path_count, const char *const paths[],
                      char **ret_json, struct toolcage_error **err);
int tc_engine_sessions(struct toolcage_engine *engine, const char *name, const char *action,
                       char **ret_json, struct toolcage_error **err);
int tc_engine_doctor(struct toolcage_engine *engine, char **ret_json, struct toolcage_error **err);
int tc_engine_clean(struct toolcage_engine *engine, uint32_t *ret_removed,
                    struct toolcage_error **err);

/* errand.c */
/* The search context for locators; the caller frees its kvm. Borrows. */
struct tc_search tc_errand_search(struct toolcage_engine *engine);
/* As tc_errand_fn; without an engine (NULL) it makes a temporary one. */
int tc_errand_run(struct toolcage_engine *engine, const struct tc_errand *errand,
                  struct tc_errand_end *ret, struct toolcage_error **err);

/* launch.c: starts the helper so that the host never has a child. */

/* The helper's main function, in a program that contains the helper: the first helper is then a
 * fork of that program. Set by a single-threaded process, before it reads anything that a cage
 * must not have. The function gets the user's state directory, or NULL, and never returns. NULL:
 * the helper is a separate program. */
extern void (*tc_launch_within)(const char *state);

/* Finds the helper next to the loaded library, checks it and starts it with `sock` and `host` (a
 * pidfd of this process) as its fds. Both fds stay the caller's. */
int tc_launch_helper(int sock, int host, struct toolcage_error **err);

/* Starts the program at `path` as the helper, wherever it is. */
int tc_launch_program(const char *path, int sock, int host, struct toolcage_error **err);

#endif
