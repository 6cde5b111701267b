/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The result as one line of JSON. Every field is always present; one that does not apply is null
 * or empty. */
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/jsontext.h"
#include "call/result/result.h"

enum { USUAL = 4000 }; /* bytes; most results are smaller */

static const char *const words[] = {"ok",     "failed",    "timeout", "limit",
                                    "denied", "cancelled", "error"};

bool tc_status_known(int64_t status)
{
    return status >= 0 && status < (int64_t)TC_COUNT(words);
}

const char *tc_status_word(int64_t status)
{
    return tc_status_known(status) ? words[status] : "error";
}

static void add_text(struct tc_buf *buf, const char *key, const char *text)
{
    if (text) {
        tc_json_member(buf, key, text);
        return;
    }
    tc_json_key(buf, key);
    tc_buf_adds(buf, "null");
}

/* A number that is unknown (null) below `least`. */
static void add_known(struct tc_buf *buf, const char *key, int64_t value, int64_t least)
{
    tc_json_key(buf, key);
    if (value < least)
        tc_buf_adds(buf, "null");
    else
        tc_buf_addi(buf, value);
}

static void add_name(struct tc_buf *buf, const char *key, const char *base64_key, const char *name)
{
    name = name ? name : "";
    tc_json_bytes(buf, key, base64_key, name, strlen(name));
}

/* A comma between the elements of an array. */
static void separate(struct tc_buf *buf)
{
    if (buf->len && buf->data[buf->len - 1] != '[')
        tc_buf_addc(buf, ',');
}

static void add_stream(struct tc_buf *buf, const char *key, const struct tc_stream *s)
{
    tc_json_key(buf, key);
    tc_buf_addc(buf, '{');
    tc_json_bytes(buf, "text", "base64", s->head ? s->head : "", s->head_len);
    tc_json_number(buf, "bytes", s->bytes);
    tc_json_bool(buf, "truncated", s->truncated);
    tc_buf_addc(buf, '}');
}

/* "0755"; null: no file, or unknown. */
static void add_mode(struct tc_buf *buf, const char *key, int64_t mode)
{
    char text[8];
    (void)snprintf(text, sizeof(text), "%04o", (unsigned)mode & 07777U);
    add_text(buf, key, mode ? text : NULL);
}

static const char *type_of(int64_t mode)
{
    return S_ISLNK(mode) ? "link" : S_ISDIR(mode) ? "directory" : "file";
}

/* For a change in a private workspace. */
static void add_rights(struct tc_buf *buf, const struct tc_change *c)
{
    tc_json_member(buf, "type", type_of(c->mode ? c->mode : c->was_mode));
    add_mode(buf, "mode", c->mode);
    add_mode(buf, "mode_before", c->was_mode);
}

void tc_result_write_changes(struct tc_buf *buf, const struct tc_outcome *o)
{
    tc_json_key(buf, "changes");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < o->change_count; i++) {
        const struct tc_change *c = &o->changes[i];
        separate(buf);
        tc_buf_addc(buf, '{');
        add_name(buf, "path", "path_base64", c->path);
        add_text(buf, "kind", c->kind);
        tc_json_number(buf, "bytes", c->bytes);
        add_text(buf, "sha256", c->sha256);
        if (c->held)
            tc_json_member(buf, "held", c->held);
        if (c->attribution)
            tc_json_member(buf, "attribution", c->attribution);
        if (c->steers_host)
            tc_json_bool(buf, "steers_host", true);
        if (c->cache)
            tc_json_bool(buf, "cache", true);
        if (c->verified)
            tc_json_bool(buf, "verified", true);
        if (c->links > 1)
            tc_json_number(buf, "links", c->links);
        if (c->target)
            add_name(buf, "target", "target_base64", c->target);
        if (c->mode || c->was_mode)
            add_rights(buf, c);
        if (c->host)
            add_name(buf, "host", "host_base64", c->host);
        tc_buf_addc(buf, '}');
    }
    tc_buf_addc(buf, ']');
}

void tc_result_write_files(struct tc_buf *buf, const struct tc_outcome *o)
{
    tc_json_key(buf, "files");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < o->file_count; i++) {
        const struct tc_file *f = &o->files[i];
        separate(buf);
        tc_buf_addc(buf, '{');
        add_name(buf, "path", "path_base64", f->path);
        add_text(buf, "mime", tc_mime_of(f->path ? f->path : "", f->content, f->content_len));
        tc_json_number(buf, "bytes", f->bytes);
        add_text(buf, "sha256", f->sha256);
        if (f->content)
            tc_json_bytes(buf, "text", "base64", f->content, f->content_len);
        else
            add_text(buf, "text", NULL);
        if (f->steers_host)
            tc_json_bool(buf, "steers_host", true);
        tc_buf_addc(buf, '}');
    }
    tc_buf_addc(buf, ']');
}

static void add_destinations(struct tc_buf *buf, const struct tc_outcome *o)
{
    tc_json_key(buf, "destinations");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < o->destination_count; i++) {
        const struct tc_destination *d = &o->destinations[i];
        separate(buf);
        tc_buf_addc(buf, '{');
        add_text(buf, "target", d->target);
        tc_json_number(buf, "connections", d->connections);
        tc_json_number(buf, "sent", d->sent);
        tc_json_number(buf, "received", d->received);
        tc_buf_addc(buf, '}');
    }
    tc_buf_addc(buf, ']');
}

