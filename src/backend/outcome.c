/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One list of text fields an element serves encoding, decoding and freeing. */
#include "backend/outcome.h"

enum { ROWS_MAX = 200000 };

/* Every text field of an element, in one place for codec and destructor. */
#define DENIAL_TEXTS(d)                                      \
    {                                                        \
        &(d)->operation, &(d)->target, &(d)->key, &(d)->hint \
    }
#define CHANGE_TEXTS(c)                                                                  \
    {                                                                                    \
        &(c)->path, &(c)->kind, &(c)->held, &(c)->sha256, &(c)->attribution, &(c)->host, \
            &(c)->target                                                                 \
    }
#define PROBE_TEXTS(p)                                          \
    {                                                           \
        &(p)->backend, &(p)->mechanism, &(p)->reason, &(p)->fix \
    }
#define FAILURE_TEXTS(f)                                                 \
    {                                                                    \
        &(f)->stage, &(f)->subject, &(f)->message, &(f)->hint, &(f)->key \
    }

static void visit_texts(struct tc_wire *w, char **const texts[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        tc_wire_str(w, texts[i]);
}

static void free_texts(char **const texts[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(*texts[i]);
}

static void visit_failure(struct tc_wire *w, struct tc_failure *f)
{
    char **const texts[] = FAILURE_TEXTS(f);
    visit_texts(w, texts, TC_COUNT(texts));
    tc_wire_i64(w, &f->code);
    tc_wire_i64(w, &f->errnum);
    tc_wire_i64(w, &f->line);
    tc_wire_i64(w, &f->clause);
}

static void visit_denial(struct tc_wire *w, struct tc_denial *d)
{
    char **const texts[] = DENIAL_TEXTS(d);
    visit_texts(w, texts, TC_COUNT(texts));
    tc_wire_i64(w, &d->count);
    tc_wire_i64(w, &d->line);
    TC_WIRE_INT(w, d->probe);
}

static void visit_access(struct tc_wire *w, struct tc_access_seen *a)
{
    tc_wire_str(w, &a->operation);
    tc_wire_str(w, &a->target);
    tc_wire_i64(w, &a->count);
}

static void visit_destination(struct tc_wire *w, struct tc_destination *d)
{
    tc_wire_str(w, &d->target);
    tc_wire_i64(w, &d->connections);
    tc_wire_i64(w, &d->sent);
    tc_wire_i64(w, &d->received);
}

static void visit_change(struct tc_wire *w, struct tc_change *c)
{
    char **const texts[] = CHANGE_TEXTS(c);
    visit_texts(w, texts, TC_COUNT(texts));
    tc_wire_i64(w, &c->bytes);
    TC_WIRE_INT(w, c->steers_host);
    tc_wire_i64(w, &c->links);
    tc_wire_i64(w, &c->mode);
    tc_wire_i64(w, &c->was_mode);
}

static void visit_file(struct tc_wire *w, struct tc_file *f)
{
    tc_wire_str(w, &f->path);
    tc_wire_i64(w, &f->bytes);
    tc_wire_str(w, &f->sha256);
    tc_wire_bytes(w, &f->content, &f->content_len);
    TC_WIRE_INT(w, f->steers_host);
}

static void visit_enforced(struct tc_wire *w, struct tc_enforced *e)
{
    tc_wire_i64(w, &e->clause);
    if (e->clause < 0 || e->clause >= TC_CLAUSE_COUNT)
        w->failed = true;
    tc_wire_str(w, &e->mechanism);
}

static void visit_timing(struct tc_wire *w, struct tc_timing *t)
{
    tc_wire_str(w, &t->step);
    tc_wire_i64(w, &t->us);
}

static void visit_probe(struct tc_wire *w, struct tc_probe *p)
{
    char **const texts[] = PROBE_TEXTS(p);
    tc_wire_i64(w, &p->clause);
    if (p->clause < 0 || p->clause >= TC_CLAUSE_COUNT)
        w->failed = true;
    TC_WIRE_INT(w, p->works);
    visit_texts(w, texts, TC_COUNT(texts));
}

static void visit_waiting(struct tc_wire *w, struct tc_waiting *waiting)
{
    tc_wire_str(w, &waiting->call);
    tc_wire_str(w, &waiting->tool);
    tc_wire_i64(w, &waiting->at);
    tc_wire_i64(w, &waiting->changes);
}

static void visit_session(struct tc_wire *w, struct tc_session_row *s)
{
    tc_wire_str(w, &s->name);
    tc_wire_str(w, &s->tool);
    tc_wire_str(w, &s->bounds);
    tc_wire_i64(w, &s->calls);
    tc_wire_i64(w, &s->bytes);
    tc_wire_i64(w, &s->made);
    tc_wire_i64(w, &s->used);
}

static void visit_stream(struct tc_wire *w, struct tc_stream *s)
{
    tc_wire_bytes(w, &s->head, &s->head_len);
    tc_wire_i64(w, &s->bytes);
    TC_WIRE_INT(w, s->truncated);
}

void tc_outcome_visit(struct tc_wire *w, struct tc_outcome *o)
{
    int64_t *numbers[] = {&o->status,          &o->exit_code,        &o->signal,
                          &o->wall_us,         &o->cpu_us,           &o->memory_peak,
                          &o->pids_peak,       &o->omitted_changes,  &o->omitted_files,
                          &o->omitted_denials, &o->omitted_accesses, &o->sent,
                          &o->received};
    for (size_t i = 0; i < TC_COUNT(numbers); i++)
        tc_wire_i64(w, numbers[i]);
    tc_wire_str(w, &o->limit);
    tc_wire_str(w, &o->note);
    tc_wire_str(w, &o->notice);
    visit_failure(w, &o->failure);
    visit_stream(w, &o->out);
    visit_stream(w, &o->err);
    TC_WIRE_EACH(w, o->denials, o->denial_count, ROWS_MAX, visit_denial);
    TC_WIRE_EACH(w, o->accesses, o->access_count, ROWS_MAX, visit_access);
    TC_WIRE_EACH(w, o->destinations, o->destination_count, ROWS_MAX, visit_destination);
    TC_WIRE_EACH(w, o->changes, o->change_count, ROWS_MAX, visit_change);
    TC_WIRE_EACH(w, o->files, o->file_count, ROWS_MAX, visit_file);
    TC_WIRE_EACH(w, o->enforced, o->enforced_count, ROWS_MAX, visit_enforced);
    TC_WIRE_EACH(w, o->timings, o->timing_count, ROWS_MAX, visit_timing);
    TC_WIRE_EACH(w, o->probes, o->probe_count, ROWS_MAX, visit_probe);
    TC_WIRE_EACH(w, o->waiting, o->waiting_count, ROWS_MAX, visit_waiting);
    TC_WIRE_EACH(w, o->sessions, o->session_count, ROWS_MAX, visit_session);
}

static void changes_done(struct tc_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char **const texts[] = CHANGE_TEXTS(&changes[i]);
        free_texts(texts, TC_COUNT(texts));
    }
    free(changes);
}

static void files_done(struct tc_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(files[i].path);
        free(files[i].sha256);
        free(files[i].content);
    }
    free(files);
}

