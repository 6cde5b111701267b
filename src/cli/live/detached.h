/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Detached commands of a live session: their owner keeps the calls, and the end of their output.
 * The oldest commands that have ended are forgotten. */
#ifndef TC_CLI_LIVE_DETACHED_H
#define TC_CLI_LIVE_DETACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/show/failure.h"

enum {
    TC_DETACHED_RUNNING_MAX = 64,
    TC_DETACHED_ENDED_MAX = 16,
    TC_DETACHED_MAX = TC_DETACHED_RUNNING_MAX + TC_DETACHED_ENDED_MAX,
    TC_DETACHED_OUTPUT_MAX = 2 << 20, /* kept bytes of both streams of one command */
};

struct tc_detached {
    unsigned id, watchers; /* watched: it is not forgotten */
    struct toolcage_call *call;
    char *command; /* its first bytes */
    bool done;     /* its result, if any, is the call's */
    char *output;  /* pieces: length (uint32_t), stream, bytes */
    size_t length, room;
    uint64_t dropped; /* bytes of earlier pieces */
};

struct tc_detached_list {
    struct tc_detached *all[TC_DETACHED_MAX]; /* by age; NULL after the last */
    unsigned last_id;
    unsigned failed; /* the first forgotten command that failed; 0: none */
    int failed_code;
};

/* Keeps the call, which is not started yet, and its output. NULL: out of memory. Borrowed. */
struct tc_detached *tc_detached_add(struct tc_detached_list *list, struct toolcage_call *call,
                                    char *const *words);
/* Forgets a command, and frees its call. */
void tc_detached_remove(struct tc_detached_list *list, struct tc_detached *detached);
void tc_detached_clear(struct tc_detached_list *list);
/* The command of the session `name` with this id; NULL with the failure. Borrowed. */
struct tc_detached *tc_detached_find(const struct tc_detached_list *list, const char *name,
                                     const char *id, struct tc_failure *failure);
/* Sends a signal: `text` is "ID NUMBER". 0, or -1 with the failure. */
int tc_detached_signal(const struct tc_detached_list *list, const char *name, const char *text,
                       struct tc_failure *failure);
/* Prints a line "ID CODE" for each command, and returns the first code that is not 0, or 0. All
 * have ended. The first one that failed and was forgotten since the last time is among them. */
int tc_detached_codes(struct tc_detached_list *list, FILE *out);
size_t tc_detached_running(const struct tc_detached_list *list);
/* Takes the output that is ready, and at most one result: a result with much output takes time and
 * memory. */
void tc_detached_dispatch(struct tc_detached_list *list);
/* The output after the position *at, a piece at a time; false: there is no more. *ret_lost: earlier
 * output was dropped meanwhile. The bytes are borrowed until the next dispatch. */
bool tc_detached_read(const struct tc_detached *detached, uint64_t *at, int *ret_stream,
                      const char **ret_bytes, size_t *ret_length, bool *ret_lost);
/* As a JSON array. */
void tc_detached_describe(const struct tc_detached_list *list, FILE *out);

#endif
