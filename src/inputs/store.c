/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "inputs/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "inputs/reader.h"
#include "state/store.h"

enum { BLOCK = 4096, AT_ONCE = 64 * BLOCK };
enum { LOCK_US = 2000000, CHUNK = 64 << 10, NAME_SIZE = 2 + 1 + 62 + 1 };

/* Its text is the number of bytes of all objects. */
static const char total_name[] = "bytes";

/* ---- the directory ---- */

static int64_t read_total(int dir)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (tc_read_file(dir, total_name, &text) < 0)
        return 0;
    tc_buf_addc(&text, '\0');
    return text.failed ? 0 : strtoll(text.data, NULL, 10);
}

static int open_store(bool make, int how)
{
    _autofree_ char *path = NULL;
    _autofd_ int dir = tc_store_open("inputs", make, &path);
    if (dir < 0 && errno == ENXIO)
        errno = ENOENT;
    return dir < 0 || fchmod(dir, 0700) < 0 || tc_store_wait(dir, how, LOCK_US) < 0 ? -1
                                                                                    : TAKE_FD(dir);
}

int tc_inputs_open(int64_t most, struct tc_inputs *ret)
{
    struct rlimit limit;
    int dir = open_store(true, LOCK_SH);
    if (dir < 0)
        return -1;
    *ret = (struct tc_inputs){.dir = dir, .most = most, .largest = INT64_MAX};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < INT64_MAX)
        ret->largest = (int64_t)limit.rlim_cur; /* a longer file would end the host by a signal */
    return 0;
}

int tc_stored_open(bool alone)
{
    return open_store(false, alone ? LOCK_EX : LOCK_SH);
}

void tc_stored_close(int store)
{
    if (store < 0)
        return;
    (void)flock(store, LOCK_UN); /* a fork of this program may hold a copy of the fd */
    (void)close(store);
}