static void denials_done(struct tc_denial *denials, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char **const texts[] = DENIAL_TEXTS(&denials[i]);
        free_texts(texts, TC_COUNT(texts));
    }
    free(denials);
}

static void accesses_done(struct tc_access_seen *accesses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(accesses[i].operation);
        free(accesses[i].target);
    }
    free(accesses);
}

static void destinations_done(struct tc_destination *destinations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(destinations[i].target);
    free(destinations);
}

static void probes_done(struct tc_probe *probes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char **const texts[] = PROBE_TEXTS(&probes[i]);
        free_texts(texts, TC_COUNT(texts));
    }
    free(probes);
}

void tc_failure_clear(struct tc_failure *f)
{
    char **const texts[] = FAILURE_TEXTS(f);
    free_texts(texts, TC_COUNT(texts));
    *f = (struct tc_failure){.clause = -1};
}

void tc_outcome_done(struct tc_outcome *o)
{
    tc_failure_clear(&o->failure);
    free(o->limit);
    free(o->note);
    free(o->notice);
    free(o->out.head);
    free(o->err.head);
    denials_done(o->denials, o->denial_count);
    accesses_done(o->accesses, o->access_count);
    destinations_done(o->destinations, o->destination_count);
    changes_done(o->changes, o->change_count);
    files_done(o->files, o->file_count);
    for (size_t i = 0; i < o->enforced_count; i++)
        free(o->enforced[i].mechanism);
    free(o->enforced);
    for (size_t i = 0; i < o->timing_count; i++)
        free(o->timings[i].step);
    free(o->timings);
    probes_done(o->probes, o->probe_count);
    for (size_t i = 0; i < o->waiting_count; i++) {
        free(o->waiting[i].call);
        free(o->waiting[i].tool);
    }
    free(o->waiting);
    for (size_t i = 0; i < o->session_count; i++) {
        free(o->sessions[i].name);
        free(o->sessions[i].tool);
        free(o->sessions[i].bounds);
    }
    free(o->sessions);
    *o = (struct tc_outcome){0};
}
