/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The exported functions of live sessions (toolcage/session.h). */
#include <toolcage/session.h>

#include "api.h"
#include "call/live.h"
#include "call/live_files.h"
#include "call/ports.h"

EXPORT int toolcage_session_open(struct toolcage_call *call, int64_t idle_ms, int64_t lifetime_ms,
                                 struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_live_open(call, idle_ms, lifetime_ms, err), err);
}

EXPORT int toolcage_session_wait(struct toolcage_call *session, int timeout_ms,
                                 struct toolcage_error **err)
{
    NEED(session);
    return closed(tc_live_wait(session, timeout_ms, err), err);
}

EXPORT int toolcage_session_call(const struct toolcage_call *session, struct toolcage_call **ret,
                                 struct toolcage_error **err)
{
    NEED(session);
    NEED(ret);
    return closed(tc_live_call(session, ret, err), err);
}

EXPORT int toolcage_session_shell(struct toolcage_call *call, const char *text,
                                  struct toolcage_error **err)
{
    NEED(call);
    NEED(text);
    return closed(tc_live_shell(call, text, err), err);
}

EXPORT int toolcage_session_signal(struct toolcage_call *call, int number,
                                   struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_live_signal(call, number, err), err);
}

EXPORT int toolcage_session_ports_json(const struct toolcage_call *session, char **ret_json,
                                       struct toolcage_error **err)
{
    NEED(session);
    NEED(ret_json);
    return closed(tc_ports_json(session, ret_json, err), err);
}

EXPORT int toolcage_session_end(struct toolcage_call *session, struct toolcage_error **err)
{
    NEED(session);
    return closed(tc_live_end(session, err), err);
}

EXPORT int toolcage_session_put(struct toolcage_call *call, const char *path, unsigned mode,
                                unsigned flags, int *ret_stream, struct toolcage_error **err)
{
    NEED(call);
    NEED(path);
    NEED(ret_stream);
    return closed(tc_live_put(call, path, mode, flags, ret_stream, err), err);
}

EXPORT int toolcage_session_get(struct toolcage_call *call, const char *path, int64_t most,
                                unsigned flags, int *ret_stream, struct toolcage_error **err)
{
    NEED(call);
    NEED(path);
    NEED(ret_stream);
    return closed(tc_live_get(call, path, most, flags, ret_stream, err), err);
}

EXPORT int toolcage_session_list(struct toolcage_call *call, const char *path, int *ret_stream,
                                 struct toolcage_error **err)
{
    NEED(call);
    NEED(path);
    NEED(ret_stream);
    return closed(tc_live_list(call, path, ret_stream, err), err);
}

EXPORT int toolcage_session_stat(struct toolcage_call *call, const char *path,
                                 struct toolcage_error **err)
{
    NEED(call);
    NEED(path);
    return closed(tc_live_stat(call, path, err), err);
}

EXPORT int toolcage_session_remove(struct toolcage_call *call, const char *path, unsigned flags,
                                   struct toolcage_error **err)
{
    NEED(call);
    NEED(path);
    return closed(tc_live_remove(call, path, flags, err), err);
}

EXPORT int toolcage_stream_send(int stream, int fd, const char *name, struct toolcage_error **err)
{
    return closed(tc_stream_send(stream, fd, name, err), err);
}

EXPORT int toolcage_stream_receive(int stream, int fd, const char *name, int64_t most,
                                   struct toolcage_received *ret, struct toolcage_error **err)
{
    return closed(tc_stream_receive(stream, fd, name, most, ret, err), err);
}
