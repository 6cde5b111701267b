/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call: one run of one tool, in its own cage.
 *
 *   1. toolcage_call_new()         engine + policy + tool name
 *   2. toolcage_call_set…()        command or arguments, stdin, narrowing
 *   3. toolcage_call_start()       the grant is resolved and sent to the helper
 *   4. toolcage_call_fd() + toolcage_call_dispatch() in your loop, or toolcage_call_wait()
 *   5. toolcage_call_result()
 *
 * If a call is refused (by policy, or because this host cannot enforce a clause), these functions
 * succeed, and the call has a result whose status is "denied" or "error". Functions fail only for
 * misuse, lack of memory or a lost helper.
 *
 * One thread at a time may use a call, except toolcage_call_cancel(), which any thread may call. */
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

/* A new call of `tool` (copied), or with NULL of a bare command under [defaults]. Takes references
 * to engine and policy. A tool that is not in the policy is TOOLCAGE_ENOT_FOUND.
 *
 * "server.NAME" runs an MCP server of the policy. With an output callback all its output is
 * delivered, whatever the output limit, and the result contains none of it; the server blocks
 * while the host does not dispatch. "server.NAME.tool.TOOL" is one of the server's tools: it
 * does not run, but toolcage_call_explain_json() checks arguments for it. */
int toolcage_call_new(struct toolcage_engine *engine, struct toolcage_policy *policy,
                      const char *tool, struct toolcage_call **ret, struct toolcage_error **err);

/* Ends the call (a running one is cancelled, its cage killed) and frees it. Returns NULL; NULL is
 * fine. */
struct toolcage_call *toolcage_call_unref(struct toolcage_call *call);

/* The call's id, a ULID. Borrows. */
const char *toolcage_call_id(const struct toolcage_call *call);

/* The command to run instead of the tool's default; copies argc strings. Under a policy file a
 * tool that has a command refuses this (TOOLCAGE_EDENIED): the operator decides what a tool
 * runs. */
int toolcage_call_set_command(struct toolcage_call *call, size_t argc, const char *const argv[],
                              struct toolcage_error **err);

/* The model's arguments, a JSON object as text (copied); checked against the tool's schema at
 * start. */
int toolcage_call_set_arguments_json(struct toolcage_call *call, const char *json,
                                     struct toolcage_error **err);

/* Narrows the call. `key` is a policy key as the CLI's flags spell it, `value` its text:
 * "timeout" "30s", "memory" "512MiB", "read" "/path", "write" "/path=from", "network" "none",
 * "env" "NAME=value", "cwd", "workspace", "pids", "disk", "cpus", "cpu_time", "open_files",
 * "output", "denials" ("calls", "paths", "accesses", "off"), "backend". For a tool of a policy a
 * value can only reduce the grant (TOOLCAGE_EDENIED otherwise); for a bare command under the
 * default policy "read", "write" and "network" can also add to it. "replay" with the id of a
 * recorded call says that this one repeats it: it reaches no network and no unix sockets of the
 * host, writes no changes to the host, and the audit log keeps no inputs of it. "exchanges" with
 * the digest in the result of that recorded call answers its HTTP requests from their record; then
 * it sees the network of its grant, and every other request is refused. Errors: TOOLCAGE_EPOLICY
 * for a value that does not parse, TOOLCAGE_EUSAGE for an unknown key. */
int toolcage_call_set(struct toolcage_call *call, const char *key, const char *value,
                      struct toolcage_error **err);

/* Runs the call in a session. The call starts with the private /tmp and the uncommitted workspace
 * changes (overlay) of the session's last call, and saves both for the next call. Processes and
 * environment are not saved. All calls of a session must have the same grant (their commands may
 * differ): a call with another grant is refused (TOOLCAGE_EDENIED in the result), and so is a
 * second call at the same time. A session adds nothing to a grant. `name` (copied) is up to 64
 * letters, digits, dots, dashes and underscores and does not start with a dot or a dash; else
 * TOOLCAGE_EUSAGE. Before start only. */
int toolcage_call_set_session(struct toolcage_call *call, const char *name,
                              struct toolcage_error **err);

