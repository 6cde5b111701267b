/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/http_path.h"

#include <string.h>

#include "base/strv.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool unreserved(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c && strchr("-._~", c));
}

/* Why a character is refused, even if it is escaped: servers disagree on whether the path or a
 * component ends there. NULL: the character is allowed. */
static const char *odd(unsigned char c)
{
    if (c < 0x20 || c == 0x7f)
        return "its path holds a control character";
    if (c == '\\')
        return "its path holds a backslash";
    if (c == ';') /* some servers drop the text after it */
        return "its path holds a semicolon";
    return NULL;
}

/* The byte that "%XX" stands for; -1: the escape is not valid. */
static int escaped(const char *at, size_t len)
{
    if (len < 3 || hex(at[1]) < 0 || hex(at[2]) < 0)
        return -1;
    return hex(at[1]) * 16 + hex(at[2]);
}

/* Reads "%XX". Adds the canonical form to `to` (unreserved characters unescaped), and the byte to
 * `plain`. NULL, or why the path is refused. */
static const char *read_escape(const char *at, size_t len, struct tc_buf *to, struct tc_buf *plain)
{
    int c = escaped(at, len);
    if (c < 0)
        return "its path holds a broken escape";
    if (c == '/')
        return "its path holds an escaped slash";
    if (c == '%') /* some servers decode twice */
        return "its path holds an escaped percent sign";
    tc_buf_addc(plain, (char)c);
    if (unreserved((unsigned char)c))
        tc_buf_addc(to, (char)c);
    else
        tc_buf_addf(to, "%%%02X", (unsigned)c);
    return odd((unsigned char)c);
}

static const char *read_plain(char c, struct tc_buf *to, struct tc_buf *plain)
{
    if ((unsigned char)c <= 0x20 || (unsigned char)c >= 0x7f || strchr("#\"<>^`{|}", c))
        return "its path holds what must be escaped";
    tc_buf_addc(to, c);
    tc_buf_addc(plain, c);
    return odd((unsigned char)c);
}

/* Why the path is refused for one of its components; NULL: it is allowed. */
static const char *check_parts(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part++;
        size_t len = strcspn(part, "/");
        if (!len && part[len])
            return "its path holds two slashes in a row";
        if ((len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
            return "its path holds \".\" or \"..\"";
    }
    return NULL;
}

const char *tc_http_path_read(const char *at, size_t len, struct tc_buf *to)
{
    _autobuf_ struct tc_buf plain = TC_BUF_INIT;
    const char *query = len ? memchr(at, '?', len) : NULL, *why = NULL;
    size_t start = to->len;
    len = query ? (size_t)(query - at) : len;
    if (!len || at[0] != '/')
        return "it names no path";
    for (size_t i = 0; !why && i < len; i += at[i] == '%' ? 3 : 1)
        why =
            at[i] == '%' ? read_escape(at + i, len - i, to, &plain) : read_plain(at[i], to, &plain);
    to->failed = to->failed || plain.failed;
    if (why || to->failed)
        return why;
    if (!tc_utf8_valid(plain.data, plain.len)) /* it could hold an overlong slash or dot */
        return "its path is not UTF-8";
    return check_parts(to->data + start);
}

bool tc_http_path_within(const char *rule, const char *path)
{
    size_t len = strlen(rule);
    if (!tc_startswith(path, rule))
        return false;
    return rule[len - 1] == '/' || !path[len] || path[len] == '/';
}
