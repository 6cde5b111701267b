/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call: one run of one tool, in a cage of its own.
 *
 *   1. toolcage_call_new()         engine + policy + tool name
 *   2. toolcage_call_set…()        command or arguments, stdin, narrowing
 *   3. toolcage_call_start()       the grant is resolved and sent to the helper
 *   4. toolcage_call_fd() + toolcage_call_dispatch() in your loop, or toolcage_call_wait()
 *   5. toolcage_call_result()
 *
 * A call that is refused (by policy, or because this machine cannot enforce a clause) is not an
 * error of these functions: it has a result whose status is "denied" or "error". Functions fail
 * only for misuse, lack of memory or a lost helper.
 *
 * One thread at a time may use a call, except toolcage_call_cancel(), which any thread may call.
 */
#ifndef TOOLCAGE_CALL_H
#define TOOLCAGE_CALL_H

#include <stddef.h>
#include <stdint.h>
#include <toolcage/engine.h>
#include <toolcage/policy.h>
#include <toolcage/result.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toolcage_call;

/* A new call of `tool` (copied), or with NULL of a bare command under [defaults]. Refs engine and
 * policy. A tool that the policy does not have is TOOLCAGE_ENOT_FOUND.
 *
 * "server.NAME" stands for an MCP server of the policy. With an output callback all that it writes
 * is delivered, whatever the output limit, and nothing of it is kept for the result; a server whose
 * host does not dispatch waits. "server.NAME.tool.TOOL" stands for one of its tools: it does not
 * run, but toolcage_call_explain_json() checks arguments for it. */
int toolcage_call_new(struct toolcage_engine *engine, struct toolcage_policy *policy,
                      const char *tool, struct toolcage_call **ret, struct toolcage_error **err);

/* Ends the call (a running one is cancelled, its cage killed) and frees it. Returns NULL; NULL is
 * fine. */
struct toolcage_call *toolcage_call_unref(struct toolcage_call *call);

/* The call's id, a ULID. Borrows. */
const char *toolcage_call_id(const struct toolcage_call *call);

/* The command to run in place of the tool's own; copies argc strings. Under a policy file a tool
 * with a command of its own refuses this (TOOLCAGE_EDENIED): grants belong to the operator. */
int toolcage_call_set_command(struct toolcage_call *call, size_t argc, const char *const argv[],
                              struct toolcage_error **err);

/* The model's arguments, a JSON object as text (copied); checked against the tool's schema at
 * start. */
int toolcage_call_set_arguments_json(struct toolcage_call *call, const char *json,
                                     struct toolcage_error **err);

/* Narrows the call. `key` is a policy key's name as the CLI's flags spell it, `value` its text:
 * "timeout" "30s", "memory" "512MiB", "read" "/path", "write" "/path=from", "network" "none", "env"
 * "NAME=value", "cwd", "workspace", "pids", "disk", "cpus", "cpu_time", "open_files", "output",
 * "denials" ("calls", "paths", "accesses", "off"), "backend". Where a policy tool is named a value
 * can only take away (TOOLCAGE_EDENIED otherwise); a bare command under the default policy may be
 * granted "read", "write" and "network". Errors: TOOLCAGE_EPOLICY for a value that does not parse,
 * TOOLCAGE_EUSAGE for an unknown key. */
int toolcage_call_set(struct toolcage_call *call, const char *key, const char *value,
                      struct toolcage_error **err);

/* The call continues where the last call of this session ended, with its private /tmp and its
 * uncommitted changes to an overlaid workspace, and what it leaves of them is kept for the next.
 * Nothing else is: no process, no environment. All calls of a session have one
 * grant (their commands may differ), and it grants nothing: another grant under the same name is
 * refused (TOOLCAGE_EDENIED in the result), and so is a second call at the same time. `name`
 * (copied) is up to 64 letters, digits, dots, dashes and underscores, without a dot or a dash
 * first; else TOOLCAGE_EUSAGE. Before start only. */
int toolcage_call_set_session(struct toolcage_call *call, const char *name,
                              struct toolcage_error **err);

/* Bytes for the tool's standard input (copied). Without this and without
 * toolcage_call_open_stdin() the tool reads end-of-file. */
