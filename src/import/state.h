/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The state of one import: the policy text and the omissions so far. */
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
    const char *cwd, *home; /* absolute and normalized */
    struct tc_import_fault *fault;
    struct tc_strv left; /* omitted settings: printable ASCII */
    struct tc_buf body;  /* TOML */
    size_t entries;      /* paths and hosts read so far */
    int rc;              /* the first failure */
};

/* Records a setting that is left out of the policy. */
void tc_import_leave(struct tc_settings_import *im, const char *fmt, ...) TC_PRINTF(2, 3);
/* Fails: the input is invalid. */
void tc_import_refuse(struct tc_settings_import *im, const char *place, const char *what);
/* Records the members of an object (may be NULL) that are not in `known`; members with the value
 * false are ignored, because false never grants anything. */
void tc_import_leave_others(struct tc_settings_import *im, const char *place, const char *table,
                            const json_t *object, const char *const known[]);
/* Appends a TOML string in plain ASCII. */
void tc_import_text(struct tc_settings_import *im, const char *text);
/* box.c: converts the `filesystem` and `network` tables of a sandbox; either may be NULL. */
void tc_import_box(struct tc_settings_import *im, const char *place, const json_t *files,
                   const json_t *network);
/* vscode.c: converts the servers of a mcp.json, and the sandbox of settings.json. */
void tc_import_vscode(struct tc_settings_import *im, const json_t *root);

#endif
