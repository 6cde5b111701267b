/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The HTTP requests of a recorded call with their responses, as the tool saw them. They pass
 * between the library and the call's proxy in a memory file, unread by the helper.
 *
 * To record, the library creates a tc_exchange_file of fixed size, and the proxy appends frames.
 * The library reads it when the call has ended, and trusts nothing in it: the proxy parses what
 * tools and servers send. To replay, the library fills a sealed memory file with frames, and the
 * proxy answers from it alone. */
#ifndef TC_EGRESS_EXCHANGES_H
#define TC_EGRESS_EXCHANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "egress/egress.h"

enum { TC_EXCHANGES_BYTES_MAX = 64 << 20, TC_EXCHANGES_MAX = 10000 };

/* Why the record is incomplete, so that no replay can use it. */
enum tc_exchange_lost {
    TC_EXCHANGE_WHOLE,
    TC_EXCHANGE_OTHER,  /* a protocol other than HTTP, or TLS that is not inspected */
    TC_EXCHANGE_UDP,    /* datagrams */
    TC_EXCHANGE_BROKEN, /* a connection ended within a request or its response */
    TC_EXCHANGE_FAILED, /* a host could not be reached before any request */
    TC_EXCHANGE_LARGE,  /* more bytes than the file has */
    TC_EXCHANGE_MANY,   /* more requests than TC_EXCHANGES_MAX */
    TC_EXCHANGE_UNDONE, /* clients' data was still in the proxy when it exited */
    TC_EXCHANGE_LOSSES
};

struct tc_exchange_file {
    _Atomic uint64_t used;              /* bytes of complete frames */
    _Atomic uint32_t lost;              /* enum tc_exchange_lost: the first reason */
    _Atomic uint32_t ended;             /* the proxy relays nothing more */
    char subject[TC_EGRESS_TARGET_MAX]; /* its host, or ""; complete when `lost` is set */
    char frames[TC_EXCHANGES_BYTES_MAX];
};

enum tc_exchange_kind { TC_EXCHANGE_REQUEST = 1, TC_EXCHANGE_REPLY, TC_EXCHANGE_END };

/* A frame: this head and `length` bytes. Frames of several exchanges may be interleaved. */
struct tc_exchange_head {
    uint32_t kind;
    uint32_t number; /* of the exchange, from 0 in the order of the requests */
    uint32_t length;
};

/* Content of REQUEST: this, and three texts, each with its NUL. */
struct tc_exchange_to {
    uint32_t port;
};

/* Content of END. */
struct tc_exchange_end {
    uint32_t keeps;            /* the connection served another request */
    char body[TC_DIGEST_SIZE]; /* of the content of the request's body */
};

struct tc_exchange_request {
    const char *method, *host, *path; /* the path with its query; borrowed */
    uint32_t port;
};

/* Appends a REQUEST, or any frame. */
void tc_exchange_put_request(struct tc_buf *to, uint32_t number,
                             const struct tc_exchange_request *request);
void tc_exchange_put(struct tc_buf *to, enum tc_exchange_kind kind, uint32_t number,
                     const void *bytes, size_t length);

/* Reads the frame at *at, and moves *at behind it. 1; 0: the end; -1: not a frame. The content is
 * borrowed, and may still change if the proxy writes to it. */
int tc_exchange_next(const char *frames, size_t size, size_t *at, struct tc_exchange_head *ret,
                     const char **ret_bytes);
/* Reads a REQUEST's content, which does not change. False: it is invalid. */
bool tc_exchange_read_request(const char *bytes, size_t length, struct tc_exchange_request *ret);
bool tc_exchange_read_end(const char *bytes, size_t length, struct tc_exchange_end *ret);

#endif
