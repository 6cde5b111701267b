/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of observed accesses of a tool: in the outcome; or, for a cage with a separate observing
 * process, in memory shared with the helper.
 *
 * A tool may search several paths for one name: a program on a PATH, a library, a settings file.
 * Refusals before the path that has the name do not matter to the tool. That it is there is seen
 * in the cage; no path outside is looked up. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/path.h"
#include "observe/observe.h"
#include "observe/watch.h"

enum { SEEN_MAX = 4096, TEXT_MAX = 1 << 20, SLOTS = 2 * SEEN_MAX, DENIALS_MAX = 100 };

struct row {
    enum tc_denial_kind kind;
    const char *hint; /* static: the process is a fork of the helper */
    uint32_t text;
    bool probe, allowed;
    _Atomic uint32_t count;
};

/* Written by the watcher, read by the helper: rows with an index below `count` are complete. */
struct tc_seen {
    _Atomic bool broken; /* the watcher exited before the cage */
    _Atomic uint32_t count;
    _Atomic uint32_t refused_more, allowed_more; /* entries that did not fit */
    uint32_t text_used;
    uint32_t slots[SLOTS]; /* index + 1 by hash */
    struct row seen[SEEN_MAX];
    char text[TEXT_MAX];
};

void tc_notify_list(struct tc_cage *cage, const struct tc_listed *what, int64_t count)
{
    const struct tc_denial_row *row = tc_denial_row(what->kind);
    struct tc_outcome *o = cage->outcome;
    for (size_t i = 0; i < o->denial_count; i++) {
        struct tc_denial *d = &o->denials[i];
        if (tc_streq(tc_denial_row(d->kind)->word, row->word) &&
            tc_streq(d->target, what->target)) {
            d->count += count;
            d->probe = d->probe && what->probe;
            return;
        }
    }
    struct tc_denial *d =
        o->denial_count < DENIALS_MAX ? TC_PUSH(o->denials, o->denial_count) : NULL;
    if (!d) {
        o->omitted_denials++;
        return;
    }
    const char *tool = cage->plan->tool, *hint = what->hint ? what->hint : row->hint;
    *d = (struct tc_denial){.kind = what->kind,
                            .target = strdup(what->target),
                            .count = count,
                            .hint = hint ? strdup(hint) : NULL,
                            .endpoint = what->endpoint ? strdup(what->endpoint) : NULL,
                            .probe = what->probe};
    if (row->key)
        d->key = tool ? tc_format("tool.%s.%s", tool, row->key) : strdup(row->key);
}

static bool is_same(const struct tc_seen *w, const struct row *s, const struct tc_listed *what)
{
    return s->allowed == what->allowed && s->kind == what->kind &&
           strcmp(w->text + s->text, what->target) == 0;
}

void tc_seen_list(struct tc_seen *w, const struct tc_listed *what)
{
    size_t size = strlen(what->target) + 1;
    uint32_t at = (uint32_t)((tc_hash(what->target) + what->kind) % SLOTS),
             count = atomic_load(&w->count);
    for (; w->slots[at]; at = (at + 1) % SLOTS) {
        struct row *s = &w->seen[w->slots[at] - 1];
        if (is_same(w, s, what)) {
            (void)atomic_fetch_add(&s->count, 1);
            s->probe = s->probe && what->probe;
            return;
        }
    }
    if (count == SEEN_MAX || size > TEXT_MAX - w->text_used) {
        (void)atomic_fetch_add(what->allowed ? &w->allowed_more : &w->refused_more, 1);
        return;
    }
    struct row *s = &w->seen[count];
    memcpy(w->text + w->text_used, what->target, size);
    s->kind = what->kind;
    s->hint = what->hint;
    s->text = w->text_used;
    s->probe = what->probe;
    s->allowed = what->allowed;
    atomic_store(&s->count, 1);
    w->text_used += (uint32_t)size;
    w->slots[at] = count + 1;
    atomic_store(&w->count, count + 1);
}

/* Sets `broken` before this process's fds are closed: as soon as they are, the tool continues, and
 * may exit before this process does. */
void tc_seen_break(struct tc_cage *cage)
{
    atomic_store(&cage->observer->seen->broken, true);
    _exit(1);
}

void tc_notify_note(struct tc_cage *cage, const struct tc_listed *what)
{
    if (cage->observer->seen)
        tc_seen_list(cage->observer->seen, what);
    else
        tc_notify_list(cage, what, 1);
}

void tc_notify_lost(struct tc_cage *cage, int errnum, const char *what)
{
    (void)tc_cage_fail(cage,
                       TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "supervise", "observer", errnum,
                                    "the machine may be out of memory: try again"),
                       -1, "%s", what);
}

