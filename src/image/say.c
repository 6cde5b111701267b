/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "image/say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/display.h"
#include "base/fd.h"
#include "progress/progress.h"

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
    tc_progress_end();
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
