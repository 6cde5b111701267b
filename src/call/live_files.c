/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/live_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <toolcage/session.h>

#include "transfer/transfer.h"

/* ---- actions ---- */

static int fail_usage(struct toolcage_error **err, const char *subject, const char *hint,
                      const char *message)
{
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "session", subject, hint), "%s", message);
}

static int check_action(const struct toolcage_call *call, const char *path, unsigned flags,
                        struct toolcage_error **err)
{
    int r = tc_call_check_new(call, "session", err);
    if (r < 0)
        return r;
    if (!call->live_in[0])
        return fail_usage(err, call->id, "make it with toolcage_session_call()",
                          "only a call in a live session can be a file action");
    if (call->argv.count || call->input.given || call->rows)
        return fail_usage(err, call->id, "make a call for each action",
                          "the call has a command, standard input or a terminal");
    if (!path[0] || flags & ~(unsigned)TOOLCAGE_TREE)
        return fail_usage(err, call->id,
                          "give the path of a file in the session, and no flag but "
                          "TOOLCAGE_TREE",
                          "a file action needs a path and known flags");
    return 0;
}

/* The stream is a socket, so that an end of it never raises SIGPIPE in this process. */
static int open_stream(struct toolcage_call *call, int *ret_stream, struct toolcage_error **err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return tc_fail(err,
                       TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "session", "stream", errno,
                                    "raise the limit of open files (ulimit -n)"),
                       "cannot create the stream of a file action");
    call->input.pipe = pair[0];
    call->input.given = true;
    *ret_stream = pair[1];
    return 0;
}

static int set_action(struct toolcage_call *call, const char *action, const char *path,
                      const char *more, int *ret_stream, struct toolcage_error **err)
{
    const char *const argv[] = {action, path, more};
    int r = tc_call_set_command(call, more ? 3 : 2, argv, err);
    if (r == 0 && ret_stream)
        r = open_stream(call, ret_stream, err);
    call->live_file = r == 0;
    return r;
}

int tc_live_put(struct toolcage_call *call, const char *path, unsigned mode, unsigned flags,
                int *ret_stream, struct toolcage_error **err)
{
    char text[16];
    int r = check_action(call, path, flags, err);
    if (r == 0 && mode & ~0777U)
        r = fail_usage(err, "mode", "give permissions from 0 to 0777",
                       "a file in a session has no special mode bits");
    if (r < 0)
        return r;
    (void)snprintf(text, sizeof(text), "%04o", mode);
    return flags & TOOLCAGE_TREE ? set_action(call, "put-tree", path, NULL, ret_stream, err)
                                 : set_action(call, "put", path, text, ret_stream, err);
}

int tc_live_get(struct toolcage_call *call, const char *path, int64_t most, unsigned flags,
                int *ret_stream, struct toolcage_error **err)
{
    char text[32];
    int r = check_action(call, path, flags, err);
    if (r == 0 && most <= 0)
        r = fail_usage(err, "limit", "give the most bytes to receive",
                       "reading from a session needs a limit");
    if (r < 0)
        return r;
    (void)snprintf(text, sizeof(text), "%" PRId64, most);
    return set_action(call, flags & TOOLCAGE_TREE ? "get-tree" : "get", path, text, ret_stream,
                      err);
}

int tc_live_list(struct toolcage_call *call, const char *path, int *ret_stream,
                 struct toolcage_error **err)
{
    int r = check_action(call, path, 0, err);
    return r < 0 ? r : set_action(call, "list", path, NULL, ret_stream, err);
}

int tc_live_stat(struct toolcage_call *call, const char *path, struct toolcage_error **err)
{
    int r = check_action(call, path, 0, err);
    return r < 0 ? r : set_action(call, "stat", path, NULL, NULL, err);
}

int tc_live_remove(struct toolcage_call *call, const char *path, unsigned flags,
                   struct toolcage_error **err)
{
    int r = check_action(call, path, flags, err);
    return r < 0 ? r
                 : set_action(call, flags & TOOLCAGE_TREE ? "remove-tree" : "remove", path, NULL,
                              NULL, err);
}

/* ---- streams ---- */

static int fail_transfer(const struct tc_transfer_state *t, struct toolcage_error **err)
{
    const char *hint = t->broken ? "the result of the call has the reason"
                                 : "check the file, the directory and the space on its disk";
    return tc_fail(err,
                   TC_WHY_ERRNO(t->broken ? TOOLCAGE_EBACKEND : TOOLCAGE_ESYSTEM, "session",
                                t->subject[0] ? t->subject : "stream", t->errnum, hint),
                   "%s%s%s", t->subject, t->subject[0] ? ": " : "", t->fault);
}

int tc_stream_send(int stream, int fd, const char *name, struct toolcage_error **err)
{
    struct tc_transfer_state t;
    tc_transfer_init(&t, stream, INT64_MAX);
    int rc = name ? tc_transfer_send_tree(&t, fd, name) : tc_transfer_send(&t, fd);
    return rc < 0 ? fail_transfer(&t, err) : 0;
}

int tc_stream_receive(int stream, int fd, const char *name, int64_t most,
                      struct toolcage_received *ret, struct toolcage_error **err)
{
    struct tc_transfer_state t;
    tc_transfer_init(&t, stream, most);
    t.confines = true;
    int rc = name ? tc_transfer_receive_tree(&t, fd, name) : tc_transfer_receive(&t, fd);
    if (rc < 0)
        return fail_transfer(&t, err);
    if (ret) {
        *ret = (struct toolcage_received){
            .bytes = t.bytes, .entries = t.names, .mode = t.mode & 0755, .left_out = t.left_out};
        memcpy(ret->sha256, t.digest + strlen("sha256:"), sizeof(ret->sha256));
    }
    return 0;
}
