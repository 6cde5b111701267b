/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of a commit: what it stores, and where new versions are staged. */
#include "workspace/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "linux/mounts.h"
#include "workspace/copy.h"

enum { ROOTS_MAX = 4096, STEPS_MAX = 4000000 };
const char tc_commit_conflict[] = "conflict", tc_commit_undone[] = "not committed";
static const char format[] = "toolcage commit 1";

void tc_steps_begin(struct tc_steps *s, const char *temporary, bool privileged)
{
    *s = (struct tc_steps){.privileged = privileged,
                           .temporary = temporary,
                           .journal = -1,
                           .from.fd = -1,
                           .to.fd = -1};
}

void tc_steps_done(struct tc_steps *s)
{
    for (size_t i = 0; i < s->root_count; i++) {
        free(s->roots[i].path);
        free(s->roots[i].layer);
    }
    for (size_t i = 0; i < s->place_count; i++)
        free(s->places[i].above);
    for (size_t i = 0; i < s->count; i++)
        free(s->steps[i].relative);
    free(s->roots);
    free(s->places);
    free(s->steps);
    *s = (struct tc_steps){.journal = -1, .from.fd = -1, .to.fd = -1};
}

/* ---- stored ---- */

static void visit_root(struct tc_wire *w, struct tc_step_root *r)
{
    tc_wire_str(w, &r->path);
    tc_wire_str(w, &r->layer);
    tc_wire_i64(w, &r->device);
    tc_wire_i64(w, &r->inode);
    tc_wire_i64(w, &r->born_ns);
    tc_wire_i64(w, &r->uid);
    tc_wire_i64(w, &r->gid);
    if (!r->path || r->path[0] != '/' || (r->layer && strchr(r->layer, '/')))
        w->failed = true;
    if (w->mode == TC_WIRE_GET)
        r->fd = r->copy = -1;
}

static void visit_place(struct tc_wire *w, struct tc_step_place *p)
{
    TC_WIRE_INT(w, p->root);
    tc_wire_str(w, &p->above);
    TC_WIRE_INT(w, p->alone);
    if (!p->above)
        w->failed = true;
}

static void visit_step(struct tc_wire *w, struct tc_step *s)
{
    TC_WIRE_INT(w, s->kind);
    TC_WIRE_INT(w, s->root);
    tc_wire_str(w, &s->relative);
    tc_version_visit(w, &s->was);
    tc_wire_i64(w, &s->born_ns);
    TC_WIRE_INT(w, s->loose);
    tc_version_visit(w, &s->now);
    tc_wire_i64(w, &s->place);
    TC_WIRE_INT(w, s->made);
    TC_WIRE_INT(w, s->mode);
    TC_WIRE_INT(w, s->fresh);
    TC_WIRE_INT(w, s->leans);
    TC_WIRE_INT(w, s->bare);
    if (!s->relative || (!s->relative[0] && s->kind != TC_STEP_MODE) || s->kind >= TC_STEP_KINDS)
        w->failed = true;
}

void tc_steps_visit(struct tc_wire *w, struct tc_steps *s)
{
    tc_wire_format(w, format);
    TC_WIRE_INT(w, s->privileged);
    TC_WIRE_EACH(w, s->roots, s->root_count, ROOTS_MAX, visit_root);
    TC_WIRE_EACH(w, s->places, s->place_count, STEPS_MAX, visit_place);
    TC_WIRE_EACH(w, s->steps, s->count, STEPS_MAX, visit_step);
    for (size_t i = 0; i < s->place_count && !w->failed; i++)
        w->failed = s->places[i].root >= s->root_count;
    for (size_t i = 0; i < s->count && !w->failed; i++) {
        const struct tc_step *step = &s->steps[i];
        w->failed = step->root >= s->root_count || step->place < -1 ||
                    (step->place >= 0 ? (size_t)step->place >= s->place_count
                                      : step->kind == TC_STEP_PUT && !s->roots[step->root].layer);
    }
}

/* ---- added ---- */

static char *layer_of(const struct tc_cage *cage, const struct tc_item *item)
{
    const struct tc_workspace *w = cage->workspace;
    for (size_t i = 0; item->near && i < w->layer_count; i++)
        if (w->layers[i].item == item)
            return strdup(w->layers[i].name);
    return NULL;
}