/* Of a live session: "3000:127.0.0.1:8080" is the port inside and the address outside. */
static void add_published(struct tc_buf *buf, const struct tc_outcome *o)
{
    tc_json_key(buf, "published");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < o->published_count; i++) {
        const struct tc_destination *d = &o->published[i];
        const char *address = d->target ? strchr(d->target, ':') : NULL;
        separate(buf);
        tc_buf_addc(buf, '{');
        tc_json_number(buf, "port", d->target ? strtol(d->target, NULL, 10) : 0);
        add_text(buf, "address", address ? address + 1 : "");
        tc_json_number(buf, "connections", d->connections);
        tc_json_number(buf, "sent", d->sent);
        tc_json_number(buf, "received", d->received);
        tc_buf_addc(buf, '}');
    }
    tc_buf_addc(buf, ']');
}

static void add_usage(struct tc_buf *buf, const struct tc_outcome *o)
{
    tc_json_key(buf, "usage");
    tc_buf_addc(buf, '{');
    tc_json_number(buf, "wall_ms", o->wall_us / 1000);
    add_known(buf, "cpu_ms", o->cpu_us < 0 ? -1 : o->cpu_us / 1000, 0);
    add_known(buf, "memory_peak_bytes", o->memory_peak, 0);
    add_known(buf, "pids_peak", o->pids_peak, 0);
    if (o->fuel)
        add_known(buf, "fuel", o->fuel, 1);
    tc_json_number(buf, "egress_bytes", o->sent);
    tc_json_number(buf, "ingress_bytes", o->received);
    add_destinations(buf, o);
    if (o->published_count)
        add_published(buf, o);
    tc_buf_addc(buf, '}');
}

static void add_denials(struct tc_buf *buf, const struct tc_result_frame *frame,
                        const struct tc_outcome *o)
{
    tc_json_key(buf, "denials");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < o->denial_count; i++) {
        const struct tc_denial *d = &o->denials[i];
        separate(buf);
        tc_buf_addc(buf, '{');
        add_text(buf, "operation", tc_denial_row(d->kind)->word);
        add_name(buf, "target", "target_base64", d->target);
        tc_json_number(buf, "count", d->count);
        add_text(buf, "key", d->key);
        add_known(buf, "line", tc_policy_number((uint32_t)d->line), 1);
        if (d->line > 0 && tc_policy_number((uint32_t)d->line) != (uint32_t)d->line)
            add_text(buf, "file", tc_policy_file(frame->policy, (uint32_t)d->line));
        add_text(buf, "hint", d->hint);
        if (d->endpoint)
            add_text(buf, "endpoint", d->endpoint);
        if (d->probe)
            tc_json_bool(buf, "probe", true);
        tc_buf_addc(buf, '}');
    }
    tc_buf_addc(buf, ']');
}

/* Only for a call that lists them. */
static void add_accesses(struct tc_buf *buf, const struct tc_result_frame *frame,
                         const struct tc_outcome *o)
{
    if (frame->grant->denials != TC_DENIALS_ACCESSES)
        return;
    tc_json_key(buf, "accesses");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < o->access_count; i++) {
        separate(buf);
        tc_buf_addc(buf, '{');
        add_text(buf, "operation", tc_denial_row(o->accesses[i].kind)->word);
        add_name(buf, "target", "target_base64", o->accesses[i].target);
        tc_json_number(buf, "count", o->accesses[i].count);
        tc_buf_addc(buf, '}');
    }
    tc_buf_addc(buf, ']');
}

static void add_omitted(struct tc_buf *buf, const struct tc_result_frame *frame,
                        const struct tc_outcome *o)
{
    tc_json_key(buf, "omitted");
    tc_buf_addc(buf, '{');
    tc_json_number(buf, "changes", o->omitted_changes);
    tc_json_number(buf, "files", o->omitted_files);
    tc_json_number(buf, "denials", o->omitted_denials);
    if (frame->grant->denials == TC_DENIALS_ACCESSES)
        tc_json_number(buf, "accesses", o->omitted_accesses);
    tc_buf_addc(buf, '}');
}

static void add_enforcement(struct tc_buf *buf, const struct tc_outcome *o)
{
    tc_json_key(buf, "enforcement");
    tc_buf_addc(buf, '{');
    for (size_t i = 0; i < o->enforced_count; i++)
        tc_json_member(buf, tc_clause_name((enum tc_clause)o->enforced[i].clause),
                       o->enforced[i].mechanism ? o->enforced[i].mechanism : "");
    tc_buf_addc(buf, '}');
}

/* Null: the call had no session, or nothing was saved. */
static void add_session(struct tc_buf *buf, const struct tc_outcome *o)
{
    const struct tc_session_row *s = o->session_count ? o->sessions : NULL;
    tc_json_key(buf, "session");
    if (!s) {
        tc_buf_adds(buf, "null");
        return;
    }
    tc_buf_addc(buf, '{');
    add_text(buf, "name", s->name);
    tc_json_bool(buf, "new", s->calls == 1);
    tc_json_number(buf, "calls", s->calls);
    tc_json_number(buf, "bytes", s->bytes);
    tc_buf_addc(buf, '}');
}

