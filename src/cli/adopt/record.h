/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Backups in the user's state directory, one directory for each file that was adopted: the settings
 * before and after, and copies of the policies and secrets that were written. They hold secrets, so
 * only their owner can read them; no grant includes the state directory. */
#ifndef TC_CLI_ADOPT_RECORD_H
#define TC_CLI_ADOPT_RECORD_H

#include "cli/adopt/jobs.h"

struct tc_adopt_record {
    char *directory;
    char *path; /* of the settings */
    char *before, *after;
    size_t before_length, after_length;
    char *temporary; /* the name of the last temporary file next to the settings; NULL: none */
    bool unfinished; /* a crash has left it before anything else was written, or after all was
                        removed; nothing else is set */
};

/* The lock of this user's adoptions, an fd; -1 with the failure. */
int tc_adopt_lock(struct tc_failure *failure);
/* Writes the backup, the policies and the secrets of a target, and then its settings. 0, or -1 with
 * the failure and nothing left. */
int tc_adopt_write(const struct tc_adopt_run *run, const struct tc_adopt_target *target,
                   char **ret_backup, struct tc_failure *failure);

/* The records, the newest first. NULL-terminated paths, owned. NULL with the failure. */
char **tc_adopt_records(struct tc_failure *failure);
int tc_adopt_record_read(const char *directory, struct tc_adopt_record *ret,
                         struct tc_failure *failure);
void tc_adopt_record_done(struct tc_adopt_record *record);
/* Removes the policies and secrets that are as they were written, and the record. The paths of
 * changed policies are reported. */
void tc_adopt_record_remove(const struct tc_adopt_record *record);
/* The path where tc_adopt_replace() notes its temporary file; owned. */
char *tc_adopt_record_note(const char *directory);

#endif
