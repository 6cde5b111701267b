/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/names/steering.h"

#include <limits.h>
#include <string.h>

#include "base/path.h"
#include "policy/names/row.h"

/* Rows are compared with the path from each of its components. */
enum { CONTEXT_MAX = 8 };

/* How much of a row matches the path from a component on. */
enum found { NONE, BEGUN, WHOLE };

/* A walk over the components of a path that is given in two pieces. The directories of submodules
 * are in .git/modules, and each is like .git. Their names may have slashes, so each component there
 * counts as .git, too. */
struct walk {
    const char *at;   /* the component */
    const char *next; /* the second piece; NULL: in the last piece */
    bool granted;     /* the component belongs to the context */
    enum { OUTSIDE, IN_GIT, MODULES, MODULE } place;
};

static void settle_walk(struct walk *w)
{
    while (*w->at == '/')
        w->at++;
    if (*w->at || !w->next)
        return;
    w->at = TAKE(w->next);
    w->granted = false;
    settle_walk(w);
}

static struct walk begin_walk(const char *context, const char *relative)
{
    struct walk w = {.at = context, .next = relative, .granted = true};
    settle_walk(&w);
    return w;
}

static void step(struct walk *w)
{
    bool git = tc_row_same(".git", w->at);
    w->at += tc_row_width(w->at);
    settle_walk(w);
    if (w->place == MODULES || w->place == MODULE)
        w->place = MODULE;
    else if (git)
        w->place = tc_row_same("modules", w->at) ? MODULES : IN_GIT;
}

/* Does the row's first component match? */
static bool begins(const char *row, struct walk w)
{
    bool module = w.place == MODULE && strncmp(row, ".git/", 5) == 0;
    return module || tc_row_same(row, w.at);
}

/* `last` is the component that matched the row's last compared component. */
static enum found find_row(const char *row, struct walk w, struct walk *last)
{
    for (const char *start = row; *row; row += tc_row_width(row), row += *row == '/') {
        if (!*w.at)
            return BEGUN;
        if (row == start ? !begins(row, w) : !tc_row_same(row, w.at))
            return NONE;
        *last = w;
        step(&w);
    }
    return WHOLE;
}

/* Listed names without a dot begin with few pairs of letters, so most components need no
 * comparison. */
static bool may_begin(const char *name)
{
    static const char pairs[] = "AG CL GE QW WA cc le mi op ru to";
    if (name[0] == '.')
        return true;
    for (const char *at = pairs; *at; at += 2 + (at[2] == ' '))
        if (name[0] == at[0] && name[1] == at[1])
            return true;
    return false;
}

bool tc_steers_may(const char *path)
{
    for (const char *at = path; *at; at++)
        if ((at == path || at[-1] == '/') && may_begin(at))
            return true;
    return false;
}

/* Does a row match from here and end below the granted context? `ret` is the row. */
static enum found named(struct walk w, const char **ret)
{
    struct walk last = w;
    enum found best = NONE;
    bool module = w.place == MODULE, may = may_begin(w.at) || module;
    for (size_t i = 0; may && tc_steering_names[i] && best != WHOLE; i++) {
        *ret = tc_steering_names[i];
        enum found this = **ret == *w.at || module ? find_row(*ret, w, &last) : NONE;
        best = this > best && !last.granted ? this : best;
    }
    return best;
}

/* The operator's rows mean .git alone. */
static bool listed(const struct tc_strv *rows, struct walk w)
{
    struct walk last = w;
    w.place = OUTSIDE;
    for (size_t i = 0; i < rows->count; i++)
        if (find_row(rows->items[i], w, &last) == WHOLE && !last.granted)
            return true;
    return false;
}

static bool any(const struct tc_strv *rows, struct walk w)
{
    for (; rows->count && *w.at; step(&w))
        if (listed(rows, w))
            return true;
    return false;
}

/* The best match of a spared row from here. *record: it is a repository's record. */
static enum found spared(struct walk w, bool *record)
{
    struct walk last;
    enum found best = NONE;
    for (size_t i = 0; tc_steering_spared[i] && best != WHOLE; i++) {
        enum found this = find_row(tc_steering_spared[i], w, &last);
        *record = *record || (this == WHOLE && strchr(tc_steering_spared[i], '/'));
        best = this > best ? this : best;
    }
    return best;
}

static bool of_packages(struct walk w)
{
    struct walk last;
    for (size_t i = 0; tc_steering_packages[i]; i++)
        if (find_row(tc_steering_packages[i], w, &last) == WHOLE)
            return true;
    return false;
}

static bool leads_to_modules(struct walk w)
{
    if (!tc_row_same(".git", w.at))
        return false;
    step(&w);
    return w.place == MODULES;
}

/* Judges by names with a dot only. */
static enum tc_steers judge_dots(struct walk w)
{
    bool packages = false, record = false, modules = false;
    for (; *w.at; step(&w)) {
        bool leads = leads_to_modules(w), module = w.place == MODULE;
        bool dot = *w.at == '.' && !leads;
        modules = modules || leads;
        enum found found = dot || module ? spared(w, &record) : NONE;
        if (found == BEGUN && !(module && record))
            return TC_STEERS_ROOM;
        if (dot && found == NONE && !w.granted && !packages)
            return TC_STEERS_HOST;
        packages = packages || found == WHOLE || of_packages(w);
    }
    return record ? TC_STEERS_RECORD : modules ? TC_STEERS_ROOM : TC_STEERS_NOT;
}

/* ---- files that git trusts and writes ---- */

static const char hex[] = "0123456789abcdef";

