/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The HTTP API of `toolcage serve`, independent of the HTTP server: that one passes in the requests
 * it has admitted, and sends the responses that it gets. */
#ifndef TC_SERVE_API_H
#define TC_SERVE_API_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <toolcage/toolcage.h>

/* One admitted request; all pointers are borrowed for the call of tc_api_take(). */
struct tc_api_request {
    const char *method;
    const char *path; /* without the query */
    const char *body;
    size_t length;
    const char *key; /* the header Idempotency-Key; NULL: none */
    bool json;       /* the body's type is application/json */
    bool streams;    /* the client accepts text/event-stream */
    bool runs;       /* the client may start calls */
    bool operates;   /* it may answer approvals and read the audit log */
    bool crowded;    /* the server holds too much for calls to start */
};

/* A result in the frame of an event. Responses share it: it may have many MiB. */
struct tc_api_result {
    unsigned references;
    size_t begin, end, length; /* where the result is in `text`; bytes of all of it */
    char text[];
};

/* NULL: out of memory. */
struct tc_api_result *tc_api_result_new(const char *json);
struct tc_api_result *tc_api_result_ref(struct tc_api_result *result);
struct tc_api_result *tc_api_result_unref(struct tc_api_result *result); /* returns NULL */
/* Bytes of all results that have references. */
size_t tc_api_results_held(void);

/* How responses reach a client. `asker` is the HTTP server's handle of a request: it gets one
 * answer, or events of which the last is the result. */
struct tc_api_wire {
    /* Takes `text` (NULL: out of memory). */
    void (*answer)(void *asker, unsigned status, const char *type, char *text);
    /* The header Allow of the answer that follows; `methods` is a constant. */
    void (*allow)(void *asker, const char *methods);
    void (*event)(void *asker, const char *event, const char *text);
    /* The answer, or with `streams` the last event. Takes a reference of its own. */
    void (*result)(void *asker, struct tc_api_result *result, bool streams);
    bool (*is_full)(const void *asker); /* does the client not read its events? */
    /* A parameter of the query; NULL: it has none of this name. */
    const char *(*argument)(const void *asker, const char *name);
};

struct tc_api_config {
    struct toolcage_policy *policy; /* borrowed, as all of these */
    const char *workspace;          /* NULL: the working directory */
    const struct tc_api_wire *wire;
    size_t calls_max; /* at the same time */
};

struct tc_api;

/* 0, or negative with *err. */
int tc_api_open(const struct tc_api_config *config, struct tc_api **ret,
                struct toolcage_error **err);
void tc_api_close(struct tc_api *api); /* cancels all calls; NULL is fine */
/* Is this a path of the API? */
bool tc_api_has(const char *path);
void tc_api_take(struct tc_api *api, void *asker, const struct tc_api_request *request);
/* The client of this request is gone. */
void tc_api_forget(struct tc_api *api, const void *asker);

/* For the loop: how many entries of the poll set the API needs, the entries, what became of them,
 * and how soon tc_api_step() must be called although there is no event (ms; -1: not at all). */
size_t tc_api_count(const struct tc_api *api);
void tc_api_watch(const struct tc_api *api, struct pollfd *fds);
void tc_api_step(struct tc_api *api, const struct pollfd *fds, size_t count);
int tc_api_wait_ms(const struct tc_api *api);

#endif
