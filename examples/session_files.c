/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A live session in one thread: puts standard input into it, sorts the lines there, and gets the
 * result as standard output.
 *
 *     session_files <LINES >SORTED
 */
#include <stdio.h>
#include <toolcage/session.h>
#include <toolcage/toolcage.h>
#include <unistd.h>

enum { MOST = 1 << 30, IDLE_MS = 60000 };

/* Waits for the call and frees it. 0, or -1 after an error message. */
static int finish(struct toolcage_call *call, struct toolcage_error **err)
{
    int rc = toolcage_call_wait(call, -1, err) < 0 ? -1 : 0;
    const struct toolcage_result *result = toolcage_call_result(call);
    if (rc == 0 && toolcage_result_shell_code(result) != 0) {
        fprintf(stderr, "%s\n", toolcage_result_json(result));
        rc = -1;
    }
    toolcage_call_unref(call);
    return rc;
}

/* Sends or receives the content of a file action whose stream is open. */
static int move_content(struct toolcage_call *call, int stream, int receives,
                        struct toolcage_error **err)
{
    int rc = toolcage_call_start(call, err);
    if (rc == 0)
        rc = receives ? toolcage_stream_receive(stream, STDOUT_FILENO, NULL, MOST, NULL, err)
                      : toolcage_stream_send(stream, STDIN_FILENO, NULL, err);
    close(stream);
    return finish(call, rc < 0 ? NULL : err) < 0 ? -1 : rc;
}

static int put(struct toolcage_call *session, const char *path, struct toolcage_error **err)
{
    struct toolcage_call *call;
    int stream;
    if (toolcage_session_call(session, &call, err) < 0 ||
        toolcage_session_put(call, path, 0644, 0, &stream, err) < 0)
        return -1;
    return move_content(call, stream, 0, err);
}

static int get(struct toolcage_call *session, const char *path, struct toolcage_error **err)
{
    struct toolcage_call *call;
    int stream;
    if (toolcage_session_call(session, &call, err) < 0 ||
        toolcage_session_get(call, path, MOST, 0, &stream, err) < 0)
        return -1;
    return move_content(call, stream, 1, err);
}

static int run_sort(struct toolcage_call *session, struct toolcage_error **err)
{
    static const char *const command[] = {"sort", "-o", "/tmp/sorted", "/tmp/lines"};
    struct toolcage_call *call;
    if (toolcage_session_call(session, &call, err) < 0 ||
        toolcage_call_set_command(call, 4, command, err) < 0 || toolcage_call_start(call, err) < 0)
        return -1;
    return finish(call, err);
}

static int start(struct toolcage_call *session, struct toolcage_error **err)
{
    if (toolcage_session_open(session, IDLE_MS, 0, err) < 0 ||
        toolcage_call_start(session, err) < 0 || toolcage_session_wait(session, -1, err) < 0)
        return -1;
    const struct toolcage_result *refused = toolcage_call_result(session);
    if (refused)
        fprintf(stderr, "%s\n", toolcage_result_json(refused));
    return refused ? -1 : 0;
}

int main(void)
{
    struct toolcage_error *err = NULL;
    struct toolcage_engine *engine = NULL;
    struct toolcage_policy *policy = NULL;
    struct toolcage_call *session = NULL;
    int code = 0;

    if (toolcage_engine_new(&engine, &err) < 0 || toolcage_policy_new_default(&policy, &err) < 0 ||
        toolcage_call_new(engine, policy, NULL, &session, &err) < 0 || start(session, &err) < 0 ||
        put(session, "/tmp/lines", &err) < 0 || run_sort(session, &err) < 0 ||
        get(session, "/tmp/sorted", &err) < 0)
        code = 125;
    if (err)
        fprintf(stderr, "%s", toolcage_error_report(err));
    toolcage_error_free(err);
    toolcage_call_unref(session);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    return code;
}
