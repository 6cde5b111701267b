/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The engine: the library's end of the helper's socket. */
#ifndef TC_CALL_ENGINE_H
#define TC_CALL_ENGINE_H

#include <stdbool.h>
#include <toolcage/engine.h>

#include "base/error.h"
#include "plan/backend.h"
#include "plan/outcome.h"
#include "plan/protocol.h"

int tc_engine_new(struct toolcage_engine **ret, struct toolcage_error **err);
/* An engine over a socket (takes it, also on failure) whose other end somebody else serves. */
int tc_engine_adopt(int sock, struct toolcage_engine **ret, struct toolcage_error **err);
struct toolcage_engine *tc_engine_ref(struct toolcage_engine *engine);
struct toolcage_engine *tc_engine_unref(struct toolcage_engine *engine);
int tc_engine_fd(const struct toolcage_engine *engine);
/* What was found of modules for earlier calls. Borrows. */
struct tc_modules_known *tc_engine_modules(struct toolcage_engine *engine);
struct tc_plan_cache *tc_engine_plans(struct toolcage_engine *engine);

/* Is this a child of the process that made the engine? */
bool tc_engine_forked(const struct toolcage_engine *engine);
/* 0, or TOOLCAGE_EFORKED with its message. */
int tc_engine_check(const struct toolcage_engine *engine, struct toolcage_error **err);

/* Hands one job to the helper; its build is put in here. The descriptors are borrowed. */
int tc_engine_submit(struct toolcage_engine *engine, const struct tc_job *job, const int *fds,
                     size_t count, struct toolcage_error **err);

/* The same with the plan in the packet, which has room for the job before it. 1: sent; 0: it does
 * not fit, or not yet, and is to go as a memory file. */
int tc_engine_submit_inside(struct toolcage_engine *engine, const struct tc_job *job,
                            struct tc_buf *packet, const int *fds, size_t count,
                            struct toolcage_error **err);

/* An outcome that came in a message; as the next. */
int tc_outcome_parse(const char *bytes, size_t length, struct tc_outcome *ret,
                     struct toolcage_error **err);
/* Reads an outcome out of the memory file of a DONE message; *ret is zeroed before and is the
 * caller's to free also on failure. */
int tc_outcome_read(int fd, struct tc_outcome *ret, struct toolcage_error **err);

/* Submits a job that is no call (`plan` is a memory file's descriptor, or -1) and waits for its
 * answer. *ret_fd is the outcome's memory file, or -1. */
int tc_engine_ask(struct toolcage_engine *engine, enum tc_job_kind kind, int plan,
                  struct tc_message *ret_message, int *ret_fd, struct toolcage_error **err);

/* What the helper's trials of every backend say. Fills *ret (zeroed); the caller's also on failure.
 */
int tc_engine_probe(struct toolcage_engine *engine, struct tc_outcome *ret,
                    struct toolcage_error **err);
/* The same, asked for once in an engine's life. Borrows from the engine. */
int tc_engine_probes(struct toolcage_engine *engine, const struct tc_outcome **ret,
                     struct toolcage_error **err);

/* The jobs that are no calls: they wait for the helper. */
int tc_engine_changes(struct toolcage_engine *engine, const char *call, const char *action,
                      size_t path_count, const char *const paths[], char **ret_json,
                      struct toolcage_error **err);
int tc_engine_sessions(struct toolcage_engine *engine, const char *name, const char *action,
                       char **ret_json, struct toolcage_error **err);
int tc_engine_doctor(struct toolcage_engine *engine, char **ret_json, struct toolcage_error **err);
int tc_engine_clean(struct toolcage_engine *engine, uint32_t *ret_removed,
                    struct toolcage_error **err);

/* errand.c */
/* What locators look by; its kvm is the caller's. Borrows. */
struct tc_search tc_errand_search(struct toolcage_engine *engine);
/* As tc_errand_fn; without an engine (NULL) it makes one of its own. */
int tc_errand_run(struct toolcage_engine *engine, const struct tc_errand *errand,
                  struct tc_errand_end *ret, struct toolcage_error **err);

/* launch.c: starts the helper without the host ever having a child. */

/* The helper's code, in a program that holds it: the first helper is then a fork of that program.
 * Set by a process of one thread, before it reads anything that a cage must not have. Gets the
 * directory of the user's state, or NULL, and never returns. NULL: the helper is a program. */
extern void (*tc_launch_within)(const char *state);

/* Finds the helper beside the loaded library, checks it and starts it with `sock` and `host` (a
 * pidfd of this process) as its descriptors. Both stay the caller's. */
int tc_launch_helper(int sock, int host, struct toolcage_error **err);

/* The same with a program given by name: the half of it that has no rule about places. */
int tc_launch_program(const char *path, int sock, int host, struct toolcage_error **err);

#endif
