/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Copies granted trees into a VM and their changes back, as frames of a stream (plan/protocol.h);
 * neither side mounts the other's file system. The reader treats the frames as hostile: no name
 * leaves its tree, each name comes once and in order, and names and bytes are counted against the
 * grant's limits. */
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
/* Bytes of paths, for a `paths_max`: the average of a million names is 134. */
enum { TC_CARRY_PATHS_MAX = 128 << 20 };

/* The head of an ENTRY. The path follows, relative to the grant ("": the grant itself), then a
 * link's target. */
struct tc_carry_head {
    uint32_t grant, kind;
    uint32_t mode, flags;
    uint64_t size;  /* of a file; of a grant: the most bytes that its tree may hold */
    uint64_t names; /* of a grant: the most names that its tree may hold */
    int64_t mtime;
    uint32_t mtime_ns, path_len;
};

enum tc_carry_kind { TC_CARRY_GRANT = 1, TC_CARRY_DIRECTORY, TC_CARRY_FILE, TC_CARRY_LINK };
enum {
    TC_CARRY_WRITABLE = 1, /* of a grant */
    TC_CARRY_FOREIGN = 2,  /* of an entry: its owner is not the packing process's user */
};

enum { TC_CARRY_ENTRY_MAX = sizeof(struct tc_carry_head) + 2 * TC_CARRY_PATH_MAX };

/* ---- way.c: resolves paths without following links ---- */

/* Is this path from the other side allowed below a grant? */
bool tc_carry_path(const char *path, size_t len);

struct tc_way {
    int root; /* borrowed */
    int dir;  /* the last directory that was opened; -1: none */
    char *at; /* the path of `dir` */
};
#define TC_WAY(from) ((struct tc_way){.root = (from), .dir = -1})
/* The directory that holds the path, valid until the next call, and the path's last name. -1 with
 * errno. */
int tc_way_to(struct tc_way *way, const char *path, const char **ret_name);
void tc_way_done(struct tc_way *way);

/* ---- inventory.c: the inventory of a tree ---- */

struct tc_carry_seen {
    const char *path; /* relative to the tree; "": the tree itself */
    uint64_t inode, size, blocks;
    unsigned mode;
    uid_t uid;
    struct statx_timestamp mtime, ctime;
};

/* Sorted by strcmp(), so a directory comes before its entries. */
struct tc_inventory {
    struct tc_arena arena;
    struct tc_carry_seen *items;
    size_t count;
    size_t paths;   /* bytes of all paths */
    char left[256]; /* the path at which the walk of the tree failed */
};

/* Lists the tree at `name` in `parent`; a missing tree is an empty inventory. Does not enter the
 * directories in `skip`, paths relative to the tree. -1 with errno; EFBIG: over `most` names, or
 * `paths_max` bytes of their paths. */
int tc_inventory_take(struct tc_inventory *inventory, int parent, const char *name,
                      const struct tc_strv *skip, size_t most, size_t paths_max);
void tc_inventory_done(struct tc_inventory *inventory);

/* ---- pack.c: sends a tree as frames ---- */

struct tc_pack_root {
    uint32_t grant;
    int parent; /* the directory that holds `name`; owned */
    char *name;
    bool writable;
    uint64_t room, names; /* the limits that are announced for the tree */
    struct tc_strv skip;  /* directories in the tree that belong to other grants */
    struct tc_inventory before, after;
};

struct tc_pack {
    struct tc_pack_root *roots;
    size_t count;
    size_t paths_max;     /* in: bytes of all paths of a tree; SIZE_MAX at first */
    bool announces;       /* sends each grant's number and limits first */
    int64_t bytes, names; /* out of tc_pack_look(): the size of all trees */
    /* the position */
    size_t root, at, was;
    int phase;
    int file; /* -1: none */
    uint64_t offset, size;
    struct tc_way way;
};

void tc_pack_init(struct tc_pack *pack);
/* Adds a tree by its path. False: out of memory, or with errno the parent directory cannot be
 * opened. A missing tree is accepted. */
bool tc_pack_add(struct tc_pack *pack, uint32_t grant, const char *path, bool writable);
/* Lists the trees, at most `most` names. tc_pack_next() then sends all of them, or what changed
 * since the previous call. 0, or -1 with errno; *ret_root is the index of the tree. */
int tc_pack_look(struct tc_pack *pack, size_t most, size_t *ret_root);
/* Appends some frames: 1; 0 after the last; or -1 with errno. */
int tc_pack_next(struct tc_pack *pack, struct tc_buf *out);
/* The bytes of a file, without holes. */
int64_t tc_pack_bytes(const struct tc_carry_seen *seen);
void tc_pack_done(struct tc_pack *pack);

/* ---- unpack.c: writes frames into a tree ---- */

struct tc_unpack_root {
    int parent; /* borrowed */
    char *name;
    bool writable;
    uint64_t room, names;
};

struct tc_unpack {
    /* in: the directory for announced grants, each in a subdirectory named by its number; -1: the
     * roots are known, and only writable ones may change */
    int place;
    uid_t owner;          /* in: the owner of all entries; (uid_t)-1: the unpacking user */
    int64_t bytes, names; /* in: the remaining limit */
    size_t paths_max;     /* in: bytes of directories' paths; TC_CARRY_PATHS_MAX at first */
    /* in: creates the storage of a writable directory; or NULL */
    int (*store)(int parent, const char *name, uint64_t bytes, uint64_t names);
    struct tc_unpack_root *roots;
    size_t count;
    /* out */
    const char *fault; /* how the other side broke the protocol, a phrase to follow its name */
    int errnum;        /* the error of a failed system call here */
    bool ended;        /* FILES_END was read */
    /* the position */
    uint32_t grant;
    bool fresh, removing;
    char last[TC_CARRY_PATH_MAX + 1];
    char full[TC_CARRY_PATH_MAX + NAME_MAX + 2]; /* `last` with the name of its grant in front */
    struct tc_way way;
    uint32_t way_grant;
    int file;
    uint64_t offset;
    struct tc_carry_head head;
    struct tc_unpack_directory {
        uint32_t grant;
        char *path;
        struct tc_carry_head head;
    } * directories;               /* their modes and times are set last */
    size_t directory_count, paths; /* bytes of their paths */
};

void tc_unpack_init(struct tc_unpack *unpack);
/* Adds a known tree by the directory that holds it; parent stays the caller's. */
bool tc_unpack_add(struct tc_unpack *unpack, int parent, const char *name, bool writable);
/* Is this a frame for tc_unpack_take()? */
bool tc_unpack_takes(const struct tc_frame *frame);
/* 0; -1: fault or errnum is set. */
int tc_unpack_take(struct tc_unpack *unpack, const struct tc_frame *frame);
void tc_unpack_done(struct tc_unpack *unpack);

#endif
