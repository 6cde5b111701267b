/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/read/sniff.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* IANA's registry and methods in common use. */
static bool known_method(const char *word, size_t len)
{
    static const char *const methods[] = {"GET",
                                          "HEAD",
                                          "POST",
                                          "PUT",
                                          "DELETE",
                                          "CONNECT",
                                          "OPTIONS",
                                          "TRACE",
                                          "PATCH",
                                          "ACL",
                                          "BIND",
                                          "CHECKIN",
                                          "CHECKOUT",
                                          "COPY",
                                          "LABEL",
                                          "LINK",
                                          "LOCK",
                                          "MERGE",
                                          "MKCOL",
                                          "MKACTIVITY",
                                          "MKCALENDAR",
                                          "MOVE",
                                          "ORDERPATCH",
                                          "PROPFIND",
                                          "PURGE",
                                          "PROPPATCH",
                                          "QUERY",
                                          "REBIND",
                                          "REPORT",
                                          "SEARCH",
                                          "UNBIND",
                                          "UNCHECKOUT",
                                          "UNLINK",
                                          "UNLOCK",
                                          "UPDATE",
                                          "UPDATEREDIRECTREF",
                                          "NOTIFY",
                                          "SUBSCRIBE",
                                          "M-SEARCH",
                                          "MKWORKSPACE",
                                          "UNSUBSCRIBE",
                                          "BASELINE-CONTROL",
                                          "VERSION-CONTROL",
                                          "MKREDIRECTREF",
                                          "PRI"};
    for (size_t i = 0; i < TC_COUNT(methods); i++)
        if (strlen(methods[i]) == len && strncasecmp(methods[i], word, len) == 0)
            return true;
    return false;
}

/* Does some HTTP server treat this byte as a separator in a request line? */
static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f) || c == 0x85 ||
           c == 0xa0;
}

static bool is_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool names_http(const char *line, size_t len)
{
    for (size_t i = 0; i + 5 <= len; i++)
        if (strncasecmp(line + i, "HTTP/", 5) == 0)
            return true;
    return false;
}

/* `line` starts at the first byte that is not a space. */
static enum tc_egress_sniff sniff_line(const char *line, size_t len, bool too_long)
{
    size_t word = 0;
    while (word < len && is_token((unsigned char)line[word]))
        word++;
    if (word < len && !is_space((unsigned char)line[word]))
        return TC_SNIFF_OTHER;
    if (word < len && known_method(line, word))
        return TC_SNIFF_HTTP;
    size_t until = 0; /* only a decision that later bytes cannot change */
    while (until < len && line[until] && line[until] != '\n')
        until++;
    if (names_http(line, until))
        return TC_SNIFF_HTTP;
    if (until < len)
        return TC_SNIFF_OTHER;
    return too_long ? TC_SNIFF_UNCLEAR : TC_SNIFF_MORE;
}

/* Is it the type of a TLS record? A connection need not begin with a handshake record. */
static bool is_record(unsigned char type)
{
    return type >= 0x14 && type <= 0x18;
}

enum tc_egress_sniff tc_egress_sniff(const char *bytes, size_t len)
{
    enum { MAJOR_MAX = 0x10 };
    size_t at = 0;
    if (len && is_record((unsigned char)bytes[0])) {
        if (len < 2)
            return TC_SNIFF_MORE;
        return (unsigned char)bytes[1] < MAJOR_MAX ? TC_SNIFF_TLS : TC_SNIFF_OTHER;
    }
    while (at < len && is_space((unsigned char)bytes[at]))
        at++;
    if (at == len)
        return len > TC_SNIFF_LINE_MAX ? TC_SNIFF_UNCLEAR : TC_SNIFF_MORE;
    return sniff_line(bytes + at, len - at, len > TC_SNIFF_LINE_MAX);
}
