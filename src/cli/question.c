/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * At the end of a call: its changes wait for a yes, and a person is at the terminal. The tool never
 * sees that terminal, and what it wrote there has been made harmless. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>

#include "cli/changes.h"
#include "cli/diff.h"
#include "cli/say.h"

static bool waits(struct tc_slice result)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(result, "changes"));
    while (tc_scan_next(&each)) {
        _autofree_ char *held = tc_json_text(tc_json_get(each.value, "held"));
        if (held && !strcmp(held, TOOLCAGE_HELD_APPROVAL))
            return true;
    }
    return false;
}

struct question {
    struct toolcage_engine *engine;
    const char *call;
    char *json; /* what is asked about, as the library tells it */
    struct tc_review review;
    int fd;
    FILE *terminal;
};

static void done(struct question *q)
{
    tc_review_done(&q->review);
    toolcage_free(q->json);
    if (q->terminal)
        (void)fclose(q->terminal);
    if (q->fd >= 0)
        (void)close(q->fd);
}

/* The first letter of the answer; 0: none. What was typed ahead may be an answer to what the tool
 * asked, and is none to us. */
static char ask(struct question *q, const char *words)
{
    char line[64];
    (void)tcflush(q->fd, TCIFLUSH);
    if (!tc_cli_ask(q->fd, words) || !fgets(line, sizeof(line), q->terminal))
        return 0;
    return line[0] >= 'A' && line[0] <= 'Z' ? (char)(line[0] - 'A' + 'a') : line[0];
}

static void view(const struct question *q)
{
    _autofree_ char *text = tc_review_whole(q->engine, tc_json_of(q->json), &q->review);
    if (text)
        tc_cli_stderr(text);
    else
        (void)tc_cli_no_memory();
}

/* The action, or NULL: not now. */
static const char *answer(struct question *q)
{
    for (;;) {
        switch (ask(q, "apply these changes? y: yes, d: discard them, v: view them, else: "
                       "later")) {
        case 'y':
            return "commit";
        case 'd':
            return "discard";
        case 'v':
            view(q);
            continue;
        default:
            return NULL;
        }
    }
}

/* What did not come back although it was asked for. */
static void say_left(struct tc_slice answered, const char *call)
{
    _autoreview_ struct tc_review review = {0};
    bool any = false;
    if (tc_review_make(&review, answered))
        return;
    for (size_t i = 0; i < review.count; i++) {
        const struct tc_review_row *row = &review.rows[i];
        if (row->held)
            tc_cli_say("still held: %s (%s)", tc_review_name(&review, row), row->held);
        any = any || row->held;
    }
    if (any)
        tc_cli_hint("toolcage changes %s shows them", call);
}

/* 0, or the exit code of a failure. */
static int settle(struct question *q)
{
    _autoerror_ struct toolcage_error *err = NULL;
    char *answered = NULL;
    int rc = 0;
    if (toolcage_engine_changes_json(q->engine, q->call, "show", &q->json, &err)) {
        tc_cli_error(err);
        return tc_cli_error_exit(err);
    }
    if ((rc = tc_review_make(&q->review, tc_json_of(q->json))))
        return rc;
    const char *action = answer(q);
    if (!action) {
        tc_cli_hint("toolcage changes %s commit applies them, discard deletes them", q->call);
        return 0;
    }
    if (toolcage_engine_changes_json(q->engine, q->call, action, &answered, &err)) {
        tc_cli_error(err);
        return tc_cli_error_exit(err);
    }
    say_left(tc_json_of(answered), q->call);
    toolcage_free(answered);
    return 0;
}

int tc_changes_ask(struct toolcage_engine *engine, const struct toolcage_result *result)
{
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    _autofree_ char *call = waits(json) ? tc_json_text(tc_json_get(json, "call")) : NULL;
    struct question q = {.engine = engine, .call = call, .fd = -1};
    if (!call)
        return 0;
    if (isatty(STDERR_FILENO))
        q.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    q.terminal = q.fd < 0 ? NULL : fdopen(dup(q.fd), "r");
    int rc = 0;
    if (q.terminal)
        rc = settle(&q);
    else
        tc_cli_hint("toolcage changes %s commit applies them, discard deletes them", call);
    done(&q);
    return rc;
}