/* An error without the texts that can quote an argument. */
static void add_brief_error(struct tc_buf *buf, const struct toolcage_error *err)
{
    const char *file = NULL;
    uint32_t line = 0, column = 0;
    if (!err) {
        tc_buf_adds(buf, "null");
        return;
    }
    tc_error_location(err, &file, &line, &column);
    tc_buf_addc(buf, '{');
    tc_json_member(buf, "code", tc_error_word(tc_error_code(err)));
    tc_json_member(buf, "stage", tc_error_stage(err));
    if (line) {
        tc_json_member(buf, "file", file);
        tc_json_number(buf, "line", line);
    }
    tc_buf_addc(buf, '}');
}

void tc_result_write_end(struct tc_buf *buf, const struct toolcage_result *result, bool brief)
{
    const struct tc_outcome *o = &result->outcome;
    add_text(buf, "status", tc_status_word(o->status));
    add_known(buf, "exit_code", o->exit_code, 0);
    add_known(buf, "signal", o->signal, 1);
    add_text(buf, "limit", o->limit);
    tc_json_key(buf, "error");
    if (brief)
        add_brief_error(buf, result->error);
    else
        tc_buf_adds(buf, tc_error_json(result->error));
}

void tc_result_write_decision(struct tc_buf *buf, const struct tc_result_frame *frame)
{
    const struct tc_grant *g = frame->grant;
    add_text(buf, "backend", g->backend);
    tc_json_key(buf, "layers");
    tc_buf_addc(buf, '[');
    for (size_t i = 0; i < g->layers.count; i++) {
        tc_buf_adds(buf, i ? "," : "");
        tc_json_string(buf, g->layers.items[i], strlen(g->layers.items[i]));
    }
    if (g->backend && !g->layers.count)
        tc_json_string(buf, g->backend, strlen(g->backend));
    tc_buf_addc(buf, ']');
    add_text(buf, "tier", g->tier);
    add_text(buf, "policy", tc_policy_digest(frame->policy));
    add_text(buf, "grant", g->digest[0] ? g->digest : NULL);
}

static void add_proved(struct tc_buf *buf, int64_t at)
{
    char text[32] = "";
    struct tm tm;
    time_t time = (time_t)at;
    if (gmtime_r(&time, &tm))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    add_text(buf, "proved", text);
}

void tc_result_write_observed(struct tc_buf *buf, const struct tc_result_frame *frame,
                              const struct tc_outcome *o)
{
    add_session(buf, o);
    if (frame->live_session)
        add_text(buf, "live_session", frame->live_session);
    add_usage(buf, o);
    if (o->fuel)
        tc_json_bool(buf, "deterministic", o->fuel > 0);
    add_denials(buf, frame, o);
    add_accesses(buf, frame, o);
    add_omitted(buf, frame, o);
    add_enforcement(buf, o);
    if (frame->proved_at)
        add_proved(buf, frame->proved_at);
}

char *tc_result_write_json(const struct tc_result_frame *frame,
                           const struct toolcage_result *result)
{
    _autobuf_ struct tc_buf buf = {.max = (size_t)1 << 32};
    const struct tc_outcome *o = &result->outcome;
    (void)tc_buf_room(&buf, USUAL);
    tc_buf_addc(&buf, '{');
    tc_json_number(&buf, "version", 1);
    add_text(&buf, "call", frame->call);
    add_text(&buf, "tool", frame->tool);
    tc_result_write_end(&buf, result, false);
    tc_result_write_decision(&buf, frame);
    add_stream(&buf, "stdout", &o->out);
    add_stream(&buf, "stderr", &o->err);
    add_text(&buf, "message", result->message);
    tc_result_write_changes(&buf, o);
    tc_result_write_files(&buf, o);
    tc_result_write_observed(&buf, frame, o);
    tc_buf_addc(&buf, '}');
    return tc_buf_steal(&buf);
}

static void add_timing(struct tc_buf *buf, const char *step, int64_t us)
{
    separate(buf);
    tc_buf_addc(buf, '{');
    add_text(buf, "step", step);
    tc_json_number(buf, "us", us);
    tc_buf_addc(buf, '}');
}

char *tc_result_write_timings(const struct tc_result_frame *frame, const struct tc_outcome *outcome)
{
    _autobuf_ struct tc_buf buf = TC_BUF_INIT;
    tc_buf_addc(&buf, '[');
    for (size_t i = 0; i < frame->step_count; i++)
        add_timing(&buf, frame->steps[i].step, frame->steps[i].us);
    for (size_t i = 0; i < outcome->timing_count; i++)
        add_timing(&buf, outcome->timings[i].step ? outcome->timings[i].step : "",
                   outcome->timings[i].us);
    add_timing(&buf, "total", frame->total_us);
    tc_buf_addc(&buf, ']');
    return tc_buf_steal(&buf);
}
