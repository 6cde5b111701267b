/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A client of a live session's owner that runs one file action. The content does not pass through
 * the owner: the client has the other end of the action's stream. */
#ifndef TC_CLI_LIVE_FILES_H
#define TC_CLI_LIVE_FILES_H

#include "cli/show/failure.h"

struct tc_file_action {
    const char *name;              /* in: the session */
    const char *words[4];          /* in: as in cli/live/action.h */
    bool receives;                 /* in: the content comes from the session */
    int fd;                        /* in: the content's file, or the directory that holds `entry` */
    bool plain;                    /* in: no result as JSON, also with --json */
    const char *entry;             /* in: a directory; NULL: a file */
    long long most;                /* in: bytes to receive */
    struct toolcage_received file; /* out, if `receives` */
    char *out, *err, *text;        /* out: the action's outputs, and messages of toolcage */
    size_t out_length;
    int code;     /* out: the exit code */
    bool stopped; /* out: by a signal; `code` is its exit code */
};

/* Runs the action to its end. 0, also if it failed in the session, or -1 with the failure. */
int tc_file_action_run(struct tc_file_action *action, const struct tc_args *args,
                       struct tc_failure *failure);
void tc_file_action_done(struct tc_file_action *action);

#endif
