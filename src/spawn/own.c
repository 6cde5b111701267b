/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "spawn/own.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "version.h"

int tc_spawn_own_open(const char *path, int *ret, struct toolcage_error **err)
{
    struct tc_why why = {.code = TOOLCAGE_EHELPER, .stage = "helper", .subject = path};
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        why.errnum = errno;
        why.hint = "reinstall toolcage, or restore the modes of its files";
        return tc_fail(err, &why, "cannot open the helper %s", path);
    }
    const char *reason = tc_program_unsafe(&st);
    if (reason) {
        why.hint = "make root (or your user) its owner, and its mode 0755";
        return tc_fail(err, &why, "the helper %s %s", path, reason);
    }
    *ret = TAKE_FD(fd);
    return 0;
}

/* The file that contains this code, according to the kernel: the loader's path may be relative to a
 * working directory that has changed since. */
static char *library_from_maps(void)
{
    unsigned long here = (unsigned long)(uintptr_t)&tc_spawn_own_program, from, to;
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128], *found = NULL;
    while (maps && !found && fgets(line, sizeof(line), maps)) {
        char *path = strchr(line, '/');
        if (sscanf(line, "%lx-%lx", &from, &to) != 2 || here < from || here >= to || !path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        found = strdup(path);
    }
    if (maps)
        (void)fclose(maps);
    return found;
}

/* Is this code linked statically into the program? Then the loader knows only argv[0]. */
static bool is_program(const Dl_info *info)
{
    enum { HEADERS = 4096 };
    return getauxval(AT_PHDR) - (uintptr_t)info->dli_fbase < HEADERS;
}

/* The path according to the kernel; without /proc, the one that was passed to execve(). */
static char *program_path(void)
{
    char *path = tc_self_now();
    const char *executed = (const char *)getauxval(AT_EXECFN);
    if (path || errno == ENOMEM)
        return path;
    return executed && executed[0] == '/' ? realpath(executed, NULL) : NULL;
}

static char *library_path(void)
{
    Dl_info info = {0};
    bool known = dladdr((void *)(uintptr_t)&tc_spawn_own_program, &info) != 0 && info.dli_fname;
    if (!known || is_program(&info)) /* libc may know nothing of a static program */
        return program_path();
    return info.dli_fname[0] == '/' ? tc_path_real(info.dli_fname) : library_from_maps();
}

/* Directories of toolcage's programs, relative to the library. */
static const char *const places[] = {"", "../libexec/toolcage/", TC_PROGRAMS};

/* Appends the programs in one directory. False: out of memory. */
static bool add_programs(const char *dir, struct tc_strv *ret)
{
    _autodir_ DIR *entries = opendir(dir);
    bool fine = entries || errno != ENOMEM;
    for (struct dirent *e; fine && entries && (e = readdir(entries));) {
        if (!tc_startswith(e->d_name, "toolcage"))
            continue;
        char *path = tc_path_join(dir, e->d_name);
        fine = tc_strv_take(ret, path);
    }
    return fine;
}

bool tc_spawn_own_within(const struct tc_strv *within, struct tc_strv *ret)
{
    if (within->count == 0)
        return true;
    errno = 0;
    _autofree_ char *own = library_path();
    _autofree_ char *dir = own ? tc_path_parent(own) : NULL;
    bool fine = dir || errno != ENOMEM; /* if the path is unknown, no program can be found */
    for (size_t i = 0; dir && fine && i < TC_COUNT(places); i++) {
        _autofree_ char *place = tc_path_absolute(dir, places[i]);
        bool inside = false;
        for (size_t w = 0; place && w < within->count; w++)
            inside = inside || tc_path_within(within->items[w], place);
        fine = place && (!inside || add_programs(place, ret));
        if (inside && i == 0 && fine)
            fine = tc_strv_has(ret, own) || tc_strv_add(ret, own);
    }
    return fine;
}

/* Looks next to the library, and in the directories of an installed toolcage. *ret stays NULL if
 * the program is in none of them. */
static int find_in_dir(const char *name, const char *dir, char **ret, struct toolcage_error **err)
{
    for (size_t i = 0; i < TC_COUNT(places) && !*ret; i++) {
        _autofree_ char *place = tc_format("%s%s", places[i], name);
        _autofree_ char *path = place ? tc_path_absolute(dir, place) : NULL;
        if (!path)
            return tc_fail_memory(err);
        if (access(path, F_OK) == 0)
            *ret = TAKE(path);
    }
    return 0;
}

int tc_spawn_own_program(const char *name, char **ret, struct toolcage_error **err)
{
    _autofree_ char *own = library_path(), *path = NULL;
    _autofree_ char *dir = own ? tc_path_parent(own) : NULL;
    _autofd_ int fd = -1;
    if (!dir)
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EHELPER, "helper", name,
                              "load libtoolcage by an absolute path, or mount /proc"),
                       "cannot determine where libtoolcage was loaded from, so %s cannot be found",
                       name);
    int r = find_in_dir(name, dir, &path, err);
    if (r == 0 && !path)
        r = tc_fail(err,
                    TC_WHY(TOOLCAGE_EHELPER, "helper", name,
                           "install toolcage completely: its programs are searched nowhere else"),
                    "%s is in neither %s nor %s", name, dir, TC_PROGRAMS);
    if (r == 0)
        r = tc_spawn_own_open(path, &fd, err);
    if (r == 0)
        *ret = TAKE(path);
    return r;
}
