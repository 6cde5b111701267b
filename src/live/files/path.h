/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Paths of the cage. They are resolved through no link and no "..", one component after the other:
 * the seccomp filter refuses openat2. */
#ifndef TC_LIVE_FILES_PATH_H
#define TC_LIVE_FILES_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct tc_files_path {
    const char *path; /* as given; borrowed */
    int dir;          /* the directory that holds the last component; -1: not resolved */
    char name[NAME_MAX + 1];
    bool exists;
    struct stat st; /* of the name itself, if it exists */
};

/* Reports the error on descriptor 2 and returns -1. */
int tc_files_fail(const char *subject, const char *fault, int errnum);

/* 0, or -1 after an error message. The name may not exist. */
int tc_files_resolve(const char *path, struct tc_files_path *ret);
/* -1 after an error message, unless it exists. */
int tc_files_need(const struct tc_files_path *p);
/* -1 after an error message, unless it exists and is a regular file, or a directory. */
int tc_files_need_file(const struct tc_files_path *p);
int tc_files_need_directory(const struct tc_files_path *p);
/* "file", "directory", "link", "fifo", "socket" or "device". */
const char *tc_files_type(mode_t mode);
void tc_files_path_done(struct tc_files_path *p);

#endif