static bool add_root(struct tc_steps *s, const struct tc_cage *cage, const struct tc_item *item)
{
    char path[PATH_MAX];
    struct statx st;
    if (s->root_count && s->roots[s->root_count - 1].item == item)
        return true;
    if (tc_resolve_name(item->fd, path) < 0 ||
        statx(item->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
        return false;
    struct tc_step_root *r = TC_PUSH(s->roots, s->root_count);
    if (r)
        *r = (struct tc_step_root){.path = strdup(path),
                                   .device = (int64_t)makedev(st.stx_dev_major, st.stx_dev_minor),
                                   .inode = (int64_t)st.stx_ino,
                                   .born_ns = tc_step_born(&st),
                                   .uid = item->uid,
                                   .gid = item->gid,
                                   .layer = layer_of(cage, item),
                                   .fd = item->fd,
                                   .copy = item->copy,
                                   .item = item};
    return r && r->path;
}

struct tc_step *tc_steps_add(struct tc_steps *s, const struct tc_cage *cage,
                             const struct tc_item *item, enum tc_step_kind kind,
                             const char *relative)
{
    errno = ENOMEM;
    if (!add_root(s, cage, item))
        return NULL;
    errno = ENOMEM;
    char *name = strdup(relative);
    struct tc_step *step = name ? TC_PUSH(s->steps, s->count) : NULL;
    if (step)
        *step = (struct tc_step){.kind = kind,
                                 .root = s->root_count - 1,
                                 .relative = name,
                                 .place = -1,
                                 .row = SIZE_MAX};
    else
        free(name);
    return step;
}

bool tc_steps_remove(const struct tc_steps *s, const char *relative)
{
    size_t low = s->removals, high = s->removals_end; /* in descending order */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(relative, s->steps[middle].relative);
        if (order == 0)
            return true;
        if (order > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* ---- staged ---- */

void tc_steps_place_name(const struct tc_steps *s, size_t place, char name[TC_STEP_NAME])
{
    (void)snprintf(name, TC_STEP_NAME, "%s-%zx", s->temporary, place);
}

void tc_steps_file_name(const struct tc_steps *s, const struct tc_step *step,
                        char name[TC_STEP_NAME])
{
    size_t place = (size_t)step->place;
    if (s->places[place].alone)
        tc_steps_place_name(s, place, name);
    else
        (void)snprintf(name, TC_STEP_NAME, "%zx", (size_t)(step - s->steps));
}

static int open_above(const struct tc_steps *s, const struct tc_step_place *p)
{
    return tc_resolve_beneath(s->roots[p->root].fd, p->above[0] ? p->above : ".");
}

/* Another user cannot write there, but could have put another directory in its place. */
static int open_own(int above, const char *name, int flags)
{
    struct stat st;
    _autofd_ int fd = openat(above, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (st.st_uid == geteuid() && !(st.st_mode & 0077))
        return TAKE_FD(fd);
    errno = ESTALE;
    return -1;
}

int tc_steps_open_place(const struct tc_steps *s, size_t place)
{
    char name[TC_STEP_NAME];
    _autofd_ int above = open_above(s, &s->places[place]);
    if (above < 0 || s->places[place].alone)
        return TAKE_FD(above);
    tc_steps_place_name(s, place, name);
    return open_own(above, name, O_PATH);
}

/* Removes nothing but names that steps have: the directory is among the user's files. */
static void clear_directory(int above, const char *name)
{
    _autodir_ DIR *all = tc_take_dir(open_own(above, name, O_RDONLY));
    struct dirent *e;
    while (all && tc_next_entry(all, &e) > 0)
        if (strspn(e->d_name, "0123456789abcdef") == strlen(e->d_name))
            (void)unlinkat(dirfd(all), e->d_name, 0);
    if (all)
        (void)unlinkat(above, name, AT_REMOVEDIR);
}

static void clear_place(const struct tc_steps *s, size_t place)
{
    char name[TC_STEP_NAME];
    _autofd_ int above = open_above(s, &s->places[place]);
    tc_steps_place_name(s, place, name);
    if (above >= 0 && s->places[place].alone)
        (void)unlinkat(above, name, 0);
    else if (above >= 0)
        clear_directory(above, name);
}

void tc_steps_clear(const struct tc_steps *s)
{
    for (size_t i = 0; i < s->place_count; i++)
        clear_place(s, i);
}

void tc_steps_clear_in(const struct tc_steps *s, size_t root, const char *above)
{
    for (size_t i = 0; i < s->place_count; i++)
        if (s->places[i].root == root && strcmp(s->places[i].above, above) == 0)
            clear_place(s, i);
}