/* Bytes for the tool's standard input (copied); none make it an empty pipe. Without this and
 * without toolcage_call_open_stdin() standard input is /dev/null: programs such as ripgrep search
 * a pipe instead of the working directory. */
int toolcage_call_set_stdin(struct toolcage_call *call, const void *bytes, size_t length,
                            struct toolcage_error **err);

/* Makes standard input a pipe. *ret_fd (close-on-exec, blocking) is the write end, which the
 * caller writes to and closes. Before start only. */
int toolcage_call_open_stdin(struct toolcage_call *call, int *ret_fd, struct toolcage_error **err);

/* Gives the tool a terminal instead of three pipes: a pty of this size, private to the cage, as
 * the controlling terminal of the tool's session. For interactive use: the call needs a command,
 * which may replace the tool's command under the same grant, and arguments may be omitted. Bytes
 * written to the pipe of toolcage_call_open_stdin() are typed into the terminal;
 * toolcage_call_set_stdin() is TOOLCAGE_EUSAGE. Output is stream 1 and includes control
 * sequences: filter it before you show it on a terminal. With an output callback all output is
 * delivered, whatever the output limit (unless that kills), and the result contains none of it;
 * the tool blocks while the host does not dispatch. A backend without terminals refuses the
 * call. Before start only. */
int toolcage_call_set_terminal(struct toolcage_call *call, int rows, int columns,
                               struct toolcage_error **err);

/* The new size of the call's terminal, before start or while the tool runs; the tool receives
 * SIGWINCH. Never blocks. TOOLCAGE_ESYSTEM when the helper has not yet processed earlier sizes:
 * then try again. TOOLCAGE_EUSAGE: the call has no terminal, or a size is outside 1 to 65535. */
int toolcage_call_resize(struct toolcage_call *call, int rows, int columns,
                         struct toolcage_error **err);

/* Called from dispatch and wait, on their thread, with output as it arrives: stream is 1 or 2.
 * Only output within the output limit is delivered. */
typedef void (*toolcage_output_fn)(void *userdata, int stream, const void *bytes, size_t length);
int toolcage_call_set_output_callback(struct toolcage_call *call, toolcage_output_fn fn,
                                      void *userdata, struct toolcage_error **err);

/* Resolves the grant and sends the call to the helper; returns at once. A refused call is
 * finished immediately. */
int toolcage_call_start(struct toolcage_call *call, struct toolcage_error **err);

/* A file descriptor to poll for reading; it stays the same for the call's life and needs no
 * timeout. Borrowed. Negative TOOLCAGE_E… before start. */
int toolcage_call_fd(const struct toolcage_call *call);

/* Processes pending events without blocking: 1 when the result is available, 0 when not yet,
 * negative on failure. */
int toolcage_call_dispatch(struct toolcage_call *call, struct toolcage_error **err);

/* Dispatches until the result is available or `timeout_ms` have passed (-1: no limit). 1 done, 0
 * not yet. */
int toolcage_call_wait(struct toolcage_call *call, int timeout_ms, struct toolcage_error **err);

/* Start and wait in one. */
int toolcage_call_run(struct toolcage_call *call, struct toolcage_error **err);

/* How many changes the helper has collected since the tool ended, and applied if the policy applies
 * them; -1: it does not collect, or has done so for less than half a second. Updated by dispatch
 * and wait; a host can show it while a long collection delays the result. */
int64_t toolcage_call_collected(const struct toolcage_call *call);

/* Requests the end of the call from the helper: SIGTERM, grace period, SIGKILL. Any thread;
 * before start the call ends as cancelled when started. The caller must still wait for the
 * result. */
int toolcage_call_cancel(struct toolcage_call *call);

/* The result, or NULL while there is none. Borrowed: lives as long as the call. */
const struct toolcage_result *toolcage_call_result(const struct toolcage_call *call);

