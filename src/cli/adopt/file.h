/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A settings file: read once, and replaced only if it still has the bytes that were read. */
#ifndef TC_CLI_ADOPT_FILE_H
#define TC_CLI_ADOPT_FILE_H

#include <sys/stat.h>

#include "cli/show/failure.h"

struct tc_adopt_file {
    char *path;    /* without links; a link in the user's settings is followed to its target */
    int directory; /* O_PATH, or -1 */
    const char *name;
    char *text; /* NULL: there is no such file */
    size_t length;
    struct stat st;
};

/* Opens and reads the file. `linked`: the path may have links; else none is followed, because
 * someone else chose them. 0, also without a file, or -1 with the failure. */
int tc_adopt_open(const char *path, bool linked, struct tc_adopt_file *ret,
                  struct tc_failure *failure);
void tc_adopt_close(struct tc_adopt_file *file);
/* Replaces the content, with the same mode and group, in one step. Fails if the file has changed
 * since it was read; then the newer file stays. The name of the temporary file next to it is
 * written to the file `note` before the content. 0, or -1 with the failure. */
int tc_adopt_replace(const struct tc_adopt_file *file, const char *text, size_t length,
                     const char *note, struct tc_failure *failure);
/* Removes the temporary file of this name that a crash has left, unless it has another content than
 * `text` or a part of it. True: there is none any longer. */
bool tc_adopt_sweep(const struct tc_adopt_file *file, const char *name, const char *text,
                    size_t length);
/* Removes toolcage's temporary files from a directory that only toolcage writes. */
void tc_adopt_sweep_directory(const char *path);

#endif
