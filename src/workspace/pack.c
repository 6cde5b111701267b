/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Git's packs. git reads packs before loose objects, so an index that maps an id to other content
 * replaces an object of the repository. A pack is sound if each object of its index hashes to its
 * id. */
#include "workspace/git.h"

#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/cleanup.h"

/* Layouts: gitformat-pack(5). */
enum {
    FANOUT = 256,
    PACK_HEADER = 12,
    INDEX_HEADER = 8 + 4 * FANOUT,
    REVERSE_HEADER = 12,
    SLOTS = 256,
    SLOTS_BYTES = 32 << 20,
    HELD_MAX = 64 << 20,
};

enum kind { COMMIT = 1, TREE, BLOB, TAG, BY_OFFSET = 6, BY_ID = 7 };

/* The inflated content of an object, freed by its holder. */
struct content {
    uint64_t offset; /* in the pack; 0: none */
    unsigned char *data;
    size_t size;
    int kind;
};

struct place {
    uint64_t offset;
    uint32_t row; /* in the index */
};

struct pack {
    struct tc_bytes bytes;
    size_t hash, end; /* bytes of an id; end of the last object */
    uint32_t count;
    const unsigned char *ids, *sums, *offsets, *large;
    size_t large_count;
    struct place *places; /* sorted by offset */
    int64_t *left;
    struct content slots[SLOTS]; /* contents that may be needed again */
    size_t kept, held;           /* bytes in the slots; bytes of deltas that wait for their base */
};

/* ---- cached content ---- */

static struct content *slot_of(struct pack *p, uint64_t offset)
{
    return &p->slots[(offset ^ offset >> 8 ^ offset >> 16) % SLOTS];
}

static void drop_content(struct pack *p, struct content *slot)
{
    p->kept -= slot->size;
    free(slot->data);
    *slot = (struct content){0};
}

static void put_back(struct pack *p, struct content *c)
{
    struct content *slot = slot_of(p, c->offset);
    drop_content(p, slot);
    if (p->kept + c->size > SLOTS_BYTES) {
        free(c->data);
    } else {
        *slot = *c;
        p->kept += c->size;
    }
    *c = (struct content){0};
}

static bool take_content(struct pack *p, uint64_t offset, struct content *ret)
{
    struct content *slot = slot_of(p, offset);
    if (slot->offset != offset)
        return false;
    *ret = *slot;
    p->kept -= slot->size;
    *slot = (struct content){0};
    return true;
}

/* ---- the index ---- */

static bool read_index(struct pack *p, struct tc_bytes index)
{
    static const unsigned char magic[] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
    if (index.size < INDEX_HEADER || memcmp(index.at, magic, sizeof(magic)) != 0)
        return false;
    p->count = tc_bytes_number(index.at + INDEX_HEADER - 4);
    size_t fixed = INDEX_HEADER + 2 * p->hash, rows = (size_t)p->count * (p->hash + 8);
    if (index.size < fixed + rows || (index.size - fixed - rows) % 8)
        return false;
    p->large_count = (index.size - fixed - rows) / 8;
    p->ids = index.at + INDEX_HEADER;
    p->sums = p->ids + (size_t)p->count * p->hash;
    p->offsets = p->sums + (size_t)p->count * 4;
    p->large = p->offsets + (size_t)p->count * 4;
    for (uint32_t i = 1; i < p->count; i++)
        if (memcmp(p->ids + (i - 1) * p->hash, p->ids + i * p->hash, p->hash) >= 0)
            return false;
    return true;
}

/* 0: the index has no such offset. */
static uint64_t offset_of(const struct pack *p, uint32_t row)
{
    uint32_t small = tc_bytes_number(p->offsets + (size_t)row * 4), top = 0x80000000U;
    if (!(small & top))
        return small;
    size_t i = small & ~top;
    const unsigned char *at = p->large + i * 8;
    return i < p->large_count ? (uint64_t)tc_bytes_number(at) << 32 | tc_bytes_number(at + 4) : 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool read_places(struct pack *p)
{
    p->places = calloc((size_t)p->count + 1, sizeof(*p->places));
    if (!p->places)
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        p->places[i] = (struct place){offset_of(p, i), i};
    qsort(p->places, p->count, sizeof(*p->places), by_offset);
    p->places[p->count].offset = p->end;
    if (p->places[0].offset != PACK_HEADER)
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->places[i].offset >= p->places[i + 1].offset)
            return false;
    return true;
}

