/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "system/owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define DPKG "/var/lib/dpkg/info"
#define UCF "/var/lib/ucf/registry"
#define PACMAN "/var/lib/pacman/local"

static const char *const apk[] = {"/lib/apk/db/installed", "/usr/lib/apk/db/installed"};
static const char *const rpm_databases[] = {
    "/var/lib/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite", "/var/lib/rpm/Packages",
    "/usr/lib/sysimage/rpm/Packages.db"};

const char *const tc_owner_databases[] = {"/var/lib/dpkg/status",
                                          DPKG,
                                          UCF,
                                          PACMAN,
                                          "/lib/apk/db/installed",
                                          "/usr/lib/apk/db/installed",
                                          "/var/lib/rpm/rpmdb.sqlite",
                                          "/usr/lib/sysimage/rpm/rpmdb.sqlite",
                                          "/var/lib/rpm/Packages",
                                          "/usr/lib/sysimage/rpm/Packages.db",
                                          NULL};

/* ---- one package ---- */

/* Its paths of /etc, and the names of its units. */
struct package {
    struct tc_strv etc, units, timers;
    bool script; /* it has a start script of the old kind */
};

static void package_done(struct package *p)
{
    tc_strv_done(&p->etc);
    tc_strv_done(&p->units);
    tc_strv_done(&p->timers);
    *p = (struct package){0};
}

/* The unit's name without its type; NULL: the path is not a unit of this type. */
static const char *unit(const char *path, const char *type)
{
    const char *base = strstr(path, "/lib/systemd/system/");
    if (!base || !tc_endswith(path, type))
        return NULL;
    base += strlen("/lib/systemd/system/");
    return strchr(base, '/') ? NULL : base;
}

static bool add_stem(struct tc_strv *to, const char *name, const char *type)
{
    return tc_strv_take(to, strndup(name, strlen(name) - strlen(type)));
}

static bool add_path(struct package *p, const char *path)
{
    static const char service[] = ".service", timer[] = ".timer";
    const char *name;
    if (tc_startswith(path, "/etc/")) {
        p->script = p->script || tc_startswith(path, "/etc/init.d/");
        return tc_strv_add(&p->etc, path);
    }
    if ((name = unit(path, service)))
        return add_stem(&p->units, name, service);
    if ((name = unit(path, timer)))
        return add_stem(&p->timers, name, timer);
    return true;
}

/* A unit that only a timer starts is a job (man-db's index, apt's lists), not a service. */
static bool runs_service(const struct package *p)
{
    for (size_t i = 0; i < p->units.count; i++)
        if (!tc_strv_has(&p->timers, p->units.items[i]))
            return true;
    return p->script;
}

/* Adds the package and empties it. */
static bool end_package(struct tc_owners *o, struct package *p, bool *ret_service)
{
    bool service = runs_service(p), fine = true;
    for (size_t i = 0; fine && i < p->etc.count; i++)
        fine = tc_strv_add(&o->files, p->etc.items[i]) &&
               (!service || tc_strv_add(&o->services, p->etc.items[i]));
    *ret_service = service;
    package_done(p);
    return fine;
}

/* ---- the databases ---- */

/* Cuts the next line off; NULL: no more. */
static char *next_line(char **rest)
{
    char *line = *rest;
    if (!line || !*line)
        return NULL;
    char *end = strchr(line, '\n');
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line;
}

static bool read_list(struct tc_owners *o, int dir, const char *name)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct package p = {0};
    bool service = false, fine = true;
    if (tc_read_file(dir, name, &text) < 0)
        return errno != ENOMEM;
    char *rest = text.data, *line;
    while (fine && (line = next_line(&rest)))
        fine = add_path(&p, line);
    fine = fine && end_package(o, &p, &service);
    package_done(&p);
    return fine && (!service || tc_strv_take(&o->daemons, strndup(name, strcspn(name, ":."))));
}

static bool read_dpkg(struct tc_owners *o)
{
    _autodir_ DIR *all = opendir(DPKG);
    struct dirent *e;
    bool fine = true;
    while (all && fine && (e = readdir(all)))
        if (tc_endswith(e->d_name, ".list")) {
            o->known = true;
            fine = read_list(o, dirfd(all), e->d_name);
        }
    return fine;
}

