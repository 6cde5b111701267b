/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A live session: a cage that stays, in which many commands run.
 *
 *   1. toolcage_call_new()            a call whose grant is the session's
 *   2. toolcage_session_open()        it runs no command and becomes a session
 *   3. toolcage_call_start(), toolcage_session_wait()
 *   4. toolcage_session_call()        a call for each command, narrowed and run like any other call
 *   5. toolcage_session_end(), toolcage_call_wait()
 *
 * The session is a call: it has one result, with the changes of all commands, and ends when it is
 * cancelled or freed. Its commands share its processes, files, private /tmp, network and limits
 * (memory, pids, cpu_time, disk, transfer): they are not isolated from each other. Each command has
 * its own streams or terminal, timeout, output limit and result. Processes that a command leaves
 * behind run until the session ends. (toolcage_call_set_session() is something else: it stores
 * files between calls whose cages end.)
 *
 * Thread-safety: as for calls. All functions below belong to the thread of the session; other
 * threads may use the calls that toolcage_session_call() returns. */
#ifndef TOOLCAGE_SESSION_H
#define TOOLCAGE_SESSION_H

#include <stdint.h>
#include <toolcage/call.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Before start: makes the call a live session. It ends `idle_ms` after the end of its last command,
 * or `lifetime_ms` after its start, by the monotonic clock of this host; its result is then "ok".
 * Under a policy file the tool's session_lifetime bounds lifetime_ms, and is its value if that is 0
 * (without a policy file: 8 hours); a tool without session_lifetime has no live sessions
 * (TOOLCAGE_EDENIED in the result). The tool may have no command, and the call no command,
 * arguments, input, terminal or stored session: TOOLCAGE_EUSAGE, as for a time that is not from 1
 * to 2592000000 (30 days). Without a `mode` in the policy, commands write to the workspace in
 * place. Tools that need an approval have no live sessions, and only backend process does. */
int toolcage_session_open(struct toolcage_call *call, int64_t idle_ms, int64_t lifetime_ms,
                          struct toolcage_error **err);

/* After start: dispatches until the session accepts commands, or has ended (it was refused, or its
 * time is over): then toolcage_call_result() is not NULL. At most `timeout_ms` (-1: no limit).
 * 1, or 0: not yet. */
int toolcage_session_wait(struct toolcage_call *session, int timeout_ms,
                          struct toolcage_error **err);

/* A new call that runs in the session, of the same engine, policy and tool and with the same
 * narrowing; the caller sets its command, starts it and frees it like any other call. Of the
 * narrowing keys it accepts "timeout", "output", "env" and "cwd". Its result has "live_session",
 * the id of the session's call, and its denials are those of the whole session while it ran. When
 * its time is over, its processes end (SIGTERM, grace period, SIGKILL), except those that left the
 * command's terminal session and whose parent has ended. TOOLCAGE_EUSAGE: the session was not
 * started, or does not accept commands yet. If it has ended, the call has a result with the error
 * TOOLCAGE_ENOT_FOUND. */
int toolcage_session_call(const struct toolcage_call *session, struct toolcage_call **ret,
                          struct toolcage_error **err);

/* Before start: the command of a call of toolcage_session_call() is this text for a shell: bash if
 * the cage has it, else sh. It continues in the directory, and with the exported variables and the
 * umask, that the last command of the session's shell left; with bash also with other variables,
 * functions, aliases and shopt options. Options of `set` are not kept. Of commands that run at
 * once, the last one to end decides. A command that is killed, or replaces its shell with exec,
 * changes nothing for the next, as one whose variables and functions need more than 4 MiB. The
 * state stays in the cage. Copies the text. */
int toolcage_session_shell(struct toolcage_call *call, const char *text,
                           struct toolcage_error **err);

/* After start: sends a signal (1 to 64, as SIGUSR1) to the processes of a call of
 * toolcage_session_call(): those that are ended when its time is over. Never blocks. 0, also when
 * it has ended. TOOLCAGE_ESYSTEM when the helper has not yet processed earlier messages: then try
 * again. TOOLCAGE_EUSAGE: it was not started, or there is no such signal. */
int toolcage_session_signal(struct toolcage_call *call, int number, struct toolcage_error **err);

/* Requests the end of the session from the helper: SIGTERM for its processes, grace period,
 * SIGKILL. The result is "ok"; wait for it. Commands that still run get these signals, too. 0, also
 * when it has ended. TOOLCAGE_EUSAGE: it was not started. */
int toolcage_session_end(struct toolcage_call *session, struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