struct tc_seen *tc_seen_new(void)
{
    void *memory = mmap(NULL, sizeof(struct tc_seen), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void tc_seen_free(struct tc_seen *w)
{
    if (w)
        (void)munmap(w, sizeof(*w));
}

bool tc_seen_broken(const struct tc_seen *w)
{
    return atomic_load(&w->broken);
}

static void add_access(struct tc_outcome *o, const struct tc_seen *w, const struct row *s)
{
    struct tc_access_seen *a = TC_PUSH(o->accesses, o->access_count);
    if (!a) {
        o->omitted_accesses++;
        return;
    }
    *a = (struct tc_access_seen){
        .kind = s->kind, .target = strdup(w->text + s->text), .count = atomic_load(&s->count)};
}

static void tell_rows(struct tc_cage *cage, const struct tc_seen *w, bool lookups)
{
    uint32_t count = atomic_load(&w->count);
    for (uint32_t i = 0; i < count; i++) {
        const struct row *s = &w->seen[i];
        struct tc_listed what = {
            .kind = s->kind, .target = w->text + s->text, .hint = s->hint, .probe = s->probe};
        if (lookups != (s->kind == TC_DENIAL_LOOK))
            continue;
        if (s->allowed)
            add_access(cage->outcome, w, s);
        else
            tc_notify_list(cage, &what, atomic_load(&s->count));
    }
}

void tc_seen_tell(struct tc_cage *cage, const struct tc_seen *w)
{
    tell_rows(cage, w, false);
    tell_rows(cage, w, true); /* there may be more lookups than an outcome lists */
    cage->outcome->omitted_denials += atomic_load(&w->refused_more);
    cage->outcome->omitted_accesses += atomic_load(&w->allowed_more);
}

/* ---- a part of the list ---- */

struct tc_seen_mark tc_observe_mark(const struct tc_cage *cage)
{
    const struct tc_seen *w = cage->observer ? cage->observer->seen : NULL;
    struct tc_seen_mark mark = {0};
    uint32_t count = w ? atomic_load(&w->count) : 0;
    mark.counts = count ? malloc(count * sizeof(*mark.counts)) : NULL;
    mark.more = w ? atomic_load(&w->refused_more) : 0;
    for (; mark.counts && mark.count < count; mark.count++)
        mark.counts[mark.count] = atomic_load(&w->seen[mark.count].count);
    return mark;
}

void tc_observe_since(const struct tc_cage *cage, const struct tc_seen_mark *mark,
                      struct tc_outcome *to)
{
    const struct tc_seen *w = cage->observer ? cage->observer->seen : NULL;
    struct tc_cage view = {.plan = cage->plan, .outcome = to};
    uint32_t count = w ? atomic_load(&w->count) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct row *s = &w->seen[i];
        uint32_t times = atomic_load(&s->count) - (i < mark->count ? mark->counts[i] : 0);
        struct tc_listed what = {
            .kind = s->kind, .target = w->text + s->text, .hint = s->hint, .probe = s->probe};
        if (times && !s->allowed)
            tc_notify_list(&view, &what, times);
    }
    if (w)
        to->omitted_denials += atomic_load(&w->refused_more) - mark->more;
}

static bool is_at_port(int64_t kind, const char *target, unsigned port)
{
    char end[8];
    (void)snprintf(end, sizeof(end), ":%u", port);
    return kind == TC_DENIAL_LOOPBACK && target && tc_endswith(target, end);
}

void tc_seen_opened(struct tc_cage *cage, unsigned port)
{
    struct tc_seen *w = cage->observer->seen;
    for (uint32_t i = 0; w && i < atomic_load(&w->count); i++)
        if (is_at_port(w->seen[i].kind, w->text + w->seen[i].text, port))
            w->seen[i].probe = true;
    for (size_t i = 0; !w && i < cage->outcome->denial_count; i++)
        if (is_at_port(cage->outcome->denials[i].kind, cage->outcome->denials[i].target, port))
            cage->outcome->denials[i].probe = true;
}

/* ---- searches for a name ---- */

void tc_search_missed(struct tc_cage *cage, enum tc_denial_kind kind, const char *path,
                      const char *said, pid_t pid)
{
    struct tc_observer *o = cage->observer;
    o->missed[o->missed_next++ % TC_MISSED_MAX] = (struct tc_missed){
        .kind = kind, .pid = pid, .path = tc_hash(path), .name = tc_hash(tc_path_base(said))};
}

static bool is_missed(const struct tc_missed *missed, enum tc_denial_kind kind, const char *path)
{
    return missed->kind == kind && missed->path == tc_hash(path);
}

/* Marks the listed refusals of this search as probes. */
static void set_probe(struct tc_cage *cage, const struct tc_missed *missed)
{
    struct tc_seen *w = cage->observer->seen;
    for (uint32_t i = 0; w && i < atomic_load(&w->count); i++)
        if (!w->seen[i].allowed && is_missed(missed, w->seen[i].kind, w->text + w->seen[i].text))
            w->seen[i].probe = true;
    for (size_t i = 0; !w && i < cage->outcome->denial_count; i++) {
        struct tc_denial *d = &cage->outcome->denials[i];
        if (d->target && is_missed(missed, (enum tc_denial_kind)d->kind, d->target))
            d->probe = true;
    }
}

void tc_search_found(struct tc_cage *cage, enum tc_denial_kind kind, const char *said, pid_t pid)
{
    struct tc_observer *o = cage->observer;
    uint64_t name = tc_hash(tc_path_base(said));
    for (size_t i = 0; i < TC_MISSED_MAX; i++) {
        struct tc_missed *m = &o->missed[i];
        if (m->pid != pid || m->kind != kind || m->name != name)
            continue;
        set_probe(cage, m);
        m->pid = 0;
    }
}
