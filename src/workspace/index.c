/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Does a git index hide changes from `git status` and `git diff`? */
#include "workspace/git.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/strv.h"

/* Layout: gitformat-index(5). */
enum {
    HEADER = 12,
    MODE = 24,
    STAT = 40, /* bytes before the id */
    FLAGS = 2,
    LENGTH = 0xfff,
    EXTENSION = 8,
    DEEPEST = 256,
    TREE_MAX = 64 << 20
};

struct entry {
    const char *name;
    const unsigned char *id;
    size_t length;
    uint32_t mode;
};

struct index {
    struct tc_bytes bytes;
    size_t hash, end; /* bytes of an id, and the offset of the checksum */
    struct entry *entries;
    size_t count;
    struct tc_bytes tree; /* the unread part of the cached trees */
    int64_t *left;        /* the budget: bytes that may still be read and hashed */
};

/* ---- entries ---- */

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

/* Any flag but the length of the name means a conflict, or an entry that git does not compare. */
static size_t read_entry(const struct index *x, size_t at, struct entry *ret)
{
    size_t fixed = STAT + x->hash + FLAGS;
    if (x->end - at <= fixed)
        return 0;
    const unsigned char *entry = x->bytes.at + at, *flags = entry + STAT + x->hash;
    const char *name = (const char *)entry + fixed;
    size_t room = x->end - at - fixed, length = strnlen(name, room);
    size_t size = (fixed + length + 8) & ~(size_t)7, said = (size_t)(flags[0] << 8 | flags[1]);
    if (!length || length == room || size > x->end - at ||
        said != (length < LENGTH ? length : LENGTH))
        return 0;
    *ret = (struct entry){name, entry + STAT, length, tc_bytes_number(entry + MODE)};
    return at + size;
}

/* Returns the offset of the extensions; 0: malformed, or another version. */
static size_t read_entries(struct index *x)
{
    uint32_t version = tc_bytes_number(x->bytes.at + 4), count = tc_bytes_number(x->bytes.at + 8);
    size_t at = HEADER;
    if (memcmp(x->bytes.at, "DIRC", 4) != 0 || (version != 2 && version != 3) ||
        count > x->end / (STAT + x->hash))
        return 0;
    x->entries = calloc((size_t)count + 1, sizeof(*x->entries));
    for (; x->entries && at && x->count < count; x->count++) {
        struct entry *e = &x->entries[x->count];
        at = read_entry(x, at, e);
        if (at && x->count && compare_names(e[-1].name, e[-1].length, e->name, e->length) >= 0)
            at = 0;
    }
    return x->entries ? at : 0;
}

