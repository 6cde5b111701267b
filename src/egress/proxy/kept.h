/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Recorded requests: a proxy records what its clients request and receive, or, in a replay, answers
 * from such a record and reaches no host. */
#ifndef TC_EGRESS_PROXY_KEPT_H
#define TC_EGRESS_PROXY_KEPT_H

#include "egress/exchanges.h"
#include "egress/read/http.h"

struct tc_egress_proxy;
struct tc_egress_flow;

/* The request of a flow that is recorded, or answered from the record. */
struct tc_egress_kept {
    bool open;                       /* its response is not complete */
    uint32_t number;                 /* recording */
    SHA2_CTX hash;                   /* of the content of the request's body */
    struct tc_egress_http_rest rest; /* of that body */
    /* in a replay */
    char *request; /* "METHOD HOST:PORT PATH", owned */
    bool found;
    const char *reply; /* what is left of the response, borrowed from the record */
    size_t left;
    bool keeps; /* the connection serves another request then */
};

/* The state of the proxy; zeroed: neither records nor replays. */
struct tc_egress_keeper {
    struct tc_exchange_file *file; /* recording */
    uint32_t count;                /* of requests so far */
    struct tc_egress_again *again; /* a replay */
};

/* Maps the config's file. Called before the proxy confines itself. False: it is unusable. */
bool tc_egress_kept_open(struct tc_egress_proxy *p);
/* Does the proxy replay? Then it opens no connection. */
bool tc_egress_replays(const struct tc_egress_proxy *p);

/* A request was allowed; its bytes of body, and what the client receives; its end. */
void tc_egress_kept_request(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                            const struct tc_egress_http_head *head);
void tc_egress_kept_body(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len);
void tc_egress_kept_reply(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                          size_t len);
void tc_egress_kept_end(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool keeps);
/* The client's connection ends. Was its request answered completely? */
void tc_egress_kept_close(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool whole);
/* The proxy exits. Has everything that clients sent left it? */
void tc_egress_kept_exit(struct tc_egress_proxy *p, bool whole);
/* Something cannot be recorded. `f` may be NULL. */
void tc_egress_kept_lost(struct tc_egress_proxy *p, const struct tc_egress_flow *f,
                         enum tc_exchange_lost why);

/* recorded.c: a recorded request with its response, borrowed from the frames. */
struct tc_egress_recorded {
    struct tc_exchange_request request;
    struct tc_exchange_end end;
    uint64_t hash; /* of the request and the digest of its body */
    const char *reply;
    size_t length;
    bool given;
};

/* Reads a record, which stays mapped. NULL: it is invalid, or out of memory. */
struct tc_egress_again *tc_egress_recorded_read(const char *frames, size_t size);
/* The next response to this request ("METHOD HOST:PORT PATH", and the digest of its body). NULL:
 * none is left. */
const struct tc_egress_recorded *tc_egress_recorded_take(struct tc_egress_again *again,
                                                         const char *request, const char *body);

/* again.c */
/* Sends what the client can take of the recorded response to its request, then serves the next
 * one. False: the flow is no longer joined. */
bool tc_egress_again_go_on(struct tc_egress_proxy *p, struct tc_egress_flow *f);

#endif
