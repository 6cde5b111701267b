/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The last approved subject of each tool under each policy, with which the next question compares.
 * It approves nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "approve/queue/store.h"
#include "base/digest.h"
#include "base/fd.h"
#include "state/store.h"

enum { SUBJECT_MAX = 1 << 20, FILES_MAX = 256, NAME_SIZE = 64 + sizeof(".json") };

static const char end[] = ".json";

/* The names of tool and policy are no names of files. False: out of memory. */
static bool name_of(const char *tool, const char *policy, char ret[NAME_SIZE])
{
    char digest[TC_DIGEST_SIZE];
    _autofree_ char *key = tc_format("%s\n%s", policy, tool);
    if (key)
        tc_digest(key, strlen(key), digest);
    (void)snprintf(ret, NAME_SIZE, "%s%s", key ? digest + strlen("sha256:") : "", end);
    return key;
}

/* Removes the oldest file if there are as many as may be. */
static void make_room(int dir)
{
    _autodir_ DIR *list = tc_list_dir(dir);
    char oldest[NAME_MAX + 1] = "";
    struct timespec at = {0};
    struct dirent *e;
    struct stat st;
    size_t count = 0;
    while (list && tc_next_entry(list, &e) > 0) {
        if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        bool older = st.st_mtim.tv_sec != at.tv_sec ? st.st_mtim.tv_sec < at.tv_sec
                                                    : st.st_mtim.tv_nsec < at.tv_nsec;
        if (!count++ || older) {
            at = st.st_mtim;
            tc_strcopy(oldest, sizeof(oldest), e->d_name);
        }
    }
    if (count >= FILES_MAX)
        (void)unlinkat(dir, oldest, 0);
}

void tc_last_approved_keep(const char *tool, const char *policy, const char *subject, size_t length)
{
    struct tc_fault fault;
    char name[NAME_SIZE];
    _autofd_ int dir = tc_queue_place("approved", &fault);
    if (dir < 0 || !name_of(tool, policy, name))
        return;
    if (length > SUBJECT_MAX) {
        (void)unlinkat(dir, name, 0);
        return;
    }
    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        make_room(dir);
    (void)tc_store_write(dir, name, subject, length, 0600);
}

char *tc_last_approved_read(const char *tool, const char *policy, int64_t *ret_at)
{
    struct tc_buf text = {.max = SUBJECT_MAX};
    struct tc_fault fault;
    struct stat st;
    char name[NAME_SIZE];
    _autofd_ int dir = tc_queue_place("approved", &fault);
    if (dir < 0 || !name_of(tool, policy, name))
        return NULL;
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (!tc_store_own(fd, S_IFREG) || fstat(fd, &st) < 0 || tc_read_all(fd, &text) < 0 ||
        !text.len) {
        tc_buf_done(&text);
        return NULL;
    }
    *ret_at = st.st_mtim.tv_sec;
    return tc_buf_steal(&text);
}
