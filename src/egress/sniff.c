/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/sniff.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static bool known_method(const char *word, size_t len)
{
    static const char *const methods[] = {"GET",     "HEAD",  "POST",  "PUT",       "DELETE",
                                          "CONNECT", "TRACE", "PATCH", "OPTIONS",   "PROPFIND",
                                          "MKCOL",   "MOVE",  "COPY",  "PROPPATCH", "REPORT"};
    for (size_t i = 0; i < TC_COUNT(methods); i++)
        if (strlen(methods[i]) == len && strncasecmp(methods[i], word, len) == 0)
            return true;
    return false;
}

/* How much of it is text. */
static size_t printable(const char *bytes, size_t len)
{
    size_t n = 0;
    while (n < len && ((unsigned char)bytes[n] >= 0x20 || bytes[n] == '\t') && bytes[n] != 0x7f)
        n++;
    return n;
}

/* The first line that is not empty, without its end; *ret_whole: its end is there. */
static const char *first_line(const char *bytes, size_t *len, bool *ret_whole)
{
    size_t skip = 0;
    while (skip < *len && (bytes[skip] == '\r' || bytes[skip] == '\n'))
        skip++;
    const char *line = bytes + skip;
    size_t left = *len - skip, n = 0;
    while (n < left && line[n] != '\r' && line[n] != '\n')
        n++;
    *ret_whole = n < left;
    *len = n;
    return line;
}

enum tc_sniff tc_sniff(const char *bytes, size_t len)
{
    static const char tls[] = {0x16, 0x03};
    bool whole;
    size_t n = len;
    if (len && bytes[0] == tls[0])
        return len < 2 ? TC_SNIFF_MORE : bytes[1] == tls[1] ? TC_SNIFF_TLS : TC_SNIFF_OTHER;
    const char *line = first_line(bytes, &n, &whole);
    size_t text = printable(line, n);
    const char *space = memchr(line, ' ', text);
    if (space && known_method(line, (size_t)(space - line)))
        return TC_SNIFF_HTTP;
    if (memmem(line, text, " HTTP/", 6) || memmem(line, text, " http/", 6))
        return TC_SNIFF_HTTP;
    bool other = text < n || whole || len > TC_SNIFF_LINE_MAX;
    return other ? TC_SNIFF_OTHER : TC_SNIFF_MORE;
}
