/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * --output-dir: the files of a result, written below a directory. It is opened before the tool
 * runs, and nothing below it is reached through a link: a tool that can write there cannot choose
 * where the files go. */
#ifndef TC_CLI_CALL_OUTDIR_H
#define TC_CLI_CALL_OUTDIR_H

#include "cli/call/setup.h"

struct tc_outdir {
    const char *name; /* borrowed; NULL: not asked for */
    int fd;
};

/* Opens the directory that the options name, and makes it where it is missing. 0, or -1 with the
 * failure; closed by tc_outdir_close() in both cases. */
int tc_outdir_open(const struct tc_args *args, const struct tc_setup *setup, struct tc_outdir *ret,
                   struct tc_failure *failure);
/* Writes the files of the result, and says which not. 0 or the exit code. */
int tc_outdir_write(const struct tc_outdir *dir, const struct toolcage_result *result);
void tc_outdir_close(struct tc_outdir *dir);

#define _autooutdir_ __attribute__((cleanup(tc_outdir_close)))

#endif
