/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "state/seal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "state/stamp.h"
#include "state/store.h"

enum { KEY = 32, BLOCK = 64 };

static void authenticate(const uint8_t key[KEY], const char *text, char out[TC_DIGEST_SIZE])
{
    uint8_t pad[BLOCK], inner[SHA256_DIGEST_LENGTH];
    SHA2_CTX ctx;
    memset(pad, 0x36, sizeof(pad));
    for (size_t i = 0; i < KEY; i++)
        pad[i] ^= key[i];
    SHA256Init(&ctx);
    SHA256Update(&ctx, pad, sizeof(pad));
    SHA256Update(&ctx, (const uint8_t *)text, strlen(text));
    SHA256Final(inner, &ctx);
    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] ^= 0x36 ^ 0x5c;
    SHA256Init(&ctx);
    SHA256Update(&ctx, pad, sizeof(pad));
    SHA256Update(&ctx, inner, sizeof(inner));
    tc_digest_finish(&ctx, out);
}

int tc_open_own(const char *path, int flags)
{
    _autofd_ int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    return tc_store_own(fd, S_IFREG) ? TAKE_FD(fd) : -1;
}

static bool read_key(const char *path, uint8_t key[KEY])
{
    _autofd_ int fd = tc_open_own(path, O_RDONLY);
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    if (fd < 0 || tc_read_all(fd, &bytes) < 0 || bytes.len != KEY)
        return false;
    memcpy(key, bytes.data, KEY);
    return true;
}

/* The first process creates the key; of two concurrent ones, the one whose link() succeeds. */
static bool make_key(const char *path, uint8_t key[KEY])
{
    if (read_key(path, key))
        return true;
    _autofree_ char *fresh = tc_format("%s.%d", path, (int)getpid());
    _autofd_ int fd = fresh ? tc_open_own(fresh, O_WRONLY | O_CREAT | O_EXCL) : -1;
    bool made = fd >= 0 && getrandom(key, KEY, 0) == KEY && tc_write_all(fd, key, KEY) == 0 &&
                (link(fresh, path) == 0 || errno == EEXIST);
    if (fd >= 0)
        (void)unlink(fresh);
    return made && read_key(path, key);
}

bool tc_seal(const char *dir, const char *text, char out[TC_DIGEST_SIZE])
{
    uint8_t key[KEY];
    _autofree_ char *path = tc_path_join(dir, "key");
    if (!path || !make_key(path, key))
        return false;
    authenticate(key, text, out);
    return true;
}

bool tc_seal_holds(const char *dir, const char *text, const char *seal)
{
    uint8_t key[KEY];
    char found[TC_DIGEST_SIZE];
    _autofree_ char *path = tc_path_join(dir, "key");
    if (!path || !read_key(path, key))
        return false;
    authenticate(key, text, found);
    return strncmp(found, seal, TC_DIGEST_SIZE - 1) == 0;
}

#define RECORD ".record"

enum { TICK_MS = 50 };

static char *record_of(const char *path)
{
    return tc_format("%s" RECORD, path);
}

static char *words_of(const char *path, const struct stat *st)
{
    char stamp[TC_STAMP_SIZE];
    tc_stamp(st, stamp);
    return tc_format("toolcage-sealed 2\n%s\n%s\n", path, stamp);
}

bool tc_sealed_holds(const char *path)
{
    struct stat st;
    _autobuf_ struct tc_buf seal = TC_BUF_INIT;
    _autofree_ char *record = record_of(path), *dir = tc_path_parent(path);
    _autofd_ int fd = tc_open_own(path, O_RDONLY),
                 from = record ? tc_open_own(record, O_RDONLY) : -1;
    if (!dir || fd < 0 || from < 0 || fstat(fd, &st) < 0 || tc_read_all(from, &seal) < 0 ||
        seal.len != TC_DIGEST_SIZE - 1)
        return false;
    _autofree_ char *words = words_of(path, &st);
    return words && tc_seal_holds(dir, words, seal.data);
}

int tc_sealed_open(const char *path)
{
    _autofree_ char *dir = tc_path_parent(path);
    errno = ENOMEM;
    if (!dir || tc_make_directories(dir) < 0)
        return -1;
    return open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
}

/* The sealed file of the directory with the oldest mtime; owned. */
static char *oldest(const char *dir, unsigned *ret_count)
{
    struct timespec first = {0};
    struct stat st;
    struct dirent *e;
    char *found = NULL;
    _autodir_ DIR *all = opendir(dir);
    *ret_count = 0;
    while (all && (e = readdir(all))) {
        size_t len = strlen(e->d_name) - strlen(RECORD);
        _autofree_ char *path =
            tc_endswith(e->d_name, RECORD) ? tc_format("%s/%.*s", dir, (int)len, e->d_name) : NULL;
        if (!path || lstat(path, &st) < 0)
            continue;
        ++*ret_count;
        bool before = st.st_mtim.tv_sec < first.tv_sec ||
                      (st.st_mtim.tv_sec == first.tv_sec && st.st_mtim.tv_nsec < first.tv_nsec);
        if (found && !before)
            continue;
        free(found);
        found = TAKE(path);
        first = st.st_mtim;
    }
    return found;
}

static void make_room(const char *dir, unsigned most)
{
    unsigned count = most;
    while (count >= most) {
        _autofree_ char *path = oldest(dir, &count);
        if (!path || count < most)
            return;
        tc_sealed_drop(path);
        count--;
    }
}

/* Links the file under an unused name first: rename() sets the ctime that the record must have.
 * Cages run under other ids, so the mode is 0444; the directory keeps other users out. */
static bool name(int fd, const char *path)
{
    char self[64];
    _autofree_ char *fresh = tc_format("%s.%d", path, (int)getpid());
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (!fresh || linkat(AT_FDCWD, self, AT_FDCWD, fresh, AT_SYMLINK_FOLLOW) < 0)
        return false;
    bool fine = fchmod(fd, 0444) == 0 && rename(fresh, path) == 0;
    if (!fine)
        (void)unlink(fresh);
    return fine;
}

/* File times advance with the kernel's ticks: a write after the next tick is noticed. Where times
 * are whole seconds it would not be, so nothing is stored. */
static bool pass_tick(const struct stat *st)
{
    const struct timespec changed = st->st_ctim, pause = {.tv_nsec = 1000000};
    struct timespec now;
    for (int i = 0; changed.tv_nsec && i < TICK_MS; i++) {
        if (clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0)
            return false;
        if (now.tv_sec > changed.tv_sec ||
            (now.tv_sec == changed.tv_sec && now.tv_nsec > changed.tv_nsec))
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static bool record(int fd, const char *dir, const char *path)
{
    struct stat st;
    char seal[TC_DIGEST_SIZE];
    _autofree_ char *to = record_of(path),
                    *words = fstat(fd, &st) == 0 && pass_tick(&st) ? words_of(path, &st) : NULL;
    return to && words && tc_seal(dir, words, seal) &&
           tc_store_write(AT_FDCWD, to, seal, strlen(seal), 0600) == 0;
}

bool tc_sealed_put(int fd, const char *path, unsigned most)
{
    _autofree_ char *dir = tc_path_parent(path);
    if (!dir)
        return false;
    tc_sealed_drop(path);
    make_room(dir, most);
    if (name(fd, path) && record(fd, dir, path))
        return true;
    tc_sealed_drop(path);
    return false;
}

void tc_sealed_drop(const char *path)
{
    _autofree_ char *record = record_of(path);
    (void)unlink(path);
    if (record)
        (void)unlink(record);
}
