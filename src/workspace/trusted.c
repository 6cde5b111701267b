/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "workspace/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/strv.h"
#include "policy/names/steering.h"
#include "workspace/git.h"
#include "workspace/reading.h"

static const char *const ends[] = {".pack", ".idx", ".rev"};
enum { PACK, INDEX, REVERSE, ENDS };

/* Reads a file of a pack into memory, so that it cannot change while it is verified. False: too
 * large, or unreadable. */
static bool load_pack_file(int dirfd, const char *name, unsigned char **ret, struct tc_bytes *bytes)
{
    struct stat st;
    _autofd_ int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TC_TRUSTED_PACK_MAX)
        return false;
    size_t done = 0, size = (size_t)st.st_size;
    *ret = malloc(size + 1);
    *bytes = (struct tc_bytes){*ret, size};
    while (*ret && done < size) {
        ssize_t n = read(fd, *ret + done, size - done);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return *ret;
}

/* How many digits follow "pack-": those of a SHA-1 or SHA-256; 0: another name. */
static size_t digits_of(const char *stem)
{
    size_t n = strncmp(stem, "pack-", 5) == 0 ? strspn(stem + 5, "0123456789abcdef") : 0;
    return (n == 40 || n == 64) && !stem[5 + n] ? n : 0;
}

/* Verifies the files of a pack together; the last of them may be missing. */
static bool check_pack(struct tc_trusted *t, int dirfd, const char *stem)
{
    _autofree_ unsigned char *pack = NULL, *index = NULL, *reverse = NULL;
    unsigned char **const data[ENDS] = {&pack, &index, &reverse};
    struct tc_bytes bytes[ENDS] = {0};
    char name[NAME_MAX + 1];
    bool there = true;
    for (size_t i = 0; i < ENDS && there; i++) {
        (void)snprintf(name, sizeof(name), "%s%s", stem, ends[i]);
        bool absent = i == REVERSE && faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
        there = absent || load_pack_file(dirfd, name, data[i], &bytes[i]);
    }
    return there && tc_pack_sound(bytes[PACK], bytes[INDEX], reverse ? &bytes[REVERSE] : NULL,
                                  digits_of(stem) / 2, &t->left);
}

/* The length of the name of a pack's file without its extension; 0: another file. */
static size_t stem_of(const char *name)
{
    for (size_t i = 0; i < ENDS; i++)
        if (tc_endswith(name, ends[i]))
            return strlen(name) - strlen(ends[i]);
    return 0;
}

static bool is_sound_pack(struct tc_trusted *t, const struct tc_walk_entry *e)
{
    enum { KNOWN = 1000 };
    char stem[NAME_MAX + 1], place[PATH_MAX];
    size_t length = stem_of(e->name), all = strlen(e->relative) - strlen(e->name) + length;
    (void)snprintf(stem, sizeof(stem), "%.*s", (int)length, e->name);
    (void)snprintf(place, sizeof(place), "%.*s", (int)all, e->relative);
    if (!digits_of(stem))
        return false;
    if (tc_strv_has(&t->sound, place))
        return true;
    if (t->sound.count == KNOWN)
        tc_strv_done(&t->sound);
    return check_pack(t, e->dirfd, stem) && tc_strv_add(&t->sound, place);
}

/* Packed references must not replace objects. */
static bool are_plain_refs(struct tc_trusted *t, const struct tc_walk_entry *e)
{
    static const char replaces[] = "refs/replace/";
    _autofree_ unsigned char *text = NULL;
    struct tc_bytes bytes;
    if (!load_pack_file(e->dirfd, e->name, &text, &bytes))
        return false;
    t->left -= (int64_t)bytes.size;
    return t->left >= 0 && !memmem(bytes.at, bytes.size, replaces, strlen(replaces));
}

/* It stages content that a review does not show. */
static bool is_sound_index(struct tc_trusted *t, const struct tc_walk_entry *e)
{
    _autofree_ unsigned char *text = NULL;
    struct tc_bytes bytes;
    return t->unreviewed && load_pack_file(e->dirfd, e->name, &text, &bytes) &&
           tc_index_sound(bytes, &t->left);
}

/* An object of git-lfs: its name is the SHA-256 of its content. */
static bool is_large_file(const char *name)
{
    return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

bool tc_trusted_check(struct tc_trusted *t, const struct tc_walk_entry *e)
{
    char id[TC_OBJECT_ID_SIZE];
    tc_object_id(e->relative, id);
    if (!S_ISREG(e->st->stx_mode))
        return false;
    if (strcmp(e->name, "packed-refs") == 0)
        return are_plain_refs(t, e);
    if (tc_trusted_index(e->relative))
        return is_sound_index(t, e);
    bool large = is_large_file(e->name);
    if (!id[0] && !large)
        return stem_of(e->name) && is_sound_pack(t, e);
    _autofd_ int fd = tc_reading_open(e);
    return fd >= 0 &&
           (large ? tc_object_hashes(fd, e->name, &t->left) : tc_object_matches(fd, id, &t->left));
}

bool tc_trusted_index(const char *relative)
{
    return strcmp(tc_path_base(relative), "index") == 0;
}

bool tc_trusted_holds(const char *relative)
{
    char id[TC_OBJECT_ID_SIZE];
    tc_object_id(relative, id);
    return id[0] || stem_of(tc_path_base(relative));
}
