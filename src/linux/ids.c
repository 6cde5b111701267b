/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "linux/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

static const char directory[] = "/run/toolcage";

enum { PREFERRED = 2000000000, HIGHEST = 65520 };

static const char *after(const char *text, char mark)
{
    const char *found = strchr(text, mark);
    return found ? found + 1 : NULL;
}

/* Does every id of the range exist in this user namespace? */
static bool covered(const char *map_file, unsigned first)
{
    _autobuf_ struct tc_buf map = TC_BUF_INIT;
    if (tc_read_file(AT_FDCWD, map_file, &map) < 0)
        return false;
    const char *line = map.data;
    unsigned inside, outside, count;
    while (line && sscanf(line, "%u %u %u", &inside, &outside, &count) == 3) {
        if (first >= inside && (uint64_t)first + TC_IDS_RANGE <= (uint64_t)inside + count)
            return true;
        line = after(line, '\n');
    }
    return false;
}

/* Lowers *first below every id in the range that a "name:x:ID:" or "name:START:COUNT" file
 * contains. */
static void avoid(const char *file, unsigned field, bool ranged, unsigned *first)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (tc_read_file(AT_FDCWD, file, &text) < 0) {
        *first = errno == ENOENT ? *first : 0; /* it may contain any id */
        return;
    }
    for (const char *line = text.data; line && *line; line = after(line, '\n')) {
        const char *p = line;
        for (unsigned i = 0; i < field && p; i++)
            p = after(p, ':');
        unsigned start, count = 1;
        if (!p || sscanf(p, ranged ? "%u:%u" : "%u", &start, &count) < 1)
            continue;
        bool overlaps = start < *first + TC_IDS_RANGE && (uint64_t)start + count > *first;
        if (overlaps && start >= TC_IDS_RANGE + 1000)
            *first = start - TC_IDS_RANGE;
        else if (overlaps)
            *first = 0;
    }
}

static unsigned choose(void)
{
    if (covered("/proc/self/uid_map", PREFERRED) && covered("/proc/self/gid_map", PREFERRED))
        return PREFERRED;
    unsigned first = HIGHEST - TC_IDS_RANGE;
    unsigned before;
    do {
        before = first;
        avoid("/etc/passwd", 2, false, &first);
        avoid("/etc/group", 2, false, &first);
        avoid("/etc/subuid", 1, true, &first);
        avoid("/etc/subgid", 1, true, &first);
    } while (first != before && first);
    bool fits =
        first && covered("/proc/self/uid_map", first) && covered("/proc/self/gid_map", first);
    return fits ? first : 0;
}

int tc_ids_open(struct tc_ids *ids)
{
    *ids = (struct tc_ids){.lock_fd = -1};
    if (mkdir(directory, 0755) < 0 && errno != EEXIST)
        return -1;
    _autofd_ int dir = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (dir < 0 || fstat(dir, &st) < 0)
        return -1;
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
        errno = EPERM;
        return -1;
    }
    ids->first = choose();
    if (ids->first == 0) {
        errno = ERANGE;
        return -1;
    }
    ids->lock_fd = openat(dir, "ids.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return ids->lock_fd < 0 ? -1 : 0;
}

void tc_ids_close(struct tc_ids *ids)
{
    if (ids->lock_fd >= 0)
        (void)close(ids->lock_fd);
    ids->lock_fd = -1;
}

static int set_lock(const struct tc_ids *ids, unsigned slot, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};
    return fcntl(ids->lock_fd, F_OFD_SETLK, &lock);
}

uid_t tc_ids_take(struct tc_ids *ids)
{
    for (unsigned slot = 0; slot < TC_IDS_RANGE; slot++) {
        unsigned char bit = (unsigned char)(1U << (slot & 7));
        if (ids->taken[slot / 8] & bit)
            continue;
        if (set_lock(ids, slot, F_WRLCK) == 0) {
            ids->taken[slot / 8] |= bit;
            return ids->first + slot;
        }
        if (errno != EAGAIN && errno != EACCES)
            return (uid_t)-1;
    }
    errno = EAGAIN;
    return (uid_t)-1;
}

void tc_ids_give(struct tc_ids *ids, uid_t id)
{
    if (id < ids->first || id - ids->first >= TC_IDS_RANGE)
        return;
    unsigned slot = id - ids->first;
    ids->taken[slot / 8] &= (unsigned char)~(1U << (slot & 7));
    (void)set_lock(ids, slot, F_UNLCK);
}