static uint64_t find_id(const struct pack *p, const unsigned char *id)
{
    uint32_t low = 0, high = p->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = memcmp(id, p->ids + middle * p->hash, p->hash);
        if (!order)
            return offset_of(p, middle);
        *(order < 0 ? &high : &low) = middle + (order > 0);
    }
    return 0;
}

/* ---- an object ---- */

struct head {
    int kind;
    size_t size, length; /* inflated bytes; bytes of the header */
    uint64_t base;       /* offset of the delta's base */
};

static bool read_base(const struct pack *p, uint64_t offset, size_t room, struct head *h)
{
    const unsigned char *at = p->bytes.at + offset + h->length;
    size_t n = 0;
    if (h->kind == BY_ID) {
        n = p->hash;
        h->base = n <= room ? find_id(p, at) : 0;
    } else if (h->kind == BY_OFFSET && room) {
        uint64_t back = at[0] & 127;
        for (n = 1; at[n - 1] & 128 && n < room && n < 9; n++)
            back = (back + 1) << 7 | (at[n] & 127);
        h->base = back < offset && !(at[n - 1] & 128) ? offset - back : 0;
    }
    h->length += n;
    return h->kind <= TAG || h->base;
}

static bool read_head(const struct pack *p, uint64_t offset, uint64_t next, struct head *h)
{
    const unsigned char *at = p->bytes.at + offset;
    size_t room = next - offset, n = 1, shift = 4;
    *h = (struct head){.kind = at[0] >> 4 & 7, .size = at[0] & 15};
    for (; at[n - 1] & 128 && n < room && n < 6; n++, shift += 7)
        h->size |= (size_t)(at[n] & 127) << shift;
    h->length = n;
    return !(at[n - 1] & 128) && h->kind && h->kind != 5 && h->size <= TC_PACK_OBJECT_MAX &&
           read_base(p, offset, room - n, h) && h->length < room;
}

/* Inflates [offset + head, next), which must give exactly the header's size. Owned. */
static unsigned char *inflate_object(struct pack *p, uint64_t offset, uint64_t next,
                                     const struct head *h)
{
    size_t stored = next - offset - h->length;
    z_stream z = {.next_in = p->bytes.at + offset + h->length, .avail_in = (unsigned)stored};
    unsigned char *data = stored <= UINT32_MAX && tc_bytes_spend(p->left, stored + h->size)
                              ? malloc(h->size + 1)
                              : NULL;
    if (!data || inflateInit(&z) != Z_OK) {
        free(data);
        return NULL;
    }
    z.next_out = data;
    z.avail_out = (unsigned)h->size + 1; /* room for one byte, to notice too many */
    int rc = inflate(&z, Z_FINISH);
    bool whole = rc == Z_STREAM_END && z.total_out == h->size && !z.avail_in;
    (void)inflateEnd(&z);
    if (whole)
        return data;
    free(data);
    return NULL;
}

/* ---- deltas ---- */

static bool read_size(struct tc_bytes *d, size_t *ret)
{
    size_t shift = 0;
    *ret = 0;
    while (d->size && shift < 35) {
        unsigned char c = *d->at++;
        d->size--;
        *ret |= (size_t)(c & 127) << shift;
        shift += 7;
        if (!(c & 128))
            return *ret <= TC_PACK_OBJECT_MAX;
    }
    return false;
}

/* Reads the arguments of a copy; the bits of its first byte say which are present. */
static bool read_copy(struct tc_bytes *d, unsigned op, size_t *at, size_t *size)
{
    *at = *size = 0;
    for (unsigned bit = 0; bit < 7; bit++) {
        if (!(op >> bit & 1))
            continue;
        if (!d->size)
            return false;
        size_t value = *d->at++;
        d->size--;
        *(bit < 4 ? at : size) |= value << (bit < 4 ? 8 * bit : 8 * (bit - 4));
    }
    *size = *size ? *size : 0x10000;
    return true;
}

static bool apply(struct tc_bytes d, const struct content *base, unsigned char *to, size_t size)
{
    size_t done = 0;
    while (d.size) {
        unsigned op = *d.at++;
        size_t at = 0, n = op & 127;
        d.size--;
        bool copies = op & 128;
        if (!op || (copies && !read_copy(&d, op, &at, &n)) || n > size - done ||
            (copies ? at > base->size || n > base->size - at : n > d.size))
            return false;
        memcpy(to + done, copies ? base->data + at : d.at, n);
        d.at += copies ? 0 : n;
        d.size -= copies ? 0 : n;
        done += n;
    }
    return done == size;
}

static bool get(struct pack *p, uint64_t offset, int depth, struct content *ret);

