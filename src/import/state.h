/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One import: what has been written and what was left out so far. */
#ifndef TC_IMPORT_STATE_H
#define TC_IMPORT_STATE_H

#include <jansson.h>
#include <stdlib.h>
#include <toolcage/error.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/strv.h"
#include "import/import.h"

struct tc_settings_import {
    const char *cwd, *home; /* absolute and clean */
    struct tc_import_fault *fault;
    struct tc_strv left; /* what could not be said: printable ASCII */
    struct tc_buf body;  /* TOML */
    size_t entries;      /* paths and hosts read so far */
    int rc;              /* the first failure */
};

/* One more thing that is not in the policy. */
void tc_import_leave(struct tc_settings_import *im, const char *fmt, ...) TC_PRINTF(2, 3);
/* The input is not what it says it is. */
void tc_import_refuse(struct tc_settings_import *im, const char *place, const char *what);
/* What stands in an object (NULL: there is none) and is not one of `known`; false gives nothing
 * anywhere. */
void tc_import_leave_others(struct tc_settings_import *im, const char *place, const char *table,
                            const json_t *object, const char *const known[]);
/* A string of TOML in plain ASCII, whatever the text. */
void tc_import_text(struct tc_settings_import *im, const char *text);
/* `filesystem`, `network` and `unix_sockets` of a sandbox's two tables, either of which may be NULL
 * (import_box.c). */
void tc_import_box(struct tc_settings_import *im, const char *place, const json_t *files,
                   const json_t *network);
/* The servers of a mcp.json, and the sandbox of settings.json (import_vscode.c). */
void tc_import_vscode(struct tc_settings_import *im, const json_t *root);

#endif
