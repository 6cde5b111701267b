/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls of the audit log: each decision together with its result, chosen by a filter. */
#ifndef TC_CLI_AUDIT_PAST_H
#define TC_CLI_AUDIT_PAST_H

#include "cli/show/failure.h"
#include "cli/show/json.h"

/* A call of the log. Borrowed, as long as the function that gets it runs. */
struct tc_past_call {
    struct tc_slice decision; /* the record "run", "refused", "request" or "settle" */
    struct tc_slice result;   /* absent: refused, or not recorded (yet) */
};

/* Is it a decision about staged changes of the call, instead of the call itself? */
bool tc_past_settles(const struct tc_past_call *call);

/* NULL members match every call. */
struct tc_past_filter {
    const char *call, *tool, *status;
    const char *since, *until; /* as the log writes times: 2026-01-31T12:00; `until` is included */
    bool settles;              /* also decisions about staged changes of calls */
    const char *host, *path;   /* of a denial, of a destination or of a change; a path also below */
};

/* False: stop. */
typedef bool tc_past_fn(void *context, const struct tc_past_call *call);

struct tc_past {
    const struct tc_past_filter *filter;
    tc_past_fn *fn;
    void *context;
    struct tc_past_open { /* decisions without a result so far, owned */
        char *text;
        size_t length;
    } * open;
    size_t open_count;
    size_t damaged; /* records that cannot be read */
    bool memory;    /* out of memory */
};

/* Opens a log: the one in this directory; NULL: that of the user. -1 with the failure. */
int tc_past_log(const char *directory, struct tc_failure *failure);

/* Passes the calls of the log in `dir` that match to `fn`, and says if records are damaged. 0, or
 * -1 with the failure. */
int tc_past_read(int dir, const struct tc_past_filter *filter, tc_past_fn *fn, void *context,
                 struct tc_failure *failure);
/* Sets the failure of a log that cannot be read, from errno. Returns -1. */
int tc_past_fail(struct tc_failure *failure);

/* Reads the option (--since, --until), if it is given, as a time of the log: *ret is then `to`. 0,
 * or -1 with the failure. */
enum { TC_PAST_TIME_SIZE = 32 };
int tc_past_time(const struct tc_args *args, const char *option, char to[TC_PAST_TIME_SIZE],
                 const char **ret, struct tc_failure *failure);

/* Takes one record, with a struct tc_past as context: for tc_audit_read(). */
bool tc_past_take(void *past, const char *record, size_t length);
/* Passes on the calls without a result. */
void tc_past_rest(struct tc_past *past);
void tc_past_done(struct tc_past *past);

/* "ok", …, or "unfinished": there is no result. Owned; NULL if memory is exhausted. */
char *tc_past_status(const struct tc_past_call *call);
/* One line: time, call, status, duration, tool and command. */
void tc_past_put(FILE *out, const struct tc_past_call *call);

/* ---- again.c ---- */

/* Has the log what is needed to make the call again? */
bool tc_past_known(const struct tc_past_call *call);
/* A new call with the same tool, command, arguments and options, not started, without input; in its
 * workspace, or to run it, in the one that is named. 0, or the error's code; *ret (zeroed) may be
 * set in any case. */
int tc_past_again(struct toolcage_engine *engine, struct toolcage_policy *policy,
                  const struct tc_past_call *call, const char *workspace,
                  struct toolcage_call **ret, struct toolcage_error **err);

/* ---- used.c ---- */

/* Summarises what recorded calls used, as far as a policy (borrowed, read from `file`) grants it.
 */
struct tc_used;
/* NULL with the error, or without one: memory is exhausted. */
struct tc_used *tc_used_new(struct toolcage_policy *policy, const char *file,
                            struct toolcage_error **err);
/* Takes one call of the log, with a struct tc_used as context. */
bool tc_used_take(void *used, const struct tc_past_call *call);
/* How many calls of tools there were. */
size_t tc_used_calls(const struct tc_used *used);
/* The text of a policy that extends the file; owned. NULL: memory is exhausted, or the calls used
 * too much to be summarised. */
char *tc_used_write(struct tc_used *used);
void tc_used_free(struct tc_used *used);

/* ---- replay.c ---- */

/* Did the call repeat a recorded one? */
bool tc_past_replays(const struct tc_past_call *call);

/* Runs recorded calls again under a policy (borrowed), in copies of their workspaces, and prints
 * how they end now. */
struct tc_replay;
/* The newest `most` calls. NULL with the error, or without one: memory is exhausted. */
struct tc_replay *tc_replay_new(struct toolcage_policy *policy, size_t most, bool json,
                                struct toolcage_error **err);
/* Takes one call of the log, with a struct tc_replay as context. */
bool tc_replay_take(void *replay, const struct tc_past_call *call);
size_t tc_replay_count(const struct tc_replay *replay);
/* Runs the calls, and says in *ret_other whether one did not end as recorded. 0, or an exit code
 * after printing the reason. */
int tc_replay_run(struct tc_replay *replay, bool *ret_other);
void tc_replay_free(struct tc_replay *replay);

/* ---- prune.c ---- */

/* Locks what is kept for replays. What records from after this time (borrowed) name will stay. NULL
 * with errno; ENOENT: nothing was ever kept. */
struct tc_prune;
struct tc_prune *tc_prune_new(const char *since);
/* Takes each record of the log, with a struct tc_prune as context: for tc_audit_read(). */
bool tc_prune_take(void *prune, const char *record, size_t length);
/* Removes all else. 0 with the bytes, or -1 with errno; EBADMSG: a record cannot be read, so
 * nothing is removed. */
int tc_prune_run(struct tc_prune *prune, int64_t *ret_removed, int64_t *ret_left);
void tc_prune_free(struct tc_prune *prune);

/* ---- check.c ---- */

/* What a policy would refuse of recorded calls, as text or as one line of JSON; owned. With
 * `before` only the calls count that this policy would allow (both borrowed). NULL with the
 * failure. */
char *tc_recheck_text(int dir, const struct tc_past_filter *filter, struct toolcage_policy *policy,
                      struct toolcage_policy *before, bool json, int64_t *ret_broken,
                      struct tc_failure *failure);

/* ---- otlp.c ---- */

/* Begins the request; NULL: memory is exhausted. */
struct tc_spans *tc_spans_new(FILE *out);
/* Adds a call that has ended, with a struct tc_spans as context. */
bool tc_spans_take(void *spans, const struct tc_past_call *call);
/* Ends the request and frees it. */
void tc_spans_end(struct tc_spans *spans);

/* ---- stats.c ---- */

struct tc_stats;
struct tc_stats *tc_stats_new(void);
/* Counts a call, with a struct tc_stats as context. */
bool tc_stats_take(void *stats, const struct tc_past_call *call);
/* Prints the tools with their counts and durations, and what was refused most often; or the same as
 * one line of JSON. */
void tc_stats_put(FILE *out, const struct tc_stats *stats, bool json);
void tc_stats_free(struct tc_stats *stats);

#endif