/* Replaces a delta by the content that it describes. */
static bool build(struct pack *p, uint64_t from, int depth, struct content *c)
{
    struct content base = {0};
    struct tc_bytes d = {c->data, c->size};
    size_t before, size, held = c->size;
    p->held += held;
    bool got = p->held <= HELD_MAX && read_size(&d, &before) && read_size(&d, &size) &&
               tc_bytes_spend(p->left, size) && get(p, from, depth + 1, &base);
    p->held -= held;
    if (!got)
        return false;
    unsigned char *data = base.size == before ? malloc(size + 1) : NULL;
    bool fine = data && apply(d, &base, data, size);
    free(c->data);
    c->data = data;
    c->size = size;
    c->kind = base.kind;
    put_back(p, &base);
    return fine;
}

/* The offset of the next object, or the end of the last; 0: no object begins at `offset`. */
static uint64_t next_of(const struct pack *p, uint64_t offset)
{
    const struct place key = {.offset = offset},
                       *found = bsearch(&key, p->places, p->count, sizeof(key), by_offset);
    return found ? found[1].offset : 0;
}

static bool get(struct pack *p, uint64_t offset, int depth, struct content *ret)
{
    uint64_t next = next_of(p, offset);
    struct head h;
    if (take_content(p, offset, ret))
        return true;
    if (!next || depth > TC_PACK_DEPTH_MAX || !read_head(p, offset, next, &h))
        return false;
    *ret = (struct content){offset, inflate_object(p, offset, next, &h), h.size, h.kind};
    if (ret->data && (h.kind <= TAG || build(p, h.base, depth, ret)))
        return true;
    free(ret->data);
    *ret = (struct content){0};
    return false;
}

static bool check_place(struct pack *p, const struct place *place)
{
    static const char *const types[] = {"", "commit", "tree", "blob", "tag"};
    struct content c;
    uint64_t stored = place[1].offset - place->offset;
    unsigned long sum = crc32_z(0, p->bytes.at + place->offset, stored);
    if (sum != tc_bytes_number(p->sums + (size_t)place->row * 4) || !get(p, place->offset, 0, &c))
        return false;
    bool fine = tc_object_is(types[c.kind], (struct tc_bytes){c.data, c.size},
                             p->ids + place->row * p->hash, p->hash);
    put_back(p, &c);
    return fine;
}

/* Does the reverse index have the same order? */
static bool check_reverse(const struct pack *p, const struct tc_bytes *reverse)
{
    static const unsigned char magic[] = {'R', 'I', 'D', 'X', 0, 0, 0, 1};
    if (reverse->size != REVERSE_HEADER + (size_t)p->count * 4 + 2 * p->hash ||
        memcmp(reverse->at, magic, sizeof(magic)) != 0)
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (tc_bytes_number(reverse->at + REVERSE_HEADER + (size_t)i * 4) != p->places[i].row)
            return false;
    return true;
}

/* git matches an index and a pack by this checksum: if only one of the two is committed, it must
 * not match a file that the host already has. */
static bool check_sum(const struct pack *p, struct tc_bytes index)
{
    const unsigned char *sum = p->bytes.at + p->end;
    return memcmp(sum, index.at + index.size - 2 * p->hash, p->hash) == 0 &&
           tc_object_sum((struct tc_bytes){p->bytes.at, p->end}, sum, p->hash);
}

static bool check_all(struct pack *p, struct tc_bytes index, const struct tc_bytes *reverse)
{
    static const unsigned char magic[] = {'P', 'A', 'C', 'K', 0, 0, 0, 2};
    if (p->bytes.size < PACK_HEADER + p->hash || memcmp(p->bytes.at, magic, sizeof(magic)) != 0)
        return false;
    p->end = p->bytes.size - p->hash;
    if (!tc_bytes_spend(p->left, p->bytes.size + index.size) || !read_index(p, index) ||
        p->count != tc_bytes_number(p->bytes.at + 8) || !p->count || !read_places(p) ||
        !check_sum(p, index) || (reverse && !check_reverse(p, reverse)))
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (!check_place(p, &p->places[i]))
            return false;
    return true;
}

bool tc_pack_sound(struct tc_bytes pack, struct tc_bytes index, const struct tc_bytes *reverse,
                   size_t hash, int64_t *left)
{
    struct pack *p = calloc(1, sizeof(*p));
    if (!p)
        return false;
    p->bytes = pack;
    p->hash = hash;
    p->left = left;
    bool sound = check_all(p, index, reverse);
    for (size_t i = 0; i < SLOTS; i++)
        free(p->slots[i].data);
    free(p->places);
    free(p);
    return sound;
}
