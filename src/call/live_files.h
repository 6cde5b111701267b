/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * File actions in live sessions, and their streams (include/toolcage/session.h). */
#ifndef TC_CALL_LIVE_FILES_H
#define TC_CALL_LIVE_FILES_H

#include <toolcage/session.h>

#include "call/call.h"

int tc_live_put(struct toolcage_call *call, const char *path, unsigned mode, unsigned flags,
                int *ret_stream, struct toolcage_error **err);
int tc_live_get(struct toolcage_call *call, const char *path, int64_t most, unsigned flags,
                int *ret_stream, struct toolcage_error **err);
int tc_live_list(struct toolcage_call *call, const char *path, int *ret_stream,
                 struct toolcage_error **err);
int tc_live_stat(struct toolcage_call *call, const char *path, struct toolcage_error **err);
int tc_live_remove(struct toolcage_call *call, const char *path, unsigned flags,
                   struct toolcage_error **err);
int tc_stream_send(int stream, int fd, const char *name, struct toolcage_error **err);
int tc_stream_receive(int stream, int fd, const char *name, int64_t most,
                      struct toolcage_received *ret, struct toolcage_error **err);

#endif
