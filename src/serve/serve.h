/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The parts of the API. One thread handles all requests. */
#ifndef TC_SERVE_SERVE_H
#define TC_SERVE_SERVE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "approve/queue/queue.h"
#include "serve/api.h"

enum {
    TC_SERVED_MAX = 256,             /* known calls, ended ones too */
    TC_SERVED_BYTES_MAX = 64 << 20,  /* of their results */
    TC_RESULT_MAX = 32 << 20,        /* bytes of one result */
    TC_RESULTS_HELD_MAX = 256 << 20, /* of all, those too that only a response still needs */
    TC_SERVED_ASKERS_MAX = 8,        /* clients of one call at the same time */
    TC_SERVED_KEY_MAX = 255,         /* bytes of an idempotency key */
    TC_KEY_HOURS = 24,               /* how long a key is remembered */
    TC_KEYS_MAX = 10000,             /* of a user */
    TC_STATUSES = TOOLCAGE_STATUS_ERROR + 1
};

enum tc_served_state { TC_SERVED_WAITS, TC_SERVED_RUNS, TC_SERVED_ENDED };

/* A client that waits for a call's end. */
struct tc_served_asker {
    void *asker;
    bool streams, calls, told; /* calls: made the call; told: has got the first event */
    uint64_t dropped;          /* bytes of output that it did not read in time */
};

/* One call. */
struct tc_served {
    struct tc_served *next; /* the older one */
    char id[TC_QUEUE_ID_SIZE];
    char *tool;
    enum tc_served_state state;
    struct tc_api *api;
    struct toolcage_call *call;     /* NULL: it has ended */
    struct tc_wait *wait;           /* in the queue of approvals */
    char *digest;                   /* of the request for an approval */
    struct tc_api_result *result;   /* of an ended call */
    int32_t status;                 /* of an ended call */
    char word[16];                  /* the same, as results call it */
    bool detached;                  /* it runs on when its client leaves */
    int64_t began, ended, since_us; /* seconds of real time; monotonic time */
    char *key, *body; /* the idempotency key, and the digest of the request that had it */
    struct tc_served_asker askers[TC_SERVED_ASKERS_MAX];
    size_t asker_count;
};

struct tc_metrics {
    uint64_t calls[TC_STATUSES], refused, requests;
    uint64_t bucket[12]; /* calls by their time, not cumulative */
    double seconds;
};

struct tc_api {
    struct tc_api_config config;
    struct toolcage_engine *engine; /* NULL: lost; the next call makes a new one */
    json_t *tools;
    struct tc_served *served;           /* the newest first */
    size_t served_count, running, live; /* live: running, or waiting for a person */
    size_t bytes;                       /* of all results */
    struct tc_metrics metrics;
    struct tc_history *history; /* NULL: not read yet */
};

/* answer.c: responses. `problem` is one sentence, `hint` what to do (NULL: nothing). */
void tc_api_refuse(struct tc_api *api, void *asker, unsigned status, const char *problem,
                   const char *hint);
void tc_api_refuse_error(struct tc_api *api, void *asker, struct toolcage_error *err);  /* takes */
void tc_api_answer(struct tc_api *api, void *asker, unsigned status, json_t *body);     /* takes */
void tc_api_answer_text(struct tc_api *api, void *asker, const char *type, char *text); /* takes */
int64_t tc_api_now_s(void);
int64_t tc_api_now_us(void);

/* served.c: the calls that this server knows */
struct tc_served *tc_served_find(struct tc_api *api, const char *id);
struct tc_served *tc_served_new(struct tc_api *api, struct toolcage_call *call, const char *tool);
/* Starts it, or lets it wait for a person's answer. */
void tc_served_begin(struct tc_served *served);
/* `calls`: the client made the call, and the call is cancelled if all such clients leave. */
bool tc_served_add_asker(struct tc_served *served, void *asker, bool streams, bool calls);
void tc_served_cancel(struct tc_served *served);
/* The call may have ended, or been answered. */
void tc_served_step(struct tc_served *served);
void tc_served_forget(struct tc_api *api, const void *asker);
/* Forgets the oldest calls that have ended; the newest call stays. Not while the list is walked. */
void tc_served_trim(struct tc_api *api);
void tc_served_close(struct tc_api *api);
json_t *tc_served_describe(const struct tc_served *served);

/* run.c: POST /v1/calls and /v1/explain */
void tc_run_call(struct tc_api *api, void *asker, const struct tc_api_request *request);
void tc_run_explain(struct tc_api *api, void *asker, const struct tc_api_request *request);

/* keys.c: idempotency keys, on disk: a key whose call this server no longer knows is refused */
enum tc_key_fate { TC_KEY_NEW, TC_KEY_USED, TC_KEY_FAILED };
/* Stores that the key belongs to the call `id` and a request of this digest. USED: *ret_id is the
 * call that it belongs to, "" if unknown. FAILED: with errno. */
enum tc_key_fate tc_key_take(const char *key, const char *id, char ret_id[TC_QUEUE_ID_SIZE]);

/* approvals.c */
void tc_approvals_list(struct tc_api *api, void *asker);
void tc_approvals_answer(struct tc_api *api, void *asker, const char *id,
                         const struct tc_api_request *request);
/* Asks a person about the call. False: it is not asked, so the start decides. */
bool tc_approvals_ask(struct tc_served *served);

/* history.c: GET /v1/audit */
struct tc_history;
void tc_history_answer(struct tc_api *api, void *asker);
void tc_history_free(struct tc_history *history); /* NULL is fine */

/* metrics.c */
void tc_metrics_count(struct tc_api *api, const struct tc_served *served);
void tc_metrics_answer(struct tc_api *api, void *asker);

/* openapi.c, made of openapi.json */
extern const char tc_openapi[];

#endif