/* The request for a person's approval of a call of tier HumanApprove or ManualOnly; runs nothing.
 * Such a call is denied unless a person has approved exactly this call: before start, get the
 * request, show it to a person, and pass the answer to toolcage_call_approve() or
 * toolcage_call_deny(). The host asks the person in its own way; a model must have no part in it. A
 * call of tier ManualOnly must not come from a model at all: only a person starts it.
 *
 * *ret_json is {"needed": false} if the call runs without an approval, else {"needed": true,
 * "digest", "expires_s", "subject": {"version": 1, "tool", "tier", "policy" and "grant" (digests),
 * "backend" (the chosen one), "command", "input" or "input_base64" (the bytes of standard input),
 * "pipe": true (the caller's pipe, whose content is not covered), "arguments" (these absent without
 * any), "read", "write", "unix_sockets", "files", "cwd": [{"path", "device", "inode", "mode",
 * "uid", "gid"}], "network": ["host:port"], "secrets" and "environment" (names), "umask"}}. Granted
 * paths are the tool's, with the host's in "from"; the others are the host's. "files" are the
 * executed ones, and those that the arguments or elements of "command" name, with "bytes"
 * and "digest"; a missing one has inode 0. What these files load further is not covered. Fails if a
 * file cannot be read or all have more than 256 MiB, in a session, and for most reasons for which
 * start would refuse the call. The caller frees *ret_json (toolcage_free). */
int toolcage_call_approval_json(struct toolcage_call *call, char **ret_json,
                                struct toolcage_error **err);

/* A person approves the request with this digest (copied). At start the subject is computed again:
 * if anything in it has changed, or this function was called longer ago than "expires_s", the call
 * is denied. Equal calls have equal digests: a host passes each person's answer on once, and soon.
 * TOOLCAGE_EUSAGE: that is no digest, the call was refused, or it was started. */
int toolcage_call_approve(struct toolcage_call *call, const char *digest,
                          struct toolcage_error **err);

/* The same for a person's answer that holds for equal calls, too, for as long as the person said:
 * this is the `count`-th call that the answer approves again, counted from 1. The audit log records
 * the number as `approval_again`. A host repeats an answer only if the person has asked for that,
 * and only for a request with the same digest. Thread-safety and errors as above; also
 * TOOLCAGE_EUSAGE: `count` is negative. */
int toolcage_call_approve_again(struct toolcage_call *call, const char *digest, int64_t count,
                                struct toolcage_error **err);

/* A person refuses: the call is denied at start. `reason` (copied) is part of the result's message
 * for the model; NULL: none. TOOLCAGE_EUSAGE: the call was started. */
int toolcage_call_deny(struct toolcage_call *call, const char *reason, struct toolcage_error **err);

/* Records in the audit log that a model requested a tool of the server that this call runs, for a
 * host that passes such requests on (toolcage wrap). `arguments` is JSON text, NULL: none;
 * `refusal` is why the request is not passed on, NULL: it is. All are copied. 0, also if the policy
 * has no [audit]; negative: nothing was recorded, and the request must not be passed on.
 * TOOLCAGE_EUSAGE: the call does not run. */
int toolcage_call_record_request(struct toolcage_call *call, const char *tool,
                                 const char *arguments, const char *refusal,
                                 struct toolcage_error **err);

/* The resolved grant as text or JSON, without running anything: `explain` prints what the cage
 * enforces. `access` is NULL, or "read P", "write P", "exec P", "connect H:P" to query one
 * access. Without arguments, an access is allowed if some arguments grant it, and "arguments"
 * lists what they may name: [{"argument", "access", "below" (or "host"), "line"}]. With an access
 * the JSON has "verdict": {"access", "target", "allowed", "key", "line", "entry"
 * (which entry of that key, or null), "clause" (what a backend must enforce for it), "reason",
 * "hint"}, "chosen_by": {"why", "key", "line"} for the choice of the backend, and, if the access
 * is allowed, "here": {"held", "backend", "reason"}: a backend that enforces it on this host, or
 * why none does. A line of another file than the first comes with "file", and in the verdict
 * with "extended_by": [{"file", "line"}]. "within" is the ceiling's name, or null. The caller
 * frees *ret_json (toolcage_free). */
int toolcage_call_explain_json(struct toolcage_call *call, const char *access, char **ret_json,
                               struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
