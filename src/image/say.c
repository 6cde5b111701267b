/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/display.h"
#include "base/fd.h"

enum { WIDTH = 24, EACH_US = 100000 };

static bool quiet, drawn;

void tc_image_quiet(void)
{
    quiet = true;
}

static bool on_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

static void line(const char *prefix, const char *text)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    bool marked = on_terminal();
    tc_buf_addf(&out, "%s%s:%s ", marked ? "\x1b[1m" : "", prefix, marked ? "\x1b[0m" : "");
    tc_buf_add_display(&out, text);
    tc_buf_addc(&out, '\n');
    tc_image_bar_end();
    if (!out.failed)
        (void)tc_write_all(STDERR_FILENO, out.data, out.len);
}

void tc_image_say(const char *fmt, ...)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (!text.failed)
        line("toolcage", text.data ? text.data : "");
}

void tc_image_hint(const char *text)
{
    if (text && *text)
        line("hint", text);
}

void tc_image_bar(const char *what, int64_t done, int64_t total)
{
    static int64_t before;
    int64_t now = tc_now_us();
    if (quiet || !on_terminal() || now - before < EACH_US)
        return;
    before = now;
    int filled = total > 0 && done < total ? (int)(done * WIDTH / total) : total > 0 ? WIDTH : 0;
    (void)fprintf(stderr, "\r\x1b[K%-28s ", what);
    if (total > 0)
        (void)fprintf(stderr, "[%.*s%*s] ", filled, "########################", WIDTH - filled, "");
    (void)fprintf(stderr, "%lld MiB", (long long)(done >> 20));
    (void)fflush(stderr);
    drawn = true;
}

void tc_image_bar_end(void)
{
    if (drawn)
        (void)tc_write_all(STDERR_FILENO, "\r\x1b[K", strlen("\r\x1b[K"));
    drawn = false;
}
