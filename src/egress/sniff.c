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

static bool is_printable(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)bytes[i] < 0x20 && bytes[i] != '\t') || (unsigned char)bytes[i] == 0x7f)
            return false;
    return true;
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
    if (!is_printable(line, n))
        return TC_SNIFF_OTHER;
    const char *space = memchr(line, ' ', n);
    if (space && known_method(line, (size_t)(space - line)))
        return TC_SNIFF_HTTP;
    if (memmem(line, n, " HTTP/", 6) || memmem(line, n, " http/", 6))
        return TC_SNIFF_HTTP;
    return whole || len > TC_SNIFF_LINE_MAX ? TC_SNIFF_OTHER : TC_SNIFF_MORE;
}
