/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The record that a replay answers from: read once, and each response is used once. */
#include <string.h>

#include "egress/proxy/kept.h"
#include "egress/read/stats.h"

struct tc_egress_again {
    struct tc_egress_recorded *answers;
    size_t count;
};

static uint64_t hash_of(const char *request, const char *body)
{
    _autofree_ char *text = tc_format("%s %s", request, body);
    return text ? tc_hash(text) : 0;
}

/* As tc_egress_kept_request() writes it. Owned. */
static char *text_of(const struct tc_exchange_request *r)
{
    char target[TC_EGRESS_TARGET_MAX];
    tc_egress_target(r->host, r->port, target);
    return tc_format("%s %s %s", r->method, target, r->path);
}

/* An exchange is a REQUEST, a REPLY and an END in this file. */
static bool read_answer(const char *frames, size_t size, size_t *at, struct tc_egress_recorded *ret)
{
    struct tc_exchange_head head;
    const char *bytes;
    if (tc_exchange_next(frames, size, at, &head, &bytes) <= 0 ||
        head.kind != TC_EXCHANGE_REQUEST ||
        !tc_exchange_read_request(bytes, head.length, &ret->request) ||
        tc_exchange_next(frames, size, at, &head, &bytes) <= 0 || head.kind != TC_EXCHANGE_REPLY)
        return false;
    ret->reply = bytes;
    ret->length = head.length;
    if (tc_exchange_next(frames, size, at, &head, &bytes) <= 0 || head.kind != TC_EXCHANGE_END ||
        !tc_exchange_read_end(bytes, head.length, &ret->end))
        return false;
    _autofree_ char *request = text_of(&ret->request);
    ret->hash = request ? hash_of(request, ret->end.body) : 0;
    return request != NULL;
}

struct tc_egress_again *tc_egress_recorded_read(const char *frames, size_t size)
{
    struct tc_egress_again *again = calloc(1, sizeof(*again));
    bool fine = again != NULL;
    for (size_t at = 0; fine && at < size;) {
        struct tc_egress_recorded *to = TC_PUSH(again->answers, again->count);
        fine = to && read_answer(frames, size, &at, to);
    }
    if (fine)
        return again;
    free(again ? again->answers : NULL);
    free(again);
    return NULL;
}

static bool is_answer(const struct tc_egress_recorded *a, const char *request, const char *body)
{
    _autofree_ char *text = text_of(&a->request);
    return text && strcmp(text, request) == 0 && strcmp(a->end.body, body) == 0;
}

const struct tc_egress_recorded *tc_egress_recorded_take(struct tc_egress_again *again,
                                                         const char *request, const char *body)
{
    uint64_t hash = hash_of(request, body);
    for (size_t i = 0; i < again->count; i++) {
        struct tc_egress_recorded *a = &again->answers[i];
        if (a->given || a->hash != hash || !is_answer(a, request, body))
            continue;
        a->given = true;
        return a;
    }
    return NULL;
}