/* Changes the total, which no other program does meanwhile; with `most`, only up to that. */
static int add_total(int dir, int64_t bytes, int64_t most)
{
    _autofd_ int fd = openat(dir, total_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    char text[24];
    if (fd < 0 || tc_store_wait(fd, LOCK_EX, LOCK_US) < 0)
        return -1;
    int64_t total = read_total(dir) + bytes;
    errno = EDQUOT;
    if (most && total > most)
        return -1;
    int length = snprintf(text, sizeof(text), "%-20" PRId64 "\n", total < 0 ? 0 : total);
    return pwrite(fd, text, (size_t)length, 0) == length ? 0 : -1;
}

/* An object uses whole blocks of the disk. */
static int64_t on_disk(int64_t size)
{
    return (size + BLOCK) / BLOCK * BLOCK;
}

/* Room for an object, reserved for several at once. What a killed program had reserved counts until
 * the next sweep. */
static int reserve(struct tc_inputs *s, int64_t size)
{
    int64_t need = s->added + on_disk(size) - s->reserved;
    int64_t more = need > AT_ONCE ? need : AT_ONCE;
    if (need <= 0)
        return 0;
    if (add_total(s->dir, more, s->most) < 0) {
        more = need;
        if (errno != EDQUOT || add_total(s->dir, more, s->most) < 0)
            return -1;
    }
    s->reserved += more;
    return 0;
}

void tc_inputs_close(struct tc_inputs *s)
{
    if (s->dir < 0)
        return;
    if (s->reserved > s->added)
        (void)add_total(s->dir, s->added - s->reserved, 0);
    tc_stored_close(TAKE_FD(s->dir));
}

/* ---- names ---- */

/* "ab/cdef…" of a digest. */
static bool name_object(const char *digest, char ret[NAME_SIZE])
{
    const char *hex = digest + strlen("sha256:");
    errno = EBADMSG;
    if (!tc_digest_valid(digest))
        return false;
    (void)snprintf(ret, NAME_SIZE, "%.2s/%s", hex, hex + 2);
    return true;
}

static int open_object(int dir, const char *digest)
{
    char name[NAME_SIZE];
    return name_object(digest, name)
               ? openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
               : -1;
}

bool tc_inputs_has(const struct tc_inputs *s, const char *digest, int64_t size)
{
    char name[NAME_SIZE];
    struct stat st;
    return name_object(digest, name) && fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_size == size;
}

/* ---- storing ---- */

/* An object on its way: a file without its name. */
struct fresh {
    char id[TC_ULID_SIZE + 4];
    int fd;
    int64_t size;
    SHA2_CTX hash;
};

static int begin(const struct tc_inputs *s, struct fresh *ret)
{
    char id[TC_ULID_SIZE];
    *ret = (struct fresh){.fd = -1};
    if (tc_ulid(id) < 0)
        return -1;
    (void)snprintf(ret->id, sizeof(ret->id), "new-%s", id);
    SHA256Init(&ret->hash);
    ret->fd = openat(s->dir, ret->id, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
    return ret->fd < 0 ? -1 : 0;
}

static int add(struct tc_inputs *s, struct fresh *f, const void *bytes, size_t length)
{
    f->size += (int64_t)length;
    errno = EFBIG;
    if (f->size > s->largest || reserve(s, f->size) < 0)
        return -1;
    errno = ETIMEDOUT;
    if (s->deadline_us && tc_now_us() > s->deadline_us)
        return -1;
    SHA256Update(&f->hash, bytes, length);
    return tc_write_all(f->fd, bytes, length);
}

static int place(const struct tc_inputs *s, const struct fresh *f, const char *digest)
{
    char name[NAME_SIZE], parent[3];
    if (!name_object(digest, name))
        return -1;
    (void)snprintf(parent, sizeof(parent), "%.2s", name);
    if (mkdirat(s->dir, parent, 0700) < 0 && errno != EEXIST)
        return -1;
    return renameat(s->dir, f->id, s->dir, name);
}

/* `failed`: the object is not complete. Keeps errno. */
static int end(struct tc_inputs *s, struct fresh *f, bool failed, char digest[TC_DIGEST_SIZE])
{
    int saved = errno;
    bool known = false;
    if (!failed) {
        tc_digest_finish(&f->hash, digest);
        known = tc_inputs_has(s, digest, f->size);
        failed = !known && place(s, f, digest) < 0;
        saved = failed ? errno : saved;
    }
    if (f->fd >= 0 && (failed || known))
        (void)unlinkat(s->dir, f->id, 0);
    if (f->fd >= 0)
        (void)close(f->fd);
    s->added += failed || known ? 0 : on_disk(f->size);
    errno = saved;
    return failed ? -1 : 0;
}

int tc_inputs_put(struct tc_inputs *s, const void *bytes, size_t length,
                  char digest[TC_DIGEST_SIZE])
{
    struct fresh f;
    tc_digest(bytes, length, digest);
    if (tc_inputs_has(s, digest, (int64_t)length))
        return 0;
    bool failed = begin(s, &f) < 0 || add(s, &f, bytes, length) < 0;
    return end(s, &f, failed, digest);
}

int tc_inputs_put_file(struct tc_inputs *s, int fd, int64_t most, char digest[TC_DIGEST_SIZE])
{
    struct fresh f;
    _autofree_ char *chunk = malloc(CHUNK);
    ssize_t n = 0;
    bool failed = begin(s, &f) < 0 || !chunk;
    while (!failed && (n = read(fd, chunk, CHUNK)) > 0) {
        failed = add(s, &f, chunk, (size_t)n) < 0;
        if (!failed && f.size > most) {
            errno = EFBIG;
            failed = true;
        }
    }
    return end(s, &f, failed || n < 0, digest);
}

/* ---- reading ---- */

bool tc_stored_is(const char *digest, const void *bytes, size_t length)
{
    char found[TC_DIGEST_SIZE];
    tc_digest(bytes, length, found);
    return strcmp(found, digest) == 0;
}

char *tc_stored_bytes(int store, const char *digest, size_t *ret_length)
{
    struct tc_buf bytes = TC_BUF_INIT;
    int r = tc_inputs_get(store, digest, &bytes);
    tc_buf_addc(&bytes, '\0');
    *ret_length = bytes.len - 1;
    if (r == 0)
        return tc_buf_steal(&bytes);
    int saved = errno;
    tc_buf_done(&bytes);
    errno = saved;
    return NULL;
}

/* Removes an object that was changed, so that it can be stored again. */
static int check(int dir, SHA2_CTX *hash, const char *digest)
{
    char found[TC_DIGEST_SIZE], name[NAME_SIZE];
    tc_digest_finish(hash, found);
    if (strcmp(found, digest) == 0)
        return 0;
    if (name_object(digest, name))
        (void)unlinkat(dir, name, 0);
    errno = EBADMSG;
    return -1;
}

int tc_inputs_get(int dir, const char *digest, struct tc_buf *into)
{
    SHA2_CTX hash;
    size_t before = into->len;
    _autofd_ int fd = open_object(dir, digest);
    if (fd < 0 || tc_read_all(fd, into) < 0)
        return -1;
    SHA256Init(&hash);
    SHA256Update(&hash, (const uint8_t *)into->data + before, into->len - before);
    return check(dir, &hash, digest);
}

int tc_inputs_get_file(int dir, const char *digest, int to)
{
    SHA2_CTX hash;
    ssize_t n = 0;
    _autofree_ char *chunk = malloc(CHUNK);
    _autofd_ int fd = open_object(dir, digest);
    SHA256Init(&hash);
    while (fd >= 0 && chunk && (n = read(fd, chunk, CHUNK)) > 0) {
        SHA256Update(&hash, (const uint8_t *)chunk, (size_t)n);
        if (tc_write_all(to, chunk, (size_t)n) < 0)
            return -1;
    }
    return fd < 0 || !chunk || n < 0 ? -1 : check(dir, &hash, digest);
}