/* Files that maintainer scripts install for their package: "PACKAGE PATH". */
static bool read_ucf(struct tc_owners *o)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    bool fine = true;
    if (tc_read_file(AT_FDCWD, UCF, &text) < 0)
        return errno != ENOMEM;
    char *rest = text.data, *line;
    while (fine && (line = next_line(&rest))) {
        char *path = strchr(line, '/');
        size_t length = strcspn(line, " \t");
        line[length] = '\0';
        if (path && tc_path_is_clean(path))
            fine = tc_strv_add(&o->files, path) &&
                   (!tc_strv_has(&o->daemons, line) || tc_strv_add(&o->services, path));
    }
    return fine;
}

/* "F:" names a directory, "R:" a file in it; an empty line ends the package. */
static bool read_apk(struct tc_owners *o, const char *database)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct package p = {0};
    const char *dir = "";
    bool service, fine = true;
    if (tc_read_file(AT_FDCWD, database, &text) < 0)
        return errno != ENOMEM;
    o->known = true;
    char *rest = text.data, *line;
    while (fine && (line = next_line(&rest))) {
        _autofree_ char *path = NULL;
        if (!*line) {
            fine = end_package(o, &p, &service);
        } else if (tc_startswith(line, "F:")) {
            dir = line + 2;
            fine = (path = tc_format("/%s", dir)) && add_path(&p, path);
        } else if (tc_startswith(line, "R:")) {
            fine = (path = tc_format("/%s/%s", dir, line + 2)) && add_path(&p, path);
        }
    }
    fine = fine && end_package(o, &p, &service);
    package_done(&p);
    return fine;
}

static bool read_files(struct tc_owners *o, int dir, const char *name)
{
    _autofree_ char *file = tc_format("%s/files", name);
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct package p = {0};
    bool service, fine = true;
    if (!file || tc_read_file(dir, file, &text) < 0)
        return file && errno != ENOMEM;
    o->known = true;
    char *rest = text.data, *line;
    while (fine && (line = next_line(&rest)) && !tc_startswith(line, "%BACKUP%")) {
        size_t length = strlen(line);
        if (length && line[length - 1] == '/')
            line[length - 1] = '\0';
        _autofree_ char *path = tc_format("/%s", line);
        fine = path && add_path(&p, path);
    }
    fine = fine && end_package(o, &p, &service);
    package_done(&p);
    return fine;
}

static bool read_pacman(struct tc_owners *o)
{
    _autodir_ DIR *all = opendir(PACMAN);
    struct dirent *e;
    bool fine = true;
    while (all && fine && (e = readdir(all)))
        if (e->d_name[0] != '.')
            fine = read_files(o, dirfd(all), e->d_name);
    return fine;
}

static bool has_rpm(void)
{
    for (size_t i = 0; i < TC_COUNT(rpm_databases); i++)
        if (access(rpm_databases[i], R_OK) == 0)
            return true;
    return false;
}

static bool read_rpm(struct tc_owners *o, tc_system_rpm *rpm)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    struct package p = {0};
    const char *name = "";
    bool service, fine = true;
    if (!rpm || !has_rpm() || !rpm(&text))
        return true;
    o->known = true;
    char *rest = text.data, *line;
    while (fine && (line = next_line(&rest))) {
        char *path = strchr(line, ' ');
        if (!path)
            continue;
        *path++ = '\0';
        if (strcmp(name, line) != 0)
            fine = end_package(o, &p, &service);
        name = line;
        fine = fine && add_path(&p, path);
    }
    fine = fine && end_package(o, &p, &service);
    package_done(&p);
    return fine;
}

/* ---- all of them ---- */

static void sort(struct tc_strv *v)
{
    tc_strv_sort(v);
}

static bool holds(const struct tc_strv *v, const char *path)
{
    return v->count && bsearch(&path, v->items, v->count, sizeof(*v->items), tc_order_texts);
}

bool tc_owners_read(struct tc_owners *ret, tc_system_rpm *rpm)
{
    *ret = (struct tc_owners){0};
    bool fine = read_dpkg(ret) && read_ucf(ret) && read_pacman(ret) && read_rpm(ret, rpm);
    for (size_t i = 0; fine && i < TC_COUNT(apk); i++)
        fine = read_apk(ret, apk[i]);
    sort(&ret->files);
    sort(&ret->services);
    return fine;
}

enum tc_owner tc_owners_find(const struct tc_owners *owners, const char *path)
{
    if (holds(&owners->services, path))
        return TC_OWNER_SERVICE;
    return !owners->known || holds(&owners->files, path) ? TC_OWNER_PACKAGE : TC_OWNER_NONE;
}

void tc_owners_done(struct tc_owners *owners)
{
    tc_strv_done(&owners->files);
    tc_strv_done(&owners->services);
    tc_strv_done(&owners->daemons);
    *owners = (struct tc_owners){0};
}
