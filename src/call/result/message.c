/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The text for a model: one line on what happened, for a failure the refusals with their
 * reasons, as sentences to act on, and the tool's output. Lines of toolcage come first, one for
 * each fact, so that no output and no name can pass for one: everything from "stdout:" or
 * "stderr:" on is the tool's. */
#include <string.h>

#include "base/display.h"
#include "base/path.h"
#include "call/result/result.h"
#include "policy/endpoint.h"

enum { CHANGES_LISTED_MAX = 10, DENIALS_LISTED_MAX = 20, GRANTED_LISTED_MAX = 8 };

static const struct tc_planner *planner_of(const struct tc_result_frame *frame)
{
    return frame->grant->backend ? tc_planner_find(frame->grant->backend) : NULL;
}

static void add_bytes(struct tc_buf *buf, int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < TC_COUNT(units)) {
        bytes /= 1024;
        unit++;
    }
    tc_buf_addf(buf, "%lld %s", (long long)bytes, units[unit]);
}

static void add_duration(struct tc_buf *buf, int64_t ms)
{
    if (ms % 1000)
        tc_buf_addf(buf, "%lld ms", (long long)ms);
    else
        tc_buf_addf(buf, "%lld s", (long long)(ms / 1000));
}

void tc_result_add_limit(struct tc_buf *buf, const struct tc_limits *l, const char *name)
{
    for (size_t i = 0; i < tc_limits_fields.count; i++) {
        const struct tc_field *row = &tc_limits_fields.rows[i];
        int64_t bytes = row->unit == TC_UNIT_SIZE ? tc_field_number(row, l) : 0;
        if (bytes <= 0 || !tc_streq(row->word, name))
            continue;
        tc_buf_adds(buf, " of ");
        add_bytes(buf, bytes);
    }
    if (strcmp(name, "pids") == 0 && l->pids > 0)
        tc_buf_addf(buf, " of %lld processes and threads", (long long)l->pids);
    if (strcmp(name, "open_files") == 0 && l->open_files > 0)
        tc_buf_addf(buf, " of %lld in each process", (long long)l->open_files);
    if (strcmp(name, "cpu_time") == 0 && l->cpu_time_ms > 0) {
        tc_buf_adds(buf, " of ");
        add_duration(buf, l->cpu_time_ms);
    }
}

static void add_error(struct tc_buf *buf, const char *word, const struct toolcage_error *error)
{
    const char *subject = tc_error_subject(error), *message = tc_error_message(error);
    /* names the argument: a schema's error describes only the value */
    bool names =
        tc_error_code(error) == TOOLCAGE_EARGUMENTS && subject[0] && !strstr(message, subject);
    tc_buf_addf(buf, "%s: %s%s%s", word, names ? subject : "", names ? ": " : "", message);
    if (tc_error_hint(error)[0])
        tc_buf_addf(buf, ". Hint: %s", tc_error_hint(error));
}

/* The status line: how the call ended. */
static void add_status(struct tc_buf *buf, const struct tc_result_frame *frame,
                       const struct toolcage_result *result)
{
    const struct tc_outcome *o = &result->outcome;
    const char *word = tc_status_word(o->status);
    switch (o->status) {
    case TOOLCAGE_STATUS_OK:
        tc_buf_adds(buf, "ok: the tool exited with code 0");
        break;
    case TOOLCAGE_STATUS_FAILED:
        if (result->error)
            add_error(buf, word, result->error);
        else if (o->signal > 0)
            tc_buf_addf(buf, "failed: signal %lld (%s) ended the tool", (long long)o->signal,
                        sigdescr_np((int)o->signal) ? sigdescr_np((int)o->signal) : "unknown");
        else
            tc_buf_addf(buf, "failed: the tool exited with code %lld", (long long)o->exit_code);
        break;
    case TOOLCAGE_STATUS_TIMEOUT:
        /* with a note, the tool may not have started, or not ended yet */
        tc_buf_adds(buf, o->note ? "timeout: the call was ended at its deadline of "
                                 : "timeout: the tool was ended at its deadline of ");
        add_duration(buf, frame->grant->limits.timeout_ms);
        break;
    case TOOLCAGE_STATUS_LIMIT:
        tc_buf_addf(buf, "limit: the tool reached its %s limit", o->limit ? o->limit : "own");
        tc_result_add_limit(buf, &frame->grant->limits, o->limit ? o->limit : "own");
        break;
    case TOOLCAGE_STATUS_CANCELLED:
        tc_buf_adds(buf, "cancelled: the call was ended by the program that made it");
        break;
    default:
        add_error(buf, word, result->error);
        break;
    }
    if (o->note)
        tc_buf_addf(buf, "; %s", o->note);
    tc_buf_addc(buf, '\n');
}

