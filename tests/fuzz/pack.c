/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/workspace/pack.c and object.c. Input: the inflated content of objects that differ
 * from one another, each after a byte for its length and one for its kind and base. Their ids are
 * those of nothing, so that no pack is sound. The whole input is a loose object, too. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <sha1.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "workspace/git.h"

enum { OBJECTS_MAX = 32, HASH = 20, BY_ID = 7, ROOM = 65536 };

struct bytes {
    unsigned char at[ROOM];
    size_t size;
};

static void put(struct bytes *b, const void *data, size_t n)
{
    memcpy(b->at + b->size, data, n);
    b->size += n;
}

static void put_number(struct bytes *b, size_t n)
{
    put(b, (unsigned char[]){n >> 24 & 255, n >> 16 & 255, n >> 8 & 255, n & 255}, 4);
}

static void put_object(struct bytes *b, unsigned what, const uint8_t *data, size_t n)
{
    const unsigned kind = what >> 5 & 7, base = what % OBJECTS_MAX;
    put(b, (unsigned char[]){128 | kind << 4 | (n & 15), (unsigned char)(n >> 4)}, 2);
    if (kind == BY_ID)
        put(b, (unsigned char[HASH]){(unsigned char)base}, HASH);
    else if (kind == BY_ID - 1)
        put(b, (unsigned char[]){(unsigned char)base}, 1);
    uLongf room = ROOM - b->size;
    INVARIANT(compress(b->at + b->size, &room, data, n) == Z_OK);
    b->size += room;
}

static void put_sum(struct bytes *b)
{
    unsigned char digest[HASH];
    SHA1_CTX ctx;
    SHA1Init(&ctx);
    SHA1Update(&ctx, b->at, b->size);
    SHA1Final(digest, &ctx);
    put(b, digest, HASH);
}

static size_t make_pack(struct bytes *pack, const uint8_t *data, size_t size, size_t *offsets)
{
    size_t count = 0;
    pack->size = 0;
    put(pack, "PACK\0\0\0\2\0\0\0", 12);
    for (size_t at = 0; at + 2 <= size && count < OBJECTS_MAX; count++) {
        size_t n = size - at - 2 < data[at] ? size - at - 2 : data[at];
        offsets[count] = pack->size;
        put_object(pack, data[at + 1], data + at + 2, n);
        at += 2 + n;
    }
    pack->at[11] = (unsigned char)count;
    offsets[count] = pack->size;
    put_sum(pack);
    return count;
}

static void make_index(struct bytes *index, const struct bytes *pack, size_t count,
                       const size_t *offsets)
{
    index->size = 0;
    put(index, "\377tOc\0\0\0\2", 8);
    for (size_t i = 0; i < 256; i++)
        put_number(index, count);
    for (size_t i = 0; i < count; i++)
        put(index, (unsigned char[HASH]){(unsigned char)i}, HASH);
    for (size_t i = 0; i < count; i++)
        put_number(index, crc32_z(0, pack->at + offsets[i], offsets[i + 1] - offsets[i]));
    for (size_t i = 0; i < count; i++)
        put_number(index, offsets[i]);
    put(index, pack->at + pack->size - HASH, HASH);
    put(index, (char[HASH]){0}, HASH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bytes pack, index;
    size_t offsets[OBJECTS_MAX + 1];
    int64_t left = 16 << 20;
    size_t count = make_pack(&pack, data, size, offsets);
    make_index(&index, &pack, count, offsets);
    INVARIANT(!tc_pack_sound((struct tc_bytes){pack.at, pack.size},
                             (struct tc_bytes){index.at, index.size}, NULL, HASH, &left));
    left = 16 << 20;
    (void)tc_pack_sound((struct tc_bytes){data, size}, (struct tc_bytes){data, size}, NULL, HASH,
                        &left);
    _autofd_ int fd = memfd_create("object", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
        INVARIANT(!tc_object_matches(fd, "0000000000000000000000000000000000000000", &left));
    return 0;
}
