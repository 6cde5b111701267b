/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Granted trees on their way into a machine, and what was changed of them on its way back: frames
 * of a stream (plan/protocol.h), never a file system of the other side's. What is read is taken
 * for hostile: no name leads out of its tree, each comes once and in order, and names and bytes are
 * counted against what the grant allows. */
#ifndef TC_CARRY_CARRY_H
#define TC_CARRY_CARRY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/frame.h"
#include "base/strv.h"

enum { TC_CARRY_GRANTS_MAX = 1024, TC_CARRY_PATH_MAX = 4000 };

/* The head of an ENTRY; its path, below the grant ("": what is granted itself), and of a link where
 * it leads follow. */
struct tc_carry_head {
    uint32_t grant, kind;
    uint32_t mode, flags;
    uint64_t size;  /* of a file; of a grant: how much there may be below it, in bytes */
    uint64_t names; /* of a grant: the same of names */
    int64_t mtime;
    uint32_t mtime_ns, path_len;
};

enum tc_carry_kind { TC_CARRY_GRANT = 1, TC_CARRY_DIRECTORY, TC_CARRY_FILE, TC_CARRY_LINK };
enum {
    TC_CARRY_WRITABLE = 1, /* of a grant */
    TC_CARRY_FOREIGN = 2,  /* of an entry: it is not its owner's who reads the grant */
};

enum { TC_CARRY_ENTRY_MAX = sizeof(struct tc_carry_head) + 2 * TC_CARRY_PATH_MAX };

/* ---- way.c: to a name, never through a link ---- */

/* May it stand below a grant, as the other side says it? */
bool tc_carry_path(const char *path, size_t len);

struct tc_way {
    int root; /* borrowed */
    int dir;  /* the last directory that was gone to; -1: none */
    char *at; /* its path */
};
#define TC_WAY(from) ((struct tc_way){.root = (from), .dir = -1})
/* The directory that holds the path, for as long as nobody asks for another, and the last name in
 * it. -1 with errno. */
int tc_way_to(struct tc_way *way, const char *path, const char **ret_name);
void tc_way_done(struct tc_way *way);

/* ---- inventory.c: what stands in a tree ---- */

struct tc_carry_seen {
    const char *path; /* below the tree; "": itself */
    uint64_t inode, size, blocks;
    unsigned mode;
    uid_t uid;
    struct statx_timestamp mtime, ctime;
};

/* In the order of strcmp(), so that directories come before what they hold. */
struct tc_inventory {
    struct tc_arena arena;
    struct tc_carry_seen *items;
    size_t count;
    char left[256]; /* of a tree that cannot be read whole: where */
};

/* Of `name` in `parent`; nothing is no failure. Into the directories of `skip`, paths below it,
 * nobody looks. -1 with errno; EFBIG: there are more than `most`. */
int tc_inventory_take(struct tc_inventory *inventory, int parent, const char *name,
                      const struct tc_strv *skip, size_t most);
void tc_inventory_done(struct tc_inventory *inventory);

/* ---- pack.c: from a tree to frames ---- */

struct tc_pack_root {
    uint32_t grant;
    int parent; /* of the name; owned */
    char *name;
    bool writable;
    uint64_t room, names; /* how much there may be, where that is announced */
    struct tc_strv skip;  /* directories below it that are other grants' */
    struct tc_inventory before, after;
};

struct tc_pack {
    struct tc_pack_root *roots;
    size_t count;
    bool announces;       /* says which grants there are, and what there may be in each */
    int64_t bytes, names; /* out of tc_pack_look(): how much there is */
    /* where it is */
    size_t root, at, was;
    int phase;
    int file; /* -1: none */
    uint64_t offset, size;
    struct tc_way way;
};

void tc_pack_init(struct tc_pack *pack);
/* One more tree, by its path. False: out of memory, or with errno nobody can look there. A tree
 * that is not there is fine. */
bool tc_pack_add(struct tc_pack *pack, uint32_t grant, const char *path, bool writable);
/* What there is to send: all of it, or what differs from the look before. No more is there than
 * `most` names. 0, or -1 with errno; *ret_root is the index of the tree. */
int tc_pack_look(struct tc_pack *pack, size_t most, size_t *ret_root);
/* Appends some frames: 1, 0 after the last, or -1 with errno. */
int tc_pack_next(struct tc_pack *pack, struct tc_buf *out);
/* What an entry holds, holes left out. */
int64_t tc_pack_bytes(const struct tc_carry_seen *seen);
void tc_pack_done(struct tc_pack *pack);

/* ---- unpack.c: from frames to a tree ---- */

struct tc_unpack_root {
    int parent; /* borrowed */
    char *name;
    bool writable;
    uint64_t room, names;
};

struct tc_unpack {
    /* in: where grants that are announced go, in directories named by their numbers; -1: the roots
     * are known, and only what can be written in them is changed */
    int place;
    uid_t owner;          /* in: whom everything belongs to; (uid_t)-1: who unpacks */
    int64_t bytes, names; /* in: how much of it may still come */
    /* in: makes the storage of a writable directory, or NULL */
    int (*store)(int parent, const char *name, uint64_t bytes, uint64_t names);
    struct tc_unpack_root *roots;
    size_t count;
    /* out */
    const char *fault; /* what the other side did against the rules, to follow on its name */
    int errnum;        /* what failed here */
    bool ended;        /* all has come */
    /* where it is */
    uint32_t grant;
    bool fresh, removing;
    char last[TC_CARRY_PATH_MAX + 1];
    char full[TC_CARRY_PATH_MAX + NAME_MAX + 2]; /* the same from the directory of its grant */
    struct tc_way way;
    uint32_t way_grant;
    int file;
    uint64_t offset;
    struct tc_carry_head head;
    struct tc_unpack_directory {
        uint32_t grant;
        char *path;
        struct tc_carry_head head;
    } * directories; /* their modes come last */
    size_t directory_count;
};

void tc_unpack_init(struct tc_unpack *unpack);
/* A tree that is known, with the directory that holds it: parent stays the caller's. */
bool tc_unpack_add(struct tc_unpack *unpack, int parent, const char *name, bool writable);
/* Is it one of the frames that come here? */
bool tc_unpack_takes(const struct tc_frame *frame);
/* 0, or -1: see fault and errnum. */
int tc_unpack_take(struct tc_unpack *unpack, const struct tc_frame *frame);
void tc_unpack_done(struct tc_unpack *unpack);

#endif