static void add_stream(struct tc_buf *buf, const char *name, const struct tc_stream *s)
{
    if (!s->head_len)
        return;
    if (!tc_utf8_valid(s->head, s->head_len)) {
        tc_buf_addf(buf, "%s: %lld bytes that are not UTF-8\n", name, (long long)s->bytes);
        return;
    }
    tc_buf_addf(buf, "%s%s:\n", name, s->truncated ? " (truncated)" : "");
    tc_buf_add(buf, s->head, s->head_len);
    if (s->head[s->head_len - 1] != '\n')
        tc_buf_addc(buf, '\n');
}

/* The grant has unix_sockets ("own" or a list): only then does the broker report this denial. */
static void add_socket(struct tc_buf *buf, const struct tc_grant *grant, const char *target)
{
    tc_buf_adds(buf, "denied: ");
    tc_buf_add_display(buf, target);
    tc_buf_adds(buf, " is not among the unix sockets; allowed: the tool's own in /tmp and abstract "
                     "ones");
    for (size_t i = 0; i < grant->socket_count && i < GRANTED_LISTED_MAX; i++) {
        tc_buf_adds(buf, ", ");
        tc_buf_add_display(buf, grant->sockets[i].path);
    }
}

/* If one network entry would allow the connect (d->endpoint), the hint names it, and add_denial()
 * prints it after the allowlist. Otherwise the hint is the reason of the refusal. */
static void add_connect(struct tc_buf *buf, const struct tc_grant *grant, const char *target,
                        const struct tc_denial *d)
{
    const char *hint = d->kind == TC_DENIAL_CONNECT && d->endpoint ? NULL : d->hint;
    const char *tool = grant->tool ? "tool " : "this call", *name = grant->tool ? grant->tool : "";
    tc_buf_adds(buf, "denied: network: ");
    tc_buf_add_display(buf, target);
    if (!grant->net_count) {
        tc_buf_addf(buf, " was refused: %s%s has no network", tool, name);
        return;
    }
    if (hint && hint[0]) { /* refused for another reason */
        tc_buf_addf(buf, " was refused: %s", hint);
        return;
    }
    tc_buf_addf(buf, " is not in the allowlist of %s%s; allowed: ", tool, name);
    for (size_t i = 0; i < grant->net_count; i++) {
        char text[TC_ENDPOINT_SIZE];
        tc_endpoint_format(text, sizeof(text), grant->net[i].host, grant->net[i].port);
        tc_buf_addf(buf, "%s%s", i ? ", " : "", text);
    }
}

/* Paths that a model may use instead. */
static void add_granted(struct tc_buf *buf, const struct tc_grant *grant, bool write)
{
    size_t told = 0;
    tc_buf_adds(buf, write ? "; writable are /tmp" : "; readable are the system directories");
    for (size_t i = 0; i < grant->fs_count && told < GRANTED_LISTED_MAX; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        if (e->access == TC_ACCESS_DENY || (write && e->access != TC_ACCESS_WRITE))
            continue;
        tc_buf_adds(buf, ", ");
        tc_buf_add_display(buf, e->path);
        told++;
    }
}

/* "write /data/x: /data is only readable; writable are /tmp, /workspace". */
static bool add_path(struct tc_buf *buf, const struct tc_result_frame *frame,
                     const struct tc_denial *d)
{
    struct tc_verdict v = {0};
    if (!tc_result_verdict(frame, d, &v))
        return false;
    tc_buf_adds(buf, "denied: ");
    tc_buf_add_display(buf, v.reason);
    add_granted(buf, frame->grant, tc_streq(tc_denial_row(d->kind)->verb, "write"));
    tc_verdict_done(&v);
    return true;
}

