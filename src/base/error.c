/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The error object. Its strings, report and JSON are made at construction, so that every
 * accessor is a plain read that cannot fail. Message and hint may contain names that a tool or a
 * model chose: they are one line each, without characters that act on a terminal; the subject is
 * unescaped. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/display.h"
#include "base/jsontext.h"
#include "base/strv.h"

struct toolcage_error {
    int code;
    int errnum;
    uint32_t line, column;
    char *stage, *subject, *message, *hint, *file, *report, *json;
};

static struct toolcage_error out_of_memory = {
    .code = TOOLCAGE_EMEMORY,
    .stage = (char *)"",
    .subject = (char *)"",
    .message = (char *)"out of memory",
    .hint = (char *)"free memory on this machine, then try again",
    .file = (char *)"",
    .report = (char *)"out of memory\n",
    .json = (char *)"{\"code\":\"memory\",\"stage\":\"\",\"subject\":\"\",\"errno\":12,\"message\":"
                    "\"out of memory\","
                    "\"hint\":\"free memory on this machine, then try again\",\"location\":null}",
};

int tc_fail_memory(struct toolcage_error **err)
{
    if (err)
        *err = &out_of_memory;
    return TOOLCAGE_EMEMORY;
}

static char *make_report(const struct toolcage_error *e)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    if (e->file[0])
        tc_buf_addf(&buf, "%s:%u:%u: ", e->file, e->line, e->column);
    tc_buf_addf(&buf, "%s\n", e->message);
    if (e->hint[0])
        tc_buf_addf(&buf, "hint: %s\n", e->hint);
    return tc_buf_steal(&buf);
}

static char *make_json(const struct toolcage_error *e)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    const struct {
        const char *key, *text;
    } texts[] = {{"code", tc_error_word(e->code)}, {"stage", e->stage}, {"subject", e->subject}};
    tc_buf_addc(&buf, '{');
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        tc_json_member(&buf, texts[i].key, texts[i].text);
    tc_buf_addf(&buf, ",\"errno\":%d", e->errnum);
    tc_json_member(&buf, "message", e->message);
    tc_json_member(&buf, "hint", e->hint);
    if (e->file[0]) {
        tc_buf_adds(&buf, ",\"location\":{");
        tc_json_member(&buf, "file", e->file);
        tc_buf_addf(&buf, ",\"line\":%u,\"column\":%u}}", e->line, e->column);
    } else {
        tc_buf_adds(&buf, ",\"location\":null}");
    }
    return tc_buf_steal(&buf);
}

static char *make_message(const struct tc_why *why, const char *fmt, va_list ap)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_vaddf(&buf, fmt, ap);
    if (why->errnum)
        tc_buf_addf(&buf, ": %s",
                    strerrordesc_np(why->errnum) ? strerrordesc_np(why->errnum) : "unknown error");
    _autofree_ char *raw = tc_buf_steal(&buf);
    return raw ? tc_display(raw) : NULL;
}

static char *copy(const char *text)
{
    return strdup(text ? text : "");
}

/* The default hint for errors that any system call can return. */
static const char *usual_hint(int errnum)
{
    switch (errnum) {
    case ENOMEM:
    case ENOBUFS:
        return "free memory on this machine";
    case EMFILE:
    case ENFILE:
        return "close files, or raise the limit of open files (ulimit -n)";
    case ENOSPC:
    case EDQUOT:
        return "make room on that file system";
    case EACCES:
    case EPERM:
        return "check its permissions";
    case EIO:
        return "look at the kernel's log (dmesg)";
    case EINTR:
        return "try again";
    default:
        return "";
    }
}

/* When no fd is left, neither the path nor the host is at fault. */
static bool own_hint(const struct tc_why *why)
{
    return why->hint && *why->hint && why->errnum != EMFILE && why->errnum != ENFILE;
}

int tc_fail(struct toolcage_error **err, const struct tc_why *why, const char *fmt, ...)
{
    if (!err)
        return why->code;
    struct toolcage_error *e = calloc(1, sizeof(*e));
    if (!e)
        return tc_fail_memory(err), why->code;
    va_list ap;
    va_start(ap, fmt);
    e->message = make_message(why, fmt, ap);
    va_end(ap);
    e->code = why->code;
    e->errnum = why->errnum;
    e->line = why->line;
    e->column = why->column;
    e->stage = copy(why->stage);
    e->subject = copy(why->subject);
    e->hint = tc_display(own_hint(why) ? why->hint : usual_hint(why->errnum));
    e->file = copy(why->file);
    bool whole = e->message && e->stage && e->subject && e->hint && e->file;
    if (whole) {
        e->report = why->report ? strdup(why->report) : make_report(e);
        e->json = make_json(e);
    }
    if (!whole || !e->report || !e->json) {
        tc_error_free(e);
        (void)tc_fail_memory(err);
        return why->code;
    }
    *err = e;
    return why->code;
}

void tc_error_free(struct toolcage_error *e)
{
    if (!e || e == &out_of_memory)
        return;
    char *texts[] = {e->stage, e->subject, e->message, e->hint, e->file, e->report, e->json};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    free(e);
}

const char *tc_error_word(int32_t code)
{
    switch (code) {
    case TOOLCAGE_OK:
        return "ok";
#define WORD(name, value, word, text) \
    case TOOLCAGE_E##name:            \
        return word;
        TOOLCAGE_ERROR_MAP(WORD)
#undef WORD
    default:
        return "unknown";
    }
}

int32_t tc_error_code(const struct toolcage_error *e)
{
    return e ? e->code : TOOLCAGE_OK;
}

int32_t tc_error_errno(const struct toolcage_error *e)
{
    return e ? e->errnum : 0;
}

#define TEXT_ACCESSOR(field)                                     \
    const char *tc_error_##field(const struct toolcage_error *e) \
    {                                                            \
        return e ? e->field : "";                                \
    }
TEXT_ACCESSOR(message)
TEXT_ACCESSOR(hint)
TEXT_ACCESSOR(stage)
TEXT_ACCESSOR(subject)
TEXT_ACCESSOR(report)

const char *tc_error_json(const struct toolcage_error *e)
{
    return e ? e->json : "null";
}

void tc_error_location(const struct toolcage_error *e, const char **ret_file, uint32_t *ret_line,
                       uint32_t *ret_column)
{
    if (ret_file)
        *ret_file = e ? e->file : "";
    if (ret_line)
        *ret_line = e ? e->line : 0;
    if (ret_column)
        *ret_column = e ? e->column : 0;
}

void tc_complain(struct tc_complaint *c, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(c->what, sizeof(c->what), fmt, ap);
    va_end(ap);
    tc_strcopy(c->hint, sizeof(c->hint), hint ? hint : "");
}
