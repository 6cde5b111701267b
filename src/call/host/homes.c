/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Home directories of this host, which contain people's credentials. */
#include "call/host/facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/names/credentials.h"

static void close_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

static bool add_home(struct tc_strv *homes, const char *home)
{
    _autofree_ char *clean = home && home[0] == '/' ? tc_path_absolute("/", home) : NULL;
    if (!home || home[0] != '/')
        return true;
    if (clean && tc_strv_has(homes, clean)) /* and its target, too */
        return true;
    if (!clean || !tc_strv_add(homes, clean))
        return false;
    _autofree_ char *real = tc_path_real(clean);
    return real ? tc_strv_has(homes, real) || tc_strv_add(homes, real) : errno != ENOMEM;
}

static bool logs_in(const struct passwd *user)
{
    return !tc_endswith(user->pw_shell, "/nologin") && !tc_endswith(user->pw_shell, "/false") &&
           !tc_endswith(user->pw_shell, "/sync");
}

/* Read once per call, not for each line of the file. */
struct caller {
    uid_t real, effective;
    const char *sudo;
};

static bool is_caller(const struct passwd *user, const struct caller *caller)
{
    return user->pw_uid == caller->real || user->pw_uid == caller->effective;
}

static bool add_user(const struct passwd *user, const struct caller *caller, struct tc_strv *homes)
{
    char uid[16];
    (void)snprintf(uid, sizeof(uid), "%u", user->pw_uid);
    bool wanted = is_caller(user, caller) || logs_in(user) ||
                  (caller->sudo && strcmp(caller->sudo, uid) == 0);
    return !wanted || strcmp(user->pw_dir, "/") == 0 || add_home(homes, user->pw_dir);
}

/* Reads the whole file at once: with an open file libc queries the position at each line. */
bool tc_homes(const char *home, struct tc_strv *ret, bool *ret_own)
{
    const struct caller caller = {getuid(), geteuid(), getenv("SUDO_UID")};
    struct passwd entry, *user;
    char text[4096], room[4096];
    int rc = 0;
    *ret_own = home && home[0] == '/';
    _autobuf_ struct tc_buf whole = TC_BUF_INIT;
    bool fine = add_home(ret, home), read = tc_read_file(AT_FDCWD, "/etc/passwd", &whole) == 0;
    if (!read || !whole.len) /* too large a file counts as out of memory */
        return fine && (read || (errno != ENOMEM && errno != EFBIG));
    _auto_(close_file) FILE *file = fmemopen(whole.data, whole.len, "r");
    if (!file)
        return false;
    (void)setvbuf(file, room, _IOFBF, sizeof(room));
    while (fine && (rc = fgetpwent_r(file, &entry, text, sizeof(text), &user)) == 0) {
        *ret_own = *ret_own || is_caller(user, &caller);
        fine = add_user(user, &caller, ret);
    }
    return fine && rc == ENOENT; /* end of the file */
}

/* Is it one of the open directories (1), above one (2), or neither (0)? */
static int is_open(const char *name)
{
    for (size_t i = 0; tc_home_open[i]; i++) {
        if (strcmp(tc_home_open[i], name) == 0)
            return 1;
        if (tc_path_below(name, tc_home_open[i]))
            return 2;
    }
    return 0;
}

static bool is_directory(int dirfd, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool close_below(const char *home, const char *above, struct tc_strv *ret);

static bool close_entry(const char *home, const char *above, const struct dirent *e,
                        struct tc_strv *ret)
{
    _autofree_ char *name = above[0] ? tc_path_join(above, e->d_name) : strdup(e->d_name);
    if (!name)
        return false;
    int open = is_open(name);
    return open == 1   ? true
           : open == 2 ? close_below(home, name, ret)
                       : tc_strv_take(ret, tc_path_join(home, name));
}

/* Adds the entries with a leading dot in the home itself, and all entries of partly open
 * directories. */
static bool close_below(const char *home, const char *above, struct tc_strv *ret)
{
    _autofree_ char *path = above[0] ? tc_path_join(home, above) : strdup(home);
    _autodir_ DIR *dir = path ? opendir(path) : NULL;
    struct dirent *e;
    int more = 0;
    if (!dir)
        return path && (errno == ENOENT || errno == ENOTDIR ||
                        errno == EACCES); /* the tool cannot list it either */
    while ((more = tc_next_entry(dir, &e)) > 0)
        if ((above[0] || e->d_name[0] == '.') && is_directory(dirfd(dir), e) &&
            !close_entry(home, above, e, ret))
            return false;
    return more == 0;
}

bool tc_home_closed(const char *home, struct tc_strv *ret)
{
    for (size_t i = 0; tc_credential_places[i]; i++) {
        struct stat st;
        _autofree_ char *place = tc_path_join(home, tc_credential_places[i]);
        if (!place)
            return false;
        if (lstat(place, &st) < 0 || !S_ISLNK(st.st_mode))
            continue;
        _autofree_ char *real = realpath(place, NULL);
        if (real ? !tc_strv_add(ret, real) : errno == ENOMEM)
            return false;
    }
    return close_below(home, "", ret);
}
