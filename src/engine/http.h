/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * HTTP requests to a container engine over its unix socket. The engine may be slow, broken or
 * another program: each response is limited in time and size, and each failure has a message. */
#ifndef TC_ENGINE_HTTP_H
#define TC_ENGINE_HTTP_H

#include "base/buf.h"

enum {
    TC_ENGINE_HTTP_SOCKETS =
        3, /* one for the wait, one for other requests, one that the engine may close */
    TC_ENGINE_HTTP_BODY_MAX = 1 << 20,
    TC_ENGINE_HTTP_HEADERS_MAX = 64 << 10,
    TC_ENGINE_HTTP_SERVER_MAX = 64,
};

struct tc_engine_http;

/* A request body of `len` bytes. read() writes the bytes from `at` on; 0 or less ends the body. */
struct tc_engine_http_source {
    long (*read)(void *userdata, size_t at, char *to, size_t room);
    void *userdata;
    size_t len;
};

struct tc_engine_http_ask {
    const char *method, *path;
    const char *json;                           /* the body; NULL: none */
    const struct tc_engine_http_source *source; /* a tar as the body instead; NULL: none */
    int patience_ms;                            /* for the whole response; 0: no limit */
    int afterwards_ms;                          /* extra time after a hangup; 0: ends at once */
};

struct tc_engine_http_answer {
    long status;
    struct tc_buf body;
};
#define TC_ENGINE_HTTP_NO_ANSWER \
    ((struct tc_engine_http_answer){.body = {.max = TC_ENGINE_HTTP_BODY_MAX}})

enum tc_engine_http_end {
    TC_ENGINE_HTTP_ANSWERED,
    TC_ENGINE_HTTP_SILENT,  /* no complete response in time */
    TC_ENGINE_HTTP_BROKEN,  /* an invalid response */
    TC_ENGINE_HTTP_HUNG_UP, /* `hangup` was closed or became readable */
    TC_ENGINE_HTTP_MEMORY,
};

/* `socket`: an O_PATH fd of the engine's socket, opened by the helper. `hangup`: an fd whose end
 * aborts requests; -1: none. The caller closes both. NULL when out of memory. */
struct tc_engine_http *tc_engine_http_new(int socket, int hangup);
void tc_engine_http_free(struct tc_engine_http *http);
/* Sends a request and waits for the response. *ret_why: the cause, if there was no response;
 * static, or owned by `http` and valid until the next call. */
enum tc_engine_http_end tc_engine_http_ask(struct tc_engine_http *http,
                                           const struct tc_engine_http_ask *ask,
                                           struct tc_engine_http_answer *ret, const char **ret_why);
/* The engine's Server header, printable; "" before the first response. */
const char *tc_engine_http_server(const struct tc_engine_http *http);
void tc_engine_http_answer_done(struct tc_engine_http_answer *answer);

#endif