int toolcage_call_set_stdin(struct toolcage_call *call, const void *bytes, size_t length,
                            struct toolcage_error **err);

/* Makes standard input a pipe whose write end the host feeds: *ret_fd (close-on-exec, blocking) is
 * the caller's to write and close. Before start only. */
int toolcage_call_open_stdin(struct toolcage_call *call, int *ret_fd, struct toolcage_error **err);

/* Gives the tool a terminal in place of three pipes: a pty that is the cage's own, of this size,
 * which controls the tool's session. For a person: the call needs a command, which may then stand
 * in place of the tool's own under the same grant, and arguments may be left out. What is written
 * into toolcage_call_open_stdin() is typed there; toolcage_call_set_stdin() is TOOLCAGE_EUSAGE.
 * Output is stream 1, control sequences and all: whoever shows it on a terminal of their own
 * filters it. With an output callback all of it is delivered, whatever the output limit (unless
 * that kills), and nothing of it is kept for the result; while the host does not dispatch the tool
 * waits. A backend that has no terminals refuses the call. Before start only. */
int toolcage_call_set_terminal(struct toolcage_call *call, int rows, int columns,
                               struct toolcage_error **err);

/* The new size of its terminal, before start or while it runs; the tool is told by SIGWINCH. Never
 * blocks. TOOLCAGE_ESYSTEM when the helper is behind with earlier sizes: then try again.
 * TOOLCAGE_EUSAGE: the call has no terminal, or this is no size (1 to 65535 each). */
int toolcage_call_resize(struct toolcage_call *call, int rows, int columns,
                         struct toolcage_error **err);

/* Called from dispatch and wait, on their thread, with output as it comes: stream is 1 or 2. Only
 * the part that the output limit keeps is delivered. */
typedef void (*toolcage_output_fn)(void *userdata, int stream, const void *bytes, size_t length);
int toolcage_call_set_output_callback(struct toolcage_call *call, toolcage_output_fn fn,
                                      void *userdata, struct toolcage_error **err);

/* Resolves the grant and hands the call to the helper; returns at once. A refusal is a finished
 * call. */
int toolcage_call_start(struct toolcage_call *call, struct toolcage_error **err);

/* A descriptor to poll for reading; stays the same for the call's life and needs no timeout.
 * Borrowed. Negative TOOLCAGE_E… before start. */
int toolcage_call_fd(const struct toolcage_call *call);

/* Does what is ready, never blocks: 1 when the result is there, 0 when not yet, negative on
 * failure. */
int toolcage_call_dispatch(struct toolcage_call *call, struct toolcage_error **err);

/* Dispatches until the result is there or `timeout_ms` have passed (-1: no limit). 1 done, 0 not
 * yet. */
int toolcage_call_wait(struct toolcage_call *call, int timeout_ms, struct toolcage_error **err);

/* Start and wait in one. */
int toolcage_call_run(struct toolcage_call *call, struct toolcage_error **err);

/* Asks the helper to end the call: TERM, grace, KILL. Any thread; before start the call ends as
 * cancelled when started. The result still has to be waited for. */
int toolcage_call_cancel(struct toolcage_call *call);

/* The result, or NULL while there is none. Borrowed: lives as long as the call. */
const struct toolcage_result *toolcage_call_result(const struct toolcage_call *call);

/* The resolved grant as text or JSON, without running anything: what `explain` prints is what the
 * cage executes. `access` is NULL, or "read P", "write P", "exec P", "connect H:P" to ask about one
 * access: the JSON then has "verdict": {"access", "target", "allowed", "key", "line", "entry"
 * (which one of that key, or null), "clause" (what a backend must enforce for it), "reason",
 * "hint"}, "chosen_by": {"why", "key", "line"}, what chose the backend, and, if it is allowed,
 * "here":
 * {"held", "backend", "reason"}: a backend that enforces it on this machine, or why none does. A
 * line of another file than the first has "file" beside it, and in the verdict "extended_by":
 * [{"file", "line"}]. "within" is the ceiling's name, or null. *ret_json is the caller's
 * (toolcage_free). */
int toolcage_call_explain_json(struct toolcage_call *call, const char *access, char **ret_json,
                               struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
