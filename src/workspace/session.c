/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The directory of a session: opened, locked, listed and deleted. Never on the event loop: the
 * state directory may be slow. */
#include "workspace/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "state/store.h"
#include "workspace/state.h"

enum { SESSIONS_MAX = 64, SHOWN = 12 };

static int fail_session(struct tc_cage *cage, int code, const char *name, const char *hint,
                        const char *what)
{
    return tc_cage_fail(cage, TC_WHY_ERRNO(code, "session", name, errno, hint), -1, "%s %s", what,
                        name);
}

static int cannot(struct tc_outcome *outcome, const char *name, const char *what)
{
    return fail_session(&(struct tc_cage){.outcome = outcome}, TOOLCAGE_ESYSTEM, name,
                        "look into the state directory", what);
}

/* NULL with ENOENT: there was never a session. */
static DIR *open_all(void)
{
    return tc_take_dir(tc_state_look("sessions"));
}

static bool has_record(int own)
{
    struct stat st;
    return fstatat(own, "record", &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* ---- for a call ---- */

/* Removes the remains of interrupted calls. */
static void remove_others(int own, const char *tree)
{
    _autodir_ DIR *dir = tc_list_dir(own);
    struct dirent *e;
    while (dir && tc_next_entry(dir, &e) > 0)
        if (strcmp(e->d_name, "record") != 0 && strcmp(e->d_name, tree) != 0)
            (void)tc_remove_tree(own, e->d_name);
}

static int load_session(struct tc_cage *cage, struct tc_session *s)
{
    const char *name = cage->plan->session;
    char tree[24] = "";
    if (tc_session_read(s->own, &s->record) < 0) {
        if (errno != ENOENT)
            return fail_session(cage, TOOLCAGE_EBACKEND, name, "`toolcage session end` deletes it",
                                "cannot read the data of session");
        remove_others(s->own, "");
        return 0;
    }
    struct tc_held_list *list = &s->record.list;
    tc_session_tree(s->record.generation, tree);
    remove_others(s->own, tree);
    if (list->rows)
        qsort(list->rows, list->row_count, sizeof(*list->rows), tc_held_order);
    s->tree = tc_store_enter(s->own, tree);
    return s->tree >= 0
               ? 0
               : fail_session(cage, TOOLCAGE_EBACKEND, name, "`toolcage session end` deletes it",
                              "cannot open the data of session");
}

/* A session's data is only for the grant that created it. */
static int check_bounds(struct tc_cage *cage, const struct tc_session_record *r)
{
    const struct tc_plan *plan = cage->plan;
    const struct tc_why why = {.code = TOOLCAGE_EDENIED,
                               .stage = "session",
                               .subject = plan->session,
                               .hint = "`toolcage session end NAME` deletes it; or use another "
                                       "name"};
    if (!r->bounds || tc_streq(r->bounds, plan->bounds))
        return 0;
    if (!tc_streq(r->tool, plan->tool))
        return tc_cage_fail(cage, &why, -1, "session %s belongs to %s%s, and this call to %s%s",
                            plan->session, r->tool ? "tool " : "a bare command",
                            r->tool ? r->tool : "", plan->tool ? "tool " : "a bare command",
                            plan->tool ? plan->tool : "");
    return tc_cage_fail(cage, &why, -1,
                        "session %s was started under another grant (%.*s), and this call's is "
                        "%.*s: policy, options, directory and path arguments must be the same",
                        plan->session, SHOWN, r->bounds, SHOWN, plan->bounds ? plan->bounds : "");
}

static int refuse_entry(struct tc_cage *cage, const char *where)
{
    const char *name = cage->plan->session;
    if (errno == EWOULDBLOCK)
        return errno = 0, fail_session(cage, TOOLCAGE_EBACKEND, name,
                                       "wait until that call has ended, or use another name",
                                       "another call is using session");
    if (errno == EDQUOT)
        return errno = 0, fail_session(cage, TOOLCAGE_EBACKEND, name,
                                       "`toolcage session list` lists them, `toolcage session end` "
                                       "deletes one",
                                       "there are 64 sessions already, the maximum; cannot create");
    _autofree_ char *hint = tc_format("make %s writable for you alone", where);
    return fail_session(cage, TOOLCAGE_EPATH, name, hint, "cannot store session");
}

static int check_form(struct tc_cage *cage)
{
    errno = 0;
    if (cage->trees->unmounted)
        return fail_session(cage, TOOLCAGE_EUNENFORCEABLE, cage->plan->session,
                            "run where namespaces can be created, or without a session",
                            "without namespaces there is no private /tmp for session");
    if (cage->plan->workspace == TC_WORKSPACE_COPY)
        return fail_session(
            cage, TOOLCAGE_EUNENFORCEABLE, cage->plan->session,
            "use workspace = { mode = \"overlay\" }, or no session",
            "a copied workspace is made for each call, and cannot be stored for session");
    if (!tc_session_name(cage->plan->session))
        return fail_session(cage, TOOLCAGE_EUSAGE, "session", "use letters and digits",
                            "not a valid session name:");
    return 0;
}

int tc_session_open(struct tc_cage *cage)
{
    struct tc_trees *t = cage->trees;
    struct tc_workspace *w = cage->workspace;
    const char *where = "";
    if (!cage->plan->session)
        return 0;
    if (check_form(cage) < 0)
        return -1;
    struct tc_session *s = calloc(1, sizeof(*s));
    if (!s)
        return tc_cage_fail_memory(cage, "session");
    w->session = s;
    s->own = s->tree = -1;
    _autofd_ int dir = tc_state_open("sessions", &where);
    s->own = dir < 0 ? -1 : tc_tree_keep(t, tc_store_claim(dir, cage->plan->session, SESSIONS_MAX));
    if (s->own < 0)
        return refuse_entry(cage, where);
    int rc = load_session(cage, s);
    if (s->tree >= 0)
        s->tree = tc_tree_keep(t, s->tree);
    if (rc == 0)
        rc = check_bounds(cage, &s->record);
    if (rc < 0)
        tc_session_let_go(w);
    return rc;
}

void tc_session_let_go(struct tc_workspace *w)
{
    if (w->session && w->session->own >= 0)
        (void)flock(TAKE_FD(w->session->own), LOCK_UN); /* closed with the cage's other fds */
}

void tc_session_free(struct tc_workspace *w)
{
    if (w->session)
        tc_session_record_done(&w->session->record);
    free(TAKE(w->session));
}

/* ---- between calls ---- */

int tc_session_add_row(struct tc_outcome *o, const char *name, const struct tc_session_record *r)
{
    struct tc_session_row *row = TC_PUSH(o->sessions, o->session_count);
    if (!row)
        return tc_cage_fail_memory(&(struct tc_cage){.outcome = o}, "session");
    *row = (struct tc_session_row){.name = strdup(name),
                                   .tool = r->tool ? strdup(r->tool) : NULL,
                                   .bounds = strdup(r->bounds ? r->bounds : ""),
                                   .calls = r->calls,
                                   .bytes = r->bytes,
                                   .made = r->made,
                                   .used = r->used};
    bool whole = row->name && row->bounds && !row->tool == !r->tool;
    return whole ? 0 : tc_cage_fail_memory(&(struct tc_cage){.outcome = o}, "session");
}

static int by_name(const void *a, const void *b)
{
    const struct tc_session_row *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* A session with an unreadable record is listed, too, so that it can be deleted. */
int tc_session_list(struct tc_outcome *outcome)
{
    _autodir_ DIR *dir = open_all();
    struct dirent *e;
    int rc = 0, more = dir || errno == ENOENT ? 0 : -1;
    while (dir && rc == 0 && (more = tc_next_entry(dir, &e)) > 0) {
        if (!tc_session_name(e->d_name))
            continue;
        _autofd_ int own = tc_store_enter(dirfd(dir), e->d_name);
        struct tc_session_record r = {0};
        if ((own < 0 || tc_session_read(own, &r) < 0) && errno == ENOENT)
            continue; /* deleted meanwhile */
        rc = tc_session_add_row(outcome, e->d_name, &r);
        tc_session_record_done(&r);
    }
    if (rc == 0 && more < 0)
        return cannot(outcome, "sessions", "cannot list the");
    if (rc == 0 && outcome->sessions)
        qsort(outcome->sessions, outcome->session_count, sizeof(*outcome->sessions), by_name);
    return rc;
}

/* Deletes the record first, without which the rest is ignored, even if this process is killed. 1:
 * in use. */
static int end_one(int dir, const char *name, struct tc_outcome *outcome)
{
    struct tc_session_record r = {0};
    _autofd_ int own = tc_store_enter(dir, name);
    if (own < 0)
        return -1;
    if (tc_store_lock(own, false) < 0)
        return errno == ENOENT ? -1 : 1;
    bool kept = has_record(own);
    (void)tc_session_read(own, &r);
    int rc = kept ? tc_session_add_row(outcome, name, &r) : 0;
    tc_session_record_done(&r);
    if (rc < 0 || (kept && unlinkat(own, "record", 0) < 0))
        return -1;
    return tc_remove_tree(dir, name);
}

/* Deletes all sessions that no call is using; the first error is the failure. */
static int end_all(struct tc_outcome *outcome)
{
    _autodir_ DIR *dir = open_all();
    struct dirent *e;
    int all = 0, more = dir || errno == ENOENT ? 0 : -1;
    while (dir && (more = tc_next_entry(dir, &e)) > 0) {
        int rc = tc_session_name(e->d_name) ? end_one(dirfd(dir), e->d_name, outcome) : 0;
        if (rc >= 0 || errno == ENOENT)
            continue;
        if (!outcome->failure.code)
            (void)cannot(outcome, e->d_name, "cannot end session");
        all = -1;
    }
    return all == 0 && more < 0 ? cannot(outcome, "sessions", "cannot list the") : all;
}

int tc_session_end(const char *name, struct tc_outcome *outcome)
{
    struct tc_cage cage = {.outcome = outcome};
    if (!name[0])
        return end_all(outcome);
    _autofd_ int dir = tc_session_name(name) ? tc_state_look("sessions") : (errno = ENOENT, -1);
    int rc = dir < 0 ? -1 : end_one(dir, name, outcome);
    if (rc == 0 || outcome->failure.code)
        return rc;
    if (rc > 0)
        return errno = 0, fail_session(&cage, TOOLCAGE_EBACKEND, name,
                                       "wait until that call has ended", "a call is using session");
    if (errno == ENOENT)
        return errno = 0,
               fail_session(&cage, TOOLCAGE_EUSAGE, name, "`toolcage session list` lists the names",
                            "there is no session");
    return cannot(outcome, name, "cannot end session");
}

static bool is_left(int own, const char *name)
{
    return tc_session_name(name) && !has_record(own);
}

unsigned tc_session_sweep(void)
{
    _autofd_ int all = tc_state_look("sessions");
    return tc_store_sweep(all, is_left);
}

/* ---- the record on disk. Another build may read it: the format's name must change with anything
 * below. ---- */

static const char format[] = "toolcage session 1";
enum { RECORD_MAX = 512 << 20 };

void tc_session_visit(struct tc_wire *w, struct tc_session_record *r)
{
    int64_t *numbers[] = {&r->generation, &r->calls, &r->bytes, &r->made, &r->used};
    tc_wire_format(w, format);
    tc_wire_str(w, &r->name);
    tc_wire_str(w, &r->tool);
    tc_wire_str(w, &r->bounds);
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        tc_wire_i64(w, numbers[i]);
        if (*numbers[i] < 0)
            w->failed = true;
    }
    tc_held_visit(w, &r->list);
    if (!r->name || !tc_session_name(r->name) || !r->bounds || r->generation < 1 || r->calls < 1)
        w->failed = true;
}

void tc_session_record_done(struct tc_session_record *r)
{
    tc_held_list_done(&r->list);
    free(r->name);
    free(r->tool);
    free(r->bounds);
    *r = (struct tc_session_record){0};
}

void tc_session_tree(int64_t generation, char ret[24])
{
    (void)snprintf(ret, 24, "g%lld", (long long)generation);
}

int tc_session_read(int own, struct tc_session_record *ret)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = openat(own, "record", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    text.max = RECORD_MAX;
    if (!tc_store_own(fd, S_IFREG) || tc_read_all(fd, &text) < 0)
        return -1;
    struct tc_wire w = TC_WIRE_GET_INIT(text.data, text.len);
    tc_session_visit(&w, ret);
    if (!w.failed && !w.left)
        return 0;
    tc_session_record_done(ret);
    errno = EBADMSG;
    return -1;
}

int tc_session_write(int own, struct tc_session_record *record)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    w.out.max = RECORD_MAX;
    tc_session_visit(&w, record);
    errno = EFBIG;
    int rc = w.failed ? -1 : tc_store_write(own, "record", w.out.data, w.out.len, 0600);
    tc_buf_done(&w.out);
    return rc;
}
