/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads changed files: a digest, and the bytes where they are wanted. */
#include "workspace/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"

static const int64_t hashed_max = (int64_t)1 << 30; /* bytes in a call */

int tc_reading_open(const struct tc_walk_entry *e)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    _autofd_ int fd = openat(e->dirfd, e->name, flags);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != e->st->stx_ino)
        return -1;
    return TAKE_FD(fd);
}

static bool is_over(struct tc_reader *r, int64_t bytes)
{
    bool over = bytes > (r->most ? r->most : hashed_max) - r->hashed;
    r->refused = r->refused || over;
    return over;
}

/* How many bytes of the next file may be returned. */
static size_t room_for(const struct tc_reader *r)
{
    size_t left = TC_CONTENT_CALL_MAX - r->kept;
    return left < TC_CONTENT_FILE_MAX ? left : TC_CONTENT_FILE_MAX;
}

/* Hashes the file to its end, and stores its bytes in r->room while `*keep` and they fit. 0, or -1:
 * it was not read completely. */
static int digest(struct tc_reader *r, int fd, bool *keep, struct tc_reading *ret, SHA2_CTX *ctx)
{
    char block[65536];
    for (;;) {
        ssize_t n = read(fd, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        SHA256Update(ctx, (const unsigned char *)block, (size_t)n);
        *keep = *keep && (size_t)ret->bytes + (size_t)n <= room_for(r);
        if (*keep)
            memcpy(r->room + ret->bytes, block, (size_t)n);
        ret->bytes += n;
        r->hashed += n;
        if (is_over(r, 0))
            return -1;
    }
}

/* A copy of the stored bytes, of exactly their size. */
static char *copy_kept(struct tc_reader *r, size_t length)
{
    char *copy = malloc(length ? length : 1);
    if (copy && length)
        memcpy(copy, r->room, length);
    if (copy)
        r->kept += length;
    return copy;
}

void tc_reading_make(struct tc_reader *r, const struct tc_walk_entry *e, bool keep,
                     struct tc_reading *ret)
{
    *ret = (struct tc_reading){0};
    if (!S_ISREG(e->st->stx_mode) || is_over(r, (int64_t)e->st->stx_size))
        return;
    _autofd_ int fd = tc_reading_open(e);
    if (fd < 0)
        return;
    keep = keep && e->st->stx_size <= room_for(r);
    if (keep && !r->room)
        r->room = malloc(TC_CONTENT_FILE_MAX);
    ret->no_memory = keep && !r->room;
    keep = keep && r->room;
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    if (digest(r, fd, &keep, ret, &ctx) < 0)
        return;
    char hex[TC_DIGEST_SIZE];
    tc_digest_finish(&ctx, hex);
    ret->sha256 = strdup(hex + strlen("sha256:"));
    ret->content = keep && ret->sha256 ? copy_kept(r, (size_t)ret->bytes) : NULL;
    ret->no_memory = ret->no_memory || !ret->sha256 || (keep && !ret->content);
}

void tc_reading_done(struct tc_reading *reading)
{
    free(reading->sha256);
    free(reading->content);
    *reading = (struct tc_reading){0};
}

void tc_reader_done(struct tc_reader *reader)
{
    free(reader->room);
    *reader = (struct tc_reader){0};
}
