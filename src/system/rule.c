/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "system/rule.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/names/credentials.h"
#include "policy/names/system_paths.h"
#include "system/system.h"

enum { DEPTH_MAX = 16, FILES_MAX = 50000, PATHS_MAX = 2000, COPIES_MAX = 1 };

/* Files of /etc that no package lists, because its scripts make them from what other packages
 * contain; and the one of a package with a service that a program cannot do without. */
static const char *const generated[] = {
    "/etc/timezone",   "/etc/locale.conf", "/etc/inputrc",     "/etc/ca-certificates.conf",
    "/etc/locale.gen", "/etc/shells",      "/etc/papersize",   "/etc/python3/debian_config",
    "/etc/xml",        "/etc/sgml",        "/etc/mke2fs.conf", "/etc/mailcap",
    "/etc/texmf",
};

/* Directories outside /etc that a program needs to start, with data that packages' scripts
 * generate. Other directories of /var hold the data of services and users. */
static const char *const data[] = {
    "/var/lib/aspell",         "/var/lib/dictionaries-common",
    "/var/lib/emacsen-common", "/var/lib/ghc",
    "/var/lib/ghostscript",    "/var/lib/ispell",
    "/var/lib/mecab",          "/var/lib/ocaml",
    "/var/lib/php/modules",    "/var/lib/sgml-base",
    "/var/lib/tex-common",     "/var/lib/texmf",
    "/var/lib/xml-core",       "/var/cache/dictionaries-common",
    "/var/cache/fontconfig",
};

/* Directories are shown whole where all of their entries are; `PART`: one by one. */
enum share { NOTHING, PART, WHOLE };

static void add(struct tc_system_scan *s, struct tc_strv *to, const char *path)
{
    s->memory = s->memory || !tc_strv_add(to, path);
}

/* May everybody read it, and only root write it? Directories must be searchable, too. */
static bool open_to_all(const struct stat *st)
{
    mode_t needed = S_ISDIR(st->st_mode) ? 05 : 04;
    return st->st_uid == 0 && (st->st_mode & needed) == needed && !(st->st_mode & S_IWOTH) &&
           (st->st_gid == 0 || !(st->st_mode & S_IWGRP));
}

/* The mount of a path; 0: unknown. */
static uint64_t mount_of(int dir, const char *name)
{
    struct statx st;
    bool known = statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &st) == 0 &&
                 (st.stx_mask & STATX_MNT_ID);
    return known ? st.stx_mnt_id : 0;
}

static bool is_generated(const char *path)
{
    for (size_t i = 0; i < TC_COUNT(generated); i++)
        if (tc_path_within(generated[i], path))
            return true;
    return false;
}

static bool owned(const struct tc_system_scan *s, const char *path)
{
    return is_generated(path) || tc_owners_find(s->owners, path) == TC_OWNER_PACKAGE;
}

/* A link that no package owns (one of several fonts or modules was chosen) shows nothing but its
 * text; it is shown if it leads to a path that every cage has, too. */
static bool shows_link(const struct tc_system_scan *s, const char *path)
{
    struct stat st;
    if (tc_owners_find(s->owners, path) == TC_OWNER_PACKAGE)
        return true;
    _autofree_ char *real = realpath(path, NULL);
    if (!real || tc_credential_system(real))
        return false;
    return tc_system_path_find(real) ||
           (tc_path_within("/etc", real) && owned(s, real) && lstat(real, &st) == 0 &&
            S_ISREG(st.st_mode) && open_to_all(&st));
}

static enum share look_at_directory(struct tc_system_scan *s, int parent, const char *name,
                                    const char *path, unsigned depth);

static enum share look_at(struct tc_system_scan *s, int dir, const char *name, const char *path,
                          unsigned depth)
{
    struct stat st;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (tc_system_path_find(path)) /* the closed list decides */
        return PART;
    bool git = strcmp(path, TC_SYSTEM_GIT) == 0; /* its content decides */
    if (strchr(name, '\n') || (tc_credential_system(path) && !git) ||
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || ++s->files > FILES_MAX)
        return NOTHING;
    if (mount_of(dir, name) != s->mount) /* a file that is mounted there is not the package's */
        return NOTHING;
    if (S_ISDIR(st.st_mode))
        return open_to_all(&st) ? look_at_directory(s, dir, name, path, depth + 1) : NOTHING;
    bool shown = S_ISLNK(st.st_mode) ? shows_link(s, path)
                                     : S_ISREG(st.st_mode) && open_to_all(&st) &&
                                           (git ? tc_system_git(dir, name, &text) : owned(s, path));
    if (shown || git)
        add(s, shown ? &s->paths : &s->watched, path);
    return shown ? WHOLE : NOTHING;
}

/* Drops the single paths of a directory that is shown whole. */
static void drop_after(struct tc_strv *v, size_t count)
{
    while (v->count > count) {
        free(v->items[--v->count]);
        v->items[v->count] = NULL;
    }
}

/* A mount costs every call, a copy only the first one with a root: a single file is copied. */
static bool files_only(const struct tc_system_scan *s, size_t from)
{
    struct stat st;
    for (size_t i = from; i < s->paths.count; i++)
        if (lstat(s->paths.items[i], &st) < 0 || S_ISDIR(st.st_mode))
            return false;
    return true;
}

static enum share look_at_directory(struct tc_system_scan *s, int parent, const char *name,
                                    const char *path, unsigned depth)
{
    _autodir_ DIR *all =
        tc_take_dir(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    size_t before = s->paths.count;
    struct dirent *e;
    bool whole = all && depth < DEPTH_MAX, any = false;
    add(s, &s->watched, path);
    while (all && !s->memory && depth < DEPTH_MAX && tc_next_entry(all, &e) > 0) {
        _autofree_ char *at = tc_path_join(path, e->d_name);
        enum share share = at ? look_at(s, dirfd(all), e->d_name, at, depth) : NOTHING;
        s->memory = s->memory || !at;
        whole = whole && share == WHOLE;
        any = any || share != NOTHING;
    }
    if (!any && (!whole || !owned(s, path)))
        return NOTHING;
    if (!whole || depth == 0)
        return PART;
    if (s->paths.count > before && s->paths.count - before <= COPIES_MAX && files_only(s, before))
        return WHOLE;
    drop_after(&s->paths, before);
    add(s, &s->paths, path);
    return WHOLE;
}

static void look_at_data(struct tc_system_scan *s, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || !open_to_all(&st))
        return;
    add(s, &s->paths, path);
    add(s, &s->watched, path);
}

void tc_system_scan(struct tc_system_scan *s)
{
    struct stat st;
    if (lstat("/etc", &st) == 0 && S_ISDIR(st.st_mode) && open_to_all(&st)) {
        s->mount = mount_of(AT_FDCWD, "/etc");
        (void)look_at_directory(s, AT_FDCWD, "/etc", "/etc", 0);
    }
    for (size_t i = 0; i < TC_COUNT(data); i++)
        look_at_data(s, data[i]);
    if (s->paths.count > PATHS_MAX) /* each is a mount or a copy in every new root */
        drop_after(&s->paths, 0);
    for (size_t i = 0; i < s->paths.count; i++)
        if (lstat(s->paths.items[i], &st) == 0 && S_ISREG(st.st_mode))
            add(s, &s->watched, s->paths.items[i]);
    tc_strv_sort(&s->paths);
}
