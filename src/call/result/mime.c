/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Signatures are those of the formats' own specifications: PNG (ISO 15948, 5.2), JPEG (ITU-T T.81,
 * SOI and the next marker), GIF89a, WebP (RIFF container), PDF (ISO 32000, 7.5.2), ZIP (APPNOTE,
 * 4.3.7), gzip (RFC 1952, 2.3.1). */
#include "call/result/mime.h"

#include <string.h>

#include "base/strv.h"

#define UNKNOWN "application/octet-stream"

struct row {
    const char *suffix, *type;
    const char *first; /* bytes that it begins with; NULL: text */
    size_t len;
    const char *eighth; /* bytes at 8, NULL: no matter */
};

#define BYTES(text) text, sizeof(text) - 1
static const struct row rows[] = {
    {".csv", "text/csv", NULL, 0, NULL},
    {".txt", "text/plain", NULL, 0, NULL},
    {".md", "text/markdown", NULL, 0, NULL},
    {".html", "text/html", NULL, 0, NULL},
    {".json", "application/json", NULL, 0, NULL},
    {".xml", "application/xml", NULL, 0, NULL},
    {".svg", "image/svg+xml", NULL, 0, NULL},
    {".png", "image/png", BYTES("\x89PNG\r\n\x1a\n"), NULL},
    {".jpg", "image/jpeg", BYTES("\xff\xd8\xff"), NULL},
    {".jpeg", "image/jpeg", BYTES("\xff\xd8\xff"), NULL},
    {".gif", "image/gif", BYTES("GIF8"), NULL},
    {".webp", "image/webp", BYTES("RIFF"), "WEBP"},
    {".pdf", "application/pdf", BYTES("%PDF-"), NULL},
    {".zip", "application/zip", BYTES("PK\x03\x04"), NULL},
    {".gz", "application/gzip", BYTES("\x1f\x8b"), NULL},
};

static bool agrees(const struct row *row, const char *content, size_t len)
{
    enum { EIGHTH = 8, WORD = 4 };
    if (!row->first)
        return tc_utf8_valid(content, len);
    if (len < row->len || memcmp(content, row->first, row->len) != 0)
        return false;
    return !row->eighth ||
           (len >= EIGHTH + WORD && memcmp(content + EIGHTH, row->eighth, WORD) == 0);
}

const char *tc_mime_of(const char *path, const char *content, size_t len)
{
    const struct row *named = NULL;
    for (size_t i = 0; i < TC_COUNT(rows) && !named; i++)
        if (tc_endswith(path, rows[i].suffix))
            named = &rows[i];
    if (!content)
        return named ? named->type : UNKNOWN;
    if (named)
        return agrees(named, content, len) ? named->type : UNKNOWN;
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (rows[i].first && agrees(&rows[i], content, len))
            return rows[i].type;
    return tc_utf8_valid(content, len) ? "text/plain" : UNKNOWN;
}
