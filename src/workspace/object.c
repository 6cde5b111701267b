/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Git's loose objects, and checksums of git's files. */
#include "workspace/git.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* after sys/types.h, which defines some types of these headers, too */
#include <sha1.h>
#include <sha2.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/cleanup.h"

enum { BLOCK = 65536, HEADER_MAX = 32 };

struct hash {
    bool sha256;
    SHA1_CTX one;
    SHA2_CTX two;
};

static void begin_hash(struct hash *h, size_t size)
{
    h->sha256 = size != SHA1_DIGEST_LENGTH;
    SHA1Init(&h->one);
    SHA256Init(&h->two);
}

static void hash_bytes(struct hash *h, const void *data, size_t n)
{
    if (h->sha256)
        SHA256Update(&h->two, data, n);
    else
        SHA1Update(&h->one, data, n);
}

static void finish_hash(struct hash *h, unsigned char digest[SHA256_DIGEST_LENGTH])
{
    if (h->sha256)
        SHA256Final(digest, &h->two);
    else
        SHA1Final(digest, &h->one);
}

bool tc_object_is(const char *type, struct tc_bytes content, const unsigned char *id, size_t size)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char header[HEADER_MAX];
    struct hash h;
    int n = snprintf(header, sizeof(header), "%s %zu", type, content.size);
    begin_hash(&h, size);
    hash_bytes(&h, header, (size_t)n + 1);
    hash_bytes(&h, content.at, content.size);
    finish_hash(&h, digest);
    return memcmp(digest, id, size) == 0;
}

bool tc_object_sum(struct tc_bytes content, const unsigned char *sum, size_t size)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct hash h;
    begin_hash(&h, size);
    hash_bytes(&h, content.at, content.size);
    finish_hash(&h, digest);
    return memcmp(digest, sum, size) == 0;
}

struct loose {
    struct hash hash;
    char header[HEADER_MAX + 1]; /* its first bytes */
    size_t kept;
    int64_t size; /* inflated, with the header */
};

static void take_inflated(struct loose *o, const unsigned char *data, size_t n)
{
    size_t room = HEADER_MAX - o->kept, more = n < room ? n : room;
    memcpy(o->header + o->kept, data, more);
    o->kept += more;
    o->size += (int64_t)n;
    hash_bytes(&o->hash, data, n);
}

static bool has_id(struct loose *o, const char *id)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char digits[3];
    finish_hash(&o->hash, digest);
    for (size_t i = 0; id[2 * i]; i++) {
        (void)snprintf(digits, sizeof(digits), "%02x", digest[i]);
        if (memcmp(digits, id + 2 * i, 2) != 0)
            return false;
    }
    return true;
}

/* Does the header state the number of bytes that follow? */
static bool has_header(const struct loose *o)
{
    static const char *const types[] = {"blob ", "tree ", "commit ", "tag "};
    const char *at = NULL;
    for (size_t i = 0; i < TC_COUNT(types); i++)
        if (strncmp(o->header, types[i], strlen(types[i])) == 0)
            at = o->header + strlen(types[i]);
    size_t digits = at ? strspn(at, "0123456789") : 0;
    if (!digits || digits > 10 || at[digits] || (*at == '0' && digits > 1))
        return false;
    size_t length = (size_t)(at - o->header) + digits + 1;
    return length <= o->kept && strtoll(at, NULL, 10) == o->size - (int64_t)length;
}

static ssize_t read_block(int fd, unsigned char block[BLOCK], int64_t *left)
{
    ssize_t n;
    while ((n = read(fd, block, BLOCK)) < 0 && errno == EINTR)
        ;
    *left -= n > 0 ? n : 0;
    return *left < 0 ? -1 : n;
}

/* Inflates the one stream that `fd` contains; each limit ends it. */
static bool inflate_all(z_stream *z, int fd, struct loose *o, int64_t *left)
{
    unsigned char in[BLOCK], out[BLOCK];
    int rc = Z_OK;
    while (rc == Z_OK) {
        ssize_t n = z->avail_in ? 0 : read_block(fd, in, left);
        if (!z->avail_in && n <= 0)
            return false;
        if (!z->avail_in) {
            z->next_in = in;
            z->avail_in = (unsigned)n;
        }
        z->next_out = out;
        z->avail_out = sizeof(out);
        rc = inflate(z, Z_NO_FLUSH);
        size_t made = sizeof(out) - z->avail_out;
        *left -= (int64_t)made;
        if (*left < 0 || o->size + (int64_t)made > TC_OBJECT_MAX)
            return false;
        take_inflated(o, out, made);
    }
    return rc == Z_STREAM_END && !z->avail_in && read_block(fd, in, left) == 0;
}

bool tc_object_matches(int fd, const char *id, int64_t *left)
{
    struct loose o = {0};
    z_stream z = {0};
    if (inflateInit(&z) != Z_OK)
        return false;
    begin_hash(&o.hash, strlen(id) / 2);
    bool whole = inflate_all(&z, fd, &o, left);
    (void)inflateEnd(&z);
    return whole && has_header(&o) && has_id(&o, id);
}

bool tc_object_hashes(int fd, const char *digits, int64_t *left)
{
    unsigned char block[BLOCK];
    struct loose o = {0};
    ssize_t n;
    begin_hash(&o.hash, SHA256_DIGEST_LENGTH);
    while ((n = read_block(fd, block, left)) > 0)
        hash_bytes(&o.hash, block, (size_t)n);
    return n == 0 && has_id(&o, digits);
}
