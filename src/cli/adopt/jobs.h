/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The work of one run of `toolcage adopt`: settings files, and for each of their servers the edit
 * and the policy. All of it is computed, and shown, before anything is written. */
#ifndef TC_CLI_ADOPT_JOBS_H
#define TC_CLI_ADOPT_JOBS_H

#include "adopt/adopt.h"
#include "cli/adopt/file.h"

/* One server. */
struct tc_adopt_job {
    char *where, *name, *line; /* `line`: name for display */
    char *state;               /* for display: the outcome, with the reason */
    bool adopted;
    char *policy_name; /* the server's name in the policy */
    char *policy;      /* path */
    struct tc_adopt_plan plan;
    char *diff;     /* for display */
    char **secrets; /* values of plan.secrets */
};

/* One settings file. */
struct tc_adopt_target {
    const char *agent;
    char *project; /* absolute; NULL: the user's own settings */
    struct tc_adopt_file file;
    char *text; /* after the edits */
    size_t length;
    struct tc_adopt_job *jobs;
    size_t job_count, adopted;
    struct tc_failure failure; /* why the file is left alone */
    bool failed;
};

struct tc_adopt_run {
    char *program;                          /* the path of toolcage for the settings */
    char *home, *here, *policies, *secrets; /* `here`: the working directory */
    struct tc_adopt_target *targets;
    size_t target_count, adopted, failed;
    char **names; /* policies of this run */
    size_t name_count;
};

/* Finds the settings of all agents, or `file` alone, and computes the edits. 0, or -1 with the
 * failure; a file that cannot be edited fails alone, in its target. */
int tc_adopt_collect(struct tc_adopt_run *run, const char *file, struct tc_failure *failure);
void tc_adopt_run_done(struct tc_adopt_run *run);

/* The format of a settings file, by its name. False: it is not supported. */
bool tc_adopt_format_of(const char *path, enum tc_adopt_format *ret);
/* The unified diff for display: names, and two texts that differ at these ranges. Owned. */
char *tc_adopt_show(const char *path, const char *before, size_t before_length, const char *after,
                    size_t after_length, const struct tc_adopt_edits *edits);

#endif