static void add_denial(struct tc_buf *buf, const struct tc_result_frame *frame,
                       const struct tc_denial *d)
{
    const struct tc_denial_row *row = tc_denial_row(d->kind);
    const char *target = d->target ? d->target : "";
    bool explained = add_path(buf, frame, d); /* the line has the reason already */
    if (d->kind == TC_DENIAL_SOCKET) {
        add_socket(buf, frame->grant, target);
    } else if (tc_streq(row->key, "network")) {
        add_connect(buf, frame->grant, target, d);
        explained = frame->grant->net_count && !(d->kind == TC_DENIAL_CONNECT && d->endpoint);
    } else if (!explained) {
        tc_buf_addf(buf, "denied: %s%s", row->word, target[0] ? " " : "");
        tc_buf_add_display(buf, target);
    }
    if (d->count > 1)
        tc_buf_addf(buf, " (%lld times)", (long long)d->count);
    if (d->hint && d->hint[0] && !explained)
        tc_buf_addf(buf, ". Hint: %s", d->hint);
    tc_buf_addc(buf, '\n');
}

static void add_denials(struct tc_buf *buf, const struct tc_result_frame *frame,
                        const struct tc_outcome *o)
{
    size_t told = 0, left = 0;
    for (size_t i = 0; i < o->denial_count; i++) {
        if (o->denials[i].probe)
            continue;
        if (told < DENIALS_LISTED_MAX) {
            add_denial(buf, frame, &o->denials[i]);
            told++;
        } else {
            left++;
        }
    }
    if (left)
        tc_buf_addf(buf, "denied: %zu more\n", left);
}

/* Lists the changes that were not applied, so that a model does not continue as if they were: of a
 * new directory that steers the host, not its contents. */
static void add_held(struct tc_buf *buf, const struct tc_outcome *o)
{
    size_t told = 0, left = 0;
    bool steering = false;
    const char *above = NULL;
    for (size_t i = 0; i < o->change_count; i++) {
        const struct tc_change *c = &o->changes[i];
        bool steers = c->held && strcmp(c->held, TOOLCAGE_HELD_STEERING) == 0;
        if (!c->held || (steers && above && c->path && tc_path_within(above, c->path)))
            continue;
        steering = steering || steers;
        above = steers && c->kind && strcmp(c->kind, "added") == 0 ? c->path : above;
        if (told == CHANGES_LISTED_MAX) {
            left++;
            continue;
        }
        tc_buf_addf(buf, "not applied: %s ", c->kind ? c->kind : "changed");
        tc_buf_add_display(buf, c->path ? c->path : "");
        tc_buf_addf(buf, " (%s)\n", c->held);
        told++;
    }
    if (left)
        tc_buf_addf(buf, "not applied: %zu more\n", left);
    if (steering)
        tc_buf_adds(buf,
                    "a person decides about files that steer the host: programs there load them "
                    "by themselves\n");
}

/* Steering files that the tool left: programs of the user load or run them automatically. Lists
 * a directory, but not its contents. */
static void add_steering(struct tc_buf *buf, const struct tc_outcome *o)
{
    size_t told = 0, left = 0;
    const char *above = NULL;
    for (size_t i = 0; i < o->change_count; i++) {
        const struct tc_change *c = &o->changes[i];
        if (!c->steers_host || c->held || !c->path || (above && tc_path_within(above, c->path)))
            continue;
        above = c->path;
        if (told++ >= CHANGES_LISTED_MAX) {
            left++;
            continue;
        }
        tc_buf_addf(buf, "steers the host: %s ", c->kind ? c->kind : "changed");
        tc_buf_add_display(buf, c->path);
        tc_buf_adds(buf, " (programs of the user load or run such files automatically)\n");
    }
    if (left)
        tc_buf_addf(buf, "steers the host: %zu more\n", left);
}

char *tc_result_write_message(const struct tc_result_frame *frame,
                              const struct toolcage_result *result)
{
    _autobuf_ struct tc_buf buf = {.max = (size_t)1 << 32};
    const struct tc_planner *planner = planner_of(frame);
    const struct tc_outcome *o = &result->outcome;
    if (planner && planner->flags & TC_BACKEND_NO_BOUNDARY)
        tc_buf_addf(&buf, "NOT A SECURITY BOUNDARY: backend %s enforces nothing\n", planner->name);
    add_status(&buf, frame, result);
    if (o->status != TOOLCAGE_STATUS_OK)
        add_denials(&buf, frame, o);
    add_held(&buf, o);
    add_steering(&buf, o);
    add_stream(&buf, "stdout", &o->out);
    add_stream(&buf, "stderr", &o->err);
    return tc_buf_steal(&buf);
}
