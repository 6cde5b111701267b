/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Requests to a container engine over its unix socket. The engine is believed to be slow, broken or
 * no engine at all: every answer is bounded in time and size, and what is wrong with one is said in
 * words. */
#ifndef TC_ENGINE_HTTP_H
#define TC_ENGINE_HTTP_H

#include "base/buf.h"

enum {
    TC_ENGINE_HTTP_SOCKETS =
        3, /* one for what waits, one for what cannot, one that the engine may close */
    TC_ENGINE_HTTP_BODY_MAX = 1 << 20,
    TC_ENGINE_HTTP_HEADERS_MAX = 64 << 10,
    TC_ENGINE_HTTP_SERVER_MAX = 64,
};

struct tc_engine_http;

/* What is sent beside a text: `len` bytes, given out by read() from `at` on; 0 or less ends it. */
struct tc_engine_http_source {
    long (*read)(void *userdata, size_t at, char *to, size_t room);
    void *userdata;
    size_t len;
};

struct tc_engine_http_ask {
    const char *method, *path;
    const char *json;                           /* the body; NULL: none */
    const struct tc_engine_http_source *source; /* in its place, a tar; NULL: none */
    int patience_ms;   /* for the whole answer; 0: as long as nobody hangs up */
    int afterwards_ms; /* how long it may go on once somebody has hung up; 0: it ends at once */
};

struct tc_engine_http_answer {
    long status;
    struct tc_buf body;
};
#define TC_ENGINE_HTTP_NO_ANSWER \
    ((struct tc_engine_http_answer){.body = {.max = TC_ENGINE_HTTP_BODY_MAX}})

enum tc_engine_http_end {
    TC_ENGINE_HTTP_ANSWERED,
    TC_ENGINE_HTTP_SILENT,  /* nothing whole within its time */
    TC_ENGINE_HTTP_BROKEN,  /* what came is no answer */
    TC_ENGINE_HTTP_HUNG_UP, /* the other side of `hangup` went, or spoke */
    TC_ENGINE_HTTP_MEMORY,
};

/* socket: the engine's, found by somebody else (O_PATH); hangup: -1: nobody's. Both stay the
 * caller's. NULL when out of memory. */
struct tc_engine_http *tc_engine_http_new(int socket, int hangup);
void tc_engine_http_free(struct tc_engine_http *http);
/* *ret_why: of an end that is no answer, a few words; static or the client's own, until the next
 * call. */
enum tc_engine_http_end tc_engine_http_ask(struct tc_engine_http *http,
                                           const struct tc_engine_http_ask *ask,
                                           struct tc_engine_http_answer *ret, const char **ret_why);
/* Who it says it is, printable; "" before the first answer. */
const char *tc_engine_http_server(const struct tc_engine_http *http);
void tc_engine_http_answer_done(struct tc_engine_http_answer *answer);

#endif
