/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where the body of a request ends, so that nothing behind it goes on. Pure. */
#ifndef TC_EGRESS_READ_BODY_H
#define TC_EGRESS_READ_BODY_H

#include "egress/read/http.h"

struct tc_http_rest {
    enum tc_http_body body;
    uint64_t left; /* of the body, or of the chunk */
    int state;     /* within a chunked body */
    unsigned digits;
    bool done;
};

void tc_http_rest_start(struct tc_http_rest *rest, const struct tc_http_head *head);
/* How many of these bytes belong to the body; once `done` is set, none. -1: it could be read in two
 * ways. */
ssize_t tc_http_rest_take(struct tc_http_rest *rest, const char *bytes, size_t len);

#endif
