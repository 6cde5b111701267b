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
 * A file action is a call of toolcage_session_call() that runs no program: instead of
 * toolcage_call_set_command() it gets one of the functions below, before start. A process of
 * toolcage in the session does the work, with the rights, timeout, denials and audit records of a
 * command. It follows no link: a link or ".." in `path` (copied; as the commands see it, a relative
 * one starts at "cwd") is an error. The result is "ok", or "failed" with the reason in stderr. Its
 * stdout is a line of JSON.
 *
 * The content goes over *ret_stream, a socket that the caller owns and passes to
 * toolcage_stream_send() or toolcage_stream_receive() after toolcage_call_start(); then it closes
 * the socket and waits for the result. A file that arrived is complete only if both succeed. All
 * functions: 0 or a negative code; TOOLCAGE_EUSAGE for a call that is not new, is not in a live
 * session, or has a command or input; TOOLCAGE_ESYSTEM, TOOLCAGE_EMEMORY.
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

/* The published ports of a session that accepts commands: {"ports":[{"port":3000,
 * "address":"127.0.0.1:40961","connections":2,"sent":1532,"received":310}]}, where the address is a
 * loopback address or unix:PATH on this host, and the numbers so far are those of the session's
 * side. Which ports are published is the policy's `publish`, or toolcage_call_set(call, "publish",
 * "3000:127.0.0.1:0") without a policy file. No ports: an empty list. *ret_json is owned by the
 * caller (toolcage_free()). TOOLCAGE_EUSAGE: the session does not accept commands yet. */
int toolcage_session_ports_json(const struct toolcage_call *session, char **ret_json,
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

/* ---- files ---- */

/* A flag: a directory with everything below it, instead of a file. */
#define TOOLCAGE_TREE 1U

/* Writes a file: the process writes a temporary file next to `path` and renames it when all bytes
 * have arrived. It replaces a regular file, nothing else. `mode` is from 0 to 0777. A directory
 * keeps the modes of its entries (`mode` is ignored), and `path` must not exist. The JSON has
 * "path", "bytes" and "sha256", or "entries". */
int toolcage_session_put(struct toolcage_call *call, const char *path, unsigned mode,
                         unsigned flags, int *ret_stream, struct toolcage_error **err);

/* Reads a regular file, or a directory of regular files, directories and links, of at most `most`
 * bytes. One that changes meanwhile is an error. The JSON is as for toolcage_session_put(). */
int toolcage_session_get(struct toolcage_call *call, const char *path, int64_t most, unsigned flags,
                         int *ret_stream, struct toolcage_error **err);

/* Lists a directory: the content is a line of JSON for each of the first 10,000 names, with "name"
 * (or "name_base64", if it is not UTF-8), "type" ("file", "directory", "link", "fifo", "socket",
 * "device"), "mode", "bytes", "modified" (seconds since 1970), and for a link "target" (or
 * "target_base64"). The JSON has "names" and "complete", false if there are more. */
int toolcage_session_list(struct toolcage_call *call, const char *path, int *ret_stream,
                          struct toolcage_error **err);

/* The JSON is one such line for the path itself. No stream. */
int toolcage_session_stat(struct toolcage_call *call, const char *path,
                          struct toolcage_error **err);

/* Removes a file, link or other name; with TOOLCAGE_TREE also a directory and everything below it.
 * No stream. */
int toolcage_session_remove(struct toolcage_call *call, const char *path, unsigned flags,
                            struct toolcage_error **err);

/* Sends all bytes of `fd`, or with a `name` the directory of this name in the directory `fd`
 * (both borrowed). Blocks; needs no engine, and any thread may call it. To interrupt it, call
 * shutdown() for the stream. Never raises SIGPIPE. TOOLCAGE_EBACKEND: the other side has ended.
 * TOOLCAGE_ESYSTEM: the source cannot be read, or changed meanwhile. */
int toolcage_stream_send(int stream, int fd, const char *name, struct toolcage_error **err);

/* What was received: bytes of files, and of a directory the number of entries. */
struct toolcage_received {
    int64_t bytes, entries;
    int64_t left_out; /* links that lead out of the directory; not created */
    unsigned mode;    /* of a file, without write permission for group and others */
    char sha256[65];  /* of the file's bytes, or of the stream of a directory */
};

/* Receives at most `most` bytes and writes them to `fd`, or with a `name` into a new directory of
 * this name in the directory `fd`, which does not exist after an error. Compares size and SHA-256
 * with those that the other side sent. Otherwise as toolcage_stream_send(). A new regular file gets
 * holes where the source has them. `fd` may be a pipe: block SIGPIPE if its reader may end. *ret
 * (may be NULL) is set on success. */
int toolcage_stream_receive(int stream, int fd, const char *name, int64_t most,
                            struct toolcage_received *ret, struct toolcage_error **err);

#ifdef __cplusplus
}
#endif
#endif
