/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/adopt/show.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/call/consent.h"
#include "cli/show/clean.h"
#include "cli/show/say.h"
#include "text/shell.h"

static char *one_line(const char *text)
{
    return tc_clean(TC_CLEAN_LINE, text, strlen(text), NULL);
}

static void put_path(FILE *out, const char *path)
{
    _autofree_ char *line = one_line(path);
    (void)fputs(line ? line : "?", out);
}

static void put_target(FILE *out, const struct tc_adopt_target *target)
{
    (void)fprintf(out, "%s%s  ", target->agent, target->project ? " (this project)" : "");
    put_path(out, target->file.path ? target->file.path : "?");
    (void)fputc('\n', out);
    if (target->failed) {
        const struct tc_failure *failure = &target->failure;
        _autofree_ char *line = one_line(failure->message ? failure->message : "out of memory");
        (void)fprintf(out, "  left alone: %s\n", line ? line : "out of memory");
        return;
    }
    if (!target->job_count)
        (void)fputs("  no MCP servers\n", out);
    for (size_t i = 0; i < target->job_count; i++) {
        _autofree_ char *state = one_line(target->jobs[i].state);
        (void)fprintf(out, "  %-20.60s %s\n", target->jobs[i].line, state ? state : "?");
    }
}

int tc_adopt_print_list(const struct tc_adopt_run *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tc_cli_no_memory();
    for (size_t i = 0; i < run->target_count; i++)
        put_target(out, &run->targets[i]);
    if (!run->target_count)
        (void)fputs("no settings of a known agent here; name a file with --file\n", out);
    return tc_cli_print_text(TC_PAINT_NOTHING, out, &text);
}

/* ---- one server ---- */

/* Lines with the same indentation, the first one after a title. */
static void put_lines(FILE *out, const char *title, const char *lines)
{
    for (bool first = true; *lines; first = false) {
        size_t length = strcspn(lines, "\n");
        (void)fprintf(out, "  %-9s %.*s\n", first ? title : "", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

static void put_job(FILE *out, const struct tc_adopt_target *target, const struct tc_adopt_job *job)
{
    (void)fprintf(out, "\n%s (%s%s):\n", job->line, target->agent,
                  target->project ? ", this project" : "");
    put_lines(out, "may", job->plan.grants);
    put_lines(out, "", "use all its tools, and 1 GiB of memory for each process");
    put_lines(out, "not", job->plan.left);
    (void)fputs("  policy    ", out);
    put_path(out, job->policy);
    (void)fputc('\n', out);
    for (size_t i = 0; i < job->plan.secret_count; i++) {
        (void)fputs("  secret    is moved to ", out);
        put_path(out, job->plan.secrets[i].file);
        (void)fputs(" (mode 0600)\n", out);
    }
}

int tc_adopt_print_changes(const struct tc_adopt_run *run)
{
    for (size_t i = 0; i < run->target_count; i++) {
        const struct tc_adopt_target *target = &run->targets[i];
        for (size_t k = 0; !target->failed && k < target->job_count; k++) {
            const struct tc_adopt_job *job = &target->jobs[k];
            char *text = NULL;
            size_t size = 0;
            if (!job->adopted)
                continue;
            FILE *out = open_memstream(&text, &size);
            if (!out)
                return tc_cli_no_memory();
            put_job(out, target, job);
            int rc = tc_cli_print_text(TC_PAINT_NOTHING, out, &text);
            rc = rc ? rc : tc_cli_print_painted(TC_PAINT_DIFF, job->diff);
            if (rc)
                return rc;
        }
    }
    return 0;
}

/* ---- afterwards ---- */

static void put_next(FILE *out, const struct tc_adopt_job *job)
{
    _autofree_ char *path = tc_shell_quote(job->policy);
    if (!path)
        return;
    if (job->plan.setup)
        (void)fprintf(out, "  toolcage setup --policy %s\n", path);
    if (*job->plan.left)
        (void)fprintf(out, "  edit %s, which says what %s may do\n", path, job->policy_name);
}

int tc_adopt_print_next(const struct tc_adopt_run *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tc_cli_no_memory();
    (void)fputs("\nnext:\n", out);
    for (size_t i = 0; i < run->target_count; i++)
        for (size_t k = 0; !run->targets[i].failed && k < run->targets[i].job_count; k++)
            if (run->targets[i].jobs[k].adopted)
                put_next(out, &run->targets[i].jobs[k]);
    (void)fputs("  restart the agents\n"
                "  if a server lacks something: toolcage learn --stdin none -- COMMAND shows what "
                "it accesses\n"
                "  toolcage adopt --undo takes it all back\n",
                out);
    return tc_cli_print_text(TC_PAINT_NOTHING, out, &text);
}

int tc_adopt_confirm(const char *question)
{
    struct tc_person person;
    /* a person can only approve what was shown */
    if (!isatty(STDOUT_FILENO) || !tc_person_open(&person))
        return -1;
    char answer = tc_cli_answer(person.fd, person.in, question);
    tc_person_close(&person);
    return answer == 'y';
}
