/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Parses the head of an HTTP/1 request, strictly: everything that some server might split, join or
 * trim differently is refused. Pure; borrows its input. */
#ifndef TC_EGRESS_READ_HTTP_H
#define TC_EGRESS_READ_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "egress/read/fields.h"
#include "egress/read/host.h"

enum { TC_EGRESS_HTTP_HEAD_MAX = 65536, TC_EGRESS_HTTP_FIELDS_MAX = 128 };

enum tc_egress_http_form {
    TC_EGRESS_HTTP_ORIGIN,
    TC_EGRESS_HTTP_ABSOLUTE,
    TC_EGRESS_HTTP_AUTHORITY,
    TC_EGRESS_HTTP_ASTERISK
};
enum tc_egress_http_body { TC_EGRESS_HTTP_NO_BODY, TC_EGRESS_HTTP_LENGTH, TC_EGRESS_HTTP_CHUNKED };

struct tc_egress_http_head {
    struct tc_egress_http_text method, target;
    struct tc_egress_http_text path; /* with the query; "/" where an absolute target has none */
    enum tc_egress_http_form form;
    bool one_one; /* HTTP/1.1, else 1.0 */
    /* from the target if it has one, else from Host; name "": neither has one */
    struct tc_egress_host host;
    enum tc_egress_http_body body;
    uint64_t length;
    bool websocket; /* asks for an upgrade to websocket */
    bool keep;      /* the client wants to send another request on this connection */
    struct tc_egress_http_field fields[TC_EGRESS_HTTP_FIELDS_MAX];
    size_t field_count;
    size_t size;     /* of the whole head */
    const char *why; /* after TC_EGRESS_HTTP_BAD: the reason, static */
};

enum tc_egress_http_read { TC_EGRESS_HTTP_BAD = -1, TC_EGRESS_HTTP_MORE, TC_EGRESS_HTTP_DONE };

enum tc_egress_http_read tc_egress_http_read(const char *bytes, size_t len,
                                             struct tc_egress_http_head *ret);

/* A header field that the proxy sends instead of the client's, "NAME: VALUE". */
struct tc_egress_http_line {
    struct tc_egress_http_text name, whole;
};
struct tc_egress_http_line tc_egress_http_line(const char *whole);

/* Writes the head for the server: origin form, without hop-by-hop fields. `last`: the server must
 * close the connection after its response. */
void tc_egress_http_forward(const struct tc_egress_http_head *head,
                            const struct tc_egress_http_line *lines, size_t count, bool last,
                            struct tc_buf *to);

/* Finds the end of a body, so that no bytes after it are forwarded with it. Pure. */
struct tc_egress_http_rest {
    enum tc_egress_http_body body;
    uint64_t left; /* bytes left in the body or chunk */
    int state;     /* position in a chunked body */
    unsigned digits;
    bool done;
    bool lenient; /* chunk extensions and trailers are accepted, as servers may send them */
};

void tc_egress_http_rest_start(struct tc_egress_http_rest *rest,
                               const struct tc_egress_http_head *head);
/* How many of these bytes belong to the body; none once `done` is set. -1: ambiguous. */
ssize_t tc_egress_http_rest_take(struct tc_egress_http_rest *rest, const char *bytes, size_t len);
/* Instead: the next piece of the body's content, without the framing of chunks. False: none before
 * `end`. */
bool tc_egress_http_rest_piece(struct tc_egress_http_rest *rest, const char **at, const char *end,
                               struct tc_egress_http_text *ret);

#endif
