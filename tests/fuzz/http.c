/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/egress/read/http.c and body.c. Input: what a client sends. Whatever is taken for a
 * request must be read in the same way once it was forwarded, and a body must end in the same place
 * however the bytes arrive. */
#include "fuzz.h"

#include <string.h>

#include "egress/read/http.h"
#include "policy/http_path.h"

static bool same(struct tc_egress_http_text a, struct tc_egress_http_text b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static void must_forward(const struct tc_egress_http_head *head)
{
    static struct tc_egress_http_head again;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    if (head->form == TC_EGRESS_HTTP_AUTHORITY)
        return;
    tc_egress_http_forward(head, NULL, 0, true, &out);
    INVARIANT(!out.failed);
    if (out.len > TC_EGRESS_HTTP_HEAD_MAX || head->field_count + 3 > TC_EGRESS_HTTP_FIELDS_MAX)
        return;
    INVARIANT(tc_egress_http_read(out.data, out.len, &again) == TC_EGRESS_HTTP_DONE);
    INVARIANT(again.size == out.len);
    INVARIANT(same(head->method, again.method) && same(head->path, again.path));
    INVARIANT(strcmp(head->host.name, again.host.name) == 0 && head->host.port == again.host.port);
    INVARIANT(head->body == again.body && head->length == again.length);
    INVARIANT(head->websocket == again.websocket);
    INVARIANT(again.form == TC_EGRESS_HTTP_ORIGIN || again.form == TC_EGRESS_HTTP_ASTERISK);
}

/* What a rule is compared with is clear itself, and no longer holds what steps out of it. */
static void must_have_one_form(const struct tc_egress_http_head *head)
{
    _autobuf_ struct tc_buf form = TC_BUF_INIT, again = TC_BUF_INIT;
    if (tc_http_path_read(head->path.at, head->path.len, &form))
        return;
    INVARIANT(!form.failed && form.data[0] == '/' && tc_http_path_within("/", form.data));
    INVARIANT(!tc_http_path_read(form.data, form.len, &again) && !again.failed);
    INVARIANT(again.len == form.len && memcmp(again.data, form.data, form.len) == 0);
    INVARIANT(!strstr(form.data, "/../") && !strstr(form.data, "//") &&
              !strpbrk(form.data, "\\;?#"));
}

static void must_end_alike(const struct tc_egress_http_head *head, const char *bytes, size_t len)
{
    struct tc_egress_http_rest whole, parts;
    tc_egress_http_rest_start(&whole, head);
    tc_egress_http_rest_start(&parts, head);
    ssize_t all = tc_egress_http_rest_take(&whole, bytes, len), sum = 0;
    for (size_t i = 0; i < len && sum >= 0; i++) {
        ssize_t n = tc_egress_http_rest_take(&parts, bytes + i, 1);
        sum = n < 0 ? -1 : sum + n;
    }
    INVARIANT(all == sum);
    INVARIANT(all < 0 || (whole.done == parts.done && whole.left == parts.left));
    INVARIANT(all < 0 || (size_t)all <= len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_egress_http_head head, part;
    const char *bytes = (const char *)data;
    enum tc_egress_http_read got = tc_egress_http_read(bytes, size, &head);
    if (got == TC_EGRESS_HTTP_MORE)
        return 0;
    for (size_t cut = size / 2; got == TC_EGRESS_HTTP_BAD && cut < size; cut += 1 + size / 16)
        INVARIANT(tc_egress_http_read(bytes, cut, &part) != TC_EGRESS_HTTP_DONE);
    if (got == TC_EGRESS_HTTP_BAD) {
        INVARIANT(head.why);
        return 0;
    }
    INVARIANT(head.size <= size && head.size <= TC_EGRESS_HTTP_HEAD_MAX);
    INVARIANT(tc_egress_http_read(bytes, head.size - 1, &part) == TC_EGRESS_HTTP_MORE);
    INVARIANT(!memchr(bytes, 0, head.size));
    INVARIANT(head.host.name[0] || !head.one_one || head.form == TC_EGRESS_HTTP_ASTERISK);
    must_forward(&head);
    must_have_one_form(&head);
    must_end_alike(&head, bytes + head.size, size - head.size);
    return 0;
}