/* The first entry that does not sort before the name. */
static size_t find_entry(const struct index *x, const char *name, size_t length)
{
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct entry *e = &x->entries[middle];
        if (compare_names(e->name, e->length, name, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- cached trees ---- */

/* A cached tree and the range of its entries. */
struct tree {
    size_t from, to;
    const unsigned char *id; /* NULL: git recomputes it */
};

static bool take_number(struct index *x, char end, long long *ret)
{
    char *stop, text[24];
    size_t n = 0;
    while (n < x->tree.size && n < sizeof(text) - 1 && x->tree.at[n] != (unsigned char)end)
        n++;
    if (n == x->tree.size || x->tree.at[n] != (unsigned char)end || !n)
        return false;
    memcpy(text, x->tree.at, n);
    text[n] = '\0';
    *ret = strtoll(text, &stop, 10);
    x->tree = (struct tc_bytes){x->tree.at + n + 1, x->tree.size - n - 1};
    return !*stop;
}

static int by_place(const void *a, const void *b)
{
    const struct tree *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Is the id right for these entries and subtrees? `below` is in the order of the entries. */
static bool id_matches(struct index *x, const struct tree *t, size_t prefix,
                       const struct tree *below, size_t count)
{
    _autobuf_ struct tc_buf content = {.max = TREE_MAX};
    size_t next = 0;
    for (size_t i = t->from; i < t->to;) {
        const struct entry *e = &x->entries[i];
        const char *name = e->name + prefix, *slash = memchr(name, '/', e->length - prefix);
        bool known = slash && next < count && below[next].from == i && below[next].id;
        if (slash && !known)
            return false;
        if (slash)
            tc_buf_addf(&content, "40000 %.*s", (int)(slash - name), name);
        else
            tc_buf_addf(&content, "%o %s", e->mode, name);
        tc_buf_addc(&content, '\0');
        tc_buf_add(&content, slash ? below[next].id : e->id, x->hash);
        i = slash ? below[next++].to : i + 1;
    }
    return next == count && !content.failed && tc_bytes_spend(x->left, content.len) &&
           tc_object_is("tree", (struct tc_bytes){(unsigned char *)content.data, content.len},
                        t->id, x->hash);
}

static bool read_tree(struct index *x, const char *path, size_t prefix, int depth, struct tree *t);

/* Reads a subtree, with its name. */
static bool read_below(struct index *x, const char *path, size_t prefix, int depth,
                       struct tree *ret)
{
    const char *name = (const char *)x->tree.at;
    size_t length = strnlen(name, x->tree.size);
    if (!length || length == x->tree.size || memchr(name, '/', length))
        return false;
    _autofree_ char *inner = tc_format("%.*s%s/", (int)prefix, path, name);
    _autofree_ char *after = tc_format("%.*s%s0", (int)prefix, path, name); /* '0' follows '/' */
    x->tree = (struct tc_bytes){x->tree.at + length + 1, x->tree.size - length - 1};
    if (!inner || !after)
        return false;
    *ret = (struct tree){.from = find_entry(x, inner, prefix + length + 1),
                         .to = find_entry(x, after, prefix + length + 1)};
    return read_tree(x, inner, prefix + length + 1, depth + 1, ret) &&
           (ret->from < ret->to || !ret->id); /* an empty subtree must have no id */
}

/* Reads the counts, the id and the subtrees of a tree, after its name. */
static bool read_tree(struct index *x, const char *path, size_t prefix, int depth, struct tree *t)
{
    long long entries, trees;
    if (depth > DEEPEST || !take_number(x, ' ', &entries) || !take_number(x, '\n', &trees) ||
        trees < 0 || (size_t)trees > x->tree.size ||
        (entries >= 0 && ((size_t)entries != t->to - t->from || x->tree.size < x->hash)))
        return false;
    if (entries >= 0) {
        t->id = x->tree.at;
        x->tree = (struct tc_bytes){x->tree.at + x->hash, x->tree.size - x->hash};
    }
    _autofree_ struct tree *below = calloc((size_t)trees + 1, sizeof(*below));
    bool fine = below && tc_bytes_spend(x->left, (size_t)trees * sizeof(*below));
    for (size_t i = 0; fine && i < (size_t)trees; i++)
        fine = read_below(x, path, prefix, depth, &below[i]);
    if (fine && trees)
        qsort(below, (size_t)trees, sizeof(*below), by_place);
    return fine && (!t->id || id_matches(x, t, prefix, below, (size_t)trees));
}

/* ---- the whole index ---- */

/* Allows cached trees (TREE) and resolved conflicts (REUC). Refuses all others: some make git skip
 * files when it compares. */
static bool read_extensions(struct index *x, size_t at)
{
    bool fine = true;
    while (fine && at < x->end) {
        const unsigned char *extension = x->bytes.at + at;
        size_t room = x->end - at, size = room < EXTENSION ? 0 : tc_bytes_number(extension + 4);
        struct tree root = {.from = 0, .to = x->count};
        if (room < EXTENSION || size > room - EXTENSION)
            return false;
        x->tree = (struct tc_bytes){extension + EXTENSION + 1, size ? size - 1 : 0};
        if (memcmp(extension, "TREE", 4) == 0)
            fine = size && !extension[EXTENSION] && read_tree(x, "", 0, 0, &root) && !x->tree.size;
        else
            fine = memcmp(extension, "REUC", 4) == 0;
        at += EXTENSION + size;
    }
    return fine;
}

bool tc_index_sound(struct tc_bytes index, int64_t *left)
{
    static const size_t hashes[] = {20, 32};
    bool sound = false;
    for (size_t i = 0; i < TC_COUNT(hashes) && !sound; i++) {
        struct index x = {.bytes = index, .hash = hashes[i], .left = left};
        if (index.size < HEADER + x.hash || !tc_bytes_spend(left, index.size))
            continue;
        x.end = index.size - x.hash;
        size_t at = tc_object_sum((struct tc_bytes){index.at, x.end}, index.at + x.end, x.hash)
                        ? read_entries(&x)
                        : 0;
        sound = at && read_extensions(&x, at);
        free(x.entries);
    }
    return sound;
}
