/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * --output-dir: writes a result's files below a directory. The directory is opened before the tool
 * runs, and links below it are not followed, so the tool cannot redirect the files. */
#ifndef TC_CLI_CALL_OUTDIR_H
#define TC_CLI_CALL_OUTDIR_H

#include "cli/call/setup.h"

struct tc_outdir {
    const char *name; /* borrowed; NULL: the option is not set */
    int fd;
};

/* Opens the directory in the options and creates it if it is missing. 0, or -1 with the failure;
 * call tc_outdir_close() in both cases. */
int tc_outdir_open(const struct tc_args *args, const struct tc_setup *setup, struct tc_outdir *ret,
                   struct tc_failure *failure);
/* Writes the result's files and reports those it does not write. 0 or the exit code. */
int tc_outdir_write(const struct tc_outdir *dir, const struct toolcage_result *result);
void tc_outdir_close(struct tc_outdir *dir);

#define _autooutdir_ __attribute__((cleanup(tc_outdir_close)))

#endif
