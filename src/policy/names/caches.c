/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/names/caches.h"

#include <string.h>

#include "policy/names/row.h"

const char *const tc_caches_shipped[] = {
    "__pycache__",
    "*.pyc",
    "*.pyo",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    "node_modules/.cache",
    ".eslintcache",
    ".stylelintcache",
    ".parcel-cache",
    ".turbo",
    NULL,
};

/* The end of the row in `path` if `path` begins with it, else NULL. */
static const char *end_of(const char *row, const char *path)
{
    const char *end = NULL;
    for (; *row; row += tc_row_width(row), row += *row == '/') {
        if (!*path || !tc_row_same(row, path))
            return NULL;
        end = path + tc_row_width(path);
        path = *end ? end + 1 : end;
    }
    return end;
}

size_t tc_cache_name(const struct tc_strv *patterns, const char *relative)
{
    for (const char *at = relative; *at; at += tc_row_width(at), at += *at == '/') {
        size_t least = 0;
        for (size_t i = 0; i < patterns->count; i++) {
            const char *end = end_of(patterns->items[i], at);
            size_t length = end ? (size_t)(end - relative) : 0;
            least = length && (!least || length < least) ? length : least;
        }
        if (least)
            return least;
    }
    return 0;
}
