/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/display.h"

#include <stdbool.h>
#include <string.h>

#include "base/strv.h"
#include "text/utf8.h"

size_t tc_harmful(const char *at, uint32_t *ret_point)
{
    size_t n = tc_utf8_decode(at, strnlen(at, 4), ret_point);
    return n && tc_utf8_unshown(*ret_point) ? n : 0;
}

void tc_buf_add_display(struct tc_buf *buf, const char *text)
{
    while (*text) {
        uint32_t point = 0;
        size_t n = tc_utf8_decode(text, strnlen(text, 4), &point);
        if (n && !tc_utf8_unshown(point))
            tc_buf_add(buf, text, n);
        else if (n > 1)
            tc_buf_addf(buf, "\\u{%x}", point);
        else
            tc_buf_addf(buf, "\\x%02x", (unsigned char)*text);
        text += n ? n : 1;
    }
}

char *tc_display(const char *text)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_add_display(&buf, text);
    return tc_buf_steal(&buf);
}
