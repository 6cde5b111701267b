/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Opens files and directories, never a device, socket or FIFO, and never blocks. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wasm/wasi/guest.h"

enum { FILE_MODE = 0666 };

#define CHANGES (WASI_R_WRITE | WASI_R_ALLOCATE | WASI_R_SIZE)

static int flags_of(uint64_t wanted, uint64_t rights, uint64_t how)
{
    bool directory = wanted & WASI_O_DIRECTORY;
    bool writes = !directory && rights & CHANGES, reads = directory || rights & WASI_R_READ;
    int flags = writes ? (reads ? O_RDWR : O_WRONLY) : O_RDONLY;
    flags |= wanted & WASI_O_CREAT ? O_CREAT : 0;
    flags |= directory ? O_DIRECTORY : 0;
    flags |= wanted & WASI_O_EXCL ? O_EXCL : 0;
    flags |= wanted & WASI_O_TRUNC ? O_TRUNC : 0;
    flags |= how & WASI_FD_APPEND ? O_APPEND : 0;
    flags |= how & WASI_FD_DSYNC ? O_DSYNC : 0;
    flags |= how & (WASI_FD_SYNC | WASI_FD_RSYNC) ? O_SYNC : 0;
    return flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
}

/* A guest that requests all rights on a directory also requests write access: retried read-only. */
static int open_place(const struct tc_wasi_place *at, int flags)
{
    int fd = openat(at->dir, at->name, flags, FILE_MODE);
    if (fd < 0 && errno == EISDIR && !(flags & (O_CREAT | O_TRUNC)))
        fd = openat(at->dir, at->name, (flags & ~O_ACCMODE) | O_RDONLY | O_DIRECTORY);
    return fd;
}

static uint32_t keep_fd(struct tc_wasi *w, int *fd, const struct tc_wasi_fd *parent,
                        uint64_t rights, uint64_t inherits, uint64_t ret)
{
    struct stat st;
    uint32_t number;
    struct tc_wasi_fd *place = tc_wasi_free(w, &number);
    if (fstat(*fd, &st) < 0)
        return tc_wasi_error(errno);
    bool directory = S_ISDIR(st.st_mode);
    if (!directory && !S_ISREG(st.st_mode))
        return WASI_NOTSUP;
    if (!place)
        return WASI_MFILE;
    if (!tc_guest_put32(w, ret, number))
        return WASI_FAULT;
    *place = (struct tc_wasi_fd){.kind = directory ? TC_WASI_DIR : TC_WASI_FILE,
                                 .fd = TAKE_FD(*fd),
                                 .writable = parent->writable,
                                 .rights = rights & (directory ? WASI_R_DIR : WASI_R_FILE),
                                 .inherits = directory ? inherits : 0};
    return WASI_OK;
}

uint32_t tc_wasi_path_open(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place at = TC_WASI_PLACE_INIT;
    uint32_t error;
    const struct tc_wasi_fd *parent = tc_wasi_get(w, a[0], 0, &error);
    if (!parent)
        return error;
    uint64_t rights = a[5] & parent->inherits, inherits = a[6] & parent->inherits;
    int flags = flags_of(a[4], rights, a[7]);
    bool change = flags & (O_CREAT | O_TRUNC) || (flags & O_ACCMODE) != O_RDONLY;
    bool fresh = flags & O_CREAT && flags & O_EXCL;
    error = tc_wasi_walk(w,
                         &(struct tc_wasi_where){.fd = a[0],
                                                 .follow = a[1] & WASI_FOLLOW && !fresh,
                                                 .path = a[2],
                                                 .length = a[3],
                                                 .rights = WASI_R_OPEN |
                                                           (flags & O_CREAT ? WASI_R_CREATE : 0) |
                                                           (flags & O_TRUNC ? WASI_R_SIZE_PATH : 0),
                                                 .change = change},
                         &at);
    if (error)
        return error;
    _autofd_ int fd = open_place(&at, at.directory ? flags | O_DIRECTORY : flags);
    if (fd >= 0 && flags & O_DIRECTORY && rights & WASI_R_WRITE)
        return WASI_ISDIR;
    return fd < 0 ? tc_wasi_error(errno) : keep_fd(w, &fd, parent, rights, inherits, a[8]);
}
