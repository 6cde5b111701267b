/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Before a call that needs a person's approval: asks the user at the terminal. What the model chose
 * is escaped and indented below a label, so that it cannot pass for a question of toolcage. No
 * answer is a no. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/call/run.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

enum { SHORT = 400 }; /* bytes of a value that are shown without being asked for */

struct consent {
    struct toolcage_call *call;
    struct tc_slice subject, grant;
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

/* True: the value was shown as a whole. */
static bool put_value(FILE *out, struct tc_slice value, bool whole)
{
    _autofree_ char *text = tc_json_line(value);
    size_t length = text ? strlen(text) : value.length;
    int most = whole || length <= SHORT ? (int)length : SHORT;
    (void)fprintf(out, "%.*s", most, text ? text : value.at);
    if ((size_t)most < length)
        (void)fprintf(out, "… (%zu more bytes)", length - SHORT);
    (void)fputc('\n', out);
    return (size_t)most == length;
}

static bool put_list(FILE *out, const char *label, struct tc_slice list, const char *member,
                     bool whole)
{
    struct tc_scan_each each = tc_scan_walk(list);
    bool all = true;
    while (tc_scan_next(&each)) {
        (void)fprintf(out, "  %-10s ", label);
        all = put_value(out, member ? tc_json_get(each.value, member) : each.value, whole) && all;
        label = "";
    }
    return all;
}

static bool put_arguments(FILE *out, struct tc_slice arguments, bool whole)
{
    struct tc_scan_each each = tc_scan_walk(arguments);
    const char *label = "arguments";
    bool all = true;
    while (tc_scan_next(&each)) {
        _autofree_ char *name = tc_json_line(each.key);
        (void)fprintf(out, "  %-10s %s: ", label, name ? name : "?");
        all = put_value(out, each.value, whole) && all;
        label = "";
    }
    return all;
}

static bool put_network(FILE *out, struct tc_slice grant, bool whole)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(grant, "network"));
    const char *label = "network";
    bool all = true;
    while (tc_scan_next(&each)) {
        (void)fprintf(out, "  %-10s port %" PRId64 " of ", label,
                      tc_json_int(tc_json_get(each.value, "port"), 0));
        all = put_value(out, tc_json_get(each.value, "host"), whole) && all;
        label = "";
    }
    return all;
}

/* What the operator's policy gives the call. */
static bool put_grant(FILE *out, struct tc_slice grant, bool whole)
{
    static const char *const accesses[] = {"read", "write"};
    bool all = true;
    for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
        struct tc_scan_each each = tc_scan_walk(tc_json_get(grant, "filesystem"));
        const char *label = accesses[i];
        while (tc_scan_next(&each)) {
            _autofree_ char *access = tc_json_text(tc_json_get(each.value, "access"));
            if (!access || strcmp(access, accesses[i]) != 0)
                continue;
            (void)fprintf(out, "  %-10s ", label);
            all = put_value(out, tc_json_get(each.value, "path"), whole) && all;
            label = "";
        }
    }
    all = put_network(out, grant, whole) && all;
    return put_list(out, "secrets", tc_json_get(grant, "secrets"), "name", whole) && all;
}

/* Shows the request; `whole`: all of it. Is something left out? */
static bool show(const struct consent *c, bool whole)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return true;
    bool all = put_arguments(out, tc_json_get(c->subject, "arguments"), whole);
    all = put_list(out, "command", tc_json_get(c->subject, "command"), NULL, whole) && all;
    all = put_list(out, "files", tc_json_get(c->subject, "files"), "path", whole) && all;
    if (tc_json_get(c->subject, "stdin").at)
        (void)fputs("  input      standard input, which is not shown here\n", out);
    (void)fprintf(out, "  %-10s ", "backend");
    (void)put_value(out, tc_json_get(c->subject, "backend"), true);
    all = put_grant(out, c->grant, whole) && all;
    if (!fclose(out))
        tc_cli_stderr_painted(TC_PAINT_ROWS, text);
    free(text);
    return !all;
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
    char *json = NULL, *grant = NULL;
    struct consent c = {.call = call, .fd = -1};
    if (!isatty(STDERR_FILENO) ||
        toolcage_call_approval_json(call, &json, NULL)) /* start fails for the same reason */
        return 0;
    struct tc_slice request = tc_json_of(json);
    int rc = 0;
    if (tc_json_true(tc_json_get(request, "needed")))
        c.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    c.terminal = c.fd < 0 ? NULL : fdopen(dup(c.fd), "r");
    c.subject = tc_json_get(request, "subject");
    c.digest = tc_json_text(tc_json_get(request, "digest"));
    c.tool = tc_json_line(tc_json_get(c.subject, "tool"));
    c.tier = tc_json_line(tc_json_get(c.subject, "tier"));
    if (c.terminal && c.digest && c.tool && c.tier) {
        rc = toolcage_call_explain_json(call, NULL, &grant, tc_failure_error(failure)) ? -1 : 0;
        c.grant = tc_json_of(grant);
        rc = rc ? rc : ask(&c, failure);
    }
    done(&c);
    toolcage_free(grant);
    toolcage_free(json);
    return rc;
}
