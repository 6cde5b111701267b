/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "serve/console.h"

#include <stddef.h>
#include <string.h>

#define SCRIPT "text/javascript; charset=utf-8"
#define SCRIPTS(X) \
    X(approvals) X(calls) X(console) X(health) X(history) X(parts) X(server) X(text) X(tools)
#define DECLARE(name) extern const char tc_console_##name[];
#define ROW(name) {"/console/" #name ".js", SCRIPT, tc_console_##name},

/* made of the files in console/ */
extern const char tc_console_index[], tc_console_style[];
SCRIPTS(DECLARE)

static const struct tc_console_file files[] = {
    {"/", "text/html; charset=utf-8", tc_console_index},
    {"/console/console.css", "text/css; charset=utf-8", tc_console_style},
    SCRIPTS(ROW)};

const struct tc_console_file *tc_console_find(const char *path)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}