static bool is_hex(const char *name, size_t digits)
{
    return tc_row_width(name) == digits && strspn(name, hex) == digits;
}

/* Is it a loose object, or a directory of objects or packs? In place of such a directory, a link
 * would redirect git to other objects. */
static bool in_store(struct walk w)
{
    if (!tc_row_same("objects", w.at))
        return false;
    step(&w);
    bool loose = is_hex(w.at, 2), granted = w.granted;
    if (!loose && !tc_row_same("pack", w.at) && !tc_row_same("info", w.at))
        return false;
    step(&w);
    if (!*w.at || !loose)
        return !*w.at && !granted;
    bool object = !w.granted && (is_hex(w.at, 38) || is_hex(w.at, 62));
    step(&w);
    return object && !*w.at;
}

/* Each row of tc_steering_written and each object path contains one of these or begins with a dot.
 */
static bool may_be_written(const char *path)
{
    return strstr(path, "objects") || strstr(path, "refs");
}

static bool written(struct walk w)
{
    struct walk last = w;
    for (; *w.at; step(&w)) {
        if (in_store(w))
            return true;
        for (size_t i = 0; tc_steering_written[i]; i++)
            if ((*tc_steering_written[i] == *w.at || w.place == MODULE) &&
                find_row(tc_steering_written[i], w, &last) == WHOLE && !last.granted)
                return true;
    }
    return false;
}

void tc_object_id(const char *path, char ret[TC_OBJECT_ID_SIZE])
{
    const char *name = strrchr(path, '/');
    size_t digits = name ? strspn(name + 1, hex) : 0;
    *ret = '\0';
    if ((digits != 38 && digits != 62) || name[1 + digits] || name - path < 2 ||
        !is_hex(name - 2, 2) || (name - path > 2 && name[-3] != '/'))
        return;
    memcpy(ret, name - 2, 2);
    memcpy(ret + 2, name + 1, digits + 1);
}

/* The last components of a path. */
static const char *tail(const char *path)
{
    size_t left = CONTEXT_MAX;
    for (const char *at = path + strlen(path); at > path; at--)
        if (*at == '/' && --left == 0)
            return at;
    return path;
}

static bool is_own(struct walk w)
{
    const char *row;
    for (; *w.at; step(&w))
        if (named(w, &row) == WHOLE && strstr(row, "toolcage"))
            return true;
    return false;
}

/* The best match of a row from any component. */
static enum found named_anywhere(struct walk w)
{
    const char *row;
    enum found best = NONE;
    for (; *w.at && best != WHOLE; step(&w)) {
        enum found this = named(w, &row);
        if (this == WHOLE || w.place != MODULE)
            best = this > best ? this : best;
    }
    return best;
}

enum tc_steers tc_steers(const struct tc_steering *rules, const char *context, const char *relative)
{
    if ((!rules || !rules->add.count) && !may_be_written(relative) && !may_be_written(context) &&
        !tc_steers_may(relative) && !tc_steers_may(context))
        return TC_STEERS_NOT;
    const struct walk start = begin_walk(tail(context), relative);
    if (rules && any(&rules->remove, start) && !is_own(start))
        return TC_STEERS_NOT;
    if (rules && any(&rules->add, start))
        return TC_STEERS_HOST;
    const enum found best = named_anywhere(start);
    if (best == WHOLE)
        return TC_STEERS_HOST;
    if (written(start))
        return TC_STEERS_WRITTEN;
    enum tc_steers steers = rules && rules->listed ? TC_STEERS_NOT : judge_dots(start);
    return best == BEGUN && steers != TC_STEERS_HOST ? TC_STEERS_ROOM : steers;
}

bool tc_steers_git(const char *context, const char *relative)
{
    bool git = false, trees = false, own = false;
    for (struct walk w = begin_walk(tail(context), relative); *w.at; step(&w)) {
        own = trees || w.place == MODULE; /* of a linked work tree, or of a submodule */
        trees = git && tc_row_same("worktrees", w.at);
        git = tc_row_same(".git", w.at);
    }
    return git || own;
}

bool tc_steers_packaged(const char *context, const char *relative)
{
    bool packages = false;
    struct walk w = begin_walk(tail(context), relative);
    for (; *w.at && !packages; step(&w))
        packages = of_packages(w);
    return packages && *w.at;
}

bool tc_steers_own(const char *context, const char *relative)
{
    return is_own(begin_walk(tail(context), relative));
}

const char *tc_steers_named(const char *path)
{
    const char *row;
    for (struct walk w = begin_walk("", path); *w.at; step(&w))
        if (named(w, &row) == WHOLE)
            return row;
    return NULL;
}

bool tc_steering_row(const char *text)
{
    if (!text[0] || strlen(text) >= NAME_MAX || text[0] == '/')
        return false;
    for (const char *at = text; *at; at += tc_row_width(at), at += *at == '/') {
        size_t n = tc_row_width(at);
        const char *star = memchr(at, '*', n);
        bool dots = n <= 2 && strspn(at, ".") >= n;
        bool stars = star && (n == 1 || memchr(star + 1, '*', (size_t)(at + n - star - 1)));
        if (n == 0 || dots || stars || strcmp(at + n, "/") == 0)
            return false;
    }
    return true;
}

void tc_steering_done(struct tc_steering *rules)
{
    tc_strv_done(&rules->add);
    tc_strv_done(&rules->remove);
}

bool tc_steering_copy(struct tc_steering *to, const struct tc_steering *from)
{
    to->listed = from->listed;
    return tc_strv_copy(&to->add, &from->add) && tc_strv_copy(&to->remove, &from->remove);
}
