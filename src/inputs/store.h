/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Stores what recorded calls started with: files and directories of their workspaces, their input
 * and their output. Each is an object, stored once under the SHA-256 of its content. A directory is
 * an object, too: a list of its entries with their objects. */
#ifndef TC_INPUTS_STORE_H
#define TC_INPUTS_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/strv.h"

/* An open store. Zero-initialise with dir = -1. */
struct tc_inputs {
    int dir;
    int64_t most;            /* bytes on the disk that all objects together may have */
    int64_t reserved, added; /* bytes: counted in the store's total, and used of these */
    int64_t deadline_us;     /* of storing a file; monotonic, 0: none */
    int64_t largest;         /* bytes of a file that this process may write */
};

/* Opens the store of this user to add objects, created if it is missing, and locks it. `most`:
 * bytes that all its objects may have. 0, or -1 with errno; EWOULDBLOCK: another program has the
 * lock. */
int tc_inputs_open(int64_t most, struct tc_inputs *ret);
/* Writes down what was added, and unlocks the store. */
void tc_inputs_close(struct tc_inputs *s);
#define _autoinputs_ _auto_(tc_inputs_close)

/* Stores bytes, or a file up to its end. 0 with the digest, or -1 with errno; EDQUOT: the store is
 * full; EFBIG: the file has more than `most` bytes; ETIMEDOUT: the deadline has passed. */
int tc_inputs_put(struct tc_inputs *s, const void *bytes, size_t length,
                  char digest[TC_DIGEST_SIZE]);
int tc_inputs_put_file(struct tc_inputs *s, int fd, int64_t most, char digest[TC_DIGEST_SIZE]);
/* Does the store have an object of this digest and size? */
bool tc_inputs_has(const struct tc_inputs *s, const char *digest, int64_t size);

/* Reads an object into a buffer, whose `max` limits it, or a file. 0, or -1 with errno; ENOENT: it
 * is not there, EBADMSG: it was changed, or the digest is none. */
int tc_inputs_get(int dir, const char *digest, struct tc_buf *into);
int tc_inputs_get_file(int dir, const char *digest, int to);

/* ---- keep.c ---- */

/* The name of a stored directory in the object that its digest names. */
#define TC_INPUTS_ROOT "workspace"

/* A directory to be stored. */
struct tc_inputs_tree {
    /* Is the entry of this path part of it? Of a directory: or could an entry below be? */
    bool (*shows)(void *context, const char *relative, bool directory);
    void *context;
    char digest[TC_DIGEST_SIZE]; /* out */
    int64_t entries, bytes;      /* out */
    char why[160];               /* out: why it was not stored */
};

/* Stores the directory at `path`, whose content is not trusted: no link is followed. Files that
 * have not changed since the last time are not read again. 0, or -1 with `why`. */
int tc_inputs_keep(struct tc_inputs *s, const char *path, struct tc_inputs_tree *tree);

/* ---- restore.c ---- */

/* Restores what a directory object names into an empty directory that nobody else writes. 0, or -1
 * with errno. */
int tc_inputs_restore(int dir, const char *digest, int to);

/* ---- directory.c ---- */

/* An entry of a directory object. */
struct tc_inputs_entry {
    const char *name;
    size_t name_length;
    char type; /* 'd', 'f' or 'l': the object of a link is its target */
    uint32_t mode;
    int64_t seconds, nanoseconds; /* of its last change */
    char digest[TC_DIGEST_SIZE];
};

/* The text of an entry; owned, NULL: memory is exhausted. */
char *tc_inputs_entry_text(const struct tc_inputs_entry *entry);
/* Reads the entry at *at of a directory object, and moves *at behind it. 1; 0 at the end; -1 with
 * errno EBADMSG. */
int tc_inputs_entry_next(const struct tc_buf *object, size_t *at, struct tc_inputs_entry *ret);

#endif
