/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Lists names of the cage as JSON. */
#ifndef TC_LIVE_FILES_LIST_H
#define TC_LIVE_FILES_LIST_H

#include "live/files/path.h"

/* Sends a line of JSON for each name of the directory, sorted. 0, or -1 after an error message. */
int tc_files_list(const char *path);
/* Writes a line of JSON to descriptor 1. 0, or -1 after an error message. */
int tc_files_stat(const char *path);

#endif
