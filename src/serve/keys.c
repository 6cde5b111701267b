/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Idempotency keys. A file for each one names the call that it belongs to, and is on the disk
 * before that call starts. So a request that is repeated after the server was killed never runs
 * its tool again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "serve/serve.h"
#include "state/store.h"

enum { HOUR_S = 3600, NAME_SIZE = 65, SWEEP = 64 /* every so many keys */ };

static unsigned taken;
static bool full; /* the last sweep found too many */

static void name_of(const char *key, char ret[NAME_SIZE])
{
    char digest[TC_DIGEST_SIZE];
    tc_digest(key, strlen(key), digest);
    memcpy(ret, digest + strlen("sha256:"), NAME_SIZE);
}

/* Removes the files of old keys. -1 with errno: there are too many others. */
static int make_room(int dir)
{
    _autodir_ DIR *list = tc_list_dir(dir);
    struct dirent *e;
    struct stat st;
    size_t count = 0;
    int more = -1;
    while (list && (more = tc_next_entry(list, &e)) > 0) {
        if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (st.st_mtim.tv_sec + (time_t)TC_KEY_HOURS * HOUR_S < time(NULL))
            (void)unlinkat(dir, e->d_name, 0);
        else
            count++;
    }
    errno = more < 0 ? errno : EDQUOT;
    return more < 0 || count >= TC_KEYS_MAX ? -1 : 0;
}

static void read_id(int dir, const char *name, char ret[TC_QUEUE_ID_SIZE])
{
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, TC_QUEUE_ID_SIZE - 1);
    ret[n == TC_QUEUE_ID_SIZE - 1 ? n : 0] = '\0';
}

/* The whole file gets its name by a link, which fails if the key is known. */
static int link_key(int dir, const char *name, const char *id)
{
    char fresh[NAME_SIZE + 8];
    (void)snprintf(fresh, sizeof(fresh), "%s.new", id);
    if (tc_store_write(dir, fresh, id, strlen(id), 0600) < 0)
        return -1;
    int r = linkat(dir, fresh, dir, name, 0), errnum = errno;
    (void)unlinkat(dir, fresh, 0);
    if (r == 0 && fsync(dir) < 0)
        return -1;
    errno = errnum;
    return r;
}

enum tc_key_fate tc_key_take(const char *key, const char *id, char ret_id[TC_QUEUE_ID_SIZE])
{
    char name[NAME_SIZE];
    _autofree_ char *path = NULL;
    _autofd_ int dir = tc_store_open("serve-keys", true, &path);
    ret_id[0] = '\0';
    if (dir < 0)
        return TC_KEY_FAILED;
    name_of(key, name);
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        read_id(dir, name, ret_id);
        return TC_KEY_USED;
    }
    if (full || taken % SWEEP == 0)
        full = make_room(dir) < 0;
    if (full)
        return TC_KEY_FAILED;
    taken++;
    if (link_key(dir, name, id) == 0)
        return TC_KEY_NEW;
    if (errno != EEXIST)
        return TC_KEY_FAILED;
    read_id(dir, name, ret_id);
    return TC_KEY_USED;
}
