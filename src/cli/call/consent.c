/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Before a call that needs a person's approval: asks the user at the terminal. Every value is shown
 * as JSON, in rows that are shorter than a terminal of 80 columns and begin with a bar, so that a
 * model's text cannot pass for another row or for a question of toolcage. No answer is a no. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/call/run.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "text/utf8.h"

enum {
    SHORT = 400, /* bytes of a value, and rows of all values, that are shown without being asked
                    for */
    ROWS = 40,
    COLUMNS = 60, /* of a value */
};

struct consent {
    struct toolcage_call *call;
    struct tc_slice subject;
    char *digest, *tool, *tier;
    int fd;
    FILE *terminal;
};

static void done(struct consent *c)
{
    free(c->digest);
    free(c->tool);
    free(c->tier);
    if (c->terminal)
        (void)fclose(c->terminal);
    if (c->fd >= 0)
        (void)close(c->fd);
}

/* What is shown: all of it (`whole`), or what fits; then `cut` says that something is left out. */
struct view {
    FILE *out;
    bool whole, cut;
    size_t rows;
};

/* The most columns that a character can take: escaped as \u{10ffff}, or wide. */
static size_t columns_of(uint32_t point)
{
    return tc_utf8_unshown(point) ? 10 : point < 0x7f ? 1 : 2;
}

/* The bytes of the text's first row. */
static size_t row_of(const char *text, size_t length)
{
    size_t at = 0, columns = 0;
    uint32_t point;
    while (at < length) {
        size_t n = tc_utf8_decode(text + at, length - at, &point);
        columns += n ? columns_of(point) : 4;
        if (columns > COLUMNS)
            break;
        at += n ? n : 1;
    }
    return at;
}

static void put_value(struct view *v, const char *label, struct tc_slice value)
{
    const char *at = value.at;
    size_t left = value.length, most = v->whole || left <= SHORT ? left : SHORT, shown = 0;
    while (shown < most && (v->whole || v->rows < ROWS)) {
        size_t n = row_of(at + shown, most - shown);
        (void)fprintf(v->out, "  %-10s | %.*s\n", label, (int)n, at + shown);
        label = "";
        shown += n;
        v->rows++;
    }
    if (shown < left) {
        (void)fprintf(v->out, "  %-10s … %zu more bytes\n", label, left - shown);
        v->cut = true;
    }
}

static void put_member(struct view *v, const char *label, const char *key, const struct consent *c)
{
    struct tc_slice value = tc_json_get(c->subject, key);
    if (value.at)
        put_value(v, label, value);
}

/* Each element, or a member of each. */
static void put_list(struct view *v, const char *label, const char *key, const char *member,
                     const struct consent *c)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(c->subject, key));
    while (tc_scan_next(&each)) {
        put_value(v, label, member ? tc_json_get(each.value, member) : each.value);
        label = "";
    }
}

/* Each granted path, with the host's path if that is another one. */
static void put_paths(struct view *v, const char *label, const struct consent *c)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(c->subject, label));
    while (tc_scan_next(&each)) {
        struct tc_slice path = tc_json_get(each.value, "path");
        struct tc_slice from = tc_json_get(each.value, "from");
        put_value(v, label, path);
        if (from.length != path.length || memcmp(from.at, path.at, from.length) != 0)
            put_value(v, "  from", from);
        label = "";
    }
}

/* Shows the request; `whole`: all of it. Is something left out? */
static bool show(const struct consent *c, bool whole)
{
    char *text = NULL;
    size_t size = 0;
    struct view v = {.out = open_memstream(&text, &size), .whole = whole};
    if (!v.out)
        return true;
    put_member(&v, "arguments", "arguments", c);
    put_member(&v, "command", "command", c);
    put_member(&v, "input", "input", c);
    put_member(&v, "input", "input_base64", c);
    if (tc_json_get(c->subject, "pipe").at)
        (void)fputs("  input      standard input, which is not shown here\n", v.out);
    put_list(&v, "files", "files", "path", c);
    put_list(&v, "directory", "cwd", "path", c);
    put_member(&v, "backend", "backend", c);
    put_paths(&v, "read", c);
    put_paths(&v, "write", c);
    put_list(&v, "sockets", "unix_sockets", "path", c);
    put_list(&v, "network", "network", NULL, c);
    put_list(&v, "secrets", "secrets", NULL, c);
    put_member(&v, "variables", "environment", c);
    if (!fclose(v.out))
        tc_cli_stderr_painted(TC_PAINT_NOTHING, text);
    free(text);
    return v.cut;
}

static int refuse(const struct consent *c, struct tc_failure *failure)
{
    char line[512] = "";
    if (!tc_cli_ask(c->fd, "why not? the model reads this; empty: no reason") ||
        !fgets(line, sizeof(line), c->terminal))
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return toolcage_call_deny(c->call, line[0] ? line : NULL, tc_failure_error(failure));
}

static int ask(const struct consent *c, struct tc_failure *failure)
{
    tc_cli_say("tool %s needs a person's approval (tier %s)", c->tool, c->tier);
    bool more = show(c, false); /* nobody approves what was not shown */
    for (;;) {
        char answer = tc_cli_answer(c->fd, c->terminal,
                                    more ? "run this call? v: view all of it first, n: no"
                                         : "run this call? y: yes, n: no");
        switch (more && answer == 'y' ? 'v' : answer) {
        case 'y':
            return toolcage_call_approve(c->call, c->digest, tc_failure_error(failure));
        case 'n':
            return refuse(c, failure);
        case 'v':
            more = show(c, true);
            continue;
        default:
            return 0;
        }
    }
}

int tc_consent_ask(struct toolcage_call *call, struct tc_failure *failure)
{
    _autoerror_ struct toolcage_error *err = NULL;
    char *json = NULL;
    struct consent c = {.call = call, .fd = -1};
    if (!isatty(STDERR_FILENO))
        return 0;
    if (toolcage_call_approval_json(call, &json, &err)) /* else start fails for the same reason */
        return strcmp(toolcage_error_stage(err), "approve") == 0
                   ? toolcage_call_deny(call, toolcage_error_message(err),
                                        tc_failure_error(failure))
                   : 0;
    struct tc_slice request = tc_json_of(json);
    int rc = 0;
    if (tc_json_true(tc_json_get(request, "needed")))
        c.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    c.terminal = c.fd < 0 ? NULL : fdopen(dup(c.fd), "r");
    c.subject = tc_json_get(request, "subject");
    c.digest = tc_json_text(tc_json_get(request, "digest"));
    c.tool = tc_json_line(tc_json_get(c.subject, "tool"));
    if (!c.tool)
        c.tool = strdup("(a bare command)");
    c.tier = tc_json_line(tc_json_get(c.subject, "tier"));
    if (c.terminal && c.digest && c.tool && c.tier)
        rc = ask(&c, failure);
    done(&c);
    toolcage_free(json);
    return rc;
}
