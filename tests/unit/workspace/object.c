/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Objects of git hash to their ids, alone and in packs; all else is unverified. */
#include "workspace/git.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>
#include <sha1.h>
#include <sha2.h>
#include <zlib.h>

#include "base/cleanup.h"

enum { ROOM = 1 << 20, PLENTY = 1 << 30 };

struct bytes {
    unsigned char at[ROOM];
    size_t size;
};

static void put(struct bytes *b, const void *data, size_t n)
{
    assert_true(b->size + n <= ROOM);
    memcpy(b->at + b->size, data, n);
    b->size += n;
}

static void put_number(struct bytes *b, uint32_t n)
{
    put(b, (unsigned char[]){n >> 24 & 255, n >> 16 & 255, n >> 8 & 255, n & 255}, 4);
}

static void put_deflated(struct bytes *b, const void *data, size_t n)
{
    uLongf room = ROOM - b->size;
    assert_int_equal(compress(b->at + b->size, &room, data, n), Z_OK);
    b->size += room;
}

/* ---- loose ---- */

static const char raw[] = "blob 6\0hello";                            /* and a NUL */
static const char one[] = "2fb2d7c3fd7b1f3b5a8a1d6a0a2c4d4e1f3e0d10"; /* of nothing */

static void id_of(const void *data, size_t n, bool sha256, char hex[65])
{
    unsigned char digest[32];
    SHA1_CTX s1;
    SHA2_CTX s2;
    SHA1Init(&s1);
    SHA1Update(&s1, data, n);
    SHA256Init(&s2);
    SHA256Update(&s2, data, n);
    if (sha256)
        SHA256Final(digest, &s2);
    else
        SHA1Final(digest, &s1);
    for (size_t i = 0; i < (sha256 ? 32 : 20); i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static bool matches(const struct bytes *b, const char *id, int64_t left)
{
    _autofd_ int fd = memfd_create("object", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, b->at, b->size) == (ssize_t)b->size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return tc_object_matches(fd, id, &left);
}

static void a_large_file_hashes_to_its_name(void **state)
{
    static const char digits[] = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    _autofd_ int fd = memfd_create("large", MFD_CLOEXEC);
    int64_t left = 15;
    assert_true(fd >= 0 && write(fd, "hello", 5) == 5 && lseek(fd, 0, SEEK_SET) == 0);
    assert_true(tc_object_hashes(fd, digits, &left));
    assert_int_equal(left, 10);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_false(tc_object_hashes(fd, one, &left));
    assert_true(write(fd, "hello", 5) == 5 && lseek(fd, 0, SEEK_SET) == 0);
    assert_false(tc_object_hashes(fd, digits, &left));
}

/* Is content with this header an object under its own id? */
static bool accepted(const char *text, size_t n)
{
    static struct bytes b;
    char id[65];
    b.size = 0;
    put_deflated(&b, text, n);
    id_of(text, n, false, id);
    return matches(&b, id, PLENTY);
}

static void good_objects_match(void **state)
{
    static struct bytes b;
    char id[65];
    assert_true(accepted(raw, sizeof(raw)));
    assert_true(accepted("blob 0", 7));
    assert_true(accepted("tree 1\0x", 8) && accepted("commit 1\0x", 10) && accepted("tag 1\0x", 7));
    put_deflated(&b, raw, sizeof(raw));
    id_of(raw, sizeof(raw), true, id);
    assert_true(matches(&b, id, PLENTY));
    id[63] ^= 1;
    assert_false(matches(&b, id, PLENTY));
}

static void other_content_does_not(void **state)
{
    static struct bytes b;
    char id[65];
    put_deflated(&b, "blob 6\0evil!", 13);
    id_of(raw, sizeof(raw), false, id);
    assert_false(matches(&b, id, PLENTY));
    assert_false(matches(&b, one, PLENTY));
}

static void damaged_objects_do_not(void **state)
{
    static struct bytes b;
    char id[65];
    put_deflated(&b, raw, sizeof(raw));
    id_of(raw, sizeof(raw), false, id);
    assert_true(matches(&b, id, PLENTY));
    for (size_t whole = b.size; b.size-- > 0;) /* truncated */
        assert_false(matches(&b, id, PLENTY) || b.size == whole);
    b.size = 0;
    put_deflated(&b, raw, sizeof(raw));
    put(&b, "", 1);
    assert_false(matches(&b, id, PLENTY)); /* trailing bytes */
    b.size--;
    put_deflated(&b, raw, sizeof(raw));
    assert_false(matches(&b, id, PLENTY)); /* a second stream */
    b.size = 0;
    put(&b, raw, sizeof(raw));
    assert_false(matches(&b, id, PLENTY)); /* not deflated */
}

static void false_headers_do_not(void **state)
{
    assert_false(accepted("blob 5\0hello", 13));
    assert_false(accepted("blob 7\0hello", 13));
    assert_false(accepted("blob 06\0hello", 14));
    assert_false(accepted("blob  6\0hello", 14));
    assert_false(accepted("blob -6\0hello", 14));
    assert_false(accepted("blob 99999999999\0hello", 23));
    assert_false(accepted("blob 6 hello", 13));
    assert_false(accepted("blob", 5));
    assert_false(accepted("blobs 6\0hello", 14));
    assert_false(accepted("", 0));
}

/* What inflates to more than the bounds is not inflated to its end. */
static void bombs_are_defused(void **state)
{
    static struct bytes b;
    enum { BOMB = 200 << 20 };
    char *zeros = calloc(1, BOMB), id[65];
    assert_non_null(zeros);
    int n = snprintf(zeros, 32, "blob %d", BOMB - 15);
    assert_int_equal(n, 14);
    put_deflated(&b, zeros, BOMB);
    id_of(zeros, BOMB, false, id);
    assert_false(matches(&b, id, PLENTY));
    b.size = 0;
    put_deflated(&b, raw, sizeof(raw));
    id_of(raw, sizeof(raw), false, id);
    assert_true(matches(&b, id, (int64_t)(b.size + sizeof(raw))));
    assert_false(matches(&b, id, (int64_t)(b.size + sizeof(raw)) - 1));
    free(zeros);
}

/* ---- packs ---- */

enum { COMMIT = 1, BLOB = 3, BY_OFFSET = 6, BY_ID = 7, OBJECTS_MAX = 400 };

struct object {
    int kind, base; /* the number of the object that it differs from */
    const void *data;
    size_t size; /* as it stands there, inflated */
    const char *content;
    size_t length; /* of what the id is of */
    const char *gap;
};

struct made {
    struct bytes pack, index, reverse;
    size_t count, hash;
    size_t offsets[OBJECTS_MAX];
    unsigned char ids[OBJECTS_MAX][32];
    uint32_t sums[OBJECTS_MAX];
};

static unsigned char read_byte(const char *hex)
{
    return (unsigned char)strtoul((char[]){hex[0], hex[1], 0}, NULL, 16);
}

static void make_id(struct made *m, size_t i, const struct object *o)
{
    char *text = NULL, hex[65];
    int n = asprintf(&text, "blob %zu", o->length);
    assert_true(n > 0);
    text = realloc(text, (size_t)n + 1 + o->length);
    assert_non_null(text);
    memcpy(text + n + 1, o->content, o->length);
    id_of(text, (size_t)n + 1 + o->length, m->hash == 32, hex);
    for (size_t k = 0; k < m->hash; k++)
        m->ids[i][k] = read_byte(hex + 2 * k);
    free(text);
}

static void put_head(struct made *m, size_t i, const struct object *o)
{
    size_t rest = o->size >> 4, back = m->offsets[i] - m->offsets[o->base];
    unsigned char c = (unsigned char)(o->kind << 4 | (int)(o->size & 15) | (rest ? 128 : 0));
    put(&m->pack, &c, 1);
    for (; rest; rest >>= 7)
        put(&m->pack, (unsigned char[]){(rest & 127) | (rest >> 7 ? 128 : 0)}, 1);
    if (o->kind == BY_ID)
        put(&m->pack, m->ids[o->base], m->hash);
    assert_true(o->kind != BY_OFFSET || back < 128 + 16384);
    if (o->kind == BY_OFFSET && back >= 128)
        put(&m->pack, (unsigned char[]){(((back >> 7) - 1) & 127) | 128}, 1);
    if (o->kind == BY_OFFSET)
        put(&m->pack, (unsigned char[]){back & 127}, 1);
}

static void put_sum(struct bytes *b, size_t hash)
{
    char hex[65];
    id_of(b->at, b->size, hash == 32, hex);
    for (size_t k = 0; k < hash; k++)
        put(b, (unsigned char[]){read_byte(hex + 2 * k)}, 1);
}

static void make_pack(struct made *m, const struct object *objects, size_t count)
{
    put(&m->pack, "PACK\0\0\0\2", 8);
    put_number(&m->pack, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        make_id(m, i, &objects[i]);
    for (size_t i = 0; i < count; i++) {
        const struct object *o = &objects[i];
        if (o->gap)
            put(&m->pack, o->gap, strlen(o->gap));
        size_t start = m->offsets[i] = m->pack.size;
        put_head(m, i, o);
        put_deflated(&m->pack, o->data, o->size);
        m->sums[i] = (uint32_t)crc32(0, m->pack.at + start, (unsigned)(m->pack.size - start));
    }
    put_sum(&m->pack, m->hash);
}

static struct made *sorted;

static int by_id(const void *a, const void *b)
{
    return memcmp(sorted->ids[*(const size_t *)a], sorted->ids[*(const size_t *)b], sorted->hash);
}

static void make_index(struct made *m, bool large)
{
    size_t order[OBJECTS_MAX], n = m->count;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    sorted = m;
    qsort(order, n, sizeof(*order), by_id);
    put(&m->index, "\377tOc\0\0\0\2", 8);
    for (unsigned i = 0; i < 256; i++) {
        uint32_t below = 0;
        for (size_t k = 0; k < n; k++)
            below += m->ids[k][0] <= i;
        put_number(&m->index, below);
    }
    for (size_t i = 0; i < n; i++)
        put(&m->index, m->ids[order[i]], m->hash);
    for (size_t i = 0; i < n; i++)
        put_number(&m->index, m->sums[order[i]]);
    for (size_t i = 0; i < n; i++)
        put_number(&m->index, large ? 0x80000000U | (uint32_t)i : (uint32_t)m->offsets[order[i]]);
    for (size_t i = 0; large && i < n; i++) {
        put_number(&m->index, 0);
        put_number(&m->index, (uint32_t)m->offsets[order[i]]);
    }
    put(&m->index, m->pack.at + m->pack.size - m->hash, m->hash);
    put_sum(&m->index, m->hash);
    put(&m->reverse, "RIDX\0\0\0\1\0\0\0\1", 12);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (order[k] == i)
                put_number(&m->reverse, (uint32_t)k);
    put(&m->reverse, (char[64]){0}, 2 * m->hash);
}

static void make(struct made *m, const struct object *objects, size_t count, size_t hash)
{
    memset(m, 0, sizeof(*m));
    m->count = count;
    m->hash = hash;
    make_pack(m, objects, count);
    make_index(m, false);
}

/* After a change of the pack: all its checksums are right again. */
static void repair(struct made *m)
{
    m->pack.size -= m->hash;
    for (size_t i = 0; i < m->count; i++) {
        size_t next = i + 1 < m->count ? m->offsets[i + 1] : m->pack.size;
        m->sums[i] =
            (uint32_t)crc32(0, m->pack.at + m->offsets[i], (unsigned)(next - m->offsets[i]));
    }
    put_sum(&m->pack, m->hash);
    m->index.size = m->reverse.size = 0;
    make_index(m, false);
}

static bool is_sound(const struct made *m, bool reverse, int64_t left)
{
    struct tc_bytes r = {m->reverse.at, m->reverse.size};
    return tc_pack_sound((struct tc_bytes){m->pack.at, m->pack.size},
                         (struct tc_bytes){m->index.at, m->index.size}, reverse ? &r : NULL,
                         m->hash, &left);
}

#define TEXT "the quick brown fox jumps"
/* "the quick" of the base, and other words after it; then of that, the first nine bytes again */
static const char shorter[] = {25, 14, (char)0x91, 0, 9, 5, ' ', 'h', 'a', 'r', 'e'};
static const char again[] = {14, 9, (char)0x90, 9};
static const struct object three[] = {
    {BLOB, 0, TEXT, 25, TEXT, 25, NULL},
    {BY_OFFSET, 0, shorter, sizeof(shorter), "the quick hare", 14, NULL},
    {BY_ID, 1, again, sizeof(again), "the quick", 9, NULL},
};
static struct made m;

static void good_packs_are_sound(void **state)
{
    for (size_t hash = 20; hash <= 32; hash += 12) {
        make(&m, three, 3, hash);
        assert_true(is_sound(&m, false, PLENTY));
        assert_true(is_sound(&m, true, PLENTY));
        assert_false(is_sound(&m, true, 100));
        m.index.size = m.reverse.size = 0;
        make_index(&m, true);
        assert_true(is_sound(&m, true, PLENTY));
    }
    m.reverse.at[15] ^= 1;
    assert_false(is_sound(&m, true, PLENTY));
}

static void a_false_id_is_not_sound(void **state)
{
    struct object o[3];
    for (size_t i = 0; i < 3; i++) {
        memcpy(o, three, sizeof(o));
        o[i].content = "another content";
        o[i].length = strlen(o[i].content);
        make(&m, o, 3, 20);
        assert_false(is_sound(&m, false, PLENTY));
    }
    make(&m, three, 3, 20);
    m.ids[0][0] ^= 255; /* an id of nothing in it */
    m.index.size = m.reverse.size = 0;
    make_index(&m, false);
    assert_false(is_sound(&m, false, PLENTY));
}

/* Every byte counts but those of the fanout, which leads to nothing else, and of the index's own
 * checksum. */
static void damaged_packs_are_not_sound(void **state)
{
    make(&m, three, 3, 20);
    size_t size = m.pack.size;
    for (m.pack.size = 0; m.pack.size < size; m.pack.size++)
        assert_false(is_sound(&m, false, PLENTY));
    for (size_t i = 0; i < size; i++) {
        m.pack.at[i] ^= 16;
        assert_false(is_sound(&m, false, PLENTY));
        m.pack.at[i] ^= 16;
    }
    for (size_t i = 0; i + 20 < size; i++) { /* the other end of a byte may be padding */
        m.pack.at[i] ^= 1;
        repair(&m);
        assert_false(is_sound(&m, false, PLENTY));
        m.pack.at[i] ^= 1;
    }
    repair(&m);
    assert_true(is_sound(&m, false, PLENTY));
    size = m.index.size;
    for (m.index.size = 0; m.index.size < size; m.index.size++)
        assert_false(is_sound(&m, false, PLENTY));
    for (size_t i = 8 + 255 * 4; i + 20 < size; i++) {
        m.index.at[i] ^= 16;
        assert_false(is_sound(&m, false, PLENTY));
        m.index.at[i] ^= 16;
    }
    assert_true(is_sound(&m, false, PLENTY));
}

static void a_gap_is_not_sound(void **state)
{
    struct object o[3];
    memcpy(o, three, sizeof(o));
    o[1].gap = "x";
    make(&m, o, 3, 20);
    assert_false(is_sound(&m, false, PLENTY));
    m.count = 2; /* what the index leaves out */
    m.pack.at[11] = 2;
    repair(&m);
    assert_false(is_sound(&m, false, PLENTY));
}

static void false_differences_are_not_sound(void **state)
{
    static const char beyond[] = {25, 9, (char)0x91, 17, 9}, longer[] = {25, 8, (char)0x90, 9},
                      less[] = {25, 10, (char)0x90, 9}, base[] = {24, 9, (char)0x90, 9},
                      zero[] = {25, 1, 0}, cut[] = {25, 9, (char)0x91, 0}, end[] = {25, 9, 9, 'x'};
    static const struct tc_bytes rows[] = {
        {(const unsigned char *)beyond, 5}, {(const unsigned char *)longer, 4},
        {(const unsigned char *)less, 4},   {(const unsigned char *)base, 4},
        {(const unsigned char *)zero, 3},   {(const unsigned char *)cut, 4},
        {(const unsigned char *)end, 4},    {(const unsigned char *)end, 0},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct object o[] = {three[0], {BY_OFFSET, 0, rows[i].at, rows[i].size, TEXT, 9, NULL}};
        make(&m, o, 2, 20);
        assert_false(is_sound(&m, false, PLENTY));
    }
}

static void circles_end(void **state)
{
    static const char same[] = {9, 9, (char)0x90, 9};
    struct object o[] = {{BY_ID, 1, same, 4, "the quick", 9, NULL},
                         {BY_ID, 0, same, 4, "the quack", 9, NULL}};
    make(&m, o, 2, 20);
    assert_false(is_sound(&m, false, PLENTY));
    o[0].base = 0;
    make(&m, o, 1, 20);
    assert_false(is_sound(&m, false, PLENTY));
}

/* Each differs from the one after it, so that none is at hand. */
static bool is_chain_sound(size_t count)
{
    static struct object o[OBJECTS_MAX];
    static char content[OBJECTS_MAX][2], difference[OBJECTS_MAX][5];
    for (size_t i = 0; i < count; i++) {
        content[i][0] = (char)(i & 127);
        content[i][1] = (char)(i >> 7);
        memcpy(difference[i], (char[]){2, 2, 2, content[i][0], content[i][1]}, 5);
        o[i] = (struct object){BY_ID, (int)i + 1, difference[i], 5, content[i], 2, NULL};
    }
    o[count - 1] = (struct object){BLOB, 0, content[count - 1], 2, content[count - 1], 2, NULL};
    make(&m, o, count, 20);
    return is_sound(&m, true, PLENTY);
}

static void chains_have_a_bound(void **state)
{
    assert_true(is_chain_sound(TC_PACK_DEPTH_MAX));
    assert_false(is_chain_sound(TC_PACK_DEPTH_MAX + 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_objects_match),
        cmocka_unit_test(other_content_does_not),
        cmocka_unit_test(damaged_objects_do_not),
        cmocka_unit_test(false_headers_do_not),
        cmocka_unit_test(bombs_are_defused),
        cmocka_unit_test(good_packs_are_sound),
        cmocka_unit_test(a_false_id_is_not_sound),
        cmocka_unit_test(damaged_packs_are_not_sound),
        cmocka_unit_test(a_gap_is_not_sound),
        cmocka_unit_test(false_differences_are_not_sound),
        cmocka_unit_test(a_large_file_hashes_to_its_name),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(chains_have_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
