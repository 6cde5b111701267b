/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The response to a request: where it ends, and whether its connections serve another request. Each
 * head is parsed once, and only the parsed parts are forwarded. A response whose end is not certain
 * is relayed unchanged up to the server's end of file, and is the last one of its connection. Pure.
 */
#ifndef TC_EGRESS_READ_REPLY_H
#define TC_EGRESS_READ_REPLY_H

#include "egress/read/http.h"

enum tc_egress_reply_stage {
    TC_REPLY_HEAD, /* waiting for a head, or for the rest of it */
    TC_REPLY_BODY,
    TC_REPLY_OPEN,     /* ends with the connection */
    TC_REPLY_SWITCHED, /* the server accepted the upgrade */
    TC_REPLY_DONE,
};

struct tc_egress_reply {
    enum tc_egress_reply_stage stage;
    struct tc_egress_http_rest rest;
    /* of the request */
    bool head_only, one_one, upgrade;
    bool wanted; /* the client wants to send another request */
    bool ending; /* the request asked the server to close its connection */
    /* of the response, once its head was read */
    bool client_stays, server_stays; /* the connection serves another request */
};

/* `last`: the request asks the server to close its connection. */
void tc_egress_reply_start(struct tc_egress_reply *reply, const struct tc_egress_http_head *head,
                           bool last);
/* Reads a head and appends it for the client. `sent`: the request was sent completely, so that its
 * body cannot be taken for the next request. TC_EGRESS_HTTP_BAD: the bytes are relayed unchanged.
 * An informational response leaves the stage at TC_REPLY_HEAD. */
enum tc_egress_http_read tc_egress_reply_head(struct tc_egress_reply *reply, const char *bytes,
                                              size_t len, bool sent, struct tc_buf *to,
                                              size_t *ret_size);
/* How many of these bytes belong to the response. */
size_t tc_egress_reply_body(struct tc_egress_reply *reply, const char *bytes, size_t len);

#endif
